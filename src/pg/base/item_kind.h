/*
 * item_kind.h: the functions of item_kind.c that no other file but item.c calls: the hash of a kind's name, the error
 * for an item of another kind, and hints for untyped items. A kind is the sort of items that a filter holds; an untyped
 * item is a literal or a parameter without a type (item.h).
 */
#ifndef STREAMBLOOM_PG_ITEM_KIND_H
#define STREAMBLOOM_PG_ITEM_KIND_H

#include "base/compat.h"

/*
 * Returns the hash of a kind's name. A kind of the code SB_KIND_NAMED has the hash of its whole name in sb_kind.detail,
 * but at most the first 27 bytes of the name. So if the hash of these bytes differs from `detail`, the name was cut.
 */
extern uint32_t item_kind_name_hash(const char *name);

/*
 * Raises the error that an item is of another kind than the items of a filter. `item_name` is the whole name of the
 * item's kind if it is longer than the kind can hold, else NULL.
 */
extern SB_NORETURN void item_refuse_kind(const sb_kind *of_filter, const sb_kind *of_item, const char *item_name);

/*
 * Give the hint for an untyped item, or array of items, that cannot be read. They are callbacks for hint_begin(); the
 * argument is the kind of the filter.
 */
extern void item_hint_of_untyped(const void *of_filter);
extern void item_hint_of_untyped_array(const void *of_filter);

#endif
