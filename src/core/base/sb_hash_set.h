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
 * Open addressing with linear probing. It serves as the small state of aggregates: it knows the number of distinct hashes
 * exactly. The search for a hash begins at a slot that its high bits say: slots are in the order of hashes but for neighbours.
 *
 * Who chooses the items can have all searches begin at the same slot (see sb_set_secret()), and each would pass all that are
 * there. Among hashes that nobody has chosen no search passes as many as 4 * SB_HASH_SET_FAR slots in a set of 33 million (once in
 * a thousand such sets). One that does sets `crowded`. Then hash_set_remake() moves the hashes to a set with the secret, from
 * which, and from the hash, it then follows where a search begins. The core does so soon, for instance after each
 * batch: until then nothing is wrong but the time that searches take.
 *
 * Each hash can have `beside` words of the caller's with it, so that one line of the cache brings both: `slots` holds the hashes
 * of slots 0 .. 3, the first words of these, the second words of these and so on, then slots 4 .. 7; in the end slot `capacity`,
 * which says (0 or 1) whether the hash 0 is in the set. hash_set_bytes() in all, zeroed at first; lines are met best if
 * it begins at a multiple of 64. The capacity is a multiple of 4, at least 8. The fields are the core's own, but for count.
 */
typedef struct sb_hash_set
{
	uint64_t   *slots;
	uint64_t	capacity;
	uint64_t	count;
	uint32_t	beside;
	bool		crowded;		/* a search went too far */
	uint64_t	secret[2];		/* random numbers, the first of them not 0; or both 0: slots are in the order of hashes */
	const uint64_t *sorted;		/* of a set with a secret: its hashes in their order, for who goes through them by ranges; else NULL */
} sb_hash_set;

/* An empty set for about so many hashes. It grows by itself. SB_NO_MEMORY, SB_INTERRUPTED: *set has no slots then. */
SB_NODISCARD sb_status sb_hash_set_begin(sb_hash_set *set, const sb_memory *memory, uint64_t expected) SB_NOEXCEPT;

/* Releases its slots. */
void		sb_hash_set_release(sb_hash_set *set, const sb_memory *memory) SB_NOEXCEPT;

/* Adds a hash if it is not there. SB_NO_MEMORY, SB_INTERRUPTED: the set is as it was. */
SB_NODISCARD sb_status sb_hash_set_add(sb_hash_set *set, const sb_memory *memory, uint64_t hash) SB_NOEXCEPT;

/* Moves its hashes into an array of set->count of them; the set is empty then, and keeps its slots. SB_INTERRUPTED: it is as it was. */
SB_NODISCARD sb_status sb_hash_set_take(sb_hash_set *set, uint64_t *out) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
