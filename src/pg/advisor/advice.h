/*
 * advice.h: what bf_index_advise() (advise.c) expects of an index on a column (column_advice.c), and whether that index
 * pays (judge.c).
 */
#ifndef STREAMBLOOM_PG_ADVISOR_ADVICE_H
#define STREAMBLOOM_PG_ADVISOR_ADVICE_H

#include "advisor/leaves.h"
#include "advisor/model.h"

/* What is expected of a bf index with a certain false-positive rate. */
typedef struct Figures
{
	double		bytes;
	double		pages_absent;	/* pages that a look-up reads, if the value is nowhere in the table */
	double		rare_extra;		/* how many more than pages_absent a look-up of a rare value reads */
	double		pages_frequent; /* pages that a look-up of the most frequent value reads */
} Figures;

/* Two models of a bf index on a table or on a sampled partition: one for each false-positive rate. */
typedef struct PartModels
{
	BfModel		bf;				/* with the default rate */
	BfModel		bf_lower;		/* with the lower rate */
	double		pages;			/* how many pages each page of the partition stands for (struct Weight) */
} PartModels;

/*
 * What is known of a column, summed up over the partitions that were sampled. They also stand for the partitions that
 * were not sampled.
 */
typedef struct Advice
{
	double		heap_pages;
	double		toast_pages;
	double		unevenness;		/* the largest bf_index_unevenness() of any partition */
	double		rows;
	double		items;			/* the sum of all rows' items: 1 for each row, or its number of keys */
	double		distinct;
	double		value_pages;	/* the sum, over all values, of the number of pages that each is on */
	Figures		bf;				/* with the default rate */
	Figures		bf_lower;		/* with the lower rate (LOWER_RATE in column_advice.c) */
	PartModels *parts;
	int			part_count;
	const char *lower_options;	/* options in CREATE INDEX for the lower rate */
	double		btree_bytes;
	bool		btree_possible;
	double		gin_bytes;
	bool		gin_possible;
} Advice;

/*
 * Adds what the sample of a table or partition says about a column. The partition stands for as many as `weight` says.
 */
extern void bf_index_add_advice(const Sample *sample, const SampleColumn *column, const Weight *weight,
								Advice *advice);

/*
 * Estimates in how many ranges of a table (of all partitions together if `all` is true) a rare value is. Of all values
 * of the sample, the tenth that are in the fewest ranges count as rare here. The sample has `units` units of 32
 * consecutive pages (SAMPLE_UNIT). The table has `times` pages for each page of the sample.
 */
extern double bf_index_ranges_of_rare_value(const SampleColumn *column, bool all, uint32 units, double times);

/*
 * Sets rare_extra of the figures for both rates, for rare values that are in `ranges` ranges of the table. Each
 * partition is taken to have as large a share of these ranges as it has of the table's pages. REQUIRES:
 * bf_index_add_advice() was called for all partitions.
 */
extern void bf_index_set_rare_extra(double ranges, Advice *advice);

/* Returns whether an index with the lower rate pays, and is better than one with the default rate. */
extern bool bf_index_lower_rate_pays(const SampleColumn *column, const Advice *advice);

/*
 * Returns a text that says whether an index with these figures pays, and why; sets *pays to whether it does. REQUIRES:
 * the table is open.
 */
extern const char *bf_index_judge(Relation table, const SampleColumn *column, const Advice *advice,
								  const Figures *figures,
								  bool *pays);

#endif
