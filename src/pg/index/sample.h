/*
 * sample.h: which alternatives of a long condition an estimate looks for. The alternatives of a condition are the
 * values of an = ANY or the queries of a LIKE ANY.
 */
#ifndef STREAMBLOOM_PG_INDEX_SAMPLE_H
#define STREAMBLOOM_PG_INDEX_SAMPLE_H

#include "index/search.h"

/*
 * A *long* condition has more alternatives than this. At most this many of its alternatives are looked for, and its
 * common ones besides.
 */
#define BF_SAMPLE_MOST 16

/* At most this many alternatives are looked for because they are the most common ones by the statistics. */
#define BF_SAMPLE_COMMON 4

typedef struct BfSample
{
	Condition	whole;			/* the long condition, with all of its alternatives */
	uint32		common[BF_SAMPLE_COMMON];	/* the numbers of these alternatives, ascending */
	uint32		common_count;	/* 0: statistics do not know any of the alternatives */
} BfSample;

/* Has the condition more than BF_SAMPLE_MOST alternatives? */
extern bool bf_index_is_long(const Condition *condition);

/*
 * Sets up a sample of a long condition, and finds the alternatives that are common by PostgreSQL's statistics. May
 * raise errors of functions of an operator class.
 */
extern void bf_index_begin_sample(BfSample *sample, const Condition *condition, Relation index);

/* Sets *condition to the common alternatives. REQUIRES: there are some. */
extern void bf_index_take_common(const BfSample *sample, Condition *condition);

/*
 * Chooses at most `most` of the alternatives that are not common, spread evenly, and sets *condition to those. Returns
 * how many alternatives there are for each chosen one, without the common ones.
 */
extern double bf_index_take_others(const BfSample *sample, uint32 most, Condition *condition);

#endif
