/*
 * memory.h: memory contexts in the form that the core takes (sb_memory), zeroed memory for the states of aggregates,
 * and the core's secret.
 */
#ifndef STREAMBLOOM_PG_MEMORY_H
#define STREAMBLOOM_PG_MEMORY_H

#include "base/compat.h"

/*
 * Gives the core its secret (sb_set_secret()): random numbers that keep sets of hashes fast even if somebody has
 * chosen items whose hashes collide. It is called once, when the library is loaded.
 */
extern void memory_init(void);

/* Returns the memory context in the form that functions of the core take. Blocks may be larger than a gigabyte. */
extern sb_memory memory_in(MemoryContext context);

/*
 * Allocates zeroed memory for a state, which may be larger than a gigabyte. Looks for interrupts while it clears the
 * memory.
 */
extern void *allocate_cells(MemoryContext context, size_t bytes);

#endif
