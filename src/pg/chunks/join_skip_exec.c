/*
 * join_skip_exec.c: executes the node JoinSkip, which stands above the scan of a table.
 *
 * Hash joins above the node collect the keys of their inner sides in sets (join_keys.h). Before the first row of each
 * scan the node takes the sets that are complete and were not given up, and asks the table's indexes about their keys.
 * A page is *left* if it may hold a row with a key of each set.
 * If no page is left, nothing is read. If fewer than nine in ten pages are left, a sequential scan of a heap reads only
 * these, by *spans* of consecutive pages, one span after the other. Any other scan is read as it is.
 */
#include "chunks/join_skip.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/item.h"
#include "chunks/ask.h"
#include "chunks/finished_plan.h"
#include "chunks/join_keys.h"

/* A set of keys, and what an index of the table said about it. */
typedef struct KeyQuestion
{
	int			parameter;		/* the parameter of its JoinKeys */
	int			set;			/* the number of the set in this JoinKeys */
	Oid			index;
	AttrNumber	column;			/* of the index */
	/* Two numbers of collections (JoinKeys.collection); 0: none. */
	uint64		collection;		/* the one for which ask() was called last, even if ask() passed the index over */
	uint64		decided_by;		/* the one whose keys could be used in the last find_spans() */
	bool		answered;		/* the index has answered: `spans` are the pages that are left */
	BfSpans		spans;

	/* for EXPLAIN ANALYZE, which shows what was read in vain */
	Oid			type;			/* the index hashes the column's values as this type */
	/* the expression that is compared with the keys; its Vars refer to a row of the scan */
	ExprState  *value;
	ItemHasher *hasher;
	const JoinKeySet *tested;	/* the set, if the scan that is running was limited by it */
} KeyQuestion;

typedef struct JoinSkipState
{
	CustomScanState css;
	bool		stands_aside;	/* it only passes rows on */
	int			count;
	KeyQuestion *questions;

	/* the scan that is running */
	bool		decided;
	bool		reads_nothing;
	bool		reads_spans;
	BfSpans		spans;			/* the spans that are left; kept for the next scan */
	BlockNumber pages_decided;	/* the table's number of pages when `spans` was made */
	int			looked_at;		/* how many questions, from the first on, decided `spans`; 0: make `spans` anew */
	uint32		next;			/* the number of the span that is begun next */
	bool		limited;		/* the scan below was limited; after a rescan, too, it begins at its last span */
	ExecProcNodeMtd own;		/* the node's function while pass_on() is called in its place; otherwise NULL */

	/* for EXPLAIN */
	int64		pages;			/* the pages of all scans together */
	int64		pages_skipped;
	int64		pages_in_vain;
	bool		tests;			/* rows are tested, because EXPLAIN ANALYZE shows what is read in vain */
	bool		in_vain;		/* no row of the current span has had a key of each set yet (has_keys()) */
} JoinSkipState;

static Node *join_skip_create(CustomScan *plan);
static void join_skip_begin_scan(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *join_skip_next(CustomScanState *node);
static void join_skip_end(CustomScanState *node);
static void join_skip_rescan(CustomScanState *node);
static void join_skip_explain(CustomScanState *node, List *ancestors, ExplainState *es);

const CustomScanMethods join_skip_scan_methods = {
	.CustomName = "JoinSkip",
	.CreateCustomScanState = join_skip_create,
};

static const CustomExecMethods exec_methods = {
	.CustomName = "JoinSkip",
	.BeginCustomScan = join_skip_begin_scan,
	.ExecCustomScan = join_skip_next,
	.EndCustomScan = join_skip_end,
	.ReScanCustomScan = join_skip_rescan,
	.ExplainCustomScan = join_skip_explain,
};

static Node *
join_skip_create(CustomScan *plan)
{
	JoinSkipState *state = palloc0(sizeof(JoinSkipState));

	(void) plan;
	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	return (Node *) state;
}

static inline ScanState *
scan_below(const JoinSkipState *state)
{
	return (ScanState *) outerPlanState(&state->css.ss.ps);
}

/* Returns what the JoinKeys of the question has collected, or NULL if this JoinKeys only passes rows on. */
static inline JoinKeys *
keys_of(const JoinSkipState *state, const KeyQuestion *question)
{
	return (JoinKeys *) DatumGetPointer(state->css.ss.ps.state->es_param_exec_vals[question->parameter].value);
}

/* -------------------------------------------------------------------------- asking */

/*
 * Asks the index about all keys of the set, unless the index is passed over because asking other indexes about this
 * set was in vain.
 */
static void
ask(JoinSkipState *state, KeyQuestion *question, JoinKeys *keys)
{
	EState	   *estate = state->css.ss.ps.state;
	JoinKeySet *set = &keys->sets[question->set];
	MemoryContext caller;

	question->collection = keys->collection;
	question->answered = false;
	if (bf_index_passes_over(&set->patience))
	{
		set->use.passed_over++;
		return;
	}
	caller = MemoryContextSwitchTo(keys->context);
	if (set->search == NULL)
		set->search = bf_index_begin_hashed_search(set->hashes, set->count, set->collation, estate->es_snapshot);
	MemoryContextSwitchTo(estate->es_query_cxt);
	question->answered = chunk_ask_for_spans(estate->es_snapshot, set->search, scan_below(state)->ss_currentRelation,
											 question->index, question->column, &set->patience, &question->spans);
	MemoryContextSwitchTo(caller);
	if (question->answered)
		set->use.asked++;
	else
		set->use.too_many++;
}

/* Leaves only those pages in *spans that are in *other too. */
static void
intersect(BfSpans *spans, const BfSpans *other)
{
	BfSpans		both = {0};

	for (uint32 i = 0, k = 0; i < spans->count && k < other->count;)
	{
		BlockNumber first = Max(spans->spans[i].first, other->spans[k].first);
		BlockNumber end = Min(spans->spans[i].end, other->spans[k].end);

		if (first < end)
			bf_index_add_span(&both, first, end);
		if (spans->spans[i].end < other->spans[k].end)
			i++;
		else
			k++;
	}
	if (spans->spans != NULL)
		pfree(spans->spans);
	*spans = both;
}

/* Leaves only those pages in *spans that are in the table. */
static void
cut_off(BfSpans *spans, BlockNumber pages)
{
	while (spans->count > 0 && spans->spans[spans->count - 1].end > pages)
	{
		BfSpan	   *last = &spans->spans[spans->count - 1];
		BlockNumber first = Max(last->first, pages);

		spans->pages -= last->end - first;
		last->end = first;
		if (last->first >= last->end)
			spans->count--;
	}
}

/* Returns the JoinKeys.collection of the keys that an index can be asked about now; 0 if there are no such keys. */
static uint64
usable_collection(const JoinSkipState *state, const KeyQuestion *question)
{
	const JoinKeys *keys = keys_of(state, question);

	return keys != NULL && keys->complete && !keys->sets[question->set].given_up ? keys->collection : 0;
}

/* Are the keys and the number of pages those for which `spans` was made? */
static bool
is_as_before(const JoinSkipState *state, BlockNumber pages)
{
	if (state->looked_at == 0 || pages != state->pages_decided)
		return false;
	for (int i = 0; i < state->looked_at; i++)
		if (state->questions[i].decided_by != usable_collection(state, &state->questions[i]))
			return false;
	return true;
}

/* Finds the spans that are left of a table with this number of pages. */
static void
find_spans(JoinSkipState *state, BlockNumber pages)
{
	state->spans.count = state->spans.pages = 0;
	state->pages_decided = pages;
	state->looked_at = 0;
	if (pages > 0)
		bf_index_add_span(&state->spans, 0, pages);
	while (state->looked_at < state->count && state->spans.count > 0)
	{
		KeyQuestion *question = &state->questions[state->looked_at++];
		JoinKeys   *keys = keys_of(state, question);

		question->tested = NULL;
		question->decided_by = usable_collection(state, question);
		if (question->decided_by == 0)
			continue;
		/* Without a key the join returns no outer row. */
		if (keys->sets[question->set].count == 0)
		{
			state->spans.count = state->spans.pages = 0;
			break;
		}
		if (question->collection != keys->collection)
			ask(state, question, keys);
		if (!question->answered)
			continue;
		intersect(&state->spans, &question->spans);
		question->tested = &keys->sets[question->set];
	}
	cut_off(&state->spans, pages);
}

/* Decides what the scan that begins reads. */
static void
decide(JoinSkipState *state)
{
	EState	   *estate = state->css.ss.ps.state;
	Relation	heap = scan_below(state)->ss_currentRelation;
	BlockNumber pages = RelationGetNumberOfBlocks(heap);	/* taken after the snapshot */
	MemoryContext caller = MemoryContextSwitchTo(estate->es_query_cxt);

	if (pages == 0)
		PredicateLockRelation(heap, estate->es_snapshot);	/* the scan below would do so, but it is not begun */
	if (!is_as_before(state, pages))
		find_spans(state, pages);
	for (int i = 0; i < state->looked_at; i++)
	{
		const KeyQuestion *question = &state->questions[i];
		JoinKeys   *keys = keys_of(state, question);

		if (keys != NULL && question->decided_by == 0)
			keys->sets[question->set].use.missing++;
	}
	MemoryContextSwitchTo(caller);

	state->decided = true;
	state->pages += pages;
	state->reads_nothing = state->spans.count == 0;
	state->reads_spans = !state->reads_nothing && IsA(scan_below(state), SeqScanState) &&
		heap->rd_tableam == GetHeapamTableAmRoutine() &&
		state->spans.pages * 10 < (uint64) pages * BF_IN_VAIN_TENTHS;
	if (state->reads_nothing || state->reads_spans)
		state->pages_skipped += pages - (int64) state->spans.pages;
}

/* ---------------------------------------------------------------- reading by spans */

/* Begins a sequential scan as the scan node would, but one that is not synchronized with others. */
static TableScanDesc
begin_limited_scan(ScanState *scan)
{
	const EState *estate = scan->ps.state;

#if PG_VERSION_NUM >= 190000
	return table_beginscan_common(scan->ss_currentRelation, estate->es_snapshot, 0, NULL, NULL,
								  SO_TYPE_SEQSCAN | SO_ALLOW_STRAT | SO_ALLOW_PAGEMODE,
								  (ScanRelIsReadOnly(scan) ? SO_HINT_REL_READ_ONLY : SO_NONE) |
								  ((estate->es_instrument & INSTRUMENT_IO) != 0 ? SO_SCAN_INSTRUMENT : SO_NONE));
#else
	return table_beginscan_strat(scan->ss_currentRelation, estate->es_snapshot, 0, NULL, true, false);
#endif
}

/* Makes the sequential scan read these pages next, from the first one on. */
static void
limit_scan(JoinSkipState *state, BlockNumber first, BlockNumber pages)
{
	ScanState  *scan = scan_below(state);

	/*
	 * A scan that may be synchronized with others cannot be limited. The scan node has begun such a scan if all pages
	 * were read before the last rescan. That scan is ended here, and one that is not synchronized is begun.
	 */
	if (scan->ss_currentScanDesc != NULL && (scan->ss_currentScanDesc->rs_flags & SO_ALLOW_SYNC) != 0)
	{
		table_endscan(scan->ss_currentScanDesc);
		scan->ss_currentScanDesc = NULL;
	}
	if (scan->ss_currentScanDesc == NULL)
		scan->ss_currentScanDesc = begin_limited_scan(scan);
	else
		table_rescan(scan->ss_currentScanDesc, NULL);
	heap_setscanlimits(scan->ss_currentScanDesc, first, pages);
}

/* Called after a span was read: counts its pages if they were read in vain. */
static void
note_span(JoinSkipState *state)
{
	const BfSpan *last = &state->spans.spans[state->next - 1];

	if (state->tests && state->in_vain)
		state->pages_in_vain += last->end - last->first;
}

/* Goes on to the next span; returns false if there is none. */
static bool
begin_span(JoinSkipState *state)
{
	const BfSpan *span;

	if (state->next == state->spans.count)
		return false;
	span = &state->spans.spans[state->next++];
	limit_scan(state, span->first, span->end - span->first);
	state->limited = true;
	state->in_vain = true;
	return true;
}

/* Has the row a key of each set by which the scan was limited? Called for EXPLAIN ANALYZE only. */
static bool
has_keys(JoinSkipState *state, TupleTableSlot *row)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	MemoryContext caller = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	bool		result = true;

	econtext->ecxt_outertuple = row;
	for (int i = 0; i < state->count && result; i++)
	{
		KeyQuestion *question = &state->questions[i];
		Datum		value;
		bool		isnull;
		uint64		hash = 0;

		if (question->tested == NULL)
			continue;
		if (question->hasher == NULL)
			question->hasher = item_hasher_for_index(question->type, question->tested->collation,
													 state->css.ss.ps.state->es_query_cxt);
		value = ExecEvalExpr(question->value, econtext, &isnull);
		if (!isnull)
			hash = item_hash(question->hasher, value);
		result = !isnull && bsearch(&hash, question->tested->hashes, question->tested->count, sizeof hash,
									item_compare_hashes) != NULL;
	}
	MemoryContextSwitchTo(caller);
	ResetExprContext(econtext);
	return result;
}

/* Returns the next row of the spans that are left, or NULL. */
static TupleTableSlot *
next_of_spans(JoinSkipState *state)
{
	for (;;)
	{
		TupleTableSlot *row = state->next == 0 ? NULL : ExecProcNode(outerPlanState(&state->css.ss.ps));

		if (!TupIsNull(row))
		{
			if (state->tests && state->in_vain && has_keys(state, row))
				state->in_vain = false;
			return row;
		}
		if (state->next > 0)
			note_span(state);
		if (!begin_span(state))
		{
			state->reads_spans = false;
			state->reads_nothing = true;
			return NULL;
		}
	}
}

/* ------------------------------------------------------------------------- running */

static void
join_skip_begin_scan(CustomScanState *node, EState *estate, int eflags)
{
	JoinSkipState *state = (JoinSkipState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;

	outerPlanState(node) = ExecInitNode(outerPlan(plan), estate, eflags);
	/* the rows are passed on in the slots of the scan */
	node->ss.ps.resultopsset = true;
	node->ss.ps.resultops = ExecGetResultSlotOps(outerPlanState(node), &node->ss.ps.resultopsfixed);

	state->stands_aside = !join_skip_enabled || finished_nodes_stand_aside(estate);
	if (state->stands_aside)
		return;
	state->tests = estate->es_instrument != 0;
	state->count = list_length(plan->custom_exprs);
	state->questions = palloc0(state->count * sizeof(KeyQuestion));
	for (int i = 0; i < state->count; i++)
	{
		KeyQuestion *question = &state->questions[i];

		question->parameter = list_nth_int(list_nth(plan->custom_private, JOIN_SKIP_PARAMETERS), i);
		question->set = list_nth_int(list_nth(plan->custom_private, JOIN_SKIP_SETS), i);
		question->index = list_nth_oid(list_nth(plan->custom_private, JOIN_SKIP_INDEXES), i);
		question->column = list_nth_int(list_nth(plan->custom_private, JOIN_SKIP_COLUMNS), i);
		question->type = list_nth_oid(list_nth(plan->custom_private, JOIN_SKIP_TYPES), i);
		if (state->tests)
			question->value = ExecInitExpr(list_nth(plan->custom_exprs, i), &node->ss.ps);
	}
}

/*
 * Passes a row on. This function takes the place of the node's own function while the scan below is read as it is,
 * because it is faster: it tests nothing.
 */
static TupleTableSlot *
pass_on(PlanState *node)
{
	return ExecProcNode(outerPlanState(node));
}

static TupleTableSlot *
join_skip_next(CustomScanState *node)
{
	JoinSkipState *state = (JoinSkipState *) node;

	if (!state->decided && !state->stands_aside)
	{
		/* Rescan the scan below now: a rescan after limit_scan() would remove the limits. */
		if (outerPlanState(node)->chgParam != NULL)
			ExecReScan(outerPlanState(node));
		decide(state);
		state->next = 0;
		if (!state->reads_spans && !state->reads_nothing)
		{
			if (state->limited)
				limit_scan(state, 0, InvalidBlockNumber);
			state->own = node->ss.ps.ExecProcNodeReal;
			ExecSetExecProcNode(&node->ss.ps, pass_on);
		}
	}
	if (state->reads_nothing)
		return NULL;
	if (state->reads_spans)
		return next_of_spans(state);
	return ExecProcNode(outerPlanState(node));
}

static void
join_skip_rescan(CustomScanState *node)
{
	JoinSkipState *state = (JoinSkipState *) node;

	state->decided = false;
	if (state->own != NULL)
		ExecSetExecProcNode(&node->ss.ps, state->own);
	state->own = NULL;
	/* If parameters of the scan below have changed, the executor rescans it when the next row is wanted. */
	if (outerPlanState(node)->chgParam == NULL)
		ExecReScan(outerPlanState(node));
}

static void
join_skip_end(CustomScanState *node)
{
	ExecEndNode(outerPlanState(node));
}

/* ---------------------------------------------------------------------- explaining */

static void
join_skip_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	JoinSkipState *state = (JoinSkipState *) node;
	List	   *indexes = NIL;

	for (int i = 0; i < state->count; i++)
	{
		const JoinKeys *keys = keys_of(state, &state->questions[i]);
		const char *name = get_rel_name(state->questions[i].index);

		if (keys != NULL && name != NULL)
			indexes = lappend(indexes, psprintf("%s for %s", name, join_key_text(keys, state->questions[i].set, ancestors, es)));
	}
	if (indexes == NIL)
		return;
	ExplainPropertyList("bf Index", indexes, es);
	if (!es->analyze)
		return;
	ExplainPropertyInteger("Pages", NULL, state->pages, es);
	ExplainPropertyInteger("Pages Skipped", NULL, state->pages_skipped, es);
	ExplainPropertyInteger("Pages Read in Vain", NULL, state->pages_in_vain, es);
}
