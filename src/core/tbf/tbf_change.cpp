/*
 * tbf_change.cpp: makes a new value from a stored one: decays it, or takes a hit out of it.
 */
#include "tbf/tbf_top.hpp"
#include "tbf/tbf_value.hpp"

#include <algorithm>

using namespace streambloom;

/* ---------------------------------------------------------------------- decay */

/*
 * A filter decays by whole half-lives: its counters (of an exact filter, the counts of its items), and its list of hot
 * items.
 *
 * Decay by j half-lives turns a counter q <= 2^(j-1) into 0, and any other into ceil(q / 2^j). So a counter that
 * becomes 0 is too low by at most half a unit then, and any other counter is rounded up. Two decays one after the
 * other, by i and by j half-lives, give the same bytes as a single one by i + j, except for the list of hot items: its
 * error is rounded up each time, so it may be larger after two.
 *
 * The codes of extensible counters are shifted (see tbf_packed.hpp). Flat counters become extensible ones for that.
 */

/* Returns the half-lives from the filter's base to the time `at`; 0 if there is nothing to do. */
static uint64_t half_lives_until(const sb_tbf *tbf, int64_t at)
{
	if (tbf->half_life == 0 || (tbf->flags & SB_TBF_HAS_HITS) == 0)
		return 0;
	sb_moment moment;
	sb_tbf_moment(tbf->half_life, tbf->epoch, at, &moment);
	return moment.half_lives <= tbf->base ? 0 : static_cast<uint64_t>(moment.half_lives - tbf->base);
}

sb_status sb_tbf_decay(const sb_tbf *tbf, const void *cells, int64_t at, const sb_memory *to, size_t in_front,
					   sb_tbf *out, void **value) noexcept
{
	*out = *tbf;
	*value = nullptr;
	const uint64_t j = half_lives_until(tbf, at);
	if (j == 0)
		return SB_OK;

	if (tbf->layout == SB_TBF_FLAT && !is_exact(tbf))
		return change_flat(tbf, cells, to, in_front, out, value,
						   [=](const sb_tbf *packed, const void *bytes, sb_tbf *changed, void **decayed) {
							   return sb_tbf_decay(packed, bytes, at, to, 0, changed, decayed);
						   });

	/*
	 * A counter that becomes 0 now loses at most half a unit at the new base; SB_TBF_FORGOTTEN stands for this half
	 * unit. What an earlier decay dropped has decayed since, and is less than half a unit now. So slack and flag are
	 * the same after two decays as after a single one.
	 */
	out->base += static_cast<int64_t>(j);
	out->slack = shift_right_up(tbf->slack, j);
	out->total = shift_right_up(tbf->total, j);

	/*
	 * tbf->extra bytes after the counters are enough: the list of hot items does not get longer. (Filters with a table
	 * of recurring minimum have no half-life.)
	 */
	const uint64_t far = std::min<uint64_t>(j, 63);
	value_block block(to, in_front);
	sb_status status;
	if (is_exact(tbf))
		status = change_exact_value(tbf, cells, to, &block, out, [=](exact_item *item) {
			const bool stays = item->units > UINT64_C(1) << (far - 1);
			item->units = stays ? shift_right_up(item->units, far) : 0;
			if (!stays)
				out->flags |= SB_TBF_FORGOTTEN;
			return SB_OK;
		});
	else
		status = pack_value(&block, out, counters_size(tbf), [=](uint32_t i, gathered *counters, uint64_t *largest) {
			const sb_status read = gather_block(tbf, cells, i, counters, nullptr);
			if (read == SB_OK && counters->count != 0 && fade(counters, tbf->block_cells, far, largest))
				out->flags |= SB_TBF_FORGOTTEN;
			return read;
		});
	if (status == SB_OK && has_list(tbf))
		status = decay_list(tbf, cells, to, out->base, block.cells() + counters_size(out), &out->extra);
	if (status == SB_OK)
		block.hand_over(out, value);
	return status;
}

/* -------------------------------------------------------------------- removal */

/*
 * Hits are taken out again: the deletion of the Counting filter (Fan, Cao, Almeida, Broder 2000).
 *
 * Why other items are never undercounted afterwards. As long as nothing was forgotten, each counter, as a number of
 * hits at the base (sb_tbf.h), is at least the exact sum of the hits on its cell. (An item has several positions, which
 * may be in the same cell. Its hit counts there once for each of them.) This is so because sums are only rounded up.
 * Merging, widening, and decay that forgets nothing also round up, or repeat counters. The hit to be taken out is part
 * of that sum, with exactly the value that is known here: sb_tbf_hit() rounds the same weight at the same moment in the
 * same way. That value times the number of positions, rounded down to units, is subtracted. What remains is at least
 * the exact sum of all other hits, of other items and of this one. For the same reason, a counter below the hit's value
 * proves that the hit is not there.
 *
 * Since the amount is rounded down, less than one unit of the hit may stay in each counter. A whole hit that has not
 * decayed is a whole number of units, so nothing of it stays.
 */

/* value * 2^shift, rounded up if `up` is true, else down. REQUIRES: shift <= 64, value < 2^62. */
static u128 scaled(uint64_t value, int64_t shift, bool up)
{
	if (shift >= 0)
		return static_cast<u128>(value) << shift;
	u128 rounded_up = shift_right_up(u128{value}, static_cast<uint64_t>(-shift));
	return up || shift <= -128 ? (up ? rounded_up : 0) : static_cast<u128>(value) >> -shift;
}

/*
 * Returns the shift that converts 2^-12 hits at the start of the moment's half-life to units of the filter's counters.
 */
static int64_t shift_to_units(const sb_tbf *tbf, const sb_moment *moment)
{
	return moment->half_lives - tbf->base - (SB_TBF_HIT_BITS - tbf->unit_bits);
}

/*
 * Subtracts the hit from the item's counters; `counters` are those of the item's block. Returns false if the counters
 * prove that the item has no such hit: then *most becomes an upper bound of the item's count, and nothing is changed.
 */
static bool take_out(const sb_tbf *tbf, uint64_t hash, const sb_moment *moment, uint64_t value, uint64_t *counters,
					 double *most)
{
	uint16_t positions[SB_TBF_MAX_HASHES];
	bool there = true;
	int64_t shift = shift_to_units(tbf, moment);

	positions_of(tbf->block_cells, tbf->hash_count, hash, positions);
	*most = 0;
	for (bool subtract : {false, true})
		for (int i = 0; i < tbf->hash_count && there; i++)
		{
			if (std::find(positions, positions + i, positions[i]) != positions + i)
				continue; /* the same cell as at an earlier position */
			uint64_t &counter = counters[positions[i]];
			auto times = static_cast<uint64_t>(std::count(positions + i, positions + tbf->hash_count, positions[i]));
			if (subtract)
				counter -= static_cast<uint64_t>(scaled(times * value, shift, false));
			else if (scaled(times * value, shift, true) > counter)
			{
				*most = sb_tbf_count(tbf, counter, moment->epoch_start) / static_cast<double>(times);
				there = false;
			}
		}
	return there;
}

/* Takes the hit out of an exact filter. */
static sb_status remove_exact(const sb_tbf *tbf, const void *cells, uint64_t hash, const sb_moment *moment,
							  uint64_t hit, const sb_memory *to, value_block *block, sb_tbf *out, double *most)
{
	const int64_t shift = shift_to_units(tbf, moment);
	bool there = false;
	const sb_status status = change_exact_value(tbf, cells, to, block, out, [&](exact_item *item) {
		if (item->hash != hash)
			return SB_OK;
		there = scaled(hit, shift, true) <= item->units;
		if (there)
			item->units -= static_cast<uint64_t>(scaled(hit, shift, false));
		else
			*most = sb_tbf_count(tbf, item->units, moment->epoch_start);
		return there ? SB_OK : SB_OUT_OF_RANGE;
	});
	return status == SB_OK && !there ? SB_OUT_OF_RANGE : status;
}

sb_status sb_tbf_remove(const sb_tbf *tbf, const void *cells, uint64_t hash, const sb_moment *moment, uint64_t hit,
						const sb_memory *to, size_t in_front, sb_tbf *out, void **value, double *most) noexcept
{
	*out = *tbf;
	*value = nullptr;
	*most = 0;
	hash &= SB_KEPT_HASH_MASK;
	if (hit == 0)
		return SB_OK;
	if ((tbf->flags & SB_TBF_HAS_HITS) == 0 || moment->epoch_start > tbf->newest)
		return SB_OUT_OF_RANGE;
	if (tbf->layout == SB_TBF_FLAT && !is_exact(tbf))
		return change_flat(tbf, cells, to, in_front, out, value,
						   [=](const sb_tbf *packed, const void *bytes, sb_tbf *changed, void **without) {
							   return sb_tbf_remove(packed, bytes, hash, moment, hit, to, 0, changed, without, most);
						   });

	const u128 amount = scaled(hit, moment->half_lives - tbf->base, false);
	out->total -= static_cast<uint64_t>(std::min(amount, u128{tbf->total}));
	value_block block(to, in_front);
	if (is_exact(tbf))
	{
		const sb_status status = remove_exact(tbf, cells, hash, moment, hit, to, &block, out, most);
		if (status == SB_OK)
			block.hand_over(out, value);
		return status;
	}
	const uint32_t of_item = block_of(tbf->block_count, hash);
	const sb_status status = pack_value(&block, out, counters_size(tbf), [=](uint32_t i, gathered *nonzero, uint64_t *largest) {
		block_counters counters;
		if (i != of_item)
			return gather_block(tbf, cells, i, nonzero, largest);
		const sb_status read = unpack_block(tbf, cells, i, counters);
		if (read == SB_OK && !take_out(tbf, hash, moment, hit, counters, most))
			return SB_OUT_OF_RANGE;
		*largest = read == SB_OK ? gather(counters, tbf->block_cells, nonzero) : 0;
		return read;
	});
	if (status == SB_OK)
		block.hand_over(out, value);
	return status;
}
