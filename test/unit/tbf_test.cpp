/*
 * tbf_test.cpp: the parameters of the Time-decaying Bloom filter: its size, the rate that it keeps with so many items,
 * the positions of items and blocks, and which filters can be joined; and the estimate of the number of its items.
 * tbf_stored_test.cpp reads and decays filters, sums_test.cpp adds hits, tbf_clock_test.cpp tests times.
 */
#include "tbf_support.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <thread>

using namespace test;

static constexpr int64_t hour = INT64_C(3600000000);

static sb_tbf planned(uint64_t items, double fpr, bool power = false)
{
	sb_tbf tbf;
	EXPECT_EQ(sb_tbf_plan(items, fpr, 7 * 24 * hour, hour, power, &tbf), SB_OK) << items << " " << fpr;
	return tbf;
}

/* ----------------------------------------------------------------------- plan */

TEST(TbfPlan, HasAShapeThatTheReaderAccepts)
{
	for (double fpr : {0.5, 0.1, 0.01, 0.001, 1e-6})
		for (uint64_t items = 1; items < 1000000; items = items * 5 / 2 + 1)
			for (bool power : {false, true})
			{
				sb_tbf tbf = planned(items, fpr, power);
				EXPECT_LE(sb_tbf_cells(&tbf), SB_TBF_MAX_CELLS);
				EXPECT_LE(sb_tbf_size(&tbf), size_t{SB_MAX_BYTES});
				Tbf empty{tbf, Bytes(sb_tbf_size(&tbf) - SB_TBF_HEADER)};
				EXPECT_TRUE(readable(empty)) << items << " " << fpr;
			}
}

TEST(TbfPlan, RemembersWhatItWasAskedFor)
{
	sb_tbf tbf;
	ASSERT_EQ(sb_tbf_plan(12345, 0.003, 5 * hour, hour, false, &tbf), SB_OK);
	EXPECT_EQ(tbf.expected_items, 12345u);
	EXPECT_EQ(tbf.fpr, 0.003);
	EXPECT_EQ(tbf.half_life, 5 * hour);
	EXPECT_EQ(tbf.epoch, hour);
	EXPECT_EQ(tbf.unit_bits, SB_TBF_UNIT_BITS);
	EXPECT_EQ(tbf.flags, 0);
	ASSERT_EQ(sb_tbf_plan(12345, 0.003, 0, 0, true, &tbf), SB_OK);
	EXPECT_EQ(tbf.expected_items, 0u);
	EXPECT_EQ(tbf.half_life, 0);
	EXPECT_EQ(tbf.unit_bits, 0);
}

TEST(TbfPlan, PowerIsAPowerOfTwoOfCells)
{
	for (uint64_t items = 1; items < 4000000; items = items * 4 / 3 + 1)
	{
		sb_tbf tbf = planned(items, 0.01, true);
		uint64_t cells = sb_tbf_cells(&tbf);
		EXPECT_EQ(cells & (cells - 1), 0u);
	}
}

TEST(TbfPlan, HashesFollowFromTheRateAlone)
{
	for (double fpr : {0.3, 0.1, 0.01, 0.001, 1e-6})
	{
		uint8_t hashes = planned(1, fpr).hash_count;
		for (uint64_t items = 1; items < 4000000; items = items * 4 / 3 + 1)
			for (bool power : {false, true})
				EXPECT_EQ(planned(items, fpr, power).hash_count, hashes);
	}
}

TEST(TbfPlan, RefusesParametersOutOfRange)
{
	sb_tbf tbf;
	const int64_t longest = SB_TBF_MAX_TIME;
	for (bool power : {false, true})
	{
		for (double fpr : {0.0, 1.0, 2.0, -1.0, std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, 0.9e-6, 0.51})
			EXPECT_EQ(sb_tbf_plan(1000, fpr, hour, hour, power, &tbf), SB_OUT_OF_RANGE) << fpr;
		EXPECT_EQ(sb_tbf_plan(0, 0.01, hour, hour, power, &tbf), power ? SB_OK : SB_OUT_OF_RANGE)
			<< "one that sizes itself is exact";
		for (int64_t bad : {INT64_C(-1), longest + 1, INT64_MAX, INT64_MIN})
		{
			EXPECT_EQ(sb_tbf_plan(1000, 0.01, bad, hour, power, &tbf), SB_OUT_OF_RANGE) << bad;
			EXPECT_EQ(sb_tbf_plan(1000, 0.01, hour, bad, power, &tbf), SB_OUT_OF_RANGE) << bad;
		}
		EXPECT_EQ(sb_tbf_plan(1000, 0.01, hour, 0, power, &tbf), SB_OUT_OF_RANGE);
		EXPECT_EQ(sb_tbf_plan(1000, 0.01, 1, 1, power, &tbf), SB_OK);
		EXPECT_EQ(sb_tbf_plan(1000, 0.01, longest, longest, power, &tbf), SB_OK);
		EXPECT_EQ(sb_tbf_plan(UINT64_C(1000000000000000000), 0.01, hour, hour, power, &tbf), SB_TOO_LARGE);
		EXPECT_EQ(sb_tbf_plan(UINT64_MAX, 0.5, hour, hour, power, &tbf), SB_TOO_LARGE);
	}
}

/*
 * A plan depends on its arguments alone, although each thread remembers the last rate. A new thread has nothing to
 * remember.
 */
TEST(TbfPlan, TheRateOfTheLastPlanLeavesNoTrace)
{
	const double rates[] = {0.5, 0.1, 0.01, 0.01, 0.1, 1e-6, std::nextafter(0.01, 1), 0.01, 0.5};
	for (uint64_t items = 1; items < 2000000; items = items * 3 + 1)
		for (bool power : {false, true})
			for (double fpr : rates)
			{
				Bytes expected;
				sb_tbf refused;
				std::thread([&] { expected = Tbf{planned(items, fpr, power), Bytes()}.value(); }).join();
				EXPECT_TRUE(same_bytes(Tbf{planned(items, fpr, power), Bytes()}.value(), expected)) << fpr;
				EXPECT_EQ(sb_tbf_plan(items, 0, hour, hour, power, &refused), SB_OUT_OF_RANGE);
				EXPECT_TRUE(same_bytes(Tbf{planned(items, fpr, power), Bytes()}.value(), expected)) << fpr;
			}
}

TEST(TbfPlan, HoldsTheItemsItWasAskedFor)
{
	for (double fpr : {0.1, 0.01, 0.001})
		for (uint64_t items = 1; items < 1000000; items = items * 6 / 5 + 1)
			for (bool power : {false, true})
			{
				sb_tbf tbf = planned(items, fpr, power);
				EXPECT_LE(sb_blocked_fpr(tbf.block_cells, tbf.hash_count, static_cast<double>(items) / tbf.block_count),
						  fpr * 1.000001)
					<< items << " at " << fpr << ", " << sb_tbf_cells(&tbf) << " cells";
			}
}

/* The rate of overcounts: how often an item that was never added finds no counter that is zero. */
class TbfAtRate : public ::testing::TestWithParam<double>
{
};
INSTANTIATE_TEST_SUITE_P(Rates, TbfAtRate, ::testing::Values(0.1, 0.01, 0.001),
						 [](const auto &rate) { return "1in" + std::to_string(std::lround(1 / rate.param)); });

TEST_P(TbfAtRate, KeepsTheRateItWasAskedFor)
{
	double rate = GetParam();
	Random random(131);
	std::vector<uint64_t> numbers = {1, 2, 3, 5, 8, 13, 30, 60, 100, 250, 700, 1000, 3000, 20000, 100000};
	/* for each size, the largest number of items for which it is planned */
	for (uint64_t items = 1; items < 2000; items++)
	{
		sb_tbf larger = planned(items + 1, rate);
		sb_tbf smaller = planned(items, rate);
		if (sb_tbf_cells(&larger) != sb_tbf_cells(&smaller))
			numbers.push_back(items);
	}
	for (uint64_t items : numbers)
	{
		sb_tbf tbf = planned(items, rate);
		auto rounds = static_cast<int>(std::max<uint64_t>(4, 20000 / items));
		auto probes = static_cast<int>(std::max(2000.0, 1000 / rate / rounds));
		double sum = 0;
		double squares = 0;
		std::vector<bool> touched(sb_tbf_cells(&tbf));
		uint16_t positions[SB_TBF_MAX_HASHES];
		for (int round = 0; round < rounds; round++)
		{
			touched.assign(touched.size(), false);
			for (uint64_t i = 0; i < items; i++)
			{
				uint64_t hash = random();
				tbf_positions(&tbf, hash, positions);
				for (int k = 0; k < tbf.hash_count; k++)
					touched[size_t{tbf_block(&tbf, hash)} * tbf.block_cells + positions[k]] = true;
			}
			int found = 0;
			for (int i = 0; i < probes; i++)
			{
				uint64_t hash = random();
				size_t block = size_t{tbf_block(&tbf, hash)} * tbf.block_cells;
				bool all = true;
				tbf_positions(&tbf, hash, positions);
				for (int k = 0; k < tbf.hash_count; k++)
					all = all && touched[block + positions[k]];
				found += all;
			}
			double measured = static_cast<double>(found) / probes;
			sum += measured;
			squares += measured * measured;
		}
		double mean = sum / rounds;
		double sigma = std::sqrt(std::max(squares / rounds - mean * mean, rate / probes) / rounds);
		EXPECT_LE(mean, rate + 4 * sigma) << items << " items in " << sb_tbf_cells(&tbf) << " cells";
	}
}

TEST(TbfEstimate, CountsDistinctItems)
{
	for (uint64_t items : {50u, 1000u, 20000u, 200000u})
	{
		sb_tbf tbf = planned(items, 0.01);
		std::vector<bool> touched(sb_tbf_cells(&tbf));
		for (uint64_t hash : random_hashes(items, items))
		{
			uint16_t positions[SB_TBF_MAX_HASHES];
			tbf_positions(&tbf, hash, positions);
			for (int k = 0; k < tbf.hash_count; k++)
				touched[size_t{tbf_block(&tbf, hash)} * tbf.block_cells + positions[k]] = true;
		}
		auto count = static_cast<uint64_t>(std::count(touched.begin(), touched.end(), true));
		double estimate = streambloom::items_for_fill(&tbf, static_cast<double>(count) /
																static_cast<double>(sb_tbf_cells(&tbf)));
		EXPECT_NEAR(estimate / static_cast<double>(items), 1, 4 / std::sqrt(static_cast<double>(items)) + 0.005)
			<< items;
	}
	sb_tbf tbf = planned(1000, 0.01);
	EXPECT_EQ(streambloom::items_for_fill(&tbf, 0), 0);
	EXPECT_GT(streambloom::items_for_fill(&tbf, 1), 1000);
}

/* ------------------------------------------------------------ an item's place */

TEST(TbfPlaces, LieWithinTheBlock)
{
	Random random(141);
	for (int round = 0; round < 100000; round++)
	{
		sb_tbf tbf = shape(64u << (random() % 12), static_cast<uint8_t>(between(random, 1, 16)), hour, hour);
		uint64_t hash = round < 10 ? 0 - static_cast<uint64_t>(round) : random();
		uint16_t positions[SB_TBF_MAX_HASHES];
		tbf_positions(&tbf, hash, positions);
		EXPECT_LT(tbf_block(&tbf, hash), tbf.block_count);
		for (int k = 0; k < tbf.hash_count; k++)
			EXPECT_LT(positions[k], tbf.block_cells);
	}
}

TEST(TbfPlaces, FewerHashesAreTheFirstOfMore)
{
	for (uint64_t hash : random_hashes(142, 1000))
	{
		sb_tbf tbf = shape(4096, 16, hour, hour);
		uint16_t most[SB_TBF_MAX_HASHES];
		tbf_positions(&tbf, hash, most);
		for (uint8_t hashes = 1; hashes < 16; hashes++)
		{
			uint16_t fewer[SB_TBF_MAX_HASHES];
			tbf.hash_count = hashes;
			tbf_positions(&tbf, hash, fewer);
			EXPECT_TRUE(std::equal(fewer, fewer + hashes, most));
		}
	}
}

/* In half as many cells an item has half the position. Folding relies on it. */
TEST(TbfPlaces, HalveWithTheCells)
{
	for (uint64_t hash : random_hashes(143, 2000))
		for (uint32_t cells = 1u << 20; cells > 64; cells /= 2)
		{
			sb_tbf large = shape(cells, 8, hour, hour);
			sb_tbf small = shape(cells / 2, 8, hour, hour);
			uint16_t in_large[SB_TBF_MAX_HASHES];
			uint16_t in_small[SB_TBF_MAX_HASHES];
			tbf_positions(&large, hash, in_large);
			tbf_positions(&small, hash, in_small);
			bool whole_blocks = cells > SB_TBF_BLOCK;
			EXPECT_EQ(tbf_block(&small, hash), tbf_block(&large, hash) >> (whole_blocks ? 1 : 0));
			for (int k = 0; k < 8; k++)
				EXPECT_EQ(in_small[k], in_large[k] >> (whole_blocks ? 0 : 1));
		}
}

TEST(TbfPlaces, AreUniform)
{
	sb_tbf tbf = shape(8 * 4096, 16, hour, hour);
	std::vector<std::vector<int>> seen(16, std::vector<int>(64));
	std::vector<int> blocks(8);
	const int items = 200000;
	for (uint64_t hash : random_hashes(144, items))
	{
		uint16_t positions[SB_TBF_MAX_HASHES];
		tbf_positions(&tbf, hash, positions);
		blocks[tbf_block(&tbf, hash)]++;
		for (size_t k = 0; k < 16; k++)
			seen[k][positions[k] / 64]++;
	}
	auto chi_square = [](const std::vector<int> &counts) {
		double expected = static_cast<double>(items) / static_cast<double>(counts.size());
		double sum = 0;
		for (int count : counts)
			sum += (count - expected) * (count - expected) / expected;
		return (sum - static_cast<double>(counts.size() - 1)) / std::sqrt(2.0 * static_cast<double>(counts.size() - 1));
	};
	EXPECT_LT(chi_square(blocks), 5);
	for (const auto &counts : seen)
		EXPECT_LT(chi_square(counts), 5);
}

/* Two positions of an item coincide as often as by chance, and not more often. */
TEST(TbfPlaces, OfAnItemAreIndependent)
{
	sb_tbf tbf = shape(64, 16, hour, hour);
	const int items = 50000;
	int equal[16][16] = {};
	for (uint64_t hash : random_hashes(145, items))
	{
		uint16_t positions[SB_TBF_MAX_HASHES];
		tbf_positions(&tbf, hash, positions);
		for (int a = 0; a < 16; a++)
			for (int b = 0; b < a; b++)
				equal[a][b] += positions[a] == positions[b];
	}
	double expected = items / 64.0;
	for (int a = 0; a < 16; a++)
		for (int b = 0; b < a; b++)
			EXPECT_NEAR(equal[a][b], expected, 5 * std::sqrt(expected)) << a << " and " << b;
}

TEST(TbfBlocks, FollowEachOtherToTheEndOfTheValue)
{
	for (uint32_t cells : {64u, 128u, 4096u, 8192u, 65536u})
		for (int bits : {8, 16, 32, 64})
		{
			sb_tbf tbf = shape(cells, 4, hour, hour);
			tbf.cell_bits = static_cast<uint8_t>(bits);
			Bytes header(SB_TBF_HEADER);
			sb_tbf_encode_header(&tbf, header.data());
			sb_lookup lookup;
			ASSERT_EQ(sb_lookup_open(&lookup, SB_LOOKUP_TBF, header.data(), header.size(), sb_tbf_size(&tbf)), SB_OK);
			size_t next = SB_TBF_HEADER;
			for (uint32_t block = 0; block < tbf.block_count; block++)
			{
				/* the first hash of the block */
				auto hash = static_cast<uint64_t>(((static_cast<sb_u128>(block) << 64) + tbf.block_count - 1) /
												  tbf.block_count);
				ASSERT_EQ(sb_lookup_item(&lookup, hash), SB_NEED_BYTES);
				EXPECT_EQ(lookup.need.offset, next);
				next += lookup.need.size;
			}
			EXPECT_EQ(next, sb_tbf_size(&tbf));
		}
}

/* --------------------------------------------------------------------- joining */

static sb_difference difference_of(const sb_tbf &a, const sb_tbf &b)
{
	sb_tbf out;
	sb_difference difference{};
	EXPECT_EQ(sb_tbf_plan_merge(&a, &b, &out, &difference), SB_DIFFERENT);
	EXPECT_NE(difference.parameter, nullptr);
	return difference;
}

TEST(TbfJoin, SaysWhichParameterDiffers)
{
	sb_tbf a = shape(4096 * 3, 4, 5 * hour, hour);
	sb_tbf b = a;
	b.hash_count = 5;
	sb_difference difference = difference_of(a, b);
	EXPECT_STREQ(difference.parameter, "hashes");
	EXPECT_EQ(difference.left, 4);
	EXPECT_EQ(difference.right, 5);

	b = a;
	b.half_life = 6 * hour;
	difference = difference_of(a, b);
	EXPECT_STREQ(difference.parameter, "half_life");
	EXPECT_EQ(difference.left, static_cast<double>(5 * hour));
	EXPECT_EQ(difference.right, static_cast<double>(6 * hour));

	b = a;
	b.epoch = 2 * hour;
	difference = difference_of(b, a);
	EXPECT_STREQ(difference.parameter, "epoch");
	EXPECT_EQ(difference.left, static_cast<double>(2 * hour));
	EXPECT_EQ(difference.right, static_cast<double>(hour));

	b = a;
	b.block_count = 4;
	difference = difference_of(a, b);
	EXPECT_EQ(difference.left / difference.right, 3.0 / 4);
}

TEST(TbfJoin, AcceptsEveryPowerOfTwoApart)
{
	for (uint32_t small = 64; small <= 1u << 20; small *= 2)
		for (uint32_t large = small; large <= 1u << 20; large *= 2)
		{
			sb_tbf a = shape(small, 4, 5 * hour, hour);
			sb_tbf b = shape(large, 4, 5 * hour, hour);
			a.fpr = 0.02;
			b.expected_items = 77;
			b.kind = {};
			for (bool swap : {false, true})
			{
				sb_tbf out;
				sb_difference difference;
				ASSERT_EQ(sb_tbf_plan_merge(swap ? &b : &a, swap ? &a : &b, &out, &difference), SB_OK);
				EXPECT_EQ(sb_tbf_cells(&out), large);
				EXPECT_EQ(out.widened, __builtin_ctz(large / small));
				EXPECT_EQ(out.fpr, 0.02);
				EXPECT_EQ(out.expected_items, 77u);
				EXPECT_EQ(out.kind.code, SB_KIND_INTEGER);
			}
		}
}

TEST(TbfJoin, GivesTheHeaderOfAnEmptyFilter)
{
	sb_tbf a = shape(256, 4, 5 * hour, hour);
	a.flags = SB_TBF_HAS_HITS | SB_TBF_FORGOTTEN;
	a.base = 12;
	a.newest = 60 * hour;
	a.slack = 5;
	a.total = 7;
	a.cell_bits = 32;
	sb_tbf b = shape(128, 4, 5 * hour, hour);
	for (bool swap : {false, true})
	{
		sb_tbf out;
		sb_difference difference;
		ASSERT_EQ(sb_tbf_plan_merge(swap ? &b : &a, swap ? &a : &b, &out, &difference), SB_OK);
		EXPECT_EQ(out.flags, 0);
		EXPECT_TRUE(readable(Tbf{out, Bytes(sb_tbf_size(&out) - SB_TBF_HEADER)}));
	}
}

TEST(TbfJoin, AcceptsDecayingWithDecayingOnly)
{
	sb_tbf a = shape(4096, 4, hour, hour);
	sb_tbf b = shape(4096, 4, 0, 0);
	EXPECT_STREQ(difference_of(a, b).parameter, "half_life");
	EXPECT_STREQ(difference_of(b, a).parameter, "half_life");
}
