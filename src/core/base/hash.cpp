/*
 * hash.cpp: the 64-bit hash of an item, XXH3 with seed 0 of canonical little-endian bytes. It is the same on every
 * architecture, and xxHash has not changed it since version 0.8.0. Stored filters depend on it, so it must not change
 * as long as format version 1 exists.
 */
#include "base/bits.hpp"
#include "base/hash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cmath>

using namespace streambloom;

uint64_t sb_hash_bytes(const void *data, size_t size) noexcept
{
	return XXH3_64bits(data, size);
}

uint64_t sb_hash_int64(int64_t value) noexcept
{
	unsigned char bytes[8];
	store_le(bytes, static_cast<uint64_t>(value));
	return XXH3_64bits(bytes, sizeof bytes);
}

void streambloom::hash_int64s(const uint64_t *values, size_t count, uint64_t *hashes)
{
	for (size_t i = 0; i < count; i++)
		hashes[i] = sb_hash_int64(static_cast<int64_t>(values[i]));
}

uint64_t sb_hash_double(double value) noexcept
{
	uint64_t pattern;
	if (std::isnan(value))
		pattern = UINT64_C(0x7ff8000000000000); /* PostgreSQL takes all NaNs as equal */
	else if (value == 0)
		pattern = 0; /* PostgreSQL takes -0 and 0 as equal */
	else
		pattern = std::bit_cast<uint64_t>(value);
	return sb_hash_int64(static_cast<int64_t>(pattern));
}
