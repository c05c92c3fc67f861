/*
 * new_group.h: makes the groups of a level.
 */
#ifndef STREAMBLOOM_PG_INDEX_NEW_GROUP_H
#define STREAMBLOOM_PG_INDEX_NEW_GROUP_H

#include "index/refresh.h"
#include "index/sizes.h"

/* Makes groups of a level until each of its first `ranges` ranges is in a group, or the directory is full. */
extern void bf_index_add_groups(const BfSummarizer *work, int level, uint32 ranges, BlockNumber heap_blocks);

/*
 * Sets lines[] to the sizes of a new group on a level above 0, with as many ranges as `group` has. `candidates` is how
 * many of these ranges the heap fills by now. Up to two of them are read; if there is none, as much of the first range
 * as the heap has. In each column the size comes from what was read, or from the bits of the level's last groups, if
 * those ask for more lines.
 */
extern void bf_index_size_above(const BfSummarizer *work, const BfGeometry *geometry, const BfGroup *group,
								uint32 candidates, uint32 *lines);

/*
 * The numbers of items of some ranges of a level above 0. bf_index_counts_above() returns those of `ranges` ranges
 * from range `first` on, in palloc'd memory. REQUIRES: this is a build, which has counted them.
 */
typedef struct BfCountsAbove
{
	BfCounts	columns[INDEX_MAX_KEYS];
	double		items[INDEX_MAX_KEYS][BF_INDEX_MAX_RANGES];
} BfCountsAbove;

extern BfCountsAbove *bf_index_counts_above(const BfSummarizer *work, const BfGeometry *geometry, int level,
											uint32 first, uint32 ranges);

/*
 * Calls add() with the items on the heap's pages from `first` to `end` (exclusive). If the tape of a build (tape.h)
 * has all these ranges, it calls add() once for each range of level 0. If not, it reads the heap, and calls add() once
 * for each row. REQUIRES: the pages are whole ranges of level 0, except that the last range may lack pages.
 */
extern void bf_index_read_items(const BfSummarizer *work, const BfGeometry *geometry, uint64 first, uint64 end,
								void (*add) (const BfRowItems *items, void *argument), void *argument);

#endif
