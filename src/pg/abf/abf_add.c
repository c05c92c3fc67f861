/*
 * abf_add.c: adds items to stored filters, moves their clocks on, and unites them. The aggregates are in abf_agg.c.
 */
#include "abf/abf.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "base/call.h"
#include "base/slices.h"
#include "base/times.h"
#include "base/value.h"

/* --------------------------------------------------------------------- adding */

/*
 * How a function gets the times of its items. ONE_TIME: argument 2 is the time of all items; it is given if and only
 * if the filter is by time. EACH_TIME: argument 2 is an array with a time for each item. Argument 3 is not_after: an
 * item with a later time is an error.
 */
typedef enum Times
{
	NO_TIME,					/* the operator || */
	ONE_TIME,
	EACH_TIME
} Times;

/*
 * Checks the times of a call. A filter by time must be given times, and a filter by items neither times nor not_after;
 * otherwise an error is raised. For a filter by time this sets state->not_after, and with ONE_TIME checks the time and
 * returns it. In all other cases the function returns 0.
 */
static TimestampTz
begin_times(FunctionCallInfo fcinfo, AbfState *state, Times times)
{
	TimestampTz at = 0;

	if (times == NO_TIME || (times == ONE_TIME && PG_ARGISNULL(2)))
	{
		abf_must_be_by_items(&state->header);
		if (times == ONE_TIME && !PG_ARGISNULL(3))
			abf_must_be_by_time(&state->header);
		return 0;
	}
	abf_must_be_by_time(&state->header);
	state->not_after = PG_ARGISNULL(3) ? abf_default_not_after(&state->header) : PG_GETARG_TIMESTAMPTZ(3);
	if (times == ONE_TIME)
	{
		at = PG_GETARG_TIMESTAMPTZ(2);
		abf_check_time(at);
		abf_check_not_after(at, state->not_after);
	}
	return at;
}

static bool
some_null(FunctionCallInfo fcinfo, Times times)
{
	return PG_ARGISNULL(0) || PG_ARGISNULL(1) || (times == EACH_TIME && PG_ARGISNULL(2));
}

static Datum
add_item(FunctionCallInfo fcinfo, Times times)
{
	ItemHasher *hasher;
	AbfValue	abf;
	AbfState	state;
	TimestampTz at;
	uint64_t	hash;
	Datum		result;

	if (some_null(fcinfo, times))
		PG_RETURN_NULL();
	hasher = item_hasher_for_argument(fcinfo, 1);
	abf_open(PG_GETARG_DATUM(0), &abf);
	abf_copy_to_change(&state, result_memory(), &abf);
	at = begin_times(fcinfo, &state, times);
	hash = abf_hash(&state, hasher, PG_GETARG_DATUM(1));
	abf_add_hashes(&state, &hash, &at, 1, NULL);
	result = abf_changed(&state);
	abf_warn_if_full(&state.header, state.slices);
	return result;
}

/* abf_add(abf, "any", at, not_after): NULL if the filter or the item is NULL */
SB_FUNCTION_IN_OWN_MEMORY(abf_add)
{
	return add_item(fcinfo, ONE_TIME);
}

/* the operator || */
SB_FUNCTION_IN_OWN_MEMORY(abf_add_operator)
{
	return add_item(fcinfo, NO_TIME);
}

/*
 * Adds all elements that are not null. If `flags` is not NULL, flags[i] says whether element i is a duplicate, and
 * nulls[i] whether it is null.
 */
static void
add_all_elements(AbfState *state, Elements *items, Elements *times, TimestampTz at, Datum *flags, bool *nulls)
{
	bool		duplicates[ABF_PENDING];
	int			which[ABF_PENDING];

	while (items->at < items->count)
	{
		int			taken = 0;
		Datum		item;
		bool		is_null;

		while (taken < ABF_PENDING && next_element(items, &item, &is_null))
		{
			int			number = items->at - 1;
			Datum		time = (Datum) 0;
			bool		no_time = false;

			if (times != NULL)
				(void) next_element(times, &time, &no_time);
			if (flags != NULL)
			{
				flags[number] = (Datum) 0;
				nulls[number] = is_null;
			}
			if (is_null)
				continue;
			if (times != NULL)
			{
				if (no_time)
					abf_refuse_null_time();
				at = DatumGetTimestampTz(time);
				abf_check_time(at);
				abf_check_not_after(at, state->not_after);
			}
			state->hashes[taken] = abf_hash(state, items->hasher, item);
			state->times[taken] = at;
			which[taken++] = number;
		}
		CHECK_FOR_INTERRUPTS();
		abf_add_hashes(state, state->hashes, state->times, taken, duplicates);
		for (int i = 0; i < taken && flags != NULL; i++)
			flags[which[i]] = BoolGetDatum(duplicates[i]);
	}
}

static void
times_must_match(const Elements *items, const Elements *times)
{
	if (times->count != items->count)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("there are %d items and %d times", items->count, times->count),
				 errhint("Give one time for each item, in the same order.")));
}

static Datum
flags_array(Datum *flags, bool *nulls, int count)
{
	int			dimensions[1] = {count};
	int			lower_bounds[1] = {1};

	if (count == 0)
		return PointerGetDatum(construct_empty_array(BOOLOID));
	return PointerGetDatum(construct_md_array(flags, nulls, 1, dimensions, lower_bounds, BOOLOID, 1, true,
											  TYPALIGN_CHAR));
}

/*
 * Adds the elements of argument 1 to a copy of argument 0 in this context. If `duplicates` is not NULL, *duplicates
 * becomes the array of flags that abf_check_add() returns.
 */
static Datum
add_elements(FunctionCallInfo fcinfo, Times times, MemoryContext context, Datum *duplicates)
{
	Elements	items;
	Elements	times_of_items;
	AbfValue	abf;
	AbfState	state;
	TimestampTz at;
	Datum	   *flags = NULL;
	bool	   *nulls = NULL;
	Datum		result;

	elements_open(&items, fcinfo, 1, SB_LOOKUP_ABF);
	if (times == EACH_TIME)
	{
		elements_open_as(&times_of_items, PG_GETARG_DATUM(2), sizeof(TimestampTz), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
		times_must_match(&items, &times_of_items);
	}
	if (duplicates != NULL)
	{
		flags = MemoryContextAllocHuge(CurrentMemoryContext, Max(items.count, 1) * sizeof *flags);
		nulls = palloc(Max(items.count, 1));
	}
	abf_open(PG_GETARG_DATUM(0), &abf);
	abf_copy_to_change(&state, context, &abf);
	at = begin_times(fcinfo, &state, times);
	add_all_elements(&state, &items, times == EACH_TIME ? &times_of_items : NULL, at, flags, nulls);
	if (duplicates != NULL)
		*duplicates = flags_array(flags, nulls, items.count);
	result = abf_changed(&state);
	abf_warn_if_full(&state.header, state.slices);
	return result;
}

static Datum
add_all(FunctionCallInfo fcinfo, Times times)
{
	if (some_null(fcinfo, times))
		PG_RETURN_NULL();
	return add_elements(fcinfo, times, result_memory(), NULL);
}

static Datum
check_add(FunctionCallInfo fcinfo, Times times)
{
	Datum		values[2];

	if (some_null(fcinfo, times))
		PG_RETURN_NULL();
	values[0] = add_elements(fcinfo, times, CurrentMemoryContext, &values[1]);
	return row_result(fcinfo, values, (bool[]) {false, false}, lengthof(values));
}

/* abf_add_all(abf, anyarray, at, not_after); abf_add_each(abf, anyarray, times[], not_after) */
SB_FUNCTION_IN_OWN_MEMORY(abf_add_all)
{
	return add_all(fcinfo, ONE_TIME);
}

SB_FUNCTION_IN_OWN_MEMORY(abf_add_each)
{
	return add_all(fcinfo, EACH_TIME);
}

/*
 * abf_check_add() and abf_check_add_each() add as abf_add_all() and abf_add_each() do, but return a record of the
 * changed filter and an array of flags: was the element a duplicate? The flag of a null element is null.
 */
SB_FUNCTION_IN_OWN_MEMORY(abf_check_add)
{
	return check_add(fcinfo, ONE_TIME);
}

SB_FUNCTION_IN_OWN_MEMORY(abf_check_add_each)
{
	return check_add(fcinfo, EACH_TIME);
}

/* ---------------------------------------------------------- clock, union */

/* abf_decay(abf, at) */
SB_FUNCTION_IN_OWN_MEMORY(abf_decay)
{
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(1);
	sb_abf		header;
	AbfValue	abf;
	AbfState	state;

	abf_open_header(PG_GETARG_DATUM(0), &header);
	abf_must_be_by_time(&header);
	abf_check_time(at);
	abf_open(PG_GETARG_DATUM(0), &abf);
	abf_copy_to_change(&state, result_memory(), &abf);
	must_finish(sb_abf_advance(&state.header, state.slices, sb_abf_generation(&state.header, at)));
	return abf_changed(&state);
}

void
abf_unite(AbfState *state, const AbfValue *other)
{
	sb_abf		united;
	sb_difference difference;
	sb_status	status;

	item_kinds_must_agree(&state->header.kind, &other->header.kind, "unite");
	status = sb_abf_plan_union(&state->header, &other->header, &united, &difference);
	if (status == SB_OUT_OF_RANGE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("abf filters that count items cannot be united"),
				 errdetail("The last items of two streams are not the last items of both: it is not known how the streams interleave."),
				 errhint("Make filters for a window of time, which have a common clock: abf_empty(within => '10 minutes'). Or keep the filters apart and ask both.")));
	if (status == SB_DIFFERENT)
	{
		if (strcmp(difference.parameter, "window") == 0)
		{
			const char *texts[2];
			const int64 windows[2] = {state->header.window, other->header.window};

			for (int i = 0; i < 2; i++)
				texts[i] = interval_text(DatumGetIntervalP(interval_of(windows[i])));
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("cannot unite abf filters whose windows differ: %s and %s", texts[0], texts[1]),
					 errhint("Build both with the same parameters.")));
		}
		refuse_difference("abf", "unite", &difference, (FilterPlan) {state->header.expected, state->header.fpr},
						  (FilterPlan) {other->header.expected, other->header.fpr});
	}
	must_finish(status);
	abf_need_slices(state);
	must_finish(sb_abf_unite(&state->header, state->slices, &other->header, other->slices));
}

SB_FUNCTION_IN_OWN_MEMORY(abf_union)
{
	AbfValue	left;
	AbfValue	right;
	AbfState	state;
	Datum		result;

	abf_open(PG_GETARG_DATUM(0), &left);
	abf_open(PG_GETARG_DATUM(1), &right);
	abf_copy_to_change(&state, result_memory(), &left);
	abf_unite(&state, &right);
	result = abf_changed(&state);
	abf_warn_if_full(&state.header, state.slices);
	return result;
}
