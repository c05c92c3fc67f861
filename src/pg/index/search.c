/*
 * search.c: prepares a search in `bf` indexes: turns what a query looks for into the hashes that the filters are asked
 * about. descend.c does the rest: it finds the pages that may have matching rows.
 *
 * A filter knows nothing of a value but its hash (base/item.c). So before an index can be asked about host = 'x', the
 * value 'x' must get the hash that the index has for an equal value of the column. That depends on the type, on the
 * collation, and on the operator class, which may take values apart into keys. If 'x' were hashed otherwise, the
 * filters would say "no" to a value that is there, and the row would be lost. Much of this file makes sure of that.
 *
 * A search (BfSearch) begins as a query's *scan keys*, which is PostgreSQL's form of conditions on the columns of an
 * index: column, operator, argument. For each scan key it has a *condition* (search.h) with the hashes of its *items*:
 *
 *   host = 'x'                     the hash of 'x'
 *   host = ANY ('{x,y}')           the hashes of 'x' and 'y', ascending; a row may have any of them
 *   host IS NULL                   BF_NULL_HASH; NULL is an item like any other
 *   host = NULL                    no hashes: no row satisfies this, and nothing is read
 *   host IS NOT NULL               `unknown`: no range can be ruled out by this
 *   tags @> '{x,y}', line ~ 'x'    the hashes of keys; key_search.c knows which combinations of them can match
 *
 * All conditions of a search must hold. They are asked in ascending order of their numbers of items (search->order),
 * because few items cost little and leave little.
 *
 * One search serves many indexes: those of all partitions of a table. bf_index_hash_search() is called for each index,
 * but hashes the items only for the first one, and for an index that hashes them otherwise than the one before (because
 * its column has another type, collation or operator class).
 *
 * Who begins a search: an index scan (scan.c), the nodes that skip partitions (../chunks, mostly through ask.c), and
 * the planner, which looks at a few pages to estimate what a condition leaves (walk.c). Skip has hashed its keys
 * already, and hands over hashes (bf_index_begin_hashed_search()).
 *
 * A search belongs to one snapshot. Only for an MVCC snapshot can a range be ruled out: its bits tell what such a
 * snapshot may see (README.md, "Why no row can be lost").
 */
#include "index/search.h"

#include "catalog/pg_type.h"
#include "lib/qunique.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "index/geometry.h"
#include "index/handler.h"
#include "index/horizon.h"
#include "index/items.h"
#include "index/keys.h"
#include "index/layout.h"
#include "index/scan.h"

static int
compare_hashes_to_sort(const void *a, const void *b, void *argument)
{
	return item_compare_hashes(a, b);
}

/* The type as which the key's argument is hashed. It may differ from the column's: an integer of another size, say. */
static Oid
type_of_argument(Relation index, const ScanKeyData *key)
{
	Oid			type = key->sk_subtype;

	/* the right argument of the operator may be declared as anyarray */
	return !OidIsValid(type) || IsPolymorphicType(type) ? bf_index_item_type(index, key->sk_attno - 1) : type;
}

/* Are the condition's items hashed as those of this index are? `has_keys`: the items are keys inside values. */
static bool
fits(const Condition *condition, Relation index, bool has_keys)
{
	if (condition->hasher == NULL || has_keys != (condition->class != NULL))
		return false;
	if (has_keys)
		return bf_index_is_key_class(condition->class, index, condition->column);
	return condition->type == type_of_argument(index, condition->key) &&
		condition->collation == index->rd_indcollation[condition->column];
}

/* Makes sure that the condition's items are hashed as those of this index are. */
static void
fit(BfSearch *search, Condition *condition, Relation index, bool has_keys)
{
	if (fits(condition, index, has_keys))
		return;
	/* an error below must not leave the old hasher with the new type */
	condition->is_hashed = false;
	condition->hasher = NULL;
	condition->type = has_keys ? InvalidOid : type_of_argument(index, condition->key);
	condition->collation = has_keys ? InvalidOid : index->rd_indcollation[condition->column];
	condition->class = has_keys ? bf_index_make_key_class(index, condition->column, search->context) : NULL;
	condition->hasher = has_keys ? bf_index_key_hasher(condition->class, search->context) :
		item_hasher_for_index(condition->type, condition->collation, search->context);
}

/* Hashes the values that the key searches for. */
static void
hash_values(Condition *condition)
{
	Datum	   *values;
	uint32		count = bf_index_key_arguments(condition->key, &values);

	/* more are not asked about unless three quarters of them are equal, which is not looked for */
	condition->unknown = count > 4 * MOST_CARRIED;
	if (condition->unknown)
		return;
	condition->hashes = palloc(count * sizeof(uint64) + 1);
	for (uint32 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		condition->hashes[i] = item_hash(condition->hasher, values[i]);
	}
	qsort_interruptible(condition->hashes, count, sizeof(uint64), compare_hashes_to_sort, NULL);
	/* equal values are one alternative: an estimate counts the alternatives */
	condition->count = qunique(condition->hashes, count, sizeof(uint64), item_compare_hashes);
}

/* Takes the scan key's arguments apart into keys inside values, and hashes these. */
static void
hash_keys(Condition *condition)
{
	Datum	   *queries;
	uint32		count = bf_index_key_arguments(condition->key, &queries);
	BfKeySearch *by_keys = bf_index_begin_key_search(condition->class, condition->hasher, condition->key->sk_strategy,
													 queries, count);

	condition->unknown = by_keys->kind == BF_FINDS_ANYTHING;
	if (by_keys->kind == BF_FINDS_BY_KEYS)
	{
		condition->by_keys = by_keys;
		condition->count = by_keys->count;
		condition->hashes = by_keys->hashes;
		condition->with = palloc_extended(condition->count * sizeof(Mask), MCXT_ALLOC_HUGE);
		condition->present = palloc_extended(condition->count * sizeof(bool), MCXT_ALLOC_HUGE);
	}
}

/*
 * Hashes what the condition's key searches for, unless this was done for an index whose items are hashed in the same
 * way. Hashes that were given (bf_index_begin_hashed_search()) stay. If this index would hash the values otherwise, the
 * condition becomes `unknown`: it rules nothing out.
 */
static void
hash_items(BfSearch *search, Condition *condition, Relation index)
{
	const ScanKeyData *key = condition->key;
	const int	special = key->sk_flags & (SK_SEARCHNOTNULL | SK_SEARCHNULL | SK_ISNULL);
	const bool	has_keys = bf_index_has_keys(index, condition->column);

	if (condition->given)
	{
		condition->unknown = has_keys || condition->collation != index->rd_indcollation[condition->column];
		return;
	}
	if (special == 0)
	{
		if (!has_keys && key->sk_strategy != BF_EQUAL_STRATEGY)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
					 errmsg("the operator class of column %d of index \"%s\" has an operator with number %d, which it cannot have",
							condition->column + 1, RelationGetRelationName(index), key->sk_strategy),
					 errhint(BF_ONLY_EQUALITY)));
		fit(search, condition, index, has_keys);
	}
	if (condition->is_hashed)
		return;
	condition->unknown = false;
	condition->count = 0;		/* for = NULL, which no row satisfies */
	condition->by_keys = NULL;
	if (special & SK_SEARCHNOTNULL)
		condition->unknown = true;
	else if (special & SK_SEARCHNULL)
	{
		condition->hashes = palloc(sizeof(uint64));
		condition->hashes[0] = BF_NULL_HASH;
		condition->count = 1;
	}
	else if (special == 0 && has_keys)
		hash_keys(condition);
	else if (special == 0)
		hash_values(condition);
	condition->is_hashed = true;
}

BfSearch *
bf_index_begin_search(const ScanKeyData *keys, int nkeys, Snapshot snapshot)
{
	BfSearch   *search = palloc(sizeof(BfSearch));

	search->context = CurrentMemoryContext;
	search->count = nkeys;
	search->conditions = palloc0(Max(nkeys, 1) * sizeof(Condition));
	search->order = palloc(Max(nkeys, 1) * sizeof(int));
	search->words = 0;
	search->everything = NULL;
	memset(search->found, 0, sizeof search->found);
	for (int i = 0; i < nkeys; i++)
	{
		search->conditions[i].key = &keys[i];
		search->conditions[i].column = keys[i].sk_attno - 1;
	}
	search->viewer = (BfViewer) {.snapshot = snapshot};
	search->trusted = snapshot != NULL && snapshot->snapshot_type == SNAPSHOT_MVCC;
	return search;
}

BfSearch *
bf_index_begin_hashed_search(uint64 *hashes, uint32 count, Oid collation, Snapshot snapshot)
{
	BfSearch   *search = bf_index_begin_search(palloc0(sizeof(ScanKeyData)), 1, snapshot);
	Condition  *condition = &search->conditions[0];

	condition->given = true;
	condition->collation = collation;
	condition->count = count;
	condition->hashes = hashes;
	qsort_interruptible(hashes, count, sizeof(uint64), compare_hashes_to_sort, NULL);
	return search;
}

void
bf_index_hash_search(BfSearch *search, Relation index)
{
	/*
	 * Reading the geometry raises an error if an operator class was changed after the index was built. So it is read
	 * here, before the first call of a function of these classes.
	 */
	(void) bf_index_geometry(index);
	/* hashes the items of each condition, and puts it into its place in search->order */
	for (int i = 0; i < search->count; i++)
	{
		int			at = i;

		hash_items(search, &search->conditions[i], index);
		for (; at > 0 && search->conditions[search->order[at - 1]].count > search->conditions[i].count; at--)
			search->order[at] = search->order[at - 1];
		search->order[at] = i;
	}
}

bool
bf_index_finds_nothing(const BfSearch *search)
{
	for (int i = 0; i < search->count; i++)
		if (!search->conditions[i].unknown && search->conditions[i].count == 0)
			return true;
	return false;
}

bool
bf_index_has_key_search(const BfSearch *search)
{
	for (int i = 0; i < search->count; i++)
		if (search->conditions[i].by_keys != NULL)
			return true;
	return false;
}

bool
bf_index_is_for_values(const BfSearch *search)
{
	const Condition *condition = &search->conditions[0];

	return search->count == 1 && search->trusted && !condition->unknown && condition->hasher != NULL &&
		condition->class == NULL && condition->is_hashed &&
			(condition->key->sk_flags & (SK_ISNULL | SK_SEARCHNULL)) == 0;
}
