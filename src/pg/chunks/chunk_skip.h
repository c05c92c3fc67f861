/*
 * chunk_skip.h: the node ChunkSkip. It stands above an Append or MergeAppend and leaves out those of its children
 * whose `bf` indexes say that no row can match. README.md in this folder draws the flow and proves that no row can be
 * lost.
 *
 *   chunk_skip_paths.c      keeps parallel paths away where the node is expected to be faster
 *   chunk_skip_statement.c  has the hooks of the planner except those for paths; finishes the plans of statements
 *   chunk_skip_plan.c       puts the node into finished plans
 *   chunk_skip_exec.c       executes the node, together with the files that chunk_skip_state.h lists
 *   chunk_skip_hash.c       makes sequential scans test arrays by hash
 *   chunk_skip_portal.c     takes the node out of plans that WHERE CURRENT OF may look into
 */
#ifndef STREAMBLOOM_PG_CHUNK_SKIP_H
#define STREAMBLOOM_PG_CHUNK_SKIP_H

#include "base/compat.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "chunks/finished_plan.h"

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

	/* The indexes to ask, in the order of the children: four lists, with one entry each for every index. */
	CHUNK_SKIP_CHILDREN,		/* the number of the child that has the index, from 0 */
	CHUNK_SKIP_HEAPS,			/* the OID of the child's table */
	CHUNK_SKIP_INDEXES,			/* the OID of the index */
	CHUNK_SKIP_INDEX_SETS,		/* the number of the set of keys about which the index is asked */

	/*
	 * The children that are not asked, for EXPLAIN: two lists of integers. A child that is not asked because it has no
	 * bf index that can answer is not in these lists.
	 */
	CHUNK_SKIP_UNASKED,			/* the number of the child */
	CHUNK_SKIP_UNASKED_WHY,		/* a ChunkReason */

	/*
	 * One integer. It is 1 if security quals or a security-barrier view may hide rows of a child from the user. Then
	 * a plain EXPLAIN asks nothing. For each such child, only leakproof clauses have given keys.
	 */
	CHUNK_SKIP_GUARDED,

	/* Why the table did not get the node PartitionScan: a list of one string, or empty if no reason was noted. */
	CHUNK_SKIP_NO_PARTITION_SCAN,

	/*
	 * If a Limit above the node takes only the first rows of each scan: two expressions, LIMIT and OFFSET; the second
	 * is NULL if there is no OFFSET. Otherwise empty.
	 */
	CHUNK_SKIP_LIMIT,

	CHUNK_SKIP_PRIVATE_LENGTH
};

/* Is called when the library is loaded. */
extern void chunk_skip_init(void);

/*
 * May the node be put into the statement that is being planned? It may if ChunkSkip is on, the statement is not that
 * of a cursor of SQL or PL/pgSQL, and one of the tables that PostgreSQL has looked at so far has a bf index. PostgreSQL
 * looks at all tables of a query, with their children, before it makes paths for any of them.
 */
extern bool chunk_skip_is_expected(void);

/*
 * Returns those of a relation's conditions (expressions) that indexes may be asked about: only the leakproof ones if
 * rows of the relation may be hidden from the user, otherwise all. REQUIRES: chunk_skip_is_noted().
 */
extern List *chunk_skip_clauses(PlannerInfo *root, Index relid, List *clauses);

/*
 * Does one of the tables that PostgreSQL has looked at so far have a bf index? Unlike for chunk_skip_is_expected(),
 * ChunkSkip may be off.
 */
extern bool chunk_skip_is_noted(void);

/*
 * Notes that a table of the statement has a bf index. PartitionScan calls this, because the planner does not see the
 * partitions of a PartitionScan, nor their indexes.
 */
extern void chunk_skip_note_bf_index(void);

/*
 * Puts the nodes into a plan that the leader alone runs, and returns the plan. Also adds to finished->by_leader the
 * initPlans that it meets there.
 */
extern Plan *chunk_skip_add_nodes(Plan *plan, FinishedStatement *finished);

/*
 * Returns descendants of a relation (a list of RelOptInfo): if `scanned`, those that are scanned, otherwise those
 * that have children of their own. Relations that are proved empty are left out. REQUIRES: root->append_rel_array is
 * not NULL.
 */
extern List *chunk_skip_descendants(PlannerInfo *root, Index ancestor, bool scanned);

/*
 * Returns the selectivity of conditions on a relation that has `rows` rows in all. For a parent, rel->tuples may be
 * less: PostgreSQL 15 sets it to the number of rows that are expected to satisfy the parent's conditions. But some
 * statistics are relative to the number of all rows. So rel->tuples is `rows` while the selectivity is estimated. The
 * conditions must not be RestrictInfos, because the planner would remember the result in them. `varno` and `join` are
 * as for clauselist_selectivity(); join == NULL: the conditions of a scan.
 */
extern double chunk_skip_selectivity(PlannerInfo *root, RelOptInfo *rel, List *conditions, int varno,
									 SpecialJoinInfo *join, double rows);

/*
 * May the query be a subquery of an expression? A parallel worker can evaluate the expression only if the subquery's
 * plan is parallel safe. The plan would no longer be safe if partial paths were removed, or if a path were added that
 * is not parallel safe. Then the outer query, which may be the larger one, could no longer be parallel. A subquery does
 * not show whether it stands in FROM or in an expression. So if the outer query, or one further out, has a subquery
 * anywhere but in FROM, the result is true.
 */
extern bool chunk_skip_may_be_in_expression(const PlannerInfo *root);

/*
 * Does nothing unless the table has children and the node is expected to be faster than a parallel plan. Then, if the
 * table is alone in its query, removes its partial paths. If it stands in a join, its other paths get lower costs.
 */
extern void chunk_skip_prefer(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte);

/* Is called when the library is loaded. */
extern void chunk_skip_paths_init(void);

/*
 * Returns the statement to execute when an execution begins: the given one, or a copy. The result is a copy if WHERE
 * CURRENT OF may refer to the statement's portal, and would find the node in the plan. In the plan of the copy the
 * node is taken out where it would be found.
 */
extern PlannedStmt *chunk_skip_statement_for_portal(PlannedStmt *statement);

/*
 * Does the statement belong to the portal whose execution begins, and can WHERE CURRENT OF refer to this portal by
 * its name?
 */
extern bool chunk_skip_is_of_named_portal(const PlannedStmt *statement);

/*
 * Makes sequential scans test conditions "= ANY (expression)" by hash: those scans that are among `children`, and those
 * right below a JoinSkip that is among them. The expression has to be in `expressions`, and its value must have enough
 * elements. values[i] and isnull[i] are the value of expression number i. Adds what is changed to the list `hashed`,
 * and returns the list. chunk_skip_forget_hashed() undoes these changes; it must be called before a value changes. The
 * memory is taken from the current context.
 */
struct PlanState;
extern List *chunk_skip_hash_arrays(struct PlanState **children, int count, List *expressions, const Datum *values,
									const bool *isnull, List *hashed);
extern void chunk_skip_forget_hashed(List *hashed);

extern const CustomScanMethods chunk_skip_scan_methods;

#endif
