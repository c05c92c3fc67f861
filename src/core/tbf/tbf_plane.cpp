/*
 * tbf_plane.cpp: a plane of sums of cells (tbf_sums.hpp).
 *
 * A block with many sums has a *word* for the sum of each cell, a block with few sums has a *list* of them. Memory is
 * allocated in pieces. Some pieces have the words of blocks. If n blocks have words already, a new piece has room for
 * n / 4 more blocks, but for at least one and for at most `most_blocks`. So a plane of many blocks needs few
 * allocations, and the words take at most a fourth more memory than they need. Other pieces have the lists of blocks. A
 * new piece has a fourth of the memory of all earlier ones, but at least 4 kB and at most 1 MB. When a block gets a
 * larger list, or words instead of its list, the memory of the old list is kept for the next list of that size.
 */
#include "tbf/tbf_sums.hpp"

#include "base/memory.hpp"

#include <algorithm>
#include <cstring>

namespace streambloom {

constexpr uint32_t most_blocks = 64;

sb_status make_cell_plane(const sb_memory *memory, const sb_tbf *tbf, cell_plane **out)
{
	void *zeroed;
	cell_plane *plane;
	const size_t size = sizeof(cell_plane) + size_t{tbf->block_count} * (sizeof *plane->block + sizeof *plane->few);
	const sb_status status = allocate_zeroed(memory, size, &zeroed);
	plane = static_cast<cell_plane *>(zeroed);
	*out = plane;
	if (status != SB_OK)
		return status;
	plane->block = reinterpret_cast<uint64_t **>(plane + 1);
	plane->few = reinterpret_cast<few_cells **>(plane->block + tbf->block_count);
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

static void *add_piece(cell_plane *plane, size_t size)
{
	void *piece = plane->memory.allocate(plane->memory.context, sizeof plane->pieces + size);
	if (piece == nullptr)
		return nullptr;
	std::memcpy(piece, &plane->pieces, sizeof plane->pieces);
	plane->pieces = piece;
	return static_cast<unsigned char *>(piece) + sizeof plane->pieces;
}

/* ------------------------------------------------------------------- lists */

/* Powers of two, and one and a half times these: so each size is at most one and a half times the size before it. */
constexpr uint16_t places_of_few[sizes_of_few] = {16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024};
static_assert(places_of_few[sizes_of_few - 1] * 3 / 4 == most_few);

static size_t bytes_of_few(int size)
{
	return sizeof(few_cells) + size_t{places_of_few[size]} * (sizeof(uint64_t) + sizeof(uint16_t));
}

static uint64_t *words_of(few_cells *few)
{
	return reinterpret_cast<uint64_t *>(few + 1);
}

static const uint64_t *words_of(const few_cells *few)
{
	return reinterpret_cast<const uint64_t *>(few + 1);
}

static uint16_t *cells_of(few_cells *few)
{
	return reinterpret_cast<uint16_t *>(words_of(few) + few->places);
}

static const uint16_t *cells_of(const few_cells *few)
{
	return reinterpret_cast<const uint16_t *>(words_of(few) + few->places);
}

/* Returns the place of a cell; if the list does not have the cell, the place where it is to go. */
static uint32_t place_of_cell(const few_cells *few, uint32_t cell)
{
	const uint16_t *cells = cells_of(few);
	uint32_t place = cell * few->places / SB_TBF_BLOCK;
	while (cells[place] != cell && cells[place] != no_cell)
		place = place + 1 < few->places ? place + 1 : 0;
	return place;
}

const uint64_t *find_word(const few_cells *few, uint32_t cell)
{
	const uint32_t place = place_of_cell(few, cell);
	return cells_of(few)[place] == cell ? words_of(few) + place : nullptr;
}

static uint64_t *add_to_list(few_cells *few, uint32_t cell)
{
	const uint32_t place = place_of_cell(few, cell);
	if (cells_of(few)[place] == no_cell)
	{
		cells_of(few)[place] = static_cast<uint16_t>(cell);
		words_of(few)[place] = 0;
		few->used++;
	}
	return words_of(few) + place;
}

uint64_t *add_word(cell_plane *plane, uint32_t block, uint32_t cell)
{
	few_cells *few = plane->few[block];
	few->promised = 0;
	return add_to_list(few, cell);
}

static void *take_list(cell_plane *plane, int size)
{
	constexpr size_t least_piece = 4096;
	constexpr size_t most_piece = size_t{1} << 20;
	const size_t bytes = bytes_of_few(size);
	if (few_cells *few = plane->free_list[size]; few != nullptr)
	{
		std::memcpy(&plane->free_list[size], static_cast<void *>(few), sizeof few);
		return few;
	}
	if (bytes > plane->list_left)
	{
		const size_t piece = std::max(std::clamp(plane->list_bytes / 4, least_piece, most_piece), bytes);
		void *first = add_piece(plane, piece);
		if (first == nullptr)
			return nullptr;
		plane->next_list = static_cast<unsigned char *>(first);
		plane->list_left = piece;
		plane->list_bytes += piece;
	}
	void *taken = plane->next_list;
	plane->next_list += bytes;
	plane->list_left -= bytes;
	return taken;
}

static few_cells *make_list(cell_plane *plane, int size)
{
	void *taken = take_list(plane, size);
	if (taken == nullptr)
		return nullptr;
	auto *few = static_cast<few_cells *>(taken);
	*few = {places_of_few[size], 0, 0, static_cast<uint16_t>(size)};
	std::fill_n(cells_of(few), few->places, no_cell);
	return few;
}

static void free_list(cell_plane *plane, few_cells *few)
{
	const int size = few->size;
	std::memcpy(static_cast<void *>(few), &plane->free_list[size], sizeof few);
	plane->free_list[size] = few;
}

sb_status promise_cells(cell_plane *plane, uint32_t block, uint32_t count)
{
	few_cells *few = plane->few[block];
	const uint32_t wanted = (few != nullptr ? uint32_t{few->used} + few->promised : 0) + count;
	if (plane->never_few || wanted > most_few || plane->block_cells < SB_TBF_BLOCK)
		return give_words(plane, block);
	if (few == nullptr || wanted * 4 > uint32_t{few->places} * 3)
	{
		int size = 0;
		while (uint32_t{places_of_few[size]} * 3 < wanted * 4)
			size++;
		few_cells *larger = make_list(plane, size);
		if (larger == nullptr)
			return SB_NO_MEMORY;
		if (few != nullptr)
		{
			for (uint32_t i = 0; i < few->places; i++)
				if (const uint16_t cell = cells_of(few)[i]; cell != no_cell)
					*add_to_list(larger, cell) = words_of(few)[i];
			larger->promised = few->promised;
			free_list(plane, few);
		}
		plane->few[block] = few = larger;
	}
	few->promised = static_cast<uint16_t>(few->promised + count);
	return SB_OK;
}

/* ------------------------------------------------------------------- words */

/* Allocates memory for more blocks. The words of each block begin at a line of the cache. */
static sb_status add_blocks(cell_plane *plane)
{
	const uint32_t blocks = std::min(std::clamp(plane->full / 4, 1u, most_blocks), plane->block_count - plane->full);
	void *piece = add_piece(plane, cache_line - 1 + size_t{blocks} * plane->block_cells * sizeof(uint64_t));
	if (piece == nullptr)
		return SB_NO_MEMORY;
	const size_t gap = (cache_line - reinterpret_cast<uintptr_t>(piece) % cache_line) % cache_line;
	plane->next = reinterpret_cast<uint64_t *>(static_cast<unsigned char *>(piece) + gap);
	plane->spare = blocks;
	return SB_OK;
}

/* Fills in the words of a block: those in its list, and zeros for all other cells. few may be NULL. */
static void spread(const few_cells *few, uint32_t block_cells, uint64_t *words)
{
	uint64_t nowhere;
	std::memset(words, 0, block_cells * sizeof *words);
	for (uint32_t i = 0; few != nullptr && i < few->places; i++)
	{
		const uint16_t cell = cells_of(few)[i];
		uint64_t *to = cell != no_cell ? &words[cell] : &nowhere; /* instead of a branch, which is hard to predict */
		*to = words_of(few)[i];
	}
}

sb_status give_words(cell_plane *plane, uint32_t block)
{
	if (plane->spare == 0)
		if (sb_status status = add_blocks(plane); status != SB_OK)
			return status;
	few_cells *few = plane->few[block];
	spread(few, plane->block_cells, plane->next);
	if (few != nullptr)
	{
		free_list(plane, few);
		plane->few[block] = nullptr;
	}
	plane->block[block] = plane->next;
	plane->next += plane->block_cells;
	plane->spare--;
	plane->full++;
	return SB_OK;
}

const uint64_t *read_block(const cell_plane *plane, uint32_t block, uint64_t *room)
{
	const few_cells *few = plane->few[block];
	if (few == nullptr)
		return plane->block[block];
	spread(few, plane->block_cells, room);
	return room;
}

sb_status hold_items(cell_plane *plane, int hash_count, const uint64_t *hashes, size_t count, bool *full)
{
	*full = true;
	for (size_t i = 0; i < count && plane->full < plane->block_count; i++)
	{
		const uint32_t block = block_of(plane->block_count, hashes[i]);
		if (sb_status status = hold_cells(plane, block, static_cast<uint32_t>(hash_count)); status != SB_OK)
			return status;
		*full &= plane->block[block] != nullptr;
	}
	return SB_OK;
}

uint32_t count_words(const uint64_t *words, uint32_t count)
{
	four_words found = {};
	for (uint32_t i = 0; i < count; i += 4)
	{
		four_words word;
		std::memcpy(&word, words + i, sizeof word);
		found -= word != 0;
	}
	return static_cast<uint32_t>(found[0] + found[1] + found[2] + found[3]);
}

/* Writes to `cells` the indices of the words that are not 0, without a branch. Returns how many there are. */
static uint32_t cells_that_hold(const uint64_t *words, uint32_t count, uint16_t *cells)
{
	uint32_t found = 0;
	for (uint32_t i = 0; i < count; i++)
	{
		cells[found] = static_cast<uint16_t>(i);
		found += words[i] != 0;
	}
	return found;
}

bool add_shifted_few(cell_plane *plane, uint32_t block, const uint64_t *words, int shift, uint64_t *largest)
{
	uint16_t cells[SB_TBF_BLOCK];
	const uint32_t count = cells_that_hold(words, SB_TBF_BLOCK, cells);
	few_cells *few = plane->few[block];
	bool fits = true;
	uint64_t most = 0;
	few->promised = 0;
	for (uint32_t i = 0; i < count; i++)
	{
		const uint64_t part = words[cells[i]] << shift;
		uint64_t *word = add_to_list(few, cells[i]);
		*word += part;
		fits &= words[cells[i]] < SB_TBF_MAX_CELL >> shift && *word < SB_TBF_MAX_CELL;
		most = std::max(most, part);
	}
	*largest = std::max(*largest, most);
	return fits;
}

} // namespace streambloom
