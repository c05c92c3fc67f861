/*
 * distinct.h: how many distinct values a table has, by those in a sample of it.
 */
#ifndef STREAMBLOOM_PG_ADVISOR_DISTINCT_H
#define STREAMBLOOM_PG_ADVISOR_DISTINCT_H

#include "base/compat.h"

#include "storage/block.h"

/*
 * Values of a column that are in the sample, each with where it is. Of many values only those are kept whose hashes end
 * with `zeros` zeros, so what is counted has to be multiplied by 2^zeros.
 */
typedef struct ValueStats
{
	int			zeros;
	uint64		values;			/* that are kept */
	uint64		pages;			/* the number of pages that a value is on, summed up over these */
	/* Of those that are in two units at most: */
	uint64		rare;
	uint64		rare_in_one_unit;
	uint64		rare_units;
	/* Of these, those that are not in the beginning of the table: */
	uint64		new;
	uint64		new_in_one_unit;
	uint64		new_units;
} ValueStats;

/* Adds values that are in so many units. */
static inline void
bf_index_add_to_stats(ValueStats *stats, uint32 units, bool is_new, uint64 weight)
{
	stats->values += weight;
	/*
	 * The others are surely known, and would make the estimate of the number of rare ones too low (Haas and Stokes
	 * 1998, Duj2a).
	 */
	if (units > 2)
		return;
	stats->rare += weight;
	stats->rare_units += units * weight;
	stats->rare_in_one_unit += units == 1 ? weight : 0;
	if (!is_new)
		return;
	stats->new += weight;
	stats->new_units += units * weight;
	stats->new_in_one_unit += units == 1 ? weight : 0;
}

/*
 * Estimates how many distinct values there are, if the sample is this share of it all and has no beginning that was
 * read as a whole.
 */
extern double bf_index_distinct_in_share(const ValueStats *stats, double share);

/*
 * The number of distinct values in a table of which so many pages were read, the first ones of them without a gap:
 * those in that beginning, and those that are in the rest only.
 */
extern double bf_index_distinct_values(const ValueStats *stats, BlockNumber contiguous, BlockNumber pages_read,
									   BlockNumber heap_blocks);

#endif
