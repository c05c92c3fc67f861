/*
 * slices.h: looking items up in values, as sb_lookup.h does it: what is in memory is handed over as it is, of a value that is
 * stored out of line only those parts are read that the core asks for. For the length of a query parts that were read already
 * are kept: who asks one filter for many items, or the same filters again and again (nested loops), finds in memory the header
 * and the cells that were looked at.
 */
#ifndef STREAMBLOOM_PG_SLICES_H
#define STREAMBLOOM_PG_SLICES_H

#include "base/compat.h"

#include "base/item.h"

typedef struct SliceCache SliceCache;

/*
 * A stable filter of fewer bytes is read as a whole: an item's cells lie all over it, and each of them would take another slice.
 */
#define STABLE_SLICES_FROM 65536

/*
 * How many slices of a stored value cost as much to read as the whole value of `size` bytes. A slice costs about two pages: one
 * of the TOAST table and one of its index.
 */
#define SLICES_WORTH_A_VALUE(size) ((size) / (2 * BLCKSZ))

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

#endif
