/*
 * owner.h: whose rights the expressions and the predicate of an index run with.
 */
#ifndef STREAMBLOOM_PG_INDEX_OWNER_H
#define STREAMBLOOM_PG_INDEX_OWNER_H

#include "base/compat.h"

#include "nodes/execnodes.h"
#include "utils/rel.h"

/*
 * Expressions and predicates of an index run as the owner of the table, in a security-restricted operation and with
 * the search_path pg_catalog, pg_temp. This holds from bf_index_become_owner() until bf_index_become_caller(). After
 * an error the end of the transaction or subtransaction restores everything.
 */
typedef struct BfCaller
{
	Oid			user;
	int			security;
	int			guc_level;
} BfCaller;

extern void bf_index_become_owner(Relation heap, BfCaller *caller);
extern void bf_index_become_caller(const BfCaller *caller);

/* Has the index expressions or a predicate, so that user-defined code may run for each row? */
extern bool bf_index_runs_code(Relation index);

/* The columns, expressions and predicate of the index, to be prepared after bf_index_become_owner(). */
extern IndexInfo *bf_index_info_for_owner(Relation index);

#endif
