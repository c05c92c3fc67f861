/*
 * tbf_builder_store.cpp: makes a stored filter from a builder's sums. They are sums of cells, or of items: those of
 * items are in a set, or in runs, which have the items of one process each, sorted by hash. store_as_cells() makes a
 * stored filter with cells from an exact one, by way of a builder.
 */
#include "tbf/tbf_builder.hpp"
#include "tbf/tbf_exact.hpp"
#include "tbf/tbf_sums.hpp"
#include "tbf/tbf_value.hpp"

#include <algorithm>

using namespace streambloom;

/*
 * A merged filter is likely to be merged again. So if it is no longer exact, it gets cells for this many times its
 * items.
 */
constexpr uint64_t room_of_merged = 4;

/*
 * Sets *plan to the plan of the stored filter with cells. If the builder's plan has cells already, it stays as it is.
 * Otherwise the filter sizes itself and its sums are of items: it gets the size for its number of items, or for
 * room_of_merged times as many if filters were merged. If no filter is large enough for them, it has the largest
 * possible size.
 */
static void plan_size(const sb_tbf_builder *builder, sb_tbf *plan)
{
	*plan = builder->plan;
	if (!is_exact(plan))
		return;
	const uint64_t items = std::max<uint64_t>(count_items(builder), 1) * (builder->sums.merged ? room_of_merged : 1);
	sb_tbf sized;
	if (sb_tbf_plan(items, plan->fpr, plan->half_life, plan->epoch, true, &sized) != SB_OK)
		sized = largest_filter();
	plan_cells(plan, &sized);
}

/* ------------------------------------------------------- what follows the counters */

/* Returns an upper bound of the bytes that follow the counters. */
static size_t most_extra(const sb_tbf_builder *builder)
{
	if (counts_apart(builder))
		return size_of_recurring(builder);
	size_t bytes = 0;
	if (builder->plan.top != 0)
		bytes = top_section_size + size_t{top_entry_size} * builder->top.count + builder->top.bytes_used;
	return bytes;
}

void streambloom::plan_extra(const sb_tbf_builder *builder, sb_tbf *header)
{
	if (counts_apart(builder))
		header->extra = size_of_recurring(builder);
	if (builder->plan.top != 0 && (header->flags & SB_TBF_HAS_HITS) != 0)
		header->extra = top_size(&builder->top, header->base);
}

static sb_status write_extra(const sb_tbf_builder *builder, const sb_tbf *header, unsigned char *out)
{
	if (counts_apart(builder))
		return write_recurring(builder, out);
	if (header->extra == 0)
		return SB_OK;
	top_section section;
	top_write(&builder->top, header->base, out);
	/* A list that came from another process may have more hits than the total: top_open() checks that. */
	return top_open(out, header->extra, builder->plan.top, header->total, &section);
}

/* ------------------------------------------------------------------- the whole */

/* Returns a number of bytes that the counters usually do not exceed. */
static uint64_t usual_bytes(const sb_tbf_builder *builder, const sb_tbf *plan)
{
	if (builder->form != sums_form::cells)
		return count_items(builder) * plan->block_cells;
	uint64_t bytes = 0;
	for (const cell_plane *plane : builder->sums.cells)
		bytes += plane != nullptr ? usual_bytes(plane) : 0;
	return bytes;
}

/*
 * Writes the counters to a new block, which also has room for what follows the counters. Extensible counters are packed
 * in one pass into usual_room() bytes; memory that they do not need is never touched. If this room is too small, or
 * larger than a value may be, two passes are made instead: the first calculates how much room the counters need, and
 * the second writes them. Flat counters always take these two passes.
 */
static sb_status store_counters(const sb_tbf_builder *builder, const items_of_sums &items, const sb_tbf *plan,
								sb_tbf *header, value_block *value)
{
	const tbf_sums *sums = &builder->sums;
	const size_t room = usual_room(plan, usual_bytes(builder, plan));
	if (plan->layout == SB_TBF_EXTENSIBLE && room < SB_MAX_BYTES)
	{
		sb_status status = value->allocate(room + most_extra(builder));
		if (status != SB_OK)
			return status;
		status = sums_store(sums, items, plan, header, value->cells(), room);
		plan_extra(builder, header);
		if (status == SB_OK && sb_tbf_size(header) > SB_MAX_BYTES)
			return SB_TOO_LARGE;
		if (status != SB_TOO_LARGE)
			return status;
		value->release();
	}
	sb_status status = sums_plan(sums, items, plan, header);
	plan_extra(builder, header);
	if (status == SB_OK && sb_tbf_size(header) > SB_MAX_BYTES)
		status = SB_TOO_LARGE;
	if (status == SB_OK)
		status = value->allocate_zeros(sb_tbf_size(header) - SB_TBF_HEADER);
	return status == SB_OK ? sums_write(sums, items, header, value->cells()) : status;
}

/*
 * Copies builder->set to *set, to be read in the order of hashes. If the set uses the secret (sb_set_secret()), its
 * slots are not in that order. Then *sorted is a new array with the sorted hashes, to which set->sorted points; the
 * caller releases it. Otherwise *sorted is NULL.
 */
static sb_status sort_items(const sb_tbf_builder *builder, sb_hash_set *set, uint64_t **sorted)
{
	*set = builder->set;
	*sorted = nullptr;
	if (builder->form != sums_form::items || set->secret[0] == 0)
		return SB_OK;
	sb_status status = allocate_words(builder, std::max<uint64_t>(set->count, 1), sorted);
	if (status == SB_OK)
		status = hash_set_sort(&builder->set, *sorted);
	set->sorted = *sorted;
	return status;
}

static sb_status store_runs(const sb_tbf_builder *builder, const sb_tbf *plan, value_block *value, sb_tbf *stored)
{
	runs_by_range runs;
	sb_status status = runs.begin(&builder->memory, builder->runs.first, builder->sums.newest_plane);
	if (status == SB_OK)
		status = store_counters(builder, &runs, plan, stored, value);
	runs.end();
	return status;
}

static sb_status store_cells(const sb_tbf_builder *builder, value_block *value, sb_tbf *stored)
{
	sb_tbf plan;
	sb_hash_set set;
	uint64_t *sorted;
	plan_size(builder, &plan);
	*stored = plan;
	if (builder->form == sums_form::runs)
		return store_runs(builder, &plan, value, stored);
	sb_status status = sort_items(builder, &set, &sorted);
	if (status == SB_OK)
		status = store_counters(builder, builder->form == sums_form::cells ? nullptr : &set, &plan, stored, value);
	release_words(builder, sorted);
	return status;
}

/* ---------------------------------------------------------- filters with cells, and items */

sb_tbf streambloom::sized_by_both(const sb_tbf *filters, const sb_tbf *for_items)
{
	sb_tbf sized = *filters;
	sb_tbf united;
	sb_difference difference;
	if (filters->expected_items != 0)
		return *filters;
	plan_cells(&sized, for_items);
	return sb_tbf_plan_merge(filters, &sized, &united, &difference) == SB_OK ? united : *filters;
}

/* Begins a builder whose sums are of cells, for the items and for builder->filters. */
static sb_status begin_for_both(const sb_tbf_builder *builder, sb_tbf_builder **out)
{
	sb_tbf for_items;
	plan_size(builder, &for_items);
	const sb_tbf plan = sized_by_both(&builder->filters->plan, &for_items);
	return sb_tbf_builder_begin(&builder->memory, &plan, SB_TBF_SUMS_OF_CELLS, false, out);
}

/*
 * Adds the items and builder->filters to a new builder, *both. The caller releases *both unless it is NULL, even after
 * an error.
 */
static sb_status add_up_both(sb_tbf_builder *builder, sb_tbf_builder **both)
{
	sb_difference difference;
	sb_status status = begin_for_both(builder, both);
	if (status == SB_OK)
		status = sb_tbf_builder_unite(*both, builder->filters, &difference);
	if (status != SB_OK)
		return status;

	/*
	 * The items are added without minimum increase: with it, the cells would depend on the order of the items in the
	 * set.
	 */
	const uint16_t flags = (*both)->plan.flags;
	(*both)->plan.flags &= static_cast<uint16_t>(~SB_TBF_MINIMUM_INCREASE);
	sums_combine_notes(&(*both)->sums, &builder->sums);
	status = unite_items(*both, builder);
	(*both)->plan.flags = flags;
	return status;
}

/* Stores `cells`, the sums of cells, with the list of hot items and all parameters of `builder` but the size. */
static sb_status store_filters(const sb_tbf_builder *builder, const sb_tbf_builder *cells, value_block *value,
							   sb_tbf *stored)
{
	sb_tbf_builder whole = *cells;
	whole.top = builder->top;
	whole.plan.top = builder->plan.top;
	whole.plan.kind = builder->plan.kind;
	whole.plan.layout = builder->plan.layout;
	whole.plan.fpr = builder->plan.fpr;
	whole.plan.flags |= builder->plan.flags & SB_TBF_MINIMUM_INCREASE;
	return store_cells(&whole, value, stored);
}

static sb_status store_both(sb_tbf_builder *builder, value_block *value, sb_tbf *stored)
{
	if (builder->set.count == 0 && !builder->sums.any)
		return store_filters(builder, builder->filters, value, stored);
	sb_tbf_builder *both;
	sb_status status = add_up_both(builder, &both);
	if (status == SB_OK)
		status = store_filters(builder, both, value, stored);
	if (both != nullptr)
		sb_tbf_builder_release(both);
	return status;
}

/*
 * Moves items from runs to a set if a set is needed. An exact filter and minimum increase need each item once. If there
 * are builder->filters, add_up_both() reads the items from a set. Otherwise the counters are added up from the runs.
 */
static sb_status own_items_to_store(sb_tbf_builder *builder)
{
	if (builder->form != sums_form::runs)
		return SB_OK;
	if (sb_status status = count_different_items(builder); status != SB_OK)
		return status;
	const bool exact = is_exact(&builder->plan) && builder->runs.different <= SB_TBF_EXACT_ITEMS;
	return exact || raises(builder) || builder->filters != nullptr ? own_items(builder) : SB_OK;
}

sb_status sb_tbf_builder_store(sb_tbf_builder *builder, const sb_memory *to, size_t in_front, sb_tbf *stored,
							   void **value) noexcept
{
	value_block block(to, in_front);
	*value = nullptr;
	sb_status status = sb_tbf_builder_settle(builder);
	if (status == SB_OK)
		status = own_items_to_store(builder);
	if (status != SB_OK)
		return status;
	if (builder->plan.top != 0)
		top_purge(&builder->top); /* at most `limit` entries are stored; items can still be added afterwards */
	if (builder->filters != nullptr)
		status = store_both(builder, &block, stored);
	else if (is_exact(&builder->plan) && count_items(builder) <= SB_TBF_EXACT_ITEMS)
		status = store_exact(builder, &block, stored);
	else
		status = store_cells(builder, &block, stored);
	if (status == SB_OK)
		status = write_extra(builder, stored, block.cells() + counters_size(stored));
	if (status == SB_OK)
		block.hand_over(stored, value);
	return status;
}

sb_status streambloom::store_as_cells(const sb_tbf *filter, const void *cells, uint8_t layout, const sb_memory *to,
									  size_t in_front, sb_tbf *out, void **value)
{
	sb_tbf_builder *builder;
	sb_status status = sb_tbf_builder_of(to, filter, cells, &builder);
	if (status != SB_OK)
		return status;
	value_block block(to, in_front);
	builder->plan.layout = layout;
	status = store_cells(builder, &block, out);
	if (status == SB_OK)
		status = write_extra(builder, out, block.cells() + counters_size(out));
	if (status == SB_OK)
		block.hand_over(out, value);
	sb_tbf_builder_release(builder);
	return status;
}
