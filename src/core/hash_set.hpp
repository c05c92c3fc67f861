/*
 * hash_set.hpp: the search for a slot, for the kernels that add many hashes; the walk over a range of hashes.
 */
#ifndef STREAMBLOOM_HASH_SET_HPP
#define STREAMBLOOM_HASH_SET_HPP

#include "bits.hpp"
#include "simd.hpp"
#include "streambloom.h"

namespace streambloom {

constexpr size_t hashes_at_once = 256; /* at most, in a walk */

/* How many hashes a set of this capacity holds. */
constexpr uint64_t largest_count(uint64_t capacity)
{
	return capacity / 4 * 5 / 2;
}

/* Where the search for a hash begins: at one of the fours. */
constexpr uint64_t own_slot(uint64_t capacity, uint64_t hash)
{
	return multiply_high(hash, capacity / 4) * 4;
}

/* The slot so many places on (1 or 4), as the search goes: after the last one comes the first. */
constexpr uint64_t following(uint64_t capacity, uint64_t slot, uint64_t places)
{
	slot += places;
	return slot < capacity ? slot : 0;
}

/* Where in `slots` the hash of a slot is; `beside` is best known to the compiler. */
inline size_t place_of_slot(uint64_t slot, uint64_t beside)
{
	return sb_hash_set_place(slot, static_cast<uint32_t>(beside));
}

#if SB_HAS_AVX2_CODE
/* 0, or a number whose trailing zeros, but for the third binary digit, say which of four words is the hash, or else zero. */
SB_AVX2 inline uint32_t find_in_four(const uint64_t *words, uint64_t hash)
{
	const __m256i four = load(words);
	const __m256i same = _mm256_cmpeq_epi64(four, _mm256_set1_epi64x(static_cast<int64_t>(hash)));
	const __m256i zero = _mm256_cmpeq_epi64(four, _mm256_setzero_si256());
	return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(same))) |
		   static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(zero))) << 4;
}
#endif

/*
 * The slot where the hash is, or the empty one where it would go (for the hash 0 the extra one).
 *
 * Nearly all hashes are in the four slots where the search begins, or one of those is empty. They are compared at once: then
 * nothing has to be guessed by the branch predictor, as it has to where a loop ends after one slot or two.
 */
template <sb_simd variant>
SB_KERNEL uint64_t slot_for(const uint64_t *slots, uint64_t capacity, uint64_t beside, uint64_t hash)
{
	uint64_t slot = own_slot(capacity, hash);
	if (hash == 0)
		return capacity;
#if SB_HAS_AVX2_CODE
	if constexpr (variant == SB_SIMD_AVX2)
		for (;; slot = following(capacity, slot, 4))
			if (uint32_t found = find_in_four(slots + place_of_slot(slot, beside), hash); found != 0)
				return slot + (static_cast<uint32_t>(std::countr_zero(found)) & 3);
#endif
	while (slots[place_of_slot(slot, beside)] != 0 && slots[place_of_slot(slot, beside)] != hash)
		slot = following(capacity, slot, 1);
	return slot;
}

/*
 * Calls take(hashes, slots, count), hashes_at_once of them at most, with those hashes of a set that lie in part `part` of `parts`
 * equal ranges of hashes (as multiply_high() tells them), by slots. Each lies in one of the slots of its range, or in those
 * that follow them up to the first empty one.
 */
template <typename Take>
inline void in_part(const sb_hash_set *set, uint64_t parts, uint64_t part, Take take)
{
	constexpr u128 all = u128{1} << 64;
	const uint64_t capacity = set->capacity;
	const auto least = static_cast<uint64_t>((all * part + parts - 1) / parts);
	const auto most = static_cast<uint64_t>((all * (part + 1) + parts - 1) / parts - 1);
	const uint64_t first = own_slot(capacity, least);
	const uint64_t end = own_slot(capacity, most) + 4;
	uint64_t hashes[hashes_at_once];
	uint64_t places[hashes_at_once];
	size_t count = 0;
	auto hash_at = [&](uint64_t slot) { return set->slots[place_of_slot(slot, set->beside)]; };
	auto add = [&](uint64_t slot) {
		/* no branch to guess: a third of the slots and more is empty */
		const uint64_t hash = hash_at(slot);
		hashes[count] = hash;
		places[count] = slot;
		count += static_cast<size_t>(hash != 0) & static_cast<size_t>(hash - least <= most - least);
		if (count == hashes_at_once)
		{
			take(hashes, places, count);
			count = 0;
		}
	};
	for (uint64_t slot = first; slot < end; slot++)
		add(slot);
	uint64_t slot = end % capacity;
	for (uint64_t left = capacity - (end - first); left > 0 && hash_at(slot) != 0; left--)
	{
		add(slot);
		slot = following(capacity, slot, 1);
	}
	if (part == 0 && hash_at(capacity) != 0)
	{
		hashes[count] = 0;
		places[count++] = capacity;
	}
	take(hashes, places, count);
}

/* The same with all hashes of a set. */
template <typename Take>
inline void in_batches(const sb_hash_set *set, Take take)
{
	in_part(set, 1, 0, take);
}

} // namespace streambloom

#endif
