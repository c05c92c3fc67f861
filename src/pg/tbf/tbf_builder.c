/*
 * tbf_builder.c: the core's sb_tbf_builder in PostgreSQL's memory. The functions raise errors instead of returning
 * statuses.
 */
#include "tbf/tbf.h"

#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "base/call.h"
#include "base/item.h"
#include "base/memory.h"
#include "base/value.h"

void
tbf_builder_must(sb_status status)
{
	if (likely(status == SB_OK))
		return;
	raise_if_unfinished(status);
	if (status == SB_OVERFLOW)
		tbf_refuse_overflow();
	if (status == SB_TOTAL_OVERFLOW)
		tbf_refuse_total();
	value_refuse("tbf", status);
}

sb_tbf_builder *
tbf_builder_begin(MemoryContext context, const sb_tbf *plan, sb_tbf_sums_of sums_of, bool self_sized)
{
	sb_memory	memory = memory_in(context);
	sb_tbf_builder *builder;

	tbf_builder_must(sb_tbf_builder_begin(&memory, plan, sums_of, self_sized, &builder));
	return builder;
}

sb_tbf_builder *
tbf_builder_begin_merge(MemoryContext context, const TbfValue *first)
{
	return tbf_builder_begin(context, &first->header, SB_TBF_SUMS_OF_ITEMS, true);
}

sb_tbf_builder *
tbf_builder_like(MemoryContext context, const sb_tbf_builder *other)
{
	sb_memory	memory = memory_in(context);
	sb_tbf_builder *builder;

	tbf_builder_must(sb_tbf_builder_like(&memory, other, &builder));
	return builder;
}

sb_tbf_builder *
tbf_builder_of(MemoryContext context, const TbfValue *filter)
{
	sb_memory	memory = memory_in(context);
	sb_tbf_builder *builder;

	tbf_builder_must(sb_tbf_builder_of(&memory, &filter->header, filter->cells, &builder));
	return builder;
}

/* ------------------------------------------------------------------- adding */

uint64_t
tbf_builder_hash(sb_tbf_builder *builder, const sb_tbf *plan, ItemHasher *hasher, Datum item)
{
	sb_kind		kind = plan->kind;
	uint64_t	hash = item_hash_to_add(hasher, item, &kind);

	if (plan->kind.code == SB_KIND_NONE)
		sb_tbf_builder_parameters(builder)->kind = kind;
	return hash;
}

void
tbf_builder_add_hot_hit(sb_tbf_builder *builder, ItemHasher *hasher, Datum item, uint64_t hash,
						const sb_moment *moment, double weight)
{
	char	   *text;
	int			length;

	if (!sb_tbf_builder_add_hot_hit(builder, hash, moment, weight))
		return;

	/* Only the beginning of a long item is stored, for display. Items are told apart by their hashes. */
	text = item_text(hasher, item);
	length = strlen(text);
	if (length > SB_TOP_MAX_ITEM)
		length = pg_mbcliplen(text, length, SB_TOP_MAX_ITEM);
	tbf_builder_must(sb_tbf_builder_name_hot_item(builder, text, length));
	pfree(text);
}

static void
refuse_weight(double weight)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("weight %g is out of range", weight),
			 errdetail("The weight of a filter must be finite, not negative, and less than 2^33."),
			 errhint("Weights by age come from the decay functions: decay_exponential() and the like.")));
}

/* Raises the error for two filters that cannot be merged. */
static void
refuse_different(const sb_tbf *plan, const sb_tbf *other, const sb_difference *difference)
{
	sb_tbf		merged;

	if (difference->parameter == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the parameters of tbf_agg() must be the same for all rows of a group"),
				 errhint("Give it constants, or group the rows by what the parameters depend on.")));
	/* the parameters of a builder that merges filters do not say how many cells it has */
	if (strcmp(difference->parameter, "cells") == 0)
		refuse_difference("tbf", "merge", difference, (FilterPlan) {plan->expected_items, plan->fpr},
						  (FilterPlan) {other->expected_items, other->fpr});
	tbf_plan_merge(plan, other, &merged);
	elog(ERROR, "filters differ in their %s", difference->parameter);
}

void
tbf_builder_add_filter(sb_tbf_builder *builder, const TbfValue *filter, double weight)
{
	sb_difference difference;
	sb_status	status = sb_tbf_builder_add_filter(builder, &filter->header, filter->cells, weight, &difference);

	if (status == SB_DIFFERENT)
		refuse_different(sb_tbf_builder_parameters(builder), &filter->header, &difference);
	if (status == SB_OUT_OF_RANGE)
		refuse_weight(weight);
	tbf_builder_must(status);
}

void
tbf_builder_unite(sb_tbf_builder *builder, sb_tbf_builder *other)
{
	sb_difference difference;
	sb_status	status = sb_tbf_builder_unite(builder, other, &difference);

	if (status == SB_DIFFERENT)
		refuse_different(sb_tbf_builder_parameters(builder), sb_tbf_builder_parameters(other), &difference);
	tbf_builder_must(status);
}

/* ------------------------------------------------------------------ results */

Datum
tbf_builder_store(sb_tbf_builder *builder)
{
	sb_memory	memory = memory_in(result_memory());
	sb_tbf		stored;
	void	   *value;

	tbf_must(sb_tbf_builder_store(builder, &memory, VARHDRSZ, &stored, &value), &stored);
	return tbf_fit(value, &stored);
}

bytea *
tbf_builder_serialize(sb_tbf_builder *builder, size_t in_front)
{
	sb_memory	memory = memory_in(CurrentMemoryContext);
	void	   *bytes;
	size_t		size;
	sb_status	status = sb_tbf_builder_serialize(builder, &memory, VARHDRSZ + in_front, MaxAllocSize, &bytes, &size);

	if (status == SB_TOO_LARGE)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("state of tbf_agg() with %zu bytes is too large to be sent from one process to another", size),
				 errhint("Run the query in one process: SET max_parallel_workers_per_gather = 0.")));
	tbf_builder_must(status);
	SET_VARSIZE(bytes, VARHDRSZ + in_front + size);
	return bytes;
}

sb_tbf_builder *
tbf_builder_deserialize(MemoryContext context, bytea *bytes, size_t in_front)
{
	sb_memory	memory = memory_in(context);
	sb_tbf_builder *builder;
	sb_status	status = sb_tbf_builder_deserialize(&memory, VARDATA_ANY(bytes) + in_front,
													VARSIZE_ANY_EXHDR(bytes) - in_front, &builder);

	raise_if_unfinished(status);
	if (status != SB_OK)
		value_refuse("tbf_agg", status);
	return builder;
}
