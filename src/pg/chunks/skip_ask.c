/*
 * skip_ask.c: asks the indexes of a Skip about its keys, and about the keys that hash joins have collected.
 *
 * An argument of a key is evaluated when the first row of a scan is wanted. A constant or a parameter with a value
 * can be evaluated at once. Any other argument may fail or cost something, so it is evaluated only if the table has
 * pages, and if nothing else has ruled the table out. In this way a query raises no error for an empty table or for a
 * scan of which no row is wanted.
 *
 * A thousand partitions are asked by a thousand Skips, mostly about the same values. So the Skips of an execution
 * share their last searches: the values are hashed once.
 */
#include "chunks/skip.h"

#include "executor/executor.h"
#include "optimizer/clauses.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "chunks/join_keys.h"

/* All executions that run and have Skips; mostly one. */
static SkipShared *executions = NULL;

static void
forget_execution(void *ended)
{
	SkipShared **place = &executions;

	while (*place != ended)
		place = &(*place)->next;
	*place = ((SkipShared *) ended)->next;
}

SkipShared *
skip_shared_of(EState *estate)
{
	SkipShared *shared;

	for (shared = executions; shared != NULL; shared = shared->next)
		if (shared->estate == estate)
			return shared;
	shared = MemoryContextAllocZero(estate->es_query_cxt, sizeof(SkipShared));
	shared->estate = estate;
	shared->next = executions;
	shared->forget = (MemoryContextCallback) {.func = forget_execution, .arg = shared};
	MemoryContextRegisterResetCallback(estate->es_query_cxt, &shared->forget);
	return executions = shared;
}

/*
 * Asks about the keys that a hash join has collected, unless asking other indexes about them was in vain. What an
 * index has said stays true as long as the keys are of the same collection.
 */
static bool
ask_about_join(SkipState *state, SkipJoin *join, BfSpans *left)
{
	EState	   *estate = state->css.ss.ps.state;
	JoinKeys   *keys = (JoinKeys *) DatumGetPointer(estate->es_param_exec_vals[join->parameter].value);
	JoinKeySet *set = keys != NULL ? &keys->sets[join->set] : NULL;

	if (keys == NULL || !keys->complete || set->given_up)
	{
		if (keys != NULL)
			keys->uses[JOIN_MISSING]++;
		return true;
	}
	if (set->count == 0)
		return false;			/* without a key the join returns no row of this table */
	if (join->collection != keys->collection)
	{
		join->collection = keys->collection;
		join->answered = join_keys_ask(keys, set, estate, state->css.ss.ss_currentRelation, join->index, join->column,
									   &join->spans);
	}
	if (!join->answered)
		return true;
	state->why = (ChunkVerdict) {.reason = CHUNK_INDEX_SAYS_MAYBE, .index = join->index};
	chunk_intersect(left, &join->spans);
	return left->count > 0;
}

/* As skip_ask(). REQUIRES: state->asking is set up. */
static SkipVerdict
ask(SkipState *state)
{
	Relation	table = state->css.ss.ss_currentRelation;
	ChunkAsking *asking = &state->asking;
	BfSpans    *left = &state->left;
	BfSpans		all = {0};
	BlockNumber pages;

	*left = (BfSpans) {0};
	bf_index_add_span(left, 0, InvalidBlockNumber);
	asking->may_evaluate = asking->left_out = false;
	if (!chunk_ask(asking, &state->question, RelationGetRelid(table), &state->why, left))
		return SKIP_NONE;
	for (int i = 0; i < state->join_count; i++)
		if (!ask_about_join(state, &state->joins[i], left))
			return SKIP_NONE;
	if (!asking->left_out && !state->by_pages)
		return SKIP_ALL;
	pages = RelationGetNumberOfBlocks(table);	/* taken after the snapshot */
	if (pages == 0)
	{
		/* the scan below would take this lock, but it is not begun */
		PredicateLockRelation(table, state->css.ss.ps.state->es_snapshot);
		return SKIP_NONE;
	}
	asking->may_evaluate = true;
	if (asking->left_out && !chunk_ask(asking, &state->question, RelationGetRelid(table), &state->why, left))
		return SKIP_NONE;
	if (!state->by_pages)
		return SKIP_ALL;
	bf_index_add_span(&all, 0, pages);
	chunk_intersect(left, &all);
	if (left->count == 0)
		return SKIP_NONE;
	if (left->pages * 10 >= (uint64) pages * BF_IN_VAIN_TENTHS)
		return SKIP_ALL;
	state->pages += pages;
	state->pages_left += left->pages;
	return SKIP_SOME;
}

SkipVerdict
skip_ask(SkipState *state)
{
	const CustomScan *plan = (const CustomScan *) state->css.ss.ps.plan;
	EState	   *estate = state->css.ss.ps.state;
	ChunkAsking *asking = &state->asking;
	MemoryContext caller;
	SkipVerdict verdict;

	chunk_forget_values(&state->question);
	if (!skip_enabled || estate->es_epq_active != NULL || estate->es_snapshot == NULL ||
		!IsMVCCSnapshot(estate->es_snapshot))
		return SKIP_ALL;
	caller = MemoryContextSwitchTo(estate->es_query_cxt);
	if (asking->node == NULL)
	{
		asking->node = &state->css.ss;
		asking->context = AllocSetContextCreate(estate->es_query_cxt, "Skip", ALLOCSET_SMALL_SIZES);
		asking->searches = &skip_shared_of(estate)->searches;
		asking->indexes = list_nth(plan->custom_private, SKIP_INDEXES);
		asking->all_pages = state->by_pages;
		chunk_exchange_user(asking);
		chunk_make_question(asking, &state->question, plan->custom_exprs);
		chunk_exchange_user(asking);
		state->parameters = pull_paramids((Expr *) plan->custom_exprs);
	}
	MemoryContextSwitchTo(asking->context);
	MemoryContextReset(asking->context);
	state->why = (ChunkVerdict) {.reason = CHUNK_IS_NOT_ASKED};
	verdict = ask(state);
	MemoryContextSwitchTo(caller);
	return verdict;
}
