/*
 * wal.c: adding an item to a line, in memory and in WAL.
 *
 * The record is one of PostgreSQL's generic ones, as GenericXLogFinish() would write it, but put together here: that function
 * needs 66 kB of memory for a state and compares whole pages to find out which bytes have changed, some microseconds for each row, and
 * here they are known. What a generic record holds for a page (fragments: offset, length, bytes) has been the same in all
 * versions from 9.6 on and is read by the server's own replay; on a version that was not looked at, GenericXLog it is.
 * test/tap/021 and 022 have such records replayed, after a crash and on a standby.
 */
#include "index/bf_index.h"

#include "access/generic_xlog.h"
#include "access/xloginsert.h"
#include "access/rmgr.h"
#include "miscadmin.h"

#define KNOWN_GENERIC_RECORDS (PG_VERSION_NUM < 190000)

#if KNOWN_GENERIC_RECORDS

/* A fragment with one byte. */
#define FRAGMENT_SIZE (2 * sizeof(OffsetNumber) + 1)

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
#endif

void
bf_index_add_to_line(Relation index, Buffer buffer, unsigned char *line, int hashes, uint64 hash)
{
	Page		page = BufferGetPage(buffer);

#if KNOWN_GENERIC_RECORDS
	unsigned char changed[SB_BF_LINE];

	memcpy(changed, line, SB_BF_LINE);
	sb_bf_line_add(changed, hashes, hash);
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

	sb_bf_line_add(image + ((char *) line - (char *) page), hashes, hash);
	GenericXLogFinish(xlog);
#endif
}
