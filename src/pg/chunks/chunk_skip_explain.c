/*
 * chunk_skip_explain.c: says in EXPLAIN what a ChunkSkip asked, how many children it left out, why the others were
 * read, and how many of them returned no row; and with VERBOSE, why there is no PartitionScan.
 */
#include "chunks/chunk_skip_state.h"

#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "executor/instrument.h"
#include "lib/stringinfo.h"
#include "utils/lsyscache.h"

/* The columns that the indexes are asked about: "uid", "uid, url". */
static char *
columns_asked(const ChunkSkipState *state)
{
	StringInfoData columns;
	List	   *names = NIL;

	initStringInfo(&columns);
	for (int i = 0; i < state->index_count; i++)
	{
		const KeySet *set = &state->sets[state->indexes[i].set];

		for (int k = 0; k < set->count; k++)
		{
			char	   *name = get_attname(state->indexes[i].index, set->keys[k].column, true);

			if (name == NULL || list_member(names, makeString(name)))
				continue;
			names = lappend(names, makeString(name));
			appendStringInfo(&columns, "%s%s", columns.len > 0 ? ", " : "", name);
		}
	}
	return columns.data;
}

/* Returns how many of the children with an index to ask were read and returned no row. */
static int
read_in_vain(const ChunkSkipState *state)
{
	PlanState  *append = outerPlanState(state);
	PlanState **children;
	int			below;
	int			count = 0;
	int			last = -1;

	if (append == NULL)
		return 0;
	children = chunk_skip_children(append, &below);
	for (int i = 0; i < state->index_count; i++)
	{
		int			place = state->place[state->indexes[i].child];
		sb_node_instrumentation *run;

		if (place < 0 || place == last)
			continue;
		last = place;
		run = children[place]->instrument;
		if (run != NULL && (run->running || run->nloops > 0) && run->ntuples + run->tuplecount == 0)
			count++;
	}
	return count;
}

void
chunk_skip_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	ChunkSkipState *state = (ChunkSkipState *) node;
	const CustomScan *plan = (const CustomScan *) node->ss.ps.plan;
	List	   *no_partition_scan = list_nth(plan->custom_private, CHUNK_SKIP_NO_PARTITION_SCAN);
	char	   *reasons;

	(void) ancestors;
	if (es->verbose && no_partition_scan != NIL)
		ExplainPropertyText("No PartitionScan Because", strVal(linitial(no_partition_scan)), es);
	if (state->stands_aside)
		return;
	ExplainPropertyText("bf Index on", columns_asked(state), es);
	/* of how many: a few that were asked and skipped are no success if thousands are read */
	if (state->children_asked < state->children)
		ExplainPropertyInteger("Partitions", NULL, state->children, es);
	ExplainPropertyInteger("Partitions Asked", NULL, state->children_asked, es);
	if (state->asked_at_start)
		ExplainPropertyInteger("Partitions Skipped", NULL, state->children - state->kept, es);
	if (state->asks_nothing || (state->late && state->kept > 0))
	{
		if (!es->analyze)
			ExplainPropertyText("Asked", "at run time", es);
		else
		{
			ExplainPropertyInteger("Scans Asked", NULL, state->scans_asked, es);
			ExplainPropertyInteger("Scans Skipped", NULL, state->scans_skipped, es);
		}
	}
	if (!es->analyze || state->kept == 0)
		return;
	if (state->scans_hashed > 0)
		ExplainPropertyInteger("Partitions Testing by Hash", NULL, state->scans_hashed, es);
	reasons = chunk_reasons_text(state->because);
	if (reasons[0] != '\0')
		ExplainPropertyText("Read Because", reasons, es);
	ExplainPropertyInteger("Partitions Read in Vain", NULL, read_in_vain(state), es);
}
