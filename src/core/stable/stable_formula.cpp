/*
 * stable_formula.cpp: the formulas of sbf and ibf: the stable state (the share of cells with each value to which a
 * filter tends), rates, evictions, false negatives. sb_stable.h explains the letters, and names the papers. The
 * formulas use doubles, because they only plan and predict. Of all stored fields only the integer P comes from here.
 */
#include "streambloom.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

static constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

static bool is_valid(const sb_stable_chain &chain)
{
	if (!(chain.cell_count >= 1) || !std::isfinite(chain.cell_count) ||
		!(chain.hash_count >= 1 && chain.hash_count <= SB_STABLE_MAX_HASHES) ||
		!(chain.hash_count < chain.cell_count) || !(chain.evictions >= 0 && chain.evictions <= chain.cell_count) ||
		chain.max < 1 || chain.max > SB_STABLE_MAX_VALUE)
		return false;
	if (chain.shares == nullptr)
		return true;
	double sum = 0;
	for (int i = 0; i < chain.max; i++)
	{
		if (!(chain.shares[i] >= 0))
			return false;
		sum += chain.shares[i];
	}
	return std::fabs(sum - 1) < 1e-6;
}

/*
 * Returns a factor: how much more often eviction by value takes 1 from a cell of the value 1 than eviction at random
 * does. A try draws one cell, and lowers it with the probability 1/value; on average over all cells this probability is
 * s. So a step lowers min(P, X) cells, where X is the number of successes in 32 P tries. X is binomial, and is taken
 * as normally distributed. (The mean of min(P, X) is needed. If 32 s is near 1, as it is with the default parameters,
 * it is clearly less than min(P, mean of X).)
 */
static double haste(const sb_stable_chain &chain, double s)
{
	if (!chain.weighted)
		return 1;
	double p = chain.evictions;
	double found = SB_STABLE_TRIES * p * s;
	double deviation = std::sqrt(found * (1 - s));
	if (!(deviation > 0))
		return std::min(1 / s, static_cast<double>(SB_STABLE_TRIES));
	double z = (p - found) / deviation;
	/* P - E[max(0, P - X)]; half of erfc(-z / sqrt(2)) is the probability that a normal variable is below z */
	double lowered = p - (p - found) * 0.5 * std::erfc(-z / std::numbers::sqrt2) -
					 deviation * std::exp(-z * z / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
	return std::clamp(lowered / (p * s), 1.0, static_cast<double>(SB_STABLE_TRIES));
}

/*
 * Computes the stable state; `s` is the mean that haste() needs. T_i is the share of the cells with a value of at
 * least i, and V_i = T_i - T_(i+1) is the share of the cells with the value i. In a step a cell is set to i or more
 * with the probability k_i, and loses 1 with the probability p'_i if its value is i. In the stable state as many cells
 * rise to i or more as fall below i: (1 - T_i) k_i = V_i p'_i. So 1 - T_i = (1 - T_(i+1)) p'_i / (p'_i + k_i). Returns
 * V0 = 1 - T_1. *inverse becomes the mean over all cells of 1/value, where a cell that is 0 counts as 0. (If nothing is
 * evicted, both are set to 0.)
 */
static double stable_state(const sb_stable_chain &chain, double s, double *inverse)
{
	double k = chain.hash_count / chain.cell_count;
	double p = chain.evictions / chain.cell_count * (1 - k);
	double below = 1; /* 1 - T_(i+1) */
	double from = 0;  /* share of the items that set i or more */

	*inverse = 0;
	if (p == 0)
		return 0;
	p *= haste(chain, s);
	for (int i = chain.max; i >= 1; i--)
	{
		from = chain.shares == nullptr ? 1 : from + chain.shares[i - 1];
		double down = chain.weighted ? p / i : p;
		double next = below * (down / (down + k * from));
		*inverse += (below - next) / i;
		below = next;
	}
	return below;
}

/*
 * Returns the s that stable_state() needs. For eviction by value (weighted) it is found by bisection: the number for
 * which the mean of 1/value, in the stable state that follows from s, is s itself. For eviction at random, where s is
 * not used, it is 1.
 */
static double mean_inverse(const sb_stable_chain &chain)
{
	double low = 0;
	double high = 1;
	if (!chain.weighted)
		return 1;
	for (int step = 0; step < 60; step++)
	{
		double middle = (low + high) / 2;
		double inverse;
		(void) stable_state(chain, middle, &inverse);
		(inverse > middle ? low : high) = middle;
	}
	return high;
}

double sb_stable_zeros(const sb_stable_chain *chain) noexcept
{
	double inverse;
	if (!is_valid(*chain))
		return not_a_number;
	return stable_state(*chain, mean_inverse(*chain), &inverse);
}

double sb_stable_bound(const sb_stable_chain *chain) noexcept
{
	double zeros = sb_stable_zeros(chain);
	return std::isnan(zeros) ? zeros : std::pow(1 - zeros, chain->hash_count);
}

double sb_stable_evictions(double fpr, double hash_count, int max, double cells) noexcept
{
	if (!(fpr > 0 && fpr < 1) || !is_valid({cells, hash_count, 0, max, false, nullptr}))
		return not_a_number;
	/* this is V0^(-1/Max) - 1; expm1 and log1p keep its digits if V0 is near 1 */
	double excess = std::expm1(-std::log1p(-std::pow(fpr, 1 / hash_count)) / max);
	return 1 / (excess * (1 / hash_count - 1 / cells));
}

double sb_stable_fitting_evictions(const sb_stable_chain *chain, double fpr) noexcept
{
	sb_stable_chain with = *chain;
	auto fits = [&](double evictions) {
		with.evictions = evictions;
		return sb_stable_bound(&with) <= fpr;
	};
	double low = 0;
	double high = std::floor(chain->cell_count);
	if (!(fpr > 0 && fpr < 1) || !fits(high)) /* also if the bound is NaN */
		return not_a_number;
	while (high - low > 1)
	{
		double middle = std::floor((low + high) / 2);
		(fits(middle) ? high : low) = middle;
	}
	return high;
}

/* ------------------------------------------------------------ false negatives */

/*
 * Let F(i) be the probability that the value of a cell is at most i after n steps. One more step gives
 *
 * 	F'(i) = (1 - K(i + 1) - D(i + 1)) F(i) + D(i + 1) F(i + 1),
 *
 * where K(i) is the probability that the step sets the cell to i or more, and D(i) the probability that it takes 1
 * from a cell with the value i. So a step multiplies F by a matrix of two diagonals, and F(0) after n steps needs
 * only the first row of the n-th power of this matrix. All powers are upper triangular: to square one takes a sixth of
 * the multiplications that a full matrix takes, and nearly all entries of the first powers are 0.
 *
 * The matrix has a row for each of F(0) .. F(max - 1). Its first `max` columns belong to these as well. The next column
 * belongs to F(max), which is always 1. The last column makes the sum of each row 1; what it multiplies is 0. Rounding
 * would change the sum, so each row is divided by its sum.
 */
namespace {

struct Triangle
{
	double *entries; /* max rows of max + 2 */
	int max;

	double *row(int i) const { return entries + static_cast<ptrdiff_t>(i) * (max + 2); }
};

} // namespace

/*
 * Entries below this number are set to 0. The product of two such entries could be a denormal number, and arithmetic
 * with denormal numbers takes a hundred times as long.
 */
static constexpr double negligible = 1e-150;

/*
 * Divides a row of a power of the matrix by its sum; the entries before column `from` are 0. Returns true if one of the
 * first `max` entries is not 0. Otherwise the row is the same in all higher powers.
 */
static bool normalize_row(double *row, int from, int max)
{
	double sum = 0;
	bool moves = false;
	for (int j = from; j < max + 2; j++)
		sum += row[j];
	for (int j = from; j < max + 2; j++)
	{
		row[j] /= sum;
		if (std::fabs(row[j]) < negligible)
			row[j] = 0;
		moves |= j < max && row[j] != 0;
	}
	return moves;
}

/* out = a * a. Returns true if higher powers differ from it. */
static bool square(const Triangle &a, const Triangle &out)
{
	const int max = a.max;
	bool moves = false;
	for (int i = 0; i < max; i++)
	{
		const double *left = a.row(i);
		double *row = out.row(i);
		std::fill_n(row, max, 0.0);
		row[max] = left[max];
		row[max + 1] = left[max + 1];
		for (int l = i; l < max; l++)
			if (const double factor = left[l]; factor != 0)
			{
				const double *right = a.row(l);
				for (int j = l; j < max + 2; j++)
					row[j] += factor * right[j];
			}
		moves |= normalize_row(row, i, max);
	}
	return moves;
}

double sb_stable_false_negatives(const sb_stable_chain *chain, int value, uint64_t gap, double *work) noexcept
{
	if (!is_valid(*chain) || value < 1 || value > chain->max)
		return not_a_number;
	const int max = chain->max;
	Triangle power = {work, max};
	Triangle other = {work + static_cast<ptrdiff_t>(max) * (max + 2), max};
	double k = chain->hash_count / chain->cell_count;
	double p = chain->evictions / chain->cell_count * (1 - k);
	if (p != 0)
		p *= haste(*chain, mean_inverse(*chain));

	double above = 0; /* K(i + 2) */
	bool moves = true;
	for (int i = max - 1; i >= 0; i--)
	{
		double *row = power.row(i);
		double down = std::min(chain->weighted ? p / (i + 1) : p, 1 - above);
		double up = above + k * (chain->shares != nullptr ? chain->shares[i] : i + 1 == max ? 1 : 0);
		std::fill_n(row, max + 2, 0.0);
		row[i] = 1 - up - down;
		row[i + 1] = down;
		row[max + 1] = up;
		above = up;
	}

	/*
	 * The first row of the power. At the beginning F(i) is 1 for i >= value and 0 for lower i. So F(0) after all
	 * steps is the sum of the row's entries in the columns `value` to `max`.
	 */
	double first[SB_STABLE_MAX_VALUE + 2] = {1};
	for (; gap != 0; gap >>= 1)
	{
		if ((gap & 1) != 0 || !moves)
		{
			double next[SB_STABLE_MAX_VALUE + 2] = {};
			next[max] = first[max];
			next[max + 1] = first[max + 1];
			for (int l = 0; l < max; l++)
				if (first[l] != 0)
					for (int j = l; j < max + 2; j++)
						next[j] += first[l] * power.row(l)[j];
			(void) normalize_row(next, 0, max);
			std::copy_n(next, max + 2, first);
		}
		if (!moves)
			break; /* all higher powers are the same matrix */
		if (gap > 1)
		{
			moves = square(power, other);
			std::swap(power, other);
		}
	}
	double forgotten = 0;
	for (int j = max; j >= value; j--)
		forgotten += first[j];
	return -std::expm1(chain->hash_count * std::log1p(-std::clamp(forgotten, 0.0, 1.0)));
}

void sb_stable_uniform_shares(sb_scheme scheme, int max, double *shares) noexcept
{
	std::fill_n(shares, max, 0.0);
	switch (scheme)
	{
		case SB_STABLE:
			shares[max - 1] = 1;
			break;
		case SB_TWO_CLASS:
			shares[max / 2 - 1] = 0.5;
			shares[max - 1] = 0.5;
			break;
		default:
			std::fill_n(shares, max, 1.0 / max);
	}
}
