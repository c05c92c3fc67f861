/*
 * counts.hpp: how often a filter was wrong, unweighted and weighted by importance.
 */
#ifndef PAPERS_COUNTS_HPP
#define PAPERS_COUNTS_HPP

#include "filter.hpp"

#include <array>
#include <vector>

namespace papers {

struct Tally
{
	double asked = 0;
	double wrong = 0;
	void add(double weight, bool is_wrong)
	{
		asked += weight;
		wrong += is_wrong ? weight : 0;
	}
	void operator+=(const Tally &other)
	{
		asked += other.asked;
		wrong += other.wrong;
	}
	double rate() const { return asked > 0 ? wrong / asked : 0; }
};

/* False positives are counted among first arrivals, false negatives among repeats. */
struct Counts
{
	Tally fp, fn, wfp, wfn;
	std::array<Tally, top + 1> fp_at{}, fn_at{};
	double zeros = 0;    /* at the end */
	double expected = 0; /* V0 */
	double bound = 0;
	int runs = 0;
	std::vector<double> fp_of_run, fn_of_run;

	void operator+=(const Counts &run);
};

using Five = std::array<Counts, varieties>;

/* The standard deviation of a sample; 0 of fewer than two. */
double deviation(const std::vector<double> &values);

} // namespace papers

#endif
