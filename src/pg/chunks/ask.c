/*
 * ask.c: asks the `bf` indexes of a chunk whether it may hold rows that match, and says why the chunk is left alone or
 * read. ask.h has the functions for other files.
 *
 * A *chunk* is a part of a relation that can be read or left alone: mostly a partition of a table. A query for host =
 * 'x' over a thousand partitions reads all of them, if nothing tells PostgreSQL that 'x' is in three of them only. A
 * bf index on the column can tell (../index/handler.c begins with what that is): it says "no" for certain, or "maybe".
 * So chunk_scan() and the plan nodes Skip and PartitionScan ask the indexes of each chunk before they
 * read the chunk. All four do so through this file.
 *
 * There are three ways to ask:
 *
 *  - from memory (chunk_ask_memory()): a session that has asked the index before remembers how (chunk_cache.h), and
 *    looks at its pages without opening the index or the chunk. This takes about half a microsecond if the pages are in
 *    shared buffers. If nothing is remembered that surely holds for the snapshot, the caller takes one of the other
 *    ways.
 *  - an index that is opened: chunk_ask_index() for Skip, whose plan names the indexes; chunk_ask_clause() for
 *    chunk_scan() and PartitionScan, which have a condition, and find the indexes of each chunk that can answer it.
 *    These are asked one after the other until one says no.
 *  - for the pages (chunk_ask_for_spans()): Skip has many values, the keys of a hash join, and wants to know which
 *    pages may have any of them.
 *
 * The answer of the first two is a verdict (ChunkVerdict): is the chunk read, and why? chunk_scan_explain() shows it;
 * EXPLAIN counts chunks by their reasons. If an index says "maybe" about few pages, asker->few has these pages. For
 * chunk_scan() chunk_look.c looks at them before a query on the chunk is planned.
 *
 * Why a "no" can be relied on. The index tells the truth about what the snapshot sees (../index/README.md), so the
 * caller must have taken the snapshot, and must hold a lock on the table, which keeps its storage from being replaced.
 * (For an answer from memory a lock on the index is enough; chunk_cache.c says why.) An index is asked only if
 * PostgreSQL itself would use it: valid, ready, and old enough for the snapshot (chunk_open_index()). For a snapshot
 * that is not an MVCC snapshot none is asked. Every doubt ends in "maybe": then the chunk is read, and the query's own
 * conditions decide about its rows.
 *
 * In a SERIALIZABLE transaction a "no" is a read, too: a row that another transaction inserts later may contradict it.
 * So the predicate lock of an index scan is taken before the index is searched. What only explains or plans takes
 * none, and is not counted as an index scan (asker->explain_only).
 */
#include "chunks/ask.h"

#include "access/attmap.h"
#include "access/parallel.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "rewrite/rewriteManip.h"
#include "storage/predicate.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "index/functions.h"
#include "index/handler.h"

/* ----------------------------------------------------------------- verdicts */

/*
 * Sets the verdict of an index that says maybe. `unsummarized` is the number of ranges without a summary, if the index
 * says maybe because of these alone (only_unsummarized()). Otherwise it is 0, also if the caller has not asked why.
 */
static void
set_maybe(ChunkVerdict *verdict, Oid index, uint32 unsummarized)
{
	verdict->reason = unsummarized > 0 ? CHUNK_NOT_SUMMARIZED : CHUNK_INDEX_SAYS_MAYBE;
	verdict->index = index;
	verdict->unsummarized = unsummarized;
}

char *
chunk_reason_text(const ChunkVerdict *verdict)
{
	const char *index = OidIsValid(verdict->index) ? get_rel_name(verdict->index) : NULL;

	if (index == NULL)
		index = "";
	switch (verdict->reason)
	{
		case CHUNK_INDEX_SAYS_NO:
			return psprintf("bf index \"%s\" says no", index);
		case CHUNK_INDEX_SAYS_MAYBE:
			return psprintf("bf index \"%s\" says maybe", index);
		case CHUNK_NOT_SUMMARIZED:
			if (verdict->unsummarized == 1)
				return psprintf("1 range of bf index \"%s\" is not summarized", index);
			return psprintf("%u ranges of bf index \"%s\" are not summarized", verdict->unsummarized, index);
		default:
			return pstrdup(chunk_reason_name(verdict->reason));
	}
}

const char *
chunk_reason_name(ChunkReason reason)
{
	switch (reason)
	{
		case CHUNK_EQUALS_NULL:
			return "nothing equals NULL";
		case CHUNK_SUMMARY_SAYS_NO:
			return "its summary says no";
		case CHUNK_INDEX_SAYS_NO:
			return "the bf index says no";
		case CHUNK_HAS_NO_INDEX:
			return "no bf index";
		case CHUNK_IS_NOT_ASKED:
			return "not asked";
		case CHUNK_HAS_NO_SUMMARY:
			return "no summary";
		case CHUNK_SUMMARY_SAYS_MAYBE:
			return "its summary says maybe";
		case CHUNK_INDEX_SAYS_MAYBE:
			return "the bf index says maybe";
		case CHUNK_NOT_SUMMARIZED:
			return "ranges are not summarized";
		case CHUNK_REASONS:
			break;
	}
	return "";					/* not reached */
}

char *
chunk_reasons_text(const int64 *because)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = CHUNK_HAS_NO_INDEX; i < CHUNK_REASONS; i++)
		if (because[i] > 0)
			appendStringInfo(&text, "%s%s (" INT64_FORMAT ")", text.len > 0 ? ", " : "", chunk_reason_name(i),
							 because[i]);
	return text.data;
}

/* ------------------------------------------------------------------- asking */

/*
 * Returns the number of ranges without a summary on which the snapshot may rely (BfVerdict.unsummarized), if all other
 * ranges say no; otherwise 0.
 */
static uint32
only_unsummarized(const BfVerdict *ranges)
{
	return ranges->maybe > 0 ? 0 : (uint32) ranges->unsummarized;
}

bool
chunk_ask_memory(ChunkAsker *asker, Oid chunk, ChunkVerdict *verdict)
{
	Oid			index;

	asker->key.chunk = chunk;
	if (asker->number == 0 ||
		!chunk_cache_look_up(&asker->key, asker->number, asker->search, &asker->few, &index) ||
		!bf_index_are_few(&asker->few))
		return false;
	if (asker->few.count == 0)
		*verdict = (ChunkVerdict) {.reason = CHUNK_INDEX_SAYS_NO, .index = index};
	else
		set_maybe(verdict, index, only_unsummarized(&asker->few.ranges));
	return true;
}

void
chunk_intersect(BfSpans *spans, const BfSpans *other)
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

/* Leaves only the few pages in *left. */
static void
leave_few(BfSpans *left, const BfPages *few)
{
	BfSpans		spans = {0};

	for (uint32 i = 0; i < few->count; i++)
		bf_index_add_span(&spans, few->blocks[i], few->blocks[i] + 1);
	chunk_intersect(left, &spans);
}

/*
 * Asks an open index, as chunk_ask_clause(). Unless asker->explain_only is set, this takes the predicate lock that
 * index_beginscan() would take. The lock is taken before the index is searched, so that every insertion from then on
 * meets the lock.
 */
static void
ask_open_index(ChunkAsker *asker, Relation heap, Relation index, ChunkVerdict *verdict, BfSpans *left)
{
	const Oid	oid = RelationGetRelid(index);
	BfVerdict	ranges = {.maybe = 1};
	BfSpans		spans;
	bool		answer;

	if (!asker->explain_only)
	{
		PredicateLockRelation(index, asker->snapshot);
		pgstat_count_index_scan(index);
	}
	asker->key.chunk = RelationGetRelid(heap);
	if (asker->number != 0)
		answer = chunk_cache_ask(&asker->key, asker->number, heap, index, asker->search, &asker->few);
	else
		answer = bf_index_ask(asker->search, index, heap, &asker->few, NULL);
	if (!answer)
	{
		*verdict = (ChunkVerdict) {.reason = CHUNK_INDEX_SAYS_NO, .index = oid};
		return;
	}
	if (bf_index_are_few(&asker->few))
		ranges = asker->few.ranges;
	else if (asker->wants_reason)
		(void) bf_index_ask(asker->search, index, heap, NULL, &ranges);
	set_maybe(verdict, oid, only_unsummarized(&ranges));
	if (left == NULL)
		return;
	if (bf_index_are_few(&asker->few))
		leave_few(left, &asker->few);
	else if (asker->wants_pages)
	{
		bf_index_find_spans(asker->search, index, heap, &spans);
		chunk_intersect(left, &spans);
	}
}

bool
chunk_ask_for_spans(Snapshot snapshot, BfSearch *search, Relation heap, Oid oid, AttrNumber column,
					BfPatience *patience, BfSpans *spans)
{
	Relation	index = IsMVCCSnapshot(snapshot) ? chunk_open_index(heap, oid, bf_index_am_oid()) : NULL;
	bool		asked;

	if (index == NULL)
		return false;
	PredicateLockRelation(index, snapshot);
	pgstat_count_index_scan(index);
	asked = bf_index_ask_for_spans(search, column, index, heap, patience, spans);
	relation_close(index, AccessShareLock);
	return asked;
}

/* ---------------------------------------------------- one clause, many tables */

void
chunk_prepare_clause(ChunkClause *clause, Node *node, Datum value)
{
	memset(clause, 0, sizeof *clause);
	clause->clause = node;
	clause->varno = 1;
	clause->value = value;
	clause->by_value = true;	/* the value lives as long as the clause */
	clause->context = AllocSetContextCreate(CurrentMemoryContext, "bf index search", ALLOCSET_SMALL_SIZES);
}

/* Are two keys the same, apart from their arguments? */
static bool
are_alike(const QuestionKey *a, const QuestionKey *b)
{
	return a->column == b->column && a->flags == b->flags && a->strategy == b->strategy && a->subtype == b->subtype &&
		a->collation == b->collation && a->function == b->function;
}

/*
 * Prepares the asker to search for the clause's value with this key. If the key is like the last one, the last search
 * is used again.
 */
static void
set_search(ChunkClause *clause, const QuestionKey *key)
{
	const bool	is_constant = key->argument != NULL && IsA(key->argument, Const);
	MemoryContext caller;

	if (clause->asker.search != NULL && are_alike(&clause->key, key))
		return;
	MemoryContextReset(clause->context);
	ScanKeyEntryInitialize(&clause->entry, key->flags, key->column, key->strategy, key->subtype, key->collation,
						   key->function, is_constant ? ((const Const *) key->argument)->constvalue : clause->value);
	clause->key = *key;
	clause->key.argument = NULL;	/* the argument does not live as long as the clause */
	caller = MemoryContextSwitchTo(clause->context);
	if ((key->flags & SK_SEARCHNULL) == 0)
		clause->entry.sk_argument = datumCopy(clause->entry.sk_argument, clause->by_value, clause->length);
	clause->asker.search = bf_index_begin_search(&clause->entry, 1, clause->asker.snapshot);
	MemoryContextSwitchTo(caller);
}

void
chunk_ask_clause(ChunkClause *clause, Relation heap, ChunkVerdict *verdict, BfSpans *left)
{
	Oid			method = bf_index_am_oid();
	List	   *indexes = clause->indexes;
	ListCell   *cell;

	*verdict = (ChunkVerdict) {.reason = CHUNK_HAS_NO_INDEX};
	clause->asker.few.attribute = 0;
	if (!OidIsValid(method) || !IsMVCCSnapshot(clause->asker.snapshot))
		return;
	if (indexes == NIL && heap->rd_rel->relhasindex)
		indexes = RelationGetIndexList(heap);
	foreach(cell, indexes)
	{
		IndexOptInfo *info;
		QuestionKey key;
		Relation	index;

		/* If there is only one index, it is cheaper to open it than to look up its access method first. */
		if (list_length(indexes) > 1 && !chunk_has_method(lfirst_oid(cell), method))
			continue;
		index = chunk_open_index(heap, lfirst_oid(cell), method);
		if (index == NULL)
			continue;
		info = chunk_index_info(index, clause->varno);
		info->predOK = clause->indexes != NIL;
		if (chunk_find_key(info, clause->varno, clause->clause, &key))
		{
			set_search(clause, &key);
			ask_open_index(&clause->asker, heap, index, verdict, left);
		}
		relation_close(index, AccessShareLock);
		if (!chunk_is_read(verdict))
			break;
	}
}

/* ------------------------------------------------------ what a node asks about */

/* Returns what a comparison compares its column with; NULL: nothing that is evaluated. */
static Expr *
argument_of(const Node *clause)
{
	const ListCell *cell;

	if (IsA(clause, ScalarArrayOpExpr))
		return lsecond(((const ScalarArrayOpExpr *) clause)->args);
	if (IsA(clause, OpExpr))
		foreach(cell, ((const OpExpr *) clause)->args)
			if (!contain_var_clause(lfirst(cell)))
				return lfirst(cell);
	return NULL;
}

/* Sets where the cache remembers how indexes are asked about a comparison. */
static void
set_cache_key(ChunkQuestion *comparison, const ChunkAsking *asking)
{
	const bool	any = IsA(comparison->clause, ScalarArrayOpExpr);
	List	   *sides;
	const Node *column;

	if (comparison->argument == NULL)
		return;
	sides = any ? ((ScalarArrayOpExpr *) comparison->clause)->args : ((OpExpr *) comparison->clause)->args;
	column = linitial(sides) == comparison->argument ? lsecond(sides) : linitial(sides);
	while (IsA(column, RelabelType))
		column = (const Node *) ((const RelabelType *) column)->arg;
	comparison->key.parent = RelationGetRelid(asking->node->ss_currentRelation);
	comparison->key.column = IsA(column, Var) ? ((const Var *) column)->varattno : 0;
	comparison->key.any = any;
	comparison->key.locked_before = true;
	comparison->key.operator = any ? ((ScalarArrayOpExpr *) comparison->clause)->opno :
		((OpExpr *) comparison->clause)->opno;
	comparison->key.collation = exprInputCollation(comparison->clause);
}

static void
make_part(ChunkAsking *asking, ChunkQuestion *question, Node *clause)
{
	memset(question, 0, sizeof *question);
	if (is_orclause(clause) || is_andclause(clause))
	{
		chunk_make_question(asking, question, ((BoolExpr *) clause)->args);
		question->combines = ((BoolExpr *) clause)->boolop;
		return;
	}
	question->combines = NOT_EXPR;
	question->clause = clause;
	question->number = asking->comparisons++;
	question->argument = argument_of(clause);
	set_cache_key(question, asking);
}

void
chunk_make_question(ChunkAsking *asking, ChunkQuestion *question, List *conditions)
{
	ListCell   *cell;

	memset(question, 0, sizeof *question);
	question->combines = AND_EXPR;
	question->count = list_length(conditions);
	question->parts = palloc(question->count * sizeof(ChunkQuestion) + 1);
	foreach(cell, conditions)
		make_part(asking, &question->parts[foreach_current_index(cell)], lfirst(cell));
}

void
chunk_forget_values(ChunkQuestion *question)
{
	question->evaluated = false;
	for (int i = 0; i < question->count; i++)
		chunk_forget_values(&question->parts[i]);
}

void
chunk_evaluate(const ChunkAsking *asking, ChunkQuestion *comparison)
{
	PlanState  *node = &asking->node->ps;
	const Const *constant = (const Const *) comparison->argument;
	MemoryContext caller;
	int16		length;
	bool		by_value;

	if (comparison->evaluated || comparison->argument == NULL)
		return;
	comparison->evaluated = true;
	if (IsA(constant, Const))
	{
		comparison->value = constant->constvalue;
		comparison->isnull = constant->constisnull;
		return;
	}
	caller = MemoryContextSwitchTo(node->state->es_query_cxt);
	if (comparison->state == NULL)
		comparison->state = ExecInitExpr(comparison->argument, node);
	MemoryContextSwitchTo(asking->context);
	comparison->value = ExecEvalExprSwitchContext(comparison->state, node->ps_ExprContext, &comparison->isnull);
	get_typlenbyval(exprType((Node *) comparison->argument), &length, &by_value);
	if (!comparison->isnull)
		comparison->value = datumCopy(comparison->value, by_value, length);
	MemoryContextSwitchTo(caller);
}

/* Returns a search for the value that a comparison has now. */
static ChunkClause *
find_search(const ChunkAsking *asking, const ChunkQuestion *comparison)
{
	const EState *estate = asking->node->ps.state;
	const Oid	type = comparison->argument != NULL ? exprType((Node *) comparison->argument) : BOOLOID;
	ChunkClause *search;
	ChunkCacheKey *key;

	while (list_length(*asking->searches) <= comparison->number)
	{
		MemoryContext caller = MemoryContextSwitchTo(estate->es_query_cxt);

		search = palloc(sizeof(ChunkClause));
		chunk_prepare_clause(search, NULL, 0);
		*asking->searches = lappend(*asking->searches, search);
		MemoryContextSwitchTo(caller);
	}
	search = list_nth(*asking->searches, comparison->number);
	key = &search->asker.key;
	if (comparison->argument == NULL || search->type != type || key->operator != comparison->key.operator ||
		key->collation != comparison->key.collation || key->any != comparison->key.any ||
		!datumIsEqual(search->entry.sk_argument, comparison->value, search->by_value, search->length))
		search->asker.search = NULL;
	search->type = type;
	get_typlenbyval(type, &search->length, &search->by_value);
	search->value = comparison->value;
	search->varno = ((Scan *) asking->node->ps.plan)->scanrelid;
	search->indexes = asking->indexes;
	search->asker.snapshot = estate->es_snapshot;
	search->asker.wants_reason = estate->es_instrument != 0;
	search->asker.wants_pages = asking->wants_pages;
	search->asker.key = comparison->key;
	search->asker.number = comparison->key.column != 0 ? chunk_cache_begin(estate->es_snapshot, true) : 0;
	return search;
}

/* Opens a table, and asks about a comparison with the numbers that its columns have there. */
static void
ask_table(const ChunkAsking *asking, ChunkClause *search, Node *clause, Oid oid, ChunkVerdict *verdict, BfSpans *left)
{
	Relation	table = table_open(oid, IsParallelWorker() ? AccessShareLock : NoLock);
	AttrMap    *map = sb_build_attrmap_by_name_if_req(RelationGetDescr(table),
													  RelationGetDescr(asking->node->ss_currentRelation));
	bool		whole_row;

	search->clause = map == NULL ? clause :
		map_variable_attnos(clause, (int) search->varno, 0, map, InvalidOid, &whole_row);
	chunk_ask_clause(search, table, verdict, left);
	table_close(table, NoLock);
}

static bool
ask_comparison(ChunkAsking *asking, ChunkQuestion *comparison, Oid table, ChunkVerdict *why, BfSpans *left)
{
	ChunkVerdict verdict;
	ChunkClause *search;

	if (!asking->may_evaluate && !comparison->evaluated && comparison->argument != NULL &&
		!chunk_is_plain_value((Node *) comparison->argument, asking->node->ps.state))
	{
		asking->left_out = true;
		return true;
	}
	chunk_evaluate(asking, comparison);
	if (comparison->isnull)
		return false;			/* the operator is strict */
	search = find_search(asking, comparison);
	if (!chunk_ask_memory(&search->asker, table, &verdict))
		ask_table(asking, search, comparison->clause, table, &verdict, left);
	else if (left != NULL && chunk_is_read(&verdict))
		leave_few(left, &search->asker.few);
	if (!chunk_is_read(&verdict) || (left != NULL && left->count == 0))
		return false;
	*why = verdict;
	return true;
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

bool
chunk_ask(ChunkAsking *asking, ChunkQuestion *question, Oid table, ChunkVerdict *why, BfSpans *left)
{
	BfSpans		of_arms = {0};
	bool		any = false;

	if (question->combines == NOT_EXPR)
		return ask_comparison(asking, question, table, why, left);
	for (int i = 0; i < question->count; i++)
	{
		BfSpans		of_arm = left != NULL ? *left : (BfSpans) {0};

		if (question->combines == AND_EXPR)
		{
			if (!chunk_ask(asking, &question->parts[i], table, why, left))
				return false;
		}
		else if (chunk_ask(asking, &question->parts[i], table, why, left != NULL ? &of_arm : NULL))
		{
			any = true;
			if (left == NULL)
				break;
			of_arms = unite(&of_arms, &of_arm);
		}
	}
	if (question->combines == OR_EXPR && left != NULL)
		*left = of_arms;
	return question->combines == AND_EXPR || any;
}
