/*
 * distinct.c: estimates how many distinct values a table has from the distinct values of a sample. For
 * bf_index_advise() (advise.c).
 */
#include "advisor/distinct.h"

#include <math.h>

/*
 * Estimates the number of distinct values in a table from a sample. `share` is the share of the table that was
 * sampled. The sample consists of units of 32 pages in a row. It has `values` distinct values, of which `in_one_unit`
 * are in one unit only. `units` is the sum, over all `values` values, of the number of units that each is in. (This is
 * estimator Duj1 of Haas and Stokes 1998, but with units instead of rows. So it does no harm if the rows of a value lie
 * next to each other.)
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
bf_index_distinct_values(const ValueStats *stats, double contiguous, double pages_read, BlockNumber heap_blocks)
{
	double		rest = heap_blocks - contiguous;
	double		read = pages_read - contiguous;

	/* The sample ended early, and has only pages from the beginning of the table. They stand for the whole table. */
	if (rest > 0 && read == 0)
		return bf_index_distinct_in_share(stats, pages_read / heap_blocks);
	return ldexp(stats->values - stats->new +
				 jackknife(stats->new, stats->new_in_one_unit, stats->new_units, read / Max(rest, 1)),
				 stats->zeros);
}
