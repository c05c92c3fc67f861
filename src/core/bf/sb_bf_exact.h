/*
 * sb_bf_exact.h: the exact form of a small bf, which has the hashes of its items instead of lines. Part of streambloom.h.
 *
 * A filter that sizes itself has this form up to SB_BF_EXACT_ITEMS items. It has no false positives, and to unite it with
 * another filter marks nothing but its items. The form follows from the set of items alone: with one item more the filter
 * becomes lines, and lines stay lines.
 *
 * What follows the header (n: sb_bf.item_count) is three strings of bits without gaps, the lowest bit of a byte first, filled
 * up with zeros to a whole byte. The q = floor(log2 n) + 1 highest digits of a hash are its bucket. The first string has a bit
 * for each of the 2^q buckets: does it have items? The second one has a bit for each hash, in ascending order: is it the last one
 * of its bucket? The third one has the 64 - q lower digits of each hash, the lowest first. So 64 items take 480 bytes, one item
 * nine, and there is only one way to write a set of items. A look-up reads the bit of its bucket, and if that is set mostly one hash.
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

/* Adds a hash. REQUIRES: there are less than 2 * SB_BF_EXACT_ITEMS. */
void		sb_bf_exact_add(sb_bf_exact *items, uint64_t hash) SB_NOEXCEPT;

/*
 * Adds the items of an exact filter; or if `intersect` is true, keeps those items that a filter contains, which need not be exact.
 * To read an exact filter, add its items to none. `stored` is what follows the header. Trusts nothing. SB_BAD_CELLS: these are not the
 * bytes of so many items, or not the only ones that stand for them. REQUIRES of a union: there are at most SB_BF_EXACT_ITEMS before.
 */
SB_NODISCARD sb_status sb_bf_exact_combine(sb_bf_exact *items, const sb_bf *other, const void *stored, bool intersect) SB_NOEXCEPT;

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
