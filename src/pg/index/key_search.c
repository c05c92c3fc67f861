/*
 * key_search.c: what an operator looks for, taken apart into keys. The support functions of a class with keys inside
 * values (keys.h) are called as PostgreSQL's GIN calls them (ginNewScanKey() in ginscan.c, ginlogic.c). Out parameters
 * have the same values before the call as there. As in GIN, consistent is asked if a class has no triConsistent.
 *
 * GIN knows whether a key is in a row. Here a key is either certainly in no row of a range (GIN_FALSE), or it may be in
 * some row (GIN_MAYBE). triConsistent is told so. consistent knows no "maybe": consistent_says_no() asks it about the
 * combinations of such keys. A range is left out if the answer is no. If all keys are GIN_FALSE, the range is left out,
 * and the functions are not asked (can_match_with()). Some keys are always GIN_MAYBE:
 *
 * - the key NULL, and a partial match, such as the prefix in 'super:*'::tsquery, because they have no hash;
 * - keys that are not looked for, because BF_FEW_KEYS other keys of the query are required (put_first()). A key is
 *   *required* if no value without it matches.
 */
#include "index/key_search.h"

#include "access/gin.h"
#include "miscadmin.h"

/* ------------------------------------------------------------------------ one query */

/* KeyQuery.place[] of a key that has no hash, or that is not looked for any more. */
#define NO_HASH UINT32_MAX

/* A query, with the arguments that the functions of the operator class get. */
typedef struct KeyQuery
{
	const BfKeyClass *keys;
	StrategyNumber strategy;
	Datum		query;
	int32		count;			/* number of keys of the query */
	Datum	   *values;
	bool	   *nulls;
	Pointer    *extra;
	uint32	   *place;			/* for each key: the number of its hash in the search, or NO_HASH */
	GinTernaryValue *check;
	bool	   *is_there;		/* what consistent is told, for a class without triConsistent */
} KeyQuery;

/*
 * With more keys than this that may be there, a class without triConsistent is not asked, and the answer is that a
 * value can match. GIN does the same.
 */
#define MOST_MAYBE_KEYS 4

/*
 * Does consistent say no to every combination of one or more of the keys that may be there (GIN_MAYBE)? If there are
 * more such keys than MOST_MAYBE_KEYS, consistent is not asked, and the result is false.
 */
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

/* Can a value match if it lacks the keys that are GIN_FALSE in check[]? It may have the others, which are GIN_MAYBE. */
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
 * Can a value match if, of the search's hashes, it has at most those for which present[] is true? Only queries in the
 * default search mode get here. In this mode GIN finds only values that have at least one of the keys, so the
 * functions may say anything about other values. So if no key may be there, the functions are not asked, and the
 * result is false.
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
 * Takes a query apart, and appends the hashes of its keys to *hashes, which has *have of them and room for *room.
 * Notes down in query->place[] where they are. Returns what the query finds.
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
	/* In the other modes values without any key match too, or all values do. */
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

/* The most answers that a search remembers. Neighboring ranges often have the same set of hashes. */
#define MOST_REMEMBERED 64

/* An answer of bf_index_key_search_can_match(). Bit i of `pattern` is set if hash i may be there. */
struct Remembered
{
	uint64		pattern;
	bool		is_known;
	bool		can_match;
};

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

/*
 * Changes the places of the keys after the hashes were moved: hash i is now number place[i]; NO_HASH: it is not
 * looked for any more.
 */
static void
renumber(BfKeySearch *search, const uint32 *place)
{
	for (uint32 i = 0; i < search->query_count; i++)
		for (int32 k = 0; k < search->queries[i].count; k++)
			if (search->queries[i].place[k] != NO_HASH)
				search->queries[i].place[k] = place[search->queries[i].place[k]];
}

/* Sorts the hashes, keeps each one once, and changes the places of the keys accordingly. */
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

/*
 * To find the required keys of a search, its query is tried with some keys missing. Each try looks at all keys of the
 * query. All tries together look at no more than this many.
 */
#define MOST_KEYS_TRIED (UINT64_C(1) << 26)

/* How required hashes are looked for. */
typedef struct Requirement
{
	BfKeySearch *search;
	bool	   *present;		/* true for all hashes, except those that are missing in the current try */
	uint64		tries;			/* how many tries are left */
	uint32		count;			/* how many required hashes were found: BF_FEW_KEYS at most */
	uint32		hashes[BF_FEW_KEYS];	/* their numbers, ascending */
} Requirement;

/*
 * Finds the required ones among the hashes from `first` to `end` (exclusive): no value without such a hash matches. If
 * a value that lacks all hashes of this part can match, none of them is required. Otherwise the two halves are tried.
 * So a few required hashes among thousands of others are found soon.
 */
static void
find_required(Requirement *required, uint32 first, uint32 end)
{
	const uint32 middle = first + (end - first) / 2;
	bool		can_match;

	if (required->count == BF_FEW_KEYS || required->tries == 0)
		return;
	required->tries--;
	memset(required->present + first, false, end - first);
	can_match = any_can_match(required->search, required->present);
	memset(required->present + first, true, end - first);
	if (can_match)
		return;
	if (end - first == 1)
	{
		required->hashes[required->count++] = first;
		return;
	}
	find_required(required, first, middle);
	find_required(required, middle, end);
}

/*
 * For a search with more than BF_FEW_KEYS hashes: puts the required ones first. So the index is asked about these
 * first, and about the other hashes only if a range may have all required ones. If there are BF_FEW_KEYS required
 * hashes, these are enough: the others are left out, and from then on their keys count as keys that may be there.
 */
static void
put_first(BfKeySearch *search, const Requirement *required)
{
	const bool	enough = required->count == BF_FEW_KEYS;
	uint64	   *hashes = palloc_extended(search->count * sizeof(uint64), MCXT_ALLOC_HUGE);
	uint32	   *place = palloc_extended(search->count * sizeof(uint32), MCXT_ALLOC_HUGE);
	uint32		firsts = 0;
	uint32		count = required->count;

	for (uint32 i = 0; i < search->count; i++)
	{
		if (firsts < required->count && required->hashes[firsts] == i)
			place[i] = firsts++;
		else
			place[i] = enough ? NO_HASH : count++;
		if (place[i] != NO_HASH)
			hashes[place[i]] = search->hashes[i];
	}
	memcpy(search->hashes, hashes, count * sizeof(uint64));
	search->count = count;
	renumber(search, place);
	pfree(place);
	pfree(hashes);
}

/* Finds the keys that a search with one query requires, and sets search->required. */
static void
set_required(BfKeySearch *search, bool *present)
{
	Requirement required = {
		.search = search,
		.present = present,
		.tries = MOST_KEYS_TRIED / Max(search->queries[0].count, 1)
	};

	if (search->count > BF_FEW_KEYS)
	{
		find_required(&required, 0, search->count);
		put_first(search, &required);
		for (uint32 i = 0; i < required.count; i++)
			search->required |= UINT64_C(1) << i;
		return;
	}
	/* each one alone: if there are few keys, most of them are required as a rule */
	for (uint32 i = 0; i < search->count; i++)
		find_required(&required, i, i + 1);
	for (uint32 i = 0; i < required.count; i++)
		search->required |= UINT64_C(1) << required.hashes[i];
}

/* Finds out what kind of search this is, and what it requires. */
static void
examine(BfKeySearch *search)
{
	bool	   *present = palloc_extended(Max(search->count, 1) * sizeof(bool), MCXT_ALLOC_HUGE);

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
	if (search->query_count == 1)
		set_required(search, present);
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
