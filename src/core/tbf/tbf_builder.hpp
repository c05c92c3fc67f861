/*
 * tbf_builder.hpp: what the files of sb_tbf_builder share. README.md draws the way of a hit through them.
 *
 * A builder has sums of items, of cells, or both. A *plane* has the sums of 16 half-lives, each in a *word* of 64 bits
 * (tbf_sums.hpp).
 */
#ifndef STREAMBLOOM_TBF_BUILDER_HPP
#define STREAMBLOOM_TBF_BUILDER_HPP

#include "base/stop.hpp"
#include "tbf/tbf_sums.hpp"
#include "tbf/tbf_top.hpp"

namespace streambloom {

/* This many hits or items are worked on at once. */
constexpr size_t tbf_batch = hashes_at_once;

/* Consecutive hits of one moment, whose values are not in the totals yet. */
struct run_of_hits
{
	sb_moment moment;
	int64_t plane;
	uint64_t total;	 /* 0: there are none */
	uint64_t digits; /* all hits' values, or-ed */
};

/*
 * The newest hits of a builder that is not small (tbf_builder.cpp), all of one half-life. They are added as one batch.
 */
struct pending_hits
{
	uint32_t count;
	int64_t half_lives;
	int64_t plane; /* floor(half_lives / 16) */
	uint64_t hashes[tbf_batch];
	uint64_t values[tbf_batch];
};

} // namespace streambloom

/* A builder whose bytes are all zero is empty and has no parameters. */
struct sb_tbf_builder
{
	/* most hits touch only these two members, which take 64 bytes */
	streambloom::run_of_hits run;
	streambloom::pending_hits *pending;

	sb_memory memory;
	sb_tbf plan;	 /* the filter that is built; exact as long as it sizes itself and has a set of items */
	sb_tbf shape;	 /* how many cells the sums of cells have; block_count is 0: there are none */
	bool self_sized; /* the stored filter gets its size from the number of items */
	bool never_few;	 /* sums of cells began with so many items that no block gets a list of cells */
	streambloom::tbf_sums sums;
	sb_hash_set recurring;			   /* recurring minimum: the table's items, with their hits beside (tbf_in_order.cpp) */
	streambloom::top_list top;		   /* the list of hot items, if plan.top is not 0 */
	streambloom::pending_item unnamed; /* an item new to the list, whose text is still to come */
};

namespace streambloom {

/* Returns the first half-life of a plane: values of this half-life are added to its words without a shift. */
inline int64_t start_of_plane(const tbf_sums *sums, int64_t index)
{
	return (sums->newest_plane - index) * SB_TBF_PLANE;
}

/*
 * A builder of a filter that sizes itself goes over from items to cells when 5/8 of `set_slots` are taken, that is,
 * at 21 million items. It then gets `blocks` blocks of cells, the largest possible filter: up to 1 GB for each plane.
 * (At 1 % even that filter has room for fewer than 21 million items.) Only tests make these two numbers smaller.
 */
struct outgrown_at
{
	uint64_t set_slots = UINT64_C(1) << 25;
	uint32_t blocks = SB_TBF_MAX_CELLS / SB_TBF_BLOCK;
};
extern outgrown_at outgrown;

/* Returns a header of which only the number of cells is set: that of the largest possible filter. */
inline sb_tbf largest_filter()
{
	sb_tbf largest = {};
	largest.block_count = outgrown.blocks;
	largest.block_cells = SB_TBF_BLOCK;
	return largest;
}

/*
 * make_builder() makes an empty builder that has no sums yet. ended_if_failed() returns `status`; if that is not SB_OK,
 * it releases the builder and sets *builder to NULL.
 */
[[nodiscard]] sb_status make_builder(const sb_memory *memory, const sb_tbf *plan, bool self_sized,
									 sb_tbf_builder **out);
[[nodiscard]] sb_status ended_if_failed(sb_status status, sb_tbf_builder **builder);

/*
 * make_cells() makes the plane of cells with this index, unless the builder has it. make_plane() makes the one for hits:
 * of items if the builder has a set, else of cells. Both do nothing if the index is not one of 0 .. SB_TBF_PLANES - 1.
 */
[[nodiscard]] sb_status make_cells(sb_tbf_builder *builder, int index);
[[nodiscard]] sb_status make_plane(sb_tbf_builder *builder, int index);

/*
 * Makes `planes` planes for hits, or of cells, from `index` down to newer ones, after sums_turn(). `any` is what sums.any was before that: if
 * memory ends and nothing had been added, nothing has been added still.
 */
[[nodiscard]] sb_status make_planes(sb_tbf_builder *builder, int index, int planes, bool any, bool cells = false);

/* ------------------------------------------------- items (tbf_builder_items.cpp) */

/*
 * Brings the set to a state in which it can have `items` items in all: enlarges it, or goes over to cells, or gives the
 * set a secret. It is called before items are added, and again afterwards, so that whether there are cells depends only
 * on the number of distinct items.
 */
[[nodiscard]] sb_status grow_to(sb_tbf_builder *builder, uint64_t items);

[[nodiscard]] inline sb_status grow_if_needed(sb_tbf_builder *builder)
{
	const sb_hash_set *set = &builder->sums.set;
	if (!has_items(&builder->sums) || (hash_set_has_room(set) && !hash_set_wants_secret(set)))
		return SB_OK;
	return grow_to(builder, set->count + 1);
}

/*
 * Returns whether the items may stay in a set if it needs this capacity; otherwise they become cells. If the filter
 * sizes itself, the set may have up to outgrown.set_slots slots. If not, hashes and sums of one plane of the set may
 * take up to as much memory as one plane of the cells.
 */
bool may_have_capacity(const sb_tbf_builder *builder, uint64_t capacity);

/*
 * Gives the sums of cells the shape `larger`, which has as many cells as before or 2^j times more, and if `items` is
 * true, turns the sums of items into sums of these cells. With any status but SB_OK the builder is as it was.
 */
[[nodiscard]] sb_status reshape(sb_tbf_builder *builder, const sb_tbf *larger, bool items);

/*
 * Turns sums of items into sums of cells. A filter that sizes itself gets the cells of `sized`. With any status but
 * SB_OK the builder is as it was.
 */
[[nodiscard]] sb_status items_to_cells(sb_tbf_builder *builder, const sb_tbf *sized);

/* Releases planes of cells and the set of items. */
void release_sums(sb_tbf_builder *builder);

/* Adds the items of another builder, with their words. REQUIRES: sums_combine_notes() was called. */
[[nodiscard]] sb_status unite_items(sb_tbf_builder *builder, const tbf_sums *other);

/* Adds an exact filter times a weight: its items, and the total and times in its header. */
[[nodiscard]] sb_status add_exact_filter(sb_tbf_builder *builder, const sb_tbf *filter, const void *cells,
										 const filter_weight *weight);

/* --------------------------------------------------- results (tbf_builder_store.cpp) */

/*
 * Returns the size of the filter for a builder that has items, and to which filters with cells were added. `for_items`
 * has the size that the items alone would get, `cells` that of the added filters. If these have all sized themselves,
 * the result has the larger of the two sizes; else it has the size of the filters.
 */
sb_tbf sized_by_both(const sb_tbf *cells, const sb_tbf *for_items);

/*
 * Stores an exact filter with cells instead of items. It gets cells for four times its items, like a merged filter
 * that is too large for the exact form.
 */
[[nodiscard]] sb_status store_as_cells(const sb_tbf *filter, const void *cells, uint8_t layout, const sb_memory *to,
									   size_t in_front, sb_tbf *out, void **value);

/* ------------------------------------------- recurring minimum (tbf_in_order.cpp) */

/* Adds the table of a stored filter, if it has one. */
[[nodiscard]] sb_status read_recurring(sb_tbf_builder *builder, const sb_tbf *filter, const void *cells);

/* size_of_recurring() returns the number of bytes of the stored table; write_recurring() writes them. */
uint32_t size_of_recurring(const sb_tbf_builder *builder);
[[nodiscard]] sb_status write_recurring(const sb_tbf_builder *builder, unsigned char *table);

} // namespace streambloom

#endif
