/*
 * chunk_scan_support.c: what the planner has to know about chunk_scan() and chunk_scan_any(). Both functions have the
 * SUPPORT function chunk_scan_support().
 *
 * It estimates how many rows they return: as many as column = value, or column = ANY (values), selects from the parent,
 * by the statistics that ANALYZE has made for the parent with its partitions. Autovacuum does not analyze partitioned
 * tables. Without statistics, and for other operators than =, the planner expects the number of rows that CREATE
 * FUNCTION names (ROWS).
 *
 * It also makes a kept plan depend on the columns of the parent. PostgreSQL does not know that a call depends on them.
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "base/call.h"
#include "base/own_types.h"
#include "chunks/chunk_scan.h"
#include "chunks/chunk_snapshot.h"
#include "index/functions.h"

/* ------------------------------------------------------------------ the number of rows */

/* How many items an array of unknown length is expected to have; PostgreSQL expects as many. */
#define ITEMS_OF_UNKNOWN_ARRAY 10

/*
 * May the user read this column in all rows of the relation? Nobody may learn from an estimate what he may not read.
 */
static bool
may_read(Oid relation, AttrNumber column)
{
	bool		is_missing = false;	/* the relation is not locked, so it may be gone */

	return (pg_class_aclcheck_ext(relation, GetUserId(), ACL_SELECT, &is_missing) == ACLCHECK_OK ||
			pg_attribute_aclcheck_ext(relation, column, GetUserId(), ACL_SELECT, &is_missing) == ACLCHECK_OK) &&
		!is_missing &&
		check_enable_rls(relation, InvalidOid, true) != RLS_ENABLED;
}

/*
 * Returns the equality operator that compares a column of this type with a value of *value_type, and sets *value_type
 * to the type that the operator takes. Returns InvalidOid if the operator cannot be told easily; so for arrays, ranges
 * and rows, whose operator raises an error if the two sides differ in type.
 */
static Oid
equality_operator(Oid column_type, Oid *value_type)
{
	TypeCacheEntry *type = lookup_type_cache(column_type, TYPECACHE_BTREE_OPFAMILY);
	Oid			operator;

	if (!OidIsValid(type->btree_opf) || IsPolymorphicType(type->btree_opintype) || type->btree_opintype == RECORDOID)
		return InvalidOid;
	operator = get_opfamily_member(type->btree_opf, type->btree_opintype, *value_type, BTEqualStrategyNumber);
	if (!OidIsValid(operator) && IsBinaryCoercible(*value_type, type->btree_opintype))
	{
		*value_type = type->btree_opintype;
		operator = get_opfamily_member(type->btree_opf, *value_type, *value_type, BTEqualStrategyNumber);
	}
	return operator;
}

/* Returns the share of the rows that have the value in a column, or a negative number if there are no statistics. */
static double
share_of_rows(PlannerInfo *root, Oid relation, AttrNumber column, bool inherited, double rows, Node *value, bool any)
{
	VariableStatData variable = {.statsTuple = NULL};
	RelOptInfo	rel = {.type = T_RelOptInfo, .tuples = rows};
	int32		typmod;
	Oid			collation;
	Oid			value_type = is_untyped_item(exprType(value)) ? TEXTOID : exprType(value);
	Oid			operator = InvalidOid;
	double		items = 1;
	double		share;

	variable.statsTuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relation), Int16GetDatum(column),
										  BoolGetDatum(inherited));
	if (!HeapTupleIsValid(variable.statsTuple))
		return -1;
	get_atttypetypmodcoll(relation, column, &variable.vartype, &typmod, &collation);
	variable.var = (Node *) makeVar(1, column, variable.vartype, typmod, collation, 0);
	variable.rel = &rel;
	variable.freefunc = ReleaseSysCache;
	variable.atttype = variable.vartype;
	variable.atttypmod = typmod;
	variable.acl_ok = true;

	if (any)
		items = OidIsValid(get_element_type(value_type)) ? sb_estimate_array_length(root, value) :
			ITEMS_OF_UNKNOWN_ARRAY;
	else if (!is_untyped_item(exprType(value)) || TypeCategory(variable.vartype) == TYPCATEGORY_STRING)
		operator = equality_operator(getBaseType(variable.vartype), &value_type);
	if (OidIsValid(operator) && IsA(value, Const))
		share = var_eq_const(&variable, operator, collation, ((Const *) value)->constvalue,
							 ((Const *) value)->constisnull, true, false);
	else
		share = var_eq_non_const(&variable, operator, collation, value, true, false);
	ReleaseVariableStats(variable);
	return Min(1, share * Max(items, 1));
}

/* Is this a constant of this type, and not NULL? */
static bool
is_known(const Node *node, Oid type)
{
	return IsA(node, Const) && !((const Const *) node)->constisnull && ((const Const *) node)->consttype == type;
}

/*
 * Returns how many rows a call is expected to return. Negative: this is not known. So it is for inheritance children,
 * since reltuples counts their rows with a partitioned table, but not with another parent.
 */
static double
estimate_rows(PlannerInfo *root, const FuncExpr *call, Oid relation)
{
	Node	   *name = estimate_expression_value(root, list_nth(call->args, CHUNK_SCAN_COLUMN));
	Node	   *value = estimate_expression_value(root, list_nth(call->args, CHUNK_SCAN_VALUE));
	Node	   *operator = estimate_expression_value(root, list_nth(call->args, CHUNK_SCAN_OPERATOR));
	FormData_pg_class form;
	AttrNumber	column;
	double		share;

	if (!is_known(operator, TEXTOID) || strcmp(TextDatumGetCString(((Const *) operator)->constvalue), "=") != 0)
		return -1;
	if (IsA(value, Const) && ((Const *) value)->constisnull)
		return 0;
	if (!is_known(name, NAMEOID) || !bf_index_class_form(relation, &form) || form.reltuples < 0 ||
		(form.relhassubclass && form.relkind != RELKIND_PARTITIONED_TABLE))
		return -1;
	column = get_attnum(relation, NameStr(*DatumGetName(((Const *) name)->constvalue)));
	if (column <= 0 || !may_read(relation, column))
		return -1;
	share = share_of_rows(root, relation, column, form.relkind == RELKIND_PARTITIONED_TABLE, form.reltuples, value,
						  strcmp(get_func_name(call->funcid), "chunk_scan_any") == 0);
	return share < 0 ? -1 : form.reltuples * share;
}

/* ----------------------------------------------------------------- the parent's columns */

/* The columns of a call among those of its entry in FROM, which may have ROWS FROM () or WITH ORDINALITY. */
typedef struct CallColumns
{
	Index		relid;			/* number of the entry */
	int			before;			/* how many columns stand before those of the call */
	int			count;			/* how many columns the parent had when the call was parsed */
	TupleDesc	now;			/* the parent's */
} CallColumns;

/* Does an expression or query name a column of the call that is gone, or has another type now? */
static bool
names_other_columns(Node *node, int level, const CallColumns *call)
{
	ListCell   *cell;

	foreach(cell, pull_vars_of_level(node, level))
	{
		const Var  *var = lfirst(cell);
		const PlaceHolderVar *held = lfirst(cell);
		int			number;

		if (IsA(held, PlaceHolderVar))
		{
			if (names_other_columns((Node *) held->phexpr, held->phlevelsup, call))
				return true;
			continue;
		}
		number = var->varattno - call->before;
		if (var->varno == (int) call->relid && number > 0 && number <= call->count &&
			(TupleDescAttr(call->now, number - 1)->attisdropped ||
			 TupleDescAttr(call->now, number - 1)->atttypid != var->vartype))
			return true;
	}
	return false;
}

/* Does the parent have a column that it did not have when the call was parsed? */
static bool
has_more_columns(const CallColumns *call)
{
	for (int i = call->count; i < call->now->natts; i++)
		if (!TupleDescAttr(call->now, i)->attisdropped)
			return true;
	return false;
}

/*
 * Makes the plan depend on the parent: PostgreSQL makes it again when the parent's columns have changed. Raises an
 * error if the query was parsed with other columns. One that was added counts too, for a * stands for it, but not in
 * views and in SQL functions whose body is kept as a parse tree: there, as for a table, a * is what it was when they
 * were made. (Kept parse trees have no locations in a text.)
 */
static void
depend_on_columns(PlannerInfo *root, const FuncExpr *call, Oid parent)
{
	CallColumns columns = {.now = lookup_rowtype_tupdesc_noerror(get_rel_type_id(parent), -1, true)};
	bool		changed = false;

	if (columns.now == NULL)
		return;
	for (columns.relid = 1; (int) columns.relid < root->simple_rel_array_size; columns.relid++)
	{
		const RangeTblEntry *rte = root->simple_rte_array[columns.relid];
		const AppendRelInfo *member = root->append_rel_array == NULL ? NULL : root->append_rel_array[columns.relid];
		ListCell   *cell;

		if (rte == NULL || rte->rtekind != RTE_FUNCTION)
			continue;
		columns.before = 0;
		foreach(cell, rte->functions)
		{
			const RangeTblFunction *function = lfirst(cell);

			columns.count = function->funccolcount;
			if (function->funcexpr == (Node *) call)
				changed |= (call->location >= 0 && has_more_columns(&columns)) ||
					names_other_columns((Node *) root->parse, 0, &columns) ||
					(member != NULL && names_other_columns((Node *) member->translated_vars, 0, &columns));
			columns.before += columns.count;
		}
	}
	ReleaseTupleDesc(columns.now);
	if (changed)
		chunk_report_changed(get_rel_name(parent));
	root->glob->relationOids = list_append_unique_oid(root->glob->relationOids, parent);
}

SB_FUNCTION(chunk_scan_support);
Datum
chunk_scan_support(PG_FUNCTION_ARGS)
{
	SupportRequestRows *request = (SupportRequestRows *) PG_GETARG_POINTER(0);
	const FuncExpr *call;
	Oid			row_type;
	Oid			relation;
	double		rows;

	if (!IsA(request, SupportRequestRows) || request->root == NULL || request->node == NULL ||
		!IsA(request->node, FuncExpr) || list_length(((FuncExpr *) request->node)->args) != CHUNK_SCAN_ARGUMENTS)
		PG_RETURN_POINTER(NULL);
	call = (const FuncExpr *) request->node;
	row_type = exprType(list_nth(call->args, CHUNK_SCAN_RELATION));
	if (!SearchSysCacheExists1(TYPEOID, ObjectIdGetDatum(row_type)))
		chunk_report_dropped(row_type);
	relation = get_typ_typrelid(row_type);
	if (!OidIsValid(relation) || get_rel_name(relation) == NULL)
		PG_RETURN_POINTER(NULL);
	depend_on_columns(request->root, call, relation);
	rows = estimate_rows(request->root, call, relation);
	if (rows < 0)
		PG_RETURN_POINTER(NULL);
	request->rows = clamp_row_est(rows);
	PG_RETURN_POINTER(request);
}
