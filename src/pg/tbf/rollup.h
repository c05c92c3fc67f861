/*
 * rollup.h: what the aggregates of roll-ups share: rows of the table of a roll-up, and a set of items.
 *
 * A roll-up is a table (docs/rollups.md). Each row has the hits of a *bucket*, such as an hour, and of a group: a
 * filter, and a list of its hottest items. An exact filter knows each item; one with counters may count it too high.
 */
#ifndef STREAMBLOOM_PG_ROLLUP_H
#define STREAMBLOOM_PG_ROLLUP_H

#include "tbf/tbf.h"

#include "access/htup_details.h"
#include "storage/itemptr.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "base/slices.h"

/* The columns of the table, by their names. */
typedef enum RollupColumn
{
	ROLLUP_TIER, ROLLUP_STARTS, ROLLUP_ENDS, ROLLUP_CLOSED, ROLLUP_GROUPS, ROLLUP_OLDEST, ROLLUP_NEWEST, ROLLUP_HITS, ROLLUP_F,
	ROLLUP_HOT, ROLLUP_HOT_HITS, ROLLUP_HOT_OVER, ROLLUP_HOT_REST, ROLLUP_COLUMNS
} RollupColumn;

/* A list of items and their hits, inside a detoasted array each. */
typedef struct RollupList
{
	Datum	   *items;
	const double *hits;
	int			count;
} RollupList;

typedef struct RollupRow
{
	ItemPointerData id;
	int16		tier;
	bool		closed;
	TimestampTz starts;
	TimestampTz ends;
	TimestampTz oldest;
	TimestampTz newest;
	double		hits;
	Datum		f;
	RollupList	list;
	double		over;			/* hot_over: a listed item has at most this many more hits than the list says */
	double		rest;			/* hot_rest: an item that is not listed has at most this many */
	bool		exact;
	uint32		items;			/* of an exact filter */
	sb_lookup	lookup;			/* in f */
} RollupRow;

typedef struct RollupKey
{
	uint64		hash;
	Datum		item;
} RollupKey;

typedef struct RollupItem
{
	RollupKey	key;
	double		hits;			/* in the source, or in a list: what an aggregate adds up */
	double		old;			/* of these, those that may be counted already */
	double		other;
	TimestampTz oldest;
	TimestampTz newest;
	bool		listed;
	char		status;
} RollupItem;

typedef struct RollupItems RollupItems;

static inline bool rollup_keys_equal(RollupItems *items, RollupKey left, RollupKey right);

#define SH_PREFIX rollup_set
#define SH_ELEMENT_TYPE RollupItem
#define SH_KEY_TYPE RollupKey
#define SH_KEY key
#define SH_HASH_KEY(table, key) ((uint32) ((key).hash >> 8))
#define SH_EQUAL(table, left, right) rollup_keys_equal((RollupItems *) (table)->private_data, left, right)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* A set of items of one type. */
struct RollupItems
{
	MemoryContext context;
	rollup_set_hash *set;
	ItemHasher *hasher;
	Oid			type;
	Oid			collation;
	TypeCacheEntry *entry;
	FmgrInfo	output;
	bool		is_text;
};

static inline bool
rollup_keys_equal(RollupItems *items, RollupKey left, RollupKey right)
{
	return left.hash == right.hash &&
		DatumGetBool(FunctionCall2Coll(&items->entry->eq_opr_finfo, items->collation, left.item, right.item));
}

extern void rollup_items_begin(RollupItems *items, MemoryContext context, ItemHasher *hasher, Oid type, Oid collation);

/* Finds the item, or adds a copy of it with nothing but zeros. */
static inline RollupItem *
rollup_item(RollupItems *items, Datum datum)
{
	RollupKey	key = {item_hash(items->hasher, datum), datum};
	bool		found;
	RollupItem *item = rollup_set_insert(items->set, key, &found);

	if (!found)
	{
		MemoryContext caller = MemoryContextSwitchTo(items->context);

		memset(item, 0, offsetof(RollupItem, status));
		key.item = items->entry->typlen == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(datum)) :
			datumCopy(datum, items->entry->typbyval, items->entry->typlen);
		item->key = key;
		MemoryContextSwitchTo(caller);
	}
	return item;
}

static inline RollupItem *
rollup_item_find(RollupItems *items, Datum datum)
{
	RollupKey	key = {item_hash(items->hasher, datum), datum};

	return rollup_set_lookup(items->set, key);
}

/* Reads a list whose arrays may be compressed. */
extern void rollup_list_read(RollupItems *items, Datum hot, Datum hot_hits, RollupList *list);

extern Datum rollup_item_datum_text(RollupItems *items, const RollupItem *item);

extern int	rollup_compare_texts(RollupItems *items, const RollupItem *left, const RollupItem *right);

/* The item as text, and its length in bytes. The text may not be terminated, and may be inside the item. */
extern const char *rollup_item_text(RollupItems *items, const RollupItem *item, size_t *length);

/* Sorts items by `hits`, the largest first; of equal ones by their texts. Only the order of the first `count` matters. */
extern void rollup_sort_items(RollupItems *items, RollupItem **sorted, size_t size, size_t count);

/* The columns of a table of a roll-up. */
typedef struct RollupTable
{
	TupleDesc	desc;
	int			number[ROLLUP_COLUMNS];
} RollupTable;

extern void rollup_table_of(RollupTable *table, MemoryContext context, Oid row_type, Oid item_type);

/* Reads a row. A bucket is a row with nothing but tier, starts, ends and closed. */
extern void rollup_row_read(const RollupTable *table, RollupItems *items, Datum datum, bool is_bucket, RollupRow *row);

/* Makes a row without groups. `list` has items of `items`. */
extern Datum rollup_row_make(const RollupTable *table, RollupItems *items, const RollupRow *row, RollupItem **list, size_t count);

/* Opens the row's filter; row->f is set. */
extern void rollup_row_open_filter(RollupRow *row);

/* How many hits of the item the filter of the row counts. */
static inline double
rollup_row_count(RollupRow *row, uint64 hash)
{
	look_up_finish(&row->lookup, NULL, row->f, sb_lookup_item(&row->lookup, hash));
	return sb_tbf_count(&row->lookup.header.tbf, row->lookup.units, 0);
}

/* The filters of rows, merged. */
extern Datum rollup_merge_filters(RollupRow **rows, int count);

/* The state of the aggregates over rows and hits (rollup_count.c), of one bucket and group. */
typedef struct RollupState
{
	MemoryContext context;
	RollupTable table;
	RollupItems items;			/* the items of the source */
	RollupRow	bucket;			/* tier, starts, ends, and closed: whether the bucket is to be closed */
	RollupRow  *rows;			/* what the roll-up has of the bucket */
	int			row_count;
	int			row_room;
	TimestampTz latest;			/* the newest hit that the roll-up has of all buckets of this step */
	int			top;
	struct RollupCounted *counted;
} RollupState;

/* Makes one row of all rows; there are no hits of the source (rollup_merge.c). */
extern Datum rollup_merge(RollupState *state);

#endif
