/*
 * bf_formula.hpp: the load that a rate allows. Filters are sized by it.
 */
#ifndef STREAMBLOOM_BF_FORMULA_HPP
#define STREAMBLOOM_BF_FORMULA_HPP

#include "streambloom.h"

namespace streambloom {

/* The largest load (items a block) at which sb_blocked_fpr() is at most fpr, cut to a multiple of 1/1024. */
double blocked_load(double cells, int hash_count, double fpr);

/*
 * The result of the last search with blocked_load(), and its rate. The search takes up to 100 microseconds, and a
 * query with many groups plans many filters for one rate. So the files that plan filters keep such a result in a
 * thread_local variable. That is safe for three reasons. The result follows from the rate alone, so it never becomes
 * stale. Rates are compared exactly, and no rate in range is 0, so a zeroed variable matches no rate. Each thread has
 * its own variable and changes it only after the search has ended, so nobody sees a half-written result.
 */
struct known_load
{
	double fpr;
	double load; /* items per line or block */
	uint8_t hash_count;
};

} // namespace streambloom

#endif
