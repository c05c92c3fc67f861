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
 * - *The storage is the one that the snapshot sees.* For chunk_scan(), an entry was checked for a snapshot that sees
 *   the chunk. (For the two nodes see below: they need no order of snapshots.) Another snapshot may use the entry only
 *   if it surely sees all that this one sees (sees_all()), and if no message has made the entry stale. The own
 *   transaction may have changed the storage too, while it had a cursor open: the cursor's snapshot has an earlier
 *   command number.
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
	uint64		transaction;	/* value of `transactions` when this entry was made */
	/* xmax, xcnt and curcid of the snapshot for which this entry was checked */
	TransactionId xmax;
	uint32		running;
	CommandId	command;
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
static uint64 transactions = 0;	/* counts those that have ended */
static bool in_use = false;		/* this transaction uses the cache, and may have pointers into it */

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
		transactions++;
	}
}

static void
empty_cache(void)
{
	MemoryContextDelete(cache_context);
	cache_context = NULL;
	marks = chunks = NULL;
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

bool
chunk_cache_begin(Snapshot snapshot)
{
	if (snapshot->snapshot_type != SNAPSHOT_MVCC || IsolationIsSerializable())
		return false;
	if (cache_context != NULL && !in_use && MemoryContextMemAllocated(cache_context, true) > MOST_BYTES)
		empty_cache();
	if (cache_context == NULL)
		begin_cache();
	in_use = true;
	return true;
}

/* ----------------------------------------------------------------- the questions */

static bool
is_stale(const CachedChunk *chunk)
{
	return chunk->made < all_changed || chunk->made < chunk->chunk_mark->changed ||
		chunk->made < chunk->index_mark->changed;
}

/*
 * Does the snapshot surely see all that the entry's snapshot sees? It does if all transactions that had begun then have
 * ended. Of two snapshots with the same xmax, the later one has no other running transactions than the earlier one. (A
 * standby does not list them in xip.)
 */
static bool
sees_all(Snapshot snapshot, const CachedChunk *chunk)
{
	if (chunk->transaction == transactions && snapshot->curcid < chunk->command)
		return false;
	return TransactionIdFollowsOrEquals(snapshot->xmin, chunk->xmax) ||
		(snapshot->xmax == chunk->xmax && snapshot->xcnt <= chunk->running && !snapshot->takenDuringRecovery);
}

bool
chunk_cache_look_up(const ChunkCacheKey *key, Snapshot snapshot, BfSearch *search, uint64 most, BfSpans *pages,
					Oid *index)
{
	CachedChunk *chunk = snapshot != NULL ? hash_search(chunks, key, HASH_FIND, NULL) : NULL;
	bool		known;

	if (chunk == NULL || chunk->probe == NULL || search == NULL || is_stale(chunk) ||
		!(key->locked_before || sees_all(snapshot, chunk)))
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
chunk_cache_ask(const ChunkCacheKey *key, Snapshot snapshot, Relation relation, Relation index, BfSearch *search,
				uint64 most, BfSpans *pages)
{
	uint64		made = messages;
	CachedChunk *chunk;
	bool		found;

	if (snapshot == NULL || !is_lasting(index))
	{
		bf_index_ask(search, index, relation, NULL, most, pages);
		return;
	}
	chunk = hash_search(chunks, key, HASH_ENTER, &found);
	if (!found)
		chunk->probe = NULL;
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
	chunk->transaction = transactions;
	chunk->xmax = snapshot->xmax;
	chunk->running = snapshot->xcnt;
	chunk->command = snapshot->curcid;
}
