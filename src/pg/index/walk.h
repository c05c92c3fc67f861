/*
 * walk.h: looks at some pages of an index, from which the whole is judged. An estimate for the planner.
 */
#ifndef STREAMBLOOM_PG_INDEX_WALK_H
#define STREAMBLOOM_PG_INDEX_WALK_H

#include "index/geometry.h"

#include "access/skey.h"

#include "index/estimate.h"

/*
 * Estimates which share of the heap's pages a search for all of these keys leaves. Reads at most 16 filter pages.
 * priors[] says for each level which share it is expected to leave; this stands for what is not looked at. Returns
 * false if the index has no groups, if the active snapshot is not an MVCC snapshot, or if a page is not what it
 * should be. May raise errors: of pages that cannot be read, and of functions of an operator class.
 */
extern bool bf_index_walk(Relation index, BlockNumber heap_blocks, ScanKeyData *keys, int count, const double *priors,
						  BfEstimate *estimate);

/*
 * Which share of the items that a range of level 0 has in this column are in a range far from it, too? 0: the ranges
 * have different items; 1: all have the same. Negative: this is not known. Compares ranges on one page of a group in
 * the middle. May raise errors of pages that cannot be read.
 */
extern double bf_index_common_items(Relation index, const BfGeometry *geometry, int column);

#endif
