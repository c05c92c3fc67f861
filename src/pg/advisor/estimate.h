/*
 * estimate.h: what an index on a sampled column would take and read: a bf index (estimate.c), a B-tree and a GIN index
 * (peers.c).
 */
#ifndef STREAMBLOOM_PG_ADVISOR_ESTIMATE_H
#define STREAMBLOOM_PG_ADVISOR_ESTIMATE_H

#include "advisor/sample.h"

/* A bf index with a certain false-positive rate, on all leaves together. Pages are those of index and table. */
typedef struct Figures
{
	double		bytes;
	double		pages_absent;	/* that a look-up reads, if the value is nowhere */
	double		pages_rare;		/* if the value is rare */
	double		pages_frequent; /* if it is the most frequent one */
	double		unevenness;		/* the items of the fullest range, as a multiple of the mean */
	int			length;			/* ranges have 2^length pages, in the largest leaf */
} Figures;

/*
 * The index's own sizes.c decides how long ranges and how large filters are, from the numbers of items of the ranges
 * that were read; if all were, the bytes of level 0 are exact. Levels above have as many items as a power law gives.
 * `distinct` is the number of different items of the table.
 */
extern void bf_estimate(const Sample *sample, const Sketch *sketch, double rate, bool are_keys, double distinct,
						Figures *figures);

/* Bytes, within a quarter: leaves with the table's tuples, at the fill that a build leaves, and the pages above. */
extern double bf_estimate_btree(const Sample *sample, const SampleColumn *column, double distinct);
extern double bf_estimate_gin(const Sample *sample, const Sketch *sketch, double distinct);

/* How many different items the table has. */
extern double bf_distinct(const Sample *sample, const Sketch *sketch);

/* How many different items `pages` pages have that follow each other, by a power law (Heaps 1978). */
extern double bf_distinct_in(const Sample *sample, const Sketch *sketch, double distinct, double pages);

/* Rows of the table for each row that the sketch has. */
extern double bf_times(const Sample *sample, const Sketch *sketch);

#endif
