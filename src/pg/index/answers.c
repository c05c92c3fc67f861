/*
 * answers.c: the planner asks bf indexes how much of a table a condition leaves. This file keeps the answers while a
 * statement is planned, and says which indexes may be asked (see answers.h).
 *
 * EXPLAIN shows costs, and they must not tell what the user may not read. So no index is asked if row-level security
 * or a security barrier may hide rows of its table, nor about a column that the user may not read.
 */
#include "index/answers.h"

#include "miscadmin.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "index/known.h"

static bool enabled = true;

/* --------------------------------------------------------------- the answers */

static BfAnswers *answers;

static void
forget_answers(void *argument)
{
	if (answers == argument)
		answers = NULL;
}

BfAnswers *
bf_index_answers_of(PlannerInfo *root)
{
	if (answers == NULL || answers->statement != root->glob || answers->context != root->planner_cxt)
	{
		answers = MemoryContextAllocZero(root->planner_cxt, sizeof(BfAnswers));
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
	return &bf_index_answers_of(root)->queries;
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

bool
bf_index_may_read(PlannerInfo *root, const IndexOptInfo *info, int column)
{
	const RelOptInfo *rel = info->rel;
	const Index parent = bf_known_topmost_table(root, rel);
	const Oid	table = planner_rt_fetch(parent, root)->relid;
	const Oid	user = OidIsValid(rel->userid) ? rel->userid : GetUserId();
	BfAnswers  *known = bf_index_answers_of(root);
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

bool
bf_index_may_ask(PlannerInfo *root, const IndexOptInfo *info)
{
	return enabled && !info->hypothetical && info->rel->pages > 0 && ActiveSnapshotSet() && !may_hide_rows(root);
}

void
bf_index_answers_init(void)
{
	DefineCustomBoolVariable("streambloom.enable_index_estimates",
							 "Lets the planner ask bf indexes how much of a table a condition leaves.",
							 "Otherwise it goes by the table's statistics alone.",
							 &enabled, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
}
