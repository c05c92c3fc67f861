/*
 * tbf_cells_test.cpp: the two layouts of stored counters hold the same counters. Counters that are too large for any
 * filter, as damaged bytes of the flat layout may have, are refused.
 */
#include "tbf_support.h"
#include "tbf/tbf_cells.hpp"

using namespace test;

namespace {

/* The cells of a flat filter that has these counters, with 64 bits each; *header gets its header. */
Bytes flat_filter(const std::vector<uint64_t> &counters, sb_tbf *header)
{
	EXPECT_EQ(sb_tbf_plan(counters.size() / 11, 0.01, 0, 0, true, header), SB_OK);
	EXPECT_EQ(sb_tbf_cells(header), counters.size());
	header->layout = SB_TBF_FLAT;
	header->cell_bits = 64;
	header->flags |= SB_TBF_HAS_HITS;
	Bytes cells(counters.size() * 8);
	std::memcpy(cells.data(), counters.data(), cells.size());
	return cells;
}

/* Counters: zeros, small and large ones, and those next to a power of two, where a code gets longer by a bit. */
std::vector<uint64_t> all_sorts(size_t count, int share_of_zeros)
{
	Random random(20261121);
	std::vector<uint64_t> counters(count);
	for (auto &counter : counters)
	{
		if (between(random, 1, 100) <= share_of_zeros)
			continue;
		uint64_t power = UINT64_C(1) << between(random, 0, between(random, 0, 61));
		counter = std::min(power + static_cast<uint64_t>(between(random, -1, 2)), SB_TBF_MAX_CELL - 1);
	}
	return counters;
}

/* In the extensible layout every counter has the exact value of the flat layout, whatever the share of zeros. */
TEST(TbfCells, BothLayoutsHoldTheSameCounters)
{
	for (int zeros : {0, 1, 30, 70, 99, 100})
	{
		std::vector<uint64_t> counters = all_sorts(16384, zeros);
		Tbf flat;
		Tbf packed;
		flat.cells = flat_filter(counters, &flat.parameters);
		ASSERT_EQ(flat.set_layout(SB_TBF_EXTENSIBLE, &packed), SB_OK);
		ASSERT_EQ(sb_tbf_check(&packed.parameters, packed.cells.data()), SB_OK) << zeros << " % zeros";
		Tbf back;
		ASSERT_EQ(packed.set_layout(SB_TBF_FLAT, &back), SB_OK);
		ASSERT_EQ(sb_tbf_check(&back.parameters, back.cells.data()), SB_OK) << zeros << " % zeros";

		for (const Tbf &filter : {packed, back})
		{
			std::vector<uint64_t> block(filter.parameters.block_cells);
			for (uint32_t i = 0; i < filter.parameters.block_count; i++)
			{
				ASSERT_EQ(streambloom::unpack_block(&filter.parameters, filter.cells.data(), i, block.data()), SB_OK);
				for (size_t j = 0; j < block.size(); j++)
					ASSERT_EQ(block[j], counters[i * block.size() + j])
						<< zeros << " % zeros, counter " << i << ", " << j;
			}
		}
	}
}

/*
 * Damaged bytes on disk may hold counters that are too large for any filter. They must be refused before anything is
 * written for them.
 */
TEST(TbfCells, CountersThatAreTooLargeAreNotPacked)
{
	for (uint64_t counter :
		 {SB_TBF_MAX_CELL, SB_TBF_MAX_CELL + 1, SB_TBF_MAX_CELL * 2, SB_TBF_MAX_CELL * 2 + 1, UINT64_MAX})
	{
		std::vector<uint64_t> counters = all_sorts(4096, 50);
		counters[1234] = counter;
		Tbf flat;
		Tbf out;
		flat.cells = flat_filter(counters, &flat.parameters);
		EXPECT_EQ(flat.set_layout(SB_TBF_EXTENSIBLE, &out), SB_BAD_CELLS) << counter;
	}
}

} // namespace
