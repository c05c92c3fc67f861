/*
 * directory.c: publishes groups, and lets ranges begin. A group is consecutive ranges whose filters are stored
 * together; the directory says where the groups lie. When a range has begun, whoever inserts a row into it also looks
 * at its filters.
 *
 * A group is added in three steps: room is made in the directory (bf_index_can_publish()), its filter pages are written
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

/* A stretch that a publication writes: its place in the file, and the lines of its filters. */
typedef struct NewStretch
{
	uint32		first_range;
	uint32		groups;
	uint32		ranges;
	BlockNumber first_block;
	BlockNumber stride;
	const uint32 *lines;
} NewStretch;

/* What a publication changes in the directory: entries that go, and the stretches that come. */
typedef struct EntriesChange
{
	int			level;
	int			columns;
	uint32	   *old;			/* the numbers of the entries that go, in ascending order */
	uint32		old_count;
	uint32		old_groups;		/* the groups of these entries */
	NewStretch *new;
	uint32		new_count;
	uint32		new_groups;
} EntriesChange;

static bool
continues(const EntriesChange *publication, const NewStretch *last, const NewStretch *next)
{
	const BlockNumber stride = last->groups > 1 ? last->stride : next->first_block - last->first_block;

	/* groups that have no place yet continue nothing, and nothing continues them */
	return last->first_block != 0 && last->ranges == next->ranges && next->first_block > last->first_block &&
		next->first_block == last->first_block + last->groups * stride &&
		(next->groups == 1 || next->stride == stride) &&
		memcmp(last->lines, next->lines, publication->columns * sizeof(uint32)) == 0;
}

/* Adds a stretch to the new ones, or lengthens the last one by its groups. */
static void
add_stretch(EntriesChange *publication, NewStretch stretch)
{
	NewStretch *last = &publication->new[publication->new_count - 1];

	publication->new_groups += stretch.groups;
	if (publication->new_count > 0 && continues(publication, last, &stretch))
	{
		if (last->groups == 1)
			last->stride = stretch.first_block - last->first_block;
		last->groups += stretch.groups;
	}
	else
		publication->new[publication->new_count++] = stretch;
}

/* The groups `first` to `end` (exclusive) of a stretch. */
static NewStretch
part_of(const BfGeometry *geometry, const BfStretch *stretch, uint32 first, uint32 end)
{
	return (NewStretch) {
		.first_range = stretch->first_range + first * stretch->ranges,
		.groups = end - first,
		.ranges = stretch->ranges,
		.first_block = stretch->first_block + first * stretch->stride,
		.stride = end - first > 1 ? stretch->stride : 0,
		.lines = &geometry->lines[(stretch - geometry->stretch) * geometry->columns]
	};
}

static NewStretch
stretch_of_group(const BfGroup *group)
{
	return (NewStretch) {
		.first_range = group->first_range,
		.groups = 1,
		.ranges = group->ranges,
		.first_block = group->first_block,
		.lines = group->lines
	};
}

static int
compare_entry_numbers(const void *a, const void *b)
{
	uint32		x = *(const uint32 *) a,
				y = *(const uint32 *) b;

	return x < y ? -1 : x > y;
}

/*
 * Finds out what changes in the directory if the groups take the place of all groups that have their ranges. The entry
 * of the stretch before them goes too if the first group continues it.
 */
static EntriesChange
plan_publication(const BfGeometry *geometry, const BfGroup *groups, int count)
{
	const BfLevel *of = &geometry->level[groups->level];
	const uint32 first = groups->first_range;
	const uint64 end = (uint64) groups[count - 1].first_range + groups[count - 1].ranges;
	const NewStretch first_new = stretch_of_group(groups);
	EntriesChange publication = {
		.level = groups->level,
		.columns = geometry->columns,
		.old = palloc((of->stretches + 1) * sizeof(uint32)),
		.new = palloc((of->stretches + count + 2) * sizeof(NewStretch))
	};
	NewStretch	behind = {0};

	for (uint32 i = 0; i < of->stretches; i++)
	{
		const BfStretch *stretch = &geometry->stretch[of->first_stretch + i];
		const uint64 stretch_end = stretch->first_range + (uint64) stretch->groups * stretch->ranges;
		const NewStretch whole = part_of(geometry, stretch, 0, stretch->groups);

		if (stretch->first_range >= end || stretch_end < first ||
			(stretch_end == first && !continues(&publication, &whole, &first_new)))
			continue;
		publication.old[publication.old_count++] = stretch->entry;
		publication.old_groups += stretch->groups;
		if (stretch->first_range < first)
			add_stretch(&publication, part_of(geometry, stretch, 0,
											  (Min(first, stretch_end) - stretch->first_range) / stretch->ranges));
		if (stretch_end > end)
			behind = part_of(geometry, stretch, (end - stretch->first_range) / stretch->ranges, stretch->groups);
	}
	for (int i = 0; i < count; i++)
		add_stretch(&publication, stretch_of_group(&groups[i]));
	if (behind.groups > 0)
		add_stretch(&publication, behind);
	qsort(publication.old, publication.old_count, sizeof(uint32), compare_entry_numbers);
	return publication;
}

bool
bf_index_can_publish(Relation index, const BfGroup *groups, int count)
{
	const BfGeometry *geometry = bf_index_current_geometry(index);
	const EntriesChange publication = plan_publication(geometry, groups, count);
	const BfStretch *before = groups->first_range == 0 ? NULL :
		bf_index_stretch_of(geometry, groups->level, groups->first_range - 1);
	const uint32 old = publication.old_count + (before != NULL);
	const uint32 begin = geometry->stretches - Min(old, geometry->stretches);
	const uint32 end = Max(geometry->stretches, begin + publication.new_count + (before != NULL));
	uint32		pages[MOST_PAGES_OF_CHANGE];
	int			used = 0;

	Assert(groups->first_block == 0);	/* so that no group continues a stretch: there are as many new ones as can be */
	/* the entries that go, perhaps that of the stretch before, those that move to their places, and new ones */
	for (uint32 i = 0; i < old + (end - begin); i++)
	{
		const uint32 entry = i < publication.old_count ? publication.old[i] :
			i < old ? before->entry : begin + (i - old);
		const uint32 page = pages_for(entry + 1, geometry->columns);
		int			at = 0;

		while (at < used && pages[at] != page)
			at++;
		if (page == 0 || at < used)
			continue;
		if (used == MOST_PAGES_OF_CHANGE)
			return false;
		pages[used++] = page;
	}
	for (uint32 entry = geometry->stretches; entry < end; entry++)
		if (!make_room(index, entry))
			return false;
	return true;
}

void
bf_index_publish(Relation index, const BfGroup *groups, int count)
{
	const BfGeometry *geometry = bf_index_current_geometry(index);
	const EntriesChange publication = plan_publication(geometry, groups, count);
	Change		change;

	begin_change(index, &change);
	for (uint32 i = 0; i < publication.new_count; i++)
	{
		const NewStretch *stretch = &publication.new[i];
		BfStoredStretch *entry = open_entry(index, &change, i < publication.old_count ? publication.old[i] :
											change.meta->stretches + (i - publication.old_count));

		memset(entry, 0, offsetof(BfStoredStretch, lines));
		entry->first_range = stretch->first_range;
		entry->groups = stretch->groups;
		entry->ranges = stretch->ranges;
		entry->level = publication.level;
		entry->first_block = stretch->first_block;
		entry->stride = stretch->stride;
		memcpy(entry->lines, stretch->lines, publication.columns * sizeof(uint32));
		entry->checksum = bf_index_entry_checksum(entry, publication.columns);
	}
	if (publication.new_count > publication.old_count)
		change.meta->stretches += publication.new_count - publication.old_count;
	/*
	 * The last entries move to the places that are left over, the highest place first: so none of them is such a place.
	 */
	for (uint32 i = publication.old_count; i > publication.new_count; i--)
	{
		const uint32 last = --change.meta->stretches;

		if (publication.old[i - 1] != last)
		{
			const BfStoredStretch *from = open_entry(index, &change, last);
			BfStoredStretch *to = open_entry(index, &change, publication.old[i - 1]);

			memcpy(to, from, (char *) bf_index_entry_at(to, 1, publication.columns) - (char *) to);
		}
	}
	change.meta->groups[publication.level] += publication.new_groups - publication.old_groups;
	if (publication.new_count < publication.old_count)
		change.meta->directory_pages =
			Min(change.meta->directory_pages, pages_for(change.meta->stretches, publication.columns));
	end_change(&change);
	pfree(publication.old);
	pfree(publication.new);
}
