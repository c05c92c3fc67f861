/*
 * heap.c: reads the heap for the index: every row version that some snapshot may still see.
 *
 * PostgreSQL's own table_index_build_range_scan() cannot be used for this. It leaves out recently dead versions of
 * rows that were updated by HOT. If the index is summarizing (PostgreSQL 16 and later), the values of such a version
 * differ from those of the new version. A snapshot that still sees the old version would lose it.
 *
 * Versions that are dead to every snapshot of this server may still be seen by a snapshot of a standby. They are left
 * out, because their out-of-line values may be gone. The reader's horizon says which snapshots may miss them.
 */
#include "index/heap.h"

#include <math.h>

#include "access/detoast.h"
#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/toast_internals.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/partition.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "base/call.h"
#include "base/memory.h"
#include "index/horizon.h"
#include "index/items.h"
#include "index/owner.h"

struct BfHeapReader
{
	Relation	heap;
	IndexInfo  *info;
	EState	   *estate;
	ExprState  *predicate;
	TupleTableSlot *slot;
	BufferAccessStrategy strategy;
	TransactionId oldest_xmin;
	BfItemizer	itemizer;
	BfRowItems	items;			/* of the row that was looked at last */
	bool		runs_code;		/* the index has expressions or a predicate */
	BfReadFor	purpose;
	Bitmapset  *attributes;		/* columns that the index needs, as pull_varattnos() counts them */
	uint64		horizon;
	double		live_rows;
	double		rows;
	uint64		bytes;			/* in use on the pages that were read */
	sb_hash_set sets[INDEX_MAX_KEYS];	/* of the range being read; empty between ranges */

	/* for the context lines of errors */
	const char *index_name;
	const char *drop_command;	/* the command after which VACUUM finishes; NULL if this is not VACUUM */
	bool		evaluating;		/* a row is being looked at, this one: */
	ItemPointerData at;

	/* the page that was read last */
	PGAlignedBlock page;
	int			count;
	OffsetNumber offsets[MaxHeapTuplesPerPage];
	HTSV_Result visibilities[MaxHeapTuplesPerPage];
};

/* Which columns of the table the index needs. */
static Bitmapset *
needed_attributes(const IndexInfo *info)
{
	Bitmapset  *attributes = NULL;

	for (int i = 0; i < info->ii_NumIndexKeyAttrs; i++)
		if (info->ii_IndexAttrNumbers[i] != 0)
			attributes = bms_add_member(attributes, info->ii_IndexAttrNumbers[i] - FirstLowInvalidHeapAttributeNumber);
	pull_varattnos((Node *) info->ii_Expressions, 1, &attributes);
	pull_varattnos((Node *) info->ii_Predicate, 1, &attributes);
	return attributes;
}

/* -------------------------------------------------------------------- the reader */

/*
 * The command that removes the index. An index that belongs to one of a partitioned table can only be dropped with
 * that.
 */
static const char *
drop_command(Relation index)
{
	Oid			oid = RelationGetRelid(index);

	if (index->rd_rel->relispartition)
		oid = llast_oid(get_partition_ancestors(oid));
	return psprintf("DROP INDEX %s",
					quote_qualified_identifier(get_namespace_name(get_rel_namespace(oid)), get_rel_name(oid)));
}

BfHeapReader *
bf_index_open_heap(Relation heap, Relation index, BfReadFor purpose)
{
	BfHeapReader *reader = palloc0(sizeof(BfHeapReader));
	ExprContext *context;

	if (heap->rd_tableam != GetHeapamTableAmRoutine())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("access method \"bf\" does not support table \"%s\"", RelationGetRelationName(heap)),
				 errdetail("It reads pages of the table access method \"heap\" only.")));
	reader->heap = heap;
	reader->info = bf_index_info_for_owner(index);
	reader->runs_code = bf_index_runs_code(index);
	reader->purpose = purpose;
	reader->attributes = needed_attributes(reader->info);
	reader->index_name = pstrdup(RelationGetRelationName(index));
	/* It is made now, because nothing can be looked up any more after an error. */
	if (purpose == BF_FOR_VACUUM && reader->runs_code)
		reader->drop_command = drop_command(index);
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
	sb_memory	memory = memory_in(GetMemoryChunkContext(reader));

	ExecDropSingleTupleTableSlot(reader->slot);
	FreeExecutorState(reader->estate);
	FreeAccessStrategy(reader->strategy);
	pfree(reader->items.hashes);
	for (int column = 0; column < reader->itemizer.columns; column++)
		if (reader->sets[column].slots != NULL)
			sb_hash_set_release(&reader->sets[column], &memory);
	pfree(reader);
}

uint64
bf_index_reader_horizon(const BfHeapReader *reader)
{
	return reader->horizon;
}

void
bf_index_raise_horizon(BfHeapReader *reader, uint64 horizon)
{
	reader->horizon = Max(reader->horizon, horizon);
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

/* Row version `i` of the page that was read. */
static void
get_tuple(BfHeapReader *reader, BlockNumber block, int i, HeapTuple tuple)
{
	bf_index_get_tuple(reader->heap, (Page) reader->page.data, block, reader->offsets[i], tuple);
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

	CHECK_FOR_INTERRUPTS();
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
			 * A version that was pruned is gone. A standby has ended or waited for snapshots that saw it when it
			 * replayed that.
			 */
			if (!ItemIdIsNormal(PageGetItemId(page, offset)))
				continue;
			bf_index_get_tuple(reader->heap, page, block, offset, &tuple);
			reader->offsets[reader->count] = offset;
			reader->visibilities[reader->count++] = HeapTupleSatisfiesVacuum(&tuple, reader->oldest_xmin, buffer);
		}
		memcpy(reader->page.data, page, BLCKSZ);
		reader->bytes += BLCKSZ - SizeOfPageHeaderData - PageGetExactFreeSpace(page);
	}
	UnlockReleaseBuffer(buffer);
}

/* The first full transaction id whose snapshots surely do not see this deleted row version. */
static uint64
after_deletion(HeapTupleHeader header)
{
	return bf_index_full_xid(HeapTupleHeaderGetUpdateXid(header)) + 1;
}

/*
 * Is this version deleted, and does it stay deleted as long as the index exists? This is so if its deleter has
 * committed. It is also so if this very transaction has deleted it and now makes the index: a rollback that brings
 * the version back also takes back the index, which was made later.
 */
static bool
deleted_for_good(const BfHeapReader *reader, HeapTuple tuple, HTSV_Result visibility)
{
	return visibility == HEAPTUPLE_RECENTLY_DEAD ||
		(visibility == HEAPTUPLE_DELETE_IN_PROGRESS &&
		 (reader->purpose == BF_FOR_BUILD || reader->purpose == BF_FOR_CHECK) &&
		 TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(tuple->t_data)));
}

/* Is this version left out? If so, the horizon is raised for the snapshots that may see it. */
static bool
leave_out(BfHeapReader *reader, HeapTuple tuple, HTSV_Result visibility)
{
	if (visibility == HEAPTUPLE_DEAD)
	{
		/* a version whose inserter was rolled back is seen by no snapshot of any server */
		if (!HeapTupleHeaderXminInvalid(tuple->t_data))
			reader->horizon = Max(reader->horizon, after_deletion(tuple->t_data));
		return true;
	}
	/*
	 * A deleted version may become dead to all snapshots at any time, and then its out-of-line values are removed,
	 * perhaps before they are read here. Also, a row may have been deleted because an expression of the index fails
	 * on it; then it must not keep the index from being built, summarized or checked.
	 */
	if ((visibility == HEAPTUPLE_RECENTLY_DEAD && HeapTupleHasExternal(tuple)) ||
		(reader->runs_code && deleted_for_good(reader, tuple, visibility)))
	{
		reader->horizon = Max(reader->horizon, after_deletion(tuple->t_data));
		return true;
	}
	return false;
}

/* ---------------------------------------------------------- out-of-line values */

/*
 * Reads an out-of-line value as it is stored; it may be compressed. The result is NULL if parts of the value are
 * missing; PostgreSQL's heap_fetch_toast_slice() would raise an error then.
 */
static struct varlena *
fetch_if_there(struct varlena *value)
{
	struct varatt_external pointer;
	Relation	toast;
	Relation   *indexes;
	int			index_count,
				valid_index;
	SnapshotData any = {.snapshot_type = SNAPSHOT_TOAST};
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;
	struct varlena *result;
	Size		size,
				have = 0;
	int32		next = 0;
	bool		whole = true;

	VARATT_EXTERNAL_GET_POINTER(pointer, value);
	size = VARATT_EXTERNAL_GET_EXTSIZE(pointer);
	result = palloc(size + VARHDRSZ);
	if (VARATT_EXTERNAL_IS_COMPRESSED(pointer))
		SET_VARSIZE_COMPRESSED(result, size + VARHDRSZ);
	else
		SET_VARSIZE(result, size + VARHDRSZ);

	toast = table_open(pointer.va_toastrelid, AccessShareLock);
	valid_index = toast_open_indexes(toast, AccessShareLock, &indexes, &index_count);
	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(pointer.va_valueid));
	scan = systable_beginscan_ordered(toast, indexes[valid_index], &any, 1, &key);
	while (whole && (tuple = systable_getnext_ordered(scan, ForwardScanDirection)) != NULL)
	{
		bool		isnull;
		int32		number = DatumGetInt32(heap_getattr(tuple, 2, RelationGetDescr(toast), &isnull));
		struct varlena *chunk =
			(struct varlena *) DatumGetPointer(heap_getattr(tuple, 3, RelationGetDescr(toast), &isnull));
		Size		length = VARSIZE_ANY_EXHDR(chunk);

		whole = !VARATT_IS_EXTERNAL(chunk) && !VARATT_IS_COMPRESSED(chunk) && number == next++ && have + length <= size;
		if (whole)
			memcpy(VARDATA(result) + have, VARDATA_ANY(chunk), length);
		have += length;
	}
	systable_endscan_ordered(scan);
	toast_close_indexes(indexes, index_count, NoLock);
	table_close(toast, NoLock);
	return whole && have == size ? result : NULL;
}

/*
 * Has the row version, which was on the page when that was copied, been removed or deleted since? If so, the horizon is
 * raised for the snapshots that may see it.
 */
static bool
has_gone(BfHeapReader *reader, HeapTuple tuple)
{
	OffsetNumber offset = ItemPointerGetOffsetNumber(&tuple->t_self);
	Buffer		buffer = ReadBufferExtended(reader->heap, MAIN_FORKNUM, ItemPointerGetBlockNumber(&tuple->t_self),
											RBM_NORMAL, reader->strategy);
	Page		page = BufferGetPage(buffer);
	bool		gone = true;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (!PageIsNew(page) && offset <= PageGetMaxOffsetNumber(page) && ItemIdIsNormal(PageGetItemId(page, offset)))
	{
		HeapTupleData now = *tuple;
		HTSV_Result visibility;

		now.t_data = (HeapTupleHeader) PageGetItem(page, PageGetItemId(page, offset));
		now.t_len = ItemIdGetLength(PageGetItemId(page, offset));
		visibility = HeapTupleSatisfiesVacuum(&now, reader->oldest_xmin, buffer);
		gone = visibility == HEAPTUPLE_DEAD || visibility == HEAPTUPLE_RECENTLY_DEAD ||
			HeapTupleHeaderGetRawXmin(now.t_data) != HeapTupleHeaderGetRawXmin(tuple->t_data);
	}
	UnlockReleaseBuffer(buffer);
	/* Its deleter may not be known any more, but has committed. */
	if (gone)
		reader->horizon = Max(reader->horizon, U64FromFullTransactionId(ReadNextFullTransactionId()));
	return gone;
}

/*
 * Puts the out-of-line values that the index needs into the slot of a row version. Returns false if the version is
 * gone, and its values with it.
 *
 * This can happen although the version was there when its page was copied. Other processes do not wait for VACUUM's
 * snapshot, so a row that is deleted while VACUUM summarizes may be removed at once. The values of a transaction that
 * is rolled back are removed at once too, whoever summarizes.
 */
static bool
fetch_values(BfHeapReader *reader, HeapTuple tuple)
{
	TupleDesc	descriptor = RelationGetDescr(reader->heap);
	TupleTableSlot *slot = reader->slot;
	bool		whole_row = bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, reader->attributes);

	if (!HeapTupleHasExternal(tuple))
		return true;
	slot_getallattrs(slot);
	for (int i = 0; i < descriptor->natts; i++)
	{
		bool		needed = whole_row || bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, reader->attributes);
		struct varlena *value;

		if (!needed || slot->tts_isnull[i] ||
			TupleDescAttr(descriptor, i)->attisdropped || TupleDescAttr(descriptor, i)->attlen != -1 ||
			!VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(slot->tts_values[i])))
			continue;
		value = fetch_if_there((struct varlena *) DatumGetPointer(slot->tts_values[i]));
		if (value != NULL)
			slot->tts_values[i] = PointerGetDatum(value);
		else if (has_gone(reader, tuple))
			return false;
		/* Otherwise the table is damaged. An error is raised as soon as the value is read. */
	}
	return true;
}

/* ---------------------------------------------------------------------- a row */

/* Does this SQLSTATE mean that an expression has failed? It may also be a notice, or VACUUM may be canceled. */
static bool
is_failure(int code)
{
	return ERRCODE_TO_CATEGORY(code) != ERRCODE_SUCCESSFUL_COMPLETION && ERRCODE_TO_CATEGORY(code) != ERRCODE_WARNING &&
		code != ERRCODE_QUERY_CANCELED && code != ERRCODE_ADMIN_SHUTDOWN;
}

/*
 * Adds to an error for which index and row version it was raised. VACUUM would fail with it each time, so there it
 * also says how the index is removed.
 */
static void
add_error_context(void *argument)
{
	const BfHeapReader *reader = argument;

	if (!reader->evaluating)
		return;
	errcontext("row version (%u,%u) of table \"%s\" for index \"%s\"",
			   ItemPointerGetBlockNumberNoCheck(&reader->at), ItemPointerGetOffsetNumberNoCheck(&reader->at),
			   RelationGetRelationName(reader->heap), reader->index_name);
	if (reader->drop_command != NULL && is_failure(geterrcode()))
		errcontext("VACUUM cannot finish while an expression or predicate of this index fails; to remove the index: %s",
				   reader->drop_command);
}

/*
 * Finds the items of a row version in all columns. Returns false if the version is not in the index, because the
 * index's predicate is not true for it or because the version is gone by now. All memory that this uses is freed with
 * the row, but that of reader->items.
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
	entered = fetch_values(reader, tuple) && ExecQual(reader->predicate, GetPerTupleExprContext(reader->estate));
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

/* ------------------------------------------------------------------ a range */

uint64 *
bf_index_take_set(sb_hash_set *set)
{
	uint64	   *hashes = palloc_extended(Max(set->count, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);

	must_finish(sb_hash_set_take(set, hashes));
	return hashes;
}

/* The number of rows that a range of the default size has, roughly. A set of this size rarely has to grow. */
#define ITEMS_EXPECTED 2048

/* Makes an empty set for each column, unless it was made for an earlier range. */
static void
prepare_sets(BfHeapReader *reader)
{
	sb_memory	memory = memory_in(GetMemoryChunkContext(reader));

	for (int column = 0; column < reader->itemizer.columns; column++)
		if (reader->sets[column].slots == NULL)
			must_finish(sb_hash_set_begin(&reader->sets[column], &memory, ITEMS_EXPECTED));
}

/* Calls add() for row version `i` of the page that was read, unless the version is left out. */
static void
visit_row(BfHeapReader *reader, BlockNumber block, int i, void (*add) (const BfRowItems *items, void *argument),
		  void *argument)
{
	HTSV_Result visibility = reader->visibilities[i];
	HeapTupleData tuple;

	if (visibility == HEAPTUPLE_LIVE || visibility == HEAPTUPLE_DELETE_IN_PROGRESS)
		reader->live_rows++;
	get_tuple(reader, block, i, &tuple);
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

/* Adds the items of a row version to the sets of the reader. */
static void
add_to_sets(const BfRowItems *items, void *argument)
{
	BfHeapReader *reader = argument;
	sb_memory	memory = memory_in(GetMemoryChunkContext(reader));

	for (int column = 0; column < items->columns; column++)
		for (uint32 i = bf_index_first_of(items, column); i < items->end[column]; i++)
			must_finish(sb_hash_set_add(&reader->sets[column], &memory, items->hashes[i]));
}

/*
 * The rows of a range that is not full say how many items it would have if it were. But documents of many kilobytes lie
 * out of line, and a few of them can have as many keys as a whole range of others. So no room is made for more keys
 * than this, or those that are there. Where an item is a value, a range cannot have more items than rows.
 */
#define MOST_KEYS_EXPECTED (1024 * 1024)

void
bf_index_read_range(BfHeapReader *reader, uint32 range, BlockNumber pages_per_range, BlockNumber heap_blocks,
					BfRangeItems *items)
{
	uint64		first = (uint64) range * pages_per_range;
	uint64		end = Min(first + pages_per_range, heap_blocks);
	uint64		horizon_before = reader->horizon;

	items->range = range;
	items->columns = reader->itemizer.columns;
	items->full = first + pages_per_range <= heap_blocks;
	items->most_expected = Max(MOST_KEYS_EXPECTED, (uint64) pages_per_range * MaxHeapTuplesPerPage);
	prepare_sets(reader);
	reader->bytes = 0;
	reader->horizon = 0;
	if (first < end)
		bf_index_read_rows(reader, first, end, add_to_sets, reader);
	items->horizon = reader->horizon;
	reader->horizon = Max(reader->horizon, horizon_before);
	items->share = Min(1, reader->bytes / ((double) pages_per_range * (BLCKSZ - SizeOfPageHeaderData)));
	for (int column = 0; column < items->columns; column++)
	{
		items->counts[column] = reader->sets[column].count;
		items->hashes[column] = bf_index_take_set(&reader->sets[column]);
	}
}

uint64
bf_index_items_if_full(const BfRangeItems *items, int column)
{
	uint64		if_full;

	if (items->full)
		return items->counts[column];
	if_full = (uint64) ceil(items->counts[column] / Max(items->share, 1e-6));
	return Max(items->counts[column], Min(if_full, items->most_expected));
}

void
bf_index_free_items(BfRangeItems *items)
{
	for (int column = 0; column < items->columns; column++)
		pfree(items->hashes[column]);
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

		get_tuple(reader, block, i, &tuple);
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
