/*
 * tbf_sums.hpp: what the files on sums of hits share: filling and combining (tbf_sums.cpp), storing (tbf_sums_store.cpp),
 * minimum increase and recurring minimum (tbf_sums_minimum.cpp).
 */
#ifndef STREAMBLOOM_TBF_SUMS_HPP
#define STREAMBLOOM_TBF_SUMS_HPP

#include "base/bits.hpp"
#include "base/simd.hpp"
#include "streambloom.h"
#include "tbf/tbf_place.hpp"

namespace streambloom {

inline int64_t plane_of(int64_t half_lives)
{
	return floor_divide(half_lives, SB_TBF_PLANE);
}

inline int place_in_plane(int64_t half_lives)
{
	return static_cast<int>(half_lives - plane_of(half_lives) * SB_TBF_PLANE);
}

/*
 * Totals of weighted filters could leave 128 bits. They stop at a number that no stored filter can have instead: an
 * overflow, whatever the order. (Hits alone would need 2^65 rows.)
 */
constexpr u128 too_much = u128{1} << 126;

/* word += value, unless it would reach SB_TBF_MAX_CELL. */
inline sb_status add_to_word(uint64_t *word, uint64_t value)
{
	if (value >= SB_TBF_MAX_CELL - *word)
		return SB_OVERFLOW;
	*word += value;
	return SB_OK;
}

inline sb_status shifted(uint64_t value, int shift, uint64_t *out)
{
	if (value >= SB_TBF_MAX_CELL >> shift)
		return SB_OVERFLOW;
	*out = value << shift;
	return SB_OK;
}

/* Adds to all cells of an item, which are in this block. */
SB_KERNEL sb_status add_to_cells(uint64_t *block, uint32_t cells, int hashes, uint64_t hash, uint64_t amount)
{
	uint16_t positions[SB_TBF_MAX_HASHES];
	positions_of(cells, hashes, hash, positions);
	for (int i = 0; i < hashes; i++)
		if (sb_status status = add_to_word(&block[positions[i]], amount); status != SB_OK)
			return status;
	return SB_OK;
}

/* The words of a cell or an item in all planes as one number, in 2^-12 hits at the first half-life of the oldest plane kept. */
template <typename Word>
inline u128 aligned(Word word)
{
	u128 sum = 0;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		sum += static_cast<u128>(word(i)) << (SB_TBF_PLANE * (SB_TBF_PLANES - 1 - i));
	return sum;
}

inline u128 aligned(const uint64_t *const *plane, uint64_t word)
{
	return aligned([=](int i) { return plane[i] != nullptr ? plane[i][word] : 0; });
}

inline uint64_t half_lives_above_oldest(const sb_sums *sums, int64_t base)
{
	return static_cast<uint64_t>(base - (sums->newest_plane - (SB_TBF_PLANES - 1)) * SB_TBF_PLANE);
}

using four_words = int64_t __attribute__((vector_size(32))); /* nothing here reaches 2^63 unless it is an overflow */

} // namespace streambloom

#endif
