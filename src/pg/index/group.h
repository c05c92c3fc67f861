/*
 * group.h: makes filters of ranges in memory, writes all filter pages of a group, and reads the states of its ranges. A
 * group has the filters of up to 125 consecutive ranges of one level. A filter is an array of lines of 64 bytes. A page
 * has the same lines of all ranges of the group (layout.h).
 */
#ifndef STREAMBLOOM_PG_INDEX_GROUP_H
#define STREAMBLOOM_PG_INDEX_GROUP_H

#include "index/geometry.h"
#include "index/heap.h"

/*
 * Lines of some ranges of a group in memory, range after range. Items are added to these lines, and then the lines
 * are written to the group's pages.
 */
typedef struct BfGroupLines
{
	BfGroup		group;
	uint8		hashes[INDEX_MAX_KEYS]; /* how many bits an item of each column sets */
	uint32		selected;		/* how many ranges the lines are for */
	bool		ranges[BF_INDEX_MAX_RANGES];	/* which ones; counted within the group */
	uint8		slots[BF_INDEX_MAX_RANGES]; /* the place of a range's lines among those of all selected ranges */
	unsigned char *area[INDEX_MAX_KEYS];	/* the lines of each column: lines * selected * SB_BF_LINE bytes */
	double		full_rate[INDEX_MAX_KEYS];	/* from this rate on a range is full (sizes.h) */
	bool		full[INDEX_MAX_KEYS][BF_INDEX_MAX_RANGES];	/* is this range full in this column? */
} BfGroupLines;

/* A range that is being read, counted within the group, and the lines that get its items. */
typedef struct BfRangeLines
{
	BfGroupLines *lines;
	uint32		range;
} BfRangeLines;

/*
 * lines[] is how many lines a filter of each column needs in a new group of `ranges` ranges that begins with range
 * `first`. If the group before has as many ranges, and its lines are enough and not much more, lines[] becomes these
 * (bf_index_settle_lines()).
 */
extern void bf_index_settle_by_group_before(const BfGeometry *geometry, int level, uint32 first, uint32 ranges,
											uint32 *lines);

/* The bytes of the filters of one range. */
extern Size bf_index_bytes_of_range(const BfGroup *group);

/*
 * How lines are made, in this order: bf_index_make_lines() sets them up without a range; then ranges are selected;
 * then the areas are allocated, with zeros; then items are added. The areas are needed only if the ranges are then
 * brought to the state BF_SUMMARIZED. `range` is counted within the group, but BfRangeItems.range within the level.
 */
extern void bf_index_make_lines(BfGroupLines *lines, const BfGeometry *geometry, const BfGroup *group);
extern void bf_index_select_range(BfGroupLines *lines, uint32 range);
extern void bf_index_allocate_areas(BfGroupLines *lines);
extern void bf_index_add_items(BfGroupLines *lines, const BfRangeItems *items);

/*
 * Adds the items of a row, or of a whole range of level 0, to a range. The argument is a BfRangeLines. This function is
 * for bf_index_read_rows() and bf_index_read_tape().
 */
extern void bf_index_add_row(const BfRowItems *items, void *argument);

/* The lines of a selected range in one column: lines[column] * SB_BF_LINE bytes. */
extern unsigned char *bf_index_lines_of_range(const BfGroupLines *lines, int column, uint32 range);
extern void bf_index_free_lines(BfGroupLines *lines);

/*
 * Writes and publishes a new group. The ranges of `lines` get the state and their bits, the others are unsummarized.
 * The group's first block is chosen here. REQUIRES: bf_index_can_publish() has returned true.
 */
extern void bf_index_create_group(Relation index, BfGroupLines *lines, BfRangeState state, BfHorizons horizons);

/*
 * Writes groups that follow each other, and publishes them in the place of the groups that have their ranges now, if
 * there are any. Their first blocks are chosen here, on other pages than those of these groups. Afterwards all ranges
 * are unsummarized on the pages of all of them, new and old. REQUIRES: bf_index_can_publish() has returned true.
 */
extern void bf_index_replace_groups(Relation index, const BfGeometry *geometry, BfGroup *groups, int count);

/*
 * Brings the ranges of `lines` to a new state, on all pages of a group that exists:
 *
 *   BF_PLACEHOLDER    their bits are cleared, and writers set bits from now on
 *   BF_SUMMARIZED     the bits in `lines` are added, and readers rely on them from now on; but a range that has far
 *                     more items in a column than its filter was made for becomes BF_FULL in this column
 *   BF_UNSUMMARIZED   writers and readers ignore the bits from now on
 *
 * For BF_SUMMARIZED the horizons of the pages are raised to `horizons`.
 *
 * The first page of the group is the last one to say that a range is summarized, and the first one to say that it is
 * not. So if this page says "summarized" or "full", all pages say one of these.
 */
extern void bf_index_write_ranges(Relation index, BfGroupLines *lines, BfRangeState state, BfHorizons horizons);

/*
 * Raises the standby horizon of all filter pages to `horizon`, a transaction id. Snapshots of standbys that are older
 * than it no longer rely on what these pages say now.
 */
extern void bf_index_raise_standby_horizon(Relation index, uint64 horizon);

/*
 * Sets states[] to the states of a group's ranges on the first page of a column; if the group was replaced, all are
 * unsummarized. For summarizers the states of column 0 are enough. Readers and writers have to look at the states on
 * each page that they use.
 */
extern void bf_index_read_states(Relation index, const BfGroup *group, int column, uint8 *states);

#endif
