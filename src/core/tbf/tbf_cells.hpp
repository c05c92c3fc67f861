/*
 * tbf_cells.hpp: reads the stored counters of a tbf, a block at a time, in both layouts (drawn in tbf_cells.cpp), and
 * writes them in the extensible one; tbf_flat.cpp has the flat one. Finds a block in a value that is not read as a whole, and reads and writes the table of
 * recurring minimum, which follows the counters. For the core's own files and its tests; the extension looks items up
 * through sb_lookup.h.
 */
#ifndef STREAMBLOOM_TBF_CELLS_HPP
#define STREAMBLOOM_TBF_CELLS_HPP

#include "base/bits.hpp"
#include "base/stop.hpp"
#include "streambloom.h"
#include "tbf/tbf_packed.hpp"

namespace streambloom {

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

/* Does what unpack_block() does, but if all counters are 0, it only sets *empty. */
[[nodiscard]] sb_status unpack_counters(const sb_tbf *tbf, const void *cells, uint32_t block, uint64_t *counters,
										bool *empty);

/*
 * Collects the counters of a stored block that are not 0. Unless `largest` is NULL, *largest becomes a number with as
 * many binary digits as the largest of them. May return SB_BAD_CELLS.
 */
[[nodiscard]] sb_status gather_block(const sb_tbf *tbf, const void *cells, uint32_t block, gathered *out,
									 uint64_t *largest);

/* Packs the counters of a filter that is to be stored: extensible counters, block after block. */
class cell_packer
{
public:
	/*
	 * `room` is how many bytes may be written from `cells` on. Blocks that do not fit into this room are only measured.
	 */
	cell_packer(const sb_tbf &shape, void *cells, size_t room)
		: shape_(shape), cells_(static_cast<unsigned char *>(cells)), room_(room),
		  directory_(size_t{4} * shape.block_count)
	{
	}

	/*
	 * Adds the next block, of which `block` has the counters that are not 0, and overwrites `block`. `largest` is the
	 * largest counter, or any number with as many binary digits; 0: the block is empty.
	 */
	void add(gathered *block, uint64_t largest);

	/*
	 * Sets cell_bits and payload, whatever the status is. SB_TOO_LARGE if payload is more than the room, or the value
	 * would exceed SB_MAX_BYTES. SB_BAD_CELLS if a counter was SB_TBF_MAX_CELL or more.
	 */
	sb_status finish(sb_tbf *out) const;

private:
	const sb_tbf &shape_;
	unsigned char *cells_;
	size_t room_;
	size_t directory_;
	uint32_t block_ = 0;
	uint64_t largest_ = 0;
	uint64_t packed_ = 0;
};

/*
 * Packs all blocks with a cell_packer. The caller's function produce(block, &gathered, &largest) fills in the counters
 * of a block as cell_packer::add() takes them, and returns a status; `largest` is 0 before. *planned gets cell_bits and
 * payload. REQUIRES: planned->layout is extensible.
 */
template <typename Produce>
sb_status pack_cells(sb_tbf *planned, void *cells, size_t room, Produce produce)
{
	gathered block;
	cell_packer packer(*planned, cells, room);
	for (uint32_t i = 0; i < planned->block_count; i++)
	{
		uint64_t largest = 0;
		if (sb_status status = stop_wanted() ? SB_INTERRUPTED : produce(i, &block, &largest); status != SB_OK)
			return status;
		packer.add(&block, largest);
	}
	return packer.finish(planned);
}

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

/*
 * The flat layout (tbf_flat.cpp): the bytes of a block, its counters, and the smallest of some of its counters. `block`
 * are the bytes of the block.
 */
inline size_t flat_block_size(const sb_tbf *tbf)
{
	return static_cast<size_t>(tbf->block_cells) * (tbf->cell_bits / 8u);
}
void unpack_flat(const sb_tbf *tbf, const unsigned char *block, uint64_t *counters);
uint64_t flat_min(const sb_tbf *tbf, const unsigned char *block, const uint16_t *positions);

} // namespace streambloom

#endif
