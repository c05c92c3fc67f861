/*
 * bf_test.cpp: the promises of the Bloom filter. It never misses an item. It keeps the rate that was asked for,
 * within the space that was planned. What is measured agrees with its content. bf_union_test.cpp folds, widens and
 * unites filters.
 */
#include "support.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <thread>

using namespace test;

extern "C" size_t size_seen_by_c(void);
extern "C" const char *text_seen_by_c(void);

static const double rates[] = {0.1, 0.01, 0.001, 1e-4, 1e-5};

static std::string rate_name(const ::testing::TestParamInfo<double> &rate)
{
	return "1in" + std::to_string(std::lround(1 / rate.param));
}

TEST(Bf, IsReachableFromC)
{
	sb_bf bf;
	ASSERT_EQ(sb_bf_plan(1000, 0.01, false, &bf), SB_OK);
	EXPECT_EQ(size_seen_by_c(), sb_bf_size(&bf));
	EXPECT_STREQ(text_seen_by_c(), sb_status_text(SB_OK));
}

/* --------------------------------------------------------------------- items */

class BfAtRate : public ::testing::TestWithParam<double>
{
};
INSTANTIATE_TEST_SUITE_P(Rates, BfAtRate, ::testing::ValuesIn(rates), rate_name);

TEST_P(BfAtRate, FindsAllOfAMillionItems)
{
	std::vector<uint64_t> items = random_hashes(31, 1000000);
	Bf bf = Bf::planned(items.size(), GetParam());
	bf.add(items);
	EXPECT_TRUE(bf.contains(items));
}

TEST_P(BfAtRate, FindsAllItemsThoughTenfoldOverfull)
{
	std::vector<uint64_t> items = random_hashes(32, 100000);
	Bf bf = Bf::planned(items.size() / 10, GetParam());
	bf.add(items);
	EXPECT_TRUE(bf.contains(items));
}

TEST_P(BfAtRate, FindsItemsInFiltersOfAnySize)
{
	for (uint64_t expected = 1; expected < 3000; expected = expected * 3 / 2 + 1)
	{
		std::vector<uint64_t> items = random_hashes(expected, 1000);
		Bf bf = Bf::planned(expected, GetParam());
		bf.add(items);
		EXPECT_TRUE(bf.contains(items)) << expected;
	}
}

/* The standard error of a measured rate: the probes are a sample, and the fill of the lines varies by chance. */
static double sampling_error(const Bf &bf, double rate, double probes)
{
	double sum = 0;
	double squares = 0;
	for (uint32_t line = 0; line < bf.parameters.line_count; line++)
	{
		double fill = sb_bf_line_bits(bf.lines.data() + size_t{line} * SB_BF_LINE) / 512.0;
		double of_line = std::pow(fill, bf.parameters.hash_count);
		sum += of_line;
		squares += of_line * of_line;
	}
	double lines = bf.parameters.line_count;
	double variance = std::max(0.0, squares / lines - (sum / lines) * (sum / lines)) / lines;
	return std::sqrt(rate * (1 - rate) / probes + variance);
}

TEST_P(BfAtRate, KeepsTheRateItWasAskedFor)
{
	double rate = GetParam();
	Bf bf = Bf::planned(200000, rate);
	bf.add(random_hashes(33, 200000));
	Random random(34);
	int probes = static_cast<int>(std::clamp(400 / rate, 2e6, 3e7));
	int found = 0;
	for (int i = 0; i < probes; i++)
		found += bf.contains(random());
	double measured = static_cast<double>(found) / probes;
	EXPECT_LE(measured, rate + 4 * sampling_error(bf, rate, probes));
	/* the rate is not much better than asked for either: no space is wasted */
	EXPECT_GE(measured, rate * 0.9 - 4 * sampling_error(bf, rate, probes));
}

/* Real hashes: XXH3 of consecutive integers, instead of the output of a random generator. */
TEST_P(BfAtRate, KeepsTheRateForConsecutiveIntegers)
{
	double rate = GetParam();
	Bf bf = Bf::planned(100000, rate);
	for (int64_t i = 0; i < 100000; i++)
		bf.add(sb_hash_int64(i));
	int64_t probes = static_cast<int64_t>(std::clamp(200 / rate, 1e6, 1e7));
	int64_t found = 0;
	for (int64_t i = 0; i < probes; i++)
		found += bf.contains(sb_hash_int64(100000 + i));
	double measured = static_cast<double>(found) / static_cast<double>(probes);
	EXPECT_LE(measured, rate + 4 * sampling_error(bf, rate, static_cast<double>(probes)));
}

TEST(Bf, KeepsTheRateOfOneInAMillion)
{
	Bf bf = Bf::planned(20000, SB_BF_MIN_FPR);
	bf.add(random_hashes(35, 20000));
	Random random(36);
	int probes = 40000000;
	int found = 0;
	for (int i = 0; i < probes; i++)
		found += bf.contains(random());
	EXPECT_LE(found, 40 + 4 * std::sqrt(40.0) + 4 * sampling_error(bf, 1e-6, 1e18) * probes);
}

TEST(Bf, AnEmptyFilterHasNothing)
{
	Bf bf = Bf::planned(1000, 0.1);
	for (uint64_t hash : random_hashes(37, 100000))
		EXPECT_FALSE(bf.contains(hash));
	EXPECT_FALSE(bf.contains(0));
	EXPECT_FALSE(bf.contains(UINT64_MAX));
}

TEST(Bf, AddsExtremeHashes)
{
	for (uint32_t lines : {1u, 2u, 3u, 511u, 512u})
		for (uint64_t hash : {UINT64_C(0), UINT64_MAX, UINT64_C(1) << 63, UINT64_C(0xffffffff), UINT64_C(1) << 32})
		{
			Bf bf(lines, 16);
			bf.add(hash);
			EXPECT_TRUE(bf.contains(hash));
		}
}

TEST(Bf, AnItemTouchesItsOwnLineAndNoOther)
{
	Random random(38);
	for (uint32_t lines : {1u, 3u, 64u, 1000u})
		for (int round = 0; round < 1000; round++)
		{
			uint64_t hash = random();
			auto hashes = static_cast<uint8_t>(between(random, 1, 16));
			Bf bf(lines, hashes);
			bf.add(hash);
			uint32_t line = sb_bf_line_of(lines, hash);
			ASSERT_LT(line, lines);

			int in_line = sb_bf_line_bits(bf.lines.data() + size_t{line} * SB_BF_LINE);
			EXPECT_GE(in_line, 1);
			EXPECT_LE(in_line, hashes);
			EXPECT_EQ(bf.measured().bits_set, static_cast<uint64_t>(in_line));
		}
}

TEST(Bf, OrderOfAddingLeavesNoTrace)
{
	std::vector<uint64_t> items = random_hashes(41, 20000);
	Bf one = Bf::planned(10000, 0.01);
	Bf other = one;
	one.add(items);
	std::shuffle(items.begin(), items.end(), Random(42));
	other.add(items);
	other.add(items);
	EXPECT_TRUE(same_bytes(one.value(), other.value()));
}

/* ---------------------------------------------------------------- parameters */

TEST_P(BfAtRate, CostsAtMostAQuarterMoreThanTheClassicOptimum)
{
	for (uint64_t items = 10000; items <= 10000000; items = items * 5 / 4 + 7)
	{
		sb_bf bf;
		ASSERT_EQ(sb_bf_plan(items, GetParam(), false, &bf), SB_OK);
		double bits = static_cast<double>(sb_bf_size(&bf) - SB_BF_HEADER) * 8;
		EXPECT_LE(bits, 1.25 * sb_bloom_bits(static_cast<double>(items), GetParam())) << items;
	}
}

TEST_P(BfAtRate, PlanHoldsTheItemsByTheExactFormula)
{
	for (uint64_t items = 1; items < 50000000; items = items * 3 / 2 + 1)
		for (bool power : {false, true})
		{
			sb_bf bf;
			ASSERT_EQ(sb_bf_plan(items, GetParam(), power, &bf), SB_OK);
			double load = static_cast<double>(items) / bf.line_count;
			EXPECT_LE(sb_blocked_fpr(512, bf.hash_count, load), GetParam()) << items;
		}
}

/*
 * If the number of hashes depended on the number of items, two filters that were planned with the same rate for
 * different numbers of items could not be united.
 */
TEST_P(BfAtRate, HashesFollowFromTheRateAlone)
{
	sb_bf first;
	ASSERT_EQ(sb_bf_plan(1, GetParam(), false, &first), SB_OK);
	for (uint64_t items = 1; items < 100000000; items = items * 7 / 2 + 1)
	{
		sb_bf bf;
		ASSERT_EQ(sb_bf_plan(items, GetParam(), false, &bf), SB_OK);
		EXPECT_EQ(bf.hash_count, first.hash_count);
		ASSERT_EQ(sb_bf_plan(items, GetParam(), true, &bf), SB_OK);
		EXPECT_EQ(bf.hash_count, first.hash_count);
	}
}

TEST(BfPlan, RemembersWhatItWasAskedFor)
{
	sb_bf bf;
	ASSERT_EQ(sb_bf_plan(12345, 0.003, false, &bf), SB_OK);
	EXPECT_EQ(bf.expected_items, 12345u);
	EXPECT_EQ(bf.fpr, 0.003);
	EXPECT_EQ(bf.widened, 0);
	EXPECT_EQ(bf.kind.code, SB_KIND_NONE);
	ASSERT_EQ(sb_bf_plan(12345, 0.003, true, &bf), SB_OK);
	EXPECT_EQ(bf.expected_items, 0u);
	EXPECT_EQ(bf.fpr, 0.003);
}

TEST(BfPlan, LinesHaveAtMostNineSignificantDigits)
{
	for (uint64_t items = 1; items < 200000000; items = items * 9 / 8 + 1)
	{
		sb_bf bf;
		ASSERT_EQ(sb_bf_plan(items, 0.01, false, &bf), SB_OK);
		int width = 32 - __builtin_clz(bf.line_count);
		EXPECT_GE(__builtin_ctz(bf.line_count), width - 9) << items;
	}
}

TEST(BfPlan, GrowsWithTheItems)
{
	uint32_t before = 0;
	for (uint64_t items = 1; items < 100000; items += 1 + items / 256)
	{
		sb_bf bf;
		ASSERT_EQ(sb_bf_plan(items, 0.01, false, &bf), SB_OK);
		EXPECT_GE(bf.line_count, before);
		before = bf.line_count;
	}
}

TEST(BfPlan, PowerIsTheSmallestPowerOfTwoThatHoldsTheItems)
{
	for (uint64_t items = 1; items < 100000000; items = items * 5 / 4 + 1)
	{
		sb_bf bf;
		ASSERT_EQ(sb_bf_plan(items, 0.01, true, &bf), SB_OK);
		EXPECT_EQ(bf.line_count & (bf.line_count - 1), 0u);
		if (bf.line_count > 1)
		{
			EXPECT_GT(sb_blocked_fpr(512, bf.hash_count, static_cast<double>(items) / (bf.line_count / 2)), 0.01)
				<< items;
		}
	}
}

TEST(BfPlan, RefusesParametersOutOfRange)
{
	sb_bf bf;
	const double nan_value = std::numeric_limits<double>::quiet_NaN();
	for (bool power : {false, true})
	{
		for (double fpr : {0.0, -0.0, 1.0, 2.0, -1.0, nan_value, HUGE_VAL, -HUGE_VAL, 0.9e-6, 0.51})
			EXPECT_EQ(sb_bf_plan(1000, fpr, power, &bf), SB_OUT_OF_RANGE) << fpr;
		EXPECT_EQ(sb_bf_plan(0, 0.01, power, &bf), SB_OUT_OF_RANGE);
		EXPECT_EQ(sb_bf_plan(UINT64_C(1000000000000000000), 0.01, power, &bf), SB_TOO_LARGE);
		EXPECT_EQ(sb_bf_plan(UINT64_MAX, 0.5, power, &bf), SB_TOO_LARGE);
		EXPECT_EQ(sb_bf_plan(1000, SB_BF_MIN_FPR, power, &bf), SB_OK);
		EXPECT_EQ(sb_bf_plan(1000, SB_BF_MAX_FPR, power, &bf), SB_OK);
	}
}

/*
 * A plan depends on its arguments alone, although each thread remembers the last rate. A new thread has nothing to
 * remember.
 */
TEST(BfPlan, TheRateOfTheLastPlanLeavesNoTrace)
{
	const double asked[] = {0.5, 0.1, 0.01, 0.01, 0.1, 1e-6, std::nextafter(0.01, 1), 0.01, 0.5};
	std::vector<Bytes> expected;
	for (double fpr : asked)
		std::thread([&] { expected.push_back(Bf::planned(123457, fpr).value()); }).join();
	auto plan_all = [&] {
		for (int round = 0; round < 3; round++)
			for (size_t i = 0; i < std::size(asked); i++)
			{
				sb_bf bf;
				uint8_t hashes;
				EXPECT_TRUE(same_bytes(Bf::planned(123457, asked[i]).value(), expected[i])) << asked[i];
				EXPECT_EQ(sb_bf_plan(1000, std::numeric_limits<double>::quiet_NaN(), false, &bf), SB_OUT_OF_RANGE);
				EXPECT_EQ(sb_bf_plan(1000, 0, false, &bf), SB_OUT_OF_RANGE);
				EXPECT_GT(sb_bf_items_per_line(asked[i], &hashes), 0);
				EXPECT_EQ(hashes, expected[i][44]);
			}
	};
	std::thread one(plan_all);
	std::thread other(plan_all);
	one.join();
	other.join();
}

TEST(BfPlan, HasTheLinesThatTheItemsPerLineSay)
{
	for (double fpr : {0.5, 0.1, 0.01, 1e-6})
	{
		uint8_t hashes = 0;
		const double load = sb_bf_items_per_line(fpr, &hashes);
		EXPECT_GT(load, 0);
		EXPECT_LE(sb_blocked_fpr(512, hashes, load), fpr);
		for (uint64_t items = 1; items < 20000000; items = items * 3 + 1)
		{
			const double lines = std::ceil(static_cast<double>(items) / load);
			sb_bf exact;
			sb_bf power;
			ASSERT_EQ(sb_bf_plan(items, fpr, false, &exact), SB_OK);
			ASSERT_EQ(sb_bf_plan(items, fpr, true, &power), SB_OK);
			EXPECT_EQ(exact.hash_count, hashes);
			EXPECT_EQ(power.hash_count, hashes);
			EXPECT_GE(exact.line_count, lines);
			EXPECT_LE(exact.line_count, std::ceil(lines * 257 / 256));
			EXPECT_EQ(power.line_count, std::bit_ceil(static_cast<uint64_t>(lines)));
			EXPECT_EQ(exact.expected_items, items);
			EXPECT_EQ(power.expected_items, 0u);
		}
	}
}

TEST(BfPlan, ALineHoldsNothingAtARateOutOfRange)
{
	for (double fpr : {0.0, 1.0, 2.0, -1.0, std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, 0.9e-6, 0.51})
	{
		uint8_t hashes = 0;
		EXPECT_EQ(sb_bf_items_per_line(fpr, &hashes), 0) << fpr;
	}
}

TEST(BfPlan, NeverPlansMoreThanTheLargestValue)
{
	for (double fpr : {0.5, 0.01, 1e-6})
		for (bool power : {false, true})
		{
			uint64_t fits = 1;
			uint64_t refused = UINT64_C(1) << 40;
			sb_bf bf;
			while (refused - fits > 1)
			{
				uint64_t items = fits + (refused - fits) / 2;
				sb_status status = sb_bf_plan(items, fpr, power, &bf);
				if (status == SB_OK)
				{
					EXPECT_LE(sb_bf_size(&bf), size_t{SB_MAX_BYTES});
					fits = items;
				}
				else
				{
					EXPECT_EQ(status, SB_TOO_LARGE);
					refused = items;
				}
			}
			/*
			 * the largest filter that fits has more than half of the largest size: numbers of lines are rounded to nine
			 * binary digits or to a power of two
			 */
			ASSERT_EQ(sb_bf_plan(fits, fpr, power, &bf), SB_OK);
			EXPECT_GT(sb_bf_size(&bf), size_t{SB_MAX_BYTES / 2});
		}
}

/* ------------------------------------------------------------------ measures */

TEST(BfMeasure, CountsBits)
{
	Random random(71);
	for (int round = 0; round < 1000; round++)
	{
		Bytes line(SB_BF_LINE);
		int bits = 0;
		for (size_t i = 0; i < SB_BF_LINE; i++)
		{
			line[i] = static_cast<unsigned char>(random());
			bits += __builtin_popcount(line[i]);
		}
		EXPECT_EQ(sb_bf_line_bits(line.data()), bits);
	}
}

TEST(BfMeasure, OfAnEmptyFilterIsZero)
{
	sb_bf_stats stats = Bf::planned(1000, 0.01).measured();
	EXPECT_EQ(stats.bits_set, 0u);
	EXPECT_EQ(stats.items, 0);
	EXPECT_EQ(stats.current_fpr, 0);
}

TEST(BfMeasure, OfAFullFilterIsNoNumberOfItems)
{
	Bf bf(4, 3);
	std::memset(bf.lines.data(), 0xff, bf.lines.size());
	sb_bf_stats stats = bf.measured();
	EXPECT_EQ(stats.bits_set, stats.bits);
	EXPECT_EQ(stats.current_fpr, 1);
	EXPECT_GT(stats.items, 4 * 512 / 3.0);
}

TEST_P(BfAtRate, EstimatesTheNumberOfItems)
{
	for (size_t items : {size_t{1000}, size_t{10000}, size_t{300000}})
		for (double filled : {0.1, 0.5, 1.0, 2.0})
		{
			Bf bf = Bf::planned(items, GetParam());
			auto added = static_cast<size_t>(filled * static_cast<double>(items));
			bf.add(random_hashes(items, added));
			double error = bf.measured().items / static_cast<double>(added) - 1;
			EXPECT_NEAR(error, 0, items < 10000 ? 0.07 : 0.025) << items << " items, filled " << filled;
		}
}

TEST_P(BfAtRate, MeasuresItsOwnRate)
{
	Bf bf = Bf::planned(50000, GetParam());
	bf.add(random_hashes(73, 40000));
	double expected = bf.measured().current_fpr;
	Random random(74);
	int probes = static_cast<int>(std::clamp(200 / expected, 1e6, 2e7));
	int found = 0;
	for (int i = 0; i < probes; i++)
		found += bf.contains(random());
	EXPECT_NEAR(static_cast<double>(found) / probes, expected, 4 * std::sqrt(expected / probes));
}

TEST(BfMeasure, EstimatesAfterAWideningUnion)
{
	for (int halvings = 1; halvings <= 3; halvings++)
	{
		/*
		 * small has the items that it is made for. The items of both are counted in lines folded to the size of small,
		 * so large has only as many items as can be counted at that size
		 */
		uint32_t lines = 512;
		Bf small(lines, 7);
		Bf large(lines << halvings, 7);
		small.add(random_hashes(75, 15000));
		large.add(random_hashes(76, 15000));
		Bf both = united(small, large);
		EXPECT_EQ(both.parameters.widened, halvings);
		EXPECT_NEAR(both.measured().items / 30000, 1, 0.03) << halvings;
		Bf thrice = united(united(both, small), Bf(lines << (halvings + 2), 7));
		EXPECT_NEAR(thrice.measured().items / 30000, 1, 0.03) << halvings;
	}
}

TEST(BfMeasure, CountsSharedItemsOfAUnionOnce)
{
	std::vector<uint64_t> items = random_hashes(77, 20000);
	Bf a(1024, 7);
	Bf b(4096, 7);
	a.add(items);
	b.add(items);
	EXPECT_NEAR(united(a, b).measured().items / 20000, 1, 0.03);
}

/* The estimates of many filters scatter as much as their standard error says. */
TEST(BfMeasure, TheErrorOfTheNumberOfItemsIsTheirScatter)
{
	for (uint8_t hashes : std::initializer_list<uint8_t>{1, 3, 6, 10})
		for (double load : {5.0, 50.0, 100.0})
		{
			constexpr uint32_t lines = 64;
			constexpr int rounds = 600;
			const auto items = static_cast<size_t>(lines * load);
			double squares = 0;
			double error = 0;
			for (int round = 0; round < rounds; round++)
			{
				Bf bf(lines, hashes);
				bf.add(random_hashes(static_cast<uint64_t>(round) * 100 + hashes, items));
				const sb_bf_stats stats = bf.measured();
				squares += (stats.items - static_cast<double>(items)) * (stats.items - static_cast<double>(items)) /
						   rounds;
				error += stats.items_error / rounds;
			}
			EXPECT_NEAR(std::sqrt(squares) / error, 1, 0.15) << int{hashes} << " hashes, load " << load;
		}
	Bf full(3, 6);
	std::memset(full.lines.data(), 0xff, full.lines.size());
	EXPECT_EQ(full.measured().items_error, std::numeric_limits<double>::infinity());
}

/* A filter that has as many items as it has room for has about the rate that was asked for. */
TEST(BfMeasure, RoomIsWhatTheRateAllows)
{
	for (double fpr : {0.1, 0.01, 0.001})
	{
		sb_bf plan;
		ASSERT_EQ(sb_bf_plan(20000, fpr, true, &plan), SB_OK);
		Bf bf(plan);
		const double room = sb_bf_room(&plan);
		bf.add(random_hashes(static_cast<uint64_t>(1 / fpr), static_cast<size_t>(room)));
		EXPECT_NEAR(bf.measured().current_fpr / fpr, 1, 0.06);
	}
	const Bf list = Bf::exact(Bf(1, 6).parameters, {UINT64_C(1) << (64 - SB_KEPT_HASH_BITS)});
	EXPECT_EQ(sb_bf_room(&list.parameters), SB_BF_EXACT_ITEMS);
}

/*
 * A sample of the lines gives about the true rate. If a limit is near the true rate, chance decides on which side of it
 * the sample is. So this test asks only about limits that are further away.
 */
TEST(BfMeasure, ASampleIsNearTheRate)
{
	for (uint8_t hashes : std::initializer_list<uint8_t>{1, 3, 6, 9, 16})
		for (uint32_t lines : {1u, 5u, 31u, 32u, 33u, 1000u, 3000u})
			for (double items_per_line : {0.0, 5.0, 20.0, 50.0, 150.0, 1000.0})
			{
				SCOPED_TRACE(::testing::Message()
							 << int{hashes} << " hashes, " << lines << " lines of " << items_per_line);
				Bf bf(lines, hashes);
				bf.add(random_hashes(lines, static_cast<size_t>(lines * items_per_line)));
				const double rate = bf.measured().current_fpr;
				const double sample = sb_bf_sample_fpr(&bf.parameters, bf.lines.data(), 0);
				const bool whole = lines <= 32;
				if (whole)
				{
					EXPECT_NEAR(sample, rate, 1e-9 * rate);
				}
				const double near = whole ? 1.001 : hashes < 9 ? 2 : 5;
				const auto seems_above = [&](double bound) {
					return sb_bf_sample_fpr(&bf.parameters, bf.lines.data(), bound) > bound;
				};
				EXPECT_FALSE(seems_above(rate * near + 1e-9));
				EXPECT_EQ(seems_above(rate / near * 0.999), rate > 0);
			}
}
