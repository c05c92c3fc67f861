/*
 * tbf_cells.hpp: reads and writes the stored counters of a tbf, a block at a time, in both layouts: flat and extensible
 * (drawn in tbf_cells.cpp). Finds a block in a value that is not read as a whole, and reads and writes the table of
 * recurring minimum, which follows the counters. For the core's own files and its tests; the extension looks items up
 * through sb_lookup.h.
 */
#ifndef STREAMBLOOM_TBF_CELLS_HPP
#define STREAMBLOOM_TBF_CELLS_HPP

#include "base/bits.hpp"
#include "base/stop.hpp"
#include "streambloom.h"

namespace streambloom {

struct gathered;

/*
 * Returns the number of bytes of the counters (exact filter: the items), with their directory if there is one. They
 * follow the header. The `extra` bytes after them are not counted.
 */
size_t counters_size(const sb_tbf *tbf);

/* The number of bytes of the directory of the extensible layout; 0 if there is none. */
inline size_t directory_size(const sb_tbf *tbf)
{
	return tbf->payload == 0 ? 0 : size_t{4} * tbf->block_count;
}

/* The counters of one block, unpacked. */
using block_counters = uint64_t[SB_TBF_BLOCK];

/*
 * Writes all counters of one stored block, in units, to `counters`, which has room for block_cells numbers. May
 * return SB_BAD_CELLS. REQUIRES: block < block_count.
 */
[[nodiscard]] sb_status unpack_block(const sb_tbf *tbf, const void *cells, uint32_t block, uint64_t *counters);

/*
 * The first of two passes over the counters of a filter that is to be stored: it calculates the width of a flat cell
 * and the size of the packed blocks, for the header. REQUIRES: add() or add_empty() is called for each block, in order.
 */
class cell_meter
{
public:
	void add(const sb_tbf &shape, const uint64_t *counters);
	void add_empty() {}

	/*
	 * Sets cell_bits and payload, whatever the status is. SB_TOO_LARGE if the value would exceed SB_MAX_BYTES.
	 * SB_BAD_CELLS if a counter was SB_TBF_MAX_CELL or more: then nothing may be written.
	 */
	sb_status finish(sb_tbf *out) const;

private:
	uint64_t largest_ = 0;
	uint64_t packed_ = 0; /* bytes of all packed blocks */
};

/* The second of the two passes: writes the counters, for the header that cell_meter, the first pass, has completed. */
class cell_writer
{
public:
	/*
	 * This constructor is inline: if it stood in the .cpp, it would become an alias in the bitcode of the extension,
	 * and such an alias crashes PostgreSQL's JIT.
	 */
	cell_writer(const sb_tbf &planned, void *cells) : planned_(planned), cells_(static_cast<unsigned char *>(cells)) {}
	void add(const uint64_t *counters);
	void add_empty();

private:
	const sb_tbf &planned_;
	unsigned char *cells_;
	uint32_t block_ = 0;
	uint64_t packed_ = 0;
};

/*
 * Does the work of cell_meter and cell_writer in one pass, for the extensible layout. The caller offers some room, and
 * blocks that do not fit into this room are only measured. REQUIRES: as for cell_meter.
 */
class cell_packer
{
public:
	/* `room` is how many bytes may be written from `cells` on. */
	cell_packer(const sb_tbf &shape, void *cells, size_t room)
		: shape_(shape), cells_(static_cast<unsigned char *>(cells)), room_(room),
		  directory_(size_t{4} * shape.block_count)
	{
	}
	void add(const uint64_t *counters);
	void add_empty() { end_block(); }

	/*
	 * Adds the next block, of which `block` has the counters that are not 0, and overwrites `block`. `largest` is the
	 * largest counter, or any number with as many binary digits.
	 */
	void add(gathered *block, uint64_t largest);

	/* Sets cell_bits and payload, as cell_meter::finish() does. SB_TOO_LARGE also if there was not enough room. */
	sb_status finish(sb_tbf *out) const;

private:
	const sb_tbf &shape_;
	unsigned char *cells_;
	size_t room_;
	size_t directory_;
	uint32_t block_ = 0;
	uint64_t largest_ = 0;
	uint64_t packed_ = 0;

	/* Writes the end of the block into the directory. */
	void end_block()
	{
		if (directory_ <= room_)
			store_le(cells_ + size_t{4} * block_, static_cast<uint32_t>(packed_));
		block_++;
	}
};

/*
 * Makes the first pass, with a cell_meter. The caller's function produce(block, counters, &empty) fills in the counters
 * of a block and returns a status: SB_INTERRUPTED, or the same one in each pass. `empty` is false before each call. If
 * the function sets `empty` to true, all counters of the block are 0, and it may leave `counters` as they are.
 */
template <typename Produce>
sb_status measure_cells(sb_tbf *planned, Produce produce)
{
	block_counters counters;
	cell_meter meter;
	for (uint32_t block = 0; block < planned->block_count; block++)
	{
		if (stop_wanted())
			return SB_INTERRUPTED;
		bool empty = false;
		if (sb_status status = produce(block, counters, &empty); status != SB_OK)
			return status;
		empty ? meter.add_empty() : meter.add(*planned, counters);
	}
	return meter.finish(planned);
}

/*
 * Makes the second pass, with a cell_writer: writes the counters of all blocks. REQUIRES: planned.cell_bits and
 * planned.payload are what measure_cells() would set with the same `produce`, and it would return SB_OK or
 * SB_TOO_LARGE. (In the flat layout `payload` is 0.)
 */
template <typename Produce>
sb_status write_cells(const sb_tbf &planned, void *cells, Produce produce)
{
	block_counters counters;
	cell_writer writer(planned, cells);
	for (uint32_t block = 0; block < planned.block_count; block++)
	{
		if (stop_wanted())
			return SB_INTERRUPTED;
		bool empty = false;
		if (produce(block, counters, &empty) == SB_INTERRUPTED)
			return SB_INTERRUPTED;
		empty ? writer.add_empty() : writer.add(counters);
	}
	return SB_OK;
}

/*
 * Does what measure_cells() and write_cells() do, in one pass, with a cell_packer that may write `room` bytes from
 * `cells` on. REQUIRES: planned->layout is extensible.
 */
template <typename Produce>
sb_status pack_cells(sb_tbf *planned, void *cells, size_t room, Produce produce)
{
	block_counters counters;
	cell_packer packer(*planned, cells, room);
	for (uint32_t block = 0; block < planned->block_count; block++)
	{
		if (stop_wanted())
			return SB_INTERRUPTED;
		bool empty = false;
		if (sb_status status = produce(block, counters, &empty); status != SB_OK)
			return status;
		empty ? packer.add_empty() : packer.add(counters);
	}
	return packer.finish(planned);
}

/*
 * Does what unpack_block() does, but if all counters are 0, it only sets *empty. In the flat layout it has to read the
 * block to find that out.
 */
[[nodiscard]] sb_status unpack_counters(const sb_tbf *tbf, const void *cells, uint32_t block, uint64_t *counters,
										bool *empty);

/* Returns how many blocks are not empty. REQUIRES: the extensible layout. */
uint32_t count_packed_blocks(const sb_tbf *tbf, const void *cells);

/*
 * Collects the counters of a block that are not 0. For an empty block it only sets the count. May return SB_BAD_CELLS.
 * REQUIRES: the extensible layout.
 */
sb_status gather_block(const sb_tbf *tbf, const void *cells, uint32_t block, gathered *out);

/*
 * block_range() finds out where a stored block lies, counted from the first byte of the header. In the extensible
 * layout it needs some bytes of the directory, and directory_range() says which ones; the size of a block is 0 if all
 * its counters are 0. In the flat layout block_range() needs no directory (`directory` may be any pointer), and all
 * blocks have the same size. SB_BAD_CELLS if the directory contradicts the header.
 */
void directory_range(const sb_tbf *tbf, uint32_t block, size_t *offset, size_t *size);
SB_NODISCARD sb_status block_range(const sb_tbf *tbf, uint32_t block, const void *directory, size_t *offset,
								   size_t *size);

/* Reads the smallest of an item's counters, in units, from its stored block. No other counters are unpacked. */
SB_NODISCARD sb_status block_min(const sb_tbf *tbf, const void *block, size_t size, uint64_t hash, uint64_t *out);

/*
 * The table of recurring minimum has the items that are counted for themselves (tbf_recurring.cpp). It lies after the
 * counters: entries by ascending hash. The count of an item that has an entry is the hits of this entry; the item's
 * counters are not used.
 */
constexpr size_t recurring_entry_size = 16; /* bytes of a stored entry */

struct recurring_entry
{
	uint64_t hash;
	uint64_t hits; /* 2^-12 hits: 1 .. SB_TBF_MAX_CELL - 1 */
};

uint64_t recurring_entries(const sb_tbf *tbf); /* number of entries; 0 without SB_TBF_RECURRING_MINIMUM */
void read_entry(const void *table, uint64_t index, recurring_entry *out);
void write_entry(void *table, uint64_t index, const recurring_entry *entry);

/* Returns the width of flat cells if `largest` is the largest counter. */
uint8_t narrowest_cell(uint64_t largest);

} // namespace streambloom

#endif
