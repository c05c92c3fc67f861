/*
 * sample.h: what bf_index_advise() (advise.c) learns of a table from some of its pages (sample.c, sample_values.c,
 * sample_keys.c).
 */
#ifndef STREAMBLOOM_PG_ADVISOR_SAMPLE_H
#define STREAMBLOOM_PG_ADVISOR_SAMPLE_H

#include "base/item.h"

#include "advisor/distinct.h"
#include "index/layout.h"
#include "index/sizes.h"

/* Pages are read in runs of this many, which begin at its multiples: the longest ranges that an index chooses. */
#define SAMPLE_UNIT BF_INDEX_DEFAULT_PAGES_PER_RANGE

/* The items of a range of the sample, and whether it has all its pages. */
typedef struct SampledRange
{
	uint32		items;
	bool		full;
} SampledRange;

/* One of the values that were kept. */
typedef struct KeptValue
{
	uint64		hash;			/* its key in the table */
	uint32		rows;
	uint32		pages;
	uint32		units;
	uint32		ranges;
	uint32		last_page;
	uint32		last_unit;
	uint32		last_range;
	uint16		key_size;		/* of its tuple in a B-tree; 0: it does not fit there, or it is a key inside values */
	bool		is_new;			/* it is not in the part at the beginning of the table that was read */
	char		status;
} KeptValue;

/*
 * Of so many zeros at the end of its hash depends whether a value or a key is kept: with one zero more, half of them
 * are.
 */
static inline bool
bf_index_ends_with_zeros(uint64 hash, int zeros)
{
	return (hash & ((UINT64CONST(1) << zeros) - 1)) == 0;
}

struct kept_hash;

/* A value that seems to be the most frequent one of those whose hashes lead to its slot. */
typedef struct FrequentValue
{
	uint64		hash;
	uint32		lead;			/* rows that it has more than all others of its slot, since it is there */
	uint32		rows;
	uint32		ranges;
	uint32		last_range;
} FrequentValue;

#define FREQUENT_SLOTS 1024

/* The keys inside the values of a column: how they are found, and what is known of them (sample_keys.c). */
typedef struct SampleKeys SampleKeys;

/* A key of a value. One that is null stands for no key of the operator class: GIN has such entries, bf has none. */
typedef struct KeyOfRow
{
	uint64		hash;
	Datum		key;
	bool		is_null;
} KeyOfRow;

/* A column of a table that is sampled. */
typedef struct SampleColumn
{
	AttrNumber	attnum;
	const char *name;
	const char *refused;		/* why there is no bf index on it, or none can be estimated; NULL: there can be one */
	double		rate;			/* the false-positive rate that an index has by default */
	const char *opclass;		/* the operator class to be named in the statement; NULL: the default one */
	const char *uses;			/* what is said of operator classes; NULL: nothing */
	bool		items_are_keys; /* the items are the keys inside the values; if not, the values */
	SampleKeys *keys;			/* NULL: there are none, and no GIN index */
	ItemHasher *hasher;			/* of values */
	bool		has_btree;		/* there is a B-tree operator class */
	bool		deduplicates;	/* in which equal values share a tuple */

	/* of the table, or of the partition that is sampled */
	double		items;			/* the sum over the rows of their numbers of items */
	BlockNumber pages_per_range;	/* that an index on this column alone gets */
	sb_hash_set set;			/* the items of the range that is being read */
	uint32		range;			/* which one this is */
	SampledRange *ranges;
	uint32		range_count;
	struct kept_hash *kept;
	int			zeros;
	FrequentValue frequent[FREQUENT_SLOTS];
	/* distinct values in the first range of each level; 0: not known */
	double		items_from_start[BF_INDEX_MAX_LEVELS];
	bool		too_wide;		/* a value is too wide for a B-tree */

	/* of all partitions together */
	struct kept_hash *all_kept;
	int			all_zeros;
} SampleColumn;

/* A sample of a table or of a partition. */
typedef struct Sample
{
	MemoryContext context;
	bool		is_partition;
	int			column_count;
	SampleColumn *columns;
	uint64		most_kept;		/* values of a column */
	BlockNumber heap_blocks;
	BlockNumber toast_blocks;	/* of its out-of-line values */
	BlockNumber contiguous;		/* so many pages were read from the beginning on */
	BlockNumber pages_read;
	double		rows;
	uint32		units;			/* of all partitions together */
	uint64		bytes_fetched;	/* of out-of-line values, of all partitions together */
	/* when these are so many, the sample of the table or partition ends; more than bytes_fetched when it begins */
	uint64		most_fetched;
} Sample;

/* Finds out how the column is hashed, and what a B-tree on it would do. */
extern void bf_index_sample_column(SampleColumn *column, Form_pg_attribute attribute, MemoryContext context);

/* Reads at most `most` pages of a table, with the snapshot of the query. The results are in *sample and its columns. */
extern void bf_index_sample_table(Sample *sample, Relation heap, BlockNumber most);

/* Releases what bf_index_sample_table() has allocated, but not what is known of all partitions together. */
extern void bf_index_forget_sample(Sample *sample);

/* ------------------------------------------------------ values (sample_values.c) */

/*
 * The size of a tuple of a B-tree or a GIN index with this value, without its line pointer, as index_form_tuple() would
 * make it; 0 if it does not fit.
 */
extern uint16 bf_index_key_size(Form_pg_attribute attribute, Datum value, bool isnull);

/* Keeps values of all partitions together too, in this memory context. */
extern void bf_index_keep_all_values(SampleColumn *column, MemoryContext context);

/* Begins to count the values of a table or partition. */
extern void bf_index_begin_values(const Sample *sample, SampleColumn *column);

/* Where a row is. */
typedef struct Place
{
	bool		at_beginning;	/* in the part of the table from the beginning on */
	uint32		page;
	uint32		unit;
	uint32		range;
} Place;

/*
 * Counts a row of the value with this hash, which may be a key inside the row's value. If it is not, its size in an
 * index is found out, which is why its attribute and the value are needed.
 */
extern void bf_index_count_value(const Sample *sample, SampleColumn *column, uint64 hash, const Place *place,
								 Form_pg_attribute attribute, Datum value, bool isnull);

/* The number of distinct values in what was read. */
extern double bf_index_distinct_so_far(const SampleColumn *column);

/* Sums up the values that were kept of this table, or of all partitions together. */
extern void bf_index_sample_values(const SampleColumn *column, bool all, ValueStats *stats);

/* Calls visit() for each value of this table that was kept. */
extern void bf_index_visit_values(const SampleColumn *column, void (*visit) (const KeptValue *value, void *argument),
								  void *argument);

/* The value that has the most rows in the sample of this table. */
extern const FrequentValue *bf_index_most_frequent(const SampleColumn *column);

/* ----------------------------------------------- keys inside values (sample_keys.c) */

/*
 * If the operator class has keys inside values, prepares the column for them and returns true. Otherwise finds out
 * whether there is a GIN operator class for the trigrams of the column.
 */
extern bool bf_index_sample_key_column(SampleColumn *column, Form_pg_attribute attribute, Oid opclass,
									   MemoryContext context);

/* Begins to count the keys of a table or partition, of which at most so many pages are read. */
extern void bf_index_begin_keys(const Sample *sample, SampleColumn *column, BlockNumber most);

/* Are the keys of this column to be looked at in the unit that is being read? */
extern bool bf_index_looks_at_keys(const Sample *sample, const SampleColumn *column);

/*
 * Takes a value apart. The keys are in the current memory context, each one once. If the functions of the operator
 * class raise an error, the column is refused from now on, and there are no keys.
 */
extern KeyOfRow *bf_index_keys_of_row(Sample *sample, SampleColumn *column, Datum value, bool isnull, uint32 *count);

/* Counts the keys of a row for a GIN index. The page is numbered from the first one of the unit. */
extern void bf_index_count_keys(Sample *sample, SampleColumn *column, const KeyOfRow *keys, uint32 count,
								BlockNumber page,
								OffsetNumber offset, bool at_beginning);

/* Ends a unit of so many pages in which keys were looked at. */
extern void bf_index_end_keys_of_unit(Sample *sample, SampleColumn *column, BlockNumber pages, bool at_beginning);

/* Are there values so long that they were not taken apart? */
extern bool bf_index_has_left_out_keys(const SampleColumn *column);

/* A key that was counted. */
typedef struct CountedKey
{
	double		weight;			/* it stands for so many keys */
	uint32		rows;
	double		bytes;			/* that a posting list takes for its rows but for the first one */
	uint16		size;			/* of its tuple, see bf_index_key_size() */
	bool		single;			/* it is in one unit only, which is not in the beginning of the table */
	bool		in_one_unit;
} CountedKey;

/* What is known of the keys of a table. */
typedef struct KeyStats
{
	double		scale;			/* rows of the table for each row whose keys were looked at */
	double		distinct;		/* keys in the table */
	bool		is_possible;	/* a GIN index can be built, and its size can be estimated */
} KeyStats;

extern void bf_index_sample_key_stats(const Sample *sample, const SampleColumn *column, KeyStats *stats);

/* Calls visit() for each key of this table that was kept. */
extern void bf_index_visit_keys(const SampleColumn *column, void (*visit) (const CountedKey *key, void *argument),
								void *argument);

#endif
