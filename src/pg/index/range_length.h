/*
 * range_length.h: how many pages the ranges of an index have.
 */
#ifndef STREAMBLOOM_PG_INDEX_RANGE_LENGTH_H
#define STREAMBLOOM_PG_INDEX_RANGE_LENGTH_H

#include "index/heap.h"

/*
 * Chooses the number of pages of a range, unless it was given or chosen before. It is the smallest power of two, up
 * to 32, with which a full range fills about 8 lines in the column with the most items; or 16 lines, if these items
 * are keys inside values. If no column has such keys, small tables get longer ranges, but of 32 pages at most: a table
 * of up to 62 * 32 pages gets at most 62 ranges, which make one group; a larger table of up to 4,000 pages gets ranges
 * of 32 pages; and a partition of up to 512 pages gets at most 16 ranges.
 */
extern void bf_index_choose_range_length(Relation index, BfHeapReader *reader, BlockNumber heap_blocks);

#endif
