/*
 * insert.c: adds one row to the index. On each level it sets the bits of each column's item on one page, unless the row's
 * range is unsummarized there.
 *
 * The row is in the heap already. If the range is unsummarized on the page that would take the bits, which is looked
 * at under the page's lock, then every later summarizer finds the row in the heap. Otherwise the bits are set now. So
 * the state of a range must be looked at for each row, and never be remembered from one row to the next.
 *
 * Ranges that have not begun have no placeholder yet, so the page needs no look. This is what makes rows in new pages
 * cheap. Whether a range has begun is known from the geometry, if nothing was published since that was read; and this
 * must be looked at for each row, after the row is in the heap.
 *
 * Each level is judged alone. From what one level says nothing follows for another one: that an item's bits are set on
 * level 0 does not mean that they are set on level 1, and a range that is unsummarized on level 0 may lie in one that is
 * summarized on level 1.
 */
#include "index/bf_index.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"

/* The hashers of the index's columns. They are found once for each statement. */
static BfHashers *
statement_hashers(Relation index, IndexInfo *indexInfo)
{
	if (indexInfo->ii_AmCache == NULL)
	{
		BfHashers  *hashers = MemoryContextAllocZero(indexInfo->ii_Context, sizeof(BfHashers));

		bf_index_prepare_hashers(index, hashers, indexInfo->ii_Context);
		indexInfo->ii_AmCache = hashers;
	}
	return indexInfo->ii_AmCache;
}

/* Does the item have to be added to this page? That is so if its range has a summary that lacks it. */
static bool
is_wanted(BfFilterPage *content, uint32 range, uint32 position, int hash_count, uint64 hash)
{
	return content->states[range] != BF_UNSUMMARIZED &&
		!sb_bf_line_contains(bf_index_line(content, position, range), hash_count, hash);
}

/* Adds one item to the filter of `range` (counted within its group) of this column. */
static void
add_item(Relation index, const BfGeometry *geometry, const BfGroup *group, int column, uint32 range, uint64 hash)
{
	int			hash_count = bf_index_parameters(geometry, group->level, column)->hashes;
	uint32		line = sb_bf_line_of(group->lines[column], hash);
	uint32		position = line % group->positions;
	BlockNumber page = line / group->positions;
	BlockNumber block = bf_index_column_start(group, column) + page;
	Buffer		buffer = bf_index_read_page(index, block);
	BfFilterPage *content;
	bool		wanted;

	/*
	 * Most items of a summarized range are there already. The share lock is enough to see that, and to know that the
	 * WAL record which added them is written.
	 */
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	wanted = is_wanted(bf_index_filter_page(index, block, BufferGetPage(buffer), group, column, page), range, position,
					   hash_count, hash);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	if (wanted)
	{
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		content = bf_index_filter_page(index, block, BufferGetPage(buffer), group, column, page);
		if (is_wanted(content, range, position, hash_count, hash))
			bf_index_add_to_line(index, buffer, bf_index_line(content, position, range), hash_count, hash);
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	}
	ReleaseBuffer(buffer);
}

/*
 * May this user's session run the index's expressions and predicate with the owner's rights? A role that may only
 * INSERT must not decide what they find in its session: temporary relations, and functions that PL/pgSQL has compiled
 * under another search_path. Sessions of such roles leave these indexes to VACUUM. An index without expressions and
 * predicate runs only functions of its types.
 */
static bool
may_run_as_owner(Relation index, Relation heap)
{
	return !bf_index_runs_code(index) || has_privs_of_role(GetUserId(), heap->rd_rel->relowner);
}

/* Is called for the first row of a range. The range before it is most probably full now. */
static void
summarize_range_before(Relation index, Relation heap, BlockNumber block)
{
	const BfTask task = {.block = block - 1};

	/*
	 * Nothing is summarized here if this is called by an index expression of a summarizer, if the user lacks the
	 * right, or if another session is summarizing.
	 */
	if (bf_index_is_summarizing() || !may_run_as_owner(index, heap) ||
		!ConditionalLockRelation(heap, ShareUpdateExclusiveLock))
		return;
	(void) bf_index_summarize(index, heap, &task);
	UnlockRelation(heap, ShareUpdateExclusiveLock);
}

/* Has the range of this block begun on any level? */
static bool
has_begun(const BfGeometry *geometry, BlockNumber block)
{
	for (int level = 0; level < geometry->levels; level++)
		if (block / geometry->level[level].pages_per_range < geometry->level[level].begun)
			return true;
	return false;
}

/* Adds the items of a row to all levels on which its range has begun. */
static void
add_items(Relation index, const BfGeometry *geometry, BlockNumber block, const uint64 *hashes)
{
	for (int level = 0; level < geometry->levels; level++)
	{
		uint32		range = block / geometry->level[level].pages_per_range;
		BfGroup		group;

		if (range >= geometry->level[level].begun)
			continue;
		bf_index_find_group(geometry, level, range, &group);
		for (int column = 0; column < geometry->columns; column++)
			add_item(index, geometry, &group, column, range - group.first_range, hashes[column]);
	}
}

/*
 * Is a row of this block written behind the ranges that have begun, although nothing was known to be there? What the
 * geometry says of this is right if nothing was published since it was read, as with ranges that have not begun.
 */
static bool
is_beyond(const BfGeometry *geometry, BlockNumber block)
{
	BlockNumber pages_per_range = geometry->level[0].pages_per_range;

	return geometry->beyond != BF_BEYOND_UNKNOWN &&
		(pages_per_range == 0 || block / pages_per_range >= geometry->level[0].begun);
}

bool
bf_index_insert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap, IndexUniqueCheck check,
				bool unchanged, IndexInfo *indexInfo)
{
	BlockNumber block = ItemPointerGetBlockNumber(tid);
	const BfGeometry *geometry = bf_index_current_geometry(index);
	BlockNumber pages_per_range = geometry->level[0].pages_per_range;

	if (is_beyond(geometry, block))
	{
		(void) bf_index_set_beyond(index, BF_BEYOND_UNKNOWN, BF_BEYOND_UNKNOWN);
		geometry = bf_index_current_geometry(index);
	}
	if (has_begun(geometry, block))
	{
		BfHashers  *hashers = statement_hashers(index, indexInfo);
		uint64		hashes[INDEX_MAX_KEYS];

		/* A hash function may run any code, so the relation cache may free the geometry meanwhile. */
		for (int column = 0; column < hashers->columns; column++)
			hashes[column] = bf_index_hash_value(hashers, column, values[column], isnull[column]);
		add_items(index, bf_index_current_geometry(index), block, hashes);
	}
	if (pages_per_range == 0)
		pages_per_range = BF_INDEX_DEFAULT_PAGES_PER_RANGE;
	if (block > 0 && block % pages_per_range == 0 && ItemPointerGetOffsetNumber(tid) == FirstOffsetNumber &&
		bf_index_autosummarizes(index))
		summarize_range_before(index, heap, block);
	return false;
}
