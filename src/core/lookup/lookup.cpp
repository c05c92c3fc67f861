/*
 * lookup.cpp: begins and continues a look-up: is this item in this stored filter? This file has the part that is the
 * same for all types; sb_lookup.h explains the interface.
 *
 * A filter may have megabytes, of which a look-up needs the header and a few bytes that follow from the item's hash.
 * Only the core knows which ones. Only the caller can read them, since the core knows nothing of PostgreSQL's storage.
 * So a look-up is a small state machine, which the sb_lookup holds:
 *
 *   sb_lookup_open()   decodes the header, once for a value, whatever its type
 *   sb_lookup_item()   begins the search for a hash: calls the step function of the type
 *   sb_lookup_next()   takes the bytes that were asked for, and calls the step function again
 *
 * A step function goes on until it has the answer (SB_OK) or lacks bytes: then it writes to lookup->need which ones,
 * and returns SB_NEED_BYTES. There is one for each type, in a file of its own: abf_lookup.cpp (begin there: it is the
 * simplest), bf_lookup.cpp, stable_lookup.cpp and tbf_lookup.cpp. lookup.hpp has what they share. In PostgreSQL the
 * caller is src/pg/base/slices.c.
 *
 * A filter without a kind has no items, so nothing is found in it, and nothing more is read.
 */
#include "lookup/lookup.hpp"

using namespace streambloom;

/* Decodes the header of a value of lookup->type, and notes what the other functions need of it. */
static sb_status decode(sb_lookup *lookup, const void *bytes, size_t have, size_t total)
{
	sb_status status;
	switch (lookup->type)
	{
		case SB_LOOKUP_BF:
			status = sb_bf_decode_header(bytes, have, total, &lookup->header.bf);
			lookup->type_name = "bf";
			lookup->empty = lookup->header.bf.kind.code == SB_KIND_NONE;
			return status;
		case SB_LOOKUP_TBF:
			status = sb_tbf_decode_header(bytes, have, total, &lookup->header.tbf);
			lookup->type_name = "tbf";
			lookup->empty = lookup->header.tbf.kind.code == SB_KIND_NONE;
			return status;
		case SB_LOOKUP_ABF:
			status = sb_abf_decode_header(bytes, have, total, &lookup->header.abf);
			lookup->type_name = "abf";
			lookup->empty = lookup->header.abf.kind.code == SB_KIND_NONE;
			lookup->generation = lookup->header.abf.generation;
			return status;
		default:
			status = sb_stable_decode_header(bytes, have, total, SB_STABLE_EITHER, &lookup->header.stable);
			lookup->type_name = lookup->header.stable.scheme == SB_STABLE ? "sbf" : "ibf";
			lookup->empty = lookup->header.stable.kind.code == SB_KIND_NONE;
			return status;
	}
}

/* Goes on with the search, with the bytes at hand. */
static sb_status step(sb_lookup *lookup)
{
	switch (lookup->type)
	{
		case SB_LOOKUP_BF:
			return bf_lookup_step(lookup);
		case SB_LOOKUP_TBF:
			return tbf_lookup_step(lookup);
		case SB_LOOKUP_ABF:
			return abf_lookup_step(lookup);
		default:
			return stable_lookup_step(lookup);
	}
}

sb_status sb_lookup_open(sb_lookup *lookup, sb_lookup_type type, const void *bytes, size_t have, size_t total) noexcept
{
	lookup->type = static_cast<uint8_t>(type);
	lookup->bytes = static_cast<const unsigned char *>(bytes);
	lookup->at = 0;
	lookup->have = have;
	return decode(lookup, bytes, have, total);
}

sb_status sb_lookup_item(sb_lookup *lookup, uint64_t hash) noexcept
{
	lookup->hash = hash;
	lookup->found = false;
	lookup->units = 0;
	lookup->step = 0;
	lookup->tries = 0;
	return lookup->empty ? SB_OK : step(lookup);
}

sb_status sb_lookup_next(sb_lookup *lookup, const void *bytes, size_t have) noexcept
{
	lookup->bytes = static_cast<const unsigned char *>(bytes);
	lookup->at = lookup->need.offset;
	lookup->have = have;
	return step(lookup);
}
