/*
 * tbf_builder_store.cpp: makes a stored filter from a builder's sums: exact, if they are of few items, else with cells.
 */
#include "base/memory.hpp"
#include "tbf/tbf_builder.hpp"
#include "tbf/tbf_value.hpp"

using namespace streambloom;

/*
 * A merged filter is likely to be merged again. So if it is no longer exact, it gets cells for this many times its
 * items.
 */
constexpr uint64_t room_of_merged = 4;

sb_tbf streambloom::sized_by_both(const sb_tbf *cells, const sb_tbf *for_items)
{
	sb_tbf sized = *cells;
	sb_tbf united;
	sb_difference difference;
	if (cells->expected_items != 0)
		return *cells;
	plan_cells(&sized, for_items);
	return sb_tbf_plan_merge(cells, &sized, &united, &difference) == SB_OK ? united : *cells;
}

/*
 * Returns the plan of the stored filter with cells. If the builder's plan has cells already, it stays as it is.
 * Otherwise the filter sizes itself and has items: it gets the size for their number, or for room_of_merged times as
 * many if filters were merged. If no filter is large enough for them, it has the largest possible size. If filters with
 * cells were added, sized_by_both() decides.
 */
static sb_tbf plan_size(const sb_tbf_builder *builder)
{
	sb_tbf plan = builder->plan;
	const sb_tbf *cells = &builder->shape;
	const uint64_t items = builder->sums.set.count;
	if (!is_exact(&plan))
		return plan;
	sb_tbf sized;
	if (sb_tbf_plan(std::max<uint64_t>(items, 1) * (builder->sums.merged ? room_of_merged : 1), plan.fpr,
					plan.half_life, plan.epoch, true, &sized) != SB_OK)
		sized = largest_filter();
	if (cells->block_count != 0)
		sized = items == 0 ? *cells : sized_by_both(cells, &sized);
	plan_cells(&plan, &sized);
	plan.expected_items = sized.expected_items;
	return plan;
}

/* ------------------------------------------------------- what follows the counters */

/* Sets header->extra: the bytes of what follows the counters. */
static void plan_extra(const sb_tbf_builder *builder, sb_tbf *header)
{
	header->extra = size_of_recurring(builder);
	if (builder->plan.top != 0 && (header->flags & SB_TBF_HAS_HITS) != 0)
		header->extra = top_size(&builder->top, header->base);
}

static sb_status write_extra(const sb_tbf_builder *builder, const sb_tbf *header, unsigned char *out)
{
	if (builder->plan.top == 0 || header->extra == 0)
		return write_recurring(builder, out);
	top_section section;
	top_write(&builder->top, header->base, out);
	/* A list that came from another process may have more hits than the total: top_open() checks that. */
	return top_open(out, header->extra, builder->plan.top, header->total, &section);
}

/* ------------------------------------------------------------------- the whole */

/* Returns a number of bytes that the counters usually do not exceed. */
static uint64_t usual_bytes(const sb_tbf_builder *builder, const sb_tbf *plan)
{
	uint64_t bytes = builder->sums.set.count * plan->block_cells;
	for (const plane_sums &plane : builder->sums.planes)
		bytes += plane.cells != nullptr ? usual_bytes(plane.cells) : 0;
	return bytes;
}

/*
 * Writes the counters to a new block, which also has room for what follows the counters. They are packed in one pass
 * into usual_room() bytes; memory that they do not need is never touched.
 *
 * If the set uses the secret (sb_set_secret()), its slots are not in the order of hashes. Then a sorted array of the
 * hashes is made, in whose order the items are read.
 */
static sb_status store_cells(const sb_tbf_builder *builder, value_block *value, sb_tbf *stored)
{
	const sb_tbf plan = plan_size(builder);
	const sb_memory &memory = builder->memory;
	sb_hash_set set = builder->sums.set;
	void *sorted = nullptr;
	sb_status status = SB_OK;
	*stored = plan;
	if (set.slots != nullptr && set.secret[0] != 0)
	{
		status = allocate_zeroed(&memory, std::max<uint64_t>(set.count, 1) * sizeof *set.slots, &sorted);
		if (status == SB_OK)
			status = hash_set_sort(&builder->sums.set, static_cast<uint64_t *>(sorted));
		set.sorted = static_cast<uint64_t *>(sorted);
	}
	const size_t most_extra = size_of_recurring(builder) + (builder->plan.top != 0 ? top_most_size(&builder->top) : 0);
	if (status == SB_OK)
		status = pack_to_fit(value, stored, usual_room(&plan, usual_bytes(builder, &plan)), most_extra,
							 [&](unsigned char *cells, size_t room) {
								 const sb_status packed = sums_store(
									 &builder->sums, set.slots != nullptr ? &set : nullptr, &plan, stored, cells, room);
								 plan_extra(builder, stored);
								 return packed == SB_OK && sb_tbf_size(stored) > SB_MAX_BYTES ? SB_TOO_LARGE : packed;
							 });
	if (sorted != nullptr)
		memory.release(memory.context, sorted);
	return status;
}

static sb_status store_exact(const sb_tbf_builder *builder, value_block *value, sb_tbf *stored)
{
	const sb_memory &memory = builder->memory;
	const size_t room = std::max<uint64_t>(builder->sums.set.count, 1) * sizeof(exact_item);
	auto *items = static_cast<exact_item *>(memory.allocate(memory.context, room));
	if (items == nullptr)
		return SB_NO_MEMORY;
	uint32_t count = 0;
	sb_status status = sums_list_items(&builder->sums, &builder->plan, stored, items, &count);
	plan_extra(builder, stored);
	if (status == SB_OK)
		status = fill_exact_value(value, stored, items, count);
	memory.release(memory.context, items);
	return status;
}

static sb_status store(sb_tbf_builder *builder, bool exact, const sb_memory *to, size_t in_front, sb_tbf *stored,
					   void **value)
{
	value_block block(to, in_front);
	sb_status status = exact ? store_exact(builder, &block, stored) : store_cells(builder, &block, stored);
	if (status == SB_OK)
		status = write_extra(builder, stored, block.cells() + counters_size(stored));
	if (status != SB_OK)
		return status;
	if (!exact && builder->plan.layout == SB_TBF_FLAT)
	{
		const sb_tbf packed = *stored;
		return sb_tbf_set_layout(&packed, block.cells(), SB_TBF_FLAT, to, in_front, stored, value);
	}
	block.hand_over(stored, value);
	return SB_OK;
}

sb_status sb_tbf_builder_store(sb_tbf_builder *builder, const sb_memory *to, size_t in_front, sb_tbf *stored,
							   void **value) noexcept
{
	*value = nullptr;
	if (sb_status status = sb_tbf_builder_settle(builder); status != SB_OK)
		return status;
	if (builder->plan.top != 0)
		top_purge(&builder->top); /* at most `limit` entries are stored; items can still be added afterwards */
	const bool exact = is_exact(&builder->plan) && builder->shape.block_count == 0 &&
					   builder->sums.set.count <= SB_TBF_EXACT_ITEMS;
	return store(builder, exact, to, in_front, stored, value);
}

sb_status streambloom::store_as_cells(const sb_tbf *filter, const void *cells, uint8_t layout, const sb_memory *to,
									  size_t in_front, sb_tbf *out, void **value)
{
	sb_tbf_builder *builder;
	sb_status status = sb_tbf_builder_of(to, filter, cells, &builder);
	if (status != SB_OK)
		return status;
	builder->plan.layout = layout;
	status = store(builder, false, to, in_front, out, value);
	sb_tbf_builder_release(builder);
	return status;
}
