/*
 * range_length.h: how many pages the ranges of an index have.
 */
#ifndef STREAMBLOOM_PG_INDEX_RANGE_LENGTH_H
#define STREAMBLOOM_PG_INDEX_RANGE_LENGTH_H

#include "index/heap.h"

/*
 * Chooses the number of pages of a range, unless it was given or chosen before. It is the smallest power of two, up
 * to 32, with which the largest of a range's filters has about 8 lines of 64 bytes; or 16 lines, if the items of this
 * filter are keys inside values.
 *
 * If no column has such keys, small tables get longer ranges, so that a search reads fewer pages of the index. A table
 * of up to 62 * 32 pages gets at most 62 ranges. A larger table of up to 4,000 pages gets ranges of 32 pages. A
 * partition of up to 512 pages gets at most 16 ranges.
 */
extern void bf_index_choose_range_length(Relation index, BfHeapReader *reader, BlockNumber heap_blocks);

#endif
