/*
 * own_types.h: the extension's own types, met among the arguments of its functions.
 *
 * A type is known by the address of its input function, because the extension may be in any schema.
 */
#ifndef STREAMBLOOM_PG_OWN_TYPES_H
#define STREAMBLOOM_PG_OWN_TYPES_H

#include "base/compat.h"

/* Is this bf_untyped_item, the type of a literal or a parameter that has none? Its values are stored as those of text. */
extern bool is_untyped_item(Oid type);

/* Is this bf_text_item, as which the operators || take text? Its values are stored as those of text. */
extern bool is_text_item(Oid type);

/* Raises an error if this is one of the four types of filters. The hint says how filters are combined. */
extern void refuse_filter_as_item(Oid type);

#endif
