/*
 * walk.h: asks an index with a budget of pages what a search leaves. For the planner.
 */
#ifndef STREAMBLOOM_PG_INDEX_WALK_H
#define STREAMBLOOM_PG_INDEX_WALK_H

#include "base/compat.h"

#include "access/skey.h"
#include "utils/rel.h"

#include "index/estimate.h"

/*
 * Estimates what a search for all of these keys leaves. Reads some 16 filter pages: more if there are many values, and
 * for one group on each level at least those that the search itself reads there. priors[l] is the share of the heap
 * that level l is expected to leave; it is used for the parts of the index that are not looked at. Returns false if the
 * index has no groups, if the active snapshot is not an MVCC snapshot, or if a page is not what it should be. May raise
 * errors: of pages that cannot be read, and of functions of an operator class.
 */
extern bool bf_index_walk(Relation index, BlockNumber heap_blocks, const ScanKeyData *keys, int count,
						  const double *priors, BfEstimate *estimate);

#endif
