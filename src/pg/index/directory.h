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
 * Makes room in the directory for `count` new entries: one for a group that is added, BF_MOST_ENTRIES_RESERVED for
 * one that replaces another. Returns false if the directory is full.
 */
extern bool bf_index_reserve_entries(Relation index, uint32 count);

/*
 * Returns the page at this block, locked exclusively, to be overwritten: a new page at the end of the file, or a free
 * page before it.
 */
extern Buffer bf_index_new_page(Relation index, BlockNumber block);

/*
 * Publishes a group whose pages have been written, as the next group of its level. REQUIRES:
 * bf_index_reserve_entries() was called before first_block was chosen, since it may take a page for the directory;
 * nobody else adds groups (ShareUpdateExclusiveLock on the heap, or the index is new).
 */
extern void bf_index_publish_group(Relation index, const BfGroup *group);

/*
 * Publishes a group whose pages have been written. It takes the place of the group with the same ranges. REQUIRES: as
 * for bf_index_publish_group(); all ranges are unsummarized on the pages of both groups.
 */
extern void bf_index_publish_replacement(Relation index, const BfGroup *group);

/*
 * Can a group be published in the place of all groups of a level? Not if that would change more than three directory
 * pages, since all changes have to be in one WAL record.
 */
extern bool bf_index_can_publish_union(Relation index, int level);

/*
 * Publishes a group whose pages have been written. It takes the place of all groups of its level. It begins with range
 * 0, and has more ranges than all these groups together. REQUIRES: bf_index_can_publish_union() has returned true;
 * nobody else adds groups; all ranges are unsummarized on the pages of the old groups and of the new one.
 */
extern void bf_index_publish_union(Relation index, const BfGroup *group);

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

/*
 * Notes down the false-positive rate that a range above level 0 still has after it was summarized anew. So ranges
 * with about this rate are not summarized anew in vain. REQUIRES: nobody else adds groups.
 */
extern void bf_index_note_in_vain(Relation index, double rate);

/*
 * Notes down the rates that ranges of level 0 still have after they were summarized anew: from `least` to `most` times
 * the rate that was asked for. REQUIRES: nobody else adds groups.
 */
extern void bf_index_note_in_vain_below(Relation index, double least, double most);

/* How many ranges of level 0 are full in at least one column, and the first of them. */
typedef struct BfFullRanges
{
	uint32		count;
	uint32		first;			/* set if count is not 0 */
} BfFullRanges;

static inline void
bf_index_count_full(BfFullRanges *full, uint32 range)
{
	if (full->count++ == 0)
		full->first = range;
}

/*
 * Notes down how many ranges of level 0 are full, and where the first one is, if that has changed. REQUIRES: nobody
 * else adds groups.
 */
extern void bf_index_note_full_ranges(Relation index, const BfGeometry *geometry, const BfFullRanges *full);

/*
 * Notes down whether the next search for groups to replace (replace.c) also looks for groups that have lost most of
 * their items, even if no rows were deleted meanwhile. REQUIRES: nobody else adds groups.
 */
extern void bf_index_note_sample_again(Relation index, bool again);

/* Settles the number of pages for each range of level 0. REQUIRES: nobody else adds groups; there is no group yet. */
extern void bf_index_settle_pages_per_range(Relation index, BlockNumber pages_per_range);

#endif
