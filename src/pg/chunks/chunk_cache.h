/*
 * chunk_cache.h: remembers how the `bf` index of a chunk (a partition of a table) is asked about a column: which index
 * it is, and what is needed to ask this index again without opening it. If the index says no, the chunk is not opened,
 * and chunk_scan() does not lock it either. The cache lasts as long as the session, but is emptied if it is too large.
 */
#ifndef STREAMBLOOM_PG_CHUNK_CACHE_H
#define STREAMBLOOM_PG_CHUNK_CACHE_H

#include "base/compat.h"

#include "utils/snapshot.h"

#include "index/scan.h"

/*
 * Identifies a question about a chunk, without the value that is searched for. chunk_scan() never shares what is
 * remembered with the nodes PartitionScan and Skip: it compares the storage of the tables with what the snapshot sees.
 * The nodes do not: like a plain query, they read the storage that the tables have since the query locked them.
 */
typedef struct ChunkCacheKey
{
	Oid			chunk;
	Oid			parent;			/* the relation that is scanned; InvalidOid for Skip: the chunk itself */
	AttrNumber	column;			/* of the parent */
	bool		any;			/* the comparison is = ANY (array) */
	bool		locked_before;	/* this is a node */
	Oid			operator;
	Oid			collation;
} ChunkCacheKey;

/*
 * Lets a snapshot use the cache until the transaction ends. Returns false if the cache must not be used: in a
 * SERIALIZABLE transaction, or for a snapshot that is not an MVCC snapshot.
 */
extern bool chunk_cache_begin(Snapshot snapshot);

/*
 * Asks the index of a chunk from memory, for this snapshot. Sets *pages as bf_index_ask()
 * does, and *index to the OID of the index. Returns false if the snapshot is NULL, or if nothing is remembered that is
 * surely true for this snapshot. Also returns false if `search` is NULL, or if no index was asked with this search
 * before, since then its items have no hashes yet. REQUIRES, here and below: the bytes of *key between its fields are
 * zero.
 */
extern bool chunk_cache_look_up(const ChunkCacheKey *key, Snapshot snapshot, BfSearch *search, uint64 most,
								BfSpans *pages, Oid *index);

/*
 * Has nothing about the chunk changed since chunk_cache_look_up() returned true? The caller asks this after it has
 * locked the chunk, because the answer from memory is about the chunk as it was before.
 */
extern bool chunk_cache_is_fresh(const ChunkCacheKey *key);

/*
 * Asks an index of a chunk, as bf_index_ask() does, and remembers how the index is asked. Does not remember it if the
 * snapshot is NULL, or if the index is partial, has indcheckxmin set or is no longer valid. REQUIRES: what
 * bf_index_ask() requires; for chunk_scan(), the storage of the chunk is the one that the snapshot sees.
 */
extern void chunk_cache_ask(const ChunkCacheKey *key, Snapshot snapshot, Relation chunk, Relation index,
							BfSearch *search, uint64 most, BfSpans *pages);

#endif
