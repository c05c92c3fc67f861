/*
 * partition_scan_plan.c: makes the plan of the node PartitionScan.
 *
 * The partitions get entries in the range table of their query, so a plan that is kept has them locked and becomes
 * invalid with them. Run-time pruning is PostgreSQL's own.
 */
#include "chunks/partition_scan.h"

#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paramassign.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "partitioning/partdesc.h"
#include "partitioning/partprune.h"

#include "chunks/chunk_question.h"

/* ------------------------------------------------------------------------ run-time pruning */

static bool
has_place_holder(Node *node, void *nothing)
{
	if (node == NULL)
		return false;
	return IsA(node, PlaceHolderVar) || expression_tree_walker(node, has_place_holder, nothing);
}

/* Puts the parameters of a nested loop in place of the outer tables' columns. */
static Node *
with_outer_parameters(Node *node, void *root)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && bms_is_member(((Var *) node)->varno, ((PlannerInfo *) root)->curOuterRels))
		return (Node *) replace_nestloop_param_var(root, (Var *) node);
	return expression_tree_mutator(node, with_outer_parameters, root);
}

/*
 * Sets the steps by which PostgreSQL prunes the partitions of this table at run time. It wants an Append with a
 * partition, so it gets one with a fake one, in a copy of the planner's data that has only these two. Returns what a
 * PartitionPruneInfo has besides, or NULL if there are no steps.
 */
static PartitionPruneInfo *
find_steps(PlannerInfo *root, RelOptInfo *parent, const PartitionScanTable *table, List *conditions,
		   PartitionedRelPruneInfo *info)
{
	const Index relid = parent->relid;
	PlannerInfo *copy = makeNode(PlannerInfo);
	RelOptInfo *rel = makeNode(RelOptInfo);
	RelOptInfo *leaf = makeNode(RelOptInfo);
	AppendRelInfo *append = makeNode(AppendRelInfo);
	Path	   *path = makeNode(Path);
	PartitionPruneInfo *result;

	memcpy(rel, table->rel, sizeof(RelOptInfo));
	rel->pathlist = NIL;
	rel->live_parts = table->live;
	rel->part_rels = palloc0(rel->nparts * sizeof(RelOptInfo *));
	for (int i = -1; (i = bms_next_member(table->live, i)) >= 0;)
		rel->part_rels[i] = leaf;
	path->parent = leaf;
	leaf->reloptkind = RELOPT_OTHER_MEMBER_REL;
	leaf->relid = relid + 1;
	append->parent_relid = relid;
	copy->simple_rel_array_size = (int) relid + 2;
	copy->simple_rel_array = palloc0((relid + 2) * sizeof(RelOptInfo *));
	copy->simple_rte_array = palloc0((relid + 2) * sizeof(RangeTblEntry *));
	copy->append_rel_array = palloc0((relid + 2) * sizeof(AppendRelInfo *));
	copy->simple_rel_array[relid] = rel;
	copy->simple_rte_array[relid + 1] = planner_rt_fetch(relid, root);
	copy->append_rel_array[relid + 1] = append;
	result = (PartitionPruneInfo *) sb_make_partition_pruneinfo(copy, rel, list_make1(path), conditions);
	if (result != NULL)
		*info = *linitial_node(PartitionedRelPruneInfo, linitial(result->prune_infos));
	return result;
}

/*
 * Returns a PartitionPruneInfo, or NULL, whose subplans are the leaf partitions. The entries for `parts` in the range
 * table begin at `first`.
 */
static Node *
make_pruning(PlannerInfo *root, RelOptInfo *parent, const PartitionScanParts *parts, Index first, List *conditions)
{
	PartitionPruneInfo *result = NULL;
	List	   *infos = NIL;
	ListCell   *cell;

	if (!enable_partition_pruning)
		return NULL;
	foreach(cell, parts->tables)
	{
		const PartitionScanTable *table = lfirst(cell);
		const int	at = foreach_current_index(cell);
		const int	count = table->partitions->nparts;
		PartitionedRelPruneInfo *info = makeNode(PartitionedRelPruneInfo);
		PartitionPruneInfo *found = find_steps(root, parent, table, partition_scan_translate(parts, conditions, at),
											   info);

		if (found != NULL)
			result = found;
		/* the parent has an entry of its own, so the tables below it begin at tables[1] */
		info->rtindex = at == 0 ? parent->relid : first + at - 1;
		info->present_parts = table->live;
		info->nparts = count;
		info->subplan_map = memset(palloc(count * sizeof(int)), -1, count * sizeof(int));
		info->subpart_map = memset(palloc(count * sizeof(int)), -1, count * sizeof(int));
		info->relid_map = palloc0(count * sizeof(Oid));
#if PG_VERSION_NUM >= 180000
		info->leafpart_rti_map = palloc0(count * sizeof(int));
#endif
		for (int i = -1; (i = bms_next_member(table->live, i)) >= 0;)
		{
			info->relid_map[i] = table->partitions->oids[i];
			if (table->places[i] < 0)
			{
				info->subpart_map[i] = -1 - table->places[i];
				continue;
			}
			info->subplan_map[i] = table->places[i];
#if PG_VERSION_NUM >= 180000
			info->leafpart_rti_map[i] = (int) first + list_length(parts->tables) - 1 + table->places[i];
#endif
		}
		infos = lappend(infos, info);
	}
	if (result != NULL)
		result->prune_infos = list_make1(infos);
	return (Node *) result;
}

/* --------------------------------------------------------------------------------- the plan */

static RangeTblEntry *
make_entry(Oid table, char relkind, Alias *name)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = RTE_RELATION;
	rte->relid = table;
	rte->relkind = relkind;
	rte->rellockmode = AccessShareLock;
	rte->eref = name;
	return rte;
}

/*
 * Adds entries for the partitions to the range table: partitioned tables first, since each table is locked after the
 * one whose partition it is. Returns the number of the first entry.
 */
static Index
add_entries(PlannerInfo *root, const PartitionScanParts *parts)
{
	Index		first = list_length(root->parse->rtable) + 1;
	Alias	   *name = makeAlias("partition", NIL);
	ListCell   *cell;

	for_each_from(cell, parts->tables, 1)
		root->parse->rtable = lappend(root->parse->rtable,
									  make_entry(((PartitionScanTable *) lfirst(cell))->oid,
												 RELKIND_PARTITIONED_TABLE, name));
	foreach(cell, parts->leaves)
		root->parse->rtable = lappend(root->parse->rtable, make_entry(lfirst_oid(cell), RELKIND_RELATION, name));
	return first;
}

/* The conditions column = plain value that are not asked about: a B-tree index may serve for them. */
static List *
find_equalities(const List *conditions, const List *asked)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, conditions)
	{
		OpExpr	   *condition = lfirst(cell);

		if (!list_member(asked, condition) && IsA(condition, OpExpr) && list_length(condition->args) == 2 &&
			(chunk_is_plain_value(linitial(condition->args), NULL) ||
			 chunk_is_plain_value(lsecond(condition->args), NULL)))
			result = lappend(result, condition);
	}
	return result;
}

Plan *
partition_scan_make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target_list, List *clauses,
						 List *children)
{
	const PartitionScanChoice *choice = linitial(path->custom_private);
	List	   *asked = lsecond(path->custom_private);
	const PartitionScanParts *parts = choice->parts;
	bool		is_ordered = path->path.pathkeys != NIL;
	CustomScan *scan = makeNode(CustomScan);
	List	   *conditions = extract_actual_clauses(clauses, false);
	List	   *with_values = NIL;
	ListCell   *cell;
	Index		first = add_entries(root, parts);

	(void) children;
	foreach(cell, conditions)
		if (!has_place_holder(lfirst(cell), NULL))
			with_values = lappend(with_values, lfirst(cell));
	if (path->path.param_info != NULL)
		with_values = (List *) with_outer_parameters((Node *) with_values, root);
	scan->scan.plan.targetlist = target_list;
	scan->scan.plan.qual = conditions;
	scan->scan.scanrelid = rel->relid;
	scan->flags = path->flags;
	scan->custom_exprs = copyObject(list_concat_copy(asked, find_equalities(conditions, asked)));
	scan->custom_private = list_make3(list_make5_int(rel->relid, first + list_length(parts->tables) - 1,
													 list_length(parts->leaves), list_length(asked),
													 is_ordered && choice->backward),
									  make_pruning(root, rel, parts, first, with_values),
									  is_ordered ? copyObject(choice->sort) : NULL);
	scan->methods = &partition_scan_methods;
	return (Plan *) scan;
}
