/*
 * skip_ask.c: asks the indexes of a Skip about its keys, and about the keys that hash joins have collected.
 *
 * An argument of a key is evaluated when the first row of a scan is wanted. A constant or a parameter with a value can
 * be evaluated at once. Any other argument may fail or cost something, so it is evaluated only if the table has pages,
 * and if nothing else has ruled the table out. In this way a query raises no error for an empty table or for a scan of
 * which no row is wanted.
 *
 * A thousand partitions are asked by a thousand Skips, mostly about the same values. So the Skips of an execution share
 * their last searches: the values are hashed once.
 */
#include "chunks/skip.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "chunks/join_keys.h"

/* How many searches an execution keeps: as many keys in one OR are shared between partitions. */
#define SEARCHES_KEPT 8

/* A search for keys with these values. */
typedef struct SharedSearch
{
	MemoryContext context;		/* in which all of it lives; NULL: none yet */
	List	   *oids;			/* the lists of a question (enum SkipPrivate) without the index */
	List	   *integers;
	Datum	   *values;			/* one for each key that has an argument */
	ScanKey		entries;
	ChunkAsker	asker;
} SharedSearch;

/* What the Skips of one execution share. */
typedef struct Shared
{
	const EState *estate;
	struct Shared *next;
	MemoryContextCallback forget;
	int			asked;			/* how many Skips have asked so far */
	List	   *nodes;			/* skip_nodes_of() */
	SharedSearch searches[SEARCHES_KEPT];
	int			replaced;		/* the search that was replaced last */
} Shared;

/* All executions that run and have Skips; mostly one. */
static Shared *executions = NULL;

static void
forget_execution(void *ended)
{
	Shared	  **place = &executions;

	while (*place != ended)
		place = &(*place)->next;
	*place = ((Shared *) ended)->next;
}

static Shared *
shared_of(EState *estate)
{
	Shared	   *shared;

	for (shared = executions; shared != NULL; shared = shared->next)
		if (shared->estate == estate)
			return shared;
	shared = MemoryContextAllocZero(estate->es_query_cxt, sizeof(Shared));
	shared->estate = estate;
	shared->next = executions;
	shared->forget = (MemoryContextCallback) {.func = forget_execution, .arg = shared};
	MemoryContextRegisterResetCallback(estate->es_query_cxt, &shared->forget);
	return executions = shared;
}

List *
skip_nodes_of(EState *estate)
{
	return shared_of(estate)->nodes;
}

void
skip_enter_node(SkipState *state)
{
	Shared	   *shared = shared_of(state->css.ss.ps.state);
	MemoryContext caller = MemoryContextSwitchTo(shared->estate->es_query_cxt);

	shared->nodes = lappend(shared->nodes, state);
	MemoryContextSwitchTo(caller);
}

/* ------------------------------------------------------------------------ arguments */

static Node *
argument(const SkipState *state, int number)
{
	return list_nth(((CustomScan *) state->css.ss.ps.plan)->custom_exprs, number);
}

/* Can the argument be evaluated without running anything that may fail? */
static bool
is_at_hand(Node *node, const EState *estate)
{
	ListCell   *cell;

	while (IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	if (IsA(node, ArrayExpr) && !((ArrayExpr *) node)->multidims)
	{
		foreach(cell, ((ArrayExpr *) node)->elements)
			if (!is_at_hand(lfirst(cell), estate))
				return false;
		return true;
	}
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXTERN ||
			estate->es_param_exec_vals[((Param *) node)->paramid].execPlan == NULL;
	return IsA(node, Const);
}

/*
 * Returns those questions, and of the question about an index those keys, whose arguments are at hand. Sets *all to
 * false if something was left out.
 */
static List *
questions_at_hand(const SkipState *state, const List *questions, bool *all)
{
	List	   *result = NIL;
	const ListCell *cell;
	const ListCell *arm;

	foreach(cell, questions)
	{
		const List *question = lfirst(cell);
		List	   *oids = NIL;
		List	   *integers = NIL;
		bool		all_arms = true;

		if (!IsA(linitial(question), OidList))
		{
			foreach(arm, question)
				(void) questions_at_hand(state, lfirst(arm), &all_arms);
			if (all_arms)
				result = lappend(result, (List *) question);
			*all &= all_arms;
			continue;
		}
		for (int key = 0; key * 4 < list_length(lthird(question)); key++)
		{
			const int	number = list_nth_int(lthird(question), key * 4 + 3);

			if (number >= 0 && !is_at_hand(argument(state, number), state->css.ss.ps.state))
			{
				*all = false;
				continue;
			}
			for (int i = 0; i < 3; i++)
				oids = lappend_oid(oids, list_nth_oid(lsecond(question), key * 3 + i));
			for (int i = 0; i < 4; i++)
				integers = lappend_int(integers, list_nth_int(lthird(question), key * 4 + i));
		}
		if (list_length(integers) == list_length(lthird(question)))
			result = lappend(result, (List *) question);
		else if (integers != NIL)
			result = lappend(result, list_make3(linitial(question), oids, integers));
	}
	return result;
}

/* Evaluates an argument, unless this was done in this scan. */
static void
evaluate(SkipState *state, int number)
{
	PlanState  *node = &state->css.ss.ps;
	Node	   *expression = argument(state, number);

	if (state->known[number])
		return;
	state->known[number] = true;
	if (IsA(expression, Const))
	{
		state->values[number] = ((Const *) expression)->constvalue;
		state->isnull[number] = ((Const *) expression)->constisnull;
		return;
	}
	if (state->expressions[number] == NULL)
	{
		MemoryContext caller = MemoryContextSwitchTo(node->state->es_query_cxt);

		state->expressions[number] = ExecInitExpr((Expr *) expression, node);
		MemoryContextSwitchTo(caller);
	}
	state->values[number] = ExecEvalExprSwitchContext(state->expressions[number], node->ps_ExprContext,
													  &state->isnull[number]);
}

/* --------------------------------------------------------------------------- searches */

/* Has the search the values that the arguments of the question have now? */
static bool
is_for_values(const SharedSearch *search, SkipState *state, const List *integers)
{
	for (int i = 3, key = 0; i < list_length(integers); i += 4, key++)
	{
		const int	number = list_nth_int(integers, i);
		int16		length;
		bool		by_value;

		if (number < 0)
			continue;
		get_typlenbyval(exprType(argument(state, number)), &length, &by_value);
		if (!datumIsEqual(search->values[key], state->values[number], by_value, length))
			return false;
	}
	return true;
}

/*
 * The cache remembers only questions with a single key that is not IS NULL. For others there is none.
 */
static void
find_cache(SharedSearch *search, Snapshot snapshot)
{
	const ScanKeyData *entry = search->entries;
	ChunkCacheKey key;

	if (list_length(search->integers) != 4 || (entry->sk_flags & SK_ISNULL) != 0)
		return;
	memset(&key, 0, sizeof key);
	key.column = entry->sk_attno;
	key.any = (entry->sk_flags & SK_SEARCHARRAY) != 0;
	key.operator = entry->sk_func.fn_oid;
	key.collation = entry->sk_collation;
	search->asker.cache = chunk_cache_find(&key, snapshot, &search->asker.number);
}

static void
fill_search(SharedSearch *search, SkipState *state, List *oids, List *integers)
{
	const EState *estate = state->css.ss.ps.state;
	const int	keys = list_length(integers) / 4;
	MemoryContext caller = MemoryContextSwitchTo(search->context);

	search->oids = copyObject(oids);
	search->integers = copyObject(integers);
	search->values = palloc0(keys * sizeof(Datum));
	search->entries = palloc(keys * sizeof(ScanKeyData));
	for (int key = 0; key < keys; key++)
	{
		const QuestionKey of_key = {
			.column = list_nth_int(integers, key * 4),
			.flags = list_nth_int(integers, key * 4 + 1),
			.strategy = list_nth_int(integers, key * 4 + 2),
			.subtype = list_nth_oid(oids, key * 3),
			.collation = list_nth_oid(oids, key * 3 + 1),
			.function = list_nth_oid(oids, key * 3 + 2),
		};
		const int	number = list_nth_int(integers, key * 4 + 3);

		if (number >= 0)
		{
			int16		length;
			bool		by_value;

			get_typlenbyval(exprType(argument(state, number)), &length, &by_value);
			search->values[key] = datumCopy(state->values[number], by_value, length);
		}
		chunk_set_scan_key(&search->entries[key], &of_key, search->values[key]);
	}
	search->asker = (ChunkAsker) {
		.snapshot = estate->es_snapshot,
		.wants_reason = estate->es_instrument != 0,
		.wants_pages = true,
		.search = bf_index_begin_search(search->entries, keys, estate->es_snapshot),
	};
	find_cache(search, estate->es_snapshot);
	MemoryContextSwitchTo(caller);
}

/* Returns a search for the values that the question's arguments have now. NULL: one is NULL, so no row can match. */
static SharedSearch *
find_search(Shared *shared, SkipState *state, const List *question)
{
	List	   *oids = lsecond(question);
	List	   *integers = lthird(question);
	SharedSearch *search;

	for (int i = 3; i < list_length(integers); i += 4)
	{
		const int	number = list_nth_int(integers, i);

		if (number >= 0)
			evaluate(state, number);
		if (number >= 0 && state->isnull[number])
			return NULL;		/* the operator is strict */
	}
	for (int i = 0; i < SEARCHES_KEPT; i++)
	{
		search = &shared->searches[(shared->replaced + i) % SEARCHES_KEPT];
		if (search->context != NULL && equal(search->integers, integers) && equal(search->oids, oids) &&
			is_for_values(search, state, integers))
			return search;
	}
	shared->replaced = (shared->replaced + 1) % SEARCHES_KEPT;
	search = &shared->searches[shared->replaced];
	if (search->context == NULL)
		search->context = AllocSetContextCreate(shared->estate->es_query_cxt, "bf index search", ALLOCSET_SMALL_SIZES);
	else
		MemoryContextReset(search->context);
	search->entries = NULL;
	fill_search(search, state, oids, integers);
	return search;
}

/* ------------------------------------------------------------------------------ pages */

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
	*spans = both;
}

/* Returns the pages that are in one of the two or in both. */
static BfSpans
unite(const BfSpans *a, const BfSpans *b)
{
	BfSpans		both = {0};
	BlockNumber end = 0;		/* all pages before this one were looked at */

	for (uint32 i = 0, k = 0; i < a->count || k < b->count;)
	{
		const BfSpan *span = k == b->count || (i < a->count && a->spans[i].first < b->spans[k].first) ?
			&a->spans[i++] : &b->spans[k++];

		if (span->end > end)
			bf_index_add_span(&both, Max(span->first, end), span->end);
		end = Max(end, span->end);
	}
	return both;
}

static BfSpans
spans_of_few(const BfPages *few)
{
	BfSpans		spans = {0};

	for (uint32 i = 0; i < few->count; i++)
		bf_index_add_span(&spans, few->blocks[i], few->blocks[i] + 1);
	return spans;
}

/* ----------------------------------------------------------------------------- asking */

/*
 * Asks one index about its keys. Returns false if no row can match. Otherwise, and if `left` is not NULL, leaves only
 * those pages in *left that may hold a row.
 */
static bool
ask_index(Shared *shared, SkipState *state, const List *question, BfSpans *left)
{
	SharedSearch *search = find_search(shared, state, question);
	Oid			index = linitial_oid(linitial(question));
	ChunkVerdict verdict;
	BfSpans		spans;

	if (search == NULL)
		return false;
	if (!chunk_ask_memory(&search->asker, index, state->ordinal, pg_nextpower2_32(state->ordinal + 1), &verdict))
		chunk_ask_index(&search->asker, state->css.ss.ss_currentRelation, index, &verdict);
	if (!chunk_is_read(&verdict))
		return false;
	state->why = verdict;
	if (left == NULL || verdict.reason == CHUNK_HAS_NO_INDEX)
		return true;
	if (bf_index_are_few(&search->asker.few))
		spans = spans_of_few(&search->asker.few);
	else if (!chunk_ask_for_pages(&search->asker, state->css.ss.ss_currentRelation, index, &spans))
		return true;
	intersect(left, &spans);
	return left->count > 0;
}

/* Asks all questions in this list, each of which rules out all rows if its answer is no. As ask_index(). */
static bool
ask_all(Shared *shared, SkipState *state, const List *questions, BfSpans *left)
{
	ListCell   *cell;

	foreach(cell, questions)
	{
		const List *question = lfirst(cell);
		BfSpans		of_arms = {0};
		bool		any = false;
		ListCell   *arm;

		if (IsA(linitial(question), OidList))
		{
			if (!ask_index(shared, state, question, left))
				return false;
			continue;
		}
		foreach(arm, question)
		{
			BfSpans		of_arm = left != NULL ? *left : (BfSpans) {0};

			if (!ask_all(shared, state, lfirst(arm), left != NULL ? &of_arm : NULL))
				continue;
			any = true;
			if (left == NULL)
				break;
			of_arms = unite(&of_arms, &of_arm);
		}
		if (!any)
			return false;
		if (left != NULL)
			*left = of_arms;
	}
	return true;
}

/*
 * Asks about the keys that a hash join has collected, unless asking other indexes about them was in vain. What an index
 * has said stays true as long as the keys are of the same collection.
 */
static bool
ask_about_join(SkipState *state, SkipJoin *join, BfSpans *left)
{
	EState	   *estate = state->css.ss.ps.state;
	JoinKeys   *keys = (JoinKeys *) DatumGetPointer(estate->es_param_exec_vals[join->parameter].value);
	JoinKeySet *set = keys != NULL ? &keys->sets[join->set] : NULL;

	if (keys == NULL || !keys->complete || set->given_up)
	{
		if (keys != NULL)
			set->use.missing++;
		return true;
	}
	if (set->count == 0)
		return false;			/* without a key the join returns no row of this table */
	if (join->collection != keys->collection)
	{
		join->collection = keys->collection;
		join->answered = join_keys_ask(keys, set, estate, state->css.ss.ss_currentRelation, join->index, join->column,
									   &join->spans);
	}
	if (!join->answered)
		return true;
	state->why = (ChunkVerdict) {.reason = CHUNK_INDEX_SAYS_MAYBE, .index = join->index};
	if (left == NULL)
		return join->spans.count > 0;
	intersect(left, &join->spans);
	return left->count > 0;
}

bool
skip_ask(SkipState *state)
{
	const CustomScan *plan = (const CustomScan *) state->css.ss.ps.plan;
	EState	   *estate = state->css.ss.ps.state;
	Shared	   *shared = shared_of(estate);
	MemoryContext caller = MemoryContextSwitchTo(estate->es_query_cxt);
	BfSpans    *left = state->by_pages ? &state->left : NULL;
	List	   *questions = list_nth(plan->custom_private, SKIP_QUESTIONS);
	bool		all_at_hand = true;
	bool		result;

	ResetExprContext(state->css.ss.ps.ps_ExprContext);
	if (state->ordinal < 0)
	{
		state->ordinal = shared->asked++;
		state->expressions = palloc0(state->arguments * sizeof(ExprState *));
		state->values = palloc(state->arguments * sizeof(Datum));
		state->isnull = palloc(state->arguments * sizeof(bool));
		state->known = palloc(state->arguments * sizeof(bool));
	}
	memset(state->known, 0, state->arguments * sizeof(bool));
	state->why = (ChunkVerdict) {.reason = CHUNK_IS_NOT_ASKED};
	MemoryContextSwitchTo(state->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);	/* reset before the next scan */
	state->left = (BfSpans) {0};
	if (left != NULL)
		bf_index_add_span(left, 0, InvalidBlockNumber);
	result = ask_all(shared, state, questions_at_hand(state, questions, &all_at_hand), left);
	for (int i = 0; i < state->join_count && result; i++)
		result = ask_about_join(state, &state->joins[i], left);
	if (!all_at_hand && result)
	{
		if (RelationGetNumberOfBlocks(state->css.ss.ss_currentRelation) > 0)
			result = ask_all(shared, state, questions, left);
		else
		{
			PredicateLockRelation(state->css.ss.ss_currentRelation, estate->es_snapshot);
			result = false;
		}
	}
	MemoryContextSwitchTo(caller);
	return result;
}
