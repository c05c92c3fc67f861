/*
 * sb_bf_builder.h: builds a bf from its items, a few or millions of them. Part of streambloom.h.
 *
 * sb_bf_add_many() (sb_bf.h) adds items to lines of a size that is known. But bf_agg() gets rows one after the other,
 * does not know how many different items there will be, may share the work with parallel workers, and should take
 * little memory for each of thousands of groups. That is what a builder is for. These are the steps of its life; all
 * but the last one return a status:
 *
 *   sb_bf_builder_begin()       with the parameters of a plan (sb_bf_plan())
 *   sb_bf_builder_add()         for each item, by its hash
 *   sb_bf_builder_unite()       adds the items of another builder, which may come from another process
 *   sb_bf_builder_plan()        the header of the result, and so its size; more items can still be added later
 *   sb_bf_builder_write()       the bytes of the result, into the caller's buffer
 *   sb_bf_builder_release()     or the caller frees all memory of the sb_memory at once
 *
 * A builder begins as a set of hashes, which is small and knows the number of distinct items exactly. It becomes lines
 * of bits when the set would take more memory than the lines. (A filter that sizes itself has no size yet to compare
 * with: its builder becomes lines at a fixed number of items, see bf_builder.cpp.) The final form of the builder and
 * every byte of the result depend only on which items were added. They do not depend on the order of the items, nor on
 * how the items were split between builders that were united later. A filter that sizes itself gets its size from
 * sb_bf_builder_plan(), and is exact (sb_bf_exact.h) up to SB_BF_EXACT_ITEMS items.
 *
 * A builder of a filter that sizes itself also takes stored filters. The items of exact filters are added to its own
 * items. Filters with lines are kept apart: they are united at the size of the largest of them. The builder's own
 * items are added to the united lines only when the result is made, because only then it is known how many lines these
 * items need. So the result depends neither on the order of the filters nor on how they were split between builders.
 *
 * A function that returns SB_NO_MEMORY or SB_INTERRUPTED leaves a builder with all the items that it had before, and
 * perhaps with some of those that were to be added. The builder can still be used, and the same call can be repeated,
 * because adding an item twice changes nothing. A function with a status returns SB_OUT_OF_RANGE for a builder that was
 * not begun or was released, unless the function begins the builder.
 */
#ifndef STREAMBLOOM_SB_BF_BUILDER_H
#define STREAMBLOOM_SB_BF_BUILDER_H

#include "bf/sb_bf.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Where a builder has its items. A builder that was deserialized borrows the bytes that it was made from.
 *
 * PostgreSQL uses such a builder only once: bf_agg_combine() or bf_union_agg_combine() adds its items to another one.
 *  - It is not serialized again: partial aggregation has only one level, so a state that came from a worker is not
 *    sent on.
 *  - It does not become the state that the transition function and the final function get. With a strict combine
 *    function PostgreSQL would take the first worker's state as it is. Ours are not strict: they are called with NULL
 *    and that state, make a state of their own, and unite the worker's state with it.
 *
 * But a builder does not rely on this. If a borrowing builder is serialized again, the borrowed bytes are copied. If
 * it is the `other` of sb_bf_builder_unite(), they are only read. Before anything else (items are added or looked up,
 * a result is made) the builder copies all its items into memory of its own.
 */
typedef enum sb_bf_form
{
	SB_BF_HAS_NOTHING,			/* not begun, or released */
	SB_BF_OWNS_SET,				/* hashes in a set of its own */
	SB_BF_OWNS_LINES,			/* lines of its own */
	SB_BF_BORROWS_HASHES,		/* little-endian words, in the order of slots */
	SB_BF_BORROWS_LINES,
	SB_BF_BORROWS_SPARSE_LINES	/* see bf_sparse.cpp */
} sb_bf_form;

/*
 * The most pending items. A builder that has lines, or a set of at least 4 kB, keeps its newest items pending and adds
 * them to its set or lines together. A smaller builder adds each item at once.
 */
#define SB_BF_PENDING 128

/* The caller may use this many bytes in front of the builder's lines, for instance for the header of a value. */
#define SB_BF_BEFORE_LINES 128

/* The caller may read `form` and `plan`, and set plan.kind while it is none; the rest is the builder's own. */
typedef struct sb_bf_builder
{
	sb_bf		plan;			/* the filter that is built; if it sizes itself, line_count is that of `lines` */
	sb_bf_form	form;
	uint32_t	pending_count;
	uint32_t	hash_room;		/* SB_BF_PENDING if hashes may be pending, else 0 */
	uint32_t	integer_room;	/* the same for integers; hashes and integers are never pending together */
	uint64_t   *pending;		/* NULL while the builder is small */
	sb_hash_set set;			/* SB_BF_OWNS_SET */
	unsigned char *lines;		/* SB_BF_OWNS_LINES */
	const unsigned char *borrowed;	/* of the borrowed forms: the items; borrowed_bytes is how many bytes they have */
	size_t		borrowed_bytes;
	/* the union of the filters with lines that were added; line_count is 0 if there are none */
	sb_bf		filters;
	const unsigned char *filter_lines;	/* the lines of `filters` */
	bool		filters_borrowed;
	sb_memory	memory;
} sb_bf_builder;

/*
 * Begins a builder of a filter with the parameters of a plan. If plan->expected_items is 0, the filter sizes itself;
 * plan->line_count and SB_BF_EXACT are ignored then. *memory is copied. SB_NO_MEMORY, SB_INTERRUPTED: nothing is
 * allocated.
 */
SB_NODISCARD sb_status sb_bf_builder_begin(sb_bf_builder *builder, const sb_memory *memory,
										   const sb_bf *plan) SB_NOEXCEPT;

/*
 * Begins a builder of a filter that sizes itself, for stored filters that are to be united. The builder has the rate
 * and the number of hashes of `like`, which may be any of these filters.
 */
SB_NODISCARD sb_status sb_bf_builder_begin_union(sb_bf_builder *builder, const sb_memory *memory,
												 const sb_bf *like) SB_NOEXCEPT;

/* Releases all memory of a builder. A second call does nothing. */
void		sb_bf_builder_release(sb_bf_builder *builder) SB_NOEXCEPT;

/*
 * Adds `count` hashes. If `integers` is true, `items` are integers (as int64_t) instead, and their hashes by
 * sb_hash_int64() are added; that is faster than to hash them one by one. May return SB_NO_MEMORY, SB_INTERRUPTED.
 */
SB_NODISCARD sb_status sb_bf_builder_add_many(sb_bf_builder *builder, const uint64_t *items, size_t count,
											  bool integers) SB_NOEXCEPT;

/*
 * These add one hash, or the hash of one integer. They are inline, because nearly always they only store the item into
 * the array of pending items.
 */
SB_NODISCARD static inline sb_status
sb_bf_builder_add(sb_bf_builder *builder, uint64_t hash)
{
	if (builder->pending_count < builder->hash_room)
	{
		builder->pending[builder->pending_count++] = hash;
		return SB_OK;
	}
	return sb_bf_builder_add_many(builder, &hash, 1, false);
}

SB_NODISCARD static inline sb_status
sb_bf_builder_add_integer(sb_bf_builder *builder, int64_t integer)
{
	uint64_t	item = (uint64_t) integer;

	if (builder->pending_count < builder->integer_room)
	{
		builder->pending[builder->pending_count++] = item;
		return SB_OK;
	}
	return sb_bf_builder_add_many(builder, &item, 1, true);
}

/*
 * Adds all items of a stored filter to the builder of a filter that sizes itself. `stored` is the bytes after the
 * filter's header. The builder's rate becomes the filter's rate if that is higher. The kinds are not compared: the
 * caller does that first.
 *
 * SB_DIFFERENT: the filters differ in hash_count; or this filter and the union of earlier ones have lines, and neither
 * number of lines is 2^j times the other. *difference says what differs. Nothing is changed then. SB_BAD_CELLS: the
 * items of an exact filter cannot be read; some may have been added. SB_OUT_OF_RANGE: the filter that is built does
 * not size itself. May also return SB_NO_MEMORY, SB_INTERRUPTED.
 */
SB_NODISCARD sb_status sb_bf_builder_add_filter(sb_bf_builder *builder, const sb_bf *filter, const void *stored,
												sb_difference *difference) SB_NOEXCEPT;

/* *found says whether the hash is in the filter that is built. May return SB_NO_MEMORY, SB_INTERRUPTED. */
SB_NODISCARD sb_status sb_bf_builder_contains(sb_bf_builder *builder, uint64_t hash, bool *found) SB_NOEXCEPT;

/*
 * Adds all items of `other` to `builder`; `other` keeps them. May return SB_NO_MEMORY, SB_INTERRUPTED. SB_DIFFERENT,
 * and no item is added, in two cases:
 *  - The two differ in hash_count, in line_count, or in whether the filter sizes itself; or both have a kind, and the
 *    kinds differ.
 *  - Stored filters with lines were added to both, and neither number of these lines is 2^j times the other. The kind
 *    and the rate of `builder` may have changed then.
 */
SB_NODISCARD sb_status sb_bf_builder_unite(sb_bf_builder *builder, sb_bf_builder *other) SB_NOEXCEPT;

/*
 * Computes the parameters of the result. The builder stays as it is, and more items can be added later.
 *
 * `with_room` is for a filter that sizes itself and will get more items. Unless the filter is exact, it gets room for
 * at least four times its items, but not more than 2^19 lines. If filters with lines were added, `with_room` has no
 * effect. Then the result has as many lines as the largest of these filters; or 2, 4, 8, ... times as many, if
 * otherwise the builder's own items would lift the rate too far above the rate that was asked for. May return
 * SB_NO_MEMORY, SB_INTERRUPTED.
 */
SB_NODISCARD sb_status sb_bf_builder_plan(sb_bf_builder *builder, bool with_room, sb_bf *plan) SB_NOEXCEPT;

/*
 * Writes the lines of the result, or the items of an exact one. May return SB_NO_MEMORY, SB_INTERRUPTED. REQUIRES:
 * *plan comes from sb_bf_builder_plan(), and no item was added after that; `lines` is zeroed and has room for all
 * bytes after the header.
 */
SB_NODISCARD sb_status sb_bf_builder_write(sb_bf_builder *builder, const sb_bf *plan, void *lines) SB_NOEXCEPT;

/*
 * Returns the builder's own lines if they are the result. Otherwise returns NULL, and sb_bf_builder_write() must
 * write the result. The lines change when items are added, and are freed when the builder is released. They begin at
 * a multiple of 64. Before them are SB_BF_BEFORE_LINES bytes, zero at first, which the caller may use. REQUIRES: the
 * same as sb_bf_builder_write().
 */
SB_NODISCARD static inline unsigned char *
sb_bf_builder_lines(const sb_bf_builder *builder, const sb_bf *plan)
{
	return builder->form == SB_BF_OWNS_LINES && builder->filters.line_count == 0 &&
		builder->plan.line_count == plan->line_count ?
		builder->lines : NULL;
}

/*
 * Writes all that the builder holds into a new block of `to`, for another process of the same version. The block begins
 * with `in_front` bytes for the caller, which *size does not count. The bytes are never stored. The builder stays
 * usable. *size is at most a few bytes more than plan.line_count lines have (32 MB if the filter sizes itself), plus
 * the lines of the stored filters that were added; it is less if there are few items. SB_NO_MEMORY, SB_INTERRUPTED,
 * SB_OUT_OF_RANGE: *bytes is NULL. REQUIRES: plan.kind is set if there are items.
 */
SB_NODISCARD sb_status sb_bf_builder_serialize(sb_bf_builder *builder, const sb_memory *to, size_t in_front,
											   void **bytes, size_t *size) SB_NOEXCEPT;

/*
 * Makes a builder that borrows the bytes of sb_bf_builder_serialize(). They must stay where they are, unchanged, until
 * the builder is released. They need no alignment. Nothing is allocated now; *memory is copied. Trusts nothing: for
 * damaged bytes the status says why they are refused, and the builder is as if it was not begun.
 */
SB_NODISCARD sb_status sb_bf_builder_deserialize(sb_bf_builder *builder, const sb_memory *memory, const void *bytes,
												 size_t size) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
