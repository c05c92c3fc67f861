/*
 * own_types.h: recognizes the extension's own types among the arguments of its functions.
 *
 * A type is recognized by the address of its input function, because the extension may be installed in any schema.
 */
#ifndef STREAMBLOOM_PG_OWN_TYPES_H
#define STREAMBLOOM_PG_OWN_TYPES_H

#include "base/compat.h"

/*
 * Is this bf_untyped_item? PostgreSQL gives this type to an item that has none of its own: a literal such as 'x', or a
 * parameter such as $1. Its values are stored like text.
 */
extern bool is_untyped_item(Oid type);

/* Is this bf_text_item, to which the operators || convert a text on their right? Its values are stored like text. */
extern bool is_text_item(Oid type);

/* Raises an error if this is the type of a filter. The hint says how two filters are united or merged. */
extern void refuse_filter_as_item(Oid type);

extern bool is_tbf(Oid type);

#endif
