/*
 * bf_lines.hpp: the inner loops over lines of 512 bits; bf.cpp has what they are for.
 */
#ifndef STREAMBLOOM_BF_LINES_HPP
#define STREAMBLOOM_BF_LINES_HPP

#include "base/bits.hpp"
#include "streambloom.h"

namespace streambloom {

/* Where in an array of so many lines the line of a hash begins. */
inline size_t line_of(uint64_t lines, uint64_t hash)
{
	return static_cast<size_t>(multiply_high(hash, lines)) * SB_BF_LINE;
}

/* dst |= src and dst &= src, where line i of dst goes with line i >> halvings of src. */
void or_lines(unsigned char *dst, const unsigned char *src, size_t lines, int halvings);
void and_lines(unsigned char *dst, const unsigned char *src, size_t lines, int halvings);

/* dst line i = the union of src lines i * parts ... i * parts + parts - 1. dst may be src. */
void fold_lines(unsigned char *dst, const unsigned char *src, size_t lines, size_t parts);

/* The bits set in `lines` lines, each of which is the union of `parts` neighbours. */
uint64_t count_folded(const unsigned char *src, size_t lines, size_t parts);

/* Adds 1 to of_bits[b] for each line that has b bits set, 0 .. 512. */
void count_by_bits(const unsigned char *src, size_t lines, uint64_t *of_bits);

} // namespace streambloom

#endif
