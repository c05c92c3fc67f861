/*
 * items.c: how the values of an index's columns become items, and how items become hashes. An item is a value, or one
 * of the keys inside it: an element of an array, a word of a text.
 */
#include "index/items.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "index/keys.h"
#include "index/layout.h"

void
bf_index_prepare_itemizer(Relation index, BfItemizer *itemizer, MemoryContext context)
{
	itemizer->columns = IndexRelationGetNumberOfKeyAttributes(index);
	for (int column = 0; column < itemizer->columns; column++)
	{
		BfColumnItems *of = &itemizer->column[column];

		of->keys = bf_index_has_keys(index, column) ? bf_index_make_key_class(index, column, context) : NULL;
		of->hasher = of->keys != NULL ? bf_index_key_hasher(of->keys, context) :
			item_hasher_for_index(bf_index_item_type(index, column), index->rd_indcollation[column], context);
	}
}

void
bf_index_begin_items(BfRowItems *items, int columns, MemoryContext context)
{
	memset(items, 0, sizeof *items);
	items->columns = columns;
	items->room = columns;
	items->context = context;
	items->hashes = MemoryContextAlloc(context, columns * sizeof(uint64));
}

/* Makes room for `more` hashes behind the `have` ones that are there. */
static void
make_room(BfRowItems *items, uint32 have, int32 more)
{
	uint64		wanted = (uint64) have + more;

	if (wanted <= items->room)
		return;
	items->room = (uint32) Min(wanted * 2, PG_UINT32_MAX);
	items->hashes = repalloc_huge(items->hashes, items->room * sizeof(uint64));
}

/* The most hashes for which room is kept from one row to the next. They take a megabyte. */
#define MOST_KEPT (1024 * 1024 / sizeof(uint64))

void
bf_index_give_back_room(BfRowItems *items)
{
	if (items->room <= MOST_KEPT)
		return;
	pfree(items->hashes);
	bf_index_begin_items(items, items->columns, items->context);
}

/*
 * Adds the keys of a value, and returns the new number of items. A key that is NULL is no item: a search assumes that
 * every range may have it (key_search.c).
 */
static uint32
add_keys(const BfColumnItems *column, Datum value, BfRowItems *items, uint32 have)
{
	int32		count;
	bool	   *nulls;
	Datum	   *keys = bf_index_extract_keys(column->keys, value, &count, &nulls);

	make_room(items, have, count);
	for (int32 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (nulls == NULL || !nulls[i])
			items->hashes[have++] = item_hash(column->hasher, keys[i]);
	}
	return have;
}

void
bf_index_itemize(const BfItemizer *itemizer, const Datum *values, const bool *isnull, BfRowItems *items)
{
	uint32		have = 0;

	for (int i = 0; i < itemizer->columns; i++)
	{
		const BfColumnItems *column = &itemizer->column[i];

		if (column->keys != NULL && !isnull[i])
			have = add_keys(column, values[i], items, have);
		else
		{
			make_room(items, have, 1);
			items->hashes[have++] = isnull[i] ? BF_NULL_HASH : item_hash(column->hasher, values[i]);
		}
		items->end[i] = have;
	}
}

uint32
bf_index_key_arguments(const ScanKeyData *key, Datum **arguments)
{
	ArrayType  *array;
	int16		length;
	bool		by_value;
	char		align;
	Datum	   *elements;
	bool	   *nulls;
	int			count;
	uint32		found = 0;

	if (!(key->sk_flags & SK_SEARCHARRAY))
	{
		*arguments = palloc(sizeof(Datum));
		(*arguments)[0] = key->sk_argument;
		return 1;
	}
	array = DatumGetArrayTypeP(key->sk_argument);
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, align, &elements, &nulls, &count);
	for (int i = 0; i < count; i++)
		if (!nulls[i])
			elements[found++] = elements[i];
	*arguments = elements;
	return found;
}
