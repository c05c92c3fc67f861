/*
 * upper_counts.c: how many items the ranges of the levels above 0 have. (An index has up to four levels. On each of
 * them it divides the heap into ranges of pages, which are longer on higher levels.) The ranges of level 0 are read one
 * after the other, so on each level one range is being counted at a time. A range of level 1 is counted from the items
 * of its ranges of level 0. A range of a higher level is counted from the samples (count.c) of its ranges on the level
 * below.
 */
#include "index/upper_counts.h"

#include "utils/memutils.h"

#include "index/count.h"

/* What is known of one level. */
typedef struct LevelCounts
{
	uint32		factor;			/* ranges of level 0 in one range; 0: the index cannot have this level */
	uint32		ranges;			/* number of ranges that the heap fills */
	/* items[r * columns + c]: how many items range r has in column c; -1: not counted yet */
	double	   *items;
	BfItemCount *count;			/* the count of the range that is being counted; or NULL */
} LevelCounts;

struct BfUpperCounts
{
	MemoryContext context;
	int			columns;
	LevelCounts level[BF_INDEX_MAX_LEVELS];
};

BfUpperCounts *
bf_index_begin_upper_counts(const BfGeometry *geometry, BlockNumber heap_blocks)
{
	BfUpperCounts *counts = palloc0(sizeof(BfUpperCounts));

	counts->context = CurrentMemoryContext;
	counts->columns = geometry->columns;
	for (int level = 1; level < bf_index_possible_levels(geometry); level++)
	{
		LevelCounts *of = &counts->level[level];
		Size		numbers;

		of->factor = bf_index_level_factor(geometry, level);
		of->ranges = heap_blocks / geometry->level[level].pages_per_range;
		numbers = (Size) of->ranges * geometry->columns;
		of->items = palloc_extended(Max(numbers, 1) * sizeof(double), MCXT_ALLOC_HUGE);
		for (Size i = 0; i < numbers; i++)
			of->items[i] = -1;
	}
	return counts;
}

/* Is the range of this level that contains range `range` of level 0 counted? It is if the heap fills it. */
static bool
is_counted(const LevelCounts *of, uint32 range)
{
	return of->factor != 0 && range / of->factor < of->ranges;
}

void
bf_index_count_upper(BfUpperCounts *counts, const BfRangeItems *items)
{
	MemoryContext caller = MemoryContextSwitchTo(counts->context);
	LevelCounts *lowest = &counts->level[1];

	for (int level = 1; level < BF_INDEX_MAX_LEVELS && is_counted(&counts->level[level], items->range); level++)
		if (items->range % counts->level[level].factor == 0)
			counts->level[level].count = bf_index_begin_count(counts->columns);
	if (is_counted(lowest, items->range))
		for (int column = 0; column < counts->columns; column++)
			bf_index_count_hashes(lowest->count, column, items->hashes[column], items->counts[column]);
	/*
	 * A range of level 1 or above that ends with this range of level 0 passes its sample on to the range of the next
	 * level that contains it.
	 */
	for (int level = 1; level < BF_INDEX_MAX_LEVELS && is_counted(&counts->level[level], items->range); level++)
	{
		LevelCounts *of = &counts->level[level];
		LevelCounts *above = level + 1 < BF_INDEX_MAX_LEVELS ? of + 1 : NULL;

		if (items->range % of->factor != of->factor - 1)
			break;
		bf_index_end_count(of->count, &of->items[(Size) (items->range / of->factor) * counts->columns],
						   above != NULL && is_counted(above, items->range) ? above->count : NULL);
		of->count = NULL;
	}
	MemoryContextSwitchTo(caller);
}

double
bf_index_upper_count(const BfUpperCounts *counts, int level, uint32 range, int column)
{
	const LevelCounts *of = &counts->level[level];

	return range < of->ranges ? of->items[(Size) range * counts->columns + column] : -1;
}
