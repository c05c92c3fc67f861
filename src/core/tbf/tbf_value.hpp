/*
 * tbf_value.hpp: makes a stored tbf in one block of memory, which it allocates from the caller's sb_memory. For the
 * core's own files.
 */
#ifndef STREAMBLOOM_TBF_VALUE_HPP
#define STREAMBLOOM_TBF_VALUE_HPP

#include "base/stop.hpp"
#include "tbf/tbf_cells.hpp"
#include "tbf/tbf_place.hpp"

namespace streambloom {

/*
 * A block with `in_front` bytes for the caller, the header, the counters, and what follows the counters. The
 * destructor releases it unless hand_over() was called.
 */
class value_block
{
public:
	value_block(const sb_memory *memory, size_t in_front) : memory_(memory), in_front_(in_front) {}
	value_block(const value_block &) = delete;
	value_block &operator=(const value_block &) = delete;
	~value_block() { release(); }

	/*
	 * Allocates room for `size` bytes after the header. They are not zeroed: the caller has to write all bytes that
	 * the value will have.
	 */
	sb_status allocate(size_t size)
	{
		block_ = static_cast<unsigned char *>(memory_->allocate(memory_->context, in_front_ + SB_TBF_HEADER + size));
		return block_ != nullptr ? SB_OK : SB_NO_MEMORY;
	}
	void release()
	{
		if (block_ != nullptr)
			memory_->release(memory_->context, block_);
		block_ = nullptr;
	}

	/* Returns where the counters begin. REQUIRES: allocate(). */
	unsigned char *cells() { return block_ + in_front_ + SB_TBF_HEADER; }

	/* Writes the header and sets *value to the block, which the caller owns from then on. */
	void hand_over(const sb_tbf *header, void **value)
	{
		sb_tbf_encode_header(header, block_ + in_front_);
		*value = block_;
		block_ = nullptr;
	}

private:
	const sb_memory *memory_;
	size_t in_front_;
	unsigned char *block_ = nullptr;
};

/*
 * Allocates a value and packs its counters, as pack_cells() does, with `extra` bytes after them. First offers `room`
 * bytes for the counters; if these are too few, packs once more. SB_TOO_LARGE: *planned says how large the value would
 * be. May also return SB_BAD_CELLS, SB_NO_MEMORY, SB_INTERRUPTED, and whatever produce() returns.
 */
template <typename Pack>
sb_status pack_to_fit(value_block *value, sb_tbf *planned, size_t room, size_t extra, Pack pack)
{
	for (;;)
	{
		room = std::min<size_t>(room, SB_MAX_BYTES - SB_TBF_HEADER);
		sb_status status = value->allocate(room + extra);
		if (status == SB_OK)
			status = pack(value->cells(), room);
		if (status != SB_TOO_LARGE || planned->payload <= room || sb_tbf_size(planned) > SB_MAX_BYTES)
			return status;
		value->release();
		room = planned->payload;
	}
}

template <typename Produce>
sb_status pack_value(value_block *value, sb_tbf *planned, size_t room, Produce produce)
{
	return pack_to_fit(value, planned, room, planned->extra, [=](unsigned char *cells, size_t now) {
		return pack_cells(planned, cells, now, produce);
	});
}

/*
 * Changes a flat value: change(extensible, cells, &changed, &value) makes a new value, without bytes in front, of the
 * same filter in the extensible layout. *out and *value become the changed one in the flat layout.
 */
template <typename Change>
sb_status change_flat(const sb_tbf *flat, const void *cells, const sb_memory *to, size_t in_front, sb_tbf *out,
					  void **value, Change change)
{
	sb_tbf header[2];
	void *values[2] = {};
	const auto cells_of = [&](int i) { return static_cast<unsigned char *>(values[i]) + SB_TBF_HEADER; };
	sb_status status = sb_tbf_set_layout(flat, cells, SB_TBF_EXTENSIBLE, to, 0, &header[0], &values[0]);
	if (status == SB_OK)
		status = change(&header[0], cells_of(0), &header[1], &values[1]);
	if (status == SB_OK && values[1] != nullptr)
		status = sb_tbf_set_layout(&header[1], cells_of(1), SB_TBF_FLAT, to, in_front, out, value);
	for (void *made : values)
		if (made != nullptr)
			to->release(to->context, made);
	return status;
}

/*
 * Allocates an exact value with these items, and sets the fields of *planned that describe them. The caller writes the
 * planned->extra bytes after the items.
 */
inline sb_status fill_exact_value(value_block *value, sb_tbf *planned, const exact_item *items, uint32_t count)
{
	describe_items(items, count, planned);
	const sb_status status = value->allocate(sb_tbf_size(planned) - SB_TBF_HEADER);
	if (status == SB_OK)
		write_list(to_list(items, count), value->cells());
	return status;
}

/*
 * Makes an exact value with the same items but other counts: change(item) may change item->units. Items whose units
 * become 0 are left out. May return SB_BAD_CELLS, SB_INTERRUPTED, SB_NO_MEMORY, and whatever `change` returns.
 */
template <typename Change>
sb_status change_exact_value(const sb_tbf *filter, const void *cells, const sb_memory *memory, value_block *value,
							 sb_tbf *planned, Change change)
{
	auto *items = static_cast<exact_item *>(
		memory->allocate(memory->context, (size_t{filter->item_count} + 1) * sizeof(exact_item)));
	if (items == nullptr)
		return SB_NO_MEMORY;
	exact_reader reader(filter, cells);
	sb_status status = SB_OK;
	uint32_t left = 0;
	while (const size_t count = status == SB_OK ? reader.next() : 0)
		for (size_t i = 0; i < count && status == SB_OK; i++)
		{
			exact_item item = {reader.hashes()[i], reader.units()[i]};
			status = left < filter->item_count ? change(&item) : SB_BAD_CELLS;
			if (status == SB_OK && item.units != 0)
				items[left++] = item;
		}
	if (status == SB_OK)
		status = stop_wanted() ? SB_INTERRUPTED : reader.status();
	if (status == SB_OK)
		status = fill_exact_value(value, planned, items, left);
	memory->release(memory->context, items);
	return status;
}

} // namespace streambloom

#endif
