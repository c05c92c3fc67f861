/*
 * abf.hpp: where the bits of an item lie in an abf. For the core's own files and its tests.
 *
 * The slices (sb_abf.h) are cut into blocks. A block has a part of each slice: first of the slice at place 0, then of
 * the slice at place 1, and so on. The blocks follow each other. An item has all its bits in one block. So its bits lie
 * within a few kilobytes, which a look-up in a stored value can read at once. Slice s is at the place s mod (k + l):
 * when a slice dies, the new one takes its place.
 */
#ifndef STREAMBLOOM_ABF_HPP
#define STREAMBLOOM_ABF_HPP

#include "base/bits.hpp"
#include "streambloom.h"

namespace streambloom {

/* The bytes of one slice in a block, and the bytes of a whole block. */
inline size_t slice_part(const sb_abf &abf)
{
	return abf.block_bits / 8u;
}

inline size_t block_bytes(const sb_abf &abf)
{
	return static_cast<size_t>(sb_abf_slices(&abf)) * slice_part(abf);
}

/* The block of an item. */
inline uint64_t block_of(const sb_abf &abf, uint64_t hash)
{
	return multiply_high(hash, abf.blocks);
}

/* The place of a slice: slice mod (k + l), never negative. */
inline int place_of(const sb_abf &abf, int64_t slice)
{
	const int64_t n = sb_abf_slices(&abf);
	const int64_t rest = slice % n;
	return static_cast<int>(rest < 0 ? rest + n : rest);
}

/*
 * bit_of() returns which bit an item has in the slice at a place, counted within the part of the slice that the item's
 * block has. `word` is what word_of() returns for this place: 64 mixed bits of the hash, which four places share. Each
 * place uses 16 of these bits, the first place the lowest ones. So the item's bits in different slices are independent
 * of each other and of the block.
 */
inline uint64_t word_of(uint64_t hash, int place)
{
	return mix(hash + (static_cast<uint64_t>(place / 4) + 1) * random_step);
}

inline unsigned bit_of(const sb_abf &abf, uint64_t word, int place)
{
	return static_cast<unsigned>((word >> place % 4 * 16 & 0xffff) * abf.block_bits >> 16);
}

/*
 * True if the item is found among `count` slices: the slice at the place `newest` and the next older slices. `block`
 * is the item's block. REQUIRES: count <= k + l.
 */
bool find_run(const sb_abf &abf, const unsigned char *block, uint64_t hash, int newest, int count);

/*
 * Returns how many of the slices that are alive now are still alive once `generation` is the newest one. The oldest
 * slices die first.
 */
int alive_at(const sb_abf &abf, int64_t generation);

inline bool is_used(const sb_abf &abf, int place)
{
	return (abf.used[place / 64] >> place % 64 & 1) != 0;
}

inline void set_used(sb_abf &abf, int place)
{
	abf.used[place / 64] |= uint64_t{1} << place % 64;
}

} // namespace streambloom

#endif
