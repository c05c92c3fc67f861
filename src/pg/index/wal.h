/*
 * wal.h: adds items to filter pages, and logs that.
 */
#ifndef STREAMBLOOM_PG_INDEX_WAL_H
#define STREAMBLOOM_PG_INDEX_WAL_H

#include "index/layout.h"

#include "storage/buf.h"

/*
 * Takes the lines of a filter page into use and logs that, unless they are in use already. To be called before the
 * first range on the page gets another state than "unsummarized". REQUIRES: the buffer is locked exclusively, and was
 * checked.
 */
extern void bf_index_take_lines(Relation index, Buffer buffer, const BfGroup *group);

/* An item that is to be added to a filter page. */
typedef struct BfAddition
{
	uint32		line;			/* line of the filter, from 0 */
	uint64		hash;
} BfAddition;

/* The items that are to be added to a filter page: all lines are on it, in ascending order. */
typedef struct BfPageAdditions
{
	Buffer		buffer;
	const BfAddition *additions;
	uint32		count;
} BfPageAdditions;

/*
 * Adds items to lines of one range (counted within its group) on up to MAX_GENERIC_XLOG_PAGES filter pages, and logs
 * the change in one record. Takes some memory in the current context, as much as the lines. REQUIRES: the buffers are
 * locked exclusively, and were checked; on each of the pages the range is summarized or a placeholder.
 */
extern void bf_index_add_to_pages(Relation index, const BfPageAdditions *pages, int count, uint32 range,
								  int hash_count);

#endif
