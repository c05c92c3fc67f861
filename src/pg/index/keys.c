/*
 * keys.c: operator classes whose items are keys inside values. Finds the support functions of such a class, refuses
 * classes whose keys cannot be hashed, and takes values apart into keys. The functions get the collation that
 * PostgreSQL's GIN passes to them (initGinState() in ginutil.c).
 */
#include "index/keys.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

bool
bf_index_has_keys(Relation index, int column)
{
	return OidIsValid(index_getprocid(index, column + 1, BF_EXTRACT_QUERY_PROC));
}

Oid
bf_index_item_type(Relation index, int column)
{
	Oid			type = index->rd_opcintype[column];

	/* PostgreSQL has given the column of the index the type that the operator class stores. */
	return IsPolymorphicType(type) || bf_index_has_keys(index, column) ?
		TupleDescAttr(RelationGetDescr(index), column)->atttypid : type;
}

/* The function that says whether a value can match a query: triConsistent; or consistent, if the class lacks that. */
static Oid
consistent_function(Relation index, int column)
{
	Oid			ternary = index_getprocid(index, column + 1, BF_TRI_CONSISTENT_PROC);

	return OidIsValid(ternary) ? ternary : index_getprocid(index, column + 1, BF_CONSISTENT_PROC);
}

/*
 * Raises an error unless the class has all functions that it needs. A class can lose some at any time, by ALTER
 * OPERATOR FAMILY.
 */
static void
require_functions(Relation index, int column)
{
	if (!OidIsValid(index_getprocid(index, column + 1, BF_EXTRACT_VALUE_PROC)) ||
		!OidIsValid(consistent_function(index, column)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("the operator class of column %d of index \"%s\" lacks support functions", column + 1,
						RelationGetRelationName(index)),
				 errdetail("It has extractQuery (%d), so it must also have extractValue (%d), and triConsistent (%d) or consistent (%d).",
						   BF_EXTRACT_QUERY_PROC, BF_EXTRACT_VALUE_PROC, BF_TRI_CONSISTENT_PROC, BF_CONSISTENT_PROC),
				 errhint("Add them to the operator class, or with ALTER OPERATOR FAMILY ... ADD FUNCTION to its family.")));
}

/*
 * The collation with which keys are hashed. It is that of the column, if the column has one: the elements of an array
 * have the collation of their column. If the column has none, but its keys are text, as those of jsonb and tsvector
 * are, it is C, so the keys are compared byte by byte.
 */
static Oid
key_collation(Relation index, int column, Oid key_type)
{
	Oid			collation = index->rd_indcollation[column];

	return OidIsValid(collation) || !OidIsValid(get_typcollation(key_type)) ? collation : C_COLLATION_OID;
}

/* The collation that GIN passes to the functions of an operator class. */
static Oid
function_collation(Relation index, int column)
{
	Oid			collation = index->rd_indcollation[column];

	return OidIsValid(collation) ? collation : DEFAULT_COLLATION_OID;
}

/* Makes a copy of the options, and lets the functions of the class have it. */
static void
give_options(BfKeyClass *keys, const bytea *options, MemoryContext context)
{
	MemoryContext caller = MemoryContextSwitchTo(context);

	if (options != NULL)
	{
		keys->options = palloc(VARSIZE(options));
		memcpy(keys->options, options, VARSIZE(options));
		set_fn_opclass_options(&keys->extract_value, keys->options);
		set_fn_opclass_options(&keys->extract_query, keys->options);
		set_fn_opclass_options(&keys->consistent, keys->options);
	}
	MemoryContextSwitchTo(caller);
}

/* Are the options of two operator classes, as the functions of the class get them, the same? NULL: there are none. */
static bool
same_options(const bytea *a, const bytea *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return VARSIZE(a) == VARSIZE(b) && memcmp(a, b, VARSIZE(a)) == 0;
}

BfKeyClass *
bf_index_make_key_class(Relation index, int column, MemoryContext context)
{
	BfKeyClass *keys;

	require_functions(index, column);
	keys = MemoryContextAllocZero(context, sizeof(BfKeyClass));
	fmgr_info_cxt(index_getprocid(index, column + 1, BF_EXTRACT_VALUE_PROC), &keys->extract_value, context);
	fmgr_info_cxt(index_getprocid(index, column + 1, BF_EXTRACT_QUERY_PROC), &keys->extract_query, context);
	fmgr_info_cxt(consistent_function(index, column), &keys->consistent, context);
	keys->is_ternary = OidIsValid(index_getprocid(index, column + 1, BF_TRI_CONSISTENT_PROC));
	keys->collation = function_collation(index, column);
	keys->key_type = bf_index_item_type(index, column);
	keys->key_collation = key_collation(index, column, keys->key_type);
	give_options(keys, RelationGetIndexAttOptions(index, false)[column], context);
	return keys;
}

bool
bf_index_opclass_form(Oid opclass, FormData_pg_opclass *form)
{
	HeapTuple	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));

	if (!HeapTupleIsValid(tuple))
		return false;
	*form = *(Form_pg_opclass) GETSTRUCT(tuple);
	ReleaseSysCache(tuple);
	return true;
}

BfKeyClass *
bf_index_make_extracting_class(Oid opclass, Oid type, Oid collation, MemoryContext context, Oid *key_type)
{
	FormData_pg_opclass form;
	BfKeyClass *keys;
	Oid			function;

	if (!bf_index_opclass_form(opclass, &form))
		return NULL;
	function = get_opfamily_proc(form.opcfamily, form.opcintype, form.opcintype, BF_EXTRACT_VALUE_PROC);
	if (!OidIsValid(function) ||
		!OidIsValid(get_opfamily_proc(form.opcfamily, form.opcintype, form.opcintype, BF_EXTRACT_QUERY_PROC)))
		return NULL;
	/* index_create() chooses the type of the index's column in the same way */
	*key_type = OidIsValid(form.opckeytype) ? form.opckeytype : form.opcintype;
	if (*key_type == ANYELEMENTOID && form.opcintype == ANYARRAYOID)
		*key_type = get_base_element_type(type);
	if (!OidIsValid(*key_type))
		return NULL;
	keys = MemoryContextAllocZero(context, sizeof(BfKeyClass));
	fmgr_info_cxt(function, &keys->extract_value, context);
	keys->collation = OidIsValid(collation) ? collation : DEFAULT_COLLATION_OID;
	keys->key_type = *key_type;
	keys->key_collation = OidIsValid(collation) ||
		!OidIsValid(get_typcollation(*key_type)) ? collation : C_COLLATION_OID;
	return keys;
}

bool
bf_index_is_key_class(const BfKeyClass *keys, Relation index, int column)
{
	return keys->extract_value.fn_oid == index_getprocid(index, column + 1, BF_EXTRACT_VALUE_PROC) &&
		keys->extract_query.fn_oid == index_getprocid(index, column + 1, BF_EXTRACT_QUERY_PROC) &&
		keys->consistent.fn_oid == consistent_function(index, column) &&
		keys->collation == function_collation(index, column) &&
		keys->key_type == bf_index_item_type(index, column) &&
		keys->key_collation == key_collation(index, column, keys->key_type) &&
		same_options(keys->options, RelationGetIndexAttOptions(index, false)[column]);
}

ItemHasher *
bf_index_key_hasher(const BfKeyClass *keys, MemoryContext context)
{
	return item_hasher_for_index(keys->key_type, keys->key_collation, context);
}

bool
bf_index_compares_as_hashed(Oid compare_function, Oid key_type)
{
	TypeCacheEntry *type;

	/*
	 * The two functions that are named here compare text byte by byte; under a deterministic collation text is hashed
	 * byte by byte, too. A class without a function compares keys as their type does.
	 */
	if (!OidIsValid(compare_function) || compare_function == F_GIN_COMPARE_JSONB ||
		compare_function == F_GIN_CMP_TSLEXEME)
		return true;
	type = lookup_type_cache(key_type, TYPECACHE_CMP_PROC);
	return compare_function == type->cmp_proc;
}

void
bf_index_check_collation(Relation index, int column)
{
	const Oid	collation = index->rd_indcollation[column];

	/*
	 * A nondeterministic collation takes texts of different bytes for equal. Keys that are made of a text's bytes
	 * differ between such texts. For arrays item_hasher_for_index() looks at the collation, since their keys are
	 * whole elements.
	 */
	if (OidIsValid(collation) && !get_collation_isdeterministic(collation) &&
		index->rd_opcintype[column] != ANYARRAYOID && !OidIsValid(get_element_type(index->rd_opcintype[column])))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the operator class of column %d of index \"%s\" does not support the nondeterministic collation \"%s\"",
						column + 1, RelationGetRelationName(index), get_collation_name(collation)),
				 errhint("Give the column of the index another collation, and use the same one in queries.")));
}

Datum *
bf_index_extract_keys(const BfKeyClass *keys, Datum value, int32 *count, bool **nulls)
{
	Datum	   *found;

	*count = 0;
	*nulls = NULL;
	found = (Datum *) DatumGetPointer(FunctionCall3Coll((FmgrInfo *) &keys->extract_value, keys->collation, value,
														PointerGetDatum(count), PointerGetDatum(nulls)));
	if (found == NULL || *count < 0)
		*count = 0;
	return found;
}
