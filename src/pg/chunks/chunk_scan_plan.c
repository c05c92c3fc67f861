/*
 * chunk_scan_plan.c: puts the node ChunkScan into plans, in place of the function scan of chunk_scan() or
 * chunk_scan_any().
 */
#include "chunks/chunk_scan_node.h"

#include "access/htup_details.h"
#include "catalog/pg_language_d.h"
#include "catalog/pg_proc.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/syscache.h"

bool		chunk_scan_enabled = true;

extern Datum chunk_scan(PG_FUNCTION_ARGS);
extern Datum chunk_scan_any(PG_FUNCTION_ARGS);

/* --------------------------------------------------------------- which functions */

/* Is the source of this function in C, with one of the two names? This is cheap, and true for few functions. */
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
 * Is this a call of chunk_scan() or chunk_scan_any()? They are recognized by their code, whatever their name and
 * schema. If a function has settings of its own (ALTER FUNCTION ... SET), is SECURITY DEFINER, or is watched by
 * another extension (fmgr_hook), then PostgreSQL calls other code first. In these cases the function is called.
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

/* ------------------------------------------------------------------------ planning */

/*
 * Can the condition be tested where the chunks are read? It then becomes a part of another query, so it may not have
 * sub-plans, and it may be evaluated more often or less often than before, so it may not be volatile. A row of the
 * function's row type does not exist there yet.
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

/* The columns of the function's rows that an expression uses. They are added to a target list. */
static List *
add_columns(List *columns, Node *expression, Index relid)
{
	List	   *variables = pull_var_clause(expression, PVC_RECURSE_PLACEHOLDERS);
	ListCell   *cell;

	foreach(cell, variables)
	{
		Var		   *variable = lfirst_node(Var, cell);
		ListCell   *inner;
		bool		found = false;

		/* the others belong to outer relations, and become parameters */
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

/* The next column from this one on, counted from 0, that is not dropped: a column that is has no name. */
static int
next_column(const RangeTblEntry *rte, int from)
{
	while (from < list_length(rte->eref->colnames) && strVal(list_nth(rte->eref->colnames, from))[0] == '\0')
		from++;
	return from;
}

/*
 * How many columns the parent had when the query was analyzed, if the query selects all of them one after the other, as *
 * does; otherwise 0.
 */
static int
columns_of_star(const PlannerInfo *root, const RangeTblEntry *rte, Index relid)
{
	int			count = list_length(rte->eref->colnames);
	int			first = next_column(rte, 0);
	int			expected = first;
	ListCell   *cell;

	foreach(cell, root->parse->targetList)
	{
		const Var  *value = (const Var *) lfirst_node(TargetEntry, cell)->expr;
		bool		is_column = IsA(value, Var) && value->varno == relid && value->varlevelsup == 0;

		if (expected == count)
			break;
		if (!is_column || value->varattno != expected + 1)
			expected = first;	/* it may be the first one of another run */
		if (is_column && value->varattno == expected + 1)
			expected = next_column(rte, expected + 1);
	}
	return expected == count ? count : 0;
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
	/* The planner may give the node another target list later, of whatever the nodes above need of the relation. */
	columns = add_columns(NIL, (Node *) rel->reltarget->exprs, rel->relid);
	columns = add_columns(columns, (Node *) target_list, rel->relid);
	columns = add_columns(columns, (Node *) others, rel->relid);
	columns = add_columns(columns, (Node *) conditions, rel->relid);
	foreach(cell, columns)
		numbers = lappend_int(numbers, ((Var *) lfirst_node(TargetEntry, cell)->expr)->varattno);

	scan->scan.plan.targetlist = target_list;
	scan->scan.plan.qual = others;
	scan->scan.scanrelid = 0;	/* the executor would open the relation */
	scan->flags = path->flags;
	scan->custom_scan_tlist = columns;
	scan->custom_exprs = list_make2(call, conditions);
	scan->custom_private = list_make3(numbers, list_make1_int(any), list_make1_int(columns_of_star(root, rte, rel->relid)));
	scan->methods = &chunk_scan_scan_methods;
	return (Plan *) scan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "ChunkScan",
	.PlanCustomPath = make_plan,
};

/*
 * The node does what the function does, and returns the first row earlier. So it costs as much as the function scan,
 * but most of it not before the first row.
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
	bool		any;

	if (!chunk_scan_enabled || rte->rtekind != RTE_FUNCTION || rte->funcordinality ||
		list_length(rte->functions) != 1 || rel->pathlist == NIL)
		return;
	function_scan = linitial(rel->pathlist);
	if (function_scan->pathtype != T_FunctionScan ||
		!is_call(linitial_node(RangeTblFunction, rte->functions)->funcexpr, &any))
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
							 &chunk_scan_enabled, true, PGC_USERSET, 0, NULL, NULL, NULL);
	RegisterCustomScanMethods(&chunk_scan_scan_methods);
}
