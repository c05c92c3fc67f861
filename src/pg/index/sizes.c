/*
 * sizes.c: how long ranges are, how many of them make a group, how large their filters are, and which levels there
 * are: as functions of counts of items. summarize.c and build.c count them in the table, sample.c in a part of it.
 */
#include "index/sizes.h"

#include <math.h>

#include "index/layout.h"

/* -------------------------------------------------------------------- ranges */

/*
 * A table of at most so many pages, which is 32 pages for each range of a whole group, gets one group. More than 62
 * ranges would become two (build.c), because they fill their pages badly.
 */
#define PAGES_OF_ONE_GROUP (BF_INDEX_MAX_RANGES * BF_INDEX_DEFAULT_PAGES_PER_RANGE)
#define RANGES_OF_ONE_GROUP 62

/*
 * A small partition gets this many ranges at most. Each range is a chance that the partition is opened in vain, and to
 * read more of it where the value is costs little.
 */
#define PAGES_OF_A_SMALL_PARTITION 512
#define RANGES_OF_A_SMALL_PARTITION 16

/* Are ranges of so many pages too short for a table of this size? */
static bool
has_too_many_ranges(bool is_partition, BlockNumber heap_blocks, BlockNumber pages)
{
	uint32		ranges = (heap_blocks + pages - 1) / pages;

	if (heap_blocks <= PAGES_OF_A_SMALL_PARTITION && is_partition)
		return ranges > RANGES_OF_A_SMALL_PARTITION;
	return heap_blocks <= PAGES_OF_ONE_GROUP && ranges > RANGES_OF_ONE_GROUP;
}

double
bf_index_size_that_tells(const double *sizes, uint32 count)
{
	double		sum = 0;
	double		largest = 0;

	for (uint32 i = 0; i < count; i++)
	{
		sum += sizes[i];
		largest = Max(largest, sizes[i]);
	}
	return count > 2 ? (sum - largest) / (count - 1) : sum / count;
}

BlockNumber
bf_index_range_length_for(double lines, BlockNumber heap_blocks, bool is_partition)
{
	BlockNumber pages = 1;

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

/* A level gets one above it when it has more groups than this. */
#define FEW_GROUPS 8

/* Where there are few pages to be read on the level below, a level would save nothing. */
bool
bf_index_level_pays(int level, BlockNumber pages_per_range, uint32 groups_below, BlockNumber heap_blocks)
{
	return pages_per_range != 0 && (level == 1 ? heap_blocks / pages_per_range >= 2 : groups_below > FEW_GROUPS);
}

/* ------------------------------------------------------------ groups and filters */

double
bf_index_with_margin(double items)
{
	return items * 1.1;
}

/*
 * Numbers of ranges of which some positions nearly fill a page of 8 kB: with 8 and 15 ranges 94 % of it, with the
 * others at least 95 %. The groups of a table that grows from nothing have 8, 15, 40, 62 and then 125 ranges. So those
 * with 125 ranges begin at multiples of 125, which is where the ranges of the level above begin.
 */
static const uint32 good_sizes[] = {125, 62, 40, 31, 25, 18, 15, 8};

StaticAssertDecl(BLCKSZ != 8192 || BF_INDEX_MAX_RANGES == 125, "groups are as large as a page allows");

uint32
bf_index_good_group_size(uint32 most)
{
	for (int i = 0; i < lengthof(good_sizes); i++)
		if (good_sizes[i] <= most && good_sizes[i] <= BF_INDEX_MAX_RANGES)
			return good_sizes[i];
	return Max(most, 1);
}

uint32
bf_index_widest_group(uint32 ranges)
{
	uint32		widest = ranges;

	while (widest < BF_INDEX_MAX_RANGES && BF_POSITIONS(widest + 1) == BF_POSITIONS(ranges))
		widest++;
	return widest;
}

/* A range is far above the others if it has this many times the items of the next one. */
#define FAR_ABOVE 4

static int
compare_descending(const void *a, const void *b)
{
	double		x = *(const double *) a,
				y = *(const double *) b;

	return x > y ? -1 : x < y;
}

double
bf_index_most_items(double *counts, uint32 count)
{
	qsort(counts, count, sizeof(double), compare_descending);
	/* Of two ranges neither is an exception. */
	for (int i = (int) Max(count / 50, 1) - 1; i >= 0 && count > 2; i--)
		if (counts[i] > FAR_ABOVE * Max(counts[i + 1], 1))
			return counts[i + 1];
	return counts[0];
}

/* A number of lines that no range needs: a range has at most a gigabyte of the table. */
#define MOST_LINES (100 * 1000 * 1000)

/*
 * Rounds a number of pages up to one of eight steps between a power of two and the next one. So groups whose ranges
 * have about the same numbers of items have filters of the same size.
 */
static uint32
round_up_to_step(uint32 pages)
{
	uint32		step = 1;

	while (pages > 16 * step)
		step *= 2;
	return (pages + step - 1) / step * step;
}

uint32
bf_index_lines_for(uint64 items, double load, uint32 ranges)
{
	double		lines = ceil(items / load);
	uint32		positions = BF_POSITIONS(ranges);

	lines = Min(Max(lines, 1), MOST_LINES);
	return round_up_to_step(((uint32) lines + positions - 1) / positions) * positions;
}
