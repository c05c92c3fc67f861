/*
 * key_search.h: a search for keys inside values (keys.h). It says whether a value that has some of the keys can
 * match.
 */
#ifndef STREAMBLOOM_PG_INDEX_KEY_SEARCH_H
#define STREAMBLOOM_PG_INDEX_KEY_SEARCH_H

#include "base/compat.h"

#include "access/stratnum.h"

#include "index/keys.h"

/* What a search finds. */
typedef enum BfKeySearchKind
{
	BF_FINDS_NOTHING,			/* no value matches */
	BF_FINDS_ANYTHING,			/* the keys say nothing: any value may match */
	BF_FINDS_BY_KEYS
} BfKeySearchKind;

/*
 * A search: what an operator looks for, taken apart into keys. With several queries (= ANY, LIKE ANY) a value matches
 * if it matches one of them.
 */
typedef struct BfKeySearch
{
	BfKeySearchKind kind;
	uint32		count;			/* number of hashes */
	/* hashes of the keys to be looked for, each one once; ascending, except that required ones may come first */
	uint64	   *hashes;
	/* bit i (0 to 63) is set if a value without hash i cannot match; found only for a search with one query */
	uint64		required;
	struct KeyQuery *queries;
	uint32		query_count;
	struct Remembered *remembered;
} BfKeySearch;

/*
 * If a search has one query and more keys than this, the keys that BfKeySearch.required names come first. At most this
 * many required keys are found. If that many are found, the ranges of a group are asked about no others: all other keys
 * count as keys that may be there.
 */
#define BF_FEW_KEYS 64

/*
 * Takes queries apart. The result is allocated in the current memory context; it points to the queries, which must
 * live as long. REQUIRES: the operator with this strategy number is in the class.
 */
extern BfKeySearch *bf_index_begin_key_search(const BfKeyClass *keys, ItemHasher *hasher, StrategyNumber strategy,
											  const Datum *queries, uint32 query_count);

/*
 * Can a value match if, of the search's hashes, it has at most those for which present[] is true? If that is not
 * certain, the answer is true.
 */
extern bool bf_index_key_search_can_match(BfKeySearch *search, const bool *present);

#endif
