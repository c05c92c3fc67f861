/*
 * tbf_top.hpp: the list of hot items as it grows in an sb_memory.
 */
#ifndef STREAMBLOOM_TBF_TOP_HPP
#define STREAMBLOOM_TBF_TOP_HPP

#include "streambloom.h"

namespace streambloom {

constexpr int top_fraction_bits = 40;	/* in memory L and error count in 2^-40 hits */
constexpr size_t top_section_size = 16; /* bytes of a stored list before its entries */
constexpr size_t top_entry_size = 18;	/* bytes of a stored entry */

/* --------------------------------------------------------------- the list (tbf_top.cpp) */

struct top_entry
{
	uint64_t hash;
	sb_u128 least;	 /* L; 2^-40 hits at the base; never 0 */
	uint32_t offset; /* of the item's bytes; in the order of the entries */
	uint32_t length; /* 0 .. SB_TOP_MAX_ITEM */
};

struct top_key
{
	sb_u128 value;
};

/* REQUIRES: zeroed at first, but for limit and the arrays. */
struct top_list
{
	top_entry *entries;	  /* `room` of them, `count` used */
	top_key *scratch;	  /* `room` of them */
	uint32_t *slots;	  /* top_slots(room): an entry's index + 1 by its hash and the secret (sb_set_secret()), or 0 */
	unsigned char *bytes; /* bytes_room, bytes_used of them used: the items */
	uint32_t limit;		  /* c: 1 .. SB_TBF_MAX_TOP */
	uint32_t room;		  /* up to 2c */
	uint32_t count;
	uint32_t bytes_room;
	uint32_t bytes_used;
	bool any;	  /* base means something */
	int64_t base; /* half-lives since 2000: the greatest that was added */
	sb_u128 error;
};

/* The length of the array `slots`. */
uint32_t top_slots(uint32_t room);

/* Fills `slots` (zeroed or not) from the entries: after the caller has moved them to a larger one. */
void top_index(top_list *list);

/*
 * A hit's lower bound, before the shift by half-lives, and what it may be more: 2^-40 hits. REQUIRES: sb_tbf_hit()
 * takes them.
 */
void top_hit(const sb_moment *moment, double weight, sb_u128 *least, sb_u128 *lost);

/*
 * Adds *least, and `lost` to the error, both at this half-life (the list's base follows it upwards). false: the item is
 * not listed; then top_insert() it with what *least is now (2^-40 hits at the list's base, not 0).
 */
[[nodiscard]] bool top_add(top_list *list, uint64_t hash, int64_t half_lives, sb_u128 *least, sb_u128 lost);

/* REQUIRES: the item is not listed; count < room; bytes_room - bytes_used >= length, length <= SB_TOP_MAX_ITEM. */
void top_insert(top_list *list, uint64_t hash, sb_u128 least, const void *item, uint32_t length);

/* Leaves at most `limit` entries. */
void top_purge(top_list *list);

/* Brings the base to this half-life if it is newer: decay. */
void top_turn(top_list *list, int64_t half_lives);

/* Adds to the error: another list's, at its base; rounded up. */
void top_add_error(top_list *list, int64_t half_lives, sb_u128 error);

/*
 * All weights times mantissa * 2^exponent; L rounded down, the error up. SB_OUT_OF_RANGE for a mantissa of 2^53 or
 * more, SB_OVERFLOW if the result does not fit (the list is spoilt then).
 */
[[nodiscard]] sb_status top_scale(top_list *list, uint64_t mantissa, int exponent);

/* The bytes that top_write() fills for a filter of this base. REQUIRES: at most `limit` entries. */
uint32_t top_size(const top_list *list, int64_t base);
void top_write(const top_list *list, int64_t base, void *out);

/* ------------------------------------------------------ as it is stored (tbf_top.cpp) */

/* Does this stored filter have a list after its counters? One without hits has none. */
inline bool has_list(const sb_tbf *filter)
{
	return filter->top != 0 && (filter->flags & SB_TBF_HAS_HITS) != 0;
}

/* A stored list that top_open() has checked, and a place in it. */
struct top_section
{
	uint32_t count;
	uint8_t fraction_bits; /* L and error count in 2^-fraction_bits hits at the filter's base */
	uint64_t error;
	const unsigned char *entry; /* of the next item */
	const unsigned char *item;	/* its text */
	uint32_t left;				/* items from here on */
};

/*
 * Reads and checks a stored list of a filter with this limit and total (sb_tbf.total; UINT64_MAX: not known). Trusts
 * nothing. SB_BAD_LENGTH if its parts do not add up to `size`, SB_BAD_LIST for anything else.
 */
[[nodiscard]] sb_status top_open(const void *bytes, size_t size, uint32_t limit, uint64_t total, top_section *out);

/* The next item; false after the last. Items come by ascending hash. */
bool top_next(top_section *section, sb_top_item *out);

/*
 * Writes the list of a stored filter as it is after so many half-lives (1 or more): *size bytes, not more than it has
 * now. SB_BAD_LENGTH, SB_BAD_LIST. REQUIRES: has_list(), room for filter->extra bytes.
 */
[[nodiscard]] sb_status decay_list(const sb_tbf *filter, const void *list, uint64_t half_lives, void *out,
								   uint32_t *size);

/* A number of the section (L or error) as it is in memory, in 2^-40 hits. */
sb_u128 top_amount(const top_section *section, uint64_t stored);

/*
 * *from <= the decayed count at the time `at` <= *to, of an item of this filter's stored list: L and L + error. `error`
 * is the list's, `least` the item's L, both in 2^-fraction_bits hits at the filter's base. *to is infinite as for
 * sb_tbf_count(); then *from means nothing.
 */
void top_bounds(const sb_tbf *tbf, int fraction_bits, uint64_t error, uint64_t least, int64_t at, double *from,
				double *to);

/* ---------------------------------------------------- that grows (tbf_top_list.cpp) */

/* What top_insert() is given of an item whose text is still to come; least 0: there is none. */
struct pending_item
{
	uint64_t hash;
	sb_u128 least;
};

/* All functions leave the list as a correct one (see sb_top.h) with any status. */

/* A new entry, by top_insert(): of a text that is too long the first SB_TOP_MAX_ITEM bytes. */
[[nodiscard]] sb_status insert_item(top_list *list, const sb_memory *memory, const pending_item &item, const void *text,
									size_t length);

/* All that a list of the same scale as a stored filter's holds. SB_BAD_LIST, SB_BAD_LENGTH. */
[[nodiscard]] sb_status add_stored_list(top_list *list, const sb_memory *memory, const sb_tbf *filter,
										const void *cells);

/* The same times a weight that make_filter_weight() takes. SB_OVERFLOW. */
[[nodiscard]] sb_status add_weighted_list(top_list *list, const sb_memory *memory, const sb_tbf *filter,
										  const void *cells, double weight);

/* All of a section that top_open() gave, at this base. */
[[nodiscard]] sb_status add_section(top_list *list, const sb_memory *memory, const top_section &section, int64_t base);

/* All of another list. */
[[nodiscard]] sb_status unite_lists(top_list *list, const sb_memory *memory, const top_list *other);

void release_list(top_list *list, const sb_memory *memory);

} // namespace streambloom

#endif
