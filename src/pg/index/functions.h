/*
 * functions.h: how SQL functions look at pg_class, open an index, and check the block numbers and levels that they are
 * given.
 */
#ifndef STREAMBLOOM_PG_INDEX_FUNCTIONS_H
#define STREAMBLOOM_PG_INDEX_FUNCTIONS_H

#include "base/compat.h"

#include "catalog/pg_class.h"
#include "storage/block.h"
#include "storage/lockdefs.h"
#include "utils/rel.h"

/* Copies the row of pg_class for a relation. Returns false if the relation does not exist. Takes no lock. */
extern bool bf_index_class_form(Oid relation, FormData_pg_class *form);

/* Raises the error that there is no such relation: a value of type regclass can be any number. */
extern SB_NORETURN void bf_index_refuse_missing(Oid relation);

/*
 * What a function does with the index, and which rights its caller needs for that. may_maintain() (functions.c) is true
 * for the owner of the table, and from PostgreSQL 17 on for users with MAINTAIN.
 */
typedef enum BfRight
{
	BF_TO_READ,					/* it shows the content: SELECT on the table, and no row-level security */
	BF_TO_CHECK,				/* it tells facts of rows and runs expressions: may_maintain(), no row-level security */
	BF_TO_SUMMARIZE				/* it changes the index: may_maintain() */
} BfRight;

/*
 * Locks and opens a bf index and its heap, the heap first. Raises an error if this is not a bf index, or if the user
 * lacks the right.
 */
extern Relation bf_index_open(Oid indexoid, BfRight right, LOCKMODE mode, Relation *heap);
extern void bf_index_close(Relation index, Relation heap, LOCKMODE mode);

/* The block number that an SQL function was given as bigint. Raises an error if it is out of range. */
extern BlockNumber bf_index_block_argument(int64 block);

/* The level that an SQL function was given as integer. Raises an error if it is out of range. */
extern int	bf_index_level_argument(int32 level);

#endif
