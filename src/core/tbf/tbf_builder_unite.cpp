/*
 * tbf_builder_unite.cpp: adds stored filters and other builders to a builder. The sums of a builder are sums of items
 * or of cells. The items of another builder may also be kept as a run, that is, as they came, sorted by hash.
 */
#include "base/memory.hpp"
#include "tbf/tbf_builder.hpp"
#include "tbf/tbf_exact.hpp"
#include "tbf/tbf_sums.hpp"

#include <algorithm>
#include <utility>

using namespace streambloom;

/* --------------------------------------------------------- the parameters of both */

static sb_status may_add_up(const sb_tbf *a, const sb_tbf *b, sb_tbf *joined, sb_difference *difference)
{
	if (a->kind.code != SB_KIND_NONE && b->kind.code != SB_KIND_NONE && !sb_kind_equal(&a->kind, &b->kind))
	{
		*difference = {"kind", static_cast<double>(a->kind.code), static_cast<double>(b->kind.code)};
		return SB_DIFFERENT;
	}
	return sb_tbf_plan_merge(a, b, joined, difference);
}

/* Moves the sums to the cells of a larger filter. With any status but SB_OK they are as they were. */
static sb_status widen(sb_tbf_builder *builder, const sb_tbf *larger)
{
	cell_plane *wide[SB_TBF_PLANES] = {};
	tbf_sums *sums = &builder->sums;
	sb_status status = SB_OK;
	for (int i = 0; i < SB_TBF_PLANES && status == SB_OK; i++)
		if (sums->cells[i] != nullptr)
		{
			status = make_cell_plane(&builder->memory, larger, &wide[i]);
			if (status == SB_OK)
			{
				wide[i]->never_few = builder->never_few;
				status = add_cell_plane(wide[i], sums->cells[i]);
			}
		}
	if (status == SB_OK)
	{
		std::swap_ranges(wide, wide + SB_TBF_PLANES, sums->cells);
		sums->width = sb_tbf_cells(larger);
	}
	for (cell_plane *plane : wide)
		release_cell_plane(plane);
	return status;
}

/*
 * Lowers the limit of the builder's list of hot items to `top`. If what is added has no list, `top` is 0, and the
 * builder gives its list up. The smaller one of two limits counts, because a list with a smaller limit has a larger
 * bound of the error.
 */
static void join_list(sb_tbf_builder *builder, uint16_t top)
{
	builder->plan.top = std::min(builder->plan.top, top);
	if (builder->plan.top == 0)
		release_list(&builder->top, &builder->memory);
	builder->top.limit = builder->plan.top;
}

/*
 * Gives a builder the joined parameters of itself and of what is added. It then has as many cells as the larger of the
 * two. There are two exceptions. A builder that collects hits for a filter of a given size takes only the kind and the
 * length of the list of hot items. An exact builder stays exact, without cells.
 */
static sb_status take_plan(sb_tbf_builder *builder, const sb_tbf *joined)
{
	join_list(builder, joined->top);
	if (is_exact(&builder->plan))
	{
		builder->plan = *joined;
		plan_exact(&builder->plan);
		return SB_OK;
	}
	if (builder->form != sums_form::cells)
	{
		builder->plan.kind = joined->kind;
		return SB_OK;
	}
	if (sb_tbf_cells(joined) > builder->sums.width)
		if (sb_status status = widen(builder, joined); status != SB_OK)
			return status;
	builder->plan = *joined;
	return SB_OK;
}

/* ------------------------------------------------------------- stored filters */

/*
 * Adds the counters of a filter and the total in its header, multiplied by a weight, and notes the times in its header.
 * REQUIRES: the builder's sums are of cells, at least as many as the filter has.
 */
static sb_status add_counters(sb_tbf_builder *builder, const sb_tbf *filter, const void *cells,
							  const filter_weight *weight)
{
	int planes;
	const bool any = builder->sums.any;
	const int index = sums_turn_for_weighted(&builder->sums, filter, weight, &planes);
	const sb_status status = make_planes(builder, index, planes, any);
	return status == SB_OK ? sums_add_weighted(&builder->sums, &builder->plan, index, filter, cells, weight) : status;
}

sb_status sb_tbf_builder_of(const sb_memory *memory, const sb_tbf *filter, const void *cells,
							sb_tbf_builder **out) noexcept
{
	constexpr filter_weight one = {1, 0};
	const bool exact = is_exact(filter);
	sb_status status = sb_tbf_builder_begin(memory, filter, exact ? SB_TBF_SUMS_OF_ITEMS : SB_TBF_SUMS_OF_CELLS, exact,
											out);
	if (status != SB_OK)
		return status;
	sb_tbf_builder *builder = *out;
	status = exact ? add_exact_filter(builder, filter, cells, &one) : add_counters(builder, filter, cells, &one);
	if (status == SB_OK)
		status = add_stored_list(&builder->top, memory, filter, cells);
	if (status == SB_OK && counts_apart(builder))
		status = read_recurring(builder, filter, static_cast<const unsigned char *>(cells));
	return ended_if_failed(status, out);
}

/*
 * Adds a filter with cells to a builder that sizes itself and whose sums are of items. Such filters are added up in a
 * builder of their own, builder->filters. The number of cells of the result is known only when all items are there;
 * until then the items cannot be added to cells.
 */
static sb_status add_apart(sb_tbf_builder *builder, const sb_tbf *filter, const void *cells, double weight,
						   sb_difference *difference)
{
	if (builder->filters == nullptr)
	{
		sb_tbf plan = *filter;
		plan.top = 0; /* the list of hot items stays in `builder` */
		sb_status status = sb_tbf_builder_begin(&builder->memory, &plan, SB_TBF_SUMS_OF_CELLS, false,
												&builder->filters);
		if (status != SB_OK)
			return status;
	}
	return sb_tbf_builder_add_filter(builder->filters, filter, cells, weight, difference);
}

sb_status sb_tbf_builder_add_filter(sb_tbf_builder *builder, const sb_tbf *filter, const void *cells, double weight,
									sb_difference *difference) noexcept
{
	sb_tbf joined;
	filter_weight factor;
	*difference = {};
	sb_status status = sb_tbf_builder_settle(builder);
	if (status == SB_OK)
		status = may_add_up(&builder->plan, filter, &joined, difference);
	if (status == SB_OK)
		status = make_filter_weight(weight, &factor);
	if (status == SB_OK)
		status = own_items(builder);
	if (status == SB_OK && builder->form == sums_form::items && !builder->self_sized)
		status = items_to_cells(builder, filter);
	const bool apart = builder->form == sums_form::items && !is_exact(filter);
	if (status == SB_OK && apart)
		status = add_apart(builder, filter, cells, weight, difference);
	if (status == SB_OK)
		status = take_plan(builder, &joined);
	if (status == SB_OK && !apart)
		status = is_exact(filter) ? add_exact_filter(builder, filter, cells, &factor) :
									add_counters(builder, filter, cells, &factor);
	if (status == SB_OK && joined.top != 0)
		status = add_weighted_list(&builder->top, &builder->memory, filter, cells, weight);
	return status;
}

/* ------------------------------------------------------------- other builders */

/*
 * Returns whether two builders collect hits for the same filter. Either both size themselves, or neither does. If the
 * filter has a given size, and at least one of the builders has sums of items, both must have the same number of cells
 * and hashes, half-life and epoch. If both have sums of cells, they may differ in size, as stored filters may. The
 * caller compares the parameters by may_add_up() in any case.
 */
static bool of_one_filter(const sb_tbf_builder *a, const sb_tbf_builder *b)
{
	if (a->self_sized != b->self_sized)
		return false;
	if (a->self_sized || (a->form == sums_form::cells && b->form == sums_form::cells))
		return true;
	return a->plan.hash_count == b->plan.hash_count && a->plan.half_life == b->plan.half_life &&
		   a->plan.epoch == b->plan.epoch && sb_tbf_cells(&a->plan) == sb_tbf_cells(&b->plan);
}

sb_status streambloom::unite_cells(sb_tbf_builder *builder, const sb_tbf_builder *other)
{
	sb_status status = SB_OK;
	for (int i = 0; i < SB_TBF_PLANES && status == SB_OK; i++)
	{
		const int index = has_plane(other, i) ? sums_matching_plane(&builder->sums, &other->sums, i) : -1;
		if (index < 0)
			continue;
		status = make_plane(builder, index);
		if (status == SB_OK)
			status = add_cell_plane(builder->sums.cells[index], other->sums.cells[i]);
	}
	return status;
}

/* Gives the builder the joined parameters of itself and `other`, but with a list of hot items of length `top`. */
static sb_status take_plan_of(sb_tbf_builder *builder, const sb_tbf *other, uint16_t top, sb_difference *difference)
{
	sb_tbf joined;
	sb_status status = may_add_up(&builder->plan, other, &joined, difference);
	if (status != SB_OK)
		return status;
	joined.top = top;
	return take_plan(builder, &joined);
}

/*
 * Turns sums of items into sums of cells. There are as many cells as `other` has; or, if filters with cells were added
 * to the builder before (builder->filters), as many as the larger of the two.
 */
static sb_status follow_to_cells(sb_tbf_builder *builder, const sb_tbf_builder *other, sb_difference *difference)
{
	sb_tbf joined;
	if (builder->filters == nullptr)
		return items_to_cells(builder, &other->plan);
	const sb_status status = may_add_up(&builder->filters->plan, &other->plan, &joined, difference);
	return status == SB_OK ? items_to_cells(builder, &joined) : status;
}

/*
 * Brings the builder to a form and to parameters in which `other` can be added to it. *keeps becomes true if the items
 * of `other` can be kept as a run.
 */
static sb_status prepare_for(sb_tbf_builder *builder, const sb_tbf_builder *other, uint16_t top, bool *keeps,
							 sb_difference *difference)
{
	sb_status status = may_keep_run_of(builder, other, keeps);
	if (status == SB_OK)
		status = *keeps ? set_to_run(builder) : own_items(builder);
	if (status == SB_OK && other->form == sums_form::cells && builder->form == sums_form::items)
		status = follow_to_cells(builder, other, difference);
	if (status == SB_OK)
		status = take_plan_of(builder, &other->plan, top, difference);
	if (status == SB_OK && builder->form == sums_form::cells && other->filters != nullptr)
		status = take_plan_of(builder, &other->filters->plan, top, difference);
	return status;
}

/* Adds other->filters. */
static sb_status unite_filters(sb_tbf_builder *builder, sb_tbf_builder *other, sb_difference *difference)
{
	if (other->filters == nullptr)
		return SB_OK;
	if (builder->form == sums_form::cells)
	{
		sums_combine_notes(&builder->sums, &other->filters->sums);
		return unite_cells(builder, other->filters);
	}
	if (builder->filters == nullptr)
		if (sb_status status = sb_tbf_builder_like(&builder->memory, other->filters, &builder->filters);
			status != SB_OK)
			return status;
	return sb_tbf_builder_unite(builder->filters, other->filters, difference);
}

sb_status sb_tbf_builder_unite(sb_tbf_builder *builder, sb_tbf_builder *other, sb_difference *difference) noexcept
{
	sb_tbf joined;
	bool keeps = false;
	*difference = {};
	if (!of_one_filter(builder, other))
		return SB_DIFFERENT;
	sb_status status = may_add_up(&builder->plan, &other->plan, &joined, difference);
	if (status == SB_OK)
		status = sb_tbf_builder_settle(builder);
	if (status == SB_OK)
		status = sb_tbf_builder_settle(other);
	if (status == SB_OK && other->runs.number > 1)
		status = own_items(other); /* each item is read once, so that make_room_for() counts right */
	if (status == SB_OK)
		status = prepare_for(builder, other, joined.top, &keeps, difference);
	if (status == SB_OK)
		status = unite_filters(builder, other, difference);
	if (status != SB_OK)
		return status;
	sums_combine_notes(&builder->sums, &other->sums);
	if (keeps)
		status = keep_run_of(builder, other);
	else
		status = other->form == sums_form::cells ? unite_cells(builder, other) : unite_items(builder, other);
	return status == SB_OK && joined.top != 0 ? unite_lists(&builder->top, &builder->memory, &other->top) : status;
}
