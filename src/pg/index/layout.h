/*
 * layout.h: how a bf index lies on disk. README.md in this folder has a drawing.
 *
 * An index has up to four *levels*, each of which covers the same heap. On each level a *range* is a fixed number of
 * consecutive pages of the heap. On level 0 it has pages_per_range pages. On each other level it has 125 times as many
 * as on the level below, or fewer, since no range exceeds a gigabyte. Consecutive ranges of a level form a *group*. In
 * a group all filters of one column have the same size, which is a number of *lines* of 64 bytes, as in a bf value. The
 * filters are stored interleaved: the lines with number l of all ranges of the group lie side by side, at *position* l.
 * So one page answers for one item in all ranges of the group. A group has a *run* of consecutive pages for each column
 * of the index.
 *
 * Each filter page is complete in itself: it has the state of each range beside the bits, and both are read and
 * written under the lock of that one page. The states and bits on a page hold for the positions on that page only.
 */
#ifndef STREAMBLOOM_PG_INDEX_LAYOUT_H
#define STREAMBLOOM_PG_INDEX_LAYOUT_H

#include "base/compat.h"

#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

#include "index/sizes.h"

/*
 * Block 0 is the meta page. After the page header it has:
 *
 *   BfMetaPage                       with the parameters of each column
 *   BlockNumber directory[500]       the blocks of the directory pages; the first directory_pages of them are in use
 *   BfStoredStretch entries          the first ones of the directory; the others are on directory pages
 *
 * The *directory* says where the groups lie, stretch by stretch. A *stretch* consists of groups of one level that
 * follow each other, and that have the same number of ranges, filters of the same sizes, and the same distance from
 * each group to the next. So the directory is short, however many groups there are.
 *
 * The parameters are written when the index is made, and do not change after that, with one exception: if
 * pages_per_range was not given, it is chosen before the first group is made. Of the other fields `publications` and
 * `begun` never become smaller.
 *
 * Groups and directory pages lie from block 1 on, in any order. Other pages, between them or behind the last one, are
 * free (space.c): they belonged to a replaced group or to the directory, or were left there by a crash or an error.
 *
 * When a session reads the geometry (geometry.c), everything from the meta page and the directory is checked before it
 * is used. The checksums must be right, the groups of each level must follow each other, and they must end within the
 * file.
 */
#define BF_INDEX_MAGIC 0x78496642	/* "BfIx" */
#define BF_INDEX_VERSION 3
#define BF_INDEX_MAX_DIRECTORY_PAGES 500
/*
 * Before groups are published, room in the directory is made for up to this many new entries. The publication may write
 * fewer, so the last directory pages may be empty.
 */
#define BF_MOST_ENTRIES_RESERVED (BF_MOST_PLANNED + 2)

/* How the items of one column on level 0, or of all columns on the levels above, become bits. */
typedef struct BfParameters
{
	double		false_positive_rate;	/* rate of one item in one range */
	double		load;			/* items per line at that rate */
	uint8		hashes;			/* how many bits an item sets in its line */
	uint8		keys;			/* a BfKeys: what of a value becomes items; 0 on the levels above */
	uint8		zero[6];
} BfParameters;

typedef enum BfKeys
{
	BF_KEYS_VALUE = 0,			/* the value is the only item */
	BF_KEYS_INSIDE = 1			/* what the operator class takes out of the value (keys.h) */
} BfKeys;

/*
 * What is known of the heap's pages behind the ranges of level 0 that have begun. It works like the state of a range.
 * A summarizer first writes "placeholder", and then takes the heap's length. If the heap has no such pages, it writes
 * "empty"; but not if a writer has written "unknown" meanwhile. Whoever writes a row there writes "unknown".
 */
typedef enum BfBeyond
{
	BF_BEYOND_UNKNOWN = 0,		/* there may be rows */
	BF_BEYOND_PLACEHOLDER = 1,
	BF_BEYOND_EMPTY = 2			/* no snapshot sees a row there */
} BfBeyond;

typedef struct BfMetaPage
{
	uint32		magic;
	uint16		version;
	uint16		columns;
	uint32		checksum;		/* CRC-32C of this struct, all columns included, with zeros in checksum */
	BlockNumber pages_per_range;	/* on level 0; 0: it is chosen before the first group is made */
	uint64		publications;	/* grows by 1 with each change of this page, and after placeholders were written */
	uint16		levels;			/* the most that the index may have, 1 .. BF_INDEX_MAX_LEVELS */
	uint16		directory_pages;
	uint32		stretches;		/* entries of the directory */
	uint32		groups[BF_INDEX_MAX_LEVELS];	/* published groups of each level */
	uint32		begun[BF_INDEX_MAX_LEVELS]; /* ranges from this one on were never placeholders or summarized */
	uint32		beyond;			/* a BfBeyond: what is known of the heap behind the ranges of level 0 that have begun */
	uint32		zero;
	BfParameters upper;			/* parameters of all columns on the levels above 0 */
	BfParameters column[FLEXIBLE_ARRAY_MEMBER];
} BfMetaPage;

/*
 * An entry of the directory: a stretch, that is, groups of one level that follow each other and are alike. The ranges
 * of a level's stretches follow each other without a gap, from range 0 on. The entries may stand in another order.
 */
typedef struct BfStoredStretch
{
	uint32		first_range;	/* first range of the first group */
	uint32		groups;
	uint16		ranges;			/* ranges in each group, 1 .. BF_INDEX_MAX_RANGES */
	uint8		level;
	uint8		zero;
	BlockNumber first_block;	/* of the first group's filter pages: those of column 1, then those of column 2, ... */
	BlockNumber stride;			/* from the first block of a group to that of the next group; 0 if there is one group */
	uint32		checksum;		/* CRC-32C of this entry with zeros in checksum */
	uint32		lines[FLEXIBLE_ARRAY_MEMBER];	/* for each column: the lines of a filter, which fill whole pages */
} BfStoredStretch;

/* After the page header a directory page has a BfDirectoryPage, and then entries. */
#define BF_DIRECTORY_MAGIC 0x72446642	/* "BfDr" */

typedef struct BfDirectoryPage
{
	uint32		magic;
	uint32		number;			/* number of this directory page, from 0 */
} BfDirectoryPage;

/*
 * After the page header a filter page has a BfFilterPage. The states of its ranges are the end of this struct. At the
 * next multiple of 8 the lines begin: those of the page's first position for all ranges of the group, then those of
 * the next position.
 *
 * As long as all ranges on the page are unsummarized and have never been in another state there, the lines lie
 * between pd_lower and pd_upper. PostgreSQL takes this part of a page for unused space, and leaves it out of the
 * page's image in the WAL. So a group that is made for future ranges costs hardly any WAL.
 */
#define BF_FILTER_MAGIC 0x6c466642	/* "BfFl" */

typedef struct BfFilterPage
{
	uint32		magic;
	uint8		level;
	uint8		column;			/* from 0 */
	uint16		ranges;
	uint32		first_range;	/* first range of the group */
	uint32		first_line;		/* the line at the first position of this page, counted in the filter from 0 */
	uint32		lines;			/* lines of a filter (an earlier group on these pages may have had another number) */
	uint32		zero;
	uint64		horizon;		/* full transaction id: snapshots older than it may see rows that this page lacks */
	uint64		standby_horizon;	/* as `horizon`, but only snapshots that were taken during recovery look at it */
	uint8		states[FLEXIBLE_ARRAY_MEMBER];
} BfFilterPage;

typedef enum BfRangeState
{
	BF_UNSUMMARIZED = 0,		/* readers read the range; writers do nothing */
	BF_PLACEHOLDER = 1,			/* it is being summarized, or a summarizer died: readers read it; writers set bits */
	BF_SUMMARIZED = 2,			/* the bits are complete: readers rely on them; writers set bits */
	BF_FULL = 3					/* far more items than the filters were made for: readers read it; writers do nothing */
} BfRangeState;

/* NULL is an item like any other. This is its hash: a random number, which must never change. */
#define BF_NULL_HASH UINT64_C(0x9d39247e33776d41)

/* A group: its ranges, its place in the index, and the sizes of its filters. */
typedef struct BfGroup
{
	int			level;
	int			columns;
	uint32		first_range;
	uint32		ranges;
	uint32		positions;		/* positions on a page */
	BlockNumber first_block;
	const uint32 *lines;		/* for each column: how many lines a filter has */
} BfGroup;

/* --------------------------------------------------------------- any page */

/* Raises the error that the index is damaged at this block; `what` says how. */
extern SB_NORETURN void bf_index_report_damage(Relation index, BlockNumber block, const char *what);

/*
 * Reads a page of the index. REQUIRES: the index's file has this block. (It has block 0. When a geometry is read, it is
 * checked that the file has all blocks of the geometry's groups.)
 */
extern Buffer bf_index_read_page(Relation index, BlockNumber block);

/* --------------------------------------------------- meta page and directory */

/* Writes the content of the meta page of an empty index. The caller writes the WAL record. */
extern void bf_index_init_meta_page(Page page, Relation index);

/*
 * The content of the meta page. It is an error if this is no meta page, if it is damaged or of another format
 * version, or if it does not fit the operator classes of the index.
 */
extern BfMetaPage *bf_index_meta_page(Relation index, Page page);

/* Writes the checksum, after the content was changed. */
extern void bf_index_seal_meta_page(BfMetaPage *meta);

/* The first function returns the blocks of the directory pages, the second the entries that are on the meta page. */
extern BlockNumber *bf_index_directory(BfMetaPage *meta);
extern void *bf_index_meta_entries(BfMetaPage *meta);

/* Writes the content of an empty directory page. */
extern void bf_index_init_directory_page(Page page, uint32 number);

/* The entries on a directory page; an error if it is not the directory page with this number. */
extern void *bf_index_directory_entries(Relation index, BlockNumber block, Page page, uint32 number);

/* The first function returns entry `number` of a page's entries, the second the checksum that an entry should have. */
extern BfStoredStretch *bf_index_entry_at(void *entries, uint32 number, int columns);
extern uint32 bf_index_entry_checksum(const BfStoredStretch *entry, int columns);

/* The number of entries that fit on the meta page, and on each directory page. */
extern uint32 bf_index_entries_on_meta_page(int columns);
extern uint32 bf_index_entries_on_directory_page(int columns);

/* --------------------------------------------------------------- filter pages */

/* Writes the content of an empty filter page, whose lines are not in use yet: pd_lower is where the lines begin. */
extern void bf_index_init_filter_page(Page page, int column, const BfGroup *group, uint32 first_line);

/* The pd_lower of a filter page whose lines are in use. */
extern LocationIndex bf_index_lower_with_lines(const BfGroup *group);

/* Is this page `number` (from 0) of the group's run for this column? */
extern bool bf_index_is_filter_page(Page page, const BfGroup *group, int column, BlockNumber number);

/* The content of a filter page. It is an error if this is not page `number` of the group's run for this column. */
extern BfFilterPage *bf_index_filter_page(Relation index, BlockNumber block, Page page, const BfGroup *group,
										  int column, BlockNumber number);

/* The lines at a position of this page: those of the group's ranges, one after the other. */
static inline unsigned char *
bf_index_position(BfFilterPage *content, uint32 position)
{
	return (unsigned char *) content + BF_LINES_OFFSET(content->ranges) +
		(size_t) position * content->ranges * SB_BF_LINE;
}

/* The line of one range at a position of this page. */
static inline unsigned char *
bf_index_line(BfFilterPage *content, uint32 position, uint32 range)
{
	return bf_index_position(content, position) + range * SB_BF_LINE;
}

#endif
