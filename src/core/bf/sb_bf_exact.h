/*
 * sb_bf_exact.h: the exact form of a bf, which has the hashes of its items instead of lines. Part of streambloom.h.
 *
 * A filter that sizes itself has this form up to SB_BF_EXACT_ITEMS items, unless a filter with lines was united with
 * it. An exact filter takes two items for the same if the 48 highest bits of their hashes are the same; it has no other
 * false positives. In a union with a larger filter its items are added to the lines of that filter. (A small filter
 * that has lines would be widened, which adds false positives.) Every byte follows from the parameters and the set of
 * items, whatever the order in which the items came. sb_bf_builder.h makes such filters, adds to them and unites them;
 * bf_exact.hpp has the layout.
 */
#ifndef STREAMBLOOM_SB_BF_EXACT_H
#define STREAMBLOOM_SB_BF_EXACT_H

#include "bf/sb_bf.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline bool
sb_bf_is_exact(const sb_bf *bf)
{
	return (bf->flags & SB_BF_EXACT) != 0;
}

/*
 * Intersects two filters of which at least one is exact. The result is exact: it has those items of an exact filter
 * that the other filter has, too. The new value is made in one block of `to`: `in_front` bytes for the caller, the
 * header, the items. *out is the header, decoded. The kinds are not compared: the caller does that first.
 *
 * SB_DIFFERENT: the filters differ in their number of hashes, see *difference. SB_BAD_CELLS: see sb_bf_check().
 * SB_OUT_OF_RANGE: neither filter is exact. May also return SB_NO_MEMORY, SB_INTERRUPTED. *value is NULL unless the
 * status is SB_OK.
 */
SB_NODISCARD sb_status sb_bf_intersect_exact(const sb_bf *a, const void *a_stored, const sb_bf *b, const void *b_stored,
											 const sb_memory *to, size_t in_front, sb_bf *out, void **value,
											 sb_difference *difference) SB_NOEXCEPT;

/*
 * These two functions turn an exact filter into a filter with lines, without room for more items. sb_bf_plan_compact()
 * plans the new filter for the rate `fpr` and the number of items. SB_OUT_OF_RANGE, SB_TOO_LARGE: see sb_bf_plan();
 * SB_OUT_OF_RANGE also if the filter is not exact.
 *
 * sb_bf_exact_to_lines() writes the lines. SB_BAD_CELLS: see sb_bf_check(). May also return SB_INTERRUPTED. REQUIRES:
 * *plan comes from sb_bf_plan_compact() for the same filter; `lines` is zeroed and has room for the lines.
 */
SB_NODISCARD sb_status sb_bf_plan_compact(const sb_bf *bf, double fpr, sb_bf *plan) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_bf_exact_to_lines(const sb_bf *bf, const void *stored, const sb_bf *plan,
											void *lines) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
