/* sketch.c: see sketch.h. */
#include "advisor/sketch.h"

#include <math.h>

#include "port/pg_bitutils.h"
#include "utils/memutils.h"

/* An item of the unit that is being read. */
typedef struct UnitItem
{
	uint64		hash;
	uint32		last;			/* the row that was counted last */
	uint32		pages;			/* a bit for each page of the unit */
	uint32		rows;
	uint16		size;
	char		status;
} UnitItem;

/* The low bits of a hash decide whether its item is kept, so the tables take the high bits. */
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

Sketch *
bf_sketch_begin(MemoryContext context, uint32 most_kept, uint32 most_in_unit)
{
	Sketch	   *sketch = MemoryContextAlloc(context, sizeof(Sketch));

	*sketch = (Sketch) {.context = context, .most_kept = most_kept, .most_in_unit = most_in_unit};
	sketch->unit = unit_create(context, 256, NULL);
	sketch->kept = kept_create(context, 256, NULL);
	return sketch;
}

uint16 *
bf_sketch_add(Sketch *sketch, uint64 hash, BlockNumber page, OffsetNumber offset)
{
	const uint32 row = page << 16 | offset;
	bool		found = true;
	UnitItem   *item = sketch->unit->members < sketch->most_in_unit ? unit_insert(sketch->unit, hash, &found) :
		unit_lookup(sketch->unit, hash);

	if (item == NULL || (found && item->last == row))
		return NULL;
	sketch->all_items++;
	if (!found)
	{
		item->pages = item->rows = 0;
		item->size = 1;
	}
	item->last = row;
	item->pages |= (uint32) 1 << page;
	item->rows++;
	return found ? NULL : &item->size;
}

static bool
has_kept_hash(const Sketch *sketch, uint64 hash)
{
	return (hash & ((UINT64CONST(1) << sketch->zeros) - 1)) == 0;
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
		if (item->frequent || has_kept_hash(sketch, item->hash))
		{
			bool		found;
			KeptItem   *copy = kept_insert(sketch->kept, item->hash, &found);
			char		status = copy->status;

			*copy = *item;
			copy->status = status;
		}
	kept_destroy(old);
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
bf_sketch_end_unit(Sketch *sketch, uint32 leaf, BlockNumber first, uint32 pages)
{
	const double many = FREQUENT * (sketch->rows - sketch->rows_before);
	const uint32 members = sketch->unit->members;
	SketchUnit *unit;
	unit_iterator iterator;
	UnitItem   *item;

	/* there is room for a power of two, from 64 on */
	if (sketch->units == NULL)
		sketch->units = MemoryContextAlloc(sketch->context, 64 * sizeof(SketchUnit));
	else if (sketch->unit_count >= 64 && (sketch->unit_count & (sketch->unit_count - 1)) == 0)
		sketch->units = repalloc(sketch->units, 2 * sketch->unit_count * sizeof(SketchUnit));
	unit = &sketch->units[sketch->unit_count++];
	*unit = (SketchUnit) {.leaf = leaf, .first = first, .pages = pages};
	unit_start_iterate(sketch->unit, &iterator);
	while ((item = unit_iterate(sketch->unit, &iterator)) != NULL)
	{
		const bool	frequent = item->rows > 2 && item->rows > many && sketch->frequent < sketch->most_kept / 2;
		uint32		ranges[LENGTHS] = {0};
		bool		found = true;
		KeptItem   *kept;

		count_ranges(item->pages, unit, ranges);
		kept = frequent || has_kept_hash(sketch, item->hash) ? kept_insert(sketch->kept, item->hash, &found) :
			kept_lookup(sketch->kept, item->hash);
		if (kept == NULL)
			continue;
		if (!found)
			memset(&kept->rows, 0, offsetof(KeptItem, status) - offsetof(KeptItem, rows));
		kept->rows += item->rows;
		kept->pages += ranges[0];
		kept->units++;
		for (int length = 0; length < LENGTHS; length++)
			kept->ranges[length] += ranges[length];
		kept->size = item->size;
		sketch->frequent += frequent && !kept->frequent;
		kept->frequent |= frequent;
		sketch->too_wide |= item->size == 0;
	}
	while (sketch->kept->members > sketch->most_kept)
		halve(sketch);
	sketch->rows_before = sketch->rows;
	/* a table that has grown large would take long to go through for each unit */
	unit_destroy(sketch->unit);
	sketch->unit = unit_create(sketch->context, members + 1, NULL);
}

static int
compare_units(const void *a, const void *b)
{
	const SketchUnit *one = a;
	const SketchUnit *other = b;

	return one->leaf != other->leaf ? (one->leaf > other->leaf) - (one->leaf < other->leaf) :
		(one->first > other->first) - (one->first < other->first);
}

void
bf_sketch_end(Sketch *sketch)
{
	kept_iterator iterator;
	KeptItem   *item;

	qsort(sketch->units, sketch->unit_count, sizeof(SketchUnit), compare_units);
	sketch->items = MemoryContextAlloc(sketch->context, (sketch->kept->members + 1) * sizeof(KeptItem));
	kept_start_iterate(sketch->kept, &iterator);
	while ((item = kept_iterate(sketch->kept, &iterator)) != NULL)
	{
		item->weight = item->frequent ? 1 : ldexp(1, sketch->zeros);
		sketch->items[sketch->item_count++] = *item;
	}
	unit_destroy(sketch->unit);
	kept_destroy(sketch->kept);
}
