/*
 * tbf_clock_test.cpp: times on the decaying scale, the values of hits there, and the counts that counters become at a
 * time. A time becomes x, a number of half-lives, which is an exact quotient. 2^x and its inverse are rounded up by a
 * little.
 */
#include "tbf_support.h"

#include <cmath>
#include <limits>

using namespace test;

__extension__ typedef __int128 i128;

static constexpr uint64_t one = UINT64_C(1) << 62;

namespace {

struct Clock
{
	int64_t half_life, epoch, at;
};

int64_t random_length(Random &random)
{
	return between(random, 1, INT64_C(1) << (random() % 61));
}

Clock random_clock(Random &random)
{
	return {random_length(random), random_length(random),
			between(random, -SB_TBF_MAX_TIME, SB_TBF_MAX_TIME) >> (random() % 61)};
}

sb_moment moment_of(const Clock &clock)
{
	sb_moment moment;
	sb_tbf_moment(clock.half_life, clock.epoch, clock.at, &moment);
	return moment;
}

i128 floor_of(i128 a, i128 b)
{
	i128 quotient = a / b;
	return quotient - (a % b != 0 && a < 0 ? 1 : 0);
}

} // namespace

TEST(TbfMoment, IsTheExactQuotientOfTheEpochsStart)
{
	Random random(101);
	for (int round = 0; round < 200000; round++)
	{
		Clock c = random_clock(random);
		sb_moment moment = moment_of(c);
		i128 start = floor_of(c.at, c.epoch) * c.epoch;
		EXPECT_TRUE(moment.epoch_start == start) << c.half_life << " " << c.epoch << " " << c.at;
		EXPECT_TRUE(moment.half_lives == floor_of(start, c.half_life)) << c.half_life << " " << c.epoch << " " << c.at;
	}
}

TEST(TbfMoment, ScaleIsNeverBelowThePowerAndAtMostABillionthAbove)
{
	Random random(102);
	for (int round = 0; round < 200000; round++)
	{
		Clock c = random_clock(random);
		sb_moment moment = moment_of(c);
		i128 start = floor_of(c.at, c.epoch) * c.epoch;
		auto part = static_cast<long double>(start - floor_of(start, c.half_life) * c.half_life);
		long double power = exp2l(part / static_cast<long double>(c.half_life));
		long double scale = static_cast<long double>(moment.scale) / static_cast<long double>(one);
		long double inverse = static_cast<long double>(moment.inverse) / static_cast<long double>(one);

		/* 4e-19 is the error of exp2l of long double */
		EXPECT_GE(scale, power * (1 - 4e-19L));
		EXPECT_LE(scale, power * (1 + 1e-9L));
		EXPECT_GE(inverse, 2 / power * (1 - 4e-19L));
		EXPECT_LE(inverse, 2 / power * (1 + 1e-9L));
		EXPECT_GE(moment.scale, one);
		EXPECT_LE(moment.scale, 2 * one);
		EXPECT_GE(moment.inverse, one);
		EXPECT_LE(moment.inverse, 2 * one);
	}
}

/* A hit that is counted at its own moment must come to at least one hit. Tested in integers, so no oracle is needed. */
TEST(TbfMoment, ScaleTimesInverseIsNeverBelowTwo)
{
	Random random(103);
	for (int round = 0; round < 200000; round++)
	{
		sb_moment moment = moment_of(random_clock(random));
		EXPECT_TRUE(static_cast<sb_u128>(moment.scale) * moment.inverse >= static_cast<sb_u128>(1) << 125);
	}
}

TEST(TbfMoment, OfHalfAHalfLifeIsTheSquareRootOfTwoRoundedUp)
{
	sb_moment moment = moment_of({2, 1, 1});
	EXPECT_EQ(moment.half_lives, 0);
	EXPECT_TRUE(static_cast<sb_u128>(moment.scale) * moment.scale >= static_cast<sb_u128>(1) << 125);
	uint64_t least = moment.scale;
	while (static_cast<sb_u128>(least - 1) * (least - 1) >= static_cast<sb_u128>(1) << 125)
		least--;
	EXPECT_LE(moment.scale - least, 4u);
}

TEST(TbfMoment, OfWholeHalfLivesIsExact)
{
	Random random(104);
	for (int round = 0; round < 10000; round++)
	{
		int64_t half_life = between(random, 1, INT64_C(1) << (random() % 40));
		int64_t x = between(random, -1000000, 1000000);
		sb_moment moment = moment_of({half_life, 1, x * half_life});
		EXPECT_EQ(moment.half_lives, x);
		EXPECT_EQ(moment.scale, one);
		EXPECT_EQ(moment.inverse, 2 * one);
		EXPECT_EQ(moment.epoch_start, x * half_life);
	}
}

TEST(TbfMoment, NeverGoesBack)
{
	Random random(105);
	for (int round = 0; round < 300; round++)
	{
		Clock c = random_clock(random);
		c.at >>= 2;
		c.half_life = between(random, 1, INT64_C(1) << (random() % 55));
		c.epoch = between(random, 1, INT64_C(1) << (random() % 50));
		int64_t step = std::max<int64_t>(1, c.half_life >> (random() % 40));
		sb_moment before = moment_of(c);
		for (int i = 0; i < 300; i++)
		{
			c.at += step;
			sb_moment after = moment_of(c);
			EXPECT_GE(after.epoch_start, before.epoch_start);
			EXPECT_GE(after.half_lives, before.half_lives);
			if (after.half_lives == before.half_lives)
			{
				EXPECT_GE(after.scale, before.scale);
				EXPECT_LE(after.inverse, before.inverse);
			}
			before = after;
		}
	}
}

/* Time advances in epochs: all times in one epoch have the same moment. */
TEST(TbfMoment, IsOneWithinAnEpoch)
{
	Random random(106);
	for (int round = 0; round < 20000; round++)
	{
		int64_t half_life = random_length(random);
		int64_t epoch = between(random, 1, INT64_C(1) << 50);
		int64_t start = between(random, -1000, 1000) * epoch;
		sb_moment first = moment_of({half_life, epoch, start});
		sb_moment last = moment_of({half_life, epoch, start + epoch - 1});
		EXPECT_EQ(first.epoch_start, start);
		EXPECT_EQ(last.epoch_start, start);
		EXPECT_EQ(first.half_lives, last.half_lives);
		EXPECT_EQ(first.scale, last.scale);
		EXPECT_EQ(moment_of({half_life, epoch, start + epoch}).epoch_start, start + epoch);
		EXPECT_EQ(moment_of({half_life, epoch, start - 1}).epoch_start, start - epoch);
	}
}

TEST(TbfMoment, CountsNegativeTimesDownwards)
{
	/* half a second before the origin, epochs of a second, half-life two seconds: x = -1/2 */
	sb_moment moment = moment_of({2000000, 1000000, -500000});
	EXPECT_EQ(moment.epoch_start, -1000000);
	EXPECT_EQ(moment.half_lives, -1);
	EXPECT_NEAR(static_cast<double>(moment.scale) / 0x1p62, std::sqrt(2), 1e-9);
}

TEST(TbfMoment, WithoutDecayIsAlwaysTheSame)
{
	for (int64_t at : {INT64_C(0), INT64_C(-1), SB_TBF_MAX_TIME, -SB_TBF_MAX_TIME})
	{
		sb_moment moment = moment_of({0, 0, at});
		EXPECT_EQ(moment.half_lives, 0);
		EXPECT_EQ(moment.scale, one);
		EXPECT_EQ(moment.inverse, 2 * one);
	}
}

TEST(TbfMoment, SurvivesTheExtremes)
{
	const int64_t lengths[] = {1, 2, 3, SB_TBF_MAX_TIME / 2 + 1, SB_TBF_MAX_TIME - 1, SB_TBF_MAX_TIME};
	const int64_t times[] = {-SB_TBF_MAX_TIME, -SB_TBF_MAX_TIME + 1, -1, 0, 1, SB_TBF_MAX_TIME - 1, SB_TBF_MAX_TIME};
	for (int64_t half_life : lengths)
		for (int64_t epoch : lengths)
			for (int64_t at : times)
			{
				sb_moment moment = moment_of({half_life, epoch, at});
				i128 start = floor_of(at, epoch) * epoch;
				EXPECT_TRUE(moment.epoch_start == start);
				EXPECT_TRUE(moment.half_lives == floor_of(start, half_life));
			}
}

/* ---------------------------------------------------------------------- hits */

static uint64_t hit_at(const sb_moment &moment, double weight)
{
	uint64_t value = 0;
	EXPECT_EQ(sb_tbf_hit(&moment, weight, &value), SB_OK) << weight;
	return value;
}

TEST(TbfHit, IsNeverBelowTheWeightAndAtMostOneStepAbove)
{
	Random random(111);
	for (int round = 0; round < 200000; round++)
	{
		sb_moment moment = moment_of(random_clock(random));
		double weight = std::ldexp(1 + uniform(random), static_cast<int>(between(random, -60, 30)));
		long double exact = static_cast<long double>(weight) * 4096 * static_cast<long double>(moment.scale) /
							static_cast<long double>(one);
		auto value = static_cast<long double>(hit_at(moment, weight));
		EXPECT_GE(value, exact * (1 - 2e-19L));
		EXPECT_LT(value, exact * (1 + 2e-19L) + 1);
	}
}

TEST(TbfHit, OfWeightOneIsWithinA4096th)
{
	Random random(112);
	for (int round = 0; round < 100000; round++)
	{
		Clock c = random_clock(random);
		sb_moment moment = moment_of(c);
		i128 start = floor_of(c.at, c.epoch) * c.epoch;
		auto part = static_cast<long double>(start - floor_of(start, c.half_life) * c.half_life);
		long double exact = 4096 * exp2l(part / static_cast<long double>(c.half_life));
		auto value = static_cast<long double>(hit_at(moment, 1));
		EXPECT_GE(value, exact * (1 - 4e-19L));
		EXPECT_LE(value, exact * (1 + 1.0L / 4096 + 1e-9L));
	}
}

TEST(TbfHit, OfWholeHalfLivesIsExact)
{
	sb_moment moment = moment_of({1000, 10, 5000});
	EXPECT_EQ(hit_at(moment, 1), 4096u);
	EXPECT_EQ(hit_at(moment, 3), 3 * 4096u);
	EXPECT_EQ(hit_at(moment, 0.5), 2048u);
	EXPECT_EQ(hit_at(moment, 0x1p-12), 1u);
	EXPECT_EQ(hit_at(moment, 0x1.8p-12), 2u);
	EXPECT_EQ(hit_at(moment, 1000000), 1000000 * UINT64_C(4096));
}

TEST(TbfHit, OfNoWeightIsNothing)
{
	sb_moment moment = moment_of({1000, 10, 5123});
	EXPECT_EQ(hit_at(moment, 0.0), 0u);
	EXPECT_EQ(hit_at(moment, -0.0), 0u);
}

TEST(TbfHit, OfTheLeastWeightIsOneStep)
{
	sb_moment moment = moment_of({1000, 10, 5123});
	EXPECT_EQ(hit_at(moment, std::numeric_limits<double>::denorm_min()), 1u);
	EXPECT_EQ(hit_at(moment, std::numeric_limits<double>::min()), 1u);
	EXPECT_EQ(hit_at(moment, 1e-300), 1u);
	EXPECT_EQ(hit_at(moment, 1e-20), 1u);
}

TEST(TbfHit, RefusesWhatIsNoWeight)
{
	sb_moment moment = moment_of({1000, 10, 5123});
	uint64_t value;
	for (double weight : {-1.0, -1e-300, -HUGE_VAL, HUGE_VAL, std::numeric_limits<double>::quiet_NaN()})
		EXPECT_EQ(sb_tbf_hit(&moment, weight, &value), SB_OUT_OF_RANGE) << weight;
}

TEST(TbfHit, OverflowsInsteadOfWrapping)
{
	Random random(113);
	bool overflowed = false;
	sb_moment moment = moment_of({1000, 10, 5999});
	for (int exponent = 0; exponent <= 1023; exponent++)
	{
		double weight = std::ldexp(1.0 + uniform(random), exponent);
		uint64_t value = 0;
		sb_status status = sb_tbf_hit(&moment, weight, &value);
		if (status == SB_OK)
		{
			EXPECT_FALSE(overflowed) << exponent;
			EXPECT_GE(static_cast<long double>(value), static_cast<long double>(weight) * 4096);
		}
		else
		{
			EXPECT_EQ(status, SB_OVERFLOW);
			overflowed = true;
		}
	}
	EXPECT_TRUE(overflowed);
	EXPECT_NEAR(static_cast<double>(hit_at(moment, 1e9)), 4096e9 * std::exp2(0.99), 8192);
}

TEST(TbfHit, GrowsWithTheWeight)
{
	sb_moment moment = moment_of({1000, 1, 5777});
	uint64_t before = 0;
	for (double weight = 1e-5; weight < 1e9; weight *= 1.01)
	{
		uint64_t value = hit_at(moment, weight);
		EXPECT_GE(value, before);
		before = value;
	}
}

/* ---------------------------------------------------------------------- count */

static sb_tbf decaying(int64_t half_life, int64_t epoch, int64_t base)
{
	sb_tbf tbf = shape(64, 1, half_life, epoch);
	tbf.flags = SB_TBF_HAS_HITS;
	tbf.base = base;
	tbf.newest = floor_quotient(base * half_life, epoch) * epoch;
	return tbf;
}

TEST(TbfCount, IsNeverBelowAndOnlyABillionthAbove)
{
	Random random(121);
	for (int round = 0; round < 200000; round++)
	{
		int64_t half_life = between(random, 1, INT64_C(1) << (random() % 45));
		int64_t epoch = between(random, 1, INT64_C(1) << (random() % 45));
		sb_tbf tbf = decaying(half_life, epoch, between(random, -1000, 1000));
		uint64_t units = random() >> (2 + random() % 62);
		tbf.slack = random() % 2 != 0 ? 0 : random() >> (2 + random() % 62);
		int64_t at = tbf.base * half_life + between(random, -600, 600) * half_life + between(random, 0, half_life - 1);
		sb_moment moment = moment_of({half_life, epoch, at});

		i128 start = floor_of(at, epoch) * epoch;
		i128 whole = floor_of(start, half_life);
		auto part = static_cast<long double>(start - whole * half_life) / static_cast<long double>(half_life);
		long double stored = static_cast<long double>(units) / 16 + static_cast<long double>(tbf.slack) / 4096;
		long double exact = stored * exp2l(static_cast<long double>(tbf.base - static_cast<int64_t>(whole))) *
							exp2l(-part);
		auto count = static_cast<long double>(sb_tbf_count(&tbf, units, at));
		if (stored == 0)
		{
			EXPECT_EQ(count, 0);
			continue;
		}
		if (exact > static_cast<long double>(std::numeric_limits<double>::max()))
		{
			EXPECT_EQ(count, HUGE_VALL);
			continue;
		}
		EXPECT_GE(count, exact * (1 - 4e-19L)) << moment.half_lives;
		if (exact > 1e-300L && exact < 1e300L)
		{
			EXPECT_LE(count, exact * (1 + 1e-9L));
		}
	}
}

TEST(TbfCount, AtWholeHalfLivesIsExact)
{
	sb_tbf tbf = decaying(1000000, 1000, 50);
	for (uint64_t units : {0u, 1u, 16u, 17u, 160000u})
		for (int64_t later = -40; later <= 40; later++)
			EXPECT_EQ(sb_tbf_count(&tbf, units, (50 + later) * 1000000),
					  std::ldexp(static_cast<double>(units) / 16, static_cast<int>(-later)));
}

TEST(TbfCount, OfNothingIsNothing)
{
	sb_tbf tbf = decaying(1000000, 1000, 50);
	for (int64_t at : {INT64_C(0), SB_TBF_MAX_TIME, -SB_TBF_MAX_TIME})
		EXPECT_EQ(sb_tbf_count(&tbf, 0, at), 0);
}

TEST(TbfCount, IncludesTheSlackAndTheHalfUnitForgotten)
{
	sb_tbf tbf = decaying(1000000, 1000, 50);
	tbf.slack = 4096;
	EXPECT_EQ(sb_tbf_slack(&tbf), 4096u);
	EXPECT_EQ(sb_tbf_count(&tbf, 0, 50000000), 1);
	EXPECT_EQ(sb_tbf_count(&tbf, 16, 50000000), 2);
	tbf.flags |= SB_TBF_FORGOTTEN;
	EXPECT_EQ(sb_tbf_slack(&tbf), 4096u + 128);
	EXPECT_EQ(sb_tbf_count(&tbf, 16, 50000000), 2 + 1.0 / 32);
}

TEST(TbfCount, FallsWithTime)
{
	sb_tbf tbf = decaying(1000003, 997, 50);
	double before = HUGE_VAL;
	for (int64_t at = -100000000; at < 200000000; at += 12345)
	{
		double count = sb_tbf_count(&tbf, 12345, at);
		EXPECT_LE(count, before);
		before = count;
	}
}

TEST(TbfCount, LongAfterIsAlmostNothingButNotNothing)
{
	sb_tbf tbf = decaying(1, 1, 0);
	double count = sb_tbf_count(&tbf, 1, SB_TBF_MAX_TIME);
	EXPECT_GT(count, 0);
	EXPECT_LT(count, 1e-300);
}

TEST(TbfCount, LongBeforeIsInfinite)
{
	sb_tbf tbf = decaying(1, 1, 0);
	EXPECT_EQ(sb_tbf_count(&tbf, 1, -SB_TBF_MAX_TIME), HUGE_VAL);
	EXPECT_EQ(sb_tbf_count(&tbf, 1, -1100), HUGE_VAL);
	EXPECT_EQ(sb_tbf_count(&tbf, 16, -1000), 0x1p1000);
}

TEST(TbfCount, NeverRoundsALargeCounterDown)
{
	/* counters have more bits than the mantissa of a double; each count must be rounded up */
	sb_tbf tbf = shape(64, 1, 0, 0);
	tbf.flags = SB_TBF_HAS_HITS;
	Random random(122);
	for (int round = 0; round < 100000; round++)
	{
		uint64_t units = random() >> (2 + random() % 20);
		double count = sb_tbf_count(&tbf, units, 0);
		EXPECT_GE(static_cast<long double>(count), static_cast<long double>(units));
		EXPECT_LE(std::nextafter(count, 0), static_cast<double>(units));
	}
}

TEST(TbfCount, WithoutDecayIsTheCounterAtAnyTime)
{
	sb_tbf tbf = shape(64, 1, 0, 0);
	tbf.flags = SB_TBF_HAS_HITS;
	for (int64_t at : {INT64_C(0), SB_TBF_MAX_TIME, -SB_TBF_MAX_TIME})
	{
		EXPECT_EQ(sb_tbf_count(&tbf, 1, at), 1);
		EXPECT_EQ(sb_tbf_count(&tbf, 123456789, at), 123456789);
	}
	tbf.unit_bits = SB_TBF_UNIT_BITS;
	EXPECT_EQ(sb_tbf_count(&tbf, 24, 0), 1.5);
}

/*
 * The base of a header from outside (the time for which its counters are written down, in half-lives) may be any number
 * that the reader accepts. The distance from such a base to a time must not overflow.
 */
TEST(TbfCount, SurvivesTheExtremesOfTheScale)
{
	int read_at_all = 0;
	for (int64_t half_life : {INT64_C(1), INT64_C(2), SB_TBF_MAX_TIME})
		for (int64_t epoch : {INT64_C(1), INT64_C(3), SB_TBF_MAX_TIME - 1, SB_TBF_MAX_TIME})
			for (int times_out : {-4, -2, -1, 1, 2, 4})
				for (int beyond = -3; beyond <= 3; beyond++)
				{
					sb_tbf tbf = shape(64, 1, half_life, epoch);
					tbf.flags = SB_TBF_HAS_HITS;
					tbf.base = times_out * (SB_TBF_MAX_TIME / half_life) + beyond;
					tbf.total = 1;
					Bytes header(SB_TBF_HEADER);
					sb_tbf_encode_header(&tbf, header.data());
					sb_tbf read;
					if (sb_tbf_decode_header(header.data(), header.size(), sb_tbf_size(&tbf), &read) != SB_OK)
						continue;
					read_at_all++;
					Bytes cells(64);
					cells[0] = 1;
					for (int64_t at : {-SB_TBF_MAX_TIME, INT64_C(0), SB_TBF_MAX_TIME})
					{
						EXPECT_GE(sb_tbf_count(&read, 1, at), 0);
						sb_tbf later;
						Memory memory;
						void *value;
						EXPECT_EQ(sb_tbf_decay(&read, cells.data(), at, memory, 0, &later, &value), SB_OK);
						EXPECT_GE(later.base, read.base);
						EXPECT_EQ(later.base > read.base, value != nullptr);
						if (value != nullptr)
							memory.memory.release(memory.memory.context, value);
					}
				}
	EXPECT_GT(read_at_all, 0);
}

TEST(TbfDecayFactor, IsTheWeightKeptForAnEpoch)
{
	sb_tbf tbf = decaying(3600, 3600, 0);
	EXPECT_EQ(sb_tbf_decay_factor(&tbf), 0.5);
	tbf.epoch = 1800;
	EXPECT_NEAR(sb_tbf_decay_factor(&tbf), std::sqrt(0.5), 1e-15);
	tbf.half_life = tbf.epoch = 0;
	EXPECT_EQ(sb_tbf_decay_factor(&tbf), 1);
}
