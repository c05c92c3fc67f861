/*
 * bf_lookup.cpp: looks up an item in a stored bf, for which the line of its hash is enough. An exact filter is read as a
 * whole: it is shorter than what is at hand in the beginning.
 */
#include "base/lookup.hpp"
#include "bf/bf.hpp"
#include "bf/bf_lines.hpp"

namespace streambloom {

sb_status bf_lookup_step(sb_lookup *lookup)
{
	const sb_bf &bf = lookup->header.bf;
	if (sb_bf_is_exact(&bf))
	{
		const unsigned char *items = at_hand(lookup, SB_BF_HEADER, bf.payload);
		return items == nullptr ? SB_NEED_BYTES : exact_find(&bf, items, lookup->hash, &lookup->found);
	}
	const unsigned char *line = at_hand(lookup, SB_BF_HEADER + line_of(bf.line_count, lookup->hash), SB_BF_LINE);
	if (line == nullptr)
		return SB_NEED_BYTES;
	lookup->found = sb_bf_line_contains(line, bf.hash_count, lookup->hash);
	return SB_OK;
}

} // namespace streambloom
