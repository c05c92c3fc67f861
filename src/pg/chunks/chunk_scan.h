/*
 * chunk_scan.h: one call of chunk_scan(), chunk_scan_any() or chunk_scan_explain(). It has arguments, which are
 * checked; chunks (the partitions or children of a table), which are judged one after the other; and the rows of those
 * chunks that are read.
 *
 *   chunk_scan.c            the functions; reads the chunks that may hold rows which match
 *   chunk_scan_arguments.c  checks the arguments
 *   chunk_judge.c           goes through the chunks, and judges each
 */
#ifndef STREAMBLOOM_PG_CHUNK_SCAN_H
#define STREAMBLOOM_PG_CHUNK_SCAN_H

#include "base/compat.h"

#include "nodes/primnodes.h"
#include "utils/rel.h"

#include "chunks/ask.h"
#include "chunks/chunk_summary.h"

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

typedef struct ChunkScan
{
	Relation	parent;			/* the relation whose chunks are scanned; locked */
	AttrNumber	column;			/* of the parent */
	Oid			column_type;
	Oid			item_type;		/* of the value as given; UNKNOWNOID: it has no type */
	const char *column_name;	/* as the arguments give it, for errors */
	bool		any;			/* true: the comparison is column operator ANY (item); false: column operator item */
	bool		explains;		/* this is chunk_scan_explain() */
	Expr	   *clause;			/* the comparison, as parsed, on the parent; NULL if the value is NULL */
	Const	   *item;			/* right side of the comparison, of the type that the operator takes */
	ChunkClause index_clause;	/* the comparison, as indexes are asked about it */
	Oid			summary_table;	/* or InvalidOid */
	ChunkSummaries summaries;	/* what the summary table says */

	/* for chunk_judge.c */
	MemoryContext chunk_context;	/* emptied after each chunk */
	bool		stay_locked;	/* inheritance children: the chunks that are left alone stay locked too */
	List	   *chunks;			/* OIDs; found by the first chunk_next() */
	int			next;			/* the number of the chunk that is judged next */
} ChunkScan;

/*
 * Checks the arguments of a call, fills *scan from them, and asks the summary table if one is named. `any` says that
 * the value is an array of items, `explains` that this is chunk_scan_explain(). The user must be allowed to read all
 * columns of the parent, for chunk_scan_explain() only the compared one. Locks the parent. All memory is taken from
 * the current context, which must live as long as the scan.
 */
extern void chunk_scan_begin(ChunkScan *scan, FunctionCallInfo fcinfo, bool any, bool explains);

/* Closes the parent, which stays locked. The memory of the scan is freed with the context in which it was begun. */
extern void chunk_scan_end(ChunkScan *scan);

/*
 * Raises an error for a relation that a plain SELECT refuses to read. A SELECT raises this error before it reads a
 * row. So chunk_next() calls this for every chunk that it opens, also for chunks that are not read in the end.
 */
extern void chunk_require_readable(Relation relation);

/* Raises the error that the relation with this row type does not exist any more. */
extern SB_NORETURN void chunk_report_dropped(Oid row_type);

/*
 * Judges the next chunk, sets *verdict, and returns the chunk open and locked. Returns NULL if there is no chunk
 * left. A chunk that need not be read is returned too: the caller tests chunk_is_read(verdict). For each chunk that
 * is returned, the caller calls chunk_leave() before it calls chunk_next() again. A chunk is not returned if
 *
 * - its index is remembered from an earlier question, and says no (chunk_use_cache()), or
 * - a query does not read it: it is a partitioned table, or the temporary table of another session.
 */
extern Relation chunk_next(ChunkScan *scan, ChunkVerdict *verdict);

/*
 * Lets chunk_next() ask indexes from memory, if they were asked before (chunk_cache.h). A chunk whose index then says
 * no is not returned. Does nothing if the cache must not be used for this scan. Is called before the first
 * chunk_next().
 */
extern void chunk_use_cache(ChunkScan *scan);

/*
 * Closes a chunk that chunk_next() has returned, and frees the memory that was taken from the scan's chunk_context
 * for it. If scan->stay_locked is set, the chunk stays locked. Otherwise it is unlocked if it need not be read, or if
 * the scan only explains.
 */
extern void chunk_leave(ChunkScan *scan, Relation chunk, const ChunkVerdict *verdict);

#endif
