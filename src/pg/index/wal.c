/*
 * wal.c: adds an item to a line of a filter page, or takes its lines into use, and logs the change.
 *
 * The change is logged as a *generic WAL record*, which PostgreSQL offers to access methods that have no resource
 * manager of their own. For each page such a record holds either a full-page image, or a list of fragments: offset,
 * length and the new bytes. Replay (generic_redo() in generic_xlog.c) copies the fragments into the page, clears what
 * lies between pd_lower and pd_upper, and sets the page's LSN. It knows nothing of what the page means, and needs no
 * code of this library: a standby and crash recovery replay such records without loading it.
 *
 * Everywhere else this extension writes these records with GenericXLogStart(), GenericXLogRegisterBuffer() and
 * GenericXLogFinish(). Here the record is put together by hand, with the same content, because this is done for each
 * row that brings a new item:
 *
 * - GenericXLogStart() allocates 66 kB (four page images and four deltas), and GenericXLogRegisterBuffer() copies the
 *   page into one of them.
 * - GenericXLogFinish() compares the two pages byte by byte to find out what has changed, and copies the whole page
 *   back.
 *
 * - When pd_lower grows, it logs all bytes below the new one, also those that are zero before and after.
 *
 * That takes some microseconds for each row, and twice the WAL for a group that is made for ranges to come. Here it is
 * known which bytes change: at most `hash_count` bytes of one line of 64, or those of pd_lower.
 *
 * The record has to satisfy these conditions:
 *
 * - It has the fragments in the format that applyPageRedo() reads: log_changed_bytes() writes one fragment for each
 *   byte.
 * - All fragments lie below pd_lower, because replay clears what lies above it. bf_index_filter_page() has checked
 *   pd_lower; an item is only added where a range is not unsummarized, and then the lines lie below it. The space above it
 *   is zero already: the page was made that way. So pd_lower can grow without the bytes that it passes.
 * - The page is changed, marked dirty, registered, logged and given its LSN in one critical section, under the
 *   exclusive lock of the buffer, in this order.
 * - XLogInsert() decides about full-page images. REGBUF_STANDARD lets it leave out the space between pd_lower and
 *   pd_upper. If it logs an image, as for the first change of the page after a checkpoint, it leaves out the
 *   fragments, because the image already has the change. wal_consistency_checking works as for all generic records.
 * - Only the first four blocks of a record may be used (MAX_GENERIC_XLOG_PAGES). This uses one.
 *
 * The format has not changed since generic WAL came with PostgreSQL 9.6. A record is replayed by the major version
 * that wrote it, so only the server's own generic_redo() has to understand it. The sources of 15 were compared with
 * those of earlier versions. On 15, 17 and 18 such records are replayed by test/tap/021_kill_nine.pl (after a crash),
 * and by test/attack/030_standby.pl (on a standby that compares each page with the primary's, by
 * wal_consistency_checking). On a version whose sources were not looked at, GenericXLogFinish() is used here too. It
 * is slower, but correct by definition.
 */
#include "index/bf_index.h"

#include "access/generic_xlog.h"
#include "access/xloginsert.h"
#include "access/rmgr.h"
#include "miscadmin.h"

/* Was the format of generic records looked at in this version? See above. */
#define KNOWN_GENERIC_RECORDS (PG_VERSION_NUM < 190000)

#if KNOWN_GENERIC_RECORDS

/* A fragment with one byte: offset, length, and the byte. */
#define FRAGMENT_SIZE (2 * sizeof(OffsetNumber) + 1)

/* Replaces a line of the page by `changed`, and logs the bytes that differ. */
static void
log_changed_bytes(Buffer buffer, Page page, unsigned char *line, const unsigned char *changed)
{
	char		delta[SB_BF_LINE * FRAGMENT_SIZE];
	char	   *end = delta;
	const OffsetNumber length = 1;
	XLogRecPtr	lsn;

	XLogBeginInsert();
	START_CRIT_SECTION();
	for (int i = 0; i < SB_BF_LINE; i++)
		if (line[i] != changed[i])
		{
			OffsetNumber offset = (OffsetNumber) ((char *) &line[i] - (char *) page);

			memcpy(end, &offset, sizeof offset);
			memcpy(end + sizeof offset, &length, sizeof length);
			end[2 * sizeof offset] = changed[i];
			end += FRAGMENT_SIZE;
		}
	memcpy(line, changed, SB_BF_LINE);
	MarkBufferDirty(buffer);
	XLogRegisterBuffer(0, buffer, REGBUF_STANDARD);
	XLogRegisterBufData(0, delta, end - delta);
	lsn = XLogInsert(RM_GENERIC_ID, 0);
	PageSetLSN(page, lsn);
	END_CRIT_SECTION();
}

/* Sets pd_lower, and logs that. REQUIRES: the space above the old one is zero. */
static void
log_lower(Buffer buffer, LocationIndex lower)
{
	Page		page = BufferGetPage(buffer);
	const OffsetNumber fragment[] = {offsetof(PageHeaderData, pd_lower), sizeof lower};
	XLogRecPtr	lsn;

	XLogBeginInsert();
	START_CRIT_SECTION();
	((PageHeader) page)->pd_lower = lower;
	MarkBufferDirty(buffer);
	XLogRegisterBuffer(0, buffer, REGBUF_STANDARD);
	XLogRegisterBufData(0, (char *) fragment, sizeof fragment);
	XLogRegisterBufData(0, (char *) &lower, sizeof lower);
	lsn = XLogInsert(RM_GENERIC_ID, 0);
	PageSetLSN(page, lsn);
	END_CRIT_SECTION();
}
#endif

void
bf_index_take_lines(Relation index, Buffer buffer, const BfGroup *group)
{
	LocationIndex lower = bf_index_lower_with_lines(group);

	if (((PageHeader) BufferGetPage(buffer))->pd_lower == lower)
		return;
#if KNOWN_GENERIC_RECORDS
	if (RelationNeedsWAL(index))
		log_lower(buffer, lower);
	else
	{
		START_CRIT_SECTION();
		((PageHeader) BufferGetPage(buffer))->pd_lower = lower;
		MarkBufferDirty(buffer);
		END_CRIT_SECTION();
	}
#else
	{
		GenericXLogState *xlog = GenericXLogStart(index);

		((PageHeader) GenericXLogRegisterBuffer(xlog, buffer, 0))->pd_lower = lower;
		GenericXLogFinish(xlog);
	}
#endif
}

void
bf_index_add_to_line(Relation index, Buffer buffer, unsigned char *line, int hash_count, uint64 hash)
{
	Page		page = BufferGetPage(buffer);

#if KNOWN_GENERIC_RECORDS
	unsigned char changed[SB_BF_LINE];

	memcpy(changed, line, SB_BF_LINE);
	sb_bf_line_add(changed, hash_count, hash);
	if (RelationNeedsWAL(index))
		log_changed_bytes(buffer, page, line, changed);
	else
	{
		START_CRIT_SECTION();
		memcpy(line, changed, SB_BF_LINE);
		MarkBufferDirty(buffer);
		END_CRIT_SECTION();
	}
#else
	GenericXLogState *xlog = GenericXLogStart(index);
	Page		image = GenericXLogRegisterBuffer(xlog, buffer, 0);

	sb_bf_line_add(image + ((char *) line - (char *) page), hash_count, hash);
	GenericXLogFinish(xlog);
#endif
}
