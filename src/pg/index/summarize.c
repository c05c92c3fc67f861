/*
 * summarize.c: summarizes ranges of all levels, and makes them unsummarized again.
 *
 * A summarizer first says on the meta page that the ranges have *begun*, and counts this publication, so that writers
 * visit these ranges from then on. Then it writes the state "placeholder" on all pages of the group, and counts another
 * publication, so that writers forget the lines that they have seen there (seen_lines.c). Then it takes the heap's
 * length, then it reads the heap, and then it writes the bits and the state "summarized" (or "full", without bits),
 * page by page. README.md proves that no row is lost in this order. There is one summarizer at a time: its callers hold
 * a ShareUpdateExclusiveLock on the heap, as VACUUM does.
 */
#include "index/summarizer.h"

#include "access/transam.h"
#include "access/xact.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "postmaster/autovacuum.h"
#include "utils/backend_progress.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "index/directory.h"
#include "index/geometry.h"
#include "index/group.h"
#include "index/heap.h"
#include "index/layout.h"
#include "index/plan.h"
#include "index/range_length.h"
#include "index/remake.h"
#include "index/sizes.h"
#include "index/summarize.h"

/* Is this session in bf_index_summarize()? */
static bool summarizing = false;

/* ---------------------------------------------------------------------- levels */

/* Does the index have, or get, this level above 0? */
static bool
has_level(const BfGeometry *geometry, int level, BlockNumber heap_blocks)
{
	BlockNumber pages_per_range = geometry->level[level].pages_per_range;

	if (level >= geometry->most_levels || pages_per_range == 0)
		return false;
	return geometry->level[level].groups > 0 ||
		bf_index_level_pays(level, pages_per_range, geometry->level[level - 1].groups, heap_blocks);
}

bool
bf_index_gets_levels(const BfGeometry *geometry, BlockNumber heap_blocks)
{
	return has_level(geometry, 1, heap_blocks);
}

/* ------------------------------------------------------------ ranges of a group */

/* Shows which page of the heap was read last. */
static void
show_progress(const BfSummarizer *work, int level, BlockNumber heap_blocks, BlockNumber read)
{
	if (!work->building)
		return;
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, BF_PHASE_SUMMARIZING + level);
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL, heap_blocks);
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE, read);
}

/*
 * Adds the items of the selected ranges to their lines. If workers help, it takes over the lines that these have made.
 * REQUIRES: then the selected ranges lie side by side.
 */
static void
read_selected(const BfSummarizer *work, const BfGeometry *geometry, BfGroupLines *lines, BlockNumber heap_blocks)
{
	const BfGroup *group = &lines->group;
	const BlockNumber pages_per_range = geometry->level[group->level].pages_per_range;
	bool		of_workers[BF_INDEX_MAX_RANGES] = {false};
	uint32		first = 0;

	while (!lines->ranges[first])
		first++;
	if (work->workers != NULL)
		bf_index_leader_begins(work->workers, group->first_range + first);
	for (uint32 i = first; i < group->ranges; i++)
	{
		const uint64 begin = (uint64) (group->first_range + i) * pages_per_range;
		const uint64 end = Min(begin + pages_per_range, heap_blocks);
		BfRangeLines to = {.lines = lines, .range = i};

		if (!lines->ranges[i] || begin >= heap_blocks)
			continue;
		of_workers[i] = work->workers != NULL && !bf_index_leader_takes(work->workers, group->first_range + i);
		if (!of_workers[i])
			bf_index_read_items(work, geometry, begin, end, bf_index_add_row, &to);
		show_progress(work, group->level, heap_blocks, end);
	}
	for (uint32 i = first; i < group->ranges; i++)
		if (of_workers[i])
			bf_index_lines_from_workers(work->workers, lines, i);
}

/*
 * Summarizes the selected ranges: makes them placeholders, in which writers set bits from then on (except in a build),
 * reads the ranges, and writes their bits. Allocates the areas of `lines`, but does not free them. The reader may have
 * been opened before the placeholders are written.
 */
static void
summarize_selected(const BfSummarizer *work, const BfGeometry *geometry, BfGroupLines *lines)
{
	const BfGroup *group = &lines->group;
	uint32		end = 0;
	BlockNumber heap_blocks;

	for (uint32 i = 0; i < group->ranges; i++)
		if (lines->ranges[i])
			end = group->first_range + i + 1;
	if (!work->building)
	{
		bf_index_begin_ranges(work->index, group->level, end);
		bf_index_write_ranges(work->index, lines, BF_PLACEHOLDER, (BfHorizons) {0});
		bf_index_publish_placeholders(work->index);
	}
	/*
	 * The length is taken only now: pages that were added before the placeholder was written may have rows that their
	 * writers did not add to the index.
	 */
	heap_blocks = RelationGetNumberOfBlocks(work->heap);
	bf_index_allocate_areas(lines);
	/*
	 * The horizons of work->reader say which old snapshots may see a row that it has left out as dead (heap.c). Until
	 * now these were rows of other ranges, which do not concern the pages that are written here. So the horizons are
	 * forgotten. A build keeps them, because it has read the rows of these ranges from the heap before, and now reads
	 * their items from a tape (tape.h).
	 */
	if (!work->building)
		bf_index_forget_horizons(work->reader);
	read_selected(work, geometry, lines, heap_blocks);
	bf_index_write_ranges(work->index, lines, BF_SUMMARIZED, bf_index_reader_horizons(work->reader));
}

/* The memory that a summarizer or a build may take, in bytes. Autovacuum may have a limit of its own. */
static Size
memory_limit(void)
{
	const bool	automatic = MyBackendType == B_AUTOVAC_WORKER && autovacuum_work_mem != -1;

	return (Size) (automatic ? autovacuum_work_mem : maintenance_work_mem) * 1024;
}

/*
 * How many ranges of a group are summarized at once. In a build with workers, the memory of the workers' lines is left
 * free.
 */
static uint32
ranges_at_once(const BfSummarizer *work, const BfGroup *group, BlockNumber pages_per_range)
{
	const Size	memory = memory_limit() - (work->workers != NULL ? memory_limit() / BF_PART_FOR_WORKERS : 0);
	const uint32 by_memory = Min(BF_INDEX_MAX_RANGES, Max(1, memory / bf_index_bytes_of_range(group)));

	/* A build has the items of its upper levels already. */
	return work->building ? by_memory :
		Min(by_memory, bf_index_ranges_to_read(pages_per_range, bf_index_group_pages(group)));
}

void
bf_index_summarize_marked(const BfSummarizer *work, const BfGeometry *geometry, const BfGroup *group,
						  const bool *ranges)
{
	const uint32 at_once = ranges_at_once(work, group, geometry->level[group->level].pages_per_range);

	for (uint32 next = 0; next < group->ranges;)
	{
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bf summaries", ALLOCSET_DEFAULT_SIZES);
		MemoryContext caller = MemoryContextSwitchTo(context);
		BfGroupLines lines;

		bf_index_make_lines(&lines, geometry, group);
		for (; next < group->ranges && lines.selected < at_once; next++)
			if (ranges[next])
				bf_index_select_range(&lines, next);
		if (lines.selected > 0)
			summarize_selected(work, geometry, &lines);
		MemoryContextSwitchTo(caller);
		MemoryContextDelete(context);
	}
}

/*
 * Summarizes those ranges of a group that are neither summarized nor full and whose numbers in the level are from
 * `first` to `end` (exclusive). Returns how many.
 */
static int64
summarize_group(const BfSummarizer *work, const BfGeometry *geometry, const BfGroup *group, uint64 first, uint64 end)
{
	uint8		states[BF_INDEX_MAX_RANGES];
	bool		ranges[BF_INDEX_MAX_RANGES];
	int64		count = 0;

	bf_index_read_states(work->index, group, 0, states);
	for (uint32 i = 0; i < group->ranges; i++)
	{
		const uint64 range = (uint64) group->first_range + i;

		ranges[i] = range >= first && range < end && states[i] != BF_SUMMARIZED && states[i] != BF_FULL;
		count += ranges[i];
	}
	bf_index_summarize_marked(work, geometry, group, ranges);
	return count;
}

/*
 * Makes groups for the ranges of a level up to `end` (exclusive). Summarizes those ranges from `first` to `end` that
 * are neither summarized nor full, and returns their number. If all ranges are to be summarized, groups of a level
 * above 0 may be united; then their ranges are summarized anew.
 */
static int64
summarize_level(const BfSummarizer *all, int level, uint32 first, uint32 end, BlockNumber heap_blocks)
{
	BfSummarizer work = *all;
	BfGeometry *geometry;
	BfGroup		group;
	int64		done = 0;

	if (first >= end)
		return 0;
	bf_index_make_groups(&work, level, end, heap_blocks, level > 0 && first == 0 && !work.building);
	geometry = bf_index_copy_geometry(bf_index_current_geometry(work.index));
	end = Min(end, geometry->level[level].covered);
	/* In a build all ranges begin at once, so the meta page does not depend on how many the memory has room for. */
	if (work.building)
		bf_index_begin_ranges(work.index, level, end);
	Assert(work.workers == NULL || first == 0);
	if (work.workers != NULL && !bf_index_begin_upper_level(work.workers, geometry, level, end))
		work.workers = NULL;
	for (uint32 range = first; range < end; range = group.first_range + group.ranges)
	{
		CHECK_FOR_INTERRUPTS();
		bf_index_find_group(geometry, level, range, &group);
		done += summarize_group(&work, geometry, &group, first, end);
	}
	if (work.workers != NULL)
		bf_index_end_upper_level(work.workers);
	pfree(geometry);
	return done;
}

/* -------------------------------------------------------------------- upper levels */

/*
 * Makes groups for those ranges of the levels above 0 that the heap fills. Summarizes the ranges among them that are
 * neither summarized nor full yet, and returns how many these were.
 */
static int64
summarize_upper_levels(const BfSummarizer *work, BlockNumber heap_blocks)
{
	int64		done = 0;

	for (int level = 1; level < BF_INDEX_MAX_LEVELS; level++)
	{
		const BfGeometry *geometry = bf_index_current_geometry(work->index);

		if (!has_level(geometry, level, heap_blocks))
			break;
		done += summarize_level(work, level, 0, heap_blocks / geometry->level[level].pages_per_range, heap_blocks);
	}
	return done;
}

void
bf_index_build_upper_levels(Relation index, Relation heap, BfHeapReader *reader, const BfBuildTask *task, BfTape *tape,
							BfBuildWorkers *workers)
{
	const BfSummarizer work = {
		.index = index,
		.heap = heap,
		.reader = reader,
		.building = true,
		.tape = tape,
		.workers = workers
	};

	(void) summarize_upper_levels(&work, task->heap_blocks);
}

/* ------------------------------------------------------------ what lies behind it */

/*
 * Finds out whether the heap ends with the ranges of level 0 that have begun, and notes that down on the meta page.
 * If it does, a search need not look at the heap's length until a row is written behind these ranges.
 */
static void
look_beyond(const BfSummarizer *work)
{
	const BfGeometry *geometry = bf_index_current_geometry(work->index);

	if (geometry->beyond == BF_BEYOND_EMPTY)
		return;
	(void) bf_index_set_beyond(work->index, geometry->beyond, BF_BEYOND_PLACEHOLDER);
	geometry = bf_index_current_geometry(work->index);
	if ((uint64) geometry->level[0].begun * geometry->level[0].pages_per_range >= RelationGetNumberOfBlocks(work->heap))
		(void) bf_index_set_beyond(work->index, BF_BEYOND_PLACEHOLDER, BF_BEYOND_EMPTY);
}

void
bf_index_built(Relation index, Relation heap)
{
	const BfSummarizer work = {.index = index, .heap = heap};

	look_beyond(&work);
}

/* --------------------------------------------------------------------- all of it */

static int64
summarize(const BfSummarizer *work, const BfTask *task)
{
	BlockNumber heap_blocks = RelationGetNumberOfBlocks(work->heap);
	const BfGeometry *geometry;
	BlockNumber pages_per_range;
	uint32		first = 0;
	uint32		end;
	int64		done;

	if (heap_blocks == 0)
		return 0;
	bf_index_choose_range_length(work->index, work->reader, heap_blocks);
	geometry = bf_index_current_geometry(work->index);
	pages_per_range = geometry->level[task->level].pages_per_range;
	if (task->level >= bf_index_possible_levels(geometry))
		return 0;
	end = bf_index_ranges_of(geometry, task->level, heap_blocks);
	if (task->block != InvalidBlockNumber)
	{
		first = task->block / pages_per_range;
		end = Min(end, first + 1);
	}
	done = summarize_level(work, task->level, first, end, heap_blocks);
	if (task->block == InvalidBlockNumber)
	{
		done += summarize_upper_levels(work, RelationGetNumberOfBlocks(work->heap));
		bf_index_remake(work, heap_blocks, task->deleted);
		look_beyond(work);
	}
	return done;
}

int64
bf_index_summarize(Relation index, Relation heap, const BfTask *task)
{
	BfSummarizer	work = {.index = index, .heap = heap};
	MemoryContext context;
	MemoryContext caller;
	BfCaller	who_calls;
	bool		push_snapshot = !ActiveSnapshotSet();
	int64		done;

	if (summarizing)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot summarize ranges of index \"%s\" from within an index expression",
						RelationGetRelationName(index)),
				 errhint("An expression that is indexed must not change an index: call the function outside of it.")));
	context = AllocSetContextCreate(CurrentMemoryContext, "bf summarize", ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(context);
	/*
	 * Expressions need a snapshot, and so does reading out-of-line values. A procedure that has just committed has
	 * none. The snapshot is taken only now that the locks are held: a CREATE INDEX CONCURRENTLY waits for everybody
	 * with an older snapshot, so a session that waits for the lock of this command must have no snapshot.
	 */
	if (push_snapshot)
		PushActiveSnapshot(GetTransactionSnapshot());
	bf_index_become_owner(heap, &who_calls);
	summarizing = true;
	PG_TRY();
	{
		work.reader = bf_index_open_heap(heap, index, true);
		done = summarize(&work, task);
		bf_index_close_heap(work.reader);
	}
	PG_FINALLY();
	{
		summarizing = false;
	}
	PG_END_TRY();
	bf_index_become_caller(&who_calls);
	if (push_snapshot)
		PopActiveSnapshot();
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return done;
}

bool
bf_index_desummarize(Relation index, int level, BlockNumber block)
{
	BfGeometry *geometry = bf_index_copy_geometry(bf_index_current_geometry(index));
	BlockNumber pages_per_range = geometry->level[level].pages_per_range;
	uint8		states[BF_INDEX_MAX_RANGES];
	BfGroup		group;
	BfGroupLines lines;
	uint32		range;

	/*
	 * An expression of the index may call this while its session summarizes: the lock that keeps other sessions away
	 * does not keep the session itself away. If the range became unsummarized now, writers would not add their rows
	 * to it, and then the summarizer would mark it as summarized.
	 */
	if (summarizing)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot make ranges of index \"%s\" unsummarized from within an index expression",
						RelationGetRelationName(index)),
				 errhint("An expression that is indexed must not change an index: call the function outside of it.")));
	if (pages_per_range == 0 || block / pages_per_range >= geometry->level[level].covered)
		return false;
	bf_index_find_group(geometry, level, block / pages_per_range, &group);
	range = block / pages_per_range - group.first_range;
	bf_index_read_states(index, &group, 0, states);
	if (states[range] == BF_UNSUMMARIZED)
		return false;
	bf_index_make_lines(&lines, geometry, &group);
	bf_index_select_range(&lines, range);
	bf_index_write_ranges(index, &lines, BF_UNSUMMARIZED, (BfHorizons) {0});
	pfree(geometry);
	return true;
}
