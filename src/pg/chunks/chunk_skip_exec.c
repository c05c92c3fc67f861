/*
 * chunk_skip_exec.c: runs the node ChunkSkip. It stands above an Append or MergeAppend of partitions, and leaves out
 * those that their bf indexes rule out. If children are left out when the execution begins, the node executes a copy
 * of the Append without them. chunk_skip_ask.c says when the indexes are asked.
 */
#include "chunks/chunk_skip_state.h"

#include "common/int.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "chunks/finished_plan.h"
#include "chunks/partitions_in_use.h"

static Node *chunk_skip_create(CustomScan *plan);
static void chunk_skip_begin(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *chunk_skip_next(CustomScanState *node);
static void chunk_skip_end(CustomScanState *node);
static void chunk_skip_rescan(CustomScanState *node);

const CustomScanMethods chunk_skip_scan_methods = {
	.CustomName = "ChunkSkip",
	.CreateCustomScanState = chunk_skip_create,
};

static const CustomExecMethods exec_methods = {
	.CustomName = "ChunkSkip",
	.BeginCustomScan = chunk_skip_begin,
	.ExecCustomScan = chunk_skip_next,
	.EndCustomScan = chunk_skip_end,
	.ReScanCustomScan = chunk_skip_rescan,
	.ExplainCustomScan = chunk_skip_explain,
};

static Node *
chunk_skip_create(CustomScan *plan)
{
	ChunkSkipState *state = palloc0(sizeof(ChunkSkipState));

	(void) plan;
	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	return (Node *) state;
}

static List *
children_of(Plan *append)
{
	return IsA(append, Append) ? ((Append *) append)->appendplans : ((MergeAppend *) append)->mergeplans;
}

/* Returns a copy of the Append or MergeAppend that has only the children that are kept. */
static Plan *
with_fewer_children(const ChunkSkipState *state, Plan *append)
{
	List	   *kept = NIL;
	ListCell   *cell;

	foreach(cell, children_of(append))
		if (state->place[foreach_current_index(cell)] >= 0)
			kept = lappend(kept, lfirst(cell));
	if (IsA(append, Append))
	{
		Append	   *copy = memcpy(palloc(sizeof(Append)), append, sizeof(Append));

		copy->appendplans = kept;
		copy->first_partial_plan = list_length(kept);
		return (Plan *) copy;
	}
	else
	{
		MergeAppend *copy = memcpy(palloc(sizeof(MergeAppend)), append, sizeof(MergeAppend));

		copy->mergeplans = kept;
		return (Plan *) copy;
	}
}

/* Is an index asked about an array? */
static bool
has_array(const ChunkSkipState *state)
{
	for (int i = 0; i < state->set_count; i++)
		for (int k = 0; k < state->sets[i].count; k++)
			if ((state->sets[i].keys[k].flags & SK_SEARCHARRAY) != 0)
				return true;
	return false;
}

/*
 * Keeps the own session from altering, truncating or dropping the children that are left out, as PostgreSQL does for
 * those that are read (partitions_in_use.h).
 */
static void
keep_left_out_in_use(const ChunkSkipState *state)
{
	MemoryContext execution = state->css.ss.ps.state->es_query_cxt;
	Oid		   *left_out = MemoryContextAlloc(execution, state->index_count * sizeof(Oid) + 1);
	int			count = 0;

	for (int i = 0; i < state->index_count; i++)
		if (state->place[state->indexes[i].child] < 0)
			left_out[count++] = state->indexes[i].heap;
	partitions_in_use_begin(execution, left_out, count);
}

/* Reads from the plan which LIMIT stands above the node. */
static void
read_limit(ChunkSkipState *state, const CustomScan *plan)
{
	List	   *limit = list_nth(plan->custom_private, CHUNK_SKIP_LIMIT);

	if (limit == NIL)
		return;
	state->limit = ExecInitExpr(linitial(limit), &state->css.ss.ps);
	state->offset = ExecInitExpr(lsecond(limit), &state->css.ss.ps);
}

/*
 * Tells the Sorts below how many rows of the scan that begins will be wanted, so that they keep only these. The
 * executor's node Limit does so, too, but does not reach Sorts below a custom scan (ExecSetTupleBound()). That node has
 * evaluated the expressions of LIMIT and OFFSET just before. So an error in them was raised there already.
 */
static void
tell_limit(ChunkSkipState *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	bool		isnull;
	bool		no_offset = true;
	int64		rows;
	Datum		limit = ExecEvalExprSwitchContext(state->limit, econtext, &isnull);
	Datum		offset = state->offset == NULL ? 0 :
		ExecEvalExprSwitchContext(state->offset, econtext, &no_offset);

	if (isnull || pg_add_s64_overflow(DatumGetInt64(limit), no_offset ? 0 : DatumGetInt64(offset), &rows))
		rows = -1;				/* all rows may be wanted */
	ExecSetTupleBound(rows, outerPlanState(state));
	state->knows_limit = true;
}

static void
chunk_skip_begin(CustomScanState *node, EState *estate, int eflags)
{
	ChunkSkipState *state = (ChunkSkipState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	Plan	   *append = outerPlan(plan);

	/* the rows are passed on in the children's slots, which may be of any kind */
	node->ss.ps.resultopsset = true;
	node->ss.ps.resultopsfixed = false;

	read_limit(state, plan);
	state->stands_aside = !chunk_skip_enabled || finished_nodes_stand_aside(estate);
	if (state->stands_aside)
	{
		outerPlanState(node) = ExecInitNode(append, estate, eflags);
		return;
	}

	state->children = list_length(children_of(append));
	state->place = palloc0(state->children * sizeof(int));
	chunk_skip_read_plan(state, plan);
	state->asks_nothing = sb_is_generic_explain(eflags) ||
		((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0 && linitial_int(list_nth(plan->custom_private, CHUNK_SKIP_GUARDED)));
	if (state->asks_nothing)
		for (int i = 0; i < state->children; i++)
			state->place[i] = state->kept++;
	else
		chunk_skip_ask_at_start(state);
	chunk_skip_find_wanted(state);
	if (state->kept < state->children)
		keep_left_out_in_use(state);
	if (state->kept == state->children)
		outerPlanState(node) = ExecInitNode(append, estate, eflags);
	else if (state->kept > 0)
		outerPlanState(node) = ExecInitNode(with_fewer_children(state, append), estate, eflags);
	state->ask_before_next_row = state->late && state->kept > 0;
	state->may_hash = has_array(state) && !state->asks_nothing;
	if (!state->late)
		chunk_skip_count_reasons(state, NULL);
}

/*
 * Makes the scans test arrays by hash (chunk_skip_hash.c). The arguments that are evaluated here were evaluated before,
 * when the indexes were asked, so this raises no new error. An argument that is known when the execution begins is
 * taken even if no index is asked about it, because a child without such an index may compare with it, too.
 */
static void
hash_arrays(ChunkSkipState *state)
{
	const CustomScan *plan = (const CustomScan *) state->css.ss.ps.plan;
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	MemoryContext caller = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	Datum	   *values = palloc(state->argument_count * sizeof(Datum));
	bool	   *isnull = palloc(state->argument_count * sizeof(bool));
	int			count;
	PlanState **children = chunk_skip_children(outerPlanState(state), &count);

	for (int i = 0; i < state->argument_count; i++)
	{
		isnull[i] = true;
		if ((state->arguments[i].wanted || state->arguments[i].known) &&
			OidIsValid(get_element_type(exprType(list_nth(plan->custom_exprs, i)))))
			values[i] = ExecEvalExprSwitchContext(state->arguments[i].expression, econtext, &isnull[i]);
	}
	state->hashed = chunk_skip_hash_arrays(children, count, plan->custom_exprs, values, isnull, state->hashed);
	state->scans_hashed = list_length(state->hashed);
	pfree(values);
	pfree(isnull);
	MemoryContextSwitchTo(caller);
	ResetExprContext(econtext);
}

static TupleTableSlot *
chunk_skip_next(CustomScanState *node)
{
	ChunkSkipState *state = (ChunkSkipState *) node;

	if (state->ask_before_next_row)
	{
		state->ask_before_next_row = false;
		chunk_skip_ask_for_scan(state);
	}
	if (state->no_child_in_scan || outerPlanState(node) == NULL)
		return NULL;
	if (state->may_hash)
	{
		state->may_hash = false;
		hash_arrays(state);
	}
	if (state->limit != NULL && !state->knows_limit)
		tell_limit(state);
	return ExecProcNode(outerPlanState(node));
}

static void
chunk_skip_rescan(CustomScanState *node)
{
	ChunkSkipState *state = (ChunkSkipState *) node;
	PlanState  *append = outerPlanState(node);

	if (append == NULL)
		return;
	/* Sort nodes below must know the LIMIT before they decide whether they return the rows of the last scan again. */
	if (state->limit != NULL)
		tell_limit(state);
	if (bms_overlap(node->ss.ps.chgParam, state->parameters))
	{
		state->ask_before_next_row = true;
		state->may_hash = false;
		chunk_skip_forget_hashed(state->hashed);
		state->hashed = NIL;
	}
	/* If parameters of the Append have changed, the executor rescans it when the next row is wanted. */
	if (append->chgParam == NULL)
		ExecReScan(append);
}

static void
chunk_skip_end(CustomScanState *node)
{
	if (outerPlanState(node) != NULL)
		ExecEndNode(outerPlanState(node));
}
