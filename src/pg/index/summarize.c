/*
 * summarize.c: summarizes ranges, and makes them unsummarized again.
 *
 * A summarizer first writes placeholders on all pages of the group. Then it takes the heap's length, then it reads
 * the heap, and then it writes the bits and the state "summarized", page by page. README.md proves that no row is
 * lost in this order. There is one summarizer at a time: its callers hold a ShareUpdateExclusiveLock on the heap, as
 * VACUUM does.
 */
#include "index/bf_index.h"

#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* How many full ranges are read to find the size of a new group's filters. */
#define SAMPLED_RANGES 4

/*
 * The first group of an index that was empty when it was built has this many ranges. Later groups double what there
 * is.
 */
#define FIRST_GROUP 8

static bool summarizing = false;

bool
bf_index_is_summarizing(void)
{
	return summarizing;
}

/* --------------------------------------------------------------- new groups */

/* A tenth more than the sample needs, because other ranges may have more items. */
static uint64
with_margin(uint64 items)
{
	return items + items / 10;
}

/*
 * Makes the next group. The size of its filters comes from some of its full ranges. If it has no full range yet, the
 * size comes from its first range, which the caller wants to summarize. Returns false if the directory is full.
 */
static bool
add_group(Relation index, BfHeapReader *reader, const BfGeometry *geometry, BlockNumber heap_blocks)
{
	uint32		first = geometry->covered;
	uint32		full = heap_blocks / geometry->pages_per_range;
	uint32		available = full > first ? full - first : 0;
	uint32		size = bf_index_good_group_size(Max(Max(FIRST_GROUP, first), available));
	uint32		candidates = Min(available, size);
	uint32		samples = Max(1, Min(candidates, SAMPLED_RANGES));
	BfGroup		group = {.first_range = first, .ranges = size, .positions = BF_POSITIONS(size)};
	uint64		most[INDEX_MAX_KEYS] = {0};
	uint32		line_counts[INDEX_MAX_KEYS];
	BfGroupLines lines;

	if (!bf_index_reserve_entry(index))
		return false;
	for (uint32 i = 0; i < samples; i++)
	{
		BfRangeItems items;
		uint32		range = first + (candidates > 0 ? (uint64) i * candidates / samples : 0);

		bf_index_read_range(reader, range, geometry->pages_per_range, heap_blocks, &items);
		for (int column = 0; column < geometry->columns; column++)
		{
			uint64		count = items.counts[column];

			if (!items.full)
				count = count * geometry->pages_per_range /
					Max(1, heap_blocks - (uint64) range * geometry->pages_per_range);
			most[column] = Max(most[column], count);
		}
		bf_index_free_items(&items);
	}
	for (int column = 0; column < geometry->columns; column++)
		line_counts[column] = bf_index_lines_for(with_margin(most[column]), geometry->load, size);
	bf_index_make_lines(&lines, geometry, &group, line_counts, false);
	bf_index_create_group(index, &lines, BF_UNSUMMARIZED, 0);
	bf_index_free_lines(&lines);
	return true;
}

/* Makes groups until all ranges up to this one (exclusive) have one, or the directory is full. */
static void
add_groups(Relation index, BfHeapReader *reader, uint32 ranges, BlockNumber heap_blocks)
{
	for (;;)
	{
		BfGeometry *geometry = bf_index_copy_geometry(bf_index_current_geometry(index));
		bool		done = geometry->covered >= ranges || !add_group(index, reader, geometry, heap_blocks);

		pfree(geometry);
		if (done)
			return;
	}
}

/* ------------------------------------------------------------ ranges of a group */

/*
 * Summarizes the ranges that lines->ranges marks. The reader may have been opened earlier: only what it reads after the
 * placeholders are written counts.
 */
static void
summarize_ranges(Relation index, Relation heap, BfHeapReader *reader, const BfGeometry *geometry, BfGroupLines *lines)
{
	BlockNumber heap_blocks;

	bf_index_write_ranges(index, lines, BF_PLACEHOLDER, 0);
	/*
	 * Pages that were added before the placeholder was written have rows that their writers did not add to the index.
	 */
	heap_blocks = RelationGetNumberOfBlocks(heap);
	for (uint32 i = 0; i < lines->group.ranges; i++)
	{
		BfRangeItems items;

		if (!lines->ranges[i])
			continue;
		bf_index_read_range(reader, lines->group.first_range + i, geometry->pages_per_range, heap_blocks, &items);
		bf_index_add_items(lines, &items);
		bf_index_free_items(&items);
	}
	bf_index_write_ranges(index, lines, BF_SUMMARIZED, bf_index_reader_horizon(reader));
}

/* Summarizes those ranges of a group from `first` to `end` (exclusive) that are not summarized. Returns how many. */
static int64
summarize_group(Relation index, Relation heap, BfHeapReader *reader, const BfGeometry *geometry, uint32 number,
				uint64 first, uint64 end)
{
	const BfGroup *group = &geometry->group[number];
	uint32		at_once = Max(1, BF_MOST_PAGES_AT_ONCE / geometry->pages_per_range);
	uint8		states[BF_INDEX_MAX_RANGES];
	int64		done = 0;
	uint32		next = 0;

	bf_index_read_states(index, group, states);
	while (next < group->ranges)
	{
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bf summaries", ALLOCSET_DEFAULT_SIZES);
		MemoryContext caller = MemoryContextSwitchTo(context);
		BfGroupLines lines;
		uint32		count = 0;

		bf_index_make_lines(&lines, geometry, group, &geometry->lines[number * geometry->columns], false);
		for (; next < group->ranges && count < at_once; next++)
		{
			uint64		range = (uint64) group->first_range + next;

			if (range < first || range >= end || states[next] == BF_SUMMARIZED)
				continue;
			lines.ranges[next] = true;
			count++;
		}
		if (count > 0)
		{
			bf_index_allocate_areas(&lines);
			summarize_ranges(index, heap, reader, geometry, &lines);
			done += count;
		}
		MemoryContextSwitchTo(caller);
		MemoryContextDelete(context);
	}
	return done;
}

static int64
summarize(Relation index, Relation heap, BlockNumber block, bool partial, bool in_vacuum)
{
	BfHeapReader *reader = bf_index_open_heap(heap, index, in_vacuum ? BF_FOR_VACUUM : BF_FOR_SUMMARY);
	BlockNumber heap_blocks = RelationGetNumberOfBlocks(heap);
	BlockNumber pages_per_range = bf_index_geometry(index)->pages_per_range;
	uint64		first = 0;
	uint64		end = ((uint64) heap_blocks + (partial ? pages_per_range - 1 : 0)) / pages_per_range;
	int64		done = 0;
	BfGeometry *geometry;

	if (block != InvalidBlockNumber)
	{
		first = block / pages_per_range;
		end = Min(end, first + 1);
	}
	if (first < end)
	{
		add_groups(index, reader, end, heap_blocks);
		geometry = bf_index_copy_geometry(bf_index_current_geometry(index));
		for (uint32 number = 0; number < geometry->groups; number++)
		{
			const BfGroup *group = &geometry->group[number];

			if (group->first_range < end && (uint64) group->first_range + group->ranges > first)
				done += summarize_group(index, heap, reader, geometry, number, first, end);
		}
	}
	bf_index_close_heap(reader);
	return done;
}

int64
bf_index_summarize(Relation index, Relation heap, BlockNumber block, bool partial, bool in_vacuum)
{
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
		done = summarize(index, heap, block, partial, in_vacuum);
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
bf_index_desummarize(Relation index, BlockNumber block)
{
	const BfGeometry *cached = bf_index_current_geometry(index);
	uint32		range = block / cached->pages_per_range;
	BfGeometry *geometry;
	uint8		states[BF_INDEX_MAX_RANGES];
	uint32		number;
	BfGroupLines lines;

	if (range >= cached->covered)
		return false;
	geometry = bf_index_copy_geometry(cached);
	number = bf_index_group_of(geometry, range);
	range -= geometry->group[number].first_range;
	bf_index_read_states(index, &geometry->group[number], states);
	if (states[range] == BF_UNSUMMARIZED)
		return false;
	bf_index_make_lines(&lines, geometry, &geometry->group[number], &geometry->lines[number * geometry->columns],
						false);
	lines.ranges[range] = true;
	bf_index_write_ranges(index, &lines, BF_UNSUMMARIZED, 0);
	bf_index_free_lines(&lines);
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
	Relation	heap;

	if (info->analyze_only)
		return stats;
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	heap = table_open(IndexGetRelation(RelationGetRelid(info->index), false), AccessShareLock);
	(void) bf_index_summarize(info->index, heap, InvalidBlockNumber, false, true);
	table_close(heap, AccessShareLock);
	stats->num_pages = RelationGetNumberOfBlocks(info->index);
	stats->num_index_tuples = info->num_heap_tuples;
	stats->estimated_count = info->estimated_count;
	return stats;
}
