/*
 * bf_formula.cpp: the formulas that size a filter and predict its false-positive rate. They use doubles. The load that
 * they compute (items per line or block) is cut to coarse steps (blocked_load()), so that a difference in the last bit
 * between two C libraries does not change the size of a stored filter.
 */
#include "bf/bf_formula.hpp"

#include <cmath>
#include <limits>

static constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
static constexpr double ln2 = 0.693147180559945309417;

double sb_bloom_fpr(double bits, double hash_count, double items) noexcept
{
	if (!(bits > 0) || !(hash_count > 0) || !(items >= 0) || !std::isfinite(bits) || !std::isfinite(hash_count) ||
		!std::isfinite(items))
		return not_a_number;
	return std::pow(-std::expm1(-hash_count * items / bits), hash_count);
}

double sb_bloom_bits(double items, double fpr) noexcept
{
	if (!(items >= 0) || !std::isfinite(items) || !(fpr > 0 && fpr < 1))
		return not_a_number;
	return items * -std::log(fpr) / (ln2 * ln2);
}

double sb_bloom_hashes(double bits, double items) noexcept
{
	if (!(bits > 0) || !(items > 0) || !std::isfinite(bits) || !std::isfinite(items))
		return not_a_number;
	double best = bits / items * ln2;
	return best < 1 ? 1 : best;
}

double sb_blocked_fpr(double cells, int hash_count, double load) noexcept
{
	if (std::isinf(load)) /* all cells are set; the formulas below would multiply infinity by 0 */
		return 1;

	/*
	 * missed[i]: the probability that i given cells are all empty. An item makes k independent draws among the m cells,
	 * so it misses the i cells with probability (1 - i/m)^k. The number of items in the block is Poisson.
	 */
	double missed[SB_BF_MAX_HASHES + 1];
	for (int i = 0; i <= hash_count; i++)
		missed[i] = std::exp(load * std::expm1(hash_count * std::log1p(-i / cells)));
	if (hash_count >= cells) /* log1p(-1) is infinite; only an empty block misses all cells */
		for (int i = static_cast<int>(cells); i <= hash_count; i++)
			missed[i] = std::exp(-load);

	/*
	 * draws[d]: the probability that the k draws of the item that is looked up hit d distinct cells. It is computed for
	 * 1 draw, 2 draws and so on (the Stirling recursion in probabilities). all_set: the probability that d given cells
	 * are all set, by inclusion and exclusion. The terms of that sum stay below C(16,8), so double precision leaves an
	 * error of some 1e-12.
	 */
	double draws[SB_BF_MAX_HASHES + 2] = {1};
	for (int throws = 1; throws <= hash_count; throws++)
	{
		for (int d = throws; d >= 1; d--)
			draws[d] = draws[d] * (d / cells) + draws[d - 1] * (1 - (d - 1) / cells);
		draws[0] = 0;
	}

	double fpr = 0;
	for (int d = 1; d <= hash_count; d++)
	{
		double all_set = 0;
		double choose = 1;
		for (int i = 0; i <= d; i++)
		{
			all_set += (i % 2 ? -choose : choose) * missed[i];
			choose = choose * (d - i) / (i + 1);
		}
		fpr += draws[d] * (all_set > 0 ? all_set : 0);
	}
	return fpr;
}

double streambloom::blocked_load(double cells, int hash_count, double fpr)
{
	double low = 0;
	double high = cells;
	for (int step = 0; step < 40; step++)
	{
		double middle = (low + high) / 2;
		(sb_blocked_fpr(cells, hash_count, middle) <= fpr ? low : high) = middle;
	}
	return std::floor(low * 1024) / 1024;
}
