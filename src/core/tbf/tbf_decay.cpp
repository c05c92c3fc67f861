/*
 * tbf_decay.cpp: decays a stored tbf by whole half-lives: its counters (of an exact filter, the counts of its items),
 * and its list of hot items.
 *
 * Decay by j half-lives turns a counter q <= 2^(j-1) into 0, and any other into ceil(q / 2^j). So a counter that
 * becomes 0 is too low by at most half a unit then, and any other counter is rounded up. Two decays one after the
 * other, by i and by j half-lives, give the same bytes as a single one by i + j, except for the list of hot items: its
 * error is rounded up each time, so it may be larger after two.
 *
 * Flat counters are decayed many at a time and written with their old width. If narrower cells turn out to be enough,
 * the counters are narrowed in place afterwards. In the extensible layout the codes are shifted (see tbf_packed.hpp).
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

/* --------------------------------------------------------------------- flat */

namespace {

/* Results of the pass over the counters. */
struct passed
{
	uint64_t left;	  /* all counters that are left, or-ed: a number with as many digits as the largest of them */
	uint64_t dropped; /* all counters that became zero, or-ed */
};

/*
 * A vector of `bytes` bytes. This is a typedef, because a using-declaration would lose the attribute of a type that
 * depends on a template parameter.
 */
template <typename Cell, size_t bytes>
struct vector_of
{
	typedef Cell type __attribute__((vector_size(bytes)));
};

} // namespace

constexpr size_t at_once = 32;
static_assert(SB_TBF_MIN_BLOCK % at_once == 0, "there is never a rest");

/*
 * Decays flat cells. REQUIRES: the machine is little-endian; half_lives is 1 .. the bits of a cell; bytes is a multiple
 * of at_once.
 */
template <typename Cell>
SB_KERNEL passed fade_cells(const unsigned char *from, size_t bytes, int half_lives, unsigned char *to)
{
	using cells = typename vector_of<Cell, at_once>::type;
	using pairs = vector_of<uint16_t, at_once>::type;
	constexpr int bits = 8 * sizeof(Cell);
	const cells zero = {};
	/* these are variables of type Cell, because with sanitizers the compiler would give the expressions the type int */
	const auto half_of_one = static_cast<Cell>(Cell{1} << (half_lives - 1));
	const auto bits_left = static_cast<Cell>((static_cast<Cell>(~Cell{0}) >> 1) >> (half_lives - 1));
	const cells half = zero + half_of_one;
	const cells below = zero + bits_left;
	cells left = zero;
	cells dropped = zero;

	for (size_t i = 0; i < bytes; i += at_once)
	{
		cells q;
		std::memcpy(&q, from + i, at_once);
		auto goes = reinterpret_cast<cells>(q <= half);
		cells code = q - 1;
		if constexpr (bits ==
					  8) /* there are no shifts of bytes: shift pairs, and cut off what came from the neighbour */
			code = reinterpret_cast<cells>(reinterpret_cast<pairs>(code) >> half_lives) & below;
		else
			code = code >> 1 >> (half_lives - 1);
		cells after = (code + 1) & ~goes;
		left |= after;
		dropped |= q & goes;
		std::memcpy(to + i, &after, at_once);
	}

	passed result = {};
	for (size_t i = 0; i < at_once / sizeof(Cell); i++)
	{
		result.left |= left[i];
		result.dropped |= dropped[i];
	}
	return result;
}

/* Does what fade_cells() does, on big-endian machines. */
template <typename Cell>
SB_KERNEL passed fade_cells_one_by_one(const unsigned char *from, size_t bytes, int half_lives, unsigned char *to)
{
	passed result = {};
	for (size_t i = 0; i < bytes; i += sizeof(Cell))
	{
		auto q = load_le<Cell>(from + i);
		bool stays = q > static_cast<Cell>(Cell{1} << (half_lives - 1));
		auto after = stays ? static_cast<Cell>((static_cast<Cell>(q - 1) >> 1 >> (half_lives - 1)) + 1) : Cell{0};
		store_le(to + i, after);
		result.left |= after;
		result.dropped |= stays ? Cell{0} : q;
	}
	return result;
}

template <typename Cell>
SB_KERNEL passed fade_flat_of(const unsigned char *from, size_t bytes, int half_lives, unsigned char *to)
{
	if constexpr (std::endian::native == std::endian::little)
		return fade_cells<Cell>(from, bytes, half_lives, to);
	else
		return fade_cells_one_by_one<Cell>(from, bytes, half_lives, to);
}

template <sb_simd variant>
SB_KERNEL passed fade_flat_kernel(const unsigned char *from, size_t bytes, int cell_bits, int half_lives,
								  unsigned char *to)
{
	switch (cell_bits)
	{
		case 8:
			return fade_flat_of<uint8_t>(from, bytes, half_lives, to);
		case 16:
			return fade_flat_of<uint16_t>(from, bytes, half_lives, to);
		case 32:
			return fade_flat_of<uint32_t>(from, bytes, half_lives, to);
		default:
			return fade_flat_of<uint64_t>(from, bytes, half_lives, to);
	}
}
static passed fade_flat(const unsigned char *from, size_t bytes, int cell_bits, int half_lives, unsigned char *to);
SB_VARIANTS(passed, fade_flat,
			(const unsigned char *from, size_t bytes, int cell_bits, int half_lives, unsigned char *to),
			(from, bytes, cell_bits, half_lives, to))

/*
 * Returns 0 if all counters are 0, else any other number. If decay is by more half-lives than a cell has bits, every
 * counter becomes 0, and decay needs to know no more of the counters than this.
 */
template <sb_simd variant>
SB_KERNEL uint64_t any_bits_kernel(const unsigned char *from, size_t bytes)
{
	uint64_t any = 0;
	for (size_t i = 0; i < bytes; i += 8)
		any |= load_le<uint64_t>(from + i);
	return any;
}
static uint64_t any_bits(const unsigned char *from, size_t bytes);
SB_VARIANTS(uint64_t, any_bits, (const unsigned char *from, size_t bytes), (from, bytes))

template <typename From, typename To>
SB_KERNEL void narrow_cells(const unsigned char *from, size_t count, unsigned char *to)
{
	constexpr size_t many = at_once / sizeof(To);
	if constexpr (std::endian::native == std::endian::little)
		for (size_t i = 0; i < count; i += many)
		{
			typename vector_of<From, many * sizeof(From)>::type wide;
			std::memcpy(&wide, from + i * sizeof(From), sizeof wide);
			auto small = __builtin_convertvector(wide, typename vector_of<To, at_once>::type);
			std::memcpy(to + i * sizeof(To), &small, sizeof small);
		}
	else
		for (size_t i = 0; i < count; i++)
			store_le(to + i * sizeof(To), static_cast<To>(load_le<From>(from + i * sizeof(From))));
}

template <typename From>
SB_KERNEL void narrow_from(const unsigned char *from, size_t count, int to_bits, unsigned char *to)
{
	if constexpr (sizeof(From) > 4)
		if (to_bits == 32)
			return narrow_cells<From, uint32_t>(from, count, to);
	if constexpr (sizeof(From) > 2)
		if (to_bits == 16)
			return narrow_cells<From, uint16_t>(from, count, to);
	narrow_cells<From, uint8_t>(from, count, to);
}

/*
 * Copies cells to a smaller width. `to` may be `from`, or lie before it. REQUIRES: to_bits < from_bits; all counters
 * fit.
 */
template <sb_simd variant>
SB_KERNEL void narrow_flat_kernel(const unsigned char *from, size_t count, int from_bits, int to_bits,
								  unsigned char *to)
{
	if (from_bits == 16)
		narrow_from<uint16_t>(from, count, to_bits, to);
	else if (from_bits == 32)
		narrow_from<uint32_t>(from, count, to_bits, to);
	else
		narrow_from<uint64_t>(from, count, to_bits, to);
}
static void narrow_flat(const unsigned char *from, size_t count, int from_bits, int to_bits, unsigned char *to);
SB_VARIANTS(void, narrow_flat, (const unsigned char *from, size_t count, int from_bits, int to_bits, unsigned char *to),
			(from, count, from_bits, to_bits, to))

static_assert(bytes_at_once % (SB_TBF_MIN_BLOCK * 8) == 0, "a piece is whole vectors, of cells of any width");

static sb_status decay_flat(const sb_tbf *tbf, const unsigned char *cells, uint64_t half_lives, sb_tbf *out,
							unsigned char *to)
{
	const size_t bytes = counters_size(tbf);
	const unsigned width = tbf->cell_bits / 8u;
	passed found = {};
	sb_status status = in_pieces(bytes, bytes_at_once, [&](size_t first, size_t count) {
		passed part = {};
		if (half_lives <= tbf->cell_bits)
			part = fade_flat(cells + first, count, tbf->cell_bits, static_cast<int>(half_lives), to + first);
		else
		{
			part.dropped = any_bits(cells + first, count);
			std::memset(to + first / width, 0, count / width);
		}
		found.left |= part.left;
		found.dropped |= part.dropped;
	});
	if (status != SB_OK)
		return status;
	if (found.dropped != 0)
		out->flags |= SB_TBF_FORGOTTEN;
	out->cell_bits = narrowest_cell(found.left);
	if (found.left >= SB_TBF_MAX_CELL)
		return SB_BAD_CELLS;
	if (out->cell_bits >= tbf->cell_bits || found.left == 0)
		return SB_OK;
	return in_pieces(static_cast<size_t>(sb_tbf_cells(tbf)), bytes_at_once / 8, [&](size_t first, size_t count) {
		narrow_flat(to + first * width, count, tbf->cell_bits, out->cell_bits, to + first * (out->cell_bits / 8u));
	});
}

/* --------------------------------------------------------------- extensible */

/* Returns how many bytes of room decaying the counters needs. The decayed counters may take fewer bytes in the end. */
static size_t room_for_counters(const sb_tbf *tbf, const void *cells)
{
	size_t room = counters_size(tbf);
	if (tbf->layout == SB_TBF_EXTENSIBLE)
		room += decayed_excess * count_packed_blocks(tbf, cells);
	return std::min<size_t>(room, SB_MAX_BYTES - SB_TBF_HEADER);
}

static sb_status decay_extensible(const sb_tbf *tbf, const void *cells, uint64_t half_lives, sb_tbf *out, void *to)
{
	gathered block;
	cell_packer packer(*tbf, to, room_for_counters(tbf, cells));
	const uint64_t far = std::min<uint64_t>(half_lives, 63);
	for (uint32_t i = 0; i < tbf->block_count; i++)
	{
		if (stop_wanted())
			return SB_INTERRUPTED;
		if (sb_status status = gather_block(tbf, cells, i, &block); status != SB_OK)
			return status;
		uint64_t largest = 0;
		if (block.count != 0 && fade(&block, tbf->block_cells, far, &largest))
			out->flags |= SB_TBF_FORGOTTEN;
		packer.add(&block, largest);
	}
	return packer.finish(out);
}

/* -------------------------------------------------------------------- exact */

static sb_status write_list(const sb_tbf *tbf, const void *cells, uint64_t half_lives, sb_tbf *out, unsigned char *to)
{
	const unsigned char *list = static_cast<const unsigned char *>(cells) + counters_size(tbf);
	return has_list(tbf) ? decay_list(tbf, list, half_lives, to + counters_size(out), &out->extra) : SB_OK;
}

static sb_status decay_exact(const sb_tbf *tbf, const void *cells, uint64_t half_lives, const sb_memory *to,
							 size_t in_front, sb_tbf *out, void **value)
{
	value_block block(to, in_front);
	const uint64_t far = std::min<uint64_t>(half_lives, 63);
	sb_status status = change_exact_value(tbf, cells, to, &block, out, [=](exact_item *item) {
		const bool stays = item->units > UINT64_C(1) << (far - 1);
		item->units = stays ? shift_right_up(item->units, far) : 0;
		if (!stays)
			out->flags |= SB_TBF_FORGOTTEN;
		return SB_OK;
	});
	if (status == SB_OK)
		status = write_list(tbf, cells, half_lives, out, block.cells());
	if (status == SB_OK)
		block.hand_over(out, value);
	return status;
}

/* --------------------------------------------------------------------- both */

/* Returns the half-lives from the filter's base to the time `at`; 0 if there is nothing to do. */
static uint64_t half_lives_until(const sb_tbf *tbf, int64_t at)
{
	if (tbf->half_life == 0 || (tbf->flags & SB_TBF_HAS_HITS) == 0)
		return 0;
	sb_moment moment;
	sb_tbf_moment(tbf->half_life, tbf->epoch, at, &moment);
	return moment.half_lives <= tbf->base ? 0 : static_cast<uint64_t>(moment.half_lives - tbf->base);
}

/* Decays the counters. REQUIRES: *out is a copy of *tbf with the new base; `to` has room_for_counters() bytes. */
static sb_status decay_counters(const sb_tbf *tbf, const void *cells, uint64_t half_lives, sb_tbf *out,
								unsigned char *to)
{
	if (tbf->layout == SB_TBF_EXTENSIBLE)
		return tbf->payload == 0 ? SB_OK : decay_extensible(tbf, cells, half_lives, out, to);
	return decay_flat(tbf, static_cast<const unsigned char *>(cells), half_lives, out, to);
}

sb_status sb_tbf_decay(const sb_tbf *tbf, const void *cells, int64_t at, const sb_memory *to, size_t in_front,
					   sb_tbf *out, void **value) noexcept
{
	*out = *tbf;
	*value = nullptr;
	const uint64_t j = half_lives_until(tbf, at);
	if (j == 0)
		return SB_OK;

	/*
	 * A counter that becomes 0 now loses at most half a unit at the new base; SB_TBF_FORGOTTEN stands for this half
	 * unit. What an earlier decay dropped has decayed since, and is less than half a unit now. So slack and flag are
	 * the same after two decays as after a single one.
	 */
	out->base += static_cast<int64_t>(j);
	out->slack = shift_right_up(tbf->slack, j);
	out->total = shift_right_up(tbf->total, j);

	if (is_exact(tbf))
		return decay_exact(tbf, cells, j, to, in_front, out, value);

	/*
	 * tbf->extra bytes after the counters are enough: the list of hot items does not get longer. (Filters with a table
	 * of recurring minimum have no half-life.)
	 */
	value_block block(to, in_front);
	sb_status status = block.allocate(room_for_counters(tbf, cells) + tbf->extra);
	if (status == SB_OK)
		status = decay_counters(tbf, cells, j, out, block.cells());
	if (status == SB_OK)
		status = write_list(tbf, cells, j, out, block.cells());
	if (status == SB_OK)
		block.hand_over(out, value);
	return status;
}
