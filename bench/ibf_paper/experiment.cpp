/*
 * experiment.cpp: one run of a filter, runs of all filters over some permutations, and all runs of a stream.
 */
#include "experiment.hpp"

namespace papers {

Counts run(const Stream &stream, const std::vector<uint32_t> &order, Filter *filter,
		   const std::function<void(uint64_t, bool)> &at_repeat)
{
	Counts counts;
	std::vector<uint32_t> last(stream.hash.size(), UINT32_MAX);
	std::vector<double> shares(static_cast<size_t>(sb_stable_max(&filter->parameters)));
	for (uint32_t i = 0; i < order.size(); i++)
	{
		uint32_t item = stream.item[order[i]];
		double importance = static_cast<double>(stream.importance[order[i]]);
		uint8_t value = sb_stable_value_of(&filter->parameters, nullptr, importance);
		bool duplicate = filter->step(stream.hash[item], value);
		auto bin = static_cast<size_t>(importance);
		shares[value - 1u] += 1 / static_cast<double>(order.size());
		if (last[item] == UINT32_MAX)
		{
			counts.fp.add(1, duplicate);
			counts.wfp.add(importance, duplicate);
			counts.fp_at[bin].add(1, duplicate);
		}
		else
		{
			counts.fn.add(1, !duplicate);
			counts.wfn.add(importance, !duplicate);
			counts.fn_at[bin].add(1, !duplicate);
			if (at_repeat)
				at_repeat(i - last[item] - 1, !duplicate);
		}
		last[item] = i;
	}
	counts.zeros = filter->zeros();
	if (filter->parameters.evictions > 0)
	{
		sb_stable_chain chain = filter->chain(&shares);
		counts.expected = sb_stable_zeros(&chain);
		counts.bound = sb_stable_bound(&chain);
	}
	return counts;
}

Five experiment(const Stream &stream, int evictions, int from, int to, int bits, bool heavy)
{
	Five result;
	for (int p = from; p < to; p++)
	{
		std::vector<uint32_t> order = order_of(stream, p);
		for (int v = 0; v < (heavy ? varieties : HEAVY); v++)
		{
			Filter filter = Filter::of(static_cast<Variety>(v), v == BF ? stream.plain_bytes : stream.bytes, 5, bits,
									   evictions);
			result[static_cast<size_t>(v)] += run(stream, order, &filter);
		}
	}
	return result;
}

void Results::add(const Stream &stream, int evictions)
{
	if (stream.has_order)
		own[stream.id] = experiment(stream, evictions, 0, 1, 3, evictions == 10);
	/*
	 * A few ids have a large share of the arrivals, so much depends on the importances drawn for these: they are
	 * drawn again.
	 */
	if (stream.has_order && stream.independent && evictions == 10)
	{
		Stream again = stream;
		for (uint64_t seed : {UINT64_C(107), UINT64_C(108)})
		{
			draw(&again, seed);
			Five five = experiment(again, evictions, 0, 1, 3, false);
			for (size_t v = 0; v < HEAVY; v++)
				own[stream.id][v] += five[v];
		}
	}
	if (stream.permutations > stream.first_mixed() && !(stream.id == "block" && evictions != 10))
		mixed[stream.id] = experiment(stream, evictions, stream.first_mixed(), stream.permutations, 3,
									  evictions == 10 || !stream.has_order);
}

} // namespace papers
