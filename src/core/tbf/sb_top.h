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
