/*
 * stable_lookup.cpp: looks up an item in a stored sbf or ibf. The cells of an item lie all over the filter. They are
 * read one by one, until one of them is zero or all have been read.
 */
#include "lookup/lookup.hpp"
#include "stable/stable.hpp"

namespace streambloom {

static bool is_zero(const unsigned char *bytes, unsigned shift, unsigned bits)
{
	return (uint64_t{load_le<uint16_t>(bytes)} >> shift & low_mask(bits)) == 0;
}

sb_status stable_lookup_step(sb_lookup *lookup)
{
	const sb_stable &stable = lookup->header.stable;
	const unsigned bits = stable.bits;
	if (stable.items == 0)
		return SB_OK;

	/* the last call asked for a cell: the bytes that were now handed over have it, from their bit lookup->from on */
	if (lookup->step != 0)
	{
		if (is_zero(lookup->bytes, static_cast<unsigned>(lookup->from), bits))
			return SB_OK;
		lookup->tries++;
	}
	lookup->step = 1;
	for (; lookup->tries < stable.hash_count; lookup->tries++)
	{
		cell_window window = window_of(bits, cell_of(&stable, lookup->hash, lookup->tries));
		const unsigned char *bytes = at_hand(lookup, SB_STABLE_HEADER + window.at, 2);
		if (bytes == nullptr)
		{
			lookup->from = window.shift;
			return SB_NEED_BYTES;
		}
		if (is_zero(bytes, window.shift, bits))
			return SB_OK;
	}
	lookup->found = true;
	return SB_OK;
}

} // namespace streambloom
