/*
 * partition_scan_exec.c: executes the node PartitionScan.
 *
 * The argument is the right side of the comparison that indexes are asked about. It is evaluated when the first row is
 * wanted, unless all partitions are pruned then. It is evaluated again only if a parameter has changed on which the
 * argument, or a value that prunes partitions, depends. Until then the node keeps its ChunkScan (chunk_scan.h) over
 * rescans, and does not ask again about partitions that were left alone. If the keys of a hash join take the place of
 * the argument, they are chosen before the first row of each scan, and other keys end the ChunkScan, too.
 */
#include "chunks/partition_scan.h"

#include "catalog/pg_class.h"
#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"

#include "chunks/chunk_conditions.h"
#include "chunks/chunk_scan.h"
#include "chunks/chunk_summary.h"
#include "chunks/join_keys.h"
#include "chunks/partitions_in_use.h"

typedef struct PartitionScanState
{
	CustomScanState css;
	Expr	   *comparison;		/* the comparison to ask indexes about; its Vars refer to the node's tuples */
	ExprState  *argument;		/* its right side; NULL if the node waits for the keys of a join */
	List	   *keys;			/* where the keys come from, as in PARTITION_SCAN_KEYS */
	List	   *pruning;		/* conditions by which partitions are pruned */
	List	   *pruning_values; /* ExprStates of their right sides */
	Bitmapset  *late;			/* numbers of those in `pruning` whose values are known only when a scan begins */
	Bitmapset  *parameters;		/* the parameters on which the argument and the values depend */
	ChunkConditions conditions; /* the other conditions, tested in the partitions */
	Oid			user;			/* the owner of the view through which the table is read; InvalidOid: there is none */
	List	   *tables;			/* the partitioned tables below the parent that the plan has, sorted by OID */
	int			count;			/* how many leaf partitions the plan has */
	Oid		   *partitions;
	int			left_count;		/* how many partitions prune_early() has left */
	Oid		   *left;
	int64		pruned;			/* partitions that were pruned, added up over all ChunkScans that were begun */

	MemoryContext context;		/* in which the scan lives */
	bool		begun;			/* there is a scan */
	bool		decided;		/* the keys for the scan that is running were chosen */
	const JoinKeySet *set;		/* the set of keys that indexes are asked about; NULL: none */
	uint64		collection;		/* JoinKeys.collection when the set was chosen */
	ChunkScan	scan;
	ChunkReader reader;
	ChunkCounts counts;			/* of the scans that have ended */
} PartitionScanState;

static Node *partition_scan_create(CustomScan *plan);
static void partition_scan_begin(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *partition_scan_exec(CustomScanState *node);
static void partition_scan_end(CustomScanState *node);
static void partition_scan_rescan(CustomScanState *node);
static void partition_scan_show(CustomScanState *node, List *ancestors, ExplainState *es);

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
	.ExplainCustomScan = partition_scan_show,
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

/* --------------------------------------------------------------------- beginning */

/* The right side of the comparison. */
static Expr *
argument_of(Expr *comparison)
{
	return lsecond(IsA(comparison, OpExpr) ? ((OpExpr *) comparison)->args : ((ScalarArrayOpExpr *) comparison)->args);
}

/*
 * Reads the partitions from the range table. They have entries there so that they are locked before the snapshot is
 * taken.
 */
static void
find_partitions(PartitionScanState *state, List *entries)
{
	int			first = linitial_int(entries);
	int			tables = lthird_int(entries);
	List	   *range_table = state->css.ss.ps.state->es_range_table;

	state->count = lsecond_int(entries);
	state->partitions = palloc(state->count * sizeof(Oid) + 1);
	for (int i = 0; i < state->count; i++)
		state->partitions[i] = rt_fetch(first + i, range_table)->relid;
	for (int i = 0; i < tables; i++)
		state->tables = lappend_oid(state->tables, rt_fetch(first - tables + i, range_table)->relid);
	list_sort(state->tables, list_oid_cmp);
}

static void
prepare_pruning(PartitionScanState *state, List *conditions)
{
	ListCell   *cell;

	state->pruning = conditions;
	foreach(cell, conditions)
	{
		Expr	   *value = argument_of(lfirst(cell));
		Bitmapset  *parameters = NULL;

		chunk_find_parameters((Node *) value, &parameters);
		if (parameters != NULL)
			state->late = bms_add_member(state->late, foreach_current_index(cell));
		state->pruning_values = lappend(state->pruning_values, ExecInitExpr(value, &state->css.ss.ps));
		chunk_find_parameters((Node *) value, &state->parameters);
	}
}

/* Returns the user as whom the statement reads the table; InvalidOid: the current user. */
static Oid
user_of(const EState *estate, const CustomScan *plan)
{
	RangeTblEntry *rte = rt_fetch(plan->scan.scanrelid, estate->es_range_table);

#if PG_VERSION_NUM >= 160000
	return rte->perminfoindex == 0 ? InvalidOid : getRTEPermissionInfo(estate->es_rteperminfos, rte)->checkAsUser;
#else
	return rte->checkAsUser;
#endif
}

/* Returns the value of a comparison's right side. REQUIRES: the memory context is the scan's, which keeps the value. */
static Const *
evaluate(PartitionScanState *state, Expr *comparison, ExprState *right)
{
	Node	   *argument = (Node *) argument_of(comparison);
	Const	   *value = makeNullConst(exprType(argument), exprTypmod(argument), exprCollation(argument));

	value->constvalue = ExecEvalExprSwitchContext(right, state->css.ss.ps.ps_ExprContext, &value->constisnull);
	if (!value->constisnull)
		value->constvalue = datumCopy(value->constvalue, value->constbyval, value->constlen);
	else
		value->constvalue = (Datum) 0;
	return value;
}

/* Returns a copy of a comparison with the parent's column on the left side and the value on the right side. */
static Expr *
comparison_on_parent(PartitionScanState *state, Expr *comparison, Const *value)
{
	List	   *sides;

	comparison = copyObject(comparison);
	sides = IsA(comparison, OpExpr) ? ((OpExpr *) comparison)->args : ((ScalarArrayOpExpr *) comparison)->args;
	lsecond(sides) = value;
	linitial(sides) = chunk_adapt_condition(linitial(sides), &state->conditions);
	return comparison;
}

/* Values of the conditions that prune partitions. Each is evaluated when it is first needed. */
typedef struct PruningValues
{
	PartitionScanState *state;
	bool		early;			/* only values that are the same in all scans are evaluated */
	Const	  **values;
} PruningValues;

/*
 * Returns the value on the right side of a condition, by the condition's number in state->pruning, or a NULL pointer if
 * it is not known yet. (This function is a PartitionScanValue.)
 */
static Const *
value_for_pruning(void *argument, int number)
{
	PruningValues *pruning = argument;

	if (pruning->early && bms_is_member(number, pruning->state->late))
		return NULL;
	if (pruning->values[number] == NULL)
		pruning->values[number] = evaluate(pruning->state, list_nth(pruning->state->pruning, number),
										   list_nth(pruning->state->pruning_values, number));
	return pruning->values[number];
}

/*
 * Prunes partitions[], which has `of` elements. Puts the partitions that are left into left[], and returns their
 * number. If `early` is true, prunes only by values that are the same in all scans. REQUIRES: the memory context is
 * the scan's; unless `early` is true, the parameters in the pruning conditions have their values.
 */
static int
partitions_left(PartitionScanState *state, bool early, const Oid *partitions, int of, Oid *left)
{
	PruningValues pruning = {state, early, palloc0(list_length(state->pruning) * sizeof(Const *))};
	List	   *comparisons = copyObject(state->pruning);
	List	   *ruled_out;
	ListCell   *cell;
	int			count = 0;

	foreach(cell, comparisons)
	{
		OpExpr	   *comparison = lfirst_node(OpExpr, cell);

		linitial(comparison->args) = chunk_adapt_condition(linitial(comparison->args), &state->conditions);
	}
	ruled_out = partition_scan_ruled_out(state->conditions.parent, state->tables, comparisons, value_for_pruning,
										 &pruning);
	for (int i = 0; i < of; i++)
		if (!chunk_oids_contain(ruled_out, partitions[i]))
			left[count++] = partitions[i];
	return count;
}

/*
 * When the execution begins, prunes by the values that are the same in all scans, as PostgreSQL does. The partitions
 * that are ruled out here are not in use by the query: the session that runs the query may drop them.
 */
static void
prune_early(PartitionScanState *state)
{
	MemoryContext caller;

	if (list_length(state->pruning) == bms_num_members(state->late))
		return;
	state->left = palloc(state->count * sizeof(Oid) + 1);
	caller = MemoryContextSwitchTo(state->context);
	state->left_count = partitions_left(state, true, state->partitions, state->count, state->left);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(state->context);
}

/*
 * Notes that the query uses its partitions (partitions_in_use.h). If scans prune by values of their own, the query
 * uses the partitioned tables below the parent too: their partitions must keep their bounds until the execution ends.
 * (The parent itself is in use because the executor has opened it.)
 */
static void
enter_in_use(PartitionScanState *state)
{
	int			count = state->left_count;
	Oid		   *used = palloc((count + list_length(state->tables)) * sizeof(Oid) + 1);
	ListCell   *cell;

	memcpy(used, state->left, count * sizeof(Oid));
	if (state->late != NULL)
		foreach(cell, state->tables)
			used[count++] = lfirst_oid(cell);
	partitions_in_use_begin(state->css.ss.ps.state->es_query_cxt, used, count);
}

static void
partition_scan_begin(CustomScanState *node, EState *estate, int eflags)
{
	PartitionScanState *state = (PartitionScanState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;

	state->comparison = list_nth(plan->custom_exprs, PARTITION_SCAN_ASKED);
	state->keys = list_nth(plan->custom_private, PARTITION_SCAN_KEYS);
	if (!IsA(argument_of(state->comparison), CaseTestExpr))
		state->argument = ExecInitExpr(argument_of(state->comparison), &node->ss.ps);
	chunk_find_parameters((Node *) argument_of(state->comparison), &state->parameters);
	prepare_pruning(state, list_nth(plan->custom_exprs, PARTITION_SCAN_PRUNING));
	chunk_conditions_begin(&state->conditions, list_nth(plan->custom_exprs, PARTITION_SCAN_CONDITIONS),
						   list_nth(plan->custom_private, PARTITION_SCAN_COLUMNS), &node->ss.ps);
	find_partitions(state, list_nth(plan->custom_private, PARTITION_SCAN_ENTRIES));
	state->user = user_of(estate, plan);
	state->context = AllocSetContextCreate(estate->es_query_cxt, "PartitionScan", ALLOCSET_DEFAULT_SIZES);
	state->left = state->partitions;
	state->left_count = state->count;
	state->conditions.parent = node->ss.ss_currentRelation;
	if (!sb_is_generic_explain(eflags))
		prune_early(state);
	enter_in_use(state);
}

/* Returns the keys of a set as an array constant; for an empty set a constant that is NULL, which no row matches. */
static Const *
array_of_keys(PartitionScanState *state, const JoinKeySet *set)
{
	Node	   *keys = (Node *) argument_of(state->comparison);
	Const	   *value = makeNullConst(exprType(keys), -1, exprCollation(keys));
	int16		length;
	bool		by_value;
	char		alignment;

	if (set->count == 0)
		return value;
	get_typlenbyvalalign(set->type, &length, &by_value, &alignment);
	value->constvalue = PointerGetDatum(construct_array(set->values, set->count, set->type, length, by_value,
														alignment));
	value->constisnull = false;
	return value;
}

/*
 * Returns the value for the comparison's right side, or a NULL pointer if the node waits for keys and no set was
 * chosen. REQUIRES: the memory context is the scan's.
 */
static Const *
find_value(PartitionScanState *state)
{
	if (state->argument != NULL)
		return evaluate(state, state->comparison, state->argument);
	return state->set != NULL ? array_of_keys(state, state->set) : NULL;
}

/* Prunes by the values of this scan. Finds the comparison's value unless no partition is left. Begins a ChunkScan. */
static void
begin_scan(PartitionScanState *state)
{
	MemoryContext caller = MemoryContextSwitchTo(state->context);
	Const	   *value;
	Oid		   *left;
	int			count;

	left = state->left;
	count = state->left_count;
	if (state->late != NULL && count > 0)
	{
		left = palloc(count * sizeof(Oid) + 1);
		count = partitions_left(state, false, state->left, count, left);
	}
	state->pruned += state->count - count;
	value = count > 0 ? find_value(state) : NULL;
	chunk_scan_begin_locked(&state->scan, state->conditions.parent,
							value != NULL ? comparison_on_parent(state, state->comparison, value) : NULL, value, left,
							count);
	state->begun = true;
	chunk_use_cache(&state->scan);
	state->scan.index_clause.asker.wants_reason = state->css.ss.ps.state->es_instrument != 0;
	memset(&state->reader, 0, sizeof state->reader);
	state->reader.scan = &state->scan;
	state->reader.columns = state->conditions.columns;
	state->reader.user = state->user;
	if (state->conditions.conditions != NIL)
	{
		state->conditions.context = state->scan.query_context;
		state->reader.conditions = chunk_conditions_adapt;
		state->reader.argument = &state->conditions;
	}
	MemoryContextSwitchTo(caller);
}

static void
end_scan(PartitionScanState *state)
{
	if (!state->begun)
		return;
	state->begun = false;
	chunk_read_stop(&state->reader);
	chunk_add_counts(&state->counts, &state->scan.counts);
	chunk_scan_end(&state->scan);
	MemoryContextReset(state->context);
}

/* ------------------------------------------------------------------ keys of a join */

/* Returns what the node JoinKeys with this parameter has collected; NULL if this node only passes rows on. */
static JoinKeys *
collected(const PartitionScanState *state, int parameter)
{
	return (JoinKeys *) DatumGetPointer(state->css.ss.ps.state->es_param_exec_vals[parameter].value);
}

/*
 * Chooses the set of keys for the scan that begins: the smallest one that is complete and was not given up. If the
 * node has kept a ChunkScan that was begun with other keys, ends this ChunkScan.
 */
static void
choose_keys(PartitionScanState *state)
{
	JoinKeySet *best = NULL;
	uint64		collection = 0;

	for (int i = 0; i < list_length(state->keys); i += 2)
	{
		JoinKeys   *keys = collected(state, list_nth_int(state->keys, i));
		JoinKeySet *set = keys != NULL ? &keys->sets[list_nth_int(state->keys, i + 1)] : NULL;

		if (set == NULL)
			continue;
		if (!keys->complete || set->given_up)
			set->use.missing++;
		else if (best == NULL || set->count < best->count)
		{
			best = set;
			collection = keys->collection;
		}
	}
	if (best != NULL)
		best->use.asked++;
	if (best != state->set || collection != state->collection)
		end_scan(state);
	state->set = best;
	state->collection = collection;
}

/* ----------------------------------------------------------------------- running */

/*
 * Returns the next row in the node's slot. The slot has pointers to the values of the row that was read, which are
 * valid until the next row is wanted.
 */
static TupleTableSlot *
next_row(ScanState *node)
{
	PartitionScanState *state = (PartitionScanState *) node;
	TupleTableSlot *slot = ExecClearTuple(node->ss_ScanTupleSlot);
	TupleTableSlot *row;
	Snapshot	snapshot = node->ps.state->es_snapshot;
	bool		other_is_active = !ActiveSnapshotSet() || GetActiveSnapshot() != snapshot;

	/* The scan asks and reads with the active snapshot. So this must be the snapshot of the execution. */
	if (other_is_active)
		PushActiveSnapshot(snapshot);
	if (!state->decided && state->argument == NULL)
		choose_keys(state);
	state->decided = true;
	if (!state->begun)
		begin_scan(state);
	row = chunk_read_next(&state->reader);
	if (other_is_active)
		PopActiveSnapshot();
	if (row == NULL)
		return slot;
	slot_getallattrs(row);
	memcpy(slot->tts_values, row->tts_values, slot->tts_tupleDescriptor->natts * sizeof(Datum));
	memcpy(slot->tts_isnull, row->tts_isnull, slot->tts_tupleDescriptor->natts * sizeof(bool));
	return ExecStoreVirtualTuple(slot);
}

/* EvalPlanQual never calls this, because the node stands only in statements that neither lock nor change rows. */
static bool
recheck_row(ScanState *node, TupleTableSlot *slot)
{
	(void) node;
	(void) slot;
	return true;
}

static TupleTableSlot *
partition_scan_exec(CustomScanState *node)
{
	return ExecScan(&node->ss, next_row, recheck_row);
}

static void
partition_scan_rescan(CustomScanState *node)
{
	PartitionScanState *state = (PartitionScanState *) node;

	ExecScanReScan(&node->ss);
	state->decided = false;
	if (!state->begun)
		return;
	if (bms_overlap(node->ss.ps.chgParam, state->parameters))
		end_scan(state);
	else
		chunk_read_stop(&state->reader);	/* before the next row, the conditions' parameters are evaluated again */
}

static void
partition_scan_end(CustomScanState *node)
{
	end_scan((PartitionScanState *) node);
}

/* -------------------------------------------------------------------- explaining */

/* Returns what the node looks for. Keys of a join are shown as the expressions whose values they are. */
static char *
comparison_text(const PartitionScanState *state, bool prefix, List *ancestors, ExplainState *es)
{
	const ScalarArrayOpExpr *any = (const ScalarArrayOpExpr *) state->comparison;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, state->css.ss.ps.plan, ancestors);
	char	   *column;
	StringInfoData text;

	if (state->argument != NULL)
		return deparse_expression((Node *) any, context, prefix, false);
	column = deparse_expression(linitial(any->args), context, prefix, false);
	initStringInfo(&text);
	for (int i = 0; i < list_length(state->keys); i += 2)
	{
		const JoinKeys *keys = collected(state, list_nth_int(state->keys, i));

		if (keys != NULL)
			appendStringInfo(&text, "%s%s", text.len > 0 ? " or of " : " of ",
							 join_key_text(keys, list_nth_int(state->keys, i + 1), ancestors, es));
	}
	return psprintf("(%s %s ANY (keys%s))", column, get_opname(any->opno), text.data);
}

static void
partition_scan_show(CustomScanState *node, List *ancestors, ExplainState *es)
{
	PartitionScanState *state = (PartitionScanState *) node;
	List	   *entries = list_nth(((CustomScan *) node->ss.ps.plan)->custom_private, PARTITION_SCAN_ENTRIES);
	bool		prefix = es->verbose || list_length(es->rtable) > 1 + lsecond_int(entries) + lthird_int(entries);
	ChunkCounts counts = state->counts;

	ExplainPropertyText("Looks for", comparison_text(state, prefix, ancestors, es), es);
	if (state->conditions.conditions != NIL)
		ExplainPropertyText("Filter in Partitions",
							deparse_expression((Node *) make_ands_explicit(state->conditions.conditions),
											   set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors),
											   prefix, false), es);
	ExplainPropertyInteger("Partitions", NULL, state->count, es);
	if (!es->analyze)
		return;
	if (state->pruning != NIL)
		ExplainPropertyInteger("Partitions Pruned", NULL, state->pruned, es);
	if (state->begun)
		chunk_add_counts(&counts, &state->scan.counts);
	chunk_explain_counts(&counts, es);
}
