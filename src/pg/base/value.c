/*
 * value.c: see value.h.
 */
#include "base/value.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/toast_internals.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "base/expanded.h"

PG_MODULE_MAGIC;

struct varlena *
value_make_in(MemoryContext context, size_t size, void **data)
{
	struct varlena *value = MemoryContextAlloc(context, VARHDRSZ + size);

	SET_VARSIZE(value, VARHDRSZ + size);
	*data = VARDATA(value);
	clear_in_pieces(*data, size);
	return value;
}

struct varlena *
value_make(size_t size, void **data)
{
	return value_make_in(result_memory(), size, data);
}

Datum
row_result(FunctionCallInfo fcinfo, Datum *values, bool *nulls, int count)
{
	MemoryContext own;
	TupleDesc	columns;
	Datum		row;

	if (get_call_result_type(fcinfo, NULL, &columns) != TYPEFUNC_COMPOSITE || columns->natts != count)
		elog(ERROR, "return type must be a row type of %d columns", count);
	own = MemoryContextSwitchTo(result_memory());
	row = HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(columns), values, nulls));
	MemoryContextSwitchTo(own);
	return row;
}

Datum
text_result(const char *string)
{
	MemoryContext own = MemoryContextSwitchTo(result_memory());
	text	   *result = cstring_to_text(string);

	MemoryContextSwitchTo(own);
	PG_RETURN_TEXT_P(result);
}

const void *
value_open(Datum value, size_t *size)
{
	ExpandedFilter *expanded = expanded_filter(value);
	struct varlena *whole = expanded != NULL ? flat_filter(expanded) : detoast(value);

	*size = VARSIZE_ANY_EXHDR(whole);
	return VARDATA_ANY(whole);
}

size_t
value_size(Datum value)
{
	return toast_raw_datum_size(value) - VARHDRSZ;
}

const void *
value_slice(Datum value, size_t offset, size_t size)
{
	struct varlena *raw = (struct varlena *) DatumGetPointer(value);
	ExpandedFilter *expanded = expanded_filter(value);

	if (expanded != NULL)
		raw = flat_filter(expanded);
	if (!VARATT_IS_EXTERNAL(raw) && !VARATT_IS_COMPRESSED(raw))
		return VARDATA_ANY(raw) + offset;
	raw = detoast_attr_slice(raw, (int32) offset, (int32) size);
	return VARDATA_ANY(raw);	/* VARDATA_ANY() evaluates its argument twice, so the slice is in a variable. */
}

/* --------------------------------------------------------------------- errors */

void
value_refuse(const char *type, sb_status status)
{
	raise_if_unfinished(status);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("invalid value for type %s", type),
			 errdetail("The value cannot be used: %s.", sb_status_text(status)),
			 status == SB_BAD_VERSION ?
			 errhint("It may have been written by a later version of streambloom: update the extension.") :
			 errhint("Take the value again from where it came from, or build the filter again from its rows.")));
	pg_unreachable();
}

void
check_fpr(double fpr)
{
	if (fpr >= SB_BF_MIN_FPR && fpr <= SB_BF_MAX_FPR)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("false-positive rate %g is out of range", fpr),
			 errdetail("It must lie between %g and %g.", SB_BF_MIN_FPR, SB_BF_MAX_FPR),
			 errhint("The rate is a fraction: 0.01 means one in a hundred.")));
}

void
refuse_expected_items(int64 items)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("expected number of items " INT64_FORMAT " is out of range", items),
			 errdetail("It must be at least 1."),
			 errhint("Give the number of distinct items that the filter is to hold.")));
	pg_unreachable();
}

void
refuse_size(const char *type, int64 items, double fpr)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("%s %s for " INT64_FORMAT " items at a false-positive rate of %g would be too large",
					type[0] == 'a' ? "an" : "a", type, items, fpr),
			 errdetail("A filter has at most %u bytes.", SB_MAX_BYTES),
			 errhint("Expect fewer items, allow a higher rate, or build one filter for each part of the data.")));
	pg_unreachable();
}

char *
short_text(const char *text)
{
	int			length = (int) strlen(text);
	int			kept = pg_mbcliplen(text, length, 64);

	return kept == length ? pstrdup(text) : psprintf("%.*s...", kept, text);
}

static char *
plan_text(FilterPlan plan)
{
	return plan.items == 0 ? psprintf("a false-positive rate of %g", plan.fpr) :
		psprintf(UINT64_FORMAT " items at a false-positive rate of %g", plan.items, plan.fpr);
}

void
refuse_difference(const char *type, const char *action, const sb_difference *difference, FilterPlan left,
				  FilterPlan right)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("cannot %s %s filters whose %s differ: %.15g and %.15g",
					action, type, difference->parameter, difference->left, difference->right),
			 left.items == right.items && left.fpr == right.fpr ? 0 :
			 errdetail("The left filter was planned for %s, the right one for %s.", plan_text(left), plan_text(right)),
			 errhint("Build both with the same parameters%s.",
					 left.items + right.items > 0 ? ", for the number of items that the result will hold" : "")));
	pg_unreachable();
}

/* ----------------------------------------------------------------- aggregates */

MemoryContext
aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "aggregate function called in non-aggregate context");
	return context;
}

bool
is_state_of_aggregate(FunctionCallInfo fcinfo, const void *data)
{
	return AggCheckCallContext(fcinfo, NULL) && data == VARDATA(PG_GETARG_POINTER(0));
}

/* --------------------------------------------------------------------- sketch */

char *
sketch_bars(const double *values, int count)
{
	static const char *const blocks[] = {
		" ", "\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83", "\xe2\x96\x84",
		"\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88"
	};
	static const char *const letters[] = {" ", ".", ".", ":", ":", "=", "+", "#", "#"};
	const char *const *bars = GetDatabaseEncoding() == PG_UTF8 ? blocks : letters;
	StringInfoData line;
	double		largest = 0;

	for (int i = 0; i < count; i++)
		largest = Max(largest, values[i]);
	initStringInfo(&line);
	for (int i = 0; i < count; i++)
	{
		/* Every value greater than zero has at least the lowest bar. */
		int			height = values[i] > 0 ? 1 + (int) (values[i] / largest * 7) : 0;

		appendStringInfoString(&line, bars[height]);
	}
	return line.data;
}
