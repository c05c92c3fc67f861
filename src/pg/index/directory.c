/*
 * directory.c: adds groups to an index, and begins ranges.
 *
 * A group is added in three steps: room for an entry is reserved in the directory, its filter pages are written
 * (group.c), and it is published. Until the meta page counts a group nobody looks at its pages, so a crash between
 * the steps leaves only pages that the next group overwrites. Only one process at a time changes the meta page and the
 * directory: it holds ShareUpdateExclusiveLock on the heap, or the index is new.
 */
#include "index/directory.h"

#include "access/generic_xlog.h"
#include "storage/lmgr.h"

#include "index/geometry.h"
#include "index/layout.h"

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
	return bf_index_current_geometry(index)->end_block;
}

/* -------------------------------------------------------------- the meta page */

/* A change of the meta page. The page is locked exclusively from begin_change() until end_change(). */
typedef struct Change
{
	Buffer		buffer;
	GenericXLogState *xlog;
	BfMetaPage *meta;			/* the changed page */
} Change;

static void
begin_change(Relation index, Change *change)
{
	change->buffer = bf_index_read_page(index, 0);
	LockBuffer(change->buffer, BUFFER_LOCK_EXCLUSIVE);
	change->xlog = GenericXLogStart(index);
	change->meta = bf_index_meta_page(index, GenericXLogRegisterBuffer(change->xlog, change->buffer, 0));
}

/* Counts a publication, so that writers and readers look at the meta page again. */
static void
end_change(Change *change)
{
	change->meta->publications++;
	bf_index_seal_meta_page(change->meta);
	GenericXLogFinish(change->xlog);
	UnlockReleaseBuffer(change->buffer);
}

void
bf_index_begin_ranges(Relation index, int level, uint32 end)
{
	Change		change;

	begin_change(index, &change);
	change.meta->begun[level] = Max(change.meta->begun[level], end);
	end_change(&change);
}

void
bf_index_publish_placeholders(Relation index)
{
	Change		change;

	begin_change(index, &change);
	end_change(&change);
}

bool
bf_index_set_beyond(Relation index, BfBeyond from, BfBeyond to)
{
	Change		change;
	bool		is_from;

	begin_change(index, &change);
	is_from = change.meta->beyond == from;
	if (is_from || to == BF_BEYOND_UNKNOWN)
		change.meta->beyond = to;
	end_change(&change);
	return is_from;
}

void
bf_index_note_in_vain(Relation index, double rate)
{
	Change		change;

	begin_change(index, &change);
	rate = Min(rate, 1);
	if (change.meta->in_vain == 0 || rate < change.meta->least_in_vain)
		change.meta->least_in_vain = (float4) rate;
	if (rate > change.meta->in_vain)
		change.meta->in_vain = (float4) rate;
	end_change(&change);
}

void
bf_index_note_in_vain_below(Relation index, double least, double most)
{
	Change		change;

	begin_change(index, &change);
	if (change.meta->in_vain_below == 0 || least < change.meta->least_in_vain_below)
		change.meta->least_in_vain_below = (float4) least;
	if (most > change.meta->in_vain_below)
		change.meta->in_vain_below = (float4) most;
	end_change(&change);
}

void
bf_index_note_full_ranges(Relation index, const BfGeometry *geometry, const BfFullRanges *full)
{
	const BlockNumber block = full->count == 0 ? 0 : full->first * geometry->level[0].pages_per_range;
	Change		change;

	if (geometry->full_ranges == full->count && geometry->full_block == block)
		return;
	begin_change(index, &change);
	change.meta->full_ranges = full->count;
	change.meta->full_block = block;
	end_change(&change);
}

void
bf_index_settle_pages_per_range(Relation index, BlockNumber pages_per_range)
{
	Change		change;

	begin_change(index, &change);
	change.meta->pages_per_range = pages_per_range;
	end_change(&change);
}

/* ------------------------------------------------------------------- new pages */

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
	Change		change;

	/* The page is written before the meta page points to it. */
	buffer = bf_index_new_page(index, block);
	xlog = GenericXLogStart(index);
	bf_index_init_directory_page(GenericXLogRegisterBuffer(xlog, buffer, GENERIC_XLOG_FULL_IMAGE), number);
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(buffer);

	begin_change(index, &change);
	if (change.meta->directory_pages != number)
		bf_index_report_damage(index, 0, "its directory lacks a page");
	bf_index_directory(change.meta)[number] = block;
	change.meta->directory_pages = number + 1;
	end_change(&change);
}

bool
bf_index_reserve_entry(Relation index)
{
	const BfGeometry *geometry = bf_index_current_geometry(index);
	uint32		on_meta = bf_index_entries_on_meta_page(geometry->columns),
				number;
	Buffer		buffer;
	bool		is_there;

	if (geometry->stretches < on_meta)
		return true;
	number = (geometry->stretches - on_meta) / bf_index_entries_on_directory_page(geometry->columns);
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

/* ------------------------------------------------------------------ publishing */

/* The place of an entry, which is changed together with the meta page. */
typedef struct EntryPlace
{
	Buffer		buffer;			/* of the directory page; invalid: the entry is on the meta page */
	BfStoredStretch *entry;
} EntryPlace;

/* Opens entry `number` for the change. An entry on a directory page gets into the same WAL record. */
static void
open_entry(Relation index, Change *change, uint32 number, EntryPlace *place)
{
	BfMetaPage *meta = change->meta;
	uint32		on_meta = bf_index_entries_on_meta_page(meta->columns);
	uint32		on_page = bf_index_entries_on_directory_page(meta->columns);
	void	   *entries = bf_index_meta_entries(meta);

	place->buffer = InvalidBuffer;
	if (number >= on_meta)
	{
		uint32		page = (number - on_meta) / on_page;
		BlockNumber block;

		if (page >= meta->directory_pages)
			bf_index_report_damage(index, 0, "its directory lacks a page");
		block = directory_block(index, meta, page);
		place->buffer = bf_index_read_page(index, block);
		LockBuffer(place->buffer, BUFFER_LOCK_EXCLUSIVE);
		entries = bf_index_directory_entries(index, block, GenericXLogRegisterBuffer(change->xlog, place->buffer, 0), page);
		number = (number - on_meta) % on_page;
	}
	place->entry = bf_index_entry_at(entries, number, meta->columns);
}

/* To be called after end_change(). */
static void
close_entry(EntryPlace *place)
{
	if (BufferIsValid(place->buffer))
		UnlockReleaseBuffer(place->buffer);
}

/* Can this group be the next one of the last stretch of its level, which may be NULL? */
static bool
lengthens(const BfGeometry *geometry, const BfStretch *last, const BfGroup *group)
{
	return last != NULL && last->ranges == group->ranges && group->first_block > last->first_block &&
		(last->groups == 1 || group->first_block == last->first_block + last->groups * last->stride) &&
		memcmp(&geometry->lines[(last - geometry->stretch) * geometry->columns], group->lines,
			   geometry->columns * sizeof(uint32)) == 0;
}

void
bf_index_publish_group(Relation index, const BfGroup *group)
{
	const BfGeometry *geometry = bf_index_current_geometry(index);
	const BfStretch *last = bf_index_last_stretch(geometry, group->level);
	bool		longer = lengthens(geometry, last, group);
	uint32		number = longer ? last->entry : geometry->stretches;
	Change		change;
	EntryPlace	place;

	begin_change(index, &change);
	open_entry(index, &change, number, &place);
	if (longer)
	{
		if (place.entry->groups == 1)
			place.entry->stride = group->first_block - place.entry->first_block;
		place.entry->groups++;
	}
	else
	{
		memset(place.entry, 0, offsetof(BfStoredStretch, lines));
		place.entry->first_range = group->first_range;
		place.entry->groups = 1;
		place.entry->ranges = group->ranges;
		place.entry->level = group->level;
		place.entry->first_block = group->first_block;
		memcpy(place.entry->lines, group->lines, group->columns * sizeof(uint32));
		change.meta->stretches = number + 1;
	}
	place.entry->checksum = bf_index_entry_checksum(place.entry, group->columns);
	change.meta->groups[group->level]++;
	end_change(&change);
	close_entry(&place);
}
