/*
 * stable_window.c: the window functions sbf_duplicate and ibf_duplicate: has the item of this row come before in its
 * partition? Each partition of the window has one filter, in the partition's memory. Each row whose item is not NULL is
 * one step of this filter, in the order of the window: the item is looked up, and then added. A step takes constant
 * time. Like row_number(), the functions ignore the frame.
 */
#include "stable/stable.h"

#include "utils/memutils.h"
#include "windowapi.h"

#include "base/value.h"

/*
 * Returns the filter of the partition. It is made when the first row comes: as a copy of the filter in argument
 * `argno`, or empty if there is no such argument.
 */
static StableState *
filter_of_partition(FunctionCallInfo fcinfo, WindowObject window, int argno, const StableParameters *defaults)
{
	StableState *state = WinGetPartitionLocalMemory(window, sizeof(StableState));
	MemoryContext context = GetMemoryChunkContext(state);

	if (state->context != NULL)
		return state;
	if (argno < PG_NARGS())
	{
		bool		is_null;
		Datum		value = WinGetFuncArgCurrent(window, argno, &is_null);
		StableValue filter;

		if (is_null)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("the filter of a window function must not be null"),
					 errdetail("All rows of a partition are compared with the filter that its first row gives."),
					 errhint("Leave the argument out, or give a filter, for example sbf_empty() or ibf_empty().")));
		stable_open(value, &filter);
		stable_state_copy(state, context, &filter);
	}
	else
	{
		sb_stable	header;

		stable_plan(defaults, &header);
		stable_state_init(state, context, &header);
	}
	return state;
}

static Datum
duplicate(FunctionCallInfo fcinfo, int importance_argno, int filter_argno, const StableParameters *defaults)
{
	WindowObject window = PG_WINDOW_OBJECT();
	ItemHasher *hasher = item_hasher_for_argument(fcinfo, 0);
	StableState *state = filter_of_partition(fcinfo, window, filter_argno, defaults);
	bool		is_null;
	Datum		item = WinGetFuncArgCurrent(window, 0, &is_null);
	uint8_t		value;

	/* This lets PostgreSQL forget the rows before this one. */
	WinSetMarkPosition(window, WinGetCurrentPosition(window));
	if (is_null)
		PG_RETURN_NULL();
	if (importance_argno != 0)
	{
		Datum		importance = WinGetFuncArgCurrent(window, importance_argno, &is_null);

		value = stable_importance(state, is_null, is_null ? 0 : DatumGetFloat8(importance));
	}
	else
		value = sb_stable_max(&state->header);
	PG_RETURN_BOOL(stable_step(state, hasher, item, value));
}

/* sbf_duplicate("any" [, sbf]) */
SB_FUNCTION(sbf_duplicate);
Datum
sbf_duplicate(PG_FUNCTION_ARGS)
{
	static const StableParameters defaults = STABLE_DEFAULTS;

	return duplicate(fcinfo, 0, 1, &defaults);
}

/* ibf_duplicate("any", importance [, ibf]) */
SB_FUNCTION(ibf_duplicate);
Datum
ibf_duplicate(PG_FUNCTION_ARGS)
{
	static const StableParameters defaults = IBF_DEFAULTS;

	return duplicate(fcinfo, 1, 2, &defaults);
}
