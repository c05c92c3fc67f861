/*
 * chunk_cache.h: remembers, for the length of the session, how the `bf` indexes of a table's chunks are asked about a
 * column, so that a chunk whose index says no is neither opened nor locked.
 */
#ifndef STREAMBLOOM_PG_CHUNK_CACHE_H
#define STREAMBLOOM_PG_CHUNK_CACHE_H

#include "base/compat.h"

#include "utils/snapshot.h"

#include "index/scan.h"

typedef struct ChunkCache ChunkCache;

/*
 * What a question about the chunks of a table is, without the value that is searched for. For chunk_scan(): what is
 * remembered is about a chunk of this parent.
 *
 * For plans (the node ChunkSkip) what is remembered is about an index, whatever table it belongs to: then `chunk` is
 * the OID of the index in the functions below. It is kept apart because a plan has locked its tables before, and does
 * not compare their storage with what the snapshot sees. For the same reason what the node PartitionScan remembers is
 * kept apart from what chunk_scan() does; like this, it is about the chunks of a parent.
 */
typedef struct ChunkCacheKey
{
	Oid			parent;			/* InvalidOid: for plans */
	AttrNumber	column;			/* of the parent; for plans, of the index */
	bool		any;			/* = ANY (array) */
	bool		locked_before;	/* for the node PartitionScan */
	Oid			operator;		/* for plans, its function */
	Oid			collation;
} ChunkCacheKey;

/*
 * What is remembered for this question; NULL if nothing may be used or remembered for the snapshot. It is valid until
 * the transaction ends. *number is set to the snapshot's number. REQUIRES: bytes of the key that belong to no field are
 * zero.
 */
extern ChunkCache *chunk_cache_find(const ChunkCacheKey *key, Snapshot snapshot, uint64 *number);

/*
 * Asks the index of a chunk from memory, for the snapshot with this number: sets *few to the pages in which a row that
 * is searched for may be, and *index to the index. The result is false if nothing certain is remembered, or if the
 * search, which may be NULL, has not been made in the index of another chunk yet. The chunk is number `at` of `count`
 * that are asked one after the other; it is found faster if it was there the last time.
 */
extern bool chunk_cache_look_up(ChunkCache *cache, uint64 number, Oid chunk, int at, int count, BfSearch *search,
								BfPages *few, Oid *index);

/*
 * Has nothing about the chunk changed since chunk_cache_look_up() returned true? To be asked after the chunk was
 * locked, because the answer is about the chunk as it was before.
 */
extern bool chunk_cache_is_fresh(ChunkCache *cache, Oid chunk);

/*
 * Asks an index of a chunk, as bf_index_ask() does, and remembers how that is done under this OID. REQUIRES: what
 * that requires; the storage of the chunk is the one that the snapshot sees, unless this is for plans.
 */
extern bool chunk_cache_ask(ChunkCache *cache, uint64 number, Oid oid, Relation chunk, Relation index, BfSearch *search,
							BfPages *few);

#endif
