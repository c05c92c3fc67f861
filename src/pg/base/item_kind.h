/*
 * item_kind.h: how the kinds of items are shown, and the errors for kinds that differ.
 */
#ifndef STREAMBLOOM_PG_ITEM_KIND_H
#define STREAMBLOOM_PG_ITEM_KIND_H

#include "base/compat.h"

/*
 * Returns the hash of a kind's whole name, which is sb_kind.detail if the code is SB_KIND_NAMED. If the name stored in
 * such a kind has another hash, the name was cut.
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
