/*
 * sizes.h: how long ranges are, how many of them make a group, how large their filters are, and which levels there are.
 * These are functions of counts of items alone; test/unit/sizes_test.cpp tests them without a server. Everybody who
 * decides a size, or foretells one, asks here: build.c, range_length.c, new_group.c, cost.c and ../advisor.
 */
#ifndef STREAMBLOOM_PG_INDEX_SIZES_H
#define STREAMBLOOM_PG_INDEX_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include "streambloom.h"

/* The size of a page is PostgreSQL's; without it, in the unit tests, the usual one. */
#ifndef BLCKSZ
#if __has_include("pg_config.h")
#include "pg_config.h"
#else
#define BLCKSZ 8192
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define BF_INDEX_MAX_LEVELS 4
#define BF_INDEX_DEFAULT_PAGES_PER_RANGE 32 /* also the largest number that is chosen for an index */
#define BF_INDEX_MAX_PAGES_PER_RANGE 131072	/* 1 GB */
#define BF_INDEX_DEFAULT_FPR 0.001
#define BF_INDEX_KEY_FPR 0.01	/* for keys inside values, if a query has few of them */
#define BF_INDEX_MANY_KEY_FPR 0.05	/* if most queries have many, all of which a value must have */
#define BF_INDEX_UPPER_FPR 0.01	/* on the levels above 0 */
#define BF_INDEX_UPPER_MANY_KEY_FPR 0.1	/* there, if every column has keys of which most queries have many */

/* ------------------------------------------------------------- what fits on a page */

/*
 * The bytes behind the page header, and those of BfFilterPage before the states of its ranges. layout.c sees to it that
 * they are right.
 */
#define BF_PAGE_SPACE (BLCKSZ - 24)
#define BF_FILTER_HEADER 40
#define BF_LINES_OFFSET(ranges) (BF_FILTER_HEADER + ((ranges) + 7) / 8 * 8)

/* The number of positions that fit on a page, in a group of so many ranges. */
#define BF_POSITIONS(ranges) ((uint32_t) (BF_PAGE_SPACE - BF_LINES_OFFSET(ranges)) / ((ranges) * SB_BF_LINE))

/* The largest number of ranges of which one position fits on a page: 125 with pages of 8 kB. */
#define BF_INDEX_MAX_RANGES ((BF_PAGE_SPACE - BF_FILTER_HEADER - 3) / (SB_BF_LINE + 1))

/* ------------------------------------------------------------------------ ranges */

/*
 * A range has about this many lines in the column with the most items, if the number of its pages is chosen here. It
 * has more for keys inside values, of which a row has many: neighboring rows share most of them, so longer ranges take
 * less space. But the more rows a range has, the more often it has all keys of a query in different rows. With trigrams
 * of a log's lines, 16 lines are 2 pages: a word and an address that are rare take 250 and 415 pages of 6,000; with 32
 * lines (8 pages) it was 300 and 2,350, at 3/5 of the space (bench/keys). A lower rate changes neither.
 */
#define BF_LINES_OF_A_RANGE 8
#define BF_LINES_OF_A_RANGE_WITH_KEYS 16

/* It may have a quarter less. */
#define BF_ENOUGH_OF_A_RANGE 0.75

/*
 * So many ranges, which lie evenly in a table, tell how long ranges should be; of each length, where there are keys
 * inside values.
 */
#define BF_RANGES_THAT_TELL 8
#define BF_RANGES_WITH_KEYS_THAT_TELL 4

/* The mean of these sizes of ranges, but for the largest of them: one row may be unlike all others. */
extern double bf_index_size_that_tells(const double *sizes, uint32_t count);

/* The number of pages of a range, if 32 pages fill so many lines of a column. */
extern uint32_t bf_index_range_length_for(double lines, uint32_t heap_blocks, bool is_partition);

/* Is a range that fills so many lines too short, if its items are keys inside values? */
extern bool bf_index_is_short_for_keys(double lines);

/* ------------------------------------------------------------------------ levels */

/* The number of pages of a range on each level, 0 where the level cannot be. */
extern void bf_index_level_lengths(uint32_t pages_per_range, uint32_t lengths[BF_INDEX_MAX_LEVELS]);

/* Does an index whose level below has so many groups get this level above 0? */
extern bool bf_index_level_pays(int level, uint32_t pages_per_range, uint32_t groups_below, uint32_t heap_blocks);

/* ---------------------------------------------------------------------- a look-up */

/* One level of an index, to whoever searches it for an item. */
typedef struct BfLevelToSearch
{
	double		length;			/* pages of a range */
	double		ranges;			/* that its groups cover, and that are in the heap */
	double		groups;
	double		holding;		/* ranges that have what is searched for; they lie strewn over the heap */
	double		rate;			/* of the others so many are left in vain */
} BfLevelToSearch;

/* What a search for one item reads, in the mean. */
typedef struct BfPagesRead
{
	double		index;			/* pages: one for each group that is visited */
	double		heap;			/* pages of the ranges that are left, and of those that no group covers */
} BfPagesRead;

/* The levels are those of the index, from level 0 on. */
extern BfPagesRead bf_index_pages_of_look_up(const BfLevelToSearch *levels, int count, double heap_pages);

/* ----------------------------------------------------------------------- filters */

/* How many items the ranges of a group have in a column, and how these become bits. */
typedef struct BfCounts
{
	const double *items;		/* of each range; negative: nothing is known of it, or it has only some of its pages */
	double		rate;			/* the false-positive rate that is asked for, in the mean over the ranges */
	double		load;			/* the items per line at that rate (sb_bf_items_per_line()) */
	int			hashes;
} BfCounts;

/*
 * The number of lines of a filter in a group of so many ranges, of which `count` are known. They are as few as keep the
 * mean of the rates of these ranges, but the lines fill whole pages, and their number is one of sixteen steps between a
 * power of two of pages and the next one. Ranges that are far above the others (at most one in fifty, or one) do not
 * count: they are to be full. REQUIRES: count is at most BF_INDEX_MAX_RANGES.
 */
extern uint32_t bf_index_lines_for(const BfCounts *counts, uint32_t count, uint32_t ranges);

/*
 * The most items that a range has, but for those that are far above the others. items[] is sorted. REQUIRES: count > 0.
 */
extern double bf_index_most_items(double *items, uint32_t count);

/*
 * The number of items from which on a range of these is far above the others; infinity if none is. REQUIRES: as above.
 */
extern double bf_index_far_above(const BfCounts *counts, uint32_t count);

/*
 * If the items of ranges were not counted: a range whose bits say that its rate is at least this is far above the
 * others of its group, and is marked as full, if no more than bf_index_most_full() are.
 */
extern double bf_index_rate_of_full(double load, int hashes);
extern uint32_t bf_index_most_full(uint32_t ranges);

/*
 * Takes the numbers of lines of the group before, if these are enough for the new one, which needs lines[], and not
 * much more. So the directory stays short.
 */
extern void bf_index_settle_lines(uint32_t *lines, const uint32_t *before, int columns);

/*
 * Is a group that takes so many pages, and needs so many, replaced by one of that size? Only if it is many times too
 * large, since all its ranges are read for that.
 */
extern bool bf_index_is_worth_replacing(uint64_t pages, uint64_t needed);

/* ------------------------------------------------------------------------ groups */

/*
 * How many of the next `count` ranges make a group that is built, and the lines of its filters in each column. Two
 * groups are made if they take at least an eighth less space than one. REQUIRES: 0 < count <= BF_INDEX_MAX_RANGES.
 */
extern uint32_t bf_index_group_to_build(const BfCounts *columns, int column_count, uint32_t count, uint32_t *lines);

/*
 * How many ranges the next group of a level has, in an index that grows: the level has `first` ranges, and `available`
 * more are in the heap, of which the last may still be filling. Groups of a level that grows range by range have 8, 8,
 * 15, 31, 63, and then 125 ranges. Each has at most one range more than there are before it, so that at most half of a
 * level waits for ranges to come; and together the first five have 125, so that all later ones begin where a range of
 * the level above does. A table that has more ranges at once gets them in larger groups.
 */
extern uint32_t bf_index_group_to_grow(int level, uint32_t first, uint32_t available);

#ifdef __cplusplus
}
#endif

#endif
