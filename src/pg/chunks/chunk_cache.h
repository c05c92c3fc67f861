/*
 * chunk_cache.h: remembers, for the length of the session, how the `bf` indexes of a table's chunks are asked about a
 * column, so that a chunk whose index says no is neither opened nor locked.
 */
#ifndef STREAMBLOOM_PG_CHUNK_CACHE_H
#define STREAMBLOOM_PG_CHUNK_CACHE_H

#include "base/compat.h"

#include "utils/snapshot.h"

#include "index/bf_index.h"

typedef struct ChunkCache ChunkCache;

/* What a question about the chunks of a table is, without the value that is searched for. */
typedef struct ChunkCacheKey
{
	Oid			parent;
	AttrNumber	column;
	bool		any;			/* = ANY (array) */
	Oid			operator;
	Oid			collation;
} ChunkCacheKey;

/*
 * What is remembered for this question; NULL if nothing may be used or remembered for the snapshot. It is valid until the
 * transaction ends. *number is set to the snapshot's number. REQUIRES: bytes of the key that belong to no field are zero.
 */
extern ChunkCache *chunk_cache_find(const ChunkCacheKey *key, Snapshot snapshot, uint64 *number);

/*
 * Does the index of a chunk say no, for the snapshot with this number? The result is false if it says maybe, if nothing certain
 * is remembered, and if the search, which may be NULL, has not been made in the index of another chunk yet.
 */
extern bool chunk_cache_says_no(ChunkCache *cache, uint64 number, Oid chunk, BfSearch *search);

/*
 * Asks an index of a chunk, as bf_index_may_match() does, and remembers how that is done. REQUIRES: what that requires; the
 * storage of the chunk is the one that the snapshot sees.
 */
extern bool chunk_cache_ask(ChunkCache *cache, uint64 number, Relation chunk, Relation index, BfSearch *search);

#endif
