/*
 * clause.c: estimates what a condition of a query asks an index for (see clause.h). It uses statistics and the figures
 * of the index. If items are keys inside values, and the value that is searched for is known, it takes the value apart
 * into keys.
 */
#include "index/clause.h"

#include <math.h>

#include "catalog/pg_operator.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "port/pg_bitutils.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "index/answers.h"
#include "index/attempt.h"
#include "index/estimate.h"
#include "index/handler.h"
#include "index/items.h"
#include "index/key_search.h"
#include "index/keys.h"

/*
 * Sets clause->in_vain from clause->required or, if that is 0, from clause->items (see clause.h). For a query whose
 * keys are known, take_query_apart() finds a better estimate.
 */
static void
set_in_vain(BfClause *clause, const BfIndexFigures *figures)
{
	for (int level = 0; level < 2; level++)
	{
		const double rate = level == 0 ? figures->rates[clause->column] : figures->upper_rate;

		clause->in_vain[level] = clause->required > 0 ? pow(rate, clause->required) : 1 - pow(1 - rate, clause->items);
	}
}

/*
 * If the argument of a condition cannot be taken apart into keys, it is taken to have this many keys, and a row must
 * have all of them. In most of these cases the argument's value is not known when the query is planned.
 */
#define KEYS_EXPECTED 2

/*
 * Estimates how many different keys a column has in the whole table; 0: that is not known. If there are several
 * levels, the highest two tell how the number of keys of a range grows with the range's length; it is taken to grow in
 * the same way up to the length of the table. If there is one level, one page of the index tells how many keys its
 * ranges have in common.
 */
static double
count_keys_of_heap(PlannerInfo *root, IndexOptInfo *info, Relation index, const BfIndexFigures *figures, int column)
{
	const BfLevelFigures *top = &figures->level[figures->levels - 1];
	double		ranges = Max(info->rel->pages / top->pages_per_range, 1);
	double		common;

	if (figures->levels > 1)
	{
		const BfLevelFigures *below = top - 1;
		double		growth = log(Max(top->distinct[column], 1) / Max(below->distinct[column], 1)) /
			log(top->pages_per_range / below->pages_per_range);

		return top->distinct[column] * pow(ranges, Min(1, Max(0, growth)));
	}
	/* A single range cannot be compared with others. Many small partitions have only one. */
	common = top->covered < 2 ? -1 : bf_index_estimate_common(root, info, index, column);
	return common < 0 ? 0 : top->distinct[column] * (common + (1 - common) * ranges);
}

/* Can PostgreSQL estimate conditions with known values on the keys of this column, by its statistics? */
static bool
has_statistics_of_keys(PlannerInfo *root, const IndexOptInfo *info, int column)
{
	AttrNumber	attribute = info->indexkeys[column];
	HeapTuple	statistics;
	AttStatsSlot slot;
	bool		result;

	if (type_is_collatable(info->opcintype[column]))
		return true;			/* keys of text: PostgreSQL compares a LIKE pattern with a sample of values */
	if (attribute == 0)
		return false;
	statistics = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(planner_rt_fetch(info->rel->relid, root)->relid),
								 Int16GetDatum(attribute), BoolGetDatum(false));
	if (!HeapTupleIsValid(statistics))
		return false;
	result = get_attstatsslot(&slot, statistics, STATISTIC_KIND_MCELEM, InvalidOid, 0);
	if (result)
		free_attstatsslot(&slot);
	ReleaseSysCache(statistics);
	return result;
}

/*
 * What a condition on keys inside values looks for, taken apart. The result is remembered while the statement is
 * planned: the indexes of all partitions of a table are asked the same, and the cost of an index is estimated several
 * times.
 */
typedef struct KnownQuery
{
	StrategyNumber strategy;
	int			flags;			/* as in a ScanKey */
	const Const *value;
	const BfKeyClass *class;
	const BfKeySearch *search;
	double		rates[2];		/* the false-positive rates for which in_vain[] was estimated */
	double		in_vain[2];		/* as in BfClause */
} KnownQuery;

/* The most queries that are remembered for a statement. */
#define MOST_KNOWN 128

/* The argument of take_query_apart(). */
typedef struct QueryOfKeys
{
	PlannerInfo *root;
	Relation	index;
	int			column;
	KnownQuery	wanted;			/* only strategy, flags and value are set */
	double		rates[2];		/* the false-positive rates of the index; 0: on level 0, 1: on the levels above */
	const KnownQuery *known;	/* the result */
} QueryOfKeys;

static KnownQuery *
find_known_query(const QueryOfKeys *query)
{
	ListCell   *cell;

	foreach(cell, *bf_index_known_queries(query->root))
	{
		KnownQuery *known = lfirst(cell);

		if (known->strategy == query->wanted.strategy && known->flags == query->wanted.flags &&
			bf_index_is_key_class(known->class, query->index, query->column) &&
			equal(known->value, query->wanted.value))
			return known;
	}
	return NULL;
}

/* Takes a query apart, and remembers it. */
static KnownQuery *
add_known_query(const QueryOfKeys *query)
{
	KnownQuery *known = memcpy(palloc(sizeof(KnownQuery)), &query->wanted, sizeof(KnownQuery));
	ScanKeyData key = {.sk_flags = known->flags};
	BfKeyClass *class = bf_index_make_key_class(query->index, query->column, CurrentMemoryContext);
	Datum	   *queries;
	uint32		count;
	List	  **all;

	known->value = copyObject(known->value);
	known->class = class;
	key.sk_argument = known->value->constvalue;
	count = bf_index_key_arguments(&key, &queries);
	known->search = bf_index_begin_key_search(class, bf_index_key_hasher(class, CurrentMemoryContext), known->strategy,
											  queries, count);
	all = bf_index_known_queries(query->root);
	if (list_length(*all) < MOST_KNOWN)
		*all = lappend(*all, known);
	return known;
}

static void
take_query_apart(void *argument)
{
	QueryOfKeys *query = argument;
	MemoryContext caller = MemoryContextSwitchTo(query->root->planner_cxt);
	KnownQuery *known = find_known_query(query);

	if (known == NULL)
		known = add_known_query(query);
	for (int level = 0; level < 2 && known->search->kind == BF_FINDS_BY_KEYS; level++)
		if (known->rates[level] != query->rates[level])
		{
			known->in_vain[level] = bf_index_key_search_in_vain(known->search, query->rates[level]);
			known->rates[level] = query->rates[level];
		}
	query->known = known;
	MemoryContextSwitchTo(caller);
}

/*
 * Sets *clause to what a condition on keys inside values asks for. Returns false if the keys cannot rule out any
 * value. `index` is NULL if the index does not exist or is damaged. If a function of the operator class fails, the
 * value counts as one that is not known yet.
 */
static bool
estimate_keys(PlannerInfo *root, IndexOptInfo *info, Relation index, const BfIndexFigures *figures, Node *expression,
			  BfClause *clause)
{
	bool		is_array = IsA(expression, ScalarArrayOpExpr);
	Oid			operator = is_array ? ((ScalarArrayOpExpr *) expression)->opno : ((OpExpr *) expression)->opno;
	Node	   *argument = is_array ? lsecond(((ScalarArrayOpExpr *) expression)->args) : get_rightop(expression);
	QueryOfKeys query = {.root = root, .index = index, .column = clause->column};
	bool		is_known;

	clause->by_keys = true;
	clause->items = clause->required = KEYS_EXPECTED;
	set_in_vain(clause, figures);
	argument = estimate_expression_value(root, argument);
	is_known = IsA(argument, Const);
	if (!is_known && operator == OID_ARRAY_CONTAINED_OP)
		return false;			/* {} is in every array, so all ranges are read */
	if (!is_known || !has_statistics_of_keys(root, info, clause->column))
		clause->keys_of_heap = count_keys_of_heap(root, info, index, figures, clause->column);
	if (index == NULL || !is_known)
		return true;
	if (((Const *) argument)->constisnull)
	{
		clause->items = clause->required = 0;
		set_in_vain(clause, figures);
		return true;
	}
	query.wanted = (KnownQuery) {
		.strategy = get_op_opfamily_strategy(operator, info->opfamily[clause->column]),
		.flags = is_array ? SK_SEARCHARRAY : 0,
		.value = (Const *) argument
	};
	query.rates[0] = figures->rates[clause->column];
	query.rates[1] = figures->upper_rate;
	if (!bf_index_try(take_query_apart, &query))
		return true;
	clause->items = query.known->search->count;
	clause->required = pg_popcount64(query.known->search->required);
	memcpy(clause->in_vain, query.known->in_vain, sizeof clause->in_vain);
	return query.known->search->kind != BF_FINDS_ANYTHING;
}

/*
 * How well the values of a column of the index are ordered in the table: the absolute value of their correlation, 0
 * to 1.
 *
 * ANALYZE sorts rows with equal values by their position in the table. So even if the values are strewn over the
 * table, the correlation is not 0, but the sum of the squares of the values' shares of the rows. Only a correlation
 * above this sum tells of an order. If the sum is above 1/4, a few values have a large part of the rows. The other
 * rows are too few then to tell of a weak order, so an order below 1/2 counts as none.
 */
static double
correlation_of(PlannerInfo *root, const IndexOptInfo *info, int column)
{
	AttrNumber	attribute = info->indexkeys[column];
	double		correlation = 0;
	double		of_strewn = 0;	/* the correlation if the values were strewn */
	double		not_null;
	HeapTuple	statistics;
	AttStatsSlot slot;

	if (attribute == 0)
		return 0;				/* an expression */
	statistics = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(planner_rt_fetch(info->rel->relid, root)->relid),
								 Int16GetDatum(attribute), BoolGetDatum(false));
	if (!HeapTupleIsValid(statistics))
		return 0;
	if (get_attstatsslot(&slot, statistics, STATISTIC_KIND_CORRELATION, InvalidOid, ATTSTATSSLOT_NUMBERS))
	{
		if (slot.nnumbers > 0)
			correlation = slot.numbers[0];
		free_attstatsslot(&slot);
	}
	not_null = 1 - ((Form_pg_statistic) GETSTRUCT(statistics))->stanullfrac;
	if (correlation > 0 && not_null > 0 &&
		get_attstatsslot(&slot, statistics, STATISTIC_KIND_MCV, InvalidOid, ATTSTATSSLOT_NUMBERS))
	{
		for (int i = 0; i < slot.nnumbers; i++)
			of_strewn += pow(slot.numbers[i] / not_null, 2);
		free_attstatsslot(&slot);
		correlation = of_strewn < 1 ? Max(0, (correlation - of_strewn) / (1 - of_strewn)) : 0;
		if (of_strewn > 0.25 && correlation < 0.5)
			correlation = 0;
	}
	ReleaseSysCache(statistics);
	return fabs(correlation);
}

bool
bf_index_get_clause(PlannerInfo *root, IndexOptInfo *info, Relation index, const BfIndexFigures *figures,
					const IndexClause *from, BfClause *clause)
{
	/* here the column of the index is on the left */
	Node	   *expression = (Node *) linitial_node(RestrictInfo, from->indexquals)->clause;
	Oid			family = info->opfamily[from->indexcol];
	Oid			type = info->opcintype[from->indexcol];
	bool		has_keys = index != NULL ? bf_index_has_keys(index, from->indexcol) :
		OidIsValid(get_opfamily_proc(family, type, type, BF_EXTRACT_QUERY_PROC));

	if (IsA(expression, NullTest) && ((NullTest *) expression)->nulltesttype == IS_NOT_NULL)
		return false;
	*clause = (BfClause) {.column = from->indexcol, .items = 1};
	clause->selectivity = clauselist_selectivity(root, list_make1(from->rinfo), info->rel->relid, JOIN_INNER, NULL);
	if (has_keys && (IsA(expression, OpExpr) || IsA(expression, ScalarArrayOpExpr)))
		return estimate_keys(root, info, index, figures, expression, clause);
	if (!IsA(expression, NullTest))
		clause->correlation = correlation_of(root, info, from->indexcol);
	if (IsA(expression, ScalarArrayOpExpr))
		clause->items = Max(1, sb_estimate_array_length(root, lsecond(((ScalarArrayOpExpr *) expression)->args)));
	set_in_vain(clause, figures);
	return true;
}
