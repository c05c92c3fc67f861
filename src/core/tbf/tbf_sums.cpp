/*
 * tbf_sums.cpp: exact sums of hits before they are rounded and stored.
 *
 * Let a hit come in an epoch that begins x half-lives after 2000, and let v be its value from sb_tbf_hit(), in 2^-12
 * hits. The hit counts v * 2^floor(x). It is added to plane floor(x / 16), as v * 2^(floor(x) mod 16). So a 64-bit word
 * of a plane has room for at least 2^34 hits, and a sum does not depend on the order of its terms.
 *
 * The newest four planes are kept. Older hits are dropped. Their amount goes into the total of all hits, and into the
 * slack, an upper bound of what any one item has lost. These hits are more than 48 half-lives older than the newest
 * half-life that was added; more than 32, if a merged filter has counters so large that they use the plane after the
 * newest (place_of() in tbf_sums_weighted.cpp). (If a hit is that old when it comes, its item is still inserted into
 * the set of items.) The sums are rounded only when the value is stored: once, and up.
 */
#include "tbf/tbf_sums.hpp"

#include "base/stop.hpp"
#include "tbf/tbf_cells.hpp"

using namespace streambloom;

/* This many words are worked on before stop_wanted() is called again. */
constexpr size_t words_at_once = bytes_at_once / sizeof(uint64_t);

/* ------------------------------------------------------------------- filling */

sb_status streambloom::make_column(tbf_sums *sums, const sb_memory *memory, int index)
{
	sb_hash_set *set = &sums->set;
	uint32_t *column = &sums->planes[index].column;
	if (*column != 0)
		return SB_OK;
	if (sums->fallen != 0)
	{
		const auto fallen = static_cast<uint32_t>(std::countr_zero(sums->fallen));
		const sb_status status = in_pieces(set->capacity + 1, words_at_once, [=](size_t first, size_t count) {
			for (size_t slot = first; slot < first + count; slot++)
				set->slots[hash_set_place(slot, set->beside) + 4 * fallen] = 0;
		});
		if (status == SB_OK)
		{
			*column = fallen;
			sums->fallen &= ~(1u << fallen);
		}
		return status;
	}
	uint32_t used = 0;
	for (const plane_sums &plane : sums->planes)
		used += plane.column != 0;
	if (used == set->beside)
		if (sb_status status = hash_set_remake(set, memory, set->capacity, used + 1); status != SB_OK)
			return status;
	*column = used + 1;
	return SB_OK;
}

/*
 * If plane `wanted` is newer than the newest one, the oldest planes fall out for it. Columns of items that fall out are
 * kept for later use. They are not cleared here: that takes long for a large set, and this function must not be
 * interrupted.
 */
void streambloom::sums_make_room(tbf_sums *sums, int64_t wanted)
{
	constexpr int last = SB_TBF_PLANES - 1;

	for (int64_t turns = std::min<int64_t>(wanted - sums->newest_plane, SB_TBF_PLANES); turns > 0; turns--)
	{
		const plane_sums &oldest = sums->planes[last];
		sums->fallen |= (1u << oldest.column) & ~1u;
		release_cell_plane(oldest.cells);
		accumulate(&sums->dropped_total, oldest.total);
		accumulate(&sums->dropped_loss, oldest.loss);
		accumulate(&sums->dropped_loss, oldest.slack);
		std::copy_backward(sums->planes, sums->planes + last, sums->planes + last + 1);
		sums->planes[0] = {};
	}
	sums->newest_plane = std::max(sums->newest_plane, wanted);
}

int streambloom::sums_turn(tbf_sums *sums, int64_t half_lives)
{
	int64_t wanted = plane_of(half_lives);
	if (!sums->any)
	{
		sums->any = true;
		sums->newest_plane = wanted;
		sums->newest_half_life = half_lives;
		sums->newest = INT64_MIN;
		return 0;
	}
	sums->newest_half_life = std::max(sums->newest_half_life, half_lives);
	sums_make_room(sums, wanted);
	int64_t behind = sums->newest_plane - wanted;
	return behind < SB_TBF_PLANES ? static_cast<int>(behind) : -1;
}

/*
 * Items are prefetched this far ahead, so that the waits for their cache lines overlap. Sets of fewer slots than
 * prefetch_from_slots are in a cache anyway.
 */
constexpr size_t ahead = 32;
constexpr uint64_t prefetch_from_slots = 32000;

/*
 * Prefetches the slot of a hash, and its word in the plane. This is a function, not a lambda: if a compiler does not
 * inline a lambda that only prefetches, it believes that the lambda does nothing, and drops the call.
 */
SB_KERNEL void prefetch_item(const slot_order &order, size_t plane, uint64_t hash)
{
	const uint64_t *own = order.words_of(order.own_group(hash));
	__builtin_prefetch(own, 1);
	if (order.stride > 8) /* if not, the group is one line of the cache */
		__builtin_prefetch(own + plane, 1);
}

template <sb_simd variant>
SB_KERNEL size_t sums_add_hits_kernel(tbf_sums *sums, int index, int64_t half_lives, const uint64_t *hashes,
									  const uint64_t *values, size_t count, sb_status *status)
{
	sb_hash_set *set = &sums->set;
	const slot_order order(set);
	const uint64_t room = largest_count(set->capacity) - set->count;
	const size_t ask = set->capacity >= prefetch_from_slots ? ahead : count;
	const int place = place_in_plane(half_lives);
	const size_t plane = size_t{4} * sums->planes[index].column;
	uint64_t added = 0;
	uint64_t farthest = 0;
	size_t i = 0;
	*status = SB_OK;
	for (size_t j = 0; ask < count && j < ask; j++)
		prefetch_item(order, plane, hashes[j]);
	while (i < count && added < room && *status == SB_OK)
	{
		uint64_t hash = hashes[i];
		if (i + ask < count)
			prefetch_item(order, plane, hashes[i + ask]);
		uint64_t amount;
		uint64_t *word = slot_for<variant>(order, hash, &farthest).word;
		added += *word == 0;
		*word = hash != 0 ? hash : 1;
		*status = shifted(values[i], place, &amount);
		if (*status == SB_OK)
			*status = add_to_word(word + plane, amount);
		i++;
	}
	set->count += added;
	set->crowded |= farthest > hash_set_far;
	return i;
}

namespace streambloom {

SB_VARIANTS(size_t, sums_add_hits,
			(tbf_sums * sums, int index, int64_t half_lives, const uint64_t *hashes, const uint64_t *values, size_t count,
			 sb_status *status),
			(sums, index, half_lives, hashes, values, count, status))

} // namespace streambloom

/* Adds `amount` to all cells of an item. REQUIRES: hold_cells() has made room for them. */
static sb_status add_to_item(cell_plane *plane, int hash_count, uint64_t hash, uint64_t amount)
{
	const uint32_t block = block_of(plane->block_count, hash);
	uint16_t positions[SB_TBF_MAX_HASHES];
	positions_of(plane->block_cells, hash_count, hash, positions);
	for (int i = 0; i < hash_count; i++)
		if (sb_status status = add_to_word(word_at(plane, block, positions[i]), amount); status != SB_OK)
			return status;
	return SB_OK;
}

template <sb_simd variant>
SB_KERNEL sb_status add_items_kernel(cell_plane *plane, int k, int place, const uint64_t *hashes, const uint64_t *values,
									 size_t count)
{
	uint64_t *cells[ahead][SB_TBF_MAX_HASHES];
	uint16_t positions[SB_TBF_MAX_HASHES];
	for (size_t i = 0; i < count + ahead; i++)
	{
		uint64_t **slot = cells[i % ahead];
		if (i >= ahead)
		{
			uint64_t amount;
			if (sb_status status = shifted(values[i - ahead], place, &amount); status != SB_OK)
				return status;
			for (int j = 0; j < k; j++)
				if (sb_status status = add_to_word(slot[j], amount); status != SB_OK)
					return status;
		}
		if (i < count)
		{
			uint64_t *block = plane->block[block_of(plane->block_count, hashes[i])];
			positions_of(plane->block_cells, k, hashes[i], positions);
			for (int j = 0; j < k; j++)
			{
				slot[j] = block + positions[j];
				__builtin_prefetch(slot[j], 1);
			}
		}
	}
	return SB_OK;
}

static sb_status add_items(cell_plane *plane, int k, int place, const uint64_t *hashes, const uint64_t *values,
						   size_t count);
SB_VARIANTS(sb_status, add_items,
			(cell_plane * plane, int k, int place, const uint64_t *hashes, const uint64_t *values, size_t count),
			(plane, k, place, hashes, values, count))

sb_status streambloom::add_to_plane(cell_plane *plane, int hash_count, int place, const uint64_t *hashes,
									const uint64_t *values, size_t count)
{
	bool full;
	sb_status status = hold_items(plane, hash_count, hashes, count, &full);
	if (status == SB_OK && full)
		return add_items(plane, hash_count, place, hashes, values, count);
	for (size_t i = 0; i < count && status == SB_OK; i++)
	{
		uint64_t amount;
		status = shifted(values[i], place, &amount);
		if (status == SB_OK)
			status = add_to_item(plane, hash_count, hashes[i], amount);
	}
	return status;
}

void streambloom::sums_note_hit(tbf_sums *sums, int index, const sb_moment *moment, uint64_t value)
{
	sums->newest = std::max(sums->newest, moment->epoch_start);
	u128 amount = static_cast<u128>(value) << place_in_plane(moment->half_lives);
	(index >= 0 ? sums->planes[index].total : sums->dropped_total) += amount;
	(index >= 0 ? sums->planes[index].loss : sums->dropped_loss) += amount;
	if ((value & ((UINT64_C(1) << SB_TBF_HIT_BITS) - 1)) != 0)
		sums->fractions = true;
}

/* ----------------------------------------------------------------- combining */

void streambloom::sums_combine_notes(tbf_sums *sums, const tbf_sums *other)
{
	if (!other->any)
		return;
	sums_turn(sums, other->newest_half_life);
	sums_make_room(sums, other->newest_plane);
	for (int i = 0; i < SB_TBF_PLANES; i++)
	{
		const plane_sums &from = other->planes[i];
		const int index = sums_matching_plane(sums, other, i);
		plane_sums *to = index >= 0 ? &sums->planes[index] : nullptr;
		accumulate(to != nullptr ? &to->total : &sums->dropped_total, from.total);
		accumulate(to != nullptr ? &to->slack : &sums->dropped_loss, from.slack);
		accumulate(to != nullptr ? &to->loss : &sums->dropped_loss, from.loss);
	}
	sums->newest = std::max(sums->newest, other->newest);
	if (other->merged)
		sums->oldest_base = sums->merged ? std::min(sums->oldest_base, other->oldest_base) : other->oldest_base;
	sums->merged |= other->merged;
	accumulate(&sums->dropped_total, other->dropped_total);
	accumulate(&sums->dropped_loss, other->dropped_loss);
	sums->fractions |= other->fractions;
}

int streambloom::sums_matching_plane(const tbf_sums *sums, const tbf_sums *other, int i)
{
	int64_t index = sums->newest_plane - (other->newest_plane - i);
	return index >= 0 && index < SB_TBF_PLANES ? static_cast<int>(index) : -1;
}

/* Adds words to a block. Each word of `from` is added to 2^halvings cells. */
static sb_status add_block(cell_plane *to, uint32_t block, const uint64_t *from, int halvings)
{
	const uint32_t cells = to->block_cells;
	if (to->block[block] == nullptr)
		if (sb_status status = hold_cells(to, block, count_words(from, cells >> halvings) << halvings); status != SB_OK)
			return status;
	if (uint64_t *words = to->block[block]; words != nullptr)
	{
		for (uint32_t i = 0; i < cells; i++)
			if (sb_status status = add_to_word(&words[i], from[i >> halvings]); status != SB_OK)
				return status;
		return SB_OK;
	}
	/*
	 * The non-zero cells of this block are in a list (few_cells). Only a block of SB_TBF_BLOCK cells has such a list.
	 * If the other filter's block is smaller, it is widened first: each of its sums is repeated 2^halvings times.
	 */
	uint64_t largest = 0;
	block_counters widened;
	if (halvings != 0)
	{
		for (uint32_t i = 0; i < cells; i++)
			widened[i] = from[i >> halvings];
		from = widened;
	}
	return add_shifted_few(to, block, from, 0, &largest) ? SB_OK : SB_OVERFLOW;
}

sb_status streambloom::add_cell_plane(cell_plane *to, const cell_plane *from)
{
	const int block_halvings = doublings(from->block_count, to->block_count);
	const int cell_halvings = doublings(from->block_cells, to->block_cells);
	block_counters room;
	for (uint32_t block = 0; block < to->block_count; block++)
	{
		if (stop_wanted())
			return SB_INTERRUPTED;
		if (const uint64_t *words = read_block(from, block >> block_halvings, room); words != nullptr)
			if (sb_status status = add_block(to, block, words, cell_halvings); status != SB_OK)
				return status;
	}
	return SB_OK;
}

sb_status streambloom::add_block_words(cell_plane *plane, uint32_t block, const uint64_t *words)
{
	return add_block(plane, block, words, 0);
}
