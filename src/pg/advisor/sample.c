/*
 * sample.c: reads some pages of a table. Counts how many different values its columns have in ranges of pages, and how
 * these values are spread. For bf_index_advise() (advise.c). sample.h explains the words.
 *
 * If the table has more pages than may be read, the sample has two halves. The first half is the beginning of the
 * table, which tells the sizes of the upper levels of an index. The second half is units of SAMPLE_UNIT pages at
 * random places, evenly over the rest of the table.
 *
 * A column takes bounded memory: the items of one range, two numbers for each range, and at most sample->most_kept
 * values and about as many keys. If several partitions are sampled, twice as many values are kept.
 */
#include "advisor/sample.h"

#include <math.h>

#include "access/detoast.h"
#include "access/heapam.h"
#include "access/heaptoast.h"
#include "access/nbtree.h"
#include "access/tableam.h"
#include "access/toast_compression.h"
#include "access/toast_internals.h"
#include "catalog/pg_am.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"

#include "base/call.h"
#include "base/memory.h"
#include "index/attempt.h"
#include "index/handler.h"
#include "index/heap.h"
#include "index/layout.h"
#include "index/sizes.h"

/* -------------------------------------------------------------------- columns */

typedef struct Preparation
{
	SampleColumn *column;
	Oid			type;
	Oid			collation;
	MemoryContext context;
} Preparation;

static void
make_hasher(void *argument)
{
	Preparation *preparation = argument;

	preparation->column->hasher =
		item_hasher_for_index(preparation->type, preparation->collation, preparation->context);
}

/* Returns whether this error means that an index on such a column is refused. */
static bool
is_refusal(int sqlerrcode)
{
	return ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_FEATURE_NOT_SUPPORTED ||
		ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION;
}

/* Returns whether equal values share a tuple in a B-tree of this operator class. */
static bool
deduplicates(Oid opclass, Oid collation)
{
	Oid			type = get_opclass_input_type(opclass);
	Oid			procedure = get_opfamily_proc(get_opclass_family(opclass), type, type, BTEQUALIMAGE_PROC);

	return OidIsValid(procedure) &&
		DatumGetBool(OidFunctionCall1Coll(procedure, collation, ObjectIdGetDatum(type)));
}

void
bf_index_sample_column(SampleColumn *column, Form_pg_attribute attribute, MemoryContext context)
{
	Oid			type = getBaseType(attribute->atttypid);
	Oid			opclass = GetDefaultOpClass(type, bf_index_am_oid());
	Oid			btree = GetDefaultOpClass(type, BTREE_AM_OID);
	Preparation preparation = {.column = column, .collation = attribute->attcollation, .context = context};
	Oid			family;
	ErrorData  *error;

	column->attnum = attribute->attnum;
	column->name = pstrdup(NameStr(attribute->attname));
	column->has_btree = OidIsValid(btree);
	column->rate = BF_INDEX_DEFAULT_FPR;
	column->deduplicates = OidIsValid(btree) && deduplicates(btree, attribute->attcollation);
#ifdef ATTRIBUTE_GENERATED_VIRTUAL
	if (attribute->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL)
	{
		column->refused = "no index can be made on a virtual generated column";
		return;
	}
#endif
	if (!OidIsValid(opclass))
	{
		column->refused = psprintf("there is no operator class of bf for type %s", format_type_be(attribute->atttypid));
		return;
	}
	family = get_opclass_family(opclass);
	preparation.type = get_opclass_input_type(opclass);
	/*
	 * bf_index_sample_key_column() recognizes an operator class with keys inside values by the functions of the class.
	 * The strategy numbers of the operators do not tell: such a class has GIN's numbers, in which && of arrays has the
	 * number that = has in other classes.
	 */
	if (bf_index_sample_key_column(column, attribute, opclass, context))
		return;
	/*
	 * CREATE INDEX accepts the operator class of text for a column of citext, too. But = of citext is another operator
	 * than = of text, and does not use such an index. So such a column is refused here.
	 */
	if (!op_in_opfamily(lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr, family))
	{
		column->refused = psprintf("bf indexes type %s as %s, and its operator = would not use the index",
								   format_type_be(attribute->atttypid), format_type_be(preparation.type));
		return;
	}
	if (IsPolymorphicType(preparation.type))
		preparation.type = type;
	error = bf_index_attempt(make_hasher, &preparation, is_refusal);
	if (error != NULL)
		column->refused = error->message;
}

/* -------------------------------------------------------------------- a range */

/* Empties the set of the items of a range. */
static void
empty_set(const Sample *sample, SampleColumn *column)
{
	sb_memory	memory = memory_in(sample->context);
	const uint64 items = column->set.count;

	if (items > 0)
		pfree(bf_index_take_set(&column->set));
	bf_index_shrink_set(&column->set, &memory, items);
	column->added = 0;
}

/* Ends the range that is being read, and goes on to range `next`. Ranges between the two have no rows. */
static void
pass_to_range(const Sample *sample, SampleColumn *column, uint32 next)
{
	for (; column->range < next; column->range++)
	{
		SampledRange *range = &column->ranges[column->range_count++];

		range->items = column->set.count;
		range->full = ((uint64) column->range + 1) * column->pages_per_range <= sample->heap_blocks;
		empty_set(sample, column);
	}
}

/*
 * column->set holds the distinct items of some pages. Returns how many distinct items `times` as many pages would have.
 * The number is taken to grow by a power law (Heaps 1978): in proportion to the pages if all items are different, and
 * more slowly if items repeat.
 */
static double
items_in_more(const SampleColumn *column, double times)
{
	const double power = column->added > 1 ? log(Max(column->set.count, 1)) / log(column->added) : 1;

	return column->set.count * pow(times, power);
}

/*
 * Ends a range of which only the pages before `end` were read, since the sample ends there. If no whole range was
 * read, this part of a range is scaled up to a whole range. Otherwise the part is left out.
 */
static void
end_part_of_range(const Sample *sample, SampleColumn *column, double end)
{
	const double pages = end - (double) column->range * column->pages_per_range;

	if (column->range_count == 0)
	{
		const double items = items_in_more(column, column->pages_per_range / pages);

		column->ranges[column->range_count++] = (SampledRange) {
			.items = Max(column->set.count, Min(items, bf_index_most_expected(column->pages_per_range))),
			.full = true
		};
	}
	empty_set(sample, column);
}

/* Notes the number of distinct values in the first range of each level above 0, if the range ends before this page. */
static void
note_levels(SampleColumn *column, BlockNumber page)
{
	BlockNumber lengths[BF_INDEX_MAX_LEVELS];

	bf_index_level_lengths(column->pages_per_range, lengths);
	for (int level = 1; level < BF_INDEX_MAX_LEVELS; level++)
		if (lengths[level] != 0 && lengths[level] <= page && column->items_from_start[level] == 0)
			column->items_from_start[level] = bf_index_distinct_so_far(column);
}

/* ---------------------------------------------------------------------- pages */

/* Adds the bytes of a value that is stored out of line to bytes_fetched. */
static void
count_fetched(Sample *sample, TupleTableSlot *slot, AttrNumber attnum, Datum value, bool isnull)
{
	if (!isnull && TupleDescAttr(slot->tts_tupleDescriptor, attnum - 1)->attlen == -1 &&
		VARATT_IS_EXTERNAL(DatumGetPointer(value)))
		sample->bytes_fetched += toast_datum_size(value);
}

/* The items of a row in one column. */
typedef struct RowItems
{
	Datum		value;
	bool		isnull;
	bool		has_keys;		/* keys were looked for, even if none could be extracted */
	uint32		key_count;
	KeyOfRow   *keys;			/* the keys; NULL: none were looked for, or they could not be extracted */
} RowItems;

/* Reads a column of a row. Extracts the keys of the value if the column's items are keys, or if with_keys is true. */
static void
read_column(Sample *sample, SampleColumn *column, TupleTableSlot *slot, bool with_keys, RowItems *row)
{
	row->value = slot_getattr(slot, column->attnum, &row->isnull);
	row->has_keys = with_keys || column->items_are_keys;
	row->keys = NULL;
	row->key_count = 0;
	count_fetched(sample, slot, column->attnum, row->value, row->isnull);
	if (row->has_keys)
		row->keys = bf_index_keys_of_row(sample, column, row->value, row->isnull, &row->key_count);
}

/*
 * Sets *hash to the hash of the next item of a row, and moves *next on (0 at first). Returns false if there is no
 * further item. If the column's items are keys, the items of a row are the keys that are not NULL. Otherwise the only
 * item is the value. If the value is NULL, the only item is NULL in both cases.
 */
static inline bool
next_item(const SampleColumn *column, const RowItems *row, uint32 *next, uint64 *hash)
{
	if (!column->items_are_keys || row->isnull)
	{
		/* There is one item. To hash it, item_hash() fetches a value that is stored out of line. */
		if ((*next)++ > 0)
			return false;
		*hash = row->isnull ? BF_NULL_HASH : item_hash(column->hasher, row->value);
		return true;
	}
	while (*next < row->key_count && row->keys[*next].is_null)
		(*next)++;
	if (*next >= row->key_count)
		return false;
	*hash = row->keys[(*next)++].hash;
	return true;
}

/* Counts an item of a row. */
static void
count_item(Sample *sample, SampleColumn *column, const RowItems *row, Form_pg_attribute attribute, uint64 hash,
		   const Place *place)
{
	sb_memory	memory = memory_in(sample->context);

	column->items++;
	column->added++;
	must_finish(sb_hash_set_add(&column->set, &memory, hash));
	bf_index_count_value(sample, column, hash, place, attribute, row->value, row->isnull);
}

/* Begins to read the pages from `first` to `end` (exclusive). */
static void
begin_pages(TableScanDesc scan, BlockNumber first, BlockNumber end)
{
	ItemPointerData from,
				to;

	ItemPointerSet(&from, first, FirstOffsetNumber);
	ItemPointerSet(&to, end - 1, MaxOffsetNumber);
	table_rescan_tidrange(scan, &from, &to);
}

/* Returns the share of a page that has been read if the row in the slot is the last row of the page that was read. */
static double
share_of_page_read(TupleTableSlot *slot)
{
	Buffer		buffer = ((BufferHeapTupleTableSlot *) slot)->buffer;
	OffsetNumber last;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	last = PageGetMaxOffsetNumber(BufferGetPage(buffer));
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return ItemPointerGetOffsetNumber(&slot->tts_tid) / (double) last;
}

/*
 * Reads the rows of the pages from `first` to `end` (exclusive). If bytes_fetched reaches most_fetched with a row,
 * the sample ends with this row.
 */
static void
read_unit(Sample *sample, TableScanDesc scan, TupleTableSlot *slot, MemoryContext row_context, BlockNumber first,
		  BlockNumber end)
{
	double		read_to = end;

	begin_pages(scan, first, end);
	for (int i = 0; i < sample->column_count; i++)
		if (sample->columns[i].refused == NULL)
			sample->columns[i].range = first / sample->columns[i].pages_per_range;
	while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot))
	{
		Place		place = {
			.at_beginning = first < sample->contiguous,
			.page = ItemPointerGetBlockNumber(&slot->tts_tid),
			.unit = sample->units
		};
		MemoryContext caller;

		CHECK_FOR_INTERRUPTS();
		sample->rows++;
		caller = MemoryContextSwitchTo(row_context);
		for (int i = 0; i < sample->column_count; i++)
		{
			SampleColumn *column = &sample->columns[i];
			RowItems	row;
			uint32		next = 0;
			uint64		hash;

			if (column->refused != NULL)
				continue;
			read_column(sample, column, slot, bf_index_looks_at_keys(sample, column), &row);
			if (column->refused != NULL)
				continue;
			place.range = place.page / column->pages_per_range;
			pass_to_range(sample, column, place.range);
			if (first <= sample->contiguous)
				note_levels(column, place.page);
			while (next_item(column, &row, &next, &hash))
			{
				CHECK_FOR_INTERRUPTS();
				count_item(sample, column, &row, TupleDescAttr(slot->tts_tupleDescriptor, column->attnum - 1), hash,
						   &place);
			}
			if (row.has_keys)
				bf_index_count_keys(sample, column, row.keys, row.key_count, place.page - first,
									ItemPointerGetOffsetNumber(&slot->tts_tid), place.at_beginning);
		}
		MemoryContextSwitchTo(caller);
		MemoryContextReset(row_context);
		if (sample->bytes_fetched >= sample->most_fetched)
		{
			read_to = place.page + share_of_page_read(slot);
			break;
		}
	}
	for (int i = 0; i < sample->column_count; i++)
	{
		SampleColumn *column = &sample->columns[i];

		if (column->refused != NULL)
			continue;
		if (read_to == end)
			pass_to_range(sample, column, (end - 1) / column->pages_per_range + 1);
		else
			end_part_of_range(sample, column, read_to);
		if (first <= sample->contiguous)
			note_levels(column, (BlockNumber) read_to);
		if (bf_index_looks_at_keys(sample, column))
			bf_index_end_keys_of_unit(sample, column, read_to - first, first < sample->contiguous);
	}
	sample->pages_read += read_to - first;
	sample->units++;
}

/*
 * Returns whether the length of ranges is still to be chosen for a column whose items are keys (of_keys is true) or
 * values (of_keys is false).
 */
static bool
needs_length(const SampleColumn *column, bool of_keys)
{
	return column->refused == NULL && column->items_are_keys == of_keys && column->pages_per_range == 0;
}

/* Returns whether needs_length() is true for any column. */
static bool
any_needs_length(const Sample *sample, bool of_keys)
{
	for (int i = 0; i < sample->column_count; i++)
		if (needs_length(&sample->columns[i], of_keys))
			return true;
	return false;
}

/* Returns how many bytes of out-of-line values may still be fetched to choose the length of ranges. */
static uint64
bytes_for_lengths(const Sample *sample)
{
	return sample->most_for_lengths - Min(sample->most_for_lengths, sample->fetched_for_lengths);
}

/*
 * Collects the items of the pages from `first` to `end` (exclusive), for all columns for which needs_length() is true.
 * Ends with the row after which `most` bytes of out-of-line values were fetched. Returns how many pages were read.
 */
static double
collect_items(Sample *sample, TableScanDesc scan, TupleTableSlot *slot, MemoryContext row_context, BlockNumber first,
			  BlockNumber end, bool of_keys, uint64 most)
{
	sb_memory	memory = memory_in(sample->context);
	const uint64 fetched_before = sample->bytes_fetched;
	double		pages = end - first;

	begin_pages(scan, first, end);
	while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot))
	{
		MemoryContext caller = MemoryContextSwitchTo(row_context);

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < sample->column_count; i++)
		{
			SampleColumn *column = &sample->columns[i];
			RowItems	row;
			uint32		next = 0;
			uint64		hash;

			if (!needs_length(column, of_keys))
				continue;
			read_column(sample, column, slot, false, &row);
			while (column->refused == NULL && next_item(column, &row, &next, &hash))
			{
				CHECK_FOR_INTERRUPTS();
				column->added++;
				must_finish(sb_hash_set_add(&column->set, &memory, hash));
			}
		}
		MemoryContextSwitchTo(caller);
		MemoryContextReset(row_context);
		/* If the out-of-line values are long, a part of the pages must do. lines_collected() scales the items up. */
		if (sample->bytes_fetched - fetched_before >= most)
		{
			pages = ItemPointerGetBlockNumber(&slot->tts_tid) + share_of_page_read(slot) - first;
			break;
		}
	}
	/*
	 * These bytes count for the limit most_for_lengths, not for most_fetched. If the sample reads some of these pages
	 * too, their bytes are fetched again, and count then.
	 */
	sample->fetched_for_lengths += sample->bytes_fetched - fetched_before;
	sample->bytes_fetched = fetched_before;
	return pages;
}

/*
 * Returns how many lines of a filter the items of a range of `length` pages fill. The table may end inside the range:
 * it has `whole` pages of the range. `pages` of these were read, and their items are in column->set. The number of
 * items is scaled up to `length` pages.
 */
static double
lines_collected(const Sample *sample, SampleColumn *column, double pages, BlockNumber whole, BlockNumber length)
{
	double		items = column->set.count;
	uint8		hashes;

	if (pages < whole)
		items = Max(items, Min(items_in_more(column, length / pages), bf_index_most_expected(length)));
	/* The last page of a short table is half full on average. */
	else if (whole < length)
		items *= length / (whole - 0.5);
	empty_set(sample, column);
	return items / sb_bf_items_per_line(column->rate, &hashes);
}

/*
 * Finds how many lines the filter of a range of `length` pages needs, for each column for which needs_length() is
 * true. Reads up to `most_places` ranges, evenly over the table, and takes the size that
 * bf_index_choose_range_length() would take from these. For all other columns lines[i] becomes 0.
 *
 * Fetches about bytes_for_lengths() / shares bytes of out-of-line values at most. Each range may use an equal share
 * of what the earlier ranges have left. When nothing is left, no further ranges are read.
 */
static void
lines_of_ranges(Sample *sample, TableScanDesc scan, TupleTableSlot *slot, MemoryContext row_context, BlockNumber length,
				uint32 most_places, bool of_keys, int shares, double *lines)
{
	const uint32 ranges = Max(sample->heap_blocks / length, 1);
	const uint32 places = Min(most_places, ranges);
	const uint64 most = sample->fetched_for_lengths + bytes_for_lengths(sample) / shares;
	double	   *found = palloc0(sample->column_count * places * sizeof(double));
	uint32		place;

	for (place = 0; place < places && (place == 0 || sample->fetched_for_lengths < most); place++)
	{
		BlockNumber first = (BlockNumber) ((uint64) place * ranges / places) * length;
		BlockNumber end = Min(first + length, sample->heap_blocks);
		uint64		left = most - Min(most, sample->fetched_for_lengths);
		double		pages;

		pages = collect_items(sample, scan, slot, row_context, first, end, of_keys, Max(left / (places - place), 1));
		for (int i = 0; i < sample->column_count; i++)
			if (needs_length(&sample->columns[i], of_keys))
				found[i * places + place] = lines_collected(sample, &sample->columns[i], pages, end - first, length);
	}
	for (int i = 0; i < sample->column_count; i++)
		lines[i] = bf_index_size_that_tells(&found[i * places], place);
	pfree(found);
}

/*
 * Chooses the number of pages of a range for each column whose items are values, as bf_index_choose_range_length()
 * does for an index.
 */
static void
choose_range_lengths(Sample *sample, TableScanDesc scan, TupleTableSlot *slot, MemoryContext row_context)
{
	double	   *lines = palloc(Max(sample->column_count, 1) * sizeof(double));

	if (any_needs_length(sample, false))
		lines_of_ranges(sample, scan, slot, row_context, SAMPLE_UNIT, BF_RANGES_THAT_TELL, false,
						any_needs_length(sample, true) ? 2 : 1, lines);
	for (int i = 0; i < sample->column_count; i++)
	{
		SampleColumn *column = &sample->columns[i];

		if (needs_length(column, false))
			column->pages_per_range = bf_index_range_length_for(lines[i], sample->heap_blocks, sample->is_partition);
	}
	pfree(lines);
}

/*
 * Chooses the number of pages of a range for each column whose items are keys. Half as many pages may have far more
 * than half as many distinct keys. So ranges of each length are read, beginning with SAMPLE_UNIT / 2 pages and
 * halving the length, until they are too short.
 */
static void
choose_range_lengths_of_keys(Sample *sample, TableScanDesc scan, TupleTableSlot *slot, MemoryContext row_context)
{
	double	   *lines = palloc0(Max(sample->column_count, 1) * sizeof(double));

	for (BlockNumber length = SAMPLE_UNIT / 2; length >= 1 && any_needs_length(sample, true); length /= 2)
	{
		/*
		 * The first length is always read. A shorter one is not read if it is still longer than the table, or if no
		 * more bytes may be fetched: then half the length is taken to fill half the lines.
		 */
		if (length == SAMPLE_UNIT / 2 || (length <= sample->heap_blocks && bytes_for_lengths(sample) > 0))
			lines_of_ranges(sample, scan, slot, row_context, length, BF_RANGES_WITH_KEYS_THAT_TELL, true,
							pg_leftmost_one_pos32(length) + 1, lines);
		else
			for (int i = 0; i < sample->column_count; i++)
				lines[i] /= 2;
		for (int i = 0; i < sample->column_count; i++)
			if (needs_length(&sample->columns[i], true) && (bf_index_is_short_for_keys(lines[i]) || length == 1))
				sample->columns[i].pages_per_range = bf_index_is_short_for_keys(lines[i]) ? length * 2 : 1;
	}
	pfree(lines);
}

static void
begin_columns(Sample *sample, BlockNumber most)
{
	sb_memory	memory = memory_in(sample->context);

	for (int i = 0; i < sample->column_count; i++)
	{
		SampleColumn *column = &sample->columns[i];

		if (column->refused != NULL)
			continue;
		must_finish(sb_hash_set_begin(&column->set, &memory, 2048));
		column->ranges = MemoryContextAllocHuge(sample->context,
												((Size) most + 2 * SAMPLE_UNIT) * sizeof(SampledRange));
		column->range_count = 0;
		column->items = 0;
		column->pages_per_range = 0;
		bf_index_begin_values(sample, column);
		memset(column->items_from_start, 0, sizeof column->items_from_start);
		if (column->keys != NULL)
			bf_index_begin_keys(sample, column, most);
	}
}

void
bf_index_sample_table(Sample *sample, Relation heap, BlockNumber most)
{
	MemoryContext row_context = AllocSetContextCreate(sample->context, "bf sample row", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(sample->context);
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	ItemPointerData from,
				to;
	TableScanDesc scan;
	BlockNumber rest,
				parts;

	sample->heap_blocks = RelationGetNumberOfBlocks(heap);
	sample->pages_read = 0;
	sample->rows = 0;
	sample->fetched_for_lengths = 0;
	sample->most_for_lengths = (sample->most_fetched - sample->bytes_fetched) / 4;
	most = Max(most / SAMPLE_UNIT, 2) * SAMPLE_UNIT;
	sample->contiguous = sample->heap_blocks <= most ? sample->heap_blocks : most / 2 / SAMPLE_UNIT * SAMPLE_UNIT;
	begin_columns(sample, Min(most, sample->heap_blocks));
	ItemPointerSet(&from, 0, FirstOffsetNumber);
	ItemPointerSet(&to, 0, FirstOffsetNumber);
	scan = sb_begin_scan_of_rows(heap, GetActiveSnapshot(), &from, &to);
	if (sample->heap_blocks > 0)
	{
		choose_range_lengths(sample, scan, slot, row_context);
		choose_range_lengths_of_keys(sample, scan, slot, row_context);
	}
	for (BlockNumber first = 0;
		 first < sample->contiguous && sample->bytes_fetched < sample->most_fetched; first += SAMPLE_UNIT)
		read_unit(sample, scan, slot, row_context, first, Min(first + SAMPLE_UNIT, sample->contiguous));
	sample->contiguous = sample->pages_read;

	/*
	 * Divides the rest of the table into as many parts as units may still be read, and reads a unit at a random place
	 * of each part.
	 */
	rest = (sample->heap_blocks - (BlockNumber) sample->contiguous) / SAMPLE_UNIT;
	parts = Min(rest, (most - Min(most, (BlockNumber) sample->contiguous)) / SAMPLE_UNIT);
	for (BlockNumber part = 0; part < parts && sample->bytes_fetched < sample->most_fetched; part++)
	{
		uint64		first = (uint64) part * rest / parts;
		uint64		last = ((uint64) part + 1) * rest / parts - 1;
		BlockNumber block = (BlockNumber) sample->contiguous +
			(BlockNumber) pg_prng_uint64_range(&pg_global_prng_state, first, last) * SAMPLE_UNIT;

		read_unit(sample, scan, slot, row_context, block, block + SAMPLE_UNIT);
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(row_context);
}

void
bf_index_forget_sample(Sample *sample)
{
	MemoryContextReset(sample->context);
}
