/*
 * estimate.c: asks an index while a query is planned.
 *
 * For a regular expression, an array, or a value whose rows lie together, the planner can only guess which share of
 * the table is left. The index knows better. If the values that a query compares with are known when it is planned, a
 * few pages of the index are read, as the executor will read them (walk.c). If they are not known, and the items are
 * keys inside values, one page tells how much ranges have in common. (PostgreSQL asks B-trees for the ends of a column
 * while it plans; see get_actual_variable_range() in selfuncs.c.)
 *
 * The answer goes into the cost of the index's paths, and into the number of pages that these read. The number of
 * rows that PostgreSQL expects does not change. The answer is an estimate: it may be too small after rows were
 * written, but only the choice between plans depends on it.
 *
 * EXPLAIN shows costs. So tables whose rows row-level security or a security barrier may hide are not asked, nor are
 * columns that the user may not read. No predicate lock is taken, and no scan is counted. If an index is damaged, or
 * a function of an operator class fails, there is no estimate, and no error either: a query that uses the index
 * raises the error.
 */
#include "index/estimate.h"

#include "access/genam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "index/attempt.h"
#include "index/geometry.h"
#include "index/known.h"
#include "index/walk.h"

/*
 * The number of a table's partitions whose indexes are asked the same question. The answers of the other partitions are
 * taken to be the mean of these answers.
 */
#define MOST_CHILDREN 8

/*
 * The most questions that indexes are asked in one statement. After that the statistics decide, unless enough other
 * partitions have answered the question.
 */
#define MOST_QUESTIONS 128

static bool enabled = true;

/* ---------------------------------------------------- what was asked in this statement */

/* A table that a query names and that has partitions or children, or is part of a UNION ALL. */
typedef struct Parent
{
	const PlannerInfo *query;	/* a subquery has a range table of its own */
	Index		table;			/* 0: there is no such table */
} Parent;

/* An answer, for an index and the conditions whose values are known. */
typedef struct Answer
{
	Oid			index;
	List	   *conditions;		/* RestrictInfos, as the planner has them */
	Parent		parent;
	uint32		shape;			/* a hash of which columns of the parent are compared, how, and with what */
	bool		is_known;
	BfEstimate	estimate;
} Answer;

/*
 * What bf_index_estimate_common() has found for one column of an index: the share of items that two ranges have in
 * common; negative: that is not known.
 */
typedef struct Common
{
	Oid			index;
	int			column;
	Parent		parent;
	int			of_parent;		/* see bf_known_column_of_parent() */
	double		share;
} Common;

/* The answers of one statement. They are forgotten with the memory in which it is planned. */
typedef struct Answers
{
	const PlannerGlobal *statement;
	MemoryContext context;
	List	   *all;
	List	   *common;
	List	   *queries;		/* see bf_index_known_queries() */
	Oid			readable;		/* a table that the user `reader` may read; 0: none is known */
	Oid			reader;
	const PlannerInfo *counted_in;	/* the query in which the partitions of a table were counted; NULL: none were */
	Index		counted;		/* the table whose partitions were counted */
	int			partitions;		/* the number of these partitions */
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

List	  **
bf_index_known_queries(PlannerInfo *root)
{
	return &answers_of(root)->queries;
}

static bool
are_same(const List *a, const List *b)
{
	if (list_length(a) != list_length(b))
		return false;
	for (int i = 0; i < list_length(a); i++)
		if (list_nth(a, i) != list_nth(b, i))
			return false;
	return true;
}

/* -------------------------------------------------------------- may the index be asked? */

/*
 * May rows of the table be hidden from the user? Then costs must not tell anything about them, not even for operators
 * that are leakproof.
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

/* May the user read this column of the index? Rights are those on the table that the query names. */
static bool
may_read(PlannerInfo *root, const IndexOptInfo *info, int column)
{
	const RelOptInfo *rel = info->rel;
	const Index parent = bf_known_topmost_table(root, rel);
	const Oid	table = planner_rt_fetch(parent, root)->relid;
	const Oid	user = OidIsValid(rel->userid) ? rel->userid : GetUserId();
	Answers    *known = answers_of(root);
	AttrNumber	attribute;

	if (known->readable == table && known->reader == user)
		return true;
	if (pg_class_aclcheck(table, user, ACL_SELECT) == ACLCHECK_OK)
	{
		known->readable = table;
		known->reader = user;
		return true;
	}
	/*
	 * An expression has the number 0. The columns in it are not looked for: the user must be allowed to read the
	 * table.
	 */
	attribute = bf_known_attribute_of_parent(root, rel, parent, info->indexkeys[column]);
	return attribute > 0 && pg_attribute_aclcheck(table, attribute, user, ACL_SELECT) == ACLCHECK_OK;
}

/* ----------------------------------------------------------------- without errors */

/*
 * Does this error mean only that there is no estimate? All other errors end the statement: it was cancelled, or has
 * no memory.
 */
static bool
is_no_estimate(int sqlerrcode)
{
	return ERRCODE_TO_CATEGORY(sqlerrcode) != ERRCODE_OPERATOR_INTERVENTION &&
		ERRCODE_TO_CATEGORY(sqlerrcode) != ERRCODE_INSUFFICIENT_RESOURCES;
}

bool
bf_index_try(void (*work) (void *argument), void *argument)
{
	ErrorData  *error;

	if (IsInParallelMode())
	{
		/* A function of a parallel query is planning a query. Before 17 no subtransaction can begin there. */
		work(argument);
		return true;
	}
	error = bf_index_attempt(work, argument, is_no_estimate);
	if (error != NULL)
		FreeErrorData(error);
	return error == NULL;
}

/* ------------------------------------------------------------- what the index is asked */

/*
 * Sets comparisons[] to the conditions with known values whose columns the user may read. Returns how many these are.
 */
static int
get_comparisons(PlannerInfo *root, const IndexOptInfo *info, const List *clauses, BfComparison *comparisons)
{
	int			all = bf_known_comparisons(root, clauses, comparisons);
	int			count = 0;

	for (int i = 0; i < all; i++)
		if (may_read(root, info, comparisons[i].column))
			comparisons[count++] = comparisons[i];
	return count;
}

/*
 * Sets the answer's parent, and its shape: a hash of the conditions, of the operator classes of their columns, and of
 * the numbers that these columns have in the parent.
 */
static void
set_shape(PlannerInfo *root, const IndexOptInfo *info, const BfComparison *comparisons, int count, Answer *answer)
{
	answer->parent = (Parent) {.query = root, .table = bf_known_topmost_table(root, info->rel)};
	for (int i = 0; i < count; i++)
		answer->shape = hash_combine(answer->shape, bf_known_hash(root, info, answer->parent.table, &comparisons[i]));
}

static bool
is_same_parent(Parent a, Parent b)
{
	return a.query == b.query && a.table == b.table;
}

/* --------------------------------------------------------------- for cost.c */

/*
 * The answer of this index to this question, if it was asked before; else NULL. If ask_partitions() has asked it in
 * advance, the answer has no conditions, and is found by its shape.
 */
static const Answer *
find_answer(const List *all, const Answer *wanted)
{
	ListCell   *cell;

	foreach(cell, all)
	{
		const Answer *answer = lfirst(cell);

		if (answer->index == wanted->index &&
			(are_same(answer->conditions, wanted->conditions) ||
			 (answer->conditions == NIL && is_same_parent(answer->parent, wanted->parent) &&
			  answer->shape == wanted->shape)))
			return answer;
	}
	return NULL;
}

/*
 * Were enough other partitions of the table asked the same question, and was this one not? Then *mean becomes the
 * mean of their answers. mean->is_known is false if none of them had an answer.
 *
 * The mean does not hold for an index (`info`) of one page. It has only its meta page, so its whole partition is read:
 * the index was made with the empty partition, and nothing was summarized since it was filled.
 */
static bool
were_others_asked(const List *all, const IndexOptInfo *info, const Answer *wanted, Answer *mean)
{
	ListCell   *cell;
	int			asked = 0;
	int			known = 0;

	*mean = *wanted;
	if (wanted->parent.table == 0 || info->pages <= 1 || list_length(all) < MOST_CHILDREN)
		return false;
	foreach(cell, all)
	{
		const Answer *answer = lfirst(cell);

		if (!is_same_parent(answer->parent, wanted->parent) || answer->shape != wanted->shape)
			continue;
		if (answer->index == wanted->index)
			return false;
		asked++;
		if (!answer->is_known)
			continue;
		known++;
		mean->estimate.share += answer->estimate.share;
		mean->estimate.index_pages += answer->estimate.index_pages;
	}
	if (asked < MOST_CHILDREN)
		return false;
	mean->is_known = known > 0;
	mean->estimate.share /= Max(known, 1);
	mean->estimate.index_pages /= Max(known, 1);
	return true;
}

/* The partitions of a table that the query may read, except those that the planner takes to be empty. */
static List *
find_partitions(const PlannerInfo *root, Index parent)
{
	List	   *partitions = NIL;

	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		RelOptInfo *rel = root->simple_rel_array[i];

		if (rel != NULL && rel->reloptkind == RELOPT_OTHER_MEMBER_REL && rel->rtekind == RTE_RELATION &&
			rel->pages > 0 &&
			!IS_DUMMY_REL(rel) && bf_known_topmost_table(root, rel) == parent)
			partitions = lappend(partitions, rel);
	}
	return partitions;
}

/*
 * The number of partitions that find_partitions() finds. It is remembered for the table that was counted last: the
 * planner takes the partitions of a table one after the other.
 */
static int
count_partitions(PlannerInfo *root, Index parent)
{
	Answers    *known = answers_of(root);

	if (known->counted_in != root || known->counted != parent)
	{
		List	   *partitions = find_partitions(root, parent);

		known->counted_in = root;
		known->counted = parent;
		known->partitions = list_length(partitions);
		list_free(partitions);
	}
	return known->partitions;
}

/*
 * Is this a custom plan, one for known parameters, that has many partitions? Planning these partitions takes longer
 * than leaving them out when a generic plan is executed (../chunks). PostgreSQL compares the costs of custom and
 * generic plans. It must not find the custom plan cheaper because of what the indexes say. (If the parameters leave few
 * partitions, the custom plan is the cheaper one anyway, and the indexes of these partitions are asked.)
 */
static bool
is_better_generic(PlannerInfo *root, Index parent)
{
	return parent != 0 && root->glob->boundParams != NULL && count_partitions(root, parent) > MOST_CHILDREN;
}

/* What ask() asks an index, and the answer. */
typedef struct Question
{
	Relation	index;
	BlockNumber heap_blocks;
	ScanKeyData *keys;
	int			count;
	const double *priors;
	bool		is_known;
	BfEstimate	estimate;
} Question;

static void
ask(void *argument)
{
	Question   *question = argument;

	question->is_known = bf_index_walk(question->index, question->heap_blocks, question->keys, question->count,
									   question->priors, &question->estimate);
}

/* May an index of this table be asked at all? */
static bool
may_ask(PlannerInfo *root, const IndexOptInfo *info)
{
	return enabled && !info->hypothetical && info->rel->pages > 0 && ActiveSnapshotSet() && !may_hide_rows(root);
}

/* May this many more questions be asked in this statement? */
static bool
may_ask_more(PlannerInfo *root, int questions)
{
	return list_length(answers_of(root)->all) + questions <= MOST_QUESTIONS;
}

/* Asks an index. The answer is kept for the rest of the statement. */
static const Answer *
ask_now(PlannerInfo *root, const IndexOptInfo *info, Relation index, const BfComparison *comparisons, int count,
		const double *priors, Answer *wanted)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bf index estimate", ALLOCSET_SMALL_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	ScanKeyData *keys = palloc(count * sizeof(ScanKeyData));
	Question	question = {.index = index, .heap_blocks = info->rel->pages, .keys = keys, .count = count,
							.priors = priors};
	Answers    *known;
	Answer	   *answer;

	for (int i = 0; i < count; i++)
		bf_known_make_key(info, &comparisons[i], &keys[i]);
	wanted->is_known = bf_index_try(ask, &question) && question.is_known;
	wanted->estimate = question.estimate;
	MemoryContextSwitchTo(root->planner_cxt);
	answer = memcpy(palloc(sizeof *wanted), wanted, sizeof *wanted);
	answer->conditions = list_copy(wanted->conditions);
	/* Another statement may have been planned meanwhile, by a function of an operator class. */
	known = answers_of(root);
	known->all = lappend(known->all, answer);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return answer;
}

/* ------------------------------------------------------------- which partitions are asked */

/* Is this partition the first one that is asked this question? */
static bool
is_first(const List *all, const Answer *wanted)
{
	ListCell   *cell;

	foreach(cell, all)
	{
		const Answer *answer = lfirst(cell);

		if (is_same_parent(answer->parent, wanted->parent) && answer->shape == wanted->shape)
			return false;
	}
	return true;
}

/*
 * Do two indexes, of different partitions, have the same expressions? The expressions of each have the columns of its
 * own partition.
 */
static bool
have_same_expressions(const IndexOptInfo *a, const IndexOptInfo *b)
{
	Node	   *expressions;

	if (a->indexprs == NIL || b->indexprs == NIL)
		return a->indexprs == b->indexprs;
	expressions = copyObject((Node *) a->indexprs);
	ChangeVarNodes(expressions, a->rel->relid, b->rel->relid, 0);
	return equal(expressions, b->indexprs);
}

/*
 * Returns an index of the partition `other` that is like this index (`info`) of another partition; NULL if there is
 * none.
 */
static const IndexOptInfo *
find_alike(const PlannerInfo *root, const IndexOptInfo *info, Index parent, const RelOptInfo *other)
{
	ListCell   *cell;

	foreach(cell, other->indexlist)
	{
		const IndexOptInfo *candidate = lfirst(cell);
		bool		alike = candidate->relam == info->relam && !candidate->hypothetical && candidate->indpred == NIL &&
			candidate->nkeycolumns == info->nkeycolumns;

		for (int i = 0; i < info->nkeycolumns && alike; i++)
			alike = bf_known_is_same_class(candidate, info, i) &&
				bf_known_column_of_parent(root, candidate, parent, i) ==
					bf_known_column_of_parent(root, info, parent, i);
		if (alike && have_same_expressions(candidate, info))
			return candidate;
	}
	return NULL;
}

/*
 * Asks MOST_CHILDREN partitions, spread evenly over all, when the first partition is planned. The first partitions
 * would not do: partitions are planned in the order of their bounds, and similar rows often have close times. A
 * partition without an index like this one is passed over. Nothing is asked here if the table has at most
 * MOST_CHILDREN partitions, or if the index is partial.
 */
static void
ask_partitions(PlannerInfo *root, const IndexOptInfo *info, const BfComparison *comparisons, int count,
			   const double *priors, const Answer *wanted)
{
	List	   *partitions = find_partitions(root, wanted->parent.table);
	const int	all = list_length(partitions);

	if (info->indpred != NIL)
		return;
	for (int i = 0; i < MOST_CHILDREN && all > MOST_CHILDREN; i++)
	{
		const RelOptInfo *rel = list_nth(partitions, (int) ((2 * i + 1) * (int64) all / (2 * MOST_CHILDREN)));
		const IndexOptInfo *alike = find_alike(root, info, wanted->parent.table, rel);
		Answer		answer = *wanted;
		Relation	index;

		if (alike == NULL)
			continue;
		answer.index = alike->indexoid;
		answer.conditions = NIL;
		index = index_open(alike->indexoid, NoLock);	/* the planner holds a lock */
		(void) ask_now(root, alike, index, comparisons, count, priors, &answer);
		index_close(index, NoLock);
	}
	list_free(partitions);
}

int
bf_index_estimate(PlannerInfo *root, const IndexOptInfo *info, Relation index, const List *clauses,
				  const double *priors, BfEstimate *estimate)
{
	BfComparison *comparisons;
	int			count;
	Answer		wanted = {.index = info->indexoid};
	Answer		mean;
	const Answer *answer;

	if (index == NULL || clauses == NIL || !may_ask(root, info))
		return 0;
	comparisons = palloc(list_length(clauses) * sizeof(BfComparison));
	count = get_comparisons(root, info, clauses, comparisons);
	if (count == 0)
		return 0;
	for (int i = 0; i < count; i++)
		wanted.conditions = lappend(wanted.conditions, comparisons[i].condition);
	if (info->rel->reloptkind == RELOPT_OTHER_MEMBER_REL)
		set_shape(root, info, comparisons, count, &wanted);
	if (is_better_generic(root, wanted.parent.table))
		return 0;
	if (wanted.parent.table != 0 && is_first(answers_of(root)->all, &wanted))
	{
		if (!may_ask_more(root, MOST_CHILDREN))
			return 0;
		ask_partitions(root, info, comparisons, count, priors, &wanted);
	}
	answer = find_answer(answers_of(root)->all, &wanted);
	if (answer == NULL && were_others_asked(answers_of(root)->all, info, &wanted, &mean))
		answer = &mean;
	/* An index that has only its meta page has no answer. There may be thousands of these, so only some are asked. */
	if (answer == NULL && info->pages <= 1 && list_length(answers_of(root)->all) >= MOST_CHILDREN)
		return 0;
	if (answer == NULL && !may_ask_more(root, 1))
		return 0;
	if (answer == NULL)
		answer = ask_now(root, info, index, comparisons, count, priors, &wanted);
	*estimate = answer->estimate;
	return answer->is_known ? count : 0;
}

bool
bf_index_estimate_like_others(PlannerInfo *root, const IndexOptInfo *info, const List *clauses, BfEstimate *estimate)
{
	BfComparison comparisons[INDEX_MAX_KEYS];
	int			count;
	Answer		wanted = {.index = info->indexoid};
	Answer		mean;

	if (info->rel->reloptkind != RELOPT_OTHER_MEMBER_REL || list_length(clauses) > INDEX_MAX_KEYS ||
		!may_ask(root, info) ||
		list_length(answers_of(root)->all) < MOST_CHILDREN)
		return false;
	count = get_comparisons(root, info, clauses, comparisons);
	if (count == 0 || count < list_length(clauses))
		return false;
	set_shape(root, info, comparisons, count, &wanted);
	if (is_better_generic(root, wanted.parent.table) ||
		!were_others_asked(answers_of(root)->all, info, &wanted, &mean))
		return false;
	*estimate = mean.estimate;
	return mean.is_known;
}

/* ---------------------------------------------------------- values that are not known */

/*
 * What was found for this column before; or the mean of other partitions, if at least MOST_CHILDREN of them were
 * looked at; or NULL. Partitions for which the share is not known do not count in the mean. If there are only such
 * partitions, the mean is not known either.
 */
static const Common *
find_common(List *all, const Common *wanted)
{
	ListCell   *cell;
	int			children = 0;
	int			known = 0;
	Common		mean = *wanted;

	foreach(cell, all)
	{
		const Common *common = lfirst(cell);

		if (common->index == wanted->index && common->column == wanted->column)
			return common;
		if (wanted->parent.table == 0 || !is_same_parent(common->parent, wanted->parent) ||
			common->of_parent != wanted->of_parent)
			continue;
		children++;
		if (common->share < 0)
			continue;
		known++;
		mean.share += common->share;
	}
	if (children < MOST_CHILDREN)
		return NULL;
	mean.share = known > 0 ? mean.share / known : -1;
	return memcpy(palloc(sizeof mean), &mean, sizeof mean);
}

typedef struct Look
{
	Relation	index;
	int			column;
	double		share;
} Look;

static void
look(void *argument)
{
	Look	   *at = argument;

	at->share = bf_index_common_items(at->index, bf_index_geometry(at->index), at->column);
}

double
bf_index_estimate_common(PlannerInfo *root, const IndexOptInfo *info, Relation index, int column)
{
	Common		wanted = {.index = info->indexoid, .column = column};
	const Common *common;

	if (index == NULL || !may_ask(root, info) || !may_read(root, info, column))
		return -1;
	if (info->rel->reloptkind == RELOPT_OTHER_MEMBER_REL)
	{
		wanted.parent = (Parent) {.query = root, .table = bf_known_topmost_table(root, info->rel)};
		wanted.of_parent = bf_known_column_of_parent(root, info, wanted.parent.table, column);
	}
	common = find_common(answers_of(root)->common, &wanted);
	if (common == NULL)
	{
		Look		at = {.index = index, .column = column};
		MemoryContext caller = MemoryContextSwitchTo(root->planner_cxt);
		Answers    *known = answers_of(root);

		wanted.share = bf_index_try(look, &at) ? at.share : -1;
		common = memcpy(palloc(sizeof wanted), &wanted, sizeof wanted);
		known->common = lappend(known->common, (void *) common);
		MemoryContextSwitchTo(caller);
	}
	return common->share;
}

void
bf_index_estimate_init(void)
{
	DefineCustomBoolVariable("streambloom.enable_index_estimates",
							 "Lets the planner ask bf indexes how much of a table a condition leaves.",
							 "Otherwise it goes by the table's statistics alone.",
							 &enabled, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
}
