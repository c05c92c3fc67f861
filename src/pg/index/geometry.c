/*
 * geometry.c: the geometry of an index: its parameters, and where its groups lie. A group has consecutive ranges of one
 * level, with filters of the same size. A stretch has groups that follow each other and are alike. The directory, on
 * the meta page and on pages of its own, is the list of the stretches.
 *
 * The geometry is cached in the relation cache. A group itself never changes, but groups are added, and a group may
 * be replaced by another one (remake.c). So a cached geometry may lack the newest groups, and may have
 * groups that were replaced. The ranges of a replaced group are unsummarized on its pages, or these pages belong to
 * another group or to the directory now. Each change adds 1 to the number of publications on the meta page, so a
 * writer sees whether it has the newest geometry.
 */
#include "index/geometry.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/sinval.h"
#include "storage/standby.h"
#include "utils/memutils.h"

#include "index/layout.h"
#include "index/sizes.h"

/* ------------------------------------------------------------------- levels */

int
bf_index_possible_levels(const BfGeometry *geometry)
{
	int			levels = 1;

	if (geometry->level[0].pages_per_range == 0)
		return geometry->most_levels;
	while (levels < geometry->most_levels && geometry->level[levels].pages_per_range != 0)
		levels++;
	return levels;
}

/* ---------------------------------------------------------------- reading it */

/* The entries of the directory, as they were read. */
typedef struct Directory
{
	int			columns;
	uint32		stretches;
	char	   *entries;		/* one after the other, as on a page */
} Directory;

static inline BfStoredStretch *
entry_of(const Directory *directory, uint32 number)
{
	return bf_index_entry_at(directory->entries, number, directory->columns);
}

/*
 * Copies the list of the directory pages' blocks. It is an error if these pages are too few or too many for the
 * number of stretches.
 */
static BlockNumber *
copy_directory_blocks(Relation index, BfMetaPage *meta)
{
	uint32		on_meta = bf_index_entries_on_meta_page(meta->columns);
	uint32		on_page = bf_index_entries_on_directory_page(meta->columns);
	BlockNumber *blocks = palloc(Max(meta->directory_pages, 1) * sizeof(BlockNumber));
	uint32		last;

	if (meta->stretches > on_meta && (meta->stretches - on_meta - 1) / on_page >= meta->directory_pages)
		bf_index_report_damage(index, 0, "its directory lacks a page");
	/* the last directory page may be empty: room for entries is reserved before they are written */
	last = meta->stretches + BF_MOST_ENTRIES_RESERVED - 1;
	if (meta->directory_pages > (last < on_meta ? 0 : (last - on_meta) / on_page + 1))
		bf_index_report_damage(index, 0, "its directory has too many pages");
	memcpy(blocks, bf_index_directory(meta), meta->directory_pages * sizeof(BlockNumber));
	return blocks;
}

/* Copies `count` entries from a page to the directory, from entry `first` on. */
static void
copy_entries(Directory *directory, uint32 first, void *entries, uint32 count)
{
	char	   *end = (char *) bf_index_entry_at(entries, count, directory->columns);

	memcpy(entry_of(directory, first), entries, end - (char *) entries);
}

/*
 * Reads the entries on the meta page, and then those on directory pages. REQUIRES: the meta page is locked, and stays
 * so. Then no entry changes, since every change of an entry changes the meta page, too. If a directory page lies at
 * or behind *end, sets *end to the block behind the last one.
 */
static void
read_directory(Relation index, BfMetaPage *meta, BlockNumber blocks, BlockNumber *end, Directory *directory)
{
	uint32		here = Min(meta->stretches, bf_index_entries_on_meta_page(meta->columns));
	uint32		pages = meta->directory_pages;
	BlockNumber *page_blocks = copy_directory_blocks(index, meta);

	directory->columns = meta->columns;
	directory->stretches = meta->stretches;
	directory->entries =
		palloc_extended((char *) bf_index_entry_at(NULL, Max(meta->stretches, 1), meta->columns) - (char *) NULL,
						MCXT_ALLOC_HUGE);
	copy_entries(directory, 0, bf_index_meta_entries(meta), here);
	for (uint32 page = 0; page < pages; page++)
	{
		BlockNumber block = page_blocks[page];
		uint32		count = Min(directory->stretches - here, bf_index_entries_on_directory_page(directory->columns));
		Buffer		buffer;

		if (block == 0 || block >= blocks)
			bf_index_report_damage(index, 0, "a page of its directory is not where it should be");
		buffer = bf_index_read_page(index, block);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		copy_entries(directory, here, bf_index_directory_entries(index, block, BufferGetPage(buffer), page), count);
		UnlockReleaseBuffer(buffer);
		here += count;
		*end = Max(*end, block + 1);
	}
	pfree(page_blocks);
}

/* Raises an error unless the entry can be the next stretch of its level. */
static void
check_entry(Relation index, const BfGeometry *geometry, const BfStoredStretch *entry)
{
	if (entry->checksum != bf_index_entry_checksum(entry, geometry->columns))
		bf_index_report_damage(index, 0, "the checksum of groups is wrong");
	if (entry->level >= geometry->most_levels || geometry->level[entry->level].pages_per_range == 0 ||
		entry->first_range != geometry->level[entry->level].covered || entry->ranges == 0 ||
		entry->ranges > BF_INDEX_MAX_RANGES || entry->groups == 0)
		bf_index_report_damage(index, 0, "its groups do not follow each other");
}

/*
 * Adds entry `number` of the directory to the geometry as the next stretch of its level. It is an error if one of its
 * groups does not end within the first `blocks` blocks.
 */
static void
add_stretch(Relation index, BfGeometry *geometry, const BfStoredStretch *entry, uint32 number, BlockNumber blocks)
{
	BfLevel    *level = &geometry->level[entry->level];
	BfStretch  *stretch = &geometry->stretch[level->first_stretch + level->stretches];
	uint32	   *lines = &geometry->lines[(level->first_stretch + level->stretches) * geometry->columns];
	uint64		pages = 0;
	uint64		end;

	stretch->first_range = entry->first_range;
	stretch->groups = entry->groups;
	stretch->ranges = entry->ranges;
	stretch->positions = BF_POSITIONS(entry->ranges);
	stretch->first_block = entry->first_block;
	stretch->stride = entry->stride;
	stretch->entry = number;
	for (int column = 0; column < geometry->columns; column++)
	{
		lines[column] = entry->lines[column];
		if (lines[column] == 0 || lines[column] % stretch->positions != 0)
			bf_index_report_damage(index, 0, "the lines of a filter do not fill its pages");
		pages += lines[column] / stretch->positions;
	}
	end = stretch->first_block + (uint64) (stretch->groups - 1) * stretch->stride + pages;
	if (stretch->first_block == 0 || (stretch->groups > 1 && stretch->stride < pages) || end > blocks)
		bf_index_report_damage(index, 0, "the file is too short for its groups");
	geometry->end_block = Max(geometry->end_block, (BlockNumber) end);
	geometry->used_blocks += (BlockNumber) (stretch->groups * pages);
	level->stretches++;
	level->groups += stretch->groups;
	level->covered += stretch->groups * stretch->ranges;
}

/*
 * Orders entries by level, and on a level by range. If two are equal, the directory is damaged; check_entry() finds
 * that.
 */
static int
compare_entries(const void *a, const void *b, void *argument)
{
	const BfStoredStretch *x = entry_of(argument, *(const uint32 *) a),
			   *y = entry_of(argument, *(const uint32 *) b);

	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	return x->first_range < y->first_range ? -1 : x->first_range > y->first_range;
}

/*
 * Puts the stretches into the geometry, level by level and in the order of their ranges. The entries of the directory
 * may stand in any order.
 */
static void
add_stretches(Relation index, BfGeometry *geometry, Directory *directory, const uint32 *groups, BlockNumber blocks)
{
	uint32	   *order = palloc_extended(Max(directory->stretches, 1) * sizeof(uint32), MCXT_ALLOC_HUGE);
	uint32		next = 0;

	for (uint32 i = 0; i < directory->stretches; i++)
		order[i] = i;
	qsort_arg(order, directory->stretches, sizeof(uint32), compare_entries, directory);
	for (int number = 0; number < BF_INDEX_MAX_LEVELS; number++)
	{
		BfLevel    *level = &geometry->level[number];

		level->first_stretch = next;
		for (; next < directory->stretches && entry_of(directory, order[next])->level == number; next++)
		{
			const BfStoredStretch *entry = entry_of(directory, order[next]);

			check_entry(index, geometry, entry);
			if (entry->groups > groups[number] - level->groups)
				bf_index_report_damage(index, 0, "it has more groups than it counts");
			add_stretch(index, geometry, entry, order[next], blocks);
		}
		if (level->groups != groups[number] || level->begun > level->covered)
			bf_index_report_damage(index, 0, "it has fewer groups than it counts");
		if (level->groups > 0)
			geometry->levels = number + 1;
	}
	if (next != directory->stretches)
		bf_index_report_damage(index, 0, "its groups do not follow each other");
	pfree(order);
}

/* Sets the pointers to the arrays that follow the struct in the same chunk of memory, and the size of the chunk. */
static void
set_pointers(BfGeometry *geometry, uint32 stretches)
{
	char	   *at = (char *) geometry + MAXALIGN(sizeof(BfGeometry));

	geometry->column = (BfParameters *) at;
	at += MAXALIGN(geometry->columns * sizeof(BfParameters));
	geometry->stretch = (BfStretch *) at;
	at += MAXALIGN(stretches * sizeof(BfStretch));
	geometry->lines = (uint32 *) at;
	at += MAXALIGN((Size) stretches * geometry->columns * sizeof(uint32));
	geometry->stretches = stretches;
	geometry->size = at - (char *) geometry;
}

/*
 * Reads the meta page and the directory into one chunk of memory of the current context. Checks that all groups lie
 * within the file. The file's length is taken after the meta page is locked: then the pages of all groups that the
 * meta page counts are in the file.
 */
static BfGeometry *
read_geometry(Relation index)
{
	Buffer		buffer;
	BfMetaPage *meta;
	BfGeometry	header = {0};
	BfGeometry *geometry;
	Directory	directory;
	BfParameters columns[INDEX_MAX_KEYS];
	BlockNumber lengths[BF_INDEX_MAX_LEVELS];
	uint32		groups[BF_INDEX_MAX_LEVELS];
	BlockNumber blocks;

	if (RelationGetNumberOfBlocks(index) == 0)
		bf_index_report_damage(index, 0, "the file is empty");
	buffer = bf_index_read_page(index, 0);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	meta = bf_index_meta_page(index, BufferGetPage(buffer));
	header.meta_buffer = buffer;
	header.publications = meta->publications;
	header.beyond = meta->beyond;
	header.columns = meta->columns;
	header.most_levels = meta->levels;
	header.upper = meta->upper;
	header.end_block = 1;
	header.directory_pages = meta->directory_pages;
	header.used_blocks = 1 + meta->directory_pages;
	memcpy(columns, meta->column, meta->columns * sizeof(BfParameters));
	memcpy(groups, meta->groups, sizeof groups);
	bf_index_level_lengths(meta->pages_per_range, lengths);
	for (int level = 0; level < BF_INDEX_MAX_LEVELS; level++)
	{
		header.level[level].pages_per_range = lengths[level];
		header.level[level].begun = meta->begun[level];
	}
	blocks = RelationGetNumberOfBlocks(index);
	read_directory(index, meta, blocks, &header.end_block, &directory);
	UnlockReleaseBuffer(buffer);

	set_pointers(&header, directory.stretches);
	geometry = palloc_extended(header.size, MCXT_ALLOC_HUGE);
	*geometry = header;
	set_pointers(geometry, directory.stretches);
	memcpy(geometry->column, columns, geometry->columns * sizeof(BfParameters));
	add_stretches(index, geometry, &directory, groups, blocks);
	pfree(directory.entries);
	return geometry;
}

/* ------------------------------------------------------------------ the cache */

/*
 * To save the search for the page's buffer, the buffer where the page was last is tried first.
 * sb_read_recent_buffer() checks that the page is still in it.
 */
Buffer
bf_index_pin_meta_page(Relation index)
{
	BfGeometry *geometry = index->rd_amcache;

	if (geometry == NULL)
		return bf_index_read_page(index, 0);
	if (!BufferIsValid(geometry->meta_buffer) || !sb_read_recent_buffer(sb_locator_of(index), 0, geometry->meta_buffer))
		geometry->meta_buffer = bf_index_read_page(index, 0);
	return geometry->meta_buffer;
}

static void
read_into_cache(Relation index)
{
	/*
	 * The geometry is read into the caller's memory first: an error must leave nothing behind in the relation cache.
	 */
	BfGeometry *geometry = read_geometry(index);
	MemoryContext caller = MemoryContextSwitchTo(index->rd_indexcxt);
	BfGeometry *copy = bf_index_copy_geometry(geometry);

	MemoryContextSwitchTo(caller);
	pfree(geometry);
	if (index->rd_amcache != NULL)
		pfree(index->rd_amcache);
	index->rd_amcache = copy;
}

void
bf_index_outdate_geometries(Relation index)
{
	SharedInvalidationMessage message = {0};

	message.rc.id = SHAREDINVALRELCACHE_ID;
	message.rc.dbId = MyDatabaseId;
	message.rc.relId = RelationGetRelid(index);
	if (RelationNeedsWAL(index) && XLogStandbyInfoActive())
		LogStandbyInvalidations(1, &message, false);
	SendSharedInvalidMessages(&message, 1);
}

const BfGeometry *
bf_index_geometry(Relation index)
{
	if (index->rd_amcache == NULL)
		read_into_cache(index);
	return index->rd_amcache;
}

/*
 * Was nothing published since this geometry was read? REQUIRES: the meta page is pinned, in this buffer.
 *
 * The number of publications is read without a lock. This function is called for every row that is written, and taking
 * the lock would double its time.
 *
 * Why this is safe: a writer does nothing for a row on a level where the row's range has not begun. So the summarizer
 * that begins this range later must find the row in the heap. It does: the barrier makes sure that the row was in the
 * heap before the number is read, and the summarizer locks the pages of the heap after it has raised the number.
 *
 * The number may be read while memcpy() copies the changed page over the old one. The number is an aligned word of
 * eight bytes, which x86-64 and ARM64 copy at once, so the old number or the new one is read. The C standard does not
 * promise that. If the bytes were copied one by one, the reader could see a mix of both: 0x0000 or 0x01FF between
 * 0x00FF and 0x0100. That would do harm only if the session's geometry had just this number, so if it were at least
 * 255 publications old. Any other mix differs from the geometry's number, and the page is read again under its lock.
 */
static inline bool
is_current(const BfGeometry *geometry, Buffer meta_page)
{
	pg_memory_barrier();
	return geometry->publications ==
		*(volatile uint64 *) &((BfMetaPage *) PageGetContents(BufferGetPage(meta_page)))->publications;
}

const BfGeometry *
bf_index_current_geometry_by(Relation index, Buffer meta_page)
{
	const BfGeometry *geometry = index->rd_amcache;

	if (geometry == NULL || !is_current(geometry, meta_page))
		read_into_cache(index);
	return index->rd_amcache;
}

const BfGeometry *
bf_index_current_geometry(Relation index)
{
	if (index->rd_amcache == NULL)
		read_into_cache(index);
	else
	{
		const Buffer meta_page = bf_index_pin_meta_page(index);

		(void) bf_index_current_geometry_by(index, meta_page);
		ReleaseBuffer(meta_page);
	}
	return index->rd_amcache;
}

BfGeometry *
bf_index_copy_geometry(const BfGeometry *geometry)
{
	BfGeometry *copy = palloc_extended(geometry->size, MCXT_ALLOC_HUGE);

	memcpy(copy, geometry, geometry->size);
	set_pointers(copy, geometry->stretches);
	return copy;
}

/* --------------------------------------------------------------- where it lies */

/* The number of the stretch that has this range of a level. REQUIRES: range < level->covered. */
static uint32
place_of(const BfGeometry *geometry, const BfLevel *level, uint32 range)
{
	uint32		low = level->first_stretch,
				high = level->first_stretch + level->stretches - 1;

	Assert(range < level->covered);
	while (low < high)
	{
		uint32		middle = low + (high - low + 1) / 2;

		if (geometry->stretch[middle].first_range <= range)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

void
bf_index_find_group(const BfGeometry *geometry, int level, uint32 range, BfGroup *group)
{
	uint32		number = place_of(geometry, &geometry->level[level], range);
	const BfStretch *stretch = &geometry->stretch[number];
	uint32		in_stretch = (range - stretch->first_range) / stretch->ranges;

	group->level = level;
	group->columns = geometry->columns;
	group->first_range = stretch->first_range + in_stretch * stretch->ranges;
	group->ranges = stretch->ranges;
	group->positions = stretch->positions;
	group->first_block = stretch->first_block + in_stretch * stretch->stride;
	group->lines = &geometry->lines[number * geometry->columns];
}

const BfStretch *
bf_index_stretch_of(const BfGeometry *geometry, int level, uint32 range)
{
	return &geometry->stretch[place_of(geometry, &geometry->level[level], range)];
}

/*
 * Was this group replaced since its geometry was read? Reads the geometry anew, and leaves the one in the relation
 * cache as it is.
 */
static bool
is_replaced(Relation index, const BfGroup *group)
{
	BfGeometry *geometry = read_geometry(index);
	bool		replaced = false;

	if (group->level < geometry->levels && group->first_range < geometry->level[group->level].covered)
	{
		BfGroup		now;

		bf_index_find_group(geometry, group->level, group->first_range, &now);
		replaced = now.first_range != group->first_range || now.ranges != group->ranges ||
			now.first_block != group->first_block ||
			memcmp(now.lines, group->lines, group->columns * sizeof(uint32)) != 0;
	}
	pfree(geometry);
	return replaced;
}

BfFilterPage *
bf_index_filter_page_in_use(Relation index, Buffer buffer, const BfGroup *group, int column, BlockNumber number)
{
	bool		replaced = false;

	if (!bf_index_is_filter_page(BufferGetPage(buffer), group, column, number))
	{
		/*
		 * It may be a page of the directory now. Whoever changes the directory locks the meta page first, and then a
		 * page of the directory. So nobody may wait for the meta page while this page is locked.
		 */
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
		replaced = is_replaced(index, group);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
	}
	if (replaced)
		return NULL;
	return bf_index_filter_page(index, BufferGetBlockNumber(buffer), BufferGetPage(buffer), group, column, number);
}

BlockNumber
bf_index_column_pages(const BfGroup *group, int column)
{
	return group->lines[column] / group->positions;
}

BlockNumber
bf_index_column_start(const BfGroup *group, int column)
{
	BlockNumber block = group->first_block;

	for (int before = 0; before < column; before++)
		block += bf_index_column_pages(group, before);
	return block;
}

BlockNumber
bf_index_group_pages(const BfGroup *group)
{
	return bf_index_column_start(group, group->columns) - group->first_block;
}
