/*
 * tbf_plane.cpp: see tbf_plane.hpp.
 *
 * The words of blocks lie in pieces of memory, each for a fourth of the blocks held before and for at most `most_blocks`: so few
 * allocations are made for many blocks, and a plane takes at most a fourth more than its blocks.
 */
#include "tbf/tbf_plane.hpp"

#include "base/memory.hpp"
#include "tbf/tbf_place.hpp"

#include <algorithm>
#include <cstring>

namespace streambloom {

constexpr uint32_t most_blocks = 64;

sb_status make_cell_plane(const sb_memory *memory, const sb_tbf *tbf, cell_plane **out)
{
	void *zeroed;
	const size_t size = sizeof(cell_plane) + size_t{tbf->block_count} * sizeof(uint64_t *);
	const sb_status status = allocate_zeroed(memory, size, &zeroed);
	auto *plane = static_cast<cell_plane *>(zeroed);
	*out = plane;
	if (status != SB_OK)
		return status;
	plane->block = reinterpret_cast<uint64_t **>(plane + 1);
	plane->block_count = tbf->block_count;
	plane->block_cells = tbf->block_cells;
	plane->memory = *memory;
	return SB_OK;
}

void release_cell_plane(cell_plane *plane)
{
	if (plane == nullptr)
		return;
	const sb_memory memory = plane->memory;
	void *before;
	for (void *piece = plane->pieces; piece != nullptr; piece = before)
	{
		std::memcpy(&before, piece, sizeof before);
		memory.release(memory.context, piece);
	}
	memory.release(memory.context, plane);
}

/* The words of each block begin at a line of the cache. */
static sb_status add_piece(cell_plane *plane)
{
	const uint32_t blocks = std::min(std::clamp(plane->held / 4, 1u, most_blocks), plane->block_count - plane->held);
	const size_t size = size_t{blocks} * plane->block_cells * sizeof(uint64_t);
	void *piece = plane->memory.allocate(plane->memory.context, sizeof plane->pieces + cache_line - 1 + size);
	if (piece == nullptr)
		return SB_NO_MEMORY;
	std::memcpy(piece, &plane->pieces, sizeof plane->pieces);
	plane->pieces = piece;
	const auto first = reinterpret_cast<uintptr_t>(piece) + sizeof plane->pieces;
	const size_t gap = (cache_line - first % cache_line) % cache_line;
	plane->next = reinterpret_cast<uint64_t *>(static_cast<unsigned char *>(piece) + sizeof plane->pieces + gap);
	plane->spare = blocks;
	return SB_OK;
}

sb_status give_words(cell_plane *plane, uint32_t block)
{
	if (plane->spare == 0)
		if (sb_status status = add_piece(plane); status != SB_OK)
			return status;
	std::memset(plane->next, 0, plane->block_cells * sizeof(uint64_t));
	plane->block[block] = plane->next;
	plane->next += plane->block_cells;
	plane->spare--;
	plane->held++;
	return SB_OK;
}

sb_status hold_blocks(cell_plane *plane, const uint64_t *hashes, size_t count)
{
	sb_status status = SB_OK;
	for (size_t i = 0; i < count && plane->held < plane->block_count && status == SB_OK; i++)
		status = hold_block(plane, block_of(plane->block_count, hashes[i]));
	return status;
}

} // namespace streambloom
