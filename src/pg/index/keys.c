/*
 * keys.c: operator classes whose items are keys inside values. Calls the support functions of GIN operator classes, and
 * keeps to what PostgreSQL's GIN does around these calls (ginNewScanKey() in ginscan.c, ginlogic.c): which out
 * parameters are preset, which collation is passed, and how a class without triConsistent is asked.
 *
 * GIN knows of a key whether it is in a row. Here a key is either certainly not in any row of a range, which the
 * functions are told as GIN_FALSE, or it may be in some, which is GIN_MAYBE. A key is never told to be GIN_TRUE. A
 * range is left out only where the answer is GIN_FALSE. Two kinds of keys are always GIN_MAYBE, because their hash is
 * not known: the key NULL, and a partial match, such as the prefix in 'super:*'::tsquery.
 */
#include "index/keys.h"

#include "access/genam.h"
#include "access/gin.h"
#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

struct BfKeyClass
{
	FmgrInfo	extract_value;
	FmgrInfo	extract_query;
	FmgrInfo	consistent;		/* triConsistent if the class has it */
	bool		is_ternary;
	Oid			collation;		/* that is passed to them */
	Oid			key_type;
	Oid			key_collation;	/* with which keys are hashed */
	bytea	   *options;		/* of the class, which its functions can ask for; NULL if it has none */
};

/* ------------------------------------------------------------------- operator classes */

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

/* The function that says whether a query matches: triConsistent, or if there is none consistent. */
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
						   BF_EXTRACT_QUERY_PROC, BF_EXTRACT_VALUE_PROC, BF_TRI_CONSISTENT_PROC, BF_CONSISTENT_PROC)));
}

/*
 * The collation with which keys are hashed: that of the column, which the elements of an array have too. Keys that are
 * text although the column is not, as those of jsonb and tsvector, are compared byte by byte.
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
	/* as index_create() chooses the type of the index's column */
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

	/* these compare text byte by byte, and so do hashes where the collation is deterministic */
	if (!OidIsValid(compare_function) || compare_function == F_GIN_COMPARE_JSONB ||
		compare_function == F_GIN_CMP_TSLEXEME)
		return true;
	type = lookup_type_cache(key_type, TYPECACHE_CMP_PROC);
	return compare_function == type->cmp_proc;
}

void
bf_index_check_key_class(Relation index, int column)
{
	Oid			collation = index->rd_indcollation[column];
	Oid			key_type = bf_index_item_type(index, column);
	Oid			compare = index_getprocid(index, column + 1, BF_COMPARE_PROC);

	require_functions(index, column);
	if (!bf_index_compares_as_hashed(compare, key_type))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the operator class of column %d of index \"%s\" compares keys by the function %s", column + 1,
						RelationGetRelationName(index), format_procedure(compare)),
				 errdetail("Keys are hashed as the = of type %s compares them, and this function may take others for equal.",
						   format_type_be(key_type))));
	/* Keys made of the bytes of a text say nothing about a text of other bytes that the collation takes for equal. */
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

/* ------------------------------------------------------------------------ one query */

/* The hash of a key is not known. */
#define NO_HASH UINT32_MAX

/* A query, with what the functions of the operator class want to see of it. */
typedef struct KeyQuery
{
	const BfKeyClass *keys;
	StrategyNumber strategy;
	Datum		query;
	int32		count;			/* of its keys */
	Datum	   *values;
	bool	   *nulls;
	Pointer    *extra;
	uint32	   *place;			/* of each key: its hash among those of the search, or NO_HASH */
	GinTernaryValue *check;
	bool	   *is_there;		/* for a class without triConsistent */
} KeyQuery;

/* With more keys that may be there than this, a class without triConsistent is not asked; GIN does the same. */
#define MOST_MAYBE_KEYS 4

/* Does consistent say no, whichever of the keys that may be there are there? One of them must be. */
static bool
consistent_says_no(KeyQuery *query)
{
	uint32		maybe[MOST_MAYBE_KEYS];
	int			count = 0;

	for (int32 i = 0; i < query->count; i++)
	{
		query->is_there[i] = false;
		if (query->check[i] == GIN_FALSE)
			continue;
		if (count == MOST_MAYBE_KEYS)
			return false;
		maybe[count++] = i;
	}
	/* from 1: at least one of them is there */
	for (int which = 1; which < 1 << count; which++)
	{
		bool		recheck = true;

		for (int i = 0; i < count; i++)
			query->is_there[maybe[i]] = (which >> i & 1) != 0;
		if (DatumGetBool(FunctionCall8Coll((FmgrInfo *) &query->keys->consistent, query->keys->collation,
										   PointerGetDatum(query->is_there), UInt16GetDatum(query->strategy),
										   query->query,
										   UInt32GetDatum(query->count), PointerGetDatum(query->extra),
										   PointerGetDatum(&recheck), PointerGetDatum(query->values),
										   PointerGetDatum(query->nulls))))
			return false;
	}
	return true;
}

/* Can a value match that has only those keys of which check[] says that they may be there? */
static bool
can_match(KeyQuery *query)
{
	if (!query->keys->is_ternary)
		return !consistent_says_no(query);
	return DatumGetGinTernaryValue(FunctionCall7Coll((FmgrInfo *) &query->keys->consistent, query->keys->collation,
													 PointerGetDatum(query->check), UInt16GetDatum(query->strategy),
													 query->query, UInt32GetDatum(query->count),
													 PointerGetDatum(query->extra), PointerGetDatum(query->values),
													 PointerGetDatum(query->nulls))) != GIN_FALSE;
}

/*
 * The same, for those hashes of the search for which present[] is true. In the default search mode, which is the only
 * one that gets here, GIN takes no value for a candidate that has none of the keys, and the functions need not say so:
 * with none they are not asked.
 */
static bool
can_match_with(KeyQuery *query, const bool *present)
{
	bool		any = false;

	for (int32 i = 0; i < query->count; i++)
	{
		query->check[i] = query->place[i] == NO_HASH || present[query->place[i]] ? GIN_MAYBE : GIN_FALSE;
		any |= query->check[i] == GIN_MAYBE;
	}
	return any && can_match(query);
}

/*
 * Takes a query apart, and appends the hashes of its keys to *hashes, which has *have of them and room for *room. Notes
 * down in query->place[] where they are.
 */
static BfKeySearchKind
take_apart(KeyQuery *query, ItemHasher *hasher, uint64 **hashes, uint32 *have, uint32 *room)
{
	int32		mode = GIN_SEARCH_MODE_DEFAULT;
	bool	   *partial = NULL;

	query->values = (Datum *)
		DatumGetPointer(FunctionCall7Coll((FmgrInfo *) &query->keys->extract_query, query->keys->collation,
										  query->query,
										  PointerGetDatum(&query->count), UInt16GetDatum(query->strategy),
										  PointerGetDatum(&partial), PointerGetDatum(&query->extra),
										  PointerGetDatum(&query->nulls), PointerGetDatum(&mode)));
	/* Values without any key match too, or all do. */
	if (mode != GIN_SEARCH_MODE_DEFAULT)
		return BF_FINDS_ANYTHING;
	if (query->values == NULL || query->count <= 0)
		return BF_FINDS_NOTHING;
	if (query->nulls == NULL)
		query->nulls = palloc_extended(query->count * sizeof(bool), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	query->place = palloc_extended(query->count * sizeof(uint32), MCXT_ALLOC_HUGE);
	query->check = palloc_extended(query->count * sizeof(GinTernaryValue), MCXT_ALLOC_HUGE);
	query->is_there = palloc_extended(query->count * sizeof(bool), MCXT_ALLOC_HUGE);
	for (int32 i = 0; i < query->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		query->place[i] = NO_HASH;
		if (query->nulls[i] || (partial != NULL && partial[i]))
			continue;
		if (*have == *room)
		{
			*room = Max(64, *room * 2);
			*hashes = *hashes == NULL ? palloc(*room * sizeof(uint64)) : repalloc_huge(*hashes, *room * sizeof(uint64));
		}
		query->place[i] = *have;
		(*hashes)[(*have)++] = item_hash(hasher, query->values[i]);
	}
	return BF_FINDS_BY_KEYS;
}

/* ------------------------------------------------------------------------ a search */

/*
 * What was found out for a set of keys that may be there, one bit each. Neighboring ranges often have the same ones of
 * the keys that are looked for.
 */
#define MOST_REMEMBERED 64

struct Remembered
{
	uint64		pattern;
	bool		is_known;
	bool		can_match;
};

/* With more keys than this it is not found out which ones are required. */
#define MOST_KEYS_TRIED 1024

static bool
any_can_match(BfKeySearch *search, const bool *present)
{
	for (uint32 i = 0; i < search->query_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (can_match_with(&search->queries[i], present))
			return true;
	}
	return false;
}

bool
bf_index_key_search_can_match(BfKeySearch *search, const bool *present)
{
	struct Remembered *remembered;
	uint64		pattern = 0;

	if (search->remembered == NULL)
		return any_can_match(search, present);
	for (uint32 i = 0; i < search->count; i++)
		pattern |= (uint64) present[i] << i;
	remembered = &search->remembered[(pattern ^ pattern >> 6 ^ pattern >> 17 ^ pattern >> 37) % MOST_REMEMBERED];
	if (!remembered->is_known || remembered->pattern != pattern)
		*remembered = (struct Remembered) {
			.pattern = pattern,
			.is_known = true,
			.can_match = any_can_match(search, present)
		};
	return remembered->can_match;
}

/* A hash, and where it was before it was sorted. */
typedef struct HashPlace
{
	uint64		hash;
	uint32		place;
} HashPlace;

static int
compare_hash_places(const void *a, const void *b, void *argument)
{
	uint64		x = ((const HashPlace *) a)->hash,
				y = ((const HashPlace *) b)->hash;

	return x < y ? -1 : x > y;
}

/* Tells the keys where their hashes are now: hash i is at place[i]; NO_HASH if it is not looked for any more. */
static void
renumber(BfKeySearch *search, const uint32 *place)
{
	for (uint32 i = 0; i < search->query_count; i++)
		for (int32 k = 0; k < search->queries[i].count; k++)
			if (search->queries[i].place[k] != NO_HASH)
				search->queries[i].place[k] = place[search->queries[i].place[k]];
}

/* Orders the hashes, leaves each one there once, and changes the places of the keys accordingly. */
static void
sort_hashes(BfKeySearch *search)
{
	HashPlace  *sorted = palloc_extended(Max(search->count, 1) * sizeof(HashPlace), MCXT_ALLOC_HUGE);
	uint32	   *place = palloc_extended(Max(search->count, 1) * sizeof(uint32), MCXT_ALLOC_HUGE);
	uint32		count = 0;

	for (uint32 i = 0; i < search->count; i++)
		sorted[i] = (HashPlace) {.hash = search->hashes[i], .place = i};
	qsort_interruptible(sorted, search->count, sizeof(HashPlace), compare_hash_places, NULL);
	for (uint32 i = 0; i < search->count; i++)
	{
		if (count == 0 || search->hashes[count - 1] != sorted[i].hash)
			search->hashes[count++] = sorted[i].hash;
		place[sorted[i].place] = count - 1;
	}
	search->count = count;
	renumber(search, place);
	pfree(place);
	pfree(sorted);
}

/* Finds out without which hashes no value matches. Returns how many they are; their numbers are in required[]. */
static uint32
find_required(BfKeySearch *search, bool *present, uint32 *required)
{
	uint32		count = 0;

	for (uint32 i = 0; i < search->count; i++)
	{
		present[i] = false;
		if (!any_can_match(search, present))
			required[count++] = i;
		present[i] = true;
	}
	return count;
}

/*
 * Leaves so many of the required hashes in the search, evenly chosen. The other keys may be there, then, as far as the
 * search knows. So a search for many keys can be carried from level to level.
 */
static void
leave_some(BfKeySearch *search, const uint32 *required, uint32 count)
{
	uint32	   *place = palloc(search->count * sizeof(uint32));
	uint32		left = Min(count, BF_FEW_KEYS);

	for (uint32 i = 0; i < search->count; i++)
		place[i] = NO_HASH;
	for (uint32 i = 0; i < left; i++)
	{
		uint32		chosen = required[(uint64) i * count / left];

		place[chosen] = i;
		search->hashes[i] = search->hashes[chosen];
	}
	renumber(search, place);
	search->count = left;
	pfree(place);
}

/* Finds out what kind of search this is, and what it requires. */
static void
examine(BfKeySearch *search)
{
	bool	   *present = palloc_extended(Max(search->count, 1) * sizeof(bool), MCXT_ALLOC_HUGE);
	uint32	   *required;
	uint32		count;

	memset(present, false, search->count);
	if (any_can_match(search, present))
	{
		search->kind = BF_FINDS_ANYTHING;
		return;
	}
	memset(present, true, search->count);
	if (!any_can_match(search, present))
	{
		search->kind = BF_FINDS_NOTHING;
		return;
	}
	search->kind = BF_FINDS_BY_KEYS;
	if (search->query_count == 1 && search->count <= MOST_KEYS_TRIED)
	{
		required = palloc(Max(search->count, 1) * sizeof(uint32));
		count = find_required(search, present, required);
		if (search->count > BF_FEW_KEYS && count > 0)
		{
			leave_some(search, required, count);
			count = search->count;
			search->required = ~UINT64_C(0);
		}
		else
			for (uint32 i = 0; i < count && required[i] < 64; i++)
				search->required |= UINT64_C(1) << required[i];
		pfree(required);
	}
	if (search->count <= BF_FEW_KEYS)
		search->remembered = palloc0(MOST_REMEMBERED * sizeof(struct Remembered));
	pfree(present);
}

BfKeySearch *
bf_index_begin_key_search(const BfKeyClass *keys, ItemHasher *hasher, StrategyNumber strategy, const Datum *queries,
						  uint32 query_count)
{
	BfKeySearch *search = palloc0(sizeof(BfKeySearch));
	uint32		room = 0;

	search->queries = palloc_extended(Max(query_count, 1) * sizeof(KeyQuery), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (uint32 i = 0; i < query_count; i++)
	{
		KeyQuery   *query = &search->queries[search->query_count];

		CHECK_FOR_INTERRUPTS();
		*query = (KeyQuery) {.keys = keys, .strategy = strategy, .query = queries[i]};
		switch (take_apart(query, hasher, &search->hashes, &search->count, &room))
		{
			case BF_FINDS_ANYTHING:
				search->kind = BF_FINDS_ANYTHING;
				return search;
			case BF_FINDS_NOTHING:
				break;
			case BF_FINDS_BY_KEYS:
				search->query_count++;
				break;
		}
	}
	if (search->query_count == 0)
	{
		search->kind = BF_FINDS_NOTHING;
		return search;
	}
	sort_hashes(search);
	examine(search);
	return search;
}
