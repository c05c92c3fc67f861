/*
 * new_group.c: makes the groups of a level, with filters of the size that their ranges need. (On each level of an index
 * the heap is divided into ranges, all of the same length. A group is consecutive ranges of a level; in a column, all
 * its filters have the same size.)
 *
 * In a build the items of all ranges have been counted before. (build.c itself makes the groups of level 0.) Later,
 * some ranges are read in the heap, to estimate how many items the ranges of the new group have.
 */
#include "index/new_group.h"

#include "index/count.h"
#include "index/directory.h"
#include "index/group.h"
#include "index/measure.h"

/* At most this many ranges are read to find the size of a new group's filters on level 0. */
#define SAMPLED_RANGES 4

/*
 * Sets lines[] to the sizes of a new group on level 0, from up to SAMPLED_RANGES ranges that are read. The first
 * `candidates` ranges of the group have all their pages, and the ranges that are read lie evenly among these. Fewer
 * candidates than SAMPLED_RANGES say little about the ranges to come. Then the ranges before the group are candidates
 * too, at most as many as the group has.
 */
static void
size_by_sample(const BfSummarizer *work, const BfGeometry *geometry, const BfGroup *group, uint32 candidates,
			   BlockNumber heap_blocks, uint32 *lines)
{
	const uint32 before = candidates >= SAMPLED_RANGES ? 0 : Min(group->first_range, group->ranges);
	const uint32 from = group->first_range - before;
	const uint32 known = Max(before + candidates, 1);	/* if it is 1, that range may lack pages */
	const uint32 samples = Min(known, SAMPLED_RANGES);
	double		counts[INDEX_MAX_KEYS][SAMPLED_RANGES];

	for (uint32 i = 0; i < samples; i++)
	{
		BfRangeItems items;
		/* the last range is always read: rows to come are most like those written last */
		uint32		range = from + known - 1 - (uint64) i * known / samples;

		bf_index_read_range(work->reader, range, geometry->level[0].pages_per_range, heap_blocks, &items);
		for (int column = 0; column < geometry->columns; column++)
			counts[column][i] = bf_index_items_if_full(&items, column);
		bf_index_free_items(&items);
	}
	for (int column = 0; column < geometry->columns; column++)
	{
		const BfCounts of_column = bf_index_counts(geometry, 0, column, counts[column]);

		lines[column] = bf_index_lines_for(&of_column, samples, group->ranges);
	}
}

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

/* At most this many ranges of a level above 0 are read in the heap to find the size of a new group's filters. */
#define SAMPLED_ABOVE 2

/*
 * Estimates how many items the ranges of the level's last groups have in a column, and writes the numbers to items[].
 * They follow from the bits that are set in the filters. Takes as many of the last groups as have at most
 * BF_INDEX_MAX_RANGES ranges together. Returns the number of these ranges.
 */
static uint32
items_of_last_groups(const BfSummarizer *work, const BfGeometry *geometry, int level, int column, double *items)
{
	uint32		end = geometry->level[level].covered;
	uint32		count = 0;

	while (end > 0)
	{
		double		of_group[BF_INDEX_MAX_RANGES];
		BfGroup		group;

		bf_index_find_group(geometry, level, end - 1, &group);
		if (count + group.ranges > BF_INDEX_MAX_RANGES)
			break;
		bf_index_estimate_items(work->index, geometry, &group, column, BF_PAGES_THAT_TELL, of_group);
		memcpy(&items[count], of_group, group.ranges * sizeof(double));
		count += group.ranges;
		end = group.first_range;
	}
	return count;
}

/*
 * Calculates the sizes that the new ranges need, and those that the ranges of the last groups need, and takes the
 * larger ones. When a table grows, there is often only one new range, and the ranges to come may be like it, or like
 * those before it.
 */
void
bf_index_size_above(const BfSummarizer *work, const BfGeometry *geometry, const BfGroup *group, uint32 candidates,
					uint32 *lines)
{
	const BfLevel *of = &geometry->level[group->level];
	const uint64 heap_blocks = RelationGetNumberOfBlocks(work->heap);
	const uint32 samples = Min(Max(candidates, 1), SAMPLED_ABOVE);
	double		counts[INDEX_MAX_KEYS][SAMPLED_ABOVE];

	for (uint32 i = 0; i < samples; i++)
	{
		/* The last range is read too: rows to come are more like those written last. */
		uint32		range = of->covered + (samples == 1 ? 0 : (uint64) i * (candidates - 1) / (samples - 1));
		uint64		first = (uint64) range * of->pages_per_range;
		BfItemCount *count = bf_index_begin_count(geometry->columns);
		double		items[INDEX_MAX_KEYS];

		bf_index_read_items(work, geometry, Min(first, heap_blocks), Min(first + of->pages_per_range, heap_blocks),
							bf_index_count_row, count);
		bf_index_end_count(count, items, NULL);
		for (int column = 0; column < geometry->columns; column++)
			counts[column][i] = items[column];
	}
	for (int column = 0; column < geometry->columns; column++)
	{
		BfCounts	of_column = bf_index_counts(geometry, group->level, column, counts[column]);

		lines[column] = bf_index_lines_for(&of_column, samples, group->ranges);
		if (of->groups > 0)
		{
			double		before[BF_INDEX_MAX_RANGES];
			const uint32 count = items_of_last_groups(work, geometry, group->level, column, before);

			of_column.items = before;
			lines[column] = Max(lines[column], bf_index_lines_for(&of_column, count, group->ranges));
		}
	}
}

BfCountsAbove *
bf_index_counts_above(const BfSummarizer *work, const BfGeometry *geometry, int level, uint32 first, uint32 ranges)
{
	BfCountsAbove *counts = palloc(sizeof(BfCountsAbove));

	for (int column = 0; column < geometry->columns; column++)
	{
		for (uint32 i = 0; i < ranges; i++)
			counts->items[column][i] = bf_index_upper_count(work->upper, level, first + i, column);
		counts->columns[column] = bf_index_counts(geometry, level, column, counts->items[column]);
	}
	return counts;
}

/*
 * Makes the next group of a level. In a build, the sizes of its filters come from all its ranges, whose items were
 * counted; *to_build keeps the sizes of the groups that are decided together with it. Otherwise the sizes come from
 * some of its ranges and of the ranges before it. Returns false if the directory, the index's list of groups, is full.
 */
static bool
add_group(const BfSummarizer *work, const BfGeometry *geometry, int level, BlockNumber heap_blocks,
		  BfGroupsToBuild *to_build)
{
	const BfLevel *of = &geometry->level[level];
	const uint32 first = of->covered;
	const uint32 full = heap_blocks / of->pages_per_range;
	const uint32 begun = level == 0 ? bf_index_ranges_of(geometry, 0, heap_blocks) : full;
	const uint32 available = begun > first ? begun - first : 0;
	uint32		line_counts[INDEX_MAX_KEYS];
	BfGroup		group = {.level = level, .columns = geometry->columns, .first_range = first, .lines = line_counts};
	BfGroupLines lines;

	if (!bf_index_reserve_entries(work->index, 1))
		return false;
	if (work->building && available > 0)
	{
		const uint32 count = Min(available, BF_INDEX_MAX_RANGES);
		BfCountsAbove *counts = bf_index_counts_above(work, geometry, level, first, count);

		group.ranges = bf_index_group_to_build(to_build, counts->columns, geometry->columns, first, count, line_counts);
		pfree(counts);
	}
	else
	{
		group.ranges = bf_index_group_to_grow(level, first, available);
		if (level == 0)
			size_by_sample(work, geometry, &group, full > first ? Min(full - first, group.ranges) : 0, heap_blocks,
						   line_counts);
		else
			bf_index_size_above(work, geometry, &group, Min(available, group.ranges), line_counts);
	}
	group.positions = BF_POSITIONS(group.ranges);
	bf_index_settle_by_last_group(geometry, level, group.ranges, line_counts);
	bf_index_make_lines(&lines, geometry, &group);
	bf_index_create_group(work->index, &lines, BF_UNSUMMARIZED, (BfHorizons) {0});
	return true;
}

void
bf_index_add_groups(const BfSummarizer *work, int level, uint32 ranges, BlockNumber heap_blocks)
{
	BfGroupsToBuild to_build = {.level = level};

	for (;;)
	{
		BfGeometry *geometry = bf_index_copy_geometry(bf_index_current_geometry(work->index));
		bool		done = geometry->level[level].covered >= ranges ||
			!add_group(work, geometry, level, heap_blocks, &to_build);

		pfree(geometry);
		if (done)
			return;
	}
}
