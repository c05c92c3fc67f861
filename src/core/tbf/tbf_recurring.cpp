/*
 * tbf_recurring.cpp: the table of a filter with recurring minimum (Cohen, Matias 2003, section 3.3), while the filter
 * is built.
 *
 * An item's minimum is the smallest value of its cells. It *recurs* if at least two different cells hold it; then it is
 * likely that these cells have no hits of other items. If it does not recur, this is less likely. In the paper such an
 * item moves to a secondary filter, and a Bloom filter of the moved items says where to look. If that Bloom filter held
 * an item by mistake, the item would be looked for where its hits are not, and undercounted. Here one table of hashes
 * and counts replaces both the secondary filter and the Bloom filter, and makes no such mistakes.
 *
 * A hit is added to all the item's cells, and also to the item's entry in the table if it has one. If it has none, and
 * its minimum does not recur after the hit, it gets an entry with that minimum. Why an entry never undercounts: cells
 * count all hits, so the minimum is at least the item's hits when the entry is made. From then on, each hit of the
 * item is added to the entry. Hits of other items are not added to it, so an entry is never above the minimum of the
 * cells.
 */
#include "base/memory.hpp"
#include "base/stop.hpp"
#include "tbf/tbf_builder.hpp"
#include "tbf/tbf_cells.hpp"
#include "tbf/tbf_sums.hpp"

#include <algorithm>

using namespace streambloom;

/* Returns where the hits of a slot's item are, in units of 2^-12 hits: in the word beside the hash. */
static uint64_t *hits_of_slot(const sb_hash_set &recurring, uint64_t slot)
{
	return &recurring.slots[hash_set_place(slot, 1) + 4];
}

sb_status streambloom::make_recurring(sb_tbf_builder *builder)
{
	return hash_set_make(&builder->recurring, &builder->memory, hash_set_capacity_for(1), 1);
}

sb_status streambloom::add_recurring(sb_tbf_builder *builder, int index, uint64_t hash, int64_t half_lives,
									 uint64_t value)
{
	sb_hash_set *recurring = &builder->recurring;
	bool recurs;
	uint64_t minimum;
	sb_status status = hash_set_make_room(recurring, &builder->memory);
	if (status == SB_OK)
		status = sums_add_item(&builder->sums, &builder->plan, index, hash, half_lives, value);
	if (status != SB_OK)
		return status;
	if (const uint64_t slot = hash_set_find(recurring, hash); slot != UINT64_MAX)
		return add_to_word(hits_of_slot(*recurring, slot), value);
	status = sums_recurring_minimum(&builder->sums, &builder->plan, hash, &recurs, &minimum);
	if (status == SB_OK && !recurs)
		*hits_of_slot(*recurring, hash_set_insert(recurring, hash)) = minimum;
	return status;
}

/* ------------------------------------------------------------------- stored */

sb_status streambloom::read_recurring(sb_tbf_builder *builder, const sb_tbf *filter, const unsigned char *cells)
{
	const unsigned char *table = cells + counters_size(filter);
	const uint64_t count = recurring_entries(filter);

	/* room for all entries first: in a set that grows step by step, ascending hashes would crowd in the first slots */
	sb_status status = hash_set_remake(&builder->recurring, &builder->memory, hash_set_capacity_for(count + 1), 1);
	for (uint64_t i = 0; i < count && status == SB_OK; i++)
	{
		recurring_entry entry;
		if (i % tbf_batch == 0 && stop_wanted())
			return SB_INTERRUPTED;
		status = hash_set_make_room(&builder->recurring, &builder->memory);
		if (status != SB_OK)
			return status;
		read_entry(table, i, &entry);
		*hits_of_slot(builder->recurring, hash_set_insert(&builder->recurring, entry.hash)) = entry.hits;
	}
	return status;
}

uint32_t streambloom::size_of_recurring(const sb_tbf_builder *builder)
{
	const uint64_t too_many = SB_MAX_BYTES / recurring_entry_size + 1;
	return static_cast<uint32_t>(std::min(builder->recurring.count, too_many) * recurring_entry_size);
}

sb_status streambloom::write_recurring(const sb_tbf_builder *builder, unsigned char *table)
{
	const sb_hash_set *recurring = &builder->recurring;
	uint64_t *hashes;
	sb_status status = allocate_words(builder, std::max<uint64_t>(recurring->count, 1), &hashes);
	if (status != SB_OK)
		return status;
	status = hash_set_sort(recurring, hashes);
	for (uint64_t i = 0; i < recurring->count && status == SB_OK; i++)
	{
		if (i % tbf_batch == 0 && stop_wanted())
		{
			status = SB_INTERRUPTED;
			break;
		}
		const recurring_entry entry = {hashes[i], *hits_of_slot(*recurring, hash_set_find(recurring, hashes[i]))};
		write_entry(table, i, &entry);
	}
	release_words(builder, hashes);
	return status;
}
