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
 * a thousand such sets). One that does sets `crowded`. Then sb_hash_set_remake() moves the hashes to a set with the secret, from
 * which, and from the hash, it then follows where a search begins. It is up to the caller to do so soon, for instance after each
 * batch: until then nothing is wrong but the time that searches take.
 *
 * Each hash can have `beside` words of the caller's with it, so that one line of the cache brings both: `slots` holds the hashes
 * of slots 0 .. 3, the first words of these, the second words of these and so on, then slots 4 .. 7; in the end slot `capacity`,
 * which says (0 or 1) whether the hash 0 is in the set. sb_hash_set_bytes() in all, zeroed at first; lines are met best if
 * it begins at a multiple of 64. REQUIRES: capacity is a multiple of 4, at least 8.
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

#define SB_HASH_SET_FAR 64

/* Should the hashes be moved to a set with a secret? */
static inline bool
sb_hash_set_wants_secret(const sb_hash_set *set)
{
	return set->crowded && set->secret[0] == 0;
}

/* Where in `slots` the hash of a slot is; its words are 4, 8, ... after it. */
static inline size_t
sb_hash_set_place(uint64_t slot, uint32_t beside)
{
	return (size_t) (slot / 4 * 4 * (1 + (uint64_t) beside) + slot % 4);
}

/* The bytes of the array. */
size_t		sb_hash_set_bytes(uint64_t capacity, uint32_t beside) SB_NOEXCEPT;

/* Is there room for one more without passing a load of 5/8? */
bool		sb_hash_set_has_room(const sb_hash_set *set) SB_NOEXCEPT;

/*
 * The capacities by which a set grows: 12, 28, 60, ... With no words beside, with one or with three the array then takes just less
 * than a power of two, which is what an allocator such as PostgreSQL's gives to it. The smallest that holds `count` hashes, and
 * the next one.
 */
uint64_t	sb_hash_set_capacity_for(uint64_t count) SB_NOEXCEPT;
uint64_t	sb_hash_set_next_capacity(uint64_t capacity) SB_NOEXCEPT;

/* An empty set of this capacity. SB_NO_MEMORY, SB_INTERRUPTED: *set has no slots then. */
SB_NODISCARD sb_status sb_hash_set_make(sb_hash_set *set, const sb_memory *memory, uint64_t capacity, uint32_t beside) SB_NOEXCEPT;

/*
 * The same hashes and words in a set of another capacity, or with another number of words beside; with the secret if the set
 * wants it, or has it already. SB_NO_MEMORY, SB_INTERRUPTED: *set is as it was.
 */
SB_NODISCARD sb_status sb_hash_set_remake(sb_hash_set *set, const sb_memory *memory, uint64_t capacity, uint32_t beside) SB_NOEXCEPT;

/* Releases the slots of a set that sb_hash_set_make() made. */
void		sb_hash_set_release(sb_hash_set *set, const sb_memory *memory) SB_NOEXCEPT;

/* Adds a hash if it is not there; returns its slot, 0 .. capacity. REQUIRES: sb_hash_set_has_room(). */
uint64_t	sb_hash_set_insert(sb_hash_set *set, uint64_t hash) SB_NOEXCEPT;

/*
 * Adds hashes in their order, until all are in or there is no room; returns how many were. Prefetches: in batches of a
 * hundred or more it costs little more in a large set than in a small one. A set without room is left as it is.
 */
size_t		sb_hash_set_insert_many(sb_hash_set *set, const uint64_t *hashes, size_t count) SB_NOEXCEPT;

/* How many of these hashes, no two of them the same, are not in the set. */
uint64_t	sb_hash_set_missing(const sb_hash_set *set, const uint64_t *hashes, size_t count) SB_NOEXCEPT;

/* The slot of a hash, or UINT64_MAX if it is not in the set. */
uint64_t	sb_hash_set_find(const sb_hash_set *set, uint64_t hash) SB_NOEXCEPT;

/* Its hashes in their order: `count` of them. SB_INTERRUPTED. */
SB_NODISCARD sb_status sb_hash_set_sort(const sb_hash_set *set, uint64_t *out) SB_NOEXCEPT;

/* Walks the set: the next used slot at or after `slot`, or UINT64_MAX; its hash into *hash. */
uint64_t	sb_hash_set_next(const sb_hash_set *set, uint64_t slot, uint64_t *hash) SB_NOEXCEPT;

/* Its hashes as little-endian words, in the order of slots: `count` times 8 bytes. */
SB_NODISCARD sb_status sb_hash_set_write(const sb_hash_set *set, void *out) SB_NOEXCEPT;

/* Hashes, and what is kept beside them, to little-endian words and back; these need not be aligned. */
void		sb_hash_set_write_words(const uint64_t *words, size_t count, void *out) SB_NOEXCEPT;
void		sb_hash_set_read_words(const void *from, uint64_t *words, size_t count) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
