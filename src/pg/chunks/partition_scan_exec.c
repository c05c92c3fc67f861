/*
 * partition_scan_exec.c: executes and explains the node PartitionScan.
 *
 * Before the first row the node prunes, asks about all partitions that are left, and opens those that may hold rows.
 * It opens all of them first if the questions depend on a parameter. So PostgreSQL itself refuses commands of the own
 * session on a partition that may still be read, as it does for the tables of an ordinary plan.
 */
#include "chunks/partition_scan.h"

#include "access/xact.h"
#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "storage/bufmgr.h"
#include "parser/parsetree.h"
#include "storage/lock.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/tuplesort.h"

static Node *partition_scan_create(CustomScan *plan);
static void partition_scan_begin(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *partition_scan_exec(CustomScanState *node);
static void partition_scan_end(CustomScanState *node);
static void partition_scan_rescan(CustomScanState *node);
static void partition_scan_explain(CustomScanState *node, List *ancestors, ExplainState *es);

const CustomScanMethods partition_scan_methods = {
	.CustomName = "PartitionScan",
	.CreateCustomScanState = partition_scan_create,
};

static const CustomExecMethods exec_methods = {
	.CustomName = "PartitionScan",
	.BeginCustomScan = partition_scan_begin,
	.ExecCustomScan = partition_scan_exec,
	.EndCustomScan = partition_scan_end,
	.ReScanCustomScan = partition_scan_rescan,
	.ExplainCustomScan = partition_scan_explain,
};

static Node *
partition_scan_create(CustomScan *plan)
{
	PartitionScanState *state = palloc0(sizeof(PartitionScanState));

	(void) plan;
	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	return (Node *) state;
}

Oid
partition_scan_oid(const PartitionScanState *state, int at)
{
	return exec_rt_fetch(state->first_entry + at, state->css.ss.ps.state)->relid;
}

/* Opens partition number `at`. It stays open until the statement's execution ends. */
static Relation
open_partition(PartitionScanState *state, int at)
{
	return sb_open_range_table_relation(state->css.ss.ps.state, state->first_entry + at);
}

/* --------------------------------------------------------------------------- beginning */

#if PG_VERSION_NUM >= 180000
/* From PostgreSQL 18 on the plans of pruning are in a list of the statement. For this call it has only ours. */
static PartitionPruneState *
init_pruning(PlanState *node, int count, PartitionPruneInfo *info, Bitmapset **left)
{
	EState	   *estate = node->state;
	List	   *infos = estate->es_part_prune_infos;
	List	   *states = estate->es_part_prune_states;
	List	   *results = estate->es_part_prune_results;
	PartitionPruneState *result;

	estate->es_part_prune_infos = list_make1(info);
	estate->es_part_prune_states = estate->es_part_prune_results = NIL;
	ExecDoInitialPruning(estate);
	result = ExecInitPartitionExecPruning(node, count, 0, info->relids, left);
	estate->es_part_prune_infos = infos;
	estate->es_part_prune_states = states;
	estate->es_part_prune_results = results;
	return result;
}
#else
#define init_pruning ExecInitPartitionPruning
#endif

/*
 * Prunes by the values that are the same in all scans. Replaces the node's expression context, so this comes before
 * any expression is compiled.
 */
static void
begin_pruning(PartitionScanState *state, PartitionPruneInfo *plan, int offset)
{
	PartitionPruneInfo *info = copyObject(plan);
	Bitmapset  *left = NULL;
	ListCell   *cell;

	/* the numbers are those of the query, whose range table has become a part of the statement's */
	foreach(cell, info->prune_infos)
	{
		ListCell   *inner;

		foreach(inner, lfirst_node(List, cell))
		{
			PartitionedRelPruneInfo *table = lfirst_node(PartitionedRelPruneInfo, inner);

			table->rtindex += offset;
#if PG_VERSION_NUM >= 180000
			for (int i = 0; i < table->nparts; i++)
				if (table->leafpart_rti_map[i] > 0)
					table->leafpart_rti_map[i] += offset;
#endif
		}
	}
	state->pruning = init_pruning(&state->css.ss.ps, state->count, info, &left);
	state->subplan_count = 0;
	for (int i = -1; (i = bms_next_member(left, i)) >= 0;)
		state->subplans[state->subplan_count++] = i;
	state->parameters = bms_add_members(state->parameters, state->pruning->execparamids);
}

/* ------------------------------------------------------------- changes by the own session */

/*
 * Between its begin and its first row the node has no partition open, so PostgreSQL lets the own session change them:
 * by a function on the outer side of a nested loop, for example. Whoever truncates, drops or rewrites a partition locks
 * it exclusively until the transaction ends. Returns the partitions that the transaction has locked so, of those that
 * early pruning has left.
 */
static Bitmapset *
find_changed(const PartitionScanState *state)
{
	Bitmapset  *changed = NULL;

	if (TransactionIdIsValid(GetTopTransactionIdIfAny()))
		for (int i = 0; i < state->subplan_count; i++)
		{
			const int	at = state->subplans[i];
			LOCKTAG		tag;

			SET_LOCKTAG_RELATION(tag, MyDatabaseId, partition_scan_oid(state, at));
#if PG_VERSION_NUM >= 170000
			if (LockHeldByMe(&tag, AccessExclusiveLock, false))
#else
			if (LockHeldByMe(&tag, AccessExclusiveLock))
#endif
				changed = bms_add_member(changed, at);
		}
	return changed;
}

/* In an ordinary plan the command would have been refused with this error, unless it was LOCK TABLE. */
static void
refuse_changes(const PartitionScanState *state)
{
	Bitmapset  *changed;
	char	   *name;

	/* no command has written since */
	if (state->command == GetCurrentCommandId(false))
		return;
	changed = bms_del_members(find_changed(state), state->changed);
	if (bms_is_empty(changed))
		return;
	name = get_rel_name(partition_scan_oid(state, bms_next_member(changed, -1)));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("partition \"%s\" was changed by this session while a query was to read it",
					name != NULL ? name : "(dropped)"),
			 errhint("Change partitions before or after the query.")));
}

static void
partition_scan_begin(CustomScanState *node, EState *estate, int eflags)
{
	PartitionScanState *state = (PartitionScanState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	const List *numbers = list_nth(plan->custom_private, PARTITION_SCAN_NUMBERS);
	PartitionPruneInfo *pruning = list_nth(plan->custom_private, PARTITION_SCAN_PRUNING);
	int			offset = (int) plan->scan.scanrelid - linitial_int(numbers);

	state->first_entry = lsecond_int(numbers) + offset;
	state->count = lthird_int(numbers);
	state->sort = list_nth(plan->custom_private, PARTITION_SCAN_SORT);
	state->backward = list_nth_int(numbers, 4) != 0;
	state->context = AllocSetContextCreate(estate->es_query_cxt, "PartitionScan", ALLOCSET_SMALL_SIZES);
	state->reading = AllocSetContextCreate(estate->es_query_cxt, "PartitionScan of a partition", ALLOCSET_SMALL_SIZES);
	state->read = palloc(state->count * sizeof(int) + 1);
	state->subplans = palloc(state->count * sizeof(int) + 1);
	state->subplan_count = state->count;
	for (int i = 0; i < state->count; i++)
		state->subplans[i] = i;
	state->command = GetCurrentCommandId(false);
	if (pruning != NULL && (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		begin_pruning(state, pruning, offset);

	/* Rows come in slots of any kind, so what PostgreSQL has compiled for the table's own slots is compiled again. */
	node->ss.ps.resultopsset = node->ss.ps.scanopsset = true;
	node->ss.ps.resultopsfixed = node->ss.ps.scanopsfixed = false;
	node->ss.ps.scanops = NULL;
	node->ss.ps.subPlan = NIL;
	node->ss.ps.qual = ExecInitQual(plan->scan.plan.qual, &node->ss.ps);
	node->ss.ps.ps_ProjInfo = NULL;
	ExecAssignScanProjectionInfoWithVarno(&node->ss, plan->scan.scanrelid);
	state->asking.node = &node->ss;
	state->asking.context = state->context;
	state->asking.searches = &state->searches;
	state->asking.parent = RelationGetRelid(node->ss.ss_currentRelation);
	GetUserIdAndSecContext(&state->asking.user, &state->asking.security);
	chunk_make_question(&state->asking, &state->comparisons, plan->custom_exprs);
	state->question = state->comparisons;
	state->question.count = lfourth_int(numbers);
	/* while these are open PostgreSQL refuses to change them */
	state->changed = find_changed(state);
	for (int at = -1; (at = bms_next_member(state->changed, at)) >= 0;)
		(void) open_partition(state, at);
	state->parameters = bms_add_members(state->parameters, bms_intersect(pull_paramids((Expr *) plan->custom_exprs),
																		 plan->scan.plan.allParam));
}

/* ----------------------------------------------------------------------------- deciding */

/* Opens the partitions that early pruning has left. */
static void
open_all(PartitionScanState *state)
{
	for (int i = 0; i < state->subplan_count; i++)
		(void) open_partition(state, state->subplans[i]);
	state->all_open = true;
}

/* Sets read[] to the partitions that pruning leaves for this scan. */
static void
prune(PartitionScanState *state)
{
	Bitmapset  *left = NULL;
	/* as an Append does, evaluate nothing if early pruning has left nothing */
	bool		again = state->pruning != NULL && state->pruning->do_exec_prune && state->subplan_count > 0;

	if (again)
		left = sb_find_matching_subplans(state->pruning);
	state->read_count = 0;
	for (int i = 0; i < state->subplan_count; i++)
		if (!again || bms_is_member(i, left))
			state->read[state->read_count++] = state->subplans[i];
	bms_free(left);
	state->pruned += state->count - state->read_count;
}

/* Has a partition that may be read any pages? */
static bool
has_pages(PartitionScanState *state)
{
	for (int i = 0; i < state->read_count; i++)
		if (RelationGetNumberOfBlocks(open_partition(state, state->read[i])) > 0)
			return true;
	return false;
}

/* Leaves only those partitions in read[] that may hold rows. Sets because[] to why they are read. */
static void
leave_asked(PartitionScanState *state, int64 *because)
{
	int			count = 0;

	memset(because, 0, CHUNK_REASONS * sizeof(int64));
	/* EXPLAIN says whether ranges are not summarized; otherwise the first pages are enough */
	state->asking.all_pages = state->css.ss.ps.instrument != NULL;
	for (int i = 0; i < state->read_count; i++)
	{
		ChunkVerdict why = {.reason = CHUNK_IS_NOT_ASKED};

		CHECK_FOR_INTERRUPTS();
		if (!chunk_ask(&state->asking, &state->question, partition_scan_oid(state, state->read[i]), &why, NULL))
			continue;
		because[why.reason]++;
		state->read[count++] = state->read[i];
	}
	state->read_count = count;
}

/*
 * Leaves only those partitions in read[] that may hold rows, and opens them. A value whose evaluation may fail is
 * evaluated only if a partition has pages that other values have not ruled out: a query of empty tables raises no error
 * of its values either.
 */
static void
ask(PartitionScanState *state)
{
	MemoryContext caller = MemoryContextSwitchTo(state->context);
	const int	asked = state->question.count > 0 ? state->read_count : 0;
	int64		because[CHUNK_REASONS];

	state->skipped += state->read_count;
	state->asking.may_evaluate = state->asking.left_out = false;
	leave_asked(state, because);
	if (state->asking.left_out && has_pages(state))
	{
		state->asking.may_evaluate = true;
		leave_asked(state, because);
	}
	MemoryContextSwitchTo(caller);
	state->asked += asked;
	state->skipped -= state->read_count;
	for (int i = 0; i < CHUNK_REASONS; i++)
		state->because[i] += because[i];
	for (int i = 0; i < state->read_count; i++)
		(void) open_partition(state, state->read[i]);
}

static void
decide(PartitionScanState *state)
{
	/* a partition that is not open may have been changed since, and may be read now */
	if (!state->all_open)
		refuse_changes(state);
	MemoryContextReset(state->context);
	chunk_forget_values(&state->comparisons);
	/* a rescan may ask another question, and a subquery whose result is wanted now may run commands */
	if (!state->all_open && !bms_is_empty(state->parameters))
		open_all(state);
	prune(state);
	ask(state);
	chunk_forget_hashed(&state->hashed);
	chunk_exchange_user(&state->asking);
	chunk_hash_arrays(&state->hashed, &state->asking, &state->comparisons, &state->css.ss.ps);
	chunk_exchange_user(&state->asking);
	state->decided = true;
}

/* ------------------------------------------------------------------------------ reading */

/* Begins the next partition, or returns false. */
static bool
begin_next(PartitionScanState *state)
{
	int			at = state->backward ? state->read_count - 1 - state->next : state->next;

	if (state->next == state->read_count)
		return false;
	state->next++;
	state->read_total++;
	state->found = false;
	partition_reader_begin(state, open_partition(state, state->read[at]));
	return true;
}

static void
end_partition(PartitionScanState *state)
{
	if (state->reader.partition == NULL)
		return;
	partition_reader_end(state);
	if (state->sorter != NULL)
		tuplesort_end(state->sorter);
	state->sorter = NULL;
}

/* Returns the next row of the partition that satisfies the conditions, or NULL. */
static TupleTableSlot *
next_row(PartitionScanState *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		ResetExprContext(econtext);
		econtext->ecxt_scantuple = partition_reader_next(state);
		if (econtext->ecxt_scantuple == NULL)
		{
			state->in_vain += !state->found;
			return NULL;
		}
		if (ExecQual(state->css.ss.ps.qual, econtext))
		{
			state->found = true;
			return econtext->ecxt_scantuple;
		}
		InstrCountFiltered1(&state->css, 1);
	}
}

/* Sorts the rows of the partition. */
static void
sort(PartitionScanState *state)
{
	const Sort *order = state->sort;
	TupleDesc	descriptor = RelationGetDescr(state->css.ss.ss_currentRelation);
	TupleTableSlot *row;

	state->sorter = tuplesort_begin_heap(descriptor, order->numCols, order->sortColIdx, order->sortOperators,
										 order->collations, order->nullsFirst, work_mem, NULL, TUPLESORT_NONE);
	if (state->sorted == NULL)
		state->sorted = ExecInitExtraTupleSlot(state->css.ss.ps.state, descriptor, &TTSOpsMinimalTuple);
	while ((row = next_row(state)) != NULL)
		tuplesort_puttupleslot(state->sorter, row);
	tuplesort_performsort(state->sorter);
}

static TupleTableSlot *
next_sorted(PartitionScanState *state)
{
	if (state->sorter == NULL)
	{
		MemoryContext caller = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);

		sort(state);
		MemoryContextSwitchTo(caller);
	}
	ResetExprContext(state->css.ss.ps.ps_ExprContext);
	if (!tuplesort_gettupleslot(state->sorter, true, false, state->sorted, NULL))
		return NULL;
	state->sorted->tts_tableOid = RelationGetRelid(state->reader.partition);
	return state->css.ss.ps.ps_ExprContext->ecxt_scantuple = state->sorted;
}

static TupleTableSlot *
partition_scan_exec(CustomScanState *node)
{
	PartitionScanState *state = (PartitionScanState *) node;
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;

	if (!state->decided)
		decide(state);
	for (;;)
	{
		TupleTableSlot *row;

		if (state->reader.partition == NULL && !begin_next(state))
			return projection != NULL ? ExecClearTuple(projection->pi_state.resultslot) : NULL;
		row = state->sort != NULL ? next_sorted(state) : next_row(state);
		if (row != NULL)
			return projection != NULL ? ExecProject(projection) : row;
		end_partition(state);
	}
}

static void
partition_scan_rescan(CustomScanState *node)
{
	PartitionScanState *state = (PartitionScanState *) node;

	ExecScanReScan(&node->ss);
	end_partition(state);
	state->next = 0;
	/* the values may be others, also those of stable functions */
	if (bms_overlap(node->ss.ps.chgParam, state->parameters) ||
		contain_mutable_functions((Node *) ((CustomScan *) node->ss.ps.plan)->custom_exprs))
		state->decided = false;
}

static void
partition_scan_end(CustomScanState *node)
{
	end_partition((PartitionScanState *) node);
}

/* --------------------------------------------------------------------------- explaining */

static void
partition_scan_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	PartitionScanState *state = (PartitionScanState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	List	   *asked = list_truncate(list_copy(plan->custom_exprs), state->question.count);

	if (asked != NIL)
	{
		List	   *context = set_deparse_context_plan(es->deparse_cxt, (Plan *) plan, ancestors);

		ExplainPropertyText("Asks", deparse_expression((Node *) make_ands_explicit(asked), context, es->verbose,
													   false), es);
	}
	if (state->sort != NULL)
		ExplainPropertyText("Order of Partitions", state->backward ? "backward" : "forward", es);
	ExplainPropertyInteger("Partitions", NULL, state->count, es);
	if (!es->analyze)
		return;
	if (state->pruning != NULL)
		ExplainPropertyInteger("Partitions Pruned", NULL, state->pruned, es);
	if (asked != NIL)
	{
		ExplainPropertyInteger("Partitions Asked", NULL, state->asked, es);
		ExplainPropertyInteger("Partitions Skipped", NULL, state->skipped, es);
	}
	ExplainPropertyInteger("Partitions Read", NULL, state->read_total, es);
	if (asked != NIL && state->read_total > 0)
		ExplainPropertyText("Read Because", chunk_counts_text(chunk_reason_names, state->because, CHUNK_REASONS), es);
	ExplainPropertyInteger("Partitions Read in Vain", NULL, state->in_vain, es);
	if (state->hashed.count > 0)
		ExplainPropertyText("Array Tested", "by hash", es);
}
