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
	uint32		ranges;			/* of level 0 */
} BfBuildTask;

typedef struct BfBuildWorkers BfBuildWorkers;

/*
 * Reads the ranges of level 0 together with as many workers as PostgreSQL allows for this table (max_parallel_maintenance_workers,
 * the table's parallel_workers, maintenance_work_mem), and sets *tape to what was read. Returns NULL if no worker is to be had: then
 * nothing was read. The reader is this process's own, and its counts of rows are those of all afterwards.
 * REQUIRES: the end is told by bf_index_end_workers(), after which the tape is gone; no other parallel operation runs meanwhile.
 */
extern BfBuildWorkers *bf_index_read_with_workers(const BfBuildTask *task, Relation heap, Relation index, const IndexInfo *info,
												  BfHeapReader *reader, BfTape **tape);
extern void bf_index_end_workers(BfBuildWorkers *workers);

#endif
