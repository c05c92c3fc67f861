/*
 * partition_scan_keys.c: makes paths of hash joins whose outer side is a PartitionScan that waits for the join's keys.
 *
 * Such a scan is of use below this join alone. So its path is not added to the table's relation, where other joins
 * would find it. The path is only the outer side of the join's path, and add_path() decides about the join's path.
 * When the plan is finished, join_skip_plan.c goes down from each hash join, finds the node, and gives it the keys
 * that JoinKeys collects. README.md in this folder proves that no row is lost.
 */
#include "chunks/partition_scan.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "chunks/chunk_skip.h"
#include "chunks/join_skip.h"

/*
 * A join gives no keys if more than the share MOST_READ_FOR_KEYS of the partitions that pruning leaves is expected to
 * be read, and more than one partition. A partition whose index says maybe although the partition has none of the keys
 * counts as SHARE_OF_LOOK partitions: nearly always only the few pages that its index has named are looked at.
 *
 * Measured over 1,000 partitions, and compared with an ordinary plan, in which JoinSkip asks each partition: if all
 * partitions are read, the plan with the node takes a quarter longer. With 200 keys, to which 690 indexes say maybe,
 * 490 of them in vain, the plan with the node takes 0.4 times as long.
 */
#define MOST_READ_FOR_KEYS (1.0 / 4)
#define SHARE_OF_LOOK (1.0 / 4)

/* ------------------------------------------------------------------- the keys */

/*
 * Turns a join's clause into column = ANY (keys), with a CaseTestExpr in place of the keys. Sets *inner to the side
 * of the clause that gives the keys. Returns NULL if the clause does not compare a column of this relation with a
 * value, or if the keys' type has no array type.
 */
static Expr *
comparison_with_keys(const RestrictInfo *clause, Index relid, Node **inner)
{
	const OpExpr *comparison = (const OpExpr *) partition_scan_comparison(clause->clause, relid);
	CaseTestExpr *keys = makeNode(CaseTestExpr);
	ScalarArrayOpExpr *any = makeNode(ScalarArrayOpExpr);

	if (comparison == NULL || !IsA(comparison, OpExpr))
		return NULL;
	*inner = lsecond(comparison->args);
	keys->typeId = get_array_type(exprType(*inner));
	keys->typeMod = -1;
	keys->collation = exprCollation(*inner);
	if (!OidIsValid(keys->typeId))
		return NULL;
	any->opno = comparison->opno;
	any->opfuncid = get_opcode(comparison->opno);
	any->useOr = true;
	any->inputcollid = comparison->inputcollid;
	any->args = list_make2(linitial(comparison->args), keys);
	any->location = -1;
	return (Expr *) any;
}

/*
 * Sets *choice to what is expected if `keys` keys are asked about. Returns false, and sets *why, if there are no
 * statistics, if there are too many keys, or if more partitions are expected to be read than MOST_READ_FOR_KEYS
 * allows. But with PARTITION_SCAN_ALWAYS it always returns true.
 */
static bool
expect(PlannerInfo *root, const PartitionScanParts *parts, Expr *comparison, double keys, PartitionScanChoice *choice,
	   const char **why)
{
	RelOptInfo *rel = parts->rel;
	PartitionScanExpectation expected;
	bool		is_known = partition_scan_expect_keys(root, rel, parts, comparison, keys, &expected);

	if (partition_scan_use == PARTITION_SCAN_ALWAYS)
	{
		/* for tests: the lowest cost, so that the planner prefers the path to joins that read all partitions */
		choice->comparison = comparison;
		choice->keys = choice->read = choice->rows = 1;
		return true;
	}
	*why = NULL;
	if (!is_known)
		*why = "the keys of a join are not known yet, and there are no statistics about the column";
	else if (keys > JOIN_MOST_VALUES)
		*why = psprintf("about %.0f keys of a join are expected", keys);
	else if (expected.read + expected.in_vain * SHARE_OF_LOOK >
			 Max(MOST_READ_FOR_KEYS * list_length(parts->leaves), 1))
		*why = psprintf("about %.0f of %d partitions are expected to be read for %.0f keys of a join",
						expected.read + expected.in_vain, list_length(parts->leaves), keys);
	if (*why != NULL)
		return false;
	choice->comparison = comparison;
	choice->keys = keys;
	choice->read = expected.read;
	choice->looked_at = expected.in_vain;
	choice->rows = clamp_row_est(expected.rows * rel->rows / Max(rel->tuples, 1));
	return true;
}

bool
partition_scan_may_take_keys(PlannerInfo *root, RelOptInfo *rel, PartitionScanTable *table, PartitionScanParts *parts,
							 const List *conditions, const char **why)
{
	ListCell   *cell;

	if (!join_skip_enabled)
		return false;
	/*
	 * With keys, conditions are evaluated for fewer rows. This may be noticed if a condition is volatile or has a
	 * sub-plan.
	 */
	foreach(cell, rel->baserestrictinfo)
		if (contain_volatile_functions((Node *) lfirst_node(RestrictInfo, cell)->clause) ||
			contain_subplans((Node *) lfirst_node(RestrictInfo, cell)->clause))
			return false;
	foreach(cell, conditions)
	{
		Node	   *inner;
		Expr	   *comparison = comparison_with_keys(lfirst_node(RestrictInfo, cell), rel->relid, &inner);
		PartitionScanChoice ignored;
		const char *why_not;

		if (comparison == NULL ||
			!partition_scan_is_answered(table->parent, linitial_oid(parts->leaves), rel->relid, comparison))
			continue;
		if (root->parse->limitCount != NULL && partition_scan_use != PARTITION_SCAN_ALWAYS)
			why_not = "the keys of a join are not known yet, and the rows are limited";
		else if (expect(root, parts, comparison, 1, &ignored, &why_not))
		{
			parts->may_take_keys = true;
			chunk_skip_note_bf_index();
			return true;
		}
		*why = why_not;
	}
	return false;
}

/* ------------------------------------------------------------------- the join */

/*
 * Returns the clauses by which a hash join of `outer` and `inner` can hash, chosen as PostgreSQL does in
 * hash_inner_and_outer(). Sets their outer_is_left.
 */
static List *
hash_clauses(const RelOptInfo *joinrel, const RelOptInfo *outer, const RelOptInfo *inner, JoinType type,
			 const List *clauses)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, clauses)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, cell);
		bool		is_left;

		if ((IS_OUTER_JOIN(type) && RINFO_IS_PUSHED_DOWN(clause, joinrel->relids)) || !clause->can_join ||
			!OidIsValid(clause->hashjoinoperator))
			continue;
		is_left = bms_is_subset(clause->left_relids, outer->relids) &&
			bms_is_subset(clause->right_relids, inner->relids);
		if (!is_left && (!bms_is_subset(clause->left_relids, inner->relids) ||
						 !bms_is_subset(clause->right_relids, outer->relids) ||
						 !OidIsValid(get_commutator(castNode(OpExpr, clause->clause)->opno))))
			continue;
		clause->outer_is_left = is_left;
		result = lappend(result, clause);
	}
	return result;
}

/* Returns the partitions of this relation if it may take keys; otherwise NULL. */
static PartitionScanParts *
parts_that_may_take_keys(const PartitionScanTable *table, const RelOptInfo *rel)
{
	ListCell   *cell;

	foreach(cell, table->parts)
	{
		PartitionScanParts *parts = lfirst(cell);

		if (parts->rel == rel && parts->may_take_keys)
			return parts;
	}
	return NULL;
}

/*
 * Chooses the clause whose keys are expected to leave the fewest partitions to read. If no clause will do, the result
 * has no condition.
 */
static PartitionScanChoice
choose_clause(PlannerInfo *root, PartitionScanTable *table, PartitionScanParts *parts, const List *clauses,
			  double inner_rows)
{
	PartitionScanChoice best = {NULL};
	ListCell   *cell;

	foreach(cell, clauses)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, cell);
		Node	   *inner;
		Expr	   *comparison = comparison_with_keys(clause, parts->rel->relid, &inner);
		PartitionScanChoice choice = {clause};
		const char *why;

		if (comparison == NULL || !join_skip_may_collect(inner, foreach_current_index(cell)) ||
			!partition_scan_is_answered(table->parent, linitial_oid(parts->leaves), parts->rel->relid, comparison))
			continue;
		if (!expect(root, parts, comparison, estimate_num_groups(root, list_make1(inner), inner_rows, NULL, NULL),
					&choice, &why))
			parts->why_no_keys = MemoryContextStrdup(root->planner_cxt, why);
		else if (best.condition == NULL || choice.read < best.read)
			best = choice;
	}
	return best;
}

void
partition_scan_add_join_path(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
							 JoinType type, JoinPathExtraData *extra)
{
	PartitionScanTable *table = IS_SIMPLE_REL(outer) && outer->rtekind == RTE_RELATION ?
		partition_scan_table_of(root->simple_rte_array[outer->relid]) : NULL;
	PartitionScanParts *parts = table != NULL ? parts_that_may_take_keys(table, outer) : NULL;
	Path	   *inner_path = inner->cheapest_total_path;
	List	   *clauses;
	PartitionScanChoice choice;
	JoinCostWorkspace workspace;
	Path	   *outer_path;

	if (parts == NULL || !join_skip_drops_outer_rows(type) || inner_path == NULL || PATH_REQ_OUTER(inner_path) != NULL)
		return;
	clauses = hash_clauses(joinrel, outer, inner, type, extra->restrictlist);
	choice = choose_clause(root, table, parts, clauses, inner_path->rows);
	if (choice.condition == NULL)
		return;
	outer_path = (Path *) partition_scan_make_path(root, outer, table, parts, &choice, NULL);
	initial_cost_hashjoin(root, &workspace, type, clauses, outer_path, inner_path, extra, false);
	add_path(joinrel, (Path *) create_hashjoin_path(root, joinrel, type, &workspace, extra, outer_path, inner_path,
													false, extra->restrictlist, NULL, clauses));
}

/* ----------------------------------------------------------- the finished plan */

/* Returns the comparison of a node that waits for keys; NULL for any other node. */
static const ScalarArrayOpExpr *
comparison_that_waits(const CustomScan *node)
{
	const ScalarArrayOpExpr *any = list_nth(node->custom_exprs, PARTITION_SCAN_ASKED);

	return any != NULL && IsA(any, ScalarArrayOpExpr) && IsA(lsecond(any->args), CaseTestExpr) ? any : NULL;
}

bool
partition_scan_waits_for(const CustomScan *node, const Node *column, const OpExpr *clause)
{
	const ScalarArrayOpExpr *any = comparison_that_waits(node);

	return any != NULL && any->opno == clause->opno && any->inputcollid == clause->inputcollid &&
		equal(linitial(any->args), column) &&
		lsecond_node(CaseTestExpr, any->args)->typeId == get_array_type(exprType(lsecond(clause->args)));
}

void
partition_scan_add_keys(CustomScan *node, int parameter, int set)
{
	ListCell   *keys = list_nth_cell(node->custom_private, PARTITION_SCAN_KEYS);

	lfirst(keys) = lappend_int(lappend_int(lfirst(keys), parameter), set);
}

bool
partition_scan_lacks_keys(const CustomScan *node)
{
	return comparison_that_waits(node) != NULL && list_nth(node->custom_private, PARTITION_SCAN_KEYS) == NIL;
}
