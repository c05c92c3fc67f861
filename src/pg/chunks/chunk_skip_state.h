/*
 * chunk_skip_state.h: what the node ChunkSkip holds while it is executed. Only the files of the node that execute it
 * include this:
 *
 *   chunk_skip_exec.c     runs the node
 *   chunk_skip_keys.c     reads from the plan which indexes are asked about which keys
 *   chunk_skip_ask.c      asks them, and decides which children are left out
 *   chunk_skip_explain.c  explains what was asked and skipped
 */
#ifndef STREAMBLOOM_PG_CHUNK_SKIP_STATE_H
#define STREAMBLOOM_PG_CHUNK_SKIP_STATE_H

#include "chunks/chunk_skip.h"

#include "nodes/execnodes.h"

#include "chunks/ask.h"

/* An argument of keys, and its current value. */
typedef struct Argument
{
	ExprState  *expression;
	bool		known;			/* it can be evaluated when the execution begins */
	bool		wanted;			/* an index of a child that was kept is asked about it */
	Bitmapset  *parameters;		/* its PARAM_EXEC parameters, whose values may change during the execution */
	Datum		value;
	bool		isnull;
} Argument;

/* A set of keys, about which one index or many are asked. */
typedef struct KeySet
{
	int			count;			/* of keys */
	QuestionKey *keys;
	int		   *arguments;		/* for each key, the number of its argument; -1: none */
	ScanKey		entries;		/* ScanKeys of those keys whose arguments have values now */
	int			entry_count;
	ChunkAsker	asker;			/* asks about the entries */
	bool		impossible;		/* an argument is NULL: no row can match */
	bool		wanted;			/* an index of a child that was kept is asked about it */
} KeySet;

/* An index of a child, and what it is asked. */
typedef struct ChildIndex
{
	int			child;			/* its number in the plan's Append */
	Oid			heap;
	Oid			index;
	int			set;			/* the number of its set of keys */
} ChildIndex;

typedef struct ChunkSkipState
{
	CustomScanState css;
	bool		stands_aside;	/* the node asks nothing, and passes on the rows of the whole Append */
	bool		asks_nothing;	/* a plain EXPLAIN that has no parameter values, or must not tell of hidden rows */
	int			argument_count;
	Argument   *arguments;
	int			set_count;
	KeySet	   *sets;
	int			index_count;
	ChildIndex *indexes;		/* in the order of the children */
	int			children;		/* how many the plan's Append has */
	int		   *place;			/* the place of each child in the copy of the Append; -1: skipped in this execution */
	int			kept;			/* how many children the copy of the Append has */
	bool		late;			/* some wanted arguments are not known when the execution begins */
	Bitmapset  *parameters;		/* the parameters on which the answers depend */
	bool		ask_before_next_row;
	bool		no_child_in_scan;	/* no child has to be read in this scan */
	/* arrays will be tested by hash from the next row on; false once they are, or after their values have changed */
	bool		may_hash;
	List	   *hashed;			/* what chunk_skip_hash_arrays() has done */
	ExprState  *limit;			/* the LIMIT above the node, if the Sorts below are told of it; otherwise NULL */
	ExprState  *offset;			/* the OFFSET, or NULL */
	bool		knows_limit;	/* the Sorts below were told of the limit for the current scan */
	ChunkReason *reasons;		/* for each child, why it is read; NULL if EXPLAIN does not show this */

	/* for EXPLAIN */
	bool		asked_at_start;
	int			children_asked; /* how many children have an index to ask */
	int64		scans_asked;	/* how many scans of children the indexes were asked about at run time */
	int64		scans_skipped;	/* how many of these scans were skipped */
	int			scans_hashed;	/* how many children test an array by hash */
	/* for each reason, how many children are read for it; if `late` is set, how many scans of children */
	int64		because[CHUNK_REASONS];
} ChunkSkipState;

/*
 * Reads the arguments, the sets of keys and the indexes from the plan into the state. REQUIRES: state->children is
 * set; the node has its expression context.
 */
extern void chunk_skip_read_plan(ChunkSkipState *state, const CustomScan *plan);

/*
 * Finds out what is asked about the children that were kept. Fills in `wanted` of all arguments and key sets, and
 * `late` and `parameters` of the state. Arguments that are not wanted are not evaluated. They may belong to parts of a
 * UNION ALL that are left out. Such parts have no row to compare with them, and the evaluation could fail. REQUIRES:
 * place[] is set.
 */
extern void chunk_skip_find_wanted(ChunkSkipState *state);

/* Asks about the arguments that are known when the execution begins. Sets place[] and kept: which children are kept. */
extern void chunk_skip_ask_at_start(ChunkSkipState *state);

/*
 * Asks with all keys about the children that were kept, and leaves those without matching rows out of the scan that
 * begins. This is done as PostgreSQL does it when it prunes partitions between scans: by the Append's set of valid
 * children.
 */
extern void chunk_skip_ask_for_scan(ChunkSkipState *state);

/*
 * Adds to because[] how many children are read for each reason, unless EXPLAIN does not show this. If `valid` is NULL,
 * all children that are kept are read, otherwise those whose places in the copy of the Append are in `valid`.
 */
extern void chunk_skip_count_reasons(ChunkSkipState *state, const Bitmapset *valid);

/* Returns the nodes below an Append or MergeAppend, and sets *count to how many they are. */
static inline PlanState **
chunk_skip_children(PlanState *append, int *count)
{
	*count = IsA(append, AppendState) ? ((AppendState *) append)->as_nplans : ((MergeAppendState *) append)->ms_nplans;
	return IsA(append, AppendState) ? ((AppendState *) append)->appendplans : ((MergeAppendState *) append)->mergeplans;
}

extern void chunk_skip_explain(CustomScanState *node, List *ancestors, ExplainState *es);

#endif
