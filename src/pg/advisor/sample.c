/*
 * sample.c: reads some pages of a table. Counts how many different values its columns have in ranges of pages, and how
 * these values are spread. For bf_index_advise() (advise.c). sample.h explains the words. Before the sample is read,
 * sample_lengths.c chooses how long the ranges are.
 *
 * If the table has more pages than may be read, the sample has two halves. The first half is the beginning of the
 * table, which tells the sizes of the upper levels of an index. The second half is units of SAMPLE_UNIT pages at
 * random places, evenly over the rest of the table.
 *
 * A column takes bounded memory: the items of one range, two numbers for each range, and at most sample->most_kept
 * values and about as many keys. If several partitions are sampled, twice as many values are kept.
 */
#include "advisor/sample.h"

#include "access/tableam.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "advisor/sample_lengths.h"
#include "advisor/sample_rows.h"
#include "base/call.h"
#include "base/memory.h"
#include "index/heap.h"
#include "index/sizes.h"

/* -------------------------------------------------------------------- a range */

/* Ends the range that is being read, and goes on to range `next`. Ranges between the two have no rows. */
static void
pass_to_range(const Sample *sample, SampleColumn *column, uint32 next)
{
	for (; column->range < next; column->range++)
	{
		SampledRange *range = &column->ranges[column->range_count++];

		range->items = column->set.count;
		range->full = ((uint64) column->range + 1) * column->pages_per_range <= sample->heap_blocks;
		bf_index_empty_set(sample, column);
	}
}

/*
 * Ends a range of which only the pages before `end` were read, since the sample ends there. If no whole range was
 * read, this part of a range is scaled up to a whole range. Otherwise the part is left out.
 */
static void
end_part_of_range(const Sample *sample, SampleColumn *column, double end)
{
	const double pages = end - (double) column->range * column->pages_per_range;

	if (column->range_count == 0)
	{
		const double items = bf_index_items_in_more(column, column->pages_per_range / pages);

		column->ranges[column->range_count++] = (SampledRange) {
			.items = Max(column->set.count, Min(items, bf_index_most_expected(column->pages_per_range))),
			.full = true
		};
	}
	bf_index_empty_set(sample, column);
}

/* Notes the number of distinct values in the first range of each level above 0, if the range ends before this page. */
static void
note_levels(SampleColumn *column, BlockNumber page)
{
	BlockNumber lengths[BF_INDEX_MAX_LEVELS];

	bf_index_level_lengths(column->pages_per_range, lengths);
	for (int level = 1; level < BF_INDEX_MAX_LEVELS; level++)
		if (lengths[level] != 0 && lengths[level] <= page && column->items_from_start[level] == 0)
			column->items_from_start[level] = bf_index_distinct_so_far(column);
}

/* ---------------------------------------------------------------------- pages */

/* Counts an item of a row. */
static void
count_item(Sample *sample, SampleColumn *column, const RowItems *row, Form_pg_attribute attribute, uint64 hash,
		   const Place *place)
{
	sb_memory	memory = memory_in(sample->context);

	column->items++;
	column->added++;
	must_finish(sb_hash_set_add(&column->set, &memory, hash));
	bf_index_count_value(sample, column, hash, place, attribute, row->value, row->isnull);
}

/*
 * Reads the rows of the pages from `first` to `end` (exclusive). If bytes_fetched reaches most_fetched with a row,
 * the sample ends with this row.
 */
static void
read_unit(Sample *sample, TableScanDesc scan, TupleTableSlot *slot, MemoryContext row_context, BlockNumber first,
		  BlockNumber end)
{
	double		read_to = end;

	bf_index_begin_pages(scan, first, end);
	for (int i = 0; i < sample->column_count; i++)
		if (sample->columns[i].refused == NULL)
			sample->columns[i].range = first / sample->columns[i].pages_per_range;
	while (table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot))
	{
		Place		place = {
			.at_beginning = first < sample->contiguous,
			.page = ItemPointerGetBlockNumber(&slot->tts_tid),
			.unit = sample->units
		};
		MemoryContext caller;

		CHECK_FOR_INTERRUPTS();
		sample->rows++;
		caller = MemoryContextSwitchTo(row_context);
		for (int i = 0; i < sample->column_count; i++)
		{
			SampleColumn *column = &sample->columns[i];
			RowItems	row;
			uint32		next = 0;
			uint64		hash;

			if (column->refused != NULL)
				continue;
			bf_index_read_column(sample, column, slot, bf_index_looks_at_keys(sample, column), &row);
			if (column->refused != NULL)
				continue;
			if (column->grams != NULL && !row.isnull)
				bf_index_look_at_grams(column->grams, place.page, row.value);
			place.range = place.page / column->pages_per_range;
			pass_to_range(sample, column, place.range);
			if (first <= sample->contiguous)
				note_levels(column, place.page);
			while (bf_index_next_item(column, &row, &next, &hash))
			{
				CHECK_FOR_INTERRUPTS();
				count_item(sample, column, &row, TupleDescAttr(slot->tts_tupleDescriptor, column->attnum - 1), hash,
						   &place);
			}
			if (row.has_keys)
				bf_index_count_keys(sample, column, row.keys, row.key_count, place.page - first,
									ItemPointerGetOffsetNumber(&slot->tts_tid), place.at_beginning);
		}
		MemoryContextSwitchTo(caller);
		MemoryContextReset(row_context);
		if (sample->bytes_fetched >= sample->most_fetched)
		{
			read_to = place.page + bf_index_share_of_page_read(slot);
			break;
		}
	}
	for (int i = 0; i < sample->column_count; i++)
	{
		SampleColumn *column = &sample->columns[i];

		if (column->refused != NULL)
			continue;
		if (read_to == end)
			pass_to_range(sample, column, (end - 1) / column->pages_per_range + 1);
		else
			end_part_of_range(sample, column, read_to);
		if (first <= sample->contiguous)
			note_levels(column, (BlockNumber) read_to);
		if (bf_index_looks_at_keys(sample, column))
			bf_index_end_keys_of_unit(sample, column, read_to - first, first < sample->contiguous);
	}
	sample->pages_read += read_to - first;
	sample->units++;
}

static void
begin_columns(Sample *sample, BlockNumber most)
{
	sb_memory	memory = memory_in(sample->context);

	for (int i = 0; i < sample->column_count; i++)
	{
		SampleColumn *column = &sample->columns[i];

		if (column->refused != NULL)
			continue;
		must_finish(sb_hash_set_begin(&column->set, &memory, 2048));
		column->ranges = MemoryContextAllocHuge(sample->context,
												((Size) most + 2 * SAMPLE_UNIT) * sizeof(SampledRange));
		column->range_count = 0;
		column->items = 0;
		column->pages_per_range = 0;
		bf_index_begin_values(sample, column);
		memset(column->items_from_start, 0, sizeof column->items_from_start);
		if (column->keys != NULL)
			bf_index_begin_keys(sample, column, most);
	}
}

void
bf_index_sample_table(Sample *sample, Relation heap, BlockNumber most)
{
	MemoryContext row_context = AllocSetContextCreate(sample->context, "bf sample row", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(sample->context);
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	ItemPointerData from,
				to;
	TableScanDesc scan;
	BlockNumber rest,
				parts;

	sample->heap_blocks = RelationGetNumberOfBlocks(heap);
	sample->pages_read = 0;
	sample->rows = 0;
	sample->fetched_for_lengths = 0;
	sample->most_for_lengths = (sample->most_fetched - sample->bytes_fetched) / 4;
	most = Max(most / SAMPLE_UNIT, 2) * SAMPLE_UNIT;
	sample->contiguous = sample->heap_blocks <= most ? sample->heap_blocks : most / 2 / SAMPLE_UNIT * SAMPLE_UNIT;
	begin_columns(sample, Min(most, sample->heap_blocks));
	ItemPointerSet(&from, 0, FirstOffsetNumber);
	ItemPointerSet(&to, 0, FirstOffsetNumber);
	scan = sb_begin_scan_of_rows(heap, GetActiveSnapshot(), &from, &to);
	if (sample->heap_blocks > 0)
	{
		bf_index_sample_range_lengths(sample, scan, slot, row_context);
	}
	for (BlockNumber first = 0;
		 first < sample->contiguous && sample->bytes_fetched < sample->most_fetched; first += SAMPLE_UNIT)
		read_unit(sample, scan, slot, row_context, first, Min(first + SAMPLE_UNIT, sample->contiguous));
	sample->contiguous = sample->pages_read;

	/*
	 * Divides the rest of the table into as many parts as units may still be read, and reads a unit at a random place
	 * of each part.
	 */
	rest = (sample->heap_blocks - (BlockNumber) sample->contiguous) / SAMPLE_UNIT;
	parts = Min(rest, (most - Min(most, (BlockNumber) sample->contiguous)) / SAMPLE_UNIT);
	for (BlockNumber part = 0; part < parts && sample->bytes_fetched < sample->most_fetched; part++)
	{
		uint64		first = (uint64) part * rest / parts;
		uint64		last = ((uint64) part + 1) * rest / parts - 1;
		BlockNumber block = (BlockNumber) sample->contiguous +
			(BlockNumber) pg_prng_uint64_range(&pg_global_prng_state, first, last) * SAMPLE_UNIT;

		read_unit(sample, scan, slot, row_context, block, block + SAMPLE_UNIT);
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(row_context);
}

void
bf_index_forget_sample(Sample *sample)
{
	MemoryContextReset(sample->context);
}
