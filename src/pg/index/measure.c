/*
 * measure.c: how full the filters of ranges are: how many items they have, and what their false-positive rates are.
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

/* A range of this false-positive rate that was to have a lower one is read by most look-ups. */
#define SATURATED 0.5

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

static void
measure_column(Relation index, const BfGroup *group, int column, const BfParameters *parameters, BlockNumber most,
			   BfGroupMeasure *measure, bool *is_full)
{
	BfRangeMeasure ranges[BF_INDEX_MAX_RANGES] = {{0}};
	const BlockNumber pages = bf_index_column_pages(group, column);
	const BlockNumber read = Min(pages, most);
	double		sum = 0;
	uint32		count = 0;

	for (BlockNumber i = 0; i < read; i++)
		bf_index_measure_page(index, group, column, (uint64) i * pages / read, parameters->hashes, ranges);
	for (uint32 i = 0; i < group->ranges; i++)
	{
		const BfRangeMeasure *of = &ranges[i];
		double		rate;

		measure->items.of[column][i] = -1;
		/* another session may mark a range as full between two pages */
		if (of->is_full)
		{
			measure->items.of[column][i] = INFINITY;
			is_full[i] = true;
		}
		else if (of->lines > 0)
		{
			rate = of->rates / of->lines / parameters->false_positive_rate;
			measure->items.of[column][i] = items_of(of, group->lines[column], parameters->hashes);
			measure->rates[i] = Max(measure->rates[i], rate);
			measure->saturated |= rate >= BF_TOO_FULL && of->rates / of->lines >= SATURATED;
			sum += rate;
			count++;
		}
	}
	if (count > 0)
		measure->rate = Max(measure->rate, sum / count);
}

void
bf_index_measure_group(Relation index, const BfGeometry *geometry, const BfGroup *group, BlockNumber pages,
					   BfGroupMeasure *measure)
{
	bool		is_full[BF_INDEX_MAX_RANGES] = {false};

	memset(measure->rates, 0, sizeof measure->rates);
	measure->rate = 0;
	measure->full = 0;
	measure->saturated = false;
	for (int column = 0; column < group->columns; column++)
		measure_column(index, group, column, bf_index_parameters(geometry, group->level, column), pages, measure,
					   is_full);
	for (uint32 i = 0; i < group->ranges; i++)
		measure->full += is_full[i];
}
