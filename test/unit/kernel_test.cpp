/*
 * kernel_test.cpp: the variants of a kernel do the same bit for bit, for this processor and portable; and both do what
 * a few plain lines here say. kernel_stable_test.cpp has the kernels of sbf and ibf.
 *
 * With STREAMBLOOM_TEST_SIMD=portable in the environment the whole executable runs on the portable code (ctest does
 * that too).
 */
#include "kernel_support.h"

#include "bf/bf.hpp"

#include <bit>

using namespace test;
using namespace streambloom;

class ChooseSimd : public ::testing::Environment
{
public:
	void SetUp() override { (void) of_this_run(); }
};
static ::testing::Environment *const environment = ::testing::AddGlobalTestEnvironment(new ChooseSimd);

TEST(Simd, PortableCodeCanBeForced)
{
	EXPECT_EQ(streambloom::choose_simd(SB_SIMD_PORTABLE), SB_SIMD_PORTABLE);
#if defined(__x86_64__)
	EXPECT_EQ(streambloom::choose_simd(SB_SIMD_AVX2), __builtin_cpu_supports("avx2") ? SB_SIMD_AVX2 : SB_SIMD_PORTABLE);
#else
	EXPECT_EQ(streambloom::choose_simd(SB_SIMD_AVX2), SB_SIMD_PORTABLE);
#endif
	(void) of_this_run();
}

/* ------------------------------------------------------------------------ bf */

static uint64_t kept(uint64_t hash)
{
	return hash >> 16 << 16;
}

static size_t line_of(const sb_bf &bf, uint64_t hash)
{
	return static_cast<size_t>((static_cast<sb_u128>(kept(hash)) * bf.line_count) >> 64) * SB_BF_LINE;
}

/* The definition of docs/format.md. */
static std::vector<unsigned> bits_of(const sb_bf &bf, uint64_t hash)
{
	std::vector<unsigned> bits;
	auto probe = static_cast<uint32_t>(kept(hash) * UINT64_C(0xbf58476d1ce4e5b9) >> 32);
	for (int i = 0; i < bf.hash_count; i++, probe *= 0x9e3779b9u)
		bits.push_back(probe >> 23);
	return bits;
}

static void plain_add(Bf &bf, uint64_t hash)
{
	for (unsigned bit : bits_of(bf.parameters, hash))
		bf.lines[line_of(bf.parameters, hash) + bit / 8] |= static_cast<unsigned char>(1u << bit % 8);
}

static bool plain_contains(const Bf &bf, uint64_t hash)
{
	for (unsigned bit : bits_of(bf.parameters, hash))
		if ((bf.lines[line_of(bf.parameters, hash) + bit / 8] >> bit % 8 & 1) == 0)
			return false;
	return true;
}

static Bytes random_bytes(uint64_t seed, size_t size)
{
	Random random(seed);
	Bytes bytes(size);
	for (size_t i = 0; i < size; i++)
		bytes[i] = static_cast<unsigned char>(random() >> 40);
	return bytes;
}

class KernelOfHashes : public ::testing::TestWithParam<int>
{
};
INSTANTIATE_TEST_SUITE_P(Hashes, KernelOfHashes, ::testing::Range(1, SB_BF_MAX_HASHES + 1));

TEST_P(KernelOfHashes, Adds)
{
	for (uint32_t lines : {1u, 2u, 3u, 37u, 512u})
	{
		Bf expected(lines, static_cast<uint8_t>(GetParam()));
		std::vector<uint64_t> hashes = random_hashes(lines, lines * 30);
		hashes.insert(hashes.end(), {0, UINT64_MAX, UINT32_MAX, UINT64_C(1) << 32});
		for (uint64_t hash : hashes)
			plain_add(expected, hash);
		with_each_variant([&] {
			Bf one(lines, static_cast<uint8_t>(GetParam()));
			for (uint64_t hash : hashes)
				sb_bf_add_many(&one.parameters, one.lines.data(), &hash, 1);
			EXPECT_TRUE(same_bytes(one.lines, expected.lines));

			Bf many(lines, static_cast<uint8_t>(GetParam()));
			sb_bf_add_many(&many.parameters, many.lines.data(), hashes.data(), 0);
			sb_bf_add_many(&many.parameters, many.lines.data(), hashes.data(), hashes.size() / 2);
			sb_bf_add_many(&many.parameters, many.lines.data(), hashes.data(), hashes.size());
			EXPECT_TRUE(same_bytes(many.lines, expected.lines));
		});
	}
}

/* A line with a single bit missing, and one with only the item's bits, too. */
TEST_P(KernelOfHashes, Asks)
{
	Bf bf(16, static_cast<uint8_t>(GetParam()));
	std::vector<uint64_t> items = random_hashes(71, 300);
	std::vector<uint64_t> others = random_hashes(72, 5000);
	sb_bf_add_many(&bf.parameters, bf.lines.data(), items.data(), items.size());
	with_each_variant([&] {
		size_t found = 0;
		for (uint64_t hash : items)
			EXPECT_TRUE(bf.contains(hash));
		for (uint64_t hash : others)
		{
			bool expected = plain_contains(bf, hash);
			EXPECT_EQ(bf.contains(hash), expected);
			EXPECT_EQ(
				sb_bf_line_contains(bf.lines.data() + line_of(bf.parameters, hash), bf.parameters.hash_count, hash),
				expected);
			found += expected;
		}
		EXPECT_LT(found, others.size());

		/* any number at once, up to none, and nothing is written beyond their answers */
		for (size_t count : {size_t{0}, size_t{1}, size_t{31}, size_t{32}, size_t{33}, others.size()})
		{
			std::vector<char> answers(count + 1, 2);
			EXPECT_EQ(sb_bf_contains_many(&bf.parameters, bf.lines.data(), others.data(), count,
										  reinterpret_cast<bool *>(answers.data())),
					  SB_OK);
			for (size_t i = 0; i < count; i++)
				EXPECT_EQ(answers[i], plain_contains(bf, others[i]) ? 1 : 0);
			EXPECT_EQ(answers[count], 2);
		}

		for (uint64_t hash : items)
			for (unsigned bit : bits_of(bf.parameters, hash))
			{
				Bytes line(SB_BF_LINE);
				for (unsigned i : bits_of(bf.parameters, hash))
					line[i / 8] |= static_cast<unsigned char>(1u << i % 8);
				EXPECT_TRUE(sb_bf_line_contains(line.data(), bf.parameters.hash_count, hash));
				line[bit / 8] &= static_cast<unsigned char>(~(1u << bit % 8));
				EXPECT_FALSE(sb_bf_line_contains(line.data(), bf.parameters.hash_count, hash));
			}
	});
}

TEST(Kernel, UnitesIntersectsAndFoldsLines)
{
	for (uint32_t lines : {1u, 3u, 8u, 24u})
		for (int halvings : {0, 1, 2, 5})
		{
			Bf small(lines, 6);
			Bf large(lines << halvings, 6);
			small.lines = random_bytes(lines, small.lines.size());
			large.lines = random_bytes(lines + 1, large.lines.size());
			Bytes united = large.lines;
			Bytes common = large.lines;
			Bytes folded(small.lines.size());
			for (size_t i = 0; i < large.lines.size(); i++)
			{
				size_t in_small = (i / SB_BF_LINE >> halvings) * SB_BF_LINE + i % SB_BF_LINE;
				united[i] |= small.lines[in_small];
				common[i] &= small.lines[in_small];
				folded[in_small] |= large.lines[i];
			}
			with_each_variant([&] {
				Bf dst = large;
				EXPECT_EQ(
					sb_bf_combine(&dst.parameters, dst.lines.data(), &small.parameters, small.lines.data(), false),
					SB_OK);
				EXPECT_TRUE(same_bytes(dst.lines, united));
				dst = large;
				EXPECT_EQ(sb_bf_combine(&dst.parameters, dst.lines.data(), &small.parameters, small.lines.data(), true),
						  SB_OK);
				EXPECT_TRUE(same_bytes(dst.lines, common));

				Bytes out(folded.size());
				sb_bf parameters = large.parameters;
				ASSERT_EQ(sb_bf_fold(&parameters, large.lines.data(), halvings, out.data()), SB_OK);
				EXPECT_EQ(parameters.line_count, lines);
				EXPECT_TRUE(same_bytes(out, folded));
				dst = large;
				ASSERT_EQ(sb_bf_fold(&dst.parameters, dst.lines.data(), halvings, dst.lines.data()), SB_OK);
				EXPECT_TRUE(same_bytes(Bytes(dst.lines.data(), folded.size()), folded));
			});
		}
}

/* Bytes of which about one in `of` is not zero; of 0: none is. */
static Bytes sparse_bytes(uint64_t seed, size_t size, uint64_t of)
{
	Random random(seed);
	Bytes bytes(size);
	for (size_t i = 0; i < size; i++)
		if (of != 0 && random() % of == 0)
			bytes[i] = static_cast<unsigned char>(1 + random() % 255);
	return bytes;
}

/* What bf_sparse.cpp says of the form. */
static Bytes plain_sparse(const Bytes &lines)
{
	std::vector<unsigned char> all;
	for (size_t line = 0; line < lines.size(); line += SB_BF_LINE)
	{
		unsigned char which[8] = {};
		for (size_t i = 0; i < SB_BF_LINE; i++)
			if (lines[line + i] != 0)
				which[i / 8] |= static_cast<unsigned char>(1u << i % 8);
		all.insert(all.end(), which, which + 8);
		for (size_t i = 0; i < SB_BF_LINE; i++)
			if (lines[line + i] != 0)
				all.push_back(lines[line + i]);
	}
	return {all.data(), all.size()};
}

TEST(Kernel, SqueezesSparseLines)
{
	for (uint32_t lines : {1u, 2u, 7u, 100u})
		for (uint64_t of : {0u, 1u, 2u, 5u, 100u})
		{
			Bf from(lines, 6);
			from.lines = sparse_bytes(lines * 1000 + of, from.lines.size(), of);
			const Bytes expected = plain_sparse(from.lines);
			const Bytes others = random_bytes(lines, from.lines.size());
			Bytes united = others;
			for (size_t i = 0; i < united.size(); i++)
				united[i] |= from.lines[i];
			with_each_variant([&] {
				size_t size;
				ASSERT_EQ(size_sparse_lines(&from.parameters, from.lines.data(), &size), SB_OK);
				ASSERT_EQ(size, expected.size());
				Bytes out(expected.size() + 8);
				EXPECT_EQ(write_sparse_lines(&from.parameters, from.lines.data(), out.data()), SB_OK);
				EXPECT_TRUE(same_bytes(Bytes(out.data(), expected.size()), expected));
				ASSERT_EQ(check_sparse_lines(&from.parameters, expected.data(), expected.size()), SB_OK);
				Bytes to = others;
				EXPECT_EQ(or_sparse_lines(&from.parameters, to.data(), expected.data(), expected.size()), SB_OK);
				EXPECT_TRUE(same_bytes(to, united));
			});
		}
}

/* Bytes may come from another machine, and what is_valid() lets through must be safe to read: ASan watches. */
TEST(Kernel, RefusesSparseLinesOfAnotherLength)
{
	Bf from(20, 6);
	from.lines = sparse_bytes(1, from.lines.size(), 4);
	const Bytes sparse = plain_sparse(from.lines);
	with_each_variant([&] {
		for (size_t size = 0; size < sparse.size(); size++)
			EXPECT_EQ(check_sparse_lines(&from.parameters, Bytes(sparse.data(), size).data(), size), SB_BAD_LENGTH);
		EXPECT_EQ(check_sparse_lines(&from.parameters, (sparse + Bytes(1)).data(), sparse.size() + 1), SB_BAD_LENGTH);

		Random random(2);
		int accepted = 0;
		for (int i = 0; i < 20000; i++)
		{
			Bytes damaged = sparse;
			for (uint64_t flips = 1 + random() % 3; flips > 0; flips--)
				damaged[random() % damaged.size()] ^= static_cast<unsigned char>(1u << random() % 8);
			if (check_sparse_lines(&from.parameters, damaged.data(), damaged.size()) != SB_OK)
				continue;
			Bytes lines(from.lines.size());
			EXPECT_EQ(or_sparse_lines(&from.parameters, lines.data(), damaged.data(), damaged.size()), SB_OK);
			accepted++;
		}
		EXPECT_GT(accepted, 0);
	});
}

TEST(Kernel, CountsBits)
{
	for (uint32_t lines : {1u, 5u, 64u})
	{
		Bf bf(lines, 6);
		bf.lines = random_bytes(lines, bf.lines.size());
		std::memset(bf.lines.data(), 0xff, SB_BF_LINE); /* a full line: the sums of a byte at their largest */
		uint64_t set = 0;
		for (size_t i = 0; i < bf.lines.size(); i++)
			set += static_cast<uint64_t>(std::popcount(bf.lines[i]));
		sb_bf_stats first{};
		with_each_variant([&] {
			sb_bf_stats stats;
			EXPECT_EQ(sb_bf_measure(&bf.parameters, bf.lines.data(), &stats), SB_OK);
			EXPECT_EQ(stats.bits_set, set);
			EXPECT_EQ(sb_bf_line_bits(bf.lines.data()), 512);
			double items;
			EXPECT_EQ(sb_bf_items(&bf.parameters, bf.lines.data(), &items), SB_OK);
			EXPECT_EQ(stats.items, items);
			if (first.bits != 0)
			{
				EXPECT_EQ(stats.current_fpr, first.current_fpr);
				EXPECT_EQ(stats.items, first.items);
			}
			first = stats;
		});
	}
}

/* ----------------------------------------------------------------- hash sets */

TEST(Kernel, InsertsManyHashes)
{
	std::vector<uint64_t> hashes = random_hashes(77, 3000);
	for (size_t i = 0; i < 3000; i++)
		hashes.push_back(i % 3 == 0 ?
							 hashes[i] :
							 hashes[i] >> 52 << 2 * (i % 2 * 20)); /* some again, some that fight for the same slots */
	hashes.insert(hashes.begin() + 100, {0, 0, 1, 1, 8191, 8191, 8190, 16383, 0});
	for (auto [capacity, secret] :
		 {std::pair<uint64_t, uint64_t>{8, 0}, {60, 0}, {64, 0}, {64, 1}, {8192, 0}, {8192, 2}, {16380, 0}, {16380, 3}})
	{
		std::vector<uint64_t> expected(capacity + 1);
		sb_hash_set one = set_over(expected, capacity, 0, secret);
		size_t taken = 0;
		while (taken < hashes.size() && streambloom::hash_set_has_room(&one))
			(void) streambloom::hash_set_insert(&one, hashes[taken++]);
		with_each_variant([&] {
			std::vector<uint64_t> slots(capacity + 1);
			sb_hash_set many = set_over(slots, capacity, 0, secret);
			size_t done = 0;
			while (done < hashes.size() && streambloom::hash_set_has_room(&many))
				done += streambloom::hash_set_insert_many(&many, hashes.data() + done,
														  std::min<size_t>(hashes.size() - done, 64));
			EXPECT_EQ(done, taken);
			EXPECT_EQ(many.count, one.count);
			EXPECT_EQ(many.crowded, one.crowded);
			EXPECT_EQ(slots, expected);
		});
	}
}

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
		const size_t place = 4 * size_t{beside}; /* of the last word beside a hash */
		std::vector<uint64_t> expected(streambloom::hash_set_bytes(capacity, beside) / sizeof(uint64_t));
		sb_hash_set set = set_over(expected, capacity, beside);
		streambloom::tbf_sums sums{};
		sums.width = capacity + 1;
		sums.beside = beside;
		ASSERT_EQ(streambloom::sums_turn(&sums, 35), 0);
		sums.plane[0] = expected.data() + place;
		size_t taken = 0;
		for (; taken < hashes.size() && streambloom::hash_set_has_room(&set); taken++)
			ASSERT_EQ(streambloom::sums_add_word(&sums, 0, streambloom::hash_set_insert(&set, hashes[taken]), 35,
												 values[taken]),
					  SB_OK);
		ASSERT_GT(taken, 2000u);

		with_each_variant([&] {
			std::vector<uint64_t> slots(expected.size());
			sb_hash_set many = set_over(slots, capacity, beside);
			streambloom::tbf_sums into{};
			into.width = capacity + 1;
			into.beside = beside;
			ASSERT_EQ(streambloom::sums_turn(&into, 35), 0);
			into.plane[0] = slots.data() + place;
			size_t done = 0;
			while (done < hashes.size() && streambloom::hash_set_has_room(&many))
			{
				sb_status status;
				done += streambloom::sums_add_hits(&into, &many, 0, 35, &hashes[done], &values[done],
												   std::min<size_t>(64, hashes.size() - done), &status);
				ASSERT_EQ(status, SB_OK);
			}
			EXPECT_EQ(done, taken);
			EXPECT_EQ(many.count, set.count);
			EXPECT_EQ(many.crowded, set.crowded);
			EXPECT_EQ(slots, expected);

			/* a word that would be too large stays as it is */
			sb_status status;
			const uint64_t most = SB_TBF_MAX_CELL / 8 - 1;
			const uint64_t hash = hashes[1];
			uint64_t
				*word = &into.plane[0][streambloom::hash_set_place(streambloom::hash_set_find(&many, hash), beside)];
			*word = SB_TBF_MAX_CELL - 1;
			many.count = 0;
			EXPECT_EQ(streambloom::sums_add_hits(&into, &many, 0, 35, &hash, &most, 1, &status), 1u);
			EXPECT_EQ(status, SB_OVERFLOW);
			EXPECT_EQ(*word, SB_TBF_MAX_CELL - 1);
		});
	}
}

TEST(Kernel, AddsItemsToCells)
{
	Random random(79);
	for (uint64_t items : {UINT64_C(30), UINT64_C(20000)})
		for (size_t count : {size_t{0}, size_t{1}, size_t{15}, size_t{16}, size_t{17}, size_t{256}})
		{
			sb_tbf tbf;
			ASSERT_EQ(sb_tbf_plan(items, 0.01, 3600, 60, false, &tbf), SB_OK);
			std::vector<uint64_t> hashes = random_hashes(80 + count, count);
			std::vector<uint64_t> values;
			for (size_t i = 0; i < count; i++)
			{
				hashes[i] = i % 3 == 0 ? hashes[i / 2] :
										 hashes[i]; /* the same cells again, while others are on their way */
				values.push_back(1 + random() % 9999);
			}
			Cells expected(tbf);
			streambloom::tbf_sums one{};
			one.width = sb_tbf_cells(&tbf);
			ASSERT_EQ(streambloom::sums_turn(&one, 35), 0);
			one.cells[0] = expected;
			for (size_t i = 0; i < count; i++)
				ASSERT_EQ(streambloom::sums_add_item(&one, &tbf, 0, hashes[i], 35, values[i]), SB_OK);
			with_each_variant([&] {
				Cells words(tbf);
				streambloom::tbf_sums many = one;
				many.cells[0] = words;
				EXPECT_EQ(streambloom::sums_add_items(&many, &tbf, 0, 35, hashes.data(), values.data(), count), SB_OK);
				EXPECT_EQ(words.words(), expected.words());
				if (count == 0)
					return;
				Cells full(tbf, std::vector<uint64_t>(one.width, SB_TBF_MAX_CELL - 1));
				many.cells[0] = full;
				EXPECT_EQ(streambloom::sums_add_items(&many, &tbf, 0, 35, hashes.data(), values.data(), count),
						  SB_OVERFLOW);
			});
		}
}

/* Sums that are stored, and added once more with a shift: the same cells, whatever the width of the stored ones. */
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
		sums.width = words.size();
		ASSERT_EQ(streambloom::sums_turn(&sums, 5), 0);
		sums.newest = 5 * 3600;
		Cells plane(tbf, words);
		sums.cells[0] = plane;
		for (auto layout : {uint8_t{SB_TBF_FLAT}, uint8_t{SB_TBF_EXTENSIBLE}})
		{
			tbf.layout = layout;
			Bytes first;
			with_each_variant([&] {
				Tbf stored;
				ASSERT_EQ(streambloom::sums_plan(&sums, nullptr, &tbf, &stored.parameters), SB_OK);
				stored.cells = Bytes(stored.cell_bytes());
				EXPECT_EQ(streambloom::sums_write(&sums, nullptr, &stored.parameters, stored.cells.data()), SB_OK);
				EXPECT_TRUE(first.size() == 0 || first == stored.cells);
				first = stored.cells;
				const int shift = 5 + SB_TBF_HIT_BITS - SB_TBF_UNIT_BITS;
				std::vector<uint64_t> counters = counters_of(stored);
				for (size_t i = 0; i < words.size(); i++)
					ASSERT_EQ(counters[i], (words[i] + (UINT64_C(1) << shift) - 1) >> shift);

				Cells again(tbf, std::vector<uint64_t>(words.size(), 3));
				streambloom::tbf_sums merged{};
				merged.width = words.size();
				int planes;
				constexpr streambloom::filter_weight one = {1, 0};
				int index = streambloom::sums_turn_for_weighted(&merged, &stored.parameters, &one, &planes);
				ASSERT_EQ(planes, 1);
				merged.cells[index] = again;
				ASSERT_EQ(
					streambloom::sums_add_weighted(&merged, &tbf, index, &stored.parameters, stored.cells.data(), &one),
					SB_OK);
				for (size_t i = 0; i < words.size(); i++)
					ASSERT_EQ(again[i], 3 + (counters[i] << shift));
				EXPECT_EQ(static_cast<uint64_t>(merged.loss[index]), *std::ranges::max_element(counters) << shift);
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

/* A flat filter with counters of up to so many bits: small ones, full ones, those about 2^(j-1), and zeros. */
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
					EXPECT_EQ(sb_tbf_check(&later.parameters, later.cells.data()),
							  SB_OK); /* so there is one form only */
				}
				EXPECT_TRUE(same_bytes(flat.relaid().value(), extensible.value()));
			});
		}
	}
}

TEST(Kernel, TakesBlocksApartWhateverTheirLevels)
{
	/* codes of all widths up to 32, ends of bit strings at all distances from the end of the value */
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
