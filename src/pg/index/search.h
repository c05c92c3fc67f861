/*
 * search.h: what a search looks for, and how it goes down the levels of an index. (Level 0 has a filter for each short
 * range of the heap, a level above for each longer one.) search.c prepares a search, descend.c finds the pages, scan.c
 * and probe.c begin it.
 */
#ifndef STREAMBLOOM_PG_INDEX_SEARCH_H
#define STREAMBLOOM_PG_INDEX_SEARCH_H

#include "base/compat.h"

#include "nodes/tidbitmap.h"

#include "index/geometry.h"
#include "index/horizon.h"
#include "index/key_search.h"
#include "index/layout.h"
#include "index/scan.h"

#define MASK_WORDS ((BF_INDEX_MAX_RANGES + 63) / 64)

/* A set of ranges of a group. */
typedef struct Mask
{
	uint64		words[MASK_WORDS];
} Mask;

static inline bool
bf_index_has_range(const Mask *mask, uint32 range)
{
	return (mask->words[range / 64] >> range % 64 & 1) != 0;
}

/*
 * What one scan key demands of a column: its value is one of these items. If the column's items are keys inside
 * values: its value has enough of these keys to match. `by_keys` knows which ones are enough.
 */
typedef struct Condition
{
	const ScanKeyData *key;
	int			column;			/* from 0 */
	bool		is_hashed;		/* the hashes fit the index that was asked last */
	bool		given;			/* the caller has hashed the items, under `collation` */
	/* no range can be ruled out by this condition, as for IS NOT NULL, or if the hashes do not fit the index */
	bool		unknown;
	uint32		count;			/* number of hashes; if it is 0 and `unknown` is false, no row satisfies the key */
	/*
	 * In ascending order, because pages are read in this order. With `by_keys` the required ones may stand before the
	 * others. Each hash is there once, except that `given` hashes may repeat.
	 */
	uint64	   *hashes;
	BfKeySearch *by_keys;		/* NULL: the items are values */
	Mask	   *with;			/* for a search by keys: for each item, the ranges that may have it */
	bool	   *present;		/* room for the items of one range, for bf_index_key_search_can_match() */

	/* how the items are hashed; one hasher serves all indexes whose column has the same type and collation */
	Oid			type;
	Oid			collation;
	ItemHasher *hasher;			/* NULL: none was needed yet */
	BfKeyClass *class;			/* the hasher is for keys of this class; NULL: for values */
} Condition;

/*
 * The items that a range may have are carried from level to level, as one bit for each item of a condition. Of a
 * condition with more items than this the bits for a group would take more than a megabyte: values are not asked, keys
 * on level 0 only.
 */
#define MOST_CARRIED 65536

/*
 * A word of a set of items of a condition: those that may be in one part of the heap, for example in a range. Bit
 * i % 64 of word i / 64 stands for item i. For each part of the heap there are BfSearch.words words for each
 * condition, one condition after the other.
 */
typedef uint64 ItemSet;

/* A search: keys with their items hashed, for a snapshot. */
struct BfSearch
{
	MemoryContext context;		/* holds the hashers; except in an index scan (scan.c), the hashes too */
	int			count;
	Condition  *conditions;
	BfViewer	viewer;
	bool		trusted;		/* an MVCC snapshot: the index can rule out ranges for it */
	int		   *order;			/* the conditions, those with few items first: they cost little and leave little */
	uint32		words;			/* for each condition there is room for this many words of items */
	ItemSet    *everything;		/* for each condition: all items */
	/*
	 * For each level but 0, allocated when needed: the items that range r of the group being searched may have, for
	 * condition c, from word number (r * count + c) * words on.
	 */
	ItemSet    *found[BF_INDEX_MAX_LEVELS];
};

/*
 * Hashes the items of all conditions as this index hashes them. The memory of the hashes is taken from the current
 * context.
 */
extern void bf_index_hash_search(BfSearch *search, Relation index);

/*
 * The geometry for a search in a heap of this length. It lies in the relation cache, and may become invalid when the
 * session locks a relation. If groups may have been added since it was read, the meta page is looked at: with such
 * groups the search may rule out more ranges, or read fewer pages of the index.
 */
extern const BfGeometry *bf_index_geometry_for(Relation index, BlockNumber heap_blocks);

/* Is there a condition that no row satisfies? */
extern bool bf_index_finds_nothing(const BfSearch *search);

/* May the search call functions of an operator class? */
extern bool bf_index_has_key_search(const BfSearch *search);

/* Is this a search, for an MVCC snapshot, for the rows that have a value, or one of several values, in one column? */
extern bool bf_index_is_for_values(const BfSearch *search);

/* A page of an index, and the buffer where it was last. */
typedef struct PageHint
{
	BlockNumber block;
	Buffer		buffer;
} PageHint;

#define PAGE_HINTS 16

struct BfProbe
{
	sb_locator	locator;
	bool		is_permanent;	/* neither temporary nor unlogged */
	Buffer		meta_buffer;
	int			column;			/* column that is searched, from 0 */
	Oid			type;			/* type and collation with which its items were hashed */
	Oid			collation;
	PageHint	hints[PAGE_HINTS];	/* the page of a block is at block % PAGE_HINTS */
	BfGeometry *geometry;
};

/* A search in one index. */
typedef struct Descent
{
	Relation	index;			/* NULL: the probe is asked */
	BfProbe    *probe;			/* remembers where pages are; may be NULL */
	bool		failed;			/* a page was not what it should be, say; only set for a probe or an estimate */
	const BfGeometry *geometry;
	BfSearch   *search;
	TIDBitmap  *tbm;			/* the pages go there; may be NULL */
	BfSpans    *spans;			/* the pages go there; may be NULL */
	BfPatience *patience;		/* which groups of level 0 are passed over; may be NULL: none */
	uint64		pages;			/* heap pages found so far */
	uint64		most;			/* with more pages the search ends early */
	uint32		opened;			/* pages of the index that were opened so far */
	/*
	 * The ranges of the group searched last that BfSpans counts as unsummarized. A range counts so if at least one of
	 * the pages that were looked at says so (add_untrusted()).
	 */
	Mask		untrusted;

	/* for an estimate (walk.c), which raises no error if a page is not what it should be */
	uint32		most_opened;	/* when this many pages were opened, the search has failed; 0: this is no estimate */
	BlockNumber index_blocks;	/* the length of the index */
} Descent;

/*
 * Sets *candidates to the ranges of a group that may hold matching rows. Only the ranges that have the pages from
 * `first` to `end` (exclusive) are looked at. items[] has for each condition the items that may be there. On a level
 * above 0, search->found[] gets the items that each range may have. REQUIRES: bf_index_prepare_levels().
 */
extern void bf_index_check_group(Descent *descent, const BfGroup *group, uint64 first, uint64 end,
								 const ItemSet *items, Mask *candidates);

/* Makes room for what is found on the levels above 0. */
extern void bf_index_prepare_levels(BfSearch *search, int levels);

/*
 * Finds the pages of the heap that may hold matching rows, and counts them in descent->pages. descent->tbm and spans
 * get these pages, unless they are NULL.
 */
extern void bf_index_find_pages(Descent *descent, BlockNumber heap_blocks);

/*
 * The number of pages of the ranges of level 0 that have begun: those that a build or a summarizer has reached. The
 * last range may end behind the last block that a heap can have.
 */
static inline BlockNumber
bf_index_begun_pages(const BfGeometry *geometry)
{
	return Min((uint64) geometry->level[0].begun * geometry->level[0].pages_per_range, InvalidBlockNumber);
}

#endif
