/*
 * chunk_skip_ask.c: asks the indexes of a ChunkSkip, and decides which children are left out. An index is asked about
 * *keys*. A key is a condition on a column of the index, such as column = argument, or IS NULL.
 *
 * Some arguments of keys are known when the execution begins: constants and parameters of the statement. At this time
 * the indexes are asked about the keys with these arguments, and about IS NULL, with the query's snapshot. Then only
 * those children are initialized that may hold rows.
 *
 * All other arguments are evaluated when the first row of a scan is wanted. Some of them change (parameters of nested
 * loops, results of subqueries). The evaluation of others may fail or cost something (casts, functions). Once they have
 * values, the indexes are asked again, and the children that cannot hold rows are left out of that scan.
 */
#include "chunks/chunk_skip_state.h"

#include "access/table.h"
#include "executor/executor.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/*
 * Sets set->asker.cache. The cache remembers only questions with a single key that is not IS NULL. So for a set with
 * other keys, and as long as the key's argument has no value, asker.cache is NULL.
 */
static void
find_cache(KeySet *set, Snapshot snapshot)
{
	ChunkCacheKey key;

	set->asker.cache = NULL;
	if (set->count != 1 || set->entry_count != 1 || (set->keys[0].flags & SK_ISNULL) != 0)
		return;
	memset(&key, 0, sizeof key);
	key.column = set->keys[0].column;
	key.any = (set->keys[0].flags & SK_SEARCHARRAY) != 0;
	key.operator = set->keys[0].function;
	key.collation = set->keys[0].collation;
	set->asker.cache = chunk_cache_find(&key, snapshot, &set->asker.number);
}

/*
 * Evaluates the wanted arguments, and sets up the keys of all wanted sets. `all` is false when the execution begins,
 * and it is not known yet which arguments are wanted. Then this evaluates all arguments that are known at this time,
 * and sets up their keys. Returns whether there is anything to ask. REQUIRES: the current memory context is the
 * per-tuple memory of the node, in which the searches live.
 */
static bool
prepare_keys(ChunkSkipState *state, bool all)
{
	EState	   *estate = state->css.ss.ps.state;
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	bool		any = false;

	for (int i = 0; i < state->argument_count; i++)
	{
		Argument   *argument = &state->arguments[i];

		if (all ? argument->wanted : argument->known)
			argument->value = ExecEvalExpr(argument->expression, econtext, &argument->isnull);
	}
	for (int i = 0; i < state->set_count; i++)
	{
		KeySet	   *set = &state->sets[i];

		if (all && !set->wanted)
			continue;
		set->entry_count = 0;
		set->impossible = false;
		for (int k = 0; k < set->count; k++)
		{
			Argument   *argument = set->arguments[k] < 0 ? NULL : &state->arguments[set->arguments[k]];

			if (argument != NULL && !argument->known && !all)
				continue;
			if (argument != NULL && argument->isnull)
				set->impossible = true; /* the operator is strict, so no row matches NULL */
			else
				chunk_set_scan_key(&set->entries[set->entry_count++], &set->keys[k],
								   argument != NULL ? argument->value : (Datum) 0);
		}
		set->asker.snapshot = estate->es_snapshot;
		set->asker.explain_only = (estate->es_top_eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0;
		set->asker.wants_reason = state->reasons != NULL;
		set->asker.search = bf_index_begin_search(set->entries, set->entry_count, estate->es_snapshot);
		find_cache(set, estate->es_snapshot);
		any |= set->entry_count > 0 || set->impossible;
	}
	return any;
}

/* Asks an index: may the child have rows that match the keys which are set up? */
static bool
ask_index(ChunkSkipState *state, const ChildIndex *index)
{
	KeySet	   *set = &state->sets[index->set];
	Relation	heap;
	ChunkVerdict verdict;

	if (set->impossible)
		return false;
	if (set->entry_count == 0)
		return true;
	if (chunk_ask_memory(&set->asker, index->index, index - state->indexes, state->index_count, &verdict) &&
		!chunk_is_read(&verdict))
		return false;
	/* the executor has locked all tables of the plan */
	heap = table_open(index->heap, NoLock);
	chunk_ask_index(&set->asker, heap, index->index, &verdict);
	table_close(heap, NoLock);
	if (chunk_is_read(&verdict) && state->reasons != NULL)
		state->reasons[index->child] = verdict.reason;
	return chunk_is_read(&verdict);
}

void
chunk_skip_count_reasons(ChunkSkipState *state, const Bitmapset *valid)
{
	for (int i = 0; state->reasons != NULL && i < state->children; i++)
		if (state->place[i] >= 0 && (valid == NULL || bms_is_member(state->place[i], valid)))
			state->because[state->reasons[i]]++;
}

void
chunk_skip_ask_at_start(ChunkSkipState *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	MemoryContext caller = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);

	if (prepare_keys(state, false))
	{
		state->asked_at_start = true;
		for (int i = 0; i < state->index_count; i++)
		{
			const ChildIndex *index = &state->indexes[i];

			if (state->place[index->child] >= 0 && !ask_index(state, index))
				state->place[index->child] = -1;
		}
	}
	MemoryContextSwitchTo(caller);
	ResetExprContext(econtext);
	for (int i = 0; i < state->children; i++)
		if (state->place[i] >= 0)
			state->place[i] = state->kept++;
}

void
chunk_skip_ask_for_scan(ChunkSkipState *state)
{
	EState	   *estate = state->css.ss.ps.state;
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	PlanState  *append = outerPlanState(state);
	Bitmapset  *valid;
	Bitmapset **set;
	MemoryContext caller = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	int			last = -1;

	valid = bms_add_range(NULL, 0, state->kept - 1);
	prepare_keys(state, true);
	for (int i = 0; i < state->index_count; i++)
	{
		const ChildIndex *index = &state->indexes[i];
		int			place = state->place[index->child];

		if (place < 0)
			continue;
		state->scans_asked += place != last;
		last = place;
		if (bms_is_member(place, valid) && !ask_index(state, index))
		{
			valid = bms_del_member(valid, place);
			state->scans_skipped++;
		}
	}
	state->no_child_in_scan = bms_is_empty(valid);
	if (!state->no_child_in_scan)
		chunk_skip_count_reasons(state, valid);
	if (!state->no_child_in_scan)
	{
		set = IsA(append, AppendState) ? &((AppendState *) append)->as_valid_subplans :
			&((MergeAppendState *) append)->ms_valid_subplans;
		MemoryContextSwitchTo(estate->es_query_cxt);
		bms_free(*set);
		*set = bms_copy(valid);
	}
	MemoryContextSwitchTo(caller);
	ResetExprContext(econtext);
}
