/*
 * chunk_conditions.h: conditions that a plan node (PartitionScan) does not test itself. They become a
 * part of the query that the node runs on each chunk (a partition or an inheritance child) that it reads.
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
	List	   *columns;		/* for each column of the node's tuples, the number of the parent's column */
	PlanState  *node;			/* the plan node, which evaluates the conditions' Params */
	List	   *parameters;		/* the Params, in the order of their numbers in the chunks' queries */

	/* set by the node itself, before a scan uses the conditions */
	Relation	parent;
	MemoryContext context;		/* for the values of Params */
} ChunkConditions;

/*
 * Sets *of_node when the execution of a node begins. The Params in the conditions are prepared once, for all scans.
 * Otherwise JIT would compile them anew for each scan, and keep all of this code in memory until the query ends.
 */
extern void chunk_conditions_begin(ChunkConditions *of_node, List *conditions, List *columns, PlanState *node);

/*
 * Translates an expression on the node's tuples into an expression on the parent, with varno 1. Params of the
 * conditions become parameters of the chunks' queries (PARAM_EXTERN). An expression that is not part of the
 * conditions must have no Params.
 */
extern Node *chunk_adapt_condition(Node *node, ChunkConditions *of_node);

/*
 * The function for ChunkReader.conditions (chunk_scan.h): returns the adapted conditions. `argument` is a
 * ChunkConditions. A Param is evaluated when its value is first needed. It may stand for a subquery that fails; if no
 * row needs the value, the subquery must not run.
 */
extern List *chunk_conditions_adapt(void *argument, ParamListInfo *parameters);

/* Adds to a target list those columns of relation number `relid` that an expression uses, and returns the list. */
extern List *chunk_scan_add_columns(List *columns, Node *expression, Index relid);

#endif
