/*
 * partition_scan_parts.c: finds the partitions that a PartitionScan may read, prunes them as PostgreSQL would, locks
 * them, and estimates their size.
 *
 * The partitions are those that PostgreSQL would put into the plan: they come from the planner's partition directory
 * and PostgreSQL's own pruning. Like PostgreSQL we lock them while planning. A partition may be detached and dropped
 * before it is locked, so afterwards the partition descriptors are compared with those of now.
 */
#include "chunks/partition_scan.h"

#include "access/attmap.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_statistic.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/plancat.h"
#include "optimizer/restrictinfo.h"
#include "partitioning/partdesc.h"
#include "partitioning/partprune.h"
#include "rewrite/rewriteManip.h"
#include "storage/lmgr.h"
#include "utils/inval.h"
#include "utils/rel.h"

#include "index/functions.h"

/* The clauses on the table `from`, as clauses on `to`, in which columns may have other numbers. */
static List *
translate(List *clauses, Index relid, Relation from, Relation to)
{
	AttrMap    *map = sb_build_attrmap_by_name_if_req(RelationGetDescr(to), RelationGetDescr(from));
	bool		whole_row;

	if (map == NULL)
		return clauses;
	return (List *) map_variable_attnos((Node *) clauses, relid, 0, map, InvalidOid, &whole_row);
}

List *
partition_scan_translate(const PartitionScanParts *parts, List *clauses, int at)
{
	const PartitionScanTable *parent = linitial(parts->tables);
	Relation	from = table_open(parent->oid, NoLock);
	Relation	to = table_open(((PartitionScanTable *) list_nth(parts->tables, at))->oid, NoLock);
	List	   *result = translate(clauses, parent->rel->relid, from, to);

	table_close(to, NoLock);
	table_close(from, NoLock);
	return result;
}

/* The relation of a partitioned table below the parent. It exists only for pruning; its clauses are expressions. */
static RelOptInfo *
relation_below(PlannerInfo *root, const RelOptInfo *parent, Oid table, List *clauses)
{
	RelOptInfo *rel = makeNode(RelOptInfo);
	List	   *foreign_keys = root->fkey_list;

	rel->reloptkind = RELOPT_OTHER_MEMBER_REL;
	rel->rtekind = RTE_RELATION;
	rel->relid = parent->relid;
	rel->relids = parent->relids;
	get_relation_info(root, table, true, rel);
	root->fkey_list = foreign_keys;
	rel->baserestrictinfo = clauses;
	return rel;
}

/*
 * Adds a partitioned table, which is locked, and the partitions below it that its clauses leave. Locks these. Returns
 * false if one of them is gone.
 */
static bool
add_table(PlannerInfo *root, PartitionScanParts *parts, RelOptInfo *rel, Relation table, List *clauses,
		  LOCKMODE mode)
{
	PartitionScanTable *entry = palloc0(sizeof(PartitionScanTable));

	check_stack_depth();
	entry->oid = RelationGetRelid(table);
	entry->rel = rel;
	entry->partitions = PartitionDirectoryLookup(root->glob->partition_directory, table);
	entry->live = prune_append_rel_partitions(rel);
	entry->places = palloc0(entry->partitions->nparts * sizeof(int));
	parts->tables = lappend(parts->tables, entry);
	for (int i = -1; (i = bms_next_member(entry->live, i)) >= 0;)
	{
		Oid			oid = entry->partitions->oids[i];
		Relation	below;
		List	   *its_clauses;
		bool		exists;

		LockRelationOid(oid, mode);
		if (entry->partitions->is_leaf[i])
		{
			entry->places[i] = list_length(parts->leaves);
			parts->leaves = lappend_oid(parts->leaves, oid);
			continue;
		}
		entry->places[i] = -1 - list_length(parts->tables);
		below = try_relation_open(oid, NoLock);
		if (below == NULL)
			return false;
		its_clauses = translate(clauses, rel->relid, table, below);
		exists = add_table(root, parts, relation_below(root, rel, oid, its_clauses), below, its_clauses, mode);
		relation_close(below, NoLock);
		if (!exists)
			return false;
	}
	return true;
}

/* Are the partitions of this table still those that were found? */
static bool
is_unchanged(const PartitionScanTable *entry)
{
	Relation	table = table_open(entry->oid, NoLock);
	PartitionDesc now = RelationGetPartitionDesc(table, true);
	bool		result = now == entry->partitions ||
		(now->nparts == entry->partitions->nparts &&
		 (now->nparts == 0 || memcmp(now->oids, entry->partitions->oids, now->nparts * sizeof(Oid)) == 0));

	table_close(table, NoLock);
	return result;
}

/* --------------------------------------------------------------------------------- size */

/*
 * Sets parts->tuples and parts->pages. Partitions that were never analyzed count as large as the others. Returns false
 * if there is a foreign table, which only its own scan can read.
 */
static bool
measure(PartitionScanParts *parts)
{
	int			count = list_length(parts->leaves);
	int			known = 0;
	ListCell   *cell;

	foreach(cell, parts->leaves)
	{
		FormData_pg_class form;

		if (!bf_index_class_form(lfirst_oid(cell), &form) || form.relkind != RELKIND_RELATION)
			return false;
		if (form.reltuples < 0)
			continue;
		parts->tuples += form.reltuples;
		parts->pages += form.relpages;
		known++;
	}
	if (known == 0)
	{
		parts->tuples = 1000;
		parts->pages = 10;		/* as PostgreSQL expects */
		known = 1;
	}
	parts->tuples *= count / (double) known;
	parts->pages = Max(parts->pages * count / known, 1);
	return true;
}

PartitionScanParts *
partition_scan_find(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte)
{
	PartitionScanParts *parts = palloc0(sizeof(PartitionScanParts));
	Relation	parent = table_open(rte->relid, NoLock);
	bool		exists;
	ListCell   *cell;

	/*
	 * A session has few places for locks of its own (lock.c: fast path, 16 up to PostgreSQL 17), which the partitions
	 * would fill. One is kept for the indexes that the node locks one after the other: of 1,000 partitions without a
	 * value 16 sessions answer half as many queries more.
	 */
	LockRelationOid(InheritsRelationId, AccessShareLock);
	exists = add_table(root, parts, rel, parent, extract_actual_clauses(rel->baserestrictinfo, false),
					   rte->rellockmode);
	UnlockRelationOid(InheritsRelationId, AccessShareLock);
	table_close(parent, NoLock);
	if (!exists)
		return NULL;
	AcceptInvalidationMessages();
	foreach(cell, parts->tables)
		if (!is_unchanged(lfirst(cell)))
			return NULL;
	return measure(parts) ? parts : NULL;
}

void
partition_scan_set_size(PlannerInfo *root, RelOptInfo *rel, Oid parent, PartitionScanParts *parts)
{
	FormData_pg_class form;
	/* by the last ANALYZE of all partitions; negative: there was none */
	double		counted = bf_index_class_form(parent, &form) ? form.reltuples : -1;

	/* The statistics are those of all partitions, so the conditions' selectivities are of all rows. */
	rel->tuples = Max(counted, 1);
	if (parts != NULL)
	{
		parts->is_analyzed = counted >= 0;
		rel->tuples = Max(rel->tuples, parts->tuples);
		rel->pages = parts->pages;
	}
	set_baserel_size_estimates(root, rel);
	if (parts != NULL)
		rel->rows = Min(rel->rows, clamp_row_est(parts->tuples));
}
