/*
 * chunk_engine.h: relations whose rows another extension keeps elsewhere. TimescaleDB's compressed chunks have their
 * rows in other tables, Citus' distributed tables on other servers. Only the plans of these extensions find such rows,
 * and a bf index on such a table does not have them.
 */
#ifndef STREAMBLOOM_PG_CHUNK_ENGINE_H
#define STREAMBLOOM_PG_CHUNK_ENGINE_H

#include "base/compat.h"

#include "utils/rel.h"

/* Returns the name of such an extension if this database has one; otherwise NULL. */
extern const char *chunk_engine(void);

/*
 * Raises an error if such an extension may keep rows of the relation elsewhere: with Citus, those of any relation; with
 * TimescaleDB, those of parents and children by inheritance.
 */
extern void chunk_require_own_rows(Relation relation);

#endif
