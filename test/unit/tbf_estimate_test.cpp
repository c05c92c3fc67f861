/*
 * tbf_estimate_test.cpp: what is estimated from the counters of a tbf: counts, their error and inner products. Also
 * totals, and hits_at(), which turns units of counters into hits. The tests compare the results with exact values.
 */
#include "tbf_support.h"
#include "tbf/tbf_place.hpp"

using namespace test;

static constexpr int64_t hour = INT64_C(3600000000);

/* The counts of n random items, few of them large, and the filter of these items. */
struct Stream
{
	std::vector<uint64_t> hashes;
	std::vector<double> counts;
	Tbf filter;

	Stream(uint64_t seed, size_t n, uint32_t cells, int64_t half_life = 0)
	{
		Random random(seed);
		Builder sums(shape(cells, 4, half_life, half_life / 10));
		for (size_t i = 0; i < n; i++)
		{
			hashes.push_back(random());
			counts.push_back(std::ceil(1000 / (1 + 1000 * uniform(random))));
			EXPECT_EQ(sums.add(Hit{hashes.back(), 0, counts.back()}), SB_OK);
		}
		filter = sums.stored();
	}
	double estimate(uint64_t hash) const
	{
		double hits = NAN;
		EXPECT_EQ(sb_tbf_estimate(&filter.parameters, filter.cells.data(), hash, 0, &hits), SB_OK);
		return hits;
	}
};

TEST(TbfEstimate, IsNearerToTheTruthThanTheCountAndNotBiased)
{
	Stream stream(401, 1500, 2048);
	double over = 0;
	double bias = 0;
	double wrong = 0;
	for (size_t i = 0; i < stream.hashes.size(); i++)
	{
		double count = static_cast<double>(stream.filter.least(stream.hashes[i]));
		double estimate = stream.estimate(stream.hashes[i]);
		ASSERT_GE(estimate, 0);
		ASSERT_LE(estimate, count);
		over += count - stream.counts[i];
		bias += estimate - stream.counts[i];
		wrong += std::fabs(estimate - stream.counts[i]);
	}
	EXPECT_GT(over / 1500, 2);
	EXPECT_LT(std::fabs(bias), 0.2 * over);
	EXPECT_LT(wrong, over);
}

TEST(TbfEstimate, IsExactForAnItemAlone)
{
	Stream stream(402, 1, 4096);
	EXPECT_NEAR(stream.estimate(stream.hashes[0]), stream.counts[0], 1e-6 * stream.counts[0]);
}

TEST(TbfErrorBound, HoldsAndSaysNothingImpossible)
{
	Stream stream(403, 1500, 2048);
	double total = 0;
	for (double count : stream.counts)
		total += count;
	EXPECT_EQ(sb_tbf_total(&stream.filter.parameters, 0), total);
	for (double over : {1.0, 5.0, 20.0, 50.0, 200.0, 1e9})
	{
		double more = 0;
		for (size_t i = 0; i < stream.hashes.size(); i++)
			more += static_cast<double>(stream.filter.least(stream.hashes[i])) - stream.counts[i] > over;
		EXPECT_LE(more / 1500, sb_tbf_error_bound(&stream.filter.parameters, over, 0)) << over;
		EXPECT_LE(sb_tbf_error_bound(&stream.filter.parameters, over, 0), 1);
	}
	sb_tbf with = stream.filter.parameters;
	with.total = 0;
	EXPECT_EQ(sb_tbf_error_bound(&with, 1, 0), 0);
	with.total = UINT64_C(2048) << SB_TBF_HIT_BITS;
	EXPECT_NEAR(sb_tbf_error_bound(&with, 8, 0), std::pow(0.5, 4), 1e-12);
	for (double over : {0.0, -1.0, static_cast<double>(NAN)})
		EXPECT_TRUE(std::isnan(sb_tbf_error_bound(&with, over, 0)));
}

/*
 * `over` is how far a count may be above the true one. Every count has the slack, which is what decay has dropped. So
 * only what `over` has beyond the slack is for the hits of other items.
 */
TEST(TbfErrorBound, LeavesRoomForTheSlack)
{
	Stream stream(407, 1500, 2048, hour);
	for (sb_tbf with : {stream.filter.parameters, stream.filter.decayed(20 * hour).parameters})
		for (int64_t at : {0 * hour, 20 * hour, 50 * hour})
		{
			const bool later = with.base != stream.filter.parameters.base;
			for (unsigned slack : {0u, 1u, 200u, 8192u})
			{
				with.slack = slack;
				const double in_all = sb_tbf_count(&with, 0, at);
				ASSERT_EQ(in_all > 0, slack > 0 || later);
				const double rest = 4 * sb_tbf_total(&with, at) / 2048;
				EXPECT_NEAR(sb_tbf_error_bound(&with, in_all + 2 * rest, at), std::pow(0.5, 4), 1e-9);
				if (in_all > 0)
				{
					EXPECT_EQ(sb_tbf_error_bound(&with, in_all, at), 1);
					EXPECT_EQ(sb_tbf_error_bound(&with, in_all / 2, at), 1);
				}
			}
		}
}

/* An exact filter has no other items' hits in a count, but it has slack. */
TEST(TbfErrorBound, OfAnExactFilterIsThatOfItsSlack)
{
	sb_tbf any;
	ASSERT_EQ(sb_tbf_plan(0, 0.01, hour, hour / 10, true, &any), SB_OK);
	any.kind = kind_of(SB_KIND_INTEGER);
	Builder builder(any, SB_TBF_SUMS_OF_ITEMS, true);
	/* at 20 h a hit of 0 h is one unit, which the next half-life drops */
	builder.add(std::vector<Hit>{{hash_of(1), 0, 1}, {hash_of(2), 20 * hour, 1}});
	const int64_t at = 21 * hour;
	const Tbf filter = builder.stored().decayed(at);
	const double slack = sb_tbf_count(&filter.parameters, 0, at);
	ASSERT_GT(slack, 0);
	for (double over : {slack / 2, slack * 1.01, 1.0})
	{
		double estimate = NAN;
		const double expected = over < slack ? 1 : 0;
		EXPECT_EQ(sb_tbf_error_bound(&filter.parameters, over, at), expected);
		EXPECT_EQ(sb_tbf_error_estimate(&filter.parameters, filter.cells.data(), over, at, &estimate), SB_OK);
		EXPECT_EQ(estimate, expected);
	}
}

TEST(TbfInnerProduct, IsThatOfTheCounts)
{
	/* the same 500 items in both, and 500 of each alone */
	sb_tbf like = shape(4096, 4, 0, 0);
	Random random(404);
	Builder left(like);
	Builder right(like);
	double truth = 0;
	for (int i = 0; i < 1500; i++)
	{
		uint64_t hash = random();
		auto a = static_cast<double>(between(random, 1, 50));
		auto b = static_cast<double>(between(random, 1, 50));
		if (i < 1000)
			left.add(std::vector<Hit>{{hash, 0, a}});
		if (i < 500 || i >= 1000)
			right.add(std::vector<Hit>{{hash, 0, b}});
		truth += i < 500 ? a * b : 0;
	}
	const Tbf a = left.stored();
	const Tbf b = right.stored();
	double product;
	ASSERT_EQ(sb_tbf_inner_product(&a.parameters, a.cells.data(), &b.parameters, b.cells.data(), 0, &product), SB_OK);
	EXPECT_NEAR(product / truth, 1, 0.05);
}

TEST(TbfInnerProduct, OfExactFiltersIsExactAndOfOneIsThatOfItsCells)
{
	sb_tbf any;
	ASSERT_EQ(sb_tbf_plan(0, 0.01, 0, 0, true, &any), SB_OK);
	any.kind = kind_of(SB_KIND_INTEGER);
	sb_tbf like = shape(8192, any.hash_count, 0, 0);
	Random random(405);
	Builder left(any, SB_TBF_SUMS_OF_ITEMS, true);
	Builder right(any, SB_TBF_SUMS_OF_ITEMS, true);
	Builder left_cells(like);
	Builder right_cells(like);
	double truth = 0;
	for (int i = 0; i < 3000; i++)
	{
		uint64_t hash = random();
		const auto a = i < 2000 ? static_cast<double>(between(random, 1, 50)) : 0;
		const auto b = i < 1000 || i >= 2000 ? static_cast<double>(between(random, 1, 50)) : 0;
		for (Builder *builder : {&left, &left_cells})
			builder->add(std::vector<Hit>{{hash, 0, a}});
		for (Builder *builder : {&right, &right_cells})
			builder->add(std::vector<Hit>{{hash, 0, b}});
		truth += a * b;
	}
	const Tbf exact[] = {left.stored(), right.stored()};
	const Tbf cells[] = {left_cells.stored(), right_cells.stored()};
	auto product = [](const Tbf &x, const Tbf &y) {
		double out;
		EXPECT_EQ(sb_tbf_inner_product(&x.parameters, x.cells.data(), &y.parameters, y.cells.data(), 0, &out), SB_OK);
		return out;
	};
	EXPECT_EQ(product(exact[0], exact[1]), truth);
	EXPECT_EQ(product(exact[1], exact[0]), truth);
	EXPECT_NEAR(product(exact[0], cells[1]), product(cells[0], cells[1]), 1e-6 * truth);
	EXPECT_NEAR(product(cells[0], exact[1]), product(cells[0], cells[1]), 1e-6 * truth);
}

TEST(TbfHits, AreWhatTheCountSaysWithoutRounding)
{
	Stream stream(405, 50, 1024, hour);
	for (int64_t at : {INT64_C(0), hour, 7 * hour / 2, -hour, 30 * hour})
		for (uint64_t units : {UINT64_C(1), UINT64_C(16), UINT64_C(123456)})
		{
			double count = sb_tbf_count(&stream.filter.parameters, units, at);
			EXPECT_NEAR(streambloom::hits_at(&stream.filter.parameters, static_cast<double>(units), at) / count, 1,
						1e-8);
		}
	EXPECT_LT(streambloom::hits_at(&stream.filter.parameters, -16, 0), 0);
	EXPECT_TRUE(std::isfinite(streambloom::hits_at(&stream.filter.parameters, 1, SB_TBF_MAX_TIME)));
	EXPECT_TRUE(std::isfinite(streambloom::hits_at(&stream.filter.parameters, 0, -SB_TBF_MAX_TIME)));
}

TEST(TbfTotal, DecaysAndNeverFallsBelowTheTruth)
{
	Stream stream(406, 1000, 2048, hour);
	double total = 0;
	for (double count : stream.counts)
		total += count;
	for (int64_t half_lives : {0, 1, 5, 20})
	{
		double then = sb_tbf_total(&stream.filter.parameters, half_lives * hour);
		EXPECT_GE(then, std::ldexp(total, static_cast<int>(-half_lives)));
		EXPECT_LE(then, std::ldexp(total, static_cast<int>(-half_lives)) * 1.001);
	}
}
