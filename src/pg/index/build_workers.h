/*
 * build_workers.h: parallel workers that read a table for CREATE INDEX and REINDEX.
 */
#ifndef STREAMBLOOM_PG_INDEX_BUILD_WORKERS_H
#define STREAMBLOOM_PG_INDEX_BUILD_WORKERS_H

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
 * Waits until all workers have ended, and adds their counts of rows and their horizons to those of the reader.
 * Returns a tape of the ranges, which exists until bf_index_end_workers(). REQUIRES: all ranges were asked for, or
 * the build needs no more of them.
 */
extern BfTape *bf_index_finish_workers(BfBuildWorkers *workers);
extern void bf_index_end_workers(BfBuildWorkers *workers);

#endif
