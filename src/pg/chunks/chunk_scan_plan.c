/*
 * chunk_scan_plan.c: puts the node ChunkScan into plans, in place of the function scan of chunk_scan() or
 * chunk_scan_any().
 */
#include "chunks/chunk_scan_node.h"

#include "access/htup_details.h"
#include "catalog/pg_language_d.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "chunks/chunk_snapshot.h"

bool		chunk_scan_enabled = true;

extern Datum chunk_scan(PG_FUNCTION_ARGS);
extern Datum chunk_scan_any(PG_FUNCTION_ARGS);

/* --------------------------------------------------------------- which functions */

/*
 * Is this a C function whose name in C is chunk_scan or chunk_scan_any? The test is cheap, and true for few
 * functions.
 */
static bool
has_name_in_c(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	bool		result = false;

	if (!HeapTupleIsValid(tuple))
		return false;
	if (((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId)
	{
		bool		null;
		Datum		source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &null);

		if (!null)
		{
			char	   *name = TextDatumGetCString(source);

			result = strcmp(name, "chunk_scan") == 0 || strcmp(name, "chunk_scan_any") == 0;
			pfree(name);
		}
	}
	ReleaseSysCache(tuple);
	return result;
}

/*
 * Is this a call of chunk_scan() or chunk_scan_any()? Sets *any. The functions are recognized by their code, whatever
 * their name and schema. If a function has settings of its own (ALTER FUNCTION ... SET), is SECURITY DEFINER, or is
 * watched by another extension (fmgr_hook), then PostgreSQL calls other code first. Such a function is not recognized
 * here, and is called as always.
 */
static bool
is_call(const Node *node, bool *any)
{
	const FuncExpr *call = (const FuncExpr *) node;
	FmgrInfo	function;

	if (!IsA(node, FuncExpr) || !call->funcretset || list_length(call->args) != CHUNK_SCAN_ARGUMENTS ||
		!has_name_in_c(call->funcid))
		return false;
	fmgr_info(call->funcid, &function);
	*any = function.fn_addr == chunk_scan_any;
	return *any || function.fn_addr == chunk_scan;
}

/* Is the first argument of this call a relation's name? The function refuses it, so the call gets no node. */
static bool
has_name_as_relation(const Node *call)
{
	const Oid	type = exprType(list_nth(((const FuncExpr *) call)->args, CHUNK_SCAN_RELATION));

	return type == TEXTOID || type == REGCLASSOID;
}

/* ------------------------------------------------------------------------ planning */

/*
 * Can the condition be tested where the chunks are read? It must not be volatile, because it may be evaluated more
 * often or less often there. It must not have sub-plans, because it becomes a part of another query. It must not be
 * one that has to be tested after a security qual. It must not use the whole row, because a row of the function's row
 * type does not exist there yet.
 */
static bool
is_tested_in_chunks(RestrictInfo *condition, RelOptInfo *rel)
{
	Node	   *clause = (Node *) condition->clause;
	List	   *variables;
	ListCell   *cell;
	bool		result = true;

	if (contain_volatile_functions(clause) || contain_subplans(clause) ||
		!restriction_is_securely_promotable(condition, rel))
		return false;
	variables = pull_var_clause(clause, PVC_RECURSE_PLACEHOLDERS);
	foreach(cell, variables)
		result &= lfirst_node(Var, cell)->varattno > 0;
	list_free(variables);
	return result;
}

List *
chunk_scan_add_columns(List *columns, Node *expression, Index relid)
{
	List	   *variables = pull_var_clause(expression, PVC_RECURSE_PLACEHOLDERS);
	ListCell   *cell;

	foreach(cell, variables)
	{
		Var		   *variable = lfirst_node(Var, cell);
		ListCell   *inner;
		bool		found = false;

		/* Vars of outer relations are left out: they become parameters */
		if (variable->varno != relid || variable->varlevelsup != 0)
			continue;
		foreach(inner, columns)
			found |= ((Var *) lfirst_node(TargetEntry, inner)->expr)->varattno == variable->varattno;
		if (!found)
			columns = lappend(columns,
							  makeTargetEntry((Expr *) copyObject(variable), list_length(columns) + 1, NULL, false));
	}
	return columns;
}

/* Returns the Vars in an expression or query that belong to the query `level` levels above it. */
static List *
variables_of(Node *node, int level)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, pull_vars_of_level(node, level))
	{
		PlaceHolderVar *held = lfirst(cell);

		if (IsA(held, PlaceHolderVar))
			result = list_concat(result, variables_of((Node *) held->phexpr, held->phlevelsup));
		else
			result = lappend(result, held);
	}
	return result;
}

/*
 * PostgreSQL can make the members of a UNION ALL children of the relation that stands for the UNION. The query itself
 * has only Vars of that relation then. For such a member, returns the Vars in the expressions that stand for the
 * UNION's columns; for any other relation, NIL.
 */
static List *
variables_of_member(const PlannerInfo *root, Index relid)
{
	const AppendRelInfo *member = root->append_rel_array == NULL ? NULL : root->append_rel_array[relid];

	return member == NULL ? NIL : variables_of((Node *) member->translated_vars, 0);
}

/*
 * Does the query itself use the whole row? The planner also adds the whole row to the target list if only
 * EvalPlanQual may need it, when the row of another table was changed meanwhile. This does not count, since the user
 * sees nothing of it.
 */
static bool
uses_whole_row(const PlannerInfo *root, Index relid)
{
	Query		query = *root->parse;
	ListCell   *cell;

	query.targetList = NIL;
	foreach(cell, root->parse->targetList)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);

		if (!entry->resjunk || entry->resname == NULL || strncmp(entry->resname, "wholerow", strlen("wholerow")) != 0)
			query.targetList = lappend(query.targetList, entry);
	}
	foreach(cell, list_concat(variables_of((Node *) &query, 0), variables_of_member(root, relid)))
		if (lfirst_node(Var, cell)->varno == (int) relid && lfirst_node(Var, cell)->varattno == 0)
			return true;
	return false;
}

/*
 * Does a * in the query stand for columns of this function? All Vars that come from one * have the same location:
 * that of the * in the query's text. If the function has only one column, a * and the column's name cannot be told
 * apart in this way. Then a * is assumed.
 */
static bool
has_star(const PlannerInfo *root, Index relid, int columns)
{
	List	   *outputs = variables_of_member(root, relid);
	ListCell   *cell;

	if (outputs == NIL)
		outputs = list_concat(variables_of((Node *) root->parse->targetList, 0),
							  variables_of((Node *) root->parse->returningList, 0));
	foreach(cell, outputs)
	{
		const Var  *column = lfirst_node(Var, cell);
		ListCell   *inner;

		if (column->varno != (int) relid || column->varattno <= 0)
			continue;
		if (columns == 1)
			return true;
		foreach(inner, outputs)
		{
			const Var  *other = lfirst_node(Var, inner);

			if (column->location >= 0 && other->location == column->location &&
				(other->varno != column->varno || other->varattno != column->varattno))
				return true;
		}
	}
	return false;
}

/*
 * Returns how many columns the parent had when the query was parsed, if the query has a *. Such a query wants the
 * columns that were added to the parent since then.
 *
 * Returns INT_MAX for other queries. This includes the queries of views, and of SQL functions whose body is kept as a
 * parse tree. There, as for a table, a * stands for the columns that the parent had when the view or function was
 * made. Such queries are recognized because kept parse trees have no locations in a text.
 */
static int
columns_of_star(const PlannerInfo *root, Index relid, const RangeTblFunction *function)
{
	int			live = 0;
	ListCell   *cell;

	foreach(cell, root->simple_rte_array[relid]->eref->colnames)
		live += strVal(lfirst(cell))[0] != '\0';
	return ((FuncExpr *) function->funcexpr)->location >= 0 && has_star(root, relid, live) ?
		function->funccolcount : INT_MAX;
}

bool
chunk_scan_lacks_columns(TupleDesc columns, int of_star)
{
	for (int i = of_star; i < columns->natts; i++)
		if (!TupleDescAttr(columns, i)->attisdropped)
			return true;
	return false;
}

/*
 * Makes the plan depend on the parent's columns, also for a call that does not become a node. PostgreSQL does not
 * know that the function call depends on these columns. So the parent is added to relationOids: then PostgreSQL makes
 * a kept plan again when the columns have changed. Raises an error if the query has a * and a column was added.
 */
static void
depend_on_columns(PlannerInfo *root, Index relid, const RangeTblFunction *function)
{
	Node	   *row = linitial(((FuncExpr *) function->funcexpr)->args);
	Oid			parent = get_typ_typrelid(exprType(row));
	TupleDesc	columns = OidIsValid(parent) ? lookup_rowtype_tupdesc_noerror(exprType(row), -1, true) : NULL;
	bool		lacks_columns;

	if (columns == NULL)
		return;
	lacks_columns = chunk_scan_lacks_columns(columns, columns_of_star(root, relid, function));
	ReleaseTupleDesc(columns);
	if (lacks_columns)
		chunk_report_changed(get_rel_name(parent));
	root->glob->relationOids = list_append_unique_oid(root->glob->relationOids, parent);
}

static Plan *
make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target_list, List *clauses, List *children)
{
	CustomScan *scan = makeNode(CustomScan);
	RangeTblEntry *rte = root->simple_rte_array[rel->relid];
	Node	   *call = linitial_node(RangeTblFunction, rte->functions)->funcexpr;
	List	   *conditions = NIL;
	List	   *others = NIL;
	List	   *columns;
	List	   *numbers = NIL;
	bool		any = false;
	ListCell   *cell;

	(void) children;
	(void) is_call(call, &any);
	foreach(cell, clauses)
	{
		RestrictInfo *condition = lfirst_node(RestrictInfo, cell);

		if (condition->pseudoconstant)
			continue;
		if (is_tested_in_chunks(condition, rel))
			conditions = lappend(conditions, condition->clause);
		else
			others = lappend(others, condition->clause);
	}
	/*
	 * Later the planner may give the node another target list, with other columns that the nodes above need. reltarget
	 * has all columns that they need, so custom_scan_tlist has those of reltarget too.
	 */
	columns = chunk_scan_add_columns(NIL, (Node *) rel->reltarget->exprs, rel->relid);
	columns = chunk_scan_add_columns(columns, (Node *) target_list, rel->relid);
	columns = chunk_scan_add_columns(columns, (Node *) others, rel->relid);
	columns = chunk_scan_add_columns(columns, (Node *) conditions, rel->relid);
	foreach(cell, columns)
		numbers = lappend_int(numbers, ((Var *) lfirst_node(TargetEntry, cell)->expr)->varattno);

	scan->scan.plan.targetlist = target_list;
	scan->scan.plan.qual = others;
	scan->scan.scanrelid = 0;	/* for another number the executor would open a relation */
	scan->flags = path->flags;
	scan->custom_scan_tlist = columns;
	scan->custom_exprs = list_make2(call, conditions);
	scan->custom_private = list_make4(numbers, list_make1_int(any),
									  uses_whole_row(root, rel->relid) ?
									  numbers : list_delete_int(list_copy(numbers), 0),
									  list_make1_int(columns_of_star(root, rel->relid, linitial(rte->functions))));
	scan->methods = &chunk_scan_scan_methods;
	return (Plan *) scan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "ChunkScan",
	.PlanCustomPath = make_plan,
};

/*
 * The node does what the function does, and returns the first row earlier. So its total cost is that of the function
 * scan, and its first row costs little.
 */
static void
set_costs(Path *path, const Path *function_scan)
{
	path->rows = function_scan->rows;
	path->total_cost = function_scan->total_cost;
	path->startup_cost = Min(function_scan->startup_cost, cpu_tuple_cost);
#if PG_VERSION_NUM >= 180000
	path->disabled_nodes = function_scan->disabled_nodes;
#endif
}

void
chunk_scan_add_path(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte)
{
	const Path *function_scan;
	CustomPath *custom;
	Path	   *path;
	ListCell   *cell;
	bool		any;

	if (rte->rtekind != RTE_FUNCTION)
		return;
	foreach(cell, rte->functions)
		if (is_call(lfirst_node(RangeTblFunction, cell)->funcexpr, &any))
			depend_on_columns(root, rel->relid, lfirst(cell));
	if (!chunk_scan_enabled || rte->funcordinality || list_length(rte->functions) != 1 || rel->pathlist == NIL)
		return;
	function_scan = linitial(rel->pathlist);
	if (function_scan->pathtype != T_FunctionScan ||
		!is_call(linitial_node(RangeTblFunction, rte->functions)->funcexpr, &any) ||
		has_name_as_relation(linitial_node(RangeTblFunction, rte->functions)->funcexpr))
		return;

	custom = makeNode(CustomPath);
	path = &custom->path;
	path->pathtype = T_CustomScan;
	path->parent = rel;
	path->pathtarget = rel->reltarget;
	path->param_info = function_scan->param_info;
	path->parallel_safe = false;
	set_costs(path, function_scan);
	custom->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	custom->methods = &path_methods;
	rel->pathlist = NIL;
	add_path(rel, path);
}

void
chunk_scan_init(void)
{
	DefineCustomBoolVariable("streambloom.enable_chunk_scan",
							 "Lets chunk_scan() in FROM return its rows as they are found.",
							 "Otherwise all rows are collected first. The rows are the same.",
							 &chunk_scan_enabled, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	RegisterCustomScanMethods(&chunk_scan_scan_methods);
}
