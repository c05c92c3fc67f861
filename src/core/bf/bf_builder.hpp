/*
 * bf_builder.hpp: what the files of the builder share.
 */
#ifndef STREAMBLOOM_BF_BUILDER_HPP
#define STREAMBLOOM_BF_BUILDER_HPP

#include "streambloom.h"

namespace streambloom {

/* The number of lines of a builder whose filter sizes itself. */
constexpr uint32_t self_sized_lines = UINT32_C(1) << 19;

constexpr bool is_borrowed(sb_bf_form form)
{
	return form == SB_BF_BORROWS_HASHES || form == SB_BF_BORROWS_LINES || form == SB_BF_BORROWS_SPARSE_LINES;
}

inline bool sizes_itself(const sb_bf_builder *builder)
{
	return builder->plan.expected_items == 0;
}

/* Moves borrowed items into memory of the builder's own. A builder that borrows nothing stays as it is. */
[[nodiscard]] sb_status own(sb_bf_builder *builder);

/* Adds the pending items. (A builder that borrows its items has none.) After a failure they are still pending. */
[[nodiscard]] sb_status settle(sb_bf_builder *builder);

} // namespace streambloom

#endif
