/*
 * sb_top.h: the hot items of a tbf. Part of streambloom.h.
 */
#ifndef STREAMBLOOM_SB_TOP_H
#define STREAMBLOOM_SB_TOP_H

#include "tbf/sb_tbf.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A list of the heaviest items (Misra and Gries 1982), weighted and decayed: for every item e with the exact decayed sum
 * f_e, listed with a lower bound L_e or not listed (L_e = 0),
 *
 *     L_e <= f_e <= L_e + error,    error <= W / (c + 1),    W the decayed total of all hits, c the limit,
 *
 * in whatever order and however split the hits came, and after any decay. So every item whose share of W exceeds
 * 1 / (c + 1) is listed. Items wait in a table of up to 2c until a purge subtracts the (c + 1)-th largest L from all and
 * drops what is not above it (as DataSketches' frequent items does: Anderson et al. 2017): c + 1 items lose at least
 * what the error gains, so (c + 1) * error + the sum of all L <= W, always. Merging adds up both and purges (Agarwal
 * et al. 2012): the inequalities add up.
 *
 * Rounding: L always down, the error always up, in 2^-40 hits at the base, so the second inequality holds up to
 * 2^-29 W + 2^-40 hits for each hit, decay and merge whose result is not exact. Whole weights without decay are exact.
 *
 * An item is its 64-bit hash, as everywhere. REQUIRES of a list: zeroed at first, but for limit and the arrays.
 */
#define SB_TOP_MAX_ITEM 256		/* bytes of an item kept; of a longer one the caller gives the beginning */
#define SB_TOP_FRACTION_BITS 40	/* in memory L and error count in 2^-40 hits */
#define SB_TOP_SECTION 16		/* bytes of a stored list before its entries */
#define SB_TOP_ENTRY 18			/* bytes of a stored entry */

typedef struct sb_top_entry
{
	uint64_t	hash;
	sb_u128		least;			/* L; 2^-40 hits at the base; never 0 */
	uint32_t	offset;			/* of the item's bytes; in the order of the entries */
	uint32_t	length;			/* 0 .. SB_TOP_MAX_ITEM */
} sb_top_entry;

typedef struct sb_top_key
{
	sb_u128		value;
} sb_top_key;

typedef struct sb_top_list
{
	sb_top_entry *entries;		/* `room` of them, `count` used */
	sb_top_key *scratch;		/* `room` of them */
	uint32_t   *slots;			/* sb_top_slots(room) of them: an entry's index + 1 by its hash and the secret (sb_set_secret()), or 0 */
	unsigned char *bytes;		/* bytes_room, bytes_used of them used: the items */
	uint32_t	limit;			/* c: 1 .. SB_TBF_MAX_TOP */
	uint32_t	room;			/* up to 2c */
	uint32_t	count;
	uint32_t	bytes_room;
	uint32_t	bytes_used;
	bool		any;			/* base means something */
	int64_t		base;			/* half-lives since 2000: the greatest that was added */
	sb_u128		error;
} sb_top_list;

/* The length of the array `slots`. */
uint32_t	sb_top_slots(uint32_t room) SB_NOEXCEPT;

/* Fills `slots` (zeroed or not) from the entries: after the caller has moved them to a larger one. */
void		sb_top_index(sb_top_list *list) SB_NOEXCEPT;

/* A hit's lower bound, before the shift by half-lives, and what it may be more: 2^-40 hits. REQUIRES: sb_tbf_hit() takes them. */
void		sb_top_hit(const sb_moment *moment, double weight, sb_u128 *least, sb_u128 *lost) SB_NOEXCEPT;

/*
 * Adds *least, and `lost` to the error, both at this half-life (the list's base follows it upwards). false: the item is
 * not listed; then sb_top_insert() it with what *least is now (2^-40 hits at the list's base, not 0).
 */
SB_NODISCARD bool sb_top_add(sb_top_list *list, uint64_t hash, int64_t half_lives, sb_u128 *least, sb_u128 lost) SB_NOEXCEPT;

/* REQUIRES: the item is not listed; count < room; bytes_room - bytes_used >= length, length <= SB_TOP_MAX_ITEM. */
void		sb_top_insert(sb_top_list *list, uint64_t hash, sb_u128 least, const void *item, uint32_t length) SB_NOEXCEPT;

/* Leaves at most `limit` entries. */
void		sb_top_purge(sb_top_list *list) SB_NOEXCEPT;

/* Brings the base to this half-life if it is newer: decay. */
void		sb_top_turn(sb_top_list *list, int64_t half_lives) SB_NOEXCEPT;

/* Adds to the error: another list's, at its base; rounded up. */
void		sb_top_add_error(sb_top_list *list, int64_t half_lives, sb_u128 error) SB_NOEXCEPT;

/*
 * All weights times mantissa * 2^exponent; L rounded down, the error up. SB_OUT_OF_RANGE for a mantissa of 2^53 or more,
 * SB_OVERFLOW if the result does not fit (the list is spoilt then).
 */
SB_NODISCARD sb_status sb_top_scale(sb_top_list *list, uint64_t mantissa, int exponent) SB_NOEXCEPT;

/* The bytes that sb_top_write() fills for a filter of this base. REQUIRES: at most `limit` entries. */
uint32_t	sb_top_size(const sb_top_list *list, int64_t base) SB_NOEXCEPT;
void		sb_top_write(const sb_top_list *list, int64_t base, void *out) SB_NOEXCEPT;

/* A stored list, checked, and a place in it. */
typedef struct sb_top_section
{
	uint32_t	count;
	uint8_t		fraction_bits;	/* L and error count in 2^-fraction_bits hits at the filter's base */
	uint64_t	error;
	const unsigned char *entry; /* of the next item */
	const unsigned char *item;
	uint32_t	left;			/* items from here on */
} sb_top_section;

/* An item of it. */
typedef struct sb_top_item
{
	uint64_t	hash;
	uint64_t	least;			/* L */
	const unsigned char *bytes;
	uint32_t	length;
} sb_top_item;

/*
 * Reads and checks a stored list of a filter with this limit and total (sb_tbf.total; UINT64_MAX: not known). Trusts nothing.
 * SB_BAD_LENGTH if its parts do not add up to `size`, SB_BAD_LIST for anything else.
 */
SB_NODISCARD sb_status sb_top_open(const void *bytes, size_t size, uint32_t limit, uint64_t total,
								   sb_top_section *out) SB_NOEXCEPT;

/* The next item; false after the last. Items come by their hashes. */
bool		sb_top_next(sb_top_section *section, sb_top_item *out) SB_NOEXCEPT;

/* A number of the section (L or error) as it is in memory, in 2^-40 hits. */
sb_u128		sb_top_amount(const sb_top_section *section, uint64_t stored) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
