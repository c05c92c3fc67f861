/*
 * build_workers.c: parallel workers that read a table for CREATE INDEX and REINDEX.
 *
 * Nearly all of the time of a build goes into reading ranges of level 0: taking rows apart and hashing what they have. Ranges do not
 * depend on each other, so the leader and its workers take stretches of them from a common counter, and each writes the items of its
 * stretches into a file of its own. When all are read, the leader lays the groups down from the files as if it had read the ranges
 * itself, in their order: so the index does not depend on who has read what. The levels above come from the same files.
 *
 * A process whose file would exceed temp_file_limit stops. The leader reads what is left when it comes there.
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
#include "storage/spin.h"
#include "tcop/tcopprot.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* Keys of the table of contents of the shared memory. */
#define KEY_SHARED		UINT64CONST(0xBF00000000000001)
#define KEY_QUERY		UINT64CONST(0xBF00000000000002)
#define KEY_WAL			UINT64CONST(0xBF00000000000003)
#define KEY_BUFFERS		UINT64CONST(0xBF00000000000004)

/* What all processes of a build share. */
typedef struct Shared
{
	BfBuildTask task;
	TransactionId oldest_xmin;	/* of the leader's reader */
	uint32		stretch;		/* ranges that a process takes at once */
	uint32		stretches;
	pg_atomic_uint32 taken;		/* stretches */
	pg_atomic_uint64 blocks;	/* that were read, for the view of progress */
	slock_t		mutex;			/* of the rest but the marks, which belong to who has taken their stretch */
	double		live_rows;
	double		rows;
	uint64		horizon;
	SharedFileSet files;
	BfTapeMark	marks[FLEXIBLE_ARRAY_MEMBER];	/* by stretch */
} Shared;

struct BfBuildWorkers
{
	ParallelContext *context;
	Shared	   *shared;
	WalUsage   *wal;
	BufferUsage *buffers;
	BfTape	   *tape;
};

extern PGDLLEXPORT void bf_index_build_worker(dsm_segment *segment, shm_toc *contents);

/* ---------------------------------------------------------------- what each does */

/* Reads a stretch, and writes it into the file. Returns false if the file has no room for all of it. */
static bool
read_stretch(Shared *shared, BfHeapReader *reader, BfTapeFile *file, uint32 stretch, bool shows_progress)
{
	const BfBuildTask *task = &shared->task;
	const uint64 first = (uint64) stretch * shared->stretch;
	const uint64 end = Min(first + shared->stretch, task->ranges);
	const BfTapeMark mark = bf_index_tape_mark(file);

	for (uint64 range = first; range < end; range++)
	{
		BfRangeItems items;
		uint64		before = range * task->pages_per_range;
		bool		written;

		bf_index_read_range(reader, (uint32) range, task->pages_per_range, task->heap_blocks, &items);
		written = bf_index_write_to_file(file, &items);
		bf_index_free_items(&items);
		if (!written)
			return false;
		pg_atomic_fetch_add_u64(&shared->blocks, Min(before + task->pages_per_range, task->heap_blocks) - before);
		if (shows_progress)
			pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE, pg_atomic_read_u64(&shared->blocks));
	}
	shared->marks[stretch] = mark;
	return true;
}

/* Takes stretches and reads them as long as there are any. The number of this process is 0 for the leader. */
static void
take_part(Shared *shared, BfHeapReader *reader, int number)
{
	BfTapeFile *file = bf_index_begin_tape_file(&shared->files, number, shared->task.columns);
	double		live_rows = 0,
				rows = 0;
	uint32		stretch;

	while ((stretch = pg_atomic_fetch_add_u32(&shared->taken, 1)) < shared->stretches)
	{
		bf_index_forget_rows(reader);
		if (!read_stretch(shared, reader, file, stretch, number == 0))
			break;
		live_rows += bf_index_reader_live_rows(reader);
		rows += bf_index_reader_rows(reader);
	}
	bf_index_finish_tape_file(file);
	SpinLockAcquire(&shared->mutex);
	shared->live_rows += live_rows;
	shared->rows += rows;
	shared->horizon = Max(shared->horizon, bf_index_reader_horizon(reader));
	SpinLockRelease(&shared->mutex);
}

/* The main function of a worker. PostgreSQL has made it the user that the leader is, with the leader's search_path. */
void
bf_index_build_worker(dsm_segment *segment, shm_toc *contents)
{
	Shared	   *shared = shm_toc_lookup(contents, KEY_SHARED, false);
	/* the locks that index.c has taken in the leader */
	const LOCKMODE heap_lock = shared->task.concurrently ? ShareUpdateExclusiveLock : ShareLock;
	const LOCKMODE index_lock = shared->task.concurrently ? RowExclusiveLock : AccessExclusiveLock;
	Relation	heap;
	Relation	index;
	BfHeapReader *reader;
	WalUsage   *wal = shm_toc_lookup(contents, KEY_WAL, false);
	BufferUsage *buffers = shm_toc_lookup(contents, KEY_BUFFERS, false);

	debug_query_string = shm_toc_lookup(contents, KEY_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	SharedFileSetAttach(&shared->files, segment);
	heap = table_open(shared->task.heap, heap_lock);
	index = index_open(shared->task.index, index_lock);
	InstrStartParallelQuery();
	reader = bf_index_open_heap(heap, index, BF_FOR_BUILD);
	bf_index_share_oldest_xmin(reader, shared->oldest_xmin);
	take_part(shared, reader, ParallelWorkerNumber + 1);
	bf_index_close_heap(reader);
	InstrEndParallelQuery(&buffers[ParallelWorkerNumber], &wal[ParallelWorkerNumber]);
	index_close(index, index_lock);
	table_close(heap, heap_lock);
}

/* -------------------------------------------------------------------- the leader */

/* May the functions of the operator classes run in a worker? PostgreSQL looks at the index's expressions and predicate only. */
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
	/* Until 16 PostgreSQL asks this for its B-trees only. */
	return plan_create_index_workers(RelationGetRelid(heap), RelationGetRelid(index));
#endif
}

/* So many times each process takes a stretch, if there are ranges enough; a stretch has at most so many. */
#define TURNS 16
#define MOST_IN_A_STRETCH 64

static uint32
stretch_for(uint32 ranges, int processes)
{
	return Min(Max(ranges / (TURNS * processes), 1), MOST_IN_A_STRETCH);
}

/* Makes the shared memory. Returns false if there is none. */
static bool
share(BfBuildWorkers *workers, const BfBuildTask *task, const BfHeapReader *reader)
{
	ParallelContext *context = workers->context;
	const uint32 stretch = stretch_for(task->ranges, context->nworkers + 1);
	const uint32 stretches = task->ranges / stretch + (task->ranges % stretch != 0);
	const Size	size = add_size(offsetof(Shared, marks), mul_size(stretches, sizeof(BfTapeMark)));
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

	workers->shared = shared = shm_toc_allocate(context->toc, size);
	shared->task = *task;
	shared->oldest_xmin = bf_index_oldest_xmin(reader);
	shared->stretch = stretch;
	shared->stretches = stretches;
	pg_atomic_init_u32(&shared->taken, 0);
	pg_atomic_init_u64(&shared->blocks, 0);
	SpinLockInit(&shared->mutex);
	shared->live_rows = shared->rows = 0;
	shared->horizon = 0;
	SharedFileSetInit(&shared->files, context->seg);
	for (uint32 i = 0; i < stretches; i++)
		shared->marks[i].writer = -1;
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
	return true;
}

BfBuildWorkers *
bf_index_read_with_workers(const BfBuildTask *task, Relation heap, Relation index, const IndexInfo *info, BfHeapReader *reader,
						   BfTape **tape)
{
	const int	wanted = workers_for(heap, index, info);
	BfBuildWorkers *workers;
	int			launched;

	if (wanted <= 0)
		return NULL;
	workers = palloc0(sizeof(BfBuildWorkers));
	EnterParallelMode();
	workers->context = CreateParallelContext("streambloom", "bf_index_build_worker", wanted);
	if (!share(workers, task, reader))
	{
		bf_index_end_workers(workers);
		return NULL;
	}
	LaunchParallelWorkers(workers->context);
	launched = workers->context->nworkers_launched;
	if (launched == 0)
	{
		bf_index_end_workers(workers);
		return NULL;
	}
	ereport(DEBUG1,
			(errmsg_internal("table \"%s\" is read for index \"%s\" by %d parallel workers and the leader",
							 RelationGetRelationName(heap), RelationGetRelationName(index), launched)));
	take_part(workers->shared, reader, 0);
	/* An error of a worker is raised here, if not before. */
	WaitForParallelWorkersToFinish(workers->context);
	bf_index_forget_rows(reader);
	bf_index_add_rows(reader, workers->shared->live_rows, workers->shared->rows);
	bf_index_raise_horizon(reader, workers->shared->horizon);
	*tape = workers->tape = bf_index_open_tape(&workers->shared->files, launched + 1, task->columns, task->ranges,
											   workers->shared->stretch, workers->shared->marks);
	return workers;
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
