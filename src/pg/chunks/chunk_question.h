/*
 * chunk_question.h: finds the questions that the `bf` indexes of a chunk can answer, and opens chunks and indexes. The
 * functions of ask.h ask the questions.
 *
 * A *key* is a condition that one column of an index can answer. Its forms are column = argument, column = ANY
 * (argument), these two with another operator of the column's operator family, and column IS NULL. A boolean column
 * has more forms: the planner turns column = true into `column`, and column = false into NOT column. These are keys
 * too, and so are IS TRUE, IS FALSE and IS UNKNOWN. The argument of a key is an expression without columns of its own
 * table, volatile functions and sub-plans; the caller decides when to evaluate it.
 *
 * A *question* is an index with keys that must be true together, or, for an OR, *arms*: lists of questions. The answer
 * to an OR is no if each arm has a question whose answer is no.
 *
 * Indexes are described by IndexOptInfos. While a statement is planned these are those of its relations; for an index
 * that the planner does not know chunk_index_info() makes one.
 */
#ifndef STREAMBLOOM_PG_CHUNK_QUESTION_H
#define STREAMBLOOM_PG_CHUNK_QUESTION_H

#include "base/compat.h"

#include "access/skey.h"
#include "nodes/pathnodes.h"
#include "utils/rel.h"

typedef struct QuestionKey
{
	AttrNumber	column;			/* of the index, from 1 */
	int			flags;			/* flags of the ScanKey: 0, SK_SEARCHARRAY, or SK_ISNULL | SK_SEARCHNULL */
	StrategyNumber strategy;	/* of the operator in the column's operator family; InvalidStrategy for IS NULL */
	Oid			subtype;		/* the operator's right type */
	Oid			collation;
	Oid			function;		/* of the operator; InvalidOid for IS NULL */
	Expr	   *argument;		/* NULL for IS NULL */
} QuestionKey;

typedef struct ChunkQuestion
{
	Oid			index;			/* InvalidOid for an OR */
	List	   *keys;			/* of QuestionKey; at least one, but none for an OR */
	List	   *arms;			/* of an OR: lists of ChunkQuestion, none of them empty; otherwise NIL */
} ChunkQuestion;

/*
 * Locks a relation (AccessShareLock) and opens it. Returns NULL if the relation no longer exists. Unlike
 * try_relation_open(), this does not first look the OID up in the system cache. That look-up would take a tenth of
 * all the time that is spent on a chunk.
 */
extern Relation chunk_try_open(Oid oid);

/*
 * What is known of an operator in an operator family. It is found once, and used again for the next index if that
 * index has the same family and is asked with the same operator.
 */
typedef struct ChunkOperator
{
	Oid			family;
	Oid			operator;
	StrategyNumber strategy;	/* InvalidStrategy: an index of this family cannot answer the operator */
	Oid			right_type;
	Oid			function;
} ChunkOperator;

/* What is found once for all partitions of a table. All of it is 0 at first. */
typedef struct ChunkFinder
{
	Oid			method;			/* bf_index_am_oid() */
	ChunkOperator operator;
} ChunkFinder;

/*
 * Returns the questions (a list of ChunkQuestion) that these indexes (IndexOptInfo) can answer; other indexes than bf
 * may be among them. `clauses` are RestrictInfos or expressions that all wanted rows satisfy; in them `varno` is the
 * number of the table. Allocates what it returns in the current context.
 */
extern List *chunk_questions(const List *indexes, Index varno, const List *clauses, ChunkFinder *finder);

/*
 * Describes an index as far as the functions of this file look: its columns, expressions and predicate, with `varno` as
 * the number of the table. It is valid as long as the index is open.
 */
extern IndexOptInfo *chunk_index_info(Relation index, Index varno);

/*
 * Adds to *parameters the numbers of an expression's PARAM_EXEC parameters, which are set during the execution. This
 * is a tree walker: its result is always false.
 */
extern bool chunk_find_parameters(Node *node, Bitmapset **parameters);

/*
 * Is this a constant, a parameter, or an array of these, relabeled or not? Its evaluation calls no function, unless a
 * parameter is the result of a subquery.
 */
extern bool chunk_is_plain_value(const Node *node);

/* Sets up the ScanKey for a key and its argument's value. */
extern void chunk_set_scan_key(ScanKey entry, const QuestionKey *key, Datum value);

/* Does the index have this access method? The index need not be open. Returns false if it no longer exists. */
extern bool chunk_has_method(Oid index, Oid method);

/*
 * Opens an index of a locked heap, and locks it (AccessShareLock). Returns NULL, and leaves nothing locked, if the
 * index is gone, is not a bf index of this heap, or is in a state in which the planner would not use it. `method` is
 * bf_index_am_oid().
 */
extern Relation chunk_open_index(Relation heap, Oid index, Oid method);

/*
 * Returns all keys (a list of QuestionKey) that the clauses (expressions) give for an index. In the clauses `varno` is
 * the number of the table. The list is empty if the index is partial and the clauses do not imply its predicate. *known
 * keeps what was found out about an operator, for the next call; it is zeroed before the first one.
 */
extern List *chunk_keys_of_index(const IndexOptInfo *index, Index varno, List *clauses, ChunkOperator *known);

#endif
