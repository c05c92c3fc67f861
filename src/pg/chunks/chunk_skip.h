/*
 * chunk_skip.h: the node ChunkSkip, which stands above an Append or MergeAppend and leaves out those of its children
 * whose `bf` indexes say that no row can match. README.md in this folder draws the flow and argues why no row can be
 * lost.
 *
 *   plan.c    owns the hooks, puts the node into finished plans
 *   exec.c    asks, runs, explains
 *   portal.c  takes it out of plans that WHERE CURRENT OF may look into
 */
#ifndef STREAMBLOOM_PG_CHUNK_SKIP_H
#define STREAMBLOOM_PG_CHUNK_SKIP_H

#include "base/compat.h"

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

/* streambloom.enable_chunk_skip */
extern bool chunk_skip_enabled;

/*
 * The CustomScan: lefttree is the Append or MergeAppend, custom_exprs the arguments of the keys (see chunk_question.h).
 * The lists of custom_private:
 */
enum ChunkSkipPrivate
{
	/*
	 * The different sets of keys, each asked of many indexes. A set is a list of keys; a key is a list of two lists:
	 * oids (subtype, collation, function) and integers (column of the index, flags, number of the argument in
	 * custom_exprs or -1).
	 */
	CHUNK_SKIP_KEY_SETS,

	/* The questions, in the order of the children; four lists of the same length: */
	CHUNK_SKIP_CHILDREN,		/* which child, from 0 */
	CHUNK_SKIP_HEAPS,			/* oid */
	CHUNK_SKIP_INDEXES,			/* oid */
	CHUNK_SKIP_QUESTION_SETS,	/* which set of keys */

	/*
	 * One integer: 1 if rows of a child may be hidden from the user by security quals or a security-barrier view. A plain
	 * EXPLAIN then asks nothing. The keys are those of leakproof clauses only.
	 */
	CHUNK_SKIP_GUARDED,

	CHUNK_SKIP_PRIVATE_LENGTH
};

/* When the library is loaded. */
extern void chunk_skip_init(void);

/*
 * The statement that is to be executed when a query starts: another one, without the node, if it is the query of a portal
 * that WHERE CURRENT OF may refer to.
 */
extern PlannedStmt *chunk_skip_statement_for_portal(PlannedStmt *statement);

extern const CustomScanMethods chunk_skip_scan_methods;

#endif
