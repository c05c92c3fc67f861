/*
 * join_keys.c: executes the node JoinKeys, which stands between Hash and its input. JoinKeys passes the rows on, and
 * collects the hashes of their keys. Keys that are NULL are left out, because the operators of the keys are strict.
 */
#include "chunks/join_keys.h"

#include "access/relation.h"
#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "executor/executor.h"
#include "lib/qunique.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "pgstat.h"
#include "storage/predicate.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"

#include "chunks/ask.h"
#include "chunks/skip.h"
#include "index/handler.h"

/* A set begins with room for this many keys. */
#define FIRST_ROOM 64

typedef struct JoinKeysState
{
	CustomScanState css;
	bool		collects;		/* keys are collected; not if the node only passes rows on */
	JoinKeys	keys;
} JoinKeysState;

/* ---------------------------------------------------------------------- collecting */

/* Forgets all keys. Keys are collected anew, from the next row on. */
static void
begin_collecting(JoinKeys *keys)
{
	keys->complete = false;
	keys->collection++;
	MemoryContextReset(keys->context);
	for (int i = 0; i < keys->count; i++)
	{
		JoinKeySet *set = &keys->sets[i];

		*set = (JoinKeySet) {.key = set->key, .state = set->state, .hasher = set->hasher};
	}
}

/* Leaves each hash once. */
static void
make_distinct(JoinKeySet *set)
{
	qsort(set->hashes, set->count, sizeof(uint64), item_compare_hashes);
	set->count = qunique(set->hashes, set->count, sizeof(uint64), item_compare_hashes);
}

/* Makes room for one more hash in a set that is full, or gives the set up. */
static void
make_room(const JoinKeys *keys, JoinKeySet *set)
{
	make_distinct(set);
	if (set->count > JOIN_MOST_KEYS)
		set->given_up = true;
	else if (set->hashes == NULL)
		set->hashes = MemoryContextAlloc(keys->context, (set->room = FIRST_ROOM) * sizeof(uint64));
	else if (set->count * 2 > set->room)
		set->hashes = repalloc(set->hashes, (set->room *= 2) * sizeof(uint64));
}

static void
collect(JoinKeysState *state, TupleTableSlot *row)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	MemoryContext caller = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);

	econtext->ecxt_scantuple = row;
	for (int i = 0; i < state->keys.count; i++)
	{
		JoinKeySet *set = &state->keys.sets[i];
		Datum		value;
		bool		isnull;

		if (set->given_up)
			continue;
		value = ExecEvalExpr(set->state, econtext, &isnull);
		if (isnull)
			continue;
		if (set->hasher == NULL)
			set->hasher = item_hasher_for_index(exprType(set->key), exprCollation(set->key),
												state->css.ss.ps.state->es_query_cxt);
		if (set->count == set->room)
			make_room(&state->keys, set);
		if (!set->given_up)
			set->hashes[set->count++] = item_hash(set->hasher, value);
	}
	MemoryContextSwitchTo(caller);
	ResetExprContext(econtext);
}

/* Called when all rows were seen. */
static void
end_collecting(JoinKeys *keys)
{
	for (int i = 0; i < keys->count && !keys->complete; i++)
	{
		make_distinct(&keys->sets[i]);
		keys->sets[i].given_up |= keys->sets[i].count > JOIN_MOST_KEYS;
	}
	keys->complete = true;
}

/* ------------------------------------------------------------------------- running */

static void
join_keys_begin(CustomScanState *node, EState *estate, int eflags)
{
	JoinKeysState *state = (JoinKeysState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	JoinKeys   *keys = &state->keys;

	outerPlanState(node) = ExecInitNode(linitial(plan->custom_plans), estate, eflags);
	/* the rows are passed on in the slots of the node below */
	node->ss.ps.resultopsset = true;
	node->ss.ps.resultops = ExecGetResultSlotOps(outerPlanState(node), &node->ss.ps.resultopsfixed);
	/* These slots may be of any kind. Without this the expressions would be compiled for rows that are taken apart. */
	node->ss.ps.scanopsset = true;
	node->ss.ps.scanops = NULL;
	node->ss.ps.scanopsfixed = false;

	keys->plan = plan;
	keys->context = AllocSetContextCreate(estate->es_query_cxt, "keys of a join", ALLOCSET_DEFAULT_SIZES);
	keys->count = list_length(plan->custom_exprs);
	keys->sets = palloc0(keys->count * sizeof(JoinKeySet));
	for (int i = 0; i < keys->count; i++)
	{
		keys->sets[i].key = list_nth(plan->custom_exprs, i);
		keys->sets[i].state = ExecInitExpr((Expr *) keys->sets[i].key, &node->ss.ps);
	}
	begin_collecting(keys);
	state->collects = skip_enabled && estate->es_epq_active == NULL;
	if (state->collects)
		estate->es_param_exec_vals[linitial_int(plan->custom_private)] =
			(ParamExecData) {.value = PointerGetDatum(keys)};
}

static TupleTableSlot *
join_keys_next(CustomScanState *node)
{
	JoinKeysState *state = (JoinKeysState *) node;
	TupleTableSlot *row = ExecProcNode(outerPlanState(node));

	if (TupIsNull(row))
		end_collecting(&state->keys);
	else if (state->collects)
		collect(state, row);
	return row;
}

static void
join_keys_rescan(CustomScanState *node)
{
	begin_collecting(&((JoinKeysState *) node)->keys);
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
join_keys_ask(JoinKeys *keys, JoinKeySet *set, EState *estate, Relation heap, Oid oid, AttrNumber column,
			  BfSpans *spans)
{
	MemoryContext caller = MemoryContextSwitchTo(keys->context);
	Relation	index;
	bool		answered = false;

	if (set->search == NULL)
		set->search = bf_index_begin_hashed_search(set->hashes, set->count, exprCollation(set->key),
												   estate->es_snapshot);
	MemoryContextSwitchTo(estate->es_query_cxt);
	if (bf_index_passes_over(&set->patience))
		keys->uses[JOIN_PASSED_OVER]++;
	else
	{
		index = chunk_open_index(heap, oid, bf_index_am_oid());
		if (index != NULL)
		{
			PredicateLockRelation(index, estate->es_snapshot);
			pgstat_count_index_scan(index);
			answered = bf_index_ask_for_spans(set->search, column, index, heap, &set->patience, spans);
			relation_close(index, AccessShareLock);
		}
		keys->uses[answered ? JOIN_ASKED : JOIN_TOO_MANY]++;
	}
	MemoryContextSwitchTo(caller);
	return answered;
}

/* ---------------------------------------------------------------------- explaining */

char *
join_key_text(const JoinKeys *keys, int set, List *ancestors, ExplainState *es)
{
	return deparse_expression(keys->sets[set].key,
							  set_deparse_context_plan(es->deparse_cxt, (Plan *) keys->plan, ancestors), true, false);
}

/* Returns how many keys were collected, or why there are none. */
static char *
count_text(const JoinKeys *keys, const JoinKeySet *set)
{
	if (set->given_up)
		return psprintf("given up, more than %d", JOIN_MOST_KEYS);
	return keys->complete ? psprintf("%u", set->count) : "not complete";
}

static void
join_keys_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	static const char *const reasons[] = {
		"keys are missing", "too many keys for the index's rate", "others were asked in vain"
	};
	const JoinKeys *keys = &((JoinKeysState *) node)->keys;
	List	   *texts = NIL;
	List	   *counts = NIL;
	char	   *because = chunk_counts_text(reasons, &keys->uses[JOIN_MISSING], JOIN_USES - JOIN_MISSING);

	for (int i = 0; i < keys->count; i++)
	{
		texts = lappend(texts, join_key_text(keys, i, ancestors, es));
		counts = lappend(counts, count_text(keys, &keys->sets[i]));
	}
	ExplainPropertyList("Keys", texts, es);
	if (!es->analyze)
		return;
	ExplainPropertyList("Keys Collected", counts, es);
	ExplainPropertyInteger("Scans Asked", NULL, keys->uses[JOIN_ASKED], es);
	if (because[0] != '\0')
		ExplainPropertyText("Scans Not Asked Because", because, es);
}

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

const CustomScanMethods join_keys_scan_methods = {
	.CustomName = "JoinKeys",
	.CreateCustomScanState = join_keys_create,
};
