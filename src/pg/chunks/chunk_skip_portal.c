/*
 * chunk_skip_portal.c: plans for portals that UPDATE and DELETE ... WHERE CURRENT OF may refer to.
 *
 * WHERE CURRENT OF looks in the portal's plan for the scan of the partition from which the current row came
 * (search_plan_tree() in execCurrent.c). It descends through Append, Result, Limit and SubqueryScan, but not through
 * a custom scan. Cursors of SQL and PL/pgSQL are planned with CURSOR_OPT_FAST_PLAN, and their plans get no ChunkSkip.
 * Other portals have plans like any other query: those that a client opens by the protocol, or a function by
 * SPI_cursor_open(). If a statement can refer to such a portal by its name, the portal gets a copy of its plan without
 * the nodes that are in the way.
 */
#include "chunks/chunk_skip.h"

#include "miscadmin.h"
#include "tcop/pquery.h"
#include "utils/portal.h"

/*
 * Returns the plan without the ChunkSkips that WHERE CURRENT OF meets on its way down; the plan itself if there are
 * none. A ChunkSkip above a MergeAppend stays, because WHERE CURRENT OF does not look below a MergeAppend either. Only
 * the plan nodes from the top down to the Append are copied.
 */
static Plan *
without_node(Plan *plan)
{
	Plan	   *child;

	if (plan == NULL)
		return NULL;
	check_stack_depth();
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			if (((CustomScan *) plan)->methods == &chunk_skip_scan_methods && IsA(outerPlan(plan), Append))
			{
				Append	   *append = memcpy(palloc(sizeof(Append)), outerPlan(plan), sizeof(Append));

				append->plan.initPlan = plan->initPlan;
				return without_node((Plan *) append);
			}
			return plan;
		case T_Append:
			{
				List	   *children = NIL;
				bool		changed = false;
				ListCell   *cell;

				foreach(cell, ((Append *) plan)->appendplans)
				{
					children = lappend(children, without_node(lfirst(cell)));
					changed |= llast(children) != lfirst(cell);
				}
				if (changed)
				{
					plan = memcpy(palloc(sizeof(Append)), plan, sizeof(Append));
					((Append *) plan)->appendplans = children;
				}
				return plan;
			}
		case T_Result:
		case T_Limit:
			child = without_node(outerPlan(plan));
			if (child != outerPlan(plan))
			{
				plan = memcpy(palloc(IsA(plan, Result) ? sizeof(Result) : sizeof(Limit)), plan,
							  IsA(plan, Result) ? sizeof(Result) : sizeof(Limit));
				outerPlan(plan) = child;
			}
			return plan;
		case T_SubqueryScan:
			child = without_node(((SubqueryScan *) plan)->subplan);
			if (child != ((SubqueryScan *) plan)->subplan)
			{
				plan = memcpy(palloc(sizeof(SubqueryScan)), plan, sizeof(SubqueryScan));
				((SubqueryScan *) plan)->subplan = child;
			}
			return plan;
		default:
			return plan;
	}
}

/*
 * Can a statement refer to this portal by its name? The simple protocol and most clients use the portal without a
 * name. A PL/pgSQL loop over a query has a portal whose name the server makes up. A statement could only guess such a
 * name, so it does not count. (PL/Perl's spi_query() returns one; README.md says why it does not count either.)
 */
static bool
can_be_referred_to(const Portal portal)
{
	static const char made_up[] = "<unnamed portal ";

	return portal->name[0] != '\0' && strncmp(portal->name, made_up, sizeof made_up - 1) != 0;
}

bool
chunk_skip_is_of_named_portal(const PlannedStmt *statement)
{
	/* A function that the portal's query calls executes statements that are not the portal's. */
	return ActivePortal != NULL && can_be_referred_to(ActivePortal) && list_member_ptr(ActivePortal->stmts, statement);
}

PlannedStmt *
chunk_skip_statement_for_portal(PlannedStmt *statement)
{
	Plan	   *plan;

	if (!chunk_skip_is_of_named_portal(statement))
		return statement;
	plan = without_node(statement->planTree);
	if (plan == statement->planTree)
		return statement;
	/* The plan may be kept for other executions, so it is copied. The copy lives as long as the portal. */
	statement = memcpy(palloc(sizeof(PlannedStmt)), statement, sizeof(PlannedStmt));
	statement->planTree = plan;
	return statement;
}
