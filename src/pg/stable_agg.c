/*
 * stable_agg.c: the aggregates sbf_agg and ibf_agg (and ..._like). What they make depends on the order of the rows: they are
 * used with ORDER BY, and are not parallel, for two halves of a stream cannot be put together again.
 */
#include "stable.h"

#include "value.h"

static StableState *
begin(MemoryContext context, const sb_stable *header)
{
	StableState *state = MemoryContextAllocZero(context, sizeof(StableState));

	stable_state_init(state, context, header);
	return state;
}

/* The parameters of a group are those of an empty filter. */
static void
parameters_like(FunctionCallInfo fcinfo, int argno, const char *type, sb_stable *out)
{
	StableValue like;

	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the filter that says the parameters of %s_agg_like() must not be null", type),
				 errhint("Give %s_empty() with the parameters wanted.", type)));
	stable_open(PG_GETARG_DATUM(argno), &like);
	if (like.header.items != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the filter that says the parameters of %s_agg_like() must be empty", type),
				 errhint("Give %s_empty() with the parameters wanted. To go on with a filter, use %s_add_all().", type, type)));
	*out = like.header;
}

static bool
given(FunctionCallInfo fcinfo, int argno)
{
	return argno < PG_NARGS() && !PG_ARGISNULL(argno);
}

/*
 * The parameters are those of a group's first row; they are checked even if its item is NULL. Inlined, because it runs for each
 * row and each of the four knows how it is called.
 */
static pg_attribute_always_inline Datum
add_row(FunctionCallInfo fcinfo, void (*plan) (FunctionCallInfo fcinfo, sb_stable *out), bool importance)
{
	StableState *state = PG_ARGISNULL(0) ? NULL : (StableState *) PG_GETARG_POINTER(0);
	ItemHasher *hasher = fcinfo->flinfo->fn_extra;
	uint8_t		value;

	if (unlikely(hasher == NULL))
		hasher = item_hasher_for_argument(fcinfo, 1);
	if (unlikely(state == NULL))
	{
		MemoryContext context = aggregate_context(fcinfo);
		sb_stable	header;

		plan(fcinfo, &header);
		if (PG_ARGISNULL(1))
			PG_RETURN_NULL();
		state = begin(context, &header);
	}
	else if (PG_ARGISNULL(1))
		PG_RETURN_POINTER(state);

	value = importance ?
		stable_importance(&state->header, PG_ARGISNULL(2), PG_ARGISNULL(2) ? 0 : PG_GETARG_FLOAT8(2)) :
		stable_max(&state->header);
	stable_step_later(state, hasher, PG_GETARG_DATUM(1), value);
	PG_RETURN_POINTER(state);
}

/* -------------------------------------------------------------------- sbf_agg */

/* (internal, "any" [, bytes [, fpr]]) */
static void
plan_sbf(FunctionCallInfo fcinfo, sb_stable *out)
{
	StableParameters parameters = STABLE_DEFAULTS;

	if (given(fcinfo, 2))
		parameters.bytes = PG_GETARG_INT64(2);
	if (given(fcinfo, 3))
		parameters.fpr = PG_GETARG_FLOAT8(3);
	stable_plan(&parameters, out);
}

SB_FUNCTION(sbf_agg_add);
Datum
sbf_agg_add(PG_FUNCTION_ARGS)
{
	return add_row(fcinfo, plan_sbf, false);
}

/* (internal, "any", sbf) */
static void
plan_sbf_like(FunctionCallInfo fcinfo, sb_stable *out)
{
	parameters_like(fcinfo, 2, "sbf", out);
}

SB_FUNCTION(sbf_agg_like_add);
Datum
sbf_agg_like_add(PG_FUNCTION_ARGS)
{
	return add_row(fcinfo, plan_sbf_like, false);
}

/* -------------------------------------------------------------------- ibf_agg */

/* (internal, "any", importance [, low, high [, bytes, fpr]]) */
static void
plan_ibf(FunctionCallInfo fcinfo, sb_stable *out)
{
	StableParameters parameters = IBF_DEFAULTS;

	if (given(fcinfo, 3))
		parameters.low = PG_GETARG_FLOAT8(3);
	if (given(fcinfo, 4))
		parameters.high = PG_GETARG_FLOAT8(4);
	if (given(fcinfo, 5))
		parameters.bytes = PG_GETARG_INT64(5);
	if (given(fcinfo, 6))
		parameters.fpr = PG_GETARG_FLOAT8(6);
	stable_plan(&parameters, out);
}

SB_FUNCTION(ibf_agg_add);
Datum
ibf_agg_add(PG_FUNCTION_ARGS)
{
	return add_row(fcinfo, plan_ibf, true);
}

/* (internal, "any", importance, ibf) */
static void
plan_ibf_like(FunctionCallInfo fcinfo, sb_stable *out)
{
	parameters_like(fcinfo, 3, "ibf", out);
}

SB_FUNCTION(ibf_agg_like_add);
Datum
ibf_agg_like_add(PG_FUNCTION_ARGS)
{
	return add_row(fcinfo, plan_ibf_like, true);
}

/* ---------------------------------------------------------------- of both */

/* Leaves the state as it is, so that it can go on as a moving window does. */
SB_FUNCTION(stable_agg_final);
Datum
stable_agg_final(PG_FUNCTION_ARGS)
{
	StableState *state;

	aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (StableState *) PG_GETARG_POINTER(0);
	stable_settle(state);
	return stable_store(&state->header, state->cells);
}
