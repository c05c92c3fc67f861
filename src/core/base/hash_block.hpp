/*
 * hash_block.hpp: sorted hashes in blocks with a directory, as the exact forms of bf and tbf store them
 * (hash_list.hpp draws their bytes). A hash is cut into three numbers, from its highest bits on: the
 * number of its block, the number of its bucket in this block, and its lower digits. This file has that cut, reads and
 * writes the entries of the directory, and finds the items of a bucket in a block. For the core only.
 */
#ifndef STREAMBLOOM_HASH_BLOCK_HPP
#define STREAMBLOOM_HASH_BLOCK_HPP

#include "base/bit_stream.hpp"
#include "base/simd.hpp"
#include "streambloom.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace streambloom {

/*
 * How hashes are cut in a filter of about `items` items: how many digits each of the three numbers gets. Digits are the
 * SB_KEPT_HASH_BITS highest bits of a hash; the other bits are not kept. A block has 64 to 128 items on average (fewer
 * only if the filter has fewer). A block has two to four times as many buckets as items, at most 256.
 */
struct hash_digits
{
	static constexpr int dropped = 64 - SB_KEPT_HASH_BITS; /* lowest bits of a hash, which are not kept */

	explicit hash_digits(uint32_t items)
		: of_block(std::max(static_cast<int>(std::bit_width(items)) - 7, 0)),
		  of_bucket(std::min(static_cast<int>(std::bit_width(items)) + 1, 8)),
		  lower(SB_KEPT_HASH_BITS - of_block - of_bucket)
	{
	}
	uint32_t blocks() const { return UINT32_C(1) << of_block; }
	uint32_t block(uint64_t hash) const { return of_block == 0 ? 0 : static_cast<uint32_t>(hash >> (64 - of_block)); }
	uint32_t buckets() const { return UINT32_C(1) << of_bucket; }
	uint32_t bucket(uint64_t hash) const { return static_cast<uint32_t>(hash >> (lower + dropped)) & (buckets() - 1); }
	uint64_t lower_of(uint64_t hash) const { return lower_bits(hash >> dropped, lower); }

	uint64_t first_hash(uint32_t block) const { return of_block == 0 ? 0 : uint64_t{block} << (64 - of_block); }

	int of_block;
	int of_bucket;
	int lower; /* digits that are stored with the item */
};

/* The size in bytes of an entry of the directory. There is one for each block, and it says where this block ends. */
constexpr size_t directory_entry = 3;

/* Loads an entry of the directory. Its 24 bits are enough, because all blocks together have less than 2^24 bytes. */
inline uint32_t load_end(const unsigned char *entry)
{
	return entry[0] | static_cast<uint32_t>(load_le<uint16_t>(entry + 1)) << 8;
}

inline void store_end(unsigned char *entry, uint32_t end)
{
	entry[0] = static_cast<unsigned char>(end);
	store_le(entry + 1, static_cast<uint16_t>(end >> 8));
}

/* Reads the bits of a block, counted from its first byte. */
class block_bits
{
public:
	block_bits(const unsigned char *begin, size_t size) : begin_(begin), end_(begin + size) {}

	/*
	 * Returns the 64 bits from bit number `bit` on, with zeros after the last byte. REQUIRES: the bit is in the
	 * block.
	 */
	SB_KERNEL uint64_t word(size_t bit) const
	{
		const unsigned char *byte = begin_ + bit / 8;
		const int skip = static_cast<int>(bit % 8);
		if (end_ - byte > 8) [[likely]]
			return load_le<uint64_t>(byte) >> skip | static_cast<uint64_t>(byte[8]) << 1 << (63 - skip);
		return load_up_to(byte, end_) >> skip;
	}
	SB_KERNEL uint64_t digits(size_t bit, int count) const { return lower_bits(word(bit), count); }

private:
	const unsigned char *begin_;
	const unsigned char *end_;
};

#if SB_HAS_AVX2_CODE
SB_AVX2 inline uint64_t lowest_ones_at_once(uint64_t word, uint32_t number)
{
	return _pdep_u64(UINT64_C(1) << number, word);
}
#endif

/*
 * Returns the place of set bit number `number`, counted from 0: 3 for the word 1010 (binary) and number 1. REQUIRES:
 * the word has more than `number` set bits.
 */
template <sb_simd variant>
SB_KERNEL uint32_t place_of_one(uint64_t word, uint32_t number)
{
#if SB_HAS_AVX2_CODE
	if constexpr (variant == SB_SIMD_AVX2)
		return static_cast<uint32_t>(std::countr_zero(lowest_ones_at_once(word, number)));
#endif
	for (; number > 0; number--)
		word &= word - 1;
	return static_cast<uint32_t>(std::countr_zero(word));
}

/*
 * Finds the items of a bucket that is known to have some. If the items of the block are counted from 0, they are the
 * items *begin .. *end - 1. `before` is how many of the block's earlier buckets have items, and `items` is how many
 * items the block has. Bit last_at + i of the block says whether item i is the last one of its bucket. Returns false if
 * these bits end no more than `before` buckets: then the block is damaged.
 */
template <sb_simd variant>
SB_KERNEL bool items_of_bucket(const block_bits &bits, size_t last_at, uint32_t items, uint32_t before, uint32_t *begin,
							   uint32_t *end)
{
	uint32_t first = 0;
	uint64_t last = bits.word(last_at);
	for (uint32_t ones; before > (ones = ones_of<variant>(last)); before -= ones)
	{
		first += 64;
		if (first >= items)
			return false;
		last = bits.word(last_at + first);
	}

	/* the bucket begins after the last item of the bucket before it, and mostly ends in the same word */
	*begin = first + (before == 0 ? 0 : place_of_one<variant>(last, before - 1) + 1);
	for (first = *begin; first < items; first += 64)
		if (last = bits.word(last_at + first); last != 0)
		{
			*end = first + static_cast<uint32_t>(std::countr_zero(last)) + 1;
			return *end <= items;
		}
	return false;
}

/* Counts the set bits among the `count` bits from bit `from` on. */
template <sb_simd variant>
SB_KERNEL uint32_t count_ones(const block_bits &bits, size_t from, uint32_t count)
{
	uint32_t ones = 0;
	for (; count >= 64; count -= 64, from += 64)
		ones += ones_of<variant>(bits.word(from));
	return ones + ones_of<variant>(bits.digits(from, static_cast<int>(count)));
}

} // namespace streambloom

#endif
