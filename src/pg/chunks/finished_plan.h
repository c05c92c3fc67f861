/*
 * finished_plan.h: what those share that put nodes into finished plans: ids, nodes that pass rows on, and the clauses
 * of scans. Such nodes never stand at or below a Gather (README.md says why).
 */
#ifndef STREAMBLOOM_PG_FINISHED_PLAN_H
#define STREAMBLOOM_PG_FINISHED_PLAN_H

#include "base/compat.h"

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

#include "chunks/chunk_question.h"

/* What is known of a finished statement while nodes are put into it. */
typedef struct FinishedStatement
{
	PlannedStmt *statement;
	List	   *guarded;		/* the OIDs of the tables whose rows may be hidden from the user (README.md) */
	int			last_id;		/* the largest plan_node_id; -1 until it is needed */
	Bitmapset  *by_leader;		/* the plan_ids of the sub-plans, of those met so far, that the leader alone runs */
} FinishedStatement;

/*
 * Makes a node above a plan. It passes the rows of the plan on as they are, and does whatever its methods say. The
 * caller sets custom_exprs, custom_private, custom_relids and methods.
 */
extern CustomScan *finished_make_node(FinishedStatement *finished, Plan *below);

/*
 * Calls visit() for the plans directly below a plan, sub-plans excepted, until it returns true. Returns whether it
 * has.
 */
extern bool finished_visit_below(const Plan *plan, bool (*visit) (Plan *below, void *argument), void *argument);

/* Clauses that all rows of a sequential scan, an index scan or a bitmap scan satisfy. */
extern List *finished_clauses_of_scan(const Scan *scan);

/*
 * Those of the clauses of a scan that may be asked about: all of them, or only the leakproof ones if rows of the
 * table may be hidden from the user. *guarded says whether they may.
 */
extern List *finished_leakproof_clauses(const FinishedStatement *finished, Oid table, List *clauses, bool *guarded);

/* The clauses that pass values of columns to leakproof functions only. */
extern List *chunk_leakproof_clauses(List *clauses);

/* Is a scan, in the planner's opinion, about as cheap as a question to this index? */
extern bool finished_is_cheap(const Scan *scan, Oid index);

/* Can the partitions below an Append or a MergeAppend be pruned at run time? */
extern bool finished_is_pruned_at_run_time(const Plan *plan);

#endif
