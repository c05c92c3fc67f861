/*
 * chunk_question.c: finds the conditions that the `bf` indexes of a chunk can answer, and opens chunks and their
 * indexes. See chunk_question.h.
 */
#include "chunks/chunk_question.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "rewrite/rewriteManip.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"

#include "index/functions.h"
#include "index/handler.h"

bool
chunk_has_method(Oid index, Oid method)
{
	FormData_pg_class form;

	return bf_index_class_form(index, &form) && form.relam == method;
}

Relation
chunk_try_open(Oid oid)
{
	Relation	relation;

	LockRelationOid(oid, AccessShareLock);
	relation = RelationIdGetRelation(oid);
	if (!RelationIsValid(relation))
	{
		UnlockRelationOid(oid, AccessShareLock);
		return NULL;
	}
	pgstat_init_relation(relation);
	return relation;
}

/* Can the answers of the index be relied on? The conditions are those under which the planner uses an index. */
static bool
is_usable(Relation index, Relation heap, Oid method)
{
	Form_pg_index form = index->rd_index;

	return index->rd_rel->relkind == RELKIND_INDEX && index->rd_rel->relam == method && form != NULL &&
		form->indrelid == RelationGetRelid(heap) && form->indisvalid && form->indisready && form->indislive &&
		!(form->indcheckxmin &&
		  !TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data), TransactionXmin));
}

Relation
chunk_open_index(Relation heap, Oid oid, Oid method)
{
	Relation	index = chunk_try_open(oid);

	if (index == NULL || is_usable(index, heap, method))
		return index;
	relation_close(index, AccessShareLock);
	return NULL;
}

/* -------------------------------------------------------------------- keys */

Node *
chunk_without_relabels(Node *node)
{
	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node;
}

/* Is the operand the column or expression that this column of the index stands for? */
static bool
is_index_column(const IndexOptInfo *index, int column, Index varno, Node *operand)
{
	int			number = 0;

	operand = chunk_without_relabels(operand);
	if (operand == NULL)
		return false;
	if (IsA(operand, Var))
	{
		const Var  *var = (const Var *) operand;

		return var->varno == varno && var->varlevelsup == 0 && var->varattno != 0 &&
			var->varattno == index->indexkeys[column];
	}
	if (index->indexkeys[column] != 0)
		return false;
	for (int i = 0; i < column; i++)
		number += index->indexkeys[i] == 0;
	return equal(chunk_without_relabels(list_nth(index->indexprs, number)), operand);
}

/* Can the expression be evaluated without a row of the table, and has it the same value for all its rows? */
static bool
is_argument(Node *node, Index varno)
{
	return !bms_is_member(varno, pull_varnos(NULL, node)) && !contain_volatile_functions(node) &&
		!contain_subplans(node);
}

/*
 * Sets what a key says of its operator, and returns whether the column of the index can answer this operator under the
 * key's collation. The operator must be in the column's operator family, and the collation must be the column's, if
 * the column has one. The operator's function must be immutable: with any other function the executor could find other
 * rows than the index. And it must be strict: the callers take it for granted that no row matches a value that is
 * NULL, and no NULL in the column matches any value.
 */
static bool
set_operator(const IndexOptInfo *index, QuestionKey *key, Oid operator)
{
	const int	column = key->column - 1;
	int			strategy;
	Oid			left_type;

	if ((OidIsValid(index->indexcollations[column]) && index->indexcollations[column] != key->collation) ||
		!op_in_opfamily(operator, index->opfamily[column]))
		return false;
	get_op_opfamily_properties(operator, index->opfamily[column], false, &strategy, &left_type, &key->subtype);
	key->strategy = strategy;
	key->function = get_opcode(operator);
	return func_volatile(key->function) == PROVOLATILE_IMMUTABLE && func_strict(key->function);
}

/*
 * Sets the argument, operator and collation of a key for this column of the index, and returns whether the comparison
 * "operand operator argument" gives it. Without an operator it is "operand IS NULL".
 */
static bool
set_key(const IndexOptInfo *index, int column, Index varno, Node *operand, Oid operator, Oid collation, Expr *argument,
		QuestionKey *key)
{
	if (!is_index_column(index, column, varno, operand))
		return false;
	*key = (QuestionKey) {.column = column + 1, .collation = collation, .argument = argument};
	if (argument != NULL)
		return set_operator(index, key, operator) && is_argument((Node *) argument, varno);
	key->flags = SK_ISNULL | SK_SEARCHNULL;
	return true;
}

/*
 * As set_key(), for a clause without an operator and a boolean column. The planner turns "operand = true" into
 * "operand", and "operand = false" into "NOT operand".
 */
static bool
set_boolean_key(const IndexOptInfo *index, int column, Index varno, Node *clause, QuestionKey *key)
{
	const bool	is_test = IsA(clause, BooleanTest);
	const BoolTestType test = is_test ? ((BooleanTest *) clause)->booltesttype : IS_TRUE;
	Expr	   *value = (Expr *) makeBoolConst(!is_notclause(clause) && test != IS_FALSE, false);

	if (test != IS_TRUE && test != IS_FALSE && test != IS_UNKNOWN)
		return false;
	return set_key(index, column, varno, is_notclause(clause) ? (Node *) get_notclausearg(clause) :
				   is_test ? (Node *) ((BooleanTest *) clause)->arg : clause,
				   BooleanEqualOperator, InvalidOid, test == IS_UNKNOWN ? NULL : value, key);
}

/* Sets the key that a clause gives for a column of the index, and returns whether there is one. */
static bool
find_key(const IndexOptInfo *index, int column, Index varno, Node *clause, QuestionKey *key)
{
	if (index->opcintype[column] == BOOLOID && set_boolean_key(index, column, varno, clause, key))
		return true;
	if (IsA(clause, OpExpr) && list_length(((OpExpr *) clause)->args) == 2)
	{
		OpExpr	   *comparison = (OpExpr *) clause;
		Node	   *left = linitial(comparison->args);
		Node	   *right = lsecond(comparison->args);

		return set_key(index, column, varno, left, comparison->opno, comparison->inputcollid, (Expr *) right, key) ||
			set_key(index, column, varno, right, get_commutator(comparison->opno), comparison->inputcollid,
					(Expr *) left, key);
	}
	if (IsA(clause, ScalarArrayOpExpr))
	{
		ScalarArrayOpExpr *comparison = (ScalarArrayOpExpr *) clause;

		if (!comparison->useOr || !set_key(index, column, varno, linitial(comparison->args), comparison->opno,
										   comparison->inputcollid, lsecond(comparison->args), key))
			return false;
		key->flags = SK_SEARCHARRAY;
		return true;
	}
	return IsA(clause, NullTest) && ((NullTest *) clause)->nulltesttype == IS_NULL &&
		!((NullTest *) clause)->argisrow &&
		set_key(index, column, varno, (Node *) ((NullTest *) clause)->arg, InvalidOid, InvalidOid, NULL, key);
}

bool
chunk_find_key(const IndexOptInfo *index, Index varno, Node *clause, QuestionKey *key)
{
	for (int column = 0; column < index->nkeycolumns; column++)
		if (find_key(index, column, varno, clause, key))
			return index->indpred == NIL || index->predOK ||
				predicate_implied_by(index->indpred, list_make1(clause), false);
	return false;
}

Node *
chunk_answered_part(const List *indexes, Index varno, Node *condition, List **used)
{
	List	   *parts = NIL;
	const int	used_before = used != NULL ? list_length(*used) : 0;
	const ListCell *cell;
	bool		found = false;

	if (is_andclause(condition) || is_orclause(condition))
	{
		foreach(cell, ((BoolExpr *) condition)->args)
		{
			Node	   *part = chunk_answered_part(indexes, varno, lfirst(cell), used);

			if (part != NULL)
				parts = lappend(parts, part);
			else if (is_orclause(condition))
			{
				if (used != NULL)
					*used = list_truncate(*used, used_before);
				return NULL;
			}
		}
		return parts == NIL ? NULL : is_orclause(condition) ? (Node *) make_orclause(parts) :
			(Node *) make_ands_explicit(parts);
	}
	foreach(cell, indexes)
	{
		const IndexOptInfo *index = lfirst_node(IndexOptInfo, cell);
		QuestionKey key;

		if (!chunk_find_key(index, varno, condition, &key))
			continue;
		found = true;
		if (used != NULL)
			*used = list_append_unique_oid(*used, index->indexoid);
	}
	return found ? condition : NULL;
}

/* -------------------------------------------------------------- indexes */

static Oid *
copy_oids(const Oid *oids, int count)
{
	return memcpy(palloc(count * sizeof(Oid)), oids, count * sizeof(Oid));
}

IndexOptInfo *
chunk_index_info(Relation index, Index varno)
{
	const int	count = IndexRelationGetNumberOfKeyAttributes(index);
	IndexOptInfo *info = makeNode(IndexOptInfo);

	info->indexoid = RelationGetRelid(index);
	info->nkeycolumns = count;
	info->indexkeys = palloc(count * sizeof(int));
	for (int i = 0; i < count; i++)
		info->indexkeys[i] = index->rd_index->indkey.values[i];
	info->indexcollations = copy_oids(index->rd_indcollation, count);
	info->opfamily = copy_oids(index->rd_opfamily, count);
	info->opcintype = copy_oids(index->rd_opcintype, count);
	info->indexprs = RelationGetIndexExpressions(index);
	info->indpred = RelationGetIndexPredicate(index);
	ChangeVarNodes((Node *) info->indexprs, 1, varno, 0);
	ChangeVarNodes((Node *) info->indpred, 1, varno, 0);
	return info;
}

List *
chunk_indexes_of(Oid table, Index varno)
{
	Oid			method = bf_index_am_oid();
	Relation	relation = table_open(table, NoLock);
	List	   *result = NIL;
	ListCell   *cell;

	if (OidIsValid(method))
		foreach(cell, RelationGetIndexList(relation))
			if (chunk_has_method(lfirst_oid(cell), method))
			{
				Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

				result = lappend(result, chunk_index_info(index, varno));
				index_close(index, NoLock);
			}
	table_close(relation, NoLock);
	return result;
}

bool
chunk_is_plain_value(const Node *node, const EState *estate)
{
	ListCell   *cell;

	node = chunk_without_relabels((Node *) node);
	if (IsA(node, ArrayExpr) && !((const ArrayExpr *) node)->multidims)
	{
		foreach(cell, ((const ArrayExpr *) node)->elements)
			if (!chunk_is_plain_value(lfirst(cell), estate))
				return false;
		return true;
	}
	if (IsA(node, Param) && ((const Param *) node)->paramkind == PARAM_EXEC && estate != NULL)
		return estate->es_param_exec_vals[((const Param *) node)->paramid].execPlan == NULL;
	return IsA(node, Const) || IsA(node, Param);
}
