/*
 * partition_scan_paths.c: decides whether a table gets the node PartitionScan, and makes its paths. The node asks bf
 * indexes which partitions may hold rows, and reads only these (partition_scan.h).
 *
 * A condition on the table alone gives a path that needs no other table, if indexes can answer the condition and few
 * partitions are expected to be read. Otherwise conditions of joins give paths for the inner side of a nested loop,
 * and for the outer side of a hash join (partition_scan_keys.c). But the planner wants at least one path that needs no
 * other table. So there is one that reads all partitions. If the planner chooses this path, the statement is planned
 * again without the node, since an ordinary plan reads all partitions faster.
 */
#include "chunks/partition_scan.h"

#include "access/sysattr.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"

/*
 * The cost of a question to an index about one value; of each further value in the question; of a look at the few
 * pages that an index has named in vain; and of planning and running the query of a partition that is read. Measured:
 * a question takes 0.6 µs, a look 50 µs, a query 200 µs. A page that is read in sequence (seq_page_cost, 1) is counted
 * as 20 µs; so cpu_operator_cost (0.0025) is 0.05 µs, and a question is counted as 1 µs.
 */
#define QUESTION_COST (20 * cpu_operator_cost)
#define QUESTION_COST_PER_KEY (2 * cpu_operator_cost)
#define LOOK_COST (1000 * cpu_operator_cost)
#define QUERY_COST (4000 * cpu_operator_cost)

/*
 * A condition gets no path if more than this share of the partitions that pruning leaves is expected to be read, and
 * more than one partition. (The setting `always`, which is for tests, does not look at this.) In an ordinary plan
 * PostgreSQL takes about 30 µs to plan a partition. The node takes 200 µs to plan and run the query of a partition.
 */
#define MOST_READ (1.0 / 16)

/*
 * Is any of these columns a system column other than tableoid? A partition's query cannot return such a column. The
 * columns are numbered as by pull_varattnos().
 */
static bool
has_system_columns(const Bitmapset *columns)
{
	for (AttrNumber column = FirstLowInvalidHeapAttributeNumber + 1; column < 0; column++)
		if (column != TableOidAttributeNumber && bms_is_member(column - FirstLowInvalidHeapAttributeNumber, columns))
			return true;
	return false;
}

/* Returns a reason why this relation cannot get the node, or NULL if there is none. */
static const char *
find_obstacle(RelOptInfo *rel)
{
	Bitmapset  *columns = NULL;
	ListCell   *cell;

	if (rel->reloptkind != RELOPT_BASEREL || rel->lateral_relids != NULL)
		return "it is a member of a set operation or is referred to laterally";
	for (AttrNumber column = rel->min_attr; column < 0; column++)
		if (rel->attr_needed[column - rel->min_attr] != NULL)
			columns = bms_add_member(columns, column - FirstLowInvalidHeapAttributeNumber);
	foreach(cell, rel->baserestrictinfo)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, cell)->clause, rel->relid, &columns);
	if (has_system_columns(columns))
		return "system columns are used";
	return NULL;
}

static const CustomPathMethods path_methods = {
	.CustomName = "PartitionScan",
	.PlanCustomPath = partition_scan_make_plan,
};

/* ------------------------------------------------------------------------ conditions */

/*
 * PostgreSQL plans a query with min() or max() a second time, as a query with ORDER BY and LIMIT 1, and compares the
 * two plans. Is this such a second query? It is a copy of the first one, so the relation has the same number in both
 * queries.
 */
static bool
is_of_min_or_max(const PlannerInfo *root, const RelOptInfo *rel)
{
	const PlannerInfo *outer = root->parent_root;

	return outer != NULL && outer->parse->hasAggs && !root->parse->hasAggs &&
		list_length(root->parse->rtable) == list_length(outer->parse->rtable) &&
		partition_scan_table_of(rt_fetch(rel->relid, outer->parse->rtable)) ==
		partition_scan_table_of(rt_fetch(rel->relid, root->parse->rtable));
}

/*
 * Of the conditions that indexes can answer, returns the one for which the fewest partitions are expected to be read.
 * If none of them is good enough, the result has no condition, and *why is set. If indexes can answer none, the result
 * has no condition either, and *why is left alone. (With PARTITION_SCAN_ALWAYS the first one is returned.)
 */
static PartitionScanChoice
choose_condition(PlannerInfo *root, RelOptInfo *rel, Oid parent, const PartitionScanParts *parts, List *conditions,
				 const char **why)
{
	PartitionScanChoice best = {NULL, .keys = 1, .rows = -1};
	double		most = Max(MOST_READ * list_length(parts->leaves), 1);
	ListCell   *cell;

	foreach(cell, conditions)
	{
		RestrictInfo *condition = lfirst_node(RestrictInfo, cell);
		Expr	   *comparison = condition->pseudoconstant ? NULL :
			partition_scan_comparison(condition->clause, rel->relid);
		double		expected;
		bool		known;

		if (comparison == NULL ||
			!partition_scan_is_answered(parent, linitial_oid(parts->leaves), rel->relid, comparison))
			continue;
		expected = partition_scan_expected(root, rel, parts, comparison, &known);
		if (partition_scan_use == PARTITION_SCAN_ALWAYS)
		{
			if (best.condition == NULL)
				best = (PartitionScanChoice) {condition, comparison, .keys = 1, .read = Max(expected, 1), .rows = -1};
		}
		else if (expected < 0)
			*why = "the value is not known yet, and there are no statistics about the column";
		else if (expected > most)
			*why = psprintf("about %.0f of %d partitions are expected to have rows", expected, list_length(parts->leaves));
		else if (!known && (root->parse->limitCount != NULL || root->parse->sortClause != NIL) &&
				 !is_of_min_or_max(root, rel))
			*why = "the value is not known yet, and the rows are sorted or limited";
		else if (best.condition == NULL || expected < best.read)
			best = (PartitionScanChoice) {condition, comparison, .keys = 1, .read = expected, .rows = -1};
	}
	return best;
}

/* ------------------------------------------------------------------------------ paths */

CustomPath *
partition_scan_make_path(PlannerInfo *root, RelOptInfo *rel, PartitionScanTable *table, PartitionScanParts *parts,
						 const PartitionScanChoice *choice, Relids outer)
{
	CustomPath *custom = makeNode(CustomPath);
	PartitionScanPath *private = palloc(sizeof(PartitionScanPath));
	Path	   *path = &custom->path;
	int			count = list_length(parts->leaves);
	QualCost	quals = rel->baserestrictcost;

	*private = (PartitionScanPath) {table, parts, choice->condition, choice->comparison};
	path->pathtype = T_CustomScan;
	path->parent = rel;
	path->pathtarget = rel->reltarget;
	path->param_info = get_baserel_parampathinfo(root, rel, outer);
	path->parallel_safe = false;
	path->rows = choice->rows >= 0 ? choice->rows :
		path->param_info != NULL ? path->param_info->ppi_rows : rel->rows;
	if (path->param_info != NULL)
	{
		QualCost	of_join;

		cost_qual_eval(&of_join, path->param_info->ppi_clauses, root);
		quals.startup += of_join.startup;
		quals.per_tuple += of_join.per_tuple;
	}
	path->startup_cost = rel->reltarget->cost.startup + quals.startup;
	path->total_cost = path->startup_cost + path->rows * rel->reltarget->cost.per_tuple;
	if (choice->condition != NULL)
	{
		Cost		questions = count * (QUESTION_COST + (choice->keys - 1) * QUESTION_COST_PER_KEY);

		path->startup_cost += questions;
		path->total_cost += questions + choice->read * (QUERY_COST + rel->pages / (double) count) +
			choice->looked_at * LOOK_COST + path->rows * (cpu_tuple_cost + quals.per_tuple);
	}
	else
		path->total_cost += rel->pages * seq_page_cost + parts->tuples * (cpu_tuple_cost + quals.per_tuple);
	custom->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	custom->custom_private = list_make1(private);
	custom->methods = &path_methods;
	return custom;
}

static void
add_node_path(PlannerInfo *root, RelOptInfo *rel, PartitionScanTable *table, PartitionScanParts *parts,
			  const PartitionScanChoice *choice, Relids outer)
{
	add_path(rel, (Path *) partition_scan_make_path(root, rel, table, parts, choice, outer));
}

/* Is this member of an equivalence class the column with the number *column? (The type is ec_matches_callback_type.) */
static bool
is_column_of_class(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *class, EquivalenceMember *member, void *column)
{
	const Node *node = (Node *) member->em_expr;

	(void) root;
	(void) class;
	while (IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return IsA(node, Var) && ((Var *) node)->varno == (int) rel->relid &&
		((Var *) node)->varattno == *(AttrNumber *) column;
}

/*
 * Returns the join conditions that a scan of this table can test if it gets the values of the other tables' columns, as
 * on the inner side of a nested loop.
 */
static List *
conditions_of_joins(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *conditions = NIL;
	ListCell   *cell;

	foreach(cell, rel->joininfo)
		if (join_clause_is_movable_to(lfirst(cell), rel))
			conditions = lappend(conditions, lfirst(cell));
	if (rel->has_eclass_joins)
		for (AttrNumber column = 1; column <= rel->max_attr; column++)
			if (rel->attr_needed[column - rel->min_attr] != NULL)
				conditions = list_concat(conditions,
										 generate_implied_equalities_for_column(root, rel, is_column_of_class, &column,
																				rel->lateral_referencers));
	return conditions;
}

/*
 * Some of these conditions compare a column with a value that comes from other tables. Returns the sets of other
 * tables that such values come from, each set once: a list of Relids.
 */
static List *
sets_of_outer_tables(RelOptInfo *rel, const List *conditions)
{
	List	   *sets = NIL;
	ListCell   *cell;

	foreach(cell, conditions)
	{
		RestrictInfo *condition = lfirst_node(RestrictInfo, cell);
		Relids		outer = bms_difference(condition->clause_relids, rel->relids);
		ListCell   *inner;
		bool		is_new = !bms_is_empty(outer) && partition_scan_comparison(condition->clause, rel->relid) != NULL;

		foreach(inner, sets)
			is_new &= !bms_equal(lfirst(inner), outer);
		if (is_new)
			sets = lappend(sets, outer);
	}
	return sets;
}

/*
 * Adds the paths for the inner side of nested loops, and notes whether hash joins may give keys. Returns false if there
 * is no such path, and no hash join may give keys.
 */
static bool
add_paths_of_joins(PlannerInfo *root, RelOptInfo *rel, PartitionScanTable *table, PartitionScanParts *parts,
				   const char **why)
{
	List	   *conditions = conditions_of_joins(root, rel);
	bool		any = partition_scan_may_take_keys(root, rel, table, parts, conditions, why);
	ListCell   *cell;

	foreach(cell, sets_of_outer_tables(rel, conditions))
	{
		Relids		outer = lfirst(cell);
		ParamPathInfo *join = get_baserel_parampathinfo(root, rel, outer);
		PartitionScanChoice choice = choose_condition(root, rel, table->parent, parts, join->ppi_clauses, why);

		if (choice.condition == NULL)
			continue;
		add_node_path(root, rel, table, parts, &choice, outer);
		any = true;
	}
	return any;
}

void
partition_scan_add_path(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	PartitionScanTable *table = partition_scan_table_of(rte);
	PartitionScanParts *parts;
	PartitionScanChoice choice;
	const char *why;
	bool		is_empty;

	if (table == NULL)
		return;
	/* If conditions contradict each other, the relation stays empty, as the planner has made it. */
	is_empty = relation_excluded_by_constraints(root, rel, rte);
	rte->inh = true;			/* this entry was seen: all_were_seen() in partition_scan_statement.c */
	if (is_empty)
		return;
	why = find_obstacle(rel);
	parts = palloc0(sizeof(PartitionScanParts));
	parts->rel = rel;
	if (why == NULL)
		why = partition_scan_find(root, rel, rte, parts);
	if (why != NULL)
	{
		partition_scan_refuse(table, why);
		return;
	}
	table->parts = lappend(table->parts, parts);
	partition_scan_set_size(root, rel, rte->relid, parts);
	root->total_table_pages += rel->pages;
	rel->consider_parallel = false;
	rel->pathlist = NIL;
	why = "no condition that a bf index answers";
	choice = choose_condition(root, rel, rte->relid, parts, rel->baserestrictinfo, &why);
	/* Without a condition this path reads all partitions. It is needed: see the head of this file. */
	add_node_path(root, rel, table, parts, &choice, NULL);
	if (choice.condition == NULL && !add_paths_of_joins(root, rel, table, parts, &why))
		partition_scan_refuse(table, why);
}
