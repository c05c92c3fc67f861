/*
 * tbf_check.cpp: checks the bytes after the header of a tbf: could the core have stored them? Counters, exact items and
 * the table of recurring minimum can be stored in one way only, so that equal filters have equal bytes. The list of hot
 * items can be stored in several.
 */
#include "base/stop.hpp"
#include "tbf/tbf_cells.hpp"
#include "tbf/tbf_exact.hpp"
#include "tbf/tbf_packed.hpp"
#include "tbf/tbf_top.hpp"

#include <algorithm>

using namespace streambloom;

/* Returns whether these counters would be packed into exactly these bytes. Overwrites them. */
static bool is_canonical(gathered *nonzero, uint32_t cells, const unsigned char *bytes, size_t size)
{
	unsigned char again[SB_TBF_BLOCK * 8 + SB_TBF_BLOCK]; /* more than any block takes, see below */
	levels l = levels_of(nonzero);

	/*
	 * A packed block has its counters cut into levels (tbf_packed.hpp). Two levels, of 32 and of 30 bits, hold any
	 * counters. With them each counter takes 62 bits, a go-on bit (does it go on in the second level?) and a bit of the
	 * bitmap, which makes 8 bytes, and the block has a head. The levels of least cost take at most some fifty bytes
	 * more than that, because bit strings are filled up to whole bytes.
	 */
	uint64_t wanted = packed_size(cells, l);
	if (wanted != size || wanted > sizeof again)
		return false;
	pack(nonzero, cells, &l, again);
	return std::memcmp(again, bytes, size) == 0;
}

/*
 * Checks the table of recurring minimum. The hashes must ascend, so no hash is there twice. Bits outside
 * SB_KEPT_HASH_MASK must be 0. The hits of an entry must not be 0, and must be below SB_TBF_MAX_CELL. If the counters
 * count whole hits, the hits of each entry must be a whole number, too.
 */
static sb_status check_table(const sb_tbf *tbf, const unsigned char *table)
{
	recurring_entry before = {};
	for (uint64_t i = 0, n = recurring_entries(tbf); i < n; i++)
	{
		if (i % 4096 == 0 && stop_wanted())
			return SB_INTERRUPTED;
		recurring_entry entry;
		read_entry(table, i, &entry);
		if ((i > 0 && entry.hash <= before.hash) || (entry.hash & ~SB_KEPT_HASH_MASK) != 0 || entry.hits == 0 ||
			entry.hits >= SB_TBF_MAX_CELL || (tbf->unit_bits == 0 && entry.hits % (1u << SB_TBF_HIT_BITS) != 0))
			return SB_BAD_CELLS;
		before = entry;
	}
	return SB_OK;
}

static sb_status check_counters(const sb_tbf *tbf, const void *cells)
{
	const auto *bytes = static_cast<const unsigned char *>(cells);
	gathered counters;
	uint64_t largest = 0;
	size_t next = SB_TBF_HEADER + directory_size(tbf);
	for (uint32_t block = 0; block < tbf->block_count; block++)
	{
		uint64_t most;
		size_t offset;
		size_t size;
		if (sb_status status = stop_wanted() ? SB_INTERRUPTED : gather_block(tbf, cells, block, &counters, &most);
			status != SB_OK)
			return status;
		largest |= most;
		if (tbf->layout == SB_TBF_FLAT || most == 0)
			continue;
		directory_range(tbf, block, &offset, &size);
		const unsigned char *directory = bytes + (offset - SB_TBF_HEADER);
		if (sb_status status = block_range(tbf, block, directory, &offset, &size); status != SB_OK)
			return status;
		if (offset != next || !is_canonical(&counters, tbf->block_cells, bytes + (offset - SB_TBF_HEADER), size))
			return SB_BAD_CELLS;
		next = offset + size;
	}

	/*
	 * Equal filters have equal bytes. So cells must have the narrowest width that holds the largest counter, and the
	 * payload must be empty if all counters are 0.
	 */
	if (tbf->layout == SB_TBF_EXTENSIBLE &&
		(next != SB_TBF_HEADER + counters_size(tbf) || (largest == 0) != (tbf->payload == 0)))
		return SB_BAD_CELLS;
	if (largest >= SB_TBF_MAX_CELL || narrowest_cell(largest) != tbf->cell_bits ||
		(largest != 0 && (tbf->flags & SB_TBF_HAS_HITS) == 0))
		return SB_BAD_CELLS;
	return SB_OK;
}

sb_status sb_tbf_check(const sb_tbf *tbf, const void *cells) noexcept
{
	const unsigned char *extra = static_cast<const unsigned char *>(cells) + counters_size(tbf);
	top_section list;
	uint64_t largest;
	sb_status status = is_exact(tbf) ? check_list(list_of(tbf, cells), &largest) : check_counters(tbf, cells);
	if (status == SB_OK && is_exact(tbf) && narrowest_cell(largest) != tbf->cell_bits)
		status = SB_BAD_CELLS;
	if (status == SB_OK)
		status = check_table(tbf, extra);
	if (status == SB_OK && has_list(tbf))
		status = top_open(extra, tbf->extra, tbf->top, tbf->total, &list);
	return status;
}
