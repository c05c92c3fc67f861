/*
 * geometry.c: the geometry of an index: its parameters, and where its groups lie.
 *
 * The geometry is cached in the relation cache. Nothing of it ever changes once it is written; groups are only added.
 * So everything that a cached geometry says is right, but it may lack the newest groups.
 */
#include "index/bf_index.h"

#include "utils/memutils.h"

/*
 * Adds `count` groups to the geometry, from group `first` on; it has room for them. *next is the block at which the
 * first of them must begin, and is set to the block behind the last. All of them must end within the first `blocks`
 * blocks.
 */
static void
add_entries(Relation index, BfGeometry *geometry, void *entries, uint32 first, uint32 count, BlockNumber blocks,
			uint64 *next)
{
	for (uint32 i = 0; i < count; i++)
	{
		BfGroupEntry *entry = bf_index_entry_at(entries, i, geometry->columns);
		BfGroup    *group = &geometry->group[first + i];

		if (entry->first_range != geometry->covered || entry->ranges == 0 || entry->ranges > BF_INDEX_MAX_RANGES ||
			entry->first_block != *next)
			bf_index_report_damage(index, 0, "its groups do not follow each other");
		if (entry->checksum != 0 && entry->checksum != bf_index_entry_checksum(entry, geometry->columns))
			bf_index_report_damage(index, 0, "the checksum of a group is wrong");
		group->first_range = entry->first_range;
		group->ranges = entry->ranges;
		group->positions = BF_POSITIONS(entry->ranges);
		group->first_block = entry->first_block;
		for (int column = 0; column < geometry->columns; column++)
		{
			uint32		lines = entry->lines[column];

			if (lines == 0 || lines % group->positions != 0)
				bf_index_report_damage(index, 0, "the lines of a filter do not fill its pages");
			geometry->lines[(first + i) * geometry->columns + column] = lines;
			*next += lines / group->positions;
		}
		if (*next > blocks)
			bf_index_report_damage(index, 0, "the file is too short for its groups");
		geometry->covered += entry->ranges;
	}
}

/*
 * Copies the list of the directory pages' blocks. It is an error if these pages are too few for the number of groups,
 * or too many.
 */
static BlockNumber *
copy_directory(Relation index, BfMetaPage *meta)
{
	uint32		on_meta = bf_index_entries_on_meta_page(meta->columns);
	uint32		on_page = bf_index_entries_on_directory_page(meta->columns);
	BlockNumber *directory = palloc(Max(meta->directory_pages, 1) * sizeof(BlockNumber));

	if (meta->groups > on_meta && (meta->groups - on_meta - 1) / on_page >= meta->directory_pages)
		bf_index_report_damage(index, 0, "its directory lacks a page");
	/* the last one may have no entries yet */
	if (meta->directory_pages > (meta->groups < on_meta ? 0 : (meta->groups - on_meta) / on_page + 1))
		bf_index_report_damage(index, 0, "its directory has too many pages");
	memcpy(directory, bf_index_directory(meta), meta->directory_pages * sizeof(BlockNumber));
	return directory;
}

/*
 * Reads the meta page and the directory into one chunk of memory of the current context. Checks that all groups lie
 * where they should, within the file. The file's length is taken after the meta page is locked: then the pages of all
 * groups that it counts are in the file.
 */
static BfGeometry *
read_geometry(Relation index)
{
	Buffer		buffer;
	BfMetaPage *meta;
	BfGeometry *geometry;
	BlockNumber *directory;
	BlockNumber blocks;
	uint32		here,
				pages;
	uint64		next = 1;
	Size		lines_at,
				size;

	if (RelationGetNumberOfBlocks(index) == 0)
		bf_index_report_damage(index, 0, "the file is empty");
	buffer = bf_index_read_page(index, 0);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	meta = bf_index_meta_page(index, BufferGetPage(buffer));
	directory = copy_directory(index, meta);
	pages = meta->directory_pages;
	lines_at = MAXALIGN(offsetof(BfGeometry, group) + meta->groups * sizeof(BfGroup));
	size = lines_at + (Size) meta->groups * meta->columns * sizeof(uint32);
	geometry = palloc_extended(size, MCXT_ALLOC_HUGE);
	geometry->size = size;
	geometry->meta_buffer = buffer;
	geometry->columns = meta->columns;
	geometry->pages_per_range = meta->pages_per_range;
	geometry->false_positive_rate = meta->false_positive_rate;
	geometry->load = meta->load;
	geometry->hash_count = meta->hashes;
	geometry->groups = meta->groups;
	geometry->covered = 0;
	geometry->lines = (uint32 *) ((char *) geometry + lines_at);
	here = Min(meta->groups, bf_index_entries_on_meta_page(meta->columns));
	blocks = RelationGetNumberOfBlocks(index);
	add_entries(index, geometry, bf_index_meta_entries(meta), 0, here, blocks, &next);
	UnlockReleaseBuffer(buffer);

	for (uint32 page = 0; page < pages; page++)
	{
		uint32		count = Min(geometry->groups - here, bf_index_entries_on_directory_page(geometry->columns));
		void	   *entries;

		if (directory[page] != next || directory[page] >= blocks)
			bf_index_report_damage(index, 0, "a page of its directory is not where it should be");
		next++;
		buffer = bf_index_read_page(index, directory[page]);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		entries = bf_index_directory_entries(index, directory[page], BufferGetPage(buffer), page);
		add_entries(index, geometry, entries, here, count, blocks, &next);
		UnlockReleaseBuffer(buffer);
		here += count;
	}
	pfree(directory);
	return geometry;
}

/* ------------------------------------------------------------------ the cache */

/*
 * Pins the meta page. It is looked at for every row that is written behind the last group. To save the search for its
 * buffer, the buffer where the page was last is tried first. sb_read_recent_buffer() checks that the page is still in
 * it.
 */
static Buffer
read_meta_page(Relation index)
{
	BfGeometry *geometry = index->rd_amcache;

	if (geometry == NULL)
		return bf_index_read_page(index, 0);
	if (!BufferIsValid(geometry->meta_buffer) || !sb_read_recent_buffer(index, 0, geometry->meta_buffer))
		geometry->meta_buffer = bf_index_read_page(index, 0);
	return geometry->meta_buffer;
}

static void
read_into_cache(Relation index)
{
	/*
	 * It is read into the caller's memory first: an error on the way must leave nothing behind in the relation cache.
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

const BfGeometry *
bf_index_geometry(Relation index)
{
	if (index->rd_amcache == NULL)
		read_into_cache(index);
	return index->rd_amcache;
}

/*
 * The number of groups is read without a lock. This function is called for every row that is written behind the last
 * group, and the lock would be half of its cost.
 *
 * Why this is safe for a writer, which does nothing for a row that no group covers: the summarizer that adds the group
 * later must find the row in the heap. The row is in the heap already. The barrier makes sure that it was there before
 * the number is read, and the summarizer locks the pages of the heap after it has raised the number. If the number is
 * read while it is being written, some byte differs from the old number; then the page is read again under its lock.
 */
const BfGeometry *
bf_index_current_geometry(Relation index)
{
	const BfGeometry *geometry = index->rd_amcache;

	if (geometry != NULL)
	{
		Buffer		buffer = read_meta_page(index);
		uint32		groups;

		pg_memory_barrier();
		groups = *(volatile uint32 *) &((BfMetaPage *) PageGetContents(BufferGetPage(buffer)))->groups;
		ReleaseBuffer(buffer);
		if (groups == geometry->groups)
			return geometry;
	}
	read_into_cache(index);
	return index->rd_amcache;
}

BfGeometry *
bf_index_copy_geometry(const BfGeometry *geometry)
{
	BfGeometry *copy = palloc_extended(geometry->size, MCXT_ALLOC_HUGE);

	memcpy(copy, geometry, geometry->size);
	copy->lines = (uint32 *) ((char *) copy + ((char *) geometry->lines - (const char *) geometry));
	return copy;
}

/* --------------------------------------------------------------- where it lies */

uint32
bf_index_group_of(const BfGeometry *geometry, uint32 range)
{
	uint32		low = 0,
				high = geometry->groups - 1;

	Assert(range < geometry->covered);
	while (low < high)
	{
		uint32		middle = low + (high - low + 1) / 2;

		if (geometry->group[middle].first_range <= range)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

BlockNumber
bf_index_column_pages(const BfGeometry *geometry, uint32 group, int column)
{
	uint32		lines = geometry->lines[group * geometry->columns + column];
	uint32		positions = geometry->group[group].positions;

	return (lines + positions - 1) / positions;
}

BlockNumber
bf_index_column_start(const BfGeometry *geometry, uint32 group, int column)
{
	BlockNumber block = geometry->group[group].first_block;

	for (int before = 0; before < column; before++)
		block += bf_index_column_pages(geometry, group, before);
	return block;
}

BlockNumber
bf_index_group_end(const BfGeometry *geometry, uint32 group)
{
	return bf_index_column_start(geometry, group, geometry->columns);
}
