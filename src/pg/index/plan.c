/*
 * plan.c: counts the items of ranges, and plans groups with filters of the size that these items need. (On each level
 * of an index the heap is divided into ranges of one length. A group is consecutive ranges of a level; in a column, all
 * its filters have the same size.)
 */
#include "index/plan.h"

#include "lib/hyperloglog.h"

#include "index/measure.h"

/*
 * At most this many of a new group's ranges are read to find the size of its filters: on level 0, above, and above in a
 * build, which reads their items from a tape.
 */
#define SAMPLED_RANGES 4
#define SAMPLED_ABOVE 2
#define SAMPLED_IN_BUILD 16

/* ---------------------------------------------------------------------- counting */

void
bf_index_read_items(const BfSummarizer *work, const BfGeometry *geometry, uint64 first, uint64 end,
					void (*add) (const BfRowItems *items, void *argument), void *argument)
{
	const BlockNumber pages_per_range = geometry->level[0].pages_per_range;
	const uint32 end_range = (end + pages_per_range - 1) / pages_per_range;

	if (work->tape != NULL && end_range <= bf_index_tape_length(work->tape))
		bf_index_read_tape(work->tape, first / pages_per_range, end_range, add, argument);
	else
		bf_index_read_rows(work->reader, first, end, add, argument);
}

/* 2^14 registers for each column: a standard error of 0.8 %. */
#define WIDTH_OF_ESTIMATE 14

/* Estimates how many different items rows have in each column. */
typedef struct ItemCount
{
	hyperLogLogState items[INDEX_MAX_KEYS];
	/* how many were added; equal ones count each time. No estimate is larger, whoever has chosen the items */
	double		added[INDEX_MAX_KEYS];
} ItemCount;

static void
count_row(const BfRowItems *items, void *argument)
{
	ItemCount  *count = argument;

	for (int column = 0; column < items->columns; column++)
	{
		for (uint32 i = bf_index_first_of(items, column); i < items->end[column]; i++)
			addHyperLogLog(&count->items[column], (uint32) items->hashes[i]);
		count->added[column] += items->end[column] - bf_index_first_of(items, column);
	}
}

double
bf_index_count_range(const BfSummarizer *work, const BfGeometry *geometry, int level, uint32 range,
					 BlockNumber heap_blocks, double *counts)
{
	const BlockNumber pages_per_range = geometry->level[level].pages_per_range;
	const uint64 first = Min((uint64) range * pages_per_range, heap_blocks);
	const uint64 end = Min(first + pages_per_range, heap_blocks);

	if (level == 0)
	{
		BfRangeItems items;

		bf_index_read_range(work->reader, range, pages_per_range, heap_blocks, &items);
		for (int column = 0; column < geometry->columns; column++)
			counts[column] = (double) bf_index_items_if_full(&items, column);
		bf_index_free_items(&items);
	}
	else
	{
		ItemCount  *count = palloc0(sizeof(ItemCount));

		for (int column = 0; column < geometry->columns; column++)
			initHyperLogLog(&count->items[column], WIDTH_OF_ESTIMATE);
		bf_index_read_items(work, geometry, first, end, count_row, count);
		for (int column = 0; column < geometry->columns; column++)
		{
			counts[column] = Min(estimateHyperLogLog(&count->items[column]), count->added[column]);
			freeHyperLogLog(&count->items[column]);
		}
		pfree(count);
	}
	return (double) (end - first);
}

void
bf_index_counts_of(const BfGeometry *geometry, int level, const BfItems *items, uint32 from,
				   BfCounts columns[INDEX_MAX_KEYS])
{
	for (int column = 0; column < geometry->columns; column++)
		columns[column] = bf_index_counts(geometry, level, column, &items->of[column][from]);
}

/* ----------------------------------------------------------------------- sizes */

/* Makes each of lines[] at least the lines that a group of `ranges` ranges needs if `count` ranges have these items. */
static void
raise_lines(const BfGeometry *geometry, int level, const BfItems *items, uint32 count, uint32 ranges, uint32 *lines)
{
	BfCounts	columns[INDEX_MAX_KEYS];

	bf_index_counts_of(geometry, level, items, 0, columns);
	for (int column = 0; column < geometry->columns; column++)
		lines[column] = Max(lines[column], bf_index_lines_for(&columns[column], count, ranges));
}

/* Sets range `at` of *items to unknown. */
static void
set_unknown(const BfGeometry *geometry, BfItems *items, uint32 at)
{
	for (int column = 0; column < geometry->columns; column++)
		items->of[column][at] = -1;
}

/*
 * Adds to *items, which has `count` ranges, what the bits of the ranges from `first` to the end of the level's groups
 * tell. A range that is not summarized, or too full for its filter, is unknown. Returns the new number of ranges.
 */
static uint32
items_by_bits(const BfSummarizer *work, const BfGeometry *geometry, int level, uint32 first, BfItems *items)
{
	BfGroupMeasure *measure = palloc(sizeof(BfGroupMeasure));
	uint32		count = 0;
	BfGroup		group;

	for (uint32 range = first; range < geometry->level[level].covered; range = group.first_range + group.ranges)
	{
		bf_index_find_group(geometry, level, range, &group);
		bf_index_measure_group(work->index, geometry, &group, BF_PAGES_THAT_TELL, measure);
		for (uint32 i = range - group.first_range; i < group.ranges; i++, count++)
			for (int column = 0; column < geometry->columns; column++)
				items->of[column][count] = measure->rates[i] >= BF_TOO_FULL ? -1 : measure->items.of[column][i];
	}
	pfree(measure);
	return count;
}

/*
 * Reads up to `most` ranges among the `count` ranges from number `first` on, the last one always: rows to come are most
 * like those written last. Sets the items of the others to unknown.
 */
static void
count_some(const BfSummarizer *work, const BfGeometry *geometry, int level, uint32 first, uint32 count, uint32 most,
		   BlockNumber heap_blocks, BfItems *items)
{
	const uint32 samples = Min(count, most);

	for (uint32 i = 0; i < count; i++)
		set_unknown(geometry, items, i);
	for (uint32 i = 0; i < samples; i++)
	{
		const uint32 range = samples == 1 ? count - 1 : (uint64) i * (count - 1) / (samples - 1);
		double		counts[INDEX_MAX_KEYS];

		(void) bf_index_count_range(work, geometry, level, first + range, heap_blocks, counts);
		for (int column = 0; column < geometry->columns; column++)
			items->of[column][range] = counts[column];
	}
}

/*
 * The ranges before the end of the level's groups, at most `most` of them, by whole groups: the first of these ranges.
 */
static uint32
first_of_last_groups(const BfGeometry *geometry, int level, uint32 most)
{
	const uint32 covered = geometry->level[level].covered;
	uint32		first = covered;

	while (first > 0)
	{
		BfGroup		group;

		bf_index_find_group(geometry, level, first - 1, &group);
		if (covered - group.first_range > most)
			break;
		first = group.first_range;
	}
	return first;
}

/* ----------------------------------------------------------------------- plans */

static BfGroup *
add_group(BfPlan *plan, int level, int columns, uint32 first, uint32 ranges)
{
	BfGroup    *group = &plan->groups[plan->count];

	*group = (BfGroup) {
		.level = level,
		.columns = columns,
		.first_range = first,
		.ranges = ranges,
		.positions = BF_POSITIONS(ranges),
		.lines = plan->lines[plan->count]
	};
	plan->count++;
	return group;
}

void
bf_index_plan_one(const BfGroup *group, const uint32 *lines, BfPlan *plan)
{
	plan->count = 0;
	memcpy(plan->lines[0], lines, group->columns * sizeof(uint32));
	(void) add_group(plan, group->level, group->columns, group->first_range, group->ranges);
}

void
bf_index_plan_division(const BfGeometry *geometry, const BfGroup *group, const BfItems *items, BfPlan *plan)
{
	BfGroupsToBuild to_build = {.covered = geometry->level[1].groups > 0};
	uint32		ranges;

	plan->count = 0;
	for (uint32 at = 0; at < group->ranges; at += ranges)
	{
		BfCounts	columns[INDEX_MAX_KEYS];
		uint32	   *lines = plan->lines[plan->count];

		bf_index_counts_of(geometry, 0, items, at, columns);
		to_build.keeps_full = plan->count + BF_MOST_GROUPS + 2 > BF_MOST_PLANNED;
		ranges = bf_index_group_to_build(&to_build, columns, geometry->columns, group->first_range + at,
										 group->ranges - at, lines);
		if (at == 0)
			bf_index_settle_by_group_before(geometry, 0, group->first_range, ranges, lines);
		(void) add_group(plan, 0, geometry->columns, group->first_range + at, ranges);
	}
}

/*
 * Plans one group in the place of all groups of a level above 0, with `ranges` ranges. The items of its ranges are told
 * by the bits of the groups, and some of those that these do not tell, old and new ones, are counted. Returns false if
 * the groups and further ones take less space.
 */
static bool
plan_union(const BfSummarizer *work, const BfGeometry *geometry, int level, uint32 ranges, uint32 available,
		   BlockNumber heap_blocks, BfPlan *plan)
{
	const BfLevel *of = &geometry->level[level];
	const uint32 known = Min(ranges, of->covered + available);
	BfItems    *items = palloc(sizeof(BfItems));
	uint32		unknown[BF_INDEX_MAX_RANGES];
	uint32		count = items_by_bits(work, geometry, level, 0, items);
	uint32		unknowns = 0;
	uint64		pages = 0;
	BfGroup		group;

	for (; count < ranges; count++)
		set_unknown(geometry, items, count);
	for (uint32 i = 0; i < known; i++)
		if (items->of[0][i] < 0)
			unknown[unknowns++] = i;
	for (uint32 i = 0; i < Min(unknowns, SAMPLED_ABOVE); i++)
	{
		const uint32 range = unknown[i == 0 ? unknowns - 1 : 0];
		double		counts[INDEX_MAX_KEYS];

		(void) bf_index_count_range(work, geometry, level, range, heap_blocks, counts);
		for (int column = 0; column < geometry->columns; column++)
			items->of[column][range] = counts[column];
	}
	memset(plan->lines[0], 0, sizeof plan->lines[0]);
	raise_lines(geometry, level, items, known, ranges, plan->lines[0]);
	for (uint32 range = 0; range < of->covered; range = group.first_range + group.ranges)
	{
		bf_index_find_group(geometry, level, range, &group);
		pages += bf_index_group_pages(&group);
	}
	(void) add_group(plan, level, geometry->columns, 0, ranges);
	pfree(items);
	return bf_index_is_worth_uniting(level, of->covered, pages, ranges, plan->lines[0], geometry->columns);
}

/*
 * Plans the next group of a level that grows. If few of its ranges are in the heap, the ranges before them may tell as
 * much of those to come, so the larger sizes are taken.
 */
static void
plan_next(const BfSummarizer *work, const BfGeometry *geometry, int level, uint32 available, BlockNumber heap_blocks,
		  BfPlan *plan)
{
	const uint32 first = geometry->level[level].covered;
	const uint32 ranges = work->building ? bf_index_group_to_build_above(Min(available, BF_INDEX_MAX_RANGES)) :
		bf_index_group_to_grow(level, first, available);
	const uint32 whole = heap_blocks / geometry->level[level].pages_per_range;
	/* on level 0 the last range may lack pages; it counts only if it is alone */
	const uint32 candidates = Max(1, Min(Min(available, ranges), whole > first ? whole - first : 0));
	const uint32 most = work->building ? SAMPLED_IN_BUILD : level == 0 ? SAMPLED_RANGES : SAMPLED_ABOVE;
	uint32	   *lines = plan->lines[0];
	BfItems    *items = palloc(sizeof(BfItems));

	memset(lines, 0, sizeof plan->lines[0]);
	count_some(work, geometry, level, first, candidates, most, heap_blocks, items);
	raise_lines(geometry, level, items, candidates, ranges, lines);
	if (first > 0 && (level > 0 || candidates < SAMPLED_RANGES))
	{
		const uint32 count = items_by_bits(work, geometry, level,
										   first_of_last_groups(geometry, level, BF_INDEX_MAX_RANGES), items);

		if (count > 0)
			raise_lines(geometry, level, items, count, ranges, lines);
	}
	bf_index_settle_by_group_before(geometry, level, first, ranges, lines);
	(void) add_group(plan, level, geometry->columns, first, ranges);
	pfree(items);
}

void
bf_index_plan_growth(const BfSummarizer *work, const BfGeometry *geometry, int level, BlockNumber heap_blocks,
					 bool may_unite, BfPlan *plan)
{
	const BfLevel *of = &geometry->level[level];
	const uint32 first = of->covered;
	const uint32 end = level == 0 ? bf_index_ranges_of(geometry, 0, heap_blocks) : heap_blocks / of->pages_per_range;
	const uint32 available = end > first ? end - first : 0;
	const uint32 united = may_unite && level > 0 && available > 0 ?
		bf_index_group_to_unite(first, available, of->pages_per_range) : 0;

	plan->count = 0;
	if (united == 0 || !plan_union(work, geometry, level, united, available, heap_blocks, plan))
	{
		plan->count = 0;
		plan_next(work, geometry, level, available, heap_blocks, plan);
	}
}
