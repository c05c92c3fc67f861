/*
 * rollup_lists.c: the aggregates that add up the lists of hot items of a roll-up (docs/rollups.md, tbf_rollup_top()).
 *
 * A question about a year reads more than a hundred thousand entries, and shows ten items. An entry that became a row
 * of SQL would cost about a microsecond. Here the entries are hashed straight from the arrays, and only items that can
 * be part of the answer leave the aggregate.
 *
 * The aggregates have the same transition function and the same arguments, so PostgreSQL adds up the lists once for
 * all of them. Each row has a list (items and their hits) and three numbers. A hit of the row weighs at least `low`
 * and at most `high`. The number `over` is hot_over - hot_rest of the row: a listed item may have up to hot_over more
 * hits than the list says, and an item that is not listed has at most hot_rest hits. The results are arrays of the
 * same length and in the same order: the items, their sums of low * hits, and their sums of high * (hits + over).
 */
#include "tbf/tbf.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "base/call.h"
#include "base/value.h"

typedef struct ListedItem
{
	Datum		item;
	double		from;			/* the sum of low * hits */
	double		over;			/* the sum of high * (hits + `over` of the row) */
	uint32		hash;
	char		status;
} ListedItem;

typedef struct RollupLists RollupLists;

static inline bool items_equal(const RollupLists *lists, Datum left, Datum right);

#define SH_PREFIX listed
#define SH_ELEMENT_TYPE ListedItem
#define SH_KEY_TYPE Datum
#define SH_KEY item
#define SH_STORE_HASH
#define SH_GET_HASH(table, entry) ((entry)->hash)
/* Not used: each call passes the hash. */
#define SH_HASH_KEY(table, key) ((void) (key), 0)
#define SH_EQUAL(table, left, right) items_equal((table)->private_data, left, right)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* largest first */
#define ST_SORT sort_sums
#define ST_ELEMENT_TYPE double
#define ST_COMPARE(left, right) (*(left) < *(right) ? 1 : *(left) > *(right) ? -1 : 0)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

struct RollupLists
{
	MemoryContext context;		/* of this struct, the hash table and the items */
	listed_hash *items;
	TypeCacheEntry *type;
	Oid			collation;
	int64		keep;			/* this many items with the largest `from` are wanted, and as many by `over` */
	ListedItem **kept;			/* these items; NULL: not found yet, or a list was added since */
	int			kept_count;
};

static inline bool
items_equal(const RollupLists *lists, Datum left, Datum right)
{
	return DatumGetBool(FunctionCall2Coll(&lists->type->eq_opr_finfo, lists->collation, left, right));
}

static RollupLists *
make_lists(MemoryContext context, Oid type, Oid collation, int64 keep)
{
	RollupLists *lists = MemoryContextAllocZero(context, sizeof(RollupLists));

	lists->context = context;
	lists->type = lookup_type_cache(type, TYPECACHE_HASH_PROC_FINFO | TYPECACHE_EQ_OPR_FINFO);
	if (!OidIsValid(lists->type->hash_proc_finfo.fn_oid) || !OidIsValid(lists->type->eq_opr_finfo.fn_oid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify a hash function for type %s", format_type_be(type))));
	lists->collation = collation;
	lists->keep = keep;
	lists->items = listed_create(context, 1024, lists);
	return lists;
}

/* Returns the elements of an array of float8. Raises an error if one is null. */
static const double *
hits_of(ArrayType *hits, int *count)
{
	*count = ArrayGetNItems(ARR_NDIM(hits), ARR_DIMS(hits));
	if (ARR_HASNULL(hits) && array_contains_nulls(hits))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the hits of a list of hot items must not be null"),
				 errhint("Only tbf_rollup_refresh() may write the table of a roll-up.")));
	return (const double *) ARR_DATA_PTR(hits);
}

static void
add_item(RollupLists *lists, Datum item, double from, double over)
{
	uint32		hash = DatumGetUInt32(FunctionCall1Coll(&lists->type->hash_proc_finfo, lists->collation, item));
	ListedItem *entry;
	bool		found;

	/*
	 * The hash is mixed once more, because simplehash takes the low bits, and the hash function of some type may
	 * spread values only over higher bits.
	 */
	hash = murmurhash32(hash);
	entry = listed_insert_hash(lists->items, item, hash, &found);
	if (!found)
	{
		entry->hash = hash;
		entry->from = 0;
		entry->over = 0;
		entry->item = datumCopy(item, lists->type->typbyval, lists->type->typlen);
	}
	entry->from += from;
	entry->over += over;
}

/* tbf_rollup_lists_agg_add(internal, hot, hot_hits, low, high, over, keep): skips a list if any argument is null */
SB_FUNCTION(tbf_rollup_lists_agg_add);
Datum
tbf_rollup_lists_agg_add(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	RollupLists *lists = PG_ARGISNULL(0) ? NULL : (RollupLists *) PG_GETARG_POINTER(0);
	ArrayType  *hot;
	const double *hits;
	double		low;
	double		high;
	double		over;
	Datum	   *items;
	bool	   *nulls;
	int			item_count;
	int			hits_count;
	MemoryContext caller;

	for (int i = 1; i <= 6; i++)
		if (PG_ARGISNULL(i))
		{
			if (lists == NULL)
				PG_RETURN_NULL();
			PG_RETURN_POINTER(lists);
		}
	hot = PG_GETARG_ARRAYTYPE_P(1);
	hits = hits_of(PG_GETARG_ARRAYTYPE_P(2), &hits_count);
	low = PG_GETARG_FLOAT8(3);
	high = PG_GETARG_FLOAT8(4);
	over = PG_GETARG_FLOAT8(5);
	if (lists == NULL)
		lists = make_lists(context, ARR_ELEMTYPE(hot), PG_GET_COLLATION(), PG_GETARG_INT64(6));
	/* If the column is of type anyarray, as in pg_stats, each row may have another type. */
	if (ARR_ELEMTYPE(hot) != lists->type->type_id)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("lists of hot items have items of different types: %s and %s",
						format_type_be(lists->type->type_id), format_type_be(ARR_ELEMTYPE(hot))),
				 errhint("Only lists of one roll-up can be added up.")));
	if (lists->kept != NULL)
		pfree(lists->kept);
	lists->kept = NULL;
	deconstruct_array(hot, lists->type->type_id, lists->type->typlen, lists->type->typbyval, lists->type->typalign,
					  &items, &nulls, &item_count);
	caller = MemoryContextSwitchTo(lists->context);
	for (int i = 0; i < Min(item_count, hits_count); i++)
	{
		if (i % ITEMS_BETWEEN_INTERRUPTS == 0)
			CHECK_FOR_INTERRUPTS();
		if (!nulls[i])
			add_item(lists, items[i], low * hits[i], high * (hits[i] + over));
	}
	MemoryContextSwitchTo(caller);
	PG_RETURN_POINTER(lists);
}

/* Returns the keep-th largest sum. REQUIRES: 0 < keep < count. */
static double
least_sum(double *sums, size_t count, int64 keep)
{
	sort_sums(sums, count);
	return sums[keep - 1];
}

/*
 * Sets lists->kept to all items whose ListedItem.from is at least the keep-th largest one, or whose ListedItem.over is
 * at least the keep-th largest one. _tbf_rollup_hottest() (SQL) orders its answer by from, or by max(from, over +
 * rest), where `rest` is the same for all items. In either order the first `keep` items are among the items kept.
 */
static void
find_kept(RollupLists *lists)
{
	uint32		count = lists->items->members;
	double		from = -1;
	double		over = -1;
	listed_iterator iterator;
	ListedItem *entry;

	if (lists->kept != NULL)
		return;
	if (lists->keep < (int64) count)
	{
		double	   *sums = MemoryContextAllocHuge(CurrentMemoryContext, (Size) count * 2 * sizeof(double));
		uint32		n = 0;

		listed_start_iterate(lists->items, &iterator);
		while ((entry = listed_iterate(lists->items, &iterator)) != NULL)
		{
			sums[n] = entry->from;
			sums[count + n++] = entry->over;
		}
		from = lists->keep <= 0 ? get_float8_infinity() : least_sum(sums, count, lists->keep);
		over = lists->keep <= 0 ? get_float8_infinity() : least_sum(sums + count, count, lists->keep);
		pfree(sums);
	}
	lists->kept = MemoryContextAllocHuge(lists->context, (Size) Max(count, 1) * sizeof *lists->kept);
	lists->kept_count = 0;
	listed_start_iterate(lists->items, &iterator);
	while ((entry = listed_iterate(lists->items, &iterator)) != NULL)
		if (entry->from >= from || entry->over >= over)
			lists->kept[lists->kept_count++] = entry;
}

static RollupLists *
finished_lists(FunctionCallInfo fcinfo)
{
	RollupLists *lists = PG_ARGISNULL(0) ? NULL : (RollupLists *) PG_GETARG_POINTER(0);

	(void) aggregate_context(fcinfo);
	if (lists != NULL)
		find_kept(lists);
	return lists;
}

SB_FUNCTION(tbf_rollup_lists_agg_items);
Datum
tbf_rollup_lists_agg_items(PG_FUNCTION_ARGS)
{
	RollupLists *lists = finished_lists(fcinfo);
	Datum	   *items;

	if (lists == NULL)
		PG_RETURN_NULL();
	items = MemoryContextAllocHuge(CurrentMemoryContext, (Size) Max(lists->kept_count, 1) * sizeof(Datum));
	for (int i = 0; i < lists->kept_count; i++)
		items[i] = lists->kept[i]->item;
	PG_RETURN_ARRAYTYPE_P(construct_array(items, lists->kept_count, lists->type->type_id, lists->type->typlen,
										  lists->type->typbyval, lists->type->typalign));
}

static Datum
finished_sums(FunctionCallInfo fcinfo, bool over)
{
	RollupLists *lists = finished_lists(fcinfo);
	Datum	   *sums;

	if (lists == NULL)
		PG_RETURN_NULL();
	sums = MemoryContextAllocHuge(CurrentMemoryContext, (Size) Max(lists->kept_count, 1) * sizeof(Datum));
	for (int i = 0; i < lists->kept_count; i++)
		sums[i] = Float8GetDatum(over ? lists->kept[i]->over : lists->kept[i]->from);
	PG_RETURN_ARRAYTYPE_P(construct_array(sums, lists->kept_count, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
										  TYPALIGN_DOUBLE));
}

SB_FUNCTION(tbf_rollup_lists_agg_from);
Datum
tbf_rollup_lists_agg_from(PG_FUNCTION_ARGS)
{
	return finished_sums(fcinfo, false);
}

SB_FUNCTION(tbf_rollup_lists_agg_over);
Datum
tbf_rollup_lists_agg_over(PG_FUNCTION_ARGS)
{
	return finished_sums(fcinfo, true);
}
