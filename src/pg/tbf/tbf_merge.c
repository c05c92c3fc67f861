/*
 * tbf_merge.c: merges filters, in functions and in the aggregate tbf_merge_agg, and multiplies them by weights.
 */
#include "tbf/tbf.h"

#include "access/parallel.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/call.h"
#include "base/expanded.h"
#include "base/item.h"
#include "base/memory.h"
#include "base/rate_warning.h"
#include "base/times.h"
#include "base/value.h"

/* Raises the error of refuse_difference() for half-lives or epochs, shown as intervals. 0 stands for no decay. */
static void
refuse_different_times(const char *what, int64 left, int64 right)
{
	char	   *texts[2];

	for (int i = 0; i < 2; i++)
	{
		int64		time = i == 0 ? left : right;

		texts[i] = time == 0 ? "none" : DatumGetCString(DirectFunctionCall1(interval_out, interval_of(time)));
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
		refuse_difference("tbf", "merge", &difference, (FilterPlan) {a->expected_items, a->fpr},
						  (FilterPlan) {b->expected_items, b->fpr});
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

void
tbf_warn_if_full(Datum filter)
{
	TbfValue	tbf;
	double		rate;

	if (!rate_warning_is_due())
		return;
	tbf_open(filter, &tbf);
	rate = tbf_sample_rate(&tbf);
	if (rate > highest_rate(tbf.header.fpr))
		warn_of_full("tbf", rate, tbf.header.fpr,
					 "Give the number of items to expect, as in tbf_empty(expected_items), or leave it out: tbf_agg(item, at) sizes its filter by the items.");
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
	tbf_plan_merge(&tbf.header, &tbf.header, &merged);	/* raises an error if the filter cannot be merged */
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

/* --------------------------------------------------------------- tbf_merge_agg */

/*
 * The state of tbf_merge_agg is a value of type bytea. In one process it is an expanded object with a MergeState. For
 * another process it is flattened: first comes rate_before as a double, then the bytes of the builder. Since bytea is
 * no pseudo-type, engines such as Citus can split the aggregate over machines.
 */
typedef struct MergeState
{
	sb_tbf_builder *builder;
	double		rate_before;	/* the highest rate of the filters that were merged */
} MergeState;

static struct varlena *
flatten_state(void *value)
{
	MergeState *state = value;
	bytea	   *bytes = tbf_builder_serialize(state->builder, sizeof state->rate_before);

	memcpy(VARDATA(bytes), &state->rate_before, sizeof state->rate_before);
	return bytes;
}

/* Returns the content of a state, for reading only. */
static MergeState *
open_state(Datum value)
{
	ExpandedFilter *filter = expanded_filter(value);
	MergeState *state;
	bytea	   *bytes;

	if (filter != NULL && filter->flatten == flatten_state)
		return filter->state;
	bytes = DatumGetByteaPP(value);
	if (VARSIZE_ANY_EXHDR(bytes) < sizeof state->rate_before)
		value_refuse("tbf_merge_agg", SB_BAD_LENGTH);
	state = palloc(sizeof(MergeState));
	memcpy(&state->rate_before, VARDATA_ANY(bytes), sizeof state->rate_before);
	state->builder = tbf_builder_deserialize(CurrentMemoryContext, bytes, sizeof state->rate_before);
	return state;
}

static void
unite_states(MergeState *state, const MergeState *other)
{
	tbf_builder_unite(state->builder, other->builder);
	state->rate_before = Max(state->rate_before, other->rate_before);
}

/*
 * Returns the state in argument 0 for a change. If that state cannot be changed in place, returns a new one with its
 * content. If argument 0 is NULL, returns a new state without content: with the parameters of the state `like`, or if
 * `like` is NULL, for merging filters like `first`.
 */
static ExpandedFilter *
state_to_change(FunctionCallInfo fcinfo, const TbfValue *first, const MergeState *like)
{
	ExpandedFilter *target = PG_ARGISNULL(0) ? NULL : expanded_filter_to_change(PG_GETARG_DATUM(0));
	const MergeState *before = PG_ARGISNULL(0) ? NULL : open_state(PG_GETARG_DATUM(0));
	MergeState *state;

	if (target != NULL && target->flatten == flatten_state)
		return target;
	target = make_expanded_state(fcinfo, flatten_state);
	target->state = state = MemoryContextAllocZero(target->hdr.eoh_context, sizeof(MergeState));
	if (before != NULL)
		like = before;
	state->builder = like != NULL ? tbf_builder_like(target->hdr.eoh_context, like->builder) :
		tbf_builder_begin_merge(target->hdr.eoh_context, first);
	if (before != NULL)
		unite_states(state, before);
	return target;
}

static Datum
changed_state(FunctionCallInfo fcinfo, ExpandedFilter *state)
{
	expanded_filter_changed(state);
	if (!PG_ARGISNULL(0) && expanded_filter_to_change(PG_GETARG_DATUM(0)) == state)
		return PG_GETARG_DATUM(0);
	return EOHPGetRWDatum(&state->hdr);
}

static Datum
unchanged_state(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	return PG_GETARG_DATUM(0);
}

/* tbf_merge_agg_add(bytea, tbf [, weight]) */
SB_FUNCTION_IN_OWN_MEMORY(tbf_merge_agg_add)
{
	ExpandedFilter *target;
	MergeState *state;
	TbfValue	tbf;
	double		weight = 1;

	if (PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	if (PG_NARGS() > 2)
	{
		if (PG_ARGISNULL(2))
			tbf_refuse_null("the weight of a filter", "weight");
		weight = PG_GETARG_FLOAT8(2);
	}
	tbf_open(PG_GETARG_DATUM(1), &tbf);
	target = state_to_change(fcinfo, &tbf, NULL);
	state = target->state;
	tbf_builder_add_filter(state->builder, &tbf, weight);
	/*
	 * The leader decides whether to warn of the state that a worker sends. The leader may warn even if this worker
	 * has already raised its warning, so a worker always notes the rate.
	 */
	if (rate_warning_is_due() || IsParallelWorker())
		state->rate_before = Max(state->rate_before, tbf_sample_rate(&tbf));
	return changed_state(fcinfo, target);
}

/* tbf_merge_agg_combine(bytea, bytea) */
SB_FUNCTION_IN_OWN_MEMORY(tbf_merge_agg_combine)
{
	ExpandedFilter *target;
	MergeState *other;

	if (PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	other = open_state(PG_GETARG_DATUM(1));
	target = state_to_change(fcinfo, NULL, other);
	unite_states(target->state, other);
	return changed_state(fcinfo, target);
}

/* tbf_merge_agg_final(bytea): does not change what the state holds, so that a moving window can add more rows to it. */
SB_FUNCTION_IN_OWN_MEMORY(tbf_merge_agg_final)
{
	MergeState *state;
	Datum		filter;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = open_state(PG_GETARG_DATUM(0));
	filter = tbf_builder_store(state->builder);
	tbf_warn_of_rate(filter, state->rate_before);
	return filter;
}
