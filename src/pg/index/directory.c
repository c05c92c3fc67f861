/*
 * directory.c: adds groups to an index.
 *
 * A group is added in three steps: an entry for it is reserved in the directory, its filter pages are written
 * (group.c), and it is published. Until the meta page counts a group nobody looks at its pages, so a crash between
 * the steps leaves only pages that the next group overwrites. Only one process at a time adds groups: it holds
 * ShareUpdateExclusiveLock on the heap, or the index is new.
 */
#include "index/bf_index.h"

#include "access/generic_xlog.h"
#include "storage/lmgr.h"

/* The block of a directory page, as the meta page has it now. REQUIRES: number < meta->directory_pages. */
static BlockNumber
directory_block(Relation index, BfMetaPage *meta, uint32 number)
{
	BlockNumber block = bf_index_directory(meta)[number];

	if (block == 0 || block >= RelationGetNumberOfBlocks(index))
		bf_index_report_damage(index, 0, "a page of its directory is not where it should be");
	return block;
}

BlockNumber
bf_index_first_free_block(Relation index)
{
	const BfGeometry *geometry = bf_index_current_geometry(index);
	BlockNumber block = geometry->groups == 0 ? 1 : bf_index_group_end(geometry, geometry->groups - 1);
	Buffer		buffer = bf_index_read_page(index, 0);
	BfMetaPage *meta;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	meta = bf_index_meta_page(index, BufferGetPage(buffer));
	/* the last directory page lies behind all groups if it has no entries yet */
	if (meta->directory_pages > 0)
		block = Max(block, directory_block(index, meta, meta->directory_pages - 1) + 1);
	UnlockReleaseBuffer(buffer);
	return block;
}

Buffer
bf_index_new_page(Relation index, BlockNumber block)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(index);
	Buffer		buffer;

	if (block == 0 || block > blocks)
		bf_index_report_damage(index, 0, "the file is too short for its groups");
	/* a page that a crash left may be torn, so it is not read */
	if (block < blocks)
		return ReadBufferExtended(index, MAIN_FORKNUM, block, RBM_ZERO_AND_LOCK, NULL);
	else
	{
		bool		lock = !RELATION_IS_LOCAL(index);

		if (lock)
			LockRelationForExtension(index, ExclusiveLock);
		buffer = ReadBuffer(index, P_NEW);
		if (lock)
			UnlockRelationForExtension(index, ExclusiveLock);
		if (BufferGetBlockNumber(buffer) != block)
			bf_index_report_damage(index, BufferGetBlockNumber(buffer), "it was extended by somebody else");
	}
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	return buffer;
}

/* Adds directory page `number` to the index. */
static void
add_directory_page(Relation index, uint32 number)
{
	BlockNumber block = bf_index_first_free_block(index);
	Buffer		buffer;
	GenericXLogState *xlog;
	BfMetaPage *meta;

	/* The page is written before the meta page points to it. */
	buffer = bf_index_new_page(index, block);
	xlog = GenericXLogStart(index);
	bf_index_init_directory_page(GenericXLogRegisterBuffer(xlog, buffer, GENERIC_XLOG_FULL_IMAGE), number);
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(buffer);

	buffer = bf_index_read_page(index, 0);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	xlog = GenericXLogStart(index);
	meta = bf_index_meta_page(index, GenericXLogRegisterBuffer(xlog, buffer, 0));
	if (meta->directory_pages != number)
		bf_index_report_damage(index, 0, "its directory lacks a page");
	bf_index_directory(meta)[number] = block;
	meta->directory_pages = number + 1;
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(buffer);
}

bool
bf_index_reserve_entry(Relation index)
{
	const BfGeometry *geometry = bf_index_current_geometry(index);
	uint32		on_meta = bf_index_entries_on_meta_page(geometry->columns),
				number;
	Buffer		buffer;
	bool		is_there;

	if (geometry->groups < on_meta)
		return true;
	number = (geometry->groups - on_meta) / bf_index_entries_on_directory_page(geometry->columns);
	if (number >= BF_INDEX_MAX_DIRECTORY_PAGES)
		return false;
	buffer = bf_index_read_page(index, 0);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	is_there = number < bf_index_meta_page(index, BufferGetPage(buffer))->directory_pages;
	UnlockReleaseBuffer(buffer);
	if (!is_there)
		add_directory_page(index, number);
	return true;
}

static void
write_entry(void *entries, uint32 number, int columns, const BfGroup *group, const uint32 *lines)
{
	BfGroupEntry *entry = bf_index_entry_at(entries, number, columns);

	entry->first_range = group->first_range;
	entry->ranges = group->ranges;
	entry->first_block = group->first_block;
	memcpy(entry->lines, lines, columns * sizeof(uint32));
	entry->checksum = bf_index_entry_checksum(entry, columns);
}

/*
 * Writes the entry of a group whose place is on a directory page. `number` counts the entries on directory pages from
 * 0.
 */
static void
write_entry_on_directory_page(Relation index, BfMetaPage *meta, uint32 number, const BfGroup *group,
							  const uint32 *lines)
{
	uint32		on_page = bf_index_entries_on_directory_page(meta->columns);
	uint32		page_number = number / on_page;
	BlockNumber block;
	Buffer		buffer;
	GenericXLogState *xlog;
	Page		page;

	if (page_number >= meta->directory_pages)
		bf_index_report_damage(index, 0, "its directory lacks a page");
	block = directory_block(index, meta, page_number);
	buffer = bf_index_read_page(index, block);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	xlog = GenericXLogStart(index);
	page = GenericXLogRegisterBuffer(xlog, buffer, 0);
	write_entry(bf_index_directory_entries(index, block, page, page_number), number % on_page, meta->columns, group,
				lines);
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(buffer);
}

void
bf_index_publish_group(Relation index, const BfGroup *group, const uint32 *lines)
{
	Buffer		meta_buffer = bf_index_read_page(index, 0);
	uint32		number,
				on_meta;
	int			columns;
	GenericXLogState *xlog;
	BfMetaPage *meta;

	LockBuffer(meta_buffer, BUFFER_LOCK_EXCLUSIVE);
	meta = bf_index_meta_page(index, BufferGetPage(meta_buffer));
	number = meta->groups;
	columns = meta->columns;
	on_meta = bf_index_entries_on_meta_page(columns);
	/* An entry on a directory page is written before the meta page counts it. */
	if (number >= on_meta)
		write_entry_on_directory_page(index, meta, number - on_meta, group, lines);
	xlog = GenericXLogStart(index);
	meta = bf_index_meta_page(index, GenericXLogRegisterBuffer(xlog, meta_buffer, 0));
	if (number < on_meta)
		write_entry(bf_index_meta_entries(meta), number, columns, group, lines);
	meta->groups = number + 1;
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(meta_buffer);
}
