/*
 * abf_add.cpp: adds items to an abf, moves its clock on, and unites two. sb_abf.h explains generations and slices, and
 * says what is promised; abf.hpp says where the bits of an item lie.
 */
#include "abf/abf.hpp"
#include "base/stop.hpp"

using namespace streambloom;

namespace streambloom {

/*
 * Looks for k consecutive slices that all have the item's bit. It tries the k newest slices first, and then older
 * ones. Of each k slices it reads the oldest first. If that slice lacks the bit, no k slices that include it can match,
 * so the next k slices to try are all older than it. So for a new item the search does not read most of the slices, as
 * the Boyer-Moore search in a text does not read most of the characters.
 */
bool find_run(const sb_abf &abf, const unsigned char *block, uint64_t hash, int newest, int count)
{
	const int n = sb_abf_slices(&abf);
	const int k = abf.hash_count;
	const size_t part = slice_part(abf);
	int begin = 0; /* age of the newest of the k slices that are tried */
	int known = 0; /* the slices of the ages begin .. known - 1 were read before, and have the bit */

	while (begin + k <= count)
	{
		const int end = begin + k;
		int age = end;
		bool all = true;
		while (all && age > known)
		{
			age--;
			const int place = newest - age < 0 ? newest - age + n : newest - age;
			const unsigned bit = bit_of(abf, word_of(hash, place), place);
			all = (block[static_cast<size_t>(place) * part + bit / 8] >> bit % 8 & 1) != 0;
		}
		if (all)
			return true;
		begin = age + 1;
		known = end;
	}
	return false;
}

int alive_at(const sb_abf &abf, int64_t generation)
{
	const int n = sb_abf_slices(&abf);
	if (generation <= abf.generation)
		return n;
	return static_cast<int>(n - std::min<int64_t>(generation - abf.generation, n));
}

} // namespace streambloom

/* The number of blocks that are cleared or united before the caller is asked again whether to stop. */
static size_t blocks_at_once(const sb_abf &abf)
{
	return std::max<size_t>(bytes_at_once / block_bytes(abf), 1);
}

/*
 * Makes `generation` the newest generation. The new slices take the places of the slices that die. A place whose slice
 * had bits is cleared.
 */
static sb_status move_on(sb_abf *abf, unsigned char *slices, int64_t generation)
{
	const int n = sb_abf_slices(abf);
	const auto steps = static_cast<int>(std::min<int64_t>(generation - abf->generation, n));
	const size_t part = slice_part(*abf);
	int dying[SB_ABF_MAX_SLICES];
	int count = 0;

	for (int i = 0; i < steps; i++)
	{
		const int place = place_of(*abf, generation - i);
		if (is_used(*abf, place))
			dying[count++] = place;
		abf->used[place / 64] &= ~(uint64_t{1} << place % 64);
	}
	abf->generation = generation;
	if (count == 0)
		return SB_OK;
	return in_pieces(abf->blocks, blocks_at_once(*abf), [&](size_t first, size_t blocks) {
		for (size_t block = first; block < first + blocks; block++)
			for (int i = 0; i < count; i++)
				std::memset(slices + block * block_bytes(*abf) + static_cast<size_t>(dying[i]) * part, 0, part);
	});
}

/*
 * Sets the item's bits in its k slices, as far as they are alive. `age` says by how many generations the item is
 * older than the newest slice of the filter, which is at the place `newest`.
 */
static void set_bits(sb_abf *abf, unsigned char *block, uint64_t hash, int newest, int64_t age)
{
	const int n = sb_abf_slices(abf);
	const size_t part = slice_part(*abf);
	if (age >= n)
		return;
	int place = newest - static_cast<int>(age);
	place = place < 0 ? place + n : place;
	const int alive = std::min<int>(abf->hash_count, n - static_cast<int>(age));
	int word_place = -1;
	uint64_t word = 0;

	for (int i = 0; i < alive; i++)
	{
		if (place / 4 != word_place)
		{
			word_place = place / 4;
			word = word_of(hash, place);
		}
		const unsigned bit = bit_of(*abf, word, place);
		block[static_cast<size_t>(place) * part + bit / 8] |= static_cast<unsigned char>(1u << bit % 8);
		set_used(*abf, place);
		place = place == 0 ? n - 1 : place - 1;
	}
	abf->filled = true;
}

/*
 * Prefetches the parts of the item's slices in its block, of each part the first cache line. It takes the slices of an
 * item of the newest generation; a late item has others.
 */
static void prefetch_bits(const sb_abf &abf, const unsigned char *slices, uint64_t hash, int newest)
{
	const int n = sb_abf_slices(&abf);
	const unsigned char *block = slices + block_of(abf, hash) * block_bytes(abf);
	for (int i = 0; i < abf.hash_count; i++)
	{
		const int place = newest - i < 0 ? newest - i + n : newest - i;
		__builtin_prefetch(block + static_cast<size_t>(place) * slice_part(abf), 1);
	}
}

/*
 * prefetch_bits() is called items_ahead items ahead, if all slices together have at least ahead_from bytes. Smaller
 * filters stay in the processor's caches anyway.
 */
static constexpr size_t items_ahead = 8;
static constexpr size_t ahead_from = 131072;

sb_status sb_abf_add(sb_abf *abf, void *slices, const uint64_t *hashes, const int64_t *times, size_t count,
					 bool *duplicates) noexcept
{
	auto *bytes = static_cast<unsigned char *>(slices);
	const int64_t length = sb_abf_length(abf);
	const bool ahead = sb_abf_slice_bytes(abf) >= ahead_from;
	int64_t newest_generation = abf->generation;
	int newest = place_of(*abf, newest_generation);
	/* by items: the number of items at which the newest generation ends */
	uint64_t end = (static_cast<uint64_t>(abf->generation) + 1) * static_cast<uint64_t>(length);

	if (!abf->by_time && count > SB_ABF_MAX_ITEMS - abf->items)
		return SB_OVERFLOW;
	for (size_t i = 0; i < count; i++)
	{
		const uint64_t hash = hashes[i];
		unsigned char *block = bytes + block_of(*abf, hash) * block_bytes(*abf);
		int64_t generation = abf->generation;

		if (ahead && i + items_ahead < count)
			prefetch_bits(*abf, bytes, hashes[i + items_ahead], newest);
		if (abf->by_time)
		{
			generation = floor_divide(times[i], length);
			if (abf->items == 0)
				abf->generation = generation;
			if (generation > abf->generation)
				if (sb_status status = move_on(abf, bytes, generation); status != SB_OK)
					return status;
			if (abf->items == 0 || generation != newest_generation)
				newest = place_of(*abf, abf->generation);
			newest_generation = abf->generation;
		}
		if (duplicates != nullptr)
			duplicates[i] = abf->filled && find_run(*abf, block, hash, newest, sb_abf_slices(abf));
		set_bits(abf, block, hash, newest, abf->generation - generation);
		if (abf->items < SB_ABF_MAX_ITEMS)
			abf->items++;
		/* by items the clock is the number of items, so the last item of a generation moves it on */
		if (!abf->by_time && abf->items == end)
		{
			if (sb_status status = move_on(abf, bytes, abf->generation + 1); status != SB_OK)
				return status;
			newest = place_of(*abf, abf->generation);
			end += static_cast<uint64_t>(length);
		}
	}
	return SB_OK;
}

static bool any_bit(const unsigned char *bytes, size_t size, sb_status *status)
{
	bool any = false;
	*status = in_pieces(size, bytes_at_once, [&](size_t first, size_t piece) {
		for (size_t at = first; at < first + piece && !any; at += 8)
			any = load_le<uint64_t>(bytes + at) != 0; /* a slice has a multiple of eight bytes in a block */
	});
	return any;
}

sb_status sb_abf_advance(sb_abf *abf, void *slices, int64_t generation) noexcept
{
	auto *bytes = static_cast<unsigned char *>(slices);
	if (!abf->by_time || abf->items == 0 || generation <= abf->generation)
		return SB_OK;
	if (!abf->filled)
	{
		abf->generation = generation;
		return SB_OK;
	}
	if (sb_status status = move_on(abf, bytes, generation); status != SB_OK)
		return status;
	sb_status status;
	abf->filled = any_bit(bytes, sb_abf_slice_bytes(abf), &status);
	return status;
}

sb_status sb_abf_unite(sb_abf *abf, void *slices, const sb_abf *other, const void *other_slices) noexcept
{
	auto *to = static_cast<unsigned char *>(slices);
	const auto *from = static_cast<const unsigned char *>(other_slices);
	sb_abf united;
	sb_difference difference;
	if (sb_status status = sb_abf_plan_union(abf, other, &united, &difference); status != SB_OK)
		return status;
	if (abf->items == 0)
		abf->generation = united.generation;
	else if (united.generation > abf->generation)
		if (sb_status status = move_on(abf, to, united.generation); status != SB_OK)
			return status;

	/* the places of the other filter's slices that may have bits and are alive in the result */
	const int n = sb_abf_slices(abf);
	const size_t part = slice_part(*abf);
	const int alive = other->filled ? alive_at(*other, united.generation) : 0;
	int places[SB_ABF_MAX_SLICES];
	int count = 0;
	for (int age = 0; age < alive; age++)
	{
		const int place = place_of(*other, other->generation - age);
		if (is_used(*other, place))
		{
			places[count++] = place;
			set_used(*abf, place);
		}
	}
	sb_status status = SB_OK;
	if (count != 0)
		status = in_pieces(abf->blocks, blocks_at_once(*abf), [&](size_t first, size_t blocks) {
			for (size_t block = first; block < first + blocks; block++)
				for (int i = 0; i < count; i++)
				{
					const size_t at = (block * static_cast<size_t>(n) + static_cast<size_t>(places[i])) * part;
					for (size_t byte = at; byte < at + part; byte += 8)
						store_le(to + byte, load_le<uint64_t>(to + byte) | load_le<uint64_t>(from + byte));
				}
		});
	if (status != SB_OK)
		return status;
	united.used[0] = abf->used[0];
	united.used[1] = abf->used[1];
	*abf = united;
	abf->filled = any_bit(to, sb_abf_slice_bytes(abf), &status);
	return status;
}
