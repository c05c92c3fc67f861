/*
 * counts.cpp: adds up the counts of several runs, and computes how much they differ.
 */
#include "counts.hpp"

#include <cmath>

namespace papers {

void Counts::operator+=(const Counts &run)
{
	fp += run.fp;
	fn += run.fn;
	wfp += run.wfp;
	wfn += run.wfn;
	for (size_t i = 0; i <= top; i++)
	{
		fp_at[i] += run.fp_at[i];
		fn_at[i] += run.fn_at[i];
	}
	zeros += run.zeros;
	expected = run.expected;
	bound = run.bound;
	runs++;
	fp_of_run.push_back(run.fp.rate());
	fn_of_run.push_back(run.fn.rate());
}

double deviation(const std::vector<double> &values)
{
	double mean = 0;
	double square = 0;
	for (double value : values)
		mean += value / static_cast<double>(values.size());
	for (double value : values)
		square += (value - mean) * (value - mean);
	return values.size() < 2 ? 0 : std::sqrt(square / static_cast<double>(values.size() - 1));
}

} // namespace papers
