/*
 * heap_reader.h: what heap.c, heap_values.c and heap_range.c share.
 */
#ifndef STREAMBLOOM_PG_INDEX_HEAP_READER_H
#define STREAMBLOOM_PG_INDEX_HEAP_READER_H

#include "index/heap.h"

#include "access/heapam.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "storage/bufmgr.h"

struct BfHeapReader
{
	Relation	heap;
	IndexInfo  *info;
	EState	   *estate;
	ExprState  *predicate;
	TupleTableSlot *slot;
	BufferAccessStrategy strategy;
	TransactionId oldest_xmin;
	BfItemizer	itemizer;
	BfRowItems	items;			/* the items of the row that was looked at last */
	bool		runs_code;		/* the index has expressions or a predicate */
	bool		is_for_summary;
	Bitmapset  *attributes;		/* columns that the index needs, as pull_varattnos() counts them */
	BfHorizons	horizons;
	double		live_rows;
	double		rows;
	uint64		bytes;			/* bytes in use on the pages of the range that is being read */
	sb_hash_set sets[INDEX_MAX_KEYS];	/* the items of the range being read; empty between ranges */

	/* for the context lines of errors */
	const char *index_name;
	bool		evaluating;		/* a row version is being looked at; `at` says which one */
	ItemPointerData at;

	/* the page that was read last */
	PGAlignedBlock page;
	int			count;
	OffsetNumber offsets[MaxHeapTuplesPerPage];
	HTSV_Result visibilities[MaxHeapTuplesPerPage];
};

/* Which columns of the table the index needs, as pull_varattnos() counts them. */
extern Bitmapset *bf_index_needed_attributes(const IndexInfo *info);

/* Does this row version have an out-of-line value that the index needs? */
extern bool bf_index_needs_out_of_line_value(const BfHeapReader *reader, HeapTuple tuple);

/*
 * Puts the out-of-line values that the index needs into the reader's slot, which has this row version. Returns false
 * if such a value is missing, and the version was deleted or removed after its page was copied.
 */
extern bool bf_index_fetch_values(BfHeapReader *reader, HeapTuple tuple);

/* Frees the sets that ranges were read into. */
extern void bf_index_release_sets(BfHeapReader *reader);

#endif
