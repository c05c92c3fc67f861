/*
 * zero_cells.cpp: the share of zero cells and the rate of false positives on distinct items, as measured and by the
 * formulas.
 */
#include "sections.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

namespace papers {

namespace {

struct Setting
{
	int bits, hashes, evictions;
};
constexpr Setting settings[] = {{3, 5, 10}, {3, 5, 25}, {2, 4, 8}, {4, 6, 40}}; /* Figure 18 is of the first */

/* Shares of zero cells, by the number of items so far. */
using Figure = std::map<uint64_t, std::array<double, varieties>>;

struct Filled
{
	Filter filter;
	Tally fp; /* of the second half */
};

/* Fills a filter with n distinct items. Adds points to the figure, if one is given. */
Filled fill(Variety v, const Setting &s, uint64_t n, Figure *figure)
{
	Filled filled{Filter::of(v, paper_bytes, s.hashes, s.bits, s.evictions, 0, 1), {}};
	Random random(4242);
	double next = 1000;
	for (uint64_t i = 1; i <= n; i++)
	{
		bool duplicate = filled.filter.step(sb_hash_int64(static_cast<int64_t>(i)), random.uniform());
		if (i > n / 2)
			filled.fp.add(1, duplicate);
		if (figure != nullptr && (static_cast<double>(i) >= next || i == n))
		{
			(*figure)[i][v] = filled.filter.zeros();
			next *= 1.1;
		}
	}
	return filled;
}

struct Worst
{
	double zeros = 0; /* of SBF, 2C and MC */
	double zeros_of_heavy = 0;
	double over = -1; /* the bound */
};

void row(Variety v, const Setting &s, const Filled &filled, Worst *worst)
{
	std::vector<double> shares;
	sb_stable_chain chain = filled.filter.chain(&shares);
	double zeros = filled.filter.zeros();
	double expected = sb_stable_zeros(&chain);
	double rate = filled.fp.rate();
	double bound = sb_stable_bound(&chain);
	double chance = 2 * std::sqrt(bound * (1 - bound) / filled.fp.asked);
	double &of = v == HEAVY ? worst->zeros_of_heavy : worst->zeros;
	of = std::max(of, std::abs(zeros - expected));
	worst->over = std::max(worst->over, rate - bound);
	std::printf("| %d, %d, %d | %s | %s %% | %s %% | %+.2f %% | %s %% | %s %% | %s %% | %s |\n", (1 << s.bits) - 1,
				s.hashes, s.evictions, names[v], percent(zeros).c_str(), percent(expected).c_str(),
				100 * (zeros - expected), percent(rate).c_str(), percent(chance).c_str(), percent(bound).c_str(),
				rate <= bound ? "no" : number("by %.2f %%", 100 * (rate - bound)).c_str());
}

/* The points of Figure 18, and its dashed lines: V0 of all but the plain filter. */
void write_files(const Figure &figure)
{
	std::ofstream out(directory + "/zeros.dat");
	for (const auto &[items, zeros] : figure)
	{
		out << items;
		for (double zero : zeros)
			out << ' ' << 100 * zero;
		out << '\n';
	}
	std::ofstream theory(directory + "/theory.dat");
	for (int v = SBF; v < varieties; v++)
	{
		std::vector<double> shares;
		sb_stable_chain chain = Filter::of(static_cast<Variety>(v), paper_bytes, 5, 3, 10, 0, 1).chain(&shares);
		theory << 100 * sb_stable_zeros(&chain) << '\n';
	}
}

} // namespace

void zero_cells()
{
	const uint64_t n = quick ? 400000 : 2000000;
	std::puts("## Zero cells: theory against measurement (Figure 18)\n");
	std::printf(
		"%s distinct items, importances uniform, 16,384 bytes. Zeros: the share of zero cells at the end. V0: the formula's. FP:\n"
		"the rate among the last half of the items. Bound: (1 − V0)^K. ±: twice the deviation that binomial chance alone gives the\n"
		"measured rate. IBF-H has no closed form: its V0 is the mean field's; it is not run for the last two.\n\n",
		many(n).c_str());
	std::puts("| Max, K, P | filter | zeros | V0 | difference | FP | ± | bound | over the bound |");
	std::puts("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |");
	Figure figure;
	Worst worst;
	for (const Setting &s : settings)
		for (int v = 0; v < varieties; v++)
		{
			bool first = &s == &settings[0];
			if ((v == BF && !first) || (v == HEAVY && &s > &settings[1])) /* H is slow where little is left to evict */
				continue;
			auto variety = static_cast<Variety>(v);
			Filled filled = fill(variety, s, n, first ? &figure : nullptr);
			if (v != BF) /* of which there is only the curve */
				row(variety, s, filled, &worst);
		}
	std::printf(
		"\nLargest difference of zeros from V0: %s %% absolute of SBF, 2C and MC (wanted: 1 %%), %s %% of IBF-H. Largest excess of a rate\n"
		"over its bound: %s %% absolute. On distinct items the rate *is* the bound, but for chance: half of such runs lie over it.\n\n",
		percent(worst.zeros).c_str(), percent(worst.zeros_of_heavy).c_str(),
		percent(std::max(worst.over, 0.0)).c_str());
	std::puts("![zero cells](papers-zeros.svg)\n");
	write_files(figure);
}

} // namespace papers
