/*
 * kernel_tbf_test.cpp: the variants of the kernels of tbf: those that add to sums, store and merge sums, decay
 * counters, and read packed blocks.
 */
#include "kernel_support.h"
#include "tbf_support.h"

using namespace test;
using namespace streambloom;

/* ---------------------------------------------------------------------- sums */

static std::vector<uint64_t> counters_of(const Tbf &filter)
{
	std::vector<uint64_t> all;
	std::vector<uint64_t> counters(SB_TBF_BLOCK);
	for (uint32_t block = 0; block < filter.parameters.block_count; block++)
	{
		EXPECT_EQ(streambloom::unpack_block(&filter.parameters, filter.cells.data(), block, counters.data()), SB_OK);
		all.insert(all.end(), counters.begin(), counters.end());
	}
	return all;
}

TEST(Kernel, AddsHitsToItemsOfASet)
{
	constexpr uint64_t capacity = 4092;
	std::vector<uint64_t> hashes = random_hashes(78, 2000);
	for (size_t i = 0; i < 4000; i++)
		hashes.push_back(i % 2 == 0 ? hashes[i / 3] : i % 700);
	std::vector<uint64_t> values;
	for (size_t i = 0; i < hashes.size(); i++)
		values.push_back(1 + i % 5000);

	for (uint32_t beside : {1u, 2u, 3u})
	{
		const size_t place = 4 * size_t{beside}; /* the column of the last word beside a hash */
		std::vector<uint64_t> expected(streambloom::hash_set_bytes(capacity, beside) / sizeof(uint64_t));
		sb_hash_set set = set_over(expected, capacity, beside);
		size_t taken = 0;
		for (; taken < hashes.size() && streambloom::hash_set_has_room(&set); taken++)
			expected[streambloom::hash_set_place(streambloom::hash_set_insert(&set, hashes[taken]), beside) + place] +=
				values[taken] << 35 % SB_TBF_PLANE;
		ASSERT_GT(taken, 2000u);

		with_each_variant([&] {
			std::vector<uint64_t> slots(expected.size());
			streambloom::tbf_sums into{};
			into.set = set_over(slots, capacity, beside);
			sb_hash_set &many = into.set;
			ASSERT_EQ(streambloom::sums_turn(&into, 35), 0);
			into.planes[0].column = beside;
			size_t done = 0;
			while (done < hashes.size() && streambloom::hash_set_has_room(&many))
			{
				sb_status status;
				done += streambloom::sums_add_hits(&into, 0, 35, &hashes[done], &values[done],
												   std::min<size_t>(64, hashes.size() - done), &status);
				ASSERT_EQ(status, SB_OK);
			}
			EXPECT_EQ(done, taken);
			EXPECT_EQ(many.count, set.count);
			EXPECT_EQ(many.crowded, set.crowded);
			EXPECT_EQ(slots, expected);

			/* a word that would become too large keeps its value */
			sb_status status;
			const uint64_t most = SB_TBF_MAX_CELL / 8 - 1;
			const uint64_t hash = hashes[1];
			uint64_t *word = &slots[streambloom::hash_set_place(streambloom::hash_set_find(&many, hash), beside) + place];
			*word = SB_TBF_MAX_CELL - 1;
			many.count = 0;
			EXPECT_EQ(streambloom::sums_add_hits(&into, 0, 35, &hash, &most, 1, &status), 1u);
			EXPECT_EQ(status, SB_OVERFLOW);
			EXPECT_EQ(*word, SB_TBF_MAX_CELL - 1);
		});
	}
}

TEST(Kernel, AddsItemsToCells)
{
	Random random(79);
	constexpr int place = 35 % SB_TBF_PLANE;
	for (uint64_t items : {UINT64_C(30), UINT64_C(20000)})
		for (size_t count : {size_t{0}, size_t{1}, size_t{15}, size_t{16}, size_t{17}, size_t{256}})
		{
			sb_tbf tbf;
			ASSERT_EQ(sb_tbf_plan(items, 0.01, 3600, 60, false, &tbf), SB_OK);
			const int k = tbf.hash_count;
			std::vector<uint64_t> hashes = random_hashes(80 + count, count);
			std::vector<uint64_t> values;
			for (size_t i = 0; i < count; i++)
			{
				hashes[i] = i % 3 == 0 ? hashes[i / 2] : hashes[i]; /* the same cells again, soon afterwards */
				values.push_back(1 + random() % 9999);
			}
			std::vector<uint64_t> expected(sb_tbf_cells(&tbf));
			for (size_t i = 0; i < count; i++)
			{
				uint16_t positions[SB_TBF_MAX_HASHES];
				tbf_positions(&tbf, hashes[i], positions);
				for (int j = 0; j < k; j++)
					expected[size_t{tbf_block(&tbf, hashes[i])} * tbf.block_cells + positions[j]] += values[i] << place;
			}
			with_each_variant([&] {
				for (bool with_words : {false, true})
				{
					Cells cells(tbf);
					for (uint32_t block = 0; with_words && block < tbf.block_count; block++)
						ASSERT_EQ(streambloom::hold_block(cells, block), SB_OK);
					EXPECT_EQ(streambloom::add_to_plane(cells, k, place, hashes.data(), values.data(), count), SB_OK);
					EXPECT_EQ(cells.words(), expected);
				}
				if (count == 0)
					return;
				Cells full(tbf, std::vector<uint64_t>(expected.size(), SB_TBF_MAX_CELL - 1));
				EXPECT_EQ(streambloom::add_to_plane(full, k, place, hashes.data(), values.data(), count), SB_OVERFLOW);
			});
		}
}

/*
 * Sums are stored: whatever the width of the counters, each counter is its sum rounded up to a unit. Then the counters
 * are added to other sums with a shift, without further rounding.
 */
TEST(Kernel, StoresAndMergesSums)
{
	for (int bits : {8, 16, 30, 45})
	{
		Random random(static_cast<uint64_t>(bits));
		sb_tbf tbf;
		ASSERT_EQ(sb_tbf_plan(3000, 0.01, 3600, 60, false, &tbf), SB_OK);
		tbf.kind = kind_of(SB_KIND_INTEGER);
		std::vector<uint64_t> words(sb_tbf_cells(&tbf));
		for (uint64_t &word : words)
			word = random() % 3 == 0 ? random() & ((UINT64_C(1) << bits) - 1) : 0;
		streambloom::tbf_sums sums{};
		ASSERT_EQ(streambloom::sums_turn(&sums, 5), 0);
		sums.newest = 5 * 3600;
		Cells plane(tbf, words);
		sums.planes[0].cells = plane;
		for (auto layout : {uint8_t{SB_TBF_FLAT}, uint8_t{SB_TBF_EXTENSIBLE}})
		{
			Bytes first;
			with_each_variant([&] {
				Tbf stored;
				stored.cells = Bytes(words.size() * 10);
				ASSERT_EQ(streambloom::sums_store(&sums, nullptr, &tbf, &stored.parameters, stored.cells.data(),
												  stored.cells.size()),
						  SB_OK);
				stored.cells = Bytes(stored.cells.data(), stored.cell_bytes());
				if (layout == SB_TBF_FLAT)
					stored = stored.relaid();
				EXPECT_TRUE(first.size() == 0 || first == stored.cells);
				first = stored.cells;
				const int shift = 5 + SB_TBF_HIT_BITS - SB_TBF_UNIT_BITS;
				std::vector<uint64_t> counters = counters_of(stored);
				for (size_t i = 0; i < words.size(); i++)
					ASSERT_EQ(counters[i], (words[i] + (UINT64_C(1) << shift) - 1) >> shift);

				Cells again(tbf, std::vector<uint64_t>(words.size(), 3));
				streambloom::tbf_sums merged{};
				int planes;
				constexpr streambloom::filter_weight one = {1, 0};
				int index = streambloom::sums_turn_for_weighted(&merged, &stored.parameters, &one, &planes);
				ASSERT_EQ(planes, 1);
				merged.planes[index].cells = again;
				ASSERT_EQ(
					streambloom::sums_add_weighted(&merged, &tbf, index, &stored.parameters, stored.cells.data(), &one),
					SB_OK);
				for (size_t i = 0; i < words.size(); i++)
					ASSERT_EQ(again[i], 3 + (counters[i] << shift));
				EXPECT_EQ(static_cast<uint64_t>(merged.planes[index].loss), *std::ranges::max_element(counters) << shift);
				again[17] = SB_TBF_MAX_CELL - 1;
				again[18] = SB_TBF_MAX_CELL - 1;
				again[19] = SB_TBF_MAX_CELL - 1;
				again[20] = SB_TBF_MAX_CELL - 1;
				again[21] = SB_TBF_MAX_CELL - 1;
				again[22] = SB_TBF_MAX_CELL - 1;
				EXPECT_EQ(
					streambloom::sums_add_weighted(&merged, &tbf, index, &stored.parameters, stored.cells.data(), &one),
					std::any_of(&counters[17], &counters[23], [](uint64_t c) { return c != 0; }) ? SB_OVERFLOW : SB_OK);
			});
		}
	}
}

/* ---------------------------------------------------------------------- decay */

/*
 * A flat filter whose counters have up to `bits` bits: random ones, small ones, those next to a power of 2, zeros, and
 * one with all bits set.
 */
static Tbf filter_of_width(uint64_t seed, int bits)
{
	Random random(seed);
	Tbf filter;
	filter.parameters.kind = kind_of(SB_KIND_INTEGER);
	filter.parameters.block_count = 2;
	filter.parameters.block_cells = SB_TBF_BLOCK;
	filter.parameters.hash_count = 4;
	filter.parameters.layout = SB_TBF_FLAT;
	filter.parameters.cell_bits = static_cast<uint8_t>(bits > 32 ? 64 : bits > 16 ? 32 : bits > 8 ? 16 : 8);
	filter.parameters.unit_bits = SB_TBF_UNIT_BITS;
	filter.parameters.half_life = filter.parameters.epoch = 3600;
	filter.parameters.flags = SB_TBF_HAS_HITS;
	filter.parameters.fpr = 0.01;
	filter.cells = Bytes(filter.cell_bytes());
	const size_t bytes = filter.parameters.cell_bits / 8;
	for (size_t i = 0; i < size_t{2} * SB_TBF_BLOCK; i++)
	{
		const uint64_t full = (UINT64_C(1) << bits) - 1;
		uint64_t counter = random() & full;
		if (i % 5 == 0)
			counter >>= random() % 64;
		else if (i % 5 == 1)
			counter = std::min(full, (UINT64_C(1) << random() % static_cast<uint64_t>(bits)) + random() % 3 - 1);
		else if (i % 5 == 2)
			counter = 0;
		if (i == 7)
			counter = full;
		for (size_t byte = 0; byte < bytes; byte++)
			filter.cells[i * bytes + byte] = static_cast<unsigned char>(counter >> (8 * byte));
	}
	return filter;
}

TEST(Kernel, DecaysCountersOfAllWidths)
{
	for (int bits : {1, 5, 8, 9, 14, 16, 17, 32, 33, 62})
	{
		const Tbf flat = filter_of_width(static_cast<uint64_t>(bits), bits);
		const Tbf extensible = flat.relaid();
		const std::vector<uint64_t> before = counters_of(flat);
		EXPECT_EQ(counters_of(extensible), before);
		for (int64_t j : {0, 1, 2, 4, 7, 8, 9, 13, 15, 16, 17, 24, 31, 32, 33, 61, 62, 63, 64, 65, 1000})
		{
			SCOPED_TRACE(::testing::Message() << bits << " bits, " << j << " half-lives");
			std::vector<uint64_t> expected = before;
			bool forgotten = false;
			for (uint64_t &q : expected)
				if (j > 0)
				{
					uint64_t after = j > 62 || q <= UINT64_C(1) << (j - 1) ? 0 : ((q - 1) >> j) + 1;
					forgotten |= q != 0 && after == 0;
					q = after;
				}
			with_each_variant([&] {
				for (const Tbf *filter : {&flat, &extensible})
				{
					Tbf later = filter->decayed(j * 3600);
					EXPECT_EQ(counters_of(later), expected);
					EXPECT_EQ((later.parameters.flags & SB_TBF_FORGOTTEN) != 0, forgotten);
					EXPECT_EQ(sb_tbf_check(&later.parameters, later.cells.data()), SB_OK); /* the only valid form */
				}
				EXPECT_TRUE(same_bytes(flat.relaid().value(), extensible.value()));
			});
		}
	}
}

TEST(Kernel, TakesBlocksApartWhateverTheirLevels)
{
	/*
	 * Codes of all widths that a level may have, 1 to 32 bits. (The head of tbf_cells.cpp explains levels, codes and
	 * bit strings.) The bit strings end at many different distances from the end of the value.
	 */
	for (int bits = 1; bits <= 40; bits++)
		for (uint32_t nonzero : {1u, 2u, 3u, 5u, 63u, 64u, 65u, 4095u, 4096u})
		{
			Random random(static_cast<uint64_t>(bits) * 5000 + nonzero);
			Tbf filter = filter_of_width(1, 62);
			filter.parameters.block_count = 1;
			filter.cells = Bytes(filter.cell_bytes());
			for (uint32_t i = 0; i < nonzero; i++)
			{
				uint64_t counter = 1 + (random() & ((UINT64_C(1) << bits) - 1));
				if (i == 0)
					counter = UINT64_C(1) << 40;
				for (size_t byte = 0; byte < 8; byte++)
					filter.cells[i * 8 + byte] = static_cast<unsigned char>(counter >> (8 * byte));
			}
			const std::vector<uint64_t> before = counters_of(filter);
			Bytes first;
			with_each_variant([&] {
				Tbf packed = filter.relaid();
				EXPECT_EQ(counters_of(packed), before);
				EXPECT_TRUE(first.size() == 0 || first == packed.cells);
				first = packed.cells;
			});
		}
}
