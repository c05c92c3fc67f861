/*
 * formula_test.cpp: the formulas, compared with numbers from the slides of Leskovec, Rajaraman and Ullman, with a
 * simulation, and with an exact calculation by a Markov chain; their values at the limits; what they refuse.
 */
#include "support.h"

#include "bf/bf_formula.hpp"

#include <cmath>
#include <cstdio>
#include <limits>

using namespace test;
using streambloom::blocked_load;

static constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
static constexpr double infinity = std::numeric_limits<double>::infinity();

static std::string printed(const char *format, double value)
{
	char text[64];
	std::snprintf(text, sizeof text, format, value);
	return text;
}

/* -------------------------------------------------------------------- slides */

/*
 * The slides (Leskovec, Rajaraman, Ullman): 10^9 bits, 5 hashes, 10^8 items. They print a density of 1's of 0.393,
 * and (0.393)^5 = 0.00937, which is the fifth power of the rounded density. The unrounded formula gives 0.00943, and
 * the function must return this.
 */
TEST(BloomFpr, GivesTheDensityThatTheSlidesPrint)
{
	double density = std::pow(sb_bloom_fpr(1e9, 5, 1e8), 1.0 / 5);
	EXPECT_EQ(printed("%.3f", density), "0.393");
}

TEST(BloomFpr, GivesTheSlidesRateFromTheirRoundedDensity)
{
	double density = std::round(std::pow(sb_bloom_fpr(1e9, 5, 1e8), 1.0 / 5) * 1000) / 1000;
	EXPECT_EQ(printed("%.5f", std::pow(density, 5)), "0.00937");
}

TEST(BloomFpr, IsTheFormulaItselfForTheSlidesNumbers)
{
	EXPECT_NEAR(sb_bloom_fpr(1e9, 5, 1e8), std::pow(1 - std::exp(-0.5), 5), 1e-15);
	EXPECT_EQ(printed("%.5f", sb_bloom_fpr(1e9, 5, 1e8)), "0.00943");
}

/*
 * The slides' filter of 11 bits: h1 takes the odd-numbered bits from the right of x (the first, the third, ...), h2 the
 * even-numbered ones, both modulo 11. The filter is printed with bit 0 first.
 */
namespace {

struct PlainFilter
{
	unsigned bits = 0;

	static unsigned every_other_bit(unsigned x)
	{
		unsigned result = 0;
		for (unsigned i = 0; x >> (2 * i) != 0; i++)
			result |= (x >> (2 * i) & 1) << i;
		return result;
	}
	static unsigned h1(unsigned x) { return every_other_bit(x) % 11; }
	static unsigned h2(unsigned x) { return every_other_bit(x >> 1) % 11; }
	void add(unsigned x) { bits |= 1u << h1(x) | 1u << h2(x); }
	bool contains(unsigned x) const { return (bits >> h1(x) & 1) != 0 && (bits >> h2(x) & 1) != 0; }
	std::string contents() const
	{
		std::string text;
		for (int i = 0; i < 11; i++)
			text += (bits >> i & 1) != 0 ? '1' : '0';
		return text;
	}
};

} // namespace

TEST(Slides, ElevenBitFilterFillsAsPrinted)
{
	PlainFilter filter;
	EXPECT_EQ(PlainFilter::h1(25), 5u);
	EXPECT_EQ(PlainFilter::h2(25), 2u);
	filter.add(25);
	EXPECT_EQ(filter.contents(), "00100100000");
	EXPECT_EQ(PlainFilter::h1(159), 7u);
	EXPECT_EQ(PlainFilter::h2(159), 0u);
	filter.add(159);
	EXPECT_EQ(filter.contents(), "10100101000");
	EXPECT_EQ(PlainFilter::h1(585), 9u);
	EXPECT_EQ(PlainFilter::h2(585), 7u);
	filter.add(585);
	EXPECT_EQ(filter.contents(), "10100101010");
}

TEST(Slides, ElevenBitFilterIsSureThat118IsNew)
{
	PlainFilter filter;
	for (unsigned x : {25u, 159u, 585u})
		filter.add(x);
	for (unsigned x : {25u, 159u, 585u})
		EXPECT_TRUE(filter.contains(x));
	EXPECT_EQ(PlainFilter::h1(118), 3u);
	EXPECT_EQ(PlainFilter::h2(118), 5u);
	EXPECT_FALSE(filter.contains(118));
}

/* ------------------------------------------------------------ classic formulas */

TEST(BloomFpr, IsZeroWithoutItemsAndOneWhenDrowned)
{
	EXPECT_EQ(sb_bloom_fpr(1000, 3, 0), 0);
	EXPECT_EQ(sb_bloom_fpr(10, 1, 1e9), 1);
}

TEST(BloomFpr, KeepsItsDigitsWhereTheFilterIsNearlyEmpty)
{
	/* the formula 1 - e^-x has no digit left below 1e-16; there the rate is (kn/m)^k */
	EXPECT_NEAR(sb_bloom_fpr(1e18, 1, 1) / 1e-18, 1, 1e-12);
	EXPECT_NEAR(sb_bloom_fpr(1e18, 2, 1) / 4e-36, 1, 1e-12);
}

TEST(BloomFpr, RefusesWhatIsNoFilter)
{
	EXPECT_TRUE(std::isnan(sb_bloom_fpr(0, 5, 10)));
	EXPECT_TRUE(std::isnan(sb_bloom_fpr(-1, 5, 10)));
	EXPECT_TRUE(std::isnan(sb_bloom_fpr(100, 0, 10)));
	EXPECT_TRUE(std::isnan(sb_bloom_fpr(100, -2, 10)));
	EXPECT_TRUE(std::isnan(sb_bloom_fpr(100, 5, -1)));
	for (double bad : {nan_value, infinity, -infinity})
	{
		EXPECT_TRUE(std::isnan(sb_bloom_fpr(bad, 5, 10)));
		EXPECT_TRUE(std::isnan(sb_bloom_fpr(100, bad, 10)));
		EXPECT_TRUE(std::isnan(sb_bloom_fpr(100, 5, bad)));
	}
}

TEST(BloomBits, AreTheTextbookNumbers)
{
	/* 1 % costs 9.585 bits per item, and each further factor of ten 4.793 */
	EXPECT_NEAR(sb_bloom_bits(1, 0.01), 9.585, 0.001);
	EXPECT_NEAR(sb_bloom_bits(1, 0.001) - sb_bloom_bits(1, 0.01), 4.793, 0.001);
	EXPECT_EQ(sb_bloom_bits(0, 0.01), 0);
}

TEST(BloomBits, GiveTheRateThatWasAskedAtTheBestHashes)
{
	for (double fpr : {0.3, 0.1, 0.01, 1e-4, 1e-9})
		for (double items : {1e3, 1e6, 1e9})
		{
			double bits = sb_bloom_bits(items, fpr);
			double hashes = sb_bloom_hashes(bits, items);
			EXPECT_NEAR(sb_bloom_fpr(bits, hashes, items) / fpr, 1, 1e-9);
		}
}

TEST(BloomBits, RefuseRatesOutsideZeroToOne)
{
	for (double fpr : {0.0, 1.0, 2.0, -1.0, nan_value, infinity})
		EXPECT_TRUE(std::isnan(sb_bloom_bits(1000, fpr))) << fpr;
	for (double items : {-1.0, nan_value, infinity})
		EXPECT_TRUE(std::isnan(sb_bloom_bits(items, 0.01))) << items;
}

TEST(BloomHashes, AreAtLeastOne)
{
	EXPECT_EQ(sb_bloom_hashes(10, 1000), 1);
	EXPECT_NEAR(sb_bloom_hashes(1e9, 1e8), 10 * std::log(2), 1e-12);
}

TEST(BloomHashes, RefuseWhatIsNoFilter)
{
	for (double bad : {0.0, -1.0, nan_value, infinity})
	{
		EXPECT_TRUE(std::isnan(sb_bloom_hashes(bad, 10))) << bad;
		EXPECT_TRUE(std::isnan(sb_bloom_hashes(10, bad))) << bad;
	}
}

TEST(BloomHashes, AreBestAmongTheirNeighbours)
{
	for (double bits_an_item : {2.0, 5.0, 10.0, 20.0})
	{
		double best = sb_bloom_hashes(bits_an_item, 1);
		double rate = sb_bloom_fpr(bits_an_item, best, 1);
		EXPECT_LE(rate, sb_bloom_fpr(bits_an_item, best * 1.05, 1));
		EXPECT_LE(rate, sb_bloom_fpr(bits_an_item, best * 0.95, 1));
	}
}

/* ------------------------------------------------------------- blocked filters */

/*
 * Computes the rate of a blocked filter in another way than sb_blocked_fpr(). The number of cells that are set after
 * n draws is a Markov chain; the number of items is Poisson; the k independent draws of a query all hit set cells
 * with probability (set/cells)^k. No terms cancel, so the result is exact to double precision. It is slow.
 */
static double blocked_fpr_by_markov_chain(int cells, int hashes, double load)
{
	std::vector<double> set(static_cast<size_t>(cells) + 1, 0.0);
	set[0] = 1;
	auto query = [&] {
		double rate = 0;
		for (int s = 0; s <= cells; s++)
			rate += set[static_cast<size_t>(s)] * std::pow(static_cast<double>(s) / cells, hashes);
		return rate;
	};
	double rate = 0;
	int most = static_cast<int>(load + 12 * std::sqrt(load) + 30);
	for (int items = 0; items <= most; items++)
	{
		rate += std::exp(-load + items * std::log(load) - std::lgamma(items + 1.0)) * query();
		for (int draw = 0; draw < hashes; draw++)
			for (int s = cells; s >= 0; s--)
			{
				auto i = static_cast<size_t>(s);
				set[i] = set[i] * s / cells + (s > 0 ? set[i - 1] * (cells - s + 1) / cells : 0);
			}
	}
	return rate;
}

TEST(BlockedFpr, EqualsTheMarkovChain)
{
	struct
	{
		int cells, hashes;
		double load;
	} const cases[] = {{2, 1, 0.5},	 {2, 2, 1},		 {3, 7, 2},		 {8, 16, 0.7},	{16, 16, 1},
					   {64, 1, 40},	 {64, 3, 10},	 {64, 8, 5},	 {512, 1, 300}, {512, 3, 100},
					   {512, 5, 60}, {512, 8, 30},	 {512, 11, 17},	 {512, 16, 10}, {512, 16, 40},
					   {512, 6, 3},	 {256, 8, 0.01}, {1024, 4, 170}, {1024, 9, 50}};
	for (const auto &c : cases)
	{
		double expected = blocked_fpr_by_markov_chain(c.cells, c.hashes, c.load);
		EXPECT_NEAR(sb_blocked_fpr(c.cells, c.hashes, c.load), expected, expected * 1e-9 + 5e-12)
			<< c.cells << " cells, " << c.hashes << " hashes, load " << c.load;
	}
}

TEST(BlockedFpr, EqualsASimulation)
{
	struct
	{
		int cells, hashes;
		double load;
	} const cases[] = {{64, 3, 10}, {512, 5, 50}, {512, 8, 38}, {4096, 4, 500}, {4096, 1, 2000}, {16, 16, 1.5}};
	Random random(21);
	for (const auto &c : cases)
	{
		std::poisson_distribution<int> items(c.load);
		int rounds = 4000;
		double sum = 0;
		double squares = 0;
		std::vector<bool> set(static_cast<size_t>(c.cells));
		for (int round = 0; round < rounds; round++)
		{
			set.assign(set.size(), false);
			int used = 0;
			for (int draw = items(random) * c.hashes; draw > 0; draw--)
			{
				size_t cell = random() % set.size();
				used += !set[cell];
				set[cell] = true;
			}
			/* once the block is known, the draws of the query are independent, so they need no simulation */
			double rate = std::pow(static_cast<double>(used) / c.cells, c.hashes);
			sum += rate;
			squares += rate * rate;
		}
		double mean = sum / rounds;
		double sigma = std::sqrt((squares / rounds - mean * mean) / rounds);
		EXPECT_NEAR(sb_blocked_fpr(c.cells, c.hashes, c.load), mean, 4 * sigma)
			<< c.cells << " cells, " << c.hashes << " hashes, load " << c.load;
	}
}

TEST(BlockedFpr, OfOneHashIsTheFill)
{
	for (double load : {0.0, 0.001, 1.0, 100.0, 5000.0})
		EXPECT_NEAR(sb_blocked_fpr(512, 1, load), -std::expm1(-load / 512), 1e-14);
}

TEST(BlockedFpr, IsZeroWithoutLoadAndOneWhenDrowned)
{
	for (int hashes = 1; hashes <= 16; hashes++)
		for (double cells : {2.0, 8.0, 64.0, 512.0, 4096.0})
		{
			EXPECT_NEAR(sb_blocked_fpr(cells, hashes, 0), 0, 1e-11);
			EXPECT_NEAR(sb_blocked_fpr(cells, hashes, cells * 100), 1, 1e-11);
			EXPECT_EQ(sb_blocked_fpr(cells, hashes, INFINITY), 1);
		}
}

TEST(BlockedFpr, GrowsWithTheLoad)
{
	for (int hashes = 1; hashes <= 16; hashes++)
	{
		double before = 0;
		for (double load = 0; load < 300; load += 0.5)
		{
			double rate = sb_blocked_fpr(512, hashes, load);
			EXPECT_GE(rate, before - 1e-11) << hashes << " hashes, load " << load;
			before = rate;
		}
	}
}

TEST(BlockedFpr, TendsToTheClassicRateAsBlocksGrow)
{
	double before = 1;
	for (double cells : {64.0, 512.0, 4096.0, 65536.0, 1048576.0})
	{
		double excess = sb_blocked_fpr(cells, 5, cells / 10) / sb_bloom_fpr(cells, 5, cells / 10) - 1;
		EXPECT_GT(excess, 0);
		EXPECT_LT(excess, before);
		before = excess;
	}
	EXPECT_LT(before, 1e-4);
}

TEST(BlockedLoad, IsTheLargestMultipleOf1024thsThatKeepsTheRate)
{
	for (double cells : {64.0, 512.0, 4096.0})
		for (int hashes = 1; hashes <= 16; hashes++)
			for (double fpr : {0.5, 0.1, 0.01, 1e-3, 1e-5})
			{
				double load = blocked_load(cells, hashes, fpr);
				EXPECT_EQ(load * 1024, std::floor(load * 1024));
				if (load > 0)
				{
					EXPECT_LE(sb_blocked_fpr(cells, hashes, load), fpr);
				}
				EXPECT_GT(sb_blocked_fpr(cells, hashes, load + 1.0 / 1024), fpr)
					<< cells << " " << hashes << " " << fpr;
			}
}

/* How much more a line of 512 bits costs than the classic optimum, at the best k. */
TEST(BlockedLoad, OfALineCostsWhatTheDesignSays)
{
	struct
	{
		double fpr, cost;
	} const cases[] = {{0.1, 1.01}, {0.01, 1.04}, {0.001, 1.08}, {1e-4, 1.15}, {1e-5, 1.24}};
	for (const auto &c : cases)
	{
		double load = 0;
		for (int hashes = 1; hashes <= SB_BF_MAX_HASHES; hashes++)
			load = std::max(load, blocked_load(512, hashes, c.fpr));
		double cost = 512 / load / sb_bloom_bits(1, c.fpr);
		EXPECT_NEAR(cost, c.cost, 0.0075) << c.fpr;
		EXPECT_LT(cost, 1.25) << c.fpr;
	}
}

TEST(BlockedLoad, OfHalfALineWouldNotDo)
{
	double load = 0;
	for (int hashes = 1; hashes <= SB_BF_MAX_HASHES; hashes++)
		load = std::max(load, blocked_load(256, hashes, 1e-5));
	EXPECT_GT(256 / load / sb_bloom_bits(1, 1e-5), 1.25);
}
