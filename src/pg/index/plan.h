/*
 * plan.h: counts the items of ranges, and plans groups with filters of the size that these items need.
 */
#ifndef STREAMBLOOM_PG_INDEX_PLAN_H
#define STREAMBLOOM_PG_INDEX_PLAN_H

#include "index/measure.h"
#include "index/sizes.h"
#include "index/summarizer.h"

/* Groups that are to be made: they follow each other on a level. Their places in the file are not chosen yet. */
typedef struct BfPlan
{
	int			count;
	BfGroup		groups[BF_MOST_PLANNED];
	uint32		lines[BF_MOST_PLANNED][INDEX_MAX_KEYS];
} BfPlan;

/*
 * Reads a range of a level, and sets counts[] to the number of its different items in each column: exact on level 0, an
 * estimate above. If the heap lacks pages of a range of level 0, estimates how many items it would have with all of
 * them. Returns how many pages of the heap were read.
 */
extern double bf_index_count_range(const BfSummarizer *work, const BfGeometry *geometry, int level, uint32 range,
								   BlockNumber heap_blocks, double *counts);

/*
 * Calls add() with the items on the heap's pages from `first` to `end` (exclusive). If the tape of a build (tape.h)
 * has all these ranges, it calls add() once for each range of level 0. If not, it reads the heap, and calls add() once
 * for each row. REQUIRES: the pages are whole ranges of level 0, except that the last range may lack pages.
 */
extern void bf_index_read_items(const BfSummarizer *work, const BfGeometry *geometry, uint64 first, uint64 end,
								void (*add) (const BfRowItems *items, void *argument), void *argument);

/* The BfCounts of all columns, from range `from` of `items` on. */
extern void bf_index_counts_of(const BfGeometry *geometry, int level, const BfItems *items, uint32 from,
							   BfCounts columns[INDEX_MAX_KEYS]);

/*
 * Plans the next group of a level; or if may_unite is true, perhaps one group in the place of all groups of the level
 * (bf_index_group_to_unite()). The sizes of its filters come from the bits of the ranges before, and from some of the
 * new ones, which are read.
 */
extern void bf_index_plan_growth(const BfSummarizer *work, const BfGeometry *geometry, int level,
								 BlockNumber heap_blocks, bool may_unite, BfPlan *plan);

/* Plans groups of level 0 in the place of this one, as a build would make them of ranges with these items. */
extern void bf_index_plan_division(const BfGeometry *geometry, const BfGroup *group, const BfItems *items,
								   BfPlan *plan);

/* Plans a group in the place of this one, with filters of lines[] lines. */
extern void bf_index_plan_one(const BfGroup *group, const uint32 *lines, BfPlan *plan);

#endif
