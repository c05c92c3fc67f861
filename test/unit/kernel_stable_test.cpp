/*
 * kernel_stable_test.cpp: the variants of the steps of sbf and ibf do the same as a plain filter that has a byte for
 * each cell.
 */
#include "kernel_support.h"
#include "stable_support.h"

using namespace test;
using namespace streambloom;

/* A filter that has a byte for each cell, written from the definition in docs/format.md. */
struct PlainStable
{
	sb_stable parameters;
	std::vector<uint8_t> cells;

	explicit PlainStable(const Stable &from) : parameters(from.parameters)
	{
		for (uint32_t cell = 0; cell < parameters.cell_count; cell++)
			cells.push_back(from.value(cell));
	}
	void evict_run()
	{
		if (parameters.evictions == 0)
			return;
		uint64_t first = static_cast<uint64_t>(
			static_cast<sb_u128>(streambloom::draw(&parameters.random)) * parameters.cell_count >> 64);
		for (uint64_t i = 0; i < parameters.evictions; i++)
		{
			uint8_t &cell = cells[(first + i) % parameters.cell_count];
			cell = static_cast<uint8_t>(cell - (cell != 0));
		}
	}
	void evict_by_value()
	{
		uint32_t left = parameters.evictions;
		for (uint64_t i = 0; i < uint64_t{parameters.evictions} * SB_STABLE_TRIES && left > 0; i++)
		{
			sb_u128 product = static_cast<sb_u128>(streambloom::draw(&parameters.random)) * parameters.cell_count;
			uint8_t &cell = cells[static_cast<uint64_t>(product >> 64)];
			if (cell == 0 || static_cast<uint64_t>(product) > UINT64_MAX / cell)
				continue;
			cell = static_cast<uint8_t>(cell - 1);
			left--;
		}
	}
	bool step(uint64_t hash, uint8_t value)
	{
		bool duplicate = true;
		for (int i = 0; i < parameters.hash_count; i++)
			duplicate &= cells[stable_cell(&parameters, hash, i)] != 0;
		if (parameters.scheme == SB_VALUE_WEIGHTED)
			evict_by_value();
		else
			evict_run();
		for (int i = 0; i < parameters.hash_count; i++)
		{
			uint8_t &cell = cells[stable_cell(&parameters, hash, i)];
			cell = std::max(cell, value);
		}
		parameters.items++;
		parameters.steps++;
		return duplicate;
	}
	::testing::AssertionResult is(const Stable &filter) const
	{
		if (parameters.random != filter.parameters.random)
			return ::testing::AssertionFailure() << "another state of the generator";
		if (parameters.items != filter.parameters.items || parameters.steps != filter.parameters.steps)
			return ::testing::AssertionFailure() << "other counts";
		for (uint32_t cell = 0; cell < parameters.cell_count; cell++)
			if (cells[cell] != filter.value(cell))
				return ::testing::AssertionFailure()
					   << "cell " << cell << " is " << int{filter.value(cell)} << " and should be " << int{cells[cell]};
		return ::testing::AssertionSuccess();
	}
};

/*
 * Makes batches of 1 to 9 steps, then of 256. In some batches the filter also says of each item whether it was there
 * before; in the others it is not asked. Some of the items come again.
 */
static void expect_steps_of_plain_filter(const Stable &empty, size_t steps)
{
	Random random(steps);
	std::vector<uint64_t> hashes;
	std::vector<uint8_t> values;
	for (size_t i = 0; i < steps; i++)
	{
		hashes.push_back(i % 3 == 2 ? hashes[i / 2] : random());
		values.push_back(empty.parameters.scheme == SB_STABLE ?
							 static_cast<uint8_t>(empty.max()) :
							 static_cast<uint8_t>(1 + (random() >> 32) % static_cast<unsigned>(empty.max())));
	}
	PlainStable plain(empty);
	std::vector<uint8_t> expected;
	for (size_t i = 0; i < steps; i++)
		expected.push_back(plain.step(hashes[i], values[i]));

	with_each_variant([&] {
		Stable filter(empty);
		std::vector<uint8_t> flags;
		for (size_t done = 0, batch = 1; done < steps; batch = batch < 9 ? batch + 1 : 256)
		{
			size_t now = std::min(batch, steps - done);
			bool duplicates[256];
			bool asked = done % 2 == 0;
			sb_stable_steps(&filter.parameters, filter.cells.data(), &hashes[done], &values[done], now,
							asked ? duplicates : nullptr);
			for (size_t i = 0; i < now; i++)
				flags.push_back(asked ? duplicates[i] : expected[done + i]);
			done += now;
		}
		EXPECT_TRUE(plain.is(filter));
		EXPECT_EQ(flags, expected);

		Stable one_by_one(empty);
		for (size_t i = 0; i < std::min<size_t>(steps, 100); i++)
			EXPECT_EQ(one_by_one.step(hashes[i], values[i]), expected[i] != 0);
		EXPECT_TRUE(filter.parameters.items == steps && one_by_one.parameters.items == std::min<size_t>(steps, 100));

		/* the bits behind the last cell stay zero */
		filter.parameters.kind = kind_of(SB_KIND_INTEGER);
		EXPECT_EQ(sb_stable_check_cells(&filter.parameters, filter.cells.data()), SB_OK);
	});
}

class KernelOfCells : public ::testing::TestWithParam<int>
{
};
INSTANTIATE_TEST_SUITE_P(Bits, KernelOfCells, ::testing::Range(1, SB_STABLE_MAX_BITS + 1));

/*
 * A run is the cells that one step evicts: `evictions` neighbouring cells. Here runs are shorter than a word, as long
 * as some vectors, or all cells. There are enough steps for runs to begin at every place in a byte, and to go on at
 * cell 0 after the last cell.
 */
TEST_P(KernelOfCells, Steps)
{
	const int bits = GetParam();
	for (uint64_t bytes : {64u, 203u, 1000u})
		for (sb_scheme scheme : {SB_STABLE, SB_TWO_CLASS, SB_MULTI_CLASS, SB_VALUE_WEIGHTED})
		{
			if (bits == 1 && scheme != SB_STABLE)
				continue;
			auto cells = static_cast<int64_t>(bytes * 8 / static_cast<uint64_t>(bits));
			for (int64_t evictions : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{9}, int64_t{31}, int64_t{64},
									  cells / 2, cells - 1, cells})
			{
				SCOPED_TRACE(std::to_string(bytes) + " bytes, scheme " + std::to_string(scheme) + ", P " +
							 std::to_string(evictions));
				Stable empty(bytes, scheme, 1 + static_cast<int>(evictions % SB_STABLE_MAX_HASHES), bits,
							 std::min(evictions, cells));
				expect_steps_of_plain_filter(empty, scheme == SB_VALUE_WEIGHTED ? 100 : 300);
			}
		}
}

/* This filter is so large that cells are prefetched before their steps. */
TEST_P(KernelOfCells, StepsOfALargeFilter)
{
	for (sb_scheme scheme : {SB_STABLE, SB_MULTI_CLASS})
		if (GetParam() > 1 || scheme == SB_STABLE)
			expect_steps_of_plain_filter(Stable(1500000, scheme, 6, GetParam(), 65), 3001);
}
