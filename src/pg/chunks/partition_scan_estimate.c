/*
 * partition_scan_estimate.c: estimates the size of a table that the planner does not expand into its partitions, and
 * how many of these partitions a PartitionScan will read.
 */
#include "chunks/partition_scan.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_statistic.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "chunks/chunk_question.h"
#include "chunks/chunk_scan.h"
#include "index/attempt.h"
#include "index/functions.h"
#include "index/handler.h"
#include "index/scan.h"

/* The most partitions that are asked about a known value, and the most whose sizes or statistics are looked up. */
#define PARTITIONS_ASKED 64
#define SIZES_LOOKED_UP 16

/* PostgreSQL assumes at least this many pages for a table that was never vacuumed. */
#define PAGES_OF_NEW_TABLE 10

/* Returns sample number i, from 0, of `samples` OIDs that are spread evenly over a list. */
static Oid
sample(List *oids, int i, int samples)
{
	return list_nth_oid(oids, (int) ((int64) list_length(oids) * i / samples));
}

/* -------------------------------------------------------------------------- size */

/* Returns the width of a column by the statistics of all partitions together; 0 if there are no such statistics. */
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

/* What some partitions hold together. */
typedef struct PartitionsSize
{
	double		rows;
	double		pages;
	bool		known;			/* at least one partition was analyzed or vacuumed, or there is no partition */
} PartitionsSize;

static PartitionsSize size_of_partitions(List *partitions);

/*
 * Estimates the size of one partition, without a lock. A partitioned table that was never analyzed itself is taken to
 * be as large as its partitions together.
 */
static PartitionsSize
size_of_partition(Oid partition)
{
	FormData_pg_class form;
	PartitionsSize size = {.known = false};

	if (!bf_index_class_form(partition, &form))
		return size;
	if (form.reltuples < 0 && form.relkind == RELKIND_PARTITIONED_TABLE)
	{
		List	   *below = find_inheritance_children(partition, NoLock);

		check_stack_depth();
		size = size_of_partitions(below);
		list_free(below);
		return size;
	}
	size.rows = Max(form.reltuples, 0);
	size.pages = Max(form.relpages, 0);
	size.known = form.reltuples >= 0;
	return size;
}

/*
 * Estimates the size of some partitions together, from a sample of them. Partitions that are not in the sample, or
 * that were never analyzed or vacuumed, are taken to have the mean size of the others. The largest partition of the
 * sample does not count for this mean, since it may be larger than all others together. (If the size of only one
 * partition is known, all are taken to have this size. If none is known, each gets PAGES_OF_NEW_TABLE, and no rows.)
 */
static PartitionsSize
size_of_partitions(List *partitions)
{
	int			count = list_length(partitions);
	int			samples = Min(count, SIZES_LOOKED_UP);
	int			known = 0;
	PartitionsSize sum = {.known = count == 0};
	PartitionsSize largest = {0};

	for (int i = 0; i < samples; i++)
	{
		PartitionsSize size = size_of_partition(sample(partitions, i, samples));

		if (!size.known)
			continue;
		known++;
		sum.rows += size.rows;
		sum.pages += size.pages;
		if (size.rows > largest.rows)
			largest = size;
	}
	if (known == 0)
	{
		sum.pages = (double) count * PAGES_OF_NEW_TABLE;
		return sum;
	}
	if (known == 1)
		largest.rows = largest.pages = 0;
	else
	{
		count--;
		known--;
	}
	sum.rows = (sum.rows - largest.rows) / known * count + largest.rows;
	sum.pages = (sum.pages - largest.pages) / known * count + largest.pages;
	sum.known = true;
	return sum;
}

/* Returns the number of rows that the last ANALYZE of the parent has counted, or 0. */
static double
rows_by_analyze(Oid parent)
{
	FormData_pg_class form;

	return bf_index_class_form(parent, &form) ? Max(form.reltuples, 0) : 0;
}

void
partition_scan_set_size(PlannerInfo *root, RelOptInfo *rel, Oid parent, PartitionScanParts *parts)
{
	PartitionsSize left = size_of_partitions(parts->leaves);
	PartitionsSize ruled_out = size_of_partitions(parts->ruled_out);
	double		sum = left.rows + ruled_out.rows;
	double		share;

	/*
	 * The sample may have missed large partitions. ANALYZE has counted the rows of all partitions, but maybe long
	 * ago, and with partitions that are gone. The larger of the two numbers is taken, because an estimate that is too
	 * low does more harm than one that is too high.
	 */
	rel->tuples = sum;
	if (list_length(parts->leaves) > SIZES_LOOKED_UP || list_length(parts->ruled_out) > SIZES_LOOKED_UP)
		rel->tuples = Max(sum, rows_by_analyze(parent));
	if (left.known && ruled_out.known)
		share = sum > 0 ? left.rows / sum : 1;
	else
		share = list_length(parts->leaves) / (double) (list_length(parts->leaves) + list_length(parts->ruled_out));
	parts->tuples = rel->tuples * share;
	if (left.rows > 0)
		left.pages *= parts->tuples / left.rows;
	rel->pages = (BlockNumber) Min(left.pages, (double) MaxBlockNumber);
	for (AttrNumber column = 1; column <= rel->max_attr; column++)
		if (rel->attr_widths[column - rel->min_attr] == 0)
			rel->attr_widths[column - rel->min_attr] = width_of_column(parent, column);
	set_baserel_size_estimates(root, rel);
	rel->rows = clamp_row_est(Min(rel->rows, parts->tuples));
}

/* ---------------------------------------------------------------------- partitions */

/* A question to some partitions. */
typedef struct Sampling
{
	Oid			parent;
	const PartitionScanParts *parts;
	Expr	   *comparison;		/* its Vars have varno 1 */
	const Const *value;
	double		share;			/* the share of the partitions that would be read */
} Sampling;

static void
ask_sample(void *argument)
{
	Sampling   *sampling = argument;
	int			samples = Min(list_length(sampling->parts->leaves), PARTITIONS_ASKED);
	Oid			oids[PARTITIONS_ASKED];
	ChunkScan	scan;
	ChunkVerdict verdict;
	Relation	parent = table_open(sampling->parent, NoLock);
	Relation	chunk;
	int			read = 0;

	for (int i = 0; i < samples; i++)
		oids[i] = sample(sampling->parts->leaves, i, samples);
	chunk_scan_begin_locked(&scan, parent, sampling->comparison, sampling->value, oids, samples);
	scan.index_clause.asker.explain_only = true;
	chunk_use_cache(&scan);
	while ((chunk = chunk_next(&scan, &verdict)) != NULL)
	{
		read += chunk_is_read(&verdict);
		chunk_leave(&scan, chunk, &verdict);
	}
	chunk_scan_end(&scan);
	table_close(parent, NoLock);
	sampling->share = samples > 0 ? (double) read / samples : 0;
}

/*
 * Asks some partitions about the value, and returns the share of them that would be read. Returns a negative number if
 * they cannot be asked, for instance because an index is damaged.
 */
static double
share_to_read(PlannerInfo *root, RelOptInfo *rel, const PartitionScanParts *parts, Expr *comparison, Const *value)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "PartitionScan estimate", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Sampling	sampling = {planner_rt_fetch(rel->relid, root)->relid, parts, copyObject(comparison), value};

	ChangeVarNodes((Node *) sampling.comparison, rel->relid, 1, 0);
	if (!bf_index_try(ask_sample, &sampling))
		sampling.share = -1;
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return sampling.share;
}

/*
 * Returns how many different values a column has, by the statistics of all partitions together. Returns a negative
 * number if there are no statistics, or if the operator that compares the column is not estimated as an equality.
 */
static double
distinct_values(PlannerInfo *root, RelOptInfo *rel, Node *column, Oid operator)
{
	VariableStatData variable;
	double		distinct;
	bool		is_default;

	if (get_oprrest(operator) != F_EQSEL)
		return -1;
	examine_variable(root, column, rel->relid, &variable);
	distinct = get_variable_numdistinct(&variable, &is_default);
	ReleaseVariableStats(variable);
	return is_default || distinct < 1 ? -1 : distinct;
}

/* The share of the table's rows that is in the partitions which are left to read. */
static double
share_left(const RelOptInfo *rel, const PartitionScanParts *parts)
{
	return rel->tuples > 0 ? parts->tuples / rel->tuples : 1;
}

/*
 * Returns how many rows in the partitions that are left to read are expected to satisfy the comparison. The value need
 * not be known: it is taken to be as frequent as an average value. Returns a negative number if distinct_values() does.
 */
static double
rows_of_value(PlannerInfo *root, RelOptInfo *rel, const PartitionScanParts *parts, Expr *comparison)
{
	bool		any = IsA(comparison, ScalarArrayOpExpr);
	List	   *sides = any ? ((ScalarArrayOpExpr *) comparison)->args : ((OpExpr *) comparison)->args;
	Oid			operator = any ? ((ScalarArrayOpExpr *) comparison)->opno : ((OpExpr *) comparison)->opno;
	double		distinct = distinct_values(root, rel, linitial(sides), operator);

	if (distinct < 0)
		return -1;
	return rel->tuples * share_left(rel, parts) / distinct *
		(any ? Max(sb_estimate_array_length(root, lsecond(sides)), 1) : 1);
}

static bool
may_read_column(PlannerInfo *root, RelOptInfo *rel, Node *column)
{
	while (IsA(column, RelabelType))
		column = (Node *) ((RelabelType *) column)->arg;
	return partition_scan_may_read(root, planner_rt_fetch(rel->relid, root), castNode(Var, column)->varattno);
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

	/*
	 * Privileges are checked only when the plan is executed. Before that the user must not learn from the indexes what
	 * the column holds.
	 */
	*known = IsA(value, Const) && ActiveSnapshotSet() && may_read_column(root, rel, linitial(sides));
	if (*known && ((Const *) value)->constisnull)
		return 0;
	if (*known)
	{
		double		share = share_to_read(root, rel, parts, comparison, (Const *) value);

		if (share >= 0)
			return count * share;
	}
	rows = rows_of_value(root, rel, parts, comparison);
	return Min(rows, count);
}

/* ---------------------------------------------------------------- keys of a join */

/*
 * Returns how many different values a column has in one partition, by the partition's own statistics. Returns a
 * negative number if there are no statistics.
 */
static double
distinct_in_partition(Oid partition, const char *column)
{
	AttrNumber	number = get_attnum(partition, column);
	HeapTuple	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(partition), Int16GetDatum(number),
										BoolGetDatum(false));
	FormData_pg_class form;
	double		distinct;

	if (!HeapTupleIsValid(tuple))
		return -1;
	distinct = ((Form_pg_statistic) GETSTRUCT(tuple))->stadistinct;
	ReleaseSysCache(tuple);
	if (distinct < 0)
		distinct = bf_index_class_form(partition, &form) ? -distinct * Max(form.reltuples, 0) : -1;
	return distinct;
}

/*
 * Returns in how many partitions a value of the column occurs, on average; `distinct` is how many different values the
 * whole table has.
 *
 * If the different values of each partition are counted and added up, a value counts once for each partition that has
 * it. So the result is this sum, divided by `distinct`, but at least 1 and at most the number of partitions. The sum is
 * extrapolated from a sample of the partitions that are left. If no partition of the sample has statistics, the result
 * is the number of all partitions that are left.
 */
static double
partitions_of_value(const RangeTblEntry *rte, const PartitionScanParts *parts, AttrNumber column, double distinct)
{
	int			count = list_length(parts->leaves);
	int			samples = Min(count, SIZES_LOOKED_UP);
	const char *name = get_attname(rte->relid, column, false);
	double		sum = 0;
	int			known = 0;

	for (int i = 0; i < samples; i++)
	{
		double		values = distinct_in_partition(sample(parts->leaves, i, samples), name);

		if (values < 0)
			continue;
		sum += values;
		known++;
	}
	return known == 0 ? count : Min(Max(sum / known * count / distinct, 1), count);
}

/*
 * Sets *expected to what a search for `keys` keys in an index of this partition is expected to read, and to the share
 * of the index's ranges that say maybe in vain. Returns false if the partition has no index that can answer, or if the
 * index is damaged.
 */
static bool
expect_of_partition(const RangeTblEntry *rte, const RelOptInfo *rel, Oid oid, Expr *comparison, double keys,
					BfExpectation *expected)
{
	AttrNumber	column;
	Oid			index_oid = partition_scan_index_of(rte->relid, oid, rel->relid, comparison, &column);
	Relation	partition;
	Relation	index;
	bool		result = false;

	if (!OidIsValid(index_oid))
		return false;
	partition = table_open(oid, NoLock);
	index = chunk_open_index(partition, index_oid, bf_index_am_oid());
	if (index != NULL)
	{
		result = bf_index_expect(index, column, keys, expected);
		index_close(index, NoLock);
	}
	table_close(partition, NoLock);
	return result;
}

/*
 * Returns the probability that the index of a partition says maybe to one of `keys` keys although the partition has
 * none of them. The first index that is found in a sample of the partitions is taken as an example. If no index is
 * found, the result is 1.
 */
static double
share_in_vain(const RangeTblEntry *rte, const RelOptInfo *rel, const PartitionScanParts *parts, Expr *comparison,
			  double keys)
{
	int			count = list_length(parts->leaves);
	int			samples = Min(count, SIZES_LOOKED_UP);
	BfExpectation expected = {.in_vain = 0};
	bool		known = false;

	for (int i = 0; i < samples && !known; i++)
		known = expect_of_partition(rte, rel, sample(parts->leaves, i, samples), comparison, keys, &expected);
	if (!known)
		return 1;
	return 1 - pow(1 - Min(expected.in_vain, 1),
				   Max(rel->pages / (double) count / Max(expected.pages_per_range, 1), 1));
}

bool
partition_scan_expect_keys(PlannerInfo *root, RelOptInfo *rel, const PartitionScanParts *parts, Expr *comparison,
						   double keys, PartitionScanExpectation *expectation)
{
	const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	ScalarArrayOpExpr *any = castNode(ScalarArrayOpExpr, comparison);
	Node	   *column = linitial(any->args);
	double		distinct = distinct_values(root, rel, column, any->opno);
	double		count = list_length(parts->leaves);
	double		rows;
	double		partitions;

	if (distinct < 0)
		return false;
	while (IsA(column, RelabelType))
		column = (Node *) ((RelabelType *) column)->arg;
	rows = rel->tuples / distinct;
	partitions = Min(rows * share_left(rel, parts),
					 partitions_of_value(rte, parts, castNode(Var, column)->varattno, distinct));
	expectation->rows = clamp_row_est(Min(rows * keys, rel->tuples));
	/* as if the partitions of each key were chosen at random */
	expectation->read = count * (1 - pow(1 - 1 / count, partitions * keys));
	expectation->in_vain = (count - expectation->read) * share_in_vain(rte, rel, parts, comparison, keys);
	return true;
}
