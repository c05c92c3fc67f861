/*
 * sb_tbf.h: the Time-decaying Bloom filter as it is stored. Part of streambloom.h.
 */
#ifndef STREAMBLOOM_SB_TBF_H
#define STREAMBLOOM_SB_TBF_H

#include "base/sb_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SB_TBF_HEADER 128		/* bytes before the first cell */
#define SB_TBF_MAX_HASHES 16
#define SB_TBF_BLOCK 4096		/* cells of a block; a filter of one block may have fewer */
#define SB_TBF_MIN_BLOCK 64
#define SB_TBF_MAX_CELLS (UINT64_C(1) << 27)
#define SB_TBF_HIT_BITS 12		/* memory, slack and total count in 2^-12 hits */
/* stored counters of a decaying filter count in 1/16 hits (exact: in 2^-SB_TBF_HIT_BITS) */
#define SB_TBF_UNIT_BITS 4
#define SB_TBF_MAX_SPREAD 32	/* half-lives by which merging may shift up the newer filter */
#define SB_TBF_MAX_CELL (UINT64_C(1) << 62)
#define SB_TBF_MAX_TIME (INT64_C(1) << 60)	/* microseconds from 2000; also the longest half-life and epoch */

/* sb_tbf.layout; stored. */
#define SB_TBF_FLAT 0
#define SB_TBF_EXTENSIBLE 1

/* Bits of sb_tbf.flags; stored. */
#define SB_TBF_HAS_HITS 1		/* base and newest mean something */
#define SB_TBF_FORGOTTEN 2		/* decay has set a counter to 0: up to half a unit is missing in it */
#define SB_TBF_MINIMUM_INCREASE 4	/* parameter: a hit raises only those counters that would otherwise be too small */
#define SB_TBF_RECURRING_MINIMUM 8	/* parameter: items whose minimum does not recur are counted in a table */
/* the form: instead of cells the items themselves; `layout` is what the cells would have */
#define SB_TBF_EXACT 16
#define SB_TBF_OPTIONS (SB_TBF_MINIMUM_INCREASE | SB_TBF_RECURRING_MINIMUM)

#define SB_TBF_EXACT_ITEMS 65536	/* so many items are stored exactly in a filter that sizes itself */
#define SB_TBF_MAX_TOP 10000	/* entries of a list of hot items */

/* The header of a tbf, decoded. */
typedef struct sb_tbf
{
	sb_kind		kind;
	uint16_t	flags;
	uint32_t	block_count;	/* exact: 0 */
	uint16_t	block_cells;	/* SB_TBF_BLOCK, or if there is one block a power of two from 64 on; exact: 0 */
	uint32_t	item_count;		/* exact: the items that are stored, 0 .. SB_TBF_EXACT_ITEMS; else 0 */
	uint8_t		hash_count;
	uint8_t		layout;			/* SB_TBF_FLAT or SB_TBF_EXTENSIBLE */
	uint8_t		cell_bits;		/* of a flat cell: 8, 16, 32 or 64, the narrowest that holds the largest counter */
	uint8_t		unit_bits;		/* a stored counter of 1 means 2^-unit_bits hits at the base: 0 or 4; exact: 0 or 12 */
	uint8_t		widened;		/* as in sb_bf */
	int64_t		half_life;		/* microseconds; 0: the filter does not decay */
	int64_t		epoch;			/* microseconds; 0 if the filter does not decay */
	int64_t		base;			/* the counters' scale: half-lives since 2000-01-01 UTC */
	int64_t		newest;			/* start of the epoch of the newest hit; microseconds */
	uint64_t	slack;			/* how much decay has dropped of any one item, at most: 2^-12 hits at the base */
	uint64_t	total;			/* all hits, decayed: 2^-12 hits at the base, rounded up */
	uint64_t	expected_items;
	double		fpr;
	uint32_t	payload;		/* extensible: bytes of directory and blocks, 0 if all counters are zero; flat: 0 */
	uint32_t	extra;			/* bytes after the counters: the list of hot items, or the table of recurring minimum */
	uint16_t	top;			/* parameter: entries of the list of hot items; 0: none is kept */
} sb_tbf;

/*
 * A moment on the decaying scale. A hit then weighs 2^half_lives * scale / 2^62, rounded up by less than 1e-9 of
 * itself.
 */
typedef struct sb_moment
{
	int64_t		half_lives;		/* floor(E*T / half_life) */
	uint64_t	scale;			/* 2^62 .. 2^63 */
	/* 2^62 .. 2^63: twice the reciprocal of scale, rounded up too; 2^63 if scale stands for 1 */
	uint64_t	inverse;
	int64_t		epoch_start;	/* E*T, microseconds */
} sb_moment;

/*
 * Sets *out to the moment of the time `at`. The moment is the start of the epoch that `at` lies in, so that decay
 * happens at common epoch boundaries (Cheng et al., Fig. 1). Let T be `epoch`, E = floor(at / T), and
 * x = E*T / half_life. Then half_lives is floor(x), and scale is 2^62 * 2^(x - floor(x)), rounded up. Without decay
 * half_lives is 0 and scale is 2^62. The arithmetic uses only integers, so the result is the same on every machine.
 * REQUIRES: sb_tbf_plan() accepts half_life and epoch, |at| <= SB_TBF_MAX_TIME.
 */
void		sb_tbf_moment(int64_t half_life, int64_t epoch, int64_t at, sb_moment *out) SB_NOEXCEPT;

/*
 * The value of a hit of this weight: ceil(weight * 2^(12 + frac x)), in 2^-12 hits at the start of the moment's
 * half-life. SB_OUT_OF_RANGE if the weight is NaN, infinite or below 0; SB_OVERFLOW if the value does not fit, which it
 * does for every weight below 2^33.
 */
SB_NODISCARD sb_status sb_tbf_hit(const sb_moment *moment, double weight, uint64_t *out) SB_NOEXCEPT;

/*
 * The parameters of a filter that counts an item too high with a probability of at most `fpr`, up to `items` distinct
 * items. half_life and epoch are 1 .. SB_TBF_MAX_TIME microseconds, or both are 0, and nothing decays. If `self_sized`
 * is true, the filter is one that sizes itself: expected_items is 0, and the number of cells is a power of two; or if
 * `items` is 0, too, it is an exact filter, which has no cells yet.
 *
 * SB_OUT_OF_RANGE: `items` is 0 (but for a filter that sizes itself), `fpr` is NaN or lies outside SB_BF_MIN_FPR ..
 * SB_BF_MAX_FPR, or half_life or epoch is out of its range. SB_TOO_LARGE: the filter would need more than
 * SB_TBF_MAX_CELLS cells. The last rate is remembered, as by sb_bf_plan().
 */
SB_NODISCARD sb_status sb_tbf_plan(uint64_t items, double fpr, int64_t half_life, int64_t epoch, bool self_sized,
								   sb_tbf *out) SB_NOEXCEPT;

uint64_t	sb_tbf_cells(const sb_tbf *tbf) SB_NOEXCEPT;
size_t		sb_tbf_size(const sb_tbf *tbf) SB_NOEXCEPT;	/* of the whole value */
void		sb_tbf_encode_header(const sb_tbf *tbf, void *out) SB_NOEXCEPT;

/* As sb_bf_decode_header(). What follows the header is looked at by sb_tbf_check(). */
SB_NODISCARD sb_status sb_tbf_decode_header(const void *data, size_t have, size_t total, sb_tbf *out) SB_NOEXCEPT;

/*
 * Checks everything after the header: the counters, and the table of recurring minimum or the list of hot items. To be
 * called once for each value that comes from outside; no other function of the core depends on it for its safety.
 * `cells`: all that follows the header, as for the functions below. SB_BAD_CELLS: counters or table; SB_BAD_LIST,
 * SB_BAD_LENGTH: the list.
 */
SB_NODISCARD sb_status sb_tbf_check(const sb_tbf *tbf, const void *cells) SB_NOEXCEPT;

/*
 * The count at the time `at` of an item whose smallest counter is `units`: (units + slack) * 2^(base - x(at)) hits,
 * rounded up. Infinity if `at` lies so far before the base that no double holds the count.
 */
double		sb_tbf_count(const sb_tbf *tbf, uint64_t units, int64_t at) SB_NOEXCEPT;

/* The decayed total of all hits at a time, rounded up. Infinity as for sb_tbf_count(). */
double		sb_tbf_total(const sb_tbf *tbf, int64_t at) SB_NOEXCEPT;

/*
 * An upper bound of the probability that an item is counted too high by more than `over` hits, of `total` hits in all,
 * both at the same time: (k W / (m t))^k, by Markov's inequality for each of the k cells. NaN unless over > 0 and total
 * >= 0.
 */
double		sb_tbf_error_bound(const sb_tbf *tbf, double total, double over) SB_NOEXCEPT;

/*
 * An estimate of the share of items that are counted too high by more than `over` hits at the time `at`: all k
 * counters of such an item have more from other items. In each block the share of counters above `over` to the
 * power of k, and the mean of that over the blocks; 1 if the slack alone is more than `over`. It is close where the
 * bound says nothing, and may be too low. Exact: 0. NaN unless over > 0. SB_BAD_CELLS, SB_INTERRUPTED.
 */
SB_NODISCARD sb_status sb_tbf_error_estimate(const sb_tbf *tbf, const void *cells, double over, int64_t at,
											 double *out) SB_NOEXCEPT;

/*
 * How many distinct items the filter has room for at the rate that it was planned for; exact: SB_TBF_EXACT_ITEMS.
 */
double		sb_tbf_room(const sb_tbf *tbf) SB_NOEXCEPT;

/*
 * Estimates an item's hits at the time `at`: the smallest of its k counters, less what other items add to it on
 * average, which is the mean of the smallest of k counters drawn from the block. The result lies between 0 and the
 * smallest counter, and may be too small; there is no slack in it, and it is rounded to nearest. Not for minimum
 * increase, whose counters are no sums. SB_BAD_CELLS if the block cannot be read.
 */
SB_NODISCARD sb_status sb_tbf_estimate(const sb_tbf *tbf, const void *cells, uint64_t hash, int64_t at,
									   double *out) SB_NOEXCEPT;

#define SB_TBF_WIDTHS 64

/* What the counters of a filter are like; of an exact filter, the counts of its items. */
typedef struct sb_tbf_stats
{
	/* widths[0] counters are zero, widths[b] lie between 2^(b-1) and 2^b - 1 units */
	uint64_t	widths[SB_TBF_WIDTHS];
	double		fill;			/* the share of counters that are not zero; exact: 0 */
	double		current_fpr;	/* the share of items that are overcounted now, fill^k; exact: 0 */
	/* their number, estimated from fill; infinite if no counter is zero; exact: their number */
	double		items;
} sb_tbf_stats;

/*
 * Measures a filter, or where it has more blocks than `most_blocks` so many of them, which lie evenly in it: sixteen
 * take some microseconds. SB_BAD_CELLS, SB_INTERRUPTED. REQUIRES: most_blocks > 0.
 */
SB_NODISCARD sb_status sb_tbf_measure(const sb_tbf *tbf, const void *cells, uint32_t most_blocks,
									  sb_tbf_stats *out) SB_NOEXCEPT;

/*
 * The sum over all items of the product of their counts in two filters, at the time `at`. Of two exact filters it is
 * exact, but for rounding to nearest; else it is estimated from the counters of each block, (sum(a b) - A B / m) / (k
 * (1 - k/m)), where A and B are the sums of the block's m counters, and is at least 0. Not for minimum increase, and
 * not for recurring minimum. May be infinite, as sb_tbf_count(). SB_DIFFERENT: both have cells, and not the same number
 * of them. SB_BAD_CELLS, SB_INTERRUPTED.
 */
SB_NODISCARD sb_status sb_tbf_inner_product(const sb_tbf *left, const void *left_cells, const sb_tbf *right,
											const void *right_cells, int64_t at, double *out) SB_NOEXCEPT;

/* The weight that a hit keeps for one epoch: 2^(-epoch / half_life); 1 without decay. */
double		sb_tbf_decay_factor(const sb_tbf *tbf) SB_NOEXCEPT;

/* slack with the half unit that SB_TBF_FORGOTTEN stands for; 2^-12 hits at the base. */
uint64_t	sb_tbf_slack(const sb_tbf *tbf) SB_NOEXCEPT;

/*
 * As sb_bf_plan_union(): may the two filters be merged? *out is the header of an empty filter. Half-life, epoch and
 * number of hashes must agree, the sizes may differ by a power of two, and neither may have recurring minimum.
 * SB_DIFFERENT.
 */
SB_NODISCARD sb_status sb_tbf_plan_merge(const sb_tbf *a, const sb_tbf *b, sb_tbf *out,
										 sb_difference *difference) SB_NOEXCEPT;

/* ------------------------------------------------------- a new value of an old one */

/*
 * These three functions make a whole new value of a stored one, in one block of `to`: `in_front` bytes for the caller,
 * the header, all that follows it. *out is the new header, and *value the block, which may be larger than in_front +
 * sb_tbf_size(out). The caller releases it. *value is NULL with any status but SB_OK. With SB_OK it is NULL if there
 * was nothing to do: the new value would be the same as the old one, and nothing was allocated.
 *
 * The statuses of all three: SB_BAD_CELLS if the stored counters cannot be read; SB_TOO_LARGE if the new value would
 * have more than SB_MAX_BYTES (sb_tbf_size(out) says how many); SB_NO_MEMORY; SB_INTERRUPTED.
 */

/*
 * Decays a filter to the half-life in which the time `at` lies: by j half-lives a counter q <= 2^(j-1) becomes 0, any
 * other ceil(q / 2^j). There is nothing to do for a filter without half-life or without hits, and for a time in or
 * before the half-life of its base. Also SB_BAD_LIST and SB_BAD_LENGTH, if the list of hot items cannot be read. `at`:
 * microseconds; REQUIRES: |at| <= SB_TBF_MAX_TIME.
 */
SB_NODISCARD sb_status sb_tbf_decay(const sb_tbf *tbf, const void *cells, int64_t at, const sb_memory *to,
									size_t in_front,
									sb_tbf *out, void **value) SB_NOEXCEPT;

/*
 * Stores the same counters in another layout, SB_TBF_FLAT or SB_TBF_EXTENSIBLE. There is nothing to do if it has that
 * one.
 */
SB_NODISCARD sb_status sb_tbf_set_layout(const sb_tbf *tbf, const void *cells, uint8_t layout, const sb_memory *to,
										 size_t in_front, sb_tbf *out, void **value) SB_NOEXCEPT;

/*
 * Takes out a hit that was added for this hash at this moment; `hit` is its value, as sb_tbf_hit() gives it.
 * SB_OUT_OF_RANGE if the item has no such hit: *most is how many hits it has at most at that moment, and 0 if the
 * moment lies after the newest hit. There is nothing to do if `hit` is 0. REQUIRES: nothing was forgotten
 * (sb_tbf_slack() is 0), neither of SB_TBF_OPTIONS, no list of hot items.
 */
SB_NODISCARD sb_status sb_tbf_remove(const sb_tbf *tbf, const void *cells, uint64_t hash, const sb_moment *moment,
									 uint64_t hit,
									 const sb_memory *to, size_t in_front, sb_tbf *out, void **value,
									 double *most) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
