/*
 * partition_scan_estimate.c: what the planner has to know of a table that it does not expand, and how many of its
 * partitions a PartitionScan is expected to read.
 */
#include "chunks/partition_scan.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "chunks/chunk_scan.h"
#include "index/functions.h"

/* The most partitions that are asked about a value that is known, and the most whose sizes are looked up. */
#define PARTITIONS_ASKED 64
#define SIZES_LOOKED_UP 16

/* PostgreSQL assumes so many pages for a table that was never vacuumed. */
#define PAGES_OF_NEW_TABLE 10

/* Returns sample number i, from 0, of `samples` OIDs that are spread evenly over a list. */
static Oid
sample(List *oids, int i, int samples)
{
	return list_nth_oid(oids, (int) ((int64) list_length(oids) * i / samples));
}

/* -------------------------------------------------------------------------- size */

/* Returns the width of a column by the statistics of all partitions, or 0 if there are none. */
static int32
width_of_column(Oid parent, AttrNumber column)
{
	HeapTuple	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(parent), Int16GetDatum(column),
										BoolGetDatum(true));
	int32		width = 0;

	if (HeapTupleIsValid(tuple))
	{
		width = ((Form_pg_statistic) GETSTRUCT(tuple))->stawidth;
		ReleaseSysCache(tuple);
	}
	return width;
}

void
partition_scan_set_size(RelOptInfo *rel, Oid parent, const PartitionScanParts *parts)
{
	int			count = list_length(parts->leaves);
	int			samples = Min(count, SIZES_LOOKED_UP);
	double		rows = 0;
	double		pages = 0;

	for (int i = 0; i < samples; i++)
	{
		FormData_pg_class form;

		if (!bf_index_class_form(sample(parts->leaves, i, samples), &form))
			continue;
		rows += Max(form.reltuples, 0);
		pages += form.reltuples < 0 ? PAGES_OF_NEW_TABLE : form.relpages;
	}
	if (samples > 0)
	{
		rel->tuples = rows / samples * count;
		rel->pages = (BlockNumber) Min(pages / samples * count, (double) MaxBlockNumber);
	}
	for (AttrNumber column = 1; column <= rel->max_attr; column++)
		if (rel->attr_widths[column - rel->min_attr] == 0)
			rel->attr_widths[column - rel->min_attr] = width_of_column(parent, column);
}

/* ---------------------------------------------------------------------- partitions */

/* Asks some partitions about the value, and returns the share of them that would be read. */
static double
share_to_read(PlannerInfo *root, RelOptInfo *rel, const PartitionScanParts *parts, Expr *comparison, Const *value)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "PartitionScan estimate", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	int			samples = Min(list_length(parts->leaves), PARTITIONS_ASKED);
	Oid			oids[PARTITIONS_ASKED];
	ChunkScan	scan;
	ChunkVerdict verdict;
	Relation	chunk;
	int			read = 0;

	for (int i = 0; i < samples; i++)
		oids[i] = sample(parts->leaves, i, samples);
	comparison = copyObject(comparison);
	ChangeVarNodes((Node *) comparison, rel->relid, 1, 0);
	chunk_scan_begin_locked(&scan, table_open(planner_rt_fetch(rel->relid, root)->relid, NoLock), comparison, value,
							oids, samples);
	scan.index_clause.asker.explain_only = true;
	chunk_use_cache(&scan);
	while ((chunk = chunk_next(&scan, &verdict)) != NULL)
	{
		read += chunk_is_read(&verdict);
		chunk_leave(&scan, chunk, &verdict);
	}
	chunk_scan_end(&scan);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return samples > 0 ? (double) read / samples : 0;
}

/*
 * Returns how many rows are expected to have a value that is not known yet, or a negative number if there are no
 * statistics.
 */
static double
rows_of_value(PlannerInfo *root, RelOptInfo *rel, Expr *comparison)
{
	bool		any = IsA(comparison, ScalarArrayOpExpr);
	List	   *sides = any ? ((ScalarArrayOpExpr *) comparison)->args : ((OpExpr *) comparison)->args;
	Oid			operator = any ? ((ScalarArrayOpExpr *) comparison)->opno : ((OpExpr *) comparison)->opno;
	VariableStatData variable;
	double		distinct;
	bool		is_default;

	if (get_oprrest(operator) != F_EQSEL)
		return -1;
	examine_variable(root, linitial(sides), rel->relid, &variable);
	distinct = get_variable_numdistinct(&variable, &is_default);
	ReleaseVariableStats(variable);
	if (is_default || distinct < 1)
		return -1;
	return rel->tuples / distinct * (any ? Max(sb_estimate_array_length(root, lsecond(sides)), 1) : 1);
}

double
partition_scan_expected(PlannerInfo *root, RelOptInfo *rel, const PartitionScanParts *parts, Expr *comparison,
						bool *known)
{
	List	   *sides = IsA(comparison, OpExpr) ?
		((OpExpr *) comparison)->args : ((ScalarArrayOpExpr *) comparison)->args;
	Node	   *value = estimate_expression_value(root, lsecond(sides));
	double		count = list_length(parts->leaves);
	double		rows;

	*known = IsA(value, Const) && ActiveSnapshotSet();
	if (*known)
		return ((Const *) value)->constisnull ?
			0 : count * share_to_read(root, rel, parts, comparison, (Const *) value);
	rows = rows_of_value(root, rel, comparison);
	return Min(rows, count);
}
