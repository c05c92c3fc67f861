/*
 * bf_agg.c: the aggregate bf_agg.
 *
 * The state of bf_agg is a builder of the core (sb_bf_builder.h) in the aggregate's memory context. This file does
 * the part that concerns PostgreSQL: it reads the arguments, determines the kind of the items and hashes them,
 * returns the value, and raises the errors.
 */
#include "bf/bf.h"

#include "base/call.h"
#include "base/expanded.h"
#include "base/item.h"
#include "base/memory.h"
#include "base/value.h"

/*
 * Room for a value's header precedes the builder's lines, so that a large result can be *lent*: lend_lines() returns a
 * pointer to these lines instead of a copy. A result of fewer than LENT_FROM_BYTES bytes is copied, because the copy
 * takes less time than most readers of a lent value need to follow its pointer.
 */
#define BEFORE_LINES (VARHDRSZ + SB_BF_HEADER)
#define LENT_FROM_BYTES 65536

StaticAssertDecl(BEFORE_LINES <= SB_BF_BEFORE_LINES, "the builder must leave room for the header of a value");

typedef struct BfState
{
	sb_bf_builder builder;
	const ItemHasher *hasher;	/* all items of this hasher are of the filter's kind; NULL: no such hasher is known */
	ItemInteger integer;		/* item_integer() of this hasher */
} BfState;

static BfState *
make_state(MemoryContext context, const sb_bf *plan)
{
	BfState    *state = MemoryContextAllocZero(context, sizeof(BfState));
	sb_memory	memory = memory_in(context);

	must_finish(sb_bf_builder_begin(&state->builder, &memory, plan));
	return state;
}

/* -------------------------------------------------------------------- bf_agg */

/*
 * Plans the filter of a group from the parameters in this row. This is the group's first row with an item, or a row
 * before that: then the item is NULL, the parameters are only checked, and *plan is not set.
 */
static void
plan_group(FunctionCallInfo fcinfo, sb_bf *plan)
{
	bool		self_sized = PG_NARGS() < 3 || PG_ARGISNULL(2);
	double		fpr = PG_NARGS() < 4 || PG_ARGISNULL(3) ? BF_DEFAULT_FPR : PG_GETARG_FLOAT8(3);

	if (!PG_ARGISNULL(1))
	{
		bf_plan(self_sized ? 1 : PG_GETARG_INT64(2), fpr, self_sized, plan);
		return;
	}
	check_fpr(fpr);
	if (!self_sized && PG_GETARG_INT64(2) < 1)
		refuse_expected_items(PG_GETARG_INT64(2));
}

/* bf_agg_add(internal, "any" [, expected_items bigint [, fpr float8]]) */
SB_FUNCTION(bf_agg_add);
Datum
bf_agg_add(PG_FUNCTION_ARGS)
{
	BfState    *state = PG_ARGISNULL(0) ? NULL : (BfState *) PG_GETARG_POINTER(0);
	ItemHasher *hasher;
	uint64_t	hash;

	/* Nearly all rows come here. Nothing is looked up or allocated for them. */
	if (state != NULL && !PG_ARGISNULL(1) && state->hasher != NULL && state->hasher == fcinfo->flinfo->fn_extra)
	{
		Datum		item = PG_GETARG_DATUM(1);

		if (state->integer != ITEM_NO_INTEGER)
			must_finish(sb_bf_builder_add_integer(&state->builder, item_as_integer(state->integer, item)));
		else
			must_finish(sb_bf_builder_add(&state->builder, item_hash(fcinfo->flinfo->fn_extra, item)));
		PG_RETURN_POINTER(state);
	}

	hasher = item_hasher_for_argument(fcinfo, 1);
	if (state == NULL)
	{
		MemoryContext context = aggregate_context(fcinfo);
		sb_bf		plan;

		plan_group(fcinfo, &plan);
		if (PG_ARGISNULL(1))
			PG_RETURN_NULL();
		state = make_state(context, &plan);
	}
	else if (PG_ARGISNULL(1))
		PG_RETURN_POINTER(state);

	hash = item_hash_to_add(hasher, PG_GETARG_DATUM(1), &state->builder.plan.kind);
	if (item_kind_is_settled(hasher, &state->builder.plan.kind))
	{
		state->hasher = hasher;
		state->integer = item_integer(hasher);
	}
	must_finish(sb_bf_builder_add(&state->builder, hash));
	PG_RETURN_POINTER(state);
}

/*
 * Returns a read-only pointer to the builder's own lines. The result of an executor node is valid until the node is
 * called again. Until then no row is added to the state, and its memory context stays. Code that keeps a datum for
 * longer copies it, and a copy of an expanded object is flat. Examples of such code are datumCopy(), the forming of
 * tuples, materialized slots, and a window aggregate that returns one result for several rows.
 */
static Datum
lend_lines(const sb_bf *header, unsigned char *lines)
{
	struct varlena *value = (struct varlena *) (lines - BEFORE_LINES);

	SET_VARSIZE(value, VARHDRSZ + sb_bf_size(header));
	sb_bf_encode_header(header, VARDATA(value));
	return lend_filter(value);
}

/*
 * The state keeps its items, so a window aggregate can add more rows and call this function again. A large result is
 * not a copy, but the builder's own lines, which these rows change. By then nobody reads the result any more
 * (lend_lines()).
 */
SB_FUNCTION(bf_agg_final);
Datum
bf_agg_final(PG_FUNCTION_ARGS)
{
	BfState    *state;
	sb_bf		header;
	unsigned char *lines;
	Datum		result;

	aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (BfState *) PG_GETARG_POINTER(0);
	must_finish(sb_bf_builder_plan(&state->builder, false, &header));
	lines = sb_bf_builder_lines(&state->builder, &header);
	if (lines != NULL && sb_bf_size(&header) >= LENT_FROM_BYTES)
		result = lend_lines(&header, lines);
	else
	{
		result = bf_make(&header, &lines);
		must_finish(sb_bf_builder_write(&state->builder, &header, lines));
	}
	bf_warn_if_full(&header, lines);
	return result;
}

/* ------------------------------------------------------------ parallel workers */

static void
unite(sb_bf_builder *builder, sb_bf_builder *other)
{
	sb_status	status = sb_bf_builder_unite(builder, other);

	if (status == SB_DIFFERENT)
	{
		item_kinds_must_agree(&builder->plan.kind, &other->plan.kind, "unite");
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the parameters of bf_agg() must be the same for all rows of a group"),
				 errhint("Give it constants, or group the rows by what the parameters depend on.")));
	}
	must_finish(status);
}

SB_FUNCTION(bf_agg_combine);
Datum
bf_agg_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	BfState    *state = PG_ARGISNULL(0) ? NULL : (BfState *) PG_GETARG_POINTER(0);
	BfState    *other = PG_ARGISNULL(1) ? NULL : (BfState *) PG_GETARG_POINTER(1);

	if (other == NULL)
	{
		if (state == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(state);
	}
	if (state == NULL)
		state = make_state(context, &other->builder.plan);
	unite(&state->builder, &other->builder);
	PG_RETURN_POINTER(state);
}

SB_FUNCTION(bf_agg_serialize);
Datum
bf_agg_serialize(PG_FUNCTION_ARGS)
{
	BfState    *state = (BfState *) PG_GETARG_POINTER(0);
	sb_memory	memory = memory_in(CurrentMemoryContext);
	void	   *bytes;
	size_t		size;

	aggregate_context(fcinfo);
	must_finish(sb_bf_builder_serialize(&state->builder, &memory, VARHDRSZ, &bytes, &size));
	SET_VARSIZE(bytes, VARHDRSZ + size);
	PG_RETURN_BYTEA_P(bytes);
}

/*
 * The bytes may come from another machine, so the core checks them. The state points into them until it has been
 * combined.
 */
SB_FUNCTION(bf_agg_deserialize);
Datum
bf_agg_deserialize(PG_FUNCTION_ARGS)
{
	sb_memory	memory = memory_in(aggregate_context(fcinfo));
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	BfState    *state = palloc0(sizeof(BfState));
	sb_status	status;

	status = sb_bf_builder_deserialize(&state->builder, &memory, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
	if (status != SB_OK)
		value_refuse("bf_agg", status);
	PG_RETURN_POINTER(state);
}
