/*
 * tbf_add.c: makes empty filters, changes the layout of a filter, adds hits to stored filters, and removes hits. The
 * aggregates are in tbf_agg.c.
 */
#include "tbf/tbf.h"

#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/call.h"
#include "base/elements.h"
#include "base/expanded.h"
#include "base/item.h"
#include "base/memory.h"
#include "base/own_types.h"
#include "base/value.h"

static const Interval *
interval_argument(FunctionCallInfo fcinfo, int argno)
{
	return PG_ARGISNULL(argno) ? NULL : PG_GETARG_INTERVAL_P(argno);
}

static uint8_t
layout_argument(FunctionCallInfo fcinfo, int argno)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(argno));

	if (strcmp(name, "extensible") == 0)
		return SB_TBF_EXTENSIBLE;
	if (strcmp(name, "flat") == 0)
		return SB_TBF_FLAT;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("there is no layout \"%s\"", short_text(name)),
			 errhint("Layouts are \"extensible\" (small counters take few bits) and \"flat\" (all counters take as many as the largest).")));
	pg_unreachable();
}

/* Returns the number of entries of a list of hot items, an argument of tbf_empty(). */
static uint16_t
top_argument(int32 top)
{
	if (top >= 0 && top <= SB_TBF_MAX_TOP)
		return (uint16_t) top;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("number of hot items %d is out of range", top),
			 errdetail("It must lie between 0 (no list) and %d.", SB_TBF_MAX_TOP),
			 errhint("A list of c items holds every item that has more than 1 / (c + 1) of the hits.")));
	pg_unreachable();
}

/* tbf_empty(expected_items, fpr, half_life, epoch, layout, minimum_increase, recurring_minimum, top) */
SB_FUNCTION(tbf_empty);
Datum
tbf_empty(PG_FUNCTION_ARGS)
{
	sb_tbf		header;
	unsigned char *cells;
	int64		half_life;

	bool		self_sized = PG_ARGISNULL(0);

	if (PG_ARGISNULL(1) || PG_ARGISNULL(4) || PG_ARGISNULL(5) || PG_ARGISNULL(6) || PG_ARGISNULL(7))
		PG_RETURN_NULL();
	half_life = tbf_half_life(interval_argument(fcinfo, 2));
	tbf_plan(self_sized ? 0 : PG_GETARG_INT64(0), PG_GETARG_FLOAT8(1), half_life,
			 tbf_epoch(interval_argument(fcinfo, 3), half_life), self_sized, &header);
	header.layout = layout_argument(fcinfo, 4);
	if (self_sized && (PG_GETARG_BOOL(5) || PG_GETARG_BOOL(6)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s needs a number of items", PG_GETARG_BOOL(5) ? "minimum increase" : "recurring minimum"),
				 errdetail("Its counters depend on the order of the hits, so the filter needs them from the first hit on and cannot size itself."),
				 errhint("Give expected_items, as in tbf_empty(100000, minimum_increase => true).")));
	if (PG_GETARG_BOOL(5))
		header.flags |= SB_TBF_MINIMUM_INCREASE;
	if (PG_GETARG_BOOL(6))
	{
		const char *other = half_life != 0 ? "with a half-life" : PG_GETARG_BOOL(5) ? "with minimum increase" :
			PG_GETARG_INT32(7) != 0 ? "with a list of hot items" : NULL;

		if (other != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("recurring minimum cannot be combined %s", other),
					 errhint("Write tbf_empty(half_life => NULL, recurring_minimum => true), or use minimum_increase, which can decay.")));
		header.flags |= SB_TBF_RECURRING_MINIMUM;
	}
	header.top = top_argument(PG_GETARG_INT32(7));
	return tbf_make(&header, &cells);
}

/* tbf_layout(tbf, layout) */
SB_FUNCTION_IN_OWN_MEMORY(tbf_layout)
{
	uint8_t		layout = layout_argument(fcinfo, 1);
	sb_memory	memory = memory_in(result_memory());
	TbfValue	tbf;
	sb_tbf		header;
	void	   *value;

	tbf_open(PG_GETARG_DATUM(0), &tbf);
	tbf_must(sb_tbf_set_layout(&tbf.header, tbf.cells, layout, &memory, VARHDRSZ, &header, &value), &header);
	return value == NULL ? PG_GETARG_DATUM(0) : tbf_fit(value, &header);
}

/*
 * Sets *moment from the hit's time, which is argument `argno`. In a filter with a half-life, raises an error if the
 * time is out of range, or later than argument argno + 2, not_after (NULL: a day after the transaction began). A filter
 * without a half-life ignores times.
 */
static void
moment_of_hit(FunctionCallInfo fcinfo, const sb_tbf *tbf, int argno, sb_moment *moment)
{
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(argno);

	if (tbf->half_life != 0)
	{
		tbf_check_time(at);
		tbf_check_not_after(at, PG_ARGISNULL(argno + 2) ? tbf_default_not_after() : PG_GETARG_TIMESTAMPTZ(argno + 2));
	}
	sb_tbf_moment(tbf->half_life, tbf->epoch, at, moment);
}

static bool
any_argument_is_null(FunctionCallInfo fcinfo, int count)
{
	for (int i = 0; i < count; i++)
		if (PG_ARGISNULL(i))
			return true;
	return false;
}

#if FILTERS_EXPAND
static struct varlena *
flatten_builder(void *builder)
{
	Datum		stored = tbf_builder_store(builder);

	tbf_warn_if_full(stored);
	return (struct varlena *) DatumGetPointer(stored);
}
#endif

/*
 * Opens the filter that is going to be changed. If it is the expanded object of a variable, only the parameters are
 * read and tbf->cells is NULL, because the object already has a builder.
 */
static void
open_to_change(Datum value, TbfValue *tbf)
{
#if FILTERS_EXPAND
	ExpandedFilter *target = expanded_filter_to_change(value);

	if (target != NULL)
	{
		tbf->header = *sb_tbf_builder_parameters(target->state);
		tbf->cells = NULL;
		return;
	}
#endif
	tbf_open(value, tbf);
}

/*
 * Returns a builder with the content of `tbf`, the filter in argument 0. The caller adds a hit of the value `hit` for
 * each of the elements that is not NULL (if `elements` is NULL, one hit), and then passes the builder to
 * changed_filter(). If argument 0 is a variable that is changed in place (expanded.h), *target becomes the variable's
 * expanded object, to which the builder belongs. Otherwise *target is NULL, and the builder is a new one.
 *
 * If the total of a variable's filter would overflow with these hits, the function raises the error before they are
 * added. A filter with such a total could not be stored, so the content of the variable would be lost.
 */
static sb_tbf_builder *
builder_to_change(FunctionCallInfo fcinfo, const TbfValue *tbf, const sb_moment *moment, uint64_t hit,
				  const Elements *elements, ExpandedFilter **target)
{
	*target = NULL;
#if FILTERS_EXPAND
	*target = expanded_filter_to_change(PG_GETARG_DATUM(0));
	if (*target == NULL && adds_to_variable(fcinfo))
	{
		*target = make_expanded_filter(flatten_builder);
		MemoryContext caller = MemoryContextSwitchTo((*target)->hdr.eoh_context);

		(*target)->state = tbf_builder_of(CurrentMemoryContext, tbf);
		MemoryContextSwitchTo(caller);
	}
	if (*target != NULL)
	{
		int			hits = elements == NULL ? 1 : items_left(elements);

		tbf_builder_must(sb_tbf_builder_check_total((*target)->state, moment, hit, hits));
		return (*target)->state;
	}
#endif
	return tbf_builder_of(CurrentMemoryContext, tbf);
}

static Datum
changed_filter(sb_tbf_builder *builder, ExpandedFilter *target)
{
	Datum		stored;

#if FILTERS_EXPAND
	if (target != NULL)
	{
		/*
		 * The builder may have kept the hits pending; they are added now. So if a counter overflows, this call raises
		 * the error, not a later one, and the hits of earlier calls are not lost.
		 */
		tbf_builder_must(sb_tbf_builder_settle(builder));
		expanded_filter_changed(target);
		return EOHPGetRWDatum(&target->hdr);
	}
#endif
	stored = tbf_builder_store(builder);
	tbf_warn_if_full(stored);
	return stored;
}

/* tbf_add(tbf, "any", at, weight, not_after): NULL if any argument except not_after is NULL */
SB_FUNCTION_IN_OWN_MEMORY(tbf_add)
{
	ItemHasher *hasher;
	TbfValue	tbf;
	sb_tbf_builder *builder;
	sb_tbf	   *plan;
	ExpandedFilter *target;
	sb_moment	moment;
	uint64_t	hash;
	uint64_t	hit;

	if (any_argument_is_null(fcinfo, 4))
		PG_RETURN_NULL();
	hasher = item_hasher_for_argument(fcinfo, 1);
	open_to_change(PG_GETARG_DATUM(0), &tbf);
	hash = item_hash_to_add(hasher, PG_GETARG_DATUM(1), &tbf.header.kind);
	moment_of_hit(fcinfo, &tbf.header, 2, &moment);
	hit = tbf_hit(&moment, PG_GETARG_FLOAT8(3));
	builder = builder_to_change(fcinfo, &tbf, &moment, hit, NULL, &target);
	plan = sb_tbf_builder_parameters(builder);
	if (plan->kind.code == SB_KIND_NONE)
		plan->kind = tbf.header.kind;
	tbf_builder_add_hit(builder, plan, hasher, PG_GETARG_DATUM(1), hash, &moment, hit, PG_GETARG_FLOAT8(3));
	return changed_filter(builder, target);
}

/* tbf_add_all(tbf, items anyarray, at, weight, not_after): NULL elements are skipped */
SB_FUNCTION_IN_OWN_MEMORY(tbf_add_all)
{
	TbfValue	tbf;
	sb_tbf_builder *builder;
	const sb_tbf *plan;
	ExpandedFilter *target;
	sb_moment	moment;
	uint64_t	hit;
	Elements	elements;
	Datum		item;

	if (any_argument_is_null(fcinfo, 4))
		PG_RETURN_NULL();
	elements_open(&elements, fcinfo, 1, SB_LOOKUP_TBF);
	open_to_change(PG_GETARG_DATUM(0), &tbf);
	moment_of_hit(fcinfo, &tbf.header, 2, &moment);
	hit = tbf_hit(&moment, PG_GETARG_FLOAT8(3));

	/* All hits are summed up and then rounded once, even if items are repeated. */
	builder = builder_to_change(fcinfo, &tbf, &moment, hit, &elements, &target);
	plan = sb_tbf_builder_parameters(builder);
	while (next_item(&elements, &item))
	{
		uint64_t	hash = tbf_builder_hash(builder, plan, elements.hasher, item);

		tbf_builder_add_hit(builder, plan, elements.hasher, item, hash, &moment, hit, PG_GETARG_FLOAT8(3));
	}
	return changed_filter(builder, target);
}

/* tbf || anything: without this operator PostgreSQL would append a string to the text of the filter. */
SB_FUNCTION(tbf_add_operator);
Datum
tbf_add_operator(PG_FUNCTION_ARGS)
{
	refuse_filter_as_item(get_fn_expr_argtype(fcinfo->flinfo, 1));
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("the operator || cannot add an item to a tbf"),
			 errdetail("A hit of a tbf needs a time and a weight, too."),
			 errhint("Use tbf_add(filter, item, at, weight). To merge two filters use +.")));
	PG_RETURN_NULL();
}

/* The reason why hits cannot be removed from this filter; NULL if they can. */
static const char *
why_not_remove(const sb_tbf *tbf)
{
	if ((tbf->flags & SB_TBF_MINIMUM_INCREASE) != 0)
		return "With minimum increase a hit is not part of all the item's counters.";
	if ((tbf->flags & SB_TBF_RECURRING_MINIMUM) != 0)
		return "With recurring minimum it is not known which hits are in the item's count.";
	if (tbf->top != 0)
		return "Its list of hot items does not record which hits it has dropped.";
	if (sb_tbf_slack(tbf) != 0)
		return "Decay has dropped a part of its hits, and it is not known of which items.";
	return NULL;
}

/* tbf_remove(tbf, "any" [, at, weight]) */
SB_FUNCTION_IN_OWN_MEMORY(tbf_remove)
{
	ItemHasher *hasher = item_hasher_for_argument(fcinfo, 1);
	TimestampTz at = tbf_time_argument(fcinfo, 2);
	double		weight = PG_NARGS() > 3 ? PG_GETARG_FLOAT8(3) : 1;
	TbfValue	tbf;
	sb_moment	moment;
	uint64_t	hash;
	uint64_t	hit;
	sb_memory	memory = memory_in(result_memory());
	sb_tbf		header;
	void	   *value;
	double		most;
	sb_status	status;
	const char *reason;

	tbf_open(PG_GETARG_DATUM(0), &tbf);
	hash = item_hash_for(hasher, PG_GETARG_DATUM(1), &tbf.header.kind);
	reason = why_not_remove(&tbf.header);
	if (reason != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("hits cannot be removed from this tbf"),
				 errdetail("%s So other items might be undercounted.", reason),
				 errhint("Build the filter anew without those hits, or keep one filter for each part of the stream and merge those that you need.")));
	if (tbf.header.half_life != 0)
		tbf_check_time(at);
	sb_tbf_moment(tbf.header.half_life, tbf.header.epoch, at, &moment);
	hit = tbf_hit(&moment, weight);
	if (hit == 0)
		return PG_GETARG_DATUM(0);
	if ((tbf.header.flags & SB_TBF_HAS_HITS) != 0 && moment.epoch_start > tbf.header.newest)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("the item has no hit at \"%s\" that could be removed", timestamptz_to_str(at)),
				 errdetail("The time lies after the epoch of the filter's newest hit."),
				 errhint("Give the time at which the hit was added.")));
	status = sb_tbf_remove(&tbf.header, tbf.cells, hash, &moment, hit, &memory, VARHDRSZ, &header, &value, &most);
	if (status == SB_OUT_OF_RANGE)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("cannot remove %.15g hits of an item that has at most %.15g", weight, most),
				 tbf.header.half_life == 0 ? 0 : errdetail("Both numbers are those at the time \"%s\".", timestamptz_to_str(at)),
				 errhint("Remove only what was added, with the same time and weight.")));
	tbf_must(status, &header);
	return tbf_fit(value, &header);
}
