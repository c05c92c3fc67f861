/*
 * item_kind.h: the kinds of items: how they are shown, and what is said where they differ.
 */
#ifndef STREAMBLOOM_PG_ITEM_KIND_H
#define STREAMBLOOM_PG_ITEM_KIND_H

#include "base/compat.h"

/* The detail of a named kind: of the whole name, so it tells whether the stored one is cut. */
extern uint32_t item_kind_name_hash(const char *name);

/*
 * The error that an item is of another kind than the items of a filter. `item_name`: the name of the item's kind if it
 * is longer than the kind can hold, else NULL.
 */
extern SB_NORETURN void item_refuse_kind(const sb_kind *of_filter, const sb_kind *of_item, const char *item_name);

/* Hints for items that have no type and cannot be read: hint_begin() takes them, with the kind of the filter. */
extern void item_hint_of_untyped(const void *of_filter);
extern void item_hint_of_untyped_array(const void *of_filter);

#endif
