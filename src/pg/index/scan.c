/*
 * scan.c: which pages of the heap may hold rows that a snapshot sees and that satisfy the keys?
 *
 * For each group, and each item that is asked for, one page is read; under its lock a range is left out if it is
 * summarized there, its bits say no, and no row that this snapshot may see was left out of it (the horizon). All
 * other ranges are read, and so is what lies beyond the last group. The heap's length was taken after the snapshot.
 */
#include "index/bf_index.h"

#include "access/relation.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* What one key asks of a column: one of these items, or nothing that the index knows of. */
typedef struct Condition
{
	int			column;			/* from 0 */
	bool		unknown;		/* IS NOT NULL: any range may hold it */
	uint32		count;			/* of hashes; with none no row satisfies it */
	uint64	   *hashes;			/* in ascending order, so that pages are read in theirs */
} Condition;

/* A question with its keys hashed. */
typedef struct Question
{
	int			count;
	Condition  *conditions;
	BfViewer	viewer;
	bool		trusted;		/* an MVCC snapshot: the index can answer at all */
} Question;

typedef struct BfScan
{
	BlockNumber heap_blocks;	/* taken when the scan began, after its snapshot */
	MemoryContext context;		/* of the question */
} BfScan;

/* ------------------------------------------------------------------ the keys */

static int
compare_hashes(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a,
				y = *(const uint64 *) b;

	return x < y ? -1 : x > y;
}

/* The hasher for a key's argument, whose type may differ from the column's. */
static ItemHasher *
hasher_for_key(Relation index, ScanKey key)
{
	int			column = key->sk_attno - 1;
	Oid			given = key->sk_subtype;

	/* the operator's right side may say anyarray */
	if (!OidIsValid(given) || IsPolymorphicType(given))
		given = bf_index_column_type(index, column);
	return item_hasher_for_index(given, index->rd_indcollation[column], CurrentMemoryContext);
}

static void
condition_of_array(Relation index, ScanKey key, Condition *condition)
{
	ArrayType  *array = DatumGetArrayTypeP(key->sk_argument);
	ItemHasher *hasher = hasher_for_key(index, key);
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
			condition->hashes[condition->count++] = item_hash(hasher, elements[i]);
	qsort(condition->hashes, condition->count, sizeof(uint64), compare_hashes);
}

static void
condition_of(Relation index, ScanKey key, Condition *condition)
{
	condition->column = key->sk_attno - 1;
	condition->unknown = false;
	condition->count = 0;
	condition->hashes = NULL;
	if (key->sk_flags & SK_SEARCHNOTNULL)
		condition->unknown = true;
	else if (key->sk_flags & SK_SEARCHNULL)
	{
		condition->hashes = palloc(sizeof(uint64));
		condition->hashes[condition->count++] = BF_NULL_HASH;
	}
	else if (key->sk_flags & SK_ISNULL)
		return;					/* = NULL: no row */
	else if (key->sk_strategy != BF_EQUAL_STRATEGY)
		elog(ERROR, "unknown strategy number %d for access method bf", key->sk_strategy);
	else if (key->sk_flags & SK_SEARCHARRAY)
		condition_of_array(index, key, condition);
	else
	{
		condition->hashes = palloc(sizeof(uint64));
		condition->hashes[condition->count++] = item_hash(hasher_for_key(index, key), key->sk_argument);
	}
}

static void
prepare_question(Relation index, ScanKey keys, int nkeys, Snapshot snapshot, Question *question)
{
	question->count = nkeys;
	question->conditions = palloc(Max(nkeys, 1) * sizeof(Condition));
	for (int i = 0; i < nkeys; i++)
		condition_of(index, &keys[i], &question->conditions[i]);
	question->viewer = (BfViewer) {.snapshot = snapshot};
	question->trusted = snapshot != NULL && snapshot->snapshot_type == SNAPSHOT_MVCC;
}

/* Is there a condition that no row satisfies? */
static bool
asks_for_nothing(const Question *question)
{
	for (int i = 0; i < question->count; i++)
		if (!question->conditions[i].unknown && question->conditions[i].count == 0)
			return true;
	return false;
}

/* ---------------------------------------------------------------- the answer */

#define BF_MASK_WORDS ((BF_INDEX_MAX_RANGES + 63) / 64)

/* A set of ranges of a group. */
typedef struct Mask
{
	uint64		words[BF_MASK_WORDS];
} Mask;

static inline bool
is_empty(const Mask *mask)
{
	uint64		any = 0;

	for (int i = 0; i < BF_MASK_WORDS; i++)
		any |= mask->words[i];
	return any == 0;
}

static void
set_first(Mask *mask, uint32 ranges)
{
	memset(mask, 0, sizeof *mask);
	for (uint32 i = 0; i < ranges; i++)
		mask->words[i / 64] |= UINT64_C(1) << i % 64;
}

/* The ranges of this page whose bits the question must not rely on. */
static void
add_untrusted(Question *question, const BfFilterPage *content, Mask *mask)
{
	if (bf_index_is_before_horizon(&question->viewer, content))
	{
		set_first(mask, content->ranges);
		return;
	}
	for (uint32 i = 0; i < content->ranges; i++)
		mask->words[i / 64] |= (uint64) (content->states[i] != BF_SUMMARIZED) << i % 64;
}

/* The ranges of a group that may satisfy one condition. */
static void
ask_group(Relation index, const BfGeometry *geometry, uint32 number, Question *question, const Condition *condition,
		  Mask *mask)
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
			sb_test_for_old_snapshot(question->viewer.snapshot, index, BufferGetPage(buffer));
			add_untrusted(question, bf_index_filter_page(index, block, BufferGetPage(buffer), group, condition->column, block - start),
						  mask);
		}
		content = (BfFilterPage *) PageGetContents(BufferGetPage(buffer));
		sb_bf_lines_containing(bf_index_position(content, line % group->positions), group->ranges, geometry->hashes, hash,
							   mask->words);
	}
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
}

/* The ranges of a group that may satisfy all conditions. */
static void
answer_of_group(Relation index, const BfGeometry *geometry, uint32 number, Question *question, Mask *answer)
{
	set_first(answer, geometry->group[number].ranges);
	for (int i = 0; i < question->count && !is_empty(answer); i++)
	{
		Mask		mask;

		if (question->conditions[i].unknown)
			continue;
		ask_group(index, geometry, number, question, &question->conditions[i], &mask);
		for (int word = 0; word < BF_MASK_WORDS; word++)
			answer->words[word] &= mask.words[word];
	}
}

/*
 * Walks all ranges of the heap that may match, and adds their pages to the bitmap; without one, stops at the first.
 * Returns the number of pages (without a bitmap only whether there are any).
 */
static int64
find_pages(Relation index, BlockNumber heap_blocks, Question *question, TIDBitmap *tbm)
{
	const BfGeometry *geometry = bf_index_geometry(index);
	BfGeometry *copy;
	int64		found = 0;
	uint64		covered_blocks;

	if (heap_blocks == 0 || asks_for_nothing(question))
		return 0;
	/* groups that came since this was read would be of use */
	if ((uint64) geometry->covered * geometry->pages_per_range < heap_blocks)
		geometry = bf_index_current_geometry(index);
	geometry = copy = bf_index_copy_geometry(geometry);
	covered_blocks = question->trusted ? (uint64) geometry->covered * geometry->pages_per_range : 0;

	for (uint32 number = 0; question->trusted && number < geometry->groups; number++)
	{
		const BfGroup *group = &geometry->group[number];
		Mask		answer;

		if ((uint64) group->first_range * geometry->pages_per_range >= heap_blocks)
			break;
		answer_of_group(index, geometry, number, question, &answer);
		for (uint32 i = 0; i < group->ranges; i++)
		{
			uint64		first = (uint64) (group->first_range + i) * geometry->pages_per_range;
			uint64		end = Min(first + geometry->pages_per_range, heap_blocks);

			if ((answer.words[i / 64] >> i % 64 & 1) == 0 || first >= end)
				continue;
			found += end - first;
			if (tbm == NULL)
				goto done;
			for (uint64 block = first; block < end; block++)
				tbm_add_page(tbm, (BlockNumber) block);
		}
	}
	if (covered_blocks < heap_blocks)
	{
		found += heap_blocks - covered_blocks;
		for (uint64 block = covered_blocks; tbm != NULL && block < heap_blocks; block++)
			tbm_add_page(tbm, (BlockNumber) block);
	}
done:
	pfree(copy);
	return found;
}

static int64
ask(Relation index, Relation heap, ScanKey keys, int nkeys, Snapshot snapshot, TIDBitmap *tbm)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bf index question", ALLOCSET_SMALL_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Question	question;
	int64		found;

	prepare_question(index, keys, nkeys, snapshot, &question);
	found = find_pages(index, RelationGetNumberOfBlocks(heap), &question, tbm);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return found;
}

bool
bf_index_may_match(Relation index, Relation heap, ScanKey keys, int nkeys, Snapshot snapshot)
{
	return ask(index, heap, keys, nkeys, snapshot, NULL) > 0;
}

/* ------------------------------------------------------------ as an index scan */

IndexScanDesc
bf_index_begin_scan(Relation index, int nkeys, int norderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(index, nkeys, norderbys);
	BfScan	   *state = palloc(sizeof(BfScan));

	state->heap_blocks = InvalidBlockNumber;
	state->context = AllocSetContextCreate(CurrentMemoryContext, "bf index scan", ALLOCSET_SMALL_SIZES);
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
	Question	question;
	int64		found;

	pgstat_count_index_scan(scan->indexRelation);
	sb_count_index_search(scan);
	if (state->heap_blocks == InvalidBlockNumber)
	{
		/* the snapshot of a scan does not change, so rows in pages that come after this are not for it */
		Relation	heap = table_open(IndexGetRelation(RelationGetRelid(scan->indexRelation), false), AccessShareLock);

		state->heap_blocks = RelationGetNumberOfBlocks(heap);
		table_close(heap, AccessShareLock);
	}
	MemoryContextReset(state->context);
	caller = MemoryContextSwitchTo(state->context);
	prepare_question(scan->indexRelation, scan->keyData, scan->numberOfKeys, scan->xs_snapshot, &question);
	found = find_pages(scan->indexRelation, state->heap_blocks, &question, tbm);
	MemoryContextSwitchTo(caller);
	/* rows are not counted: so many to a page, as BRIN says */
	return found * 10;
}

void
bf_index_end_scan(IndexScanDesc scan)
{
	BfScan	   *state = scan->opaque;

	MemoryContextDelete(state->context);
	pfree(state);
}
