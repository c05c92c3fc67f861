/*
 * sb_bf_formula.h: sizes and rates of Bloom filters. Part of streambloom.h.
 */
#ifndef STREAMBLOOM_SB_BF_FORMULA_H
#define STREAMBLOOM_SB_BF_FORMULA_H

#include "base/sb_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The classic Bloom filter's false-positive rate (1 - e^(-kn/m))^k (Bloom 1970; Ullman's slides; Cheng et al., eq. 5).
 * bits > 0, hashes > 0, items >= 0, all finite; NaN for anything else.
 */
double		sb_bloom_fpr(double bits, double hash_count, double items) SB_NOEXCEPT;

/* The bits that the classic filter needs at its best k: n ln(1/p) / ln(2)^2. items >= 0, 0 < fpr < 1, else NaN. */
double		sb_bloom_bits(double items, double fpr) SB_NOEXCEPT;

/* The number of hashes that is best for m bits and n items: m/n ln 2, at least 1 (not rounded). Else NaN. */
double		sb_bloom_hashes(double bits, double items) SB_NOEXCEPT;

/*
 * The exact false-positive rate of a blocked filter: items fall on blocks of `cells` cells by a Poisson law of mean
 * `load` items a block; an item sets `hashes` cells of its block, drawn independently (so two may coincide).
 * Sum over the number d of distinct cells of a query, by inclusion and exclusion (Putze, Sanders, Singler 2007
 * give the Poisson mixture; the inner probability here is exact instead of (1-e^..)^k).
 * REQUIRES: cells >= 2, 1 <= hashes <= 16, load >= 0.
 */
double		sb_blocked_fpr(double cells, int hash_count, double load) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
