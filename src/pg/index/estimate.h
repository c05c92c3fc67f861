/*
 * estimate.h: asking an index while a query is planned. answers.h has the rules for this, and the memory of what was
 * asked.
 */
#ifndef STREAMBLOOM_PG_INDEX_ESTIMATE_H
#define STREAMBLOOM_PG_INDEX_ESTIMATE_H

#include "base/compat.h"

#include "nodes/pathnodes.h"
#include "utils/rel.h"

typedef struct BfEstimate
{
	double		share;			/* share of the heap's pages that the search leaves to be read, 0 to 1 */
	double		index_pages;	/* pages of the index that the search reads */
} BfEstimate;

/*
 * Asks the index about those clauses (IndexClause) whose values are known. All clauses have to be true together.
 * priors[l] is the share of the heap that level l of an index is expected to leave. It is used for the parts of the
 * index that are not looked at. Returns how many clauses the index was asked about; 0 if the index cannot be asked,
 * must not be asked, or has no answer. If enough other partitions were asked the same, the mean of their answers counts
 * as the answer of this index. `index` is NULL if the index does not exist or is damaged. REQUIRES: a lock on the
 * index.
 */
extern int bf_index_estimate(PlannerInfo *root, const IndexOptInfo *info, Relation index, const List *clauses,
							 const double *priors, BfEstimate *estimate);

/*
 * Sets *estimate to the mean of what other partitions of the same table have answered about these clauses
 * (IndexClause). Returns false if there is no such mean, for example because too few other partitions were asked, or
 * because a value is not known. This takes a small part of the time of bf_index_estimate(), and the index need not be
 * opened.
 */
extern bool bf_index_estimate_like_others(PlannerInfo *root, const IndexOptInfo *info, const List *clauses,
										  BfEstimate *estimate);

/*
 * Compares pairs of ranges of level 0 that lie far from each other. Returns which share of one range's items in this
 * column the other range has, too: 0 if they have no item in common, 1 if all ranges have the same items. A negative
 * result: the share is not known, or the user may not learn it. `index` is NULL if the index does not exist or is
 * damaged.
 * REQUIRES: a lock on the index. (estimate_common.c)
 */
extern double bf_index_estimate_common(PlannerInfo *root, const IndexOptInfo *info, Relation index, int column);

#endif
