/*
 * horizon.h: which snapshots may rely on a filter page.
 */
#ifndef STREAMBLOOM_PG_INDEX_HORIZON_H
#define STREAMBLOOM_PG_INDEX_HORIZON_H

#include "index/layout.h"

#include "utils/snapshot.h"

/*
 * Which snapshots may see rows that a build or a summarizer has left out: those whose xmin is less than `all`, a full
 * transaction id. For snapshots that were taken during recovery the greater one of `all` and `standby` counts instead.
 * 0: there are no such snapshots. Rows that are dead to all snapshots of this server raise only `standby`.
 */
typedef struct BfHorizons
{
	uint64		all;
	uint64		standby;
} BfHorizons;

static inline BfHorizons
bf_index_greater_horizons(BfHorizons a, BfHorizons b)
{
	return (BfHorizons) {.all = Max(a.all, b.all), .standby = Max(a.standby, b.standby)};
}

/* A snapshot that looks at pages. */
typedef struct BfViewer
{
	Snapshot	snapshot;
	uint64		xmin;			/* its full xmin; 0 until it is needed */
} BfViewer;

/* May an MVCC snapshot see rows that are missing on this page although their ranges are summarized there? */
extern bool bf_index_is_before_horizon(BfViewer *viewer, const BfFilterPage *content);

/*
 * A transaction id with its epoch; 0 for ids that are not normal, such as FrozenTransactionId. REQUIRES: it is at
 * most 2^31 older than the next transaction id.
 */
extern uint64 bf_index_full_xid(TransactionId xid);

#endif
