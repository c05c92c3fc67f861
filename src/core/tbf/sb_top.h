/*
 * sb_top.h: the hot items of a tbf. Part of streambloom.h.
 */
#ifndef STREAMBLOOM_SB_TOP_H
#define STREAMBLOOM_SB_TOP_H

#include "tbf/sb_tbf.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A list of the heaviest items (Misra and Gries 1982), weighted and decayed: for every item e with the exact decayed
 * sum f_e, listed with a lower bound L_e or not listed (L_e = 0),
 *
 *     L_e <= f_e <= L_e + error,    error <= W / (c + 1),    W the decayed total of all hits, c the limit,
 *
 * for every order of the hits, however they were split over builders, and after any decay. So every item whose share of
 * W exceeds 1 / (c + 1) is listed. Items wait in a table of up to 2c until a purge subtracts the (c + 1)-th largest L
 * from all and drops what is not above it (as DataSketches' frequent items does: Anderson et al. 2017): c + 1 items
 * lose at least what the error gains, so (c + 1) * error + the sum of all L <= W, always. Merging adds up both and
 * purges (Agarwal et al. 2012): the inequalities add up.
 *
 * Rounding: L always down, the error always up, in 2^-40 hits at the base, so the second inequality holds up to
 * 2^-29 W + 2^-40 hits for each hit, decay and merge whose result is not exact. Whole weights without decay are exact.
 *
 * Items are told apart by their 64-bit hashes. The list grows in an sb_tbf_builder; sb_lookup_top() reads a stored one.
 */
#define SB_TOP_MAX_ITEM 256		/* bytes of an item kept; of a longer one the caller gives the beginning */

/* An item of a stored list. */
typedef struct sb_top_item
{
	uint64_t	hash;
	uint64_t	least;			/* L; sb_lookup_top_hits() makes hits of it */
	const unsigned char *bytes; /* the item as text, inside the stored value */
	uint32_t	length;			/* 0 .. SB_TOP_MAX_ITEM */
} sb_top_item;

#ifdef __cplusplus
}
#endif

#endif
