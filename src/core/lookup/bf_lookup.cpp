/*
 * bf_lookup.cpp: looks up an item in a stored bf. In a filter with lines it reads the item's line. An exact filter has
 * blocks of sorted hashes, and a directory that says where each block ends. There the look-up reads the entries of the
 * directory for the item's block, and then this block or its beginning.
 */
#include "lookup/lookup.hpp"
#include "bf/bf.hpp"
#include "bf/bf_exact.hpp"
#include "bf/bf_lines.hpp"

namespace streambloom {

namespace {

enum step : uint8_t
{
	step_directory, /* where a look-up begins */
	step_block
};

sb_status find_in_list(sb_lookup *lookup)
{
	const sb_bf &bf = lookup->header.bf;
	if (lookup->step == step_directory)
	{
		size_t offset;
		size_t size;
		list_directory_range(&bf, lookup->hash, &offset, &size);
		if (offset + size > SB_BF_HEADER + size_t{bf.payload})
			return SB_BAD_CELLS;
		const unsigned char *directory = at_hand(lookup, offset, size);
		if (directory == nullptr)
			return SB_NEED_BYTES;
		if (sb_status status = list_block_range(&bf, lookup->hash, directory, &offset, &size); status != SB_OK)
			return status;
		lookup->from = offset;
		lookup->to = size;
		lookup->step = step_block;
	}
	size_t have;
	const unsigned char *block = at_hand_from(lookup, lookup->from, &have);
	have = std::min<size_t>(have, lookup->to);
	const sb_status status = list_find(&bf, block, have, lookup->to, lookup->hash, &lookup->found);
	if (status == SB_NEED_BYTES)
	{
		const size_t head = list_head(&bf);
		lookup->need = {lookup->from, lookup->to, have < head ? head : lookup->to};
	}
	return status;
}

} // namespace

sb_status bf_lookup_step(sb_lookup *lookup)
{
	const sb_bf &bf = lookup->header.bf;
	if (sb_bf_is_exact(&bf))
		return find_in_list(lookup);
	const unsigned char *line = at_hand(lookup, SB_BF_HEADER + line_of(bf.line_count, lookup->hash), SB_BF_LINE);
	if (line == nullptr)
		return SB_NEED_BYTES;
	lookup->found = sb_bf_line_contains(line, bf.hash_count, lookup->hash);
	return SB_OK;
}

} // namespace streambloom
