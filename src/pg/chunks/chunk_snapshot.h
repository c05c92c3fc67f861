/*
 * chunk_snapshot.h: is what is locked now what a snapshot sees?
 *
 * A plain SELECT locks its tables and takes its snapshot after that. chunk_scan() finds its tables while a query is
 * running: it locks them after the query's snapshot was taken. In between another transaction can have truncated or
 * rewritten a table, or changed the set of a table's children, and the rows that the snapshot sees are not there any
 * more. These functions raise ERRCODE_T_R_SERIALIZATION_FAILURE if that has happened.
 *
 * A relation that the snapshot does not see at all is accepted. It was created since, so the snapshot sees no rows in
 * it but those of its own transaction, and these cannot have been truncated by others.
 */
#ifndef STREAMBLOOM_PG_CHUNK_SNAPSHOT_H
#define STREAMBLOOM_PG_CHUNK_SNAPSHOT_H

#include "base/compat.h"

#include "nodes/pg_list.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

/* Is the relation's storage the one that the snapshot sees? REQUIRES: the relation is locked, the snapshot active. */
extern void chunk_require_storage(Relation relation, Snapshot snapshot);

/* Are these the children or partitions of a table that the snapshot sees? REQUIRES: the same. */
extern void chunk_require_children(Relation parent, const Oid *children, int count, Snapshot snapshot);

/*
 * Locks (AccessShareLock) all inheritance children or partitions of a table that is locked, at any number of levels.
 * Returns them and the table itself, after checking their set and the storage of each.
 */
extern List *chunk_lock_tree(Relation parent, Snapshot snapshot);

/* Raises the error for a child of the relation that is gone. */
extern SB_NORETURN void chunk_report_gone(Relation parent);

#endif
