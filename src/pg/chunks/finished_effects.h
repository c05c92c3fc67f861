/*
 * finished_effects.h: functions that say whether a query notices if parts of its plan are run less often, for fewer
 * rows, or not at all. It notices if that part has side effects: if it calls volatile functions, or locks rows.
 *
 * The node JoinSkip makes scans and joins return fewer rows, and JoinKeys changes which side of a join is run first. So
 * join_skip_plan.c puts these nodes only where the query does not notice. A number in parentheses, as in (2), is a
 * point of the proof in README.md that no join loses a row.
 */
#ifndef STREAMBLOOM_PG_FINISHED_EFFECTS_H
#define STREAMBLOOM_PG_FINISHED_EFFECTS_H

#include "chunks/finished_plan.h"

/*
 * Would it be noticed if this plan, with all plans below it, were run less often or more often, or not to its end? It
 * would if the plan has volatile functions, or locks rows. Kinds of nodes that the function does not know count as
 * noticed. A CTE that changes rows does not, because PostgreSQL runs it to its end in any case.
 */
extern bool finished_whole_plan_is_noticed(Plan *plan, FinishedStatement *finished);

/*
 * Would it be noticed if an expression, or a list of them, were evaluated for fewer rows, or not at all (2)?
 * Sub-plans are evaluated for each row, so they count even if they have no side effects. An initPlan is evaluated
 * only once, so it counts only if it has side effects.
 */
extern bool finished_is_noticed(Node *expression, FinishedStatement *finished);

/* Would it be noticed if this plan node saw fewer rows (2)? The plans below the node are not looked at. */
extern bool finished_node_is_noticed(const Plan *plan, FinishedStatement *finished);

#endif
