/*
 * hash_set.cpp: a set of 64-bit hashes. The bits of a hash are well mixed, so its own high bits choose its slot, and
 * the slots are sorted by hash, except for hashes that stand close together. The high bits of a hash also choose the
 * line or block of a filter. So moving hashes from a set to a filter, or to a larger set, reads and writes memory in
 * ascending order. (If somebody has chosen items so that they collide, the slots follow from the hash and from the
 * secret, two random numbers.) An empty slot is 0; the hash 0 itself is kept in the extra slot at the end. Beside each
 * hash a set can have some words of its caller, for example a sum.
 */
#include "base/bits.hpp"
#include "base/hash_set.hpp"
#include "base/memory.hpp"
#include "base/simd.hpp"
#include "base/stop.hpp"
#include "streambloom.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace streambloom;

size_t streambloom::hash_set_bytes(uint64_t capacity, uint32_t beside)
{
	/*
	 * Slots lie in groups of four: four hashes, then the words beside them, four at a time. The extra slot at the end
	 * is the first of a group that is cut off behind its last word: a hash, and its words at + 4, + 8, ...
	 */
	return (static_cast<size_t>(capacity) * (beside + 1) + 4 * beside + 1) * sizeof(uint64_t);
}

bool streambloom::hash_set_has_room(const sb_hash_set *set)
{
	return set->count < largest_count(set->capacity);
}

uint64_t streambloom::hash_set_capacity_for(uint64_t count)
{
	uint64_t capacity = 12;
	while (largest_count(capacity) < count && capacity < (UINT64_C(1) << 59))
		capacity = hash_set_next_capacity(capacity);
	return capacity;
}

uint64_t streambloom::hash_set_next_capacity(uint64_t capacity)
{
	return 2 * capacity + 4;
}

uint64_t streambloom::hash_set_insert(sb_hash_set *set, uint64_t hash)
{
	uint64_t farthest = 0;
	const found_slot found = slot_for<SB_SIMD_PORTABLE>(slot_order(set), hash, &farthest);
	set->crowded |= farthest > hash_set_far;
	set->count += *found.word == 0;
	*found.word = hash != 0 ? hash : 1;
	return found.slot;
}

uint64_t streambloom::hash_set_find(const sb_hash_set *set, uint64_t hash)
{
	uint64_t farthest = 0;
	const found_slot found = slot_for<SB_SIMD_PORTABLE>(slot_order(set), hash, &farthest);
	return *found.word != 0 ? found.slot : UINT64_MAX;
}

/* ------------------------------------------------------------------ memory */

uint64_t streambloom::process_secret[2] = {UINT64_C(0x8a5cd789635d2dff), UINT64_C(0x121fd2155c472f96)};

void sb_set_secret(uint64_t first, uint64_t second) noexcept
{
	process_secret[0] = first;
	process_secret[1] = second;
}

/*
 * Sets of at least this many bytes are aligned, so that the hashes of each group of four slots lie in one line of the
 * processor's cache. A smaller set is not aligned: its size just fits the blocks of an allocator that provides powers
 * of two, as PostgreSQL's does, and alignment needs more bytes.
 */
static constexpr size_t aligned_from_bytes = 8192;

sb_status streambloom::hash_set_make(sb_hash_set *set, const sb_memory *memory, uint64_t capacity, uint32_t beside)
{
	const size_t size = hash_set_bytes(capacity, beside);
	void *slots;
	const sb_status status = size < aligned_from_bytes ? allocate_zeroed(memory, size, &slots) :
														 allocate_aligned(memory, size, &slots);
	*set = {};
	if (status == SB_OK)
	{
		set->capacity = capacity;
		set->beside = beside;
		set->slots = static_cast<uint64_t *>(slots);
	}
	return status;
}

sb_status streambloom::hash_set_remake(sb_hash_set *set, const sb_memory *memory, uint64_t capacity, uint32_t beside)
{
	sb_hash_set remade;
	sb_status status = hash_set_make(&remade, memory, capacity, beside);
	if (status != SB_OK)
		return status;
	if (set->secret[0] != 0 || hash_set_wants_secret(set))
		std::copy_n(process_secret, 2, remade.secret);
	status = move_set(&remade, set);
	sb_hash_set_release(status == SB_OK ? set : &remade, memory);
	if (status == SB_OK)
		*set = remade;
	return status;
}

void sb_hash_set_release(sb_hash_set *set, const sb_memory *memory) noexcept
{
	if (hash_set_bytes(set->capacity, set->beside) < aligned_from_bytes)
		memory->release(memory->context, set->slots);
	else
		release_aligned(memory, set->slots);
	set->slots = nullptr;
}

sb_status sb_hash_set_begin(sb_hash_set *set, const sb_memory *memory, uint64_t expected) noexcept
{
	return hash_set_make(set, memory, hash_set_capacity_for(expected), 0);
}

sb_status streambloom::hash_set_make_room(sb_hash_set *set, const sb_memory *memory)
{
	if (!hash_set_has_room(set))
		return hash_set_remake(set, memory, hash_set_next_capacity(set->capacity), set->beside);
	if (hash_set_wants_secret(set)) [[unlikely]]
		return hash_set_remake(set, memory, set->capacity, set->beside);
	return SB_OK;
}

sb_status sb_hash_set_add(sb_hash_set *set, const sb_memory *memory, uint64_t hash) noexcept
{
	const sb_status status = hash_set_make_room(set, memory);
	if (status == SB_OK)
		(void) hash_set_insert(set, hash);
	return status;
}

sb_status sb_hash_set_take(sb_hash_set *set, uint64_t *out) noexcept
{
	bool stopped = false; /* if true, the rest of the walk does nothing */
	in_batches(set, [&](const uint64_t *hashes, const uint64_t *, size_t count) {
		stopped = stopped || stop_wanted();
		if (!stopped)
			out = std::copy_n(hashes, count, out);
	});
	if (stopped)
		return SB_INTERRUPTED;
	std::memset(set->slots, 0, hash_set_bytes(set->capacity, set->beside));
	set->count = 0;
	return SB_OK;
}

/* ------------------------------------------------------------ many at once */

/* How many hashes ahead a slot is prefetched. bf_lines.cpp has measurements for such a distance. */
static constexpr size_t ahead = 32;

template <sb_simd variant>
SB_KERNEL size_t hash_set_insert_many_kernel(sb_hash_set *set, const uint64_t *hashes, size_t count, uint64_t mask)
{
	const slot_order order(set);
	const uint64_t room = largest_count(set->capacity) - set->count;
	uint64_t added = 0;
	uint64_t farthest = 0;
	size_t i = 0;
	for (size_t j = 0; j < std::min(count, ahead); j++)
		__builtin_prefetch(order.words_of(order.own_group(hashes[j])), 1);
	while (i < count && added < room)
	{
		if (i + ahead < count)
			__builtin_prefetch(order.words_of(order.own_group(hashes[i + ahead])), 1);
		const uint64_t hash = hashes[i++] & mask;
		uint64_t *word = slot_for<variant>(order, hash, &farthest).word;
		added += *word == 0;
		*word = hash != 0 ? hash : 1;
	}
	set->count += added;
	set->crowded |= farthest > hash_set_far;
	return i;
}

template <sb_simd variant>
SB_KERNEL uint64_t hash_set_missing_kernel(const sb_hash_set *set, const uint64_t *hashes, size_t count)
{
	const slot_order order(set);
	uint64_t missing = 0;
	uint64_t farthest = 0;
	for (size_t i = 0; i < count; i++)
		missing += *slot_for<variant>(order, hashes[i], &farthest).word == 0;
	return missing;
}

template <sb_simd variant>
SB_KERNEL void hash_set_find_many_kernel(const sb_hash_set *set, const uint64_t *hashes, size_t count, uint64_t *slots)
{
	const slot_order order(set);
	uint64_t farthest = 0;
	for (size_t i = 0; i < count; i++)
		slots[i] = slot_for<variant>(order, hashes[i], &farthest).slot;
}

namespace streambloom {

SB_VARIANTS(size_t, hash_set_insert_many, (sb_hash_set * set, const uint64_t *hashes, size_t count, uint64_t mask),
			(set, hashes, count, mask))
SB_VARIANTS(uint64_t, hash_set_missing, (const sb_hash_set *set, const uint64_t *hashes, size_t count),
			(set, hashes, count))
SB_VARIANTS(void, hash_set_find_many, (const sb_hash_set *set, const uint64_t *hashes, size_t count, uint64_t *slots),
			(set, hashes, count, slots))

} // namespace streambloom

sb_status sb_hash_set_reserve(sb_hash_set *set, const sb_memory *memory, uint64_t more) noexcept
{
	if (set->count + more <= largest_count(set->capacity))
		return SB_OK;
	return hash_set_remake(set, memory,
						   std::max(hash_set_next_capacity(set->capacity), hash_set_capacity_for(set->count + more)),
						   set->beside);
}

sb_status sb_hash_set_add_many(sb_hash_set *set, const sb_memory *memory, const uint64_t *hashes, size_t count) noexcept
{
	constexpr size_t at_once = 1024; /* takes some microseconds */
	sb_status status = sb_hash_set_reserve(set, memory, count);

	for (size_t first = 0; first < count && status == SB_OK; first += at_once)
	{
		if (stop_wanted())
			return SB_INTERRUPTED;
		(void) hash_set_insert_many(set, hashes + first, std::min(at_once, count - first));
		if (hash_set_wants_secret(set)) [[unlikely]]
			status = hash_set_remake(set, memory, set->capacity, set->beside);
	}
	return status;
}

/*
 * Returns the first empty slot for a hash that is not 0 and not in the set. It reads the four slots of a group one by
 * one, because they have often just been written one by one. A load of all four at once would wait for these stores.
 */
static uint64_t *empty_slot_for(sb_hash_set *set, const slot_order &order, uint64_t hash)
{
	uint64_t group = order.own_group(hash);
	for (uint64_t passed = 0;; passed++)
	{
		uint64_t *four = order.words_of(group);
		int taken = (four[0] != 0) + (four[1] != 0) + (four[2] != 0) + (four[3] != 0);
		if (taken < 4)
		{
			set->crowded |= passed > hash_set_far;
			return four + taken;
		}
		group = following(order.groups, group);
	}
}

sb_status streambloom::move_set(sb_hash_set *to, const sb_hash_set *from)
{
	const uint64_t words = std::min(to->beside, from->beside);
	const slot_order order(to);
	bool stopped = false; /* if true, the rest of the walk does nothing */
	in_batches(from, [&](const uint64_t *hashes, const uint64_t *slots, size_t count) {
		stopped = stopped || stop_wanted();
		for (size_t i = 0; i < count && !stopped; i++)
		{
			const uint64_t *old = &from->slots[hash_set_place(slots[i], from->beside)];
			uint64_t *now = hashes[i] != 0 ? empty_slot_for(to, order, hashes[i]) :
											 &to->slots[hash_set_place(to->capacity, to->beside)];
			*now = *old;
			for (uint64_t word = 1; word <= words; word++)
				now[4 * word] = old[4 * word];
		}
	});
	to->count = from->count;
	return stopped ? SB_INTERRUPTED : SB_OK;
}

uint64_t streambloom::farthest_search(const sb_hash_set *set)
{
	const slot_order order(set);
	uint64_t farthest = 0;
	in_batches(set, [&](const uint64_t *hashes, const uint64_t *, size_t count) {
		for (size_t i = 0; i < count; i++)
			(void) slot_for<SB_SIMD_PORTABLE>(order, hashes[i], &farthest);
	});
	return farthest;
}

/* Sorting this many hashes takes about a millisecond. More hashes are first split by their highest bits. */
static constexpr ptrdiff_t sorted_at_once = 16384;

/* Sorts begin .. end. REQUIRES: no two hashes are equal, and all hashes have the same bits above bit number `bit`. */
static sb_status sort_from_bit(uint64_t *begin, uint64_t *end, int bit)
{
	for (; end - begin > sorted_at_once; bit--)
	{
		uint64_t *middle = begin; /* hashes without the bit are moved before `middle`, hashes with it stay behind */
		const auto all = static_cast<size_t>(end - begin);
		sb_status status = in_pieces(all, bytes_at_once / sizeof *begin, [&](size_t first, size_t count) {
			for (uint64_t *at = begin + first; at < begin + first + count; at++)
			{
				const uint64_t hash = std::exchange(*at, *middle);
				*middle = hash;
				middle += ~hash >> bit & 1;
			}
		});
		if (status == SB_OK)
			status = sort_from_bit(begin, middle, bit - 1);
		if (status != SB_OK)
			return status;
		begin = middle;
	}
	if (stop_wanted())
		return SB_INTERRUPTED;
	std::sort(begin, end);
	return SB_OK;
}

/*
 * Sorts hashes of which only those that stand close together are in the wrong order. Gives up after 16 * count steps;
 * then *sorted is false, and the hashes are in some order. May return SB_INTERRUPTED.
 */
static sb_status sort_neighbours(uint64_t *hashes, size_t count, bool *sorted)
{
	size_t steps = 16 * count;
	const sb_status status = in_pieces(count, sorted_at_once, [&](size_t first, size_t now) {
		for (size_t i = first; i < first + now && steps > 0; i++)
		{
			const uint64_t hash = hashes[i];
			size_t at = i;
			for (; at > 0 && hashes[at - 1] > hash && steps > 0; at--, steps--)
				hashes[at] = hashes[at - 1];
			hashes[at] = hash;
		}
	});
	*sorted = steps > 0;
	return status;
}

sb_status streambloom::sort_walked(const sb_hash_set *set, uint64_t *hashes)
{
	bool sorted = false;
	if (set->secret[0] == 0)
		if (sb_status status = sort_neighbours(hashes, set->count, &sorted); status != SB_OK)
			return status;
	return sorted ? SB_OK : sort_from_bit(hashes, hashes + set->count, 63);
}

sb_status streambloom::hash_set_sort(const sb_hash_set *set, uint64_t *out)
{
	const sb_status status = walk_to_sort(set, out, [](const uint64_t *, size_t) {});
	return status == SB_OK ? sort_walked(set, out) : status;
}

/* ------------------------------------------------------------------ travel */

sb_status streambloom::hash_set_write(const sb_hash_set *set, void *out)
{
	auto *to = static_cast<unsigned char *>(out);
	bool stopped = false;
	in_batches(set, [&](const uint64_t *hashes, const uint64_t *, size_t count) {
		stopped = stopped || stop_wanted();
		if (stopped)
			return;
		hash_set_write_words(hashes, count, to);
		to += count * sizeof(uint64_t);
	});
	return stopped ? SB_INTERRUPTED : SB_OK;
}

void streambloom::hash_set_write_words(const uint64_t *words, size_t count, void *out)
{
	for (size_t i = 0; i < count; i++)
		store_le(static_cast<unsigned char *>(out) + i * sizeof(uint64_t), words[i]);
}

void streambloom::hash_set_read_words(const void *from, uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		words[i] = load_le<uint64_t>(static_cast<const unsigned char *>(from) + i * sizeof(uint64_t));
}
