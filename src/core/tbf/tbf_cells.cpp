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
#include "tbf/tbf_value.hpp"

#include <algorithm>

using namespace streambloom;

uint8_t streambloom::narrowest_cell(uint64_t largest)
{
	return largest >> 32 ? 64 : largest >> 16 ? 32 : largest >> 8 ? 16 : 8;
}

static size_t flat_block_size(const sb_tbf *tbf)
{
	return static_cast<size_t>(tbf->block_cells) * (tbf->cell_bits / 8u);
}

void cell_meter::add(const sb_tbf &shape, const uint64_t *counters)
{
	uint64_t largest = 0;
	for (uint32_t i = 0; i < shape.block_cells; i++)
		largest = std::max(largest, counters[i]);
	largest_ = std::max(largest_, largest);
	if (shape.layout == SB_TBF_EXTENSIBLE && largest < SB_TBF_MAX_CELL)
		packed_ += packed_size(shape.block_cells, levels_of(counters, shape.block_cells));
}

/* Does what cell_meter::finish() and cell_packer::finish() have in common. */
static sb_status finish_counters(uint64_t largest, uint64_t packed, sb_tbf *out)
{
	out->cell_bits = narrowest_cell(largest);
	uint64_t payload = packed == 0 ? 0 : packed + uint64_t{4} * out->block_count;
	out->payload = static_cast<uint32_t>(std::min(payload, uint64_t{UINT32_MAX}));
	if (largest >= SB_TBF_MAX_CELL)
		return SB_BAD_CELLS; /* the bytes are damaged, or a sum of hits is too large; such counters are never packed */
	return sb_tbf_size(out) > SB_MAX_BYTES ? SB_TOO_LARGE : SB_OK;
}

sb_status cell_meter::finish(sb_tbf *out) const
{
	return finish_counters(largest_, packed_, out);
}

void cell_packer::add(const uint64_t *counters)
{
	gathered nonzero;
	add(&nonzero, gather(counters, shape_.block_cells, &nonzero));
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
	end_block();
}

sb_status cell_packer::finish(sb_tbf *out) const
{
	sb_status status = finish_counters(largest_, packed_, out);
	return status == SB_OK && out->payload > room_ ? SB_TOO_LARGE : status;
}

template <typename Cell>
static void write_flat(const uint64_t *counters, uint32_t cells, unsigned char *out)
{
	for (uint32_t i = 0; i < cells; i++)
		store_le(out + i * sizeof(Cell), static_cast<Cell>(counters[i]));
}

void cell_writer::add(const uint64_t *counters)
{
	uint32_t cells = planned_.block_cells;
	uint32_t block = block_++;
	if (planned_.layout == SB_TBF_EXTENSIBLE)
	{
		if (planned_.payload == 0)
			return;
		size_t directory = directory_size(&planned_);
		gathered nonzero;
		(void) gather(counters, cells, &nonzero);
		levels l = levels_of(&nonzero);
		pack(&nonzero, cells, &l, cells_ + directory + packed_);
		packed_ += packed_size(cells, l);
		store_le(cells_ + size_t{4} * block, static_cast<uint32_t>(packed_));
		return;
	}
	unsigned char *out = cells_ + flat_block_size(&planned_) * block;
	switch (planned_.cell_bits)
	{
		case 8:
			return write_flat<uint8_t>(counters, cells, out);
		case 16:
			return write_flat<uint16_t>(counters, cells, out);
		case 32:
			return write_flat<uint32_t>(counters, cells, out);
		default:
			return write_flat<uint64_t>(counters, cells, out);
	}
}

void cell_writer::add_empty()
{
	const uint32_t block = block_++;
	if (planned_.layout == SB_TBF_FLAT)
		std::memset(cells_ + flat_block_size(&planned_) * block, 0, flat_block_size(&planned_));
	else if (planned_.payload != 0)
		store_le(cells_ + size_t{4} * block, static_cast<uint32_t>(packed_));
}

/* ---------------------------------------------------------------- unpacking */

template <typename Cell>
static void read_flat(const unsigned char *from, uint32_t cells, uint64_t *counters)
{
	for (uint32_t i = 0; i < cells; i++)
		counters[i] = load_le<Cell>(from + i * sizeof(Cell));
}

static void unpack_flat(const sb_tbf *tbf, const unsigned char *from, uint64_t *counters)
{
	switch (tbf->cell_bits)
	{
		case 8:
			return read_flat<uint8_t>(from, tbf->block_cells, counters);
		case 16:
			return read_flat<uint16_t>(from, tbf->block_cells, counters);
		case 32:
			return read_flat<uint32_t>(from, tbf->block_cells, counters);
		default:
			return read_flat<uint64_t>(from, tbf->block_cells, counters);
	}
}

sb_status streambloom::unpack_block(const sb_tbf *tbf, const void *cells, uint32_t block, uint64_t *counters)
{
	size_t offset;
	size_t size;
	size_t at;

	directory_range(tbf, block, &at, &size);
	const auto *bytes = static_cast<const unsigned char *>(cells);
	if (sb_status status = block_range(tbf, block, bytes + (at - SB_TBF_HEADER), &offset, &size); status != SB_OK)
		return status;
	offset -= SB_TBF_HEADER;
	if (tbf->layout == SB_TBF_FLAT)
		unpack_flat(tbf, bytes + offset, counters);
	else if (size == 0)
		std::memset(counters, 0, tbf->block_cells * sizeof *counters);
	else
	{
		gathered nonzero;
		if (!take_apart(bytes + offset, size, tbf->block_cells, &nonzero))
			return SB_BAD_CELLS;
		scatter(&nonzero, tbf->block_cells, counters);
	}
	return SB_OK;
}

/* Returns whether any of these bytes is not 0. */
static bool any_byte(const unsigned char *bytes, size_t size)
{
	uint64_t any = 0;
	for (size_t i = 0; i < size; i += 8) /* size is a multiple of 8, since a block has at least 64 cells */
		any |= load_le<uint64_t>(bytes + i);
	return any != 0;
}

sb_status streambloom::unpack_counters(const sb_tbf *tbf, const void *cells, uint32_t block, uint64_t *counters,
									   bool *empty)
{
	size_t offset;
	size_t size;
	size_t at;

	directory_range(tbf, block, &at, &size);
	const auto *bytes = static_cast<const unsigned char *>(cells);
	*empty = false;
	if (sb_status status = block_range(tbf, block, bytes + (at - SB_TBF_HEADER), &offset, &size); status != SB_OK)
		return status;
	*empty = tbf->layout == SB_TBF_FLAT ? !any_byte(bytes + (offset - SB_TBF_HEADER), size) : size == 0;
	return *empty ? SB_OK : unpack_block(tbf, cells, block, counters);
}

uint32_t streambloom::count_packed_blocks(const sb_tbf *tbf, const void *cells)
{
	const auto *ends = static_cast<const unsigned char *>(cells);
	uint32_t count = 0;
	uint32_t before = 0;
	for (uint32_t block = 0; tbf->payload != 0 && block < tbf->block_count; block++)
	{
		const auto end = load_le<uint32_t>(ends + size_t{4} * block);
		count += end != before;
		before = end;
	}
	return count;
}

sb_status streambloom::gather_block(const sb_tbf *tbf, const void *cells, uint32_t block, gathered *out)
{
	size_t offset;
	size_t size;
	size_t at;

	directory_range(tbf, block, &at, &size);
	const auto *bytes = static_cast<const unsigned char *>(cells);
	if (sb_status status = block_range(tbf, block, bytes + (at - SB_TBF_HEADER), &offset, &size); status != SB_OK)
		return status;
	out->count = 0;
	return size == 0 || take_apart(bytes + (offset - SB_TBF_HEADER), size, tbf->block_cells, out) ? SB_OK :
																									SB_BAD_CELLS;
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

static uint64_t flat_cell(const unsigned char *cells, int bits, uint64_t index)
{
	switch (bits)
	{
		case 8:
			return cells[index];
		case 16:
			return load_le<uint16_t>(cells + index * 2);
		case 32:
			return load_le<uint32_t>(cells + index * 4);
		default:
			return load_le<uint64_t>(cells + index * 8);
	}
}

sb_status streambloom::block_min(const sb_tbf *tbf, const void *block, size_t size, uint64_t hash, uint64_t *out)
{
	uint16_t positions[SB_TBF_MAX_HASHES];
	uint64_t least = UINT64_MAX;

	positions_of(tbf->block_cells, tbf->hash_count, hash, positions);
	*out = 0;
	if (tbf->layout == SB_TBF_FLAT)
	{
		for (int i = 0; i < tbf->hash_count; i++)
			least = std::min(least, flat_cell(static_cast<const unsigned char *>(block), tbf->cell_bits, positions[i]));
		*out = least;
		return SB_OK;
	}

	if (size == 0)
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
