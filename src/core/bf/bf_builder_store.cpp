/*
 * bf_builder_store.cpp: decides which filter a builder's items need, and writes it. See sb_bf_builder.h.
 */
#include "base/bits.hpp"
#include "base/hash_set.hpp"
#include "bf/bf.hpp"
#include "bf/bf_builder.hpp"
#include "bf/bf_exact.hpp"

#include <algorithm>

using namespace streambloom;

/*
 * Plans a filter that sizes itself for `items` items. It has the builder's hash_count: if the builder has lines, its
 * items were added to them with this number.
 */
static sb_status plan_for(const sb_bf_builder *builder, uint64_t items, sb_bf *plan)
{
	const sb_bf *of = &builder->plan;
	const sb_status status = sb_bf_plan(items, of->fpr, true, plan);
	plan->hash_count = of->hash_count;
	plan->kind = of->kind;
	return status;
}

static bool is_exact(const sb_bf_builder *builder)
{
	return sizes_itself(builder) && builder->filters.line_count == 0 && builder->form == SB_BF_OWNS_SET &&
		   builder->set.count <= SB_BF_EXACT_ITEMS;
}

static void plan_exact(const sb_bf_builder *builder, sb_bf *plan)
{
	const auto items = static_cast<uint32_t>(builder->set.count);
	list_sizer sizer(items);
	in_batches(&builder->set, [&](const uint64_t *hashes, const uint64_t *, size_t count) {
		for (size_t i = 0; i < count; i++)
			sizer.add(hashes[i]);
	});
	*plan = builder->plan;
	plan_list(plan, items, sizer.size());
}

/*
 * Sorts hashes that are nearly in order: except for a few hashes, only those close together are in the wrong order. The
 * slots of a set without the secret (sb_hash_set.h) have such an order. If 16 * count steps are not enough, std::sort()
 * sorts the hashes.
 */
static void sort_neighbours(uint64_t *hashes, size_t count)
{
	size_t steps = 16 * count;
	for (size_t i = 1; i < count; i++)
	{
		const uint64_t hash = hashes[i];
		size_t at = i;
		for (; at > 0 && hashes[at - 1] > hash && steps > 0; at--, steps--)
			hashes[at] = hashes[at - 1];
		hashes[at] = hash;
		if (steps == 0)
			return std::sort(hashes, hashes + count);
	}
}

static sb_status write_exact(const sb_bf_builder *builder, const sb_bf *plan, unsigned char *out)
{
	if (!is_exact(builder) || builder->set.count != plan->item_count)
		return SB_OUT_OF_RANGE;
	const sb_memory *memory = &builder->memory;
	auto *sorted = static_cast<uint64_t *>(
		memory->allocate(memory->context, (plan->item_count + size_t{1}) * sizeof(uint64_t)));
	if (sorted == nullptr)
		return SB_NO_MEMORY;
	uint64_t *end = sorted;
	in_batches(&builder->set,
			   [&](const uint64_t *hashes, const uint64_t *, size_t count) { end = std::copy_n(hashes, count, end); });
	sort_neighbours(sorted, plan->item_count);
	write_list({sorted, plan->item_count, false}, out);
	memory->release(memory->context, sorted);
	return SB_OK;
}

/* Stores in *out the number of the builder's own items, without the items of filters that have lines. */
static sb_status count_items(const sb_bf_builder *builder, double *out)
{
	if (builder->form != SB_BF_OWNS_SET)
		return sb_bf_items(&builder->plan, builder->lines, out);
	*out = static_cast<double>(builder->set.count);
	return SB_OK;
}

/*
 * Plans the result if filters with lines were added: it has the lines of these filters, widened until there is room for
 * the builder's own items. Let the load be the number of items per line. The builder's items may add the load that the
 * filters leave free at the rate plan->fpr, but always at least an eighth of the largest load. The number of lines is
 * doubled until this holds, or until SB_BF_MAX_LINES allows no further doubling. Each doubling halves the load of the
 * builder's items, but not that of the filters. So the builder's items lift the rate of filters that are already full
 * only a little.
 */
static sb_status plan_for_filters(const sb_bf_builder *builder, sb_bf *plan)
{
	double items;
	double load = 0;
	uint8_t hash_count;
	*plan = builder->filters;
	plan->kind = builder->plan.kind;
	plan->fpr = std::max(plan->fpr, builder->plan.fpr);
	sb_status status = count_items(builder, &items);
	if (status != SB_OK || items == 0)
		return status;
	status = load_of_lines(&builder->filters, builder->filter_lines, &load);
	const double most = sb_bf_items_per_line(plan->fpr, &hash_count);
	const double room = std::max(most - load, most / 8);
	while (items > room * plan->line_count && plan->line_count <= SB_BF_MAX_LINES / 2)
	{
		plan->line_count *= 2;
		plan->widened++;
	}
	return status;
}

static sb_status plan_for_content(sb_bf_builder *builder, sb_bf *plan)
{
	sb_status status = own(builder);
	if (status == SB_OK)
		status = settle(builder);
	*plan = builder->plan;
	if (status != SB_OK || !sizes_itself(builder))
		return status;
	if (is_exact(builder))
	{
		plan_exact(builder, plan);
		return SB_OK;
	}
	if (builder->filters.line_count != 0)
		return plan_for_filters(builder, plan);
	if (builder->form == SB_BF_OWNS_SET)
		return plan_for(builder, builder->set.count, plan);

	/* The lines are folded to the size that the estimated number of items needs, if this size is smaller. */
	double items;
	uint8_t hash_count;
	status = sb_bf_items(&builder->plan, builder->lines, &items);
	if (status != SB_OK || !(items < sb_bf_items_per_line(builder->plan.fpr, &hash_count) * builder->plan.line_count))
		return status;
	status = plan_for(builder, static_cast<uint64_t>(items) + 1, plan);
	plan->line_count = std::min(plan->line_count, builder->plan.line_count);
	return status;
}

sb_status sb_bf_builder_plan(sb_bf_builder *builder, bool with_room, sb_bf *plan) noexcept
{
	const sb_status status = plan_for_content(builder, plan);
	if (status == SB_OK && with_room && sizes_itself(builder) && !sb_bf_is_exact(plan) &&
		builder->filters.line_count == 0)
		plan->line_count = std::min(plan->line_count * 4, self_sized_lines);
	return status;
}

/*
 * Writes the lines of the result: those of the filters, then the builder's own items. REQUIRES: filters with lines
 * were added.
 */
static sb_status write_with_filters(const sb_bf_builder *builder, const sb_bf *plan, void *lines)
{
	const sb_status status = sb_bf_combine(plan, lines, &builder->filters, builder->filter_lines, false);
	if (status != SB_OK)
		return status;
	return builder->form == SB_BF_OWNS_SET ? add_set(plan, lines, &builder->set) :
											 map_lines(plan, lines, &builder->plan, builder->lines);
}

sb_status sb_bf_builder_write(sb_bf_builder *builder, const sb_bf *plan, void *lines) noexcept
{
	sb_status status = own(builder);
	if (status == SB_OK)
		status = settle(builder);
	if (status != SB_OK)
		return status;
	if (sb_bf_is_exact(plan))
		return write_exact(builder, plan, static_cast<unsigned char *>(lines));
	if (builder->filters.line_count != 0)
		return write_with_filters(builder, plan, lines);
	if (builder->form == SB_BF_OWNS_SET)
		return add_set(plan, lines, &builder->set);
	sb_bf folded = builder->plan;
	return sb_bf_fold(&folded, builder->lines, doublings(plan->line_count, folded.line_count), lines);
}
