/*
 * chunk_scan_exec.c: executes the node ChunkScan.
 *
 * The arguments are evaluated when the first row is wanted, as a function scan evaluates them. They are evaluated
 * again only if one of their parameters has changed (or any parameter, if an argument has a sub-plan). Until then the
 * node keeps its scan over rescans, and does not ask again about chunks that were left alone.
 */
#include "chunks/chunk_scan_node.h"

#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "catalog/objectaccess.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/params.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"

#include "base/own_types.h"
#include "chunks/chunk_conditions.h"
#include "chunks/chunk_scan.h"
#include "chunks/chunk_snapshot.h"

typedef struct ChunkScanState
{
	CustomScanState css;
	FuncExpr   *call;
	bool		any;
	ChunkConditions conditions; /* tested in the chunks */
	List	   *columns;		/* the parent's columns in the node's tuples */
	List	   *arguments;		/* ExprStates of the call's arguments */
	Bitmapset  *parameters;		/* the parameters on which the arguments depend */
	bool		has_subplan;	/* an argument has a sub-plan */
	ExprState  *recheck;		/* the conditions, for EvalPlanQual */
	Index		rti;			/* the number of the function's range table entry */
	TupleTableSlot *whole_row;	/* for EvalPlanQual: a row of the function */

	MemoryContext context;		/* of the scan */
	bool		begun;			/* `scan` has begun, and has not ended */
	ChunkScan	scan;
	ChunkReader reader;
	ChunkCounts counts;			/* of earlier scans */
} ChunkScanState;

static Node *chunk_scan_create(CustomScan *plan);
static void chunk_scan_begin_node(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *chunk_scan_exec(CustomScanState *node);
static void chunk_scan_end_node(CustomScanState *node);
static void chunk_scan_rescan(CustomScanState *node);
static void chunk_scan_show(CustomScanState *node, List *ancestors, ExplainState *es);

const CustomScanMethods chunk_scan_scan_methods = {
	.CustomName = "ChunkScan",
	.CreateCustomScanState = chunk_scan_create,
};

static const CustomExecMethods exec_methods = {
	.CustomName = "ChunkScan",
	.BeginCustomScan = chunk_scan_begin_node,
	.ExecCustomScan = chunk_scan_exec,
	.EndCustomScan = chunk_scan_end_node,
	.ReScanCustomScan = chunk_scan_rescan,
	.ExplainCustomScan = chunk_scan_show,
};

static Node *
chunk_scan_create(CustomScan *plan)
{
	ChunkScanState *state = palloc0(sizeof(ChunkScanState));

	(void) plan;
	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	return (Node *) state;
}

/* --------------------------------------------------------------------- beginning */

/* Notes the PARAM_EXEC parameters of an expression, and whether it has a sub-plan. */
static bool
find_parameters(Node *node, ChunkScanState *state)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		state->parameters = bms_add_member(state->parameters, ((Param *) node)->paramid);
	if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan))
		state->has_subplan = true;
	return expression_tree_walker(node, find_parameters, state);
}

/* Like a function scan, raises an error if the user may not call the function. */
static void
require_execute(Oid function)
{
	AclResult	result;

#if PG_VERSION_NUM >= 160000
	result = object_aclcheck(ProcedureRelationId, function, GetUserId(), ACL_EXECUTE);
#else
	result = pg_proc_aclcheck(function, GetUserId(), ACL_EXECUTE);
#endif
	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_FUNCTION, get_func_name(function));
	InvokeFunctionExecuteHook(function);
}

static void
chunk_scan_begin_node(CustomScanState *node, EState *estate, int eflags)
{
	ChunkScanState *state = (ChunkScanState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;

	(void) eflags;
	state->call = list_nth_node(FuncExpr, plan->custom_exprs, CHUNK_SCAN_CALL);
	state->columns = list_nth(plan->custom_private, CHUNK_SCAN_COLUMNS);
	chunk_conditions_begin(&state->conditions, list_nth(plan->custom_exprs, CHUNK_SCAN_CONDITIONS), state->columns,
						   &node->ss.ps);
	state->any = linitial_int(list_nth(plan->custom_private, CHUNK_SCAN_ANY));
	state->rti = bms_singleton_member(plan->custom_relids);
	require_execute(state->call->funcid);
	state->arguments = ExecInitExprList(state->call->args, &node->ss.ps);
	find_parameters((Node *) state->call->args, state);
	if (estate->es_epq_active != NULL)
	{
		TupleDesc	columns = lookup_rowtype_tupdesc_copy(state->call->funcresulttype, -1);

		state->recheck = ExecInitQual(state->conditions.conditions, &node->ss.ps);
		state->whole_row = ExecInitExtraTupleSlot(estate, columns, &TTSOpsVirtual);
	}
	state->context = AllocSetContextCreate(estate->es_query_cxt, "ChunkScan", ALLOCSET_DEFAULT_SIZES);
}

/*
 * Raises an error if the parent's columns were changed after the query was planned. Only the columns that the query
 * uses count. For a query with *, an added column counts as well, because the query should return it.
 */
static void
require_planned_columns(ChunkScanState *state)
{
	CustomScan *plan = (CustomScan *) state->css.ss.ps.plan;
	TupleDesc	columns = RelationGetDescr(state->scan.parent);
	ListCell   *entry;
	ListCell   *number;

	if (chunk_scan_lacks_columns(columns, linitial_int(list_nth(plan->custom_private, CHUNK_SCAN_STAR))))
		chunk_report_changed(RelationGetRelationName(state->scan.parent));
	forboth(entry, plan->custom_scan_tlist, number, state->columns)
	{
		Expr	   *planned = lfirst_node(TargetEntry, entry)->expr;

		if (lfirst_int(number) == 0)
			continue;
		if (lfirst_int(number) > columns->natts ||
			TupleDescAttr(columns, lfirst_int(number) - 1)->attisdropped ||
			TupleDescAttr(columns, lfirst_int(number) - 1)->atttypid != exprType((Node *) planned))
			chunk_report_changed(RelationGetRelationName(state->scan.parent));
	}
}

/* Evaluates the arguments and begins a scan. */
static void
begin_scan(ChunkScanState *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	MemoryContext caller = MemoryContextSwitchTo(state->context);
	FmgrInfo	function;
	ListCell   *cell;
	LOCAL_FCINFO(fcinfo, CHUNK_SCAN_ARGUMENTS);

	fmgr_info_cxt(state->call->funcid, &function, state->context);
	fmgr_info_set_expr((Node *) state->call, &function);
	InitFunctionCallInfoData(*fcinfo, &function, CHUNK_SCAN_ARGUMENTS, state->call->inputcollid, NULL, NULL);
	/* The values are evaluated in the memory of the scan, because the scan uses them until it ends. */
	foreach(cell, state->arguments)
	{
		NullableDatum *value = &fcinfo->args[foreach_current_index(cell)];

		value->value = ExecEvalExpr((ExprState *) lfirst(cell), econtext, &value->isnull);
		if (foreach_current_index(cell) == CHUNK_SCAN_RELATION)
			value->isnull = true;	/* only the argument's type is used, which may have been dropped */
		if (!value->isnull)
		{
			int16		length;
			bool		by_value;

			get_typlenbyval(exprType(list_nth(state->call->args, foreach_current_index(cell))), &length, &by_value);
			value->value = datumCopy(value->value, by_value, length);
		}
	}
	chunk_scan_begin(&state->scan, fcinfo, state->any,
					 list_nth(((CustomScan *) state->css.ss.ps.plan)->custom_private, CHUNK_SCAN_SELECTED));
	chunk_use_cache(&state->scan);
	state->scan.index_clause.asker.wants_reason = state->css.ss.ps.state->es_instrument != 0;
	state->begun = true;
	require_planned_columns(state);
	memset(&state->reader, 0, sizeof state->reader);
	state->reader.scan = &state->scan;
	state->reader.columns = state->columns;
	if (state->conditions.conditions != NIL)
	{
		state->conditions.parent = state->scan.parent;
		state->conditions.context = state->scan.query_context;
		state->reader.conditions = chunk_conditions_adapt;
		state->reader.argument = &state->conditions;
	}
	MemoryContextSwitchTo(caller);
}

static void
end_scan(ChunkScanState *state)
{
	if (!state->begun)
		return;
	state->begun = false;
	chunk_read_stop(&state->reader);
	chunk_add_counts(&state->counts, &state->scan.counts);
	chunk_scan_end(&state->scan);
	MemoryContextReset(state->context);
}

/* --------------------------------------------------------------------- running */

/*
 * Returns the next row in the node's slot; the slot is empty if there is no row left. The values are not copied from
 * the row that was read, so they are valid only until the next call.
 */
static TupleTableSlot *
next_row(ScanState *node)
{
	ChunkScanState *state = (ChunkScanState *) node;
	TupleTableSlot *slot = ExecClearTuple(node->ss_ScanTupleSlot);
	TupleTableSlot *row;
	Snapshot	snapshot = node->ps.state->es_snapshot;
	bool		other_is_active = GetActiveSnapshot() != snapshot;

	/*
	 * The scan asks and reads with the active snapshot, and keeps the snapshot's address from row to row. So the
	 * active snapshot must be that of the execution. The two can differ in an SQL function that returns its rows one
	 * by one.
	 */
	if (other_is_active)
		PushActiveSnapshot(snapshot);
	if (!state->begun)
		begin_scan(state);
	row = chunk_read_next(&state->reader);
	if (other_is_active)
		PopActiveSnapshot();
	if (row == NULL)
		return slot;
	slot_getallattrs(row);
	memcpy(slot->tts_values, row->tts_values, slot->tts_tupleDescriptor->natts * sizeof(Datum));
	memcpy(slot->tts_isnull, row->tts_isnull, slot->tts_tupleDescriptor->natts * sizeof(bool));
	return ExecStoreVirtualTuple(slot);
}

/*
 * EvalPlanQual calls this to test a row of a join again, after the row of another table of the join was changed. As
 * for a function scan, the function's row stays the one that the join had, and the conditions are tested again. For a
 * node with scanrelid 0 the executor does not fetch this row, so the node does.
 */
static bool
recheck_row(ScanState *node, TupleTableSlot *slot)
{
	ChunkScanState *state = (ChunkScanState *) node;
	EPQState   *epq = node->ps.state->es_epq_active;
	ListCell   *cell;

	ExecClearTuple(slot);
	if (epq->relsubs_done[state->rti - 1])
		return false;
	if (epq->relsubs_rowmark[state->rti - 1] == NULL)
		return !TupIsNull(next_row(node));	/* there is no row to test again: read the next one, as other scans do */
	epq->relsubs_done[state->rti - 1] = true;
	if (!EvalPlanQualFetchRowMark(epq, state->rti, state->whole_row))
		return false;
	slot_getallattrs(state->whole_row);
	foreach(cell, state->columns)
	{
		int			i = foreach_current_index(cell);
		int			number = lfirst_int(cell);

		if (number == 0)
		{
			slot->tts_values[i] = ExecFetchSlotHeapTupleDatum(state->whole_row);
			slot->tts_isnull[i] = false;
		}
		else if (number <= state->whole_row->tts_tupleDescriptor->natts)
		{
			slot->tts_values[i] = state->whole_row->tts_values[number - 1];
			slot->tts_isnull[i] = state->whole_row->tts_isnull[number - 1];
		}
		else
			slot->tts_isnull[i] = true;
	}
	ExecStoreVirtualTuple(slot);
	node->ps.ps_ExprContext->ecxt_scantuple = slot;
	return ExecQual(state->recheck, node->ps.ps_ExprContext);
}

static TupleTableSlot *
chunk_scan_exec(CustomScanState *node)
{
	return ExecScan(&node->ss, next_row, recheck_row);
}

static void
chunk_scan_rescan(CustomScanState *node)
{
	ChunkScanState *state = (ChunkScanState *) node;
	const Bitmapset *changed = node->ss.ps.chgParam;

	ExecScanReScan(&node->ss);
	if (!state->begun)
		return;
	if (bms_overlap(changed, state->parameters) || (state->has_subplan && changed != NULL))
		end_scan(state);
	else
		chunk_read_stop(&state->reader);	/* before the next row, the conditions' parameters are evaluated again */
}

static void
chunk_scan_end_node(CustomScanState *node)
{
	end_scan((ChunkScanState *) node);
}

/* -------------------------------------------------------------------- explaining */

/* The name of the relation whose row type this is, as EXPLAIN shows names. */
static char *
relation_of_type(Oid type, bool verbose)
{
	Oid			relation = get_typ_typrelid(type);
	char	   *name = OidIsValid(relation) ? get_rel_name(relation) : NULL;
	char	   *schema = name != NULL && verbose ? get_namespace_name(get_rel_namespace(relation)) : NULL;

	if (name == NULL)
		return format_type_extended(type, -1, 0);	/* "???" if it was dropped */
	return schema == NULL ? pstrdup(quote_identifier(name)) : quote_qualified_identifier(schema, name);
}

static bool
is_null(const Node *node)
{
	return IsA(node, Const) && ((const Const *) node)->constisnull;
}

static void
chunk_scan_show(CustomScanState *node, List *ancestors, ExplainState *es)
{
	ChunkScanState *state = (ChunkScanState *) node;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
	bool		prefix = list_length(es->rtable) > 1 || es->verbose;
	Node	   *column = list_nth(state->call->args, CHUNK_SCAN_COLUMN);
	Node	   *summaries = list_nth(state->call->args, CHUNK_SCAN_SUMMARIES);
	Node	   *item = list_nth(state->call->args, CHUNK_SCAN_VALUE);
	Node	   *operator = list_nth(state->call->args, CHUNK_SCAN_OPERATOR);
	char	   *value;
	const char *name;
	ChunkCounts counts = state->counts;

	if (IsA(column, Const) && !((Const *) column)->constisnull && ((Const *) column)->consttype == NAMEOID)
		name = quote_identifier(NameStr(*DatumGetName(((Const *) column)->constvalue)));
	else
		name = deparse_expression(column, context, prefix, false);
	if (is_null(item))
		value = pstrdup("NULL");
	else if (IsA(item, Const) && is_untyped_item(exprType(item)))
		value = quote_literal_cstr(TextDatumGetCString(((Const *) item)->constvalue));
	else
		value = deparse_expression(item, context, prefix, false);
	ExplainPropertyText("Chunks of", relation_of_type(exprType(linitial(state->call->args)), es->verbose), es);
	ExplainPropertyText("Looks for",
						psprintf(state->any ? "%s %s ANY (%s)" : "%s %s %s", name,
								 IsA(operator, Const) && !is_null(operator) ?
								 TextDatumGetCString(((Const *) operator)->constvalue) :
								 deparse_expression(operator, context, prefix, false), value), es);
	if (!is_null(summaries))
		ExplainPropertyText("Summaries", deparse_expression(summaries, context, prefix, false), es);
	if (state->conditions.conditions != NIL)
		ExplainPropertyText("Filter in Chunks",
							deparse_expression((Node *) make_ands_explicit(state->conditions.conditions), context,
											   prefix, false), es);
	if (!es->analyze)
		return;
	if (state->begun)
		chunk_add_counts(&counts, &state->scan.counts);
	chunk_explain_counts(&counts, es);
}
