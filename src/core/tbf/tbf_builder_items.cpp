/*
 * tbf_builder_items.cpp: a builder whose sums are of items. Its set grows, and takes the items of other builders, until
 * the builder goes over to sums of cells. Items are read some at a time, from a set or from runs (the sorted items of
 * parallel workers).
 */
#include "base/memory.hpp"
#include "base/stop.hpp"
#include "tbf/tbf_builder.hpp"
#include "tbf/tbf_sums.hpp"

#include <algorithm>
#include <utility>

using namespace streambloom;

outgrown_at streambloom::outgrown;

/* ------------------------------------------------------------------ reading */

static_assert(tbf_batch == item_run_reader::at_once);

size_t item_reader::next()
{
	if (of_->form == sums_form::runs)
	{
		while (count_ = run_.next(hashes_), count_ == 0 && run_.run()->next != nullptr)
			run_ = item_run_reader(run_.run()->next);
		return count_;
	}
	for (count_ = 0; count_ < tbf_batch && next_ <= of_->set.capacity; count_++)
	{
		slots_[count_] = hash_set_next(&of_->set, next_, &hashes_[count_]);
		if (slots_[count_] == UINT64_MAX)
		{
			next_ = of_->set.capacity + 1;
			break;
		}
		next_ = slots_[count_] + 1;
	}
	return count_;
}

const uint64_t *item_reader::words(int index)
{
	if (of_->form == sums_form::runs)
		run_.words(of_->sums.newest_plane - index, words_);
	else
		for (size_t i = 0; i < count_; i++)
			words_[i] = of_->sums.plane[index][hash_set_place(slots_[i], of_->set.beside)];
	return words_;
}

/* ----------------------------------------------------------------- growing */

sb_status streambloom::remake_items(sb_tbf_builder *builder, uint64_t capacity, uint32_t beside)
{
	tbf_sums *sums = &builder->sums;
	const uint64_t *slots = builder->set.slots;
	ptrdiff_t place[2][SB_TBF_PLANES];
	for (int i = 0; i < SB_TBF_PLANES; i++)
	{
		place[0][i] = sums->plane[i] != nullptr ? sums->plane[i] - slots : 0;
		place[1][i] = sums->fallen[i] != nullptr ? sums->fallen[i] - slots : 0;
	}
	if (sb_status status = hash_set_remake(&builder->set, &builder->memory, capacity, beside); status != SB_OK)
		return status;
	sums->width = capacity + 1;
	sums->beside = beside;
	for (int i = 0; i < SB_TBF_PLANES; i++)
	{
		sums->plane[i] = place[0][i] != 0 ? builder->set.slots + place[0][i] : nullptr;
		sums->fallen[i] = place[1][i] != 0 ? builder->set.slots + place[1][i] : nullptr;
	}
	return SB_OK;
}

bool streambloom::may_have_capacity(const sb_tbf_builder *builder, uint64_t capacity)
{
	return builder->self_sized ? capacity <= outgrown.set_slots : capacity * 2 <= sb_tbf_cells(&builder->plan);
}

/* Moves the items to a larger set, or to cells (may_have_capacity()). */
static sb_status grow_set(sb_tbf_builder *builder, uint64_t capacity)
{
	return may_have_capacity(builder, capacity) ? remake_items(builder, capacity, builder->set.beside) :
												  outgrow(builder);
}

sb_status streambloom::grow(sb_tbf_builder *builder)
{
	const uint64_t capacity = builder->set.capacity;
	return hash_set_has_room(&builder->set) ? remake_items(builder, capacity, builder->set.beside) :
											  grow_set(builder, hash_set_next_capacity(capacity));
}

sb_status streambloom::grow_to(sb_tbf_builder *builder, uint64_t items)
{
	const uint64_t capacity = hash_set_capacity_for(items);
	return capacity > builder->set.capacity ? grow_set(builder, capacity) : grow_if_needed(builder);
}

/* ------------------------------------------------------------------- adding */

sb_status streambloom::add_words(sb_tbf_builder *builder, int index, const uint64_t *hashes, const uint64_t *words,
								 size_t count)
{
	const int64_t half_lives = start_of_plane(&builder->sums, index);
	sb_status status = SB_OK;
	if (builder->form == sums_form::items)
	{
		(void) sums_add_hits(&builder->sums, &builder->set, index, half_lives, hashes, words, count, &status);
		return status;
	}
	if (!raises(builder))
		return sums_add_items(&builder->sums, &builder->plan, index, half_lives, hashes, words, count);
	for (size_t i = 0; i < count && status == SB_OK; i++)
		status = sums_raise_item(&builder->sums, &builder->plan, index, hashes[i], half_lives, words[i], true);
	return status;
}

/* --------------------------------------------------------- from items to cells */

/*
 * With minimum increase: raises each cell to the largest sum of its items. So each cell of an item is at least the
 * item's sum, and the result does not depend on the order of the items.
 */
static sb_status raise_cells(sb_tbf_builder *builder, const sb_tbf_builder *items, item_reader *reader, size_t count)
{
	sb_status status = SB_OK;
	uint64_t of_items[SB_TBF_PLANES][tbf_batch] = {};
	for (int i = 0; i < SB_TBF_PLANES; i++)
		if (has_plane(items, i))
			std::copy_n(reader->words(i), count, of_items[i]);
	for (size_t j = 0; j < count && status == SB_OK; j++)
	{
		uint64_t of_item[SB_TBF_PLANES];
		for (int i = 0; i < SB_TBF_PLANES; i++)
			of_item[i] = of_items[i][j];
		status = sums_raise_item_to(&builder->sums, &builder->plan, reader->hashes()[j], of_item);
	}
	return status;
}

/*
 * Adds all items of `items` to the builder, in the planes of the same indices. With minimum increase and cells,
 * raise_cells() does this. REQUIRES: the builder has these planes.
 */
static sb_status copy_items(sb_tbf_builder *builder, const sb_tbf_builder *items)
{
	item_reader reader(items);
	sb_status status = SB_OK;
	while (const size_t count = reader.next())
	{
		if (stop_wanted())
			return SB_INTERRUPTED;
		if (builder->form == sums_form::cells && raises(builder))
		{
			if (status = raise_cells(builder, items, &reader, count); status != SB_OK)
				return status;
			continue;
		}
		if (builder->form == sums_form::items)
			(void) hash_set_insert_many(&builder->set, reader.hashes(), count);
		for (int i = 0; i < SB_TBF_PLANES && status == SB_OK; i++)
			if (has_plane(items, i))
				status = add_words(builder, i, reader.hashes(), reader.words(i), count);
		if (status == SB_OK)
			status = grow_if_needed(builder);
		if (status != SB_OK)
			return status;
	}
	return SB_OK;
}

void streambloom::release_sums(sb_tbf_builder *builder)
{
	for (cell_plane *plane : builder->sums.cells)
		release_cell_plane(plane);
	if (builder->set.slots != nullptr)
		sb_hash_set_release(&builder->set, &builder->memory);
	release_runs(builder);
}

/*
 * Makes the planes that `items` has, copies the items, and releases the sums of `items`. If the builder has sums of
 * cells now, also adds the sums in builder->filters to them. If something fails, releases the new sums of the builder
 * instead, and the builder becomes `items` again.
 */
static sb_status take_over(sb_tbf_builder *builder, sb_tbf_builder *items)
{
	sb_status status = SB_OK;
	for (int i = 0; i < SB_TBF_PLANES && status == SB_OK; i++)
		if (has_plane(items, i))
			status = make_plane(builder, i);
	if (status == SB_OK)
		status = copy_items(builder, items);
	if (status == SB_OK && builder->form == sums_form::cells && builder->filters != nullptr)
	{
		sums_combine_notes(&builder->sums, &builder->filters->sums);
		status = unite_cells(builder, builder->filters);
		if (status == SB_OK)
			sb_tbf_builder_release(std::exchange(builder->filters, nullptr));
	}
	release_sums(status == SB_OK ? items : builder);
	if (status != SB_OK)
		*builder = *items;
	return status;
}

static void forget_sums(sb_tbf_builder *builder)
{
	builder->set = {};
	builder->runs = {};
	std::fill_n(builder->sums.plane, SB_TBF_PLANES, nullptr);
	std::fill_n(builder->sums.fallen, SB_TBF_PLANES, nullptr);
	std::fill_n(builder->sums.cells, SB_TBF_PLANES, nullptr);
}

void streambloom::forget_items(sb_tbf_builder *builder)
{
	sb_hash_set_release(&builder->set, &builder->memory);
	forget_sums(builder);
}

sb_status streambloom::items_to_cells(sb_tbf_builder *builder, const sb_tbf *sized)
{
	sb_tbf_builder items = *builder;
	forget_sums(builder);
	builder->form = sums_form::cells;
	if (builder->self_sized)
	{
		plan_cells(&builder->plan, sized);
		builder->plan.expected_items = sized->expected_items;
	}
	builder->never_few = count_items(&items) * builder->plan.hash_count >=
						 uint64_t{builder->plan.block_count} * (most_few / 2);
	builder->sums.width = sb_tbf_cells(&builder->plan);
	builder->sums.beside = 0;
	return take_over(builder, &items);
}

sb_status streambloom::outgrow(sb_tbf_builder *builder)
{
	sb_tbf sized = largest_filter();
	if (builder->filters != nullptr)
		sized = sized_by_both(&builder->filters->plan, &sized);
	return items_to_cells(builder, &sized);
}

sb_status streambloom::own_items(sb_tbf_builder *builder)
{
	if (builder->form != sums_form::runs)
		return SB_OK;
	if (sb_status status = count_different_items(builder); status != SB_OK)
		return status;
	sb_tbf_builder items = *builder;
	uint32_t beside = 0;
	for (int i = 0; i < SB_TBF_PLANES; i++)
		beside += has_plane(&items, i);
	forget_sums(builder);
	builder->form = sums_form::items;

	/* The set has room for all items before the first is inserted; make_room_for() says why. */
	const uint64_t capacity = hash_set_capacity_for(items.runs.different + 1);
	const sb_status status = hash_set_make(&builder->set, &builder->memory, capacity, std::max(beside, 1u));
	if (status != SB_OK)
	{
		*builder = items;
		return status;
	}
	builder->sums.width = capacity + 1;
	builder->sums.beside = builder->set.beside;
	return take_over(builder, &items);
}

/* ------------------------------------------------------------------ uniting */

/*
 * Makes room in the builder's set for the items of `other`, before any of them is inserted. The items mostly come in
 * the order of their hashes. If the set grew while they are inserted, they would fill its beginning first, and searches
 * there would take long. Items that the set already has are not counted, so that the form of the builder depends only
 * on the number of distinct items.
 */
static sb_status make_room_for(sb_tbf_builder *builder, const sb_tbf_builder *other)
{
	item_reader reader(other);
	uint64_t missing;
	const sb_status status = count_missing(&builder->set, &reader, &missing);
	return status == SB_OK ? grow_to(builder, builder->set.count + missing + 1) : status;
}

/* Adds some items of `other` to the planes that match. */
static sb_status unite_some(sb_tbf_builder *builder, const sb_tbf_builder *other, item_reader *reader, size_t count)
{
	bool inserted = false;
	for (int i = 0; i < SB_TBF_PLANES; i++)
	{
		const int index = has_plane(other, i) ? sums_matching_plane(&builder->sums, &other->sums, i) : -1;
		if (index < 0)
			continue;
		if (sb_status status = add_words(builder, index, reader->hashes(), reader->words(i), count); status != SB_OK)
			return status;
		inserted = true;
	}

	/* insert the items even if all their hits have fallen out: the filter's size depends on the number of items */
	if (builder->form == sums_form::items && !inserted)
		(void) hash_set_insert_many(&builder->set, reader->hashes(), count);
	return grow_if_needed(builder);
}

sb_status streambloom::unite_items(sb_tbf_builder *builder, const sb_tbf_builder *other)
{
	item_reader reader(other);
	sb_status status = builder->form == sums_form::items ? make_room_for(builder, other) : SB_OK;
	for (int i = 0; i < SB_TBF_PLANES && status == SB_OK; i++)
		if (has_plane(other, i))
			status = make_plane(builder, sums_matching_plane(&builder->sums, &other->sums, i));
	while (status == SB_OK)
	{
		const size_t count = reader.next();
		if (count == 0)
			break;
		status = stop_wanted() ? SB_INTERRUPTED : unite_some(builder, other, &reader, count);
	}
	return status;
}
