/*
 * items.h: how the values of columns become items, and how items become hashes.
 */
#ifndef STREAMBLOOM_PG_INDEX_ITEMS_H
#define STREAMBLOOM_PG_INDEX_ITEMS_H

#include "base/compat.h"

#include "access/skey.h"
#include "utils/rel.h"

#include "base/item.h"

/*
 * How the values of a column become items. Under most operator classes a value is an item. Under an operator class with
 * GIN's support functions (keys.h) the items are the keys that the value is taken apart into.
 */
typedef struct BfColumnItems
{
	ItemHasher *hasher;			/* hashes the values, or their keys */
	struct BfKeyClass *keys;	/* NULL: the values are the items */
} BfColumnItems;

/* The BfColumnItems of all columns of an index. */
typedef struct BfItemizer
{
	int			columns;
	BfColumnItems column[INDEX_MAX_KEYS];
} BfItemizer;

/* The hashes of a row's items: of column c those from bf_index_first_of(items, c) to end[c] (exclusive). */
typedef struct BfRowItems
{
	int			columns;
	uint32		end[INDEX_MAX_KEYS];
	uint64	   *hashes;
	uint32		room;			/* the number of hashes that there is room for */
	MemoryContext context;		/* in which the hashes are allocated */
} BfRowItems;

static inline uint32
bf_index_first_of(const BfRowItems *items, int column)
{
	return column == 0 ? 0 : items->end[column - 1];
}

/*
 * Sets up *itemizer: finds the hasher and the support functions of each column. Raises an error for columns whose
 * items cannot be hashed.
 */
extern void bf_index_prepare_itemizer(Relation index, BfItemizer *itemizer, MemoryContext context);

/* Makes *items empty. Its hashes will be allocated in this context. */
extern void bf_index_begin_items(BfRowItems *items, int columns, MemoryContext context);

/*
 * Sets *items to the items of a row. Temporary memory is taken from the current context, which should be reset after
 * each row.
 */
extern void bf_index_itemize(const BfItemizer *itemizer, const Datum *values, const bool *isnull, BfRowItems *items);

/* If a row has had very many items, frees their memory, and makes *items empty. To be called between rows. */
extern void bf_index_give_back_room(BfRowItems *items);

/*
 * Sets *arguments to what a scan key searches for, and returns their number. This is the key's argument, or with
 * SK_SEARCHARRAY the array's elements that are not NULL. REQUIRES: the key's argument is not NULL.
 */
extern uint32 bf_index_key_arguments(const ScanKeyData *key, Datum **arguments);

#endif
