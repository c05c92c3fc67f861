/*
 * chunk_skip_paths.c: keeps parallel plans away from tables where ChunkSkip is expected to leave most partitions out.
 *
 * The node is put into finished plans, and never below a Gather. The planner knows nothing of the node. For a
 * thousand small partitions it reckons that each has to be read, and chooses a Parallel Append of sequential scans.
 * Such a plan takes 25 times as long as asking the indexes and reading the few partitions that are left.
 *
 * So where bf indexes answer a condition of the query, the cost of a plan with ChunkSkip is estimated here. If it is
 * the lowest, the table's partial paths are removed, which parallel plans need. In a join the table's other paths get
 * the estimated cost instead, and the planner decides.
 */
#include "chunks/chunk_skip.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "chunks/chunk_question.h"

bool		chunk_skip_preferred = true;

/*
 * Every n-th child is looked at, with n = number of children / CHILDREN_LOOKED_AT (at least 1): 8 to 15 of them, or all
 * if there are fewer. The others are taken to be like these.
 */
#define CHILDREN_LOOKED_AT 8

/* A question reads one or two pages of an index, at random. */
#define PAGES_PER_QUESTION 2

/*
 * By the statistics of a child, each value is expected to occur in it, although most values do not. So if at most
 * FEW_ROWS rows of a child are expected to match, this says little. Then at most one in CHILDREN_PER_MATCH children is
 * taken to have a row that matches. If more rows are expected to match, each child is taken to have one. (The
 * statistics of the parent are used instead if they let fewer rows be expected: share_that_matches().)
 */
#define FEW_ROWS 2
#define CHILDREN_PER_MATCH 10

/* -------------------------------------------------------------------- children */

/* Is the relation `relid` a child of `ancestor`, at any level? */
static bool
is_descendant(const PlannerInfo *root, Index relid, Index ancestor)
{
	while (root->append_rel_array[relid] != NULL)
	{
		relid = root->append_rel_array[relid]->parent_relid;
		if (relid == ancestor)
			return true;
	}
	return false;
}

List *
chunk_skip_descendants(PlannerInfo *root, Index ancestor, bool scanned)
{
	List	   *result = NIL;

	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		RelOptInfo *rel = root->simple_rel_array[i];

		if (rel != NULL && root->append_rel_array[i] != NULL && is_descendant(root, i, ancestor) &&
			root->simple_rte_array[i]->inh != scanned && !IS_DUMMY_REL(rel))
			result = lappend(result, rel);
	}
	return result;
}

static bool
has_params(Node *node, void *nothing)
{
	if (node == NULL)
		return false;
	return IsA(node, Param) || expression_tree_walker(node, has_params, nothing);
}

/*
 * May partitions of the relation be pruned at run time? This is so if a condition compares a partition key with a value
 * that is not known yet. The Append of such partitions gets no ChunkSkip.
 */
static bool
may_be_pruned_at_run_time(const RelOptInfo *rel)
{
	Bitmapset  *keys = NULL;
	ListCell   *cell;

	if (!enable_partition_pruning || rel->part_scheme == NULL)
		return false;
	for (int i = 0; i < rel->part_scheme->partnatts; i++)
		pull_varattnos((Node *) rel->partexprs[i], rel->relid, &keys);
	foreach(cell, rel->baserestrictinfo)
	{
		const RestrictInfo *condition = lfirst_node(RestrictInfo, cell);
		Bitmapset  *columns = NULL;

		pull_varattnos((Node *) condition->clause, rel->relid, &columns);
		if (bms_overlap(columns, keys) &&
			(contain_mutable_functions((Node *) condition->clause) || has_params((Node *) condition->clause, NULL)))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------- estimating */

/* Returns the positions of those conditions of a child that its bf indexes can answer. Each is tried by itself. */
static Bitmapset *
answered_conditions(PlannerInfo *root, RelOptInfo *child)
{
	const RangeTblEntry *rte = root->simple_rte_array[child->relid];
	ChunkFinder finder = {InvalidOid};
	Bitmapset  *answered = NULL;
	Relation	heap;
	ListCell   *cell;

	if (rte->relkind != RELKIND_RELATION || child->indexlist == NIL)
		return NULL;
	heap = table_open(rte->relid, NoLock);	/* the planner has locked it */
	foreach(cell, child->baserestrictinfo)
	{
		const RestrictInfo *condition = lfirst_node(RestrictInfo, cell);
		List	   *clauses = list_make1(condition->clause);

		if (!condition->pseudoconstant &&
			chunk_questions_of_table(heap, child->relid, chunk_skip_clauses(root, child->relid, clauses), &finder) != NIL)
			answered = bms_add_member(answered, foreach_current_index(cell));
	}
	table_close(heap, NoLock);
	return answered;
}

double
chunk_skip_selectivity(PlannerInfo *root, RelOptInfo *rel, List *conditions, int varno, SpecialJoinInfo *join,
					   double rows)
{
	double		tuples = rel->tuples;
	double		result;

	rel->tuples = rows;
	result = clauselist_selectivity(root, conditions, varno, join != NULL ? join->jointype : JOIN_INNER, join);
	rel->tuples = tuples;
	return result;
}

/* How many of the relation's rows (`rows` in all) satisfy the conditions at these places of baserestrictinfo. */
static double
rows_that_satisfy(PlannerInfo *root, RelOptInfo *rel, const Bitmapset *positions, double rows)
{
	List	   *conditions = NIL;
	int			i = -1;

	while ((i = bms_next_member(positions, i)) >= 0)
		conditions = lappend(conditions, list_nth_node(RestrictInfo, rel->baserestrictinfo, i)->clause);
	return rows * chunk_skip_selectivity(root, rel, conditions, rel->relid, NULL, rows);
}

/*
 * Returns the share of the children that are expected to have rows which satisfy the conditions that indexes answer.
 * The statistics of the parent are used if they let fewer rows be expected than those of the children. Then each row is
 * taken to be in a child of its own. Returns -1 if one of the children that are looked at has no index that answers a
 * condition. Then the paths must stay as they are.
 */
static double
share_that_matches(PlannerInfo *root, RelOptInfo *rel, List *children)
{
	int			count = list_length(children);
	int			step = Max(count / CHILDREN_LOOKED_AT, 1);
	double		rows_of_child = 0;
	double		rows_of_parent = 0;
	int			looked_at = 0;
	ListCell   *cell;

	for (int i = 0; i < count; i += step)
	{
		RelOptInfo *child = list_nth(children, i);
		Bitmapset  *answered = answered_conditions(root, child);

		if (answered == NULL)
			return -1;
		looked_at++;
		rows_of_child += rows_that_satisfy(root, child, answered, child->tuples);
		if (looked_at > 1 || list_length(child->baserestrictinfo) != list_length(rel->baserestrictinfo))
			continue;
		/* the parent has statistics of its own, and the same conditions in the same order */
		foreach(cell, children)
			rows_of_parent += lfirst_node(RelOptInfo, cell)->tuples;
		rows_of_parent = rows_that_satisfy(root, rel, answered, rows_of_parent);
	}
	rows_of_child /= looked_at;
	if (rows_of_parent > 0 && rows_of_parent < rows_of_child * count)
		return Min(rows_of_parent / count, 1);
	return rows_of_child <= FEW_ROWS ? Min(rows_of_child, 1) / CHILDREN_PER_MATCH : 1;
}

/* Returns the smallest total cost of the paths that need no parameters, or -1 if there are none. */
static Cost
cheapest(List *paths)
{
	Cost		result = -1;
	ListCell   *cell;

	foreach(cell, paths)
	{
		const Path *path = lfirst(cell);

		if (path->param_info == NULL && (result < 0 || path->total_cost < result))
			result = path->total_cost;
	}
	return result;
}

/* ---------------------------------------------------------------------- deciding */

/*
 * Has somebody told the planner to read the relation by workers, whatever it costs? From PostgreSQL 19 on
 * pg_plan_advice and its like can do so (GATHER, GATHER_MERGE).
 */
static bool
workers_are_demanded(const RelOptInfo *rel)
{
#if PG_VERSION_NUM >= 190000
	return (rel->pgs_mask & PGS_CONSIDER_NONPARTIAL) == 0;
#else
	(void) rel;
	return false;
#endif
}

bool
chunk_skip_may_be_in_expression(const PlannerInfo *root)
{
	for (root = root->parent_root; root != NULL; root = root->parent_root)
		if (root->parse->hasSubLinks)
			return true;
	return false;
}

static void
take_partial_paths_away(RelOptInfo *rel, List *descendants)
{
	ListCell   *cell;

	rel->partial_pathlist = NIL;
	rel->consider_parallel = false;
	foreach(cell, descendants)
	{
		lfirst_node(RelOptInfo, cell)->partial_pathlist = NIL;
		lfirst_node(RelOptInfo, cell)->consider_parallel = false;
	}
}

/*
 * Gives the paths of a table in a join the costs that they are expected to have with the node. Then the planner
 * decides whether it reads the table by such a path, or by workers together with another table. Workers do not use
 * the node, so these paths must not stand below a Gather.
 */
static void
set_costs_with_node(RelOptInfo *rel, Cost questions, double share)
{
	List	   *paths = rel->pathlist;
	ListCell   *cell;

	rel->pathlist = NIL;
	foreach(cell, paths)
	{
		Path	   *path = lfirst(cell);

		if (path->param_info == NULL && (IsA(path, AppendPath) || IsA(path, MergeAppendPath)))
		{
			path->startup_cost = questions + share * path->startup_cost;
			path->total_cost = questions + share * path->total_cost;
			path->parallel_safe = false;
		}
		add_path(rel, path);
	}
}

void
chunk_skip_prefer(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte)
{
	List	   *children;
	List	   *parents;
	ListCell   *cell;
	Cost		serial;
	Cost		parallel;
	Cost		questions;
	double		share;

	if (!chunk_skip_preferred || !chunk_skip_is_expected() || rte->rtekind != RTE_RELATION || !rte->inh ||
		rel->reloptkind != RELOPT_BASEREL || rel->baserestrictinfo == NIL || rel->partial_pathlist == NIL ||
		root->append_rel_array == NULL || chunk_skip_may_be_in_expression(root) || workers_are_demanded(rel))
		return;
	serial = cheapest(rel->pathlist);
	parallel = cheapest(rel->partial_pathlist) + parallel_setup_cost;
	children = chunk_skip_descendants(root, rel->relid, true);
	parents = chunk_skip_descendants(root, rel->relid, false);
	questions = list_length(children) * PAGES_PER_QUESTION * random_page_cost;
	if (serial < 0 || list_length(children) < 2 || questions >= parallel || may_be_pruned_at_run_time(rel))
		return;
	foreach(cell, parents)
		if (may_be_pruned_at_run_time(lfirst_node(RelOptInfo, cell)))
			return;
	share = share_that_matches(root, rel, children);
	/* If the node is not expected to save anything, the paths stay as they are, and workers may still run them. */
	if (share < 0 || questions + share * serial >= Min(serial, parallel))
		return;

	/*
	 * If the table is the whole query, the planner makes its paths again from those of the children when it applies
	 * the final target list. A cost that is set here would be lost then. So the partial paths are taken away, also
	 * those of the children.
	 */
	if (!bms_equal(rel->relids, root->all_baserels))
		set_costs_with_node(rel, questions, share);
	else
		take_partial_paths_away(rel, list_concat(children, parents));
}

void
chunk_skip_paths_init(void)
{
	DefineCustomBoolVariable("streambloom.prefer_chunk_skip",
							 "Keeps the planner from parallel plans where ChunkSkip is expected to be faster.",
							 "Only conditions that bf indexes answer, and few expected rows, have this effect. Hash joins get the cost that is expected of JoinSkip.",
							 &chunk_skip_preferred, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
}
