/*
 * sample_lengths.c: chooses the lengths of ranges for the columns of a table that is sampled (see sample_lengths.h). It
 * reads ranges as range_length.c in ../index does for an index, but with limits on the bytes of out-of-line values.
 */
#include "advisor/sample_lengths.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "advisor/sample_rows.h"
#include "base/call.h"
#include "base/memory.h"
#include "index/heap.h"
#include "index/sizes.h"

/*
 * Returns whether the length of ranges is still to be chosen for a column whose items are keys (of_keys is true) or
 * values (of_keys is false).
 */
static bool
needs_length(const SampleColumn *column, bool of_keys)
{
	return column->refused == NULL && column->items_are_keys == of_keys && column->pages_per_range == 0;
}

/* Returns whether needs_length() is true for any column. */
static bool
any_needs_length(const Sample *sample, bool of_keys)
{
	for (int i = 0; i < sample->column_count; i++)
		if (needs_length(&sample->columns[i], of_keys))
			return true;
	return false;
}

/* Returns how many bytes of out-of-line values may still be fetched to choose the length of ranges. */
static uint64
bytes_for_lengths(const Sample *sample)
{
	return sample->most_for_lengths - Min(sample->most_for_lengths, sample->fetched_for_lengths);
}

/*
 * Collects the items of the pages from `first` to `end` (exclusive), for all columns for which needs_length() is true.
 * Ends with the row after which `most` bytes of out-of-line values were fetched. Returns how many pages were read.
 */
static double
collect_items(Sample *sample, TableScanDesc scan, TupleTableSlot *slot, MemoryContext row_context, BlockNumber first,
			  BlockNumber end, bool of_keys, uint64 most)
{
	sb_memory	memory = memory_in(sample->context);
	const uint64 fetched_before = sample->bytes_fetched;
	double		pages = end - first;

	bf_index_begin_pages(scan, first, end);
	while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot))
	{
		MemoryContext caller = MemoryContextSwitchTo(row_context);

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < sample->column_count; i++)
		{
			SampleColumn *column = &sample->columns[i];
			RowItems	row;
			uint32		next = 0;
			uint64		hash;

			if (!needs_length(column, of_keys))
				continue;
			bf_index_read_column(sample, column, slot, false, &row);
			while (column->refused == NULL && bf_index_next_item(column, &row, &next, &hash))
			{
				CHECK_FOR_INTERRUPTS();
				column->added++;
				must_finish(sb_hash_set_add(&column->set, &memory, hash));
			}
		}
		MemoryContextSwitchTo(caller);
		MemoryContextReset(row_context);
		/* If the out-of-line values are long, a part of the pages must do. lines_collected() scales the items up. */
		if (sample->bytes_fetched - fetched_before >= most)
		{
			pages = ItemPointerGetBlockNumber(&slot->tts_tid) + bf_index_share_of_page_read(slot) - first;
			break;
		}
	}
	/*
	 * These bytes count for the limit most_for_lengths, not for most_fetched. If the sample reads some of these pages
	 * too, their bytes are fetched again, and count then.
	 */
	sample->fetched_for_lengths += sample->bytes_fetched - fetched_before;
	sample->bytes_fetched = fetched_before;
	return pages;
}

/*
 * Returns how many lines of a filter the items of a range of `length` pages fill. The table may end inside the range:
 * it has `whole` pages of the range. `pages` of these were read, and their items are in column->set. The number of
 * items is scaled up to `length` pages.
 */
static double
lines_collected(const Sample *sample, SampleColumn *column, double pages, BlockNumber whole, BlockNumber length)
{
	double		items = column->set.count;
	uint8		hashes;

	if (pages < whole)
		items = Max(items, Min(bf_index_items_in_more(column, length / pages), bf_index_most_expected(length)));
	/* The last page of a short table is half full on average. */
	else if (whole < length)
		items *= length / (whole - 0.5);
	bf_index_empty_set(sample, column);
	return items / sb_bf_items_per_line(column->rate, &hashes);
}

/*
 * Finds how many lines the filter of a range of `length` pages needs, for each column for which needs_length() is
 * true. Reads up to `most_places` ranges, evenly over the table, and takes the size that
 * bf_index_choose_range_length() would take from these. For all other columns lines[i] becomes 0.
 *
 * Fetches about bytes_for_lengths() / shares bytes of out-of-line values at most. Each range may use an equal share
 * of what the earlier ranges have left. When nothing is left, no further ranges are read.
 */
static void
lines_of_ranges(Sample *sample, TableScanDesc scan, TupleTableSlot *slot, MemoryContext row_context, BlockNumber length,
				uint32 most_places, bool of_keys, int shares, double *lines)
{
	const uint32 ranges = Max(sample->heap_blocks / length, 1);
	const uint32 places = Min(most_places, ranges);
	const uint64 most = sample->fetched_for_lengths + bytes_for_lengths(sample) / shares;
	double	   *found = palloc0(sample->column_count * places * sizeof(double));
	uint32		place;

	for (place = 0; place < places && (place == 0 || sample->fetched_for_lengths < most); place++)
	{
		BlockNumber first = (BlockNumber) ((uint64) place * ranges / places) * length;
		BlockNumber end = Min(first + length, sample->heap_blocks);
		uint64		left = most - Min(most, sample->fetched_for_lengths);
		double		pages;

		pages = collect_items(sample, scan, slot, row_context, first, end, of_keys, Max(left / (places - place), 1));
		for (int i = 0; i < sample->column_count; i++)
			if (needs_length(&sample->columns[i], of_keys))
				found[i * places + place] = lines_collected(sample, &sample->columns[i], pages, end - first, length);
	}
	for (int i = 0; i < sample->column_count; i++)
		lines[i] = bf_index_size_that_tells(&found[i * places], place);
	pfree(found);
}

/*
 * Chooses the number of pages of a range for each column whose items are values, as bf_index_choose_range_length()
 * does for an index.
 */
static void
choose_range_lengths(Sample *sample, TableScanDesc scan, TupleTableSlot *slot, MemoryContext row_context)
{
	double	   *lines = palloc(Max(sample->column_count, 1) * sizeof(double));

	if (any_needs_length(sample, false))
		lines_of_ranges(sample, scan, slot, row_context, SAMPLE_UNIT, BF_RANGES_THAT_TELL, false,
						any_needs_length(sample, true) ? 2 : 1, lines);
	for (int i = 0; i < sample->column_count; i++)
	{
		SampleColumn *column = &sample->columns[i];

		if (needs_length(column, false))
			column->pages_per_range = bf_index_range_length_for(lines[i], sample->heap_blocks, sample->is_partition);
	}
	pfree(lines);
}

/*
 * Chooses the number of pages of a range for each column whose items are keys. Half as many pages may have far more
 * than half as many distinct keys. So ranges of SAMPLE_UNIT / 2 pages are read, then of half as many, and so on, until
 * each column has its length: the shortest one that is not too short for it.
 */
static void
choose_range_lengths_of_keys(Sample *sample, TableScanDesc scan, TupleTableSlot *slot, MemoryContext row_context)
{
	double	   *lines = palloc0(Max(sample->column_count, 1) * sizeof(double));

	for (BlockNumber length = SAMPLE_UNIT / 2; length >= 1 && any_needs_length(sample, true); length /= 2)
	{
		/*
		 * The first length is always read. A shorter one is not read if it is still longer than the table, or if no
		 * more bytes may be fetched: then half the length is taken to fill half the lines.
		 */
		if (length == SAMPLE_UNIT / 2 || (length <= sample->heap_blocks && bytes_for_lengths(sample) > 0))
			lines_of_ranges(sample, scan, slot, row_context, length, BF_RANGES_WITH_KEYS_THAT_TELL, true,
							pg_leftmost_one_pos32(length) + 1, lines);
		else
			for (int i = 0; i < sample->column_count; i++)
				lines[i] /= 2;
		for (int i = 0; i < sample->column_count; i++)
			if (needs_length(&sample->columns[i], true) && (bf_index_is_short_for_keys(lines[i]) || length == 1))
				sample->columns[i].pages_per_range = bf_index_is_short_for_keys(lines[i]) ? length * 2 : 1;
	}
	pfree(lines);
}

void
bf_index_sample_range_lengths(Sample *sample, TableScanDesc scan, TupleTableSlot *slot, MemoryContext row_context)
{
	choose_range_lengths(sample, scan, slot, row_context);
	choose_range_lengths_of_keys(sample, scan, slot, row_context);
}
