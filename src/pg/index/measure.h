/*
 * measure.h: how full filters are.
 */
#ifndef STREAMBLOOM_PG_INDEX_MEASURE_H
#define STREAMBLOOM_PG_INDEX_MEASURE_H

#include "index/geometry.h"

/* What the lines of a range tell that were measured. */
typedef struct BfRangeMeasure
{
	uint64		lines;			/* 0: the range is not summarized */
	uint64		bits_set;
	double		rates;			/* the sum over the lines of fill ^ hashes */
} BfRangeMeasure;

/*
 * Measures the lines on one page (counted in the column's run) of those ranges that are summarized there, and adds them
 * to ranges[], which has an element for each range of the group.
 */
extern void bf_index_measure_page(Relation index, const BfGroup *group, int column, BlockNumber page, int hashes,
								  BfRangeMeasure *ranges);

/* So many pages of a column tell well enough how full a range is. Of many ranges a page has one line each. */
#define BF_PAGES_THAT_TELL 16

/* The same of at most so many pages of a column, which lie evenly in its run. */
extern void bf_index_measure_some_pages(Relation index, const BfGroup *group, int column, int hashes, BlockNumber most,
										BfRangeMeasure *ranges);

/*
 * Estimates from the bits of a group how many items each of its ranges has in a column; -1 for those that are not
 * summarized. Looks at most so many pages of the column.
 */
extern void bf_index_estimate_items(Relation index, const BfGeometry *geometry, const BfGroup *group, int column,
									BlockNumber most, double items[BF_INDEX_MAX_RANGES]);

/*
 * Finds the range of a group with the highest false-positive rate, according to its bits, of those whose rate is above
 * `bound` and below `end`. Returns its rate, and the range counted within the group; or 0 if there is none.
 */
extern double bf_index_fullest_range(Relation index, const BfGeometry *geometry, const BfGroup *group, double bound,
									 double end, uint32 *range);

/*
 * The highest of the rates that a range (counted within its group) has in its columns, by its bits; 0 if it is not
 * summarized.
 */
extern double bf_index_rate_of_range(Relation index, const BfGeometry *geometry, const BfGroup *group, uint32 range);

#endif
