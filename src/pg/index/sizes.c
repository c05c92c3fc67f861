/*
 * sizes.c: computes how long ranges are, how many of them make a group, how large their filters are, which levels
 * there are, and how many pages a look-up reads. The arguments are counts of items, pages and lines. Items were
 * counted in ranges that were read, or estimated from the bits of filters; or ../advisor has counted them in a sample
 * of a table. Nothing of PostgreSQL is needed here.
 */
#include "index/sizes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LESSER(x, y) ((x) < (y) ? (x) : (y))
#define GREATER(x, y) ((x) > (y) ? (x) : (y))

/* -------------------------------------------------------------------- ranges */

/*
 * In a table of at most PAGES_OF_ONE_GROUP pages (125 ranges of 32 pages) ranges are made longer, up to 32 pages, until
 * there are at most 62 of them, which make one group. With a few ranges more, one group would leave up to half of
 * each page empty, so the ranges would become two groups (bf_index_group_to_build()).
 */
#define PAGES_OF_ONE_GROUP (BF_INDEX_MAX_RANGES * BF_INDEX_DEFAULT_PAGES_PER_RANGE)
#define RANGES_OF_ONE_GROUP 62

/*
 * A partition of up to PAGES_OF_A_SMALL_PARTITION pages gets at most RANGES_OF_A_SMALL_PARTITION ranges. Each range
 * may say "maybe" in vain, and then the partition is opened. Longer ranges cost little: where the value is, a few
 * pages more are read.
 */
#define PAGES_OF_A_SMALL_PARTITION 512
#define RANGES_OF_A_SMALL_PARTITION 16

/* Are ranges of `pages` pages too short for a table of this size? */
static bool
has_too_many_ranges(bool is_partition, uint32_t heap_blocks, uint32_t pages)
{
	uint32_t	ranges = (heap_blocks + pages - 1) / pages;

	if (heap_blocks <= PAGES_OF_A_SMALL_PARTITION && is_partition)
		return ranges > RANGES_OF_A_SMALL_PARTITION;
	return heap_blocks <= PAGES_OF_ONE_GROUP && ranges > RANGES_OF_ONE_GROUP;
}

double
bf_index_size_that_tells(const double *sizes, uint32_t count)
{
	double		sum = 0;
	double		largest = 0;

	for (uint32_t i = 0; i < count; i++)
	{
		sum += sizes[i];
		largest = GREATER(largest, sizes[i]);
	}
	return count > 2 ? (sum - largest) / (count - 1) : sum / count;
}

uint32_t
bf_index_range_length_for(double lines, uint32_t heap_blocks, bool is_partition)
{
	uint32_t	pages = 1;

	while (pages < BF_INDEX_DEFAULT_PAGES_PER_RANGE &&
		   (lines * pages / BF_INDEX_DEFAULT_PAGES_PER_RANGE < BF_ENOUGH_OF_A_RANGE * BF_LINES_OF_A_RANGE ||
			has_too_many_ranges(is_partition, heap_blocks, pages)))
		pages *= 2;
	return pages;
}

bool
bf_index_is_short_for_keys(double lines)
{
	return lines < BF_ENOUGH_OF_A_RANGE * BF_LINES_OF_A_RANGE_WITH_KEYS;
}

/* -------------------------------------------------------------------- levels */

double
bf_index_upper_rate(bool all_are_keys, double least)
{
	return all_are_keys && least >= BF_INDEX_MANY_KEY_FPR ? 0.1 : 0.01;
}

/*
 * A range has at most a gigabyte. So on a high level ranges may be only a few times as long as those of the level
 * below. If the factor is less than this, the index cannot have the level, which would have too many ranges.
 */
#define LEAST_FACTOR 8

void
bf_index_level_lengths(uint32_t pages_per_range, uint32_t lengths[BF_INDEX_MAX_LEVELS])
{
	lengths[0] = pages_per_range;
	for (int level = 1; level < BF_INDEX_MAX_LEVELS; level++)
	{
		uint32_t	below = lengths[level - 1];
		uint32_t	factor = below == 0 ? 0 : LESSER(BF_INDEX_MAX_RANGES, BF_INDEX_MAX_PAGES_PER_RANGE / below);

		lengths[level] = factor < LEAST_FACTOR ? 0 : below * factor;
	}
}

/* When a level above 0 has more groups than this, it gets another level above it. */
#define FEW_GROUPS 8

/*
 * Level 1 pays if the heap has two ranges of it. A higher level lets a search read fewer groups of the level below
 * it, which pays if there are many of these.
 */
bool
bf_index_level_pays(int level, uint32_t pages_per_range, uint32_t groups_below, uint32_t heap_blocks)
{
	return pages_per_range != 0 && (level == 1 ? heap_blocks / pages_per_range >= 2 : groups_below > FEW_GROUPS);
}

/* ------------------------------------------------------------------ a look-up */

/*
 * The search goes from the highest level down. On each level it visits the groups inside the ranges that the level
 * above has not ruled out, and the groups in the part of the heap that no range of the level above covers.
 */
BfPagesRead
bf_index_pages_of_look_up(const BfLevelToSearch *levels, int count, double heap_pages)
{
	BfPagesRead read = {0};
	double		left = 0;		/* ranges that the level above has not ruled out */
	double		uncovered = 1;	/* share of the heap that the level above does not cover */

	for (int i = count - 1; i >= 0; i--)
	{
		const BfLevelToSearch *level = &levels[i];
		const double ranges_of_group = level->groups > 0 ? GREATER(level->ranges / level->groups, 1) : 1;
		double		visited = level->ranges;
		double		groups = level->groups;
		double		holding;

		if (i < count - 1)
		{
			const double inside = levels[i + 1].length / level->length;

			visited = LESSER(level->ranges, left * inside + uncovered * level->ranges);
			groups = left * GREATER(inside / ranges_of_group, 1);
			if (uncovered > 0)
				groups += GREATER(uncovered * level->groups, 1);
			groups = LESSER(groups, level->groups);
		}
		read.index += groups;
		holding = LESSER(level->holding, visited);
		left = holding + (visited - holding) * LESSER(level->rate, 1);
		uncovered = GREATER(0, 1 - level->ranges * level->length / GREATER(heap_pages, 1));
	}
	read.heap = count == 0 ? heap_pages : LESSER(left * levels[0].length + uncovered * heap_pages, heap_pages);
	return read;
}

/* ------------------------------------------------------------------- filters */

/*
 * Some ranges of a group are far above the others if each of them has more than this many times as many items as each
 * of the others. At most bf_index_most_full() ranges of a group can be far above the others.
 */
#define FAR_ABOVE 4

/*
 * If the items of a range were not counted, the range is marked as full if its bits tell of at least this many times
 * the items that its filter was made for. (A filter is made for about as many items as most ranges have. A range that
 * is far above the others has more than FAR_ABOVE times as many.)
 */
#define FULL_LOAD 3

uint32_t
bf_index_most_full(uint32_t ranges)
{
	return GREATER(ranges / 50, 1);
}

double
bf_index_rate_of_full(double load, int hashes)
{
	return sb_blocked_fpr(SB_BF_LINE * 8, hashes, FULL_LOAD * load);
}

static int
compare_descending(const void *a, const void *b)
{
	double		x = *(const double *) a,
				y = *(const double *) b;

	return x > y ? -1 : x < y;
}

/*
 * How many of these counts (in descending order) are far above the others? Of one or two counts none is, unless it is
 * infinite: the range is full.
 */
static uint32_t
count_exceptions(const double *items, uint32_t count)
{
	uint32_t	full = 0;

	while (full < count && isinf(items[full]))
		full++;
	for (uint32_t i = bf_index_most_full(count); i > full && count > 2; i--)
		if (items[i - 1] > FAR_ABOVE * GREATER(items[i], 1))
			return i;
	return full;
}

double
bf_index_most_items(double *items, uint32_t count)
{
	qsort(items, count, sizeof(double), compare_descending);
	return items[count_exceptions(items, count)];
}

/* More lines than any range needs: a range has at most a gigabyte of the table. */
#define MOST_LINES (100 * 1000 * 1000)

/*
 * Rounds a number of pages up to the next of sixteen steps between a power of two and the next one. Up to 32 each
 * number is a step, up to 64 each second one, and so on.
 */
static uint32_t
step_from(uint32_t pages)
{
	uint32_t	step = 1;

	while (pages > 32 * step)
		step *= 2;
	return (pages + step - 1) / step * step;
}

static uint32_t
pages_for_lines(double lines, uint32_t positions)
{
	uint32_t	whole = (uint32_t) LESSER(GREATER(ceil(lines), 1), MOST_LINES);

	return step_from((whole + positions - 1) / positions);
}

/*
 * Ranges with about the same number of items form a class, which is treated as if all had the mean. There are at most
 * MOST_CLASSES: the last class has all ranges that are left. They have far fewer items than those of the first class,
 * so they hardly matter.
 */
#define ABOUT_THE_SAME 0.9
#define MOST_CLASSES 16

typedef struct CountClass
{
	double		items;			/* mean number of items of a range */
	double		share;			/* share of all ranges that are in the class */
} CountClass;

/* Puts numbers of items, in descending order, into classes. Returns the number of classes. */
static int
make_classes(const double *items, uint32_t count, CountClass *classes)
{
	int			used = 0;

	for (uint32_t first = 0, end; first < count; first = end)
	{
		double		sum = items[first];

		for (end = first + 1;
			 end < count && (items[end] >= ABOUT_THE_SAME * items[first] || used == MOST_CLASSES - 1);
			 end++)
			sum += items[end];
		classes[used++] = (CountClass) {.items = sum / (end - first), .share = (end - first) / (double) count};
	}
	return used;
}

static double
mean_rate(const BfCounts *counts, const CountClass *classes, int count, double lines)
{
	double		rate = 0;

	for (int i = 0; i < count; i++)
		rate += classes[i].share * sb_blocked_fpr(SB_BF_LINE * 8, counts->hashes, classes[i].items / lines);
	return rate;
}

/* Copies those of `count` numbers of items that are known, and sorts them. Returns how many are known. */
static uint32_t
known_items(const BfCounts *counts, uint32_t count, double *items)
{
	uint32_t	known = 0;

	for (uint32_t i = 0; i < count; i++)
		if (counts->items[i] >= 0)
			items[known++] = counts->items[i];
	qsort(items, known, sizeof(double), compare_descending);
	return known;
}

double
bf_index_far_above(const BfCounts *counts, uint32_t count)
{
	double		items[BF_INDEX_MAX_RANGES];
	const uint32_t known = known_items(counts, count, items);
	uint32_t	exceptions = known == 0 ? 0 : count_exceptions(items, known);
	const double fits = exceptions == 0 ? 0 : FULL_LOAD * counts->load * bf_index_lines_for(counts, count, count);

	/* Filters fill whole pages. So if the other ranges have few items, the filters may hold such a range as well. */
	while (exceptions > 0 && items[exceptions - 1] < fits)
		exceptions--;
	return exceptions == 0 ? INFINITY : items[exceptions - 1];
}

uint32_t
bf_index_lines_for(const BfCounts *counts, uint32_t count, uint32_t ranges)
{
	const uint32_t positions = BF_POSITIONS(ranges);
	double		items[BF_INDEX_MAX_RANGES];
	CountClass	classes[MOST_CLASSES];
	uint32_t	known = known_items(counts, count, items);
	uint32_t	first;
	uint32_t	low,
				high;
	double		sum = 0;
	int			used;

	first = count_exceptions(items, known);
	known -= first;
	if (known == 0)
		return positions;
	for (uint32_t i = 0; i < known; i++)
		sum += items[first + i];

	used = make_classes(items + first, known, classes);

	/*
	 * The filters need at least `low` pages, which the mean number of items needs, because the rate grows faster than
	 * the items. They need at most `high` pages, which the largest number of items needs.
	 */
	low = pages_for_lines(sum / known / counts->load, positions);
	high = pages_for_lines(items[first] / counts->load, positions);
	while (low < high)
	{
		const uint32_t middle = step_from(low + (high - low) / 2);
		const uint32_t pages = middle < high ? middle : low;

		if (mean_rate(counts, classes, used, (double) pages * positions) <= counts->rate)
			high = pages;
		else
			low = step_from(pages + 1);
	}
	return low * positions;
}

/* A new group gets the sizes of the group before if they are at most this many times as large as necessary. */
#define MOST_ROOM 1.1

void
bf_index_settle_lines(uint32_t *lines, const uint32_t *before, int columns)
{
	for (int column = 0; column < columns; column++)
		if (lines[column] > before[column] || before[column] > lines[column] * MOST_ROOM)
			return;
	memcpy(lines, before, (size_t) columns * sizeof(uint32_t));
}

/*
 * A group is replaced if it is at least this many times as large as necessary, and if that saves at least
 * PAGES_WORTH_SAVING pages. A group of level 0 with fewer ranges than BF_INDEX_MAX_RANGES has to save so many pages in
 * proportion, but at least FEWEST_PAGES_WORTH_SAVING.
 */
#define MANY_TIMES_TOO_LARGE 4
#define PAGES_WORTH_SAVING 32
#define FEWEST_PAGES_WORTH_SAVING 4

bool
bf_index_is_worth_replacing(int level, uint32_t ranges, uint64_t pages, uint64_t needed)
{
	const uint32_t in_proportion = PAGES_WORTH_SAVING * LESSER(ranges, BF_INDEX_MAX_RANGES) / BF_INDEX_MAX_RANGES;
	const uint32_t least = level > 0 ? PAGES_WORTH_SAVING : GREATER(in_proportion, FEWEST_PAGES_WORTH_SAVING);

	return pages >= MANY_TIMES_TOO_LARGE * needed && pages >= needed + least;
}

/* The most pages of the heap that are read before their ranges are written to the index: 256 MB. */
#define MOST_PAGES_TO_READ ((uint32_t) (256 * 1024 * 1024 / BLCKSZ))

uint32_t
bf_index_ranges_to_read(uint32_t pages_per_range, uint64_t group_pages)
{
	const uint64_t for_writes = (2 * group_pages + pages_per_range - 1) / pages_per_range;
	const uint64_t ranges = GREATER(for_writes, MOST_PAGES_TO_READ / pages_per_range);

	return (uint32_t) LESSER(GREATER(ranges, 1), UINT32_MAX);
}

/* -------------------------------------------------------------------- groups */

/*
 * Numbers of ranges with which whole positions nearly fill a page of 8 kB: with 8, 15 and 40 ranges 94 % of it, with
 * the others at least 96 %.
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
 * Returns the pages that some of these ranges would take at least: each filter as small as its items allow, but not
 * larger than in one group of all ranges (where a range far above the others is full), and no space lost.
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

/* Would ranges of a group of these be full that are not full in one group of all ranges? */
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
 * `most` pages. If there is one, sets sizes[] to the numbers of ranges of these groups (0: no further group), and
 * returns its pages. Otherwise returns `most`.
 */
static double
divide(const Division *of, uint32_t from, uint32_t count, uint32_t groups, double most, uint32_t *sizes)
{
	const double one = (double) find_lines(of->columns, of->column_count, from, count, NULL);

	if (one < most && !has_more_full(of, from, count))
	{
		most = one;
		sizes[0] = count;
		if (groups > 1)
			memset(sizes + 1, 0, (groups - 1) * sizeof(uint32_t));
	}
	for (size_t i = 0; i < sizeof good_sizes / sizeof good_sizes[0] && groups > 1; i++)
	{
		const uint32_t size = good_sizes[i];
		double		pages;
		uint32_t	next[BF_MOST_GROUPS];

		if (size >= count)
			continue;
		pages = (double) find_lines(of->columns, of->column_count, from, size, NULL);
		if (pages + pages_for_items(of, from + size, count - size) >= most || has_more_full(of, from, size))
			continue;
		pages += divide(of, from + size, count - size, groups - 1, most - pages, next);
		if (pages < most)
		{
			most = pages;
			sizes[0] = size;
			memcpy(sizes + 1, next, (groups - 1) * sizeof(uint32_t));
		}
	}
	return most;
}

/*
 * How many groups a division may have. A search reads a page of each group of the highest level, and of each group that
 * no level above covers; mostly fewer than 125 ranges are the last ones of their level, and not covered. But a level
 * above may rule out most groups of 125 ranges of level 0.
 */
static uint32_t
most_groups(const BfGroupsToBuild *groups, uint32_t ranges)
{
	if (ranges < BF_INDEX_MAX_RANGES || (groups->level == 0 && !groups->covered))
		return 2;
	return groups->level == 0 ? BF_MOST_GROUPS : 1;
}

/*
 * How many of the next `count` ranges, beginning with range number `begin` of the level, are divided into groups
 * together: on level 0 those before the next multiple of BF_INDEX_MAX_RANGES.
 */
static uint32_t
ranges_to_decide(const BfGroupsToBuild *groups, uint32_t begin, uint32_t count)
{
	return LESSER(count, BF_INDEX_MAX_RANGES - (groups->level == 0 ? begin % BF_INDEX_MAX_RANGES : 0));
}

/*
 * Decides into which groups these ranges are divided, and notes that in groups->sizes. lines[] has room for an element
 * for each column.
 */
static void
decide_groups(BfGroupsToBuild *groups, const BfCounts *columns, int column_count, uint32_t begin, uint32_t count,
			  uint32_t *lines)
{
	const uint32_t ranges = ranges_to_decide(groups, begin, count);
	const Division all = {columns, column_count, ranges, lines};
	const double worth_it = (double) find_lines(columns, column_count, 0, ranges, lines) * WORTH_SEVERAL_GROUPS;
	const uint32_t divided = most_groups(groups, ranges);

	memset(groups->sizes, 0, sizeof groups->sizes);
	groups->sizes[0] = ranges;
	if (divided > 1 && pages_for_items(&all, 0, ranges) < worth_it)
		(void) divide(&all, 0, ranges, divided, worth_it, groups->sizes);
}

/* Returns the pages of groups of these sizes. Adds the numbers of their full ranges in all columns to *full. */
static uint64_t
pages_of_groups(const uint32_t *sizes, const BfCounts *columns, int column_count, uint32_t *full)
{
	uint64_t	pages = 0;
	uint32_t	from = 0;

	for (int i = 0; i < BF_MOST_GROUPS && sizes[i] > 0; from += sizes[i++])
	{
		pages += find_lines(columns, column_count, from, sizes[i], NULL);
		for (int column = 0; column < column_count; column++)
		{
			BfCounts	part = columns[column];
			double		far_above;

			part.items += from;
			far_above = bf_index_far_above(&part, sizes[i]);
			for (uint32_t j = 0; j < sizes[i]; j++)
				*full += part.items[j] >= far_above;
		}
	}
	return pages;
}

/*
 * One group of those that were decided is left, and more ranges have been read since then. Decides anew, together with
 * these, if that takes no more pages than the group and another one for the added ranges, and makes no more ranges
 * full. Without this, a build that has not enough memory for 125 ranges would make many small groups.
 */
static void
decide_with_added(BfGroupsToBuild *groups, const BfCounts *columns, int column_count, uint32_t begin, uint32_t count,
				  uint32_t *lines)
{
	BfGroupsToBuild anew = *groups;
	const uint32_t kept = groups->sizes[0];
	const uint32_t apart[BF_MOST_GROUPS] = {kept, ranges_to_decide(groups, begin, count) - kept};
	uint32_t	full = 0,
				full_apart = 0;

	decide_groups(&anew, columns, column_count, begin, count, lines);
	if (pages_of_groups(anew.sizes, columns, column_count, &full) <=
		pages_of_groups(apart, columns, column_count, &full_apart) && full <= full_apart)
		*groups = anew;
}

uint32_t
bf_index_group_to_build(BfGroupsToBuild *groups, const BfCounts *columns, int column_count, uint32_t begin,
						uint32_t count, uint32_t *lines)
{
	uint32_t	ranges;

	if (groups->sizes[0] == 0)
		decide_groups(groups, columns, column_count, begin, count, lines);
	else if (groups->sizes[1] == 0 && groups->sizes[0] < ranges_to_decide(groups, begin, count))
		decide_with_added(groups, columns, column_count, begin, count, lines);
	ranges = groups->sizes[0];
	find_lines(columns, column_count, 0, ranges, lines);
	memmove(groups->sizes, groups->sizes + 1, (BF_MOST_GROUPS - 1) * sizeof(uint32_t));
	groups->sizes[BF_MOST_GROUPS - 1] = 0;
	return ranges;
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

/* Does a group of `ranges` ranges fill at least five sixths of its pages? */
static bool
fills_pages(uint32_t ranges)
{
	return 6 * BF_POSITIONS(ranges) * ranges * SB_BF_LINE >= 5 * BF_PAGE_SPACE;
}

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
	 * The group ends at the next one of ends[]. If more ranges are available than such a group has, the end after
	 * that is tried, and so on. An end at which the group would not fill its pages well is passed over.
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
