/*
 * bf_union.c: unites and intersects filters, in functions and aggregates, and makes filters smaller.
 *
 * A union of two filters with lines is made line by line. If one of them is exact, the core's builder makes the union
 * (sb_bf_builder.h). The state of bf_union_agg is a builder in any case.
 */
#include "bf/bf.h"

#include "base/call.h"
#include "base/expanded.h"
#include "base/item.h"
#include "base/memory.h"
#include "base/rate_warning.h"
#include "base/value.h"

/*
 * Raises the warning of rate_warning.h if the rate of a union is more than twice the rate asked for, and higher than
 * the rate of each of the two filters. If `left` and `right` are NULL, the union is not compared with the filters. A
 * sample of the lines is measured first, and all lines only if the rate of the sample is too high. REQUIRES:
 * rate_warning_is_due().
 */
static void
warn_if_too_full(const sb_bf *united, const unsigned char *lines, const BfValue *left, const BfValue *right)
{
	const double highest = highest_rate(united->fpr);
	const double rate = sb_bf_sample_fpr(united, lines, highest);
	sb_bf_stats stats;

	if (likely(rate <= highest))
		return;
	if ((left != NULL && rate <= sb_bf_sample_fpr(&left->header, left->lines, 0)) ||
		(right != NULL && rate <= sb_bf_sample_fpr(&right->header, right->lines, 0)))
		return;
	must_finish(sb_bf_measure(united, lines, &stats));
	if (stats.current_fpr > highest)
		warn_of_rate("bf", "union", stats.current_fpr, united->fpr,
					 "Unite filters that size themselves, as those of bf_agg(item), or give the number of items of the union to each filter, as in bf_agg(item, expected_items).");
}

/* Plans the union or intersection of a and b. Raises an error if their kinds or parameters do not allow it. */
static void
plan_union(const sb_bf *a, const sb_bf *b, const char *action, sb_bf *out)
{
	sb_difference difference;

	item_kinds_must_agree(&a->kind, &b->kind, action);
	if (sb_bf_plan_union(a, b, out, &difference) != SB_OK)
		bf_refuse_difference(action, &difference, a, b);
}

/* ------------------------------------------------------------------ functions */

SB_FUNCTION_IN_OWN_MEMORY(bf_union)
{
	BfValue		left;
	BfValue		right;
	sb_bf		united;
	unsigned char *lines;
	Datum		result;

	bf_open(PG_GETARG_DATUM(0), &left);
	bf_open(PG_GETARG_DATUM(1), &right);
	plan_union(&left.header, &right.header, "unite", &united);
	if (sb_bf_is_exact(&left.header) || sb_bf_is_exact(&right.header))
	{
		sb_bf_builder *builder = bf_builder_begin(CurrentMemoryContext, &left.header);

		bf_builder_add_filter(builder, &left);
		bf_builder_add_filter(builder, &right);
		result = bf_builder_store(builder, &united, &lines);
	}
	else
	{
		result = bf_make(&united, &lines);
		bf_must_read(sb_bf_combine(&united, lines, &left.header, left.lines, false));
		bf_must_read(sb_bf_combine(&united, lines, &right.header, right.lines, false));
	}
	if (rate_warning_is_due())
		warn_if_too_full(&united, lines, &left, &right);
	return result;
}

/* Intersects two filters of which at least one is exact. The result is exact, too. */
static Datum
intersect_exact(const BfValue *left, const BfValue *right)
{
	sb_memory	memory = memory_in(result_memory());
	sb_difference difference;
	sb_bf		header;
	void	   *value;
	sb_status	status = sb_bf_intersect_exact(&left->header, left->lines, &right->header, right->lines, &memory,
											   VARHDRSZ, &header, &value,
											   &difference);

	if (status == SB_DIFFERENT)
		bf_refuse_difference("intersect", &difference, &left->header, &right->header);
	bf_must_read(status);
	SET_VARSIZE(value, VARHDRSZ + sb_bf_size(&header));
	return PointerGetDatum(value);
}

/*
 * Intersects arguments 0 and 1. With `in_place`, argument 0 is the state of an aggregate: a bf value in the
 * aggregate's context, which workers can exchange as it is. The state itself is changed if both filters have lines
 * and its size stays the same; otherwise the result is a new value.
 */
static Datum
intersect_arguments(FunctionCallInfo fcinfo, bool in_place)
{
	BfValue		left;
	BfValue		right;
	sb_bf		both;
	unsigned char *lines;
	Datum		result;

	bf_open(PG_GETARG_DATUM(0), &left);
	bf_open(PG_GETARG_DATUM(1), &right);
	plan_union(&left.header, &right.header, "intersect", &both);
	if (sb_bf_is_exact(&left.header) || sb_bf_is_exact(&right.header))
		return intersect_exact(&left, &right);
	if (in_place && both.line_count == left.header.line_count && is_state_of_aggregate(fcinfo,
																					   left.lines - SB_BF_HEADER))
	{
		result = PG_GETARG_DATUM(0);
		lines = (unsigned char *) left.lines;
		sb_bf_encode_header(&both, lines - SB_BF_HEADER);
	}
	else
	{
		result = bf_make(&both, &lines);
		must_finish(sb_bf_combine(&both, lines, &left.header, left.lines, false));
	}
	must_finish(sb_bf_combine(&both, lines, &right.header, right.lines, true));
	return result;
}

SB_FUNCTION_IN_OWN_MEMORY(bf_intersection)
{
	return intersect_arguments(fcinfo, false);
}

/* The transition and combine function of bf_intersection_agg. */
SB_FUNCTION_IN_OWN_MEMORY(bf_intersection_agg_add)
{
	return intersect_arguments(fcinfo, true);
}

/* ------------------------------------------------------- the aggregate of unions */

/*
 * The state of bf_union_agg has the type bytea, not internal: engines such as Citus split an aggregate over machines
 * only if the type of its state is not a pseudo-type. Inside one process the state is an expanded object with a
 * builder. For another process flatten_state() makes bytes of this builder.
 */
static struct varlena *
flatten_state(void *builder)
{
	sb_memory	memory = memory_in(CurrentMemoryContext);
	void	   *bytes;
	size_t		size;

	must_finish(sb_bf_builder_serialize(builder, &memory, VARHDRSZ, &bytes, &size));
	SET_VARSIZE(bytes, VARHDRSZ + size);
	return bytes;
}

/* Returns the builder of a state. If the state is bytes, the result is a new builder that borrows these bytes. */
static sb_bf_builder *
builder_of_state(Datum state)
{
	ExpandedFilter *filter = expanded_filter(state);
	sb_memory	memory = memory_in(CurrentMemoryContext);
	sb_bf_builder *builder;
	const void *bytes;
	size_t		size;
	sb_status	status;

	if (filter != NULL && filter->flatten == flatten_state)
		return filter->state;
	builder = palloc0(sizeof(sb_bf_builder));
	bytes = value_open(state, &size);
	status = sb_bf_builder_deserialize(builder, &memory, bytes, size);
	if (status == SB_OK && builder->plan.expected_items != 0)
		status = SB_BAD_HEADER;
	if (status != SB_OK)
	{
		raise_if_unfinished(status);
		value_refuse("bf_union_agg", status);
	}
	return builder;
}

/*
 * Returns the state of argument 0 for a change. If argument 0 is NULL, the state is a new one without items, with the
 * parameters of `like`. If argument 0 is bytes, or an object that must not be changed, the state is a new one with the
 * content of the argument.
 */
static ExpandedFilter *
state_to_change(FunctionCallInfo fcinfo, const sb_bf *like)
{
	ExpandedFilter *state = PG_ARGISNULL(0) ? NULL : expanded_filter_to_change(PG_GETARG_DATUM(0));

	if (state != NULL && state->flatten == flatten_state)
		return state;
	state = make_expanded_state(fcinfo, flatten_state);
	if (PG_ARGISNULL(0))
		state->state = bf_builder_begin(state->hdr.eoh_context, like);
	else
	{
		sb_bf_builder *before = builder_of_state(PG_GETARG_DATUM(0));

		state->state = bf_builder_begin(state->hdr.eoh_context, &before->plan);
		must_finish(sb_bf_builder_unite(state->state, before));
	}
	return state;
}

static Datum
changed_state(FunctionCallInfo fcinfo, ExpandedFilter *state)
{
	expanded_filter_changed(state);
	if (!PG_ARGISNULL(0) && expanded_filter_to_change(PG_GETARG_DATUM(0)) == state)
		return PG_GETARG_DATUM(0);
	return EOHPGetRWDatum(&state->hdr);
}

/* bf_union_agg_add(bytea, bf) */
SB_FUNCTION(bf_union_agg_add);
Datum
bf_union_agg_add(PG_FUNCTION_ARGS)
{
	ExpandedFilter *state;
	BfValue		bf;

	if (PG_ARGISNULL(1))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		return PG_GETARG_DATUM(0);
	}
	bf_open(PG_GETARG_DATUM(1), &bf);
	state = state_to_change(fcinfo, &bf.header);
	bf_builder_add_filter(state->state, &bf);
	return changed_state(fcinfo, state);
}

/* bf_union_agg_combine(bytea, bytea) */
SB_FUNCTION(bf_union_agg_combine);
Datum
bf_union_agg_combine(PG_FUNCTION_ARGS)
{
	ExpandedFilter *state;
	sb_bf_builder *other;
	sb_difference difference = {0};
	sb_status	status;

	if (PG_ARGISNULL(1))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		return PG_GETARG_DATUM(0);
	}
	other = builder_of_state(PG_GETARG_DATUM(1));
	state = state_to_change(fcinfo, &other->plan);
	status = sb_bf_builder_unite(state->state, other);
	if (status == SB_DIFFERENT)
	{
		sb_bf_builder *builder = state->state;
		sb_bf		united;

		item_kinds_must_agree(&builder->plan.kind, &other->plan.kind, "unite");
		if (sb_bf_plan_union(&builder->plan, &other->plan, &united, &difference) == SB_OK)
			(void) !sb_bf_plan_union(&builder->filters, &other->filters, &united, &difference);
		bf_refuse_difference("unite", &difference, &builder->plan, &other->plan);
	}
	must_finish(status);
	return changed_state(fcinfo, state);
}

/*
 * bf_union_agg_final(bytea): leaves the state as it is. The warning of a rate that is too high is raised even if one of
 * the united filters had such a rate already, because the state does not know the rates of these filters.
 */
SB_FUNCTION_IN_OWN_MEMORY(bf_union_agg_final)
{
	sb_bf		united;
	unsigned char *lines;
	Datum		result;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	result = bf_builder_store(builder_of_state(PG_GETARG_DATUM(0)), &united, &lines);
	if (rate_warning_is_due())
		warn_if_too_full(&united, lines, NULL, NULL);
	return result;
}

/* -------------------------------------------------------------- smaller filters */

/*
 * Returns a copy of the filter. Its size is halved as long as its number of lines is even, and the rate for the
 * estimated number of items stays at most fpr. REQUIRES: the filter has lines.
 */
static Datum
fold(const BfValue *bf, double fpr)
{
	sb_bf		folded = bf->header;
	double		items;
	unsigned char *lines;
	int			halvings = 0;
	Datum		result;

	must_finish(sb_bf_items(&bf->header, bf->lines, &items));
	for (; folded.line_count % 2 == 0 && sb_blocked_fpr(SB_BF_LINE * 8, folded.hash_count,
														items / (folded.line_count / 2)) <= fpr; halvings++)
		folded.line_count /= 2;
	if (halvings > 0)
	{
		/* The parameters that were asked for no longer describe the folded filter. */
		folded.widened = Max(folded.widened - halvings, 0);
		folded.expected_items = 0;
		folded.fpr = Max(folded.fpr, fpr);
	}
	result = bf_make(&folded, &lines);
	folded = bf->header;
	must_finish(sb_bf_fold(&folded, bf->lines, halvings, lines));
	return result;
}

/*
 * Reads the filter of argument 0 and the rate of argument 1. If argument 1 is NULL, *fpr becomes the filter's own
 * rate.
 */
static void
filter_and_rate(FunctionCallInfo fcinfo, BfValue *bf, double *fpr)
{
	bf_open(PG_GETARG_DATUM(0), bf);
	*fpr = PG_ARGISNULL(1) ? bf->header.fpr : PG_GETARG_FLOAT8(1);
	check_fpr(*fpr);
}

/* bf_fold(bf, fpr): an exact filter stays as it is. */
SB_FUNCTION_IN_OWN_MEMORY(bf_fold)
{
	BfValue		bf;
	unsigned char *lines;
	double		fpr;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	filter_and_rate(fcinfo, &bf, &fpr);
	return sb_bf_is_exact(&bf.header) ? bf_copy(&bf, &lines) : fold(&bf, fpr);
}

/*
 * bf_compact(bf, fpr): turns an exact filter into one with lines, without room for more items; folds a filter with
 * lines
 */
SB_FUNCTION_IN_OWN_MEMORY(bf_compact)
{
	BfValue		bf;
	sb_bf		header;
	unsigned char *lines;
	double		fpr;
	Datum		result;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	filter_and_rate(fcinfo, &bf, &fpr);
	if (!sb_bf_is_exact(&bf.header))
		return fold(&bf, fpr);
	must_finish(sb_bf_plan_compact(&bf.header, fpr, &header));
	result = bf_make(&header, &lines);
	bf_must_read(sb_bf_exact_to_lines(&bf.header, bf.lines, &header, lines));
	return result;
}
