/*
 * filter.hpp: the five filters that are compared, as one type: the plain filter, the stable one and the three schemes
 * of the paper, each of them parameters and cells of the core.
 */
#ifndef PAPERS_FILTER_HPP
#define PAPERS_FILTER_HPP

#include "common.hpp"

#include <vector>

namespace papers {

enum Variety
{
	BF,
	SBF,
	TWO,
	MULTI,
	HEAVY,
	varieties
};
inline constexpr const char *names[varieties] = {"BF", "SBF", "IBF-2C", "IBF-MC", "IBF-H"};
inline constexpr sb_scheme schemes[varieties] = {SB_STABLE, SB_STABLE, SB_TWO_CLASS, SB_MULTI_CLASS, SB_VALUE_WEIGHTED};

struct Filter
{
	sb_stable parameters{};
	std::vector<unsigned char> cells;

	explicit Filter(const sb_stable &from) : parameters(from), cells(sb_stable_cell_bytes(&from)) {}

	/* The plain filter is an sbf of one bit a cell that evicts nothing; the importances lie in low .. high. */
	static Filter of(Variety variety, uint64_t bytes, int hashes, int bits, int evictions, double low = 0,
					 double high = top)
	{
		sb_stable parameters;
		sb_scheme scheme = schemes[variety];
		if (scheme == SB_STABLE)
			low = high = 0;
		else if (scheme == SB_TWO_CLASS)
			low = high = (low + high) / 2;
		if (sb_stable_plan(bytes, 0.2, scheme, low, high, hashes, variety == BF ? 1 : bits,
						   variety == BF ? 0 : evictions, 0, &parameters) != SB_OK)
			die("these parameters are refused");
		return Filter(parameters);
	}

	bool step(uint64_t hash, double importance)
	{
		sb_stable_note_importance(&parameters, cells.data(), importance);
		return step(hash, sb_stable_value_of(&parameters, cells.data(), importance));
	}
	bool step(uint64_t hash, uint8_t value)
	{
		bool duplicate;
		sb_stable_steps(&parameters, cells.data(), &hash, &value, 1, &duplicate);
		return duplicate;
	}
	bool contains(uint64_t hash) const
	{
		for (int i = 0; i < parameters.hash_count; i++)
			if (streambloom::get_cell(cells.data(), parameters.bits, streambloom::cell_of(&parameters, hash, i)) == 0)
				return false;
		return true;
	}
	double zeros() const
	{
		uint64_t counts[SB_STABLE_MAX_VALUE + 1];
		if (sb_stable_count(&parameters, cells.data(), counts) != SB_OK)
			die("the cells cannot be counted");
		return static_cast<double>(counts[0]) / parameters.cell_count;
	}

	/*
	 * The input of the formulas for this filter. shares: as in sb_stable_chain; if empty, those of uniform
	 * importances.
	 */
	sb_stable_chain chain(std::vector<double> *shares) const
	{
		int max = sb_stable_max(&parameters);
		if (shares->empty())
		{
			shares->resize(static_cast<size_t>(max));
			sb_stable_uniform_shares(static_cast<sb_scheme>(parameters.scheme), max, shares->data());
		}
		return {static_cast<double>(parameters.cell_count), static_cast<double>(parameters.hash_count),
				static_cast<double>(parameters.evictions), max, parameters.scheme == SB_VALUE_WEIGHTED, shares->data()};
	}
};

} // namespace papers

#endif
