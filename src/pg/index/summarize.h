/*
 * summarize.h: summarizes ranges of all levels, makes the levels above 0 for CREATE INDEX, and makes ranges
 * unsummarized again. To summarize a range is to read its rows, and to set the bits of their items in its filters. A
 * range with far more items than the others is marked as *full* instead, and is always read. A group has consecutive
 * ranges of one level, with filters of the same size.
 */
#ifndef STREAMBLOOM_PG_INDEX_SUMMARIZE_H
#define STREAMBLOOM_PG_INDEX_SUMMARIZE_H

#include "index/build_workers.h"
#include "index/geometry.h"
#include "index/heap.h"
#include "index/tape.h"

/* What to summarize. */
typedef struct BfTask
{
	BlockNumber block;			/* the range of this block, on `level`; InvalidBlockNumber: all ranges of all levels */
	int			level;
	bool		deleted;		/* rows may have gone since the ranges were summarized (remake.h) */
} BfTask;

/*
 * The phases of a build and of summarizing in pg_stat_progress_create_index (build.c gives their names). PostgreSQL's
 * own phase has number 1. BF_PHASE_SUMMARIZING + n is that of level n.
 */
#define BF_PHASE_READING 2
#define BF_PHASE_WRITING 3
#define BF_PHASE_SUMMARIZING 4

/*
 * Summarizes the task's ranges that are neither summarized nor full yet, and returns their number. If the task is all
 * ranges, it also remakes groups that do not fit what is there (remake.h). Their ranges are not counted. REQUIRES:
 * ShareUpdateExclusiveLock on the heap, so that there is one summarizer at a time.
 */
extern int64 bf_index_summarize(Relation index, Relation heap, const BfTask *task);

/*
 * For CREATE INDEX, after level 0 was built: makes the groups of the levels above, and summarizes those of their
 * ranges that the heap filled when the build began. The tape has the items of the ranges of level 0; NULL: they are
 * read from the heap. The workers, unless NULL, help.
 */
extern void bf_index_build_upper_levels(Relation index, Relation heap, BfHeapReader *reader, const BfBuildTask *task,
										BfTape *tape, BfBuildWorkers *workers);

/* Will an index of a heap of this length have more levels than one? */
extern bool bf_index_gets_levels(const BfGeometry *geometry, BlockNumber heap_blocks);

/*
 * To be called at the end of a CREATE INDEX that keeps writers away. If the heap ends with the ranges of level 0 that
 * the build has summarized, notes on the meta page that no rows lie behind these ranges (BF_BEYOND_EMPTY).
 */
extern void bf_index_built(Relation index, Relation heap);

/*
 * Makes the range of a block unsummarized on a level. Returns false if the range was unsummarized before, or if no
 * group has it. Raises an error if this session is in bf_index_summarize(). REQUIRES: as for bf_index_summarize().
 */
extern bool bf_index_desummarize(Relation index, int level, BlockNumber block);

#endif
