/*
 * abf_agg.c: the aggregates abf_agg, abf_agg_like and abf_union_agg. For a window of time the result does not depend
 * on the order of the rows. So the forms with a time can run in parallel: the states of the workers are combined to
 * the same bytes. For a window of items the result depends on the order. The forms without a time are used with ORDER
 * BY, and have no combine function.
 */
#include "abf/abf.h"

#include "base/call.h"
#include "base/value.h"

static AbfState *
begin(MemoryContext context, const sb_abf *header)
{
	AbfState   *state = MemoryContextAllocZero(context, sizeof(AbfState));

	abf_state_init(state, context, header);
	return state;
}

/*
 * The numbers of the transition function's arguments. A number is 0 if this form of the aggregate lacks the argument.
 */
typedef struct Arguments
{
	int			at;
	int			within;
	int			items;
	int			fpr;
	int			like;			/* an empty filter that has the parameters */
	int			not_after;
} Arguments;

static bool
given(FunctionCallInfo fcinfo, int argno)
{
	return argno != 0 && argno < PG_NARGS() && !PG_ARGISNULL(argno);
}

static void
plan_like(FunctionCallInfo fcinfo, const Arguments *arguments, sb_abf *out)
{
	if (PG_ARGISNULL(arguments->like))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the filter with the parameters of the aggregate must not be null"),
				 errhint("Give abf_empty() with the parameters that you want.")));
	abf_open_header(PG_GETARG_DATUM(arguments->like), out);
	if (out->items != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the filter with the parameters of the aggregate must be empty"),
				 errhint("Give abf_empty() with the parameters that you want. To unite filters, use | or abf_union_agg().")));
	if (arguments->at == 0)
		abf_must_be_by_items(out);
	else
		abf_must_be_by_time(out);
}

/* Plans the filter of a group from the parameters in this row. */
static void
plan(FunctionCallInfo fcinfo, const Arguments *arguments, sb_abf *out)
{
	AbfParameters parameters = ABF_DEFAULTS;

	if (arguments->like != 0)
	{
		plan_like(fcinfo, arguments, out);
		return;
	}
	if (arguments->at != 0)
	{
		if (PG_ARGISNULL(arguments->within))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("the window of abf_agg() must not be null"),
					 errhint("Give the time within which an item is to be found again, or use abf_agg(item) for a window of items.")));
		parameters.within = abf_within(PG_GETARG_INTERVAL_P(arguments->within));
	}
	if (given(fcinfo, arguments->items))
		parameters.items = PG_GETARG_INT64(arguments->items);
	if (given(fcinfo, arguments->fpr))
		parameters.fpr = PG_GETARG_FLOAT8(arguments->fpr);
	abf_plan(&parameters, out);
}

/*
 * Adds a row. If there is no state yet, the parameters of the filter come from this row. They are checked even if the
 * row's item is NULL.
 */
static pg_attribute_always_inline Datum
add_row(FunctionCallInfo fcinfo, const Arguments *arguments)
{
	AbfState   *state = PG_ARGISNULL(0) ? NULL : (AbfState *) PG_GETARG_POINTER(0);
	ItemHasher *hasher = fcinfo->flinfo->fn_extra;
	TimestampTz at = 0;

	if (unlikely(hasher == NULL))
		hasher = item_hasher_for_argument(fcinfo, 1);
	if (unlikely(state == NULL))
	{
		MemoryContext context = aggregate_context(fcinfo);
		sb_abf		header;

		plan(fcinfo, arguments, &header);
		if (PG_ARGISNULL(1))
			PG_RETURN_NULL();
		state = begin(context, &header);
		if (arguments->at != 0)
			state->not_after = given(fcinfo, arguments->not_after) ? PG_GETARG_TIMESTAMPTZ(arguments->not_after) :
				abf_default_not_after(&header);
	}
	else if (PG_ARGISNULL(1))
		PG_RETURN_POINTER(state);

	if (arguments->at != 0)
	{
		if (PG_ARGISNULL(arguments->at))
			abf_refuse_null_time();
		at = PG_GETARG_TIMESTAMPTZ(arguments->at);
		abf_check_time(at);
		abf_check_not_after(at, state->not_after);
	}
	abf_add_later(state, hasher, PG_GETARG_DATUM(1), at);
	PG_RETURN_POINTER(state);
}

/* (internal, "any" [, items [, fpr]]) */
SB_FUNCTION(abf_agg_add);
Datum
abf_agg_add(PG_FUNCTION_ARGS)
{
	static const Arguments arguments = {.items = 2, .fpr = 3};

	return add_row(fcinfo, &arguments);
}

/* (internal, "any", at, within [, items [, fpr [, not_after]]]) */
SB_FUNCTION(abf_agg_add_at);
Datum
abf_agg_add_at(PG_FUNCTION_ARGS)
{
	static const Arguments arguments = {.at = 2, .within = 3, .items = 4, .fpr = 5, .not_after = 6};

	return add_row(fcinfo, &arguments);
}

/* (internal, "any", abf) */
SB_FUNCTION(abf_agg_like_add);
Datum
abf_agg_like_add(PG_FUNCTION_ARGS)
{
	static const Arguments arguments = {.like = 2};

	return add_row(fcinfo, &arguments);
}

/* (internal, "any", at, abf [, not_after]) */
SB_FUNCTION(abf_agg_like_add_at);
Datum
abf_agg_like_add_at(PG_FUNCTION_ARGS)
{
	static const Arguments arguments = {.at = 2, .like = 3, .not_after = 4};

	return add_row(fcinfo, &arguments);
}

/* Does not change the state, apart from its pending items, so that a moving window can add more rows to it. */
SB_FUNCTION(abf_agg_final);
Datum
abf_agg_final(PG_FUNCTION_ARGS)
{
	AbfState   *state;

	aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (AbfState *) PG_GETARG_POINTER(0);
	abf_settle(state);
	abf_warn_if_full(&state->header, state->slices);
	return abf_store(&state->header, state->slices);
}

/* ------------------------------------------------------------------ by workers */

SB_FUNCTION(abf_agg_combine);
Datum
abf_agg_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	AbfState   *state = PG_ARGISNULL(0) ? NULL : (AbfState *) PG_GETARG_POINTER(0);
	AbfState   *other;
	AbfValue	value;

	if (PG_ARGISNULL(1))
	{
		if (state == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(state);
	}
	other = (AbfState *) PG_GETARG_POINTER(1);
	abf_settle(other);
	value = (AbfValue) {other->header, other->slices};
	if (state == NULL)
	{
		state = begin(context, &value.header);
		abf_state_copy(state, context, &value);
		PG_RETURN_POINTER(state);
	}
	abf_settle(state);
	abf_unite(state, &value);
	PG_RETURN_POINTER(state);
}

/* For another process a state becomes a stored filter. */
SB_FUNCTION(abf_agg_serialize);
Datum
abf_agg_serialize(PG_FUNCTION_ARGS)
{
	AbfState   *state = (AbfState *) PG_GETARG_POINTER(0);

	aggregate_context(fcinfo);
	abf_settle(state);
	return abf_store(&state->header, state->slices);
}

SB_FUNCTION(abf_agg_deserialize);
Datum
abf_agg_deserialize(PG_FUNCTION_ARGS)
{
	AbfState   *state;
	AbfValue	value;
	sb_status	status;

	aggregate_context(fcinfo);
	abf_open(PG_GETARG_DATUM(0), &value);
	status = value.header.by_time ? sb_abf_check_slices(&value.header, value.slices) : SB_BAD_HEADER;
	if (status != SB_OK)
		value_refuse("abf", status);
	/* The state is only combined with another one, and is freed with the per-tuple context. */
	state = begin(CurrentMemoryContext, &value.header);
	abf_state_copy(state, CurrentMemoryContext, &value);
	PG_RETURN_POINTER(state);
}

/* ------------------------------------------------------------------------ unions */

/*
 * The transition and combine function of abf_union_agg. The state is a filter. If the filter has slices, and argument 0
 * is the state itself (is_state_of_aggregate()), the slices are changed in place; otherwise the filter is copied.
 */
SB_FUNCTION_IN_OWN_MEMORY(abf_union_agg_add)
{
	AbfValue	left;
	AbfValue	right;
	AbfState	state;

	abf_open(PG_GETARG_DATUM(0), &left);
	abf_open(PG_GETARG_DATUM(1), &right);
	if (left.header.filled && is_state_of_aggregate(fcinfo, left.slices - SB_ABF_HEADER))
	{
		abf_state_init(&state, result_memory(), &left.header);
		state.value = (struct varlena *) DatumGetPointer(PG_GETARG_DATUM(0));
		state.slices = (unsigned char *) VARDATA(state.value) + SB_ABF_HEADER;
		abf_unite(&state, &right);
		/*
		 * The value keeps its size if a bit is left. No bit is left if `right` has none and is so much newer that all
		 * slices of `left` are given up.
		 */
		if (state.header.filled)
		{
			sb_abf_encode_header(&state.header, VARDATA(state.value));
			return PointerGetDatum(state.value);
		}
		return abf_store(&state.header, NULL);
	}
	abf_copy_to_change(&state, result_memory(), &left);
	abf_unite(&state, &right);
	return abf_changed(&state);
}

/* The warning comes here, because only the rate of the whole union matters. */
SB_FUNCTION_IN_OWN_MEMORY(abf_union_agg_final)
{
	AbfValue	abf;

	abf_open(PG_GETARG_DATUM(0), &abf);
	abf_warn_if_full(&abf.header, abf.slices);
	return PG_GETARG_DATUM(0);
}
