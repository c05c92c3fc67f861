/*
 * seen_lines.h: the lines of filters that a statement has seen while it wrote rows. The statement need not look at a
 * page again for items that these lines have.
 *
 * The index has a filter for each *range*, some pages of the table, and each column. A filter is an array of *lines* of
 * 64 bytes. A *group* is up to 125 consecutive ranges whose filters lie together on the pages of the index.
 */
#ifndef STREAMBLOOM_PG_INDEX_SEEN_LINES_H
#define STREAMBLOOM_PG_INDEX_SEEN_LINES_H

#include "index/geometry.h"
#include "index/layout.h"
#include "index/wal.h"

/* Where a statement keeps the lines that it has seen of one index, and how many bytes these take. */
typedef struct BfSeenMemory
{
	MemoryContext context;
	Size		bytes;
	MemoryContextCallback end;
} BfSeenMemory;

/* Begins with no lines. What is kept ends with `context`, which must not outlive the statement. */
extern BfSeenMemory *bf_index_begin_seen(MemoryContext context);

/* The lines that a statement has seen of some neighboring ranges, in one column of one group. */
typedef struct BfSeenLines
{
	uint64		publications;	/* how many changes (publications) the meta page had counted when the lines were seen */
	BlockNumber run;			/* where the column's pages in the group begin; 0: nothing was seen */
	uint32		first_range;	/* counted within the group */
	uint32		ranges;
	uint32		positions;		/* positions on a page */
	bool		kept;			/* lines are kept; false: the fields above only say where the last row belongs */
	bool	   *pages;			/* which pages of the run were seen */
	Size		page_room;
	unsigned char *lines;		/* lines of the ranges at position 0, then those at position 1, ... */
	Size		room;
} BfSeenLines;

/*
 * Returns the lines that were seen of `range` (counted within its group) and of its neighbors. Returns NULL if none
 * are kept. The first call for these ranges always returns NULL; so does the first call after the meta page has
 * counted a publication (directory.h), or after a call for other ranges. No lines are kept if a filter takes more than
 * 256 kB, or if all lines of the session would take more than work_mem. REQUIRES: the geometry is current, and was read
 * after the row was written into the heap.
 */
extern BfSeenLines *bf_index_seen_lines(BfSeenLines *seen, const BfGeometry *geometry, const BfGroup *group,
										  int column, uint32 range, BfSeenMemory *memory);

/* An item that is to be added to a filter. */
typedef struct BfAddition
{
	uint32		line;			/* of the filter, from 0 */
	uint64		hash;
} BfAddition;

/*
 * Do the lines that were seen have all these items, so that nothing is to be done? REQUIRES: the items belong on
 * `page`.
 */
extern bool bf_index_was_seen(const BfSeenLines *seen, uint32 page, uint32 range, const BfAddition *additions,
							  uint32 count, int hash_count);

/* Keeps the lines of a page of the run. REQUIRES: the page is locked. */
extern void bf_index_see_page(BfSeenLines *seen, uint32 page, BfFilterPage *content);

/*
 * Keeps these lines of `range` as they are after bits were set in them. Does nothing if bf_index_see_page() has not
 * kept the page. REQUIRES: the page is locked.
 */
extern void bf_index_see_bits(BfSeenLines *seen, uint32 page, BfFilterPage *content, uint32 range,
							  const BfLineBits *lines, uint32 count);

#endif
