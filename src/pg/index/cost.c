/*
 * cost.c: estimates what a scan of a bf index costs. estimate.c says how much of the heap it leaves to be read.
 *
 * The planner computes the cost of the heap from the selectivity, as if the rows were strewn over its pages. Here
 * whole ranges are read, so the planner is given the selectivity that leads it to the right number of pages.
 */
#include "base/compat.h"

#include <math.h>

#include "miscadmin.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

#include "index/estimate.h"
#include "index/handler.h"

/*
 * A look-up of one item in one group, that is, in the filters of up to 125 ranges, takes as much time as calling this
 * many operators.
 */
#define OPERATORS_PER_GROUP 10

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
	BfEstimate	expected;
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
	bf_index_estimate(root, info, path->indexclauses, &expected);
	*pages = Max(Min(expected.pages, info->pages), 1);

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
	*total += expected.pages * OPERATORS_PER_GROUP * cpu_operator_cost;
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
