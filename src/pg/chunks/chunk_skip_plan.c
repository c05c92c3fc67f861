/*
 * chunk_skip_plan.c: puts the node ChunkSkip into plans.
 *
 * This is done with finished plans, not with paths. When the planner applies the final target list it throws the
 * paths of a partitioned table away and makes them again, without a hook. And only the finished plan shows what the
 * node must know. It shows which children there are, and what is searched for in them (with the parameters of nested
 * loops). It also shows whether the children are pruned at run time, run asynchronously, or run by workers. Nothing
 * is removed from a plan here. That is left to the execution, because its snapshot is newer.
 */
#include "chunks/chunk_skip.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "chunks/ask.h"
#include "chunks/finished_plan.h"

/* ------------------------------------------------------------ what to ask */

/* Returns the scan that a child's rows come from; there may be sorts above it. NULL if the child is anything else. */
static Scan *
scan_of_child(Plan *plan)
{
	while (IsA(plan, Sort) || IsA(plan, IncrementalSort))
		plan = outerPlan(plan);
	if (IsA(plan, SeqScan) || IsA(plan, IndexScan) || IsA(plan, BitmapHeapScan))
		return (Scan *) plan;
	return NULL;
}

/*
 * Returns the numbers of the parameters that are set by initPlans of a child: by those of its scan, and of the sorts
 * above it. A part of a UNION ALL may have initPlans of its own.
 */
static Bitmapset *
parameters_of_child(const Plan *plan, const Scan *scan)
{
	Bitmapset  *parameters = NULL;

	for (;; plan = outerPlan(plan))
	{
		ListCell   *init_plan;
		ListCell   *parameter;

		foreach(init_plan, plan->initPlan)
			foreach(parameter, lfirst_node(SubPlan, init_plan)->setParam)
				parameters = bms_add_member(parameters, lfirst_int(parameter));
		if (plan == (const Plan *) scan)
			return parameters;
	}
}

/* Does one of these clauses compare something with the argument? */
static bool
clauses_compare_with(List *clauses, const Expr *argument)
{
	ListCell   *cell;

	foreach(cell, clauses)
	{
		const Node *clause = lfirst(cell);

		if ((IsA(clause, OpExpr) && list_member(((const OpExpr *) clause)->args, argument)) ||
			(IsA(clause, ScalarArrayOpExpr) && list_member(((const ScalarArrayOpExpr *) clause)->args, argument)))
			return true;
	}
	return false;
}

/* The parts of a UNION ALL, some of which may never be scanned. */
typedef struct UnionParts
{
	bool		in_order;		/* the children are such parts, which an Append scans one after the other */
	List	   *first_clauses;	/* the clauses of the first part, which PostgreSQL scans before the others */
} UnionParts;

static UnionParts
union_parts(const PlannedStmt *statement, const Plan *append, List *children, const Bitmapset *relids)
{
	UnionParts	parts = {false, NIL};
	Scan	   *first;
	int			parent;

	/*
	 * A MergeAppend begins with all its children, so each of them is scanned. And children that belong to one table are
	 * no parts of a UNION ALL: all of them have the table's conditions.
	 */
	if (IsA(append, MergeAppend) || (bms_get_singleton_member(relids, &parent) &&
									 rt_fetch(parent, statement->rtable)->rtekind == RTE_RELATION))
		return parts;
	parts.in_order = true;
	first = scan_of_child(linitial(children));
	if (first != NULL)
		parts.first_clauses = finished_clauses_of_scan(first);
	return parts;
}

/*
 * Returns those of a child's keys whose arguments the node may evaluate.
 *
 * - An argument must not have any of the parameters `own`. These are set by initPlans of the child.
 * - The parts of a UNION ALL are scanned one after the other, and with LIMIT the later ones may never be reached. So
 *   if an argument runs code, which may fail, the first part must compare with this argument, too. The first part does
 *   so if the argument is the result of a subquery outside the UNION ALL: PostgreSQL has copied the condition into each
 *   part.
 */
static List *
keys_to_ask(List *keys, const Bitmapset *own, const UnionParts *parts)
{
	List	   *to_ask = NIL;
	ListCell   *cell;

	if (own == NULL && !parts->in_order)
		return keys;
	foreach(cell, keys)
	{
		QuestionKey *key = lfirst(cell);
		const Node *argument = (const Node *) key->argument;
		Bitmapset  *parameters = NULL;

		chunk_find_parameters((Node *) argument, &parameters);
		if (!bms_overlap(parameters, own) &&
			(argument == NULL || !parts->in_order || chunk_is_plain_value(argument) ||
			 clauses_compare_with(parts->first_clauses, key->argument)))
			to_ask = lappend(to_ask, key);
	}
	return to_ask;
}

/*
 * Returns a key as a list (see CHUNK_SKIP_KEY_SETS), which can be compared, copied, and sent to workers. Adds the
 * key's argument to *arguments if it is not there yet.
 */
static List *
encode_key(const QuestionKey *key, List **arguments)
{
	int			argument = -1;

	if (key->argument != NULL)
	{
		ListCell   *cell;

		foreach(cell, *arguments)
			if (equal(lfirst(cell), key->argument))
				argument = foreach_current_index(cell);
		if (argument < 0)
		{
			argument = list_length(*arguments);
			*arguments = lappend(*arguments, copyObject(key->argument));
		}
	}
	return list_make2(list_make3_oid(key->subtype, key->collation, key->function),
					  list_make4_int(key->column, key->flags, key->strategy, argument));
}

/* Returns the number of the set that has the question's keys. Adds this set to *sets if it is not there yet. */
static int
number_of_set(const ChunkQuestion *question, List **sets, List **arguments)
{
	List	   *set = NIL;
	ListCell   *cell;

	foreach(cell, question->keys)
		set = lappend(set, encode_key(lfirst(cell), arguments));
	foreach(cell, *sets)
		if (equal(lfirst(cell), set))
			return foreach_current_index(cell);
	*sets = lappend(*sets, set);
	return list_length(*sets) - 1;
}

/* ------------------------------------------------------------- the new node */

/*
 * Does this plan scan an index that is in no catalogue? ExecSupportsBackwardScan() would fail at such an index
 * (can_be_read_backward()). So this function looks at all plan nodes at which that one looks, and at more.
 */
static bool
scans_hypothetical_index(Plan *plan)
{
	Oid			index = InvalidOid;
	ListCell   *cell;

	if (plan == NULL)
		return false;
	check_stack_depth();
	if (IsA(plan, IndexScan))
		index = ((const IndexScan *) plan)->indexid;
	else if (IsA(plan, IndexOnlyScan))
		index = ((const IndexOnlyScan *) plan)->indexid;
	else if (IsA(plan, SubqueryScan))
		return scans_hypothetical_index(((SubqueryScan *) plan)->subplan);
	else if (IsA(plan, Append))
		foreach(cell, ((Append *) plan)->appendplans)
			if (scans_hypothetical_index(lfirst(cell)))
				return true;
	return OidIsValid(index) ? !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(index)) :
		scans_hypothetical_index(outerPlan(plan));
}

/*
 * Can the rows of an Append or MergeAppend be read backward? PostgreSQL looks the indexes of index scans up in the
 * catalogues, and fails if one is not there. EXPLAIN gets plans with such indexes if an extension makes hypothetical
 * ones (HypoPG). Such plans are never executed, so any answer will do.
 */
static bool
can_be_read_backward(Plan *append)
{
	return !scans_hypothetical_index(append) && ExecSupportsBackwardScan(append);
}

/*
 * Puts the node above an Append or MergeAppend with these children, if there is something to ask about them. `limit`
 * is the value for CHUNK_SKIP_LIMIT. Returns the node; if none was made, the plan as it was.
 */
static Plan *
add_node_above(Plan *append, List *children, Bitmapset *relids, List *limit, FinishedStatement *finished)
{
	PlannedStmt *statement = finished->statement;
	List	   *arguments = NIL;
	List	   *sets = NIL;
	List	   *positions = NIL;
	List	   *heaps = NIL;
	List	   *indexes = NIL;
	List	   *index_sets = NIL;
	List	   *unasked = NIL;
	List	   *unasked_why = NIL;
	ChunkFinder finder = {InvalidOid};
	bool		guarded = false;
	CustomScan *skip;
	UnionParts	parts;
	ListCell   *cell;

	if (list_length(children) < 2)
		return append;
	parts = union_parts(statement, append, children, relids);
	foreach(cell, children)
	{
		Scan	   *scan = scan_of_child(lfirst(cell));
		List	   *clauses;
		RangeTblEntry *rte;
		Relation	heap;
		List	   *questions;
		ListCell   *inner;
		Bitmapset  *parameters;
		bool		is_hidden;
		bool		is_cheap = false;
		int			asked = list_length(positions);

		if (scan == NULL)
		{
			unasked = lappend_int(unasked, foreach_current_index(cell));
			unasked_why = lappend_int(unasked_why, CHUNK_IS_NOT_ASKED);
			continue;
		}
		/*
		 * If the statement changes rows of a child, the Append gets no node. Such rows may be changed by other sessions
		 * meanwhile, so they are found as PostgreSQL always finds them.
		 */
		if (sb_is_result_relation(statement, scan->scanrelid))
			return append;
		rte = rt_fetch(scan->scanrelid, statement->rtable);
		if (rte->rtekind != RTE_RELATION || rte->tablesample != NULL || rte->relkind != RELKIND_RELATION)
			continue;
		clauses = finished_leakproof_clauses(finished, rte->relid, finished_clauses_of_scan(scan), &is_hidden);
		guarded |= is_hidden;
		heap = table_open(rte->relid, NoLock);
		questions = chunk_questions_of_table(heap, scan->scanrelid, clauses, &finder);
		table_close(heap, NoLock);
		parameters = parameters_of_child(lfirst(cell), scan);
		foreach(inner, questions)
		{
			ChunkQuestion *question = lfirst(inner);

			question->keys = keys_to_ask(question->keys, parameters, &parts);
			if (question->keys == NIL)
				continue;
			if (finished_is_cheap(scan, question->index))
			{
				is_cheap = true;
				continue;
			}
			positions = lappend_int(positions, foreach_current_index(cell));
			heaps = lappend_oid(heaps, rte->relid);
			indexes = lappend_oid(indexes, question->index);
			index_sets = lappend_int(index_sets, number_of_set(question, &sets, &arguments));
		}
		if (questions != NIL && list_length(positions) == asked)
		{
			unasked = lappend_int(unasked, foreach_current_index(cell));
			unasked_why = lappend_int(unasked_why, is_cheap ? CHUNK_IS_CHEAP : CHUNK_IS_NOT_ASKED);
		}
	}
	if (positions == NIL)
		return append;
	skip = finished_make_node(finished, append);
	skip->flags = can_be_read_backward(append) ? CUSTOMPATH_SUPPORT_BACKWARD_SCAN : 0;
	skip->custom_exprs = arguments;
	skip->custom_private = list_concat(list_make5(sets, positions, heaps, indexes, index_sets),
									   list_make5(unasked, unasked_why, list_make1_int(guarded),
												  NIL, limit));
	skip->custom_relids = relids;
	skip->methods = &chunk_skip_scan_methods;
	return (Plan *) skip;
}

/* ------------------------------------------------------------------ finding */

/* Can this expression of a Limit be evaluated twice, with the same value both times? */
static bool
is_repeatable(Node *expression)
{
	return !contain_mutable_functions(expression) && !contain_subplans(expression);
}

/*
 * Returns the value for CHUNK_SKIP_LIMIT that holds below this plan node. `limit` is the value for the node itself.
 * The executor's Limit passes its bound down through the same kinds of nodes (ExecSetTupleBound()).
 */
static List *
limit_below(Plan *plan, List *limit)
{
	const Limit *node = (const Limit *) plan;

	switch (nodeTag(plan))
	{
		case T_Limit:
			if (node->limitOption != LIMIT_OPTION_COUNT || node->limitCount == NULL ||
				!is_repeatable(node->limitCount) || !is_repeatable(node->limitOffset))
				return NIL;
			return list_make2(copyObject(node->limitCount), copyObject(node->limitOffset));
		case T_Append:
		case T_MergeAppend:
		case T_Result:
			return limit;
		case T_SubqueryScan:
			return plan->qual == NIL ? limit : NIL;
		default:
			return NIL;
	}
}

/*
 * Puts ChunkSkips into a plan that the leader alone runs, and returns the plan. `limit` is the value for
 * CHUNK_SKIP_LIMIT.
 */
static Plan *
add_nodes(Plan *plan, List *limit, FinishedStatement *finished)
{
	List	   *below;
	ListCell   *cell;

	if (plan == NULL)
		return NULL;
	check_stack_depth();
	foreach(cell, plan->initPlan)
		finished->by_leader = bms_add_member(finished->by_leader, lfirst_node(SubPlan, cell)->plan_id);
	below = limit_below(plan, limit);
	switch (nodeTag(plan))
	{
		case T_Gather:
		case T_GatherMerge:
			return plan;		/* workers run the plan below it */
		case T_Append:
			{
				Append	   *append = (Append *) plan;

				foreach(cell, append->appendplans)
					lfirst(cell) = add_nodes(lfirst(cell), below, finished);
				if (append->nasyncplans > 0 || plan->parallel_aware || finished_is_pruned_at_run_time(plan))
					return plan;
				return add_node_above(plan, append->appendplans, append->apprelids, limit, finished);
			}
		case T_MergeAppend:
			{
				MergeAppend *append = (MergeAppend *) plan;

				foreach(cell, append->mergeplans)
					lfirst(cell) = add_nodes(lfirst(cell), below, finished);
				if (finished_is_pruned_at_run_time(plan))
					return plan;
				return add_node_above(plan, append->mergeplans, append->apprelids, limit, finished);
			}
		case T_SubqueryScan:
			((SubqueryScan *) plan)->subplan = add_nodes(((SubqueryScan *) plan)->subplan, below, finished);
			return plan;
		default:
			plan->lefttree = add_nodes(plan->lefttree, below, finished);
			plan->righttree = add_nodes(plan->righttree, NIL, finished);
			return plan;
	}
}

Plan *
chunk_skip_add_nodes(Plan *plan, FinishedStatement *finished)
{
	return add_nodes(plan, NIL, finished);
}
