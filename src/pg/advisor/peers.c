/*
 * peers.c: the bytes of a B-tree and of a GIN index, on all leaves of the table.
 */
#include "base/compat.h"

#include <math.h>

#include "access/gin_private.h"
#include "access/nbtree.h"
#include "miscadmin.h"

#include "advisor/advisor.h"


/*
 * The bytes of an index with a meta page and a tree, whose leaf pages have `bytes` bytes of tuples. A page has room for
 * `page` bytes; if it is alone, for `alone`. A tuple on the pages above has `key` bytes.
 */
static double
bytes_of_tree(double bytes, double page, double alone, double key)
{
	double		level = bytes <= alone ? 1 : ceil(bytes / page);
	double		pages = 1 + level;

	while (level > 1)
		pages += level = ceil(level * key / page);
	return pages * BLCKSZ;
}

/* --------------------------------------------------------------------------- B-tree */

#define BTREE_PAGE (BLCKSZ * BTREE_DEFAULT_FILLFACTOR / 100 - SizeOfPageHeaderData - MAXALIGN(sizeof(BTPageOpaqueData)))
#define BTREE_LARGEST_POSTING (MAXALIGN_DOWN(BLCKSZ / 10) - sizeof(ItemIdData))

/*
 * Each different item of a leaf has a tuple. A further row is a TID in it, and in proportion a tuple if the list
 * becomes too long; where equal values do not share tuples, each row has one. Within 25 % of what is built.
 */
double
bf_estimate_btree(const Spread *spread, bool deduplicates)
{
	const Sample *sample = spread->sample;
	const double key = spread->tuple + sizeof(ItemIdData);
	const double tids = floor((BTREE_LARGEST_POSTING - spread->tuple) / sizeof(ItemPointerData));
	const double further = deduplicates && tids > 1 ? sizeof(ItemPointerData) + key / tids : key;
	double		bytes = sample->empty_count * BLCKSZ;

	for (const Leaf *leaf = sample->leaves; leaf < sample->leaves + sample->leaf_count; leaf++)
	{
		const double rows = spread->items * leaf->blocks / sample->pages;
		const double items = Min(bf_distinct_in(spread, leaf->blocks), rows);

		bytes += bytes_of_tree(items * key + (rows - items) * further, BTREE_PAGE, BTREE_PAGE, key);
	}
	return bytes;
}

/* ------------------------------------------------------------------------------ GIN */

#define GIN_PAGE (BLCKSZ - MAXALIGN(SizeOfPageHeaderData) - MAXALIGN(sizeof(GinPageOpaqueData)))

/* Of a page of a posting tree: segments of 256 bytes end where a row does not fit. */
#define GIN_LIST_PAGE (GIN_PAGE * 0.96)

/* The memory that a key takes while GIN gathers rows, and one of its rows in the mean (ginbulk.c). */
#define MEMORY_OF_KEY 120
#define MEMORY_OF_ROW 9

/*
 * Each different key of a leaf has a tuple with a compressed list of its rows, or a posting tree if that is too long. A
 * row on the same page as the one before takes a byte, another one the 7-bit groups of the distance. Keys arrive in
 * ascending order and pages are split in the middle, so they stay half full; but if memory becomes full meanwhile, they
 * are split at random places (Yao 1978). Within 1.5 times what is built.
 */
double
bf_estimate_gin(const Spread *spread)
{
	const Sample *sample = spread->sample;
	const Sketch *sketch = spread->sketch;
	double		bytes = sample->empty_count * 2 * BLCKSZ;
	double		lists = 0;
	double		known = 0;

	for (const SketchItem *item = sketch->items; item < sketch->items + sketch->item_count; item++)
	{
		/* an item that is in several units is taken to be all over the table */
		const double times = item->units > 1 ? spread->times : 1;
		const double pages = item->pages * times;
		const double indexes = item->units > 1 ? Min(pages, sample->leaf_count) : 1;
		const double distance = item->units > 1 ? Max(sample->pages / pages, 1) : 1;
		const double list = (item->rows * times - pages + pages * ceil((11 + log2(distance)) / 7)) / indexes;

		known += item->weight * item->rows * times;
		if (item->size + list <= GinMaxItemSize)
			lists += item->weight * list * indexes;
		else
			bytes += item->weight * indexes * BLCKSZ * (ceil(list / GIN_LIST_PAGE) + (list > GIN_LIST_PAGE));
	}
	lists += Max(spread->items - known, 0) * 2;
	for (const Leaf *leaf = sample->leaves; leaf < sample->leaves + sample->leaf_count; leaf++)
	{
		const double share = leaf->blocks / sample->pages;
		const double keys = bf_distinct_in(spread, leaf->blocks);
		const double tuples = keys * (spread->tuple + sizeof(ItemIdData) + sizeof(GinPostingList)) +
			lists * share;
		const bool	in_parts = keys * MEMORY_OF_KEY + spread->items * share * MEMORY_OF_ROW >
			maintenance_work_mem * 1024.0;

		bytes += bytes_of_tree(tuples, GIN_PAGE * (in_parts ? 0.69 : 0.5), GIN_PAGE,
							   spread->tuple + sizeof(ItemIdData));
	}
	return bytes;
}
