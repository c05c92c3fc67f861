/*
 * sb_hash_set.h: a set of 64-bit hashes. Part of streambloom.h.
 */
#ifndef STREAMBLOOM_SB_HASH_SET_H
#define STREAMBLOOM_SB_HASH_SET_H

#include "base/sb_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A hash table with open addressing and linear probing. Builders begin as such a set, because it knows the number of
 * distinct hashes exactly. The high bits of a hash choose the slot at which the search for it begins. So the slots
 * are nearly sorted by hash: only hashes that stand close together may be in the wrong order, and hashes that found the
 * last slots taken are in the first ones.
 *
 * Somebody who chooses the items can make all searches begin at the same slot (see sb_set_secret()), and then each
 * search passes all the hashes there. If a search passes more than 64 groups of four slots (hash_set_far) when a hash
 * is added, `crowded` is set. With hashes that nobody has chosen this happens in one of a thousand sets of 33 million
 * hashes. hash_set_remake() moves the hashes to a set in which the secret, too, decides where a search begins. The core
 * calls it soon after, for instance at the end of a batch. Until then searches take longer, and nothing else is wrong.
 *
 * The caller can keep `beside` words with each hash. They lie close to the hash, so that one line of the processor's
 * cache often holds both. `slots` has the hashes of slots 0 .. 3, the first words of these slots, their second words
 * and so on; then the same for slots 4 .. 7, and so on. A slot that holds 0 is empty. The hash 0 has an extra slot,
 * number `capacity`, which holds 1 if the set has this hash, else 0. The array has hash_set_bytes() bytes, which are
 * zero at first. hash_set_make() lets it begin at a multiple of 64 if it has 8 kB or more. The capacity is a multiple
 * of 4, at least 8. The caller may read `count`, `capacity`, and whether `slots` is NULL (then there is no set). All
 * else is for the core alone.
 */
typedef struct sb_hash_set
{
	uint64_t   *slots;
	uint64_t	capacity;
	uint64_t	count;
	uint32_t	beside;
	bool		crowded;		/* a search has passed more than hash_set_far groups of four slots */
	uint64_t	secret[2];		/* both 0 (then slots are nearly sorted by hash), or the process's secret */
	const uint64_t *sorted;		/* NULL, or the hashes in ascending order, for walking ranges of a set with a secret */
} sb_hash_set;

/*
 * Makes an empty set with room for `expected` hashes; sb_hash_set_add() makes more room if needed. SB_NO_MEMORY,
 * SB_INTERRUPTED: nothing is allocated.
 */
SB_NODISCARD sb_status sb_hash_set_begin(sb_hash_set *set, const sb_memory *memory, uint64_t expected) SB_NOEXCEPT;

/* Releases the memory of a set. */
void		sb_hash_set_release(sb_hash_set *set, const sb_memory *memory) SB_NOEXCEPT;

/* Adds a hash if the set does not have it. SB_NO_MEMORY, SB_INTERRUPTED: the set is as it was. */
SB_NODISCARD sb_status sb_hash_set_add(sb_hash_set *set, const sb_memory *memory, uint64_t hash) SB_NOEXCEPT;

/*
 * Makes room for `more` hashes besides those in the set. Call this function before you add hashes in ascending order:
 * without room for all of them the set grows step by step, each time the hashes so far crowd in its first slots, and
 * adding them is slow. SB_NO_MEMORY, SB_INTERRUPTED: the set is as it was.
 */
SB_NODISCARD sb_status sb_hash_set_reserve(sb_hash_set *set, const sb_memory *memory, uint64_t more) SB_NOEXCEPT;

/* Adds many hashes, and first makes room for all of them. SB_NO_MEMORY, SB_INTERRUPTED: some may have been added. */
SB_NODISCARD sb_status sb_hash_set_add_many(sb_hash_set *set, const sb_memory *memory, const uint64_t *hashes,
											size_t count) SB_NOEXCEPT;

/*
 * Moves the hashes of a set into `out`, in any order. The set is empty then, and keeps its memory. SB_INTERRUPTED: the
 * set is as it was. REQUIRES: `out` has room for set->count hashes.
 */
SB_NODISCARD sb_status sb_hash_set_take(sb_hash_set *set, uint64_t *out) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
