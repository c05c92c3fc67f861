/*
 * chunk_conditions.c: turns conditions of a plan node into conditions of the chunks' queries (see
 * chunk_conditions.h).
 */
#include "chunks/chunk_conditions.h"

#include "access/sysattr.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

/* A parameter in the conditions. */
typedef struct ConditionParameter
{
	Param	   *param;
	ExprState  *expression;
} ConditionParameter;

/* A ParamFetchHook: returns the value of a parameter of the chunks' queries, and evaluates it the first time. */
static ParamExternData *
fetch_parameter(ParamListInfo parameters, int number, bool speculative, ParamExternData *workspace)
{
	ParamExternData *result = &parameters->params[number - 1];

	(void) speculative;
	(void) workspace;
	if (!OidIsValid(result->ptype))
	{
		ChunkConditions *of_node = parameters->paramFetchArg;
		ConditionParameter *parameter = list_nth(of_node->parameters, number - 1);
		MemoryContext caller;
		int16		length;
		bool		by_value;

		get_typlenbyval(parameter->param->paramtype, &length, &by_value);
		result->value = ExecEvalExprSwitchContext(parameter->expression, of_node->node->ps_ExprContext,
												  &result->isnull);
		caller = MemoryContextSwitchTo(of_node->context);
		if (!result->isnull)
			result->value = datumCopy(result->value, by_value, length);
		MemoryContextSwitchTo(caller);
		result->ptype = parameter->param->paramtype;
	}
	return result;
}

static bool
prepare_parameters(Node *node, ChunkConditions *of_node)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
	{
		ConditionParameter *parameter = palloc(sizeof(ConditionParameter));

		parameter->param = (Param *) node;
		parameter->expression = ExecInitExpr((Expr *) node, of_node->node);
		of_node->parameters = lappend(of_node->parameters, parameter);
	}
	return expression_tree_walker(node, prepare_parameters, of_node);
}

void
chunk_conditions_begin(ChunkConditions *of_node, List *conditions, List *columns, PlanState *node)
{
	of_node->conditions = conditions;
	of_node->columns = columns;
	of_node->node = node;
	of_node->parameters = NIL;
	(void) prepare_parameters((Node *) conditions, of_node);
}

/* Returns the number that a Param of the conditions has in the chunks' queries. */
static int
number_of_parameter(const ChunkConditions *of_node, const Param *param)
{
	ListCell   *cell;

	foreach(cell, of_node->parameters)
		if (((ConditionParameter *) lfirst(cell))->param == param)
			return foreach_current_index(cell) + 1;
	elog(ERROR, "a parameter is not in the conditions of the node");
	return 0;
}

Node *
chunk_adapt_condition(Node *node, ChunkConditions *of_node)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		int			number = list_nth_int(of_node->columns, ((Var *) node)->varattno - 1);
		Form_pg_attribute column;

		Assert(number > 0 || number == TableOidAttributeNumber);
		if (number == TableOidAttributeNumber)
			return (Node *) makeVar(1, number, OIDOID, -1, InvalidOid, 0);
		column = TupleDescAttr(RelationGetDescr(of_node->parent), number - 1);
		return (Node *) makeVar(1, number, column->atttypid, column->atttypmod, column->attcollation, 0);
	}
	if (IsA(node, Param))
	{
		Param	   *param = copyObject((Param *) node);

		param->paramkind = PARAM_EXTERN;
		param->paramid = number_of_parameter(of_node, (Param *) node);
		return (Node *) param;
	}
	return expression_tree_mutator(node, chunk_adapt_condition, of_node);
}

List *
chunk_conditions_adapt(void *argument, ParamListInfo *parameters)
{
	ChunkConditions *of_node = argument;
	List	   *conditions = (List *) chunk_adapt_condition((Node *) of_node->conditions, of_node);
	int			count = list_length(of_node->parameters);

	if (count > 0)
	{
		*parameters = makeParamList(count);
		memset((*parameters)->params, 0, count * sizeof(ParamExternData));
		(*parameters)->paramFetch = fetch_parameter;
		(*parameters)->paramFetchArg = of_node;
	}
	return conditions;
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
