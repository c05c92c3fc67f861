/*
 * chunk_question.c: finds the questions that the `bf` indexes of a chunk can answer, and opens chunks and their
 * indexes. See chunk_question.h.
 */
#include "chunks/chunk_question.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
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

static Node *
without_relabels(Node *node)
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

	operand = without_relabels(operand);
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
	return equal(without_relabels(list_nth(index->indexprs, number)), operand);
}

static bool
has_column_of(Node *node, const Index *varno)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((Var *) node)->varno == *varno;
	return expression_tree_walker(node, has_column_of, (void *) varno);
}

/* Can the expression be evaluated without a row of the table, and has it the same value for all its rows? */
static bool
is_argument(Node *node, Index varno)
{
	return !has_column_of(node, &varno) && !contain_volatile_functions(node) && !contain_subplans(node);
}

/*
 * Can this column of an index answer the operator under this collation? The operator must be in the column's operator
 * family, and the collation must be the column's, if the column has one. The operator's function must be immutable:
 * with any other function the executor could find other rows than the index. And it must be strict: the callers take
 * it for granted that no row matches a value that is NULL, and no NULL in the column matches any value.
 */
static bool
is_answerable(const IndexOptInfo *index, int column, Oid operator, Oid collation, ChunkOperator *known)
{
	Oid			family = index->opfamily[column];

	if (OidIsValid(index->indexcollations[column]) && index->indexcollations[column] != collation)
		return false;
	if (known->family != family || known->operator != operator)
	{
		int			strategy = 0;
		Oid			left_type;

		known->family = family;
		known->operator = operator;
		if (op_in_opfamily(operator, family))
			get_op_opfamily_properties(operator, family, false, &strategy, &left_type, &known->right_type);
		known->function = get_opcode(operator);
		known->strategy = strategy != 0 && func_volatile(known->function) == PROVOLATILE_IMMUTABLE &&
			func_strict(known->function) ? strategy : InvalidStrategy;
	}
	return known->strategy != InvalidStrategy;
}

/*
 * Returns the key that a clause without an operator gives for a boolean column of the index, or NULL. The planner
 * turns "operand = true" into "operand", and "operand = false" into "NOT operand".
 */
static QuestionKey *
key_of_boolean_clause(const IndexOptInfo *index, int column, Index varno, Node *clause, ChunkOperator *known)
{
	QuestionKey *key = palloc0(sizeof(QuestionKey));
	bool		value = true;

	key->column = column + 1;
	if (is_notclause(clause))
	{
		value = false;
		clause = (Node *) get_notclausearg(clause);
	}
	else if (IsA(clause, BooleanTest))
	{
		BooleanTest *test = (BooleanTest *) clause;

		if (test->booltesttype == IS_FALSE)
			value = false;
		else if (test->booltesttype == IS_UNKNOWN)
			key->flags = SK_ISNULL | SK_SEARCHNULL;
		else if (test->booltesttype != IS_TRUE)
			return NULL;
		clause = (Node *) test->arg;
	}
	if (!is_index_column(index, column, varno, clause))
		return NULL;
	if (key->flags != 0)
		return key;
	if (!is_answerable(index, column, BooleanEqualOperator, InvalidOid, known))
		return NULL;
	key->argument = (Expr *) makeBoolConst(value, false);
	key->strategy = known->strategy;
	key->subtype = known->right_type;
	key->function = known->function;
	return key;
}

/* The key that a clause gives for a column of the index, or NULL. */
static QuestionKey *
key_of_clause(const IndexOptInfo *index, int column, Index varno, Node *clause, ChunkOperator *known)
{
	QuestionKey key = {.column = column + 1};
	Oid			operator;

	if (index->opcintype[column] == BOOLOID)
	{
		QuestionKey *of_boolean = key_of_boolean_clause(index, column, varno, clause, known);

		if (of_boolean != NULL)
			return of_boolean;
	}
	if (IsA(clause, OpExpr) && list_length(((OpExpr *) clause)->args) == 2)
	{
		OpExpr	   *comparison = (OpExpr *) clause;
		Node	   *left = linitial(comparison->args);
		Node	   *right = lsecond(comparison->args);

		operator = comparison->opno;
		key.collation = comparison->inputcollid;
		if (is_index_column(index, column, varno, right))
		{
			Node	   *swap = left;

			left = right;
			right = swap;
			operator = get_commutator(operator);
			if (!OidIsValid(operator))
				return NULL;
		}
		else if (!is_index_column(index, column, varno, left))
			return NULL;
		key.argument = (Expr *) right;
	}
	else if (IsA(clause, ScalarArrayOpExpr))
	{
		ScalarArrayOpExpr *comparison = (ScalarArrayOpExpr *) clause;

		if (!comparison->useOr || !is_index_column(index, column, varno, linitial(comparison->args)))
			return NULL;
		operator = comparison->opno;
		key.flags = SK_SEARCHARRAY;
		key.collation = comparison->inputcollid;
		key.argument = lsecond(comparison->args);
	}
	else if (IsA(clause, NullTest))
	{
		NullTest   *test = (NullTest *) clause;

		if (test->nulltesttype != IS_NULL || test->argisrow ||
			!is_index_column(index, column, varno, (Node *) test->arg))
			return NULL;
		key.flags = SK_ISNULL | SK_SEARCHNULL;
		return memcpy(palloc(sizeof key), &key, sizeof key);
	}
	else
		return NULL;
	if (!is_answerable(index, column, operator, key.collation, known) || !is_argument((Node *) key.argument, varno))
		return NULL;
	key.strategy = known->strategy;
	key.subtype = known->right_type;
	key.function = known->function;
	return memcpy(palloc(sizeof key), &key, sizeof key);
}

/*
 * Like chunk_keys_of_index(). All wanted rows satisfy the clauses `given` too: a partial index can be asked if both
 * lists together imply its predicate.
 */
static List *
keys_of_index(const IndexOptInfo *index, Index varno, List *clauses, List *given, ChunkOperator *known)
{
	List	   *keys = NIL;

	for (int column = 0; column < index->nkeycolumns; column++)
	{
		ListCell   *cell;

		foreach(cell, clauses)
		{
			QuestionKey *key = key_of_clause(index, column, varno, lfirst(cell), known);

			if (key != NULL)
				keys = lappend(keys, key);
		}
	}
	if (keys == NIL || index->indpred == NIL ||
		predicate_implied_by(index->indpred, list_concat_copy(clauses, given), false))
		return keys;
	return NIL;
}

List *
chunk_keys_of_index(const IndexOptInfo *index, Index varno, List *clauses, ChunkOperator *known)
{
	return keys_of_index(index, varno, clauses, NIL, known);
}

/* -------------------------------------------------------------- questions */

static List *questions(const List *indexes, Index varno, List *clauses, List *given, ChunkFinder *finder);

/* Returns the question that an OR gives, or NULL if one of its arms gives none. */
static ChunkQuestion *
question_of_or(const List *indexes, Index varno, BoolExpr *clause, List *given, ChunkFinder *finder)
{
	ChunkQuestion *question = palloc0(sizeof(ChunkQuestion));
	ListCell   *cell;

	foreach(cell, clause->args)
	{
		Node	   *arm = lfirst(cell);
		List	   *of_arm = questions(indexes, varno,
									   is_andclause(arm) ? ((BoolExpr *) arm)->args : list_make1(arm), given, finder);

		if (of_arm == NIL)
			return NULL;
		question->arms = lappend(question->arms, of_arm);
	}
	return question;
}

static List *
questions(const List *indexes, Index varno, List *clauses, List *given, ChunkFinder *finder)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, indexes)
	{
		const IndexOptInfo *index = lfirst_node(IndexOptInfo, cell);
		List	   *keys;

		if (index->relam != finder->method || index->hypothetical)
			continue;
		keys = keys_of_index(index, varno, clauses, given, &finder->operator);
		if (keys != NIL)
		{
			ChunkQuestion *question = palloc0(sizeof(ChunkQuestion));

			question->index = index->indexoid;
			question->keys = keys;
			result = lappend(result, question);
		}
	}
	foreach(cell, clauses)
	{
		ChunkQuestion *question;

		if (!is_orclause(lfirst(cell)))
			continue;
		question = question_of_or(indexes, varno, lfirst(cell), list_concat_copy(given, clauses), finder);
		if (question != NULL)
			result = lappend(result, question);
	}
	return result;
}

/* Finds the method once. Returns false if the database has none, so that no index can be asked. */
static bool
find_method(ChunkFinder *finder)
{
	if (!OidIsValid(finder->method))
		finder->method = bf_index_am_oid();
	return OidIsValid(finder->method);
}

List *
chunk_questions(const List *indexes, Index varno, const List *clauses, ChunkFinder *finder)
{
	List	   *bare = NIL;
	const ListCell *cell;

	if (indexes == NIL || clauses == NIL || !find_method(finder))
		return NIL;
	foreach(cell, clauses)
	{
		Node	   *clause = lfirst(cell);

		bare = lappend(bare, IsA(clause, RestrictInfo) ? (Node *) ((RestrictInfo *) clause)->clause : clause);
	}
	return questions(indexes, varno, bare, NIL, finder);
}

IndexOptInfo *
chunk_index_info(Relation index, Index varno)
{
	IndexOptInfo *info = makeNode(IndexOptInfo);

	info->indexoid = RelationGetRelid(index);
	info->relam = index->rd_rel->relam;
	info->nkeycolumns = info->ncolumns = IndexRelationGetNumberOfKeyAttributes(index);
	info->indexkeys = palloc(info->ncolumns * sizeof(int));
	for (int i = 0; i < info->ncolumns; i++)
		info->indexkeys[i] = index->rd_index->indkey.values[i];
	info->indexcollations = index->rd_indcollation;
	info->opfamily = index->rd_opfamily;
	info->opcintype = index->rd_opcintype;
	info->indexprs = RelationGetIndexExpressions(index);
	info->indpred = RelationGetIndexPredicate(index);
	if (varno != 1)
	{
		ChangeVarNodes((Node *) info->indexprs, 1, varno, 0);
		ChangeVarNodes((Node *) info->indpred, 1, varno, 0);
	}
	return info;
}

void
chunk_set_scan_key(ScanKey entry, const QuestionKey *key, Datum value)
{
	ScanKeyEntryInitialize(entry, key->flags, key->column, key->strategy, key->subtype, key->collation, key->function,
						   value);
}

bool
chunk_find_parameters(Node *node, Bitmapset **parameters)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		*parameters = bms_add_member(*parameters, ((Param *) node)->paramid);
	return expression_tree_walker(node, chunk_find_parameters, parameters);
}

bool
chunk_is_plain_value(const Node *node)
{
	ListCell   *cell;

	while (IsA(node, RelabelType))
		node = (const Node *) ((const RelabelType *) node)->arg;
	if (IsA(node, ArrayExpr) && !((const ArrayExpr *) node)->multidims)
	{
		foreach(cell, ((const ArrayExpr *) node)->elements)
			if (!chunk_is_plain_value(lfirst(cell)))
				return false;
		return true;
	}
	return IsA(node, Const) || IsA(node, Param);
}
