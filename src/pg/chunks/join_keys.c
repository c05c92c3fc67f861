/*
 * join_keys.c: executes the node JoinKeys, which stands between Hash and its input. JoinKeys passes the rows on, and
 * collects the hashes of their keys. Keys that are NULL are left out, because the operators of the keys are strict.
 */
#include "chunks/join_keys.h"

#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "nodes/execnodes.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"

#include "base/call.h"
#include "base/item.h"
#include "base/memory.h"
#include "chunks/ask.h"
#include "chunks/skip.h"

/* A set begins with room for this many keys. */
#define FIRST_ROOM 64

/* How a set is collected. */
typedef struct Collector
{
	ExprState  *expression;
	ItemHasher *hasher;
	sb_hash_set found;
	bool		has_room;		/* memory was allocated for `found` */
} Collector;

typedef struct JoinKeysState
{
	CustomScanState css;
	bool		collects;		/* at least one set is still collected; the others were given up */
	JoinKeys	keys;
	Collector  *collectors;		/* one for each set */
	sb_memory	memory;			/* for the hashes that were found */
} JoinKeysState;

static Node *join_keys_create(CustomScan *plan);
static void join_keys_begin(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *join_keys_next(CustomScanState *node);
static void join_keys_end(CustomScanState *node);
static void join_keys_rescan(CustomScanState *node);
static void join_keys_explain(CustomScanState *node, List *ancestors, ExplainState *es);

const CustomScanMethods join_keys_scan_methods = {
	.CustomName = "JoinKeys",
	.CreateCustomScanState = join_keys_create,
};

static const CustomExecMethods exec_methods = {
	.CustomName = "JoinKeys",
	.BeginCustomScan = join_keys_begin,
	.ExecCustomScan = join_keys_next,
	.EndCustomScan = join_keys_end,
	.ReScanCustomScan = join_keys_rescan,
	.ExplainCustomScan = join_keys_explain,
};

static Node *
join_keys_create(CustomScan *plan)
{
	JoinKeysState *state = palloc0(sizeof(JoinKeysState));

	(void) plan;
	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	return (Node *) state;
}

/* ---------------------------------------------------------------------- collecting */

/* Forgets all keys. Keys are collected anew, from the next row on. */
static void
begin_collecting(JoinKeysState *state)
{
	JoinKeys   *keys = &state->keys;

	keys->complete = false;
	keys->collection++;
	MemoryContextReset(keys->context);
	for (int i = 0; i < keys->count; i++)
	{
		Collector  *collector = &state->collectors[i];
		JoinKeySet *set = &keys->sets[i];

		if (collector->has_room)
			sb_hash_set_release(&collector->found, &state->memory);
		collector->has_room = false;
		set->hashes = NULL;
		set->count = 0;
		set->given_up = false;
		set->search = NULL;
		set->patience = (BfPatience) {0};
	}
	state->collects = true;
}

static void
add_key(JoinKeysState *state, Collector *collector, JoinKeySet *set, Datum value)
{
	if (collector->hasher == NULL)
		collector->hasher = item_hasher_for_index(set->type, set->collation, state->css.ss.ps.state->es_query_cxt);
	if (!collector->has_room)
	{
		must_finish(sb_hash_set_begin(&collector->found, &state->memory, FIRST_ROOM));
		collector->has_room = true;
	}
	must_finish(sb_hash_set_add(&collector->found, &state->memory, item_hash(collector->hasher, value)));
	if (collector->found.count > JOIN_MOST_KEYS)
	{
		sb_hash_set_release(&collector->found, &state->memory);
		collector->has_room = false;
		set->given_up = true;
	}
}

static void
collect(JoinKeysState *state, TupleTableSlot *row)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	MemoryContext caller = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	bool		collects = false;

	econtext->ecxt_scantuple = row;
	for (int i = 0; i < state->keys.count; i++)
	{
		JoinKeySet *set = &state->keys.sets[i];
		Datum		value;
		bool		isnull;

		if (set->given_up)
			continue;
		value = ExecEvalExpr(state->collectors[i].expression, econtext, &isnull);
		if (!isnull)
			add_key(state, &state->collectors[i], set, value);
		collects |= !set->given_up;
	}
	state->collects = collects;
	MemoryContextSwitchTo(caller);
	ResetExprContext(econtext);
}

/* Called when all rows were seen: puts the hashes into the sets, and marks the keys as complete. */
static void
end_collecting(JoinKeysState *state)
{
	JoinKeys   *keys = &state->keys;
	MemoryContext caller = MemoryContextSwitchTo(keys->context);

	for (int i = 0; i < keys->count && !keys->complete; i++)
	{
		Collector  *collector = &state->collectors[i];
		JoinKeySet *set = &keys->sets[i];

		if (!collector->has_room)
			continue;
		set->count = collector->found.count;
		set->hashes = palloc(set->count * sizeof(uint64));
		must_finish(sb_hash_set_take(&collector->found, set->hashes));
		sb_hash_set_release(&collector->found, &state->memory);
		collector->has_room = false;
	}
	keys->complete = true;
	MemoryContextSwitchTo(caller);
}

/* ------------------------------------------------------------------------- running */

static void
read_sets(JoinKeysState *state, const CustomScan *plan)
{
	List	   *types = list_nth(plan->custom_private, JOIN_KEYS_TYPES);
	List	   *collations = list_nth(plan->custom_private, JOIN_KEYS_COLLATIONS);
	JoinKeys   *keys = &state->keys;

	keys->count = list_length(types);
	keys->sets = palloc0(keys->count * sizeof(JoinKeySet));
	state->collectors = palloc0(keys->count * sizeof(Collector));
	for (int i = 0; i < keys->count; i++)
	{
		keys->sets[i].type = list_nth_oid(types, i);
		keys->sets[i].collation = list_nth_oid(collations, i);
		state->collectors[i].expression = ExecInitExpr(list_nth(plan->custom_exprs, i), &state->css.ss.ps);
	}
}

static void
join_keys_begin(CustomScanState *node, EState *estate, int eflags)
{
	JoinKeysState *state = (JoinKeysState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	int			parameter = linitial_int(list_nth(plan->custom_private, JOIN_KEYS_PARAMETER));

	outerPlanState(node) = ExecInitNode(linitial(plan->custom_plans), estate, eflags);
	/* the rows are passed on in the slots of the node below */
	node->ss.ps.resultopsset = true;
	node->ss.ps.resultops = ExecGetResultSlotOps(outerPlanState(node), &node->ss.ps.resultopsfixed);
	/* These slots may be of any kind. Without this the expressions would be compiled for rows that are taken apart. */
	node->ss.ps.scanopsset = true;
	node->ss.ps.scanops = NULL;
	node->ss.ps.scanopsfixed = false;

	state->memory = memory_in(estate->es_query_cxt);
	state->keys.plan = plan;
	state->keys.context = AllocSetContextCreate(estate->es_query_cxt, "keys of a join", ALLOCSET_SMALL_SIZES);
	read_sets(state, plan);
	begin_collecting(state);
	state->collects = skip_enabled && estate->es_epq_active == NULL;
	if (!state->collects)
		return;
	estate->es_param_exec_vals[parameter].value = PointerGetDatum(&state->keys);
	estate->es_param_exec_vals[parameter].isnull = false;
}

static TupleTableSlot *
join_keys_next(CustomScanState *node)
{
	JoinKeysState *state = (JoinKeysState *) node;
	TupleTableSlot *row = ExecProcNode(outerPlanState(node));

	if (TupIsNull(row))
		end_collecting(state);
	else if (state->collects)
		collect(state, row);
	return row;
}

static void
join_keys_rescan(CustomScanState *node)
{
	JoinKeysState *state = (JoinKeysState *) node;

	begin_collecting(state);
	/* If parameters of the node below have changed, the executor rescans it when the next row is wanted. */
	if (outerPlanState(node)->chgParam == NULL)
		ExecReScan(outerPlanState(node));
}

static void
join_keys_end(CustomScanState *node)
{
	ExecEndNode(outerPlanState(node));
}

/* ------------------------------------------------------------------------- asking */

bool
join_keys_ask(JoinKeys *keys, JoinKeySet *set, EState *estate, Relation heap, Oid index, AttrNumber column,
			  BfSpans *spans)
{
	MemoryContext caller;
	bool		answered;

	if (bf_index_passes_over(&set->patience))
	{
		set->use.passed_over++;
		return false;
	}
	caller = MemoryContextSwitchTo(keys->context);
	if (set->search == NULL)
		set->search = bf_index_begin_hashed_search(set->hashes, set->count, set->collation, estate->es_snapshot);
	MemoryContextSwitchTo(estate->es_query_cxt);
	answered = chunk_ask_for_spans(estate->es_snapshot, set->search, heap, index, column, &set->patience, spans);
	MemoryContextSwitchTo(caller);
	if (answered)
		set->use.asked++;
	else
		set->use.too_many++;
	return answered;
}

/* ---------------------------------------------------------------------- explaining */

static char *
key_text(const CustomScan *plan, int set, List *context)
{
	return deparse_expression(list_nth(plan->custom_exprs, set), context, true, false);
}

char *
join_key_text(const JoinKeys *keys, int set, List *ancestors, ExplainState *es)
{
	return key_text(keys->plan, set, set_deparse_context_plan(es->deparse_cxt, (Plan *) keys->plan, ancestors));
}

/* Returns how many keys were collected, or why there are none. */
static char *
count_text(const JoinKeys *keys, const JoinKeySet *set)
{
	if (set->given_up)
		return psprintf("given up, more than %d", JOIN_MOST_KEYS);
	return keys->complete ? psprintf("%u", set->count) : pstrdup("not complete");
}

static void
add_reason(StringInfo text, const char *reason, int64 count)
{
	if (count > 0)
		appendStringInfo(text, "%s%s (" INT64_FORMAT ")", text->len > 0 ? ", " : "", reason, count);
}

static void
join_keys_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	JoinKeysState *state = (JoinKeysState *) node;
	const CustomScan *plan = (const CustomScan *) node->ss.ps.plan;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
	List	   *texts = NIL;
	List	   *counts = NIL;
	JoinUse		use = {0};
	StringInfoData because;

	for (int i = 0; i < state->keys.count; i++)
	{
		const JoinKeySet *set = &state->keys.sets[i];

		texts = lappend(texts, key_text(plan, i, context));
		counts = lappend(counts, count_text(&state->keys, set));
		use.asked += set->use.asked;
		use.passed_over += set->use.passed_over;
		use.too_many += set->use.too_many;
		use.missing += set->use.missing;
	}
	ExplainPropertyList("Keys", texts, es);
	if (!es->analyze)
		return;
	ExplainPropertyList("Keys Collected", counts, es);
	ExplainPropertyInteger("Scans Asked", NULL, use.asked, es);
	initStringInfo(&because);
	add_reason(&because, "keys are missing", use.missing);
	add_reason(&because, "too many keys for the index's rate", use.too_many);
	add_reason(&because, "others were asked in vain", use.passed_over);
	if (because.len > 0)
		ExplainPropertyText("Scans Not Asked Because", because.data, es);
}
