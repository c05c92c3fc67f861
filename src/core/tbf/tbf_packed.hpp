/*
 * tbf_packed.hpp: one block of the extensible layout (drawn in tbf_cells.cpp): packing the counters of a block, taking
 * a packed block apart again, and reading one counter of it. For the core's own files.
 *
 * Between the two a block is a list of the codes of those counters that are not zero. To halve such counters is to
 * shift their codes: so decay needs nothing else, and never sees the zeros, which are most.
 */
#ifndef STREAMBLOOM_TBF_PACKED_HPP
#define STREAMBLOOM_TBF_PACKED_HPP

#include "base/bits.hpp"
#include "streambloom.h"

#include <algorithm>

namespace streambloom {

constexpr uint32_t sample_every = 512;
constexpr int widest_code = 32;
constexpr int most_levels = 62; /* as many as a counter has bits */

/* How a block is cut into levels. */
struct levels
{
	int count = 0;
	int width[most_levels];
	uint32_t codes[most_levels];
	uint32_t nonzero = 0;
};

/* The counters of a block that are not zero. */
struct gathered
{
	uint32_t count = 0;
	uint64_t codes[SB_TBF_BLOCK];		/* each one less by 1 */
	uint64_t bitmap[SB_TBF_BLOCK / 64]; /* which they are */
	uint16_t before[SB_TBF_BLOCK / 64]; /* how many there are before each word of the bitmap */
};

inline uint64_t bytes_for(uint64_t bits)
{
	return (bits + 7) / 8;
}

/* Bytes of a block before its bitmap: its levels, and samples of how many counters come before. */
inline uint64_t head_size(uint32_t cells, int levels)
{
	uint64_t samples = cells / sample_every > 1 ? cells / sample_every - 1 : 0;
	return 3 + static_cast<uint64_t>(levels) + 2 * static_cast<uint64_t>(std::max(levels - 1, 0)) + 2 * samples;
}

/* Bytes of a block so packed: none if all its counters are zero. */
uint64_t packed_size(uint32_t cells, const levels &l);

/*
 * How much larger a block can become by decay. The widths of its levels are chosen by a cost that decay cannot raise
 * (no code gets longer), and which for each level after the first is off by -6 .. 8 bits of what that takes, for the
 * first by 7.
 */
constexpr size_t decayed_excess = (7 + (6 + 8) * (most_levels - 1) + 7) / 8;

/*
 * Result: a number of as many digits as the largest counter. Where that is SB_TBF_MAX_CELL or more nothing may be done
 * with what was gathered: all other functions REQUIRE smaller counters.
 */
uint64_t gather(const uint64_t *counters, uint32_t cells, gathered *out);
void scatter(const gathered *block, uint32_t cells, uint64_t *counters);

/* Adds to of_width[b], of 64, how many counters have b binary digits, 0 to 63. Given are counters, or their codes. */
void add_widths(const uint64_t *numbers, uint32_t count, bool codes, uint64_t *of_width);

/* Levels of the fewest bytes. */
levels levels_of(const gathered *block);
levels levels_of(const uint64_t *counters, uint32_t cells);

/* REQUIRES: room for packed_size(cells, l) bytes, l = levels_of(block). Uses up the codes. */
void pack(gathered *block, uint32_t cells, const levels *l, unsigned char *out);

/*
 * Decay by 1 .. 63 half-lives. Result: whether counters went to zero by it. *largest: a number of as many digits
 * as the largest counter that is left.
 */
bool fade(gathered *block, uint32_t cells, uint64_t half_lives, uint64_t *largest);

/* A packed block, its head read and found to agree with its size. */
struct packed_block
{
	uint32_t cells;
	levels l;
	const unsigned char *samples;
	const unsigned char *bitmap;
	const unsigned char *level; /* where level 1 begins */
	const unsigned char *end;
};

/* What the head says is checked against the size, so that nobody reads beyond the block; the bits are not looked at. */
bool open_block(const void *data, size_t size, uint32_t cells, packed_block *out);

/* All counters; false if it cannot be opened, or its bits do not agree with its head. */
bool take_apart(const void *data, size_t size, uint32_t cells, gathered *out);

inline bool packed_bit(const unsigned char *bits, uint64_t index)
{
	return bits[index / 8] >> (index % 8) & 1;
}

/* A counter that the bitmap says is not zero. */
bool packed_counter(const packed_block &block, uint32_t index, uint64_t *out);

} // namespace streambloom

#endif
