/*
 * ask.c: asks the `bf` indexes of a chunk whether it may hold rows that match, and says why the chunk is left alone or
 * read. ask.h has the functions for other files.
 *
 * A *chunk* is a part of a relation that can be read or left alone: mostly a partition of a table. A query for host =
 * 'x' over a thousand partitions reads all of them, if nothing tells PostgreSQL that 'x' is in three of them only. A
 * bf index on the column can tell (../index/handler.c begins with what that is): it says "no" for certain, or "maybe".
 * So chunk_scan() and the plan nodes Skip and PartitionScan ask the indexes of each chunk before they
 * read the chunk. All three do so through this file.
 *
 * There are three ways to ask:
 *
 *  - from memory (chunk_ask_memory()): a session that has asked the index before remembers how (chunk_cache.h), and
 *    looks at its pages without opening the index or the chunk. This takes about half a microsecond if the pages are in
 *    shared buffers. If nothing is remembered that surely holds for the snapshot, the caller takes another way.
 *  - indexes that are opened (chunk_ask_clause()): those of the chunk that can answer a comparison, one after the other
 *    until one says no.
 *  - for the keys of a hash join (join_keys_ask(), in join_keys.c): which pages may have any of them?
 *
 * The nodes have conditions, of which they make questions (chunk_ask()): each comparison in these is asked by itself,
 * in the first two ways. chunk_scan() has one comparison.
 *
 * The answer of the first two is a verdict (ChunkVerdict): is the chunk read, and why? chunk_scan_explain() shows it;
 * EXPLAIN counts chunks by their reasons.
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
 * none, and is not counted as an index scan (clause->explain_only).
 */
#include "chunks/ask.h"

#include "access/attmap.h"
#include "access/parallel.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
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

const char *const chunk_reason_names[CHUNK_REASONS] = {
	[CHUNK_EQUALS_NULL] = "nothing equals NULL",
	[CHUNK_SUMMARY_SAYS_NO] = "its summary says no",
	[CHUNK_INDEX_SAYS_NO] = "the bf index says no",
	[CHUNK_HAS_NO_INDEX] = "no bf index",
	[CHUNK_IS_NOT_ASKED] = "not asked",
	[CHUNK_HAS_NO_SUMMARY] = "no summary",
	[CHUNK_SUMMARY_SAYS_MAYBE] = "its summary says maybe",
	[CHUNK_INDEX_SAYS_MAYBE] = "the bf index says maybe",
	[CHUNK_NOT_SUMMARIZED] = "ranges are not summarized",
};

char *
chunk_reason_text(const ChunkVerdict *verdict)
{
	const char *index = get_rel_name(verdict->index);

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
			return pstrdup(chunk_reason_names[verdict->reason]);
	}
}

char *
chunk_counts_text(const char *const *names, const int64 *counts, int number)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < number; i++)
		if (counts[i] > 0)
			appendStringInfo(&text, "%s%s (" INT64_FORMAT ")", text.len > 0 ? ", " : "", names[i], counts[i]);
	return text.data;
}

/* ------------------------------------------------------------------- asking */

void
chunk_prepare_clause(ChunkClause *clause, Node *node, Datum value)
{
	memset(clause, 0, sizeof *clause);
	clause->clause = node;
	clause->varno = 1;
	clause->value = value;
	clause->by_value = true;	/* the value need not be copied */
	clause->context = AllocSetContextCreate(CurrentMemoryContext, "bf index search", ALLOCSET_SMALL_SIZES);
}

/* How many pages an index is to name. */
static uint64
most_pages(const ChunkClause *clause)
{
	return clause->all_pages ? UINT64_MAX : CHUNK_FEW_PAGES;
}

/* Sets the verdict of an index that has named these pages, and leaves only them in *left, if they are all. */
static void
use_answer(const ChunkClause *clause, Oid index, const BfSpans *pages, ChunkVerdict *verdict, BfSpans *left)
{
	const bool	all = pages->pages <= most_pages(clause);

	*verdict = (ChunkVerdict) {.reason = CHUNK_INDEX_SAYS_MAYBE, .index = index};
	if (pages->count == 0)
		verdict->reason = CHUNK_INDEX_SAYS_NO;
	else if (all && pages->maybe == 0)
	{
		verdict->reason = CHUNK_NOT_SUMMARIZED;
		verdict->unsummarized = pages->unsummarized;
	}
	if (left != NULL && all)
		chunk_intersect(left, pages);
}

bool
chunk_ask_memory(ChunkClause *clause, Oid table, ChunkVerdict *verdict, BfSpans *left)
{
	BfSpans		pages;
	Oid			index;

	clause->cache_key.chunk = table;
	if (!chunk_cache_look_up(&clause->cache_key, clause->cached ? clause->snapshot : NULL, clause->search,
							 most_pages(clause), &pages, &index))
		return false;
	use_answer(clause, index, &pages, verdict, left);
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

/* Prepares to search for the value with this key. If the key is like the last one, the last search is used again. */
static void
set_search(ChunkClause *clause, const QuestionKey *key)
{
	const bool	is_constant = key->argument != NULL && IsA(key->argument, Const);
	MemoryContext caller;

	if (clause->search != NULL && clause->key.column == key->column && clause->key.strategy == key->strategy &&
		clause->key.function == key->function)
		return;
	MemoryContextReset(clause->context);
	caller = MemoryContextSwitchTo(clause->context);
	clause->searched = datumCopy(clause->value, clause->by_value, clause->length);
	/* The constant may be another value: an index may have the comparison as an expression, which is to be true. */
	ScanKeyEntryInitialize(&clause->entry, key->flags, key->column, key->strategy, key->subtype, key->collation,
						   key->function, is_constant ? ((const Const *) key->argument)->constvalue : clause->searched);
	clause->key = *key;
	clause->search = bf_index_begin_search(&clause->entry, 1, clause->snapshot);
	MemoryContextSwitchTo(caller);
}

/*
 * Asks an open index, as chunk_ask_clause(). Unless clause->explain_only is set, this takes the predicate lock that
 * index_beginscan() would take. The lock is taken before the index is searched, so that every insertion from then on
 * meets the lock.
 */
static void
ask_open_index(ChunkClause *clause, Relation heap, Relation index, ChunkVerdict *verdict, BfSpans *left)
{
	BfSpans		pages;

	if (!clause->explain_only)
	{
		PredicateLockRelation(index, clause->snapshot);
		pgstat_count_index_scan(index);
	}
	clause->cache_key.chunk = RelationGetRelid(heap);
	/* the cache does not know which value an expression is compared with */
	chunk_cache_ask(&clause->cache_key,
					clause->cached && index->rd_index->indkey.values[clause->key.column - 1] != 0 ?
					clause->snapshot : NULL, heap, index, clause->search, most_pages(clause), &pages);
	use_answer(clause, RelationGetRelid(index), &pages, verdict, left);
}

void
chunk_ask_clause(ChunkClause *clause, Relation parent, Relation heap, ChunkVerdict *verdict, BfSpans *left)
{
	const Oid	method = bf_index_am_oid();
	AttrMap    *map = sb_build_attrmap_by_name_if_req(RelationGetDescr(heap), RelationGetDescr(parent));
	Node	   *node = clause->clause;
	List	   *indexes = clause->indexes;
	bool		whole_row;
	ListCell   *cell;

	*verdict = (ChunkVerdict) {.reason = CHUNK_HAS_NO_INDEX};
	if (!OidIsValid(method) || !IsMVCCSnapshot(clause->snapshot))
		return;
	if (map != NULL)
		node = map_variable_attnos(node, (int) clause->varno, 0, map, InvalidOid, &whole_row);
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
		if (chunk_find_key(info, clause->varno, node, &key))
		{
			set_search(clause, &key);
			ask_open_index(clause, heap, index, verdict, left);
		}
		relation_close(index, AccessShareLock);
		if (!chunk_is_read(verdict))
			break;
	}
}

/* ------------------------------------------------------ what a node asks about */

void
chunk_exchange_user(ChunkAsking *asking)
{
	const Oid	user = asking->user;
	const int	security = asking->security;

	GetUserIdAndSecContext(&asking->user, &asking->security);
	SetUserIdAndSecContext(user, security);
}

static void
make_part(ChunkAsking *asking, ChunkQuestion *question, Node *clause)
{
	const bool	any = IsA(clause, ScalarArrayOpExpr);
	List	   *sides = any ? ((ScalarArrayOpExpr *) clause)->args :
		IsA(clause, OpExpr) ? ((OpExpr *) clause)->args : NIL;
	Node	   *column = NULL;
	ListCell   *cell;

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
	question->by_value = true;
	foreach(cell, sides)
		if (contain_var_clause(lfirst(cell)))
			column = lfirst(cell);
		else
			question->argument = lfirst(cell);
	if (question->argument == NULL)
		return;
	if (!IsA(question->argument, Const))
		question->state = ExecInitExpr(question->argument, &asking->node->ps);
	get_typlenbyval(exprType((Node *) question->argument), &question->length, &question->by_value);
	column = chunk_without_relabels(column);
	question->cache_key.parent = asking->parent;
	question->cache_key.column = column != NULL && IsA(column, Var) ? ((Var *) column)->varattno : 0;
	question->cache_key.any = any;
	question->cache_key.locked_before = true;
	question->cache_key.operator = any ? ((ScalarArrayOpExpr *) clause)->opno : ((OpExpr *) clause)->opno;
	question->cache_key.collation = exprInputCollation(clause);
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

	if (comparison->evaluated || comparison->argument == NULL)
		return;
	comparison->evaluated = true;
	if (IsA(constant, Const))
	{
		comparison->value = constant->constvalue;
		comparison->isnull = constant->constisnull;
		return;
	}
	caller = MemoryContextSwitchTo(asking->context);
	comparison->value = ExecEvalExprSwitchContext(comparison->state, node->ps_ExprContext, &comparison->isnull);
	if (!comparison->isnull)
		comparison->value = datumCopy(comparison->value, comparison->by_value, comparison->length);
	MemoryContextSwitchTo(caller);
}

/*
 * Returns the search for a comparison. It is used again if it was for the value that the comparison has now, maybe in
 * another node.
 */
static ChunkClause *
find_search(const ChunkAsking *asking, const ChunkQuestion *comparison)
{
	const EState *estate = asking->node->ps.state;
	ChunkClause *search;

	while (list_length(*asking->searches) <= comparison->number)
	{
		MemoryContext caller = MemoryContextSwitchTo(estate->es_query_cxt);

		search = palloc(sizeof(ChunkClause));
		chunk_prepare_clause(search, NULL, 0);
		*asking->searches = lappend(*asking->searches, search);
		MemoryContextSwitchTo(caller);
	}
	search = list_nth(*asking->searches, comparison->number);
	search->cache_key.chunk = InvalidOid;
	if (search->search != NULL &&
		(!OidIsValid(comparison->cache_key.operator) || search->length != comparison->length ||
		 search->by_value != comparison->by_value ||
		 memcmp(&search->cache_key, &comparison->cache_key, sizeof(ChunkCacheKey)) != 0 ||
		 !datumIsEqual(search->searched, comparison->value, search->by_value, search->length)))
		search->search = NULL;
	search->clause = comparison->clause;
	search->varno = ((Scan *) asking->node->ps.plan)->scanrelid;
	search->value = comparison->value;
	search->length = comparison->length;
	search->by_value = comparison->by_value;
	search->indexes = asking->indexes;
	search->snapshot = estate->es_snapshot;
	search->all_pages = asking->all_pages;
	search->cached = comparison->cache_key.column != 0 && chunk_cache_begin(estate->es_snapshot);
	search->cache_key = comparison->cache_key;
	return search;
}

static bool
ask_comparison(ChunkAsking *asking, ChunkQuestion *comparison, Oid oid, ChunkVerdict *why, BfSpans *left)
{
	ChunkVerdict verdict;
	ChunkClause *search;
	Relation	table;

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
	if (!chunk_ask_memory(search, oid, &verdict, left))
	{
		table = table_open(oid, IsParallelWorker() ? AccessShareLock : NoLock);
		chunk_ask_clause(search, asking->node->ss_currentRelation, table, &verdict, left);
		table_close(table, NoLock);
	}
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
