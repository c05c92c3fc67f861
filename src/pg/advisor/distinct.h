/* distinct.h: estimates how many distinct values a table has from the distinct values of a sample (sample.h). */
#ifndef STREAMBLOOM_PG_ADVISOR_DISTINCT_H
#define STREAMBLOOM_PG_ADVISOR_DISTINCT_H

#include "base/compat.h"

#include "storage/block.h"

/*
 * How many distinct values of a column the sample has, and in how many pages and units (32 pages in a row) of the
 * sample they are. If there were many values, only those were kept whose hashes end with `zeros` zero bits. So each
 * number here stands for one that is 2^zeros times as large.
 */
typedef struct ValueStats
{
	int			zeros;
	uint64		values;			/* values that were kept */
	uint64		pages;			/* the sum, over these values, of the number of pages that each is on */
	/*
	 * Values that are in at most two units: their number, how many of them are in one unit only, and the sum, over
	 * them, of the number of units that each is in.
	 */
	uint64		rare;
	uint64		rare_in_one_unit;
	uint64		rare_units;
	/* The same three numbers of those rare values that are not in the beginning of the table (sample.h): */
	uint64		new;
	uint64		new_in_one_unit;
	uint64		new_units;
} ValueStats;

/* Adds `weight` values, each of which is in `units` units. */
static inline void
bf_index_add_to_stats(ValueStats *stats, uint32 units, bool is_new, uint64 weight)
{
	stats->values += weight;
	/*
	 * A value in more than two units is frequent. The sample is taken to have all frequent values of the table. If they
	 * were counted among the rare ones, the estimate of the values that the sample lacks would be too low (Haas and
	 * Stokes 1998, Duj2a).
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
 * Estimates how many distinct values there are if the sample is this share of all pages. Unlike
 * bf_index_distinct_values(), it treats the pages from the beginning of the table as if they too were chosen at
 * random.
 */
extern double bf_index_distinct_in_share(const ValueStats *stats, double share);

/*
 * Estimates how many distinct values a table of heap_blocks pages has. pages_read pages were read: the first
 * `contiguous` pages of the table, and others that were chosen at random. The values in the first pages are known. How
 * many values are only in the rest of the table is estimated.
 */
extern double bf_index_distinct_values(const ValueStats *stats, double contiguous, double pages_read,
									   BlockNumber heap_blocks);

#endif
