/*
 * join_skip_plan.c: puts the nodes JoinKeys and JoinSkip into finished plans. JoinKeys collects the keys of the inner
 * side of a hash join. JoinSkip stands above a scan on the outer side, and leaves out pages that have none of these
 * keys, as bf indexes say. README.md proves that no row is lost; numbers in parentheses, as in (2), are points of this
 * proof.
 *
 * Only a join that drops outer rows without a partner gets the nodes (is_source() has more conditions). For each hash
 * key that can be collected, the outer expression is followed down to the scans that it comes from. If the table of
 * such a scan has a bf index on the expression that arrives there, the scan gets a JoinSkip. A PartitionScan
 * (partition_scan.h) that waits for keys of this expression gets the keys. If any scan is asked, JoinKeys is put below
 * the join's Hash. If the plan gets ChunkSkips (chunk_skip.h), they are there already.
 *
 * An expression is called "over" the result of a plan node, or "over" the columns of a table, if its Vars refer to
 * that result, or to those columns.
 */
#include "chunks/join_skip.h"

#include "access/relation.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "chunks/chunk_skip.h"
#include "chunks/finished_effects.h"
#include "index/handler.h"
#include "index/keys.h"

bool		join_skip_enabled = true;

/*
 * If PostgreSQL might read the outer side of a join first, the join gets the nodes only if its outer side costs at
 * least this share of what its inner side costs. (may_run_inner_first() makes an exception for a PartitionScan.)
 */
#define LEAST_SHARE_OF_INNER (1.0 / 4)

/* A join whose keys are collected. */
typedef struct Source
{
	FinishedStatement *finished;
	int			parameter;		/* the parameter of its JoinKeys; -1 as long as no scan is asked */
	List	   *expressions;	/* the inner expressions of the keys, over the input of Hash */

	/*
	 * What becomes custom_private of JoinKeys (enum JoinKeysPrivate). `numbers`, `types`, `collations` and `kept` have
	 * an element for each set of keys. A number is that of the set's expression in `expressions`.
	 */
	List	   *numbers;
	List	   *types;
	List	   *collations;
	List	   *kept;
	List	   *no_partition_scan;
} Source;

/* A hash key of the join. */
typedef struct HashKey
{
	Source	   *source;
	const OpExpr *clause;		/* outer expression = inner expression */
	Node	   *inner;			/* the inner expression, over the input of Hash */
} HashKey;

/* ---------------------------------------------------------------- following a column down */

typedef struct Replacement
{
	List	   *targets;		/* the target list whose entries replace the columns */
	int			varno;			/* the varno of the columns that are replaced */
	bool		failed;
} Replacement;

static Node *
replace_columns(Node *node, Replacement *replacement)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		const Var  *var = (const Var *) node;

		if (var->varno == replacement->varno && var->varattno > 0)
		{
			ListCell   *cell;

			foreach(cell, replacement->targets)
			{
				const TargetEntry *entry = lfirst_node(TargetEntry, cell);

				if (entry->resno == var->varattno)
					return copyObject((Node *) entry->expr);
			}
		}
		replacement->failed = true;
		return node;
	}
	return expression_tree_mutator(node, replace_columns, replacement);
}

/*
 * Takes an expression over the result of a plan node, and returns it over the node's input: each column is replaced
 * by what the node's target list has for it. Returns NULL if the expression has a column that is not in this list
 * (one of another input, a system column or a whole row), or if the result is volatile or has a sub-plan (2).
 */
static Node *
seen_through(Node *expression, List *targets, int varno, FinishedStatement *finished)
{
	Replacement replacement = {.targets = targets, .varno = varno};
	Node	   *result = replace_columns(expression, &replacement);

	return replacement.failed || finished_is_noticed(result, finished) ? NULL : result;
}

/* Do the outer columns of all rows that a join returns have the values of an outer row, and not NULLs instead (2)? */
static bool
keeps_outer_rows(JoinType type)
{
	return type == JOIN_INNER || type == JOIN_LEFT || type == JOIN_SEMI || type == JOIN_ANTI;
}

bool
join_skip_drops_outer_rows(JoinType type)
{
	switch (type)
	{
		case JOIN_INNER:
		case JOIN_SEMI:
		case JOIN_RIGHT:
#if PG_VERSION_NUM >= 160000
		case JOIN_RIGHT_ANTI:
#endif
#if PG_VERSION_NUM >= 180000
		case JOIN_RIGHT_SEMI:
#endif
			return true;
		default:
			return false;
	}
}

/* ------------------------------------------------------------------------ the nodes */

/*
 * Returns the number of the set for this key, type and collation: a set of values if `keeps_values`, otherwise of
 * hashes. Adds the set if it is not there yet.
 */
static int
number_of_set(const HashKey *key, Oid type, Oid collation, bool keeps_values)
{
	Source	   *source = key->source;
	int			expression = -1;
	ListCell   *cell;

	foreach(cell, source->expressions)
		if (equal(lfirst(cell), key->inner))
			expression = foreach_current_index(cell);
	if (expression < 0)
	{
		expression = list_length(source->expressions);
		source->expressions = lappend(source->expressions, copyObject(key->inner));
	}
	for (int i = 0; i < list_length(source->numbers); i++)
		if (list_nth_int(source->numbers, i) == expression && list_nth_oid(source->types, i) == type &&
			list_nth_oid(source->collations, i) == collation && (list_nth_int(source->kept, i) != 0) == keeps_values)
			return i;
	source->numbers = lappend_int(source->numbers, expression);
	source->types = lappend_oid(source->types, type);
	source->collations = lappend_oid(source->collations, collation);
	source->kept = lappend_int(source->kept, keeps_values);
	return list_length(source->numbers) - 1;
}

/* Returns the number of the parameter that carries the collected keys. Makes the parameter if it is not there yet. */
static int
parameter_of(Source *source)
{
	if (source->parameter < 0)
	{
		PlannedStmt *statement = source->finished->statement;

		source->parameter = list_length(statement->paramExecTypes);
		statement->paramExecTypes = lappend_oid(statement->paramExecTypes, INTERNALOID);
	}
	return source->parameter;
}

/* What an index can be asked about a key. */
typedef struct Answer
{
	Oid			index;
	AttrNumber	column;
	Oid			type;			/* the keys are hashed as values of this type */
	Oid			column_type;	/* the values of the column are hashed as values of this type */
	Oid			collation;		/* keys and column values are hashed under this collation */
} Answer;

/*
 * Sets *answer: as which types, and under which collation, the question's index hashes the values of its column and the
 * keys that it is asked about (3). Returns false
 * - if the index cannot be used,
 * - if the key is not an equality, or
 * - if the items of the index are not the values of the column, but parts of them, such as the grams of a text.
 */
static bool
find_hash(Relation heap, const ChunkQuestion *question, const QuestionKey *key, Answer *answer)
{
	Relation	index = chunk_open_index(heap, question->index, bf_index_am_oid());
	bool		found;

	if (index == NULL)
		return false;
	found = !bf_index_has_keys(index, key->column - 1) && key->strategy == BF_EQUAL_STRATEGY;
	if (found)
	{
		answer->index = question->index;
		answer->column = key->column;
		answer->column_type = bf_index_item_type(index, key->column - 1);
		answer->type = !OidIsValid(key->subtype) || IsPolymorphicType(key->subtype) ?
			answer->column_type : key->subtype;
		answer->collation = index->rd_indcollation[key->column - 1];
	}
	relation_close(index, AccessShareLock);
	return found;
}

/*
 * Finds an index of the scan's table that can be asked about a hash key, and sets *answer. Returns false if there is
 * none, or if the scan costs about as little as a question to the index. `outer` is the key's outer expression, over
 * the table's columns. chunk_questions() takes only values without columns, so it gets the key's clause with a
 * parameter in place of the inner expression.
 */
static bool
find_answer(const HashKey *key, const Scan *scan, Node *outer, Answer *answer)
{
	FinishedStatement *finished = key->source->finished;
	const RangeTblEntry *rte = rt_fetch(scan->scanrelid, finished->statement->rtable);
	Param	   *argument = makeNode(Param);
	ChunkFinder finder = {InvalidOid};
	List	   *clauses;
	Relation	heap;
	ListCell   *cell;
	bool		guarded;
	bool		found = false;

	argument->paramkind = PARAM_EXEC;
	argument->paramid = list_length(finished->statement->paramExecTypes);	/* no other parameter has this number */
	argument->paramtype = exprType(key->inner);
	argument->paramtypmod = exprTypmod(key->inner);
	argument->paramcollid = exprCollation(key->inner);
	argument->location = -1;
	clauses = lappend(finished_clauses_of_scan(scan),
					  make_opclause(key->clause->opno, BOOLOID, false, (Expr *) outer, (Expr *) argument, InvalidOid,
									key->clause->inputcollid));
	clauses = finished_leakproof_clauses(finished, rte->relid, clauses, &guarded);
	heap = table_open(rte->relid, NoLock);
	foreach(cell, chunk_questions_of_table(heap, scan->scanrelid, clauses, &finder))
	{
		const ChunkQuestion *question = lfirst(cell);
		ListCell   *inner;

		foreach(inner, question->keys)
		{
			const QuestionKey *of_index = lfirst(inner);

			if (!found && of_index->flags == 0 && equal(of_index->argument, argument) &&
				!finished_is_cheap(scan, question->index))
				found = find_hash(heap, question, of_index, answer);
		}
	}
	table_close(heap, NoLock);
	return found;
}

/* Appends a value to the list number `which` of a JoinSkip; `add` is lappend_int or lappend_oid. */
#define add_to(node, which, add, value) \
	lfirst(list_nth_cell((node)->custom_private, which)) = add(list_nth((node)->custom_private, which), value)

/*
 * *place is a scan, or a JoinSkip above a scan. If the scan's table has a bf index that can be asked about the key,
 * puts a JoinSkip above the scan unless there is one already, and adds the key to the JoinSkip. (Not for parallel
 * scans, nor for a table that the statement samples or changes.) `expression` is over the scan's result. Returns
 * whether the index will be asked.
 */
static bool
ask_at(Plan **place, Node *expression, const HashKey *key)
{
	FinishedStatement *finished = key->source->finished;
	CustomScan *skip = IsA(*place, CustomScan) ? (CustomScan *) *place : NULL;
	Scan	   *scan = (Scan *) (skip != NULL ? outerPlan(skip) : *place);
	const RangeTblEntry *rte = rt_fetch(scan->scanrelid, finished->statement->rtable);
	Node	   *outer;
	Answer		answer = {0};
	int			set;

	if (rte->rtekind != RTE_RELATION || rte->relkind != RELKIND_RELATION || rte->tablesample != NULL ||
		scan->plan.parallel_aware || sb_is_result_relation(finished->statement, scan->scanrelid) ||
			finished_node_is_noticed(&scan->plan, finished))
		return false;
	outer = seen_through(expression, scan->plan.targetlist, OUTER_VAR, finished);
	if (outer == NULL || !find_answer(key, scan, outer, &answer))
		return false;
	set = number_of_set(key, answer.type, answer.collation, false);
	if (skip == NULL)
	{
		skip = finished_make_node(finished, &scan->plan);
		skip->custom_private = list_make5(NIL, NIL, NIL, NIL, NIL);
		skip->custom_relids = bms_make_singleton(scan->scanrelid);
		skip->methods = &join_skip_scan_methods;
		*place = (Plan *) skip;
	}
	skip->custom_exprs = lappend(skip->custom_exprs, expression);
	add_to(skip, JOIN_SKIP_PARAMETERS, lappend_int, parameter_of(key->source));
	add_to(skip, JOIN_SKIP_SETS, lappend_int, set);
	add_to(skip, JOIN_SKIP_INDEXES, lappend_oid, answer.index);
	add_to(skip, JOIN_SKIP_COLUMNS, lappend_int, answer.column);
	add_to(skip, JOIN_SKIP_TYPES, lappend_oid, answer.column_type);
	return true;
}

static bool follow(Plan **place, Node *expression, const HashKey *key);

static bool
follow_children(List *children, Node *expression, const HashKey *key)
{
	bool		asked = false;
	ListCell   *cell;

	foreach(cell, children)
		asked |= follow((Plan **) &lfirst(cell), expression, key);
	return asked;
}

/*
 * Follows an expression down to the scans that it comes from (2). The expression is over the result of the plan at
 * *place; its columns have varno OUTER_VAR. Returns whether any table is asked.
 */
static bool
follow(Plan **place, Node *expression, const HashKey *key)
{
	FinishedStatement *finished = key->source->finished;
	Plan	   *plan = *place;
	Node	   *below;

	check_stack_depth();
	if (plan == NULL)
		return false;
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_IndexScan:
		case T_BitmapHeapScan:
			return ask_at(place, expression, key);
		case T_CustomScan:
			/* JoinSkip and ChunkSkip pass rows on as they are. */
			if (((CustomScan *) plan)->methods == &join_skip_scan_methods)
				return ask_at(place, expression, key);
			if (((CustomScan *) plan)->methods == &chunk_skip_scan_methods)
				return follow(&plan->lefttree, expression, key);
			return false;
		default:
			break;
	}
	if (plan->parallel_aware || finished_node_is_noticed(plan, finished))
		return false;
	switch (nodeTag(plan))
	{
		case T_Append:
			below = seen_through(expression, plan->targetlist, OUTER_VAR, finished);
			if (below == NULL || ((Append *) plan)->nasyncplans > 0 ||
				!follow_children(((Append *) plan)->appendplans, below, key))
				return false;
			return true;
		case T_MergeAppend:
			below = seen_through(expression, plan->targetlist, OUTER_VAR, finished);
			return below != NULL && follow_children(((MergeAppend *) plan)->mergeplans, below, key);
		case T_SubqueryScan:
			{
				SubqueryScan *scan = (SubqueryScan *) plan;

				/* In a SubqueryScan's target list the Vars of the subquery's columns have the scan's number. */
				below = seen_through(expression, plan->targetlist, OUTER_VAR, finished);
				if (below == NULL)
					return false;
				ChangeVarNodes(below, scan->scan.scanrelid, OUTER_VAR, 0);
				return follow(&scan->subplan, below, key);
			}
		case T_HashJoin:
		case T_MergeJoin:
		case T_NestLoop:
			if (!keeps_outer_rows(((Join *) plan)->jointype) ||
				finished_whole_plan_is_noticed(innerPlan(plan), finished))
				return false;
			below = seen_through(expression, plan->targetlist, OUTER_VAR, finished);
			return below != NULL && follow(&plan->lefttree, below, key);
		default:
			return false;
	}
}

/* -------------------------------------------------------------------------- the joins */

/* Can the keys of this join be collected? */
static bool
is_source(const HashJoin *join, FinishedStatement *finished)
{
	const Plan *hash = innerPlan(join);
	ListCell   *cell;

	if (!join_skip_drops_outer_rows(join->join.jointype) || join->join.plan.parallel_aware || !IsA(hash, Hash) ||
		hash->parallel_aware || hash->plan_rows > (double) JOIN_MOST_KEYS * JOIN_MOST_TIMES_EXPECTED)
		return false;
	/* PostgreSQL evaluates the outer expressions of all clauses for each outer row (2). */
	foreach(cell, join->hashclauses)
		if (finished_is_noticed(linitial(lfirst_node(OpExpr, cell)->args), finished))
			return false;
	return true;
}

bool
join_skip_outer_may_go_first(JoinType type, Cost startup, Cost inner)
{
#if PG_VERSION_NUM >= 160000
	if (type == JOIN_RIGHT_ANTI)
		return false;
#endif
	return type != JOIN_RIGHT && startup < inner;
}

bool
join_skip_is_outer_too_cheap(Cost outer, Cost inner)
{
	return outer < inner * LEAST_SHARE_OF_INNER;
}

/*
 * May the inner side of the join be run before the outer side is asked for its first row? If PostgreSQL might ask the
 * outer side first, the new order changes two things. If the outer side is empty, the inner side is run all the same.
 * If the inner side is empty, the outer side is not asked for a row. The query must not notice either change, and to
 * run the inner side for an empty outer side must not cost much.
 */
static bool
may_run_inner_first(HashJoin *join, FinishedStatement *finished)
{
	const Plan *outer = outerPlan(join);
	const Plan *hash = innerPlan(join);

	if (!join_skip_outer_may_go_first(join->join.jointype, outer->startup_cost, hash->total_cost))
		return true;
	if (join_skip_is_outer_too_cheap(outer->total_cost, hash->total_cost))
		return false;
	return !finished_whole_plan_is_noticed(innerPlan(join), finished) &&
		!finished_whole_plan_is_noticed(outerPlan(join), finished);
}

/* Puts JoinKeys below a Hash. */
static void
add_join_keys(Plan *hash, const Source *source)
{
	CustomScan *keys = finished_make_node(source->finished, outerPlan(hash));

	keys->custom_exprs = source->expressions;
	keys->custom_private = lappend(list_make5(list_make1_int(source->parameter), source->numbers, source->types,
											  source->collations, source->kept), source->no_partition_scan);
	keys->methods = &join_keys_scan_methods;
	/* The key expressions may depend on parameters that the input of Hash does not depend on. Hash has them all. */
	keys->scan.plan.extParam = bms_copy(hash->extParam);
	keys->scan.plan.allParam = bms_copy(hash->allParam);
	hash->lefttree = (Plan *) keys;
}

/*
 * Makes PostgreSQL build the hash table of a join before it asks the outer side for a row. PostgreSQL might ask for
 * the row first if the startup cost of the outer side were less than the total cost of Hash. Then there would be no
 * keys yet, or old ones (4, 5).
 */
static void
let_hash_go_first(HashJoin *join)
{
	Plan	   *outer = outerPlan(join);

	outer->startup_cost = Max(outer->startup_cost, innerPlan(join)->total_cost);
	outer->total_cost = Max(outer->total_cost, outer->startup_cost);
}

static void
look_at_join(HashJoin *join, FinishedStatement *finished)
{
	Source		source = {.finished = finished, .parameter = -1};
	const Hash *hash = (const Hash *) innerPlan(join);
	ListCell   *clause;
	ListCell   *inner;

	if (!is_source(join, finished) || !may_run_inner_first(join, finished))
		return;
	forboth(clause, join->hashclauses, inner, hash->hashkeys)
	{
		HashKey		key = {.source = &source, .clause = lfirst_node(OpExpr, clause), .inner = lfirst(inner)};

		if (join_skip_may_collect(key.inner, foreach_current_index(clause)) &&
			!finished_is_noticed(key.inner, finished))
			(void) follow(&outerPlan(join), linitial(key.clause->args), &key);
	}
	if (source.parameter < 0)
		return;
	add_join_keys(innerPlan(join), &source);
	let_hash_go_first(join);
}

bool
join_skip_may_collect(const Node *key, int number)
{
	while (IsA(key, RelabelType))
		key = (const Node *) ((const RelabelType *) key)->arg;
	return number == 0 || IsA(key, Var) || IsA(key, Const) || IsA(key, Param);
}

static bool
add_nodes_below(Plan *plan, void *finished)
{
	if (IsA(plan, Gather) || IsA(plan, GatherMerge))
		return false;
	if (IsA(plan, HashJoin))
		look_at_join((HashJoin *) plan, finished);
	return finished_visit_below(plan, add_nodes_below, finished);
}

void
join_skip_add_nodes(Plan *plan, FinishedStatement *finished)
{
	if (plan != NULL)
		(void) add_nodes_below(plan, finished);
}

void
join_skip_init(void)
{
	DefineCustomBoolVariable("streambloom.enable_join_skip",
							 "Lets hash joins ask bf indexes about their keys, and read only the pages that are left.",
							 NULL, &join_skip_enabled, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	RegisterCustomScanMethods(&join_keys_scan_methods);
	RegisterCustomScanMethods(&join_skip_scan_methods);
}
