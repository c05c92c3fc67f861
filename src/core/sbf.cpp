/*
 * sbf.cpp: what is the Stable Bloom filter's own (Deng, Rafiei 2006): eviction at random. An ibf of the schemes two_class
 * and multi_class evicts in the same way.
 *
 * The authors decrement P cells drawn one by one, or, they remark, one drawn and the P - 1 next to it. We do the latter: each
 * cell loses 1 with the same probability p = P/m a step, which is all that the stable point depends on, an item's cells are
 * far apart, and one random number and some three words of memory serve all P cells (test/unit/sbf_test.cpp compares).
 */
#include "stable.hpp"

using namespace streambloom;

uint64_t sb_stable_draw(uint64_t *state) noexcept
{
	*state += random_step;
	return mix(*state);
}

namespace streambloom {

void decrement_cells(const sb_stable *stable, unsigned char *cells, uint64_t first, uint64_t count)
{
	const unsigned bits = stable->bits;
	const unsigned group = cells_of_group(bits);
	const uint64_t lowest = lowest_bits.of[bits];
	const size_t size = stable_payload(stable);
	uint64_t bit = first * bits;

	while (count > 0)
	{
		auto taken = static_cast<unsigned>(std::min<uint64_t>(count, group));
		size_t at = static_cast<size_t>(bit / 8);
		unsigned shift = bit % 8;
		uint64_t word = load_up_to(cells + at, size - at);
		uint64_t fields = word >> shift & low_mask(taken * bits);

		/* a field that loses 1 is at least 1, so nothing is borrowed from its neighbour */
		store_up_to(cells + at, size - at, word - (nonzero_fields(fields, bits, lowest) << shift));
		count -= taken;
		bit += static_cast<uint64_t>(taken) * bits;
	}
}

void evict_run(sb_stable *stable, unsigned char *cells)
{
	uint64_t first = multiply_high(sb_stable_draw(&stable->random), stable->cells);
	uint64_t before_end = std::min<uint64_t>(stable->evictions, stable->cells - first);

	decrement_cells(stable, cells, first, before_end);
	decrement_cells(stable, cells, 0, stable->evictions - before_end);
}

} // namespace streambloom

void sb_stable_evict_scattered(sb_stable *stable, void *cells) noexcept
{
	if (stable->scheme == SB_VALUE_WEIGHTED)
		return;
	for (uint32_t i = 0; i < stable->evictions; i++)
		decrement_cells(stable, static_cast<unsigned char *>(cells),
						multiply_high(sb_stable_draw(&stable->random), stable->cells), 1);
}
