/*
 * layout.c: the pages of a bf index: writes empty pages, checks a page before its content is used, and finds the
 * entries of the directory on a page.
 */
#include "index/layout.h"

#include "port/pg_crc32c.h"

#include "index/handler.h"
#include "index/keys.h"
#include "index/sizes.h"

StaticAssertDecl(offsetof(BfMetaPage, column) == 96, "the meta page is stored as it is");
StaticAssertDecl(sizeof(BfParameters) == 24, "parameters are stored as they are");
StaticAssertDecl(offsetof(BfStoredStretch, lines) == 24, "entries of the directory are stored as they are");
StaticAssertDecl(sizeof(BfDirectoryPage) == 8, "the directory page is stored as it is");
StaticAssertDecl(offsetof(BfFilterPage, states) == BF_FILTER_HEADER, "the filter page is stored as it is");
StaticAssertDecl(BLCKSZ - MAXALIGN(SizeOfPageHeaderData) == BF_PAGE_SPACE, "sizes.h knows the page header");

/* ------------------------------------------------------------------ any page */

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
	/* ReadBuffer() would take this number as P_NEW, and lengthen the file */
	if (block == P_NEW)
		bf_index_report_damage(index, block, "there is no such block");
	return ReadBuffer(index, block);
}

/*
 * Sets pd_lower so that `size` bytes behind the page header are in use. Generic WAL and full-page images leave out
 * what lies between pd_lower and pd_upper.
 */
static void
set_content_size(Page page, Size size)
{
	((PageHeader) page)->pd_lower = MAXALIGN(SizeOfPageHeaderData) + size;
}

/*
 * Are exactly `size` bytes behind the page header in use? The replay of generic WAL clears what lies between pd_lower
 * and pd_upper, so with a wrong pd_lower it would clear lines.
 */
static inline bool
has_content_size(Page page, Size size)
{
	PageHeader	header = (PageHeader) page;

	return header->pd_lower == MAXALIGN(SizeOfPageHeaderData) + size && header->pd_upper == BLCKSZ &&
		header->pd_special == BLCKSZ;
}

/* CRC-32C, but never 0: so bytes that are all zero never have the right checksum. */
static uint32
checksum_of(const void *data, Size size)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, data, size);
	FIN_CRC32C(crc);
	return Max(crc, 1);
}

/* ------------------------------------------------------------- the meta page */

static uint32
meta_checksum(const BfMetaPage *meta)
{
	char		copy[offsetof(BfMetaPage, column) + INDEX_MAX_KEYS * sizeof(BfParameters)];
	Size		size = offsetof(BfMetaPage, column) + meta->columns * sizeof(BfParameters);

	memcpy(copy, meta, size);
	((BfMetaPage *) copy)->checksum = 0;
	return checksum_of(copy, size);
}

void
bf_index_seal_meta_page(BfMetaPage *meta)
{
	meta->checksum = meta_checksum(meta);
}

static BfParameters
parameters_for(double rate, BfKeys keys)
{
	BfParameters parameters = {.false_positive_rate = rate, .keys = keys};

	parameters.load = sb_bf_items_per_line(rate, &parameters.hashes);
	return parameters;
}

static BfKeys
keys_of_column(Relation index, int column)
{
	return bf_index_has_keys(index, column) ? BF_KEYS_INSIDE : BF_KEYS_VALUE;
}

static double
upper_rate(const BfMetaPage *meta)
{
	bool		all_are_keys = true;
	double		least = 1;

	for (int column = 0; column < meta->columns; column++)
	{
		all_are_keys &= meta->column[column].keys == BF_KEYS_INSIDE;
		least = Min(least, meta->column[column].false_positive_rate);
	}
	return bf_index_upper_rate(all_are_keys, least);
}

void
bf_index_init_meta_page(Page page, Relation index)
{
	BfMetaPage *meta;

	PageInit(page, BLCKSZ, 0);
	meta = (BfMetaPage *) PageGetContents(page);
	memset(meta, 0, BF_PAGE_SPACE);
	meta->magic = BF_INDEX_MAGIC;
	meta->version = BF_INDEX_VERSION;
	meta->columns = IndexRelationGetNumberOfKeyAttributes(index);
	meta->pages_per_range = bf_index_pages_per_range_option(index);
	meta->levels = bf_index_levels_option(index);
	for (int column = 0; column < meta->columns; column++)
		meta->column[column] = parameters_for(bf_index_fpr_option(index, column), keys_of_column(index, column));
	meta->upper = parameters_for(upper_rate(meta), BF_KEYS_VALUE);
	bf_index_seal_meta_page(meta);
	set_content_size(page, BF_PAGE_SPACE);
}

static bool
is_in_range(const BfParameters *parameters)
{
	return parameters->hashes >= 1 && parameters->hashes <= SB_BF_MAX_HASHES && parameters->load > 0 &&
		parameters->keys <= BF_KEYS_INSIDE;
}

BfMetaPage *
bf_index_meta_page(Relation index, Page page)
{
	BfMetaPage *meta = (BfMetaPage *) PageGetContents(page);
	bool		good;

	if (PageIsNew(page) || meta->magic != BF_INDEX_MAGIC || !has_content_size(page, BF_PAGE_SPACE))
		bf_index_report_damage(index, 0, "it is not the meta page of a bf index");
	if (meta->version != BF_INDEX_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" is of format version %u, which this version of streambloom does not know",
						RelationGetRelationName(index), meta->version),
				 errhint("Please REINDEX it.")));
	good = meta->columns == IndexRelationGetNumberOfKeyAttributes(index) &&
		meta->pages_per_range <= BF_INDEX_MAX_PAGES_PER_RANGE && meta->levels >= 1 &&
		meta->levels <= BF_INDEX_MAX_LEVELS && meta->beyond <= BF_BEYOND_EMPTY &&
		meta->directory_pages <= BF_INDEX_MAX_DIRECTORY_PAGES &&
		is_in_range(&meta->upper);
	for (int column = 0; good && column < meta->columns; column++)
		good = is_in_range(&meta->column[column]);
	if (!good)
		bf_index_report_damage(index, 0, "a parameter is out of its range");
	if (meta->checksum != meta_checksum(meta))
		bf_index_report_damage(index, 0, "the checksum of its parameters is wrong");
	for (int column = 0; column < meta->columns; column++)
		if (meta->column[column].keys != keys_of_column(index, column))
			bf_index_report_damage(index, 0, "an operator class was changed after the index was built");
	return meta;
}

static inline Size
directory_offset(int columns)
{
	return offsetof(BfMetaPage, column) + columns * sizeof(BfParameters);
}

static inline Size
entries_offset(int columns)
{
	return TYPEALIGN(8, directory_offset(columns) + BF_INDEX_MAX_DIRECTORY_PAGES * sizeof(BlockNumber));
}

BlockNumber *
bf_index_directory(BfMetaPage *meta)
{
	return (BlockNumber *) ((char *) meta + directory_offset(meta->columns));
}

void *
bf_index_meta_entries(BfMetaPage *meta)
{
	return (char *) meta + entries_offset(meta->columns);
}

/* -------------------------------------------------------------- the directory */

void
bf_index_init_directory_page(Page page, uint32 number)
{
	BfDirectoryPage *directory;

	PageInit(page, BLCKSZ, 0);
	directory = (BfDirectoryPage *) PageGetContents(page);
	directory->magic = BF_DIRECTORY_MAGIC;
	directory->number = number;
	set_content_size(page, BF_PAGE_SPACE);
}

void *
bf_index_directory_entries(Relation index, BlockNumber block, Page page, uint32 number)
{
	BfDirectoryPage *directory = (BfDirectoryPage *) PageGetContents(page);

	if (PageIsNew(page) || !has_content_size(page, BF_PAGE_SPACE) || directory->magic != BF_DIRECTORY_MAGIC ||
		directory->number != number)
		bf_index_report_damage(index, block, "it is not the directory page that it should be");
	return directory + 1;
}

static inline Size
entry_size(int columns)
{
	return TYPEALIGN(8, offsetof(BfStoredStretch, lines) + columns * sizeof(uint32));
}

BfStoredStretch *
bf_index_entry_at(void *entries, uint32 number, int columns)
{
	return (BfStoredStretch *) ((char *) entries + number * entry_size(columns));
}

uint32
bf_index_entry_checksum(const BfStoredStretch *entry, int columns)
{
	uint32		copy[offsetof(BfStoredStretch, lines) / sizeof(uint32) + INDEX_MAX_KEYS];
	Size		size = offsetof(BfStoredStretch, lines) + columns * sizeof(uint32);

	memcpy(copy, entry, size);
	((BfStoredStretch *) copy)->checksum = 0;
	return checksum_of(copy, size);
}

uint32
bf_index_entries_on_meta_page(int columns)
{
	return (BF_PAGE_SPACE - entries_offset(columns)) / entry_size(columns);
}

uint32
bf_index_entries_on_directory_page(int columns)
{
	return (BF_PAGE_SPACE - sizeof(BfDirectoryPage)) / entry_size(columns);
}

/* --------------------------------------------------------------- filter pages */

static inline Size
filter_page_size(const BfGroup *group)
{
	return BF_LINES_OFFSET(group->ranges) + (Size) group->positions * group->ranges * SB_BF_LINE;
}

/* The bytes in use as long as all ranges are unsummarized: without lines, so images in the WAL are small. */
static inline Size
states_size(const BfGroup *group)
{
	return BF_LINES_OFFSET(group->ranges);
}

LocationIndex
bf_index_lower_with_lines(const BfGroup *group)
{
	return MAXALIGN(SizeOfPageHeaderData) + filter_page_size(group);
}

/*
 * Does the page use the right amount of space: that of its states and lines; or, if all ranges are unsummarized, that
 * of its states alone?
 */
static bool
has_filter_page_size(Page page, const BfGroup *group)
{
	const BfFilterPage *content = (const BfFilterPage *) PageGetContents(page);

	if (has_content_size(page, filter_page_size(group)))
		return true;
	if (!has_content_size(page, states_size(group)))
		return false;
	for (uint32 range = 0; range < group->ranges; range++)
		if (content->states[range] != BF_UNSUMMARIZED)
			return false;
	return true;
}

void
bf_index_init_filter_page(Page page, int column, const BfGroup *group, uint32 first_line)
{
	BfFilterPage *content;

	PageInit(page, BLCKSZ, 0);
	content = (BfFilterPage *) PageGetContents(page);
	memset(content, 0, BF_PAGE_SPACE);
	content->magic = BF_FILTER_MAGIC;
	content->level = group->level;
	content->column = column;
	content->ranges = group->ranges;
	content->first_range = group->first_range;
	content->first_line = first_line;
	content->lines = group->lines[column];
	set_content_size(page, states_size(group));
}

bool
bf_index_is_filter_page(Page page, const BfGroup *group, int column, BlockNumber number)
{
	const BfFilterPage *content = (const BfFilterPage *) PageGetContents(page);

	return !PageIsNew(page) && content->magic == BF_FILTER_MAGIC && content->level == group->level &&
		content->column == column && content->ranges == group->ranges && content->first_range == group->first_range &&
		content->first_line == number * group->positions && content->lines == group->lines[column] &&
		has_filter_page_size(page, group);
}

BfFilterPage *
bf_index_filter_page(Relation index, BlockNumber block, Page page, const BfGroup *group, int column,
					 BlockNumber number)
{
	if (!bf_index_is_filter_page(page, group, column, number))
		bf_index_report_damage(index, block, "it is not the filter page that it should be");
	return (BfFilterPage *) PageGetContents(page);
}
