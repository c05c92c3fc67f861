/*
 * chunk_scan.h: one call of chunk_scan(), chunk_scan_any() or chunk_scan_explain(): its arguments, checked and ready
 * for use.
 */
#ifndef STREAMBLOOM_PG_CHUNK_SCAN_H
#define STREAMBLOOM_PG_CHUNK_SCAN_H

#include "base/compat.h"

#include "nodes/primnodes.h"
#include "utils/rel.h"

#include "chunks/chunk_engine.h"
#include "chunks/chunk_question.h"
#include "chunks/chunk_summary.h"

typedef struct ChunkScan
{
	Relation	parent;			/* the relation whose chunks are scanned; locked */
	AttrNumber	column;			/* of the parent */
	const char *column_name;
	bool		any;			/* the comparison is column = ANY (item), not column = item */
	Expr	   *clause;			/* the comparison, as parsed, on the parent; NULL if the value is NULL */
	Var		   *var;			/* its left side, under casts */
	Const	   *item;			/* its right side, of the type that the operator takes */
	ChunkClause index_clause;	/* the comparison, for asking indexes */
	ChunkEngines *engines;		/* extensions that keep the rows of their tables elsewhere */
	Oid			summary_table;	/* or InvalidOid */
	ChunkSummaries summaries;	/* what the summary table says */
	bool		explains;		/* this is chunk_scan_explain() */
	MemoryContext chunk_context;	/* emptied after each chunk */
} ChunkScan;

/*
 * Checks the arguments of a call, fills *scan from them, and asks the summary table if one is named. `any` says that
 * the value is an array of items. Locks the parent.
 */
extern void chunk_scan_begin(ChunkScan *scan, FunctionCallInfo fcinfo, bool any);

/*
 * Raises an error for a relation that a plain SELECT refuses to read when it is planned or begins. This holds also for
 * chunks that are not read in the end.
 */
extern void chunk_require_readable(Relation relation);

#endif
