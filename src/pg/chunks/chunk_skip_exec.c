/*
 * exec.c: the node ChunkSkip at work.
 *
 * Keys whose arguments are known when the execution begins (constants and parameters of the statement) are asked then,
 * with the query's snapshot, and only children that may hold rows are initialized: the Append is copied with fewer
 * children. All other arguments are evaluated when the first row of a scan is asked for: those that change (parameters of
 * nested loops, results of subqueries), and those whose evaluation may fail or cost something (casts, functions). The
 * children that cannot hold rows then sit that scan out.
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

#include "chunks/chunk_question.h"

/* The argument of keys, and its value now. */
typedef struct Argument
{
	ExprState  *expression;
	bool		known;			/* when the execution begins */
	Bitmapset  *parameters;		/* that change during the execution */
	Datum		value;
	bool		isnull;
} Argument;

/* A set of keys, for one index or many. */
typedef struct KeySet
{
	int			count;
	QuestionKey *keys;
	int		   *arguments;		/* of each key, -1: none */
	ScanKey		entries;		/* as many as are asked now */
	int			asked;
	BfSearch   *search;			/* for these entries */
	bool		impossible;		/* an argument is NULL: no row can match */
} KeySet;

typedef struct Question
{
	int			child;			/* of the plan */
	Oid			heap;
	Oid			index;
	int			set;
} Question;

typedef struct ChunkSkipState
{
	CustomScanState css;
	bool		stands_aside;
	bool		asks_nothing;	/* a plain EXPLAIN that has no values of parameters, or must not tell of hidden rows */
	int			argument_count;
	Argument   *arguments;
	int			set_count;
	KeySet	   *sets;
	int			question_count;
	Question   *questions;
	int			children;		/* of the plan */
	int		   *place;			/* of each of them in the copy; -1: skipped for good */
	int			kept;			/* children of the copy */
	bool		late;			/* some arguments are not known when the execution begins */
	Bitmapset  *parameters;		/* that the answers depend on */
	bool		to_ask;			/* before the next row */
	bool		nothing;		/* no child has to be read in this scan */

	/* for EXPLAIN */
	bool		asked_at_start;
	int			children_asked; /* how many have a question */
	int64		scans_asked;	/* at run time: scans of children that were asked about, and skipped */
	int64		scans_skipped;
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

/* Collects the parameters that are set during the execution. */
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
 * Can it be evaluated when the execution begins? Only if that cannot fail and calls no function: it may be that no row is
 * ever asked for, and a plain EXPLAIN evaluates it too. Constants, parameters of the statement, and arrays of both.
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

		if (param->paramkind != PARAM_EXTERN || values == NULL || param->paramid < 1 || param->paramid > values->numParams)
			return false;
		/* PL/pgSQL fetches its variables when they are needed, which fails for a field of a record without a value */
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
		set->arguments[foreach_current_index(cell)] = lthird_int(integers);
	}
}

static void
read_questions(ChunkSkipState *state, List *private)
{
	List	   *sets = list_nth(private, CHUNK_SKIP_KEY_SETS);
	List	   *children = list_nth(private, CHUNK_SKIP_CHILDREN);
	List	   *heaps = list_nth(private, CHUNK_SKIP_HEAPS);
	List	   *indexes = list_nth(private, CHUNK_SKIP_INDEXES);
	List	   *question_sets = list_nth(private, CHUNK_SKIP_QUESTION_SETS);
	ListCell   *cell;
	int			last = -1;

	state->set_count = list_length(sets);
	state->sets = palloc0(state->set_count * sizeof(KeySet));
	foreach(cell, sets)
		read_set(&state->sets[foreach_current_index(cell)], lfirst(cell));
	state->question_count = list_length(children);
	state->questions = palloc(state->question_count * sizeof(Question));
	for (int i = 0; i < state->question_count; i++)
	{
		Question   *question = &state->questions[i];

		question->child = list_nth_int(children, i);
		question->heap = list_nth_oid(heaps, i);
		question->index = list_nth_oid(indexes, i);
		question->set = list_nth_int(question_sets, i);
		state->children_asked += question->child != last;
		last = question->child;
	}
}

/* ------------------------------------------------------------------- asking */

/*
 * Evaluates the arguments and sets up the keys of all sets; of those whose arguments are known when the execution
 * begins, or of all. In the memory of the node's expression context. Returns whether there is anything to ask.
 */
static bool
prepare_keys(ChunkSkipState *state, bool all)
{
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

		set->asked = 0;
		set->impossible = false;
		for (int k = 0; k < set->count; k++)
		{
			Argument   *argument = set->arguments[k] < 0 ? NULL : &state->arguments[set->arguments[k]];

			if (argument != NULL && !argument->known && !all)
				continue;
			if (argument != NULL && argument->isnull)
				set->impossible = true; /* as for all index scans, = is strict */
			else
				chunk_set_scan_key(&set->entries[set->asked++], &set->keys[k],
								   argument != NULL ? argument->value : (Datum) 0);
		}
		set->search = bf_index_begin_search(set->entries, set->asked, state->css.ss.ps.state->es_snapshot);
		any |= set->asked > 0 || set->impossible;
	}
	return any;
}

/* May rows of this question's child match the keys that are set up? */
static bool
ask(ChunkSkipState *state, const Question *question)
{
	const KeySet *set = &state->sets[question->set];
	const EState *estate = state->css.ss.ps.state;
	Relation	heap;
	bool		answer;

	if (set->impossible)
		return false;
	if (set->asked == 0)
		return true;
	/* the executor has locked all tables of the plan */
	heap = table_open(question->heap, NoLock);
	answer = chunk_may_match(heap, question->index, set->search, estate->es_snapshot,
							 (estate->es_top_eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0);
	table_close(heap, NoLock);
	return answer;
}

/* Sets place[] and kept by what can be asked now. */
static void
ask_at_start(ChunkSkipState *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	MemoryContext caller = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);

	if (prepare_keys(state, false))
	{
		state->asked_at_start = true;
		for (int i = 0; i < state->question_count; i++)
		{
			const Question *question = &state->questions[i];

			if (state->place[question->child] >= 0 && !ask(state, question))
				state->place[question->child] = -1;
		}
	}
	MemoryContextSwitchTo(caller);
	ResetExprContext(econtext);
	for (int i = 0; i < state->children; i++)
		if (state->place[i] >= 0)
			state->place[i] = state->kept++;
}

/*
 * Asks with all keys about the children that are left, and makes the others sit out: as the core does when it prunes
 * partitions between scans, by the set of valid children.
 */
static void
ask_again(ChunkSkipState *state)
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
	for (int i = 0; i < state->question_count; i++)
	{
		const Question *question = &state->questions[i];
		int			place = state->place[question->child];

		if (place < 0)
			continue;
		state->scans_asked += place != last;
		last = place;
		if (bms_is_member(place, valid) && !ask(state, question))
		{
			valid = bms_del_member(valid, place);
			state->scans_skipped++;
		}
	}
	state->nothing = bms_is_empty(valid);
	if (!state->nothing)
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

/* The Append with the children that are kept. */
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

static void
chunk_skip_begin(CustomScanState *node, EState *estate, int eflags)
{
	ChunkSkipState *state = (ChunkSkipState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	Plan	   *append = outerPlan(plan);

	/* slots are those of the children, of whatever kind */
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
	read_questions(state, plan->custom_private);
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
	state->to_ask = state->late && state->kept > 0;
}

static TupleTableSlot *
chunk_skip_next(CustomScanState *node)
{
	ChunkSkipState *state = (ChunkSkipState *) node;

	if (state->to_ask)
	{
		state->to_ask = false;
		ask_again(state);
	}
	if (state->nothing || outerPlanState(node) == NULL)
		return NULL;
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
		state->to_ask = true;
	/* with changed parameters it is scanned again when it is asked for its next row */
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

/* The columns that the questions are about: "uid", "uid, url". */
static char *
columns_asked(const ChunkSkipState *state)
{
	StringInfoData columns;
	List	   *names = NIL;

	initStringInfo(&columns);
	for (int i = 0; i < state->question_count; i++)
	{
		const KeySet *set = &state->sets[state->questions[i].set];

		for (int k = 0; k < set->count; k++)
		{
			char	   *name = get_attname(state->questions[i].index, set->keys[k].column, true);

			if (name == NULL || list_member(names, makeString(name)))
				continue;
			names = lappend(names, makeString(name));
			appendStringInfo(&columns, "%s%s", columns.len > 0 ? ", " : "", name);
		}
	}
	return columns.data;
}

/* How many of the children that were asked about and read had no row. */
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
	for (int i = 0; i < state->question_count; i++)
	{
		int			place = state->place[state->questions[i].child];
		Instrumentation *run;

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

	(void) ancestors;
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
	if (es->analyze && state->kept > 0)
		ExplainPropertyInteger("Partitions Read in Vain", NULL, read_in_vain(state), es);
}
