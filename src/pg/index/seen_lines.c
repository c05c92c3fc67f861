/*
 * seen_lines.c: the lines of filters that a statement has seen.
 *
 * A text from a log has far more than a hundred grams (keys of some letters each). A group is the ranges that share
 * filter pages. The grams belong on nearly all pages of the group that has the row's range, and on the levels above
 * nearly all of them are there already. So a statement that writes several rows into the same ranges keeps copies of
 * the ranges' lines, and looks only at pages that it has not copied yet or that lack an item. Without the copies
 * 30,000 lines of a log that go into old pages take 16 % more CPU, arrays of six words 7 % (15.20).
 *
 * Why this is right: a bit that was seen under the page's lock stays until a summarizer clears it. A *summarizer* makes
 * the filters of ranges from the heap. It counts a *publication* on the meta page, makes the ranges placeholders, which
 * clears their bits, and counts another publication before it reads the heap. A writer uses the copies only if the
 * number of publications is still the one that it had read before it made them. It looks at that number for each row,
 * after the row was written into the heap. Let a summarizer clear a bit after it was seen. Then the summarizer counts
 * its second publication after that. If the writer sees this publication, it drops its copies. If not, the row was in
 * the heap before the summarizer began to read, so the summarizer finds it there. A range that was seen unsummarized or
 * full needs no bits until a summarizer makes it a placeholder; so it is treated as if all of its bits were set.
 */
#include "index/seen_lines.h"

#include "miscadmin.h"
#include "utils/memutils.h"

/* The most bytes of lines that are kept of a column and a level. */
#define MOST_KEPT (256 * 1024)

/*
 * The bytes that all statements of this session keep, for all their indexes. They are at most work_mem, since a COPY
 * may write into a thousand partitions.
 */
static Size kept_by_session = 0;

/*
 * Subtracts a statement's bytes from kept_by_session. PostgreSQL calls this before it frees the context, with
 * `memory` in it.
 */
static void
end_seen(void *argument)
{
	const BfSeenMemory *memory = argument;

	kept_by_session -= memory->bytes;
}

BfSeenMemory *
bf_index_begin_seen(MemoryContext context)
{
	BfSeenMemory *memory = MemoryContextAllocZero(context, sizeof(BfSeenMemory));

	memory->context = context;
	memory->end.func = end_seen;
	memory->end.arg = memory;
	MemoryContextRegisterResetCallback(context, &memory->end);
	return memory;
}

static inline Size
lacking(Size room, Size wanted)
{
	return wanted - Min(room, wanted);
}

/* Returns an area with room for at least `wanted` bytes: `area` itself, or a larger one in its place. */
static void *
with_room(BfSeenMemory *memory, void *area, Size *room, Size wanted)
{
	const Size	more = lacking(*room, wanted);

	if (more == 0)
		return area;
	area = area == NULL ? MemoryContextAlloc(memory->context, wanted) : repalloc(area, wanted);
	*room = wanted;
	memory->bytes += more;
	kept_by_session += more;
	return area;
}

BfSeenLines *
bf_index_seen_lines(BfSeenLines *seen, const BfGeometry *geometry, const BfGroup *group, int column, uint32 range,
					 BfSeenMemory *memory)
{
	const uint32 lines = group->lines[column];
	const uint32 at_once = Min(MOST_KEPT / SB_BF_LINE / lines, group->ranges);
	const BlockNumber run = bf_index_column_start(group, column);
	const uint32 pages = bf_index_column_pages(group, column);
	const Size	size = (Size) lines * at_once * SB_BF_LINE;

	if (at_once == 0)
		return NULL;
	if (seen->run != run || seen->first_range != range - range % at_once ||
		seen->publications != geometry->publications)
	{
		seen->publications = geometry->publications;
		seen->run = run;
		seen->first_range = range - range % at_once;
		seen->ranges = Min(at_once, group->ranges - seen->first_range);
		seen->positions = group->positions;
		seen->kept = false;
		return NULL;
	}
	if (seen->kept)
		return seen;
	if (kept_by_session + lacking(seen->page_room, pages) + lacking(seen->room, size) > (Size) work_mem * 1024)
		return NULL;
	seen->pages = with_room(memory, seen->pages, &seen->page_room, pages);
	seen->lines = with_room(memory, seen->lines, &seen->room, size);
	memset(seen->pages, false, pages);
	seen->kept = true;
	return seen;
}

static unsigned char *
seen_line(const BfSeenLines *seen, uint32 line, uint32 range)
{
	return seen->lines + ((Size) line * seen->ranges + range - seen->first_range) * SB_BF_LINE;
}

bool
bf_index_was_seen(const BfSeenLines *seen, uint32 page, uint32 range, const BfAddition *additions, uint32 count,
				  int hash_count)
{
	if (!seen->pages[page])
		return false;
	for (uint32 i = 0; i < count; i++)
		if (!sb_bf_line_contains(seen_line(seen, additions[i].line, range), hash_count, additions[i].hash))
			return false;
	return true;
}

void
bf_index_see_page(BfSeenLines *seen, uint32 page, BfFilterPage *content)
{
	for (uint32 position = 0; position < seen->positions; position++)
	{
		unsigned char *lines = seen_line(seen, page * seen->positions + position, seen->first_range);

		memcpy(lines, bf_index_line(content, position, seen->first_range), (Size) seen->ranges * SB_BF_LINE);
		for (uint32 i = 0; i < seen->ranges; i++)
		{
			uint8		state = content->states[seen->first_range + i];

			if (state == BF_UNSUMMARIZED || state == BF_FULL)
				memset(lines + i * SB_BF_LINE, 0xff, SB_BF_LINE);
		}
	}
	seen->pages[page] = true;
}

void
bf_index_see_bits(BfSeenLines *seen, uint32 page, BfFilterPage *content, uint32 range, const BfLineBits *lines,
				  uint32 count)
{
	if (!seen->pages[page])
		return;
	for (uint32 i = 0; i < count; i++)
		memcpy(seen_line(seen, lines[i].line, range),
			   bf_index_line(content, lines[i].line % seen->positions, range), SB_BF_LINE);
}
