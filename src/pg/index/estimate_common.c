/*
 * estimate_common.c: asks an index how much its ranges have in common (bf_index_estimate_common() in estimate.h). The
 * planner needs this for items that are keys inside values, if the key is not known when the query is planned.
 */
#include "index/estimate.h"

#include "index/answers.h"
#include "index/attempt.h"
#include "index/geometry.h"
#include "index/known.h"
#include "index/walk.h"

/*
 * What bf_index_estimate_common() has found for one column of an index: the share of items that two ranges have in
 * common; negative: that is not known.
 */
typedef struct Common
{
	Oid			index;
	int			column;
	BfParent	parent;
	int			of_parent;		/* see bf_known_column_of_parent() */
	double		share;
} Common;

/*
 * What was found for this column before; or the mean of other partitions, if at least BF_MOST_CHILDREN of them were
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
		if (wanted->parent.table == 0 || !bf_index_is_same_parent(common->parent, wanted->parent) ||
			common->of_parent != wanted->of_parent)
			continue;
		children++;
		if (common->share < 0)
			continue;
		known++;
		mean.share += common->share;
	}
	if (children < BF_MOST_CHILDREN)
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

	if (index == NULL || !bf_index_may_ask(root, info) || !bf_index_may_read(root, info, column))
		return -1;
	if (info->rel->reloptkind == RELOPT_OTHER_MEMBER_REL)
	{
		wanted.parent = (BfParent) {.query = root, .table = bf_known_topmost_table(root, info->rel)};
		wanted.of_parent = bf_known_column_of_parent(root, info, wanted.parent.table, column);
	}
	common = find_common(bf_index_answers_of(root)->common, &wanted);
	if (common == NULL)
	{
		Look		at = {.index = index, .column = column};
		MemoryContext caller = MemoryContextSwitchTo(root->planner_cxt);
		BfAnswers  *known = bf_index_answers_of(root);

		wanted.share = bf_index_try(look, &at) ? at.share : -1;
		common = memcpy(palloc(sizeof wanted), &wanted, sizeof wanted);
		known->common = lappend(known->common, (void *) common);
		MemoryContextSwitchTo(caller);
	}
	return common->share;
}
