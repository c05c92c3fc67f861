/*
 * partition_scan_plan.c: makes the plan of the node PartitionScan.
 *
 * The partitions get entries in the range table of their query, so a plan that is kept has them locked and becomes
 * invalid with them. Run-time pruning is PostgreSQL's own. It wants an Append's children, so we show it one for each
 * leaf partition, in a copy of the planner's data.
 */
#include "chunks/partition_scan.h"

#include "access/table.h"
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
#include "rewrite/rewriteManip.h"
#include "utils/rel.h"

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
with_outer_parameters(Node *node, PlannerInfo *root)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && bms_is_member(((Var *) node)->varno, root->curOuterRels))
		return (Node *) replace_nestloop_param_var(root, (Var *) node);
	return expression_tree_mutator(node, with_outer_parameters, root);
}

/*
 * Enters a member of the table `above` into a copy of the planner's data, under the number that it has in the range
 * table.
 */
static void
add_member(PlannerInfo *root, RelOptInfo *rel, Index number, Index above, AppendRelInfo *columns)
{
	rel->reloptkind = RELOPT_OTHER_MEMBER_REL;
	rel->relid = number;
	rel->relids = bms_make_singleton(number);
#if PG_VERSION_NUM >= 160000
	rel->parent = root->simple_rel_array[above];
#endif
	columns->parent_relid = above;
	columns->child_relid = number;
	root->simple_rel_array[number] = rel;
	root->append_rel_array[number] = columns;
	root->simple_rte_array[number] = rt_fetch(number, root->parse->rtable);
}

/* How the columns of a partitioned table correspond to those of the table above it. */
static AppendRelInfo *
columns_of(const PartitionScanTable *table, Index number, const PartitionScanTable *above, Index above_number)
{
	Relation	parent = table_open(above->oid, NoLock);
	Relation	child = table_open(table->oid, NoLock);
	AppendRelInfo *result = make_append_rel_info(parent, child, above_number, number);

	table_close(child, NoLock);
	table_close(parent, NoLock);
	return result;
}

/*
 * Returns a PartitionPruneInfo, or NULL. The entries for `parts` in the range table begin at `first`. PostgreSQL finds
 * the steps of pruning for each partitioned table by one fake leaf partition. Then the other leaf partitions are
 * entered.
 */
static Node *
make_pruning(PlannerInfo *root, RelOptInfo *parent, const PartitionScanParts *parts, Index first, List *conditions)
{
	PlannerInfo *copy = makeNode(PlannerInfo);
	int			count = list_length(root->parse->rtable) + 1;
	int			known = Min(count, root->simple_rel_array_size);
	/* the parent has an entry of its own, so the tables below it begin at tables[1] */
	Index		first_leaf = first + list_length(parts->tables) - 1;
	List	   *children = NIL;
	Node	   *result;
	ListCell   *cell;

	if (!enable_partition_pruning)
		return NULL;
	memcpy(copy, root, sizeof(PlannerInfo));
#if PG_VERSION_NUM >= 180000
	copy->partPruneInfos = NIL;
#endif
	copy->simple_rel_array_size = count;
	copy->simple_rel_array = palloc0(count * sizeof(RelOptInfo *));
	copy->simple_rte_array = palloc0(count * sizeof(RangeTblEntry *));
	copy->append_rel_array = palloc0(count * sizeof(AppendRelInfo *));
	memcpy(copy->simple_rel_array, root->simple_rel_array, known * sizeof(RelOptInfo *));
	memcpy(copy->simple_rte_array, root->simple_rte_array, known * sizeof(RangeTblEntry *));
	foreach(cell, parts->tables)
	{
		const PartitionScanTable *table = lfirst(cell);
		int			at = foreach_current_index(cell);
		Index		number = at == 0 ? parent->relid : first + at - 1;
		RelOptInfo *rel = makeNode(RelOptInfo);
		Path	   *leaf = NULL;

		memcpy(rel, table->rel, sizeof(RelOptInfo));
		rel->pathlist = NIL;
		rel->live_parts = table->live;
		rel->part_rels = palloc0(rel->nparts * sizeof(RelOptInfo *));
		if (at == 0)
			copy->simple_rel_array[number] = rel;
		else
		{
			const PartitionScanTable *above = list_nth(parts->tables, table->above);
			Index		above_number = table->above == 0 ? parent->relid : first + table->above - 1;
			RelOptInfo *rel_above = copy->simple_rel_array[above_number];

			for (int i = 0; i < rel_above->nparts; i++)
				if (bms_is_member(i, above->live) && above->places[i] == -1 - at)
					rel_above->part_rels[i] = rel;
			add_member(copy, rel, number, above_number, columns_of(table, number, above, above_number));
			rel->partexprs = memcpy(palloc(rel->part_scheme->partnatts * sizeof(List *)), rel->partexprs,
									rel->part_scheme->partnatts * sizeof(List *));
			for (int i = 0; i < rel->part_scheme->partnatts; i++)
			{
				rel->partexprs[i] = copyObject(rel->partexprs[i]);
				ChangeVarNodes((Node *) rel->partexprs[i], (int) parent->relid, (int) number, 0);
			}
		}
		for (int i = -1; (i = bms_next_member(table->live, i)) >= 0;)
			if (table->places[i] >= 0)
			{
				if (leaf == NULL)
				{
					leaf = makeNode(Path);
					leaf->parent = makeNode(RelOptInfo);
					children = lappend(children, leaf);
					add_member(copy, leaf->parent, first_leaf + table->places[i], number, makeNode(AppendRelInfo));
				}
				rel->part_rels[i] = leaf->parent;
			}
	}
	result = sb_make_partition_pruneinfo(copy, copy->simple_rel_array[parent->relid], children, conditions);
	if (result == NULL)
		return NULL;
	foreach(cell, linitial(((PartitionPruneInfo *) result)->prune_infos))
	{
		PartitionedRelPruneInfo *info = lfirst(cell);
		const PartitionScanTable *table = list_nth(parts->tables,
												   info->rtindex == parent->relid ? 0 : info->rtindex - first + 1);

		for (int i = -1; (i = bms_next_member(table->live, i)) >= 0;)
			if (table->places[i] >= 0)
			{
				info->subplan_map[i] = table->places[i];
				info->relid_map[i] = table->partitions->oids[i];
#if PG_VERSION_NUM >= 180000
				info->leafpart_rti_map[i] = (int) first_leaf + table->places[i];
#endif
			}
	}
	return result;
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
			(chunk_is_plain_value(linitial(condition->args), NULL) || chunk_is_plain_value(lsecond(condition->args), NULL)))
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
