/*
 * space.c: finds free pages in an index, and gives those at its end back.
 *
 * No list of free pages is kept: a page is free if no group and no directory page is there. So a crash loses no page.
 *
 * A free page may have belonged to a group that was replaced. Sessions whose geometry is older still come to it. As
 * long as it is as that group left it, all its ranges are unsummarized; and when it belongs to something else, they see
 * that (bf_index_filter_page_in_use()).
 */
#include "index/space.h"

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

/* The blocks of the directory pages; their number is that of the geometry. */
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

/* All pages that are in use, but for the meta page, in the order of their blocks. */
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

/* So many pages, and such a share of the file, are worth a moment in which nobody can use the index. */
#define LEAST_PAGES 16
#define LEAST_SHARE (1.0 / 16)

/* Sees to it that a crash does not bring back groups at the end of the file that were moved or replaced. */
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
 * RelationTruncate() before 15.11, 16.7 and 17.3 differs in three ways from what it is since then. This is why each of
 * them does no harm here:
 * - It flushes the WAL only if the relation has a free space map or a visibility map, which an index of this kind has
 *   not. So the file could be short on disk while the WAL that takes the groups at its end out of the directory is
 *   lost with the server; then the directory would lead behind the end of the file. So that WAL is flushed first. If
 *   the record of the truncation itself is lost, pages are free that others need not have: the file may be longer on a
 *   standby.
 * - It has dropped the buffers of the pages when it fails, so older content of these pages may come back from disk. No
 *   group is there, no session has a geometry that leads there, and whoever takes such a page writes all of it.
 * - A checkpoint may end before the shorter file is on disk. Then a crash of the system leaves the file longer.
 */
void
bf_index_cut_off(Relation index)
{
	BlockNumber end = bf_index_current_geometry(index)->end_block;
	BlockNumber blocks = RelationGetNumberOfBlocks(index);

	if (blocks <= end || blocks - end < Max(LEAST_PAGES, blocks * LEAST_SHARE) ||
		!ConditionalLockRelation(index, AccessExclusiveLock))
		return;
	/*
	 * Whoever opens the index next gets the new geometry with the lock: no old one leads behind the end of the file.
	 * The file stays short even if VACUUM fails later. It may still have much to do, so nobody is to wait for its end.
	 */
	bf_index_outdate_geometries(index);
	flush_publications(index);
	RelationTruncate(index, bf_index_current_geometry(index)->end_block);
	UnlockRelation(index, AccessExclusiveLock);
}
