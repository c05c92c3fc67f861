/*
 * hash_run_test.cpp: columns of words and runs of hashes are packed, read and checked, and the different hashes of
 * several runs are counted.
 */
#include "support.h"

#include "base/hash_run.hpp"

#include <set>

using namespace test;
using streambloom::count_different;
using streambloom::hash_run;
using streambloom::hash_run_reader;
using streambloom::packed_column;

namespace {

/* A run with its bytes. */
struct Packed
{
	Bytes bytes;
	hash_run run;
};

Packed packed(const std::vector<uint64_t> &hashes)
{
	const packed_column column = streambloom::column_for_hashes(hashes.data(), hashes.size());
	Packed result{Bytes(hashes.size() * column.width), {hashes.size(), column}};

	/* in two steps, as a builder does it */
	const size_t half = hashes.size() / 2;
	unsigned char *out = result.bytes.data();
	streambloom::pack_hashes(column, 0, hashes.data(), half, out);
	streambloom::pack_hashes(column, half > 0 ? hashes[half - 1] : 0, hashes.data() + half, hashes.size() - half,
							 out + half * column.width);
	result.run.differences.bytes = result.bytes.data();
	return result;
}

std::vector<uint64_t> read(const hash_run &run)
{
	std::vector<uint64_t> hashes;
	uint64_t some[hash_run_reader::at_once];
	hash_run_reader reader(run);
	while (const size_t count = reader.next(some))
		hashes.insert(hashes.end(), some, some + count);
	EXPECT_EQ(reader.read(), run.count);
	return hashes;
}

/* Different hashes in ascending order; the fewer bits, the closer together. */
std::vector<uint64_t> hashes_of(Random &random, size_t count, int bits)
{
	std::set<uint64_t> hashes;
	while (hashes.size() < count)
		hashes.insert(random() >> (64 - bits) << (64 - SB_KEPT_HASH_BITS));
	return {hashes.begin(), hashes.end()};
}

} // namespace

TEST(HashRun, WordsOfEveryWidthComeBack)
{
	Random random(1);
	for (int shift = 0; shift < 64; shift++)
		for (int bits = 0; bits <= 64 - shift; bits++)
		{
			std::vector<uint64_t> words(300);
			uint64_t any = 0;
			for (uint64_t &word : words)
				any |= word = bits == 0 ? 0 : random() >> (64 - bits) << shift;
			packed_column column = streambloom::column_for(any);
			ASSERT_LE(8 * column.width, bits + 7);
			Bytes bytes(words.size() * column.width);
			streambloom::pack_words(column, words.data(), words.size(), bytes.data());
			column.bytes = bytes.data();
			std::vector<uint64_t> back(words.size());
			streambloom::unpack_words(column, 0, 17, back.data());
			streambloom::unpack_words(column, 17, words.size() - 17, back.data() + 17);
			ASSERT_EQ(back, words) << shift << " " << bits;
		}
}

TEST(HashRun, HashesComeBack)
{
	Random random(2);
	for (int bits : {12, 20, 33, 41, 48})
		for (size_t count : {0u, 1u, 2u, 255u, 256u, 257u, 1000u})
		{
			const std::vector<uint64_t> hashes = hashes_of(random, count, bits);
			const Packed run = packed(hashes);
			EXPECT_EQ(streambloom::check_run(run.run), SB_OK);
			EXPECT_EQ(read(run.run), hashes);
			EXPECT_LE(run.run.differences.width, (bits + 7) / 8);
		}
	EXPECT_EQ(read(packed({0}).run), std::vector<uint64_t>{0});
	EXPECT_EQ(read(packed({0, SB_KEPT_HASH_MASK}).run), (std::vector<uint64_t>{0, SB_KEPT_HASH_MASK}));
}

TEST(HashRun, AMillionHashesTakeFourBytesEach)
{
	Random random(3);
	std::vector<uint64_t> hashes(1500000);
	for (uint64_t &hash : hashes)
		hash = random() & SB_KEPT_HASH_MASK;
	std::ranges::sort(hashes);
	EXPECT_EQ(packed(hashes).run.differences.width, 4);
}

TEST(HashRun, BytesThatDoNotAscendAreRefused)
{
	Random random(4);
	const Packed good = packed(hashes_of(random, 600, 48));
	const size_t width = good.run.differences.width;
	for (size_t i = 1; i < 600; i++)
	{
		Packed twice = good;
		std::fill_n(twice.bytes.data() + i * width, width, static_cast<unsigned char>(0));
		twice.run.differences.bytes = twice.bytes.data();
		ASSERT_EQ(streambloom::check_run(twice.run), SB_BAD_CELLS) << i;
	}

	/* the sum of the differences may be the largest hash, but not exceed it */
	const Bytes ones(std::string(10, '\xff').data(), 10);
	hash_run run = {10, {ones.data(), 1, 64 - SB_KEPT_HASH_BITS}};
	EXPECT_EQ(streambloom::check_run(run), SB_OK);
	const Bytes large(std::string(12, '\xff').data(), 12);
	run = {1, {large.data(), 6, 64 - SB_KEPT_HASH_BITS}};
	EXPECT_EQ(streambloom::check_run(run), SB_OK);
	run.count = 2;
	EXPECT_EQ(streambloom::check_run(run), SB_BAD_CELLS);

	for (packed_column wrong : {packed_column{ones.data(), 0, 16}, packed_column{ones.data(), 7, 16},
								packed_column{ones.data(), 1, 15}, packed_column{ones.data(), 1, 17}})
		EXPECT_EQ(streambloom::check_run({1, wrong}), SB_BAD_CELLS);
}

TEST(HashRun, CountsDifferentHashesOfAnyNumberOfRuns)
{
	Random random(5);
	Memory memory;
	for (size_t number : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 13u, 64u})
		for (int bits : {10, 16, 48})
		{
			std::vector<Packed> runs;
			std::vector<hash_run> read_runs;
			std::set<uint64_t> all;
			for (size_t i = 0; i < number; i++)
			{
				const std::vector<uint64_t> hashes = hashes_of(random, random() % (i % 3 == 0 ? 3 : 900), bits);
				all.insert(hashes.begin(), hashes.end());
				runs.push_back(packed(hashes));
			}
			for (const Packed &run : runs)
				read_runs.push_back({run.run.count, {run.bytes.data(), run.run.differences.width, 16}});
			uint64_t count;
			ASSERT_EQ(count_different(memory, read_runs.data(), number, &count), SB_OK);
			ASSERT_EQ(count, all.size()) << number << " runs, " << bits << " bits";
		}
	EXPECT_EQ(memory.blocks, 0u);
}
