/*
 * chunk_skip_exec.c: executes the node ChunkSkip.
 *
 * Some arguments of keys are known when the execution begins: constants and parameters of the statement. The indexes
 * are asked about these keys then, with the query's snapshot. Only children that may hold rows are initialized: the
 * node executes a copy of the Append with fewer children.
 *
 * All other arguments are evaluated when the first row of a scan is wanted: those that change (parameters of nested
 * loops, results of subqueries), and those whose evaluation may fail or cost something (casts, functions). The
 * children that cannot hold rows are then left out of that scan.
 */
#include "chunks/chunk_skip.h"

#include "access/parallel.h"
#include "access/table.h"
#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "executor/executor.h"
#include "executor/instrument.h"
#include "lib/stringinfo.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "chunks/ask.h"

/* An argument of keys, and its current value. */
typedef struct Argument
{
	ExprState  *expression;
	bool		known;			/* it can be evaluated when the execution begins */
	Bitmapset  *parameters;		/* its parameters that change during the execution */
	Datum		value;
	bool		isnull;
} Argument;

/* A set of keys, about which one index or many are asked. */
typedef struct KeySet
{
	int			count;			/* of keys */
	QuestionKey *keys;
	int		   *arguments;		/* of each key; -1: it has none */
	ScanKey		entries;		/* of those keys whose arguments have values now */
	int			entry_count;
	ChunkAsker	asker;			/* asks about the entries */
	bool		impossible;		/* an argument is NULL: no row can match */
} KeySet;

/* An index of a child, and what it is asked. */
typedef struct ChildIndex
{
	int			child;			/* its number in the plan's Append */
	Oid			heap;
	Oid			index;
	int			set;			/* of keys */
} ChildIndex;

typedef struct ChunkSkipState
{
	CustomScanState css;
	bool		stands_aside;	/* it asks nothing, and passes on the rows of the whole Append */
	bool		asks_nothing;	/* a plain EXPLAIN that has no parameter values, or must not tell of hidden rows */
	int			argument_count;
	Argument   *arguments;
	int			set_count;
	KeySet	   *sets;
	int			index_count;
	ChildIndex *indexes;		/* in the order of the children */
	int			children;		/* how many the plan's Append has */
	int		   *place;			/* of each of them in the copy of the Append; -1: it is skipped in this execution */
	int			kept;			/* how many children the copy has */
	bool		late;			/* some arguments are not known when the execution begins */
	Bitmapset  *parameters;		/* on which the answers depend */
	bool		ask_before_next_row;
	bool		no_child_in_scan;	/* no child has to be read in this scan */
	bool		may_hash;		/* arrays have the values of the first scan, and may be tested by hash */
	List	   *hashed;			/* what chunk_skip_hash_arrays() has done */
	ChunkReason *reasons;		/* of each child: why its indexes did not say no; NULL if this is not shown */

	/* for EXPLAIN */
	bool		asked_at_start;
	int			children_asked; /* how many children have an index to ask */
	int64		scans_asked;	/* at run time: how many scans of children the indexes were asked about, */
	int64		scans_skipped;	/* and how many of these scans were skipped */
	int			scans_hashed;	/* how many children test an array by hash */
	int64		because[CHUNK_REASONS]; /* why children were read; at run time: in how many scans */
} ChunkSkipState;

static Node *chunk_skip_create(CustomScan *plan);
static void chunk_skip_begin(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *chunk_skip_next(CustomScanState *node);
static void chunk_skip_end(CustomScanState *node);
static void chunk_skip_rescan(CustomScanState *node);
static void chunk_skip_explain(CustomScanState *node, List *ancestors, ExplainState *es);

const CustomScanMethods chunk_skip_scan_methods = {
	.CustomName = "ChunkSkip",
	.CreateCustomScanState = chunk_skip_create,
};

static const CustomExecMethods exec_methods = {
	.CustomName = "ChunkSkip",
	.BeginCustomScan = chunk_skip_begin,
	.ExecCustomScan = chunk_skip_next,
	.EndCustomScan = chunk_skip_end,
	.ReScanCustomScan = chunk_skip_rescan,
	.ExplainCustomScan = chunk_skip_explain,
};

static Node *
chunk_skip_create(CustomScan *plan)
{
	ChunkSkipState *state = palloc0(sizeof(ChunkSkipState));

	(void) plan;
	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	return (Node *) state;
}

static List *
children_of(Plan *append)
{
	return IsA(append, Append) ? ((Append *) append)->appendplans : ((MergeAppend *) append)->mergeplans;
}

/* ------------------------------------------------------------------ reading the plan */

/* Collects the parameters in an expression that are set during the execution. */
static bool
find_parameters(Node *node, Bitmapset **parameters)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		*parameters = bms_add_member(*parameters, ((Param *) node)->paramid);
	return expression_tree_walker(node, find_parameters, parameters);
}

/*
 * Can the argument be evaluated when the execution begins? This is so for constants, parameters of the statement, and
 * arrays of both: their evaluation cannot fail and calls no function. Anything else must wait, because perhaps no row
 * is ever wanted, and because a plain EXPLAIN begins an execution too.
 */
static bool
is_known(Node *node, ParamListInfo values)
{
	while (IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	if (IsA(node, Const))
		return true;
	if (IsA(node, Param))
	{
		const Param *param = (const Param *) node;
		const ParamExternData *value;
		ParamExternData workspace;

		if (param->paramkind != PARAM_EXTERN || values == NULL || param->paramid < 1 ||
			param->paramid > values->numParams)
			return false;
		/*
		 * PL/pgSQL fetches its variables only when they are needed. This fails for a field of a record without a
		 * value.
		 */
		if (values->paramFetch != NULL)
			value = values->paramFetch(values, param->paramid, true, &workspace);
		else
			value = &values->params[param->paramid - 1];
		return value->ptype == param->paramtype;
	}
	if (IsA(node, ArrayExpr) && !((ArrayExpr *) node)->multidims)
	{
		ListCell   *cell;

		foreach(cell, ((ArrayExpr *) node)->elements)
			if (!is_known(lfirst(cell), values))
				return false;
		return true;
	}
	return false;
}

static void
read_arguments(ChunkSkipState *state, List *expressions)
{
	ParamListInfo values = state->css.ss.ps.state->es_param_list_info;
	ListCell   *cell;

	state->argument_count = list_length(expressions);
	state->arguments = palloc0(Max(state->argument_count, 1) * sizeof(Argument));
	foreach(cell, expressions)
	{
		Argument   *argument = &state->arguments[foreach_current_index(cell)];

		argument->expression = ExecInitExpr(lfirst(cell), &state->css.ss.ps);
		argument->known = is_known(lfirst(cell), values);
		state->late |= !argument->known;
		find_parameters(lfirst(cell), &argument->parameters);
		state->parameters = bms_add_members(state->parameters, argument->parameters);
	}
}

static void
read_set(KeySet *set, List *keys)
{
	ListCell   *cell;

	set->count = list_length(keys);
	set->keys = palloc0(set->count * sizeof(QuestionKey));
	set->arguments = palloc(set->count * sizeof(int));
	set->entries = palloc(set->count * sizeof(ScanKeyData));
	foreach(cell, keys)
	{
		QuestionKey *key = &set->keys[foreach_current_index(cell)];
		List	   *oids = linitial((List *) lfirst(cell));
		List	   *integers = lsecond((List *) lfirst(cell));

		key->subtype = linitial_oid(oids);
		key->collation = lsecond_oid(oids);
		key->function = lthird_oid(oids);
		key->column = linitial_int(integers);
		key->flags = lsecond_int(integers);
		key->strategy = lthird_int(integers);
		set->arguments[foreach_current_index(cell)] = lfourth_int(integers);
	}
}

static void
read_indexes(ChunkSkipState *state, List *private)
{
	List	   *sets = list_nth(private, CHUNK_SKIP_KEY_SETS);
	List	   *children = list_nth(private, CHUNK_SKIP_CHILDREN);
	List	   *heaps = list_nth(private, CHUNK_SKIP_HEAPS);
	List	   *indexes = list_nth(private, CHUNK_SKIP_INDEXES);
	List	   *index_sets = list_nth(private, CHUNK_SKIP_INDEX_SETS);
	ListCell   *cell;
	int			last = -1;

	state->set_count = list_length(sets);
	state->sets = palloc0(state->set_count * sizeof(KeySet));
	foreach(cell, sets)
		read_set(&state->sets[foreach_current_index(cell)], lfirst(cell));
	state->index_count = list_length(children);
	state->indexes = palloc(state->index_count * sizeof(ChildIndex));
	for (int i = 0; i < state->index_count; i++)
	{
		ChildIndex *index = &state->indexes[i];

		index->child = list_nth_int(children, i);
		index->heap = list_nth_oid(heaps, i);
		index->index = list_nth_oid(indexes, i);
		index->set = list_nth_int(index_sets, i);
		state->children_asked += index->child != last;
		last = index->child;
	}
}

/* Why the children are read that are not asked. */
static ChunkReason *
read_reasons(List *private, int children)
{
	ChunkReason *reasons = palloc(children * sizeof(ChunkReason));
	ListCell   *child;
	ListCell   *why;

	for (int i = 0; i < children; i++)
		reasons[i] = CHUNK_HAS_NO_INDEX;
	forboth(child, list_nth(private, CHUNK_SKIP_UNASKED), why, list_nth(private, CHUNK_SKIP_UNASKED_WHY))
		reasons[lfirst_int(child)] = (ChunkReason) lfirst_int(why);
	return reasons;
}

/* ------------------------------------------------------------------- asking */

/* What is remembered of the indexes that were asked about the set's only key. */
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
 * Evaluates arguments and sets up the keys of all sets: all of them, or only those whose arguments are known when the
 * execution begins. Returns whether there is anything to ask. REQUIRES: the current memory context is the per-tuple
 * memory of the node, in which the searches live.
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

		if (all || argument->known)
			argument->value = ExecEvalExpr(argument->expression, econtext, &argument->isnull);
	}
	for (int i = 0; i < state->set_count; i++)
	{
		KeySet	   *set = &state->sets[i];

		set->entry_count = 0;
		set->impossible = false;
		for (int k = 0; k < set->count; k++)
		{
			Argument   *argument = set->arguments[k] < 0 ? NULL : &state->arguments[set->arguments[k]];

			if (argument != NULL && !argument->known && !all)
				continue;
			if (argument != NULL && argument->isnull)
				set->impossible = true; /* the operator = is strict */
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

/* Counts why those children are read that are in the set of places, or all that are kept if it is NULL. */
static void
count_reasons(ChunkSkipState *state, const Bitmapset *valid)
{
	for (int i = 0; state->reasons != NULL && i < state->children; i++)
		if (state->place[i] >= 0 && (valid == NULL || bms_is_member(state->place[i], valid)))
			state->because[state->reasons[i]]++;
}

/* Asks about the arguments that are known when the execution begins, and sets place[] and kept. */
static void
ask_at_start(ChunkSkipState *state)
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

/*
 * Asks with all keys about the children that were kept, and leaves those without matching rows out of the scan that
 * begins. This is done as PostgreSQL does it when it prunes partitions between scans: by the Append's set of valid
 * children.
 */
static void
ask_for_scan(ChunkSkipState *state)
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
		count_reasons(state, valid);
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

/* ------------------------------------------------------------------ running */

/* A copy of the Append that has only the children that are kept. */
static Plan *
with_fewer_children(const ChunkSkipState *state, Plan *append)
{
	List	   *kept = NIL;
	ListCell   *cell;

	foreach(cell, children_of(append))
		if (state->place[foreach_current_index(cell)] >= 0)
			kept = lappend(kept, lfirst(cell));
	if (IsA(append, Append))
	{
		Append	   *copy = memcpy(palloc(sizeof(Append)), append, sizeof(Append));

		copy->appendplans = kept;
		copy->first_partial_plan = list_length(kept);
		return (Plan *) copy;
	}
	else
	{
		MergeAppend *copy = memcpy(palloc(sizeof(MergeAppend)), append, sizeof(MergeAppend));

		copy->mergeplans = kept;
		return (Plan *) copy;
	}
}

/* Is an index asked about an array? */
static bool
has_array(const ChunkSkipState *state)
{
	for (int i = 0; i < state->set_count; i++)
		for (int k = 0; k < state->sets[i].count; k++)
			if ((state->sets[i].keys[k].flags & SK_SEARCHARRAY) != 0)
				return true;
	return false;
}

static void
chunk_skip_begin(CustomScanState *node, EState *estate, int eflags)
{
	ChunkSkipState *state = (ChunkSkipState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	Plan	   *append = outerPlan(plan);

	/* the rows are passed on in the children's slots, which may be of any kind */
	node->ss.ps.resultopsset = true;
	node->ss.ps.resultopsfixed = false;

	state->stands_aside = !chunk_skip_enabled || estate->es_epq_active != NULL || IsParallelWorker() ||
		estate->es_snapshot == NULL || !IsMVCCSnapshot(estate->es_snapshot);
	if (state->stands_aside)
	{
		outerPlanState(node) = ExecInitNode(append, estate, eflags);
		return;
	}

	state->children = list_length(children_of(append));
	state->place = palloc0(state->children * sizeof(int));
	read_arguments(state, plan->custom_exprs);
	read_indexes(state, plan->custom_private);
	if (estate->es_instrument != 0)
		state->reasons = read_reasons(plan->custom_private, state->children);
	state->asks_nothing = (eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0 &&
		linitial_int(list_nth(plan->custom_private, CHUNK_SKIP_GUARDED));
#if PG_VERSION_NUM >= 160000
	state->asks_nothing |= (eflags & EXEC_FLAG_EXPLAIN_GENERIC) != 0;
#endif
	if (state->asks_nothing)
		for (int i = 0; i < state->children; i++)
			state->place[i] = state->kept++;
	else
		ask_at_start(state);
	if (state->kept == state->children)
		outerPlanState(node) = ExecInitNode(append, estate, eflags);
	else if (state->kept > 0)
		outerPlanState(node) = ExecInitNode(with_fewer_children(state, append), estate, eflags);
	state->ask_before_next_row = state->late && state->kept > 0;
	state->may_hash = has_array(state) && !state->asks_nothing;
	if (!state->late)
		count_reasons(state, NULL);
}

static PlanState **
children_below(PlanState *append, int *count)
{
	*count = IsA(append, AppendState) ? ((AppendState *) append)->as_nplans : ((MergeAppendState *) append)->ms_nplans;
	return IsA(append, AppendState) ? ((AppendState *) append)->appendplans : ((MergeAppendState *) append)->mergeplans;
}

/* Has arrays tested by hash (chunk_skip_hash.c). All arguments are evaluated: the indexes were asked about them. */
static void
hash_arrays(ChunkSkipState *state)
{
	const CustomScan *plan = (const CustomScan *) state->css.ss.ps.plan;
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	MemoryContext caller = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	Datum	   *values = palloc(state->argument_count * sizeof(Datum));
	bool	   *isnull = palloc(state->argument_count * sizeof(bool));
	int			count;
	PlanState **children = children_below(outerPlanState(state), &count);

	for (int i = 0; i < state->argument_count; i++)
	{
		isnull[i] = true;
		if (OidIsValid(get_element_type(exprType(list_nth(plan->custom_exprs, i)))))
			values[i] = ExecEvalExprSwitchContext(state->arguments[i].expression, econtext, &isnull[i]);
	}
	state->hashed = chunk_skip_hash_arrays(children, count, plan->custom_exprs, values, isnull, state->hashed);
	state->scans_hashed = list_length(state->hashed);
	pfree(values);
	pfree(isnull);
	MemoryContextSwitchTo(caller);
	ResetExprContext(econtext);
}

static TupleTableSlot *
chunk_skip_next(CustomScanState *node)
{
	ChunkSkipState *state = (ChunkSkipState *) node;

	if (state->ask_before_next_row)
	{
		state->ask_before_next_row = false;
		ask_for_scan(state);
	}
	if (state->no_child_in_scan || outerPlanState(node) == NULL)
		return NULL;
	if (state->may_hash)
	{
		state->may_hash = false;
		hash_arrays(state);
	}
	return ExecProcNode(outerPlanState(node));
}

static void
chunk_skip_rescan(CustomScanState *node)
{
	ChunkSkipState *state = (ChunkSkipState *) node;
	PlanState  *append = outerPlanState(node);

	if (append == NULL)
		return;
	if (bms_overlap(node->ss.ps.chgParam, state->parameters))
	{
		state->ask_before_next_row = true;
		state->may_hash = false;
		chunk_skip_forget_hashed(state->hashed);
		state->hashed = NIL;
	}
	/* If parameters have changed, the executor rescans it when its next row is wanted. */
	if (append->chgParam == NULL)
		ExecReScan(append);
}

static void
chunk_skip_end(CustomScanState *node)
{
	if (outerPlanState(node) != NULL)
		ExecEndNode(outerPlanState(node));
}

/* --------------------------------------------------------------- explaining */

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

/* The number of children that were read although their indexes were asked, and that had no row. */
static int
read_in_vain(const ChunkSkipState *state)
{
	PlanState  *append = outerPlanState(state);
	PlanState **children;
	int			count = 0;
	int			last = -1;

	if (append == NULL)
		return 0;
	children = IsA(append, AppendState) ? ((AppendState *) append)->appendplans :
		((MergeAppendState *) append)->mergeplans;
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

static void
chunk_skip_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	ChunkSkipState *state = (ChunkSkipState *) node;
	List	   *no_partition_scan = list_nth(((CustomScan *) node->ss.ps.plan)->custom_private, CHUNK_SKIP_NO_PARTITION_SCAN);
	char	   *reasons;

	(void) ancestors;
	if (es->verbose && no_partition_scan != NIL)
		ExplainPropertyText("No PartitionScan Because", strVal(linitial(no_partition_scan)), es);
	if (state->stands_aside)
		return;
	ExplainPropertyText("bf Index on", columns_asked(state), es);
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
