/*
 * range_length.h: how many pages the ranges of an index have.
 */
#ifndef STREAMBLOOM_PG_INDEX_RANGE_LENGTH_H
#define STREAMBLOOM_PG_INDEX_RANGE_LENGTH_H

#include "index/heap.h"

/*
 * Chooses the number of pages of a range, unless it was given or chosen before: the smallest power of two up to 32 with
 * which a full range fills about eight lines of the column with the most items, or 16 if its items are keys inside
 * values. But a table of which ranges of 32 pages make one group stays one group, and the index of a small partition
 * gets at most 16 ranges.
 */
extern void bf_index_choose_range_length(Relation index, BfHeapReader *reader, BlockNumber heap_blocks);

#endif
