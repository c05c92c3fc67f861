/*
 * partition_scan_parts.c: finds the partitions that a PartitionScan reads, prunes them as PostgreSQL would, and locks them.
 *
 * They are those that PostgreSQL would put into the plan: the planner's own partition descriptors are used, and its own
 * pruning. They are locked in the planner's order before the execution's snapshot is taken, as the planner would lock them.
 */
#include "chunks/partition_scan.h"

#include "access/attmap.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/partition.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/plancat.h"
#include "partitioning/partdesc.h"
#include "partitioning/partprune.h"
#include "rewrite/rewriteManip.h"
#include "storage/lmgr.h"
#include "utils/rel.h"

#include "chunks/chunk_question.h"

/* A search for partitions. */
typedef struct Finding
{
	PlannerInfo *root;
	Index		relid;			/* the number of the parent in the range table, and so of all Vars in clauses */
	LOCKMODE	lock;
	PartitionScanParts *parts;
	const char *why;			/* why the partitions cannot be found; NULL while nothing is in the way */
} Finding;

int
partition_scan_count(Relation parent)
{
	PartitionDesc partitions = RelationGetPartitionDesc(parent, true);
	int			count = partitions->nparts;
	Oid		   *oids = memcpy(palloc(count * sizeof(Oid) + 1), partitions->oids, count * sizeof(Oid));
	bool	   *is_leaf = memcpy(palloc(count * sizeof(bool) + 1), partitions->is_leaf, count * sizeof(bool));
	int			leaves = 0;

	check_stack_depth();
	for (int i = 0; i < count; i++)
	{
		Relation	partition;

		if (is_leaf[i])
		{
			leaves++;
			continue;
		}
		partition = chunk_try_open(oids[i]);
		if (partition == NULL)
			continue;
		leaves += partition_scan_count(partition);
		relation_close(partition, NoLock);
	}
	pfree(oids);
	pfree(is_leaf);
	return leaves;
}

/* ---------------------------------------------------------------------- pruning */

static bool
has_params(Node *node, void *nothing)
{
	if (node == NULL)
		return false;
	return IsA(node, Param) || expression_tree_walker(node, has_params, nothing);
}

/* Those of the clauses (expressions) in which a part of the table's partition key stands. */
static List *
clauses_on_key(Relation table, Index relid, List *clauses)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, clauses)
	{
		Bitmapset  *columns = NULL;

		pull_varattnos(lfirst(cell), relid, &columns);
		if (has_partition_attrs(table, columns, NULL))
			result = lappend(result, lfirst(cell));
	}
	return result;
}

/*
 * The partitions of the table that PostgreSQL's pruning leaves. It wants a relation of the planner, so one is made for this
 * purpose.
 */
static Bitmapset *
prune(Finding *finding, Relation table, List *clauses)
{
	PlannerInfo *root = finding->root;
	RelOptInfo *rel = makeNode(RelOptInfo);
	List	   *foreign_keys = root->fkey_list;

	rel->reloptkind = RELOPT_BASEREL;
	rel->rtekind = RTE_RELATION;
	rel->relid = finding->relid;
	rel->relids = bms_make_singleton(finding->relid);
	root->fkey_list = NIL;
	get_relation_info(root, RelationGetRelid(table), true, rel);
	root->fkey_list = foreign_keys;
	rel->baserestrictinfo = clauses;
	return prune_append_rel_partitions(rel);
}

/* ---------------------------------------------------------------------- finding */

/* The clauses, which have the numbers of one table's columns, with those of another table's. */
static List *
translate_clauses(List *clauses, Index relid, Relation from, Relation to)
{
	AttrMap    *map = sb_build_attrmap_by_name_if_req(RelationGetDescr(to), RelationGetDescr(from));
	bool		whole_row;

	if (map == NULL)
		return clauses;
	return (List *) map_variable_attnos((Node *) clauses, relid, 0, map, InvalidOid, &whole_row);
}

/* Adds the partitions of a partitioned table, which is open and locked. */
static void
add_partitions(Finding *finding, Relation table, List *clauses)
{
	PartitionDesc partitions;
	List	   *on_key = enable_partition_pruning ? clauses_on_key(table, finding->relid, clauses) : NIL;
	Bitmapset  *live = NULL;
	int			i = -1;

	check_stack_depth();
	if (finding->root->glob->partition_directory == NULL)
		finding->root->glob->partition_directory = CreatePartitionDirectory(CurrentMemoryContext, true);
	partitions = PartitionDirectoryLookup(finding->root->glob->partition_directory, table);
	if (has_params((Node *) on_key, NULL) || contain_mutable_functions((Node *) on_key))
	{
		finding->why = "partitions may be pruned when the query is executed";
		return;
	}
	if (on_key != NIL)
		live = prune(finding, table, on_key);
	else if (partitions->nparts > 0)
		live = bms_add_range(NULL, 0, partitions->nparts - 1);
	while (finding->why == NULL && (i = bms_next_member(live, i)) >= 0)
	{
		Oid			oid = partitions->oids[i];
		Relation	partition;

		if (partitions->is_leaf[i])
		{
			finding->parts->leaves = lappend_oid(finding->parts->leaves, oid);
			continue;
		}
		partition = chunk_try_open(oid);
		if (partition == NULL)
		{
			finding->why = "partitions are being detached";
			return;
		}
		finding->parts->tables = lappend_oid(finding->parts->tables, oid);
		add_partitions(finding, partition, translate_clauses(clauses, finding->relid, table, partition));
		relation_close(partition, NoLock);
	}
}

/*
 * Are the partitions of the table still those that were found? They were not locked yet then, and one that was being
 * detached could be dropped.
 */
static bool
has_same_partitions(Finding *finding, Oid oid)
{
	Relation	table = table_open(oid, NoLock);
	PartitionDesc found = PartitionDirectoryLookup(finding->root->glob->partition_directory, table);
	PartitionDesc now = RelationGetPartitionDesc(table, true);
	bool		result = found->nparts == now->nparts && memcmp(found->oids, now->oids, found->nparts * sizeof(Oid)) == 0;

	table_close(table, NoLock);
	return result;
}

const char *
partition_scan_find(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte, PartitionScanParts *parts)
{
	Finding		finding = {.root = root, .relid = rel->relid, .lock = rte->rellockmode, .parts = parts};
	Relation	parent = table_open(rte->relid, NoLock);
	List	   *clauses = NIL;
	ListCell   *cell;

	foreach(cell, rel->baserestrictinfo)
		clauses = lappend(clauses, lfirst_node(RestrictInfo, cell)->clause);
	add_partitions(&finding, parent, clauses);
	table_close(parent, NoLock);
	if (finding.why != NULL)
		return finding.why;
	if (list_length(parts->leaves) < partition_scan_fewest)
		return psprintf("%d partitions are left to read, fewer than streambloom.min_partition_scan_partitions",
						list_length(parts->leaves));
	foreach(cell, parts->leaves)
		LockRelationOid(lfirst_oid(cell), finding.lock);
	if (!has_same_partitions(&finding, rte->relid))
		return "partitions are being detached or attached";
	foreach(cell, parts->tables)
		if (!has_same_partitions(&finding, lfirst_oid(cell)))
			return "partitions are being detached or attached";
	return NULL;
}
