/*
 * bf_index.h: the index access method `bf`: declarations that its files share. README.md in this folder draws the flow
 * and proves that no row can be lost; layout.h shows how an index lies on disk.
 *
 * Names: a C function that is used outside its file begins with bf_index_. The functions that SQL calls have the names
 * that SQL gives them.
 */
#ifndef STREAMBLOOM_PG_BF_INDEX_H
#define STREAMBLOOM_PG_BF_INDEX_H

#include "base/compat.h"

#include "access/genam.h"
#include "access/itup.h"
#include "access/relscan.h"
#include "access/skey.h"
#include "nodes/execnodes.h"
#include "nodes/tidbitmap.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#include "base/item.h"
#include "index/layout.h"

/* ---------------------------------------------- what PostgreSQL is told (handler.c) */

#define BF_INDEX_DEFAULT_PAGES_PER_RANGE 32 /* also the largest number that is chosen for an index */
#define BF_INDEX_MAX_PAGES_PER_RANGE 131072	/* 1 GB */
#define BF_INDEX_DEFAULT_FPR 0.001
#define BF_INDEX_KEY_FPR 0.01	/* for keys inside values, if a query has few of them */
#define BF_INDEX_MANY_KEY_FPR 0.05	/* if most queries have many, all of which a value must have */
#define BF_INDEX_UPPER_FPR 0.01	/* on the levels above 0 */
#define BF_INDEX_UPPER_MANY_KEY_FPR 0.1	/* there, if every column has keys of which most queries have many */

/* The strategy number of =, the only operator of an operator class under which the values are the items. */
#define BF_EQUAL_STRATEGY 1

/* The options of an index and its operator classes: 0 pages mean that the number is to be chosen. */
extern BlockNumber bf_index_pages_per_range_option(Relation index);
extern double bf_index_fpr_option(Relation index, int column);

/* The rate of an operator class with keys inside values, whose function for options this is (or InvalidOid), if no option says another one. */
extern double bf_index_key_class_fpr(Oid options_function);
extern int	bf_index_levels_option(Relation index);
extern bool bf_index_autosummarizes(Relation index);
extern bytea *bf_index_options(Datum reloptions, bool validate);
extern bool bf_index_validate(Oid opclass);

/* Is called when the library is loaded. */
extern void bf_index_init(void);

/* The access method's OID in this database, or InvalidOid. */
extern Oid	bf_index_am_oid(void);

/* Raises an error unless the items of each column are hashed as its operator class compares them. */
extern void bf_index_check_operators(Relation index);

/* Says of columns whose type's own = does not ask the index (as of citext, which is indexed as text) that it does not. */
extern void bf_index_notice_unasked(Relation index);

/* ------------------------------------------------------ geometry (geometry.c) */

/* One level of an index. */
typedef struct BfLevel
{
	BlockNumber pages_per_range;	/* 0: the index cannot have this level, or the number is not chosen yet */
	uint32		groups;
	uint32		covered;		/* the number of ranges that the groups have together */
	uint32		begun;			/* ranges from this one on never were placeholders when the geometry was read */
	uint32		first_place;	/* its stretches in the geometry's list */
	uint32		places;
} BfLevel;

/* A stretch: groups that lie at equal distances. See BfStretch. */
typedef struct BfPlace
{
	uint32		first_range;
	uint32		groups;
	uint32		ranges;			/* of each group */
	uint32		positions;		/* on a page */
	BlockNumber first_block;
	BlockNumber stride;
	uint32		entry;			/* its number in the directory */
} BfPlace;

/*
 * The parameters of an index, and where its groups lie. What it says of groups never changes, so it is kept in the
 * relation cache. Groups may have been added since it was read: a reader reads the ranges behind the last group that it
 * knows, a writer looks whether anything was published.
 */
typedef struct BfGeometry
{
	Size		size;			/* of this chunk of memory */
	Buffer		meta_buffer;	/* where the meta page was last: a hint */
	uint64		publications;	/* as the meta page counted them */
	BfBeyond	beyond;			/* as the meta page said then */
	int			columns;
	int			most_levels;	/* that the index may have */
	int			levels;			/* that have groups */
	BlockNumber end_block;		/* the first one behind all groups and directory pages */
	uint32		stretches;
	double		in_vain;		/* see BfMetaPage */
	double		least_in_vain;
	double		in_vain_below;
	double		least_in_vain_below;
	BfParameters upper;			/* of the levels above 0 */
	BfLevel		level[BF_INDEX_MAX_LEVELS];
	BfParameters *column;		/* of the columns on level 0 */
	BfPlace    *place;			/* stretches, level by level */
	uint32	   *lines;			/* of a filter of stretch s, column c: lines[s * columns + c] */
} BfGeometry;

/* The number of pages of a range on each level, 0 where the level cannot be. */
extern void bf_index_level_lengths(BlockNumber pages_per_range, BlockNumber lengths[BF_INDEX_MAX_LEVELS]);

/* How many levels the index can have, whatever its table holds. */
extern int	bf_index_possible_levels(const BfGeometry *geometry);

static inline const BfParameters *
bf_index_parameters(const BfGeometry *geometry, int level, int column)
{
	return level == 0 ? &geometry->column[column] : &geometry->upper;
}

/* How many ranges of a level so many pages of the heap begin; a range may have only some of its pages. */
static inline uint32
bf_index_ranges_of(const BfGeometry *geometry, int level, BlockNumber heap_blocks)
{
	BlockNumber pages = geometry->level[level].pages_per_range;

	return pages == 0 ? 0 : ((uint64) heap_blocks + pages - 1) / pages;
}

/*
 * The same of level 0. As long as nothing is summarized, the length of ranges may not be chosen yet; then they are counted as of
 * the length that is the longest that will be chosen.
 */
static inline uint32
bf_index_expected_ranges(const BfGeometry *geometry, BlockNumber heap_blocks)
{
	BlockNumber pages = geometry->level[0].pages_per_range;

	if (pages == 0)
		pages = BF_INDEX_DEFAULT_PAGES_PER_RANGE;
	return ((uint64) heap_blocks + pages - 1) / pages;
}

/*
 * The geometry in the relation cache. It stays valid until the next lock is taken or the next message of the cache is
 * processed. It may lack the newest groups. bf_index_current_geometry() has them all, but looks at the meta page for
 * that.
 */
extern const BfGeometry *bf_index_geometry(Relation index);
extern const BfGeometry *bf_index_current_geometry(Relation index);

/* A copy, which stays valid. */
extern BfGeometry *bf_index_copy_geometry(const BfGeometry *geometry);

/* Finds the group that has this range of a level. REQUIRES: range < geometry->level[level].covered. */
extern void bf_index_find_group(const BfGeometry *geometry, int level, uint32 range, BfGroup *group);

/* The last stretch of a level; NULL if it has none. */
extern const BfPlace *bf_index_last_place(const BfGeometry *geometry, int level);

/*
 * The first function returns the number of pages in a column's run in a group, the second the first block of the run.
 * The third returns the number of pages of the whole group.
 */
extern BlockNumber bf_index_column_pages(const BfGroup *group, int column);
extern BlockNumber bf_index_column_start(const BfGroup *group, int column);
extern BlockNumber bf_index_group_pages(const BfGroup *group);

/* ---------------------------------------------------- adding groups (directory.c) */

/* Makes room in the directory for the entry of one more group. Returns false if the directory is full. */
extern bool bf_index_reserve_entry(Relation index);

/* The first block behind all pages that are in use. */
extern BlockNumber bf_index_first_free_block(Relation index);

/*
 * The page at this block, to be overwritten: a new one at the end of the file, or one that a crash left. Locked
 * exclusively.
 */
extern Buffer bf_index_new_page(Relation index, BlockNumber block);

/*
 * Publishes a group whose pages are written, as the next one of its level. REQUIRES: bf_index_reserve_entry() was called
 * before first_block was chosen; nobody else adds groups (ShareUpdateExclusiveLock on the heap, or the index is new).
 */
extern void bf_index_publish_group(Relation index, const BfGroup *group);

/*
 * Makes writers visit the ranges of a level up to `end` (exclusive) from now on. To be called before these ranges become
 * placeholders. REQUIRES: as above; groups cover the ranges.
 */
extern void bf_index_begin_ranges(Relation index, int level, uint32 end);

/*
 * Writes what is known of the pages behind the ranges of level 0 that have begun, if it is `from` now, or in any case if
 * nothing is known any more. Returns whether it was `from`. Anyone may write BF_BEYOND_UNKNOWN.
 */
extern bool bf_index_set_beyond(Relation index, BfBeyond from, BfBeyond to);

/*
 * Notes down that a range of a level above 0 has this rate after it was summarized anew, or that ranges of level 0 have rates from
 * `least` to `most` times the one asked for. REQUIRES: as above.
 */
extern void bf_index_note_in_vain(Relation index, double rate);
extern void bf_index_note_in_vain_below(Relation index, double least, double most);

/* Settles the number of pages for each range of level 0. REQUIRES: as above; there is no group yet. */
extern void bf_index_settle_pages_per_range(Relation index, BlockNumber pages_per_range);

/* ------------------------------------------------ who may rely on a page (horizon.c) */

/* A snapshot that looks at pages. */
typedef struct BfViewer
{
	Snapshot	snapshot;
	uint64		xmin;			/* its full xmin; 0 until it is needed */
} BfViewer;

/* May an MVCC snapshot see rows that are missing on this page although their ranges are summarized there? */
extern bool bf_index_is_before_horizon(BfViewer *viewer, const BfFilterPage *content);

/* A transaction id with its epoch. REQUIRES: it is at most 2^31 older than the next transaction id. */
extern uint64 bf_index_full_xid(TransactionId xid);

/* -------------------------------------------------------- items of columns (items.c) */

/*
 * How the values of a column become items. Under most operator classes a value is an item. Under an operator class with
 * GIN's support functions (keys.h) the items are the keys that the value is taken apart into.
 */
typedef struct BfColumnItems
{
	ItemHasher *hasher;			/* of the values, or of their keys */
	struct BfKeyClass *keys;	/* NULL: the values are the items */
} BfColumnItems;

/* The same of all columns of an index. */
typedef struct BfItemizer
{
	int			columns;
	BfColumnItems column[INDEX_MAX_KEYS];
} BfItemizer;

/* The hashes of a row's items: of column c those from bf_index_first_of(items, c) to end[c] (exclusive). */
typedef struct BfRowItems
{
	int			columns;
	uint32		end[INDEX_MAX_KEYS];
	uint64	   *hashes;
	uint32		room;			/* for so many hashes */
	MemoryContext context;		/* of the hashes */
} BfRowItems;

static inline uint32
bf_index_first_of(const BfRowItems *items, int column)
{
	return column == 0 ? 0 : items->end[column - 1];
}

/*
 * The type as which a column's items are hashed. It is the type of the operator class, whose = must agree with the
 * hashes, and not the column's type: a citext column under text_ops has items of type text. Where the operator class
 * is for arrays or ranges of any type, only the column knows the type. Keys have the type that the operator class stores.
 */
extern Oid	bf_index_item_type(Relation index, int column);

/* Finds the hashers and functions; raises an error for columns whose items cannot be hashed. */
extern void bf_index_prepare_itemizer(Relation index, BfItemizer *itemizer, MemoryContext context);

/* Makes an empty list of items, in this context. */
extern void bf_index_begin_items(BfRowItems *items, int columns, MemoryContext context);

/*
 * Sets *items to those of a row. What this needs meanwhile is allocated in the current context, which should be reset
 * after each row.
 */
extern void bf_index_itemize(const BfItemizer *itemizer, const Datum *values, const bool *isnull, BfRowItems *items);

/* What a scan key searches for: its argument, or with SK_SEARCHARRAY the array's elements that are not NULL. REQUIRES: it is not NULL. */
extern uint32 bf_index_key_arguments(const ScanKeyData *key, Datum **arguments);

/* ------------------------------------------ expressions run as the table's owner (owner.c) */

/*
 * Expressions and predicates of an index run as the owner of the table, in a security-restricted operation and with
 * the search_path pg_catalog, pg_temp. This holds from bf_index_become_owner() until bf_index_become_caller(). After
 * an error the end of the transaction or subtransaction restores everything.
 */
typedef struct BfCaller
{
	Oid			user;
	int			security;
	int			guc_level;
} BfCaller;

extern void bf_index_become_owner(Relation heap, BfCaller *caller);
extern void bf_index_become_caller(const BfCaller *caller);

/* Has the index expressions or a predicate, so that somebody's code runs for each row? */
extern bool bf_index_runs_code(Relation index);

/* The columns, expressions and predicate of the index, to be prepared after bf_index_become_owner(). */
extern IndexInfo *bf_index_info_for_owner(Relation index);

/* ---------------------------------------------------------- reading the heap (heap.c) */

/* The row version at a normal line pointer of a page of the heap, or of a copy of the page. */
static inline void
bf_index_get_tuple(Relation heap, Page page, BlockNumber block, OffsetNumber offset, HeapTuple tuple)
{
	ItemId		item = PageGetItemId(page, offset);

	tuple->t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple->t_len = ItemIdGetLength(item);
	tuple->t_tableOid = RelationGetRelid(heap);
	ItemPointerSet(&tuple->t_self, block, offset);
}

typedef struct BfHeapReader BfHeapReader;
typedef struct BfTape BfTape;

/*
 * How many pages of the heap a build or a summarizer reads at most before it writes what it has read: 256 MB of the
 * table. The hashes of these pages, or the lines of their ranges, are in memory meanwhile.
 */
#define BF_MOST_PAGES_AT_ONCE 32768

/* The hashes that the rows of a range have in each column. Each hash is there once. */
typedef struct BfRangeItems
{
	uint32		range;
	int			columns;
	bool		full;			/* all pages of the range were there */
	double		share;			/* of the space of a full range that is in use */
	uint64		most_expected;	/* a full range is not taken to have more items than this, unless it has */
	uint64		horizon;		/* older snapshots than this may see rows of the range that were left out; 0: none was */
	uint64		counts[INDEX_MAX_KEYS];
	uint64	   *hashes[INDEX_MAX_KEYS];
} BfRangeItems;

typedef enum BfReadFor
{
	BF_FOR_BUILD,				/* a row that this transaction has deleted comes back only if the index goes */
	BF_FOR_SUMMARY,				/* such a row may come back */
	BF_FOR_VACUUM,				/* the same; errors of expressions have to say how VACUUM can go on */
	BF_FOR_CHECK
} BfReadFor;

/* Raises an error for tables that are not heaps. REQUIRES: bf_index_become_owner() was called. */
extern BfHeapReader *bf_index_open_heap(Relation heap, Relation index, BfReadFor purpose);
extern void bf_index_close_heap(BfHeapReader *reader);

/*
 * Reads the pages of a range up to the end of the heap (heap_blocks), and sets *items to the items of every row
 * version that some snapshot may see, heap-only versions too. leave_out() in heap.c says which deleted versions are
 * left out; the reader's horizon covers those. The memory of *items is allocated in the current context.
 */
extern void bf_index_read_range(BfHeapReader *reader, uint32 range, BlockNumber pages_per_range,
								BlockNumber heap_blocks, BfRangeItems *items);
extern void bf_index_free_items(BfRangeItems *items);

/* The number of items that the range would have in this column if all its pages were there, and full. */
extern uint64 bf_index_items_if_full(const BfRangeItems *items, int column);

/* Sets the counts of live rows and rows to zero, or adds those of other readers to them. */
extern void bf_index_forget_rows(BfHeapReader *reader);
extern void bf_index_add_rows(BfHeapReader *reader, double live_rows, double rows);

/* The same, but calls add() with the items of each row version. */
extern void bf_index_read_rows(BfHeapReader *reader, BlockNumber first, BlockNumber end,
							   void (*add) (const BfRowItems *items, void *argument), void *argument);

/* Older snapshots than this may see rows that the reader has left out so far; 0 if it has left out none. */
extern uint64 bf_index_reader_horizon(const BfHeapReader *reader);

/* The reader stands for another one too, which has left out rows of this horizon. */
extern void bf_index_raise_horizon(BfHeapReader *reader, uint64 horizon);

/* Row versions that were deleted before this transaction are dead to every snapshot of this server. Readers that work together share it. */
extern TransactionId bf_index_oldest_xmin(const BfHeapReader *reader);
extern void bf_index_share_oldest_xmin(BfHeapReader *reader, TransactionId oldest_xmin);

/* The numbers of live rows of the table, and of rows of the index, that the reader has read so far. */
extern double bf_index_reader_live_rows(const BfHeapReader *reader);
extern double bf_index_reader_rows(const BfHeapReader *reader);

/* A row version that the index must have. */
typedef struct BfRow
{
	ItemPointerData tid;
	const BfRowItems *items;
	uint64		deleted_by;		/* the full transaction id that has deleted it; 0: none */
} BfRow;

/*
 * Calls check() for the row versions of a page that are not dead to all snapshots, and whose inserter was committed
 * when the snapshot was taken.
 */
extern void bf_index_read_committed_rows(BfHeapReader *reader, BlockNumber block, Snapshot snapshot,
										 void (*check) (const BfRow *row, void *argument), void *argument);

/* Moves the hashes of a set into an array, in palloc'd memory. */
extern uint64 *bf_index_take_set(sb_hash_set *set);

/* -------------------------------------------------------- counting items (count.c) */

/*
 * Estimates how many different items rows have in each column, in little memory. bf_index_count_row() is the function for
 * bf_index_read_rows(), with the count as its argument. The end sets counts[] for each column, and frees the count.
 */
typedef struct BfItemCount BfItemCount;

extern BfItemCount *bf_index_begin_count(int columns);
extern void bf_index_count_row(const BfRowItems *items, void *argument);
extern void bf_index_end_count(BfItemCount *count, double *counts);

/* ------------------------------------------------------ writing groups (group.c) */

/* Lines of some ranges of a group in memory, range after range. Items are added to them, and they are written to its pages. */
typedef struct BfGroupLines
{
	BfGroup		group;
	uint8		hashes[INDEX_MAX_KEYS]; /* cells that an item of each column sets */
	uint32		selected;		/* how many ranges the lines are for */
	bool		ranges[BF_INDEX_MAX_RANGES];	/* which ones; counted within the group */
	uint8		slots[BF_INDEX_MAX_RANGES]; /* where their lines are among those of the selected ranges */
	unsigned char *area[INDEX_MAX_KEYS];	/* of each column: number of lines * selected * SB_BF_LINE bytes */
} BfGroupLines;

/* A build makes two groups of the last ranges of a table if they have less than this share of the pages of one group. */
#define BF_WORTH_TWO_GROUPS (7.0 / 8)

/* Filters up to this many times as large as necessary are made if those of the group before have this size. */
#define BF_MOST_ROOM 1.3

/*
 * The most items that ranges have, but for those that are far above the others (at most one in fifty, or one): filters that are large enough
 * for them would be empty in all other ranges. They say yes to nearly everything, and are read. counts[] is sorted. REQUIRES: count > 0.
 */
extern double bf_index_most_items(double *counts, uint32 count);

/* The number of lines for so many items in a group of so many ranges. The lines fill whole pages. */
extern uint32 bf_index_lines_for(uint64 items, double load, uint32 ranges);

/*
 * Replaces the numbers of lines for a new group by those of the last group of the level if these are enough, and not
 * much more. So the directory stays short.
 */
extern void bf_index_settle_lines(const BfGeometry *geometry, int level, uint32 ranges, uint32 *lines);

/* The largest group size that uses its pages well and is not larger than this. */
extern uint32 bf_index_good_group_size(uint32 most);

/* The largest group that takes no more pages than a group of so many ranges. */
extern uint32 bf_index_widest_group(uint32 ranges);

/* The bytes of the filters of one range. */
extern Size bf_index_bytes_of_range(const BfGroup *group);

/*
 * How lines are made: set up without a range, then ranges are selected, then the areas are allocated, with zeros, and
 * items are added. States that need no bits need no areas. Ranges are counted within the group, except in BfRangeItems.
 */
extern void bf_index_make_lines(BfGroupLines *lines, const BfGeometry *geometry, const BfGroup *group);
extern void bf_index_select_range(BfGroupLines *lines, uint32 range);
extern void bf_index_allocate_areas(BfGroupLines *lines);
extern void bf_index_add_hashes(BfGroupLines *lines, uint32 range, int column, const uint64 *hashes, uint64 count);
extern void bf_index_add_items(BfGroupLines *lines, const BfRangeItems *items);
extern void bf_index_free_lines(BfGroupLines *lines);

/*
 * Writes and publishes a new group. The ranges of `lines` get the state and their bits, the others are unsummarized.
 * The group's first block is chosen here. REQUIRES: bf_index_reserve_entry() was called.
 */
extern void bf_index_create_group(Relation index, BfGroupLines *lines, BfRangeState state, uint64 horizon);

/*
 * Brings the ranges of `lines` to a new state, on all pages of a group that exists:
 *   BF_PLACEHOLDER    their bits are cleared, and writers set bits from now on
 *   BF_SUMMARIZED     the bits in `lines` are added, and readers rely on them from now on
 *   BF_UNSUMMARIZED   writers and readers ignore them from now on
 * The first page of the group is the last to say that a range is summarized, and the first to say that it is not. So if
 * this page says "summarized", all pages do.
 */
extern void bf_index_write_ranges(Relation index, const BfGroupLines *lines, BfRangeState state, uint64 horizon);

/* Makes snapshots of standbys that are older than this no longer rely on what any page says now. */
extern void bf_index_raise_standby_horizon(Relation index, uint64 horizon);

/* The states of a group's ranges on its first page. They are enough for summarizers, but not for readers or writers. */
extern void bf_index_read_states(Relation index, const BfGroup *group, uint8 *states);

/* ------------------------------------------------------- how full is it? (measure.c) */

/* What the lines of a range tell that were measured. */
typedef struct BfRangeMeasure
{
	uint64		lines;			/* 0: the range is not summarized */
	uint64		bits_set;
	double		rates;			/* the sum over the lines of fill ^ hashes */
} BfRangeMeasure;

/*
 * Measures the lines on one page (counted in the column's run) of those ranges that are summarized there, and adds them
 * to ranges[], which has an element for each range of the group.
 */
extern void bf_index_measure_page(Relation index, const BfGroup *group, int column, BlockNumber page, int hashes,
								  BfRangeMeasure *ranges);

/* The same of some pages of a column, which lie evenly in its run: enough to tell how full ranges are. */
extern void bf_index_measure_some_pages(Relation index, const BfGroup *group, int column, int hashes, BfRangeMeasure *ranges);

/*
 * Estimates from the bits of a group how many items its ranges have in each column: the most that one of them has. Looks
 * at some pages of each column. Returns false if no range of the group is summarized.
 */
extern bool bf_index_estimate_items(Relation index, const BfGeometry *geometry, const BfGroup *group, double *most);

/*
 * Finds the range of a group with the highest false-positive rate, according to its bits, of those whose rate is above `bound` and below
 * `end`. Returns its rate, and the range counted within the group; or 0 if there is none.
 */
extern double bf_index_fullest_range(Relation index, const BfGeometry *geometry, const BfGroup *group, double bound,
									 double end, uint32 *range);

/* The highest of the rates that a range (counted within its group) has in its columns, by its bits; 0 if it is not summarized. */
extern double bf_index_rate_of_range(Relation index, const BfGeometry *geometry, const BfGroup *group, uint32 range);

/* ----------------------------------------------------- one item more (wal.c) */

/*
 * Takes the lines of a filter page into use, if they are not yet, and logs that. To be called before a range on it becomes
 * anything but unsummarized. REQUIRES: the buffer is locked exclusively, and was checked.
 */
extern void bf_index_take_lines(Relation index, Buffer buffer, const BfGroup *group);

/* An item that is to be added to a filter page. */
typedef struct BfAddition
{
	uint32		line;			/* of the filter, from 0 */
	uint64		hash;
} BfAddition;

/* The items that are to be added to a filter page: all lines are on it, in ascending order. */
typedef struct BfPageAdditions
{
	Buffer		buffer;
	const BfAddition *additions;
	uint32		count;
} BfPageAdditions;

/*
 * Adds items to lines of one range (counted within its group) on up to MAX_GENERIC_XLOG_PAGES filter pages, and logs the change in
 * one record. Takes some memory in the current context, as much as the lines. REQUIRES: the buffers are locked exclusively, and
 * were checked; the range is not unsummarized on any of the pages.
 */
extern void bf_index_add_to_pages(Relation index, const BfPageAdditions *pages, int count, uint32 range, int hash_count);

/* ----------------------------------------------------- summarizing (summarize.c) */

/* What to summarize. */
typedef struct BfTask
{
	BlockNumber block;			/* the range of this block, on `level`; InvalidBlockNumber: all ranges of all levels */
	int			level;
	bool		partial;		/* also a last range of whose pages some are still to come; never on levels above 0 if all are summarized */
	bool		in_vacuum;
	bool		shows_progress; /* in pg_stat_progress_create_index */
} BfTask;

/* The phases of a build and a summary in this view (build.c); PostgreSQL's own is 1. Those of upper levels follow. */
#define BF_PHASE_READING 2
#define BF_PHASE_WRITING 3
#define BF_PHASE_SUMMARIZING 4

/*
 * Summarizes ranges that are not summarized. Returns how many were. If all are to be summarized, ranges that have become too full may be
 * summarized anew (refresh.c), which is not counted. REQUIRES: ShareUpdateExclusiveLock on
 * the heap, so that there is one summarizer at a time.
 */
extern int64 bf_index_summarize(Relation index, Relation heap, const BfTask *task);

/*
 * For CREATE INDEX, after level 0 was built: makes the groups of the levels above and summarizes their full ranges. The tape has
 * the items of the ranges of level 0; NULL: they are read from the heap.
 */
extern void bf_index_build_upper_levels(Relation index, Relation heap, BfHeapReader *reader, BfTape *tape);

/* Will an index of a heap of this length have more levels than one? */
extern bool bf_index_gets_levels(const BfGeometry *geometry, BlockNumber heap_blocks);

/* For CREATE INDEX, if nobody writes to the heap meanwhile: notes down that all of it is in the index. */
extern void bf_index_built(Relation index, Relation heap);

/*
 * Chooses the number of pages of a range, unless it was given or chosen before: the smallest power of two up to 32 with
 * which a full range fills about eight lines of the column with the most items, or 16 if its items are keys inside values. But
 * a table that 32 pages a range make
 * one group of stays one group, and the index of a small partition gets at most 16 ranges.
 */
extern void bf_index_choose_range_length(Relation index, BfHeapReader *reader, BlockNumber heap_blocks);

/* ---------------------------------------------------------------- sizes (sizes.c) */

/*
 * A range has about this many lines in the column with the most items, if the number of its pages is chosen here. It has more
 * for keys inside values, of which a row has many: neighboring rows share most of them, so longer ranges take less space. But
 * the more rows a range has, the more often it has all keys of a query in different rows. With trigrams of a log's lines, 16
 * lines are 2 pages: a word and an address that are rare take 250 and 415 pages of 6,000; with 32 lines (8 pages) it
 * was 300 and 2,350, at 3/5 of the space (bench/keys). A lower rate changes neither.
 */
#define BF_LINES_OF_A_RANGE 8
#define BF_LINES_OF_A_RANGE_WITH_KEYS 16

/* It may have a quarter less. */
#define BF_ENOUGH_OF_A_RANGE 0.75

/* So many ranges, which lie evenly in a table, tell how long ranges should be; of each length, where there are keys inside values. */
#define BF_RANGES_THAT_TELL 8
#define BF_RANGES_WITH_KEYS_THAT_TELL 4

/* The mean of these sizes of ranges, but for the largest of them: one row may be unlike all others. */
extern double bf_index_size_that_tells(const double *sizes, uint32 count);

/* The number of pages of a range, if 32 pages fill so many lines of a column. */
extern BlockNumber bf_index_range_length_for(double lines, BlockNumber heap_blocks, bool is_partition);

/* Is a range that fills so many lines too short, if its items are keys inside values? */
extern bool bf_index_is_short_for_keys(double lines);

/* Does an index whose level below has so many groups get this level above 0? */
extern bool bf_index_level_pays(int level, BlockNumber pages_per_range, uint32 groups_below, BlockNumber heap_blocks);

/* A tenth more items than a sample of ranges has, because other ranges may have more. */
extern double bf_index_with_margin(double items);

/* Is this session in bf_index_summarize()? */
extern bool bf_index_is_summarizing(void);

/* Makes the range of a block unsummarized on a level. Returns false if it was unsummarized before. REQUIRES: the same lock. */
extern bool bf_index_desummarize(Relation index, int level, BlockNumber block);

/* --------------------------------- asking an index (scan.c, search.c, descend.c, probe.c) */

/*
 * A search for the rows that satisfy some keys, which can be made in many indexes. Their items are hashed at the first
 * index, and again only where an index hashes them otherwise.
 */
typedef struct BfSearch BfSearch;

/*
 * Begins a search, in the current memory context; it ends with this context. Keys are as for an index scan: sk_attno
 * counts the index's columns from 1; the strategy is that of the operator, BF_EQUAL_STRATEGY or one of keys inside values, with
 * SK_SEARCHARRAY for ANY; or SK_SEARCHNULL is set. REQUIRES: the keys live as long as the search.
 */
extern BfSearch *bf_index_begin_search(const ScanKeyData *keys, int nkeys, Snapshot snapshot);

/* The ranges of level 0 in which a row that is searched for may be. If there are none, no such row is in the heap. */
typedef struct BfVerdict
{
	int64		maybe;			/* they are summarized, and their filters say yes */
	int64		unsummarized;	/* they are not summarized, or have left out rows that the snapshot may see */
} BfVerdict;

/* More pages than this are not few. */
#define BF_FEW_PAGES 64

/* The pages in which such a row may be, if they are few. Some of them may lie behind the end of the heap. */
typedef struct BfPages
{
	uint32		count;			/* of the pages; BF_FEW_PAGES + 1: they are more */
	BfVerdict	ranges;			/* those of the pages; not all of them if they are too many */
	AttrNumber	attribute;		/* of the heap: whose values can be compared with what is searched for; or 0 */
	Oid			type;			/* as which they are hashed, and the collation */
	Oid			collation;
	BlockNumber blocks[BF_FEW_PAGES];	/* ascending */
} BfPages;

static inline bool
bf_index_are_few(const BfPages *pages)
{
	return pages->count <= BF_FEW_PAGES;
}

/*
 * May a row that the search's snapshot sees and that satisfies its keys be in the heap? The result is also true if the
 * snapshot is not an MVCC snapshot. If `few` is not NULL, it is set. Otherwise, if `verdict` is not NULL, all ranges are
 * searched, and it is set; with neither, the search ends at the first range that may have such a row. REQUIRES: the
 * caller has locked the heap before it opened the index, and has found the index valid, ready and (for indcheckxmin) old
 * enough. It held the snapshot already, because the heap's length is taken here. The caller takes predicate locks, and
 * counts this as a scan of the index if it is one.
 */
extern bool bf_index_ask(BfSearch *search, Relation index, Relation heap, BfPages *few, BfVerdict *verdict);

/*
 * May a row with this value in the column few->attribute be one that is searched for? The value's hash is compared. If
 * the result is false, the row is surely none. The value may be stored out of line; memory for it is taken from the
 * current context. REQUIRES: few->attribute is not 0; the index for which *few was set is the one that was asked last
 * in this search; the value is not NULL.
 */
extern bool bf_index_is_wanted(BfSearch *search, const BfPages *few, Datum value);

/*
 * A *probe* asks an index again without opening it or its heap. It has the geometry, and knows in which buffers the
 * pages were last. It is of no use any more when something was published since it was made.
 *
 * bf_index_make_probe() is bf_index_ask(), and also makes a probe in the current memory context; NULL if the
 * search or the index does not allow for one. bf_index_ask_probe() sets *few to the pages in which a row that the search's
 * snapshot sees and that satisfies its keys may be; it returns false if that cannot be told in this way. REQUIRES: the
 * search has hashed its items for an index before; AccessShareLock on the index, and its storage is still the one that
 * it had.
 */
typedef struct BfProbe BfProbe;

extern BfProbe *bf_index_make_probe(BfSearch *search, Relation index, Relation heap, BfPages *few);
extern bool bf_index_ask_probe(BfProbe *probe, BfSearch *search, BfPages *few);
extern void bf_index_free_probe(BfProbe *probe);

/*
 * Most of the time that a thousand probes take is spent waiting for memory. So a caller that knows which ones come next has
 * their memory fetched some probes ahead: first that of the probe itself, then what it points to, and then the pages of the
 * index that its search will read. Nothing is locked or changed. REQUIRES: as for bf_index_ask_probe(), but no lock.
 */
typedef enum BfFetch
{
	BF_FETCH_PROBE,
	BF_FETCH_GEOMETRY,
	BF_FETCH_PAGES
} BfFetch;

extern void bf_index_fetch_probe(const BfProbe *probe, const BfSearch *search, BfFetch what);

/* ------------------------------------------- the other callbacks of the access method */

/* build.c */
extern IndexBuildResult *bf_index_build(Relation heap, Relation index, IndexInfo *indexInfo);
extern void bf_index_build_empty(Relation index);
extern char *bf_index_build_phase(int64 phase);

/* insert.c */
extern bool bf_index_insert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
							IndexUniqueCheck check, bool unchanged, IndexInfo *indexInfo);

/* scan.c */
extern IndexScanDesc bf_index_begin_scan(Relation index, int keys, int orderbys);
extern void bf_index_rescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys);
extern int64 bf_index_get_bitmap(IndexScanDesc scan, TIDBitmap *tbm);
extern void bf_index_end_scan(IndexScanDesc scan);

/* summarize.c */
extern IndexBulkDeleteResult *bf_index_bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
												   IndexBulkDeleteCallback callback, void *state);
extern IndexBulkDeleteResult *bf_index_vacuum_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);

/* cost.c */
struct PlannerInfo;
struct IndexPath;
extern void bf_index_cost(struct PlannerInfo *root, struct IndexPath *path, double loop_count, Cost *startup,
						  Cost *total, Selectivity *selectivity, double *correlation, double *pages);

#endif
