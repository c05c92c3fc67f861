/*
 * chunk_scan.c: the SQL functions chunk_scan() and chunk_scan_any() return the rows of a relation that have a value
 * in a column. They read only those chunks of the relation that may hold such rows, and lock no others.
 * chunk_scan_explain() says of each chunk whether it would be read, and why.
 *
 * They are ordinary functions: all rows are collected before the first is returned. The rows are those of SELECT *
 * FROM relation WHERE comparison. Each chunk that is read has a query and a plan of its own, so any index of the chunk
 * serves. The snapshot is the active one of the calling query. The privileges on the parent count, not those on the
 * chunk. The chunks that are read are locked as by the SELECT, and get the same predicate locks.
 */
#include "chunks/chunk_scan.h"

#include "access/attmap.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/tstoreReceiver.h"
#include "funcapi.h"
#include "jit/jit.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/cost.h"
#include "optimizer/plancat.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteManip.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "chunks/chunk_snapshot.h"
#include "chunks/skip.h"

/* --------------------------------------------------------------- the query of a chunk */

/*
 * Makes the query SELECT * FROM parent WHERE comparison. It is copied and adapted for each chunk. A column that was
 * dropped is a NULL there.
 */
static Query *
make_query(const ChunkScan *scan)
{
	ParseState *pstate = make_parsestate(NULL);
	RangeTblEntry *rte = addRangeTableEntryForRelation(pstate, scan->parent, AccessShareLock, NULL, false, true)->p_rte;
	RangeTblRef *from = makeNode(RangeTblRef);
	Query	   *query = makeNode(Query);
	TupleDesc	columns = RelationGetDescr(scan->parent);

#if PG_VERSION_NUM >= 160000
	query->rteperminfos = pstate->p_rteperminfos;
#endif
	from->rtindex = 1;
	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->rtable = list_make1(rte);
	query->jointree = makeFromExpr(list_make1(from), (Node *) copyObject(scan->clause));
	for (int i = 1; i <= columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i - 1);
		Expr	   *value = column->attisdropped ? (Expr *) makeNullConst(INT4OID, -1, InvalidOid) :
			(Expr *) makeVar(1, i, column->atttypid, column->atttypmod, column->attcollation, 0);

		query->targetList = lappend(query->targetList, makeTargetEntry(value, i, pstrdup("column"), false));
	}
	free_parsestate(pstate);
#if PG_VERSION_NUM >= 180000
	/* A chunk may compute a virtual generated column otherwise. As in a SELECT, the parent's expression counts. */
	query->targetList = (List *) expand_generated_columns_in_expr((Node *) query->targetList, scan->parent, 1);
	query->jointree->quals = expand_generated_columns_in_expr(query->jointree->quals, scan->parent, 1);
#endif
	return query;
}

/*
 * Plans the query of a chunk.
 *
 * The plan draws no conclusions from CHECK and partition constraints, and JIT must not take rows apart, because that
 * code relies on NOT NULL. The constraints are those of now, but the snapshot is older. A row that the snapshot sees
 * need not satisfy a constraint that was validated since, nor the constraint that a default partition got when another
 * partition was attached.
 *
 * The plan checks no privileges: those of the parent were checked already.
 */
static PlannedStmt *
plan_query(Query *query, Oid chunk)
{
	const int	caller_exclusion = constraint_exclusion;
	const bool	caller_skip = skip_enabled;
	PlannedStmt *statement;

#if PG_VERSION_NUM >= 160000
	linitial_node(RTEPermissionInfo, query->rteperminfos)->relid = chunk;
#else
	linitial_node(RangeTblEntry, query->rtable)->requiredPerms = 0;
#endif
	constraint_exclusion = CONSTRAINT_EXCLUSION_OFF;
	skip_enabled = false;
	PG_TRY();
	{
		statement = sb_plan_query(query, "chunk_scan", 0, NULL);
	}
	PG_FINALLY();
	{
		constraint_exclusion = caller_exclusion;
		skip_enabled = caller_skip;
	}
	PG_END_TRY();
	statement->jitFlags &= ~PGJIT_DEFORM;
#if PG_VERSION_NUM >= 160000
	/* The planner needs permission infos. The executor would check them. */
	for (int i = 0; i < list_length(statement->rtable); i++)
		list_nth_node(RangeTblEntry, statement->rtable, i)->perminfoindex = 0;
	statement->permInfos = NIL;
#endif
	return statement;
}

#if PG_VERSION_NUM >= 190000
/*
 * From PostgreSQL 19 on a scan does not look for NULL in the first columns of a row if they are NOT NULL. This
 * function makes the scans of a chunk's query look for it. (It is a walker for planstate_tree_walker().)
 */
static bool
look_for_null(PlanState *node, void *nothing)
{
	if (IsA(node, SeqScanState) || IsA(node, IndexScanState) || IsA(node, BitmapHeapScanState) ||
		IsA(node, TidScanState) || IsA(node, TidRangeScanState))
	{
		TupleTableSlot *slot = ((ScanState *) node)->ss_ScanTupleSlot;

		slot->tts_flags &= ~TTS_FLAG_OBEYS_NOT_NULL_CONSTRAINTS;
		slot->tts_first_nonguaranteed = 0;
	}
	return planstate_tree_walker(node, look_for_null, nothing);
}
#endif

/* Sends the rows of the chunk that match to `rows`, with the parent's columns. */
static void
read_chunk(const Query *of_parent, Relation parent, Relation chunk, DestReceiver *rows)
{
	Oid			oid = RelationGetRelid(chunk);
	Query	   *query = copyObject(unconstify(Query *, of_parent));
	RangeTblEntry *rte = linitial_node(RangeTblEntry, query->rtable);
	AttrMap    *map = sb_build_attrmap_by_name_if_req(RelationGetDescr(chunk), RelationGetDescr(parent));
	QueryDesc  *running;
	PlannedStmt *plan;

	rte->relid = oid;
	rte->relkind = chunk->rd_rel->relkind;

	/*
	 * Children of the chunk are chunks of their own. So if it may have some, the query has ONLY. If it has none, the
	 * query has no ONLY, because ONLY might make another extension leave rows out.
	 */
	rte->inh = !chunk->rd_rel->relhassubclass;
	rte->eref = makeAlias(RelationGetRelationName(chunk), rte->eref->colnames);
	if (map != NULL)
	{
		bool		whole_row;

		query->targetList = (List *) map_variable_attnos((Node *) query->targetList, 1, 0, map, InvalidOid, &whole_row);
		query->jointree->quals = map_variable_attnos(query->jointree->quals, 1, 0, map, InvalidOid, &whole_row);
	}
	plan = plan_query(query, oid);
	if (rte->inh && has_subclass(oid))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not read \"%s\" because a child was attached to it", RelationGetRelationName(chunk)),
				 errhint("Try the query again.")));
	running = CreateQueryDesc(plan, "chunk_scan", GetActiveSnapshot(), InvalidSnapshot, rows, NULL, NULL, 0);
	ExecutorStart(running, 0);
#if PG_VERSION_NUM >= 190000
	(void) look_for_null(running->planstate, NULL);
#endif
	sb_executor_run(running);
	ExecutorFinish(running);
	ExecutorEnd(running);
	FreeQueryDesc(running);
}

/* --------------------------------------------------------------------- the functions */

/* Raises an error if the number or the types of the parent's columns were changed before the parent was locked. */
static void
require_expected_columns(Relation parent, TupleDesc expected)
{
	TupleDesc	columns = RelationGetDescr(parent);
	bool		same = expected == NULL || expected->natts == columns->natts;

	for (int i = 0; same && expected != NULL && i < columns->natts; i++)
		same = TupleDescAttr(expected, i)->attisdropped ||
			TupleDescAttr(expected, i)->atttypid == TupleDescAttr(columns, i)->atttypid;
	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not scan the chunks of \"%s\" because its columns were changed meanwhile",
						RelationGetRelationName(parent)),
				 errhint("Try the query again.")));
}

/* A row of chunk_scan_explain(). */
static void
explain_chunk(const ReturnSetInfo *set, Relation chunk, const ChunkVerdict *verdict)
{
	Datum		values[] = {
		ObjectIdGetDatum(RelationGetRelid(chunk)),
		BoolGetDatum(chunk_is_read(verdict)),
		CStringGetTextDatum(chunk_reason_text(verdict)),
	};
	bool		nulls[lengthof(values)] = {false};

	tuplestore_putvalues(set->setResult, set->setDesc, values, nulls);
}

static Datum
scan_chunks(FunctionCallInfo fcinfo, bool any, bool explains)
{
	ReturnSetInfo *set = (ReturnSetInfo *) fcinfo->resultinfo;
	DestReceiver *rows = CreateDestReceiver(DestTuplestore);
	ChunkScan	scan;
	ChunkVerdict verdict;
	Query	   *query = NULL;
	Relation	chunk;

	chunk_scan_begin(&scan, fcinfo, any, explains);
	/* the parent is locked, so its row type does not change any more */
	InitMaterializedSRF(fcinfo, explains ? MAT_SRF_USE_EXPECTED_DESC : 0);
	if (!explains)
	{
		chunk_use_cache(&scan);
		require_expected_columns(scan.parent, set->expectedDesc);
		SetTuplestoreDestReceiverParams(rows, set->setResult, set->econtext->ecxt_per_query_memory, false, NULL, NULL);
		if (scan.clause != NULL)
			query = make_query(&scan);
	}
	while ((explains || query != NULL) && (chunk = chunk_next(&scan, &verdict)) != NULL)
	{
		MemoryContext caller = MemoryContextSwitchTo(scan.chunk_context);

		if (explains)
			explain_chunk(set, chunk, &verdict);
		else if (chunk_is_read(&verdict))
			read_chunk(query, scan.parent, chunk, rows);
		MemoryContextSwitchTo(caller);
		chunk_leave(&scan, chunk, &verdict);
	}
	chunk_scan_end(&scan);
	return (Datum) 0;
}

SB_FUNCTION(chunk_scan);
Datum
chunk_scan(PG_FUNCTION_ARGS)
{
	return scan_chunks(fcinfo, false, false);
}

SB_FUNCTION(chunk_scan_any);
Datum
chunk_scan_any(PG_FUNCTION_ARGS)
{
	return scan_chunks(fcinfo, true, false);
}

SB_FUNCTION(chunk_scan_explain);
Datum
chunk_scan_explain(PG_FUNCTION_ARGS)
{
	return scan_chunks(fcinfo, false, true);
}

/*
 * Makes a kept plan depend on the relation. PostgreSQL does not know that a call does, and would look for the row type
 * of a table that was dropped.
 */
SB_FUNCTION(chunk_scan_support);
Datum
chunk_scan_support(PG_FUNCTION_ARGS)
{
	SupportRequestRows *request = (SupportRequestRows *) PG_GETARG_POINTER(0);
	Oid			row_type;

	if (!IsA(request, SupportRequestRows) || request->root == NULL || request->node == NULL ||
		!IsA(request->node, FuncExpr) || list_length(((FuncExpr *) request->node)->args) != CHUNK_SCAN_ARGUMENTS)
		PG_RETURN_POINTER(NULL);
	row_type = exprType(list_nth(((FuncExpr *) request->node)->args, CHUNK_SCAN_RELATION));
	if (!SearchSysCacheExists1(TYPEOID, ObjectIdGetDatum(row_type)))
		chunk_report_dropped(row_type);
	if (OidIsValid(get_typ_typrelid(row_type)))
		request->root->glob->relationOids = list_append_unique_oid(request->root->glob->relationOids,
																   get_typ_typrelid(row_type));
	PG_RETURN_POINTER(NULL);
}
