/*
 * chunk_paths.h: the hook for the paths of tables. It changes the planner's choice of paths, for the nodes
 * PartitionScan and Skip.
 */
#ifndef STREAMBLOOM_PG_CHUNK_PATHS_H
#define STREAMBLOOM_PG_CHUNK_PATHS_H

#include "base/compat.h"

/* Is called when the library is loaded. */
extern void chunk_paths_init(void);

/* Is our hook the one that PostgreSQL calls? Otherwise an extension that was loaded later may change paths after us. */
extern bool chunk_paths_are_last(void);

#endif
