/* sketch.c: see sketch.h. */
#include "advisor/sketch.h"

#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "base/item.h"

/* The low bits of a hash decide whether its item is kept, so the tables take the high bits. */
#define SH_PREFIX items
#define SH_ELEMENT_TYPE SketchItem
#define SH_KEY_TYPE uint64
#define SH_KEY hash
#define SH_HASH_KEY(table, key) ((uint32) ((key) >> 32))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* If not all items can be kept, those in at least this share of the rows are kept, whatever their hashes are. */
#define FREQUENT (1 / 64.0)

/*
 * The most items that are kept, and that are counted in a unit; and the most of all columns together, except that each
 * may have 1,024. An item takes 72 bytes and more.
 */
#define MOST_KEPT 65536
#define MOST_KEPT_IN_ALL 524288
#define MOST_IN_UNIT_IN_ALL 524288

Sketch *
bf_sketch_begin(int columns)
{
	Sketch	   *sketch = palloc(sizeof(Sketch));

	*sketch = (Sketch) {
		.context = CurrentMemoryContext,
		.most_kept = Min(Max(MOST_KEPT_IN_ALL / columns, 1024), MOST_KEPT),
		.most_in_unit = Max(MOST_IN_UNIT_IN_ALL / columns, 1024),
		.unit = items_create(CurrentMemoryContext, 256, NULL),
		.kept = items_create(CurrentMemoryContext, 256, NULL),
		.units = palloc(sizeof(SketchUnit))
	};
	return sketch;
}

uint16 *
bf_sketch_add(Sketch *sketch, uint64 hash, uint32 row)
{
	bool		found = true;
	SketchItem *item = sketch->unit->members < sketch->most_in_unit ? items_insert(sketch->unit, hash, &found) :
		items_lookup(sketch->unit, hash);

	if (item == NULL || (found && item->last == row))
		return NULL;
	sketch->all_items++;
	if (!found)
	{
		item->pages = item->rows = 0;
		item->size = 1;
	}
	item->last = row;
	item->pages |= (uint32) 1 << (row >> 16);
	item->rows++;
	return found ? NULL : &item->size;
}

/* Drops about half of the items that were kept for their hashes. */
static void
halve(Sketch *sketch)
{
	uint32		frequent = 0;
	items_iterator iterator;
	SketchItem *item;

	sketch->mask = 2 * sketch->mask + 1;
	items_start_iterate(sketch->kept, &iterator);
	while ((item = items_iterate(sketch->kept, &iterator)) != NULL)
	{
		item->frequent = item->rows > FREQUENT * sketch->rows && frequent++ < sketch->most_kept / 2;
		if (!item->frequent && (item->hash & sketch->mask) != 0)
			(void) items_delete(sketch->kept, item->hash);
	}
}

/* Adds the ranges of each length that have one of these pages to the ranges of the unit, and to those of the item. */
static void
count_ranges(uint32 pages, SketchUnit *unit, uint32 ranges[LENGTHS])
{
	for (int length = 0; length < LENGTHS; length++)
		for (uint64 rest = pages; rest != 0;)
		{
			const int	range = pg_rightmost_one_pos64(rest) >> length;
			const int	next = (range + 1) << length;

			unit->items[FIRST_OF_LENGTH(length) + range]++;
			ranges[length]++;
			rest = rest >> next << next;
		}
}

void
bf_sketch_end_unit(Sketch *sketch, uint32 number, uint32 leaf, uint32 pages)
{
	const uint32 members = sketch->unit->members;
	SketchUnit *unit;
	items_iterator iterator;
	SketchItem *item;

	sketch->units = repalloc(sketch->units, (sketch->unit_count + 1) * sizeof(SketchUnit));
	unit = &sketch->units[sketch->unit_count++];
	*unit = (SketchUnit) {.number = number, .leaf = leaf, .pages = pages};
	items_start_iterate(sketch->unit, &iterator);
	while ((item = items_iterate(sketch->unit, &iterator)) != NULL)
	{
		uint32		ranges[LENGTHS] = {0};
		bool		found = true;
		SketchItem *kept = (item->hash & sketch->mask) == 0 ? items_insert(sketch->kept, item->hash, &found) :
			items_lookup(sketch->kept, item->hash);

		count_ranges(item->pages, unit, ranges);
		sketch->too_wide |= item->size == 0;
		if (kept == NULL)
			continue;
		if (!found)
			memset(&kept->weight, 0, offsetof(SketchItem, status) - offsetof(SketchItem, weight));
		kept->rows += item->rows;
		kept->pages += ranges[0];
		kept->units++;
		for (int length = 0; length < LENGTHS; length++)
			kept->ranges[length] += ranges[length];
		kept->size = item->size;
	}
	while (sketch->kept->members > sketch->most_kept)
		halve(sketch);
	/* a table that has grown large would take long to go through for each unit */
	items_destroy(sketch->unit);
	sketch->unit = items_create(sketch->context, members + 1, NULL);
}

void
bf_sketch_end(Sketch *sketch)
{
	items_iterator iterator;
	SketchItem *item;

	qsort(sketch->units, sketch->unit_count, sizeof(SketchUnit), item_compare_hashes);
	sketch->items = MemoryContextAlloc(sketch->context, (sketch->kept->members + 1) * sizeof(SketchItem));
	items_start_iterate(sketch->kept, &iterator);
	while ((item = items_iterate(sketch->kept, &iterator)) != NULL)
	{
		item->weight = item->frequent ? 1 : sketch->mask + 1.0;
		sketch->items[sketch->item_count++] = *item;
	}
	items_destroy(sketch->unit);
	items_destroy(sketch->kept);
}
