/*
 * build.c: CREATE INDEX and REINDEX: reads the heap once, a group of ranges at a time, and writes each group as it is done.
 *
 * A group's filter size comes from its full ranges: as many lines as the range with most items needs, in each column.
 * The first group is as large as the table has ranges, up to what a page allows, so that an index on a small partition
 * has one group; where the last ones would leave much of their pages empty, they become two groups.
 *
 * CREATE INDEX CONCURRENTLY: rows that are written meanwhile are not entered here; the core enters all rows again through
 * the insert function when it validates the index, because ambulkdelete tells it of none that are there.
 */
#include "index/bf_index.h"

#include "access/generic_xlog.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"

#define PHASE_READING 2
#define PHASE_WRITING 3

char *
bf_index_build_phase(int64 phase)
{
	switch (phase)
	{
		case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
			return "initializing";
		case PHASE_READING:
			return "reading table";
		case PHASE_WRITING:
			return "writing filters";
		default:
			return NULL;
	}
}

/* The most items of a full range in this column; of the only one, if it is not full, as many as it would have. */
static uint64
items_of_a_range(const BfRangeItems *items, uint32 count, int column, BlockNumber pages_per_range, BlockNumber heap_blocks)
{
	uint64		most = 0;
	bool		any = false;

	for (uint32 i = 0; i < count; i++)
		if (items[i].full)
		{
			most = Max(most, items[i].counts[column]);
			any = true;
		}
	if (!any && count > 0)
	{
		uint64		pages = heap_blocks - (uint64) items[0].range * pages_per_range;

		most = items[0].counts[column] * pages_per_range / Max(pages, 1);
	}
	return most;
}

/* How many of these ranges make the next group: all, unless two groups take an eighth less. */
static uint32
ranges_of_group(const BfGeometry *geometry, const BfRangeItems *items, uint32 count, BlockNumber heap_blocks)
{
	uint32		good = bf_index_good_group_size(count);
	uint64		together = 0,
				apart = 0;

	if (good == count)
		return count;
	for (int column = 0; column < geometry->columns; column++)
	{
		uint64		most = items_of_a_range(items, count, column, geometry->pages_per_range, heap_blocks);
		uint32		rest = count - good;

		together += bf_index_pages_for(bf_index_lines_for(most, geometry->load, count), count);
		apart += bf_index_pages_for(bf_index_lines_for(most, geometry->load, good), good);
		apart += bf_index_pages_for(bf_index_lines_for(most, geometry->load, rest), rest);
	}
	return apart * 8 < together * 7 ? good : count;
}

static void
write_group(Relation index, const BfGeometry *geometry, const BfRangeItems *items, uint32 count, BlockNumber heap_blocks,
			uint64 horizon)
{
	BfGroup		group = {.first_range = items[0].range, .ranges = count, .positions = BF_POSITIONS(count)};
	uint32		line_counts[INDEX_MAX_KEYS];
	BfGroupLines lines;

	for (int column = 0; column < geometry->columns; column++)
	{
		uint64		most = items_of_a_range(items, count, column, geometry->pages_per_range, heap_blocks);

		line_counts[column] = bf_index_lines_for(most, geometry->load, count);
	}
	bf_index_make_lines(&lines, geometry, &group, line_counts, true);
	for (uint32 i = 0; i < count; i++)
		bf_index_add_items(&lines, &items[i]);
	bf_index_create_group(index, &lines, BF_SUMMARIZED, horizon);
	bf_index_free_lines(&lines);
}

/* All ranges of the heap. */
static void
build_groups(Relation heap, Relation index, BfHeapReader *reader, BlockNumber heap_blocks)
{
	const BfGeometry *geometry = bf_index_copy_geometry(bf_index_current_geometry(index));
	uint32		ranges = (heap_blocks + (uint64) geometry->pages_per_range - 1) / geometry->pages_per_range;
	uint32		at_once = Min(BF_INDEX_MAX_RANGES, Max(1, BF_MOST_PAGES_AT_ONCE / geometry->pages_per_range));
	BfRangeItems *items = palloc(at_once * sizeof(BfRangeItems));
	uint32		have = 0,
				next = 0;

	while (next < ranges || have > 0)
	{
		uint32		count;

		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PHASE_READING);
		while (have < at_once && next < ranges)
		{
			bf_index_read_range(reader, next++, geometry->pages_per_range, heap_blocks, &items[have++]);
			pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
										 Min((uint64) next * geometry->pages_per_range, heap_blocks));
			pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, bf_index_reader_rows(reader));
		}
		count = ranges_of_group(geometry, items, have, heap_blocks);
		if (!bf_index_reserve_entry(index))
			break;				/* the directory is full: what follows is always read */
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PHASE_WRITING);
		write_group(index, geometry, items, count, heap_blocks, bf_index_reader_horizon(reader));
		for (uint32 i = 0; i < count; i++)
			bf_index_free_items(&items[i]);
		have -= count;
		memmove(items, items + count, have * sizeof(BfRangeItems));
	}
}

static void
write_meta_page(Relation index, ForkNumber fork)
{
	Buffer		buffer = ReadBufferExtended(index, fork, P_NEW, RBM_NORMAL, NULL);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	Assert(BufferGetBlockNumber(buffer) == 0);
	if (fork == INIT_FORKNUM)
	{
		/* the init fork of an unlogged index is logged */
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
	BfHeapReader *reader;
	BfCaller	who_calls;

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));
	/* an index that was truncated with its table has the same file as before */
	if (index->rd_amcache != NULL)
	{
		pfree(index->rd_amcache);
		index->rd_amcache = NULL;
	}
	/* PostgreSQL has changed the user already, and only from 17 on the search_path too */
	bf_index_become_owner(heap, &who_calls);
	reader = bf_index_open_heap(heap, index, BF_FOR_BUILD);
	bf_index_check_operators(index);
	write_meta_page(index, MAIN_FORKNUM);
	heap_blocks = RelationGetNumberOfBlocks(heap);
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL, heap_blocks);
	build_groups(heap, index, reader, heap_blocks);
	result->heap_tuples = bf_index_reader_live_rows(reader);
	result->index_tuples = bf_index_reader_rows(reader);
	bf_index_close_heap(reader);
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
