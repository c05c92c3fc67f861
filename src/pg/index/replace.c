/*
 * replace.c: groups whose filters are many times too large are replaced by smaller ones, and groups at the end of the
 * file are moved to free pages, for VACUUM and the SQL functions that summarize all ranges.
 *
 * A group is consecutive ranges of the heap whose filters have the same size, on pages of its own. This size never
 * changes. But the first ranges of a group may have been fuller than all later ones, or rows were deleted. Then another
 * group is made for the same ranges:
 *
 * 1. On all pages of the old group the ranges become unsummarized. Nobody relies on these pages any more.
 * 2. The pages of the new group are written, with all ranges unsummarized, on free pages (space.c).
 * 3. The new group is published in the place of the old one, in one WAL record (directory.c).
 * 4. Those of its ranges that were summarized, full or placeholders before step 1 are summarized, as in any group.
 *
 * A session's geometry says where the groups lie. A reader or writer that has an older geometry comes to the old
 * group's pages. It finds the ranges unsummarized there; or it finds that these are other pages now, and so its
 * geometry is old (bf_index_filter_page_in_use()). In both cases a reader reads the ranges, and a writer does nothing.
 * (README.md, "Why no row can be lost".) A crash between the steps leaves a group whose ranges are unsummarized, and
 * pages that are free.
 */
#include "index/replace.h"

#include <math.h>

#include "common/pg_prng.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "index/directory.h"
#include "index/geometry.h"
#include "index/group.h"
#include "index/heap.h"
#include "index/layout.h"
#include "index/measure.h"
#include "index/sizes.h"
#include "index/space.h"

/* No further group is replaced or moved once this share of the heap was read for that, in one call. */
#define MOST_REPLACED 0.5

/* At most this many pages of each column are looked at before a group is replaced because of its bits. */
#define PAGES_THAT_PROVE 256

/*
 * To find out whether rows of a large group were deleted, one in SAMPLED_OF of its ranges is read, but at least one
 * range and at most SAMPLED_RANGES. Each further range is read only if by the ranges before it the group is many times
 * too large. At least one group is sampled; no further one once the share MOST_SAMPLED of the heap was read for this.
 */
#define SAMPLED_RANGES 4
#define SAMPLED_OF 8
#define MOST_SAMPLED (1.0 / 64)

/* How many items each range of a group has in each column, as in BfCounts. */
typedef struct GroupItems
{
	double		of[INDEX_MAX_KEYS][BF_INDEX_MAX_RANGES];
} GroupItems;

static void
items_by_bits(const BfSummarizer *work, const BfGeometry *geometry, const BfGroup *group, BlockNumber pages,
			  GroupItems *items)
{
	for (int column = 0; column < group->columns; column++)
		bf_index_estimate_items(work->index, geometry, group, column, pages, items->of[column]);
}

/* Is this number of items known? */
static bool
is_known(double items)
{
	return items >= 0 && !isinf(items);
}

/*
 * Finds the lines that a group of these ranges needs in each column. If the items of at most half of the ranges are
 * known, the column keeps its lines: the other ranges, such as full ones, may need them. Returns the number of pages of
 * such a group.
 */
static uint64
lines_needed(const BfGeometry *geometry, const BfGroup *group, const GroupItems *items, uint32 *lines)
{
	uint64		pages = 0;

	for (int column = 0; column < group->columns; column++)
	{
		const BfCounts counts = bf_index_counts(geometry, group->level, column, items->of[column]);
		uint32		known = 0;

		for (uint32 i = 0; i < group->ranges; i++)
			known += is_known(items->of[column][i]);
		lines[column] = group->lines[column];
		if (2 * known > group->ranges)
			lines[column] = bf_index_lines_for(&counts, group->ranges, group->ranges);
		pages += lines[column] / group->positions;
	}
	return pages;
}

/* ------------------------------------------------------------------- candidates */

/* A group that may be replaced. */
typedef struct LargeGroup
{
	int			level;
	uint32		first_range;
	uint64		saved;			/* about how many pages a smaller group saves */
	bool		by_bits;		/* its bits say that it is too large; false: a sample of its ranges says so */
} LargeGroup;

static int
compare_large_groups(const void *a, const void *b)
{
	uint64		x = ((const LargeGroup *) a)->saved,
				y = ((const LargeGroup *) b)->saved;

	return x > y ? -1 : x < y;
}

/* Is the group many times too large for these items? Sets *saved to the pages that a smaller group saves. */
static bool
is_many_times_too_large(const BfGeometry *geometry, const BfGroup *group, const GroupItems *items, uint64 *saved)
{
	const uint64 pages = bf_index_group_pages(group);
	uint32		lines[INDEX_MAX_KEYS];
	const uint64 needed = lines_needed(geometry, group, items, lines);

	*saved = pages - Min(needed, pages);
	return bf_index_is_worth_replacing(group->level, group->ranges, pages, needed);
}

/*
 * Do the bits on at most `most` pages of each column say that the group is many times too large? If so, sets *saved
 * to the pages that a smaller group saves.
 */
static bool
is_large_by_bits(const BfSummarizer *work, const BfGeometry *geometry, const BfGroup *group, BlockNumber most,
				 uint64 *saved)
{
	const uint64 pages = bf_index_group_pages(group);
	GroupItems *items;
	bool		is_large;

	/*
	 * The group is kept if even a new group of one page for each column would save too little. It is also kept if it
	 * has room for ranges that the table will get later.
	 */
	if (!bf_index_is_worth_replacing(group->level, group->ranges, pages, group->columns) ||
		group->first_range + group->ranges > geometry->level[group->level].begun)
		return false;
	items = palloc(sizeof(GroupItems));
	items_by_bits(work, geometry, group, most, items);
	is_large = is_many_times_too_large(geometry, group, items, saved);
	pfree(items);
	return is_large;
}

/* May some ranges of this group be read to find out whether rows in it were deleted? */
static bool
can_be_sampled(const BfGeometry *geometry, const BfGroup *group, BlockNumber heap_blocks)
{
	const uint64 last = group->first_range + group->ranges - 1;

	return group->level == 0 &&
		bf_index_is_worth_replacing(group->level, group->ranges, bf_index_group_pages(group), group->columns) &&
		last * geometry->level[0].pages_per_range < heap_blocks;
}

/* The items of a range in all columns together, as far as they are known. */
static double
items_of_range(const GroupItems *items, int columns, uint32 range)
{
	double		sum = 0;

	for (int column = 0; column < columns; column++)
		sum += is_known(items->of[column][range]) ? items->of[column][range] : 0;
	return sum;
}

/*
 * Chooses at random one of the ranges `from` to from + count - 1 of a group, but none with less than half of the mean
 * number of items: few items tell nothing of a group whose other ranges have many. If all of these ranges have less,
 * the result is any of them.
 */
static uint32
choose_range(const GroupItems *items, const BfGroup *group, uint32 from, uint32 count)
{
	const uint32 offset = (uint32) pg_prng_uint64_range(&pg_global_prng_state, 0, count - 1);
	double		mean = 0;

	for (uint32 range = 0; range < group->ranges; range++)
		mean += items_of_range(items, group->columns, range) / group->ranges;
	for (uint32 i = 0; i < count; i++)
	{
		const uint32 range = from + (offset + i) % count;

		if (items_of_range(items, group->columns, range) >= mean / 2)
			return range;
	}
	return from + offset;
}

/*
 * Does a sample of a group's ranges say that the group is many times too large? Some ranges are read. In each column
 * the items that are found there are compared with those that the bits of the same ranges tell. All ranges of the
 * group are taken to have lost the same share. If the group is too large, *saved is the number of pages that a
 * smaller one saves. Adds the pages of the heap that are read to *read.
 */
static bool
is_large_by_sample(const BfSummarizer *work, const BfGeometry *geometry, const BfGroup *group, BlockNumber heap_blocks,
				   uint64 *saved, double *read)
{
	const BlockNumber pages_per_range = geometry->level[0].pages_per_range;
	/*
	 * The group is cut into as many equal parts as ranges are read, and one range of each part is read. The ranges
	 * are chosen at random each time, since rows may be gone from some ranges only.
	 */
	const uint32 samples = Max(1, Min(group->ranges / SAMPLED_OF, SAMPLED_RANGES));
	double		there[INDEX_MAX_KEYS] = {0};
	double		told[INDEX_MAX_KEYS] = {0};
	GroupItems *by_bits = palloc(sizeof(GroupItems));
	GroupItems *items = palloc(sizeof(GroupItems));
	bool		is_large = true;

	items_by_bits(work, geometry, group, BF_PAGES_THAT_TELL, by_bits);
	for (uint32 i = 0; i < samples && is_large; i++)
	{
		const uint32 from = i * group->ranges / samples;
		const uint32 range = choose_range(by_bits, group, from, (i + 1) * group->ranges / samples - from);
		BfRangeItems found;

		bf_index_read_range(work->reader, group->first_range + range, pages_per_range, heap_blocks, &found);
		*read += pages_per_range;
		for (int column = 0; column < group->columns; column++)
			if (is_known(by_bits->of[column][range]))
			{
				there[column] += found.counts[column];
				told[column] += by_bits->of[column][range];
			}
		bf_index_free_items(&found);
		*items = *by_bits;
		for (int column = 0; column < group->columns; column++)
			for (uint32 j = 0; j < group->ranges; j++)
				if (is_known(items->of[column][j]) && told[column] > 0)
					items->of[column][j] *= Min(1, there[column] / told[column]);
		is_large = is_many_times_too_large(geometry, group, items, saved);
	}
	pfree(items);
	pfree(by_bits);
	return is_large;
}

/* ---------------------------------------------------------------- replacing one */

/* Sets ranges[i] to whether range i of a group is summarized, full or a placeholder. */
static void
find_summarized(Relation index, const BfGroup *group, bool *ranges)
{
	uint8		states[BF_INDEX_MAX_RANGES];

	bf_index_read_states(index, group, 0, states);
	for (uint32 i = 0; i < group->ranges; i++)
		ranges[i] = states[i] != BF_UNSUMMARIZED;
}

/* Summarizes these ranges of a group, some at a time. */
static void
summarize_ranges(const BfSummarizer *work, const BfGeometry *geometry, const BfGroup *group, const bool *ranges)
{
	const uint32 at_once = bf_index_ranges_at_once(work, group, geometry->level[group->level].pages_per_range);

	for (uint32 next = 0; next < group->ranges;)
	{
		BfGroupLines lines;

		bf_index_make_lines(&lines, geometry, group);
		for (; next < group->ranges && lines.selected < at_once; next++)
			if (ranges[next])
				bf_index_select_range(&lines, next);
		if (lines.selected > 0)
			bf_index_summarize_selected(work, geometry, &lines);
		bf_index_free_lines(&lines);
	}
}

/* Counts the items of these ranges of a group of level 0 in the heap. */
static void
count_items(const BfSummarizer *work, const BfGeometry *geometry, const BfGroup *group, const bool *ranges,
			BlockNumber heap_blocks, GroupItems *items)
{
	const BlockNumber pages_per_range = geometry->level[0].pages_per_range;

	for (uint32 i = 0; i < group->ranges; i++)
	{
		BfRangeItems found;

		for (int column = 0; column < group->columns; column++)
			items->of[column][i] = -1;
		if (!ranges[i])
			continue;
		bf_index_read_range(work->reader, group->first_range + i, pages_per_range, heap_blocks, &found);
		for (int column = 0; column < group->columns; column++)
			items->of[column][i] = found.counts[column];
		bf_index_free_items(&found);
	}
}

/*
 * Makes another group for the ranges of this one, and summarizes those that are marked in ranges[]. REQUIRES: entries
 * of the directory are reserved for it.
 */
static void
replace_group(const BfSummarizer *work, const BfGeometry *geometry, const BfGroup *group, const bool *ranges,
			  const uint32 *lines)
{
	BfGeometry *now;
	BfGroup		replacement = *group;

	replacement.lines = lines;
	bf_index_replace_groups(work->index, geometry, &replacement);
	/* Other sessions read all ranges of the group as long as they have the old geometry. */
	bf_index_outdate_geometries(work->index);
	now = bf_index_copy_geometry(bf_index_current_geometry(work->index));
	bf_index_find_group(now, group->level, group->first_range, &replacement);
	summarize_ranges(work, now, &replacement, ranges);
	pfree(now);
}

/*
 * Replaces a group if a closer look confirms that it is many times too large. Returns an upper bound of the pages of
 * the heap that were read: it counts pages of ranges that are not summarized, which are not read.
 */
static double
replace_large_group(const BfSummarizer *work, const LargeGroup *large, BlockNumber heap_blocks)
{
	BfGeometry *geometry;
	GroupItems *items;
	BfGroup		group;
	bool		ranges[BF_INDEX_MAX_RANGES];
	uint32		lines[INDEX_MAX_KEYS];
	double		read = 0;
	double		all;

	/* If the directory is full, nothing can be replaced, so nothing is read for it. */
	if (!bf_index_reserve_entries(work->index, BF_MOST_ENTRIES_RESERVED))
		return 0;
	geometry = bf_index_copy_geometry(bf_index_current_geometry(work->index));
	items = palloc(sizeof(GroupItems));
	bf_index_find_group(geometry, large->level, large->first_range, &group);
	all = (double) group.ranges * geometry->level[group.level].pages_per_range;
	find_summarized(work->index, &group, ranges);
	if (large->by_bits)
		items_by_bits(work, geometry, &group, PAGES_THAT_PROVE, items);
	else
	{
		count_items(work, geometry, &group, ranges, heap_blocks, items);
		read += all;
	}
	if (bf_index_is_worth_replacing(group.level, group.ranges, bf_index_group_pages(&group),
									lines_needed(geometry, &group, items, lines)))
	{
		replace_group(work, geometry, &group, ranges, lines);
		read += all;
	}
	else if (!large->by_bits)
	{
		/*
		 * The sample was wrong. The ranges are summarized anew, so that their bits tell the same as their rows. So
		 * the next sample does not find the group too large.
		 */
		summarize_ranges(work, geometry, &group, ranges);
		read += all;
	}
	pfree(items);
	pfree(geometry);
	return read;
}

/* A list of groups, with room for all groups of an index. */
typedef struct GroupList
{
	LargeGroup *groups;
	uint32		count;
} GroupList;

static GroupList
new_group_list(const BfGeometry *geometry)
{
	uint32		groups = 0;

	for (int level = 0; level < geometry->levels; level++)
		groups += geometry->level[level].groups;
	return (GroupList) {.groups = palloc_extended(Max(groups, 1) * sizeof(LargeGroup), MCXT_ALLOC_HUGE)};
}

/*
 * Sets *large to the groups that are many times too large by their bits. Sets *others to the other groups that can be
 * sampled (can_be_sampled()); these are groups of level 0.
 */
static void
find_large_groups(const BfSummarizer *work, const BfGeometry *geometry, BlockNumber heap_blocks, GroupList *large,
				  GroupList *others)
{
	for (int level = 0; level < geometry->levels; level++)
	{
		BfGroup		group;

		for (uint32 range = 0; range < geometry->level[level].covered; range = group.first_range + group.ranges)
		{
			LargeGroup	candidate = {.level = level, .first_range = range};

			CHECK_FOR_INTERRUPTS();
			bf_index_find_group(geometry, level, range, &group);
			candidate.by_bits = is_large_by_bits(work, geometry, &group, BF_PAGES_THAT_TELL, &candidate.saved);
			if (candidate.by_bits)
				large->groups[large->count++] = candidate;
			else if (can_be_sampled(geometry, &group, heap_blocks))
				others->groups[others->count++] = candidate;
		}
	}
}

/*
 * Samples groups, and adds those that are many times too large to *large. It begins with a random group and goes on
 * from there, since one call may not get to all of them. Returns how many pages of the heap were read for that.
 */
static double
sample_groups(const BfSummarizer *work, const BfGeometry *geometry, BlockNumber heap_blocks, const GroupList *groups,
			  GroupList *large)
{
	const double most = heap_blocks * MOST_SAMPLED;
	double		read = 0;
	uint32		next;

	if (groups->count == 0)
		return 0;
	next = (uint32) pg_prng_uint64_range(&pg_global_prng_state, 0, groups->count - 1);
	for (uint32 i = 0; i < groups->count && (i == 0 || read < most); i++)
	{
		LargeGroup	candidate = groups->groups[next];
		BfGroup		group;

		CHECK_FOR_INTERRUPTS();
		bf_index_find_group(geometry, candidate.level, candidate.first_range, &group);
		if (is_large_by_sample(work, geometry, &group, heap_blocks, &candidate.saved, &read))
			large->groups[large->count++] = candidate;
		next = (next + 1) % groups->count;
	}
	return read;
}

/* Replaces the groups that are many times too large, as long as *left pages of the heap may be read for that. */
static void
replace_groups(const BfSummarizer *work, BlockNumber heap_blocks, bool deleted, double *left)
{
	BfGeometry *geometry = bf_index_copy_geometry(bf_index_current_geometry(work->index));
	GroupList	large = new_group_list(geometry);
	GroupList	others = new_group_list(geometry);

	find_large_groups(work, geometry, heap_blocks, &large, &others);
	if (deleted || geometry->sample_again)
	{
		const uint32 by_bits = large.count;

		*left -= sample_groups(work, geometry, heap_blocks, &others, &large);
		/*
		 * Where rows of one group were deleted, rows of others may be gone too, and this call may not get to all
		 * groups. So the next call samples again, until a call finds no such group.
		 */
		bf_index_note_sample_again(work->index, large.count > by_bits);
	}
	qsort(large.groups, large.count, sizeof(LargeGroup), compare_large_groups);
	for (uint32 i = 0; i < large.count && *left > 0; i++)
		*left -= replace_large_group(work, &large.groups[i], heap_blocks);
	pfree(others.groups);
	pfree(large.groups);
	pfree(geometry);
}

/* ------------------------------------------------------------------------ moving */

/*
 * Groups are moved to free pages only if at least LEAST_FREE_PAGES pages of the file are free, and at least the share
 * LEAST_FREE_SHARE of it.
 */
#define LEAST_FREE_PAGES 64
#define LEAST_FREE_SHARE 0.25

/* Finds the group that ends last in the file. Returns false if a directory page ends last. */
static bool
find_last_group(const BfGeometry *geometry, BfGroup *last)
{
	for (int level = 0; level < geometry->levels; level++)
		for (uint32 range = 0; range < geometry->level[level].covered; range = last->first_range + last->ranges)
		{
			bf_index_find_group(geometry, level, range, last);
			if (last->first_block + bf_index_group_pages(last) == geometry->end_block)
				return true;
		}
	return false;
}

/*
 * Moves the last group in the file to free pages before it, if many pages are free, the group fits there, and the
 * directory has room. Does nothing if a directory page lies behind that group. Returns 0 if nothing was moved; else the
 * number of pages in the group's ranges, which is an upper bound of the pages of the heap that were read.
 */
static double
move_last_group(const BfSummarizer *work)
{
	const BlockNumber free = bf_index_free_pages(work->index);
	BfGeometry *geometry;
	BfGroup		group;
	double		read = 0;

	if (free < Max(LEAST_FREE_PAGES, LEAST_FREE_SHARE * RelationGetNumberOfBlocks(work->index)))
		return 0;
	geometry = bf_index_copy_geometry(bf_index_current_geometry(work->index));
	if (find_last_group(geometry, &group) &&
		bf_index_find_space(work->index, bf_index_group_pages(&group)) < group.first_block &&
		bf_index_reserve_entries(work->index, BF_MOST_ENTRIES_RESERVED))
	{
		bool		ranges[BF_INDEX_MAX_RANGES];

		find_summarized(work->index, &group, ranges);
		replace_group(work, geometry, &group, ranges, group.lines);
		read = (double) group.ranges * geometry->level[group.level].pages_per_range;
	}
	pfree(geometry);
	return read;
}

void
bf_index_replace_large_groups(const BfSummarizer *work, BlockNumber heap_blocks, bool deleted)
{
	double		left = Max(1, heap_blocks * MOST_REPLACED);
	double		read;

	replace_groups(work, heap_blocks, deleted, &left);
	do
	{
		CHECK_FOR_INTERRUPTS();
		read = left > 0 ? move_last_group(work) : 0;
		left -= read;
	} while (read > 0);
}
