/* tbf_builder_unite.cpp: adds stored filters and other builders to a builder. */
#include "tbf/tbf_builder.hpp"

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
 * Gives a builder the joined parameters of itself and of what is added. A builder without items then has as many cells
 * as the larger of the two. A builder that collects hits for a filter of a given size takes only the kind and the
 * length of the list of hot items. An exact builder stays exact.
 */
static sb_status take_plan(sb_tbf_builder *builder, const sb_tbf *joined)
{
	if (!has_items(&builder->sums))
		if (sb_status status = reshape(builder, joined, false); status != SB_OK)
			return status;
	join_list(builder, joined->top);
	if (has_items(&builder->sums) && !builder->self_sized)
	{
		builder->plan.kind = joined->kind;
		return SB_OK;
	}
	builder->plan = *joined;
	if (has_items(&builder->sums))
		plan_exact(&builder->plan);
	return SB_OK;
}

/*
 * Prepares a builder for cells of this shape to be added: its own get as many, if they are fewer. The number of cells
 * of the result is known only when all items are there, so a builder that has items keeps its cells beside them.
 */
static sb_status join_cells(sb_tbf_builder *builder, const sb_tbf *cells, sb_difference *difference)
{
	const bool items = has_items(&builder->sums);
	const sb_tbf *own = items ? &builder->shape : &builder->plan;
	sb_tbf joined = *cells;
	if (own->block_count != 0)
		if (sb_status status = sb_tbf_plan_merge(own, cells, &joined, difference); status != SB_OK)
			return status;
	clear_hits(&joined);
	if (items)
		return reshape(builder, &joined, false);
	joined.top = builder->plan.top;
	return take_plan(builder, &joined);
}

/* ------------------------------------------------------------- stored filters */

/*
 * Adds the counters of a filter and the total in its header, multiplied by a weight, and notes the times in its header.
 * REQUIRES: the builder's sums of cells have at least as many cells as the filter.
 */
static sb_status add_counters(sb_tbf_builder *builder, const sb_tbf *filter, const void *cells,
							  const filter_weight *weight)
{
	tbf_sums *sums = &builder->sums;
	int planes;
	const bool any = sums->any;
	const int index = sums_turn_for_weighted(sums, filter, weight, &planes);
	const sb_status status = make_planes(builder, index, planes, any, true);
	return status == SB_OK ? sums_add_weighted(sums, &builder->shape, index, filter, cells, weight) : status;
}

sb_status sb_tbf_builder_of(const sb_memory *memory, const sb_tbf *filter, const void *cells,
							sb_tbf_builder **out) noexcept
{
	constexpr filter_weight one = {1, 0};
	const bool exact = is_exact(filter);
	sb_status status = sb_tbf_builder_begin(memory, filter, SB_TBF_SUMS_OF_CELLS, false, out);
	if (status != SB_OK)
		return status;
	sb_tbf_builder *builder = *out;
	status = exact ? add_exact_filter(builder, filter, cells, &one) : add_counters(builder, filter, cells, &one);
	if (status == SB_OK)
		status = add_stored_list(&builder->top, memory, filter, cells);
	if (status == SB_OK)
		status = read_recurring(builder, filter, cells);
	return ended_if_failed(status, out);
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
	if (status == SB_OK && has_items(&builder->sums) && !builder->self_sized)
		status = items_to_cells(builder, filter);
	if (status == SB_OK && !is_exact(filter))
		status = join_cells(builder, filter, difference);
	if (status == SB_OK)
		status = take_plan(builder, &joined);
	if (status == SB_OK)
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
	if (a->self_sized || (!has_items(&a->sums) && !has_items(&b->sums)))
		return true;
	return a->plan.hash_count == b->plan.hash_count && a->plan.half_life == b->plan.half_life &&
		   a->plan.epoch == b->plan.epoch && sb_tbf_cells(&a->plan) == sb_tbf_cells(&b->plan);
}

/* Brings the builder to a form and to parameters in which `other` can be added to it. */
static sb_status prepare_for(sb_tbf_builder *builder, const sb_tbf_builder *other, uint16_t top,
							 sb_difference *difference)
{
	sb_tbf joined;
	sb_status status = SB_OK;
	if (other->shape.block_count != 0)
	{
		const bool follows = has_items(&builder->sums) && !has_items(&other->sums);
		if (has_items(&builder->sums) && builder->self_sized)
			status = join_cells(builder, &other->shape, difference);
		if (status == SB_OK && follows)
			status = items_to_cells(builder, &builder->shape);
		else if (status == SB_OK && !has_items(&builder->sums))
			status = join_cells(builder, &other->shape, difference);
	}
	if (status == SB_OK)
		status = may_add_up(&builder->plan, &other->plan, &joined, difference);
	joined.top = top;
	return status == SB_OK ? take_plan(builder, &joined) : status;
}

sb_status sb_tbf_builder_unite(sb_tbf_builder *builder, sb_tbf_builder *other, sb_difference *difference) noexcept
{
	sb_tbf joined;
	*difference = {};
	if (!of_one_filter(builder, other))
		return SB_DIFFERENT;
	sb_status status = may_add_up(&builder->plan, &other->plan, &joined, difference);
	if (status == SB_OK)
		status = sb_tbf_builder_settle(builder);
	if (status == SB_OK)
		status = sb_tbf_builder_settle(other);
	if (status == SB_OK)
		status = prepare_for(builder, other, joined.top, difference);
	if (status != SB_OK)
		return status;
	sums_combine_notes(&builder->sums, &other->sums);
	for (int i = 0; i < SB_TBF_PLANES && status == SB_OK; i++)
	{
		const cell_plane *from = other->sums.planes[i].cells;
		const int index = from != nullptr ? sums_matching_plane(&builder->sums, &other->sums, i) : -1;
		if (index >= 0)
			status = make_cells(builder, index);
		if (index >= 0 && status == SB_OK)
			status = add_cell_plane(builder->sums.planes[index].cells, from);
	}
	if (status == SB_OK && has_items(&other->sums))
		status = unite_items(builder, &other->sums);
	return status == SB_OK && joined.top != 0 ? unite_lists(&builder->top, &builder->memory, &other->top) : status;
}
