/*
 * hash.cpp: the 64-bit hash of an item. It is XXH3 (xxHash, Yann Collet; the variant of 64 bits) with seed 0, over
 * bytes that are the same for equal items: the bytes of a text, the eight little-endian bytes of an integer or a
 * double.
 *
 * A filter does not store its items: all that it has of an item follows from this hash. So if the hash changed, no
 * stored filter and no index would find its items. It is the same on every architecture, and xxHash has not changed it
 * since version 0.8.0. Here it must not change as long as format version 1 exists (docs/format.md, test/unit/golden).
 *
 * The hash is fast, and its bits are well mixed, so any of them may choose a line, a block or a slot. It is not
 * secret: anybody can compute it, and find items whose hashes collide (docs/bf.md, "When somebody else chooses the
 * items"). Sets of hashes in memory are protected against such items (sb_set_secret()). Stored filters cannot be: with
 * a secret of each database, filters of two databases could not be united.
 *
 * src/pg/base/item.c says which bytes of which types are hashed, and how all other types are hashed.
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
