/*
 * space.c: finds and counts free pages in an index, and cuts free pages off the end of its file.
 *
 * The filters of an index lie in *groups* of pages, which the *directory* lists (layout.h). What a session knows of
 * them is its *geometry*. No list of free pages is kept: a page is free if no group and no directory page is there. So
 * a crash loses no page.
 *
 * A free page may have belonged to a group that was replaced. A session with an older geometry still reads it. Until
 * the page is overwritten, it says that none of its ranges is summarized, so the session relies on nothing there. If
 * the page has other content by then, the session sees that (bf_index_filter_page_in_use()).
 */
#include "index/space.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/storage.h"
#include "storage/lmgr.h"

#include "index/layout.h"

/* Pages that are in use, from `first` to `end` (exclusive). */
typedef struct Used
{
	BlockNumber first,
				end;
} Used;

static int
compare_used(const void *a, const void *b)
{
	BlockNumber x = ((const Used *) a)->first,
				y = ((const Used *) b)->first;

	return x < y ? -1 : x > y;
}

/* Adds the directory pages to used[]. The geometry says how many there are. */
static void
add_directory_pages(Relation index, const BfGeometry *geometry, Used *used)
{
	Buffer		buffer;
	const BlockNumber *blocks;

	if (geometry->directory_pages == 0)
		return;
	buffer = bf_index_read_page(index, 0);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	blocks = bf_index_directory(bf_index_meta_page(index, BufferGetPage(buffer)));
	for (uint32 i = 0; i < geometry->directory_pages; i++)
		used[i] = (Used) {.first = blocks[i], .end = blocks[i] + 1};
	UnlockReleaseBuffer(buffer);
}

/* Lists all pages that are in use, except the meta page, in the order of their blocks. */
static Used *
list_used(Relation index, const BfGeometry *geometry, uint64 *count)
{
	uint64		groups = 0;
	uint64		next = geometry->directory_pages;
	Used	   *used;

	for (int level = 0; level < geometry->levels; level++)
		groups += geometry->level[level].groups;
	used = palloc_extended((next + groups + 1) * sizeof(Used), MCXT_ALLOC_HUGE);
	add_directory_pages(index, geometry, used);
	for (int level = 0; level < geometry->levels; level++)
	{
		BfGroup		group;

		for (uint32 range = 0; range < geometry->level[level].covered; range = group.first_range + group.ranges)
		{
			bf_index_find_group(geometry, level, range, &group);
			used[next++] = (Used) {.first = group.first_block, .end = group.first_block + bf_index_group_pages(&group)};
		}
	}
	qsort(used, next, sizeof(Used), compare_used);
	*count = next;
	return used;
}

BlockNumber
bf_index_find_space(Relation index, BlockNumber pages)
{
	BfGeometry *geometry = bf_index_copy_geometry(bf_index_current_geometry(index));
	BlockNumber found = geometry->end_block;

	/* An index without gaps, as most are, is not looked through. */
	if (geometry->used_blocks + pages <= geometry->end_block)
	{
		uint64		count;
		Used	   *used = list_used(index, geometry, &count);
		BlockNumber end = 1;

		for (uint64 i = 0; i < count; i++)
		{
			if (used[i].first >= end && used[i].first - end >= pages)
			{
				found = end;
				break;
			}
			end = Max(end, used[i].end);
		}
		pfree(used);
	}
	pfree(geometry);
	return found;
}

BlockNumber
bf_index_free_pages(Relation index)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(index);
	BlockNumber used = bf_index_current_geometry(index)->used_blocks;

	return blocks > used ? blocks - used : 0;
}

/*
 * Nobody can use the index while pages are cut off. So this is done only if at least LEAST_PAGES pages are free at
 * the end of the file, and if they are at least LEAST_SHARE of the file.
 */
#define LEAST_PAGES 16
#define LEAST_SHARE (1.0 / 16)

/*
 * Flushes the WAL up to the last change of the meta page. So a crash does not bring back groups at the end of the file
 * that were moved or replaced.
 */
static void
flush_publications(Relation index)
{
	Buffer		buffer;
	XLogRecPtr	published;

	if (!RelationNeedsWAL(index))
		return;
	buffer = bf_index_read_page(index, 0);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	published = PageGetLSN(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
	XLogFlush(published);
}

/*
 * Before 15.11, 16.7 and 17.3 RelationTruncate() differs from later versions in three ways, which do no harm here:
 * - It flushes the WAL only if the relation has a free space map or a visibility map, and a bf index has none. After
 *   a crash the file could be short on disk, while the WAL that took the groups at its end out of the directory is
 *   lost. Then the directory would name pages behind the end of the file. So this WAL is flushed first. If only the
 *   record of the truncation is lost, the file may be longer on a standby than here, by free pages.
 * - If it fails, it has already dropped the buffers of the pages, so their older content may come back from disk. But
 *   no group is there, no session has a geometry that leads there, and whoever takes such a page writes all of it.
 * - A checkpoint may end before the shorter file is on disk. Then after a crash of the system the file is longer, by
 *   free pages.
 */
void
bf_index_cut_off(Relation index)
{
	BlockNumber end = bf_index_current_geometry(index)->end_block;
	BlockNumber blocks = RelationGetNumberOfBlocks(index);

	/*
	 * An AccessExclusiveLock is logged with the transaction id of its holder. While VACUUM has parallel workers, no
	 * transaction id can be assigned, so the pages are left to a VACUUM without workers.
	 */
	if (IsInParallelMode())
		return;
	if (blocks <= end || blocks - end < Max(LEAST_PAGES, blocks * LEAST_SHARE) ||
		!ConditionalLockRelation(index, AccessExclusiveLock))
		return;
	/*
	 * Whoever locks the index next reads the new geometry, so no session has an old one that leads behind the end of
	 * the file. Sessions are told at once, not at the end of VACUUM's transaction: the file stays short even if
	 * VACUUM fails later. The lock is given back below, because VACUUM may still have much to do.
	 */
	bf_index_outdate_geometries(index);
	flush_publications(index);
	RelationTruncate(index, bf_index_current_geometry(index)->end_block);
	UnlockRelation(index, AccessExclusiveLock);
}
