/*
 * chunk_scan.c: chunk_scan() and its kin: the rows of a relation with a value, read from those of its chunks alone that
 * may hold it. A chunk is a partition, an inheritance child, or the relation itself.
 *
 * What is read is what SELECT * FROM relation WHERE column = value would read, under the same snapshot (the active one
 * of the calling query), with the same privileges (the parent's), locks and predicate locks. A chunk is left alone only
 * if what is known of it says for certain that no row with the value is in it: a summary table that the caller names,
 * or a bf index. Each of the others is planned by itself, as SELECT ... FROM chunk (ONLY, if it has children), so that
 * it is read in whichever way serves best, and its columns come out in the parent's order.
 *
 * The relations are locked after the snapshot was taken, so each of them is compared with what the snapshot sees
 * (chunk_snapshot.h). An index need not be: if it was built after the snapshot was taken, it has the rows that the
 * snapshot sees as well; or indcheckxmin, its horizon or CONCURRENTLY's wait for older snapshots keeps it from being
 * used.
 */
#include "chunks/chunk_engine.h"
#include "chunks/chunk_question.h"
#include "chunks/chunk_snapshot.h"
#include "chunks/chunk_summary.h"

#include "access/attmap.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
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
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteManip.h"
#include "storage/predicate.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"

#include "base/own_types.h"

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
	ChunkClause question;		/* the clause, for indexes */
	ChunkEngines *engines;		/* extensions that keep the rows of their tables elsewhere */
	Oid			summaries;		/* the summary table, or InvalidOid */
	ChunkSummaries known;		/* what it says */
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

/*
 * Raises an error for what a plain SELECT refuses to read when it is planned or begins: also for chunks that would be
 * left alone.
 */
static void
require_readable(Relation relation)
{
	if (!RelationIsPopulated(relation))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("materialized view \"%s\" has not been populated", RelationGetRelationName(relation)),
				 errhint("Use the REFRESH MATERIALIZED VIEW command.")));
	if (RELATION_IS_OTHER_TEMP(relation))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));
	if (!RelationIsPermanent(relation) && RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary or unlogged relations during recovery")));
}

/*
 * Raises an error if the user lacks the privileges for SELECT * FROM parent. The parent's count, those of its children
 * do not. The executor's own function also calls the hook of extensions for auditing and security labels.
 */
static void
require_privileges(Relation parent)
{
	ParseState *pstate = make_parsestate(NULL);
	RangeTblEntry *rte = addRangeTableEntryForRelation(pstate, parent, AccessShareLock, NULL, true, true)->p_rte;
	Bitmapset  *columns = NULL;

	for (int i = 0; i < RelationGetDescr(parent)->natts; i++)
		if (!TupleDescAttr(RelationGetDescr(parent), i)->attisdropped)
			columns = bms_add_member(columns, i + 1 - FirstLowInvalidHeapAttributeNumber);
#if PG_VERSION_NUM >= 160000
	linitial_node(RTEPermissionInfo, pstate->p_rteperminfos)->requiredPerms = ACL_SELECT;
	linitial_node(RTEPermissionInfo, pstate->p_rteperminfos)->selectedCols = columns;
	ExecCheckPermissions(list_make1(rte), pstate->p_rteperminfos, true);
#else
	rte->requiredPerms = ACL_SELECT;
	rte->selectedCols = columns;
	ExecCheckRTPerms(list_make1(rte), true);
#endif
	free_parsestate(pstate);
}

/* The relation whose row type argument 0 has, locked. */
static Relation
open_parent(FunctionCallInfo fcinfo)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 0);
	Oid			relid = OidIsValid(type) ? get_typ_typrelid(type) : InvalidOid;
	const char *name = OidIsValid(relid) ? get_rel_name(relid) : NULL;
	Relation	parent;

	if (!OidIsValid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("the first argument must be of a relation's row type, not of type %s",
						OidIsValid(type) ? format_type_be(type) : "unknown"),
				 errhint("Name the relation as in NULL::access_log.")));
	parent = try_relation_open(relid, AccessShareLock);
	if (parent == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 name != NULL ? errmsg("relation \"%s\" does not exist", name) :
				 errmsg("relation with OID %u does not exist", relid),
				 errdetail("It was dropped after the query was planned.")));
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

	require_privileges(parent);
	if (check_enable_rls(relid, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot scan the chunks of \"%s\" under row-level security", RelationGetRelationName(parent)),
				 errdetail("Its policies would not be applied to the rows."),
				 errhint("Use a plain SELECT, which applies them.")));
	require_readable(parent);
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

/* Argument 2, as a constant for the parser. A value without a type becomes an untyped literal, and so of the column's type. */
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
	if (is_untyped_item(type))
	{
		char	   *literal = TextDatumGetCString(PG_GETARG_DATUM(2));

		return makeConst(UNKNOWNOID, -1, InvalidOid, -2, CStringGetDatum(literal), false, false);
	}
	get_typlenbyval(type, &length, &by_value);
	return makeConst(type, -1, get_typcollation(type), length, PG_GETARG_DATUM(2), false, by_value);
}

/*
 * The value of an expression without columns, or NULL if it is volatile. The type conversions of the value are in it:
 * some of them depend on settings.
 */
static Const *
evaluate(Node *expression)
{
	MemoryContext caller = CurrentMemoryContext;
	EState	   *estate;
	ExprState  *state;
	Datum		value;
	bool		isnull;
	int16		length;
	bool		by_value;

	expression = eval_const_expressions(NULL, expression);
	if (IsA(expression, Const))
		return (Const *) expression;
	if (contain_var_clause(expression) || contain_volatile_functions(expression))
		return NULL;
	get_typlenbyval(exprType(expression), &length, &by_value);
	estate = CreateExecutorState();
	state = ExecPrepareExpr((Expr *) expression, estate);
	value = ExecEvalExprSwitchContext(state, GetPerTupleExprContext(estate), &isnull);
	MemoryContextSwitchTo(caller);
	if (!isnull)
		value = datumCopy(value, by_value, length);
	FreeExecutorState(estate);
	return makeConst(exprType(expression), exprTypmod(expression), exprCollation(expression), length, value, isnull,
					 by_value);
}

/*
 * The comparison, with the operator that SQL would take. What converts the column to compare it is refused: neither a
 * filter of the column's values nor an index on them could answer it.
 *
 * The planner's simplification is left to the planning of each chunk's query: it can turn a comparison into an
 * expression of any form (flag = true into flag, an operator with an SQL function into the function's body).
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
	Expr	   *clause;
	List	   *sides;
	Node	   *left;

	if (scan->any)
		clause = make_scalar_array_op(pstate, name, true, (Node *) var, (Node *) item, -1);
	else
		clause = make_op(pstate, name, (Node *) var, (Node *) item, NULL, -1);
	assign_expr_collations(pstate, (Node *) clause);
	free_parsestate(pstate);

	sides = scan->any ? castNode(ScalarArrayOpExpr, clause)->args : castNode(OpExpr, clause)->args;
	left = linitial(sides);
	while (IsA(left, RelabelType))
		left = (Node *) ((RelabelType *) left)->arg;
	scan->item = IsA(left, Var) ? evaluate(lsecond(sides)) : NULL;
	if (scan->item == NULL)
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
	if (scan->item->constisnull)
		return;
	lsecond(sides) = scan->item;
	scan->var = (Var *) left;
	scan->clause = clause;
	chunk_prepare_clause(&scan->question, (Node *) clause, scan->item->constvalue);
}

/*
 * A filter knows which values are equal by the type's own equality, that of its default operator classes. Another
 * operator that is named = can find more rows.
 */
static void
require_equality(const ChunkScan *scan)
{
	Oid			operator = scan->any ? ((ScalarArrayOpExpr *) scan->clause)->opno : ((OpExpr *) scan->clause)->opno;
	List	   *sides = scan->any ? ((ScalarArrayOpExpr *) scan->clause)->args : ((OpExpr *) scan->clause)->args;
	TypeCacheEntry *type = lookup_type_cache(exprType(linitial(sides)),
											 TYPECACHE_BTREE_OPFAMILY | TYPECACHE_HASH_OPFAMILY);

	if ((OidIsValid(type->hash_opf) && op_in_opfamily(operator, type->hash_opf)) ||
		(OidIsValid(type->btree_opf) && op_in_opfamily(operator, type->btree_opf)))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("summaries of column \"%s\" cannot answer for the operator %s", scan->column_name,
					format_operator(operator)),
			 errdetail("It is not the equality operator of a default operator class of type %s.",
					   format_type_be(type->type_id)),
			 errhint("Leave the summaries out.")));
}

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

	/* The clause, on the chunk's column. Most chunks are laid out as the parent is. */
	if (scan->column > columns->natts ||
		strcmp(NameStr(TupleDescAttr(columns, scan->column - 1)->attname), scan->column_name) != 0)
		scan->var->varattno = get_attnum(RelationGetRelid(chunk), scan->column_name);
	verdict.is_read = chunk_may_match_clause(chunk, &scan->question, GetActiveSnapshot(), &index);
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

	if (chunk_summary_says_no(&scan->known, oid))
	{
		/* What a SELECT that finds nothing in the chunk would leave for SERIALIZABLE transactions. */
		if (!scan->explains && RELKIND_HAS_STORAGE(chunk->rd_rel->relkind))
			PredicateLockRelation(chunk, GetActiveSnapshot());
		return (Verdict) {false, "its summary says no"};
	}
	verdict = ask_indexes(scan, chunk);
	if (verdict.because == NULL)
		verdict.because = !OidIsValid(scan->summaries) ? "no bf index" :
			chunk_has_summary(&scan->known, oid) ? "its summary does not say no" : "no summary";
	return verdict;
}

/* ------------------------------------------------------------------ reading */

/* SELECT all columns FROM parent WHERE clause: what is adapted for each chunk. */
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
	/* a chunk may have another expression for a virtual column; the parent's counts, since the query names the parent */
	query->targetList = (List *) expand_generated_columns_in_expr((Node *) query->targetList, scan->parent, 1);
	query->jointree->quals = expand_generated_columns_in_expr(query->jointree->quals, scan->parent, 1);
#endif
	return query;
}

/*
 * Plans the query of a chunk. The parent's privileges were checked, as for a SELECT that names it; and the chunk's are
 * not asked for.
 */
static PlannedStmt *
plan_query(Query *query, Oid chunk)
{
#if PG_VERSION_NUM >= 160000
	PlannedStmt *statement;
	ListCell   *cell;

	/* the planner wants to find them there; the executor would check them */
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

	/* Its children are chunks of their own. Without any, ONLY might tell another extension to leave rows out. */
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

/* ---------------------------------------------------------------- all of it */

static void
begin(ChunkScan *scan, FunctionCallInfo fcinfo, bool any)
{
	memset(scan, 0, sizeof *scan);
	scan->any = any;
	scan->parent = open_parent(fcinfo);
	scan->engines = chunk_find_engines();
	chunk_require_own_rows(scan->engines, scan->parent);
	find_column(scan, fcinfo);
	if (!PG_ARGISNULL(2))
		make_clause(scan, fcinfo);
	if (!PG_ARGISNULL(3))
		chunk_require_summaries(scan->summaries = PG_GETARG_OID(3));
	else if (!PG_ARGISNULL(4))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a summary_column without summaries"),
				 errhint("Name the summary table with summaries => '...'.")));
	if (scan->clause != NULL && OidIsValid(scan->summaries))
	{
		require_equality(scan);
		chunk_ask_summaries(scan->summaries, PG_ARGISNULL(4) ? NULL : NameStr(*PG_GETARG_NAME(4)),
							get_func_namespace(fcinfo->flinfo->fn_oid), scan->column_name, scan->item, scan->any,
							exprInputCollation((Node *) scan->clause), &scan->known);
	}
}

/* What to do with a chunk, which is open and locked if it is to be read. */
typedef void (*ChunkVisitor) (ChunkScan *scan, Oid chunk, Relation relation, Verdict verdict, void *argument);

/* Judges a chunk, and forgets what memory that took. */
static Verdict
judge_chunk(ChunkScan *scan, Relation chunk)
{
	MemoryContext caller = MemoryContextSwitchTo(scan->chunk_context);
	Verdict		verdict = {false, "nothing equals NULL"};

	CHECK_FOR_INTERRUPTS();
	chunk_require_own_rows(scan->engines, chunk);
	require_readable(chunk);
	if (scan->clause != NULL)
		verdict = judge(scan, chunk);
	MemoryContextSwitchTo(caller);
	if (scan->explains)
		verdict.because = pstrdup(verdict.because);
	MemoryContextReset(scan->chunk_context);
	return verdict;
}

static void
visit_chunk(ChunkScan *scan, Relation chunk, Verdict verdict, ChunkVisitor visit, void *argument)
{
	MemoryContext caller = MemoryContextSwitchTo(scan->chunk_context);

	visit(scan, RelationGetRelid(chunk), chunk, verdict, argument);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(scan->chunk_context);
}

/*
 * All leaf partitions of a partitioned table that is open and locked, from what the relation cache knows of them. They
 * must be those that the snapshot sees.
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

/* Opens and locks a partition. Its storage must be the one that the snapshot sees. */
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
 * Judges all leaf partitions, and then reads those that are to be read. A partition that is not read need not stay
 * locked: the verdict holds for the snapshot, whatever becomes of the partition. (With thousands of them that keeps the
 * table of locks from filling up, and DDL from waiting for nothing.) Nor need one that is judged and not read yet: as
 * long as the parent is locked, no partition goes. But it can be truncated, so it is looked at again when it is read.
 *
 * Every other call judges from the end to the beginning: with more partitions than max_files_per_process lets be open,
 * the files of those that were looked at last still are.
 */
static void
visit_partitions(ChunkScan *scan, ChunkVisitor visit, void *argument)
{
	static bool backwards = false;
	List	   *leaves = leaf_partitions(scan->parent, NIL);
	int			count = list_length(leaves);
	Verdict    *verdicts = palloc0(count * sizeof(Verdict) + 1);

	backwards = !backwards;
	for (int i = 0; i < count; i++)
	{
		int			number = backwards ? count - 1 - i : i;
		Relation	chunk = open_partition(scan, list_nth_oid(leaves, number));

		verdicts[number] = judge_chunk(scan, chunk);
		relation_close(chunk, AccessShareLock);
	}
	for (int i = 0; i < count; i++)
	{
		Oid			oid = list_nth_oid(leaves, i);

		if (verdicts[i].is_read)
		{
			Relation	chunk = open_partition(scan, oid);

			visit_chunk(scan, chunk, verdicts[i], visit, argument);
			relation_close(chunk, NoLock);
		}
		else if (verdicts[i].because != NULL)
			visit(scan, oid, NULL, verdicts[i], argument);
	}
}

/* Inheritance children, and the table itself. They may be dropped without a lock on it: so they stay locked. */
static void
visit_children(ChunkScan *scan, ChunkVisitor visit, void *argument)
{
	List	   *relations = chunk_lock_tree(scan->parent, GetActiveSnapshot());
	ListCell   *cell;

	foreach(cell, relations)
	{
		Relation	chunk = relation_open(lfirst_oid(cell), NoLock);

		/* temporary tables of other sessions cannot be seen, and partitioned tables have no rows of their own */
		if (!RELATION_IS_OTHER_TEMP(chunk) && chunk->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
			visit_chunk(scan, chunk, judge_chunk(scan, chunk), visit, argument);
		relation_close(chunk, NoLock);
	}
}

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

/* The query was planned for the parent's columns. They can have changed until the parent was locked. */
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

	begin(&scan, fcinfo, any);
	InitMaterializedSRF(fcinfo, 0); /* the parent is locked: its row type will not change now */
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

static void
tell(ChunkScan *scan, Oid chunk, Relation relation, Verdict verdict, void *argument)
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

	begin(&scan, fcinfo, false);
	scan.explains = true;
	scan.question.explain_only = true;
	InitMaterializedSRF(fcinfo, 0);
	visit_chunks(&scan, tell, fcinfo->resultinfo);
	relation_close(scan.parent, NoLock);
	return (Datum) 0;
}
