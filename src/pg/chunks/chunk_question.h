/*
 * chunk_question.h: what a chunk's `bf` indexes can be asked, and asking them: for chunk_scan() and for the node
 * ChunkSkip.
 *
 * A *key* is a clause that a column of an index can answer: column = argument, column = ANY (argument), column IS
 * NULL; for a boolean column also what the planner makes of these (column, NOT column), and IS TRUE, IS FALSE, IS UNKNOWN.
 * A *question* is an index with its keys. The argument is any expression without columns of a relation; what evaluates
 * it, and when, is the caller's affair.
 */
#ifndef STREAMBLOOM_PG_CHUNK_QUESTION_H
#define STREAMBLOOM_PG_CHUNK_QUESTION_H

#include "base/compat.h"

#include "access/skey.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

typedef struct ChunkKey
{
	AttrNumber	column;			/* of the index, from 1 */
	int			flags;			/* of its ScanKey: 0, SK_SEARCHARRAY, or SK_ISNULL | SK_SEARCHNULL */
	Oid			subtype;		/* the operator's right type */
	Oid			collation;
	Oid			function;		/* the operator's; InvalidOid for IS NULL */
	Expr	   *argument;		/* NULL for IS NULL */
} ChunkKey;

typedef struct ChunkQuestion
{
	Oid			index;
	List	   *keys;			/* of ChunkKey; at least one */
} ChunkQuestion;

/*
 * Locks (AccessShareLock) and opens a relation that may be gone: then NULL. try_relation_open() without its look-up in
 * the system cache, which is a tenth of what a chunk costs.
 */
extern Relation chunk_try_open(Oid oid);

/*
 * The questions (a list of ChunkQuestion) that the usable bf indexes of a table can be asked, given clauses that all
 * rows must satisfy, whose Vars of the table have this varno. REQUIRES: the table is locked.
 */
extern List *chunk_questions(Relation heap, Index varno, List *clauses);

/* Sets up the ScanKey for a key and its argument's value. */
extern void chunk_scan_key(ScanKey entry, const ChunkKey *key, Datum value);

/*
 * May rows that the snapshot sees and that satisfy the keys be in the heap? True also if the index cannot tell any
 * more. Leaves the predicate lock that an index scan would, and is counted as one, unless this is only for a plain
 * EXPLAIN. REQUIRES: the heap is locked, the snapshot taken.
 */
extern bool chunk_may_match(Relation heap, Oid index, ScanKey keys, int nkeys, Snapshot snapshot, bool explain_only);

/* What is known of an operator in an operator family: found once for all the indexes that are alike. */
typedef struct ChunkOperator
{
	Oid			family;
	Oid			operator;
	bool		is_equality;
	Oid			right_type;
	Oid			function;
} ChunkOperator;

/* A clause with one constant that is not NULL, whose Var has varno 1, to be asked of many tables. */
typedef struct ChunkClause
{
	Node	   *clause;
	Datum		value;
	Oid			method;			/* bf_index_am_oid(): InvalidOid if there are no indexes to ask */
	ChunkOperator known;
	bool		explain_only;	/* as in chunk_may_match(); false at first */
} ChunkClause;

extern void chunk_prepare_clause(ChunkClause *clause, Node *node, Datum value);

/*
 * The same for such a clause, asking all indexes that can answer until one says no; it finds them itself. *index is the
 * one that was asked last, InvalidOid if none was.
 */
extern bool chunk_may_match_clause(Relation heap, ChunkClause *clause, Snapshot snapshot, Oid *index);

#endif
