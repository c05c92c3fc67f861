/*
 * hash_test.cpp: items become hashes of 64 bits. These hashes are stored, so they can never change under format
 * version 1.
 */
#include "support.h"

#include "base/hash.hpp"

#include <xxhash.h>

#include <bit>
#include <cmath>
#include <limits>
#include <unordered_set>

using namespace test;

TEST(Hash, EqualsTheLibraryOverBytesOfEveryLength)
{
	Random random(1);
	for (size_t size = 0; size < 600; size++)
	{
		Bytes bytes(size);
		for (size_t i = 0; i < size; i++)
			bytes[i] = static_cast<unsigned char>(random());
		EXPECT_EQ(sb_hash_bytes(bytes.data(), size), XXH3_64bits(bytes.data(), size)) << size;
	}
}

/*
 * Known answers. The first is one of xxHash's own test vectors; the others come from a second implementation
 * (make_golden.py).
 */
TEST(Hash, OfNothingIsTheKnownAnswer)
{
	EXPECT_EQ(sb_hash_bytes("", 0), UINT64_C(0x2d06800538d394c2));
}

TEST(Hash, OfIntegersIsTheKnownAnswer)
{
	EXPECT_EQ(sb_hash_int64(0), UINT64_C(0xc77b3abb6f87acd9));
	EXPECT_EQ(sb_hash_int64(42), UINT64_C(0xd5a6f8c838df27c8));
	EXPECT_EQ(sb_hash_int64(-1), UINT64_C(0x5111c7e47d784413));
}

TEST(Hash, OfAnIntegerIsThatOfItsLittleEndianBytes)
{
	Random random(2);
	for (int round = 0; round < 10000; round++)
	{
		uint64_t value = random() >> (round % 64);
		unsigned char bytes[8];
		for (int i = 0; i < 8; i++)
			bytes[i] = static_cast<unsigned char>(value >> (8 * i));
		EXPECT_EQ(sb_hash_int64(static_cast<int64_t>(value)), sb_hash_bytes(bytes, 8));
		EXPECT_EQ(sb_hash_int64(static_cast<int64_t>(value)), XXH3_64bits(bytes, 8));
	}
}

TEST(Hash, OfManyIntegersIsThatOfEach)
{
	Random random(5);
	for (size_t count = 0; count < 300; count++)
	{
		std::vector<uint64_t> values(count + 1);
		for (auto &value : values)
			value = random() >> (random() % 64);
		auto hashes = values;
		streambloom::hash_int64s(hashes.data(), count, hashes.data());
		for (size_t i = 0; i < count; i++)
			ASSERT_EQ(hashes[i], sb_hash_int64(static_cast<int64_t>(values[i])));
		EXPECT_EQ(hashes[count], values[count]);
	}
}

TEST(Hash, OfADoubleIsThatOfItsLittleEndianPattern)
{
	Random random(3);
	for (int round = 0; round < 10000; round++)
	{
		auto value = std::bit_cast<double>(random());
		if (std::isnan(value) || value == 0)
			continue;
		EXPECT_EQ(sb_hash_double(value), sb_hash_int64(std::bit_cast<int64_t>(value)));
	}
}

TEST(Hash, OfBothZeroesIsOne)
{
	EXPECT_EQ(sb_hash_double(-0.0), sb_hash_double(0.0));
	EXPECT_EQ(sb_hash_double(0.0), sb_hash_int64(0));
}

TEST(Hash, OfEveryNanIsOne)
{
	uint64_t expected = sb_hash_double(std::numeric_limits<double>::quiet_NaN());
	Random random(4);
	for (int round = 0; round < 10000; round++)
	{
		/* any sign, and any payload except 0, which would be infinity */
		uint64_t payload = random() >> 12;
		uint64_t pattern = UINT64_C(0x7ff0000000000000) | (payload ? payload : 1) | (random() << 63);
		EXPECT_EQ(sb_hash_double(std::bit_cast<double>(pattern)), expected);
	}
	EXPECT_EQ(expected, sb_hash_int64(INT64_C(0x7ff8000000000000)));
}

TEST(Hash, KeepsInfinitiesAndDenormalsApart)
{
	const double values[] = {0.0,
							 1.0,
							 -1.0,
							 std::numeric_limits<double>::infinity(),
							 -std::numeric_limits<double>::infinity(),
							 std::numeric_limits<double>::quiet_NaN(),
							 std::numeric_limits<double>::denorm_min(),
							 -std::numeric_limits<double>::denorm_min(),
							 std::numeric_limits<double>::max()};
	std::unordered_set<uint64_t> hashes;
	for (double value : values)
		hashes.insert(sb_hash_double(value));
	EXPECT_EQ(hashes.size(), std::size(values));
}

/* A float4 widened to float8 is the same number, so it has the same hash. The SQL side relies on it. */
TEST(Hash, OfAWidenedFloatIsThatOfTheDouble)
{
	EXPECT_EQ(sb_hash_double(static_cast<double>(0.5f)), sb_hash_double(0.5));
	EXPECT_NE(sb_hash_double(static_cast<double>(0.1f)), sb_hash_double(0.1));
}

TEST(Hash, DoesNotCollideOnAMillionSmallIntegers)
{
	std::unordered_set<uint64_t> hashes;
	for (int64_t i = -500000; i < 500000; i++)
		hashes.insert(sb_hash_int64(i));
	EXPECT_EQ(hashes.size(), 1000000u);
}
