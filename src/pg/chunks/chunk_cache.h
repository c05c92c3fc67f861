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

typedef struct ChunkCache ChunkCache;

/*
 * Identifies a question about the chunks of a table, without the value that is searched for. Three users have
 * questions of their own, and never share what is remembered:
 *
 * - chunk_scan(): an entry is about a chunk of `parent`.
 * - The node PartitionScan: an entry is about a chunk of `parent`, and `locked_before` is set.
 * - The node Skip: an entry is about an index, whatever table it belongs to. `parent` is InvalidOid, and where a
 *   function below takes the OID of a chunk, Skip gives the OID of the index.
 *
 * Why they are kept apart: chunk_scan() compares the storage of the tables with what the snapshot sees. The two nodes
 * do not: like a plain query, they read the storage that the tables have since the query locked them.
 */
typedef struct ChunkCacheKey
{
	Oid			parent;			/* InvalidOid: for Skip */
	AttrNumber	column;			/* of the parent; for Skip, of the index */
	bool		any;			/* the comparison is = ANY (array) */
	bool		locked_before;	/* this is the node PartitionScan */
	Oid			operator;		/* for Skip, the operator's function */
	Oid			collation;
} ChunkCacheKey;

/*
 * Returns what is remembered for the question *key (nothing at first), and sets *number to the number that the cache
 * gives the snapshot. The result is valid until the transaction ends. Returns NULL if the cache must not be used. It
 * must not be used in a SERIALIZABLE transaction, for a snapshot that is not an MVCC snapshot, or for one that does
 * not see all that the cache's earlier snapshots saw. REQUIRES: the bytes of *key between its fields are zero.
 */
extern ChunkCache *chunk_cache_find(const ChunkCacheKey *key, Snapshot snapshot, uint64 *number);

/*
 * Asks the index of a chunk from memory, for the snapshot with this number. Sets *few to the pages that may hold a
 * wanted row, and *index to the OID of the index. Returns false if nothing is remembered that is surely true for this
 * snapshot. Also returns false if `search` is NULL, or if no index was asked with this search before, since then its
 * items have no hashes yet. The chunk is number `at`, from 0, of `count` chunks that are asked one after the other.
 * Its entry is found faster if the chunk had this number the last time.
 */
extern bool chunk_cache_look_up(ChunkCache *cache, uint64 number, Oid chunk, int at, int count, BfSearch *search,
								BfPages *few, Oid *index);

/*
 * Has nothing about the chunk changed since chunk_cache_look_up() returned true? The caller asks this after it has
 * locked the chunk, because the answer from memory is about the chunk as it was before.
 */
extern bool chunk_cache_is_fresh(ChunkCache *cache, Oid chunk);

/*
 * Asks an index of a chunk, as bf_index_ask() does, and remembers under the OID `oid` how the index is asked. Does not
 * remember it if the index is partial, has indcheckxmin set or is no longer valid, or if what is remembered already
 * serves newer snapshots. REQUIRES: what bf_index_ask() requires; for chunk_scan(), the storage of the chunk is the one
 * that the snapshot sees.
 */
extern bool chunk_cache_ask(ChunkCache *cache, uint64 number, Oid oid, Relation chunk, Relation index, BfSearch *search,
							BfPages *few);

#endif
