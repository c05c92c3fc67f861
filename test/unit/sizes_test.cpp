/*
 * sizes_test.cpp: the sizes of an index's ranges, groups and filters, its levels, and the pages that a look-up reads
 * (src/pg/index/sizes.h). All of this follows from counts of items, pages and lines, so no server is needed.
 * src/pg/index/README.md explains the words: range, level, group, position, full.
 */
#include "index/sizes.h"

#include "support.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace {

/* The counts of items of a column's ranges, with the load and the hashes for this rate. */
BfCounts column_of(const std::vector<double> &items, double rate)
{
	uint8_t hashes;
	const double load = sb_bf_items_per_line(rate, &hashes);
	return {items.data(), rate, load, hashes};
}

uint32_t lines_for(const std::vector<double> &items, double rate, uint32_t ranges)
{
	const BfCounts counts = column_of(items, rate);
	return bf_index_lines_for(&counts, static_cast<uint32_t>(items.size()), ranges);
}

double mean_rate(const std::vector<double> &items, double rate, uint32_t lines)
{
	const BfCounts counts = column_of(items, rate);
	double sum = 0;
	for (const double count : items)
		sum += sb_blocked_fpr(SB_BF_LINE * 8, counts.hashes, count / lines);
	return sum / static_cast<double>(items.size());
}

constexpr double rates[] = {1e-6, 0.001, 0.01, 0.05, 0.2};

} // namespace

TEST(Sizes, TheMeanOfTheRatesIsTheOneAskedFor)
{
	std::mt19937_64 random(29);
	for (const double rate : rates)
		for (const double spread : {0.0, 0.3, 1.0})
			for (const double typical : {500.0, 30000.0})
			{
				std::vector<double> items(125);
				for (double &count : items)
					count = typical * (1 + spread * std::uniform_real_distribution<>(0, 1)(random));
				const uint32_t lines = lines_for(items, rate, 125);
				EXPECT_LE(mean_rate(items, rate, lines), rate * 1.02) << rate << ' ' << spread << ' ' << typical;
				/* an eighth fewer lines would be too few, unless a page holds more than that eighth */
				if (lines >= 16)
				{
					EXPECT_GT(mean_rate(items, rate, lines * 7 / 8), rate) << rate << ' ' << spread << ' ' << typical;
				}
			}
}

TEST(Sizes, TheFullestRangeDoesNotDecide)
{
	/*
	 * a tenth of the ranges has twice as many items. The group gets fewer lines than a group of only such ranges would
	 * get, and more lines than a group of only the other ranges
	 */
	std::vector<double> items(125, 20000);
	std::fill_n(items.begin(), 12, 40000);
	const uint32_t lines = lines_for(items, 0.001, 125);
	EXPECT_LT(lines, 0.85 * lines_for(std::vector<double>(125, 40000), 0.001, 125));
	EXPECT_GT(lines, lines_for(std::vector<double>(125, 20000), 0.001, 125));
	EXPECT_LE(mean_rate(items, 0.001, lines), 0.00102);
}

TEST(Sizes, RangesFarAboveTheOthersDoNotCount)
{
	const uint32_t without = lines_for(std::vector<double>(125, 700), 0.001, 125);
	for (uint32_t far_above = 1; far_above <= 3; far_above++)
	{
		std::vector<double> items(125, 700);
		std::fill_n(items.begin() + 60, far_above, 1e6);
		if (far_above <= bf_index_most_full(125))
			EXPECT_EQ(lines_for(items, 0.001, 125), without) << far_above;
		else
			EXPECT_GT(lines_for(items, 0.001, 125), 2 * without) << far_above;
	}
	/* however few ranges there are, one that is far above the others is ignored; but of two ranges neither is */
	EXPECT_EQ(bf_index_most_full(8), 1u);
	EXPECT_EQ(lines_for({700, 1e6, 700}, 0.001, 8), lines_for({700, 700, 700}, 0.001, 8));
	EXPECT_GT(lines_for({700, 1e6}, 0.001, 8), 2 * lines_for({700, 700}, 0.001, 8));
}

TEST(Sizes, WhatDoesNotCountIsMarkedAsFull)
{
	for (const double rate : rates)
	{
		std::vector<double> items(125, 5000);
		items[7] = 20500;
		const BfCounts counts = column_of(items, rate);
		const uint32_t lines = lines_for(items, rate, 125);
		EXPECT_EQ(bf_index_far_above(&counts, 125), items[7]);
		EXPECT_TRUE(std::isinf(bf_index_far_above(&counts, 7)));
		/* where nobody has counted the items, the bits alone show that the range is full */
		const double full = bf_index_rate_of_full(counts.load, counts.hashes);
		EXPECT_GE(sb_blocked_fpr(SB_BF_LINE * 8, counts.hashes, items[7] / lines), full) << rate;
		EXPECT_LT(sb_blocked_fpr(SB_BF_LINE * 8, counts.hashes, items[0] / lines), full) << rate;
	}
}

TEST(Sizes, NothingKnownTakesOnePage)
{
	EXPECT_EQ(lines_for({-1, -1, -1}, 0.001, 8), BF_POSITIONS(8u));
	EXPECT_EQ(lines_for({0, 0}, 0.001, 8), BF_POSITIONS(8u));
	/* ranges with unknown counts are ignored */
	EXPECT_EQ(lines_for({-1, 9000, -1, 9000}, 0.001, 8), lines_for({9000, 9000}, 0.001, 8));
}

TEST(Sizes, LinesFillPagesInSteps)
{
	for (const uint32_t ranges : {8u, 31u, 125u})
		for (double items = 10; items < 1e8; items *= 1.37)
		{
			const std::vector<double> counts(8, items);
			const double needed = items / column_of(counts, 0.001).load;
			const uint32_t lines = lines_for(counts, 0.001, ranges);
			EXPECT_EQ(lines % BF_POSITIONS(ranges), 0u);
			EXPECT_GE(lines, needed);
			/* at most one page more than needed, or one sixteenth more and one page */
			EXPECT_LE(lines, needed * (1 + 1 / 16.0) + BF_POSITIONS(ranges));
			/* sizes are rounded up to numbers of pages that have at most five significant bits */
			uint32_t pages = lines / BF_POSITIONS(ranges);
			while (pages % 2 == 0)
				pages /= 2;
			EXPECT_LE(pages, 32u);
		}
}

TEST(Sizes, TheGroupBeforeIsTakenIfItIsNotMuchLarger)
{
	uint32_t lines[] = {100, 200};
	const uint32_t larger[] = {105, 200};
	const uint32_t smaller[] = {100, 199};
	const uint32_t much_larger[] = {100, 230};
	bf_index_settle_lines(lines, smaller, 2);
	bf_index_settle_lines(lines, much_larger, 2);
	EXPECT_EQ(lines[0], 100u);
	EXPECT_EQ(lines[1], 200u);
	bf_index_settle_lines(lines, larger, 2);
	EXPECT_EQ(lines[0], 105u);
}

/* The sizes of a level's groups, if `at_once` ranges are added at a time. */
static std::vector<uint32_t> grown(int level, uint32_t ranges, uint32_t at_once)
{
	std::vector<uint32_t> groups;
	uint32_t covered = 0;
	for (uint32_t have = at_once; have <= ranges; have += at_once)
		while (covered < have)
		{
			groups.push_back(bf_index_group_to_grow(level, covered, have - covered));
			covered += groups.back();
		}
	return groups;
}

TEST(Sizes, GroupsOfALevelThatGrows)
{
	EXPECT_EQ(grown(0, 400, 1), (std::vector<uint32_t>{8, 8, 15, 31, 63, 125, 125, 125}));
	EXPECT_EQ(grown(1, 400, 1), (std::vector<uint32_t>{2, 6, 17, 38, 62, 125, 125, 125}));
	EXPECT_EQ(grown(2, 400, 1), grown(1, 400, 1));
	/* ranges that come together get larger groups, which end where the small ones would */
	EXPECT_EQ(grown(0, 375, 125), (std::vector<uint32_t>{125, 125, 125}));
	EXPECT_EQ(bf_index_group_to_grow(0, 0, 25), 31u);
	EXPECT_EQ(bf_index_group_to_grow(0, 0, 60), 62u);
	for (int level = 0; level < BF_INDEX_MAX_LEVELS; level++)
		for (uint32_t first = 0; first < 1000; first++)
			for (uint32_t available = 1; available < 300; available += 7)
			{
				const uint32_t size = bf_index_group_to_grow(level, first, available);
				EXPECT_GE(size, 1u);
				/* no group goes beyond a multiple of 125 ranges, where mostly a range of the level above ends */
				EXPECT_EQ(first / 125, (first + size - 1) / 125) << first << ' ' << available;
			}
}

/*
 * The sizes of the groups of a level that has grown by a few ranges at a time, and how many ranges were read once more
 * to unite groups.
 */
struct United
{
	std::vector<uint32_t> groups;
	uint32_t read_again;
};

static United united(uint32_t built, uint32_t ranges, uint32_t at_once, uint32_t pages_per_range)
{
	United result = {{}, 0};
	uint32_t covered = built;
	if (built > 0)
		result.groups.push_back(built);
	for (uint32_t have = covered + at_once; have <= ranges; have += at_once)
		while (covered < have)
		{
			const uint32_t one = bf_index_group_to_unite(covered, have - covered, pages_per_range);
			if (one > 0)
			{
				EXPECT_GT(one, covered);
				result.groups.assign(1, one);
				result.read_again += covered;
				covered = one;
			}
			else
			{
				result.groups.push_back(bf_index_group_to_grow(1, covered, have - covered));
				covered += result.groups.back();
			}
		}
	return result;
}

TEST(Sizes, GroupsOfALevelThatGrowsAreUnited)
{
	using Groups = std::vector<uint32_t>;
	const std::pair<uint32_t, uint32_t> steps[] = {{2, 2}, {3, 8}, {9, 25}, {26, 63}, {64, 125}, {125, 125}};
	for (auto [ranges, one] : steps)
		EXPECT_EQ(united(0, ranges, 1, 500).groups, Groups{one}) << ranges;
	EXPECT_EQ(united(0, 400, 1, 500).groups, (Groups{125, 125, 125, 125}));
	/* each range is read once more in the mean, or less */
	EXPECT_EQ(united(0, 125, 1, 500).read_again, 2u + 8 + 25 + 63);
	/* ranges that come together */
	EXPECT_EQ(bf_index_group_to_unite(2, 6, 500), 8u);
	EXPECT_EQ(bf_index_group_to_unite(2, 7, 500), 25u);
	EXPECT_EQ(bf_index_group_to_unite(2, 1000, 500), 125u);
	/* an index that was built with as many ranges as the first argument says, and grows */
	EXPECT_EQ(united(40, 41, 1, 500).groups, Groups{63});
	EXPECT_EQ(united(53, 54, 1, 500).groups, Groups{125});
	EXPECT_EQ(united(83, 84, 1, 500).groups, Groups{125});
	EXPECT_EQ(united(84, 85, 1, 500).groups, (Groups{84, 41}));
	EXPECT_EQ(united(124, 400, 1, 500).read_again, 0u);
	/* nothing to unite */
	EXPECT_EQ(bf_index_group_to_unite(0, 1, 500), 0u);
	EXPECT_EQ(bf_index_group_to_unite(125, 1, 500), 0u);
	EXPECT_EQ(bf_index_group_to_unite(250, 300, 500), 0u);
	EXPECT_EQ(bf_index_group_to_unite(UINT32_MAX - 1, 1, 1), 0u);
	/*
	 * with ranges of 32 pages, the longest that the index chooses itself, level 1 has one group. Much longer ranges
	 * are not united once the old ones have more than 2 GB
	 */
	EXPECT_EQ(united(0, 64, 1, 125 * 32).groups, Groups{125});
	EXPECT_EQ(united(0, 125, 1, 62500).groups, (Groups{8, 17, 38, 62}));
	EXPECT_EQ(united(0, 125, 1, 131072).groups, (Groups{8, 17, 38, 62}));
	EXPECT_EQ(bf_index_group_to_unite(1, 1, UINT32_MAX), 0u);
}

TEST(Sizes, FewRangesAreReadOnceMoreToUniteThem)
{
	for (uint32_t first = 1; first < 200; first++)
		for (uint32_t available = 1; available < 300; available += 7)
		{
			const uint32_t one = bf_index_group_to_unite(first, available, 125);
			if (one == 0)
			{
				EXPECT_GT(first, 83u);
				continue;
			}
			EXPECT_LE(one, BF_INDEX_MAX_RANGES);
			EXPECT_GE(2 * (one - first), first) << "of " << one << " ranges";
			EXPECT_TRUE(one - first >= available || one == BF_INDEX_MAX_RANGES) << first << ' ' << available;
		}
}

TEST(Sizes, GroupsStayApartIfTheyTakeLessSpace)
{
	for (uint32_t lines : {63u * 15, 1000u, 20000u})
		for (uint32_t first = 2; first <= 83; first++)
		{
			const uint32_t one = bf_index_group_to_unite(first, 1, 125);
			const uint64_t pages = (lines + BF_POSITIONS(first) - 1) / BF_POSITIONS(first);
			EXPECT_TRUE(bf_index_is_worth_uniting(1, first, pages, one, &lines, 1)) << first << ' ' << lines;
			/* the old ranges have a tenth of the items of the new ones; or all their filters take one page */
			EXPECT_FALSE(bf_index_is_worth_uniting(1, first, pages / 10, one, &lines, 1)) << first << ' ' << lines;
			EXPECT_FALSE(bf_index_is_worth_uniting(1, first, 1, one, &lines, 1)) << first << ' ' << lines;
		}
	/* a group of one page */
	const uint32_t few[] = {1, 1};
	EXPECT_TRUE(bf_index_is_worth_uniting(1, 2, 2, 8, few, 2));
	/* one of two columns decides, if it has the larger filters */
	const uint32_t both[] = {10, 10000};
	EXPECT_TRUE(bf_index_is_worth_uniting(1, 63, 1 + 5000, 125, both, 2));
	EXPECT_FALSE(bf_index_is_worth_uniting(1, 63, 5 + 500, 125, both, 2));
}

TEST(Sizes, TheLastGroupOfTheLargestTableEndsWithTheLastRange)
{
	/* with one page for each range, a heap has up to UINT32_MAX ranges; their number must fit into 32 bits */
	EXPECT_EQ(bf_index_group_to_grow(0, 4294967250, 44), 45u);
	for (uint32_t first = UINT32_MAX - 300; first < UINT32_MAX; first++)
	{
		const uint32_t size = bf_index_group_to_grow(0, first, 1);
		EXPECT_GE(size, 1u);
		EXPECT_LE(uint64_t{first} + size, UINT32_MAX) << first;
	}
}

TEST(Sizes, AtMostHalfOfALevelWaitsForRangesToCome)
{
	for (uint32_t at_once : {1u, 2u, 5u, 20u})
	{
		uint32_t covered = 0;
		for (uint32_t have = at_once; have <= 1000; have += at_once)
		{
			while (covered < have)
				covered += bf_index_group_to_grow(0, covered, have - covered);
			if (have >= 8)
			{
				EXPECT_LE(covered - have, have) << have << " ranges, " << at_once << " at once";
			}
		}
	}
}

/* The groups that a build makes of some ranges, if it has memory for `at_once` of them. */
struct BuiltGroups
{
	std::vector<uint32_t> sizes;
	uint64_t pages = 0;
	uint32_t full = 0; /* how many ranges are full */
};

BuiltGroups built(const std::vector<double> &items, double rate = 0.001, bool covered = true, uint32_t begin = 0,
				  uint32_t at_once = 125)
{
	const auto count = static_cast<uint32_t>(items.size());
	BfCounts rest = column_of(items, rate);
	BfGroupsToBuild groups = {};
	groups.covered = covered;
	BuiltGroups result;
	for (uint32_t first = 0; first < count; first += result.sizes.back())
	{
		uint32_t lines;
		rest.items = items.data() + first;
		const uint32_t size = bf_index_group_to_build(&groups, &rest, 1, begin + first,
													  std::min(count - first, at_once), &lines);
		const double full = bf_index_far_above(&rest, size);
		for (uint32_t i = 0; i < size; i++)
			result.full += rest.items[i] >= full ? 1 : 0;
		result.pages += lines / BF_POSITIONS(size);
		result.sizes.push_back(size);
	}
	return result;
}

TEST(Sizes, GroupsThatAreBuilt)
{
	const auto sizes = [](uint32_t count) { return built(std::vector<double>(count, 30000)).sizes; };
	EXPECT_EQ(sizes(125), std::vector<uint32_t>{125});
	EXPECT_EQ(sizes(120), std::vector<uint32_t>{120});
	/* a page has room for one position of 70 ranges, and for two of 62 */
	EXPECT_EQ(sizes(70), (std::vector<uint32_t>{62, 8}));
	EXPECT_EQ(sizes(5), std::vector<uint32_t>{5});
	EXPECT_EQ(sizes(300), (std::vector<uint32_t>{125, 125, 8, 42}));
}

TEST(Sizes, FullAndEmptyRangesOfABuildGetGroupsOfTheirOwn)
{
	std::mt19937_64 random(29);
	/* ranges with many items decide how large the filters of their group are, so a group of both kinds wastes space */
	std::vector<double> items(125, 30000);
	std::fill(items.begin() + 62, items.end(), 1000);
	EXPECT_EQ(built(items).sizes[0], 62u);
	/* the ranges with many items end at 77: two groups together end there */
	std::fill(items.begin() + 62, items.begin() + 77, 30000);
	const std::vector<uint32_t> sizes = built(items).sizes;
	EXPECT_EQ(sizes[0] + sizes[1], 77u);

	/* one range far above the others gets a group of its own, and divides the group that it was to be in */
	items.assign(70, 30000);
	items[3] = 1e9;
	EXPECT_EQ(built(items).sizes, (std::vector<uint32_t>{3, 1, 25, 41}));
	EXPECT_EQ(built(items).full, 0u);

	/* many and few items by turns, in runs of random length: less than 1.3 times the pages without any waste */
	for (int round = 0; round < 20; round++)
	{
		const uint64_t run = 62 + random() % 200;
		items.resize(3000);
		for (size_t i = 0; i < items.size(); i++)
			items[i] = i / run % 2 == 0 ? 30000 : 1000;
		const BuiltGroups groups = built(items);
		const double needed = std::accumulate(items.begin(), items.end(), 0.0) / column_of(items, 0.001).load / 125;
		EXPECT_LT(static_cast<double>(groups.pages), 1.3 * needed) << "runs of " << run;
		EXPECT_EQ(std::accumulate(groups.sizes.begin(), groups.sizes.end(), 0u), items.size());
	}
}

/*
 * A range with far more items than the others may be full: the filters are not made large enough for it, and it is
 * always read. In a group of few ranges a larger share of them may be full. So a group must not end where more of its
 * ranges would be full than in one group of all ranges.
 */
TEST(Sizes, NoGroupEndsToMakeMoreRangesFull)
{
	std::vector<double> items(125, 1000);
	items[20] = items[80] = items[120] = 5000; /* three are too many to be full in one group of 125 */
	const BfCounts counts = column_of(items, 0.001);
	EXPECT_EQ(bf_index_far_above(&counts, 125), INFINITY);
	EXPECT_EQ(built(items).sizes[0], 125u);
	/* two would be full in one group as well, so they do not keep it from ending earlier; then each is cut out */
	items[120] = 1000;
	std::fill(items.begin() + 62, items.end(), 10);
	items[80] = 5000;
	EXPECT_EQ(bf_index_far_above(&counts, 125), 5000);
	EXPECT_EQ(built(items).sizes, (std::vector<uint32_t>{20, 1, 18, 25, 16, 1, 44}));
	/* behind the first group, no range is full that would not be full in one group of all ranges */
	std::fill(items.begin(), items.begin() + 62, 5000);
	std::fill(items.begin() + 62, items.end(), 10);
	items[124] = 7232;
	EXPECT_EQ(built(items).full, 0u);
}

/* Behind each group the next ones are decided anew. All of them together must keep the limits of a division. */
TEST(Sizes, ADivisionKeepsItsLimits)
{
	std::mt19937_64 random(57);
	const auto below = [&random](uint64_t end) { return static_cast<uint32_t>(random() % end); };
	int divided = 0;
	for (int round = 0; round < 1500; round++)
	{
		/* up to three parts with different numbers of items, and up to three single ranges with 1 to 2^21 items */
		std::vector<double> items(round % 4 == 0 ? 1 + below(124) : 125);
		const uint32_t ends[] = {below(items.size() + 1), below(items.size() + 1)};
		const double levels[] = {double(1 + below(10)), double(100 + below(8000)), double(1 + below(3000))};
		for (uint32_t i = 0; i < items.size(); i++)
			items[i] = levels[(i >= ends[0] ? 1 : 0) + (i >= ends[1] ? 1 : 0)];
		const uint32_t giants = below(4);
		for (uint32_t i = 0; i < giants; i++)
			items[below(items.size())] = 1 << below(22);

		const double rate = round % 2 == 0 ? 0.001 : 0.01;
		const BfCounts counts = column_of(items, rate);
		const auto count = static_cast<uint32_t>(items.size());
		const uint32_t one = bf_index_lines_for(&counts, count, count) / BF_POSITIONS(count);
		const BuiltGroups groups = built(items, rate);
		/* each range that is cut out for its items adds two groups at most; a part of one range may be such a one */
		ASSERT_EQ(groups.full, 0u) << round;
		ASSERT_LE(groups.sizes.size(), (items.size() < 125 ? 2u : 3u) + 2 * (giants + 1)) << round;
		/* a range that is cut out has pages of its own */
		if (giants == 0)
		{
			ASSERT_LE(groups.pages, one + 2 * (groups.sizes.size() - 1)) << round;
		}
		divided += groups.sizes.size() > 1 ? 1 : 0;
	}
	EXPECT_GT(divided, 200);
}

/*
 * If the memory has room for a few ranges only, these are divided into groups. When the first one was written, more
 * ranges are read, and join those that are left. Otherwise the last group of a division would end where the memory
 * ended before: the random ranges below would make 7,009 groups.
 */
TEST(Sizes, AddedRangesJoinTheLastGroupOfADivision)
{
	/* 70 ranges are divided into 62 and 8. When 62 are written, there are 54 more. */
	EXPECT_EQ(built(std::vector<double>(124, 30000), 0.001, true, 0, 70).sizes, (std::vector<uint32_t>{62, 62}));

	std::mt19937_64 random(59);
	size_t made = 0;
	for (int round = 0; round < 200; round++)
	{
		const auto at_once = static_cast<uint32_t>(20 + random() % 100);
		std::vector<double> items;
		while (items.size() < 1000)
		{
			const uint64_t run = 1 + random() % 80;
			items.resize(std::min<size_t>(items.size() + run, 1000), double(1 + random() % 30000));
		}

		/* without a division: groups of `at_once` ranges, or up to a multiple of 125 */
		uint64_t undivided = 0;
		for (uint32_t first = 0, size; first < items.size(); first += size)
		{
			size = std::min({at_once, 125 - first % 125, static_cast<uint32_t>(items.size()) - first});
			BfCounts counts = column_of(items, 0.001);
			counts.items += first;
			undivided += bf_index_lines_for(&counts, size, size) / BF_POSITIONS(size);
		}
		const BuiltGroups groups = built(items, 0.001, true, 0, at_once);
		EXPECT_EQ(std::accumulate(groups.sizes.begin(), groups.sizes.end(), 0u), items.size());
		/* a range that is cut out has pages of its own */
		EXPECT_LE(static_cast<double>(groups.pages), 1.06 * static_cast<double>(undivided)) << round;
		made += groups.sizes.size();
	}
	EXPECT_LT(made, 6400u);
}

/*
 * A range that is full already needs no filter. It counts as one of the few ranges of a group that may be full, so no
 * other range becomes full.
 */
TEST(Sizes, FullRangesCountAsTheExceptions)
{
	std::vector<double> items(60, 1000);
	items[7] = 20000;
	const auto lines = [&items] {
		const BfCounts counts = column_of(items, 0.001);
		return bf_index_lines_for(&counts, 60, 60);
	};
	const uint32_t without = lines(); /* range 7 is the exception */
	items[3] = INFINITY;
	const uint32_t with = lines();
	EXPECT_GT(with, without);
	const BfCounts counts = column_of(items, 0.001);
	EXPECT_EQ(bf_index_far_above(&counts, 60), INFINITY);
	/* however many are full: five groups of a level may have one each */
	items[7] = 1000;
	for (size_t i = 10; i < 15; i++)
		items[i] = INFINITY;
	EXPECT_EQ(lines(), without);
	/* if all are, nothing is known */
	items.assign(60, INFINITY);
	EXPECT_EQ(lines(), BF_POSITIONS(60));
	items.assign(2, INFINITY);
	items[1] = 1000;
	const BfCounts two = column_of(items, 0.001);
	EXPECT_EQ(bf_index_lines_for(&two, 2, 60), without);
}

/*
 * Even for few items a filter has a line for each position of a page. A range whose items fit into these lines is not
 * full.
 */
TEST(Sizes, ARangeThatItsFilterHoldsIsNotFull)
{
	std::vector<double> items(63, 1);
	items[40] = 60;
	BfCounts counts = column_of(items, 0.001);
	EXPECT_EQ(bf_index_far_above(&counts, 63), INFINITY);
	items[40] = 1000;
	EXPECT_EQ(bf_index_far_above(&counts, 63), 1000);
}

/* A search reads a page of each group, unless a level above rules it out. */
TEST(Sizes, WithoutALevelAboveALevelIsDividedIntoTwoGroupsAtMost)
{
	std::vector<double> items(125);
	for (size_t i = 0; i < items.size(); i++)
		items[i] = 30000 * std::pow(0.93, i);
	EXPECT_EQ(built(items, 0.01, true).sizes.size(), 3u);
	EXPECT_EQ(built(items, 0.01, false).sizes.size(), 2u);
	/* a group ends at a multiple of 125 */
	items.assign(60, 1000);
	EXPECT_EQ(built(items, 0.01, true, 120).sizes[0], 5u);
}

/* Above level 0, 125 ranges make one group. Fewer make one too, unless they would leave much of its pages empty. */
TEST(Sizes, GroupsThatAreBuiltAboveLevel0)
{
	EXPECT_EQ(bf_index_group_to_build_above(125), 125u);
	EXPECT_EQ(bf_index_group_to_build_above(120), 120u);
	EXPECT_EQ(bf_index_group_to_build_above(62), 62u);
	EXPECT_EQ(bf_index_group_to_build_above(70), 62u);
	EXPECT_EQ(bf_index_group_to_build_above(50), 40u);
	for (uint32_t count = 1; count <= 125; count++)
	{
		const uint32_t size = bf_index_group_to_build_above(count);
		EXPECT_LE(size, count);
		EXPECT_GE(size * 2, count);
	}
}

TEST(Sizes, RangesToRead)
{
	/* 256 MB of the heap, or one range that is longer */
	EXPECT_EQ(bf_index_ranges_to_read(1, 0), 32768u);
	EXPECT_EQ(bf_index_ranges_to_read(4000, 0), 8u);
	EXPECT_EQ(bf_index_ranges_to_read(32768, 100), 1u);
	EXPECT_EQ(bf_index_ranges_to_read(125000, 0), 1u);
	/* at least as much as is written */
	EXPECT_EQ(bf_index_ranges_to_read(131072, 190000), 3u);
}

TEST(Sizes, RateOfUpperLevels)
{
	EXPECT_EQ(bf_index_upper_rate(true, BF_INDEX_MANY_KEY_FPR), 0.1);
	EXPECT_EQ(bf_index_upper_rate(true, BF_INDEX_KEY_FPR), 0.01);
	EXPECT_EQ(bf_index_upper_rate(false, BF_INDEX_MANY_KEY_FPR), 0.01); /* a column with whole values */
	EXPECT_EQ(bf_index_upper_rate(false, BF_INDEX_DEFAULT_FPR), 0.01);
}

TEST(Sizes, LevelsAndLengths)
{
	uint32_t lengths[BF_INDEX_MAX_LEVELS];
	bf_index_level_lengths(1, lengths);
	EXPECT_EQ(std::vector<uint32_t>(lengths, lengths + 4), (std::vector<uint32_t>{1, 125, 15625, 125000}));
	bf_index_level_lengths(32, lengths);
	EXPECT_EQ(std::vector<uint32_t>(lengths, lengths + 4), (std::vector<uint32_t>{32, 4000, 128000, 0}));
	bf_index_level_lengths(0, lengths);
	EXPECT_EQ(lengths[1], 0u);
	EXPECT_FALSE(bf_index_level_pays(1, 4000, 1, 7999));
	EXPECT_TRUE(bf_index_level_pays(1, 4000, 1, 8000));
	EXPECT_FALSE(bf_index_level_pays(2, 128000, 3, 1000000));
	EXPECT_TRUE(bf_index_level_pays(2, 128000, 4, 1000000));
	EXPECT_FALSE(bf_index_level_pays(3, 0, 100, 1000000));
}

TEST(Sizes, LengthsOfRanges)
{
	/*
	 * ranges have at most 32 pages. They are so short that a filter has about eight lines, but long enough that a
	 * small table has one group
	 */
	EXPECT_EQ(bf_index_range_length_for(8, 100000, false), 32u);
	EXPECT_EQ(bf_index_range_length_for(64, 100000, false), 4u);
	EXPECT_EQ(bf_index_range_length_for(10000, 100000, false), 1u);
	EXPECT_EQ(bf_index_range_length_for(10000, 4000, false), 32u);
	EXPECT_EQ(bf_index_range_length_for(10000, 512, true), 32u);
	EXPECT_EQ(bf_index_range_length_for(10000, 512, false), 16u);
	/* one row that is unlike the others must not decide */
	const double sizes[] = {3, 3, 1000, 3};
	EXPECT_EQ(bf_index_size_that_tells(sizes, 4), 3);
	EXPECT_EQ(bf_index_size_that_tells(sizes + 1, 2), 501.5);
}

TEST(Sizes, PagesOfALookUp)
{
	/* one group covers the heap. A look-up reads its page, and the ranges that hold the item or falsely say so */
	const BfLevelToSearch single = {32, 125, 1, 2, 0.001};
	BfPagesRead read = bf_index_pages_of_look_up(&single, 1, 4000);
	EXPECT_DOUBLE_EQ(read.index, 1);
	EXPECT_DOUBLE_EQ(read.heap, (2 + 123 * 0.001) * 32);
	/* pages that no group covers are read */
	read = bf_index_pages_of_look_up(&single, 1, 5000);
	EXPECT_DOUBLE_EQ(read.heap, (2 + 123 * 0.001) * 32 + 1000);
	EXPECT_DOUBLE_EQ(bf_index_pages_of_look_up(nullptr, 0, 5000).heap, 5000);
	/*
	 * a level above saves the groups below it. Still read: those groups whose range above says "maybe", and the last
	 * group, which the level above does not cover
	 */
	const BfLevelToSearch two[] = {{4, 12600, 101, 0, 0.001}, {500, 100, 1, 0, 0.01}};
	read = bf_index_pages_of_look_up(two, 2, 50400);
	EXPECT_NEAR(read.index, 1 + 100 * 0.01 + 1, 0.1);
	EXPECT_NEAR(read.heap, (100 * 0.01 * 125 + 100) * 0.001 * 4, 0.1);
}

/* Simulates many searches on two levels: chance decides which ranges hold the item, and which ones falsely say so. */
TEST(Sizes, PagesOfALookUpAreThoseOfASearch)
{
	constexpr int upper = 40, inside = 125, searches = 6000;
	std::mt19937_64 random(7);
	for (const int holding : {0, 1, 5, 200})
		for (const double rate : {0.001, 0.05})
		{
			double index = 0, heap = 0, holding_above = 0;
			for (int search = 0; search < searches / (1 + holding); search++)
			{
				std::vector<bool> holds(upper * inside);
				for (int placed = 0; placed < holding;)
				{
					const size_t at = random() % holds.size();
					placed += !holds[at];
					holds[at] = true;
				}
				index++;
				for (size_t range = 0; range < upper; range++)
				{
					const auto first = holds.begin() + static_cast<std::ptrdiff_t>(range * inside);
					const bool has_it = std::find(first, first + inside, true) != first + inside;
					holding_above += has_it;
					if (!has_it && std::uniform_real_distribution<>(0, 1)(random) >= 0.01)
						continue;
					index++;
					heap += static_cast<double>(std::count_if(first, first + inside, [&](bool here) {
						return here || std::uniform_real_distribution<>(0, 1)(random) < rate;
					}));
				}
			}
			const double times = searches / (1 + holding);
			const BfLevelToSearch levels[] = {{1, upper * inside, upper, static_cast<double>(holding), rate},
											  {inside, upper, 1, holding_above / times, 0.01}};
			const BfPagesRead read = bf_index_pages_of_look_up(levels, 2, upper * inside);
			EXPECT_NEAR(read.index / (index / times), 1, 0.1) << holding << ' ' << rate;
			EXPECT_NEAR(read.heap, heap / times, 0.15 * (heap / times) + 0.05) << holding << ' ' << rate;
		}
}

TEST(Sizes, GroupsAreReplacedIfTheyAreManyTimesTooLarge)
{
	EXPECT_TRUE(bf_index_is_worth_replacing(0, 125, 400, 100));
	EXPECT_FALSE(bf_index_is_worth_replacing(0, 125, 399, 100));
	/* too few pages would be saved */
	EXPECT_FALSE(bf_index_is_worth_replacing(0, 125, 32, 1));
	EXPECT_TRUE(bf_index_is_worth_replacing(0, 125, 33, 1));
	EXPECT_TRUE(bf_index_is_worth_replacing(0, 31, 8, 1));
	EXPECT_FALSE(bf_index_is_worth_replacing(0, 8, 4, 1));
	EXPECT_FALSE(bf_index_is_worth_replacing(1, 31, 32, 1));
	/* after a group was replaced it needs what it has, so it is not replaced again */
	for (uint64_t needed = 1; needed < 1000; needed++)
		EXPECT_FALSE(bf_index_is_worth_replacing(0, 8, needed, needed));
}

TEST(Sizes, OnePositionOfTheLargestGroupFitsOnAPage)
{
	EXPECT_EQ(BF_POSITIONS(BF_INDEX_MAX_RANGES), 1u);
	EXPECT_LE(BF_LINES_OFFSET(BF_INDEX_MAX_RANGES) + BF_INDEX_MAX_RANGES * SB_BF_LINE, BF_PAGE_SPACE);
}
