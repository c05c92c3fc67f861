/*
 * hash_set.cpp: a set of 64-bit hashes in an array of the caller's. Hashes are well mixed already, so a hash's own
 * low bits choose its slot. An empty slot is 0; the hash 0 itself is kept in the extra word at the end.
 */
#include "bits.hpp"
#include "hash_set.hpp"
#include "simd.hpp"
#include "streambloom.h"

#include <algorithm>

using namespace streambloom;

size_t sb_hash_set_bytes(uint64_t capacity) noexcept
{
	return static_cast<size_t>((capacity + 1) * sizeof(uint64_t));
}

bool sb_hash_set_has_room(const sb_hash_set *set) noexcept
{
	return set->count < largest_count(set->capacity);
}

uint64_t sb_hash_set_capacity_for(uint64_t count) noexcept
{
	uint64_t capacity = 8;
	while (largest_count(capacity) < count && capacity < (UINT64_C(1) << 60))
		capacity *= 2;
	return capacity;
}

uint64_t sb_hash_set_insert(sb_hash_set *set, uint64_t hash) noexcept
{
	if (hash == 0)
	{
		set->count += set->slots[set->capacity] == 0;
		set->slots[set->capacity] = 1;
		return set->capacity;
	}

	uint64_t mask = set->capacity - 1;
	uint64_t slot = hash & mask;
	while (set->slots[slot] != 0)
	{
		if (set->slots[slot] == hash)
			return slot;
		slot = (slot + 1) & mask;
	}
	set->slots[slot] = hash;
	set->count++;
	return slot;
}

/* As in bf_lines.cpp. */
static constexpr size_t ahead = 32;

template <sb_simd variant>
SB_KERNEL size_t insert_many_kernel(sb_hash_set *set, const uint64_t *hashes, size_t count)
{
	const uint64_t capacity = set->capacity;
	const uint64_t room = largest_count(capacity) - set->count;
	uint64_t *slots = set->slots;
	uint64_t added = 0;
	size_t i = 0;
	for (size_t j = 0; j < std::min(count, ahead); j++)
		__builtin_prefetch(&slots[hashes[j] & (capacity - 1)], 1);
	while (i < count && added < room)
	{
		if (i + ahead < count)
			__builtin_prefetch(&slots[hashes[i + ahead] & (capacity - 1)], 1);
		uint64_t hash = hashes[i++];
		uint64_t slot = slot_for<variant>(slots, capacity, hash);
		added += slots[slot] == 0;
		slots[slot] = hash != 0 ? hash : 1;
	}
	set->count += added;
	return i;
}

static size_t insert_many(sb_hash_set *set, const uint64_t *hashes, size_t count);
SB_VARIANTS(size_t, insert_many, (sb_hash_set *set, const uint64_t *hashes, size_t count), (set, hashes, count))

size_t sb_hash_set_insert_many(sb_hash_set *set, const uint64_t *hashes, size_t count) noexcept
{
	return insert_many(set, hashes, count);
}

void sb_hash_set_insert_set(sb_hash_set *set, const sb_hash_set *other) noexcept
{
	in_batches(other, [&](const uint64_t *hashes, size_t count) { (void) insert_many(set, hashes, count); });
}

uint64_t sb_hash_set_find(const sb_hash_set *set, uint64_t hash) noexcept
{
	if (hash == 0)
		return set->slots[set->capacity] != 0 ? set->capacity : UINT64_MAX;

	uint64_t mask = set->capacity - 1;
	for (uint64_t slot = hash & mask; set->slots[slot] != 0; slot = (slot + 1) & mask)
		if (set->slots[slot] == hash)
			return slot;
	return UINT64_MAX;
}

uint64_t sb_hash_set_next(const sb_hash_set *set, uint64_t slot, uint64_t *hash) noexcept
{
	for (; slot < set->capacity; slot++)
		if (set->slots[slot] != 0)
		{
			*hash = set->slots[slot];
			return slot;
		}
	if (slot == set->capacity && set->slots[slot] != 0)
	{
		*hash = 0;
		return slot;
	}
	return UINT64_MAX;
}

void sb_hash_set_write(const sb_hash_set *set, void *out) noexcept
{
	auto *to = static_cast<unsigned char *>(out);
	uint64_t hash;
	for (uint64_t slot = 0; (slot = sb_hash_set_next(set, slot, &hash)) != UINT64_MAX; slot++, to += sizeof hash)
		store_le(to, hash);
}

void sb_hash_set_read(const void *words, uint64_t *hashes, size_t count) noexcept
{
	for (size_t i = 0; i < count; i++)
		hashes[i] = load_le<uint64_t>(static_cast<const unsigned char *>(words) + i * sizeof(uint64_t));
}
