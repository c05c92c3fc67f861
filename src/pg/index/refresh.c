/*
 * refresh.c: summarizes anew ranges that are too full, for VACUUM and the SQL functions that summarize all ranges. A
 * range is *too full* if its false-positive rate is several times the one asked for: each row that is written into the
 * range adds bits, and the bits of rows that are gone stay. A range that is *full* is another thing: it has far more
 * items than the others of its group, so its bits are not used, and it is always read. This file only counts these.
 */
#include "index/refresh.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "index/directory.h"
#include "index/geometry.h"
#include "index/group.h"
#include "index/layout.h"
#include "index/measure.h"

/* -------------------------------------------------------------------- upper levels */

/*
 * A summarizer that works on level 0 summarizes anew ranges with at most this share of the heap's pages. On the levels
 * above it begins no further range when it has read this share. It may always do one range, however long.
 */
#define MOST_ANEW 0.5

/* A range is too full if its bits say that its false-positive rate is more than this many times the one asked for. */
#define TOO_FULL 4

/*
 * Some ranges have more items than their filters were made for, so they stay too full when they are summarized anew.
 * The meta page notes the highest and the lowest rate of such ranges: one pair for level 0, and one for the levels
 * above. After that, a range is summarized anew only if its rate is above MORE_THAN_IN_VAIN times the highest of
 * these, or below LESS_THAN_IN_VAIN times the lowest. Otherwise each VACUUM would read such a range again. (On the
 * levels above 0 the lower bound is used only if the upper one is at least 1.)
 */
#define MORE_THAN_IN_VAIN 1.5
#define LESS_THAN_IN_VAIN 0.9

/*
 * Summarizes anew one range of the levels above 0: the fullest of those that are too full and that are not expected to
 * stay so (see above). Returns the number of the range's pages; 0 if there is no such range.
 */
static BlockNumber
refresh_fullest_range(const BfSummarizer *work)
{
	BlockNumber pages = 0;
	BfGeometry *geometry = bf_index_copy_geometry(bf_index_current_geometry(work->index));
	const double too_full = TOO_FULL * geometry->upper.false_positive_rate;
	const double above = MORE_THAN_IN_VAIN * geometry->in_vain;
	/* No rate is above 1. So if `above` is at least 1, ranges below the lowest noted rate are looked for instead. */
	const bool	is_below = above >= 1;
	const double end = is_below ? LESS_THAN_IN_VAIN * geometry->least_in_vain : 2;
	double		worst = is_below ? too_full : Max(too_full, above);
	BfGroup		of_worst = {0};
	uint32		worst_range = 0;

	for (int level = 1; level < geometry->levels; level++)
	{
		BfGroup		group;

		for (uint32 range = 0; range < geometry->level[level].covered; range = group.first_range + group.ranges)
		{
			uint32		fullest;
			double		rate;

			bf_index_find_group(geometry, level, range, &group);
			rate = bf_index_fullest_range(work->index, geometry, &group, worst, end, &fullest);
			if (rate > worst)
			{
				worst = rate;
				of_worst = group;
				worst_range = fullest;
			}
		}
	}
	if (of_worst.ranges > 0)
	{
		BfGroupLines lines;
		double		rate;

		bf_index_make_lines(&lines, geometry, &of_worst);
		bf_index_select_range(&lines, worst_range);
		bf_index_summarize_selected(work, geometry, &lines);
		bf_index_free_lines(&lines);
		rate = bf_index_rate_of_range(work->index, geometry, &of_worst, worst_range);
		if (rate > too_full)
			bf_index_note_in_vain(work->index, rate);
		pages = geometry->level[of_worst.level].pages_per_range;
	}
	pfree(geometry);
	return pages;
}

void
bf_index_refresh_upper_levels(const BfSummarizer *work, BlockNumber heap_blocks)
{
	double		left = heap_blocks * MOST_ANEW;
	BlockNumber pages;

	do
	{
		CHECK_FOR_INTERRUPTS();
		pages = refresh_fullest_range(work);
		left -= pages;
	} while (pages > 0 && left > 0);
}

/* -------------------------------------------------------------------- level 0 */

/*
 * The first page of a column in a group says whether more pages are measured. They are if on the first page the mean of
 * the ranges' rates is above MEAN_TO_LOOK_AT times the rate asked for, or the rate of one range is above ONE_TO_LOOK_AT
 * times the rate asked for. (After ranges were summarized anew, more pages are measured in any case.)
 */
#define MEAN_TO_LOOK_AT 2
#define ONE_TO_LOOK_AT 16

/* A group with ranges that are too full. */
typedef struct FullGroup
{
	uint32		first_range;
	double		rate;			/* the highest rate of one of its ranges, as a multiple of the rate asked for */
} FullGroup;

static int
compare_full_groups(const void *a, const void *b)
{
	double		x = ((const FullGroup *) a)->rate,
				y = ((const FullGroup *) b)->rate;

	return x > y ? -1 : x < y;
}

/*
 * Sets rates[] to the rates of the ranges of a group of level 0, as multiples of the rate asked for. The rate of a
 * range is the highest of its columns' rates; it is 0 if the range is not summarized. Returns the highest rate of
 * all. Unless `closely` is true, a column whose first page shows no high rates does not count.
 */
static double
measure_rates(Relation index, const BfGeometry *geometry, const BfGroup *group, bool closely, double *rates)
{
	double		most = 0;

	memset(rates, 0, BF_INDEX_MAX_RANGES * sizeof(double));
	for (int column = 0; column < group->columns; column++)
	{
		const BfParameters *parameters = bf_index_parameters(geometry, 0, column);
		BfRangeMeasure ranges[BF_INDEX_MAX_RANGES] = {{0}};
		double		sum = 0,
					largest = 0;
		uint32		count = 0;

		bf_index_measure_page(index, group, column, 0, parameters->hashes, ranges);
		for (uint32 i = 0; i < group->ranges; i++)
			if (ranges[i].lines > 0)
			{
				double		rate = ranges[i].rates / ranges[i].lines / parameters->false_positive_rate;

				sum += rate;
				largest = Max(largest, rate);
				count++;
			}
		if (!closely && sum <= MEAN_TO_LOOK_AT * count && largest <= ONE_TO_LOOK_AT)
			continue;
		memset(ranges, 0, sizeof ranges);
		bf_index_measure_some_pages(index, group, column, parameters->hashes, BF_PAGES_THAT_TELL, ranges);
		for (uint32 i = 0; i < group->ranges; i++)
			if (ranges[i].lines > 0)
				rates[i] = Max(rates[i], ranges[i].rates / ranges[i].lines / parameters->false_positive_rate);
	}
	for (uint32 i = 0; i < group->ranges; i++)
		most = Max(most, rates[i]);
	return most;
}

/*
 * Is a range with this rate to be summarized anew? It is if it is too full, and its rate is well above or below the
 * rates of all ranges that have stayed too full when they were summarized anew.
 */
static bool
is_worth_it(const BfGeometry *geometry, double rate)
{
	return rate > TOO_FULL && (geometry->in_vain_below == 0 || rate > MORE_THAN_IN_VAIN * geometry->in_vain_below ||
							   rate < LESS_THAN_IN_VAIN * geometry->least_in_vain_below);
}

/*
 * Summarizes anew the ranges of a group for which is_worth_it() is true, at most `most` of them. Returns how many.
 * Notes the rates of those that are still too full on the meta page.
 */
static uint32
refresh_group(const BfSummarizer *work, const BfGeometry *geometry, const BfGroup *group, uint32 most)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bf summaries", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	double		rates[BF_INDEX_MAX_RANGES];
	double		after[BF_INDEX_MAX_RANGES];
	double		least = 0,
				largest = 0;
	BfGroupLines lines;
	uint32		done;

	(void) measure_rates(work->index, geometry, group, false, rates);
	bf_index_make_lines(&lines, geometry, group);
	for (uint32 i = 0; i < group->ranges && lines.selected < most; i++)
		if (is_worth_it(geometry, rates[i]))
			bf_index_select_range(&lines, i);
	done = lines.selected;
	if (done > 0)
	{
		bf_index_summarize_selected(work, geometry, &lines);
		(void) measure_rates(work->index, geometry, group, true, after);
		for (uint32 i = 0; i < group->ranges; i++)
			if (lines.ranges[i] && after[i] > TOO_FULL)
			{
				least = least == 0 ? after[i] : Min(least, after[i]);
				largest = Max(largest, after[i]);
			}
		if (largest > 0)
			bf_index_note_in_vain_below(work->index, least, largest);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return done;
}

/* Counts in *full the ranges of a group that are full in a column. */
static void
count_full_ranges(Relation index, const BfGroup *group, BfFullRanges *full)
{
	bool		is_full[BF_INDEX_MAX_RANGES] = {false};

	for (int column = 0; column < group->columns; column++)
	{
		uint8		states[BF_INDEX_MAX_RANGES];

		bf_index_read_states(index, group, column, states);
		for (uint32 i = 0; i < group->ranges; i++)
			is_full[i] |= states[i] == BF_FULL;
	}
	for (uint32 i = 0; i < group->ranges; i++)
		if (is_full[i])
			bf_index_count_full(full, group->first_range + i);
}

/* Notes down on the meta page how many ranges of level 0 are full, and where the first one is. */
static void
note_full_ranges(const BfSummarizer *work, const BfGeometry *geometry)
{
	BfFullRanges full = {0};
	BfGroup		group;

	for (uint32 range = 0; range < geometry->level[0].covered; range = group.first_range + group.ranges)
	{
		CHECK_FOR_INTERRUPTS();
		bf_index_find_group(geometry, 0, range, &group);
		count_full_ranges(work->index, &group, &full);
	}
	bf_index_note_full_ranges(work->index, geometry, &full);
}

void
bf_index_refresh_level_0(const BfSummarizer *work, BlockNumber heap_blocks)
{
	BfGeometry *geometry = bf_index_copy_geometry(bf_index_current_geometry(work->index));
	const BfLevel *of = &geometry->level[0];
	FullGroup  *full = palloc_extended(Max(of->groups, 1) * sizeof(FullGroup), MCXT_ALLOC_HUGE);
	double		left = Max(1, heap_blocks * MOST_ANEW / Max(of->pages_per_range, 1));	/* number of ranges */
	uint32		count = 0;
	BfGroup		group;

	for (uint32 range = 0; range < of->covered && count < of->groups; range = group.first_range + group.ranges)
	{
		double		rates[BF_INDEX_MAX_RANGES];
		bool		worth_it = false;
		double		most;

		CHECK_FOR_INTERRUPTS();
		bf_index_find_group(geometry, 0, range, &group);
		most = measure_rates(work->index, geometry, &group, false, rates);
		for (uint32 i = 0; i < group.ranges; i++)
			worth_it |= is_worth_it(geometry, rates[i]);
		if (worth_it)
			full[count++] = (FullGroup) {.first_range = range, .rate = most};
	}
	qsort(full, count, sizeof(FullGroup), compare_full_groups);
	for (uint32 i = 0; i < count && left >= 1; i++)
	{
		uint32		most,
					done;

		bf_index_find_group(geometry, 0, full[i].first_range, &group);
		most = Min(left, bf_index_ranges_at_once(work, &group, of->pages_per_range));
		done = refresh_group(work, geometry, &group, most);
		if (done == 0)
			continue;
		left -= done;
	}
	note_full_ranges(work, geometry);
	pfree(full);
	pfree(geometry);
}
