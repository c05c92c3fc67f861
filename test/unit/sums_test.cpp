/*
 * sums_test.cpp: exact sums and what is stored of them. The promises of DESIGN section 6: never an undercount, the same
 * bytes whatever the order of rows and the number of workers, and an overcount of at most 0.1 % and a unit.
 */
#include "support.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
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
	int64_t from, to; /* when hits fall */
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

	/* Hits of few items, so that they collide, most of weight 1, some not. */
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

	/* Times to ask at: around the hits, far after them, and before. */
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
		Sums whole(like());
		whole.add(all);
		Bytes expected = whole.stored().value();
		for (size_t parts = 1; parts <= 5; parts++)
		{
			std::vector<std::unique_ptr<Sums>> workers;
			for (size_t i = 0; i < parts; i++)
				workers.push_back(std::make_unique<Sums>(like()));
			/* by time as often as at random: a worker that saw only old hits is the hard case */
			if (seed % 2 == 0)
				std::sort(all.begin(), all.end(), [](const Hit &a, const Hit &b) { return a.at < b.at; });
			for (size_t i = 0; i < all.size(); i++)
				ASSERT_EQ(workers[seed % 2 == 0 ? i * parts / all.size() : random() % parts]->add(all[i]), SB_OK);
			std::shuffle(workers.begin(), workers.end(), random);

			Sums leader(like()); /* begins as one that saw no row */
			for (const auto &worker : workers)
				ASSERT_EQ(leader.combine(*worker), SB_OK);
			EXPECT_TRUE(same_bytes(leader.stored().value(), expected)) << parts << " parts";

			Sums first(like());
			ASSERT_EQ(first.combine(*workers.back()), SB_OK);
			for (size_t i = 0; i + 1 < workers.size(); i++)
				ASSERT_EQ(workers[0]->combine(i == 0 ? first : *workers[i]), SB_OK);
			const Sums &last = parts == 1 ? first : *workers[0];
			EXPECT_TRUE(same_bytes(last.stored().value(), expected));
		}
	}
}

TEST_P(SumsIn, CombiningAnEmptyStateChangesNothing)
{
	Sums sums(like());
	sums.add(hits(1));
	Bytes expected = sums.stored().value();
	Sums nothing(like());
	ASSERT_EQ(sums.combine(nothing), SB_OK);
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

/* The least example of it: nothing was dropped if what fell out had no weight, whichever way it fell. */
TEST(Sums, AnOldHitWithoutWeightIsTheSameEarlyOrLate)
{
	std::vector<Hit> early = {{1, 0, 0}, {2, 1000 * hour, 1}};
	std::vector<Hit> late = {{2, 1000 * hour, 1}, {1, 0, 0}};
	sb_tbf like = shape(64, 2, hour, hour);
	EXPECT_TRUE(same_bytes(stored(like, early).value(), stored(like, late).value()));
}

TEST_P(SumsIn, StoringLeavesTheStateUsable)
{
	std::vector<Hit> all = hits(3);
	Sums sums(like());
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
		/* several filters, each of its own stretch of time, some decayed, some small, merged in any order */
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
		Sums sums(like(512));
		for (const Tbf &filter : filters)
			ASSERT_EQ(sums.add(filter), SB_OK);
		expect_no_undercount(sums.stored(), all, seed);

		/* one by one, and hits among them */
		Tbf running = filters[0];
		for (size_t i = 1; i < filters.size(); i++)
		{
			Sums step(like(512));
			Hit hit{filters.size() + i, between(random, GetParam().from, GetParam().to), 1.5};
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
		Sums step(like());
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

/* What falls out of the planes is little, but a little of very many hits is not nothing. */
TEST(Sums, NeverUndercountWhatFellOutOfTheOldestPlane)
{
	sb_tbf like = shape(64, 2, hour, hour);
	for (int64_t age : {48, 49, 50, 60, 63, 64, 65, 79, 80, 100, 300})
		for (int64_t newest : {0, 1, 8, 15, 16, 100})
			for (double weight : {1.0, 1e3, 1e6, 1e9, 1.6e10})
				for (bool late : {false, true})
				{
					std::vector<Hit> hits = {{1, (newest - age) * hour, weight}, {2, newest * hour, 1}};
					if (late)
						std::swap(hits[0], hits[1]);
					Tbf filter = stored(like, hits);
					for (int64_t at : {newest - age, newest - age / 2, newest, newest + 10})
						EXPECT_GE(static_cast<long double>(filter.count(1, at * hour)), truth(like, hits, 1, at * hour))
							<< "weight " << weight << ", " << age << " half-lives old, asked at " << at
							<< (late ? ", late" : ", early");
				}
}

TEST(Sums, NeverUndercountManyLateHitsThatFellOut)
{
	sb_tbf like = shape(64, 2, hour, hour);
	std::vector<Hit> hits = {{2, 64 * hour, 1}};
	Sums sums(like);
	sums.add(hits);
	for (int i = 0; i < 1000; i++)
	{
		Hit late{1, 15 * hour, 1e10};
		sb_status status = sums.add(late);
		if (status == SB_OVERFLOW) /* refusing is no undercount */
			break;
		ASSERT_EQ(status, SB_OK);
		hits.push_back(late);
	}
	Tbf filter;
	sb_status status = sums.store(&filter);
	if (status == SB_OK)
	{
		EXPECT_GE(static_cast<long double>(filter.count(1, 64 * hour)), truth(like, hits, 1, 64 * hour));
	}
	else
	{
		EXPECT_EQ(status, SB_OVERFLOW);
	}
}

/* A merge stands at an older base than its newest filter: there, what fell out weighs 2^32 times as much. */
TEST(Sums, NeverUndercountAFilterThatFellOutOfAMerge)
{
	sb_tbf like = shape(64, 2, hour, hour);
	for (int64_t apart : {0, 20, 31, 32, 33, 40, 48, 50, 63, 64, 70, 100, 500})
		for (int64_t first : {0, 5, 15, -7})
			for (double weight : {1.0, 1e6, 1e9})
			{
				std::vector<Hit> old_hits = {{1, first * hour, weight}};
				std::vector<Hit> new_hits = {{2, (first + apart) * hour, 1}};
				Tbf old_filter = stored(like, old_hits);
				Tbf new_filter = stored(like, new_hits);
				for (bool swap : {false, true})
				{
					Tbf both = merged(like, swap ? std::vector<const Tbf *>{&new_filter, &old_filter}
												 : std::vector<const Tbf *>{&old_filter, &new_filter});
					for (int64_t at : {first, first + apart, first + apart + 5})
					{
						EXPECT_GE(static_cast<long double>(both.count(1, at * hour)), truth(like, old_hits, 1, at * hour))
							<< "weight " << weight << ", " << apart << " half-lives apart, asked at " << at;
						EXPECT_GE(static_cast<long double>(both.count(2, at * hour)), truth(like, new_hits, 2, at * hour));
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

/* An item alone in its filter: nothing collides, so what remains is rounding. */
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
			/* a unit at the base, seen from `at`, and the whole of what planes dropped */
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
	/* within some 30 half-lives of each other, so that no plane drops */
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
			__extension__ __int128 distance =
				static_cast<__int128>(GetParam().half_life ? floor_quotient(hit.at, GetParam().epoch) * GetParam().epoch : 0) -
				at;
			exact += static_cast<long double>(hit.weight) *
					 (GetParam().half_life
						  ? exp2l(static_cast<long double>(distance) / static_cast<long double>(GetParam().half_life))
						  : 1);
		}
		long double total = static_cast<long double>(filter.parameters.total) / 4096;
		EXPECT_GE(total, exact * (1 - oracle_error));
		/* each hit is rounded up to a 4096th of its own moment at most, which for small weights is much */
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
	EXPECT_EQ(exact, counts.size()); /* 20 items in 4096 cells: nothing collides with all three cells of another */
}

TEST(SumsUndecayed, LargeWholeWeightsAreExact)
{
	sb_tbf like = shape(4096, 3, 0, 0);
	for (double weight : {255.0, 256.0, 65535.0, 65536.0, 4294967295.0, 4294967296.0, 1e10})
	{
		Tbf filter = stored(like, {{5, 0, weight}});
		EXPECT_EQ(filter.count(5, 0), weight);
		EXPECT_EQ(filter.parameters.unit_bits, 0);
		EXPECT_EQ(filter.parameters.cell_bits, weight < 256 ? 8 : weight < 65536 ? 16 : weight < 0x1p32 ? 32 : 64);
	}
}

TEST(SumsUndecayed, FractionsAreInSixteenthsRoundedUp)
{
	sb_tbf like = shape(4096, 3, 0, 0);
	Tbf filter = stored(like, {{5, 0, 0.5}, {6, 0, 0.01}, {7, 0, 3}});
	EXPECT_EQ(filter.parameters.unit_bits, SB_TBF_UNIT_BITS);
	EXPECT_EQ(filter.count(5, 0), 0.5);
	EXPECT_EQ(filter.count(6, 0), 1.0 / 16);
	EXPECT_EQ(filter.count(7, 0), 3);
}

TEST(SumsUndecayed, MergingIsAdding)
{
	sb_tbf like = shape(4096, 3, 0, 0);
	Tbf whole = stored(like, {{5, 0, 3}, {6, 0, 4}});
	Tbf fractions = stored(like, {{5, 0, 0.25}});
	Tbf both = merged(like, {&whole, &fractions, &whole});
	EXPECT_EQ(both.count(5, 0), 6.25);
	EXPECT_EQ(both.count(6, 0), 8);
	EXPECT_EQ(both.parameters.total, static_cast<uint64_t>(14.25 * 4096));
	Tbf twice = merged(like, {&whole, &whole});
	EXPECT_EQ(twice.parameters.unit_bits, 0);
	EXPECT_TRUE(same_bytes(twice.value(), stored(like, {{5, 0, 3}, {6, 0, 4}, {6, 0, 4}, {5, 0, 3}}).value()));
}

/* ------------------------------------------------------------------------- merging */

namespace {

/* Filters whose bases lie at most `spread` half-lives apart, of sizes 64 * 2^j, some decayed and so forgetful. */
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

Tbf joined(const Tbf &a, const Tbf &b)
{
	sb_tbf like;
	sb_difference difference;
	EXPECT_EQ(sb_tbf_join(&a.parameters, &b.parameters, &like, &difference), SB_OK);
	return merged(like, {&a, &b});
}

Tbf joined(const std::vector<Tbf> &filters)
{
	sb_tbf like = filters[0].parameters;
	std::vector<const Tbf *> pointers;
	for (const Tbf &filter : filters)
	{
		sb_difference difference;
		sb_tbf wider;
		EXPECT_EQ(sb_tbf_join(&like, &filter.parameters, &wider, &difference), SB_OK);
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
 * A merged filter stands at its oldest base, where a hit of the newest weighs up to 2^32 times as much. It must still be
 * mergeable, with a few million hits in it: merging merged filters is what a table of hourly filters is for.
 */
TEST(SumsMerge, OfAMergedFilterHasRoomForMillionsOfHits)
{
	sb_tbf like = shape(64, 2, hour, hour);
	for (int64_t first = 0; first < 16; first++)
		for (double hits : {1.0, 10.0, 1000.0, 1e6})
		{
			Tbf old_filter = stored(like, {{1, first * hour, 1}});
			Tbf new_filter = stored(like, {{2, (first + SB_TBF_MAX_SPREAD) * hour, hits}});
			Tbf both = joined(old_filter, new_filter);
			Sums again(like);
			EXPECT_EQ(again.add(both), SB_OK) << "base " << first << ", " << hits << " hits";
			EXPECT_EQ(again.add(both), SB_OK) << "base " << first << ", " << hits << " hits";
		}
}

/* A hundred shards with a hot item each, every one of them merged from hours that lie far apart. */
TEST(SumsMerge, TakesAHundredMergedFiltersWithAMillionHits)
{
	sb_tbf like = shape(64, 2, hour, hour);
	for (int64_t first = 0; first < 16; first++)
		for (int64_t spread : {8, 16, 24, 32})
		{
			Tbf old_filter = stored(like, {{1, first * hour, 1}});
			Tbf new_filter = stored(like, {{2, (first + spread) * hour, 1e6}});
			Tbf shard = joined(old_filter, new_filter);
			Sums all(like);
			int added = 0;
			while (added < 100 && all.add(shard) == SB_OK)
				added++;
			ASSERT_EQ(added, 100) << "base " << shard.parameters.base << ", first " << first << ", spread " << spread;
			Tbf sum;
			ASSERT_EQ(all.store(&sum), SB_OK) << "first " << first << ", spread " << spread;
			EXPECT_GE(sum.count(2, (first + spread) * hour), 1e8);
			EXPECT_LE(sum.count(2, (first + spread) * hour), 1.001e8);
		}
}

namespace {

/* Filters of all sorts of ages and widths; some merged before, so that a counter reaches over two planes. */
std::vector<Tbf> motley_filters(Random &random, std::vector<Hit> *all)
{
	std::vector<Tbf> filters;
	for (int i = 0; i < 6; i++)
	{
		Sums sums(shape(64u << (random() % 2), 3, hour, hour));
		int64_t from = between(random, -80, 80);
		for (int64_t parts = between(random, 1, 3); parts > 0; parts--)
		{
			std::vector<Hit> hits;
			from += between(random, 0, 40);
			for (int64_t n = between(random, 1, 20); n > 0; n--)
				hits.push_back({random() % 20 * UINT64_C(0x9e3779b97f4a7c15), (from - between(random, 0, 5)) * hour,
								std::ldexp(1, static_cast<int>(between(random, 0, 14)))});
			all->insert(all->end(), hits.begin(), hits.end());
			EXPECT_EQ(sums.add(stored(sums.tbf, hits)), SB_OK);
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

			Sums left(like);
			Sums right(like);
			for (size_t f = 0; f < order.size(); f++)
				ASSERT_EQ((f % 2 == 0 ? left : right).add(*order[f]), SB_OK);
			ASSERT_EQ(left.combine(right), SB_OK);
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
		Sums sums(shape(128, 3, hour, hour));
		for (const Tbf &filter : filters)
			ASSERT_EQ(sums.add(filter), SB_OK);
		Hit hit{77, between(random, -200, 200) * hour, 3};
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
 * What falls out of the planes is at least 33 half-lives old: a count that is charged for it must not feel it. A merged
 * filter's old base falls out before its newest hits do, and those are not to be charged to every other item.
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
						Tbf old_filter = stored(like, {{1, first * hour, 1}});
						Tbf new_filter = stored(like, {{2, (first + spread) * hour, hits}});
						Tbf both = joined(old_filter, new_filter);
						/* a wide counter needs the plane after that of its newest hit, so that one more falls out */
						Tbf newest = stored(like, {{3, later * hour, 1000}});
						if (wide)
							newest = joined(stored(like, {{3, (later - 32) * hour, 1}}), newest);
						for (const Tbf &sum : {joined(both, newest), joined(newest, both)})
							ASSERT_LE(sb_tbf_count(&sum.parameters, 0, later * hour), hits * 0x1p-32 + 3.0 / 16)
								<< hits << " hits at " << first + spread << " on a base of " << first << ", newest at "
								<< later << (wide ? ", wide" : "");
					}
}

/* The same for many items of a hit each: then the counters are narrow, and the total is what is large. */
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
			Tbf both = joined(stored(like, {{1, first * hour, 1}}), stored(like, hits));
			EXPECT_LT(both.parameters.cell_bits, 64);
			for (int64_t later : {40, 47, 48, 56, 64, 72, 80, 90, 110, 200})
			{
				Tbf newest = joined(stored(like, {{3, (later - 32) * hour, 1}}), stored(like, {{3, later * hour, 1000}}));
				Tbf sum = joined(both, newest);
				double total = std::ldexp(static_cast<double>(sum.parameters.total),
										  static_cast<int>(sum.parameters.base - later) - SB_TBF_HIT_BITS);
				double exact = 1000 + 0x1p-32 + std::ldexp(4000, static_cast<int>(first + spread - later)) +
							   std::ldexp(1, static_cast<int>(first - later));
				EXPECT_GE(total, exact) << first << " + " << spread << ", newest at " << later;
				/* what has fallen out counts as if it lay in the newest plane that has */
				EXPECT_LE(total, exact * 1.001 + std::ldexp(4000, -11)) << first << " + " << spread << ", newest at " << later;
			}
		}
}

/* tbf_add on a stored filter, an hour at a time: the base stays behind, and that must not end in an overflow. */
TEST(SumsMerge, TakesAHotItemHourByHour)
{
	sb_tbf like = shape(64, 2, hour, hour);
	Tbf running = stored(like, {{1, 0, 1000}});
	std::vector<Hit> all = {{1, 0, 1000}};
	for (int64_t now = 1; now < 200; now++)
	{
		Sums step(like);
		all.push_back({1, now * hour, 1000});
		ASSERT_EQ(step.add(running), SB_OK) << "after " << now << " half-lives";
		ASSERT_EQ(step.add(all.back()), SB_OK) << "after " << now << " half-lives";
		ASSERT_EQ(step.store(&running), SB_OK) << "after " << now << " half-lives";
		auto exact = static_cast<double>(truth(like, all, 1, now * hour));
		EXPECT_GE(running.count(1, now * hour), exact);
		EXPECT_LE(running.count(1, now * hour), exact * 1.001 + 1);
	}
}

/* An empty filter has no base: it must not drag the scale to the year 2000, nor make a state of nothing. */
TEST(SumsMerge, AnEmptyFilterChangesNothing)
{
	for (int64_t base : {-1000, 0, 1000})
	{
		sb_tbf like = shape(128, 3, hour, hour);
		Tbf empty{like, Bytes(128)};
		Tbf filter = stored(like, {{1, base * hour, 5}, {2, (base - 3) * hour, 0.7}});
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
	EXPECT_TRUE(same_bytes(Sums(like).stored().value(), empty.value()));
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
				word = random();
			std::vector<uint64_t> to(large_cells);
			sb_tbf_widen_plane(&small, from.data(), &large, to.data());
			for (int i = 0; i < 300; i++)
			{
				uint64_t hash = random();
				uint16_t in_small[SB_TBF_MAX_HASHES];
				uint16_t in_large[SB_TBF_MAX_HASHES];
				sb_tbf_positions(&small, hash, in_small);
				sb_tbf_positions(&large, hash, in_large);
				for (int k = 0; k < 5; k++)
					EXPECT_EQ(to[size_t{sb_tbf_block(&large, hash)} * large.block_cells + in_large[k]],
							  from[size_t{sb_tbf_block(&small, hash)} * small.block_cells + in_small[k]]);
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

/* ------------------------------------------------------------------------- overflow */

TEST(SumsOverflow, OfACounterIsSaidAndNeverWraps)
{
	for (int64_t half_life : {INT64_C(0), hour})
		for (int64_t at : {INT64_C(0), 7 * hour, 15 * hour})
		{
			sb_tbf like = shape(64, 1, half_life, half_life);
			Sums sums(like);
			std::vector<Hit> hits;
			sb_status status = SB_OK;
			for (int i = 0; i < 2000000; i++)
			{
				Hit hit{1, at, 1.5e10};
				status = sums.add(hit);
				if (status != SB_OK)
					break;
				hits.push_back(hit);
				if (i % 1000 == 0 || i < 20)
				{
					Tbf filter = sums.stored();
					ASSERT_GE(filter.count(1, at), 1.5e10 * static_cast<double>(hits.size()));
				}
			}
			EXPECT_EQ(status, SB_OVERFLOW);
			EXPECT_GT(hits.size(), 0u);
		}
}

static Tbf full_of(sb_tbf like, uint64_t units, uint64_t total, uint64_t slack)
{
	Tbf filter;
	filter.parameters = like;
	filter.parameters.flags = SB_TBF_HAS_HITS;
	filter.parameters.total = total;
	filter.parameters.slack = slack;
	filter.parameters.cell_bits = units >> 32 ? 64 : units >> 16 ? 32 : units >> 8 ? 16 : 8;
	filter.cells = Bytes(filter.cell_bytes());
	size_t width = filter.parameters.cell_bits / 8u;
	for (size_t i = 0; i < sb_tbf_cells(&like); i++)
		for (size_t byte = 0; byte < width; byte++)
			filter.cells[i * width + byte] = static_cast<unsigned char>(units >> (8 * byte));
	EXPECT_TRUE(readable(filter));
	return filter;
}

/* Adds a filter again and again: sooner or later it is an overflow, and until then nothing has wrapped. */
static void expect_an_end(const Tbf &filter, uint64_t at_most)
{
	Sums sums(filter.parameters);
	sb_status status = SB_OK;
	long double added = 0;
	for (uint64_t i = 0; i < at_most && status == SB_OK; i++)
	{
		status = sums.add(filter);
		if (status != SB_OK)
			break;
		added += 1;
		Tbf so_far;
		status = sums.store(&so_far);
		if (status == SB_OK)
		{
			auto units = static_cast<long double>(filter.cell(0));
			EXPECT_GE(static_cast<long double>(so_far.count(1, 0)) * (1 << filter.parameters.unit_bits), units * added);
			EXPECT_GE(static_cast<long double>(so_far.parameters.total),
					  static_cast<long double>(filter.parameters.total) * added);
			EXPECT_GE(static_cast<long double>(so_far.parameters.slack),
					  static_cast<long double>(filter.parameters.slack) * added);
		}
	}
	EXPECT_EQ(status, SB_OVERFLOW);
}

TEST(SumsOverflow, OfMergedCountersIsSaid)
{
	for (int64_t half_life : {INT64_C(0), hour})
		for (int bits = 50; bits < 62; bits++)
			expect_an_end(full_of(shape(64, 2, half_life, half_life), UINT64_C(1) << bits, 5, 0), UINT64_C(1) << 14);
}

TEST(SumsOverflow, OfTheTotalIsSaid)
{
	for (int64_t half_life : {INT64_C(0), hour})
		for (int bits = 50; bits < 63; bits++)
			expect_an_end(full_of(shape(64, 2, half_life, half_life), 1, UINT64_C(1) << bits, 0), UINT64_C(1) << 13);
	expect_an_end(full_of(shape(64, 2, hour, hour), 1, INT64_MAX, 0), 3);
}

TEST(SumsOverflow, OfTheSlackIsSaid)
{
	for (int bits = 50; bits < 62; bits++)
		expect_an_end(full_of(shape(64, 2, hour, hour), 1, 1, UINT64_C(1) << bits), UINT64_C(1) << 12);
	expect_an_end(full_of(shape(64, 2, hour, hour), 1, 1, SB_TBF_MAX_CELL - 1), 3);
}

TEST(SumsOverflow, OfAddedPlanesIsSaid)
{
	sb_tbf like = shape(64, 2, hour, hour);
	Sums sums(like);
	int index = sums.turned(0);
	std::vector<uint64_t> words(64, SB_TBF_MAX_CELL / 2);
	words[0] = SB_TBF_MAX_CELL / 2 - 1;
	EXPECT_EQ(sb_sums_add_plane(&sums.sums, index, words.data()), SB_OK);
	EXPECT_EQ(sb_sums_add_plane(&sums.sums, index, words.data()), SB_OVERFLOW);
}

TEST(SumsOverflow, OfAWordIsSaidAtEveryPlaceOfAPlane)
{
	sb_tbf like = shape(64, 2, hour, hour);
	for (int64_t half_lives = 0; half_lives < 16; half_lives++)
	{
		Sums sums(like);
		int index = sums.turned(half_lives);
		uint64_t most = (SB_TBF_MAX_CELL >> half_lives) - 1;
		EXPECT_EQ(sb_sums_add_word(&sums.sums, index, 3, half_lives, UINT64_MAX), SB_OVERFLOW);
		EXPECT_EQ(sb_sums_add_word(&sums.sums, index, 3, half_lives, most + 1), SB_OVERFLOW);
		EXPECT_EQ(sums.sums.plane[index][3], 0u);
		EXPECT_EQ(sb_sums_add_word(&sums.sums, index, 3, half_lives, most), SB_OK);
		EXPECT_EQ(sums.sums.plane[index][3], most << half_lives);
		EXPECT_EQ(sb_sums_add_word(&sums.sums, index, 3, half_lives, 1), SB_OVERFLOW);
		EXPECT_EQ(sums.sums.plane[index][3], most << half_lives);
	}
}

/* SB_MAX_BYTES: 2^26 counters of 32 bits are a value, of 64 bits they are not. */
TEST(SumsOverflow, OfTheLargestValueIsSaid)
{
	sb_tbf like = shape(1u << 26, 1, 0, 0);
	/* only the pages of a word that is set are ever written */
	std::unique_ptr<uint64_t[], decltype(&std::free)> plane(
		static_cast<uint64_t *>(std::calloc(sb_tbf_cells(&like), sizeof(uint64_t))), std::free);
	ASSERT_NE(plane, nullptr);
	sb_sums sums{};
	sums.width = sb_tbf_cells(&like);
	int index = sb_sums_turn(&sums, 0);
	sums.plane[index] = plane.get();
	sums.newest = 0;

	sb_tbf planned;
	ASSERT_EQ(sb_sums_add_word(&sums, index, 12345, 0, UINT64_C(4096) * UINT32_MAX), SB_OK);
	ASSERT_EQ(sb_sums_plan(&sums, nullptr, &like, &planned), SB_OK);
	EXPECT_EQ(planned.cell_bits, 32);
	EXPECT_LE(sb_tbf_size(&planned), size_t{SB_MAX_BYTES});
	ASSERT_EQ(sb_sums_add_word(&sums, index, 12345, 0, 1), SB_OK);
	EXPECT_EQ(sb_sums_plan(&sums, nullptr, &like, &planned), SB_TOO_LARGE);
}

/* A merge that does not fit at the oldest base stands at the lowest one that holds it. */
TEST(SumsOverflow, OfAMergeRaisesTheBaseFirst)
{
	sb_tbf like = shape(64, 1, hour, hour);
	Tbf old_filter = stored(like, {{1, 0, 1}});
	Tbf new_filter = stored(like, {{1, 30 * hour, 1e10}});
	Tbf both = joined(old_filter, new_filter);
	EXPECT_GT(both.parameters.base, 0);
	EXPECT_LE(both.parameters.base, 30);
	EXPECT_GE(both.count(1, 30 * hour), 1e10);
	EXPECT_LE(both.count(1, 30 * hour), 1.001e10);
}

/* --------------------------------------------------------------------------- planes */

TEST(SumsTurn, KeepsTheNewestFourPlanes)
{
	Sums sums(shape(64, 2, hour, hour));
	EXPECT_EQ(sums.turned(0), 0);
	EXPECT_EQ(sums.turned(15), 0);
	EXPECT_EQ(sums.turned(16), 0);
	EXPECT_EQ(sums.turned(0), 1);
	EXPECT_EQ(sums.turned(-1), 2);
	EXPECT_EQ(sums.turned(-17), 3);
	EXPECT_EQ(sums.turned(-32), 3);
	EXPECT_FALSE(sums.sums.dropped_loss);
	EXPECT_EQ(sums.turned(-33), -1);
	EXPECT_EQ(sums.turned(63), 0);
	EXPECT_EQ(sums.turned(16), 2);
	EXPECT_EQ(sums.turned(0), 3);
	EXPECT_EQ(sums.turned(-1), -1);
}

TEST(SumsTurn, MovesWordsWithTheirPlane)
{
	Sums sums(shape(64, 2, hour, hour));
	for (int64_t plane = 0; plane < 4; plane++)
	{
		int index = sums.turned(plane * 16);
		ASSERT_EQ(index, 0);
		ASSERT_EQ(sb_sums_add_word(&sums.sums, index, 5, plane * 16, static_cast<uint64_t>(100 + plane)), SB_OK);
	}
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(sums.sums.plane[i][5], 103u - static_cast<uint64_t>(i));
	ASSERT_EQ(sums.turned(5 * 16), 0);
	EXPECT_EQ(sums.sums.plane[0][5], 0u);
	EXPECT_TRUE(sums.sums.plane[1] == nullptr || sums.sums.plane[1][5] == 0);
	EXPECT_EQ(sums.sums.plane[2][5], 103u);
	EXPECT_EQ(sums.sums.plane[3][5], 102u);
	ASSERT_EQ(sums.turned(1000000), 0);
	for (const uint64_t *plane : sums.sums.plane)
		EXPECT_TRUE(plane == nullptr || plane[5] == 0);
}

/* Whatever times the contract allows, what is stored of them is read back. */
TEST(Sums, AtTheExtremesOfTimeAreReadable)
{
	const int64_t lengths[] = {1, 2, 1000, INT64_C(1) << 50, SB_TBF_MAX_TIME - 1, SB_TBF_MAX_TIME};
	const int64_t times[] = {-SB_TBF_MAX_TIME, -SB_TBF_MAX_TIME / 2, -1, 0, 1, SB_TBF_MAX_TIME / 2, SB_TBF_MAX_TIME};
	for (int64_t half_life : lengths)
		for (int64_t epoch : lengths)
			for (int64_t first : times)
				for (int64_t then : times)
				{
					sb_tbf like = shape(64, 2, half_life, epoch);
					std::vector<Hit> hits = {{1, first, 3}, {2, then, 5}};
					Tbf filter = stored(like, hits);
					EXPECT_TRUE(readable(filter)) << half_life << " " << epoch << " " << first << " " << then;
					EXPECT_GE(filter.count(1, first), 3);
					EXPECT_GE(filter.count(2, then), 5);
					Tbf other = stored(like, {{3, 0, 1}});
					EXPECT_TRUE(readable(joined(filter, other)));
				}
}
