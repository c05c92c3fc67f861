/*
 * cost.c: estimates what a scan of a bf index costs, and how much of the heap it leaves to be read.
 *
 * Let a value have the share s of all rows. If its rows are strewn over the table, they are in at most s * rows
 * ranges. If equal values lie together, they are in about the share s * d of the ranges, where d is the number of
 * distinct values in a range; the size of the filters tells d. The smaller of the two estimates is used.
 *
 * The planner computes the cost of the heap from the selectivity, as if the rows were strewn over its pages. Here whole
 * ranges are read, so the planner is given the selectivity that leads it to the right number of pages.
 */
#include "index/bf_index.h"

#include <math.h>

#include "access/relation.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

/* Comparing one item with the filters of one group takes as much time as this many operators. */
#define OPERATORS_PER_GROUP 10

/* What the planner uses of an index. */
typedef struct IndexFigures
{
	double		pages_per_range;
	double		groups;
	double		covered;		/* the number of ranges that the groups have together */
	double		false_positive_rate;
	double		distinct[INDEX_MAX_KEYS];	/* of each column: the items for which a range's filter was made */
} IndexFigures;

/*
 * Reads the figures of an index. If the index does not exist (an extension such as hypopg pretends that it does), they
 * are those that it would have.
 */
static void
get_figures(IndexOptInfo *info, IndexFigures *figures)
{
	Relation	index;
	const BfGeometry *geometry;

	if (info->hypothetical)
	{
		*figures = (IndexFigures) {
			.pages_per_range = BF_INDEX_DEFAULT_PAGES_PER_RANGE,
			.false_positive_rate = BF_INDEX_DEFAULT_FPR
		};
		figures->covered = ceil(info->rel->pages / figures->pages_per_range);
		figures->groups = ceil(figures->covered / BF_INDEX_MAX_RANGES);
		for (int column = 0; column < info->nkeycolumns; column++)
			figures->distinct[column] = info->rel->tuples / Max(figures->covered, 1);
		return;
	}
	/* the planner holds a lock on it */
	index = index_open(info->indexoid, NoLock);
	geometry = bf_index_geometry(index);
	if ((double) geometry->covered * geometry->pages_per_range < info->rel->pages)
		geometry = bf_index_current_geometry(index);
	*figures = (IndexFigures) {
		.pages_per_range = geometry->pages_per_range,
		.groups = geometry->groups,
		.covered = geometry->covered,
		.false_positive_rate = geometry->false_positive_rate
	};
	for (int column = 0; column < geometry->columns; column++)
	{
		double		lines = 0;

		for (uint32 group = 0; group < geometry->groups; group++)
			lines += (double) geometry->lines[group * geometry->columns + column] * geometry->group[group].ranges;
		figures->distinct[column] = geometry->covered > 0 ? lines / geometry->covered * geometry->load : 0;
	}
	index_close(index, NoLock);
}

/* Estimates the share of the ranges that have rows which satisfy a clause of this selectivity. */
static double
share_of_ranges(const IndexFigures *figures, int column, double selectivity, double rows, double ranges)
{
	double		strewn = 1 - pow(1 - 1 / ranges, selectivity * rows);
	double		together = selectivity * figures->distinct[column];

	/* At least one range: the planner cannot know that a value does not occur. */
	return Min(1, Max(Min(strewn, together), 1 / ranges));
}

void
bf_index_cost(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
			  Selectivity *selectivity, double *correlation, double *pages)
{
	IndexOptInfo *info = path->indexinfo;
	List	   *quals = get_quals_from_indexclauses(path->indexclauses);
	double		rows = Max(info->rel->tuples, 1);
	double		heap_pages = Max(info->rel->pages, 1);
	double		share = 1,
				items_searched = 0,
				uncovered,
				rechecked,
				wanted;
	double		qual_selectivity,
				ranges;
	double		random_page_cost;
	QualCost	qual_cost;
	IndexFigures figures;
	ListCell   *cell;

	get_figures(info, &figures);
	ranges = Max(ceil(heap_pages / figures.pages_per_range), 1);
	uncovered = Max(0, 1 - figures.covered * figures.pages_per_range / heap_pages);
	qual_selectivity = clauselist_selectivity(root, add_predicate_to_index_quals(info, quals), info->rel->relid,
											  JOIN_INNER, NULL);
	foreach(cell, path->indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, cell);
		double		items = 1;
		double		of_clause;
		Node	   *expression = (Node *) clause->rinfo->clause;

		if (IsA(expression, NullTest) && ((NullTest *) expression)->nulltesttype == IS_NOT_NULL)
			continue;
		if (IsA(expression, ScalarArrayOpExpr))
			items = Max(1, sb_estimate_array_length(root, lsecond(((ScalarArrayOpExpr *) expression)->args)));
		of_clause = clauselist_selectivity(root, list_make1(clause->rinfo), info->rel->relid, JOIN_INNER, NULL);
		/* Each item is also found in some ranges that do not have it. */
		of_clause = share_of_ranges(&figures, clause->indexcol, of_clause, rows, ranges) +
			items * figures.false_positive_rate;
		share = Min(share, of_clause);
		items_searched += items;
	}
	share = Min(1, uncovered + (1 - uncovered) * share);

	/*
	 * The scan reads share * heap_pages pages. The planner estimates that N rows on T pages are on 2TN / (2T + N) of
	 * them (Mackert and Lohman's formula). This is solved for N.
	 */
	wanted = Min(share * heap_pages, heap_pages);
	rechecked = share * rows;
	*selectivity = share >= 1 ? 1 : 2 * heap_pages * wanted / (2 * heap_pages - wanted) / rows;
	*selectivity = Min(1, Max(*selectivity, Min(qual_selectivity, share)));
	*correlation = 1;			/* bitmap scans do not use it */

	get_tablespace_page_costs(info->reltablespace, &random_page_cost, NULL);
	*pages = Min(figures.groups * Max(items_searched, 1), Max(info->pages, 1));
	cost_qual_eval(&qual_cost, quals, root);
	/*
	 * A page that a nested loop reads again and again stays in the cache. PostgreSQL reckons so for other indexes
	 * too.
	 */
	if (loop_count > 1)
		*total = index_pages_fetched(*pages * loop_count, info->pages, info->pages, root) * random_page_cost /
			loop_count;
	else
		*total = *pages * random_page_cost;
	*total += figures.groups * items_searched * OPERATORS_PER_GROUP * cpu_operator_cost;
	/*
	 * All rows on the pages are compared with the conditions again; the planner counts only those that it expects to
	 * match.
	 */
	*total += Max(0, rechecked - *selectivity * rows) * (cpu_tuple_cost + qual_cost.per_tuple);
	*total += wanted * cpu_operator_cost;
	*startup = qual_cost.startup;
	*total += *startup;
}
