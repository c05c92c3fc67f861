/*
 * heap.h: reads the heap: which row versions belong in the index, and their items (values, or keys inside values). A
 * *range* is consecutive pages of the heap whose items share filters. Some deleted versions are left out. The
 * *horizons* are transaction ids: only snapshots older than these may see such versions (horizon.h). Also as whom the
 * expressions and the predicate of an index run.
 */
#ifndef STREAMBLOOM_PG_INDEX_HEAP_H
#define STREAMBLOOM_PG_INDEX_HEAP_H

#include "index/horizon.h"
#include "index/items.h"

#include "nodes/execnodes.h"
#include "utils/snapshot.h"

typedef struct BfHeapReader BfHeapReader;

/* The hashes that the rows of a range have in each column. Each hash is there once. */
typedef struct BfRangeItems
{
	uint32		range;
	int			columns;
	/* 1; of a range of which the heap lacks pages: how much of the space of all its pages is in use */
	double		share;
	uint64		most_expected;	/* bf_index_items_if_full() returns at most this, but never less than was counted */
	BfHorizons	horizons;		/* of rows of the range that were left out */
	uint64		counts[INDEX_MAX_KEYS];
	uint64	   *hashes[INDEX_MAX_KEYS];
} BfRangeItems;

/* Raises an error if the table has another table access method than heap. */
extern void bf_index_check_table(Relation heap);

/*
 * Prepares to read the rows of a heap for an index. Raises an error if the table has another table access method than
 * heap. A build and a check may leave out rows that this transaction has deleted: a rollback that brings them back
 * undoes the build, and the index may have been made without them. A summary (is_for_summary) may not: the index stays.
 * REQUIRES: bf_index_become_owner() was called.
 */
extern BfHeapReader *bf_index_open_heap(Relation heap, Relation index, bool is_for_summary);
extern void bf_index_close_heap(BfHeapReader *reader);

/*
 * Reads the pages of a range up to the end of the heap (heap_blocks), and sets *items to the items of every row
 * version that some snapshot may see, heap-only versions too. Versions for which the predicate of the index is not true
 * are left out, and so are some deleted versions: see leave_out() in heap.c. The horizons of *items and of the reader
 * say which snapshots may see the deleted versions that were left out. The memory of *items is allocated in the current
 * context.
 */
extern void bf_index_read_range(BfHeapReader *reader, uint32 range, BlockNumber pages_per_range,
								BlockNumber heap_blocks, BfRangeItems *items);
extern void bf_index_free_items(BfRangeItems *items);

/*
 * The number of items in this column; if the heap lacks pages of the range, an estimate of how many items it would have
 * if all its pages were there, and full.
 */
extern uint64 bf_index_items_if_full(const BfRangeItems *items, int column);

/*
 * The first function sets the reader's counts of live rows of the table, and of rows of the index, to zero. The second
 * one adds numbers to these counts, such as those of another reader.
 */
extern void bf_index_forget_rows(BfHeapReader *reader);
extern void bf_index_add_rows(BfHeapReader *reader, double live_rows, double rows);

/*
 * Reads pages as bf_index_read_range() does, from `first` to `end` (exclusive), but calls add() with the items of
 * each row version.
 */
extern void bf_index_read_rows(BfHeapReader *reader, BlockNumber first, BlockNumber end,
							   void (*add) (const BfRowItems *items, void *argument), void *argument);

/* The horizons of the rows that the reader has left out since it was opened, or since its horizons were forgotten. */
extern BfHorizons bf_index_reader_horizons(const BfHeapReader *reader);
extern void bf_index_forget_horizons(BfHeapReader *reader);

/*
 * Raises the reader's horizons to the given ones, if these are greater. They may come from another reader whose rows
 * count as rows of this one.
 */
extern void bf_index_raise_horizons(BfHeapReader *reader, BfHorizons horizons);

/*
 * The first function returns the reader's oldest xmin: row versions that were deleted by an older transaction are dead
 * to every snapshot of this server. Readers that work together use the same xmin: the second function sets it.
 */
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
	uint64		deleted_by;		/* full id of the committed transaction that has deleted it; 0: none */
} BfRow;

/*
 * Calls check() for those of a page's row versions that bf_index_read_range() would take and whose inserter had
 * committed when the snapshot was taken.
 */
extern void bf_index_read_committed_rows(BfHeapReader *reader, BlockNumber block, Snapshot snapshot,
										 void (*check) (const BfRow *row, void *argument), void *argument);

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

#endif
