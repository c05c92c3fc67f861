/*
 * bf_index.h: the index access method `bf`: what its files share, and how an index lies on disk. README.md in this folder
 * draws the flow and argues why no row can be lost.
 *
 * Words: a *range* is pages_per_range consecutive pages of the heap. Consecutive ranges form a *group*, whose filters have
 * one size (a number of *lines* of 64 bytes, as in a bf value) and are stored interleaved: line l of all the ranges of the
 * group lies together at *position* l, so that one page answers one item for all of them. A group has a run of pages for
 * each column of the index.
 *
 * Every filter page is complete in itself: it has the state of each range next to the bits, and both are read and written
 * under the lock of that one page. Nothing else may be concluded from any page but what it says about its own positions.
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

/* ------------------------------------------------------------------ on disk */

/*
 * Block 0 is the meta page. After the page header:
 *
 *   BfMetaPage                       64 bytes
 *   BlockNumber directory[1000]      blocks of the directory pages; the first directory_pages of them are in use
 *   entries                          those of the first groups; the others on directory pages
 *
 * All but `groups`, `directory_pages` and what follows them is written once, when the index is built, and never again.
 *
 * Groups lie one after the other from block 1 on, without a gap; a directory page lies just before the first group whose
 * entry is on it. After the last group there may be pages that a crash left; they are used again.
 *
 * Whatever is read from the meta page and the directory is checked before it is used: the checksums, that the groups follow each
 * other, and that they end within the file. A checksum of 0 stands for none (none was kept at first).
 */
#define BF_INDEX_MAGIC 0x78496642	/* "BfIx" */
#define BF_INDEX_VERSION 1
#define BF_INDEX_MAX_DIRECTORY_PAGES 1000

typedef struct BfMetaPage
{
	uint32		magic;
	uint16		version;
	uint16		columns;
	BlockNumber pages_per_range;
	uint32		groups;			/* published; their entries never change */
	double		false_positive_rate;
	double		load;			/* items a line at that rate */
	uint32		hashes;			/* cells an item sets in its line */
	uint32		directory_pages;
	uint32		checksum;		/* CRC-32C of this struct with zeros in groups, directory_pages and here */
	uint32		zero[5];
} BfMetaPage;

/* One group. Groups follow each other without a gap, from range 0 on. */
typedef struct BfGroupEntry
{
	uint32		first_range;
	uint32		ranges;			/* 1 .. BF_INDEX_MAX_RANGES */
	BlockNumber first_block;	/* of its filter pages: those of column 1, then of column 2, ... */
	uint32		checksum;		/* CRC-32C of this entry with zeros here */
	uint32		lines[FLEXIBLE_ARRAY_MEMBER];	/* of each column; they fill whole pages */
} BfGroupEntry;

/* A directory page: after the page header this, then entries. */
#define BF_DIRECTORY_MAGIC 0x72446642	/* "BfDr" */

typedef struct BfDirectoryPage
{
	uint32		magic;
	uint32		number;			/* of this directory page, from 0 */
} BfDirectoryPage;

/*
 * A filter page: after the page header this, the states of its ranges, and at the next multiple of 8 the lines: those of
 * its first position for all the ranges of the group, then those of the next.
 */
#define BF_FILTER_MAGIC 0x6c466642	/* "BfFl" */

typedef struct BfFilterPage
{
	uint32		magic;
	uint16		column;			/* from 0 */
	uint16		ranges;
	uint32		first_range;	/* of the group */
	uint32		first_line;
	uint64		horizon;		/* full transaction id: older snapshots may see rows that are not in here */
	uint64		standby_horizon;	/* the same for snapshots that were taken during recovery only */
	uint8		states[FLEXIBLE_ARRAY_MEMBER];
} BfFilterPage;

typedef enum BfRangeState
{
	BF_UNSUMMARIZED = 0,		/* always read; writers do nothing */
	BF_PLACEHOLDER = 1,			/* being summarized, or a summarizer died: always read; writers set bits */
	BF_SUMMARIZED = 2			/* the bits are complete; writers set bits */
} BfRangeState;

#define BF_PAGE_SPACE (BLCKSZ - MAXALIGN(SizeOfPageHeaderData))
#define BF_LINES_OFFSET(ranges) (offsetof(BfFilterPage, states) + TYPEALIGN(8, (ranges)))

/* How many positions of a group of so many ranges fit on a page. */
#define BF_POSITIONS(ranges) ((BF_PAGE_SPACE - BF_LINES_OFFSET(ranges)) / ((ranges) * SB_BF_LINE))

/* The most ranges of which one position fits on a page: 125 with pages of 8 kB. */
#define BF_INDEX_MAX_RANGES ((BF_PAGE_SPACE - offsetof(BfFilterPage, states) - 7) / (SB_BF_LINE + 1))
#define BF_MASK_WORDS ((BF_INDEX_MAX_RANGES + 63) / 64)

/* NULL is an item like any other; this is its hash. */
#define BF_NULL_HASH UINT64_C(0x9d39247e33776d41)

/* --------------------------------------------------------------- reloptions */

#define BF_INDEX_DEFAULT_PAGES_PER_RANGE 32
#define BF_INDEX_MAX_PAGES_PER_RANGE 131072	/* 1 GB */
#define BF_INDEX_DEFAULT_FPR 0.001

typedef struct BfOptions
{
	int32		vl_len_;
	int			pages_per_range;
	double		false_positive_rate;
	bool		autosummarize;
} BfOptions;

extern bool bf_index_autosummarizes(Relation index);

/* ------------------------------------------------------ geometry (geometry.c) */

typedef struct BfGroup
{
	uint32		first_range;
	uint32		ranges;
	uint32		positions;		/* on a page */
	BlockNumber first_block;
} BfGroup;

/*
 * What never changes once it is written: kept in the relation cache. More groups may have been published since: so
 * what lies beyond is to be read (readers), or to be looked at again (writers).
 */
typedef struct BfGeometry
{
	Size		size;			/* of this chunk of memory */
	Buffer		meta_buffer;	/* where the meta page was seen last; a hint */
	int			columns;
	BlockNumber pages_per_range;
	double		false_positive_rate;
	double		load;
	int			hashes;
	uint32		groups;
	uint32		covered;		/* ranges of all groups */
	uint32	   *lines;			/* of group g, column c: lines[g * columns + c] */
	BfGroup		group[FLEXIBLE_ARRAY_MEMBER];
} BfGeometry;

/*
 * The geometry in the relation cache: valid until the next lock is taken or the next message of the cache processed. It
 * may lack groups that were published after it was read; bf_index_current_geometry() looks, at the price of a page.
 */
extern const BfGeometry *bf_index_geometry(Relation index);
extern const BfGeometry *bf_index_current_geometry(Relation index);

/* A copy that stays. */
extern BfGeometry *bf_index_copy_geometry(const BfGeometry *geometry);

/* The number of the group that has this range. REQUIRES: range < geometry->covered. */
extern uint32 bf_index_group_of(const BfGeometry *geometry, uint32 range);

/* Pages of a column's run, of a group's columns before this one, and the first block after the group. */
extern BlockNumber bf_index_column_pages(const BfGeometry *geometry, uint32 group, int column);
extern BlockNumber bf_index_column_start(const BfGeometry *geometry, uint32 group, int column);
extern BlockNumber bf_index_group_end(const BfGeometry *geometry, uint32 group);

/* Writes the meta page of an empty index. The caller logs it. */
extern void bf_index_init_meta_page(Page page, Relation index);

/* Which block comes after all that are in use. */
extern BlockNumber bf_index_first_free_block(Relation index);

/*
 * Publishes a group whose pages are written, as the next one. The caller is the only one who changes the directory
 * (ShareUpdateExclusiveLock on the heap, or a new index). REQUIRES: bf_index_reserve_entry() before first_block was chosen.
 */
extern void bf_index_publish_group(Relation index, const BfGroup *group, const uint32 *lines);

/* Makes room in the directory for one more group. False if it is full. */
extern bool bf_index_reserve_entry(Relation index);

/* A page at this block, at the end of the index or one that a crash left there; locked exclusively. */
extern Buffer bf_index_new_page(Relation index, BlockNumber block);

/* Sets up an empty filter page. */
extern void bf_index_init_filter_page(Page page, int column, const BfGroup *group, uint32 first_line);

/*
 * The content of a filter page; an error if it is not the page that it should be: the `number`th (from 0) of this column's run.
 */
extern BfFilterPage *bf_index_filter_page(Relation index, BlockNumber block, Page page, const BfGroup *group, int column,
										  BlockNumber number);

/* The lines of a position of this page: those of the group's ranges, one after the other. */
static inline unsigned char *
bf_index_position(BfFilterPage *content, uint32 position)
{
	return (unsigned char *) content + BF_LINES_OFFSET(content->ranges) + (size_t) position * content->ranges * SB_BF_LINE;
}

/* Reads a page of the index. REQUIRES: `block` comes from a geometry, which knows that the file has it, or is 0. */
extern Buffer bf_index_read_page(Relation index, BlockNumber block);

/* Whoever looks at pages with a snapshot. */
typedef struct BfViewer
{
	Snapshot	snapshot;
	uint64		xmin;			/* its full xmin; 0: nobody has needed it yet */
} BfViewer;

/* May an MVCC snapshot see rows that are missing on this page although their ranges are summarized there (the horizon)? */
extern bool bf_index_is_before_horizon(BfViewer *viewer, const BfFilterPage *content);

/* A transaction id with its epoch, for one that is not more than 2^31 older than the next. */
extern uint64 bf_index_full_xid(TransactionId xid);

/* An error for an index that cannot be right. */
extern SB_NORETURN void bf_index_report_damage(Relation index, BlockNumber block, const char *what);

/* --------------------------------------------------------------- the heap (heap.c) */

/* The hashers of an index's columns. */
typedef struct BfHashers
{
	int			columns;
	ItemHasher *hasher[INDEX_MAX_KEYS];
} BfHashers;

/*
 * The type as which a column's items are hashed: that of the operator class, whose = must agree, and not the column's (a
 * citext under text_ops is text); but where the operator class is for any array or range, only the column knows.
 */
extern Oid	bf_index_column_type(Relation index, int column);

/* Raises an error for columns whose items cannot be hashed. */
extern void bf_index_prepare_hashers(Relation index, BfHashers *hashers, MemoryContext context);

static inline uint64
bf_index_hash_value(const BfHashers *hashers, int column, Datum value, bool isnull)
{
	return isnull ? BF_NULL_HASH : item_hash(hashers->hasher[column], value);
}

/* The hashes that the rows of a range have in each column, each once. */
typedef struct BfRangeItems
{
	uint32		range;
	int			columns;
	bool		full;			/* all pages of the range were there */
	uint64		counts[INDEX_MAX_KEYS];
	uint64	   *hashes[INDEX_MAX_KEYS];
} BfRangeItems;

/*
 * Expressions and predicates of an index run as the table's owner, in a security-restricted operation and with a search_path
 * of pg_catalog, pg_temp. bf_index_become_owner() sees to that, until bf_index_become_caller(); after an error the end of the
 * (sub)transaction puts everything back.
 */
typedef struct BfCaller
{
	Oid			user;
	int			security;
	int			guc_level;
} BfCaller;

extern void bf_index_become_owner(Relation heap, BfCaller *caller);
extern void bf_index_become_caller(const BfCaller *caller);

/* Does the index have expressions or a predicate, that is: is somebody's code run for each row? */
extern bool bf_index_runs_code(Relation index);

/* What is needed to read the rows of a heap as the index sees them. */
typedef struct BfHeapReader BfHeapReader;

typedef enum BfReadFor
{
	BF_FOR_BUILD,				/* what this transaction has deleted comes back only if the index goes with it */
	BF_FOR_SUMMARY,				/* it may come back */
	BF_FOR_VACUUM,				/* errors of expressions are to say how VACUUM can go on */
	BF_FOR_CHECK
} BfReadFor;

/* Raises an error for tables that are not heaps. REQUIRES: bf_index_become_owner(). */
extern BfHeapReader *bf_index_open_heap(Relation heap, Relation index, BfReadFor purpose);
extern void bf_index_close_heap(BfHeapReader *reader);

/*
 * Reads the pages of a range, as far as the heap goes (heap_blocks), and hands out the items of every row version that some
 * snapshot may see, heap-only ones too; but those that are deleted (deleted_for_good() in heap.c) only if the index has neither
 * expressions nor a predicate, and they no out-of-line values. Memory of *items is palloc'd in the current context.
 */
extern void bf_index_read_range(BfHeapReader *reader, uint32 range, BlockNumber pages_per_range, BlockNumber heap_blocks,
								BfRangeItems *items);
extern void bf_index_free_items(BfRangeItems *items);

/* Snapshots older than this may see rows that the reader left out, of all it has read so far; 0 if there are none. */
extern uint64 bf_index_reader_horizon(const BfHeapReader *reader);

/* Rows that live, and rows of the index, of all it has read so far. */
extern double bf_index_reader_live_rows(const BfHeapReader *reader);
extern double bf_index_reader_rows(const BfHeapReader *reader);

/* A row version that must be covered. */
typedef struct BfRow
{
	ItemPointerData tid;
	uint64		hashes[INDEX_MAX_KEYS];
	uint64		deleted_by;		/* the full transaction id that has deleted it; 0: none */
} BfRow;

/*
 * Calls check() for the row versions of a page that are not dead to all and whose inserter was committed when the snapshot
 * was taken.
 */
extern void bf_index_read_committed_rows(BfHeapReader *reader, BlockNumber block, Snapshot snapshot,
										 void (*check) (const BfRow *row, void *argument), void *argument);

/* ------------------------------------------------------------ the callbacks */

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
extern void bf_index_cost(struct PlannerInfo *root, struct IndexPath *path, double loop_count, Cost *startup, Cost *total,
						  Selectivity *selectivity, double *correlation, double *pages);

/* handler.c: called when the library is loaded */
extern void bf_index_init(void);
extern bytea *bf_index_options(Datum reloptions, bool validate);
extern bool bf_index_validate(Oid opclass);

/* An error unless each column's = is that by which its items are hashed. */
extern void bf_index_check_operators(Relation index);

/* ------------------------------------------------------------ asking an index */

/* The access method's OID in this database, or InvalidOid. */
extern Oid	bf_index_am_oid(void);

/*
 * May a row that this MVCC snapshot sees and that satisfies the keys be in the heap? Keys are as for an index scan:
 * sk_attno counts the index's columns from 1; strategy 1 is =, with SK_SEARCHARRAY = ANY; SK_SEARCHNULL.
 * REQUIRES: the caller has locked the heap before it opened the index, has found the index valid, ready and (for
 * indcheckxmin) old enough, and holds the snapshot already: the heap's length is taken here. The caller takes predicate
 * locks, and counts this as a scan of the index if it is one.
 */
extern bool bf_index_may_match(Relation index, Relation heap, ScanKey keys, int nkeys, Snapshot snapshot);

/* Adds the pages of all ranges that may hold such rows to the bitmap, to be rechecked; returns how many. */
extern int64 bf_index_get_pages(Relation index, Relation heap, ScanKey keys, int nkeys, Snapshot snapshot, TIDBitmap *tbm);

/* ----------------------------------------------------------- summarizing */

/*
 * Summarizes ranges that are not: that of `block`, or with InvalidBlockNumber all. The last range, if its pages are
 * not all there yet, only with `partial`. Returns how many were.
 * REQUIRES: ShareUpdateExclusiveLock on the heap: one summarizer at a time.
 */
extern int64 bf_index_summarize(Relation index, Relation heap, BlockNumber block, bool partial, bool in_vacuum);

/* Is this session in bf_index_summarize()? */
extern bool bf_index_is_summarizing(void);

/* Makes the range of a block unsummarized; false if it was. REQUIRES: the same lock. */
extern bool bf_index_desummarize(Relation index, BlockNumber block);

/* -------------------------------------------------------- one item more (wal.c) */

/* Adds the item to this line of a filter page, and logs it. REQUIRES: the buffer is locked exclusively. */
extern void bf_index_add_to_line(Relation index, Buffer buffer, unsigned char *line, int hashes, uint64 hash);

/* ------------------------------------------------------ writing groups (group.c) */

/*
 * The lines of all columns of a group in memory, interleaved as on its pages, and which of its ranges they are for.
 */
typedef struct BfGroupLines
{
	BfGroup		group;
	int			columns;
	int			hashes;
	const uint32 *lines;		/* of each column */
	bool		ranges[BF_INDEX_MAX_RANGES];
	unsigned char *area[INDEX_MAX_KEYS];	/* of each column: lines * ranges * SB_BF_LINE bytes */
} BfGroupLines;

/* Lines for so many items, so that they fill whole pages of a group of so many ranges. */
extern uint32 bf_index_lines_for(uint64 items, double load, uint32 ranges);

/* Pages for so many lines of one column. */
extern BlockNumber bf_index_pages_for(uint32 lines, uint32 ranges);

/* The largest group size that uses its pages well and is not larger than this. */
extern uint32 bf_index_good_group_size(uint32 most);

/* With `areas` of zeros to add items to; without, for states that need none. */
extern void bf_index_make_lines(BfGroupLines *lines, const BfGeometry *geometry, const BfGroup *group, const uint32 *line_counts,
								bool areas);
extern void bf_index_allocate_areas(BfGroupLines *lines);
extern void bf_index_add_items(BfGroupLines *lines, const BfRangeItems *items);
extern void bf_index_free_lines(BfGroupLines *lines);

/*
 * Writes and publishes a new group: the ranges of `lines` in `state`, with their bits, the others unsummarized. Its first
 * block is chosen here. REQUIRES: bf_index_reserve_entry().
 */
extern void bf_index_create_group(Relation index, BfGroupLines *lines, BfRangeState state, uint64 horizon);

/*
 * On all pages of a group that is there, for the ranges of `lines`:
 *   BF_PLACEHOLDER    their bits are cleared, and writers set bits from now on
 *   BF_SUMMARIZED     the bits in `lines` are added, and readers believe them from now on
 *   BF_UNSUMMARIZED   neither
 * Of summarized ranges the first page of the group tells the truth about all: it is written first, or last when it is to
 * say BF_SUMMARIZED.
 */
extern void bf_index_write_ranges(Relation index, const BfGroupLines *lines, BfRangeState state, uint64 horizon);

/* Snapshots of standbys that are older than this do not believe what stands on any page so far. */
extern void bf_index_raise_standby_horizon(Relation index, uint64 horizon);

/* The states of a group's ranges as its first page has them: enough for summarizers, not for readers or writers. */
extern void bf_index_read_states(Relation index, const BfGroup *group, uint8 *states);

#endif
