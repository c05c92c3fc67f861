/*
 * finished_plan.h: functions for the nodes ChunkSkip, JoinKeys and JoinSkip, which are put into plans that PostgreSQL's
 * planner has finished. The functions make such nodes, walk through plans, find the clauses of scans, and tell when a
 * node must do nothing or is not worth it. The nodes never stand at or below a Gather (README.md in this folder says
 * why).
 */
#ifndef STREAMBLOOM_PG_FINISHED_PLAN_H
#define STREAMBLOOM_PG_FINISHED_PLAN_H

#include "base/compat.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/plannodes.h"

#include "chunks/chunk_question.h"

/* What is known of a finished statement while nodes are put into it. */
typedef struct FinishedStatement
{
	PlannedStmt *statement;
	List	   *guarded;		/* the OIDs of the tables whose rows may be hidden from the user (README.md) */
	int			last_id;		/* the largest plan_node_id; -1 until it is needed */
	Bitmapset  *by_leader;		/* plan_ids of the initPlans of those plan nodes met so far that workers do not run */
	List	   *init_plans;		/* the SubPlans of all initPlans; see finished_init_plan() */
	bool		has_init_plans; /* `init_plans` is set */
} FinishedStatement;

/*
 * Must the nodes ChunkSkip, JoinKeys and JoinSkip only pass rows on in this execution? They must under EvalPlanQual,
 * in a plan that a parallel worker got from its leader, and if the execution has no MVCC snapshot.
 */
extern bool finished_nodes_stand_aside(const EState *estate);

/*
 * Makes a node above the plan `below`, with the same columns as this plan. What the node does depends on its methods.
 * The caller sets custom_exprs, custom_private, custom_relids and methods.
 */
extern CustomScan *finished_make_node(FinishedStatement *finished, Plan *below);

/*
 * Calls visit() for each plan node directly below a plan node, but not for sub-plans of expressions. Ends and returns
 * true as soon as visit() returns true; otherwise returns false.
 */
extern bool finished_visit_below(const Plan *plan, bool (*visit) (Plan *below, void *argument), void *argument);

/* Returns the SubPlan of the initPlan that sets this parameter; NULL if none does. */
extern const SubPlan *finished_init_plan(FinishedStatement *finished, int parameter);

/* Returns clauses that all rows of a sequential scan, an index scan or a bitmap scan satisfy. */
extern List *finished_clauses_of_scan(const Scan *scan);

/*
 * Returns those clauses of a scan that indexes may be asked about: all of them, unless rows of the table may be hidden
 * from the user. Then only the leakproof ones. Sets *guarded to whether rows may be hidden.
 */
extern List *finished_leakproof_clauses(const FinishedStatement *finished, Oid table, List *clauses, bool *guarded);

/* Returns those of the clauses that pass values of columns to leakproof functions only. */
extern List *chunk_leakproof_clauses(List *clauses);

/*
 * Does the planner expect that a scan costs about as little as a question to this index? A bitmap scan of the index
 * itself never does.
 */
extern bool finished_is_cheap(const Scan *scan, Oid index);

/* Can the partitions below an Append or a MergeAppend be pruned at run time? */
extern bool finished_is_pruned_at_run_time(const Plan *plan);

#endif
