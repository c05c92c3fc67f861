/*
 * heap.c: reads the heap for the index: every row version that some snapshot may still see.
 *
 * Not table_index_build_range_scan(): that leaves out recently dead versions of rows that were updated by HOT, whose
 * values differ where the index is summarizing (PostgreSQL 16 and later), so a snapshot that still sees them would
 * lose them. Versions that are dead to every snapshot here may still be seen by a snapshot on a standby: they are left out
 * (their out-of-line values may be gone), and the horizon says for whom.
 */
#include "bf_index.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/procarray.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../memory.h"

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
	uint64		horizon;
	double		live_rows;
	double		rows;
	sb_hash_set sets[INDEX_MAX_KEYS];	/* of the range being read; empty between ranges */

	/* the page that was read last */
	PGAlignedBlock page;
	int			count;
	OffsetNumber offsets[MaxHeapTuplesPerPage];
	HTSV_Result verdicts[MaxHeapTuplesPerPage];
};

Oid
bf_column_type(Relation index, int column)
{
	Oid			type = index->rd_opcintype[column];

	return IsPolymorphicType(type) ? TupleDescAttr(RelationGetDescr(index), column)->atttypid : type;
}

void
bf_prepare_hashers(Relation index, BfHashers *hashers, MemoryContext context)
{
	hashers->columns = IndexRelationGetNumberOfKeyAttributes(index);
	for (int column = 0; column < hashers->columns; column++)
	{
		hashers->hasher[column] = item_hasher_for_type(bf_column_type(index, column), index->rd_indcollation[column], context);
	}
}

BfHeapReader *
bf_open_heap(Relation heap, Relation index, IndexInfo *indexInfo)
{
	BfHeapReader *reader = palloc0(sizeof(BfHeapReader));
	ExprContext *context;

	if (heap->rd_tableam != GetHeapamTableAmRoutine())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("access method \"bf\" does not support table \"%s\"", RelationGetRelationName(heap)),
				 errdetail("It reads pages of the table access method \"heap\" only.")));
	reader->heap = heap;
	reader->info = indexInfo != NULL ? indexInfo : BuildIndexInfo(index);
	reader->estate = CreateExecutorState();
	reader->slot = MakeSingleTupleTableSlot(RelationGetDescr(heap), &TTSOpsHeapTuple);
	context = GetPerTupleExprContext(reader->estate);
	context->ecxt_scantuple = reader->slot;
	reader->predicate = ExecPrepareQual(reader->info->ii_Predicate, reader->estate);
	reader->strategy = GetAccessStrategy(BAS_BULKREAD);
	reader->oldest_xmin = GetOldestNonRemovableTransactionId(heap);
	bf_prepare_hashers(index, &reader->hashers, CurrentMemoryContext);
	return reader;
}

void
bf_close_heap(BfHeapReader *reader)
{
	ExecDropSingleTupleTableSlot(reader->slot);
	FreeExecutorState(reader->estate);
	FreeAccessStrategy(reader->strategy);
	/* they point into the state that is gone, and the caller's IndexInfo lives on */
	reader->info->ii_ExpressionsState = NIL;
	reader->info->ii_PredicateState = NULL;
	for (int column = 0; column < reader->hashers.columns; column++)
		if (reader->sets[column].slots != NULL)
			free_set(&reader->sets[column]);
	pfree(reader);
}

uint64
bf_reader_horizon(const BfHeapReader *reader)
{
	return reader->horizon;
}

double
bf_reader_live_rows(const BfHeapReader *reader)
{
	return reader->live_rows;
}

double
bf_reader_rows(const BfHeapReader *reader)
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
	return bf_full_xid(HeapTupleHeaderGetUpdateXid(header)) + 1;
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
	/* it may become dead to all at any time, and its out-of-line values be removed before we have read them */
	if (verdict == HEAPTUPLE_RECENTLY_DEAD && HeapTupleHasExternal(tuple))
	{
		reader->horizon = Max(reader->horizon, after_deletion(tuple->t_data));
		return true;
	}
	return false;
}

/* The values of the index's columns, in the memory of the row; false if the index's predicate does not hold. */
static bool
form_values(BfHeapReader *reader, HeapTuple tuple, Datum *values, bool *isnull)
{
	ResetPerTupleExprContext(reader->estate);
	ExecStoreHeapTuple(tuple, reader->slot, false);
	if (!ExecQual(reader->predicate, GetPerTupleExprContext(reader->estate)))
		return false;
	FormIndexDatum(reader->info, reader->slot, reader->estate, values, isnull);
	return true;
}

/* ------------------------------------------------------------------ a range */

static void
add_to_set(sb_hash_set *set, uint64 hash)
{
	if (!sb_hash_set_has_room(set))
		remake_set(CurrentMemoryContext, set, sb_hash_set_next_capacity(set->capacity), 0);
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
bf_read_range(BfHeapReader *reader, uint32 range, BlockNumber pages_per_range, BlockNumber heap_blocks, BfRangeItems *items)
{
	uint64		first = (uint64) range * pages_per_range;
	uint64		end = Min(first + pages_per_range, heap_blocks);
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext row = GetPerTupleMemoryContext(reader->estate);

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
			Datum		values[INDEX_MAX_KEYS];
			bool		isnull[INDEX_MAX_KEYS];
			uint64		hashes[INDEX_MAX_KEYS];
			bool		entered;

			if (reader->verdicts[i] == HEAPTUPLE_LIVE || reader->verdicts[i] == HEAPTUPLE_DELETE_IN_PROGRESS)
				reader->live_rows++;
			get_tuple(reader, block, i, &tuple);
			if (leave_out(reader, &tuple, reader->verdicts[i]))
				continue;
			MemoryContextSwitchTo(row);
			entered = form_values(reader, &tuple, values, isnull);
			for (int column = 0; entered && column < items->columns; column++)
				hashes[column] = bf_hash_value(&reader->hashers, column, values[column], isnull[column]);
			MemoryContextSwitchTo(GetMemoryChunkContext(reader));
			for (int column = 0; entered && column < items->columns; column++)
				add_to_set(&reader->sets[column], hashes[column]);
			MemoryContextSwitchTo(caller);
			if (entered)
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
bf_free_items(BfRangeItems *items)
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
bf_read_committed_rows(BfHeapReader *reader, BlockNumber block, Snapshot snapshot,
					   void (*check) (const BfRow *row, void *argument), void *argument)
{
	MemoryContext caller = CurrentMemoryContext;

	read_page(reader, block);
	for (int i = 0; i < reader->count; i++)
	{
		HTSV_Result verdict = reader->verdicts[i];
		HeapTupleData tuple;
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];
		BfRow		row;

		get_tuple(reader, block, i, &tuple);
		if (verdict == HEAPTUPLE_INSERT_IN_PROGRESS || leave_out(reader, &tuple, verdict) ||
			!was_committed(tuple.t_data, snapshot))
			continue;
		MemoryContextSwitchTo(GetPerTupleMemoryContext(reader->estate));
		if (form_values(reader, &tuple, values, isnull))
		{
			row.tid = tuple.t_self;
			row.deleted_by = verdict == HEAPTUPLE_RECENTLY_DEAD ?
				bf_full_xid(HeapTupleHeaderGetUpdateXid(tuple.t_data)) : 0;
			for (int column = 0; column < reader->hashers.columns; column++)
				row.hashes[column] = bf_hash_value(&reader->hashers, column, values[column], isnull[column]);
			MemoryContextSwitchTo(caller);
			check(&row, argument);
			reader->rows++;
		}
		MemoryContextSwitchTo(caller);
	}
	ExecClearTuple(reader->slot);
}
