/*
 * advisor.h: what bf_index_advise() learns of a table from some of its pages, and what it expects of indexes on its
 * columns. README.md says which file does what.
 */
#ifndef STREAMBLOOM_PG_ADVISOR_ADVISOR_H
#define STREAMBLOOM_PG_ADVISOR_ADVISOR_H

#include "base/compat.h"

#include "access/tupdesc.h"
#include "datatype/timestamp.h"
#include "utils/rel.h"

#include "advisor/sketch.h"
#include "base/item.h"
#include "index/keys.h"

/* The indexes on grams that are compared: gram_ops with n = 4 and n = 6. */
#define GRAM_INDEXES 2
extern const uint32 bf_gram_lengths[GRAM_INDEXES];

/* The sketches of a column. */
enum
{
	ITEMS,						/* what a bf index hashes: values, or keys */
	TRIGRAMS,
	GRAMS,						/* of gram_ops with n = 4 and n = 6 */
	SKETCHES = GRAMS + GRAM_INDEXES
};

typedef struct SampleColumn
{
	AttrNumber	attnum;			/* in the partition that is being read */
	const char *name;
	const char *refused;		/* why a bf index cannot be made, or cannot be estimated; NULL: it can */
	double		rate;			/* the false-positive rate that an index has by default */
	const char *opclass;		/* the operator class to name in CREATE INDEX; NULL: the default one */
	const char *uses;			/* a remark on what the operator classes are for; NULL: none */
	const char *gram_class;		/* of a text: the name of gram_ops; NULL: no sketches of grams */
	bool		items_are_keys; /* the items are the keys inside the values; else the values themselves */
	bool		has_btree;
	bool		deduplicates;	/* equal values share a tuple in a B-tree */
	bool		has_gin;		/* GIN has a class with the keys, or trigrams of a text */
	bool		left_out;		/* values that are too long to be taken apart, or to be read in time */
	ItemHasher *hasher;			/* of values */
	TupleDesc	tuple;			/* of a B-tree */
	BfKeyClass *class;			/* takes out keys, or trigrams of a text; NULL: neither */
	ItemHasher *key_hasher;
	TupleDesc	key_tuple;
	Sketch	   *sketches[SKETCHES]; /* NULL: there are no such items */
} SampleColumn;

/* A table without partitions, or a partition with rows of its own. */
typedef struct Leaf
{
	Oid			oid;
	BlockNumber blocks;
	bool		is_partition;
} Leaf;

typedef struct Sample
{
	int			column_count;
	SampleColumn *columns;
	Leaf	   *leaves;			/* that are not empty */
	int			leaf_count;
	int			empty_count;
	double		pages;			/* of all leaves */
	double		bytes;			/* with their out-of-line values */
	uint32		units;			/* of all leaves */
	TimestampTz begun;
	int64		budget;			/* microseconds */
	TimestampTz late;			/* when no more out-of-line values are to be read for this unit */
	uint32		units_read;
	double		pages_read;
	double		rows;			/* that were read */
} Sample;

/* How the items of a sketch lie in the table. */
typedef struct Spread
{
	const Sample *sample;
	const Sketch *sketch;
	double		times;			/* rows of the table for each row that the sketch has */
	double		items;			/* the sum of all rows' items: 1 for each row, or its number of keys */
	double		distinct;
	double		pages;			/* the sum, over all different items, of the number of pages that each is on */
	double		unit_items;		/* the different items of a unit, in the mean */
	double		unit_pages;
	double		growth;			/* twice as many pages have 2^growth times as many different items */
	double		tuple;			/* bytes of an item's tuple in a B-tree or GIN index, without rows */
	double		rare[LENGTHS];	/* in how many ranges a rare item is, if ranges have 2^i pages */
	double		frequent[LENGTHS];	/* the same of the item with the most rows */
	double		common[LENGTHS];	/* the share of a range's items that another range has, too */
} Spread;

/* What is looked for: a value that is nowhere, a rare one, the most frequent one. */
enum
{
	ABSENT,
	RARE,
	FREQUENT,
	LOOK_UPS
};

/* A bf index on all leaves together. */
typedef struct Figures
{
	double		bytes;
	double		pages[LOOK_UPS];	/* of index and table, that a look-up reads */
	double		unevenness;		/* the items of the fullest range, as a multiple of the mean */
	double		common;			/* of keys: the share that two ranges have in common, before they are made shorter */
} Figures;

/* What is said of a column. "Value" means a key if the class takes keys out of values. */
typedef struct Advice
{
	Spread		spread;
	Figures		bf;
	double		btree_bytes;	/* negative: impossible, or not known */
	double		gin_bytes;		/* the same */
} Advice;

/* ------------------------------------------------------------------- column.c */

/*
 * Prepares one of so many columns, in the current memory context: how its items are hashed, which indexes are possible.
 */
extern void bf_column_begin(SampleColumn *column, Form_pg_attribute attribute, int column_count);

/* Counts the items of a row (SKETCH_ROW). */
extern void bf_column_add(Sample *sample, SampleColumn *column, Datum value, bool isnull, uint32 row);
extern void bf_column_end_unit(const Sample *sample, SampleColumn *column, uint32 number, uint32 leaf, uint32 pages);

/* ------------------------------------------------------------------- sample.c */

/* Finds the leaves of a table. */
extern void bf_sample_begin(Sample *sample, Oid table);

/*
 * Reads units with the query's snapshot, each at a random place of one part of the table, until the time is over or all
 * are read. Those that were read so far are always spread over all leaves.
 */
extern void bf_sample_read(Sample *sample);

/* ----------------------------------------------------- estimate.c and peers.c */

extern void bf_spread(const Sample *sample, const Sketch *sketch, Spread *spread);

/* How many different items `pages` pages have that follow each other. */
extern double bf_distinct_in(const Spread *spread, double pages);

extern void bf_estimate(const Spread *spread, double rate, bool are_keys, Figures *figures);
extern double bf_estimate_btree(const Spread *spread, bool deduplicates);
extern double bf_estimate_gin(const Spread *spread);

/* -------------------------------------------------------------------- judge.c */

/*
 * Returns a text that says whether an index with these figures pays, and why; sets *pays to whether it does. REQUIRES:
 * the table is open.
 */
extern const char *bf_index_judge(Relation table, const Sample *sample, const SampleColumn *column,
								  const Advice *advice, bool *pays);

/*
 * Returns the command CREATE INDEX, which means the same with any search_path. `opclass` is NULL for the default one.
 */
extern char *bf_index_create_statement(Relation table, const SampleColumn *column, const char *opclass);

/* The name with its schema, which means the same with any search_path. */
extern const char *bf_index_qualified(Oid schema, const NameData *name);

#endif
