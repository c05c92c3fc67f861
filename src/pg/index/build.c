/*
 * build.c: CREATE INDEX and REINDEX. (README.md explains the words level, range, group and line.) The ranges of level 0
 * are read one after the other, and each group is written when its ranges have been read. (Some ranges may be read
 * twice: those by which the length of ranges is chosen, and those that temporary files have no room for.)
 *
 * The sizes of a group's filters come from the numbers of items of its ranges; the last range, which may lack pages,
 * counts only if it is alone. In each column the filters get so many lines that the mean of these ranges'
 * false-positive rates is at most the rate that was asked for (sizes.c). A group gets as many of the next ranges as a
 * page and the memory have room for (build_groups()), so that the index on a small partition has one group. But it ends
 * at a multiple of 125 ranges at the latest, and the ranges become several groups if these take at least an eighth less
 * space. If there will be levels above 0, the items of the ranges are kept (tape.c). When level 0 is done, these levels
 * are made from the items (summarize.c). Parallel workers may help (build_workers.c); the groups are the same with and
 * without them.
 *
 * CREATE INDEX CONCURRENTLY: rows that are written during the build may be missed here. When PostgreSQL validates the
 * index it passes all rows to the insert function, because ambulkdelete reports no row as present.
 */
#include "index/build_workers.h"

#include "access/generic_xlog.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"

#include "index/directory.h"
#include "index/geometry.h"
#include "index/group.h"
#include "index/handler.h"
#include "index/heap.h"
#include "index/layout.h"
#include "index/range_length.h"
#include "index/sizes.h"
#include "index/summarize.h"
#include "index/tape.h"

char *
bf_index_build_phase(int64 phase)
{
	switch (phase)
	{
		case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
			return "initializing";
		case BF_PHASE_READING:
			return "reading table";
		case BF_PHASE_WRITING:
			return "writing filters";
		case BF_PHASE_SUMMARIZING:
			return "summarizing ranges";
		case BF_PHASE_SUMMARIZING + 1:
			return "summarizing ranges of level 1";
		case BF_PHASE_SUMMARIZING + 2:
			return "summarizing ranges of level 2";
		case BF_PHASE_SUMMARIZING + 3:
			return "summarizing ranges of level 3";
		default:
			return NULL;
	}
}

/* How many items the ranges that were read have in each column. */
typedef struct ReadCounts
{
	BfCounts	columns[INDEX_MAX_KEYS];
	double		items[INDEX_MAX_KEYS][BF_INDEX_MAX_RANGES];
} ReadCounts;

/*
 * Sets *counts to the numbers of items of `count` ranges. The last range may have only some of its pages. Then its
 * number is -1, so that it does not count, unless it has more items than each range before. But if it is the only
 * range, its number is an estimate of how many items it would have with all its pages.
 */
static void
count_items(const BfGeometry *geometry, const BfRangeItems *items, uint32 count, ReadCounts *counts)
{
	for (int column = 0; column < geometry->columns; column++)
	{
		double		most = 0;

		for (uint32 i = 0; i < count; i++)
		{
			const double there = items[i].counts[column];

			if (items[i].share == 1 || there > most)
				counts->items[column][i] = count > 1 ? there : (double) bf_index_items_if_full(&items[i], column);
			else
				counts->items[column][i] = -1;
			most = Max(most, there);
		}
		counts->columns[column] = bf_index_counts(geometry, 0, column, counts->items[column]);
	}
}

/*
 * Makes a group of these ranges. Returns false if the directory has no room for the group. The filters get
 * line_counts[] lines; or as many as those of the group before, if that group has as many ranges, and its filters have
 * at least as many lines and hardly more (bf_index_settle_by_group_before()).
 */
static bool
write_group(Relation index, const BfRangeItems *items, uint32 count, uint32 *line_counts)
{
	const BfGeometry *geometry = bf_index_current_geometry(index);
	BfGroup		group = {
		.level = 0,
		.columns = geometry->columns,
		.first_range = items[0].range,
		.ranges = count,
		.positions = BF_POSITIONS(count),
		.lines = line_counts
	};
	BfGroupLines lines;
	BfHorizons	horizons = {0};

	bf_index_settle_by_group_before(geometry, 0, group.first_range, count, line_counts);
	if (!bf_index_can_publish(index, &group, 1))
		return false;
	geometry = bf_index_current_geometry(index);	/* a page for the directory may have been added */
	bf_index_make_lines(&lines, geometry, &group);
	for (uint32 i = 0; i < count; i++)
		bf_index_select_range(&lines, i);
	bf_index_allocate_areas(&lines);
	for (uint32 i = 0; i < count; i++)
	{
		bf_index_add_items(&lines, &items[i]);
		horizons = bf_index_greater_horizons(horizons, items[i].horizons);
	}
	bf_index_create_group(index, &lines, BF_SUMMARIZED, horizons);
	bf_index_free_lines(&lines);
	bf_index_begin_ranges(index, 0, items[0].range + count);
	return true;
}

/* The memory that the items of `count` ranges take. It may be much if values have many keys. */
static Size
bytes_of(const BfRangeItems *items, uint32 count)
{
	Size		hashes = 0;

	for (uint32 i = 0; i < count; i++)
		for (int column = 0; column < items[i].columns; column++)
			hashes += items[i].counts[column];
	return hashes * sizeof(uint64);
}

/* Who reads the ranges of the heap, and what else gets their items. */
typedef struct Source
{
	BfHeapReader *reader;
	BfBuildWorkers *workers;	/* NULL if this process reads them alone */
	BfTape	   *tape;			/* without workers: keeps the items for the levels above; may be NULL */
} Source;

static void
next_range(const Source *source, const BfBuildTask *task, uint32 range, BfRangeItems *items)
{
	if (source->workers != NULL && bf_index_range_from_workers(source->workers, range, items))
		return;
	bf_index_read_range(source->reader, range, task->pages_per_range, task->heap_blocks, items);
	if (source->tape != NULL)
		bf_index_write_tape(source->tape, items);
	if (source->workers == NULL)
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
									 Min(((uint64) range + 1) * task->pages_per_range, task->heap_blocks));
}

/*
 * Makes groups of the ranges of the heap, on level 0. Before each group is made, ranges are read until 125 of them are
 * in memory, or bf_index_ranges_to_read() of them, or until their items take more than maintenance_work_mem. Ranges
 * that the group does not get stay in memory for the next one.
 */
static void
build_groups(Relation index, const Source *source, const BfBuildTask *task)
{
	const BfGeometry *geometry = bf_index_copy_geometry(bf_index_current_geometry(index));
	uint32		at_once = Min(BF_INDEX_MAX_RANGES, bf_index_ranges_to_read(task->pages_per_range, 0));
	BfRangeItems *items = palloc(at_once * sizeof(BfRangeItems));
	ReadCounts *counts = palloc(sizeof(ReadCounts));
	BfGroupsToBuild groups = {.covered = task->upper_ranges > 0};
	uint32		have = 0,
				next = 0;

	while (next < task->ranges || have > 0)
	{
		uint32		lines[INDEX_MAX_KEYS];
		uint32		count;

		CHECK_FOR_INTERRUPTS();
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, BF_PHASE_READING);
		while (have < at_once && next < task->ranges && bytes_of(items, have) <= (Size) maintenance_work_mem * 1024)
		{
			next_range(source, task, next++, &items[have++]);
			pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, bf_index_reader_rows(source->reader));
		}
		count_items(geometry, items, have, counts);
		count = bf_index_group_to_build(&groups, counts->columns, geometry->columns, next - have, have, lines);
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, BF_PHASE_WRITING);
		if (!write_group(index, items, count, lines))
			break;				/* the ranges that follow are always read */
		for (uint32 i = 0; i < count; i++)
			bf_index_free_items(&items[i]);
		have -= count;
		memmove(items, items + count, have * sizeof(BfRangeItems));
	}
}

/* Makes all levels of the index. Sets the numbers of rows in *result. */
static void
build_levels(Relation heap, Relation index, const IndexInfo *info, BfHeapReader *reader, BlockNumber heap_blocks,
			 IndexBuildResult *result)
{
	const BfGeometry *geometry;
	BfBuildTask task = {
		.heap = RelationGetRelid(heap),
		.index = RelationGetRelid(index),
		.concurrently = info->ii_Concurrent,
		.columns = IndexRelationGetNumberOfKeyAttributes(index),
		.heap_blocks = heap_blocks
	};
	Source		source = {.reader = reader};
	BfTape	   *tape;

	bf_index_choose_range_length(index, reader, heap_blocks);
	bf_index_forget_rows(reader);
	geometry = bf_index_current_geometry(index);
	task.pages_per_range = geometry->level[0].pages_per_range;
	task.ranges = bf_index_ranges_of(geometry, 0, heap_blocks);
	if (bf_index_gets_levels(geometry, heap_blocks))
		task.upper_ranges = heap_blocks / geometry->level[1].pages_per_range;
	source.workers = bf_index_start_workers(&task, heap, index, info, reader);
	if (source.workers == NULL && task.upper_ranges > 0)
		source.tape = bf_index_begin_tape(task.columns);
	build_groups(index, &source, &task);
	tape = source.workers != NULL ? bf_index_finish_ranges(source.workers) : source.tape;
	/*
	 * The counts of rows are taken now. If the tape lacks ranges, these are read a second time for the levels above,
	 * and their rows would count twice.
	 */
	result->heap_tuples = bf_index_reader_live_rows(reader);
	result->index_tuples = bf_index_reader_rows(reader);
	bf_index_build_upper_levels(index, heap, reader, &task, tape, source.workers);
	if (source.workers != NULL)
		bf_index_end_workers(source.workers);
	else if (tape != NULL)
		bf_index_end_tape(tape);
}

static void
write_meta_page(Relation index, ForkNumber fork)
{
	Buffer		buffer = ReadBufferExtended(index, fork, P_NEW, RBM_NORMAL, NULL);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	Assert(BufferGetBlockNumber(buffer) == 0);
	if (fork == INIT_FORKNUM)
	{
		/* The init fork of an unlogged index is logged, because after a crash the index is made from it. */
		START_CRIT_SECTION();
		bf_index_init_meta_page(BufferGetPage(buffer), index);
		MarkBufferDirty(buffer);
		log_newpage_buffer(buffer, true);
		END_CRIT_SECTION();
	}
	else
	{
		GenericXLogState *xlog = GenericXLogStart(index);

		bf_index_init_meta_page(GenericXLogRegisterBuffer(xlog, buffer, GENERIC_XLOG_FULL_IMAGE), index);
		GenericXLogFinish(xlog);
	}
	UnlockReleaseBuffer(buffer);
}

IndexBuildResult *
bf_index_build(Relation heap, Relation index, IndexInfo *indexInfo)
{
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bf index build", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	BlockNumber heap_blocks;
	BfCaller	who_calls;

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));
	/* TRUNCATE of a new table empties the file of its index, but keeps the geometry in the relation cache. */
	if (index->rd_amcache != NULL)
	{
		pfree(index->rd_amcache);
		index->rd_amcache = NULL;
	}
	/* PostgreSQL has already changed the user, and from 17 on also the search_path. */
	bf_index_become_owner(heap, &who_calls);
	bf_index_check_operators(index);
	/*
	 * Notices are raised when an index is made, also by REINDEX CONCURRENTLY. They are not raised when an index of an
	 * earlier transaction is rebuilt in its place, or emptied.
	 */
	if (index->rd_createSubid != InvalidSubTransactionId || indexInfo->ii_Concurrent)
		bf_index_notice_unasked(index);
	bf_index_check_table(heap);
	write_meta_page(index, MAIN_FORKNUM);
	heap_blocks = RelationGetNumberOfBlocks(heap);
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL, heap_blocks);
	if (heap_blocks > 0)
	{
		BfHeapReader *reader = bf_index_open_heap(heap, index, false);

		build_levels(heap, index, indexInfo, reader, heap_blocks, result);
		bf_index_close_heap(reader);
	}
	else
	{
		/*
		 * Only the columns are checked. Expressions and the predicate must not run here: a table that is ON COMMIT
		 * DELETE ROWS is emptied when its transaction commits. Then PostgreSQL calls this function, and no user-defined
		 * code may run.
		 */
		BfItemizer	itemizer;

		bf_index_prepare_itemizer(index, &itemizer, context);
	}
	/*
	 * bf_index_built() may note that no rows lie behind the ranges. Each writer of such a row has to take that back.
	 * While an index is built concurrently, writers do not insert into it, so nobody would take it back.
	 */
	if (!indexInfo->ii_Concurrent)
		bf_index_built(index, heap);
	bf_index_become_caller(&who_calls);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return result;
}

void
bf_index_build_empty(Relation index)
{
	write_meta_page(index, INIT_FORKNUM);
}
