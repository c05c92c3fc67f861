/*
 * refresh.h: what a summarizer works on, and the functions that summarize ranges, also anew. For summarize.c,
 * refresh.c, replace.c, unite.c and new_group.c.
 */
#ifndef STREAMBLOOM_PG_INDEX_REFRESH_H
#define STREAMBLOOM_PG_INDEX_REFRESH_H

#include "index/build_workers.h"
#include "index/group.h"
#include "index/tape.h"
#include "index/upper_counts.h"

/* What a summarizer works on. */
typedef struct BfSummarizer
{
	Relation	index;
	Relation	heap;
	BfHeapReader *reader;
	bool		building;		/* the index is being built: nobody else writes or reads it */
	BfTape	   *tape;			/* the items of the heap; NULL: they are read from the heap */
	BfBuildWorkers *workers;	/* workers, which make lines, too; NULL: there are none */
	const BfUpperCounts *upper; /* in a build: the numbers of items of the levels above; else NULL */
	bool		shows_progress;
} BfSummarizer;

/*
 * Summarizes the selected ranges: makes them placeholders, in which writers set bits from then on (except in a build),
 * reads the ranges, and writes their bits. Allocates the areas of `lines`, but does not free them. The reader may have
 * been opened before the placeholders are written.
 */
extern void bf_index_summarize_selected(const BfSummarizer *work, const BfGeometry *geometry, BfGroupLines *lines);

/*
 * How many ranges of a group are summarized at once. The lines of many ranges are written together, because each page
 * has lines of all ranges of the group. But the lines take memory, and what was read is lost if the summarizer is
 * interrupted. In a build with workers, the memory of the workers' lines is left free.
 */
extern uint32 bf_index_ranges_at_once(const BfSummarizer *work, const BfGroup *group, BlockNumber pages_per_range);

/*
 * Summarizes anew ranges of the levels above 0 that are too full, the fullest one first. Leaves out those that would
 * probably stay too full (BfMetaPage.in_vain). Ends when no other range is left, or when half of the heap's pages were
 * read. So it summarizes at least one range, however long.
 */
extern void bf_index_refresh_upper_levels(const BfSummarizer *work, BlockNumber heap_blocks);

/*
 * Summarizes anew ranges of level 0 that are too full: in each group at most bf_index_ranges_at_once() ranges, without
 * those that would probably stay too full (BfMetaPage.in_vain_below). It begins with the groups that have the fullest
 * ranges, and reads at most half of the heap's pages; but it does at least one range.
 */
extern void bf_index_refresh_level_0(const BfSummarizer *work, BlockNumber heap_blocks);

#endif
