/*
 * tbf_decay.cpp: decays a stored tbf by whole half-lives: its counters (of an exact filter, the counts of its items),
 * and its list of hot items.
 *
 * Decay by j half-lives turns a counter q <= 2^(j-1) into 0, and any other into ceil(q / 2^j). So a counter that
 * becomes 0 is too low by at most half a unit then, and any other counter is rounded up. Two decays one after the
 * other, by i and by j half-lives, give the same bytes as a single one by i + j, except for the list of hot items: its
 * error is rounded up each time, so it may be larger after two.
 *
 * The codes of extensible counters are shifted (see tbf_packed.hpp). Flat counters become extensible ones for that.
 */
#include "base/bits.hpp"
#include "base/simd.hpp"
#include "base/stop.hpp"
#include "streambloom.h"
#include "tbf/tbf_cells.hpp"
#include "tbf/tbf_packed.hpp"
#include "tbf/tbf_top.hpp"
#include "tbf/tbf_value.hpp"

#include <algorithm>

using namespace streambloom;

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
