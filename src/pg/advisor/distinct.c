/*
 * distinct.c: estimates how many distinct values a table has, by those in a sample of it. For bf_index_advise()
 * (advise.c).
 */
#include "advisor/distinct.h"

#include <math.h>

/*
 * Estimates how many values there are where so many of these are in a sample of this share, each in so many of its
 * units (Haas and Stokes 1998, estimator Duj1, for units instead of rows, so that it does no harm when the rows of a
 * value lie together).
 */
static double
jackknife(uint64 values, uint64 in_one_unit, uint64 units, double share)
{
	return values == 0 ? 0 : values / (1 - (1 - Min(share, 1)) * in_one_unit / (double) units);
}

double
bf_index_distinct_in_share(const ValueStats *stats, double share)
{
	return ldexp(stats->values - stats->rare +
				 jackknife(stats->rare, stats->rare_in_one_unit, stats->rare_units, share), stats->zeros);
}

double
bf_index_distinct_values(const ValueStats *stats, BlockNumber contiguous, BlockNumber pages_read,
						 BlockNumber heap_blocks)
{
	double		rest = heap_blocks - contiguous;
	double		read = pages_read - contiguous;

	/* The sample has ended early: what is known of the beginning has to stand for all. */
	if (rest > 0 && read == 0)
		return bf_index_distinct_in_share(stats, pages_read / (double) heap_blocks);
	return ldexp(stats->values - stats->new +
				 jackknife(stats->new, stats->new_in_one_unit, stats->new_units, read / Max(rest, 1)),
				 stats->zeros);
}
