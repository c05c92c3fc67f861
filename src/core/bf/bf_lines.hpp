/*
 * bf_lines.hpp: the inner loops over lines of 512 bits. bf.cpp uses them for whole filters.
 */
#ifndef STREAMBLOOM_BF_LINES_HPP
#define STREAMBLOOM_BF_LINES_HPP

#include "base/bits.hpp"
#include "streambloom.h"

namespace streambloom {

/* The offset in bytes of the line of a hash in an array of so many lines. */
inline size_t line_of(uint64_t lines, uint64_t hash)
{
	return static_cast<size_t>(multiply_high(hash, lines)) * SB_BF_LINE;
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
