/*
 * rollup_count.c: the aggregates of a refresh. For each bucket and group they get the hits of the source and the rows
 * that the roll-up has, in one pass, and say what changes in the roll-up.
 *
 * The state is a set of the items with their hits. Its memory is some 100 bytes an item. The aggregates have the same
 * transition function, so PostgreSQL makes one state for all of them:
 *
 *   _tbf_rollup_made_agg       the row that is to be inserted, or NULL. If there are only rows, and `latest` is NULL, it is
 *                              the row that they become (rollup_merge.c)
 *   _tbf_rollup_change_agg     which rows it replaces, how the bounds of others become wider, how many hits the roll-up
 *                              lacks, and how many the source no longer has
 *
 * The source's hits of an item are compared with those that the filters count. Those that are missing there are
 * *fresh*. Hits that are later than all that the roll-up has (`latest`) are fresh in any case. A filter with counters
 * may count an item too high, so that a late hit of it seems to be counted already. No new row has such a hit: the row
 * with the filter stands for it. So the newest time of this row must not be before the hit, its hits must include the
 * hit, and the bounds of its list must leave room for it. The same holds for an exact filter that has another item
 * with the same 48 bits of hash.
 */
#include "tbf/rollup.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "base/call.h"
#include "base/value.h"

typedef struct RollupCounted
{
	bool		whole;			/* the new row has all hits of the bucket, and replaces its rows */
	Datum		made;			/* 0: there is no new row */
	Datum		wider;			/* ids of rows that get wider bounds; the first one gets the hits and the room */
	TimestampTz newest;
	double		hits;
	double		over;
	double		rest;
	double		missing;
	double		gone;
} RollupCounted;

/* --------------------------------------------------------------- hits and rows */

static RollupState *
begin_state(FunctionCallInfo fcinfo, ItemHasher *hasher)
{
	MemoryContext context = aggregate_context(fcinfo);
	RollupState *state = MemoryContextAllocZero(context, sizeof(RollupState));
	int			bucket;
	bool		is_null;
	Datum		row;
	MemoryContext caller;

	if (PG_ARGISNULL(6) || PG_ARGISNULL(7) || PG_ARGISNULL(9))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the bucket of a roll-up must not be null")));
	bucket = PG_GETARG_INT32(6);
	state->context = context;
	rollup_table_of(&state->table, context, get_fn_expr_argtype(fcinfo->flinfo, 1), get_fn_expr_argtype(fcinfo->flinfo, 3));
	rollup_items_begin(&state->items, context, hasher, get_fn_expr_argtype(fcinfo->flinfo, 3), PG_GET_COLLATION());
	caller = MemoryContextSwitchTo(context);
	row = array_get_element(PG_GETARG_DATUM(7), 1, &bucket, -1, -1, false, TYPALIGN_DOUBLE, &is_null);
	if (is_null)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the bucket of a roll-up must not be null")));
	rollup_row_read(&state->table, &state->items, datumCopy(row, false, -1), true, &state->bucket);
	MemoryContextSwitchTo(caller);
	state->latest = PG_ARGISNULL(8) ? DT_NOBEGIN : PG_GETARG_TIMESTAMPTZ(8);
	state->top = PG_GETARG_INT32(9);
	return state;
}

static void
add_stored(FunctionCallInfo fcinfo, RollupState *state)
{
	MemoryContext caller = MemoryContextSwitchTo(state->context);
	RollupRow  *row;

	if (state->row_count == state->row_room)
	{
		state->row_room = state->row_room == 0 ? 8 : state->row_room * 2;
		state->rows = state->rows == NULL ? palloc(state->row_room * sizeof(RollupRow)) :
			repalloc(state->rows, state->row_room * sizeof(RollupRow));
	}
	row = &state->rows[state->row_count++];
	rollup_row_read(&state->table, &state->items, datumCopy(PG_GETARG_DATUM(1), false, -1), false, row);
	if (!PG_ARGISNULL(2))
		row->id = *(ItemPointer) PG_GETARG_POINTER(2);
	MemoryContextSwitchTo(caller);
}

static void
refuse_weight(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("weight of a hit is null or out of range"),
			 errhint("Weights are 0 or more, and less than 2^33. Leave such rows out with the condition of the roll-up, or give an expression such as coalesce(column, 0).")));
}

/* (internal, stored row, id, item, at, weight, bucket, buckets[], latest, top): a row has a stored row or an item */
SB_FUNCTION(tbf_rollup_agg_add);
Datum
tbf_rollup_agg_add(PG_FUNCTION_ARGS)
{
	ItemHasher *hasher = item_hasher_for_argument(fcinfo, 3);
	RollupState *state = PG_ARGISNULL(0) ? begin_state(fcinfo, hasher) : (RollupState *) PG_GETARG_POINTER(0);

	if (!PG_ARGISNULL(1))
		add_stored(fcinfo, state);
	else if (!PG_ARGISNULL(3) && !PG_ARGISNULL(4))
	{
		double		weight = PG_ARGISNULL(5) ? -1 : PG_GETARG_FLOAT8(5);
		TimestampTz at = PG_GETARG_TIMESTAMPTZ(4);
		RollupItem *item;

		if (!(weight >= 0 && weight < SB_TBF_MAX_WEIGHT))
			refuse_weight();
		/* a filter counts in 2^-12 hits */
		if (weight != 1)
			weight = ceil(weight * 4096) / 4096;
		if (weight == 0)
			PG_RETURN_POINTER(state);
		item = rollup_item(&state->items, PG_GETARG_DATUM(3));
		item->oldest = item->hits == 0 ? at : Min(item->oldest, at);
		item->newest = item->hits == 0 ? at : Max(item->newest, at);
		item->hits += weight;
		if (at <= state->latest)
			item->old += weight;
	}
	PG_RETURN_POINTER(state);
}

/* ------------------------------------------------------------------ comparison */

/* A filter of these items. */
static Datum
make_filter(RollupState *state, RollupItem **items, size_t count)
{
	sb_tbf		plan;
	sb_moment	moment;
	sb_tbf_builder *builder;

	tbf_plan(0, TBF_DEFAULT_FPR, 0, 0, true, &plan);
	builder = tbf_builder_begin(CurrentMemoryContext, &plan, SB_TBF_SUMS_OF_ITEMS, true);
	sb_tbf_builder_parameters(builder)->kind = *item_kind(state->items.hasher);
	sb_tbf_moment(0, 0, 0, &moment);
	for (size_t i = 0; i < count; i++)
	{
		/* a hit is less than 2^33, and a sum of hits may be more */
		for (double left = items[i]->hits; left > 0; left -= 0x1p32)
			tbf_builder_must(sb_tbf_builder_add_hit(builder, items[i]->key.hash, &moment,
													tbf_hit(&moment, Min(left, 0x1p32))));
		if (i % ITEMS_BETWEEN_INTERRUPTS == 0)
			CHECK_FOR_INTERRUPTS();
	}
	return tbf_builder_store(builder);
}

/*
 * Chooses the items of a new row's list, and returns how many they are; they are moved to the front, in their order.
 * *rest becomes the most hits of another item.
 *
 * A row that is not whole is a piece of its bucket; each refresh that finds new hits adds one. The list of a whole row
 * has the first `top` items. The list of a piece has the first five items, and those of the first top / 20 that have
 * more than 1.5 times the mean number of hits. An item of these is left out again if an item that is not among them
 * has as many hits or more. Items longer than 1,000 bytes are not listed. A piece has no list at all if its bucket is
 * over (some bucket of this step has newer hits) and the piece has less than a thousandth of the hits of the bucket.
 * Without a list, the bounds of answers about the bucket become wider by the most hits that an item has in the piece.
 * Before the sum of these numbers comes to a twentieth of the hits of the bucket, pieces have lists again.
 */
static size_t
choose_list(RollupState *state, RollupItem **items, size_t count, bool whole, double of_piece, double of_bucket,
			double rest_of_bucket, double *rest)
{
	int			few = Min(state->top, 5);
	int			many = Max(few, state->top / 20);
	double		mean = of_piece / count;
	size_t		listed = 0;
	size_t		place = 0;
	size_t		scanned;
	double		most;

	rollup_sort_items(&state->items, items, count, whole ? state->top : many);
	most = items[0]->hits;
	*rest = 0;
	for (scanned = 0; scanned < count; scanned++)
	{
		RollupItem *item = items[scanned];
		size_t		length;

		if (place >= (whole ? state->top : item->hits > 1.5 * mean ? many : few))
			break;
		if (state->items.entry->typlen < 0)
		{
			(void) rollup_item_text(&state->items, item, &length);
			if (length > 1000)
			{
				/* the texts of further items that have as many hits are not sorted */
				*rest = Max(*rest, item->hits);
				if (scanned + 1 >= (whole ? state->top : many))
					rollup_sort_items(&state->items, items + scanned + 1, count - scanned - 1, 1);
				continue;
			}
		}
		place++;
		items[scanned] = items[listed];
		items[listed++] = item;
	}
	if (scanned < count)
		*rest = Max(*rest, items[scanned]->hits);
	if (!whole)
	{
		bool		has_list = state->bucket.ends > state->latest || 1000 * of_piece >= of_bucket ||
			20 * (rest_of_bucket + most) >= of_bucket;
		size_t		kept = listed;

		while (kept > 0 && (!has_list || items[kept - 1]->hits <= *rest))
			kept--;
		if (kept < listed)
			*rest = Max(*rest, items[kept]->hits);
		listed = kept;
	}
	return listed;
}

/*
 * Whether the rows stand for more hits of an item than the bounds of their lists allow, and for how many more: sets
 * counted->over for items in the list of the first row, and counted->rest for others. `rough`: the rows whose lists
 * bound what is not certain. item->other is what the exact filters count.
 */
static void
find_room(RollupState *state, RollupCounted *counted, RollupRow **rough, int rough_count)
{
	rollup_set_iterator iterator;
	RollupItem *item;
	double		rest = 0;

	for (int i = 0; i < rough_count; i++)
	{
		RollupRow  *row = rough[i];

		rest += row->rest;
		for (int n = 0; n < row->list.count; n++)
		{
			item = rollup_item_find(&state->items, row->list.items[n]);
			if (item != NULL)
			{
				item->other += row->list.hits[n] + row->over - row->rest;
				item->listed |= i == 0;
			}
		}
	}
	rollup_set_start_iterate(state->items.set, &iterator);
	while ((item = rollup_set_iterate(state->items.set, &iterator)) != NULL)
	{
		double		lacking = item->old - item->other - rest;

		if (lacking > 0 && item->listed)
			counted->over = Max(counted->over, lacking);
		else if (lacking > 0)
			counted->rest = Max(counted->rest, lacking);
	}
}

static int
compare_rows(const void *left, const void *right)
{
	const RollupRow *a = *(RollupRow *const *) left;
	const RollupRow *b = *(RollupRow *const *) right;

	if (a->hits != b->hits)
		return a->hits < b->hits ? 1 : -1;
	return ItemPointerCompare((ItemPointer) &a->id, (ItemPointer) &b->id);
}

static Datum
ids_of(RollupState *state, RollupRow **rows, int count)
{
	MemoryContext caller = MemoryContextSwitchTo(state->context);
	Datum	   *ids = palloc(Max(count, 1) * sizeof(Datum));
	ArrayType  *array;

	for (int i = 0; i < count; i++)
		ids[i] = PointerGetDatum(&rows[i]->id);
	array = construct_array(ids, count, TIDOID, sizeof(ItemPointerData), false, TYPALIGN_SHORT);
	MemoryContextSwitchTo(caller);
	return PointerGetDatum(array);
}

static RollupCounted *
compare(RollupState *state)
{
	RollupCounted *counted = MemoryContextAllocZero(state->context, sizeof(RollupCounted));
	RollupItems *items = &state->items;
	RollupRow **rows = palloc(Max(state->row_count, 1) * sizeof(RollupRow *));
	RollupRow **rough = palloc(Max(state->row_count, 1) * sizeof(RollupRow *));
	RollupItem **fresh = MemoryContextAllocHuge(CurrentMemoryContext, Max(items->set->members, 1) * sizeof(RollupItem *));
	size_t		fresh_count = 0;
	int			rough_count = 0;
	double		of_bucket = 0;
	double		rest_of_bucket = 0;
	double		covered = 0;
	double		of_source = 0;
	double		new_hits = 0;
	bool		all_closed = true;
	bool		twins = false;
	bool		nothing;
	RollupRow	merged;
	RollupRow	made;
	rollup_set_iterator iterator;
	RollupItem *item;
	size_t		n = 0;
	size_t		listed;
	MemoryContext caller;

	for (int i = 0; i < state->row_count; i++)
	{
		rows[i] = &state->rows[i];
		of_bucket += rows[i]->hits;
		rest_of_bucket += rows[i]->rest;
		all_closed &= rows[i]->closed;
		if (!rows[i]->exact)
			rough[rough_count++] = rows[i];
		if (items->set->members > 0)
			item_kinds_must_agree(&rows[i]->lookup.header.kind, item_kind(items->hasher), "count");
	}
	counted->newest = DT_NOBEGIN;

	/* If all filters are exact, and so is their sum, one look-up an item suffices. */
	merged.exact = false;
	if (state->row_count > 0 && rough_count == 0 && items->set->members > 0)
	{
		merged.f = rollup_merge_filters(rows, state->row_count);
		rollup_row_open_filter(&merged);
	}
	rollup_set_start_iterate(items->set, &iterator);
	while ((item = rollup_set_iterate(items->set, &iterator)) != NULL)
	{
		double		before = 0;
		double		certain = 0;
		double		is_new;

		if (n++ % ITEMS_BETWEEN_INTERRUPTS == 0)
			CHECK_FOR_INTERRUPTS();
		if (merged.exact)
			before = certain = rollup_row_count(&merged, item->key.hash);
		else
			for (int i = 0; i < state->row_count; i++)
			{
				double		count = rollup_row_count(rows[i], item->key.hash);

				before += count;
				certain += rows[i]->exact ? count : 0;
			}
		is_new = Max(item->old - before, 0) + item->hits - item->old;
		of_source += item->hits;
		covered += Min(item->old, before);
		counted->missing += Max(item->hits - before, 0);
		counted->newest = Max(counted->newest, item->newest);
		/* from here on `old` are the hits that are taken for counted ones, and `other` those of them that are certain */
		item->old = Min(item->old, before);
		item->other = rough_count > 0 ? certain : 0;
		twins |= rough_count == 0 && item->old > rest_of_bucket;
		new_hits += is_new;
	}
	counted->gone = Max(of_bucket - of_source + counted->missing, 0);
	counted->whole = state->row_count == 0 ||
		(state->bucket.closed && rough_count == 0 && covered >= of_bucket);
	nothing = items->set->members == 0 ||
		!(new_hits > 0 || (counted->whole && !(all_closed && state->row_count == 1)));

	/* the bounds of rows that stand for hits of the source */
	if (!counted->whole && items->set->members > 0)
	{
		if (rough_count == 0 && twins)
		{
			memcpy(rough, rows, state->row_count * sizeof *rough);
			rough_count = state->row_count;
		}
		qsort(rough, rough_count, sizeof *rough, compare_rows);
		if (rough_count > 0)
			find_room(state, counted, rough, rough_count);
		counted->hits = Max(of_source - new_hits - of_bucket, 0);
		if (rough_count > 0 && (!rough[0]->exact || counted->over > 0 || counted->rest > 0))
			counted->wider = ids_of(state, rough, rough_count);
	}
	if (nothing)
		return counted;

	/* the new row */
	made = state->bucket;
	made.closed = counted->whole && state->bucket.closed;
	made.oldest = DT_NOEND;
	made.newest = DT_NOBEGIN;
	rollup_set_start_iterate(items->set, &iterator);
	while ((item = rollup_set_iterate(items->set, &iterator)) != NULL)
	{
		/* a late hit is fresh unless it is taken for a counted one */
		if (!counted->whole)
			item->hits -= item->old;
		if (item->hits <= 0)
			continue;
		made.hits += item->hits;
		made.oldest = Min(made.oldest, item->oldest);
		made.newest = Max(made.newest, item->newest);
		fresh[fresh_count++] = item;
	}
	listed = choose_list(state, fresh, fresh_count, counted->whole, made.hits, of_bucket, rest_of_bucket, &made.rest);
	made.f = make_filter(state, fresh, fresh_count);
	rollup_row_open_filter(&made);
	if (!made.exact)
	{
		made.oldest = state->bucket.starts;
		made.newest = counted->newest;
	}
	caller = MemoryContextSwitchTo(state->context);
	counted->made = rollup_row_make(&state->table, items, &made, fresh, listed);
	MemoryContextSwitchTo(caller);
	return counted;
}

/* --------------------------------------------------------------------- results */

static RollupState *
counted_state(FunctionCallInfo fcinfo)
{
	RollupState *state = PG_ARGISNULL(0) ? NULL : (RollupState *) PG_GETARG_POINTER(0);

	(void) aggregate_context(fcinfo);
	if (state != NULL && state->counted == NULL)
		state->counted = compare(state);
	return state;
}

SB_FUNCTION(tbf_rollup_agg_made);
Datum
tbf_rollup_agg_made(PG_FUNCTION_ARGS)
{
	RollupState *state = PG_ARGISNULL(0) ? NULL : (RollupState *) PG_GETARG_POINTER(0);

	if (state != NULL && state->latest == DT_NOBEGIN && state->row_count > 0)
		return rollup_merge(state);
	state = counted_state(fcinfo);
	if (state == NULL || state->counted->made == (Datum) 0)
		PG_RETURN_NULL();
	return state->counted->made;
}

/* (gone, wider, newest, hits, hot_over, hot_rest, missing, left_source) */
SB_FUNCTION(tbf_rollup_agg_change);
Datum
tbf_rollup_agg_change(PG_FUNCTION_ARGS)
{
	RollupState *state = counted_state(fcinfo);
	RollupCounted *counted = state == NULL ? NULL : state->counted;
	RollupRow **rows;
	Datum		values[8];
	bool		nulls[8] = {0};

	if (state == NULL)
		PG_RETURN_NULL();
	rows = palloc(Max(state->row_count, 1) * sizeof(RollupRow *));
	for (int i = 0; i < state->row_count; i++)
		rows[i] = &state->rows[i];
	values[0] = ids_of(state, rows, counted->whole && counted->made != (Datum) 0 ? state->row_count : 0);
	values[1] = counted->wider;
	nulls[1] = counted->wider == (Datum) 0;
	values[2] = TimestampTzGetDatum(counted->newest);
	values[3] = Float8GetDatum(counted->hits);
	values[4] = Float8GetDatum(counted->over);
	values[5] = Float8GetDatum(counted->rest);
	values[6] = Float8GetDatum(counted->missing);
	values[7] = Float8GetDatum(counted->gone);
	return row_result(fcinfo, values, nulls, 8);
}
