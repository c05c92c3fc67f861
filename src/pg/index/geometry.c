/*
 * geometry.c: where things lie in an index: the meta page, the directory of groups, the filter pages.
 *
 * What is cached of it is never changed once it is written (the parameters of the index, and the entries of published
 * groups); groups are only added. A cached geometry is therefore right about what it knows, and may know too little.
 */
#include "index/bf_index.h"

#include "access/generic_xlog.h"
#include "access/transam.h"
#include "catalog/pg_am.h"
#include "miscadmin.h"
#include "port/pg_crc32c.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"

#define DIRECTORY_OFFSET sizeof(BfMetaPage)
#define ENTRIES_OFFSET (DIRECTORY_OFFSET + BF_INDEX_MAX_DIRECTORY_PAGES * sizeof(BlockNumber))

StaticAssertDecl(sizeof(BfMetaPage) == 64, "the meta page is stored as it is");
StaticAssertDecl(sizeof(BfDirectoryPage) == 8, "the directory page is stored as it is");
StaticAssertDecl(offsetof(BfFilterPage, states) == 32, "the filter page is stored as it is");

static inline Size
entry_size(int columns)
{
	return TYPEALIGN(8, offsetof(BfGroupEntry, lines) + columns * sizeof(uint32));
}

/* Entries on the meta page, and on each directory page. */
static inline uint32
entries_on_meta_page(int columns)
{
	return (BF_PAGE_SPACE - ENTRIES_OFFSET) / entry_size(columns);
}

static inline uint32
entries_on_directory_page(int columns)
{
	return (BF_PAGE_SPACE - sizeof(BfDirectoryPage)) / entry_size(columns);
}

static void
set_content_size(Page page, Size size)
{
	/* generic WAL and full page images leave out what lies between pd_lower and pd_upper */
	((PageHeader) page)->pd_lower = MAXALIGN(SizeOfPageHeaderData) + size;
}

/* Is this a page with so much content? With a wrong pd_lower, generic WAL would clear what it takes for free space. */
static inline bool
has_content_size(Page page, Size size)
{
	PageHeader	header = (PageHeader) page;

	return header->pd_lower == MAXALIGN(SizeOfPageHeaderData) + size && header->pd_upper == BLCKSZ &&
		header->pd_special == BLCKSZ;
}

/* Never 0, which stands for no checksum. */
static uint32
checksum_of(const void *data, Size size)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, data, size);
	FIN_CRC32C(crc);
	return Max(crc, 1);
}

static uint32
meta_checksum(const BfMetaPage *meta)
{
	BfMetaPage	copy = *meta;

	copy.groups = copy.directory_pages = copy.checksum = 0;
	return checksum_of(&copy, sizeof copy);
}

static uint32
entry_checksum(const BfGroupEntry *entry, int columns)
{
	uint32		copy[offsetof(BfGroupEntry, lines) / sizeof(uint32) + INDEX_MAX_KEYS];
	Size		size = offsetof(BfGroupEntry, lines) + columns * sizeof(uint32);

	memcpy(copy, entry, size);
	((BfGroupEntry *) copy)->checksum = 0;
	return checksum_of(copy, size);
}

void
bf_index_report_damage(Relation index, BlockNumber block, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" is damaged at block %u: %s", RelationGetRelationName(index), block, what),
			 errhint("Please REINDEX it.")));
}

Buffer
bf_index_read_page(Relation index, BlockNumber block)
{
	/* P_NEW would lengthen the file */
	if (block == P_NEW)
		bf_index_report_damage(index, block, "there is no such block");
	return ReadBuffer(index, block);
}

/* ------------------------------------------------------------- the meta page */

void
bf_index_init_meta_page(Page page, Relation index)
{
	BfMetaPage *meta;
	BfOptions  *options = (BfOptions *) index->rd_options;
	uint8		hashes;

	PageInit(page, BLCKSZ, 0);
	meta = (BfMetaPage *) PageGetContents(page);
	memset(meta, 0, BF_PAGE_SPACE);
	meta->magic = BF_INDEX_MAGIC;
	meta->version = BF_INDEX_VERSION;
	meta->columns = IndexRelationGetNumberOfKeyAttributes(index);
	meta->pages_per_range = options ? options->pages_per_range : BF_INDEX_DEFAULT_PAGES_PER_RANGE;
	meta->false_positive_rate = options ? options->false_positive_rate : BF_INDEX_DEFAULT_FPR;
	meta->load = sb_bf_best_load(meta->false_positive_rate, &hashes);
	meta->hashes = hashes;
	meta->checksum = meta_checksum(meta);
	set_content_size(page, BF_PAGE_SPACE);
}

static BfMetaPage *
meta_of(Relation index, Page page)
{
	BfMetaPage *meta = (BfMetaPage *) PageGetContents(page);

	if (PageIsNew(page) || meta->magic != BF_INDEX_MAGIC || !has_content_size(page, BF_PAGE_SPACE))
		bf_index_report_damage(index, 0, "it is not the meta page of a bf index");
	if (meta->version != BF_INDEX_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" is of format version %u, which this version of streambloom does not know",
						RelationGetRelationName(index), meta->version),
				 errhint("Please REINDEX it.")));
	if (meta->columns != IndexRelationGetNumberOfKeyAttributes(index) || meta->pages_per_range == 0 ||
		meta->pages_per_range > BF_INDEX_MAX_PAGES_PER_RANGE || meta->hashes == 0 || meta->hashes > SB_BF_MAX_HASHES ||
		!(meta->load > 0) || meta->directory_pages > BF_INDEX_MAX_DIRECTORY_PAGES)
		bf_index_report_damage(index, 0, "a parameter is out of its range");
	if (meta->checksum != 0 && meta->checksum != meta_checksum(meta))
		bf_index_report_damage(index, 0, "the checksum of its parameters is wrong");
	return meta;
}

static inline BlockNumber *
directory_of(BfMetaPage *meta)
{
	return (BlockNumber *) ((char *) meta + DIRECTORY_OFFSET);
}

static inline BfGroupEntry *
entry_at(void *entries, uint32 number, int columns)
{
	return (BfGroupEntry *) ((char *) entries + number * entry_size(columns));
}

static inline void *
meta_entries(BfMetaPage *meta)
{
	return (char *) meta + ENTRIES_OFFSET;
}

static void *
directory_entries(Relation index, BlockNumber block, Page page, uint32 number)
{
	BfDirectoryPage *directory = (BfDirectoryPage *) PageGetContents(page);

	if (PageIsNew(page) || !has_content_size(page, BF_PAGE_SPACE) || directory->magic != BF_DIRECTORY_MAGIC || directory->number != number)
		bf_index_report_damage(index, block, "it is not the directory page that it should be");
	return directory + 1;
}

/* ------------------------------------------------------------------ geometry */

/*
 * Adds groups to the geometry, whose room is there. `next` is the block where the first of them must begin, and afterwards the
 * one after the last; all must lie within the first `blocks` blocks.
 */
static void
add_entries(Relation index, BfGeometry *geometry, void *entries, uint32 first, uint32 count, BlockNumber blocks, uint64 *next)
{
	for (uint32 i = 0; i < count; i++)
	{
		BfGroupEntry *entry = entry_at(entries, i, geometry->columns);
		BfGroup    *group = &geometry->group[first + i];

		if (entry->first_range != geometry->covered || entry->ranges == 0 || entry->ranges > BF_INDEX_MAX_RANGES ||
			entry->first_block != *next)
			bf_index_report_damage(index, 0, "its groups do not follow each other");
		if (entry->checksum != 0 && entry->checksum != entry_checksum(entry, geometry->columns))
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

/* Copies the blocks of the directory pages; an error if there cannot be so many groups, or not these pages for them. */
static BlockNumber *
copy_directory(Relation index, BfMetaPage *meta)
{
	uint32		on_meta = entries_on_meta_page(meta->columns);
	uint32		on_page = entries_on_directory_page(meta->columns);
	BlockNumber *directory = palloc(Max(meta->directory_pages, 1) * sizeof(BlockNumber));

	if (meta->groups > on_meta && (meta->groups - on_meta - 1) / on_page >= meta->directory_pages)
		bf_index_report_damage(index, 0, "its directory lacks a page");
	/* one that has no entries yet may be there */
	if (meta->directory_pages > (meta->groups < on_meta ? 0 : (meta->groups - on_meta) / on_page + 1))
		bf_index_report_damage(index, 0, "its directory has too many pages");
	memcpy(directory, directory_of(meta), meta->directory_pages * sizeof(BlockNumber));
	return directory;
}

/*
 * Reads the meta page and the directory into one chunk of memory of the current context, and sees that all groups lie where they
 * should, within the file. A published group has all its pages, so the file's length is taken after the meta page is read.
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
	meta = meta_of(index, BufferGetPage(buffer));
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
	geometry->hashes = meta->hashes;
	geometry->groups = meta->groups;
	geometry->covered = 0;
	geometry->lines = (uint32 *) ((char *) geometry + lines_at);
	here = Min(meta->groups, entries_on_meta_page(meta->columns));
	blocks = RelationGetNumberOfBlocks(index);
	add_entries(index, geometry, meta_entries(meta), 0, here, blocks, &next);
	UnlockReleaseBuffer(buffer);

	for (uint32 page = 0; page < pages; page++)
	{
		uint32		count = Min(geometry->groups - here, entries_on_directory_page(geometry->columns));

		if (directory[page] != next || directory[page] >= blocks)
			bf_index_report_damage(index, 0, "a page of its directory is not where it should be");
		next++;
		buffer = bf_index_read_page(index, directory[page]);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		add_entries(index, geometry, directory_entries(index, directory[page], BufferGetPage(buffer), page), here, count,
					blocks, &next);
		UnlockReleaseBuffer(buffer);
		here += count;
	}
	pfree(directory);
	return geometry;
}

/*
 * The meta page. Every row that is written beyond the last group looks at it, so the buffer where it was last is tried
 * first, which saves the search for it; whether the page is still there is seen when it is pinned.
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
	/* what an error leaves behind must not stay in the relation cache */
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
 * The number of groups is looked at without a lock: every row beyond the last group does so, and the lock would be half of
 * what that costs. A writer that finds no group for its row may leave it to the summarizer only if whoever adds the group
 * later reads the row in the heap. The barrier sees to that: the row was there before this looked, and who adds a group locks
 * pages of the heap afterwards. A number that is just being written differs from the old one in some byte, and then the page
 * is read and checked under its lock.
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

/* ------------------------------------------------------------- adding a group */

/* The block of a directory page, as the meta page has it now. REQUIRES: number < meta->directory_pages. */
static BlockNumber
directory_block(Relation index, BfMetaPage *meta, uint32 number)
{
	BlockNumber block = directory_of(meta)[number];

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
	meta = meta_of(index, BufferGetPage(buffer));
	/* the last directory page may have no entries yet, and then lies after all groups */
	if (meta->directory_pages > 0)
		block = Max(block, directory_block(index, meta, meta->directory_pages - 1) + 1);
	UnlockReleaseBuffer(buffer);
	return block;
}

/* A page of the index at `block`: one that a crash left there, or a new one. Locked exclusively. */
static Buffer
page_to_write(Relation index, BlockNumber block)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(index);
	Buffer		buffer;

	if (block == 0 || block > blocks)
		bf_index_report_damage(index, 0, "the file is too short for its groups");
	/* what a crash left may be torn: it is not read */
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

bool
bf_index_reserve_entry(Relation index)
{
	const BfGeometry *geometry = bf_index_current_geometry(index);
	int			columns = geometry->columns;
	uint32		on_meta = entries_on_meta_page(columns),
				number;
	BlockNumber block;
	Buffer		buffer;
	GenericXLogState *xlog;
	BfDirectoryPage *directory;
	BfMetaPage *meta;
	Page		page;

	if (geometry->groups < on_meta)
		return true;
	number = (geometry->groups - on_meta) / entries_on_directory_page(columns);
	if (number >= BF_INDEX_MAX_DIRECTORY_PAGES)
		return false;
	buffer = bf_index_read_page(index, 0);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	meta = meta_of(index, BufferGetPage(buffer));
	if (number < meta->directory_pages)
	{
		UnlockReleaseBuffer(buffer);
		return true;
	}
	UnlockReleaseBuffer(buffer);

	/* first the page, then what points to it */
	block = bf_index_first_free_block(index);
	buffer = page_to_write(index, block);
	xlog = GenericXLogStart(index);
	page = GenericXLogRegisterBuffer(xlog, buffer, GENERIC_XLOG_FULL_IMAGE);
	PageInit(page, BLCKSZ, 0);
	directory = (BfDirectoryPage *) PageGetContents(page);
	directory->magic = BF_DIRECTORY_MAGIC;
	directory->number = number;
	set_content_size(page, BF_PAGE_SPACE);
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(buffer);

	buffer = bf_index_read_page(index, 0);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	xlog = GenericXLogStart(index);
	page = GenericXLogRegisterBuffer(xlog, buffer, 0);
	meta = meta_of(index, page);
	if (meta->directory_pages != number)
		bf_index_report_damage(index, 0, "its directory lacks a page");
	directory_of(meta)[number] = block;
	meta->directory_pages = number + 1;
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(buffer);
	return true;
}

static void
write_entry(void *entries, uint32 number, int columns, const BfGroup *group, const uint32 *lines)
{
	BfGroupEntry *entry = entry_at(entries, number, columns);

	entry->first_range = group->first_range;
	entry->ranges = group->ranges;
	entry->first_block = group->first_block;
	memcpy(entry->lines, lines, columns * sizeof(uint32));
	entry->checksum = entry_checksum(entry, columns);
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
	meta = meta_of(index, BufferGetPage(meta_buffer));
	number = meta->groups;
	columns = meta->columns;
	on_meta = entries_on_meta_page(columns);
	if (number >= on_meta)
	{
		/* the entry on its page first; until the meta page counts it, it is not there */
		uint32		page_number = (number - on_meta) / entries_on_directory_page(columns);
		BlockNumber block;
		Buffer		buffer;
		Page		page;

		if (page_number >= meta->directory_pages)
			bf_index_report_damage(index, 0, "its directory lacks a page");
		block = directory_block(index, meta, page_number);
		buffer = bf_index_read_page(index, block);
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		xlog = GenericXLogStart(index);
		page = GenericXLogRegisterBuffer(xlog, buffer, 0);
		write_entry(directory_entries(index, block, page, page_number),
					(number - on_meta) % entries_on_directory_page(columns), columns, group, lines);
		GenericXLogFinish(xlog);
		UnlockReleaseBuffer(buffer);
	}
	xlog = GenericXLogStart(index);
	meta = meta_of(index, GenericXLogRegisterBuffer(xlog, meta_buffer, 0));
	if (number < on_meta)
		write_entry(meta_entries(meta), number, columns, group, lines);
	meta->groups = number + 1;
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(meta_buffer);
}

/* -------------------------------------------------------------- filter pages */

static inline Size
filter_page_size(const BfGroup *group)
{
	return BF_LINES_OFFSET(group->ranges) + (Size) group->positions * group->ranges * SB_BF_LINE;
}

void
bf_index_init_filter_page(Page page, int column, const BfGroup *group, uint32 first_line)
{
	BfFilterPage *content;
	Size		size = filter_page_size(group);

	PageInit(page, BLCKSZ, 0);
	content = (BfFilterPage *) PageGetContents(page);
	memset(content, 0, size);
	content->magic = BF_FILTER_MAGIC;
	content->column = column;
	content->ranges = group->ranges;
	content->first_range = group->first_range;
	content->first_line = first_line;
	set_content_size(page, size);
}

Buffer
bf_index_new_page(Relation index, BlockNumber block)
{
	return page_to_write(index, block);
}

BfFilterPage *
bf_index_filter_page(Relation index, BlockNumber block, Page page, const BfGroup *group, int column, BlockNumber number)
{
	BfFilterPage *content = (BfFilterPage *) PageGetContents(page);

	if (PageIsNew(page) || content->magic != BF_FILTER_MAGIC || content->column != column ||
		content->ranges != group->ranges || content->first_range != group->first_range ||
		content->first_line != number * group->positions || !has_content_size(page, filter_page_size(group)))
		bf_index_report_damage(index, block, "it is not the filter page that it should be");
	return content;
}

uint64
bf_index_full_xid(TransactionId xid)
{
	FullTransactionId next = ReadNextFullTransactionId();
	uint64		epoch = EpochFromFullTransactionId(next);

	if (!TransactionIdIsNormal(xid))
		return 0;
	/* one that is not in the past of this epoch is of the one before */
	if (xid > XidFromFullTransactionId(next))
		epoch--;
	return epoch << 32 | xid;
}

bool
bf_index_is_before_horizon(BfViewer *viewer, const BfFilterPage *content)
{
	uint64		horizon = content->horizon;

	if (viewer->snapshot->takenDuringRecovery)
		horizon = Max(horizon, content->standby_horizon);
	if (horizon == 0)
		return false;
	if (viewer->xmin == 0)
		viewer->xmin = bf_index_full_xid(viewer->snapshot->xmin);
	return horizon > viewer->xmin;
}
