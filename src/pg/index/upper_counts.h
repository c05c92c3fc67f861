/*
 * upper_counts.h: how many items the ranges of the levels above 0 have. A build counts them while it reads the ranges
 * of level 0.
 */
#ifndef STREAMBLOOM_PG_INDEX_UPPER_COUNTS_H
#define STREAMBLOOM_PG_INDEX_UPPER_COUNTS_H

#include "index/geometry.h"
#include "index/heap.h"

typedef struct BfUpperCounts BfUpperCounts;

/*
 * Begins to count for all levels that the index may have, with a heap of heap_blocks pages. Memory is taken from the
 * current context.
 */
extern BfUpperCounts *bf_index_begin_upper_counts(const BfGeometry *geometry, BlockNumber heap_blocks);

/* Counts the items of the next range of level 0. */
extern void bf_index_count_upper(BfUpperCounts *counts, const BfRangeItems *items);

/*
 * The number of items that a range of a level above 0 has in a column. It is -1 if the heap does not fill the range,
 * or if not all ranges of level 0 in it were counted.
 */
extern double bf_index_upper_count(const BfUpperCounts *counts, int level, uint32 range, int column);

#endif
