/*
 * gaps.cpp: how often an item is forgotten after a gap of distinct other items, by the value of the item. Compared
 * with the paper's recursion, and with the recursion from the value that the item's cells really have after its step.
 */
#include "sections.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

namespace papers {

namespace {

constexpr uint64_t warm = 200000;
constexpr int max_value = 7;
template <typename T> using ByValue = std::array<T, max_value + 1>; /* of no value 0 */

/* The shares of one filter that are missed, by gap and value. */
struct Missed
{
	std::vector<ByValue<Tally>> measured;
	std::vector<ByValue<double>> predicted; /* from the value */
	std::vector<ByValue<double>> refined;   /* from max(cell, value) */

	explicit Missed(size_t gaps) : measured(gaps), predicted(gaps), refined(gaps) {}
};
using OfAll = std::map<int, Missed>; /* by variety */

std::vector<uint64_t> lengths_of_gaps()
{
	std::vector<uint64_t> lengths;
	for (double gap = 500; gap < 70000; gap *= 1.25)
		lengths.push_back(static_cast<uint64_t>(gap));
	return lengths;
}

void measure(Filter *filter, uint64_t n, const std::vector<uint64_t> &lengths, Missed *missed)
{
	Random random(31);
	std::vector<uint8_t> values(warm + n + 1);
	auto hash_of = [](uint64_t i) { return sb_hash_int64(static_cast<int64_t>(i)); };
	for (uint64_t i = 1; i <= warm + n; i++)
	{
		if (i > warm && i % 4 == 0)
			for (size_t g = 0; g < lengths.size(); g++)
			{
				uint64_t then = i - lengths[g] - 1;
				missed->measured[g][values[then]].add(1, !filter->contains(hash_of(then)));
			}
		values[i] = sb_stable_value_of(&filter->parameters, nullptr, random.uniform());
		filter->step(hash_of(i), values[i]);
	}
}

void predict(const Filter &filter, const std::vector<uint64_t> &lengths, Missed *missed)
{
	std::vector<double> shares;
	sb_stable_chain chain = filter.chain(&shares);
	double work[2 * 8 * 8];
	uint64_t histogram[SB_STABLE_MAX_VALUE + 1];
	if (sb_stable_count(&filter.parameters, filter.cells.data(), histogram) != SB_OK)
		die("the cells cannot be counted");
	for (size_t g = 0; g < lengths.size(); g++)
	{
		ByValue<double> gone{}; /* by value: a cell that had it is zero after the gap */
		for (int value = 1; value <= max_value; value++)
		{
			auto at = static_cast<size_t>(value);
			missed->predicted[g][at] = sb_stable_false_negatives(&chain, value, lengths[g], work);
			gone[at] = 1 - std::pow(1 - missed->predicted[g][at], 0.2);
		}
		for (size_t at = 1; at <= max_value; at++)
		{
			double of_cell = 0;
			for (size_t found = 0; found <= max_value; found++)
				of_cell += static_cast<double>(histogram[found]) / filter.parameters.cell_count *
						   gone[std::max(found, at)];
			missed->refined[g][at] = 1 - std::pow(1 - of_cell, 5);
		}
	}
}

/* The largest differences between predicted and measured shares. */
struct Worst
{
	double predicted[varieties] = {};
	double refined[varieties] = {};
	double above = 0; /* by how much more is missed than the recursion says */

	void look_at(int v, const Missed &missed)
	{
		for (size_t g = 0; g < missed.measured.size(); g++)
			for (size_t at = 1; at <= max_value; at++)
			{
				if (missed.measured[g][at].asked == 0)
					continue;
				double rate = missed.measured[g][at].rate();
				predicted[v] = std::max(predicted[v], std::abs(rate - missed.predicted[g][at]));
				refined[v] = std::max(refined[v], std::abs(rate - missed.refined[g][at]));
				if (v != HEAVY)
					above = std::max(above, rate - missed.predicted[g][at]);
			}
	}
};

struct Column
{
	Variety variety;
	size_t value;
};
constexpr Column columns[] = {{SBF, 7}, {TWO, 3}, {TWO, 7}, {MULTI, 1}, {MULTI, 4},
							  {MULTI, 7}, {HEAVY, 1}, {HEAVY, 4}, {HEAVY, 7}};

/* All gaps go into the file of the plot, every third onto the page. */
void rows(const std::vector<uint64_t> &lengths, const OfAll &all)
{
	std::ofstream out(directory + "/gaps.dat");
	for (size_t g = 0; g < lengths.size(); g++)
	{
		bool print = g % 3 == 1;
		if (print)
			std::printf("| %s |", many(lengths[g]).c_str());
		out << lengths[g];
		for (const Column &c : columns)
		{
			const Missed &missed = all.at(c.variety);
			double rate = missed.measured[g][c.value].rate();
			double by = missed.predicted[g][c.value];
			double better = missed.refined[g][c.value];
			out << ' ' << 100 * rate << ' ' << 100 * by << ' ' << 100 * better;
			if (print)
				std::printf(" %.1f / %.1f / %.1f |", 100 * rate, 100 * by, 100 * better);
		}
		out << '\n';
		if (print)
			std::puts("");
	}
}

} // namespace

void gaps()
{
	const uint64_t n = quick ? 300000 : 2000000;
	const std::vector<uint64_t> lengths = lengths_of_gaps();
	std::puts("## False negatives by gap, against the recursion\n");
	std::printf("Distinct items, importances uniform, 16,384 bytes, Max 7, K 5, P 10; after %s items, each further one is asked for "
				"again when\n"
				"*gap* others have come since. Missed, %%: measured / by the recursion over Max + 1 states from the value set "
				"(the paper's) / by the\n"
				"same from max(cell, value), the cell as found in the stable filter, which is what an item really leaves behind.\n\n",
				many(warm).c_str());
	std::puts("| gap | SBF | 2C, less important | 2C, important | MC, lowest class | MC, 4th of 7 | MC, highest class | "
			  "H, lowest | H, 4th of 7 | H, highest |");
	std::puts("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
	OfAll all;
	Worst worst;
	for (int v = SBF; v < varieties; v++)
	{
		Filter filter = Filter::of(static_cast<Variety>(v), paper_bytes, 5, 3, 10, 0, 1);
		Missed &missed = all.try_emplace(v, lengths.size()).first->second;
		measure(&filter, n, lengths, &missed);
		predict(filter, lengths, &missed);
		worst.look_at(v, missed);
	}
	rows(lengths, all);
	auto by = [&](Variety v) { return percent(worst.predicted[v]); };
	auto better = [&](Variety v) { return percent(worst.refined[v]); };
	std::printf("\nLargest difference over all gaps and values, absolute: SBF %s %%, 2C %s %%, MC %s %%, H %s %%; from max(cell, value) "
				"SBF %s %%,\n"
				"2C %s %%, MC %s %%, H %s %%. More missed than the paper's recursion says, of SBF, 2C and MC: at most %s %%.\n\n",
				by(SBF).c_str(), by(TWO).c_str(), by(MULTI).c_str(), by(HEAVY).c_str(), better(SBF).c_str(),
				better(TWO).c_str(), better(MULTI).c_str(), better(HEAVY).c_str(), percent(worst.above).c_str());
	std::puts("![false negatives by gap](papers-gaps.svg)\n");
}

} // namespace papers
