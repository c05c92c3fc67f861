/* column.c: which items of a column the advisor makes sketches of (sample.h). */
#include "base/compat.h"

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/itup.h"
#include "access/nbtree.h"
#include "access/toast_compression.h"
#include "access/toast_internals.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "advisor/sample.h"
#include "base/call.h"
#include "index/attempt.h"
#include "index/handler.h"
#include "index/layout.h"
#include "index/sizes.h"

/*
 * Longer values are left out, because the function that extracts keys cannot be canceled. For trigrams the limit is
 * lower, because finding them takes longer.
 */
#define MOST_BYTES_TAKEN_APART (16 * 1024 * 1024)
#define MOST_BYTES_OF_TRIGRAMS (256 * 1024)

/* At most about so many bytes of out-of-line values are read, evenly over the units. */
#define MOST_BYTES_FETCHED (UINT64CONST(256) * 1024 * 1024)

/*
 * The most bytes of a tuple in a B-tree: a page must have room for three tuples. (This is BTMaxItemSize, a macro that
 * differs between versions of PostgreSQL. The limit of GIN is only 8 bytes higher, so this one is used for GIN, too.)
 */
#define MOST_BYTES_OF_KEY 2704

/* No compression method compresses better than this: lz4 reaches a factor of 255, pglz of 91. */
#define BEST_COMPRESSION 256

const uint32 bf_gram_lengths[GRAM_INDEXES] = {4, 6};

/* ----------------------------------------------------------------- operator classes */

static const char *
opclass_name(Oid opclass)
{
	FormData_pg_opclass form;

	if (!bf_index_opclass_form(opclass, &form))
		return NULL;
	return quote_qualified_identifier(get_namespace_name(form.opcnamespace), NameStr(form.opcname));
}

/*
 * An operator class for this type with this name, from any schema; InvalidOid: there is none. Only superusers can make
 * operator classes.
 */
static Oid
opclass_named(Oid method, const char *name, Oid type)
{
	CatCList   *list = SearchSysCacheList2(CLAAMNAMENSP, ObjectIdGetDatum(method), CStringGetDatum(name));
	Oid			found = InvalidOid;

	for (int i = 0; i < list->n_members; i++)
	{
		Form_pg_opclass form = (Form_pg_opclass) GETSTRUCT(&list->members[i]->tuple);

		if (form->opcintype == type)
			found = form->oid;
	}
	ReleaseSysCacheList(list);
	return found;
}

static Oid
function_of(Oid opclass, int number)
{
	Oid			type = get_opclass_input_type(opclass);

	return get_opfamily_proc(get_opclass_family(opclass), type, type, number);
}

/* Returns whether equal values share a tuple in a B-tree of this operator class. */
static bool
deduplicates(Oid opclass, Oid collation)
{
	Oid			procedure = function_of(opclass, BTEQUALIMAGE_PROC);

	return OidIsValid(procedure) &&
		DatumGetBool(OidFunctionCall1Coll(procedure, collation, ObjectIdGetDatum(get_opclass_input_type(opclass))));
}

/* ----------------------------------------------------------------------- preparation */

typedef struct Preparation
{
	SampleColumn *column;
	Oid			opclass;
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

static void
make_class(void *argument)
{
	Preparation *preparation = argument;
	SampleColumn *column = preparation->column;
	Oid			type;

	column->class = bf_index_make_extracting_class(preparation->opclass, preparation->type, preparation->collation,
												   preparation->context, &type);
	if (column->class == NULL)
		return;
	column->key_hasher = bf_index_key_hasher(column->class, preparation->context);
	column->key.atttypid = type;
	column->key.attlen = get_typlen(type);
	column->key.attstorage = get_typstorage(type);
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

/* Tries to make a hasher, or the class of keys. The error, if it is an answer, refuses the column. */
static void
try(void (*make) (void *argument), Preparation *preparation)
{
	ErrorData  *error = bf_index_attempt(make, preparation, is_answer);

	if (error != NULL)
		preparation->column->refused = error->message;
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

/* If the operator class takes values apart into keys, prepares the column for these, and returns true. */
static bool
begin_keys(Preparation *preparation, Oid default_class)
{
	SampleColumn *column = preparation->column;
	const bool	is_json = preparation->type == JSONBOID;
	/* for @>, jsonb_path_ops is better than jsonb_ops (docs/searching.md) */
	Oid			better = is_json ? opclass_named(bf_index_am_oid(), "jsonb_path_ops", JSONBOID) : InvalidOid;
	Oid			gin = is_json ? opclass_named(GIN_AM_OID, "jsonb_path_ops", JSONBOID) :
		GetDefaultOpClass(preparation->type, GIN_AM_OID);

	preparation->opclass = OidIsValid(better) ? better : default_class;
	try(make_class, preparation);
	column->items_are_keys = column->refused != NULL || column->class != NULL;
	if (!column->items_are_keys)
		return false;
	column->rate = bf_index_key_class_fpr(function_of(preparation->opclass, BF_OPTIONS_PROC));
	column->opclass = opclass_name(preparation->opclass);
	if (is_json || preparation->type == TSVECTOROID || get_opclass_input_type(default_class) == ANYARRAYOID)
		column->uses = uses_of_classes(preparation->type);
	column->has_gin = OidIsValid(gin) &&
		function_of(gin, BF_EXTRACT_VALUE_PROC) == function_of(preparation->opclass, BF_EXTRACT_VALUE_PROC);
	return true;
}

/* Prepares a text for grams, and for the trigrams of a GIN index if their operator class is installed. */
static void
begin_grams(Preparation *preparation, uint32 most_kept)
{
	SampleColumn *column = preparation->column;
	const Oid	grams = opclass_named(bf_index_am_oid(), "gram_ops", TEXTOID);

	if (OidIsValid(grams))
	{
		column->gram_class = opclass_name(grams);
		column->pieces = MemoryContextAllocZero(preparation->context, sizeof(Pieces));
		for (int i = 0; i < GRAM_INDEXES; i++)
			column->grams[i] = bf_sketch_begin(preparation->context, 1024);
	}
	preparation->opclass = opclass_named(GIN_AM_OID, "gin_trgm_ops", TEXTOID);
	if (!OidIsValid(preparation->opclass) || bf_index_attempt(make_class, preparation, is_answer) != NULL ||
		column->class == NULL)
		return;
	column->has_gin = true;
	column->trigrams = bf_sketch_begin(preparation->context, most_kept);
}

void
bf_column_begin(SampleColumn *column, Form_pg_attribute attribute, MemoryContext context, uint32 most_kept)
{
	Oid			type = getBaseType(attribute->atttypid);
	Oid			opclass = GetDefaultOpClass(type, bf_index_am_oid());
	Oid			btree = GetDefaultOpClass(type, BTREE_AM_OID);
	Preparation preparation = {.column = column, .type = type, .collation = attribute->attcollation,
							   .context = context};

	column->attnum = attribute->attnum;
	column->name = pstrdup(NameStr(attribute->attname));
	column->has_btree = OidIsValid(btree);
	column->rate = BF_INDEX_DEFAULT_FPR;
	column->deduplicates = OidIsValid(btree) && deduplicates(btree, attribute->attcollation);
	column->items = bf_sketch_begin(context, most_kept);
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
	if (begin_keys(&preparation, opclass))
		return;
	preparation.type = get_opclass_input_type(opclass);
	/*
	 * CREATE INDEX accepts the operator class of text for a column of citext, too. But = of citext is another operator
	 * than = of text, and does not use such an index. So such a column is refused here.
	 */
	if (!op_in_opfamily(lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr, get_opclass_family(opclass)))
	{
		column->refused = psprintf("bf indexes type %s as %s, and its operator = would not use the index",
								   format_type_be(attribute->atttypid), format_type_be(preparation.type));
		return;
	}
	if (IsPolymorphicType(preparation.type))
		preparation.type = type;
	try(make_hasher, &preparation);
	preparation.type = type;
	if (column->refused == NULL && (type == TEXTOID || type == VARCHAROID))
		begin_grams(&preparation, most_kept);
}

/* ----------------------------------------------------------------------------- rows */

/*
 * Returns the size of a B-tree or GIN tuple with this value, without its line pointer, as index_form_tuple() would
 * make it. Returns 0 if the value does not fit.
 */
static uint16
tuple_size(Form_pg_attribute attribute, Datum value, bool isnull)
{
	Size		size;

	if (isnull)
		return MAXALIGN(sizeof(IndexTupleData) + sizeof(IndexAttributeBitMapData));
	if (attribute->atttypid == NAMEOID)
		size = strlen(NameStr(*DatumGetName(value))) + 1;
	else if (attribute->attlen == -1)
	{
		struct varlena *data = (struct varlena *) DatumGetPointer(value);

		/* a very long value is not read again, and not compressed: that takes seconds, and cannot be canceled */
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

typedef struct Extraction
{
	const BfKeyClass *class;
	Datum		value;
	Datum	   *found;
	bool	   *nulls;
	int32		count;
} Extraction;

static void
extract(void *argument)
{
	Extraction *extraction = argument;

	extraction->found = bf_index_extract_keys(extraction->class, extraction->value, &extraction->count,
											  &extraction->nulls);
}

/* Counts the keys of a value. GIN also has an entry for all values without keys, and one for all keys that are NULL. */
static void
add_keys(SampleColumn *column, Sketch *sketch, Datum value, bool isnull, BlockNumber page, OffsetNumber offset)
{
	Extraction	extraction = {.class = column->class, .value = value};

	if (!isnull)
	{
		/*
		 * The functions of the operator class may belong to another extension, and may raise errors. CREATE INDEX would
		 * fail with such an error. But the error must not end the advice on other columns.
		 */
		ErrorData  *error = bf_index_attempt(extract, &extraction, is_answer);

		if (error != NULL && column->items_are_keys)
			column->refused = MemoryContextStrdup(sketch->context,
												  psprintf("the keys inside its values cannot be found: %s", error->message));
		if (error != NULL)
		{
			column->has_gin = false;
			return;
		}
	}
	if (isnull)
		(void) bf_sketch_add(sketch, BF_NULL_HASH, page, offset);
	for (int32 i = 0; i < extraction.count; i++)
	{
		uint16	   *size;

		CHECK_FOR_INTERRUPTS();
		if (extraction.nulls != NULL && extraction.nulls[i])
			continue;
		size = bf_sketch_add(sketch, item_hash(column->key_hasher, extraction.found[i]), page, offset);
		if (size != NULL)
			*size = tuple_size(&column->key, extraction.found[i], false);
	}
}

/* Sets grams[] to hashes of the grams of a text, and returns their number. */
static size_t
grams_of(int index, const char *text, size_t size, uint64 *grams)
{
	const sb_gram_form form = {
		.length = bf_gram_lengths[index],
		.fold = true,
		.text = GetDatabaseEncoding() == PG_UTF8 ? SB_GRAM_UTF8 : SB_GRAM_ONE_BYTE
	};
	size_t		count;

	must_finish(sb_gram_extract(&form, text, size, grams, &count));
	for (size_t i = 0; i < count; i++)
		grams[i] *= UINT64CONST(0x9E3779B97F4A7C15);
	return count;
}

/* Counts the grams of a text, and looks for the pieces in it. */
static void
add_grams(SampleColumn *column, const char *text, size_t size, BlockNumber page, OffsetNumber offset)
{
	Pieces	   *pieces = column->pieces;
	uint64	   *grams = palloc(sb_gram_most(size) * sizeof(uint64));

	for (int i = 0; i < GRAM_INDEXES; i++)
	{
		const size_t count = grams_of(i, text, size, grams);

		for (size_t g = 0; g < count; g++)
			(void) bf_sketch_add(column->grams[i], grams[g], page, offset);
	}
	for (int i = 0; i < pieces->count; i++)
		if (memmem(text, size, pieces->text[i], PIECE_LENGTH) != NULL)
			pieces->present[i] |= (uint32) 1 << page;
	if (size < PIECE_LENGTH)
		return;
	/* of the unit's last texts, each from another place of its text */
	memcpy(pieces->coming[pieces->next % PIECES], text + (size_t) pieces->next * 7919 % (size - PIECE_LENGTH + 1),
		   PIECE_LENGTH);
	pieces->next++;
}

void
bf_column_add(Sample *sample, SampleColumn *column, uint32 unit, Form_pg_attribute attribute, Datum value, bool isnull,
			  BlockNumber page, OffsetNumber offset)
{
	const bool	is_varlena = !isnull && attribute->attlen == -1;
	const Size	bytes = is_varlena ? toast_raw_datum_size(value) : 0;
	const bool	with_grams = unit % sample->gram_every == 0;
	uint16	   *size;

	if (is_varlena && VARATT_IS_EXTERNAL(DatumGetPointer(value)))
	{
		if (sample->fetched > MOST_BYTES_FETCHED * ((sample->units_read + 1) / sample->units_to_read))
			return;
		sample->fetched += toast_datum_size(value);
	}
	if (column->items_are_keys && bytes > MOST_BYTES_TAKEN_APART)
	{
		column->left_out = true;
		return;
	}
	column->items->unit_rows++;
	if (column->items_are_keys)
	{
		add_keys(column, column->items, value, isnull, page, offset);
		return;
	}
	size = bf_sketch_add(column->items, isnull ? BF_NULL_HASH : item_hash(column->hasher, value), page, offset);
	if (size != NULL)
		*size = tuple_size(attribute, value, isnull);
	if (!with_grams || bytes > MOST_BYTES_OF_TRIGRAMS)
		return;
	if (column->trigrams != NULL && column->has_gin)
	{
		column->trigrams->unit_rows++;
		add_keys(column, column->trigrams, value, isnull, page, offset);
	}
	if (column->pieces != NULL && !isnull)
	{
		text	   *packed = DatumGetTextPP(value);

		column->grams[0]->unit_rows++;
		column->grams[1]->unit_rows++;
		add_grams(column, VARDATA_ANY(packed), VARSIZE_ANY_EXHDR(packed), page, offset);
	}
}

/* For each length of ranges: how many ranges do not have a piece, and how many of these have all its grams? */
static void
look_for_pieces(SampleColumn *column, uint32 pages)
{
	Pieces	   *pieces = column->pieces;
	uint64		grams[PIECE_LENGTH + 2];

	for (int p = 0; p < pieces->count; p++)
		for (int i = 0; i < GRAM_INDEXES; i++)
		{
			const size_t count = grams_of(i, pieces->text[p], PIECE_LENGTH, grams);
			uint32		of_gram[PIECE_LENGTH + 2];

			/* the first and the last gram have an end of the text */
			for (size_t g = 1; g + 1 < count; g++)
				of_gram[g] = bf_sketch_pages(column->grams[i], grams[g]);
			for (int length = 0; length < LENGTHS; length++)
				for (uint32 first = 0; first + (1 << length) <= pages; first += 1 << length)
				{
					const uint32 range = (uint32) (((UINT64CONST(1) << (1 << length)) - 1) << first);
					bool		all = count > 2;

					pieces->asked[length] += i == 0;
					if ((pieces->present[p] & range) != 0)
						continue;
					for (size_t g = 1; g + 1 < count; g++)
						all &= (of_gram[g] & range) != 0;
					pieces->ranges[length] += i == 0;
					pieces->in_vain[i][length] += all;
				}
		}
	memcpy(pieces->text, pieces->coming, sizeof pieces->text);
	memset(pieces->present, 0, sizeof pieces->present);
	pieces->count = Min(pieces->next, PIECES);
	pieces->next = 0;
}

void
bf_column_end_unit(const Sample *sample, SampleColumn *column, uint32 unit, uint32 leaf, uint32 pages)
{
	bf_sketch_end_unit(column->items, leaf, pages);
	if (unit % sample->gram_every != 0)
		return;
	if (column->trigrams != NULL)
		bf_sketch_end_unit(column->trigrams, leaf, pages);
	if (column->pieces == NULL)
		return;
	look_for_pieces(column, pages);
	for (int i = 0; i < GRAM_INDEXES; i++)
		bf_sketch_end_unit(column->grams[i], leaf, pages);
}
