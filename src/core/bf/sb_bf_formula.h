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
 * The classic Bloom filter's false-positive rate (1 - e^(-kn/m))^k for m bits, k hashes and n items (Bloom 1970;
 * Ullman's slides; Cheng et al., eq. 5). bits > 0, hash_count > 0, items >= 0, all finite; NaN for anything else.
 */
double		sb_bloom_fpr(double bits, double hash_count, double items) SB_NOEXCEPT;

/*
 * The number of bits that the classic filter needs for n items and the rate p with its best number of hashes:
 * n ln(1/p) / ln(2)^2 (Bloom 1970), not rounded. items >= 0 and finite, 0 < fpr < 1; NaN for anything else.
 */
double		sb_bloom_bits(double items, double fpr) SB_NOEXCEPT;

/*
 * The number of hashes that is best for m bits and n items in the classic filter: m/n ln 2, at least 1, not rounded.
 * bits > 0, items > 0, both finite; NaN for anything else.
 */
double		sb_bloom_hashes(double bits, double items) SB_NOEXCEPT;

/*
 * The exact false-positive rate of a blocked filter, in which all cells of an item lie in one block. (In a bf a block
 * is a line, and a cell is a bit.) The number of items of a block of `cells` cells is Poisson with the mean `load`. An
 * item sets hash_count cells of its block, which are drawn independently, so that two may be the same. The rate is the
 * sum over the possible numbers of distinct cells of the item that is looked up; each term is calculated by inclusion
 * and exclusion. (Putze, Sanders, Singler 2007 have the Poisson mixture. They take (1 - e^(-kn/m))^k for the rate of
 * one block; here the rate of one block is exact, too.) If load is infinite, the rate is 1. REQUIRES: cells >= 2,
 * hash_count is 1 .. 16, load >= 0.
 */
double		sb_blocked_fpr(double cells, int hash_count, double load) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
