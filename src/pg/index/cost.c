/*
 * cost.c: estimates what a scan of a bf index costs, and how much of the heap it leaves to be read.
 *
 * Let a value have the share s of all rows. If its rows are strewn over the table, they are in at most s * rows
 * ranges. If equal values lie together, they are in about the share s * d of the ranges. Here d is the number of
 * distinct values in a range, which the size of the filters tells. And if the values stand in the table in about
 * their order, the rows of one value are in about the share s / c of the ranges. Here c is how far the values are in
 * order, from 0 to 1, which follows from the statistics (correlation_of()). For NULLs c is not known. The smallest of
 * the three estimates is used.
 *
 * If items are keys inside values (words of a text, elements of an array), and the key is not known when the query is
 * planned, statistics do not help. Each of the column's keys is taken to be equally likely. If a range has n of the
 * column's N different keys, a key is in n / N of the ranges in the mean. The sizes of the filters tell n. N follows
 * from the filters of the highest two levels or, if there is only one level, from one page of the index.
 *
 * If the values are known when the query is planned, estimate.c asks the index, unless it must not. All this is for
 * the other conditions, and for the parts of the index that estimate.c does not look at.
 *
 * The index is searched from the highest level down. sizes.c says how many pages that reads.
 *
 * The planner computes the cost of the heap from the selectivity, as if the rows were strewn over its pages. Here
 * whole ranges are read, so the planner is given the selectivity that leads it to the right number of pages.
 */
#include "base/compat.h"

#include <math.h>

#include "access/relation.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_statistic.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "port/pg_bitutils.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"
#include "utils/syscache.h"

#include "index/estimate.h"
#include "index/geometry.h"
#include "index/handler.h"
#include "index/items.h"
#include "index/key_search.h"
#include "index/keys.h"
#include "index/layout.h"
#include "index/sizes.h"

/* Looking up one item in the filters of one group takes as much time as calling this many operators. */
#define OPERATORS_PER_GROUP 10

/* What the planner uses of one level. */
typedef struct LevelFigures
{
	double		pages_per_range;
	double		groups;
	double		covered;		/* the number of ranges that the groups have together */
	double		distinct[INDEX_MAX_KEYS];	/* items for which a range's filter was made, in each column */
} LevelFigures;

/* What the planner uses of an index. */
typedef struct IndexFigures
{
	int			levels;			/* at least 1 */
	LevelFigures level[BF_INDEX_MAX_LEVELS];
	double		rates[INDEX_MAX_KEYS];	/* the false-positive rate of each column on level 0 */
	double		upper_rate;		/* the rate of all columns on the levels above */
} IndexFigures;

/*
 * Makes up figures for an index that is damaged or does not exist (an extension such as hypopg pretends that it
 * does): those of an index that has level 0 only.
 */
static void
invent_figures(IndexOptInfo *info, IndexFigures *figures)
{
	LevelFigures *level = &figures->level[0];

	figures->levels = 1;
	figures->upper_rate = bf_index_upper_rate(false, BF_INDEX_DEFAULT_FPR);
	level->pages_per_range = BF_INDEX_DEFAULT_PAGES_PER_RANGE;
	level->covered = ceil(info->rel->pages / level->pages_per_range);
	level->groups = ceil(level->covered / BF_INDEX_MAX_RANGES);
	for (int column = 0; column < info->nkeycolumns; column++)
	{
		level->distinct[column] = info->rel->tuples / Max(level->covered, 1);
		figures->rates[column] = BF_INDEX_DEFAULT_FPR;
	}
}

/* Reads the figures of one level. */
static void
get_level_figures(const BfGeometry *geometry, int number, LevelFigures *figures)
{
	const BfLevel *level = &geometry->level[number];

	figures->pages_per_range = level->pages_per_range != 0 ? level->pages_per_range : BF_INDEX_DEFAULT_PAGES_PER_RANGE;
	figures->groups = level->groups;
	figures->covered = level->covered;
	for (int column = 0; column < geometry->columns; column++)
	{
		double		lines = 0;

		for (uint32 i = level->first_stretch; i < level->first_stretch + level->stretches; i++)
			lines += (double) geometry->lines[i * geometry->columns + column] * geometry->stretch[i].ranges *
				geometry->stretch[i].groups;
		figures->distinct[column] =
			lines / Max(level->covered, 1) * bf_index_parameters(geometry, number, column)->load;
	}
}

/* The argument of read_figures(). */
typedef struct Reading
{
	IndexOptInfo *info;
	Relation	index;
	IndexFigures *figures;
} Reading;

static void
read_figures(void *argument)
{
	const Reading *reading = argument;
	IndexFigures *figures = reading->figures;
	const BfGeometry *geometry = bf_index_geometry(reading->index);

	if ((double) geometry->level[0].covered * geometry->level[0].pages_per_range < reading->info->rel->pages)
		geometry = bf_index_current_geometry(reading->index);
	figures->levels = Max(geometry->levels, 1);
	figures->upper_rate = geometry->upper.false_positive_rate;
	for (int column = 0; column < geometry->columns; column++)
		figures->rates[column] = geometry->column[column].false_positive_rate;
	for (int level = 0; level < figures->levels; level++)
		get_level_figures(geometry, level, &figures->level[level]);
}

/* Does the relation cache have all that the figures come from? Then nothing is read, and nothing can fail. */
static bool
are_figures_cached(const IndexOptInfo *info, Relation index)
{
	const BfGeometry *geometry = index->rd_amcache;

	return geometry != NULL &&
		(double) geometry->level[0].covered * geometry->level[0].pages_per_range >= info->rel->pages;
}

/*
 * Sets *figures. `index` is NULL if the index does not exist. For such an index, and for one whose meta page is
 * damaged, the figures are made up, and the result is false. Then the index must not be asked anything more. (No error
 * is raised here. If the query scans a damaged index, the scan raises it.)
 */
static bool
get_figures(IndexOptInfo *info, Relation index, IndexFigures *figures)
{
	Reading		reading = {.info = info, .index = index, .figures = figures};

	memset(figures, 0, sizeof *figures);
	if (index != NULL && are_figures_cached(info, index))
	{
		read_figures(&reading);
		return true;
	}
	if (index != NULL && bf_index_try(read_figures, &reading))
		return true;
	invent_figures(info, figures);
	return false;
}

/* A condition that the index is asked about. */
typedef struct Clause
{
	int			column;
	bool		by_keys;		/* the items are keys inside values */
	double		items;			/* number of items that are searched for */
	double		required;		/* how many of these items each value that matches has; 0: none in particular */
	double		in_vain[2];		/* what share_in_vain() returns; 0: for level 0, 1: for the levels above */
	double		selectivity;
	double		keys_of_heap;	/* different keys in the whole column; 0: not known, or not needed */
	double		correlation;	/* how well values are ordered in the table, 0 to 1; 0: not at all, or not known */
} Clause;

/*
 * The number of keys that a row is taken to have, if items are keys inside values. The true number is not known; a
 * line of a log has some ten to twenty words. With k keys in each row a range has k times as many items as rows, so
 * the estimate for equal values that lie together is divided by k.
 */
#define KEYS_OF_A_ROW 8

/* Estimates the share of a level's ranges that have rows which satisfy a clause. */
static double
share_of_ranges(const LevelFigures *figures, const Clause *clause, double rows, double ranges)
{
	double		strewn = 1 - pow(1 - 1 / ranges, clause->selectivity * rows);
	double		together = clause->selectivity * figures->distinct[clause->column] /
			(clause->by_keys ? KEYS_OF_A_ROW : 1);

	if (clause->correlation > 0)
		together = Min(together, clause->selectivity / clause->correlation + clause->items / ranges);
	if (clause->keys_of_heap > 0)
		together = Min(together, Max(clause->items - clause->required, 1) *
					   figures->distinct[clause->column] / clause->keys_of_heap);
	/* At least one range: the planner cannot know that a value does not occur. */
	return Min(1, Max(Min(strewn, together), 1 / ranges));
}

/* The share of a level's ranges that say "maybe" to a clause although they have no row that satisfies it. */
static double
share_in_vain(const Clause *clause, int level)
{
	return clause->in_vain[level == 0 ? 0 : 1];
}

/*
 * Sets what share_in_vain() returns, from the number of items and of required ones. For a query whose keys are known,
 * take_query_apart() finds a better estimate.
 */
static void
set_in_vain(Clause *clause, const IndexFigures *figures)
{
	for (int level = 0; level < 2; level++)
	{
		const double rate = level == 0 ? figures->rates[clause->column] : figures->upper_rate;

		clause->in_vain[level] = clause->required > 0 ? pow(rate, clause->required) : 1 - pow(1 - rate, clause->items);
	}
}

/* What a search finds on a level. Only the condition that leaves the fewest ranges of this level counts. */
static BfLevelToSearch
level_to_search(const IndexFigures *figures, int number, const Clause *clauses, int count, double rows,
				double heap_pages)
{
	const LevelFigures *level = &figures->level[number];
	double		ranges = Max(ceil(heap_pages / level->pages_per_range), 1);
	BfLevelToSearch to_search = {
		.length = level->pages_per_range,
		.ranges = Min(level->covered, ranges),
		.groups = level->groups,
		.holding = ranges,
		.rate = 1
	};
	double		least = 1;

	for (int i = 0; i < count; i++)
	{
		const Clause *clause = &clauses[i];
		double		holding = share_of_ranges(level, clause, rows, ranges);
		double		rate = share_in_vain(clause, number);

		if (holding + (1 - holding) * rate < least)
		{
			least = holding + (1 - holding) * rate;
			to_search.holding = holding * ranges;
			to_search.rate = rate;
		}
	}
	return to_search;
}

/* The share of a level's ranges that a search would leave if it looked at all of them. */
static double
share_left(const BfLevelToSearch *level, double heap_pages)
{
	const double holding = Min(1, level->holding / Max(ceil(heap_pages / level->length), 1));

	return holding + (1 - holding) * level->rate;
}

/* ------------------------------------------------------------------ the conditions */

/*
 * If the argument of a condition cannot be taken apart into keys, it is taken to have this many keys, and a row must
 * have all of them. In most of these cases the argument's value is not known when the query is planned.
 */
#define KEYS_EXPECTED 2

/*
 * Estimates how many different keys a column has in the whole table; 0: that is not known. If there are several
 * levels, the number of keys of a range is taken to grow with the range's length as between the highest two levels.
 * If there is one level, one page of the index tells how many keys its ranges have in common.
 */
static double
count_keys_of_heap(PlannerInfo *root, IndexOptInfo *info, Relation index, const IndexFigures *figures, int column)
{
	const LevelFigures *top = &figures->level[figures->levels - 1];
	double		ranges = Max(info->rel->pages / top->pages_per_range, 1);
	double		common;

	if (figures->levels > 1)
	{
		const LevelFigures *below = top - 1;
		double		growth = log(Max(top->distinct[column], 1) / Max(below->distinct[column], 1)) /
			log(top->pages_per_range / below->pages_per_range);

		return top->distinct[column] * pow(ranges, Min(1, Max(0, growth)));
	}
	/* A single range cannot be compared with others. Many small partitions have only one. */
	common = top->covered < 2 ? -1 : bf_index_estimate_common(root, info, index, column);
	return common < 0 ? 0 : top->distinct[column] * (common + (1 - common) * ranges);
}

/* Does PostgreSQL have statistics of the keys of this column? It uses them for conditions with known values. */
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
	double		in_vain[2];		/* as in Clause */
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
estimate_keys(PlannerInfo *root, IndexOptInfo *info, Relation index, const IndexFigures *figures, Node *expression,
			  Clause *clause)
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

/* Sets *clause to what a condition asks for. Returns false if the index cannot rule out any range by it. */
static bool
get_clause(PlannerInfo *root, IndexOptInfo *info, Relation index, const IndexFigures *figures, const IndexClause *from,
		   Clause *clause)
{
	/* here the column of the index is on the left */
	Node	   *expression = (Node *) linitial_node(RestrictInfo, from->indexquals)->clause;
	Oid			family = info->opfamily[from->indexcol];
	Oid			type = info->opcintype[from->indexcol];
	bool		has_keys = index != NULL ? bf_index_has_keys(index, from->indexcol) :
		OidIsValid(get_opfamily_proc(family, type, type, BF_EXTRACT_QUERY_PROC));

	if (IsA(expression, NullTest) && ((NullTest *) expression)->nulltesttype == IS_NOT_NULL)
		return false;
	*clause = (Clause) {.column = from->indexcol, .items = 1};
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

/* What a search is expected to do. */
typedef struct Expected
{
	double		share;			/* share of the heap's pages that the search leaves */
	double		lookups;		/* how often an item is looked up in a group */
	double		pages;			/* pages of the index that the search reads */
} Expected;

/* Sets *expected from the answer of the index, or from the mean of what the indexes of other partitions answered. */
static void
expect_estimate(const IndexOptInfo *info, const BfEstimate *estimate, Expected *expected)
{
	expected->share = estimate->share;
	expected->lookups = estimate->index_pages;
	expected->pages = Min(Max(estimate->index_pages, 1), Max(info->pages, 1));
}

/* Sets *expected for a search: from the figures of the index, from statistics, and by asking the index. */
static void
expect(PlannerInfo *root, IndexOptInfo *info, const List *conditions, double rows, double heap_pages,
	   Expected *expected)
{
	Clause	   *clauses = palloc(Max(list_length(conditions), 1) * sizeof(Clause));
	List	   *useful = NIL;	/* the conditions that are in clauses[] */
	int			count = 0;		/* how many conditions these are */
	int			asked;			/* how many of these conditions the index was asked about */
	BfLevelToSearch levels[BF_INDEX_MAX_LEVELS];
	double		priors[BF_INDEX_MAX_LEVELS];
	BfEstimate	estimate;
	double		items_searched = 0;
	IndexFigures figures;
	Relation	opened = info->hypothetical ? NULL : index_open(info->indexoid, NoLock); /* the planner holds a lock */
	Relation	index;			/* NULL if it cannot be asked */
	ListCell   *cell;

	index = get_figures(info, opened, &figures) ? opened : NULL;
	foreach(cell, conditions)
	{
		IndexClause *clause = lfirst_node(IndexClause, cell);

		if (!get_clause(root, info, index, &figures, clause, &clauses[count]))
			continue;
		items_searched += clauses[count++].items;
		useful = lappend(useful, clause);
	}
	/*
	 * priors[] is set for all levels that any index may have: other partitions may be asked in the place of this one,
	 * and their indexes may have more levels.
	 */
	for (int level = 0; level < BF_INDEX_MAX_LEVELS; level++)
	{
		if (level < figures.levels)
			levels[level] = level_to_search(&figures, level, clauses, count, rows, heap_pages);
		priors[level] = level < figures.levels ? share_left(&levels[level], heap_pages) : priors[level - 1];
	}
	asked = bf_index_estimate(root, info, index, useful, priors, &estimate);
	if (asked > 0 && asked == count)
		expect_estimate(info, &estimate, expected);
	else
	{
		const BfPagesRead read = bf_index_pages_of_look_up(levels, figures.levels, heap_pages);

		expected->share = Min(1, read.heap / heap_pages);
		if (asked > 0)
			expected->share = Min(expected->share, estimate.share);
		expected->lookups = read.index * items_searched;
		expected->pages = Min(read.index * Max(items_searched, 1), Max(info->pages, 1));
	}
	if (opened != NULL)
		index_close(opened, NoLock);
	list_free(useful);
	pfree(clauses);
}

/*
 * What PostgreSQL's cost_bitmap_heap_scan() reckons for reading `pages` of a table's `heap_pages` pages: `seq` for
 * each page if all are read, and nearly `random` if few are.
 */
static double
cost_of_pages(double pages, double heap_pages, double random, double seq)
{
	return pages * (random - (random - seq) * sqrt(pages / heap_pages));
}

void
bf_index_cost(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
			  Selectivity *selectivity, double *correlation, double *pages)
{
	IndexOptInfo *info = path->indexinfo;
	List	   *quals = get_quals_from_indexclauses(path->indexclauses);
	BfEstimate	estimate;
	Expected	expected;
	double		rows = Max(info->rel->tuples, 1);
	double		heap_pages = Max(info->rel->pages, 1);
	double		rechecked,
				wanted,
				rows_counted,
				pages_counted;
	double		random_page_cost;
	double		heap_random,	/* the cost of a page of the heap that is read alone */
				heap_seq;		/* the cost of a page if all are read in their order */
	QualCost	qual_cost;

	CHECK_FOR_INTERRUPTS();		/* there may be thousands of partitions */
	if (bf_index_estimate_like_others(root, info, path->indexclauses, &estimate))
		expect_estimate(info, &estimate, &expected);
	else
		expect(root, info, path->indexclauses, rows, heap_pages, &expected);
	*pages = expected.pages;

	/*
	 * The scan reads share * heap_pages pages. The planner estimates that N rows on T pages are on 2TN / (2T + N) of
	 * them (Mackert and Lohman's formula). This is solved for N.
	 */
	wanted = Min(expected.share * heap_pages, heap_pages);
	rechecked = expected.share * rows;
	*selectivity = expected.share >= 1 ? 1 : 2 * heap_pages * wanted / (2 * heap_pages - wanted) / rows;
	*selectivity = Min(1, *selectivity);
	*correlation = 1;			/* bitmap scans do not use it */

	get_tablespace_page_costs(info->reltablespace, &random_page_cost, NULL);
	cost_qual_eval(&qual_cost, quals, root);
	/*
	 * A page that a nested loop reads again and again stays in the cache. PostgreSQL reckons so for other indexes
	 * too.
	 */
	if (loop_count > 1)
		*total = index_pages_fetched(*pages * loop_count, info->pages, info->pages, root) * random_page_cost /
			loop_count;
	else
		*total = *pages * random_page_cost;
	*total += expected.lookups * OPERATORS_PER_GROUP * cpu_operator_cost;
	/*
	 * The scan compares all rows on the pages with the conditions again. The planner counts only the rows that the
	 * selectivity tells, so the others are added here.
	 */
	*total += Max(0, rechecked - *selectivity * rows) * (cpu_tuple_cost + qual_cost.per_tuple);
	*total += wanted * cpu_operator_cost;
	/*
	 * If a page has fewer than two rows, the formula above gives less than all pages even for selectivity 1. The cost
	 * of the pages that are missing in its result is added here. (In a nested loop nothing is added: pages stay in the
	 * cache.)
	 */
	get_tablespace_page_costs(info->rel->reltablespace, &heap_random, &heap_seq);
	rows_counted = *selectivity * rows;
	pages_counted = 2 * heap_pages * rows_counted / (2 * heap_pages + rows_counted);
	if (loop_count <= 1 && pages_counted < wanted)
		*total += Max(0, cost_of_pages(wanted, heap_pages, heap_random, heap_seq) -
					  cost_of_pages(pages_counted, heap_pages, heap_random, heap_seq));
	/*
	 * Of two indexes for the same conditions the planner takes the one whose own cost is lower, whatever part of the
	 * table each of them rules out. So it might prefer an index that rules out nothing to one that rules out nearly
	 * all of the table. Therefore, if this index rules out nothing, its cost is raised by that of a sequential scan.
	 * The planner adds the cost of the heap once more, which does no harm: a scan by this index costs more than a
	 * sequential scan anyway. (Not in a nested loop, where pages stay in the cache: there nothing is added.)
	 */
	if (loop_count <= 1 && expected.share >= 1)
		*total += heap_pages * heap_seq + rows * (cpu_tuple_cost + qual_cost.per_tuple);
	*startup = qual_cost.startup;
	*total += *startup;
}
