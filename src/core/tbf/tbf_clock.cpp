/*
 * tbf_clock.cpp: converts times to weights on the decaying scale. Times are microseconds since 2000-01-01 UTC. T is
 * the filter's parameter `epoch`, the length of an epoch. The time t lies in epoch number E(t) = floor(t / T), and x
 * = E(t) * T / half_life is the start of this epoch in half-lives since 2000-01-01. A hit at the time t weighs 2^x:
 * all hits of an epoch weigh the same, and those of an epoch that begins a half-life later weigh twice as much.
 *
 * This is the algorithm of Cheng et al. (2005, Fig. 1), which decays at epoch boundaries that all hits share. (Their
 * eq. 1 takes the floor of each hit's own age instead; the two differ by up to one epoch.)
 *
 * What is stored is calculated with integers, so that two machines store the same bytes. Everything is rounded up, so
 * that no count is ever too small. Only hits_at(), which is for estimates, rounds to nearest.
 */
#include "base/bits.hpp"
#include "streambloom.h"
#include "tbf/tbf_place.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

using namespace streambloom;

static constexpr uint64_t one = UINT64_C(1) << 62; /* 1 in units of 2^-62, as in sb_moment.scale */

/* floor(sqrt(n)), bit by bit. */
static constexpr uint64_t square_root(u128 n)
{
	uint64_t root = 0;
	for (uint64_t bit = UINT64_C(1) << 63; bit != 0; bit >>= 1)
	{
		uint64_t candidate = root | bit;
		if (static_cast<u128>(candidate) * candidate <= n)
			root = candidate;
	}
	return root;
}

static constexpr int fraction_bits = 32;

/*
 * roots[i] = 2^(2^-(i+1)) in units of 2^-62, rounded up. roots[0] is the square root of 2, and each other root is the
 * square root of the one before.
 */
static constexpr auto roots = [] {
	std::array<uint64_t, fraction_bits> table{};
	uint64_t value = 2 * one;
	for (auto &root : table)
		root = value = square_root(static_cast<u128>(value) << 62) + 1;
	return table;
}();

/*
 * 2^(part / whole) in units of 2^-62, rounded up by less than 1e-9 of itself. REQUIRES: 0 <= part <= whole, whole > 0.
 */
static uint64_t power_of_two(uint64_t part, uint64_t whole)
{
	u128 shifted = static_cast<u128>(part) << fraction_bits;
	auto fraction = static_cast<uint64_t>((shifted + whole - 1) / whole);
	if (fraction >> fraction_bits)
		return 2 * one;

	uint64_t power = one;
	for (int i = 0; i < fraction_bits; i++)
		if (fraction >> (fraction_bits - 1 - i) & 1)
			power = static_cast<uint64_t>(shift_right_up(static_cast<u128>(power) * roots[static_cast<size_t>(i)], 62));
	return power < 2 * one ? power : 2 * one;
}

void sb_tbf_moment(int64_t half_life, int64_t epoch, int64_t at, sb_moment *out) noexcept
{
	if (half_life == 0)
	{
		*out = {0, one, 2 * one, 0};
		return;
	}
	int64_t start = floor_divide(at, epoch) * epoch;
	int64_t half_lives = floor_divide(start, half_life);
	auto part = static_cast<uint64_t>(start - half_lives * half_life);
	auto whole = static_cast<uint64_t>(half_life);
	*out = {half_lives, power_of_two(part, whole), power_of_two(whole - part, whole), start};
}

sb_status sb_tbf_hit(const sb_moment *moment, double weight, uint64_t *out) noexcept
{
	if (!(weight >= 0) || !std::isfinite(weight))
		return SB_OUT_OF_RANGE;
	*out = 0;
	if (weight == 0)
		return SB_OK;

	/* weight = mantissa * 2^exponent; the mantissa has 53 bits, so its product with the 64-bit scale fits 128 bits */
	int exponent;
	auto mantissa = static_cast<uint64_t>(std::ldexp(std::frexp(weight, &exponent), 53));
	exponent -= 53;
	u128 product = static_cast<u128>(mantissa) * moment->scale;
	int shift = 62 - SB_TBF_HIT_BITS - exponent;

	/*
	 * A builder splits each sum over planes of 16 half-lives (tbf_sums.cpp). It adds the value to the part in the hit's
	 * plane, shifted by the place of the hit's half-life in that plane (0 to 15). A value below 2^46 stays below
	 * SB_TBF_MAX_CELL then.
	 */
	constexpr int most_bits = 62 - SB_TBF_PLANE;
	if (shift < 0)
		return SB_OVERFLOW;
	u128 value = shift_right_up(product, static_cast<uint64_t>(shift));
	if (value >> most_bits)
		return SB_OVERFLOW;
	*out = static_cast<uint64_t>(value);
	return SB_OK;
}

/* Returns the smallest double that is at least `value`. */
static double round_up(u128 value)
{
	if (value == 0)
		return 0;
	auto top = static_cast<uint64_t>(value >> 64);
	int width = top ? 128 - std::countl_zero(top) : 64 - std::countl_zero(static_cast<uint64_t>(value));
	int cut = width > 53 ? width - 53 : 0;
	auto kept = static_cast<uint64_t>(shift_right_up(value, static_cast<uint64_t>(cut)));
	return std::ldexp(static_cast<double>(kept), cut);
}

/*
 * Converts `hits`, which is in 2^-12 hits at the filter's base (the moment for which its counters are stored), to hits
 * at the time `at`. Rounds up.
 */
static double at_time(const sb_tbf *tbf, u128 hits, int64_t at)
{
	if (hits == 0)
		return 0;

	sb_moment moment;
	sb_tbf_moment(tbf->half_life, tbf->epoch, at, &moment);

	/* `hits` can have some 75 bits; only the highest 64 are kept, rounded up, so that the product fits 128 bits */
	int spare = 0;
	while (hits >> 64)
	{
		hits = shift_right_up(hits, 1);
		spare++;
	}

	/* 2^(base - x) = 2^(base - half_lives) * inverse / 2^63. If x is a whole number, the inverse is exactly 2^63. */
	int64_t distance = tbf->half_life == 0 ? 0 : tbf->base - moment.half_lives;
	u128 product = hits * moment.inverse;
	if (distance > 2000)
		return std::numeric_limits<double>::infinity();
	if (distance < -2000)
		distance = -2000;
	double count = std::ldexp(round_up(product), static_cast<int>(distance) + spare - 63 - SB_TBF_HIT_BITS);

	/* ldexp has rounded a denormal result to nearest; the next double above it is never too small */
	if (count < std::numeric_limits<double>::min())
		count = std::nextafter(count, 1.0);
	return count;
}

double sb_tbf_count(const sb_tbf *tbf, uint64_t units, int64_t at) noexcept
{
	return at_time(tbf, (static_cast<u128>(units) << (SB_TBF_HIT_BITS - tbf->unit_bits)) + sb_tbf_slack(tbf), at);
}

double sb_tbf_total(const sb_tbf *tbf, int64_t at) noexcept
{
	return at_time(tbf, tbf->total, at);
}

double streambloom::hits_at(const sb_tbf *tbf, double units, int64_t at)
{
	sb_moment moment;
	sb_tbf_moment(tbf->half_life, tbf->epoch, at, &moment);
	double distance = tbf->half_life == 0 ? 0 : static_cast<double>(tbf->base - moment.half_lives);
	return units * std::exp2(std::clamp(distance, -1000.0, 1000.0) - tbf->unit_bits) *
		   std::ldexp(static_cast<double>(moment.inverse), -63);
}
