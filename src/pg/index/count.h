/*
 * count.h: estimates how many different items rows have.
 */
#ifndef STREAMBLOOM_PG_INDEX_COUNT_H
#define STREAMBLOOM_PG_INDEX_COUNT_H

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

#endif
