/*
 * chunk_scan.c: chunk_scan() and its kin: the rows of a relation with a value, read from those of its chunks alone that
 * may hold it. A chunk is a partition, an inheritance child, or the relation itself.
 *
 * What is read is what SELECT * FROM relation WHERE column = value would read, under the same snapshot (the active one of
 * the calling query), with the same privileges (the parent's), locks and predicate locks. A chunk is left alone only if
 * what is known of it says for certain that no row with the value is in it: a summary table that the caller names, or a
 * bf index. Each of the others is planned by itself, as SELECT ... FROM ONLY chunk, so that it is read in whichever way
 * serves best, and its columns come out in the parent's order.
 */
#include "chunk_question.h"

#include "access/attmap.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "executor/tstoreReceiver.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_collate.h"
#include "parser/parse_node.h"
#include "parser/parse_oper.h"
#include "parser/parse_relation.h"
#include "partitioning/partdesc.h"
#include "rewrite/rewriteManip.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* One call. */
typedef struct ChunkScan
{
	Relation	parent;
	AttrNumber	column;			/* of the parent */
	const char *column_name;
	bool		any;			/* column = ANY (item), not column = item */
	Expr	   *clause;			/* that, as parsed, on the parent; NULL if the value is, and no row can match */
	Var		   *var;			/* its left side, under casts */
	Const	   *item;			/* its right side, of the type that the operator takes */
	Oid			summaries;		/* the summary table, or InvalidOid */
	List	   *skipped;		/* OIDs of the chunks that it rules out */
	List	   *summarised;		/* those that it knows */
	bool		explains;		/* for chunk_scan_explain() */
	MemoryContext chunk_context;	/* emptied after each chunk */
} ChunkScan;

/* What is known of a chunk. */
typedef struct Verdict
{
	bool		is_read;
	const char *because;
} Verdict;

/* ---------------------------------------------------------------- arguments */

/* The relation whose row type argument 0 has, locked. */
static Relation
open_parent(FunctionCallInfo fcinfo)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 0);
	Oid			relid = OidIsValid(type) ? get_typ_typrelid(type) : InvalidOid;
	Relation	parent;
	AclResult	acl;

	if (!OidIsValid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("the first argument must be of a relation's row type, not of type %s",
						OidIsValid(type) ? format_type_be(type) : "unknown"),
				 errhint("Name the relation as in NULL::access_log.")));
	parent = relation_open(relid, AccessShareLock);
	switch (parent->rd_rel->relkind)
	{
		case RELKIND_RELATION:
		case RELKIND_PARTITIONED_TABLE:
		case RELKIND_FOREIGN_TABLE:
		case RELKIND_MATVIEW:
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("cannot scan the chunks of \"%s\"", RelationGetRelationName(parent)),
					 errdetail_relkind_not_supported(parent->rd_rel->relkind)));
	}

	/* As for a SELECT of all columns: the parent's privileges count, and those of its children do not. */
	acl = pg_class_aclcheck(relid, GetUserId(), ACL_SELECT);
	if (acl != ACLCHECK_OK)
		acl = pg_attribute_aclcheck_all(relid, GetUserId(), ACL_SELECT, ACLMASK_ALL);
	if (acl != ACLCHECK_OK)
		aclcheck_error(acl, get_relkind_objtype(parent->rd_rel->relkind), RelationGetRelationName(parent));
	if (check_enable_rls(relid, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot scan the chunks of \"%s\" under row-level security", RelationGetRelationName(parent)),
				 errdetail("Its policies would not be applied to the rows."),
				 errhint("Use a plain SELECT, which applies them.")));
	return parent;
}

static void
find_column(ChunkScan *scan, FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the column's name must not be null")));
	scan->column_name = NameStr(*PG_GETARG_NAME(1));
	scan->column = get_attnum(RelationGetRelid(scan->parent), scan->column_name);
	if (scan->column == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						scan->column_name, RelationGetRelationName(scan->parent))));
	if (scan->column < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot scan chunks by the system column \"%s\"", scan->column_name)));
}

/* Argument 2, as a constant for the parser: an untyped literal stays one, and becomes of the column's type. */
static Const *
make_item(FunctionCallInfo fcinfo)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 2);
	int16		length;
	bool		by_value;

	if (!OidIsValid(type))
		ereport(ERROR,
				(errcode(ERRCODE_INDETERMINATE_DATATYPE),
				 errmsg("could not determine the type of the value")));
	get_typlenbyval(type, &length, &by_value);
	return makeConst(type, -1, get_typcollation(type), length, PG_GETARG_DATUM(2), false, by_value);
}

/*
 * The comparison, with the operator that SQL would take. What converts the column to compare it is refused: neither a
 * filter of the column's values nor an index on them could answer it.
 */
static void
make_clause(ChunkScan *scan, FunctionCallInfo fcinfo)
{
	Form_pg_attribute column = TupleDescAttr(RelationGetDescr(scan->parent), scan->column - 1);
	ParseState *pstate = make_parsestate(NULL);
	Var		   *var = makeVar(1, scan->column, column->atttypid, column->atttypmod, column->attcollation, 0);
	Const	   *item = make_item(fcinfo);
	Oid			item_type = item->consttype;
	List	   *name = list_make1(makeString("="));
	Node	   *clause;
	List	   *sides;
	Node	   *left;

	if (scan->any)
		clause = (Node *) make_scalar_array_op(pstate, name, true, (Node *) var, (Node *) item, -1);
	else
		clause = (Node *) make_op(pstate, name, (Node *) var, (Node *) item, NULL, -1);
	assign_expr_collations(pstate, clause);
	free_parsestate(pstate);
	clause = eval_const_expressions(NULL, clause);

	if (IsA(clause, Const))		/* = ANY of an array that a cast made NULL */
		return;
	if (IsA(clause, OpExpr))
		sides = ((OpExpr *) clause)->args;
	else if (IsA(clause, ScalarArrayOpExpr))
		sides = ((ScalarArrayOpExpr *) clause)->args;
	else
		elog(ERROR, "unexpected comparison of node type %d", (int) nodeTag(clause));
	left = linitial(sides);
	while (IsA(left, RelabelType))
		left = (Node *) ((RelabelType *) left)->arg;
	if (!IsA(left, Var) || !IsA(lsecond(sides), Const))
	{
		/* character(1) would be what "character" alone means */
		const char *wanted = getBaseType(column->atttypid) == BPCHAROID ? "bpchar" : format_type_be(column->atttypid);

		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("cannot look up a value of type %s in column \"%s\" of type %s",
						format_type_be(item_type), scan->column_name, format_type_be(column->atttypid)),
				 errdetail("The comparison would convert the column."),
				 errhint("Cast the value to %s%s.", wanted, scan->any ? "[]" : "")));
	}
	scan->var = (Var *) left;
	scan->item = lsecond_node(Const, sides);
	if (!scan->item->constisnull)
		scan->clause = (Expr *) clause;
}

/* ---------------------------------------------------------------- summaries */

/*
 * The summary table's column of filters: the one that is named, or the one whose name is the column's or its plural.
 * That it is the only one of type bf is not enough: it could be a filter of other values, and rule out what is there.
 */
static char *
find_summary_column(const ChunkScan *scan, Relation summaries, Oid bf_type, const char *wanted)
{
	TupleDesc	columns = RelationGetDescr(summaries);
	char	   *plural = psprintf("%ss", scan->column_name);
	char	   *found = NULL;
	bool		has_chunk = false;

	for (int i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);
		char	   *name = NameStr(column->attname);

		if (column->attisdropped)
			continue;
		if (strcmp(name, "chunk") == 0 && (column->atttypid == REGCLASSOID || column->atttypid == OIDOID))
			has_chunk = true;
		if (wanted != NULL ? strcmp(name, wanted) != 0 :
			column->atttypid != bf_type || (strcmp(name, scan->column_name) != 0 && strcmp(name, plural) != 0))
			continue;
		if (column->atttypid != bf_type)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" of \"%s\" is of type %s, not bf",
							name, RelationGetRelationName(summaries), format_type_be(column->atttypid))));
		if (found != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_AMBIGUOUS_COLUMN),
					 errmsg("both \"%s\" and \"%s\" of \"%s\" could be the filters of column \"%s\"",
							found, name, RelationGetRelationName(summaries), scan->column_name),
					 errhint("Name one of them with summary_column => '...'.")));
		found = name;
	}
	if (!has_chunk)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("\"%s\" is not a summary table: it has no column \"chunk\" of type regclass",
						RelationGetRelationName(summaries)),
				 errhint("Make it with SELECT tableoid::regclass AS chunk, bf_agg(%s) AS %s FROM ... GROUP BY 1.",
						 quote_identifier(scan->column_name), quote_identifier(plural))));
	if (found == NULL && wanted != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist", wanted, RelationGetRelationName(summaries))));
	if (found == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("summary table \"%s\" has no column of type bf named \"%s\" or \"%s\"",
						RelationGetRelationName(summaries), scan->column_name, plural),
				 errhint("If the filters of column \"%s\" have another name, give it with summary_column => '...'.",
						 scan->column_name)));
	return found;
}

/*
 * Asks the summary table, as the user and by SQL, so that its privileges and policies hold. A chunk is ruled out if all of its
 * rows there say no; one with no row, or with a NULL, is not. Under the query's snapshot: SPI takes the active one.
 */
static void
ask_summaries(ChunkScan *scan, FunctionCallInfo fcinfo)
{
	MemoryContext caller = CurrentMemoryContext;
	Oid			schema = get_func_namespace(fcinfo->flinfo->fn_oid);
	Oid			bf_type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("bf"), ObjectIdGetDatum(schema));
	Oid			collation = exprInputCollation((Node *) scan->clause);
	Relation	summaries;
	const char *filters;
	StringInfoData sql;
	Oid			types[1];
	Datum		values[1];

	/* A filter is of bytes (of a deterministic collation): it cannot know what else is equal. */
	if (OidIsValid(collation) && !get_collation_isdeterministic(collation))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" has the nondeterministic collation \"%s\", for which summaries cannot answer",
						scan->column_name, get_collation_name(collation))));

	summaries = relation_open(scan->summaries, AccessShareLock);
	filters = find_summary_column(scan, summaries, bf_type, PG_ARGISNULL(4) ? NULL : NameStr(*PG_GETARG_NAME(4)));
	initStringInfo(&sql);
	appendStringInfo(&sql,
					 "SELECT s.chunk::pg_catalog.oid, pg_catalog.bool_and(%s(s.%s, $1) IS FALSE) FROM %s s "
					 "WHERE s.chunk IS NOT NULL GROUP BY s.chunk",
					 quote_qualified_identifier(get_namespace_name(schema), scan->any ? "bf_contains_any" : "bf_contains"),
					 quote_identifier(filters),
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(summaries)),
												RelationGetRelationName(summaries)));
	relation_close(summaries, NoLock);

	types[0] = scan->item->consttype;
	values[0] = scan->item->constvalue;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute_with_args(sql.data, 1, types, values, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not ask the summary table");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		null;
		Oid			chunk = DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &null));
		bool		no = DatumGetBool(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2, &null));
		MemoryContext spi = MemoryContextSwitchTo(caller);

		scan->summarised = lappend_oid(scan->summarised, chunk);
		if (no)
			scan->skipped = lappend_oid(scan->skipped, chunk);
		MemoryContextSwitchTo(spi);
	}
	SPI_finish();
	list_sort(scan->summarised, list_oid_cmp);
	list_sort(scan->skipped, list_oid_cmp);
}

static bool
sorted_oids_contain(const List *oids, Oid oid)
{
	int			low = 0;
	int			high = list_length(oids);

	while (low < high)
	{
		int			middle = low + (high - low) / 2;
		Oid			here = list_nth_oid(oids, middle);

		if (here == oid)
			return true;
		if (here < oid)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* Asks the chunk's bf indexes. */
static Verdict
ask_indexes(const ChunkScan *scan, Relation chunk)
{
	TupleDesc	columns = RelationGetDescr(chunk);
	Verdict		verdict = {true, NULL};
	Oid			index;

	if (chunk->rd_rel->relkind != RELKIND_RELATION && chunk->rd_rel->relkind != RELKIND_MATVIEW)
		return verdict;

	/* The clause, on the chunk's column. Most chunks are laid out as the parent is. */
	if (scan->column > columns->natts ||
		strcmp(NameStr(TupleDescAttr(columns, scan->column - 1)->attname), scan->column_name) != 0)
		scan->var->varattno = get_attnum(RelationGetRelid(chunk), scan->column_name);
	verdict.is_read = chunk_may_match_clause(chunk, (Node *) scan->clause, scan->item->constvalue, GetActiveSnapshot(),
											 &index);
	scan->var->varattno = scan->column;
	if (OidIsValid(index) && scan->explains)
		verdict.because = psprintf("bf index \"%s\" %s", get_rel_name(index),
								   verdict.is_read ? "does not say no" : "says no");
	return verdict;
}

/* May the chunk hold a row that matches? */
static Verdict
judge(const ChunkScan *scan, Relation chunk)
{
	Oid			oid = RelationGetRelid(chunk);
	Verdict		verdict;

	if (sorted_oids_contain(scan->skipped, oid))
	{
		/* What a SELECT that finds nothing in the chunk would leave for SERIALIZABLE transactions. */
		if (RELKIND_HAS_STORAGE(chunk->rd_rel->relkind))
			PredicateLockRelation(chunk, GetActiveSnapshot());
		return (Verdict) {false, "its summary says no"};
	}
	verdict = ask_indexes(scan, chunk);
	if (verdict.because == NULL)
		verdict.because = !OidIsValid(scan->summaries) ? "no bf index" :
			sorted_oids_contain(scan->summarised, oid) ? "its summary does not say no" : "no summary";
	return verdict;
}

/* ------------------------------------------------------------------ reading */

/* SELECT all columns FROM ONLY parent WHERE clause: what is adapted for each chunk. */
static Query *
make_query(const ChunkScan *scan)
{
	ParseState *pstate = make_parsestate(NULL);
	RangeTblEntry *rte = addRangeTableEntryForRelation(pstate, scan->parent, AccessShareLock, NULL, false, true)->p_rte;
	RangeTblRef *from = makeNode(RangeTblRef);
	TupleDesc	columns = RelationGetDescr(scan->parent);
	Query	   *query = makeNode(Query);

	/* The parent's privileges were checked, as for a SELECT that names it; and the chunk's are not asked for. */
#if PG_VERSION_NUM >= 160000
	rte->perminfoindex = 0;
#else
	rte->requiredPerms = 0;
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
	return query;
}

/* Reads one chunk's rows into the result. */
static void
read_chunk(const ChunkScan *scan, Query *parent_query, Relation chunk, DestReceiver *receiver)
{
	Query	   *query = copyObject(parent_query);
	RangeTblEntry *rte = linitial_node(RangeTblEntry, query->rtable);
	AttrMap    *map = sb_build_attrmap_by_name_if_req(RelationGetDescr(chunk), RelationGetDescr(scan->parent));
	QueryDesc  *running;

	rte->relid = RelationGetRelid(chunk);
	rte->relkind = chunk->rd_rel->relkind;
	rte->eref = makeAlias(RelationGetRelationName(chunk), rte->eref->colnames);
	if (map != NULL)
	{
		bool		whole_row;

		query->targetList = (List *) map_variable_attnos((Node *) query->targetList, 1, 0, map, InvalidOid, &whole_row);
		query->jointree->quals = map_variable_attnos(query->jointree->quals, 1, 0, map, InvalidOid, &whole_row);
	}
	running = CreateQueryDesc(pg_plan_query(query, "chunk_scan", 0, NULL), "chunk_scan", GetActiveSnapshot(), InvalidSnapshot,
							  receiver, NULL, NULL, 0);
	ExecutorStart(running, 0);
	sb_executor_run(running);
	ExecutorFinish(running);
	ExecutorEnd(running);
	FreeQueryDesc(running);
}

/* ---------------------------------------------------------------- all of it */

static void
begin(ChunkScan *scan, FunctionCallInfo fcinfo, bool any)
{
	memset(scan, 0, sizeof *scan);
	scan->any = any;
	scan->parent = open_parent(fcinfo);
	find_column(scan, fcinfo);
	if (!PG_ARGISNULL(2))
		make_clause(scan, fcinfo);
	if (!PG_ARGISNULL(3))
		scan->summaries = PG_GETARG_OID(3);
	else if (!PG_ARGISNULL(4))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a summary_column without summaries"),
				 errhint("Name the summary table with summaries => '...'.")));
	if (scan->clause != NULL && OidIsValid(scan->summaries))
		ask_summaries(scan, fcinfo);
}

/* What to do with a chunk. The caller opened and locked it, and closes it. */
typedef void (*ChunkVisitor) (ChunkScan *scan, Relation chunk, Verdict verdict, void *argument);

/*
 * Judges a chunk. One that is not read need not stay locked: the verdict holds for the snapshot, whatever becomes of the
 * chunk. (With thousands of chunks that keeps the table of locks from filling up, and DDL from waiting for nothing.)
 */
static void
visit_chunk(ChunkScan *scan, Relation chunk, ChunkVisitor visit, void *argument)
{
	Verdict		verdict = {false, "nothing equals NULL"};
	LOCKMODE	unlock = AccessShareLock;

	CHECK_FOR_INTERRUPTS();
	/* partitioned tables have no rows of their own, and those of other sessions' temporary tables cannot be seen */
	if (chunk->rd_rel->relkind != RELKIND_PARTITIONED_TABLE && !RELATION_IS_OTHER_TEMP(chunk))
	{
		MemoryContext caller = MemoryContextSwitchTo(scan->chunk_context);

		if (scan->clause != NULL)
			verdict = judge(scan, chunk);
		if (verdict.is_read)
			unlock = NoLock;
		visit(scan, chunk, verdict, argument);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(scan->chunk_context);
	}
	relation_close(chunk, unlock);
}

/* The partitions of a partitioned table that is open and locked, from what the relation cache knows of them. */
static void
visit_partitions(ChunkScan *scan, Relation parent, ChunkVisitor visit, void *argument)
{
	PartitionDesc partitions = RelationGetPartitionDesc(parent, true);
	int			count = partitions->nparts;
	Oid		   *oids = memcpy(palloc(count * sizeof(Oid)), partitions->oids, count * sizeof(Oid));

	check_stack_depth();
	for (int i = 0; i < count; i++)
	{
		/* a partition that is being detached may be dropped meanwhile */
		Relation	partition = chunk_try_open(oids[i]);

		if (partition == NULL)
			continue;
		if (partition->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
			visit_chunk(scan, partition, visit, argument);
		else
		{
			visit_partitions(scan, partition, visit, argument);
			relation_close(partition, NoLock);
		}
	}
	pfree(oids);
}

static void
visit_chunks(ChunkScan *scan, ChunkVisitor visit, void *argument)
{
	List	   *relations;
	ListCell   *cell;

	scan->chunk_context = AllocSetContextCreate(CurrentMemoryContext, "chunk_scan", ALLOCSET_DEFAULT_SIZES);
	if (scan->parent->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		visit_partitions(scan, scan->parent, visit, argument);
	else
	{
		relations = find_all_inheritors(RelationGetRelid(scan->parent), AccessShareLock, NULL);
		foreach(cell, relations)
			visit_chunk(scan, relation_open(lfirst_oid(cell), NoLock), visit, argument);
	}
	MemoryContextDelete(scan->chunk_context);
}

typedef struct Reading
{
	Query	   *query;
	DestReceiver *receiver;
} Reading;

static void
read_if_needed(ChunkScan *scan, Relation chunk, Verdict verdict, void *argument)
{
	Reading    *reading = argument;

	if (verdict.is_read)
		read_chunk(scan, reading->query, chunk, reading->receiver);
}

static Datum
scan_chunks(FunctionCallInfo fcinfo, bool any)
{
	ReturnSetInfo *set = (ReturnSetInfo *) fcinfo->resultinfo;
	ChunkScan	scan;
	Reading		reading;

	begin(&scan, fcinfo, any);
	InitMaterializedSRF(fcinfo, 0); /* the parent is locked: its row type will not change now */
	if (scan.clause != NULL)
	{
		reading.query = make_query(&scan);
		reading.receiver = CreateTuplestoreDestReceiver();
		SetTuplestoreDestReceiverParams(reading.receiver, set->setResult, set->econtext->ecxt_per_query_memory, false, NULL,
										NULL);
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

static void
tell(ChunkScan *scan, Relation chunk, Verdict verdict, void *argument)
{
	ReturnSetInfo *set = argument;
	Datum		values[3];
	bool		nulls[3] = {false};

	(void) scan;
	values[0] = ObjectIdGetDatum(RelationGetRelid(chunk));
	values[1] = BoolGetDatum(verdict.is_read);
	values[2] = CStringGetTextDatum(verdict.because);
	tuplestore_putvalues(set->setResult, set->setDesc, values, nulls);
}

SB_FUNCTION(chunk_scan_explain);
Datum
chunk_scan_explain(PG_FUNCTION_ARGS)
{
	ChunkScan	scan;

	begin(&scan, fcinfo, false);
	scan.explains = true;
	InitMaterializedSRF(fcinfo, 0);
	visit_chunks(&scan, tell, fcinfo->resultinfo);
	relation_close(scan.parent, NoLock);
	return (Datum) 0;
}
