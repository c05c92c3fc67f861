/*
 * rollup_top.c: the aggregate of questions about hot items: tbf_rollup_top() and its kin, and tbf_rollup_risers().
 *
 * It gets the rows that a question concerns, each with two weights: a hit of the row is worth at least `low` and at
 * most `high`.
 *
 *  - tbf_rollup_top(): the first `wanted` items, by the lists of the rows. The bounds are two numbers an item, then
 *    the most that any other item has. Lists of the rows with the least weight are not read: all of them together
 *    could add less to an item than 1/2000 of the hits that the hottest item has in one row. With `counted`, up to ten
 *    times as many items are looked up in the filters, too.
 *  - tbf_rollup_risers(), which has four weights: all items of the lists with at least `wanted` hits. Each has four
 *    bounds: of its hits now, and of those before, for which the third and the fourth weight are.
 *
 * A filter is looked up for each item, but a question about thousands of small groups would look up each filter for
 * each of their items. So for risers, whose weights are 0 or 1, exact filters of one weight are merged first.
 */
#include "tbf/rollup.h"

#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "base/call.h"
#include "base/value.h"

typedef struct TopRow
{
	Datum		hot;
	Datum		hot_hits;
	Datum		f;
	double		over;
	double		rest;
	double		weights[4];		/* low and high, now and before */
	double		lead;			/* the least and the most that the first item of the list has; -1: the list is empty */
	double		most;
} TopRow;

typedef struct TopState
{
	MemoryContext context;
	RollupItems items;
	TopRow	   *rows;
	int64		row_count;
	int64		row_room;
	double		wanted;
	bool		counted;
	bool		risers;
	Datum		result[2];		/* items as texts, and bounds */
} TopState;

/* What has been found of an item. */
typedef struct Candidate
{
	RollupItem *item;
	double		bounds[4];
} Candidate;

/* ------------------------------------------------------------------------ rows */

/* (internal, hot, hot_hits, hot_over, hot_rest, f, weights, wanted, counted) */
SB_FUNCTION(tbf_rollup_agg_hot);
Datum
tbf_rollup_agg_hot(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	TopState   *state = PG_ARGISNULL(0) ? NULL : (TopState *) PG_GETARG_POINTER(0);
	ItemHasher *hasher = item_hasher_for_elements(fcinfo, 1);
	MemoryContext caller;
	TopRow	   *row;
	ArrayType  *hits;
	ArrayType  *weights;
	int			weight_count;

	for (int i = 1; i <= 8; i++)
		if (PG_ARGISNULL(i))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("a row of a roll-up, or its weights, have null"),
					 errhint("Only tbf_rollup_refresh() may write the table of a roll-up.")));
	weights = PG_GETARG_ARRAYTYPE_P(6);
	weight_count = ArrayGetNItems(ARR_NDIM(weights), ARR_DIMS(weights));
	if (ARR_HASNULL(weights) || (state == NULL ? weight_count != 2 && weight_count != 4 : state->risers != (weight_count == 4)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a row of a roll-up has two weights, or four")));
	if (state == NULL)
	{
		state = MemoryContextAllocZero(context, sizeof(TopState));
		state->context = context;
		rollup_items_begin(&state->items, context, hasher, get_base_element_type(get_fn_expr_argtype(fcinfo->flinfo, 1)),
						   PG_GET_COLLATION());
		state->wanted = PG_GETARG_FLOAT8(7) >= 0 ? PG_GETARG_FLOAT8(7) : 0;
		state->counted = PG_GETARG_BOOL(8);
		state->risers = weight_count == 4;
	}
	if (ARR_ELEMTYPE(PG_GETARG_ARRAYTYPE_P(1)) != state->items.type)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("lists of hot items have items of different types"),
				 errhint("Only lists of one roll-up can be added up.")));
	caller = MemoryContextSwitchTo(context);
	if (state->row_count == state->row_room)
	{
		state->row_room = state->row_room == 0 ? 8 : state->row_room * 2;
		state->rows = state->rows == NULL ? palloc(state->row_room * sizeof(TopRow)) :
			repalloc_huge(state->rows, state->row_room * sizeof(TopRow));
	}
	row = &state->rows[state->row_count++];
	row->hot = datumCopy(PG_GETARG_DATUM(1), false, -1);
	row->hot_hits = datumCopy(PG_GETARG_DATUM(2), false, -1);
	row->f = state->counted || state->risers ? datumCopy(PG_GETARG_DATUM(5), false, -1) : (Datum) 0;
	MemoryContextSwitchTo(caller);
	row->over = PG_GETARG_FLOAT8(3);
	row->rest = PG_GETARG_FLOAT8(4);
	memset(row->weights, 0, sizeof row->weights);
	memcpy(row->weights, ARR_DATA_PTR(weights), weight_count * sizeof(double));
	hits = PG_GETARG_ARRAYTYPE_P(2);
	row->lead = row->most = -1;
	if (ArrayGetNItems(ARR_NDIM(hits), ARR_DIMS(hits)) > 0 && !ARR_HASNULL(hits))
	{
		double		first = *(const double *) ARR_DATA_PTR(hits);

		row->lead = row->weights[0] * first;
		row->most = row->weights[1] * (first + row->over);
	}
	PG_RETURN_POINTER(state);
}

/* The list of a row; the items are in CurrentMemoryContext. */
static void
open_list(TopState *state, const TopRow *row, RollupList *list)
{
	rollup_list_read(&state->items, row->hot, row->hot_hits, list);
}

/* --------------------------------------------------------------------- filters */

/*
 * Adds what the filters of rows count of the candidates, times two of their weights (those from `weight` on), to two of
 * their bounds. A filter with counters may count an item too high, so its lower bound comes from the list.
 */
static void
count_in_filter(TopState *state, const TopRow *row, Datum f, bool has_list, Candidate *candidates, size_t count, int weight)
{
	sb_lookup	lookup;
	RollupList	list;
	bool		exact;

	look_up_open(&lookup, SB_LOOKUP_TBF, state->items.hasher, f);
	exact = tbf_is_exact(&lookup.header.tbf);
	if (count > 0)
		item_kinds_must_agree(&lookup.header.kind, item_kind(state->items.hasher), "count");
	if (!exact && has_list)
	{
		open_list(state, row, &list);
		for (int i = 0; i < list.count; i++)
		{
			RollupItem *item = rollup_item_find(&state->items, list.items[i]);

			if (item != NULL)
				item->old = list.hits[i];
		}
	}
	for (size_t i = 0; i < count; i++)
	{
		double		n;

		look_up_finish(&lookup, state->items.hasher, f, sb_lookup_item(&lookup, candidates[i].item->key.hash));
		n = sb_tbf_count(&lookup.header.tbf, lookup.units, 0);
		candidates[i].bounds[weight] += row->weights[weight] * (exact ? n : candidates[i].item->old);
		candidates[i].bounds[weight + 1] += row->weights[weight + 1] * n;
		if (i % ITEMS_BETWEEN_INTERRUPTS == 0)
			CHECK_FOR_INTERRUPTS();
	}
	if (!exact && has_list)
		for (int i = 0; i < list.count; i++)
		{
			RollupItem *item = rollup_item_find(&state->items, list.items[i]);

			if (item != NULL)
				item->old = 0;
		}
}

/* The same for all rows whose second weight is not 0. The weights are 0 or 1. */
static void
count_in_merged_filters(TopState *state, Candidate *candidates, size_t count, int weight)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "merged filters", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);

	for (int low = 0; low <= 1; low++)
	{
		sb_tbf_builder *builder = NULL;
		uint32		items = 0;
		TopRow		merged = {.weights = {low, 1, low, 1}};

		for (int64 i = 0; i <= state->row_count; i++)
		{
			TopRow	   *row = &state->rows[i];
			TbfValue	filter;

			if (i < state->row_count)
			{
				if (row->weights[weight + 1] == 0 || (row->weights[weight] != 0) != low)
					continue;
				tbf_open(row->f, &filter);
				if (!tbf_is_exact(&filter.header))
				{
					count_in_filter(state, row, row->f, true, candidates, count, weight);
					continue;
				}
			}
			if (builder != NULL && (i == state->row_count || items + filter.header.item_count > SB_TBF_EXACT_ITEMS))
			{
				count_in_filter(state, &merged, tbf_builder_store(builder), false, candidates, count, weight);
				MemoryContextReset(context);
				builder = NULL;
				items = 0;
				if (i < state->row_count)
					tbf_open(row->f, &filter);
			}
			if (i == state->row_count)
				break;
			if (builder == NULL)
				builder = tbf_builder_begin_merge(context, &filter);
			tbf_builder_add_filter(builder, &filter, 1);
			items += filter.header.item_count;
		}
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}

/* --------------------------------------------------------------------- results */

static TopState *sorting;

/* by the lower bound, then the upper one, the largest first, then by text */
static int
compare_candidates(const void *left, const void *right)
{
	const Candidate *a = left;
	const Candidate *b = right;

	for (int i = 0; i < 2; i++)
		if (a->bounds[i] != b->bounds[i])
			return a->bounds[i] < b->bounds[i] ? 1 : -1;
	return rollup_compare_texts(&sorting->items, a->item, b->item);
}

static int
compare_upper(const void *left, const void *right)
{
	double		a = ((const Candidate *) left)->bounds[1];
	double		b = ((const Candidate *) right)->bounds[1];

	return a < b ? 1 : a > b ? -1 : 0;
}

static int
compare_most(const void *left, const void *right)
{
	double		a = ((const TopRow *) left)->most;
	double		b = ((const TopRow *) right)->most;

	return a > b ? 1 : a < b ? -1 : 0;
}

/* Makes the arrays of the first `count` candidates, with `numbers` bounds each and perhaps one number more. */
static void
make_result(TopState *state, const Candidate *candidates, size_t count, int numbers, double more)
{
	MemoryContext caller = MemoryContextSwitchTo(state->context);
	size_t		bounds_count = count * numbers + (numbers == 2);
	Datum	   *items = MemoryContextAllocHuge(CurrentMemoryContext, Max(count, 1) * sizeof(Datum));
	Datum	   *bounds = MemoryContextAllocHuge(CurrentMemoryContext, Max(bounds_count, 1) * sizeof(Datum));

	for (size_t i = 0; i < count; i++)
	{
		items[i] = rollup_item_datum_text(&state->items, candidates[i].item);
		for (int n = 0; n < numbers; n++)
			bounds[i * numbers + n] = Float8GetDatum(candidates[i].bounds[n]);
	}
	if (numbers == 2)
		bounds[count * numbers] = Float8GetDatum(more);
	state->result[0] = PointerGetDatum(construct_array(items, count, TEXTOID, -1, false, TYPALIGN_INT));
	state->result[1] = PointerGetDatum(construct_array(bounds, bounds_count, FLOAT8OID, sizeof(float8),
													   FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	MemoryContextSwitchTo(caller);
}

/* Adds up the lists of some rows: item->hits becomes the lower bound by them, item->other the upper one but for `rest`. */
static void
add_up_lists(TopState *state, int64 from)
{
	for (int64 i = from; i < state->row_count; i++)
	{
		const TopRow *row = &state->rows[i];
		RollupList	list;

		if (row->weights[1] == 0)
			continue;
		open_list(state, row, &list);
		for (int n = 0; n < list.count; n++)
		{
			RollupItem *item = rollup_item(&state->items, list.items[n]);

			item->hits += row->weights[0] * list.hits[n];
			item->other += row->weights[1] * (list.hits[n] + row->over - row->rest);
		}
		CHECK_FOR_INTERRUPTS();
	}
}

static Candidate *
candidates_of(TopState *state, double rest, size_t *count)
{
	Candidate  *candidates = MemoryContextAllocExtended(CurrentMemoryContext, Max(state->items.set->members, 1) * sizeof(Candidate),
														MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	rollup_set_iterator iterator;
	RollupItem *item;

	*count = 0;
	rollup_set_start_iterate(state->items.set, &iterator);
	while ((item = rollup_set_iterate(state->items.set, &iterator)) != NULL)
	{
		Candidate  *candidate = &candidates[(*count)++];

		candidate->item = item;
		item->old = 0;
		if (!state->risers)
		{
			candidate->bounds[0] = item->hits;
			candidate->bounds[1] = Max(item->hits, item->other + rest);
		}
	}
	return candidates;
}

static void
find_risers(TopState *state)
{
	Candidate  *candidates;
	size_t		count;
	size_t		kept = 0;

	add_up_lists(state, 0);
	candidates = candidates_of(state, 0, &count);
	count_in_merged_filters(state, candidates, count, 0);
	for (size_t i = 0; i < count; i++)
		if (candidates[i].bounds[1] >= state->wanted && candidates[i].bounds[1] > 0)
			candidates[kept++] = candidates[i];
	count_in_merged_filters(state, candidates, kept, 2);
	make_result(state, candidates, kept, 4, 0);
}

static void
find_top(TopState *state)
{
	Candidate  *candidates;
	size_t		count;
	size_t		positive = 0;
	size_t		answer;
	double		top = 0;
	double		faded = 0;
	double		rest = 0;
	double		others;
	int64		live = 0;

	/* rows without a list are last here, and the faded ones first */
	qsort(state->rows, state->row_count, sizeof(TopRow), compare_most);
	for (int64 i = 0; i < state->row_count; i++)
		top = Max(top, state->rows[i].lead);
	for (int64 i = 0; i < state->row_count; i++)
	{
		const TopRow *row = &state->rows[i];

		if (row->most >= 0)
			faded += row->most;
		if (row->most >= 0 && faded < top / 2000)
		{
			rest += Max(row->most, row->weights[1] * row->rest);
			live = i + 1;
		}
		else if (row->most >= 0)
			rest += row->weights[1] * row->rest;
		else
		{
			rest += row->weights[1] * row->rest;
			if (live == i)
				live = i + 1;
		}
	}
	add_up_lists(state, live);
	candidates = candidates_of(state, rest, &count);
	others = rest;
	if (state->counted)
	{
		double		kth = 0;
		size_t		chosen = 0;

		if (state->wanted >= 1 && count >= state->wanted)
		{
			sorting = state;
			qsort(candidates, count, sizeof(Candidate), compare_candidates);
			kth = candidates[(size_t) state->wanted - 1].bounds[0];
		}
		qsort(candidates, count, sizeof(Candidate), compare_upper);
		while (chosen < count && chosen < 10 * state->wanted && candidates[chosen].bounds[1] >= kth)
			chosen++;
		if (chosen < count)
			others = Max(others, candidates[chosen].bounds[1]);
		count = chosen;
		for (size_t i = 0; i < count; i++)
			candidates[i].bounds[0] = candidates[i].bounds[1] = 0;
		for (int64 i = 0; i < state->row_count; i++)
			count_in_filter(state, &state->rows[i], state->rows[i].f, true, candidates, count, 0);
	}
	for (size_t i = 0; i < count; i++)
		if (candidates[i].bounds[1] > 0)
			candidates[positive++] = candidates[i];
	sorting = state;
	qsort(candidates, positive, sizeof(Candidate), compare_candidates);
	answer = positive <= state->wanted ? positive : (size_t) state->wanted;
	for (size_t i = answer; i < positive; i++)
		others = Max(others, candidates[i].bounds[1]);
	make_result(state, candidates, answer, 2, others);
}

SB_FUNCTION(tbf_rollup_agg_hot_final);
Datum
tbf_rollup_agg_hot_final(PG_FUNCTION_ARGS)
{
	TopState   *state = PG_ARGISNULL(0) ? NULL : (TopState *) PG_GETARG_POINTER(0);
	bool		nulls[2] = {0};

	(void) aggregate_context(fcinfo);
	if (state == NULL)
		PG_RETURN_NULL();
	if (state->risers)
		find_risers(state);
	else
		find_top(state);
	return row_result(fcinfo, state->result, nulls, 2);
}
