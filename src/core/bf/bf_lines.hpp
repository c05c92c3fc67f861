/*
 * bf_lines.hpp: where the bits of a hash lie in a Bloom filter of lines of 512 bits, and the inner loops over many
 * lines, which bf.cpp uses for whole filters.
 */
#ifndef STREAMBLOOM_BF_LINES_HPP
#define STREAMBLOOM_BF_LINES_HPP

#include "base/bits.hpp"
#include "streambloom.h"

namespace streambloom {

/*
 * In an array of `lines` lines, line_number() is the number of the line that has the bits of a hash, and line_of() is
 * the offset of this line in bytes.
 */
inline uint32_t line_number(uint64_t lines, uint64_t hash)
{
	return static_cast<uint32_t>(multiply_high(hash & SB_KEPT_HASH_MASK, lines));
}

inline size_t line_of(uint64_t lines, uint64_t hash)
{
	return size_t{line_number(lines, hash)} * SB_BF_LINE;
}

/*
 * Mixes a hash into the 32-bit number that chooses the bits of the hash in its line. The hashes of a line have the same
 * highest bits, and differ only in the lower ones of the 48 bits that count. So these lower bits must influence all 32
 * bits of the result. Therefore the result is the upper half of a 64-bit product.
 */
inline uint32_t probe_of(uint64_t hash)
{
	return static_cast<uint32_t>((hash & SB_KEPT_HASH_MASK) * UINT64_C(0xbf58476d1ce4e5b9) >> 32);
}

/* dst |= src and dst &= src; line i of dst is combined with line i >> halvings of src. */
void or_lines(unsigned char *dst, const unsigned char *src, size_t lines, int halvings);
void and_lines(unsigned char *dst, const unsigned char *src, size_t lines, int halvings);

/* Line i of dst becomes the union of the lines i * parts .. i * parts + parts - 1 of src. dst may be src. */
void fold_lines(unsigned char *dst, const unsigned char *src, size_t lines, size_t parts);

/* How many bits are set in the `lines` lines that fold_lines() would make. */
uint64_t count_folded(const unsigned char *src, size_t lines, size_t parts);

/* Adds 1 to of_bits[b] for each line that has b bits set, 0 .. 512. */
void count_by_bits(const unsigned char *src, size_t lines, uint64_t *of_bits);

} // namespace streambloom

#endif
