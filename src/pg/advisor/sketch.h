/*
 * sketch.h: what the advisor keeps of the items of a column. An *item* is a value, or something inside it that an index
 * has an entry for: a key of an operator class, an n-gram. A *unit* is up to 32 consecutive pages of a table, which are
 * read together. The lengths of ranges that CREATE INDEX chooses are divisors of 32, so a unit has whole ranges of any
 * length. Memory is bounded: the items of one unit, 63 numbers for each unit, and some 65,536 items.
 */
#ifndef STREAMBLOOM_PG_ADVISOR_SKETCH_H
#define STREAMBLOOM_PG_ADVISOR_SKETCH_H

#include "base/compat.h"

#include "storage/itemptr.h"

#define UNIT_PAGES 32
#define LENGTHS 6				/* ranges of 1, 2, 4, 8, 16 and 32 pages */

/* The number of the first range of 2^length pages in SketchUnit.items. */
#define FIRST_OF_LENGTH(length) (2 * UNIT_PAGES - (2 * UNIT_PAGES >> (length)))

/* A unit that was read: how many different items its ranges have, of each length. */
typedef struct SketchUnit
{
	uint64		number;			/* among the units of all leaves; the first field, since units are sorted by it */
	uint32		leaf;			/* the partition; see advisor.h */
	uint32		pages;
	uint32		items[2 * UNIT_PAGES - 1];
} SketchUnit;

/* An item of the unit that is being read, or one that was kept. If there are many, some are kept. */
typedef struct SketchItem
{
	uint64		hash;
	double		weight;			/* how many items it stands for; set by bf_sketch_end() */
	uint32		last;			/* the row of the unit that was counted last */
	uint32		rows;			/* these four: in how many it is */
	uint32		pages;			/* but in a unit a bit for each page that it is on */
	uint32		units;
	uint32		ranges[LENGTHS];
	uint16		size;			/* of its tuple in an index, without rows */
	bool		frequent;		/* it is in many rows, and stands for itself alone */
	char		status;
} SketchItem;

typedef struct Sketch
{
	MemoryContext context;
	struct items_hash *unit;	/* the items of the unit that is being read, at most most_in_unit */
	struct items_hash *kept;
	uint32		most_in_unit;
	uint32		most_kept;
	uint64		mask;			/* these bits are 0 in the hashes of items that are kept for their hashes */
	SketchUnit *units;			/* when the sketch has ended, in the order of the table */
	uint32		unit_count;
	SketchItem *items;			/* those that were kept, when the sketch has ended */
	uint32		item_count;
	double		rows;			/* that were looked at */
	double		all_items;		/* of all these rows together */
	bool		too_wide;		/* an item does not fit into a B-tree or GIN index */
} Sketch;

/* The place of a row in its unit, whose pages are numbered from 0. */
#define SKETCH_ROW(page, offset) ((uint32) (page) << 16 | (offset))

/* Makes a sketch in the current memory context, for one of so many columns. */
extern Sketch *bf_sketch_begin(int columns);

/*
 * Counts an item of this row. An item that comes twice in one row counts once. Returns a pointer to the item's size if
 * it is the first one in this unit, so that the caller can set it; else NULL.
 */
extern uint16 *bf_sketch_add(Sketch *sketch, uint64 hash, uint32 row);

/* Ends the unit that was read. */
extern void bf_sketch_end_unit(Sketch *sketch, uint32 number, uint32 leaf, uint32 pages);


extern void bf_sketch_end(Sketch *sketch);

#endif
