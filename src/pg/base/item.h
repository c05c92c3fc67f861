/*
 * item.h: turns SQL values into 64-bit hashes and item kinds. The kind (sb_kind) says what sort of items a filter
 * holds; the first item decides it. An *untyped* item is a literal or a parameter without a type: 'x', $1.
 *
 * One rule must never be broken: two items that are equal by SQL's = have the same hash, and an item has the same hash
 * when a filter is built and when it is asked. Types that cannot keep this rule are refused with an error.
 */
#ifndef STREAMBLOOM_PG_ITEM_H
#define STREAMBLOOM_PG_ITEM_H

#include "base/compat.h"

/* How items of one type are hashed. A call site finds this out once, and keeps it. */
typedef struct ItemHasher ItemHasher;

/*
 * The hasher for the item in argument `argno` of this call. It is kept in fcinfo->flinfo->fn_extra, which must not be
 * used for anything else. Raises an error if the type of the argument cannot be an item.
 */
extern ItemHasher *item_hasher_for_argument(FunctionCallInfo fcinfo, int argno);

/*
 * Makes a hasher for an index's column of this type and collation, in this memory context. An index, unlike a value,
 * does not store the kind of its items. So this function also refuses types whose hashes ALTER TYPE changes: all
 * types that are or contain a row type.
 */
extern ItemHasher *item_hasher_for_index(Oid type, Oid collation, MemoryContext context);

/*
 * The hasher for the elements of the array argument `argno`. It is kept in fcinfo->flinfo->fn_extra, too. If the
 * argument is untyped, item_is_untyped() is true, and item_read_array() reads it as an array.
 */
extern ItemHasher *item_hasher_for_elements(FunctionCallInfo fcinfo, int argno);
extern bool item_is_untyped(const ItemHasher *hasher);

/*
 * Reads an untyped array for a filter of this kind: *array is a text, and becomes an array of the type that the kind
 * stands for. Returns the hasher for its elements. Errors are those of the array's input function.
 */
extern ItemHasher *item_read_array(ItemHasher *hasher, const sb_kind *filter_kind, Datum *array);

/*
 * The kind of the items that this hasher hashes. If the items are or contain rows, this is the kind of the last item:
 * call item_hash() for an item before you ask for its kind.
 */
extern const sb_kind *item_kind(const ItemHasher *hasher);

/*
 * Returns the item's hash for a filter of this kind (which may be none). Raises an error that names both kinds if the
 * item is of another kind than the filter. An untyped item is read by the input function of the type that the filter's
 * kind stands for (bigint for integers, double precision for floats), which may raise an error. For a filter whose
 * kind is none, text or a named kind (SB_KIND_NAMED), an untyped item is a text; a filter of a named kind refuses it.
 */
extern uint64_t item_hash_for(ItemHasher *hasher, Datum item, const sb_kind *filter_kind);

/* Returns the hash of an item that is to be added. If the filter has no kind yet, it gets the kind of the item. */
extern uint64_t item_hash_to_add(ItemHasher *hasher, Datum item, sb_kind *filter_kind);

/*
 * Does item_hash() return the same as item_hash_for() for all further items of this hasher and a filter of this kind?
 * False for all kinds that have the name of a type, because the items may be rows, and the next row may have another
 * kind. False for untyped items too, unless the filter's kind is text. REQUIRES: item_hash_for() was called for an item
 * of this hasher.
 */
extern bool item_kind_is_settled(const ItemHasher *hasher, const sb_kind *filter_kind);

/* The item's hash, without a check of its kind. */
extern uint64_t item_hash(ItemHasher *hasher, Datum item);

/* Compares two hashes for qsort() and bsearch(). */
extern int	item_compare_hashes(const void *a, const void *b);

/*
 * The integer type that PostgreSQL stores the items as, if any; it also stores dates and times as integers. The hash of
 * such an item is sb_hash_int64() of the integer. So a caller can collect integers, and have many hashed at once.
 */
typedef enum ItemInteger
{
	ITEM_NO_INTEGER,
	ITEM_INT16,
	ITEM_INT32,
	ITEM_INT64
} ItemInteger;

extern ItemInteger item_integer(const ItemHasher *hasher);

/* The integer itself. REQUIRES: `size` is what item_integer() returned, and it is not ITEM_NO_INTEGER. */
static inline int64
item_as_integer(ItemInteger size, Datum item)
{
	if (size == ITEM_INT64)
		return DatumGetInt64(item);
	return size == ITEM_INT32 ? DatumGetInt32(item) : DatumGetInt16(item);
}

/*
 * The item as its type's output function writes it, in palloc'd memory and in the encoding of the database. It is
 * meant for people only: settings such as TimeZone change how an item is written. REQUIRES: the last call of
 * item_hash_for() or item_hash_to_add() was for this item. (An untyped item is written as what that call has read.)
 */
extern char *item_text(ItemHasher *hasher, Datum item);

/* The cache that slices.c keeps beside the hasher; NULL at first. */
extern struct SliceCache **item_slices(ItemHasher *hasher);

/*
 * Tells how the elements of an array are stored. REQUIRES: item_hasher_for_elements() or item_read_array() returned
 * the hasher; it is not untyped.
 */
extern void item_element_storage(const ItemHasher *hasher, int16 *length, bool *by_value, char *align);

/* A kind as a person reads it: "integer", "text (UTF8)", "numeric". In palloc'd memory. */
extern char *item_kind_text(const sb_kind *kind);

/* Raises an error unless the kinds are equal or one is none; `action` completes "cannot ... ". */
extern void item_kinds_must_agree(const sb_kind *left, const sb_kind *right, const char *action);

#endif
