/*
 * chunk_read.c: reads those chunks of a scan that may hold rows which match: one chunk after the other, and row by
 * row.
 *
 * Each chunk has a query and a plan of its own: SELECT columns FROM chunk WHERE comparison AND conditions (FROM ONLY,
 * if it has children). The comparison is the one that the scan is about, "column operator item" (ChunkScan.clause). The
 * conditions are further ones of the calling query. Either may be missing. So each chunk is read by the plan that suits
 * it best, and its columns come out in the parent's order.
 *
 * The rows are those of the same SELECT on the parent. The snapshot is the active one of the calling query. The
 * privileges on the parent count, not those on the chunk. The chunks that are read are locked as by the SELECT, and
 * get the same predicate locks.
 */
#include "chunks/chunk_scan.h"

#include "access/attmap.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "jit/jit.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteManip.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* ------------------------------------------------------------ NOT NULL, from PostgreSQL 17 on */

/*
 * From PostgreSQL 17 on the planner takes `column IS NULL` for false if the column is NOT NULL, whatever
 * constraint_exclusion says. While the query of a chunk is planned this variable is false, and the hooks below hide
 * from the planner which columns are NOT NULL.
 */
static bool concludes_from_not_null = true;

#if PG_VERSION_NUM >= 190000
/*
 * PostgreSQL 19 keeps the set of NOT NULL columns of each table in a hash table of the statement. It fills the hash
 * table when planning begins, and does not replace sets that are there already. So the hook has PostgreSQL make the
 * sets of the query's tables, and then takes the columns out of each set. An empty Bitmapset would be a NULL pointer,
 * so number 0 is put into the set instead. It stands for the whole row, which the queries of chunks do not use.
 */
static planner_setup_hook_type previous_planner_setup;

static void
hide_not_null(PlannerGlobal *glob, Query *parse, const char *query_string, int cursor_options, double *tuple_fraction,
			  ExplainState *es)
{
	if (previous_planner_setup)
		previous_planner_setup(glob, parse, query_string, cursor_options, tuple_fraction, es);
	if (!concludes_from_not_null)
	{
		PlannerInfo root = {.type = T_PlannerInfo, .glob = glob, .parse = parse};
		ListCell   *cell;

		foreach(cell, parse->rtable)
		{
			const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);
			Relation	table;
			Bitmapset  *columns;

			if (rte->rtekind != RTE_RELATION)
				continue;
			table = table_open(rte->relid, NoLock);
			get_relation_notnullatts(&root, table);
			table_close(table, NoLock);
			columns = find_relation_notnullatts(&root, rte->relid);
			if (columns != NULL)
			{
				columns->nwords = 1;
				columns->words[0] = 1;
			}
		}
	}
}

void
chunk_read_init(void)
{
	previous_planner_setup = planner_setup_hook;
	planner_setup_hook = hide_not_null;
}
#elif PG_VERSION_NUM >= 170000
static get_relation_info_hook_type previous_get_relation_info;

static void
hide_not_null(PlannerInfo *root, Oid relation, bool inhparent, RelOptInfo *rel)
{
	if (previous_get_relation_info)
		previous_get_relation_info(root, relation, inhparent, rel);
	if (!concludes_from_not_null)
		rel->notnullattnums = NULL;
}

void
chunk_read_init(void)
{
	previous_get_relation_info = get_relation_info_hook;
	get_relation_info_hook = hide_not_null;
}
#else
void
chunk_read_init(void)
{
}
#endif

/* --------------------------------------------------------------- the query of a chunk */

List *
chunk_all_columns(Relation parent)
{
	List	   *columns = NIL;

	for (int i = 0; i < RelationGetDescr(parent)->natts; i++)
		columns = lappend_int(columns, i + 1);
	return columns;
}

/* Returns a Var for a column of the parent; for a column that was dropped, a NULL of the type that RowExpr wants. */
static Expr *
make_column(TupleDesc columns, int number)
{
	Form_pg_attribute column;

	if (number == TableOidAttributeNumber)
		return (Expr *) makeVar(1, number, OIDOID, -1, InvalidOid, 0);
	column = TupleDescAttr(columns, number - 1);
	if (column->attisdropped)
		return (Expr *) makeNullConst(INT4OID, -1, InvalidOid);
	return (Expr *) makeVar(1, number, column->atttypid, column->atttypmod, column->attcollation, 0);
}

/*
 * The whole row, as a value of the parent's row type. It is put together from the columns, because the row of a chunk
 * has another type.
 */
static Expr *
make_whole_row(Relation parent)
{
	TupleDesc	columns = RelationGetDescr(parent);
	RowExpr    *row = makeNode(RowExpr);

	for (int i = 0; i < columns->natts; i++)
	{
		row->args = lappend(row->args, make_column(columns, i + 1));
		row->colnames = lappend(row->colnames, makeString(pstrdup(NameStr(TupleDescAttr(columns, i)->attname))));
	}
	row->row_typeid = parent->rd_rel->reltype;
	row->row_format = COERCE_IMPLICIT_CAST;
	row->location = -1;
	return (Expr *) row;
}

/*
 * Makes the query SELECT columns FROM parent WHERE clause AND conditions. It is copied and adapted for each chunk.
 *
 * For chunk_scan(), if there are conditions, the clause becomes a security qual. So a condition that is not leakproof
 * is tested only for rows that satisfy the clause. Without this, a condition could raise an error for a row that
 * chunk_scan() does not return. For the node PartitionScan the clause is a condition like the others, because in a
 * plain query PostgreSQL may test the conditions in any order.
 */
static Query *
make_query(ChunkReader *reader)
{
	const ChunkScan *scan = reader->scan;
	ParseState *pstate = make_parsestate(NULL);
	RangeTblEntry *rte = addRangeTableEntryForRelation(pstate, scan->parent, AccessShareLock, NULL, false, true)->p_rte;
	RangeTblRef *from = makeNode(RangeTblRef);
	List	   *conditions = reader->conditions != NULL ?
		reader->conditions(reader->argument, &reader->parameters) : NIL;
	Query	   *query = makeNode(Query);
	ListCell   *cell;

#if PG_VERSION_NUM >= 160000
	query->rteperminfos = pstate->p_rteperminfos;
	linitial_node(RTEPermissionInfo, query->rteperminfos)->checkAsUser = reader->user;
#else
	rte->checkAsUser = reader->user;
#endif
	from->rtindex = 1;
	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->rtable = list_make1(rte);
	query->jointree = makeFromExpr(list_make1(from), NULL);
	if (scan->unasked)
		query->jointree->quals = conditions != NIL ? (Node *) make_ands_explicit(conditions) : NULL;
	else if (conditions == NIL || scan->locked_before)
		query->jointree->quals = (Node *) make_ands_explicit(lcons(copyObject(scan->clause), conditions));
	else
	{
		rte->securityQuals = list_make1(scan->clause);
		query->jointree->quals = (Node *) make_ands_explicit(conditions);
	}
	foreach(cell, reader->columns)
	{
		int			number = lfirst_int(cell);
		Expr	   *value = number == 0 ? make_whole_row(scan->parent) :
			make_column(RelationGetDescr(scan->parent), number);

		query->targetList = lappend(query->targetList,
									makeTargetEntry(value, foreach_current_index(cell) + 1, pstrdup("column"), false));
	}
	free_parsestate(pstate);
#if PG_VERSION_NUM >= 180000
	/* A chunk may compute a virtual generated column otherwise. As in a SELECT, the parent's expression counts. */
	query->targetList = (List *) expand_generated_columns_in_expr((Node *) query->targetList, scan->parent, 1);
	query->jointree->quals = expand_generated_columns_in_expr(query->jointree->quals, scan->parent, 1);
	rte->securityQuals = (List *) expand_generated_columns_in_expr((Node *) rte->securityQuals, scan->parent, 1);
#endif
	return query;
}

/*
 * Plans a query without conclusions from CHECK, NOT NULL and partition constraints. The constraints are those of now,
 * but the snapshot is older. A row that the snapshot sees need not satisfy a constraint that was validated since, nor
 * the constraint that a default partition got when another partition was attached.
 */
static PlannedStmt *
plan_without_constraints(Query *query)
{
	int			caller = constraint_exclusion;
	bool		caller_concludes = concludes_from_not_null;
	PlannedStmt *statement;

	constraint_exclusion = CONSTRAINT_EXCLUSION_OFF;
	concludes_from_not_null = false;
	PG_TRY();
	{
		statement = sb_plan_query(query, "chunk_scan", 0, NULL);
	}
	PG_FINALLY();
	{
		constraint_exclusion = caller;
		concludes_from_not_null = caller_concludes;
	}
	PG_END_TRY();
	/* JIT must not compile code that takes rows apart, because this code relies on NOT NULL constraints. */
	statement->jitFlags &= ~PGJIT_DEFORM;
	return statement;
}

/*
 * Plans the query of a chunk. The plan checks no privileges: those of the parent were checked already, and those of the
 * chunk do not count.
 */
static PlannedStmt *
plan_query(Query *query, Oid chunk)
{
#if PG_VERSION_NUM >= 160000
	PlannedStmt *statement;
	ListCell   *cell;

	/*
	 * The planner needs permission infos. They are removed from the finished plan, because the executor would check
	 * them.
	 */
	linitial_node(RTEPermissionInfo, query->rteperminfos)->relid = chunk;
	statement = plan_without_constraints(query);
	foreach(cell, statement->rtable)
		lfirst_node(RangeTblEntry, cell)->perminfoindex = 0;
	statement->permInfos = NIL;
	return statement;
#else
	(void) chunk;
	linitial_node(RangeTblEntry, query->rtable)->requiredPerms = 0;
	return plan_without_constraints(query);
#endif
}

/* -------------------------------------------------------------------- one chunk */

#if PG_VERSION_NUM >= 190000
/*
 * From PostgreSQL 19 on a scan does not look for NULL in the first columns of a row if they are NOT NULL. This
 * function makes the scans of a chunk's query look for it. (It is a walker for planstate_tree_walker().)
 */
static bool
look_for_null(PlanState *node, void *nothing)
{
	if (IsA(node, SeqScanState) || IsA(node, IndexScanState) || IsA(node, BitmapHeapScanState) ||
		IsA(node, TidScanState) || IsA(node, TidRangeScanState))
	{
		TupleTableSlot *slot = ((ScanState *) node)->ss_ScanTupleSlot;

		slot->tts_flags &= ~TTS_FLAG_OBEYS_NOT_NULL_CONSTRAINTS;
		slot->tts_first_nonguaranteed = 0;
	}
	return planstate_tree_walker(node, look_for_null, nothing);
}
#endif

/* Begins to read the chunk. REQUIRES: the current memory context is the scan's chunk_context. */
static void
begin_chunk(ChunkReader *reader)
{
	Relation	chunk = reader->chunk;
	Relation	parent = reader->scan->parent;
	Query	   *query = copyObject(reader->query);
	RangeTblEntry *rte = linitial_node(RangeTblEntry, query->rtable);
	AttrMap    *map = sb_build_attrmap_by_name_if_req(RelationGetDescr(chunk), RelationGetDescr(parent));
	PlannedStmt *plan;

	rte->relid = RelationGetRelid(chunk);
	rte->relkind = chunk->rd_rel->relkind;

	/*
	 * Children of the chunk are chunks of their own. So if it may have some, the query has ONLY. If it has none, the
	 * query has no ONLY, because ONLY might make another extension leave rows out.
	 */
	rte->inh = !chunk->rd_rel->relhassubclass;
	rte->eref = makeAlias(RelationGetRelationName(chunk), rte->eref->colnames);
	if (map != NULL)
	{
		bool		whole_row;

		query->targetList = (List *) map_variable_attnos((Node *) query->targetList, 1, 0, map, InvalidOid, &whole_row);
		query->jointree->quals = map_variable_attnos(query->jointree->quals, 1, 0, map, InvalidOid, &whole_row);
		rte->securityQuals = (List *) map_variable_attnos((Node *) rte->securityQuals, 1, 0, map, InvalidOid,
														  &whole_row);
	}
	plan = plan_query(query, RelationGetRelid(chunk));
	if (rte->inh && has_subclass(RelationGetRelid(chunk)))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not read \"%s\" because a child was attached to it", RelationGetRelationName(chunk)),
				 errhint("Try the query again.")));
	reader->running = CreateQueryDesc(plan, "chunk_scan", GetActiveSnapshot(), InvalidSnapshot, None_Receiver,
									  reader->parameters, NULL, 0);
	ExecutorStart(reader->running, 0);
#if PG_VERSION_NUM >= 190000
	(void) look_for_null(reader->running->planstate, NULL);
#endif
}

/*
 * Returns the next row of the chunk's query, or NULL. The plan is called directly. ExecutorRun() would have to be
 * called for every row, and does much else in each call.
 */
static TupleTableSlot *
next_row(QueryDesc *running)
{
	EState	   *estate = running->estate;
	MemoryContext caller = MemoryContextSwitchTo(estate->es_query_cxt);
	TupleTableSlot *row;

	ResetPerTupleExprContext(estate);
	row = ExecProcNode(running->planstate);
	MemoryContextSwitchTo(caller);
	return TupIsNull(row) ? NULL : row;
}

static void
end_chunk(ChunkReader *reader)
{
	QueryDesc  *running = reader->running;
	Relation	chunk = reader->chunk;

	reader->running = NULL;
	reader->chunk = NULL;
	if (running != NULL)
	{
		ExecutorFinish(running);
		ExecutorEnd(running);
		FreeQueryDesc(running);
	}
	chunk_leave(reader->scan, chunk, &reader->verdict);
}

/* ------------------------------------------------------------------- all chunks */

TupleTableSlot *
chunk_read_next(ChunkReader *reader)
{
	ChunkScan  *scan = reader->scan;

	if (scan->clause == NULL && !scan->unasked)
		return NULL;
	for (;;)
	{
		MemoryContext caller;

		if (reader->running != NULL)
		{
			TupleTableSlot *row = next_row(reader->running);

			if (row != NULL)
			{
				reader->found = true;
				return row;
			}
			scan->counts.read_in_vain += !reader->found;
			end_chunk(reader);
		}
		reader->chunk = chunk_next(scan, &reader->verdict);
		if (reader->chunk == NULL)
			return NULL;
		if (!chunk_is_read(&reader->verdict))
		{
			end_chunk(reader);
			continue;
		}
		scan->counts.read++;
		reader->found = false;
		if (reader->query == NULL)
		{
			caller = MemoryContextSwitchTo(scan->query_context);
			reader->query = make_query(reader);
			MemoryContextSwitchTo(caller);
		}
		caller = MemoryContextSwitchTo(scan->chunk_context);
		begin_chunk(reader);
		MemoryContextSwitchTo(caller);
	}
}

void
chunk_read_stop(ChunkReader *reader)
{
	if (reader->chunk != NULL)
		end_chunk(reader);
	reader->query = NULL;
	reader->parameters = NULL;
	MemoryContextReset(reader->scan->query_context);
	chunk_first(reader->scan);
}
