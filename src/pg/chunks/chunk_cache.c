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
 *   earlier one. (For the two nodes see below.) A later snapshot may use the entry only if the snapshot sees all that
 *   the earlier ones see (sees_all()), and if no message has made the entry stale. The own transaction may have changed
 *   the storage too, while it had a cursor open. The cursor's snapshot has an earlier command number than the query for
 *   which the entry was made. So let_in() refuses the cursor's snapshot.
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
	Oid			chunk;			/* the key: the chunk, or for Skip its index */
	Oid			index;
	uint64		made;			/* value of `messages` before this entry was made */
	uint64		snapshot;		/* the number of the snapshot for which this entry was checked */
	Mark	   *chunk_mark;
	Mark	   *index_mark;
	BfProbe    *probe;			/* NULL: the index cannot be asked from memory */
} CachedChunk;

struct ChunkCache
{
	ChunkCacheKey key;
	HTAB	   *chunks;			/* of CachedChunk */

	/* found[i]: the entry that chunk number i of the caller's list had the last time. It saves a look-up by OID. */
	CachedChunk **found;		/* an element may be NULL, or the entry of another chunk if the list has changed */
	int			found_count;
};

/*
 * If the cache takes more than this many bytes, it is emptied at the first question of a later transaction. It is not
 * emptied earlier, because the current transaction may have pointers into it.
 */
#define MOST_BYTES (32 * 1024 * 1024)

static MemoryContext cache_context = NULL;
static HTAB *caches;			/* of ChunkCache */
static HTAB *marks;				/* of Mark */
static uint64 messages = 1;		/* counts the messages of the relation cache, from 1 */
static uint64 all_changed = 0;	/* value of `messages` after the last message about all relations */
static bool in_use = false;		/* this transaction uses the cache, and may have pointers into it */

/* The last snapshot that let_in() has accepted. This snapshot sees all that those accepted before it see. */
typedef struct NewestSnapshot
{
	uint64		number;			/* 0: there is none */
	bool		in_recovery;
	TransactionId xmin;
	TransactionId xmax;
	CommandId	command;		/* command number in the current transaction; 0 at its beginning */
	uint32		count;
	TransactionId *running;		/* in cache_context */
	uint32		room;
} NewestSnapshot;

static NewestSnapshot newest;

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
		newest.command = 0;
	}
}

static HTAB *
make_table(const char *name, Size key_size, Size entry_size)
{
	HASHCTL		control = {.keysize = key_size, .entrysize = entry_size, .hcxt = cache_context};

	return hash_create(name, 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static void
empty_cache(void)
{
	MemoryContext context = cache_context;

	cache_context = NULL;
	marks = caches = NULL;
	memset(&newest, 0, sizeof newest);
	MemoryContextDelete(context);
}

/* Makes the tables of an empty cache. */
static void
begin_cache(void)
{
	static bool registered = false;

	if (!registered)
	{
		CacheRegisterRelcacheCallback(note_change, (Datum) 0);
		RegisterXactCallback(end_use, NULL);
		registered = true;
	}
	cache_context = AllocSetContextCreate(CacheMemoryContext, "streambloom chunk cache", ALLOCSET_DEFAULT_SIZES);
	PG_TRY();
	{
		caches = make_table("streambloom questions", sizeof(ChunkCacheKey), sizeof(ChunkCache));
		marks = make_table("streambloom relations", sizeof(Oid), sizeof(Mark));
	}
	PG_CATCH();
	{
		empty_cache();
		PG_RE_THROW();
	}
	PG_END_TRY();
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
 * Finds the transactions below xmax that were running for a snapshot, and returns whether all of them are known. On a
 * primary, subtransactions are left out: one of them counts as running as long as its top-level transaction.
 */
static bool
get_running(Snapshot snapshot, TransactionId **running, uint32 *count)
{
	/* on a standby one list has the transactions and the subtransactions; it may have overflowed */
	*running = snapshot->takenDuringRecovery ? snapshot->subxip : snapshot->xip;
	*count = snapshot->takenDuringRecovery ? snapshot->subxcnt : snapshot->xcnt;
	return !(snapshot->takenDuringRecovery && snapshot->suboverflowed);
}

/*
 * Does the snapshot certainly see all that the newest one sees? Then each transaction that had ended for the newest
 * snapshot has also ended for this one, and this one's command number is not lower. `running` has the transactions that
 * were running for this snapshot; `known` says whether all of them are known.
 */
static bool
sees_all(Snapshot snapshot, const TransactionId *running, uint32 count, bool known)
{
	if (newest.number == 0)
		return true;
	if (TransactionIdPrecedes(snapshot->xmax, newest.xmax) || snapshot->curcid < newest.command)
		return false;
	if (TransactionIdFollowsOrEquals(snapshot->xmin, newest.xmax))
		return true;
	/* snapshots from before and after the promotion of a standby list transactions in different ways */
	if (snapshot->takenDuringRecovery != newest.in_recovery)
		return false;
	for (uint32 i = 0; known && i < count; i++)
	{
		uint32		j = 0;

		if (TransactionIdFollowsOrEquals(running[i], newest.xmax))
			continue;
		while (j < newest.count && newest.running[j] != running[i])
			j++;
		if (j == newest.count)
			return false;
	}
	return known;
}

/*
 * Accepts the snapshot if it sees all that `newest` sees, makes it the newest one, and returns its number. Otherwise
 * returns 0: then the cache must not be used for this snapshot.
 */
static uint64
let_in(Snapshot snapshot)
{
	TransactionId *running;
	uint32		count;
	bool		known = get_running(snapshot, &running, &count);

	if (!sees_all(snapshot, running, count, known))
		return 0;
	if (newest.number != 0 && newest.xmin == snapshot->xmin && newest.xmax == snapshot->xmax &&
		newest.command == snapshot->curcid && newest.in_recovery == snapshot->takenDuringRecovery &&
		newest.count == count && known && memcmp(newest.running, running, count * sizeof(TransactionId)) == 0)
		return newest.number;
	/*
	 * If not all running transactions are known, none is kept. Then a later snapshot is let in only if it sees all
	 * transactions below this xmax as ended.
	 */
	if (!known)
		count = 0;
	if (count > newest.room || newest.running == NULL)
	{
		TransactionId *larger = MemoryContextAlloc(cache_context, (count + 16) * sizeof(TransactionId));

		if (newest.running != NULL)
			pfree(newest.running);
		newest.running = larger;
		newest.room = count + 16;
	}
	memcpy(newest.running, running, count * sizeof(TransactionId));
	newest.count = count;
	newest.in_recovery = snapshot->takenDuringRecovery;
	newest.xmin = snapshot->xmin;
	newest.xmax = snapshot->xmax;
	newest.command = snapshot->curcid;
	return ++newest.number;
}

/* ----------------------------------------------------------------- the questions */

ChunkCache *
chunk_cache_find(const ChunkCacheKey *key, Snapshot snapshot, uint64 *number)
{
	bool		found;
	ChunkCache *cache;

	if (snapshot->snapshot_type != SNAPSHOT_MVCC || IsolationIsSerializable())
		return NULL;
	if (cache_context != NULL && !in_use && MemoryContextMemAllocated(cache_context, true) > MOST_BYTES)
		empty_cache();
	if (cache_context == NULL)
		begin_cache();
	*number = let_in(snapshot);
	if (*number == 0)
		return NULL;
	in_use = true;
	cache = hash_search(caches, key, HASH_ENTER, &found);
	if (!found)
	{
		cache->chunks = NULL;
		cache->found = NULL;
		cache->found_count = 0;
	}
	if (cache->chunks == NULL)
		cache->chunks = make_table("streambloom chunks", sizeof(Oid), sizeof(CachedChunk));
	return cache;
}

static bool
is_stale(const CachedChunk *chunk)
{
	return chunk->made < all_changed || chunk->made < chunk->chunk_mark->changed ||
		chunk->made < chunk->index_mark->changed;
}

/* Makes room in cache->found for a list of `count` chunks. */
static void
make_room(ChunkCache *cache, int count)
{
	CachedChunk **found = MemoryContextAllocZero(cache_context, count * sizeof(CachedChunk *));

	if (cache->found_count > 0)
	{
		memcpy(found, cache->found, Min(count, cache->found_count) * sizeof(CachedChunk *));
		pfree(cache->found);
	}
	cache->found = found;
	cache->found_count = count;
}

bool
chunk_cache_look_up(ChunkCache *cache, uint64 number, Oid oid, int at, int count, BfSearch *search, BfPages *few,
					Oid *index)
{
	CachedChunk *chunk;
	bool		known;

	if (cache->found_count < count)
		make_room(cache, count);
	chunk = cache->found[at];
	if (chunk == NULL || chunk->chunk != oid)
		chunk = cache->found[at] = hash_search(cache->chunks, &oid, HASH_FIND, NULL);
	if (chunk == NULL || chunk->probe == NULL || search == NULL || is_stale(chunk) ||
		chunk->snapshot > number)
		return false;
	LockRelationOid(chunk->index, AccessShareLock);
	known = !is_stale(chunk) && bf_index_ask_probe(chunk->probe, search, few);
	UnlockRelationOid(chunk->index, AccessShareLock);
	*index = chunk->index;
	return known;
}

bool
chunk_cache_is_fresh(ChunkCache *cache, Oid oid)
{
	CachedChunk *chunk = hash_search(cache->chunks, &oid, HASH_FIND, NULL);

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

bool
chunk_cache_ask(ChunkCache *cache, uint64 number, Oid oid, Relation relation, Relation index, BfSearch *search,
				BfPages *few)
{
	uint64		made = messages;
	CachedChunk *chunk;
	bool		found;
	MemoryContext caller;
	BfProbe    *probe;

	if (!is_lasting(index))
		return bf_index_ask(search, index, relation, few, NULL);
	chunk = hash_search(cache->chunks, &oid, HASH_ENTER, &found);
	if (!found)
		chunk->probe = NULL;
	else if (chunk->probe != NULL && !is_stale(chunk) && chunk->snapshot > number)
		return bf_index_ask(search, index, relation, few, NULL);	/* keep the entry, which serves newer snapshots */
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
	caller = MemoryContextSwitchTo(cache_context);
	probe = bf_index_make_probe(search, index, relation, few);
	MemoryContextSwitchTo(caller);
	chunk->probe = probe;
	chunk->snapshot = number;
	return few->count > 0;
}
