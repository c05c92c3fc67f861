/* advice.h: what bf_index_advise() (advise.c) says of a column, and whether an index on it pays (judge.c). */
#ifndef STREAMBLOOM_PG_ADVISOR_ADVICE_H
#define STREAMBLOOM_PG_ADVISOR_ADVICE_H

#include "advisor/estimate.h"

/* Of all leaves of the table together. If a class takes keys out of values, "value" means a key. */
typedef struct Advice
{
	double		items;			/* the sum of all rows' items: 1 for each row, or its number of keys */
	double		distinct;
	double		value_pages;	/* the sum, over all values, of the number of pages that each is on */
	Figures		bf;				/* with the default rate */
	Figures		bf_lower;		/* with the lower rate (LOWER_RATE in advise.c) */
	const char *lower_options;	/* options in CREATE INDEX for the lower rate */
	double		btree_bytes;
	bool		btree_possible;
	double		gin_bytes;
	bool		gin_possible;
} Advice;

/* Returns whether an index with the lower rate pays, and is better than one with the default rate. */
extern bool bf_index_lower_rate_pays(const Sample *sample, const SampleColumn *column, const Advice *advice);

/*
 * Returns a text that says whether an index with these figures pays, and why; sets *pays to whether it does. REQUIRES:
 * the table is open.
 */
extern const char *bf_index_judge(Relation table, const Sample *sample, const SampleColumn *column,
								  const Advice *advice, const Figures *figures, bool *pays);

/*
 * Returns the command CREATE INDEX, which means the same with any search_path. `opclass` is NULL for the default one;
 * `options` stand behind the column.
 */
extern char *bf_index_create_statement(Relation table, const SampleColumn *column, const char *opclass,
									   const char *options);

#endif
