/* tbf_builder_exact.cpp: adds exact filters to a builder, and stores a builder as an exact filter. */
#include "base/memory.hpp"
#include "base/stop.hpp"
#include "tbf/tbf_builder.hpp"
#include "tbf/tbf_exact.hpp"
#include "tbf/tbf_value.hpp"

using namespace streambloom;

/* ------------------------------------------------------------------------ in */

/*
 * Makes room in the builder's set for the items of an exact filter, before any of them is inserted. make_room_for() in
 * tbf_builder_items.cpp says why, and why items that the set already has are not counted. They are only looked for if
 * the set would have to grow. With a weight of 0 no item is inserted.
 */
static sb_status make_room_for_exact(sb_tbf_builder *builder, const sb_tbf *filter, const void *cells,
									 const filter_weight *weight)
{
	if (builder->form != sums_form::items || weight->factor == 0 ||
		hash_set_capacity_for(builder->set.count + filter->item_count + 1) <= builder->set.capacity)
		return SB_OK;
	if (builder->set.count == 0)
		return grow_to(builder, uint64_t{filter->item_count} + 1);
	exact_reader reader(filter, cells);
	uint64_t missing;
	if (sb_status status = count_missing(&builder->set, &reader, &missing); status != SB_OK)
		return status;
	return reader.status() == SB_OK ? grow_to(builder, builder->set.count + missing + 1) : reader.status();
}

/*
 * Adds some items. A count may be split into parts, one for each plane. (A plane has the sums of 16 half-lives, see
 * tbf_sums.hpp.) Parts that are too old for the planes that are kept are dropped.
 */
static sb_status add_some(sb_tbf_builder *builder, const weighted_items *items, size_t count)
{
	bool inserted = false;
	if (builder->form == sums_form::items)
		if (sb_status status = grow_if_needed(builder); status != SB_OK)
			return status;
	for (int j = 0; j < items->parts(); j++)
	{
		const int index = items->plane_of_part(j);
		if (index < 0)
			continue;
		if (sb_status status = add_words(builder, index, items->hashes(), items->words(j), count); status != SB_OK)
			return status;
		inserted = true;
	}

	/* insert the items even if all their hits were dropped: the filter's size depends on the number of items */
	if (builder->form == sums_form::items && !inserted)
		(void) hash_set_insert_many(&builder->set, items->hashes(), count);
	return SB_OK;
}

sb_status streambloom::add_exact_filter(sb_tbf_builder *builder, const sb_tbf *filter, const void *cells,
										const filter_weight *weight)
{
	sb_status status = make_room_for_exact(builder, filter, cells, weight);
	if (status != SB_OK)
		return status;
	int planes;
	const bool any = builder->sums.any;
	const int index = sums_turn_for_weighted(&builder->sums, filter, weight, &planes);
	status = make_planes(builder, index, planes, any);
	if (status != SB_OK)
		return status;
	weighted_items items(&builder->sums, index, filter, cells, weight);
	size_t count = 0;
	do
	{
		status = stop_wanted() ? SB_INTERRUPTED : items.next(&count);
		if (status == SB_OK && count != 0)
			status = add_some(builder, &items, count);
	} while (status == SB_OK && count != 0);
	items.note_losses();
	return status;
}

/* ----------------------------------------------------------------------- out */

sb_status streambloom::store_exact(const sb_tbf_builder *builder, value_block *value, sb_tbf *stored)
{
	const sb_memory &memory = builder->memory;
	const size_t room = static_cast<size_t>(std::max<uint64_t>(builder->set.count, 1)) * sizeof(exact_item);
	auto *items = static_cast<exact_item *>(memory.allocate(memory.context, room));
	if (items == nullptr)
		return SB_NO_MEMORY;
	uint32_t count = 0;
	sb_status status = sums_plan_exact(&builder->sums, &builder->set, &builder->plan, stored);
	if (status == SB_OK)
		status = sums_list_items(&builder->sums, &builder->set, stored, items, &count);
	if (status == SB_OK)
	{
		plan_extra(builder, stored);
		status = fill_exact_value(value, stored, items, count);
	}
	memory.release(memory.context, items);
	return status;
}
