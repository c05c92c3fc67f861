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
	const hash_list list = list_of(&lookup->header.bf, nullptr);
	uint64_t units;
	if (lookup->step == step_directory)
		if (sb_status status = find_listed_block(lookup, list, SB_BF_HEADER); status != SB_OK)
			return status;
	lookup->step = step_block;
	const sb_status status = find_listed(lookup, list, &units);
	lookup->found = units != 0;
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
