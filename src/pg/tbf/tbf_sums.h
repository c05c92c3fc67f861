/*
 * tbf_sums.h: what the files on TbfSums share: tbf_sums.c, and tbf_sums_travel.c for parallel workers.
 */
#ifndef STREAMBLOOM_PG_TBF_SUMS_H
#define STREAMBLOOM_PG_TBF_SUMS_H

#include "tbf/tbf.h"

/* So many hits or items are handed to the core at once. */
#define TBF_BATCH 256

/* Memory for the words of plane[index], if that is one and has none. */
extern void tbf_sums_allocate_plane(TbfSums *state, int index);

/*
 * Room to pack so many extensible counters into at once: they hardly ever need a byte a cell, even where far more items came than
 * were expected.
 */
static inline size_t
tbf_sums_usual_room(const sb_tbf *plan)
{
	return (size_t) plan->blocks * 4 + sb_tbf_cells(plan) + 256;
}

/* Turns what the core refuses into an error. */
extern void tbf_sums_must_fit(sb_status status);

/* The items of a state over items, some at a time. */
typedef struct TbfItemReader
{
	const TbfSums *of;
	uint64_t	at;				/* a slot, or how many of those that came from a worker were read */
} TbfItemReader;

/*
 * Up to TBF_BATCH hashes in the order of slots, with their words of each plane that is there (words: NULL if they are not wanted);
 * 0: there are no more.
 */
extern size_t tbf_sums_read_items(TbfItemReader *reader, uint64_t *hashes, uint64_t (*words)[TBF_BATCH]);

#endif
