/*
 * item_type.h: which types can be items, and how the kinds of their items are named. A kind is the sort of items that
 * a filter holds (item.h).
 */
#ifndef STREAMBLOOM_PG_ITEM_TYPE_H
#define STREAMBLOOM_PG_ITEM_TYPE_H

#include "base/compat.h"

#include "access/htup.h"

#include "access/tupdesc.h"

/*
 * Raises an error if the collation is nondeterministic. Under such a collation strings can be equal without having the
 * same bytes. The error names `type`, the type of the item.
 */
extern void refuse_nondeterministic(Oid collation, Oid type);

/*
 * Raises an error if values of `type`, or parts of them, are filters or have unstable hashes. A hash is unstable if
 * it depends on object numbers, which a dump and restore changes, or on a nondeterministic collation. `within` is the
 * type of the whole item, for the error; `type` is that type or the type of a part.
 */
extern void refuse_unstable(Oid type, Oid within);

/* Does the same for all columns of a composite type. */
extern void refuse_unstable_columns(TupleDesc columns, Oid within);

/*
 * Raises an error if a row contains a literal without a type, such as 'x' in ROW(1, 'x'). `columns` describes the
 * columns of the row.
 */
extern void refuse_untyped_fields(HeapTupleHeader record, TupleDesc columns);

/*
 * Returns the row type that this type is, or that it contains at any depth; InvalidOid if there is none. The answer
 * for a type never changes, because domains, ranges and arrays keep the types that they were made of.
 */
extern Oid	row_type_within(Oid type);

/* Raises an error if values of this type are rows, or contain rows: an index cannot have them. */
extern void refuse_rows_in_index(Oid type);

/* Return the name of the kind whose items are of this type, or are rows with these columns. The name is palloc'd. */
extern char *name_of_item_type(Oid type);
extern char *name_of_item_columns(TupleDesc columns);

#endif
