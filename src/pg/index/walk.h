/*
 * walk.h: estimates for the planner, from some pages of an index. An index has up to four levels; level 0 cuts the heap
 * into the shortest ranges of pages. A *group* is up to 125 consecutive ranges, whose filters share pages (layout.h).
 */
#ifndef STREAMBLOOM_PG_INDEX_WALK_H
#define STREAMBLOOM_PG_INDEX_WALK_H

#include "index/geometry.h"

#include "access/skey.h"

#include "index/estimate.h"

/*
 * Estimates which share of the heap's pages a search for all of these keys leaves. Reads at most 16 filter pages, or a
 * few more if many keys are long conditions (sample.h). priors[l] is the share of the heap that level l is expected to
 * leave. It is used for the parts of the index that are not looked at. Returns false if the index has no groups, if the
 * active snapshot is not an MVCC snapshot, or if a page is not what it should be. May raise errors: of pages that
 * cannot be read, and of functions of an operator class.
 */
extern bool bf_index_walk(Relation index, BlockNumber heap_blocks, ScanKeyData *keys, int count, const double *priors,
						  BfEstimate *estimate);

/*
 * Compares pairs of ranges of level 0 that lie far from each other: on one page of the group in the middle, each range
 * of the first half with one of the second half. Returns which share of a range's items in this column the other range
 * of the pair has, too: 0 if the two have no item in common, 1 if they have the same items. A negative result: the
 * share is not known. May raise errors of pages that cannot be read.
 */
extern double bf_index_common_items(Relation index, const BfGeometry *geometry, int column);

#endif
