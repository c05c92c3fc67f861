/*
 * finished_plan.h: what ChunkSkip and JoinSkip share when they put nodes into finished plans: ids of nodes, nodes
 * that pass rows on, and the clauses of scans. Such nodes never stand at or below a Gather (README.md says why).
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
	Bitmapset  *by_leader;		/* plan_ids of those sub-plans met so far that the leader alone runs */
	List	   *init_plans;		/* the SubPlans of all initPlans; see finished_init_plan() */
	bool		has_init_plans; /* `init_plans` is set */
} FinishedStatement;

/*
 * Must the nodes ChunkSkip, JoinKeys and JoinSkip only pass rows on in this execution? They must under EvalPlanQual,
 * in a plan that a parallel worker got from its leader, without a snapshot, and with one that is not an MVCC
 * snapshot.
 */
extern bool finished_nodes_stand_aside(const EState *estate);

/*
 * Makes a node above the plan `below`. The node passes the rows of this plan on as they are, and does whatever its
 * methods say. The caller sets custom_exprs, custom_private, custom_relids and methods.
 */
extern CustomScan *finished_make_node(FinishedStatement *finished, Plan *below);

/*
 * Calls visit() for each plan directly below a plan, but not for its sub-plans, until visit() returns true. Returns
 * true if visit() did.
 */
extern bool finished_visit_below(const Plan *plan, bool (*visit) (Plan *below, void *argument), void *argument);

/* Returns the SubPlan of the initPlan that sets this parameter; NULL if none does. */
extern const SubPlan *finished_init_plan(FinishedStatement *finished, int parameter);

/* Returns clauses that all rows of a sequential scan, an index scan or a bitmap scan satisfy. */
extern List *finished_clauses_of_scan(const Scan *scan);

/*
 * Returns those clauses of a scan that indexes may be asked about. If the table is guarded (README.md), these are the
 * leakproof ones, otherwise all. Sets *guarded.
 */
extern List *finished_leakproof_clauses(const FinishedStatement *finished, Oid table, List *clauses, bool *guarded);

/* Returns those of the clauses that pass values of columns to leakproof functions only. */
extern List *chunk_leakproof_clauses(List *clauses);

/* Is a scan, in the planner's opinion, about as cheap as a question to this index? */
extern bool finished_is_cheap(const Scan *scan, Oid index);

/* Can the partitions below an Append or a MergeAppend be pruned at run time? */
extern bool finished_is_pruned_at_run_time(const Plan *plan);

#endif
