/*
 * tbf_builder.cpp: begins and ends builders, adds hits to their sums, checks totals, and names hot items. See
 * sb_tbf_builder.h.
 *
 * In a builder that is not small (pending_from_slots) the newest hits stay pending as long as they are of one
 * half-life. They are added a batch at a time, so that the memory of the next hits can be prefetched. This does not
 * change a sum. (A plane has the sums of 16 half-lives. Only the newest four planes are kept.)
 */
#include "tbf/tbf_builder.hpp"

#include "base/memory.hpp"

using namespace streambloom;

constexpr uint64_t pending_from_slots = 2000;

/* ------------------------------------------------------------------- planes */

sb_status streambloom::make_cells(sb_tbf_builder *builder, int index)
{
	if (index < 0 || index >= SB_TBF_PLANES || builder->sums.planes[index].cells != nullptr)
		return SB_OK;
	cell_plane **cells = &builder->sums.planes[index].cells;
	const sb_status status = make_cell_plane(&builder->memory, &builder->shape, cells);
	if (status == SB_OK)
		(*cells)->never_few = builder->never_few;
	return status;
}

sb_status streambloom::make_plane(sb_tbf_builder *builder, int index)
{
	if (!has_items(&builder->sums))
		return make_cells(builder, index);
	return index >= 0 && index < SB_TBF_PLANES ? make_column(&builder->sums, &builder->memory, index) : SB_OK;
}

sb_status streambloom::make_planes(sb_tbf_builder *builder, int index, int planes, bool any, bool cells)
{
	sb_status status = SB_OK;
	for (int i = 0; i < planes && status == SB_OK; i++)
		status = (cells ? make_cells : make_plane)(builder, index - i);
	if (status != SB_OK)
		builder->sums.any = any;
	return status;
}

/* ------------------------------------------------------------ beginning, ending */

/* Gives a new builder its set or its shape. */
static sb_status begin_sums(sb_tbf_builder *builder, bool items)
{
	if (items)
		return hash_set_make(&builder->sums.set, &builder->memory, hash_set_capacity_for(1), 1);
	builder->shape = builder->plan;
	return SB_OK;
}

sb_status streambloom::make_builder(const sb_memory *memory, const sb_tbf *plan, bool self_sized, sb_tbf_builder **out)
{
	void *zeroed;
	const sb_status status = allocate_zeroed(memory, sizeof(sb_tbf_builder), &zeroed);
	auto *builder = static_cast<sb_tbf_builder *>(zeroed);
	*out = builder;
	if (status != SB_OK)
		return status;
	builder->memory = *memory;
	builder->plan = *plan;
	builder->self_sized = self_sized;
	builder->top.limit = plan->top;
	clear_hits(&builder->plan);
	return SB_OK;
}

sb_status streambloom::ended_if_failed(sb_status status, sb_tbf_builder **builder)
{
	if (status != SB_OK)
	{
		sb_tbf_builder_release(*builder);
		*builder = nullptr;
	}
	return status;
}

sb_status sb_tbf_builder_begin(const sb_memory *memory, const sb_tbf *plan, sb_tbf_sums_of sums_of, bool self_sized,
							   sb_tbf_builder **out) noexcept
{
	self_sized |= is_exact(plan);
	const bool in_order = (plan->flags & SB_TBF_OPTIONS) != 0;
	sb_status status = make_builder(memory, plan, self_sized, out);
	if (status != SB_OK)
		return status;
	if (self_sized)
		plan_exact(&(*out)->plan);
	return ended_if_failed(begin_sums(*out, self_sized || (sums_of == SB_TBF_SUMS_OF_ITEMS && !in_order)), out);
}

sb_status sb_tbf_builder_like(const sb_memory *memory, const sb_tbf_builder *other, sb_tbf_builder **out) noexcept
{
	const sb_status status = make_builder(memory, &other->plan, other->self_sized, out);
	if (status != SB_OK)
		return status;
	(*out)->never_few = other->never_few;
	return ended_if_failed(begin_sums(*out, has_items(&other->sums)), out);
}

void sb_tbf_builder_release(sb_tbf_builder *builder) noexcept
{
	const sb_memory memory = builder->memory;
	release_sums(builder);
	if (builder->recurring.slots != nullptr)
		sb_hash_set_release(&builder->recurring, &memory);
	release_list(&builder->top, &memory);
	if (builder->pending != nullptr)
		memory.release(memory.context, builder->pending);
	memory.release(memory.context, builder);
}

sb_tbf *sb_tbf_builder_parameters(sb_tbf_builder *builder) noexcept
{
	return &builder->plan;
}

/* ------------------------------------------------------------------- adding */

/*
 * Returns the index that the plane with this number has now (0: the newest), or -1 if the plane has fallen out.
 * REQUIRES: the plane is not newer than the newest one.
 */
static int index_of_plane(const sb_tbf_builder *builder, int64_t plane)
{
	const int64_t index = builder->sums.newest_plane - plane;
	return index < SB_TBF_PLANES ? static_cast<int>(index) : -1;
}

/*
 * Adds hits of one half-life, which lies in plane number `plane`, to the sums, not to the totals. Raises *done by how
 * many it has added. The index of the plane is -1 if it has fallen out, perhaps before the hits came. Then no sum gets
 * their values, but their items are put into the set.
 */
static sb_status add_hits(sb_tbf_builder *builder, int64_t plane, int64_t half_lives, const uint64_t *hashes,
						  const uint64_t *values, size_t count, size_t *done)
{
	tbf_sums *sums = &builder->sums;
	const int index = index_of_plane(builder, plane);
	sb_status status = SB_OK;
	while (*done < count && status == SB_OK)
	{
		const size_t left = count - *done;
		size_t added = left;
		status = grow_if_needed(builder); /* may be due after an earlier failure */
		if (status == SB_OK)
			status = make_plane(builder, index);
		if (status != SB_OK)
			break;
		if (!has_items(sums) && index >= 0)
			status = add_to_plane(sums->planes[index].cells, builder->plan.hash_count, place_in_plane(half_lives),
								  hashes + *done, values + *done, left);
		else if (index >= 0)
			added = sums_add_hits(sums, index, half_lives, hashes + *done, values + *done, left, &status);
		else if (has_items(sums))
			added = hash_set_insert_many(&sums->set, hashes + *done, left);
		if (status == SB_OK)
			*done += added;
	}
	return status == SB_OK ? grow_if_needed(builder) : status;
}

/*
 * Adds the pending hits. If that fails because there is no memory or the caller wants to stop, the hits that were not
 * added stay pending. After SB_OVERFLOW no hit stays pending: those that were not added are lost.
 *
 * This function, begin_run() and add_at_once() are not inlined, because sb_tbf_builder_add_hit() is called for each
 * row, and is faster if it stays short.
 */
[[gnu::noinline]] static sb_status add_pending(sb_tbf_builder *builder)
{
	pending_hits *pending = builder->pending;
	size_t done = 0;
	const sb_status status = add_hits(builder, pending->plane, pending->half_lives, pending->hashes, pending->values,
									  pending->count, &done);
	if (status == SB_OVERFLOW)
		done = pending->count;
	pending->count -= static_cast<uint32_t>(done);
	std::copy_n(pending->hashes + done, pending->count, pending->hashes);
	std::copy_n(pending->values + done, pending->count, pending->values);
	return status;
}

/*
 * Adds the total of the present run (hits that came one after the other at one moment) to the totals. It may do so
 * late: if the run's plane has fallen out meanwhile, the result is the same as if the total had been added first and
 * had fallen out with the plane.
 */
static void end_run(sb_tbf_builder *builder)
{
	run_of_hits *run = &builder->run;
	if (run->total == 0)
		return;
	sums_note_hit(&builder->sums, index_of_plane(builder, run->plane), &run->moment, run->total);
	if ((run->digits & ((UINT64_C(1) << SB_TBF_HIT_BITS) - 1)) != 0)
		builder->sums.fractions = true;
	run->total = 0;
}

static void forget_unnamed(sb_tbf_builder *builder)
{
	if (builder->unnamed.least != 0)
		top_add_error(&builder->top, builder->top.base, builder->unnamed.least);
	builder->unnamed = {};
}

sb_status sb_tbf_builder_settle(sb_tbf_builder *builder) noexcept
{
	forget_unnamed(builder);
	end_run(builder);
	return builder->pending != nullptr && builder->pending->count != 0 ? add_pending(builder) : SB_OK;
}

/* REQUIRES: the pending hits, if there are any, are of the moment's half-life. */
[[gnu::noinline]] static sb_status begin_run(sb_tbf_builder *builder, const sb_moment *moment)
{
	end_run(builder);
	const bool any = builder->sums.any;
	const int index = sums_turn(&builder->sums, moment->half_lives);
	builder->run.moment = *moment;
	builder->run.digits = 0;

	/* If the hit's plane has fallen out already, any plane number that has fallen out will do. */
	builder->run.plane = builder->sums.newest_plane - (index >= 0 ? index : SB_TBF_PLANES);
	return make_planes(builder, index, 1, any);
}

/* Adds a hit to a builder that does not keep hits pending yet. */
[[gnu::noinline]] static sb_status add_at_once(sb_tbf_builder *builder, uint64_t hash, const sb_moment *moment,
											   uint64_t value)
{
	size_t done = 0;
	sb_status status = add_hits(builder, builder->run.plane, moment->half_lives, &hash, &value, 1, &done);
	if (status == SB_OK && std::max(builder->sums.set.capacity, sb_tbf_cells(&builder->shape)) >= pending_from_slots)
	{
		void *pending;
		status = allocate_zeroed(&builder->memory, sizeof(pending_hits), &pending);
		builder->pending = static_cast<pending_hits *>(pending);
	}
	return status;
}

sb_status sb_tbf_builder_add_hit(sb_tbf_builder *builder, uint64_t hash, const sb_moment *moment,
								 uint64_t value) noexcept
{
	run_of_hits *run = &builder->run;
	pending_hits *pending = builder->pending;
	sb_status status = SB_OK;
	hash &= SB_KEPT_HASH_MASK;
	if (value == 0)
		return SB_OK; /* a hit of weight 0 leaves no trace */
	if (run->total == 0 || run->total >= SB_TBF_MAX_CELL || moment->half_lives != run->moment.half_lives ||
		moment->epoch_start != run->moment.epoch_start)
	{
		/* hits of another half-life are added before begin_run() may make an old plane fall out */
		if (pending != nullptr && pending->count > 0 && pending->half_lives != moment->half_lives)
			status = add_pending(builder);
		if (status == SB_OK)
			status = begin_run(builder, moment);
		if (status != SB_OK)
			return status;
	}
	run->total += value;
	run->digits |= value;
	if (pending == nullptr)
		return add_at_once(builder, hash, moment, value);
	if (pending->count == tbf_batch)
		if (status = add_pending(builder); status != SB_OK)
			return status;
	pending->half_lives = moment->half_lives;
	pending->plane = run->plane;
	pending->hashes[pending->count] = hash;
	pending->values[pending->count++] = value;
	return SB_OK;
}

sb_status sb_tbf_builder_check_total(const sb_tbf_builder *builder, const sb_moment *moment, uint64_t value,
									 uint64_t count) noexcept
{
	return sums_check_total(&builder->sums, moment, value, count);
}

/* ---------------------------------------------------------------- hot items */

bool sb_tbf_builder_add_hot_hit(sb_tbf_builder *builder, uint64_t hash, const sb_moment *moment, double weight) noexcept
{
	sb_u128 least;
	sb_u128 lost;
	if (builder->plan.top == 0 || weight == 0)
		return false;
	forget_unnamed(builder);
	top_hit(moment, weight, &least, &lost);
	if (top_add(&builder->top, hash, moment->half_lives, &least, lost))
		return false;
	builder->unnamed = {hash, least};
	return true;
}

sb_status sb_tbf_builder_name_hot_item(sb_tbf_builder *builder, const void *text, size_t length) noexcept
{
	const pending_item item = builder->unnamed;
	builder->unnamed = {};
	return item.least == 0 ? SB_OK : insert_item(&builder->top, &builder->memory, item, text, length);
}
