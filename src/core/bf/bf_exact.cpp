/*
 * bf_exact.cpp: writes, reads and checks the exact form of a bf, looks items up in it, intersects it with another bf,
 * and adds its items to lines; see bf_exact.hpp.
 */
#include "bf/bf_exact.hpp"

#include "base/memory.hpp"
#include "base/stop.hpp"
#include "bf/bf.hpp"

#include <algorithm>

using namespace streambloom;

void streambloom::plan_list(sb_bf *bf, uint32_t items, size_t payload)
{
	bf->flags = SB_BF_EXACT;
	bf->item_count = items;
	bf->payload = static_cast<uint32_t>(payload);
	bf->line_count = 0;
	bf->widened = 0;
	bf->expected_items = 0;
}

/* ---------------------------------------------------------- items against filters */

namespace {

/* Collects the hashes of `list` that `other` has. */
sb_status collect_common(const sb_bf *list, const void *stored, const sb_bf *other, const void *other_stored,
						 uint64_t *out, uint32_t *count)
{
	*count = 0;
	return for_each_hash(list, stored, [&](const uint64_t *hashes, size_t many) {
		bool found[list_reader::at_once];
		const sb_status status = sb_bf_contains_many(other, other_stored, hashes, many, found);
		for (size_t i = 0; i < many && status == SB_OK; i++)
		{
			out[*count] = hashes[i];
			*count += found[i];
		}
		return status;
	});
}

} // namespace

sb_status sb_bf_intersect_exact(const sb_bf *a, const void *a_stored, const sb_bf *b, const void *b_stored,
								const sb_memory *to, size_t in_front, sb_bf *out, void **value,
								sb_difference *difference) noexcept
{
	*value = nullptr;
	if (a->hash_count != b->hash_count)
	{
		*difference = {"hashes", static_cast<double>(a->hash_count), static_cast<double>(b->hash_count)};
		return SB_DIFFERENT;
	}

	/* the items of the shorter list are looked up in the other filter */
	const bool first = sb_bf_is_exact(a) && (!sb_bf_is_exact(b) || a->item_count <= b->item_count);
	const sb_bf *list = first ? a : b;
	if (!sb_bf_is_exact(list))
		return SB_OUT_OF_RANGE;
	auto *hashes = static_cast<uint64_t *>(
		to->allocate(to->context, (size_t{list->item_count} + 1) * sizeof(uint64_t)));
	if (hashes == nullptr)
		return SB_NO_MEMORY;
	uint32_t count;
	sb_status status = first ? collect_common(a, a_stored, b, b_stored, hashes, &count) :
							   collect_common(b, b_stored, a, a_stored, hashes, &count);
	if (status == SB_OK)
	{
		list_sizer sizer(count);
		for (uint32_t i = 0; i < count; i++)
			sizer.add(hashes[i]);
		*out = *list;
		out->kind = a->kind.code == SB_KIND_NONE ? b->kind : a->kind;
		out->fpr = std::max(a->fpr, b->fpr);
		plan_list(out, count, sizer.size());
		*value = to->allocate(to->context, in_front + sb_bf_size(out));
		status = *value == nullptr ? SB_NO_MEMORY : SB_OK;
	}
	if (status == SB_OK)
	{
		auto *data = static_cast<unsigned char *>(*value) + in_front;
		sb_bf_encode_header(out, data);
		write_list({hashes, count, false}, data + SB_BF_HEADER);
	}
	to->release(to->context, hashes);
	return status;
}

sb_status sb_bf_plan_compact(const sb_bf *bf, double fpr, sb_bf *plan) noexcept
{
	if (!sb_bf_is_exact(bf))
		return SB_OUT_OF_RANGE;
	const sb_status status = sb_bf_plan(std::max(bf->item_count, 1u), fpr, false, plan);
	plan->kind = bf->kind;
	return status;
}

sb_status sb_bf_exact_to_lines(const sb_bf *bf, const void *stored, const sb_bf *plan, void *lines) noexcept
{
	return add_exact(plan, lines, bf, stored);
}

sb_status streambloom::add_exact(const sb_bf *bf, void *lines, const sb_bf *from, const void *stored)
{
	return for_each_hash(from, stored, [&](const uint64_t *hashes, size_t count) {
		sb_bf_add_many(bf, lines, hashes, count);
		return SB_OK;
	});
}
