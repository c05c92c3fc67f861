/*
 * insert.c: adds one row to the index. For each column it sets the item's bits on one page, unless the row's range is
 * unsummarized.
 *
 * The row is in the heap already. If the range is unsummarized on the page that would take the bits, which is looked
 * at under the page's lock, then every later summarizer finds the row in the heap. Otherwise the bits are set now. So
 * the state of a range must be looked at for each row, and never be remembered from one row to the next.
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
add_item(Relation index, const BfGeometry *geometry, uint32 number, int column, uint32 range, uint64 hash)
{
	const BfGroup *group = &geometry->group[number];
	uint32		line = sb_bf_line_of(geometry->lines[number * geometry->columns + column], hash);
	uint32		position = line % group->positions;
	BlockNumber page = line / group->positions;
	BlockNumber block = bf_index_column_start(geometry, number, column) + page;
	Buffer		buffer = bf_index_read_page(index, block);
	BfFilterPage *content;
	bool		wanted;

	/*
	 * Most items of a summarized range are there already. The share lock is enough to see that, and to know that the
	 * WAL record which added them is written.
	 */
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	wanted = is_wanted(bf_index_filter_page(index, block, BufferGetPage(buffer), group, column, page), range, position,
					   geometry->hash_count, hash);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	if (wanted)
	{
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		content = bf_index_filter_page(index, block, BufferGetPage(buffer), group, column, page);
		if (is_wanted(content, range, position, geometry->hash_count, hash))
			bf_index_add_to_line(index, buffer, bf_index_line(content, position, range), geometry->hash_count, hash);
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
	/*
	 * Nothing is summarized here if this is called by an index expression of a summarizer, if the user lacks the
	 * right, or if another session is summarizing.
	 */
	if (bf_index_is_summarizing() || !may_run_as_owner(index, heap) ||
		!ConditionalLockRelation(heap, ShareUpdateExclusiveLock))
		return;
	(void) bf_index_summarize(index, heap, block - 1, false, false);
	UnlockRelation(heap, ShareUpdateExclusiveLock);
}

bool
bf_index_insert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap, IndexUniqueCheck check,
				bool unchanged, IndexInfo *indexInfo)
{
	BlockNumber block = ItemPointerGetBlockNumber(tid);
	const BfGeometry *geometry = bf_index_geometry(index);
	BlockNumber pages_per_range = geometry->pages_per_range;
	uint32		range = block / pages_per_range;

	if (range >= geometry->covered)
		geometry = bf_index_current_geometry(index);
	if (range < geometry->covered)
	{
		BfHashers  *hashers = statement_hashers(index, indexInfo);
		uint64		hashes[INDEX_MAX_KEYS];

		/*
		 * A hash function may run any code, so the relation cache may free the geometry. If it is read again, it has
		 * at least the groups that it had before.
		 */
		for (int column = 0; column < hashers->columns; column++)
			hashes[column] = bf_index_hash_value(hashers, column, values[column], isnull[column]);
		geometry = bf_index_geometry(index);
		for (int column = 0; column < hashers->columns; column++)
		{
			uint32		number = bf_index_group_of(geometry, range);

			add_item(index, geometry, number, column, range - geometry->group[number].first_range, hashes[column]);
		}
	}
	if (block > 0 && block % pages_per_range == 0 && ItemPointerGetOffsetNumber(tid) == FirstOffsetNumber &&
		bf_index_autosummarizes(index))
		summarize_range_before(index, heap, block);
	return false;
}
