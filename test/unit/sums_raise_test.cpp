/*
 * sums_raise_test.cpp: minimum increase. It never undercounts, even if hits fall out of the planes, or the filter is
 * stored, decayed or merged. No counter is larger than in the filter without minimum increase. On average over the
 * items, it overcounts less than half as much as that filter.
 */
#include "tbf_support.h"

#include <numeric>

using namespace test;

static constexpr int64_t hour = 3600000000;

static sb_tbf raising(uint32_t cells, uint8_t hashes, int64_t half_life)
{
	sb_tbf like = shape(cells, hashes, half_life, half_life);
	like.flags = SB_TBF_MINIMUM_INCREASE;
	return like;
}

static sb_tbf adding(const sb_tbf &like)
{
	sb_tbf plain = like;
	plain.flags = 0;
	return plain;
}

/* A few items get most hits, as in logs. */
static uint64_t some_item(Random &random, int64_t items)
{
	auto rank = static_cast<uint64_t>(std::pow(static_cast<double>(items), uniform(random)));
	return (rank + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static std::vector<Hit> some_hits(Random &random, size_t count, int64_t items, int64_t hours, bool late)
{
	std::vector<Hit> hits(count);
	int64_t i = 0;
	for (Hit &hit : hits)
	{
		int64_t now = hours * i++ / static_cast<int64_t>(count);
		hit = {some_item(random, items), (late ? between(random, -hours, now) : now) * hour,
			   random() % 4 == 0 ? uniform(random) * 3 : 1};
	}
	return hits;
}

static void expect_no_undercount(const Tbf &filter, const std::vector<Hit> &hits, const char *what)
{
	for (size_t i = 0; i < hits.size(); i += 1 + hits.size() / 60)
		for (int64_t later : {-5, 0, 1, 30})
		{
			int64_t at = hits.back().at + later * hour;
			ASSERT_GE(static_cast<long double>(filter.count(hits[i].hash, at)),
					  truth(filter.parameters, hits, hits[i].hash, at) * (1 - oracle_error))
				<< what << ", item " << hits[i].hash;
		}
}

/* Hits move through all planes and fall out of them. A plane is 16 half-lives long, and four planes are kept. */
TEST(Raise, NeverUndercounts)
{
	Random random(1);
	for (int64_t half_life : {int64_t{0}, hour})
		for (int64_t hours : {0, 10, 40, 100, 400})
			for (bool late : {false, true})
			{
				std::vector<Hit> hits = some_hits(random, 600, 100, hours, late);
				Tbf filter = stored(raising(128, 3, half_life), hits);
				expect_no_undercount(filter, hits, "in one pass");
				expect_no_undercount(filter.decayed(hits.back().at + 7 * hour), hits, "decayed");
			}
}

/* The argument in tbf_in_order.cpp that there is no undercount rests on this. */
TEST(Raise, NoWordIsLargerThanTheLossOfItsPlane)
{
	Random random(2);
	Builder sums(raising(64, 3, hour));
	for (const Hit &hit : some_hits(random, 3000, 200, 300, true))
	{
		ASSERT_EQ(sums.add(hit), SB_OK);
		for (int i = 0; i < SB_TBF_PLANES; i++)
		{
			sb_u128 loss = sums.sums().planes[i].loss;
			for (uint64_t cell = 0; cell < sb_tbf_cells(&sums.plan()); cell++)
				ASSERT_TRUE(word_of(sums.sums().planes[i].cells, cell) <= loss);
		}
	}
}

/*
 * Many old hits of one item have filled cells that another item uses later. Hits of the second item raise its other
 * cells to a copy of these old sums, in the old planes. When these planes fall out, no item may be undercounted.
 */
TEST(Raise, NeverUndercountsWhatWasCopiedFromAnOlderPlane)
{
	Random random(3);
	for (int64_t apart : {1, 15, 16, 17, 33, 47, 48, 49, 63, 64, 80})
		for (int round = 0; round < 20; round++)
		{
			std::vector<Hit> hits;
			for (int64_t i = 0; i < 300; i++)
				hits.push_back({hash_of(random() % 20), (i / 100) * apart * hour, std::exp2(30 * uniform(random))});
			expect_no_undercount(stored(raising(64, 2, hour), hits), hits, "far apart");
		}
}

TEST(Raise, NeverUndercountsWhenStoredAfterEachHit)
{
	Random random(4);
	for (int64_t half_life : {int64_t{0}, hour})
	{
		std::vector<Hit> hits = some_hits(random, 150, 40, 60, true);
		sb_tbf like = raising(64, 3, half_life);
		Tbf running = Builder(like).stored();
		for (const Hit &hit : hits)
		{
			Builder sums(like);
			ASSERT_EQ(sums.add(running), SB_OK);
			ASSERT_EQ(sums.add(hit), SB_OK);
			running = sums.stored();
			EXPECT_EQ(running.parameters.flags & SB_TBF_OPTIONS, SB_TBF_MINIMUM_INCREASE);
			if (random() % 8 == 0)
				running = running.decayed(hit.at);
		}
		expect_no_undercount(running, hits, "stored each time");
	}
}

/*
 * A hit raises the item's smallest cell by exactly its amount, so the count of the item grows by it too. Two
 * positions that coincide are one cell.
 */
TEST(Raise, TheSmallestCellGrowsByTheHit)
{
	Random random(5);
	for (uint8_t hashes : std::initializer_list<uint8_t>{1, 2, 4, 16})
	{
		Builder sums(raising(64, hashes, 0));
		uint64_t coincided = 0;
		for (int i = 0; i < 400; i++)
		{
			Hit hit{random() % 100 * UINT64_C(0x9e3779b97f4a7c15), 0, static_cast<double>(between(random, 1, 5))};
			uint64_t before = sums.stored().least(hit.hash);
			ASSERT_EQ(sums.add(hit), SB_OK);
			ASSERT_EQ(sums.stored().least(hit.hash), before + static_cast<uint64_t>(hit.weight));
			uint16_t positions[SB_TBF_MAX_HASHES];
			tbf_positions(&sums.plan(), hit.hash, positions);
			std::sort(positions, positions + hashes);
			coincided += std::adjacent_find(positions, positions + hashes) != positions + hashes;
		}
		EXPECT_TRUE(hashes == 1 || coincided > 0);
	}
}

TEST(Raise, NoCounterIsLargerThanWithoutIt)
{
	Random random(6);
	for (int64_t half_life : {int64_t{0}, hour})
	{
		std::vector<Hit> hits = some_hits(random, 2000, 300, 30, true);
		sb_tbf like = raising(256, 3, half_life);
		std::vector<uint64_t> with = stored(like, hits).counters();
		std::vector<uint64_t> without = stored(adding(like), hits).counters();
		bool less = false;
		for (size_t i = 0; i < with.size(); i++)
		{
			ASSERT_LE(with[i], without[i]);
			less |= with[i] < without[i];
		}
		EXPECT_TRUE(less);
	}
}

static double mean_overcount(const Tbf &filter, const std::vector<Hit> &hits)
{
	std::vector<uint64_t> items;
	for (const Hit &hit : hits)
		items.push_back(hit.hash);
	std::sort(items.begin(), items.end());
	items.erase(std::unique(items.begin(), items.end()), items.end());
	double sum = 0;
	for (uint64_t item : items)
		sum += filter.count(item, hits.back().at) -
			   static_cast<double>(truth(filter.parameters, hits, item, hits.back().at));
	return sum / static_cast<double>(items.size());
}

TEST(Raise, OvercountsLessThanHalfAsMuch)
{
	Random random(7);
	for (int64_t half_life : {int64_t{0}, 10 * hour})
		for (uint32_t cells : {512u, 1024u, 2048u})
		{
			std::vector<Hit> hits = some_hits(random, 5000, 400, 30, false);
			sb_tbf like = raising(cells, 4, half_life);
			double with = mean_overcount(stored(like, hits), hits);
			double without = mean_overcount(stored(adding(like), hits), hits);
			EXPECT_LT(with, without / 2) << cells << " cells, half-life " << half_life;
			EXPECT_GT(without, 0);
		}
}

/* Merging adds counters. A count is never below the exact one, and never above the count without minimum increase. */
TEST(Raise, MergedFiltersKeepBothBounds)
{
	Random random(9);
	for (int64_t half_life : {int64_t{0}, hour})
		for (int round = 0; round < 10; round++)
		{
			sb_tbf like = raising(256, 3, half_life);
			std::vector<Hit> all;
			std::vector<Tbf> with;
			std::vector<Tbf> without;
			for (uint32_t cells : {256u, 128u, 256u})
			{
				std::vector<Hit> hits = some_hits(random, 400, 100, 20, true);
				all.insert(all.end(), hits.begin(), hits.end());
				with.push_back(stored(raising(cells, 3, half_life), hits));
				without.push_back(stored(adding(with.back().parameters), hits));
			}
			Tbf raised = merged(like, {&with[0], &with[1], &with[2]});
			Tbf added = merged(adding(like), {&without[0], &without[1], &without[2]});
			expect_no_undercount(raised, all, "merged");
			ASSERT_EQ(raised.parameters.base, added.parameters.base);
			std::vector<uint64_t> left = raised.counters();
			std::vector<uint64_t> right = added.counters();
			for (size_t i = 0; i < left.size(); i++)
				ASSERT_LE(left[i], right[i]);

			/* further hits raise the merged cells */
			Builder sums(like);
			ASSERT_EQ(sums.add(raised), SB_OK);
			for (const Hit &hit : some_hits(random, 100, 100, 20, true))
			{
				ASSERT_EQ(sums.add(hit), SB_OK);
				all.push_back(hit);
			}
			expect_no_undercount(sums.stored(), all, "merged and added to");
		}
}

TEST(Raise, TheFlagStaysIfOneOfTwoHasIt)
{
	sb_tbf with = raising(64, 3, hour);
	sb_tbf without = adding(with);
	sb_tbf out;
	sb_difference difference;
	ASSERT_EQ(sb_tbf_plan_merge(&without, &without, &out, &difference), SB_OK);
	EXPECT_EQ(out.flags, 0);
	for (const auto &[left, right] : {std::pair{with, without}, std::pair{without, with}, std::pair{with, with}})
	{
		ASSERT_EQ(sb_tbf_plan_merge(&left, &right, &out, &difference), SB_OK);
		EXPECT_EQ(out.flags, SB_TBF_MINIMUM_INCREASE);
	}
}

/*
 * Items of an exact filter pile up in cells that they share. When their plane falls out, such a cell loses the hits of
 * all of them, and an item that was not raised because the cell was high enough must not lose its own.
 */
TEST(Raise, ItemsOfAnExactFilterFallOutWithoutAnUndercount)
{
	const sb_tbf like = raising(64, 2, hour);
	sb_tbf any = like;
	any.block_count = any.block_cells = 0;
	any.flags = SB_TBF_EXACT;
	any.unit_bits = SB_TBF_HIT_BITS;
	const auto cells_of = [&](uint64_t hash) {
		uint16_t positions[SB_TBF_MAX_HASHES];
		tbf_positions(&like, hash, positions);
		return std::pair(std::min(positions[0], positions[1]), std::max(positions[0], positions[1]));
	};
	const auto shared = cells_of(hash_of(1));
	std::vector<uint64_t> twins = {hash_of(1)};
	uint64_t neighbour = 0;
	for (uint64_t i = 2; twins.size() < 4 || neighbour == 0; i++)
		if (const auto cells = cells_of(hash_of(i)); cells == shared)
			twins.push_back(hash_of(i));
		else if (cells.first == shared.first)
			neighbour = hash_of(i);
	for (size_t items = 2; items <= twins.size(); items++)
	{
		SCOPED_TRACE(items);
		std::vector<Hit> hits;
		for (size_t i = 0; i < items; i++)
			hits.push_back({twins[i], 15 * hour, 0x1p19});
		Builder few(any, SB_TBF_SUMS_OF_ITEMS, true);
		few.add(hits);
		Builder sums(like);
		ASSERT_EQ(sums.add(few.stored()), SB_OK);
		hits.push_back({neighbour, 16 * hour, 250000.0 * static_cast<double>(items)});
		ASSERT_EQ(sums.add(hits.back()), SB_OK);
		hits.push_back({hash_of(0), 64 * hour, 1});
		ASSERT_EQ(sums.add(hits.back()), SB_OK);
		expect_no_undercount(sums.stored(), hits, "fallen out");
	}
}

TEST(Raise, RefusesToOverflow)
{
	Builder sums(raising(64, 3, 0));
	double most = 0x1p33;
	sb_status status = SB_OK;
	for (int i = 0; i < (1 << 17) && status == SB_OK; i++)
		status = sums.add(Hit{hash_of(1), 0, most});
	EXPECT_EQ(status, SB_OVERFLOW);
	EXPECT_GE(sums.stored().count(hash_of(1), 0), 0x1p49);
}
