/*
 * chunk_scan.c: the SQL functions chunk_scan() and chunk_scan_any() return the rows of a relation that have a value
 * in a column. They read only those chunks of the relation that may hold such rows. chunk_scan_explain() says of each
 * chunk whether it would be read, and why.
 *
 * In FROM, chunk_scan() and chunk_scan_any() become the plan node ChunkScan (chunk_scan_plan.c), which returns each
 * row when it is found. The functions here collect all rows before they return. They are called where there is no
 * node: for example in a SELECT list, in ROWS FROM () with other functions, WITH ORDINALITY, and if
 * streambloom.enable_chunk_scan is off.
 */
#include "base/call.h"
#include "chunks/chunk_scan.h"

#include "executor/executor.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "chunks/chunk_snapshot.h"

/*
 * Raises an error if the number or the types of the parent's columns were changed after the query was planned and
 * before the parent was locked.
 */
static void
require_expected_columns(Relation parent, TupleDesc expected)
{
	TupleDesc	columns = RelationGetDescr(parent);
	bool		same = expected == NULL || expected->natts == columns->natts;

	for (int i = 0; same && expected != NULL && i < columns->natts; i++)
		same = TupleDescAttr(expected, i)->attisdropped ||
			TupleDescAttr(expected, i)->atttypid == TupleDescAttr(columns, i)->atttypid;
	if (!same)
		chunk_report_changed(RelationGetRelationName(parent));
}

static Datum
scan_chunks(FunctionCallInfo fcinfo, bool any)
{
	ReturnSetInfo *set = (ReturnSetInfo *) fcinfo->resultinfo;
	ChunkScan	scan;
	ChunkReader reader = {.scan = &scan};
	TupleTableSlot *row;

	chunk_scan_begin(&scan, fcinfo, any, list_make1_int(0));
	chunk_use_cache(&scan);
	InitMaterializedSRF(fcinfo, 0); /* the parent is locked, so its row type does not change any more */
	require_expected_columns(scan.parent, set->expectedDesc);
	reader.columns = chunk_all_columns(scan.parent);
	while ((row = chunk_read_next(&reader)) != NULL)
	{
		MemoryContext caller = MemoryContextSwitchTo(set->econtext->ecxt_per_query_memory);

		tuplestore_puttupleslot(set->setResult, row);
		MemoryContextSwitchTo(caller);
	}
	chunk_scan_end(&scan);
	return (Datum) 0;
}

SB_FUNCTION(chunk_scan);
Datum
chunk_scan(PG_FUNCTION_ARGS)
{
	return scan_chunks(fcinfo, false);
}

SB_FUNCTION(chunk_scan_any);
Datum
chunk_scan_any(PG_FUNCTION_ARGS)
{
	return scan_chunks(fcinfo, true);
}

SB_FUNCTION(chunk_scan_explain);
Datum
chunk_scan_explain(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *set = (ReturnSetInfo *) fcinfo->resultinfo;
	ChunkScan	scan;
	ChunkVerdict verdict;
	Relation	chunk;

	chunk_scan_begin(&scan, fcinfo, false, NIL);
	scan.explains = true;
	scan.index_clause.asker.explain_only = true;
	scan.index_clause.asker.wants_reason = true;
	begin_rows(fcinfo);
	while ((chunk = chunk_next(&scan, &verdict)) != NULL)
	{
		MemoryContext caller = MemoryContextSwitchTo(scan.chunk_context);
		Datum		values[3];
		bool		nulls[3] = {false};

		values[0] = ObjectIdGetDatum(RelationGetRelid(chunk));
		values[1] = BoolGetDatum(chunk_is_read(&verdict));
		values[2] = CStringGetTextDatum(chunk_reason_text(&verdict));
		tuplestore_putvalues(set->setResult, set->setDesc, values, nulls);
		MemoryContextSwitchTo(caller);
		chunk_leave(&scan, chunk, &verdict);
	}
	chunk_scan_end(&scan);
	return (Datum) 0;
}
