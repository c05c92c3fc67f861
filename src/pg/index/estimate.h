/*
 * estimate.h: asking an index while a query is planned.
 */
#ifndef STREAMBLOOM_PG_INDEX_ESTIMATE_H
#define STREAMBLOOM_PG_INDEX_ESTIMATE_H

#include "index/bf_index.h"

#include "nodes/pathnodes.h"

typedef struct BfEstimate
{
	double		share;			/* of the heap's pages that a search leaves; 0: none */
	double		index_pages;	/* that it reads */
} BfEstimate;

/*
 * Asks the index for those of these clauses (IndexClause) whose values are known, and which have to be true
 * together. priors[]: the share of the heap that is expected to be left by each level, for what is not looked at.
 * Returns how many clauses that were; 0 if the index cannot be asked, or must not be. It is NULL if it does not
 * exist. REQUIRES: a lock on the index.
 */
extern int bf_index_estimate(PlannerInfo *root, const IndexOptInfo *info, Relation index, const List *clauses, const double *priors,
							  BfEstimate *estimate);

extern void bf_index_estimate_init(void);

#endif
