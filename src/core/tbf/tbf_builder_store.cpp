/*
 * tbf_builder_store.cpp: the stored filter that a builder's sums make.
 */
#include "tbf/tbf_builder.hpp"
#include "tbf/tbf_sums.hpp"
#include "tbf/tbf_value.hpp"

#include <algorithm>

using namespace streambloom;

/*
 * Sets the size of the stored filter. A filter that sizes itself gets a size for its number of items here. It keeps the largest
 * size there is if its sums are of cells already, or if no filter is large enough.
 */
static void plan_size(const sb_tbf_builder *builder, sb_tbf *plan)
{
	const sb_tbf &wanted = builder->plan;
	*plan = wanted;
	if (!builder->self_sized || builder->form == sums_form::cells)
		return;
	const uint64_t items = std::max<uint64_t>(builder->set.count, 1);
	sb_tbf sized;
	if (sb_tbf_plan(items, wanted.fpr, wanted.half_life, wanted.epoch, true, &sized) != SB_OK)
		return;
	plan->block_count = sized.block_count;
	plan->block_cells = sized.block_cells;
}

/* ------------------------------------------------------- what follows the counters */

/* The bytes that it takes at most. */
static size_t most_extra(const sb_tbf_builder *builder)
{
	if (counts_apart(builder))
		return size_of_recurring(builder);
	size_t bytes = 0;
	if (builder->plan.top != 0)
		bytes = top_section_size + size_t{top_entry_size} * builder->top.count + builder->top.bytes_used;
	return bytes;
}

static void plan_extra(const sb_tbf_builder *builder, sb_tbf *header)
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
	if (header->extra != 0)
		top_write(&builder->top, header->base, out);
	return SB_OK;
}

/* ------------------------------------------------------------------- the whole */

/*
 * Writes the counters to a block with room for the rest. Extensible ones are packed into the usual room at once; memory that they
 * do not need is never touched. Only if that room was too small a first pass finds out how much they need.
 */
static sb_status store_counters(const sb_tbf_builder *builder, const sb_hash_set *set, const sb_tbf *plan, sb_tbf *header,
								value_block *value)
{
	const tbf_sums *sums = &builder->sums;
	const size_t room = usual_room(plan);
	if (plan->layout == SB_TBF_EXTENSIBLE && room < SB_MAX_BYTES)
	{
		sb_status status = value->allocate(room + most_extra(builder));
		if (status != SB_OK)
			return status;
		status = sums_store(sums, set, plan, header, value->cells(), room);
		plan_extra(builder, header);
		if (status == SB_OK && sb_tbf_size(header) > SB_MAX_BYTES)
			return SB_TOO_LARGE;
		if (status != SB_TOO_LARGE)
			return status;
		value->release();
	}
	sb_status status = sums_plan(sums, set, plan, header);
	plan_extra(builder, header);
	if (status == SB_OK && sb_tbf_size(header) > SB_MAX_BYTES)
		status = SB_TOO_LARGE;
	if (status == SB_OK)
		status = value->allocate_zeros(sb_tbf_size(header) - SB_TBF_HEADER);
	return status == SB_OK ? sums_write(sums, set, header, value->cells()) : status;
}

/* The set of items for storing, which needs the order of hashes: if the slots do not have that order, sorted hashes beside it. */
static sb_status sort_items(const sb_tbf_builder *builder, sb_hash_set *set, uint64_t **sorted)
{
	*set = builder->set;
	*sorted = nullptr;
	if (builder->form == sums_form::cells || set->secret[0] == 0)
		return SB_OK;
	sb_status status = allocate_words(builder, std::max<uint64_t>(set->count, 1), sorted);
	if (status == SB_OK)
		status = hash_set_sort(&builder->set, *sorted);
	set->sorted = *sorted;
	return status;
}

sb_status sb_tbf_builder_store(sb_tbf_builder *builder, const sb_memory *to, size_t in_front, sb_tbf *stored, void **value) noexcept
{
	value_block block(to, in_front);
	sb_tbf plan;
	sb_hash_set set;
	uint64_t *sorted = nullptr;
	*value = nullptr;
	sb_status status = sb_tbf_builder_settle(builder);
	if (status == SB_OK)
		status = own_items(builder);
	if (status != SB_OK)
		return status;
	if (builder->plan.top != 0)
		top_purge(&builder->top); /* this costs precision, but the list can still be added to */
	plan_size(builder, &plan);
	*stored = plan;
	status = sort_items(builder, &set, &sorted);
	if (status == SB_OK)
		status = store_counters(builder, builder->form == sums_form::cells ? nullptr : &set, &plan, stored, &block);
	if (status == SB_OK)
		status = write_extra(builder, stored, block.cells() + counters_size(stored));
	release_words(builder, sorted);
	if (status == SB_OK)
		block.hand_over(stored, value);
	return status;
}
