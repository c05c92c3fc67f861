/*
 * summarize.c: summarizes ranges of all levels, and makes them unsummarized again.
 *
 * A summarizer first counts a publication on the meta page, so that writers look again where ranges have begun. Then it
 * writes placeholders on all pages of the group, and counts another publication, so that writers forget what they have seen there. Then it takes the heap's length, then it reads the heap, and then it
 * writes the bits and the state "summarized", page by page. README.md proves that no row is lost in this order. There is one summarizer at a time: its callers hold a ShareUpdateExclusiveLock on the heap, as
 * VACUUM does.
 */
#include "index/refresh.h"
#include "index/tape.h"

#include <math.h>

#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "utils/backend_progress.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "index/count.h"
#include "index/directory.h"
#include "index/geometry.h"
#include "index/group.h"
#include "index/handler.h"
#include "index/heap.h"
#include "index/items.h"
#include "index/layout.h"
#include "index/measure.h"
#include "index/owner.h"
#include "index/sizes.h"
#include "index/summarize.h"

/* How many full ranges are read to find the size of a new group's filters on level 0. */
#define SAMPLED_RANGES 4

static bool summarizing = false;

bool
bf_index_is_summarizing(void)
{
	return summarizing;
}

/* ------------------------------------------------------ pages of a range, levels */

/*
 * How large ranges of so many pages are: 1 is as many lines as a range should have, in the column that has the most of them. Some
 * ranges, which lie evenly in the table, tell.
 */
static double
size_of_ranges(Relation index, BfHeapReader *reader, BlockNumber heap_blocks, BlockNumber pages, uint32 samples)
{
	uint32		ranges = Max(heap_blocks / pages, 1);
	double		sizes[Max(BF_RANGES_THAT_TELL, BF_RANGES_WITH_KEYS_THAT_TELL)];

	samples = Min(samples, ranges);
	for (uint32 i = 0; i < samples; i++)
	{
		const BfGeometry *geometry;
		BfRangeItems items;
		double		size = 0;

		bf_index_read_range(reader, (uint64) i * ranges / samples, pages, heap_blocks, &items);
		geometry = bf_index_current_geometry(index);
		for (int column = 0; column < geometry->columns; column++)
		{
			const BfParameters *parameters = &geometry->column[column];
			double		lines = bf_index_items_if_full(&items, column) / parameters->load;

			size = Max(size, lines / (parameters->keys == BF_KEYS_INSIDE ? BF_LINES_OF_A_RANGE_WITH_KEYS : BF_LINES_OF_A_RANGE));
		}
		bf_index_free_items(&items);
		sizes[i] = size;
	}
	return bf_index_size_that_tells(sizes, samples);
}

static bool
has_keys_inside(const BfGeometry *geometry)
{
	for (int column = 0; column < geometry->columns; column++)
		if (geometry->column[column].keys == BF_KEYS_INSIDE)
			return true;
	return false;
}

void
bf_index_choose_range_length(Relation index, BfHeapReader *reader, BlockNumber heap_blocks)
{
	const bool	is_partition = index->rd_rel->relispartition;
	BlockNumber pages = BF_INDEX_DEFAULT_PAGES_PER_RANGE;

	if (bf_index_current_geometry(index)->level[0].pages_per_range != 0)
		return;
	if (has_keys_inside(bf_index_current_geometry(index)))
	{
		/*
		 * Rows share most of their keys, so a range of half the length has more than half of them: each length is looked at.
		 * The beginning of a log may be unlike the rest of it. A small table gets no fewer ranges for being small: a question
		 * has several keys, so it reads several pages of the index anyway.
		 */
		double		size = 0;

		while (pages > 1)
		{
			/* A range that is longer than the heap is not full: what it would have is in proportion to its length. */
			if (size > 0 && pages / 2 > heap_blocks)
				size /= 2;
			else
				size = size_of_ranges(index, reader, heap_blocks, pages / 2, BF_RANGES_WITH_KEYS_THAT_TELL);
			if (size < BF_ENOUGH_OF_A_RANGE)
				break;
			pages /= 2;
		}
	}
	else
		pages = bf_index_range_length_for(size_of_ranges(index, reader, heap_blocks, pages, BF_RANGES_THAT_TELL) * BF_LINES_OF_A_RANGE,
										  heap_blocks, is_partition);
	bf_index_settle_pages_per_range(index, pages);
}

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

/* ------------------------------------------------------------------- new groups */

/*
 * Finds the sizes of a new group on level 0 by some ranges that lie evenly among the new ones, of which `candidates` are full; or if these
 * are few, among as many ranges before them as the group has, too: one range says little about those to come.
 */
static void
size_by_sample(const BfSummarizer *work, const BfGeometry *geometry, const BfGroup *group, uint32 candidates, BlockNumber heap_blocks,
			   uint32 *lines)
{
	const uint32 before = candidates >= SAMPLED_RANGES ? 0 : Min(group->first_range, group->ranges);
	const uint32 from = group->first_range - before;
	const uint32 known = Max(before + candidates, 1);	/* of which the only one may have some of its pages only */
	const uint32 samples = Min(known, SAMPLED_RANGES);
	double		counts[INDEX_MAX_KEYS][SAMPLED_RANGES];

	for (uint32 i = 0; i < samples; i++)
	{
		BfRangeItems items;
		/* the last one always: what is written now is most like what is to come */
		uint32		range = from + known - 1 - (uint64) i * known / samples;

		bf_index_read_range(work->reader, range, geometry->level[0].pages_per_range, heap_blocks, &items);
		for (int column = 0; column < geometry->columns; column++)
			counts[column][i] = bf_index_items_if_full(&items, column);
		bf_index_free_items(&items);
	}
	for (int column = 0; column < geometry->columns; column++)
	{
		const BfCounts of_column = bf_index_counts(geometry, 0, column, counts[column]);

		lines[column] = bf_index_lines_for(&of_column, samples, group->ranges);
	}
}

/*
 * Calls add() with the items on the pages from `first` to `end` (exclusive), which are whole ranges of level 0, or its last ones:
 * of each row, or from the tape those of each range.
 */
static void
read_rows(const BfSummarizer *work, const BfGeometry *geometry, uint64 first, uint64 end,
		  void (*add) (const BfRowItems *items, void *argument), void *argument)
{
	const BlockNumber pages_per_range = geometry->level[0].pages_per_range;
	const uint32 end_range = (end + pages_per_range - 1) / pages_per_range;

	if (work->tape != NULL && end_range <= bf_index_tape_length(work->tape))
		bf_index_read_tape(work->tape, first / pages_per_range, end_range, add, argument);
	else
		bf_index_read_rows(work->reader, first, end, add, argument);
}

/* How many ranges of a level above 0 are read in the heap to find the size of a new group's filters. */
#define SAMPLED_ABOVE 2

/*
 * The same on a level above 0, by ranges of the heap, which has `candidates` of the new ones, and by the bits of the group before, if it has
 * more items. (In a table that grows there is often one new range alone, and it may be the first that is unlike those before, or the
 * last that is like them.)
 */
static void
size_above_by_sample(const BfSummarizer *work, const BfGeometry *geometry, const BfGroup *group, uint32 candidates, uint32 *lines)
{
	const BfLevel *of = &geometry->level[group->level];
	const uint64 heap_blocks = RelationGetNumberOfBlocks(work->heap);
	const uint32 samples = Min(Max(candidates, 1), SAMPLED_ABOVE);
	double		counts[INDEX_MAX_KEYS][SAMPLED_ABOVE];

	for (uint32 i = 0; i < samples; i++)
	{
		/* The last ones too: what is written now is more like what is to come. */
		uint32		range = of->covered + (samples == 1 ? 0 : (uint64) i * (candidates - 1) / (samples - 1));
		uint64		first = (uint64) range * of->pages_per_range;
		BfItemCount *count = bf_index_begin_count(geometry->columns);
		double		items[INDEX_MAX_KEYS];

		read_rows(work, geometry, Min(first, heap_blocks), Min(first + of->pages_per_range, heap_blocks), bf_index_count_row, count);
		bf_index_end_count(count, items);
		for (int column = 0; column < geometry->columns; column++)
			counts[column][i] = items[column];
	}
	for (int column = 0; column < geometry->columns; column++)
	{
		BfCounts	of_column = bf_index_counts(geometry, group->level, column, counts[column]);

		lines[column] = bf_index_lines_for(&of_column, samples, group->ranges);
		if (of->groups > 0)
		{
			double		before[BF_INDEX_MAX_RANGES];
			BfGroup		last;

			bf_index_find_group(geometry, group->level, of->covered - 1, &last);
			bf_index_estimate_items(work->index, geometry, &last, column, before);
			of_column.items = before;
			lines[column] = Max(lines[column], bf_index_lines_for(&of_column, last.ranges, group->ranges));
		}
	}
}

/* The numbers of items of so many ranges of a level above 0 from `first` on, in a build, which has counted them. */
typedef struct CountsAbove
{
	BfCounts	columns[INDEX_MAX_KEYS];
	double		items[INDEX_MAX_KEYS][BF_INDEX_MAX_RANGES];
} CountsAbove;

static CountsAbove *
counts_above(const BfSummarizer *work, const BfGeometry *geometry, int level, uint32 first, uint32 ranges)
{
	CountsAbove *counts = palloc(sizeof(CountsAbove));

	for (int column = 0; column < geometry->columns; column++)
	{
		for (uint32 i = 0; i < ranges; i++)
			counts->items[column][i] = bf_index_upper_count(work->upper, level, first + i, column);
		counts->columns[column] = bf_index_counts(geometry, level, column, counts->items[column]);
	}
	return counts;
}

/*
 * Makes the next group of a level. The size of its filters comes from some of its ranges, or from those before; a build knows all of
 * them. Returns false if the directory is full.
 */
static bool
add_group(const BfSummarizer *work, const BfGeometry *geometry, int level, BlockNumber heap_blocks)
{
	const BfLevel *of = &geometry->level[level];
	const uint32 first = of->covered;
	const uint32 full = heap_blocks / of->pages_per_range;
	const uint32 begun = level == 0 ? bf_index_ranges_of(geometry, 0, heap_blocks) : full;
	const uint32 available = begun > first ? begun - first : 0;
	uint32		line_counts[INDEX_MAX_KEYS];
	BfGroup		group = {.level = level, .columns = geometry->columns, .first_range = first, .lines = line_counts};
	BfGroupLines lines;

	if (!bf_index_reserve_entry(work->index))
		return false;
	if (work->building && available > 0)
	{
		const uint32 count = Min(available, BF_INDEX_MAX_RANGES);
		CountsAbove *counts = counts_above(work, geometry, level, first, count);

		group.ranges = bf_index_group_to_build(counts->columns, geometry->columns, count, line_counts);
		pfree(counts);
	}
	else
	{
		group.ranges = bf_index_group_to_grow(level, first, available);
		if (level == 0)
			size_by_sample(work, geometry, &group, full > first ? Min(full - first, group.ranges) : 0, heap_blocks, line_counts);
		else
			size_above_by_sample(work, geometry, &group, Min(available, group.ranges), line_counts);
	}
	group.positions = BF_POSITIONS(group.ranges);
	bf_index_settle_by_last_group(geometry, level, group.ranges, line_counts);
	bf_index_make_lines(&lines, geometry, &group);
	bf_index_create_group(work->index, &lines, BF_UNSUMMARIZED, 0);
	return true;
}

/* Makes groups of a level until all ranges up to this one (exclusive) have one, or the directory is full. */
static void
add_groups(const BfSummarizer *work, int level, uint32 ranges, BlockNumber heap_blocks)
{
	for (;;)
	{
		BfGeometry *geometry = bf_index_copy_geometry(bf_index_current_geometry(work->index));
		bool		done = geometry->level[level].covered >= ranges || !add_group(work, geometry, level, heap_blocks);

		pfree(geometry);
		if (done)
			return;
	}
}

/* ------------------------------------------------------------ ranges of a group */

/* A range that is being read: where its rows' items go. */
typedef struct RangeLines
{
	BfGroupLines *lines;
	uint32		range;
} RangeLines;

static void
add_row(const BfRowItems *items, void *argument)
{
	RangeLines *to = argument;

	for (int column = 0; column < items->columns; column++)
	{
		uint32		first = bf_index_first_of(items, column);

		bf_index_add_hashes(to->lines, to->range, column, items->hashes + first, items->end[column] - first);
	}
}

/* Shows which page of the heap was read last. */
static void
show_progress(const BfSummarizer *work, int level, BlockNumber heap_blocks, BlockNumber read)
{
	if (!work->shows_progress)
		return;
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, BF_PHASE_SUMMARIZING + level);
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL, heap_blocks);
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE, read);
}

void
bf_index_summarize_selected(const BfSummarizer *work, const BfGeometry *geometry, BfGroupLines *lines)
{
	const BfGroup *group = &lines->group;
	const BlockNumber pages_per_range = geometry->level[group->level].pages_per_range;
	uint32		end = 0;
	BlockNumber heap_blocks;

	for (uint32 i = 0; i < group->ranges; i++)
		if (lines->ranges[i])
			end = group->first_range + i + 1;
	bf_index_begin_ranges(work->index, group->level, end);
	if (!work->building)
	{
		bf_index_write_ranges(work->index, lines, BF_PLACEHOLDER, 0);
		bf_index_publish_placeholders(work->index);
	}
	/*
	 * Pages that were added before the placeholder was written have rows that their writers did not add to the index.
	 */
	heap_blocks = RelationGetNumberOfBlocks(work->heap);
	bf_index_allocate_areas(lines);
	for (uint32 i = 0; i < group->ranges; i++)
	{
		uint64		first = (uint64) (group->first_range + i) * pages_per_range;
		RangeLines	to = {.lines = lines, .range = i};

		if (lines->ranges[i] && first < heap_blocks)
		{
			read_rows(work, geometry, first, Min(first + pages_per_range, heap_blocks), add_row, &to);
			show_progress(work, group->level, heap_blocks, Min(first + pages_per_range, heap_blocks));
		}
	}
	bf_index_write_ranges(work->index, lines, BF_SUMMARIZED, bf_index_reader_horizon(work->reader));
}

uint32
bf_index_ranges_at_once(const BfGroup *group, BlockNumber pages_per_range)
{
	uint32		by_pages = Max(1, BF_MOST_PAGES_AT_ONCE / pages_per_range);
	uint32		by_memory = Max(1, (Size) maintenance_work_mem * 1024 / bf_index_bytes_of_range(group));

	return Min(by_memory, group->level == 0 ? by_pages : BF_INDEX_MAX_RANGES);
}

/* In a build: which ranges of a group of a level above 0 are full. */
static void
find_full_by_counts(const BfSummarizer *work, const BfGeometry *geometry, BfGroupLines *lines)
{
	const BfGroup *group = &lines->group;
	CountsAbove *counts = counts_above(work, geometry, group->level, group->first_range, group->ranges);

	for (int column = 0; column < group->columns; column++)
	{
		const double far_above = bf_index_far_above(&counts->columns[column], group->ranges);

		for (uint32 i = 0; i < group->ranges; i++)
			lines->full[column][i] = counts->items[column][i] >= far_above;
	}
	lines->full_is_known = true;
	pfree(counts);
}

/* Summarizes those ranges of a group from `first` to `end` (exclusive) that are not summarized. Returns how many. */
static int64
summarize_group(const BfSummarizer *work, const BfGeometry *geometry, const BfGroup *group, uint64 first, uint64 end)
{
	BlockNumber pages_per_range = geometry->level[group->level].pages_per_range;
	uint32		at_once = bf_index_ranges_at_once(group, pages_per_range);
	uint8		states[BF_INDEX_MAX_RANGES];
	int64		done = 0;
	uint32		next = 0;

	bf_index_read_states(work->index, group, 0, states);
	while (next < group->ranges)
	{
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bf summaries", ALLOCSET_DEFAULT_SIZES);
		MemoryContext caller = MemoryContextSwitchTo(context);
		BfGroupLines lines;

		bf_index_make_lines(&lines, geometry, group);
		for (; next < group->ranges && lines.selected < at_once; next++)
		{
			uint64		range = (uint64) group->first_range + next;

			if (range >= first && range < end && states[next] != BF_SUMMARIZED && states[next] != BF_FULL)
				bf_index_select_range(&lines, next);
		}
		if (work->building)
			find_full_by_counts(work, geometry, &lines);
		if (lines.selected > 0)
			bf_index_summarize_selected(work, geometry, &lines);
		done += lines.selected;
		MemoryContextSwitchTo(caller);
		MemoryContextDelete(context);
	}
	return done;
}

/* Makes groups for the ranges of a level from `first` to `end` (exclusive), and summarizes them. Returns how many. */
static int64
summarize_level(const BfSummarizer *work, int level, uint32 first, uint32 end, BlockNumber heap_blocks)
{
	BfGeometry *geometry;
	BfGroup		group;
	int64		done = 0;

	if (first >= end)
		return 0;
	add_groups(work, level, end, heap_blocks);
	geometry = bf_index_copy_geometry(bf_index_current_geometry(work->index));
	for (uint32 range = first; range < Min(end, geometry->level[level].covered); range = group.first_range + group.ranges)
	{
		CHECK_FOR_INTERRUPTS();
		bf_index_find_group(geometry, level, range, &group);
		done += summarize_group(work, geometry, &group, first, end);
	}
	pfree(geometry);
	return done;
}

/* -------------------------------------------------------------------- upper levels */

/* Summarizes the full ranges of the levels above 0. Returns how many. */
static int64
summarize_upper_levels(const BfSummarizer *work)
{
	BlockNumber heap_blocks = RelationGetNumberOfBlocks(work->heap);
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
bf_index_build_upper_levels(Relation index, Relation heap, BfHeapReader *reader, BfTape *tape, const BfUpperCounts *upper)
{
	const BfSummarizer work = {
		.index = index,
		.heap = heap,
		.reader = reader,
		.building = true,
		.tape = tape,
		.upper = upper,
		.shows_progress = true
	};

	(void) summarize_upper_levels(&work);
}

/* ------------------------------------------------------------ what lies behind it */

/*
 * Finds out whether the heap ends with the ranges of level 0 that have begun. If so, and until a row is written behind them,
 * who asks whether the heap may hold a value need not look at the heap's length.
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
	end = task->partial ? bf_index_ranges_of(geometry, task->level, heap_blocks) : heap_blocks / pages_per_range;
	if (task->block != InvalidBlockNumber)
	{
		first = task->block / pages_per_range;
		end = Min(end, first + 1);
	}
	done = summarize_level(work, task->level, first, end, heap_blocks);
	if (task->block == InvalidBlockNumber)
	{
		done += summarize_upper_levels(work);
		bf_index_refresh_upper_levels(work, heap_blocks);
		bf_index_refresh_level_0(work, heap_blocks);
		look_beyond(work);
	}
	return done;
}

int64
bf_index_summarize(Relation index, Relation heap, const BfTask *task)
{
	BfSummarizer	work = {.index = index, .heap = heap, .shows_progress = task->shows_progress};
	MemoryContext context;
	MemoryContext caller;
	BfCaller	who_calls;
	bool		push_snapshot = !ActiveSnapshotSet();
	int64		done;

	if (summarizing)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot summarize ranges of index \"%s\" from within an index expression",
						RelationGetRelationName(index))));
	context = AllocSetContextCreate(CurrentMemoryContext, "bf summarize", ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(context);
	/*
	 * Expressions need a snapshot, and so does reading out-of-line values. A procedure that has just committed has
	 * none. It is taken only now that the locks are held, because a CREATE INDEX CONCURRENTLY waits for everybody
	 * with an older snapshot.
	 */
	if (push_snapshot)
		PushActiveSnapshot(GetTransactionSnapshot());
	bf_index_become_owner(heap, &who_calls);
	summarizing = true;
	PG_TRY();
	{
		work.reader = bf_index_open_heap(heap, index, task->in_vacuum ? BF_FOR_VACUUM : BF_FOR_SUMMARY);
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

	if (pages_per_range == 0 || block / pages_per_range >= geometry->level[level].covered)
		return false;
	bf_index_find_group(geometry, level, block / pages_per_range, &group);
	range = block / pages_per_range - group.first_range;
	bf_index_read_states(index, &group, 0, states);
	if (states[range] == BF_UNSUMMARIZED)
		return false;
	bf_index_make_lines(&lines, geometry, &group);
	bf_index_select_range(&lines, range);
	bf_index_write_ranges(index, &lines, BF_UNSUMMARIZED, 0);
	pfree(geometry);
	return true;
}

/* -------------------------------------------------------------------- VACUUM */

/*
 * Nothing in the index belongs to one row alone, so there is nothing to delete. Bits stay until their range is
 * summarized anew.
 *
 * CREATE INDEX CONCURRENTLY and REINDEX CONCURRENTLY call this function when they begin to validate an index, which
 * is ready then, but not valid. They add the rows that were written during the build and that their snapshot sees.
 * Rows that were written during the build and deleted before this snapshot are not in the index. On this server the
 * commands wait for all snapshots that see such rows, but not for those of standbys. The transactions that deleted
 * these rows have smaller ids than the next transaction id, so a snapshot of a standby whose xmin is not smaller than
 * that sees none of these rows.
 */
IndexBulkDeleteResult *
bf_index_bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats, IndexBulkDeleteCallback callback, void *state)
{
	if (info->index->rd_index->indisready && !info->index->rd_index->indisvalid)
	{
		if (RelationNeedsWAL(info->index))
			bf_index_raise_standby_horizon(info->index, U64FromFullTransactionId(ReadNextFullTransactionId()));
		/*
		 * PostgreSQL evaluates the expressions of the rows that it adds as the owner, but only from 17 on with a
		 * restricted search_path. Its GUC nest level, which ends after the validation, takes this setting back.
		 */
		sb_restrict_search_path();
	}
	return stats != NULL ? stats : palloc0(sizeof(IndexBulkDeleteResult));
}

IndexBulkDeleteResult *
bf_index_vacuum_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	const BfTask task = {.block = InvalidBlockNumber, .partial = true, .in_vacuum = true};
	Relation	heap;
	int64		done;

	if (info->analyze_only)
		return stats;
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	heap = table_open(IndexGetRelation(RelationGetRelid(info->index), false), AccessShareLock);
	done = bf_index_summarize(info->index, heap, &task);
	table_close(heap, AccessShareLock);
	ereport(info->message_level,
			(errmsg("index \"%s\": %lld ranges of the table were summarized", RelationGetRelationName(info->index), (long long) done)));
	stats->num_pages = RelationGetNumberOfBlocks(info->index);
	stats->num_index_tuples = info->num_heap_tuples;
	stats->estimated_count = info->estimated_count;
	return stats;
}
