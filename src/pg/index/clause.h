/*
 * clause.h: what a condition of a query asks an index for, as far as it is known when the query is planned: how many
 * items are searched for, how many rows satisfy the condition, and how these rows lie in the table.
 */
#ifndef STREAMBLOOM_PG_INDEX_CLAUSE_H
#define STREAMBLOOM_PG_INDEX_CLAUSE_H

#include "index/figures.h"

/* A condition that the index is asked about. */
typedef struct BfClause
{
	int			column;
	bool		by_keys;		/* the items are keys inside values */
	double		items;			/* number of items that are searched for */
	double		required;		/* how many of these items each value that matches has; 0: none in particular */
	/* of the ranges that have no matching row: the share that says "maybe"; [0]: on level 0, [1]: on higher levels */
	double		in_vain[2];
	double		selectivity;
	double		keys_of_heap;	/* different keys in the whole column; 0: not known, or not needed */
	double		correlation;	/* how well values are ordered in the table, 0 to 1; 0: not at all, or not known */
} BfClause;

/*
 * Sets *clause to what a condition asks for. Returns false if the index cannot rule out any range by it. `index` is
 * NULL if the index does not exist or is damaged.
 */
extern bool bf_index_get_clause(PlannerInfo *root, IndexOptInfo *info, Relation index, const BfIndexFigures *figures,
								const IndexClause *from, BfClause *clause);

#endif
