/*
 * hash_set.hpp: the search for a slot, for the kernels that add many hashes.
 */
#ifndef STREAMBLOOM_HASH_SET_HPP
#define STREAMBLOOM_HASH_SET_HPP

#include "simd.hpp"
#include "streambloom.h"

namespace streambloom {

/* How many hashes a set of this capacity holds. */
constexpr uint64_t largest_count(uint64_t capacity)
{
	return capacity / 8 * 5;
}

/*
 * The slot where the hash is, or the empty one where it would go (for the hash 0 the extra word).
 *
 * Nearly all hashes that are in the set at all are in one of the four slots from their own on. Those are compared at once: then
 * nothing has to be guessed by the branch predictor, as it has to where a loop ends after one slot or two.
 */
template <sb_simd variant>
SB_KERNEL uint64_t slot_for(const uint64_t *slots, uint64_t capacity, uint64_t hash)
{
	const uint64_t mask = capacity - 1;
	uint64_t slot = hash & mask;
	if (hash == 0)
		return capacity;
	if constexpr (variant == SB_SIMD_AVX2)
		if (slot + 4 <= capacity)
		{
			using four = int64_t __attribute__((vector_size(32), aligned(8), may_alias));
			four is = *reinterpret_cast<const four *>(slots + slot) == static_cast<int64_t>(hash);
			int64_t where = (is[0] & 4) | (is[1] & 5) | (is[2] & 6) | (is[3] & 7);
			if (where != 0)
				return slot + static_cast<uint64_t>(where & 3);
		}
	while (slots[slot] != 0 && slots[slot] != hash)
		slot = (slot + 1) & mask;
	return slot;
}

/* Calls take(hashes, count) with all hashes of a set, by slots and some hundred at a time. */
template <typename Take>
inline void in_batches(const sb_hash_set *set, Take take)
{
	constexpr size_t batch = 256;
	uint64_t hashes[batch];
	size_t count = 0;
	for (uint64_t slot = 0; slot < set->capacity; slot++)
	{
		/* no branch to guess: a third of the slots and more is empty */
		hashes[count] = set->slots[slot];
		count += set->slots[slot] != 0;
		if (count == batch)
		{
			take(hashes, count);
			count = 0;
		}
	}
	if (set->slots[set->capacity] != 0)
		hashes[count++] = 0;
	take(hashes, count);
}

} // namespace streambloom

#endif
