/*
 * tbf_cells.hpp: the counters of a tbf as they are stored, a block at a time, in both layouts. For the core's own files;
 * everybody else goes through sb_lookup.h and sb_tbf_unpack_block().
 */
#ifndef STREAMBLOOM_TBF_CELLS_HPP
#define STREAMBLOOM_TBF_CELLS_HPP

#include "base/bits.hpp"
#include "base/stop.hpp"
#include "streambloom.h"

namespace streambloom {

struct gathered;

/* The counters of one block, unpacked. */
using block_counters = uint64_t[SB_TBF_BLOCK];

/*
 * First of two passes over the counters of a filter that is to be stored: what its header will say of them. REQUIRES:
 * all blocks, in order.
 */
class cell_meter
{
  public:
	void add(const sb_tbf &shape, const uint64_t *counters);

	/*
	 * Sets cell_bits and payload. SB_TOO_LARGE (they are set all the same) if the value would exceed SB_MAX_BYTES;
	 * SB_BAD_CELLS if a counter was SB_TBF_MAX_CELL or more: then nothing may be written.
	 */
	sb_status finish(sb_tbf *out) const;

  private:
	uint64_t largest_ = 0;
	uint64_t packed_ = 0; /* bytes of all packed blocks */
};

/* The second pass: the same blocks again, to where the stored counters go (sb_tbf_size() - SB_TBF_HEADER bytes). */
class cell_writer
{
  public:
	/* Here and not in the .cpp: there it would be an alias in the bitcode, which PostgreSQL's JIT compiler dies of. */
	cell_writer(const sb_tbf &planned, void *cells) : planned_(planned), cells_(static_cast<unsigned char *>(cells)) {}
	void add(const uint64_t *counters);

  private:
	const sb_tbf &planned_;
	unsigned char *cells_;
	uint32_t block_ = 0;
	uint64_t packed_ = 0;
};

/*
 * Both passes at once for the extensible layout, where the caller has room to spare: the counters are looked at once. What
 * has no room is measured only.
 */
class cell_packer
{
  public:
	/* room: bytes from `cells` on */
	cell_packer(const sb_tbf &shape, void *cells, size_t room)
		: shape_(shape), cells_(static_cast<unsigned char *>(cells)), room_(room), directory_(size_t{4} * shape.block_count)
	{
	}
	void add(const uint64_t *counters);

	/* The next block from its counters that are not zero, which are used up. largest: or any number of as many digits. */
	void add(gathered *block, uint64_t largest);

	/* Sets cell_bits and payload, as cell_meter. SB_TOO_LARGE also if there was not room enough. */
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

/* Both passes over a function that fills the counters of a block: status = produce(block, counters). */
template <typename Produce>
sb_status measure_cells(sb_tbf *planned, Produce produce)
{
	block_counters counters;
	cell_meter meter;
	for (uint32_t block = 0; block < planned->block_count; block++)
	{
		if (stop_wanted())
			return SB_INTERRUPTED;
		if (sb_status status = produce(block, counters); status != SB_OK)
			return status;
		meter.add(*planned, counters);
	}
	return meter.finish(planned);
}

/* REQUIRES: measure_cells() of the same was not refused for its cells. */
template <typename Produce>
sb_status write_cells(const sb_tbf &planned, void *cells, Produce produce)
{
	block_counters counters;
	cell_writer writer(planned, cells);
	for (uint32_t block = 0; block < planned.block_count; block++)
	{
		if (stop_wanted())
			return SB_INTERRUPTED;
		(void) produce(block, counters);
		writer.add(counters);
	}
	return SB_OK;
}

/* The same in one pass. REQUIRES: planned->layout is extensible. */
template <typename Produce>
sb_status pack_cells(sb_tbf *planned, void *cells, size_t room, Produce produce)
{
	block_counters counters;
	cell_packer packer(*planned, cells, room);
	for (uint32_t block = 0; block < planned->block_count; block++)
	{
		if (stop_wanted())
			return SB_INTERRUPTED;
		if (sb_status status = produce(block, counters); status != SB_OK)
			return status;
		packer.add(counters);
	}
	return packer.finish(planned);
}

/* A block's counters that are not zero. REQUIRES: the extensible layout. Of an empty block only the count is set. */
sb_status gather_block(const sb_tbf *tbf, const void *cells, uint32_t block, gathered *out);

/*
 * Where a stored block lies, counted from the first header byte; size 0 if it is empty (all its counters are zero). The
 * extensible layout has a directory for that: the first function says which of its bytes to give to the second (none, and
 * so any pointer, for the flat layout). SB_BAD_CELLS if the directory contradicts the header.
 */
void directory_range(const sb_tbf *tbf, uint32_t block, size_t *offset, size_t *size);
SB_NODISCARD sb_status block_range(const sb_tbf *tbf, uint32_t block, const void *directory, size_t *offset, size_t *size);

/* The smallest of the item's counters, in units, read from its stored block without unpacking the rest. */
SB_NODISCARD sb_status block_min(const sb_tbf *tbf, const void *block, size_t size, uint64_t hash, uint64_t *out);

/* An entry of the table of recurring minimum. */
void write_entry(void *table, uint64_t index, const sb_tbf_entry *entry);

/* The width of flat cells that hold counters up to this. */
uint8_t narrowest_cell(uint64_t largest);

} // namespace streambloom

#endif
