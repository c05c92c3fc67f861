/*
 * chunk_skip_statement.c: the hooks of ChunkSkip and JoinSkip around a whole statement. These plan nodes leave
 * partitions or pages unread that bf indexes rule out. The planner's hooks note what a finished plan does not show:
 * whether a table of the statement has a bf index, and which tables are guarded (have rows that row-level security or a
 * security-barrier view may hide). When the planner has finished the plan, chunk_skip_plan.c and join_skip_plan.c put
 * their nodes into it, if any table has a bf index. When the execution begins, another plan may take its place because
 * of WHERE CURRENT OF (chunk_skip_portal.c).
 *
 * The hook for the paths of tables is that of chunk_paths.c.
 */
#include "chunks/chunk_skip.h"

#include "catalog/pg_am.h"
#include "executor/executor.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "utils/guc.h"

#include "chunks/finished_plan.h"
#include "chunks/join_skip.h"
#include "chunks/partitions_in_use.h"
#include "index/handler.h"

bool		chunk_skip_enabled = true;

static planner_hook_type previous_planner;
static ExecutorStart_hook_type previous_executor_start;

/* What is noted while a statement is planned. It lies on the stack of plan_statement(). */
typedef struct Planning
{
	MemoryContext context;		/* in which `guarded` lives */
	Oid			method;			/* bf_index_am_oid(); InvalidOid until it is needed */
	bool		met_bf_index;	/* a table has a bf index; otherwise the plan is not looked at */
	bool		no_chunk_skip;	/* the plan gets no ChunkSkip: ChunkSkip is off, or the plan is that of a cursor */

	/*
	 * The OIDs of the guarded tables: those that stand behind security quals or in a security-barrier view. The
	 * finished plan does not show this. If a table stands in the statement twice and is guarded in one place, it
	 * counts as guarded in both.
	 */
	List	   *guarded;
	PlannerInfo *looked_above;	/* the query for which is_below_barrier() was called last */
	bool		below_barrier;	/* what is_below_barrier() returned for this query */
} Planning;

/*
 * The innermost statement that is being planned. NULL if there is none, or if ChunkSkip and JoinSkip were both off
 * when its planning began.
 */
static Planning *planning = NULL;

/* ------------------------------------------------------ while the statement is planned */

static bool
has_bf_index(const RelOptInfo *rel)
{
	ListCell   *cell;

	foreach(cell, rel->indexlist)
		switch (((IndexOptInfo *) lfirst(cell))->relam)
		{
			case BTREE_AM_OID:
			case HASH_AM_OID:
			case GIST_AM_OID:
			case GIN_AM_OID:
			case SPGIST_AM_OID:
			case BRIN_AM_OID:
				break;
			default:
				if (!OidIsValid(planning->method))
					planning->method = bf_index_am_oid();
				if (((IndexOptInfo *) lfirst(cell))->relam == planning->method)
					return true;
		}
	return false;
}

/*
 * Is this query a subquery of a query that has a security-barrier view in FROM? Then the subquery may be the view.
 * Which subquery is the view cannot be told here, so all of them count.
 */
static bool
is_below_barrier(PlannerInfo *root)
{
	if (root->parent_root == NULL)
		return false;
	if (planning->looked_above == root)
		return planning->below_barrier;
	planning->looked_above = root;
	planning->below_barrier = false;
	for (PlannerInfo *above = root->parent_root; above != NULL; above = above->parent_root)
	{
		ListCell   *cell;

		foreach(cell, above->parse->rtable)
			planning->below_barrier |= lfirst_node(RangeTblEntry, cell)->security_barrier;
	}
	return planning->below_barrier;
}

/*
 * Must security quals, or the conditions of a security-barrier view, be tested before the query's own conditions may
 * see a row of this relation?
 */
static bool
is_guarded(PlannerInfo *root, Index relid)
{
	while (relid > 0)
	{
		const RangeTblEntry *rte = root->simple_rte_array[relid];

		if (rte->securityQuals != NIL || rte->security_barrier)
			return true;
		/*
		 * Partitions and inheritance children have no security quals of their own: those of the parent hold for them.
		 */
		if (root->append_rel_array == NULL || root->append_rel_array[relid] == NULL)
			break;
		relid = root->append_rel_array[relid]->parent_relid;
	}
	return is_below_barrier(root);
}

bool
chunk_skip_is_expected(void)
{
	return planning != NULL && planning->met_bf_index && !planning->no_chunk_skip;
}

bool
chunk_skip_is_noted(void)
{
	return planning != NULL && planning->met_bf_index;
}

void
chunk_skip_note_bf_index(void)
{
	if (planning != NULL)
		planning->met_bf_index = true;
}

List *
chunk_skip_clauses(PlannerInfo *root, Index relid, List *clauses)
{
	return is_guarded(root, relid) ? chunk_leakproof_clauses(clauses) : clauses;
}

/*
 * Notes what the finished plan does not show of a table: whether it has a bf index, and whether it is guarded.
 * Guarded tables are noted even if rel->indexlist has no bf index. Another extension may have taken the index out of
 * this list (pg_hint_plan does so). The index is asked all the same if another table of the statement has a bf index
 * in its list.
 */
static void
note_relation(PlannerInfo *root, Oid relation, RelOptInfo *rel)
{
	if (planning == NULL)
		return;
	planning->met_bf_index = planning->met_bf_index || has_bf_index(rel);
	if (is_guarded(root, rel->relid))
	{
		MemoryContext caller = MemoryContextSwitchTo(planning->context);

		planning->guarded = lappend_oid(planning->guarded, relation);
		MemoryContextSwitchTo(caller);
	}
}

/*
 * The hook that is called for each table. From PostgreSQL 19 on this is another hook, which is called for everything
 * that stands in FROM.
 */
#if PG_VERSION_NUM >= 190000
static build_simple_rel_hook_type previous_build_simple_rel;

static void
look_at_relation(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	if (previous_build_simple_rel)
		previous_build_simple_rel(root, rel, rte);
	if (rte->rtekind == RTE_RELATION)
		note_relation(root, rte->relid, rel);
}

static void
look_at_relations(void)
{
	previous_build_simple_rel = build_simple_rel_hook;
	build_simple_rel_hook = look_at_relation;
}
#else
static get_relation_info_hook_type previous_get_relation_info;

static void
look_at_relation(PlannerInfo *root, Oid relation, bool inhparent, RelOptInfo *rel)
{
	if (previous_get_relation_info)
		previous_get_relation_info(root, relation, inhparent, rel);
	note_relation(root, relation, rel);
}

static void
look_at_relations(void)
{
	previous_get_relation_info = get_relation_info_hook;
	get_relation_info_hook = look_at_relation;
}
#endif

/* --------------------------------------------------------------- the finished plan */

/*
 * May a parallel worker run this sub-plan? Workers get all sub-plans that are parallel safe, and initialize them. If
 * a worker and the leader run the same sub-plan below a Gather, both must have the same nodes in it, or the worker
 * cannot report what it measured. A finished plan does not show easily where a sub-plan is referenced. But it is
 * known which sub-plans are initPlans of a node that the leader alone runs.
 */
static bool
may_run_in_worker(const Plan *plan, int plan_id, const FinishedStatement *finished)
{
	return finished->statement->parallelModeNeeded && plan->parallel_safe &&
		!bms_is_member(plan_id, finished->by_leader);
}

/* Puts ChunkSkip and the nodes of joins into a plan that the leader alone runs, and returns it. */
static Plan *
add_all_nodes(Plan *plan, FinishedStatement *finished)
{
	if (!planning->no_chunk_skip)
		plan = chunk_skip_add_nodes(plan, finished);
	if (join_skip_enabled)
		join_skip_add_nodes(plan, finished);
	return plan;
}

static void
add_nodes_to_statement(PlannedStmt *statement)
{
	FinishedStatement finished = {.statement = statement, .guarded = planning->guarded, .last_id = -1};
	Bitmapset  *done = NULL;
	bool		progress;

	statement->planTree = add_all_nodes(statement->planTree, &finished);
	/*
	 * While chunk_skip_add_nodes() puts nodes into a sub-plan, it finds initPlans there. The leader alone runs these,
	 * too. So they get nodes in the next round, even if they stand before that sub-plan in the list.
	 */
	do
	{
		ListCell   *cell;

		progress = false;
		foreach(cell, statement->subplans)
		{
			int			plan_id = foreach_current_index(cell) + 1;

			if (lfirst(cell) == NULL || bms_is_member(plan_id, done) ||
				may_run_in_worker(lfirst(cell), plan_id, &finished))
				continue;
			lfirst(cell) = add_all_nodes(lfirst(cell), &finished);
			done = bms_add_member(done, plan_id);
			progress = true;
		}
	} while (progress);
}

/* -------------------------------------------------------------------- hooks */

static PlannedStmt *
plan_statement(Query *parse, const char *query_string, int cursor_options,
			   ParamListInfo parameters SB_EXPLAIN_PARAMETER)
{
	Planning   *outer = planning;
	Planning	mine = {.context = CurrentMemoryContext};
	PlannedStmt *statement;

	/*
	 * CURSOR_OPT_FAST_PLAN is set for cursors of SQL and PL/pgSQL. Their plans get no ChunkSkip, because WHERE CURRENT
	 * OF may refer to them (chunk_skip_portal.c). WHERE CURRENT OF does not look below joins, so JoinSkip is no
	 * obstacle to it.
	 */
	mine.no_chunk_skip = !chunk_skip_enabled || (cursor_options & CURSOR_OPT_FAST_PLAN) != 0;
	/*
	 * A function that is evaluated during planning may plan another statement, and may catch an error of that
	 * planning. So `planning` is put back in any case.
	 */
	planning = chunk_skip_enabled || join_skip_enabled ? &mine : NULL;
	PG_TRY();
	{
		if (previous_planner)
			statement = previous_planner(parse, query_string, cursor_options, parameters SB_EXPLAIN_ARGUMENT);
		else
			statement = standard_planner(parse, query_string, cursor_options, parameters SB_EXPLAIN_ARGUMENT);

		if (planning != NULL && mine.met_bf_index)
			add_nodes_to_statement(statement);
	}
	PG_FINALLY();
	{
		planning = outer;
	}
	PG_END_TRY();
	return statement;
}

static void
start_executor(QueryDesc *query, int eflags)
{
	query->plannedstmt = chunk_skip_statement_for_portal(query->plannedstmt);
	if (previous_executor_start)
		previous_executor_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
}

void
chunk_skip_init(void)
{
	DefineCustomBoolVariable("streambloom.enable_chunk_skip",
							 "Lets queries skip partitions whose bf indexes say that no row can match.",
							 NULL, &chunk_skip_enabled, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	RegisterCustomScanMethods(&chunk_skip_scan_methods);
	partitions_in_use_init();
	previous_planner = planner_hook;
	planner_hook = plan_statement;
	look_at_relations();
	previous_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = start_executor;
}
