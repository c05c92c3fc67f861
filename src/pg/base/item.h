/*
 * item.h: from SQL values to 64-bit hashes and item kinds.
 *
 * The rule that must never be broken: items that SQL's = calls equal hash alike, and an item hashes the same when a
 * filter is built and when it is asked. What cannot keep it is refused with an error.
 */
#ifndef STREAMBLOOM_PG_ITEM_H
#define STREAMBLOOM_PG_ITEM_H

#include "base/compat.h"

/* How items of one type are hashed: found once for a call site, and kept. */
typedef struct ItemHasher ItemHasher;

/*
 * The hasher for argument `argno` of this call, whose declared type is "any". Kept in fcinfo->flinfo->fn_extra, which nothing else may use. Raises an error for types that cannot be items.
 */
extern ItemHasher *item_hasher_for_argument(FunctionCallInfo fcinfo, int argno);

/*
 * A hasher for an index's column of this type and collation, in this memory context. Unlike a value, an index does not store the
 * kind of its items, so it also refuses types whose hashes ALTER TYPE changes: all that contain a row type.
 */
extern ItemHasher *item_hasher_for_index(Oid type, Oid collation, MemoryContext context);

/* The same for the elements of the array argument `argno`. */
extern ItemHasher *item_hasher_for_elements(FunctionCallInfo fcinfo, int argno);

/*
 * The kind of the items that this hasher hashes. For composite types of unknown columns the value decides, so ask
 * after item_hash() of the item in question.
 */
extern const sb_kind *item_kind(const ItemHasher *hasher);

/*
 * The item's hash, for a filter of this kind (which may be none). Raises an error that names both kinds if they
 * differ. An untyped literal counts as char(n) where the filter holds char(n), as it would in a comparison.
 */
extern uint64_t item_hash_for(ItemHasher *hasher, Datum item, const sb_kind *filter_kind);

/* The same for an item that is to be added: a filter of no kind becomes one of the item's. */
extern uint64_t item_hash_to_add(ItemHasher *hasher, Datum item, sb_kind *filter_kind);

/*
 * Does item_hash() give the same as item_hash_for() for all further items of this hasher and a filter of this kind, one of which
 * was just hashed? Not for records, which may be of another kind in each row, nor for untyped literals where the filter holds char(n).
 */
extern bool item_kind_is_settled(const ItemHasher *hasher, const sb_kind *filter_kind);

/* The item's hash without a filter at hand. */
extern uint64_t item_hash(ItemHasher *hasher, Datum item);

/*
 * Items that are integers, as PostgreSQL passes them: their hash is sb_hash_int64() of the integer, so that whoever gathers items
 * can gather integers and have them hashed together.
 */
typedef enum ItemInteger
{
	ITEM_NO_INTEGER,
	ITEM_INT16,
	ITEM_INT32,
	ITEM_INT64
} ItemInteger;

extern ItemInteger item_integer(const ItemHasher *hasher);

/* The integer itself; `size` is what item_integer() said, and not ITEM_NO_INTEGER. */
static inline int64
item_as_integer(ItemInteger size, Datum item)
{
	if (size == ITEM_INT64)
		return DatumGetInt64(item);
	return size == ITEM_INT32 ? DatumGetInt32(item) : DatumGetInt16(item);
}

/*
 * The item as its type's output function writes it (in palloc'd memory, in the encoding of the database): not a canonical
 * form, since settings such as TimeZone have their say, but one that a person recognises.
 */
extern char *item_text(ItemHasher *hasher, Datum item);

/* What slices.c keeps beside the hasher; NULL at first. */
extern struct SliceCache **item_slices(ItemHasher *hasher);

/* How the elements of an array are stored. REQUIRES: a hasher that item_hasher_for_elements() gave. */
extern void item_element_storage(const ItemHasher *hasher, int16 *length, bool *by_value, char *align);

/* A kind as a person reads it: "integer", "text (UTF8)", "numeric". In palloc'd memory. */
extern char *item_kind_text(const sb_kind *kind);

/* Raises an error unless the kinds are equal or one is none; `action` completes "cannot ... ". */
extern void item_kinds_must_agree(const sb_kind *left, const sb_kind *right, const char *action);

#endif
