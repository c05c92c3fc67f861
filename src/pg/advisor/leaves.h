/*
 * leaves.h: which partitions of a table bf_index_advise() samples, and what each of them stands for. A table without
 * partitions counts as its own only partition. If there are few partitions, all are sampled. If there are many, some
 * of the largest are sampled, and some of the others, which stand for the rest.
 */
#ifndef STREAMBLOOM_PG_ADVISOR_LEAVES_H
#define STREAMBLOOM_PG_ADVISOR_LEAVES_H

#include "base/compat.h"

#include "storage/block.h"

/* At most this many partitions are sampled. */
#define MOST_PARTITIONS 16

/* A table or partition that has rows of its own. */
typedef struct Leaf
{
	Oid			oid;
	BlockNumber pages;
	bool		is_large;		/* it is sampled, and stands for itself alone */
} Leaf;

/*
 * A sampled partition may also stand for partitions that are not sampled. Figures that grow with the rows of a
 * partition are multiplied by `pages`. Figures that are the same in a small partition and in a large one are multiplied
 * by `partitions`.
 */
typedef struct Weight
{
	double		partitions;		/* how many partitions the sampled one stands for, itself included */
	double		pages;			/* how many pages each page of the sampled partition stands for */
} Weight;

/*
 * Returns the table itself, or its partitions on the lowest level. *pages is the sum of their pages. Foreign tables
 * are left out. Empty tables are left out too, and counted in *empty.
 */
extern Leaf *bf_index_find_leaves(Oid table, int *count, int *empty, double *pages);

/*
 * Chooses the partitions to sample, and sets weights[] to what each of them stands for. chosen[] and weights[] have
 * room for MOST_PARTITIONS. Returns how many were chosen. *pages_chosen is the sum of their pages.
 */
extern int bf_index_choose_leaves(Leaf *leaves, int count, double pages, const Leaf **chosen, Weight *weights,
								  double *pages_chosen);

#endif
