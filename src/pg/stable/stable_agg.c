/*
 * stable_agg.c: the aggregates sbf_agg and ibf_agg, and their forms ..._like. Their results depend on the order of
 * the rows, so they are used with ORDER BY. They cannot run in parallel, because the filter of a stream cannot be
 * made from the filters of its two halves.
 */
#include "stable/stable.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "funcapi.h"

#include "base/value.h"

static StableState *
begin(MemoryContext context, const sb_stable *header)
{
	StableState *state = MemoryContextAllocZero(context, sizeof(StableState));

	stable_state_init(state, context, header);
	return state;
}

/*
 * Reads the fields of a value of type sbf_parameters or ibf_parameters. The aggregates take their parameters in this
 * form, and not as an empty filter: PostgreSQL sorts all arguments of a call with ORDER BY or DISTINCT, so it would
 * sort a copy of the filter for each row.
 */
static void
parameter_fields(FunctionCallInfo fcinfo, int argno, const char *type, NullableDatum *fields, int count)
{
	HeapTupleHeader parameters;

	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the parameters of %s_agg_like() must not be null", type),
				 errhint("Give %s_parameters() with the parameters that you want.", type)));
	parameters = PG_GETARG_HEAPTUPLEHEADER(argno);
	for (int i = 0; i < count; i++)
		fields[i].value = GetAttributeByNum(parameters, i + 1, &fields[i].isnull);
}

/*
 * sbf_parameters(...), ibf_parameters(...): make one value of their arguments. The parameters are checked later, when
 * a filter is made of them.
 */
SB_FUNCTION(stable_parameters);
Datum
stable_parameters(PG_FUNCTION_ARGS)
{
	TupleDesc	columns;
	Datum		values[IBF_FIELDS];
	bool		nulls[IBF_FIELDS];

	if (get_call_result_type(fcinfo, NULL, &columns) != TYPEFUNC_COMPOSITE || columns->natts != PG_NARGS())
		elog(ERROR, "return type must be a row type of as many columns as there are arguments");
	for (int i = 0; i < PG_NARGS(); i++)
	{
		values[i] = PG_GETARG_DATUM(i);
		nulls[i] = PG_ARGISNULL(i);
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(columns), values, nulls)));
}

static bool
given(FunctionCallInfo fcinfo, int argno)
{
	return argno < PG_NARGS() && !PG_ARGISNULL(argno);
}

/*
 * Adds a row. As long as a group has no state, its row gives the parameters of the filter; they are checked even if the
 * item of this row is NULL. The function is inlined because it runs for each row, and each of its four callers passes
 * constants.
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
		stable_importance(state, PG_ARGISNULL(2), PG_ARGISNULL(2) ? 0 : PG_GETARG_FLOAT8(2)) :
		sb_stable_max(&state->header);
	stable_step_later(state, hasher, PG_GETARG_DATUM(1), value);
	PG_RETURN_POINTER(state);
}

/* -------------------------------------------------------------------- sbf_agg */

/* sbf_agg: (internal, "any" [, bytes [, fpr]]) */
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

/* sbf_agg_like: (internal, "any", sbf_parameters) */
static void
plan_sbf_like(FunctionCallInfo fcinfo, sb_stable *out)
{
	NullableDatum fields[SBF_FIELDS];

	parameter_fields(fcinfo, 2, "sbf", fields, SBF_FIELDS);
	sbf_plan(fields, out);
}

SB_FUNCTION(sbf_agg_like_add);
Datum
sbf_agg_like_add(PG_FUNCTION_ARGS)
{
	return add_row(fcinfo, plan_sbf_like, false);
}

/* -------------------------------------------------------------------- ibf_agg */

/* ibf_agg: (internal, "any", importance [, low, high [, bytes, fpr]]) */
static void
plan_ibf(FunctionCallInfo fcinfo, sb_stable *out)
{
	StableParameters parameters = IBF_DEFAULTS;

	if (PG_NARGS() > 4)
		ibf_range(fcinfo->args[3], fcinfo->args[4], &parameters);
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

/* ibf_agg_like: (internal, "any", importance, ibf_parameters) */
static void
plan_ibf_like(FunctionCallInfo fcinfo, sb_stable *out)
{
	NullableDatum fields[IBF_FIELDS];

	parameter_fields(fcinfo, 3, "ibf", fields, IBF_FIELDS);
	ibf_plan(fields, out);
}

SB_FUNCTION(ibf_agg_like_add);
Datum
ibf_agg_like_add(PG_FUNCTION_ARGS)
{
	return add_row(fcinfo, plan_ibf_like, true);
}

/* ---------------------------------------------------------------- sbf and ibf */

/* Makes the pending steps, and changes nothing else in the state. So a moving window can add more rows to it. */
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
