/*
 * bf_formula.hpp: the load that a rate allows. Filters are sized by it.
 */
#ifndef STREAMBLOOM_BF_FORMULA_HPP
#define STREAMBLOOM_BF_FORMULA_HPP

#include "streambloom.h"

namespace streambloom {

/* The largest load (items per block) at which sb_blocked_fpr() is at most fpr, rounded down to a multiple of 1/1024. */
double blocked_load(double cells, int hash_count, double fpr);

/*
 * The result of a search with blocked_load(), and the rate that it was made for. The search takes up to 100
 * microseconds, and a query with many groups plans many filters for one rate. So bf.cpp and tbf.cpp keep the result of
 * their last search in a thread_local variable. That is safe for three reasons. The result follows from the rate alone,
 * so it never becomes stale. Rates are compared exactly, and no rate in range is 0, so a zeroed variable matches no
 * rate. Each thread has its own variable and changes it only after the search has ended, so nobody sees a half-written
 * result.
 */
struct known_load
{
	double fpr;
	double load; /* items per line or block */
	uint8_t hash_count;
};

} // namespace streambloom

#endif
