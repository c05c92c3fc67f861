/*
 * partition_scan_portal.c: plans for portals that UPDATE and DELETE ... WHERE CURRENT OF may refer to.
 *
 * WHERE CURRENT OF looks in the portal's plan for the scan of the partition from which the current row came
 * (search_plan_tree() in execCurrent.c). It would not find this scan, because a PartitionScan is not the scan of one
 * partition. Cursors of SQL and PL/pgSQL are planned with CURSOR_OPT_FAST_PLAN, and do not get the node. Portals that
 * a client opens by the protocol, or a function by SPI_cursor_open(), are planned like any other query. If WHERE
 * CURRENT OF would look at the node in such a plan, the node keeps the query. When the execution of the portal begins,
 * and a statement can refer to the portal by its name, the query is planned again, as that of a cursor would be.
 */
#include "chunks/partition_scan.h"

#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "optimizer/planner.h"
#include "tcop/tcopprot.h"

#include "executor/executor.h"
#include "tcop/pquery.h"
#include "utils/portal.h"

/* Returns the node in a plan at which WHERE CURRENT OF would look, or NULL if there is none. */
static CustomScan *
find_node(Plan *plan)
{
	ListCell   *cell;

	if (plan == NULL)
		return NULL;
	check_stack_depth();
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			return ((CustomScan *) plan)->methods == &partition_scan_methods ? (CustomScan *) plan : NULL;
		case T_Append:
			foreach(cell, ((Append *) plan)->appendplans)
			{
				CustomScan *node = find_node(lfirst(cell));

				if (node != NULL)
					return node;
			}
			return NULL;
		case T_Result:
		case T_Limit:
			return find_node(outerPlan(plan));
		case T_SubqueryScan:
			return find_node(((SubqueryScan *) plan)->subplan);
		default:
			return NULL;
	}
}

void
partition_scan_keep_query(PlannedStmt *statement, Query *query)
{
	CustomScan *node = find_node(statement->planTree);

	if (node != NULL)
		lfirst(list_nth_cell(node->custom_private, PARTITION_SCAN_QUERY)) = list_make1(query);
}

/* Can a statement refer to the portal whose execution begins by its name? Not if the server has made the name up. */
static bool
is_of_named_portal(const PlannedStmt *statement)
{
	static const char made_up[] = "<unnamed portal ";

	return ActivePortal != NULL && ActivePortal->name[0] != '\0' &&
		strncmp(ActivePortal->name, made_up, sizeof made_up - 1) != 0 &&
		list_member_ptr(ActivePortal->stmts, statement);
}

static ExecutorStart_hook_type previous_executor_start;

static void
start_executor(QueryDesc *query, int eflags)
{
	CustomScan *node = is_of_named_portal(query->plannedstmt) ? find_node(query->plannedstmt->planTree) : NULL;

	if (node != NULL)
		query->plannedstmt =
			sb_plan_query(copyObject(linitial_node(Query, list_nth(node->custom_private, PARTITION_SCAN_QUERY))),
						  query->sourceText, CURSOR_OPT_FAST_PLAN, query->params);
	if (previous_executor_start)
		previous_executor_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
}

void
partition_scan_portal_init(void)
{
	previous_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = start_executor;
}
