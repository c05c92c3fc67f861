/*
 * chunk_skip_keys.c: reads from the plan of a ChunkSkip which indexes are asked about which keys, and which arguments
 * of the keys are known when the execution begins.
 */
#include "chunks/chunk_skip_state.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"

/*
 * Does the expression have a parameter whose value is not known when the execution begins? Only parameters of the
 * statement (PARAM_EXTERN) that have a value are known then.
 */
static bool
has_unknown_parameter(Node *node, ParamListInfo values)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
	{
		const Param *param = (const Param *) node;
		const ParamExternData *value;
		ParamExternData workspace;

		if (param->paramkind != PARAM_EXTERN || values == NULL || param->paramid < 1 ||
			param->paramid > values->numParams)
			return true;
		/*
		 * PL/pgSQL fetches its variables only when they are needed. If a record has no value yet, its fields cannot
		 * be fetched. For such a field, a speculative paramFetch() as here returns no type.
		 */
		if (values->paramFetch != NULL)
			value = values->paramFetch(values, param->paramid, true, &workspace);
		else
			value = &values->params[param->paramid - 1];
		return value->ptype != param->paramtype;
	}
	return expression_tree_walker(node, has_unknown_parameter, values);
}

/*
 * Can the argument be evaluated when the execution begins? This is so for constants, parameters of the statement, and
 * arrays of both: their evaluation cannot fail and calls no function. Anything else must wait, because perhaps no row
 * is ever wanted, and because a plain EXPLAIN begins an execution too.
 */
static bool
is_known(Node *node, ParamListInfo values)
{
	return chunk_is_plain_value(node) && !has_unknown_parameter(node, values);
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
		chunk_find_parameters(lfirst(cell), &argument->parameters);
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

/*
 * Returns for each child why it is read if its indexes are not asked. If an index of the child is asked and does not
 * say no, ask_index() in chunk_skip_ask.c overwrites the child's reason.
 */
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

void
chunk_skip_read_plan(ChunkSkipState *state, const CustomScan *plan)
{
	read_arguments(state, plan->custom_exprs);
	read_indexes(state, plan->custom_private);
	if (state->css.ss.ps.state->es_instrument != 0)
		state->reasons = read_reasons(plan->custom_private, state->children);
}

void
chunk_skip_find_wanted(ChunkSkipState *state)
{
	for (int i = 0; i < state->index_count; i++)
	{
		KeySet	   *set = &state->sets[state->indexes[i].set];

		if (state->place[state->indexes[i].child] < 0 || set->wanted)
			continue;
		set->wanted = true;
		for (int k = 0; k < set->count; k++)
			if (set->arguments[k] >= 0)
				state->arguments[set->arguments[k]].wanted = true;
	}
	for (int i = 0; i < state->argument_count; i++)
		if (state->arguments[i].wanted)
		{
			state->late |= !state->arguments[i].known;
			state->parameters = bms_add_members(state->parameters, state->arguments[i].parameters);
		}
}
