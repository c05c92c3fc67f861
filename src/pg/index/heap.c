/*
 * heap.c: reads the heap for the index: every row version that some snapshot may still see.
 *
 * Not table_index_build_range_scan(): that leaves out recently dead versions of rows that were updated by HOT, whose
 * values differ where the index is summarizing (PostgreSQL 16 and later), so a snapshot that still sees them would
 * lose them. Versions that are dead to every snapshot here may still be seen by a snapshot on a standby: they are left out
 * (their out-of-line values may be gone), and the horizon says for whom.
 */
#include "index/bf_index.h"

#include "access/detoast.h"
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

#include "base/memory.h"

struct BfHeapReader
{
	Relation	heap;
	IndexInfo  *info;
	EState	   *estate;
	ExprState  *predicate;
	TupleTableSlot *slot;
	BufferAccessStrategy strategy;
	TransactionId oldest_xmin;
	BfHashers	hashers;
	bool		runs_code;		/* of the index: it has expressions or a predicate */
	BfReadFor	purpose;
	Bitmapset  *attributes;		/* of the table that the index needs, as pull_varattnos() counts them */
	uint64		horizon;
	double		live_rows;
	double		rows;
	sb_hash_set sets[INDEX_MAX_KEYS];	/* of the range being read; empty between ranges */

	/* for the context of errors */
	const char *index_name;
	const char *drop_command;	/* what lets VACUUM pass; NULL if this is none */
	bool		evaluating;
	ItemPointerData at;

	/* the page that was read last */
	PGAlignedBlock page;
	int			count;
	OffsetNumber offsets[MaxHeapTuplesPerPage];
	HTSV_Result verdicts[MaxHeapTuplesPerPage];
};

/* What the index needs of a row. */
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

/* What removes the index. One that belongs to an index of a partitioned table can only be dropped with that. */
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
	/* now, because nothing can be looked up any more when there is an error */
	if (purpose == BF_FOR_VACUUM && reader->runs_code)
		reader->drop_command = drop_command(index);
	reader->estate = CreateExecutorState();
	reader->slot = MakeSingleTupleTableSlot(RelationGetDescr(heap), &TTSOpsHeapTuple);
	context = GetPerTupleExprContext(reader->estate);
	context->ecxt_scantuple = reader->slot;
	reader->predicate = ExecPrepareQual(reader->info->ii_Predicate, reader->estate);
	reader->strategy = GetAccessStrategy(BAS_BULKREAD);
	reader->oldest_xmin = GetOldestNonRemovableTransactionId(heap);
	bf_index_prepare_hashers(index, &reader->hashers, CurrentMemoryContext);
	return reader;
}

void
bf_index_close_heap(BfHeapReader *reader)
{
	ExecDropSingleTupleTableSlot(reader->slot);
	FreeExecutorState(reader->estate);
	FreeAccessStrategy(reader->strategy);
	for (int column = 0; column < reader->hashers.columns; column++)
		if (reader->sets[column].slots != NULL)
			free_set(&reader->sets[column]);
	pfree(reader);
}

uint64
bf_index_reader_horizon(const BfHeapReader *reader)
{
	return reader->horizon;
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

/* ------------------------------------------------------------------ one page */

/* Row version `i` of the page that was read. */
static void
get_tuple(BfHeapReader *reader, BlockNumber block, int i, HeapTuple tuple)
{
	ItemId		item = PageGetItemId((Page) reader->page.data, reader->offsets[i]);

	tuple->t_data = (HeapTupleHeader) PageGetItem((Page) reader->page.data, item);
	tuple->t_len = ItemIdGetLength(item);
	tuple->t_tableOid = RelationGetRelid(reader->heap);
	ItemPointerSet(&tuple->t_self, block, reader->offsets[i]);
}

/* Copies the page and judges its row versions under its lock; values are looked at without it. */
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
			ItemId		item = PageGetItemId(page, offset);
			HeapTupleData tuple;

			/* what was pruned is gone; a standby has dealt with its snapshots when it pruned likewise */
			if (!ItemIdIsNormal(item))
				continue;
			tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
			tuple.t_len = ItemIdGetLength(item);
			tuple.t_tableOid = RelationGetRelid(reader->heap);
			ItemPointerSet(&tuple.t_self, block, offset);
			reader->offsets[reader->count] = offset;
			reader->verdicts[reader->count++] = HeapTupleSatisfiesVacuum(&tuple, reader->oldest_xmin, buffer);
		}
		memcpy(reader->page.data, page, BLCKSZ);
	}
	UnlockReleaseBuffer(buffer);
}

/* The first full transaction id for which this deleted row version is surely gone. */
static uint64
after_deletion(HeapTupleHeader header)
{
	return bf_index_full_xid(HeapTupleHeaderGetUpdateXid(header)) + 1;
}

/*
 * Is the version deleted, and does it stay so as long as the index is there? So it is if its deleter has committed. An index that is
 * being made goes if this transaction is rolled back, or that part of it which has deleted the version: it was over before.
 */
static bool
deleted_for_good(const BfHeapReader *reader, HeapTuple tuple, HTSV_Result verdict)
{
	return verdict == HEAPTUPLE_RECENTLY_DEAD ||
		(verdict == HEAPTUPLE_DELETE_IN_PROGRESS && (reader->purpose == BF_FOR_BUILD || reader->purpose == BF_FOR_CHECK) &&
		 TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(tuple->t_data)));
}

/* Is this version to be left out? Then the horizon knows, if any snapshot may miss it. */
static bool
leave_out(BfHeapReader *reader, HeapTuple tuple, HTSV_Result verdict)
{
	if (verdict == HEAPTUPLE_DEAD)
	{
		/* what was never committed nobody sees anywhere */
		if (!HeapTupleHeaderXminInvalid(tuple->t_data))
			reader->horizon = Max(reader->horizon, after_deletion(tuple->t_data));
		return true;
	}
	/*
	 * A deleted version may become dead to all at any time, and its out-of-line values be removed before we have read them. And an
	 * expression may fail on what was deleted for that very reason: it must not keep the index from being made.
	 */
	if ((verdict == HEAPTUPLE_RECENTLY_DEAD && HeapTupleHasExternal(tuple)) ||
		(reader->runs_code && deleted_for_good(reader, tuple, verdict)))
	{
		reader->horizon = Max(reader->horizon, after_deletion(tuple->t_data));
		return true;
	}
	return false;
}

/* ---------------------------------------------------------- out-of-line values */

/*
 * Reads an out-of-line value as it is stored (it may be compressed); NULL if parts of it are missing. heap_fetch_toast_slice()
 * would raise an error then.
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
		struct varlena *chunk = (struct varlena *) DatumGetPointer(heap_getattr(tuple, 3, RelationGetDescr(toast), &isnull));
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
 * Is the row version gone that was on the page when this was copied, or is nobody to read it any more? A version that somebody
 * may still see is not. Then the horizon knows of it.
 */
static bool
has_gone(BfHeapReader *reader, HeapTuple tuple)
{
	OffsetNumber offset = ItemPointerGetOffsetNumber(&tuple->t_self);
	Buffer		buffer = ReadBufferExtended(reader->heap, MAIN_FORKNUM, ItemPointerGetBlockNumber(&tuple->t_self), RBM_NORMAL,
											reader->strategy);
	Page		page = BufferGetPage(buffer);
	bool		gone = true;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (!PageIsNew(page) && offset <= PageGetMaxOffsetNumber(page) && ItemIdIsNormal(PageGetItemId(page, offset)))
	{
		HeapTupleData now = *tuple;
		HTSV_Result verdict;

		now.t_data = (HeapTupleHeader) PageGetItem(page, PageGetItemId(page, offset));
		now.t_len = ItemIdGetLength(PageGetItemId(page, offset));
		verdict = HeapTupleSatisfiesVacuum(&now, reader->oldest_xmin, buffer);
		gone = verdict == HEAPTUPLE_DEAD || verdict == HEAPTUPLE_RECENTLY_DEAD ||
			HeapTupleHeaderGetRawXmin(now.t_data) != HeapTupleHeaderGetRawXmin(tuple->t_data);
	}
	UnlockReleaseBuffer(buffer);
	/* who deleted it may be unknown by now, but has committed */
	if (gone)
		reader->horizon = Max(reader->horizon, U64FromFullTransactionId(ReadNextFullTransactionId()));
	return gone;
}

/*
 * Puts the out-of-line values that the index needs into the slot of a row version; false if the version is gone, and they with it.
 *
 * That happens although the version was there when its page was copied: others do not wait for VACUUM's snapshot, so what is
 * deleted while VACUUM summarizes may be removed at once. Values of a transaction that is rolled back are removed at once too,
 * whoever summarizes.
 */
static bool
fetch_values(BfHeapReader *reader, HeapTuple tuple)
{
	TupleDesc	descriptor = RelationGetDescr(reader->heap);
	TupleTableSlot *slot = reader->slot;
	bool		all = bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, reader->attributes);

	if (!HeapTupleHasExternal(tuple))
		return true;
	slot_getallattrs(slot);
	for (int i = 0; i < descriptor->natts; i++)
	{
		struct varlena *value;

		if (!(all || bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, reader->attributes)) || slot->tts_isnull[i] ||
			TupleDescAttr(descriptor, i)->attisdropped || TupleDescAttr(descriptor, i)->attlen != -1 ||
			!VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(slot->tts_values[i])))
			continue;
		value = fetch_if_there((struct varlena *) DatumGetPointer(slot->tts_values[i]));
		if (value != NULL)
			slot->tts_values[i] = PointerGetDatum(value);
		else if (has_gone(reader, tuple))
			return false;
		/* else the table is damaged: whoever reads the value will say so */
	}
	return true;
}

/* ---------------------------------------------------------------------- a row */

/* Is this the error of an expression, and not a notice, or that VACUUM is to end? */
static bool
says_that_it_fails(int code)
{
	return ERRCODE_TO_CATEGORY(code) != ERRCODE_SUCCESSFUL_COMPLETION && ERRCODE_TO_CATEGORY(code) != ERRCODE_WARNING &&
		code != ERRCODE_QUERY_CANCELED && code != ERRCODE_ADMIN_SHUTDOWN;
}

/* Says for which index and row an error was raised; in VACUUM, which fails with it each time, how to be rid of the index. */
static void
add_error_context(void *argument)
{
	const BfHeapReader *reader = argument;

	if (!reader->evaluating)
		return;
	errcontext("row version (%u,%u) of table \"%s\" for index \"%s\"",
			   ItemPointerGetBlockNumberNoCheck(&reader->at), ItemPointerGetOffsetNumberNoCheck(&reader->at),
			   RelationGetRelationName(reader->heap), reader->index_name);
	if (reader->drop_command != NULL && says_that_it_fails(geterrcode()))
		errcontext("VACUUM cannot finish while an expression or predicate of this index fails; to remove the index: %s",
				   reader->drop_command);
}

/*
 * The items of a row version in all columns; false if the index does not have it, because its predicate is not true or the version
 * has gone meanwhile. Other memory than the row's is not used.
 */
static bool
hash_row(BfHeapReader *reader, HeapTuple tuple, uint64 *hashes)
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
		for (int column = 0; column < reader->hashers.columns; column++)
			hashes[column] = bf_index_hash_value(&reader->hashers, column, values[column], isnull[column]);
	}
	error_context_stack = callback.previous;
	reader->evaluating = false;
	MemoryContextSwitchTo(caller);
	return entered;
}

/* ------------------------------------------------------------------ a range */

static void
add_to_set(sb_hash_set *set, uint64 hash)
{
	if (!sb_hash_set_has_room(set))
		remake_set(CurrentMemoryContext, set, sb_hash_set_next_capacity(set->capacity), 0);
	else if (unlikely(sb_hash_set_wants_secret(set)))
		remake_set(CurrentMemoryContext, set, set->capacity, 0);
	(void) sb_hash_set_insert(set, hash);
}

/* Empties the set into an array. */
static uint64 *
take_set(sb_hash_set *set)
{
	uint64	   *hashes = palloc_extended(Max(set->count, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);
	uint64		count = 0,
				item;

	for (uint64 slot = sb_hash_set_next(set, 0, &item); slot != UINT64_MAX; slot = sb_hash_set_next(set, slot + 1, &item))
		hashes[count++] = item;
	memset(set->slots, 0, sb_hash_set_bytes(set->capacity, 0));
	set->count = 0;
	return hashes;
}

void
bf_index_read_range(BfHeapReader *reader, uint32 range, BlockNumber pages_per_range, BlockNumber heap_blocks, BfRangeItems *items)
{
	uint64		first = (uint64) range * pages_per_range;
	uint64		end = Min(first + pages_per_range, heap_blocks);

	items->range = range;
	items->columns = reader->hashers.columns;
	items->full = first + pages_per_range <= heap_blocks;
	for (int column = 0; column < items->columns; column++)
		if (reader->sets[column].slots == NULL)
		{
			reader->sets[column].capacity = sb_hash_set_capacity_for(2048);
			allocate_set(GetMemoryChunkContext(reader), &reader->sets[column]);
		}

	for (uint64 block = first; block < end; block++)
	{
		read_page(reader, block);
		for (int i = 0; i < reader->count; i++)
		{
			HeapTupleData tuple;
			uint64		hashes[INDEX_MAX_KEYS];
			MemoryContext caller;

			if (reader->verdicts[i] == HEAPTUPLE_LIVE || reader->verdicts[i] == HEAPTUPLE_DELETE_IN_PROGRESS)
				reader->live_rows++;
			get_tuple(reader, block, i, &tuple);
			if (leave_out(reader, &tuple, reader->verdicts[i]))
				continue;
			if (!hash_row(reader, &tuple, hashes))
				continue;
			caller = MemoryContextSwitchTo(GetMemoryChunkContext(reader));
			for (int column = 0; column < items->columns; column++)
				add_to_set(&reader->sets[column], hashes[column]);
			MemoryContextSwitchTo(caller);
			reader->rows++;
		}
	}
	for (int column = 0; column < items->columns; column++)
	{
		items->counts[column] = reader->sets[column].count;
		items->hashes[column] = take_set(&reader->sets[column]);
	}
	ExecClearTuple(reader->slot);
}

void
bf_index_free_items(BfRangeItems *items)
{
	for (int column = 0; column < items->columns; column++)
		pfree(items->hashes[column]);
}

/* ------------------------------------------------------------------ checking */

/* Was the transaction that inserted this version committed when the snapshot was taken? */
static bool
was_committed(HeapTupleHeader header, Snapshot snapshot)
{
	TransactionId xmin = HeapTupleHeaderGetXmin(header);

	/* the hint may be missing where the commit was asynchronous */
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
		HTSV_Result verdict = reader->verdicts[i];
		HeapTupleData tuple;
		BfRow		row;

		get_tuple(reader, block, i, &tuple);
		if (verdict == HEAPTUPLE_INSERT_IN_PROGRESS || leave_out(reader, &tuple, verdict) ||
			!was_committed(tuple.t_data, snapshot))
			continue;
		if (!hash_row(reader, &tuple, row.hashes))
			continue;
		row.tid = tuple.t_self;
		row.deleted_by = verdict == HEAPTUPLE_RECENTLY_DEAD ? bf_index_full_xid(HeapTupleHeaderGetUpdateXid(tuple.t_data)) : 0;
		check(&row, argument);
		reader->rows++;
	}
	ExecClearTuple(reader->slot);
}
