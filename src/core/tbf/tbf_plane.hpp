/*
 * tbf_plane.hpp: a plane: the sums of a filter's cells for 16 half-lives (tbf_sums.hpp). A sum is a word of 64 bits.
 * The cells are divided into the blocks of the filter: each has SB_TBF_BLOCK cells, except if there is only one block,
 * which may have fewer. A plane allocates memory for each block apart:
 *
 *  - A block to which nothing was added has only two NULL pointers.
 *  - A block of SB_TBF_BLOCK cells of which few hold something, up to about most_few, has a list of these cells with
 *    their sums, except if never_few is set.
 *  - Any other block has a word for each of its cells.
 *
 * So the memory of a builder depends mostly on how many cells hold something, not on how many cells its filter has. For
 * the core's own files.
 */
#ifndef STREAMBLOOM_TBF_PLANE_HPP
#define STREAMBLOOM_TBF_PLANE_HPP

#include "streambloom.h"
#include "tbf/tbf_place.hpp"

namespace streambloom {

/*
 * The list of a block is a hash table with open addressing, with the cell's number as hash: cell c lies at place c *
 * places / SB_TBF_BLOCK, or if this was taken, at the first place after it that was free. At least a fourth of the
 * places is free.
 */
struct few_cells
{
	uint16_t places; /* length of the table; behind the struct lie that many words, then that many cell numbers */
	uint16_t used;
	uint16_t promised; /* how many free places hold_cells() keeps for cells that are about to be added */
	uint16_t size;	   /* index of `places` in the table of sizes */
};

constexpr uint16_t no_cell = UINT16_MAX;

/*
 * If more cells of a block than this hold something, the block has a word for each cell. So does any block of fewer
 * than SB_TBF_BLOCK cells.
 */
constexpr uint32_t most_few = 768;
constexpr int sizes_of_few = 13;

struct cell_plane
{
	uint64_t **block; /* for each block its words; NULL: it has a list, or all its sums are zero */
	few_cells **few;  /* for each block its list, or NULL */
	uint32_t block_count;
	uint32_t block_cells;
	uint32_t full;	/* blocks that have words */
	uint32_t spare; /* blocks for which there is memory at `next`, but that have no words yet */
	bool never_few; /* set if items have most_few / 2 or more positions a block, on average: no block gets a list */
	uint64_t *next;
	size_t list_bytes; /* size of all pieces of memory for lists */
	size_t list_left;  /* bytes that are still free in the newest of these pieces, at `next_list` */
	unsigned char *next_list;
	few_cells *free_list[sizes_of_few]; /* lists that are free, by size; each begins with the address of the next */
	void *pieces;						/* list of all pieces of memory; each begins with the address of the next */
	sb_memory memory;
};

/* Makes a plane of zeros with as many cells as `tbf`. SB_NO_MEMORY, SB_INTERRUPTED: *out is NULL. */
[[nodiscard]] sb_status make_cell_plane(const sb_memory *memory, const sb_tbf *tbf, cell_plane **out);
void release_cell_plane(cell_plane *plane); /* plane may be NULL */

/*
 * Estimates how many bytes the plane's cells would take as extensible counters: a byte for each cell of a block with
 * words, and a fourth of the memory of the lists (more than three bytes for each cell in a list). That is nearly always
 * enough, except for blocks whose lists have few cells: the bitmap of such a block alone takes cells / 8 bytes
 * (tbf_cells.cpp).
 */
inline uint64_t usual_bytes(const cell_plane *plane)
{
	return uint64_t{plane->full} * plane->block_cells + plane->list_bytes / 4;
}

/*
 * Gives words to a block that has none. Cells that were in its list keep their sums; all other words are zero.
 * SB_NO_MEMORY: the block has no words, and its list is as it was.
 */
[[nodiscard]] sb_status give_words(cell_plane *plane, uint32_t block);

[[nodiscard]] inline sb_status hold_block(cell_plane *plane, uint32_t block)
{
	return plane->block[block] != nullptr ? SB_OK : give_words(plane, block);
}

/*
 * Makes room for `count` more cells in a block without words: in its list, or as words if the list would get too long
 * or the block must not have one (never_few, or fewer than SB_TBF_BLOCK cells). Room that was promised before stays
 * promised until word_at() or add_shifted_few() is called for the block. SB_NO_MEMORY: the block holds what it held.
 */
[[nodiscard]] sb_status promise_cells(cell_plane *plane, uint32_t block, uint32_t count);

[[nodiscard]] inline sb_status hold_cells(cell_plane *plane, uint32_t block, uint32_t count)
{
	return plane->block[block] != nullptr ? SB_OK : promise_cells(plane, block, count);
}

/*
 * Makes room for the cells of many items, as hold_cells() does in one block. *full becomes true if all blocks of these
 * items have words, so that add_items() (tbf_sums.cpp) can add to them without looking for lists.
 */
[[nodiscard]] sb_status hold_items(cell_plane *plane, int hash_count, const uint64_t *hashes, size_t count, bool *full);

/*
 * find_word() returns the word of a cell in a list, or NULL if the list does not have the cell. add_word() adds a
 * missing cell, with the word 0, before it returns the word. add_word() REQUIRES: hold_cells() has made room.
 */
const uint64_t *find_word(const few_cells *few, uint32_t cell);
uint64_t *add_word(cell_plane *plane, uint32_t block, uint32_t cell);

/*
 * Returns the word of a cell. The pointer is valid until the next call of a function that makes room. REQUIRES:
 * hold_cells() has made room.
 */
inline uint64_t *word_at(cell_plane *plane, uint32_t block, uint32_t cell)
{
	return plane->block[block] != nullptr ? &plane->block[block][cell] : add_word(plane, block, cell);
}

/*
 * Returns the words of a block, or NULL if it holds nothing. If the block has a list, its words are written to `room`,
 * which has a word for each cell.
 */
const uint64_t *read_block(const cell_plane *plane, uint32_t block, uint64_t *room);

/*
 * Adds words[i] * 2^shift, 0 <= shift < 62, to cell i of a block that has a list and no words. Returns false if a sum
 * is too large for a word. *largest is raised to the largest amount that was added. REQUIRES: hold_cells() has made
 * room for all words that are not 0.
 */
bool add_shifted_few(cell_plane *plane, uint32_t block, const uint64_t *words, int shift, uint64_t *largest);

/* Returns how many of `count` words are not 0. REQUIRES: count is a multiple of 4. */
uint32_t count_words(const uint64_t *words, uint32_t count);

/* The words of one block of a plane, for reading single ones. */
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

/* plane may be NULL */
inline block_place place_of_block(const cell_plane *plane, uint32_t block)
{
	return plane != nullptr ? block_place{plane->block[block], plane->few[block]} : block_place{};
}

} // namespace streambloom

#endif
