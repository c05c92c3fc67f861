/*
 * estimate.c: the one estimator (estimate.h). It answers in two ways.
 *
 * *By asking.* For a regular expression, an array, or a value whose rows lie together, statistics can only guess which
 * share of the table has to be read. The index knows better. If the values are known when the query is planned, some
 * pages of the index are read as the executor will read them (walk.c). (PostgreSQL asks B-trees for the ends of a
 * column while it plans; see get_actual_variable_range() in selfuncs.c.) Of a table with many partitions eight are
 * asked, spread evenly over all: a thousand look-ups while planning would cost more than they save.
 *
 * *By statistics*, for values that are not known, and where the index must not be asked. Let a value have the share s
 * of all rows. If its rows are strewn over the table, they are in at most s * rows ranges. If equal values lie
 * together, they are in about the share s * d of the ranges, where d is the number of distinct values in a range, which
 * the size of the filters tells. If the values stand in the table in about their order, they are in about the share s /
 * c, where c is how far they are in order. The smallest estimate is used. If items are keys inside values (words of a
 * text, elements of an array), statistics do not help for a key that is not known. Each of the column's keys is taken
 * to be equally likely. The number of different keys grows about with the square root of a text's length (Heaps' law),
 * so of R ranges a key is in the share 1 / sqrt(R).
 *
 * EXPLAIN shows costs, and they must not tell what the user may not read. So no index is asked if row-level security or
 * a security barrier may hide rows of its table, nor about a column that the user may not read. No predicate lock is
 * taken, and no scan is counted. If an index is damaged, or a function of an operator class fails, there is no answer,
 * and no error either: a query that uses the index raises the error. An answer may be too small after rows were
 * written, but only the choice between plans depends on it.
 */
#include "index/estimate.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_statistic.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/acl.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "index/attempt.h"
#include "index/geometry.h"
#include "index/keys.h"
#include "index/search.h"
#include "index/sizes.h"
#include "index/walk.h"

static bool enabled = true;

/* ------------------------------------------------------------- may the index be asked? */

/*
 * The table that the query names, of which `rel` is a partition or child; or `rel` itself. If that table is part of a
 * UNION ALL, the result is the table, not the UNION ALL.
 */
static Index
topmost_table(const PlannerInfo *root, const RelOptInfo *rel)
{
	Index		relid = rel->relid;

	while (root->append_rel_array != NULL && root->append_rel_array[relid] != NULL &&
		   planner_rt_fetch(root->append_rel_array[relid]->parent_relid, root)->rtekind == RTE_RELATION)
		relid = root->append_rel_array[relid]->parent_relid;
	return relid;
}

/*
 * The number that a child's column has in the topmost table; 0 if that table has no such column, or for an expression.
 */
static AttrNumber
attribute_of_topmost(const PlannerInfo *root, const RelOptInfo *rel, AttrNumber attribute)
{
	const Index top = topmost_table(root, rel);

	for (Index relid = rel->relid; relid != top && attribute > 0;)
	{
		const AppendRelInfo *above = root->append_rel_array[relid];

		attribute = attribute <= above->num_child_cols ? above->parent_colnos[attribute - 1] : 0;
		relid = above->parent_relid;
	}
	return attribute;
}

/*
 * May rows of the table be hidden from the user? Then costs tell nothing about them, not even for leakproof operators.
 */
static bool
may_hide_rows(PlannerInfo *root)
{
	if (root->qual_security_level > 0)
		return true;
	for (PlannerInfo *above = root->parent_root; above != NULL; above = above->parent_root)
	{
		ListCell   *cell;

		foreach(cell, above->parse->rtable)
			if (lfirst_node(RangeTblEntry, cell)->security_barrier)
				return true;
	}
	return false;
}

/*
 * May the user read this column of the index? Rights are those on the table that the query names. The columns in an
 * expression are not looked for: the user must be allowed to read the table.
 */
static bool
may_read(PlannerInfo *root, const IndexOptInfo *info, int column)
{
	const Oid	table = planner_rt_fetch(topmost_table(root, info->rel), root)->relid;
	const Oid	user = OidIsValid(info->rel->userid) ? info->rel->userid : GetUserId();
	const AttrNumber attribute = attribute_of_topmost(root, info->rel, info->indexkeys[column]);

	return pg_class_aclcheck(table, user, ACL_SELECT) == ACLCHECK_OK ||
		(attribute > 0 && pg_attribute_aclcheck(table, attribute, user, ACL_SELECT) == ACLCHECK_OK);
}

/* --------------------------------------------------------------- known values */

/*
 * A hash of the index's expressions and predicate. The indexes of all partitions have the same, unless the partitions'
 * columns have other numbers; then they are asked apart.
 */
static uint32
hash_of_expressions(const IndexOptInfo *info)
{
	List	   *copy = copyObject(list_make2(info->indexprs, info->indpred));
	char	   *text;

	/* the expressions differ by the number that the partition has in the query */
	ChangeVarNodes((Node *) copy, info->rel->relid, 1, 0);
	text = nodeToString(copy);
	return hash_bytes((const unsigned char *) text, strlen(text));
}

/*
 * Sets *key to a condition that is IS NULL or IS NOT NULL, or an operator (alone or with ANY) whose value is known and
 * not NULL. Adds to *hash what is compared with which column; this is the same for the indexes of all partitions.
 * Returns false for any other condition, and if the user may not read the column.
 */
static bool
known_key(PlannerInfo *root, const IndexOptInfo *info, const IndexClause *clause, ScanKeyData *key, uint32 *hash)
{
	/* here the column of the index is on the left */
	Node	   *expression = (Node *) linitial_node(RestrictInfo, clause->indexquals)->clause;
	const int	column = clause->indexcol;
	const bool	any = IsA(expression, ScalarArrayOpExpr);
	const bytea *options = info->opclassoptions != NULL ? info->opclassoptions[column] : NULL;
	const Const *value;
	uint32		what;			/* the hash of what is compared */
	Oid			operator,
				left_type,
				right_type;
	int			strategy;

	memset(key, 0, sizeof *key);
	key->sk_attno = column + 1;
	if (list_length(clause->indexquals) != 1 || !may_read(root, info, column))
		return false;
	if (IsA(expression, NullTest))
	{
		key->sk_flags = SK_ISNULL |
			(((NullTest *) expression)->nulltesttype == IS_NULL ? SK_SEARCHNULL : SK_SEARCHNOTNULL);
		what = key->sk_flags;
	}
	else if (any || IsA(expression, OpExpr))
	{
		operator = any ? ((ScalarArrayOpExpr *) expression)->opno : ((OpExpr *) expression)->opno;
		value = any ? lsecond(((ScalarArrayOpExpr *) expression)->args) : (const Const *) get_rightop(expression);
		if (!IsA(value, Const))
			value = (const Const *) estimate_expression_value(root, (Node *) unconstify(Const *, value));
		if (!IsA(value, Const) || value->constisnull)
			return false;
		get_op_opfamily_properties(operator, info->opfamily[column], false, &strategy, &left_type, &right_type);
		key->sk_flags = any ? SK_SEARCHARRAY : 0;
		key->sk_strategy = strategy;
		key->sk_subtype = right_type;
		key->sk_collation = exprInputCollation(expression);
		key->sk_argument = value->constvalue;
		what = hash_combine(operator, datum_image_hash(value->constvalue, value->constbyval, value->constlen));
	}
	else
		return false;
	if (options != NULL)
		what = hash_combine(what, hash_bytes((const unsigned char *) options, VARSIZE(options)));
	/* text_ops and gram_ops have the same operator */
	what = hash_combine(hash_combine(what, info->opfamily[column]), column);
	*hash = hash_combine(hash_combine(*hash, attribute_of_topmost(root, info->rel, info->indexkeys[column])), what);
	return true;
}

/* --------------------------------------------------------------- the answers of a statement */

/* If a table has more partitions than this, this many of them are asked, one of each block of neighbours. */
#define ASKED_PARTITIONS 8

/*
 * The most questions that indexes are asked in one statement. After that statistics decide, except for the other
 * partitions of a block that was asked.
 */
#define MOST_QUESTIONS 128

/* What an index has answered, or one partition's index for its block of neighbours. */
typedef struct Answer
{
	uint32		hash;			/* of the index, and of what was asked */
	bool		is_known;		/* the index had an answer */
	BfEstimate	estimate;
} Answer;

/*
 * The answers of one statement. If another statement is planned meanwhile, its answers take the place of these. Then
 * some questions of this statement are asked twice.
 */
static struct
{
	const PlannerGlobal *statement; /* NULL: there are no answers */
	int			count;
	Answer		all[MOST_QUESTIONS];
} answers;

/* The memory in which a statement is planned goes. Another statement may be at the same address later. */
static void
forget_answers(void *statement)
{
	if (answers.statement == statement)
		answers.statement = NULL;
}

/*
 * Returns the answer to the question of this hash, if it was asked before. If not, sets *is_new and returns the place
 * for the answer; or NULL, if the index must not be asked.
 *
 * The planner has numbered the partitions of a table one after the other, in the order of their bounds, so a block of
 * neighbours is found by their numbers. An index that has only its meta page was made with an empty partition: nothing
 * was summarized since, and nothing can be asked.
 *
 * A custom plan, one for known parameters, of many partitions asks nothing: planning these partitions takes longer than
 * leaving them out when a generic plan is executed (../chunks). PostgreSQL compares the costs of custom and generic
 * plans, and must not find the custom plan cheaper because of what the indexes say.
 */
static Answer *
find_answer(PlannerInfo *root, const IndexOptInfo *info, uint32 hash, bool *is_new)
{
	const Index table = topmost_table(root, info->rel);
	MemoryContextCallback *forget;

	if (info->pages <= 1)
		return NULL;
	/* a subquery has a range table of its own */
	hash = hash_combine(hash, hash_bytes((const unsigned char *) &root, sizeof root));
	hash = hash_combine(hash, table);
	if (info->indexprs != NIL || info->indpred != NIL)
		hash = hash_combine(hash, hash_of_expressions(info));
	if (info->rel->reloptkind == RELOPT_OTHER_MEMBER_REL)
	{
		/* partitions that have partitions are counted too */
		const Index partitions = root->simple_rel_array_size - 1 - table;
		const Index length = Max(1, (partitions + ASKED_PARTITIONS - 1) / ASKED_PARTITIONS);

		if (length > 1 && root->glob->boundParams != NULL)
			return NULL;
		hash = hash_combine(hash, (info->rel->relid - table - 1) / length);
	}
	else
		hash = hash_combine(hash, info->indexoid);
	if (answers.statement != root->glob)
	{
		forget = MemoryContextAlloc(root->planner_cxt, sizeof(MemoryContextCallback));
		forget->func = forget_answers;
		forget->arg = root->glob;
		MemoryContextRegisterResetCallback(root->planner_cxt, forget);
		answers.statement = root->glob;
		answers.count = 0;
	}
	for (int i = 0; i < answers.count; i++)
		if (answers.all[i].hash == hash)
			return &answers.all[i];
	if (answers.count == MOST_QUESTIONS)
		return NULL;
	*is_new = true;
	answers.all[answers.count] = (Answer) {.hash = hash};
	return &answers.all[answers.count++];
}

/* ------------------------------------------------------------------ statistics */

static void
read_geometry(void *argument)
{
	BfQuestion *question = argument;

	question->geometry = bf_index_copy_geometry(bf_index_geometry_for(question->index, question->heap_blocks));
}

/* The number of items for which the filter of a range was made. */
static double
items_of_range(const BfGeometry *geometry, int number, int column)
{
	const BfLevel *level = &geometry->level[number];
	double		lines = 0;

	for (uint32 i = level->first_stretch; i < level->first_stretch + level->stretches; i++)
		lines += (double) geometry->lines[i * geometry->columns + column] * geometry->stretch[i].ranges *
			geometry->stretch[i].groups;
	return lines / Max(level->covered, 1) * bf_index_parameters(geometry, number, column)->load;
}

/* A condition that can rule ranges out. */
typedef struct Clause
{
	int			column;
	bool		by_keys;		/* the items are keys inside values */
	bool		is_known;		/* the value is known */
	double		items;			/* number of items that are searched for */
	double		selectivity;
	double		correlation;	/* how well values are ordered in the table, 0 to 1; 0: not at all, or not known */
} Clause;

/* A value with keys is taken to ask for this many keys, and a row to need all of them. */
#define KEYS_EXPECTED 2

/*
 * The number of keys that a row is taken to have. A line of a log has some ten to twenty words. With k keys in each row
 * a range has k times as many items as rows, so the estimate for equal values that lie together is divided by k.
 */
#define KEYS_OF_A_ROW 8

/*
 * How well the values of a column of the index are ordered in the table: the absolute value of their correlation, 0
 * to 1.
 *
 * ANALYZE sorts rows with equal values by their position in the table. So even if the values are strewn over the
 * table, the correlation is not 0, but the sum of the squares of the values' shares of the rows. Only a correlation
 * above this sum tells of an order. If a few values have most rows, the other rows are too few to tell of a weak order.
 * So an order below 1/2 counts as none.
 */
static double
correlation_of(PlannerInfo *root, const IndexOptInfo *info, int column)
{
	double		correlation = 0;
	double		of_strewn = 0;	/* the correlation if the values were strewn */
	HeapTuple	statistics;
	AttStatsSlot slot;

	/* an expression has attribute number 0, and no statistics there */
	statistics = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(planner_rt_fetch(info->rel->relid, root)->relid),
								 Int16GetDatum(info->indexkeys[column]), BoolGetDatum(false));
	if (!HeapTupleIsValid(statistics))
		return 0;
	if (get_attstatsslot(&slot, statistics, STATISTIC_KIND_CORRELATION, InvalidOid, ATTSTATSSLOT_NUMBERS))
	{
		correlation = slot.nnumbers > 0 ? fabs(slot.numbers[0]) : 0;
		free_attstatsslot(&slot);
	}
	if (get_attstatsslot(&slot, statistics, STATISTIC_KIND_MCV, InvalidOid, ATTSTATSSLOT_NUMBERS))
	{
		for (int i = 0; i < slot.nnumbers; i++)
			of_strewn += pow(slot.numbers[i] / (1 - ((Form_pg_statistic) GETSTRUCT(statistics))->stanullfrac), 2);
		free_attstatsslot(&slot);
	}
	ReleaseSysCache(statistics);
	correlation = of_strewn < 1 ? (correlation - of_strewn) / (1 - of_strewn) : 0;
	return correlation < 0.5 ? 0 : correlation;
}

/* Sets *clause. Returns false if the condition rules nothing out: IS NOT NULL, or {}, which is in every array. */
static bool
get_clause(PlannerInfo *root, const IndexOptInfo *info, const IndexClause *from, bool is_known, Clause *clause)
{
	Node	   *expression = (Node *) linitial_node(RestrictInfo, from->indexquals)->clause;
	const Oid	type = info->opcintype[from->indexcol];
	const bool	any = IsA(expression, ScalarArrayOpExpr);

	if (IsA(expression, NullTest) && ((NullTest *) expression)->nulltesttype == IS_NOT_NULL)
		return false;
	*clause = (Clause) {.column = from->indexcol, .is_known = is_known, .items = 1};
	clause->by_keys = (any || IsA(expression, OpExpr)) &&
		OidIsValid(get_opfamily_proc(info->opfamily[from->indexcol], type, type, BF_EXTRACT_QUERY_PROC));
	clause->selectivity = clauselist_selectivity(root, list_make1(from->rinfo), info->rel->relid, JOIN_INNER, NULL);
	if (clause->by_keys)
	{
		clause->items = KEYS_EXPECTED;
		return is_known || any || ((OpExpr *) expression)->opno != OID_ARRAY_CONTAINED_OP;
	}
	if (!IsA(expression, NullTest))
		clause->correlation = correlation_of(root, info, clause->column);
	if (any)
		clause->items = Max(1, sb_estimate_array_length(root, lsecond(((ScalarArrayOpExpr *) expression)->args)));
	return true;
}

/*
 * The share of a level's ranges that have rows which satisfy a condition. `items` is how many items a range has in the
 * column.
 */
static double
share_of_ranges(const Clause *clause, double rows, double ranges, double items)
{
	const double strewn = 1 - pow(1 - 1 / ranges, clause->selectivity * rows);
	double		together = clause->selectivity * items / (clause->by_keys ? KEYS_OF_A_ROW : 1);

	if (clause->correlation > 0)
		together = Min(together, clause->selectivity / clause->correlation + clause->items / ranges);
	if (clause->by_keys && !clause->is_known)
		together = Min(together, 1 / sqrt(ranges));
	/* At least one range: the planner cannot know that a value does not occur. */
	return Min(1, Max(Min(strewn, together), 1 / ranges));
}

/*
 * What a search finds on a level. Only the condition that leaves the fewest ranges of this level counts. There is no
 * geometry if the index is damaged or does not exist (an extension such as HypoPG pretends that it does): then the
 * level is taken to be as a level 0 would be.
 */
static BfLevelToSearch
level_to_search(const IndexOptInfo *info, const BfGeometry *geometry, int number, const Clause *clauses, int count)
{
	const BfLevel *of = geometry != NULL ? &geometry->level[number] : NULL;
	const double rows = Max(info->rel->tuples, 1);
	const double length = of != NULL && of->pages_per_range != 0 ? of->pages_per_range :
		BF_INDEX_DEFAULT_PAGES_PER_RANGE;
	const double ranges = ceil(Max(info->rel->pages, 1) / length);
	BfLevelToSearch to_search = {
		.length = length,
		.ranges = of != NULL ? Min(of->covered, ranges) : ranges,
		.groups = of != NULL ? of->groups : ceil(ranges / BF_INDEX_MAX_RANGES),
		.holding = ranges,
		.rate = 1
	};
	double		least = 1;

	for (int i = 0; i < count; i++)
	{
		const Clause *clause = &clauses[i];
		const double rate = of == NULL ? BF_INDEX_DEFAULT_FPR :
			bf_index_parameters(geometry, number, clause->column)->false_positive_rate;
		const double items = of == NULL ? rows / ranges : items_of_range(geometry, number, clause->column);
		const double holding = share_of_ranges(clause, rows, ranges, items);
		const double in_vain = clause->by_keys ? pow(rate, clause->items) : 1 - pow(1 - rate, clause->items);

		if (holding + (1 - holding) * in_vain < least)
		{
			least = holding + (1 - holding) * in_vain;
			to_search.holding = holding * ranges;
			to_search.rate = in_vain;
		}
	}
	return to_search;
}

static BfEstimate
estimate_by_statistics(const IndexOptInfo *info, const BfGeometry *geometry, const Clause *clauses, int count)
{
	const double heap_pages = Max(info->rel->pages, 1);
	const int	number = geometry != NULL ? Max(geometry->levels, 1) : 1;
	BfLevelToSearch levels[BF_INDEX_MAX_LEVELS];
	double		items = 0;
	BfPagesRead read;

	for (int i = 0; i < count; i++)
		items += clauses[i].items;
	for (int level = 0; level < number; level++)
		levels[level] = level_to_search(info, geometry, level, clauses, count);
	read = bf_index_pages_of_look_up(levels, number, heap_pages);
	return (BfEstimate) {.share = Min(1, read.heap / heap_pages), .pages = read.index * Max(items, 1)};
}

/* ------------------------------------------------------------------ both */

void
bf_index_estimate(PlannerInfo *root, IndexOptInfo *info, const List *clauses, BfEstimate *estimate)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bf index estimate", ALLOCSET_SMALL_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	const int	length = list_length(clauses);
	ScanKeyData *keys = palloc(Max(length, 1) * sizeof(ScanKeyData));
	Clause	   *from = palloc(Max(length, 1) * sizeof(Clause));
	bool	   *is_known = palloc(Max(length, 1) * sizeof(bool));
	BfQuestion	question = {.keys = keys, .heap_blocks = info->rel->pages};
	uint32		hash = 0;
	int			count = 0;		/* how many conditions can rule ranges out */
	Answer	   *answer = NULL;
	bool		is_new = false;
	ListCell   *cell;

	foreach(cell, clauses)
	{
		const int	i = foreach_current_index(cell);

		is_known[i] = known_key(root, info, lfirst(cell), &keys[question.count], &hash);
		question.count += is_known[i];
	}
	/* where a unique key names the row, its own index is read, whatever this one says */
	if (enabled && question.count > 0 && !info->hypothetical && info->rel->pages > 0 && ActiveSnapshotSet() &&
		!may_hide_rows(root) && !sb_is_by_unique_key(root, info->rel))
		answer = find_answer(root, info, hash, &is_new);
	if (answer == NULL || is_new || !answer->is_known || question.count < length)
	{
		if (!info->hypothetical)
		{
			question.index = index_open(info->indexoid, NoLock);
			/* reading a geometry that the relation cache has raises no error, and needs no subtransaction */
			if (question.index->rd_amcache != NULL)
				read_geometry(&question);
			else
				(void) bf_index_try(read_geometry, &question);
		}
		foreach(cell, clauses)
			count += get_clause(root, info, lfirst(cell), is_known[foreach_current_index(cell)], &from[count]);
		*estimate = estimate_by_statistics(info, question.geometry, from, count);
		if (is_new && question.geometry != NULL)
		{
			question.estimate = *estimate;
			answer->is_known = bf_index_try(bf_index_walk, &question) && question.is_known;
			answer->estimate = question.estimate;
		}
		if (question.index != NULL)
			index_close(question.index, NoLock);
	}
	if (answer != NULL && answer->is_known && question.count == length)
		*estimate = answer->estimate;
	else if (answer != NULL && answer->is_known)
		estimate->share = Min(estimate->share, answer->estimate.share);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}

void
bf_index_estimate_init(void)
{
	DefineCustomBoolVariable("streambloom.enable_index_estimates",
							 "Lets the planner ask bf indexes how much of a table a condition leaves.",
							 "Otherwise it goes by the table's statistics alone.",
							 &enabled, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
}
