/*
 * bf_builder.cpp: begins and releases builders, adds items in batches, adds stored filters, looks items up, and unites
 * two builders. A builder begins as a set of hashes. If the set grows too large, it becomes lines of bits. See
 * sb_bf_builder.h. bf_builder_store.cpp plans and writes the result, bf_builder_travel.cpp serializes builders.
 *
 * After a failure nothing has to be undone. Each step either moves all items to their new place or leaves them in the
 * old one. Items leave the pending array only after they were added.
 */
#include "base/bits.hpp"
#include "base/hash.hpp"
#include "base/hash_set.hpp"
#include "base/memory.hpp"
#include "base/stop.hpp"
#include "bf/bf.hpp"
#include "bf/bf_builder.hpp"
#include "bf/bf_exact.hpp"

#include <algorithm>

using namespace streambloom;

/*
 * The most slots (8 MB) that the set of a filter that sizes itself may have. When 5/8 of them are in use, the set
 * becomes self_sized_lines lines (32 MB, enough for 27 million items at 1 %). The result is folded to the size that
 * the items need.
 */
static constexpr uint64_t self_sized_set_slots = UINT64_C(1) << 20;

/*
 * A builder whose set has fewer bytes than this adds each item immediately. Such a set lies in the processor's cache,
 * so nothing has to be prefetched. And a GROUP BY may have very many builders: an array of pending items takes a
 * kilobyte in each of them, mostly more than the set.
 */
static constexpr size_t pending_from_bytes = 4096;

/* How many hashes are added before the caller is asked again whether to stop. */
static constexpr size_t items_at_once = 16384;

/* ------------------------------------------------------------------ beginning */

sb_status sb_bf_builder_begin(sb_bf_builder *builder, const sb_memory *memory, const sb_bf *plan) noexcept
{
	*builder = {};
	builder->plan = *plan;
	builder->memory = *memory;
	if (sizes_itself(builder))
	{
		builder->plan.line_count = self_sized_lines;
		builder->plan.flags = 0;
		builder->plan.item_count = 0;
		builder->plan.payload = 0;
		builder->plan.widened = 0;
	}
	const sb_status status = hash_set_make(&builder->set, memory, hash_set_capacity_for(1), 0);
	builder->form = status == SB_OK ? SB_BF_OWNS_SET : SB_BF_HAS_NOTHING;
	return status;
}

sb_status sb_bf_builder_begin_union(sb_bf_builder *builder, const sb_memory *memory, const sb_bf *like) noexcept
{
	sb_bf plan = *like;
	plan.expected_items = 0;
	return sb_bf_builder_begin(builder, memory, &plan);
}

static void release_filters(sb_bf_builder *builder)
{
	if (builder->filters.line_count != 0 && !builder->filters_borrowed)
		release_aligned(&builder->memory, const_cast<unsigned char *>(builder->filter_lines));
	builder->filters = {};
	builder->filter_lines = nullptr;
	builder->filters_borrowed = false;
}

void sb_bf_builder_release(sb_bf_builder *builder) noexcept
{
	release_filters(builder);
	if (builder->form == SB_BF_OWNS_SET)
		sb_hash_set_release(&builder->set, &builder->memory);
	else if (builder->form == SB_BF_OWNS_LINES)
		release_aligned(&builder->memory, builder->lines, SB_BF_BEFORE_LINES);
	if (builder->pending != nullptr)
		builder->memory.release(builder->memory.context, builder->pending);
	*builder = {};
}

sb_status streambloom::own(sb_bf_builder *builder)
{
	if ((builder->form == SB_BF_OWNS_SET || builder->form == SB_BF_OWNS_LINES) && !builder->filters_borrowed)
		return SB_OK;
	if (!is_borrowed(builder->form))
		return SB_OUT_OF_RANGE;
	sb_bf_builder owner;
	sb_status status = sb_bf_builder_begin(&owner, &builder->memory, &builder->plan);
	if (status != SB_OK)
		return status;
	status = sb_bf_builder_unite(&owner, builder);
	if (status == SB_OK)
		*builder = owner;
	else
		sb_bf_builder_release(&owner);
	return status;
}

/* -------------------------------------------------------------------- growing */

static sb_status set_to_lines(sb_bf_builder *builder)
{
	void *lines;
	sb_status status = allocate_aligned(&builder->memory, line_bytes(&builder->plan), &lines, SB_BF_BEFORE_LINES);
	if (status != SB_OK)
		return status;
	status = add_set(&builder->plan, lines, &builder->set);
	if (status != SB_OK)
	{
		release_aligned(&builder->memory, lines, SB_BF_BEFORE_LINES);
		return status;
	}
	sb_hash_set_release(&builder->set, &builder->memory);
	builder->lines = static_cast<unsigned char *>(lines);
	builder->form = SB_BF_OWNS_LINES;
	return SB_OK;
}

/*
 * True if a set of this capacity takes no more memory than the lines of the filter; if the filter sizes itself, true up
 * to self_sized_set_slots.
 */
static bool set_may_grow_to(const sb_bf_builder *builder, uint64_t capacity)
{
	if (sizes_itself(builder))
		return capacity <= self_sized_set_slots;
	return hash_set_bytes(capacity, 0) <= line_bytes(&builder->plan);
}

static sb_status grow_set(sb_bf_builder *builder, uint64_t capacity)
{
	if (!set_may_grow_to(builder, capacity))
		return set_to_lines(builder);
	return hash_set_remake(&builder->set, &builder->memory, capacity, 0);
}

/*
 * A full set grows at once, not at the next insertion. So whether the builder has a set or lines depends only on the
 * number of distinct hashes. (If there was no memory to grow, the set is still full at the next call. Then no hash can
 * be inserted, and growing is tried again first.)
 */
static sb_status add_hashes(sb_bf_builder *builder, const uint64_t *hashes, size_t count)
{
	sb_hash_set *set = &builder->set;
	while (count > 0 && builder->form == SB_BF_OWNS_SET)
	{
		const size_t added = hash_set_insert_many(set, hashes, count, SB_KEPT_HASH_MASK);
		hashes += added;
		count -= added;
		sb_status status = SB_OK;
		if (!hash_set_has_room(set))
			status = grow_set(builder, hash_set_next_capacity(set->capacity));
		else if (hash_set_wants_secret(set)) [[unlikely]]
			status = hash_set_remake(set, &builder->memory, set->capacity, 0);
		if (status != SB_OK)
			return status;
	}
	if (count > 0)
		sb_bf_add_many(&builder->plan, builder->lines, hashes, count);
	return SB_OK;
}

/* --------------------------------------------------------------------- adding */

/* Adds items to the set or the lines. Between two pieces of them it asks whether to stop. */
static sb_status add_items(sb_bf_builder *builder, const uint64_t *items, size_t count, bool integers)
{
	const size_t at_once = integers ? SB_BF_PENDING : items_at_once;
	uint64_t hashes[SB_BF_PENDING]; /* of integers */
	sb_status status = SB_OK;
	for (size_t first = 0; first < count && status == SB_OK; first += at_once)
	{
		const size_t now = std::min(count - first, at_once);
		if (first > 0 && stop_wanted())
			return SB_INTERRUPTED;
		if (integers)
			hash_int64s(items + first, now, hashes);
		status = add_hashes(builder, integers ? hashes : items + first, now);
	}
	return status;
}

sb_status streambloom::settle(sb_bf_builder *builder)
{
	const sb_status status = add_items(builder, builder->pending, builder->pending_count, builder->integer_room != 0);
	if (status == SB_OK)
		builder->pending_count = 0;
	return status;
}

static bool is_small(const sb_bf_builder *builder)
{
	return builder->form == SB_BF_OWNS_SET && hash_set_bytes(builder->set.capacity, 0) < pending_from_bytes;
}

/* From now on either hashes or integers may be pending. REQUIRES: no item of the other sort is pending. */
static void open_pending(sb_bf_builder *builder, bool integers)
{
	builder->hash_room = integers ? 0 : SB_BF_PENDING;
	builder->integer_room = integers ? SB_BF_PENDING : 0;
}

static sb_status make_pending(sb_bf_builder *builder, bool integers)
{
	const size_t size = SB_BF_PENDING * sizeof *builder->pending;
	builder->pending = static_cast<uint64_t *>(builder->memory.allocate(builder->memory.context, size));
	if (builder->pending == nullptr)
		return SB_NO_MEMORY;
	open_pending(builder, integers);
	return SB_OK;
}

sb_status sb_bf_builder_add_many(sb_bf_builder *builder, const uint64_t *items, size_t count, bool integers) noexcept
{
	sb_status status = own(builder);
	if (status != SB_OK)
		return status;
	const bool may_pend = builder->pending != nullptr;
	const bool other_kind = integers != (builder->integer_room != 0);
	if (may_pend && (other_kind || count > SB_BF_PENDING - builder->pending_count))
	{
		status = settle(builder);
		if (status != SB_OK)
			return status;
		open_pending(builder, integers);
	}
	if (may_pend && count <= SB_BF_PENDING - builder->pending_count)
	{
		std::copy_n(items, count, builder->pending + builder->pending_count);
		builder->pending_count += static_cast<uint32_t>(count);
		return SB_OK;
	}
	status = add_items(builder, items, count, integers);
	return status == SB_OK && !may_pend && !is_small(builder) ? make_pending(builder, integers) : status;
}

/* ------------------------------------------------------------- stored filters */

/* Unites a stored filter that has lines with builder->filters, the union of the earlier ones. */
static sb_status unite_filter(sb_bf_builder *builder, const sb_bf *filter, const void *stored,
							  sb_difference *difference)
{
	sb_bf *have = &builder->filters;
	const bool first = have->line_count == 0;
	sb_bf united = *filter;
	if (!first && sb_bf_plan_union(have, filter, &united, difference) != SB_OK)
		return SB_DIFFERENT;
	void *lines = const_cast<unsigned char *>(builder->filter_lines);
	if (first || united.line_count != have->line_count)
	{
		sb_status status = allocate_aligned(&builder->memory, line_bytes(&united), &lines);
		if (status != SB_OK)
			return status;
		if (!first)
			status = sb_bf_combine(&united, lines, have, builder->filter_lines, false);
		if (status != SB_OK)
		{
			release_aligned(&builder->memory, lines);
			return status;
		}
		release_filters(builder);
		builder->filter_lines = static_cast<unsigned char *>(lines);
	}
	*have = united;
	return sb_bf_combine(have, lines, filter, stored, false);
}

static sb_status add_list(sb_bf_builder *builder, const sb_bf *filter, const void *stored)
{
	const uint64_t capacity = hash_set_capacity_for(filter->item_count + UINT64_C(1));
	if (builder->form == SB_BF_OWNS_SET && builder->set.count == 0 && capacity > builder->set.capacity)
		if (const sb_status status = grow_set(builder, capacity); status != SB_OK)
			return status;
	return for_each_hash(filter, stored,
						 [&](const uint64_t *hashes, size_t count) { return add_hashes(builder, hashes, count); });
}

sb_status sb_bf_builder_add_filter(sb_bf_builder *builder, const sb_bf *filter, const void *stored,
								   sb_difference *difference) noexcept
{
	*difference = {};
	if (builder->form == SB_BF_HAS_NOTHING || !sizes_itself(builder))
		return SB_OUT_OF_RANGE;
	if (builder->plan.hash_count != filter->hash_count)
	{
		*difference = {"hashes", static_cast<double>(builder->plan.hash_count),
					   static_cast<double>(filter->hash_count)};
		return SB_DIFFERENT;
	}
	sb_status status = own(builder);
	if (status == SB_OK)
		status = settle(builder);
	if (status == SB_OK)
		status = sb_bf_is_exact(filter) ? add_list(builder, filter, stored) :
										  unite_filter(builder, filter, stored, difference);
	if (status != SB_OK)
		return status;
	if (builder->plan.kind.code == SB_KIND_NONE)
		builder->plan.kind = filter->kind;
	builder->plan.fpr = std::max(builder->plan.fpr, filter->fpr);
	return SB_OK;
}

sb_status sb_bf_builder_contains(sb_bf_builder *builder, uint64_t hash, bool *found) noexcept
{
	sb_status status = own(builder);
	if (status == SB_OK)
		status = settle(builder);
	*found = false;
	if (status != SB_OK)
		return status;
	if (builder->form == SB_BF_OWNS_SET)
		*found = hash_set_find(&builder->set, hash & SB_KEPT_HASH_MASK) != UINT64_MAX;
	else
		status = sb_bf_contains_many(&builder->plan, builder->lines, &hash, 1, found);
	if (!*found && builder->filters.line_count != 0 && status == SB_OK)
		status = sb_bf_contains_many(&builder->filters, builder->filter_lines, &hash, 1, found);
	return status;
}

/* -------------------------------------------------------------------- uniting */

/*
 * Calls take(hashes, count) for all hashes, some at a time, until take() returns an error or the caller wants to
 * stop. REQUIRES: the builder has hashes, either its own or borrowed ones.
 */
template <typename Take>
static sb_status walk_hashes(const sb_bf_builder *of, Take take)
{
	sb_status status = SB_OK;
	auto next = [&](const uint64_t *hashes, size_t count) {
		if (status == SB_OK)
			status = stop_wanted() ? SB_INTERRUPTED : take(hashes, count);
	};
	if (of->form == SB_BF_OWNS_SET)
	{
		in_batches(&of->set, [&](const uint64_t *hashes, const uint64_t *, size_t count) { next(hashes, count); });
		return status;
	}
	const uint64_t all = of->borrowed_bytes / sizeof(uint64_t);
	uint64_t hashes[hashes_at_once];
	for (uint64_t first = 0; first < all && status == SB_OK; first += hashes_at_once)
	{
		const size_t count = std::min<uint64_t>(all - first, hashes_at_once);
		hash_set_read_words(of->borrowed + first * sizeof(uint64_t), hashes, count);
		next(hashes, count);
	}
	return status;
}

/*
 * Makes room in the builder's set before the hashes of `other` are added. These come in the order of slots. If the
 * set grew while they are added, they would all fall into its first slots, and searches there would be long. Hashes
 * that the set has already need no room; if they were counted, the set might become lines too early.
 */
static sb_status make_room_for(sb_bf_builder *builder, const sb_bf_builder *other)
{
	uint64_t wanted = builder->set.count + 1;
	const sb_status status = walk_hashes(other, [&](const uint64_t *hashes, size_t count) {
		wanted += hash_set_missing(&builder->set, hashes, count);
		return SB_OK;
	});
	const uint64_t capacity = hash_set_capacity_for(wanted);
	return status == SB_OK && capacity > builder->set.capacity ? grow_set(builder, capacity) : status;
}

static sb_status unite_hashes(sb_bf_builder *builder, const sb_bf_builder *other)
{
	if (builder->form == SB_BF_OWNS_SET)
		if (const sb_status status = make_room_for(builder, other); status != SB_OK)
			return status;
	return walk_hashes(other, [&](const uint64_t *hashes, size_t count) { return add_hashes(builder, hashes, count); });
}

static sb_status unite_lines(sb_bf_builder *builder, const sb_bf_builder *other)
{
	if (builder->form == SB_BF_OWNS_SET)
		if (const sb_status status = set_to_lines(builder); status != SB_OK)
			return status;
	if (other->form == SB_BF_BORROWS_SPARSE_LINES)
		return or_sparse_lines(&builder->plan, builder->lines, other->borrowed, other->borrowed_bytes);
	const unsigned char *lines = other->form == SB_BF_OWNS_LINES ? other->lines : other->borrowed;
	return sb_bf_combine(&builder->plan, builder->lines, &other->plan, lines, false);
}

/* True if the two builders can be united. A builder that has no kind yet fits any kind. */
static bool agree(const sb_bf_builder *a, const sb_bf_builder *b)
{
	const sb_kind *kind = &a->plan.kind;
	const sb_kind *other = &b->plan.kind;
	return sizes_itself(a) == sizes_itself(b) && a->plan.line_count == b->plan.line_count &&
		   a->plan.hash_count == b->plan.hash_count &&
		   (kind->code == SB_KIND_NONE || other->code == SB_KIND_NONE || sb_kind_equal(kind, other));
}

sb_status sb_bf_builder_unite(sb_bf_builder *builder, sb_bf_builder *other) noexcept
{
	if (builder->form == SB_BF_HAS_NOTHING || other->form == SB_BF_HAS_NOTHING)
		return SB_OUT_OF_RANGE;
	if (!agree(builder, other))
		return SB_DIFFERENT;
	sb_status status = own(builder);
	if (status == SB_OK)
		status = settle(builder);
	if (status == SB_OK)
		status = settle(other);
	if (status != SB_OK || builder == other)
		return status;
	if (builder->plan.kind.code == SB_KIND_NONE)
		builder->plan.kind = other->plan.kind;
	builder->plan.fpr = std::max(builder->plan.fpr, other->plan.fpr);
	if (other->filters.line_count != 0)
	{
		sb_difference difference;
		status = unite_filter(builder, &other->filters, other->filter_lines, &difference);
		if (status != SB_OK)
			return status;
	}
	const bool of_hashes = other->form == SB_BF_OWNS_SET || other->form == SB_BF_BORROWS_HASHES;
	return of_hashes ? unite_hashes(builder, other) : unite_lines(builder, other);
}
