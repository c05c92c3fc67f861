/*
 * tbf_packed.hpp: one block of the extensible layout (drawn in tbf_cells.cpp): packs the counters of a block, takes a
 * packed block apart again, and reads one of its counters. For the core's own files.
 *
 * Counters are *gathered* before they are packed: a gathered block is a bitmap of the counters that are not zero, and a
 * list of codes: for each of these counters, the counter minus 1. To halve a counter and round up is to shift its code
 * by one bit. (A counter of which at most half a unit would be left becomes 0 instead.) So decay works on the codes,
 * and does not look at counters that are zero, which most are.
 *
 * A packed block has the codes cut into *levels*: level 1 has the lowest bits of each code, level 2 the next bits of
 * the codes that have any left, and so on. Each level but the last also has a go-on bit for each of its codes: does the
 * code go on in the next level?
 */
#ifndef STREAMBLOOM_TBF_PACKED_HPP
#define STREAMBLOOM_TBF_PACKED_HPP

#include "base/bits.hpp"
#include "streambloom.h"

#include <algorithm>

namespace streambloom {

constexpr uint32_t sample_every = 512;
constexpr int widest_code = 32;
constexpr int most_levels = 62; /* one for each bit of a counter */

/*
 * How the counters of a block are cut into levels: how many levels there are, how wide each is, and how many codes it
 * has. The first level has `nonzero` codes, one for each counter that is not zero.
 */
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
	uint64_t codes[SB_TBF_BLOCK];		/* each counter minus 1 */
	uint64_t bitmap[SB_TBF_BLOCK / 64]; /* bit i: counter i is not zero */
	uint16_t before[SB_TBF_BLOCK / 64]; /* for each word of the bitmap, how many codes come before it */
};

inline uint64_t bytes_for(uint64_t bits)
{
	return (bits + 7) / 8;
}

/*
 * Returns the number of bytes of the head of a packed block, which is all that comes before its bitmap: the description
 * of its levels and its rank samples.
 */
inline uint64_t head_size(uint32_t cells, int levels)
{
	uint64_t samples = cells / sample_every > 1 ? cells / sample_every - 1 : 0;
	return 3 + static_cast<uint64_t>(levels) + 2 * static_cast<uint64_t>(std::max(levels - 1, 0)) + 2 * samples;
}

/* Returns the number of bytes of a packed block with these levels: 0 if all its counters are zero. */
uint64_t packed_size(uint32_t cells, const levels &l);

/*
 * gather() collects the counters that are not zero in *out; scatter() does the opposite. gather() returns a number with
 * as many binary digits as the largest counter. If this number is SB_TBF_MAX_CELL or more, *out must not be used: all
 * other functions REQUIRE smaller counters.
 */
uint64_t gather(const uint64_t *counters, uint32_t cells, gathered *out);
void scatter(const gathered *block, uint32_t cells, uint64_t *counters);

/*
 * Adds to of_width[b], for b from 0 to 63, how many of the counters have b binary digits. `numbers` are the counters,
 * or if `codes` is true, each counter minus 1.
 */
void add_widths(const uint64_t *numbers, uint32_t count, bool codes, uint64_t *of_width);

/* Returns the levels with which the block is stored: those of the least cost (choose_levels()). */
levels levels_of(const gathered *block);

/*
 * Packs a block; overwrites its codes. REQUIRES: l is levels_of(block); out has room for packed_size(cells, l) bytes.
 */
void pack(gathered *block, uint32_t cells, const levels *l, unsigned char *out);

/*
 * Decays a block by 1 .. 63 half-lives. Returns whether any counter became zero. *largest becomes a number with as
 * many binary digits as the largest counter that is left.
 */
bool fade(gathered *block, uint32_t cells, uint64_t half_lives, uint64_t *largest);

/* A packed block whose head was read and agrees with its size. */
struct packed_block
{
	uint32_t cells;
	levels l;
	const unsigned char *samples;
	const unsigned char *bitmap;
	const unsigned char *level; /* where level 1 begins */
	const unsigned char *end;
};

/*
 * Reads the head of a packed block. Returns false if the head does not agree with `size`; so whoever reads the block as
 * *out says does not read beyond its end. The bit strings are not looked at.
 */
bool open_block(const void *data, size_t size, uint32_t cells, packed_block *out);

/* Reads all counters. Returns false if the block cannot be opened, or its bit strings do not agree with its head. */
bool take_apart(const void *data, size_t size, uint32_t cells, gathered *out);

inline bool packed_bit(const unsigned char *bits, uint64_t index)
{
	return bits[index / 8] >> (index % 8) & 1;
}

/* Reads a counter whose bit in the bitmap is set. Returns false if the block is damaged. */
bool packed_counter(const packed_block &block, uint32_t index, uint64_t *out);

} // namespace streambloom

#endif
