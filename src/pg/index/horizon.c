/*
 * horizon.c: which snapshots may rely on a filter page, that is, on a page of the index with filters of ranges.
 *
 * A build or a summarizer may leave out rows that are deleted (heap.c says which). A snapshot that is older than the
 * deletion can still see such a row. So each filter page keeps its *horizon*, a full transaction id (with its epoch).
 * Consider the rows that were left out although some snapshot of this server might still see them. The horizon is
 * greater than the ids of all transactions that have deleted these rows. So a snapshot whose xmin is the horizon or
 * greater does not see them.
 *
 * Rows that are dead to all snapshots of this server raise a second horizon, which only snapshots of standbys obey. A
 * snapshot of this server may be older than this horizon, although it sees none of these rows: its xmin may be the id
 * of an old transaction that runs in another database.
 */
#include "index/horizon.h"

#include "access/transam.h"

#include "index/layout.h"

uint64
bf_index_full_xid(TransactionId xid)
{
	FullTransactionId next = ReadNextFullTransactionId();
	uint64		epoch = EpochFromFullTransactionId(next);

	if (!TransactionIdIsNormal(xid))
		return 0;
	/* An id that is greater than the next one was assigned in the epoch before. */
	if (xid > XidFromFullTransactionId(next))
		epoch--;
	return epoch << 32 | xid;
}

bool
bf_index_is_before_horizon(BfViewer *viewer, const BfFilterPage *content)
{
	uint64		horizon = content->horizon;

	if (viewer->snapshot->takenDuringRecovery)
		horizon = Max(horizon, content->standby_horizon);
	if (horizon == 0)
		return false;
	if (viewer->xmin == 0)
		viewer->xmin = bf_index_full_xid(viewer->snapshot->xmin);
	return horizon > viewer->xmin;
}
