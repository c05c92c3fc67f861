/*
 * slices.h: looking items up in values, as sb_lookup.h does it: what is in memory is handed over as it is, of a value that is
 * stored out of line only those parts are read that the core asks for. For the length of a query parts that were read already
 * are kept: who asks one filter for many items, or the same filters again and again (nested loops), finds in memory the header
 * and the cells that were looked at.
 */
#ifndef STREAMBLOOM_PG_SLICES_H
#define STREAMBLOOM_PG_SLICES_H

#include "base/compat.h"

#include "base/call.h"
#include "base/elements.h"
#include "base/item.h"
#include "base/value.h"

typedef struct SliceCache SliceCache;

/*
 * A stable filter of fewer bytes is read as a whole: an item's cells lie all over it, and each of them would take another slice.
 */
#define STABLE_SLICES_FROM 65536

/* Does a look-up in this value copy all of it? That memory has to be free again when the call returns. */
static inline bool
look_up_copies_all(sb_lookup_type type, Datum value)
{
	return is_compressed(value) ||
		(type == SB_LOOKUP_STABLE && VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(value)) && value_size(value) < STABLE_SLICES_FROM);
}

/*
 * Defines an SQL function that looks up in the filter in argument `argno`; its body follows. Look-ups are to be cheap, so the call
 * gets a memory context of its own only if it copies the whole filter.
 */
#define SB_FUNCTION_OF_SLICES(name, type, argno) \
	static Datum name##_inside(PG_FUNCTION_ARGS); \
	SB_FUNCTION(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		if (unlikely(look_up_copies_all(type, PG_GETARG_DATUM(argno)))) \
			return call_in_own_memory(name##_inside, fcinfo); \
		return name##_inside(fcinfo); \
	} \
	static Datum \
	name##_inside(PG_FUNCTION_ARGS)

/* Defines the SQL functions <name>_contains(filter, "any") and <name>_contained("any", filter). */
#define SB_CONTAINS(name, type) \
	SB_FUNCTION_OF_SLICES(name##_contains, type, 0) \
	{ \
		PG_RETURN_BOOL(look_up(type, item_hasher_for_argument(fcinfo, 1), PG_GETARG_DATUM(0), PG_GETARG_DATUM(1))); \
	} \
	SB_FUNCTION_OF_SLICES(name##_contained, type, 1) \
	{ \
		PG_RETURN_BOOL(look_up(type, item_hasher_for_argument(fcinfo, 0), PG_GETARG_DATUM(1), PG_GETARG_DATUM(0))); \
	}

/*
 * Defines the SQL functions <name>_contains_any(filter, anyarray) and <name>_contains_all(filter, anyarray). search(fcinfo, answer)
 * says whether the look-up of at least one element gives this answer. NULL elements are skipped.
 */
#define SB_CONTAINS_ELEMENTS(name, search) \
	SB_FUNCTION_IN_OWN_MEMORY(name##_contains_any) \
	{ \
		PG_RETURN_BOOL(search(fcinfo, true)); \
	} \
	SB_FUNCTION_IN_OWN_MEMORY(name##_contains_all) \
	{ \
		PG_RETURN_BOOL(!search(fcinfo, false)); \
	}

/*
 * Opens a look-up in a value, or raises an error. Parts that are read are kept beside the hasher, in memory that lives as long
 * as itself, and at most as much as a hash table may have; without a hasher (NULL) nothing is kept.
 */
extern void look_up_open(sb_lookup *lookup, sb_lookup_type type, ItemHasher *hasher, Datum value);

/* Looks the item up: the answer is in the look-up. Raises an error if the item is of another kind. */
extern void look_up_item(sb_lookup *lookup, ItemHasher *hasher, Datum value, Datum item);

/* Hands over what the core asks for, after a call that returned this status, until the answer is there. */
extern void look_up_finish(sb_lookup *lookup, ItemHasher *hasher, Datum value, sb_status status);

/* Is the item in the filter? */
extern bool look_up(sb_lookup_type type, ItemHasher *hasher, Datum value, Datum item);

/* Looks the elements up one after the other. Does one of them give this answer? */
extern bool look_up_elements(sb_lookup_type type, Datum value, Elements *elements, bool answer);

/* Is reading the slices for `items` items, so many for each, less work than reading the whole value? */
extern bool slices_are_cheaper(Datum value, int items, int slices_per_item);

#endif
