/*
 * tbf_exact.hpp: the exact form of a small tbf: a list of the hashes of its items with their counts
 * (base/hash_list.hpp). For the core's own files and its tests; the extension looks items up through sb_lookup.h.
 */
#ifndef STREAMBLOOM_TBF_EXACT_HPP
#define STREAMBLOOM_TBF_EXACT_HPP

#include "base/hash_list.hpp"
#include "streambloom.h"

namespace streambloom {

/* An item and its count, in units (see sb_tbf.unit_bits). */
struct exact_item
{
	uint64_t hash;	/* the bits that are not kept are 0 */
	uint64_t units; /* 1 .. SB_TBF_MAX_CELL - 1 */
};

inline bool is_exact(const sb_tbf *tbf)
{
	return (tbf->flags & SB_TBF_EXACT) != 0;
}

/* Returns the unit_bits of a filter (exact or with cells, as its flags say) whose counts are not all whole hits. */
inline uint8_t unit_bits_of_parts(const sb_tbf *tbf)
{
	return is_exact(tbf) ? SB_TBF_HIT_BITS : SB_TBF_UNIT_BITS;
}

/* `cells`: the bytes that follow the header */
inline hash_list list_of(const sb_tbf *exact, const void *cells)
{
	return {exact->item_count, true, cells, exact->payload};
}

inline items_to_list to_list(const exact_item *items, uint32_t count)
{
	static_assert(sizeof(exact_item) == 2 * sizeof(uint64_t));
	return {&items->hash, count, true};
}

/*
 * Sets the fields of a header that describe these items: their number, the width of the largest count, and the number
 * of bytes that write_list() writes. REQUIRES: count <= SB_TBF_EXACT_ITEMS, the hashes ascend, and no two are equal.
 */
void describe_items(const exact_item *items, uint32_t count, sb_tbf *out);

/* Reads the items of a stored filter. */
class exact_reader : public list_reader
{
public:
	exact_reader(const sb_tbf *filter, const void *cells) : list_reader(list_of(filter, cells)) {}
};

} // namespace streambloom

#endif
