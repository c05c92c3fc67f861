/*
 * directory.c: adds groups to an index, replaces and unites them, and lets ranges begin. A group is consecutive ranges
 * whose filters are stored together; the directory says where the groups lie. When a range has begun, whoever inserts a
 * row into it also looks at its filters.
 *
 * A group is added in three steps: room for an entry is reserved in the directory, its filter pages are written
 * (group.c), and it is published. Until the meta page counts a group nobody looks at its pages, so a crash between
 * the steps leaves only free pages (space.c), and perhaps a directory page without entries. Only one process at a time
 * changes the meta page and the directory: it holds ShareUpdateExclusiveLock on the heap, or the index is new. There is
 * one exception: any writer of a row may set the meta page's field `beyond` to BF_BEYOND_UNKNOWN
 * (bf_index_set_beyond()).
 */
#include "index/directory.h"

#include "access/generic_xlog.h"
#include "storage/lmgr.h"

#include "index/geometry.h"
#include "index/layout.h"
#include "index/space.h"

/* The block of a directory page, as the meta page has it now. REQUIRES: number < meta->directory_pages. */
static BlockNumber
directory_block(Relation index, BfMetaPage *meta, uint32 number)
{
	BlockNumber block = bf_index_directory(meta)[number];

	if (block == 0 || block >= RelationGetNumberOfBlocks(index))
		bf_index_report_damage(index, 0, "a page of its directory is not where it should be");
	return block;
}

/* -------------------------------------------------------------- the meta page */

/* The most directory pages that one change may concern. */
#define MOST_PAGES_OF_CHANGE (MAX_GENERIC_XLOG_PAGES - 1)

/*
 * A change of the meta page, and perhaps of entries on directory pages, in one WAL record. The pages are locked
 * exclusively from begin_change() and open_entry() until end_change().
 */
typedef struct Change
{
	Buffer		buffer;
	GenericXLogState *xlog;
	BfMetaPage *meta;			/* the changed page */
	int			pages;			/* how many directory pages are open */
	uint32		number[MOST_PAGES_OF_CHANGE];	/* their numbers, from 0 */
	Buffer		directory[MOST_PAGES_OF_CHANGE];
	void	   *entries[MOST_PAGES_OF_CHANGE];	/* the entries on these pages, as they are changed */
} Change;

static void
begin_change(Relation index, Change *change)
{
	change->pages = 0;
	change->buffer = bf_index_read_page(index, 0);
	LockBuffer(change->buffer, BUFFER_LOCK_EXCLUSIVE);
	change->xlog = GenericXLogStart(index);
	change->meta = bf_index_meta_page(index, GenericXLogRegisterBuffer(change->xlog, change->buffer, 0));
}

/*
 * Counts the change on the meta page (its field `publications`). A session that finds another count than before reads
 * anew where the groups lie. Logs the change, and unlocks the pages.
 */
static void
end_change(Change *change)
{
	change->meta->publications++;
	bf_index_seal_meta_page(change->meta);
	GenericXLogFinish(change->xlog);
	UnlockReleaseBuffer(change->buffer);
	for (int i = 0; i < change->pages; i++)
		UnlockReleaseBuffer(change->directory[i]);
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
bf_index_note_sample_again(Relation index, bool again)
{
	Change		change;

	if (bf_index_current_geometry(index)->sample_again == again)
		return;
	begin_change(index, &change);
	change.meta->sample_again = again;
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
	BlockNumber block = bf_index_find_space(index, 1);
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

/* How many directory pages there are if the directory has `entries` entries. */
static uint32
pages_for(uint32 entries, int columns)
{
	const uint32 on_meta = bf_index_entries_on_meta_page(columns);
	const uint32 on_page = bf_index_entries_on_directory_page(columns);

	return entries <= on_meta ? 0 : (entries - on_meta + on_page - 1) / on_page;
}

/* Sees to it that the directory has a page for entry `entry`. Returns false if the directory cannot be so long. */
static bool
make_room(Relation index, uint32 entry)
{
	const int	columns = bf_index_current_geometry(index)->columns;
	uint32		on_meta = bf_index_entries_on_meta_page(columns),
				number;
	Buffer		buffer;
	bool		is_there;

	if (entry < on_meta)
		return true;
	number = (entry - on_meta) / bf_index_entries_on_directory_page(columns);
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

bool
bf_index_reserve_entries(Relation index, uint32 count)
{
	const uint32 stretches = bf_index_current_geometry(index)->stretches;

	Assert(count <= BF_MOST_ENTRIES_RESERVED);
	for (uint32 i = 0; i < count; i++)
		if (!make_room(index, stretches + i))
			return false;
	return true;
}

/* ------------------------------------------------------------------ publishing */

/* Opens directory page `number` for the change, and returns its entries. */
static void *
open_directory_page(Relation index, Change *change, uint32 number)
{
	const int	at = change->pages;
	BlockNumber block;
	Page		image;

	for (int i = 0; i < change->pages; i++)
		if (change->number[i] == number)
			return change->entries[i];
	Assert(at < MOST_PAGES_OF_CHANGE);
	if (number >= change->meta->directory_pages)
		bf_index_report_damage(index, 0, "its directory lacks a page");
	block = directory_block(index, change->meta, number);
	change->number[at] = number;
	change->directory[at] = bf_index_read_page(index, block);
	LockBuffer(change->directory[at], BUFFER_LOCK_EXCLUSIVE);
	image = GenericXLogRegisterBuffer(change->xlog, change->directory[at], 0);
	change->entries[at] = bf_index_directory_entries(index, block, image, number);
	change->pages++;
	return change->entries[at];
}

/* Opens entry `number` for the change. */
static BfStoredStretch *
open_entry(Relation index, Change *change, uint32 number)
{
	const int	columns = change->meta->columns;
	uint32		on_meta = bf_index_entries_on_meta_page(columns);
	uint32		on_page = bf_index_entries_on_directory_page(columns);

	if (number < on_meta)
		return bf_index_entry_at(bf_index_meta_entries(change->meta), number, columns);
	number -= on_meta;
	return bf_index_entry_at(open_directory_page(index, change, number / on_page), number % on_page, columns);
}

static void
seal_entry(BfStoredStretch *entry, int columns)
{
	entry->checksum = bf_index_entry_checksum(entry, columns);
}

/* Can this group be the next one of the stretch `last`, which may be NULL? */
static bool
lengthens(const BfGeometry *geometry, const BfStretch *last, const BfGroup *group)
{
	return last != NULL && last->ranges == group->ranges && group->first_block > last->first_block &&
		(last->groups == 1 || group->first_block == last->first_block + last->groups * last->stride) &&
		memcmp(&geometry->lines[(last - geometry->stretch) * geometry->columns], group->lines,
			   geometry->columns * sizeof(uint32)) == 0;
}

static void
lengthen_entry(Relation index, Change *change, uint32 number, const BfGroup *group)
{
	BfStoredStretch *entry = open_entry(index, change, number);

	if (entry->groups == 1)
		entry->stride = group->first_block - entry->first_block;
	entry->groups++;
	seal_entry(entry, group->columns);
}

/* Writes entry `number`, which may be a new one: a stretch of this group alone. */
static void
write_entry(Relation index, Change *change, uint32 number, const BfGroup *group)
{
	BfStoredStretch *entry = open_entry(index, change, number);

	memset(entry, 0, offsetof(BfStoredStretch, lines));
	entry->first_range = group->first_range;
	entry->groups = 1;
	entry->ranges = group->ranges;
	entry->level = group->level;
	entry->first_block = group->first_block;
	memcpy(entry->lines, group->lines, group->columns * sizeof(uint32));
	seal_entry(entry, group->columns);
	change->meta->stretches = Max(change->meta->stretches, number + 1);
}

/* Shortens an entry to `groups` groups, from group `first` of its stretch on. */
static void
trim_entry(Relation index, Change *change, uint32 number, uint32 first, uint32 groups)
{
	BfStoredStretch *entry = open_entry(index, change, number);

	Assert(groups > 0 && first + groups <= entry->groups);
	entry->first_range += first * entry->ranges;
	entry->first_block += first * entry->stride;
	entry->groups = groups;
	if (groups == 1)
		entry->stride = 0;
	seal_entry(entry, change->meta->columns);
}

void
bf_index_publish_group(Relation index, const BfGroup *group)
{
	const BfGeometry *geometry = bf_index_current_geometry(index);
	const BfStretch *last = bf_index_last_stretch(geometry, group->level);
	Change		change;

	begin_change(index, &change);
	if (lengthens(geometry, last, group))
		lengthen_entry(index, &change, last->entry, group);
	else
		write_entry(index, &change, geometry->stretches, group);
	change.meta->groups[group->level]++;
	end_change(&change);
}

void
bf_index_publish_replacement(Relation index, const BfGroup *group)
{
	const BfGeometry *geometry = bf_index_current_geometry(index);
	const BfStretch *stretch = bf_index_stretch_of(geometry, group->level, group->first_range);
	const bool	is_first_of_level = stretch == &geometry->stretch[geometry->level[group->level].first_stretch];
	const uint32 place = (group->first_range - stretch->first_range) / stretch->ranges;
	const uint32 behind = stretch->groups - place - 1;
	uint32		number = geometry->stretches;
	Change		change;

	Assert(group->first_range == stretch->first_range + place * stretch->ranges && group->ranges == stretch->ranges);
	begin_change(index, &change);
	if (stretch->groups == 1)
		write_entry(index, &change, stretch->entry, group);
	else if (place == 0 && !is_first_of_level && lengthens(geometry, stretch - 1, group))
	{
		lengthen_entry(index, &change, stretch[-1].entry, group);
		trim_entry(index, &change, stretch->entry, 1, behind);
	}
	else
	{
		write_entry(index, &change, number++, group);
		if (place > 0 && behind > 0)
		{
			BfGroup		rest;

			bf_index_find_group(geometry, group->level, group->first_range + group->ranges, &rest);
			write_entry(index, &change, number, &rest);
			if (behind > 1)
			{
				BfStoredStretch *entry = open_entry(index, &change, number);

				entry->groups = behind;
				entry->stride = stretch->stride;
				seal_entry(entry, group->columns);
			}
		}
		trim_entry(index, &change, stretch->entry, place > 0 ? 0 : 1, place > 0 ? place : behind);
	}
	end_change(&change);
}

static int
compare_descending(const void *a, const void *b)
{
	uint32		x = *(const uint32 *) a,
				y = *(const uint32 *) b;

	return x > y ? -1 : x < y;
}

/* Lists the entries of a level's stretches, the highest number first. */
static uint32 *
list_entries(const BfGeometry *geometry, int level)
{
	const BfLevel *of = &geometry->level[level];
	uint32	   *entries = palloc(of->stretches * sizeof(uint32));

	for (uint32 i = 0; i < of->stretches; i++)
		entries[i] = geometry->stretch[of->first_stretch + i].entry;
	qsort(entries, of->stretches, sizeof(uint32), compare_descending);
	return entries;
}

bool
bf_index_can_publish_union(Relation index, int level)
{
	const BfGeometry *geometry = bf_index_current_geometry(index);
	const uint32 count = geometry->level[level].stretches;
	uint32	   *entries = list_entries(geometry, level);
	uint32		pages[MOST_PAGES_OF_CHANGE];
	int			used = 0;
	bool		can = true;

	/*
	 * Counts the pages of the level's entries, and of the last entries of the directory, which are moved to the places
	 * of the level's entries.
	 */
	for (uint32 i = 0; i < 2 * count && can; i++)
	{
		const uint32 entry = i < count ? entries[i] : geometry->stretches - 1 - (i - count);
		const uint32 page = pages_for(entry + 1, geometry->columns);
		int			at = 0;

		while (at < used && pages[at] != page)
			at++;
		can = page == 0 || at < used || used < MOST_PAGES_OF_CHANGE;
		if (page > 0 && at == used && can)
			pages[used++] = page;
	}
	pfree(entries);
	return can;
}

/*
 * Puts the group in the place of all groups of its level, which has one entry of the directory afterwards. The entries
 * at the end of the directory are moved to the places of the level's other entries. Directory pages that have no entry
 * any more become free.
 */
void
bf_index_publish_union(Relation index, const BfGroup *group)
{
	const BfGeometry *geometry = bf_index_current_geometry(index);
	const uint32 count = geometry->level[group->level].stretches;
	uint32	   *entries = list_entries(geometry, group->level);
	Change		change;

	Assert(group->first_range == 0 && group->ranges > geometry->level[group->level].covered);
	begin_change(index, &change);
	/*
	 * entries[] has the numbers of the level's entries, the highest first. So an entry that is moved to another place
	 * is never one of the level's own.
	 */
	for (uint32 i = 0; i + 1 < count; i++)
	{
		const uint32 last = --change.meta->stretches;

		if (entries[i] != last)
		{
			const BfStoredStretch *from = open_entry(index, &change, last);
			BfStoredStretch *to = open_entry(index, &change, entries[i]);

			memcpy(to, from, (char *) bf_index_entry_at(to, 1, group->columns) - (char *) to);
		}
	}
	write_entry(index, &change, entries[count - 1], group);
	change.meta->groups[group->level] = 1;
	change.meta->directory_pages =
		Min(change.meta->directory_pages, pages_for(change.meta->stretches, group->columns));
	end_change(&change);
	pfree(entries);
}
