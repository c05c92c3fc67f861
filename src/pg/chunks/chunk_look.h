/*
 * chunk_look.h: looks at the pages of a chunk that a bf index has named.
 *
 * Of a thousand partitions whose indexes are asked about a value that none of them has, five to ten have a range that
 * the index takes for one which holds it. To look at the pages of this range takes a third of the time that it takes to
 * plan and to run the query of the partition.
 */
#ifndef STREAMBLOOM_PG_CHUNK_LOOK_H
#define STREAMBLOOM_PG_CHUNK_LOOK_H

#include "base/compat.h"

#include "utils/rel.h"
#include "utils/snapshot.h"

#include "index/scan.h"

/*
 * May a row that the snapshot sees and that is searched for be in the chunk? The result is true, without a look, if the
 * pages are too many, or if their values cannot be compared without the index. Takes no predicate locks. REQUIRES: the
 * chunk is locked, and its storage is the one that the snapshot sees; bf_index_ask() has set *few for this search,
 * or few->attribute is 0.
 */
extern bool chunk_look(Relation chunk, BfSearch *search, const BfPages *few, Snapshot snapshot);

#endif
