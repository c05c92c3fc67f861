/*
 * replace.h: groups of filters that are many times too large are replaced, and groups at the end of the file are moved.
 */
#ifndef STREAMBLOOM_PG_INDEX_REPLACE_H
#define STREAMBLOOM_PG_INDEX_REPLACE_H

#include "index/refresh.h"

/*
 * Replaces groups that are many times too large (sizes.h) by groups with smaller filters, beginning with those that
 * free the most pages. Then, if at least a quarter of the file is free, and at least 64 pages, moves groups from the
 * end of the file to free pages before them. The ranges of all these groups are summarized anew. A call begins no
 * further group when it has read half of the heap's pages.
 *
 * The bits tell how many items a group has. If `deleted` is true, rows may have gone whose bits are still set. Then
 * some ranges of large groups on level 0 are read, and their items are counted. This is done for one group in any case,
 * and stops when a sixty-fourth of the heap's pages was read. These pages count as part of the half. If groups that are
 * many times too large were found in this way, the next call does the same, whatever `deleted` is.
 */
extern void bf_index_replace_large_groups(const BfSummarizer *work, BlockNumber heap_blocks, bool deleted);

#endif
