/*
 * sizes.h: how long ranges are, how many of them make a group, how large their filters are, which ranges are full,
 * which levels there are, when a new group takes the place of old ones, and how many pages a look-up reads. These are
 * functions of counts of items, pages and lines alone; test/unit/sizes_test.cpp tests them without a server. All code
 * that decides a size calls them, and so does all code that predicts one: cost.c, figures.c and ../advisor.
 *
 * Files: sizes.c; group_sizes.c for the last section.
 */
#ifndef STREAMBLOOM_PG_INDEX_SIZES_H
#define STREAMBLOOM_PG_INDEX_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include "streambloom.h"

/* The size of a page is PostgreSQL's. In unit tests without PostgreSQL it is the usual one. */
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
#define BF_INDEX_KEY_FPR 0.01	/* for keys inside values, if a query has few keys */
#define BF_INDEX_MANY_KEY_FPR 0.05	/* if most queries have many keys, all of which a value must have */

/* ------------------------------------------------------------- what fits on a page */

/*
 * The bytes behind the page header, and those of BfFilterPage before the states of its ranges. layout.c asserts that
 * they are right.
 */
#define BF_PAGE_SPACE (BLCKSZ - 24)
#define BF_FILTER_HEADER 40
#define BF_LINES_OFFSET(ranges) (BF_FILTER_HEADER + ((ranges) + 7) / 8 * 8)

/* The number of positions that fit on a page, in a group of `ranges` ranges. */
#define BF_POSITIONS(ranges) ((uint32_t) (BF_PAGE_SPACE - BF_LINES_OFFSET(ranges)) / ((ranges) * SB_BF_LINE))

/* The most ranges that a group can have, so that one position of it fits on a page: 125 with pages of 8 kB. */
#define BF_INDEX_MAX_RANGES ((BF_PAGE_SPACE - BF_FILTER_HEADER - 3) / (SB_BF_LINE + 1))

/* ------------------------------------------------------------------------ ranges */

/*
 * If range_length.c chooses how many pages a range has, a range gets about this many lines in the column with the most
 * items. It gets more if items are keys inside values: neighboring rows share most of their keys, so longer ranges take
 * less space. But the more rows a range has, the more often it has all keys of a query, in different rows. An
 * example is an index on the trigrams of a log's lines, in a table of 6,000 pages (bench/keys). With 16 lines (2 pages
 * a range) a look-up of a rare word reads 250 pages of the table, and one of a rare address 415. With 32 lines (8 pages
 * a range) the two look-ups read 300 and 2,350 pages, and the index has 3/5 of the size. With a lower false-positive
 * rate these numbers of pages are the same.
 */
#define BF_LINES_OF_A_RANGE 8
#define BF_LINES_OF_A_RANGE_WITH_KEYS 16

/* A range may have a quarter fewer lines than these. */
#define BF_ENOUGH_OF_A_RANGE 0.75

/*
 * The number of ranges, spread evenly over a table, that are read to choose the length of ranges. The second number is
 * for items that are keys inside values: that many ranges are read for each length that is tried.
 */
#define BF_RANGES_THAT_TELL 8
#define BF_RANGES_WITH_KEYS_THAT_TELL 4

/*
 * Two ranges have most of their keys in common if the share is above the first number. A range of half the length
 * differs more if it has a share less by the second one. With 4 grams of a column, the share at 16, 8, 4, 2 and 1 pages
 * is 0.95, 0.85, 0.74, 0.69 and 0.61 for a million addresses, 0.49 to 0.38 for the lines of a web server's log, 0.62,
 * 0.65, 0.64, 0.61 and 0.50 for its user agents.
 */
#define BF_MOST_KEYS_IN_COMMON 0.6
#define BF_FEWER_IN_COMMON 0.03

/*
 * The mean of these sizes of ranges. If there are more than two, the largest is left out: a single row with very many
 * items can make its range unlike all others.
 */
extern double bf_index_size_that_tells(const double *sizes, uint32_t count);

/*
 * The number of pages that a range should have, if 32 pages fill `lines` lines of a column. It is larger in a small
 * table or partition, so that there are few ranges.
 */
extern uint32_t bf_index_range_length_for(double lines, uint32_t heap_blocks, bool is_partition);

/* Is a range that fills `lines` lines too short, if its items are keys inside values? */
extern bool bf_index_is_short_for_keys(double lines);

/* ------------------------------------------------------------------------ levels */

/*
 * The false-positive rate on the levels above 0. `least` is the lowest rate of a column on level 0; all_are_keys says
 * whether all columns have keys inside values. If they do, and `least` is at least BF_INDEX_MANY_KEY_FPR, which is
 * meant for queries with many keys, the rate is higher. A range is read only if its filter seems to have all keys of
 * such a query, so the filter may be wrong more often about each of them. With the higher rate the filters are about
 * half as large, and a new row changes fewer of their pages.
 */
extern double bf_index_upper_rate(bool all_are_keys, double least);

/* Sets lengths[] to the number of pages of a range on each level; 0: the index cannot have this level. */
extern void bf_index_level_lengths(uint32_t pages_per_range, uint32_t lengths[BF_INDEX_MAX_LEVELS]);

/*
 * Does an index get this level (above 0)? pages_per_range is that of this level; the level below has groups_below
 * groups.
 */
extern bool bf_index_level_pays(int level, uint32_t pages_per_range, uint32_t groups_below, uint32_t heap_blocks);

/* ---------------------------------------------------------------------- a look-up */

/* One level of an index, as a search for an item sees it. */
typedef struct BfLevelToSearch
{
	double		length;			/* pages of a range */
	double		ranges;			/* ranges of the heap that the level's groups cover */
	double		groups;
	double		holding;		/* ranges that have what is searched for; they lie strewn over the heap */
	double		rate;			/* of the other ranges: the share that says "maybe" in vain */
} BfLevelToSearch;

/* What a search for one item reads, in the mean. */
typedef struct BfPagesRead
{
	double		index;			/* pages: one for each group that is visited */
	double		heap;			/* pages of the ranges that say "maybe", and of those that no group covers */
} BfPagesRead;

/* Estimates what a search for one item reads. levels[] has the `count` levels of the index, from level 0 on. */
extern BfPagesRead bf_index_pages_of_look_up(const BfLevelToSearch *levels, int count, double heap_pages);

/* ----------------------------------------------------------------------- filters */

/* How many items the ranges of a group have in a column, and how these become bits. */
typedef struct BfCounts
{
	/* items of each range; negative: not known, or the range lacks pages; infinite: the range is already full */
	const double *items;
	double		rate;			/* the false-positive rate that is asked for, in the mean over the ranges */
	double		load;			/* the items per line at that rate (sb_bf_items_per_line()) */
	int			hashes;
} BfCounts;

/*
 * The number of lines of a filter in a group of `ranges` ranges, if the numbers of items of `count` ranges are given.
 * It is the smallest number with which the mean of the rates of these ranges is at most the one asked for, but
 * rounded up. The lines fill whole pages, and the number of pages is one of sixteen steps between a power of two and
 * the next one. Full ranges do not count. Nor do ranges that are far above the others, which are to be full: with the
 * full ones they may be one in fifty, in a small group one. If no number of items of the other ranges is known, the
 * lines fill one page. REQUIRES: count is at most BF_INDEX_MAX_RANGES.
 */
extern uint32_t bf_index_lines_for(const BfCounts *counts, uint32_t count, uint32_t ranges);

/*
 * The largest of these numbers of items, without those that are far above the others. Sorts items[]. REQUIRES: count
 * > 0; no number is infinite.
 */
extern double bf_index_most_items(double *items, uint32_t count);

/*
 * Returns the number of items from which on a range is full, in a group of these `count` ranges. A full range has far
 * more items than the others, and far more than the filters hold that the others need. Infinity: no range is full,
 * except those that are full already. REQUIRES: count is at most BF_INDEX_MAX_RANGES.
 */
extern double bf_index_far_above(const BfCounts *counts, uint32_t count);

/*
 * For ranges whose items were not counted. If the bits of a range say that its rate is at least
 * bf_index_rate_of_full(), the range is taken to be far above the others of its group, and is marked as full. But at
 * most bf_index_most_full() ranges of a group are marked.
 */
extern double bf_index_rate_of_full(double load, int hashes);
extern uint32_t bf_index_most_full(uint32_t ranges);

/*
 * lines[] is what a new group needs. If the lines of the group before are enough and not much more, lines[] is set to
 * these. So the new group can belong to the same stretch, and the directory stays short.
 */
extern void bf_index_settle_lines(uint32_t *lines, const uint32_t *before, int columns);

/*
 * Is a group of `pages` pages to be replaced by one of `needed` pages? All its ranges have to be read for this. So it
 * must be many times too large, and enough pages must be saved: on level 0 fewer of them if the group has few ranges.
 */
extern bool bf_index_is_worth_replacing(int level, uint32_t ranges, uint64_t pages, uint64_t needed);

/*
 * Returns how many ranges of this length a build (on level 0) or a summarizer reads at most before it writes them to
 * the index: those of 256 MB, at least one. Meanwhile their hashes or lines are in memory. If a summarizer is
 * cancelled, only these ranges have to be read again. Before and after reading, a summarizer changes all `group_pages`
 * pages of the group (in a build 0). If it changes more pages than 256 MB have, it reads as many as it changes.
 */
extern uint32_t bf_index_ranges_to_read(uint32_t pages_per_range, uint64_t group_pages);

/* ------------------------------------------------------- groups (group_sizes.c) */

/*
 * A build divides BF_INDEX_MAX_RANGES ranges of level 0 into at most this many groups. A range far above the others
 * gets a group of its own, which divides one of these once more.
 */
#define BF_MOST_GROUPS 3

/* At most so many groups are made in the place of one. */
#define BF_MOST_PLANNED 16

/* The groups of level 0 that a build makes, one after the other. */
typedef struct BfGroupsToBuild
{
	bool		covered;		/* does the index get a level above? */
	bool		keeps_full;		/* a range far above the others stays with them, and is full */
	/* the ranges before the next multiple of BF_INDEX_MAX_RANGES become at most so many groups; 0 at first */
	uint32_t	left;
} BfGroupsToBuild;

/*
 * Returns how many of the next `count` ranges of level 0 the next group of a build gets, and sets lines[] to the lines
 * of its filters in each column. The first of these ranges is number `begin` of the level. The group gets all of them,
 * except
 * - if it would go beyond a multiple of BF_INDEX_MAX_RANGES: mostly a range of level 1 ends there, and a search inside
 *   that range would read two groups;
 * - if a range is far above the others: it gets a group of its own, and the ranges before it another one. Otherwise it
 *   would be full, and so each look-up would read it, with all out-of-line values that its rows have;
 * - if several groups take at least an eighth less space than one, and no more ranges are full in them. A search reads
 *   a page of each group. So there are at most two up to the next multiple of BF_INDEX_MAX_RANGES, or BF_MOST_GROUPS if
 *   a level above covers all these ranges. The next call decides anew about the ranges behind the first group.
 * REQUIRES: 0 < count <= BF_INDEX_MAX_RANGES; the ranges follow those of the call before.
 */
extern uint32_t bf_index_group_to_build(BfGroupsToBuild *groups, const BfCounts *columns, int column_count,
										uint32_t begin, uint32_t count, uint32_t *lines);

/*
 * Returns how many of `count` ranges of a level above 0 the next group of a build gets: as many as fit a group, or
 * fewer if they would leave much of its pages empty.
 */
extern uint32_t bf_index_group_to_build_above(uint32_t count);

/*
 * How many ranges the next group of a level has, in an index that grows. The groups of the level have `first` ranges,
 * and the heap has `available` more, the last of which may still be filling. With pages of 8 kB, a level that grows
 * range by range gets five groups with 125 ranges together, and then groups of 125. So all groups after the fifth begin
 * where a range of the level above does. On level 0 the first five have 8, 8, 15, 31 and 63 ranges, so at most about
 * half of the level's ranges are still to come. On the other levels they have 2, 6, 17, 38 and 62, unless one group
 * takes their place (see below). If more ranges are available at once, they get larger groups. REQUIRES: first <
 * UINT32_MAX. The group ends at UINT32_MAX at the latest.
 */
extern uint32_t bf_index_group_to_grow(int level, uint32_t first, uint32_t available);

/*
 * A level above 0 whose groups have `first` ranges, all of which are in the heap, gets `available` more. If one group
 * is to take the place of all its groups, returns the number of ranges of that group, which is greater than `first`.
 * If not, returns 0: then bf_index_group_to_grow() says what group is added. With pages of 8 kB, the first 125 ranges
 * of a level that grows range by range are one group: of 2 ranges at first, and later of 8, 25, 63 and 125. The `first`
 * ranges are read once more for such a group. So the result is 0 if the group would have room for less than half as
 * many new ranges as old ones, or if the old ones have more than 2 GB.
 */
extern uint32_t bf_index_group_to_unite(uint32_t first, uint32_t available, uint32_t pages_per_range);

/*
 * Do the groups of a level, which have `first` ranges and `pages` pages, become one group of `united` ranges with
 * filters of lines[] lines? Not if these groups, and further ones for the new ranges, take at least an eighth less
 * space than the one group. That may be so if the old ranges have far fewer items than the new ones.
 */
extern bool bf_index_is_worth_uniting(int level, uint32_t first, uint64_t pages, uint32_t united,
									  const uint32_t *lines, int columns);

#ifdef __cplusplus
}
#endif

#endif
