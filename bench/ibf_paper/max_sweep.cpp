/*
 * max_sweep.cpp: cells of two, three and four bits in the same bytes.
 */
#include "sections.hpp"

#include <algorithm>

namespace papers {

namespace {

using Sweep = std::array<Five, 3>; /* of Max 3, 7, 15 */

double sum_of_rates(const Counts &counts)
{
	return counts.fp.rate() + counts.fn.rate();
}

void row(const Stream &stream, const Sweep &sweep, size_t v)
{
	std::printf("| %s | %s |", stream.name.c_str(), names[v]);
	size_t best = 0;
	for (size_t k = 0; k < sweep.size(); k++)
	{
		const Counts &c = sweep[k][v];
		if (sum_of_rates(c) < sum_of_rates(sweep[best][v]))
			best = k;
		std::printf(" %s | %s | %s | %s |", percent(c.fp.rate()).c_str(), percent(c.fn.rate()).c_str(), percent(sum_of_rates(c)).c_str(),
					percent(c.wfn.rate()).c_str());
	}
	std::printf(" %d |\n", (1 << static_cast<int>(best + 2)) - 1);
}

} // namespace

void max_sweep(const Streams &streams)
{
	std::puts("## Max 3, 7, 15\n");
	std::puts("The same bytes, K 5, P 10. The paper took Max 7 because the sum of both rates was the lowest on its data.\n");
	std::puts("| stream | filter | Max 3: FP | FN | sum | wFN | Max 7: FP | FN | sum | wFN | Max 15: FP | FN | sum | wFN | lowest sum |");
	std::puts("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |");
	std::vector<const Stream *> swept = {&streams.equal30()};
	if (!streams.retail.empty())
		swept.push_back(&streams.retail_quantity_rank());
	for (const Stream *stream : swept)
	{
		Sweep sweep;
		for (int bits = 2; bits <= 4; bits++)
			sweep[static_cast<size_t>(bits - 2)] = experiment(*stream, 10, stream->first_mixed(),
															  std::min(stream->permutations, 3), bits);
		for (size_t v = SBF; v < varieties; v++)
			row(*stream, sweep, v);
	}
	std::puts("");
}

} // namespace papers
