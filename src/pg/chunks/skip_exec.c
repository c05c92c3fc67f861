/*
 * skip_exec.c: runs the node Skip. Before the first row of each scan it asks (skip_ask.c). Then it returns nothing,
 * has a sequential scan read *spans* of consecutive pages, one after the other, or passes on the rows of the scan
 * below; in this last case PostgreSQL no longer calls the node's own function, since a test for each row would cost
 * time.
 *
 * In a serial plan the scan below is initialized only when the verdict wants it: of a thousand partitions that hold
 * nothing this is two thirds of the time. In a parallel plan it is initialized at once, in each process: PostgreSQL
 * lays out what the processes of a parallel scan share by the nodes that are there, and without it each would read
 * all rows.
 */
#include "chunks/skip.h"

#include "access/heapam.h"
#include "access/parallel.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "utils/rel.h"
#include "utils/syscache.h"

static inline Plan *
plan_below(const SkipState *state)
{
	return linitial(((CustomScan *) state->css.ss.ps.plan)->custom_plans);
}

/* A copy of the plan of the scan below that returns what this node is to return, which the planner may have changed. */
static Plan *
with_own_targets(const SkipState *state)
{
	const Plan *plan = plan_below(state);
	Size		size = IsA(plan, SeqScan) ? sizeof(SeqScan) : IsA(plan, IndexScan) ? sizeof(IndexScan) :
		sizeof(BitmapHeapScan);
	Plan	   *copy = memcpy(palloc(size), plan, size);

	copy->targetlist = state->css.ss.ps.plan->targetlist;
	return copy;
}

/*
 * Before the scan below is initialized its indexes are not open, so PostgreSQL lets the own session drop them. In an
 * ordinary plan the command would have been refused with this error.
 */
static void
refuse_dropped(const Plan *plan)
{
	const Oid	index = IsA(plan, IndexScan) ? ((const IndexScan *) plan)->indexid :
		IsA(plan, BitmapIndexScan) ? ((const BitmapIndexScan *) plan)->indexid : InvalidOid;
	const List *plans = IsA(plan, BitmapAnd) ? ((const BitmapAnd *) plan)->bitmapplans :
		IsA(plan, BitmapOr) ? ((const BitmapOr *) plan)->bitmapplans : NIL;
	const ListCell *cell;

	if (OidIsValid(index) && !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(index)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("an index was dropped by this session while a query was to read it"),
				 errhint("Drop indexes before or after the query.")));
	foreach(cell, plans)
		refuse_dropped(lfirst(cell));
	if (outerPlan(plan) != NULL)
		refuse_dropped(outerPlan(plan));
}

/* Initializes the scan below, unless this was done. */
static void
begin_below(SkipState *state)
{
	EState	   *estate = state->css.ss.ps.state;
	MemoryContext caller;

	if (outerPlanState(state) != NULL)
		return;
	caller = MemoryContextSwitchTo(estate->es_query_cxt);
	outerPlanState(state) = ExecInitNode(with_own_targets(state), estate, state->eflags);
	/* WHERE CURRENT OF takes this node for the scan of the table, and looks at its slot for the current row */
	state->css.ss.ss_ScanTupleSlot = ((ScanState *) outerPlanState(state))->ss_ScanTupleSlot;
	MemoryContextSwitchTo(caller);
}

static void
read_joins(SkipState *state, List *joins)
{
	ListCell   *cell;

	state->join_count = list_length(joins);
	state->joins = palloc0(state->join_count * sizeof(SkipJoin));
	foreach(cell, joins)
	{
		const List *numbers = lfirst(cell);

		state->joins[foreach_current_index(cell)] = (SkipJoin) {
			.index = (Oid) linitial_int(numbers),
			.column = lsecond_int(numbers),
			.parameter = lthird_int(numbers),
			.set = lfourth_int(numbers),
		};
	}
}

static void
skip_begin(CustomScanState *node, EState *estate, int eflags)
{
	SkipState  *state = (SkipState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	const Plan *below = plan_below(state);
	int			parent = linitial_int(list_nth(plan->custom_private, SKIP_PARENT));

	/* The rows are those of the scan below, in its slots. The projection that was made for this node is not used. */
	node->ss.ps.resultopsset = true;
	node->ss.ps.resultopsfixed = false;
	node->ss.ps.subPlan = NIL;
	state->eflags = eflags;
	GetUserIdAndSecContext(&state->asking.user, &state->asking.security);
	state->parent = parent != 0 ? (int) plan->scan.scanrelid + parent : 0;
	read_joins(state, list_nth(plan->custom_private, SKIP_JOINS));
	state->by_pages = IsA(below, SeqScan) && !below->parallel_aware &&
		(eflags & (EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK)) == 0 &&
		node->ss.ss_currentRelation->rd_tableam == GetHeapamTableAmRoutine();
	if (estate->es_instrument != 0)
		skip_shared_of(estate)->nodes = lappend(skip_shared_of(estate)->nodes, state);
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0 || IsParallelWorker() || estate->es_plannedstmt->parallelModeNeeded)
		begin_below(state);
}

/* -------------------------------------------------------------- reading some pages */

/* Begins a sequential scan as the scan node would, but one that is not synchronized with others. */
static TableScanDesc
begin_limited_scan(ScanState *scan)
{
	const EState *estate = scan->ps.state;

#if PG_VERSION_NUM >= 190000
	return table_beginscan_common(scan->ss_currentRelation, estate->es_snapshot, 0, NULL, NULL,
								  SO_TYPE_SEQSCAN | SO_ALLOW_STRAT | SO_ALLOW_PAGEMODE,
								  (ScanRelIsReadOnly(scan) ? SO_HINT_REL_READ_ONLY : SO_NONE) |
								  ((estate->es_instrument & INSTRUMENT_IO) != 0 ? SO_SCAN_INSTRUMENT : SO_NONE));
#else
	return table_beginscan_strat(scan->ss_currentRelation, estate->es_snapshot, 0, NULL, true, false);
#endif
}

/* Makes the sequential scan read these pages next, from the first one on. */
static void
limit_scan(ScanState *scan, BlockNumber first, BlockNumber pages)
{
	/* A synchronized scan, as the scan node may have begun one for an earlier scan of all pages, cannot be limited. */
	if (scan->ss_currentScanDesc != NULL && (scan->ss_currentScanDesc->rs_flags & SO_ALLOW_SYNC) != 0)
	{
		table_endscan(scan->ss_currentScanDesc);
		scan->ss_currentScanDesc = NULL;
	}
	if (scan->ss_currentScanDesc == NULL)
		scan->ss_currentScanDesc = begin_limited_scan(scan);
	else
		table_rescan(scan->ss_currentScanDesc, NULL);
	heap_setscanlimits(scan->ss_currentScanDesc, first, pages);
}

/* Returns the next row of the pages that are left, or NULL. */
static TupleTableSlot *
next_of_some(SkipState *state)
{
	for (;;)
	{
		TupleTableSlot *row = state->next == 0 ? NULL : ExecProcNode(outerPlanState(state));
		const BfSpan *span;

		if (!TupIsNull(row) || state->next == state->left.count)
			return row;
		span = &state->left.spans[state->next++];
		limit_scan((ScanState *) outerPlanState(state), span->first, span->end - span->first);
		state->limited = true;
	}
}

/* -------------------------------------------------------------------------- running */

static TupleTableSlot *
pass_on(PlanState *node)
{
	return ExecProcNode(outerPlanState(node));
}

/* Gives the verdict of the scan that begins, and makes the scan below ready for it. */
static void
decide(SkipState *state)
{
	PlanState  *node = &state->css.ss.ps;

	state->decided = true;
	state->next = 0;
	if (!state->kept)
		state->verdict = skip_ask(state);
	state->scans[state->verdict]++;
	if (state->verdict == SKIP_NONE)
		return;
	if (outerPlanState(node) == NULL)
		refuse_dropped(plan_below(state));
	chunk_exchange_user(&state->asking);
	begin_below(state);
	if (!state->kept)
		chunk_hash_arrays(&state->hashed, &state->asking, &state->question, outerPlanState(node));
	chunk_exchange_user(&state->asking);
	/* a rescan that is still due would remove the limits */
	if (outerPlanState(node)->chgParam != NULL)
		ExecReScan(outerPlanState(node));
	if (state->verdict == SKIP_SOME)
		return;
	if (state->limited)
		limit_scan((ScanState *) outerPlanState(node), 0, InvalidBlockNumber);
	state->own = node->ExecProcNodeReal;
	ExecSetExecProcNode(node, pass_on);
}

static TupleTableSlot *
skip_next(CustomScanState *node)
{
	SkipState  *state = (SkipState *) node;

	if (!state->decided)
		decide(state);
	switch (state->verdict)
	{
		case SKIP_NONE:
			return NULL;
		case SKIP_SOME:
			return next_of_some(state);
		default:
			return ExecProcNode(outerPlanState(node));
	}
}

static void
skip_rescan(CustomScanState *node)
{
	SkipState  *state = (SkipState *) node;

	/* What the indexes have said of these values stays true for the snapshot. A stable function may give other ones. */
	state->kept = (state->decided || state->kept) && state->join_count == 0 &&
		!bms_overlap(node->ss.ps.chgParam, state->parameters) &&
		!contain_mutable_functions((Node *) ((CustomScan *) node->ss.ps.plan)->custom_exprs);
	state->decided = false;
	if (!state->kept)
		chunk_forget_hashed(&state->hashed);
	if (state->own != NULL)
		ExecSetExecProcNode(&node->ss.ps, state->own);
	state->own = NULL;
	/* If parameters of the scan below have changed, the executor rescans it when the next row is wanted. */
	if (outerPlanState(node) != NULL && outerPlanState(node)->chgParam == NULL)
		ExecReScan(outerPlanState(node));
}

static void
skip_mark(CustomScanState *node)
{
	ExecMarkPos(outerPlanState(node));	/* after a row of it */
}

static void
skip_restore(CustomScanState *node)
{
	ExecRestrPos(outerPlanState(node));
}

static void
skip_end(CustomScanState *node)
{
	if (outerPlanState(node) != NULL)
		ExecEndNode(outerPlanState(node));
}

static const CustomExecMethods exec_methods = {
	.CustomName = "Skip",
	.BeginCustomScan = skip_begin,
	.ExecCustomScan = skip_next,
	.EndCustomScan = skip_end,
	.ReScanCustomScan = skip_rescan,
	.MarkPosCustomScan = skip_mark,
	.RestrPosCustomScan = skip_restore,
	.ExplainCustomScan = skip_explain,
};

static Node *
skip_create(CustomScan *plan)
{
	SkipState  *state = palloc0(sizeof(SkipState));

	(void) plan;
	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	return (Node *) state;
}

const CustomScanMethods skip_scan_methods = {
	.CustomName = "Skip",
	.CreateCustomScanState = skip_create,
};
