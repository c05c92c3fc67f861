/*
 * sample.h: what bf_index_advise() (advise.c) learns about a table from some of its pages (sample.c, with the files
 * whose names begin with sample_).
 *
 * The *beginning* of a table is its first pages, all of which the sample has. The other pages of the sample are chosen
 * at random. A *unit* is SAMPLE_UNIT consecutive pages that are sampled together. An *item* is what a bf index would
 * hash: a value of the column, or a key inside a value, such as an element of an array. A *range* is consecutive pages
 * whose items would share a filter (index/layout.h). A value or key is *kept* if it is counted for itself; if there are
 * many, only some are kept, and stand for the others.
 */
#ifndef STREAMBLOOM_PG_ADVISOR_SAMPLE_H
#define STREAMBLOOM_PG_ADVISOR_SAMPLE_H

#include "base/item.h"

#include "advisor/distinct.h"
#include "advisor/grams.h"
#include "index/layout.h"
#include "index/sizes.h"

/*
 * Pages are read in units of this many pages. Each unit begins at a multiple of this number. The lengths of ranges that
 * CREATE INDEX chooses are divisors of this number. So a unit has whole ranges.
 */
#define SAMPLE_UNIT BF_INDEX_DEFAULT_PAGES_PER_RANGE

/*
 * The number of distinct items of a range that was read, and whether the range is of full length. The last range of a
 * table may be shorter.
 */
typedef struct SampledRange
{
	uint32		items;
	bool		full;
} SampledRange;

/* A value that was kept: in how many rows, pages, units and ranges of the sample it is, and where it was seen last. */
typedef struct KeptValue
{
	uint64		hash;			/* the key for simplehash.h */
	uint32		rows;
	uint32		pages;
	uint32		units;
	uint32		ranges;
	uint32		last_page;
	uint32		last_unit;
	uint32		last_range;
	uint16		key_size;		/* size of its tuple in a B-tree; 0: it does not fit, or the items are keys */
	bool		is_new;			/* it is not in the beginning of the table */
	char		status;
} KeptValue;

/*
 * Returns whether a hash ends with `zeros` zero bits. Values and keys are kept if they have such a hash; one more
 * zero bit halves their number. Only keys that have many rows are kept whatever their hashes are (sample_keys.c).
 */
static inline bool
bf_index_ends_with_zeros(uint64 hash, int zeros)
{
	return (hash & ((UINT64CONST(1) << zeros) - 1)) == 0;
}

struct kept_hash;

/*
 * A value that seems to be the most frequent one of its slot. There are FREQUENT_SLOTS slots; the hash of a value
 * chooses the slot.
 */
typedef struct FrequentValue
{
	uint64		hash;
	/* These numbers leave out the rows before the one with which the value took the slot: */
	uint32		lead;			/* the rows of the value minus all other rows of the slot */
	uint32		rows;
	uint32		ranges;
	uint32		last_range;
} FrequentValue;

#define FREQUENT_SLOTS 1024

/* The keys inside the values of a column: how they are extracted, and what is known of them (sample_keys.c). */
typedef struct SampleKeys SampleKeys;

/*
 * A key of a row's value. If is_null is true, the struct has no key, but stands for one of three things: the value is
 * NULL, the value has no keys, or one of its keys is NULL. A GIN index has entries for all three. A bf index has an
 * item only if the value is NULL.
 */
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
	const char *refused;		/* why a bf index cannot be made, or cannot be estimated; NULL: it can */
	double		rate;			/* the false-positive rate that an index has by default */
	const char *opclass;		/* the operator class to name in CREATE INDEX; NULL: the default one */
	const char *uses;			/* a remark on what the operator classes are for; NULL: none */
	GramSample *grams;			/* of a text: whether the class gram_ops of `uses` pays; else NULL */
	bool		items_are_keys; /* the items are the keys inside the values; else the values themselves */
	SampleKeys *keys;			/* NULL: the values have no keys, neither for bf nor for GIN */
	ItemHasher *hasher;			/* hashes values */
	bool		has_btree;		/* there is a B-tree operator class */
	bool		deduplicates;	/* equal values share a tuple in that B-tree */

	/* of the table, or of the partition that is sampled: */
	double		items;			/* the sum of the numbers of items of all rows that were read */
	BlockNumber pages_per_range;	/* of an index on this column alone */
	sb_hash_set set;			/* the items of the range that is being read */
	double		added;			/* how many items were added to the set; equal ones count each time */
	uint32		range;			/* the number of the range that is being read */
	uint32		first_unit;		/* the number of the first unit of the table */
	SampledRange *ranges;
	uint32		range_count;
	struct kept_hash *kept;		/* the values that were kept */
	int			zeros;			/* how many zero bits the hashes of these values end with */
	FrequentValue frequent[FREQUENT_SLOTS];
	/* number of distinct values in the first range of each level; 0: not known */
	double		items_from_start[BF_INDEX_MAX_LEVELS];
	bool		too_wide;		/* some value that was kept, also in an earlier partition, is too wide for a B-tree */

	/* of all partitions together: */
	struct kept_hash *all_kept; /* as `kept`; NULL: only one table is sampled */
	int			all_zeros;
} SampleColumn;

/* A sample of a table or of a partition. */
typedef struct Sample
{
	MemoryContext context;
	bool		is_partition;
	int			column_count;
	SampleColumn *columns;
	uint64		most_kept;		/* the most values, and the most keys, that are kept for a column */
	BlockNumber heap_blocks;
	BlockNumber toast_blocks;	/* pages of the table's out-of-line values */
	/* Numbers of pages that were read. If the sample ended inside a page, a part of that page counts. */
	double		contiguous;		/* pages of the beginning of the table */
	double		pages_read;		/* all pages */
	double		rows;
	uint32		units;			/* units read, in all partitions together */
	uint64		bytes_fetched;	/* bytes of out-of-line values read, in all partitions together */
	/* the sample of this table or partition ends with the row with which bytes_fetched reaches this number */
	uint64		most_fetched;
	/* bytes of out-of-line values that were read to choose the length of ranges of this table, and their limit */
	uint64		fetched_for_lengths;
	uint64		most_for_lengths;
} Sample;

/* Returns how many pages the table has for each page that was read. */
static inline double
bf_index_times_read(const Sample *sample)
{
	return sample->pages_read > 0 ? sample->heap_blocks / sample->pages_read : 1;
}

/*
 * Fills in a column: how its items are hashed, whether a B-tree on it is possible, and whether equal values share
 * tuples there (sample_columns.c).
 */
extern void bf_index_sample_column(SampleColumn *column, Form_pg_attribute attribute, MemoryContext context);

/*
 * Samples a table, with the snapshot of the query. Fills in *sample and its columns. Reads at most `most` pages, or two
 * units if `most` is less. (Pages that are read to choose the length of ranges do not count.)
 */
extern void bf_index_sample_table(Sample *sample, Relation heap, BlockNumber most);

/* Releases all that bf_index_sample_table() has allocated, except what is known of all partitions together. */
extern void bf_index_forget_sample(Sample *sample);

/* ------------------------------------------------------ values (sample_values.c) */

/*
 * Returns the size of a B-tree or GIN tuple with this value, without its line pointer, as index_form_tuple() would
 * make it. Returns 0 if the value does not fit.
 */
extern uint16 bf_index_key_size(Form_pg_attribute attribute, Datum value, bool isnull);

/* From now on also keeps the values of all partitions together, in this memory context. */
extern void bf_index_keep_all_values(SampleColumn *column, MemoryContext context);

/* Begins to count the values of a table or partition. */
extern void bf_index_begin_values(const Sample *sample, SampleColumn *column);

/* Where a row lies. */
typedef struct Place
{
	bool		at_beginning;	/* in the beginning of the table */
	uint32		page;
	uint32		unit;			/* counted in the sample, through all partitions */
	uint32		range;
} Place;

/*
 * Counts a row of the value with this hash. If the column's items are keys, the hash is that of a key inside the
 * row's value. Otherwise `attribute`, `value` and `isnull` are used to find the size of the value's tuple in a B-tree.
 */
extern void bf_index_count_value(const Sample *sample, SampleColumn *column, uint64 hash, const Place *place,
								 Form_pg_attribute attribute, Datum value, bool isnull);

/* Estimates the number of distinct values in the pages read so far. */
extern double bf_index_distinct_so_far(const SampleColumn *column);

/* Sets *stats from the values that were kept of this table, or of all partitions together if `all` is true. */
extern void bf_index_sample_values(const SampleColumn *column, bool all, ValueStats *stats);

/* Calls visit() for each value that was kept of this table, or of all partitions together if `all` is true. */
extern void bf_index_visit_values(const SampleColumn *column, bool all,
								  void (*visit) (const KeptValue *value, void *argument), void *argument);

/* Returns the value that seems to have the most rows in the sample of this table (see FrequentValue). */
extern const FrequentValue *bf_index_most_frequent(const SampleColumn *column);

/* ----------------------------------------------- keys inside values (sample_keys.c) */

/*
 * If the operator class takes values apart into keys, prepares the column for these keys, and returns true. If that
 * raises an error, refuses the column, and returns true. Otherwise returns false; then a column of type text or varchar
 * is prepared for trigrams if their GIN operator class is installed.
 */
extern bool bf_index_sample_key_column(SampleColumn *column, Form_pg_attribute attribute, Oid opclass,
									   MemoryContext context);

/* Begins to count the keys of a table or partition. At most `most` of its pages will be read. */
extern void bf_index_begin_keys(const Sample *sample, SampleColumn *column, BlockNumber most);

/*
 * Returns whether the keys of this column are to be looked at in the unit that is being read. In a large sample,
 * trigrams are looked at only in some units.
 */
extern bool bf_index_looks_at_keys(const Sample *sample, const SampleColumn *column);

/*
 * Returns the different keys of a value, in the current memory context, and sets *count to their number. For a NULL,
 * and for a value without keys, there is one KeyOfRow, with is_null set. Returns NULL and sets *count to 0 if the value
 * is too long, or if the functions of the operator class raise an error. After such an error a column whose items are
 * keys is refused, and of any other column no GIN index is possible.
 */
extern KeyOfRow *bf_index_keys_of_row(Sample *sample, SampleColumn *column, Datum value, bool isnull, uint32 *count);

/* Counts the keys of a row for a GIN index. `page` is the number of the row's page in the unit, from 0. */
extern void bf_index_count_keys(Sample *sample, SampleColumn *column, const KeyOfRow *keys, uint32 count,
								BlockNumber page,
								OffsetNumber offset, bool at_beginning);

/* Ends a unit of `pages` pages in which keys were looked at. */
extern void bf_index_end_keys_of_unit(Sample *sample, SampleColumn *column, double pages, bool at_beginning);

/* Returns whether some values were too long for their keys to be extracted. */
extern bool bf_index_has_left_out_keys(const SampleColumn *column);

/* A key that was counted. */
typedef struct CountedKey
{
	double		weight;			/* number of keys that it stands for */
	uint32		rows;
	double		bytes;			/* bytes of its rows in a posting list, without the first row */
	uint16		size;			/* size of its tuple, see bf_index_key_size() */
	bool		single;			/* it is in only one unit, and is not known to be in the beginning of the table */
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
