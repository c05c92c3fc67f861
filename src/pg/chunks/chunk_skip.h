/*
 * chunk_skip.h: the node ChunkSkip. It stands above an Append or MergeAppend and leaves out those of its children
 * whose `bf` indexes say that no row can match. README.md in this folder draws the flow and proves that no row can be
 * lost.
 *
 *   chunk_skip_paths.c   keeps parallel paths away where the node is expected to be faster
 *   chunk_skip_plan.c    owns the hooks, and puts the node into finished plans
 *   chunk_skip_exec.c    executes the node; chunk_skip_state.h says which files do parts of that
 *   chunk_skip_hash.c    has arrays that sequential scans compare with tested by hash
 *   chunk_skip_portal.c  takes the node out of plans that WHERE CURRENT OF may look into
 */
#ifndef STREAMBLOOM_PG_CHUNK_SKIP_H
#define STREAMBLOOM_PG_CHUNK_SKIP_H

#include "base/compat.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* streambloom.enable_chunk_skip */
extern bool chunk_skip_enabled;

/* streambloom.prefer_chunk_skip */
extern bool chunk_skip_preferred;

/*
 * In the CustomScan, lefttree is the Append or MergeAppend, custom_exprs has the arguments of the keys
 * (chunk_question.h says what a key is), and custom_private has these lists:
 */
enum ChunkSkipPrivate
{
	/*
	 * The different sets of keys. Many indexes may be asked about the same set. A set is a list of keys. A key is a
	 * list of two lists: OIDs (subtype, collation, function) and integers (the column of the index, flags, strategy,
	 * and the number of the argument in custom_exprs or -1).
	 */
	CHUNK_SKIP_KEY_SETS,

	/* The indexes to ask, in the order of the children: four lists of the same length. */
	CHUNK_SKIP_CHILDREN,		/* the number of the child, from 0 */
	CHUNK_SKIP_HEAPS,			/* its OID */
	CHUNK_SKIP_INDEXES,			/* the OID of its index */
	CHUNK_SKIP_INDEX_SETS,		/* the number of the set of keys */

	/* The children that are not asked, but for those that have no index to ask: two lists of integers, for EXPLAIN. */
	CHUNK_SKIP_UNASKED,			/* the number of the child */
	CHUNK_SKIP_UNASKED_WHY,		/* a ChunkReason */

	/*
	 * One integer. It is 1 if security quals or a security-barrier view may hide rows of a child from the user. Then
	 * a plain EXPLAIN asks nothing, and only leakproof clauses have given keys.
	 */
	CHUNK_SKIP_GUARDED,

	/* Why the table did not get the node PartitionScan: a list of one string, empty if this was not tried. */
	CHUNK_SKIP_NO_PARTITION_SCAN,

	CHUNK_SKIP_PRIVATE_LENGTH
};

/* Is called when the library is loaded. */
extern void chunk_skip_init(void);

/*
 * Is a statement being planned into which the node may be put, and has one of its tables that were looked at so far a
 * bf index? PostgreSQL looks at all tables of a query, with their children, before it makes paths for any of them.
 */
extern bool chunk_skip_is_expected(void);

/*
 * Those of a relation's conditions (expressions) that the node may ask about: all of them, or only the leakproof ones
 * if rows of the relation may be hidden from the user. REQUIRES: chunk_skip_is_expected().
 */
extern List *chunk_skip_clauses(PlannerInfo *root, Index relid, List *clauses);

/* The same, although ChunkSkip may be off. */
extern bool chunk_skip_is_noted(void);

/*
 * The descendants of a relation, a list of RelOptInfo: those that are scanned, or those that have children of their
 * own. REQUIRES: root->append_rel_array is not NULL.
 */
extern List *chunk_skip_descendants(PlannerInfo *root, Index ancestor, bool scanned);

/* Takes the partial paths of a table with children away if the node is expected to be faster than a parallel plan. */
extern void chunk_skip_prefer(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte);

/* Is called when the library is loaded. */
extern void chunk_skip_paths_init(void);

/*
 * The statement to execute when an execution begins. It is the given one, unless this is the query of a portal that
 * WHERE CURRENT OF may refer to: then it is a copy whose plan lacks the node.
 */
extern PlannedStmt *chunk_skip_statement_for_portal(PlannedStmt *statement);

/*
 * Is the statement that of the portal whose execution begins, and can WHERE CURRENT OF refer to this portal by its
 * name?
 */
extern bool chunk_skip_is_of_named_portal(const PlannedStmt *statement);

/*
 * Has those of these nodes that are sequential scans test conditions "= ANY (expression)" by hash, for the expressions
 * whose values are given. To be undone before a value changes. Adds to a list, and returns it, in which the second
 * function finds what to undo. The memory is taken from the current context.
 */
struct PlanState;
extern List *chunk_skip_hash_arrays(struct PlanState **children, int count, List *expressions, const Datum *values,
									const bool *isnull, List *hashed);
extern void chunk_skip_forget_hashed(List *hashed);

extern const CustomScanMethods chunk_skip_scan_methods;

#endif
