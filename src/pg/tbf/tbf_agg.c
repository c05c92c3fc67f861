/*
 * tbf_agg.c: the aggregates that make a tbf from rows: SELECT tbf_agg(url, at) FROM access_log. A tbf counts how often
 * each item came, where old hits count less (core/tbf/sb_tbf.h begins with what that is). Each row is one *hit*: an
 * item, its time, and perhaps a weight.
 *
 * There are three aggregates, which differ in where the filter's parameters come from. All call add_row() for each
 * row; struct Arguments says which argument is where.
 *
 *  - tbf_agg takes half-life, number of items, rate and epoch as arguments. Without a number of items the filter sizes
 *    itself.
 *  - tbf_agg_like takes an empty filter, tbf_empty(...), that has the parameters.
 *  - tbf_agg_in_order does the same, for filters whose counters depend on the order of the hits (minimum increase and
 *    recurring minimum, Cohen and Matias 2003). It has no combine function, so it is never parallel.
 *
 * The parameters of a group are those of its first row with an item. Rows whose item is NULL are skipped; a group
 * without any item gives NULL. A NULL weight is an error, and so is a NULL time if the filter decays, since leaving
 * out a hit silently would make counts too low.
 *
 * The state is a builder of the core (core/tbf/sb_tbf_builder.h) in the memory context of the aggregate, with some
 * numbers that make the next row cheap. The builder keeps exact sums, and rounds only when the filter is stored. So
 * the result has the same bytes in whatever order the rows come, and however they are split over parallel workers.
 * (There are two exceptions: the filters of tbf_agg_in_order, and the list of hot items that a filter may keep.)
 * PostgreSQL calls, for a group:
 *
 *   tbf_agg_add()         for each row: the time becomes a *moment* (the start of its epoch), the item a hash; the
 *                         other two aggregates have tbf_agg_like_add() and tbf_agg_in_order_add()
 *   tbf_agg_serialize()   in a worker: the builder as bytes for the leader
 *   tbf_agg_combine()     in the leader, with what tbf_agg_deserialize() has made of these bytes
 *   tbf_agg_final()       stores the filter; the state stays, so that a moving window can add more rows
 *
 * tbf_builder.c calls the builder and turns its statuses into errors. sql/install/20-tbf.sql and 23-tbf-order.sql
 * declare the aggregates, docs/tbf.md explains them to users. tbf_merge_agg, which adds up stored filters, is in
 * tbf_merge.c.
 */
#include "tbf/tbf.h"

#include "utils/timestamp.h"

#include "base/item.h"
#include "base/value.h"

/* The state of a group. */
typedef struct TbfAggState
{
	sb_tbf_builder *builder;
	const sb_tbf *plan;			/* sb_tbf_builder_parameters() of the builder */
	TimestampTz not_after;
	const ItemHasher *hasher;	/* all items of this hasher are of the filter's kind; NULL: no such hasher is known */

	/*
	 * The moment of the last row. All rows of one epoch have the same moment, and most rows come in the order of time.
	 * So a new moment is seldom computed.
	 */
	sb_moment	moment;
	int64		epoch_end;		/* the end of the moment's epoch; PG_INT64_MIN: there was no row yet */
	uint64_t	hit_of_one;		/* tbf_hit() of weight 1 at this moment */
} TbfAggState;

static TbfAggState *
make_state(MemoryContext context, sb_tbf_builder *builder)
{
	TbfAggState *state = MemoryContextAllocZero(context, sizeof(TbfAggState));

	state->builder = builder;
	state->plan = sb_tbf_builder_parameters(builder);
	state->epoch_end = PG_INT64_MIN;
	return state;
}

/* -------------------------------------------------------------------- tbf_agg */

/* The numbers of the transition function's arguments. 0: this aggregate has no such argument. */
typedef struct Arguments
{
	int			weight;
	int			half_life;
	int			expected_items;
	int			fpr;
	int			epoch;
	int			not_after;
	int			like;			/* an empty filter with all parameters except not_after */
	bool		in_order;		/* all rows come to one process, in their order */
} Arguments;

static bool
given(FunctionCallInfo fcinfo, int argno)
{
	return argno != 0 && argno < PG_NARGS() && !PG_ARGISNULL(argno);
}

/* The latest time that a hit may have. A later hit raises an error. */
static TimestampTz
not_after(FunctionCallInfo fcinfo, const Arguments *arguments)
{
	return given(fcinfo, arguments->not_after) ? PG_GETARG_TIMESTAMPTZ(arguments->not_after) : tbf_default_not_after();
}

/* Begins a group whose parameters are those of an empty filter. */
static TbfAggState *
begin_like(FunctionCallInfo fcinfo, MemoryContext context, const Arguments *arguments)
{
	int			argno = arguments->like;
	TbfAggState *state;
	TbfValue	like;

	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the filter with the parameters of the aggregate must not be null"),
				 errhint("Give tbf_empty() with the parameters that you want, or use tbf_agg(), which does not take a filter.")));
	tbf_open(PG_GETARG_DATUM(argno), &like);
	if ((like.header.flags & SB_TBF_HAS_HITS) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the filter with the parameters of the aggregate must be empty"),
				 errhint("Give tbf_empty() with the parameters that you want. To merge filters, use + or tbf_merge_agg().")));
	if (!arguments->in_order && (like.header.flags & SB_TBF_OPTIONS) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("tbf_agg_like() cannot build a filter with %s",
						(like.header.flags & SB_TBF_MINIMUM_INCREASE) != 0 ? "minimum increase" : "recurring minimum"),
				 errdetail("Its counters depend on the order of the rows, which tbf_agg_like() does not keep."),
				 errhint("Use tbf_agg_in_order(item, at, filter, weight ORDER BY at).")));
	state = make_state(context, tbf_builder_begin(context, &like.header, SB_TBF_SUMS_OF_ITEMS,
												  tbf_is_exact(&like.header)));
	state->not_after = not_after(fcinfo, arguments);
	return state;
}

/* Begins a group. Its parameters are those of its first row with an item. */
static TbfAggState *
begin(FunctionCallInfo fcinfo, MemoryContext context, const Arguments *arguments)
{
	bool		self_sized = !given(fcinfo, arguments->expected_items);
	double		fpr = given(fcinfo, arguments->fpr) ? PG_GETARG_FLOAT8(arguments->fpr) : TBF_DEFAULT_FPR;
	int64		half_life = TBF_DEFAULT_HALF_LIFE;
	TbfAggState *state;
	sb_tbf		plan;

	if (arguments->like != 0)
		return begin_like(fcinfo, context, arguments);

	/*
	 * A half-life that is given as NULL means no decay. If the argument is missing, the half-life is the default one.
	 */
	if (arguments->half_life != 0 && arguments->half_life < PG_NARGS())
		half_life = tbf_half_life(PG_ARGISNULL(arguments->half_life) ? NULL :
								  PG_GETARG_INTERVAL_P(arguments->half_life));
	tbf_plan(self_sized ? 0 : PG_GETARG_INT64(arguments->expected_items), fpr, half_life,
			 tbf_epoch(given(fcinfo, arguments->epoch) ? PG_GETARG_INTERVAL_P(arguments->epoch) : NULL, half_life),
			 self_sized, &plan);
	state = make_state(context, tbf_builder_begin(context, &plan, SB_TBF_SUMS_OF_ITEMS, self_sized));
	state->not_after = not_after(fcinfo, arguments);
	return state;
}

/* Sets state->moment, epoch_end and hit_of_one for a hit at this time. They serve all hits of the same epoch. */
static void
set_moment(TbfAggState *state, TimestampTz at)
{
	const sb_tbf *plan = state->plan;

	tbf_check_time(at);
	sb_tbf_moment(plan->half_life, plan->epoch, at, &state->moment);
	state->epoch_end = state->moment.epoch_start + plan->epoch;
	state->hit_of_one = tbf_hit(&state->moment, 1);
}

void
tbf_refuse_null(const char *what, const char *filter)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("%s must not be null", what),
			 errdetail("If such rows were left out silently, counts would be too small."),
			 errhint("Leave them out with FILTER (WHERE %s IS NOT NULL), or give them a value with coalesce().", filter)));
}

/*
 * The transition function of all three aggregates: adds the hit of one row to the state in argument 0, and returns the
 * state. Argument 1 is the item, argument 2 its time. If the state is NULL, the group has had no item yet.
 */
static Datum
add_row(FunctionCallInfo fcinfo, const Arguments *arguments)
{
	MemoryContext context = aggregate_context(fcinfo);
	TbfAggState *state = PG_ARGISNULL(0) ? NULL : (TbfAggState *) PG_GETARG_POINTER(0);
	ItemHasher *hasher = item_hasher_for_argument(fcinfo, 1);
	uint64_t	hash;
	double		weight = 1;

	if (PG_ARGISNULL(1))
	{
		if (state == NULL)
		{
			(void) begin(fcinfo, CurrentMemoryContext, arguments);	/* only raises errors for the parameters */
			PG_RETURN_NULL();
		}
		PG_RETURN_POINTER(state);
	}
	if (state == NULL)
		state = begin(fcinfo, context, arguments);

	if (state->plan->half_life != 0)
	{
		TimestampTz at;

		if (PG_ARGISNULL(2))
			tbf_refuse_null("the time of a hit", "at");
		at = PG_GETARG_TIMESTAMPTZ(2);
		tbf_check_not_after(at, state->not_after);
		if (at >= state->epoch_end || at < state->moment.epoch_start)
			set_moment(state, at);
	}
	else if (state->epoch_end == PG_INT64_MIN)
	{
		set_moment(state, 0);
		state->epoch_end = 0;
	}

	if (state->hasher == hasher)
		hash = item_hash(hasher, PG_GETARG_DATUM(1));
	else
	{
		hash = tbf_builder_hash(state->builder, state->plan, hasher, PG_GETARG_DATUM(1));
		if (item_kind_is_settled(hasher, &state->plan->kind))
			state->hasher = hasher;
	}
	if (arguments->weight != 0 && arguments->weight < PG_NARGS())
	{
		if (PG_ARGISNULL(arguments->weight))
			tbf_refuse_null("the weight of a hit", "weight");
		weight = PG_GETARG_FLOAT8(arguments->weight);
	}
	tbf_builder_add_hit(state->builder, state->plan, hasher, PG_GETARG_DATUM(1), hash, &state->moment,
						weight == 1 ? state->hit_of_one : tbf_hit(&state->moment, weight), weight);
	PG_RETURN_POINTER(state);
}

/* (internal, "any", at [, half_life [, weight [, expected_items, fpr [, epoch, not_after]]]]) */
SB_FUNCTION(tbf_agg_add);
Datum
tbf_agg_add(PG_FUNCTION_ARGS)
{
	static const Arguments arguments = {.half_life = 3, .weight = 4, .expected_items = 5, .fpr = 6, .epoch = 7,
										.not_after = 8};

	return add_row(fcinfo, &arguments);
}

/* (internal, "any", at, tbf [, weight [, not_after]]) */
SB_FUNCTION(tbf_agg_like_add);
Datum
tbf_agg_like_add(PG_FUNCTION_ARGS)
{
	static const Arguments arguments = {.like = 3, .weight = 4, .not_after = 5};

	return add_row(fcinfo, &arguments);
}

/* (internal, "any", at, tbf [, weight [, not_after]]); has no combine function */
SB_FUNCTION(tbf_agg_in_order_add);
Datum
tbf_agg_in_order_add(PG_FUNCTION_ARGS)
{
	static const Arguments arguments = {.like = 3, .weight = 4, .not_after = 5, .in_order = true};

	return add_row(fcinfo, &arguments);
}

/* --------------------------------------------------------------------- results */

/* Does not change what the state holds, so that a moving window can add more rows to it. */
SB_FUNCTION(tbf_agg_final);
Datum
tbf_agg_final(PG_FUNCTION_ARGS)
{
	Datum		filter;

	aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	filter = tbf_builder_store(((TbfAggState *) PG_GETARG_POINTER(0))->builder);
	tbf_warn_if_full(filter);
	return filter;
}

/* Adds the hits of the second state, mostly one that a worker has sent, to the first one. Each of them may be NULL. */
SB_FUNCTION(tbf_agg_combine);
Datum
tbf_agg_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	TbfAggState *state = PG_ARGISNULL(0) ? NULL : (TbfAggState *) PG_GETARG_POINTER(0);
	TbfAggState *other;

	if (PG_ARGISNULL(1))
	{
		if (state == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(state);
	}
	other = (TbfAggState *) PG_GETARG_POINTER(1);
	if (state == NULL)
		state = make_state(context, tbf_builder_like(context, other->builder));
	tbf_builder_unite(state->builder, other->builder);
	PG_RETURN_POINTER(state);
}

SB_FUNCTION(tbf_agg_serialize);
Datum
tbf_agg_serialize(PG_FUNCTION_ARGS)
{
	aggregate_context(fcinfo);
	PG_RETURN_BYTEA_P(tbf_builder_serialize(((TbfAggState *) PG_GETARG_POINTER(0))->builder, 0));
}

SB_FUNCTION(tbf_agg_deserialize);
Datum
tbf_agg_deserialize(PG_FUNCTION_ARGS)
{
	aggregate_context(fcinfo);

	/* The state is only combined with another one, and is freed with the per-tuple context. */
	PG_RETURN_POINTER(make_state(CurrentMemoryContext, tbf_builder_deserialize(CurrentMemoryContext,
																			   PG_GETARG_BYTEA_PP(0), 0)));
}
