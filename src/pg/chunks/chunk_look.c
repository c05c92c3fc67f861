/*
 * chunk_look.c: looks at the pages of a chunk that a bf index has named (see chunk_look.h).
 *
 * As in a sequential scan, all row versions on a page that the snapshot sees are looked at, so HOT chains do not
 * matter. The hashes of their values are compared with the hashes of the searched values. The index itself relies on
 * the rule that equal values have equal hashes, so no row that the index would find is missed here. If two different
 * values have the same hash, the chunk is read, and its query compares the values themselves.
 */
#include "chunks/chunk_look.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "index/heap.h"

/*
 * Sets offsets[] to the offset numbers of the row versions that the snapshot sees, and returns how many they are. The
 * caller looks at their values after the page was unlocked, because values that are stored out of line are read from
 * other pages. The pin keeps the row versions in their places.
 */
static int
find_visible(Relation chunk, Buffer buffer, Snapshot snapshot, OffsetNumber *offsets)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber last;
	bool		all_visible;
	int			count = 0;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	sb_test_for_old_snapshot(snapshot, chunk, page);
	/* On a standby, the page may be marked as all-visible while older snapshots do not see all of its rows yet. */
	all_visible = PageIsAllVisible(page) && !snapshot->takenDuringRecovery;
	last = PageGetMaxOffsetNumber(page);	/* 0 for a page that was never written */
	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		HeapTupleData tuple;

		if (!ItemIdIsNormal(PageGetItemId(page, offset)))
			continue;
		bf_index_get_tuple(chunk, page, BufferGetBlockNumber(buffer), offset, &tuple);
		if (all_visible || HeapTupleSatisfiesVisibility(&tuple, snapshot, buffer))
			offsets[count++] = offset;
	}
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return count;
}

/* May this page have a row that is searched for? */
static bool
look_at_page(Relation chunk, BlockNumber block, BfSearch *search, const BfPages *few, Snapshot snapshot)
{
	Buffer		buffer = ReadBuffer(chunk, block);
	Page		page = BufferGetPage(buffer);
	OffsetNumber offsets[MaxHeapTuplesPerPage];
	int			count = find_visible(chunk, buffer, snapshot, offsets);
	bool		found = false;

	for (int i = 0; i < count && !found; i++)
	{
		HeapTupleData tuple;
		Datum		value;
		bool		isnull;

		bf_index_get_tuple(chunk, page, block, offsets[i], &tuple);
		value = heap_getattr(&tuple, few->attribute, RelationGetDescr(chunk), &isnull);
		found = !isnull && bf_index_is_wanted(search, few, value);
	}
	ReleaseBuffer(buffer);
	return found;
}

bool
chunk_look(Relation chunk, BfSearch *search, const BfPages *few, Snapshot snapshot)
{
	MemoryContext caller;
	MemoryContext context;		/* for values that are stored out of line or compressed */
	BlockNumber blocks;
	bool		found = false;

	if (few->attribute <= 0 || !bf_index_are_few(few) || !IsMVCCSnapshot(snapshot) ||
		chunk->rd_tableam != GetHeapamTableAmRoutine())
		return true;
	blocks = RelationGetNumberOfBlocks(chunk);
	context = AllocSetContextCreate(CurrentMemoryContext, "chunk look", ALLOCSET_SMALL_SIZES);
	caller = MemoryContextSwitchTo(context);
	for (uint32 i = 0; i < few->count && few->blocks[i] < blocks && !found; i++)
	{
		CHECK_FOR_INTERRUPTS();
		found = look_at_page(chunk, few->blocks[i], search, few, snapshot);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return found;
}
