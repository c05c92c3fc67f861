/*
 * tbf_sums.hpp: what the files on sums of hits share: filling and combining (tbf_sums.cpp), storing
 * (tbf_sums_store.cpp), minimum increase and recurring minimum (tbf_sums_minimum.cpp).
 */
#ifndef STREAMBLOOM_TBF_SUMS_HPP
#define STREAMBLOOM_TBF_SUMS_HPP

#include "base/bits.hpp"
#include "base/simd.hpp"
#include "streambloom.h"
#include "tbf/tbf_exact.hpp"
#include "tbf/tbf_place.hpp"
#include "tbf/tbf_plane.hpp"

#include <algorithm>

namespace streambloom {

/*
 * The in-memory state of tbf_agg and tbf_merge_agg: per cell (or per item, while few are known) exact integer sums in
 * 2^-12 hits, in planes of 16 half-lives, of which the newest four are kept. The sums of items are words beside the
 * hashes of a set, which the caller owns; those of cells are planes of their own. An absent plane is NULL and means
 * zeros. Everything in here is a sum or a maximum of integers, so the order of rows and the number of workers leave no
 * trace. REQUIRES: zeroed at first.
 */
struct tbf_sums
{
	uint64_t *plane[SB_TBF_PLANES]; /* of items: [i] is plane number newest_plane - i */
	uint64_t *
		fallen[SB_TBF_PLANES]; /* of items: planes that fell out, with their old words: to be cleared, and used again */
	cell_plane *cells[SB_TBF_PLANES]; /* of cells: [i] as above; one that falls out is released */
	uint64_t width;					  /* words in each plane */
	uint32_t beside;				  /* of items: word i lies at hash_set_place(i, beside), that of the set */
	sb_u128 total[SB_TBF_PLANES];
	sb_u128 slack[SB_TBF_PLANES];
	sb_u128 loss[SB_TBF_PLANES]; /* what one item loses at most if the plane falls out */
	sb_u128 dropped_total;		 /* total and loss of what fell out, as if it were in the newest plane not kept */
	sb_u128 dropped_loss;
	int64_t newest_plane;
	int64_t newest_half_life; /* the greatest floor(x) of anything added */
	int64_t oldest_base;	  /* of filters merged */
	int64_t newest;			  /* start of the epoch of the newest hit */
	bool any;				  /* something was added */
	bool merged;			  /* oldest_base counts */
	bool fractions;			  /* some sum is no whole number of hits */
};

/*
 * Makes plane floor(half_lives / 16) the newest if it is newer, dropping what falls out; returns its index 0 .. 3, or
 * -1 if it is older than all that are kept. Where there is no such plane yet the caller makes one: of cells by
 * make_cell_plane(), of items it takes one that fell out (sums_take_fallen()), or if there is none adds one to the set,
 * zeroed.
 */
int sums_turn(tbf_sums *sums, int64_t half_lives);

/* Makes room for this plane, if it is newer than the newest: as many of the oldest fall out. */
void sums_make_room(tbf_sums *sums, int64_t wanted);

/*
 * A plane of items that fell out, cleared; NULL: there is none. SB_INTERRUPTED: it is still among those that fell out.
 */
[[nodiscard]] sb_status sums_take_fallen(tbf_sums *sums, uint64_t **out);

/* Adds a value (2^-12 hits, before the shift) to one word of a plane of items that sums_turn() gave. */
[[nodiscard]] sb_status sums_add_word(tbf_sums *sums, int index, uint64_t word, int64_t half_lives, uint64_t value);

/*
 * Hits of one half-life on items of a set, of whose slots the words are the sums: adds the items to the set and the
 * values to their words, in order, until there is no room in the set; returns how many. REQUIRES: hash_set_has_room();
 * index >= 0; the plane is one of those beside the hashes.
 */
size_t sums_add_hits(tbf_sums *sums, sb_hash_set *set, int index, int64_t half_lives, const uint64_t *hashes,
					 const uint64_t *values, size_t count, sb_status *status);

/*
 * The same for all cells of an item; index -1: of no cell. SB_NO_MEMORY: nothing was added.
 * REQUIRES: the planes have the cells of tbf.
 */
[[nodiscard]] sb_status sums_add_item(tbf_sums *sums, const sb_tbf *tbf, int index, uint64_t hash, int64_t half_lives,
									  uint64_t value);

/*
 * Many items, in any order, whose hits are all of one half-life. The cells of those to come are asked for while others
 * are added to. SB_OVERFLOW: then some of them are in, and the sums are of no use. SB_NO_MEMORY: none of them is in.
 * REQUIRES: index >= 0.
 */
[[nodiscard]] sb_status sums_add_items(tbf_sums *sums, const sb_tbf *tbf, int index, int64_t half_lives,
									   const uint64_t *hashes, const uint64_t *values, size_t count);

/*
 * Minimum increase (Cohen, Matias 2003): the same, but the item's smallest cell becomes so much larger and the others
 * are only raised to that where they are below it. The result depends on the order of hits. For filters with
 * SB_TBF_MINIMUM_INCREASE; REQUIRES as above.
 */
[[nodiscard]] sb_status sums_raise_item(tbf_sums *sums, const sb_tbf *tbf, int index, uint64_t hash, int64_t half_lives,
										uint64_t value);

/*
 * Raises the item's cells to these words (SB_TBF_PLANES of them, one of each plane) where they are below: each cell
 * becomes the largest of what it is raised to, in whatever order. For going over from sums of items to sums of cells.
 * SB_NO_MEMORY: nothing was raised. REQUIRES: a plane where a word is not zero, and no word larger than sums->loss of
 * its plane.
 */
[[nodiscard]] sb_status sums_raise_item_to(tbf_sums *sums, const sb_tbf *tbf, uint64_t hash, const uint64_t *words);

/* The same within one block, of whose words in each plane these are (NULL: there are none, and words[i] is 0). */
void raise_within_block(uint64_t *const *block, const sb_tbf *tbf, uint64_t hash, const uint64_t *words);

/*
 * Recurring minimum (Cohen, Matias 2003): do at least two different cells of the item hold its smallest value, which
 * goes to *minimum (2^-12 hits)? SB_OVERFLOW if they do not and the value is SB_TBF_MAX_CELL or more.
 * REQUIRES: no decay; something was added to the item's cells.
 */
[[nodiscard]] sb_status sums_recurring_minimum(const tbf_sums *sums, const sb_tbf *tbf, uint64_t hash, bool *recurs,
											   uint64_t *minimum);

/* Notes a hit in the totals (once a hit, beside the cells). */
void sums_note_hit(tbf_sums *sums, int index, const sb_moment *moment, uint64_t value);

/*
 * Would the total of the sums still fit a header, if so many hits of this value were noted? SB_TOTAL_OVERFLOW: it would
 * not.
 */
[[nodiscard]] sb_status sums_check_total(const tbf_sums *sums, const sb_moment *moment, uint64_t value, uint64_t count);

/*
 * The header of a filter that holds the sums at this base, as far as it follows from the notes: out begins as a copy of
 * tbf. SB_TOTAL_OVERFLOW, SB_OVERFLOW: total or slack do not fit.
 */
[[nodiscard]] sb_status sums_describe(const tbf_sums *sums, const sb_tbf *tbf, int64_t base, sb_tbf *out);

/* A weight by which filters are merged: factor * 2^exponent. */
struct filter_weight
{
	uint64_t factor; /* odd and below 2^33, or 0 */
	int exponent;
};

/*
 * Whole weights, and others of at most 14 binary digits, are kept as they are; others are rounded up to 14 digits (by
 * less than 2^-13 of themselves). SB_OUT_OF_RANGE: NaN, below 0, or SB_TBF_MAX_WEIGHT and more.
 */
[[nodiscard]] sb_status make_filter_weight(double weight, filter_weight *out);

/*
 * To add a stored filter times a weight takes two steps.
 *
 * sums_turn_for_weighted() makes room for its planes. A filter without hits, or of weight 0, leaves no trace: then it
 * changes nothing and returns -1. Large counters (of 64 bits, as a rule) are split into parts of 16 binary digits, one
 * for each of `planes` planes, 1 to 4: from the plane of the base up to the one after that of the newest hit. The
 * indices of these planes are index, index - 1, ...; an index that is not 0 .. 3 is that of a plane which has fallen
 * out. The caller then allocates the planes that are NULL.
 *
 * sums_add_weighted() adds cells and totals. It notes the totals even if index is -1. The filter may be smaller by a
 * power of two than `tbf`, whose cells the planes have. Amounts are rounded up, in units of 2^-44 hits at the base or
 * smaller ones, so that those far below a hit keep their proportions.
 */
int sums_turn_for_weighted(tbf_sums *sums, const sb_tbf *filter, const filter_weight *weight, int *planes);
[[nodiscard]] sb_status sums_add_weighted(tbf_sums *sums, const sb_tbf *tbf, int index, const sb_tbf *filter,
										  const void *cells, const filter_weight *weight);

/*
 * The same for an exact filter: the second step notes its totals when it begins, and gives its items to the caller, who
 * adds them to the planes; then note_losses(). The words of part j belong into plane index - j, if there is one (else
 * they have fallen out), at its first half-life.
 */
class weighted_items
{
public:
	weighted_items(tbf_sums *sums, int index, const sb_tbf *filter, const void *cells, const filter_weight *weight);

	/* The next items; *count is 0 after the last one. SB_BAD_CELLS, SB_OVERFLOW. */
	[[nodiscard]] sb_status next(size_t *count);
	const uint64_t *hashes() const { return reader_.hashes(); }
	int parts() const { return parts_; }
	int plane_of_part(int j) const { return index_ - j < SB_TBF_PLANES ? std::max(index_ - j, -1) : -1; }
	const uint64_t *words(int part) const { return words_[part]; }

	void note_losses() const;

private:
	tbf_sums *sums_;
	exact_reader reader_;
	int index_;
	uint64_t factor_;
	int parts_ = 0;
	int64_t shift_ = 0;
	uint64_t largest_[SB_TBF_PLANES] = {};
	uint64_t words_[SB_TBF_PLANES][exact_reader::at_once];
};

/*
 * Adds what is not in the planes' words (totals, slack, times) and makes other's newest plane known to sums.
 * For combining two states: call it first, then add other's words plane by plane.
 */
void sums_combine_notes(tbf_sums *sums, const tbf_sums *other);

/* The index in sums of other's plane i, or -1 if it has fallen out. After sums_combine_notes(). */
int sums_matching_plane(const tbf_sums *sums, const tbf_sums *other, int i);

/*
 * to += from: planes of cells, where `from` may have fewer of them by a power of two, each then standing for 2^j of the
 * other's. As a plane of more cells is made of zeros, this widens, too. SB_NO_MEMORY, SB_INTERRUPTED, SB_OVERFLOW: some
 * are added.
 */
[[nodiscard]] sb_status add_cell_plane(cell_plane *to, const cell_plane *from);

/* Adds these words to those of a block. */
[[nodiscard]] sb_status add_block_words(cell_plane *plane, uint32_t block, const uint64_t *words);

/*
 * Rounds the sums once, up, to stored counters. The plan chooses base, unit and the width of a cell (out begins as a
 * copy of tbf); write fills the cells. SB_OVERFLOW if a counter does not fit, SB_TOTAL_OVERFLOW if the total does not,
 * SB_TOO_LARGE if the value would have more than SB_MAX_BYTES (out is filled then too).
 *
 * The words are those of the cells of tbf (set is NULL), or of the slots of a set of items: those become cells here, to
 * the same bytes as if they had been added to cells. REQUIRES of a set: the planes are beside its hashes, no filter was
 * merged, and if it has a secret, `sorted` is what hash_set_sort() gave.
 */
[[nodiscard]] sb_status sums_plan(const tbf_sums *sums, const sb_hash_set *set, const sb_tbf *tbf, sb_tbf *out);
[[nodiscard]] sb_status sums_write(const tbf_sums *sums, const sb_hash_set *set, const sb_tbf *planned, void *cells);

/*
 * Both in one, with one pass less over the sums, for who has room to spare: fills *out and the cells, to the same
 * bytes. SB_TOO_LARGE if they need more than `room` bytes, which sums_plan() would tell: then what was written is of no
 * use.
 */
[[nodiscard]] sb_status sums_store(const tbf_sums *sums, const sb_hash_set *set, const sb_tbf *tbf, sb_tbf *out,
								   void *cells, size_t room);

/*
 * The same for an exact filter, of the items of a set: what its header says of the sums (all but what describe_items()
 * tells); and the items with their counts in units at that base, rounded up, sorted by hash: *count of them, as those
 * without any count are left out. SB_OVERFLOW. REQUIRES: out has room for all of the set, which has at most
 * SB_TBF_EXACT_ITEMS.
 */
[[nodiscard]] sb_status sums_plan_exact(const tbf_sums *sums, const sb_hash_set *set, const sb_tbf *tbf, sb_tbf *out);
[[nodiscard]] sb_status sums_list_items(const tbf_sums *sums, const sb_hash_set *set, const sb_tbf *planned,
										exact_item *out, uint32_t *count);

/*
 * The words of one plane, of the cells of tbf, packed as extensible counters are, to be sent: unpack_block() with *out
 * gives them back. out->payload is how many bytes they take. SB_TOO_LARGE: more than `room`, or than a value may have.
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
 * Totals of weighted filters could leave 128 bits. They stop at a number that no stored filter can have instead: an
 * overflow, whatever the order. (Hits alone would need 2^65 rows.)
 */
constexpr u128 too_much = u128{1} << 126;

/* Adds to a total, a slack or a loss, which stays at too_much once it is that much. */
inline void accumulate(sb_u128 *sum, u128 amount)
{
	*sum = std::min(std::min(u128{*sum}, too_much) + std::min(amount, too_much), too_much);
}

/* word += value, unless it would reach SB_TBF_MAX_CELL. */
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

/* Adds to all cells of an item, which are in this block, of which these are all words. */
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
 * The words of a cell or an item in all planes as one number, in 2^-12 hits at the first half-life of the oldest plane
 * kept.
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

/* Where the words of one block are in each plane. */
inline void places_of_block(const tbf_sums *sums, uint32_t block, block_place *places)
{
	for (int i = 0; i < SB_TBF_PLANES; i++)
		places[i] = place_of_block(sums->cells[i], block);
}

inline uint64_t half_lives_above_oldest(const tbf_sums *sums, int64_t base)
{
	return static_cast<uint64_t>(base - (sums->newest_plane - (SB_TBF_PLANES - 1)) * SB_TBF_PLANE);
}

/*
 * Room to pack extensible counters into at once, which are expected to take so many bytes beside the directory: they
 * hardly ever need a byte a cell, even where far more items came than were expected.
 */
inline size_t usual_room(const sb_tbf *plan, uint64_t bytes)
{
	const uint64_t cells = uint64_t{plan->block_count} * plan->block_cells;
	return size_t{4} * plan->block_count + static_cast<size_t>(std::min(bytes, cells)) + 256;
}

using four_words = int64_t __attribute__((vector_size(32))); /* nothing here reaches 2^63 unless it is an overflow */

} // namespace streambloom

#endif
