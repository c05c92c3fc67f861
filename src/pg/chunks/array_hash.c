/*
 * array_hash.c: conditions "column = ANY (array)" of a scan are tested by hash (see array_hash.h).
 *
 * PostgreSQL itself does so only if the array is a constant with nine elements or more, and of the column's type. If
 * the array is a parameter or the result of a subquery, each row is compared with one element after the other, and so
 * is each row of a lossy page of a bitmap: with a thousand keys 820 ms in place of 30. When a scan begins, the value
 * is known. So the condition is compiled anew, with the value in place of the expression. The plan stays as it is.
 */
#include "chunks/array_hash.h"

#include "access/stratnum.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "parser/parse_coerce.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "chunks/skip.h"

/* An array with fewer elements is not worth a hash table. This is PostgreSQL's MIN_ARRAY_SIZE_FOR_HASHED_SAOP. */
#define FEWEST_ELEMENTS 9

/*
 * PostgreSQL keeps a hash table until the execution ends, some 50 bytes for each element. So the scans of an execution
 * together have only so many elements hashed, beside one array of any size.
 */
#define MOST_HASHED 500000

/* The operator families with an order in which an operator is. PostgreSQL 18 has other names for this. */
#if PG_VERSION_NUM >= 180000
typedef OpIndexInterpretation Family;
#define families_of(operator) get_op_index_interpretation(operator)
#define is_equality(family) ((family)->cmptype == COMPARE_EQ)
#else
typedef OpBtreeInterpretation Family;
#define families_of(operator) get_op_btree_interpretation(operator)
#define is_equality(family) ((family)->strategy == BTEqualStrategyNumber)
#endif

typedef struct Replacements
{
	const ChunkQuestion *question;
	SkipShared *shared;
	bool		done;			/* an expression was replaced */
} Replacements;

/*
 * Returns a comparison that was asked about whose argument is this expression, or any array if `expression` is NULL.
 * Returns NULL if there is none.
 */
static const ChunkQuestion *
find_array(const ChunkQuestion *question, const Node *expression)
{
	const Node *argument = (const Node *) question->argument;
	const ChunkQuestion *found = NULL;

	for (int i = 0; i < question->count && found == NULL; i++)
		found = find_array(&question->parts[i], expression);
	if (found != NULL || !question->evaluated || question->isnull || IsA(argument, Const))
		return found;
	return (expression != NULL ? equal(argument, expression) : type_is_array(exprType(argument))) ? question : NULL;
}

/* Returns the value of an argument as a Const, if it is an array that is worth a hash table; otherwise NULL. */
static Const *
constant_of(const Replacements *replacements, const Node *expression)
{
	const ChunkQuestion *comparison = find_array(replacements->question, expression);
	int64	   *hashed = &replacements->shared->hashed;
	ArrayType  *array;
	int			count;

	if (comparison == NULL)
		return NULL;
	array = DatumGetArrayTypeP(comparison->value);
	count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	if (count < FEWEST_ELEMENTS || (*hashed > 0 && *hashed + count > MOST_HASHED))
		return NULL;
	*hashed += count;
	return makeConst(exprType(expression), exprTypmod(expression), exprCollation(expression), -1,
					 datumCopy(PointerGetDatum(array), false, -1), false, false);
}

/*
 * Sets the comparison's function for hashing. If the column has another type than the elements, as int4 has beside
 * the int8 that drivers send, a number is cast to that type: within an operator family this does not change what is
 * equal. Other casts may, or may fail: name cuts a text, and a timestamp does not reach as far as a date. Returns false
 * if the comparison cannot be hashed.
 */
static bool
make_hashable(ScalarArrayOpExpr *comparison)
{
	Node	   *column = linitial(comparison->args);
	Oid			from = exprType(column);
	Oid			to = get_element_type(exprType(lsecond(comparison->args)));
	Oid			left,
				right;
	ListCell   *cell;

	if (get_op_hash_functions(comparison->opno, &left, &right) && left == right)
	{
		comparison->hashfuncid = left;
		return true;
	}
	if (from != INT2OID && from != INT4OID && from != FLOAT4OID)
		return false;
	foreach(cell, families_of(comparison->opno))
	{
		const Family *family = lfirst(cell);
		Oid			equality = is_equality(family) && family->oprighttype == to ?
			get_opfamily_member(family->opfamily_id, to, to, BTEqualStrategyNumber) : InvalidOid;
		Oid			cast;

		if (OidIsValid(equality) && get_op_hash_functions(equality, &left, &right) && left == right &&
			find_coercion_pathway(to, from, COERCION_IMPLICIT, &cast) == COERCION_PATH_FUNC &&
			func_volatile(cast) == PROVOLATILE_IMMUTABLE && get_func_nargs(cast) == 1 && sb_may_call(cast) &&
			sb_may_call(get_opcode(equality)))
		{
			linitial(comparison->args) = makeFuncExpr(cast, to, list_make1(column), InvalidOid,
													  comparison->inputcollid, COERCE_IMPLICIT_CAST);
			comparison->opno = equality;
			comparison->opfuncid = get_opcode(equality);
			comparison->hashfuncid = left;
			return true;
		}
	}
	return false;
}

static Node *
replace_arrays(Node *node, void *replacements)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, ScalarArrayOpExpr) && ((ScalarArrayOpExpr *) node)->useOr &&
		!OidIsValid(((ScalarArrayOpExpr *) node)->hashfuncid))
	{
		Const	   *constant = constant_of(replacements, lsecond(((ScalarArrayOpExpr *) node)->args));

		if (constant != NULL)
		{
			ScalarArrayOpExpr *hashed = copyObject((ScalarArrayOpExpr *) node);

			if (make_hashable(hashed) && sb_may_call(hashed->hashfuncid))
			{
				lsecond(hashed->args) = constant;
				((Replacements *) replacements)->done = true;
				return (Node *) hashed;
			}
		}
	}
	return expression_tree_mutator(node, replace_arrays, replacements);
}

/* Compiles a condition of the scan anew if an array in it can be replaced. */
static void
hash(ChunkHashed *state, const ChunkQuestion *question, PlanState *scan, List *condition, ExprState **place)
{
	Replacements replacements = {.question = question, .shared = skip_shared_of(scan->state)};

	/* a SubPlan would be initialized anew in each scan, and stays in the executor's lists */
	if (contain_subplans((Node *) condition))
		return;
	condition = (List *) replace_arrays((Node *) condition, &replacements);
	if (!replacements.done)
		return;
	state->places[state->count] = place;
	state->replaced[state->count++] = *place;
	*place = ExecInitQual(condition, scan);
}

void
chunk_hash_arrays(ChunkHashed *state, const ChunkAsking *asking, const ChunkQuestion *question, PlanState *scan)
{
	EState	   *estate = scan->state;
	const int	jit = estate->es_jit_flags;
	MemoryContext caller;

	if (find_array(question, NULL) == NULL)
		return;
	estate->es_jit_flags = 0;	/* LLVM takes 15 ms to compile a condition, for each partition */
	caller = MemoryContextSwitchTo(asking->context);
	hash(state, question, scan, scan->plan->qual, &scan->qual);
	if (IsA(scan, BitmapHeapScanState))
		hash(state, question, scan, ((BitmapHeapScan *) scan->plan)->bitmapqualorig,
			 &((BitmapHeapScanState *) scan)->bitmapqualorig);
	MemoryContextSwitchTo(caller);
	estate->es_jit_flags = jit;
}

void
chunk_forget_hashed(ChunkHashed *state)
{
	for (; state->count > 0; state->count--)
		*state->places[state->count - 1] = state->replaced[state->count - 1];
}
