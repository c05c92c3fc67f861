/*
 * estimate.h: asking an index while a query is planned.
 */
#ifndef STREAMBLOOM_PG_INDEX_ESTIMATE_H
#define STREAMBLOOM_PG_INDEX_ESTIMATE_H

#include "base/compat.h"

#include "nodes/pathnodes.h"
#include "utils/rel.h"

typedef struct BfEstimate
{
	double		share;			/* of the heap's pages that a search leaves; 0: none */
	double		index_pages;	/* that it reads */
} BfEstimate;

/*
 * Asks the index for those of these clauses (IndexClause) whose values are known, and which have to be true
 * together. priors[]: the share of the heap that is expected to be left by each level that an index can have, for what
 * is not looked at.
 * Returns how many clauses that were; 0 if the index cannot be asked, or must not be. It is NULL if it does not
 * exist. REQUIRES: a lock on the index.
 */
extern int bf_index_estimate(PlannerInfo *root, const IndexOptInfo *info, Relation index, const List *clauses,
							 const double *priors, BfEstimate *estimate);

/*
 * Is the index that of a partition of a table of which enough partitions were asked about these clauses (IndexClause)?
 * Then *estimate is the mean of their answers. Returns false if not, or if a value is not known. It takes a small part
 * of the time that bf_index_estimate() takes, and the index need not be opened.
 */
extern bool bf_index_estimate_like_others(PlannerInfo *root, const IndexOptInfo *info, const List *clauses,
										  BfEstimate *estimate);

/*
 * Which share of the items that a range of level 0 has in this column are in a range far from it, too? 0: the ranges
 * have different items; 1: all have the same. Negative: that is not known, or must not be said. The index is NULL if
 * it does not exist. REQUIRES: a lock on the index.
 */
extern double bf_index_estimate_common(PlannerInfo *root, const IndexOptInfo *info, Relation index, int column);

/*
 * Calls work(). Returns false if it has raised an error, which is forgotten, unless the statement was cancelled or
 * memory is short. In parallel mode errors are raised as usual.
 */
extern bool bf_index_try(void (*work) (void *argument), void *argument);

extern void bf_index_estimate_init(void);

#endif
