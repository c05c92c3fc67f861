/*
 * decay_functions.cpp: the weight of a filter by its age, for filters that do not decay by themselves and are merged
 * with weights. A weight is a double. An age stays an integer until it is divided. So the weight is exact for a whole
 * number of half-lives, and at the points between which sb_decay_polygonal() interpolates.
 *
 * A weight must not be too small: counts could then be too small, and the filter promises that they never are. So the
 * remainder that a division rounds away is kept and added to the result (Ratio), which leaves an error of about an
 * ulp. If that is not enough, the weight is rounded up.
 */
#include "base/bits.hpp"
#include "streambloom.h"

#include <cmath>
#include <limits>

using streambloom::u128;

static constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
static constexpr double half_ulp = 0x1p-53; /* half an ulp of 1: the largest relative error of one operation */
static constexpr double ln2 = 0.693147180559945309417;

namespace {

/* The quotient a / b as a sum of two doubles, value + rest, which has about 100 correct bits. */
struct Ratio
{
	double value;
	double rest;

	/* REQUIRES: a, b <= 2^63 + 2^60 (so that the nearest double is an integer of 64 bits), b > 0. */
	Ratio(uint64_t a, uint64_t b)
	{
		auto high_a = static_cast<double>(a);
		auto high_b = static_cast<double>(b);
		auto low_a = static_cast<double>(static_cast<int64_t>(a - static_cast<uint64_t>(high_a)));
		auto low_b = static_cast<double>(static_cast<int64_t>(b - static_cast<uint64_t>(high_b)));
		value = high_a / high_b;
		rest = (std::fma(-value, high_b, high_a) + (low_a - value * low_b)) / high_b;
	}
};

} // namespace

/* Returns the age, or 0 if it is negative. (A time bucket that has not ended yet has a negative age.) */
static uint64_t grown(int64_t age)
{
	return age < 0 ? 0 : static_cast<uint64_t>(age);
}

static bool is_length(int64_t time)
{
	return time >= 1 && time <= SB_DECAY_MAX_LENGTH;
}

double sb_decay_exponential(int64_t age, int64_t half_life) noexcept
{
	if (!is_length(half_life))
		return not_a_number;
	if (age == SB_DECAY_FOREVER)
		return 0;

	auto life = static_cast<uint64_t>(half_life);
	uint64_t halvings = grown(age) / life;
	if (halvings > 1100) /* 2^-1075 rounds to 0 */
		return 0;
	Ratio part(grown(age) % life, life);
	double weight = std::exp2(-part.value);
	return std::ldexp(std::fma(weight, -ln2 * part.rest, weight), -static_cast<int>(halvings));
}

double sb_decay_window(int64_t age, int64_t width) noexcept
{
	if (!is_length(width))
		return not_a_number;
	return age < width ? 1 : 0;
}

double sb_decay_polynomial(int64_t age, double exponent, int64_t scale) noexcept
{
	if (!is_length(scale) || !(exponent > 0) || !std::isfinite(exponent))
		return not_a_number;
	if (age == SB_DECAY_FOREVER)
		return 0;

	/* With a = exponent, (1 + age/scale)^-a is base^a. With base = value + rest this is value^a (1 + rest/value)^a. */
	Ratio base(static_cast<uint64_t>(scale), static_cast<uint64_t>(scale) + grown(age));
	double weight = std::pow(base.value, exponent);
	if (!(weight > 0))
		return 0;
	double correction = exponent * std::log1p(base.rest / base.value);
	if (std::fabs(correction) < 0.5)
		return std::fma(weight, std::expm1(correction), weight);
	return weight * std::exp(correction); /* this happens only with an exponent above 2^50 */
}

double sb_decay_polyexponential(int64_t age, int32_t degree, int64_t scale, int64_t bucket) noexcept
{
	if (!is_length(scale) || degree < 0 || bucket < 0 || (bucket > SB_DECAY_MAX_LENGTH && bucket != SB_DECAY_FOREVER))
		return not_a_number;
	if (age == SB_DECAY_FOREVER)
		return 0;

	/*
	 * The filter has the hits of a time bucket (an hour, say), so its hits have the ages from `youngest` to `oldest`.
	 * The function rises to its peak at the age degree * scale and falls from there. So its largest value in the bucket
	 * is the one at the age nearest to the peak.
	 */
	u128 peak = static_cast<u128>(degree) * static_cast<u128>(scale);
	u128 youngest = grown(age);
	u128 oldest = youngest + static_cast<u128>(bucket);
	if (bucket == SB_DECAY_FOREVER ? youngest <= peak : youngest <= peak && peak <= oldest)
		return 1;
	u128 at = youngest > peak ? youngest : oldest;
	if (at == 0)
		return 0; /* the function is 0 at age 0, since here degree > 0 */

	/*
	 * With x = age / scale and k = degree the weight is (x/k)^k e^(k - x) = e^(k ln(x/k) - (x - k)). Near the peak the
	 * two terms of this exponent nearly cancel. So both are calculated from the difference of the integers; then the
	 * error of each term is only a few ulps of this term.
	 */
	double units = static_cast<double>(scale);
	double past = at > peak ? static_cast<double>(at - peak) / units : -(static_cast<double>(peak - at) / units);
	double growth = 0;
	if (degree > 0)
	{
		double relative = past / degree;
		growth = degree * (relative > -0.5 ? std::log1p(relative) :
											 std::log(static_cast<double>(at) / static_cast<double>(peak)));
	}
	double weight = std::exp(growth - past) * (1 + half_ulp * (4 + 12 * (std::fabs(growth) + std::fabs(past))));
	return weight < 1 ? weight : 1;
}

double sb_decay_linear(int64_t age, int64_t width) noexcept
{
	if (!is_length(width))
		return not_a_number;
	uint64_t old = grown(age);
	auto whole = static_cast<uint64_t>(width);
	if (old >= whole)
		return 0;
	Ratio left(whole - old, whole);
	return left.value + left.rest;
}

double sb_decay_polygonal(int64_t age, const int64_t *ages, const double *weights, size_t points) noexcept
{
	if (points == 0)
		return not_a_number;

	/*
	 * `passed` becomes the number of points whose age is not above `old`. Of several points of one age (a step) the
	 * last one counts.
	 */
	int64_t old = age < 0 ? 0 : age;
	size_t passed = 0;
	for (size_t beyond = points; passed < beyond;)
	{
		size_t middle = passed + (beyond - passed) / 2;
		if (ages[middle] <= old)
			passed = middle + 1;
		else
			beyond = middle;
	}
	if (passed == 0)
		return weights[0];
	if (passed == points || ages[passed - 1] == old)
		return weights[passed - 1];

	/*
	 * `old` lies between two points. The younger one has the weight `high`, the older one the weight `low`. `left` is
	 * the time from `old` to the older point, as a share of the time between the two. The weight is low + (high - low)
	 * * left. The remainder of each rounding is added in the end.
	 */
	double high = weights[passed - 1];
	double low = weights[passed];
	Ratio left(static_cast<uint64_t>(ages[passed] - old), static_cast<uint64_t>(ages[passed] - ages[passed - 1]));
	double height = high - low;
	double height_rest = (high - height) - low;
	double rise = height * left.value;
	double rise_rest = std::fma(height, left.value, -rise) + (height_rest * left.value + height * left.rest);
	double weight = low + rise;
	double risen = weight - low;
	double weight_rest = (low - (weight - risen)) + (rise - risen);
	weight += weight_rest + rise_rest;
	return weight > high ? high : weight < low ? low : weight;
}
