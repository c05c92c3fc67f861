/*
 * inspect.c: the SQL functions that look into an index: bf_index_check(), bf_index_stats() and bf_of().
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "catalog/pg_index.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/predicate.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "base/call.h"
#include "bf/bf.h"
#include "index/functions.h"
#include "index/geometry.h"
#include "index/group.h"
#include "index/heap.h"
#include "index/horizon.h"
#include "index/items.h"
#include "index/layout.h"
#include "index/measure.h"

/* Raises an error for an index whose build has failed or is not finished. */
static void
refuse_invalid(Relation index)
{
	if (!index->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid", RelationGetRelationName(index)),
				 errhint("Please REINDEX it.")));
}

/* ------------------------------------------------------------- bf_index_check */

typedef struct Check
{
	Relation	index;
	Relation	heap;
	BfGeometry *geometry;
	BfViewer	viewer;
} Check;

/*
 * May the page lack this row? A filter page has two horizons, which are transaction ids. It may lack a row that was
 * deleted by a transaction whose id is less than one of the two. The standby horizon counts here on every server: the
 * index need not have a row that only snapshots of standbys can see, even if VACUUM has not removed the row yet. On a
 * standby no lock keeps summarizers out. So after the page of the table was read, the row may have been deleted and
 * left out of a new summary.
 */
static bool
may_be_missing(Check *check, const BfRow *row, const BfFilterPage *content)
{
	if (row->deleted_by != 0 && Max(content->horizon, content->standby_horizon) > row->deleted_by)
		return true;
	return check->viewer.snapshot->takenDuringRecovery && bf_index_is_before_horizon(&check->viewer, content);
}

/* Raises an error if an item of a row is missing on its page of this column, although the page may not lack the row. */
static void
check_item(Check *check, const BfRow *row, uint64 hash, const BfGroup *group, int column, uint32 range)
{
	int			hash_count = bf_index_parameters(check->geometry, group->level, column)->hashes;
	uint32		line = sb_bf_line_of(group->lines[column], hash);
	BlockNumber page = line / group->positions;
	BlockNumber block = bf_index_column_start(group, column) + page;
	Buffer		buffer;
	BfFilterPage *content;
	bool		missing;

	/* a row may have millions of items */
	CHECK_FOR_INTERRUPTS();
	buffer = bf_index_read_page(check->index, block);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	content = bf_index_filter_page_in_use(check->index, buffer, group, column, page);
	missing = content != NULL && content->states[range] == BF_SUMMARIZED && !may_be_missing(check, row, content) &&
		!sb_bf_line_contains(bf_index_line(content, line % group->positions, range), hash_count, hash);
	UnlockReleaseBuffer(buffer);
	if (missing)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" lacks a row of table \"%s\"",
						RelationGetRelationName(check->index), RelationGetRelationName(check->heap)),
				 errdetail("The row version at (%u,%u) is not in the filter of column %d of its range of level %d, on block %u of the index.",
						   ItemPointerGetBlockNumber(&row->tid), ItemPointerGetOffsetNumber(&row->tid), column + 1,
						   group->level, block),
				 errhint("Please REINDEX it, and report this.")));
}

/* Checks one row on all levels and in all columns. */
static void
check_row(const BfRow *row, void *argument)
{
	Check	   *check = argument;
	const BfGeometry *geometry = check->geometry;

	for (int level = 0; level < geometry->levels; level++)
	{
		uint32		range = ItemPointerGetBlockNumber(&row->tid) / geometry->level[level].pages_per_range;
		BfGroup		group;

		if (range >= geometry->level[level].covered)
			continue;
		bf_index_find_group(geometry, level, range, &group);
		for (int column = 0; column < geometry->columns; column++)
			for (uint32 i = bf_index_first_of(row->items, column); i < row->items->end[column]; i++)
				check_item(check, row, row->items->hashes[i], &group, column, range - group.first_range);
	}
}

/*
 * Does the meta page say, even now, that this range has not begun, that is, that no build and no summarizer has reached
 * it? On a standby the range may have begun since the geometry was read.
 */
static bool
has_not_begun(const Check *check, int level, uint32 range)
{
	return range >= check->geometry->level[level].begun &&
		range >= bf_index_current_geometry(check->index)->level[level].begun;
}

/*
 * Checks that all pages of a group are its filter pages, that the states on them are valid, and that ranges that have
 * not begun are unsummarized there. Raises an error otherwise. A page of a group that was replaced meanwhile is
 * accepted.
 */
static void
check_group(Check *check, const BfGroup *group)
{
	for (int column = 0; column < group->columns; column++)
	{
		BlockNumber start = bf_index_column_start(group, column);

		for (BlockNumber page = 0; page < bf_index_column_pages(group, column); page++)
		{
			Buffer		buffer = bf_index_read_page(check->index, start + page);
			const BfFilterPage *content;
			uint8		states[BF_INDEX_MAX_RANGES];
			bool		bad = false;

			CHECK_FOR_INTERRUPTS();
			LockBuffer(buffer, BUFFER_LOCK_SHARE);
			content = bf_index_filter_page_in_use(check->index, buffer, group, column, page);
			if (content != NULL)
				memcpy(states, content->states, group->ranges);
			else
				memset(states, BF_UNSUMMARIZED, group->ranges);
			UnlockReleaseBuffer(buffer);
			for (uint32 i = 0; i < group->ranges; i++)
				bad |= states[i] > BF_FULL ||
					(states[i] != BF_UNSUMMARIZED && has_not_begun(check, group->level, group->first_range + i));
			if (bad)
				bf_index_report_damage(check->index, start + page, "its content is out of range");
		}
	}
}

/* Raises an error if a page of this group is taken already by another group. Adds the group's pages to *taken. */
static void
check_places(Check *check, const BfGroup *group, Bitmapset **taken)
{
	BlockNumber end = group->first_block + bf_index_group_pages(group);

	for (BlockNumber block = group->first_block; block < end; block++)
	{
		if (block <= INT_MAX && bms_is_member((int) block, *taken))
			bf_index_report_damage(check->index, block, "it belongs to two groups");
		if (block <= INT_MAX)
			*taken = bms_add_member(*taken, (int) block);
	}
}

static void
check_pages(Check *check)
{
	const BfGeometry *geometry = check->geometry;
	Bitmapset  *taken = NULL;

	for (int level = 0; level < geometry->levels; level++)
	{
		BfGroup		group;

		for (uint32 range = 0; range < geometry->level[level].covered; range = group.first_range + group.ranges)
		{
			bf_index_find_group(geometry, level, range, &group);
			check_places(check, &group, &taken);
			check_group(check, &group);
		}
	}
	bms_free(taken);
}

SB_FUNCTION(bf_index_check);
Datum
bf_index_check(PG_FUNCTION_ARGS)
{
	/* On a primary the lock keeps summarizers out. Rows may be written meanwhile. */
	LOCKMODE	mode = RecoveryInProgress() ? AccessShareLock : ShareUpdateExclusiveLock;
	Check		check;
	BfHeapReader *reader;
	Snapshot	snapshot;
	BlockNumber heap_blocks;
	BfCaller	who_calls;
	double		rows;

	check.index = bf_index_open(PG_GETARG_OID(0), BF_TO_CHECK, mode, &check.heap);
	refuse_invalid(check.index);
	bf_index_become_owner(check.heap, &who_calls);
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	check.viewer = (BfViewer) {.snapshot = snapshot};
	check.geometry = bf_index_copy_geometry(bf_index_current_geometry(check.index));
	heap_blocks = RelationGetNumberOfBlocks(check.heap);
	check_pages(&check);
	reader = bf_index_open_heap(check.heap, check.index, false);
	for (BlockNumber block = 0; block < heap_blocks; block++)
		bf_index_read_committed_rows(reader, block, snapshot, check_row, &check);
	rows = bf_index_reader_rows(reader);
	bf_index_close_heap(reader);
	UnregisterSnapshot(snapshot);
	bf_index_become_caller(&who_calls);
	bf_index_close(check.index, check.heap, mode);
	PG_RETURN_INT64((int64) rows);
}

/* ------------------------------------------------------------- bf_index_stats */

/* Statistics of one column on one level. */
typedef struct ColumnStats
{
	int64		pages;
	uint64		bits;			/* bits of all summarized ranges */
	uint64		bits_set;
	double		rates;			/* the sum of these ranges' rates, each the mean of its lines' rates */
	int64		of[BF_FULL + 1];	/* how many ranges have each state, on the column's first page in their group */
	int64		first_full;		/* the first block of the first range that is full; -1: none is */
} ColumnStats;

/* Measures all pages of a column on a level. Only ranges whose number is less than ranges_in_heap count. */
static void
measure_column(Relation index, const BfGeometry *geometry, int level, int column, uint32 ranges_in_heap,
			   ColumnStats *stats)
{
	const BfLevel *in = &geometry->level[level];
	const int	hashes = bf_index_parameters(geometry, level, column)->hashes;
	BfGroup		group;

	*stats = (ColumnStats) {.first_full = -1};
	for (uint32 number = 0; number < in->covered; number = group.first_range + group.ranges)
	{
		BfRangeMeasure ranges[BF_INDEX_MAX_RANGES] = {{0}};
		uint8		states[BF_INDEX_MAX_RANGES];
		BlockNumber pages;

		bf_index_find_group(geometry, level, number, &group);
		pages = bf_index_column_pages(&group, column);
		bf_index_read_states(index, &group, column, states);
		for (BlockNumber page = 0; page < pages; page++)
			bf_index_measure_page(index, &group, column, page, hashes, ranges);
		for (uint32 i = 0; i < group.ranges && group.first_range + i < ranges_in_heap; i++)
		{
			stats->bits += ranges[i].lines * SB_BF_LINE * 8;
			stats->bits_set += ranges[i].bits_set;
			stats->rates += ranges[i].rates / group.lines[column];
			stats->of[Min(states[i], BF_FULL)]++;
			if (states[i] == BF_FULL && stats->first_full < 0)
				stats->first_full = (int64) (group.first_range + i) * in->pages_per_range;
		}
		stats->pages += pages;
	}
	if (ranges_in_heap > in->covered)
		stats->of[BF_UNSUMMARIZED] += ranges_in_heap - in->covered;
}

/* Puts the rows of one level into the result. */
static void
put_level(ReturnSetInfo *set, Relation index, const BfGeometry *geometry, int level, BlockNumber heap_blocks)
{
	uint32		ranges = level == 0 ? bf_index_expected_ranges(geometry, heap_blocks) :
		bf_index_ranges_of(geometry, level, heap_blocks);

	for (int column = 0; column < geometry->columns; column++)
	{
		const BfParameters *parameters = bf_index_parameters(geometry, level, column);
		Datum		values[15];
		bool		nulls[15] = {false};
		int			i = 0;
		ColumnStats stats;

		measure_column(index, geometry, level, column, ranges, &stats);
		values[i++] = CStringGetTextDatum(NameStr(TupleDescAttr(RelationGetDescr(index), column)->attname));
		values[i++] = Int32GetDatum(level);
		nulls[i] = geometry->level[level].pages_per_range == 0;
		values[i++] = Int32GetDatum(geometry->level[level].pages_per_range);
		values[i++] = Int64GetDatum(stats.of[BF_UNSUMMARIZED] + stats.of[BF_PLACEHOLDER] + stats.of[BF_SUMMARIZED] +
									stats.of[BF_FULL]);
		values[i++] = Int64GetDatum(stats.of[BF_SUMMARIZED]);
		values[i++] = Int64GetDatum(stats.of[BF_PLACEHOLDER]);
		values[i++] = Int64GetDatum(stats.of[BF_UNSUMMARIZED]);
		values[i++] = Int32GetDatum(geometry->level[level].groups);
		values[i++] = Int64GetDatum(stats.pages);
		values[i++] = Int32GetDatum(parameters->hashes);
		nulls[i] = nulls[i + 2] = stats.bits == 0;
		values[i++] = Float8GetDatum((double) stats.bits_set / Max(stats.bits, 1));
		values[i++] = Float8GetDatum(parameters->false_positive_rate);
		values[i++] = Float8GetDatum(stats.rates / Max(stats.of[BF_SUMMARIZED], 1));
		values[i++] = Int64GetDatum(stats.of[BF_FULL]);
		nulls[i] = stats.first_full < 0;
		values[i++] = Int64GetDatum(stats.first_full);
		tuplestore_putvalues(set->setResult, set->setDesc, values, nulls);
	}
}

SB_FUNCTION(bf_index_stats);
Datum
bf_index_stats(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *set = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	heap,
				index;
	BfGeometry *geometry;
	BlockNumber heap_blocks;

	begin_rows(fcinfo);
	index = bf_index_open(PG_GETARG_OID(0), BF_TO_READ, AccessShareLock, &heap);
	refuse_invalid(index);
	heap_blocks = RelationGetNumberOfBlocks(heap);
	geometry = bf_index_copy_geometry(bf_index_current_geometry(index));
	for (int level = 0; level < Max(geometry->levels, 1); level++)
		put_level(set, index, geometry, level, heap_blocks);
	bf_index_close(index, heap, AccessShareLock);
	return (Datum) 0;
}

/* -------------------------------------------------------------------- bf_of */

/*
 * Raises an error unless the index has all rows that the snapshot sees. The planner passes over indexes that are not
 * valid, or too new for the transaction (get_relation_info()); here the user has chosen the index.
 */
static void
refuse_if_rows_may_be_missing(Relation index, Snapshot snapshot)
{
	refuse_invalid(index);
	if (!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is partial", RelationGetRelationName(index)),
				 errdetail("Its filters lack the rows for which its predicate is not true."),
				 errhint("Make the filter with bf_agg() and a WHERE clause.")));
	if (index->rd_index->indcheckxmin &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data), TransactionXmin))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is too new for this transaction", RelationGetRelationName(index)),
				 errdetail("It lacks rows that transactions older than it may see."),
				 errhint("Try again when all transactions that are older than the index have ended.")));
	if (snapshot->snapshot_type != SNAPSHOT_MVCC)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" cannot be used with a snapshot of this kind", RelationGetRelationName(index)),
				 errdetail("Only the snapshot of a query tells which rows the filters may lack."),
				 errhint("Call bf_of() in a query of its own.")));
}

/*
 * Adds the lines of one range of a group to those of a bf value. Returns false if there is a page on which the range
 * is not summarized. Raises an error if the snapshot may see rows that a page lacks.
 *
 * The pages are read one after the other, and in the meantime rows are written and ranges summarized. This does no
 * harm: an item has all its bits on one page, and what this page says under its lock holds for the snapshot, whatever
 * other pages say (README.md).
 */
static bool
add_lines_of_range(Relation index, const BfGroup *group, int column, uint32 range, BfViewer *viewer, unsigned char *to)
{
	BlockNumber start = bf_index_column_start(group, column);
	bool		summarized = true;

	for (uint32 page = 0; page < bf_index_column_pages(group, column) && summarized; page++)
	{
		Buffer		buffer;
		BfFilterPage *content;

		CHECK_FOR_INTERRUPTS();
		buffer = bf_index_read_page(index, start + page);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		sb_test_for_old_snapshot(viewer->snapshot, index, BufferGetPage(buffer));
		content = bf_index_filter_page_in_use(index, buffer, group, column, page);
		summarized = content != NULL && content->states[range] == BF_SUMMARIZED;
		if (summarized && bf_index_is_before_horizon(viewer, content))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("index \"%s\" lacks rows that this query's snapshot may see",
							RelationGetRelationName(index)),
					 errdetail("The rows were deleted and then left out of a summary, but this snapshot is older than their deletion."),
					 errhint("Try again in a new transaction, or when all older transactions have ended.")));
		for (uint32 position = 0; summarized && position < group->positions; position++)
		{
			const unsigned char *from = bf_index_line(content, position, range);
			unsigned char *line = to + (size_t) (page * group->positions + position) * SB_BF_LINE;

			for (int i = 0; i < SB_BF_LINE; i++)
				line[i] |= from[i];
		}
		UnlockReleaseBuffer(buffer);
	}
	return summarized;
}

/*
 * Unites the filters of the ranges of a level from `first` to `end` (exclusive) into a bf value. The result is 0 if
 * there are no ranges, or if one of them has no group or is not summarized. Raises an error if the filters have
 * different sizes.
 */
static Datum
unite_ranges(Relation index, const BfGeometry *geometry, int level, int column, uint64 first, uint64 end,
			 BfViewer *viewer)
{
	const BfParameters *parameters = bf_index_parameters(geometry, level, column);
	BfItemizer	itemizer;
	sb_bf		header = {0};
	unsigned char *lines = NULL;
	Datum		result = (Datum) 0;

	if (end > geometry->level[level].covered)
		return (Datum) 0;
	bf_index_prepare_itemizer(index, &itemizer, CurrentMemoryContext);
	for (uint64 range = first; range < end; range++)
	{
		BfGroup		group;

		bf_index_find_group(geometry, level, range, &group);
		if (result == (Datum) 0)
		{
			header.kind = *item_kind(itemizer.column[column].hasher);
			header.line_count = group.lines[column];
			header.hash_count = parameters->hashes;
			header.fpr = parameters->false_positive_rate;
			result = bf_make(&header, &lines);
		}
		if (group.lines[column] != header.line_count)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("the ranges of index \"%s\" have filters of different sizes",
							RelationGetRelationName(index)),
					 errhint("Give the block of a range, or make the filter of the whole table with bf_agg().")));
		if (!add_lines_of_range(index, &group, column, range - group.first_range, viewer, lines))
			return (Datum) 0;
	}
	return result;
}

SB_FUNCTION(bf_of);
Datum
bf_of(PG_FUNCTION_ARGS)
{
	Relation	heap,
				index;
	BfGeometry *geometry;
	int32		column = PG_ARGISNULL(2) ? 1 : PG_GETARG_INT32(2);
	int			level = PG_ARGISNULL(3) ? 0 : bf_index_level_argument(PG_GETARG_INT32(3));
	uint64		first = 0,
				end;
	BfViewer	viewer = {.snapshot = GetActiveSnapshot()};
	Datum		result;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	index = bf_index_open(PG_GETARG_OID(0), BF_TO_READ, AccessShareLock, &heap);
	refuse_if_rows_may_be_missing(index, viewer.snapshot);
	/* The lock that a scan of the index would take: every later insertion of a row checks it. */
	PredicateLockRelation(index, viewer.snapshot);
	geometry = bf_index_copy_geometry(bf_index_current_geometry(index));
	if (column < 1 || column > geometry->columns)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("index \"%s\" has no column %d", RelationGetRelationName(index), column),
				 errhint("Its columns are numbered from 1 to %d.", geometry->columns)));
	end = bf_index_ranges_of(geometry, level, RelationGetNumberOfBlocks(heap));
	if (!PG_ARGISNULL(1))
	{
		first = bf_index_block_argument(PG_GETARG_INT64(1)) / Max(geometry->level[level].pages_per_range, 1);
		end = Min(end, first + 1);
	}
	result = unite_ranges(index, geometry, level, column - 1, first, end, &viewer);
	bf_index_close(index, heap, AccessShareLock);
	if (result == (Datum) 0)
		PG_RETURN_NULL();
	return result;
}
