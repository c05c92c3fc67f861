/*
 * seen_lines.c: the lines of filters that a statement has seen.
 *
 * A line of a log has far more than a hundred grams, which belong on nearly all pages of its group; and on the
 * levels above nearly all of them are there already. So a statement that writes several rows into the same ranges
 * keeps copies of their lines, and looks only at the pages that lack an item.
 *
 * Why this is right: a bit that was seen under the page's lock stays until a summarizer clears it. A summarizer
 * counts a publication before it writes placeholders and one after that, before it reads the heap. The copies are
 * used only if nothing was published since before they were made, which is looked at for each row after it was
 * written into the heap. Let a summarizer clear the bit after it was seen. Then it counts the second publication
 * after that. If this was counted when the writer looked, the writer saw it, and dropped its copies. If it was not,
 * the row was in the heap before the summarizer began to read, which finds it there. A range that was seen
 * unsummarized or full needs no bits until a summarizer makes it a placeholder; so it is as if all of its bits were
 * known to be set.
 */
#include "index/seen_lines.h"

#include "miscadmin.h"
#include "utils/memutils.h"

/* The most bytes of lines that are kept of a column and a level. */
#define MOST_KEPT (256 * 1024)

/*
 * What all statements of this session keep, of all their indexes: a COPY may write into a thousand partitions. It is at
 * most work_mem.
 */
static Size kept_by_session = 0;

/* A callback of the memory context, whose memory is still there. */
static void
end_known(void *argument)
{
	const BfKnownMemory *memory = argument;

	kept_by_session -= memory->bytes;
}

BfKnownMemory *
bf_index_begin_known(MemoryContext context)
{
	BfKnownMemory *memory = MemoryContextAllocZero(context, sizeof(BfKnownMemory));

	memory->context = context;
	memory->end.func = end_known;
	memory->end.arg = memory;
	MemoryContextRegisterResetCallback(context, &memory->end);
	return memory;
}

static inline Size
lacking(Size room, Size wanted)
{
	return wanted - Min(room, wanted);
}

/* The area, with room for so much. What was in it may be gone. */
static void *
with_room(BfKnownMemory *memory, void *area, Size *room, Size wanted)
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

BfKnownLines *
bf_index_known_lines(BfKnownLines *known, const BfGeometry *geometry, const BfGroup *group, int column, uint32 range,
					 BfKnownMemory *memory)
{
	const uint32 lines = group->lines[column];
	const uint32 at_once = Min(MOST_KEPT / SB_BF_LINE / lines, group->ranges);
	const BlockNumber run = bf_index_column_start(group, column);
	const uint32 pages = bf_index_column_pages(group, column);
	const Size	size = (Size) lines * at_once * SB_BF_LINE;

	if (at_once == 0)
		return NULL;
	if (known->run != run || known->first_range != range - range % at_once ||
		known->publications != geometry->publications)
	{
		known->publications = geometry->publications;
		known->run = run;
		known->first_range = range - range % at_once;
		known->ranges = Min(at_once, group->ranges - known->first_range);
		known->positions = group->positions;
		known->kept = false;
		return NULL;
	}
	if (known->kept)
		return known;
	if (kept_by_session + lacking(known->page_room, pages) + lacking(known->room, size) > (Size) work_mem * 1024)
		return NULL;
	known->pages = with_room(memory, known->pages, &known->page_room, pages);
	known->lines = with_room(memory, known->lines, &known->room, size);
	memset(known->pages, false, pages);
	known->kept = true;
	return known;
}

static unsigned char *
known_line(const BfKnownLines *known, uint32 line, uint32 range)
{
	return known->lines + ((Size) line * known->ranges + range - known->first_range) * SB_BF_LINE;
}

bool
bf_index_is_known(const BfKnownLines *known, uint32 page, uint32 range, const BfAddition *additions, uint32 count,
				  int hash_count)
{
	if (!known->pages[page])
		return false;
	for (uint32 i = 0; i < count; i++)
		if (!sb_bf_line_contains(known_line(known, additions[i].line, range), hash_count, additions[i].hash))
			return false;
	return true;
}

void
bf_index_know_page(BfKnownLines *known, uint32 page, BfFilterPage *content)
{
	for (uint32 position = 0; position < known->positions; position++)
	{
		unsigned char *lines = known_line(known, page * known->positions + position, known->first_range);

		memcpy(lines, bf_index_line(content, position, known->first_range), (Size) known->ranges * SB_BF_LINE);
		for (uint32 i = 0; i < known->ranges; i++)
		{
			uint8		state = content->states[known->first_range + i];

			if (state == BF_UNSUMMARIZED || state == BF_FULL)
				memset(lines + i * SB_BF_LINE, 0xff, SB_BF_LINE);
		}
	}
	known->pages[page] = true;
}

void
bf_index_know_additions(BfKnownLines *known, uint32 page, BfFilterPage *content, uint32 range,
						const BfAddition *additions, uint32 count)
{
	if (!known->pages[page])
		return;
	for (uint32 i = 0; i < count; i++)
		memcpy(known_line(known, additions[i].line, range),
			   bf_index_line(content, additions[i].line % known->positions, range), SB_BF_LINE);
}
