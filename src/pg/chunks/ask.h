/*
 * ask.h: asks the `bf` indexes of a chunk whether the chunk may hold rows that match, and says why the chunk is left
 * alone or read. A chunk is a leaf partition, an inheritance child, or a table itself. chunk_scan() and the nodes
 * Skip and PartitionScan ask through these functions only.
 */
#ifndef STREAMBLOOM_PG_CHUNKS_ASK_H
#define STREAMBLOOM_PG_CHUNKS_ASK_H

#include "base/compat.h"

#include "nodes/execnodes.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "chunks/chunk_cache.h"
#include "chunks/chunk_question.h"
#include "index/scan.h"

/* ----------------------------------------------------------------- verdicts */

/* Why a chunk is left alone, or why it is read. */
typedef enum ChunkReason
{
	/* it is left alone */
	CHUNK_EQUALS_NULL,			/* the value is NULL */
	CHUNK_SUMMARY_SAYS_NO,
	CHUNK_INDEX_SAYS_NO,
	/* it is read */
	CHUNK_HAS_NO_INDEX,			/* it has no usable bf index that can answer */
	/*
	 * only in plain queries (those without chunk_scan()): the plan that reads the chunk does not show what is searched
	 * for; or no keys of a join could be used
	 */
	CHUNK_IS_NOT_ASKED,
	CHUNK_HAS_NO_SUMMARY,		/* a summary table was named, but has no row for the chunk; no index was asked */
	CHUNK_SUMMARY_SAYS_MAYBE,	/* the summary says maybe, and no index was asked */
	CHUNK_INDEX_SAYS_MAYBE,
	CHUNK_NOT_SUMMARIZED,		/* some ranges have no summary on which the snapshot may rely; all others say no */
	CHUNK_REASONS				/* the number of reasons */
} ChunkReason;

/* Whether a chunk is read, and why. */
typedef struct ChunkVerdict
{
	ChunkReason reason;
	Oid			index;			/* the index that was asked last, or InvalidOid */
	uint32		unsummarized;	/* for CHUNK_NOT_SUMMARIZED: how many ranges have no such summary */
} ChunkVerdict;

static inline bool
chunk_is_read(const ChunkVerdict *verdict)
{
	return verdict->reason >= CHUNK_HAS_NO_INDEX;
}

/* Returns the reason as text. If an index gave the reason, the text names the index: bf index "i" says no. */
extern char *chunk_reason_text(const ChunkVerdict *verdict);

/* The reasons as text, without the name of the index. EXPLAIN counts chunks by this text. */
extern const char *const chunk_reason_names[CHUNK_REASONS];

/* Returns a text with those counts that are not 0: "no bf index (2), the bf index says maybe (1)". */
extern char *chunk_counts_text(const char *const *names, const int64 *counts, int number);

/* ------------------------------------------------------------------- asking */

/* If an index names more pages than this, the search for them ends, as a rule. */
#define CHUNK_FEW_PAGES 64

/* A comparison about which many tables are asked, one after the other. All fields are zero at first. */
typedef struct ChunkClause
{
	Node	   *clause;			/* its columns are those of one table, the parent */
	Index		varno;			/* the number of the table in it */
	Datum		value;			/* which is searched for; not NULL */
	int16		length;			/* of its type */
	bool		by_value;
	List	   *indexes;		/* OIDs of those that can answer, also partial ones; NIL: each table's own */
	Snapshot	snapshot;
	bool		explain_only;	/* for chunk_scan_explain(): no predicate lock is taken, and no index scan is counted */
	bool		all_pages;		/* find the pages also if they are more than CHUNK_FEW_PAGES */
	bool		cached;			/* the cache is used */
	ChunkCacheKey cache_key;	/* where it is remembered how the indexes are asked */

	/* The search in the index that was asked last. It is used for the next index too if the key is the same there. */
	BfSearch   *search;
	MemoryContext context;		/* in which it lives */
	Datum		searched;		/* the value for which it was made */
	QuestionKey key;
	ScanKeyData entry;
} ChunkClause;

/*
 * Sets up *clause for a comparison (`node`, with varno 1) with this value, which must live as long as *clause. The
 * memory is taken from the current context, which must live as long, too.
 */
extern void chunk_prepare_clause(ChunkClause *clause, Node *node, Datum value);

/*
 * Asks the index that is remembered for this table (chunk_cache.h), without opening the index or the table.
 *
 * Returns true and sets *verdict and *left, as chunk_ask_clause(), if the index has answered. Returns false if there is
 * no cache, if no index was asked in this search before, or if nothing is remembered that is surely true for the
 * snapshot.
 */
extern bool chunk_ask_memory(ChunkClause *clause, Oid table, ChunkVerdict *verdict, BfSpans *left);

/*
 * Asks the indexes of a table that can answer the clause, one after the other until one says no, and sets *verdict.
 * If none was asked, the reason is CHUNK_HAS_NO_INDEX, and verdict->index is InvalidOid.
 * Takes the predicate locks that index scans would take, and counts as such, unless clause->explain_only is set. Of the
 * indexes that a cache may remember (chunk_cache_ask()), it remembers the last one. Leaves only those pages in *left
 * that may hold a row, if `left` is not NULL. REQUIRES: the table, and its parent if it has one, are locked; for
 * chunk_scan(), the table's storage is the one that the snapshot sees.
 */
extern void chunk_ask_clause(ChunkClause *clause, Relation parent, Relation heap, ChunkVerdict *verdict,
							 BfSpans *left);

/* Leaves only those pages in *spans that are in *other too. */
extern void chunk_intersect(BfSpans *spans, const BfSpans *other);

/* ------------------------------------------------------ what a node asks about */

/*
 * A condition, while a node is executed: AND or OR of others, or a comparison. It is made from an expression, and each
 * comparison is asked by itself. One that no index answers says "maybe".
 */
typedef struct ChunkQuestion
{
	BoolExprType combines;		/* AND_EXPR or OR_EXPR of `parts`; NOT_EXPR: it has none, and is a comparison */
	int			count;
	struct ChunkQuestion *parts;

	Node	   *clause;
	Expr	   *argument;		/* what is evaluated; NULL: nothing */
	ExprState  *state;
	int			number;			/* comparisons are counted from 0 */
	int16		length;			/* of the argument's type */
	bool		by_value;
	ChunkCacheKey cache_key;	/* `operator` is InvalidOid if there is no argument, `column` 0 if it is no column */
	/* for one scan: */
	bool		evaluated;
	bool		isnull;			/* no row satisfies the comparison */
	Datum		value;			/* in ChunkAsking.context */
} ChunkQuestion;

/* A node that asks, with the tables that it scans. The scan's current relation has the columns of the conditions. */
typedef struct ChunkAsking
{
	ScanState  *node;
	MemoryContext context;		/* for what lives as long as the values */
	List	  **searches;		/* ChunkClauses, by the numbers of comparisons; Skips share theirs */
	List	   *indexes;		/* as in ChunkClause */
	bool		all_pages;		/* as in ChunkClause */
	Oid			parent;			/* as in ChunkCacheKey */
	int			comparisons;	/* how many there are */
	bool		may_evaluate;	/* if it is not set, only values are used whose evaluation runs nothing that may fail */
	bool		left_out;		/* so a comparison was left out, and has said "maybe" */
	Oid			user;			/* who began the execution, and the security context */
	int			security;
} ChunkAsking;

/*
 * Exchanges the current user with that of *asking. It is called before and after what is compiled later than at the
 * begin of the execution: a cursor may be read by another user than opened it, and the rights to call functions are
 * those of who opened it.
 */
extern void chunk_exchange_user(ChunkAsking *asking);

/* Makes a question (an AND) of these conditions. */
extern void chunk_make_question(ChunkAsking *asking, ChunkQuestion *question, List *conditions);

/* Forgets the values, for the next scan. */
extern void chunk_forget_values(ChunkQuestion *question);

/* Evaluates the argument of a comparison, unless this was done in this scan. */
extern void chunk_evaluate(const ChunkAsking *asking, ChunkQuestion *comparison);

/*
 * May this table hold rows that satisfy the condition? If it may, sets *why. If `left` is not NULL, leaves only those
 * pages in *left that may hold one. REQUIRES: the table is locked, unless this is a parallel worker.
 */
extern bool chunk_ask(ChunkAsking *asking, ChunkQuestion *question, Oid table, ChunkVerdict *why, BfSpans *left);

#endif
