/*
 * sizes.h: how long ranges, how large groups and filters are.
 */
#ifndef STREAMBLOOM_PG_INDEX_SIZES_H
#define STREAMBLOOM_PG_INDEX_SIZES_H

#include "index/layout.h"

#define BF_INDEX_DEFAULT_PAGES_PER_RANGE 32 /* also the largest number that is chosen for an index */
#define BF_INDEX_MAX_PAGES_PER_RANGE 131072	/* 1 GB */
#define BF_INDEX_DEFAULT_FPR 0.001
#define BF_INDEX_KEY_FPR 0.01	/* for keys inside values, if a query has few of them */
#define BF_INDEX_MANY_KEY_FPR 0.05	/* if most queries have many, all of which a value must have */
#define BF_INDEX_UPPER_FPR 0.01	/* on the levels above 0 */
#define BF_INDEX_UPPER_MANY_KEY_FPR 0.1	/* there, if every column has keys of which most queries have many */

/* The number of pages of a range on each level, 0 where the level cannot be. */
extern void bf_index_level_lengths(BlockNumber pages_per_range, BlockNumber lengths[BF_INDEX_MAX_LEVELS]);

/*
 * A range has about this many lines in the column with the most items, if the number of its pages is chosen here. It has more
 * for keys inside values, of which a row has many: neighboring rows share most of them, so longer ranges take less space. But
 * the more rows a range has, the more often it has all keys of a query in different rows. With trigrams of a log's lines, 16
 * lines are 2 pages: a word and an address that are rare take 250 and 415 pages of 6,000; with 32 lines (8 pages) it
 * was 300 and 2,350, at 3/5 of the space (bench/keys). A lower rate changes neither.
 */
#define BF_LINES_OF_A_RANGE 8
#define BF_LINES_OF_A_RANGE_WITH_KEYS 16

/* It may have a quarter less. */
#define BF_ENOUGH_OF_A_RANGE 0.75

/* So many ranges, which lie evenly in a table, tell how long ranges should be; of each length, where there are keys inside values. */
#define BF_RANGES_THAT_TELL 8
#define BF_RANGES_WITH_KEYS_THAT_TELL 4

/* The mean of these sizes of ranges, but for the largest of them: one row may be unlike all others. */
extern double bf_index_size_that_tells(const double *sizes, uint32 count);

/* The number of pages of a range, if 32 pages fill so many lines of a column. */
extern BlockNumber bf_index_range_length_for(double lines, BlockNumber heap_blocks, bool is_partition);

/* Is a range that fills so many lines too short, if its items are keys inside values? */
extern bool bf_index_is_short_for_keys(double lines);

/* Does an index whose level below has so many groups get this level above 0? */
extern bool bf_index_level_pays(int level, BlockNumber pages_per_range, uint32 groups_below, BlockNumber heap_blocks);

/* A tenth more items than a sample of ranges has, because other ranges may have more. */
extern double bf_index_with_margin(double items);

/* A build makes two groups of the last ranges of a table if they have less than this share of the pages of one group. */
#define BF_WORTH_TWO_GROUPS (7.0 / 8)

/* Filters up to this many times as large as necessary are made if those of the group before have this size. */
#define BF_MOST_ROOM 1.3

/*
 * The most items that ranges have, but for those that are far above the others (at most one in fifty, or one): filters that are large enough
 * for them would be empty in all other ranges. They say yes to nearly everything, and are read. counts[] is sorted. REQUIRES: count > 0.
 */
extern double bf_index_most_items(double *counts, uint32 count);

/* The number of lines for so many items in a group of so many ranges. The lines fill whole pages. */
extern uint32 bf_index_lines_for(uint64 items, double load, uint32 ranges);

/* The largest group size that uses its pages well and is not larger than this. */
extern uint32 bf_index_good_group_size(uint32 most);

/* The largest group that takes no more pages than a group of so many ranges. */
extern uint32 bf_index_widest_group(uint32 ranges);

#endif
