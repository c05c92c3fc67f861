/*
 * partition_scan_read.c: reads one partition of a PartitionScan: by a B-tree index, by the pages that its bf indexes
 * name, or wholly. The node itself tests all conditions of the rows.
 */
#include "chunks/partition_scan.h"

#include "access/attmap.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_index.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "storage/bufmgr.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"

/* A partition of so few pages is read wholly: it takes less time than to look for the pages. */
#define FEW_PAGES 8

/* ----------------------------------------------------------------------- B-tree indexes */

/* May PostgreSQL use this index for the snapshot? */
static bool
is_usable_btree(Relation index)
{
	const FormData_pg_index *form = index->rd_index;

	return index->rd_rel->relam == BTREE_AM_OID && form->indisvalid && form->indisready &&
		heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL) &&
		!(form->indcheckxmin &&
		  !TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data), TransactionXmin));
}

/*
 * Sets a scan key for this column of the index if the comparison is column = value, or column = ANY (values) with few
 * enough values that looking for each is faster than reading all pages.
 */
static bool
set_key(PartitionScanState *state, ChunkQuestion *question, Relation index, int column, BlockNumber pages,
		ScanKey entry)
{
	Node	   *clause = question->clause;
	bool		any = question->combines == NOT_EXPR && IsA(clause, ScalarArrayOpExpr);
	List	   *sides;
	Node	   *left;
	AttrNumber	number;
	Oid			operator;
	int			strategy;
	Oid			left_type;
	Oid			right_type;

	if (question->combines != NOT_EXPR || question->argument == NULL || !(any || IsA(clause, OpExpr)))
		return false;
	sides = any ? ((ScalarArrayOpExpr *) clause)->args : ((OpExpr *) clause)->args;
	operator = any ? ((ScalarArrayOpExpr *) clause)->opno : ((OpExpr *) clause)->opno;
	left = linitial(sides);
	if (left == (Node *) question->argument)
	{
		left = lsecond(sides);
		operator = get_commutator(operator);
	}
	while (IsA(left, RelabelType))
		left = (Node *) ((RelabelType *) left)->arg;
	if (!IsA(left, Var) || ((Var *) left)->varattno <= 0)
		return false;
	number = ((Var *) left)->varattno;
	if (state->reader.map != NULL)
		number = state->reader.map->attnums[number - 1];
	if (number != index->rd_index->indkey.values[column] || !OidIsValid(operator) ||
		!op_in_opfamily(operator, index->rd_opfamily[column]) ||
		(OidIsValid(index->rd_indcollation[column]) && index->rd_indcollation[column] != exprInputCollation(clause)))
		return false;
	get_op_opfamily_properties(operator, index->rd_opfamily[column], false, &strategy, &left_type, &right_type);
	if (strategy != BTEqualStrategyNumber)
		return false;
	chunk_evaluate(&state->asking, question);
	if (question->isnull)
		return false;
	if (any && (uint64) ArrayGetNItems(ARR_NDIM(DatumGetArrayTypeP(question->value)),
									   ARR_DIMS(DatumGetArrayTypeP(question->value))) * 4 > pages)
		return false;
	ScanKeyEntryInitialize(entry, any ? SK_SEARCHARRAY : 0, column + 1, strategy, right_type,
						   exprInputCollation(clause), get_opcode(operator), question->value);
	return true;
}

/* Sets keys for the first columns of a B-tree index, and returns how many. */
static int
set_keys(PartitionScanState *state, Relation index, BlockNumber pages, ScanKey keys)
{
	int			count = 0;

	for (int column = 0; column < IndexRelationGetNumberOfKeyAttributes(index); column++)
	{
		bool		found = false;

		for (int i = 0; i < state->question.count + state->equalities.count && !found; i++)
			found = set_key(state, i < state->question.count ? &state->question.parts[i] :
							&state->equalities.parts[i - state->question.count], index, column, pages, &keys[count]);
		if (!found)
			break;
		count++;
	}
	return count;
}

/* Begins a scan of a B-tree index of the partition, if one serves. */
static bool
begin_index_scan(PartitionScanState *state, BlockNumber pages)
{
	PartitionReader *reader = &state->reader;
	List	   *indexes = RelationGetIndexList(reader->partition);
	ListCell   *cell;

	foreach(cell, indexes)
	{
		Relation	index;
		ScanKey		keys;
		int			count;

		if (!chunk_has_method(lfirst_oid(cell), BTREE_AM_OID))
			continue;
		index = index_open(lfirst_oid(cell), AccessShareLock);
		keys = palloc(INDEX_MAX_KEYS * sizeof(ScanKeyData));
		count = is_usable_btree(index) ? set_keys(state, index, pages, keys) : 0;
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

/* ------------------------------------------------------------------- pages of bf indexes */

#if PG_VERSION_NUM >= 180000
static void
begin_pages(PartitionReader *reader, Snapshot snapshot)
{
	reader->scan = sb_table_beginscan_bm(reader->partition, snapshot);
	reader->scan->st.rs_tbmiterator = tbm_begin_iterate(reader->pages, NULL, InvalidDsaPointer);
}

static bool
next_on_pages(PartitionReader *reader)
{
	bool		recheck;
	uint64		lossy = 0;
	uint64		exact = 0;

	return table_scan_bitmap_next_tuple(reader->scan, reader->slot, &recheck, &lossy, &exact);
}

static void
end_pages(PartitionReader *reader)
{
	tbm_end_iterate(&reader->scan->st.rs_tbmiterator);
}
#else
static void
begin_pages(PartitionReader *reader, Snapshot snapshot)
{
	reader->scan = sb_table_beginscan_bm(reader->partition, snapshot);
	reader->iterator = tbm_begin_iterate(reader->pages);
	reader->result = NULL;
}

static bool
next_on_pages(PartitionReader *reader)
{
	while (reader->result == NULL || !table_scan_bitmap_next_tuple(reader->scan, reader->result, reader->slot))
		do
		{
			reader->result = tbm_iterate(reader->iterator);
			if (reader->result == NULL)
				return false;
		} while (!table_scan_bitmap_next_block(reader->scan, reader->result));
	return true;
}

static void
end_pages(PartitionReader *reader)
{
	tbm_end_iterate(reader->iterator);
}
#endif

/* -------------------------------------------------------------------------------- reading */

/* Sets *pages to those that may hold rows. Returns false if these are nearly all, as indexes say. */
static bool
find_pages(PartitionScanState *state, Relation partition, BlockNumber all, TIDBitmap **pages)
{
	BfSpans		left = {0};
	ChunkVerdict why;
	uint64		count = 0;

	bf_index_add_span(&left, 0, all);
	if (!chunk_ask(&state->asking, &state->question, RelationGetRelid(partition), &why, &left))
		left.count = 0;
	for (uint32 i = 0; i < left.count; i++)
		count += left.spans[i].end - left.spans[i].first;
	if (count * 10 >= (uint64) all * BF_IN_VAIN_TENTHS)
		return false;
	*pages = tbm_create(work_mem * 1024L, NULL);
	for (uint32 i = 0; i < left.count; i++)
		for (BlockNumber block = left.spans[i].first; block < left.spans[i].end; block++)
			tbm_add_page(*pages, block);
	return true;
}

void
partition_reader_begin(PartitionScanState *state, Relation partition)
{
	EState	   *estate = state->css.ss.ps.state;
	PartitionReader *reader = &state->reader;
	MemoryContext caller = MemoryContextSwitchTo(state->reading);
	BlockNumber pages = RelationGetNumberOfBlocks(partition);
	bool		few = pages > FEW_PAGES;

	MemoryContextReset(state->reading);
	memset(reader, 0, sizeof *reader);
	reader->partition = partition;
	reader->map = sb_build_attrmap_by_name_if_req(RelationGetDescr(partition),
												  RelationGetDescr(state->css.ss.ss_currentRelation));
	reader->slot = table_slot_create(partition, NULL);
	if (!few || !begin_index_scan(state, pages))
	{
		if (few && find_pages(state, partition, pages, &reader->pages))
			begin_pages(reader, estate->es_snapshot);
		else
			reader->scan = sb_table_beginscan(partition, estate->es_snapshot);
	}
	MemoryContextSwitchTo(caller);
}

/* Puts a row of a partition with another layout into the parent's layout. */
static TupleTableSlot *
adapt_row(PartitionScanState *state)
{
	const PartitionReader *reader = &state->reader;
	TupleTableSlot *row = reader->slot;
	TupleTableSlot *slot = ExecClearTuple(state->css.ss.ss_ScanTupleSlot);

	slot_getallattrs(row);
	for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		int			from = reader->map->attnums[i] - 1;

		slot->tts_values[i] = from < 0 ? (Datum) 0 : row->tts_values[from];
		slot->tts_isnull[i] = from < 0 || row->tts_isnull[from];
	}
	ExecStoreVirtualTuple(slot);
	slot->tts_tableOid = row->tts_tableOid;
	slot->tts_tid = row->tts_tid;
	return slot;
}

TupleTableSlot *
partition_reader_next(PartitionScanState *state)
{
	PartitionReader *reader = &state->reader;
	bool		found;

	if (reader->index_scan != NULL)
		found = index_getnext_slot(reader->index_scan, ForwardScanDirection, reader->slot);
	else if (reader->pages != NULL)
		found = next_on_pages(reader);
	else
		found = table_scan_getnextslot(reader->scan, ForwardScanDirection, reader->slot);
	return !found ? NULL : reader->map == NULL ? reader->slot : adapt_row(state);
}

void
partition_reader_end(PartitionScanState *state)
{
	PartitionReader *reader = &state->reader;

	if (reader->partition == NULL)
		return;
	ExecDropSingleTupleTableSlot(reader->slot);
	if (reader->pages != NULL)
	{
		end_pages(reader);
		tbm_free(reader->pages);
	}
	if (reader->scan != NULL)
		table_endscan(reader->scan);
	if (reader->index_scan != NULL)
	{
		index_endscan(reader->index_scan);
		index_close(reader->index, NoLock);
	}
	reader->partition = NULL;
}
