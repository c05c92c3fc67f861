/* column.c: which items of a column the advisor makes sketches of (advisor.h). */
#include "base/compat.h"

#include "access/detoast.h"
#include "access/itup.h"
#include "access/nbtree.h"
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

#include "advisor/advisor.h"
#include "base/call.h"
#include "index/attempt.h"
#include "index/handler.h"
#include "index/layout.h"

/*
 * Longer values are left out, because the function that extracts keys cannot be canceled. For trigrams the limit is
 * lower, because finding them takes longer.
 */
#define MOST_BYTES_TAKEN_APART (16 * 1024 * 1024)
#define MOST_BYTES_OF_TRIGRAMS (256 * 1024)

/* So many units tell enough about trigrams and grams. */
#define UNITS_OF_GRAMS 24

/* The time for out-of-line values is divided over so many units. */
#define UNITS_OF_WIDE_VALUES 16

/*
 * The most bytes of a tuple in a B-tree: a page must have room for three tuples. (This is BTMaxItemSize, a macro that
 * differs between versions of PostgreSQL. The limit of GIN is only 8 bytes higher, so this one is used for GIN, too.)
 */
#define MOST_BYTES_OF_TUPLE 2704

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

/* ----------------------------------------------------------------------- preparation */

typedef struct Preparation
{
	SampleColumn *column;
	Oid			opclass;
	Oid			type;
	Oid			collation;
	MemoryContext context;
} Preparation;

static TupleDesc
tuple_of(Oid type, MemoryContext context)
{
	MemoryContext caller = MemoryContextSwitchTo(context);
	TupleDesc	tuple = CreateTemplateTupleDesc(1);

	TupleDescInitEntry(tuple, 1, NULL, type, -1, 0);
	MemoryContextSwitchTo(caller);
	return tuple;
}

/* Prepares to hash the items of an operator class: keys, or the values themselves. */
static void
prepare(void *argument)
{
	Preparation *preparation = argument;
	SampleColumn *column = preparation->column;
	Oid			type = get_opclass_input_type(preparation->opclass);
	Oid			key_type;

	column->class = bf_index_make_extracting_class(preparation->opclass, preparation->type, preparation->collation,
												   preparation->context, &key_type);
	if (column->class == NULL)
	{
		column->hasher = item_hasher_for_index(IsPolymorphicType(type) ? preparation->type : type,
											   preparation->collation, preparation->context);
		return;
	}
	column->key_hasher = bf_index_key_hasher(column->class, preparation->context);
	column->key_tuple = tuple_of(key_type, preparation->context);
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

/* Prepares for keys. `gin` is GIN's operator class for this type. */
static void
begin_keys(const Preparation *preparation, Oid gin)
{
	SampleColumn *column = preparation->column;

	column->items_are_keys = true;
	column->rate = bf_index_key_class_fpr(function_of(preparation->opclass, BF_OPTIONS_PROC));
	column->opclass = opclass_name(preparation->opclass);
	if (preparation->type == JSONBOID)
		column->uses = "jsonb_path_ops finds by @>, @? and @@; jsonb_ops is larger and finds by ?, ?| and ?& too; jsonb_eq_ops finds whole values by =";
	else if (preparation->type == TSVECTOROID)
		column->uses = "tsvector_ops finds by @@";
	else if (get_opclass_input_type(preparation->opclass) == ANYARRAYOID)
		column->uses = "array_ops finds by @>, && and =; array_eq_ops finds whole arrays by =";
	column->has_gin = OidIsValid(gin) &&
		function_of(gin, BF_EXTRACT_VALUE_PROC) == function_of(preparation->opclass, BF_EXTRACT_VALUE_PROC);
}

/* Prepares for the size of a B-tree. */
static void
begin_btree(const Preparation *preparation)
{
	SampleColumn *column = preparation->column;
	Oid			btree = GetDefaultOpClass(preparation->type, BTREE_AM_OID);
	FormData_pg_opclass form;
	Oid			equal_image;

	column->has_btree = bf_index_opclass_form(btree, &form);
	column->tuple = tuple_of(column->has_btree && OidIsValid(form.opckeytype) ? form.opckeytype : preparation->type,
							 preparation->context);
	equal_image = column->has_btree ? function_of(btree, BTEQUALIMAGE_PROC) : InvalidOid;
	column->deduplicates = OidIsValid(equal_image) &&
		DatumGetBool(OidFunctionCall1Coll(equal_image, preparation->collation, ObjectIdGetDatum(form.opcintype)));
}

/* Prepares a text for grams, and for the trigrams of a GIN index if their operator class is installed. */
static void
begin_grams(Preparation *preparation, uint32 most_kept, uint32 most_in_unit)
{
	SampleColumn *column = preparation->column;
	const Oid	grams = opclass_named(bf_index_am_oid(), "gram_ops", TEXTOID);

	if (OidIsValid(grams))
	{
		column->gram_class = opclass_name(grams);
		for (int i = 0; i < GRAM_INDEXES; i++)
			column->sketches[GRAMS + i] = bf_sketch_begin(preparation->context, most_kept, most_in_unit);
	}
	preparation->opclass = opclass_named(GIN_AM_OID, "gin_trgm_ops", TEXTOID);
	column->has_gin = OidIsValid(preparation->opclass) && bf_index_attempt(prepare, preparation, is_answer) == NULL &&
		column->class != NULL;
	if (column->has_gin)
		column->sketches[TRIGRAMS] = bf_sketch_begin(preparation->context, most_kept, most_in_unit);
}

void
bf_column_begin(SampleColumn *column, Form_pg_attribute attribute, MemoryContext context, uint32 most_kept,
				uint32 most_in_unit)
{
	const Oid	type = getBaseType(attribute->atttypid);
	const bool	is_json = type == JSONBOID;
	/* for @>, jsonb_path_ops is better than jsonb_ops (docs/searching.md) */
	const Oid	better = is_json ? opclass_named(bf_index_am_oid(), "jsonb_path_ops", JSONBOID) : InvalidOid;
	Preparation preparation = {
		.column = column,
		.opclass = OidIsValid(better) ? better : GetDefaultOpClass(type, bf_index_am_oid()),
		.type = type,
		.collation = attribute->attcollation,
		.context = context
	};
	ErrorData  *error;

	column->name = pstrdup(NameStr(attribute->attname));
	column->rate = BF_INDEX_DEFAULT_FPR;
	column->sketches[ITEMS] = bf_sketch_begin(context, most_kept, most_in_unit);
#ifdef ATTRIBUTE_GENERATED_VIRTUAL
	if (attribute->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL)
	{
		column->refused = "no index can be made on a virtual generated column";
		return;
	}
#endif
	if (!OidIsValid(preparation.opclass))
	{
		column->refused = psprintf("there is no operator class of bf for type %s", format_type_be(attribute->atttypid));
		return;
	}
	begin_btree(&preparation);
	error = bf_index_attempt(prepare, &preparation, is_answer);
	if (error != NULL)
		column->refused = error->message;
	else if (column->class != NULL)
		begin_keys(&preparation, is_json ? opclass_named(GIN_AM_OID, "jsonb_path_ops", JSONBOID) :
				   GetDefaultOpClass(type, GIN_AM_OID));
	/*
	 * CREATE INDEX accepts the operator class of text for a column of citext, too. But = of citext is another operator
	 * than = of text, and does not use such an index. So such a column is refused here.
	 */
	else if (!op_in_opfamily(lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr,
							 get_opclass_family(preparation.opclass)))
		column->refused = psprintf("bf indexes type %s as %s, and its operator = would not use the index",
								   format_type_be(attribute->atttypid),
								   format_type_be(get_opclass_input_type(preparation.opclass)));
	else if (type == TEXTOID || type == VARCHAROID)
		begin_grams(&preparation, most_kept, most_in_unit);
}

/* ----------------------------------------------------------------------------- rows */

typedef struct Work
{
	SampleColumn *column;
	Datum		value;
	Datum	   *keys;
	bool	   *nulls;
	int32		count;
	TupleDesc	tuple;
	Size		size;
} Work;

static void
form_tuple(void *argument)
{
	Work	   *work = argument;
	bool		isnull = false;

	work->size = IndexTupleSize(index_form_tuple(work->tuple, &work->value, &isnull));
}

/* Returns the size of a B-tree or GIN tuple with this value, without its line pointer; 0: it does not fit. */
static uint16
tuple_size(TupleDesc tuple, Datum value)
{
	Work		work = {.value = value, .tuple = tuple};
	const Size	stored = TupleDescAttr(tuple, 0)->attlen == -1 ? toast_datum_size(value) : 0;

	/* a very long value is not read again, and not compressed: that takes seconds, and cannot be canceled */
	if (stored / BEST_COMPRESSION > MOST_BYTES_OF_TUPLE)
		return 0;
	if (stored <= MOST_BYTES_OF_TUPLE)
		form_tuple(&work);
	else if (bf_index_attempt(form_tuple, &work, is_answer) != NULL)
		return 0;
	return work.size > MOST_BYTES_OF_TUPLE ? 0 : work.size;
}

static void
extract(void *argument)
{
	Work	   *work = argument;

	work->keys = bf_index_extract_keys(work->column->class, work->value, &work->count, &work->nulls);
}

/* Counts the keys of a value. */
static void
add_keys(SampleColumn *column, Sketch *sketch, Datum value, BlockNumber page, OffsetNumber offset)
{
	Work		work = {.column = column, .value = value};
	/*
	 * The functions of the operator class may belong to another extension, and may raise errors. CREATE INDEX would
	 * fail with such an error. But the error must not end the advice on other columns.
	 */
	ErrorData  *error = bf_index_attempt(extract, &work, is_answer);

	if (error != NULL)
	{
		column->has_gin = false;
		if (column->items_are_keys)
			column->refused = MemoryContextStrdup(sketch->context,
												  psprintf("the keys inside its values cannot be found: %s", error->message));
		return;
	}
	for (int32 i = 0; i < work.count; i++)
		if (work.nulls == NULL || !work.nulls[i])
		{
			uint16	   *size = bf_sketch_add(sketch, item_hash(column->key_hasher, work.keys[i]), page, offset);

			if (size != NULL)
				*size = tuple_size(column->key_tuple, work.keys[i]);
			CHECK_FOR_INTERRUPTS();
		}
}

/* Counts the grams of a text. */
static void
add_grams(SampleColumn *column, text *value, BlockNumber page, OffsetNumber offset)
{
	const size_t size = VARSIZE_ANY_EXHDR(value);
	uint64	   *grams = palloc(sb_gram_most(size) * sizeof(uint64));

	for (int i = 0; i < GRAM_INDEXES; i++)
	{
		const sb_gram_form form = {
			.length = bf_gram_lengths[i],
			.fold = true,
			.text = GetDatabaseEncoding() == PG_UTF8 ? SB_GRAM_UTF8 : SB_GRAM_ONE_BYTE
		};
		size_t		count;

		must_finish(sb_gram_extract(&form, VARDATA_ANY(value), size, grams, &count));
		column->sketches[GRAMS + i]->rows++;
		for (size_t g = 0; g < count; g++)
			(void) bf_sketch_add(column->sketches[GRAMS + i], grams[g] * UINT64CONST(0x9E3779B97F4A7C15), page, offset);
	}
}

void
bf_column_add(Sample *sample, SampleColumn *column, Datum value, bool isnull, BlockNumber page, OffsetNumber offset)
{
	const bool	is_varlena = !isnull && TupleDescAttr(column->tuple, 0)->attlen == -1;
	const Size	bytes = is_varlena ? toast_raw_datum_size(value) : 0;
	uint16	   *size;

	if ((column->items_are_keys && bytes > MOST_BYTES_TAKEN_APART) ||
		(is_varlena && VARATT_IS_EXTERNAL(DatumGetPointer(value)) && bf_sample_is_late(sample, UNITS_OF_WIDE_VALUES)))
	{
		column->left_out = true;
		return;
	}
	column->sketches[ITEMS]->rows++;
	if (isnull)
	{
		size = bf_sketch_add(column->sketches[ITEMS], BF_NULL_HASH, page, offset);
		if (size != NULL)
			*size = MAXALIGN(sizeof(IndexTupleData) + sizeof(IndexAttributeBitMapData));
	}
	else if (column->items_are_keys)
		add_keys(column, column->sketches[ITEMS], value, page, offset);
	else
	{
		size = bf_sketch_add(column->sketches[ITEMS], item_hash(column->hasher, value), page, offset);
		if (size != NULL)
			*size = tuple_size(column->tuple, value);
	}
	if (sample->units_read >= UNITS_OF_GRAMS || bytes > MOST_BYTES_OF_TRIGRAMS)
		return;
	if (column->sketches[TRIGRAMS] != NULL && column->has_gin)
	{
		column->sketches[TRIGRAMS]->rows++;
		if (!isnull)
			add_keys(column, column->sketches[TRIGRAMS], value, page, offset);
	}
	if (column->gram_class != NULL && !isnull)
		add_grams(column, DatumGetTextPP(value), page, offset);
}

void
bf_column_end_unit(const Sample *sample, SampleColumn *column, uint32 leaf, BlockNumber first, uint32 pages)
{
	for (int i = ITEMS; i < SKETCHES; i++)
		if (column->sketches[i] != NULL && (i == ITEMS || sample->units_read < UNITS_OF_GRAMS))
			bf_sketch_end_unit(column->sketches[i], leaf, first, pages);
}
