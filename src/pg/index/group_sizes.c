/*
 * group_sizes.c: decides how many ranges make a group: in a build, where the items of the ranges are known, in an index
 * that grows, and where one group takes the place of several.
 *
 * A range is some pages of the table, and has a filter for each column of the index. A group is consecutive ranges
 * whose filters are stored together, on whole pages. In a column all filters of a group have the same size. So space is
 * lost if the ranges do not fill the pages, or if some ranges have far more items than others. A range that has too
 * many items for this size is *full*: it is always read. Nothing of PostgreSQL is needed here.
 */
#include "index/sizes.h"

#include <math.h>
#include <string.h>

#define LESSER(x, y) ((x) < (y) ? (x) : (y))
#define GREATER(x, y) ((x) > (y) ? (x) : (y))

/*
 * A filter page has one or more whole positions; a position has one line of each range of the group. With these numbers
 * of ranges the positions nearly fill a page of 8 kB: 8, 15 and 40 ranges fill 94 %, the others at least 96 % of it.
 */
static const uint32_t good_sizes[] = {125, 62, 40, 31, 25, 18, 15, 8};

_Static_assert(BLCKSZ != 8192 || BF_INDEX_MAX_RANGES == 125, "groups are as large as a page allows");
_Static_assert(BF_POSITIONS(BF_INDEX_MAX_RANGES) >= 1, "a page has a position of the largest group");

/* Several groups are made of some ranges if they take less than this share of the pages that one group would take. */
#define WORTH_SEVERAL_GROUPS (7.0 / 8)

/*
 * Takes the `ranges` ranges from number `from` on as one group. Sets lines[i] (if lines is not NULL) to the number of
 * lines, of 64 bytes (layout.h), that each filter of column i has in this group. Returns the number of the group's
 * pages, for all columns together.
 */
static uint64_t
find_lines(const BfCounts *columns, int column_count, uint32_t from, uint32_t ranges, uint32_t *lines)
{
	uint64_t	pages = 0;

	for (int column = 0; column < column_count; column++)
	{
		BfCounts	part = columns[column];
		uint32_t	needed;

		part.items += from;
		needed = bf_index_lines_for(&part, ranges, ranges);
		pages += needed / BF_POSITIONS(ranges);
		if (lines != NULL)
			lines[column] = needed;
	}
	return pages;
}

/* The ranges that are to be divided into groups. */
typedef struct Division
{
	const BfCounts *columns;
	int			column_count;
	uint32_t	count;
	const uint32_t *lines;		/* the lines of one group of all these ranges, in each column */
} Division;

/*
 * Returns a lower bound of the pages that `count` ranges, from number `from` on, would take in any division. It is the
 * number of pages if no space is lost, and if each filter is as small as its items allow, but no larger than in one
 * group of all ranges, where a range far above the others is full.
 */
static double
pages_for_items(const Division *of, uint32_t from, uint32_t count)
{
	double		lines = 0;

	for (int column = 0; column < of->column_count; column++)
		for (uint32_t i = from; i < from + count; i++)
			lines += LESSER(GREATER(of->columns[column].items[i], 0) / of->columns[column].load, of->lines[column]);
	return lines / BF_POSITIONS(1);
}

/*
 * In a group of `count` ranges, from number `from` on: is a range full from fewer items on than in one group of all
 * ranges? Then a range could be full in this group that is not full in one group of all.
 */
static bool
has_more_full(const Division *of, uint32_t from, uint32_t count)
{
	for (int column = 0; column < of->column_count; column++)
	{
		BfCounts	part = of->columns[column];
		double		far_above;

		part.items += from;
		far_above = bf_index_far_above(&part, count);
		/* mostly none is full, and then the whole need not be looked at */
		if (far_above < INFINITY && far_above < bf_index_far_above(&of->columns[column], of->count))
			return true;
	}
	return false;
}

/*
 * Looks for a division of `count` ranges, beginning with range `from`, into up to `groups` groups that take less than
 * `most` pages and for which has_more_full() is false. All groups but the last one have one of good_sizes[]. Returns
 * the pages of the best division, and sets *first to the number of ranges of its first group; or returns `most`.
 */
static double
divide(const Division *of, uint32_t from, uint32_t count, uint32_t groups, double most, uint32_t *first)
{
	const double one = (double) find_lines(of->columns, of->column_count, from, count, NULL);

	if (one < most && !has_more_full(of, from, count))
	{
		most = one;
		*first = count;
	}
	for (size_t i = 0; i < sizeof good_sizes / sizeof good_sizes[0] && groups > 1; i++)
	{
		const uint32_t size = good_sizes[i];
		double		pages;
		uint32_t	next;

		if (size >= count)
			continue;
		pages = (double) find_lines(of->columns, of->column_count, from, size, NULL);
		if (pages + pages_for_items(of, from + size, count - size) >= most || has_more_full(of, from, size))
			continue;
		pages += divide(of, from + size, count - size, groups - 1, most - pages, &next);
		if (pages < most)
		{
			most = pages;
			*first = size;
		}
	}
	return most;
}

/*
 * A range is cut out of its group if it would have this many times the items per line that its filter is made for, or
 * this false-positive rate, and a rate this many times the one asked for; or if such ranges, as many as a group may
 * have, would make the group's mean rate this many times the one asked for. The limits are below those from which
 * VACUUM finds a range full or saturated, or a group too full (sizes.c, measure.c): what a build has made, it must not
 * make anew.
 */
#define CUT_LOAD 2.6
#define CUT_RATE 0.4
#define CUT_TIMES_THE_RATE 3

/*
 * Would look-ups read a range with these items too often, if its filter has `lines` lines and its group `ranges`
 * ranges?
 */
static bool
is_read_too_often(const BfCounts *counts, double items, uint32_t lines, uint32_t ranges)
{
	const double load = items / lines;
	double		rate;

	if (load <= counts->load)
		return false;
	rate = sb_blocked_fpr(SB_BF_LINE * 8, counts->hashes, load);
	return load >= CUT_LOAD * counts->load || (rate >= CUT_RATE && rate >= CUT_TIMES_THE_RATE * counts->rate) ||
		rate * bf_index_most_full(ranges) >= CUT_TIMES_THE_RATE * counts->rate * ranges;
}

/*
 * The next group is to get `ranges` ranges. If look-ups would read one of them too often, returns how many lie before
 * that one, else `ranges`. lines[] is room for an element for each column.
 */
static uint32_t
ranges_before_full(const BfCounts *columns, int column_count, uint32_t ranges, uint32_t *lines)
{
	uint32_t	before = ranges;

	find_lines(columns, column_count, 0, ranges, lines);
	for (int column = 0; column < column_count; column++)
		for (uint32_t i = 0; i < before; i++)
			if (is_read_too_often(&columns[column], columns[column].items[i], lines[column], ranges))
				before = i;
	return before;
}

uint32_t
bf_index_group_to_build(BfGroupsToBuild *groups, const BfCounts *columns, int column_count, uint32_t begin,
						uint32_t count, uint32_t *lines)
{
	const uint32_t inside = begin % BF_INDEX_MAX_RANGES;
	const uint32_t together = LESSER(count, BF_INDEX_MAX_RANGES - inside);
	uint32_t	size = together;
	uint32_t	ranges;
	uint32_t	before;

	if (inside == 0 || groups->left == 0)
		groups->left = groups->covered && together == BF_INDEX_MAX_RANGES ? BF_MOST_GROUPS : 2;
	if (groups->left > 1)
	{
		const Division all = {columns, column_count, together, lines};
		const double worth_it = (double) find_lines(columns, column_count, 0, together, lines) * WORTH_SEVERAL_GROUPS;

		if (pages_for_items(&all, 0, together) < worth_it)
			(void) divide(&all, 0, together, groups->left, worth_it, &size);
	}
	/* if a range far above the others is the first one, it gets a group of its own; else the group ends before it */
	for (ranges = size; !groups->keeps_full; ranges = GREATER(before, 1))
	{
		before = ranges_before_full(columns, column_count, ranges, lines);
		if (before == ranges)
			break;
	}
	if (ranges == size && size < together)
		groups->left--;
	find_lines(columns, column_count, 0, ranges, lines);
	return ranges;
}

/* Does a group of `ranges` ranges fill at least five sixths of its pages? */
static bool
fills_pages(uint32_t ranges)
{
	return 6 * BF_POSITIONS(ranges) * ranges * SB_BF_LINE >= 5 * BF_PAGE_SPACE;
}

uint32_t
bf_index_group_to_build_above(uint32_t count)
{
	for (size_t i = 0; i < sizeof good_sizes / sizeof good_sizes[0] && !fills_pages(count); i++)
		if (good_sizes[i] < count)
			return good_sizes[i];
	return LESSER(count, BF_INDEX_MAX_RANGES);
}

/*
 * The ranges before which the first groups of a growing level end. On level 0 these groups have 8, 8, 15, 31 and 63
 * ranges; with pages of 8 kB they fill at least 94 % of a page. On a level above 0 they have 2, 6, 17, 38 and 62
 * ranges, and fill at least 89 %. There the first ones are smaller, since one range has as many items as a whole group
 * of the level below, and takes as long to come. But mostly one group of 8, 25, 63 or 125 ranges, which begins with
 * range 0, takes the place of all groups before (bf_index_group_to_unite()). Such a group fills at least 94 %.
 */
static const uint32_t ends_on_level_0[] = {8, 16, 31, 62, 125};
static const uint32_t ends_above[] = {2, 8, 25, 63, 125};

#define ENDS 5

static uint32_t
size_of_group_to_grow(int level, uint32_t first, uint32_t available)
{
	const uint32_t *ends = level == 0 ? ends_on_level_0 : ends_above;
	const uint32_t inside = first % BF_INDEX_MAX_RANGES;
	uint32_t	size = 0;

	/* A group that begins at a multiple of 125, except at 0, has 125 ranges. */
	if (first >= BF_INDEX_MAX_RANGES && inside == 0)
		return BF_INDEX_MAX_RANGES;
	/*
	 * ends[] is for pages of 8 kB. With pages of another size a group has as many ranges as the level has so far, and
	 * at least ends[0]; but it ends at the next multiple of BF_INDEX_MAX_RANGES at the latest.
	 */
	if (BF_INDEX_MAX_RANGES != 125)
		return LESSER(GREATER(first, ends[0]), BF_INDEX_MAX_RANGES - inside);
	/*
	 * The group ends at the next one of ends[]. If more ranges are available than such a group has, the end after that
	 * is tried, and so on. A later end is passed over if the group would not fill its pages well.
	 */
	for (int i = 0; i < ENDS; i++)
		if (ends[i] > inside && (size == 0 || (size < available && fills_pages(ends[i] - inside))))
			size = ends[i] - inside;
	return size;
}

uint32_t
bf_index_group_to_grow(int level, uint32_t first, uint32_t available)
{
	const uint32_t size = size_of_group_to_grow(level, first, available);

	/* With one page for each range, the largest heap has UINT32_MAX ranges. Their number must not become greater. */
	return LESSER(size, UINT32_MAX - first);
}

/* No group takes the place of others if these have more than this many pages of the heap: 2 GB. */
#define MOST_PAGES_TO_UNITE ((uint64_t) 2 * 1024 * 1024 * 1024 / BLCKSZ)

uint32_t
bf_index_group_to_unite(uint32_t first, uint32_t available, uint32_t pages_per_range)
{
	uint32_t	united = 0;

	if (first == 0 || 3 * (uint64_t) first > 2 * BF_INDEX_MAX_RANGES ||
		(uint64_t) first * pages_per_range > MOST_PAGES_TO_UNITE)
		return 0;
	/* As in size_of_group_to_grow(), ends_above[] is for pages of 8 kB. */
	if (BF_INDEX_MAX_RANGES != 125)
		return LESSER(GREATER(2 * first, first + LESSER(available, BF_INDEX_MAX_RANGES)), BF_INDEX_MAX_RANGES);
	for (int i = 0; i < ENDS; i++)
		if (2 * ends_above[i] >= 3 * first && (united == 0 || united - first < available))
			united = ends_above[i];
	return united;
}

/* The pages of a group of `ranges` ranges, if its filters have at least these lines. */
static uint64_t
pages_of_group(uint32_t ranges, const uint32_t *lines, int columns)
{
	uint64_t	pages = 0;

	for (int column = 0; column < columns; column++)
		pages += (lines[column] + BF_POSITIONS(ranges) - 1) / BF_POSITIONS(ranges);
	return pages;
}

bool
bf_index_is_worth_uniting(int level, uint32_t first, uint64_t pages, uint32_t united, const uint32_t *lines,
						  int columns)
{
	uint32_t	ranges;

	for (uint32_t at = first; at < united; at += ranges)
	{
		ranges = LESSER(bf_index_group_to_grow(level, at, 1), united - at);
		pages += pages_of_group(ranges, lines, columns);
	}
	return (double) pages >= (double) pages_of_group(united, lines, columns) * WORTH_SEVERAL_GROUPS;
}
