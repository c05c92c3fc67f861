/*
 * tbf_sums.hpp: exact sums of hits, one for each item or for each cell. A sum is split over *planes* of 16 half-lives
 * each. In each plane it has a *word* of 64 bits. The newest four planes are kept, and older ones *fall out*.
 *
 * tbf_sums.cpp adds hits to sums and combines sums, tbf_sums_weighted.cpp adds stored filters with weights to sums, and
 * tbf_sums_store.cpp rounds sums and stores them.
 */
#ifndef STREAMBLOOM_TBF_SUMS_HPP
#define STREAMBLOOM_TBF_SUMS_HPP

#include "base/bits.hpp"
#include "base/hash_set.hpp"
#include "base/simd.hpp"
#include "streambloom.h"
#include "tbf/tbf_place.hpp"

#include <algorithm>

namespace streambloom {

/* ----------------------------------------------- a plane of cells (tbf_plane.cpp) */

/*
 * The cells of a plane are divided into the blocks of the filter: each has SB_TBF_BLOCK cells, except if there is only
 * one block, which may have fewer. A plane allocates memory for each block apart:
 *
 *  - A block to which nothing was added has only two NULL pointers.
 *  - A block of SB_TBF_BLOCK cells of which few hold something, up to about most_few, has a list of these cells with
 *    their sums, except if never_few is set.
 *  - Any other block has a word for each of its cells.
 *
 * So the memory of a builder depends mostly on how many cells hold something, not on how many cells its filter has.
 */

/*
 * The list of a block is a hash table with open addressing, with the cell's number as hash: cell c lies at place c *
 * places / SB_TBF_BLOCK, or if this was taken, at the first place after it that was free. At least a fourth of the
 * places is free.
 */
struct few_cells
{
	uint16_t places; /* length of the table; behind the struct lie that many words, then that many cell numbers */
	uint16_t used;
	uint16_t promised; /* how many free places hold_cells() keeps for cells that are about to be added */
	uint16_t size;	   /* index of `places` in the table of sizes */
};

constexpr uint16_t no_cell = UINT16_MAX;

/*
 * If more cells of a block than this hold something, the block has a word for each cell. So does any block of fewer
 * than SB_TBF_BLOCK cells.
 */
constexpr uint32_t most_few = 768;
constexpr int sizes_of_few = 13;

struct cell_plane
{
	uint64_t **block; /* for each block its words; NULL: it has a list, or all its sums are zero */
	few_cells **few;  /* for each block its list, or NULL */
	uint32_t block_count;
	uint32_t block_cells;
	uint32_t full;	/* blocks that have words */
	uint32_t spare; /* blocks for which there is memory at `next`, but that have no words yet */
	bool never_few; /* set if items have most_few / 2 or more positions a block, on average: no block gets a list */
	uint64_t *next;
	size_t list_bytes; /* size of all pieces of memory for lists */
	size_t list_left;  /* bytes that are still free in the newest of these pieces, at `next_list` */
	unsigned char *next_list;
	few_cells *free_list[sizes_of_few]; /* lists that are free, by size; each begins with the address of the next */
	void *pieces;						/* list of all pieces of memory; each begins with the address of the next */
	sb_memory memory;
};

/* Makes a plane of zeros with as many cells as `tbf`. SB_NO_MEMORY, SB_INTERRUPTED: *out is NULL. */
[[nodiscard]] sb_status make_cell_plane(const sb_memory *memory, const sb_tbf *tbf, cell_plane **out);
void release_cell_plane(cell_plane *plane); /* plane may be NULL */

/*
 * Estimates how many bytes the plane's cells would take as extensible counters: a byte for each cell of a block with
 * words, and a fourth of the memory of the lists (more than three bytes for each cell in a list). That is nearly always
 * enough, except for blocks whose lists have few cells: the bitmap of such a block alone takes cells / 8 bytes
 * (tbf_cells.cpp).
 */
inline uint64_t usual_bytes(const cell_plane *plane)
{
	return uint64_t{plane->full} * plane->block_cells + plane->list_bytes / 4;
}

/*
 * Gives words to a block that has none. Cells that were in its list keep their sums; all other words are zero.
 * SB_NO_MEMORY: the block has no words, and its list is as it was.
 */
[[nodiscard]] sb_status give_words(cell_plane *plane, uint32_t block);

[[nodiscard]] inline sb_status hold_block(cell_plane *plane, uint32_t block)
{
	return plane->block[block] != nullptr ? SB_OK : give_words(plane, block);
}

/*
 * Makes room for `count` more cells in a block without words: in its list, or as words if the list would get too long
 * or the block must not have one (never_few, or fewer than SB_TBF_BLOCK cells). Room that was promised before stays
 * promised until word_at() or add_shifted_few() is called for the block. SB_NO_MEMORY: the block holds what it held.
 */
[[nodiscard]] sb_status promise_cells(cell_plane *plane, uint32_t block, uint32_t count);

[[nodiscard]] inline sb_status hold_cells(cell_plane *plane, uint32_t block, uint32_t count)
{
	return plane->block[block] != nullptr ? SB_OK : promise_cells(plane, block, count);
}

/*
 * Makes room for the cells of many items, as hold_cells() does in one block. *full becomes true if all blocks of these
 * items have words, so that add_items() (tbf_sums.cpp) can add to them without looking for lists.
 */
[[nodiscard]] sb_status hold_items(cell_plane *plane, int hash_count, const uint64_t *hashes, size_t count, bool *full);

/*
 * find_word() returns the word of a cell in a list, or NULL if the list does not have the cell. add_word() adds a
 * missing cell, with the word 0, before it returns the word. add_word() REQUIRES: hold_cells() has made room.
 */
const uint64_t *find_word(const few_cells *few, uint32_t cell);
uint64_t *add_word(cell_plane *plane, uint32_t block, uint32_t cell);

/*
 * Returns the word of a cell. The pointer is valid until the next call of a function that makes room. REQUIRES:
 * hold_cells() has made room.
 */
inline uint64_t *word_at(cell_plane *plane, uint32_t block, uint32_t cell)
{
	return plane->block[block] != nullptr ? &plane->block[block][cell] : add_word(plane, block, cell);
}

/*
 * Returns the words of a block, or NULL if it holds nothing. If the block has a list, its words are written to `room`,
 * which has a word for each cell.
 */
const uint64_t *read_block(const cell_plane *plane, uint32_t block, uint64_t *room);

/*
 * Adds words[i] * 2^shift, 0 <= shift < 62, to cell i of a block that has a list and no words. Returns false if a sum
 * is too large for a word. *largest is raised to the largest amount that was added. REQUIRES: hold_cells() has made
 * room for all words that are not 0.
 */
bool add_shifted_few(cell_plane *plane, uint32_t block, const uint64_t *words, int shift, uint64_t *largest);

/* Returns how many of `count` words are not 0. REQUIRES: count is a multiple of 4. */
uint32_t count_words(const uint64_t *words, uint32_t count);

/* The words of one block of a plane, for reading single ones. */
struct block_place
{
	const uint64_t *words;
	const few_cells *few;

	explicit operator bool() const { return words != nullptr || few != nullptr; }
	uint64_t operator[](uint32_t cell) const
	{
		if (words != nullptr)
			return words[cell];
		const uint64_t *word = few != nullptr ? find_word(few, cell) : nullptr;
		return word != nullptr ? *word : 0;
	}
};

/* plane may be NULL */
inline block_place place_of_block(const cell_plane *plane, uint32_t block)
{
	return plane != nullptr ? block_place{plane->block[block], plane->few[block]} : block_place{};
}

/* ------------------------------------------------------------------- the sums */

/* The sums of 16 half-lives. */
struct plane_sums
{
	uint32_t column;   /* of items: their words are the column with this number beside the set's hashes; 0: none */
	cell_plane *cells; /* of cells; NULL: all are 0 */
	sb_u128 total;
	sb_u128 slack;
	sb_u128 loss; /* an upper bound of what any one item loses if the plane falls out */
};

/*
 * The sums in a builder: exact integers in 2^-12 hits, one sum for each item of a set, and one for each cell. When hits
 * of newer half-lives come, the oldest planes fall out: their words are dropped. All that is kept here is sums,
 * maximums or minimums of integers, so the result does not depend on the order of rows or the number of workers. (There
 * is one exception, minimum increase: see tbf_in_order.cpp.) REQUIRES: zeroed at first.
 */
struct tbf_sums
{
	plane_sums planes[SB_TBF_PLANES]; /* [i] is the plane with the number newest_plane - i */
	sb_hash_set set;				  /* the items; slots is NULL if there are only cells */
	uint32_t fallen;				  /* bit c: column c fell out; it is cleared before it is used again */
	/*
	 * The sum of the totals of all planes that fell out, and that of their losses and slacks. Both count in the scale
	 * of plane newest_plane - 4. They are not rescaled when another plane falls out and newest_plane grows, so they are
	 * upper bounds.
	 */
	sb_u128 dropped_total;
	sb_u128 dropped_loss;
	int64_t newest_plane;
	int64_t newest_half_life; /* the newest half-life of all that was added, counted since 2000 */
	int64_t oldest_base;	  /* the lowest base of all filters merged */
	int64_t newest;			  /* start of the epoch of the newest hit */
	bool any;				  /* something was added */
	bool merged;			  /* filters were merged: oldest_base is valid */
	bool fractions;			  /* some sum may not be a whole number of hits */
};

inline bool has_items(const tbf_sums *sums)
{
	return sums->set.slots != nullptr;
}

/* The words of items in plane i: that of slot s is at hash_set_place(s, set.beside). NULL: all are 0. */
inline uint64_t *words_of_items(const tbf_sums *sums, int i)
{
	return sums->planes[i].column != 0 ? sums->set.slots + size_t{4} * sums->planes[i].column : nullptr;
}

/* Copies the words of these slots in plane i. REQUIRES: words_of_items() is not NULL. */
inline void read_words(const tbf_sums *sums, int i, const uint64_t *slots, size_t count, uint64_t *out)
{
	const uint64_t *words = words_of_items(sums, i);
	for (size_t j = 0; j < count; j++)
		out[j] = words[hash_set_place(slots[j], sums->set.beside)];
}

/*
 * Let p = floor(half_lives / 16) be the number of the plane of this half-life. If p is greater than newest_plane, or
 * nothing was added before, plane p becomes the newest; in the first case the oldest planes fall out. Returns the index
 * that plane p has now, 0 .. 3, or -1 if it is older than all planes kept.
 */
int sums_turn(tbf_sums *sums, int64_t half_lives);

/* If `wanted` is greater than newest_plane, makes it the newest: for each new plane the oldest one falls out. */
void sums_make_room(tbf_sums *sums, int64_t wanted);

/* Gives items words in plane `index`, 0 .. 3, if they have none there. SB_NO_MEMORY, SB_INTERRUPTED. */
[[nodiscard]] sb_status make_column(tbf_sums *sums, const sb_memory *memory, int index);

/*
 * Adds hits of one half-life to sums of items, in order: inserts each item into the set and adds the value to its
 * word, until the set has no room. Returns how many hits it has taken. *status is SB_OVERFLOW if the last of these
 * did not fit into its word. REQUIRES: hash_set_has_room(); make_column() was called for `index`.
 */
size_t sums_add_hits(tbf_sums *sums, int index, int64_t half_lives, const uint64_t *hashes, const uint64_t *values,
					 size_t count, sb_status *status);

/*
 * Adds hits of many items to all their cells in a plane; all hits are of one half-life, whose place in the plane is
 * `place`. Prefetches the cells of the next items while it adds to those before. SB_OVERFLOW: some of the hits were
 * added, the last of them perhaps not to all of its cells. SB_NO_MEMORY: no hit was added.
 */
[[nodiscard]] sb_status add_to_plane(cell_plane *plane, int hash_count, int place, const uint64_t *hashes,
									 const uint64_t *values, size_t count);

/*
 * Notes a hit, or several hits of one moment whose values add up to `value`. Adds the value to the total and the loss
 * of the plane with this index (-1: to those of the planes that fell out), and notes the time and whether the value is
 * a whole number of hits. Adds nothing to the sums of items or cells.
 */
void sums_note_hit(tbf_sums *sums, int index, const sb_moment *moment, uint64_t value);

/*
 * Checks whether the total of the sums would still fit a filter's header after `count` more hits of this value.
 * SB_TOTAL_OVERFLOW: it would not fit.
 */
[[nodiscard]] sb_status sums_check_total(const tbf_sums *sums, const sb_moment *moment, uint64_t value, uint64_t count);

/*
 * Fills in the header of a filter that stores the sums at this base: a copy of `tbf` with the base, the times, total
 * and slack. SB_TOTAL_OVERFLOW, SB_OVERFLOW: the total or the slack does not fit.
 */
[[nodiscard]] sb_status sums_describe(const tbf_sums *sums, const sb_tbf *tbf, int64_t base, sb_tbf *out);

/* The weight of a filter that is merged: factor * 2^exponent. */
struct filter_weight
{
	uint64_t factor; /* odd and below 2^33, or 0 */
	int exponent;
};

/*
 * Splits a weight into factor and exponent. Weights that are whole numbers or have at most 14 binary digits are exact;
 * others are rounded up to 14 digits (by less than 2^-13 of themselves). SB_OUT_OF_RANGE: the weight is NaN, below 0,
 * or SB_TBF_MAX_WEIGHT or more.
 */
[[nodiscard]] sb_status make_filter_weight(double weight, filter_weight *out);

/*
 * A stored filter is added, times a weight, in two steps.
 *
 * sums_turn_for_weighted() makes room for the planes to which the filter's counters are added. Large counters (as a
 * rule, those of 64 bits) are split into parts of 16 binary digits, and each part goes to a plane of its own. *planes
 * is the number of these planes, 1 to 4. The newest of them is at most one plane newer than the plane of the filter's
 * newest hit or of its base, whichever is later. The function returns the index of the oldest of these planes; the
 * index of each newer one is lower by 1. If the index of a plane is above 3, the plane has fallen out; else the caller
 * has to make it. The result is -1 if all of the planes have fallen out. If the filter has no hits, or the weight is 0,
 * the result is -1, too; then *planes is 0, and the sums stay as they are.
 *
 * sums_add_weighted() gets this result as `index`, and adds the cells and the totals. It notes the totals even if all
 * of the planes have fallen out. The planes have the cells of `tbf`; `filter` has as many, or 2^j times fewer. Amounts
 * are rounded up, in units of 2^-44 hits at the base or smaller ones, so that amounts far below a hit keep their
 * proportions.
 */
int sums_turn_for_weighted(tbf_sums *sums, const sb_tbf *filter, const filter_weight *weight, int *planes);
[[nodiscard]] sb_status sums_add_weighted(tbf_sums *sums, const sb_tbf *tbf, int index, const sb_tbf *filter,
										  const void *cells, const filter_weight *weight);

/*
 * Takes the place of sums_add_weighted() for an exact filter. The constructor notes the filter's totals. next() gives
 * its items to the caller; words(j) has part j of each item's count (large counts are split, see above). The caller
 * adds these words to the plane with the index plane_of_part(j), as amounts at the first half-life of that plane. If
 * plane_of_part(j) is -1, the plane has fallen out, and the words are dropped. At the end the caller calls
 * note_losses().
 */
class weighted_items
{
public:
	weighted_items(tbf_sums *sums, int index, const sb_tbf *filter, const void *cells, const filter_weight *weight);

	/* Reads the next items; *count is 0 after the last one. May return SB_BAD_CELLS, SB_OVERFLOW. */
	[[nodiscard]] sb_status next(size_t *count);
	const uint64_t *hashes() const { return reader_.hashes(); }
	int parts() const { return parts_; }
	/* The index of the plane to which part j goes now, or -1 if that plane has fallen out. */
	int plane_of_part(int j) const;
	const uint64_t *words(int part) const { return words_[part]; }

	void note_losses() const;

private:
	tbf_sums *sums_;
	exact_reader reader_;
	int64_t plane_ = 0; /* the plane of part 0, counted from 2000; part j goes to plane_ + j */
	uint64_t factor_;
	int parts_ = 0;
	int64_t shift_ = 0;
	uint64_t largest_[SB_TBF_PLANES] = {};
	uint64_t words_[SB_TBF_PLANES][exact_reader::at_once];
};

/*
 * The first step of adding `other` to `sums`: adds all that is not in words (totals, slacks, losses, times). If the
 * newest plane of `other` is newer than that of `sums`, older planes of `sums` fall out. Then the caller adds the words
 * of `other`, plane by plane.
 */
void sums_combine_notes(tbf_sums *sums, const tbf_sums *other);

/*
 * Returns the index in `sums` of plane i of `other`, or -1 if that plane has fallen out. To be called after
 * sums_combine_notes().
 */
int sums_matching_plane(const tbf_sums *sums, const tbf_sums *other, int i);

/*
 * to += from, cell by cell. `from` may have 2^j times fewer cells: then each of its cells is added to 2^j cells of
 * `to`. So if `to` is a new plane of zeros, it becomes `from`, widened. SB_NO_MEMORY, SB_INTERRUPTED, SB_OVERFLOW: a
 * part of `from` was added.
 */
[[nodiscard]] sb_status add_cell_plane(cell_plane *to, const cell_plane *from);

/* Adds words[i] to cell i of a block, for all cells. */
[[nodiscard]] sb_status add_block_words(cell_plane *plane, uint32_t block, const uint64_t *words);

/*
 * Turns the sums of cells and of items into extensible counters of a filter with the cells of `tbf`, in up to `room`
 * bytes from `cells` on. Each sum is rounded only once, up. The cells of the sums may be 2^j times fewer. *out becomes
 * the header, for which base, unit and times are chosen. SB_OVERFLOW: a counter or the slack does not fit,
 * SB_TOTAL_OVERFLOW: the total does not. SB_TOO_LARGE: the value would have more than SB_MAX_BYTES, or out->payload
 * bytes are more than `room`. May return SB_INTERRUPTED.
 *
 * The bytes are the same as if the hits of items had been added to cells. `set` is sums->set or a copy of it; NULL:
 * there are no items. REQUIRES: if the set has a secret, its member `sorted` is what hash_set_sort() gave.
 */
[[nodiscard]] sb_status sums_store(const tbf_sums *sums, const sb_hash_set *set, const sb_tbf *tbf, sb_tbf *out,
								   void *cells, size_t room);

/*
 * Makes the header of an exact filter of the set's items, except for the fields that describe_items() sets, and lists
 * the items, sorted by hash, with their counts, rounded up. Leaves out items whose count is 0; *count is the number of
 * the others. SB_OVERFLOW, SB_TOTAL_OVERFLOW. REQUIRES: `items` has room for all items of the set, which has at most
 * SB_TBF_EXACT_ITEMS.
 */
[[nodiscard]] sb_status sums_list_items(const tbf_sums *sums, const sb_tbf *tbf, sb_tbf *out, exact_item *items,
										uint32_t *count);

/*
 * Packs the words of one plane in the form of extensible counters, so that it can be sent to another process. The
 * plane has the cells of `tbf`. unpack_block() with *out gives the words back. out->payload becomes the number of
 * bytes. SB_TOO_LARGE: these are more than `room`, or more than a value may have. May also return SB_INTERRUPTED.
 */
[[nodiscard]] sb_status sums_pack_plane(const cell_plane *plane, const sb_tbf *tbf, sb_tbf *out, void *cells,
										size_t room);

inline int64_t plane_of(int64_t half_lives)
{
	return floor_divide(half_lives, SB_TBF_PLANE);
}

inline int place_in_plane(int64_t half_lives)
{
	return static_cast<int>(half_lives - plane_of(half_lives) * SB_TBF_PLANE);
}

/*
 * Totals of weighted filters could exceed 128 bits. Therefore a sum that reaches this number stays there, in whatever
 * order its terms come. No stored filter can have such a total: it is an overflow when the filter is stored. (To
 * reach it by hits alone would need 2^65 rows.)
 */
constexpr u128 too_much = u128{1} << 126;

/* Adds `amount` to a total, a slack or a loss. The sum stops at too_much. */
inline void accumulate(sb_u128 *sum, u128 amount)
{
	*sum = std::min(std::min(u128{*sum}, too_much) + std::min(amount, too_much), too_much);
}

/* word += value. SB_OVERFLOW: the sum would reach SB_TBF_MAX_CELL, and nothing was added. */
inline sb_status add_to_word(uint64_t *word, uint64_t value)
{
	if (value >= SB_TBF_MAX_CELL - *word)
		return SB_OVERFLOW;
	*word += value;
	return SB_OK;
}

inline sb_status shifted(uint64_t value, int shift, uint64_t *out)
{
	if (value >= SB_TBF_MAX_CELL >> shift)
		return SB_OVERFLOW;
	*out = value << shift;
	return SB_OK;
}

/* Adds `amount` to all cells of an item. `block` are the words of the item's block, `cells` of them. */
SB_KERNEL sb_status add_to_cells(uint64_t *block, uint32_t cells, int hash_count, uint64_t hash, uint64_t amount)
{
	uint16_t positions[SB_TBF_MAX_HASHES];
	positions_of(cells, hash_count, hash, positions);
	for (int i = 0; i < hash_count; i++)
		if (sb_status status = add_to_word(&block[positions[i]], amount); status != SB_OK)
			return status;
	return SB_OK;
}

/*
 * Returns the words of a cell or an item in all planes as one number, in 2^-12 hits at the first half-life of the
 * oldest plane kept. word(i) returns the word in plane i.
 */
template <typename Word>
inline u128 aligned(Word word)
{
	u128 sum = 0;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		sum += static_cast<u128>(word(i)) << (SB_TBF_PLANE * (SB_TBF_PLANES - 1 - i));
	return sum;
}

inline u128 aligned(const uint64_t *const *plane, uint64_t word)
{
	return aligned([=](int i) { return plane[i] != nullptr ? plane[i][word] : 0; });
}

inline uint64_t half_lives_above_oldest(const tbf_sums *sums, int64_t base)
{
	return static_cast<uint64_t>(base - (sums->newest_plane - (SB_TBF_PLANES - 1)) * SB_TBF_PLANE);
}

/*
 * Returns how many bytes of room to offer for packing extensible counters in one pass, if the blocks are expected to
 * take `bytes` bytes. For the blocks it offers at most a byte for each cell: counters rarely take that much, even if
 * far more items came than were expected. (If they do, it takes more passes.) The bytes of the directory are added.
 */
inline size_t usual_room(const sb_tbf *plan, uint64_t bytes)
{
	return size_t{4} * plan->block_count + static_cast<size_t>(std::min(bytes, sb_tbf_cells(plan))) + 256;
}

using four_words = int64_t __attribute__((vector_size(32))); /* nothing here reaches 2^63, except in an overflow */

} // namespace streambloom

#endif
