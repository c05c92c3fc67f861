/*
 * chunk_engine.h: finds relations whose rows another extension keeps elsewhere. chunk_scan() refuses such relations.
 *
 * TimescaleDB's hypertables have compressed chunks, whose rows are in other tables. The rows of Citus' distributed
 * tables are on other servers. Only the plans of these extensions find such rows, and a bf index on such a table does
 * not have them.
 */
#ifndef STREAMBLOOM_PG_CHUNK_ENGINE_H
#define STREAMBLOOM_PG_CHUNK_ENGINE_H

#include "base/compat.h"

#include "utils/rel.h"

typedef struct ChunkEngines ChunkEngines;

/* Returns the relations of TimescaleDB and Citus in this database, or NULL if neither extension is installed. */
extern ChunkEngines *chunk_find_engines(void);

/* Raises an error if an extension may keep the relation's rows elsewhere. `engines` may be NULL. */
extern void chunk_require_own_rows(const ChunkEngines *engines, Relation relation);

#endif
