/*
 * advice.h: what bf_index_advise() (advise.c) expects of an index on a column, and its judgement of that (judge.c).
 */
#ifndef STREAMBLOOM_PG_ADVISOR_ADVICE_H
#define STREAMBLOOM_PG_ADVISOR_ADVICE_H

#include "advisor/model.h"

/* What is expected of an index with some false-positive rate. */
typedef struct Figures
{
	double		bytes;
	double		pages_absent;
	double		rare_extra;		/* the pages that a rare value takes more, in the partition where that is most */
	double		pages_frequent;
} Figures;

/* What is known of a column, summed up over the partitions that were sampled. */
typedef struct Advice
{
	double		heap_pages;
	double		toast_pages;
	double		unevenness;		/* bf_index_unevenness() of the partition where it is most */
	double		rows;
	double		items;			/* the sum over the rows of their numbers of items: 1 for each row, or its keys */
	double		distinct;
	double		value_pages;	/* pages with a value, summed up over the values */
	Figures		bf;				/* with the default rate */
	Figures		bf_lower;		/* with the lower one */
	const char *lower_options;	/* of an index with the lower rate */
	double		btree_bytes;
	bool		btree_possible;
	double		gin_bytes;
	bool		gin_possible;
} Advice;

/* Is the index with the lower rate the better one? */
extern bool bf_index_lower_rate_pays(const SampleColumn *column, const Advice *advice);

/* Says whether an index with these figures pays, and why; *pays is set to whether it does. The table is open. */
extern const char *bf_index_judge(Relation table, const SampleColumn *column, const Advice *advice,
								  const Figures *figures,
								  bool *pays);

#endif
