/*
 * tbf_place.hpp: which block and which of its cells a hash has in a tbf. Both follow from the bits that an exact filter
 * keeps of a hash (SB_KEPT_HASH_MASK). Also what several files do with headers and estimates of a tbf, and its exact
 * form: a list of the hashes of its items with their counts (base/hash_list.hpp). For the core's own files and its
 * tests; the extension looks items up through sb_lookup.h.
 */
#ifndef STREAMBLOOM_TBF_PLACE_HPP
#define STREAMBLOOM_TBF_PLACE_HPP

#include "base/bits.hpp"
#include "base/hash_list.hpp"
#include "streambloom.h"

/* A plane has a builder's sums for SB_TBF_PLANE half-lives; the newest SB_TBF_PLANES planes are kept (tbf_sums.hpp). */
#define SB_TBF_PLANE 16
#define SB_TBF_PLANES 4

namespace streambloom {

/*
 * Returns the block of a hash. Each block has a range of hashes, and the ranges ascend: so blocks are in the order of
 * hashes, nearly as the slots of a hash set without the secret (sb_hash_set.h).
 */
inline uint32_t block_of(uint32_t blocks, uint64_t hash)
{
	return static_cast<uint32_t>(multiply_high(hash & SB_KEPT_HASH_MASK, blocks));
}

[[gnu::always_inline]] inline void positions_of(uint32_t block_cells, int hash_count, uint64_t hash,
												uint16_t *positions)
{
	const uint64_t kept = hash & SB_KEPT_HASH_MASK;
	uint64_t pieces = 0;
	for (int i = 0; i < hash_count; i++)
	{
		if (i % 4 == 0)
			pieces = mix(kept + static_cast<uint64_t>(i / 4 + 1) * random_step);
		positions[i] = static_cast<uint16_t>((pieces & 0xffff) * block_cells >> 16);
		pieces >>= 16;
	}
}

/* Estimates the number of items from the share of cells that are not 0; infinity if no cell is 0. */
double items_for_fill(const sb_tbf *tbf, double fill);

/*
 * For estimates: converts a counter to hits at the time `at`, rounded to nearest. The counter has `units` units
 * (sb_tbf.unit_bits) at the filter's base, the moment for which its counters are written down (sb_tbf.h). `units` may
 * be negative. Slack is not added.
 */
double hits_at(const sb_tbf *tbf, double units, int64_t at);

/* Removes all hits from a header: it becomes that of an empty filter with the same parameters. */
void clear_hits(sb_tbf *tbf);

/*
 * plan_exact() turns a plan into that of an exact filter. plan_cells() turns a plan into that of a filter with as many
 * cells as `sized` has, and with minimum increase if `sized` has it. REQUIRES: the plan has no hits, as after
 * clear_hits().
 */
void plan_exact(sb_tbf *plan);
void plan_cells(sb_tbf *plan, const sb_tbf *sized);

/* ------------------------------------------------------------- the exact form */

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
	return {reinterpret_cast<const uint64_t *>(items), count, true};
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
