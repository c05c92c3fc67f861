/*
 * measure.c: how full the filters of ranges are: how many items they have, what their false-positive rates are, and
 * which range of a group is the fullest.
 *
 * All of this follows from the numbers of bits that are set. A filter consists of lines of 64 bytes, and an item has
 * all its bits in one line. So a line's rate is f^k, if the share f of its bits is set and an item has k bits
 * (`hashes`). A range's rate is the mean over its lines.
 */
#include "index/measure.h"

#include <math.h>

#include "miscadmin.h"

#include "index/geometry.h"
#include "index/layout.h"

void
bf_index_measure_page(Relation index, const BfGroup *group, int column, BlockNumber page, int hashes,
					  BfRangeMeasure *ranges)
{
	BlockNumber block = bf_index_column_start(group, column) + page;
	Buffer		buffer;
	BfFilterPage *content;

	CHECK_FOR_INTERRUPTS();
	buffer = bf_index_read_page(index, block);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	content = bf_index_filter_page_in_use(index, buffer, group, column, page);
	for (uint32 range = 0; content != NULL && range < group->ranges; range++)
	{
		ranges[range].is_full |= content->states[range] == BF_FULL;
		if (content->states[range] != BF_SUMMARIZED)
			continue;
		for (uint32 position = 0; position < group->positions; position++)
		{
			int			set = sb_bf_line_bits(bf_index_line(content, position, range));

			ranges[range].lines++;
			ranges[range].bits_set += set;
			ranges[range].rates += pow(set / (SB_BF_LINE * 8.0), hashes);
		}
	}
	UnlockReleaseBuffer(buffer);
}

/*
 * Estimates the number of items of a range with `lines` lines, some of which were measured, from the share of bits
 * that are set in these. A line of m bits with n items of k bits each has the share 1 - (1 - 1/m)^(k n) of its bits
 * set (Swamidass and Baldi 2007).
 */
static double
items_of(const BfRangeMeasure *range, uint32 lines, int hashes)
{
	const double bits = SB_BF_LINE * 8.0;
	double		fill = range->bits_set / (range->lines * bits);

	/* If all bits are set, they say only that there are many items: the formula would give infinity. */
	return lines * log1p(-Min(fill, 1 - 1 / bits)) / (hashes * log1p(-1 / bits));
}

void
bf_index_measure_some_pages(Relation index, const BfGroup *group, int column, int hashes, BlockNumber most,
							BfRangeMeasure *ranges)
{
	BlockNumber pages = bf_index_column_pages(group, column);
	BlockNumber read = Min(pages, most);

	for (BlockNumber i = 0; i < read; i++)
		bf_index_measure_page(index, group, column, (uint64) i * pages / read, hashes, ranges);
}

void
bf_index_estimate_items(Relation index, const BfGeometry *geometry, const BfGroup *group, int column, BlockNumber most,
						double items[BF_INDEX_MAX_RANGES])
{
	BfRangeMeasure ranges[BF_INDEX_MAX_RANGES] = {{0}};
	const int	hashes = bf_index_parameters(geometry, group->level, column)->hashes;

	bf_index_measure_some_pages(index, group, column, hashes, most, ranges);
	for (uint32 range = 0; range < group->ranges; range++)
	{
		const BfRangeMeasure *of = &ranges[range];

		/* Another session may mark a range as full between two pages. */
		if (of->is_full)
			items[range] = INFINITY;
		else
			items[range] = of->lines == 0 ? -1 : items_of(of, group->lines[column], hashes);
	}
}

/*
 * Estimates the false-positive rate of one range in a column from some of the group's pages for this column, spread
 * evenly. Returns 0 if the range is not summarized on these pages.
 */
static double
rate_of_range(Relation index, const BfGroup *group, int column, uint32 range, int hashes)
{
	BfRangeMeasure ranges[BF_INDEX_MAX_RANGES] = {{0}};

	bf_index_measure_some_pages(index, group, column, hashes, BF_PAGES_THAT_TELL, ranges);
	return ranges[range].lines == 0 ? 0 : ranges[range].rates / ranges[range].lines;
}

double
bf_index_rate_of_range(Relation index, const BfGeometry *geometry, const BfGroup *group, uint32 range)
{
	double		most = 0;

	for (int column = 0; column < group->columns; column++)
		most = Max(most, rate_of_range(index, group, column, range,
									   bf_index_parameters(geometry, group->level, column)->hashes));
	return most;
}

double
bf_index_fullest_range(Relation index, const BfGeometry *geometry, const BfGroup *group, double bound,
					   double end, uint32 *range)
{
	double		fullest = 0;

	for (int column = 0; column < group->columns; column++)
	{
		BfRangeMeasure ranges[BF_INDEX_MAX_RANGES] = {{0}};
		int			hashes = bf_index_parameters(geometry, group->level, column)->hashes;
		double		worst = bound;
		uint32		candidate = group->ranges;
		double		rate;

		/* The first page names a candidate, which is then looked at more closely. */
		bf_index_measure_page(index, group, column, 0, hashes, ranges);
		for (uint32 i = 0; i < group->ranges; i++)
		{
			rate = ranges[i].lines > 0 ? ranges[i].rates / ranges[i].lines : 0;
			if (rate > worst && rate < end)
			{
				worst = rate;
				candidate = i;
			}
		}
		if (candidate == group->ranges)
			continue;
		rate = rate_of_range(index, group, column, candidate, hashes);
		if (rate > Max(bound, fullest) && rate < end)
		{
			fullest = rate;
			*range = candidate;
		}
	}
	return fullest;
}
