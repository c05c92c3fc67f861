/*
 * sizes.c: computes how long ranges are, how large their filters are, which ranges are full, which levels there are,
 * when a group is worth replacing, and how many pages a look-up reads. A range is some neighboring pages of the table,
 * with one filter for each column. On a higher level ranges are longer. A group is up to 125 ranges whose filters share
 * pages of the index; group_sizes.c says how many. A range with far more items than the others of its group is *full*:
 * it is always read. The arguments are counts of items, pages and lines. Items were counted in ranges that were read,
 * or estimated from the bits of filters; or ../advisor has counted them in a sample of a table. Nothing of PostgreSQL
 * is needed here.
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
#define FEW_GROUPS 3

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
 * How many of these counts (in descending order) are far above the others? An infinite count always is: it is that of
 * a full range. A finite one is not if there are only one or two counts.
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

	/*
	 * Filters fill whole pages. So if the other ranges have few items, the filters may be large enough for a range that
	 * is far above them, too. Such a range is no exception.
	 */
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
 * PAGES_WORTH_SAVING pages. A group of level 0 with fewer than BF_INDEX_MAX_RANGES ranges has to save proportionally
 * fewer pages, but at least FEWEST_PAGES_WORTH_SAVING.
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

/*
 * So many pages of the heap are read before their ranges are written to the index: 256 MB. There are more if the group
 * is large, and if a single range is longer.
 */
#define MOST_PAGES_TO_READ ((uint32_t) (256 * 1024 * 1024 / BLCKSZ))

uint32_t
bf_index_ranges_to_read(uint32_t pages_per_range, uint64_t group_pages)
{
	const uint64_t for_writes = (2 * group_pages + pages_per_range - 1) / pages_per_range;
	const uint64_t ranges = GREATER(for_writes, MOST_PAGES_TO_READ / pages_per_range);

	return (uint32_t) LESSER(GREATER(ranges, 1), UINT32_MAX);
}
