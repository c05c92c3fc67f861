/*
 * sb_tbf_builder.h: a tbf while it is built: the state of tbf_agg and tbf_merge_agg, and the way by which tbf_add,
 * tbf_scale and + come to their results. Part of streambloom.h.
 */
#ifndef STREAMBLOOM_SB_TBF_BUILDER_H
#define STREAMBLOOM_SB_TBF_BUILDER_H

#include "tbf/sb_tbf.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Exact sums of hits in 2^-12 hits. They begin as a sum for each item, in a set of hashes; once that set would be
 * larger than the filter's cells they go over to a sum for each cell. They are rounded once, when the filter is stored.
 * As everything is a sum or a maximum of integers, the order of hits and how they were split over builders leave no
 * trace in the bytes that are stored. (With minimum increase that is true of the sums of items only: once there are
 * cells, the order of hits matters.)
 *
 * What is true after a status that is not SB_OK:
 *  - SB_NO_MEMORY and SB_INTERRUPTED: what was added before by calls that returned SB_OK is still in. What the call was
 *    to add is in, in part or as a whole, or it is not. The builder can be used on: it never undercounts what was added
 *    with SB_OK.
 *  - SB_OVERFLOW: the same, but an item of the call may have its hit in only some of its cells. Hits that were pending
 *    (sb_tbf_builder_settle()) count as part of the call.
 *  - SB_DIFFERENT, SB_OUT_OF_RANGE: the builder is as it was.
 *  - SB_BAD_CELLS, SB_BAD_LIST (a stored filter cannot be read): as SB_OVERFLOW.
 */
typedef struct sb_tbf_builder sb_tbf_builder;

/* What the sums are of, at first. */
typedef enum sb_tbf_sums_of
{
	SB_TBF_SUMS_OF_ITEMS,		/* to collect hits */
	SB_TBF_SUMS_OF_CELLS		/* to add up stored filters */
} sb_tbf_sums_of;

/*
 * An empty builder of a filter with the parameters of `plan`. If `self_sized` is false the filter gets the plan's size.
 * If it is true, the filter sizes itself when it is stored: it gets a size for the items that it then has. (That
 * expected_items is 0 does not say so, since a builder may also go on with a stored filter that once sized itself.) A
 * plan of an exact filter has no cells: the sums are of items, and the filter sizes itself, whatever the arguments say.
 * With recurring minimum the sums are of cells from the beginning. SB_NO_MEMORY, SB_INTERRUPTED: *out is NULL.
 */
SB_NODISCARD sb_status sb_tbf_builder_begin(const sb_memory *memory, const sb_tbf *plan, sb_tbf_sums_of sums_of,
											bool self_sized,
											sb_tbf_builder **out) SB_NOEXCEPT;

/* An empty builder with the parameters of another one; its sums are of items or of cells as the other's are. */
SB_NODISCARD sb_status sb_tbf_builder_like(const sb_memory *memory, const sb_tbf_builder *other,
										   sb_tbf_builder **out) SB_NOEXCEPT;

/* A builder that begins with all that a stored filter holds. SB_BAD_CELLS, SB_BAD_LIST. */
SB_NODISCARD sb_status sb_tbf_builder_of(const sb_memory *memory, const sb_tbf *filter, const void *cells,
										 sb_tbf_builder **out) SB_NOEXCEPT;

/* Releases all its memory. Not needed where the whole sb_memory ends. */
void		sb_tbf_builder_release(sb_tbf_builder *builder) SB_NOEXCEPT;

/*
 * The parameters of the filter that is built. The pointer is good as long as the builder. The caller may set the kind
 * while it is none, and nothing else.
 */
sb_tbf	   *sb_tbf_builder_parameters(sb_tbf_builder *builder) SB_NOEXCEPT;

/* -------------------------------------------------------------------- hits */

/*
 * Adds a hit of this value (sb_tbf_hit()) to the counters. The newest hits may stay pending, to be added many at a
 * time; their SB_OVERFLOW then comes with a later call.
 */
SB_NODISCARD sb_status sb_tbf_builder_add_hit(sb_tbf_builder *builder, uint64_t hash, const sb_moment *moment,
											  uint64_t value) SB_NOEXCEPT;

/*
 * The same hit for the list of hot items; its weight is what sb_tbf_hit() was given. true: the item is new to the list;
 * give its text to sb_tbf_builder_name_hot_item() next. Without the text the hit is counted in the error of the list
 * instead. Does nothing if there is no list (sb_tbf.top is 0).
 */
bool		sb_tbf_builder_add_hot_hit(sb_tbf_builder *builder, uint64_t hash, const sb_moment *moment,
									   double weight) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_tbf_builder_name_hot_item(sb_tbf_builder *builder, const void *text,
													size_t length) SB_NOEXCEPT;

/*
 * May so many hits of this value be added, as far as the total of all hits goes? SB_TOTAL_OVERFLOW: a filter with them
 * could not be stored. For whoever must not lose what the builder holds.
 */
SB_NODISCARD sb_status sb_tbf_builder_check_total(const sb_tbf_builder *builder, const sb_moment *moment,
												  uint64_t value,
												  uint64_t count) SB_NOEXCEPT;

/* Adds the pending hits. The functions below do so by themselves. SB_OVERFLOW, SB_NO_MEMORY, SB_INTERRUPTED. */
SB_NODISCARD sb_status sb_tbf_builder_settle(sb_tbf_builder *builder) SB_NOEXCEPT;

/* ---------------------------------------------------------- other filters */

#define SB_TBF_MAX_WEIGHT 0x1p33	/* weights for merging are smaller */

/*
 * Adds all that a stored filter counts, times a weight. The parameters become those of both (sb_tbf_plan_merge()), and
 * the sums are of cells from then on. Whole weights, and others of at most 14 binary digits, are kept as they are;
 * others are rounded up to 14 digits (by less than 2^-13 of themselves). SB_OUT_OF_RANGE: the weight is NaN, below 0,
 * or SB_TBF_MAX_WEIGHT and more. SB_DIFFERENT: the filters cannot be added up, as sb_tbf_plan_merge(), or
 * difference->parameter is "kind"; it is NULL if this filter sizes itself.
 */
SB_NODISCARD sb_status sb_tbf_builder_add_filter(sb_tbf_builder *builder, const sb_tbf *filter, const void *cells,
												 double weight,
												 sb_difference *difference) SB_NOEXCEPT;

/*
 * Adds all that another builder holds, which stays as it is but for its pending hits. SB_DIFFERENT: the two cannot be
 * added up, as for a stored filter; difference->parameter is NULL if one of them has collected hits for other
 * parameters.
 */
SB_NODISCARD sb_status sb_tbf_builder_unite(sb_tbf_builder *builder, sb_tbf_builder *other,
											sb_difference *difference) SB_NOEXCEPT;

/* ----------------------------------------------------------------- results */

/*
 * The filter as it is stored, in a block of `to`: `in_front` bytes for the caller, the header, the cells. The block may
 * be larger than in_front + sb_tbf_size(stored). The builder can go on. SB_TOO_LARGE: it would have more than
 * SB_MAX_BYTES; *stored says how many. SB_BAD_LIST: the builder came from bytes whose list lists more hits than there
 * are. *value is NULL with any status but SB_OK.
 */
SB_NODISCARD sb_status sb_tbf_builder_store(sb_tbf_builder *builder, const sb_memory *to, size_t in_front,
											sb_tbf *stored,
											void **value) SB_NOEXCEPT;

/*
 * All that the builder knows, as bytes for another process of the same version: in a block of `to`, after `in_front`
 * bytes for the caller. SB_TOO_LARGE: with these they are more than `most`; *size is how many. SB_DIFFERENT: with
 * recurring minimum nothing can be united, so nothing is sent.
 */
SB_NODISCARD sb_status sb_tbf_builder_serialize(sb_tbf_builder *builder, const sb_memory *to, size_t in_front,
												size_t most,
												void **bytes, size_t *size) SB_NOEXCEPT;

/*
 * The builder that these bytes are. Trusts nothing. The bytes must stay where they are as long as the builder is used:
 * if the sums are of items, sb_tbf_builder_unite() and sb_tbf_builder_serialize() read them there. Other functions copy
 * them first.
 */
SB_NODISCARD sb_status sb_tbf_builder_deserialize(const sb_memory *memory, const void *bytes, size_t size,
												  sb_tbf_builder **out) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
