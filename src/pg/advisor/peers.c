/*
 * peers.c: the bytes of a B-tree and of a GIN index (estimate.h).
 *
 * Both are sums over the items of the sample, of the bytes that an item's tuples take. An item in several units of the
 * sample is taken to be all over the table, so its rows are scaled up. Those in one unit stand for all other items.
 */
#include "base/compat.h"

#include <math.h>

#include "access/gin_private.h"
#include "access/nbtree.h"
#include "miscadmin.h"

#include "advisor/estimate.h"

/* Of a page of a B-tree: the bytes for tuples and line pointers, and those that a build leaves free. */
#define BTREE_SPACE (BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(BTPageOpaqueData)))
#define BTREE_LEFT_FREE (BLCKSZ * (100 - BTREE_DEFAULT_FILLFACTOR) / 100)
#define BTREE_LARGEST_POSTING (MAXALIGN_DOWN(BLCKSZ / 10) - sizeof(ItemIdData))

#define ENTRY_SPACE (BLCKSZ - MAXALIGN(SizeOfPageHeaderData) - MAXALIGN(sizeof(GinPageOpaqueData)))
#define LIST_HEADER offsetof(GinPostingList, bytes)
/* of a segment of 256 bytes in a posting tree, behind its header and what does not fit */
#define BYTES_OF_SEGMENT 246

/* The memory that a key takes while GIN gathers rows, and one of its rows in the mean (ginbulk.c). */
#define MEMORY_OF_KEY 120
#define MEMORY_OF_ROW 9

/* How full pages are in the end if they are split at random places (Yao 1978). */
#define RANDOM_FILL 0.69

typedef struct Sums
{
	double		items;
	double		rows;
	double		bytes;			/* of leaf tuples, with their line pointers */
	double		tuples;
	double		keys;			/* of tuples without rows */
	double		tree_pages;		/* of posting trees */
} Sums;

typedef struct Peer
{
	bool		is_gin;
	bool		deduplicates;
	double		times;
	double		copies;			/* indexes that an item is in: partitions have indexes of their own */
	Sums		strewn;
	Sums		single;			/* of items in one unit of the sample; not scaled up */
} Peer;

/* The bytes of an item's tuples in a B-tree: the largest ones have as many rows as fit. */
static double
btree_bytes(double key, double rows, bool deduplicates, double *tuples)
{
	const double most = floor((BTREE_LARGEST_POSTING - key) / sizeof(ItemPointerData));
	double		full,
				rest;

	if (!deduplicates || rows <= 1 || most < 2)
	{
		*tuples += rows;
		return rows * (key + sizeof(ItemIdData));
	}
	full = floor(rows / most);
	rest = rows - full * most;
	*tuples += full + (rest > 0);
	if (rest > 1)
		key = MAXALIGN((Size) ceil(key + rest * sizeof(ItemPointerData)));
	return full * (BTREE_LARGEST_POSTING + sizeof(ItemIdData)) + (rest > 0 ? key + sizeof(ItemIdData) : 0);
}

/* The same in GIN: one tuple with a compressed list of rows, or a posting tree. */
static double
gin_bytes(double key, double rows, double bytes_of_row, double *tree_pages)
{
	const double list = (rows - 1) * bytes_of_row;
	const double tuple = MAXALIGN((Size) (key + Min(ceil((LIST_HEADER + list) / 2) * 2, BLCKSZ)));

	double		leaves;

	if (tuple <= GinMaxItemSize)
		return tuple + sizeof(ItemIdData);
	leaves = ceil(list / (floor(GinDataPageMaxDataSize / 256.0) * BYTES_OF_SEGMENT));
	*tree_pages += leaves + (leaves > 1);
	return key + sizeof(ItemIdData);
}

static void
add_item(const KeptItem *item, double weight, void *argument)
{
	Peer	   *peer = argument;
	const bool	single = item->units == 1;
	Sums	   *sums = single ? &peer->single : &peer->strewn;
	const double rows = single ? item->rows : item->rows * peer->times;
	const double copies = single ? 1 : Max(1, Min(peer->copies, rows));
	const double bytes_of_row = item->rows > 1 ? item->bytes / (item->rows - 1.0) : 2;
	double		tuples = 0;
	double		tree_pages = 0;

	sums->bytes += weight * copies * (peer->is_gin ? gin_bytes(item->size, rows / copies, bytes_of_row, &tree_pages) :
									  btree_bytes(item->size, rows / copies, peer->deduplicates, &tuples));
	sums->tuples += weight * copies * (peer->is_gin ? 1 : tuples);
	sums->tree_pages += weight * copies * tree_pages;
	sums->keys += weight * copies * (item->size + sizeof(ItemIdData));
	sums->items += weight * copies;
	sums->rows += weight * rows;
}

/* Sums up the items of the table, of which `distinct` are different. */
static Sums
sum_up(const Sample *sample, const Sketch *sketch, double distinct, Peer *peer)
{
	Sums		sums;
	double		more;

	peer->times = bf_times(sample, sketch);
	/* of an item that is all over the table: as many as leaves, or fewer if it is not in all of them */
	peer->copies = bf_distinct_in(sample, sketch, distinct, sample->pages / Max(sample->leaf_count, 1)) *
		sample->leaf_count / Max(distinct, 1);
	bf_sketch_visit(sketch, add_item, peer);
	sums = peer->strewn;
	more = peer->single.items > 0 ? Max(1, (distinct - sums.items / peer->copies) / peer->single.items) : 0;
	sums.items += peer->single.items * more;
	sums.rows += peer->single.rows * more;
	sums.bytes += peer->single.bytes * more;
	sums.tuples += peer->single.tuples * more;
	sums.keys += peer->single.keys * more;
	sums.tree_pages += peer->single.tree_pages * more;
	return sums;
}

/*
 * The pages of the indexes on all leaves of the table, which have `bytes` bytes together: a page has room for `fill`
 * bytes, one that is alone for `alone`; a page above has room for `above` bytes of keys. Each index has a meta page.
 */
static double
pages_of_trees(const Sample *sample, double bytes, double alone, double fill, double key, double above)
{
	double		pages = sample->empty_count;

	for (int i = 0; i < sample->leaf_count; i++)
	{
		const double share = bytes * sample->leaves[i].blocks / sample->pages;
		double		level = share <= alone ? 1 : ceil(share / fill);

		for (pages += 1 + level; level > 1; pages += level)
			level = ceil(level * key / above);
	}
	return pages;
}

double
bf_estimate_btree(const Sample *sample, const SampleColumn *column, double distinct)
{
	Peer		peer = {.deduplicates = column->deduplicates};
	Sums		sums = sum_up(sample, column->items, distinct, &peer);
	const double all_rows = column->items->rows * bf_times(sample, column->items);
	double		key,
				missing,
				entries,
				tuple,
				fill;

	if (sums.items == 0)
		return (sample->empty_count + 2 * sample->leaf_count) * BLCKSZ;
	key = sums.keys / sums.items;
	/* rows that are missing are those of values with many rows, or of values that are in other partitions too */
	missing = Max(all_rows - sums.rows, 0);
	entries = Min(missing, Max(peer.copies * distinct - sums.items, 0));
	sums.bytes += entries * key + (missing - entries) * (column->deduplicates ? sizeof(ItemPointerData) + 0.15 : key);
	tuple = sums.bytes / Max(sums.tuples + entries, sums.items);
	/* A new page begins when less than a tenth of the page is free. A page also has a high key. */
	fill = BTREE_SPACE - BTREE_LEFT_FREE - key + tuple / 2;
	return BLCKSZ * pages_of_trees(sample, sums.bytes, fill, fill, key,
								   BTREE_SPACE * (BTREE_NONLEAF_FILLFACTOR / 100.0));
}

/*
 * How full the pages of GIN's tree of keys are, if memory becomes full `times` times while rows are gathered. Keys
 * arrive in ascending order, and full pages are split in the middle, so at first pages stay half full. From the second
 * time on all pages grow, and are split when they are full.
 */
static double
entry_fill(double times, double tuple)
{
	double		fill = 0.5 + 0.75 * tuple / ENTRY_SPACE;

	if (times <= 1)
		return Min(fill, 1);
	fill *= times;
	while (fill > 1)
		fill /= 2;
	return RANDOM_FILL + (fill - RANDOM_FILL) / Max(times - 1, 1);
}

double
bf_estimate_gin(const Sample *sample, const Sketch *sketch, double distinct)
{
	Peer		peer = {.is_gin = true};
	Sums		sums = sum_up(sample, sketch, distinct, &peer);
	double		fill;

	if (sums.items < 1)
		return 2 * (sample->empty_count + sample->leaf_count) * BLCKSZ;
	fill = ENTRY_SPACE * entry_fill((sums.items * MEMORY_OF_KEY + sums.rows * MEMORY_OF_ROW) / sample->leaf_count /
									(maintenance_work_mem * 1024.0), sums.bytes / sums.items);
	/* an empty index has two pages */
	return (sample->empty_count + sums.tree_pages +
			pages_of_trees(sample, sums.bytes, ENTRY_SPACE, fill, sums.keys / sums.items, fill)) * BLCKSZ;
}
