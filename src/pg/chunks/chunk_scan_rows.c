/*
 * chunk_scan_rows.c: estimates how many rows chunk_scan() and chunk_scan_any() return. Both functions have the SUPPORT
 * function chunk_scan_support(), which the planner calls for this.
 *
 * The estimate is that of column = value, or column = ANY (values), on the parent. It uses the statistics that ANALYZE
 * has made for the parent with its partitions or children. Autovacuum does not analyze partitioned tables, so these
 * statistics may be missing. Then, and for other operators than =, there is no estimate: the planner expects the number
 * of rows that CREATE FUNCTION names (ROWS).
 *
 * Nobody may learn from an estimate what he may not read. So there is no estimate if the user may not read the
 * compared column, or if row-level security applies.
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/builtins.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "base/own_types.h"
#include "chunks/chunk_scan_node.h"
#include "index/functions.h"

#include <math.h>

/* How many items an array of unknown length is expected to have; PostgreSQL expects as many. */
#define ITEMS_OF_UNKNOWN_ARRAY 10

extern Datum chunk_scan_any(PG_FUNCTION_ARGS);

/* May the user read this column in all rows of the relation? */
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
 * Returns the number of rows of the relation and its children. A relation whose number of rows is not known is left
 * out; if that is so for all of them, the result is negative. Sets *has_children to whether there may be children.
 */
static double
rows_of_relation(Oid relation, bool *has_children)
{
	FormData_pg_class form;
	double		rows = -1;
	bool		partitioned = false;

	*has_children = false;
	if (bf_index_class_form(relation, &form))
	{
		rows = form.reltuples;
		partitioned = form.relkind == RELKIND_PARTITIONED_TABLE;
		*has_children = partitioned || form.relhassubclass;
	}
	/* reltuples of a partitioned table counts the rows of its partitions. Other parents count only their own rows. */
	if (*has_children && !partitioned)
	{
		List	   *children = find_inheritance_children(relation, NoLock);
		ListCell   *cell;

		foreach(cell, children)
		{
			bool		ignored;
			const double of_child = rows_of_relation(lfirst_oid(cell), &ignored);

			if (of_child >= 0)
				rows = Max(rows, 0) + of_child;
		}
		list_free(children);
	}
	return rows;
}

/*
 * Returns the equality operator that compares a column of this type with a value of *value_type, and sets *value_type
 * to the type that the operator takes. Returns InvalidOid if the operator cannot be told easily.
 */
static Oid
equality_operator(Oid column_type, Oid *value_type)
{
	TypeCacheEntry *type = lookup_type_cache(column_type, TYPECACHE_BTREE_OPFAMILY);
	Oid			operator;

	if (!OidIsValid(type->btree_opf))
		return InvalidOid;
	/* For arrays, ranges or rows the family has one operator. It raises an error if the two sides differ in type. */
	if ((IsPolymorphicType(type->btree_opintype) || type->btree_opintype == RECORDOID) &&
		getBaseType(*value_type) != column_type)
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
	RelOptInfo	rel = {.type = T_RelOptInfo};
	Oid			type;
	int32		typmod;
	Oid			collation;
	Oid			value_type = exprType(value);
	Oid			operator;
	double		items = 1;
	double		share;

	get_atttypetypmodcoll(relation, column, &type, &typmod, &collation);
	variable.statsTuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relation), Int16GetDatum(column),
										  BoolGetDatum(inherited));
	if (!HeapTupleIsValid(variable.statsTuple))
		return -1;
	rel.tuples = rows;
	variable.var = (Node *) makeVar(1, column, type, typmod, collation, 0);
	variable.rel = &rel;
	variable.freefunc = ReleaseSysCache;
	variable.vartype = variable.atttype = type;
	variable.atttypmod = typmod;
	variable.acl_ok = true;

	if (any)
	{
		items = OidIsValid(get_element_type(value_type)) ? sb_estimate_array_length(root, value) :
			ITEMS_OF_UNKNOWN_ARRAY;
		operator = InvalidOid;
	}
	else if (is_untyped_item(value_type) && TypeCategory(type) != TYPCATEGORY_STRING)
		operator = InvalidOid;	/* the literal is not converted here, so its value is not known */
	else
	{
		if (is_untyped_item(value_type))
			value_type = TEXTOID;
		operator = equality_operator(getBaseType(type), &value_type);
	}
	if (OidIsValid(operator) && IsA(value, Const))
		share = var_eq_const(&variable, operator, collation, ((Const *) value)->constvalue,
							 ((Const *) value)->constisnull, true, false);
	else
		share = var_eq_non_const(&variable, operator, collation, value, true, false);
	ReleaseVariableStats(variable);
	return Min(1, share * Max(items, 1));
}

/* Is this the argument "="? */
static bool
is_equals(const Node *operator)
{
	const Const *constant = (const Const *) operator;

	return IsA(operator, Const) && !constant->constisnull && constant->consttype == TEXTOID &&
		strcmp(TextDatumGetCString(constant->constvalue), "=") == 0;
}

/* Returns how many rows a call is expected to return. Negative: this is not known, as for operators other than =. */
static double
estimate_rows(PlannerInfo *root, const FuncExpr *call)
{
	Oid			relation = get_typ_typrelid(exprType(list_nth(call->args, CHUNK_SCAN_RELATION)));
	Node	   *name = list_nth(call->args, CHUNK_SCAN_COLUMN);
	Node	   *value = list_nth(call->args, CHUNK_SCAN_VALUE);
	FmgrInfo	function;
	AttrNumber	column;
	bool		has_children;
	double		rows;
	double		share;

	if (root == NULL || !OidIsValid(relation) || get_rel_name(relation) == NULL ||
		!is_equals(estimate_expression_value(root, list_nth(call->args, CHUNK_SCAN_OPERATOR))))
		return -1;
	name = estimate_expression_value(root, name);
	value = estimate_expression_value(root, value);
	if (IsA(value, Const) && ((Const *) value)->constisnull)
		return 0;
	if (!IsA(name, Const) || ((Const *) name)->constisnull || ((Const *) name)->consttype != NAMEOID)
		return -1;
	column = get_attnum(relation, NameStr(*DatumGetName(((Const *) name)->constvalue)));
	if (column <= 0 || !may_read(relation, column))
		return -1;
	rows = rows_of_relation(relation, &has_children);
	if (rows < 0)
		return -1;
	fmgr_info(call->funcid, &function);
	share = share_of_rows(root, relation, column, has_children, rows, value, function.fn_addr == chunk_scan_any);
	return share < 0 ? -1 : rows * share;
}

SB_FUNCTION(chunk_scan_support);
Datum
chunk_scan_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestRows))
	{
		SupportRequestRows *of_rows = (SupportRequestRows *) request;
		double		rows;

		if (of_rows->node != NULL && IsA(of_rows->node, FuncExpr) &&
			list_length(((FuncExpr *) of_rows->node)->args) == CHUNK_SCAN_ARGUMENTS)
		{
			rows = estimate_rows(of_rows->root, (FuncExpr *) of_rows->node);
			if (rows >= 0)
			{
				of_rows->rows = clamp_row_est(rows);
				PG_RETURN_POINTER(of_rows);
			}
		}
	}
	PG_RETURN_POINTER(NULL);
}
