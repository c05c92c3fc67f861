/*
 * rollup_merge.c: the row that rows of a roll-up become when they are folded: a day of its hours, or one row of an open
 * bucket of its pieces.
 */
#include "tbf/rollup.h"

#include "base/call.h"

#define ST_SORT sort_hashes
#define ST_ELEMENT_TYPE uint64
#define ST_COMPARE(left, right) (*(left) > *(right) ? 1 : *(left) < *(right) ? -1 : 0)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Exact filters of together fewer items than this are merged, and stay exact. */
#define HEAP_ITEMS (SB_TBF_EXACT_ITEMS / 2)

static int
compare_rows(const void *left, const void *right)
{
	const RollupRow *a = left;
	const RollupRow *b = right;

	if (a->starts != b->starts)
		return a->starts < b->starts ? -1 : 1;
	return (a->hits > b->hits) - (a->hits < b->hits);
}

/*
 * If the merged filter has counters, its count may be too high. The old rows give a lower bound (item->hits), and
 * perhaps a closer upper bound (item->other): in each bucket the lesser of two sums, that of the counts and that of
 * the bounds of the lists. (The lesser of the two in each row might be too low: if a bucket has several rows with
 * counters, only the list of the first one has room for the hits that the others stand for.)
 */
static void
bound_by_rows(RollupState *state, RollupItems *set, RollupItem **items, size_t count)
{
	double	   *counts = MemoryContextAllocHuge(CurrentMemoryContext, Max(count, 1) * sizeof(double));
	double	   *bounds = MemoryContextAllocHuge(CurrentMemoryContext, Max(count, 1) * sizeof(double));

	for (int i = 0; i < state->row_count; i++)
	{
		RollupRow  *row = &state->rows[i];

		if (i == 0 || row->starts != row[-1].starts)
		{
			memset(counts, 0, count * sizeof(double));
			memset(bounds, 0, count * sizeof(double));
		}
		for (size_t n = 0; n < count; n++)
			items[n]->listed = false;
		for (int n = 0; n < row->list.count; n++)
		{
			RollupItem *item = rollup_item(set, row->list.items[n]);

			item->old = row->list.hits[n];
			item->listed = true;
		}
		for (size_t n = 0; n < count; n++)
		{
			RollupItem *item = items[n];
			double		counted = rollup_row_count(row, item->key.hash);

			counts[n] += counted;
			item->hits += row->exact ? counted : item->listed ? item->old : 0;
			bounds[n] += row->exact ? counted : item->listed ? item->old + row->over : row->rest;
			if (n % ITEMS_BETWEEN_INTERRUPTS == 0)
				CHECK_FOR_INTERRUPTS();
		}
		if (i == state->row_count - 1 || row->starts != row[1].starts)
			for (size_t n = 0; n < count; n++)
				items[n]->other += Min(counts[n], bounds[n]);
	}
}

/* The most hits of an item that is in no list, of these rows together. hashes: those of all items of lists. */
static double
unlisted(RollupRow **rows, int count, const uint64 *hashes, size_t hash_count)
{
	double		rest = 0;
	double		most;
	TbfValue	filter;

	for (int i = 0; i < count; i++)
		rest += rows[i]->rest;
	tbf_open(rollup_merge_filters(rows, count), &filter);
	if (!tbf_is_exact(&filter.header))
		return rest;
	tbf_builder_must(sb_tbf_largest_count(&filter.header, filter.cells, hashes, hash_count, &most));
	return Min(rest, most);
}

Datum
rollup_merge(RollupState *state)
{
	RollupItems set;
	RollupItem **items;
	size_t		count = 0;
	uint64	   *hashes;
	RollupRow **rows;
	RollupRow	made;
	rollup_set_iterator iterator;
	RollupItem *item;
	double		rest = 0;

	qsort(state->rows, state->row_count, sizeof(RollupRow), compare_rows);
	rows = palloc(state->row_count * sizeof(RollupRow *));
	made = state->bucket;
	made.oldest = DT_NOEND;
	made.newest = DT_NOBEGIN;
	rollup_items_begin(&set, CurrentMemoryContext, state->items.hasher, state->items.type, state->items.collation);
	for (int i = 0; i < state->row_count; i++)
	{
		RollupRow  *row = rows[i] = &state->rows[i];

		made.hits += row->hits;
		made.oldest = Min(made.oldest, row->oldest);
		made.newest = Max(made.newest, row->newest);
		for (int n = 0; n < row->list.count; n++)
			(void) rollup_item(&set, row->list.items[n]);
	}
	made.f = rollup_merge_filters(rows, state->row_count);
	rollup_row_open_filter(&made);
	if (!made.exact)
		made.oldest = state->bucket.starts;

	items = MemoryContextAllocHuge(CurrentMemoryContext, Max(set.set->members, 1) * sizeof(RollupItem *));
	hashes = MemoryContextAllocHuge(CurrentMemoryContext, Max(set.set->members, 1) * sizeof(uint64));
	rollup_set_start_iterate(set.set, &iterator);
	while ((item = rollup_set_iterate(set.set, &iterator)) != NULL)
	{
		hashes[count] = item->key.hash;
		items[count++] = item;
	}
	sort_hashes(hashes, count);
	if (!made.exact)
		bound_by_rows(state, &set, items, count);
	for (size_t n = 0; n < count; n++)
	{
		double		merged = rollup_row_count(&made, items[n]->key.hash);

		items[n]->other = made.exact ? merged : Min(items[n]->other, merged);
		if (made.exact)
			items[n]->hits = merged;
	}
	rollup_sort_items(&set, items, count, state->top);
	for (size_t n = 0; n < count; n++)
		if (n < state->top)
			made.over = Max(made.over, items[n]->other - items[n]->hits);
		else
			made.rest = Max(made.rest, items[n]->other);

	if (made.exact)
		rest = unlisted(rows, state->row_count, hashes, count);
	else
	{
		RollupRow **heap = palloc(state->row_count * sizeof(RollupRow *));
		int			in_heap = 0;
		uint32		heap_items = 0;

		for (int i = 0; i < state->row_count; i++)
			if (!rows[i]->exact || rows[i]->items > HEAP_ITEMS)
				rest += unlisted(&rows[i], 1, hashes, count);
			else
			{
				if (heap_items + rows[i]->items > SB_TBF_EXACT_ITEMS)
				{
					rest += unlisted(heap, in_heap, hashes, count);
					in_heap = 0;
					heap_items = 0;
				}
				heap[in_heap++] = rows[i];
				heap_items += rows[i]->items;
			}
		if (in_heap > 0)
			rest += unlisted(heap, in_heap, hashes, count);
	}
	made.rest = Max(made.rest, rest);
	return rollup_row_make(&state->table, &set, &made, items, Min(count, state->top));
}
