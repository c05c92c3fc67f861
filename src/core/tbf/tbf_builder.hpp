/*
 * tbf_builder.hpp: what the files of sb_tbf_builder share. tbf_builder.cpp begins builders and adds hits.
 * tbf_builder_items.cpp has sums of items, and turns them into sums of cells. tbf_builder_unite.cpp adds stored
 * filters and other builders, tbf_builder_store.cpp stores, tbf_builder_exact.cpp handles exact filters,
 * tbf_builder_travel.cpp sends builders to other processes, tbf_builder_runs.cpp keeps what came from there, and
 * tbf_recurring.cpp has the table of recurring minimum.
 *
 * A builder has sums of items or of cells. A *plane* has the sums of 16 half-lives, each in a *word* of 64 bits
 * (tbf_sums.hpp). A *run* has the items of one process with their words, sorted by hash (tbf_runs.hpp).
 */
#ifndef STREAMBLOOM_TBF_BUILDER_HPP
#define STREAMBLOOM_TBF_BUILDER_HPP

#include "base/hash_set.hpp"
#include "base/stop.hpp"
#include "tbf/tbf_runs.hpp"
#include "tbf/tbf_sums.hpp"
#include "tbf/tbf_top.hpp"

namespace streambloom {

class value_block;

/* This many hits or items are worked on at once. */
constexpr size_t tbf_batch = 256;

/* Where a builder keeps its sums. Functions of builders look at this before they read or change sums. */
enum class sums_form : uint8_t
{
	items, /* sums of items, beside the hashes of `set` */
	cells, /* sums of cells: sums.cells[i] is a plane of the cells of `plan` */
	/*
	 * sums of items in `runs`. A builder that was deserialized has one run, in the bytes received, which the caller
	 * keeps. A builder with which several of these are united may keep a copy of the run of each
	 * (tbf_builder_runs.cpp).
	 */
	runs,
};

/* The runs of a builder. */
struct item_runs
{
	item_run *first;
	size_t number;
	uint64_t most;		/* an upper bound of the number of different items */
	uint64_t different; /* a lower bound of it; if both are equal, they are that number */
	size_t bytes;		/* of the columns of all runs */
};

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
	sb_tbf plan;	 /* the filter that is built; exact as long as it sizes itself and its sums are of items */
	bool self_sized; /* the stored filter gets its size from the number of items */
	bool never_few;	 /* sums of cells began with so many items that no block gets a list of cells */
	streambloom::sums_form form;
	sb_hash_set set;			 /* the items, if form is `items` */
	streambloom::tbf_sums sums;	 /* totals and times in any form; planes of items lie beside the hashes of the set */
	streambloom::item_runs runs; /* the items, if form is `runs` */
	sb_hash_set recurring;		 /* recurring minimum: the table's items, with their hits beside; else slots is NULL */
	sb_tbf_builder
		*filters; /* sums of the added filters with cells, as long as the sums of this builder are of items; or NULL */
	streambloom::top_list top;		   /* the list of hot items, if plan.top is not 0 */
	streambloom::pending_item unnamed; /* an item new to the list, whose text is still to come */
};

namespace streambloom {

/*
 * Returns whether the filter has minimum increase: then a hit raises cells instead of being added to all of them, and
 * the order of hits matters as soon as there are cells.
 */
inline bool raises(const sb_tbf_builder *builder)
{
	return (builder->plan.flags & SB_TBF_MINIMUM_INCREASE) != 0;
}

inline bool has_plane(const sb_tbf_builder *builder, int index)
{
	if (builder->form == sums_form::cells)
		return builder->sums.cells[index] != nullptr;
	if (builder->form == sums_form::runs)
	{
		for (const item_run *run = builder->runs.first; run != nullptr; run = run->next)
			if (column_of_plane(run, builder->sums.newest_plane - index) != nullptr)
				return true;
		return false;
	}
	return builder->sums.plane[index] != nullptr;
}

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

/* Allocates `count` zeroed words. */
[[nodiscard]] sb_status allocate_words(const sb_tbf_builder *builder, uint64_t count, uint64_t **out);
void release_words(const sb_tbf_builder *builder, uint64_t *words); /* words may be NULL */

/*
 * make_builder() makes an empty builder that has no sums yet. ended_if_failed() returns `status`; if that is not SB_OK,
 * it releases the builder and sets *builder to NULL.
 */
[[nodiscard]] sb_status make_builder(const sb_memory *memory, const sb_tbf *plan, bool self_sized,
									 sb_tbf_builder **out);
[[nodiscard]] sb_status ended_if_failed(sb_status status, sb_tbf_builder **builder);

/*
 * Makes the plane with this index, unless the builder has it already. Does nothing if the index is not one of
 * 0 .. SB_TBF_PLANES - 1.
 */
[[nodiscard]] sb_status make_plane(sb_tbf_builder *builder, int index);

/*
 * Makes `planes` planes, from `index` down to newer ones, after sums_turn(). `any` is what sums.any was before that: if
 * memory ends and nothing had been added, nothing has been added still.
 */
[[nodiscard]] sb_status make_planes(sb_tbf_builder *builder, int index, int planes, bool any);

/* ------------------------------------------------- items (tbf_builder_items.cpp) */

/*
 * Brings the set to a state in which an item can be added: enlarges it, or goes over to cells, or gives the set a
 * secret. It is called before an item is added, and again afterwards, so that the form depends only on the number of
 * distinct items.
 */
[[nodiscard]] sb_status grow(sb_tbf_builder *builder);

[[nodiscard]] inline sb_status grow_if_needed(sb_tbf_builder *builder)
{
	if (builder->form != sums_form::items ||
		(hash_set_has_room(&builder->set) && !hash_set_wants_secret(&builder->set)))
		return SB_OK;
	return grow(builder);
}

/* Brings the set to a state in which it can have `items` items in all, as grow() does for one more. */
[[nodiscard]] sb_status grow_to(sb_tbf_builder *builder, uint64_t items);

/*
 * Reads all hashes that a reader still has, and counts in *missing those that the set lacks. May return SB_INTERRUPTED.
 * REQUIRES: no two of the hashes are equal.
 */
template <typename Reader>
[[nodiscard]] sb_status count_missing(const sb_hash_set *set, Reader *reader, uint64_t *missing)
{
	*missing = 0;
	while (const size_t count = reader->next())
	{
		if (stop_wanted())
			return SB_INTERRUPTED;
		*missing += hash_set_missing(set, reader->hashes(), count);
	}
	return SB_OK;
}

/* Moves the items to a set of another capacity, to one with room for more planes, or to one that uses the secret. */
[[nodiscard]] sb_status remake_items(sb_tbf_builder *builder, uint64_t capacity, uint32_t beside);

/*
 * Returns whether the items may stay in a set if it needs this capacity; otherwise they become cells. If the filter
 * sizes itself, the set may have up to outgrown.set_slots slots. If not, hashes and sums of one plane of the set may
 * take up to as much memory as one plane of the cells.
 */
bool may_have_capacity(const sb_tbf_builder *builder, uint64_t capacity);

/* If the builder's items are in runs, moves them into a set. If this fails, they are in runs as before. */
[[nodiscard]] sb_status own_items(sb_tbf_builder *builder);

/*
 * Turns sums of items into sums of cells. The sums in builder->filters are added to the same cells. If the filter
 * sizes itself, it gets the cells of `sized` (see sized_by_both()). With any status but SB_OK the builder is as it
 * was.
 */
[[nodiscard]] sb_status items_to_cells(sb_tbf_builder *builder, const sb_tbf *sized);

/*
 * Calls items_to_cells() for a set that may not grow any more. A filter that sizes itself gets the largest possible
 * size, or that of builder->filters (see sized_by_both()).
 */
[[nodiscard]] sb_status outgrow(sb_tbf_builder *builder);

/* Releases the memory of the sums: the planes of cells, the set of items, the runs. */
void release_sums(sb_tbf_builder *builder);

/*
 * The number of different items. REQUIRES: the sums are of items; if these are in runs, count_different_items() was
 * called.
 */
inline uint64_t count_items(const sb_tbf_builder *builder)
{
	return builder->form == sums_form::runs ? builder->runs.different : builder->set.count;
}

/* Reads the items of a builder, some at a time. */
class item_reader
{
public:
	explicit item_reader(const sb_tbf_builder *of) : of_(of)
	{
		if (of->form == sums_form::runs)
			run_ = item_run_reader(of->runs.first);
	}

	/*
	 * Reads the next items and returns their number, 0 after the last one. hashes() and words() are those of these
	 * items until the next call. An item that several runs have is read several times.
	 */
	size_t next();
	const uint64_t *hashes() const { return hashes_; }

	/* Returns the words (sums) in plane `index` of the items that next() has read. REQUIRES: there is such a plane. */
	const uint64_t *words(int index);

private:
	const sb_tbf_builder *of_;
	uint64_t next_ = 0; /* the next slot */
	item_run_reader run_;
	size_t count_ = 0;
	uint64_t hashes_[tbf_batch];
	uint64_t slots_[tbf_batch];
	uint64_t words_[tbf_batch];
};

/*
 * Adds words to some items in one plane; each word is an amount at the plane's first half-life. REQUIRES: room for the
 * items, if the form is `items`.
 */
[[nodiscard]] sb_status add_words(sb_tbf_builder *builder, int index, const uint64_t *hashes, const uint64_t *words,
								  size_t count);

/* Adds the items of another builder, with their words. REQUIRES: sums_combine_notes() was called. */
[[nodiscard]] sb_status unite_items(sb_tbf_builder *builder, const sb_tbf_builder *other);

/*
 * Adds the cells of another builder, whose sums are of cells. Its filter has as many cells as that of this builder,
 * or 2^j times fewer (tbf_builder_unite.cpp). REQUIRES: sums_combine_notes() was called.
 */
[[nodiscard]] sb_status unite_cells(sb_tbf_builder *builder, const sb_tbf_builder *other);

/* Releases the set and forgets its planes. REQUIRES: form is `items`. */
void forget_items(sb_tbf_builder *builder);

/* --------------------------------------------------- runs (tbf_builder_runs.cpp) */

/*
 * A builder that has no runs yet keeps the run of another builder only if that run has at least this many items. The
 * items of a smaller run go into the builder's set. Only tests change the number.
 */
struct runs_from_items
{
	uint64_t items = 16384;
};
extern runs_from_items runs_from;

void release_runs(sb_tbf_builder *builder);

/* Makes a run of a builder's items. */
class run_of_items
{
public:
	/*
	 * Plans the columns: layout() says how wide they are. end() releases the memory, also after a failure.
	 * SB_NO_MEMORY, SB_INTERRUPTED. REQUIRES: the items are in a set, or in one run.
	 */
	[[nodiscard]] sb_status begin(const sb_tbf_builder *builder);
	void end();
	const item_run &layout() const { return run_; }

	/* Writes the columns of hashes and of the planes, one after the other: layout().bytes bytes. */
	[[nodiscard]] sb_status write(unsigned char *out) const;

	/* Makes the run, in one block of the builder's memory. SB_NO_MEMORY, SB_INTERRUPTED: *out is NULL. */
	[[nodiscard]] sb_status make(item_run **out) const;

private:
	[[nodiscard]] sb_status begin_with_set();
	void begin_with_run();
	[[nodiscard]] sb_status write_from_set(unsigned char *out) const;

	const sb_tbf_builder *builder_ = nullptr;
	uint64_t *sorted_ = nullptr; /* the hashes of the set */
	item_run run_ = {};
	bool has_plane_[SB_TBF_PLANES] = {};
};

/* Adds a run, which belongs to the builder from now on. REQUIRES: form is `runs`. */
void add_run(sb_tbf_builder *builder, item_run *run);

/* Sets runs.different and runs.most to the number of different items. May return SB_NO_MEMORY, SB_INTERRUPTED. */
[[nodiscard]] sb_status count_different_items(sb_tbf_builder *builder);

/*
 * Sets *may to whether the builder can keep the items of `other` as a run. It can if all of this is true:
 * - The sums of this builder are of items, it has fewer than most_runs runs, and `other` has one run.
 * - This builder has runs already; or it has fewer items in its set than runs_from.items, and the run of `other` has at
 *   least runs_from.items.
 * - One set may hold the items of both builders, and would take at least as much memory as their runs.
 * May return SB_NO_MEMORY, SB_INTERRUPTED.
 */
[[nodiscard]] sb_status may_keep_run_of(sb_tbf_builder *builder, const sb_tbf_builder *other, bool *may);

/*
 * If the builder has items in its set, makes a run of them. SB_NO_MEMORY, SB_INTERRUPTED: they are in the set as
 * before.
 */
[[nodiscard]] sb_status set_to_run(sb_tbf_builder *builder);

/* Copies the run of `other`. REQUIRES: may_keep_run_of(); no items in a set; sums_combine_notes() was called. */
[[nodiscard]] sb_status keep_run_of(sb_tbf_builder *builder, const sb_tbf_builder *other);

/* --------------------------------------------- exact filters (tbf_builder_exact.cpp) */

/* Adds an exact filter times a weight: its items, and the total and times in its header. */
[[nodiscard]] sb_status add_exact_filter(sb_tbf_builder *builder, const sb_tbf *filter, const void *cells,
										 const filter_weight *weight);

/*
 * Sets *stored to the header of an exact filter of the builder's items, allocates the filter's value, and writes the
 * items there. Items whose count is 0 are left out. REQUIRES: the items are in the set, not in runs (own_items()), and
 * there are at most SB_TBF_EXACT_ITEMS of them.
 */
[[nodiscard]] sb_status store_exact(const sb_tbf_builder *builder, value_block *value, sb_tbf *stored);

/*
 * Returns the size of the filter for a builder that has items, and to which filters with cells were added. `for_items`
 * has the size that the items alone would get, `filters` the size of the added filters. If the filters have all sized
 * themselves, the result has the larger of the two sizes; else it has the size of the filters (tbf_builder_store.cpp).
 */
sb_tbf sized_by_both(const sb_tbf *filters, const sb_tbf *for_items);

/* Sets header->extra: the bytes of what follows the counters (tbf_builder_store.cpp). */
void plan_extra(const sb_tbf_builder *builder, sb_tbf *header);

/*
 * Stores an exact filter with cells instead of items. It gets cells for four times its items, like a merged filter
 * that is too large for the exact form (tbf_builder_store.cpp).
 */
[[nodiscard]] sb_status store_as_cells(const sb_tbf *filter, const void *cells, uint8_t layout, const sb_memory *to,
									   size_t in_front, sb_tbf *out, void **value);

/* ------------------------------------------- recurring minimum (tbf_recurring.cpp) */

[[nodiscard]] sb_status make_recurring(sb_tbf_builder *builder);

inline bool counts_apart(const sb_tbf_builder *builder)
{
	return builder->recurring.slots != nullptr;
}

/* Adds a hit. `index` is what sums_turn() returned. */
[[nodiscard]] sb_status add_recurring(sb_tbf_builder *builder, int index, uint64_t hash, int64_t half_lives,
									  uint64_t value);

/* Adds the table of a stored filter. */
[[nodiscard]] sb_status read_recurring(sb_tbf_builder *builder, const sb_tbf *filter, const unsigned char *cells);

/* size_of_recurring() returns the number of bytes of the stored table; write_recurring() writes them. */
uint32_t size_of_recurring(const sb_tbf_builder *builder);
[[nodiscard]] sb_status write_recurring(const sb_tbf_builder *builder, unsigned char *table);

} // namespace streambloom

#endif
