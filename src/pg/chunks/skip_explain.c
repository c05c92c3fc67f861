/*
 * skip_explain.c: says in EXPLAIN which indexes a Skip asks, what the verdicts were, and why. The first Skip below an
 * Append also counts the verdicts of all its siblings, since nobody reads a thousand nodes. A scan below that was
 * never initialized is not in the output of EXPLAIN ANALYZE.
 */
#include "chunks/skip.h"

#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "executor/instrument.h"
#include "lib/stringinfo.h"
#include "utils/lsyscache.h"

#include "chunks/join_keys.h"

/* The indexes that are asked: "i", "i for s.uid". */
static List *
names_of_indexes(const SkipState *state, List *ancestors, ExplainState *es)
{
	const CustomScan *plan = (const CustomScan *) state->css.ss.ps.plan;
	List	   *names = NIL;
	ListCell   *cell;

	foreach(cell, list_nth(plan->custom_private, SKIP_INDEXES))
		if (get_rel_name(lfirst_oid(cell)) != NULL)
			names = lappend(names, get_rel_name(lfirst_oid(cell)));
	for (int i = 0; i < state->join_count; i++)
	{
		const SkipJoin *join = &state->joins[i];
		const JoinKeys *keys = (const JoinKeys *)
			DatumGetPointer(state->css.ss.ps.state->es_param_exec_vals[join->parameter].value);

		if (keys != NULL && get_rel_name(join->index) != NULL)
			names = lappend(names, psprintf("%s for %s", get_rel_name(join->index),
											join_key_text(keys, join->set, ancestors, es)));
	}
	return names;
}

/* "none (18), some pages (1), all (1)" */
static char *
verdicts_text(const int64 *scans)
{
	static const char *const names[] = {"none", "some pages", "all"};

	return chunk_counts_text(names, scans, SKIP_VERDICTS);
}

/* What became of a Skip's scans: "none"; "some pages (8 of 84)"; "all, the bf index says maybe". */
static char *
verdict_text(const SkipState *state)
{
	const int64 scans = state->scans[SKIP_NONE] + state->scans[SKIP_SOME] + state->scans[SKIP_ALL];

	if (scans > 1)
		return verdicts_text(state->scans);
	if (state->scans[SKIP_NONE] > 0)
		return "none";
	if (state->scans[SKIP_SOME] > 0)
		return psprintf("some pages (" INT64_FORMAT " of " INT64_FORMAT ")", state->pages_left, state->pages);
	return psprintf("all, %s", chunk_reason_names[state->why.reason]);
}

/* Counts the verdicts of all Skips below the same Append, at the first of them. */
static void
explain_siblings(const SkipState *state, ExplainState *es)
{
	int64		scans[SKIP_VERDICTS] = {0};
	int			siblings = 0;
	int			asked = 0;
	int			in_vain = 0;
	ListCell   *cell;

	foreach(cell, skip_shared_of(state->css.ss.ps.state)->nodes)
	{
		const SkipState *sibling = lfirst(cell);
		sb_node_instrumentation *run = sibling->css.ss.ps.instrument;

		if (sibling->parent != state->parent)
			continue;
		if (siblings++ == 0 && sibling != state)
			return;
		asked += sibling->asking.node != NULL;
		for (int i = 0; i < SKIP_VERDICTS; i++)
			scans[i] += sibling->scans[i];
		in_vain += sibling->scans[SKIP_SOME] + sibling->scans[SKIP_ALL] > 0 && run != NULL &&
			run->ntuples + run->tuplecount == 0;
	}
	if (siblings < 2)
		return;
	ExplainPropertyInteger("Partitions with bf Index", NULL, siblings, es);
	ExplainPropertyInteger("Partitions Asked", NULL, asked, es);
	if (asked == 0)
		return;
	ExplainPropertyText("Verdicts", verdicts_text(scans), es);
	ExplainPropertyInteger("Partitions Read in Vain", NULL, in_vain, es);
}

void
skip_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	const SkipState *state = (const SkipState *) node;

	List	   *names = names_of_indexes(state, ancestors, es);

	if (names != NIL)
		ExplainPropertyList("bf Index", names, es);
	if (!es->analyze)
		return;
	if (state->decided || state->asking.node != NULL)
		ExplainPropertyText("Verdict", verdict_text(state), es);
	if (state->hashed.count > 0)
		ExplainPropertyText("Array Tested", "by hash", es);
	if (state->parent != 0)
		explain_siblings(state, es);
}
