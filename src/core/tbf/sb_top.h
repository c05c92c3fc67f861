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
 * A list of the heaviest items (Misra and Gries 1982), weighted and decayed: for every item e with the exact decayed sum
 * f_e, listed with a lower bound L_e or not listed (L_e = 0),
 *
 *     L_e <= f_e <= L_e + error,    error <= W / (c + 1),    W the decayed total of all hits, c the limit,
 *
 * in whatever order and however split the hits came, and after any decay. So every item whose share of W exceeds
 * 1 / (c + 1) is listed. Items wait in a table of up to 2c until a purge subtracts the (c + 1)-th largest L from all and
 * drops what is not above it (as DataSketches' frequent items does: Anderson et al. 2017): c + 1 items lose at least
 * what the error gains, so (c + 1) * error + the sum of all L <= W, always. Merging adds up both and purges (Agarwal
 * et al. 2012): the inequalities add up.
 *
 * Rounding: L always down, the error always up, in 2^-40 hits at the base, so the second inequality holds up to
 * 2^-29 W + 2^-40 hits for each hit, decay and merge whose result is not exact. Whole weights without decay are exact.
 *
 * An item is its 64-bit hash, as everywhere. The list itself is part of an sb_tbf_builder; here it is read as it is stored.
 */
#define SB_TOP_MAX_ITEM 256		/* bytes of an item kept; of a longer one the caller gives the beginning */
#define SB_TOP_FRACTION_BITS 40	/* in memory L and error count in 2^-40 hits */
#define SB_TOP_SECTION 16		/* bytes of a stored list before its entries */
#define SB_TOP_ENTRY 18			/* bytes of a stored entry */

/* A stored list, checked, and a place in it. */
typedef struct sb_top_section
{
	uint32_t	count;
	uint8_t		fraction_bits;	/* L and error count in 2^-fraction_bits hits at the filter's base */
	uint64_t	error;
	const unsigned char *entry; /* of the next item */
	const unsigned char *item;
	uint32_t	left;			/* items from here on */
} sb_top_section;

/* An item of it. */
typedef struct sb_top_item
{
	uint64_t	hash;
	uint64_t	least;			/* L */
	const unsigned char *bytes;
	uint32_t	length;
} sb_top_item;

/*
 * Reads and checks a stored list of a filter with this limit and total (sb_tbf.total; UINT64_MAX: not known). Trusts nothing.
 * SB_BAD_LENGTH if its parts do not add up to `size`, SB_BAD_LIST for anything else.
 */
SB_NODISCARD sb_status sb_top_open(const void *bytes, size_t size, uint32_t limit, uint64_t total,
								   sb_top_section *out) SB_NOEXCEPT;

/* The next item; false after the last. Items come by their hashes. */
bool		sb_top_next(sb_top_section *section, sb_top_item *out) SB_NOEXCEPT;


#ifdef __cplusplus
}
#endif

#endif
