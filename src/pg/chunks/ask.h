/*
 * ask.h: asks the `bf` indexes of a chunk whether the chunk may hold rows that match, and says why the chunk is left
 * alone or read. A chunk is a leaf partition, an inheritance child, or a table itself. chunk_scan() and the nodes
 * Skip and PartitionScan ask through these functions only.
 */
#ifndef STREAMBLOOM_PG_CHUNKS_ASK_H
#define STREAMBLOOM_PG_CHUNKS_ASK_H

#include "base/compat.h"

#include "nodes/tidbitmap.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "chunks/chunk_cache.h"
#include "chunks/chunk_question.h"
#include "index/scan.h"

/* ----------------------------------------------------------------- verdicts */

/* Why a chunk is left alone, or why it is read. */
typedef enum ChunkReason
{
	/* it is left alone */
	CHUNK_EQUALS_NULL,			/* the value is NULL */
	CHUNK_SUMMARY_SAYS_NO,
	CHUNK_INDEX_SAYS_NO,
	/* it is read */
	CHUNK_HAS_NO_INDEX,			/* it has no usable bf index that can answer */
	CHUNK_IS_CHEAP,				/* only in plain queries: reading it is expected to cost no more than asking */
	/*
	 * only in plain queries (those without chunk_scan()): the plan that reads the chunk does not show what is searched
	 * for; or no key may be asked about (keys_to_ask()); or no keys of a join could be used
	 */
	CHUNK_IS_NOT_ASKED,
	CHUNK_HAS_NO_SUMMARY,		/* a summary table was named, but has no row for the chunk; no index was asked */
	CHUNK_SUMMARY_SAYS_MAYBE,	/* the summary says maybe, and no index was asked */
	CHUNK_INDEX_SAYS_MAYBE,
	CHUNK_NOT_SUMMARIZED,		/* some ranges have no summary on which the snapshot may rely; all others say no */
	CHUNK_REASONS				/* the number of reasons */
} ChunkReason;

/* Whether a chunk is read, and why. */
typedef struct ChunkVerdict
{
	ChunkReason reason;
	Oid			index;			/* the index that was asked last, or InvalidOid */
	uint32		unsummarized;	/* for CHUNK_NOT_SUMMARIZED: how many ranges have no such summary */
} ChunkVerdict;

static inline bool
chunk_is_read(const ChunkVerdict *verdict)
{
	return verdict->reason >= CHUNK_HAS_NO_INDEX;
}

/* Returns the reason as text. If an index gave the reason, the text names the index: bf index "i" says no. */
extern char *chunk_reason_text(const ChunkVerdict *verdict);

/* Returns the reason as text without the name of the index. EXPLAIN counts chunks by this text. */
extern const char *chunk_reason_name(ChunkReason reason);

/*
 * Returns a text with the number of chunks that were read for each reason: "no bf index (2), the bf index says maybe
 * (1)". `because` has a count for each ChunkReason.
 */
extern char *chunk_reasons_text(const int64 *because);

/* ------------------------------------------------------------------- asking */

/*
 * Keys (chunk_question.h) about which many indexes are asked, one index after the other, and how the indexes are
 * asked. All fields are zero at first.
 */
typedef struct ChunkAsker
{
	Snapshot	snapshot;		/* of the search */
	BfSearch   *search;			/* the search for the keys */
	/*
	 * for a plain EXPLAIN, chunk_scan_explain() and estimates of the planner: no predicate lock is taken, and no
	 * index scan is counted
	 */
	bool		explain_only;
	bool		wants_reason;	/* find out why an index says maybe; this may take a second search */
	bool		wants_pages;	/* `few` is to be set; with a cache it is set in any case */
	ChunkCache *cache;			/* what is remembered of the indexes; NULL: there is no cache */
	uint64		number;			/* the number that the cache has given the snapshot (chunk_cache_find()) */
	BfPages		few;			/* the pages that the index asked last has named */
} ChunkAsker;

/*
 * Asks the index that is remembered for this chunk (chunk_cache.h), without opening the index or the chunk. `chunk` is
 * the OID of the chunk; Skip gives the OID of the index instead. The chunk is number `at`, from 0, of `count`
 * chunks that are asked one after the other.
 *
 * Returns true and sets *verdict and asker->few if the index has answered: CHUNK_INDEX_SAYS_NO if it has named no
 * page, otherwise CHUNK_INDEX_SAYS_MAYBE or CHUNK_NOT_SUMMARIZED. Returns false if there is no cache, if no index was
 * asked in this search before, if nothing is remembered that is surely true for the snapshot, or if the index has
 * named more than BF_FEW_PAGES pages.
 */
extern bool chunk_ask_memory(ChunkAsker *asker, Oid chunk, int at, int count, ChunkVerdict *verdict);

/*
 * Asks an index whether the heap may hold rows that the snapshot sees and that satisfy the keys, and sets *verdict.
 * Its reason is CHUNK_HAS_NO_INDEX if the index is gone or no longer usable, or if the snapshot is not an MVCC
 * snapshot. Takes the predicate lock that an index scan would take, and counts as an index scan, unless
 * asker->explain_only is set. A cache may remember under the index's OID how the index is asked (chunk_cache_ask()).
 * REQUIRES: the heap is locked.
 */
extern void chunk_ask_index(ChunkAsker *asker, Relation heap, Oid index, ChunkVerdict *verdict);

/*
 * Sets *spans to the pages that may hold a row, as the index says that was asked last by chunk_ask_index() or
 * chunk_ask_memory(). Takes no predicate lock, and does not count as an index scan: that question did. Returns false if
 * the index can no longer be asked. REQUIRES: the heap is locked.
 */
extern bool chunk_ask_for_pages(const ChunkAsker *asker, Relation heap, Oid index, BfSpans *spans);

/*
 * Asks an index which pages of the heap may hold rows with one of the searched values in this column of the index.
 * Sets *spans to these pages. `search` comes from bf_index_begin_hashed_search(). Notes down in *patience whether
 * asking was of use. Takes the predicate lock of an index scan, and counts as an index scan. REQUIRES: the heap is
 * locked. Returns false if the index cannot tell:
 *
 * - the index is gone or no longer usable, or the snapshot is not an MVCC snapshot (then *spans is not set);
 * - there are too many values for the index's false-positive rate, or its column hashes items in another way than the
 *   search (then *spans has all pages of the heap).
 */
extern bool chunk_ask_for_spans(Snapshot snapshot, BfSearch *search, Relation heap, Oid index, AttrNumber column,
								BfPatience *patience, BfSpans *spans);

/* A clause about which many tables are asked. It has one constant, which is not NULL, and one Var, with varno 1. */
typedef struct ChunkClause
{
	Node	   *clause;
	Datum		value;
	Oid			method;			/* bf_index_am_oid(); InvalidOid if there are no indexes to ask */
	ChunkOperator known;
	ChunkAsker	asker;

	/* The search in the index that was asked last. It is used for the next index too if the key is the same there. */
	MemoryContext context;		/* in which asker.search lives */
	QuestionKey key;
	ScanKeyData entry;
} ChunkClause;

/*
 * Sets up *clause for a condition (`node`) with this constant. The memory is taken from the current context, which
 * must live as long as *clause.
 */
extern void chunk_prepare_clause(ChunkClause *clause, Node *node, Datum value);

/*
 * Asks the indexes of a table that can answer the clause, one after the other until one says no, and sets *verdict.
 * If none was asked, the reason is CHUNK_HAS_NO_INDEX, verdict->index is InvalidOid and asker.few.attribute is 0. Of
 * the indexes that a cache may remember (chunk_cache_ask()), it remembers the last one, under the table's OID.
 * REQUIRES: the table is locked; for chunk_scan(), the table's storage is the one that the snapshot sees.
 */
extern void chunk_ask_clause(ChunkClause *clause, Relation heap, Snapshot snapshot, ChunkVerdict *verdict);

/*
 * Adds the pages that may hold rows which satisfy the clause to *pages, by the first index that can answer it. Returns
 * false if there is none. Takes the predicate lock of an index scan, and counts as one. REQUIRES: as
 * chunk_ask_clause().
 */
extern bool chunk_ask_bitmap(ChunkClause *clause, Relation heap, Snapshot snapshot, TIDBitmap *pages);

#endif
