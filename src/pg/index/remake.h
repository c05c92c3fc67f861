/*
 * remake.h: makes groups of filters: those that a level lacks, and others in the place of those that do not fit what
 * is there.
 */
#ifndef STREAMBLOOM_PG_INDEX_REMAKE_H
#define STREAMBLOOM_PG_INDEX_REMAKE_H

#include "index/measure.h"
#include "index/summarizer.h"

/*
 * Makes groups of a level until each of its first `ranges` ranges is in a group, or the directory is full. If may_unite
 * is true, one group may take the place of all groups of the level; then all ranges of these are unsummarized again.
 */
extern void bf_index_make_groups(const BfSummarizer *work, int level, uint32 ranges, BlockNumber heap_blocks,
								 bool may_unite);

/*
 * Remakes the groups that do not fit what is there, the worst first: the mean false-positive rate is BF_TOO_FULL times
 * the one that was asked for, or a range is read by most look-ups, or the group is many times too large (sizes.h).
 * Then, if at least a quarter of the file is free, and at least 16 pages, moves groups from the end of the file to free
 * pages before them. All of this summarizes ranges anew. A call begins nothing further when it has read half of the
 * heap's pages.
 *
 * The bits do not tell that rows were deleted. So some ranges of large groups on level 0 are read, and their items are
 * counted: of one group, and of further ones as long as they have lost most of their items. If `deleted` is true, rows
 * may have gone; then groups are looked at until a sixty-fourth of the heap's pages was read.
 */
extern void bf_index_remake(const BfSummarizer *work, BlockNumber heap_blocks, bool deleted);

/* Nothing further is remade or moved once this share of the heap was read for that, in one call. */
#define BF_MOST_REMADE 0.5

/* Measures a group. Returns how many times too full or too large it is, or 0 if it fits, by what its bits tell. */
extern double bf_index_measure_how_far_off(Relation index, const BfGeometry *geometry, const BfGroup *group,
										   BlockNumber heap_blocks, BfGroupMeasure *measure);

#endif
