/*
 * functions.h: how the SQL functions open an index.
 */
#ifndef STREAMBLOOM_PG_INDEX_FUNCTIONS_H
#define STREAMBLOOM_PG_INDEX_FUNCTIONS_H

#include "bf_index.h"

#include "storage/lockdefs.h"

/* Opens and locks a bf index and its heap, the heap first; an error for anything else. */
extern Relation bf_open_index(Oid indexoid, LOCKMODE mode, Relation *heap);
extern void bf_close_index(Relation index, Relation heap, LOCKMODE mode);

/* A block number that was given as bigint; an error outside its range. */
extern BlockNumber bf_block_argument(int64 block);

#endif
