/*
 * build_workers.c: parallel workers that read a table for CREATE INDEX and REINDEX.
 *
 * Nearly all of the time of a build goes into reading ranges of level 0: taking rows apart and hashing what they
 * have. Ranges do not depend on each other. So the leader and its workers take batches of ranges from a common
 * counter, and write the items of each batch into a file of its own. The leader makes the groups from these files in
 * the order of the ranges, as if it had read all ranges itself. So the index does not depend on which process has
 * read a range. Where the next batch is not there yet, the leader reads one that nobody has taken. The levels above
 * come from the same files.
 *
 * A process whose files would exceed temp_file_limit writes no more batches; a worker ends then. When the leader
 * comes to a range that is in no file, it reads the range itself.
 */
#include "index/build_workers.h"

#include "access/amapi.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "commands/progress.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"
#include "tcop/tcopprot.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/wait_event.h"

#include "index/heap.h"
#include "index/tape.h"

/* Keys of the table of contents of the shared memory. */
#define KEY_SHARED		UINT64CONST(0xBF00000000000001)
#define KEY_QUERY		UINT64CONST(0xBF00000000000002)
#define KEY_WAL			UINT64CONST(0xBF00000000000003)
#define KEY_BUFFERS		UINT64CONST(0xBF00000000000004)

typedef enum BatchState
{
	BATCH_UNREAD,				/* nobody has taken it, or it is being read */
	BATCH_WRITTEN,			/* its file is there */
	BATCH_LEFT				/* there was no room for its file */
} BatchState;

/* What all processes of a build share. */
typedef struct Shared
{
	BfBuildTask task;
	TransactionId oldest_xmin;	/* that of the leader's reader */
	uint32		batch_size;		/* how many ranges a batch has; the last one may have fewer */
	uint32		batches;
	pg_atomic_uint32 taken;		/* how many batches were taken; may be larger than `batches` */
	pg_atomic_uint64 blocks;	/* blocks of the heap that were read, for the view of progress */
	ConditionVariable changed;	/* signalled when the state of a batch changes */
	slock_t		mutex;			/* protects live_rows, rows and horizons, which are those of all workers together */
	double		live_rows;
	double		rows;
	BfHorizons	horizons;
	SharedFileSet files;
	pg_atomic_uint32 states[FLEXIBLE_ARRAY_MEMBER];	/* a BatchState of each batch */
} Shared;

/* A process that reads ranges for the build: the leader or a worker. */
typedef struct Reading
{
	Shared	   *shared;
	BfHeapReader *reader;
	BfTapeWriter *writer;		/* NULL once temp_file_limit has no room for more */
	bool		shows_progress;
} Reading;

struct BfBuildWorkers
{
	ParallelContext *context;
	Reading		leader;
	WalUsage   *wal;
	BufferUsage *buffers;
	BfTape	   *tape;
};

extern PGDLLEXPORT void bf_index_build_worker(dsm_segment *segment, shm_toc *contents);

/* ---------------------------------------------------------------- what each does */

static void
change_state(Shared *shared, uint32 batch, BatchState state)
{
	/* whoever sees the new state must see the complete file */
	pg_write_barrier();
	pg_atomic_write_u32(&shared->states[batch], state);
	ConditionVariableBroadcast(&shared->changed);
}

static BatchState
state_of(Shared *shared, uint32 batch)
{
	BatchState state = (BatchState) pg_atomic_read_u32(&shared->states[batch]);

	pg_read_barrier();
	return state;
}

/* Reads the ranges of a batch and writes their items. Returns false if there is no room for them. */
static bool
read_ranges(Reading *reading, uint32 batch)
{
	Shared	   *shared = reading->shared;
	const BfBuildTask *task = &shared->task;
	const uint64 first = (uint64) batch * shared->batch_size;
	const uint64 end = Min(first + shared->batch_size, task->ranges);

	bf_index_begin_batch(reading->writer, batch);
	for (uint64 range = first; range < end; range++)
	{
		BfRangeItems items;
		uint64		block = range * task->pages_per_range;
		bool		written;

		bf_index_read_range(reading->reader, (uint32) range, task->pages_per_range, task->heap_blocks, &items);
		written = bf_index_write_range(reading->writer, &items);
		bf_index_free_items(&items);
		if (!written)
			return false;
		pg_atomic_fetch_add_u64(&shared->blocks, Min(block + task->pages_per_range, task->heap_blocks) - block);
		if (reading->shows_progress)
			pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE, pg_atomic_read_u64(&shared->blocks));
	}
	bf_index_end_batch(reading->writer);
	return true;
}

/* Takes a batch and reads it. Returns false if all were taken. */
static bool
take_batch(Reading *reading)
{
	Shared	   *shared = reading->shared;
	const double live_rows = bf_index_reader_live_rows(reading->reader);
	const double rows = bf_index_reader_rows(reading->reader);
	uint32		batch;

	if (pg_atomic_read_u32(&shared->taken) >= shared->batches)
		return false;
	batch = pg_atomic_fetch_add_u32(&shared->taken, 1);
	if (batch >= shared->batches)
		return false;
	if (reading->writer != NULL && read_ranges(reading, batch))
		change_state(shared, batch, BATCH_WRITTEN);
	else
	{
		reading->writer = NULL;
		/* the leader will read the batch again, and count its rows then */
		bf_index_forget_rows(reading->reader);
		bf_index_add_rows(reading->reader, live_rows, rows);
		change_state(shared, batch, BATCH_LEFT);
	}
	return true;
}

/*
 * Takes this batch without reading it. The leader does this once temp_file_limit has no room for more of its files;
 * then it reads the batch's ranges one at a time, and keeps no file of them. Returns false if another process has
 * taken the batch already. REQUIRES: all batches before it are taken.
 */
static bool
leave_batch(Shared *shared, uint32 batch)
{
	uint32		first_left = batch;

	if (!pg_atomic_compare_exchange_u32(&shared->taken, &first_left, batch + 1))
		return false;
	change_state(shared, batch, BATCH_LEFT);
	return true;
}

/* The main function of a worker. PostgreSQL runs it as the leader's user, with the leader's search_path. */
void
bf_index_build_worker(dsm_segment *segment, shm_toc *contents)
{
	Shared	   *shared = shm_toc_lookup(contents, KEY_SHARED, false);
	/* the locks that PostgreSQL has taken in the leader */
	const LOCKMODE heap_lock = shared->task.concurrently ? ShareUpdateExclusiveLock : ShareLock;
	const LOCKMODE index_lock = shared->task.concurrently ? RowExclusiveLock : AccessExclusiveLock;
	Relation	heap;
	Relation	index;
	Reading		reading = {.shared = shared};
	WalUsage   *wal = shm_toc_lookup(contents, KEY_WAL, false);
	BufferUsage *buffers = shm_toc_lookup(contents, KEY_BUFFERS, false);

	debug_query_string = shm_toc_lookup(contents, KEY_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	SharedFileSetAttach(&shared->files, segment);
	heap = table_open(shared->task.heap, heap_lock);
	index = index_open(shared->task.index, index_lock);
	InstrStartParallelQuery();
	reading.reader = bf_index_open_heap(heap, index, BF_FOR_BUILD);
	bf_index_share_oldest_xmin(reading.reader, shared->oldest_xmin);
	reading.writer = bf_index_begin_tape_writer(&shared->files, shared->task.columns);
	while (reading.writer != NULL && take_batch(&reading))
		CHECK_FOR_INTERRUPTS();
	SpinLockAcquire(&shared->mutex);
	shared->live_rows += bf_index_reader_live_rows(reading.reader);
	shared->rows += bf_index_reader_rows(reading.reader);
	shared->horizons = bf_index_greater_horizons(shared->horizons, bf_index_reader_horizons(reading.reader));
	SpinLockRelease(&shared->mutex);
	bf_index_close_heap(reading.reader);
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
 * Each process takes a batch about TURNS times, if there are enough ranges. A batch has at most MOST_IN_A_BATCH
 * ranges, because a process that reads a range from the batch's file has to read past the ranges before it. But each
 * batch is a file, and a folder should not have too many: with more than MOST_BATCHES, batches become longer.
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
	const Size	size = add_size(offsetof(Shared, states), mul_size(batches, sizeof(pg_atomic_uint32)));
	const Size	query = debug_query_string != NULL ? strlen(debug_query_string) + 1 : 0;
	Shared	   *shared;

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
	shared->batches = batches;
	pg_atomic_init_u32(&shared->taken, 0);
	pg_atomic_init_u64(&shared->blocks, 0);
	ConditionVariableInit(&shared->changed);
	SpinLockInit(&shared->mutex);
	shared->live_rows = shared->rows = 0;
	shared->horizons = (BfHorizons) {0};
	SharedFileSetInit(&shared->files, context->seg);
	for (uint32 i = 0; i < batches; i++)
		pg_atomic_init_u32(&shared->states[i], BATCH_UNREAD);
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

bool
bf_index_range_from_workers(BfBuildWorkers *workers, uint32 range, BfRangeItems *items)
{
	Shared	   *shared = workers->leader.shared;
	const uint32 batch = range / shared->batch_size;

	while (state_of(shared, batch) == BATCH_UNREAD)
	{
		const bool	took = workers->leader.writer != NULL ? take_batch(&workers->leader) : leave_batch(shared, batch);

		/* Waiting raises the error of a worker that has failed. */
		if (!took && state_of(shared, batch) == BATCH_UNREAD)
			ConditionVariableSleep(&shared->changed, WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
	if (state_of(shared, batch) == BATCH_LEFT)
		return false;
	bf_index_range_from_tape(workers->tape, range, items);
	return true;
}

BfTape *
bf_index_finish_workers(BfBuildWorkers *workers)
{
	Shared	   *shared = workers->leader.shared;
	uint32		complete = 0;

	/* If the directory became full, build.c has not asked for all ranges. The last batches may not be taken then. */
	while (workers->leader.writer != NULL && take_batch(&workers->leader))
		CHECK_FOR_INTERRUPTS();
	WaitForParallelWorkersToFinish(workers->context);
	bf_index_add_rows(workers->leader.reader, shared->live_rows, shared->rows);
	bf_index_raise_horizons(workers->leader.reader, shared->horizons);
	while (complete < shared->batches && state_of(shared, complete) == BATCH_WRITTEN)
		complete++;
	bf_index_set_tape_length(workers->tape, (uint32) Min((uint64) complete * shared->batch_size, shared->task.ranges));
	return workers->tape;
}

void
bf_index_end_workers(BfBuildWorkers *workers)
{
	ParallelContext *context = workers->context;

	if (workers->tape != NULL)
		bf_index_end_tape(workers->tape);
	WaitForParallelWorkersToFinish(context);
	for (int i = 0; i < context->nworkers_launched; i++)
		InstrAccumParallelQuery(&workers->buffers[i], &workers->wal[i]);
	DestroyParallelContext(context);
	ExitParallelMode();
	pfree(workers);
}
