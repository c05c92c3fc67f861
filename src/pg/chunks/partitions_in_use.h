/*
 * partitions_in_use.h: partitions that a running query does not have open, but that the session that runs the query
 * must not change meanwhile.
 *
 * PostgreSQL refuses TRUNCATE, DROP TABLE, ALTER TABLE, CLUSTER and CREATE INDEX for a table that a query of the same
 * session has open. Here the same commands are refused for partitions that an ordinary plan would have open: those of a
 * PartitionScan, and those that a ChunkSkip leaves out.
 */
#ifndef STREAMBLOOM_PG_PARTITIONS_IN_USE_H
#define STREAMBLOOM_PG_PARTITIONS_IN_USE_H

#include "base/compat.h"

/* Is called when the library is loaded. */
extern void partitions_in_use_init(void);

/*
 * From now on, an error is raised if this session truncates, drops, rewrites or alters one of these partitions, or
 * makes an index on one. This ends when the memory context `execution` is deleted, or earlier if the current resource
 * owner is released, as after an error. The array must live as long as the context.
 */
extern void partitions_in_use_begin(MemoryContext execution, const Oid *partitions, int count);

#endif
