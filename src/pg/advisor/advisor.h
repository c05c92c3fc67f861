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
	MemoryContext context;
	int			column_count;
	SampleColumn *columns;
	Leaf	   *leaves;			/* that are not empty */
	int			leaf_count;
	int			empty_count;
	double		pages;			/* of all leaves */
	double		bytes;			/* with their out-of-line values */
	double		units;			/* of all leaves */
	TimestampTz begun;
	int64		budget;			/* microseconds */
	uint32		units_read;
	double		pages_read;
	double		rows;			/* that were read */
} Sample;

/* How the items of a sketch lie in the table. */
typedef struct Spread
{
	double		times;			/* rows of the table for each row that the sketch has */
	double		items;			/* the sum of all rows' items: 1 for each row, or its number of keys */
	double		distinct;
	double		pages;			/* the sum, over all different items, of the number of pages that each is on */
	double		table_pages;
	double		unit_items;		/* the different items of a unit, in the mean */
	double		unit_pages;
	double		growth;			/* twice as many pages have 2^growth times as many different items */
	double		tuple;			/* bytes of an item's tuple in a B-tree or GIN index, without rows */
	double		rare[LENGTHS];	/* in how many ranges a rare item is, if ranges have 2^i pages */
	double		frequent[LENGTHS];	/* the same of the item with the most rows */
	double		common[LENGTHS];	/* the share of a range's items that another range has, too */
} Spread;

/* A bf index with a certain false-positive rate, on all leaves together. Pages are those of index and table. */
typedef struct Figures
{
	double		bytes;
	double		pages_absent;	/* that a look-up reads, if the value is nowhere */
	double		pages_rare;		/* if the value is rare */
	double		pages_frequent; /* if it is the most frequent one */
	double		unevenness;		/* the items of the fullest range, as a multiple of the mean */
	double		common;			/* of keys: the share that two ranges have in common, before ranges are made shorter for it */
	int			length;			/* ranges have 2^length pages, in the leaf with the longest ones */
} Figures;

/* What is said of a column. "Value" means a key if the class takes keys out of values. */
typedef struct Advice
{
	Spread		spread;
	Figures		bf;
	const char *options;		/* in CREATE INDEX, behind the column: "" or a lower rate than the default one */
	double		btree_bytes;	/* negative: impossible, or not known */
	double		gin_bytes;		/* the same */
} Advice;

/* ------------------------------------------------------------------- column.c */

/* Prepares a column: how its items are hashed, and which indexes are possible. */
extern void bf_column_begin(SampleColumn *column, Form_pg_attribute attribute, MemoryContext context,
							uint32 most_kept, uint32 most_in_unit);

/* Counts the items of a row. `page` and `offset` are its place in the unit that is being read. */
extern void bf_column_add(Sample *sample, SampleColumn *column, Datum value, bool isnull, BlockNumber page,
						  OffsetNumber offset);
extern void bf_column_end_unit(const Sample *sample, SampleColumn *column, uint32 leaf, BlockNumber first,
							   uint32 pages);

/* ------------------------------------------------------------------- sample.c */

/* Finds the leaves of a table. */
extern void bf_sample_begin(Sample *sample, Oid table);

/*
 * Reads units with the query's snapshot, each at a random place of one part of the table, until the time is over or all
 * are read. Those that were read so far are always spread over all leaves.
 */
extern void bf_sample_read(Sample *sample);

/* Is the time over, if so many units are to be read in it? */
extern bool bf_sample_is_late(const Sample *sample, uint32 units);

/* ----------------------------------------------------- estimate.c and peers.c */

extern void bf_spread(const Sample *sample, const Sketch *sketch, Spread *spread);

/* How many different items `pages` pages have that follow each other. */
extern double bf_distinct_in(const Spread *spread, double pages);

extern void bf_estimate(const Sample *sample, const Sketch *sketch, const Spread *spread, double rate, bool are_keys,
						Figures *figures);
extern double bf_estimate_btree(const Sample *sample, const SampleColumn *column, const Spread *spread);
extern double bf_estimate_gin(const Sample *sample, const Sketch *sketch, const Spread *spread);

/* -------------------------------------------------------------------- judge.c */

/* An index pays only if a look-up of a rare value reads at most this share of the table's pages. */
#define BF_WORTH 0.25

/*
 * Returns a text that says whether an index with these figures pays, and why; sets *pays to whether it does. REQUIRES:
 * the table is open.
 */
extern const char *bf_index_judge(Relation table, const Sample *sample, const SampleColumn *column,
								  const Advice *advice, bool *pays);

/* Returns the command CREATE INDEX, which means the same with any search_path. `opclass` is NULL for the default one. */
extern char *bf_index_create_statement(Relation table, const SampleColumn *column, const char *opclass,
									   const char *options);

/* Returns whether the index would be larger than the table, a GIN index or a B-tree, and then why; else NULL. */
extern const char *bf_index_too_large(const Sample *sample, const SampleColumn *column, const Advice *advice,
									  const Figures *figures);

#endif
