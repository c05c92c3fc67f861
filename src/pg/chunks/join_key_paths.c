/*
 * join_key_paths.c: makes hash joins that give their keys to the Skips on their outer side: a runtime join filter.
 *
 * A hash join builds a hash table of its inner side, and then reads its outer side. Of the outer rows an inner, semi
 * or right join keeps only those that find a partner in the table. So once the table is built it is known which
 * values the outer side is searched for. JoinKeys stands below Hash and collects them; the Skips ask their indexes
 * about them.
 *
 * Such a join is one more path of the join. Its outer side is one that the planner has, built again: each scan of a
 * table that can be asked has a Skip with the keys above it. This goes through Append, and through the outer sides of
 * further hash joins, so a star has the keys of each of its joins. Nothing else of the planner's paths is changed.
 *
 * PostgreSQL builds the hash table first unless the outer side's startup cost is below the inner side's total cost;
 * then it asks the outer side for a row, so as to save the inner side if there is none. Here the startup costs of all
 * plans between the join and the Skips are raised. Otherwise the first scan would have no keys, and a later one old
 * keys.
 */
#include "chunks/skip_paths.h"

#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parse_type.h"
#include "utils/lsyscache.h"

#include "chunks/join_keys.h"
#include "index/handler.h"
#include "index/keys.h"
#include "index/sizes.h"

/*
 * With the nodes the inner side is run first, also where the outer side turns out to be empty. The nodes can save
 * only a part of the outer side. So a join gets them only if its outer side costs at least this share of what the
 * inner side costs.
 */
#define LEAST_SHARE_OF_INNER 0.25

/*
 * Statistics do not tell that the keys of a join are mostly in a few partitions or in a part of a table. To ask costs
 * a page or two of each index, and if that was in vain, the next ones are passed over. So whatever is expected, the
 * scans below cost at most this share of what they cost without keys, and the join is preferred where its outer side
 * matters.
 */
#define MOST_SHARE_WITH_KEYS 0.9

/* A page of an index has a line of the filters of so many ranges: a group. */
#define RANGES_PER_GROUP 125

static set_join_pathlist_hook_type previous_set_join_pathlist;

struct JoinKeysSource
{
	int			parameter;		/* -1 as long as no plan was made */
	List	   *sets;			/* RelabelTypes: the values of an expression are hashed as its type */
};

/* A clause of the join whose inner side is collected. */
typedef struct CollectedClause
{
	RestrictInfo *clause;
	Node	   *inner;			/* the inner side of the clause */
	Index		table;			/* the table whose columns are on the outer side */
	double		share;			/* of the rows of this table that are expected to have a partner */
} CollectedClause;

/* What is built. */
typedef struct Build
{
	PlannerInfo *root;
	JoinKeysSource *source;
	List	   *clauses;		/* CollectedClauses */
	double		keys;			/* how many are expected */
	bool		any;			/* a table will be asked */
} Build;

/* ------------------------------------------------------------------------ the source */

int
join_keys_parameter(PlannerInfo *root, JoinKeysSource *source)
{
	if (source->parameter < 0)
	{
		source->parameter = list_length(root->glob->paramExecTypes);
		root->glob->paramExecTypes = lappend_oid(root->glob->paramExecTypes, InvalidOid);
	}
	return source->parameter;
}

/* Returns the number of the set that has this expression, type and collation. Adds it if it is not there yet. */
static int
number_of_set(JoinKeysSource *source, Node *expression, Oid type, Oid collation)
{
	RelabelType *set = makeRelabelType((Expr *) expression, type, -1, collation, COERCE_IMPLICIT_CAST);
	ListCell   *cell;

	foreach(cell, source->sets)
		if (equal(lfirst(cell), set))
			return foreach_current_index(cell);
	source->sets = lappend(source->sets, set);
	return list_length(source->sets) - 1;
}

/* ------------------------------------------------------------------------- one table */

/*
 * Sets *type to the type as which the index hashes arguments of this key. Returns false if it cannot be asked about
 * hashes: if its items are parts of the column's values, such as the grams of a text.
 */
static bool
find_type(const IndexOptInfo *info, const QuestionKey *key, Oid *type)
{
	const int	column = key->column - 1;

	if (key->flags != 0 || key->strategy != BF_EQUAL_STRATEGY ||
		OidIsValid(get_opfamily_proc(info->opfamily[column], info->opcintype[column], info->opcintype[column],
									 BF_EXTRACT_VALUE_PROC)))
		return false;
	/* the two sides of an operator for arrays or ranges of all types have the same type */
	*type = IsPolymorphicType(key->subtype) ? getBaseType(exprType((Node *) key->argument)) : key->subtype;
	return true;
}

/*
 * Returns a clause on the columns of a table as one on the columns of this table, which may be a child of that table.
 * Returns NULL if it is neither.
 */
static Node *
clause_for(PlannerInfo *root, Node *clause, Index table, RelOptInfo *rel)
{
	if (table == rel->relid)
		return clause;
	return bms_is_member(table, rel->top_parent_relids) ? sb_adjust_to_child(root, clause, rel) : NULL;
}

/* Finds an index of a table that can be asked about the keys of a clause. Returns what the Skip will ask, or NULL. */
static SkipJoinKey *
find_key(Build *build, RelOptInfo *rel, const List *indexes, const CollectedClause *collected)
{
	Node	   *clause = clause_for(build->root, (Node *) collected->clause->clause, collected->table, rel);
	const ListCell *cell;

	if (clause == NULL || !restriction_is_securely_promotable(collected->clause, rel))
		return NULL;
	foreach(cell, indexes)
	{
		const IndexOptInfo *index = lfirst(cell);
		QuestionKey key;
		SkipJoinKey *found;
		Oid			type;

		if (!chunk_find_key(index, rel->relid, clause, &key) || !equal(key.argument, collected->inner) ||
			!find_type(index, &key, &type))
			continue;
		found = palloc(sizeof(SkipJoinKey));
		found->source = build->source;
		found->set = number_of_set(build->source, collected->inner, type, index->indexcollations[key.column - 1]);
		found->index = index->indexoid;
		found->column = key.column;
		return found;
	}
	return NULL;
}

/* -------------------------------------------------------------------- the outer side */

/* Sets what is expected of a path that was built again: so many rows, and at least this startup cost. */
static void
set_expected(Path *built, double rows, Cost total, Cost startup)
{
	built->rows = clamp_row_est(Min(built->rows, rows));
	built->startup_cost = Max(built->startup_cost, startup);
	built->total_cost = Max(Min(built->total_cost, total), built->startup_cost);
}

/*
 * Returns the path of a scan, or a Skip with the keys above it. `startup` is the least startup cost if nothing stands
 * between the scan and the join.
 */
static Path *
build_scan(Build *build, Path *path, Cost startup)
{
	RelOptInfo *rel = path->parent;
	const bool	is_skip = skip_is_path(path);
	Path	   *below = is_skip ? linitial(((CustomPath *) path)->custom_paths) : path;
	List	   *private = is_skip ? ((CustomPath *) path)->custom_private : list_make4(NIL, NIL, NIL, NIL);
	List	   *joins = list_copy(list_nth(private, SKIP_JOINS));
	List	   *indexes = IS_SIMPLE_REL(rel) ? skip_indexes_of(rel, build->root->simple_rte_array[rel->relid]) : NIL;
	const double ranges = Max(1, rel->pages / BF_INDEX_DEFAULT_PAGES_PER_RANGE);
	double		share = 1;
	Path	   *skip;
	ListCell   *cell;

	if (indexes == NIL || !skip_can_be_above(below))
		return path;
	foreach(cell, build->clauses)
	{
		const CollectedClause *collected = lfirst(cell);
		SkipJoinKey *key = find_key(build, rel, indexes, collected);

		if (key == NULL)
			continue;
		joins = lappend(joins, key);
		share = Min(share, collected->share * rel->tuples / ranges + build->keys * BF_INDEX_DEFAULT_FPR);
	}
	if (list_length(joins) == list_length(list_nth(private, SKIP_JOINS)))
		return path;
	build->any = true;
	skip = &skip_make_path(below, list_nth(private, SKIP_INDEXES), list_nth(private, SKIP_CONDITIONS), joins)->path;
	/* each look-up of a key in a group reads one page; the pages of an index are read in ascending order */
	skip_set_cost(skip, path, share, MOST_SHARE_WITH_KEYS,
				  Min(build->keys * (1 + ranges / RANGES_PER_GROUP), linitial_node(IndexOptInfo, indexes)->pages) *
				  seq_page_cost);
	set_expected(skip, path->rows * share, skip->total_cost, startup);
	return skip;
}

/*
 * Returns a copy of an outer path in which the scans that can be asked have Skips with the keys; NULL if it has no
 * form that can be built again. Whatever stands between the join and the scans has at least this startup cost. Each
 * row of what is built again comes from one row of one scan, and a rescan of the join rescans it, so the verdict is
 * given anew.
 */
static Path *
build_outer(Build *build, Path *path, Cost startup)
{
	if (IsA(path, AppendPath))
	{
		AppendPath *append = makeNode(AppendPath);
		const bool	is_alone = list_length(((AppendPath *) path)->subpaths) == 1;
		double		rows = 0;
		Cost		saved = 0;
		ListCell   *cell;

		*append = *(AppendPath *) path;
		append->subpaths = NIL;
		foreach(cell, ((AppendPath *) path)->subpaths)
		{
			Path	   *below = lfirst(cell);
			Path	   *built = build_scan(build, below, is_alone ? startup : 0);

			saved += below->total_cost - built->total_cost;
			rows += built->rows;
			append->subpaths = lappend(append->subpaths, built);
		}
		/* the children of a Parallel Append share the work */
		if (path->parallel_aware)
			saved /= Max(path->parallel_workers, 1);
		set_expected(&append->path, rows, path->total_cost - saved, startup);
		return &append->path;
	}
	if (IsA(path, HashPath))
	{
		HashPath   *join = makeNode(HashPath);
		Path	   *outer = ((HashPath *) path)->jpath.outerjoinpath;
		Path	   *built;

		*join = *(HashPath *) path;
		if (path->parallel_aware || !(join->jpath.jointype == JOIN_INNER || join->jpath.jointype == JOIN_SEMI ||
									  join->jpath.jointype == JOIN_LEFT || join->jpath.jointype == JOIN_ANTI))
			return NULL;
		built = build_outer(build, outer, Max(startup, join->jpath.innerjoinpath->total_cost));
		if (built == NULL)
			return NULL;
		join->jpath.outerjoinpath = built;
		set_expected(&join->jpath.path, path->rows * built->rows / Max(outer->rows, 1),
					 path->total_cost - (outer->total_cost - built->total_cost), startup);
		return &join->jpath.path;
	}
	return skip_is_path(path) || skip_can_be_above(path) ? build_scan(build, path, startup) : NULL;
}

/* ------------------------------------------------------------------------- the join */

/* Does a hash join of this type drop all outer rows without a partner? */
static bool
drops_outer_rows(JoinType type)
{
	switch (type)
	{
		case JOIN_INNER:
		case JOIN_SEMI:
		case JOIN_RIGHT:
#if PG_VERSION_NUM >= 160000
		case JOIN_RIGHT_ANTI:
#endif
#if PG_VERSION_NUM >= 180000
		case JOIN_RIGHT_SEMI:
#endif
			return true;
		default:
			return false;
	}
}

/* Returns the clauses by which the join can hash, chosen as in hash_inner_and_outer(). Sets their outer_is_left. */
static List *
hash_clauses(const RelOptInfo *joinrel, const RelOptInfo *outer, const RelOptInfo *inner, JoinType type,
			 const List *clauses)
{
	List	   *result = NIL;
	const ListCell *cell;

	foreach(cell, clauses)
	{
		RestrictInfo *clause = lfirst(cell);
		bool		is_left = bms_is_subset(clause->left_relids, outer->relids) &&
			bms_is_subset(clause->right_relids, inner->relids);

		if ((IS_OUTER_JOIN(type) && RINFO_IS_PUSHED_DOWN(clause, joinrel->relids)) || !clause->can_join ||
			!OidIsValid(clause->hashjoinoperator) ||
			(!is_left && (!bms_is_subset(clause->left_relids, inner->relids) ||
						  !bms_is_subset(clause->right_relids, outer->relids) ||
						  !OidIsValid(get_commutator(castNode(OpExpr, clause->clause)->opno)))))
			continue;
		clause->outer_is_left = is_left;
		result = lappend(result, clause);
	}
	return result;
}

/*
 * May this key be collected? If a key of a row is NULL, PostgreSQL does not evaluate the later keys of the row.
 * JoinKeys does, so all keys but the first must be ones whose evaluation cannot raise an error.
 */
static bool
may_collect(Node *key, int number)
{
	if (contain_subplans(key))
		return false;
	key = chunk_without_relabels(key);
	return number == 0 || IsA(key, Var) || IsA(key, Const) || IsA(key, Param);
}

/* Returns those clauses of a hash join whose keys may be collected and are of use for a table (CollectedClause). */
static List *
collected_clauses(PlannerInfo *root, const Path *inner, const List *clauses, SpecialJoinInfo *join)
{
	List	   *result = NIL;
	const ListCell *cell;

	foreach(cell, clauses)
	{
		RestrictInfo *clause = lfirst(cell);
		Node	   *sides[2] = {get_leftop(clause->clause), get_rightop(clause->clause)};
		Node	   *of_outer = sides[!clause->outer_is_left];
		Relids		tables = pull_varnos(root, of_outer);
		CollectedClause *collected = palloc(sizeof(CollectedClause));
		RelOptInfo *table;
		int			number;

		collected->clause = clause;
		collected->inner = sides[clause->outer_is_left];
		if (!bms_get_singleton_member(tables, &number) || !may_collect(collected->inner, foreach_current_index(cell)))
			continue;
		table = number < root->simple_rel_array_size ? root->simple_rel_array[number] : NULL;
		if (table == NULL || (table->rtekind != RTE_RELATION && !root->simple_rte_array[number]->inh))
			continue;
		collected->table = number;
		collected->share = clause_selectivity(root, (Node *) clause, 0, join->jointype, join);
		if (join->jointype != JOIN_SEMI && join->jointype != JOIN_ANTI)
			collected->share *= inner->rows;	/* otherwise this is the share that has a partner */
		result = lappend(result, collected);
	}
	return result;
}

/*
 * Could the query show how often parts of it are run? With the nodes fewer outer rows are tested, and the inner side
 * is run although there may be no outer row. That is noticed if FROM, WHERE or a subquery calls a volatile function.
 */
static bool
shows_what_is_run(const PlannerInfo *root)
{
	Query		query = *root->parse;
	ListCell   *cell;

	query.targetList = query.returningList = NIL;
	if (contain_volatile_functions((Node *) &query))
		return true;
	foreach(cell, root->glob->subroots)
		if (lfirst(cell) != NULL && contain_volatile_functions((Node *) lfirst_node(PlannerInfo, cell)->parse))
			return true;
	return false;
}

static Plan *
plan_keys(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *targets, List *clauses, List *plans)
{
	CustomScan *keys = makeNode(CustomScan);
	JoinKeysSource *source = linitial(path->custom_private);

	(void) rel;
	(void) clauses;
	keys->scan.plan.targetlist = targets;
	keys->custom_scan_tlist = copyObject(((Plan *) linitial(plans))->targetlist);
	keys->custom_plans = plans;
	keys->custom_exprs = copyObject(source->sets);
	keys->custom_private = list_make1_int(join_keys_parameter(root, source));
	keys->methods = &join_keys_scan_methods;
	return &keys->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "JoinKeys",
	.PlanCustomPath = plan_keys,
};

/* Makes the path of a JoinKeys above the inner path of a hash join, which then has to build its hash table first. */
static Path *
make_keys_path(Path *inner, JoinKeysSource *source)
{
	CustomPath *keys = makeNode(CustomPath);

	keys->path = *inner;
	keys->path.type = T_CustomPath;
	keys->path.pathtype = T_CustomScan;
	keys->path.parallel_aware = false;
	keys->path.pathkeys = NIL;
	keys->custom_paths = list_make1(inner);
	keys->custom_private = list_make1(source);
	keys->methods = &path_methods;
	return &keys->path;
}

/* Adds a hash join with the keys, if there is an outer path that can be built again with tables that can be asked. */
static void
add_join(PlannerInfo *root, RelOptInfo *joinrel, JoinType type, JoinPathExtraData *extra, List *clauses,
		 const List *outer_paths, Path *inner, void (*add) (RelOptInfo *, Path *))
{
	JoinKeysSource *source = palloc0(sizeof(JoinKeysSource));
	Build		build = {.root = root, .source = source, .keys = Max(inner->rows, 1)};
	Path	   *outer = NULL;
	JoinCostWorkspace workspace;
	HashPath   *join;
	Path	   *keys;
	const ListCell *cell;

	source->parameter = -1;
	if (PATH_REQ_OUTER(inner) != NULL || inner->rows > JOIN_MOST_KEYS)
		return;
	build.clauses = collected_clauses(root, inner, clauses, extra->sjinfo);
	if (build.clauses == NIL)
		return;
	/* a Gather, which may be the cheapest, cannot be built again */
	foreach(cell, outer_paths)
	{
		Path	   *path = lfirst(cell);

		if (PATH_REQ_OUTER(path) == NULL && path->total_cost >= inner->total_cost * LEAST_SHARE_OF_INNER)
			outer = build_outer(&build, path, inner->total_cost);
		if (outer != NULL)
			break;
	}
	if (!build.any)
		return;
	keys = make_keys_path(inner, source);
	initial_cost_hashjoin(root, &workspace, type, clauses, outer, keys, extra, false);
	join = create_hashjoin_path(root, joinrel, type, &workspace, extra, outer, keys, false, extra->restrictlist, NULL,
								clauses);
	/* the executor must not ask the outer side first */
	Assert(join->jpath.outerjoinpath->startup_cost >= join->jpath.innerjoinpath->total_cost);
	add(joinrel, (Path *) join);
}

/* The planner calls this when it has made the paths of a join with this outer and this inner relation. */
static void
add_join_paths(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner, JoinType type,
			   JoinPathExtraData *extra)
{
	Path	   *inner_path = inner->cheapest_total_path;
	List	   *clauses;

	if (previous_set_join_pathlist)
		previous_set_join_pathlist(root, joinrel, outer, inner, type, extra);
	/* EvalPlanQual identifies the rows of an inherited table that is changed in a way that JoinKeys cannot pass on */
	if (!skip_enabled || !drops_outer_rows(type) || inner_path == NULL || inner_path->rows > JOIN_MOST_KEYS ||
		bms_overlap(inner->relids, root->all_result_relids))
		return;
	clauses = hash_clauses(joinrel, outer, inner, type, extra->restrictlist);
	if (clauses == NIL || shows_what_is_run(root))
		return;
	add_join(root, joinrel, type, extra, clauses, outer->pathlist, inner_path, add_path);
	/* below Gather each worker collects the keys by itself */
	inner_path = get_cheapest_parallel_safe_total_inner(inner->pathlist);
	if (joinrel->consider_parallel && inner_path != NULL && (type == JOIN_INNER || type == JOIN_SEMI) &&
		bms_is_empty(joinrel->lateral_relids))
		add_join(root, joinrel, type, extra, clauses, outer->partial_pathlist, inner_path, add_partial_path);
}

void
join_key_paths_init(void)
{
	previous_set_join_pathlist = set_join_pathlist_hook;
	set_join_pathlist_hook = add_join_paths;
	RegisterCustomScanMethods(&join_keys_scan_methods);
}
