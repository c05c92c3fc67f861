/*
 * sb_lookup.h: looking up an item in a stored value of any type: is it in the filter, and in a tbf, how often? Part of
 * streambloom.h.
 *
 * A look-up needs a small part of a value: the header, and the line, block or cells of the item. PostgreSQL stores a
 * value of megabytes out of line, and a look-up should not read all of it. The core knows which bytes it needs, and
 * the caller knows how to read them, so they take turns:
 *
 *     status = sb_lookup_open(&lookup, SB_LOOKUP_TBF, first bytes of the value, their number, size of the value);
 *     if (status == SB_OK)
 *         status = sb_lookup_item(&lookup, hash of the item);
 *     while (status == SB_NEED_BYTES)
 *         status = sb_lookup_next(&lookup, the bytes that begin at lookup.need.offset, their number);
 *
 * At the end the status is SB_OK and `lookup` has the answer; or it is an error, because the value is damaged.
 * sb_lookup_open() does not take the hash, because how an item is hashed depends on the kind in the header
 * (lookup.header.kind).
 *
 * The core reads only the bytes that were handed over last, so the caller needs one buffer. These bytes must stay
 * unchanged until the next bytes are handed over or the look-up is no longer used. Nothing is copied. A caller that has
 * the whole value in memory hands all of it to sb_lookup_open(); then no call returns SB_NEED_BYTES.
 *
 * After SB_OK the caller can look up the next item in the same value. sb_lookup_top() reads the list of hot items of a
 * tbf in the same way. No call trusts the bytes: whatever they are, the core reads only bytes that were handed over,
 * and asks only for bytes of the value.
 *
 * What a look-up needs besides the header: of a bf with lines, one line of 64 bytes; of a bf or tbf that is exact, an
 * entry or two of a directory, and a block of items or its beginning; of a tbf with cells, the item's block, which may
 * have such an entry, too, and with recurring minimum a part of its table; of an abf, the item's block; of an sbf or
 * ibf, two bytes for each cell of the item, up to the first cell that is 0. lookup.cpp is the core's part of this,
 * src/pg/base/slices.c that of PostgreSQL.
 */
#ifndef STREAMBLOOM_SB_LOOKUP_H
#define STREAMBLOOM_SB_LOOKUP_H

#include "abf/sb_abf.h"
#include "bf/sb_bf.h"
#include "stable/sb_stable.h"
#include "tbf/sb_tbf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The type of the value. */
typedef enum sb_lookup_type
{
	SB_LOOKUP_BF,
	SB_LOOKUP_TBF,
	SB_LOOKUP_STABLE,			/* an sbf or an ibf */
	SB_LOOKUP_ABF
} sb_lookup_type;

/* sb_lookup_open() needs this many bytes, or the whole value if it is shorter. */
#define SB_LOOKUP_FIRST 128

typedef struct sb_lookup
{
	/* Set by sb_lookup_open(). */
	const char *type_name;		/* "bf", "tbf", "sbf", "ibf" or "abf", for messages; set even if the value is refused */
	union
	{
		sb_kind		kind;		/* the other members begin with the kind, too */
		sb_bf		bf;
		sb_tbf		tbf;
		sb_stable	stable;
		sb_abf		abf;
	}			header;

	/*
	 * After SB_NEED_BYTES: the bytes to hand over next. The offset counts from the first byte of the header. Often
	 * the first `enough` bytes suffice, so the caller may hand over any number of bytes from `enough` to `size`.
	 */
	struct
	{
		size_t		offset;
		size_t		size;
		size_t		enough;
	}			need;

	/* The answer, after SB_OK. */
	bool		found;			/* is the item in the filter? */
	uint64_t	units;			/* of a tbf: the item's count in units, which sb_tbf_count() converts to hits; else 0 */
	uint32_t	listed;			/* after sb_lookup_top(): the number of hot items */

	/* For the core alone. */
	const unsigned char *bytes; /* the bytes that were handed over last */
	size_t		at;				/* the offset of `bytes` in the value */
	size_t		have;			/* the number of `bytes` */
	uint8_t		type;
	bool		empty;			/* the filter has no kind yet, and so no items */
	uint8_t		step;			/* what the next bytes are for */
	uint8_t		tries;			/* slices of the table of recurring minimum, or cells of a stable filter, seen so far */
	uint64_t	hash;
	int64_t		generation;		/* of an abf: the generation of the time as of which it is asked */

	/*
	 * What `from` and `to` mean depends on the step. While the block of a tbf or of an exact bf is read, they are its
	 * offset and its size. While the table of recurring minimum is searched, the item's entry can only be one of the
	 * entries from .. to - 1, whose hashes lie between low and high. In a stable filter `from` is the bit at which the
	 * item's cell begins in the bytes asked for, and `to` is not used.
	 */
	uint64_t	from;
	uint64_t	to;
	double		low;
	double		high;
	uint64_t	list_error;		/* the error of the list of hot items (sb_tbf.h), in 2^-list_fraction_bits hits */
	uint8_t		list_fraction_bits;
	sb_top_item *items;
} sb_lookup;

/*
 * Begins a look-up: reads and checks the header of a value of `total` bytes, of which the first `have` are at `bytes`.
 * Returns what the decode_header() function of the type returns, never SB_NEED_BYTES.
 */
SB_NODISCARD sb_status sb_lookup_open(sb_lookup *lookup, sb_lookup_type type, const void *bytes, size_t have,
									  size_t total) SB_NOEXCEPT;

/*
 * From the next look-up on, asks an abf by time as of the time `at`: it has forgotten the items whose generation is
 * more than l generations before that of `at`. If `at` is before the filter's newest item, the filter is asked as of
 * this item, as if this function had not been called. REQUIRES: sb_lookup_open() returned SB_OK for an abf by time;
 * |at| <= SB_ABF_MAX_TIME.
 */
void		sb_lookup_abf_at(sb_lookup *lookup, int64_t at) SB_NOEXCEPT;

/*
 * Looks up the item with this hash. Returns SB_OK, SB_NEED_BYTES or SB_BAD_CELLS. In a filter without items nothing is
 * found. REQUIRES: sb_lookup_open() returned SB_OK.
 */
SB_NODISCARD sb_status sb_lookup_item(sb_lookup *lookup, uint64_t hash) SB_NOEXCEPT;

/*
 * Continues a look-up with `have` bytes of the value, beginning at lookup->need.offset. Returns the same statuses as
 * the function that began the look-up. REQUIRES: the last status was SB_NEED_BYTES, and lookup->need.enough <= have
 * <= lookup->need.size.
 */
SB_NODISCARD sb_status sb_lookup_next(sb_lookup *lookup, const void *bytes, size_t have) SB_NOEXCEPT;

/*
 * Reads the list of hot items of a tbf. Returns SB_OK, SB_NEED_BYTES, SB_BAD_LENGTH or SB_BAD_LIST. After SB_OK
 * `items` has lookup->listed items, those with the most hits first. Their texts lie in the bytes that were handed
 * over last. REQUIRES: `items` has room for header.tbf.top items.
 */
SB_NODISCARD sb_status sb_lookup_top(sb_lookup *lookup, sb_top_item *items) SB_NOEXCEPT;

/*
 * Computes bounds of the decayed count of a listed item at the time `at`: *from <= count <= *to. `units` is
 * sb_lookup.units after a look-up of item->hash: the item's counters are an upper bound, too, and may be lower than the
 * one that the list gives. Both bounds may be infinite, as the result of sb_tbf_count() may. REQUIRES: sb_lookup_top()
 * has returned SB_OK.
 */
void		sb_lookup_top_hits(const sb_lookup *lookup, const sb_top_item *item, uint64_t units, int64_t at,
							   double *from, double *to) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
