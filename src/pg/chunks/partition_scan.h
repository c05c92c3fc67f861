/*
 * partition_scan.h: the node PartitionScan. It stands in a plan for a whole partitioned table, and no partition has a
 * plan of its own. Before its first row the node asks the bf indexes of the partitions that pruning has left. Then it
 * opens and reads those that may hold rows. README.md in this folder draws the flow and proves that no row is lost.
 *
 *   partition_scan_hooks.c   has PostgreSQL not expand a table, and decides: the node, or expansion after all
 *   partition_scan_parts.c   finds, prunes, locks and measures the partitions
 *   partition_scan_paths.c   makes the node's paths; expands a table late
 *   partition_scan_plan.c    makes the plan, with PostgreSQL's own run-time pruning
 *   partition_scan_read.c    reads one partition
 *   partition_scan_exec.c    executes and explains the node
 */
#ifndef STREAMBLOOM_PG_PARTITION_SCAN_H
#define STREAMBLOOM_PG_PARTITION_SCAN_H

#include "base/compat.h"

#include "access/attmap.h"
#include "access/genam.h"
#include "access/tableam.h"
#include "executor/execPartition.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "partitioning/partdefs.h"

#include "chunks/array_hash.h"
#include "chunks/ask.h"

/* streambloom.enable_partition_scan */
typedef enum PartitionScanUse
{
	PARTITION_SCAN_OFF,
	PARTITION_SCAN_ON,
	PARTITION_SCAN_ALWAYS		/* also where it is expected to be slower: for tests */
} PartitionScanUse;

extern int	partition_scan_use;

/*
 * In the CustomScan, scanrelid is the partitioned table, and `qual` has all conditions. custom_exprs has those that
 * indexes are asked about, and then further conditions column = value, for B-tree indexes. custom_private has:
 */
enum PartitionScanPrivate
{
	/*
	 * Five integers: the table's number in its query's range table, the number of the entry there for the first leaf
	 * partition, how many leaf partitions there are, how many conditions are asked about, and 1 if partitions are read
	 * from the last bound to the first.
	 */
	PARTITION_SCAN_NUMBERS,
	PARTITION_SCAN_PRUNING,		/* a PartitionPruneInfo, or NULL; its subplans are the leaf partitions */
	PARTITION_SCAN_SORT			/* the order in which each partition returns rows: a Sort without targets, or NULL */
};

/* ------------------------------------------------------------ the partitions, while planning */

/* A partitioned table: the parent, which the query names, or one below it. */
typedef struct PartitionScanTable
{
	Oid			oid;
	RelOptInfo *rel;
	PartitionDesc partitions;
	Bitmapset  *live;			/* the partitions that pruning leaves */
	/* for each of these, the number of the leaf partition, or -1 - the number of the table */
	int		   *places;
} PartitionScanTable;

typedef struct PartitionScanParts
{
	List	   *tables;			/* of PartitionScanTable, the parent first */
	List	   *leaves;			/* OIDs of the leaf partitions that pruning leaves, in the order of their bounds */
	double		tuples;			/* estimates for `leaves` */
	double		pages;
	bool		is_analyzed;	/* there are statistics of all partitions together */
} PartitionScanParts;

/*
 * Finds the partitions that the relation's conditions leave, and locks them. Returns NULL if the partitions have
 * changed since the statement's planning began, or if the node cannot read one of them.
 */
extern PartitionScanParts *partition_scan_find(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte);

/* The clauses on the parent, as clauses on table number `at`, in which columns may have other numbers. */
extern List *partition_scan_translate(const PartitionScanParts *parts, List *clauses, int at);

/* Sets the relation's size from pg_class. Without `parts`, only estimates a number of rows. */
extern void partition_scan_set_size(PlannerInfo *root, RelOptInfo *rel, Oid parent, PartitionScanParts *parts);

/* ------------------------------------------------------------------------------------ paths */

/* What was decided about a table that PostgreSQL has not expanded. */
typedef struct PartitionScanChoice
{
	PlannerInfo *root;
	RelOptInfo *rel;
	Index		relid;
	int			nparts;			/* rel->nparts, as PostgreSQL has set it */
	List	   *indexes;		/* IndexOptInfos of the parent's bf indexes, which stand for those of its partitions */
	Bitmapset  *columns;		/* which conditions name, as numbered by pull_varattnos() */
	bool		prepared;
	PartitionScanParts *parts;	/* NULL: the table is expanded late, or its conditions contradict each other */
	bool		is_empty;		/* they do */
	List	   *asked;			/* conditions of the table alone that indexes are asked about */
	double		asked_rows;		/* how many rows satisfy these */
	Sort	   *sort;			/* as PARTITION_SCAN_SORT, if the partitions follow the order that the query wants */
	bool		backward;
	List	   *outer;			/* Relids: sets of other tables whose values give conditions to ask about */
} PartitionScanChoice;

/*
 * Sets choice->sort and choice->backward if ORDER BY follows the partition key: the partitions are sorted one after the
 * other, in the order of their bounds.
 */
extern void partition_scan_find_order(PartitionScanChoice *choice);

extern void partition_scan_add_paths(PartitionScanChoice *choice);

/*
 * The cost of reading the pages that may hold so many rows, and of testing the rows there, which costs so much for
 * each.
 */
extern Cost partition_scan_reading_cost(const PartitionScanParts *parts, double rows, Cost per_row);

/* Expands the table as PostgreSQL would have done before, and makes its paths. */
extern void partition_scan_expand(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);

/* Makes the plan of a path, which has its choice and the conditions to ask about (type: PlanCustomPath). */
extern Plan *partition_scan_make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target_list,
									  List *clauses, List *children);

/* Called once, when the library is loaded. */
extern void partition_scan_init(void);

/* -------------------------------------------------------------------------------- execution */

/* A partition that is being read. */
typedef struct PartitionReader
{
	Relation	partition;		/* NULL: none is being read */
	BfSpans		left;			/* the pages that are read, unless by an index */
	uint32		next;			/* the number of the span that is begun next */
	TableScanDesc scan;
	Relation	index;			/* a B-tree index */
	IndexScanDesc index_scan;	/* NULL: `scan` is used */
	TupleTableSlot *slot;
	AttrMap    *map;			/* for each column of the parent, the partition's; NULL: they are the same */
} PartitionReader;

typedef struct PartitionScanState
{
	CustomScanState css;
	int			count;			/* of leaf partitions */
	int			first_entry;	/* the number of the first one's entry in the statement's range table */
	bool		backward;
	Sort	   *sort;
	ChunkAsking asking;
	List	   *searches;
	ChunkQuestion comparisons;	/* all custom_exprs */
	ChunkQuestion question;		/* those that are asked about: the first parts of `comparisons` */
	ChunkHashed hashed;
	Bitmapset  *parameters;		/* those on which the questions and pruning depend */
	PartitionPruneState *pruning;
	int		   *subplans;		/* numbers of the partitions that early pruning has left, in this order */
	int			subplan_count;

	MemoryContext context;		/* for what lives as long as the answers */
	MemoryContext reading;		/* for what lives as long as a partition is read */
	CommandId	command;		/* of the transaction when the execution began */
	Bitmapset  *changed;		/* the partitions that the transaction had changed before */
	bool		decided;		/* it is known what is read: */
	int		   *read;			/* numbers of the partitions */
	int			read_count;
	int			next;			/* index in read[] */
	bool		all_open;
	PartitionReader reader;
	bool		found;			/* the partition that is being read had a row */
	Tuplesortstate *sorter;
	TupleTableSlot *sorted;

	/* for EXPLAIN */
	int64		pruned;
	int64		asked;
	int64		skipped;
	int64		read_total;
	int64		in_vain;
	int64		because[CHUNK_REASONS];
} PartitionScanState;

/* The OID of partition number `at`. */
extern Oid	partition_scan_oid(const PartitionScanState *state, int at);

/* Begins to read a partition that is open. */
extern void partition_reader_begin(PartitionScanState *state, Relation partition);

/* Returns the next row, in the parent's layout, or NULL. */
extern TupleTableSlot *partition_reader_next(PartitionScanState *state);

extern void partition_reader_end(PartitionScanState *state);

extern const CustomScanMethods partition_scan_methods;

#endif
