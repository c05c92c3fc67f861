/*
 * experiment.hpp: runs streams through filters, and keeps the counts by stream.
 */
#ifndef PAPERS_EXPERIMENT_HPP
#define PAPERS_EXPERIMENT_HPP

#include "counts.hpp"
#include "streams.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace papers {

/*
 * Runs the stream in this order through one filter. At each repeat it calls at_repeat() with the number of arrivals
 * in between, and whether the repeat was missed.
 */
Counts run(const Stream &stream, const std::vector<uint32_t> &order, Filter *filter,
		   const std::function<void(uint64_t, bool)> &at_repeat = {});

/* Runs all filters over the permutations from `from` up to `to`. */
Five experiment(const Stream &stream, int evictions, int from, int to, int bits = 3, bool heavy = true);

/* The counts of each stream, by its id: in its own order if it has one, and permuted. */
struct Results
{
	std::map<std::string, Five> own, mixed;

	void add(const Stream &stream, int evictions);
};

} // namespace papers

#endif
