/*
 * tbf_sums_minimum.cpp: minimum increase and recurring minimum, the two ways of counting that look at an item's
 * smallest cell. A cell has a word in each plane; a plane has the sums of 16 half-lives (tbf_sums.hpp).
 */
#include "base/bits.hpp"
#include "streambloom.h"
#include "tbf/tbf_place.hpp"
#include "tbf/tbf_sums.hpp"

#include <algorithm>

using namespace streambloom;

/* ---------------------------------------------------------- minimum increase */

namespace {

/*
 * Minimum increase (Cohen, Matias 2003, section 3.2; conservative update, Estan, Varghese 2002): a hit is added to
 * the item's smallest cell only. Other cells of the item are raised to the new value if they are below it. A cell's
 * value is its words in all planes, read as one number.
 *
 * Why an item is never undercounted: each of its cells, plus all that was dropped (slack, dropped_loss), is at least
 * its hits.
 *  - The inequality still holds after a hit. For the hit's own item: each of its cells is at least the old value of its
 *    smallest cell plus the hit. For other items: no cell becomes smaller.
 *  - When a plane falls out, each cell loses its word of that plane, and dropped_loss grows by the plane's `loss`. No
 *    word is larger than that `loss`: a raised cell gets a copy of another cell's words plus the hit, and the builder
 *    calls sums_note_hit(), which adds the hit to the loss as well, before a plane falls out. Items of an exact filter
 *    are noted with the largest of their counts, but several may pile up in a cell: `piles_up`. (To add only the
 *    difference between a cell's old and new value, in the hit's plane, would be correct too. But the difference may
 *    have digits that only the words of older planes have.)
 *  - Storing, decay and widening are monotonic: if one counter is not larger than another, it does not become larger.
 *    Merging adds counters up. So the inequality survives all of these, as it does for sums.
 */
struct cell_words
{
	uint64_t plane[SB_TBF_PLANES];
};

} // namespace

/* Returns the words of a cell in all planes. The type Block is a pointer to the words of a block, or a block_place. */
template <typename Block>
static cell_words words_of(const Block *block, uint16_t cell)
{
	cell_words words;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		words.plane[i] = block[i] ? block[i][cell] : 0;
	return words;
}

static u128 value_of(const cell_words &words)
{
	return aligned([&](int i) { return words.plane[i]; });
}

/*
 * Compares by value. Of two equal values, the value with more in older planes counts as smaller, because it will lose
 * more when planes fall out. So two cells are equal only if all their words are equal.
 */
static bool is_below(const cell_words &a, const cell_words &b)
{
	u128 left = value_of(a);
	u128 right = value_of(b);
	if (left != right)
		return left < right;
	return std::lexicographical_compare(a.plane, a.plane + SB_TBF_PLANES, b.plane, b.plane + SB_TBF_PLANES);
}

sb_status streambloom::sums_raise_item(tbf_sums *sums, const sb_tbf *tbf, int index, uint64_t hash, int64_t half_lives,
									   uint64_t value, bool piles_up)
{
	if (index < 0)
		return sums_add_item(sums, tbf, index, hash, half_lives, value);

	uint64_t amount;
	if (sb_status status = shifted(value, place_in_plane(half_lives), &amount); status != SB_OK)
		return status;
	uint16_t positions[SB_TBF_MAX_HASHES];
	block_place block[SB_TBF_PLANES];
	places_of_block(sums, block_of(tbf->block_count, hash), block);
	positions_of(tbf->block_cells, tbf->hash_count, hash, positions);
	cell_words least = words_of(block, positions[0]);
	for (int i = 1; i < tbf->hash_count; i++)
		if (cell_words words = words_of(block, positions[i]); is_below(words, least))
			least = words;
	if (sb_status status = add_to_word(&least.plane[index], amount); status != SB_OK)
		return status;
	for (int i = 0; i < SB_TBF_PLANES && piles_up; i++)
		accumulate(&sums->loss[i], least.plane[i] > sums->loss[i] ? least.plane[i] - sums->loss[i] : 0);
	return sums_raise_item_to(sums, tbf, hash, least.plane);
}

/*
 * Raises the item's cells to a value; `words` has the value's word in each plane. Each cell below this value gets all
 * of these words, even a word that is smaller than the cell's old word in that plane. set(plane, cell, word) is called
 * for each plane in which the block has memory.
 */
template <typename Block, typename Set>
static void raise_cells(const Block *block, const sb_tbf *tbf, uint64_t hash, const uint64_t *words, const Set &set)
{
	uint16_t positions[SB_TBF_MAX_HASHES];
	cell_words wanted;

	std::memcpy(wanted.plane, words, sizeof wanted.plane);
	positions_of(tbf->block_cells, tbf->hash_count, hash, positions);
	for (int i = 0; i < tbf->hash_count; i++)
		if (is_below(words_of(block, positions[i]), wanted))
			for (int j = 0; j < SB_TBF_PLANES; j++)
				if (block[j])
					set(j, positions[i], wanted.plane[j]);
}

sb_status streambloom::sums_raise_item_to(tbf_sums *sums, const sb_tbf *tbf, uint64_t hash, const uint64_t *words)
{
	block_place block[SB_TBF_PLANES];
	const uint32_t of_item = block_of(tbf->block_count, hash);
	for (int i = 0; i < SB_TBF_PLANES; i++)
		if (words[i] != 0)
			if (sb_status status = hold_cells(sums->cells[i], of_item, tbf->hash_count); status != SB_OK)
				return status;
	places_of_block(sums, of_item, block);
	raise_cells(block, tbf, hash, words, [&](int plane, uint16_t cell, uint64_t word) {
		if (word != 0 || block[plane][cell] != 0)
			*word_at(sums->cells[plane], of_item, cell) = word;
	});
	return SB_OK;
}

void streambloom::raise_within_block(uint64_t *const *block, const sb_tbf *tbf, uint64_t hash, const uint64_t *words)
{
	raise_cells(block, tbf, hash, words, [=](int plane, uint16_t cell, uint64_t word) { block[plane][cell] = word; });
}

/* --------------------------------------------------------- recurring minimum */

sb_status streambloom::sums_recurring_minimum(const tbf_sums *sums, const sb_tbf *tbf, uint64_t hash, bool *recurs,
											  uint64_t *minimum)
{
	uint16_t positions[SB_TBF_MAX_HASHES];
	block_place block[SB_TBF_PLANES];
	uint16_t where = 0;
	u128 least = ~u128{0};

	places_of_block(sums, block_of(tbf->block_count, hash), block);
	positions_of(tbf->block_cells, tbf->hash_count, hash, positions);
	*recurs = false;
	for (int i = 0; i < tbf->hash_count; i++)
	{
		u128 value = value_of(words_of(block, positions[i]));
		if (value < least)
		{
			least = value;
			where = positions[i];
			*recurs = false;
		}
		else if (value == least && positions[i] != where)
			*recurs = true;
	}

	/*
	 * `least` is in 2^-12 hits at the first half-life of the oldest plane. There is no decay here, so all hits are in
	 * the plane of half-life 0: the digits of older planes, all 0, are cut off.
	 */
	least >>= half_lives_above_oldest(sums, 0);
	*minimum = static_cast<uint64_t>(std::min(least, u128{SB_TBF_MAX_CELL}));
	return *recurs || least < SB_TBF_MAX_CELL ? SB_OK : SB_OVERFLOW;
}
