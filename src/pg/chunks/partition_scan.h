/*
 * partition_scan.h: the node PartitionScan. One such node stands in a plan for a whole partitioned table, without a
 * sub-plan for any partition. When the node is executed, it asks the bf indexes of the partitions that pruning leaves,
 * one partition after the other. It plans and reads only the partitions that may hold rows which match. README.md in
 * this folder draws the flow and proves that no row can be lost.
 *
 * If the indexes are not asked about a condition of the query, the node may stand on the outer side of a hash join and
 * wait for the *keys* of the join. These are the values that the rows of the inner side have in one of the join's
 * clauses. The node JoinKeys collects the keys (join_skip.h), and the indexes are asked about them.
 *
 *   partition_scan_statement.c  owns the hooks: which tables of a statement may get the node; finishes the plan
 *   partition_scan_parts.c      finds, prunes and locks the partitions
 *   partition_scan_prune.c      which conditions can prune partitions when the node is executed
 *   partition_scan_estimate.c   statistics of the table; how many partitions are expected to be read
 *   partition_scan_question.c   which conditions indexes can be asked about
 *   partition_scan_paths.c      decides whether the table gets the node, and makes its paths
 *   partition_scan_keys.c       makes paths of hash joins that give the node their keys
 *   partition_scan_plan.c       makes the plan node
 *   partition_scan_exec.c       executes and explains it
 *   partition_scan_portal.c     has the queries of portals that WHERE CURRENT OF may refer to planned again
 */
#ifndef STREAMBLOOM_PG_PARTITION_SCAN_H
#define STREAMBLOOM_PG_PARTITION_SCAN_H

#include "base/compat.h"

#include "executor/execdesc.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* streambloom.enable_partition_scan */
typedef enum PartitionScanUse
{
	PARTITION_SCAN_OFF,
	PARTITION_SCAN_ON,
	PARTITION_SCAN_ALWAYS		/* also where it is expected to be slower: for tests */
} PartitionScanUse;

extern int	partition_scan_use;

/* streambloom.min_partition_scan_partitions */
extern int	partition_scan_fewest;

/*
 * In the CustomScan, scanrelid is the partitioned table. custom_scan_tlist has the table's columns that the query
 * uses. The first of these two enums has the positions in custom_exprs, the second one those in custom_private.
 */
enum PartitionScanExprs
{
	/*
	 * The comparison that indexes are asked about: column = value, or column = ANY (value). A CaseTestExpr in place of
	 * the value stands for the keys of a hash join. NULL: indexes are not asked, and all partitions that pruning leaves
	 * are read.
	 */
	PARTITION_SCAN_ASKED,
	PARTITION_SCAN_CONDITIONS,	/* a list: the other conditions that are tested in the partitions */
	/*
	 * A list: conditions that can prune partitions once their values are known. Each is an OpExpr with a column or an
	 * expression of a partition key on the left side, and a value on the right side.
	 */
	PARTITION_SCAN_PRUNING,
	PARTITION_SCAN_EXPRS_LENGTH
};

enum PartitionScanPrivate
{
	PARTITION_SCAN_COLUMNS,		/* a list: the number of each column in custom_scan_tlist; 0 is the whole row */
	/*
	 * Three integers that tell where the partitions' entries in the range table are: the number of the first entry
	 * for a leaf partition; how many such entries there are, one after the other; and how many entries for partitioned
	 * tables come directly before them.
	 */
	PARTITION_SCAN_ENTRIES,
	/* a list with the statement's query if WHERE CURRENT OF would look at this node; otherwise empty */
	PARTITION_SCAN_QUERY,
	/*
	 * For each hash join that gives keys, two integers: the parameter of its JoinKeys (join_keys.h), and the number of
	 * the set in this JoinKeys. Empty for a node that does not wait for keys.
	 */
	PARTITION_SCAN_KEYS,
	PARTITION_SCAN_PRIVATE_LENGTH
};

/*
 * The partitions that pruning leaves when the planner makes the node's paths for one RelOptInfo. The *parent* is the
 * partitioned table that the query names.
 */
typedef struct PartitionScanParts
{
	List	   *tables;			/* OIDs of the partitioned tables below the parent that are left */
	List	   *leaves;			/* OIDs of the leaf partitions that are left */
	List	   *pruning;		/* as PARTITION_SCAN_PRUNING, with Vars of the table */
	List	   *ruled_out;		/* OIDs of what was pruned; a partitioned table stands for its partitions */
	double		tuples;			/* how many rows `leaves` are estimated to have */
	RelOptInfo *rel;			/* the parent's RelOptInfo */
	bool		may_take_keys;	/* a hash join may give its keys to this relation */
	const char *why_no_keys;	/* why the join clause that was rejected last gives no keys; NULL: none was rejected */
	CustomScan *node;			/* the node in the finished plan; NULL if none of the paths is in it */
} PartitionScanParts;

/* A partitioned table of the statement that is being planned, which the planner does not expand. */
typedef struct PartitionScanTable
{
	Oid			parent;
	/* of PartitionScanParts: several if the planner plans min() or max() twice, or a CTE in each place that uses it */
	List	   *parts;
} PartitionScanTable;

/* partition_scan_statement.c */

/*
 * Is called when the library is loaded, after chunk_skip_init(). So the planner hook of PartitionScan calls that of
 * ChunkSkip, which needs partition_scan_refusals() of the same statement.
 */
extern void partition_scan_init(void);

/*
 * Returns the table of a range table entry that is marked as that of a PartitionScanTable (partition_scan_statement.c);
 * NULL for any other entry.
 */
extern PartitionScanTable *partition_scan_table_of(const RangeTblEntry *rte);

/*
 * Notes that the statement has to be planned again, without the node, because this table cannot or should not get it.
 * EXPLAIN (VERBOSE) shows `why` as "No PartitionScan Because".
 */
extern void partition_scan_refuse(const PartitionScanTable *table, const char *why);

/*
 * Has the user the privilege to read this column? Row-level security is not looked at: a statement in which rows may
 * be hidden from the user does not get the node.
 */
extern bool partition_scan_may_read(PlannerInfo *root, RangeTblEntry *rte, AttrNumber column);

/*
 * Returns why a table of an Append did not get a PartitionScan, for EXPLAIN (VERBOSE): a list of one string, or an
 * empty list if no reason was noted. `relids` are the Append's tables, as numbers in the statement's range table.
 */
extern List *partition_scan_refusals(const PlannedStmt *statement, const Bitmapset *relids);

/* partition_scan_parts.c */

/*
 * Returns how many leaf partitions the table has, at all levels. If there are at least `enough`, the result may be any
 * number from `enough` on. Locks no partition: pruning may rule a partition out, and then the query must not wait for
 * it.
 */
extern int	partition_scan_count(Relation parent, int enough);

/*
 * Prunes the table's partitions by the relation's conditions, as PostgreSQL does. Adds the partitions that are left to
 * *parts, and locks them, unless too few leaf partitions are left. Returns NULL, or the reason why the table does not
 * get the node.
 */
extern const char *partition_scan_find(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte,
									   PartitionScanParts *parts);

/*
 * A function that partition_scan_ruled_out() calls for the value on the right side of a comparison. `number` is the
 * comparison's place in the list `comparisons`, from 0. The function returns a NULL pointer if the value is not known
 * yet; then partitions are pruned without this comparison.
 */
typedef Const *(*PartitionScanValue) (void *argument, int number);

/*
 * Returns the OIDs, sorted, of the leaf partitions that PostgreSQL's pruning rules out by these comparisons on the
 * parent. The comparisons are as in PARTITION_SCAN_PRUNING; their Vars have varno 1. To be called while a query is
 * executed. `tables` are the partitioned tables below the parent that the plan has, sorted by OID; no others are
 * opened. Calls value_of() only for values that PostgreSQL's pruning would evaluate. So it does not call value_of() to
 * prune the partitions of a table that is ruled out itself.
 */
extern List *partition_scan_ruled_out(Relation parent, const List *tables, List *comparisons,
									  PartitionScanValue value_of, void *argument);

/* partition_scan_prune.c */

/*
 * Returns the clause as a comparison with a value (an expression without columns) on the right side. Returns NULL if
 * the clause cannot be written so, is volatile, or has a sub-plan.
 */
extern OpExpr *partition_scan_value_on_right(Expr *clause);

/*
 * Finds the clauses by which PostgreSQL can prune partitions of this table once their values are known. Returns a
 * list of Bitmapsets, one for each column of the partition key, in the key's order, up to the last column whose
 * clauses are used. A Bitmapset has the positions of the clauses on its column. The Vars have the table's column
 * numbers, and varno `relid`.
 */
extern List *partition_scan_prunable(Relation table, Index relid, const List *clauses);

/* partition_scan_estimate.c */

/*
 * Estimates the sizes of the relation and of *parts. Takes the sizes of up to 16 partitions that are left, and of up
 * to 16 that are ruled out, from pg_class. If there are more partitions of either sort, also looks at the number of
 * rows that the last ANALYZE of the parent has counted. Sets the columns' widths from the statistics of all
 * partitions.
 *
 * rel->tuples counts the rows of all partitions, also of those that are ruled out, because the statistics are about
 * all partitions. rel->rows is estimated from rel->tuples with all conditions, also with those that have ruled
 * partitions out; but it is at most the number of rows of the partitions that are left.
 */
extern void partition_scan_set_size(PlannerInfo *root, RelOptInfo *rel, Oid parent, PartitionScanParts *parts);

/*
 * Returns how many partitions are expected to be read if indexes are asked about this comparison, or a negative number
 * if no estimate is possible; 0 if the value is known to be NULL. The column is on the left side of the comparison.
 * Sets *known to whether the value is known, there is an active snapshot, and the user may read the column. If all this
 * is so, asks up to 64 of the partitions about the value, and assumes that of all partitions the same share would be
 * read as of these. If *known is false, or if no partition can be asked, estimates the number from statistics.
 * REQUIRES: the size of the relation is set.
 */
extern double partition_scan_expected(PlannerInfo *root, RelOptInfo *rel, const PartitionScanParts *parts,
									  Expr *comparison, bool *known);

/* How much of a table the keys of a join are expected to leave. */
typedef struct PartitionScanExpectation
{
	double		rows;			/* the rows that have one of the keys, before other conditions are tested */
	double		read;			/* the partitions that have such a row */
	double		in_vain;		/* the partitions that have none, although their index says maybe */
} PartitionScanExpectation;

/*
 * Sets *expectation to what `keys` different keys leave, by the comparison column = ANY (keys). Returns false if there
 * are no statistics about the column, or if PostgreSQL does not estimate the operator as an equality.
 */
extern bool partition_scan_expect_keys(PlannerInfo *root, RelOptInfo *rel, const PartitionScanParts *parts,
									   Expr *comparison, double keys, PartitionScanExpectation *expectation);

/* partition_scan_question.c */

/*
 * Returns the clause as column = value or column = ANY (value), with a column of the relation on the left side; `=`
 * stands for any operator here. Returns NULL
 * - if the clause cannot be written so;
 * - if the value has a column of the relation, a volatile function or a sub-plan.
 */
extern Expr *partition_scan_comparison(Expr *clause, Index relid);

/*
 * Can bf indexes of the partitions answer the comparison? Looks at the indexes of the parent and, if none of these can,
 * at those of the partition `first`.
 */
extern bool partition_scan_is_answered(Oid parent, Oid first, Index relid, Expr *comparison);

/*
 * Returns a bf index of a partition that can answer a comparison on the parent, and sets *column to the column of the
 * index that answers. InvalidOid: there is none.
 */
extern Oid	partition_scan_index_of(Oid parent, Oid partition, Index relid, Expr *comparison, AttrNumber *column);

/*
 * Has the table, or a leaf partition that stands for all of them, a bf index? Like partition_scan_count(), this locks
 * no partition.
 */
extern bool partition_scan_has_index(Relation parent);

/* partition_scan_paths.c */

/*
 * Does nothing for a table that the planner has expanded. For any other table, adds the node's paths, and calls
 * partition_scan_refuse() if the table does not get the node. If the conditions contradict each other, the table stays
 * empty, without such a path. Sets `inh` in the table's entry to true again; so from then on the planner uses the
 * extended statistics of all partitions together.
 */
extern void partition_scan_add_path(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);

/* The condition that indexes are asked about, and how much it is expected to leave. */
typedef struct PartitionScanChoice
{
	RestrictInfo *condition;	/* NULL: there is none */
	/*
	 * What indexes are asked about: the condition, with the column on the left side. If a hash join gives keys, this
	 * is column = ANY (keys), with a CaseTestExpr in place of the keys. NULL if `condition` is NULL.
	 */
	Expr	   *comparison;
	double		keys;			/* how many keys a hash join gives; 1 if no hash join gives keys */
	double		read;			/* how many partitions are expected to be read */
	double		looked_at;		/* in how many other partitions a few pages are looked at in vain (chunk_look.h) */
	double		rows;			/* how many rows the path returns; negative: as many as the planner estimates */
} PartitionScanChoice;

/*
 * Makes a path for a choice. The caller adds it to the relation, or makes it the outer side of a join's path. `outer`
 * are the other tables that give the condition its values; NULL if there are none.
 */
extern CustomPath *partition_scan_make_path(PlannerInfo *root, RelOptInfo *rel, PartitionScanTable *table,
											PartitionScanParts *parts, const PartitionScanChoice *choice,
											Relids outer);

/* partition_scan_keys.c */

/*
 * May a hash join by one of these conditions give its keys to the table? If so, notes this in *parts. If not, sets
 * *why to the reason, with three exceptions. *why is left alone
 * - if JoinSkip is off,
 * - if indexes can answer none of the conditions, or
 * - if the table itself has a condition that is volatile or has a sub-plan.
 * REQUIRES: the table has no condition of its own that indexes are asked about.
 */
extern bool partition_scan_may_take_keys(PlannerInfo *root, RelOptInfo *rel, PartitionScanTable *table,
										 PartitionScanParts *parts, const List *conditions, const char **why);

/*
 * Adds a path to a join of two relations: a hash join whose outer side is a PartitionScan that takes the join's keys.
 * Does nothing if the outer relation may not take keys. Is called whenever the planner calls set_join_pathlist_hook,
 * and has the type of this hook.
 */
extern void partition_scan_add_join_path(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
										 JoinType type, JoinPathExtraData *extra);

/*
 * Does a node of a finished plan wait for the keys of a hash join by this clause? `column` is the left side of the
 * clause, with the columns of the node's table (custom_scan_tlist) in place of those of the join's outer side.
 */
extern bool partition_scan_waits_for(const CustomScan *node, const Node *column, const OpExpr *clause);

/* Tells the node which set of which JoinKeys has the keys that it waits for. */
extern void partition_scan_add_keys(CustomScan *node, int parameter, int set);

/* Does the node wait for keys that no join gives it? */
extern bool partition_scan_lacks_keys(const CustomScan *node);

/* partition_scan_plan.c */

/* What a path of the node holds, in custom_private. */
typedef struct PartitionScanPath
{
	PartitionScanTable *table;
	PartitionScanParts *parts;
	RestrictInfo *condition;	/* the condition that is asked about; NULL: the path reads all partitions */
	Expr	   *comparison;		/* as in PartitionScanChoice */
} PartitionScanPath;

/* Makes the plan of a path (the type is that of PlanCustomPath). */
extern Plan *partition_scan_make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target_list,
									  List *clauses, List *children);

/* partition_scan_portal.c */

/*
 * Keeps the query in the node at which WHERE CURRENT OF would look, if the finished statement has such a node.
 * REQUIRES: the query is a copy from before planning, because the planner changes a query.
 */
extern void partition_scan_keep_query(PlannedStmt *statement, Query *query);

/*
 * Returns the statement to execute when an execution begins. If WHERE CURRENT OF may refer to the portal of this
 * execution, and a node in its statement keeps the query, the query is planned again without the node. Otherwise the
 * statement itself is returned.
 */
extern void partition_scan_portal_init(void);

/* partition_scan_exec.c */
extern const CustomScanMethods partition_scan_methods;

#endif
