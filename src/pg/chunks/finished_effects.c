/* finished_effects.c: finds side effects in finished plans (see finished_effects.h). */
#include "chunks/finished_effects.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"

/* A walk through plans, and through the CTEs and sub-plans that they evaluate. */
typedef struct PlanWalk
{
	FinishedStatement *finished;
	Bitmapset  *visited;		/* plan_ids of the CTEs and sub-plans that were visited */
} PlanWalk;

static bool visit_whole_plan(Plan *plan, void *argument);

/*
 * Goes on with a CTE or a sub-plan, unless the walk has visited it before. (If this CTE or sub-plan had side effects,
 * the walk would have ended at the first visit.)
 */
static bool
visit_sub_plan(int plan_id, PlanWalk *walk)
{
	Plan	   *plan = list_nth(walk->finished->statement->subplans, plan_id - 1);

	if (plan == NULL || bms_is_member(plan_id, walk->visited))
		return false;
	walk->visited = bms_add_member(walk->visited, plan_id);
	return visit_whole_plan(plan, walk);
}

/* Goes on with the sub-plans of an expression, and with the initPlans whose results are among its parameters. */
static bool
visit_sub_plans(Node *node, PlanWalk *walk)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubPlan) && visit_sub_plan(((SubPlan *) node)->plan_id, walk))
		return true;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
	{
		const SubPlan *init_plan = finished_init_plan(walk->finished, ((Param *) node)->paramid);

		if (init_plan != NULL && visit_sub_plan(init_plan->plan_id, walk))
			return true;
	}
	return expression_tree_walker(node, visit_sub_plans, walk);
}

static bool
has_side_effects(Node *expression, PlanWalk *walk)
{
	return contain_volatile_functions(expression) || visit_sub_plans(expression, walk);
}

/* Returns the expressions of a plan node, as a list of lists. */
static Node *
expressions_of(const Plan *plan)
{
	const void *more = NULL;
	const void *still_more = NULL;

	switch (nodeTag(plan))
	{
		case T_IndexScan:
			more = ((const IndexScan *) plan)->indexqualorig;
			still_more = ((const IndexScan *) plan)->indexorderbyorig;
			break;
		case T_IndexOnlyScan:
			more = ((const IndexOnlyScan *) plan)->indexqual;
			still_more = ((const IndexOnlyScan *) plan)->indexorderby;
			break;
		case T_BitmapIndexScan:
			more = ((const BitmapIndexScan *) plan)->indexqualorig;
			break;
		case T_BitmapHeapScan:
			more = ((const BitmapHeapScan *) plan)->bitmapqualorig;
			break;
		case T_SampleScan:
			more = ((const SampleScan *) plan)->tablesample;
			break;
		case T_TidScan:
			more = ((const TidScan *) plan)->tidquals;
			break;
		case T_TidRangeScan:
			more = ((const TidRangeScan *) plan)->tidrangequals;
			break;
		case T_FunctionScan:
			more = ((const FunctionScan *) plan)->functions;
			break;
		case T_TableFuncScan:
			more = ((const TableFuncScan *) plan)->tablefunc;
			break;
		case T_ValuesScan:
			more = ((const ValuesScan *) plan)->values_lists;
			break;
		case T_ForeignScan:
			more = ((const ForeignScan *) plan)->fdw_exprs;
			still_more = ((const ForeignScan *) plan)->fdw_recheck_quals;
			break;
		case T_CustomScan:
			more = ((const CustomScan *) plan)->custom_exprs;
			break;
		case T_Result:
			more = ((const Result *) plan)->resconstantqual;
			break;
		case T_Limit:
			more = ((const Limit *) plan)->limitOffset;
			still_more = ((const Limit *) plan)->limitCount;
			break;
		case T_WindowAgg:
			more = ((const WindowAgg *) plan)->startOffset;
			still_more = ((const WindowAgg *) plan)->endOffset;
			break;
		case T_NestLoop:
			more = ((const Join *) plan)->joinqual;
			break;
		case T_HashJoin:
			more = ((const Join *) plan)->joinqual;
			still_more = ((const HashJoin *) plan)->hashclauses;
			break;
		case T_MergeJoin:
			more = ((const Join *) plan)->joinqual;
			still_more = ((const MergeJoin *) plan)->mergeclauses;
			break;
		default:
			break;
	}
	return (Node *) list_make4(plan->targetlist, plan->qual, (void *) more, (void *) still_more);
}

/* Does the plan have side effects? Returns true for all plan nodes that are not named here. */
static bool
visit_whole_plan(Plan *plan, void *argument)
{
	PlanWalk   *walk = argument;
	ListCell   *cell;

	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_SampleScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
		case T_BitmapIndexScan:
		case T_BitmapAnd:
		case T_BitmapOr:
		case T_TidScan:
		case T_TidRangeScan:
		case T_FunctionScan:
		case T_TableFuncScan:
		case T_ValuesScan:
		case T_NamedTuplestoreScan:
		case T_WorkTableScan:
		case T_ForeignScan:
		case T_CustomScan:
		case T_SubqueryScan:
		case T_Result:
		case T_ProjectSet:
		case T_Append:
		case T_MergeAppend:
		case T_RecursiveUnion:
		case T_Gather:
		case T_GatherMerge:
		case T_Material:
		case T_Memoize:
		case T_Hash:
		case T_Sort:
		case T_IncrementalSort:
		case T_Unique:
		case T_Group:
		case T_Agg:
		case T_WindowAgg:
		case T_SetOp:
		case T_Limit:
		case T_NestLoop:
		case T_HashJoin:
		case T_MergeJoin:
			break;
		case T_CteScan:
			if (visit_sub_plan(((const CteScan *) plan)->ctePlanId, walk))
				return true;
			break;
		case T_ModifyTable:
			/* This is the top of a CTE that changes rows. PostgreSQL runs such a CTE to its end in any case. */
			return false;
		default:
			return true;
	}
	foreach(cell, plan->initPlan)
		if (visit_sub_plan(lfirst_node(SubPlan, cell)->plan_id, walk))
			return true;
	return has_side_effects(expressions_of(plan), walk) || finished_visit_below(plan, visit_whole_plan, walk);
}

bool
finished_whole_plan_is_noticed(Plan *plan, FinishedStatement *finished)
{
	PlanWalk	walk = {.finished = finished};

	return visit_whole_plan(plan, &walk);
}

bool
finished_is_noticed(Node *expression, FinishedStatement *finished)
{
	PlanWalk	walk = {.finished = finished};

	return contain_subplans(expression) || has_side_effects(expression, &walk);
}

bool
finished_node_is_noticed(const Plan *plan, FinishedStatement *finished)
{
	return finished_is_noticed(expressions_of(plan), finished);
}
