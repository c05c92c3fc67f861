/*
 * known.c: the conditions of an index's path whose values are known when a query is planned; and how the same
 * condition is recognized in all partitions of a table.
 */
#include "index/known.h"

#include "access/skey.h"
#include "common/hashfn.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "index/keys.h"

/* ------------------------------------------------------------------ comparisons */

/*
 * Sets *comparison to a condition of a path. Returns false unless it is IS NULL, or an operator (alone or with ANY)
 * whose value is known and not NULL.
 */
static bool
get_comparison(PlannerInfo *root, const IndexClause *clause, BfComparison *comparison)
{
	Node	   *expression;
	Node	   *argument;

	if (list_length(clause->indexquals) != 1)
		return false;
	*comparison = (BfComparison) {.column = clause->indexcol};
	comparison->condition = linitial_node(RestrictInfo, clause->indexquals);
	/* here the column of the index is on the left */
	expression = (Node *) comparison->condition->clause;
	if (IsA(expression, NullTest))
	{
		comparison->flags = SK_ISNULL | SK_SEARCHNULL;
		return ((NullTest *) expression)->nulltesttype == IS_NULL;
	}
	if (IsA(expression, OpExpr))
	{
		comparison->operator = ((OpExpr *) expression)->opno;
		comparison->collation = ((OpExpr *) expression)->inputcollid;
		argument = get_rightop(expression);
	}
	else if (IsA(expression, ScalarArrayOpExpr))
	{
		comparison->operator = ((ScalarArrayOpExpr *) expression)->opno;
		comparison->collation = ((ScalarArrayOpExpr *) expression)->inputcollid;
		comparison->flags = SK_SEARCHARRAY;
		argument = lsecond(((ScalarArrayOpExpr *) expression)->args);
	}
	else
		return false;
	if (!IsA(argument, Const))
		argument = estimate_expression_value(root, argument);
	comparison->value = (const Const *) argument;
	return IsA(argument, Const) && !comparison->value->constisnull;
}

int
bf_known_comparisons(PlannerInfo *root, const List *clauses, BfComparison *comparisons)
{
	int			count = 0;
	ListCell   *cell;

	foreach(cell, clauses)
		count += get_comparison(root, lfirst_node(IndexClause, cell), &comparisons[count]);
	return count;
}

void
bf_known_make_key(const IndexOptInfo *info, const BfComparison *comparison, ScanKeyData *key)
{
	Oid			left_type,
				right_type;
	int			strategy;

	memset(key, 0, sizeof *key);
	key->sk_attno = comparison->column + 1;
	key->sk_flags = comparison->flags;
	if (comparison->value == NULL)
		return;
	get_op_opfamily_properties(comparison->operator, info->opfamily[comparison->column], false,
							   &strategy, &left_type, &right_type);
	key->sk_strategy = strategy;
	key->sk_subtype = right_type;
	key->sk_collation = comparison->collation;
	key->sk_argument = comparison->value->constvalue;
}

/* -------------------------------------------------------- the same in all partitions */

Index
bf_known_topmost_table(const PlannerInfo *root, const RelOptInfo *rel)
{
	Index		relid = rel->relid;

	while (root->append_rel_array != NULL && root->append_rel_array[relid] != NULL)
	{
		Index		parent = root->append_rel_array[relid]->parent_relid;

		if (planner_rt_fetch(parent, root)->rtekind != RTE_RELATION)
			break;
		relid = parent;
	}
	return relid;
}

AttrNumber
bf_known_attribute_of_parent(const PlannerInfo *root, const RelOptInfo *rel, Index parent, AttrNumber attribute)
{
	for (Index relid = rel->relid; relid != parent && attribute > 0;)
	{
		const AppendRelInfo *above = root->append_rel_array[relid];

		attribute = attribute <= above->num_child_cols ? above->parent_colnos[attribute - 1] : 0;
		relid = above->parent_relid;
	}
	return attribute;
}

int
bf_known_column_of_parent(const PlannerInfo *root, const IndexOptInfo *info, Index parent, int column)
{
	const AttrNumber attribute = info->indexkeys[column];

	return attribute == 0 ? -1 - column : bf_known_attribute_of_parent(root, info->rel, parent, attribute);
}

/* The options of the operator class of a column, as its functions get them; NULL if there are none. */
static const bytea *
options_of(const IndexOptInfo *info, int column)
{
	return info->opclassoptions != NULL ? info->opclassoptions[column] : NULL;
}

bool
bf_known_is_same_class(const IndexOptInfo *a, const IndexOptInfo *b, int column)
{
	return a->opfamily[column] == b->opfamily[column] && a->indexcollations[column] == b->indexcollations[column] &&
		bf_index_same_options(options_of(a, column), options_of(b, column));
}

/* The hash of a long value is made of its length and of at most this many of its first bytes. */
#define BYTES_THAT_TELL 256

uint32
bf_known_hash(const PlannerInfo *root, const IndexOptInfo *info, Index parent, const BfComparison *comparison)
{
	const Const *value = comparison->value;
	int			column = bf_known_column_of_parent(root, info, parent, comparison->column);
	const bytea *options = options_of(info, comparison->column);
	uint32		hash = hash_combine(comparison->flags, column);
	Size		size;

	hash = hash_combine(hash, info->opfamily[comparison->column]);
	if (options != NULL)
		hash = hash_combine(hash, hash_bytes((const unsigned char *) options, VARSIZE(options)));

	if (value == NULL)
		return hash;
	hash = hash_combine(hash, comparison->operator);
	if (value->constbyval)
		return hash_combine(hash, hash_bytes((const unsigned char *) &value->constvalue, sizeof(Datum)));
	size = datumGetSize(value->constvalue, false, value->constlen);
	return hash_combine(hash_combine(hash, (uint32) size),
						hash_bytes((const unsigned char *) DatumGetPointer(value->constvalue),
								   Min(size, BYTES_THAT_TELL)));
}
