/*
 * real_gaps.cpp: false negatives on a real stream, by octaves of the gap between the arrivals of an item.
 */
#include "sections.hpp"

#include <cmath>

namespace papers {

namespace {

constexpr int octaves = 24; /* gap 0 to 2^24 */
constexpr int parts = 16;   /* of an octave: the recursion is looked up in a table */

std::vector<double> table_of(const sb_stable_chain &chain)
{
	double work[2 * 8 * 8];
	std::vector<double> table;
	for (int i = 0; i < octaves * parts; i++)
		table.push_back(sb_stable_false_negatives(&chain, 7, static_cast<uint64_t>(std::exp2((i + 0.5) / parts)),
												  work));
	return table;
}

/*
 * The probability that an item is missed if none of its cells is set again: that one of the five is evicted 7 times
 * (Max) or more, by the Poisson law.
 */
double missed_if_never_again(const sb_stable_chain &chain, double gap)
{
	double mean = gap * chain.evictions / chain.cell_count;
	double term = std::exp(-mean);
	double fewer = 0;
	for (int i = 0; i < 7; term *= mean / ++i)
		fewer += term;
	return 1 - std::pow(fewer, 5);
}

} // namespace

void real_gaps(const Stream &stream)
{
	Filter filter = Filter::of(SBF, stream.bytes, 5, 3, 10);
	std::vector<double> shares;
	const sb_stable_chain chain = filter.chain(&shares);
	const std::vector<double> table = table_of(chain);
	std::vector<Tally> missed(octaves);
	std::vector<double> by(octaves);
	std::vector<double> tail(octaves);
	run(stream, order_of(stream, 0), &filter,
		[&](uint64_t gap, bool is_missed)
		{
			double octave = gap > 0 ? std::log2(static_cast<double>(gap)) : 0;
			missed[static_cast<size_t>(octave)].add(1, is_missed);
			tail[static_cast<size_t>(octave)] += missed_if_never_again(chain, static_cast<double>(gap));
			by[static_cast<size_t>(octave)] += table[static_cast<size_t>(octave * parts)];
		});
	std::printf("On the %s, in its own order, SBF of %s bytes, by octaves of the gap (all arrivals in between count, "
				"not only distinct ones):\n\n",
				stream.name.c_str(), many(stream.bytes).c_str());
	std::puts("| gap from | repeats | missed | by the recursion | if nobody set its cells again |");
	std::puts("| ---: | ---: | ---: | ---: | ---: |");
	for (size_t octave = 8; octave < 23; octave++)
		if (missed[octave].asked > 0)
			std::printf("| %s | %s | %s %% | %s %% | %s %% |\n", many(uint64_t{1} << octave).c_str(),
						many(static_cast<uint64_t>(missed[octave].asked)).c_str(),
						percent(missed[octave].rate()).c_str(), percent(by[octave] / missed[octave].asked).c_str(),
						percent(tail[octave] / missed[octave].asked).c_str());
	std::puts("");
}

} // namespace papers
