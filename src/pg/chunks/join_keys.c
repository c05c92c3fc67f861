/*
 * join_keys.c: executes the node JoinKeys, which stands between Hash and its input. JoinKeys passes the rows on, and
 * collects their keys: for JoinSkip the keys' hashes, for PartitionScan their values. Keys that are NULL are left
 * out, because the operators of the keys are strict.
 */
#include "chunks/join_skip.h"

#include "access/detoast.h"
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
#include "chunks/finished_plan.h"
#include "chunks/join_keys.h"

/* A set begins with room for this many keys. */
#define FIRST_ROOM 64

/* The type of values that are kept. */
typedef struct KeptType
{
	bool		by_value;
	int16		length;
} KeptType;

/* A value that is kept. Of several values with the same bytes only one is kept. */
typedef struct KeptValue
{
	Datum		value;
	uint32		hash;
	char		status;
} KeptValue;

#define TYPE_OF_TABLE(table) ((const KeptType *) (table)->private_data)
#define SH_PREFIX kept
#define SH_ELEMENT_TYPE KeptValue
#define SH_KEY_TYPE Datum
#define SH_KEY value
#define SH_HASH_KEY(table, key) datum_image_hash(key, TYPE_OF_TABLE(table)->by_value, TYPE_OF_TABLE(table)->length)
#define SH_EQUAL(table, a, b) datum_image_eq(a, b, TYPE_OF_TABLE(table)->by_value, TYPE_OF_TABLE(table)->length)
#define SH_STORE_HASH
#define SH_GET_HASH(table, element) (element)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* How a set is collected. */
typedef struct Collector
{
	ExprState  *expression;

	/* for a set of hashes */
	ItemHasher *hasher;
	sb_hash_set found;
	bool		has_room;		/* memory was allocated for `found` */

	/* for a set of values */
	KeptType	type;
	kept_hash  *kept;			/* NULL before the first value */
	Size		bytes;			/* what all values take */
} Collector;

typedef struct JoinKeysState
{
	CustomScanState css;
	bool		stands_aside;	/* it only passes rows on */
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
		collector->kept = NULL; /* its memory was freed with the context */
		collector->bytes = 0;
		set->hashes = NULL;
		set->values = NULL;
		set->count = 0;
		set->given_up = set->too_large = false;
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

/* Copies a value into the current memory context, and detoasts it. */
static Datum
copy_value(const KeptType *type, Datum value)
{
	if (type->length == -1)
		return PointerGetDatum(PG_DETOAST_DATUM_COPY(value));
	return datumCopy(value, type->by_value, type->length);
}

/*
 * Adds a value to the values that are kept. Gives the set up if it has too many values, or if its values take too much
 * memory. A value that exceeds the memory limit by itself is not detoasted at all.
 */
static void
add_value(JoinKeysState *state, Collector *collector, JoinKeySet *set, Datum value)
{
	MemoryContext caller;
	KeptValue  *kept;
	bool		is_there;

	if (collector->type.length == -1 && toast_raw_datum_size(value) > JOIN_MOST_VALUE_BYTES)
	{
		set->given_up = set->too_large = true;
		return;
	}
	caller = MemoryContextSwitchTo(state->keys.context);
	if (collector->kept == NULL)
		collector->kept = kept_create(state->keys.context, FIRST_ROOM, &collector->type);
	kept = kept_insert(collector->kept, value, &is_there);
	if (!is_there)
	{
		kept->value = copy_value(&collector->type, value);
		collector->bytes += collector->type.by_value ? sizeof(Datum) :
			datumGetSize(kept->value, false, collector->type.length);
		set->too_large = collector->bytes > JOIN_MOST_VALUE_BYTES;
		set->given_up = set->too_large || collector->kept->members > JOIN_MOST_VALUES;
	}
	MemoryContextSwitchTo(caller);
}

static void
collect(JoinKeysState *state, TupleTableSlot *row)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	MemoryContext caller = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	bool		collects = false;

	econtext->ecxt_outertuple = row;
	for (int i = 0; i < state->keys.count; i++)
	{
		JoinKeySet *set = &state->keys.sets[i];
		Datum		value;
		bool		isnull;

		if (set->given_up)
			continue;
		value = ExecEvalExpr(state->collectors[i].expression, econtext, &isnull);
		if (!isnull && set->keeps_values)
			add_value(state, &state->collectors[i], set, value);
		else if (!isnull)
			add_key(state, &state->collectors[i], set, value);
		collects |= !set->given_up;
	}
	state->collects = collects;
	MemoryContextSwitchTo(caller);
	ResetExprContext(econtext);
}

/* Gives a set the values that were kept. */
static void
take_values(Collector *collector, JoinKeySet *set)
{
	kept_iterator iterator;
	KeptValue  *kept;

	set->values = palloc(collector->kept->members * sizeof(Datum));
	kept_start_iterate(collector->kept, &iterator);
	while ((kept = kept_iterate(collector->kept, &iterator)) != NULL)
		set->values[set->count++] = kept->value;
}

/* Called when all rows were seen: puts the hashes or values into the sets, and marks the keys as complete. */
static void
end_collecting(JoinKeysState *state)
{
	JoinKeys   *keys = &state->keys;
	MemoryContext caller = MemoryContextSwitchTo(keys->context);

	for (int i = 0; i < keys->count && !keys->complete; i++)
	{
		Collector  *collector = &state->collectors[i];
		JoinKeySet *set = &keys->sets[i];

		if (collector->kept != NULL && !set->given_up)
			take_values(collector, set);
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
	List	   *numbers = list_nth(plan->custom_private, JOIN_KEYS_EXPRESSIONS);
	List	   *types = list_nth(plan->custom_private, JOIN_KEYS_TYPES);
	List	   *collations = list_nth(plan->custom_private, JOIN_KEYS_COLLATIONS);
	List	   *kept = list_nth(plan->custom_private, JOIN_KEYS_KEPT);
	JoinKeys   *keys = &state->keys;

	keys->count = list_length(numbers);
	keys->sets = palloc0(keys->count * sizeof(JoinKeySet));
	state->collectors = palloc0(keys->count * sizeof(Collector));
	for (int i = 0; i < keys->count; i++)
	{
		keys->sets[i].type = list_nth_oid(types, i);
		keys->sets[i].collation = list_nth_oid(collations, i);
		keys->sets[i].keeps_values = list_nth_int(kept, i) != 0;
		if (keys->sets[i].keeps_values)
			get_typlenbyval(keys->sets[i].type, &state->collectors[i].type.length,
							&state->collectors[i].type.by_value);
		state->collectors[i].expression = ExecInitExpr(list_nth(plan->custom_exprs, list_nth_int(numbers, i)),
													   &state->css.ss.ps);
	}
}

static void
join_keys_begin(CustomScanState *node, EState *estate, int eflags)
{
	JoinKeysState *state = (JoinKeysState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	int			parameter = linitial_int(list_nth(plan->custom_private, JOIN_KEYS_PARAMETER));

	outerPlanState(node) = ExecInitNode(outerPlan(plan), estate, eflags);
	/* the rows are passed on in the slots of the node below */
	node->ss.ps.resultopsset = true;
	node->ss.ps.resultops = ExecGetResultSlotOps(outerPlanState(node), &node->ss.ps.resultopsfixed);

	state->stands_aside = !join_skip_enabled || finished_nodes_stand_aside(estate);
	if (state->stands_aside)
		return;
	state->memory = memory_in(estate->es_query_cxt);
	state->keys.plan = plan;
	state->keys.context = AllocSetContextCreate(estate->es_query_cxt, "keys of a join", ALLOCSET_SMALL_SIZES);
	read_sets(state, plan);
	begin_collecting(state);
	estate->es_param_exec_vals[parameter].value = PointerGetDatum(&state->keys);
	estate->es_param_exec_vals[parameter].isnull = false;
}

static TupleTableSlot *
join_keys_next(CustomScanState *node)
{
	JoinKeysState *state = (JoinKeysState *) node;
	TupleTableSlot *row = ExecProcNode(outerPlanState(node));

	if (state->stands_aside)
		return row;
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

	if (!state->stands_aside)
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

/* ---------------------------------------------------------------------- explaining */

static char *
key_text(const CustomScan *plan, int set, List *context)
{
	int			number = list_nth_int(list_nth(plan->custom_private, JOIN_KEYS_EXPRESSIONS), set);

	return deparse_expression(list_nth(plan->custom_exprs, number), context, true, false);
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
	if (set->too_large)
		return psprintf("given up, more than %d kB", JOIN_MOST_VALUE_BYTES / 1024);
	if (set->given_up)
		return psprintf("given up, more than %d", set->keeps_values ? JOIN_MOST_VALUES : JOIN_MOST_KEYS);
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
	List	   *context;
	List	   *texts = NIL;
	List	   *counts = NIL;
	JoinUse		use = {0};
	StringInfoData because;

	if (state->stands_aside)
		return;
	context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
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
	if (es->verbose && list_nth(plan->custom_private, JOIN_KEYS_NO_PARTITION_SCAN) != NIL)
		ExplainPropertyText("No PartitionScan Because",
							strVal(linitial(list_nth(plan->custom_private, JOIN_KEYS_NO_PARTITION_SCAN))), es);
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
