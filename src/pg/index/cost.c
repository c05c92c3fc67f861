/*
 * cost.c: estimates what a scan of a bf index costs, and how much of the heap it leaves to be read.
 *
 * An index has up to four levels. Each cuts the heap into *ranges* of consecutive pages, which have filters. A range of
 * a level has many times as many pages as one of the level below. A search goes from the highest level down. sizes.c
 * says how many pages of the index it reads.
 *
 * Let a value have the share s of all rows. If its rows are strewn over the table, they are in at most s * rows
 * ranges. If equal values lie together, they are in about the share s * d of the ranges. Here d is the number of
 * distinct values in a range, which the size of the filters tells. And if the values stand in the table in about
 * their order, the rows of one value are in about the share s / c of the ranges. Here c is how far the values are in
 * order, from 0 to 1, which follows from the statistics (correlation_of() in clause.c). For NULLs c is not known. The
 * smallest of the three estimates is used.
 *
 * If items are keys inside values (words of a text, elements of an array), and the key is not known when the query is
 * planned, statistics do not help. Each of the column's keys is taken to be equally likely. If a range has n of the
 * column's N different keys, a key is in n / N of the ranges in the mean. The sizes of the filters tell n. N follows
 * from the filters of the highest two levels or, if there is only one level, from one page of the index.
 *
 * If the values are known when the query is planned, estimate.c asks the index, unless it must not. All this is for
 * the other conditions, and for the parts of the index that estimate.c does not look at.
 *
 * The planner computes the cost of the heap from the selectivity, as if the rows were strewn over its pages. Here
 * whole ranges are read, so the planner is given the selectivity that leads it to the right number of pages.
 */
#include "base/compat.h"

#include <math.h>

#include "access/genam.h"
#include "miscadmin.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

#include "index/clause.h"
#include "index/estimate.h"
#include "index/figures.h"
#include "index/handler.h"
#include "index/sizes.h"

/*
 * A look-up of one item in one group, that is, in the filters of up to 125 ranges, takes as much time as calling this
 * many operators.
 */
#define OPERATORS_PER_GROUP 10

/*
 * The number of keys that a row is taken to have, if items are keys inside values. The true number is not known; a
 * line of a log has some ten to twenty words. With k keys in each row a range has k times as many items as rows, so
 * the estimate for equal values that lie together is divided by k.
 */
#define KEYS_OF_A_ROW 8

/* Estimates the share of a level's ranges that have rows which satisfy a clause. */
static double
share_of_ranges(const BfLevelFigures *figures, const BfClause *clause, double rows, double ranges)
{
	double		strewn = 1 - pow(1 - 1 / ranges, clause->selectivity * rows);
	double		together = clause->selectivity * figures->distinct[clause->column] /
			(clause->by_keys ? KEYS_OF_A_ROW : 1);

	if (clause->correlation > 0)
		together = Min(together, clause->selectivity / clause->correlation + clause->items / ranges);
	if (clause->keys_of_heap > 0)
		together = Min(together, Max(clause->items - clause->required, 1) *
					   figures->distinct[clause->column] / clause->keys_of_heap);
	/* At least one range: the planner cannot know that a value does not occur. */
	return Min(1, Max(Min(strewn, together), 1 / ranges));
}

/* The share of a level's ranges that say "maybe" to a clause although they have no row that satisfies it. */
static double
share_in_vain(const BfClause *clause, int level)
{
	return clause->in_vain[level == 0 ? 0 : 1];
}

/* What a search finds on a level. Only the condition that leaves the fewest ranges of this level counts. */
static BfLevelToSearch
level_to_search(const BfIndexFigures *figures, int number, const BfClause *clauses, int count, double rows,
				double heap_pages)
{
	const BfLevelFigures *level = &figures->level[number];
	double		ranges = Max(ceil(heap_pages / level->pages_per_range), 1);
	BfLevelToSearch to_search = {
		.length = level->pages_per_range,
		.ranges = Min(level->covered, ranges),
		.groups = level->groups,
		.holding = ranges,
		.rate = 1
	};
	double		least = 1;

	for (int i = 0; i < count; i++)
	{
		const BfClause *clause = &clauses[i];
		double		holding = share_of_ranges(level, clause, rows, ranges);
		double		rate = share_in_vain(clause, number);

		if (holding + (1 - holding) * rate < least)
		{
			least = holding + (1 - holding) * rate;
			to_search.holding = holding * ranges;
			to_search.rate = rate;
		}
	}
	return to_search;
}

/* The share of a level's ranges that a search would leave if it looked at all of them. */
static double
share_left(const BfLevelToSearch *level, double heap_pages)
{
	const double holding = Min(1, level->holding / Max(ceil(heap_pages / level->length), 1));

	return holding + (1 - holding) * level->rate;
}

/* What a search is expected to do. */
typedef struct Expected
{
	double		share;			/* share of the heap's pages that the search leaves */
	double		lookups;		/* how often an item is looked up in a group */
	double		pages;			/* pages of the index that the search reads */
} Expected;

/* Sets *expected from the answer of the index, or from the mean of what the indexes of other partitions answered. */
static void
expect_estimate(const IndexOptInfo *info, const BfEstimate *estimate, Expected *expected)
{
	expected->share = estimate->share;
	expected->lookups = estimate->index_pages;
	expected->pages = Min(Max(estimate->index_pages, 1), Max(info->pages, 1));
}

/* Sets *expected for a search: from the figures of the index, from statistics, and by asking the index. */
static void
expect(PlannerInfo *root, IndexOptInfo *info, const List *conditions, double rows, double heap_pages,
	   Expected *expected)
{
	BfClause   *clauses = palloc(Max(list_length(conditions), 1) * sizeof(BfClause));
	List	   *useful = NIL;	/* the conditions that are in clauses[] */
	int			count = 0;		/* how many conditions these are */
	int			asked;			/* how many of these conditions the index was asked about */
	BfLevelToSearch levels[BF_INDEX_MAX_LEVELS];
	double		priors[BF_INDEX_MAX_LEVELS];
	BfEstimate	estimate;
	double		items_searched = 0;
	BfIndexFigures figures;
	Relation	opened = info->hypothetical ? NULL : index_open(info->indexoid, NoLock); /* the planner holds a lock */
	Relation	index;			/* NULL if it cannot be asked */
	ListCell   *cell;

	index = bf_index_get_figures(info, opened, &figures) ? opened : NULL;
	foreach(cell, conditions)
	{
		IndexClause *clause = lfirst_node(IndexClause, cell);

		if (!bf_index_get_clause(root, info, index, &figures, clause, &clauses[count]))
			continue;
		items_searched += clauses[count++].items;
		useful = lappend(useful, clause);
	}
	/*
	 * priors[] is the share of the heap that each level is expected to leave before the index is asked. It is set for
	 * all levels that any index may have: other partitions may be asked in the place of this one, and their indexes
	 * may have more levels.
	 */
	for (int level = 0; level < BF_INDEX_MAX_LEVELS; level++)
	{
		if (level < figures.levels)
			levels[level] = level_to_search(&figures, level, clauses, count, rows, heap_pages);
		priors[level] = level < figures.levels ? share_left(&levels[level], heap_pages) : priors[level - 1];
	}
	asked = bf_index_estimate(root, info, index, useful, priors, &estimate);
	if (asked > 0 && asked == count)
		expect_estimate(info, &estimate, expected);
	else
	{
		const BfPagesRead read = bf_index_pages_of_look_up(levels, figures.levels, heap_pages);

		expected->share = Min(1, read.heap / heap_pages);
		if (asked > 0)
			expected->share = Min(expected->share, estimate.share);
		expected->lookups = read.index * items_searched;
		expected->pages = Min(read.index * Max(items_searched, 1), Max(info->pages, 1));
	}
	if (opened != NULL)
		index_close(opened, NoLock);
	list_free(useful);
	pfree(clauses);
}

/*
 * What PostgreSQL's cost_bitmap_heap_scan() reckons for reading `pages` of a table's `heap_pages` pages: `seq` for
 * each page if all are read, and nearly `random` if few are.
 */
static double
cost_of_pages(double pages, double heap_pages, double random, double seq)
{
	return pages * (random - (random - seq) * sqrt(pages / heap_pages));
}

void
bf_index_cost(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
			  Selectivity *selectivity, double *correlation, double *pages)
{
	IndexOptInfo *info = path->indexinfo;
	List	   *quals = get_quals_from_indexclauses(path->indexclauses);
	BfEstimate	estimate;
	Expected	expected;
	double		rows = Max(info->rel->tuples, 1);
	double		heap_pages = Max(info->rel->pages, 1);
	double		rechecked,
				wanted,
				rows_counted,
				pages_counted;
	double		random_page_cost;
	double		heap_random,	/* the cost of a page of the heap that is read alone */
				heap_seq;		/* the cost of a page if all are read in their order */
	QualCost	qual_cost;

	CHECK_FOR_INTERRUPTS();		/* there may be thousands of partitions */
	if (bf_index_estimate_like_others(root, info, path->indexclauses, &estimate))
		expect_estimate(info, &estimate, &expected);
	else
		expect(root, info, path->indexclauses, rows, heap_pages, &expected);
	*pages = expected.pages;

	/*
	 * The scan reads share * heap_pages pages. The planner estimates that N rows on T pages are on 2TN / (2T + N) of
	 * them (Mackert and Lohman's formula). This is solved for N.
	 */
	wanted = Min(expected.share * heap_pages, heap_pages);
	rechecked = expected.share * rows;
	*selectivity = expected.share >= 1 ? 1 : 2 * heap_pages * wanted / (2 * heap_pages - wanted) / rows;
	*selectivity = Min(1, *selectivity);
	*correlation = 1;			/* bitmap scans do not use it */

	get_tablespace_page_costs(info->reltablespace, &random_page_cost, NULL);
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
	*total += expected.lookups * OPERATORS_PER_GROUP * cpu_operator_cost;
	/*
	 * The scan compares all rows on the pages with the conditions again. The planner counts only the rows that the
	 * selectivity tells, so the others are added here.
	 */
	*total += Max(0, rechecked - *selectivity * rows) * (cpu_tuple_cost + qual_cost.per_tuple);
	*total += wanted * cpu_operator_cost;
	/*
	 * If a page has fewer than two rows, the formula above gives less than all pages even for selectivity 1. The cost
	 * of the pages that are missing in its result is added here. (In a nested loop nothing is added: pages stay in the
	 * cache.)
	 */
	get_tablespace_page_costs(info->rel->reltablespace, &heap_random, &heap_seq);
	rows_counted = *selectivity * rows;
	pages_counted = 2 * heap_pages * rows_counted / (2 * heap_pages + rows_counted);
	if (loop_count <= 1 && pages_counted < wanted)
		*total += Max(0, cost_of_pages(wanted, heap_pages, heap_random, heap_seq) -
					  cost_of_pages(pages_counted, heap_pages, heap_random, heap_seq));
	/*
	 * Of two indexes for the same conditions the planner takes the one whose own cost is lower, whatever part of the
	 * table each of them rules out. So it might prefer an index that rules out nothing to one that rules out nearly
	 * all of the table. Therefore, if this index rules out nothing, its cost is raised by that of a sequential scan.
	 * The planner adds the cost of the heap once more, which does no harm: a scan by this index costs more than a
	 * sequential scan anyway. (Not in a nested loop, where pages stay in the cache: there nothing is added.)
	 */
	if (loop_count <= 1 && expected.share >= 1)
		*total += heap_pages * heap_seq + rows * (cpu_tuple_cost + qual_cost.per_tuple);
	*startup = qual_cost.startup;
	*total += *startup;
}
