/*
 * partition_scan_plan.c: makes the plan of the node PartitionScan.
 */
#include "chunks/partition_scan.h"

#include "access/sysattr.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"

#include "chunks/chunk_conditions.h"

/*
 * Can the condition be tested in the partitions' queries, instead of by the node? It must not have sub-plans, because
 * they belong to the plan that the node is in. It must not use the whole row, or a system column other than tableoid.
 * And it must not be volatile, because a partition's query could evaluate it more often or less often.
 */
static bool
is_tested_in_partitions(Node *clause, Index relid)
{
	List	   *variables;
	ListCell   *cell;
	bool		result = true;

	if (contain_volatile_functions(clause) || contain_subplans(clause))
		return false;
	variables = pull_var_clause(clause, PVC_RECURSE_PLACEHOLDERS);
	foreach(cell, variables)
	{
		const Var  *variable = lfirst_node(Var, cell);

		result &= variable->varno != (int) relid || variable->varattno > 0 ||
			variable->varattno == TableOidAttributeNumber;
	}
	list_free(variables);
	return result;
}

Plan *
partition_scan_make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target_list, List *clauses,
						 List *children)
{
	PartitionScanPath *private = linitial(path->custom_private);
	CustomScan *scan = makeNode(CustomScan);
	List	   *conditions = NIL;
	List	   *others = NIL;
	List	   *columns;
	List	   *numbers = NIL;
	ListCell   *cell;

	(void) root;
	(void) children;
	if (private->condition == NULL)
		partition_scan_refuse(private->table, private->parts->why_no_keys != NULL ? private->parts->why_no_keys :
							  "the planner expects all partitions to be read");
	foreach(cell, clauses)
	{
		RestrictInfo *condition = lfirst_node(RestrictInfo, cell);

		if (condition->pseudoconstant || condition == private->condition)
			continue;
		if (is_tested_in_partitions((Node *) condition->clause, rel->relid))
			conditions = lappend(conditions, condition->clause);
		else
			others = lappend(others, condition->clause);
	}
	/*
	 * Later the planner may give the node another target list, with any of the columns that the nodes above need. All
	 * of these are in reltarget. So custom_scan_tlist has the columns of reltarget too.
	 */
	columns = chunk_scan_add_columns(NIL, (Node *) rel->reltarget->exprs, rel->relid);
	columns = chunk_scan_add_columns(columns, (Node *) target_list, rel->relid);
	columns = chunk_scan_add_columns(columns, (Node *) others, rel->relid);
	columns = chunk_scan_add_columns(columns, (Node *) conditions, rel->relid);
	columns = chunk_scan_add_columns(columns, (Node *) private->parts->pruning, rel->relid);
	if (private->comparison != NULL)
		columns = chunk_scan_add_columns(columns, (Node *) private->comparison, rel->relid);
	foreach(cell, columns)
		numbers = lappend_int(numbers, ((Var *) lfirst_node(TargetEntry, cell)->expr)->varattno);

	scan->scan.plan.targetlist = target_list;
	scan->scan.plan.qual = others;
	scan->scan.scanrelid = rel->relid;
	scan->flags = path->flags;
	scan->custom_scan_tlist = columns;
	scan->custom_exprs = list_make3(private->comparison, conditions, copyObject(private->parts->pruning));
	scan->custom_private = list_make4(numbers, list_make3_int(0, 0, 0), NIL, NIL);
	scan->methods = &partition_scan_methods;
	private->parts->node = scan;
	return (Plan *) scan;
}
