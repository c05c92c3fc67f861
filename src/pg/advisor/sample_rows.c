/* sample_rows.c: reads the rows of a table that is sampled, and their items (see sample_rows.h). */
#include "advisor/sample_rows.h"

#include <math.h>

#include "access/detoast.h"
#include "storage/bufmgr.h"

#include "base/memory.h"
#include "index/heap.h"

void
bf_index_begin_pages(TableScanDesc scan, BlockNumber first, BlockNumber end)
{
	ItemPointerData from,
				to;

	ItemPointerSet(&from, first, FirstOffsetNumber);
	ItemPointerSet(&to, end - 1, MaxOffsetNumber);
	table_rescan_tidrange(scan, &from, &to);
}

double
bf_index_share_of_page_read(TupleTableSlot *slot)
{
	Buffer		buffer = ((BufferHeapTupleTableSlot *) slot)->buffer;
	OffsetNumber last;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	last = PageGetMaxOffsetNumber(BufferGetPage(buffer));
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return ItemPointerGetOffsetNumber(&slot->tts_tid) / (double) last;
}

/* Adds the bytes of a value that is stored out of line to bytes_fetched. */
static void
count_fetched(Sample *sample, TupleTableSlot *slot, AttrNumber attnum, Datum value, bool isnull)
{
	if (!isnull && TupleDescAttr(slot->tts_tupleDescriptor, attnum - 1)->attlen == -1 &&
		VARATT_IS_EXTERNAL(DatumGetPointer(value)))
		sample->bytes_fetched += toast_datum_size(value);
}

void
bf_index_read_column(Sample *sample, SampleColumn *column, TupleTableSlot *slot, bool with_keys, RowItems *row)
{
	row->value = slot_getattr(slot, column->attnum, &row->isnull);
	row->has_keys = with_keys || column->items_are_keys;
	row->keys = NULL;
	row->key_count = 0;
	count_fetched(sample, slot, column->attnum, row->value, row->isnull);
	if (row->has_keys)
		row->keys = bf_index_keys_of_row(sample, column, row->value, row->isnull, &row->key_count);
}

void
bf_index_empty_set(const Sample *sample, SampleColumn *column)
{
	sb_memory	memory = memory_in(sample->context);
	const uint64 items = column->set.count;

	if (items > 0)
		pfree(bf_index_take_set(&column->set));
	bf_index_shrink_set(&column->set, &memory, items);
	column->added = 0;
}

double
bf_index_items_in_more(const SampleColumn *column, double times)
{
	const double power = column->added > 1 ? log(Max(column->set.count, 1)) / log(column->added) : 1;

	return column->set.count * pow(times, power);
}
