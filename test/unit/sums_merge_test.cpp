/*
 * sums_merge_test.cpp: stored filters of any age, scale and size are merged into sums. No count is too low, and the
 * bytes depend neither on the order nor on how the work is split. tbf_sums.hpp explains what planes are, and that old
 * planes fall out. The *base* of a filter is the moment for which its counters are written down (sb_tbf.h).
 */
#include "tbf_support.h"

#include <algorithm>
#include <cmath>

using namespace test;

static constexpr int64_t hour = INT64_C(3600000000);

/* ------------------------------------------------------------------------- merging */

namespace {

/*
 * Filters whose bases are at most `spread` half-lives apart. They have 64 * 2^j cells; some were decayed and have
 * lost hits in this way.
 */
std::vector<Tbf> filters_within(Random &random, int64_t spread, int count)
{
	std::vector<Tbf> filters;
	int64_t oldest = between(random, -60, 60);
	for (int i = 0; i < count; i++)
	{
		sb_tbf like = shape(64u << (random() % 4), 3, hour, hour / 4);
		like.expected_items = random() % 100;
		int64_t base = oldest + (i == 0 ? 0 : i == 1 ? spread : between(random, 0, spread));
		int64_t decay = random() % 2 != 0 ? between(random, 0, 8) : 0;
		std::vector<Hit> hits;
		for (int64_t n = between(random, 1, 60); n > 0; n--)
			hits.push_back({random() % 30 * UINT64_C(0x9e3779b97f4a7c15),
							(base - decay - between(random, 0, 20)) * hour + between(random, 0, hour - 1),
							random() % 3 != 0 ? 1 : uniform(random) * 100});
		hits.push_back({random(), (base - decay) * hour, 1});
		filters.push_back(stored(like, hits).decayed(base * hour));
		EXPECT_EQ(filters.back().parameters.base, base);
	}
	return filters;
}

Tbf joined(const std::vector<Tbf> &filters)
{
	sb_tbf like = filters[0].parameters;
	std::vector<const Tbf *> pointers;
	for (const Tbf &filter : filters)
	{
		sb_difference difference;
		sb_tbf wider;
		EXPECT_EQ(sb_tbf_plan_merge(&like, &filter.parameters, &wider, &difference), SB_OK);
		like = wider;
		pointers.push_back(&filter);
	}
	return merged(like, pointers);
}

} // namespace

TEST(SumsMerge, IsCommutative)
{
	Random random(211);
	for (int round = 0; round < 200; round++)
	{
		std::vector<Tbf> f = filters_within(random, between(random, 0, 200), 2);
		EXPECT_TRUE(same_bytes(joined(f[0], f[1]).value(), joined(f[1], f[0]).value()));
	}
}

TEST(SumsMerge, OfMergesEqualsMergeOfAllUpToTheLargestSpread)
{
	Random random(212);
	for (int round = 0; round < 300; round++)
	{
		std::vector<Tbf> filters = filters_within(random, between(random, 0, SB_TBF_MAX_SPREAD), 5);
		Bytes expected = joined(filters).value();
		while (filters.size() > 1)
		{
			std::shuffle(filters.begin(), filters.end(), random);
			Tbf pair = joined(filters[0], filters[1]);
			filters.erase(filters.begin(), filters.begin() + 2);
			filters.push_back(pair);
		}
		EXPECT_TRUE(same_bytes(filters[0].value(), expected)) << "round " << round;
	}
}

TEST(SumsMerge, ShiftsTheNewerExactlyToTheOlderScale)
{
	Random random(213);
	for (int round = 0; round < 200; round++)
	{
		std::vector<Tbf> filters = filters_within(random, between(random, 0, SB_TBF_MAX_SPREAD), 4);
		Tbf all = joined(filters);
		int64_t oldest = INT64_MAX;
		for (const Tbf &filter : filters)
			oldest = std::min(oldest, filter.parameters.base);
		ASSERT_EQ(all.parameters.base, oldest);

		uint64_t cells = sb_tbf_cells(&all.parameters);
		std::vector<uint64_t> sum(cells);
		uint64_t slack = 0;
		uint64_t total = 0;
		for (const Tbf &filter : filters)
		{
			auto shift = static_cast<uint64_t>(filter.parameters.base - oldest);
			uint64_t wider = cells / sb_tbf_cells(&filter.parameters);
			for (uint64_t i = 0; i < cells; i++)
				sum[i] += filter.cell(i / wider) << shift;
			slack += sb_tbf_slack(&filter.parameters) << shift;
			total += filter.parameters.total << shift;
		}
		for (uint64_t i = 0; i < cells; i++)
			EXPECT_EQ(all.cell(i), sum[i]);
		EXPECT_EQ(all.parameters.slack, slack);
		EXPECT_EQ(all.parameters.total, total);
		EXPECT_EQ(all.parameters.flags, SB_TBF_HAS_HITS);
	}
}

TEST(SumsMerge, OfFarApartFiltersStandsAtTheLargestSpread)
{
	Random random(214);
	for (int64_t apart = SB_TBF_MAX_SPREAD + 1; apart < 100; apart++)
	{
		std::vector<Tbf> filters = filters_within(random, apart, 2);
		int64_t newest = std::max(filters[0].parameters.base, filters[1].parameters.base);
		EXPECT_GE(joined(filters).parameters.base, newest - SB_TBF_MAX_SPREAD);
		EXPECT_LE(joined(filters).parameters.base, newest);
	}
}

TEST(SumsMerge, WithItselfDoublesEveryCount)
{
	Random random(215);
	for (int round = 0; round < 50; round++)
	{
		Tbf filter = filters_within(random, 0, 2)[0];
		Tbf twice = joined(filter, filter);
		int64_t at = filter.parameters.base * hour;
		for (uint64_t i = 0; i < 30; i++)
		{
			uint64_t hash = i * UINT64_C(0x9e3779b97f4a7c15);
			EXPECT_EQ(twice.count(hash, at), 2 * filter.count(hash, at));
		}
	}
}

/*
 * A merged filter has the oldest base of its parts. At this base a hit of the newest time weighs up to 2^32 times as
 * much as a hit of the oldest time. It must still be possible to merge such a filter when it has a few million hits,
 * because a table of hourly filters is merged again and again.
 */
TEST(SumsMerge, OfAMergedFilterHasRoomForMillionsOfHits)
{
	sb_tbf like = shape(64, 2, hour, hour);
	for (int64_t first = 0; first < 16; first++)
		for (double hits : {1.0, 10.0, 1000.0, 1e6})
		{
			Tbf old_filter = stored(like, {{hash_of(1), first * hour, 1}});
			Tbf new_filter = stored(like, {{hash_of(2), (first + SB_TBF_MAX_SPREAD) * hour, hits}});
			Tbf both = joined(old_filter, new_filter);
			Builder again(like);
			EXPECT_EQ(again.add(both), SB_OK) << "base " << first << ", " << hits << " hits";
			EXPECT_EQ(again.add(both), SB_OK) << "base " << first << ", " << hits << " hits";
		}
}

/* Merges a hundred shards that are alike. Each has a hot item, and was itself merged from hours that are far apart. */
TEST(SumsMerge, TakesAMergedFilterWithAMillionHitsAHundredTimes)
{
	sb_tbf like = shape(64, 2, hour, hour);
	for (int64_t first = 0; first < 16; first++)
		for (int64_t spread : {8, 16, 24, 32})
		{
			Tbf old_filter = stored(like, {{hash_of(1), first * hour, 1}});
			Tbf new_filter = stored(like, {{hash_of(2), (first + spread) * hour, 1e6}});
			Tbf shard = joined(old_filter, new_filter);
			Builder all(like);
			int added = 0;
			while (added < 100 && all.add(shard) == SB_OK)
				added++;
			ASSERT_EQ(added, 100) << "base " << shard.parameters.base << ", first " << first << ", spread " << spread;
			Tbf sum;
			ASSERT_EQ(all.store(&sum), SB_OK) << "first " << first << ", spread " << spread;
			EXPECT_GE(sum.count(hash_of(2), (first + spread) * hour), 1e8);
			EXPECT_LE(sum.count(hash_of(2), (first + spread) * hour), 1.001e8);
		}
}

namespace {

/* Filters of many ages, with narrow and wide counters. Some were merged, so a counter may span two planes. */
std::vector<Tbf> motley_filters(Random &random, std::vector<Hit> *all)
{
	std::vector<Tbf> filters;
	for (int i = 0; i < 6; i++)
	{
		Builder sums(shape(64u << (random() % 2), 3, hour, hour));
		int64_t from = between(random, -80, 80);
		for (int64_t parts = between(random, 1, 3); parts > 0; parts--)
		{
			std::vector<Hit> hits;
			from += between(random, 0, 40);
			for (int64_t n = between(random, 1, 20); n > 0; n--)
				hits.push_back({random() % 20 * UINT64_C(0x9e3779b97f4a7c15), (from - between(random, 0, 5)) * hour,
								std::ldexp(1, static_cast<int>(between(random, 0, 14)))});
			all->insert(all->end(), hits.begin(), hits.end());
			EXPECT_EQ(sums.add(stored(sums.plan(), hits)), SB_OK);
		}
		filters.push_back(sums.stored());
	}
	return filters;
}

} // namespace

TEST(SumsMerge, OfWideCountersLeavesNoTraceOfOrderOrWorkers)
{
	Random random(217);
	int wide = 0;
	for (int round = 0; round < 200; round++)
	{
		std::vector<Hit> all;
		std::vector<Tbf> filters = motley_filters(random, &all);
		std::vector<const Tbf *> order;
		for (const Tbf &filter : filters)
		{
			order.push_back(&filter);
			wide += filter.parameters.cell_bits == 64;
		}
		sb_tbf like = shape(128, 3, hour, hour);
		Bytes expected = merged(like, order).value();
		for (int i = 0; i < 4; i++)
		{
			std::shuffle(order.begin(), order.end(), random);
			EXPECT_TRUE(same_bytes(merged(like, order).value(), expected));

			Builder left(like);
			Builder right(like);
			for (size_t f = 0; f < order.size(); f++)
				ASSERT_EQ((f % 2 == 0 ? left : right).add(*order[f]), SB_OK);
			ASSERT_EQ(left.unite(right), SB_OK);
			EXPECT_TRUE(same_bytes(left.stored().value(), expected));
		}
	}
	EXPECT_GT(wide, 100);
}

TEST(SumsMerge, OfWideCountersNeverUndercounts)
{
	Random random(218);
	for (int round = 0; round < 200; round++)
	{
		std::vector<Hit> all;
		std::vector<Tbf> filters = motley_filters(random, &all);
		Builder sums(shape(128, 3, hour, hour));
		for (const Tbf &filter : filters)
			ASSERT_EQ(sums.add(filter), SB_OK);
		Hit hit{hash_of(77), between(random, -200, 200) * hour, 3};
		all.push_back(hit);
		ASSERT_EQ(sums.add(hit), SB_OK);
		Tbf sum = sums.stored();
		Tbf later = sum.decayed(between(random, 0, 200) * hour);
		EXPECT_LE(sb_tbf_count(&sum.parameters, 0, sum.parameters.newest), 0.5);
		for (const Hit &asked : all)
			for (int64_t at : {asked.at, between(random, -100, 300) * hour})
			{
				long double exact = truth(sum.parameters, all, asked.hash, at);
				EXPECT_GE(static_cast<long double>(sum.count(asked.hash, at)), exact * (1 - oracle_error));
				EXPECT_GE(static_cast<long double>(later.count(asked.hash, at)), exact * (1 - oracle_error));
			}
	}
}

/*
 * Hits that fall out of the planes are at least 33 half-lives old, so the slack that is charged for them must not
 * change any count noticeably. The old base of a merged filter falls out before its newest hits do, and these must
 * not be charged to all other items.
 */
TEST(SumsMerge, ChargesForWhatFellOutAndNoMore)
{
	sb_tbf like = shape(64, 2, hour, hour);
	for (double hits : {1.0, 1e3, 5e5, 1e9})
		for (int64_t first : {0, 7, 15})
			for (int64_t spread : {0, 8, 16, 32})
				for (int64_t later = first + spread; later < first + 100; later++)
					for (bool wide : {false, true})
					{
						Tbf old_filter = stored(like, {{hash_of(1), first * hour, 1}});
						Tbf new_filter = stored(like, {{hash_of(2), (first + spread) * hour, hits}});
						Tbf both = joined(old_filter, new_filter);
						/*
						 * a wide counter needs the plane that follows the one of its newest hit, so one more plane
						 * falls out
						 */
						Tbf newest = stored(like, {{hash_of(3), later * hour, 1000}});
						if (wide)
							newest = joined(stored(like, {{hash_of(3), (later - 32) * hour, 1}}), newest);
						for (const Tbf &sum : {joined(both, newest), joined(newest, both)})
							ASSERT_LE(sb_tbf_count(&sum.parameters, 0, later * hour), hits * 0x1p-32 + 3.0 / 16)
								<< hits << " hits at " << first + spread << " on a base of " << first << ", newest at "
								<< later << (wide ? ", wide" : "");
					}
}

/*
 * The total of a merged filter has all hits, even those that fell out of the planes together with the old base, and
 * hardly more. Many items have one hit each, so the counters are narrow, and the total is large.
 */
TEST(SumsMerge, TotalOutlivesThePlaneOfTheBase)
{
	sb_tbf like = shape(8192, 1, hour, hour);
	std::vector<Hit> hits;
	for (uint64_t hash : random_hashes(219, 4000))
		hits.push_back({hash, 0, 1});
	for (int64_t first : {0, 15})
		for (int64_t spread : {0, 16, 22})
		{
			for (Hit &hit : hits)
				hit.at = (first + spread) * hour;
			Tbf both = joined(stored(like, {{hash_of(1), first * hour, 1}}), stored(like, hits));
			EXPECT_LT(both.parameters.cell_bits, 64);
			for (int64_t later : {40, 47, 48, 56, 64, 72, 80, 90, 110, 200})
			{
				Tbf newest = joined(stored(like, {{hash_of(3), (later - 32) * hour, 1}}),
									stored(like, {{hash_of(3), later * hour, 1000}}));
				Tbf sum = joined(both, newest);
				double total = std::ldexp(static_cast<double>(sum.parameters.total),
										  static_cast<int>(sum.parameters.base - later) - SB_TBF_HIT_BITS);
				double exact = 1000 + 0x1p-32 + std::ldexp(4000, static_cast<int>(first + spread - later)) +
							   std::ldexp(1, static_cast<int>(first - later));
				EXPECT_GE(total, exact) << first << " + " << spread << ", newest at " << later;
				/* hits that have fallen out count as if they were in the newest plane that has fallen out */
				EXPECT_LE(total, exact * 1.001 + std::ldexp(4000, -11))
					<< first << " + " << spread << ", newest at " << later;
			}
		}
}

/*
 * Adds hits to a stored filter as tbf_add() does, an hour at a time. The base lies up to SB_TBF_MAX_SPREAD half-lives
 * before the newest hit, so counters become large. This must not end in an overflow.
 */
TEST(SumsMerge, TakesAHotItemHourByHour)
{
	sb_tbf like = shape(64, 2, hour, hour);
	Tbf running = stored(like, {{hash_of(1), 0, 1000}});
	std::vector<Hit> all = {{hash_of(1), 0, 1000}};
	for (int64_t now = 1; now < 200; now++)
	{
		Builder step(like);
		all.push_back({hash_of(1), now * hour, 1000});
		ASSERT_EQ(step.add(running), SB_OK) << "after " << now << " half-lives";
		ASSERT_EQ(step.add(all.back()), SB_OK) << "after " << now << " half-lives";
		ASSERT_EQ(step.store(&running), SB_OK) << "after " << now << " half-lives";
		auto exact = static_cast<double>(truth(like, all, hash_of(1), now * hour));
		EXPECT_GE(running.count(hash_of(1), now * hour), exact);
		EXPECT_LE(running.count(hash_of(1), now * hour), exact * 1.001 + 1);
	}
}

/* An empty filter has no base: the field is 0, the year 2000. A merge must not take this for the oldest base. */
TEST(SumsMerge, AnEmptyFilterChangesNothing)
{
	for (int64_t base : {-1000, 0, 1000})
	{
		sb_tbf like = shape(128, 3, hour, hour);
		Tbf empty{like, Bytes(128)};
		Tbf filter = stored(like, {{hash_of(1), base * hour, 5}, {hash_of(2), (base - 3) * hour, 0.7}});
		Tbf alone = merged(like, {&filter});
		EXPECT_TRUE(same_bytes(merged(like, {&filter, &empty}).value(), alone.value())) << base;
		EXPECT_TRUE(same_bytes(merged(like, {&empty, &filter}).value(), alone.value())) << base;
	}
}

TEST(SumsMerge, OfEmptyFiltersIsEmpty)
{
	sb_tbf like = shape(128, 3, hour, hour);
	Tbf empty{like, Bytes(128)};
	EXPECT_TRUE(same_bytes(merged(like, {&empty, &empty}).value(), empty.value()));
	EXPECT_TRUE(same_bytes(Builder(like).stored().value(), empty.value()));
}

TEST(SumsMerge, OfOneFilterAsksTheSame)
{
	Random random(216);
	for (int round = 0; round < 50; round++)
	{
		Tbf filter = filters_within(random, 0, 2)[0];
		Tbf again = merged(filter.parameters, {&filter});
		for (uint64_t i = 0; i < 30; i++)
			for (int64_t at : {INT64_C(0), 10 * hour, -10 * hour})
			{
				uint64_t hash = i * UINT64_C(0x9e3779b97f4a7c15);
				EXPECT_EQ(again.count(hash, at), filter.count(hash, at));
			}
	}
}

/* -------------------------------------------------------------------------- widening */

TEST(SumsWiden, EveryItemKeepsItsCounters)
{
	Random random(221);
	for (uint32_t small_cells : {64u, 1024u, 4096u, 16384u})
		for (uint32_t large_cells = small_cells; large_cells <= small_cells * 64; large_cells *= 4)
		{
			sb_tbf small = shape(small_cells, 5, hour, hour);
			sb_tbf large = shape(large_cells, 5, hour, hour);
			std::vector<uint64_t> from(small_cells);
			for (uint64_t &word : from)
				word = random() % SB_TBF_MAX_CELL;
			Cells narrow(small, from);
			Cells wide(large);
			EXPECT_EQ(streambloom::add_cell_plane(wide, narrow), SB_OK);
			const std::vector<uint64_t> to = wide.words();
			for (int i = 0; i < 300; i++)
			{
				uint64_t hash = random();
				uint16_t in_small[SB_TBF_MAX_HASHES];
				uint16_t in_large[SB_TBF_MAX_HASHES];
				tbf_positions(&small, hash, in_small);
				tbf_positions(&large, hash, in_large);
				for (int k = 0; k < 5; k++)
					EXPECT_EQ(to[size_t{tbf_block(&large, hash)} * large.block_cells + in_large[k]],
							  from[size_t{tbf_block(&small, hash)} * small.block_cells + in_small[k]]);
			}
		}
}

TEST(SumsWiden, AMergedSmallFilterCountsAsItDid)
{
	Random random(222);
	for (int round = 0; round < 50; round++)
	{
		sb_tbf small = shape(64u << (random() % 4), 3, hour, hour);
		std::vector<Hit> hits;
		for (int i = 0; i < 40; i++)
			hits.push_back({random(), between(random, 0, 30) * hour, 1});
		Tbf filter = stored(small, hits);
		Tbf wide = merged(shape(64u << between(random, 4, 10), 3, hour, hour), {&filter});
		for (const Hit &hit : hits)
			EXPECT_EQ(wide.count(hit.hash, 31 * hour), filter.count(hit.hash, 31 * hour));
	}
}
