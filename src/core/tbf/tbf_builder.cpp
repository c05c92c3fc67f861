/*
 * tbf_builder.cpp: begins and ends builders, adds hits to their sums, checks totals, and names hot items. See
 * sb_tbf_builder.h.
 *
 * In a builder that is not small (pending_from_words) the newest hits stay pending as long as they are of one
 * half-life. They are added a batch at a time, so that the memory of the next hits can be prefetched. This does not
 * change a sum. With minimum increase the order of hits matters, and what a hit raises depends on the words of all
 * planes. Therefore hits are always added in the order in which they came, and the pending ones are added before an old
 * plane falls out. (A plane has the sums of 16 half-lives. Only the newest four planes are kept.)
 */
#include "tbf/tbf_builder.hpp"

#include "base/memory.hpp"
#include "tbf/tbf_sums.hpp"

#include <algorithm>

using namespace streambloom;

constexpr uint64_t pending_from_words = 2000;

/* ------------------------------------------------------------------- memory */

sb_status streambloom::allocate_words(const sb_tbf_builder *builder, uint64_t count, uint64_t **out)
{
	void *words;
	const sb_status status = allocate_zeroed(&builder->memory, count * sizeof(uint64_t), &words);
	*out = static_cast<uint64_t *>(words);
	return status;
}

void streambloom::release_words(const sb_tbf_builder *builder, uint64_t *words)
{
	if (words != nullptr)
		builder->memory.release(builder->memory.context, words);
}

sb_status streambloom::make_plane(sb_tbf_builder *builder, int index)
{
	tbf_sums *sums = &builder->sums;
	if (index < 0 || index >= SB_TBF_PLANES || has_plane(builder, index))
		return SB_OK;
	if (builder->form == sums_form::cells)
	{
		const sb_status status = make_cell_plane(&builder->memory, &builder->plan, &sums->cells[index]);
		if (status == SB_OK)
			sums->cells[index]->never_few = builder->never_few;
		return status;
	}
	if (sb_status status = sums_take_fallen(sums, &sums->plane[index]);
		status != SB_OK || sums->plane[index] != nullptr)
		return status;
	uint32_t planes = 0;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		planes += has_plane(builder, i);
	if (planes == builder->set.beside)
		if (sb_status status = remake_items(builder, builder->set.capacity, planes + 1); status != SB_OK)
			return status;
	sums->plane[index] = builder->set.slots + 4 * (size_t{1} + planes);
	return SB_OK;
}

sb_status streambloom::make_planes(sb_tbf_builder *builder, int index, int planes, bool any)
{
	sb_status status = SB_OK;
	for (int i = 0; i < planes && status == SB_OK; i++)
		status = make_plane(builder, index - i);
	if (status != SB_OK)
		builder->sums.any = any;
	return status;
}

/* ------------------------------------------------------------ beginning, ending */

static sb_status begin_items(sb_tbf_builder *builder)
{
	builder->form = sums_form::items;
	const sb_status status = hash_set_make(&builder->set, &builder->memory, hash_set_capacity_for(1), 1);
	builder->sums.width = builder->set.capacity + 1;
	builder->sums.beside = 1;
	return status;
}

static sb_status begin_cells(sb_tbf_builder *builder)
{
	builder->form = sums_form::cells;
	builder->sums.width = sb_tbf_cells(&builder->plan);
	return (builder->plan.flags & SB_TBF_RECURRING_MINIMUM) != 0 ? make_recurring(builder) : SB_OK;
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
	/* an exact filter has no cells, and it sizes itself */
	const bool exact = is_exact(plan);
	sb_status status = make_builder(memory, plan, self_sized || exact, out);
	if (status != SB_OK)
		return status;
	sb_tbf_builder *builder = *out;

	/* Recurring minimum needs cells from the first hit on: they decide which items get an entry in its table. */
	const bool items = (sums_of == SB_TBF_SUMS_OF_ITEMS || exact) && (plan->flags & SB_TBF_RECURRING_MINIMUM) == 0;
	const sb_tbf largest = largest_filter();
	if (builder->self_sized && items)
		plan_exact(&builder->plan);
	else if (builder->self_sized)
		plan_cells(&builder->plan, &largest);
	return ended_if_failed(items ? begin_items(builder) : begin_cells(builder), out);
}

sb_status sb_tbf_builder_like(const sb_memory *memory, const sb_tbf_builder *other, sb_tbf_builder **out) noexcept
{
	const sb_status status = make_builder(memory, &other->plan, other->self_sized, out);
	if (status != SB_OK)
		return status;
	(*out)->never_few = other->never_few;
	return ended_if_failed(other->form == sums_form::cells ? begin_cells(*out) : begin_items(*out), out);
}

void sb_tbf_builder_release(sb_tbf_builder *builder) noexcept
{
	const sb_memory memory = builder->memory;
	release_sums(builder);
	if (counts_apart(builder))
		sb_hash_set_release(&builder->recurring, &memory);
	if (builder->filters != nullptr)
		sb_tbf_builder_release(builder->filters);
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

/* Adds a hit to the sums, not to the totals. REQUIRES: grow_if_needed() was called since the last hit. */
static sb_status add_item(sb_tbf_builder *builder, int index, uint64_t hash, int64_t half_lives, uint64_t value)
{
	tbf_sums *sums = &builder->sums;
	if (builder->form == sums_form::items)
	{
		const uint64_t slot = hash_set_insert(&builder->set, hash);
		return index >= 0 ? sums_add_word(sums, index, slot, half_lives, value) : SB_OK;
	}
	if (counts_apart(builder))
		return add_recurring(builder, index, hash, half_lives, value);
	if (raises(builder))
		return sums_raise_item(sums, &builder->plan, index, hash, half_lives, value);
	return sums_add_item(sums, &builder->plan, index, hash, half_lives, value);
}

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
 * Adds one or more pending hits, from hit number *done on. Raises *done by how many they are, unless one fails.
 * REQUIRES: *done is less than the number of pending hits.
 */
static sb_status add_some_pending(sb_tbf_builder *builder, uint32_t *done)
{
	const pending_hits *pending = builder->pending;
	const uint64_t *hashes = pending->hashes + *done;
	const uint64_t *values = pending->values + *done;
	const uint32_t left = pending->count - *done;
	size_t added = 1;
	sb_status status = grow_if_needed(builder); /* may be due after an earlier failure */
	if (status != SB_OK)
		return status;
	/*
	 * Growing may have moved the planes, if the set was outgrown and builder->filters is newer. The index is -1 if the
	 * plane of the hits has fallen out, perhaps before they came. Then no sum gets their values. But if the builder has
	 * sums of items, the items are put into the set.
	 */
	const int index = index_of_plane(builder, pending->plane);
	if (status = make_plane(builder, index); status != SB_OK)
		return status;
	if (index >= 0 && builder->form == sums_form::items)
		added = sums_add_hits(&builder->sums, &builder->set, index, pending->half_lives, hashes, values, left, &status);
	else if (index >= 0 && !raises(builder) && !counts_apart(builder))
	{
		added = left;
		status = sums_add_items(&builder->sums, &builder->plan, index, pending->half_lives, hashes, values, left);
	}
	else
		status = add_item(builder, index, *hashes, pending->half_lives, *values);
	if (status == SB_OK)
		*done += static_cast<uint32_t>(added);
	return status;
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
	uint32_t done = 0;
	sb_status status = SB_OK;

	while (done < pending->count && status == SB_OK)
		status = add_some_pending(builder, &done);
	if (status == SB_OK)
		status = grow_if_needed(builder);
	if (status == SB_OK || status == SB_OVERFLOW)
		done = pending->count;
	pending->count -= done;
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
	const sb_status status = own_items(builder);
	if (status != SB_OK)
		return status;
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
	sb_status status = grow_if_needed(builder); /* may be due after an earlier failure */
	if (status == SB_OK)
		status = add_item(builder, index_of_plane(builder, builder->run.plane), hash, moment->half_lives, value);
	if (status == SB_OK)
		status = grow_if_needed(builder);
	if (status == SB_OK && builder->sums.width >= pending_from_words)
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
