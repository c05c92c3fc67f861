/*
 * tbf_top_list.cpp: enters new items into the list of hot items (tbf_top.hpp), for which it makes room; adds stored
 * lists and the lists of other builders to it; and releases its memory. sb_top.h says what the list guarantees;
 * tbf_top.cpp has its arithmetic.
 */
#include "tbf/tbf_top.hpp"

#include "base/memory.hpp"
#include "tbf/tbf_cells.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace streambloom;

/* ------------------------------------------------------------------- memory */

constexpr uint32_t smallest_room = 16;

namespace {

/* The arrays of a list that have `room` entries, or a length that follows from `room`. */
struct tables
{
	void *entries = nullptr;
	void *scratch = nullptr;
	void *slots = nullptr;

	sb_status allocate(const sb_memory *memory, uint32_t room)
	{
		sb_status status = allocate_zeroed(memory, room * sizeof(top_entry), &entries);
		if (status == SB_OK)
			status = allocate_zeroed(memory, room * sizeof(top_key), &scratch);
		if (status == SB_OK)
			status = allocate_zeroed(memory, top_slots(room) * sizeof(uint32_t), &slots);
		if (status != SB_OK)
			release(memory);
		return status;
	}
	void release(const sb_memory *memory) const
	{
		for (void *block : {entries, scratch, slots})
			if (block != nullptr)
				memory->release(memory->context, block);
	}
};

} // namespace

static tables tables_of(const top_list *list)
{
	return {list->entries, list->scratch, list->slots};
}

static sb_status enlarge_tables(top_list *list, const sb_memory *memory, uint32_t room)
{
	const tables old = tables_of(list);
	tables larger;
	if (sb_status status = larger.allocate(memory, room); status != SB_OK)
		return status;
	if (list->count != 0)
		std::memcpy(larger.entries, old.entries, list->count * sizeof(top_entry));
	list->entries = static_cast<top_entry *>(larger.entries);
	list->scratch = static_cast<top_key *>(larger.scratch);
	list->slots = static_cast<uint32_t *>(larger.slots);
	list->room = room;
	top_index(list);
	old.release(memory);
	return SB_OK;
}

static sb_status enlarge_bytes(top_list *list, const sb_memory *memory)
{
	const uint32_t room = std::max(2 * list->bytes_room, list->bytes_used + SB_TOP_MAX_ITEM);
	void *larger;
	if (sb_status status = allocate_zeroed(memory, room, &larger); status != SB_OK)
		return status;
	if (list->bytes != nullptr)
	{
		std::memcpy(larger, list->bytes, list->bytes_used);
		memory->release(memory->context, list->bytes);
	}
	list->bytes = static_cast<unsigned char *>(larger);
	list->bytes_room = room;
	return SB_OK;
}

/*
 * Makes room for one more entry whose text has `length` bytes. A list of 2 * limit entries is purged; a smaller one
 * gets larger tables if they are full.
 */
static sb_status make_room(top_list *list, const sb_memory *memory, uint32_t length)
{
	const uint32_t most = 2 * list->limit;
	if (list->count >= most)
		top_purge(list);
	const uint32_t larger = std::min(std::max(2 * list->room, smallest_room), most);
	if (list->count == list->room)
		if (sb_status status = enlarge_tables(list, memory, larger); status != SB_OK)
			return status;
	return list->bytes_room - list->bytes_used < length ? enlarge_bytes(list, memory) : SB_OK;
}

void streambloom::release_list(top_list *list, const sb_memory *memory)
{
	tables_of(list).release(memory);
	if (list->bytes != nullptr)
		memory->release(memory->context, list->bytes);
	*list = {};
}

/* ------------------------------------------------------------------- adding */

sb_status streambloom::insert_item(top_list *list, const sb_memory *memory, const pending_item &item, const void *text,
								   size_t length)
{
	const auto kept = static_cast<uint32_t>(std::min<size_t>(length, SB_TOP_MAX_ITEM));
	const int64_t base = list->base;
	sb_status status = make_room(list, memory, kept);
	if (status == SB_OK)
		top_insert(list, item.hash, item.least, text, kept);
	else
		top_add_error(list, base, item.least);
	return status;
}

static sb_status add_entry(top_list *list, const sb_memory *memory, uint64_t hash, int64_t base, sb_u128 least,
						   const void *text, uint32_t length)
{
	if (top_add(list, hash, base, &least, 0))
		return SB_OK;
	return insert_item(list, memory, {hash, least}, text, length);
}

sb_status streambloom::add_section(top_list *list, const sb_memory *memory, const top_section &section, int64_t base)
{
	top_section rest = section;
	sb_top_item item;
	sb_status status = SB_OK;
	top_add_error(list, base, top_amount(&section, section.error));
	while (status == SB_OK && top_next(&rest, &item))
		status = add_entry(list, memory, item.hash, base, top_amount(&section, item.least), item.bytes, item.length);
	return status;
}

sb_status streambloom::add_stored_list(top_list *list, const sb_memory *memory, const sb_tbf *filter, const void *cells)
{
	if (!has_list(filter))
		return SB_OK;
	const unsigned char *bytes = static_cast<const unsigned char *>(cells) + counters_size(filter);
	top_section section;
	const sb_status status = top_open(bytes, filter->extra, filter->top, filter->total, &section);
	return status != SB_OK ? status : add_section(list, memory, section, filter->base);
}

sb_status streambloom::unite_lists(top_list *list, const sb_memory *memory, const top_list *other)
{
	sb_status status = SB_OK;
	if (!other->any)
		return SB_OK;
	top_add_error(list, other->base, other->error);
	for (uint32_t i = 0; i < other->count && status == SB_OK; i++)
	{
		const top_entry *entry = &other->entries[i];
		status = add_entry(list, memory, entry->hash, other->base, entry->least, other->bytes + entry->offset,
						   entry->length);
	}
	return status;
}

sb_status streambloom::add_weighted_list(top_list *list, const sb_memory *memory, const sb_tbf *filter,
										 const void *cells, double weight)
{
	if (weight == 0)
		return SB_OK;
	if (weight == 1)
		return add_stored_list(list, memory, filter, cells);

	int exponent;
	double mantissa = std::frexp(weight, &exponent);
	for (; mantissa != std::floor(mantissa); exponent--)
		mantissa *= 2;
	top_list part{};
	part.limit = filter->top;
	sb_status status = add_stored_list(&part, memory, filter, cells);
	if (status == SB_OK)
		status = top_scale(&part, static_cast<uint64_t>(mantissa), exponent);
	if (status == SB_OK)
		status = unite_lists(list, memory, &part);
	release_list(&part, memory);
	return status;
}
