/*
 * slices.h: parts of stored values, and for the length of a query those that were read already: who asks one filter for many
 * items, or the same filters again and again (nested loops), finds the header and the cells that were looked at in memory.
 */
#ifndef STREAMBLOOM_PG_SLICES_H
#define STREAMBLOOM_PG_SLICES_H

#include "base/compat.h"

#include "base/item.h"

typedef struct SliceCache SliceCache;

/*
 * Reads size bytes from offset of a stored form, as value_slice() does. The result is good until the next call with this
 * hasher, which keeps what was read: in memory that lives as long as itself, and at most as much as a hash table may have.
 */
extern const void *cached_slice(ItemHasher *hasher, Datum value, size_t offset, size_t size);

#endif
