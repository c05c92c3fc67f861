/*
 * probe.c: asks an index that was asked before, this time without opening it or its heap. See BfProbe in scan.h.
 * ../chunks/chunk_cache.c keeps the probes, and knows when one may be used.
 */
#include "index/search.h"

#include "utils/snapmgr.h"

#include "index/geometry.h"
#include "index/layout.h"
#include "index/scan.h"

/* A geometry that takes more than this is not kept for a probe. */
#define MOST_BYTES_OF_PROBE 4096

BfProbe *
bf_index_make_probe(BfSearch *search, Relation index, Relation heap, uint64 most, BfSpans *pages,
					MemoryContext context)
{
	const Condition *condition = &search->conditions[0];
	BfProbe		found = {
		.locator = sb_locator_of(index),
		.is_permanent = index->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT
	};
	const BfGeometry *geometry;
	MemoryContext caller;
	BfProbe    *probe;

	bf_index_ask(search, index, heap, &found, most, pages);
	geometry = bf_index_current_geometry(index);
	if (!bf_index_is_for_values(search) || sb_snapshots_grow_old() ||
		RelationUsesLocalBuffers(index) || geometry->size > MOST_BYTES_OF_PROBE)
		return NULL;
	found.meta_buffer = geometry->meta_buffer;
	found.column = condition->column;
	found.type = condition->type;
	found.collation = condition->collation;
	caller = MemoryContextSwitchTo(context);
	found.geometry = bf_index_copy_geometry(geometry);
	probe = memcpy(palloc(sizeof found), &found, sizeof found);
	MemoryContextSwitchTo(caller);
	return probe;
}

void
bf_index_free_probe(BfProbe *probe)
{
	pfree(probe->geometry);
	pfree(probe);
}

/* Is the geometry the current one, and are there no rows behind the ranges that a build or a summarizer has begun? */
static bool
is_current(BfProbe *probe)
{
	const BfMetaPage *meta;
	bool		current;

	if (!sb_read_recent_buffer(probe->locator, 0, probe->meta_buffer))
		probe->meta_buffer = ReadBufferWithoutRelcache(probe->locator, MAIN_FORKNUM, 0, RBM_NORMAL, NULL,
													   probe->is_permanent);
	LockBuffer(probe->meta_buffer, BUFFER_LOCK_SHARE);
	meta = (const BfMetaPage *) PageGetContents(BufferGetPage(probe->meta_buffer));
	current = meta->publications == probe->geometry->publications && meta->beyond == BF_BEYOND_EMPTY;
	UnlockReleaseBuffer(probe->meta_buffer);
	return current;
}

bool
bf_index_ask_probe(BfProbe *probe, BfSearch *search, uint64 most, BfSpans *pages)
{
	const Condition *condition = &search->conditions[0];
	Descent		descent = {
		.search = search, .probe = probe, .geometry = probe->geometry, .most = most, .spans = pages
	};

	/* the index that was asked last may hash its items otherwise */
	if (!bf_index_is_for_values(search) || condition->column != probe->column || condition->type != probe->type ||
		condition->collation != probe->collation || sb_snapshots_grow_old() ||
		!is_current(probe))
		return false;
	*pages = (BfSpans) {0};
	bf_index_find_pages(&descent, bf_index_begun_pages(probe->geometry));
	return !descent.failed;
}
