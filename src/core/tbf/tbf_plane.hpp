/*
 * tbf_plane.hpp: a plane of sums of cells. A block to which nothing was added takes no memory; one in which few cells
 * hold something has a list of these; any other has a word for each cell. So what a builder takes goes with the cells
 * that hold something, and not with the cells of its filter. For the core's own files.
 */
#ifndef STREAMBLOOM_TBF_PLANE_HPP
#define STREAMBLOOM_TBF_PLANE_HPP

#include "streambloom.h"
#include "tbf/tbf_place.hpp"

namespace streambloom {

/*
 * The list of a block: a table of open addressing. Each cell lies at the place that its number has among the numbers of
 * all cells, or in the next one that was free. At least a fourth of the places is free.
 */
struct few_cells
{
	uint16_t places; /* one of a few sizes; behind this so many words, and the numbers of as many cells */
	uint16_t used;
	uint16_t promised; /* of the free ones, how many hold_cells() keeps for cells to come */
	uint16_t size;	   /* which of the sizes */
};

constexpr uint16_t no_cell = UINT16_MAX;

/* A block in which more cells hold something has all its words, and so has one of fewer than SB_TBF_BLOCK cells. */
constexpr uint32_t most_few = 768;
constexpr int sizes_of_few = 13;

struct cell_plane
{
	uint64_t **block; /* for each block its words, or NULL: they are in a list, or all are zero */
	few_cells **few;  /* for each block its list, or NULL */
	uint32_t block_count;
	uint32_t block_cells;
	uint32_t full;	/* blocks that have words */
	uint32_t lists; /* blocks that have a list */
	uint32_t spare; /* blocks that have memory, but no words yet: from `next` on */
	bool never_few; /* blocks are expected to hold much: none gets a list */
	uint64_t *next;
	size_t list_bytes; /* of the pieces for lists */
	size_t list_left;  /* bytes of the newest of them that nothing has yet: from `next_list` on */
	unsigned char *next_list;
	few_cells *free_list[sizes_of_few]; /* lists that grew or became words; each begins with the next one's address */
	void *pieces;						/* of memory, each with the address of the one before it */
	sb_memory memory;
};

/* A plane of zeros, with as many cells as a filter. SB_NO_MEMORY, SB_INTERRUPTED: *out is NULL. */
[[nodiscard]] sb_status make_cell_plane(const sb_memory *memory, const sb_tbf *tbf, cell_plane **out);
void release_cell_plane(cell_plane *plane); /* or NULL */

/*
 * How many bytes the plane's cells would take as extensible counters. It is an upper bound in nearly all cases: a cell
 * of a block takes one byte, and so does an entry of a list, unless entries are far from each other.
 */
inline uint64_t usual_bytes(const cell_plane *plane)
{
	return uint64_t{plane->full} * plane->block_cells + plane->list_bytes / 4;
}

/* Gives words to a block that has none: zeros, and what was in its list. SB_NO_MEMORY: it has none. */
[[nodiscard]] sb_status give_words(cell_plane *plane, uint32_t block);

[[nodiscard]] inline sb_status hold_block(cell_plane *plane, uint32_t block)
{
	return plane->block[block] != nullptr ? SB_OK : give_words(plane, block);
}

/*
 * Room for so many more cells in a block without words, beside what was promised since word_at() was last called for
 * it: in its list or, if they are too many for one, by words. SB_NO_MEMORY: the block holds what it held.
 */
[[nodiscard]] sb_status promise_cells(cell_plane *plane, uint32_t block, uint32_t count);

[[nodiscard]] inline sb_status hold_cells(cell_plane *plane, uint32_t block, uint32_t count)
{
	return plane->block[block] != nullptr ? SB_OK : promise_cells(plane, block, count);
}

/*
 * The same for the cells of many items. *full: each of their blocks has words, as a kernel needs them.
 */
[[nodiscard]] sb_status hold_items(cell_plane *plane, int hash_count, const uint64_t *hashes, size_t count, bool *full);

/*
 * The word of a cell of a list, or NULL; a new one, of 0, if the cell has none. REQUIRES: room that hold_cells() made.
 */
const uint64_t *find_word(const few_cells *few, uint32_t cell);
uint64_t *add_word(cell_plane *plane, uint32_t block, uint32_t cell);

/* REQUIRES: room that hold_cells() made. It stays where it is until the next call of a function that makes room. */
inline uint64_t *word_at(cell_plane *plane, uint32_t block, uint32_t cell)
{
	return plane->block[block] != nullptr ? &plane->block[block][cell] : add_word(plane, block, cell);
}

/*
 * The words of a block, or NULL if it holds nothing. Those of a list are written to `room`, which has a word for each
 * cell.
 */
const uint64_t *read_block(const cell_plane *plane, uint32_t block, uint64_t *room);

/*
 * Adds words * 2^shift, 0 <= shift < 62, to those of a list; false if that is too much for a word. *largest becomes the
 * largest that was added. REQUIRES: room that hold_cells() made for those that are not 0; the block has a list, and no
 * words.
 */
bool add_shifted_few(cell_plane *plane, uint32_t block, const uint64_t *words, int shift, uint64_t *largest);

/* How many of so many words are not 0. REQUIRES: count is a multiple of 4. */
uint32_t count_words(const uint64_t *words, uint32_t count);

/* Where the words of one block of a plane are, to read single ones. */
struct block_place
{
	const uint64_t *words;
	const few_cells *few;

	explicit operator bool() const { return words != nullptr || few != nullptr; }
	uint64_t operator[](uint32_t cell) const
	{
		if (words != nullptr)
			return words[cell];
		const uint64_t *word = few != nullptr ? find_word(few, cell) : nullptr;
		return word != nullptr ? *word : 0;
	}
};

/* plane: or NULL */
inline block_place place_of_block(const cell_plane *plane, uint32_t block)
{
	return plane != nullptr ? block_place{plane->block[block], plane->few[block]} : block_place{};
}

} // namespace streambloom

#endif
