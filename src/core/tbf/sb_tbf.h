/*
 * sb_tbf.h: the Time-decaying Bloom filter, the type tbf of SQL, as it is stored. Part of streambloom.h.
 *
 * A tbf counts: how often did this item come, if what came long ago counts less? It does so for all items of a stream,
 * in some bytes per item. It is the filter of Cheng, Iwaihara, Xiang, Ushijima 2005 (Efficient Web Profiling by
 * Time-Decaying Bloom Filters): a Bloom filter (bf/sb_bf.h) with counters in the place of bits. A counter is called a
 * *cell*, and each item has hash_count cells, which its hash chooses. A *hit* is one arrival of an item, with a
 * weight, mostly 1. It raises all cells of the item. (The options SB_TBF_MINIMUM_INCREASE and SB_TBF_RECURRING_MINIMUM
 * vary that.) The count of an item is the smallest of its cells. Other items can only raise cells, so a count is never
 * too low. It is too high only if each cell of the item is raised by other items, too: the probability of that is at
 * most `fpr`, as long as the filter has no more items than it was planned for. Rounding adds a little.
 *
 * Decay: a hit counts half as much after each *half-life*. It fades in steps, the *epochs*, which all hits share (Fig.
 * 1 of the paper). Nothing has to be done for that. All counts fade by the same factor, so their ratios do not change:
 * instead of lowering all old hits, a new hit is added with a higher weight, 2^x, where x is the time of its epoch in
 * half-lives. Stored counters are relative to one moment, the *base*: a counter is the number of hits as they counted
 * at the base. A count at any other time is computed from it when it is asked for (sb_tbf_count()). tbf_clock.cpp does
 * this arithmetic.
 *
 * As time goes on, counters become large numbers at an old base. sb_tbf_decay() moves the base to a later half-life,
 * and sets counters that become very small to 0. A builder drops hits that are very much older than the newest one
 * (tbf_sums.hpp). The *slack* is an upper bound of what any one item has lost in these two ways (sb_tbf_slack()). It is
 * added to each count, so that no count is too low.
 *
 * What is stored has one of three forms:
 *
 *  - flat: all cells, with the same number of bits (Fig. 1)
 *  - extensible: only cells that are not 0, in as few bits as each needs (the purpose of Fig. 3; tbf_cells.cpp)
 *  - exact: up to SB_TBF_EXACT_ITEMS items of a filter that sizes itself: their hashes with their counts, and no cells
 *
 * A tbf cannot list its items, unless it keeps a list of hot items (at the end of this file). A hit can be taken back, but only one
 * that is known to be there (sb_tbf_remove()).
 *
 * Units: times are microseconds since 2000-01-01 UTC. Stored counters are in *units* of 2^-unit_bits hits, all other
 * amounts in 2^-12 hits. Amounts are rounded up. An item has all its cells in one *block* of SB_TBF_BLOCK cells, so
 * that a look-up reads one block (tbf.cpp).
 *
 * Go on with tbf_clock.cpp, with sb_tbf_builder.h for adding hits and merging filters, and with docs/tbf.md for users.
 */
#ifndef STREAMBLOOM_SB_TBF_H
#define STREAMBLOOM_SB_TBF_H

#include "base/sb_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SB_TBF_HEADER 128		/* bytes of the header */
#define SB_TBF_MAX_HASHES 16
#define SB_TBF_BLOCK 4096		/* cells of a block; a filter of one block may have fewer */
#define SB_TBF_MIN_BLOCK 64
#define SB_TBF_MAX_CELLS (UINT64_C(1) << 27)
#define SB_TBF_HIT_BITS 12		/* sums in memory, slack and total are in 2^-12 hits */
/*
 * Stored counters of a filter that decays, or that has hits with fractions, count in 1/16 hits (exact: in 2^-12 hits).
 * Those of any other filter count whole hits.
 */
#define SB_TBF_UNIT_BITS 4
#define SB_TBF_MAX_SPREAD 32	/* half-lives by which the base of a merged filter may lie before its newest hit */
#define SB_TBF_MAX_CELL (UINT64_C(1) << 62)	/* counters, and the words of sums, are below this */
#define SB_TBF_MAX_TIME (INT64_C(1) << 60)	/* microseconds before or after 2000; also the longest half-life or epoch */

/* sb_tbf.layout; stored. */
#define SB_TBF_FLAT 0
#define SB_TBF_EXTENSIBLE 1

/* Bits of sb_tbf.flags; stored. */
#define SB_TBF_HAS_HITS 1		/* there are hits, so that base and newest mean something */
#define SB_TBF_FORGOTTEN 2		/* decay has set counters to 0; each may be too low by up to half a unit */
#define SB_TBF_MINIMUM_INCREASE 4	/* parameter: a hit raises only those counters that would otherwise be too small */
#define SB_TBF_RECURRING_MINIMUM 8	/* parameter: a table counts items whose smallest counter is in one cell only */
/* the exact form: the filter has items instead of cells; `layout` is that of the cells that it may get later */
#define SB_TBF_EXACT 16
#define SB_TBF_OPTIONS (SB_TBF_MINIMUM_INCREASE | SB_TBF_RECURRING_MINIMUM)

#define SB_TBF_EXACT_ITEMS 65536	/* a filter that sizes itself stores up to this many items exactly */
#define SB_TBF_MAX_TOP 10000	/* entries of a list of hot items */

/* The header of a tbf, decoded. */
typedef struct sb_tbf
{
	sb_kind		kind;
	uint16_t	flags;
	uint32_t	block_count;	/* exact: 0 */
	uint16_t	block_cells;	/* SB_TBF_BLOCK; a power of two from 64 on if there is only one block; exact: 0 */
	uint32_t	item_count;		/* exact: the items that are stored, 0 .. SB_TBF_EXACT_ITEMS; else 0 */
	uint8_t		hash_count;
	uint8_t		layout;			/* SB_TBF_FLAT or SB_TBF_EXTENSIBLE */
	uint8_t		cell_bits;		/* bits of a flat cell: 8, 16, 32 or 64, the narrowest that holds the largest counter */
	uint8_t		unit_bits;		/* a stored counter of 1 means 2^-unit_bits hits at the base: 0 or 4; exact: 0 or 12 */
	uint8_t		widened;		/* the smallest filter that was merged into this one had 2^widened times fewer cells */
	int64_t		half_life;		/* microseconds; 0: the filter does not decay */
	int64_t		epoch;			/* microseconds; 0 if the filter does not decay */
	int64_t		base;			/* the moment for which counters are written down: half-lives since 2000-01-01 UTC */
	int64_t		newest;			/* start of the epoch of the newest hit; microseconds since 2000-01-01 UTC */
	/* the most that was dropped of any one item, without the half unit of SB_TBF_FORGOTTEN; 2^-12 hits at the base */
	uint64_t	slack;
	uint64_t	total;			/* all hits, decayed: 2^-12 hits at the base, rounded up */
	uint64_t	expected_items;
	double		fpr;
	uint32_t	payload;		/* extensible, exact: bytes of directory and blocks, 0 without counters; flat: 0 */
	uint32_t	extra;			/* bytes after the counters: the list of hot items, or the table of recurring minimum */
	uint16_t	top;			/* parameter: the most entries of the list of hot items; 0: none is kept */
} sb_tbf;

/*
 * The start of an epoch, as a place on the decaying scale. Let x be this start in half-lives since 2000-01-01 UTC. A
 * hit of the epoch weighs 2^x, which is 2^half_lives * scale / 2^62. That weight is rounded up, by less than 1e-9 of
 * itself.
 */
typedef struct sb_moment
{
	int64_t		half_lives;		/* floor(x); without decay 0 */
	uint64_t	scale;			/* 2^62 .. 2^63: 2^62 * 2^(x - floor(x)), rounded up */
	/* 2^62 .. 2^63: 2^125 / scale, too large by less than 1e-9 of itself; exactly 2^63 if scale is 2^62 */
	uint64_t	inverse;
	int64_t		epoch_start;	/* microseconds; without decay 0 */
} sb_moment;

/*
 * Sets *out to the moment of the time `at`: the start of the epoch that `at` lies in, so that decay happens at epoch
 * boundaries that all hits share (Cheng et al. 2005, Fig. 1). Let T be `epoch`, E = floor(at / T), and x = E * T /
 * half_life. Then half_lives is floor(x), and scale is 2^62 * 2^(x - floor(x)), rounded up. Without decay half_lives is
 * 0 and scale is 2^62. The arithmetic uses only integers, so the result is the same on every machine. REQUIRES:
 * sb_tbf_plan() accepts half_life and epoch, |at| <= SB_TBF_MAX_TIME.
 */
void		sb_tbf_moment(int64_t half_life, int64_t epoch, int64_t at, sb_moment *out) SB_NOEXCEPT;

/*
 * Sets *out to the value of a hit of this weight: weight * 2^12 * moment->scale / 2^62, rounded up. So it is in 2^-12
 * hits at the start of the moment's half-life. SB_OUT_OF_RANGE if the weight is NaN, infinite or below 0. SB_OVERFLOW
 * if the value is too large: 2^46 or more. The value of a weight up to 2^33 - 1 always fits.
 */
SB_NODISCARD sb_status sb_tbf_hit(const sb_moment *moment, double weight, uint64_t *out) SB_NOEXCEPT;

/*
 * Sets *out to the parameters of a filter for up to `items` distinct items: the probability that it counts an item too
 * high is at most `fpr`. half_life and epoch are 1 .. SB_TBF_MAX_TIME microseconds, or both 0: then nothing decays.
 *
 * If `self_sized` is true, the filter sizes itself: expected_items is 0, and the number of cells is a power of two. If
 * `items` is 0 as well, *out describes an exact filter, which has no cells yet. If `self_sized` is false, a large
 * number of blocks is rounded up to nine significant binary digits, as sb_bf_plan() does with lines.
 *
 * SB_OUT_OF_RANGE: `items` is 0 and self_sized is false; `fpr` is NaN or lies outside SB_BF_MIN_FPR .. SB_BF_MAX_FPR;
 * or half_life or epoch is out of its range. SB_TOO_LARGE: the filter would need more than SB_TBF_MAX_CELLS cells. A
 * plan takes almost no time if this thread's last plan was for the same rate; see sb_bf_plan().
 */
SB_NODISCARD sb_status sb_tbf_plan(uint64_t items, double fpr, int64_t half_life, int64_t epoch, bool self_sized,
								   sb_tbf *out) SB_NOEXCEPT;

uint64_t	sb_tbf_cells(const sb_tbf *tbf) SB_NOEXCEPT;
size_t		sb_tbf_size(const sb_tbf *tbf) SB_NOEXCEPT;	/* of the whole value */
void		sb_tbf_encode_header(const sb_tbf *tbf, void *out) SB_NOEXCEPT;

/*
 * Does for a tbf what sb_bf_decode_header() does for a bf. SB_TOO_LARGE: a value with this header would have more than
 * SB_MAX_BYTES. sb_tbf_check() checks the bytes after the header.
 */
SB_NODISCARD sb_status sb_tbf_decode_header(const void *data, size_t have, size_t total, sb_tbf *out) SB_NOEXCEPT;

/*
 * Checks everything after the header: the counters, and the table of recurring minimum or the list of hot items. Call
 * it once for each value that comes from outside. The other functions of the core are safe without it. Here and in
 * all functions below, `cells` are the bytes that follow the header. SB_BAD_CELLS: the counters or the table are
 * wrong. SB_BAD_LIST, SB_BAD_LENGTH: the list is wrong. May also return SB_INTERRUPTED.
 */
SB_NODISCARD sb_status sb_tbf_check(const sb_tbf *tbf, const void *cells) SB_NOEXCEPT;

/*
 * Returns the count, at the time `at`, of an item whose smallest counter is `units`. To these units sb_tbf_slack() is
 * added. The sum, in hits at the base, is multiplied by 2^(base - x) and rounded up; x is the start of the epoch of
 * `at` in half-lives since 2000. Returns infinity if `at` lies so far before the base that the count exceeds the range
 * of double.
 */
double		sb_tbf_count(const sb_tbf *tbf, uint64_t units, int64_t at) SB_NOEXCEPT;

/* Returns the decayed total of all hits at the time `at`, rounded up; infinity if that exceeds the range of double. */
double		sb_tbf_total(const sb_tbf *tbf, int64_t at) SB_NOEXCEPT;

/*
 * Returns an upper bound of the share of items that are counted too high by more than `over` hits at the time `at`.
 * Every count contains the slack; t = over - slack is left for the hits of other items. The bound is (k W / (m t))^k,
 * at most 1, where W is the total at the time `at` and m is the number of cells: Markov's inequality for each of the k
 * cells. If t <= 0, the bound is 1. For an exact filter the bound is 1 if t < 0, else 0. NaN unless over > 0.
 *
 * The bound takes an item's cells as independent, and hits as spread evenly over the blocks; if a few items have most
 * of the hits, it may be too low. It does not cover rounding, by which a counter grows by less than a unit each time
 * the value is stored. Nor does it cover an item whose k positions are the same cells two by two: it counts its own
 * hits twice.
 */
double		sb_tbf_error_bound(const sb_tbf *tbf, double over, int64_t at) SB_NOEXCEPT;

/*
 * Estimates the share of items that are counted too high by more than `over` hits at the time `at`. In each of the k
 * counters of such an item, other items have more than t = over - slack hits. So the estimate for a block is s^k, where
 * s is the share of its counters that exceed t; the result is the mean over all blocks. If the slack alone exceeds
 * `over`, the result is 1; otherwise it is 0 for an exact filter. The estimate may be too low, but it is close to the
 * truth even where sb_tbf_error_bound() is too large to be of use. *out is NaN unless over > 0. May return
 * SB_BAD_CELLS, SB_INTERRUPTED.
 */
SB_NODISCARD sb_status sb_tbf_error_estimate(const sb_tbf *tbf, const void *cells, double over, int64_t at,
											 double *out) SB_NOEXCEPT;

/*
 * Returns how many distinct items the filter has room for at the rate that it was planned for. For an exact filter the
 * result is SB_TBF_EXACT_ITEMS.
 */
double		sb_tbf_room(const sb_tbf *tbf) SB_NOEXCEPT;

/*
 * Estimates an item's hits at the time `at`: the smallest of its k counters, minus the amount that other items add to
 * it on average. That amount is estimated as the mean of the smallest of k counters drawn at random from the block. For
 * an exact filter the result is the item's count. The result lies between 0 and the smallest counter. It may be too
 * small: slack is not added, and the result is rounded to nearest. It is of no use for filters that have cells and
 * minimum increase, because their counters are no sums. SB_BAD_CELLS if the block cannot be read.
 */
SB_NODISCARD sb_status sb_tbf_estimate(const sb_tbf *tbf, const void *cells, uint64_t hash, int64_t at,
									   double *out) SB_NOEXCEPT;

#define SB_TBF_WIDTHS 64

/* Statistics of the counters of a filter. For an exact filter: of the counts of its items. */
typedef struct sb_tbf_stats
{
	/* widths[0] counters are zero, widths[b] lie between 2^(b-1) and 2^b - 1 units */
	uint64_t	widths[SB_TBF_WIDTHS];
	double		fill;			/* the share of counters that are not zero; exact: 0 */
	double		current_fpr;	/* estimated share of items that are overcounted now, fill^k; exact: 0 */
	/* number of items, estimated from fill; infinite if no counter is zero; exact: the true number */
	double		items;
} sb_tbf_stats;

/*
 * Measures a filter. If it has more than `most_blocks` blocks, only that many are read, at even distances. (The
 * extension reads sixteen to decide whether to warn of a full filter.) An exact filter is read as a whole. May return
 * SB_BAD_CELLS, SB_INTERRUPTED. REQUIRES: most_blocks > 0.
 */
SB_NODISCARD sb_status sb_tbf_measure(const sb_tbf *tbf, const void *cells, uint32_t most_blocks,
									  sb_tbf_stats *out) SB_NOEXCEPT;

/*
 * Sets *out to the largest count of an item of an exact filter, in hits at the base, without the items whose hashes
 * are in `except`; 0 if there is no other item. `except` has except_count hashes in ascending order; a hash may be
 * there more than once. May return SB_BAD_CELLS. REQUIRES: the filter is exact.
 */
SB_NODISCARD sb_status sb_tbf_largest_count(const sb_tbf *exact, const void *cells, const uint64_t *except,
											size_t except_count, double *out) SB_NOEXCEPT;

/*
 * Computes the inner product of two filters at the time `at`: the sum, over all items, of the item's count in `left`
 * times its count in `right`. If both filters are exact, so is the result, up to rounding to nearest. Else it is an
 * estimate of at least 0: the sum over all blocks of (sum(a b) - A B / m) / (k (1 - k/m)), where a and b run over the
 * block's m counters in the two filters, A and B are their sums, and k is hash_count. (An exact filter is taken as one
 * with the cells of the other filter.) The result may be infinite, as that of sb_tbf_count(). SB_DIFFERENT: both
 * filters have cells, but different numbers of them. May also return SB_BAD_CELLS, SB_INTERRUPTED. REQUIRES: both
 * filters have the same number of hashes; a filter with cells has none of SB_TBF_OPTIONS.
 */
SB_NODISCARD sb_status sb_tbf_inner_product(const sb_tbf *left, const void *left_cells, const sb_tbf *right,
											const void *right_cells, int64_t at, double *out) SB_NOEXCEPT;

/* Returns the share of a hit's weight that is left one epoch later: 2^(-epoch / half_life); 1 without decay. */
double		sb_tbf_decay_factor(const sb_tbf *tbf) SB_NOEXCEPT;

/*
 * Returns the most that was dropped of any one item, in 2^-12 hits at the base: the field `slack`, plus half a unit,
 * rounded up, if SB_TBF_FORGOTTEN is set.
 */
uint64_t	sb_tbf_slack(const sb_tbf *tbf) SB_NOEXCEPT;

/*
 * Checks whether two filters can be merged, as sb_bf_plan_union() does for a bf, and sets *out to the header of an
 * empty filter for the result. Half-life, epoch and number of hashes must agree. If neither filter is exact, the
 * larger one must have 2^j times as many cells as the smaller one. Neither filter may have recurring minimum.
 * SB_DIFFERENT: they cannot be merged.
 */
SB_NODISCARD sb_status sb_tbf_plan_merge(const sb_tbf *a, const sb_tbf *b, sb_tbf *out,
										 sb_difference *difference) SB_NOEXCEPT;

/* ------------------------------------------------------- a new value made from an old one */

/*
 * sb_tbf_decay(), sb_tbf_set_layout() and sb_tbf_remove() make a new value from a stored one. They allocate one block
 * from `to`: `in_front` bytes for the caller, then the header, then all that follows the header. They set *out to the
 * new header, and *value to the block, which the caller releases. The block may be larger than in_front +
 * sb_tbf_size(out).
 *
 * "There is nothing to do" below means that the new value would be the same as the old one: the functions then return
 * SB_OK, set *value to NULL, and allocate nothing. *value is also NULL with any status but SB_OK.
 *
 * The statuses of all three: SB_BAD_CELLS if the stored counters cannot be read; SB_TOO_LARGE if the new value would
 * have more than SB_MAX_BYTES (sb_tbf_size(out) says how many); SB_NO_MEMORY; SB_INTERRUPTED.
 */

/*
 * Decays a filter: its base becomes the half-life in which the epoch of the time `at` (microseconds) begins. If this is
 * j half-lives after the old base, a counter q <= 2^(j-1) becomes 0, and any other becomes ceil(q / 2^j). There is
 * nothing to do if the filter has no half-life or no hits, or if the base would not become later. SB_BAD_LIST,
 * SB_BAD_LENGTH: the list of hot items cannot be read. REQUIRES: |at| <= SB_TBF_MAX_TIME.
 */
SB_NODISCARD sb_status sb_tbf_decay(const sb_tbf *tbf, const void *cells, int64_t at, const sb_memory *to,
									size_t in_front,
									sb_tbf *out, void **value) SB_NOEXCEPT;

/*
 * Stores the same counters in `layout`: SB_TBF_FLAT or SB_TBF_EXTENSIBLE. There is nothing to do if the filter has
 * cells in this layout. An exact filter becomes a filter with cells, whatever its layout is; then the status may also
 * be SB_BAD_LIST, SB_BAD_LENGTH, SB_OVERFLOW or SB_TOTAL_OVERFLOW.
 */
SB_NODISCARD sb_status sb_tbf_set_layout(const sb_tbf *tbf, const void *cells, uint8_t layout, const sb_memory *to,
										 size_t in_front, sb_tbf *out, void **value) SB_NOEXCEPT;

/*
 * Takes out a hit that was added for this hash at this moment. `hit` is the value of that hit, from sb_tbf_hit().
 * There is nothing to do if `hit` is 0. SB_OUT_OF_RANGE: the counters prove that the item has no such hit. Then *most
 * is an upper bound of the item's count at the time of `moment`, or 0 if all hits of the filter are older than that.
 * The counters do not always prove that a hit was never added, because other items may share the item's cells, or in an
 * exact filter the kept bits of its hash. Then hits of these other items are taken out. REQUIRES: nothing was
 * forgotten (sb_tbf_slack() is 0); the filter has none of SB_TBF_OPTIONS, and no list of hot items.
 */
SB_NODISCARD sb_status sb_tbf_remove(const sb_tbf *tbf, const void *cells, uint64_t hash, const sb_moment *moment,
									 uint64_t hit,
									 const sb_memory *to, size_t in_front, sb_tbf *out, void **value,
									 double *most) SB_NOEXCEPT;

/* ----------------------------------------------------------------- hot items */

/*
 * A list of the heaviest items (Misra and Gries 1982), weighted and decayed. Let f_e be the exact decayed sum of item
 * e. A listed item has a lower bound L_e; for an item that is not listed, L_e = 0. Let W be the decayed total of all
 * hits, and c the limit of the list. Then for every item
 *
 *     L_e <= f_e <= L_e + error,    error <= W / (c + 1),
 *
 * for every order of the hits, however they were split over builders, and after any decay. So every item whose share
 * of W exceeds 1 / (c + 1) is listed.
 *
 * The list is a table of up to 2c items. When it is full, it is purged: the (c + 1)-th largest L is subtracted from the
 * L of all items, and items with no L left are dropped (as in DataSketches' frequent items: Anderson et al. 2017). A
 * purge adds this amount to the error, and takes as much from each of at least c + 1 items. So (c + 1) * error + the
 * sum of all L <= W, but for rounding. Merging adds up the bounds and the errors of both lists, and purges if there are
 * too many items (Agarwal et al. 2012): the inequalities add up.
 *
 * Rounding: L is always rounded down and the error always up. The unit is 2^-40 hits at the base (see sb_tbf.h); in a
 * stored list whose largest number is 2^21 hits or more it is larger, but at most 2^-60 of that number. So the error
 * may exceed W / (c + 1) by up to 2^-29 W, plus a few units each time a hit, a decay, a store or an entry that is
 * merged has no exact result. Whole weights without decay are exact.
 *
 * Items are told apart by their 64-bit hashes. The list grows in an sb_tbf_builder; sb_lookup_top() reads a stored
 * one.
 */
/*
 * The most bytes that are kept of an item's text. The core cuts a longer text after this many bytes. A caller that does
 * not want a character to be cut in two shortens the text first.
 */
#define SB_TOP_MAX_ITEM 256

/* An item of a stored list. */
typedef struct sb_top_item
{
	uint64_t	hash;
	uint64_t	least;			/* L; sb_lookup_top_hits() converts it to hits */
	const unsigned char *bytes; /* the item as text, inside the stored value */
	uint32_t	length;			/* 0 .. SB_TOP_MAX_ITEM */
} sb_top_item;

#ifdef __cplusplus
}
#endif

#endif
