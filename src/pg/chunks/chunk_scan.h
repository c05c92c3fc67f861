/*
 * chunk_scan.h: one call of chunk_scan(), chunk_scan_any() or chunk_scan_explain(). It has arguments, which are
 * checked; chunks (the partitions or children of a table), which are judged one after the other; and the rows of those
 * chunks that are read.
 *
 *   chunk_scan.c            the functions; reads the chunks that may hold rows which match
 *   chunk_scan_arguments.c  checks the arguments
 *   chunk_scan_support.c    tells the planner how many rows they return
 *   chunk_judge.c           goes through the chunks, and judges each
 *
 * The node PartitionScan (partition_scan_exec.c) has no arguments to check: it begins with chunk_scan_begin_locked(),
 * and reads with chunk_read.c.
 */
#ifndef STREAMBLOOM_PG_CHUNK_SCAN_H
#define STREAMBLOOM_PG_CHUNK_SCAN_H

#include "base/compat.h"

#include "executor/execdesc.h"
#include "executor/tuptable.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"
#include "utils/rel.h"

#include "chunks/ask.h"
#include "chunks/chunk_engine.h"
#include "chunks/chunk_summary.h"

struct ExplainState;

/* What a scan has done, for EXPLAIN. */
typedef struct ChunkCounts
{
	int64		asked;			/* chunks that were judged */
	int64		read;			/* chunks that were read, wholly or only the pages that an index named */
	int64		read_in_vain;	/* how many of the chunks that were read had no row that matched */
	int64		because[CHUNK_REASONS];	/* for each reason, how many chunks have it as their verdict */
} ChunkCounts;

extern void chunk_add_counts(ChunkCounts *sum, const ChunkCounts *counts);

/* Adds these counts to the output of EXPLAIN ANALYZE. */
extern void chunk_explain_counts(const ChunkCounts *counts, struct ExplainState *es);

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
	const char *column_name;	/* as the arguments of chunk_scan() give it, for errors; NULL for PartitionScan */
	bool		any;			/* true: the comparison is column operator ANY (item); false: column operator item */
	/* the comparison, as parsed, on the parent; NULL if the value is NULL, or if `unasked` is set */
	Expr	   *clause;
	Var		   *var;			/* left side of the comparison, without the casts around it */
	Const	   *item;			/* right side of the comparison, of the type that the operator takes */
	/* the comparison, as indexes are asked about it; asker.few has the pages that the index asked last has named */
	ChunkClause index_clause;
	ChunkEngines *engines;		/* tables whose rows another extension keeps elsewhere (chunk_engine.h), or NULL */
	Oid			summary_table;	/* or InvalidOid */
	ChunkSummaries summaries;	/* what the summary table says */
	bool		explains;		/* this is chunk_scan_explain() */

	/*
	 * True for a scan of the node PartitionScan. Its chunks were locked before the execution began, like the tables of
	 * a plain query. The scan reads the storage that they have now, and does not compare it with the one that the
	 * snapshot sees.
	 */
	bool		locked_before;

	/* There is no comparison that could be asked about, so all chunks are read. */
	bool		unasked;

	/* for chunk_judge.c */
	MemoryContext context;		/* in which the scan lives */
	MemoryContext query_context;	/* emptied when the reading begins again */
	MemoryContext chunk_context;	/* emptied after each chunk */
	bool		stay_locked;	/* the chunks that are left alone stay locked too */
	int			count;			/* of chunks; -1 before they are found */
	Oid		   *chunks;
	bool	   *left_alone;		/* for each chunk: a verdict or a look has shown that no row in it matches */
	int			next;			/* the number of the chunk that is judged next */
	ChunkCounts counts;
} ChunkScan;

/*
 * Checks the arguments of a call, fills *scan from them, and asks the summary table if one is named. `any` says that
 * the value is an array of items, `explains` that this is chunk_scan_explain(). The user must be allowed to read all
 * columns of the parent, for chunk_scan_explain() only the compared one. Locks the parent. All memory is taken from
 * the current context, which must live as long as the scan.
 */
extern void chunk_scan_begin(ChunkScan *scan, FunctionCallInfo fcinfo, bool any, bool explains);

/* Raises the error that the relation with this row type does not exist any more. */
extern SB_NORETURN void chunk_report_dropped(Oid row_type);

/*
 * Begins a scan of partitions that are known and locked already. The left side of `comparison` is a column of the
 * parent, with varno 1; `value` takes the place of its right side. If `value` is the NULL of SQL, no row matches. If
 * `comparison` is a NULL pointer, no index is asked, and all partitions are read. `parent` is open, and stays open
 * after chunk_scan_end(). The OIDs are copied. All memory is taken from the current context, which must live as long
 * as the scan.
 */
extern void chunk_scan_begin_locked(ChunkScan *scan, Relation parent, Expr *comparison, const Const *value,
									const Oid *chunks, int count);

/*
 * Closes the parent, unless the scan was begun by chunk_scan_begin_locked(). The parent stays locked. Deletes
 * query_context and chunk_context. The other memory of the scan is freed with the context in which it was begun.
 */
extern void chunk_scan_end(ChunkScan *scan);

/*
 * Raises an error for a relation that a plain SELECT refuses to read. A SELECT raises this error before it reads a
 * row. So chunk_next() calls this for every chunk that it opens, also for chunks that are not read in the end.
 */
extern void chunk_require_readable(Relation relation);

/*
 * Judges the next chunk, sets *verdict, and returns the chunk open and locked. Returns NULL if there is no chunk
 * left. A chunk that need not be read is returned too: the caller tests chunk_is_read(verdict). For each chunk that
 * is returned, the caller calls chunk_leave() before it calls chunk_next() again. A chunk is not returned if
 *
 * - it was judged before chunk_first() began the scan again, and no row in it matches (left_alone),
 * - its index is remembered from an earlier question, and says no (chunk_use_cache()),
 * - its index has named a few pages, and no row in them matches (chunk_look.h), or
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

/* Begins again with the first chunk. Chunks that are marked in scan->left_alone are not judged again. */
extern void chunk_first(ChunkScan *scan);

/* Is called when the library is loaded. */
extern void chunk_read_init(void);

/* Reads the chunks of a scan, row by row. */
typedef struct ChunkReader
{
	ChunkScan  *scan;
	/*
	 * The columns of the rows: numbers of columns of the parent, 0 for the whole row, or TableOidAttributeNumber for
	 * tableoid.
	 */
	List	   *columns;
	Oid			user;			/* foreign chunks are read with this user's mapping; InvalidOid: the current user's */

	/*
	 * A function that returns more conditions which the rows must satisfy: a list of expressions. Their Vars have
	 * varno 1 and the parent's column numbers. It is called before the first chunk is read, and again after
	 * chunk_read_stop(). If it sets *parameters, the Params of kind PARAM_EXTERN in the conditions get their values
	 * from *parameters. If the pointer to the function is NULL, there are no more conditions.
	 */
	List	   *(*conditions) (void *argument, ParamListInfo *parameters);
	void	   *argument;

	Query	   *query;			/* on the parent, in query_context; NULL before the first chunk is read */
	ParamListInfo parameters;	/* of the query; NULL if it has none */
	Relation	chunk;			/* the chunk that is being read, or NULL */
	ChunkVerdict verdict;		/* about the chunk */
	QueryDesc  *running;		/* the chunk's query */
	bool		found;			/* a row of the chunk was returned */
} ChunkReader;

/* Returns the numbers of all columns of the parent. A column that was dropped is among them, and its value is NULL. */
extern List *chunk_all_columns(Relation parent);

/* Returns the next row, or NULL if there is none left. The row is valid until the next call. */
extern TupleTableSlot *chunk_read_next(ChunkReader *reader);

/* Ends the reading, and begins it again with the next call of chunk_read_next(). */
extern void chunk_read_stop(ChunkReader *reader);

#endif
