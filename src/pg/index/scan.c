/*
 * scan.c: which pages of the heap may hold rows that a snapshot sees and that satisfy some keys?
 *
 * For each group and each item that is searched for, one page of the index is read. Under the lock of this page a
 * range is ruled out if it is summarized there, its bits say that the item is not in it, and the summary has left out
 * no row that the snapshot may see (the horizon). All other ranges are read, and so is everything behind the last
 * group.
 */
#include "index/bf_index.h"

#include "access/relation.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* What one key demands of a column: that the value is one of these items. */
typedef struct Condition
{
	const ScanKeyData *key;
	int			column;			/* from 0 */
	bool		unknown;		/* IS NOT NULL: the index cannot rule out any range */
	uint32		count;			/* of hashes; if there is none, no row satisfies the key */
	uint64	   *hashes;			/* ascending, so that pages are read in their order; NULL: not hashed yet */

	/* how the items are hashed; one hasher serves all indexes whose column has the same type and collation */
	Oid			type;
	Oid			collation;
	ItemHasher *hasher;			/* NULL: none was needed yet */
} Condition;

/* A search: keys with their items hashed, for a snapshot. */
struct BfSearch
{
	MemoryContext context;		/* of the hashers and hashes */
	int			count;
	Condition  *conditions;
	BfViewer	viewer;
	bool		trusted;		/* an MVCC snapshot: the index can rule out ranges for it */
};

/* ------------------------------------------------------------------ the keys */

static int
compare_hashes(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a,
				y = *(const uint64 *) b;

	return x < y ? -1 : x > y;
}

/* The type as which the key's argument is hashed. It may differ from the column's: an integer of another size, say. */
static Oid
type_of_argument(Relation index, const ScanKeyData *key)
{
	Oid			type = key->sk_subtype;

	/* the operator's right side may say anyarray */
	return !OidIsValid(type) || IsPolymorphicType(type) ? bf_index_column_type(index, key->sk_attno - 1) : type;
}

/* Makes sure that the condition's hasher fits this index. If it changes, the hashes are forgotten. */
static void
find_hasher(BfSearch *search, Condition *condition, Relation index)
{
	Oid			type = type_of_argument(index, condition->key);
	Oid			collation = index->rd_indcollation[condition->column];

	if (condition->hasher != NULL && condition->type == type && condition->collation == collation)
		return;
	condition->hasher = item_hasher_for_index(type, collation, search->context);
	condition->type = type;
	condition->collation = collation;
	condition->hashes = NULL;
}

static void
hash_elements(Condition *condition)
{
	ArrayType  *array = DatumGetArrayTypeP(condition->key->sk_argument);
	int16		length;
	bool		by_value;
	char		align;
	Datum	   *elements;
	bool	   *nulls;
	int			count;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, align, &elements, &nulls, &count);
	condition->hashes = palloc(Max(count, 1) * sizeof(uint64));
	condition->count = 0;
	for (int i = 0; i < count; i++)
		if (!nulls[i])
			condition->hashes[condition->count++] = item_hash(condition->hasher, elements[i]);
	qsort(condition->hashes, condition->count, sizeof(uint64), compare_hashes);
}

static void
set_one_hash(Condition *condition, uint64 hash)
{
	condition->hashes = palloc(sizeof(uint64));
	condition->hashes[0] = hash;
	condition->count = 1;
}

/*
 * Hashes what the condition's key searches for, unless this was done for an index whose items are hashed in the same
 * way.
 */
static void
hash_items(BfSearch *search, Condition *condition, Relation index)
{
	const ScanKeyData *key = condition->key;

	if (key->sk_flags & SK_SEARCHNOTNULL)
		condition->unknown = true;
	else if (key->sk_flags & SK_SEARCHNULL)
	{
		if (condition->hashes == NULL)
			set_one_hash(condition, BF_NULL_HASH);
	}
	else if (key->sk_flags & SK_ISNULL)
		condition->count = 0;	/* = NULL: no row satisfies it */
	else if (key->sk_strategy != BF_EQUAL_STRATEGY)
		elog(ERROR, "unknown strategy number %d for access method bf", key->sk_strategy);
	else
	{
		find_hasher(search, condition, index);
		if (condition->hashes != NULL)
			return;
		if (key->sk_flags & SK_SEARCHARRAY)
			hash_elements(condition);
		else
			set_one_hash(condition, item_hash(condition->hasher, key->sk_argument));
	}
}

BfSearch *
bf_index_begin_search(const ScanKeyData *keys, int nkeys, Snapshot snapshot)
{
	BfSearch   *search = palloc(sizeof(BfSearch));

	search->context = CurrentMemoryContext;
	search->count = nkeys;
	search->conditions = palloc0(Max(nkeys, 1) * sizeof(Condition));
	for (int i = 0; i < nkeys; i++)
	{
		search->conditions[i].key = &keys[i];
		search->conditions[i].column = keys[i].sk_attno - 1;
	}
	search->viewer = (BfViewer) {.snapshot = snapshot};
	search->trusted = snapshot != NULL && snapshot->snapshot_type == SNAPSHOT_MVCC;
	return search;
}

/* Hashes the items of all keys for this index. The memory is taken from the current context. */
static void
hash_all_items(BfSearch *search, Relation index)
{
	for (int i = 0; i < search->count; i++)
		hash_items(search, &search->conditions[i], index);
}

/* Is there a condition that no row satisfies? */
static bool
is_impossible(const BfSearch *search)
{
	for (int i = 0; i < search->count; i++)
		if (!search->conditions[i].unknown && search->conditions[i].count == 0)
			return true;
	return false;
}

/* -------------------------------------------------------- the ranges of a group */

#define MASK_WORDS ((BF_INDEX_MAX_RANGES + 63) / 64)

/* A set of ranges of a group. */
typedef struct Mask
{
	uint64		words[MASK_WORDS];
} Mask;

static inline bool
is_empty(const Mask *mask)
{
	uint64		any = 0;

	for (int i = 0; i < MASK_WORDS; i++)
		any |= mask->words[i];
	return any == 0;
}

static inline bool
has_range(const Mask *mask, uint32 range)
{
	return (mask->words[range / 64] >> range % 64 & 1) != 0;
}

/* Sets the mask to the first so many ranges. */
static void
set_first(Mask *mask, uint32 ranges)
{
	memset(mask, 0, sizeof *mask);
	for (uint32 i = 0; i < ranges; i++)
		mask->words[i / 64] |= UINT64_C(1) << i % 64;
}

/* Adds the ranges about which this page's bits prove nothing, for this snapshot. */
static void
add_untrusted(BfViewer *viewer, const BfFilterPage *content, Mask *mask)
{
	if (bf_index_is_before_horizon(viewer, content))
	{
		set_first(mask, content->ranges);
		return;
	}
	for (uint32 i = 0; i < content->ranges; i++)
		mask->words[i / 64] |= (uint64) (content->states[i] != BF_SUMMARIZED) << i % 64;
}

/* Sets the mask to the ranges of a group that may hold a row which satisfies one condition. */
static void
find_ranges_for_condition(Relation index, const BfGeometry *geometry, uint32 number, BfViewer *viewer,
						  const Condition *condition, Mask *mask)
{
	const BfGroup *group = &geometry->group[number];
	BlockNumber start = bf_index_column_start(geometry, number, condition->column);
	uint32		lines = geometry->lines[number * geometry->columns + condition->column];
	BlockNumber block = InvalidBlockNumber;
	Buffer		buffer = InvalidBuffer;

	memset(mask, 0, sizeof *mask);
	for (uint32 i = 0; i < condition->count; i++)
	{
		uint64		hash = condition->hashes[i];
		uint32		line = sb_bf_line_of(lines, hash);
		BfFilterPage *content;

		if (block != start + line / group->positions)
		{
			if (BufferIsValid(buffer))
				UnlockReleaseBuffer(buffer);
			CHECK_FOR_INTERRUPTS();
			block = start + line / group->positions;
			buffer = bf_index_read_page(index, block);
			LockBuffer(buffer, BUFFER_LOCK_SHARE);
			sb_test_for_old_snapshot(viewer->snapshot, index, BufferGetPage(buffer));
			content = bf_index_filter_page(index, block, BufferGetPage(buffer), group, condition->column,
										   block - start);
			add_untrusted(viewer, content, mask);
		}
		content = (BfFilterPage *) PageGetContents(BufferGetPage(buffer));
		sb_bf_lines_containing(bf_index_position(content, line % group->positions), group->ranges, geometry->hash_count,
							   hash, mask->words);
	}
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
}

/* Sets *found to the ranges of a group that may hold a row which satisfies all conditions. */
static void
find_ranges(Relation index, const BfGeometry *geometry, uint32 number, BfSearch *search, Mask *found)
{
	set_first(found, geometry->group[number].ranges);
	for (int i = 0; i < search->count && !is_empty(found); i++)
	{
		Mask		mask;

		if (search->conditions[i].unknown)
			continue;
		find_ranges_for_condition(index, geometry, number, &search->viewer, &search->conditions[i], &mask);
		for (int word = 0; word < MASK_WORDS; word++)
			found->words[word] &= mask.words[word];
	}
}

/* --------------------------------------------------------- the pages of the heap */

/* Adds the pages from `first` to `end` (exclusive) to the bitmap. */
static void
add_pages(TIDBitmap *tbm, uint64 first, uint64 end)
{
	for (uint64 block = first; block < end; block++)
		tbm_add_page(tbm, (BlockNumber) block);
}

/*
 * Adds the pages of a group's ranges that may match to the bitmap, and returns how many they are. Without a bitmap it
 * stops at the first range.
 */
static int64
find_pages_in_group(Relation index, const BfGeometry *geometry, uint32 number, BlockNumber heap_blocks,
					BfSearch *search, TIDBitmap *tbm)
{
	const BfGroup *group = &geometry->group[number];
	int64		count = 0;
	Mask		found;

	find_ranges(index, geometry, number, search, &found);
	for (uint32 i = 0; i < group->ranges; i++)
	{
		uint64		first = (uint64) (group->first_range + i) * geometry->pages_per_range;
		uint64		end = Min(first + geometry->pages_per_range, heap_blocks);

		if (!has_range(&found, i) || first >= end)
			continue;
		count += end - first;
		if (tbm == NULL)
			break;
		add_pages(tbm, first, end);
	}
	return count;
}

/*
 * Adds all pages of the heap that may hold matching rows to the bitmap, and returns how many they are. Without a
 * bitmap it stops at the first range, so that the result only says whether there are any.
 */
static int64
find_pages(Relation index, BlockNumber heap_blocks, BfSearch *search, TIDBitmap *tbm)
{
	const BfGeometry *cached = bf_index_geometry(index);
	BfGeometry *geometry;
	uint64		covered_blocks;
	int64		count = 0;

	if (heap_blocks == 0 || is_impossible(search))
		return 0;
	/* If groups were added since the geometry was read, their ranges can be ruled out too. */
	if ((uint64) cached->covered * cached->pages_per_range < heap_blocks)
		cached = bf_index_current_geometry(index);
	geometry = bf_index_copy_geometry(cached);
	covered_blocks = search->trusted ? (uint64) geometry->covered * geometry->pages_per_range : 0;

	for (uint32 number = 0; search->trusted && number < geometry->groups; number++)
	{
		if ((uint64) geometry->group[number].first_range * geometry->pages_per_range >= heap_blocks)
			break;
		count += find_pages_in_group(index, geometry, number, heap_blocks, search, tbm);
		if (tbm == NULL && count > 0)
			break;
	}
	if (covered_blocks < heap_blocks)
	{
		count += heap_blocks - covered_blocks;
		if (tbm != NULL)
			add_pages(tbm, covered_blocks, heap_blocks);
	}
	pfree(geometry);
	return count;
}

bool
bf_index_may_match(BfSearch *search, Relation index, Relation heap)
{
	MemoryContext caller = MemoryContextSwitchTo(search->context);

	hash_all_items(search, index);
	MemoryContextSwitchTo(caller);
	return find_pages(index, RelationGetNumberOfBlocks(heap), search, NULL) > 0;
}

/* ------------------------------------------------------------ as an index scan */

/* A scan does not count rows: BRIN reports this many for each page too. */
#define ROWS_REPORTED_PER_PAGE 10

typedef struct BfScan
{
	BlockNumber heap_blocks;	/* taken when the scan began, after its snapshot */
	MemoryContext context;		/* of the hashes; reset before each search */
	BfSearch   *search;			/* keeps its hashers from one rescan to the next; NULL at first */
} BfScan;

IndexScanDesc
bf_index_begin_scan(Relation index, int nkeys, int norderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(index, nkeys, norderbys);
	BfScan	   *state = palloc(sizeof(BfScan));

	state->heap_blocks = InvalidBlockNumber;
	state->context = AllocSetContextCreate(CurrentMemoryContext, "bf index scan", ALLOCSET_SMALL_SIZES);
	state->search = NULL;
	scan->opaque = state;
	return scan;
}

void
bf_index_rescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys)
{
	if (keys != NULL && scan->numberOfKeys > 0)
		memmove(scan->keyData, keys, scan->numberOfKeys * sizeof(ScanKeyData));
}

int64
bf_index_get_bitmap(IndexScanDesc scan, TIDBitmap *tbm)
{
	BfScan	   *state = scan->opaque;
	MemoryContext caller;
	int64		pages;

	pgstat_count_index_scan(scan->indexRelation);
	sb_count_index_search(scan);
	if (state->heap_blocks == InvalidBlockNumber)
	{
		/* The snapshot of a scan does not change, so it sees no rows in pages that are added after this. */
		Relation	heap = table_open(IndexGetRelation(RelationGetRelid(scan->indexRelation), false), AccessShareLock);

		state->heap_blocks = RelationGetNumberOfBlocks(heap);
		table_close(heap, AccessShareLock);
	}
	if (state->search == NULL)
	{
		caller = MemoryContextSwitchTo(GetMemoryChunkContext(state));
		state->search = bf_index_begin_search(scan->keyData, scan->numberOfKeys, scan->xs_snapshot);
		MemoryContextSwitchTo(caller);
	}
	MemoryContextReset(state->context);
	for (int i = 0; i < state->search->count; i++)
		state->search->conditions[i].hashes = NULL; /* the keys have other arguments now */
	caller = MemoryContextSwitchTo(state->context);
	hash_all_items(state->search, scan->indexRelation);
	pages = find_pages(scan->indexRelation, state->heap_blocks, state->search, tbm);
	MemoryContextSwitchTo(caller);
	return pages * ROWS_REPORTED_PER_PAGE;
}

void
bf_index_end_scan(IndexScanDesc scan)
{
	BfScan	   *state = scan->opaque;

	MemoryContextDelete(state->context);
	pfree(state);
}
