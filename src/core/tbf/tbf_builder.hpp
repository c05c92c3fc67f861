/*
 * tbf_builder.hpp: what the files on sb_tbf_builder share: beginning and adding hits (tbf_builder.cpp), sums of items
 * and going over to sums of cells (tbf_builder_items.cpp), stored filters and other builders (tbf_builder_unite.cpp),
 * storing (tbf_builder_store.cpp), exact filters (tbf_builder_exact.cpp), travelling (tbf_builder_travel.cpp), the
 * table of recurring minimum (tbf_recurring.cpp).
 */
#ifndef STREAMBLOOM_TBF_BUILDER_HPP
#define STREAMBLOOM_TBF_BUILDER_HPP

#include "base/hash_set.hpp"
#include "tbf/tbf_sums.hpp"
#include "tbf/tbf_top.hpp"

namespace streambloom {

class value_block;

/* So many hits or items are worked on at once. */
constexpr size_t tbf_batch = 256;

/* Where a builder keeps its sums. Every function that reads or changes them looks at this first. */
enum class sums_form : uint8_t
{
	items, /* beside the hashes of `set` */
	cells, /* sums.cells[i] is a plane of the cells of `plan` */
	/* sums of items, in `borrowed`: the bytes that the builder was deserialized from, which the caller keeps */
	borrowed,
};

/* Sums of items in the bytes that a builder was deserialized from: columns of little-endian words, not aligned. */
struct borrowed_items
{
	uint64_t count;
	const unsigned char *hashes;
	const unsigned char *words[SB_TBF_PLANES]; /* NULL: there is no such plane */
};

/* Hits that came one after the other at one moment, whose totals are not noted yet. */
struct run_of_hits
{
	sb_moment moment;
	int64_t plane;
	uint64_t total;	 /* 0: there are none */
	uint64_t digits; /* all their binary digits */
};

/* The newest hits of a builder that is not small, all of one half-life. They are added by the batch. */
struct pending_hits
{
	uint32_t count;
	int64_t half_lives;
	int64_t plane; /* floor(half_lives / 16) */
	uint64_t hashes[tbf_batch];
	uint64_t values[tbf_batch];
};

} // namespace streambloom

/* Zeroed bytes are an empty one without parameters. */
struct sb_tbf_builder
{
	/* what each hit touches, in 64 bytes */
	streambloom::run_of_hits run;
	streambloom::pending_hits *pending;

	sb_memory memory;
	sb_tbf plan; /* the filter that is built; where it sizes itself, an exact one, as long as its sums are of items */
	bool self_sized; /* the stored filter gets its size from the number of items */
	bool never_few;	 /* the cells came of so many items that no block is expected to hold few */
	streambloom::sums_form form;
	sb_hash_set set;			/* items */
	streambloom::tbf_sums sums; /* notes in any form; the planes of items are beside the hashes of the set */
	streambloom::borrowed_items borrowed;
	sb_hash_set
		recurring; /* recurring minimum: the items counted apart, with their hits beside; else there are no slots */
	sb_tbf_builder
		*filters; /* of one that sizes itself, over items: the filters with cells that were added to it; or NULL */
	streambloom::top_list top;		   /* the list of hot items, if plan.top is not 0 */
	streambloom::pending_item unnamed; /* new to the list, its text to come */
};

namespace streambloom {

/* Minimum increase: hits raise cells instead of adding to them, and the order of hits matters once there are cells. */
inline bool raises(const sb_tbf_builder *builder)
{
	return (builder->plan.flags & SB_TBF_MINIMUM_INCREASE) != 0;
}

inline bool has_plane(const sb_tbf_builder *builder, int index)
{
	if (builder->form == sums_form::cells)
		return builder->sums.cells[index] != nullptr;
	return builder->form == sums_form::borrowed ? builder->borrowed.words[index] != nullptr :
												  builder->sums.plane[index] != nullptr;
}

/* The half-life at which a word of this plane is added without a shift. */
inline int64_t start_of_plane(const tbf_sums *sums, int64_t index)
{
	return (sums->newest_plane - index) * SB_TBF_PLANE;
}

/*
 * Where a builder of a filter that sizes itself goes over from items to cells: when 5/8 of `set_slots` are taken. It
 * then has `blocks` of cells, those of the largest filter there is: up to 1 GB for each plane. These are more items
 * than that filter holds at 1 %. Constants; only tests make them smaller.
 */
struct outgrown_at
{
	uint64_t set_slots = UINT64_C(1) << 25;
	uint32_t blocks = SB_TBF_MAX_CELLS / SB_TBF_BLOCK;
};
extern outgrown_at outgrown;

/* The size of a filter that sizes itself, where no other is large enough. */
inline sb_tbf largest_filter()
{
	sb_tbf largest = {};
	largest.block_count = outgrown.blocks;
	largest.block_cells = SB_TBF_BLOCK;
	return largest;
}

/* Zeroed words. */
[[nodiscard]] sb_status allocate_words(const sb_tbf_builder *builder, uint64_t count, uint64_t **out);
void release_words(const sb_tbf_builder *builder, uint64_t *words); /* or NULL */

/* An empty builder without any sums yet, and what makes of a status that is not SB_OK the end of one. */
[[nodiscard]] sb_status make_builder(const sb_memory *memory, const sb_tbf *plan, bool self_sized,
									 sb_tbf_builder **out);
[[nodiscard]] sb_status ended_if_failed(sb_status status, sb_tbf_builder **builder);

/* Makes sure of the plane with this index; nothing where that is no plane (below 0, or SB_TBF_PLANES and more). */
[[nodiscard]] sb_status make_plane(sb_tbf_builder *builder, int index);

/* ------------------------------------------------- items (tbf_builder_items.cpp) */

/*
 * Brings the set to a state in which an item can be added: makes it larger, or goes over to cells, or gives the set a
 * secret. To be called before an item is added, and after it: so the form depends on the number of distinct items
 * alone.
 */
[[nodiscard]] sb_status grow(sb_tbf_builder *builder);

[[nodiscard]] inline sb_status grow_if_needed(sb_tbf_builder *builder)
{
	if (builder->form != sums_form::items ||
		(hash_set_has_room(&builder->set) && !hash_set_wants_secret(&builder->set)))
		return SB_OK;
	return grow(builder);
}

/* The same for so many items in all. */
[[nodiscard]] sb_status grow_to(sb_tbf_builder *builder, uint64_t items);

/* The same items in a set of another size, or with room for words of more planes. */
[[nodiscard]] sb_status remake_items(sb_tbf_builder *builder, uint64_t capacity, uint32_t beside);

/* Makes a builder that borrows its items one that owns them. */
[[nodiscard]] sb_status own_items(sb_tbf_builder *builder);

/*
 * Sums of items become sums of cells; what filters with cells have brought goes into the same cells. A builder that
 * sizes itself gets the cells of `sized` (sized_by_both()). SB_OVERFLOW and others: it is as it was.
 */
[[nodiscard]] sb_status items_to_cells(sb_tbf_builder *builder, const sb_tbf *sized);

/* The same for so many items that no set takes them. */
[[nodiscard]] sb_status outgrow(sb_tbf_builder *builder);

/* Releases the memory of the sums: the planes of cells, the set of items. */
void release_sums(sb_tbf_builder *builder);

/* The number of different items. REQUIRES: the sums are of items. */
inline uint64_t count_items(const sb_tbf_builder *builder)
{
	return builder->form == sums_form::borrowed ? builder->borrowed.count : builder->set.count;
}

/* The items of a builder, some at a time. */
class item_reader
{
public:
	explicit item_reader(const sb_tbf_builder *of) : of_(of) {}

	/* The next hashes; 0: there are no more. They and their words are there until the next call. */
	size_t next();
	const uint64_t *hashes() const { return hashes_; }

	/* Their words of a plane that is there. */
	const uint64_t *words(int index);

private:
	const sb_tbf_builder *of_;
	uint64_t next_ = 0; /* a slot, or how many of the borrowed items were read */
	size_t count_ = 0;
	uint64_t hashes_[tbf_batch];
	uint64_t slots_[tbf_batch];
	uint64_t words_[tbf_batch];
};

/*
 * All hits of some items in one plane, whose words begin at its first half-life. REQUIRES: room for them, if the form
 * is items.
 */
[[nodiscard]] sb_status add_words(sb_tbf_builder *builder, int index, const uint64_t *hashes, const uint64_t *words,
								  size_t count);

/* Adds what another builder's items have, whose notes were added before. */
[[nodiscard]] sb_status unite_items(sb_tbf_builder *builder, const sb_tbf_builder *other);

/* The same of a builder over cells, which has as many cells or fewer by a power of two (tbf_builder_unite.cpp). */
[[nodiscard]] sb_status unite_cells(sb_tbf_builder *builder, const sb_tbf_builder *other);

/* --------------------------------------------- exact filters (tbf_builder_exact.cpp) */

/* Adds the items of an exact filter, and what its header says, times a weight. */
[[nodiscard]] sb_status add_exact_filter(sb_tbf_builder *builder, const sb_tbf *filter, const void *cells,
										 const filter_weight *weight);

/*
 * The counters of an exact filter with all items, which the builder owns. REQUIRES: at most SB_TBF_EXACT_ITEMS of them.
 */
[[nodiscard]] sb_status store_exact(const sb_tbf_builder *builder, value_block *value, sb_tbf *stored);

/*
 * The size of a filter for items that alone would get the cells of `for_items`, and for `filters` with cells. If all of
 * these have sized themselves, so does the result: it has the cells of the larger one. Else it has those of the filters
 * (tbf_builder_store.cpp).
 */
sb_tbf sized_by_both(const sb_tbf *filters, const sb_tbf *for_items);

/* What the header says of what follows the counters (tbf_builder_store.cpp). */
void plan_extra(const sb_tbf_builder *builder, sb_tbf *header);

/*
 * A stored exact filter with cells instead, as many as where it had become too large by merging
 * (tbf_builder_store.cpp).
 */
[[nodiscard]] sb_status store_as_cells(const sb_tbf *filter, const void *cells, uint8_t layout, const sb_memory *to,
									   size_t in_front, sb_tbf *out, void **value);

/* ------------------------------------------- recurring minimum (tbf_recurring.cpp) */

[[nodiscard]] sb_status make_recurring(sb_tbf_builder *builder);

inline bool counts_apart(const sb_tbf_builder *builder)
{
	return builder->recurring.slots != nullptr;
}

/* A hit. REQUIRES: sums_turn() gave the index. */
[[nodiscard]] sb_status add_recurring(sb_tbf_builder *builder, int index, uint64_t hash, int64_t half_lives,
									  uint64_t value);

/* The table of a stored filter. */
[[nodiscard]] sb_status read_recurring(sb_tbf_builder *builder, const sb_tbf *filter, const unsigned char *cells);

/* Its bytes, stored; and those themselves. */
uint32_t size_of_recurring(const sb_tbf_builder *builder);
[[nodiscard]] sb_status write_recurring(const sb_tbf_builder *builder, unsigned char *table);

} // namespace streambloom

#endif
