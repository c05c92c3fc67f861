/*
 * sums_weight_test.cpp: filters merged with weights. The promises: a count is never below the exact weighted sum, and
 * above it by at most a thousandth and a unit; the bytes are the same in any order, and with any division among
 * workers; whole weights of whole hits are exact.
 *
 * The oracle is the sum of weight times stored counter in long double, so these tests check the merge alone.
 * (sums_test.cpp checks that stored counters do not undercount the hits.)
 *
 * tbf_sums.hpp explains what planes are, and that old planes fall out.
 */
#include "tbf_support.h"

using namespace test;

static constexpr int64_t hour = INT64_C(3600) * 1000000;

namespace {

struct Weighted
{
	Tbf filter;
	double weight;
};

/* A weight of any allowed magnitude: often a whole number, often a power of two, sometimes 0. */
double any_weight(Random &random)
{
	switch (random() % 8)
	{
		case 0:
			return 0;
		case 1:
			return static_cast<double>(random() % 1000);
		case 2:
			return std::ldexp(1, static_cast<int>(between(random, -60, 32)));
		case 3:
			return std::nextafter(0x1p33, 0) - static_cast<double>(random() >> 32) * (random() % 2 ? 0 : 1.25);
		case 4:
			return std::pow(10, -300 * uniform(random));
		case 5:
			return std::numeric_limits<double>::denorm_min() * static_cast<double>(1 + random() % 5);
		default:
			return std::ldexp(uniform(random), static_cast<int>(between(random, -14, 4)));
	}
}

/* A typical weight by age. */
double usual_weight(Random &random)
{
	return std::pow(uniform(random), 4);
}

/*
 * A filter of a few items whose hits are within `spread` half-lives of `newest`. Some filters are decayed afterwards.
 * Some get an old base, so their counters are wide. A hit weighs up to 2^heavy.
 */
Tbf any_filter(Random &random, const sb_tbf &like, int64_t newest, int64_t spread, bool whole, int heavy = 17)
{
	std::vector<Hit> hits;
	for (int i = static_cast<int>(between(random, 1, 12)); i > 0; i--)
	{
		double weight = std::ldexp(1 + uniform(random),
								   static_cast<int>(random() % (random() % 4 ? 4 : static_cast<uint64_t>(heavy))));
		hits.push_back(
			{hash_of(random() % 10), (newest - between(random, 0, spread)) * hour, whole ? std::ceil(weight) : weight});
	}
	Tbf filter = stored(like, hits);
	if (like.half_life != 0 && random() % 4 == 0)
		return filter.decayed((newest + between(random, 1, 12)) * hour);
	if (like.half_life != 0 && random() % 4 == 0)
	{
		Tbf older = stored(like, {{hash_of(random() % 10), (newest - between(random, 20, 31)) * hour, 5}});
		return test::merged(like, {&older, &filter});
	}
	return filter;
}

std::vector<Weighted> any_merge(Random &random, const sb_tbf &like, int64_t far, double (*weight)(Random &))
{
	std::vector<Weighted> merge;
	for (int i = static_cast<int>(between(random, 1, 8)); i > 0; i--)
	{
		sb_tbf narrow = like;
		narrow.block_cells = static_cast<uint16_t>(like.block_cells >> (random() % 2));
		narrow.layout = static_cast<uint8_t>(random() % 2);
		merge.push_back({any_filter(random, narrow, between(random, -far, far), random() % 3 ? 2 : 40, random() % 2,
									weight == usual_weight ? 28 : 17),
						 weight(random)});
	}
	return merge;
}

sb_tbf shape_of(bool decays)
{
	return shape(128, 3, decays ? hour : 0, hour / 8);
}

Tbf merged(const sb_tbf &like, const std::vector<Weighted> &merge)
{
	Builder sums(like);
	for (const Weighted &part : merge)
		EXPECT_EQ(sums.add(part.filter, part.weight), SB_OK) << part.weight;
	return sums.stored();
}

/* The sum of weight * value * 2^(base - base of `at`) over the filters of the merge: hits at the base of `at`. */
template <typename Value>
long double exact(const std::vector<Weighted> &merge, const Tbf &at, Value value)
{
	long double sum = 0;
	for (const Weighted &part : merge)
		if ((part.filter.parameters.flags & SB_TBF_HAS_HITS) != 0)
		{
			int64_t distance = part.filter.parameters.base - at.parameters.base;
			sum += std::ldexp(static_cast<long double>(part.weight) * value(part.filter), static_cast<int>(distance));
		}
	return sum;
}

long double exact_cell(const std::vector<Weighted> &merge, const Tbf &at, uint64_t cell)
{
	return exact(merge, at, [&](const Tbf &filter) {
		uint64_t narrower = sb_tbf_cells(&at.parameters) / sb_tbf_cells(&filter.parameters);
		return std::ldexp(static_cast<long double>(filter.cell(cell / narrower)), -filter.parameters.unit_bits);
	});
}

long double slack_of(const Tbf &filter)
{
	return std::ldexp(static_cast<long double>(sb_tbf_slack(&filter.parameters)), -SB_TBF_HIT_BITS);
}

long double unit_of(const Tbf &filter)
{
	return std::ldexp(1.0L, -filter.parameters.unit_bits);
}

constexpr long double thousandth = 1.001L;

/* The weight as the merge represents it: factor * 2^exponent. */
long double value_of(const streambloom::filter_weight &weight)
{
	return std::ldexp(static_cast<long double>(weight.factor), weight.exponent);
}

} // namespace

/* ------------------------------------------------------------------- a weight */

TEST(Weight, IsNeverSmallerAndHardlyLarger)
{
	Random random(301);
	for (int i = 0; i < 100000; i++)
	{
		double by = any_weight(random);
		streambloom::filter_weight weight;
		ASSERT_EQ(streambloom::make_filter_weight(by, &weight), SB_OK) << by;
		EXPECT_GE(value_of(weight), by);
		EXPECT_LE(value_of(weight), static_cast<long double>(by) * (1 + 0x1p-13L));
		EXPECT_TRUE(by == 0 ? weight.factor == 0 : weight.factor % 2 == 1) << by;
		EXPECT_LT(weight.factor, UINT64_C(1) << 33);
	}
}

TEST(Weight, IsExactIfWholeOrShort)
{
	Random random(302);
	for (int i = 0; i < 100000; i++)
	{
		auto whole = static_cast<double>(random() >> (31 + random() % 33));
		double shorter = std::ldexp(static_cast<double>(random() >> 50), static_cast<int>(between(random, -1060, 18)));
		for (double by : {whole, shorter})
		{
			streambloom::filter_weight weight;
			ASSERT_EQ(streambloom::make_filter_weight(by, &weight), SB_OK) << by;
			EXPECT_EQ(value_of(weight), by);
		}
	}
}

TEST(Weight, HasLimits)
{
	streambloom::filter_weight weight;
	for (double by :
		 {-1.0, -std::numeric_limits<double>::denorm_min(), 0x1p33, 1e300, HUGE_VAL, -HUGE_VAL, std::nan("")})
		EXPECT_EQ(streambloom::make_filter_weight(by, &weight), SB_OUT_OF_RANGE) << by;
	for (double by : {0.0, -0.0, std::numeric_limits<double>::denorm_min(), std::nextafter(0x1p33, 0)})
		EXPECT_EQ(streambloom::make_filter_weight(by, &weight), SB_OK) << by;
}

/* ------------------------------------------------------------------- the sums */

/* Checks every counter. If something fell out of the planes, the slack makes up for it. */
TEST(SumsWeight, NeverUndercountAndHardlyOvercount)
{
	Random random(303);
	int dropped = 0;
	for (int round = 0; round < 600; round++)
	{
		sb_tbf like = shape_of(round % 2);
		int64_t far = round % 3 == 0 ? 150 : 10;
		std::vector<Weighted> merge = any_merge(random, like, far, round % 5 == 0 ? any_weight : usual_weight);
		Tbf sum = merged(like, merge);
		long double given = exact(merge, sum, slack_of);
		dropped += slack_of(sum) > given + 0x1p-12L;
		for (uint64_t cell = 0; cell < 128; cell++)
		{
			long double truth = exact_cell(merge, sum, cell);
			long double counted = static_cast<long double>(sum.cell(cell)) * unit_of(sum);
			EXPECT_GE((counted + slack_of(sum)) * (1 + oracle_error), truth + given);
			EXPECT_LE(counted, truth * thousandth + unit_of(sum));
		}
		/* what falls out weighs at most 2^-32 of the newest hits' weight, or less than a unit */
		EXPECT_LE(slack_of(sum), given * thousandth + 1e9L * unit_of(sum));
	}
	EXPECT_GT(dropped, 10);
}

/* The whole way: hits of items, the rows that they become, the weights of the rows, and the count of an item. */
TEST(SumsWeight, CountsAreNotBelowTheWeightedHits)
{
	Random random(304);
	for (int round = 0; round < 300; round++)
	{
		sb_tbf like = shape_of(round % 2);
		Builder sums(like);
		std::vector<std::pair<std::vector<Hit>, double>> rows;
		for (int64_t row = between(random, 1, 30); row > 0; row--)
		{
			std::vector<Hit> hits;
			for (int i = 0; i < 10; i++)
				hits.push_back({hash_of(random() % 20), between(random, -100, 100) * hour / 4,
								static_cast<double>(random() % 100) / 7});
			rows.emplace_back(hits, random() % 4 ? usual_weight(random) : any_weight(random));
			ASSERT_EQ(sums.add(stored(like, hits), rows.back().second), SB_OK);
		}
		Tbf sum = sums.stored();
		Tbf later = sum.decayed(40 * hour);
		for (uint64_t item = 0; item < 20; item++)
			for (int64_t at : {INT64_C(0), 25 * hour, 60 * hour})
			{
				long double sought = 0;
				for (const auto &[hits, weight] : rows)
					sought += static_cast<long double>(weight) * truth(like, hits, hash_of(item), at);
				EXPECT_GE(static_cast<long double>(sum.count(hash_of(item), at)), sought * (1 - oracle_error));
				EXPECT_GE(static_cast<long double>(later.count(hash_of(item), at)), sought * (1 - oracle_error));
			}
	}
}

/*
 * A thousandth of a hit is added ten thousand times. If each one were rounded up to a multiple of 2^-12 hits, the sum
 * would be 22 % too large.
 */
TEST(SumsWeight, SmallAmountsKeepTheirProportions)
{
	for (bool decays : {false, true})
		for (double weight : {0.001, 1e-5, 0.3, 0x1.000001p-3})
		{
			sb_tbf like = shape_of(decays);
			Tbf row = stored(like, {{hash_of(1), 5 * hour, 1}});
			Builder sums(like);
			for (int i = 0; i < 10000; i++)
				ASSERT_EQ(sums.add(row, weight), SB_OK);
			double exact = 10000 * weight;
			EXPECT_GE(sums.stored().count(hash_of(1), 5 * hour), exact);
			EXPECT_LE(sums.stored().count(hash_of(1), 5 * hour), exact * 1.001 + 1.0 / 16) << weight;
		}
}

TEST(SumsWeight, OrderAndWorkersLeaveNoTrace)
{
	Random random(305);
	for (int round = 0; round < 300; round++)
	{
		sb_tbf like = shape_of(round % 2);
		std::vector<Weighted> merge = any_merge(random, like, round % 3 == 0 ? 150 : 20,
												round % 4 == 0 ? usual_weight : any_weight);
		Bytes expected = merged(like, merge).value();
		for (int i = 0; i < 4; i++)
		{
			std::shuffle(merge.begin(), merge.end(), random);
			EXPECT_TRUE(same_bytes(merged(like, merge).value(), expected));

			Builder first(like);
			Builder second(like);
			Builder third(like);
			Builder *workers[] = {&first, &second, &third};
			for (const Weighted &part : merge)
				ASSERT_EQ(workers[random() % 3]->add(part.filter, part.weight), SB_OK);
			ASSERT_EQ(second.unite(third), SB_OK);
			ASSERT_EQ(first.unite(second), SB_OK);
			EXPECT_TRUE(same_bytes(first.stored().value(), expected));
		}
	}
}

TEST(SumsWeight, OneIsAsWithoutWeight)
{
	Random random(306);
	for (int round = 0; round < 200; round++)
	{
		sb_tbf like = shape_of(round % 2);
		std::vector<Weighted> merge = any_merge(random, like, round % 3 == 0 ? 150 : 20, [](Random &) { return 1.0; });
		Builder sums(like);
		for (const Weighted &part : merge)
			ASSERT_EQ(sums.add(part.filter), SB_OK);
		EXPECT_TRUE(same_bytes(merged(like, merge).value(), sums.stored().value()));
	}
}

TEST(SumsWeight, AWholeWeightIsThatManyFilters)
{
	Random random(307);
	for (int round = 0; round < 300; round++)
	{
		sb_tbf like = shape_of(round % 2);
		int times = static_cast<int>(between(random, 2, 9));
		Tbf filter = any_filter(random, like, 3, 2, round % 4 < 2);
		Builder sums(like);
		for (int i = 0; i < times; i++)
			ASSERT_EQ(sums.add(filter), SB_OK);
		EXPECT_TRUE(same_bytes(merged(like, {{filter, static_cast<double>(times)}}).value(), sums.stored().value()));
	}
}

TEST(SumsWeight, ZeroLeavesNoTrace)
{
	Random random(308);
	for (int round = 0; round < 100; round++)
	{
		sb_tbf like = shape_of(round % 2);
		std::vector<Weighted> merge = any_merge(random, like, 150, usual_weight);
		Bytes expected = merged(like, merge).value();
		Weighted nothing{any_filter(random, like, 10000, 2, false), random() % 2 ? 0.0 : -0.0};
		merge.insert(merge.begin() + static_cast<ptrdiff_t>(random() % (merge.size() + 1)), nothing);
		EXPECT_TRUE(same_bytes(merged(like, merge).value(), expected));
		EXPECT_TRUE(same_bytes(merged(like, {nothing}).value(), Builder(like).stored().value()));
	}
}

TEST(SumsWeight, WholeWeightsOfWholeHitsAreExact)
{
	Random random(309);
	for (int round = 0; round < 300; round++)
	{
		sb_tbf like = shape_of(false);
		std::vector<Weighted> merge;
		for (int i = 0; i < 6; i++)
			merge.push_back(
				{any_filter(random, like, 0, 0, true), static_cast<double>(random() >> (31 + random() % 33))});
		Tbf sum = merged(like, merge);
		EXPECT_EQ(sum.parameters.unit_bits, 0);
		EXPECT_EQ(sum.parameters.slack, 0u);
		for (uint64_t cell = 0; cell < 128; cell++)
			EXPECT_EQ(static_cast<long double>(sum.cell(cell)), exact_cell(merge, sum, cell));
		EXPECT_EQ(static_cast<long double>(sum.parameters.total), exact(merge, sum, [](const Tbf &filter) {
					  return static_cast<long double>(filter.parameters.total);
				  }));
	}
}

/* Without decay nothing falls out of the planes, whatever the weights: slack stays 0, so it raises no count. */
TEST(SumsWeight, WithoutDecayNothingIsForgotten)
{
	Random random(310);
	for (int round = 0; round < 300; round++)
	{
		sb_tbf like = shape_of(false);
		std::vector<Weighted> merge = any_merge(random, like, 0,
												[](Random &any) { return std::fmod(any_weight(any), 0x1p20); });
		Builder rows(like);
		for (int i = 0; i < 3; i++)
			for (const Weighted &part : merge)
				ASSERT_EQ(rows.add(part.filter, part.weight), SB_OK);
		EXPECT_TRUE(rows.sums().dropped_loss == 0);
		EXPECT_TRUE(rows.sums().dropped_total == 0);
		EXPECT_EQ(rows.stored().parameters.slack, 0u);
		EXPECT_EQ(rows.stored().parameters.base, 0);
	}
}

TEST(SumsWeight, TotalAndSlackGoByTheWeight)
{
	Random random(311);
	for (int round = 0; round < 300; round++)
	{
		sb_tbf like = shape_of(round % 3 != 0);
		std::vector<Weighted> merge = any_merge(random, like, 8, usual_weight);
		Tbf sum = merged(like, merge);
		auto total = [](const Tbf &filter) { return static_cast<long double>(filter.parameters.total); };
		EXPECT_GE(total(sum) * (1 + oracle_error), exact(merge, sum, total));
		/*
		 * each part is rounded up, by at most 1/4096 of a hit at its own base, and so is the sum when it is stored
		 */
		long double roundings = 2;
		for (const Weighted &part : merge)
			roundings += std::ldexp(1.0L, static_cast<int>(part.filter.parameters.base - sum.parameters.base));
		EXPECT_LE(total(sum), exact(merge, sum, total) * thousandth + roundings);
		EXPECT_GE(slack_of(sum) * (1 + oracle_error), exact(merge, sum, slack_of));
		if (sum.parameters.half_life == 0)
		{
			EXPECT_EQ(slack_of(sum), 0);
		}
	}
}

/* A weight changes amounts, not times: base and newest are those of the filters. */
TEST(SumsWeight, ScaleIsThatOfTheFilters)
{
	Random random(312);
	for (int round = 0; round < 200; round++)
	{
		sb_tbf like = shape_of(true);
		std::vector<Weighted> merge = any_merge(random, like, 12, [](Random &) { return 1.0; });
		Tbf plain = merged(like, merge);
		for (Weighted &part : merge)
			part.weight = std::ldexp(1 + uniform(random), static_cast<int>(between(random, -40, 3)));
		Tbf sum = merged(like, merge);
		EXPECT_EQ(sum.parameters.newest, plain.parameters.newest);
		EXPECT_EQ(sum.parameters.base, plain.parameters.base);
	}
}

/*
 * Like SumsMerge.ChargesForWhatFellOutAndNoMore, with weights: the slack that is charged for hits that fall out must
 * not change any count noticeably. Such hits are at least 33 half-lives old, or their weight makes them as small as
 * hits of this age. A weight that has many digits must not make hits fall out earlier.
 */
TEST(SumsWeight, ChargeForWhatFellOutAndNoMore)
{
	sb_tbf like = shape(64, 2, hour, hour);
	for (double weight : {0.7001, 1.0001, 1.0, 0.01, 3.3, 1e-9})
		for (int64_t first : {0, 4, 15})
			for (int64_t later = first; later < first + 100; later += 5)
				for (bool wide : {false, true})
				{
					Tbf old_filter = stored(like, {{hash_of(1), first * hour, 1e6}});
					Tbf newest = stored(like, {{hash_of(3), later * hour, 1000}});
					if (wide)
					{
						Tbf base = stored(like, {{hash_of(3), (later - 32) * hour, 1}});
						newest = test::merged(like, {&base, &newest});
					}
					Tbf sum = merged(like, {{old_filter, weight}, {newest, 1}});
					ASSERT_LE(sb_tbf_count(&sum.parameters, 0, later * hour), 1e6 * weight * 0x1p-32 + 1.0 / 4096)
						<< weight << " times the hits at " << first << ", newest at " << later
						<< (wide ? ", wide" : "");
				}
}

/* ----------------------------------------------------------------- the limits */

/*
 * There is room for as many rows as seven years have hours (65,536 here), each with a counter that uses all of its 32
 * bits.
 */
TEST(SumsWeight, HaveRoomForMillionsOfHotRows)
{
	for (double weight : {0.7, 0x1p-20, 1.0, 7.0})
	{
		sb_tbf like = shape_of(false);
		Builder sums(like);
		ASSERT_EQ(sums.add(stored(like, {{hash_of(1), 0, 4294967295.0}}), weight), SB_OK);
		for (int doubling = 0; doubling < 16; doubling++)
			ASSERT_EQ(sums.unite(sums), SB_OK) << doubling;
		double exact = 65536 * 4294967295.0 * weight;
		EXPECT_GE(sums.stored().count(hash_of(1), 0), exact);
		EXPECT_LE(sums.stored().count(hash_of(1), 0), exact * 1.001 + 1.0 / 16);
	}
}

/*
 * Doubling the state doubles the count each time, until an overflow is reported. The test ends there.
 */
TEST(SumsWeight, OverflowIsSaidAndNeverWraps)
{
	for (bool decays : {false, true})
		for (int64_t at : {0, 15})
			for (double weight : {1.0, 3.0, 0x1p32, std::nextafter(0x1p33, 0), 0x1.fffffffffp20})
			{
				sb_tbf like = shape_of(decays);
				Tbf filter = stored(like, {{hash_of(1), at * hour, 8000000000.0}});
				Builder sums(like);
				double exact = 8000000000.0 * weight;
				sb_status status = sums.add(filter, weight);
				int doublings = 0;
				for (; doublings < 90 && status == SB_OK; doublings++, exact *= 2)
				{
					Tbf sum;
					status = sums.store(&sum);
					if (status == SB_OK)
					{
						EXPECT_GE(sum.count(hash_of(1), at * hour), exact);
						EXPECT_LE(sum.count(hash_of(1), at * hour), exact * 1.001 + 1);
						status = sums.unite(sums);
					}
				}
				EXPECT_TRUE(status == SB_OVERFLOW || status == SB_TOTAL_OVERFLOW) << status;
				EXPECT_LT(doublings, 90);
				EXPECT_GT(exact, 0x1p34);
			}
}

/*
 * Filters without counters whose totals are nearly as large as a header can hold. Doubled again and again they would
 * reach 2^128, and so wrap to 0.
 */
TEST(SumsWeight, OverflowOfTheTotalIsSaidAndNeverWraps)
{
	for (int64_t base : {0, 15})
		for (bool falls_out : {false, true})
		{
			sb_tbf like = shape_of(true);
			Tbf filter = stored(like, {{hash_of(1), base * hour, 1}});
			filter.cells = Bytes(filter.cells.size());
			filter.parameters.total = UINT64_C(1) << 62;
			filter.parameters.slack = SB_TBF_MAX_CELL / 2;
			Tbf newest = stored(like, {{hash_of(2), (falls_out ? 100 : 20) * hour, 1}});
			Builder sums(like);
			ASSERT_EQ(sums.add(filter, std::nextafter(0x1p33, 0)), SB_OK);
			if (falls_out)
			{
				ASSERT_EQ(sums.add(newest), SB_OK);
			}
			for (int doubling = 1; doubling < 40; doubling++)
			{
				ASSERT_EQ(sums.unite(sums), SB_OK);
				Tbf sum;
				/* what fell out counts in small units: its total is an overflow from 2^126 of them on (too_much) */
				if (!falls_out || base + 62 + 33 + doubling >= 126)
				{
					EXPECT_EQ(sums.store(&sum), SB_TOTAL_OVERFLOW) << doubling;
				}
			}
		}
}

TEST(SumsWeight, AtTheExtremesOfTimeAreReadable)
{
	for (int64_t half_life : {INT64_C(1), SB_TBF_MAX_TIME})
		for (int64_t at : {-SB_TBF_MAX_TIME, INT64_C(0), SB_TBF_MAX_TIME})
			for (double weight : {std::numeric_limits<double>::denorm_min(), 0.3, std::nextafter(0x1p33, 0)})
			{
				sb_tbf like = shape(64, 2, half_life, 1);
				Tbf filter = stored(like, {{hash_of(1), at, 1}});
				Tbf sum = merged(like, {{filter, weight}});
				EXPECT_TRUE(readable(sum));
				EXPECT_GE(sum.count(hash_of(1), at), weight);
				EXPECT_LE(sum.count(hash_of(1), at), weight * 1.001 * filter.count(hash_of(1), at) + 1.0 / 16 * 2);
			}
}
