/*
 * sb_bf_exact.h: the exact form of a small bf, which has the hashes of its items instead of lines. Part of streambloom.h.
 *
 * A filter that sizes itself has this form up to SB_BF_EXACT_ITEMS items. It has no false positives, and to unite it with
 * another filter marks nothing but its items. The form follows from the set of items alone: with one item more the filter
 * becomes lines, and lines stay lines.
 *
 * What follows the header (n: sb_bf.item_count) is a string of bits, the lowest bit of a byte first, filled up with zeros to
 * a whole byte. For each hash, in ascending order, it has the distance from the hash before it plus one (of the first hash:
 * from 0) in Rice's code of order r = 63 - floor(log2 n): floor(distance / 2^r) zeros, a one, and the r lower bits of the
 * distance. So 64 items take 476 bytes, one item eight or nine, and there is only one way to write a set of items.
 */
#ifndef STREAMBLOOM_SB_BF_EXACT_H
#define STREAMBLOOM_SB_BF_EXACT_H

#include "bf/sb_bf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The items of an exact filter, read; or those of two such filters. */
typedef struct sb_bf_exact
{
	uint32_t	count;
	uint64_t	hashes[2 * SB_BF_EXACT_ITEMS];	/* ascending; no two are the same */
} sb_bf_exact;

static inline bool
sb_bf_is_exact(const sb_bf *bf)
{
	return (bf->flags & SB_BF_EXACT) != 0;
}

/*
 * Reads what follows the header of an exact filter, `stored`. Trusts nothing. SB_BAD_CELLS: these are not the bytes of
 * so many items, or not the only ones that stand for them.
 */
SB_NODISCARD sb_status sb_bf_exact_read(const sb_bf *bf, const void *stored, sb_bf_exact *out) SB_NOEXCEPT;

bool		sb_bf_exact_contains(const sb_bf_exact *items, uint64_t hash) SB_NOEXCEPT;

/* Adds a hash. REQUIRES: there are less than 2 * SB_BF_EXACT_ITEMS. */
void		sb_bf_exact_add(sb_bf_exact *items, uint64_t hash) SB_NOEXCEPT;

/* Adds the items of another exact filter. REQUIRES: each of the two has at most SB_BF_EXACT_ITEMS. */
void		sb_bf_exact_unite(sb_bf_exact *items, const sb_bf_exact *other) SB_NOEXCEPT;

/* Keeps those items that the other filter contains, which may be exact or not. SB_BAD_CELLS. */
SB_NODISCARD sb_status sb_bf_exact_intersect(sb_bf_exact *items, const sb_bf *other, const void *stored) SB_NOEXCEPT;

/*
 * The parameters of a filter with these items: kind, hash_count and fpr are those of `like`, and it sizes itself. Up to
 * SB_BF_EXACT_ITEMS items it is exact. Beyond it has as many lines as four times 2 * SB_BF_EXACT_ITEMS items need, whatever
 * the number of items is, so that the order in which filters are united leaves no trace.
 */
void		sb_bf_exact_plan(const sb_bf *like, const sb_bf_exact *items, sb_bf *out) SB_NOEXCEPT;

/*
 * Writes what follows the header. REQUIRES: *bf comes from sb_bf_exact_plan() for the same items; the bytes of `out` are
 * all zeros.
 */
void		sb_bf_exact_write(const sb_bf *bf, const sb_bf_exact *items, void *out) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
