/*
 * sample_rows.h: reads some pages of a table that is sampled (sample.h), row by row, and takes the items of a column
 * out of a row. The distinct items of a range of pages are collected in a set, column->set.
 */
#ifndef STREAMBLOOM_PG_ADVISOR_SAMPLE_ROWS_H
#define STREAMBLOOM_PG_ADVISOR_SAMPLE_ROWS_H

#include "advisor/sample.h"

#include "access/tableam.h"

/* ----------------------------------------------------------------------- rows */

/* Begins to read the pages from `first` to `end` (exclusive). */
extern void bf_index_begin_pages(TableScanDesc scan, BlockNumber first, BlockNumber end);

/* For the row in the slot, which was read last: returns how much of its page has been read, as a share of the page. */
extern double bf_index_share_of_page_read(TupleTableSlot *slot);

/* ---------------------------------------------------------------------- items */

/* The items of a row in one column. */
typedef struct RowItems
{
	Datum		value;
	bool		isnull;
	bool		has_keys;		/* keys were looked for, even if none could be extracted */
	uint32		key_count;
	KeyOfRow   *keys;			/* the keys; NULL: none were looked for, or they could not be extracted */
} RowItems;

/* Reads a column of a row. Extracts the keys of the value if the column's items are keys, or if with_keys is true. */
extern void bf_index_read_column(Sample *sample, SampleColumn *column, TupleTableSlot *slot, bool with_keys,
								 RowItems *row);

/*
 * Sets *hash to the hash of the next item of a row, and moves *next on (0 at first). Returns false if there is no
 * further item. If the column's items are keys, the items of a row are the keys that are not NULL. Otherwise the only
 * item is the value. If the value is NULL, the only item is NULL in both cases.
 */
static inline bool
bf_index_next_item(const SampleColumn *column, const RowItems *row, uint32 *next, uint64 *hash)
{
	if (!column->items_are_keys || row->isnull)
	{
		/* There is one item. To hash it, item_hash() fetches a value that is stored out of line. */
		if ((*next)++ > 0)
			return false;
		*hash = row->isnull ? BF_NULL_HASH : item_hash(column->hasher, row->value);
		return true;
	}
	while (*next < row->key_count && row->keys[*next].is_null)
		(*next)++;
	if (*next >= row->key_count)
		return false;
	*hash = row->keys[(*next)++].hash;
	return true;
}

/* --------------------------------------------------------- the items of a range */

/* Empties the set of the items of a range. */
extern void bf_index_empty_set(const Sample *sample, SampleColumn *column);

/*
 * column->set holds the distinct items of some pages. Returns how many distinct items `times` as many pages would have.
 * The number is taken to grow by a power law (Heaps 1978): in proportion to the pages if all items are different, and
 * more slowly if items repeat.
 */
extern double bf_index_items_in_more(const SampleColumn *column, double times);

#endif
