/*
 * tape.c: a tape keeps the items of the ranges of level 0, the shortest ones, while an index is built. The levels above
 * are made from them, so the heap need not be read again. Workers hand the items that they have read to the leader in
 * the same way. The items lie in temporary files, range after range: for each range a header, the number of its items
 * in each column, and then their hashes. Reading can begin at a *batch*, which is a number of consecutive ranges.
 *
 * If temp_file_limit has no room for more, nothing more is written, and the ranges that are missing are read from the
 * heap again.
 *
 * A tape is for builds only. VACUUM and the SQL functions make filters while rows are written. They mark a range as
 * being summarized (a placeholder), and must read the heap after that.
 */
#include "index/tape.h"

#include "miscadmin.h"
#include "storage/buffile.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "index/heap.h"
#include "index/items.h"

/* What is written of a range before its items: its BfRangeItems (heap.h), up to the counts of so many columns. */
static inline Size
header_size(int columns)
{
	return offsetof(BfRangeItems, counts) + columns * sizeof(uint64);
}

struct BfTapeWriter
{
	SharedFileSet *files;
	int			columns;
	BufFile    *file;			/* NULL between batches */
	uint32		batch;		/* the one that is being written */
	uint64		bytes;			/* bytes that this process has written, in all batches */
	bool		ended;			/* nothing more is written */
};

/*
 * A tape that one process writes is one file. RANGES_A_MARK ranges of it are called a batch, too, and a mark says where
 * a batch begins in the file.
 */
typedef struct Mark
{
	int			segment;
	off_t		offset;
} Mark;

/* The number of ranges in a batch of a tape that one process writes. */
#define RANGES_A_MARK 64

struct BfTape
{
	int			columns;
	uint32		batch_size;		/* how many ranges a batch has */
	uint32		ranges;			/* how many can be read, from range 0 on */
	BfRowItems	items;			/* the items of the range that was read last */
	BufFile    *file;			/* the whole tape, or the batch that is being read */
	uint64		next;			/* the range that comes next in the file; beyond all ranges if that is not known */

	/* of a tape that one process writes */
	BfTapeWriter own;
	Mark	   *marks;
	uint32		room;			/* the number of marks that there is room for */

	/* of a tape of batches that several processes write; else NULL */
	SharedFileSet *files;
};

/* ------------------------------------------------------------------------ writing */

/*
 * Is there room for these items below temp_file_limit? Only what this writer has written counts. If there is no room,
 * the writer writes nothing more from now on.
 */
static bool
has_room(BfTapeWriter *writer, const BfRangeItems *items)
{
	writer->bytes += header_size(writer->columns);
	for (int column = 0; column < writer->columns; column++)
		writer->bytes += items->counts[column] * sizeof(uint64);
	/* a file grows by whole blocks */
	writer->ended |= temp_file_limit >= 0 && writer->bytes + BLCKSZ > (uint64) temp_file_limit * 1024;
	return !writer->ended;
}

static void
write_range(BfTapeWriter *writer, const BfRangeItems *items)
{
	BufFileWrite(writer->file, (void *) items, header_size(writer->columns));
	for (int column = 0; column < writer->columns; column++)
		BufFileWrite(writer->file, items->hashes[column], items->counts[column] * sizeof(uint64));
}

static void
name_batch(char *name, uint32 batch)
{
	snprintf(name, MAXPGPATH, "%u", batch);
}

BfTapeWriter *
bf_index_begin_tape_writer(SharedFileSet *files, int columns)
{
	BfTapeWriter *writer = palloc0(sizeof(BfTapeWriter));

	writer->files = files;
	writer->columns = columns;
	return writer;
}

void
bf_index_begin_batch(BfTapeWriter *writer, uint32 batch)
{
	char		name[MAXPGPATH];

	Assert(writer->file == NULL && !writer->ended);
	name_batch(name, batch);
	writer->file = BufFileCreateFileSet(&writer->files->fs, name);
	writer->batch = batch;
	/* the last block of a file counts in full, however little is in it */
	writer->bytes += BLCKSZ;
}

bool
bf_index_write_range(BfTapeWriter *writer, const BfRangeItems *items)
{
	char		name[MAXPGPATH];

	if (has_room(writer, items))
	{
		write_range(writer, items);
		return true;
	}
	BufFileClose(writer->file);
	writer->file = NULL;
	name_batch(name, writer->batch);
	/* There is no file yet if all that was written fits into the buffer in memory. */
	BufFileDeleteFileSet(&writer->files->fs, name, true);
	return false;
}

void
bf_index_end_batch(BfTapeWriter *writer)
{
	BufFileExportFileSet(writer->file);
	BufFileClose(writer->file);
	writer->file = NULL;
}

/* -------------------------------------------------------------------------- a tape */

static BfTape *
make_tape(int columns, uint32 batch_size)
{
	BfTape	   *tape = palloc0(sizeof(BfTape));

	tape->columns = columns;
	tape->batch_size = batch_size;
	tape->next = PG_UINT64_MAX;
	bf_index_begin_items(&tape->items, columns, CurrentMemoryContext);
	return tape;
}

BfTape *
bf_index_begin_tape(int columns)
{
	BfTape	   *tape = make_tape(columns, RANGES_A_MARK);

	tape->file = tape->own.file = BufFileCreateTemp(false);
	tape->own.columns = columns;
	tape->room = 64;
	tape->marks = palloc(tape->room * sizeof(Mark));
	return tape;
}

void
bf_index_write_tape(BfTape *tape, const BfRangeItems *items)
{
	if (tape->own.ended || !has_room(&tape->own, items))
		return;
	Assert(items->range == tape->ranges);
	if (tape->ranges % tape->batch_size == 0)
	{
		Mark	   *mark;

		if (tape->ranges / tape->batch_size == tape->room)
		{
			tape->room *= 2;
			tape->marks = repalloc_huge(tape->marks, tape->room * sizeof(Mark));
		}
		mark = &tape->marks[tape->ranges / tape->batch_size];
		BufFileTell(tape->file, &mark->segment, &mark->offset);
	}
	write_range(&tape->own, items);
	tape->ranges++;
}

BfTape *
bf_index_open_tape(SharedFileSet *files, int columns, uint32 batch_size)
{
	BfTape	   *tape = make_tape(columns, batch_size);

	tape->files = files;
	return tape;
}

uint32
bf_index_tape_length(const BfTape *tape)
{
	return tape->ranges;
}

void
bf_index_set_tape_length(BfTape *tape, uint32 ranges)
{
	tape->ranges = ranges;
}

void
bf_index_end_tape(BfTape *tape)
{
	if (tape->file != NULL)
		BufFileClose(tape->file);
	if (tape->marks != NULL)
		pfree(tape->marks);
	pfree(tape->items.hashes);
	pfree(tape);
}

/* ------------------------------------------------------------------------- reading */

static void
read_exactly(BfTape *tape, void *to, Size size)
{
	if (BufFileRead(tape->file, to, size) != size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read the items of a range from a temporary file")));
}

static void
report_not_found(void)
{
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not find the items of a range in a temporary file")));
}

/* Goes to the beginning of a batch. */
static void
find_batch(BfTape *tape, uint32 batch)
{
	if (tape->files != NULL)
	{
		MemoryContext caller = MemoryContextSwitchTo(GetMemoryChunkContext(tape));
		char		name[MAXPGPATH];

		if (tape->file != NULL)
			BufFileClose(tape->file);
		name_batch(name, batch);
		tape->file = BufFileOpenFileSet(&tape->files->fs, name, O_RDONLY, false);
		MemoryContextSwitchTo(caller);
	}
	else if (BufFileSeek(tape->file, tape->marks[batch].segment, tape->marks[batch].offset, SEEK_SET) != 0)
		report_not_found();
}

/* Reads what is known of a range and the numbers of its items. Its hashes follow in the file. */
static void
read_counts(BfTape *tape, uint32 range, BfRangeItems *items)
{
	CHECK_FOR_INTERRUPTS();
	if (range % tape->batch_size == 0)
		find_batch(tape, range / tape->batch_size);
	read_exactly(tape, items, header_size(tape->columns));
	Assert(items->range == range);
	tape->next = (uint64) range + 1;
}

/* Reads the items of a range. REQUIRES: all ranges before it in its batch have been read or passed. */
static void
read_range(BfTape *tape, uint32 range)
{
	BfRowItems *items = &tape->items;
	BfRangeItems of_range;
	uint64		end = 0;

	read_counts(tape, range, &of_range);
	for (int column = 0; column < tape->columns; column++)
		items->end[column] = (uint32) (end += of_range.counts[column]);
	if (end > items->room)
	{
		items->hashes = repalloc_huge(items->hashes, end * sizeof(uint64));
		items->room = (uint32) end;
	}
	read_exactly(tape, items->hashes, end * sizeof(uint64));
}

/* Reads past a range. REQUIRES: all ranges before it in its batch have been read or passed. */
static void
pass_range(BfTape *tape, uint32 range)
{
	BfRangeItems of_range;
	off_t		bytes = 0;

	read_counts(tape, range, &of_range);
	for (int column = 0; column < tape->columns; column++)
		bytes += of_range.counts[column] * sizeof(uint64);
	if (BufFileSeek(tape->file, 0, bytes, SEEK_CUR) != 0)
		report_not_found();
}

/* Makes `range` the next one to be read: passes the ranges before it in its batch. */
static void
go_to(BfTape *tape, uint32 range)
{
	const uint32 begin = range / tape->batch_size * tape->batch_size;

	for (uint32 passed = tape->next > begin && tape->next <= range ? tape->next : begin; passed < range; passed++)
		pass_range(tape, passed);
}

void
bf_index_range_from_tape(BfTape *tape, uint32 range, BfRangeItems *items)
{
	go_to(tape, range);
	read_counts(tape, range, items);
	for (int column = 0; column < tape->columns; column++)
	{
		Size		bytes = items->counts[column] * sizeof(uint64);

		items->hashes[column] = palloc_extended(Max(bytes, 1), MCXT_ALLOC_HUGE);
		read_exactly(tape, items->hashes[column], bytes);
	}
}

void
bf_index_read_tape(BfTape *tape, uint32 first, uint32 end, void (*add) (const BfRowItems *items, void *argument),
				   void *argument)
{
	Assert(end <= tape->ranges);
	if (first >= end)
		return;
	go_to(tape, first);
	for (uint32 range = first; range < end; range++)
	{
		read_range(tape, range);
		add(&tape->items, argument);
	}
}
