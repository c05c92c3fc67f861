/*
 * tape.h: a *tape* has the items of the ranges of level 0 (the shortest ranges of an index) in temporary files, while
 * the index is built. If one process builds the index, it writes all of them into one file. If there are parallel
 * workers, each process writes *batches* of consecutive ranges, each batch into a file of its own (build_ranges.c).
 */
#ifndef STREAMBLOOM_PG_INDEX_TAPE_H
#define STREAMBLOOM_PG_INDEX_TAPE_H

#include "index/heap.h"
#include "index/items.h"

#include "storage/sharedfileset.h"

/* ---------------------------------------------------------------------- batches */

/*
 * Writes the batches of one process, if several processes write a tape. Other processes can read a batch after
 * bf_index_end_batch().
 */
typedef struct BfTapeWriter BfTapeWriter;

extern BfTapeWriter *bf_index_begin_tape_writer(SharedFileSet *files, int columns);
extern void bf_index_begin_batch(BfTapeWriter *writer, uint32 batch);

/* Writes the items of the next range. Returns false, and drops the batch, if temp_file_limit has no room for them. */
extern bool bf_index_write_range(BfTapeWriter *writer, const BfRangeItems *items);
extern void bf_index_end_batch(BfTapeWriter *writer);

/* -------------------------------------------------------------------------- a tape */

typedef struct BfTape BfTape;

/*
 * A tape that this process writes alone. Ranges are written in their order, from range 0 on, as far as temp_file_limit
 * allows.
 */
extern BfTape *bf_index_begin_tape(int columns);
extern void bf_index_write_tape(BfTape *tape, const BfRangeItems *items);

/* A tape of batches of `batch_size` ranges each. Several processes write the batches, in any order. */
extern BfTape *bf_index_open_tape(SharedFileSet *files, int columns, uint32 batch_size);

/* Sets *items to the items of a range, in memory of the current context. REQUIRES: the range was written. */
extern void bf_index_range_from_tape(BfTape *tape, uint32 range, BfRangeItems *items);

/*
 * The number of ranges that the tape has, from range 0 on. For a tape of batches, the caller has to set this number
 * after the batches were written.
 */
extern uint32 bf_index_tape_length(const BfTape *tape);
extern void bf_index_set_tape_length(BfTape *tape, uint32 ranges);

/*
 * Calls add() once for each range from `first` to `end` (exclusive), with the different items of the range. REQUIRES:
 * end is at most the tape's length.
 */
extern void bf_index_read_tape(BfTape *tape, uint32 first, uint32 end,
							   void (*add) (const BfRowItems *items, void *argument), void *argument);
extern void bf_index_end_tape(BfTape *tape);

#endif
