/*
 * slices.h: looks items up in values, by the core's sb_lookup.h.
 *
 * If a value is in memory, the core gets it as it is. If a value is stored out of line, only the slices that the core
 * asks for are read, and small ones are kept in memory for the statement, as far as there is room. So a query that asks
 * one filter for many items, or asks the same filters again and again (in a nested loop), reads the header and the
 * cells only once. For a slice of a compressed value the whole value may have to be read. A small stable filter is
 * always read as a whole.
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
 * A stable filter (sbf or ibf) of fewer bytes than this is read as a whole. An item's cells lie all over the filter, so
 * each cell would take a slice of its own.
 */
#define STABLE_SLICES_FROM 65536

/* May a look-up copy all of this value? Then the call has to free the copy before it returns. */
static inline bool
look_up_copies_all(sb_lookup_type type, Datum value)
{
	return is_compressed(value) ||
		(type == SB_LOOKUP_STABLE && VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(value)) &&
		 value_size(value) < STABLE_SLICES_FROM);
}

/*
 * Defines an SQL function that looks items up in the filter in argument `argno`; its body follows. To keep look-ups
 * cheap, the call gets a memory context of its own only if it may copy the whole filter.
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
 * Defines the SQL functions <name>_contains_any(filter, anyarray) and <name>_contains_all(filter, anyarray).
 * search(fcinfo, answer) has to return true if the look-up of at least one element gives `answer`: true for an item
 * that is found, false for one that is not. NULL elements are skipped.
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
 * Opens a look-up in a value. Raises an error if the value cannot be read. Small slices of a value that is stored out
 * of line are kept beside the hasher when they are read. They are dropped when a later statement uses the hasher, when
 * the hasher is freed, and when they would take more memory than work_mem and hash_mem_multiplier allow. If the hasher
 * is NULL, nothing is kept.
 */
extern void look_up_open(sb_lookup *lookup, sb_lookup_type type, ItemHasher *hasher, Datum value);

/* Looks the item up; `lookup` then has the answer. Raises an error if the item is of another kind than the filter's. */
extern void look_up_item(sb_lookup *lookup, ItemHasher *hasher, Datum value, Datum item);

/*
 * Reads the bytes that the core asks for, until the core has the answer. `status` is the status that the last call of
 * the core returned.
 */
extern void look_up_finish(sb_lookup *lookup, ItemHasher *hasher, Datum value, sb_status status);

/* Is the item in the filter? */
extern bool look_up(sb_lookup_type type, ItemHasher *hasher, Datum value, Datum item);

/*
 * Looks the elements up one after the other. If `answer` is true, returns whether one of them is found, else whether
 * one of them is not found.
 */
extern bool look_up_elements(sb_lookup_type type, Datum value, Elements *elements, bool answer);

/*
 * Is it less work to read slices_per_item slices for each of `items` items than to read the whole value? Always false
 * if a slice cannot be read alone (has_cheap_slices()).
 */
extern bool slices_are_cheaper(Datum value, int items, int slices_per_item);

#endif
