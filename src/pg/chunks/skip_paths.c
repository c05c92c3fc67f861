/*
 * skip_paths.c: makes the paths of the node Skip, and their plans.
 *
 * Each sequential, index and bitmap path of a table that indexes can be asked about gets a Skip above it, in the
 * table's own list: the paths of its parent are made from these, more than once. The path below is a copy of nothing
 * but stands in no list, since add_path() frees what it finds dominated. What the node costs is settled here, where
 * it is certain that the plan will have it.
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
 * In the time of a question a session fetches some 15 rows of a plain table by an index. So above an index scan of more
 * rows than this, a question that was in vain costs at most a seventh.
 */
#define ROWS_OF_QUESTION 100

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

/* ------------------------------------------------------------------------------- plans */

/* In a partitionwise nested loop the values have to be columns of the child's partner, not of the whole table. */
static List *
reparameterize_skip(PlannerInfo *root, List *private, RelOptInfo *child)
{
	return list_make4(linitial(private), lsecond(private), lthird(private),
					  sb_adjust_to_child(root, list_nth(private, SKIP_CONDITIONS), child));
}

static List *
encode_joins(PlannerInfo *root, const List *joins)
{
	List	   *result = NIL;
	const ListCell *cell;

	foreach(cell, joins)
	{
		const SkipJoinKey *join = lfirst(cell);

		result = lappend(result, list_make4_int((int) join->index, join->column,
												join_keys_parameter(root, join->source), join->set));
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
	/* A Result for conditions without columns comes above this node too. Below the node it is in the way. */
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
	skip->custom_exprs = copyObject(list_nth(path->custom_private, SKIP_CONDITIONS));
	skip->custom_private = list_make3(list_nth(path->custom_private, SKIP_INDEXES),
									  encode_joins(root, list_nth(path->custom_private, SKIP_JOINS)),
									  list_nth(path->custom_private, SKIP_PARENT));
	skip->methods = &skip_scan_methods;
	return &skip->scan.plan;
}

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

/* ------------------------------------------------------------------- what is expected */

/* What the statistics of a parent say about its conditions, remembered for all children. */
typedef struct ParentShare
{
	const PlannerInfo *root;
	const RelOptInfo *parent;
	double		share;			/* of its rows that satisfy what the indexes of the first child answer */
	MemoryContextCallback forget;
} ParentShare;

static ParentShare *known_parent = NULL;

static void
forget_parent(void *ended)
{
	if (known_parent == ended)
		known_parent = NULL;
}

/* Returns which share of the rows satisfies these conditions of a child by the statistics of its parent. */
static double
share_by_parent(PlannerInfo *root, const RelOptInfo *child, const List *conditions)
{
	RelOptInfo *parent = IS_OTHER_REL(child) ?
		root->simple_rel_array[root->append_rel_array[child->relid]->parent_relid] : NULL;
	List	   *of_parent = NIL;
	double		tuples;
	ListCell   *cell;
	ListCell   *other;

	/* the parent has the same conditions in the same order, unless some were proved for the child */
	if (parent == NULL || parent->rtekind != RTE_RELATION || child->tuples == 0 ||
		list_length(parent->baserestrictinfo) != list_length(child->baserestrictinfo))
		return 1;
	if (known_parent == NULL || known_parent->root != root || known_parent->parent != parent)
	{
		known_parent = MemoryContextAlloc(root->planner_cxt, sizeof(ParentShare));
		known_parent->root = root;
		known_parent->parent = parent;
		known_parent->forget = (MemoryContextCallback) {.func = forget_parent, .arg = known_parent};
		MemoryContextRegisterResetCallback(root->planner_cxt, &known_parent->forget);
		forboth(cell, child->baserestrictinfo, other, parent->baserestrictinfo)
			if (list_member_ptr(conditions, lfirst(cell)))
				of_parent = lappend(of_parent, lfirst_node(RestrictInfo, other)->clause);
		/*
		 * PostgreSQL 15 counts only the rows in parent->tuples that satisfy all conditions. And the conditions are no
		 * RestrictInfos here, in which the planner would remember the result.
		 */
		tuples = parent->tuples;
		parent->tuples = child->tuples * list_length(root->append_rel_list);
		known_parent->share = clauselist_selectivity(root, of_parent, parent->relid, JOIN_INNER, NULL);
		parent->tuples = tuples;
	}
	return known_parent->share;
}

/*
 * Returns how probable it is that a table may have a row which satisfies these conditions (RestrictInfos). Each row is
 * taken to be in a child of its own.
 */
static double
expected_share(PlannerInfo *root, RelOptInfo *rel, List *conditions)
{
	double		rows = rel->tuples * clauselist_selectivity(root, conditions, rel->relid, JOIN_INNER, NULL);

	if (IS_OTHER_REL(rel) && rows <= FEW_ROWS)
		rows = Min(rows, 1) / CHILDREN_PER_MATCH;
	return Min(1, Min(rows, rel->tuples * share_by_parent(root, rel, conditions)));
}

/* ------------------------------------------------------------------------------ paths */

void
skip_set_cost(Path *skip, const Path *base, double share, double most, Cost asking)
{
	share = Min(share, most);
	skip->startup_cost = share * base->startup_cost;
	skip->total_cost = Min(asking + share * base->total_cost, most * base->total_cost);
	skip->total_cost = Max(skip->total_cost, skip->startup_cost);
}

CustomPath *
skip_make_path(Path *below, List *indexes, List *conditions, List *joins)
{
	CustomPath *skip = makeNode(CustomPath);
	const RelOptInfo *rel = below->parent;
	int			parent = rel->top_parent_relids == NULL ? 0 :
		bms_singleton_member(rel->top_parent_relids) - (int) rel->relid;

	skip->path = *below;
	skip->path.type = T_CustomPath;
	skip->path.pathtype = T_CustomScan;
	skip->path.parallel_aware = false;
	skip->flags = CUSTOMPATH_SUPPORT_PROJECTION |
		(ExecSupportsMarkRestore(below) ? CUSTOMPATH_SUPPORT_MARK_RESTORE : 0);
	skip->custom_paths = list_make1(below);
	skip->custom_private = list_make4(indexes, joins, list_make1_int(parent), conditions);
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

List *
skip_indexes_of(const RelOptInfo *rel, const RangeTblEntry *rte)
{
	const Oid	method = bf_index_am_oid();
	List	   *indexes = NIL;
	ListCell   *cell;

	if (!skip_enabled || rte->rtekind != RTE_RELATION || rte->inh || rte->tablesample != NULL ||
		(rte->relkind != RELKIND_RELATION && rte->relkind != RELKIND_MATVIEW))
		return NIL;
	foreach(cell, rel->indexlist)
	{
		IndexOptInfo *index = lfirst(cell);

		if (index->relam == method && !index->hypothetical && (index->indpred == NIL || index->predOK))
			indexes = lappend(indexes, index);
	}
	return indexes;
}

/* What is asked about a table with certain conditions. */
typedef struct Asked
{
	List	   *indexes;		/* OIDs */
	List	   *conditions;		/* NIL: nothing */
	double		share;
	bool		has_array;		/* an array that is not known yet, which the node will have tested by hash */
} Asked;

/*
 * Returns what can be asked about these conditions (RestrictInfos). They must be ones that may be asked about before
 * the others are tested: where row-level security or a security-barrier view hides rows, an answer must not tell of
 * them, so only leakproof conditions and those of the lowest level count. PostgreSQL chooses the conditions of an index
 * scan by the same test.
 */
static Asked
find_asked(PlannerInfo *root, RelOptInfo *rel, const List *indexes, const List *conditions)
{
	Asked		asked = {NIL};
	List	   *answered = NIL;
	const ListCell *cell;

	foreach(cell, conditions)
	{
		RestrictInfo *condition = lfirst(cell);
		Node	   *part = NULL;

		if (restriction_is_securely_promotable(condition, rel))
			part = chunk_answered_part(indexes, rel->relid, (Node *) condition->clause, &asked.indexes);
		if (part == NULL)
			continue;
		asked.conditions = lappend(asked.conditions, part);
		answered = lappend(answered, condition);
		asked.has_array |= IsA(part, ScalarArrayOpExpr) && !IsA(lsecond(((ScalarArrayOpExpr *) part)->args), Const);
	}
	if (answered != NIL)
		asked.share = expected_share(root, rel, answered);
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
 * Is the node of use above this path? Above the scan of a child it is: it keeps the scan from being initialized. A
 * bitmap scan by a bf index finds out itself that there is nothing; there it is of use for arrays. To fetch a few rows
 * by another index takes no longer than to ask.
 */
static bool
is_of_use(const RelOptInfo *rel, const Path *path, const Asked *asked)
{
	if (IS_OTHER_REL(rel))
		return true;
	if (IsA(path, IndexPath))
		return ((const IndexPath *) path)->indexselectivity * rel->tuples > ROWS_OF_QUESTION;
	return asked->has_array || !IsA(path, BitmapHeapPath) || !is_of_bf(((const BitmapHeapPath *) path)->bitmapqual);
}

/* Returns the paths with Skips above those that can have one. */
static List *
with_skips(PlannerInfo *root, RelOptInfo *rel, const List *indexes, List *paths, const Asked *bare)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, paths)
	{
		Path	   *path = lfirst(cell);
		Asked		asked = *bare;
		CustomPath *skip;

		if (skip_can_be_above(path) && path->param_info != NULL)
			asked = find_asked(root, rel, indexes,
							   list_concat_copy(rel->baserestrictinfo, path->param_info->ppi_clauses));
		if (!skip_can_be_above(path) || asked.conditions == NIL || !is_of_use(rel, path, &asked))
		{
			result = insert_path(result, path);
			continue;
		}
		skip = skip_make_path(path, asked.indexes, asked.conditions, NIL);
		skip_set_cost(&skip->path, path, asked.share, MOST_SHARE,
					  list_length(asked.conditions) * COST_OF_QUESTION +
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

void
skip_add_paths(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte)
{
	List	   *indexes = IS_DUMMY_REL(rel) ? NIL : skip_indexes_of(rel, rte);
	Asked		bare;

	if (indexes == NIL)
		return;
	bare = find_asked(root, rel, indexes, rel->baserestrictinfo);
	rel->pathlist = with_skips(root, rel, indexes, rel->pathlist, &bare);
	rel->partial_pathlist = with_skips(root, rel, indexes, rel->partial_pathlist, &bare);
}

void
skip_init(void)
{
	DefineCustomBoolVariable("streambloom.enable_skip",
							 "Lets queries leave partitions and pages unread that bf indexes rule out.",
							 NULL, &skip_enabled, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	RegisterCustomScanMethods(&skip_scan_methods);
}
