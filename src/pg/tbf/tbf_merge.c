/*
 * tbf_merge.c: filters decayed, added up, and weighted.
 */
#include "tbf/tbf.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/call.h"
#include "base/item.h"
#include "base/value.h"

/* As refuse_difference(), for times as people read them. 0: no decay. */
static void
refuse_different_times(const char *what, int64 left, int64 right)
{
	char	   *texts[2];

	for (int i = 0; i < 2; i++)
	{
		int64		time = i == 0 ? left : right;

		texts[i] = time == 0 ? "none" : DatumGetCString(DirectFunctionCall1(interval_out, tbf_interval(time)));
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("cannot merge tbf filters whose %s differ: %s and %s", what, texts[0], texts[1]),
			 errhint("Build both with the same half-life and epoch.")));
}

void
tbf_join(const sb_tbf *a, const sb_tbf *b, sb_tbf *out)
{
	sb_difference difference;

	item_kinds_must_agree(&a->kind, &b->kind, "merge");
	if (((a->flags | b->flags) & SB_TBF_RECURRING_MINIMUM) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot merge tbf filters with recurring minimum"),
				 errdetail("An item that one of them counts apart has its hits in the other's counters, mixed with those of others."),
				 errhint("Filters with minimum increase can be merged.")));
	if (a->half_life != b->half_life)
		refuse_different_times("half-lives", a->half_life, b->half_life);
	if (a->epoch != b->epoch)
		refuse_different_times("epochs", a->epoch, b->epoch);
	if (sb_tbf_join(a, b, out, &difference) != SB_OK)
		refuse_difference("tbf", "merge", &difference);
}

/* tbf_decay(tbf [, at]) */
SB_FUNCTION_IN_OWN_MEMORY(tbf_decay)
{
	TimestampTz at = tbf_time_argument(fcinfo, 1);
	TbfValue	tbf;
	sb_tbf		decayed;
	char	   *value;
	unsigned char *cells;
	sb_status	status;
	TbfTop	   *top = NULL;
	Datum		result;

	tbf_open(PG_GETARG_DATUM(0), &tbf);
	if (tbf.header.half_life != 0)
		tbf_check_time(at);
	if (!sb_tbf_decays(&tbf.header, at))
		return PG_GETARG_DATUM(0);	/* nothing to do: not even a copy, so an UPDATE need not write it again */

	/* not zeroed, as that would take as long as the decay: all of what is left in the end is written */
	value = MemoryContextAlloc(result_memory(), VARHDRSZ + SB_TBF_HEADER + sb_tbf_decay_room(&tbf.header));
	cells = (unsigned char *) value + VARHDRSZ + SB_TBF_HEADER;
	status = sb_tbf_decay(&tbf.header, tbf.cells, at, &decayed, cells);
	if (status == SB_TOO_LARGE)
		tbf_refuse_size(&decayed);
	if (status != SB_OK)
		value_refuse("tbf", status);
	if (tbf.header.top != 0)
	{
		top = tbf_top_decayed(&tbf, decayed.base);
		tbf_top_plan(top, &decayed);
	}
	result = tbf_fit(value, &decayed, &cells);
	if (top != NULL)
	{
		memset(cells + sb_tbf_counters_size(&decayed), 0, decayed.extra);
		tbf_top_store(top, &decayed, cells);
	}
	return result;
}

SB_FUNCTION_IN_OWN_MEMORY(tbf_merge)
{
	TbfValue	left;
	TbfValue	right;
	TbfSums    *sums;

	tbf_open(PG_GETARG_DATUM(0), &left);
	tbf_open(PG_GETARG_DATUM(1), &right);
	sums = tbf_sums_of(CurrentMemoryContext, &left);
	tbf_sums_add_filter(sums, &right);
	return tbf_sums_store(sums);
}

static Datum
scaled(Datum filter, double weight)
{
	TbfValue	tbf;
	TbfSums    *sums;
	sb_tbf		joined;

	tbf_open(filter, &tbf);
	tbf_join(&tbf.header, &tbf.header, &joined);	/* may it be merged? */
	if (weight == 1)
		return filter;
	sums = tbf_sums_over_cells(CurrentMemoryContext, &tbf.header);
	tbf_sums_add_weighted(sums, &tbf, weight);
	return tbf_sums_store(sums);
}

/* tbf_scale(tbf, weight) */
SB_FUNCTION_IN_OWN_MEMORY(tbf_scale)
{
	return scaled(PG_GETARG_DATUM(0), PG_GETARG_FLOAT8(1));
}

/* tbf_scale(weight, tbf) */
SB_FUNCTION_IN_OWN_MEMORY(tbf_scale_commuted)
{
	return scaled(PG_GETARG_DATUM(1), PG_GETARG_FLOAT8(0));
}
