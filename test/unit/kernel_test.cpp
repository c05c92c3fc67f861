/*
 * kernel_test.cpp: tests kernels, which are inner loops with a variant for certain processors (base/simd.hpp). The
 * variant for this processor and the portable one do the same, bit for bit, and both do what a few plain lines here do.
 * This file tests the choice of the variant, and the kernels of bf and of sets of hashes. kernel_tbf_test.cpp and
 * kernel_stable_test.cpp test those of the other types.
 *
 * With STREAMBLOOM_TEST_SIMD=portable in the environment the whole executable runs on the portable code. ctest runs
 * it in this way too.
 */
#include "kernel_support.h"

#include "base/hash_set.hpp"
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

/* The bits of an item, as docs/format.md defines them. */
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

/* Lines in which a single bit is missing, and lines that hold one item only, are tested too. */
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

		/* any number of hashes at once, even none; nothing is written behind their answers */
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

/* Bytes of which about one in `of` is not zero. If `of` is 0, all are zero. */
static Bytes sparse_bytes(uint64_t seed, size_t size, uint64_t of)
{
	Random random(seed);
	Bytes bytes(size);
	for (size_t i = 0; i < size; i++)
		if (of != 0 && random() % of == 0)
			bytes[i] = static_cast<unsigned char>(1 + random() % 255);
	return bytes;
}

/* The sparse form as bf_sparse.cpp describes it. */
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

/* Bytes may come from anywhere. If check_sparse_lines() accepts them, they must be safe to read: ASan watches. */
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
		std::memset(bf.lines.data(), 0xff, SB_BF_LINE); /* a full line: the sums of its bytes are the largest */
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
		hashes.push_back(i % 3 == 0 ? hashes[i] :
									  hashes[i] >> 52 << 2 * (i % 2 * 20)); /* some hashes again, others crowd */
	hashes.insert(hashes.begin() + 100, {0, 0, 1, 1, 8191, 8191, 8190, 16383, 0});
	for (const auto &set :
		 {std::pair<uint64_t, uint64_t>{8, 0}, {60, 0}, {64, 0}, {64, 1}, {8192, 0}, {8192, 2}, {16380, 0}, {16380, 3}})
	{
		const uint64_t capacity = set.first;
		const uint64_t secret = set.second;
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
