/*
 * abf_formula.cpp: the formulas of an abf, which sb_abf.h explains. They use doubles, because they only plan and
 * predict. Of their results only k (how many slices have a bit of an item), l (how many generations a window has) and
 * the number of bits of a slice are stored. These are integers (the number of bits is a multiple of 64), so it hardly
 * matters if two C libraries give doubles that differ in the last digit.
 */
#include "streambloom.h"

#include <algorithm>
#include <cmath>
#include <limits>

static constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

static bool is_valid(int k, int l)
{
	return k >= 1 && k <= SB_ABF_MAX_HASHES && l >= 1 && l <= SB_ABF_MAX_GENERATIONS;
}

/*
 * The recursion goes over the slices one by one, by age. Before slice i, row[a] is the probability of three things
 * together: the last a slices have the item's bit, the slice before these does not have it, and no k slices in a row
 * have had it so far. At the end `found` is the probability that k slices in a row have it.
 */
double sb_abf_rate(int hash_count, int generations, const double *fills) noexcept
{
	if (!is_valid(hash_count, generations))
		return not_a_number;
	double row[SB_ABF_MAX_HASHES + 1] = {1};
	double found = 0;
	for (int i = 0; i < hash_count + generations; i++)
	{
		double missed = 0;
		const double fill = fills[i];
		found += row[hash_count - 1] * fill;
		missed += row[hash_count - 1] * (1 - fill);
		for (int a = hash_count - 1; a > 0; a--)
		{
			row[a] = row[a - 1] * fill;
			missed += row[a - 1] * (1 - fill);
		}
		row[0] = missed;
	}
	return found;
}

static double rate_of(int k, int l, double load)
{
	double fills[SB_ABF_MAX_SLICES];
	for (int i = 0; i < k + l; i++)
		fills[i] = -std::expm1(-load * std::min(i + 1, k) / k);
	return sb_abf_rate(k, l, fills);
}

double sb_abf_rate_of_load(int hash_count, int generations, double load, int block_bits) noexcept
{
	if (!is_valid(hash_count, generations) || !(load >= 0))
		return not_a_number;
	const double middle = rate_of(hash_count, generations, load);
	if (block_bits == 0 || load == 0)
		return middle;
	/*
	 * the number of items of a block is Poisson, here taken as normal; the mean of the rate over this distribution is
	 * computed by the Gauss-Hermite rule with three points
	 */
	const double deviation = std::sqrt(3 * load / block_bits);
	return (rate_of(hash_count, generations, std::max(load - deviation, 0.0)) + 4 * middle +
			rate_of(hash_count, generations, load + deviation)) /
		   6;
}

double sb_abf_load(int hash_count, int generations, double fpr, int block_bits) noexcept
{
	if (!is_valid(hash_count, generations) || !(fpr > 0 && fpr < 1))
		return not_a_number;
	double low = 0;
	double high = 8;
	for (int i = 0; i < 24; i++)
	{
		const double middle = (low + high) / 2;
		(sb_abf_rate_of_load(hash_count, generations, middle, block_bits) <= fpr ? low : high) = middle;
	}
	return low;
}

/*
 * Returns the l that a plan chooses: 5, 21, 38 and 54 for rates of 10 %, 1 %, 0.1 % and 0.01 %. The best k for these l
 * are 4, 8, 12 and 15. The more slices, up to some hundred, the fewer bits a filter needs; but each look-up reads a
 * part of all slices. With the l chosen here a filter needs about 5 % more bits than with the best l.
 */
static int best_generations(double fpr)
{
	return static_cast<int>(std::clamp(std::floor(-5 * std::log2(fpr) - 12 + 0.5), 2.0, 64.0));
}

void sb_abf_choose(double fpr, int *hash_count, int *generations) noexcept
{
	if (*generations == SB_ABF_CHOOSE)
		*generations = best_generations(fpr);
	if (*hash_count != SB_ABF_CHOOSE)
		return;
	const int l = *generations;
	auto bits = [&](int k) { return k * (k + l) / sb_abf_load(k, l, fpr, 0); };

	/* the number of bits has only one minimum in k, so going downhill finds it */
	int k = static_cast<int>(std::clamp(std::floor(-0.9 * std::log2(fpr) + 1.5), 1.0, double{SB_ABF_MAX_HASHES}));
	double least = bits(k);
	for (int step : {-1, 1})
		while (k + step >= 1 && k + step <= SB_ABF_MAX_HASHES)
		{
			const double next = bits(k + step);
			if (next > least * (1 - 1e-6)) /* a smaller gain may be rounding noise between C libraries */
				break;
			least = next;
			k += step;
		}
	*hash_count = k;
}

double sb_abf_cardinality(const sb_abf *abf, const uint64_t *set) noexcept
{
	const auto bits = static_cast<double>(sb_abf_bits(abf));
	double items = 0;
	/*
	 * A slice has the items of k generations. Every k-th age is taken, so no generation is in two of these slices.
	 * Together they have the newest l + 1 generations.
	 */
	for (int age = abf->generations; age >= 0; age -= abf->hash_count)
	{
		const double zeros = std::max(bits - static_cast<double>(set[age]), 0.5);
		items -= bits * std::log(zeros / bits);
	}
	return items == 0 ? 0 : items; /* 0 instead of -0 */
}
