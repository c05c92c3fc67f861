/*
 * stable_formula.cpp: the formulas of sbf and ibf: stable point, rates, evictions, false negatives (streambloom.h says
 * which is whose). Doubles, because they plan and foretell: of what is stored only the whole number P comes from here.
 */
#include "streambloom.h"

#include <algorithm>
#include <cmath>
#include <limits>

static constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

static bool is_valid(const sb_stable_chain &chain)
{
	if (!(chain.cell_count >= 1) || !std::isfinite(chain.cell_count) || !(chain.hash_count >= 1 && chain.hash_count <= SB_STABLE_MAX_HASHES) ||
		!(chain.hash_count < chain.cell_count) || !(chain.evictions >= 0 && chain.evictions <= chain.cell_count) || chain.max < 1 ||
		chain.max > SB_STABLE_MAX_VALUE)
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


/* How much sooner a cell of this value is evicted than by random eviction, at a mean of 1/value of s. */
static double haste(bool weighted, double s, int value)
{
	return weighted ? std::min(1 / s, static_cast<double>(SB_STABLE_TRIES)) / value : 1;
}

/*
 * The stable state. What goes up past a level i must come down past it: (1 - T_i) k_i = V_i p'_i, T_i the share of the
 * cells with value i or more, V_i = T_i - T_(i+1): so 1 - T_i = (1 - T_(i+1)) p'_i / (p'_i + k_i). Returns 1 - T_1 = V0, and
 * the mean of 1/value in *inverse.
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
	for (int i = chain.max; i >= 1; i--)
	{
		from = chain.shares == nullptr ? 1 : from + chain.shares[i - 1];
		double down = p * haste(chain.weighted, s, i);
		double next = below * (down / (down + k * from));
		*inverse += (below - next) / i;
		below = next;
	}
	return below;
}

/* The s of a weighted chain that brings itself about; the fuller the filter, the larger. */
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
		(void)stable_state(chain, middle, &inverse);
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
	/* V0^(-1/Max) - 1, without the cancellation where V0 is near 1 */
	double excess = std::expm1(-std::log1p(-std::pow(fpr, 1 / hash_count)) / max);
	return 1 / (excess * (1 / hash_count - 1 / cells));
}

double sb_stable_fitting_evictions(const sb_stable_chain *chain, double fpr) noexcept
{
	sb_stable_chain with = *chain;
	auto fits = [&](double evictions)
	{
		with.evictions = evictions;
		return sb_stable_bound(&with) <= fpr;
	};
	double low = 0;
	double high = std::floor(chain->cell_count);
	if (!(fpr > 0 && fpr < 1) || !fits(high)) /* nor if it is NaN */
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
 * How probably is a cell's value at most i after n steps? Call that F(i). The next step gives
 *
 *	F'(i) = (1 - K(i + 1) - D(i + 1)) F(i) + D(i + 1) F(i + 1),
 *
 * K(i) the probability that the step sets the cell to i or more, D(i) that it takes 1 from a cell of the value i. So F is
 * multiplied by a matrix of two diagonals, and F(0) after n steps needs the first row of its n-th power only. That power
 * is upper triangular: its square takes a sixth of the multiplications that a full matrix takes, and its entries are nearly
 * all 0 at first.
 *
 * Rows are those of 0 .. max - 1. Columns are these, then max (F(max) is always 1), then what is missing to a row sum of 1:
 * rounding would drive the sum away from 1, and is corrected by it.
 */
namespace {

struct Triangle
{
	double *entries; /* max rows of max + 2 */
	int max;

	double *row(int i) const
	{
		return entries + static_cast<ptrdiff_t>(i) * (max + 2);
	}
};

} // namespace

/* Smaller ones count as 0: arithmetic with the products of two such (denormal numbers) takes a hundred times as long. */
static constexpr double negligible = 1e-150;

/* Brings a row's sum to 1. Is anything left before its last two columns, which the next powers no longer change? */
static bool settle_row(double *row, int from, int max)
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

/* out = a a. Returns whether higher powers differ from it. */
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
		moves |= settle_row(row, i, max);
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
	double s = mean_inverse(*chain);

	double above = 0; /* K(i + 2) */
	bool moves = true;
	for (int i = max - 1; i >= 0; i--)
	{
		double *row = power.row(i);
		double down = std::min(p * haste(chain->weighted, s, i + 1), 1 - above);
		double up = above + k * (chain->shares != nullptr ? chain->shares[i] : i + 1 == max ? 1 : 0);
		std::fill_n(row, max + 2, 0.0);
		row[i] = 1 - up - down;
		row[i + 1] = down;
		row[max + 1] = up;
		above = up;
	}

	/* the first row of the power: its part from `value` on is F(0), since F(i) is 1 from there on at the beginning and 0 before */
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
			(void)settle_row(next, 0, max);
			std::copy_n(next, max + 2, first);
		}
		if (!moves)
			break; /* all higher powers are this one */
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
