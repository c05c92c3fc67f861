/*
 * tbf_cells.cpp: stored counters, in two layouts of the same integers.
 *
 * Flat (the counters of B-TBF, Cheng et al. 2005, Fig. 1): each counter is 8, 16, 32 or 64 bits wide, the narrowest
 * width that holds the largest counter of the filter.
 *
 * Extensible: many small numbers take few bits each, a few large numbers take more, and any counter can be read
 * without unpacking the others. The O-TBF of Cheng et al. (Fig. 3) has the same purpose, but its overflow table and
 * its pool of free counters need pointers. This layout has directly addressable codes instead (Brisaboa, Ladra,
 * Navarro, "DACs: Bringing direct access to variable-length codes", 2013) over a bitmap of the counters that are not
 * zero:
 *
 *   payload   directory: for each block, where it ends (4 bytes, counted from the end of the directory); then the
 *             blocks
 *   block     nothing at all if all its counters are zero, else (sizes in bytes)
 *
 *     1                  number of levels L; 0 if every counter that is not zero is 1
 *     2                  number of counters that are not zero, which is the number of codes of level 1
 *     L                  bits of a code, for each level: 1 .. 32
 *     2 (L - 1)          number of codes of each level from the second on
 *     2 (cells/512 - 1)  if cells > 512, rank samples: how many counters before counter 512, 1024, ... are not zero
 *     cells / 8          the bitmap
 *     each level         its codes, packed; then, except in the last level, a bit for each code: does it go on?
 *
 * A counter q > 0 is stored as the number q - 1. Level 1 has the lowest bits of each such number as a code, level 2 the
 * next bits of the numbers that have any left, and so on. The bits that say whether a code goes on in the next level
 * are the go-on bits. To find the code of level i + 1 that belongs to code number j of level i, counted from 0, count
 * how many of the first j go-on bits of level i are set. Every bit string is filled up to a byte with zeros; bit 0 is
 * the lowest of the first byte. The rule by which choose_levels() in tbf_packed.cpp chooses the widths is part of the
 * format: equal counters give equal bytes, and sb_tbf_check() refuses other widths. With this rule a block is nearly
 * always, but not always, as small as possible.
 */
#include "tbf/tbf_cells.hpp"
#include "tbf/tbf_packed.hpp"
#include "tbf/tbf_place.hpp"

#include <algorithm>

using namespace streambloom;

uint8_t streambloom::narrowest_cell(uint64_t largest)
{
	return largest >> 32 ? 64 : largest >> 16 ? 32 : largest >> 8 ? 16 : 8;
}

void cell_packer::add(gathered *block, uint64_t largest)
{
	largest_ = std::max(largest_, largest);
	if (largest != 0 && largest < SB_TBF_MAX_CELL)
	{
		levels l = levels_of(block);
		uint64_t size = packed_size(shape_.block_cells, l);
		if (directory_ + packed_ + size <= room_)
			pack(block, shape_.block_cells, &l, cells_ + directory_ + packed_);
		packed_ += size;
	}
	if (directory_ <= room_)
		store_le(cells_ + size_t{4} * block_, static_cast<uint32_t>(packed_));
	block_++;
}

sb_status cell_packer::finish(sb_tbf *out) const
{
	const uint64_t payload = packed_ == 0 ? 0 : packed_ + directory_;
	out->cell_bits = narrowest_cell(largest_);
	out->payload = static_cast<uint32_t>(std::min(payload, uint64_t{UINT32_MAX}));
	if (largest_ >= SB_TBF_MAX_CELL)
		return SB_BAD_CELLS; /* the bytes are damaged, or a sum of hits is too large; such counters are never packed */
	return out->payload > room_ || sb_tbf_size(out) > SB_MAX_BYTES ? SB_TOO_LARGE : SB_OK;
}

/* ---------------------------------------------------------------- unpacking */

/* Finds the bytes of a stored block. */
static sb_status find_block(const sb_tbf *tbf, const void *cells, uint32_t block, const unsigned char **bytes,
							size_t *size)
{
	const auto *first = static_cast<const unsigned char *>(cells);
	size_t offset;
	directory_range(tbf, block, &offset, size);
	const sb_status status = block_range(tbf, block, first + (offset - SB_TBF_HEADER), &offset, size);
	*bytes = first + (offset - SB_TBF_HEADER);
	return status;
}

sb_status streambloom::unpack_counters(const sb_tbf *tbf, const void *cells, uint32_t block, uint64_t *counters,
									   bool *empty)
{
	const unsigned char *bytes;
	size_t size;
	gathered nonzero;
	*empty = false;
	if (sb_status status = find_block(tbf, cells, block, &bytes, &size); status != SB_OK)
		return status;
	*empty = size == 0;
	if (tbf->layout == SB_TBF_FLAT)
		unpack_flat(tbf, bytes, counters);
	else if (size != 0)
	{
		if (!take_apart(bytes, size, tbf->block_cells, &nonzero))
			return SB_BAD_CELLS;
		scatter(&nonzero, tbf->block_cells, counters);
	}
	return SB_OK;
}

sb_status streambloom::unpack_block(const sb_tbf *tbf, const void *cells, uint32_t block, uint64_t *counters)
{
	bool empty;
	const sb_status status = unpack_counters(tbf, cells, block, counters, &empty);
	if (status == SB_OK && empty)
		std::memset(counters, 0, tbf->block_cells * sizeof *counters);
	return status;
}

sb_status streambloom::gather_block(const sb_tbf *tbf, const void *cells, uint32_t block, gathered *out,
									uint64_t *largest)
{
	const unsigned char *bytes;
	size_t size;
	uint64_t any = 0;
	out->count = 0;
	sb_status status = find_block(tbf, cells, block, &bytes, &size);
	if (status == SB_OK && tbf->layout == SB_TBF_FLAT)
	{
		block_counters counters;
		unpack_flat(tbf, bytes, counters);
		any = gather(counters, tbf->block_cells, out);
	}
	else if (status == SB_OK && size != 0)
	{
		status = take_apart(bytes, size, tbf->block_cells, out) ? SB_OK : SB_BAD_CELLS;
		for (uint32_t i = 0; largest != nullptr && status == SB_OK && i < out->count; i++)
			any |= out->codes[i] + 1;
	}
	if (largest != nullptr)
		*largest = any;
	return status;
}

/* ------------------------------------------------------------------ look-ups */

void streambloom::directory_range(const sb_tbf *tbf, uint32_t block, size_t *offset, size_t *size)
{
	*offset = SB_TBF_HEADER;
	*size = 0;
	if (tbf->layout == SB_TBF_FLAT || tbf->payload == 0)
		return;
	*size = block == 0 ? 4 : 8;
	*offset += size_t{4} * (block == 0 ? 0 : block - 1);
}

sb_status streambloom::block_range(const sb_tbf *tbf, uint32_t block, const void *directory, size_t *offset,
								   size_t *size)
{
	if (tbf->layout == SB_TBF_FLAT)
	{
		*size = flat_block_size(tbf);
		*offset = SB_TBF_HEADER + *size * block;
		return SB_OK;
	}
	*offset = SB_TBF_HEADER;
	*size = 0;
	if (tbf->payload == 0)
		return SB_OK;
	const auto *ends = static_cast<const unsigned char *>(directory);
	uint32_t begin = block == 0 ? 0 : load_le<uint32_t>(ends);
	uint32_t end = load_le<uint32_t>(block == 0 ? ends : ends + 4);
	if (begin > end || end > tbf->payload - directory_size(tbf))
		return SB_BAD_CELLS;
	*offset += directory_size(tbf) + begin;
	*size = end - begin;
	return SB_OK;
}

sb_status streambloom::block_min(const sb_tbf *tbf, const void *block, size_t size, uint64_t hash, uint64_t *out)
{
	uint16_t positions[SB_TBF_MAX_HASHES];
	uint64_t least = UINT64_MAX;

	positions_of(tbf->block_cells, tbf->hash_count, hash, positions);
	*out = 0;
	if (tbf->layout == SB_TBF_FLAT)
		*out = flat_min(tbf, static_cast<const unsigned char *>(block), positions);
	if (tbf->layout == SB_TBF_FLAT || size == 0)
		return SB_OK;
	packed_block packed;
	if (!open_block(block, size, tbf->block_cells, &packed))
		return SB_BAD_CELLS;
	for (int i = 0; i < tbf->hash_count; i++)
		if (!packed_bit(packed.bitmap, positions[i]))
			return SB_OK;
	for (int i = 0; i < tbf->hash_count; i++)
	{
		uint64_t counter;
		if (!packed_counter(packed, positions[i], &counter))
			return SB_BAD_CELLS;
		least = std::min(least, counter);
	}
	*out = least;
	return SB_OK;
}

/* ------------------------------------------------ the table of recurring minimum */

uint64_t streambloom::recurring_entries(const sb_tbf *tbf)
{
	return (tbf->flags & SB_TBF_RECURRING_MINIMUM) != 0 ? tbf->extra / recurring_entry_size : 0;
}

void streambloom::write_entry(void *table, uint64_t index, const recurring_entry *entry)
{
	unsigned char *to = static_cast<unsigned char *>(table) + index * recurring_entry_size;
	store_le(to, entry->hash);
	store_le(to + 8, entry->hits);
}

void streambloom::read_entry(const void *table, uint64_t index, recurring_entry *out)
{
	const unsigned char *from = static_cast<const unsigned char *>(table) + index * recurring_entry_size;
	*out = {load_le<uint64_t>(from), load_le<uint64_t>(from + 8)};
}
