/*
 * abf_rate_test.cpp: the false positives of the age-partitioned Bloom filter: the recursion that gives their rate, the
 * choice of k (the hashes of an item) and l (the generations of a window), and the rates and sizes that come of these.
 */
#include "abf_support.h"

using namespace test;

/* The rate of a filter whose k + l slices have these fills, by adding up the probabilities of all outcomes. */
static double rate_by_enumeration(int k, int l, const double *fills)
{
	double found = 0;
	for (unsigned outcome = 0; outcome < 1u << (k + l); outcome++)
	{
		double probability = 1;
		int run = 0;
		int longest = 0;
		for (int i = 0; i < k + l; i++)
		{
			const bool matches = (outcome >> i & 1) != 0;
			probability *= matches ? fills[i] : 1 - fills[i];
			run = matches ? run + 1 : 0;
			longest = std::max(longest, run);
		}
		if (longest >= k)
			found += probability;
	}
	return found;
}

TEST(AbfFormula, TheRecursionIsTheSumOverAllOutcomes)
{
	Random random(16);
	for (int k = 1; k <= 7; k++)
		for (int l = 1; l <= 8; l++)
		{
			double fills[15];
			for (double &fill : fills)
				fill = uniform(random);
			EXPECT_NEAR(sb_abf_rate(k, l, fills), rate_by_enumeration(k, l, fills), 1e-12);
		}
	const double none[2] = {};
	EXPECT_TRUE(std::isnan(sb_abf_rate(0, 1, none)));
	EXPECT_TRUE(std::isnan(sb_abf_rate(1, SB_ABF_MAX_GENERATIONS + 1, none)));
	EXPECT_TRUE(std::isnan(sb_abf_rate_of_load(SB_ABF_MAX_HASHES + 1, 1, 1, 0)));
	EXPECT_TRUE(std::isnan(sb_abf_load(1, 1, 1, 0)));
}

/*
 * The table of Shtul, Baquero, Almeida 2020 names a rate for each pair of k and l. It takes the fill of slice i as
 * (i + 1) / 2k, up to 1/2. For these fills sb_abf_rate() must give about the same rates.
 */
TEST(AbfFormula, ThePapersPairsHaveThePapersRates)
{
	const struct
	{
		int k, l;
		double rate;
	} pairs[] = {{4, 3, 0.1},	 {5, 7, 0.1},	 {7, 5, 0.01},	  {8, 8, 0.01},	  {9, 14, 0.01},
				 {10, 25, 0.01}, {11, 9, 0.001}, {12, 14, 0.001}, {14, 40, 0.001}};
	for (const auto &pair : pairs)
	{
		double fills[SB_ABF_MAX_SLICES];
		for (int i = 0; i < pair.k + pair.l; i++)
			fills[i] = std::min(i + 1, pair.k) / (2.0 * pair.k);
		EXPECT_NEAR(sb_abf_rate(pair.k, pair.l, fills), pair.rate, 0.13 * pair.rate) << pair.k << " " << pair.l;
	}
}

TEST(AbfFormula, TheChoiceNeedsFewBits)
{
	for (double fpr : {0.5, 0.1, 0.05, 0.01, 0.001, 0.0001, 0.000001})
	{
		int k = SB_ABF_CHOOSE;
		int l = SB_ABF_CHOOSE;
		sb_abf_choose(fpr, &k, &l);
		double least = 1e9;
		for (int other = 1; other <= SB_ABF_MAX_HASHES; other++)
			for (int more : {1, 2, 3, 5, 8, 13, 20, 30, 45, 70, 96})
				least = std::min(least, other * (other + more) / (more * sb_abf_load(other, more, fpr, 0)));
		EXPECT_LT(k * (k + l) / (l * sb_abf_load(k, l, fpr, 0)), 1.08 * least) << fpr << ": " << k << " " << l;
	}
}

/* The share of new items that are found, at moments spread over the generations. */
static double measured_rate(Abf &filter, Random &random, int asked_times, int64_t step)
{
	const int64_t length = sb_abf_length(&filter.parameters);
	const int64_t warm = length * (sb_abf_slices(&filter.parameters) + 1);
	int64_t at = 0;
	uint64_t wrong = 0;
	uint64_t asked = 0;
	std::vector<uint64_t> hashes;
	for (int round = 0; round < asked_times; round++)
	{
		const int64_t until = (round == 0 ? warm : at + length) + length / asked_times;
		for (; at < until; at += step)
			filter.add(random(), at);
		for (int i = 0; i < 20000; i++)
			wrong += filter.contains(random());
		asked += 20000;
	}
	return static_cast<double>(wrong) / static_cast<double>(asked);
}

TEST(AbfRate, IsAtMostTheOneAskedFor)
{
	Random random(17);
	for (double fpr : {0.1, 0.01, 0.001})
		for (int64_t window : {300, 5000, 40000})
		{
			Abf items = Abf::by_items(window, fpr);
			Abf time = Abf::by_time(window * 1000, static_cast<uint64_t>(window), fpr);
			for (Abf *filter : {&items, &time})
			{
				const double measured = measured_rate(*filter, random, 10, filter->parameters.by_time ? 1000 : 1);
				const double error = 4 * std::sqrt(fpr / 200000);
				EXPECT_LT(measured, 1.03 * fpr + error + (window == 300 ? 0.15 * fpr : 0)) << fpr << " " << window;
				EXPECT_GT(measured, (window == 300 ? 0.15 : 0.6) * fpr - error)
					<< "more bits than it needs: " << fpr << " " << window;
				uint64_t set[SB_ABF_MAX_SLICES];
				EXPECT_EQ(sb_abf_count(&filter->parameters, filter->slices.data(), set), SB_OK);
				double fills[SB_ABF_MAX_SLICES];
				for (int i = 0; i < sb_abf_slices(&filter->parameters); i++)
					fills[i] = static_cast<double>(set[i]) / static_cast<double>(sb_abf_bits(&filter->parameters));
				EXPECT_NEAR(sb_abf_rate(filter->parameters.hash_count, filter->parameters.generations, fills), measured,
							0.35 * fpr + error)
					<< fpr << " " << window;
				/* the filter covers l whole generations, and the part of the newest one that has passed */
				const double estimate = sb_abf_cardinality(&filter->parameters, set) / static_cast<double>(window);
				const double slack = window == 300 ? 0.15 : 0.03;
				EXPECT_GT(estimate, 1 - slack);
				EXPECT_LT(estimate,
						  (1 + slack) * (filter->parameters.generations + 1) / filter->parameters.generations);
			}
		}
}

TEST(AbfRate, BitsAnItemAreThoseOfTheFormula)
{
	for (double fpr : {0.1, 0.01, 0.001, 0.0001})
	{
		const sb_abf abf = Abf::by_items(1000000, fpr).parameters;
		const double bits = 8.0 * static_cast<double>(sb_abf_slice_bytes(&abf)) / 1e6;
		const double formula = abf.hash_count * sb_abf_slices(&abf) /
							   (abf.generations * sb_abf_load(abf.hash_count, abf.generations, fpr, 0));
		EXPECT_NEAR(bits, formula, 0.04 * formula) << fpr;
	}
}

/*
 * The length of a generation is rounded up to whole microseconds. So 9 generations of a window of 10 us have 2 us each,
 * and the filter must have room for the items of 18 us.
 */
TEST(AbfRate, GenerationsOfFewMicrosecondsHaveRoomForTheirItems)
{
	for (double fpr : {0.1, 0.001})
	{
		const sb_abf rounded_up = Abf::by_time(10, 10000, fpr, 7, 9).parameters;
		const sb_abf exact = Abf::by_time(18, 18000, fpr, 7, 9).parameters;
		EXPECT_EQ(sb_abf_length(&rounded_up), sb_abf_length(&exact));
		EXPECT_EQ(sb_abf_bits(&rounded_up), sb_abf_bits(&exact)) << fpr;
	}
}
