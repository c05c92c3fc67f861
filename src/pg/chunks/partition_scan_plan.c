/*
 * partition_scan_plan.c: makes the path and the plan of the node PartitionScan.
 */
#include "chunks/partition_scan.h"

#include "access/genam.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "optimizer/restrictinfo.h"
#include "partitioning/partdesc.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "chunks/chunk_question.h"
#include "chunks/chunk_scan_node.h"
#include "index/handler.h"

/*
 * What a question costs, and what it costs to plan and run the query of a partition that is read. Measured, with 20 µs for
 * one page that is read in sequence (seq_page_cost, 1): a question takes 0.6 µs, such a query 200 µs.
 */
#define QUESTION_COST (20 * cpu_operator_cost)
#define QUERY_COST (4000 * cpu_operator_cost)

/*
 * If more than this share of the partitions is expected to be read, the table is planned as always. It takes PostgreSQL
 * about 30 µs to plan a partition, and the node 200 µs to plan and run the query of one.
 */
#define MOST_READ (1.0 / 16)

/* ----------------------------------------------------------------- what is asked */

static Node *
without_relabels(Node *node)
{
	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node;
}

static bool
is_column(Node *node, Index relid)
{
	node = without_relabels(node);
	return node != NULL && IsA(node, Var) && ((Var *) node)->varno == relid && ((Var *) node)->varlevelsup == 0 &&
		((Var *) node)->varattno > 0;
}

/*
 * The clause as a comparison of a column of the relation, on the left side, with an argument that has none; NULL if it is
 * not one. Of a value that is NULL the operator must not find any row.
 */
static Expr *
as_comparison(Expr *clause, Index relid)
{
	List	   *sides;
	Oid			operator;

	if (IsA(clause, OpExpr) && list_length(((OpExpr *) clause)->args) == 2)
	{
		if (!is_column(linitial(((OpExpr *) clause)->args), relid))
		{
			if (!OidIsValid(get_commutator(((OpExpr *) clause)->opno)))
				return NULL;
			clause = copyObject(clause);
			CommuteOpExpr((OpExpr *) clause);
		}
		sides = ((OpExpr *) clause)->args;
		operator = ((OpExpr *) clause)->opno;
	}
	else if (IsA(clause, ScalarArrayOpExpr) && ((ScalarArrayOpExpr *) clause)->useOr)
	{
		sides = ((ScalarArrayOpExpr *) clause)->args;
		operator = ((ScalarArrayOpExpr *) clause)->opno;
	}
	else
		return NULL;
	if (!is_column(linitial(sides), relid) || bms_is_member(relid, pull_varnos(NULL, lsecond(sides))) ||
		contain_volatile_functions(lsecond(sides)) || contain_subplans(lsecond(sides)) || !op_strict(operator))
		return NULL;
	return clause;
}

/* Can a bf index of this relation answer the comparison, which is about its columns? Its argument may have columns. */
static bool
is_answered(Relation relation, Index relid, Expr *comparison)
{
	ChunkOperator known = {InvalidOid};
	Oid			method = bf_index_am_oid();
	List	   *sides;
	Param	   *argument = makeNode(Param);
	List	   *indexes;
	ListCell   *cell;
	bool		result = false;

	comparison = copyObject(comparison);
	sides = IsA(comparison, OpExpr) ? ((OpExpr *) comparison)->args : ((ScalarArrayOpExpr *) comparison)->args;
	argument->paramkind = PARAM_EXTERN;
	argument->paramid = 1;
	argument->paramtype = exprType(lsecond(sides));
	argument->paramtypmod = exprTypmod(lsecond(sides));
	argument->paramcollid = exprCollation(lsecond(sides));
	argument->location = -1;
	if (!IsA(lsecond(sides), Const))
		lsecond(sides) = argument;
	indexes = RelationGetIndexList(relation);
	foreach(cell, indexes)
	{
		Relation	index;

		if (result || !chunk_has_method(lfirst_oid(cell), method))
			continue;
		index = index_open(lfirst_oid(cell), AccessShareLock);
		result = chunk_keys_of_index(index, relid, list_make1(comparison), &known) != NIL;
		index_close(index, NoLock);
	}
	return result;
}

/*
 * Can bf indexes of the partitions answer the comparison? Those of the parent are looked at, and if there are none, those
 * of the first partition.
 */
static bool
is_answered_in_partitions(Oid parent_oid, Oid first, Index relid, Expr *comparison)
{
	Relation	parent = table_open(parent_oid, NoLock);
	bool		result = is_answered(parent, relid, comparison);

	if (!result)
	{
		Relation	partition = table_open(first, NoLock);
		AttrMap    *map = sb_build_attrmap_by_name_if_req(RelationGetDescr(partition), RelationGetDescr(parent));
		bool		whole_row;

		if (map != NULL)
			comparison = (Expr *) map_variable_attnos((Node *) comparison, relid, 0, map, InvalidOid, &whole_row);
		result = is_answered(partition, relid, comparison);
		table_close(partition, NoLock);
	}
	table_close(parent, NoLock);
	return result;
}

bool
partition_scan_has_index(Relation parent)
{
	Oid			method = bf_index_am_oid();
	PartitionDesc partitions;
	List	   *indexes;
	ListCell   *cell;

	if (!OidIsValid(method))
		return false;
	indexes = RelationGetIndexList(parent);
	foreach(cell, indexes)
		if (chunk_has_method(lfirst_oid(cell), method))
			return true;
	if (parent->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return false;
	partitions = RelationGetPartitionDesc(parent, true);
	if (partitions->nparts > 0)
	{
		Relation	first = chunk_try_open(partitions->oids[0]);
		bool		result = first != NULL && partition_scan_has_index(first);

		if (first != NULL)
			table_close(first, NoLock);
		return result;
	}
	return false;
}

/* -------------------------------------------------------------------------- paths */

/* What a path of the node holds, in custom_private. */
typedef struct PartitionScanPath
{
	PartitionScanParts *parts;
	RestrictInfo *condition;	/* that is asked about */
	Expr	   *comparison;		/* the condition, with the column on the left side */
} PartitionScanPath;

/* Are there columns among these that a partition's query cannot return? They are numbered as by pull_varattnos(). */
static bool
has_system_columns(const Bitmapset *columns)
{
	for (AttrNumber column = FirstLowInvalidHeapAttributeNumber + 1; column < 0; column++)
		if (column != TableOidAttributeNumber && bms_is_member(column - FirstLowInvalidHeapAttributeNumber, columns))
			return true;
	return false;
}

/* What keeps the node from being used for this relation, or NULL. */
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

/* Plans the node. */
static Plan *make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target_list, List *clauses,
					   List *children);

static const CustomPathMethods path_methods = {
	.CustomName = "PartitionScan",
	.PlanCustomPath = make_plan,
};

static void
add_node_path(RelOptInfo *rel, PartitionScanPath *private, double expected)
{
	CustomPath *custom = makeNode(CustomPath);
	Path	   *path = &custom->path;
	int			count = list_length(private->parts->leaves);

	path->pathtype = T_CustomScan;
	path->parent = rel;
	path->pathtarget = rel->reltarget;
	path->parallel_safe = false;
	path->rows = rel->rows;
	path->startup_cost = rel->reltarget->cost.startup + rel->baserestrictcost.startup + count * QUESTION_COST;
	path->total_cost = path->startup_cost + expected * (QUERY_COST + rel->pages / (double) Max(count, 1)) +
		rel->rows * (cpu_tuple_cost + rel->baserestrictcost.per_tuple + rel->reltarget->cost.per_tuple);
	custom->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	custom->custom_private = list_make1(private);
	custom->methods = &path_methods;
	add_path(rel, path);
}

/*
 * The condition that indexes are asked about: of those that they can answer, the one for which the fewest partitions are
 * expected to be read. *why says why there is none.
 */
static PartitionScanPath *
choose_condition(PlannerInfo *root, RelOptInfo *rel, Oid parent, PartitionScanParts *parts, double *expected,
				 const char **why)
{
	PartitionScanPath *best = NULL;
	double		most = MOST_READ * list_length(parts->leaves);
	ListCell   *cell;

	*why = "no condition that a bf index answers";
	foreach(cell, rel->baserestrictinfo)
	{
		RestrictInfo *condition = lfirst_node(RestrictInfo, cell);
		Expr	   *comparison = condition->pseudoconstant ? NULL : as_comparison(condition->clause, rel->relid);
		double		partitions;
		bool		known;

		if (comparison == NULL || !is_answered_in_partitions(parent, linitial_oid(parts->leaves), rel->relid, comparison))
			continue;
		partitions = partition_scan_expected(root, rel, parts, comparison, &known);
		if (partitions < 0)
			*why = "the value is not known yet, and there are no statistics about the column";
		else if (partitions > most)
			*why = psprintf("about %.0f of %d partitions are expected to have rows", partitions, list_length(parts->leaves));
		else if (!known && (root->parse->limitCount != NULL || root->parse->sortClause != NIL))
			*why = "the value is not known yet, and the rows are sorted or limited";
		else if (best == NULL || partitions < *expected)
		{
			if (best == NULL)
				best = palloc(sizeof(PartitionScanPath));
			*best = (PartitionScanPath) {parts, condition, comparison};
			*expected = partitions;
		}
	}
	return best;
}

void
partition_scan_add_path(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte)
{
	PartitionScanTable *table = partition_scan_table_of(rte);
	PartitionScanParts *parts;
	PartitionScanPath *private;
	const char *why;
	double		expected = 0;

	if (table == NULL)
		return;
	table->seen = true;
	/* Conditions that contradict each other: the relation stays empty. */
	if (relation_excluded_by_constraints(root, rel, unconstify(RangeTblEntry *, rte)))
		return;
	why = find_obstacle(rel);
	parts = palloc0(sizeof(PartitionScanParts));
	if (why == NULL)
		why = partition_scan_find(root, rel, rte, parts);
	if (why != NULL)
	{
		partition_scan_refuse(table, why);
		return;
	}
	partition_scan_set_size(rel, rte->relid, parts);
	private = choose_condition(root, rel, rte->relid, parts, &expected, &why);
	if (private == NULL)
	{
		partition_scan_refuse(table, why);
		return;
	}
	table->parts = lappend(table->parts, parts);
	set_baserel_size_estimates(root, rel);
	root->total_table_pages += rel->pages;
	rel->consider_parallel = false;
	rel->pathlist = NIL;
	add_node_path(rel, private, expected);
}

/* --------------------------------------------------------------------------- plan */

/* Can the condition be tested in the partitions' queries? They have no sub-plans of this plan. */
static bool
is_tested_in_partitions(Node *clause, Index relid)
{
	List	   *variables;
	ListCell   *cell;
	bool		result = true;

	if (contain_volatile_functions(clause) || contain_subplans(clause))
		return false;
	variables = pull_var_clause(clause, PVC_RECURSE_PLACEHOLDERS);
	foreach(cell, variables)
	{
		const Var  *variable = lfirst_node(Var, cell);

		result &= variable->varno != (int) relid || variable->varattno > 0 || variable->varattno == TableOidAttributeNumber;
	}
	list_free(variables);
	return result;
}

static Plan *
make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target_list, List *clauses, List *children)
{
	PartitionScanPath *private = linitial(path->custom_private);
	CustomScan *scan = makeNode(CustomScan);
	List	   *conditions = NIL;
	List	   *others = NIL;
	List	   *columns;
	List	   *numbers = NIL;
	ListCell   *cell;

	(void) root;
	(void) children;
	foreach(cell, clauses)
	{
		RestrictInfo *condition = lfirst_node(RestrictInfo, cell);

		if (condition->pseudoconstant || condition == private->condition)
			continue;
		if (is_tested_in_partitions((Node *) condition->clause, rel->relid))
			conditions = lappend(conditions, condition->clause);
		else
			others = lappend(others, condition->clause);
	}
	/* The planner may give the node another target list later, of whatever the nodes above need of the relation. */
	columns = chunk_scan_add_columns(NIL, (Node *) rel->reltarget->exprs, rel->relid);
	columns = chunk_scan_add_columns(columns, (Node *) target_list, rel->relid);
	columns = chunk_scan_add_columns(columns, (Node *) others, rel->relid);
	columns = chunk_scan_add_columns(columns, (Node *) conditions, rel->relid);
	columns = chunk_scan_add_columns(columns, (Node *) private->comparison, rel->relid);
	foreach(cell, columns)
		numbers = lappend_int(numbers, ((Var *) lfirst_node(TargetEntry, cell)->expr)->varattno);

	scan->scan.plan.targetlist = target_list;
	scan->scan.plan.qual = others;
	scan->scan.scanrelid = rel->relid;
	scan->flags = path->flags;
	scan->custom_scan_tlist = columns;
	scan->custom_exprs = list_make2(private->comparison, conditions);
	scan->custom_private = list_make2(numbers, list_make3_int(0, 0, 0));
	scan->methods = &partition_scan_methods;
	private->parts->node = scan;
	return (Plan *) scan;
}
