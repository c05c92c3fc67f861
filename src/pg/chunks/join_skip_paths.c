/*
 * join_skip_paths.c: gives hash joins the cost that they are expected to have with JoinSkip. This node leaves pages of
 * a join's outer side unread if they hold none of the keys of the inner side (join_skip.h).
 *
 * JoinSkip is put into finished plans, and never below a Gather. Without this file the planner would expect that all
 * of the outer side is read, and might have workers read it. So where the inner side is expected to be small, and bf
 * indexes can be asked about its keys, a join gets a second path with the lower cost. This path is not parallel safe,
 * because workers do not skip. The other paths are left as they are, and the planner decides. In the same way the inner
 * side of a nested loop gets a second path with the cost that is expected with ChunkSkip, the node that leaves out
 * whole partitions. Tables whose rows the statement changes get no such paths, because neither node is put above their
 * scans.
 */
#include "chunks/join_skip.h"

#include <limits.h>
#include <math.h>

#include "access/relation.h"
#include "access/table.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "chunks/chunk_skip.h"
#include "index/handler.h"
#include "index/scan.h"

/*
 * Of a table's children every n-th one is looked at, with n = number of children / CHILDREN_LOOKED_AT (at least 1).
 * These are 8 to 15 children, or all if there are fewer. The other children are taken to be like these.
 */
#define CHILDREN_LOOKED_AT 8

/*
 * In the clauses that indexes are asked about here, a parameter stands for the expression of the inner side. This is
 * its number, which no parameter of a plan has.
 */
#define PARAMETER_OF_KEY INT_MAX

static set_join_pathlist_hook_type previous_set_join_pathlist;

/* What the indexes of a table, or of its children, are expected to do for a join. */
typedef struct Expectation
{
	double		pages;			/* pages of the table, or of all its children */
	double		left;			/* the share of these pages that may hold rows with a key, and must be read */
	double		index_pages;	/* pages of the indexes that are read */
} Expectation;

/* ----------------------------------------------------------------------- one table */

/*
 * Sets *expectation to what an index of this table is expected to do if it is asked about the keys of a join.
 * `clause` is the join's clause, with the table's side on the left and a parameter on the right. `keys` is the number
 * of keys. `rows` is how many of all rows of the table are expected to have one of these keys. Returns false if no
 * index can be asked.
 */
static bool
expect_of_table(PlannerInfo *root, RelOptInfo *table, Node *clause, double keys, double rows, Expectation *expectation)
{
	const RangeTblEntry *rte = root->simple_rte_array[table->relid];
	const Expr *argument = lsecond(((OpExpr *) clause)->args);
	List	   *clauses = list_make1(clause);
	ChunkFinder finder = {InvalidOid};
	bool		found = false;
	Relation	heap;
	ListCell   *cell;

	if (rte->rtekind != RTE_RELATION || rte->relkind != RELKIND_RELATION || table->indexlist == NIL ||
		table->pages == 0)
		return false;
	foreach(cell, table->baserestrictinfo)
		clauses = lappend(clauses, lfirst_node(RestrictInfo, cell)->clause);
	heap = table_open(rte->relid, NoLock);	/* the planner has locked it */
	foreach(cell, chunk_questions_of_table(heap, table->relid, chunk_skip_clauses(root, table->relid, clauses), &finder))
	{
		const ChunkQuestion *question = lfirst(cell);
		ListCell   *inner;

		foreach(inner, question->keys)
		{
			const QuestionKey *key = lfirst(inner);
			Relation	index;
			BfExpectation expected;
			double		holding;	/* the expected share of the ranges that have one of the rows */
			bool		is_expected;

			if (found || key->flags != 0 || key->strategy != BF_EQUAL_STRATEGY || !equal(key->argument, argument))
				continue;
			index = chunk_open_index(heap, question->index, bf_index_am_oid());
			if (index == NULL)
				continue;
			is_expected = bf_index_expect(index, key->column, keys, &expected);
			relation_close(index, AccessShareLock);
			if (!is_expected)
				continue;
			expectation->pages = table->pages;
			/* several of the rows may lie in one range, which is read once; and a range may say "maybe" in vain */
			holding = 1 - pow(1 - Min(1, (double) expected.pages_per_range / table->pages), rows);
			expectation->left = holding + (1 - holding) * expected.in_vain;
			expectation->index_pages = expected.pages;
			found = true;
		}
	}
	table_close(heap, NoLock);
	return found;
}

/* ----------------------------------------------------------- a table with its children */

/*
 * Returns how many rows a table has together with its children, before the query's conditions are applied. Children
 * that were pruned, or are proved to be empty, are not counted.
 */
static double
all_rows(PlannerInfo *root, const RelOptInfo *table)
{
	double		rows = 0;
	ListCell   *cell;

	if (!root->simple_rte_array[table->relid]->inh)
		return table->tuples;
	if (root->append_rel_array != NULL)
		foreach(cell, chunk_skip_descendants(root, table->relid, true))
			rows += lfirst_node(RelOptInfo, cell)->tuples;
	return rows;
}

/*
 * Returns how many of all rows of the table on the outer side of a hash join are expected to have a partner by this
 * clause alone. The index is asked about the keys, and not about the table's other conditions. So the planner's own
 * estimates for the table and for the join will not do: they count only rows that satisfy all conditions.
 */
static double
rows_with_partner(PlannerInfo *root, const HashPath *path, const RestrictInfo *clause, SpecialJoinInfo *join)
{
	RelOptInfo *outer = path->jpath.outerjoinpath->parent;
	RelOptInfo *inner = path->jpath.innerjoinpath->parent;
	const bool	each_row_once = join->jointype == JOIN_SEMI && path->jpath.jointype == JOIN_SEMI;
	SpecialJoinInfo plain = {
		.type = T_SpecialJoinInfo,
		.min_lefthand = outer->relids,
		.min_righthand = inner->relids,
		.syn_lefthand = outer->relids,
		.syn_righthand = inner->relids,
		.jointype = JOIN_INNER,
	};
	double		rows = all_rows(root, outer);
	double		share = chunk_skip_selectivity(root, outer, list_make1(clause->clause), 0,
										each_row_once ? join : &plain, rows);

	return Min(rows, rows * share * (each_row_once ? 1 : path->jpath.innerjoinpath->rows));
}

/* Turns a clause on the columns of a table into one on the columns of its child. */
static Node *
clause_for_child(PlannerInfo *root, Node *clause, RelOptInfo *child, RelOptInfo *table)
{
#if PG_VERSION_NUM >= 160000
	return adjust_appendrel_attrs_multilevel(root, clause, child, table);
#else
	return adjust_appendrel_attrs_multilevel(root, clause, child->relids, table->relids);
#endif
}

/* Like expect_of_table(), but for a table that may have children. Some of the children are looked at. */
static bool
expect_of_outer(PlannerInfo *root, RelOptInfo *table, Node *clause, double keys, double rows, Expectation *expectation)
{
	List	   *children;
	int			step;
	int			looked_at = 0;
	const double all = all_rows(root, table);
	Expectation sum = {0};
	double		left = 0;
	ListCell   *cell;

	if (!root->simple_rte_array[table->relid]->inh)
		return expect_of_table(root, table, clause, keys, rows, expectation);
	if (root->append_rel_array == NULL)
		return false;
	children = chunk_skip_descendants(root, table->relid, true);
	step = Max(list_length(children) / CHILDREN_LOOKED_AT, 1);
	for (int i = 0; i < list_length(children); i += step)
	{
		RelOptInfo *child = list_nth(children, i);
		Expectation of_child = {.pages = child->pages, .left = 1};

		(void) expect_of_table(root, child, clause_for_child(root, clause, child, table), keys,
							   rows * child->tuples / Max(all, 1), &of_child);
		left += of_child.left * of_child.pages;
		sum.pages += of_child.pages;
		sum.index_pages += of_child.index_pages;
		looked_at++;
	}
	if (sum.pages == 0 || sum.index_pages == 0)
		return false;
	expectation->left = left / sum.pages;
	expectation->index_pages = sum.index_pages * list_length(children) / looked_at;
	expectation->pages = 0;
	foreach(cell, children)
		expectation->pages += lfirst_node(RelOptInfo, cell)->pages;
	return true;
}

/* ---------------------------------------------------------------------------- the paths */

/*
 * Returns the clause of a join with the side of a table on the left, and a parameter in place of the other side.
 * Returns NULL if the clause cannot be written so.
 */
static Node *
clause_with_parameter(const RestrictInfo *clause, bool table_is_left)
{
	const OpExpr *comparison = (const OpExpr *) clause->clause;
	Node	   *outer;
	Node	   *inner;
	Oid			operator;
	Param	   *parameter = makeNode(Param);

	if (!IsA(comparison, OpExpr) || list_length(comparison->args) != 2)
		return NULL;
	outer = table_is_left ? linitial(comparison->args) : lsecond(comparison->args);
	inner = table_is_left ? lsecond(comparison->args) : linitial(comparison->args);
	operator = table_is_left ? comparison->opno : get_commutator(comparison->opno);
	if (!OidIsValid(operator))
		return NULL;
	parameter->paramkind = PARAM_EXEC;
	parameter->paramid = PARAMETER_OF_KEY;
	parameter->paramtype = exprType(inner);
	parameter->paramtypmod = exprTypmod(inner);
	parameter->paramcollid = exprCollation(inner);
	parameter->location = -1;
	return (Node *) make_opclause(operator, BOOLOID, false, (Expr *) outer, (Expr *) parameter, InvalidOid,
								  comparison->inputcollid);
}

/*
 * Is this path a sequential scan, or an Append or MergeAppend whose first child is one? JoinSkip leaves out single
 * pages only of a sequential scan (join_skip_exec.c).
 */
static bool
is_sequential(const Path *path)
{
	for (;;)
	{
		List	   *below;

		if (IsA(path, AppendPath))
			below = ((const AppendPath *) path)->subpaths;
		else if (IsA(path, MergeAppendPath))
			below = ((const MergeAppendPath *) path)->subpaths;
		else
			return path->pathtype == T_SeqScan;
		if (below == NIL)
			return false;
		path = linitial(below);
	}
}

/*
 * Did add_with_expectation() make this path? Such a path may be met again when the planner tries another way to make
 * the same join, and must not be made cheaper once more. Such a path has a copy of the join's target; the other paths
 * of the join share the target itself.
 */
static bool
is_own(const RelOptInfo *joinrel, const Path *path)
{
	return path->pathtarget != joinrel->reltarget;
}

/*
 * May the query be a subquery of an expression that parallel workers evaluate? Then no path may be added: it would not
 * be parallel safe, and workers could no longer evaluate the expression. Returns false if the subquery would not be
 * parallel safe without the added path either. This is so if `path`, the hash join that would be copied, is not
 * parallel safe, or if the planner is expected to have workers run this join below a Gather of its own.
 */
static bool
may_be_for_workers(const PlannerInfo *root, const RelOptInfo *joinrel, const Path *path)
{
	ListCell   *cell;

	if (!path->parallel_safe || !chunk_skip_may_be_in_expression(root))
		return false;
	foreach(cell, joinrel->partial_pathlist)
	{
		const Path *partial = lfirst(cell);

		if (partial->total_cost + parallel_setup_cost + parallel_tuple_cost * path->rows < path->total_cost)
			return false;
	}
	return true;
}

static bool
may_run_inner_first(const HashPath *path)
{
	const Path *outer = path->jpath.outerjoinpath;
	const Path *inner = path->jpath.innerjoinpath;

	return !join_skip_outer_may_go_first(path->jpath.jointype, outer->startup_cost, inner->total_cost) ||
		!join_skip_is_outer_too_cheap(outer->total_cost, inner->total_cost);
}

/* Returns the cheapest hash join with this outer relation among those that JoinSkip can make cheaper, or NULL. */
static const HashPath *
cheapest_hash_path(const RelOptInfo *joinrel, const RelOptInfo *outer)
{
	const HashPath *cheapest = NULL;
	ListCell   *cell;

	foreach(cell, joinrel->pathlist)
	{
		const HashPath *path = lfirst(cell);

		if (IsA(path, HashPath) && !is_own(joinrel, &path->jpath.path) && path->jpath.outerjoinpath->parent == outer &&
			!path->jpath.path.parallel_aware &&
			path->jpath.path.param_info == NULL && join_skip_drops_outer_rows(path->jpath.jointype) &&
			path->jpath.innerjoinpath->rows <= JOIN_MOST_KEYS && is_sequential(path->jpath.outerjoinpath) &&
			may_run_inner_first(path) &&
			(cheapest == NULL || path->jpath.path.total_cost < cheapest->jpath.path.total_cost))
			cheapest = path;
	}
	return cheapest;
}

/* Adds a copy of the path with the cost that it is expected to have with JoinSkip, if that is lower. */
static void
add_with_expectation(RelOptInfo *joinrel, const HashPath *path, const Expectation *expectation)
{
	const Path *outer = path->jpath.outerjoinpath;
	const double skipped = 1 - expectation->left;
	/*
	 * The cost to hash each row, look it up, and compare it with the rows of its bucket. The bucket is taken to have
	 * one row, and a comparison to cost half an operator, as in final_cost_hashjoin(): most comparisons end when the
	 * hashes differ.
	 */
	Cost		of_rows = list_length(path->path_hashclauses) * cpu_operator_cost * outer->rows * 1.5;
	Cost		saved = skipped * (outer->total_cost - outer->startup_cost + of_rows);
	Cost		questions = expectation->index_pages * seq_page_cost; /* the pages are read in ascending order */
	HashPath   *copy;

	if (questions >= saved)
		return;
	copy = makeNode(HashPath);
	*copy = *path;
	copy->jpath.path.total_cost = Max(path->jpath.path.startup_cost, path->jpath.path.total_cost - saved + questions);
	copy->jpath.path.parallel_safe = false;
	copy->jpath.path.pathtarget = copy_pathtarget(joinrel->reltarget);	/* is_own() knows the path by this */
	add_path(joinrel, (Path *) copy);
}

/* The planner calls this when it has made the paths of a join with this outer and this inner relation. */
static void
change_join_paths(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner, JoinType type,
				  JoinPathExtraData *extra)
{
	const HashPath *path;
	Expectation best = {.left = 1};
	double		keys;
	ListCell   *cell;

	if (previous_set_join_pathlist)
		previous_set_join_pathlist(root, joinrel, outer, inner, type, extra);
	if (!join_skip_enabled || !chunk_skip_preferred || !chunk_skip_is_noted() || outer->rtekind != RTE_RELATION ||
		!IS_SIMPLE_REL(outer) || bms_overlap(outer->relids, root->all_result_relids))
		return;
	path = cheapest_hash_path(joinrel, outer);
	if (path == NULL || may_be_for_workers(root, joinrel, &path->jpath.path))
		return;
	keys = Max(path->jpath.innerjoinpath->rows, 1);
	foreach(cell, path->path_hashclauses)
	{
		const RestrictInfo *hash_clause = lfirst_node(RestrictInfo, cell);
		Node	   *clause = clause_with_parameter(hash_clause, hash_clause->outer_is_left);
		Expectation expectation;

		if (clause != NULL &&
			expect_of_outer(root, outer, clause, keys, rows_with_partner(root, path, hash_clause, extra->sjinfo),
							&expectation) &&
			expectation.left < best.left)
			best = expectation;
	}
	if (best.left < 1)
		add_with_expectation(joinrel, path, &best);
}

/* --------------------------------------------------------- paths with parameters */

/*
 * On the inner side of a nested loop ChunkSkip asks the indexes of all partitions again for each outer row. It
 * remembers how they are asked, so it reads only two or three pages of each index.
 */
#define PAGES_PER_QUESTION_AGAIN 2.5

/* Returns those of the path's join clauses that an index of the first child can answer, without their RestrictInfos. */
static List *
answered_clauses(PlannerInfo *root, RelOptInfo *table, RelOptInfo *child, const ParamPathInfo *parameters)
{
	List	   *answered = NIL;
	ListCell   *cell;

	foreach(cell, parameters->ppi_clauses)
	{
		const RestrictInfo *of_join = lfirst_node(RestrictInfo, cell);
		bool		is_left = bms_equal(of_join->left_relids, table->relids);
		Node	   *clause;
		Expectation ignored;

		if (!is_left && !bms_equal(of_join->right_relids, table->relids))
			continue;
		clause = clause_with_parameter(of_join, is_left);
		if (clause != NULL && expect_of_table(root, child, clause_for_child(root, clause, child, table), 1, 1,
											  &ignored))
			answered = lappend(answered, of_join->clause);
	}
	return answered;
}

/*
 * Returns the share of the children that are expected to have a row which satisfies the path's join clauses, as far as
 * indexes answer these. Each such row is taken to be in a child of its own, so the result may be more than 1. The
 * table's other conditions leave fewer rows, but not fewer children.
 */
static double
share_that_is_read(PlannerInfo *root, RelOptInfo *table, List *children, const ParamPathInfo *parameters)
{
	List	   *answered = answered_clauses(root, table, linitial(children), parameters);
	double		rows = all_rows(root, table);

	if (answered == NIL)
		return 1;
	return rows * chunk_skip_selectivity(root, table, answered, table->relid, NULL, rows) / list_length(children);
}

void
join_skip_add_parameterized(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte)
{
	List	   *copies = NIL;
	List	   *children = NIL;
	ListCell   *cell;

	if (!chunk_skip_preferred || !chunk_skip_is_expected() || rte->rtekind != RTE_RELATION || !rte->inh ||
		rel->reloptkind != RELOPT_BASEREL || root->append_rel_array == NULL ||
		bms_overlap(rel->relids, root->all_result_relids) || chunk_skip_may_be_in_expression(root))
		return;
	foreach(cell, rel->pathlist)
	{
		const Path *path = lfirst(cell);
		AppendPath *copy;
		Cost		questions;
		double		share;

		if (path->param_info == NULL || !IsA(path, AppendPath) || path->parallel_aware)
			continue;
		if (children == NIL)
			children = chunk_skip_descendants(root, rel->relid, true);
		questions = list_length(children) * PAGES_PER_QUESTION_AGAIN * seq_page_cost;
		if (list_length(children) < 2 || questions >= path->total_cost)
			continue;
		share = share_that_is_read(root, rel, children, path->param_info);
		if (questions + share * path->total_cost >= path->total_cost)
			continue;
		copy = makeNode(AppendPath);
		*copy = *(const AppendPath *) path;
		copy->path.startup_cost = questions + share * path->startup_cost;
		copy->path.total_cost = questions + share * path->total_cost;
		copy->path.parallel_safe = false;
		copies = lappend(copies, copy);
	}
	/* add_path() may free paths that cost more. So it is not called in the loop above, which goes through the paths. */
	foreach(cell, copies)
		add_path(rel, lfirst(cell));
}

void
join_skip_paths_init(void)
{
	previous_set_join_pathlist = set_join_pathlist_hook;
	set_join_pathlist_hook = change_join_paths;
}
