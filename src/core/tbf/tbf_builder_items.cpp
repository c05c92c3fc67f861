/*
 * tbf_builder_items.cpp: sums of items. The set grows, and takes the items of exact filters and of other builders, until
 * the builder goes over to sums of cells.
 */
#include "tbf/tbf_builder.hpp"

#include <utility>

using namespace streambloom;

outgrown_at streambloom::outgrown;

/* Calls take(hashes, slots, count) for all items, some at a time, until a call does not return SB_OK. */
template <typename Take>
static sb_status for_items(const tbf_sums *sums, Take take)
{
	sb_status status = SB_OK;
	in_batches(&sums->set, [&](const uint64_t *hashes, const uint64_t *slots, size_t count) {
		if (status == SB_OK && count != 0)
			status = stop_wanted() ? SB_INTERRUPTED : take(hashes, slots, count);
	});
	return status;
}

/* ----------------------------------------------------------------- growing */

bool streambloom::may_have_capacity(const sb_tbf_builder *builder, uint64_t capacity)
{
	return builder->self_sized ? capacity <= outgrown.set_slots : capacity * 2 <= sb_tbf_cells(&builder->plan);
}

sb_status streambloom::grow_to(sb_tbf_builder *builder, uint64_t items)
{
	sb_hash_set *set = &builder->sums.set;
	const uint64_t capacity = std::max(hash_set_capacity_for(items), set->capacity);
	if (capacity == set->capacity && !hash_set_wants_secret(set))
		return SB_OK;
	if (capacity == set->capacity || may_have_capacity(builder, capacity))
		return hash_set_remake(set, &builder->memory, capacity, set->beside);
	sb_tbf sized = largest_filter();
	if (builder->shape.block_count != 0)
		sized = sized_by_both(&builder->shape, &sized);
	return items_to_cells(builder, &sized);
}

/* --------------------------------------------------------- from items to cells */

void streambloom::release_sums(sb_tbf_builder *builder)
{
	for (const plane_sums &plane : builder->sums.planes)
		release_cell_plane(plane.cells);
	if (has_items(&builder->sums))
		sb_hash_set_release(&builder->sums.set, &builder->memory);
}

sb_status streambloom::reshape(sb_tbf_builder *builder, const sb_tbf *larger, bool items)
{
	tbf_sums *sums = &builder->sums;
	cell_plane *made[SB_TBF_PLANES] = {};
	sb_status status = SB_OK;
	if (!items && sb_tbf_cells(larger) == sb_tbf_cells(&builder->shape))
	{
		builder->shape = *larger;
		return SB_OK;
	}
	const bool never_few = builder->never_few || (items && sums->set.count * builder->plan.hash_count >=
															   uint64_t{larger->block_count} * (most_few / 2));
	for (int i = 0; i < SB_TBF_PLANES && status == SB_OK; i++)
	{
		const plane_sums &plane = sums->planes[i];
		if (plane.cells == nullptr && !(items && plane.column != 0))
			continue;
		status = make_cell_plane(&builder->memory, larger, &made[i]);
		if (status == SB_OK)
			made[i]->never_few = never_few;
		if (status == SB_OK && plane.cells != nullptr)
			status = add_cell_plane(made[i], plane.cells);
	}
	if (status == SB_OK && items)
		status = for_items(sums, [&](const uint64_t *hashes, const uint64_t *slots, size_t count) {
			uint64_t words[tbf_batch];
			sb_status added = SB_OK;
			for (int i = 0; i < SB_TBF_PLANES && added == SB_OK; i++)
				if (sums->planes[i].column != 0)
				{
					read_words(sums, i, slots, count, words);
					added = add_to_plane(made[i], builder->plan.hash_count, 0, hashes, words, count);
				}
			return added;
		});
	for (int i = 0; i < SB_TBF_PLANES; i++)
		release_cell_plane(status == SB_OK ? std::exchange(sums->planes[i].cells, made[i]) : made[i]);
	if (status != SB_OK)
		return status;
	builder->shape = *larger;
	builder->never_few = never_few;
	if (items)
	{
		sb_hash_set_release(&sums->set, &builder->memory);
		sums->set = {};
		sums->fallen = 0;
		for (plane_sums &plane : sums->planes)
			plane.column = 0;
	}
	return SB_OK;
}

sb_status streambloom::items_to_cells(sb_tbf_builder *builder, const sb_tbf *sized)
{
	sb_tbf plan = builder->plan;
	if (builder->self_sized)
	{
		plan_cells(&plan, sized);
		plan.expected_items = sized->expected_items;
	}
	const sb_status status = reshape(builder, &plan, true);
	if (status == SB_OK)
		builder->plan = plan;
	return status;
}

/* ------------------------------------------------------------------- adding */

/* Adds words to some items in one plane; each word is an amount at the plane's first half-life. */
static sb_status add_words(sb_tbf_builder *builder, int index, const uint64_t *hashes, const uint64_t *words,
						   size_t count)
{
	tbf_sums *sums = &builder->sums;
	sb_status status = SB_OK;
	if (!has_items(sums))
		return add_to_plane(sums->planes[index].cells, builder->plan.hash_count, 0, hashes, words, count);
	(void) sums_add_hits(sums, index, start_of_plane(sums, index), hashes, words, count, &status);
	return status;
}

/*
 * Adds some items, whose words are `words(part)` for parts 0 .. parts - 1, to the planes `index_of(part)`; words of a
 * plane that has fallen out (-1) are dropped. REQUIRES: room for the items.
 */
template <typename Index, typename Words>
static sb_status add_some(sb_tbf_builder *builder, const uint64_t *hashes, size_t count, int parts, Index index_of,
						  Words words)
{
	sb_status status = grow_if_needed(builder); /* the set may want a secret */
	bool inserted = !has_items(&builder->sums);
	for (int part = 0; part < parts && status == SB_OK; part++)
		if (const int index = index_of(part); index >= 0)
		{
			status = add_words(builder, index, hashes, words(part), count);
			inserted = true;
		}

	/* insert the items even if all their hits were dropped: the filter's size depends on the number of items */
	if (status == SB_OK && !inserted)
		(void) hash_set_insert_many(&builder->sums.set, hashes, count);
	return status;
}

/*
 * Makes room in the builder's set for the items of `other`, before any of them is inserted. The items mostly come in
 * the order of their hashes. If the set grew while they are inserted, they would fill its beginning first, and searches
 * there would take long. Items that the set already has are not counted, so that it depends only on the number of
 * distinct items whether they become cells.
 */
static sb_status make_room_for(sb_tbf_builder *builder, const tbf_sums *other)
{
	const sb_hash_set *set = &builder->sums.set;
	uint64_t wanted = set->count + 1;
	if (!has_items(&builder->sums))
		return SB_OK;
	const sb_status status = for_items(other, [&](const uint64_t *hashes, const uint64_t *, size_t count) {
		wanted += hash_set_missing(set, hashes, count);
		return SB_OK;
	});
	return status == SB_OK ? grow_to(builder, wanted) : status;
}

sb_status streambloom::unite_items(sb_tbf_builder *builder, const tbf_sums *other)
{
	const auto index_of = [=](int i) {
		return other->planes[i].column != 0 ? sums_matching_plane(&builder->sums, other, i) : -1;
	};
	sb_status status = make_room_for(builder, other);
	for (int i = 0; i < SB_TBF_PLANES && status == SB_OK; i++)
		status = make_plane(builder, index_of(i));
	if (status == SB_OK)
		status = for_items(other, [&](const uint64_t *hashes, const uint64_t *slots, size_t count) {
			uint64_t words[tbf_batch];
			return add_some(builder, hashes, count, SB_TBF_PLANES, index_of, [&](int i) {
				read_words(other, i, slots, count, words);
				return words;
			});
		});
	return status == SB_OK ? grow_if_needed(builder) : status;
}

/* Does what make_room_for() does. Items are only looked for if the set would have to grow. */
static sb_status make_room_for_exact(sb_tbf_builder *builder, const sb_tbf *filter, const void *cells)
{
	const sb_hash_set *set = &builder->sums.set;
	uint64_t wanted = set->count + filter->item_count + 1;
	if (!has_items(&builder->sums))
		return SB_OK;
	if (set->count != 0 && hash_set_capacity_for(wanted) > set->capacity)
	{
		exact_reader reader(filter, cells);
		wanted = set->count + 1;
		while (const size_t count = reader.next())
		{
			if (stop_wanted())
				return SB_INTERRUPTED;
			wanted += hash_set_missing(set, reader.hashes(), count);
		}
		if (reader.status() != SB_OK)
			return reader.status();
	}
	return grow_to(builder, wanted);
}

sb_status streambloom::add_exact_filter(sb_tbf_builder *builder, const sb_tbf *filter, const void *cells,
										const filter_weight *weight)
{
	sb_status status = weight->factor != 0 ? make_room_for_exact(builder, filter, cells) : SB_OK;
	if (status != SB_OK)
		return status;
	int planes;
	const bool any = builder->sums.any;
	const int index = sums_turn_for_weighted(&builder->sums, filter, weight, &planes);
	status = make_planes(builder, index, planes, any);
	if (status != SB_OK)
		return status;
	weighted_items items(&builder->sums, index, filter, cells, weight);
	size_t count = 1;
	while (status == SB_OK && count != 0)
	{
		status = stop_wanted() ? SB_INTERRUPTED : items.next(&count);
		if (status == SB_OK && count != 0)
			status = add_some(
				builder, items.hashes(), count, items.parts(), [&](int part) { return items.plane_of_part(part); },
				[&](int part) { return items.words(part); });
	}
	items.note_losses();
	return status;
}
