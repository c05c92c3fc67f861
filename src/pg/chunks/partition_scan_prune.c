/*
 * partition_scan_prune.c: decides which conditions can prune partitions when a PartitionScan is executed, because they
 * compare the partition key with a value.
 *
 * To prune by a condition, its value must be evaluated, and this may raise an error: day < 1 / $1. PostgreSQL's own
 * pruning evaluates only values that it can use. No other values may be evaluated here, since an ordinary plan would
 * not raise their errors. (A few conditions that PostgreSQL can use are not used here: for example, those on a later
 * column of a range key after <= on an earlier one. Then fewer partitions are pruned.)
 */
#include "chunks/partition_scan.h"

#include "access/stratnum.h"
#include "catalog/pg_proc.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

OpExpr *
partition_scan_value_on_right(Expr *clause)
{
	OpExpr	   *comparison = (OpExpr *) clause;

	if (!IsA(clause, OpExpr) || list_length(comparison->args) != 2 || contain_volatile_functions((Node *) clause) ||
		contain_subplans((Node *) clause))
		return NULL;
	if (contain_var_clause(lsecond(comparison->args)))
	{
		if (contain_var_clause(linitial(comparison->args)) || !OidIsValid(get_commutator(comparison->opno)))
			return NULL;
		comparison = copyObject(comparison);
		CommuteOpExpr(comparison);
	}
	return comparison;
}

/* A column of a partition key. */
typedef struct KeyColumn
{
	PartitionKey key;
	int			number;			/* from 0 */
	Index		relid;			/* the varno in conditions */
	Node	   *expression;		/* NULL: it is a plain column of the table */
} KeyColumn;

static bool
is_key_column(const KeyColumn *column, const Node *side)
{
	while (IsA(side, RelabelType))
		side = (const Node *) ((const RelabelType *) side)->arg;
	if (column->expression != NULL)
		return equal(side, column->expression);
	return IsA(side, Var) && ((const Var *) side)->varno == (int) column->relid &&
		((const Var *) side)->varattno == column->key->partattrs[column->number];
}

/*
 * Is this a clause on this column of the partition key, by which PostgreSQL can prune? If so, sets *is_equality.
 * (PostgreSQL's own test is match_clause_to_partition_key().)
 */
static bool
can_prune(const KeyColumn *column, Expr *clause, bool *is_equality)
{
	const OpExpr *comparison = partition_scan_value_on_right(clause);
	Oid			collation = column->key->partcollation[column->number];
	Oid			family = column->key->partopfamily[column->number];
	bool		of_hash = column->key->strategy == PARTITION_STRATEGY_HASH;
	int			strategy;

	if (comparison == NULL || !is_key_column(column, linitial(comparison->args)) || !op_strict(comparison->opno) ||
		(OidIsValid(collation) && collation != comparison->inputcollid))
		return false;
	/* prune_append_rel_partitions() uses no operator that depends on settings */
	if (op_volatile(comparison->opno) != PROVOLATILE_IMMUTABLE)
		return false;
	strategy = get_op_opfamily_strategy(comparison->opno, family);
	*is_equality = strategy == (of_hash ? HTEqualStrategyNumber : BTEqualStrategyNumber);
	/* <> is in no operator class, but can rule out list partitions */
	return strategy != 0 || (column->key->strategy == PARTITION_STRATEGY_LIST &&
							 get_op_opfamily_strategy(get_negator(comparison->opno), family) == BTEqualStrategyNumber);
}

List *
partition_scan_prunable(Relation table, Index relid, const List *clauses)
{
	PartitionKey key = RelationGetPartitionKey(table);
	ListCell   *expression = list_head(key->partexprs);
	List	   *result = NIL;

	for (int i = 0; i < key->partnatts; i++)
	{
		KeyColumn	column = {.key = key, .number = i, .relid = relid};
		Bitmapset  *of_column = NULL;
		bool		has_equality = false;
		bool		has_other = false;
		ListCell   *cell;

		if (key->partattrs[i] == 0)
		{
			column.expression = copyObject(lfirst(expression));
			ChangeVarNodes(column.expression, 1, relid, 0);
			expression = lnext(key->partexprs, expression);
		}
		foreach(cell, clauses)
		{
			bool		is_equality;

			if (!can_prune(&column, lfirst(cell), &is_equality))
				continue;
			of_column = bms_add_member(of_column, foreach_current_index(cell));
			has_equality |= is_equality;
			has_other |= !is_equality;
		}
		/*
		 * For hash partitions each column of the key must have an equality. (For PostgreSQL, IS NULL would do too.) For
		 * range partitions a column is used only if all columns before it have equalities, and no other comparisons.
		 * (PostgreSQL would also use it after <= and >=.)
		 */
		if (key->strategy == PARTITION_STRATEGY_HASH && !has_equality)
			return NIL;
		if (of_column != NULL)
			result = lappend(result, of_column);
		if (key->strategy == PARTITION_STRATEGY_RANGE && (!has_equality || has_other))
			break;
	}
	return result;
}
