/*
 * sb_lookup.h: asking a stored value about an item. Part of streambloom.h.
 *
 * A look-up needs a small part of a value: the header, and the line, block or cells of the item. A value of megabytes that
 * PostgreSQL has stored out of line should not be read as a whole for that. The core knows which bytes it needs, and the
 * caller knows how to read them, so they take turns:
 *
 *     status = sb_lookup_open(&lookup, SB_LOOKUP_TBF, the first bytes of the value, how many they are, size of the value);
 *     if (status == SB_OK)
 *         status = sb_lookup_item(&lookup, hash of the item);
 *     while (status == SB_NEED_BYTES)
 *         status = sb_lookup_next(&lookup, the lookup.need.size bytes from lookup.need.offset on);
 *
 * In the end the status is SB_OK, and the answer is in the look-up; or it is an error status, and the value is damaged. The
 * hash is asked for after the header was read because it depends on the kind of the filter's items (lookup.header).
 *
 * The core reads the bytes that were handed over last and no others, so the caller needs one buffer. They have to stay as
 * they are until the next bytes are handed over or the look-up is not used any more. Nothing is copied. A caller that has
 * the whole value in memory hands all of it over at first; then sb_lookup_item() gives every answer at once.
 *
 * After SB_OK the look-up can ask for the next item of the same value. No call trusts the bytes: whatever they are, the core
 * reads nothing outside what was handed over and asks for nothing outside the value.
 */
#ifndef STREAMBLOOM_SB_LOOKUP_H
#define STREAMBLOOM_SB_LOOKUP_H

#include "bf/sb_bf.h"
#include "stable/sb_stable.h"
#include "tbf/sb_top.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What sort of value is asked. */
typedef enum sb_lookup_type
{
	SB_LOOKUP_BF,
	SB_LOOKUP_TBF,
	SB_LOOKUP_STABLE			/* an sbf or an ibf */
} sb_lookup_type;

/* So many bytes, or the whole value if it is shorter, are the least that sb_lookup_open() can begin with. */
#define SB_LOOKUP_FIRST 128

typedef struct sb_lookup
{
	/* Set by sb_lookup_open(). */
	const char *type_name;		/* "bf", "tbf", "sbf" or "ibf", for messages; also if the value is refused */
	union
	{
		sb_kind		kind;		/* each of the others begins with it */
		sb_bf		bf;
		sb_tbf		tbf;
		sb_stable	stable;
	}			header;

	/* After SB_NEED_BYTES: the bytes to hand over next. The offset counts from the first byte of the header. */
	struct
	{
		size_t		offset;
		size_t		size;
	}			need;

	/* The answer, after SB_OK. */
	bool		found;			/* is the item in the filter? */
	uint64_t	units;			/* of a tbf: the item's count for sb_tbf_count(), 0 if it is not found */
	uint32_t	listed;			/* after sb_lookup_top(): how many hot items there are */

	/* For the core alone. */
	const unsigned char *bytes; /* those handed over last */
	size_t		at;				/* where in the value they begin */
	size_t		have;			/* how many they are */
	uint8_t		type;
	bool		empty;			/* nothing was added */
	uint8_t		step;			/* what the next bytes are for */
	uint8_t		tries;			/* of a table of recurring minimum: slices looked at; of a stable filter: cells */
	uint64_t	hash;
	uint64_t	from;			/* of a block: its offset and its size; of a table: which entries the item's can be; */
	uint64_t	to;				/* of a stable filter's cell: at which bit of the bytes it begins */
	double		low;			/* of a table: between which hashes those entries lie */
	double		high;
	uint64_t	list_error;		/* of a list of hot items: its error, in 2^-list_fraction_bits hits */
	uint8_t		list_fraction_bits;
	sb_top_item *items;
} sb_lookup;

/*
 * Begins: reads and checks the header. `have` bytes of a value of `total` bytes are at `bytes`. Any error status of the
 * types' decode_header() functions; it is not SB_NEED_BYTES.
 */
SB_NODISCARD sb_status sb_lookup_open(sb_lookup *lookup, sb_lookup_type type, const void *bytes, size_t have,
									  size_t total) SB_NOEXCEPT;

/* Asks for the item with this hash: SB_OK, SB_NEED_BYTES, SB_BAD_CELLS. A filter without items finds nothing. */
SB_NODISCARD sb_status sb_lookup_item(sb_lookup *lookup, uint64_t hash) SB_NOEXCEPT;

/* Goes on with lookup->need.size bytes of the value. REQUIRES: the last status was SB_NEED_BYTES. */
SB_NODISCARD sb_status sb_lookup_next(sb_lookup *lookup, const void *bytes) SB_NOEXCEPT;

/*
 * Asks a tbf for its list of hot items, and goes on as sb_lookup_item() does: SB_OK, SB_NEED_BYTES, SB_BAD_LENGTH,
 * SB_BAD_LIST. In the end lookup->listed items are in `items`, those with the most hits first. Their bytes are where the
 * caller has handed the list over. REQUIRES: room for header.tbf.top items.
 */
SB_NODISCARD sb_status sb_lookup_top(sb_lookup *lookup, sb_top_item *items) SB_NOEXCEPT;

/*
 * *from <= the decayed count of a listed item at a time <= *to. `units` is the answer of a look-up of item->hash, which may
 * bring *to below what the list alone says. Infinity as for sb_tbf_count(). REQUIRES: sb_lookup_top() has given SB_OK.
 */
void		sb_lookup_top_hits(const sb_lookup *lookup, const sb_top_item *item, uint64_t units, int64_t at, double *from,
							   double *to) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
