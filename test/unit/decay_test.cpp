/*
 * decay_test.cpp: the weights by age, compared with their formulas in a wider type. It also tests what a merge relies
 * on: a weight is in 0 .. 1, and apart from rounding it does not rise with age (only the polyexponential may rise, see
 * `bucket`) and is not below the formula. A bad parameter gives NaN, and nothing else does.
 */
#include "support.h"

#include <functional>
#include <limits>

using namespace test;

static constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
static constexpr double infinity = std::numeric_limits<double>::infinity();
static constexpr int64_t second = 1000000;
static constexpr int64_t hour = 3600 * second;
static constexpr int64_t day = 24 * hour;
static constexpr int64_t longest = SB_DECAY_MAX_LENGTH;
static constexpr int64_t forever = SB_DECAY_FOREVER;

namespace {

const int64_t corners[] = {0, day, 7 * day, 30 * day, 60 * day, 90 * day, longest};
const double heights[] = {1, 0.9, 0.5, 0.5, 0.1, 1.0 / 3000, 1.0 / 3000};

double polygon(int64_t age)
{
	return sb_decay_polygonal(age, corners, heights, 7);
}

/* One weight as a function of age, with its limit for infinite age. */
struct Weight
{
	const char *name;
	std::function<double(int64_t)> at;
	double limit;
};

std::vector<Weight> all_weights()
{
	std::vector<Weight> weights;
	for (int64_t length : {int64_t{1}, int64_t{3}, hour, 7 * day, int64_t{1} << 53, longest - 1, longest})
	{
		weights.push_back({"exponential", [=](int64_t age) { return sb_decay_exponential(age, length); }, 0});
		weights.push_back({"window", [=](int64_t age) { return sb_decay_window(age, length); }, 0});
		weights.push_back({"linear", [=](int64_t age) { return sb_decay_linear(age, length); }, 0});
		for (double power : {1e-300, 0.1, 1.0, 2.5, 100.0, 1e18, 1e300})
			weights.push_back({"polynomial", [=](int64_t age) { return sb_decay_polynomial(age, power, length); }, 0});
		for (int32_t degree : {0, 1, 2, 10, 1000, std::numeric_limits<int32_t>::max()})
			weights.push_back({"polyexponential",
							   [=](int64_t age) { return sb_decay_polyexponential(age, degree, length, forever); }, 0});
	}
	weights.push_back({"polygonal", polygon, heights[6]});
	return weights;
}

/* Ages of all magnitudes, and the ages next to those at which a function changes. */
std::vector<int64_t> all_ages()
{
	std::vector<int64_t> ages = {0, 1, 2, 3, forever - 1};
	Random random(20030609);
	for (int bits = 1; bits < 63; bits++)
		for (int i = 0; i < 20; i++)
			ages.push_back(between(random, 0, (int64_t{1} << bits) - 1));
	for (int64_t place : {hour, day, 7 * day, 10 * day, 30 * day, 60 * day, 90 * day, longest})
		for (int64_t beside = -2; beside <= 2; beside++)
			ages.push_back(place + beside);
	std::sort(ages.begin(), ages.end());
	return ages;
}

constexpr double ulp = 0x1p-52; /* the largest relative error of a result */

/* The reference needs a type wider than double. Where there is none, the tests of exactness compare nothing. */
constexpr bool have_reference = std::numeric_limits<long double>::digits >= 64;

/* Allows a little more than one ulp on either side, because the reference and its conversions round too. */
void expect_close(double weight, long double exact, double ulps = 1.1)
{
	long double scale = std::max(exact, static_cast<long double>(std::numeric_limits<double>::min()));
	EXPECT_LE(std::fabs(weight - exact), ulps * ulp * scale) << weight << " is not " << static_cast<double>(exact);
}

} // namespace

/* ------------------------------------------------------------- what all have */

TEST(Decay, WeightsLieBetweenZeroAndOne)
{
	for (const Weight &weight : all_weights())
		for (int64_t age : all_ages())
		{
			double w = weight.at(age);
			ASSERT_TRUE(w >= 0 && w <= 1) << weight.name << " of " << age << " is " << w;
		}
}

TEST(Decay, WeightsDoNotRiseWithAge)
{
	for (const Weight &weight : all_weights())
	{
		double before = 1;
		for (int64_t age : all_ages())
		{
			double w = weight.at(age);
			/* the polyexponential is rounded up by a margin that grows with age */
			double slack = weight.name == std::string("polyexponential") ? 1e-10 : 2 * ulp;
			ASSERT_LE(w, before * (1 + slack)) << weight.name << " of " << age;
			before = w;
		}
	}
}

TEST(Decay, NewHitsAndHitsStillToComeWeighOne)
{
	for (const Weight &weight : all_weights())
		for (int64_t age : {int64_t{0}, int64_t{-1}, -hour, std::numeric_limits<int64_t>::min()})
			EXPECT_EQ(weight.at(age), 1) << weight.name << " of " << age;
}

TEST(Decay, InfiniteAgeGivesTheLimit)
{
	for (const Weight &weight : all_weights())
		EXPECT_EQ(weight.at(forever), weight.limit) << weight.name;
}

TEST(Decay, BadLengthsGiveNaN)
{
	for (int64_t bad : {int64_t{0}, int64_t{-1}, longest + 1, forever, std::numeric_limits<int64_t>::min()})
		for (int64_t age : {int64_t{0}, hour, forever})
		{
			EXPECT_TRUE(std::isnan(sb_decay_exponential(age, bad)));
			EXPECT_TRUE(std::isnan(sb_decay_window(age, bad)));
			EXPECT_TRUE(std::isnan(sb_decay_linear(age, bad)));
			EXPECT_TRUE(std::isnan(sb_decay_polynomial(age, 1, bad)));
			EXPECT_TRUE(std::isnan(sb_decay_polyexponential(age, 1, bad, 0)));
		}
}

/* -------------------------------------------------------------- exponential */

TEST(DecayExponential, IsAPowerOfTwoAfterWholeHalfLives)
{
	for (int64_t life : {int64_t{1}, int64_t{3}, hour, 7 * day, 365 * day + 1})
		for (int lives = 0; lives <= 1074; lives++)
			ASSERT_EQ(sb_decay_exponential(lives * life, life), std::ldexp(1.0, -lives));
	EXPECT_EQ(sb_decay_exponential(1075, 1), 0);
	EXPECT_EQ(sb_decay_exponential(forever - 1, 1), 0);
}

TEST(DecayExponential, IsTheFormulaToAnUlp)
{
	if (!have_reference)
		GTEST_SKIP();
	Random random(1);
	for (int i = 0; i < 200000; i++)
	{
		int64_t life = between(random, 1, int64_t{1} << between(random, 1, 60));
		int64_t age = between(random, 0, std::min(life, longest / 5) * 5);
		expect_close(sb_decay_exponential(age, life),
					 std::exp2(-(static_cast<long double>(age) / static_cast<long double>(life))));
	}
}

/* ------------------------------------------------------------------- window */

TEST(DecayWindow, EndsAtItsWidth)
{
	EXPECT_EQ(sb_decay_window(day - 1, day), 1);
	EXPECT_EQ(sb_decay_window(day, day), 0);
	EXPECT_EQ(sb_decay_window(day + 1, day), 0);
}

/* Seen at the full hour, a window of 24 hours holds the 24 hourly rows that ended 0 .. 23 hours ago. */
TEST(DecayWindow, OfADayHoldsTwentyFourHourlyRows)
{
	double rows = 0;
	for (int ended = 0; ended < 48; ended++)
		rows += sb_decay_window(ended * hour, day);
	EXPECT_EQ(rows, 24);
}

/* --------------------------------------------------------------- polynomial */

TEST(DecayPolynomial, IsExactWhereItsValuesAre)
{
	EXPECT_EQ(sb_decay_polynomial(hour, 1, hour), 0.5);
	EXPECT_EQ(sb_decay_polynomial(3 * hour, 1, hour), 0.25);
	EXPECT_EQ(sb_decay_polynomial(3 * hour, 2, hour), 0.0625);
	EXPECT_EQ(sb_decay_polynomial(3 * hour, 0.5, hour), 0.5);
	EXPECT_EQ(sb_decay_polynomial(9 * day, 1, day), 0.1);
	EXPECT_EQ(sb_decay_polynomial(longest, 1, longest), 0.5);
}

TEST(DecayPolynomial, IsTheFormulaToAnUlp)
{
	if (!have_reference)
		GTEST_SKIP();
	Random random(2);
	for (int i = 0; i < 200000; i++)
	{
		int64_t scale = between(random, 1, int64_t{1} << between(random, 1, 60));
		int64_t age = between(random, 0, int64_t{1} << between(random, 1, 61));
		double exponent = uniform(random) * 8;
		expect_close(sb_decay_polynomial(age, exponent, scale),
					 std::pow(static_cast<long double>(scale) / static_cast<long double>(scale + age),
							  static_cast<long double>(exponent)));
	}
}

/*
 * (1 + x/s)^-a is close to e^(-a x/s) where x/s is small, however large a is. There scale / (scale + age) alone would
 * round to 1.
 */
TEST(DecayPolynomial, KeepsItsDigitsForHugeExponents)
{
	EXPECT_NEAR(sb_decay_polynomial(1, 0x1p60, longest), std::exp(-1.0), 1e-15);
	EXPECT_NEAR(sb_decay_polynomial(3, 0x1p59, longest), std::exp(-1.5), 1e-15);
	EXPECT_EQ(sb_decay_polynomial(1, 1e300, longest), 0);
}

TEST(DecayPolynomial, RefusesExponentsThatAreNotPositiveAndFinite)
{
	for (double bad : {0.0, -1.0, infinity, -infinity, nan_value})
		EXPECT_TRUE(std::isnan(sb_decay_polynomial(hour, bad, hour))) << bad;
}

/* ---------------------------------------------------------- polyexponential */

/* Cohen and Strauss write x^k e^-x / k!. Ours is that formula divided by its value at x = k. */
TEST(DecayPolyexponential, IsTheirFormulaOverItsPeak)
{
	for (int degree = 0; degree <= 12; degree++)
	{
		double peak = std::pow(degree, degree) * std::exp(-degree) / std::tgamma(degree + 1);
		for (int x = 0; x <= 60; x++)
		{
			double theirs = std::pow(x, degree) * std::exp(-x) / std::tgamma(degree + 1);
			double ours = sb_decay_polyexponential(x * hour, degree, hour, 0);
			EXPECT_NEAR(ours * peak, theirs, 1e-13 * theirs) << degree << ' ' << x;
		}
	}
}

TEST(DecayPolyexponential, IsNeverBelowTheFormulaAndHardlyAbove)
{
	if (!have_reference)
		GTEST_SKIP();
	Random random(3);
	for (int i = 0; i < 200000; i++)
	{
		int64_t scale = between(random, 1, int64_t{1} << between(random, 1, 50));
		auto degree = static_cast<int32_t>(between(random, 0, int64_t{1} << between(random, 0, 10)));
		int64_t age = between(random, 0, scale * (2 * degree + 20));
		long double x = static_cast<long double>(age) / static_cast<long double>(scale);
		long double k = degree;
		long double exact = degree == 0 ? std::exp(-x) : age == 0 ? 0 : std::exp(k * std::log(x / k) + k - x);
		double weight = sb_decay_polyexponential(age, degree, scale, 0);
		if (exact > 1e-300L)
		{
			/*
			 * the error of the reference: its terms are of size k log(x/k), and its type has 11 bits more than a
			 * double
			 */
			long double growth = degree == 0 ? 0 : std::fabs(k * std::log(x / k));
			long double doubt = 0x1p-62L * (1 + growth + k + x);
			ASSERT_GE(weight, exact * (1 - doubt - 0x1p-53L)) << age << ' ' << degree << ' ' << scale;
			ASSERT_LE(weight, exact * (1 + 1e-11L)) << age << ' ' << degree << ' ' << scale;
		}
	}
}

/*
 * If a row of a table has the hits of an hour or a day, the row gets one weight. The parameter `bucket`, the length of
 * this time, exists so that no hit in the row weighs more than the row.
 */
TEST(DecayPolyexponential, OfARowIsTheLargestWeightOfItsHits)
{
	Random random(4);
	for (int i = 0; i < 2000; i++)
	{
		auto degree = static_cast<int32_t>(between(random, 0, 6));
		int64_t age = between(random, 0, 12 * hour);
		int64_t bucket = between(random, 0, 6 * hour);
		double row = sb_decay_polyexponential(age, degree, hour, bucket);
		double largest = 0;
		for (int hit = 0; hit <= 200; hit++)
			largest = std::max(largest, sb_decay_polyexponential(age + bucket * hit / 200, degree, hour, 0));
		ASSERT_GE(row, largest);
		ASSERT_LE(row, largest + 0.001); /* hits are bucket / 200 apart: the peak may lie between two */
		ASSERT_LE(row, sb_decay_polyexponential(age, degree, hour, forever));
	}
}

/* Without `bucket` a row of an hour that has just ended would weigh nothing, although its hits have a weight. */
TEST(DecayPolyexponential, ByTheAgeOfItsEndAloneARowWouldCountTooLittle)
{
	EXPECT_EQ(sb_decay_polyexponential(0, 1, day, 0), 0);
	EXPECT_GT(sb_decay_polyexponential(hour / 2, 1, day, 0), 0.05);
	EXPECT_GT(sb_decay_polyexponential(0, 1, day, hour), 0.1);
}

TEST(DecayPolyexponential, EnvelopeIsOneUntilThePeakAndTheFormulaAfter)
{
	EXPECT_EQ(sb_decay_polyexponential(3 * hour, 3, hour, forever), 1);
	EXPECT_LT(sb_decay_polyexponential(3 * hour + 1000000, 3, hour, forever), 1);
	for (int64_t age = 3 * hour; age < 40 * hour; age += hour / 7)
		EXPECT_EQ(sb_decay_polyexponential(age, 3, hour, forever), sb_decay_polyexponential(age, 3, hour, 0));
}

TEST(DecayPolyexponential, RefusesNegativeDegreesAndBuckets)
{
	EXPECT_TRUE(std::isnan(sb_decay_polyexponential(hour, -1, hour, 0)));
	EXPECT_TRUE(std::isnan(sb_decay_polyexponential(hour, 1, hour, -1)));
	EXPECT_TRUE(std::isnan(sb_decay_polyexponential(hour, 1, hour, longest + 1)));
	EXPECT_FALSE(std::isnan(sb_decay_polyexponential(hour, 1, hour, longest)));
}

/* -------------------------------------------------------- linear, polygonal */

TEST(DecayLinear, IsAChord)
{
	EXPECT_EQ(sb_decay_linear(0, day), 1);
	EXPECT_EQ(sb_decay_linear(6 * hour, day), 0.75);
	EXPECT_EQ(sb_decay_linear(12 * hour, day), 0.5);
	EXPECT_EQ(sb_decay_linear(day, day), 0);
	EXPECT_EQ(sb_decay_linear(day + 1, day), 0);
	EXPECT_GT(sb_decay_linear(longest - 1, longest), 0);
	EXPECT_LT(sb_decay_linear(1, day), 1);
}

TEST(DecayLinear, IsAPolygonOfTwoPoints)
{
	Random random(5);
	for (int i = 0; i < 10000; i++)
	{
		int64_t width = between(random, 1, longest);
		int64_t ages[] = {0, width};
		double weights[] = {1, 0};
		int64_t age = between(random, 0, width);
		ASSERT_EQ(sb_decay_linear(age, width), sb_decay_polygonal(age, ages, weights, 2));
	}
}

TEST(DecayPolygonal, PassesThroughItsPoints)
{
	for (size_t i = 0; i < 7; i++)
		EXPECT_EQ(polygon(corners[i]), heights[i]) << i;
}

TEST(DecayPolygonal, IsStraightBetweenThem)
{
	EXPECT_EQ(polygon(8 * day), 0.5);
	EXPECT_EQ(polygon(20 * day), 0.5);
	EXPECT_NEAR(polygon(4 * day), 0.7, 1e-15);
	if (!have_reference)
		GTEST_SKIP();
	Random random(6);
	for (int i = 0; i < 200000; i++)
	{
		int64_t ages[] = {between(random, 0, 30 * day), between(random, 30 * day + 1, longest)};
		double weights[] = {uniform(random), 0};
		weights[1] = weights[0] * uniform(random) * (i % 2 ? 1 : 1e-9);
		int64_t age = between(random, ages[0], ages[1]);
		long double left = static_cast<long double>(ages[1] - age) / static_cast<long double>(ages[1] - ages[0]);
		expect_close(sb_decay_polygonal(age, ages, weights, 2),
					 weights[1] + (static_cast<long double>(weights[0]) - weights[1]) * left);
	}
}

TEST(DecayPolygonal, HoldsItsFirstAndLastWeights)
{
	const int64_t ages[] = {hour, day};
	const double weights[] = {0.8, 0.2};
	EXPECT_EQ(sb_decay_polygonal(0, ages, weights, 2), 0.8);
	EXPECT_EQ(sb_decay_polygonal(-hour, ages, weights, 2), 0.8);
	EXPECT_EQ(sb_decay_polygonal(day + 1, ages, weights, 2), 0.2);
	EXPECT_EQ(sb_decay_polygonal(forever, ages, weights, 2), 0.2);
	EXPECT_EQ(sb_decay_polygonal(12345, ages, weights, 1), 0.8);
}

TEST(DecayPolygonal, TakesTheLowerSideOfAStep)
{
	const int64_t ages[] = {0, day, day, 7 * day, 7 * day};
	const double weights[] = {1, 1, 0.5, 0.5, 0};
	EXPECT_EQ(sb_decay_polygonal(day - 1, ages, weights, 5), 1);
	EXPECT_EQ(sb_decay_polygonal(day, ages, weights, 5), 0.5);
	for (int64_t age : {int64_t{0}, 7 * day - 1, 7 * day, 8 * day})
		EXPECT_EQ(sb_decay_polygonal(age, ages + 2, weights + 2, 3), sb_decay_window(age, 7 * day) / 2);
}

TEST(DecayPolygonal, WithoutPointsIsNoWeight)
{
	EXPECT_TRUE(std::isnan(sb_decay_polygonal(0, nullptr, nullptr, 0)));
}
