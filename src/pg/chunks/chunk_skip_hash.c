/*
 * chunk_skip_hash.c: conditions "column = ANY (array)" of sequential scans below ChunkSkip are tested by hash.
 *
 * PostgreSQL itself does so only if the array is a constant with nine elements or more. If the array is a parameter,
 * or the result of a subquery, PostgreSQL compares each row with one element after the other. When a scan begins, the
 * value is known. So the condition is compiled anew, with the value in place of the expression. The plan stays as it
 * is. Neighbouring scans whose conditions and rows are alike share what was compiled, and with it the hash table:
 * otherwise a thousand partitions would have a thousand hash tables.
 */
#include "chunks/chunk_skip.h"

#include "executor/executor.h"
#include "jit/jit.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "rewrite/rewriteManip.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "chunks/join_skip.h"

/* An array with fewer elements is not worth a hash table. This is PostgreSQL's MIN_ARRAY_SIZE_FOR_HASHED_SAOP. */
#define FEWEST_ELEMENTS 9

/*
 * Expressions, and for each the constant that takes its place. The constant is NULL if the expression stays, because
 * its value is NULL, or not an array, or an array with too few elements to be worth a hash table.
 */
typedef struct Replacements
{
	List	   *expressions;
	List	   *constants;
	bool		done;			/* an expression was replaced */
} Replacements;

static Node *
replace_arrays(Node *node, Replacements *replacements)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, ScalarArrayOpExpr))
	{
		ScalarArrayOpExpr *comparison = (ScalarArrayOpExpr *) node;
		ListCell   *expression;
		ListCell   *constant;
		Oid			left_hash,
					right_hash;

		forboth(expression, replacements->expressions, constant, replacements->constants)
			if (lfirst(constant) != NULL && comparison->useOr && !OidIsValid(comparison->hashfuncid) &&
				equal(lsecond(comparison->args), lfirst(expression)) &&
				get_op_hash_functions(comparison->opno, &left_hash, &right_hash) && left_hash == right_hash)
			{
				ScalarArrayOpExpr *hashed = copyObject(comparison);

				hashed->hashfuncid = left_hash;
				hashed->args = list_make2(linitial(hashed->args), lfirst(constant));
				replacements->done = true;
				return (Node *) hashed;
			}
	}
	return expression_tree_mutator(node, replace_arrays, replacements);
}

/* Returns the value as a Const in the current memory, if it is an array that is worth a hash table; otherwise NULL. */
static Const *
constant_of(Node *expression, Datum value, bool isnull)
{
	Oid			type = exprType(expression);
	ArrayType  *array;

	if (isnull || !OidIsValid(get_element_type(type)))
		return NULL;
	array = DatumGetArrayTypePCopy(value);
	if (ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) < FEWEST_ELEMENTS)
		return NULL;
	return makeConst(type, exprTypmod(expression), exprCollation(expression), -1, PointerGetDatum(array), false, false);
}

/* ------------------------------------------------------------------ sharing */

/* A scan whose condition was compiled into child->qual. */
typedef struct Compiled
{
	PlanState  *child;
	Node	   *condition;		/* what shareable_condition() returns */
} Compiled;

/*
 * Returns a copy of a scan's condition in which the table has number 1, so that conditions of several tables can be
 * compared. Returns NULL if what is compiled from the condition cannot be shared: a sub-plan belongs to one node, JIT
 * compiles code for rows of one layout, and it may not be known what kind of slots the scan's rows come in.
 */
static Node *
shareable_condition(const PlanState *child)
{
	Node	   *condition = (Node *) child->plan->qual;

	if (!child->scanopsset || !child->scanopsfixed || (child->state->es_jit_flags & PGJIT_EXPR) != 0 ||
		contain_subplans(condition))
		return NULL;
	condition = copyObject(condition);
	ChangeVarNodes(condition, (int) ((const Scan *) child->plan)->scanrelid, 1, 0);
	return condition;
}

/*
 * Can scan `mine` use what was compiled for scan `other`? It can if both have the same kind of slots and the same
 * condition. Conditions that are the same in the two plans stay the same when constants replace their expressions.
 */
static bool
can_share(const Compiled *mine, const Compiled *other)
{
	return mine->condition != NULL && other->condition != NULL && mine->child->scanops == other->child->scanops &&
		equal(mine->condition, other->condition);
}

List *
chunk_skip_hash_arrays(PlanState **children, int count, List *expressions, const Datum *values, const bool *isnull,
					   List *hashed)
{
	Replacements replacements = {.expressions = expressions};
	ListCell   *cell;
	Compiled	last = {NULL};
	bool		any = false;

	foreach(cell, expressions)
	{
		Const	   *constant = constant_of(lfirst(cell), values[foreach_current_index(cell)],
										   isnull[foreach_current_index(cell)]);

		any |= constant != NULL;
		replacements.constants = lappend(replacements.constants, constant);
	}
	for (int i = 0; i < count && any; i++)
	{
		PlanState  *child = children[i];
		Compiled	mine;
		List	   *condition;

		if (IsA(child, CustomScanState) && ((CustomScan *) child->plan)->methods == &join_skip_scan_methods)
			child = outerPlanState(child);
		if (!IsA(child, SeqScanState) || child->qual == NULL)
			continue;
		replacements.done = false;
		condition = (List *) replace_arrays((Node *) child->plan->qual, &replacements);
		if (!replacements.done)
			continue;
		hashed = lappend(hashed, list_make2(child, child->qual));
		mine = (Compiled) {child, shareable_condition(child)};
		child->qual = can_share(&mine, &last) ? last.child->qual : ExecInitQual(condition, child);
		last = mine;
	}
	return hashed;
}

void
chunk_skip_forget_hashed(List *hashed)
{
	ListCell   *cell;

	foreach(cell, hashed)
	{
		PlanState  *child = linitial((List *) lfirst(cell));

		child->qual = lsecond((List *) lfirst(cell));
	}
	list_free_deep(hashed);
}
