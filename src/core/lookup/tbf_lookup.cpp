/*
 * tbf_lookup.cpp: looks up an item in a stored tbf, and reads the list of hot items. A look-up reads up to three
 * parts: in the extensible layout and in an exact filter, the block's entry in the directory; then the block; then the
 * table of recurring minimum if there is one.
 */
#include "lookup/lookup.hpp"
#include "tbf/tbf_cells.hpp"
#include "tbf/tbf_place.hpp"
#include "tbf/tbf_top.hpp"

#include <algorithm>
#include <cmath>

using namespace streambloom;

namespace {

enum step : uint8_t
{
	step_directory, /* where a look-up begins */
	step_block,
	step_table,
	step_list
};

sb_status answer(sb_lookup *lookup)
{
	lookup->found = lookup->units != 0;
	return SB_OK;
}

/* ------------------------------------------------- the table of recurring minimum */

/*
 * The table is sorted by hash. The search in it reads slices of slice_entries entries (2 kB, two or three chunks of
 * TOAST). Hashes are spread evenly, so interpolation says where the entry should lie, and the first slice is read
 * there. The error of interpolation grows with the square root of the table's length; mostly one or two slices are
 * enough. After `interpolations` slices the search halves the rest of the table instead, in case the hashes are not
 * spread so well (or somebody made the table by hand).
 */
constexpr uint64_t slice_entries = 128;
constexpr int interpolations = 4;

/* Returns the index in the slice of the first entry whose hash is at least `hash`, or `count` if there is none. */
uint64_t place_in(const unsigned char *slice, uint64_t count, uint64_t hash)
{
	uint64_t left = 0;
	uint64_t right = count;
	while (left < right)
	{
		uint64_t half = left + (right - left) / 2;
		if (load_le<uint64_t>(slice + half * recurring_entry_size) < hash)
			left = half + 1;
		else
			right = half;
	}
	return left;
}

/*
 * Returns the number of the first entry of the next slice: `count` entries around the place where interpolation expects
 * the item's entry, or after `interpolations` slices around the middle of the rest.
 */
uint64_t next_slice(const sb_lookup *lookup, uint64_t count)
{
	uint64_t range = lookup->to - lookup->from;
	double place = 0.5;
	if (lookup->tries < interpolations && lookup->high > lookup->low)
		place = (static_cast<double>(lookup->hash) - lookup->low) / (lookup->high - lookup->low);
	uint64_t middle = lookup->from + static_cast<uint64_t>(std::clamp(place, 0.0, 1.0) * static_cast<double>(range));
	return std::min(std::max(middle, lookup->from + count / 2) - count / 2, lookup->to - count);
}

/*
 * Continues the search in the table. If the item has an entry, it is one of the entries from .. to - 1, whose hashes
 * lie between low and high.
 */
sb_status search_table(sb_lookup *lookup)
{
	const sb_tbf &tbf = lookup->header.tbf;
	const size_t table = SB_TBF_HEADER + counters_size(&tbf);

	while (lookup->from < lookup->to)
	{
		uint64_t count = std::min(lookup->to - lookup->from, slice_entries);
		uint64_t first = next_slice(lookup, count);
		const unsigned char *slice = at_hand(lookup, table + first * recurring_entry_size,
											 count * recurring_entry_size);
		if (slice == nullptr)
			return SB_NEED_BYTES;

		uint64_t place = place_in(slice, count, lookup->hash);
		recurring_entry entry;
		read_entry(slice, std::min(place, count - 1), &entry);
		if (entry.hash == lookup->hash)
		{
			if (entry.hits == 0 || entry.hits >= SB_TBF_MAX_CELL)
				return SB_BAD_CELLS;
			lookup->units = shift_right_up(entry.hits, static_cast<uint64_t>(SB_TBF_HIT_BITS - tbf.unit_bits));
			break;
		}
		if (place == 0)
		{
			lookup->to = first;
			lookup->high = static_cast<double>(entry.hash);
		}
		else if (place == count)
		{
			lookup->from = first + count;
			lookup->low = static_cast<double>(entry.hash);
		}
		else
			break; /* there is no entry: the item's hash lies between two hashes of this slice */
		lookup->tries = static_cast<uint8_t>(std::min(lookup->tries + 1, interpolations));
	}
	return answer(lookup); /* an item without an entry keeps the count of its counters */
}

/* ------------------------------------------------------------------- counters */

sb_status read_block(sb_lookup *lookup)
{
	const sb_tbf &tbf = lookup->header.tbf;
	if (is_exact(&tbf))
	{
		const sb_status status = find_listed(lookup, list_of(&tbf, nullptr), &lookup->units);
		return status == SB_OK ? answer(lookup) : status;
	}
	if (lookup->to != 0)
	{
		const unsigned char *block = at_hand(lookup, lookup->from, lookup->to);
		if (block == nullptr)
			return SB_NEED_BYTES;
		if (sb_status status = block_min(&tbf, block, lookup->to, lookup->hash, &lookup->units); status != SB_OK)
			return status;
	}

	/* an item with a zero among its counters cannot be in the table */
	uint64_t entries = recurring_entries(&tbf);
	if (lookup->units == 0 || entries == 0)
		return answer(lookup);
	lookup->step = step_table;
	lookup->from = 0;
	lookup->to = entries;
	lookup->low = 0;
	lookup->high = static_cast<double>(UINT64_MAX);
	return search_table(lookup);
}

sb_status read_directory(sb_lookup *lookup)
{
	const sb_tbf &tbf = lookup->header.tbf;
	lookup->hash &= SB_KEPT_HASH_MASK;
	if (is_exact(&tbf))
	{
		if (sb_status status = find_listed_block(lookup, list_of(&tbf, nullptr), SB_TBF_HEADER); status != SB_OK)
			return status;
		lookup->step = step_block;
		return read_block(lookup);
	}
	const uint32_t block = block_of(tbf.block_count, lookup->hash);
	size_t offset;
	size_t size;
	const unsigned char *directory = nullptr;

	directory_range(&tbf, block, &offset, &size);
	if (size != 0 && (directory = at_hand(lookup, offset, size)) == nullptr)
		return SB_NEED_BYTES;
	if (sb_status status = block_range(&tbf, block, directory, &offset, &size); status != SB_OK)
		return status;
	lookup->step = step_block;
	lookup->from = offset;
	lookup->to = size;
	return read_block(lookup);
}

/* ------------------------------------------------------------ the list of hot items */

/*
 * The order of the list: the item with the most hits comes first. Items with equal hits are ordered by their bytes, and
 * items with equal bytes (such as long texts that were cut) by their hashes. So the order is always the same.
 */
bool is_before(const sb_top_item &a, const sb_top_item &b)
{
	if (a.least != b.least)
		return a.least > b.least;
	int order = std::memcmp(a.bytes, b.bytes, std::min(a.length, b.length));
	if (order != 0)
		return order < 0;
	return a.length != b.length ? a.length < b.length : a.hash < b.hash;
}

sb_status read_list(sb_lookup *lookup)
{
	const sb_tbf &tbf = lookup->header.tbf;
	const unsigned char *list = nullptr;
	if (tbf.extra != 0 && (list = at_hand(lookup, SB_TBF_HEADER + counters_size(&tbf), tbf.extra)) == nullptr)
		return SB_NEED_BYTES;
	top_section section;
	if (sb_status status = top_open(list, tbf.extra, tbf.top, tbf.total, &section); status != SB_OK)
		return status;
	lookup->list_error = section.error;
	lookup->list_fraction_bits = section.fraction_bits;
	while (top_next(&section, &lookup->items[lookup->listed]))
		lookup->listed++;
	std::sort(lookup->items, lookup->items + lookup->listed, is_before);
	return SB_OK;
}

} // namespace

namespace streambloom {

sb_status tbf_lookup_step(sb_lookup *lookup)
{
	switch (lookup->step)
	{
		case step_directory:
			return read_directory(lookup);
		case step_block:
			return read_block(lookup);
		case step_table:
			return search_table(lookup);
		default:
			return read_list(lookup);
	}
}

} // namespace streambloom

sb_status sb_lookup_top(sb_lookup *lookup, sb_top_item *items) noexcept
{
	const sb_tbf &tbf = lookup->header.tbf;
	lookup->step = step_list;
	lookup->list_error = 0;
	lookup->list_fraction_bits = 0;
	lookup->items = items;
	lookup->listed = 0;
	return has_list(&tbf) ? read_list(lookup) : SB_OK;
}

void sb_lookup_top_hits(const sb_lookup *lookup, const sb_top_item *item, uint64_t units, int64_t at, double *from,
						double *to) noexcept
{
	top_bounds(&lookup->header.tbf, lookup->list_fraction_bits, lookup->list_error, item->least, at, from, to);
	*to = std::fmin(*to, sb_tbf_count(&lookup->header.tbf, units, at));
	*from = std::fmin(*from, *to); /* *from > *to happens only in a forged list */
}
