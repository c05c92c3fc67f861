/*
 * sample_keys.c: the keys inside the values of the columns that bf_index_advise() samples. A column has keys if its
 * operator class of bf has keys inside values (jsonb, arrays, tsvector). A text has keys if pg_trgm is installed: the
 * trigrams that a GIN index would have.
 *
 * A column takes bounded memory: about sample->most_kept keys at most, as with values (sample_values.c). When there
 * are more, half of them are dropped: those whose hashes end with too few zero bits. But the few keys with many rows
 * take most of a GIN index, so these are kept whatever their hashes are. Each key that is kept stands for 2^z keys,
 * so that the sums are right. Here z is the number of zero bits that the hash of a key must end with at the end of the
 * sample. For a key with many rows, z is that number at the time when the key was found to have many rows.
 */
#include "base/compat.h"

#include <math.h>

#include "access/detoast.h"
#include "access/genam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "advisor/sample.h"
#include "index/attempt.h"
#include "index/handler.h"
#include "index/keys.h"
#include "index/layout.h"

/*
 * Longer values are left out, because the function that extracts keys cannot be canceled. For trigrams the limit is
 * lower, because finding them takes longer.
 */
#define MOST_BYTES_TAKEN_APART (16 * 1024 * 1024)
#define MOST_BYTES_OF_TRIGRAMS (256 * 1024)

/* This many pages tell enough about trigrams. */
#define MOST_PAGES_OF_TRIGRAMS 2048

/* Hashes for GIN's entries of rows without keys, and of keys that are NULL (GinNullCategory). */
#define NO_KEYS_HASH (BF_NULL_HASH ^ 1)
#define NULL_KEY_HASH (BF_NULL_HASH ^ 2)

/* A key that was kept. */
typedef struct KeptKey
{
	uint64		hash;			/* the key for simplehash.h */
	uint64		last;			/* the row that was counted last, as place_of_row() */
	uint64		bytes;			/* these and `size`: as in CountedKey */
	uint32		rows;
	uint32		units;
	uint32		last_unit;
	uint16		size;
	uint8		zeros;			/* if it has many rows: `zeros` of SampleKeys when that was found out */
	bool		has_many_rows;
	bool		is_new;			/* it is not in the beginning of the table */
	char		status;
} KeptKey;

#define SH_PREFIX kept_key
#define SH_ELEMENT_TYPE KeptKey
#define SH_KEY_TYPE uint64
#define SH_KEY hash
#define SH_HASH_KEY(table, key) ((uint32) ((key) >> 32))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct SampleKeys
{
	BfKeyClass *class;
	ItemHasher *hasher;
	FormData_pg_attribute attribute;	/* describes an index column for the keys */
	bool		has_gin;		/* there is a GIN operator class that extracts the same keys */
	bool		trigrams;
	bool		is_varlena;		/* the column's values are varlena */
	Size		most_bytes;
	bool		left_out;		/* some value was too long */

	/* of the table, or of the partition that is sampled: */
	struct kept_key_hash *kept;
	int			zeros;
	double		postings;		/* the sum of all rows' numbers of keys */
	uint32		every;			/* one of `every` units is looked at */
	uint32		first_unit;
	double		pages;			/* pages that were looked at; a part of a page may count, as in Sample */
	double		contiguous;		/* of these, pages at the beginning of the table; 0 unless all units are looked at */
	bool		too_wide;		/* some key that was kept, also in an earlier partition, is too wide for a GIN index */
};

/* ------------------------------------------------------------------- operator classes */

/* Returns the name of an operator class with its schema, so that it means the same with any search_path. */
static const char *
opclass_name(Oid opclass)
{
	FormData_pg_opclass form;

	if (!bf_index_opclass_form(opclass, &form))
		return NULL;
	return quote_qualified_identifier(get_namespace_name(form.opcnamespace), NameStr(form.opcname));
}

/* Returns the namespace of an operator class. */
static Oid
opclass_namespace(Oid opclass)
{
	FormData_pg_opclass form;

	return bf_index_opclass_form(opclass, &form) ? form.opcnamespace : InvalidOid;
}

static Oid
opclass_in(Oid method, const char *name, Oid namespace)
{
	return GetSysCacheOid3(CLAAMNAMENSP, Anum_pg_opclass_oid, ObjectIdGetDatum(method), CStringGetDatum(name),
						   ObjectIdGetDatum(namespace));
}

/*
 * Returns an operator class for text with this name, from any schema. This is safe, since only superusers can make
 * operator classes.
 */
static Oid
opclass_anywhere(Oid method, const char *name)
{
	CatCList   *list = SearchSysCacheList2(CLAAMNAMENSP, ObjectIdGetDatum(method), CStringGetDatum(name));
	Oid			found = InvalidOid;

	for (int i = 0; i < list->n_members; i++)
	{
		Form_pg_opclass form = (Form_pg_opclass) GETSTRUCT(&list->members[i]->tuple);

		if (form->opcintype == TEXTOID)
			found = form->oid;
	}
	ReleaseSysCacheList(list);
	return found;
}

static Oid
extract_value_function(Oid opclass)
{
	Oid			type = get_opclass_input_type(opclass);

	return get_opfamily_proc(get_opclass_family(opclass), type, type, BF_EXTRACT_VALUE_PROC);
}

/* Returns the false-positive rate that the operator class declares in its options. */
static double
default_rate(Oid opclass)
{
	Oid			type = get_opclass_input_type(opclass);
	Oid			options = get_opfamily_proc(get_opclass_family(opclass), type, type, BF_OPTIONS_PROC);

	return bf_index_key_class_fpr(options);
}

/* ------------------------------------------------------------------------ preparation */

typedef struct Preparation
{
	SampleKeys *keys;
	Oid			opclass;
	Oid			type;
	Oid			collation;
	MemoryContext context;
} Preparation;

static void
make_class(void *argument)
{
	Preparation *preparation = argument;
	SampleKeys *keys = preparation->keys;
	Oid			key_type;

	keys->class = bf_index_make_extracting_class(preparation->opclass, preparation->type, preparation->collation,
												 preparation->context,
												 &key_type);
	if (keys->class == NULL)
		return;
	keys->hasher = bf_index_key_hasher(keys->class, preparation->context);
	keys->attribute.atttypid = key_type;
	keys->attribute.attlen = get_typlen(key_type);
	keys->attribute.attstorage = get_typstorage(key_type);
}

/*
 * Returns whether an error means that no index can be made on the column. Then it is an answer for the user. All other
 * errors are raised: the query was canceled, memory or another resource is exhausted, or the system or its data are
 * broken.
 */
static bool
is_answer(int sqlerrcode)
{
	int			category = ERRCODE_TO_CATEGORY(sqlerrcode);

	return category != ERRCODE_TO_CATEGORY(ERRCODE_OPERATOR_INTERVENTION) &&
		category != ERRCODE_TO_CATEGORY(ERRCODE_INSUFFICIENT_RESOURCES) &&
			category != ERRCODE_TO_CATEGORY(ERRCODE_SYSTEM_ERROR) &&
		sqlerrcode != ERRCODE_DATA_CORRUPTED && sqlerrcode != ERRCODE_INDEX_CORRUPTED;
}

/* Returns a remark on what each operator class for this type is used for. */
static const char *
uses_of_classes(Oid type)
{
	if (type == JSONBOID)
		return "jsonb_path_ops finds by @>, @? and @@; jsonb_ops is larger and finds by ?, ?| and ?& too; jsonb_eq_ops finds whole values by =";
	if (type == TSVECTOROID)
		return "tsvector_ops finds by @@";
	return "array_ops finds by @>, && and =; array_eq_ops finds whole arrays by =";
}

bool
bf_index_sample_key_column(SampleColumn *column, Form_pg_attribute attribute, Oid opclass, MemoryContext context)
{
	const Oid	type = getBaseType(attribute->atttypid);
	Preparation preparation = {.opclass = opclass, .type = type, .collation = attribute->attcollation,
							   .context = context};
	SampleKeys *keys = preparation.keys = MemoryContextAllocZero(context, sizeof(SampleKeys));
	ErrorData  *error;

	keys->is_varlena = attribute->attlen == -1;
	if (type == JSONBOID)
	{
		/* for @>, jsonb_path_ops is better than jsonb_ops (docs/searching.md) */
		Oid			better = opclass_in(bf_index_am_oid(), "jsonb_path_ops", opclass_namespace(opclass));

		if (OidIsValid(better))
			preparation.opclass = better;
	}
	error = bf_index_attempt(make_class, &preparation, is_answer);
	if (error != NULL)
		column->refused = error->message;
	if (error != NULL || keys->class != NULL)
	{
		Oid			gin = type == JSONBOID ? opclass_in(GIN_AM_OID, "jsonb_path_ops", PG_CATALOG_NAMESPACE) : GetDefaultOpClass(type, GIN_AM_OID);

		column->items_are_keys = true;
		column->keys = keys;
		column->rate = default_rate(preparation.opclass);
		column->opclass = opclass_name(preparation.opclass);
		if (opclass_namespace(opclass) == opclass_namespace(preparation.opclass) &&
			(type == JSONBOID || type == TSVECTOROID || get_opclass_input_type(opclass) == ANYARRAYOID))
			column->uses = uses_of_classes(type);
		keys->most_bytes = MOST_BYTES_TAKEN_APART;
		keys->has_gin = OidIsValid(gin) && extract_value_function(gin) == extract_value_function(preparation.opclass);
		return true;
	}
	if (type == TEXTOID || type == VARCHAROID)
	{
		Oid			grams = opclass_in(bf_index_am_oid(), "gram_ops", opclass_namespace(opclass));

		if (OidIsValid(grams))
			column->grams = bf_index_begin_grams(context);
		if (OidIsValid(grams))
			column->uses = psprintf("for LIKE, ILIKE and regular expressions there is the operator class %s", opclass_name(grams));
		preparation.opclass = opclass_anywhere(GIN_AM_OID, "gin_trgm_ops");
		if (!OidIsValid(preparation.opclass))
			return false;
		if (bf_index_attempt(make_class, &preparation, is_answer) == NULL && keys->class != NULL)
		{
			keys->has_gin = keys->trigrams = true;
			keys->most_bytes = MOST_BYTES_OF_TRIGRAMS;
			column->keys = keys;
		}
	}
	return false;
}

void
bf_index_begin_keys(const Sample *sample, SampleColumn *column, BlockNumber most)
{
	SampleKeys *keys = column->keys;

	keys->kept = kept_key_create(sample->context, 1024, NULL);
	keys->zeros = 0;
	keys->postings = 0;
	keys->every = keys->trigrams ? Max(1, (most + MOST_PAGES_OF_TRIGRAMS - 1) / MOST_PAGES_OF_TRIGRAMS) : 1;
	keys->first_unit = sample->units;
	keys->pages = keys->contiguous = 0;
}

bool
bf_index_looks_at_keys(const Sample *sample, const SampleColumn *column)
{
	return column->keys != NULL && (sample->units - column->keys->first_unit) % column->keys->every == 0;
}

/* ------------------------------------------------------------------ the keys of a row */

typedef struct Extraction
{
	const SampleKeys *keys;
	Datum		value;
	Datum	   *found;
	bool	   *nulls;
	int32		count;
} Extraction;

static void
extract(void *argument)
{
	Extraction *extraction = argument;

	extraction->found = bf_index_extract_keys(extraction->keys->class, extraction->value, &extraction->count,
											  &extraction->nulls);
}

static int
compare_keys(const void *a, const void *b, void *argument)
{
	uint64		x = ((const KeyOfRow *) a)->hash,
				y = ((const KeyOfRow *) b)->hash;

	return x < y ? -1 : x > y;
}

KeyOfRow *
bf_index_keys_of_row(Sample *sample, SampleColumn *column, Datum value, bool isnull, uint32 *count)
{
	SampleKeys *keys = column->keys;
	Extraction	extraction = {.keys = keys, .value = value};
	KeyOfRow   *result;
	ErrorData  *error;
	uint32		distinct = 0;

	*count = 0;
	if (!isnull && keys->class != NULL)
	{
		if (keys->is_varlena && toast_raw_datum_size(value) > keys->most_bytes)
		{
			keys->left_out = true;
			return NULL;
		}
		/*
		 * The functions of the operator class may belong to another extension, and may raise errors. CREATE INDEX would
		 * fail with such an error. But the error must not end the advice on other columns.
		 */
		error = bf_index_attempt(extract, &extraction, is_answer);
		if (error != NULL)
		{
			if (column->items_are_keys)
				column->refused = MemoryContextStrdup(GetMemoryChunkContext(keys),
													  psprintf("the keys inside its values cannot be found: %s", error->message));
			else
				keys->has_gin = false;
			return NULL;
		}
	}
	result = palloc_extended(Max(extraction.count, 1) * sizeof(KeyOfRow), MCXT_ALLOC_HUGE);
	if (extraction.count == 0)
	{
		result[0] = (KeyOfRow) {.hash = isnull ? BF_NULL_HASH : NO_KEYS_HASH, .is_null = true};
		*count = 1;
		return result;
	}
	for (int32 i = 0; i < extraction.count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		result[i].key = extraction.found[i];
		result[i].is_null = extraction.nulls != NULL && extraction.nulls[i];
		result[i].hash = result[i].is_null ? NULL_KEY_HASH : item_hash(keys->hasher, result[i].key);
	}
	qsort_interruptible(result, extraction.count, sizeof(KeyOfRow), compare_keys, NULL);
	for (int32 i = 0; i < extraction.count; i++)
		if (distinct == 0 || result[distinct - 1].hash != result[i].hash)
			result[distinct++] = result[i];
	*count = distinct;
	return result;
}

/* ---------------------------------------------------------------------- counting */

/*
 * Drops half of the keys that do not have many rows. A posting is a row in the list of a key. A key has many rows if it
 * has at least two, and at least 4 / most_kept of the postings of all keys. So at most most_kept / 4 keys do.
 */
static void
halve_keys(SampleKeys *keys, MemoryContext context, uint64 most_kept)
{
	struct kept_key_hash *old = keys->kept;
	struct kept_key_hash *new = kept_key_create(context, old->members / 2, NULL);
	const double many = keys->postings / (most_kept / 4.0);
	kept_key_iterator iterator;
	KeptKey    *key;

	kept_key_start_iterate(old, &iterator);
	while ((key = kept_key_iterate(old, &iterator)) != NULL)
	{
		bool		has_many_rows = key->rows >= Max(2, many);
		bool		found;
		KeptKey    *copy;
		char		status;

		if (!has_many_rows && !bf_index_ends_with_zeros(key->hash, keys->zeros + 1))
			continue;
		copy = kept_key_insert(new, key->hash, &found);
		status = copy->status;
		*copy = *key;
		copy->status = status;
		if (has_many_rows && !key->has_many_rows)
			copy->zeros = keys->zeros;
		copy->has_many_rows = has_many_rows;
	}
	keys->zeros++;
	kept_key_destroy(old);
	keys->kept = new;
}

/*
 * Returns the number that GIN gives to a row in compressed posting lists (ginpostinglist.c): the lowest 11 bits are
 * the number of the row's line pointer.
 */
static inline uint64
place_of_row(BlockNumber page, OffsetNumber offset)
{
	return (uint64) page << 11 | offset;
}

/* Returns the bytes that GIN takes for the difference of two rows' numbers: GIN puts 7 bits into each byte. */
static inline int
bytes_of_difference(uint64 difference)
{
	int			bytes = 1;

	while (difference >= 128 && bytes < 7)
	{
		difference >>= 7;
		bytes++;
	}
	return bytes;
}

void
bf_index_count_keys(Sample *sample, SampleColumn *column, const KeyOfRow *of_row, uint32 count, BlockNumber page,
					OffsetNumber offset,
					bool at_beginning)
{
	SampleKeys *keys = column->keys;
	/*
	 * The number of the row's page is counted as if the table had only the pages that were looked at. With the page's
	 * number in the table, the differences between rows of a key would be too large: the rows between are not known.
	 */
	const uint64 place = place_of_row((BlockNumber) keys->pages + page, offset);

	keys->postings += count;
	for (uint32 i = 0; i < count; i++)
	{
		bool		found = true;
		KeptKey    *key = bf_index_ends_with_zeros(of_row[i].hash, keys->zeros) ?
			kept_key_insert(keys->kept, of_row[i].hash, &found) :
			kept_key_lookup(keys->kept, of_row[i].hash);

		if (key == NULL)
			continue;
		if (found)
		{
			key->bytes += bytes_of_difference(place - Min(key->last, place));
			key->rows++;
			key->units += key->last_unit != sample->units;
		}
		else
		{
			key->size = bf_index_key_size(&keys->attribute, of_row[i].key, of_row[i].is_null);
			keys->too_wide |= key->size == 0;
			key->bytes = 0;
			key->rows = key->units = 1;
			key->zeros = 0;
			key->has_many_rows = false;
			key->is_new = !(at_beginning && keys->every == 1);
		}
		key->last = place;
		key->last_unit = sample->units;
		if (!found && keys->kept->members > sample->most_kept)
			halve_keys(keys, sample->context, sample->most_kept);
	}
}

void
bf_index_end_keys_of_unit(Sample *sample, SampleColumn *column, double pages, bool at_beginning)
{
	column->keys->pages += pages;
	if (at_beginning && column->keys->every == 1)
		column->keys->contiguous += pages;
}

bool
bf_index_has_left_out_keys(const SampleColumn *column)
{
	return column->keys != NULL && column->keys->left_out;
}

/* ----------------------------------------------------------------------- results */

static CountedKey
counted(const SampleKeys *keys, const KeptKey *key)
{
	return (CountedKey) {
		.weight = ldexp(1, key->has_many_rows ? key->zeros : keys->zeros),
		.rows = key->rows,
		.bytes = key->bytes,
		.size = key->size,
		.single = key->is_new && key->units == 1,
		.in_one_unit = key->units == 1
	};
}

void
bf_index_sample_key_stats(const Sample *sample, const SampleColumn *column, KeyStats *stats)
{
	const SampleKeys *keys = column->keys;
	Sample		looked_at = *sample;
	ValueStats	values = {0};
	kept_key_iterator iterator;
	KeptKey    *key;

	looked_at.pages_read = keys->pages;
	looked_at.contiguous = keys->contiguous;
	kept_key_start_iterate(keys->kept, &iterator);
	while ((key = kept_key_iterate(keys->kept, &iterator)) != NULL)
		bf_index_add_to_stats(&values, key->units, key->is_new,
							  UINT64CONST(1) << (key->has_many_rows ? key->zeros : keys->zeros));
	stats->scale = bf_index_times_read(&looked_at);
	stats->distinct = Min(bf_index_distinct_values(&values, looked_at.contiguous, looked_at.pages_read,
												   looked_at.heap_blocks), keys->postings * stats->scale);
	stats->is_possible = keys->has_gin && !keys->too_wide && !keys->left_out;
}

void
bf_index_visit_keys(const SampleColumn *column, void (*visit) (const CountedKey *key, void *argument), void *argument)
{
	kept_key_iterator iterator;
	KeptKey    *key;

	kept_key_start_iterate(column->keys->kept, &iterator);
	while ((key = kept_key_iterate(column->keys->kept, &iterator)) != NULL)
	{
		CountedKey	of_it = counted(column->keys, key);

		visit(&of_it, argument);
	}
}
