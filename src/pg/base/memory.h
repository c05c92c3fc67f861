/*
 * memory.h: zeroed memory for the states of aggregates, and PostgreSQL's memory contexts as the core knows them.
 */
#ifndef STREAMBLOOM_PG_MEMORY_H
#define STREAMBLOOM_PG_MEMORY_H

#include "base/compat.h"

/* Gives the core its secret. Once, when the library is loaded. */
extern void memory_init(void);

/* This context, for functions of the core that allocate. Blocks of more than a gigabyte are allowed. */
extern sb_memory memory_in(MemoryContext context);

/* Zeroed memory for a state, also more than a gigabyte. Looks for interrupts while it is cleared. */
extern void *allocate_cells(MemoryContext context, size_t bytes);

#endif
