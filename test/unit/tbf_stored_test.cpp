/*
 * tbf_stored_test.cpp: the cells of a stored tbf: reading and decaying them, and making new values of old ones.
 */
#include "tbf_support.h"

#include <cmath>

using namespace test;

static constexpr int64_t hour = INT64_C(3600000000);

/* --------------------------------------------------------------------- reading */

/* A filter of random cells. The largest counter needs the full width, as the format requires. */
static Tbf random_filter(Random &random, uint32_t cells, int64_t base = 100)
{
	Tbf filter;
	filter.parameters = shape(cells, static_cast<uint8_t>(between(random, 1, 8)), hour, hour);
	filter.parameters.flags = SB_TBF_HAS_HITS;
	filter.parameters.base = base;
	filter.parameters.newest = base * hour;
	filter.parameters.slack = random() >> (2 + random() % 62);
	filter.parameters.total = random() >> (1 + random() % 63);
	filter.parameters.cell_bits = static_cast<uint8_t>(8 << (random() % 4));
	if (random() % 2 == 0)
		filter.parameters.flags |= SB_TBF_FORGOTTEN;
	filter.cells = Bytes(filter.cell_bytes());

	int bits = filter.parameters.cell_bits;
	for (size_t i = 0; i < cells; i++)
	{
		uint64_t value = (random() >> (64 - bits)) >> (random() % static_cast<uint64_t>(bits + 1)) % 64;
		if (random() % 4 == 0)
			value = 0;
		if (i == 0)
			value = UINT64_C(1) << (bits - 3);
		value %= SB_TBF_MAX_CELL;
		for (size_t byte = 0; byte < static_cast<size_t>(bits / 8); byte++)
			filter.cells[i * static_cast<size_t>(bits / 8) + byte] = static_cast<unsigned char>(value >> (8 * byte));
	}
	return filter;
}

TEST(TbfCells, AreLittleEndianNumbersOfTheirWidth)
{
	Random random(151);
	for (int round = 0; round < 200; round++)
	{
		Tbf filter = random_filter(random, 256);
		ASSERT_TRUE(readable(filter));
		size_t width = filter.parameters.cell_bits / 8u;
		for (size_t i = 0; i < 256; i++)
		{
			uint64_t expected = 0;
			for (size_t byte = width; byte-- > 0;)
				expected = expected << 8 | filter.cells[i * width + byte];
			EXPECT_EQ(filter.cell(i), expected);
		}
	}
}

TEST(TbfCells, LeastOfAnItemIsTheLeastOfItsPositions)
{
	Random random(152);
	for (int round = 0; round < 100; round++)
	{
		Tbf filter = random_filter(random, 64u << (random() % 8));
		for (int i = 0; i < 100; i++)
		{
			uint64_t hash = random();
			uint16_t positions[SB_TBF_MAX_HASHES];
			tbf_positions(&filter.parameters, hash, positions);
			uint64_t first = uint64_t{tbf_block(&filter.parameters, hash)} * filter.parameters.block_cells;
			uint64_t least = UINT64_MAX;
			for (int k = 0; k < filter.parameters.hash_count; k++)
				least = std::min(least, filter.cell(first + positions[k]));
			EXPECT_EQ(filter.least(hash), least);
		}
	}
}

TEST(TbfCells, AreRefusedWhereNarrowerOnesWouldDo)
{
	Tbf filter;
	filter.parameters = shape(64, 4, hour, hour);
	filter.parameters.flags = SB_TBF_HAS_HITS;
	for (int bits : {16, 32, 64})
	{
		filter.parameters.cell_bits = static_cast<uint8_t>(bits);
		filter.cells = Bytes(filter.cell_bytes());
		auto last = static_cast<size_t>(bits / 8 / 2); /* the lowest byte in the upper half of the bytes of cell 0 */
		EXPECT_EQ(sb_tbf_check(&filter.parameters, filter.cells.data()), SB_BAD_CELLS);
		filter.cells[last] = 1;
		EXPECT_EQ(sb_tbf_check(&filter.parameters, filter.cells.data()), SB_OK);
		filter.cells[last] = 0;
		filter.cells[last - 1] = 255;
		EXPECT_EQ(sb_tbf_check(&filter.parameters, filter.cells.data()), SB_BAD_CELLS);
	}
}

TEST(TbfCells, AreRefusedBeyondTheLargest)
{
	Tbf filter;
	filter.parameters = shape(64, 4, hour, hour);
	filter.parameters.flags = SB_TBF_HAS_HITS;
	filter.parameters.cell_bits = 64;
	filter.cells = Bytes(filter.cell_bytes());
	filter.cells[63 * 8 + 7] = 0x3f;
	EXPECT_EQ(sb_tbf_check(&filter.parameters, filter.cells.data()), SB_OK);
	for (unsigned top : {0x40u, 0x80u, 0xffu})
	{
		filter.cells[63 * 8 + 7] = static_cast<unsigned char>(top);
		EXPECT_EQ(sb_tbf_check(&filter.parameters, filter.cells.data()), SB_BAD_CELLS);
	}
}

TEST(TbfCells, AreRefusedWithoutHits)
{
	Tbf filter;
	filter.parameters = shape(64, 4, hour, hour);
	filter.cells = Bytes(64);
	EXPECT_EQ(sb_tbf_check(&filter.parameters, filter.cells.data()), SB_OK);
	filter.cells[63] = 1;
	EXPECT_EQ(sb_tbf_check(&filter.parameters, filter.cells.data()), SB_BAD_CELLS);
}

/* ------------------------------------------------------- new values of old ones */

/* If there is no memory, the functions say so: nothing is left behind, and no value is returned. */
TEST(TbfNewValue, NoMemoryIsSaid)
{
	Builder builder(shape(4096, 4, hour, hour));
	ASSERT_EQ(builder.add(Hit{hash_of(1), 0}), SB_OK);
	const Tbf filter = builder.stored();
	const sb_tbf *tbf = &filter.parameters;
	const void *cells = filter.cells.data();
	sb_moment moment;
	uint64_t hit;
	sb_tbf_moment(hour, hour, 0, &moment);
	ASSERT_EQ(sb_tbf_hit(&moment, 1, &hit), SB_OK);
	const uint8_t other = tbf->layout == SB_TBF_FLAT ? SB_TBF_EXTENSIBLE : SB_TBF_FLAT;
	sb_tbf out;
	double most;
	for (int what = 0; what < 3; what++)
	{
		sb_status status = SB_NO_MEMORY;
		for (uint64_t fails_at = 0; status == SB_NO_MEMORY; fails_at++)
		{
			Memory memory;
			void *value;
			memory.fails_at = fails_at;
			status = what == 0 ? sb_tbf_decay(tbf, cells, 5 * hour, memory, 4, &out, &value) :
					 what == 1 ? sb_tbf_set_layout(tbf, cells, other, memory, 4, &out, &value) :
								 sb_tbf_remove(tbf, cells, hash_of(1), &moment, hit, memory, 4, &out, &value, &most);
			EXPECT_EQ(value != nullptr, status == SB_OK);
			EXPECT_EQ(status != SB_OK, fails_at < memory.allocations && status == SB_NO_MEMORY);
			if (value != nullptr)
				memory.memory.release(memory.memory.context, value);
			EXPECT_EQ(memory.blocks, 0u);
		}
		EXPECT_EQ(status, SB_OK);
	}
}

/* If there is nothing to do, nothing is allocated, and the header does not change. Tbf::made() checks both. */
TEST(TbfNewValue, NothingToDoAllocatesNothing)
{
	Tbf out;
	double most;
	for (int64_t half_life : {INT64_C(0), hour})
	{
		Builder builder(shape(256, 4, half_life, hour));
		const Tbf empty = builder.stored();
		ASSERT_EQ(builder.add(Hit{hash_of(1), 10 * hour + 1}), SB_OK);
		const Tbf filter = builder.stored();
		for (int64_t at : {-SB_TBF_MAX_TIME, 10 * hour, 11 * hour - 1})
		{
			EXPECT_EQ(filter.decay(at, &out), SB_OK);
			EXPECT_TRUE(same_bytes(out.value(), filter.value()));
		}
		EXPECT_EQ(filter.decay(11 * hour, &out), SB_OK);
		EXPECT_EQ(out.value() == filter.value(), half_life == 0);
		EXPECT_EQ(empty.decay(SB_TBF_MAX_TIME, &out), SB_OK);
		EXPECT_TRUE(same_bytes(out.value(), empty.value()));
		EXPECT_EQ(filter.set_layout(filter.parameters.layout, &out), SB_OK);
		EXPECT_TRUE(same_bytes(out.value(), filter.value()));
		sb_moment moment;
		sb_tbf_moment(half_life, half_life == 0 ? 0 : hour, 10 * hour, &moment);
		EXPECT_EQ(filter.remove(1, &moment, 0, &out, &most), SB_OK);
		EXPECT_TRUE(same_bytes(out.value(), filter.value()));
	}
}

/* ----------------------------------------------------------------------- decay */

static uint64_t faded_units(uint64_t units, int64_t half_lives)
{
	if (half_lives == 0)
		return units;
	if (half_lives > 63 || units <= UINT64_C(1) << (half_lives - 1))
		return 0;
	return ((units - 1) >> half_lives) + 1;
}

static uint64_t rounded_up(uint64_t value, int64_t half_lives)
{
	if (value == 0)
		return 0;
	return half_lives > 63 ? 1 : ((value - 1) >> half_lives) + 1;
}

TEST(TbfDecay, IsTheRuleForEachCell)
{
	Random random(161);
	for (int round = 0; round < 500; round++)
	{
		Tbf filter = random_filter(random, 128);
		int64_t half_lives = between(random, 0, random() % 2 ? 6 : 70);
		Tbf later = filter.decayed((100 + half_lives) * hour + 5);
		EXPECT_EQ(later.parameters.base, 100 + half_lives);
		bool forgotten = (filter.parameters.flags & SB_TBF_FORGOTTEN) != 0;
		for (uint64_t i = 0; i < 128; i++)
		{
			uint64_t expected = faded_units(filter.cell(i), half_lives);
			EXPECT_EQ(later.cell(i), expected) << filter.cell(i) << " after " << half_lives;
			forgotten |= filter.cell(i) != 0 && expected == 0;
		}
		EXPECT_EQ((later.parameters.flags & SB_TBF_FORGOTTEN) != 0, forgotten);
		EXPECT_EQ(later.parameters.slack, rounded_up(filter.parameters.slack, half_lives));
		EXPECT_EQ(later.parameters.total, rounded_up(filter.parameters.total, half_lives));
		EXPECT_EQ(later.parameters.newest, filter.parameters.newest);
		EXPECT_TRUE(readable(later));
	}
}

TEST(TbfDecay, InStepsEqualsAtOnce)
{
	Random random(162);
	for (int round = 0; round < 300; round++)
	{
		Tbf filter = random_filter(random, 128);
		Tbf steps = filter;
		int64_t at = 100 * hour;
		for (int64_t n = between(random, 1, 6); n > 0; n--)
		{
			at += between(random, 0, 12 * hour);
			steps = steps.decayed(at);
		}
		EXPECT_TRUE(same_bytes(steps.value(), filter.decayed(at).value()));
	}
}

TEST(TbfDecay, IsIdempotent)
{
	Random random(163);
	for (int round = 0; round < 200; round++)
	{
		Tbf filter = random_filter(random, 128);
		int64_t at = between(random, 100 * hour, 180 * hour);
		Tbf once = filter.decayed(at);
		EXPECT_TRUE(same_bytes(once.decayed(at).value(), once.value()));
	}
}

TEST(TbfDecay, ToTheSameHalfLifeOrToThePastChangesNothing)
{
	Random random(164);
	for (int round = 0; round < 200; round++)
	{
		Tbf filter = random_filter(random, 128);
		for (int64_t at : {100 * hour, 101 * hour - 1, 99 * hour, INT64_C(0), -100 * hour, -SB_TBF_MAX_TIME})
			EXPECT_TRUE(same_bytes(filter.decayed(at).value(), filter.value())) << at;
	}
}

TEST(TbfDecay, OverALongTimeGoesToZeroAndGivesBackItsSpace)
{
	Random random(165);
	for (int round = 0; round < 200; round++)
	{
		Tbf filter = random_filter(random, 128);
		Tbf later = filter.decayed(SB_TBF_MAX_TIME);
		for (uint64_t i = 0; i < 128; i++)
			EXPECT_EQ(later.cell(i), 0u);
		EXPECT_EQ(later.parameters.cell_bits, 8);
		EXPECT_NE(later.parameters.flags & SB_TBF_FORGOTTEN, 0);
		EXPECT_LE(later.parameters.total, 1u);
		EXPECT_LE(later.parameters.slack, 1u);
		EXPECT_TRUE(readable(later));
	}
}

TEST(TbfDecay, AcrossTheWholeRangeOfTimeSurvives)
{
	for (int64_t half_life : {INT64_C(1), INT64_C(7), SB_TBF_MAX_TIME})
	{
		Tbf filter;
		filter.parameters = shape(64, 2, half_life, 1);
		filter.parameters.flags = SB_TBF_HAS_HITS;
		filter.parameters.newest = -SB_TBF_MAX_TIME;
		filter.parameters.base = floor_quotient(filter.parameters.newest, half_life);
		filter.cells = Bytes(64);
		filter.cells[0] = 200;
		ASSERT_TRUE(readable(filter));
		Tbf later = filter.decayed(SB_TBF_MAX_TIME);
		EXPECT_EQ(later.parameters.base, floor_quotient(SB_TBF_MAX_TIME, half_life));
		EXPECT_TRUE(readable(later));
	}
}

TEST(TbfDecay, LeavesUndecayedAndEmptyFiltersAlone)
{
	Tbf undecayed;
	undecayed.parameters = shape(64, 4, 0, 0);
	undecayed.parameters.flags = SB_TBF_HAS_HITS;
	undecayed.cells = Bytes(64);
	undecayed.cells[3] = 200;
	EXPECT_TRUE(same_bytes(undecayed.decayed(SB_TBF_MAX_TIME).value(), undecayed.value()));

	Tbf empty;
	empty.parameters = shape(64, 4, hour, hour);
	empty.cells = Bytes(64);
	EXPECT_TRUE(same_bytes(empty.decayed(SB_TBF_MAX_TIME).value(), empty.value()));
}

TEST(TbfDecay, NeverMakesACountSmallerThanItsTruth)
{
	/* all cells of this filter are exact at its base, so a count after decay must be at least the decayed cell */
	Random random(166);
	for (int round = 0; round < 300; round++)
	{
		Tbf filter = random_filter(random, 128);
		filter.parameters.slack = 0;
		filter.parameters.flags = SB_TBF_HAS_HITS;
		Tbf later = filter;
		int64_t at = 100 * hour;
		for (int64_t n = between(random, 1, 5); n > 0; n--)
			later = later.decayed(at += between(random, 0, 12) * hour);
		for (uint64_t i = 0; i < 128; i++)
		{
			double exact = std::ldexp(static_cast<double>(filter.cell(i)), -4 - static_cast<int>(at / hour - 100));
			EXPECT_GE(sb_tbf_count(&later.parameters, later.cell(i), at), exact * (1 - 0x1p-52));
		}
	}
}
