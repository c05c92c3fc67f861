/*
 * sb_stable.h: the Stable and the Importance-aware Bloom filter, the types sbf and ibf of SQL, and their formulas.
 * Part of streambloom.h.
 *
 * Has this item of an endless stream come before? A Bloom filter (bf/sb_bf.h) cannot say for long: every item sets
 * bits and nothing clears them, until all are set and it says yes to everything. A *stable* filter forgets a little
 * with each item that comes. So its false-positive rate has an upper bound for ever, in memory that never grows. In
 * return it has false negatives: it misses an item that last came too long ago.
 *
 * It has m cells of d bits, K hashes, and P evictions per step. The largest value of a cell is Max = 2^d - 1. An item
 * has K cells anywhere in the filter. A step takes one item that arrives. The step tests whether all K cells of the
 * item are non-zero (then the item is a duplicate). Then it evicts: P cells lose 1, but a cell that is zero stays
 * zero. At last it sets the cells of the item. A random generator chooses the cells that are evicted. Its state is
 * stored in the filter, so the same items in the same order give the same bytes.
 *
 * Why it is stable: the more cells are non-zero, the more of them the evictions lower, so the share of zero cells
 * tends to a fixed value V0 (the *stable point*; sb_stable_zeros()). An item that never came is found if its K cells
 * happen to be non-zero: (1 - V0)^K. With repeated items it is less. sb_stable_plan() chooses P so that this is at
 * most the rate asked for. For how long an item is remembered follows from m, K, P and Max
 * (sb_stable_false_negatives()).
 *
 * The sbf is the Stable Bloom filter of Deng, Rafiei 2006 (Approximately Detecting Duplicates for Streaming Data using
 * Stable Bloom Filters, SIGMOD); it sets cells to Max. The ibf is the Importance-aware Bloom filter of Bhoraskar,
 * Gabale, P. Kulkarni, D. Kulkarni 2013 (Importance-aware Bloom Filter for Managing Set Membership Queries on
 * Streaming Data): the caller gives a number with each item, its importance, and cells of important items are set to
 * higher values, so that they last longer. Both share one struct, whose field `scheme` says which of the two a filter
 * is, and nearly all code.
 *
 * The order of items counts, so a stream cannot be split over processes. Two filters can be united: each cell becomes
 * the larger one of the two. If nothing within a window may be missed, take an abf (abf/sb_abf.h).
 *
 * Go on with stable_step.cpp for the step, sbf.cpp and ibf.cpp for what differs, stable_formula.cpp for the formulas,
 * docs/sbf.md for users.
 */
#ifndef STREAMBLOOM_SB_STABLE_H
#define STREAMBLOOM_SB_STABLE_H

#include "base/sb_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------- sbf, ibf */

#define SB_STABLE_HEADER 128		/* bytes before the first cell */
#define SB_STABLE_MAX_HASHES 16
#define SB_STABLE_MAX_BITS 8
#define SB_STABLE_DEFAULT_BITS 3	/* d if the plan chooses it; then Max is 7 */
#define SB_STABLE_WEIGHTED_BITS 4	/* d if the plan chooses it for SB_VALUE_WEIGHTED; then Max is 15 */
#define SB_STABLE_MIN_BYTES 64		/* of cells, so that there are at least 64 cells of any width */
#define SB_STABLE_MAX_BYTES (SB_MAX_BYTES - SB_STABLE_HEADER)
#define SB_STABLE_MAX_VALUE 255		/* Max for 8 bits */
#define SB_STABLE_MAX_EVICTIONS 65535	/* limits the time of a step */
#define SB_STABLE_TRIES 32			/* a step of a filter with SB_VALUE_WEIGHTED draws at most 32 P cells to evict P */
#define SB_STABLE_CHOOSE (-1)		/* in place of a parameter: the plan chooses it */
#define SB_STABLE_MAX_STEPS (UINT64_C(1) << 62)	/* the counts of items and steps do not grow beyond this */
#define SB_STABLE_SAMPLE 64			/* an ibf that ranks importances (sb_stable.ranked) keeps a sample of this many */
/* bytes of the sample, which lies behind the cells: how many importances it has seen, then the sorted importances */
#define SB_STABLE_SAMPLE_BYTES (8 + 8 * SB_STABLE_SAMPLE)
#define SB_STABLE_SAMPLED_ITEMS 4096	/* the sample is taken from about this many of the latest items */

/* How a filter sets its cells and evicts. The numbers are stored. */
typedef enum sb_scheme
{
	SB_STABLE = 0,				/* sbf: sets cells to Max */
	SB_TWO_CLASS = 1,			/* IBF-2C: raises cells to Max if the item is important, else to floor(Max/2) */
	SB_MULTI_CLASS = 2,			/* IBF-MC: raises cells to a value from 1 to Max that follows from the importance */
	SB_VALUE_WEIGHTED = 3		/* IBF-H: sets cells like SB_MULTI_CLASS, but evicts from low cells more often */
} sb_scheme;

/* The header of an sbf or ibf, decoded. */
typedef struct sb_stable
{
	sb_kind		kind;
	uint8_t		scheme;			/* an sb_scheme */
	uint8_t		bits;			/* d: 1 .. 8; of an ibf 2 .. 8 */
	uint8_t		hash_count;		/* K: 1 .. 16 */
	bool		ranked;			/* an ibf without a range: importances are ranked among those of the latest items */
	uint32_t	cell_count;		/* m */
	uint32_t	evictions;		/* P: 0 (nothing is evicted) .. m, at most SB_STABLE_MAX_EVICTIONS */
	uint64_t	seed;			/* seed of the random generator, as given to the plan */
	uint64_t	random;			/* the present state of the generator */
	uint64_t	items;			/* the number of items that have arrived */
	uint64_t	steps;			/* all steps: one for each item, and those without an item (sb_stable_decay()) */
	double		fpr;			/* the false-positive rate that was asked for */
	/* the range of importances; SB_TWO_CLASS: both are the threshold; an sbf, or if importances are ranked: both 0 */
	double		low;
	double		high;
} sb_stable;

/*
 * Plans a filter with `bytes` bytes of cells for the false-positive rate `fpr` (SB_BF_MIN_FPR .. SB_BF_MAX_FPR).
 * `bytes` is SB_STABLE_MIN_BYTES .. SB_STABLE_MAX_BYTES. If importances are ranked, the maximum is
 * SB_STABLE_SAMPLE_BYTES less.
 *
 * low and high are the range of the importances: low, high and high - low are finite, and low < high. For two_class low
 * and high are both the threshold, and for an sbf both are 0. If both are NaN, the filter is an ibf that ranks
 * importances.
 *
 * bits is 1 .. 8 (for an ibf 2 .. 8), hash_count is 1 .. 16, and evictions is 0 .. m and at most
 * SB_STABLE_MAX_EVICTIONS. Each of the three may be SB_STABLE_CHOOSE. The plan then takes:
 *
 *   bits         SB_STABLE_DEFAULT_BITS, or for value-weighted eviction SB_STABLE_WEIGHTED_BITS.
 *   hash_count   K = c log2(1/fpr), rounded to the nearest integer. c is 0.45 for one bit, 0.7 for two, and 0.85 for
 *                more. A search with sb_stable_false_negatives() found that these give the longest memory. For
 *                value-weighted eviction c is 0.3, or 0.45 for more than four bits, and K is rounded up.
 *   evictions    The smallest P that keeps the rate. For an sbf and two_class it comes from sb_stable_evictions(), and
 *                the rate holds whatever the importances are. For the other schemes it comes from
 *                sb_stable_fitting_evictions(), and the rate holds if the importances are uniform over their range.
 *                Ranks are always uniform. For value-weighted eviction this search takes about 100 microseconds with
 *                four bits, and some ten times as long with eight.
 *
 * stable.cpp gives the reasons for the values of value-weighted eviction.
 *
 * SB_OUT_OF_RANGE: a parameter is out of its range, or the rate needs more evictions per step than are allowed.
 * SB_TOO_LARGE: `bytes` is more than its maximum.
 */
SB_NODISCARD sb_status sb_stable_plan(uint64_t bytes, double fpr, sb_scheme scheme, double low, double high,
									  int hash_count, int bits, int64_t evictions, uint64_t seed,
									  sb_stable *out) SB_NOEXCEPT;

/* Max = 2^d - 1, the largest value of a cell. */
static inline uint8_t
sb_stable_max(const sb_stable *stable)
{
	return (uint8_t) ((1u << stable->bits) - 1);
}

/*
 * The number of bytes of a whole value: the header, and the cells if items have arrived. Without items all cells are
 * zero, and they are not stored: an empty filter takes only its header, whatever its number of cells.
 */
size_t		sb_stable_size(const sb_stable *stable) SB_NOEXCEPT;

/*
 * The number of bytes that the cells take in memory, with the sample of importances behind them. An empty filter has
 * them in memory, too, although they are not stored.
 */
size_t		sb_stable_cell_bytes(const sb_stable *stable) SB_NOEXCEPT;

/* Writes the 128 bytes of the header. */
void		sb_stable_encode_header(const sb_stable *stable, void *out) SB_NOEXCEPT;

/* Which of the two types a value must have for sb_stable_decode_header(). */
typedef enum sb_stable_type
{
	SB_STABLE_EITHER,
	SB_STABLE_SBF,
	SB_STABLE_IBF
} sb_stable_type;

/*
 * Reads and checks the header of a value of this type, as sb_bf_decode_header() does. SB_BAD_TYPE: the value is of
 * another type. If the status is not SB_OK, out->scheme only says which type an error message should name: SB_STABLE
 * stands for sbf, any other scheme for ibf. The type to name is the one that the caller asked for; if the caller asked
 * for SB_STABLE_EITHER, it is ibf if the value claims to be an ibf, otherwise sbf.
 */
SB_NODISCARD sb_status sb_stable_decode_header(const void *data, size_t have, size_t total, sb_stable_type type,
											   sb_stable *out) SB_NOEXCEPT;

/*
 * Checks the cells of a value whose header was checked, and the sample behind them if there is one. The bits after the
 * last cell must be zero, and no more cells may be non-zero than the items can have set. The sample must be sorted, and
 * must not have seen more importances than items have arrived. A value without items has no cells: then neither
 * this function nor sb_stable_count() nor sb_stable_decay() reads `cells`. May return SB_BAD_CELLS, SB_INTERRUPTED.
 */
SB_NODISCARD sb_status sb_stable_check_cells(const sb_stable *stable, const void *cells) SB_NOEXCEPT;

/*
 * Returns the value, 1 .. Max, to which an item of this importance sets its cells. An sbf always gives Max. two_class
 * gives Max if the importance is at least the threshold, else floor(Max / 2). The other schemes give min(Max, 1 +
 * floor((importance - low) / (high - low) * Max)), so that uniform importances have uniform values. An importance
 * outside the range counts as the nearer end of the range.
 *
 * An ibf that ranks importances compares the importance with its sample: the share of the sample that is lower takes
 * the place of (importance - low) / (high - low). If the sample itself has this importance, once or several times, a
 * value is computed for each of these entries: for entry j of the n sorted entries, counted from 0, with the share (j
 * + 1/2) / n. The result is the mean of these values, rounded down. So the rate that was planned for uniform
 * importances is kept whatever the importances are. For two_class an item is important if it is above the median of
 * the sample, that is, if the sample has more lower importances than higher ones. If the sample is empty, the item
 * gets a middle value: 1 + floor(Max / 2), or floor(Max / 2) for two_class.
 *
 * `cells` may be NULL if the filter does not rank or no item has arrived. REQUIRES: the importance is not NaN.
 */
uint8_t		sb_stable_value_of(const sb_stable *stable, const void *cells, double importance) SB_NOEXCEPT;

/*
 * Offers the importance of an item to the sample, which may take it in or not. Call this function once for each item
 * that arrives, before sb_stable_value_of(). It does nothing for a filter that does not rank importances. Up to item
 * number SB_STABLE_SAMPLED_ITEMS each item so far is in the sample with the same probability (Vitter 1985, algorithm
 * R). From then on each new item replaces a random entry of the sample with the probability SB_STABLE_SAMPLE /
 * SB_STABLE_SAMPLED_ITEMS. So the sample follows a stream that changes. Which items enter the sample depends only on
 * the seed and on the number of importances that the sample has seen. REQUIRES: the importance is not NaN.
 */
void		sb_stable_note_importance(const sb_stable *stable, void *cells, double importance) SB_NOEXCEPT;

/*
 * Makes one step for each of `count` items, in their order. A step tests whether all cells of the item are non-zero,
 * evicts, and sets each cell of the item to max(cell, value). values[i] is the result of sb_stable_value_of() for the
 * importance of item i. duplicates[i] becomes the result of the test of item i; `duplicates` may be NULL. A step takes
 * less time if many are made in one call. The time of a step is proportional to P. A step of SB_VALUE_WEIGHTED with a
 * large P takes milliseconds, so a caller that must stay interruptible makes few such steps in one call.
 */
void		sb_stable_steps(sb_stable *stable, void *cells, const uint64_t *hashes, const uint8_t *values, size_t count,
							bool *duplicates) SB_NOEXCEPT;

/*
 * Makes `steps` steps without an item: each only evicts. The time is proportional to `steps` until all cells are
 * zero, and constant from then on. Returns true if P is 0, or if the function has noticed that all cells are zero. It
 * does not look after every step, so false does not mean that a cell is non-zero. A caller that must stay
 * interruptible asks for a few thousand steps at a time, which gives the same result.
 */
bool		sb_stable_decay(sb_stable *stable, void *cells, uint64_t steps) SB_NOEXCEPT;

/*
 * Plans the union of two filters. Both must have the same m, d, K, P, scheme and range of importances, and either both
 * rank importances or neither does. SB_DIFFERENT: *difference says what differs. *out has the parameters of the
 * result: fpr, seed and the state of the generator are the larger of the two values, items and steps are the sums. The
 * kinds of items (sb_kind) are not compared: the caller does that first. If one of them is none, the result has the
 * other kind.
 */
SB_NODISCARD sb_status sb_stable_plan_union(const sb_stable *a, const sb_stable *b, sb_stable *out,
									  sb_difference *difference) SB_NOEXCEPT;

/*
 * dst = max(dst, src), cell by cell. Of the two samples of importances, the one that has seen more importances is kept;
 * if both have seen equally many, the one whose bytes compare greater. So the order of unions does not matter. May
 * return SB_INTERRUPTED. REQUIRES: *stable comes from sb_stable_plan_union(), for the filters of dst and src.
 */
SB_NODISCARD sb_status sb_stable_unite(const sb_stable *stable, void *dst, const void *src) SB_NOEXCEPT;

/* counts[v] becomes the number of cells with the value v; it is 0 for all v above Max. May return SB_INTERRUPTED. */
SB_NODISCARD sb_status sb_stable_count(const sb_stable *stable, const void *cells,
									   uint64_t counts[SB_STABLE_MAX_VALUE + 1]) SB_NOEXCEPT;

/* ------------------------------------------------------- formulas of sbf, ibf */

/*
 * The parameters of the formulas below. They are doubles, so that the formulas also work for filters that cannot be
 * made. Rates and shares lie between 0 and 1; P is a number of cells and `gap` a number of items.
 */
typedef struct sb_stable_chain
{
	double		cell_count;		/* m: finite */
	double		hash_count;		/* K: 1 .. 16, and less than m */
	double		evictions;		/* P: 0 .. m */
	int			max;			/* Max: 1 .. 255 */
	bool		weighted;		/* eviction of SB_VALUE_WEIGHTED */
	/* shares[i - 1]: the share of items that set their cells to i; at least 0, in all 1. NULL: all items set Max */
	const double *shares;
} sb_stable_chain;

/*
 * The fraction of zero cells that a filter tends to on a stream of distinct items: V0 = prod_{i = 1 .. Max} p' / (p'
 * + k_i), with p = P/m, k = K/m, p' = p (1 - k), and k_i = k * share of the items that set i or more. (Deng, Rafiei
 * 2006, theorem 2, is the case that all k_i = k; Bhoraskar et al. 2013, theorem III.1, is the case of two values.)
 * With repeated items there are more zeros.
 *
 * With value-weighted eviction, p' / (i s) takes the place of p' in factor i. Here s is the mean of 1/value over all
 * cells (a zero cell counts 0) once the filter has reached this fraction of zeros; s is found by bisection. If s is
 * small, a step often does not find P cells in its SB_STABLE_TRIES * P tries. So 1/s is replaced by a number a little
 * less than min(1/s, SB_STABLE_TRIES). The formula is a mean-field approximation, which is exact only for many cells.
 * NaN for parameters out of their range.
 */
double		sb_stable_zeros(const sb_stable_chain *chain) SB_NOEXCEPT;

/*
 * The upper bound of the false-positive rate, (1 - V0)^K (Bhoraskar et al. 2013, corollary III.4). NaN for parameters
 * out of their range.
 */
double		sb_stable_bound(const sb_stable_chain *chain) SB_NOEXCEPT;

/*
 * The number of evictions per step that keeps a rate: P = 1 / ((V0^(-1/Max) - 1) (1/K - 1/m)) with V0 = 1 - fpr^(1/K)
 * (Deng, Rafiei 2006, section 4.3), not rounded. An ibf that evicts at random (SB_TWO_CLASS, SB_MULTI_CLASS) keeps the
 * rate with this number, too, whatever its shares are. With SB_VALUE_WEIGHTED and cells of 7 or 8 bits it may not:
 * there a step often does not find P cells to lower. NaN if `fpr` is not between 0 and 1 or another parameter is out of
 * its range.
 */
double		sb_stable_evictions(double fpr, double hash_count, int max, double cells) SB_NOEXCEPT;

/*
 * Returns the smallest integer P <= m for which sb_stable_bound() is at most `fpr`. It searches for this number: there
 * is no formula for it if some items set less than Max, or for value-weighted eviction. chain->evictions is ignored.
 * NaN if there is no such P, or if a parameter is out of its range.
 */
double		sb_stable_fitting_evictions(const sb_stable_chain *chain, double fpr) SB_NOEXCEPT;

/*
 * The probability that an item is not found although it set its cells to `value` (1 .. Max) when it came before, and
 * only `gap` other items, all distinct, came in between. It is 1 - (1 - Pr0)^K. Pr0 is the probability that a cell is
 * zero after `gap` steps; the value of the cell is a Markov chain with the states 0 .. Max, in which other items may
 * set the cell again (Bhoraskar et al. 2013, section III, describe the chain in words). NaN if a parameter is out of
 * its range. REQUIRES: `work` has room for 2 * (Max + 1)^2 doubles.
 */
double		sb_stable_false_negatives(const sb_stable_chain *chain, int value, uint64_t gap, double *work) SB_NOEXCEPT;

/*
 * Fills shares[0 .. Max - 1] (see sb_stable_chain) for importances that are uniform over the range; for two_class half
 * of the items are important. REQUIRES: `max` is 1 .. SB_STABLE_MAX_VALUE, and at least 2 for two_class.
 */
void		sb_stable_uniform_shares(sb_scheme scheme, int max, double *shares) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
