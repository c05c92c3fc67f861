/*
 * chunk_conditions.h: conditions of a query that are tested where chunks are read. A plan node of an outer query has
 * them; they become a part of the query of each chunk.
 */
#ifndef STREAMBLOOM_PG_CHUNK_CONDITIONS_H
#define STREAMBLOOM_PG_CHUNK_CONDITIONS_H

#include "base/compat.h"

#include "nodes/execnodes.h"
#include "nodes/params.h"
#include "utils/rel.h"

typedef struct ChunkConditions
{
	List	   *conditions;		/* their Vars refer to the node's tuples */
	List	   *columns;		/* the parent's columns in the node's tuples, by number */
	PlanState  *node;			/* in which their Params have values */

	/* to be set before each scan */
	Relation	parent;
	MemoryContext context;		/* of the values of Params */

	List	   *parameters;		/* the Params, in the order of their numbers in the chunks' queries */
} ChunkConditions;

/* An expression on the node's tuples as one on the parent, with varno 1. Params get numbers of their own. */
extern Node *chunk_adapt_condition(Node *node, ChunkConditions *of_node);

/*
 * Adapts all conditions, for ChunkReader.conditions (chunk_scan.h); `argument` is a ChunkConditions. A Param gets its
 * value when it is first needed: it may stand for a subquery that fails, or is never run because no row comes so far.
 */
extern List *chunk_conditions_adapt(void *argument, ParamListInfo *parameters);

#endif
