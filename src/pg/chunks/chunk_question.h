/*
 * chunk_question.h: finds the conditions that the `bf` indexes of a chunk can answer, and opens chunks and indexes. The
 * functions of ask.h ask.
 *
 * A *key* is a condition that one column of an index can answer. Its forms are column = argument, column = ANY
 * (argument), these two with another operator of the column's operator family, and column IS NULL. A boolean column
 * has more forms: the planner turns column = true into `column`, and column = false into NOT column. These are keys
 * too, and so are IS TRUE, IS FALSE and IS UNKNOWN. The argument of a key is an expression without columns of its own
 * table, volatile functions and sub-plans; the caller decides when to evaluate it.
 *
 * Indexes are described by IndexOptInfos. While a statement is planned these are those of its relations; for an index
 * that the planner does not know chunk_index_info() makes one.
 */
#ifndef STREAMBLOOM_PG_CHUNK_QUESTION_H
#define STREAMBLOOM_PG_CHUNK_QUESTION_H

#include "base/compat.h"

#include "access/skey.h"
#include "nodes/execnodes.h"
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

/*
 * Finds the key that a clause gives for an index, and returns whether there is one. In the clause `varno` is the number
 * of the table. A partial index can be asked if its predOK is set, or if the clause implies its predicate.
 */
extern bool chunk_find_key(const IndexOptInfo *index, Index varno, Node *clause, QuestionKey *key);

/*
 * Returns the part of a condition that these indexes (IndexOptInfo) can answer, or NULL: of an AND those parts that
 * they can answer, of an OR all arms or none. Adds the indexes' OIDs to *used, unless it is NULL.
 */
extern Node *chunk_answered_part(const List *indexes, Index varno, Node *condition, List **used);

/*
 * Describes an index as far as the functions of this file look: its columns, expressions and predicate, with `varno` as
 * the number of the table.
 */
extern IndexOptInfo *chunk_index_info(Relation index, Index varno);

/* Describes all bf indexes of a table that is locked (a list of IndexOptInfo), and locks them. */
extern List *chunk_indexes_of(Oid table, Index varno);

/* The expression without RelabelTypes around it. It may be NULL. */
extern Node *chunk_without_relabels(Node *node);

/*
 * Is this a constant, a parameter, or an array of these, relabeled or not? Its evaluation calls no function. With an
 * `estate`, a parameter does not count that is the result of a subquery which was not run yet.
 */
extern bool chunk_is_plain_value(const Node *node, const EState *estate);

/*
 * Locks a relation (AccessShareLock) and opens it. Returns NULL if the relation no longer exists. Unlike
 * try_relation_open(), this does not first look the OID up in the system cache. That look-up would take a tenth of
 * all the time that is spent on a chunk.
 */
extern Relation chunk_try_open(Oid oid);

/* Does the index have this access method? The index need not be open. Returns false if it no longer exists. */
extern bool chunk_has_method(Oid index, Oid method);

/*
 * Opens an index of a locked heap, and locks it (AccessShareLock). Returns NULL, and leaves nothing locked, if the
 * index is gone, is not a bf index of this heap, or is in a state in which the planner would not use it. `method` is
 * bf_index_am_oid().
 */
extern Relation chunk_open_index(Relation heap, Oid index, Oid method);

#endif
