/*
 * summarizer.h: what a summarizer works on, and the functions that summarize ranges. For summarize.c, plan.c and
 * remake.c.
 */
#ifndef STREAMBLOOM_PG_INDEX_SUMMARIZER_H
#define STREAMBLOOM_PG_INDEX_SUMMARIZER_H

#include "index/build_workers.h"
#include "index/group.h"
#include "index/tape.h"

/* What a summarizer works on. */
typedef struct BfSummarizer
{
	Relation	index;
	Relation	heap;
	BfHeapReader *reader;
	bool		building;		/* the index is being built: nobody else writes or reads it */
	BfTape	   *tape;			/* the items of the heap; NULL: they are read from the heap */
	BfBuildWorkers *workers;	/* workers, which make lines, too; NULL: there are none */
} BfSummarizer;

/*
 * Summarizes the ranges of a group that are marked in ranges[], some at a time. The lines of many ranges are written
 * together, because each page has lines of all ranges of the group. But the lines take memory, and what was read is
 * lost if the summarizer is interrupted.
 */
extern void bf_index_summarize_marked(const BfSummarizer *work, const BfGeometry *geometry, const BfGroup *group,
									  const bool *ranges);

#endif
