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
	}
	else
	{
		double		size = size_of_ranges(index, reader, heap_blocks, pages, BF_RANGES_THAT_TELL);

		pages = bf_index_range_length_for(size * BF_LINES_OF_A_RANGE, heap_blocks, is_partition);
	}
	bf_index_settle_pages_per_range(index, pages);
}
