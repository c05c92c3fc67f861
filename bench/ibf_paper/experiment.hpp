/*
 * experiment.hpp: streams through filters, and what came out, by stream.
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

/* One filter over the stream in this order. At each repeat: how many came in between, and whether it was missed. */
Counts run(const Stream &stream, const std::vector<uint32_t> &order, Filter *filter,
		   const std::function<void(uint64_t, bool)> &at_repeat = {});

/* All filters over the permutations from `from` up to `to`. */
Five experiment(const Stream &stream, int evictions, int from, int to, int bits = 3, bool heavy = true);

/* Of each stream, by its id: in its own order if it has one, and permuted. */
struct Results
{
	std::map<std::string, Five> own, mixed;

	void add(const Stream &stream, int evictions);
};

} // namespace papers

#endif
