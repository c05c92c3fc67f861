/*
 * sbf.cpp: what is the Stable Bloom filter's own (Deng, Rafiei 2006): eviction at random. An ibf of the schemes two_class
 * and multi_class evicts in the same way.
 *
 * The authors decrement P cells drawn one by one, or, they remark, one drawn and the P - 1 next to it. We do the latter: each
 * cell loses 1 with the same probability p = P/m a step, which is all that the stable point depends on, an item's cells are
 * far apart, and one random number and some three words of memory serve all P cells (test/unit/sbf_test.cpp compares).
 */
#include "stable/stable.hpp"

using namespace streambloom;

namespace streambloom {

void evict_run(sb_stable *stable, unsigned char *cells)
{
	decrement_run(cells, stable_payload(stable), stable->bits, stable->cell_count,
				  multiply_high(draw(&stable->random), stable->cell_count), stable->evictions);
}

void evict_scattered(sb_stable *stable, unsigned char *cells)
{
	for (uint32_t i = 0; i < stable->evictions; i++)
		decrement_cells(cells, stable_payload(stable), stable->bits, multiply_high(draw(&stable->random), stable->cell_count), 1);
}

} // namespace streambloom
