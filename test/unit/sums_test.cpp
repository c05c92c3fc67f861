/*
 * sums_test.cpp: exact sums, and what is stored of them. The promises: no undercount; the same bytes whatever the order
 * of rows and the number of workers; for an item that shares no cell an overcount of at most 0.1 %, a unit, and what
 * old planes have dropped. tbf_sums.hpp explains what planes are, and that old planes fall out.
 */
#include "tbf_support.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace test;

static constexpr int64_t second = 1000000;
static constexpr int64_t hour = 3600 * second;
static constexpr int64_t day = 24 * hour;

namespace {

struct Scenario
{
	const char *name;
	int64_t half_life, epoch;
	int64_t from, to; /* the range of the hits' times */
};

void PrintTo(const Scenario &scenario, std::ostream *out)
{
	*out << scenario.name;
}

const Scenario scenarios[] = {
	{"WeekByHoursOverTenYears", 7 * day, hour, 8000 * day, 11650 * day},
	{"WeekByHoursOverADay", 7 * day, hour, 9000 * day, 9001 * day},
	{"HourByHoursOverTwoWeeks", hour, hour, 9000 * day, 9014 * day},
	{"HourByFiveDays", hour, 5 * day, 9000 * day, 9030 * day},
	{"BeforeTheOrigin", 3 * hour, 7 * second, -40 * day, -2 * hour},
	{"AcrossTheOrigin", 5 * hour, hour, -3 * day, 3 * day},
	{"OddPrimes", 1000003, 101, -70000000, 90000000},
	{"Microseconds", 10, 7, 0, 2000},
	{"OneMicrosecond", 1, 1, -50, 250},
	{"HalfALifeOfAnEpoch", 1, 1000, -20000, 20000},
	{"Undecayed", 0, 0, 0, 1000 * day},
};

class SumsIn : public ::testing::TestWithParam<Scenario>
{
protected:
	sb_tbf like(uint32_t cells = 256, uint8_t hashes = 4) const
	{
		return shape(cells, hashes, GetParam().half_life, GetParam().epoch);
	}

	/* Hits of few items, so that they collide. Most hits have weight 1. */
	std::vector<Hit> hits(uint64_t seed, size_t count = 400) const
	{
		Random random(seed);
		std::vector<uint64_t> items = random_hashes(7, 60);
		std::vector<Hit> result;
		for (size_t i = 0; i < count; i++)
		{
			Hit hit{items[random() % items.size()], between(random, GetParam().from, GetParam().to), 1};
			if (random() % 5 == 0)
				hit.weight = std::ldexp(uniform(random), static_cast<int>(between(random, -20, 12)));
			result.push_back(hit);
		}
		return result;
	}

	/* Times at which counts are asked: around the hits, long after them, and before them. */
	std::vector<int64_t> times(uint64_t seed) const
	{
		Random random(seed);
		int64_t step = GetParam().half_life ? GetParam().half_life : day;
		std::vector<int64_t> result = {GetParam().from, GetParam().to};
		for (int i = 0; i < 5; i++)
		{
			result.push_back(between(random, GetParam().from, GetParam().to));
			result.push_back(GetParam().to + between(random, 0, 3) * step + between(random, 0, step));
			result.push_back(GetParam().to + between(random, 0, 200) * step);
			result.push_back(GetParam().from - between(random, 0, 20) * step);
		}
		return result;
	}

	void expect_no_undercount(const Tbf &filter, const std::vector<Hit> &hits, uint64_t seed) const
	{
		std::set<uint64_t> items;
		for (const Hit &hit : hits)
			items.insert(hit.hash);
		for (int64_t at : times(seed))
			for (uint64_t item : items)
			{
				long double exact = truth(filter.parameters, hits, item, at);
				ASSERT_GE(static_cast<long double>(filter.count(item, at)), exact * (1 - oracle_error))
					<< "asked at " << at << ", base " << filter.parameters.base;
			}
	}
};

INSTANTIATE_TEST_SUITE_P(Clocks, SumsIn, ::testing::ValuesIn(scenarios),
						 [](const auto &scenario) { return scenario.param.name; });

} // namespace

/* --------------------------------------------------------- order leaves no trace */

TEST_P(SumsIn, OrderOfHitsLeavesNoTrace)
{
	for (uint64_t seed = 0; seed < 8; seed++)
	{
		std::vector<Hit> all = hits(seed);
		Bytes expected = stored(like(), all).value();
		std::reverse(all.begin(), all.end());
		EXPECT_TRUE(same_bytes(stored(like(), all).value(), expected)) << "reversed";
		auto earlier = [](const Hit &a, const Hit &b) { return a.at < b.at; };
		std::sort(all.begin(), all.end(), earlier);
		EXPECT_TRUE(same_bytes(stored(like(), all).value(), expected)) << "sorted";
		std::reverse(all.begin(), all.end());
		EXPECT_TRUE(same_bytes(stored(like(), all).value(), expected)) << "newest first";
		Random random(seed);
		for (int i = 0; i < 3; i++)
		{
			std::shuffle(all.begin(), all.end(), random);
			EXPECT_TRUE(same_bytes(stored(like(), all).value(), expected)) << "shuffled";
		}
	}
}

TEST_P(SumsIn, PartsCombinedEqualTheWhole)
{
	Random random(171);
	for (uint64_t seed = 0; seed < 8; seed++)
	{
		std::vector<Hit> all = hits(seed);
		std::erase_if(all, [](const Hit &hit) { return hit.weight == 0; });
		Builder whole(like());
		whole.add(all);
		Bytes expected = whole.stored().value();
		for (size_t parts = 1; parts <= 5; parts++)
		{
			std::vector<std::unique_ptr<Builder>> workers;
			for (size_t i = 0; i < parts; i++)
				workers.push_back(std::make_unique<Builder>(like()));
			/* half of the rounds are in order of time: the hard case is a worker that gets only old hits */
			if (seed % 2 == 0)
				std::sort(all.begin(), all.end(), [](const Hit &a, const Hit &b) { return a.at < b.at; });
			for (size_t i = 0; i < all.size(); i++)
				ASSERT_EQ(workers[seed % 2 == 0 ? i * parts / all.size() : random() % parts]->add(all[i]), SB_OK);
			std::shuffle(workers.begin(), workers.end(), random);

			Builder leader(like()); /* begins like a leader without rows */
			for (const auto &worker : workers)
				ASSERT_EQ(leader.unite(*worker), SB_OK);
			EXPECT_TRUE(same_bytes(leader.stored().value(), expected)) << parts << " parts";

			Builder first(like());
			ASSERT_EQ(first.unite(*workers.back()), SB_OK);
			for (size_t i = 0; i + 1 < workers.size(); i++)
				ASSERT_EQ(workers[0]->unite(i == 0 ? first : *workers[i]), SB_OK);
			Builder &last = parts == 1 ? first : *workers[0];
			EXPECT_TRUE(same_bytes(last.stored().value(), expected));
		}
	}
}

TEST_P(SumsIn, CombiningAnEmptyStateChangesNothing)
{
	Builder sums(like());
	sums.add(hits(1));
	Bytes expected = sums.stored().value();
	Builder nothing(like());
	ASSERT_EQ(sums.unite(nothing), SB_OK);
	EXPECT_TRUE(same_bytes(sums.stored().value(), expected));
}

TEST_P(SumsIn, HitsWithoutWeightLeaveNoTraceOfTheirOrder)
{
	std::vector<Hit> all = hits(2, 50);
	Random random(172);
	for (int i = 0; i < 20; i++)
		all.push_back({random(), between(random, GetParam().from, GetParam().to), 0});
	Bytes expected = stored(like(), all).value();
	for (int i = 0; i < 20; i++)
	{
		std::shuffle(all.begin(), all.end(), random);
		EXPECT_TRUE(same_bytes(stored(like(), all).value(), expected));
	}
}

/* The smallest example: a hit without weight falls out. Nothing is dropped with it, whether it comes early or late. */
TEST(Sums, AnOldHitWithoutWeightIsTheSameEarlyOrLate)
{
	std::vector<Hit> early = {{hash_of(1), 0, 0}, {hash_of(2), 1000 * hour, 1}};
	std::vector<Hit> late = {{hash_of(2), 1000 * hour, 1}, {hash_of(1), 0, 0}};
	sb_tbf like = shape(64, 2, hour, hour);
	EXPECT_TRUE(same_bytes(stored(like, early).value(), stored(like, late).value()));
}

TEST_P(SumsIn, StoringLeavesTheStateUsable)
{
	std::vector<Hit> all = hits(3);
	Builder sums(like());
	for (size_t i = 0; i < all.size(); i++)
	{
		ASSERT_EQ(sums.add(all[i]), SB_OK);
		if (i % 37 == 0)
		{
			std::vector<Hit> so_far(all.begin(), all.begin() + static_cast<ptrdiff_t>(i) + 1);
			EXPECT_TRUE(same_bytes(sums.stored().value(), stored(like(), so_far).value()));
		}
	}
	EXPECT_TRUE(same_bytes(sums.stored().value(), stored(like(), all).value()));
}

/* ------------------------------------------------------------- never undercounts */

TEST_P(SumsIn, NeverUndercount)
{
	for (uint64_t seed = 10; seed < 16; seed++)
	{
		std::vector<Hit> all = hits(seed);
		expect_no_undercount(stored(like(), all), all, seed);
		expect_no_undercount(stored(like(64, 1), all), all, seed);
		expect_no_undercount(stored(like(8192, 7), all), all, seed);
	}
}

TEST_P(SumsIn, NeverUndercountAfterDecay)
{
	Random random(181);
	for (uint64_t seed = 20; seed < 26; seed++)
	{
		std::vector<Hit> all = hits(seed);
		Tbf filter = stored(like(), all);
		int64_t at = GetParam().to;
		for (int step = 0; step < 8; step++)
		{
			at += between(random, 0, 4 * GetParam().half_life);
			filter = filter.decayed(at);
			ASSERT_TRUE(readable(filter));
			expect_no_undercount(filter, all, seed);
		}
		expect_no_undercount(stored(like(), all).decayed(at), all, seed);
		expect_no_undercount(filter.decayed(at + 1000 * GetParam().half_life), all, seed);
	}
}

TEST_P(SumsIn, NeverUndercountAfterMerging)
{
	Random random(182);
	for (uint64_t seed = 30; seed < 36; seed++)
	{
		/* several filters, each of its own range of time, some decayed, some small, merged in any order */
		std::vector<Hit> all;
		std::vector<Tbf> filters;
		for (int i = 0; i < 4; i++)
		{
			std::vector<Hit> part = hits(seed * 100 + static_cast<uint64_t>(i), 100);
			int64_t from = between(random, GetParam().from, GetParam().to);
			for (Hit &hit : part)
				hit.at = from + (hit.at - GetParam().from) / 20;
			all.insert(all.end(), part.begin(), part.end());
			filters.push_back(stored(like(64u << (random() % 4)), part));
			if (GetParam().half_life != 0 && random() % 2 == 0)
				filters.back() = filters.back().decayed(from + between(random, 0, 20) * GetParam().half_life);
		}
		Builder sums(like(512));
		for (const Tbf &filter : filters)
			ASSERT_EQ(sums.add(filter), SB_OK);
		expect_no_undercount(sums.stored(), all, seed);

		/* merged one at a time, with hits in between */
		Tbf running = filters[0];
		for (size_t i = 1; i < filters.size(); i++)
		{
			Builder step(like(512));
			Hit hit{hash_of(filters.size() + i), between(random, GetParam().from, GetParam().to), 1.5};
			all.push_back(hit);
			ASSERT_EQ(step.add(running), SB_OK);
			ASSERT_EQ(step.add(hit), SB_OK);
			ASSERT_EQ(step.add(filters[i]), SB_OK);
			running = step.stored();
		}
		expect_no_undercount(running, all, seed);
	}
}

TEST_P(SumsIn, NeverUndercountWhenAddedHitByHit)
{
	std::vector<Hit> all = hits(40, 60);
	Tbf running;
	running.parameters = like();
	running.cells = Bytes(running.cell_bytes());
	std::vector<Hit> so_far;
	for (const Hit &hit : all)
	{
		Builder step(like());
		if (!so_far.empty())
		{
			ASSERT_EQ(step.add(running), SB_OK);
		}
		ASSERT_EQ(step.add(hit), SB_OK);
		running = step.stored();
		so_far.push_back(hit);
	}
	expect_no_undercount(running, all, 40);
}

/* Each hit that falls out of the planes is tiny, but very many of them are not. */
TEST(Sums, NeverUndercountWhatFellOutOfTheOldestPlane)
{
	sb_tbf like = shape(64, 2, hour, hour);
	for (int64_t age : {48, 49, 50, 60, 63, 64, 65, 79, 80, 100, 300})
		for (int64_t newest : {0, 1, 8, 15, 16, 100})
			for (double weight : {1.0, 1e3, 1e6, 1e9, 1.6e10})
				for (bool late : {false, true})
				{
					std::vector<Hit> hits = {{hash_of(1), (newest - age) * hour, weight},
											 {hash_of(2), newest * hour, 1}};
					if (late)
						std::swap(hits[0], hits[1]);
					Tbf filter = stored(like, hits);
					for (int64_t at : {newest - age, newest - age / 2, newest, newest + 10})
						EXPECT_GE(static_cast<long double>(filter.count(hash_of(1), at * hour)),
								  truth(like, hits, hash_of(1), at * hour))
							<< "weight " << weight << ", " << age << " half-lives old, asked at " << at
							<< (late ? ", late" : ", early");
				}
}

TEST(Sums, NeverUndercountManyLateHitsThatFellOut)
{
	sb_tbf like = shape(64, 2, hour, hour);
	std::vector<Hit> hits = {{hash_of(2), 64 * hour, 1}};
	Builder sums(like);
	sums.add(hits);
	for (int i = 0; i < 1000; i++)
	{
		Hit late{hash_of(1), 15 * hour, 1e10};
		sb_status status = sums.add(late);
		if (status == SB_OVERFLOW) /* an overflow that is reported is no undercount */
			break;
		ASSERT_EQ(status, SB_OK);
		hits.push_back(late);
	}
	Tbf filter;
	sb_status status = sums.store(&filter);
	if (status == SB_OK)
	{
		EXPECT_GE(static_cast<long double>(filter.count(hash_of(1), 64 * hour)),
				  truth(like, hits, hash_of(1), 64 * hour));
	}
	else
	{
		EXPECT_EQ(status, SB_OVERFLOW);
	}
}

/*
 * The base of a merged filter, the moment for which its counters are written down, may lie up to 32 half-lives before
 * its newest hit. At that base, what fell out with old planes weighs up to 2^32 times as much as at the newest hit.
 */
TEST(Sums, NeverUndercountAFilterThatFellOutOfAMerge)
{
	sb_tbf like = shape(64, 2, hour, hour);
	for (int64_t apart : {0, 20, 31, 32, 33, 40, 48, 50, 63, 64, 70, 100, 500})
		for (int64_t first : {0, 5, 15, -7})
			for (double weight : {1.0, 1e6, 1e9})
			{
				std::vector<Hit> old_hits = {{hash_of(1), first * hour, weight}};
				std::vector<Hit> new_hits = {{hash_of(2), (first + apart) * hour, 1}};
				Tbf old_filter = stored(like, old_hits);
				Tbf new_filter = stored(like, new_hits);
				for (bool swap : {false, true})
				{
					Tbf both = merged(like, swap ? std::vector<const Tbf *>{&new_filter, &old_filter} :
												   std::vector<const Tbf *>{&old_filter, &new_filter});
					for (int64_t at : {first, first + apart, first + apart + 5})
					{
						EXPECT_GE(static_cast<long double>(both.count(hash_of(1), at * hour)),
								  truth(like, old_hits, hash_of(1), at * hour))
							<< "weight " << weight << ", " << apart << " half-lives apart, asked at " << at;
						EXPECT_GE(static_cast<long double>(both.count(hash_of(2), at * hour)),
								  truth(like, new_hits, hash_of(2), at * hour));
					}
				}
			}
}

TEST(Sums, OrderOfAMergeLeavesNoTraceHoweverFarApart)
{
	Random random(183);
	sb_tbf like = shape(256, 3, hour, hour);
	for (int round = 0; round < 100; round++)
	{
		std::vector<Tbf> filters;
		for (int i = 0; i < 5; i++)
			filters.push_back(stored(like, {{random(), between(random, -100, 100) * hour, 1e4}, {random(), 0, 0.5}}));
		std::vector<const Tbf *> order;
		for (const Tbf &filter : filters)
			order.push_back(&filter);
		Bytes expected = merged(like, order).value();
		for (int i = 0; i < 5; i++)
		{
			std::shuffle(order.begin(), order.end(), random);
			EXPECT_TRUE(same_bytes(merged(like, order).value(), expected));
		}
	}
}

/* ----------------------------------------------------------- and overcounts little */

/*
 * An item that is alone in its filter does not collide, so its overcount comes only from rounding and from what old
 * planes have dropped.
 */
TEST_P(SumsIn, OvercountsAtMostAThousandthAndAUnit)
{
	Random random(191);
	for (int round = 0; round < 40; round++)
	{
		sb_tbf tbf = like(4096);
		std::vector<Hit> all;
		uint64_t item = random();
		for (int64_t n = between(random, 1, 30); n > 0; n--)
			all.push_back({item, between(random, GetParam().from, GetParam().to), 1});
		Tbf filter = stored(tbf, all);
		double unit = std::ldexp(1, -filter.parameters.unit_bits);
		for (int64_t at : times(static_cast<uint64_t>(round)))
		{
			/* the overcount is at most a thousandth, a unit at the base seen from `at`, and what planes have dropped */
			long double scale = static_cast<long double>(sb_tbf_count(&filter.parameters, 1, at));
			long double exact = truth(tbf, all, item, at);
			auto count = static_cast<long double>(filter.count(item, at));
			if (std::isinf(filter.count(item, at)))
				continue;
			ASSERT_LE(count, exact * 1.001L + scale * (1 + 0.01L) + 1e-300L) << "unit " << unit << ", asked at " << at;
		}
	}
}

TEST_P(SumsIn, OfAnItemNeverSeenAreZeroWhileNothingIsForgotten)
{
	/* the hits are within some 30 half-lives, so that no plane falls out */
	std::vector<Hit> all = hits(50, 20);
	int64_t epoch = std::max<int64_t>(GetParam().epoch, 1);
	int64_t start = floor_quotient(GetParam().from, epoch) * epoch;
	Random random(52);
	for (Hit &hit : all)
		hit.at = start + between(random, 0, std::max(epoch - 1, 30 * GetParam().half_life));
	Tbf filter = stored(like(8192), all);
	int zeroes = 0;
	for (uint64_t hash : random_hashes(51, 1000))
		if (filter.least(hash) == 0)
		{
			zeroes++;
			EXPECT_EQ(filter.count(hash, GetParam().to), 0);
			EXPECT_EQ(filter.count(hash, GetParam().from), 0);
		}
	EXPECT_GT(zeroes, 900);
}

TEST_P(SumsIn, TotalIsThatOfAllHits)
{
	for (uint64_t seed = 60; seed < 64; seed++)
	{
		std::vector<Hit> all = hits(seed);
		Tbf filter = stored(like(), all);
		int64_t at = GetParam().half_life * filter.parameters.base;
		long double exact = 0;
		for (const Hit &hit : all)
		{
			__extension__ __int128 distance = static_cast<__int128>(GetParam().half_life ?
																		floor_quotient(hit.at, GetParam().epoch) *
																			GetParam().epoch :
																		0) -
											  at;
			exact += static_cast<long double>(hit.weight) *
					 (GetParam().half_life ?
						  exp2l(static_cast<long double>(distance) / static_cast<long double>(GetParam().half_life)) :
						  1);
		}
		long double total = static_cast<long double>(filter.parameters.total) / 4096;
		EXPECT_GE(total, exact * (1 - oracle_error));
		/* each hit is rounded up, by at most 1/4096 of a hit at its own moment, which is much for a small weight */
		EXPECT_LE(total, exact * 1.001L + static_cast<long double>(all.size()) * 2 / 4096 + 2.0L / 4096);
	}
}

TEST_P(SumsIn, NewestIsTheEpochOfTheNewestHit)
{
	std::vector<Hit> all = hits(70);
	Tbf filter = stored(like(), all);
	int64_t newest = INT64_MIN;
	for (const Hit &hit : all)
		newest = std::max(newest, hit.at);
	int64_t epoch = GetParam().epoch;
	EXPECT_EQ(filter.parameters.newest, epoch ? floor_quotient(newest, epoch) * epoch : 0);
	EXPECT_EQ(filter.parameters.base, epoch ? floor_quotient(filter.parameters.newest, GetParam().half_life) : 0);
}

/* ----------------------------------------------------------------------- undecayed */

TEST(SumsUndecayed, WholeHitsAreExact)
{
	Random random(201);
	sb_tbf like = shape(4096, 3, 0, 0);
	std::map<uint64_t, uint64_t> counts;
	std::vector<Hit> all;
	for (uint64_t hash : random_hashes(202, 20))
	{
		auto hits = static_cast<uint64_t>(between(random, 1, 500));
		counts[hash] = hits;
		for (uint64_t i = 0; i < hits; i++)
			all.push_back({hash, between(random, 0, day), 1});
	}
	Tbf filter = stored(like, all);
	EXPECT_EQ(filter.parameters.unit_bits, 0);
	EXPECT_EQ(filter.parameters.slack, 0u);
	EXPECT_EQ(filter.parameters.total, all.size() * 4096);
	size_t exact = 0;
	for (auto [hash, count] : counts)
	{
		EXPECT_GE(filter.count(hash, 0), static_cast<double>(count));
		exact += filter.count(hash, 0) == static_cast<double>(count);
	}
	EXPECT_EQ(exact, counts.size()); /* 20 items in 4096 cells: each item has a cell of its own */
}

TEST(SumsUndecayed, LargeWholeWeightsAreExact)
{
	sb_tbf like = shape(4096, 3, 0, 0);
	for (double weight : {255.0, 256.0, 65535.0, 65536.0, 4294967295.0, 4294967296.0, 1e10})
	{
		Tbf filter = stored(like, {{hash_of(5), 0, weight}});
		EXPECT_EQ(filter.count(hash_of(5), 0), weight);
		EXPECT_EQ(filter.parameters.unit_bits, 0);
		EXPECT_EQ(filter.parameters.cell_bits, weight < 256 ? 8 : weight < 65536 ? 16 : weight < 0x1p32 ? 32 : 64);
	}
}

TEST(SumsUndecayed, FractionsAreInSixteenthsRoundedUp)
{
	sb_tbf like = shape(4096, 3, 0, 0);
	Tbf filter = stored(like, {{hash_of(5), 0, 0.5}, {hash_of(6), 0, 0.01}, {hash_of(7), 0, 3}});
	EXPECT_EQ(filter.parameters.unit_bits, SB_TBF_UNIT_BITS);
	EXPECT_EQ(filter.count(hash_of(5), 0), 0.5);
	EXPECT_EQ(filter.count(hash_of(6), 0), 1.0 / 16);
	EXPECT_EQ(filter.count(hash_of(7), 0), 3);
}

TEST(SumsUndecayed, MergingIsAdding)
{
	sb_tbf like = shape(4096, 3, 0, 0);
	Tbf whole = stored(like, {{hash_of(5), 0, 3}, {hash_of(6), 0, 4}});
	Tbf fractions = stored(like, {{hash_of(5), 0, 0.25}});
	Tbf both = merged(like, {&whole, &fractions, &whole});
	EXPECT_EQ(both.count(hash_of(5), 0), 6.25);
	EXPECT_EQ(both.count(hash_of(6), 0), 8);
	EXPECT_EQ(both.parameters.total, static_cast<uint64_t>(14.25 * 4096));
	Tbf twice = merged(like, {&whole, &whole});
	EXPECT_EQ(twice.parameters.unit_bits, 0);
	EXPECT_TRUE(same_bytes(
		twice.value(),
		stored(like, {{hash_of(5), 0, 3}, {hash_of(6), 0, 4}, {hash_of(6), 0, 4}, {hash_of(5), 0, 3}}).value()));
}
