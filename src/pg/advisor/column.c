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
#include "utils/timestamp.h"
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

/*
 * The most bytes of a tuple in a B-tree: a page must have room for three tuples. (This is BTMaxItemSize, a macro that
 * differs between versions of PostgreSQL. The limit of GIN is only 8 bytes higher, so this one is used for GIN, too.)
 */
#define MOST_BYTES_OF_TUPLE 2704

const uint32 bf_gram_lengths[GRAM_INDEXES] = {4, 6};

/* ----------------------------------------------------------------- operator classes */

static const char *
opclass_name(Oid opclass)
{
	FormData_pg_opclass form;

	if (!bf_index_opclass_form(opclass, &form))
		return NULL;
	return bf_index_qualified(form.opcnamespace, &form.opcname);
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

/* The class for which an index of this type is advised. For @>, jsonb_path_ops is better than jsonb_ops. */
static Oid
opclass_for(Oid method, Oid type)
{
	const Oid	better = opclass_named(method, "jsonb_path_ops", type);

	return OidIsValid(better) ? better : GetDefaultOpClass(type, method);
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
} Preparation;

static TupleDesc
tuple_of(Oid type)
{
	TupleDesc	tuple = CreateTemplateTupleDesc(1);

	TupleDescInitEntry(tuple, 1, NULL, type, -1, 0);
	return tuple;
}

/* Prepares to hash the items of an operator class: keys, or the values themselves. */
static void
prepare(void *argument)
{
	Preparation *preparation = argument;
	SampleColumn *column = preparation->column;
	Oid			type = get_opclass_input_type(preparation->opclass);

	column->class = bf_index_make_extracting_class(preparation->opclass, preparation->type, preparation->collation,
												   CurrentMemoryContext, &type);
	if (column->class != NULL)
	{
		column->key_hasher = bf_index_key_hasher(column->class, CurrentMemoryContext);
		column->key_tuple = tuple_of(type);
	}
	else
		column->hasher = item_hasher_for_index(IsPolymorphicType(type) ? preparation->type : type,
											   preparation->collation, CurrentMemoryContext);
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

	return category != ERRCODE_OPERATOR_INTERVENTION && category != ERRCODE_INSUFFICIENT_RESOURCES &&
		category != ERRCODE_SYSTEM_ERROR && sqlerrcode != ERRCODE_DATA_CORRUPTED &&
		sqlerrcode != ERRCODE_INDEX_CORRUPTED;
}

/* Prepares for the size of a B-tree. */
static void
begin_btree(SampleColumn *column, Oid type)
{
	Oid			btree = GetDefaultOpClass(type, BTREE_AM_OID);
	FormData_pg_opclass form;

	column->has_btree = bf_index_opclass_form(btree, &form);
	column->tuple = tuple_of(column->has_btree && OidIsValid(form.opckeytype) ? form.opckeytype : type);
	/* Those of a collation that is not deterministic do not, but are taken to. */
	column->deduplicates = column->has_btree && OidIsValid(function_of(btree, BTEQUALIMAGE_PROC));
}

/* Prepares for keys. */
static void
begin_keys(const Preparation *preparation)
{
	SampleColumn *column = preparation->column;
	const Oid	gin = opclass_for(GIN_AM_OID, preparation->type);

	column->items_are_keys = true;
	column->has_btree = false;
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

/* Prepares a text for grams, and for the trigrams of a GIN index if their operator class is installed. */
static void
begin_grams(Preparation *preparation, int column_count)
{
	SampleColumn *column = preparation->column;
	const Oid	grams = opclass_named(bf_index_am_oid(), "gram_ops", TEXTOID);

	column->gram_class = opclass_name(grams);
	for (int i = 0; i < GRAM_INDEXES && column->gram_class != NULL; i++)
		column->sketches[GRAMS + i] = bf_sketch_begin(column_count);
	preparation->opclass = opclass_named(GIN_AM_OID, "gin_trgm_ops", TEXTOID);
	column->has_gin = bf_index_attempt(prepare, preparation, is_answer) == NULL && column->class != NULL;
	if (column->has_gin)
		column->sketches[TRIGRAMS] = bf_sketch_begin(column_count);
}

void
bf_column_begin(SampleColumn *column, Form_pg_attribute attribute, int column_count)
{
	const Oid	type = getBaseType(attribute->atttypid);
	Preparation preparation = {
		.column = column,
		.opclass = opclass_for(bf_index_am_oid(), type),
		.type = type,
		.collation = attribute->attcollation
	};
	ErrorData  *error;

	column->name = pstrdup(NameStr(attribute->attname));
	column->rate = BF_INDEX_DEFAULT_FPR;
	column->sketches[ITEMS] = bf_sketch_begin(column_count);
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
	begin_btree(column, type);
	error = bf_index_attempt(prepare, &preparation, is_answer);
	if (error != NULL)
		column->refused = error->message;
	else if (column->class != NULL)
		begin_keys(&preparation);
	/*
	 * CREATE INDEX accepts the operator class of text for a column of citext, too. But = of citext is another operator
	 * than = of text, and does not use such an index. So such a column is refused here.
	 */
	else if (!op_in_opfamily(lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr,
							 get_opclass_family(preparation.opclass)))
		column->refused = psprintf("bf indexes type %s as %s, and its operator = would not use the index",
								   format_type_be(attribute->atttypid),
								   format_type_be(get_opclass_input_type(preparation.opclass)));
	else if (get_opclass_input_type(preparation.opclass) == TEXTOID)
		begin_grams(&preparation, column_count);
}

/* ----------------------------------------------------------------------------- rows */

/*
 * Counts an item of a row, with the size of its B-tree or GIN tuple without a line pointer. The size is 0 if the item
 * does not fit. An item that is stored in more bytes than fit could not be compressed, or is not to be.
 */
static void
add_item(Sketch *sketch, uint64 hash, uint32 row, TupleDesc tuple, Datum value, bool isnull)
{
	uint16	   *size = bf_sketch_add(sketch, hash, row);
	const bool	is_wide = size != NULL && !isnull && TupleDescAttr(tuple, 0)->attlen == -1 &&
		toast_datum_size(value) > MOST_BYTES_OF_TUPLE;

	if (size == NULL)
		return;
	*size = is_wide ? 0 : IndexTupleSize(index_form_tuple(tuple, &value, &isnull));
	if (*size > MOST_BYTES_OF_TUPLE)
		*size = 0;
}

typedef struct KeysToAdd
{
	SampleColumn *column;
	Sketch	   *sketch;
	Datum		value;
	uint32		row;
} KeysToAdd;

static void
add_keys(void *argument)
{
	KeysToAdd  *keys = argument;
	SampleColumn *column = keys->column;
	bool	   *nulls;
	int32		count;
	Datum	   *found = bf_index_extract_keys(column->class, keys->value, &count, &nulls);

	for (int32 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (nulls == NULL || !nulls[i])
			add_item(keys->sketch, item_hash(column->key_hasher, found[i]), keys->row, column->key_tuple, found[i],
					 false);
	}
}

/*
 * Counts the keys of a value. The functions of the operator class may belong to another extension, and may raise
 * errors. CREATE INDEX would fail with such an error. But the error must not end the advice on other columns.
 */
static void
try_to_add_keys(SampleColumn *column, Sketch *sketch, Datum value, uint32 row)
{
	KeysToAdd	keys = {.column = column, .sketch = sketch, .value = value, .row = row};
	ErrorData  *error = bf_index_attempt(add_keys, &keys, is_answer);

	if (error == NULL)
		return;
	column->has_gin = false;
	if (column->items_are_keys)
		column->refused = MemoryContextStrdup(sketch->context,
											  psprintf("the keys inside its values cannot be found: %s", error->message));
}

/* Counts the grams of a text. */
static void
add_grams(SampleColumn *column, text *value, uint32 row)
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
		Sketch	   *sketch = column->sketches[GRAMS + i];
		size_t		count;

		must_finish(sb_gram_extract(&form, VARDATA_ANY(value), size, grams, &count));
		sketch->rows++;
		for (size_t g = 0; g < count; g++)
			(void) bf_sketch_add(sketch, grams[g] * UINT64CONST(0x9E3779B97F4A7C15), row);
	}
}

void
bf_column_add(Sample *sample, SampleColumn *column, Datum value, bool isnull, uint32 row)
{
	Sketch	   *items = column->sketches[ITEMS];
	Sketch	   *trigrams = column->sketches[TRIGRAMS];
	const bool	is_varlena = !isnull && TupleDescAttr(column->tuple, 0)->attlen == -1;
	const Size	bytes = is_varlena ? toast_raw_datum_size(value) : 0;

	if ((column->items_are_keys && bytes > MOST_BYTES_TAKEN_APART) ||
		(is_varlena && VARATT_IS_EXTERNAL(DatumGetPointer(value)) && GetCurrentTimestamp() > sample->late))
	{
		column->left_out = true;
		return;
	}
	items->rows++;
	if (column->items_are_keys && !isnull)
		try_to_add_keys(column, items, value, row);
	else
		add_item(items, isnull ? BF_NULL_HASH : item_hash(column->hasher, value), row, column->tuple, value, isnull);
	if (sample->units_read >= UNITS_OF_GRAMS || bytes > MOST_BYTES_OF_TRIGRAMS)
		return;
	if (trigrams != NULL)
		trigrams->rows++;
	if (trigrams != NULL && !isnull && column->has_gin)
		try_to_add_keys(column, trigrams, value, row);
	if (column->gram_class != NULL && !isnull)
		add_grams(column, DatumGetTextPP(value), row);
}

void
bf_column_end_unit(const Sample *sample, SampleColumn *column, uint32 number, uint32 leaf, uint32 pages)
{
	for (int i = ITEMS; i < SKETCHES; i++)
		if (column->sketches[i] != NULL && (i == ITEMS || sample->units_read < UNITS_OF_GRAMS))
			bf_sketch_end_unit(column->sketches[i], number, leaf, pages);
}
