/*
 * sample.h: what bf_index_advise() learns of a table from some of its pages (sample.c), and of which items of a column
 * it makes sketches (column.c).
 */
#ifndef STREAMBLOOM_PG_ADVISOR_SAMPLE_H
#define STREAMBLOOM_PG_ADVISOR_SAMPLE_H

#include "base/item.h"

#include "advisor/sketch.h"
#include "index/keys.h"

/* The indexes on grams that are compared: gram_ops with n = 4 and n = 6. */
#define GRAM_INDEXES 2
#define PIECES 16
#define PIECE_LENGTH 11			/* an address, or a word */

/*
 * Pieces of texts from one unit are searched for in the next one. Of ranges that do not have a piece, those that have
 * all its grams would be read in vain.
 */
typedef struct Pieces
{
	char		text[PIECES][PIECE_LENGTH];
	char		coming[PIECES][PIECE_LENGTH];
	int			count;
	int			next;
	uint32		present[PIECES];	/* a bit for each page of the unit */
	double		asked[LENGTHS];	/* pieces times ranges */
	double		ranges[LENGTHS];	/* without the piece */
	double		in_vain[GRAM_INDEXES][LENGTHS];
} Pieces;

typedef struct SampleColumn
{
	AttrNumber	attnum;			/* in the table, or in the partition that is being read */
	const char *name;
	const char *refused;		/* why a bf index cannot be made, or cannot be estimated; NULL: it can */
	double		rate;			/* the false-positive rate that an index has by default */
	const char *opclass;		/* the operator class to name in CREATE INDEX; NULL: the default one */
	const char *uses;			/* a remark on what the operator classes are for; NULL: none */
	const char *gram_class;		/* of a text: the name of gram_ops; else NULL */
	bool		items_are_keys; /* the items are the keys inside the values; else the values themselves */
	bool		has_btree;
	bool		deduplicates;	/* equal values share a tuple in a B-tree */
	bool		has_gin;		/* GIN has a class with the keys, or trigrams of a text */
	bool		left_out;		/* values that are too long to be taken apart */
	ItemHasher *hasher;			/* of values */
	BfKeyClass *class;			/* takes out keys, or trigrams of a text; NULL: neither */
	ItemHasher *key_hasher;
	FormData_pg_attribute key;	/* describes a column of these */
	Sketch	   *items;			/* what a bf index hashes: values, or keys */
	Sketch	   *trigrams;		/* NULL if there are none */
	Sketch	   *grams[GRAM_INDEXES];
	Pieces	   *pieces;
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
	double		toast_pages;
	double		units;			/* of all leaves */
	double		units_to_read;
	double		units_read;
	uint32		gram_every;		/* trigrams and grams are looked at in one unit of so many */
	double		pages_read;
	double		rows;			/* that were read */
	uint64		fetched;		/* bytes of out-of-line values that were read */
} Sample;

/* ------------------------------------------------------------------- column.c */

/* Prepares a column: how its items are hashed, and which indexes are possible. */
extern void bf_column_begin(SampleColumn *column, Form_pg_attribute attribute, MemoryContext context,
							uint32 most_kept);

/* Counts the items of a row. `unit` is the number of the unit that is being read, `page` and `offset` are in it. */
extern void bf_column_add(Sample *sample, SampleColumn *column, uint32 unit, Form_pg_attribute attribute, Datum value,
						  bool isnull, BlockNumber page, OffsetNumber offset);
extern void bf_column_end_unit(const Sample *sample, SampleColumn *column, uint32 unit, uint32 leaf, uint32 pages);

/* n of each index on grams */
extern const uint32 bf_gram_lengths[GRAM_INDEXES];

/* ------------------------------------------------------------------- sample.c */

/* Finds the leaves of a table. */
extern void bf_sample_begin(Sample *sample, Oid table);

/*
 * Reads at most `most` pages with the query's snapshot: units that are spread over all leaves, one at a random place of
 * each part of the table.
 */
extern void bf_sample_read(Sample *sample, BlockNumber most);

#endif
