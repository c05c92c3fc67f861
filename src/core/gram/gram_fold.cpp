/*
 * gram_fold.cpp: looks up in the table of gram_fold_table.hpp what a character beyond ASCII becomes when case is
 * folded.
 */
#include "gram/gram_fold.hpp"

#include <algorithm>
#include <iterator>

#include "gram/gram_fold_table.hpp"

namespace streambloom {

namespace {

constexpr uint32_t bits_21 = 0x1FFFFF;

constexpr uint32_t last_of(uint64_t range)
{
	return range >> 21 & bits_21;
}

} // namespace

size_t fold_beyond_ascii(uint32_t character, uint32_t folded[3])
{
	const uint64_t *range = std::lower_bound(std::begin(fold_ranges), std::end(fold_ranges), character,
											 [](uint64_t each, uint32_t wanted) { return last_of(each) < wanted; });
	folded[0] = character;
	if (range == std::end(fold_ranges))
		return 1;
	const uint32_t first = *range & bits_21;
	if (character < first || ((character - first) & (*range >> 42 & 1)) != 0)
		return 1;
	const int64_t value = static_cast<int64_t>(*range) >> 45;
	switch (static_cast<fold_kind>(*range >> 43 & 3))
	{
		case fold_kind::shift:
			folded[0] = static_cast<uint32_t>(character + value);
			return 1;
		case fold_kind::become:
			folded[0] = 0xFFFD;
			return 1;
		case fold_kind::expand:
			for (int i = 0; i < 3; i++)
				folded[i] = fold_sequences[value] >> 21 * i & bits_21;
			return folded[2] != 0 ? 3 : 2;
		case fold_kind::vanish:
			break;
	}
	return 0;
}

} // namespace streambloom
