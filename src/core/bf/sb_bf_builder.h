/*
 * sb_bf_builder.h: builds a bf from its items, a few or millions of them. Part of streambloom.h.
 *
 * A builder begins as a set of hashes, which is small and knows the number of distinct items exactly, and becomes lines
 * of bits when the set would take more memory than they do. (A filter that sizes itself has no size to compare with: it
 * becomes lines at a fixed number of items, see bf_builder.cpp.) Which of the two it is in the end, and every byte of
 * the
 * result, depend on the set of items alone: not on their order, nor on how they were split between builders that were
 * united later. A filter that sizes itself is sized only when it is planned.
 *
 * What a failure leaves: a function that returns SB_NO_MEMORY or SB_INTERRUPTED leaves a builder with all the items
 * that it had before, and perhaps with some of those that were to be added. It may be used on, and the same call may be
 * made again: to add an item twice changes nothing. Each function checks the builder's form, and returns
 * SB_OUT_OF_RANGE for a builder that was not begun or is released.
 */
#ifndef STREAMBLOOM_SB_BF_BUILDER_H
#define STREAMBLOOM_SB_BF_BUILDER_H

#include "bf/sb_bf.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Where a builder has its items. A builder that was deserialized borrows the bytes that it came in.
 *
 * PostgreSQL reads such a builder once: bf_agg_combine() unites it into another one, and then it is gone. Nothing else
 * happens to it there. A state from a worker is never serialized again, since partial aggregation has one level only;
 * and neither the transition function nor the final function gets it, since the combine function is not strict and so
 * makes the first state, too. But a builder does not rely on that: to be serialized again it copies the borrowed bytes,
 * and for everything else (items to add, another builder to unite with it, the result) it first takes all its items
 * into memory of its own.
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

/* A builder that is not small keeps so many of the newest items pending, and lets them in together. */
#define SB_BF_PENDING 128

/*
 * So many bytes before the builder's lines are the caller's, for instance for the header of a value that is made in
 * place.
 */
#define SB_BF_BEFORE_LINES 128

/* The caller may read `form` and `plan`, and set plan.kind while it is none; the rest is the builder's own. */
typedef struct sb_bf_builder
{
	sb_bf		plan;			/* the filter that is built; of one that sizes itself the most lines that it may have */
	sb_bf_form	form;
	uint32_t	pending_count;
	uint32_t	hash_room;		/* SB_BF_PENDING if hashes may be pending, else 0 */
	uint32_t	integer_room;	/* the same for integers: only one kind of items is pending at a time */
	uint64_t   *pending;		/* NULL while the builder is small */
	sb_hash_set set;			/* SB_BF_OWNS_SET */
	unsigned char *lines;		/* SB_BF_OWNS_LINES */
	const unsigned char *borrowed;	/* of the borrowed forms: the items, and how many bytes they take */
	size_t		borrowed_bytes;
	sb_memory	memory;
} sb_bf_builder;

/*
 * Begins a filter with the parameters of a plan; one that sizes itself if plan->expected_items is 0 (then the plan's
 * rate, hashes and kind count, but not its lines). *memory is copied. SB_NO_MEMORY: nothing is allocated.
 */
SB_NODISCARD sb_status sb_bf_builder_begin(sb_bf_builder *builder, const sb_memory *memory,
											   const sb_bf *plan) SB_NOEXCEPT;

/* Releases all its memory. It may be released again. */
void		sb_bf_builder_release(sb_bf_builder *builder) SB_NOEXCEPT;

/*
 * Adds hashes; or, if `integers`, the hashes that sb_hash_int64() makes of these integers, which takes less time than
 * to make them one by one.
 */
SB_NODISCARD sb_status sb_bf_builder_add_many(sb_bf_builder *builder, const uint64_t *items, size_t count,
												  bool integers) SB_NOEXCEPT;

/* Adds one hash, or one integer: nearly always a store into the array of pending items. */
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
 * Adds all items of another builder, which keeps them. SB_DIFFERENT: the parameters differ (hashes, lines, or whether
 * the filter sizes itself), or the kinds, none of which is none; nothing is changed.
 */
SB_NODISCARD sb_status sb_bf_builder_unite(sb_bf_builder *builder, sb_bf_builder *other) SB_NOEXCEPT;

/*
 * The parameters of the result. For a filter that sizes itself `load` has to be what sb_bf_best_load() gives for
 * builder->plan.fpr; for others it means nothing. The builder stays as it is and can go on.
 */
SB_NODISCARD sb_status sb_bf_builder_plan(sb_bf_builder *builder, double load, sb_bf *plan) SB_NOEXCEPT;

/*
 * The lines of the result. REQUIRES: what sb_bf_builder_plan() gave, with no item added since; plan->line_count zeroed
 * lines.
 */
SB_NODISCARD sb_status sb_bf_builder_write(sb_bf_builder *builder, const sb_bf *plan, void *lines) SB_NOEXCEPT;

/*
 * The result where the builder has it, or NULL if it has to be written. These lines change when items are added, and go
 * when the builder is released. They begin at a multiple of 64; SB_BF_BEFORE_LINES bytes before them are there, zeroed
 * at first, and the caller's. REQUIRES: as sb_bf_builder_write().
 */
SB_NODISCARD static inline unsigned char *
sb_bf_builder_lines(const sb_bf_builder *builder, const sb_bf *plan)
{
	return builder->form == SB_BF_OWNS_LINES && builder->plan.line_count == plan->line_count ? builder->lines : NULL;
}

/*
 * A builder as bytes, on their way to another process: never stored. Lines that are mostly zero are squeezed. The
 * buffer must have SB_BF_SERIALIZED_SPARE bytes more than the size. REQUIRES: the size is what the first function gave,
 * and nothing was added since; plan.kind is not none if there are items.
 */
#define SB_BF_SERIALIZED_SPARE 8
SB_NODISCARD sb_status sb_bf_builder_serialized_size(sb_bf_builder *builder, size_t *size) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_bf_builder_serialize(sb_bf_builder *builder, void *out, size_t size) SB_NOEXCEPT;

/*
 * A builder that borrows these bytes, which have to stay until it is released. They need no alignment. Nothing is
 * allocated now; *memory is copied. Trusts nothing: for damaged bytes the status says why they are refused, and the
 * builder is one that was not begun.
 */
SB_NODISCARD sb_status sb_bf_builder_deserialize(sb_bf_builder *builder, const sb_memory *memory, const void *bytes,
													 size_t size) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
