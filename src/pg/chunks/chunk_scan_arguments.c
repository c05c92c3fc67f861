/*
 * chunk_scan_arguments.c: the arguments of chunk_scan() and its variants: which relation, which column, and which
 * comparison. All errors of the arguments are raised here, before any chunk is looked at.
 */
#include "chunks/chunk_scan.h"

#include "access/relation.h"
#include "access/stratnum.h"
#include "access/sysattr.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_node.h"
#include "parser/parse_oper.h"
#include "parser/parse_relation.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/regproc.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"

#include "base/hints.h"
#include "base/own_types.h"
#include "chunks/chunk_engine.h"
#include "index/functions.h"

/* ----------------------------------------------------------- the relation, the column */

void
chunk_require_readable(Relation relation)
{
	if (!RelationIsPopulated(relation))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("materialized view \"%s\" has not been populated", RelationGetRelationName(relation)),
				 errhint("Use the REFRESH MATERIALIZED VIEW command.")));
	if (RELATION_IS_OTHER_TEMP(relation))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions"),
				 errdetail("Another session made table \"%s\".", RelationGetRelationName(relation)),
				 errhint("Scan it in that session, or let that session copy its rows to a table that is not temporary.")));
	if (!RelationIsPermanent(relation) && RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary or unlogged relations during recovery"),
				 errdetail("The standby server does not have the rows of \"%s\".", RelationGetRelationName(relation)),
				 errhint("Ask on the primary server.")));
}

/*
 * Raises an error if the user may not SELECT all columns of the parent (chunk_scan_explain(): the compared one), or if
 * row-level security applies to the user. As in a SELECT, the privileges of the parent count, and those of its
 * children do not. This calls the executor's own function, which also calls the hook that extensions for auditing and
 * security labels use.
 */
static void
require_privileges(const ChunkScan *scan)
{
	ParseState *pstate = make_parsestate(NULL);
	RangeTblEntry *rte = addRangeTableEntryForRelation(pstate, scan->parent, AccessShareLock, NULL, true, true)->p_rte;
	Bitmapset  *selected = bms_make_singleton((scan->explains ? scan->column : InvalidAttrNumber) -
											  FirstLowInvalidHeapAttributeNumber);

#if PG_VERSION_NUM >= 160000
	linitial_node(RTEPermissionInfo, pstate->p_rteperminfos)->requiredPerms = ACL_SELECT;
	linitial_node(RTEPermissionInfo, pstate->p_rteperminfos)->selectedCols = selected;
	ExecCheckPermissions(list_make1(rte), pstate->p_rteperminfos, true);
#else
	rte->requiredPerms = ACL_SELECT;
	rte->selectedCols = selected;
	ExecCheckRTPerms(list_make1(rte), true);
#endif
	free_parsestate(pstate);
	if (check_enable_rls(RelationGetRelid(scan->parent), InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot scan the chunks of \"%s\" under row-level security", RelationGetRelationName(scan->parent)),
				 errdetail("Its policies would not be applied to the rows."),
				 errhint("Use a plain SELECT, which applies them.")));
}

/*
 * The parser gives the type text to a literal without a type, so a relation's name in quotes is refused here, too. The
 * hint repeats the name if it can stand behind NULL::.
 */
static SB_NORETURN void
refuse_relation(FunctionCallInfo fcinfo, Oid type, const char *type_name)
{
	const char *name = NULL;

	if (!PG_ARGISNULL(CHUNK_SCAN_RELATION) && (type == TEXTOID || type == REGCLASSOID))
	{
		Oid			output;
		bool		varlena;

		getTypeOutputInfo(type, &output, &varlena);
		name = OidOutputFunctionCall(output, PG_GETARG_DATUM(CHUNK_SCAN_RELATION));
	}
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("the first argument must be of a relation's row type, not of type %s", type_name),
			 name != NULL ? errdetail("It is %s.", quote_literal_cstr(name)) : 0,
			 name != NULL && name[0] != '\0' && name[strcspn(name, " \t\n\r'();,*")] == '\0' ?
			 errhint("Write NULL::%s instead.", name) : errhint("Name the relation as in NULL::access_log.")));
}

void
chunk_report_dropped(Oid row_type)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("relation whose row type has OID %u does not exist", row_type),
			 errdetail("It was dropped after the query was planned.")));
}

/* Locks and opens the relation that the first argument names by its row type. */
static Relation
open_parent(FunctionCallInfo fcinfo)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, CHUNK_SCAN_RELATION);
	Oid			relid = OidIsValid(type) ? get_typ_typrelid(type) : InvalidOid;
	const char *name = OidIsValid(type) ? format_type_extended(type, -1, FORMAT_TYPE_INVALID_AS_NULL) : "unknown";
	Relation	parent;

	if (name == NULL)
		chunk_report_dropped(type);
	if (!OidIsValid(relid))
		refuse_relation(fcinfo, type, name);
	parent = try_relation_open(relid, AccessShareLock);
	if (parent == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation \"%s\" does not exist", name),
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
					 errdetail_relkind_not_supported(parent->rd_rel->relkind),
					 errhint("Name a table, a partitioned or foreign table, or a materialized view.")));
	}
	return parent;
}

/* Finds the column that the second argument names. */
static void
find_column(ChunkScan *scan, FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(CHUNK_SCAN_COLUMN))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the column's name must not be null"),
				 errhint("The second argument is the name of a column of the relation.")));
	scan->column_name = NameStr(*PG_GETARG_NAME(CHUNK_SCAN_COLUMN));
	scan->column = get_attnum(RelationGetRelid(scan->parent), scan->column_name);
	if (scan->column == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						scan->column_name, RelationGetRelationName(scan->parent)),
				 errhint("The second argument is the name of a column of the relation.")));
	if (scan->column < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot scan chunks by the system column \"%s\"", scan->column_name),
				 errhint("The second argument is the name of a column that the relation was made with.")));
	scan->column_type = get_atttype(RelationGetRelid(scan->parent), scan->column);
}

/* ---------------------------------------------------------------- the comparison */

/*
 * The value as a constant for the parser. A literal or a parameter without a type stays untyped here, so that the
 * parser gives it the column's type.
 */
static Const *
make_item(FunctionCallInfo fcinfo)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, CHUNK_SCAN_VALUE);
	int16		length;
	bool		by_value;

	if (is_untyped_item(type))
	{
		char	   *literal = TextDatumGetCString(PG_GETARG_DATUM(CHUNK_SCAN_VALUE));

		return makeConst(UNKNOWNOID, -1, InvalidOid, -2, CStringGetDatum(literal), false, false);
	}
	get_typlenbyval(type, &length, &by_value);
	return makeConst(type, -1, get_typcollation(type), length, PG_GETARG_DATUM(CHUNK_SCAN_VALUE), false, by_value);
}

/*
 * Evaluates the right side of the comparison: the value with its type conversions, some of which depend on settings.
 * Returns a NULL pointer if the expression is volatile or contains a column.
 */
static Const *
evaluate(Node *expression)
{
	expression = eval_const_expressions(NULL, expression);
	if (contain_var_clause(expression) || contain_volatile_functions(expression))
		return NULL;
	return (Const *) evaluate_expr((Expr *) expression, exprType(expression), exprTypmod(expression),
								   exprCollation(expression));
}

/* The name of the operator; it may have a schema, as in pg_catalog.~~ */
static List *
operator_name(FunctionCallInfo fcinfo)
{
	List	   *name;

	if (PG_ARGISNULL(CHUNK_SCAN_OPERATOR))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the operator must not be null"),
				 errhint("Leave it out for the = of the column's type.")));
	name = sb_qualified_name(text_to_cstring(PG_GETARG_TEXT_PP(CHUNK_SCAN_OPERATOR)));
	/* SQL, too, reads != as <> */
	if (strcmp(strVal(llast(name)), "!=") == 0)
		llast(name) = makeString(pstrdup("<>"));
	return name;
}

/* The name by which a value is cast to the column's type: "character" would mean character(1). */
static const char *
name_of_column_type(const ChunkScan *scan)
{
	return getBaseType(scan->column_type) == BPCHAROID ? "bpchar" : format_type_be(scan->column_type);
}

/*
 * Adds a hint to the error that is raised when a value without a type cannot be converted, or when there is no operator
 * for the types of the column and the value.
 */
static void
say_column_type(const void *argument)
{
	const ChunkScan *scan = argument;
	const Oid	type = scan->column_type;

	if (geterrcode() == ERRCODE_UNDEFINED_FUNCTION)
	{
		errdetail("Column \"%s\" is of type %s.", scan->column_name, format_type_be(type));
		if (scan->item_type == UNKNOWNOID || (!scan->any && getBaseType(scan->item_type) == getBaseType(type)))
			errhint("Give an operator that this type has, with operator => '...'. LIKE is the operator ~~, and ILIKE is ~~*.");
		else if (scan->any && OidIsValid(get_base_element_type(type)))
			errhint("Ask for one array with chunk_scan().");
		else
			errhint("Cast the value to %s%s, or give an operator for both types, with operator => '...'.",
					name_of_column_type(scan), scan->any ? "[]" : "");
	}
	else
		errhint("A value without a type is read as one for column \"%s\" of type %s.", scan->column_name, format_type_be(type));
}

/* The arguments of the comparison: the column and the value. */
static List *
sides_of(Expr *clause)
{
	return IsA(clause, OpExpr) ? ((OpExpr *) clause)->args : castNode(ScalarArrayOpExpr, clause)->args;
}

/*
 * Makes the comparison, with the operator that SQL would choose. A comparison that converts the column is refused,
 * because neither a filter of the column's values nor an index on them could answer it.
 *
 * The comparison is not simplified here, but only when the query of each chunk is planned. The planner can turn it
 * into an expression of any form, which no longer has the two sides that are needed here: "flag = true" becomes
 * "flag", and an operator whose function is written in SQL becomes the function's body.
 */
static void
make_clause(ChunkScan *scan, FunctionCallInfo fcinfo)
{
	Form_pg_attribute column = TupleDescAttr(RelationGetDescr(scan->parent), scan->column - 1);
	ParseState *pstate = make_parsestate(NULL);
	Var		   *var = makeVar(1, scan->column, column->atttypid, column->atttypmod, column->attcollation, 0);
	Const	   *item = make_item(fcinfo);
	List	   *name = operator_name(fcinfo);
	Expr	   *clause;
	List	   *sides;
	ErrorHint	hint;

	scan->item_type = item->consttype;
	if (scan->any && scan->item_type != UNKNOWNOID && !OidIsValid(get_base_element_type(scan->item_type)))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("items must be given as an array, not as %s", format_type_be(scan->item_type)),
				 errhint("Write ARRAY[...], or ask for one value with chunk_scan().")));
	pstate->p_expr_kind = EXPR_KIND_WHERE;	/* so an operator that returns a set is refused */
	hint_begin(&hint, say_column_type, scan);
	hint.also = ERRCODE_UNDEFINED_FUNCTION;
	if (scan->any)
		clause = make_scalar_array_op(pstate, name, true, (Node *) var, (Node *) item, -1);
	else
		clause = make_op(pstate, name, (Node *) var, (Node *) item, NULL, -1);
	hint_end(&hint);
	(void) coerce_to_boolean(pstate, (Node *) clause, "chunk_scan()");
	assign_expr_collations(pstate, (Node *) clause);
	free_parsestate(pstate);

	sides = sides_of(clause);
	if (IsA(chunk_without_relabels(linitial(sides)), Var))
		scan->item = evaluate(lsecond(sides));
	if (scan->item == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("cannot look up a value of type %s in column \"%s\" of type %s",
						format_type_be(scan->item_type), scan->column_name, format_type_be(scan->column_type)),
				 errdetail("The comparison would convert the column."),
				 errhint("Cast the value to %s%s.", name_of_column_type(scan), scan->any ? "[]" : "")));
	if (scan->item->constisnull)
		return;
	lsecond(sides) = scan->item;
	scan->clause = clause;
	chunk_prepare_clause(&scan->index_clause, (Node *) clause, scan->item->constvalue);
	scan->index_clause.snapshot = GetActiveSnapshot();
	scan->index_clause.explain_only = scan->index_clause.all_pages = scan->explains;
}

/*
 * Raises an error unless the operator is the equality of the type's default operator classes. By this equality, equal
 * items have equal hashes. Another operator that is named = may match more rows, and a filter would say no for them.
 */
static void
require_equality(const ChunkScan *scan)
{
	Oid			operator = scan->any ? ((ScalarArrayOpExpr *) scan->clause)->opno : ((OpExpr *) scan->clause)->opno;
	TypeCacheEntry *type = lookup_type_cache(exprType(linitial(sides_of(scan->clause))),
											 TYPECACHE_BTREE_OPFAMILY | TYPECACHE_HASH_OPFAMILY);

	/* a hash family has only =; a B-tree family also has <, so the strategy is compared */
	if ((OidIsValid(type->hash_opf) && op_in_opfamily(operator, type->hash_opf)) ||
		(OidIsValid(type->btree_opf) && get_op_opfamily_strategy(operator, type->btree_opf) == BTEqualStrategyNumber))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("summaries of column \"%s\" cannot answer for the operator %s", scan->column_name,
					format_operator(operator)),
			 errdetail("It is not the equality operator of a default operator class of type %s.",
					   format_type_be(type->type_id)),
			 errhint("Leave the summaries out.")));
}

/* ------------------------------------------------------------------- all of them */

void
chunk_scan_begin(ChunkScan *scan, FunctionCallInfo fcinfo, bool any, bool explains)
{
	memset(scan, 0, sizeof *scan);
	scan->any = any;
	scan->explains = explains;
	scan->chunk_context = AllocSetContextCreate(CurrentMemoryContext, "chunk_scan", ALLOCSET_DEFAULT_SIZES);
	scan->parent = open_parent(fcinfo);
	find_column(scan, fcinfo);
	require_privileges(scan);
	chunk_require_readable(scan->parent);
	chunk_require_own_rows(scan->parent);
	if (!PG_ARGISNULL(CHUNK_SCAN_VALUE))
		make_clause(scan, fcinfo);
	if (!PG_ARGISNULL(CHUNK_SCAN_SUMMARIES))
	{
		scan->summary_table = PG_GETARG_OID(CHUNK_SCAN_SUMMARIES);
		if (!OidIsValid(scan->summary_table))
			bf_index_refuse_missing(scan->summary_table);
	}
	else if (!PG_ARGISNULL(CHUNK_SCAN_SUMMARY_COLUMN))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a summary_column was given without summaries"),
				 errhint("Name the summary table with summaries => '...'.")));
	if (scan->clause != NULL && OidIsValid(scan->summary_table))
	{
		require_equality(scan);
		chunk_ask_summaries(scan->summary_table,
							PG_ARGISNULL(CHUNK_SCAN_SUMMARY_COLUMN) ? NULL :
							NameStr(*PG_GETARG_NAME(CHUNK_SCAN_SUMMARY_COLUMN)),
							get_func_namespace(fcinfo->flinfo->fn_oid), scan->column_name, scan->item, scan->any,
							exprInputCollation((Node *) scan->clause), &scan->summaries);
	}
}
