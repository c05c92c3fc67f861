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

#include "access/genam.h"
#include "access/relation.h"
#include "lib/stringinfo.h"
#include "pgstat.h"
#include "storage/predicate.h"
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
		case CHUNK_IS_CHEAP:
			return "as cheap to read as to ask";
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
chunk_ask_memory(ChunkAsker *asker, Oid chunk, int at, int count, ChunkVerdict *verdict)
{
	Oid			index;

	if (asker->cache == NULL ||
		!chunk_cache_look_up(asker->cache, asker->number, chunk, at, count, asker->search, &asker->few, &index) ||
		!bf_index_are_few(&asker->few))
		return false;
	if (asker->few.count == 0)
		*verdict = (ChunkVerdict) {.reason = CHUNK_INDEX_SAYS_NO, .index = index};
	else
		set_maybe(verdict, index, only_unsummarized(&asker->few.ranges));
	return true;
}

/*
 * Asks an open index, and sets *verdict. If there is a cache, it remembers how the index is asked, provided that it may
 * remember this index (chunk_cache_ask()). The cache finds it again under the OID `remembered`: for Skip that of
 * the index, for chunk_scan() and PartitionScan that of the table.
 *
 * Unless asker->explain_only is set, this takes the predicate lock that index_beginscan() would take. The lock is taken
 * before the index is searched, so that every insertion from then on meets the lock.
 */
static void
ask_open_index(ChunkAsker *asker, Relation heap, Relation index, Oid remembered, ChunkVerdict *verdict)
{
	const bool	finds_few = asker->wants_pages || asker->cache != NULL;
	const Oid	oid = RelationGetRelid(index);
	BfVerdict	ranges;
	bool		answer;

	if (!asker->explain_only)
	{
		PredicateLockRelation(index, asker->snapshot);
		pgstat_count_index_scan(index);
	}
	if (asker->cache != NULL)
		answer = chunk_cache_ask(asker->cache, asker->number, remembered, heap, index, asker->search, &asker->few);
	else
		answer = bf_index_ask(asker->search, index, heap, finds_few ? &asker->few : NULL, NULL);
	if (!answer)
		*verdict = (ChunkVerdict) {.reason = CHUNK_INDEX_SAYS_NO, .index = oid};
	else if (!asker->wants_reason)
		set_maybe(verdict, oid, 0);
	else if (finds_few && bf_index_are_few(&asker->few))
		set_maybe(verdict, oid, only_unsummarized(&asker->few.ranges));
	else
	{
		(void) bf_index_ask(asker->search, index, heap, NULL, &ranges);
		set_maybe(verdict, oid, only_unsummarized(&ranges));
	}
}

void
chunk_ask_index(ChunkAsker *asker, Relation heap, Oid oid, ChunkVerdict *verdict)
{
	Relation	index;

	*verdict = (ChunkVerdict) {.reason = CHUNK_HAS_NO_INDEX};
	if (!IsMVCCSnapshot(asker->snapshot))
		return;
	index = chunk_open_index(heap, oid, bf_index_am_oid());
	if (index == NULL)
		return;
	ask_open_index(asker, heap, index, oid, verdict);
	relation_close(index, AccessShareLock);
}

bool
chunk_ask_for_pages(const ChunkAsker *asker, Relation heap, Oid oid, BfSpans *spans)
{
	Relation	index = chunk_open_index(heap, oid, bf_index_am_oid());

	if (index == NULL)
		return false;
	bf_index_find_spans(asker->search, index, heap, spans);
	relation_close(index, AccessShareLock);
	return true;
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
	clause->value = value;
	clause->method = bf_index_am_oid();
	clause->context = AllocSetContextCreate(CurrentMemoryContext, "bf index search", ALLOCSET_SMALL_SIZES);
}

/* Are two keys the same, apart from their arguments? */
static bool
are_alike(const QuestionKey *a, const QuestionKey *b)
{
	return a->column == b->column && a->flags == b->flags && a->strategy == b->strategy && a->subtype == b->subtype &&
		a->collation == b->collation && a->function == b->function;
}

/* The value that a key searches for. */
static Datum
value_of(const ChunkClause *clause, const QuestionKey *key)
{
	return key->argument != NULL && IsA(key->argument, Const) ? ((const Const *) key->argument)->constvalue :
		clause->value;
}

/*
 * Prepares the asker to search for the clause's value with this key. If the key is like the last one, the last search
 * is used again.
 */
static void
set_search(ChunkClause *clause, const QuestionKey *key, Snapshot snapshot)
{
	MemoryContext caller;

	clause->asker.snapshot = snapshot;
	if (clause->asker.search != NULL && are_alike(&clause->key, key))
		return;
	MemoryContextReset(clause->context);
	chunk_set_scan_key(&clause->entry, key, value_of(clause, key));
	clause->key = *key;
	clause->key.argument = NULL;	/* the argument does not live as long as the clause */
	caller = MemoryContextSwitchTo(clause->context);
	clause->asker.search = bf_index_begin_search(&clause->entry, 1, snapshot);
	MemoryContextSwitchTo(caller);
}

/* Returns the table's indexes if one may answer the clause for this snapshot. */
static List *
indexes_to_ask(const ChunkClause *clause, Relation heap, Snapshot snapshot)
{
	return OidIsValid(clause->method) && IsMVCCSnapshot(snapshot) && heap->rd_rel->relhasindex ?
		RelationGetIndexList(heap) : NIL;
}

/*
 * Opens this one of the indexes if it can answer the clause, and sets *key. Otherwise returns NULL, and leaves nothing
 * locked.
 */
static Relation
open_to_ask(ChunkClause *clause, Relation heap, const List *indexes, Oid oid, QuestionKey **key)
{
	Relation	index;
	List	   *keys;

	/* If there is only one index, it is cheaper to open it than to look up its access method first. */
	if (list_length(indexes) > 1 && !chunk_has_method(oid, clause->method))
		return NULL;
	index = chunk_open_index(heap, oid, clause->method);
	if (index == NULL)
		return NULL;
	keys = chunk_keys_of_index(chunk_index_info(index, 1), 1, list_make1(clause->clause), &clause->known);
	if (keys == NIL)
	{
		relation_close(index, AccessShareLock);
		return NULL;
	}
	*key = linitial(keys);
	return index;
}

void
chunk_ask_clause(ChunkClause *clause, Relation heap, Snapshot snapshot, ChunkVerdict *verdict)
{
	List	   *indexes = indexes_to_ask(clause, heap, snapshot);
	ListCell   *cell;

	*verdict = (ChunkVerdict) {.reason = CHUNK_HAS_NO_INDEX};
	clause->asker.few.attribute = 0;
	foreach(cell, indexes)
	{
		QuestionKey *key;
		Relation	index = open_to_ask(clause, heap, indexes, lfirst_oid(cell), &key);

		if (index == NULL)
			continue;
		set_search(clause, key, snapshot);
		ask_open_index(&clause->asker, heap, index, RelationGetRelid(heap), verdict);
		relation_close(index, AccessShareLock);
		if (!chunk_is_read(verdict))
			break;
	}
}

bool
chunk_ask_bitmap(ChunkClause *clause, Relation heap, Snapshot snapshot, TIDBitmap *pages)
{
	List	   *indexes = indexes_to_ask(clause, heap, snapshot);
	ListCell   *cell;

	foreach(cell, indexes)
	{
		QuestionKey *key;
		Relation	index = open_to_ask(clause, heap, indexes, lfirst_oid(cell), &key);
		ScanKeyData entry;
		IndexScanDesc scan;

		if (index == NULL)
			continue;
		chunk_set_scan_key(&entry, key, value_of(clause, key));
		scan = sb_index_beginscan_bitmap(index, snapshot, 1);
		index_rescan(scan, &entry, 1, NULL, 0);
		(void) index_getbitmap(scan, pages);
		index_endscan(scan);
		relation_close(index, AccessShareLock);
		return true;
	}
	return false;
}
