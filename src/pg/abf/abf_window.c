/*
 * abf_window.c: the window function abf_duplicate. Each partition has one filter, in the partition's memory. Each row
 * is one item, in the order of the window. Like row_number(), the function ignores the frame.
 */
#include "abf/abf.h"

#include "utils/memutils.h"
#include "windowapi.h"

#include "base/value.h"

/*
 * The numbers of the arguments; 0: the function has no such argument. An optional argument is missing if its number is
 * not below PG_NARGS().
 */
typedef struct Arguments
{
	int			at;
	int			within;
	int			items;
	int			filter;
	int			not_after;
} Arguments;

static Datum
argument(WindowObject window, int argno, const char *what, const char *hint)
{
	bool		is_null;
	Datum		value = WinGetFuncArgCurrent(window, argno, &is_null);

	if (is_null)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the %s of a window function must not be null", what),
				 errdetail("All rows of a partition are compared by what its first row gives."),
				 errhint("%s", hint)));
	return value;
}

/* Returns the filter of the partition. It is made when the first row comes. */
static AbfState *
filter_of_partition(FunctionCallInfo fcinfo, WindowObject window, const Arguments *arguments)
{
	AbfState   *state = WinGetPartitionLocalMemory(window, sizeof(AbfState));
	MemoryContext context = GetMemoryChunkContext(state);
	AbfValue	filter;

	if (state->context != NULL)
		return state;
	if (arguments->filter != 0 && arguments->filter < PG_NARGS())
	{
		abf_open(argument(window, arguments->filter, "filter", "Leave the argument out, or give a filter, for example abf_empty()."), &filter);
		if (arguments->at == 0)
			abf_must_be_by_items(&filter.header);
		else
			abf_must_be_by_time(&filter.header);
		abf_state_copy(state, context, &filter);
	}
	else
	{
		AbfParameters parameters = ABF_DEFAULTS;
		sb_abf		header;

		if (arguments->within != 0)
		{
			parameters.within = abf_within(DatumGetIntervalP(argument(window, arguments->within, "window", "Give an interval, for example interval '10 minutes'.")));
			parameters.items = DatumGetInt64(argument(window, arguments->items, "number of items", "Give the number of items that are expected within the window."));
		}
		abf_plan(&parameters, &header);
		abf_state_init(state, context, &header);
	}
	if (arguments->at != 0)
	{
		bool		is_null = true;
		Datum		limit = (Datum) 0;

		if (arguments->not_after != 0 && arguments->not_after < PG_NARGS())
			limit = WinGetFuncArgCurrent(window, arguments->not_after, &is_null);
		state->not_after = is_null ? abf_default_not_after(&state->header) : DatumGetTimestampTz(limit);
	}
	return state;
}

static Datum
duplicate(FunctionCallInfo fcinfo, const Arguments *arguments)
{
	WindowObject window = PG_WINDOW_OBJECT();
	ItemHasher *hasher = item_hasher_for_argument(fcinfo, 0);
	AbfState   *state = filter_of_partition(fcinfo, window, arguments);
	bool		is_null;
	Datum		item = WinGetFuncArgCurrent(window, 0, &is_null);
	TimestampTz at = 0;
	uint64_t	hash;
	bool		found;

	/* This lets PostgreSQL forget the rows before this one. */
	WinSetMarkPosition(window, WinGetCurrentPosition(window));
	if (is_null)
		PG_RETURN_NULL();
	if (arguments->at != 0)
	{
		Datum		time = WinGetFuncArgCurrent(window, arguments->at, &is_null);

		if (is_null)
			abf_refuse_null_time();
		at = DatumGetTimestampTz(time);
		abf_check_time(at);
		abf_check_not_after(at, state->not_after);
	}
	hash = abf_hash(state, hasher, item);
	CHECK_FOR_INTERRUPTS();
	abf_add_hashes(state, &hash, &at, 1, &found);
	PG_RETURN_BOOL(found);
}

/* abf_duplicate("any" [, abf]) */
SB_FUNCTION(abf_duplicate);
Datum
abf_duplicate(PG_FUNCTION_ARGS)
{
	static const Arguments arguments = {.filter = 1};

	return duplicate(fcinfo, &arguments);
}

/* abf_duplicate("any", at, abf [, not_after]) */
SB_FUNCTION(abf_duplicate_at);
Datum
abf_duplicate_at(PG_FUNCTION_ARGS)
{
	static const Arguments arguments = {.at = 1, .filter = 2, .not_after = 3};

	return duplicate(fcinfo, &arguments);
}

/* abf_duplicate("any", at, within, items) */
SB_FUNCTION(abf_duplicate_within);
Datum
abf_duplicate_within(PG_FUNCTION_ARGS)
{
	static const Arguments arguments = {.at = 1, .within = 2, .items = 3};

	return duplicate(fcinfo, &arguments);
}
