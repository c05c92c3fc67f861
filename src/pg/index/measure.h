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

/* How many items ranges that follow each other have in each column: as in BfCounts. */
typedef struct BfItems
{
	double		of[INDEX_MAX_KEYS][BF_INDEX_MAX_RANGES];
} BfItems;

/* What the bits of a group tell. */
typedef struct BfGroupMeasure
{
	BfItems		items;			/* -1: the range is not summarized; infinite: it is full, and its bits tell nothing */
	/*
	 * The false-positive rate of each range, as a multiple of the rate that was asked for: the highest of its columns.
	 * 0: the range is not summarized, or full in all columns.
	 */
	double		rates[BF_INDEX_MAX_RANGES];
	double		rate;			/* the mean of a column's rates: the highest of the columns */
	uint32		full;			/* how many ranges are full in a column */
	bool		saturated;		/* a range answers most questions with "perhaps", so that mostly it is read */
} BfGroupMeasure;

/*
 * Measures a group by at most `pages` pages of each column, spread evenly. One page has as many lines of each range as
 * a page has positions, which tells the mean over the ranges. BF_PAGES_THAT_TELL pages tell what each range has.
 */
#define BF_PAGES_THAT_TELL 16

extern void bf_index_measure_group(Relation index, const BfGeometry *geometry, const BfGroup *group, BlockNumber pages,
								   BfGroupMeasure *measure);

/*
 * A range is too full if its rate is this many times the one that was asked for. So is a group if the mean of its rates
 * is. (The rate that is asked for is one of the mean, so a range may be above it for ever.)
 */
#define BF_TOO_FULL 4

#endif
