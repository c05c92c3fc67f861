/*
 * hash_set.hpp: the functions of the core on sets of hashes. It also has the search for a slot, for kernels that add
 * many hashes, and the walk through a range of hashes. sb_hash_set.h explains slots, the words beside a hash, and the
 * secret, which protects against items that somebody has chosen so that their hashes collide.
 */
#ifndef STREAMBLOOM_HASH_SET_HPP
#define STREAMBLOOM_HASH_SET_HPP

#include "base/bits.hpp"
#include "base/simd.hpp"
#include "base/stop.hpp"
#include "streambloom.h"

#include <algorithm>

namespace streambloom {

/* ------------------------------------------------------------------ functions */

/* If a search passes more groups of four slots than this when a hash is added, it sets sb_hash_set.crowded. */
constexpr uint64_t hash_set_far = 64;

/* True if searches have become long and the set does not use the secret yet: hash_set_remake() should be called. */
inline bool hash_set_wants_secret(const sb_hash_set *set)
{
	return set->crowded && set->secret[0] == 0;
}

/* The index of a slot's hash in the array `slots`. The words beside the hash have this index + 4, + 8, ... */
inline size_t hash_set_place(uint64_t slot, uint32_t beside)
{
	return (size_t) (slot / 4 * 4 * (1 + (uint64_t) beside) + slot % 4);
}

/* The number of bytes of the array `slots`. */
size_t hash_set_bytes(uint64_t capacity, uint32_t beside);

/* True if one more hash leaves at most 5/8 of the slots in use. */
bool hash_set_has_room(const sb_hash_set *set);

/*
 * A capacity is a number of slots: 12, 28, 60, ... hash_set_capacity_for() returns the smallest one that holds `count`
 * hashes; hash_set_next_capacity() returns the next larger one. With 0, 1 or 3 words beside each hash, the array takes
 * a little less than a power of two bytes. Blocks of these sizes are what an allocator such as PostgreSQL's provides.
 */
uint64_t hash_set_capacity_for(uint64_t count);
uint64_t hash_set_next_capacity(uint64_t capacity);

/* Makes an empty set of this capacity. SB_NO_MEMORY, SB_INTERRUPTED: *set has no slots then. */
[[nodiscard]] sb_status hash_set_make(sb_hash_set *set, const sb_memory *memory, uint64_t capacity, uint32_t beside);

/*
 * Moves the hashes and words to new slots, for another capacity or another number of words beside. The secret is used
 * from then on if the set wants it or used it before. SB_NO_MEMORY, SB_INTERRUPTED: *set is as it was.
 */
[[nodiscard]] sb_status hash_set_remake(sb_hash_set *set, const sb_memory *memory, uint64_t capacity, uint32_t beside);

/*
 * Makes room for one more hash, and brings in the secret if the set wants it. Returns the statuses of
 * hash_set_remake().
 */
[[nodiscard]] sb_status hash_set_make_room(sb_hash_set *set, const sb_memory *memory);

/* Adds a hash if it is not there; returns its slot, 0 .. capacity. REQUIRES: hash_set_has_room(). */
uint64_t hash_set_insert(sb_hash_set *set, uint64_t hash);

/*
 * Adds hashes in their order, each ANDed with `mask`, until all are added or the set has no room. Returns how many
 * hashes it has taken: 0 if there was no room at all. It prefetches, so that in batches of a hundred or more a hash
 * costs little more in a large set than in a small one.
 */
size_t hash_set_insert_many(sb_hash_set *set, const uint64_t *hashes, size_t count, uint64_t mask = UINT64_MAX);

/* Returns how many of these hashes are not in the set. REQUIRES: no two of the hashes are equal. */
uint64_t hash_set_missing(const sb_hash_set *set, const uint64_t *hashes, size_t count);

/*
 * Sets slots[i] to the slot of hashes[i]. If the hashes ascend and the set has no secret, its memory is read in
 * ascending order, too. REQUIRES: the set has all these hashes.
 */
void hash_set_find_many(const sb_hash_set *set, const uint64_t *hashes, size_t count, uint64_t *slots);

/* Returns the slot of a hash, or UINT64_MAX if the hash is not in the set. */
uint64_t hash_set_find(const sb_hash_set *set, uint64_t hash);

/*
 * Writes the hashes of the set in ascending order. For a set without a secret this takes little more time than reading
 * the set. May return SB_INTERRUPTED. REQUIRES: `out` has room for set->count hashes.
 */
[[nodiscard]] sb_status hash_set_sort(const sb_hash_set *set, uint64_t *out);

/* Returns the next used slot at or after `slot` and stores its hash in *hash. Returns UINT64_MAX if there is none. */
inline uint64_t hash_set_next(const sb_hash_set *set, uint64_t slot, uint64_t *hash)
{
	for (; slot <= set->capacity; slot++)
		if (uint64_t word = set->slots[hash_set_place(slot, set->beside)]; word != 0)
		{
			*hash = slot < set->capacity ? word : 0;
			return slot;
		}
	return UINT64_MAX;
}

/*
 * Writes the hashes of the set as little-endian words, in the order of slots: set->count times 8 bytes. May return
 * SB_INTERRUPTED.
 */
[[nodiscard]] sb_status hash_set_write(const sb_hash_set *set, void *out);

/* Write and read words (hashes, and what is kept beside them) as little-endian bytes. The bytes need no alignment. */
void hash_set_write_words(const uint64_t *words, size_t count, void *out);
void hash_set_read_words(const void *from, uint64_t *words, size_t count);

/* ----------------------------------------------------------------- for kernels */

/* The numbers that sb_set_secret() was given. */
extern uint64_t process_secret[2];

/* Returns the exclusive or of both halves of the product (as in wyhash, Wang Yi 2019). */
inline uint64_t folded_product(uint64_t a, uint64_t b)
{
	return multiply_high(a, b) ^ a * b;
}

/* Returns a number that follows from the hash, but that nobody can predict without the secret. */
inline uint64_t secret_key(uint64_t hash, const uint64_t (&secret)[2])
{
	return folded_product(folded_product(hash ^ secret[0], secret[1] | 1), random_step);
}

constexpr size_t hashes_at_once = 256; /* the most hashes that a walk hands over in one call */

/* How many hashes a set of this capacity holds. */
constexpr uint64_t largest_count(uint64_t capacity)
{
	return capacity / 4 * 5 / 2;
}

/*
 * Copies all hashes of a set with their words into an empty set, which has more slots, more words beside, or a
 * secret. May return SB_INTERRUPTED.
 */
[[nodiscard]] sb_status move_set(sb_hash_set *to, const sb_hash_set *from);

/* The largest number of groups of four slots that the search for one of the hashes passes. For tests. */
uint64_t farthest_search(const sb_hash_set *set);

/* Where the slots of a set lie, and where the search for a hash begins. Four slots are a group. */
struct slot_order
{
	uint64_t *slots;
	uint64_t groups;
	uint64_t stride; /* how many words a group takes */
	uint64_t secret[2];

	explicit slot_order(const sb_hash_set *set)
		: slots(set->slots), groups(set->capacity / 4),
		  stride(4 * (1 + uint64_t{set->beside})), secret{set->secret[0], set->secret[1]}
	{
	}

	/* Returns the number whose high bits choose the slot of a hash. */
	uint64_t key(uint64_t hash) const { return secret[0] == 0 ? hash : secret_key(hash, secret); }

	/* The group at which the search for a hash begins. */
	uint64_t own_group(uint64_t hash) const { return multiply_high(key(hash), groups); }

	/* Where a group begins: four hashes, then the words beside them. */
	uint64_t *words_of(uint64_t group) const { return slots + group * stride; }
};

/* The slot at which the search for a hash begins: the first of its group. */
inline uint64_t own_slot(const slot_order &order, uint64_t hash)
{
	return order.own_group(hash) * 4;
}

/* The number after this one, of the numbers 0 .. all - 1 of slots or groups. After the last one comes the first one. */
constexpr uint64_t following(uint64_t all, uint64_t number)
{
	return number + 1 < all ? number + 1 : 0;
}

#if SB_HAS_AVX2_CODE
/*
 * Compares four words with a hash. Bit i of the result is set if word i is the hash, bit 4 + i if word i is zero. So
 * countr_zero(result) & 3 is the number of the word that is the hash or, if none is, of the first empty word. A result
 * of 0 means that no word is the hash or empty.
 */
SB_AVX2 inline uint32_t find_in_four(const uint64_t *words, uint64_t hash)
{
	const __m256i four = load(words);
	const __m256i same = _mm256_cmpeq_epi64(four, _mm256_set1_epi64x(static_cast<int64_t>(hash)));
	const __m256i zero = _mm256_cmpeq_epi64(four, _mm256_setzero_si256());
	return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(same))) |
		   static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(zero))) << 4;
}
#endif

struct found_slot
{
	uint64_t *word; /* where the hash stands; 0 if the slot is empty */
	uint64_t slot;	/* the number of the slot */
};

/*
 * Returns the slot of a hash; if the set does not have the hash, the empty slot where it would be added. (The hash 0
 * has the extra slot.) If the search passes more than *farthest groups, *farthest becomes their number.
 *
 * Nearly all searches end among the four slots at which they begin. With AVX2 these four are compared at once, so that
 * the processor has no branch to predict. In a loop over single slots it would often predict wrongly whether the loop
 * ends after one or two.
 */
template <sb_simd variant>
SB_KERNEL found_slot slot_for(const slot_order &order, uint64_t hash, uint64_t *farthest)
{
	uint64_t group = order.own_group(hash);
	if (hash == 0)
		return {order.words_of(order.groups), order.groups * 4};
	uint64_t *words = order.words_of(group);
#if SB_HAS_AVX2_CODE
	if constexpr (variant == SB_SIMD_AVX2)
	{
		uint32_t found = find_in_four(words, hash);
		if (found == 0) [[unlikely]]
		{
			uint64_t passed = 0;
			do
			{
				group = following(order.groups, group);
				words = order.words_of(group);
				found = find_in_four(words, hash);
				passed++;
			} while (found == 0);
			if (passed > *farthest)
				*farthest = passed;
		}
		const uint64_t number = static_cast<uint32_t>(std::countr_zero(found)) & 3;
		return {words + number, group * 4 + number};
	}
#endif
	uint64_t looked_at = 0; /* slots */
	while (words[looked_at % 4] != 0 && words[looked_at % 4] != hash)
		if (++looked_at % 4 == 0)
		{
			group = following(order.groups, group);
			words = order.words_of(group);
		}
	if (looked_at / 4 > *farthest)
		*farthest = looked_at / 4;
	return {words + looked_at % 4, group * 4 + looked_at % 4};
}

/*
 * Collects hashes and their slots, and calls take(hashes, slots, count) with at most hashes_at_once of them. flush()
 * must be called at the end.
 */
template <typename Take>
class batch
{
public:
	explicit batch(Take take) : take_(take) {}

	/*
	 * Adds the pair if `taken` is true. There is no branch on `taken`: a third of the slots or more is empty, at
	 * random, so the processor could not predict the branch.
	 */
	void add(uint64_t hash, uint64_t slot, bool taken)
	{
		hashes_[count_] = hash;
		slots_[count_] = slot;
		count_ += static_cast<size_t>(taken);
		if (count_ == hashes_at_once)
			flush();
	}
	void flush()
	{
		take_(hashes_, slots_, count_);
		count_ = 0;
	}

private:
	Take take_;
	size_t count_ = 0;
	uint64_t hashes_[hashes_at_once];
	uint64_t slots_[hashes_at_once];
};

/* Calls take() for all hashes of a set, in the order of slots. */
template <typename Take>
inline void in_batches(const sb_hash_set *set, Take take)
{
	batch found(take);
	for (uint64_t slot = 0; slot < set->capacity; slot++)
	{
		const uint64_t hash = set->slots[hash_set_place(slot, set->beside)];
		found.add(hash, slot, hash != 0);
	}
	found.add(0, set->capacity, set->slots[hash_set_place(set->capacity, set->beside)] != 0);
	found.flush();
}

/*
 * The two steps of hash_set_sort(). The first writes the hashes in the order of slots, and calls also(slots, count) for
 * the slots, some at a time. The second sorts what the first has written. Both may return SB_INTERRUPTED.
 *
 * In a set without a secret, hashes that stand close together may be in the wrong order. Besides, hashes that found the
 * last slots taken are in the first ones. They are known by their highest bit: no other hash in the first quarter of
 * the slots has it. They are written at the end of `out`, each in front of the one before.
 */
template <typename Also>
[[nodiscard]] inline sb_status walk_to_sort(const sb_hash_set *set, uint64_t *out, Also also)
{
	const uint64_t quarter = set->secret[0] == 0 ? set->capacity / 4 : 0;
	uint64_t *end = out;
	uint64_t *last = out + set->count;
	bool stopped = false;
	in_batches(set, [&](const uint64_t *hashes, const uint64_t *slots, size_t count) {
		stopped = stopped || stop_wanted();
		if (stopped)
			return;
		if (count > 0 && slots[0] < quarter)
			for (size_t i = 0; i < count; i++)
				*(hashes[i] >> 63 != 0 && slots[i] < quarter ? --last : end++) = hashes[i];
		else
			end = std::copy_n(hashes, count, end);
		also(slots, count);
	});
	return stopped ? SB_INTERRUPTED : SB_OK;
}
[[nodiscard]] sb_status sort_walked(const sb_hash_set *set, uint64_t *hashes);

/*
 * Cuts all 64-bit numbers into `parts` equal ranges, as multiply_high(hash, parts) does, and calls take() for the
 * hashes of the set that lie in range number `part`. In a set without a secret the searches for these hashes begin at
 * the slots from own_slot(least) to own_slot(most). So each of these hashes is in one of these slots, or in one of the
 * slots that follow, up to the first empty one. REQUIRES: a set with a secret has `sorted`.
 */
template <typename Take>
inline void in_part(const sb_hash_set *set, uint64_t parts, uint64_t part, Take take)
{
	constexpr u128 all = u128{1} << 64;
	const uint64_t capacity = set->capacity;
	const auto least = static_cast<uint64_t>((all * part + parts - 1) / parts);
	const auto most = static_cast<uint64_t>((all * (part + 1) + parts - 1) / parts - 1);
	batch found(take);
	if (set->sorted != nullptr)
	{
		const uint64_t *end = set->sorted + set->count;
		for (const uint64_t *hash = std::lower_bound(set->sorted, end, least); hash < end && *hash <= most; hash++)
			found.add(*hash, hash_set_find(set, *hash), true);
		found.flush();
		return;
	}
	const slot_order order(set);
	const uint64_t first = own_slot(order, least);
	const uint64_t end = own_slot(order, most) + 4;
	auto hash_at = [&](uint64_t slot) { return set->slots[hash_set_place(slot, set->beside)]; };
	auto add = [&](uint64_t slot) {
		const uint64_t hash = hash_at(slot);
		found.add(hash, slot, static_cast<int>(hash != 0) & static_cast<int>(hash - least <= most - least));
	};
	for (uint64_t slot = first; slot < end; slot++)
		add(slot);
	uint64_t slot = end % capacity;
	for (uint64_t left = capacity - (end - first); left > 0 && hash_at(slot) != 0; left--)
	{
		add(slot);
		slot = following(capacity, slot);
	}
	if (part == 0)
		found.add(0, capacity, hash_at(capacity) != 0);
	found.flush();
}

} // namespace streambloom

#endif
