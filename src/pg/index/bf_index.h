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

#define BF_INDEX_DEFAULT_PAGES_PER_RANGE 32
#define BF_INDEX_MAX_PAGES_PER_RANGE 131072	/* 1 GB */
#define BF_INDEX_DEFAULT_FPR 0.001

/* WITH (...) */
typedef struct BfOptions
{
	int32		vl_len_;
	int			pages_per_range;
	double		false_positive_rate;
	bool		autosummarize;
} BfOptions;

extern bool bf_index_autosummarizes(Relation index);
extern bytea *bf_index_options(Datum reloptions, bool validate);
extern bool bf_index_validate(Oid opclass);

/* Is called when the library is loaded. */
extern void bf_index_init(void);

/* The access method's OID in this database, or InvalidOid. */
extern Oid	bf_index_am_oid(void);

/* Raises an error unless the = of each column's operator class is the one by which its items are hashed. */
extern void bf_index_check_operators(Relation index);

/* ------------------------------------------------------ geometry (geometry.c) */

/*
 * The parameters of an index, and where its groups lie. Nothing of it ever changes once it is written, so it is kept
 * in the relation cache. Groups may have been added since it was read: a reader reads the ranges behind the last
 * group that it knows, a writer looks again.
 */
typedef struct BfGeometry
{
	Size		size;			/* of this chunk of memory */
	Buffer		meta_buffer;	/* where the meta page was last: a hint */
	int			columns;
	BlockNumber pages_per_range;
	double		false_positive_rate;
	double		load;			/* items per line at that rate */
	int			hash_count;		/* cells that an item sets in its line */
	uint32		groups;
	uint32		covered;		/* the number of ranges that the groups have together */
	uint32	   *lines;			/* of a filter of group g, column c: lines[g * columns + c] */
	BfGroup		group[FLEXIBLE_ARRAY_MEMBER];
} BfGeometry;

/*
 * The geometry in the relation cache. It stays valid until the next lock is taken or the next message of the cache is
 * processed. It may lack the newest groups. bf_index_current_geometry() has them all, but looks at the meta page for
 * that.
 */
extern const BfGeometry *bf_index_geometry(Relation index);
extern const BfGeometry *bf_index_current_geometry(Relation index);

/* A copy, which stays valid. */
extern BfGeometry *bf_index_copy_geometry(const BfGeometry *geometry);

/* The number of the group that has this range. REQUIRES: range < geometry->covered. */
extern uint32 bf_index_group_of(const BfGeometry *geometry, uint32 range);

/*
 * The first function returns the number of pages in a column's run in a group, the second the first block of the run.
 * The third returns the first block behind the group.
 */
extern BlockNumber bf_index_column_pages(const BfGeometry *geometry, uint32 group, int column);
extern BlockNumber bf_index_column_start(const BfGeometry *geometry, uint32 group, int column);
extern BlockNumber bf_index_group_end(const BfGeometry *geometry, uint32 group);

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
 * Publishes a group whose pages are written, as the next one. REQUIRES: bf_index_reserve_entry() was called before
 * first_block was chosen; nobody else adds groups (ShareUpdateExclusiveLock on the heap, or the index is new).
 */
extern void bf_index_publish_group(Relation index, const BfGroup *group, const uint32 *lines);

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

/* ------------------------------------------------------ items of columns (hashers.c) */

/* The strategy number of =, the only operator in an operator class of bf. */
#define BF_EQUAL_STRATEGY 1

/* The hashers of an index's columns. */
typedef struct BfHashers
{
	int			columns;
	ItemHasher *hasher[INDEX_MAX_KEYS];
} BfHashers;

/*
 * The type as which a column's items are hashed. It is the type of the operator class, whose = must agree with the
 * hashes, and not the column's type: a citext column under text_ops has items of type text. Where the operator class
 * is for arrays or ranges of any type, only the column knows the type.
 */
extern Oid	bf_index_column_type(Relation index, int column);

/* Finds the hashers; raises an error for columns whose items cannot be hashed. */
extern void bf_index_prepare_hashers(Relation index, BfHashers *hashers, MemoryContext context);

static inline uint64
bf_index_hash_value(const BfHashers *hashers, int column, Datum value, bool isnull)
{
	return isnull ? BF_NULL_HASH : item_hash(hashers->hasher[column], value);
}

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

typedef struct BfHeapReader BfHeapReader;

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

/* Older snapshots than this may see rows that the reader has left out so far; 0 if it has left out none. */
extern uint64 bf_index_reader_horizon(const BfHeapReader *reader);

/* The numbers of live rows of the table, and of rows of the index, that the reader has read so far. */
extern double bf_index_reader_live_rows(const BfHeapReader *reader);
extern double bf_index_reader_rows(const BfHeapReader *reader);

/* A row version that the index must have. */
typedef struct BfRow
{
	ItemPointerData tid;
	uint64		hashes[INDEX_MAX_KEYS];
	uint64		deleted_by;		/* the full transaction id that has deleted it; 0: none */
} BfRow;

/*
 * Calls check() for the row versions of a page that are not dead to all snapshots, and whose inserter was committed
 * when the snapshot was taken.
 */
extern void bf_index_read_committed_rows(BfHeapReader *reader, BlockNumber block, Snapshot snapshot,
										 void (*check) (const BfRow *row, void *argument), void *argument);

/* ------------------------------------------------------ writing groups (group.c) */

/*
 * The lines of all columns of a group in memory, interleaved as on its pages, and which of its ranges they are for.
 */
typedef struct BfGroupLines
{
	BfGroup		group;
	int			columns;
	int			hash_count;
	const uint32 *lines;		/* of each column */
	bool		ranges[BF_INDEX_MAX_RANGES];
	unsigned char *area[INDEX_MAX_KEYS];	/* of each column: number of lines * number of ranges * SB_BF_LINE bytes */
} BfGroupLines;

/* The number of lines for so many items in a group of so many ranges. The lines fill whole pages. */
extern uint32 bf_index_lines_for(uint64 items, double load, uint32 ranges);

/* The number of pages for so many lines of one column. */
extern BlockNumber bf_index_pages_for(uint32 lines, uint32 ranges);

/* The largest group size that uses its pages well and is not larger than this. */
extern uint32 bf_index_good_group_size(uint32 most);

/*
 * Sets up *lines. With `areas` they have areas of zeros, to which items are added. States that need no bits need no
 * areas.
 */
extern void bf_index_make_lines(BfGroupLines *lines, const BfGeometry *geometry, const BfGroup *group,
								const uint32 *line_counts, bool areas);
extern void bf_index_allocate_areas(BfGroupLines *lines);
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

/* ----------------------------------------------------- one item more (wal.c) */

/* Adds the item to this line of a filter page, and logs the change. REQUIRES: the buffer is locked exclusively. */
extern void bf_index_add_to_line(Relation index, Buffer buffer, unsigned char *line, int hash_count, uint64 hash);

/* ----------------------------------------------------- summarizing (summarize.c) */

/*
 * Summarizes ranges that are not summarized: the range of `block`, or with InvalidBlockNumber all. A last range whose
 * pages are not all there yet is summarized only with `partial`. Returns how many ranges were summarized. REQUIRES:
 * ShareUpdateExclusiveLock on the heap, so that there is one summarizer at a time.
 */
extern int64 bf_index_summarize(Relation index, Relation heap, BlockNumber block, bool partial, bool in_vacuum);

/* Is this session in bf_index_summarize()? */
extern bool bf_index_is_summarizing(void);

/* Makes the range of a block unsummarized. Returns false if it was unsummarized before. REQUIRES: the same lock. */
extern bool bf_index_desummarize(Relation index, BlockNumber block);

/* ------------------------------------------------------- asking an index (scan.c) */

/*
 * A search for the rows that satisfy some keys, which can be made in many indexes. Their items are hashed at the first
 * index, and again only where an index hashes them otherwise.
 */
typedef struct BfSearch BfSearch;

/*
 * Begins a search, in the current memory context; it ends with this context. Keys are as for an index scan: sk_attno
 * counts the index's columns from 1; the strategy is BF_EQUAL_STRATEGY, with SK_SEARCHARRAY for = ANY; or
 * SK_SEARCHNULL is set. REQUIRES: the keys live as long as the search.
 */
extern BfSearch *bf_index_begin_search(const ScanKeyData *keys, int nkeys, Snapshot snapshot);

/*
 * May a row that the search's snapshot sees and that satisfies its keys be in the heap? The result is also true if the
 * snapshot is not an MVCC snapshot. REQUIRES: the caller has locked the heap before it opened the index, and has found
 * the index valid, ready and (for indcheckxmin) old enough. It held the snapshot already, because the heap's length is
 * taken here. The caller takes predicate locks, and counts this as a scan of the index if it is one.
 */
extern bool bf_index_may_match(BfSearch *search, Relation index, Relation heap);

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
