/*
 * count.c: estimates how many different items rows have, in little memory, whatever their number is: of many items only those
 * are counted whose hashes end with some zeros.
 */
#include "index/count.h"

#include <math.h>

#include "base/call.h"
#include "base/memory.h"
#include "index/heap.h"
#include "index/items.h"

/* A column has at most so many hashes in memory while its items are counted. */
#define MOST_COUNTED 65536

/* A set begins with room for so many. */
#define FIRST_ROOM 2048

/* The hashes of a column whose last `zeros` bits are zero. */
typedef struct Sample
{
	sb_hash_set set;
	int			zeros;
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

/* Leaves half of the hashes in the sample. */
static void
halve(Sample *sample, const sb_memory *memory)
{
	uint64		count = sample->set.count;
	uint64	   *hashes = bf_index_take_set(&sample->set);

	sample->zeros++;
	for (uint64 i = 0; i < count; i++)
		if (belongs_to(sample, hashes[i]))
			must_finish(sb_hash_set_add(&sample->set, memory, hashes[i]));
	pfree(hashes);
}

void
bf_index_count_hashes(BfItemCount *count, int column, const uint64 *hashes, uint64 number)
{
	Sample	   *sample = &count->samples[column];

	for (uint64 i = 0; i < number; i++)
	{
		if (belongs_to(sample, hashes[i]))
			must_finish(sb_hash_set_add(&sample->set, &count->memory, hashes[i]));
		if (sample->set.count > MOST_COUNTED)
			halve(sample, &count->memory);
	}
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

void
bf_index_end_count(BfItemCount *count, double *counts)
{
	for (int column = 0; column < count->columns; column++)
	{
		counts[column] = ldexp((double) count->samples[column].set.count, count->samples[column].zeros);
		sb_hash_set_release(&count->samples[column].set, &count->memory);
	}
	pfree(count);
}
