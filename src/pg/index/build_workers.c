/*
 * build_workers.c: starts and ends the parallel workers of CREATE INDEX and REINDEX. They help with level 0, which has
 * the shortest ranges (build_ranges.c). Then they stay, and wait for levels above it with which they can help
 * (build_upper.c), because starting new workers would take tens of milliseconds.
 */
#include "index/build_shared.h"

#include "access/amapi.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_proc.h"
#include "optimizer/optimizer.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/wait_event.h"

/* Keys of the table of contents of the shared memory. */
#define KEY_SHARED		UINT64CONST(0xBF00000000000001)
#define KEY_QUERY		UINT64CONST(0xBF00000000000002)
#define KEY_WAL			UINT64CONST(0xBF00000000000003)
#define KEY_BUFFERS		UINT64CONST(0xBF00000000000004)

extern PGDLLEXPORT void bf_index_build_worker(dsm_segment *segment, shm_toc *contents);

/* ------------------------------------------------------------------------ levels */

void
bf_index_begin_level(BfBuildShared *shared, int level, uint32 parts)
{
	shared->level = level;
	shared->parts = parts;
	pg_atomic_write_u32(&shared->taken, 0);
	pg_atomic_write_u32(&shared->reached, 0);
	for (uint32 i = 0; i < parts; i++)
		pg_atomic_write_u32(&shared->states[i], BF_PART_UNDONE);
	SpinLockAcquire(&shared->mutex);
	shared->begun++;
	shared->is_open = true;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->changed);
}

void
bf_index_end_level(BfBuildShared *shared)
{
	for (;;)
	{
		bool		is_idle;

		SpinLockAcquire(&shared->mutex);
		shared->is_open = false;
		is_idle = shared->at_work == 0;
		SpinLockRelease(&shared->mutex);
		if (is_idle)
			break;
		/* Waiting raises the error of a worker that has failed. */
		ConditionVariableSleep(&shared->changed, WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
}

void
bf_index_release_workers(BfBuildShared *shared)
{
	SpinLockAcquire(&shared->mutex);
	shared->ended = true;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->changed);
}

/*
 * Waits until the leader has begun more levels than *begun, and begins to work on the newest one. Sets *begun to the
 * number of levels that the leader has begun. Returns false if the leader will begin no more levels.
 */
static bool
begin_work(BfBuildShared *shared, uint32 *begun)
{
	bool		begins,
				ended;

	for (;;)
	{
		SpinLockAcquire(&shared->mutex);
		begins = shared->is_open && shared->begun > *begun;
		ended = shared->ended;
		if (begins)
		{
			*begun = shared->begun;
			shared->at_work++;
		}
		SpinLockRelease(&shared->mutex);
		if (begins || ended)
			break;
		ConditionVariableSleep(&shared->changed, WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
	return begins;
}

static void
leave_work(BfBuildShared *shared)
{
	SpinLockAcquire(&shared->mutex);
	shared->at_work--;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->changed);
}

/* ---------------------------------------------------------------------- a worker */

/* The main function of a worker. PostgreSQL runs it as the leader's user, with the leader's search_path. */
void
bf_index_build_worker(dsm_segment *segment, shm_toc *contents)
{
	BfBuildShared *shared = shm_toc_lookup(contents, KEY_SHARED, false);
	/* the locks that PostgreSQL has taken in the leader */
	const LOCKMODE heap_lock = shared->task.concurrently ? ShareUpdateExclusiveLock : ShareLock;
	const LOCKMODE index_lock = shared->task.concurrently ? RowExclusiveLock : AccessExclusiveLock;
	Relation	heap;
	Relation	index;
	WalUsage   *wal = shm_toc_lookup(contents, KEY_WAL, false);
	BufferUsage *buffers = shm_toc_lookup(contents, KEY_BUFFERS, false);
	uint32		begun = 0;
	bool		goes_on = true;

	debug_query_string = shm_toc_lookup(contents, KEY_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	SharedFileSetAttach(&shared->files, segment);
	heap = table_open(shared->task.heap, heap_lock);
	index = index_open(shared->task.index, index_lock);
	InstrStartParallelQuery();
	while (goes_on && begin_work(shared, &begun))
	{
		if (shared->level == 0)
			goes_on = bf_index_work_on_ranges(shared, heap, index);
		else
			bf_index_work_on_upper_level(shared, index);
		leave_work(shared);
	}
	InstrEndParallelQuery(&buffers[ParallelWorkerNumber], &wal[ParallelWorkerNumber]);
	index_close(index, index_lock);
	table_close(heap, heap_lock);
}

/* -------------------------------------------------------------------- the leader */

/*
 * May the functions of the operator classes run in a worker? PostgreSQL looks at the index's expressions and predicate
 * only.
 */
static bool
classes_are_safe(Relation index)
{
	const int	functions = index->rd_indam->amsupport;

	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index) * functions; i++)
		if (OidIsValid(index->rd_support[i]) && func_parallel(index->rd_support[i]) != PROPARALLEL_SAFE)
			return false;
	return true;
}

static int
workers_for(Relation heap, Relation index, const IndexInfo *info)
{
	if (IsInParallelMode() || IsParallelWorker() || !classes_are_safe(index))
		return 0;
#if PG_VERSION_NUM >= 170000
	return info->ii_ParallelWorkers;
#else
	/* Up to version 16 PostgreSQL calls this function for its B-trees only. */
	return plan_create_index_workers(RelationGetRelid(heap), RelationGetRelid(index));
#endif
}

/*
 * A batch is some consecutive ranges, which one process reads and whose items it writes into a file. Each process takes
 * a batch about TURNS times or more often, if there are enough ranges. A batch mostly has at most MOST_IN_A_BATCH
 * ranges, because a process that reads a range from the batch's file has to read past the ranges before it. But a
 * folder should not have too many files. So if there would be more than about MOST_BATCHES batches, each of them gets
 * more ranges.
 */
#define TURNS 16
#define MOST_IN_A_BATCH 64
#define MOST_BATCHES 16384

static uint32
batch_size_for(uint32 ranges, int processes)
{
	return Max(Min(Max(ranges / (TURNS * processes), 1), MOST_IN_A_BATCH), ranges / MOST_BATCHES);
}

/* Creates the shared memory. Returns false if PostgreSQL has none to give. */
static bool
share(BfBuildWorkers *workers, const BfBuildTask *task, BfHeapReader *reader)
{
	ParallelContext *context = workers->context;
	const uint32 batch_size = batch_size_for(task->ranges, context->nworkers + 1);
	const uint32 batches = task->ranges / batch_size + (task->ranges % batch_size != 0);
	const uint32 most_parts = Max(batches, task->upper_ranges);
	const Size	size = add_size(offsetof(BfBuildShared, states), mul_size(most_parts, sizeof(pg_atomic_uint32)));
	const Size	query = debug_query_string != NULL ? strlen(debug_query_string) + 1 : 0;
	BfBuildShared *shared;

	shm_toc_estimate_chunk(&context->estimator, size);
	shm_toc_estimate_chunk(&context->estimator, mul_size(sizeof(WalUsage), context->nworkers));
	shm_toc_estimate_chunk(&context->estimator, mul_size(sizeof(BufferUsage), context->nworkers));
	shm_toc_estimate_chunk(&context->estimator, query);
	shm_toc_estimate_keys(&context->estimator, 4);
	InitializeParallelDSM(context);
	if (context->seg == NULL)
		return false;

	shared = shm_toc_allocate(context->toc, size);
	shared->task = *task;
	shared->oldest_xmin = bf_index_oldest_xmin(reader);
	shared->batch_size = batch_size;
	SharedFileSetInit(&shared->files, context->seg);
	ConditionVariableInit(&shared->changed);
	pg_atomic_init_u64(&shared->blocks, 0);
	SpinLockInit(&shared->mutex);
	shared->begun = shared->at_work = 0;
	shared->is_open = shared->ended = false;
	shared->live_rows = shared->rows = 0;
	shared->horizons = (BfHorizons) {0};
	pg_atomic_init_u32(&shared->reached, 0);
	pg_atomic_init_u32(&shared->taken, 0);
	for (uint32 i = 0; i < most_parts; i++)
		pg_atomic_init_u32(&shared->states[i], BF_PART_UNDONE);
	bf_index_begin_level(shared, 0, batches);
	shm_toc_insert(context->toc, KEY_SHARED, shared);
	workers->wal = shm_toc_allocate(context->toc, mul_size(sizeof(WalUsage), context->nworkers));
	shm_toc_insert(context->toc, KEY_WAL, workers->wal);
	workers->buffers = shm_toc_allocate(context->toc, mul_size(sizeof(BufferUsage), context->nworkers));
	shm_toc_insert(context->toc, KEY_BUFFERS, workers->buffers);
	if (query > 0)
	{
		char	   *text = shm_toc_allocate(context->toc, query);

		memcpy(text, debug_query_string, query);
		shm_toc_insert(context->toc, KEY_QUERY, text);
	}
	workers->leader.shared = shared;
	workers->leader.reader = reader;
	workers->leader.writer = bf_index_begin_tape_writer(&shared->files, task->columns);
	workers->leader.shows_progress = true;
	workers->tape = bf_index_open_tape(&shared->files, task->columns, batch_size);
	return true;
}

BfBuildWorkers *
bf_index_start_workers(const BfBuildTask *task, Relation heap, Relation index, const IndexInfo *info,
					   BfHeapReader *reader)
{
	const int	wanted = workers_for(heap, index, info);
	BfBuildWorkers *workers;

	if (wanted <= 0)
		return NULL;
	workers = palloc0(sizeof(BfBuildWorkers));
	EnterParallelMode();
	workers->context = CreateParallelContext("streambloom", "bf_index_build_worker", wanted);
	if (share(workers, task, reader))
		LaunchParallelWorkers(workers->context);
	if (workers->context->nworkers_launched == 0)
	{
		bf_index_end_workers(workers);
		return NULL;
	}
	ereport(DEBUG1,
			(errmsg_internal("table \"%s\" is read for index \"%s\" by %d parallel workers and the leader",
							 RelationGetRelationName(heap), RelationGetRelationName(index),
							 workers->context->nworkers_launched)));
	return workers;
}

void
bf_index_end_workers(BfBuildWorkers *workers)
{
	BfBuildShared *shared = workers->leader.shared;

	if (workers->tape != NULL)
		bf_index_end_tape(workers->tape);
	if (shared != NULL)
		bf_index_release_workers(shared);
	WaitForParallelWorkersToFinish(workers->context);
	for (int i = 0; i < workers->context->nworkers_launched; i++)
		InstrAccumParallelQuery(&workers->buffers[i], &workers->wal[i]);
	DestroyParallelContext(workers->context);
	ExitParallelMode();
	pfree(workers);
}
