/*
 * sb_tbf_builder.h: a tbf while it is built. A builder is the state of aggregates such as tbf_agg and tbf_merge_agg;
 * functions such as tbf_add, tbf_scale and + compute their results with one, too. Part of streambloom.h.
 *
 * A tbf counts hits: a hit is an item with a time and a weight. It has cells, which are counters that items share; or
 * it is *exact*, and has each item with its own count (sb_tbf.h).
 */
#ifndef STREAMBLOOM_SB_TBF_BUILDER_H
#define STREAMBLOOM_SB_TBF_BUILDER_H

#include "tbf/sb_tbf.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A builder keeps exact sums of hits, in 2^-12 hits. A builder that collects hits begins with a sum for each item, in a
 * set of hashes. It goes over to a sum for each cell when the set would take more memory than the cells. A builder of a
 * filter that sizes itself goes over at a fixed number of items. The sums are rounded once, when the filter is stored.
 * The order of hits, and how the hits were split over builders, do not matter for sums. So the stored bytes do not
 * depend on them, with two exceptions: filters with minimum increase or recurring minimum
 * (sb_tbf_builder_add_in_order()), and the list of hot items.
 *
 * The state of the builder after a status that is not SB_OK:
 *  - SB_NO_MEMORY and SB_INTERRUPTED: the builder still has all that earlier calls added with SB_OK. Of what this call
 *    was to add, it has all, a part or nothing. It can still be used: it never undercounts what was added with SB_OK.
 *  - SB_OVERFLOW: as after SB_NO_MEMORY, but an item of the call may have its hit in only some of its cells. Hits
 *    that were pending (sb_tbf_builder_settle()) count as part of the call.
 *  - SB_DIFFERENT, SB_OUT_OF_RANGE: the builder is as it was. (If sb_tbf_builder_unite() finds late that stored filters
 *    in the two builders differ in size, the builder's parameters and the limit of its list of hot items may have
 *    changed.)
 *  - SB_BAD_CELLS, SB_BAD_LIST, SB_BAD_LENGTH (a stored filter cannot be read): the same as after SB_OVERFLOW.
 *  - SB_TOO_LARGE, SB_TOTAL_OVERFLOW (no value can be made): the builder still has all hits.
 */
typedef struct sb_tbf_builder sb_tbf_builder;

/* What the sums of a new builder belong to. */
typedef enum sb_tbf_sums_of
{
	SB_TBF_SUMS_OF_ITEMS,		/* for a builder that collects hits, or merges filters that may be exact */
	SB_TBF_SUMS_OF_CELLS		/* for a builder that adds up filters with cells */
} sb_tbf_sums_of;

/*
 * Makes an empty builder of a filter with the parameters of `plan`. If `self_sized` is false, the filter gets the
 * plan's size. If it is true, the filter sizes itself when it is stored: it gets a size for the items that it then has.
 * plan->expected_items cannot say whether the filter sizes itself: it is also 0 if a builder continues a stored filter
 * that once sized itself and now keeps its size.
 *
 * A filter that sizes itself has sums of items, since there are no cells yet; so does one whose plan is exact. With one
 * of SB_TBF_OPTIONS and a given size the sums are of cells.
 * SB_NO_MEMORY, SB_INTERRUPTED: *out is NULL.
 */
SB_NODISCARD sb_status sb_tbf_builder_begin(const sb_memory *memory, const sb_tbf *plan, sb_tbf_sums_of sums_of,
											bool self_sized,
											sb_tbf_builder **out) SB_NOEXCEPT;

/*
 * Makes an empty builder with the parameters of `other`. Its sums are of items if those of `other` are, else of cells.
 * SB_NO_MEMORY, SB_INTERRUPTED: *out is NULL.
 */
SB_NODISCARD sb_status sb_tbf_builder_like(const sb_memory *memory, const sb_tbf_builder *other,
										   sb_tbf_builder **out) SB_NOEXCEPT;

/*
 * Makes a builder that begins with all that a stored filter holds. With any status but SB_OK *out is NULL.
 * SB_BAD_CELLS, SB_BAD_LIST, SB_BAD_LENGTH: the filter cannot be read. May also return SB_OVERFLOW, SB_NO_MEMORY,
 * SB_INTERRUPTED.
 */
SB_NODISCARD sb_status sb_tbf_builder_of(const sb_memory *memory, const sb_tbf *filter, const void *cells,
										 sb_tbf_builder **out) SB_NOEXCEPT;

/* Releases all memory of the builder. Not needed if all memory of its sb_memory is about to be released anyway. */
void		sb_tbf_builder_release(sb_tbf_builder *builder) SB_NOEXCEPT;

/*
 * Returns the parameters of the filter that is built. The pointer is valid as long as the builder is. The caller may
 * set `kind` while it is none, and must not change anything else.
 */
sb_tbf	   *sb_tbf_builder_parameters(sb_tbf_builder *builder) SB_NOEXCEPT;

/* -------------------------------------------------------------------- hits */

/*
 * Adds a hit of this value (from sb_tbf_hit()) to the sums. The newest hits may stay pending, because many are added at
 * once. If such a hit causes SB_OVERFLOW, a later call returns it.
 */
SB_NODISCARD sb_status sb_tbf_builder_add_hit(sb_tbf_builder *builder, uint64_t hash, const sb_moment *moment,
											  uint64_t value) SB_NOEXCEPT;

/*
 * Does what sb_tbf_builder_add_hit() does, for filters with one of SB_TBF_OPTIONS: minimum increase or recurring
 * minimum, whose result depends on the order of hits. Nothing stays pending. REQUIRES: the builder's sums are of cells.
 */
SB_NODISCARD sb_status sb_tbf_builder_add_in_order(sb_tbf_builder *builder, uint64_t hash, const sb_moment *moment,
												   uint64_t value) SB_NOEXCEPT;

/*
 * sb_tbf_builder_add_hot_hit() adds a hit to the list of hot items. Call it as well as sb_tbf_builder_add_hit(), with
 * the weight that sb_tbf_hit() got. It returns true if the item is new to the list: then give the item's text to
 * sb_tbf_builder_name_hot_item() next. If that is not done or fails, the hit is counted in the error of the list
 * instead. If there is no list (sb_tbf.top is 0) or the weight is 0, sb_tbf_builder_add_hot_hit() does nothing and
 * returns false. sb_tbf_builder_name_hot_item() may return SB_NO_MEMORY, SB_INTERRUPTED.
 */
bool		sb_tbf_builder_add_hot_hit(sb_tbf_builder *builder, uint64_t hash, const sb_moment *moment,
									   double weight) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_tbf_builder_name_hot_item(sb_tbf_builder *builder, const void *text,
													size_t length) SB_NOEXCEPT;

/*
 * Checks whether `count` hits of this value can be added without exceeding the largest total that a filter can have.
 * Returns SB_TOTAL_OVERFLOW if a filter with them could not be stored because of its total. Callers that must not lose
 * the content of the builder call this first. REQUIRES: sb_tbf_builder_settle() was called after the last hit.
 */
SB_NODISCARD sb_status sb_tbf_builder_check_total(const sb_tbf_builder *builder, const sb_moment *moment,
												  uint64_t value,
												  uint64_t count) SB_NOEXCEPT;

/*
 * Adds the pending hits to the sums. Also adds the newest hits, those of the last moment, to the total of all hits,
 * which otherwise counts them only when the moment changes. The functions below that need this call it themselves. May
 * return SB_OVERFLOW, SB_NO_MEMORY, SB_INTERRUPTED.
 */
SB_NODISCARD sb_status sb_tbf_builder_settle(sb_tbf_builder *builder) SB_NOEXCEPT;

/* ---------------------------------------------------------- other filters */

#define SB_TBF_MAX_WEIGHT 0x1p33	/* weights for merging must be smaller */

/*
 * Adds all that a stored filter counts, times `weight`. The builder's parameters become those of the merged filter
 * (sb_tbf_plan_merge()). If the filter that is built does not size itself, its sums are of cells from then on.
 * Weights that are whole numbers or have at most 14 binary digits are exact; others are rounded up to 14 digits (by
 * less than 2^-13 of themselves).
 *
 * SB_OUT_OF_RANGE: the weight is NaN, below 0, or SB_TBF_MAX_WEIGHT or more. SB_DIFFERENT: the filters cannot be
 * added up, for a reason that sb_tbf_plan_merge() gives, or because their kinds differ (difference->parameter is
 * "kind").
 */
SB_NODISCARD sb_status sb_tbf_builder_add_filter(sb_tbf_builder *builder, const sb_tbf *filter, const void *cells,
												 double weight,
												 sb_difference *difference) SB_NOEXCEPT;

/*
 * Adds all that `other` holds. What `other` holds does not change; its pending hits are added to it.
 *
 * SB_DIFFERENT: the two cannot be added up. The reasons are those for a stored filter, and two more, for which
 * difference->parameter is NULL:
 *  - only one of the two filters sizes itself;
 *  - neither sizes itself, at least one builder has sums of items, and the two filters differ in their number of
 *    hashes, half-life, epoch or number of cells.
 */
SB_NODISCARD sb_status sb_tbf_builder_unite(sb_tbf_builder *builder, sb_tbf_builder *other,
											sb_difference *difference) SB_NOEXCEPT;

/* ----------------------------------------------------------------- results */

/*
 * Makes the stored filter, in one block of `to`: `in_front` bytes for the caller, the header, and what follows it.
 * The block may be larger than in_front + sb_tbf_size(stored). The builder can be used further. *value is NULL with
 * any status but SB_OK.
 *
 * SB_TOO_LARGE: the value would have more than SB_MAX_BYTES; sb_tbf_size(stored) says how many. SB_OVERFLOW,
 * SB_TOTAL_OVERFLOW: a counter, or the total of all hits, is too large. SB_BAD_LIST: the list of hot items has more
 * hits than the total, because it came from the bytes of a made-up builder. May also return SB_NO_MEMORY,
 * SB_INTERRUPTED.
 */
SB_NODISCARD sb_status sb_tbf_builder_store(sb_tbf_builder *builder, const sb_memory *to, size_t in_front,
											sb_tbf *stored,
											void **value) SB_NOEXCEPT;

/*
 * Writes all that the builder holds as bytes for another process of the same version, into a block of `to`, after
 * `in_front` bytes for the caller. *size is the number of bytes without in_front. SB_TOO_LARGE: in_front and these
 * bytes would be more than `most`. The function stops at the first part that does not fit; *size is then about the
 * number of bytes up to the end of that part. SB_DIFFERENT: the filter has recurring minimum, so it cannot be united
 * with others, and is not sent. May also return the statuses of sb_tbf_builder_settle(). *bytes is NULL with any
 * status but SB_OK.
 */
SB_NODISCARD sb_status sb_tbf_builder_serialize(sb_tbf_builder *builder, const sb_memory *to, size_t in_front,
												size_t most,
												void **bytes, size_t *size) SB_NOEXCEPT;

/*
 * Makes a builder from the bytes of sb_tbf_builder_serialize(). Trusts nothing in them. With any status but SB_OK *out
 * is NULL.
 */
SB_NODISCARD sb_status sb_tbf_builder_deserialize(const sb_memory *memory, const void *bytes, size_t size,
												  sb_tbf_builder **out) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
