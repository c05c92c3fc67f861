/*
 * scan.c: which pages of the heap may hold rows that a snapshot sees and that satisfy some keys?
 *
 * The search begins on the highest level. For each group and each item that is searched for, one page of the index is
 * read. Under the lock of this page a range is ruled out if it is summarized there, its bits say that the item is not in
 * it, and the summary has left out no row that the snapshot may see (the horizon). What is left is searched on the level
 * below, and so on down to level 0. Where a level has no groups, the level below decides; behind the last group of level
 * 0 everything is read.
 */
#include "index/bf_index.h"

#include "access/relation.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/pg_bitutils.h"
#include "storage/buf_internals.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "index/keys.h"

#define MASK_WORDS ((BF_INDEX_MAX_RANGES + 63) / 64)

/* A set of ranges of a group. */
typedef struct Mask
{
	uint64		words[MASK_WORDS];
} Mask;

/*
 * What one scan key demands of a column: that the value is one of these items, or, if the column's items are keys inside
 * values, that the value has those of these items which `by_keys` says.
 */
typedef struct Condition
{
	const ScanKeyData *key;
	int			column;			/* from 0 */
	bool		is_hashed;		/* for the index that was asked last */
	bool		unknown;		/* the index cannot rule out any range: IS NOT NULL, or keys that say nothing */
	uint32		count;			/* of hashes; if there is none, no row satisfies the key */
	uint64	   *hashes;			/* ascending, so that pages are read in their order */
	BfKeySearch *by_keys;		/* NULL: the items are values */
	Mask	   *with;			/* for a search by keys: of each item, the ranges that may have it */
	bool	   *present;		/* and room for what a range may have */

	/* how the items are hashed; one hasher serves all indexes whose column has the same type and collation */
	Oid			type;
	Oid			collation;
	ItemHasher *hasher;			/* NULL: none was needed yet */
	BfKeyClass *class;			/* the hasher is for its keys; NULL: for values */
} Condition;

/* Items of a condition are carried from level to level as bits of a word. A condition with more is asked on level 0 only. */
#define MOST_CARRIED 64

/* What is known of a part of the heap: for each condition the items that may be there. */
typedef uint64 ItemSet;

/* One level of a search. */
typedef struct LevelSearch
{
	ItemSet    *found;			/* of range r of the group being searched, condition c: found[r * conditions + c] */
	ItemSet    *below;			/* of each condition: what may be in the range that is searched on the level below */
} LevelSearch;

/* A search: keys with their items hashed, for a snapshot. */
struct BfSearch
{
	MemoryContext context;		/* of the hashers and hashes */
	int			count;
	Condition  *conditions;
	BfViewer	viewer;
	bool		trusted;		/* an MVCC snapshot: the index can rule out ranges for it */
	int		   *order;			/* the conditions, those with few items first: they cost little and leave little */
	ItemSet    *everything;		/* of each condition all items */
	LevelSearch level[BF_INDEX_MAX_LEVELS]; /* of level 0 nothing; allocated when they are needed */

	/* how bf_index_is_wanted() hashes values, if they are not of the type of the items */
	Oid			value_type;
	Oid			value_collation;
	ItemHasher *value_hasher;	/* NULL: none was needed yet */
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
	return !OidIsValid(type) || IsPolymorphicType(type) ? bf_index_item_type(index, key->sk_attno - 1) : type;
}

/* Makes sure that the condition's hasher for values fits this index. If it changes, the hashes are forgotten. */
static void
find_hasher(BfSearch *search, Condition *condition, Relation index)
{
	Oid			type = type_of_argument(index, condition->key);
	Oid			collation = index->rd_indcollation[condition->column];

	if (condition->hasher != NULL && condition->class == NULL && condition->type == type &&
		condition->collation == collation)
		return;
	condition->hasher = item_hasher_for_index(type, collation, search->context);
	condition->class = NULL;
	condition->type = type;
	condition->collation = collation;
	condition->is_hashed = false;
}

/* The same for keys. */
static void
find_key_class(BfSearch *search, Condition *condition, Relation index)
{
	if (condition->class != NULL && bf_index_is_key_class(condition->class, index, condition->column))
		return;
	condition->class = bf_index_make_key_class(index, condition->column, search->context);
	condition->hasher = bf_index_key_hasher(condition->class, search->context);
	condition->is_hashed = false;
}

static void
set_one_hash(Condition *condition, uint64 hash)
{
	condition->hashes = palloc(sizeof(uint64));
	condition->hashes[0] = hash;
	condition->count = 1;
}

/* Hashes the values that the key searches for. */
static void
hash_values(Condition *condition)
{
	Datum	   *values;
	uint32		count = bf_index_key_arguments(condition->key, &values);

	if (count == 1)
		set_one_hash(condition, item_hash(condition->hasher, values[0]));
	else
	{
		condition->hashes = palloc(Max(count, 1) * sizeof(uint64));
		condition->count = count;
		for (uint32 i = 0; i < count; i++)
			condition->hashes[i] = item_hash(condition->hasher, values[i]);
		qsort(condition->hashes, count, sizeof(uint64), compare_hashes);
	}
}

/* Takes what the key searches for apart into keys. */
static void
hash_keys(Condition *condition)
{
	Datum	   *queries;
	uint32		count = bf_index_key_arguments(condition->key, &queries);
	BfKeySearch *by_keys = bf_index_begin_key_search(condition->class, condition->hasher, condition->key->sk_strategy,
													 queries, count);

	condition->unknown = by_keys->kind == BF_FINDS_ANYTHING;
	if (by_keys->kind == BF_FINDS_BY_KEYS)
	{
		condition->by_keys = by_keys;
		condition->count = by_keys->count;
		condition->hashes = by_keys->hashes;
		condition->with = palloc_extended(condition->count * sizeof(Mask), MCXT_ALLOC_HUGE);
		condition->present = palloc_extended(condition->count * sizeof(bool), MCXT_ALLOC_HUGE);
	}
}

/*
 * Hashes what the condition's key searches for, unless this was done for an index whose items are hashed in the same
 * way.
 */
static void
hash_items(BfSearch *search, Condition *condition, Relation index)
{
	const ScanKeyData *key = condition->key;
	const int	special = key->sk_flags & (SK_SEARCHNOTNULL | SK_SEARCHNULL | SK_ISNULL);
	const bool	has_keys = bf_index_has_keys(index, condition->column);

	if (special == 0)
	{
		if (has_keys)
			find_key_class(search, condition, index);
		else if (key->sk_strategy != BF_EQUAL_STRATEGY)
			elog(ERROR, "unknown strategy number %d for access method bf", key->sk_strategy);
		else
			find_hasher(search, condition, index);
	}
	if (condition->is_hashed)
		return;
	condition->unknown = false;
	condition->count = 0;		/* for = NULL, which no row satisfies */
	condition->by_keys = NULL;
	if (special & SK_SEARCHNOTNULL)
		condition->unknown = true;
	else if (special & SK_SEARCHNULL)
		set_one_hash(condition, BF_NULL_HASH);
	else if (special == 0 && has_keys)
		hash_keys(condition);
	else if (special == 0)
		hash_values(condition);
	condition->is_hashed = true;
}

BfSearch *
bf_index_begin_search(const ScanKeyData *keys, int nkeys, Snapshot snapshot)
{
	BfSearch   *search = palloc(sizeof(BfSearch));

	search->context = CurrentMemoryContext;
	search->count = nkeys;
	search->conditions = palloc0(Max(nkeys, 1) * sizeof(Condition));
	search->order = palloc(Max(nkeys, 1) * sizeof(int));
	search->everything = palloc(Max(nkeys, 1) * sizeof(ItemSet));
	memset(search->everything, 0xff, Max(nkeys, 1) * sizeof(ItemSet));
	memset(search->level, 0, sizeof search->level);
	search->value_hasher = NULL;
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
	{
		int			at = i;

		hash_items(search, &search->conditions[i], index);
		for (; at > 0 && search->conditions[search->order[at - 1]].count > search->conditions[i].count; at--)
			search->order[at] = search->order[at - 1];
		search->order[at] = i;
	}
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

/* --------------------------------------------------------- a search going down */

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
	int			column;			/* that is searched; the type as which its items were hashed, and the collation */
	Oid			type;
	Oid			collation;
	AttrNumber	attribute;		/* as in BfPages */
	Oid			value_type;
	PageHint	hints[PAGE_HINTS];	/* the page of a block is at block % PAGE_HINTS */
	BfGeometry *geometry;
};

/* A search in one index. */
typedef struct Descent
{
	Relation	index;			/* NULL: the probe is asked */
	BfProbe    *probe;			/* remembers where pages are; may be NULL */
	bool		failed;			/* the index is NULL, and a page was not what it should be */
	const BfGeometry *geometry;
	BfSearch   *search;
	TIDBitmap  *tbm;			/* the pages go there; may be NULL */
	BfVerdict  *verdict;		/* all ranges are counted there; may be NULL */
	BfPages    *few;			/* the pages go there until they are too many; may be NULL */
	int64		pages;			/* found so far; with none of the three it stops at the first one */
	Mask		untrusted;		/* of the group of level 0 that was searched last: ranges of which no page said anything */
} Descent;

/* Is the condition asked on this level? */
static inline bool
is_asked(const Condition *condition, int level)
{
	return !condition->unknown && (level == 0 || condition->count <= MOST_CARRIED);
}

/* Adds an item to what was found for those ranges of the group that are in the mask and not yet ruled out. */
static void
note_item(Descent *descent, int level, int condition, const Mask *candidates, const Mask *mask, uint32 item)
{
	ItemSet    *found = descent->search->level[level].found;
	int			conditions = descent->search->count;

	for (int word = 0; word < MASK_WORDS; word++)
		for (uint64 bits = candidates->words[word] & mask->words[word]; bits != 0; bits &= bits - 1)
			found[(word * 64 + pg_rightmost_one_pos64(bits)) * conditions + condition] |= UINT64_C(1) << item;
}

/*
 * Pins page `number` of a group's run for a column, and locks it for reading. Returns InvalidBuffer, and the search has
 * failed, if this is a probe and the page is not what it should be.
 */
static Buffer
open_page(Descent *descent, const BfGroup *group, int column, BlockNumber number)
{
	BlockNumber block = bf_index_column_start(group, column) + number;
	PageHint   *hint = descent->probe != NULL ? &descent->probe->hints[block % PAGE_HINTS] : NULL;
	Buffer		buffer;

	if (descent->index == NULL)
	{
		buffer = hint->buffer;
		if (hint->block != block || !sb_read_recent_buffer(descent->probe->locator, block, buffer))
			buffer = ReadBufferWithoutRelcache(descent->probe->locator, MAIN_FORKNUM, block, RBM_NORMAL, NULL,
											   descent->probe->is_permanent);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		descent->failed = !bf_index_is_filter_page(BufferGetPage(buffer), group, column, number);
		if (descent->failed)
		{
			/* whoever opens the index raises the error */
			UnlockReleaseBuffer(buffer);
			return InvalidBuffer;
		}
		*hint = (PageHint) {.block = block, .buffer = buffer};
		return buffer;
	}
	buffer = bf_index_read_page(descent->index, block);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	sb_test_for_old_snapshot(descent->search->viewer.snapshot, descent->index, BufferGetPage(buffer));
	(void) bf_index_filter_page(descent->index, block, BufferGetPage(buffer), group, column, number);
	if (hint != NULL)
		*hint = (PageHint) {.block = block, .buffer = buffer};
	return buffer;
}

static inline void
leave_only(Mask *mask, const Mask *other)
{
	for (int word = 0; word < MASK_WORDS; word++)
		mask->words[word] &= other->words[word];
}

/* Does the condition demand of a value that it has this item, whatever else it has? */
static inline bool
is_required(const Condition *condition, uint32 item)
{
	return item < 64 && (condition->by_keys->required >> item & 1) != 0;
}

/* Leaves those ranges in *candidates whose keys, as condition->with says, can satisfy the condition. */
static void
check_keys(const Condition *condition, Mask *candidates)
{
	for (int word = 0; word < MASK_WORDS; word++)
		for (uint64 bits = candidates->words[word]; bits != 0; bits &= bits - 1)
		{
			const int	range = word * 64 + pg_rightmost_one_pos64(bits);

			for (uint32 i = 0; i < condition->count; i++)
				condition->present[i] = has_range(&condition->with[i], range);
			if (!bf_index_key_search_can_match(condition->by_keys, condition->present))
				candidates->words[word] &= ~(UINT64_C(1) << range % 64);
		}
}

/*
 * Leaves those ranges of a group in *candidates that may hold a row which satisfies one condition. `items` are those that
 * may be in this part of the heap.
 */
static void
check_condition(Descent *descent, const BfGroup *group, int number, ItemSet items, Mask *candidates)
{
	const Condition *condition = &descent->search->conditions[number];
	const BfParameters *parameters = bf_index_parameters(descent->geometry, group->level, condition->column);
	const bool	carried = condition->count <= MOST_CARRIED;
	BlockNumber page = InvalidBlockNumber;
	Buffer		buffer = InvalidBuffer;
	Mask		untrusted;
	Mask		any;

	memset(&any, 0, sizeof any);
	memset(&untrusted, 0, sizeof untrusted);
	if (condition->by_keys != NULL)
		memset(condition->with, 0, condition->count * sizeof(Mask));
	for (uint32 i = 0; i < condition->count; i++)
	{
		uint64		hash = condition->hashes[i];
		uint32		line = sb_bf_line_of(group->lines[condition->column], hash);
		BfFilterPage *content;
		Mask		mask;

		if (carried && (items >> i & 1) == 0)
			continue;
		if (page != line / group->positions)
		{
			if (BufferIsValid(buffer))
				UnlockReleaseBuffer(buffer);
			CHECK_FOR_INTERRUPTS();
			page = line / group->positions;
			buffer = open_page(descent, group, condition->column, page);
			if (descent->failed)
				return;
			memset(&untrusted, 0, sizeof untrusted);
			add_untrusted(&descent->search->viewer, (BfFilterPage *) PageGetContents(BufferGetPage(buffer)), &untrusted);
		}
		content = (BfFilterPage *) PageGetContents(BufferGetPage(buffer));
		mask = untrusted;
		sb_bf_lines_containing(bf_index_position(content, line % group->positions), group->ranges, parameters->hashes,
							   hash, mask.words);
		if (carried && group->level > 0)
			note_item(descent, group->level, number, candidates, &mask, i);
		for (int word = 0; word < MASK_WORDS; word++)
			any.words[word] |= mask.words[word];
		if (condition->by_keys != NULL)
		{
			condition->with[i] = mask;
			if (is_required(condition, i))
			{
				leave_only(candidates, &mask);
				if (is_empty(candidates))
					break;
			}
		}
	}
	if (BufferIsValid(buffer))
		UnlockReleaseBuffer(buffer);
	for (int word = 0; word < MASK_WORDS; word++)
		descent->untrusted.words[word] |= untrusted.words[word];
	if (condition->by_keys != NULL)
		check_keys(condition, candidates);
	else
		leave_only(candidates, &any);
}

/* Has enough been found? */
static inline bool
is_done(const Descent *descent)
{
	if (descent->few != NULL)
		return descent->failed || !bf_index_are_few(descent->few);
	return descent->failed || (descent->tbm == NULL && descent->verdict == NULL && descent->pages > 0);
}

/* Adds the pages from `first` to `end` (exclusive), which are so many ranges. */
static void
add_few(BfPages *few, uint64 first, uint64 end, int64 ranges, bool summarized)
{
	for (uint64 block = first; block < end && bf_index_are_few(few); block++)
	{
		if (few->count < BF_FEW_PAGES)
			few->blocks[few->count] = (BlockNumber) block;
		few->count++;
	}
	if (summarized)
		few->ranges.maybe += ranges;
	else
		few->ranges.unsummarized += ranges;
}

/* Adds the pages from `first` to `end` (exclusive), which are so many ranges, to what is found. */
static void
add_pages(Descent *descent, uint64 first, uint64 end, int64 ranges, bool summarized)
{
	descent->pages += end - first;
	if (descent->few != NULL)
		add_few(descent->few, first, end, ranges, summarized);
	if (descent->verdict != NULL)
	{
		if (summarized)
			descent->verdict->maybe += ranges;
		else
			descent->verdict->unsummarized += ranges;
	}
	for (uint64 block = first; descent->tbm != NULL && block < end; block++)
	{
		/* they may be all pages of a table that was never summarized */
		CHECK_FOR_INTERRUPTS();
		tbm_add_page(descent->tbm, (BlockNumber) block);
	}
}

static void search_pages(Descent *descent, int level, uint64 first, uint64 end, const ItemSet *items);

/* Searches the pages from `first` to `end` (exclusive), which are ranges of one group. */
static void
search_group(Descent *descent, const BfGroup *group, uint64 first, uint64 end, const ItemSet *items)
{
	BfSearch   *search = descent->search;
	LevelSearch *here = &search->level[group->level];
	BlockNumber pages_per_range = descent->geometry->level[group->level].pages_per_range;
	uint32		from = first / pages_per_range - group->first_range;
	uint32		to = (end + pages_per_range - 1) / pages_per_range - group->first_range;
	Mask		candidates;

	memset(&candidates, 0, sizeof candidates);
	memset(&descent->untrusted, 0, sizeof descent->untrusted);
	for (uint32 range = from; range < to; range++)
		candidates.words[range / 64] |= UINT64_C(1) << range % 64;
	if (group->level > 0)
		memset(&here->found[from * search->count], 0, (to - from) * search->count * sizeof(ItemSet));
	for (int i = 0; i < search->count && !is_empty(&candidates) && !descent->failed; i++)
	{
		int			number = search->order[i];

		if (is_asked(&search->conditions[number], group->level))
			check_condition(descent, group, number, items[number], &candidates);
	}
	for (uint32 range = from; range < to && !is_done(descent); range++)
	{
		uint64		range_first = ((uint64) group->first_range + range) * pages_per_range;
		uint64		range_end = Min(range_first + pages_per_range, end);

		if (!has_range(&candidates, range))
			continue;
		if (group->level == 0)
			add_pages(descent, range_first, range_end, 1, !has_range(&descent->untrusted, range));
		else
		{
			memcpy(here->below, &here->found[range * search->count], search->count * sizeof(ItemSet));
			search_pages(descent, group->level - 1, range_first, range_end, here->below);
		}
	}
}

/*
 * Searches the pages from `first` to `end` (exclusive) on a level and those below. `first` is the first page of a range;
 * items[] says for each condition what may be there.
 */
static void
search_pages(Descent *descent, int level, uint64 first, uint64 end, const ItemSet *items)
{
	const BfLevel *of = &descent->geometry->level[level];
	uint64		covered = Min((uint64) of->covered * of->pages_per_range, end);

	while (first < covered && !is_done(descent))
	{
		BfGroup		group;
		uint64		group_end;

		bf_index_find_group(descent->geometry, level, first / of->pages_per_range, &group);
		group_end = Min(((uint64) group.first_range + group.ranges) * of->pages_per_range, covered);
		search_group(descent, &group, first, group_end, items);
		first = group_end;
	}
	if (first >= end || is_done(descent))
		return;
	if (level == 0)
		add_pages(descent, first, end, (end - first + of->pages_per_range - 1) / of->pages_per_range, false);
	else
		search_pages(descent, level - 1, first, end, items);
}

/* Makes room for what is found on the levels above 0. */
static void
prepare_levels(BfSearch *search, int levels)
{
	int			conditions = Max(search->count, 1);

	for (int level = 1; level < levels; level++)
		if (search->level[level].found == NULL)
		{
			search->level[level].found =
				MemoryContextAlloc(search->context, BF_INDEX_MAX_RANGES * conditions * sizeof(ItemSet));
			search->level[level].below = MemoryContextAlloc(search->context, conditions * sizeof(ItemSet));
		}
}

/*
 * Adds all pages of the heap that may hold matching rows to the bitmap, or their ranges to the verdict, and returns how many
 * pages they are. With neither of the two it stops at the first range, so that the result only says whether there are any.
 */
static int64
find_pages(Descent *descent, BlockNumber heap_blocks)
{
	BfSearch   *search = descent->search;

	if (heap_blocks == 0 || is_impossible(search))
		return 0;
	if (!search->trusted || descent->geometry->levels == 0)
		add_pages(descent, 0, heap_blocks, Max(bf_index_ranges_of(descent->geometry, 0, heap_blocks), 1), false);
	else
	{
		prepare_levels(search, descent->geometry->levels);
		search_pages(descent, descent->geometry->levels - 1, 0, heap_blocks, search->everything);
	}
	return descent->pages;
}

/* May the search call functions of an operator class? */
static bool
has_key_search(const BfSearch *search)
{
	for (int i = 0; i < search->count; i++)
		if (search->conditions[i].by_keys != NULL)
			return true;
	return false;
}

/* The pages of those ranges of level 0 that have begun. The last range may end behind the last block of a heap. */
static BlockNumber
begun_pages(const BfGeometry *geometry)
{
	return Min((uint64) geometry->level[0].begun * geometry->level[0].pages_per_range, InvalidBlockNumber);
}

/*
 * May a group of a level above 0 have been added since the geometry was read, with which this search would read fewer
 * pages? This is asked where a level covers at least two ranges more of the next level than that level does itself.
 */
static bool
may_lack_level(const BfGeometry *geometry)
{
	int			possible = bf_index_possible_levels(geometry);

	for (int level = 0; level + 1 < possible; level++)
	{
		const BfLevel *above = &geometry->level[level + 1];
		uint64		here = (uint64) geometry->level[level].covered * geometry->level[level].pages_per_range;

		if (here >= ((uint64) above->covered + 2) * above->pages_per_range)
			return true;
	}
	return false;
}

/*
 * The geometry for a search in a heap of this length. It stays valid, because nothing in a search takes a lock; only functions
 * of an operator class may, so for these it is copied. If groups were added since it was read, their ranges can be ruled out
 * too, or faster; so if that may be, the meta page is looked at.
 */
static const BfGeometry *
geometry_for(Relation index, const BfSearch *search, BlockNumber heap_blocks)
{
	const BfGeometry *geometry = bf_index_geometry(index);

	if ((uint64) geometry->level[0].covered * geometry->level[0].pages_per_range < heap_blocks ||
		may_lack_level(geometry))
		geometry = bf_index_current_geometry(index);
	return has_key_search(search) ? bf_index_copy_geometry(geometry) : geometry;
}

/*
 * How many pages of the heap are to be searched. If the geometry is read now, after the snapshot was taken, and the meta
 * page says that there are no rows behind the ranges that have begun, the heap's length does not matter. Then the heap's
 * file need not be opened: for a session that asks a thousand partitions for the first time this is a part of its work.
 */
static BlockNumber
pages_to_search(Relation index, Relation heap)
{
	const BfGeometry *geometry;

	if (index->rd_amcache != NULL)
		return RelationGetNumberOfBlocks(heap);
	geometry = bf_index_geometry(index);
	return geometry->beyond == BF_BEYOND_EMPTY ? begun_pages(geometry) : RelationGetNumberOfBlocks(heap);
}

/*
 * Hashes the items of the search for this index, and looks for pages. With neither `verdict` nor `few` it stops at the
 * first one.
 */
static int64
search_index(BfSearch *search, Relation index, Relation heap, BfProbe *probe, BfVerdict *verdict, BfPages *few)
{
	MemoryContext caller = MemoryContextSwitchTo(search->context);
	BlockNumber heap_blocks = pages_to_search(index, heap);
	Descent		descent = {.index = index, .search = search, .probe = probe, .verdict = verdict, .few = few};
	int64		pages;

	hash_all_items(search, index);
	MemoryContextSwitchTo(caller);
	descent.geometry = geometry_for(index, search, heap_blocks);
	pages = find_pages(&descent, heap_blocks);
	if (has_key_search(search))
		pfree((BfGeometry *) descent.geometry);
	return pages;
}

bool
bf_index_may_match(BfSearch *search, Relation index, Relation heap)
{
	return search_index(search, index, heap, NULL, NULL, NULL) > 0;
}

void
bf_index_explain_match(BfSearch *search, Relation index, Relation heap, BfVerdict *verdict)
{
	memset(verdict, 0, sizeof *verdict);
	(void) search_index(search, index, heap, NULL, verdict, NULL);
}

/* ------------------------------------------------------------------- few pages */

/* Is this a search for the rows that have a value, or one of several values, in one column? */
static bool
is_for_values(const BfSearch *search)
{
	const Condition *condition = &search->conditions[0];

	return search->count == 1 && search->trusted && !condition->unknown && condition->hasher != NULL &&
		condition->class == NULL && condition->is_hashed && (condition->key->sk_flags & (SK_ISNULL | SK_SEARCHNULL)) == 0;
}

/* bf_index_find_few() for a search that remembers in the probe, which may be NULL, where pages are. */
static bool
find_few(BfSearch *search, Relation index, Relation heap, BfProbe *probe, BfPages *few)
{
	const Condition *condition = &search->conditions[0];

	few->count = 0;
	few->ranges = (BfVerdict) {0};
	(void) search_index(search, index, heap, probe, NULL, few);
	few->attribute = 0;
	if (is_for_values(search) && RelationGetIndexPredicate(index) == NIL)
	{
		few->attribute = index->rd_index->indkey.values[condition->column];
		few->type = bf_index_item_type(index, condition->column);
		few->collation = condition->collation;
	}
	return few->count > 0;
}

bool
bf_index_find_few(BfSearch *search, Relation index, Relation heap, BfPages *few)
{
	return find_few(search, index, heap, NULL, few);
}

bool
bf_index_is_wanted(BfSearch *search, const BfPages *few, Datum value)
{
	const Condition *condition = &search->conditions[0];
	ItemHasher *hasher = condition->hasher;
	uint64		hash;

	if (condition->type != few->type || condition->collation != few->collation)
	{
		if (search->value_hasher == NULL || search->value_type != few->type ||
			search->value_collation != few->collation)
		{
			search->value_hasher = item_hasher_for_index(few->type, few->collation, search->context);
			search->value_type = few->type;
			search->value_collation = few->collation;
		}
		hasher = search->value_hasher;
	}
	hash = item_hash(hasher, value);
	if (condition->count == 1)
		return hash == condition->hashes[0];
	return bsearch(&hash, condition->hashes, condition->count, sizeof hash, compare_hashes) != NULL;
}

/* --------------------------------------------------------------------- as a probe */

/* A geometry that takes more than this is not kept for a probe. */
#define MOST_BYTES_OF_PROBE 4096

BfProbe *
bf_index_make_probe(BfSearch *search, Relation index, Relation heap, BfPages *few)
{
	const Condition *condition = &search->conditions[0];
	BfProbe		found = {
		.locator = sb_locator_of(index),
		.is_permanent = index->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT
	};
	const BfGeometry *geometry;

	(void) find_few(search, index, heap, &found, few);
	geometry = bf_index_current_geometry(index);
	if (!is_for_values(search) || sb_snapshots_grow_old() ||
		RelationUsesLocalBuffers(index) || geometry->size > MOST_BYTES_OF_PROBE)
		return NULL;
	found.meta_buffer = geometry->meta_buffer;
	found.column = condition->column;
	found.type = condition->type;
	found.collation = condition->collation;
	found.attribute = few->attribute;
	found.value_type = few->type;
	found.geometry = bf_index_copy_geometry(geometry);
	return memcpy(palloc(sizeof found), &found, sizeof found);
}

void
bf_index_free_probe(BfProbe *probe)
{
	pfree(probe->geometry);
	pfree(probe);
}

/* Fetches memory into the processor's cache. The address need not be valid. */
static inline void
prefetch(const void *address, Size bytes)
{
	for (Size at = 0; at < bytes; at += PG_CACHE_LINE_SIZE / 2)
		__builtin_prefetch((const char *) address + at);
}

/* Of so many lines at most. Behind them the processor sees by itself that memory is read in order. */
#define LINES_FETCHED 16

void
bf_index_fetch_probe(const BfProbe *probe, const BfSearch *search, BfFetch what)
{
	const BfGeometry *geometry;
	const Condition *condition;
	const PageHint *hint;
	BfGroup		group;
	uint32		line;
	BlockNumber block;

	if (what == BF_FETCH_PROBE)
	{
		prefetch(probe, sizeof(BfProbe));
		return;
	}
	geometry = probe->geometry;
	if (what == BF_FETCH_GEOMETRY)
	{
		prefetch(geometry, sizeof(BfGeometry) + sizeof(BfParameters) + sizeof(BfPlace) + sizeof(uint32));
		if (BufferIsValid(probe->meta_buffer))
			prefetch(GetBufferDescriptor(probe->meta_buffer - 1), sizeof(BufferDesc));
		return;
	}
	if (BufferIsValid(probe->meta_buffer))
		prefetch(PageGetContents(BufferGetPage(probe->meta_buffer)), sizeof(BfMetaPage));
	condition = &search->conditions[0];
	if (!is_for_values(search) || condition->count == 0 || geometry->levels == 0)
		return;
	bf_index_find_group(geometry, geometry->levels - 1, 0, &group);
	line = sb_bf_line_of(group.lines[probe->column], condition->hashes[0]);
	block = bf_index_column_start(&group, probe->column) + line / group.positions;
	hint = &probe->hints[block % PAGE_HINTS];
	if (hint->block == block && BufferIsValid(hint->buffer))
	{
		const char *content = PageGetContents(BufferGetPage(hint->buffer));

		prefetch(GetBufferDescriptor(hint->buffer - 1), sizeof(BufferDesc));
		prefetch(content, sizeof(BfFilterPage));
		prefetch(content + BF_LINES_OFFSET(group.ranges) + (Size) (line % group.positions) * group.ranges * SB_BF_LINE,
				 Min(group.ranges, LINES_FETCHED) * SB_BF_LINE);
	}
}

/* Is the geometry the current one, and are there no rows behind the ranges that have begun? */
static bool
is_current(BfProbe *probe)
{
	const BfMetaPage *meta;
	bool		current;

	if (!sb_read_recent_buffer(probe->locator, 0, probe->meta_buffer))
		probe->meta_buffer = ReadBufferWithoutRelcache(probe->locator, MAIN_FORKNUM, 0, RBM_NORMAL, NULL, probe->is_permanent);
	LockBuffer(probe->meta_buffer, BUFFER_LOCK_SHARE);
	meta = (const BfMetaPage *) PageGetContents(BufferGetPage(probe->meta_buffer));
	current = meta->publications == probe->geometry->publications && meta->beyond == BF_BEYOND_EMPTY;
	UnlockReleaseBuffer(probe->meta_buffer);
	return current;
}

bool
bf_index_ask_probe(BfProbe *probe, BfSearch *search, BfPages *few)
{
	const Condition *condition = &search->conditions[0];
	Descent		descent = {.search = search, .probe = probe, .geometry = probe->geometry, .few = few};

	if (!is_for_values(search) || condition->column != probe->column || condition->type != probe->type ||
		condition->collation != probe->collation || sb_snapshots_grow_old() ||
		!is_current(probe))
		return false;
	few->count = 0;
	few->ranges = (BfVerdict) {0};
	few->attribute = probe->attribute;
	few->type = probe->value_type;
	few->collation = probe->collation;
	(void) find_pages(&descent, begun_pages(probe->geometry));
	return !descent.failed;
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
	Descent		descent = {.index = scan->indexRelation, .tbm = tbm};
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
		state->search->conditions[i].is_hashed = false; /* the keys have other arguments now */
	descent.search = state->search;
	caller = MemoryContextSwitchTo(state->context);
	hash_all_items(state->search, scan->indexRelation);
	descent.geometry = geometry_for(scan->indexRelation, state->search, state->heap_blocks);
	pages = find_pages(&descent, state->heap_blocks);
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
