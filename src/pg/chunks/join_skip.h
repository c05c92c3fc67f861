/*
 * join_skip.h: the nodes JoinKeys and JoinSkip. JoinKeys collects the keys of a hash join while the join's hash table
 * is built. JoinSkip stands above a scan on the outer side of the join. It asks the `bf` indexes of the scanned table
 * about these keys, and has a sequential scan read only the pages that may hold a row with one of them. README.md in
 * this folder draws the flow and proves that no row can be lost.
 *
 * JoinSkip may stand below the node ChunkSkip, which leaves out children of an Append (chunk_skip.h). JoinKeys also
 * gives keys to the node PartitionScan, which stands for a whole partitioned table (partition_scan.h).
 *
 *   join_skip_paths.c    gives joins the costs that they are expected to have
 *   join_skip_plan.c     puts the nodes into finished plans
 *   join_keys.h, .c      executes and explains JoinKeys
 *   join_skip_exec.c     executes and explains JoinSkip
 */
#ifndef STREAMBLOOM_PG_JOIN_SKIP_H
#define STREAMBLOOM_PG_JOIN_SKIP_H

#include "base/compat.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "chunks/finished_plan.h"

/* streambloom.enable_join_skip */
extern bool join_skip_enabled;

/*
 * A set of keys is given up as soon as it has more than JOIN_MOST_KEYS different keys: then no index is asked about
 * it. A join gets no nodes if its inner side is expected to have more than JOIN_MOST_KEYS * JOIN_MOST_TIMES_EXPECTED
 * rows.
 */
#define JOIN_MOST_KEYS 65536
#define JOIN_MOST_TIMES_EXPECTED 10

/*
 * Of a set for a PartitionScan the values are kept, not their hashes. Such a set is given up when it has more than
 * JOIN_MOST_VALUES values, or when its values take more than JOIN_MOST_VALUE_BYTES. The limits are low because a
 * PartitionScan plans a query for each partition that it reads, and the planner looks at each value there.
 */
#define JOIN_MOST_VALUES 4096
#define JOIN_MOST_VALUE_BYTES (1024 * 1024)

/*
 * May this key, the inner side of a hash join's clause, be collected? `number` counts the clauses of the join from 0.
 * If a key of a row is NULL, PostgreSQL does not evaluate the later keys of the row. JoinKeys does, so all keys but
 * the first must be ones whose evaluation cannot raise an error: columns, constants and parameters.
 */
extern bool join_skip_may_collect(const Node *key, int number);

/*
 * In the CustomScan JoinKeys, lefttree is the input of Hash, custom_exprs has the expressions of the keys, and
 * custom_private has these lists:
 */
enum JoinKeysPrivate
{
	JOIN_KEYS_PARAMETER,		/* one integer: the parameter that carries the sets to JoinSkip and PartitionScan */

	/* Four lists of the same length, with an element for each set of keys: */
	JOIN_KEYS_EXPRESSIONS,		/* the number of the expression in custom_exprs */
	JOIN_KEYS_TYPES,			/* the values are hashed as values of this type; kept values have this type */
	JOIN_KEYS_COLLATIONS,		/* the collation under which the values are hashed; 0 if the values are kept */
	JOIN_KEYS_KEPT,				/* 1 if the values are kept, for a PartitionScan; 0 if their hashes are */

	/* Why no PartitionScan gets the keys in place of an Append: a list of one string, or empty if none was noted. */
	JOIN_KEYS_NO_PARTITION_SCAN,

	JOIN_KEYS_PRIVATE_LENGTH
};

/*
 * In the CustomScan JoinSkip, lefttree is the scan. custom_exprs has for each key the expression that the join
 * compares with it; the Vars of the expression refer to the scan's result. custom_private has these lists of the same
 * length, with an element for each key:
 */
enum JoinSkipPrivate
{
	JOIN_SKIP_PARAMETERS,		/* the parameter of a JoinKeys */
	JOIN_SKIP_SETS,				/* the number of a set of this JoinKeys */
	JOIN_SKIP_INDEXES,			/* the OID of the index that is asked */
	JOIN_SKIP_COLUMNS,			/* the column of the index, from 1 */
	JOIN_SKIP_TYPES,			/* the type as which the index hashes the column's values */

	JOIN_SKIP_PRIVATE_LENGTH
};

/* Are called when the library is loaded. */
extern void join_skip_init(void);
extern void join_skip_paths_init(void);

/*
 * Copies the parameterized Append paths of a table: those that take values from rows of other tables. A copy has the
 * cost that is expected with ChunkSkip, and is added only if an index can answer and this cost is lower.
 */
extern void join_skip_add_parameterized(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte);

/* Does a hash join of this type drop all outer rows without a partner? */
extern bool join_skip_drops_outer_rows(JoinType type);

/*
 * Would PostgreSQL read a row of the outer side of a hash join first, and not run the inner side at all if the outer
 * side has no row? `startup` is the startup cost of the outer side, `inner` the total cost of the inner side. With
 * the nodes the inner side is always run first.
 */
extern bool join_skip_outer_may_go_first(JoinType type, Cost startup, Cost inner);

/*
 * Is an outer side with this total cost too cheap for the nodes? The nodes can save only a part of the outer side's
 * cost. But with the nodes PostgreSQL runs the inner side first. So if the outer side is empty, the nodes add the
 * whole cost of the inner side.
 */
extern bool join_skip_is_outer_too_cheap(Cost outer, Cost inner);

/*
 * Puts the nodes into a plan that the leader alone runs. REQUIRES: if the plan gets the node ChunkSkip (chunk_skip.h),
 * ChunkSkip is in it already.
 */
extern void join_skip_add_nodes(Plan *plan, FinishedStatement *finished);

extern const CustomScanMethods join_keys_scan_methods;
extern const CustomScanMethods join_skip_scan_methods;

#endif
