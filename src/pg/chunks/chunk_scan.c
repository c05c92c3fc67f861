/*
 * chunk_scan.c: chunk_scan() and its variants return the rows of a relation that have a value in a column, and read
 * only those of its chunks that may hold such rows. A chunk is a leaf partition, an inheritance child, or the relation
 * itself.
 *
 * The result is that of SELECT * FROM relation WHERE column = value, under the same snapshot (the active one of the
 * calling query) and with the same privileges (the parent's), locks and predicate locks. A chunk is left out only if a
 * summary table that the caller names, or one of the chunk's bf indexes, says for certain that it has no such row.
 * Each of the other chunks is planned by itself, as SELECT ... FROM chunk (ONLY, if it has children). So each is read
 * in the way that suits it best, and its columns come out in the parent's order.
 *
 * The relations are locked after the snapshot was taken, so each of them is compared with what the snapshot sees
 * (chunk_snapshot.h). For an index this is not needed. One that was built after the snapshot was taken has the rows
 * that the snapshot sees as well; where it may lack some, indcheckxmin, its horizon, or the wait of CREATE INDEX
 * CONCURRENTLY for older snapshots keeps it from being used.
 */
#include "chunks/chunk_scan.h"

#include "access/attmap.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/tstoreReceiver.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "partitioning/partdesc.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteManip.h"
#include "storage/predicate.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "chunks/chunk_snapshot.h"

/* Whether a chunk is read, and why. */
typedef struct Verdict
{
	bool		is_read;
	const char *because;		/* only chunk_scan_explain() uses it */
} Verdict;

/* ---------------------------------------------------------------- verdicts */

/* Asks the chunk's bf indexes. */
static Verdict
ask_indexes(ChunkScan *scan, Relation chunk)
{
	TupleDesc	columns = RelationGetDescr(chunk);
	Verdict		verdict = {true, NULL};
	Oid			index;

	if (chunk->rd_rel->relkind != RELKIND_RELATION && chunk->rd_rel->relkind != RELKIND_MATVIEW)
		return verdict;

	/* The clause has to name the chunk's column. In most chunks it has the same number as in the parent. */
	if (scan->column > columns->natts ||
		strcmp(NameStr(TupleDescAttr(columns, scan->column - 1)->attname), scan->column_name) != 0)
		scan->var->varattno = get_attnum(RelationGetRelid(chunk), scan->column_name);
	verdict.is_read = chunk_may_match_clause(chunk, &scan->index_clause, GetActiveSnapshot(), &index);
	scan->var->varattno = scan->column;
	if (OidIsValid(index) && scan->explains)
		verdict.because = psprintf("bf index \"%s\" %s", get_rel_name(index),
								   verdict.is_read ? "does not say no" : "says no");
	return verdict;
}

/* May the chunk hold a row that matches? */
static Verdict
judge(ChunkScan *scan, Relation chunk)
{
	Oid			oid = RelationGetRelid(chunk);
	Verdict		verdict;

	if (chunk_summary_says_no(&scan->summaries, oid))
	{
		/* The predicate lock that a SELECT which finds nothing in the chunk would take. */
		if (!scan->explains && RELKIND_HAS_STORAGE(chunk->rd_rel->relkind))
			PredicateLockRelation(chunk, GetActiveSnapshot());
		return (Verdict) {false, "its summary says no"};
	}
	verdict = ask_indexes(scan, chunk);
	if (verdict.because == NULL)
		verdict.because = !OidIsValid(scan->summary_table) ? "no bf index" :
			chunk_has_summary(&scan->summaries, oid) ? "its summary does not say no" : "no summary";
	return verdict;
}

/* ------------------------------------------------------------------ reading */

/* SELECT all columns FROM parent WHERE clause. It is copied and adapted for each chunk. */
static Query *
make_query(const ChunkScan *scan)
{
	ParseState *pstate = make_parsestate(NULL);
	RangeTblEntry *rte = addRangeTableEntryForRelation(pstate, scan->parent, AccessShareLock, NULL, false, true)->p_rte;
	RangeTblRef *from = makeNode(RangeTblRef);
	TupleDesc	columns = RelationGetDescr(scan->parent);
	Query	   *query = makeNode(Query);

#if PG_VERSION_NUM >= 160000
	query->rteperminfos = pstate->p_rteperminfos;
#endif
	from->rtindex = 1;
	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->rtable = list_make1(rte);
	query->jointree = makeFromExpr(list_make1(from), (Node *) scan->clause);
	for (int i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);
		Expr	   *value;

		if (column->attisdropped)
			value = (Expr *) makeNullConst(INT4OID, -1, InvalidOid);
		else
			value = (Expr *) makeVar(1, i + 1, column->atttypid, column->atttypmod, column->attcollation, 0);
		query->targetList = lappend(query->targetList,
									makeTargetEntry(value, i + 1, pstrdup(NameStr(column->attname)), false));
	}
	free_parsestate(pstate);
#if PG_VERSION_NUM >= 180000
	/* A chunk may have another expression for a virtual column. As in a SELECT, the expression of the parent counts. */
	query->targetList = (List *) expand_generated_columns_in_expr((Node *) query->targetList, scan->parent, 1);
	query->jointree->quals = expand_generated_columns_in_expr(query->jointree->quals, scan->parent, 1);
#endif
	return query;
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
	 * The planner needs permission infos; they are taken from the finished plan, because the executor would check
	 * them.
	 */
	linitial_node(RTEPermissionInfo, query->rteperminfos)->relid = chunk;
	statement = pg_plan_query(query, "chunk_scan", 0, NULL);
	foreach(cell, statement->rtable)
		lfirst_node(RangeTblEntry, cell)->perminfoindex = 0;
	statement->permInfos = NIL;
	return statement;
#else
	(void) chunk;
	linitial_node(RangeTblEntry, query->rtable)->requiredPerms = 0;
	return pg_plan_query(query, "chunk_scan", 0, NULL);
#endif
}

/* Reads one chunk's rows into the result. */
static void
read_chunk(const ChunkScan *scan, Query *parent_query, Relation chunk, DestReceiver *receiver)
{
	Query	   *query = copyObject(parent_query);
	RangeTblEntry *rte = linitial_node(RangeTblEntry, query->rtable);
	AttrMap    *map = sb_build_attrmap_by_name_if_req(RelationGetDescr(chunk), RelationGetDescr(scan->parent));
	PlannedStmt *plan;
	QueryDesc  *running;

	rte->relid = RelationGetRelid(chunk);
	rte->relkind = chunk->rd_rel->relkind;

	/*
	 * Children of the chunk are chunks of their own. So if there are any, the query has ONLY. Otherwise it does not,
	 * because ONLY might make another extension leave rows out.
	 */
	rte->inh = !chunk->rd_rel->relhassubclass;
	rte->eref = makeAlias(RelationGetRelationName(chunk), rte->eref->colnames);
	if (map != NULL)
	{
		bool		whole_row;

		query->targetList = (List *) map_variable_attnos((Node *) query->targetList, 1, 0, map, InvalidOid, &whole_row);
		query->jointree->quals = map_variable_attnos(query->jointree->quals, 1, 0, map, InvalidOid, &whole_row);
	}
	plan = plan_query(query, rte->relid);
	if (rte->inh && has_subclass(rte->relid))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not read \"%s\" because a child was attached to it", RelationGetRelationName(chunk)),
				 errhint("Try the query again.")));
	running = CreateQueryDesc(plan, "chunk_scan", GetActiveSnapshot(), InvalidSnapshot,
							  receiver, NULL, NULL, 0);
	ExecutorStart(running, 0);
	sb_executor_run(running);
	ExecutorFinish(running);
	ExecutorEnd(running);
	FreeQueryDesc(running);
}

/* ------------------------------------------------------------------ all chunks */

/* What to do with a chunk. `relation` is open and locked if the chunk is to be read; otherwise it may be NULL. */
typedef void (*ChunkVisitor) (ChunkScan *scan, Oid chunk, Relation relation, Verdict verdict, void *argument);

/* Judges a chunk that is open and locked, and frees the memory that this took. */
static Verdict
judge_chunk(ChunkScan *scan, Relation chunk)
{
	MemoryContext caller = MemoryContextSwitchTo(scan->chunk_context);
	Verdict		verdict = {false, "nothing equals NULL"};

	CHECK_FOR_INTERRUPTS();
	chunk_require_own_rows(scan->engines, chunk);
	chunk_require_readable(chunk);
	if (scan->clause != NULL)
		verdict = judge(scan, chunk);
	MemoryContextSwitchTo(caller);
	if (scan->explains)
		verdict.because = pstrdup(verdict.because);
	MemoryContextReset(scan->chunk_context);
	return verdict;
}

/* Calls visit() for one chunk, and frees the memory that this took. */
static void
visit_chunk(ChunkScan *scan, Relation chunk, Verdict verdict, ChunkVisitor visit, void *argument)
{
	MemoryContext caller = MemoryContextSwitchTo(scan->chunk_context);

	visit(scan, RelationGetRelid(chunk), chunk, verdict, argument);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(scan->chunk_context);
}

/*
 * Adds all leaf partitions of a partitioned table, which is open and locked, to the list. They come from the relation
 * cache; it is an error if they are not those that the snapshot sees.
 */
static List *
leaf_partitions(Relation parent, List *leaves)
{
	PartitionDesc partitions = RelationGetPartitionDesc(parent, true);
	int			count = partitions->nparts;
	Oid		   *oids = memcpy(palloc(count * sizeof(Oid) + 1), partitions->oids, count * sizeof(Oid));
	bool	   *is_leaf = memcpy(palloc(count * sizeof(bool) + 1), partitions->is_leaf, count * sizeof(bool));

	check_stack_depth();
	chunk_require_children(parent, oids, count, GetActiveSnapshot());
	for (int i = 0; i < count; i++)
		if (is_leaf[i])
			leaves = lappend_oid(leaves, oids[i]);
		else
		{
			Relation	partition = chunk_try_open(oids[i]);

			if (partition == NULL)
				chunk_report_gone(parent);
			leaves = leaf_partitions(partition, leaves);
			relation_close(partition, NoLock);
		}
	return leaves;
}

/* Locks and opens a partition. Raises an error if its storage is not the one that the snapshot sees. */
static Relation
open_partition(ChunkScan *scan, Oid oid)
{
	Relation	chunk = chunk_try_open(oid);

	if (chunk == NULL)
		chunk_report_gone(scan->parent);
	if (scan->clause != NULL)
		chunk_require_storage(chunk, GetActiveSnapshot());
	return chunk;
}

/*
 * The order in which this session has judged partitions last. Every other call judges them from the last to the first.
 * If there are more partitions than files can be open (max_files_per_process), the files of the partitions that were
 * judged last are still open, and this order uses them before they are closed. With 3,000 partitions and 1,000 files a
 * call takes a fifth less time. The order has no other effect.
 */
static bool judged_backwards = false;

/* Judges all leaf partitions, and sets verdicts[]. */
static void
judge_partitions(ChunkScan *scan, List *leaves, Verdict *verdicts)
{
	int			count = list_length(leaves);

	judged_backwards = !judged_backwards;
	for (int i = 0; i < count; i++)
	{
		int			number = judged_backwards ? count - 1 - i : i;
		Relation	chunk = open_partition(scan, list_nth_oid(leaves, number));

		verdicts[number] = judge_chunk(scan, chunk);
		relation_close(chunk, AccessShareLock);
	}
}

/*
 * Judges all leaf partitions, and then visits every one of them: those that are to be read open and locked, the others
 * by OID only.
 *
 * A partition that is not read need not stay locked: the verdict holds for the snapshot, whatever becomes of the
 * partition. So with thousands of partitions the table of locks does not fill up, and DDL does not wait. A partition
 * that is judged, but not yet read, need not be locked either. It cannot be detached or dropped while the parent is
 * locked. But it can be truncated, so its storage is checked again before it is read.
 */
static void
visit_partitions(ChunkScan *scan, ChunkVisitor visit, void *argument)
{
	List	   *leaves = leaf_partitions(scan->parent, NIL);
	int			count = list_length(leaves);
	Verdict    *verdicts = palloc0(count * sizeof(Verdict) + 1);

	judge_partitions(scan, leaves, verdicts);
	for (int i = 0; i < count; i++)
	{
		Oid			oid = list_nth_oid(leaves, i);

		if (verdicts[i].is_read)
		{
			Relation	chunk = open_partition(scan, oid);

			visit_chunk(scan, chunk, verdicts[i], visit, argument);
			relation_close(chunk, NoLock);
		}
		else
			visit(scan, oid, NULL, verdicts[i], argument);
	}
}

/*
 * Visits the table itself and its inheritance children. Children stay locked, because they can be dropped without a
 * lock on the parent.
 */
static void
visit_children(ChunkScan *scan, ChunkVisitor visit, void *argument)
{
	List	   *relations = chunk_lock_tree(scan->parent, GetActiveSnapshot());
	ListCell   *cell;

	foreach(cell, relations)
	{
		Relation	chunk = relation_open(lfirst_oid(cell), NoLock);

		/* The temporary tables of other sessions cannot be read, and partitioned tables have no rows of their own. */
		if (!RELATION_IS_OTHER_TEMP(chunk) && chunk->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
			visit_chunk(scan, chunk, judge_chunk(scan, chunk), visit, argument);
		relation_close(chunk, NoLock);
	}
}

/* Calls visit() for all chunks. */
static void
visit_chunks(ChunkScan *scan, ChunkVisitor visit, void *argument)
{
	scan->chunk_context = AllocSetContextCreate(CurrentMemoryContext, "chunk_scan", ALLOCSET_DEFAULT_SIZES);
	if (scan->parent->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		visit_partitions(scan, visit, argument);
	else
		visit_children(scan, visit, argument);
	MemoryContextDelete(scan->chunk_context);
}

/* ------------------------------------------------------------- the SQL functions */

/* The argument of read_if_needed(). */
typedef struct Reading
{
	Query	   *query;
	DestReceiver *receiver;
} Reading;

static void
read_if_needed(ChunkScan *scan, Oid chunk, Relation relation, Verdict verdict, void *argument)
{
	Reading    *reading = argument;

	(void) chunk;
	if (verdict.is_read)
		read_chunk(scan, reading->query, relation, reading->receiver);
}

/* Raises an error if the parent's columns were changed after the query was planned and before the parent was locked. */
static void
require_expected_columns(Relation parent, TupleDesc expected)
{
	TupleDesc	columns = RelationGetDescr(parent);
	bool		same = expected == NULL || expected->natts == columns->natts;

	for (int i = 0; same && expected != NULL && i < columns->natts; i++)
		same = TupleDescAttr(expected, i)->attisdropped ||
			TupleDescAttr(expected, i)->atttypid == TupleDescAttr(columns, i)->atttypid;
	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not scan the chunks of \"%s\" because its columns were changed after the query was planned",
						RelationGetRelationName(parent)),
				 errhint("Try the query again.")));
}

static Datum
scan_chunks(FunctionCallInfo fcinfo, bool any)
{
	ReturnSetInfo *set = (ReturnSetInfo *) fcinfo->resultinfo;
	ChunkScan	scan;
	Reading		reading;

	chunk_scan_begin(&scan, fcinfo, any);
	InitMaterializedSRF(fcinfo, 0); /* the parent is locked, so its row type does not change any more */
	require_expected_columns(scan.parent, set->expectedDesc);
	if (scan.clause != NULL)
	{
		reading.query = make_query(&scan);
		reading.receiver = CreateTuplestoreDestReceiver();
		SetTuplestoreDestReceiverParams(reading.receiver, set->setResult, set->econtext->ecxt_per_query_memory, false,
										NULL, NULL);
		visit_chunks(&scan, read_if_needed, &reading);
		reading.receiver->rDestroy(reading.receiver);
	}
	relation_close(scan.parent, NoLock);
	return (Datum) 0;
}

SB_FUNCTION(chunk_scan);
Datum
chunk_scan(PG_FUNCTION_ARGS)
{
	return scan_chunks(fcinfo, false);
}

SB_FUNCTION(chunk_scan_any);
Datum
chunk_scan_any(PG_FUNCTION_ARGS)
{
	return scan_chunks(fcinfo, true);
}

/* Adds a row that says whether a chunk is read, and why. */
static void
add_explanation(ChunkScan *scan, Oid chunk, Relation relation, Verdict verdict, void *argument)
{
	ReturnSetInfo *set = argument;
	Datum		values[3];
	bool		nulls[3] = {false};

	(void) scan;
	(void) relation;
	values[0] = ObjectIdGetDatum(chunk);
	values[1] = BoolGetDatum(verdict.is_read);
	values[2] = CStringGetTextDatum(verdict.because);
	tuplestore_putvalues(set->setResult, set->setDesc, values, nulls);
}

SB_FUNCTION(chunk_scan_explain);
Datum
chunk_scan_explain(PG_FUNCTION_ARGS)
{
	ChunkScan	scan;

	chunk_scan_begin(&scan, fcinfo, false);
	scan.explains = true;
	scan.index_clause.explain_only = true;
	InitMaterializedSRF(fcinfo, 0);
	visit_chunks(&scan, add_explanation, fcinfo->resultinfo);
	relation_close(scan.parent, NoLock);
	return (Datum) 0;
}
