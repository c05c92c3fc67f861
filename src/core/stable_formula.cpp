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
	if (!(chain.cells >= 1) || !std::isfinite(chain.cells) || !(chain.hashes >= 1 && chain.hashes <= SB_STABLE_MAX_HASHES) ||
		!(chain.hashes < chain.cells) || !(chain.evictions >= 0 && chain.evictions <= chain.cells) || chain.max < 1 ||
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
	double k = chain.hashes / chain.cells;
	double p = chain.evictions / chain.cells * (1 - k);
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
	return std::isnan(zeros) ? zeros : std::pow(1 - zeros, chain->hashes);
}

double sb_stable_evictions(double fpr, double hashes, int max, double cells) noexcept
{
	if (!(fpr > 0 && fpr < 1) || !is_valid({cells, hashes, 0, max, false, nullptr}))
		return not_a_number;
	/* V0^(-1/Max) - 1, without the cancellation where V0 is near 1 */
	double excess = std::expm1(-std::log1p(-std::pow(fpr, 1 / hashes)) / max);
	return 1 / (excess * (1 / hashes - 1 / cells));
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
	double high = std::floor(chain->cells);
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

/* out = a a, a square matrix of probabilities: rows are kept at the sum 1, from which rounding would drive them. */
static void square(const double *a, double *out, int rows)
{
	for (int i = 0; i < rows; i++)
	{
		double *row = out + i * rows;
		double sum = 0;
		std::fill_n(row, rows, 0.0);
		for (int j = 0; j < rows; j++)
			if (double factor = a[i * rows + j]; factor != 0)
				for (int l = 0; l < rows; l++)
					row[l] += factor * a[j * rows + l];
		for (int l = 0; l < rows; l++)
			sum += row[l];
		for (int l = 0; l < rows; l++)
			row[l] /= sum;
	}
}

double sb_stable_false_negatives(const sb_stable_chain *chain, int value, uint64_t gap, double *work) noexcept
{
	if (!is_valid(*chain) || value < 1 || value > chain->max)
		return not_a_number;
	const int rows = chain->max + 1;
	double *power = work;
	double *other = work + static_cast<size_t>(rows) * static_cast<size_t>(rows);
	double k = chain->hashes / chain->cells;
	double p = chain->evictions / chain->cells * (1 - k);
	double s = mean_inverse(*chain);

	/* one step: from value i down with p', up to each higher value j with k times the share of j */
	std::fill_n(power, rows * rows, 0.0);
	for (int i = 0; i < rows; i++)
	{
		double leaves = 0;
		for (int j = i + 1; j < rows; j++)
		{
			double up = k * (chain->shares != nullptr ? chain->shares[j - 1] : j == chain->max ? 1 : 0);
			power[i * rows + j] = up;
			leaves += up;
		}
		if (i > 0)
		{
			double down = std::min(p * haste(chain->weighted, s, i), 1 - leaves);
			power[i * rows + i - 1] = down;
			leaves += down;
		}
		power[i * rows + i] = 1 - leaves;
	}

	/* the state after gap steps, by the powers of the matrix */
	double state[SB_STABLE_MAX_VALUE + 1] = {};
	state[value] = 1;
	for (; gap != 0; gap >>= 1)
	{
		if (gap & 1)
		{
			double next[SB_STABLE_MAX_VALUE + 1] = {};
			for (int i = 0; i < rows; i++)
				for (int j = 0; j < rows; j++)
					next[j] += state[i] * power[i * rows + j];
			std::copy_n(next, rows, state);
		}
		if (gap > 1)
		{
			square(power, other, rows);
			std::swap(power, other);
		}
	}
	return -std::expm1(chain->hashes * std::log1p(-std::min(state[0], 1.0)));
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
