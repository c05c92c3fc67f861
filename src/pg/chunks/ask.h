/*
 * ask.h: asks the `bf` indexes of a chunk whether it may hold rows that match, and says why it is left alone or read.
 * chunk_scan() and the node ChunkSkip ask here, and nowhere else.
 */
#ifndef STREAMBLOOM_PG_CHUNKS_ASK_H
#define STREAMBLOOM_PG_CHUNKS_ASK_H

#include "base/compat.h"

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
	CHUNK_HAS_NO_INDEX,
	CHUNK_IS_CHEAP,				/* only in plain queries: reading it is expected to cost no more than asking */
	CHUNK_IS_NOT_ASKED,			/* only in plain queries: its plan does not show what is searched for */
	CHUNK_HAS_NO_SUMMARY,		/* a summary table was named; the chunk has neither a summary nor an index */
	CHUNK_SUMMARY_SAYS_MAYBE,	/* and there is no index */
	CHUNK_INDEX_SAYS_MAYBE,
	CHUNK_NOT_SUMMARIZED,		/* ranges of the index are not summarized; nothing else kept it from saying no */
	CHUNK_REASONS				/* how many there are */
} ChunkReason;

/* Whether a chunk is read, and why. */
typedef struct ChunkVerdict
{
	ChunkReason reason;
	Oid			index;			/* the index that was asked last, or InvalidOid */
	uint32		unsummarized;	/* for CHUNK_NOT_SUMMARIZED: the number of these ranges */
} ChunkVerdict;

static inline bool
chunk_is_read(const ChunkVerdict *verdict)
{
	return verdict->reason >= CHUNK_HAS_NO_INDEX;
}

/* A sentence's end for the reason: "bf index "i" says no". */
extern char *chunk_reason_text(const ChunkVerdict *verdict);

/* The reason without names, for counting. */
extern const char *chunk_reason_name(ChunkReason reason);

/* Why chunks were read, from CHUNK_REASONS counts: "no bf index (2), the bf index says maybe (1)". */
extern char *chunk_reasons_text(const int64 *because);

/* ------------------------------------------------------------------- asking */

/* What many indexes are asked about, one after the other, and how. All of it is zero at first. */
typedef struct ChunkAsker
{
	Snapshot	snapshot;		/* of the search */
	BfSearch   *search;			/* the keys */
	bool		explain_only;	/* for a plain EXPLAIN: no predicate lock is taken, and no index scan is counted */
	bool		wants_reason;	/* it is to be found out why an index says maybe, which takes a second look */
	bool		wants_pages;	/* `few` is to be set; it is also set if there is a cache */
	ChunkCache *cache;			/* what is remembered of the indexes; NULL: nothing */
	uint64		number;			/* of the snapshot in the cache */
	BfPages		few;			/* the pages that the index which was asked last has named */
} ChunkAsker;

/*
 * Asks an index from memory: the index that is remembered for this chunk (chunk_cache.h), number `at` of `count` that
 * are asked one after the other. The result is false if nothing certain is remembered. Otherwise *verdict and
 * asker->few are set; *verdict says why the chunk is read only if asker->few.count is not 0.
 */
extern bool chunk_ask_memory(ChunkAsker *asker, Oid chunk, int at, int count, ChunkVerdict *verdict);

/*
 * Asks an index: may rows that the snapshot sees and that satisfy the keys be in the heap? *verdict says so. If the
 * index is gone or no longer usable, it is CHUNK_HAS_NO_INDEX. Takes the predicate lock that an index scan would take,
 * and counts this as an index scan. It is remembered under the index's OID how the index is asked. REQUIRES: the heap
 * is locked.
 */
extern void chunk_ask_index(ChunkAsker *asker, Relation heap, Oid index, ChunkVerdict *verdict);

/*
 * Asks an index in which pages of the heap rows may be that have one of the values of a hashed search in this column.
 * The result is false if that cannot be told, because the index is gone, no longer usable, or not asked
 * (bf_index_ask_for_spans()). Takes the predicate lock, and counts, as above. REQUIRES: the heap is locked.
 */
extern bool chunk_ask_for_spans(Snapshot snapshot, BfSearch *search, Relation heap, Oid index, AttrNumber column,
								BfPatience *patience, BfSpans *spans);

/* A clause with one constant that is not NULL, and with varno 1 in its Var, about which many tables are asked. */
typedef struct ChunkClause
{
	Node	   *clause;
	Datum		value;
	Oid			method;			/* bf_index_am_oid(): InvalidOid if there are no indexes to ask */
	ChunkOperator known;
	ChunkAsker	asker;

	/* The search in the index that was asked last: it serves for the next index too if the key is the same there. */
	MemoryContext context;		/* of the search */
	QuestionKey key;
	ScanKeyData entry;
} ChunkClause;

/* The clause's memory is taken from the current context, which must live as long as it. */
extern void chunk_prepare_clause(ChunkClause *clause, Node *node, Datum value);

/*
 * Asks the indexes of a table that can answer such a clause, one after the other until one says no. If none was asked,
 * verdict->index is InvalidOid and asker.few.attribute is 0. What is remembered is remembered under the table's OID.
 * REQUIRES: the table is locked; its storage is the one that the snapshot sees.
 */
extern void chunk_ask_clause(ChunkClause *clause, Relation heap, Snapshot snapshot, ChunkVerdict *verdict);

#endif
