/*
 * lookup.hpp: what the look-ups of all types share. lookup.cpp calls the file of the type: bf_lookup.cpp,
 * tbf_lookup.cpp, stable_lookup.cpp or abf_lookup.cpp.
 *
 * The step function of a type does as much as it can with the bytes at hand. If bytes are missing, it notes in
 * lookup->need which ones, and returns SB_NEED_BYTES; it is called again when the caller has handed them over.
 * Between calls the sb_lookup records how far the search has come, but no step keeps a pointer to bytes of the value.
 */
#ifndef STREAMBLOOM_LOOKUP_HPP
#define STREAMBLOOM_LOOKUP_HPP

#include "base/hash_list.hpp"
#include "streambloom.h"

#include <algorithm>

namespace streambloom {

/*
 * Returns `size` bytes of the value from `offset` on. If they are not all among the bytes that were handed over last,
 * notes in lookup->need that they are missing, and returns nullptr; then the step must return SB_NEED_BYTES.
 */
inline const unsigned char *at_hand(sb_lookup *lookup, size_t offset, size_t size)
{
	size_t skipped = offset - lookup->at; /* wraps to a very large number if offset lies before the bytes at hand */
	if (skipped <= lookup->have && size <= lookup->have - skipped)
		return lookup->bytes + skipped;
	lookup->need = {offset, size, size};
	return nullptr;
}

/* Returns the bytes of the value from `offset` on; *have becomes how many of them are at hand, perhaps 0. */
inline const unsigned char *at_hand_from(const sb_lookup *lookup, size_t offset, size_t *have)
{
	const size_t skipped = std::min(offset - lookup->at, lookup->have);
	*have = lookup->have - skipped;
	return lookup->bytes + skipped;
}

/*
 * Finds the block of lookup->hash in a list that follows a header of `header` bytes: lookup->from and lookup->to become
 * its place and its size.
 */
inline sb_status find_listed_block(sb_lookup *lookup, const hash_list &list, size_t header)
{
	size_t offset;
	size_t size;
	const unsigned char *directory = nullptr;
	list.directory_range(lookup->hash, &offset, &size);
	if (offset + size > list.size)
		return SB_BAD_CELLS;
	if (size != 0 && (directory = at_hand(lookup, header + offset, size)) == nullptr)
		return SB_NEED_BYTES;
	const sb_status status = list.block_range(lookup->hash, directory, &offset, &size);
	lookup->from = header + offset;
	lookup->to = size;
	return status;
}

/*
 * Finds lookup->hash in its block; *units becomes its count. If not even the head of the block is at hand, asks for the head or more: for many items that are not in the filter
 * the head is enough. If the head is at hand, but not enough, asks for the whole block.
 */
inline sb_status find_listed(sb_lookup *lookup, const hash_list &list, uint64_t *units)
{
	size_t have;
	const unsigned char *block = at_hand_from(lookup, lookup->from, &have);
	have = std::min<size_t>(have, lookup->to);
	const sb_status status = find_in_block(list, block, have, lookup->to, lookup->hash, units);
	if (status == SB_NEED_BYTES)
		lookup->need = {lookup->from, lookup->to, have < list.head() ? list.head() : lookup->to};
	return status;
}

/*
 * Each of these begins or continues the search for lookup->hash. When a search begins, `step`, `tries` and `units`
 * are 0, and `found` is false. tbf_lookup_step() also continues to read the list of hot items (sb_lookup_top()).
 * REQUIRES: the filter has a kind, which its first item gave it. It may have no items any more: a tbf keeps its kind
 * when all items have decayed.
 */
sb_status bf_lookup_step(sb_lookup *lookup);
sb_status tbf_lookup_step(sb_lookup *lookup);
sb_status stable_lookup_step(sb_lookup *lookup);
sb_status abf_lookup_step(sb_lookup *lookup);

} // namespace streambloom

#endif
