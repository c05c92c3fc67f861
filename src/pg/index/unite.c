/*
 * unite.c: when a level above 0 grows, one group may take the place of all its groups, for VACUUM and the SQL functions
 * that summarize all ranges. (unite.h says when.)
 *
 * A search reads a page of each group of the highest level. An index that was built mostly has one group there for up
 * to 125 ranges. If a level that grows range by range kept its groups of 2, 6, 17, 38 and 62 ranges, a search would
 * read up to five pages. So instead of the second group it mostly gets one of 8 ranges, which has the first two ranges
 * as well; then one of 25 ranges, one of 63, and one of 125. So one group takes the place of others at most four times.
 * Further groups have 125 ranges from the beginning. (All these numbers are for pages of 8 kB.)
 *
 * The steps are those of replace.c: all ranges become unsummarized on the pages of the old groups; the pages of the
 * new group are written, with all ranges unsummarized; the new group is published in the place of the old ones, in one
 * WAL record; and the caller summarizes its ranges, old and new ones together. The bits are not copied from the old
 * groups. Their filters have other sizes, and a writer with an old geometry could add a row to a page that was copied.
 * Until the ranges are summarized, a search looks at the level below instead.
 */
#include "index/unite.h"

#include "index/directory.h"
#include "index/geometry.h"
#include "index/group.h"
#include "index/layout.h"
#include "index/new_group.h"
#include "index/sizes.h"

/* The number of ranges of a level that are summarized or full. */
static uint32
count_summarized(Relation index, const BfGeometry *geometry, int level)
{
	uint32		count = 0;
	BfGroup		group;

	for (uint32 range = 0; range < geometry->level[level].covered; range = group.first_range + group.ranges)
	{
		uint8		states[BF_INDEX_MAX_RANGES];

		bf_index_find_group(geometry, level, range, &group);
		bf_index_read_states(index, &group, 0, states);
		for (uint32 i = 0; i < group.ranges; i++)
			count += states[i] == BF_SUMMARIZED || states[i] == BF_FULL;
	}
	return count;
}

/*
 * What is known of the groups of a level: how many pages they have together, and in each column how many lines their
 * longest filters need at least. A filter's lines were rounded up to whole pages, so the filter may need only one line
 * more than it would have with a page fewer.
 */
typedef struct Present
{
	uint64		pages;
	uint32		lines[INDEX_MAX_KEYS];
} Present;

static Present
look_at_groups(const BfGeometry *geometry, int level)
{
	Present		present = {0};
	BfGroup		group;

	for (uint32 range = 0; range < geometry->level[level].covered; range = group.first_range + group.ranges)
	{
		bf_index_find_group(geometry, level, range, &group);
		present.pages += bf_index_group_pages(&group);
		for (int column = 0; column < group.columns; column++)
			present.lines[column] = Max(present.lines[column], group.lines[column] - group.positions + 1);
	}
	return present;
}

/* Makes each filter of a group at least as long as `least` says, and so that its lines fill whole pages. */
static void
lengthen(uint32 *lines, const uint32 *least, const BfGroup *group)
{
	for (int column = 0; column < group->columns; column++)
		lines[column] = Max(lines[column],
							(least[column] + group->positions - 1) / group->positions * group->positions);
}

/*
 * Decides whether one group takes the place of all groups of the level group->level. If not, returns false. If so, sets
 * *group and lines[], to which group->lines points. `available` ranges behind the old groups are whole in the heap, at
 * least one. `summarized` ranges of the old groups are summarized or full. The bits of their other ranges do not tell
 * the items: an earlier summarizer may have failed before it summarized these ranges. If there are any, the new filters
 * become at least about as long as the old ones.
 */
static bool
plan_union(const BfSummarizer *work, const BfGeometry *geometry, uint32 available, uint32 summarized, BfGroup *group,
		   uint32 *lines)
{
	const int	level = group->level;
	const BfLevel *of = &geometry->level[level];
	const Present present = look_at_groups(geometry, level);

	group->ranges = bf_index_group_to_unite(of->covered, available, of->pages_per_range);
	if (group->ranges == 0 || !bf_index_can_publish_union(work->index, level))
		return false;
	group->positions = BF_POSITIONS(group->ranges);
	bf_index_size_above(work, geometry, group, Min(available, group->ranges - of->covered), lines);
	if (summarized < of->covered)
		lengthen(lines, present.lines, group);
	return bf_index_is_worth_uniting(level, of->covered, present.pages, group->ranges, lines, group->columns);
}

uint32
bf_index_unite_groups(const BfSummarizer *work, int level, uint32 ranges)
{
	BfGeometry *geometry = bf_index_copy_geometry(bf_index_current_geometry(work->index));
	const BfLevel *of = &geometry->level[level];
	const uint32 available = ranges > of->covered ? ranges - of->covered : 0;
	uint32		lines[INDEX_MAX_KEYS];
	BfGroup		group = {.level = level, .columns = geometry->columns, .lines = lines};
	uint32		summarized = 0;

	if (available > 0)
	{
		summarized = count_summarized(work->index, geometry, level);
		if (plan_union(work, geometry, available, summarized, &group, lines))
		{
			bf_index_replace_groups(work->index, geometry, &group);
			/* Other sessions search the level below as long as they have the old geometry. */
			bf_index_outdate_geometries(work->index);
		}
		else
			summarized = 0;
	}
	pfree(geometry);
	return summarized;
}
