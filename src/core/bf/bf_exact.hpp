/*
 * bf_exact.hpp: the exact form of a bf: a list of the hashes of its items (base/hash_list.hpp). For the core's own files
 * and its tests; everybody else goes through the headers sb_*.h.
 */
#ifndef STREAMBLOOM_BF_EXACT_HPP
#define STREAMBLOOM_BF_EXACT_HPP

#include "base/hash_list.hpp"
#include "base/stop.hpp"
#include "streambloom.h"

namespace streambloom {

/* `stored`: the bytes that follow the header */
inline hash_list list_of(const sb_bf *bf, const void *stored)
{
	return {bf->item_count, false, stored, bf->payload};
}

/*
 * Calculates the number of bytes of a list. add() tells it the hash of each item, in any order. REQUIRES: items <=
 * SB_BF_EXACT_ITEMS.
 */
class list_sizer
{
public:
	explicit list_sizer(uint32_t items) : list_(items, false, nullptr, 0) {}
	void add(uint64_t hash) { of_block_[list_.digits.block(hash)]++; }
	size_t size() const
	{
		size_t size = list_.directory();
		for (uint32_t block = 0; block < list_.blocks(); block++)
			size += of_block_[block] != 0 ? (list_.block_bits(of_block_[block], 0) + 7) / 8 : 0;
		return size;
	}

private:
	hash_list list_;
	uint32_t of_block_[SB_BF_EXACT_ITEMS / 128] = {};
};

/*
 * Makes *bf the header of a list of `items` items that takes `payload` bytes after the header. kind, hash_count and
 * fpr stay.
 */
void plan_list(sb_bf *bf, uint32_t items, size_t payload);

/*
 * Calls take(hashes, count) until all hashes of a list were given to it, some at a time. take() returns a status; any
 * other than SB_OK ends the walk and is returned. May return SB_INTERRUPTED.
 */
template <typename Take>
[[nodiscard]] sb_status for_each_hash(const sb_bf *bf, const void *stored, Take take)
{
	list_reader reader(list_of(bf, stored));
	while (const size_t count = reader.next())
		if (const sb_status status = stop_wanted() ? SB_INTERRUPTED : take(reader.hashes(), count); status != SB_OK)
			return status;
	return reader.status();
}

} // namespace streambloom

#endif
