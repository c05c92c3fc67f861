/*
 * functions.h: how the SQL functions open an index.
 */
#ifndef STREAMBLOOM_PG_INDEX_FUNCTIONS_H
#define STREAMBLOOM_PG_INDEX_FUNCTIONS_H

#include "index/bf_index.h"

#include "storage/lockdefs.h"

/* What a function does with the index, and the rights that it needs. */
typedef enum BfRight
{
	BF_TO_READ,					/* shows its content: SELECT on the table, and no row-level security */
	BF_TO_CHECK,				/* runs the index's expressions: maintaining the table, and no row-level security */
	BF_TO_SUMMARIZE				/* changes it: maintaining the table */
} BfRight;

/* Opens and locks a bf index and its heap, the heap first; an error for anything else and for those without the right. */
extern Relation bf_index_open(Oid indexoid, BfRight right, LOCKMODE mode, Relation *heap);
extern void bf_index_close(Relation index, Relation heap, LOCKMODE mode);

/* A block number that was given as bigint; an error outside its range. */
extern BlockNumber bf_index_block_argument(int64 block);

#endif
