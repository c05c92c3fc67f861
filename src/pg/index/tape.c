/*
 * tape.c: keeps the items of the ranges of level 0 while an index is built, so that the levels above need not read the heap
 * again, nor take its values apart again; and so that workers can hand what they have read to the leader. The items lie in
 * temporary files, range after range: for each range what is known of it, the number of its items in each column, and then
 * their hashes.
 *
 * If temp_file_limit has no room for more, a file ends, and the ranges that it lacks are read from the heap again.
 *
 * A tape is for builds only. Whoever summarizes beside writers must read the heap after its placeholders are written.
 */
#include "index/tape.h"

#include "miscadmin.h"
#include "storage/buffile.h"
#include "utils/guc.h"

/* What is written of a range before its items. */
typedef struct RangeHeader
{
	double		share;
	uint64		most_expected;
	uint64		horizon;
	uint32		range;
	bool		full;
} RangeHeader;

struct BfTapeFile
{
	BufFile    *file;
	int			writer;
	int			columns;
	uint64		bytes;			/* that the ranges take */
	bool		ended;			/* nothing more is written */
};

/* A tape that one process writes has a mark for every so many ranges. */
#define RANGES_A_MARK 64

struct BfTape
{
	int			columns;
	uint32		stretch;		/* ranges of a mark */
	uint32		ranges;			/* that were written; with gaps, where a stretch was not */
	uint32		complete;		/* ranges before the first gap */
	BfTapeMark *marks;
	uint32		room;			/* for so many marks */
	BufFile   **files;			/* by writer */
	int			writers;
	BfTapeFile	own;			/* the file that is written, if one process writes the tape */
	BfRowItems	items;			/* of the range that was read last */
	uint64		next;			/* the range behind that one; beyond all ranges if none was read */
};

/* ------------------------------------------------------------ one file of a tape */

static void
name_file(char *name, int writer)
{
	snprintf(name, MAXPGPATH, "%d", writer);
}

BfTapeFile *
bf_index_begin_tape_file(SharedFileSet *files, int writer, int columns)
{
	BfTapeFile *file = palloc0(sizeof(BfTapeFile));
	char		name[MAXPGPATH];

	name_file(name, writer);
	file->file = BufFileCreateFileSet(&files->fs, name);
	file->writer = writer;
	file->columns = columns;
	return file;
}

BfTapeMark
bf_index_tape_mark(const BfTapeFile *file)
{
	BfTapeMark	mark = {.writer = file->writer};

	BufFileTell(file->file, &mark.segment, &mark.offset);
	return mark;
}

/* Ends the file if these items would exceed temp_file_limit, as far as this file alone does. */
static bool
has_room(BfTapeFile *file, const BfRangeItems *items)
{
	uint64		numbers = file->columns;

	for (int column = 0; column < file->columns; column++)
		numbers += items->counts[column];
	file->bytes += sizeof(RangeHeader) + numbers * sizeof(uint64);
	/* the file grows by whole blocks */
	file->ended |= temp_file_limit >= 0 && file->bytes + BLCKSZ > (uint64) temp_file_limit * 1024;
	return !file->ended;
}

bool
bf_index_write_to_file(BfTapeFile *file, const BfRangeItems *items)
{
	RangeHeader header = {
		.share = items->share,
		.most_expected = items->most_expected,
		.horizon = items->horizon,
		.range = items->range,
		.full = items->full
	};

	if (!has_room(file, items))
		return false;
	BufFileWrite(file->file, &header, sizeof header);
	BufFileWrite(file->file, (void *) items->counts, file->columns * sizeof(uint64));
	for (int column = 0; column < file->columns; column++)
		BufFileWrite(file->file, items->hashes[column], items->counts[column] * sizeof(uint64));
	return true;
}

void
bf_index_finish_tape_file(BfTapeFile *file)
{
	BufFileExportFileSet(file->file);
	BufFileClose(file->file);
	pfree(file);
}

/* ------------------------------------------------------------------------ a tape */

static BfTape *
make_tape(int columns, uint32 stretch, uint32 marks, int writers)
{
	BfTape	   *tape = palloc0(sizeof(BfTape));

	tape->columns = columns;
	tape->stretch = stretch;
	tape->room = Max(marks, 1);
	tape->marks = palloc_extended(tape->room * sizeof(BfTapeMark), MCXT_ALLOC_HUGE);
	tape->writers = writers;
	tape->files = palloc(writers * sizeof(BufFile *));
	tape->next = PG_UINT64_MAX;
	bf_index_begin_items(&tape->items, columns, CurrentMemoryContext);
	return tape;
}

BfTape *
bf_index_begin_tape(int columns)
{
	BfTape	   *tape = make_tape(columns, RANGES_A_MARK, 64, 1);

	tape->own.file = tape->files[0] = BufFileCreateTemp(false);
	tape->own.columns = columns;
	return tape;
}

void
bf_index_write_tape(BfTape *tape, const BfRangeItems *items)
{
	BfTapeMark	mark = bf_index_tape_mark(&tape->own);

	if (tape->own.ended || !bf_index_write_to_file(&tape->own, items))
		return;
	Assert(items->range == tape->ranges);
	if (tape->ranges % tape->stretch == 0)
	{
		uint32		stretch = tape->ranges / tape->stretch;

		if (stretch == tape->room)
		{
			tape->room *= 2;
			tape->marks = repalloc_huge(tape->marks, tape->room * sizeof(BfTapeMark));
		}
		tape->marks[stretch] = mark;
	}
	tape->complete = ++tape->ranges;
}

BfTape *
bf_index_open_tape(SharedFileSet *files, int writers, int columns, uint32 ranges, uint32 stretch, const BfTapeMark *marks)
{
	const uint32 stretches = ranges / stretch + (ranges % stretch != 0);
	BfTape	   *tape = make_tape(columns, stretch, stretches, writers);

	tape->ranges = ranges;
	memcpy(tape->marks, marks, stretches * sizeof(BfTapeMark));
	for (int writer = 0; writer < writers; writer++)
	{
		char		name[MAXPGPATH];

		name_file(name, writer);
		/* A worker that was not started has no file. */
		tape->files[writer] = BufFileOpenFileSet(&files->fs, name, O_RDONLY, true);
	}
	while (bf_index_tape_has(tape, tape->complete))
		tape->complete += Min(stretch, ranges - tape->complete);
	return tape;
}

bool
bf_index_tape_has(const BfTape *tape, uint32 range)
{
	return range < tape->ranges && tape->marks[range / tape->stretch].writer >= 0;
}

uint32
bf_index_tape_length(const BfTape *tape)
{
	return tape->complete;
}

static void
read_exactly(BufFile *file, void *to, Size size)
{
	if (BufFileRead(file, to, size) != size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read the items of a range from a temporary file")));
}

/* Reads what is known of a range and the numbers of its items. Its hashes follow in the file, which is the result. */
static BufFile *
read_counts(BfTape *tape, uint32 range, RangeHeader *header, uint64 *counts)
{
	const BfTapeMark *mark = &tape->marks[range / tape->stretch];
	BufFile    *file = tape->files[mark->writer];

	CHECK_FOR_INTERRUPTS();
	if (range % tape->stretch == 0 && BufFileSeek(file, mark->segment, mark->offset, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not find the items of a range in a temporary file")));
	read_exactly(file, header, sizeof *header);
	read_exactly(file, counts, tape->columns * sizeof(uint64));
	Assert(header->range == range);
	tape->next = (uint64) range + 1;
	return file;
}

/* Reads the items of a range. All that were written before it in its stretch have been read. */
static void
read_range(BfTape *tape, uint32 range)
{
	BfRowItems *items = &tape->items;
	RangeHeader header;
	uint64		counts[INDEX_MAX_KEYS];
	BufFile    *file = read_counts(tape, range, &header, counts);
	uint64		end = 0;

	for (int column = 0; column < tape->columns; column++)
		items->end[column] = (uint32) (end += counts[column]);
	if (end > items->room)
	{
		items->hashes = repalloc_huge(items->hashes, end * sizeof(uint64));
		items->room = (uint32) end;
	}
	read_exactly(file, items->hashes, end * sizeof(uint64));
}

/* Passes the ranges between the beginning of its stretch and this one. */
static void
go_to(BfTape *tape, uint32 range)
{
	if (range == tape->next)
		return;
	for (uint32 passed = range / tape->stretch * tape->stretch; passed < range; passed++)
		read_range(tape, passed);
}

void
bf_index_range_from_tape(BfTape *tape, uint32 range, BfRangeItems *items)
{
	RangeHeader header;
	BufFile    *file;

	go_to(tape, range);
	file = read_counts(tape, range, &header, items->counts);
	items->range = range;
	items->columns = tape->columns;
	items->full = header.full;
	items->share = header.share;
	items->most_expected = header.most_expected;
	items->horizon = header.horizon;
	for (int column = 0; column < tape->columns; column++)
	{
		Size		bytes = items->counts[column] * sizeof(uint64);

		items->hashes[column] = palloc_extended(Max(bytes, 1), MCXT_ALLOC_HUGE);
		read_exactly(file, items->hashes[column], bytes);
	}
}

void
bf_index_read_tape(BfTape *tape, uint32 first, uint32 end, void (*add) (const BfRowItems *items, void *argument), void *argument)
{
	Assert(end <= bf_index_tape_length(tape));
	if (first >= end)
		return;
	go_to(tape, first);
	for (uint32 range = first; range < end; range++)
	{
		read_range(tape, range);
		add(&tape->items, argument);
	}
}

void
bf_index_end_tape(BfTape *tape)
{
	for (int writer = 0; writer < tape->writers; writer++)
		if (tape->files[writer] != NULL)
			BufFileClose(tape->files[writer]);
	pfree(tape->files);
	pfree(tape->marks);
	pfree(tape->items.hashes);
	pfree(tape);
}
