/*
 * measure.h: how full the filters of ranges are. A filter is an array of lines of 64 bytes. The pages of a group have
 * the filters of all its ranges, and each page has the same lines of all these ranges (layout.h).
 */
#ifndef STREAMBLOOM_PG_INDEX_MEASURE_H
#define STREAMBLOOM_PG_INDEX_MEASURE_H

#include "index/geometry.h"

/* What was measured of the lines of a range. */
typedef struct BfRangeMeasure
{
	uint64		lines;			/* how many lines were measured; 0: the range is full, or not summarized */
	uint64		bits_set;
	double		rates;			/* the sum of the false-positive rates of the lines (measure.c) */
	bool		is_full;		/* it is marked as full in this column */
} BfRangeMeasure;

/*
 * Measures the lines on page `page` of a column (counted from the column's first page in the group) of all ranges that
 * are summarized there, and notes which ranges are full. Adds the results to ranges[], which has an element for each
 * range of the group. Adds nothing if the group was replaced.
 */
extern void bf_index_measure_page(Relation index, const BfGroup *group, int column, BlockNumber page, int hashes,
								  BfRangeMeasure *ranges);

/*
 * This many pages of a column in a group, or all if there are fewer, tell how full the ranges are. One page is not
 * enough: if a group has many ranges, a page has only one line of each. (Before replace.c replaces a group, it reads
 * more.)
 */
#define BF_PAGES_THAT_TELL 16

/* Does what bf_index_measure_page() does, for at most `most` pages of a column, spread evenly over all of them. */
extern void bf_index_measure_some_pages(Relation index, const BfGroup *group, int column, int hashes, BlockNumber most,
										BfRangeMeasure *ranges);

/*
 * Estimates from the bits of a group how many items each of its ranges has in a column. items[i] becomes -1 if range i
 * is not summarized. It becomes infinite if range i is full: the bits of a full range tell nothing, but it has far more
 * items than the other ranges (BfCounts). Looks at no more than `most` pages of the column.
 */
extern void bf_index_estimate_items(Relation index, const BfGeometry *geometry, const BfGroup *group, int column,
									BlockNumber most, double items[BF_INDEX_MAX_RANGES]);

/*
 * Looks for the range of a group with the highest false-positive rate. In each column the range with the highest rate
 * on the first page is chosen, and its rate is measured on up to BF_PAGES_THAT_TELL pages. Only rates above `bound` and
 * below `end` count, on the first page too. Returns the highest rate, and sets *range to the range that has it, counted
 * within the group. Returns 0 if no rate counts.
 */
extern double bf_index_fullest_range(Relation index, const BfGeometry *geometry, const BfGroup *group, double bound,
									 double end, uint32 *range);

/*
 * The highest of the rates that a range (counted within its group) has in its columns, by its bits; 0 if it is not
 * summarized.
 */
extern double bf_index_rate_of_range(Relation index, const BfGeometry *geometry, const BfGroup *group, uint32 range);

#endif
