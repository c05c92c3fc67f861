/*
 * chunk_scan_node.h: the node ChunkScan. In a plan it takes the place of a call of chunk_scan() or chunk_scan_any()
 * in FROM. It returns the rows as they are found. The query may have conditions on these rows, beside the call's own
 * comparison. Most of them become conditions of the queries that read the chunks; the node tests those that cannot
 * (is_tested_in_chunks() in chunk_scan_plan.c).
 *
 *   chunk_scan_rows.c  estimates how many rows the functions return
 *   chunk_scan_plan.c  puts the node into plans
 *   chunk_scan_exec.c  executes and explains it
 */
#ifndef STREAMBLOOM_PG_CHUNK_SCAN_NODE_H
#define STREAMBLOOM_PG_CHUNK_SCAN_NODE_H

#include "base/compat.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* streambloom.enable_chunk_scan */
extern bool chunk_scan_enabled;

/*
 * The tuples of the node have those columns of the function's rows that the query uses. custom_scan_tlist lists them,
 * and custom_relids has the number of the function's range table entry. custom_exprs and custom_private have:
 */
enum ChunkScanExprs
{
	CHUNK_SCAN_CALL,			/* the call, a FuncExpr */
	CHUNK_SCAN_CONDITIONS,		/* a list: the conditions that are tested in the chunks */
	CHUNK_SCAN_EXPRS_LENGTH
};

enum ChunkScanPrivate
{
	CHUNK_SCAN_COLUMNS,			/* for each entry of custom_scan_tlist, the parent's column; 0 is the whole row */
	CHUNK_SCAN_ANY,				/* one integer: 1 for chunk_scan_any(), 0 for chunk_scan() */
	CHUNK_SCAN_SELECTED,		/* those of CHUNK_SCAN_COLUMNS that the user must be allowed to read */
	/* one integer: if the query has *, how many columns the parent had when the query was parsed; otherwise INT_MAX */
	CHUNK_SCAN_STAR,
	CHUNK_SCAN_PRIVATE_LENGTH
};

/* The numbers of the functions' arguments. */
enum ChunkScanArguments
{
	CHUNK_SCAN_RELATION,
	CHUNK_SCAN_COLUMN,
	CHUNK_SCAN_VALUE,
	CHUNK_SCAN_SUMMARIES,
	CHUNK_SCAN_SUMMARY_COLUMN,
	CHUNK_SCAN_OPERATOR,
	CHUNK_SCAN_ARGUMENTS
};

/* Is called when the library is loaded. */
extern void chunk_scan_init(void);

/*
 * If `rel` is a call of chunk_scan() or chunk_scan_any() in FROM, replaces its paths by the node's. The function scan
 * stays if the node is off, if ROWS FROM () has several functions, or if there is WITH ORDINALITY. With the
 * node or without, a kept plan is made again when the parent's columns have changed.
 */
extern void chunk_scan_add_path(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte);

/*
 * Does the parent have a column that was added after a query with * was parsed? `of_star` is the number of columns
 * that the parent had when the query was parsed, with those that were dropped before. A column that was added and
 * dropped since then does not count. For a query without *, `of_star` is INT_MAX, and the result is false.
 */
extern bool chunk_scan_lacks_columns(TupleDesc columns, int of_star);

/* Adds to a target list those columns of relation number `relid` that an expression uses, and returns the list. */
extern List *chunk_scan_add_columns(List *columns, Node *expression, Index relid);

extern const CustomScanMethods chunk_scan_scan_methods;

#endif
