/*
 * skip_paths.c: makes the paths of the node Skip, and their plans.
 *
 * Each sequential, index and bitmap path of a table that indexes can be asked about gets a Skip above it, in the
 * table's own list: the paths of its parent are made from these, more than once. The path below is a copy of nothing
 * but stands in no list, since add_path() frees what it finds dominated. What the node costs is settled here, where it
 * is certain that the plan will have it.
 */
#include "chunks/skip.h"

#include <math.h>

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "chunks/skip_paths.h"
#include "index/handler.h"

bool		skip_enabled = true;

/*
 * What a question costs: mostly one look-up in one page of the index that the session has asked before, half a
 * microsecond. For comparison: a page of a sequential scan whose rows are all tested takes some 8 µs and costs 2.5.
 */
#define COST_OF_QUESTION (20 * cpu_operator_cost)

/*
 * In a plan of workers each of them opens each table and initializes its scan, which takes a worker some 40 µs, and is
 * not shared between them.
 */
#define COST_OF_PROCESS (10 * seq_page_cost)

/* Whatever is expected, a Skip costs at most this share of the path below, so that it is preferred to this path. */
#define MOST_SHARE 0.98

/*
 * By the statistics of a child, each value is expected to occur in it, although most values do not. So if at most
 * FEW_ROWS rows of a child are expected to match, this says little. Then at most one in CHILDREN_PER_MATCH children is
 * taken to have a row that matches.
 */
#define FEW_ROWS 2
#define CHILDREN_PER_MATCH 10

static Plan *plan_skip(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets, List *clauses, List *plans);
static List *reparameterize_skip(PlannerInfo *root, List *private, RelOptInfo *child);

static const CustomPathMethods path_methods = {
	.CustomName = "Skip",
	.PlanCustomPath = plan_skip,
	.ReparameterizeCustomPathByChild = reparameterize_skip,
};

bool
skip_is_path(const Path *path)
{
	return IsA(path, CustomPath) && ((const CustomPath *) path)->methods == &path_methods;
}

/* --------------------------------------------------------------------- what is asked */

/* Returns the number of the argument in *arguments, where it is added if it is not there yet. */
static int
number_of_argument(List **arguments, Expr *argument)
{
	ListCell   *cell;

	foreach(cell, *arguments)
		if (equal(lfirst(cell), argument))
			return foreach_current_index(cell);
	*arguments = lappend(*arguments, argument);
	return list_length(*arguments) - 1;
}

/* Returns questions as lists (enum SkipPrivate). */
static List *
encode(const List *questions, List **arguments)
{
	List	   *result = NIL;
	const ListCell *cell;
	const ListCell *inner;

	foreach(cell, questions)
	{
		const ChunkQuestion *question = lfirst(cell);
		List	   *oids = NIL;
		List	   *integers = NIL;
		List	   *arms = NIL;

		foreach(inner, question->arms)
			arms = lappend(arms, encode(lfirst(inner), arguments));
		foreach(inner, question->keys)
		{
			const QuestionKey *key = lfirst(inner);

			oids = list_concat(oids, list_make3_oid(key->subtype, key->collation, key->function));
			integers = list_concat(integers, list_make4_int(key->column, key->flags, key->strategy,
															key->argument == NULL ? -1 :
															number_of_argument(arguments, key->argument)));
		}
		result = lappend(result, arms != NIL ? arms : list_make3(list_make1_oid(question->index), oids, integers));
	}
	return result;
}

/*
 * Adds to *asked those of these conditions (RestrictInfos) that may be asked about before the others are tested: where
 * row-level security or a security-barrier view hides rows, an answer must not tell of them, so only leakproof
 * conditions and those of the lowest level count. PostgreSQL chooses the conditions of an index scan by the same test.
 */
static List *
may_be_asked(List *asked, const RelOptInfo *rel, const List *conditions)
{
	const ListCell *cell;

	foreach(cell, conditions)
		if (restriction_is_securely_promotable(lfirst(cell), (RelOptInfo *) rel))
			asked = lappend(asked, lfirst(cell));
	return asked;
}

/* ------------------------------------------------------------------- what is expected */

static bool
is_asked_about(const RelOptInfo *rel, RestrictInfo *condition, ChunkFinder *finder)
{
	return chunk_questions(rel->indexlist, rel->relid, list_make1(condition), finder) != NIL;
}

/* What the statistics of a parent say about its conditions, remembered for all children. */
typedef struct ParentRows
{
	PlannerInfo *root;
	Index		parent;
	int			conditions;
	double		rows;			/* that satisfy the conditions which the indexes of the first child answer */
	double		all;			/* of the children */
	MemoryContextCallback forget;
} ParentRows;

static ParentRows *parent_rows = NULL;

static void
forget_parent_rows(void *ended)
{
	if (parent_rows == ended)
		parent_rows = NULL;
}

/*
 * Returns how many rows of a child are expected to satisfy the conditions that its indexes answer, by the statistics of
 * the parent, each row taken to be in a child of its own. Returns infinity if they say nothing.
 */
static double
rows_by_parent(PlannerInfo *root, RelOptInfo *child, ChunkFinder *finder)
{
	Index		number = root->append_rel_array != NULL && root->append_rel_array[child->relid] != NULL ?
		root->append_rel_array[child->relid]->parent_relid : 0;
	RelOptInfo *parent = number > 0 ? root->simple_rel_array[number] : NULL;
	List	   *conditions = NIL;
	double		tuples;
	ListCell   *of_child;
	ListCell   *of_parent;

	/* the parent has the same conditions in the same order, unless some were proved for the child */
	if (parent == NULL || parent->rtekind != RTE_RELATION ||
		list_length(parent->baserestrictinfo) != list_length(child->baserestrictinfo))
		return INFINITY;
	if (parent_rows == NULL || parent_rows->root != root || parent_rows->parent != number)
	{
		parent_rows = MemoryContextAllocZero(root->planner_cxt, sizeof(ParentRows));
		parent_rows->root = root;
		parent_rows->parent = number;
		parent_rows->forget = (MemoryContextCallback) {.func = forget_parent_rows, .arg = parent_rows};
		MemoryContextRegisterResetCallback(root->planner_cxt, &parent_rows->forget);
		for (int i = 1; i < root->simple_rel_array_size; i++)
			if (root->append_rel_array[i] != NULL && root->append_rel_array[i]->parent_relid == number &&
				root->simple_rel_array[i] != NULL && !IS_DUMMY_REL(root->simple_rel_array[i]))
				parent_rows->all += root->simple_rel_array[i]->tuples;
		forboth(of_child, child->baserestrictinfo, of_parent, parent->baserestrictinfo)
			if (is_asked_about(child, lfirst(of_child), finder))
				conditions = lappend(conditions, lfirst_node(RestrictInfo, of_parent)->clause);
		/*
		 * PostgreSQL 15 counts only the rows in parent->tuples that satisfy all conditions. And the conditions are no
		 * RestrictInfos here, in which the planner would remember the result.
		 */
		tuples = parent->tuples;
		parent->tuples = parent_rows->all;
		parent_rows->rows = parent_rows->all * clauselist_selectivity(root, conditions, number, JOIN_INNER, NULL);
		parent->tuples = tuples;
	}
	return parent_rows->rows * child->tuples / Max(parent_rows->all, 1);
}

/* Returns how probable it is that a table may have a row which satisfies these conditions (RestrictInfos). */
static double
expected_share(PlannerInfo *root, RelOptInfo *rel, const List *conditions, bool of_parent, ChunkFinder *finder)
{
	List	   *answered = list_length(conditions) == 1 ? list_copy(conditions) : NIL;
	double		rows;
	const ListCell *cell;

	foreach(cell, conditions)
		if (list_length(conditions) > 1 && is_asked_about(rel, lfirst(cell), finder))
			answered = lappend(answered, lfirst(cell));
	rows = rel->tuples * clauselist_selectivity(root, answered, rel->relid, JOIN_INNER, NULL);
	if (IS_OTHER_REL(rel) && rows <= FEW_ROWS)
		rows = Min(rows, 1) / CHILDREN_PER_MATCH;
	if (of_parent)
		rows = Min(rows, rows_by_parent(root, rel, finder));
	return Min(rows, 1);
}

/* ------------------------------------------------------------------------------ paths */

static int
number_of_questions(const List *questions)
{
	int			number = 0;
	const ListCell *cell;
	const ListCell *arm;

	foreach(cell, questions)
		if (IsA(linitial((List *) lfirst(cell)), OidList))
			number++;
		else
			foreach(arm, (List *) lfirst(cell))
				number += number_of_questions(lfirst(arm));
	return number;
}

void
skip_set_cost(Path *skip, const Path *base, double share, double most, Cost asking)
{
	Cost		disabled = 0;

#if PG_VERSION_NUM >= 180000
	skip->disabled_nodes = base->disabled_nodes;
#else
	/* the cost by which a scan is switched off stays as it is */
	if (base->startup_cost >= disable_cost)
		disabled = disable_cost;
#endif
	share = Min(share, most);
	skip->startup_cost = share * (base->startup_cost - disabled);
	skip->total_cost = Min(asking + share * (base->total_cost - disabled), most * (base->total_cost - disabled));
	skip->total_cost = disabled + Max(skip->total_cost, skip->startup_cost);
	skip->startup_cost += disabled;
}

CustomPath *
skip_make_path(Path *below, List *questions, List *arguments, List *joins)
{
	CustomPath *skip = makeNode(CustomPath);
	RelOptInfo *rel = below->parent;
	int			parent;

	skip->path.pathtype = T_CustomScan;
	skip->path.parent = rel;
	skip->path.pathtarget = below->pathtarget;
	skip->path.param_info = below->param_info;
	skip->path.parallel_safe = below->parallel_safe;
	skip->path.parallel_workers = below->parallel_workers;
	skip->path.rows = below->rows;
	skip->path.pathkeys = below->pathkeys;
	skip->flags = CUSTOMPATH_SUPPORT_PROJECTION |
		(ExecSupportsMarkRestore(below) ? CUSTOMPATH_SUPPORT_MARK_RESTORE : 0);
	skip->custom_paths = list_make1(below);
	parent = rel->top_parent_relids == NULL ? 0 : bms_singleton_member(rel->top_parent_relids) - (int) rel->relid;
	skip->custom_private = list_make4(questions, joins, list_make1_int(parent), arguments);
	skip->methods = &path_methods;
	return skip;
}

bool
skip_can_be_above(const Path *path)
{
	return (IsA(path, Path) && path->pathtype == T_SeqScan) ||
		(IsA(path, IndexPath) && path->pathtype == T_IndexScan) || IsA(path, BitmapHeapPath);
}

/* Inserts a path into a list of paths that is sorted by cost, as add_path() does. */
static List *
insert_path(List *paths, Path *path)
{
	int			at = 0;
	ListCell   *cell;

	foreach(cell, paths)
	{
		const Path *other = lfirst(cell);

#if PG_VERSION_NUM >= 180000
		if (other->disabled_nodes > path->disabled_nodes ||
			(other->disabled_nodes == path->disabled_nodes && other->total_cost > path->total_cost))
			break;
#else
		if (other->total_cost > path->total_cost)
			break;
#endif
		at++;
	}
	return list_insert_nth(paths, at, path);
}

/* What is asked about a table with certain conditions. */
typedef struct Asked
{
	List	   *questions;
	List	   *arguments;
	double		share;
	bool		has_array;		/* an array that is not known yet, which the node will have tested by hash */
} Asked;

static Asked
find_asked(PlannerInfo *root, RelOptInfo *rel, List *conditions, bool of_parent)
{
	ChunkFinder finder = {InvalidOid};
	Asked		asked = {NIL};
	ListCell   *cell;

	asked.questions = encode(chunk_questions(rel->indexlist, rel->relid, conditions, &finder), &asked.arguments);
	if (asked.questions == NIL)
		return asked;
	asked.share = expected_share(root, rel, conditions, of_parent, &finder);
	foreach(cell, asked.arguments)
		asked.has_array |= !IsA(lfirst(cell), Const) && type_is_array(exprType(lfirst(cell)));
	return asked;
}

/* Does this bitmap come from bf indexes, wholly or partly? These answer for themselves what the node would ask. */
static bool
is_of_bf(const Path *path)
{
	ListCell   *cell;

	if (IsA(path, IndexPath))
		return ((const IndexPath *) path)->indexinfo->relam == bf_index_am_oid();
	foreach(cell, IsA(path, BitmapAndPath) ? ((const BitmapAndPath *) path)->bitmapquals :
			((const BitmapOrPath *) path)->bitmapquals)
		if (is_of_bf(lfirst(cell)))
			return true;
	return false;
}

/*
 * Is the node of use above this path? A bitmap scan by a bf index finds out itself that there is nothing. There it is
 * of use for a child, whose scan it keeps from being initialized, and for arrays.
 */
static bool
is_of_use(const RelOptInfo *rel, const Path *path, const Asked *asked)
{
	return IS_OTHER_REL(rel) || asked->has_array || !IsA(path, BitmapHeapPath) ||
		!is_of_bf(((const BitmapHeapPath *) path)->bitmapqual);
}

/* Returns the paths with Skips above those that can have one. */
static List *
with_skips(PlannerInfo *root, RelOptInfo *rel, List *paths, const Asked *bare)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, paths)
	{
		Path	   *path = lfirst(cell);
		Asked		asked = *bare;
		CustomPath *skip;

		if (skip_can_be_above(path) && path->param_info != NULL)
			asked = find_asked(root, rel, may_be_asked(may_be_asked(NIL, rel, rel->baserestrictinfo), rel,
													   path->param_info->ppi_clauses), false);
		if (!skip_can_be_above(path) || asked.questions == NIL || !is_of_use(rel, path, &asked))
		{
			result = insert_path(result, path);
			continue;
		}
		skip = skip_make_path(path, asked.questions, asked.arguments, NIL);
		skip_set_cost(&skip->path, path, asked.share, MOST_SHARE,
					  number_of_questions(asked.questions) * COST_OF_QUESTION +
					  (path->parallel_workers > 0 ? COST_OF_PROCESS : 0));
		result = insert_path(result, &skip->path);
		/*
		 * reparameterize_path() does not know custom paths. Without a plain sequential path of this child its parent
		 * would have no parameterized Append.
		 */
		if (IS_OTHER_REL(rel) && path->pathtype == T_SeqScan && !path->parallel_aware)
			result = insert_path(result, memcpy(palloc(sizeof(Path)), path, sizeof(Path)));
	}
	return result;
}

bool
skip_can_ask(const RelOptInfo *rel, const RangeTblEntry *rte)
{
	ListCell   *cell;

	if (!skip_enabled || rte->rtekind != RTE_RELATION || rte->inh || rte->tablesample != NULL ||
		(rte->relkind != RELKIND_RELATION && rte->relkind != RELKIND_MATVIEW))
		return false;
	foreach(cell, rel->indexlist)
		if (lfirst_node(IndexOptInfo, cell)->relam == bf_index_am_oid())
			return true;
	return false;
}

void
skip_add_paths(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte)
{
	Asked		bare;

	if (!skip_can_ask(rel, rte) || IS_DUMMY_REL(rel))
		return;
	bare = find_asked(root, rel, may_be_asked(NIL, rel, rel->baserestrictinfo), true);
	rel->pathlist = with_skips(root, rel, rel->pathlist, &bare);
	rel->partial_pathlist = with_skips(root, rel, rel->partial_pathlist, &bare);
}

/* In a partitionwise nested loop the arguments have to be columns of the child's partner, not of the whole table. */
static List *
reparameterize_skip(PlannerInfo *root, List *private, RelOptInfo *child)
{
	Node	   *arguments = list_nth(private, SKIP_ARGUMENTS);

#if PG_VERSION_NUM >= 160000
	arguments = adjust_appendrel_attrs_multilevel(root, arguments, child, child->top_parent);
#else
	arguments = adjust_appendrel_attrs_multilevel(root, arguments, child->relids, child->top_parent_relids);
#endif
	return list_make4(linitial(private), lsecond(private), lthird(private), arguments);
}

/* ------------------------------------------------------------------------------- plans */

static List *
encode_joins(PlannerInfo *root, const List *joins)
{
	List	   *result = NIL;
	const ListCell *cell;

	foreach(cell, joins)
	{
		const SkipJoinKey *join = lfirst(cell);

		result = lappend(result, list_make2(list_make1_oid(join->index),
											list_make3_int(join_keys_parameter(root, join->source), join->set,
														   join->column)));
	}
	return result;
}

static Plan *
plan_skip(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets, List *clauses, List *plans)
{
	CustomScan *skip = makeNode(CustomScan);
	const Path *below = linitial(path->custom_paths);
	Plan	   *plan = linitial(plans);

	(void) clauses;				/* the scan below tests them */
	/*
	 * A Result for conditions without columns comes above this node too. Between the node and the scan it is in the
	 * way.
	 */
	if (IsA(plan, Result))
		plan = outerPlan(plan);
	skip->scan.plan.targetlist = targets;
	skip->scan.scanrelid = rel->relid;
	skip->flags = path->flags;
	/* hypothetical indexes, which EXPLAIN may show, are in no catalog */
	if (!(IsA(below, IndexPath) && ((const IndexPath *) below)->indexinfo->hypothetical) &&
		!IsA(below, BitmapHeapPath) && ExecSupportsBackwardScan(plan))
		skip->flags |= CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
	skip->custom_plans = list_make1(plan);
	skip->custom_exprs = copyObject(list_nth(path->custom_private, SKIP_ARGUMENTS));
	skip->custom_private = list_make3(copyObject(list_nth(path->custom_private, SKIP_QUESTIONS)),
									  encode_joins(root, list_nth(path->custom_private, SKIP_JOINS)),
									  list_nth(path->custom_private, SKIP_PARENT));
	skip->methods = &skip_scan_methods;
	return &skip->scan.plan;
}

void
skip_init(void)
{
	DefineCustomBoolVariable("streambloom.enable_skip",
							 "Lets queries leave partitions, tables and pages unread whose bf indexes say that no row can match.",
							 NULL, &skip_enabled, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	RegisterCustomScanMethods(&skip_scan_methods);
}
