/*
 * tape.h: the items of the ranges of level 0, kept in temporary files while an index is built. One process writes all of them in
 * order, or several write stretches of them, each into a file of its own (build_workers.c).
 */
#ifndef STREAMBLOOM_PG_INDEX_TAPE_H
#define STREAMBLOOM_PG_INDEX_TAPE_H

#include "index/bf_index.h"

#include "storage/sharedfileset.h"

/* ------------------------------------------------------------ one file of a tape */

/* Where a stretch of ranges begins. */
typedef struct BfTapeMark
{
	int			writer;			/* whose file; -1: the stretch was not written */
	int			segment;		/* of the file */
	off_t		offset;
} BfTapeMark;

typedef struct BfTapeFile BfTapeFile;

/* Begins the file of this writer. Other processes can read it once it is finished. */
extern BfTapeFile *bf_index_begin_tape_file(SharedFileSet *files, int writer, int columns);

/* Where the range begins that is written next. */
extern BfTapeMark bf_index_tape_mark(const BfTapeFile *file);

/* Writes the items of a range. Returns false from the moment on when temp_file_limit has no room for more. */
extern bool bf_index_write_to_file(BfTapeFile *file, const BfRangeItems *items);
extern void bf_index_finish_tape_file(BfTapeFile *file);

/* ------------------------------------------------------------------------ a tape */

/* A tape that this process writes alone. Ranges are written in their order, from range 0 on, as far as temp_file_limit allows. */
extern BfTape *bf_index_begin_tape(int columns);
extern void bf_index_write_tape(BfTape *tape, const BfRangeItems *items);

/*
 * A tape for reading, of the files that these writers (from 0 on) have finished. They have written the first so many ranges; the marks
 * are those of stretches of so many ranges, and are copied.
 */
extern BfTape *bf_index_open_tape(SharedFileSet *files, int writers, int columns, uint32 ranges, uint32 stretch, const BfTapeMark *marks);
extern bool bf_index_tape_has(const BfTape *tape, uint32 range);

/* Sets *items to the items of a range, in memory of the current context. REQUIRES: the tape has it. */
extern void bf_index_range_from_tape(BfTape *tape, uint32 range, BfRangeItems *items);

/* The number of ranges from range 0 on that the tape has without a gap. */
extern uint32 bf_index_tape_length(const BfTape *tape);

/*
 * Calls add() with the items of each range from `first` to `end` (exclusive), each item once. REQUIRES: end is at most the tape's
 * length.
 */
extern void bf_index_read_tape(BfTape *tape, uint32 first, uint32 end,
							   void (*add) (const BfRowItems *items, void *argument), void *argument);
extern void bf_index_end_tape(BfTape *tape);

#endif
