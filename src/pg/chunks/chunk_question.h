/*
 * chunk_question.h: finds the questions that the `bf` indexes of a chunk can answer, and asks them. It serves
 * chunk_scan() and the node ChunkSkip.
 *
 * A *key* is a condition that one column of an index can answer: column = argument, column = ANY (argument), the same
 * with another operator of the column's operator class, or column IS NULL. For a boolean column the forms that the
 * planner makes of these count too (column, NOT column), and IS TRUE, IS FALSE and IS UNKNOWN. A *question* is an index
 * with the keys that it can be asked. The argument of a key is any expression without columns; the caller decides when to
 * evaluate it.
 */
#ifndef STREAMBLOOM_PG_CHUNK_QUESTION_H
#define STREAMBLOOM_PG_CHUNK_QUESTION_H

#include "base/compat.h"

#include "access/skey.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "chunks/chunk_cache.h"
#include "index/bf_index.h"

typedef struct QuestionKey
{
	AttrNumber	column;			/* of the index, from 1 */
	int			flags;			/* of its ScanKey: 0, SK_SEARCHARRAY, or SK_ISNULL | SK_SEARCHNULL */
	StrategyNumber strategy;	/* of the operator in the column's operator class; InvalidStrategy for IS NULL */
	Oid			subtype;		/* the operator's right type */
	Oid			collation;
	Oid			function;		/* the operator's; InvalidOid for IS NULL */
	Expr	   *argument;		/* NULL for IS NULL */
} QuestionKey;

typedef struct ChunkQuestion
{
	Oid			index;
	List	   *keys;			/* of QuestionKey; at least one */
} ChunkQuestion;

/*
 * Locks (AccessShareLock) and opens a relation; NULL if it no longer exists. This is try_relation_open() without the
 * look-up in the system cache, which takes a tenth of the time that a chunk takes.
 */
extern Relation chunk_try_open(Oid oid);

/*
 * The questions (a list of ChunkQuestion) that the usable bf indexes of a table can answer. All rows that are wanted
 * satisfy `clauses`, whose Vars of the table have this varno. REQUIRES: the table is locked.
 */
extern List *chunk_questions(Relation heap, Index varno, List *clauses);

/* Why an index did not say no. It takes a second look to find this out, so it is only done where it is shown. */
typedef struct ChunkWhy
{
	Oid			index;			/* the one that was asked last; InvalidOid if none could be asked */
	uint32		unsummarized;	/* ranges that are not summarized, if nothing else kept it from saying no */
} ChunkWhy;

static inline uint32
chunk_unsummarized(const BfVerdict *verdict)
{
	return verdict->maybe > 0 ? 0 : (uint32) verdict->unsummarized;
}

/* Sets up the ScanKey for a key and its argument's value. */
extern void chunk_set_scan_key(ScanKey entry, const QuestionKey *key, Datum value);

/*
 * Asks an index: may rows that the snapshot sees and that satisfy the keys of the search be in the heap? The result is
 * also true if the index is gone or no longer usable. Takes the predicate lock that an index scan would take, and
 * counts this as an index scan, unless it is only for a plain EXPLAIN. If `why` is not NULL it is set for an answer
 * "maybe". If `cache` is not NULL, it is remembered there under the index's OID how the index is asked; `number` is the
 * snapshot's number. REQUIRES: the heap is locked; the snapshot is that of the search.
 */
extern bool chunk_may_match(Relation heap, Oid index, BfSearch *search, Snapshot snapshot, bool explain_only,
							ChunkWhy *why, ChunkCache *cache, uint64 number);

/* What is known of an operator in an operator family. It is found once for all the indexes that are alike. */
typedef struct ChunkOperator
{
	Oid			family;
	Oid			operator;
	StrategyNumber strategy;	/* InvalidStrategy: the index cannot answer it */
	Oid			right_type;
	Oid			function;
} ChunkOperator;

/* A clause with one constant that is not NULL, and with varno 1 in its Var, about which many tables are asked. */
typedef struct ChunkClause
{
	Node	   *clause;
	Datum		value;
	Oid			method;			/* bf_index_am_oid(): InvalidOid if there are no indexes to ask */
	ChunkOperator known;
	bool		explain_only;	/* as in chunk_may_match(); false at first */
	bool		wants_reason;	/* it is to be found out why an index says maybe; false at first */
	ChunkCache *cache;			/* what is remembered of the tables' indexes; NULL at first */
	uint64		snapshot;		/* the number of the snapshot in the cache */

	/* The search in the index that was asked last: it serves for the next index too if the key is the same there. */
	MemoryContext context;		/* of the search */
	QuestionKey key;
	ScanKeyData entry;
	BfSearch   *search;			/* NULL at first */
} ChunkClause;

/* The clause's memory is taken from the current context, which must live as long as it. */
extern void chunk_prepare_clause(ChunkClause *clause, Node *node, Datum value);

/*
 * Asks the indexes of a table that can answer such a clause, one after the other until one says no, and sets *why. If
 * `few` is not NULL, it is set to the pages that the index which was asked last has named; few->attribute is 0 if none
 * was asked. REQUIRES: `few` is not NULL if the clause has a cache.
 */
extern bool chunk_may_match_clause(Relation heap, ChunkClause *clause, Snapshot snapshot, ChunkWhy *why, BfPages *few);

#endif
