/*
 * chunk_look.h: looks at the pages of a chunk that a bf index has named.
 *
 * Of a thousand partitions without the value, five to ten are false positives: the index names a range of pages, but
 * the value is not there. To look at the pages of this range takes a third of the time that it takes to plan and run
 * the query of the partition.
 */
#ifndef STREAMBLOOM_PG_CHUNK_LOOK_H
#define STREAMBLOOM_PG_CHUNK_LOOK_H

#include "base/compat.h"

#include "utils/rel.h"
#include "utils/snapshot.h"

#include "index/scan.h"

/*
 * May the chunk hold a row that is searched for and that the snapshot sees? Takes no predicate locks. The result is
 * true, without a look, if
 *
 * - the index has named more than BF_FEW_PAGES pages,
 * - few->attribute is 0 or less: no index was asked, the index is partial, or no column of the chunk has the values
 *   that the index hashes,
 * - the snapshot is not an MVCC snapshot, or the chunk is not a heap.
 *
 * REQUIRES: the chunk is locked, and its storage is the one that the snapshot sees; *few was set by asking the
 * chunk's index in this search, or few->attribute is 0.
 */
extern bool chunk_look(Relation chunk, BfSearch *search, const BfPages *few, Snapshot snapshot);

#endif
