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

/* The same for a set whose capacity and `beside` are set; it is empty then. */
extern void allocate_set(MemoryContext context, sb_hash_set *set);
extern void free_set(sb_hash_set *set);

/*
 * The same hashes in a set of another capacity, or with another number of words beside. A set in which hashes crowd together gets
 * the secret of this process, and keeps it. If that is interrupted *set is as it was.
 */
extern void remake_set(MemoryContext context, sb_hash_set *set, uint64_t capacity, uint32_t beside);

#endif
