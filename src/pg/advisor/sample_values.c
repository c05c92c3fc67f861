/*
 * sample_values.c: the values of the columns that bf_index_advise() samples: how many there are, in how many rows,
 * pages and ranges each of them is, and how long they are. If the items of a column are keys, "value" means a key
 * here.
 *
 * A column takes bounded memory: at most sample->most_kept values of the table or partition that is sampled, and as
 * many of all partitions together. When there are more, about half of them are dropped: those whose hashes end with
 * too few zero bits. A *unit* is SAMPLE_UNIT consecutive pages, which are sampled together.
 */
#include "base/compat.h"

#include <math.h>

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/itup.h"
#include "access/toast_compression.h"
#include "access/toast_internals.h"
#include "catalog/pg_type.h"
#include "utils/memutils.h"

#include "advisor/sample.h"

/* The low bits of a hash decide whether its value is kept. So the hash table takes the high bits. */
#define SH_PREFIX kept
#define SH_ELEMENT_TYPE KeptValue
#define SH_KEY_TYPE uint64
#define SH_KEY hash
#define SH_HASH_KEY(table, key) ((uint32) ((key) >> 32))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/*
 * The most bytes of a tuple in a B-tree: a page must have room for three tuples. (This is BTMaxItemSize, a macro that
 * differs between versions of PostgreSQL. The limit of GIN is only 8 bytes higher, so this one is used for GIN, too.)
 */
#define MOST_BYTES_OF_KEY 2704

/* No compression method compresses better than this: lz4 reaches a factor of 255, pglz of 91. */
#define BEST_COMPRESSION 256

/* -------------------------------------------------------------------- a value */

uint16
bf_index_key_size(Form_pg_attribute attribute, Datum value, bool isnull)
{
	Size		size;

	if (isnull)
		return MAXALIGN(sizeof(IndexTupleData) + sizeof(IndexAttributeBitMapData));
	if (attribute->atttypid == NAMEOID)
		size = strlen(NameStr(*DatumGetName(value))) + 1;
	else if (attribute->attlen == -1)
	{
		struct varlena *data = (struct varlena *) DatumGetPointer(value);

		/*
		 * If no compression could make the value short enough, its bytes are not read: to read a long value again and
		 * to compress it takes seconds, and the compression cannot be canceled.
		 */
		if (VARATT_IS_EXTERNAL(data) && toast_datum_size(value) / BEST_COMPRESSION > MOST_BYTES_OF_KEY)
			return 0;
		if (VARATT_IS_EXTERNAL(data))
			data = detoast_external_attr(data);
		if (!VARATT_IS_EXTENDED(data) && VARSIZE(data) > TOAST_INDEX_TARGET &&
			(attribute->attstorage == TYPSTORAGE_EXTENDED || attribute->attstorage == TYPSTORAGE_MAIN))
		{
			Datum		compressed = toast_compress_datum(PointerGetDatum(data), attribute->attcompression);

			if (DatumGetPointer(compressed) != NULL)
				data = (struct varlena *) DatumGetPointer(compressed);
		}
		size = VARATT_CAN_MAKE_SHORT(data) && attribute->attstorage != TYPSTORAGE_PLAIN ?
			VARATT_CONVERTED_SHORT_SIZE(data) : VARSIZE_ANY(data);
	}
	else if (attribute->attlen == -2)
		size = strlen(DatumGetCString(value)) + 1;
	else
		size = attribute->attlen;
	size = MAXALIGN(sizeof(IndexTupleData) + size);
	return size > MOST_BYTES_OF_KEY ? 0 : size;
}

/* Drops about half of the values in a hash table: those whose hashes do not end with one more zero bit. */
static void
halve(struct kept_hash **table, int *zeros, MemoryContext context)
{
	struct kept_hash *old = *table;
	struct kept_hash *new = kept_create(context, old->members / 2, NULL);
	kept_iterator iterator;
	KeptValue  *value;

	(*zeros)++;
	kept_start_iterate(old, &iterator);
	while ((value = kept_iterate(old, &iterator)) != NULL)
	{
		bool		found;
		KeptValue  *copy;
		char		status;

		if (!bf_index_ends_with_zeros(value->hash, *zeros))
			continue;
		copy = kept_insert(new, value->hash, &found);
		status = copy->status;
		*copy = *value;
		copy->status = status;
	}
	kept_destroy(old);
	*table = new;
}

/*
 * Counts a row of a value if values with this hash are kept. Returns the value if it was not yet in the hash table,
 * so that the caller can set its size; otherwise NULL.
 */
static KeptValue *
count_in(struct kept_hash **table, int *zeros, uint64 hash, const Place *place)
{
	bool		found;
	KeptValue  *value;

	if (!bf_index_ends_with_zeros(hash, *zeros))
		return NULL;
	value = kept_insert(*table, hash, &found);
	if (!found)
	{
		value->rows = value->pages = value->units = value->ranges = 1;
		value->last_page = place->page;
		value->last_unit = place->unit;
		value->last_range = place->range;
		value->key_size = 0;
		value->is_new = !place->at_beginning;
		return value;
	}
	value->rows++;
	value->pages += value->last_page != place->page;
	value->units += value->last_unit != place->unit;
	/*
	 * Two rows are in the same range if their ranges have the same number and lie in the same unit (pages that are
	 * read together, sample.h). The number of the range alone would not do: it begins at 0 again in each partition.
	 * The units are numbered through all partitions.
	 */
	value->ranges += value->last_range != place->range || value->last_unit != place->unit;
	value->last_page = place->page;
	value->last_unit = place->unit;
	value->last_range = place->range;
	return NULL;
}

/*
 * Counts a row of a value in the value's slot. One value at a time has the slot. Its own rows raise `lead`, and rows
 * of other values lower `lead`; at 0 the value of the next row takes the slot. So a value with more than half of the
 * slot's rows has the slot at the end (Boyer and Moore 1991).
 */
static void
count_frequent(SampleColumn *column, uint64 hash, uint32 range)
{
	FrequentValue *slot = &column->frequent[(hash >> 20) % FREQUENT_SLOTS];

	if (slot->lead > 0 && slot->hash == hash)
	{
		slot->lead++;
		slot->rows++;
		slot->ranges += slot->last_range != range;
		slot->last_range = range;
	}
	else if (slot->lead > 0)
		slot->lead--;
	else
		*slot = (FrequentValue) {.hash = hash, .lead = 1, .rows = 1, .ranges = 1, .last_range = range};
}

void
bf_index_begin_values(const Sample *sample, SampleColumn *column)
{
	column->kept = kept_create(sample->context, 1024, NULL);
	column->zeros = 0;
	column->first_unit = sample->units;
	memset(column->frequent, 0, sizeof column->frequent);
}

void
bf_index_keep_all_values(SampleColumn *column, MemoryContext context)
{
	column->all_kept = kept_create(context, 1024, NULL);
	column->all_zeros = 0;
}

void
bf_index_count_value(const Sample *sample, SampleColumn *column, uint64 hash, const Place *place,
					 Form_pg_attribute attribute,
					 Datum value, bool isnull)
{
	KeptValue  *new;

	count_frequent(column, hash, place->range);
	new = count_in(&column->kept, &column->zeros, hash, place);
	if (new != NULL)
	{
		if (!column->items_are_keys)
		{
			new->key_size = bf_index_key_size(attribute, value, isnull);
			column->too_wide |= new->key_size == 0;
		}
		if (column->kept->members > sample->most_kept)
			halve(&column->kept, &column->zeros, sample->context);
	}
	if (column->all_kept != NULL && count_in(&column->all_kept, &column->all_zeros, hash, place) != NULL &&
		column->all_kept->members > sample->most_kept)
		halve(&column->all_kept, &column->all_zeros, GetMemoryChunkContext(column->all_kept));
}

/* --------------------------------------------------------------------- results */

/* Returns whether all values that were kept of this table are in its first unit alone. */
static bool
are_in_one_unit(const SampleColumn *column)
{
	kept_iterator iterator;
	KeptValue  *value;

	kept_start_iterate(column->kept, &iterator);
	while ((value = kept_iterate(column->kept, &iterator)) != NULL)
		if (value->last_unit != column->first_unit)
			return false;
	return true;
}

double
bf_index_distinct_so_far(const SampleColumn *column)
{
	return ldexp((double) column->kept->members, column->zeros);
}

void
bf_index_sample_values(const SampleColumn *column, bool all, ValueStats *stats)
{
	struct kept_hash *table = all && column->all_kept != NULL ? column->all_kept : column->kept;
	/*
	 * If the sample of this table has only one unit, each value is in one unit. Then the number of a value's rows is
	 * used in place of its number of units.
	 */
	const bool	by_rows = table == column->kept && are_in_one_unit(column);
	kept_iterator iterator;
	KeptValue  *value;

	memset(stats, 0, sizeof *stats);
	stats->zeros = all && column->all_kept != NULL ? column->all_zeros : column->zeros;
	kept_start_iterate(table, &iterator);
	while ((value = kept_iterate(table, &iterator)) != NULL)
	{
		bf_index_add_to_stats(stats, by_rows ? value->rows : value->units, value->is_new, 1);
		stats->pages += value->pages;
	}
}

void
bf_index_visit_values(const SampleColumn *column, bool all, void (*visit) (const KeptValue *value, void *argument),
					  void *argument)
{
	struct kept_hash *table = all && column->all_kept != NULL ? column->all_kept : column->kept;
	kept_iterator iterator;
	KeptValue  *value;

	kept_start_iterate(table, &iterator);
	while ((value = kept_iterate(table, &iterator)) != NULL)
		visit(value, argument);
}

const FrequentValue *
bf_index_most_frequent(const SampleColumn *column)
{
	const FrequentValue *best = &column->frequent[0];

	for (int i = 1; i < FREQUENT_SLOTS; i++)
		if (column->frequent[i].rows > best->rows)
			best = &column->frequent[i];
	return best;
}
