/*
 * sbf.cpp: the eviction at random of the Stable Bloom filter (Deng, Rafiei 2006). An ibf of the schemes two_class and
 * multi_class evicts in the same way.
 *
 * The authors decrement P cells that are drawn one by one. As an alternative they mention one cell that is drawn and
 * the P - 1 cells next to it. evict_run() does this. Each cell still loses 1 with the probability p = P/m in a step,
 * and the share of zero cells to which a filter tends depends only on this probability. The cells of an item are far
 * apart, so it does not matter that neighbours lose 1 together. With evict_run() one random number and a run of a few
 * words of memory serve all P cells (test/unit/sbf_test.cpp compares both ways).
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
	{
		const uint64_t cell = multiply_high(draw(&stable->random), stable->cell_count);
		decrement_cells(cells, stable_payload(stable), stable->bits, cell, 1);
	}
}

} // namespace streambloom
