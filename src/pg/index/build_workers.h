/*
 * build_workers.h: parallel workers for CREATE INDEX and REINDEX.
 */
#ifndef STREAMBLOOM_PG_INDEX_BUILD_WORKERS_H
#define STREAMBLOOM_PG_INDEX_BUILD_WORKERS_H

#include "index/geometry.h"
#include "index/group.h"
#include "index/tape.h"

#include "nodes/execnodes.h"

/* What build.c and its workers have to know of a build. */
typedef struct BfBuildTask
{
	Oid			heap;
	Oid			index;
	bool		concurrently;
	int			columns;
	BlockNumber heap_blocks;
	BlockNumber pages_per_range;
	uint32		ranges;			/* number of ranges of level 0 */
	uint32		upper_ranges;	/* the most ranges of a level above 0 that the heap fills; 0: there is no such level */
} BfBuildTask;

typedef struct BfBuildWorkers BfBuildWorkers;

/*
 * Starts as many workers as PostgreSQL allows for this table (max_parallel_maintenance_workers, the table's
 * parallel_workers, maintenance_work_mem). Returns NULL if there are none. This process takes part too, with
 * `reader`. REQUIRES: bf_index_become_owner() was called; no other parallel operation runs until
 * bf_index_end_workers().
 */
extern BfBuildWorkers *bf_index_start_workers(const BfBuildTask *task, Relation heap, Relation index,
											  const IndexInfo *info,
											  BfHeapReader *reader);

/*
 * Sets *items to the items of a range, in memory of the current context. Until the range has been read, the leader
 * reads ranges itself, or waits. Returns false if temp_file_limit had no room for the range; then the caller has to
 * read it. REQUIRES: ranges are asked for in their order.
 */
extern bool bf_index_range_from_workers(BfBuildWorkers *workers, uint32 range, BfRangeItems *items);

/*
 * Ends level 0: waits until all workers have read what they took, and adds their counts of rows and their horizons to
 * those of the reader. If the caller has not asked for all ranges, because the directory is full, the others are read
 * first. Returns the tape (tape.h) with the items of the ranges. It exists until bf_index_end_workers(). It has all
 * ranges, or those before the first one that temp_file_limit had no room for.
 */
extern BfTape *bf_index_finish_ranges(BfBuildWorkers *workers);
extern void bf_index_end_workers(BfBuildWorkers *workers);

/* ---------------------------------------------------------------- levels above 0 */

/*
 * Lets the workers make the lines of the first `ranges` ranges of a level above 0. Returns false if workers are of no
 * use there. REQUIRES: bf_index_finish_ranges() was called; the level has groups for these ranges, and nobody adds any
 * until bf_index_end_upper_level().
 */
extern bool bf_index_begin_upper_level(BfBuildWorkers *workers, const BfGeometry *geometry, int level, uint32 ranges);

/* The lines of all workers together take at most maintenance_work_mem / BF_PART_FOR_WORKERS. */
#define BF_PART_FOR_WORKERS 4

/* Says that the leader is done with all ranges before this one, so that workers that were too far ahead go on. */
extern void bf_index_leader_begins(BfBuildWorkers *workers, uint32 range);

/*
 * Takes a range of the level, so that no worker makes it. Returns false if a worker has it. REQUIRES: this function was
 * called for all ranges before it.
 */
extern bool bf_index_leader_takes(BfBuildWorkers *workers, uint32 range);

/*
 * Sets the lines of a range, counted within the group, to those that a worker has made; waits for them if necessary.
 * REQUIRES: bf_index_leader_takes() was called for all selected ranges of `lines`, and returned false for this one.
 */
extern void bf_index_lines_from_workers(BfBuildWorkers *workers, BfGroupLines *lines, uint32 range);
extern void bf_index_end_upper_level(BfBuildWorkers *workers);

#endif
