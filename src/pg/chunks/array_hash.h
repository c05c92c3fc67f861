/*
 * array_hash.h: conditions "column = ANY (array)" of a scan are tested by hash, for Skip and PartitionScan.
 */
#ifndef STREAMBLOOM_PG_ARRAY_HASH_H
#define STREAMBLOOM_PG_ARRAY_HASH_H

#include "chunks/ask.h"

/* What chunk_hash_arrays() has changed in a scan. */
typedef struct ChunkHashed
{
	int			count;			/* of the scan's conditions that were compiled anew: */
	ExprState **places[2];		/* where they stand */
	ExprState  *replaced[2];	/* what stood there */
} ChunkHashed;

/*
 * Makes a scan test its conditions "= ANY (array)" by hash, where the array is the evaluated argument of a comparison
 * in *question and has enough elements. chunk_forget_hashed() undoes this; it is called before the next scan and before
 * the next question, which frees what was made in the context of the values.
 */
extern void chunk_hash_arrays(ChunkHashed *state, const ChunkAsking *asking, const ChunkQuestion *question,
							  PlanState *scan);
extern void chunk_forget_hashed(ChunkHashed *state);

#endif
