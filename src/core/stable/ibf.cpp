/*
 * ibf.cpp: what only the Importance-aware Bloom filter has (Bhoraskar, Gabale, P. Kulkarni, D. Kulkarni 2013): the
 * values to which importances are mapped, and eviction by value (IBF-H).
 */
#include "stable/stable.hpp"

using namespace streambloom;

/*
 * This is the only place where a calculation with doubles decides what is stored. All machines get the same result:
 * IEEE 754 rounds each subtraction, division and multiplication in one way, and there is no addition to a product,
 * which a compiler might turn into a fused multiply-add.
 */
uint8_t sb_stable_value_of(const sb_stable *stable, double importance) noexcept
{
	const int max = (1 << stable->bits) - 1;
	switch (stable->scheme)
	{
		case SB_STABLE:
			return static_cast<uint8_t>(max);
		case SB_TWO_CLASS:
			return static_cast<uint8_t>(importance >= stable->low ? max : max / 2);
		default:
			break;
	}
	if (!(importance > stable->low))
		return 1;
	if (importance >= stable->high)
		return static_cast<uint8_t>(max);
	double share = (importance - stable->low) / (stable->high - stable->low);
	int step = static_cast<int>(share * max); /* it is not negative, so the cast is floor() */
	return static_cast<uint8_t>(std::min(max, step + 1));
}

namespace streambloom {

/*
 * A non-zero cell is evicted with a probability inversely proportional to its value: any cell is drawn, and taken with
 * the probability 1/value. One random number serves both: the high half of the product with m is the cell, and the low
 * half is uniform and independent of it. This is repeated until P cells were evicted, but at most SB_STABLE_TRIES * P
 * times, so that a step in a nearly empty filter does not take long. Fewer than P cells may be evicted then.
 */
void evict_by_value(sb_stable *stable, unsigned char *cells)
{
	uint64_t tries = static_cast<uint64_t>(stable->evictions) * SB_STABLE_TRIES;
	for (uint32_t left = stable->evictions; left > 0 && tries > 0; tries--)
	{
		u128 product = static_cast<u128>(draw(&stable->random)) * stable->cell_count;
		auto cell = static_cast<uint64_t>(product >> 64);
		uint8_t value = get_cell(cells, stable->bits, cell);
		if (value == 0 || static_cast<uint64_t>(product) > UINT64_MAX / value)
			continue;
		put_cell(cells, stable->bits, cell, static_cast<uint8_t>(value - 1));
		left--;
	}
}

} // namespace streambloom
