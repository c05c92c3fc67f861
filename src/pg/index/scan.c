/*
 * scan.c: asks an index: as an index scan, which makes a bitmap; and for ../chunks, to know whether, and on which
 * pages, a table may hold rows that are searched for. descend.c finds the pages.
 */
#include "index/search.h"

#include <math.h>

#include "access/relation.h"
#include "access/table.h"
#include "catalog/index.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "index/geometry.h"
#include "index/handler.h"
#include "index/keys.h"
#include "index/layout.h"
#include "index/scan.h"

/*
 * May a level above 0 have got a group since the geometry was read? With such a group this search would read fewer
 * pages. The result is true if the groups of some level cover at least two whole ranges of the level above that are in
 * no group there.
 */
static bool
may_lack_level(const BfGeometry *geometry)
{
	int			possible = bf_index_possible_levels(geometry);

	for (int level = 0; level + 1 < possible; level++)
	{
		const BfLevel *above = &geometry->level[level + 1];
		uint64		here = (uint64) geometry->level[level].covered * geometry->level[level].pages_per_range;

		if (here >= ((uint64) above->covered + 2) * above->pages_per_range)
			return true;
	}
	return false;
}

const BfGeometry *
bf_index_geometry_for(Relation index, BlockNumber heap_blocks)
{
	const BfGeometry *geometry = bf_index_geometry(index);

	return (uint64) geometry->level[0].covered * geometry->level[0].pages_per_range < heap_blocks ||
		may_lack_level(geometry) ? bf_index_current_geometry(index) : geometry;
}

/*
 * Finds the pages for a descent whose items are hashed. In a search only functions of an operator class may make the
 * geometry invalid, so for a search that calls them it is copied.
 */
static void
find_pages(Descent *descent, BlockNumber heap_blocks)
{
	const bool	copies = bf_index_has_key_search(descent->search);

	descent->geometry = bf_index_geometry_for(descent->index, heap_blocks);
	if (copies)
		descent->geometry = bf_index_copy_geometry(descent->geometry);
	bf_index_find_pages(descent, heap_blocks);
	if (copies)
		pfree((BfGeometry *) descent->geometry);
}

/*
 * How many pages of the heap are to be searched. As a rule this is the heap's length. But if the geometry is read
 * only now, after the snapshot was taken, the meta page may say that there are no rows behind the ranges that were
 * ever begun by a build or a summarizer. If it does, the heap's file need not be opened. This saves work for a session
 * that asks a thousand partitions for the first time.
 */
static BlockNumber
pages_to_search(Relation index, Relation heap)
{
	const BfGeometry *geometry;

	if (index->rd_amcache != NULL)
		return RelationGetNumberOfBlocks(heap);
	geometry = bf_index_geometry(index);
	return geometry->beyond == BF_BEYOND_EMPTY ? bf_index_begun_pages(geometry) : RelationGetNumberOfBlocks(heap);
}

/*
 * Carries out descent->search in the index: hashes its items and finds the pages of the heap that may hold matching
 * rows. descent->spans gets these pages.
 */
static void
search_index(Descent *descent, Relation heap)
{
	BfSearch   *search = descent->search;
	MemoryContext caller = MemoryContextSwitchTo(search->context);
	BlockNumber heap_blocks = pages_to_search(descent->index, heap);

	bf_index_hash_search(search, descent->index);
	MemoryContextSwitchTo(caller);
	find_pages(descent, heap_blocks);
}

void
bf_index_ask(BfSearch *search, Relation index, Relation heap, BfProbe *probe, uint64 most, BfSpans *pages)
{
	Descent		descent = {.index = index, .search = search, .probe = probe, .most = most, .spans = pages};

	*pages = (BfSpans) {0};
	search_index(&descent, heap);
}

/*
 * The expected share of the ranges of level 0 that say "maybe" to one of `items` items although they have none of the
 * items. A range is asked about an item only if the ranges above say "maybe" too. More than MOST_CARRIED items are not
 * asked.
 */
static double
expected_in_vain(const BfGeometry *geometry, int column, double items)
{
	double		rate = geometry->column[column].false_positive_rate;

	for (int level = 1; level < geometry->levels; level++)
		rate *= geometry->upper.false_positive_rate;
	return items > MOST_CARRIED ? 1 : -expm1(items * log1p(-Min(rate, 0.999)));
}

bool
bf_index_ask_for_spans(BfSearch *search, AttrNumber column, Relation index, Relation heap, BfPatience *patience,
					   BfSpans *spans)
{
	Condition  *condition = &search->conditions[0];
	BfPatience	with_groups = {0};
	Descent		descent = {
		.index = index, .search = search, .most = UINT64_MAX, .spans = spans, .patience = &with_groups
	};
	const BfLevel *lowest;
	BlockNumber pages;
	BlockNumber covered;

	spans->count = 0;
	spans->pages = 0;
	condition->column = column - 1;
	if (expected_in_vain(bf_index_geometry(index), column - 1, condition->count) * 10 >= BF_IN_VAIN_TENTHS)
	{
		pages = RelationGetNumberOfBlocks(heap);
		if (pages > 0)
			bf_index_add_span(spans, 0, pages);
		return false;
	}
	search_index(&descent, heap);
	if (condition->unknown)
		return false;
	lowest = &bf_index_geometry(index)->level[0];
	pages = RelationGetNumberOfBlocks(heap);
	covered = Min(pages, (uint64) lowest->covered * lowest->pages_per_range);
	if (covered > 0)
		bf_index_note_use(patience, spans->pages - Min(spans->pages, pages - covered), covered);
	return true;
}

/* ------------------------------------------------------------ as an index scan */

/* A scan does not count rows. It reports this many for each page, as BRIN does. */
#define ROWS_REPORTED_PER_PAGE 10

typedef struct BfScan
{
	BlockNumber heap_blocks;	/* taken when the scan began, after its snapshot */
	MemoryContext context;		/* holds the hashes; reset before each search */
	BfSearch   *search;			/* keeps its hashers from one rescan to the next; NULL at first */
} BfScan;

IndexScanDesc
bf_index_begin_scan(Relation index, int nkeys, int norderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(index, nkeys, norderbys);
	BfScan	   *state = palloc(sizeof(BfScan));

	state->heap_blocks = InvalidBlockNumber;
	state->context = AllocSetContextCreate(CurrentMemoryContext, "bf index scan", ALLOCSET_SMALL_SIZES);
	state->search = NULL;
	scan->opaque = state;
	return scan;
}

void
bf_index_rescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys)
{
	if (keys != NULL && scan->numberOfKeys > 0)
		memmove(scan->keyData, keys, scan->numberOfKeys * sizeof(ScanKeyData));
}

int64
bf_index_get_bitmap(IndexScanDesc scan, TIDBitmap *tbm)
{
	BfScan	   *state = scan->opaque;
	MemoryContext caller;
	Descent		descent = {.index = scan->indexRelation, .most = UINT64_MAX, .tbm = tbm};

	pgstat_count_index_scan(scan->indexRelation);
	sb_count_index_search(scan);
	if (state->heap_blocks == InvalidBlockNumber)
	{
		/* The snapshot of a scan does not change, so it sees no rows in pages that are added after this. */
		Relation	heap = table_open(IndexGetRelation(RelationGetRelid(scan->indexRelation), false), AccessShareLock);

		state->heap_blocks = RelationGetNumberOfBlocks(heap);
		table_close(heap, AccessShareLock);
	}
	if (state->search == NULL)
	{
		caller = MemoryContextSwitchTo(GetMemoryChunkContext(state));
		state->search = bf_index_begin_search(scan->keyData, scan->numberOfKeys, scan->xs_snapshot);
		MemoryContextSwitchTo(caller);
	}
	MemoryContextReset(state->context);
	/* the keys have other arguments now, and the hashes were freed */
	for (int i = 0; i < state->search->count; i++)
		state->search->conditions[i].is_hashed = false;
	descent.search = state->search;
	caller = MemoryContextSwitchTo(state->context);
	bf_index_hash_search(state->search, scan->indexRelation);
	find_pages(&descent, state->heap_blocks);
	MemoryContextSwitchTo(caller);
	return descent.pages * ROWS_REPORTED_PER_PAGE;
}

void
bf_index_end_scan(IndexScanDesc scan)
{
	BfScan	   *state = scan->opaque;

	MemoryContextDelete(state->context);
	pfree(state);
}
