/*
 * abf_lookup.cpp: looks up an item in a stored abf, also for a later time than that of its newest item. Beyond the
 * header a look-up reads only the item's block. The block has a part of every slice, and takes about two kilobytes at a
 * rate of 1 %.
 */
#include "abf/abf.hpp"
#include "lookup/lookup.hpp"

void sb_lookup_abf_at(sb_lookup *lookup, int64_t at) noexcept
{
	lookup->generation = sb_abf_generation(&lookup->header.abf, at);
}

namespace streambloom {

sb_status abf_lookup_step(sb_lookup *lookup)
{
	const sb_abf &abf = lookup->header.abf;
	const int alive = alive_at(abf, lookup->generation);
	if (!abf.filled || alive < abf.hash_count)
		return SB_OK;
	const size_t size = block_bytes(abf);
	const size_t offset = SB_ABF_HEADER + static_cast<size_t>(block_of(abf, lookup->hash)) * size;
	const unsigned char *block = at_hand(lookup, offset, size);
	if (block == nullptr)
		return SB_NEED_BYTES;
	lookup->found = find_run(abf, block, lookup->hash, place_of(abf, abf.generation), alive);
	return SB_OK;
}

} // namespace streambloom
