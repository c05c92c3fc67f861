/*
 * partition_scan_parts.c: finds the partitions that a PartitionScan reads, prunes them as PostgreSQL would, and locks
 * them. Prunes them again when the query is executed. Also counts the partitions of a table.
 *
 * The partitions are those that PostgreSQL would put into the plan, since the planner's own partition descriptors and
 * its own pruning are used. They are locked as the planner would lock them, before the execution's snapshot is taken.
 * Only the order differs: first all partitioned tables, then the leaf partitions. This causes no new deadlocks: here,
 * too, each table is locked after the table whose partition it is.
 */
#include "chunks/partition_scan.h"

#include "access/attmap.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
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
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "chunks/chunk_question.h"
#include "chunks/chunk_summary.h"

/* A search for partitions. */
typedef struct Finding
{
	PlannerInfo *root;
	Index		relid;			/* the parent's number in the range table, and the varno of all Vars in clauses */
	PartitionScanParts *parts;
	Bitmapset  *prunable;		/* positions of the clauses that can prune once their values are known */
	PartitionScanValue value_of;	/* an argument of partition_scan_ruled_out(); NULL in partition_scan_find() */
	void	   *argument;		/* for value_of */
	const List *in_plan;		/* the partitioned tables that the plan has; only in partition_scan_ruled_out() */
	/*
	 * OIDs of the partitions that are pruned. In partition_scan_find() a partitioned table that is pruned stands for
	 * its partitions. In partition_scan_ruled_out() there are only leaf partitions.
	 */
	List	   *ruled_out;
	const char *why;			/* why the partitions cannot be found; NULL while nothing is in the way */
} Finding;

/* Like partition_scan_count(), for a partitioned table that is not locked. */
static int
count_below(Oid table, int enough)
{
	List	   *partitions = find_inheritance_children(table, NoLock);
	int			leaves = 0;
	ListCell   *cell;

	check_stack_depth();
	foreach(cell, partitions)
	{
		if (leaves >= enough)
			break;
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_PARTITIONED_TABLE)
			leaves += count_below(lfirst_oid(cell), enough - leaves);
		else
			leaves++;
	}
	list_free(partitions);
	return leaves;
}

int
partition_scan_count(Relation parent, int enough)
{
	PartitionDesc partitions = RelationGetPartitionDesc(parent, true);
	int			leaves = 0;

	for (int i = 0; i < partitions->nparts; i++)
		leaves += partitions->is_leaf[i];
	for (int i = 0; i < partitions->nparts && leaves < enough; i++)
		if (!partitions->is_leaf[i])
			leaves += count_below(partitions->oids[i], enough - leaves);
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

/*
 * Returns the clauses by which the table's partitions can be pruned, with their values. Clauses whose value is not
 * known yet are left out. If no value is known for a column of the partition key, or only NULL, PostgreSQL does not
 * evaluate the values for the later columns of the key. So the clauses on the later columns are left out, too.
 */
static List *
clauses_with_values(const Finding *finding, Relation table, const List *clauses)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, partition_scan_prunable(table, finding->relid, clauses))
	{
		bool		has_value = false;

		for (int i = -1; (i = bms_next_member(lfirst(cell), i)) >= 0;)
		{
			OpExpr	   *comparison = copyObject(list_nth_node(OpExpr, clauses, i));
			Const	   *value = finding->value_of(finding->argument, i);

			if (value == NULL)
				continue;
			lsecond(comparison->args) = value;
			result = lappend(result, comparison);
			has_value |= !value->constisnull;
		}
		if (!has_value)
			break;
	}
	return result;
}

/*
 * Returns the clauses (expressions) by which the table's partitions are pruned. In partition_scan_ruled_out() the
 * result is that of clauses_with_values(). In partition_scan_find() the result is the clauses that use the partition
 * key, without those that are volatile or have sub-plans; and finding->prunable gets the clauses that can prune once
 * their values are known.
 */
static List *
clauses_on_key(Finding *finding, Relation table, const List *clauses)
{
	List	   *result = NIL;
	ListCell   *cell;

	if (finding->value_of != NULL)
		return clauses_with_values(finding, table, clauses);
	foreach(cell, partition_scan_prunable(table, finding->relid, clauses))
		finding->prunable = bms_join(finding->prunable, lfirst(cell));
	foreach(cell, clauses)
	{
		Bitmapset  *columns = NULL;

		pull_varattnos(lfirst(cell), finding->relid, &columns);
		if (!has_partition_attrs(table, columns, NULL) || contain_volatile_functions(lfirst(cell)) ||
			contain_subplans(lfirst(cell)))
			continue;
		result = lappend(result, lfirst(cell));
	}
	return result;
}

/*
 * Returns the positions of the partitions that PostgreSQL's pruning leaves. prune_append_rel_partitions() takes a
 * RelOptInfo, so one is made for this purpose.
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

/* Turns clauses on the table `from` into clauses on the table `to`, in which a column may have another number. */
static List *
translate_clauses(List *clauses, Index relid, Relation from, Relation to)
{
	AttrMap    *map = sb_build_attrmap_by_name_if_req(RelationGetDescr(to), RelationGetDescr(from));
	bool		whole_row;

	if (map == NULL)
		return clauses;
	return (List *) map_variable_attnos((Node *) clauses, relid, 0, map, InvalidOid, &whole_row);
}

/*
 * Adds the partitions of a partitioned table, and the partitions below them, to finding->parts, or to
 * finding->ruled_out if they are pruned (Finding says which partitions stand there). If `is_ruled_out` is true, the
 * table itself is pruned, and so are all of its partitions. Sets finding->why if a partitioned table among the
 * partitions is gone. REQUIRES: the table is locked.
 */
static void
add_partitions(Finding *finding, Relation table, List *clauses, bool is_ruled_out)
{
	PartitionDesc partitions;
	List	   *on_key = enable_partition_pruning && !is_ruled_out ? clauses_on_key(finding, table, clauses) : NIL;
	Bitmapset  *live = NULL;

	check_stack_depth();
	if (finding->root->glob->partition_directory == NULL)
		finding->root->glob->partition_directory = CreatePartitionDirectory(CurrentMemoryContext, true);
	partitions = PartitionDirectoryLookup(finding->root->glob->partition_directory, table);
	if (on_key != NIL)
		live = prune(finding, table, on_key);
	for (int i = 0; i < partitions->nparts && finding->why == NULL; i++)
	{
		bool		rule_out = is_ruled_out || (on_key != NIL && !bms_is_member(i, live));
		Oid			oid = partitions->oids[i];
		Relation	partition;
		bool		is_searched = !partitions->is_leaf[i] && (!rule_out || finding->value_of != NULL);

		/*
		 * A partitioned table that was pruned when the plan was made, or was attached since then, is not locked. So it
		 * is passed over.
		 */
		if (is_searched && finding->value_of != NULL && !chunk_oids_contain(finding->in_plan, oid))
			continue;
		if (rule_out && !is_searched)
			finding->ruled_out = lappend_oid(finding->ruled_out, oid);
		else if (!is_searched)
			finding->parts->leaves = lappend_oid(finding->parts->leaves, oid);
		if (!is_searched)
			continue;
		partition = chunk_try_open(oid);
		if (partition == NULL)
		{
			finding->why = "partitions are being detached";
			return;
		}
		finding->parts->tables = lappend_oid(finding->parts->tables, oid);
		add_partitions(finding, partition, translate_clauses(clauses, finding->relid, table, partition), rule_out);
		relation_close(partition, NoLock);
	}
}

/*
 * Are the partitions of a partitioned table still those that were found? A partition was not locked when it was found,
 * so it could be detached CONCURRENTLY and dropped before it was locked.
 */
static bool
has_same_partitions(Finding *finding, Oid oid)
{
	Relation	table = table_open(oid, NoLock);
	PartitionDesc found = PartitionDirectoryLookup(finding->root->glob->partition_directory, table);
	PartitionDesc now = RelationGetPartitionDesc(table, true);
	bool		result = found->nparts == now->nparts &&
		memcmp(found->oids, now->oids, found->nparts * sizeof(Oid)) == 0;

	table_close(table, NoLock);
	return result;
}

/*
 * Notes the clauses that can prune partitions when the query is executed. Notes none of them if the values of all are
 * known already: the planner has pruned by these values.
 */
static void
note_pruning(const Finding *finding, const List *clauses)
{
	List	   *pruning = NIL;
	bool		is_unknown = false;

	for (int i = -1; (i = bms_next_member(finding->prunable, i)) >= 0;)
	{
		Node	   *clause = list_nth(clauses, i);

		pruning = lappend(pruning, partition_scan_value_on_right((Expr *) clause));
		is_unknown |= has_params(clause, NULL) || contain_mutable_functions(clause);
	}
	if (is_unknown)
		finding->parts->pruning = pruning;
}

const char *
partition_scan_find(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte, PartitionScanParts *parts)
{
	Finding		finding = {.root = root, .relid = rel->relid, .parts = parts};
	Relation	parent = table_open(rte->relid, NoLock);
	List	   *clauses = NIL;
	ListCell   *cell;

	foreach(cell, rel->baserestrictinfo)
		clauses = lappend(clauses, lfirst_node(RestrictInfo, cell)->clause);
	add_partitions(&finding, parent, clauses, false);
	table_close(parent, NoLock);
	if (finding.why != NULL)
		return finding.why;
	if (list_length(parts->leaves) == 0)
		return "no partition is left to read";
	if (list_length(parts->leaves) < partition_scan_fewest && partition_scan_use != PARTITION_SCAN_ALWAYS)
		return psprintf("%d partitions are left to read, fewer than streambloom.min_partition_scan_partitions",
						list_length(parts->leaves));
	foreach(cell, parts->leaves)
		LockRelationOid(lfirst_oid(cell), rte->rellockmode);
	if (!has_same_partitions(&finding, rte->relid))
		return "partitions are being detached or attached";
	foreach(cell, parts->tables)
		if (!has_same_partitions(&finding, lfirst_oid(cell)))
			return "partitions are being detached or attached";
	parts->ruled_out = finding.ruled_out;
	note_pruning(&finding, clauses);
	return NULL;
}

/* Makes the planner's data for one table, so that PostgreSQL's pruning can be called while a query is executed. */
static PlannerInfo *
make_planner(Oid table)
{
	PlannerInfo *root = makeNode(PlannerInfo);
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = RTE_RELATION;
	rte->relid = table;
	rte->relkind = RELKIND_PARTITIONED_TABLE;
	rte->rellockmode = AccessShareLock;
	rte->inh = true;
	root->parse = makeNode(Query);
	root->parse->rtable = list_make1(rte);
	root->glob = makeNode(PlannerGlobal);
	root->planner_cxt = CurrentMemoryContext;
	root->simple_rel_array_size = 2;
	root->simple_rel_array = palloc0(2 * sizeof(RelOptInfo *));
	root->simple_rte_array = palloc0(2 * sizeof(RangeTblEntry *));
	root->simple_rte_array[1] = rte;
	/* false: do not omit partitions that are being detached, because the plan may have them */
	root->glob->partition_directory = CreatePartitionDirectory(CurrentMemoryContext, false);
	return root;
}

List *
partition_scan_ruled_out(Relation parent, const List *tables, List *comparisons, PartitionScanValue value_of,
						 void *argument)
{
	PartitionScanParts parts = {NIL};
	Finding		finding = {.root = make_planner(RelationGetRelid(parent)), .relid = 1, .parts = &parts,
						   .value_of = value_of, .argument = argument, .in_plan = tables};

	add_partitions(&finding, parent, comparisons, false);
	DestroyPartitionDirectory(finding.root->glob->partition_directory);
	list_sort(finding.ruled_out, list_oid_cmp);
	return finding.ruled_out;
}
