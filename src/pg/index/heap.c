/*
 * heap.c: reads the heap for the index: the row versions that some snapshot may still see.
 *
 * PostgreSQL's own table_index_build_range_scan() cannot be used for this. It leaves out recently dead versions of
 * rows that were updated by HOT. If the index is summarizing (PostgreSQL 16 and later), the values of such a version
 * may differ from those of the new version. A snapshot that still sees the old version would lose it.
 *
 * Some versions are left out although a snapshot may still see them (leave_out()). For example, versions that are dead
 * to every snapshot of this server may still be seen by a snapshot of a standby, but their out-of-line values may be
 * gone. The reader's horizons say which snapshots may still see versions that were left out.
 */
#include "index/heap_reader.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/partition.h"
#include "catalog/pg_index.h"
#include "commands/vacuum.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/bufpage.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "base/call.h"
#include "base/memory.h"
#include "index/horizon.h"
#include "index/items.h"

/* -------------------------------------------------------------------- the reader */

void
bf_index_check_table(Relation heap)
{
	if (heap->rd_tableam != GetHeapamTableAmRoutine())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("access method \"bf\" does not support table \"%s\"", RelationGetRelationName(heap)),
				 errdetail("It reads pages of the table access method \"heap\" only."),
				 errhint("ALTER TABLE ... SET ACCESS METHOD heap makes it such a table. A B-tree index needs no such change.")));
}

/* The tree of expressions in this column of the index's row in pg_index, or NULL. */
static Node *
catalog_tree(Relation index, AttrNumber column)
{
	bool		isnull;
	Datum		tree = SysCacheGetAttr(INDEXRELID, index->rd_indextuple, column, &isnull);

	return isnull ? NULL : stringToNode(TextDatumGetCString(tree));
}

/*
 * The columns, expressions and predicate of the index, to be prepared after bf_index_become_owner(). The relation cache
 * has trees of the expressions too, but with SQL functions inlined already. The bodies of these functions were parsed
 * under whatever search_path the session had at that moment. The trees of the catalog are prepared (and inlined) by the
 * executor only then.
 */
static IndexInfo *
info_for_owner(Relation index)
{
	IndexInfo  *info = BuildIndexInfo(index);

	info->ii_Expressions = (List *) catalog_tree(index, Anum_pg_index_indexprs);
	info->ii_Predicate = make_ands_implicit((Expr *) catalog_tree(index, Anum_pg_index_indpred));
	return info;
}

/* Has the index expressions or a predicate, so that user-defined code may run for each row? */
static bool
runs_code(Relation index)
{
	return !heap_attisnull(index->rd_indextuple, Anum_pg_index_indexprs, NULL) ||
		!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);
}

BfHeapReader *
bf_index_open_heap(Relation heap, Relation index, bool is_for_summary)
{
	BfHeapReader *reader = palloc0(sizeof(BfHeapReader));
	ExprContext *context;

	bf_index_check_table(heap);
	reader->heap = heap;
	reader->info = info_for_owner(index);
	reader->runs_code = runs_code(index);
	reader->is_for_summary = is_for_summary;
	reader->attributes = bf_index_needed_attributes(reader->info);
	reader->index_name = pstrdup(RelationGetRelationName(index));
	reader->estate = CreateExecutorState();
	reader->slot = MakeSingleTupleTableSlot(RelationGetDescr(heap), &TTSOpsHeapTuple);
	context = GetPerTupleExprContext(reader->estate);
	context->ecxt_scantuple = reader->slot;
	reader->predicate = ExecPrepareQual(reader->info->ii_Predicate, reader->estate);
	reader->strategy = GetAccessStrategy(BAS_BULKREAD);
	reader->oldest_xmin = GetOldestNonRemovableTransactionId(heap);
	bf_index_prepare_itemizer(index, &reader->itemizer, CurrentMemoryContext);
	bf_index_begin_items(&reader->items, reader->itemizer.columns, CurrentMemoryContext);
	return reader;
}

void
bf_index_close_heap(BfHeapReader *reader)
{
	ExecDropSingleTupleTableSlot(reader->slot);
	FreeExecutorState(reader->estate);
	FreeAccessStrategy(reader->strategy);
	pfree(reader->items.hashes);
	bf_index_release_sets(reader);
	pfree(reader);
}

BfHorizons
bf_index_reader_horizons(const BfHeapReader *reader)
{
	return reader->horizons;
}

void
bf_index_forget_horizons(BfHeapReader *reader)
{
	reader->horizons = (BfHorizons) {0};
}

void
bf_index_raise_horizons(BfHeapReader *reader, BfHorizons horizons)
{
	reader->horizons = bf_index_greater_horizons(reader->horizons, horizons);
}

TransactionId
bf_index_oldest_xmin(const BfHeapReader *reader)
{
	return reader->oldest_xmin;
}

void
bf_index_share_oldest_xmin(BfHeapReader *reader, TransactionId oldest_xmin)
{
	reader->oldest_xmin = oldest_xmin;
}

double
bf_index_reader_live_rows(const BfHeapReader *reader)
{
	return reader->live_rows;
}

double
bf_index_reader_rows(const BfHeapReader *reader)
{
	return reader->rows;
}

void
bf_index_forget_rows(BfHeapReader *reader)
{
	reader->live_rows = reader->rows = 0;
}

void
bf_index_add_rows(BfHeapReader *reader, double live_rows, double rows)
{
	reader->live_rows += live_rows;
	reader->rows += rows;
}

/* ------------------------------------------------------------------ one page */

/*
 * Sets *tuple to the row version at a normal line pointer of a page of the heap, or of a copy of the page. The row's
 * bytes are not copied.
 */
static void
get_tuple(Relation heap, Page page, BlockNumber block, OffsetNumber offset, HeapTuple tuple)
{
	ItemId		item = PageGetItemId(page, offset);

	tuple->t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple->t_len = ItemIdGetLength(item);
	tuple->t_tableOid = RelationGetRelid(heap);
	ItemPointerSet(&tuple->t_self, block, offset);
}

/*
 * Copies a page of the heap, and finds out under its lock who may still see each of its row versions. The values are
 * looked at later, without the lock.
 */
static void
read_page(BfHeapReader *reader, BlockNumber block)
{
	Buffer		buffer;
	Page		page;

	sb_vacuum_delay_point();
	reader->count = 0;
	buffer = ReadBufferExtended(reader->heap, MAIN_FORKNUM, block, RBM_NORMAL, reader->strategy);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	if (!PageIsNew(page))
	{
		OffsetNumber last = PageGetMaxOffsetNumber(page);

		for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
		{
			HeapTupleData tuple;

			/*
			 * A version that was pruned is gone. A standby replays the pruning before it replays the summary, and
			 * ends the snapshots that see the version, or waits for them.
			 */
			if (!ItemIdIsNormal(PageGetItemId(page, offset)))
				continue;
			get_tuple(reader->heap, page, block, offset, &tuple);
			reader->offsets[reader->count] = offset;
			reader->visibilities[reader->count++] = HeapTupleSatisfiesVacuum(&tuple, reader->oldest_xmin, buffer);
		}
		memcpy(reader->page.data, page, BLCKSZ);
		reader->bytes += BLCKSZ - SizeOfPageHeaderData - PageGetExactFreeSpace(page);
	}
	UnlockReleaseBuffer(buffer);
}

/*
 * The horizon for a deleted row version: a snapshot whose xmin is this full transaction id or greater does not see
 * it.
 */
static uint64
after_deletion(HeapTupleHeader header)
{
	return bf_index_full_xid(HeapTupleHeaderGetUpdateXid(header)) + 1;
}

/*
 * Is this version deleted, and does it stay deleted as long as the index exists?
 *
 * - It does if its deleter has committed.
 * - If this very transaction has deleted it and now makes the index, it does too: a rollback that brings the version
 *   back also takes back the index, which was made later. In a check such a version is treated in the same way,
 *   because the index may have been made without it.
 */
static bool
deleted_for_good(const BfHeapReader *reader, HeapTuple tuple, HTSV_Result visibility)
{
	return visibility == HEAPTUPLE_RECENTLY_DEAD ||
		(visibility == HEAPTUPLE_DELETE_IN_PROGRESS &&
		 !reader->is_for_summary && TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(tuple->t_data)));
}

/* Is this version left out? If so, the horizons are raised for the snapshots that may see it. */
static bool
leave_out(BfHeapReader *reader, HeapTuple tuple, HTSV_Result visibility)
{
	if (visibility == HEAPTUPLE_DEAD)
	{
		/*
		 * No snapshot of this server sees a dead version, whatever transactions are running. If the transaction that
		 * inserted the version was rolled back, no snapshot of a standby sees it either.
		 */
		if (!HeapTupleHeaderXminInvalid(tuple->t_data))
			bf_index_raise_horizons(reader, (BfHorizons) {.standby = after_deletion(tuple->t_data)});
		return true;
	}
	/*
	 * A deleted version is left out in two cases. First, if the index has expressions or a predicate: the row may have
	 * been deleted because an expression fails on it, and then it must not keep the index from being built, summarized
	 * or checked. Second, if the index needs an out-of-line value of it: the version may become dead to all snapshots
	 * at any time, and then the value is removed, perhaps before it is read here.
	 */
	if ((reader->runs_code && deleted_for_good(reader, tuple, visibility)) ||
		(visibility == HEAPTUPLE_RECENTLY_DEAD && bf_index_needs_out_of_line_value(reader, tuple)))
	{
		bf_index_raise_horizons(reader, (BfHorizons) {.all = after_deletion(tuple->t_data)});
		return true;
	}
	return false;
}

/* ---------------------------------------------------------------------- a row */

/* Adds the index and the row version to the context of an error. */
static void
add_error_context(void *argument)
{
	const BfHeapReader *reader = argument;

	if (reader->evaluating)
		errcontext("row version (%u,%u) of table \"%s\" for index \"%s\"",
				   ItemPointerGetBlockNumberNoCheck(&reader->at), ItemPointerGetOffsetNumberNoCheck(&reader->at),
				   RelationGetRelationName(reader->heap), reader->index_name);
}

/*
 * Finds the items of a row version in all columns. Returns false if the version is not in the index, because the
 * index's predicate is not true for it or because the version is gone by now. The memory that this takes is freed
 * when the next row is read, except that of reader->items.
 */
static bool
find_items(BfHeapReader *reader, HeapTuple tuple)
{
	ErrorContextCallback callback = {.previous = error_context_stack, .callback = add_error_context, .arg = reader};
	MemoryContext caller;
	bool		entered;

	ResetPerTupleExprContext(reader->estate);
	caller = MemoryContextSwitchTo(GetPerTupleMemoryContext(reader->estate));
	reader->at = tuple->t_self;
	reader->evaluating = true;
	error_context_stack = &callback;
	ExecStoreHeapTuple(tuple, reader->slot, false);
	entered = bf_index_fetch_values(reader, tuple) &&
		ExecQual(reader->predicate, GetPerTupleExprContext(reader->estate));
	if (entered)
	{
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		FormIndexDatum(reader->info, reader->slot, reader->estate, values, isnull);
		bf_index_itemize(&reader->itemizer, values, isnull, &reader->items);
	}
	error_context_stack = callback.previous;
	reader->evaluating = false;
	MemoryContextSwitchTo(caller);
	return entered;
}

/* ------------------------------------------------------------------ all rows */

/*
 * Does the row version count among the table's rows, once this transaction has committed? PostgreSQL writes the number
 * into pg_class when the index is built, and its own access methods count in the same way.
 */
static bool
is_live(HeapTupleHeader header, HTSV_Result visibility)
{
	switch (visibility)
	{
		case HEAPTUPLE_LIVE:
			return true;
		case HEAPTUPLE_INSERT_IN_PROGRESS:
			return TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(header));
		case HEAPTUPLE_DELETE_IN_PROGRESS:
			return !TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(header));
		default:
			return false;
	}
}

/* Calls add() for row version `i` of the page that was read, unless it is left out or does not belong in the index. */
static void
visit_row(BfHeapReader *reader, BlockNumber block, int i, void (*add) (const BfRowItems *items, void *argument),
		  void *argument)
{
	HTSV_Result visibility = reader->visibilities[i];
	HeapTupleData tuple;

	get_tuple(reader->heap, reader->page.data, block, reader->offsets[i], &tuple);
	if (is_live(tuple.t_data, visibility))
		reader->live_rows++;
	if (leave_out(reader, &tuple, visibility) || !find_items(reader, &tuple))
		return;
	add(&reader->items, argument);
	reader->rows++;
}

void
bf_index_read_rows(BfHeapReader *reader, BlockNumber first, BlockNumber end,
				   void (*add) (const BfRowItems *items, void *argument), void *argument)
{
	for (BlockNumber block = first; block < end; block++)
	{
		read_page(reader, block);
		for (int i = 0; i < reader->count; i++)
			visit_row(reader, block, i, add, argument);
	}
	ExecClearTuple(reader->slot);
}

/* ------------------------------------------------------------------ checking */

/* Had the transaction that inserted this version committed when the snapshot was taken? */
static bool
was_committed(HeapTupleHeader header, Snapshot snapshot)
{
	TransactionId xmin = HeapTupleHeaderGetXmin(header);

	/* the hint bit may be missing after an asynchronous commit */
	return HeapTupleHeaderXminFrozen(header) ||
		(!XidInMVCCSnapshot(xmin, snapshot) && (HeapTupleHeaderXminCommitted(header) || TransactionIdDidCommit(xmin)));
}

void
bf_index_read_committed_rows(BfHeapReader *reader, BlockNumber block, Snapshot snapshot,
							 void (*check) (const BfRow *row, void *argument), void *argument)
{
	read_page(reader, block);
	for (int i = 0; i < reader->count; i++)
	{
		HTSV_Result visibility = reader->visibilities[i];
		HeapTupleData tuple;
		BfRow		row;

		get_tuple(reader->heap, reader->page.data, block, reader->offsets[i], &tuple);
		if (visibility == HEAPTUPLE_INSERT_IN_PROGRESS || leave_out(reader, &tuple, visibility) ||
			!was_committed(tuple.t_data, snapshot))
			continue;
		if (!find_items(reader, &tuple))
			continue;
		row.tid = tuple.t_self;
		row.items = &reader->items;
		row.deleted_by = 0;
		if (visibility == HEAPTUPLE_RECENTLY_DEAD)
			row.deleted_by = bf_index_full_xid(HeapTupleHeaderGetUpdateXid(tuple.t_data));
		check(&row, argument);
		reader->rows++;
	}
	ExecClearTuple(reader->slot);
}

/* ------------------------------------------------------------- expressions and predicate */

/*
 * They run as the owner of the table, whoever builds, summarizes or checks the index. They are the owner's code, so
 * they must not run with the rights of, say, a superuser who calls VACUUM. README.md has the details.
 */
void
bf_index_become_owner(Relation heap, BfCaller *caller)
{
	GetUserIdAndSecContext(&caller->user, &caller->security);
	SetUserIdAndSecContext(heap->rd_rel->relowner, caller->security | SECURITY_RESTRICTED_OPERATION);
	caller->guc_level = NewGUCNestLevel();
	sb_restrict_search_path();
}

void
bf_index_become_caller(const BfCaller *caller)
{
	AtEOXact_GUC(false, caller->guc_level);
	SetUserIdAndSecContext(caller->user, caller->security);
}
