/*
 * tape.c: keeps the items of the ranges of level 0 while an index is built, so that the levels above need not read the heap
 * again, nor take its values apart again. The items lie in a temporary file, range after range: for each range the number of
 * its items in each column, and then their hashes.
 *
 * If temp_file_limit has no room for more, the tape ends, and the ranges behind its end are read from the heap again.
 *
 * A tape is for builds only. Whoever summarizes beside writers must read the heap after its placeholders are written.
 */
#include "index/bf_index.h"

#include "miscadmin.h"
#include "storage/buffile.h"
#include "utils/guc.h"

/* It is remembered where every so many ranges begin. */
#define RANGES_A_MARK 64

typedef struct Mark
{
	int			file;
	off_t		offset;
} Mark;

struct BfTape
{
	BufFile    *file;
	int			columns;
	uint32		ranges;			/* that were written */
	uint64		bytes;			/* that they take */
	bool		ended;			/* nothing more is written */
	Mark	   *marks;
	uint32		room;			/* for so many marks */
	BfRowItems	items;			/* of the range that was read last */
};

BfTape *
bf_index_begin_tape(int columns)
{
	BfTape	   *tape = palloc0(sizeof(BfTape));

	tape->file = BufFileCreateTemp(false);
	tape->columns = columns;
	tape->room = 64;
	tape->marks = palloc(tape->room * sizeof(Mark));
	bf_index_begin_items(&tape->items, columns, CurrentMemoryContext);
	return tape;
}

/* Ends the tape if these items would exceed temp_file_limit, as far as the files of this tape alone do. */
static bool
has_room(BfTape *tape, const BfRangeItems *items)
{
	uint64		bytes = tape->columns;

	for (int column = 0; column < tape->columns; column++)
		bytes += items->counts[column];
	tape->bytes += bytes * sizeof(uint64);
	/* the file grows by whole blocks */
	tape->ended |= temp_file_limit >= 0 && tape->bytes + BLCKSZ > (uint64) temp_file_limit * 1024;
	return !tape->ended;
}

void
bf_index_write_tape(BfTape *tape, const BfRangeItems *items)
{
	if (!has_room(tape, items))
		return;
	Assert(items->range == tape->ranges);
	if (tape->ranges % RANGES_A_MARK == 0)
	{
		Mark	   *mark;

		if (tape->ranges / RANGES_A_MARK == tape->room)
		{
			tape->room *= 2;
			tape->marks = repalloc_huge(tape->marks, tape->room * sizeof(Mark));
		}
		mark = &tape->marks[tape->ranges / RANGES_A_MARK];
		BufFileTell(tape->file, &mark->file, &mark->offset);
	}
	BufFileWrite(tape->file, (void *) items->counts, tape->columns * sizeof(uint64));
	for (int column = 0; column < tape->columns; column++)
		BufFileWrite(tape->file, items->hashes[column], items->counts[column] * sizeof(uint64));
	tape->ranges++;
}

static void
read_exactly(BfTape *tape, void *to, Size size)
{
	if (BufFileRead(tape->file, to, size) != size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read the items of a range from a temporary file")));
}

/* Reads the items of the next range. */
static void
read_range(BfTape *tape)
{
	BfRowItems *items = &tape->items;
	uint64		counts[INDEX_MAX_KEYS];
	uint64		end = 0;

	CHECK_FOR_INTERRUPTS();
	read_exactly(tape, counts, tape->columns * sizeof(uint64));
	for (int column = 0; column < tape->columns; column++)
		items->end[column] = (uint32) (end += counts[column]);
	if (end > items->room)
	{
		items->hashes = repalloc_huge(items->hashes, end * sizeof(uint64));
		items->room = (uint32) end;
	}
	read_exactly(tape, items->hashes, end * sizeof(uint64));
}

void
bf_index_read_tape(BfTape *tape, uint32 first, uint32 end, void (*add) (const BfRowItems *items, void *argument), void *argument)
{
	const Mark *mark = &tape->marks[first / RANGES_A_MARK];
	uint32		range = first / RANGES_A_MARK * RANGES_A_MARK;

	Assert(end <= tape->ranges);
	if (BufFileSeek(tape->file, mark->file, mark->offset, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not find the items of a range in a temporary file")));
	for (; range < end; range++)
	{
		read_range(tape);
		if (range >= first)
			add(&tape->items, argument);
	}
}

uint32
bf_index_tape_length(const BfTape *tape)
{
	return tape->ranges;
}

void
bf_index_end_tape(BfTape *tape)
{
	BufFileClose(tape->file);
	pfree(tape->marks);
	pfree(tape->items.hashes);
	pfree(tape);
}
