/*
 * sample_lengths.h: how many pages a range of an index on a sampled column would have. CREATE INDEX chooses this number
 * from the items of a few ranges. The sample has to know it before it counts the items of ranges. So these ranges are
 * read first, and read again if they are also in the sample.
 */
#ifndef STREAMBLOOM_PG_ADVISOR_SAMPLE_LENGTHS_H
#define STREAMBLOOM_PG_ADVISOR_SAMPLE_LENGTHS_H

#include "advisor/sample.h"

#include "access/tableam.h"

/*
 * Sets pages_per_range of all columns that are not refused. Fetches about sample->most_for_lengths bytes of out-of-line
 * values at most. row_context is emptied after each row. REQUIRES: the table has at least one page.
 */
extern void bf_index_sample_range_lengths(Sample *sample, TableScanDesc scan, TupleTableSlot *slot,
										  MemoryContext row_context);

#endif
