/*
 * estimate.h: what a search by some conditions is expected to leave, and to read, while a query is planned. It is the
 * one estimator: the cost of index paths and the nodes that skip partitions ask it.
 */
#ifndef STREAMBLOOM_PG_INDEX_ESTIMATE_H
#define STREAMBLOOM_PG_INDEX_ESTIMATE_H

#include "base/compat.h"

#include "nodes/pathnodes.h"

typedef struct BfEstimate
{
	double		share;			/* share of the heap's pages that the search leaves to be read, 0 to 1 */
	/* how often it looks at a page of the index for an item; it may look at a page again and again */
	double		pages;
} BfEstimate;

/*
 * Estimates a search by these conditions (IndexClause) together. If their values are known, the index itself is asked,
 * within a budget of pages; otherwise statistics and the sizes of the index's filters tell. REQUIRES: the planner holds
 * a lock on the index, unless it is hypothetical.
 */
extern void bf_index_estimate(PlannerInfo *root, IndexOptInfo *info, const List *clauses, BfEstimate *estimate);

/* Declares streambloom.enable_index_estimates. */
extern void bf_index_estimate_init(void);

#endif
