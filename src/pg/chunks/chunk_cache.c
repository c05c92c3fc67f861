/*
 * chunk_cache.c: remembers how the `bf` indexes of chunks are asked (see chunk_cache.h).
 *
 * A remembered index is asked by a *probe* (index/scan.h): what is needed to search the index without opening it. The
 * index is locked for this, its table is not. The answer "no" is right for these reasons:
 *
 * - *The storage that is read is that of the index now.* Whatever replaces the storage of an index, or of its table,
 *   holds AccessExclusiveLock on the index until it has sent its messages to the relation caches. LockRelationOid()
 *   waits for this lock and takes the messages in. The messages make the entry of the index stale. (A lock on the
 *   table would not be enough: REINDEX INDEX locks only the index in this mode. Nor would it be enough to take in
 *   messages without a lock: a commit is visible before its messages are sent.)
 * - *The storage is the one that the snapshot sees.* For chunk_scan(), an entry was checked for this snapshot or an
 *   earlier one. (For the two nodes see below: they need no order of snapshots.) A later snapshot may use the entry
 *   only if the snapshot sees all that the earlier ones see (sees_all()), and if no message has made the entry stale.
 *   The own transaction may have changed the storage too, while it had a cursor open. The cursor's snapshot has an
 *   earlier command number than the query for which the entry was made. So let_in() refuses the cursor's snapshot.
 * - *Writers still enter their rows in the index.* DROP INDEX CONCURRENTLY and REINDEX CONCURRENTLY first make the
 *   index invalid, in a transaction of its own. This transaction has sent its messages before any writer leaves the
 *   index out. A session that has not seen these messages has a snapshot that is older than the rows of such writers.
 * - *The table is still a chunk.* The caller has found the chunks. Detaching a partition or a child sends a message
 *   about the detached table, which makes its entry stale.
 *
 * An index with indcheckxmin is not remembered. Nor is a partial index: whether all wanted rows are in it depends on
 * the value, and the next value may be another one. In a SERIALIZABLE transaction the cache is not used, because a
 * question from memory takes no predicate locks.
 *
 * The nodes Skip and PartitionScan ask about the storage that the index has now, from memory as well as by opening
 * the index. Their tables are locked by then, as those of any query, and an entry is stale if the table or the index
 * has changed since the entry was made.
 *
 * A question that is answered from memory is not counted as a scan of the index.
 */
#include "chunks/chunk_cache.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_index.h"
#include "storage/lmgr.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* A table or an index about which the last message is noted. Entries for it that were made before that are stale. */
typedef struct Mark
{
	Oid			relation;		/* the key */
	/* value of `messages` after the last message about the relation; 0: there was none */
	uint64		changed;
} Mark;

/* An entry of the cache: how the index of one chunk is asked. */
typedef struct CachedChunk
{
	ChunkCacheKey key;
	Oid			index;
	uint64		made;			/* value of `messages` before this entry was made */
	uint64		snapshot;		/* the number of the snapshot for which this entry was checked */
	Mark	   *chunk_mark;
	Mark	   *index_mark;
	BfProbe    *probe;			/* NULL: the index cannot be asked from memory */
} CachedChunk;

/*
 * If the cache takes more than this many bytes, it is emptied at the first question of a later transaction. It is not
 * emptied earlier, because the current transaction may have pointers into it.
 */
#define MOST_BYTES (32 * 1024 * 1024)

static MemoryContext cache_context = NULL;
static HTAB *chunks;			/* of CachedChunk */
static HTAB *marks;				/* of Mark */
static uint64 messages = 1;		/* counts the messages of the relation cache, from 1 */
static uint64 all_changed = 0;	/* value of `messages` after the last message about all relations */
static bool in_use = false;		/* this transaction uses the cache, and may have pointers into it */

/* A copy of the last snapshot that let_in() has accepted. It sees all that those accepted before it see. */
static SnapshotData newest;
static uint64 newest_number;	/* 0: there is none */

static void
note_change(Datum argument, Oid relation)
{
	Mark	   *mark;

	messages++;
	if (!OidIsValid(relation))
		all_changed = messages;
	else if (marks != NULL && (mark = hash_search(marks, &relation, HASH_FIND, NULL)) != NULL)
		mark->changed = messages;
}

static void
end_use(XactEvent event, void *argument)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
	{
		in_use = false;
		newest.curcid = 0;
	}
}

static void
empty_cache(void)
{
	MemoryContextDelete(cache_context);
	cache_context = NULL;
	marks = chunks = NULL;
	newest.xip = NULL;
	newest_number = 0;
}

static HTAB *
make_table(const char *name, Size key_size, Size entry_size, MemoryContext context)
{
	HASHCTL		control = {.keysize = key_size, .entrysize = entry_size, .hcxt = context};

	return hash_create(name, 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* Makes the tables of an empty cache. */
static void
begin_cache(void)
{
	static bool registered = false;
	MemoryContext context;

	if (!registered)
	{
		CacheRegisterRelcacheCallback(note_change, (Datum) 0);
		RegisterXactCallback(end_use, NULL);
		registered = true;
	}
	/* an error while it is made frees it */
	context = AllocSetContextCreate(CurrentMemoryContext, "streambloom chunk cache", ALLOCSET_DEFAULT_SIZES);
	chunks = make_table("streambloom chunks", sizeof(ChunkCacheKey), sizeof(CachedChunk), context);
	marks = make_table("streambloom relations", sizeof(Oid), sizeof(Mark), context);
	MemoryContextSetParent(context, CacheMemoryContext);
	cache_context = context;
}

static Mark *
find_mark(Oid relation)
{
	bool		found;
	Mark	   *mark = hash_search(marks, &relation, HASH_ENTER, &found);

	if (!found)
		mark->changed = 0;
	return mark;
}

/* ------------------------------------------------------------------- snapshots */

/*
 * Does the snapshot certainly see all that the newest one sees? Then each transaction that had ended for the newest
 * snapshot has also ended for this one, and this one's command number is not lower.
 */
static bool
sees_all(Snapshot snapshot)
{
	/* on a standby one list has the transactions and the subtransactions; it may have overflowed */
	const bool	on_standby = snapshot->takenDuringRecovery;
	const TransactionId *running = on_standby ? snapshot->subxip : snapshot->xip;
	const uint32 count = on_standby ? (uint32) snapshot->subxcnt : snapshot->xcnt;

	if (newest_number == 0)
		return true;
	if (TransactionIdPrecedes(snapshot->xmax, newest.xmax) || snapshot->curcid < newest.curcid)
		return false;
	if (TransactionIdFollowsOrEquals(snapshot->xmin, newest.xmax))
		return true;
	/* snapshots from before and after the promotion of a standby list transactions in different ways */
	if (on_standby != newest.takenDuringRecovery || (on_standby && snapshot->suboverflowed))
		return false;
	for (uint32 i = 0; i < count; i++)
		if (TransactionIdPrecedes(running[i], newest.xmax) && !XidInMVCCSnapshot(running[i], &newest))
			return false;
	return true;
}

/*
 * Accepts the snapshot if it sees all that `newest` sees, makes it the newest one, and returns its number. Otherwise
 * returns 0: then the cache must not be used for this snapshot.
 */
static uint64
let_in(Snapshot snapshot)
{
	TransactionId *running;

	if (!sees_all(snapshot))
		return 0;
	running = MemoryContextAlloc(cache_context, (snapshot->xcnt + snapshot->subxcnt + 1) * sizeof(TransactionId));
	for (uint32 i = 0; i < snapshot->xcnt; i++)
		running[i] = snapshot->xip[i];
	for (int32 i = 0; i < snapshot->subxcnt; i++)
		running[snapshot->xcnt + i] = snapshot->subxip[i];
	if (newest.xip != NULL)
		pfree(newest.xip);
	newest = *snapshot;
	newest.xip = running;
	newest.subxip = running + newest.xcnt;
	return ++newest_number;
}

uint64
chunk_cache_begin(Snapshot snapshot, bool locked_before)
{
	if (snapshot->snapshot_type != SNAPSHOT_MVCC || IsolationIsSerializable())
		return 0;
	if (cache_context != NULL && !in_use && MemoryContextMemAllocated(cache_context, true) > MOST_BYTES)
		empty_cache();
	if (cache_context == NULL)
		begin_cache();
	in_use = true;
	return locked_before ? 1 : let_in(snapshot);
}

/* ----------------------------------------------------------------- the questions */

static bool
is_stale(const CachedChunk *chunk)
{
	return chunk->made < all_changed || chunk->made < chunk->chunk_mark->changed ||
		chunk->made < chunk->index_mark->changed;
}

bool
chunk_cache_look_up(const ChunkCacheKey *key, uint64 number, BfSearch *search, uint64 most, BfSpans *pages, Oid *index)
{
	CachedChunk *chunk = number != 0 ? hash_search(chunks, key, HASH_FIND, NULL) : NULL;
	bool		known;

	if (chunk == NULL || chunk->probe == NULL || search == NULL || is_stale(chunk) || chunk->snapshot > number)
		return false;
	LockRelationOid(chunk->index, AccessShareLock);
	known = !is_stale(chunk) && bf_index_ask_probe(chunk->probe, search, most, pages);
	UnlockRelationOid(chunk->index, AccessShareLock);
	*index = chunk->index;
	return known;
}

bool
chunk_cache_is_fresh(const ChunkCacheKey *key)
{
	CachedChunk *chunk = hash_search(chunks, key, HASH_FIND, NULL);

	return chunk != NULL && chunk->probe != NULL && !is_stale(chunk);
}

/*
 * May the cache remember how this index is asked? The index must be valid, without indcheckxmin, and not partial. It
 * was valid when it was opened, but a message that it is no longer valid may have come since then. If that was before
 * chunk_cache_ask() set `made`, the message does not make the entry stale. So indisvalid is tested once more.
 */
static bool
is_lasting(Relation index)
{
	return index->rd_index->indisvalid && !index->rd_index->indcheckxmin &&
		heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);
}

void
chunk_cache_ask(const ChunkCacheKey *key, uint64 number, Relation relation, Relation index, BfSearch *search,
				uint64 most, BfSpans *pages)
{
	uint64		made = messages;
	CachedChunk *chunk = NULL;
	bool		found;

	if (number != 0 && is_lasting(index))
	{
		chunk = hash_search(chunks, key, HASH_ENTER, &found);
		if (!found)
			chunk->probe = NULL;
		else if (chunk->probe != NULL && !is_stale(chunk) && chunk->snapshot > number)
			chunk = NULL;		/* keep the entry, which serves newer snapshots */
	}
	if (chunk == NULL)
	{
		bf_index_ask(search, index, relation, NULL, most, pages);
		return;
	}
	/* mark the relations before the index is read, so that no message is missed */
	chunk->chunk_mark = find_mark(RelationGetRelid(relation));
	chunk->index_mark = find_mark(RelationGetRelid(index));
	chunk->index = RelationGetRelid(index);
	chunk->made = made;
	if (chunk->probe != NULL)
	{
		bf_index_free_probe(chunk->probe);
		chunk->probe = NULL;
	}
	chunk->probe = bf_index_make_probe(search, index, relation, most, pages, cache_context);
	chunk->snapshot = number;
}
