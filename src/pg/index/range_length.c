/*
 * range_length.c: chooses how many pages the ranges of an index have, by reading some ranges of its table.
 */
#include "index/range_length.h"

#include "index/directory.h"
#include "index/geometry.h"
#include "index/group.h"
#include "index/sizes.h"

/*
 * Returns how large the filters of ranges of `pages` pages would be in their largest column: 1 means as many lines of
 * 64 bytes as a range should have. The result is estimated from up to `samples` ranges that are spread evenly over the
 * table.
 */
static double
size_of_ranges(Relation index, BfHeapReader *reader, BlockNumber heap_blocks, BlockNumber pages, uint32 samples)
{
	uint32		ranges = Max(heap_blocks / pages, 1);
	double		sizes[Max(BF_RANGES_THAT_TELL, BF_RANGES_WITH_KEYS_THAT_TELL)];

	samples = Min(samples, ranges);
	for (uint32 i = 0; i < samples; i++)
	{
		const BfGeometry *geometry;
		BfRangeItems items;
		double		size = 0;

		bf_index_read_range(reader, (uint64) i * ranges / samples, pages, heap_blocks, &items);
		geometry = bf_index_current_geometry(index);
		for (int column = 0; column < geometry->columns; column++)
		{
			const BfParameters *parameters = &geometry->column[column];
			double		lines = bf_index_items_if_full(&items, column) / parameters->load;

			if (parameters->keys == BF_KEYS_INSIDE)
				size = Max(size, lines / BF_LINES_OF_A_RANGE_WITH_KEYS);
			else
				size = Max(size, lines / BF_LINES_OF_A_RANGE);
		}
		bf_index_free_items(&items);
		sizes[i] = size;
	}
	return bf_index_size_that_tells(sizes, samples);
}

static bool
has_keys_inside(const BfGeometry *geometry)
{
	for (int column = 0; column < geometry->columns; column++)
		if (geometry->column[column].keys == BF_KEYS_INSIDE)
			return true;
	return false;
}

/* The items of the ranges that were read, in one column. */
typedef struct Pool
{
	uint64	   *hashes;
	Size		count;
} Pool;

/*
 * The share of a range's items that another range has too, in the mean over all pairs of these ranges. A range has an
 * item once.
 */
static double
share_in_common(Pool *pool, uint32 ranges)
{
	double		pairs = 0;
	Size		end;

	qsort(pool->hashes, pool->count, sizeof(uint64), item_compare_hashes);
	for (Size i = 0; i < pool->count; i = end)
	{
		for (end = i + 1; end < pool->count && pool->hashes[end] == pool->hashes[i];)
			end++;
		pairs += (double) (end - i) * (end - i - 1);
	}
	return pool->count == 0 ? 0 : pairs / (ranges - 1) / pool->count;
}

/*
 * How much two ranges of `pages` pages have in common, in the column with keys where this is most: from 0 to 1. It is
 * estimated from ranges that are spread evenly over the table. 0 if the table is too small for that.
 */
static double
common_keys(Relation index, BfHeapReader *reader, BlockNumber heap_blocks, BlockNumber pages)
{
	const uint32 ranges = heap_blocks / pages;
	const int	columns = bf_index_current_geometry(index)->columns;
	Pool		pools[INDEX_MAX_KEYS] = {{0}};
	double		most = 0;

	if (ranges < BF_RANGES_WITH_KEYS_THAT_TELL)
		return 0;
	for (uint32 i = 0; i < BF_RANGES_WITH_KEYS_THAT_TELL; i++)
	{
		BfRangeItems items;

		bf_index_read_range(reader, (uint64) i * ranges / BF_RANGES_WITH_KEYS_THAT_TELL, pages, heap_blocks, &items);
		for (int column = 0; column < columns; column++)
		{
			Pool	   *pool = &pools[column];
			const Size	size = (pool->count + items.counts[column]) * sizeof(uint64);

			pool->hashes = pool->hashes == NULL ? palloc_extended(Max(size, 1), MCXT_ALLOC_HUGE) :
				repalloc_huge(pool->hashes, Max(size, 1));
			memcpy(pool->hashes + pool->count, items.hashes[column], items.counts[column] * sizeof(uint64));
			pool->count += items.counts[column];
		}
		bf_index_free_items(&items);
	}
	for (int column = 0; column < columns; column++)
	{
		if (bf_index_current_geometry(index)->column[column].keys == BF_KEYS_INSIDE)
			most = Max(most, share_in_common(&pools[column], BF_RANGES_WITH_KEYS_THAT_TELL));
		pfree(pools[column].hashes);
	}
	return most;
}

/*
 * Short values, such as addresses, have few different keys: a range of some pages has most keys of the column, and no
 * query rules it out. Returns how many pages a range may have, up to `pages`: it is halved as long as ranges have most
 * keys in common, and half the length makes them differ more.
 */
static BlockNumber
length_that_tells(Relation index, BfHeapReader *reader, BlockNumber heap_blocks, BlockNumber pages)
{
	double		common = common_keys(index, reader, heap_blocks, pages);

	while (pages > 1 && common > BF_MOST_KEYS_IN_COMMON)
	{
		const double of_half = common_keys(index, reader, heap_blocks, pages / 2);

		if (of_half > common - BF_FEWER_IN_COMMON)
			break;
		common = of_half;
		pages /= 2;
	}
	return pages;
}

void
bf_index_choose_range_length(Relation index, BfHeapReader *reader, BlockNumber heap_blocks)
{
	const bool	is_partition = index->rd_rel->relispartition;
	BlockNumber pages = BF_INDEX_DEFAULT_PAGES_PER_RANGE;

	if (bf_index_current_geometry(index)->level[0].pages_per_range != 0)
		return;
	if (has_keys_inside(bf_index_current_geometry(index)))
	{
		/*
		 * Neighboring rows share keys, so half of a range has more than half of its different keys. How many more
		 * cannot be calculated, so ranges of 16 pages are read, then of 8 pages, and so on, until a length is too
		 * short. They are spread over the table, because the beginning of a log may be unlike the rest of it.
		 *
		 * The branch for values gives a small table longer ranges, so that a search reads fewer pages of the index
		 * (bf_index_range_length_for()). This one does not: a query has several keys, and so it reads several pages
		 * of the index anyway.
		 */
		double		size = 0;

		while (pages > 1)
		{
			/*
			 * If ranges are longer than the heap, all of the heap is read, whatever their length, and their size is
			 * extrapolated. So it is measured once, and then is taken to be proportional to their length.
			 */
			if (size > 0 && pages / 2 > heap_blocks)
				size /= 2;
			else
				size = size_of_ranges(index, reader, heap_blocks, pages / 2, BF_RANGES_WITH_KEYS_THAT_TELL);
			if (size < BF_ENOUGH_OF_A_RANGE)
				break;
			pages /= 2;
		}
		pages = length_that_tells(index, reader, heap_blocks, pages);
	}
	else
	{
		double		size = size_of_ranges(index, reader, heap_blocks, pages, BF_RANGES_THAT_TELL);

		pages = bf_index_range_length_for(size * BF_LINES_OF_A_RANGE, heap_blocks, is_partition);
	}
	bf_index_settle_pages_per_range(index, pages);
}
