/*
 * tbf_plane.hpp: a plane of sums of cells. Words are there only for blocks to which something was added; all others hold zeros.
 * So what a builder takes goes with the blocks that hold something, and not with the cells of its filter. For the core's own files.
 */
#ifndef STREAMBLOOM_TBF_PLANE_HPP
#define STREAMBLOOM_TBF_PLANE_HPP

#include "streambloom.h"

namespace streambloom {

struct cell_plane
{
	uint64_t  **block;			/* for each block its words, or NULL: all are zero */
	uint32_t	block_count;
	uint32_t	block_cells;
	uint32_t	held;			/* blocks that have words */
	uint32_t	spare;			/* blocks that have memory, but no words yet: from `next` on */
	uint64_t   *next;
	void	   *pieces;			/* of memory, each with the address of the one before it */
	sb_memory	memory;
};

/* A plane of zeros, with as many cells as a filter. SB_NO_MEMORY, SB_INTERRUPTED: *out is NULL. */
[[nodiscard]] sb_status make_cell_plane(const sb_memory *memory, const sb_tbf *tbf, cell_plane **out);
void release_cell_plane(cell_plane *plane); /* or NULL */

/* Gives words, zeros at first, to a block that has none. SB_NO_MEMORY: it has none. */
[[nodiscard]] sb_status give_words(cell_plane *plane, uint32_t block);

[[nodiscard]] inline sb_status hold_block(cell_plane *plane, uint32_t block)
{
	return plane->block[block] != nullptr ? SB_OK : give_words(plane, block);
}

/* The same for the blocks of many items, before a kernel runs that needs all of them. */
[[nodiscard]] sb_status hold_blocks(cell_plane *plane, const uint64_t *hashes, size_t count);

} // namespace streambloom

#endif
