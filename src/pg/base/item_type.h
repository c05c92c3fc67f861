/*
 * item_type.h: which types can be items, and how the kinds of their items are named.
 */
#ifndef STREAMBLOOM_PG_ITEM_TYPE_H
#define STREAMBLOOM_PG_ITEM_TYPE_H

#include "base/compat.h"

#include "access/htup.h"

#include "access/tupdesc.h"

/* Raises an error if values of this type under this collation can be equal without having the same bytes. */
extern void refuse_nondeterministic(Oid collation, Oid type);

/*
 * Raises an error if the hash of such a value, or of a part of it, depends on object numbers (which a dump and restore
 * changes) or on a nondeterministic collation. `within` is the type that the user gave.
 */
extern void refuse_unstable(Oid type, Oid within);

/* The same for all columns of a composite type. */
extern void refuse_unstable_columns(TupleDesc columns, Oid within);

/* Raises an error if a row has a literal without a type, as ROW(1, 'x') does: its columns are `columns`. */
extern void refuse_untyped_fields(HeapTupleHeader record, TupleDesc columns);

/*
 * The row type that values of this type are, or contain at any depth; InvalidOid if there is none. A type that
 * contains no row type when it is made cannot contain one later: what a domain, a range or an array consists of never
 * changes.
 */
extern Oid	row_type_within(Oid type);

/* Raises an error if values of this type are rows, or contain rows: an index cannot have them. */
extern void refuse_rows_in_index(Oid type);

/* The name of the kind whose items are of this type, or are rows with these columns; it is allocated. */
extern char *name_of_item_type(Oid type);
extern char *name_of_item_columns(TupleDesc columns);

#endif
