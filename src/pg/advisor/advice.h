/*
 * advice.h: what bf_index_advise() (advise.c) expects of an index on a column, and whether that index pays (judge.c).
 */
#ifndef STREAMBLOOM_PG_ADVISOR_ADVICE_H
#define STREAMBLOOM_PG_ADVISOR_ADVICE_H

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
	double		pages;			/* how many pages each page of the partition stands for (Weight in advise.c) */
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
	Figures		bf_lower;		/* with the lower rate (LOWER_RATE in advise.c) */
	PartModels *parts;
	int			part_count;
	const char *lower_options;	/* options in CREATE INDEX for the lower rate */
	double		btree_bytes;
	bool		btree_possible;
	double		gin_bytes;
	bool		gin_possible;
} Advice;

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
