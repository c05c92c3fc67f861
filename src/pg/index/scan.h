/*
 * scan.h: asks an index which pages may hold rows. README.md explains the words: level, range, group, full, geometry,
 * publication.
 */
#ifndef STREAMBLOOM_PG_INDEX_SCAN_H
#define STREAMBLOOM_PG_INDEX_SCAN_H

#include "base/compat.h"

#include "access/skey.h"
#include "storage/block.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

/*
 * A search for the rows that satisfy some scan keys. Many indexes can be asked with one search. The items of the keys
 * are hashed for the first index, and again only for an index that hashes them otherwise.
 */
typedef struct BfSearch BfSearch;

/*
 * Begins a search, in the current memory context; it ends with this context. keys[] are as for an index scan.
 * sk_attno counts the index's columns from 1. sk_strategy is that of the operator: BF_EQUAL_STRATEGY, or one of a
 * class with keys inside values. SK_SEARCHARRAY is set for = ANY, SK_SEARCHNULL for IS NULL. REQUIRES: the keys live
 * as long as the search.
 */
extern BfSearch *bf_index_begin_search(const ScanKeyData *keys, int nkeys, Snapshot snapshot);

typedef struct BfProbe BfProbe;

/* Consecutive pages of a heap, from `first` to `end` (exclusive). */
typedef struct BfSpan
{
	BlockNumber first;
	BlockNumber end;
} BfSpan;

/*
 * Pages of a heap: spans in ascending order, with a gap between each of them and the next. Some may lie behind the
 * end of the heap.
 */
typedef struct BfSpans
{
	BfSpan	   *spans;			/* allocated in the context that was current when the first span was added */
	uint32		count;
	uint32		room;
	uint64		pages;			/* number of pages of all spans */
	/* if an index has named them, the number of its ranges of level 0 that they are: */
	int64		maybe;			/* those whose filters say "maybe", or that are full */
	int64		unsummarized;	/* the others: the snapshot may not rely on a summary of them */
} BfSpans;

extern void bf_index_add_span(BfSpans *spans, BlockNumber first, BlockNumber end);

/*
 * Sets *pages to the pages in which a row that the search's snapshot sees and that satisfies its keys may be. If they
 * are more than `most`, the search ends early: then *pages has more than `most` pages, but not all. No range is ruled
 * out for a snapshot that is not an MVCC snapshot. Unless the probe is NULL, it gets the buffers in which the pages of
 * the index were found.
 *
 * REQUIRES: the caller has locked the heap before it opened the index, and has found the index valid, ready and, if
 * indcheckxmin is set, old enough for the snapshot. It has taken the snapshot before this call, because the heap's
 * length is taken here. The caller takes predicate locks, and counts this as a scan of the index if it is one.
 */
extern void bf_index_ask(BfSearch *search, Relation index, Relation heap, BfProbe *probe, uint64 most, BfSpans *pages);

/*
 * For a caller that asks many indexes, or many groups of an index, about the same items. After each one that was asked
 * in vain, some of the next ones are passed over: one after the first, two after the second, then four, and so on,
 * until asking one was of use again. All fields are zero at first.
 */
typedef struct BfPatience
{
	uint32		in_vain;		/* how many were asked in vain since one was of use */
	uint32		pass_over;		/* how many of the next ones are passed over */
} BfPatience;

/* An index or a group was asked in vain if at least this many tenths of its pages of the heap must still be read. */
#define BF_IN_VAIN_TENTHS 9

/* The most indexes or groups that are passed over at a time. So later ones that are of use are found. */
#define BF_MOST_PASSED_OVER 32

static inline bool
bf_index_passes_over(BfPatience *patience)
{
	if (patience->pass_over == 0)
		return false;
	patience->pass_over--;
	return true;
}

/* Notes down whether asking was of use: of `pages` pages of the heap, `left` must be read. */
static inline void
bf_index_note_use(BfPatience *patience, uint64 left, uint64 pages)
{
	if (left * 10 < pages * BF_IN_VAIN_TENTHS)
		patience->in_vain = 0;
	else
	{
		patience->pass_over = Min(UINT32_C(1) << Min(patience->in_vain, 16), BF_MOST_PASSED_OVER);
		patience->in_vain++;
	}
}

/*
 * Begins a search for the rows that have one of these items in a column. hashes[] has the hashes of the items, under
 * this collation. It is sorted in place, and must live as long as the search. Only bf_index_ask_for_spans() can carry
 * out such a search.
 */
extern BfSearch *bf_index_begin_hashed_search(uint64 *hashes, uint32 count, Oid collation, Snapshot snapshot);

/*
 * Sets *spans to the pages in which a row that is searched for may be. `column` (from 1) is the column of this index.
 * If groups of level 0 are asked in vain, some groups after them are not asked (BfPatience), and all their pages are in
 * *spans. Notes down in *patience whether asking this index was of use; pages that no group covers do not count.
 *
 * Returns false if the index was not asked, because there are too many items for its false-positive rate, or because
 * its column hashes items otherwise. Then *spans has all pages. REQUIRES: as for bf_index_ask(); the hashes are those
 * that the index uses for arguments of the items' type.
 */
extern bool bf_index_ask_for_spans(BfSearch *search, AttrNumber column, Relation index, Relation heap,
								   BfPatience *patience, BfSpans *spans);

/*
 * A *probe* asks an index again without opening it or its heap. It has a copy of the geometry (the parameters of the
 * index, and where its groups lie), and knows in which buffers the pages were last. A probe is of no use any more after
 * the next publication, which may have changed the geometry.
 *
 * bf_index_make_probe() asks as bf_index_ask() does. It also returns a probe in this memory context; NULL if the search
 * or the index does not allow for one. bf_index_ask_probe() sets *pages as bf_index_ask() does. It returns false if the
 * probe cannot tell, or if the search has not hashed its items for an index before. REQUIRES: the caller holds
 * AccessShareLock on the index, whose file (locator) is still the same.
 */
extern BfProbe *bf_index_make_probe(BfSearch *search, Relation index, Relation heap, uint64 most, BfSpans *pages,
									MemoryContext context);
extern bool bf_index_ask_probe(BfProbe *probe, BfSearch *search, uint64 most, BfSpans *pages);
extern void bf_index_free_probe(BfProbe *probe);

#endif
