/*
 * chunk_engine.h: relations whose rows another extension keeps elsewhere.
 *
 * TimescaleDB's hypertables have compressed chunks, whose rows are in other tables. The rows of Citus' distributed
 * tables are on other servers. Only plans that these extensions make find them, and a bf index of such a table does not
 * know them. chunk_scan() refuses these relations.
 */
#ifndef STREAMBLOOM_PG_CHUNK_ENGINE_H
#define STREAMBLOOM_PG_CHUNK_ENGINE_H

#include "base/compat.h"

#include "utils/rel.h"

typedef struct ChunkEngines ChunkEngines;

/* What the extensions of this database say of their tables; NULL if there is no such extension. */
extern ChunkEngines *chunk_find_engines(void);

/* Raises an error if an extension keeps the relation's rows, or if that cannot be told. `engines` may be NULL. */
extern void chunk_require_own_rows(const ChunkEngines *engines, Relation relation);

#endif
