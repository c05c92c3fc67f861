/*
 * partition_scan_read.c: reads one partition of a PartitionScan: by a B-tree index, or the pages that its bf indexes
 * name. The node itself tests all conditions of the rows.
 */
#include "chunks/partition_scan.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "access/tupconvert.h"
#include "catalog/pg_am_d.h"
#include "executor/executor.h"
#include "rewrite/rewriteManip.h"
#include "storage/bufmgr.h"
#include "utils/array.h"
#include "utils/rel.h"
#include "utils/relcache.h"

/* ----------------------------------------------------------------------- B-tree indexes */

/*
 * Sets a scan key if the comparison is column = value for this column of the index, or column = ANY (values) with few
 * enough values that looking for each is faster than reading the pages.
 */
static bool
set_key(PartitionScanState *state, ChunkQuestion *comparison, const IndexOptInfo *index, int column, ScanKey entry)
{
	const int	varno = (int) ((Scan *) state->css.ss.ps.plan)->scanrelid;
	const AttrMap *map = state->reader.map;
	QuestionKey key;
	bool		whole_row;

	if (comparison->combines != NOT_EXPR || comparison->argument == NULL ||
		!chunk_find_key(index, varno, map == NULL ? comparison->clause :
						map_variable_attnos(comparison->clause, varno, 0, map, InvalidOid, &whole_row), &key) ||
		key.column != column || key.strategy != BTEqualStrategyNumber)
		return false;
	chunk_evaluate(&state->asking, comparison);
	if (comparison->isnull)
		return false;
	if (key.flags == SK_SEARCHARRAY)
	{
		ArrayType  *array = DatumGetArrayTypeP(comparison->value);

		if ((uint64) ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) * 4 > state->reader.left.pages)
			return false;
	}
	ScanKeyEntryInitialize(entry, key.flags, key.column, key.strategy, key.subtype, key.collation, key.function,
						   comparison->value);
	return true;
}

/* Sets keys for the first columns of a B-tree index, and returns how many. */
static int
set_keys(PartitionScanState *state, Relation index, ScanKey keys)
{
	const IndexOptInfo *info = chunk_index_info(index, ((Scan *) state->css.ss.ps.plan)->scanrelid);
	int			count = 0;

	for (int column = 1; column <= info->nkeycolumns && count == column - 1; column++)
		for (int i = 0; i < state->comparisons.count && count < column; i++)
			count += set_key(state, &state->comparisons.parts[i], info, column, &keys[count]);
	return count;
}

/* Begins a scan of a B-tree index of the partition, if one serves. */
static bool
begin_index_scan(PartitionScanState *state)
{
	PartitionReader *reader = &state->reader;
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(reader->partition))
	{
		Relation	index = chunk_has_method(lfirst_oid(cell), BTREE_AM_OID) ?
			chunk_open_index(reader->partition, lfirst_oid(cell), BTREE_AM_OID) : NULL;
		ScanKeyData keys[INDEX_MAX_KEYS];
		int			count;

		if (index == NULL)
			continue;
		count = set_keys(state, index, keys);
		if (count > 0)
		{
			reader->index = index;
			reader->index_scan = sb_index_beginscan(reader->partition, index, state->css.ss.ps.state->es_snapshot,
													count);
			index_rescan(reader->index_scan, keys, count, NULL, 0);
			return true;
		}
		index_close(index, AccessShareLock);
	}
	return false;
}

/* -------------------------------------------------------------------------------- reading */

/*
 * Sets reader->left to the pages that may hold rows. Returns false if no other index need be looked for: there is no
 * such page, or the value is everywhere, where the indexes have named nearly all of several ranges.
 */
static bool
find_pages(PartitionScanState *state)
{
	BfSpans    *left = &state->reader.left;
	Relation	partition = state->reader.partition;
	BlockNumber pages = RelationGetNumberOfBlocks(partition);	/* taken after the snapshot */
	ChunkVerdict why;

	bf_index_add_span(left, 0, pages);
	state->asking.all_pages = true;
	if (!chunk_ask(&state->asking, &state->question, RelationGetRelid(partition), &why, left))
		left->count = 0;
	/* without a page no value is evaluated */
	return pages > 0 && (pages <= CHUNK_FEW_PAGES || left->pages * 10 < (uint64) pages * BF_IN_VAIN_TENTHS);
}

void
partition_reader_begin(PartitionScanState *state, Relation partition)
{
	PartitionReader *reader = &state->reader;
	MemoryContext caller = MemoryContextSwitchTo(state->reading);

	MemoryContextReset(state->reading);
	memset(reader, 0, sizeof *reader);
	reader->partition = partition;
	reader->map = sb_build_attrmap_by_name_if_req(RelationGetDescr(partition),
												  RelationGetDescr(state->css.ss.ss_currentRelation));
	reader->slot = table_slot_create(partition, NULL);
	if (!find_pages(state) || !begin_index_scan(state))
		reader->scan = table_beginscan_strat(partition, state->css.ss.ps.state->es_snapshot, 0, NULL, true, false);
	/* only a heap can be read in part */
	reader->next = partition->rd_tableam == GetHeapamTableAmRoutine() ? 0 : reader->left.count;
	MemoryContextSwitchTo(caller);
}

/* Reads the next row into reader->slot. */
static bool
next_row(PartitionReader *reader)
{
	if (reader->index_scan != NULL)
		return index_getnext_slot(reader->index_scan, ForwardScanDirection, reader->slot);
	for (;;)
	{
		const BfSpan *span = &reader->left.spans[reader->next];

		if (reader->next > 0 && table_scan_getnextslot(reader->scan, ForwardScanDirection, reader->slot))
			return true;
		if (reader->next == reader->left.count)
			return false;
		if (reader->next++ > 0)
			table_rescan(reader->scan, NULL);
		heap_setscanlimits(reader->scan, span->first, span->end - span->first);
	}
}

TupleTableSlot *
partition_reader_next(PartitionScanState *state)
{
	PartitionReader *reader = &state->reader;
	TupleTableSlot *row = reader->slot;

	if (!next_row(reader))
		return NULL;
	if (reader->map == NULL)
		return row;
	/* into the parent's layout */
	row = execute_attr_map_slot(reader->map, row, state->css.ss.ss_ScanTupleSlot);
	row->tts_tableOid = reader->slot->tts_tableOid;
	row->tts_tid = reader->slot->tts_tid;
	return row;
}

void
partition_reader_end(PartitionScanState *state)
{
	PartitionReader *reader = &state->reader;

	if (reader->partition == NULL)
		return;
	ExecDropSingleTupleTableSlot(reader->slot);
	if (reader->index_scan != NULL)
	{
		index_endscan(reader->index_scan);
		index_close(reader->index, NoLock);
	}
	else
		table_endscan(reader->scan);
	reader->partition = NULL;
}
