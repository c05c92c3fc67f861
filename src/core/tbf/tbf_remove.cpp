/*
 * tbf_remove.cpp: hits taken out again, the deletion of the Counting filter (Fan, Cao, Almeida, Broder 2000).
 *
 * Why the other items never undercount afterwards. As long as nothing was forgotten, each counter, as a number of hits at
 * the base, is at least the exact sum of the hits on its cell, a hit once for each position of its item there: sums were
 * only ever rounded up, and decay without anything forgotten, merging and widening round up or repeat counters too. The
 * hit that is taken out is part of that sum with the very value that is known here (sb_tbf_hit() rounds the same weight
 * at the same moment the same way), and what is subtracted is that value times the positions, rounded down to units. What
 * remains is at least the exact sum of the other hits: of other items', and of those that the item keeps. By the same
 * inequality, a counter that is below the hit's value proves that the hit is not there.
 *
 * So what is left of a hit may be less than a unit in each counter. Whole hits that have not decayed are whole units.
 */
#include "base/bits.hpp"
#include "streambloom.h"
#include "tbf/tbf_place.hpp"
#include "tbf/tbf_cells.hpp"

#include <algorithm>

using namespace streambloom;

/* value * 2^shift, rounded down or up. REQUIRES: shift <= 64, value < 2^62. */
static u128 scaled(uint64_t value, int64_t shift, bool up)
{
	if (shift >= 0)
		return static_cast<u128>(value) << shift;
	u128 rounded_up = shift_right_up(u128{value}, static_cast<uint64_t>(-shift));
	return up || shift <= -128 ? (up ? rounded_up : 0) : static_cast<u128>(value) >> -shift;
}

/* From units of a moment's half-life in 2^-12 hits to units of the filter's counters. */
static int64_t shift_to_units(const sb_tbf *tbf, const sb_moment *moment)
{
	return moment->half_lives - tbf->base - (SB_TBF_HIT_BITS - tbf->unit_bits);
}

/* Takes the hit out of the item's block. false, and nothing done: it is not there, as *most says. */
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
				continue; /* one of the cells before */
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

sb_status sb_tbf_remove_plan(const sb_tbf *tbf, const void *cells, uint64_t hash, const sb_moment *moment, uint64_t value,
							 sb_tbf *out, double *most) noexcept
{
	*out = *tbf;
	*most = 0;
	if ((tbf->flags & SB_TBF_HAS_HITS) == 0 || moment->epoch_start > tbf->newest)
		return SB_OUT_OF_RANGE;

	uint32_t of_item = block_of(tbf->block_count, hash);
	bool there = true;
	sb_status status = measure_cells(out, [&](uint32_t block, uint64_t *counters) {
		if (sb_status read = sb_tbf_unpack_block(tbf, cells, block, counters); read != SB_OK)
			return read;
		if (block == of_item)
			there = take_out(tbf, hash, moment, value, counters, most);
		return there ? SB_OK : SB_OUT_OF_RANGE;
	});
	u128 amount = scaled(value, moment->half_lives - tbf->base, false);
	out->total -= static_cast<uint64_t>(std::min(amount, u128{tbf->total}));
	return status;
}

sb_status sb_tbf_remove_write(const sb_tbf *tbf, const void *cells, uint64_t hash, const sb_moment *moment, uint64_t value,
							  const sb_tbf *planned, void *out) noexcept
{
	uint32_t of_item = block_of(tbf->block_count, hash);
	return write_cells(*planned, out, [&](uint32_t block, uint64_t *counters) {
		sb_status status = sb_tbf_unpack_block(tbf, cells, block, counters);
		double most;
		if (block == of_item)
			(void) take_out(tbf, hash, moment, value, counters, &most);
		return status;
	});
}
