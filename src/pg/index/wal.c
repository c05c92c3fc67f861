/*
 * wal.c: sets bits in lines of a filter page, or takes its lines into use, and logs the change.
 *
 * The change is logged as a *generic WAL record*, which PostgreSQL offers to access methods that have no resource
 * manager of their own. For each page such a record holds either a full-page image, or a list of fragments: offset,
 * length and the new bytes. Replay (generic_redo() in generic_xlog.c) copies the fragments into the page, clears what
 * lies between pd_lower and pd_upper, and sets the page's LSN. It knows nothing of what the page means, and needs no
 * code of this library: a standby and crash recovery replay such records without loading it.
 *
 * Everywhere else this extension writes these records with GenericXLogStart(), GenericXLogRegisterBuffer() and
 * GenericXLogFinish(). Here the record is put together by hand, in the same format, because this is done for each row
 * that brings a new item:
 *
 * - GenericXLogStart() allocates 66 kB (four page images and four deltas), and GenericXLogRegisterBuffer() copies the
 *   page into one of them.
 * - GenericXLogFinish() compares the page and its copy byte by byte to find out what has changed, and copies the
 *   whole page back.
 * - When pd_lower grows, GenericXLogFinish() logs all bytes between the old and the new pd_lower, also those that are
 *   zero before and after.
 *
 * All this doubles the WAL of a group that is made for future ranges. With GenericXLogFinish() 700,000 integers that go
 * into old pages take 6.9 times the CPU (9.1 microseconds a row, not 1.3; 15.20), and the lines of a log with gram_ops
 * 1.8 times. Here it is known which bytes can change: those of a few lines of 64 bytes, or those of pd_lower.
 *
 * The record has to satisfy these conditions:
 *
 * - It has the fragments in the format that applyPageRedo() reads: append_fragments() writes them.
 * - All fragments lie below pd_lower, because replay clears what lies above it. bf_index_is_filter_page() has checked
 *   pd_lower. Bits are only set for a range that is summarized or a placeholder, and on a page with such a range the
 *   lines lie below pd_lower. The space above pd_lower is zero already: the page was made that way. So when pd_lower
 *   grows, the bytes that it passes need not be logged.
 * - The page is changed, marked dirty, registered, logged and given its LSN in one critical section, under the
 *   exclusive lock of the buffer, in this order.
 * - XLogInsert() decides about full-page images. REGBUF_STANDARD lets it leave out the space between pd_lower and
 *   pd_upper. If it logs an image, as for the first change of the page after a checkpoint, it leaves out the
 *   fragments, because the image already has the change. wal_consistency_checking works as for all generic records.
 * - Only the first four blocks of a record may be used (MAX_GENERIC_XLOG_PAGES). XLogBeginInsert() has room for them.
 *   Pages of one record are locked in the order of their blocks, and nothing else locks two filter pages at once.
 *
 * The format has not changed since generic WAL came with PostgreSQL 9.6. A record is replayed by the major version that
 * wrote it, so only the server's own generic_redo() has to understand it. The sources of 15 were compared with those of
 * earlier versions. On 15, 17, 18 and 19 such records are replayed by test/tap/kill_nine.pl (after a crash), and by
 * test/attack/030_standby.pl (on a standby that compares each page with the primary's, by wal_consistency_checking).
 * These tests were not run on 16, which is taken to be like 15 and 17. From 20 on GenericXLogFinish() is used here too,
 * until the tests are run there. It is slower, but correct by definition.
 */
#include "index/wal.h"

#include "access/generic_xlog.h"
#include "access/xloginsert.h"
#include "access/rmgr.h"
#include "miscadmin.h"

#include "index/layout.h"

/* Is this version one whose generic records are known (see above)? */
#define KNOWN_GENERIC_RECORDS (PG_VERSION_NUM < 200000)

/* Bytes of a page (`to`), and the bytes by which they are replaced (`from`). */
typedef struct Change
{
	unsigned char *to;
	const unsigned char *from;
	int			size;
} Change;

/* The changes of a page. */
typedef struct PageChanges
{
	Buffer		buffer;
	Change	   *changes;
	int			count;
} PageChanges;

#if KNOWN_GENERIC_RECORDS

/* What stands before the bytes of a fragment: their offset on the page, and how many they are. */
#define FRAGMENT_HEADER (2 * (int) sizeof(OffsetNumber))

/* Appends the fragments for a change to the record's data, and returns the new end. */
static char *
append_fragments(char *end, Page page, const Change *change)
{
	for (int i = 0; i < change->size; i++)
	{
		OffsetNumber header[2];
		int			last = i;

		if (change->to[i] == change->from[i])
			continue;
		for (int next = i + 1; next < change->size && next - last <= FRAGMENT_HEADER + 1; next++)
			if (change->to[next] != change->from[next])
				last = next;
		header[0] = (OffsetNumber) (&change->to[i] - (unsigned char *) page);
		header[1] = (OffsetNumber) (last - i + 1);
		memcpy(end, header, sizeof header);
		memcpy(end + sizeof header, &change->from[i], header[1]);
		end += sizeof header + header[1];
		i = last;
	}
	return end;
}

/*
 * The most bytes that the fragments of a page take. Changed bytes that are close to each other are one fragment, with
 * the bytes between them. Only if more bytes lie between them than a header takes, another fragment begins. So a
 * change takes at most one header more than its own size.
 */
static Size
most_delta(const PageChanges *page)
{
	Size		most = 0;

	for (int i = 0; i < page->count; i++)
		most += FRAGMENT_HEADER + page->changes[i].size;
	return most;
}

/* Changes pages, and logs that in one record. */
static void
change_pages(Relation index, const PageChanges *pages, int count)
{
	const bool	logged = RelationNeedsWAL(index);
	char	   *delta[MAX_GENERIC_XLOG_PAGES];
	int			size[MAX_GENERIC_XLOG_PAGES];
	XLogRecPtr	lsn;

	for (int i = 0; i < count && logged; i++)
	{
		char	   *end = delta[i] = palloc(most_delta(&pages[i]));

		for (int k = 0; k < pages[i].count; k++)
			end = append_fragments(end, BufferGetPage(pages[i].buffer), &pages[i].changes[k]);
		size[i] = end - delta[i];
	}
	if (logged)
		XLogBeginInsert();
	START_CRIT_SECTION();
	for (int i = 0; i < count; i++)
	{
		for (int k = 0; k < pages[i].count; k++)
			memcpy(pages[i].changes[k].to, pages[i].changes[k].from, pages[i].changes[k].size);
		MarkBufferDirty(pages[i].buffer);
		if (logged)
		{
			XLogRegisterBuffer(i, pages[i].buffer, REGBUF_STANDARD);
			XLogRegisterBufData(i, delta[i], size[i]);
		}
	}
	if (logged)
	{
		lsn = XLogInsert(RM_GENERIC_ID, 0);
		for (int i = 0; i < count; i++)
			PageSetLSN(BufferGetPage(pages[i].buffer), lsn);
	}
	END_CRIT_SECTION();
	for (int i = 0; i < count && logged; i++)
		pfree(delta[i]);
}
#else

static void
change_pages(Relation index, const PageChanges *pages, int count)
{
	GenericXLogState *xlog = GenericXLogStart(index);

	for (int i = 0; i < count; i++)
	{
		unsigned char *page = (unsigned char *) BufferGetPage(pages[i].buffer);
		unsigned char *image = (unsigned char *) GenericXLogRegisterBuffer(xlog, pages[i].buffer, 0);

		for (int k = 0; k < pages[i].count; k++)
			memcpy(image + (pages[i].changes[k].to - page), pages[i].changes[k].from, pages[i].changes[k].size);
	}
	GenericXLogFinish(xlog);
}
#endif

void
bf_index_take_lines(Relation index, Buffer buffer, const BfGroup *group)
{
	LocationIndex *lower = &((PageHeader) BufferGetPage(buffer))->pd_lower;
	const LocationIndex wanted = bf_index_lower_with_lines(group);
	Change		change = {.to = (unsigned char *) lower, .from = (const unsigned char *) &wanted,
						  .size = sizeof wanted};

	if (*lower != wanted)
		change_pages(index, &(PageChanges) {.buffer = buffer, .changes = &change, .count = 1}, 1);
}

/*
 * Adds the bits that the lines have on the page to page->lines. Returns the changes, still to be made, which write
 * these lines to the page.
 */
static PageChanges
changes_of(const BfPageBits *page, uint32 range)
{
	BfFilterPage *content = (BfFilterPage *) PageGetContents(BufferGetPage(page->buffer));
	PageChanges these = {
		.buffer = page->buffer,
		.changes = palloc(page->count * sizeof(Change)),
		.count = page->count
	};

	for (uint32 i = 0; i < page->count; i++)
	{
		BfLineBits *line = &page->lines[i];
		unsigned char *to = bf_index_line(content, line->line - content->first_line, range);

		for (int byte = 0; byte < SB_BF_LINE; byte++)
			line->bits[byte] |= to[byte];
		these.changes[i] = (Change) {.to = to, .from = line->bits, .size = SB_BF_LINE};
	}
	return these;
}

void
bf_index_set_bits(Relation index, const BfPageBits *pages, int count, uint32 range)
{
	PageChanges changes[MAX_GENERIC_XLOG_PAGES];

	for (int i = 0; i < count; i++)
		changes[i] = changes_of(&pages[i], range);
	change_pages(index, changes, count);
}
