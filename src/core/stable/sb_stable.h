/*
 * sb_stable.h: the Stable and the Importance-aware Bloom filter, and their formulas. Part of streambloom.h.
 */
#ifndef STREAMBLOOM_SB_STABLE_H
#define STREAMBLOOM_SB_STABLE_H

#include "base/sb_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------- sbf, ibf */

/*
 * The stable filters: m cells of d bits, Max = 2^d - 1, K hashes, P evictions a step. A step takes one arriving item: it
 * tests it (all K cells non-zero: a duplicate), evicts (P cells lose 1), and sets the item's cells. sbf is Deng, Rafiei
 * 2006 (Approximately Detecting Duplicates for Streaming Data using Stable Bloom Filters, SIGMOD), ibf is Bhoraskar,
 * Gabale, P. Kulkarni, D. Kulkarni 2013 (Importance-aware Bloom Filter for Managing Set Membership Queries on Streaming
 * Data). Both are one struct; the scheme says which.
 */
#define SB_STABLE_HEADER 128		/* bytes before the first cell */
#define SB_STABLE_MAX_HASHES 16
#define SB_STABLE_MAX_BITS 8
#define SB_STABLE_MIN_BYTES 64		/* of cells: so there are at least 64 of them, however wide */
#define SB_STABLE_MAX_BYTES (SB_MAX_BYTES - SB_STABLE_HEADER)
#define SB_STABLE_MAX_VALUE 255		/* Max for 8 bits */
#define SB_STABLE_MAX_EVICTIONS 65535	/* so that no step is long */
#define SB_STABLE_TRIES 32			/* of value-weighted eviction: at most this many times P a step */
#define SB_STABLE_CHOOSE (-1)		/* a parameter that the plan is to choose */
#define SB_STABLE_MAX_STEPS (UINT64_C(1) << 62)	/* counts of items and steps stop here */

/* Which of them; stored. */
typedef enum sb_scheme
{
	SB_STABLE = 0,				/* sbf: sets cells to Max */
	SB_TWO_CLASS = 1,			/* IBF-2C: max(cell, Max or floor(Max/2)) */
	SB_MULTI_CLASS = 2,			/* IBF-MC: max(cell, f(importance)) */
	SB_VALUE_WEIGHTED = 3		/* IBF-H: as multi class, and evicts small values sooner */
} sb_scheme;

/* The header of an sbf or ibf, decoded. */
typedef struct sb_stable
{
	sb_kind		kind;
	uint8_t		scheme;			/* sb_scheme */
	uint8_t		bits;			/* d: 1 .. 8; of an ibf 2 .. 8 */
	uint8_t		hash_count;		/* K: 1 .. 16 */
	uint32_t	cell_count;		/* m */
	uint32_t	evictions;		/* P: 0 (nothing is ever evicted) .. m, at most SB_STABLE_MAX_EVICTIONS */
	uint64_t	seed;			/* of the generator, as given */
	uint64_t	random;			/* its state now */
	uint64_t	items;			/* that arrived */
	uint64_t	steps;			/* arrivals, and evictions without one (sb_stable_decay()) */
	double		fpr;			/* the rate asked for */
	double		low;			/* ibf: the range of importances; two_class: low = high = the threshold; sbf: both 0 */
	double		high;
} sb_stable;

/*
 * Parameters of a filter with this many bytes of cells at a target rate. hashes, bits, evictions: SB_STABLE_CHOOSE, or
 * given. Chosen are d = 3 bits (Max 7), K = c log2(1/fpr) with c = 0.45, 0.7, 0.85 for 1, 2, 3 or more bits (where a
 * search over the recursion of false negatives finds the longest memory), and the smallest P that keeps the rate at or
 * below fpr whatever the importances (sb_stable_evictions(), or for value-weighted eviction a search). For an ibf also the
 * range: finite, low < high; for two_class low = high.
 * SB_OUT_OF_RANGE: a parameter is, or the rate needs more evictions a step than are allowed. SB_TOO_LARGE: bytes.
 */
SB_NODISCARD sb_status sb_stable_plan(uint64_t bytes, double fpr, sb_scheme scheme, double low, double high, int hash_count,
									  int bits, int64_t evictions, uint64_t seed, sb_stable *out) SB_NOEXCEPT;

/* Max = 2^d - 1. */
int			sb_stable_max(const sb_stable *stable) SB_NOEXCEPT;

/* The bytes of a whole value, header and cells. */
size_t		sb_stable_size(const sb_stable *stable) SB_NOEXCEPT;

/* Writes the 128 bytes of the header. */
void		sb_stable_encode_header(const sb_stable *stable, void *out) SB_NOEXCEPT;

/*
 * Reads and checks a header, as sb_bf_decode_header() does. The first is for an sbf, the second for an ibf, the third for
 * either; where that refuses the value, out->scheme still says which it claims to be (SB_STABLE: an sbf).
 */
SB_NODISCARD sb_status sb_sbf_decode_header(const void *data, size_t have, size_t total, sb_stable *out) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_ibf_decode_header(const void *data, size_t have, size_t total, sb_stable *out) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_stable_decode_header(const void *data, size_t have, size_t total, sb_stable *out) SB_NOEXCEPT;

/* The rest of a complete check: nothing after the last cell, no more cells set than the items can have set. */
SB_NODISCARD sb_status sb_stable_check_cells(const sb_stable *stable, const void *cells) SB_NOEXCEPT;

/*
 * What an item of this importance sets its cells to: 1 .. Max (two_class: floor(Max / 2) or, from the threshold on, Max).
 * Otherwise min(Max, 1 + floor((importance - low) / (high - low) * Max)), so that uniform importances give uniform
 * values; outside the range it is clipped. An sbf takes no notice of it. REQUIRES: not NaN.
 */
uint8_t		sb_stable_value_of(const sb_stable *stable, double importance) SB_NOEXCEPT;

/* One step: tests, evicts, sets the item's cells to max(cell, value). Returns whether it was a duplicate. */
bool		sb_stable_step(sb_stable *stable, void *cells, uint64_t hash, uint8_t value) SB_NOEXCEPT;

/* The same for many items, one after the other. duplicates: one flag for each, or NULL. */
void		sb_stable_steps(sb_stable *stable, void *cells, const uint64_t *hashes, const uint8_t *values, size_t count,
							bool *duplicates) SB_NOEXCEPT;

/*
 * Evicts without an arrival, `steps` times. The time is proportional to steps until all cells are zero, and constant
 * from then on; who must stay interruptible asks for a few thousand at a time: the result is the same. Returns whether it
 * has seen that nothing is left to evict.
 */
bool		sb_stable_decay(sb_stable *stable, void *cells, uint64_t steps) SB_NOEXCEPT;

/*
 * May a and b be united? Then *out has the parameters of the result: kind, fpr, seed and the generator's state are the
 * greater ones, items and steps the sums. SB_DIFFERENT fills *difference (not for kinds and schemes: compare those first).
 */
SB_NODISCARD sb_status sb_stable_plan_union(const sb_stable *a, const sb_stable *b, sb_stable *out,
									  sb_difference *difference) SB_NOEXCEPT;

/* dst = max(dst, src), cell by cell. REQUIRES: both were joined to `stable`. */
SB_NODISCARD sb_status sb_stable_unite(const sb_stable *stable, void *dst, const void *src) SB_NOEXCEPT;

/* How many cells have which value: counts[0 .. Max]; those above are set to 0. */
SB_NODISCARD sb_status sb_stable_count(const sb_stable *stable, const void *cells,
									   uint64_t counts[SB_STABLE_MAX_VALUE + 1]) SB_NOEXCEPT;

/* ------------------------------------------------------- formulas of sbf, ibf */

/* What the formulas are about. */
typedef struct sb_stable_chain
{
	double		cell_count;		/* m: at least 1, finite */
	double		hash_count;		/* K: 1 .. 16 */
	double		evictions;		/* P: 0 .. m */
	int			max;			/* Max: 1 .. 255 */
	bool		weighted;		/* evicts by value */
	const double *shares;		/* of the items that set value 1, 2, .. Max: not negative, sum 1. NULL: all set Max */
} sb_stable_chain;

/*
 * The fraction of zero cells that a filter tends to on a stream of distinct items: V0 = prod_{i = 1 .. Max}
 * p' / (p' + k_i), p = P/m, k = K/m, p' = p (1 - k), k_i = k * share of the items that set i or more. (Deng, Rafiei 2006,
 * theorem 2, is all k_i = k; Bhoraskar et al. 2013, theorem III.1, is two values.) With repeats there are more zeros.
 * Weighted: p' depends on i, as p' / (i s), where s is the mean of 1/value (0 for a zero cell) in the same stable
 * state, found by bisection, at least 1/SB_STABLE_TRIES. The mean field of the process, so exact for many cells only.
 * NaN for parameters out of their range.
 */
double		sb_stable_zeros(const sb_stable_chain *chain) SB_NOEXCEPT;

/* The bound of the false-positive rate, (1 - V0)^K (Bhoraskar et al. 2013, corollary III.4). */
double		sb_stable_bound(const sb_stable_chain *chain) SB_NOEXCEPT;

/*
 * Evictions a step for a rate: P = 1 / ((V0^(-1/Max) - 1) (1/K - 1/m)), V0 = 1 - fpr^(1/K) (Deng, Rafiei 2006, section
 * 4.3), not rounded. The bound holds for an ibf, too, whatever its shares. 0 < fpr < 1. NaN out of range.
 */
double		sb_stable_evictions(double fpr, double hash_count, int max, double cells) SB_NOEXCEPT;

/*
 * The same by search, for shares and value-weighted eviction: the smallest whole P <= m at which sb_stable_bound() is at
 * most fpr. chain->evictions is not looked at. NaN out of range, or if there is none.
 */
double		sb_stable_fitting_evictions(const sb_stable_chain *chain, double fpr) SB_NOEXCEPT;

/*
 * The probability that a duplicate is missed though its predecessor set its cells to `value` and only `gap` items came
 * in between: 1 - (1 - Pr0)^K, Pr0 the mass of state 0 after gap steps of the chain with states 0 .. Max, among them
 * those that set the cell again (Bhoraskar et al. 2013, section III; there only in words). The stream in between is of
 * distinct items. 1 <= value <= Max; NaN out of range. REQUIRES: work holds 2 * (Max + 1)^2 doubles.
 */
double		sb_stable_false_negatives(const sb_stable_chain *chain, int value, uint64_t gap, double *work) SB_NOEXCEPT;

/* The shares of a scheme where importances are uniform over the range: shares[0 .. Max - 1]. */
void		sb_stable_uniform_shares(sb_scheme scheme, int max, double *shares) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
