/*
 * tbf_plane_test.cpp: planes of sums of cells. A block with few cells takes little memory, and holds the same sums as
 * a block with all its words.
 */
#include "tbf_support.h"

#include <map>

using namespace test;

namespace {

using model = std::map<uint64_t, uint64_t>;

/* Expects that the plane holds these cells, read by whole blocks and by single words. */
void expect_holds(const streambloom::cell_plane *plane, const model &cells)
{
	std::vector<uint64_t> room(plane->block_cells);
	uint64_t found = 0;
	for (uint32_t block = 0; block < plane->block_count; block++)
	{
		const uint64_t *words = read_block(plane, block, room.data());
		const streambloom::block_place place = place_of_block(plane, block);
		EXPECT_EQ(words != nullptr, static_cast<bool>(place));
		for (uint32_t i = 0; words != nullptr && i < plane->block_cells; i++)
		{
			const auto cell = cells.find(uint64_t{block} * plane->block_cells + i);
			ASSERT_EQ(words[i], cell != cells.end() ? cell->second : 0);
			ASSERT_EQ(place[i], words[i]);
			found += words[i] != 0;
		}
	}
	EXPECT_EQ(found, cells.size());
}

} // namespace

TEST(Plane, HoldsWhatWasAdded)
{
	Random random(301);
	for (uint32_t shape_cells : {64u, 4096u, 8 * 4096u})
		for (bool never_few : {false, true})
		{
			const sb_tbf like = shape(shape_cells, 5, 0, 0);
			Cells cells(like);
			streambloom::cell_plane *plane = cells;
			plane->never_few = never_few;
			model expected;
			for (int round = 0; round < 6000; round++)
			{
				/* low block numbers are more frequent: some blocks keep few cells, some get many */
				const auto block = static_cast<uint32_t>(random() % (1 + random() % like.block_count));
				const auto cell = static_cast<uint32_t>(random() % like.block_cells);
				const uint64_t value = 1 + random() % 1000;
				ASSERT_EQ(streambloom::hold_cells(plane, block, 1), SB_OK);
				*word_at(plane, block, cell) += value;
				expected[uint64_t{block} * like.block_cells + cell] += value;
				if (round % 1000 == 0)
					expect_holds(plane, expected);
			}
			expect_holds(plane, expected);
			EXPECT_EQ(plane->list_bytes == 0, never_few || shape_cells < 4096u);
			EXPECT_GT(plane->full, 0u);
		}
}

TEST(Plane, TakesMemoryForTheCellsThatHoldSomething)
{
	Random random(302);
	const sb_tbf like = shape(1024 * 4096, 8, 0, 0);
	Memory memory;
	streambloom::cell_plane *plane;
	ASSERT_EQ(streambloom::make_cell_plane(memory, &like, &plane), SB_OK);
	const uint64_t empty = memory.bytes;
	for (int i = 0; i < 3000; i++)
	{
		const uint64_t hash = random();
		bool full;
		ASSERT_EQ(streambloom::hold_items(plane, 8, &hash, 1, &full), SB_OK);
		EXPECT_FALSE(full);
		uint16_t positions[SB_TBF_MAX_HASHES];
		tbf_positions(&like, hash, positions);
		for (int k = 0; k < 8; k++)
			++*word_at(plane, tbf_block(&like, hash), positions[k]);
	}
	EXPECT_EQ(plane->full, 0u);
	EXPECT_LT(memory.most_bytes - empty, 3000u * 8 * 40); /* 32 kB for each block would be 33 MB */
	EXPECT_LE(empty, 1024u * 16 + 1000);
	streambloom::release_cell_plane(plane);
}

/*
 * If an allocation fails, the plane holds what it held before. Room for cells that hold_cells() has promised is
 * there, whatever was promised later.
 */
TEST(Plane, WithoutMemoryNothingIsLost)
{
	const sb_tbf like = shape(2 * 4096, 5, 0, 0);
	Random random(303);
	for (uint64_t fails_at = 0; fails_at < 12; fails_at++)
	{
		Memory memory;
		streambloom::cell_plane *plane;
		model expected;
		ASSERT_EQ(streambloom::make_cell_plane(memory, &like, &plane), SB_OK);
		memory.fails_at = memory.allocations + fails_at;
		for (int i = 0; i < 400; i++)
		{
			const uint32_t block = random() % 2 != 0;
			if (streambloom::hold_cells(plane, block, 3) != SB_OK || streambloom::hold_cells(plane, block, 2) != SB_OK)
			{
				expect_holds(plane, expected);
				continue;
			}
			for (int j = 0; j < 5; j++)
			{
				const auto cell = static_cast<uint32_t>(random() % 4096);
				++*word_at(plane, block, cell);
				++expected[block * UINT64_C(4096) + cell];
			}
		}
		expect_holds(plane, expected);
		streambloom::release_cell_plane(plane);
	}
}

/* Hits come to the same sums in blocks that are lists and in blocks with all words. */
TEST(Plane, ListsAndWordsCountTheSame)
{
	Random random(304);
	for (bool raises : {false, true})
		for (int items : {40, 400, 4000})
		{
			sb_tbf like = shape(16 * 4096, 6, INT64_C(3600000000), INT64_C(3600000000));
			like.flags = raises ? SB_TBF_MINIMUM_INCREASE : 0;
			Builder lists(like);
			Builder words(like);
			words.builder->never_few = true;
			for (int i = 0; i < 3 * items; i++)
			{
				const uint64_t hash = (random() % static_cast<uint64_t>(items) + 1) * UINT64_C(0x9e3779b97f4a7c15);
				sb_moment moment;
				sb_tbf_moment(like.half_life, like.epoch, static_cast<int64_t>(random() % 60) * INT64_C(3600000000),
							  &moment);
				const uint64_t value = 1 + random() % 9999;
				ASSERT_EQ(sb_tbf_builder_add_hit(lists.builder, hash, &moment, value), SB_OK);
				ASSERT_EQ(sb_tbf_builder_add_hit(words.builder, hash, &moment, value), SB_OK);
			}
			const Tbf a = lists.stored();
			const Tbf b = words.stored();
			EXPECT_EQ(a.cells, b.cells);
			Builder again(a);
			EXPECT_EQ(again.stored().cells, a.cells);
		}
}
