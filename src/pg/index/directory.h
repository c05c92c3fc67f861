/*
 * directory.h: changes of the meta page and of the directory: groups are added or replaced, ranges begin (from then on
 * writers visit them), and what a build, a summarization or VACUUM has found is noted down. A group has the filters of
 * up to 125 neighbouring ranges of one level. To publish is to change the meta page. It counts publications, so that
 * every session notices that it has to read the page anew. README.md has the states of a range: unsummarized,
 * placeholder, summarized, full.
 */
#ifndef STREAMBLOOM_PG_INDEX_DIRECTORY_H
#define STREAMBLOOM_PG_INDEX_DIRECTORY_H

#include "index/geometry.h"

#include "storage/bufmgr.h"

/*
 * Returns the page at this block, locked exclusively, to be overwritten: a new page at the end of the file, or a free
 * page before it.
 */
extern Buffer bf_index_new_page(Relation index, BlockNumber block);

/*
 * Can these groups, which follow each other on a level, be published in the place of all groups that have their ranges?
 * Makes room for them in the directory. Not if the directory is full, or if more than three of its pages would change,
 * since all changes have to be in one WAL record. REQUIRES: for bf_index_publish(), except that first_block is not
 * looked at; afterwards first_block is chosen, since this may take a page for the directory.
 */
extern bool bf_index_can_publish(Relation index, const BfGroup *groups, int count);

/*
 * Publishes groups whose pages have been written. They follow each other on a level, begin where a group of the level
 * begins or where the last one ends, and take the place of all groups that have their ranges. REQUIRES:
 * bf_index_can_publish() has returned true; the last of them ends where a group does, or behind the last one; all
 * ranges are unsummarized on the pages of the groups that go; nobody else adds groups (ShareUpdateExclusiveLock on the
 * heap, or the index is new).
 */
extern void bf_index_publish(Relation index, const BfGroup *groups, int count);

/*
 * Makes writers visit the ranges of a level up to `end` (exclusive) from now on. To be called before these ranges
 * become placeholders. A build writes no placeholders: it calls this after it has summarized ranges of level 0, and
 * before it summarizes ranges of the levels above. REQUIRES: nobody else adds groups; groups cover the ranges.
 */
extern void bf_index_begin_ranges(Relation index, int level, uint32 end);

/*
 * Counts a publication after ranges have become placeholders. So writers forget what they have seen of the filters of
 * these ranges: copies of their lines of 64 bytes (seen_lines.c). To be called before the heap is read. REQUIRES:
 * nobody else adds groups.
 */
extern void bf_index_publish_placeholders(Relation index);

/*
 * Changes what the meta page says of the heap behind the ranges of level 0 that have begun: writes `to` if the page
 * says `from`. BF_BEYOND_UNKNOWN is written whatever the page says, and anyone may write that at any time. Returns
 * whether the page said `from`. Counts a publication even if nothing else was changed.
 */
extern bool bf_index_set_beyond(Relation index, BfBeyond from, BfBeyond to);

/* Settles the number of pages for each range of level 0. REQUIRES: nobody else adds groups; there is no group yet. */
extern void bf_index_settle_pages_per_range(Relation index, BlockNumber pages_per_range);

#endif
