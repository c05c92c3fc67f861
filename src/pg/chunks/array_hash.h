/*
 * array_hash.h: conditions "column = ANY (array)" of a scan are tested by hash, for Skip and PartitionScan.
 */
#ifndef STREAMBLOOM_PG_ARRAY_HASH_H
#define STREAMBLOOM_PG_ARRAY_HASH_H

#include "chunks/ask.h"

/* What chunk_hash_arrays() has changed in a scan. */
typedef struct ChunkHashed
{
	List	   *hashed;
	MemoryContext context;		/* in which these are; NULL: there was none yet */
} ChunkHashed;

/*
 * Makes a scan test its conditions "= ANY (array)" by hash, where the array is the evaluated argument of a comparison
 * in *question and has enough elements. chunk_forget_hashed() undoes this; it is called before the next scan.
 */
extern void chunk_hash_arrays(ChunkHashed *state, const ChunkQuestion *question, PlanState *scan);
extern void chunk_forget_hashed(ChunkHashed *state);

#endif
