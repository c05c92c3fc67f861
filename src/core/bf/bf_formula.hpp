/*
 * bf_formula.hpp: the load that a rate allows, from which filters are sized.
 */
#ifndef STREAMBLOOM_BF_FORMULA_HPP
#define STREAMBLOOM_BF_FORMULA_HPP

#include "streambloom.h"

namespace streambloom {

/* The largest load (items a block) at which sb_blocked_fpr() is at most fpr, cut to a multiple of 1/1024. */
double blocked_load(double cells, int hash_count, double fpr);

/*
 * What a search with blocked_load() has found for a rate. The search takes up to 100 microseconds, and a query with
 * many groups plans many filters for one rate, so the files that plan filters keep the last result in a thread_local
 * variable. That is right for three reasons. The result follows from the rate alone, so it never becomes stale. The
 * rate is compared as it is, and no rate in range is 0, so that a zeroed variable stands for no rate. Each thread has a
 * variable of its own, and it changes only after the search has ended, so that nobody sees a half-written result.
 */
struct known_load
{
	double fpr;
	double load; /* items per line or block */
	uint8_t hash_count;
};

} // namespace streambloom

#endif
