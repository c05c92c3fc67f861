/*
 * count.h: estimates how many different items rows have.
 */
#ifndef STREAMBLOOM_PG_INDEX_COUNT_H
#define STREAMBLOOM_PG_INDEX_COUNT_H

#include "index/geometry.h"
#include "index/heap.h"
#include "index/items.h"

/*
 * Estimates how many different items rows have in each column, in little memory. bf_index_count_row() can be given to
 * bf_index_read_rows(), with the count as its argument. bf_index_end_count() sets counts[] for each column, and frees
 * the count. If `other` is not NULL, it also moves what was counted to `other`. The estimate of `other` is then the
 * same as if the items had been counted there too, which would take longer.
 */
typedef struct BfItemCount BfItemCount;

extern BfItemCount *bf_index_begin_count(int columns);
extern void bf_index_count_row(const BfRowItems *items, void *argument);
extern void bf_index_count_hashes(BfItemCount *count, int column, const uint64 *hashes, uint64 number);
extern void bf_index_end_count(BfItemCount *count, double *counts, BfItemCount *other);

/*
 * How many items the ranges of the levels above 0 have. A build counts them while it reads the ranges of level 0.
 */
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
