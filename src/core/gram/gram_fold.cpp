/*
 * gram_fold.cpp: looks up in the table of gram_fold_table.hpp what a character beyond ASCII becomes when case is
 * folded.
 */
#include "gram/gram_fold.hpp"

#include <algorithm>
#include <iterator>

#include "gram/gram_fold_table.hpp"

namespace streambloom {

size_t fold_beyond_ascii(uint32_t character, uint32_t folded[3])
{
	const fold_range *range = std::lower_bound(
		std::begin(fold_ranges), std::end(fold_ranges), character,
		[](const fold_range &each, uint32_t wanted) { return each.last < wanted; });
	folded[0] = character;
	if (range == std::end(fold_ranges) || character < range->first || (character - range->first) % range->step != 0)
		return 1;
	switch (range->kind)
	{
		case fold_kind::shift:
			folded[0] = character + static_cast<uint32_t>(range->value);
			return 1;
		case fold_kind::become:
			folded[0] = static_cast<uint32_t>(range->value);
			return 1;
		case fold_kind::expand:
			std::copy(std::begin(fold_sequences[range->value]), std::end(fold_sequences[range->value]), folded);
			return folded[2] != 0 ? 3 : 2;
		case fold_kind::vanish:
			break;
	}
	return 0;
}

} // namespace streambloom
