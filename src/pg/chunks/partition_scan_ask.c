/*
 * partition_scan_ask.c: which conditions the bf indexes of partitions are asked about, and how they are asked while a
 * PartitionScan is executed.
 *
 * A condition is a tree of AND and OR over comparisons. Each comparison is asked by itself, from memory where the
 * session remembers the index (ask.h). A comparison that no index answers says "maybe".
 */
#include "chunks/partition_scan.h"

#include "access/attmap.h"
#include "access/genam.h"
#include "access/parallel.h"
#include "access/table.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "storage/bufmgr.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "index/handler.h"

/* --------------------------------------------------------------------------- while planning */

List *
partition_scan_open_indexes(Relation parent)
{
	Oid			method = bf_index_am_oid();
	List	   *result = NIL;
	List	   *indexes;
	ListCell   *cell;

	if (!OidIsValid(method))
		return NIL;
	indexes = RelationGetIndexList(parent);
	foreach(cell, indexes)
		if (chunk_has_method(lfirst_oid(cell), method))
			result = lappend(result, index_open(lfirst_oid(cell), AccessShareLock));
	list_free(indexes);
	return result;
}

void
partition_scan_close_indexes(List *indexes)
{
	ListCell   *cell;

	foreach(cell, indexes)
		index_close(lfirst(cell), NoLock);
}

/* Puts parameters in place of what comes from other tables: their columns have values when the node asks. */
static Node *
with_parameters(Node *node, Index *relid)
{
	if (node == NULL)
		return NULL;
	if ((IsA(node, Var) && ((Var *) node)->varno != (int) *relid) ||
		(IsA(node, PlaceHolderVar) && !bms_is_member(*relid, ((PlaceHolderVar *) node)->phrels)))
	{
		Param	   *parameter = makeNode(Param);

		parameter->paramkind = PARAM_EXTERN;
		parameter->paramid = 1;
		parameter->paramtype = exprType(node);
		parameter->paramtypmod = exprTypmod(node);
		parameter->paramcollid = exprCollation(node);
		parameter->location = -1;
		return (Node *) parameter;
	}
	return expression_tree_mutator(node, with_parameters, relid);
}

bool
partition_scan_is_answered(List *indexes, Index relid, Node *clause)
{
	ChunkOperator known = {InvalidOid};
	ListCell   *cell;

	if (is_orclause(clause) || is_andclause(clause))
	{
		bool		is_or = is_orclause(clause);

		foreach(cell, ((BoolExpr *) clause)->args)
			if (partition_scan_is_answered(indexes, relid, lfirst(cell)) != is_or)
				return !is_or;
		return is_or;
	}
	if (!bms_is_member(relid, pull_varnos(NULL, clause)))
		return false;
	clause = with_parameters(clause, &relid);
	foreach(cell, indexes)
		if (chunk_keys_of_index(chunk_index_info(lfirst(cell), relid), relid, list_make1(clause), &known) != NIL)
			return true;
	return false;
}

/* -------------------------------------------------------------------------- while executing */

/* Returns the place of the value in a comparison; NULL: it has none. */
static Node **
side_of_value(Node *clause)
{
	ListCell   *cell;

	if (IsA(clause, ScalarArrayOpExpr))
		return (Node **) &lfirst(list_second_cell(((ScalarArrayOpExpr *) clause)->args));
	if (IsA(clause, OpExpr))
		foreach(cell, ((OpExpr *) clause)->args)
			if (!contain_var_clause(lfirst(cell)))
				return (Node **) &lfirst(cell);
	return NULL;
}

static void
prepare(PartitionScanQuestion *question, Node *clause, PartitionScanState *state)
{
	memset(question, 0, sizeof *question);
	if (is_orclause(clause) || is_andclause(clause))
	{
		partition_scan_make_question(question, ((BoolExpr *) clause)->args, state);
		question->combines = ((BoolExpr *) clause)->boolop;
		return;
	}
	question->combines = NOT_EXPR;
	question->clause = copyObject(clause);
	ChangeVarNodes(question->clause, ((Scan *) state->css.ss.ps.plan)->scanrelid, 1, 0);
	question->side = side_of_value(question->clause);
	if (question->side == NULL)
		return;
	question->value = *question->side;
	question->state = ExecInitExpr((Expr *) question->value, &state->css.ss.ps);
	question->plain = chunk_is_plain_value(question->value);
	chunk_find_parameters(question->value, &state->parameters);
}

void
partition_scan_make_question(PartitionScanQuestion *question, List *conditions, PartitionScanState *state)
{
	ListCell   *cell;

	memset(question, 0, sizeof *question);
	question->combines = AND_EXPR;
	question->count = list_length(conditions);
	question->parts = palloc(question->count * sizeof(PartitionScanQuestion) + 1);
	foreach(cell, conditions)
		prepare(&question->parts[foreach_current_index(cell)], lfirst(cell), state);
}

void
partition_scan_forget(PartitionScanQuestion *question)
{
	question->evaluated = false;
	for (int i = 0; i < question->count; i++)
		partition_scan_forget(&question->parts[i]);
}

/*
 * Has a partition that may be read any pages? A value is evaluated only if one has, since a query of empty tables
 * raises no error of its values either.
 */
static bool
has_pages(PartitionScanState *state)
{
	for (int i = 0; state->pages == PAGES_UNKNOWN && i < state->read_count; i++)
		if (RelationGetNumberOfBlocks(partition_scan_open(state, state->read[i])) > 0)
			state->pages = HAS_PAGES;
	if (state->pages == PAGES_UNKNOWN)
		state->pages = HAS_NO_PAGES;
	return state->pages == HAS_PAGES;
}

/* Finds what the session remembers of the indexes for this comparison: that of a column with one value, or an array. */
static void
find_cache(PartitionScanState *state, PartitionScanQuestion *question)
{
	Node	   *clause = question->clause;
	List	   *sides;
	Node	   *column;
	ChunkCacheKey key;

	if (question->side == NULL)
		return;
	memset(&key, 0, sizeof key);
	key.any = IsA(clause, ScalarArrayOpExpr);
	sides = key.any ? ((ScalarArrayOpExpr *) clause)->args : ((OpExpr *) clause)->args;
	column = linitial(sides) == *question->side ? lsecond(sides) : linitial(sides);
	while (IsA(column, RelabelType))
		column = (Node *) ((RelabelType *) column)->arg;
	if (!IsA(column, Var))
		return;
	key.parent = RelationGetRelid(state->css.ss.ss_currentRelation);
	key.column = ((Var *) column)->varattno;
	key.locked_before = true;
	key.operator = key.any ? ((ScalarArrayOpExpr *) clause)->opno : ((OpExpr *) clause)->opno;
	key.collation = exprInputCollation(clause);
	question->ask.asker.cache = chunk_cache_find(&key, state->css.ss.ps.state->es_snapshot,
												 &question->ask.asker.number);
}

void
partition_scan_evaluate(PartitionScanState *state, PartitionScanQuestion *question)
{
	MemoryContext caller;
	Const	   *value = NULL;

	if (question->evaluated)
		return;
	caller = MemoryContextSwitchTo(state->context);
	question->evaluated = true;
	question->is_null = false;
	if (question->side != NULL)
	{
		value = makeNullConst(exprType(question->value), exprTypmod(question->value), exprCollation(question->value));
		value->constvalue = ExecEvalExprSwitchContext(question->state, state->css.ss.ps.ps_ExprContext,
													  &value->constisnull);
		value->constvalue = value->constisnull ? (Datum) 0 :
			datumCopy(value->constvalue, value->constbyval, value->constlen);
		question->is_null = value->constisnull;
		*question->side = (Node *) value;
	}
	chunk_prepare_clause(&question->ask, question->clause, value != NULL ? value->constvalue : (Datum) 0);
	question->ask.asker.wants_reason = state->css.ss.ps.state->es_instrument != 0;
	find_cache(state, question);
	MemoryContextSwitchTo(caller);
}

/* The comparison, with the column numbers of a partition. */
static Node *
adapt(PartitionScanQuestion *question, const AttrMap *map)
{
	bool		whole_row;

	return map == NULL ? question->clause :
		map_variable_attnos(question->clause, 1, 0, map, InvalidOid, &whole_row);
}

static bool
ask_comparison(PartitionScanState *state, PartitionScanQuestion *question, int at, ChunkReason *reason)
{
	EState	   *estate = state->css.ss.ps.state;
	ChunkVerdict verdict;
	Relation	partition;
	AttrMap    *map;
	MemoryContext caller;

	if (!question->evaluated && !question->plain && question->side != NULL && !has_pages(state))
	{
		*reason = CHUNK_IS_NOT_ASKED;
		return true;
	}
	partition_scan_evaluate(state, question);
	if (question->is_null)
		return false;
	if (chunk_ask_memory(&question->ask.asker, partition_scan_oid(state, at), at, state->count, &verdict))
	{
		*reason = verdict.reason;
		return chunk_is_read(&verdict);
	}
	caller = MemoryContextSwitchTo(state->context);
	partition = table_open(partition_scan_oid(state, at), IsParallelWorker() ? AccessShareLock : NoLock);
	map = sb_build_attrmap_by_name_if_req(RelationGetDescr(partition),
										  RelationGetDescr(state->css.ss.ss_currentRelation));
	question->ask.clause = adapt(question, map);
	chunk_ask_clause(&question->ask, partition, estate->es_snapshot, &verdict);
	table_close(partition, NoLock);
	MemoryContextSwitchTo(caller);
	*reason = verdict.reason;
	return chunk_is_read(&verdict);
}

bool
partition_scan_ask(PartitionScanState *state, PartitionScanQuestion *question, int at, ChunkReason *reason)
{
	if (question->combines == NOT_EXPR)
		return ask_comparison(state, question, at, reason);
	for (int i = 0; i < question->count; i++)
		if (partition_scan_ask(state, &question->parts[i], at, reason) == (question->combines == OR_EXPR))
			return question->combines == OR_EXPR;
	return question->combines == AND_EXPR;
}

bool
partition_scan_find_pages(PartitionScanState *state, PartitionScanQuestion *question, Relation partition,
						  const AttrMap *map, TIDBitmap **pages)
{
	bool		known = question->combines == OR_EXPR;

	*pages = NULL;
	if (question->combines == NOT_EXPR)
	{
		partition_scan_evaluate(state, question);
		*pages = tbm_create(work_mem * 1024L, NULL);
		if (question->is_null)
			return true;
		question->ask.clause = adapt(question, map);
		if (chunk_ask_bitmap(&question->ask, partition, state->css.ss.ps.state->es_snapshot, *pages))
			return true;
		tbm_free(*pages);
		return false;
	}
	for (int i = 0; i < question->count; i++)
	{
		TIDBitmap  *its_pages;
		bool		is_known = partition_scan_find_pages(state, &question->parts[i], partition, map, &its_pages);

		if (question->combines == OR_EXPR && !is_known)
			known = false;
		if (!is_known)
			continue;
		if (*pages == NULL)
		{
			*pages = its_pages;
			known |= question->combines == AND_EXPR;
			continue;
		}
		if (question->combines == OR_EXPR)
			tbm_union(*pages, its_pages);
		else
			tbm_intersect(*pages, its_pages);
		tbm_free(its_pages);
	}
	if (!known && *pages != NULL)
		tbm_free(*pages);
	return known && *pages != NULL;
}
