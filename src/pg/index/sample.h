/*
 * sample.h: what bf_index_advise() (advise.c) learns of a table from some of its pages (sample.c, sample_keys.c), and what follows
 * for an index (model.c, model_gin.c).
 */
#ifndef STREAMBLOOM_PG_INDEX_SAMPLE_H
#define STREAMBLOOM_PG_INDEX_SAMPLE_H

#include "index/bf_index.h"

/* Pages are read in runs of this many, which begin at its multiples: the longest ranges that an index chooses. */
#define SAMPLE_UNIT BF_INDEX_DEFAULT_PAGES_PER_RANGE

/*
 * Values of a column that are in the sample, each with where it is. Of many values only those are kept whose hashes end
 * with `zeros` zeros, so what is counted has to be multiplied by 2^zeros.
 */
typedef struct ValueStats
{
	int			zeros;
	uint64		values;			/* that are kept */
	uint64		pages;			/* the number of pages that a value is on, summed up over these */
	/* Of those that are in two units at most: */
	uint64		rare;
	uint64		rare_in_one_unit;
	uint64		rare_units;
	/* Of these, those that are not in the beginning of the table: */
	uint64		new;
	uint64		new_in_one_unit;
	uint64		new_units;
} ValueStats;

/* Adds values that are in so many units. */
static inline void
bf_index_add_to_stats(ValueStats *stats, uint32 units, bool is_new, uint64 weight)
{
	stats->values += weight;
	/* The others are surely known, and would make the estimate of the number of rare ones too low (Haas and Stokes 1998, Duj2a). */
	if (units > 2)
		return;
	stats->rare += weight;
	stats->rare_units += units * weight;
	stats->rare_in_one_unit += units == 1 ? weight : 0;
	if (!is_new)
		return;
	stats->new += weight;
	stats->new_units += units * weight;
	stats->new_in_one_unit += units == 1 ? weight : 0;
}

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
 * Of so many zeros at the end of its hash depends whether a value or a key is kept: with one zero more, half of them are.
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
	double		items_from_start[BF_INDEX_MAX_LEVELS];	/* distinct values in the first range of each level; 0: not known */
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
	uint64		most_fetched;	/* when these are so many, the sample of the table or partition ends; more than bytes_fetched when it begins */
} Sample;

/*
 * How many times as many items the fullest range of the column has as the average one, by what was read of the table. All filters
 * of a group of ranges are as large as the fullest one of these needs.
 */
extern double bf_index_unevenness(const SampleColumn *column);

/* Finds out how the column is hashed, and what a B-tree on it would do. */
extern void bf_index_sample_column(SampleColumn *column, Form_pg_attribute attribute, MemoryContext context);

/* Reads at most `most` pages of a table, with the snapshot of the query. The results are in *sample and its columns. */
extern void bf_index_sample_table(Sample *sample, Relation heap, BlockNumber most);

/* Releases what bf_index_sample_table() has allocated, but not what is known of all partitions together. */
extern void bf_index_forget_sample(Sample *sample);

/* ------------------------------------------------------ values (sample_values.c) */

/*
 * The size of a tuple of a B-tree or a GIN index with this value, without its line pointer, as index_form_tuple() would make it; 0 if it
 * does not fit.
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
 * Counts a row of the value with this hash, which may be a key inside the row's value. If it is not, its size in an index is found out,
 * which is why its attribute and the value are needed.
 */
extern void bf_index_count_value(const Sample *sample, SampleColumn *column, uint64 hash, const Place *place,
								 Form_pg_attribute attribute, Datum value, bool isnull);

/* The number of distinct values in what was read. */
extern double bf_index_distinct_so_far(const SampleColumn *column);

/* Sums up the values that were kept of this table, or of all partitions together. */
extern void bf_index_sample_values(const SampleColumn *column, bool all, ValueStats *stats);

/* Calls visit() for each value of this table that was kept. */
extern void bf_index_visit_values(const SampleColumn *column, void (*visit) (const KeptValue *value, void *argument), void *argument);

/* The value that has the most rows in the sample of this table. */
extern const FrequentValue *bf_index_most_frequent(const SampleColumn *column);

/* ----------------------------------------------- keys inside values (sample_keys.c) */

/*
 * If the operator class has keys inside values, prepares the column for them and returns true. Otherwise finds out whether there is a
 * GIN operator class for the trigrams of the column.
 */
extern bool bf_index_sample_key_column(SampleColumn *column, Form_pg_attribute attribute, Oid opclass, MemoryContext context);

/* Begins to count the keys of a table or partition, of which at most so many pages are read. */
extern void bf_index_begin_keys(const Sample *sample, SampleColumn *column, BlockNumber most);

/* Are the keys of this column to be looked at in the unit that is being read? */
extern bool bf_index_looks_at_keys(const Sample *sample, const SampleColumn *column);

/*
 * Takes a value apart. The keys are in the current memory context, each one once. If the functions of the operator class raise an error,
 * the column is refused from now on, and there are no keys.
 */
extern KeyOfRow *bf_index_keys_of_row(Sample *sample, SampleColumn *column, Datum value, bool isnull, uint32 *count);

/* Counts the keys of a row for a GIN index. The page is numbered from the first one of the unit. */
extern void bf_index_count_keys(Sample *sample, SampleColumn *column, const KeyOfRow *keys, uint32 count, BlockNumber page,
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
extern void bf_index_visit_keys(const SampleColumn *column, void (*visit) (const CountedKey *key, void *argument), void *argument);

/* ----------------------------------------------------------- the model (model.c) */

/*
 * Estimates how many distinct values there are, if the sample is this share of it all and has no beginning that was read as a whole.
 */
extern double bf_index_distinct_in_share(const ValueStats *stats, double share);

/* The number of distinct values in a table: those in its beginning, which was read, and those that are in the rest only. */
extern double bf_index_distinct_values(const Sample *sample, const ValueStats *stats);

/* An index on one column. */
typedef struct BfModel
{
	int			levels;
	double		length[BF_INDEX_MAX_LEVELS];	/* pages of a range */
	double		ranges[BF_INDEX_MAX_LEVELS];
	double		groups[BF_INDEX_MAX_LEVELS];
	double		rate[BF_INDEX_MAX_LEVELS];
	double		heap_pages;
	double		pages;			/* of the index */
} BfModel;

/* An index on the column with this rate, of which there are so many distinct values in the table. */
extern void bf_index_model(const Sample *sample, const SampleColumn *column, double rate, double distinct, BfModel *model);

/*
 * The pages of the index and the table that a look-up reads on average, if so many ranges of level 0 hold the value. These lie
 * strewn over the table.
 */
extern double bf_index_model_look_up(const BfModel *model, double holding);

/* The bytes of a B-tree on the column, of which there are so many distinct values in the table. */
extern double bf_index_model_btree(const Sample *sample, const SampleColumn *column, double distinct);

/* The bytes of a GIN index on the column, as CREATE INDEX would make it with the settings of now (model_gin.c). */
extern double bf_index_model_gin(const Sample *sample, const SampleColumn *column, const KeyStats *keys);

#endif
