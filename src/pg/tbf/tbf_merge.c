/*
 * tbf_merge.c: merges filters, and multiplies them by weights.
 */
#include "tbf/tbf.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/call.h"
#include "base/item.h"
#include "base/memory.h"
#include "base/rate_warning.h"
#include "base/value.h"

/* The same as refuse_difference(), for times, which are shown as intervals. 0 stands for no decay. */
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
tbf_plan_merge(const sb_tbf *a, const sb_tbf *b, sb_tbf *out)
{
	sb_difference difference;

	item_kinds_must_agree(&a->kind, &b->kind, "merge");
	if (((a->flags | b->flags) & SB_TBF_RECURRING_MINIMUM) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot merge tbf filters with recurring minimum"),
				 errdetail("Each filter counts some items in a table. In the counters of the other filter, the hits of these items cannot be told from those of other items."),
				 errhint("Filters with minimum increase can be merged.")));
	if (a->half_life != b->half_life)
		refuse_different_times("half-lives", a->half_life, b->half_life);
	if (a->epoch != b->epoch)
		refuse_different_times("epochs", a->epoch, b->epoch);
	if (sb_tbf_plan_merge(a, b, out, &difference) != SB_OK)
		refuse_difference("tbf", "merge", &difference);
}

double
tbf_sample_rate(const TbfValue *filter)
{
	sb_tbf_stats stats;

	if (tbf_is_exact(&filter->header))
		return 0;
	tbf_measure(filter, 16, &stats);
	return stats.current_fpr;
}

void
tbf_warn_of_rate(Datum merged, double rate_before)
{
	TbfValue	tbf;
	double		rate;

	if (!rate_warning_is_due())
		return;
	tbf_open(merged, &tbf);
	rate = tbf_sample_rate(&tbf);
	if (rate > highest_rate(tbf.header.fpr) && rate > rate_before)
		warn_of_rate("tbf", "merge", rate, tbf.header.fpr,
					 "Give all of the filters the number of items that they have together: tbf_agg(item, at, half_life, weight, expected_items, fpr), or merge filters that size themselves.");
}

SB_FUNCTION_IN_OWN_MEMORY(tbf_merge)
{
	TbfValue	left;
	TbfValue	right;
	sb_tbf_builder *builder;
	Datum		merged;

	tbf_open(PG_GETARG_DATUM(0), &left);
	tbf_open(PG_GETARG_DATUM(1), &right);
	builder = tbf_builder_begin_merge(CurrentMemoryContext, &left);
	tbf_builder_add_filter(builder, &left, 1);
	tbf_builder_add_filter(builder, &right, 1);
	merged = tbf_builder_store(builder);
	if (rate_warning_is_due())
		tbf_warn_of_rate(merged, Max(tbf_sample_rate(&left), tbf_sample_rate(&right)));
	return merged;
}

static Datum
scaled(Datum filter, double weight)
{
	TbfValue	tbf;
	sb_tbf_builder *builder;
	sb_tbf		merged;

	tbf_open(filter, &tbf);
	tbf_plan_merge(&tbf.header, &tbf.header, &merged);	/* raises an error if it cannot be merged */
	if (weight == 1)
		return filter;
	builder = tbf_builder_begin_merge(CurrentMemoryContext, &tbf);
	tbf_builder_add_filter(builder, &tbf, weight);
	return tbf_builder_store(builder);
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
