/*
 * chunk_snapshot.h: checks that a relation which is locked now is still the one that a snapshot sees.
 *
 * A plain SELECT locks its tables first and takes its snapshot after that. chunk_scan() finds its tables while a
 * query is running, so it locks them after the query's snapshot was taken. In between another transaction may have
 * truncated or rewritten a table, or changed the set of its children. Then the rows that the snapshot sees are no
 * longer there. These functions raise ERRCODE_T_R_SERIALIZATION_FAILURE if that has happened.
 *
 * A relation that the snapshot does not see at all is accepted. It was created after the snapshot was taken, and its
 * rows were written still later. So the snapshot sees none of them (but for rows of COPY FREEZE, which all snapshots
 * see). A materialized view is not: all snapshots see what REFRESH writes.
 *
 * Not noticed is a TRUNCATE of a table that the own transaction has made or truncated before: it keeps the storage, and
 * no catalog says that it is empty now. So a cursor that was declared before that finds no row of this table.
 */
#ifndef STREAMBLOOM_PG_CHUNK_SNAPSHOT_H
#define STREAMBLOOM_PG_CHUNK_SNAPSHOT_H

#include "base/compat.h"

#include "nodes/pg_list.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

/*
 * Checks that the relation's storage is the one that the snapshot sees. Returns false if the snapshot does not see the
 * relation at all. REQUIRES: the relation is locked, and the snapshot is active.
 */
extern bool chunk_require_storage(Relation relation, Snapshot snapshot);

/*
 * Checks that the snapshot sees these children or partitions of a table, and no others. REQUIRES: the table is
 * locked, and the snapshot is active.
 */
extern void chunk_require_children(Relation parent, const Oid *children, int count, Snapshot snapshot);

/*
 * Locks (AccessShareLock) all inheritance children or partitions of a table, at any number of levels. Checks that the
 * snapshot sees the same children or partitions, with the same storage. Returns their OIDs and that of the table
 * itself. REQUIRES: the table is locked, and the snapshot is active.
 */
extern List *chunk_lock_tree(Relation parent, Snapshot snapshot);

/* Raises the error that a child of the relation no longer exists. */
extern SB_NORETURN void chunk_report_gone(Relation parent);

#endif
