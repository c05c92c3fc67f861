/*
 * tbf_top.hpp: the list of hot items (those of a tbf with the most hits), in memory and as it is stored. sb_tbf.h says
 * what the list guarantees, and explains the letters L and c. L and the error count hits at the list's *base*, a number
 * of half-lives since 2000: a hit that is n half-lives older than the base counts 2^-n.
 */
#ifndef STREAMBLOOM_TBF_TOP_HPP
#define STREAMBLOOM_TBF_TOP_HPP

#include "streambloom.h"

namespace streambloom {

constexpr int top_fraction_bits = 40;	/* in memory L and error count in 2^-40 hits */
constexpr size_t top_section_size = 16; /* bytes of a stored list before its entries */
constexpr size_t top_entry_size = 18;	/* bytes of a stored entry */

/* --------------------------------------------------------------- the list */

struct top_entry
{
	uint64_t hash;
	sb_u128 least;	 /* L; 2^-40 hits at the base; never 0 */
	uint32_t offset; /* where the item's text begins in `bytes`; ascends with the entries */
	uint32_t length; /* 0 .. SB_TOP_MAX_ITEM */
};

struct top_key
{
	sb_u128 value;
};

/*
 * The list in memory. REQUIRES: zeroed at first, except for `limit`; the arrays are made when they are
 * needed.
 */
struct top_list
{
	top_entry *entries;	  /* `room` of them, `count` used */
	top_key *scratch;	  /* `room` of them */
	uint32_t *slots;	  /* hash table that uses the secret (sb_set_secret()): an entry's index + 1, or 0 */
	unsigned char *bytes; /* the items' texts: bytes_room bytes, of which bytes_used are used */
	uint32_t limit;		  /* c: 1 .. SB_TBF_MAX_TOP */
	uint32_t room;		  /* up to 2c */
	uint32_t count;
	uint32_t bytes_room;
	uint32_t bytes_used;
	bool any;	  /* something was added, so `base` is valid */
	int64_t base; /* half-lives since 2000: the newest half-life that was added */
	sb_u128 error;
};

/* Returns the length of the array `slots`. */
uint32_t top_slots(uint32_t room);

/*
 * Splits a hit into *least, a lower bound of it, and *lost, the most by which it may exceed that bound. Both are in
 * 2^-40 hits at the start of the moment's half-life. REQUIRES: sb_tbf_hit() accepts moment and weight.
 */
void top_hit(const sb_moment *moment, double weight, sb_u128 *least, sb_u128 *lost);

/*
 * Adds *least to the L of the item, and `lost` to the error. Both are given at this half-life; if it is newer than the
 * list's base, it becomes the base. Returns true if nothing is left to do: the item is listed, or *least has become 0
 * by rounding. Returns false if the item is not listed: then *least becomes an amount at the list's base (in 2^-40
 * hits, not 0), which the caller passes to insert_item().
 */
[[nodiscard]] bool top_add(top_list *list, uint64_t hash, int64_t half_lives, sb_u128 *least, sb_u128 lost);

/* Purges the list: at most `limit` entries are left. */
void top_purge(top_list *list);

/* If the list is new, or its base is older than this half-life, the half-life becomes the base and the list decays. */
void top_turn(top_list *list, int64_t half_lives);

/*
 * Adds `error`, for example that of another list, to the list's error. `error` counts hits at this half-life. If this
 * is newer than the list's base, it becomes the base. Then `error` is converted to the base, and rounded up.
 */
void top_add_error(top_list *list, int64_t half_lives, sb_u128 error);

/*
 * Multiplies all bounds and the error by mantissa * 2^exponent. L is rounded down, the error up. SB_OUT_OF_RANGE: the
 * mantissa is 2^53 or more. SB_OVERFLOW: the result does not fit, and the list is of no use any more.
 */
[[nodiscard]] sb_status top_scale(top_list *list, uint64_t mantissa, int exponent);

/*
 * top_write() writes the list for a filter with this base, the half-life for which its counts are written down.
 * top_size() returns how many bytes it writes, top_most_size() how many it may write for any base. REQUIRES: at most `limit` entries.
 */
uint32_t top_size(const top_list *list, int64_t base);
inline size_t top_most_size(const top_list *list)
{
	return top_section_size + size_t{top_entry_size} * list->count + list->bytes_used;
}
void top_write(const top_list *list, int64_t base, void *out);

/* ------------------------------------------------------ as it is stored */

/* Returns whether this stored filter has a list after its counters. A filter without hits has none. */
inline bool has_list(const sb_tbf *filter)
{
	return filter->top != 0 && (filter->flags & SB_TBF_HAS_HITS) != 0;
}

/* A stored list that top_open() has checked, and where in it the next item is to be read. */
struct top_section
{
	uint32_t count;
	uint8_t fraction_bits; /* L and error count in 2^-fraction_bits hits at the filter's base */
	uint64_t error;
	const unsigned char *entry; /* entry of the next item */
	const unsigned char *item;	/* text of the next item */
	uint32_t left;				/* number of items that are still to be read */
};

/*
 * Reads and checks a stored list. `limit` and `total` are those of the filter (sb_tbf.top and sb_tbf.total); a total
 * of UINT64_MAX means that it is not known. Trusts nothing. SB_BAD_LENGTH if the parts of the list do not add up to
 * `size`, SB_BAD_LIST if anything else is wrong.
 */
[[nodiscard]] sb_status top_open(const void *bytes, size_t size, uint32_t limit, uint64_t total, top_section *out);

/* Reads the next item; returns false after the last. Items come by ascending hash. */
bool top_next(top_section *section, sb_top_item *out);

/* Converts a number of a stored list (L or error) to 2^-40 hits, the units in memory. */
sb_u128 top_amount(const top_section *section, uint64_t stored);

/*
 * Bounds of the decayed count, at the time `at`, of an item in this filter's stored list: *from (L) and *to (L +
 * error), in hits. `error` is the list's, `least` is the item's L, both in 2^-fraction_bits hits at the filter's base.
 * *to is infinite where sb_tbf_count() is; then *from means nothing.
 */
void top_bounds(const sb_tbf *tbf, int fraction_bits, uint64_t error, uint64_t least, int64_t at, double *from,
				double *to);

/* ---------------------------------------------------- adding to it */

/* A new item that waits for its text, and then for insert_item(). If `least` is 0, no item is pending. */
struct pending_item
{
	uint64_t hash;
	sb_u128 least;
};

/*
 * The functions below may return SB_NO_MEMORY, SB_INTERRUPTED. Then some items may not have been added. For the hits
 * that were added, L <= f <= L + error (sb_tbf.h) still holds: if there is no room for an entry, its L is added to the
 * error.
 */

/*
 * Makes room for a new entry and adds it. Only the first SB_TOP_MAX_ITEM bytes of the text are kept.
 */
[[nodiscard]] sb_status insert_item(top_list *list, const sb_memory *memory, const pending_item &item, const void *text,
									size_t length);

/* Adds the items and the error of a stored filter's list. May also return SB_BAD_LIST, SB_BAD_LENGTH. */
[[nodiscard]] sb_status add_stored_list(top_list *list, const sb_memory *memory, const sb_tbf *filter,
										const void *cells);

/*
 * Adds the items and the error of a stored filter's list, times `weight`, which make_filter_weight() must accept. May
 * also return SB_BAD_LIST, SB_BAD_LENGTH, SB_OVERFLOW.
 */
[[nodiscard]] sb_status add_weighted_list(top_list *list, const sb_memory *memory, const sb_tbf *filter,
										  const void *cells, double weight);

/* Adds the items and the error of a stored list that top_open() has read. `base` is the base of the list's numbers. */
[[nodiscard]] sb_status add_section(top_list *list, const sb_memory *memory, const top_section &section, int64_t base);

/* Adds the items and the error of another list. */
[[nodiscard]] sb_status unite_lists(top_list *list, const sb_memory *memory, const top_list *other);

/*
 * Writes the list of a stored filter as it is at a later base. *size becomes its number of bytes, never more than the
 * stored list has. May also return SB_BAD_LENGTH, SB_BAD_LIST. REQUIRES: has_list(); out has room for filter->extra
 * bytes.
 */
[[nodiscard]] sb_status decay_list(const sb_tbf *filter, const void *cells, const sb_memory *memory, int64_t base,
								   void *out, uint32_t *size);

void release_list(top_list *list, const sb_memory *memory);

} // namespace streambloom

#endif
