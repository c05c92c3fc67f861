/*
 * ibf.cpp: what is the Importance-aware Bloom filter's own (Bhoraskar, Gabale, P. Kulkarni, D. Kulkarni 2013): the values
 * that importances map to, and eviction by value (IBF-H).
 */
#include "stable/stable.hpp"

using namespace streambloom;

/*
 * The one place where a double decides what is stored. Subtraction, division, multiplication are each rounded as IEEE 754
 * says, and no product is added to anything (which a compiler might contract): all machines agree.
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
	int step = static_cast<int>(share * max); /* not negative, so that is its floor */
	return static_cast<uint8_t>(std::min(max, step + 1));
}

namespace streambloom {

/*
 * A non-zero cell is chosen with probability inversely proportional to its value: draw any cell, take it with probability
 * 1/value. One draw serves both: the high half of draw * m is the cell, the low half is uniform beside it. P times, in at
 * most SB_STABLE_TRIES * P tries, so that a nearly empty filter does not make a step long: fewer may be evicted then.
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
