/*
 * skip.h: the node Skip. It stands directly above the scan of one table (a partition, an inheritance child, a table by
 * itself). Before the first row of each scan it asks the table's `bf` indexes, and gives a verdict: no row can match,
 * only some pages can hold one, or all must be read. It is made as a path, so the planner decides with it, and nothing
 * is put into finished plans. README.md in this folder draws the flow and proves that no row is lost.
 *
 *   skip_paths.c     makes the paths above the planner's paths of a table, and their plans
 *   skip_exec.c      runs the node
 *   skip_ask.c       asks the indexes
 *   skip_explain.c   says what was asked, and what it gained
 */
#ifndef STREAMBLOOM_PG_SKIP_H
#define STREAMBLOOM_PG_SKIP_H

#include "base/compat.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

#include "chunks/array_hash.h"
#include "chunks/ask.h"

/* streambloom.enable_skip: the nodes Skip and JoinKeys. Plans that are kept only pass rows on while it is off. */
extern bool skip_enabled;

/* Is called when the library is loaded. */
extern void skip_init(void);

/* ------------------------------------------------------------------- paths and plans */

/*
 * In the CustomScan custom_exprs are the conditions that indexes are asked about, and custom_private has these lists. A
 * path has them in custom_private, too.
 */
enum SkipPrivate
{
	SKIP_INDEXES,				/* OIDs of the indexes that can answer the conditions */
	/*
	 * The keys of hash joins about which indexes are asked. In the path each is a SkipJoinKey; in the plan four
	 * integers: the index, its column, the parameter of the JoinKeys, the number of its set.
	 */
	SKIP_JOINS,
	SKIP_PARENT,				/* one integer: what is added to the table's number is its topmost parent's; 0: none */
	SKIP_CONDITIONS				/* of the path only */
};

extern const CustomScanMethods skip_scan_methods;

/* Puts Skips above the paths of a table that indexes can be asked about. Called by set_rel_pathlist_hook. */
extern void skip_add_paths(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte);

/* ------------------------------------------------------------------------- execution */

typedef enum SkipVerdict
{
	SKIP_NONE,
	SKIP_SOME,
	SKIP_ALL,
	SKIP_VERDICTS				/* the number of verdicts */
} SkipVerdict;

/* What an index said about the keys of a join. */
typedef struct SkipJoin
{
	Oid			index;
	AttrNumber	column;
	int			parameter;		/* of the JoinKeys */
	int			set;
	uint64		collection;		/* JoinKeys.collection when the index was asked; 0: it was not */
	bool		answered;
	BfSpans		spans;			/* the pages that are left, if it has answered */
} SkipJoin;

typedef struct SkipState
{
	CustomScanState css;
	int			eflags;
	int			parent;			/* number of the topmost parent in the executor's range table; 0: none */
	bool		by_pages;		/* SKIP_SOME is possible: a sequential scan of a heap that only goes forward */
	ChunkAsking asking;			/* its node is NULL as long as nothing was asked */
	ChunkQuestion question;
	int			join_count;
	SkipJoin   *joins;

	Bitmapset  *parameters;		/* on which the conditions depend */

	/* the scan that is running */
	bool		decided;
	bool		kept;			/* the verdict is that of the scan before: its values are the same */
	SkipVerdict verdict;
	BfSpans		left;			/* the pages of SKIP_SOME */
	uint32		next;			/* the number of the span that is begun next */
	bool		limited;		/* the scan below was limited; after a rescan it begins at its last span */
	ChunkHashed hashed;
	ExecProcNodeMtd own;		/* the node's function while rows are passed on without it; otherwise NULL */

	/* for EXPLAIN ANALYZE */
	int64		scans[SKIP_VERDICTS];
	int64		pages;			/* of the scans of SKIP_SOME together, and those that were left */
	int64		pages_left;
	ChunkVerdict why;			/* why the last scan was not skipped */
} SkipState;

/*
 * Gives the verdict of the scan that begins. For SKIP_SOME, state->left has the pages that may hold a row. Under
 * EvalPlanQual it is SKIP_ALL: a row is looked at again that is newer than the snapshot, of which alone the indexes
 * tell.
 */
extern SkipVerdict skip_ask(SkipState *state);

/* What the Skips of one execution share. */
typedef struct SkipShared
{
	const EState *estate;
	struct SkipShared *next;
	MemoryContextCallback forget;
	List	   *nodes;			/* all SkipStates, if figures are collected for EXPLAIN ANALYZE */
	List	   *searches;		/* ChunkAsking.searches */
	int64		hashed;			/* how many elements of arrays are tested by hash */
} SkipShared;

extern SkipShared *skip_shared_of(EState *estate);

extern void skip_explain(CustomScanState *node, List *ancestors, struct ExplainState *es);

#endif
