/*
 * stable_test.cpp: what all stable filters share, sbf or ibf: cells, union, the determinism of steps, the limits of
 * their parameters, the header, and the golden bytes.
 */
#include "golden.h"
#include "stable_support.h"

#include <limits>

using namespace test;

static const sb_scheme schemes[] = {SB_STABLE, SB_TWO_CLASS, SB_MULTI_CLASS, SB_VALUE_WEIGHTED};

/* --------------------------------------------------------------------- cells */

TEST(StableCells, AreReadAsTheyWereWritten)
{
	for (int bits = 1; bits <= 8; bits++)
	{
		Stable filter(100, SB_STABLE, 1, bits, 0);
		Random random(static_cast<uint64_t>(bits));
		std::vector<uint8_t> expected(filter.parameters.cell_count);
		/* each step sets one cell. Without eviction (P = 0) a cell keeps the largest value that it was given */
		for (int i = 0; i < 2000; i++)
		{
			uint64_t hash = random();
			auto value = static_cast<uint8_t>(between(random, 1, filter.max()));
			uint32_t cell = stable_cell(&filter.parameters, hash, 0);
			ASSERT_LT(cell, filter.parameters.cell_count);
			EXPECT_EQ(filter.step(hash, value), expected[cell] != 0);
			expected[cell] = std::max(expected[cell], value);
		}
		for (uint32_t cell = 0; cell < filter.parameters.cell_count; cell++)
			EXPECT_EQ(filter.value(cell), expected[cell]) << bits << " " << cell;
		sb_stable again;
		EXPECT_EQ(read(filter.stored(), &again), SB_OK);
	}
}

/*
 * One step of eviction takes 1 from each of P neighbouring cells that is not 0, wherever the first one is, and changes
 * no other cell.
 */
TEST(StableCells, EvictionTakesOneFromARunOfCells)
{
	for (int bits = 1; bits <= 8; bits++)
		for (int64_t evictions : {1, 2, 7, 20, 63, 64})
		{
			Stable filter(64, SB_STABLE, 1, bits, evictions);
			uint32_t cells = filter.parameters.cell_count;
			Random random(7);
			for (int i = 0; i < 500; i++)
			{
				filter.step(random());
				std::vector<uint8_t> before;
				for (uint32_t cell = 0; cell < cells; cell++)
					before.push_back(filter.value(cell));
				uint64_t state = filter.parameters.random;
				auto first = static_cast<uint32_t>(static_cast<sb_u128>(streambloom::draw(&state)) * cells >> 64);
				filter.decay(1);
				ASSERT_EQ(filter.parameters.random, state);
				for (uint32_t cell = 0; cell < cells; cell++)
				{
					bool hit = (cell + cells - first) % cells < evictions;
					ASSERT_EQ(filter.value(cell), before[cell] - (hit && before[cell] != 0)) << bits << " " << cell;
				}
			}
			sb_stable again;
			EXPECT_EQ(read(filter.stored(), &again), SB_OK); /* the bits behind the last cell are still zero */
		}
}

TEST(StableCells, OfAnItemAreSpreadOverTheWholeFilter)
{
	Stable filter(1000, SB_STABLE, 4, 1, 0);
	const uint32_t cells = filter.parameters.cell_count;
	std::vector<int> hits(cells);
	Random random(3);
	const int items = 200000;
	double near = 0;
	for (int i = 0; i < items; i++)
	{
		uint64_t hash = random();
		for (int j = 0; j < 4; j++)
			hits[stable_cell(&filter.parameters, hash, j)]++;
		uint32_t distance = (stable_cell(&filter.parameters, hash, 0) + cells -
							 stable_cell(&filter.parameters, hash, 1)) %
							cells;
		near += distance < cells / 100;
	}
	double expected = 4.0 * items / cells;
	double chi_squared = 0;
	for (int hit : hits)
		chi_squared += (hit - expected) * (hit - expected) / expected;
	EXPECT_NEAR(chi_squared, cells, 5 * std::sqrt(2.0 * cells));
	EXPECT_NEAR(near / items, 0.01, 0.002);
}

TEST(StableCells, UnionIsTheLargerOfEachTwo)
{
	for (int bits = 1; bits <= 8; bits++)
	{
		Stable a(77, SB_STABLE, 2, bits, 3);
		Stable b(77, SB_STABLE, 2, bits, 3);
		Random random(9);
		for (int i = 0; i < 200; i++)
			a.step(random(), static_cast<uint8_t>(between(random, 1, a.max())));
		for (int i = 0; i < 150; i++)
			b.step(random(), static_cast<uint8_t>(between(random, 1, a.max())));
		Stable both = united(a, b);
		for (uint32_t cell = 0; cell < a.parameters.cell_count; cell++)
			ASSERT_EQ(both.value(cell), std::max(a.value(cell), b.value(cell))) << bits << " " << cell;
		EXPECT_EQ(both.parameters.items, 350u);
		EXPECT_EQ(both.parameters.steps, 350u);
		EXPECT_TRUE(same_bytes(both.stored(), united(b, a).stored()));
		Stable empty(77, SB_STABLE, 2, bits, 3);
		EXPECT_TRUE(same_bytes(united(a, empty).stored(), a.stored()));
		sb_stable again;
		EXPECT_EQ(read(both.stored(), &again), SB_OK);
	}
}

TEST(StableUnion, NamesWhatDiffers)
{
	const Stable a(100, SB_STABLE, 3, 3, 5);
	auto differs = [&](const Stable &b) {
		sb_stable joined;
		sb_difference difference{};
		EXPECT_EQ(sb_stable_plan_union(&a.parameters, &b.parameters, &joined, &difference), SB_DIFFERENT);
		return std::string(difference.parameter);
	};
	EXPECT_EQ(differs(Stable(101, SB_STABLE, 3, 3, 5)), "cells");
	EXPECT_EQ(differs(Stable(100, SB_STABLE, 4, 3, 5)), "hashes");
	EXPECT_EQ(differs(Stable(100, SB_STABLE, 3, 3, 6)), "evictions");
	EXPECT_EQ(differs(Stable(67, SB_STABLE, 3, 2, 5)), "cells");
	EXPECT_EQ(differs(Stable(100, SB_MULTI_CLASS, 3, 3, 5)), "scheme");
}

/* --------------------------------------------------------------------- steps */

TEST(StableSteps, DecayIsTheSameInOneCallAsInMany)
{
	for (sb_scheme scheme : schemes)
	{
		Stable once(200, scheme, 3, 2, 4);
		for (uint64_t hash : random_hashes(11, 300))
			once.step(hash, static_cast<double>(hash % 100) / 100);
		Stable many = once;
		EXPECT_FALSE(once.decay(0));
		EXPECT_TRUE(once.decay(5000)); /* until all cells are zero, and further */
		for (int i = 0; i < 5000; i++)
			many.decay(1);
		EXPECT_TRUE(same_bytes(once.stored(), many.stored()));
		EXPECT_EQ(once.zeros(), 1);
		EXPECT_EQ(once.parameters.steps, 5300u);
		EXPECT_EQ(once.parameters.items, 300u);
		EXPECT_TRUE(once.decay(UINT64_MAX));
		EXPECT_EQ(once.parameters.steps, SB_STABLE_MAX_STEPS);
		sb_stable again;
		EXPECT_EQ(read(once.stored(), &again), SB_OK);
	}
}

TEST(StableSteps, DependOnTheSeedAlone)
{
	for (sb_scheme scheme : schemes)
	{
		auto run = [&](uint64_t seed, bool stored_between) {
			Stable filter(300, scheme, 3, 3, 9, 0.01, seed);
			for (uint64_t hash : random_hashes(12, 1000))
			{
				filter.step(hash, static_cast<double>(hash % 100) / 100);
				if (stored_between && hash % 50 == 0)
				{
					sb_stable parameters;
					Bytes value = filter.stored();
					EXPECT_EQ(read(value, &parameters), SB_OK);
					filter.parameters = parameters;
				}
			}
			return filter.stored();
		};
		EXPECT_TRUE(same_bytes(run(5, false), run(5, false)));
		EXPECT_TRUE(same_bytes(run(5, false), run(5, true)));
		EXPECT_FALSE(run(5, false) == run(6, false));
	}
}

/* -------------------------------------------------------------------- header */

TEST(StablePlan, RefusesWhatIsOutOfRange)
{
	sb_stable out;
	const double nan = std::numeric_limits<double>::quiet_NaN();
	const double infinite = std::numeric_limits<double>::infinity();
	const int choose = SB_STABLE_CHOOSE;
	EXPECT_EQ(sb_stable_plan(63, 0.01, SB_STABLE, 0, 0, choose, choose, choose, 0, &out), SB_OUT_OF_RANGE);
	EXPECT_EQ(sb_stable_plan(SB_STABLE_MAX_BYTES + 1, 0.01, SB_STABLE, 0, 0, choose, choose, choose, 0, &out),
			  SB_TOO_LARGE);
	EXPECT_EQ(sb_stable_plan(SB_STABLE_MAX_BYTES, 0.01, SB_STABLE, 0, 0, choose, choose, choose, 0, &out), SB_OK);
	EXPECT_EQ(sb_stable_plan(SB_STABLE_MAX_BYTES, 0.01, SB_STABLE, 0, 0, choose, 1, choose, 0, &out), SB_OK);
	EXPECT_EQ(sb_stable_size(&out), size_t{SB_STABLE_HEADER});
	out.items = 1;
	EXPECT_EQ(sb_stable_size(&out), SB_MAX_BYTES);
	for (double fpr : {0.0, -1.0, 0.6, nan})
		EXPECT_EQ(sb_stable_plan(1000, fpr, SB_STABLE, 0, 0, choose, choose, choose, 0, &out), SB_OUT_OF_RANGE);
	for (int hashes : {0, 17, -2})
		EXPECT_EQ(sb_stable_plan(1000, 0.01, SB_STABLE, 0, 0, hashes, choose, choose, 0, &out), SB_OUT_OF_RANGE);
	for (int bits : {0, 9, -2})
		EXPECT_EQ(sb_stable_plan(1000, 0.01, SB_STABLE, 0, 0, choose, bits, choose, 0, &out), SB_OUT_OF_RANGE);
	for (sb_scheme scheme : {SB_TWO_CLASS, SB_MULTI_CLASS, SB_VALUE_WEIGHTED})
		EXPECT_EQ(sb_stable_plan(1000, 0.01, scheme, 1, scheme == SB_TWO_CLASS ? 1 : 2, choose, 1, choose, 0, &out),
				  SB_OUT_OF_RANGE);
	for (int64_t evictions : {int64_t{-2}, int64_t{2667}, INT64_MAX})
		EXPECT_EQ(sb_stable_plan(1000, 0.01, SB_STABLE, 0, 0, choose, choose, evictions, 0, &out), SB_OUT_OF_RANGE);
	EXPECT_EQ(sb_stable_plan(64, 1e-6, SB_STABLE, 0, 0, choose, 8, choose, 0, &out), SB_OUT_OF_RANGE); /* P > cells */
	EXPECT_EQ(sb_stable_plan(1000, 0.01, SB_STABLE, 0, 1, choose, choose, choose, 0, &out), SB_OUT_OF_RANGE);
	EXPECT_EQ(sb_stable_plan(1000, 0.01, SB_TWO_CLASS, 0, 1, choose, choose, choose, 0, &out), SB_OUT_OF_RANGE);
	for (double high : {nan, infinite, 1.0, 0.5})
		EXPECT_EQ(sb_stable_plan(1000, 0.01, SB_MULTI_CLASS, 1, high, choose, choose, choose, 0, &out),
				  SB_OUT_OF_RANGE);
	EXPECT_EQ(sb_stable_plan(1000, 0.01, SB_MULTI_CLASS, -1e308, 1e308, choose, choose, choose, 0, &out),
			  SB_OUT_OF_RANGE);
}

static Bytes value_of_forty_items(sb_scheme scheme)
{
	Stable filter(333, scheme, 3, 5, 9);
	for (uint64_t hash : random_hashes(1, 40))
		filter.step(hash);
	return filter.stored();
}

/* A changed header is refused, unless this filter could really have it. */
TEST(StableHeader, RefusesContradictions)
{
	for (sb_scheme scheme : schemes)
	{
		const Bytes value = value_of_forty_items(scheme);
		sb_stable as_it_is;
		ASSERT_EQ(read(value, &as_it_is), SB_OK);

		auto with = [&](size_t at, std::initializer_list<int> bytes) {
			Bytes changed = value;
			for (int byte : bytes)
				changed[at++] = static_cast<unsigned char>(byte);
			sb_stable out;
			return read(changed, &out);
		};
		EXPECT_EQ(with(2, {scheme == SB_STABLE ? 3 : 2}), SB_BAD_HEADER);
		EXPECT_EQ(with(4, {1}), SB_BAD_HEADER);
		EXPECT_EQ(with(6, {0}), SB_BAD_HEADER); /* items, but no kind */
		EXPECT_EQ(with(40, {0, 0, 0, 0}), SB_BAD_HEADER);
		EXPECT_EQ(with(40, {0x13}), SB_BAD_LENGTH); /* one cell less, so one byte less */
		EXPECT_EQ(with(40, {0xff, 0xff, 0xff, 0xff}), SB_BAD_HEADER);
		EXPECT_NE(with(44, {4}), SB_OK);
		EXPECT_EQ(with(44, {0}), SB_BAD_HEADER);
		EXPECT_EQ(with(44, {9}), SB_BAD_HEADER);
		EXPECT_EQ(with(45, {0}), SB_BAD_HEADER);
		EXPECT_EQ(with(45, {17}), SB_BAD_HEADER);
		EXPECT_EQ(with(46, {4}), SB_BAD_HEADER);
		EXPECT_EQ(with(47, {1}), SB_BAD_HEADER);
		EXPECT_EQ(with(48, {0x15, 0x02}), SB_BAD_HEADER); /* 533 evictions, but 532 cells */
		EXPECT_EQ(with(52, {1}), SB_BAD_HEADER);
		EXPECT_EQ(with(72, {0}), SB_BAD_HEADER);  /* a kind, but no items */
		EXPECT_EQ(with(72, {1}), SB_BAD_CELLS);	  /* one item cannot have set so many cells */
		EXPECT_EQ(with(72, {41}), SB_BAD_HEADER); /* more items than steps */
		EXPECT_EQ(with(80, {41, 0, 0, 0, 0, 0, 0, 0x40}), SB_BAD_HEADER);
		EXPECT_EQ(with(88, {0, 0, 0, 0, 0, 0, 0, 0}), SB_BAD_HEADER);
		EXPECT_EQ(with(96, {0, 0, 0, 0, 0, 0, 0xf8, 0x7f}), SB_BAD_HEADER);
		EXPECT_EQ(with(96, {0, 0, 0, 0, 0, 0, 0, 0x80}), SB_BAD_HEADER);
		EXPECT_EQ(with(104, {0, 0, 0, 0, 0, 0, 0xf0, 0x7f}), SB_BAD_HEADER);
		EXPECT_EQ(with(112, {1}), SB_BAD_HEADER);
		EXPECT_EQ(with(127, {1}), SB_BAD_HEADER);
		EXPECT_EQ(with(value.size() - 1, {0xf0}), SB_BAD_CELLS); /* behind the last cell */

		sb_stable out;
		for (size_t size = 0; size < value.size(); size++)
			EXPECT_NE(sb_stable_decode_header(value.data(), size, size, SB_STABLE_EITHER, &out), SB_OK);
		EXPECT_EQ(sb_stable_decode_header(value.data(), value.size(), value.size() + 1, SB_STABLE_EITHER, &out),
				  SB_BAD_LENGTH);
		EXPECT_EQ(sb_stable_decode_header(value.data(), SB_STABLE_HEADER, value.size(), SB_STABLE_EITHER, &out), SB_OK);
		const sb_stable_type right = scheme == SB_STABLE ? SB_STABLE_SBF : SB_STABLE_IBF;
		const sb_stable_type wrong = scheme == SB_STABLE ? SB_STABLE_IBF : SB_STABLE_SBF;
		EXPECT_EQ(sb_stable_decode_header(value.data(), value.size(), value.size(), right, &out), SB_OK);
		EXPECT_EQ(out.scheme, scheme);
		EXPECT_EQ(sb_stable_decode_header(value.data(), value.size(), value.size(), wrong, &out), SB_BAD_TYPE);

		/*
		 * If the value is refused, out.scheme names the type that was asked for. With SB_STABLE_EITHER it names the
		 * type that the value claims to be; SB_STABLE if the value is too short to claim one.
		 */
		EXPECT_EQ(sb_stable_decode_header(value.data(), 3, 3, right, &out), SB_TRUNCATED);
		EXPECT_EQ(out.scheme == SB_STABLE, right == SB_STABLE_SBF);
		EXPECT_EQ(sb_stable_decode_header(value.data(), 3, 3, wrong, &out), SB_TRUNCATED);
		EXPECT_EQ(out.scheme == SB_STABLE, wrong == SB_STABLE_SBF);
		EXPECT_EQ(sb_stable_decode_header(value.data(), 3, 3, SB_STABLE_EITHER, &out), SB_TRUNCATED);
		EXPECT_EQ(out.scheme == SB_STABLE, right == SB_STABLE_SBF);
		EXPECT_EQ(sb_stable_decode_header(value.data(), 2, 2, SB_STABLE_EITHER, &out), SB_TRUNCATED);
		EXPECT_EQ(out.scheme, SB_STABLE);
	}
}

TEST(StableHeader, WhatWasWrittenIsReadBack)
{
	Random random(31);
	for (int round = 0; round < 20000; round++)
	{
		sb_scheme scheme = schemes[random() % 4];
		double low = scheme == SB_STABLE ? 0 : std::ldexp(uniform(random) - 0.5, static_cast<int>(random() % 20));
		double high = scheme > SB_TWO_CLASS ? low + std::ldexp(1 + uniform(random), static_cast<int>(random() % 200)) :
											  low;
		sb_stable stable;
		sb_status status = sb_stable_plan(64 + (random() >> (35 + random() % 29)) % (SB_STABLE_MAX_BYTES - 64), 0.2,
										  scheme, low, high, static_cast<int>(between(random, 1, 16)),
										  static_cast<int>(between(random, scheme == SB_STABLE ? 1 : 2, 8)),
										  between(random, 0, 64), random(), &stable);
		ASSERT_EQ(status, SB_OK) << round;
		stable.random = random();
		stable.steps = random() >> (2 + random() % 60);
		stable.items = random() % (stable.steps + 1);
		stable.kind = stable.items == 0 ? kind_of(SB_KIND_NONE) : named_kind("inet", 7);
		Bytes header(SB_STABLE_HEADER);
		sb_stable_encode_header(&stable, header.data());
		sb_stable out;
		ASSERT_EQ(
			sb_stable_decode_header(header.data(), header.size(), sb_stable_size(&stable), SB_STABLE_EITHER, &out),
			SB_OK)
			<< round;
		Bytes again(SB_STABLE_HEADER);
		sb_stable_encode_header(&out, again.data());
		EXPECT_TRUE(same_bytes(header, again));
		EXPECT_EQ(out.seed, stable.seed);
		EXPECT_EQ(out.random, stable.random);
		EXPECT_EQ(out.items, stable.items);
		EXPECT_EQ(out.steps, stable.steps);
		EXPECT_EQ(out.cell_count, stable.cell_count);
		EXPECT_EQ(out.evictions, stable.evictions);
		EXPECT_EQ(out.low, stable.low);
		EXPECT_EQ(out.high, stable.high);
	}
}

/*
 * After one byte was changed, a header that is accepted agrees with the length of the value, and is written back to
 * the same bytes.
 */
TEST(StableHeader, EveryMutationIsRefusedOrConsistent)
{
	for (sb_scheme scheme : schemes)
	{
		const Bytes value = value_of_forty_items(scheme);
		int accepted = 0;
		int refused = 0;
		for (size_t at = 0; at < SB_STABLE_HEADER; at++)
			for (int change = 1; change < 256; change++)
			{
				Bytes changed = value;
				changed[at] = static_cast<unsigned char>(changed[at] ^ change);
				sb_stable out;
				if (read(changed, &out) != SB_OK)
				{
					refused++;
					continue;
				}
				accepted++;
				EXPECT_EQ(sb_stable_size(&out), value.size()) << "byte " << at;
				Bytes again(SB_STABLE_HEADER);
				sb_stable_encode_header(&out, again.data());
				EXPECT_TRUE(same_bytes(again, Bytes(changed.data(), SB_STABLE_HEADER))) << "byte " << at;
			}
		EXPECT_GT(accepted, 1000); /* seeds and counts may have any value */
		EXPECT_GT(refused, 10000);
	}
}

/* An empty filter has no kind, no items and no cell set. */
TEST(StableHeader, AnEmptyFilterHoldsNothing)
{
	Stable empty(64, SB_STABLE, 3, 1, 9);
	sb_stable out;
	EXPECT_EQ(read(empty.stored(), &out), SB_OK);
	empty.decay(3);
	EXPECT_EQ(read(empty.stored(), &out), SB_OK);
	Bytes narrow = empty.stored();
	narrow[40] = 0xff; /* 511 cells of one bit; the 64 bytes have room for 512 */
	narrow[41] = 1;
	EXPECT_EQ(read(narrow, &out), SB_BAD_HEADER);
	EXPECT_EQ(empty.stored().size(), size_t{SB_STABLE_HEADER});
	EXPECT_EQ(read(empty.stored() + empty.cells, &out), SB_BAD_LENGTH); /* an empty filter has no cells */
}

/* -------------------------------------------------------------------- golden */

/* golden/make_golden_stable.py shares no code with the core, and makes these bytes of the same stream. */
TEST(StableGolden, TheSameStreamGivesTheseBytesForEver)
{
	struct
	{
		const char *name;
		sb_scheme scheme;
		double low, high;
		int hashes, bits;
		int64_t evictions;
		uint64_t seed;
		int items;
		uint64_t decay;
	} const files[] = {
		{"sbf_empty", SB_STABLE, 0, 0, 5, 3, 10, 0, 0, 0},
		{"sbf_integers", SB_STABLE, 0, 0, 5, 3, 10, 42, 500, 0},
		{"sbf_decayed", SB_STABLE, 0, 0, 3, 1, 4, 7, 300, 25},
		{"ibf_two_class", SB_TWO_CLASS, 25, 25, 5, 3, 10, 42, 500, 0},
		{"ibf_multi_class", SB_MULTI_CLASS, 0, 50, 5, 4, 10, UINT64_MAX, 500, 0},
		{"ibf_value_weighted", SB_VALUE_WEIGHTED, -10.5, 30, 4, 3, 3, 1, 500, 40},
		{"ibf_ranked", SB_MULTI_CLASS, NAN, NAN, 5, 4, 10, 42, 6000, 0},
		{"ibf_ranked_few", SB_TWO_CLASS, NAN, NAN, 5, 3, 10, 42, 40, 0},
	};
	for (const auto &file : files)
	{
		sb_stable parameters;
		ASSERT_EQ(sb_stable_plan(100, 0.01, file.scheme, file.low, file.high, file.hashes, file.bits, file.evictions,
								 file.seed, &parameters),
				  SB_OK);
		Stable filter(parameters);
		for (int i = 0; i < file.items; i++)
			filter.step(sb_hash_int64(i * i % 211), static_cast<double>(i * 7 % 53));
		filter.decay(file.decay);
		EXPECT_TRUE(same_bytes(filter.stored(), golden_bytes(file.name))) << file.name;
	}
}
