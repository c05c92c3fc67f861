/*
 * count.c: estimates how many different items rows have, in little memory, whatever their number is. If there are
 * many items, only those whose hashes end with some zero bits are counted.
 *
 * The hash function is public, so somebody can choose items whose hashes all end with zero bits. Then every item is
 * counted, and the count is scaled up as if it were that of a small sample. To limit the harm, no estimate is larger
 * than the number of hashes that were added.
 */
#include "index/count.h"

#include <math.h>

#include "utils/memutils.h"

#include "base/call.h"
#include "base/memory.h"
#include "index/heap.h"
#include "index/items.h"

/* A sample that has more hashes than this is halved. */
#define MOST_COUNTED 65536

/* The number of hashes that a new set has room for. */
#define FIRST_ROOM 2048

/* The most hashes that are added to a set at once. */
#define AT_ONCE 4096

/* The hashes of a column that end with at least `zeros` zero bits. */
typedef struct Sample
{
	sb_hash_set set;
	int			zeros;
	uint64		added;			/* how many hashes were added, in the sample or not; equal ones count each time */
} Sample;

struct BfItemCount
{
	sb_memory	memory;
	int			columns;
	Sample		samples[INDEX_MAX_KEYS];
};

BfItemCount *
bf_index_begin_count(int columns)
{
	BfItemCount *count = palloc0(sizeof(BfItemCount));

	count->memory = memory_in(CurrentMemoryContext);
	count->columns = columns;
	for (int column = 0; column < columns; column++)
		must_finish(sb_hash_set_begin(&count->samples[column].set, &count->memory, FIRST_ROOM));
	return count;
}

static inline bool
belongs_to(const Sample *sample, uint64 hash)
{
	return (hash & ((UINT64_C(1) << sample->zeros) - 1)) == 0;
}

/* Adds those of the hashes that belong to the sample. */
static void
add_some(Sample *sample, const sb_memory *memory, const uint64 *hashes, uint64 number)
{
	uint64		chosen[AT_ONCE];

	Assert(number <= AT_ONCE);
	if (sample->zeros > 0)
	{
		uint64		kept = 0;

		for (uint64 i = 0; i < number; i++)
		{
			chosen[kept] = hashes[i];
			kept += belongs_to(sample, hashes[i]);
		}
		hashes = chosen;
		number = kept;
	}
	must_finish(sb_hash_set_add_many(&sample->set, memory, hashes, number));
}

/* Takes about half of the hashes out of the sample. */
static void
halve(Sample *sample, const sb_memory *memory)
{
	uint64		count = sample->set.count;
	uint64	   *hashes = bf_index_take_set(&sample->set);

	sample->zeros++;
	for (uint64 i = 0; i < count; i += AT_ONCE)
		add_some(sample, memory, hashes + i, Min(count - i, AT_ONCE));
	pfree(hashes);
}

static void
add_hashes(Sample *sample, const sb_memory *memory, const uint64 *hashes, uint64 number)
{
	/*
	 * The hashes may be ascending. Then the first ones would crowd together in a set that has no room yet for the
	 * later ones.
	 */
	must_finish(sb_hash_set_reserve(&sample->set, memory, Min(number >> sample->zeros, MOST_COUNTED)));
	for (uint64 i = 0; i < number; i += AT_ONCE)
	{
		add_some(sample, memory, hashes + i, Min(number - i, AT_ONCE));
		while (sample->set.count > MOST_COUNTED)
			halve(sample, memory);
	}
}

void
bf_index_count_hashes(BfItemCount *count, int column, const uint64 *hashes, uint64 number)
{
	count->samples[column].added += number;
	add_hashes(&count->samples[column], &count->memory, hashes, number);
}

void
bf_index_count_row(const BfRowItems *items, void *argument)
{
	for (int column = 0; column < items->columns; column++)
	{
		const uint32 first = bf_index_first_of(items, column);

		bf_index_count_hashes(argument, column, items->hashes + first, items->end[column] - first);
	}
}

/*
 * Adds the hashes of sample `from` to sample `to`, and leaves `from` empty. The result has at least as many zeros as
 * each of the two: the sample with more zeros has dropped the hashes that end with fewer. The result is the same as if
 * one sample had counted all hashes. Such a sample would have been halved at least as often as the one with more zeros,
 * because it would have got all hashes of that one.
 */
static void
move_sample(Sample *from, Sample *to, const sb_memory *memory)
{
	uint64		number = from->set.count;
	uint64	   *hashes = bf_index_take_set(&from->set);

	while (to->zeros < from->zeros)
		halve(to, memory);
	to->added += from->added;
	add_hashes(to, memory, hashes, number);
	pfree(hashes);
}

void
bf_index_end_count(BfItemCount *count, double *counts, BfItemCount *other)
{
	for (int column = 0; column < count->columns; column++)
	{
		Sample	   *sample = &count->samples[column];

		counts[column] = Min(ldexp((double) sample->set.count, sample->zeros), (double) sample->added);
		if (other != NULL)
			move_sample(sample, &other->samples[column], &other->memory);
		sb_hash_set_release(&sample->set, &count->memory);
	}
	pfree(count);
}

/* ------------------------------------------------------- the levels above 0, during a build */

/*
 * The ranges of level 0 are read one after the other, so on each level one range is being counted at a time. A range of
 * level 1 is counted from the items of its ranges of level 0. A range of a higher level is counted from the samples of
 * its ranges on the level below.
 */

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
