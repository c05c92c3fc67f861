/*
 * chunk_scan.h: one call of chunk_scan(), chunk_scan_any() or chunk_scan_explain(): its arguments, checked and ready
 * for use; its chunks, judged one after the other; and the rows of those chunks that are read.
 *
 *   chunk_scan_arguments.c  checks the arguments
 *   chunk_judge.c           goes through the chunks, and judges each
 *   chunk_read.c            reads the rows of the chunks that may hold some
 *   chunk_counts.c          what was done, for EXPLAIN
 *
 * The SQL functions (chunk_scan.c) and the plan node ChunkScan (chunk_scan_exec.c) use all of them. The node
 * PartitionScan (partition_scan_exec.c) begins in another way.
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
	int64		read;			/* chunks that were read, if only the pages that an index has named, */
	int64		read_in_vain;	/* and those of them that had no row */
	int64		because[CHUNK_REASONS];
} ChunkCounts;

extern void chunk_add_counts(ChunkCounts *sum, const ChunkCounts *counts);

/* Shows what was done in the output of EXPLAIN ANALYZE. */
extern void chunk_explain_counts(const ChunkCounts *counts, struct ExplainState *es);

typedef struct ChunkScan
{
	Relation	parent;			/* the relation whose chunks are scanned; locked */
	AttrNumber	column;			/* of the parent */
	const char *column_name;
	bool		any;			/* the comparison is column = ANY (item), not column = item */
	Expr	   *clause;			/* the comparison, as parsed, on the parent; NULL if the value is NULL */
	Var		   *var;			/* its left side, under casts */
	Const	   *item;			/* its right side, of the type that the operator takes */
	/* the comparison, for asking indexes; its asker's `few` is about the chunk that is judged */
	ChunkClause index_clause;
	ChunkEngines *engines;		/* extensions that keep the rows of their tables elsewhere */
	Oid			summary_table;	/* or InvalidOid */
	ChunkSummaries summaries;	/* what the summary table says */
	bool		explains;		/* this is chunk_scan_explain() */

	/*
	 * This is the node PartitionScan: the chunks were locked before the snapshot was taken, as those of a plain query
	 * are, and what is read is the storage that they have now. So nothing is compared with what the snapshot sees.
	 */
	bool		locked_before;

	/* chunk_judge.c */
	MemoryContext context;		/* in which the scan lives */
	MemoryContext query_context;	/* emptied when the reading begins again */
	MemoryContext chunk_context;	/* emptied after each chunk */
	bool		stay_locked;	/* the chunks that are left alone stay locked too */
	int			count;			/* of chunks; -1 before they are found */
	Oid		   *chunks;
	bool	   *left_alone;		/* the chunk was judged before, and no row in it matches */
	int			next;			/* the number of the chunk that is judged next */
	ChunkCounts counts;
} ChunkScan;

/*
 * Checks the arguments of a call, fills *scan from them, and asks the summary table if one is named. `any` says that
 * the value is an array of items. `columns` are the numbers of the parent's columns that the query uses beside the
 * compared one; 0 stands for all. The user needs the privilege to read them. Locks the parent. All memory is taken from
 * the current context, which must live as long as the scan.
 */
extern void chunk_scan_begin(ChunkScan *scan, FunctionCallInfo fcinfo, bool any, List *columns);

/*
 * Begins a scan of partitions that are known and locked already. `comparison` is that of a column of the parent, with
 * varno 1, on the left side; `value` takes the place of the right side. `parent` is open; chunk_scan_end() closes it.
 * Memory is taken as chunk_scan_begin() does it, the OIDs are copied.
 */
extern void chunk_scan_begin_locked(ChunkScan *scan, Relation parent, Expr *comparison, const Const *value,
									const Oid *chunks, int count);

/* Closes the parent, and frees the memory of its own that the scan has. */
extern void chunk_scan_end(ChunkScan *scan);

/*
 * Raises an error for a relation that a plain SELECT refuses to read when it is planned or begins. This holds also for
 * chunks that are not read in the end.
 */
extern void chunk_require_readable(Relation relation);

/*
 * Judges the next chunk, and returns it open and locked; NULL if there is no chunk left. chunk_leave() must be called
 * for it before the next call. A chunk that was judged before chunk_first() was called again, and that is left alone,
 * is passed over; so is one whose index has named a few pages which hold no row that matches (chunk_look.h).
 */
extern Relation chunk_next(ChunkScan *scan, ChunkVerdict *verdict);

/*
 * Passes over chunks of which the index is known from an earlier query and says no. To be called before the first
 * chunk.
 */
extern void chunk_use_cache(ChunkScan *scan);

/* Closes a chunk, and frees the memory that was taken from the scan's chunk_context for it. */
extern void chunk_leave(ChunkScan *scan, Relation chunk, const ChunkVerdict *verdict);

/* Begins again with the first chunk. */
extern void chunk_first(ChunkScan *scan);

/* Reads the chunks of a scan, row by row. */
typedef struct ChunkReader
{
	ChunkScan  *scan;
	/*
	 * the parent's columns, by number, that the rows have; 0 stands for the whole row, TableOidAttributeNumber for
	 * tableoid
	 */
	List	   *columns;

	/*
	 * Other conditions that the rows must satisfy: a list of expressions with varno 1 in their Vars, which have the
	 * parent's numbers. It is called before the first chunk is read. If it sets *parameters, the Params of kind
	 * PARAM_EXTERN in the conditions get their values from there. NULL: there are no conditions.
	 */
	List	   *(*conditions) (void *argument, ParamListInfo *parameters);
	void	   *argument;

	Query	   *query;			/* on the parent, in query_context; NULL before the first chunk is read */
	ParamListInfo parameters;	/* of the query; NULL if it has none */
	Relation	chunk;			/* the chunk that is being read, or NULL */
	ChunkVerdict verdict;		/* about it */
	QueryDesc  *running;		/* its query */
	bool		found;			/* it had a row */
} ChunkReader;

/* All columns of the parent, also those that are dropped, which are NULL. */
extern List *chunk_all_columns(Relation parent);

/* The next row; NULL if there is none left. The row is valid until the next call. */
extern TupleTableSlot *chunk_read_next(ChunkReader *reader);

/* Ends the reading, and begins it again with the next call of chunk_read_next(). */
extern void chunk_read_stop(ChunkReader *reader);

#endif
