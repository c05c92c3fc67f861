/* sketch.c: see sketch.h. */
#include "advisor/sketch.h"

#include <math.h>

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

/* An item of the unit that is being read. */
typedef struct UnitItem
{
	uint64		hash;
	uint64		last;			/* the row that was counted last, as GIN numbers rows */
	uint32		pages;			/* a bit for each page of the unit */
	uint32		rows;
	uint32		bytes;
	uint16		size;
	char		status;
} UnitItem;

#define SH_PREFIX unit
#define SH_ELEMENT_TYPE UnitItem
#define SH_KEY_TYPE uint64
#define SH_KEY hash
#define SH_HASH_KEY(table, key) ((uint32) ((key) >> 32))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* The low bits of a hash decide whether its item is kept, so the table takes the high bits. */
#define SH_PREFIX kept
#define SH_ELEMENT_TYPE KeptItem
#define SH_KEY_TYPE uint64
#define SH_KEY hash
#define SH_HASH_KEY(table, key) ((uint32) ((key) >> 32))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* An item with at least this share of a unit's rows is kept, whatever its hash. */
#define FREQUENT (1 / 64.0)

/* If a unit has more items, the others do not count: this takes 80 MB. */
#define MOST_IN_UNIT (1024 * 1024)

Sketch *
bf_sketch_begin(MemoryContext context, uint32 most_kept)
{
	Sketch	   *sketch = MemoryContextAllocZero(context, sizeof(Sketch));

	sketch->context = context;
	sketch->most_kept = most_kept;
	sketch->unit = unit_create(context, 256, NULL);
	sketch->kept = kept_create(context, 256, NULL);
	return sketch;
}

/* The bytes that GIN takes for the difference of two rows' numbers: 7 bits in each (ginpostinglist.c). */
static uint32
bytes_of_difference(uint64 difference)
{
	uint32		bytes = 1;

	for (; difference >= 128 && bytes < 7; difference >>= 7)
		bytes++;
	return bytes;
}

uint16 *
bf_sketch_add(Sketch *sketch, uint64 hash, BlockNumber page, OffsetNumber offset)
{
	const uint64 row = (uint64) page << 11 | offset;
	bool		found = true;
	UnitItem   *item = sketch->unit->members < MOST_IN_UNIT ? unit_insert(sketch->unit, hash, &found) :
		unit_lookup(sketch->unit, hash);

	if (item == NULL || (found && item->last == row))
		return NULL;
	sketch->items++;
	if (!found)
	{
		item->pages = item->rows = item->bytes = 0;
		item->size = 1;
	}
	else
		item->bytes += bytes_of_difference(row - item->last);
	item->last = row;
	item->pages |= (uint32) 1 << page;
	item->rows++;
	return found ? NULL : &item->size;
}

uint32
bf_sketch_pages(const Sketch *sketch, uint64 hash)
{
	const UnitItem *item = unit_lookup(sketch->unit, hash);

	return item == NULL ? 0 : item->pages;
}

/* Drops about half of the items that were kept for their hashes. */
static void
halve(Sketch *sketch)
{
	struct kept_hash *old = sketch->kept;
	kept_iterator iterator;
	KeptItem   *item;

	sketch->kept = kept_create(sketch->context, old->members / 2, NULL);
	sketch->zeros++;
	kept_start_iterate(old, &iterator);
	while ((item = kept_iterate(old, &iterator)) != NULL)
		if (item->frequent || (item->hash & ((UINT64CONST(1) << sketch->zeros) - 1)) == 0)
		{
			bool		found;
			KeptItem   *copy = kept_insert(sketch->kept, item->hash, &found);
			char		status = copy->status;

			*copy = *item;
			copy->status = status;
		}
	kept_destroy(old);
}

/* Counts the ranges of a unit that have the item, of each length, for the unit and for the item. */
static void
count_ranges(SketchUnit *unit, uint32 pages, uint32 ranges[LENGTHS])
{
	for (int length = 0; length < LENGTHS; length++)
	{
		int			last = -1;

		for (uint32 rest = pages; rest != 0; rest &= rest - 1)
		{
			int			range = pg_rightmost_one_pos32(rest) >> length;

			if (range == last)
				continue;
			unit->items[FIRST_OF_LENGTH(length) + range]++;
			ranges[length]++;
			last = range;
		}
	}
}

uint32
bf_sketch_kept(const Sketch *sketch)
{
	return (uint32) sketch->kept->members;
}

void
bf_sketch_end_unit(Sketch *sketch, uint32 leaf, uint32 pages)
{
	SketchUnit *unit;
	unit_iterator iterator;
	UnitItem   *item;

	if (sketch->unit_count == sketch->room)
	{
		sketch->room = Max(2 * sketch->room, 64);
		sketch->units = sketch->units == NULL ? MemoryContextAlloc(sketch->context, sketch->room * sizeof(SketchUnit)) :
			repalloc_huge(sketch->units, (Size) sketch->room * sizeof(SketchUnit));
	}
	unit = &sketch->units[sketch->unit_count++];
	memset(unit, 0, sizeof *unit);
	unit->leaf = leaf;
	unit->pages = pages;
	unit_start_iterate(sketch->unit, &iterator);
	while ((item = unit_iterate(sketch->unit, &iterator)) != NULL)
	{
		const bool	frequent = item->rows > 2 && item->rows > FREQUENT * sketch->unit_rows &&
			sketch->frequent < sketch->most_kept;
		uint32		ranges[LENGTHS] = {0};
		bool		found = true;
		KeptItem   *kept;

		count_ranges(unit, item->pages, ranges);
		kept = frequent || (item->hash & ((UINT64CONST(1) << sketch->zeros) - 1)) == 0 ?
			kept_insert(sketch->kept, item->hash, &found) : kept_lookup(sketch->kept, item->hash);
		if (kept == NULL)
			continue;
		if (!found)
			memset(&kept->rows, 0, offsetof(KeptItem, status) - offsetof(KeptItem, rows));
		kept->rows += item->rows;
		kept->pages += pg_popcount32(item->pages);
		kept->units++;
		for (int length = 0; length < LENGTHS; length++)
			kept->ranges[length] += ranges[length];
		kept->bytes += item->bytes +
			(found ? bytes_of_difference((uint64) (sketch->unit_count - kept->last_unit) * UNIT_PAGES << 11) : 0);
		kept->last_unit = sketch->unit_count;
		kept->size = item->size;
		sketch->frequent += frequent && !kept->frequent;
		kept->frequent |= frequent;
		sketch->too_wide |= item->size == 0;
	}
	while (bf_sketch_kept(sketch) > sketch->most_kept + sketch->frequent)
		halve(sketch);
	if ((sketch->unit_count & (sketch->unit_count - 1)) == 0)
		sketch->grown[pg_leftmost_one_pos32(sketch->unit_count)] =
			sketch->frequent + ldexp(bf_sketch_kept(sketch) - sketch->frequent, sketch->zeros);
	sketch->rows += sketch->unit_rows;
	sketch->unit_rows = 0;
	/* a table that has grown large would take long to go through for each unit */
	if (sketch->unit->size > 65536)
	{
		unit_destroy(sketch->unit);
		sketch->unit = unit_create(sketch->context, 256, NULL);
	}
	else
		unit_reset(sketch->unit);
}

void
bf_sketch_visit(const Sketch *sketch, void (*visit) (const KeptItem *item, double weight, void *argument),
				void *argument)
{
	kept_iterator iterator;
	KeptItem   *item;

	kept_start_iterate(sketch->kept, &iterator);
	while ((item = kept_iterate(sketch->kept, &iterator)) != NULL)
		visit(item, item->frequent ? 1 : ldexp(1, sketch->zeros), argument);
}
