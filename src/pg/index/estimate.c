/*
 * estimate.c: asks an index while a query is planned.
 *
 * For a regular expression, an array, or a value whose rows lie together, the planner can only guess which share of
 * the table has to be read. The index knows better. If the values that a query compares with are known when it is
 * planned, a few pages of the index are read, as the executor will read them (walk.c). (PostgreSQL asks B-trees for the
 * ends of a column while it plans; see get_actual_variable_range() in selfuncs.c.) For values that are not known see
 * estimate_common.c.
 *
 * The answer goes into the cost of the index's paths, and into the number of pages that these read. The number of
 * rows that PostgreSQL expects does not change. The answer is an estimate: it may be too small after rows were
 * written, but only the choice between plans depends on it.
 *
 * answers.c decides which indexes may be asked. No predicate lock is taken, and no scan is counted. If an index is
 * damaged, or a function of an operator class fails, there is no estimate, and no error either: a query that uses the
 * index raises the error.
 */
#include "index/estimate.h"

#include "access/genam.h"
#include "common/hashfn.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "rewrite/rewriteManip.h"
#include "utils/memutils.h"

#include "index/answers.h"
#include "index/attempt.h"
#include "index/known.h"
#include "index/walk.h"

/*
 * The most questions that indexes are asked in one statement. After that the statistics decide, unless enough other
 * partitions have answered the question.
 */
#define MOST_QUESTIONS 128

/* An answer, for an index and the conditions whose values are known. */
typedef struct Answer
{
	Oid			index;
	List	   *conditions;		/* RestrictInfos, as the planner has them */
	BfParent	parent;
	uint32		shape;			/* a hash of which columns of the parent are compared, how, and with what */
	bool		is_known;
	BfEstimate	estimate;
} Answer;

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
		if (bf_index_may_read(root, info, comparisons[i].column))
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
	answer->parent = (BfParent) {.query = root, .table = bf_known_topmost_table(root, info->rel)};
	for (int i = 0; i < count; i++)
		answer->shape = hash_combine(answer->shape, bf_known_hash(root, info, answer->parent.table, &comparisons[i]));
}

/* --------------------------------------------------------------- for cost.c */

/*
 * The answer of this index to this question, if it was asked before; else NULL. If ask_partitions() has asked it in
 * advance, the answer has no conditions, and is found by its shape: the hash that set_shape() makes of the question.
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
			 (answer->conditions == NIL && bf_index_is_same_parent(answer->parent, wanted->parent) &&
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
	if (wanted->parent.table == 0 || info->pages <= 1 || list_length(all) < BF_MOST_CHILDREN)
		return false;
	foreach(cell, all)
	{
		const Answer *answer = lfirst(cell);

		if (!bf_index_is_same_parent(answer->parent, wanted->parent) || answer->shape != wanted->shape)
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
	if (asked < BF_MOST_CHILDREN)
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
	BfAnswers  *known = bf_index_answers_of(root);

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
	return parent != 0 && root->glob->boundParams != NULL && count_partitions(root, parent) > BF_MOST_CHILDREN;
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

/* May this many more questions be asked in this statement? */
static bool
may_ask_more(PlannerInfo *root, int questions)
{
	return list_length(bf_index_answers_of(root)->all) + questions <= MOST_QUESTIONS;
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
	BfAnswers  *known;
	Answer	   *answer;

	for (int i = 0; i < count; i++)
		bf_known_make_key(info, &comparisons[i], &keys[i]);
	wanted->is_known = bf_index_try(ask, &question) && question.is_known;
	wanted->estimate = question.estimate;
	MemoryContextSwitchTo(root->planner_cxt);
	answer = memcpy(palloc(sizeof *wanted), wanted, sizeof *wanted);
	answer->conditions = list_copy(wanted->conditions);
	/*
	 * Another statement may have been planned meanwhile, by a function of an operator class. So the list of answers is
	 * looked up here, after the question.
	 */
	known = bf_index_answers_of(root);
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

		if (bf_index_is_same_parent(answer->parent, wanted->parent) && answer->shape == wanted->shape)
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
 * Asks BF_MOST_CHILDREN partitions, spread evenly over all, when the first partition is planned. The first partitions
 * would not do: partitions are planned in the order of their bounds, and similar rows often have close times. A
 * partition without an index like this one is passed over. Nothing is asked here if the table has at most
 * BF_MOST_CHILDREN partitions, or if the index is partial.
 */
static void
ask_partitions(PlannerInfo *root, const IndexOptInfo *info, const BfComparison *comparisons, int count,
			   const double *priors, const Answer *wanted)
{
	List	   *partitions = find_partitions(root, wanted->parent.table);
	const int	all = list_length(partitions);

	if (info->indpred != NIL)
		return;
	for (int i = 0; i < BF_MOST_CHILDREN && all > BF_MOST_CHILDREN; i++)
	{
		const RelOptInfo *rel = list_nth(partitions, (int) ((2 * i + 1) * (int64) all / (2 * BF_MOST_CHILDREN)));
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

	/* where a unique key names the row, its own index is read, whatever this one says */
	if (index == NULL || clauses == NIL || !bf_index_may_ask(root, info) || sb_is_by_unique_key(root, info->rel))
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
	if (wanted.parent.table != 0 && is_first(bf_index_answers_of(root)->all, &wanted))
	{
		if (!may_ask_more(root, BF_MOST_CHILDREN))
			return 0;
		ask_partitions(root, info, comparisons, count, priors, &wanted);
	}
	answer = find_answer(bf_index_answers_of(root)->all, &wanted);
	if (answer == NULL && were_others_asked(bf_index_answers_of(root)->all, info, &wanted, &mean))
		answer = &mean;
	/* An index that has only its meta page has no answer. There may be thousands of these, so only some are asked. */
	if (answer == NULL && info->pages <= 1 && list_length(bf_index_answers_of(root)->all) >= BF_MOST_CHILDREN)
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
		!bf_index_may_ask(root, info) ||
		list_length(bf_index_answers_of(root)->all) < BF_MOST_CHILDREN)
		return false;
	count = get_comparisons(root, info, clauses, comparisons);
	if (count == 0 || count < list_length(clauses))
		return false;
	set_shape(root, info, comparisons, count, &wanted);
	if (is_better_generic(root, wanted.parent.table) ||
		!were_others_asked(bf_index_answers_of(root)->all, info, &wanted, &mean))
		return false;
	*estimate = mean.estimate;
	return mean.is_known;
}
