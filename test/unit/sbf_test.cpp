/*
 * sbf_test.cpp: the Stable Bloom filter and its formulas. On an endless stream the share of zero cells tends to a fixed
 * value, the *stable point*, which the formula tells, and the false-positive rate stays below its bound. After a gap of
 * other items there are as many false negatives as the recursion foretells. ibf_test.cpp tests the promises of the ibf,
 * stable_test.cpp what both filters share.
 */
#include "stable_support.h"

#include <limits>

using namespace test;

/* --------------------------------------------------------------------- steps */

TEST(Sbf, FindsWhatCameJustBefore)
{
	for (double fpr : {0.5, 0.1, 0.01, 0.0001})
	{
		Stable filter(65536, SB_STABLE, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, fpr);
		for (uint64_t hash : random_hashes(2, 20000))
		{
			filter.step(hash);
			ASSERT_TRUE(filter.contains(hash));
			ASSERT_TRUE(filter.step(hash)); /* a step looks the item up before it evicts */
		}
	}
}

TEST(Sbf, WithoutEvictionIsAPlainBloomFilter)
{
	Stable filter(10000, SB_STABLE, 5, 1, 0);
	std::vector<uint64_t> items = random_hashes(4, 10000);
	for (uint64_t hash : items)
		filter.step(hash);
	for (uint64_t hash : items)
		EXPECT_TRUE(filter.contains(hash));
	EXPECT_NEAR(1 - filter.zeros(), 1 - std::exp(-5.0 * 10000 / 80000), 0.01);
	filter.decay(1000);
	for (uint64_t hash : items)
		EXPECT_TRUE(filter.contains(hash));
}

/* -------------------------------------------------------------- the stable point */

struct Setting
{
	int bits;
	int hashes;
	int64_t evictions;
};

static const Setting settings[] = {{3, 5, 10}, {2, 4, 16}, {4, 6, 70}};

class StableAt : public ::testing::TestWithParam<Setting>
{
};
INSTANTIATE_TEST_SUITE_P(Settings, StableAt, ::testing::ValuesIn(settings),
						 [](const auto &at) { return "Max" + std::to_string((1 << at.param.bits) - 1); });

TEST_P(StableAt, TheFormulaSaysThereMustBeZeroes)
{
	for (sb_scheme scheme : {SB_STABLE, SB_TWO_CLASS, SB_MULTI_CLASS})
	{
		Stable filter(16384, scheme, GetParam().hashes, GetParam().bits, GetParam().evictions);
		Measured measured = measure(filter);
		sb_stable_chain chain = filter.chain();
		EXPECT_NEAR(measured.zeros, sb_stable_zeros(&chain), 0.002) << scheme;
		EXPECT_NEAR(measured.last_zeros, sb_stable_zeros(&chain), 0.01) << scheme;
		EXPECT_LE(measured.false_positives, sb_stable_bound(&chain) + measured.sampling_error) << scheme;
		/* the bound is not too high either: a stream of distinct items nearly reaches it */
		EXPECT_GE(measured.false_positives, 0.9 * sb_stable_bound(&chain) - measured.sampling_error) << scheme;
	}
}

TEST_P(StableAt, RunsOfCellsEvictLikeScatteredOnes)
{
	for (sb_scheme scheme : {SB_STABLE, SB_TWO_CLASS, SB_MULTI_CLASS})
	{
		const uint64_t items = long_stream / 4;
		Stable runs(16384, scheme, GetParam().hashes, GetParam().bits, GetParam().evictions);
		Measured of_runs = measure(runs, items);
		Stable filter(16384, scheme, GetParam().hashes, GetParam().bits, GetParam().evictions);
		Measured scattered = measure(filter, items, [&](uint64_t hash, double importance) {
			bool duplicate = filter.contains(hash);
			streambloom::evict_scattered(&filter.parameters, filter.cells.data());
			uint32_t evictions = filter.parameters.evictions;
			filter.parameters.evictions = 0;
			filter.step(hash, importance);
			filter.parameters.evictions = evictions;
			return duplicate;
		});
		EXPECT_NEAR(of_runs.zeros, scattered.zeros, 0.003) << scheme;
		EXPECT_NEAR(of_runs.false_positives, scattered.false_positives,
					0.01 + of_runs.sampling_error + scattered.sampling_error)
			<< scheme;
	}
}

TEST(Sbf, KeepsTheRateItWasPlannedFor)
{
	for (double fpr : {0.2, 0.1, 0.01, 0.001})
	{
		Stable filter(16384, SB_STABLE, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, fpr);
		Measured measured = measure(filter, long_stream / 2);
		EXPECT_LE(measured.false_positives, fpr + measured.sampling_error);
		EXPECT_GE(measured.false_positives, 0.5 * fpr - measured.sampling_error); /* nor is more evicted than needed */
	}
}

/* How many other items may come before one repeat in ten is missed. */
static uint64_t memory_of(int bits, int hashes, double fpr)
{
	sb_stable planned;
	if (sb_stable_plan(16384, fpr, SB_STABLE, 0, 0, hashes, bits, SB_STABLE_CHOOSE, 0, &planned) != SB_OK)
		return 0;
	sb_stable_chain chain = {static_cast<double>(planned.cell_count),
							 static_cast<double>(planned.hash_count),
							 static_cast<double>(planned.evictions),
							 sb_stable_max(&planned),
							 false,
							 nullptr};
	double work[2 * 16 * 16];
	uint64_t low = 0;
	uint64_t high = 1 << 20;
	while (high - low > 1)
	{
		uint64_t middle = (low + high) / 2;
		(sb_stable_false_negatives(&chain, chain.max, middle, work) <= 0.1 ? low : high) = middle;
	}
	return low;
}

TEST(Sbf, ChoosesHashesThatRememberLong)
{
	for (double fpr : {0.1, 0.03, 0.01, 0.001, 0.0001})
	{
		uint64_t best_of_all = 0;
		for (int bits = 1; bits <= 4; bits++)
		{
			uint64_t best = 0;
			for (int hashes = 1; hashes <= SB_STABLE_MAX_HASHES; hashes++)
				best = std::max(best, memory_of(bits, hashes, fpr));
			EXPECT_GE(memory_of(bits, SB_STABLE_CHOOSE, fpr), 0.85 * static_cast<double>(best)) << bits << " " << fpr;
			best_of_all = std::max(best_of_all, best);
		}
		EXPECT_GE(memory_of(SB_STABLE_CHOOSE, SB_STABLE_CHOOSE, fpr), 0.85 * static_cast<double>(best_of_all)) << fpr;
	}
}

TEST(Sbf, RepeatsLeaveMoreZeroes)
{
	Stable filter(16384, SB_STABLE, 5, 3, 10);
	Random random(1);
	for (uint64_t i = 0; i < long_stream / 2; i++)
		filter.step(random() % 4 == 0 ? random() : random() % 5000 * 0x9e3779b97f4a7c15);
	sb_stable_chain chain = filter.chain();
	EXPECT_GT(filter.zeros(), sb_stable_zeros(&chain) + 0.02);
}

/*
 * Two independent filters are at the stable point, where the share of zero cells no longer changes. In their union this
 * share is the product of their two shares. Further steps bring the union back to the stable point.
 */
TEST(Sbf, UnionSquaresTheZeroes)
{
	Stable a(16384, SB_STABLE, 5, 3, 25, 0.01, 1);
	Stable b(16384, SB_STABLE, 5, 3, 25, 0.01, 2);
	Random random(8);
	for (int i = 0; i < 100000; i++)
	{
		a.step(random());
		b.step(random());
	}
	Stable both = united(a, b);
	EXPECT_NEAR(both.zeros(), a.zeros() * b.zeros(), 0.01);
	for (int i = 0; i < 100000; i++)
		both.step(random());
	sb_stable_chain chain = both.chain();
	EXPECT_NEAR(both.zeros(), sb_stable_zeros(&chain), 0.01);
}

/* ------------------------------------------------------------------ formulas */

/* The parameters that the IBF paper itself uses. */
TEST(StableFormulas, ThePapersParametersDoNotGiveItsTwentyPercent)
{
	double shares[7];
	const double cells = std::floor(16384 * 8 / 3.0);
	auto bound = [&](sb_scheme scheme, double evictions) {
		sb_stable_uniform_shares(scheme, 7, shares);
		sb_stable_chain chain = {cells, 5, evictions, 7, false, shares};
		return sb_stable_bound(&chain);
	};
	EXPECT_NEAR(bound(SB_STABLE, 10), 0.74, 0.005);
	EXPECT_NEAR(bound(SB_TWO_CLASS, 10), 0.52, 0.005);
	EXPECT_NEAR(bound(SB_MULTI_CLASS, 10), 0.37, 0.005);
	EXPECT_EQ(std::ceil(sb_stable_evictions(0.2, 5, 7, cells)), 25);
	EXPECT_LE(bound(SB_STABLE, 25), 0.2);
	EXPECT_GT(bound(SB_STABLE, 24), 0.2);
}

TEST(StableFormulas, TheProductIsTheChainsOwnSolution)
{
	/* after 2^40 steps the states of the Markov chain are in balance (Bhoraskar et al. 2013, eq. 1 and 2) */
	const double shares[3] = {0.5, 0.2, 0.3};
	sb_stable_chain chain = {50000, 4, 30, 3, false, shares};
	double work[2 * 16];
	double long_after = sb_stable_false_negatives(&chain, 2, UINT64_C(1) << 40, work);
	EXPECT_NEAR(1 - std::pow(1 - long_after, 1 / 4.0), sb_stable_zeros(&chain), 1e-9);
	chain.weighted = true;
	long_after = sb_stable_false_negatives(&chain, 2, UINT64_C(1) << 40, work);
	EXPECT_NEAR(1 - std::pow(1 - long_after, 1 / 4.0), sb_stable_zeros(&chain), 1e-6);
}

TEST(StableFormulas, AreNaNOutOfRange)
{
	const double nan = std::numeric_limits<double>::quiet_NaN();
	const double wrong_sum[2] = {0.5, 0.4};
	const double negative[2] = {1.5, -0.5};
	for (sb_stable_chain chain :
		 {sb_stable_chain{nan, 5, 10, 7, false, nullptr}, sb_stable_chain{1000, 0, 10, 7, false, nullptr},
		  sb_stable_chain{1000, 17, 10, 7, false, nullptr}, sb_stable_chain{1000, 5, -1, 7, false, nullptr},
		  sb_stable_chain{1000, 5, 1001, 7, false, nullptr}, sb_stable_chain{1000, 5, 10, 0, false, nullptr},
		  sb_stable_chain{1000, 5, 10, 256, false, nullptr}, sb_stable_chain{1000, 5, 10, 2, false, wrong_sum},
		  sb_stable_chain{1000, 5, 10, 2, false, negative}, sb_stable_chain{5, 5, 1, 2, false, nullptr}})
	{
		double work[1];
		EXPECT_TRUE(std::isnan(sb_stable_zeros(&chain)));
		EXPECT_TRUE(std::isnan(sb_stable_bound(&chain)));
		EXPECT_TRUE(std::isnan(sb_stable_false_negatives(&chain, 1, 5, work)));
	}
	EXPECT_TRUE(std::isnan(sb_stable_evictions(0, 5, 7, 1000)));
	EXPECT_TRUE(std::isnan(sb_stable_evictions(1, 5, 7, 1000)));
	sb_stable_chain chain = {1000, 5, 10, 7, false, nullptr};
	EXPECT_TRUE(std::isnan(sb_stable_fitting_evictions(&chain, 0)));
	EXPECT_TRUE(std::isnan(sb_stable_fitting_evictions(&chain, nan)));
	EXPECT_EQ(sb_stable_fitting_evictions(&chain, 0.01), std::ceil(sb_stable_evictions(0.01, 5, 7, 1000)));
	chain = {64, 16, 10, 255, false, nullptr};
	EXPECT_TRUE(std::isnan(sb_stable_fitting_evictions(&chain, 1e-6))); /* more evictions than cells would be needed */
	sb_stable_chain never = {1000, 5, 0, 7, false, nullptr};
	EXPECT_EQ(sb_stable_zeros(&never), 0);
	EXPECT_EQ(sb_stable_bound(&never), 1);
}

/* --------------------------------------------------------------- false negatives */

/*
 * Returns the share of repeats that are missed. Exactly `gap` other items come between the first arrival of an item and
 * its repeat, and these are distinct.
 */
static double missed_after(Stable &filter, uint64_t gap, uint8_t value, int samples)
{
	Random random(gap * 16 + value);
	Random others(99);
	auto other = [&] { filter.step(random(), uniform(others)); };
	for (int i = 0; i < 100000; i++)
		other();
	/* several items are planted at once, and so rarely that nearly all of the stream are distinct items */
	int missed = 0;
	const int together = 8;
	for (int i = 0; i < samples; i += together)
	{
		uint64_t planted[together];
		for (uint64_t &item : planted)
		{
			item = random();
			filter.step(item, value);
		}
		for (uint64_t j = together; j <= gap; j++)
			other();
		for (uint64_t item : planted)
			missed += !filter.step(item, value);
	}
	return static_cast<double>(missed) / samples;
}

TEST(Sbf, MissesRepeatsByGapAsTheRecursionSays)
{
	const int samples = static_cast<int>(long_stream / 500);
	Stable filter(4096, SB_STABLE, 5, 3, 25);
	sb_stable_chain chain = filter.chain();
	double work[128];
	double before = -1;
	for (uint64_t gap : {100u, 600u, 900u, 1300u, 3000u})
	{
		double foretold = sb_stable_false_negatives(&chain, 7, gap - 1, work);
		double missed = missed_after(filter, gap - 1, 7, samples);
		EXPECT_NEAR(missed, foretold, 0.01 + 4 * std::sqrt(foretold / samples)) << gap;
		EXPECT_GT(foretold, before);
		before = foretold;
	}
	EXPECT_EQ(sb_stable_false_negatives(&chain, 7, 0, work), 0);
	EXPECT_EQ(sb_stable_false_negatives(&chain, 7, 6, work), 0); /* a cell of 7 needs seven evictions */
}

/* Follows the Markov chain of the values 0 .. Max itself, step by step. */
static double missed_step_by_step(const sb_stable_chain &chain, size_t value, uint64_t gap)
{
	const auto max = static_cast<size_t>(chain.max);
	const long double k = chain.hash_count / chain.cell_count;
	const long double p = chain.evictions / chain.cell_count * (1 - k);
	std::vector<long double> state(max + 1), next(max + 1);
	state[value] = 1;
	for (uint64_t step = 0; step < gap; step++)
	{
		std::fill(next.begin(), next.end(), 0);
		for (size_t i = 0; i <= max; i++)
		{
			long double leaves = 0;
			for (size_t j = i + 1; j <= max; j++)
			{
				const long double up = k * chain.shares[j - 1];
				next[j] += state[i] * up;
				leaves += up;
			}
			if (i > 0)
			{
				const long double down = std::min(p, 1 - leaves);
				next[i - 1] += state[i] * down;
				leaves += down;
			}
			next[i] += state[i] * (1 - leaves);
		}
		std::swap(state, next);
	}
	return static_cast<double>(1 - std::pow(1 - state[0], static_cast<long double>(chain.hash_count)));
}

TEST(StableFormulas, FalseNegativesAreThoseOfTheChainStepByStep)
{
	std::vector<double> work(2 * 256 * 256);
	for (int max : {1, 2, 3, 7, 31, 255})
		for (sb_scheme scheme : {SB_STABLE, SB_TWO_CLASS, SB_MULTI_CLASS})
			for (double evictions : {0.0, 1.0, 40.0, 700.0, 1000.0})
			{
				if (max == 1 ? scheme != SB_STABLE : max == 255 && evictions != 40 && evictions != 1000)
					continue;
				double shares[SB_STABLE_MAX_VALUE];
				sb_stable_uniform_shares(scheme, max, shares);
				const sb_stable_chain chain = {1000, 5, evictions, max, false, shares};
				for (uint64_t gap : {0u, 1u, 6u, 7u, 100u, 257u, 1000u})
				{
					if (max == 255 && gap > 300)
						continue; /* this check is too slow for these */
					for (int value : {1, max / 2 + 1, max})
						EXPECT_NEAR(sb_stable_false_negatives(&chain, value, gap, work.data()),
									missed_step_by_step(chain, static_cast<size_t>(value), gap), 1e-12)
							<< max << " " << scheme << " " << evictions << " " << gap << " " << value;
				}
			}
}

TEST(StableFormulas, FalseNegativesAfterAnyGapAreThoseOfTheStableState)
{
	std::vector<double> work(2 * 256 * 256);
	for (int max : {1, 7, 255})
		for (double cells : {64.0, 1e5, 4.096e9})
		{
			const sb_stable_chain chain = {cells, 5, 60, max, false, nullptr};
			const double expected = std::pow(1 - sb_stable_zeros(&chain), chain.hash_count);
			for (uint64_t gap : {UINT64_C(1) << 45, UINT64_C(1) << 62, (UINT64_C(1) << 63) - 1, UINT64_MAX})
				EXPECT_NEAR(1 - sb_stable_false_negatives(&chain, max, gap, work.data()), expected, 1e-9)
					<< max << " " << cells << " " << gap;
			double before = 0;
			for (uint64_t gap = 1; gap < UINT64_C(1) << 40; gap *= 8)
			{
				double missed = sb_stable_false_negatives(&chain, max, gap, work.data());
				EXPECT_GE(missed, before - 1e-12) << max << " " << cells << " " << gap;
				before = missed;
			}
		}
}
