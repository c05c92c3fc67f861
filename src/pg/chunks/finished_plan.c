/* finished_plan.c: functions for the nodes that are put into finished plans (see finished_plan.h). */
#include "chunks/finished_plan.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/snapmgr.h"

/*
 * Is this the execution of a plan that a parallel worker got from its leader? A worker also executes statements of
 * functions, which it has planned itself. Their relationOids are not empty, unless a statement has no tables. The
 * relationOids of the leader's plan are always empty (ExecSerializePlan()).
 */
static bool
is_sent_by_leader(const EState *estate)
{
	return IsParallelWorker() && estate->es_plannedstmt->relationOids == NIL;
}

bool
finished_nodes_stand_aside(const EState *estate)
{
	return estate->es_epq_active != NULL || is_sent_by_leader(estate) || estate->es_snapshot == NULL ||
		!IsMVCCSnapshot(estate->es_snapshot);
}

/* ------------------------------------------------------------------- a new node */

bool
finished_visit_below(const Plan *plan, bool (*visit) (Plan *below, void *argument), void *argument)
{
	const List *list = NIL;
	ListCell   *cell;

	check_stack_depth();
	if (IsA(plan, Append))
		list = ((const Append *) plan)->appendplans;
	else if (IsA(plan, MergeAppend))
		list = ((const MergeAppend *) plan)->mergeplans;
	else if (IsA(plan, BitmapAnd))
		list = ((const BitmapAnd *) plan)->bitmapplans;
	else if (IsA(plan, BitmapOr))
		list = ((const BitmapOr *) plan)->bitmapplans;
	else if (IsA(plan, CustomScan))
		list = ((const CustomScan *) plan)->custom_plans;
	else if (IsA(plan, SubqueryScan) && visit(((const SubqueryScan *) plan)->subplan, argument))
		return true;
	foreach(cell, list)
		if (visit(lfirst(cell), argument))
			return true;
	return (outerPlan(plan) != NULL && visit(outerPlan(plan), argument)) ||
		(innerPlan(plan) != NULL && visit(innerPlan(plan), argument));
}

/* Raises *largest to the largest plan_node_id in a tree of plans. */
static bool
find_largest_id(Plan *plan, void *largest)
{
	*(int *) largest = Max(*(int *) largest, plan->plan_node_id);
	return finished_visit_below(plan, find_largest_id, largest);
}

/* Returns an id for a new node, unique in the statement: workers report what they have measured by ids of nodes. */
static int
new_id(FinishedStatement *finished)
{
	if (finished->last_id < 0)
	{
		ListCell   *cell;

		finished->last_id = 0;
		(void) find_largest_id(finished->statement->planTree, &finished->last_id);
		foreach(cell, finished->statement->subplans)
			if (lfirst(cell) != NULL)
				(void) find_largest_id(lfirst(cell), &finished->last_id);
	}
	return ++finished->last_id;
}

CustomScan *
finished_make_node(FinishedStatement *finished, Plan *below)
{
	CustomScan *node = makeNode(CustomScan);
	Plan	   *plan = &node->scan.plan;
	ListCell   *cell;

	plan->startup_cost = below->startup_cost;
	plan->total_cost = below->total_cost;
	plan->plan_rows = below->plan_rows;
	plan->plan_width = below->plan_width;
	plan->parallel_safe = below->parallel_safe; /* in a worker the node only passes rows on */
	plan->plan_node_id = new_id(finished);
	plan->extParam = bms_copy(below->extParam);
	plan->allParam = bms_copy(below->allParam);
	plan->initPlan = below->initPlan;
	below->initPlan = NIL;
	plan->lefttree = below;
	foreach(cell, below->targetlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);
		Node	   *value = (Node *) entry->expr;
		Var		   *of_below = makeVar(OUTER_VAR, entry->resno, exprType(value), exprTypmod(value),
									   exprCollation(value), 0);
		Var		   *own = copyObject(of_below);

		own->varno = INDEX_VAR;
		entry = flatCopyTargetEntry(entry);
		entry->expr = (Expr *) of_below;
		node->custom_scan_tlist = lappend(node->custom_scan_tlist, entry);
		entry = flatCopyTargetEntry(entry);
		entry->expr = (Expr *) own;
		plan->targetlist = lappend(plan->targetlist, entry);
	}
	return node;
}

/* --------------------------------------------------------------------- initPlans */

/* Appends the SubPlans of all initPlans in a tree of plans to a list. */
static bool
find_init_plans(Plan *plan, void *list)
{
	*(List **) list = list_concat(*(List **) list, plan->initPlan);
	return finished_visit_below(plan, find_init_plans, list);
}

const SubPlan *
finished_init_plan(FinishedStatement *finished, int parameter)
{
	ListCell   *cell;

	if (!finished->has_init_plans)
	{
		(void) find_init_plans(finished->statement->planTree, &finished->init_plans);
		foreach(cell, finished->statement->subplans)
			if (lfirst(cell) != NULL)
				(void) find_init_plans(lfirst(cell), &finished->init_plans);
		finished->has_init_plans = true;
	}
	foreach(cell, finished->init_plans)
		if (list_member_int(lfirst_node(SubPlan, cell)->setParam, parameter))
			return lfirst_node(SubPlan, cell);
	return NULL;
}

/* -------------------------------------------------------------- clauses of scans */

List *
finished_clauses_of_scan(const Scan *scan)
{
	if (IsA(scan, IndexScan))
		return list_concat_copy(((const IndexScan *) scan)->indexqualorig, scan->plan.qual);
	if (IsA(scan, BitmapHeapScan))
		return list_concat_copy(((const BitmapHeapScan *) scan)->bitmapqualorig, scan->plan.qual);
	return list_copy(scan->plan.qual);
}

List *
chunk_leakproof_clauses(List *clauses)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, clauses)
		if (!contain_leaked_vars(lfirst(cell)))
			result = lappend(result, lfirst(cell));
	return result;
}

List *
finished_leakproof_clauses(const FinishedStatement *finished, Oid table, List *clauses, bool *guarded)
{
	*guarded = list_member_oid(finished->guarded, table);
	return *guarded ? chunk_leakproof_clauses(clauses) : clauses;
}

/* Does this bitmap come from the index, or partly from it? */
static bool
bitmap_uses(Plan *plan, Oid index)
{
	ListCell   *cell;
	List	   *children;

	if (IsA(plan, BitmapIndexScan))
		return ((BitmapIndexScan *) plan)->indexid == index;
	if (IsA(plan, BitmapAnd))
		children = ((BitmapAnd *) plan)->bitmapplans;
	else if (IsA(plan, BitmapOr))
		children = ((BitmapOr *) plan)->bitmapplans;
	else
		return false;
	foreach(cell, children)
		if (bitmap_uses(lfirst(cell), index))
			return true;
	return false;
}

/*
 * If a scan costs no more than reading this many pages in random order, its bf index is not asked, because a question
 * reads one or two pages of the bf index. For comparison: an index scan of a B-tree that finds one row costs a little
 * more than 2 random_page_cost, for a page of the index and one of the table. If it finds two rows, it costs a little
 * more than 3 random_page_cost.
 */
#define PAGES_NOT_WORTH_A_QUESTION 2.5

/* A bitmap scan of the bf index itself is never cheap: it does what the question does, and then reads the table. */
bool
finished_is_cheap(const Scan *scan, Oid index)
{
	if (IsA(scan, BitmapHeapScan) && bitmap_uses(outerPlan(scan), index))
		return false;
	return scan->plan.total_cost <= PAGES_NOT_WORTH_A_QUESTION * random_page_cost;
}

bool
finished_is_pruned_at_run_time(const Plan *plan)
{
#if PG_VERSION_NUM >= 180000
	return (IsA(plan, Append) ? ((const Append *) plan)->part_prune_index :
			((const MergeAppend *) plan)->part_prune_index) >= 0;
#else
	return (IsA(plan, Append) ? ((const Append *) plan)->part_prune_info :
			((const MergeAppend *) plan)->part_prune_info) != NULL;
#endif
}
