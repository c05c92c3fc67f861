/*
 * walk.h: asks an index with a budget of pages what a search leaves. For the planner.
 */
#ifndef STREAMBLOOM_PG_INDEX_WALK_H
#define STREAMBLOOM_PG_INDEX_WALK_H

#include "base/compat.h"

#include "access/skey.h"
#include "utils/rel.h"

#include "index/estimate.h"
#include "index/geometry.h"

typedef struct BfQuestion
{
	Relation	index;
	const BfGeometry *geometry; /* of the index, when it was read last */
	BlockNumber heap_blocks;
	const ScanKeyData *keys;
	int			count;
	bool		is_known;		/* there is an answer */
	BfEstimate	estimate;		/* before: by statistics, for the parts of the index that are not looked at */
} BfQuestion;

/*
 * Estimates what a search for all keys of the question (a BfQuestion *) leaves. Reads some 16 filter pages: more if
 * there are many values, and for one group on each level at least those that the search itself reads there. There is
 * no answer if the index has no groups, if the active snapshot is not an MVCC snapshot, or if a page is not what it
 * should be. May raise errors: of pages that cannot be read, and of functions of an operator class.
 */
extern void bf_index_walk(void *question);

#endif
