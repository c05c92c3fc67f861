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
 * to be equally likely, so a key is in n / N of the ranges, if a range has n of the column's N keys.
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
 * Sets *key to a condition that is IS NULL, or an operator (alone or with ANY) whose value is known and not NULL, and
 * the hash of what is compared, the same for all partitions, to *hash. Returns false for any other condition, and if
 * the user may not read the column.
 */
static bool
known_key(PlannerInfo *root, const IndexOptInfo *info, const IndexClause *clause, ScanKeyData *key, uint32 *hash)
{
	/* here the column of the index is on the left */
	Node	   *expression = (Node *) linitial_node(RestrictInfo, clause->indexquals)->clause;
	const bool	any = IsA(expression, ScalarArrayOpExpr);
	const Const *value;
	Oid			operator,
				left_type,
				right_type;
	int			strategy;

	memset(key, 0, sizeof *key);
	key->sk_attno = clause->indexcol + 1;
	if (list_length(clause->indexquals) != 1 || !may_read(root, info, clause->indexcol))
		return false;
	if (IsA(expression, NullTest))
	{
		key->sk_flags = SK_ISNULL | SK_SEARCHNULL;
		*hash = hash_combine(clause->indexcol, key->sk_flags);
		return ((NullTest *) expression)->nulltesttype == IS_NULL;
	}
	if (!any && !IsA(expression, OpExpr))
		return false;
	operator = any ? ((ScalarArrayOpExpr *) expression)->opno : ((OpExpr *) expression)->opno;
	value = any ? lsecond(((ScalarArrayOpExpr *) expression)->args) : (const Const *) get_rightop(expression);
	if (!IsA(value, Const))
		value = (const Const *) estimate_expression_value(root, (Node *) unconstify(Const *, value));
	if (!IsA(value, Const) || value->constisnull)
		return false;
	get_op_opfamily_properties(operator, info->opfamily[clause->indexcol], false, &strategy, &left_type, &right_type);
	key->sk_flags = any ? SK_SEARCHARRAY : 0;
	key->sk_strategy = strategy;
	key->sk_subtype = right_type;
	key->sk_collation = exprInputCollation(expression);
	key->sk_argument = value->constvalue;
	*hash = hash_combine(hash_combine(clause->indexcol, operator),
						 datum_image_hash(value->constvalue, value->constbyval, value->constlen));
	return true;
}

/*
 * A hash of what tells the index from others of its table, the same for the indexes of all partitions: the columns by
 * their numbers in the topmost table, their operator families, collations and options, and whether it is partial.
 */
static uint32
hash_of_index(const PlannerInfo *root, const IndexOptInfo *info)
{
	uint32		hash = info->indpred != NIL;

	for (int i = 0; i < info->nkeycolumns; i++)
	{
		const bytea *options = info->opclassoptions != NULL ? info->opclassoptions[i] : NULL;

		hash = hash_combine(hash, attribute_of_topmost(root, info->rel, info->indexkeys[i]));
		hash = hash_combine(hash_combine(hash, info->opfamily[i]), info->indexcollations[i]);
		if (options != NULL)
			hash = hash_combine(hash, hash_bytes((const unsigned char *) options, VARSIZE(options)));
	}
	return info->rel->reloptkind == RELOPT_OTHER_MEMBER_REL ? hash : hash_combine(hash, info->indexoid);
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
	const PlannerInfo *query;	/* a subquery has a range table of its own */
	Index		table;			/* the topmost table */
	uint32		hash;			/* of the index, and of what was asked */
	Index		rel;			/* the table or partition whose cost was estimated last */
	int			left;			/* how many of the next partitions are in the block */
	bool		is_known;		/* the index had an answer */
	BfEstimate	estimate;
} Answer;

/* The answers of one statement. They are forgotten with the memory in which it is planned. */
typedef struct Answers
{
	const PlannerGlobal *statement;
	MemoryContext context;
	List	   *all;
	int			asked;			/* how many questions were asked */
	const PlannerInfo *counted_in;	/* the query in which the partitions of `counted` were counted, or NULL */
	Index		counted;
	int			partitions;
	MemoryContextCallback forget;
} Answers;

static Answers *answers;

static void
forget_answers(void *argument)
{
	if (answers == argument)
		answers = NULL;
}

/*
 * The answers of this statement. If another statement is planned meanwhile, its answers take the place of these. Then
 * some questions of this statement are asked twice.
 */
static Answers *
answers_of(PlannerInfo *root)
{
	if (answers == NULL || answers->statement != root->glob || answers->context != root->planner_cxt)
	{
		answers = MemoryContextAllocZero(root->planner_cxt, sizeof(Answers));
		answers->statement = root->glob;
		answers->context = root->planner_cxt;
		answers->forget.func = forget_answers;
		answers->forget.arg = answers;
		MemoryContextRegisterResetCallback(root->planner_cxt, &answers->forget);
	}
	return answers;
}

/* The number of partitions that the query may read, without those that the planner takes to be empty. */
static int
count_partitions(PlannerInfo *root, Index table)
{
	Answers    *known = answers_of(root);

	if (known->counted_in == root && known->counted == table)
		return known->partitions;
	known->counted_in = root;
	known->counted = table;
	known->partitions = 0;
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		RelOptInfo *rel = root->simple_rel_array[i];

		known->partitions += rel != NULL && rel->reloptkind == RELOPT_OTHER_MEMBER_REL &&
			rel->rtekind == RTE_RELATION && rel->pages > 0 && !IS_DUMMY_REL(rel) && topmost_table(root, rel) == table;
	}
	return known->partitions;
}

/*
 * Returns the answer to a question of this hash, if it was asked before. Otherwise, or if the block of the partition
 * that was asked has ended, returns an answer without `rel`, into which the answer of this index is put; or NULL, if it
 * must not be asked.
 *
 * The planner takes the partitions of a table one after the other, in the order of their bounds, so a block is found by
 * counting. An index that has only its meta page was made with an empty partition: nothing was summarized since, and
 * nothing can be asked.
 *
 * A custom plan, one for known parameters, of many partitions asks nothing: planning these partitions takes longer than
 * leaving them out when a generic plan is executed (../chunks). PostgreSQL compares the costs of custom and generic
 * plans, and must not find the custom plan cheaper because of what the indexes say.
 */
static Answer *
find_answer(PlannerInfo *root, const IndexOptInfo *info, uint32 hash)
{
	const Index table = topmost_table(root, info->rel);
	const bool	is_child = info->rel->reloptkind == RELOPT_OTHER_MEMBER_REL;
	Answers    *known = answers_of(root);
	Answer	   *answer = NULL;
	MemoryContext caller;
	ListCell   *cell;

	if (info->pages <= 1 ||
		(is_child && root->glob->boundParams != NULL && count_partitions(root, table) > ASKED_PARTITIONS))
		return NULL;
	foreach(cell, known->all)
	{
		answer = lfirst(cell);
		if (answer->query == root && answer->table == table && answer->hash == hash)
			break;
		answer = NULL;
	}
	if (answer != NULL && answer->rel == info->rel->relid)
		return answer;
	if (answer != NULL && answer->left > 0)
	{
		answer->left--;
		answer->rel = info->rel->relid;
		return answer;
	}
	if (known->asked >= MOST_QUESTIONS)
		return NULL;
	known->asked++;
	caller = MemoryContextSwitchTo(root->planner_cxt);
	if (answer == NULL)
	{
		answer = palloc(sizeof(Answer));
		known->all = lappend(known->all, answer);
	}
	*answer = (Answer) {.query = root, .table = table, .hash = hash};
	if (is_child)
		answer->left = (count_partitions(root, table) + ASKED_PARTITIONS - 1) / ASKED_PARTITIONS - 1;
	MemoryContextSwitchTo(caller);
	return answer;
}

/* What ask() asks an index. */
typedef struct Question
{
	Relation	index;
	BlockNumber heap_blocks;
	const ScanKeyData *keys;
	int			count;
	const double *priors;
	BfEstimate	estimate;
	bool		is_known;
} Question;

static void
ask(void *argument)
{
	Question   *question = argument;

	question->is_known = bf_index_walk(question->index, question->heap_blocks, question->keys, question->count,
									   question->priors, &question->estimate);
}

/* ------------------------------------------------------------------ statistics */

/* What is known of a level without looking at its filters. */
typedef struct LevelFigures
{
	double		pages_per_range;
	double		groups;
	double		covered;		/* the number of ranges that the groups have together */
	double		distinct[INDEX_MAX_KEYS];	/* items for which a range's filter was made, in each column */
} LevelFigures;

typedef struct Figures
{
	const IndexOptInfo *info;
	Relation	index;
	int			levels;			/* at least 1 */
	LevelFigures level[BF_INDEX_MAX_LEVELS];
	double		rates[INDEX_MAX_KEYS];	/* the false-positive rate of each column on level 0 */
	double		upper_rate;		/* the rate of all columns on the levels above */
} Figures;

static void
read_figures(void *argument)
{
	Figures    *figures = argument;
	const BfGeometry *geometry = bf_index_geometry(figures->index);

	if ((double) geometry->level[0].covered * geometry->level[0].pages_per_range < figures->info->rel->pages)
		geometry = bf_index_current_geometry(figures->index);
	figures->levels = Max(geometry->levels, 1);
	figures->upper_rate = geometry->upper.false_positive_rate;
	for (int number = 0; number < figures->levels; number++)
	{
		const BfLevel *level = &geometry->level[number];
		LevelFigures *to = &figures->level[number];

		to->pages_per_range = level->pages_per_range != 0 ? level->pages_per_range : BF_INDEX_DEFAULT_PAGES_PER_RANGE;
		to->groups = level->groups;
		to->covered = level->covered;
		for (int column = 0; column < geometry->columns; column++)
		{
			double		lines = 0;

			for (uint32 i = level->first_stretch; i < level->first_stretch + level->stretches; i++)
				lines += (double) geometry->lines[i * geometry->columns + column] * geometry->stretch[i].ranges *
					geometry->stretch[i].groups;
			figures->rates[column] = geometry->column[column].false_positive_rate;
			to->distinct[column] = lines / Max(level->covered, 1) * bf_index_parameters(geometry, number, column)->load;
		}
	}
}

/*
 * Sets the figures of an index; those of an index with level 0 only, if it is damaged or does not exist (an extension
 * such as HypoPG pretends that it does), and figures->index to NULL. A geometry that the relation cache has is read
 * without a subtransaction.
 */
static void
get_figures(const IndexOptInfo *info, Relation index, Figures *figures)
{
	LevelFigures *level = &figures->level[0];

	*figures = (Figures) {.info = info, .index = index};
	if (index != NULL && index->rd_amcache != NULL)
		read_figures(figures);
	else if (index == NULL || !bf_index_try(read_figures, figures))
	{
		*figures = (Figures) {
			.info = info,
			.levels = 1,
			.upper_rate = bf_index_upper_rate(false, BF_INDEX_DEFAULT_FPR)
		};
		level->pages_per_range = BF_INDEX_DEFAULT_PAGES_PER_RANGE;
		level->covered = ceil(info->rel->pages / level->pages_per_range);
		level->groups = ceil(level->covered / BF_INDEX_MAX_RANGES);
		for (int column = 0; column < info->nkeycolumns; column++)
		{
			level->distinct[column] = info->rel->tuples / Max(level->covered, 1);
			figures->rates[column] = BF_INDEX_DEFAULT_FPR;
		}
	}
}

/* A condition that can rule ranges out. */
typedef struct Clause
{
	int			column;
	bool		by_keys;		/* the items are keys inside values */
	double		items;			/* number of items that are searched for */
	double		selectivity;
	double		keys_of_heap;	/* different keys in the whole column, for keys that are not known; or 0 */
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
 * By how much the number of different keys grows with the length of a text, as the exponent of a power (Heaps' law, for
 * which texts have some 0.4 to 0.6). If the index has several levels, their filters tell.
 */
#define GROWTH_OF_KEYS 0.5

static double
keys_of_heap(const Figures *figures, int column)
{
	const LevelFigures *top = &figures->level[figures->levels - 1];
	const double ranges = Max(figures->info->rel->pages / top->pages_per_range, 1);
	double		growth = GROWTH_OF_KEYS;

	if (figures->levels > 1)
		growth = log(Max(top->distinct[column], 1) / Max(top[-1].distinct[column], 1)) /
			log(top->pages_per_range / top[-1].pages_per_range);
	return top->distinct[column] * pow(ranges, Min(1, Max(0, growth)));
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

/* Sets *clause. Returns false if the condition rules nothing out: IS NOT NULL, or {}, which is in every array. */
static bool
get_clause(PlannerInfo *root, const Figures *figures, const IndexClause *from, bool is_known, Clause *clause)
{
	const IndexOptInfo *info = figures->info;
	Node	   *expression = (Node *) linitial_node(RestrictInfo, from->indexquals)->clause;
	const Oid	type = info->opcintype[from->indexcol];
	const bool	any = IsA(expression, ScalarArrayOpExpr);

	if (IsA(expression, NullTest) && ((NullTest *) expression)->nulltesttype == IS_NOT_NULL)
		return false;
	*clause = (Clause) {.column = from->indexcol, .items = 1};
	clause->by_keys = (any || IsA(expression, OpExpr)) &&
		OidIsValid(get_opfamily_proc(info->opfamily[from->indexcol], type, type, BF_EXTRACT_QUERY_PROC));
	clause->selectivity = clauselist_selectivity(root, list_make1(from->rinfo), info->rel->relid, JOIN_INNER, NULL);
	if (clause->by_keys)
	{
		clause->items = KEYS_EXPECTED;
		if (!is_known)
			clause->keys_of_heap = keys_of_heap(figures, clause->column);
		return is_known || any || ((OpExpr *) expression)->opno != OID_ARRAY_CONTAINED_OP;
	}
	if (!IsA(expression, NullTest))
		clause->correlation = correlation_of(root, info, clause->column);
	if (any)
		clause->items = Max(1, sb_estimate_array_length(root, lsecond(((ScalarArrayOpExpr *) expression)->args)));
	return true;
}

/* The share of a level's ranges that have rows which satisfy a condition. */
static double
share_of_ranges(const LevelFigures *level, const Clause *clause, double rows, double ranges)
{
	const double strewn = 1 - pow(1 - 1 / ranges, clause->selectivity * rows);
	double		together = clause->selectivity * level->distinct[clause->column] /
		(clause->by_keys ? KEYS_OF_A_ROW : 1);

	if (clause->correlation > 0)
		together = Min(together, clause->selectivity / clause->correlation + clause->items / ranges);
	if (clause->keys_of_heap > 0)
		together = Min(together, level->distinct[clause->column] / clause->keys_of_heap);
	/* At least one range: the planner cannot know that a value does not occur. */
	return Min(1, Max(Min(strewn, together), 1 / ranges));
}

/* What a search finds on a level. Only the condition that leaves the fewest ranges of this level counts. */
static BfLevelToSearch
level_to_search(const Figures *figures, int number, const Clause *clauses, int count)
{
	const LevelFigures *level = &figures->level[number];
	const double ranges = Max(ceil(Max(figures->info->rel->pages, 1) / level->pages_per_range), 1);
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
		const double rate = number == 0 ? figures->rates[clause->column] : figures->upper_rate;
		const double holding = share_of_ranges(level, clause, Max(figures->info->rel->tuples, 1), ranges);
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

/*
 * Estimates by statistics. Sets priors[l] to the share of the heap that level l would leave alone, for all levels that
 * any index may have: the answer may stand for other partitions, whose indexes may have more levels.
 */
static void
estimate_by_statistics(const Figures *figures, const Clause *clauses, int count, double *priors, BfEstimate *estimate)
{
	const double heap_pages = Max(figures->info->rel->pages, 1);
	BfLevelToSearch levels[BF_INDEX_MAX_LEVELS];
	double		items = 0;
	BfPagesRead read;

	for (int i = 0; i < count; i++)
		items += clauses[i].items;
	for (int level = 0; level < BF_INDEX_MAX_LEVELS; level++)
	{
		double		holding;

		if (level >= figures->levels)
		{
			priors[level] = priors[level - 1];
			continue;
		}
		levels[level] = level_to_search(figures, level, clauses, count);
		holding = Min(1, levels[level].holding / Max(ceil(heap_pages / levels[level].length), 1));
		priors[level] = holding + (1 - holding) * levels[level].rate;
	}
	read = bf_index_pages_of_look_up(levels, figures->levels, heap_pages);
	estimate->share = Min(1, read.heap / heap_pages);
	estimate->lookups = read.index * items;
	estimate->pages = read.index * Max(items, 1);
}

/* ------------------------------------------------------------------ both */

void
bf_index_estimate(PlannerInfo *root, IndexOptInfo *info, const List *clauses, BfEstimate *estimate)
{
	const int	length = list_length(clauses);
	ScanKeyData *keys = palloc(Max(length, 1) * sizeof(ScanKeyData));
	bool	   *is_known = palloc(Max(length, 1) * sizeof(bool));
	Clause	   *from = palloc(Max(length, 1) * sizeof(Clause));
	double		priors[BF_INDEX_MAX_LEVELS];
	uint32		hash = hash_of_index(root, info);
	int			known = 0;
	int			count = length; /* how many conditions can rule ranges out */
	Answer	   *answer = NULL;
	Figures		figures;
	Relation	index;
	ListCell   *cell;
	/* where a unique key names the row, its own index is read, whatever this one says */
	const bool	may_ask = enabled && !info->hypothetical && info->rel->pages > 0 && ActiveSnapshotSet() &&
		!may_hide_rows(root) && !sb_is_by_unique_key(root, info->rel);

	foreach(cell, clauses)
	{
		uint32		of_key;

		is_known[foreach_current_index(cell)] = known_key(root, info, lfirst(cell), &keys[known], &of_key);
		if (is_known[foreach_current_index(cell)])
		{
			hash = hash_combine(hash, of_key);
			known++;
		}
	}
	if (may_ask && known > 0)
		answer = find_answer(root, info, hash);
	if (answer == NULL || answer->rel == 0 || !answer->is_known || known < length)
	{
		index = info->hypothetical ? NULL : index_open(info->indexoid, NoLock);
		get_figures(info, index, &figures);
		count = 0;
		foreach(cell, clauses)
			count += get_clause(root, &figures, lfirst(cell), is_known[foreach_current_index(cell)], &from[count]);
		estimate_by_statistics(&figures, from, count, priors, estimate);
		if (answer != NULL && answer->rel == 0)
		{
			Question	question = {.index = index, .heap_blocks = info->rel->pages, .keys = keys, .count = known,
									.priors = priors};
			MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bf index estimate",
														  ALLOCSET_SMALL_SIZES);
			MemoryContext caller = MemoryContextSwitchTo(context);

			answer->rel = info->rel->relid;
			answer->is_known = figures.index != NULL && bf_index_try(ask, &question) && question.is_known;
			answer->estimate = question.estimate;
			MemoryContextSwitchTo(caller);
			MemoryContextDelete(context);
		}
		if (index != NULL)
			index_close(index, NoLock);
	}
	if (answer != NULL && answer->is_known && known == count)
		*estimate = answer->estimate;
	else if (answer != NULL && answer->is_known)
		estimate->share = Min(estimate->share, answer->estimate.share);
	estimate->pages = Min(estimate->pages, Max(info->pages, 1));
	pfree(from);
	pfree(is_known);
	pfree(keys);
}

void
bf_index_estimate_init(void)
{
	DefineCustomBoolVariable("streambloom.enable_index_estimates",
							 "Lets the planner ask bf indexes how much of a table a condition leaves.",
							 "Otherwise it goes by the table's statistics alone.",
							 &enabled, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
}
