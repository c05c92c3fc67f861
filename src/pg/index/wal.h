/*
 * wal.h: sets the bits of items on filter pages, or takes the lines of a page into use, and logs that. An item has all
 * its bits of a filter in one line of 64 bytes. A filter page has lines for each range of a *group*: up to 125
 * consecutive ranges of heap pages.
 */
#ifndef STREAMBLOOM_PG_INDEX_WAL_H
#define STREAMBLOOM_PG_INDEX_WAL_H

#include "index/layout.h"

#include "storage/buf.h"

/*
 * Takes the lines of a filter page into use, unless they are in use already: moves pd_lower to their end (see
 * BfFilterPage in layout.h), and logs that. To be called before the first range on the page gets another state than
 * "unsummarized". REQUIRES: the buffer is locked exclusively, and was checked.
 */
extern void bf_index_take_lines(Relation index, Buffer buffer, const BfGroup *group);

/* The bits that items set in a line of a filter. */
typedef struct BfLineBits
{
	uint32		line;			/* of the filter, from 0 */
	unsigned char bits[SB_BF_LINE];
} BfLineBits;

/* The bits that are to be set on a filter page: all lines are on it, in ascending order, each of them once. */
typedef struct BfPageBits
{
	Buffer		buffer;
	BfLineBits *lines;
	uint32		count;
} BfPageBits;

/*
 * Sets bits in lines of one range on up to MAX_GENERIC_XLOG_PAGES filter pages, and logs the change in one record.
 * `range` is the range's number in its group. Bits that the pages have already stay set, and are added to
 * pages[].lines, so that afterwards these are copies of the lines on the pages. Takes some memory in the current
 * context. REQUIRES: the buffers are locked exclusively, and were checked; on each of the pages the range is
 * summarized or a placeholder (it is being summarized).
 */
extern void bf_index_set_bits(Relation index, const BfPageBits *pages, int count, uint32 range);

#endif
