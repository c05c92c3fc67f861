/*
 * heap_range.c: reads the different items of a range of the heap: for each column an array of hashes, in any order.
 * Also estimates how many items a range that lacks pages will have once it is full.
 */
#include "index/heap_reader.h"

#include <math.h>

#include "utils/memutils.h"

#include "base/call.h"
#include "base/memory.h"

/* Moves the hashes of a set into an array. */
static uint64 *
take_set(sb_hash_set *set)
{
	uint64	   *hashes = palloc_extended(Max(set->count, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);

	must_finish(sb_hash_set_take(set, hashes));
	return hashes;
}

/* The number of rows that a range of the default size has, roughly. A set with room for so many rarely has to grow. */
#define ITEMS_EXPECTED 2048

/*
 * A set is replaced by a small one if it has more slots than this for each item of the range that was read into it. The
 * range counts as having at least ITEMS_EXPECTED items.
 */
#define MOST_SLOTS_AN_ITEM 16

/*
 * To be called for an empty set that held the `items` hashes of one range and will hold those of the next range. If
 * the set has far more slots than so many hashes need, a small set takes its place. Otherwise each range after one with
 * a million items (one large array may have as many) would cost as much as that range: to take the hashes out of a set,
 * all its slots are read and cleared.
 */
static void
shrink_set(sb_hash_set *set, const sb_memory *memory, uint64 items)
{
	if (set->capacity <= MOST_SLOTS_AN_ITEM * Max(items, ITEMS_EXPECTED))
		return;
	sb_hash_set_release(set, memory);
	must_finish(sb_hash_set_begin(set, memory, ITEMS_EXPECTED));
}

/* Makes an empty set for each column, unless it was made for an earlier range. */
static void
prepare_sets(BfHeapReader *reader)
{
	sb_memory	memory = memory_in(GetMemoryChunkContext(reader));

	for (int column = 0; column < reader->itemizer.columns; column++)
		if (reader->sets[column].slots == NULL)
			must_finish(sb_hash_set_begin(&reader->sets[column], &memory, ITEMS_EXPECTED));
}

void
bf_index_release_sets(BfHeapReader *reader)
{
	sb_memory	memory = memory_in(GetMemoryChunkContext(reader));

	for (int column = 0; column < reader->itemizer.columns; column++)
		if (reader->sets[column].slots != NULL)
			sb_hash_set_release(&reader->sets[column], &memory);
}

/* Adds the items of a row version to the sets of the reader. */
static void
add_to_sets(const BfRowItems *items, void *argument)
{
	BfHeapReader *reader = argument;
	sb_memory	memory = memory_in(GetMemoryChunkContext(reader));

	for (int column = 0; column < items->columns; column++)
		for (uint32 i = bf_index_first_of(items, column); i < items->end[column]; i++)
			must_finish(sb_hash_set_add(&reader->sets[column], &memory, items->hashes[i]));
}

/*
 * If a range lacks pages, because the heap ends in it, bf_index_items_if_full() scales up its items in proportion to
 * the space in use. But documents of many kilobytes lie out of line: a few of them take little space in the range, and
 * can have as many keys as a whole range of other rows. So the estimate is at most this number, or the number of rows
 * that the range can have, if that is greater. But it is never less than the number that was counted.
 */
#define MOST_KEYS_EXPECTED (1024 * 1024)

void
bf_index_read_range(BfHeapReader *reader, uint32 range, BlockNumber pages_per_range, BlockNumber heap_blocks,
					BfRangeItems *items)
{
	uint64		first = (uint64) range * pages_per_range;
	uint64		end = Min(first + pages_per_range, heap_blocks);
	const BfHorizons before = reader->horizons;
	sb_memory	memory = memory_in(GetMemoryChunkContext(reader));

	items->range = range;
	items->columns = reader->itemizer.columns;
	items->most_expected = Max(MOST_KEYS_EXPECTED, (uint64) pages_per_range * MaxHeapTuplesPerPage);
	prepare_sets(reader);
	reader->bytes = 0;
	bf_index_forget_horizons(reader);
	if (first < end)
		bf_index_read_rows(reader, first, end, add_to_sets, reader);
	items->horizons = reader->horizons;
	bf_index_raise_horizons(reader, before);
	items->share = first + pages_per_range <= heap_blocks ? 1 :
		Min(1, reader->bytes / ((double) pages_per_range * (BLCKSZ - SizeOfPageHeaderData)));
	for (int column = 0; column < items->columns; column++)
	{
		items->counts[column] = reader->sets[column].count;
		items->hashes[column] = take_set(&reader->sets[column]);
		shrink_set(&reader->sets[column], &memory, items->counts[column]);
	}
}

uint64
bf_index_items_if_full(const BfRangeItems *items, int column)
{
	const uint64 if_full = (uint64) ceil(items->counts[column] / Max(items->share, 1e-6));

	return Max(items->counts[column], Min(if_full, items->most_expected));
}

void
bf_index_free_items(BfRangeItems *items)
{
	for (int column = 0; column < items->columns; column++)
		pfree(items->hashes[column]);
}
