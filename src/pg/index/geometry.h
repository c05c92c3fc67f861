/*
 * geometry.h: the parameters of an index, and where its groups lie. layout.h explains levels, ranges, groups and runs.
 * A *stretch* consists of groups of one level that follow each other, are alike, and lie at equal distances.
 */
#ifndef STREAMBLOOM_PG_INDEX_GEOMETRY_H
#define STREAMBLOOM_PG_INDEX_GEOMETRY_H

#include "index/layout.h"

#include "storage/bufmgr.h"

#include "index/sizes.h"

/* One level of an index. */
typedef struct BfLevel
{
	BlockNumber pages_per_range;	/* 0: the index cannot have this level, or the number is not chosen yet */
	uint32		groups;
	uint32		covered;		/* the number of ranges that the groups have together */
	uint32		begun;			/* ranges from this one on had not begun when the geometry was read */
	uint32		first_stretch;	/* the place of its first stretch in BfGeometry.stretch */
	uint32		stretches;
} BfLevel;

/* A stretch: groups that lie at equal distances. See BfStoredStretch. */
typedef struct BfStretch
{
	uint32		first_range;
	uint32		groups;
	uint32		ranges;			/* ranges in each group */
	uint32		positions;		/* positions on a page */
	BlockNumber first_block;
	BlockNumber stride;
	uint32		entry;			/* its number in the directory */
} BfStretch;

/*
 * The parameters of an index, and where its groups lie. It is kept in the relation cache. Since it was read
 *
 * - groups may have been added: so a reader reads all pages of the heap behind the last group that it knows, and a
 *   writer looks whether the meta page still counts as many changes (`publications`);
 * - groups may have been replaced: see bf_index_filter_page_in_use().
 */
typedef struct BfGeometry
{
	Size		size;			/* size of this chunk of memory */
	Buffer		meta_buffer;	/* the buffer that had the meta page last; a hint */
	uint64		publications;	/* number of publications on the meta page, when it was read */
	BfBeyond	beyond;			/* what the meta page said of the pages behind the begun ranges, when it was read */
	int			columns;
	int			most_levels;	/* the most levels that the index may have */
	int			levels;			/* number of levels that have groups */
	BlockNumber end_block;		/* the first one behind all groups and directory pages */
	BlockNumber used_blocks;	/* number of blocks of the groups, the directory and the meta page */
	uint32		directory_pages;
	uint32		stretches;
	BfParameters upper;			/* parameters of the levels above 0 */
	BfLevel		level[BF_INDEX_MAX_LEVELS];
	BfParameters *column;		/* parameters of each column on level 0 */
	BfStretch  *stretch;			/* stretches, level by level */
	uint32	   *lines;			/* lines[s * columns + c]: the lines of a filter of column c in stretch s */
} BfGeometry;

/* How many levels the index can have, whatever its table holds. */
extern int	bf_index_possible_levels(const BfGeometry *geometry);

static inline const BfParameters *
bf_index_parameters(const BfGeometry *geometry, int level, int column)
{
	return level == 0 ? &geometry->column[column] : &geometry->upper;
}

/* The BfCounts (sizes.h) of a column whose ranges have these numbers of items. */
static inline BfCounts
bf_index_counts(const BfGeometry *geometry, int level, int column, const double *items)
{
	const BfParameters *parameters = bf_index_parameters(geometry, level, column);

	return (BfCounts) {
		.items = items,
		.rate = parameters->false_positive_rate,
		.load = parameters->load,
		.hashes = parameters->hashes
	};
}

/* How many ranges of level 0 a range of a level has. */
static inline uint32
bf_index_level_factor(const BfGeometry *geometry, int level)
{
	return geometry->level[level].pages_per_range / geometry->level[0].pages_per_range;
}

/* The number of ranges of a level in a heap of heap_blocks pages. The last one may have only some of its pages. */
static inline uint32
bf_index_ranges_of(const BfGeometry *geometry, int level, BlockNumber heap_blocks)
{
	BlockNumber pages = geometry->level[level].pages_per_range;

	return pages == 0 ? 0 : ((uint64) heap_blocks + pages - 1) / pages;
}

/*
 * The number of ranges of level 0 in a heap of heap_blocks pages. As long as nothing was summarized, the length of
 * ranges may still be undecided (pages_per_range is 0). Then BF_INDEX_DEFAULT_PAGES_PER_RANGE is assumed: no greater
 * length is chosen later.
 */
static inline uint32
bf_index_expected_ranges(const BfGeometry *geometry, BlockNumber heap_blocks)
{
	BlockNumber pages = geometry->level[0].pages_per_range;

	if (pages == 0)
		pages = BF_INDEX_DEFAULT_PAGES_PER_RANGE;
	return ((uint64) heap_blocks + pages - 1) / pages;
}

/* Pins the meta page, and returns its buffer. It is not locked. */
extern Buffer bf_index_pin_meta_page(Relation index);

/*
 * These functions return the geometry in the relation cache. It stays valid until one of them reads the geometry
 * anew, or until invalidation messages are processed; taking a lock on a relation does that. The first function reads
 * no page if there is a geometry, which may lack the newest groups. The other two look at the meta page, and read the
 * geometry anew if anything was published since it was read. The third one is for a caller that has the meta page
 * pinned already, in this buffer.
 */
extern const BfGeometry *bf_index_geometry(Relation index);
extern const BfGeometry *bf_index_current_geometry(Relation index);
extern const BfGeometry *bf_index_current_geometry_by(Relation index, Buffer meta_page);

/* A copy, which stays valid. */
extern BfGeometry *bf_index_copy_geometry(const BfGeometry *geometry);

/*
 * Finds the group that has this range of a level. group->lines points into the geometry. REQUIRES: range <
 * geometry->level[level].covered.
 */
extern void bf_index_find_group(const BfGeometry *geometry, int level, uint32 range, BfGroup *group);

/*
 * Returns the content of page `number` of a group's run for a column. If the buffer has another page, and the group was
 * replaced since its geometry was read, returns NULL: then a reader knows nothing of the group's ranges, and a writer
 * has nothing to do. If the buffer has another page although the group was not replaced, raises an error. Code that
 * runs while a summarizer may be at work has to call this instead of bf_index_filter_page(). REQUIRES: the buffer is
 * locked for reading, and no other one is locked. If the buffer has another page, its lock is given back for a moment.
 */
extern BfFilterPage *bf_index_filter_page_in_use(Relation index, Buffer buffer, const BfGroup *group, int column,
												 BlockNumber number);

/*
 * Makes all sessions, here and on standbys, read the geometry anew when they open the index next. This takes effect
 * at once, and also if this transaction fails. CacheInvalidateRelcache() would tell them only if the transaction
 * commits, but groups that it has replaced stay replaced in any case.
 */
extern void bf_index_outdate_geometries(Relation index);

/* The stretch that has this range of a level. REQUIRES: range < geometry->level[level].covered. */
extern const BfStretch *bf_index_stretch_of(const BfGeometry *geometry, int level, uint32 range);

/*
 * The first function returns the number of pages in a column's run in a group, the second the first block of the run.
 * The third returns the number of pages of the whole group.
 */
extern BlockNumber bf_index_column_pages(const BfGroup *group, int column);
extern BlockNumber bf_index_column_start(const BfGroup *group, int column);
extern BlockNumber bf_index_group_pages(const BfGroup *group);

#endif
