/*
 * tbf_flat.cpp: the flat layout of B-TBF (Cheng et al. 2005, Fig. 1): each counter is 8, 16, 32 or 64 bits wide, the
 * narrowest width that holds the largest counter of the filter. It is a layout of stored values only: builders and
 * decay make extensible counters, of which sb_tbf_set_layout() makes flat ones.
 */
#include "base/stop.hpp"
#include "tbf/tbf_builder.hpp"
#include "tbf/tbf_value.hpp"

#include <algorithm>

using namespace streambloom;

/* Calls work() with a 0 of the type of the filter's cells. */
template <typename Work>
static void for_width(const sb_tbf *tbf, Work work)
{
	switch (tbf->cell_bits)
	{
		case 8:
			return work(uint8_t{0});
		case 16:
			return work(uint16_t{0});
		case 32:
			return work(uint32_t{0});
		default:
			return work(uint64_t{0});
	}
}

void streambloom::unpack_flat(const sb_tbf *tbf, const unsigned char *block, uint64_t *counters)
{
	for_width(tbf, [=]<typename Cell>(Cell) {
		for (uint32_t i = 0; i < tbf->block_cells; i++)
			counters[i] = load_le<Cell>(block + i * sizeof(Cell));
	});
}

uint64_t streambloom::flat_min(const sb_tbf *tbf, const unsigned char *block, const uint16_t *positions)
{
	uint64_t least = UINT64_MAX;
	for_width(tbf, [&]<typename Cell>(Cell) {
		for (int i = 0; i < tbf->hash_count; i++)
			least = std::min<uint64_t>(least, load_le<Cell>(block + positions[i] * sizeof(Cell)));
	});
	return least;
}

static sb_status write_flat(const sb_tbf *tbf, const void *cells, const sb_tbf *flat, unsigned char *out)
{
	block_counters counters;
	for (uint32_t block = 0; block < tbf->block_count; block++, out += flat_block_size(flat))
	{
		if (sb_status status = stop_wanted() ? SB_INTERRUPTED : unpack_block(tbf, cells, block, counters);
			status != SB_OK)
			return status;
		for_width(flat, [&]<typename Cell>(Cell) {
			for (uint32_t i = 0; i < flat->block_cells; i++)
				store_le(out + i * sizeof(Cell), static_cast<Cell>(counters[i]));
		});
	}
	return SB_OK;
}

sb_status sb_tbf_set_layout(const sb_tbf *tbf, const void *cells, uint8_t layout, const sb_memory *to, size_t in_front,
							sb_tbf *out, void **value) noexcept
{
	*out = *tbf;
	*value = nullptr;
	if (is_exact(tbf))
		return store_as_cells(tbf, cells, layout, to, in_front, out, value);
	if (layout == tbf->layout)
		return SB_OK;
	out->layout = layout;
	out->payload = 0;
	value_block block(to, in_front);
	sb_status status;
	if (layout == SB_TBF_FLAT)
	{
		status = sb_tbf_size(out) > SB_MAX_BYTES ? SB_TOO_LARGE : block.allocate(sb_tbf_size(out) - SB_TBF_HEADER);
		if (status == SB_OK)
			status = write_flat(tbf, cells, out, block.cells());
	}
	else
		status = pack_value(&block, out, counters_size(tbf), [=](uint32_t index, gathered *counters, uint64_t *largest) {
			return gather_block(tbf, cells, index, counters, largest);
		});
	if (status == SB_OK)
		status = in_pieces(tbf->extra, bytes_at_once, [&](size_t first, size_t count) {
			const unsigned char *from = static_cast<const unsigned char *>(cells) + counters_size(tbf) + first;
			std::memcpy(block.cells() + counters_size(out) + first, from, count);
		});
	if (status == SB_OK)
		block.hand_over(out, value);
	return status;
}
