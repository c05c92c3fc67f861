/*
 * descend.c: which pages of the heap may hold rows that a snapshot sees and that satisfy the conditions of a search?
 * (README.md explains the words level, group and range.)
 *
 * The search begins on the highest level. For each group and each item that is searched for, at most one page of the
 * index is read. Under the lock of this page a range is ruled out for the item if three things hold: it is summarized
 * there, its bits say that it lacks the item, and the snapshot sees no row that the summary has left out (horizon.c).
 * If there are several items, check_condition() says which ranges are left. These are searched on the level below, and
 * so on down to level 0. Where a level has no groups, the level below decides; behind the last group of level 0
 * everything is read.
 */
#include "index/search.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "index/geometry.h"
#include "index/horizon.h"
#include "index/key_search.h"
#include "index/layout.h"
#include "index/scan.h"

/* -------------------------------------------------------- the ranges of a group */

static inline bool
is_empty(const Mask *mask)
{
	uint64		any = 0;

	for (int i = 0; i < MASK_WORDS; i++)
		any |= mask->words[i];
	return any == 0;
}

/* Sets the mask to the first `ranges` ranges. */
static void
set_first(Mask *mask, uint32 ranges)
{
	memset(mask, 0, sizeof *mask);
	for (uint32 i = 0; i < ranges; i++)
		mask->words[i / 64] |= UINT64_C(1) << i % 64;
}

/*
 * Adds the ranges of this page on whose bits this snapshot may not rely to *unread: the search keeps them, whatever
 * their bits say. Those that BfSpans counts as unsummarized are added to *untrusted too:
 *
 * - If the snapshot is before the page's horizon, all ranges go to both masks.
 * - Otherwise a range that is unsummarized or a placeholder goes to both, and a full range to *unread only.
 */
static void
add_untrusted(BfViewer *viewer, const BfFilterPage *content, Mask *untrusted, Mask *unread)
{
	if (bf_index_is_before_horizon(viewer, content))
	{
		set_first(untrusted, content->ranges);
		set_first(unread, content->ranges);
		return;
	}
	for (uint32 i = 0; i < content->ranges; i++)
	{
		untrusted->words[i / 64] |=
			(uint64) (content->states[i] != BF_SUMMARIZED && content->states[i] != BF_FULL) << i % 64;
		unread->words[i / 64] |= (uint64) (content->states[i] != BF_SUMMARIZED) << i % 64;
	}
}

/* --------------------------------------------------------- a search going down */

/*
 * Is the condition asked on this level? With more than MOST_CARRIED values nearly every range has one of them, or its
 * filter says so; keys leave more out the more they are.
 */
static inline bool
is_asked(const Condition *condition, int level)
{
	return !condition->unknown &&
		(condition->count <= MOST_CARRIED || (level == 0 && condition->by_keys != NULL));
}

/* Notes that an item may be in the ranges of the group that are both in the mask and in the candidates. */
static void
note_item(Descent *descent, int level, int condition, const Mask *candidates, const Mask *mask, uint32 item)
{
	const BfSearch *search = descent->search;
	ItemSet    *found = search->found[level] + (Size) condition * search->words + item / 64;
	const Size	of_range = (Size) search->count * search->words;

	for (int word = 0; word < MASK_WORDS; word++)
		for (uint64 bits = candidates->words[word] & mask->words[word]; bits != 0; bits &= bits - 1)
			found[(word * 64 + pg_rightmost_one_pos64(bits)) * of_range] |= UINT64_C(1) << item % 64;
}

/*
 * Pins page `number` of the pages that a group has for a column, and locks it for reading. Returns InvalidBuffer in
 * two cases:
 *
 * - The group was replaced, and its former page has other content now.
 * - This is a probe (probe.c) or an estimate (walk.c), and the page is not what it should be, for whatever reason.
 *   Then descent->failed is set.
 */
static Buffer
open_page(Descent *descent, const BfGroup *group, int column, BlockNumber number)
{
	BlockNumber block = bf_index_column_start(group, column) + number;
	PageHint   *hint = descent->probe != NULL ? &descent->probe->hints[block % PAGE_HINTS] : NULL;
	Buffer		buffer;
	bool		is_in_use;

	if (descent->index == NULL)
	{
		buffer = hint->buffer;
		if (hint->block != block || !sb_read_recent_buffer(descent->probe->locator, block, buffer))
			buffer = ReadBufferWithoutRelcache(descent->probe->locator, MAIN_FORKNUM, block, RBM_NORMAL, NULL,
											   descent->probe->is_permanent);
	}
	else if (descent->most_opened > 0 && block >= descent->index_blocks)
	{
		descent->failed = true;
		return InvalidBuffer;
	}
	else
		buffer = bf_index_read_page(descent->index, block);
	descent->opened++;
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (descent->index == NULL || descent->most_opened > 0)
	{
		/* if this is an error, it is raised when the index is opened, or by the query that uses it */
		is_in_use = bf_index_is_filter_page(BufferGetPage(buffer), group, column, number);
		descent->failed = !is_in_use;
	}
	else
	{
		sb_test_for_old_snapshot(descent->search->viewer.snapshot, descent->index, BufferGetPage(buffer));
		is_in_use = bf_index_filter_page_in_use(descent->index, buffer, group, column, number) != NULL;
	}
	if (!is_in_use)
	{
		UnlockReleaseBuffer(buffer);
		return InvalidBuffer;
	}
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

/* Must every value that satisfies the condition have this item? */
static inline bool
is_required(const Condition *condition, uint32 item)
{
	return item < 64 && (condition->by_keys->required >> item & 1) != 0;
}

/* Removes from *candidates the ranges whose keys (condition->with) cannot satisfy the condition. */
static void
check_keys(const Condition *condition, Mask *candidates)
{
	for (int word = 0; word < MASK_WORDS; word++)
		for (uint64 bits = candidates->words[word]; bits != 0; bits &= bits - 1)
		{
			const int	range = word * 64 + pg_rightmost_one_pos64(bits);

			for (uint32 i = 0; i < condition->count; i++)
				condition->present[i] = bf_index_has_range(&condition->with[i], range);
			if (!bf_index_key_search_can_match(condition->by_keys, condition->present))
				candidates->words[word] &= ~(UINT64_C(1) << range % 64);
		}
}

/* Are all ranges of the first mask in the second one? */
static inline bool
is_covered(const Mask *mask, const Mask *by)
{
	uint64		rest = 0;

	for (int word = 0; word < MASK_WORDS; word++)
		rest |= mask->words[word] & ~by->words[word];
	return rest == 0;
}

/*
 * Notes that each item of a condition from number `first` on may be in all ranges: these items were not looked up on
 * the group's pages. Sets *any to all ranges.
 */
static void
allow_items(Descent *descent, int level, int number, uint32 first, const Mask *candidates, Mask *any)
{
	const Condition *condition = &descent->search->conditions[number];

	set_first(any, BF_INDEX_MAX_RANGES);
	for (uint32 i = first; i < condition->count; i++)
	{
		if (condition->by_keys != NULL)
			condition->with[i] = *any;
		if (level > 0)
			note_item(descent, level, number, candidates, any, i);
	}
}

/*
 * Removes from *candidates the ranges of a group that cannot hold a row which satisfies one condition.
 *
 * The condition may have several items: those of an = ANY, or the keys of a query. For each item one page is needed,
 * which has the item's line for all ranges of the group. Items are sorted by line, so that each page is read once.
 * (If there are many keys, the required ones are sorted before the others, so a page may be read twice.) A range
 * stays if it may have one of the items (`any`). But if the items are keys, a range goes at once if it lacks a
 * required key, and in the end the operator class (key_search.c) decides from the keys that the range may have
 * (condition->with).
 *
 * items[] has a bit for each item, which is set unless a level above has ruled the item out for this part of the
 * heap. On levels above 0 the items that each range may have are noted for the level below. Ranges on whose bits the
 * snapshot may not rely stay. add_untrusted() tells which of these are added to descent->untrusted.
 */
static void
check_condition(Descent *descent, const BfGroup *group, int number, const ItemSet *items, Mask *candidates)
{
	const Condition *condition = &descent->search->conditions[number];
	const BfParameters *parameters = bf_index_parameters(descent->geometry, group->level, condition->column);
	BlockNumber page = InvalidBlockNumber;
	Buffer		buffer = InvalidBuffer;
	Mask		untrusted;
	Mask		unread;			/* ranges that are untrusted or full on the page that is open */
	Mask		any;

	memset(&any, 0, sizeof any);
	memset(&unread, 0, sizeof unread);
	memset(&untrusted, 0, sizeof untrusted);
	if (condition->by_keys != NULL)
		memset(condition->with, 0, condition->count * sizeof(Mask));
	for (uint32 i = 0; i < condition->count; i++)
	{
		uint64		hash = condition->hashes[i];
		uint32		line = sb_bf_line_of(group->lines[condition->column], hash);
		BfFilterPage *content;
		Mask		mask;

		if (condition->count <= MOST_CARRIED && (items[i / 64] >> i % 64 & 1) == 0)
			continue;
		if (page != line / group->positions)
		{
			if (BufferIsValid(buffer))
				UnlockReleaseBuffer(buffer);
			buffer = InvalidBuffer;
			CHECK_FOR_INTERRUPTS();
			descent->failed = descent->most_opened > 0 && descent->opened >= descent->most_opened;
			if (descent->failed)
				return;
			page = line / group->positions;
			buffer = open_page(descent, group, condition->column, page);
			if (descent->failed)
				return;
			if (!BufferIsValid(buffer))
			{
				set_first(&untrusted, BF_INDEX_MAX_RANGES);
				allow_items(descent, group->level, number, i, candidates, &any);
				break;
			}
			memset(&unread, 0, sizeof unread);
			add_untrusted(&descent->search->viewer, (BfFilterPage *) PageGetContents(BufferGetPage(buffer)), &untrusted,
						  &unread);
		}
		content = (BfFilterPage *) PageGetContents(BufferGetPage(buffer));
		mask = unread;
		sb_bf_lines_containing(bf_index_position(content, line % group->positions), group->ranges, parameters->hashes,
							   hash, mask.words);
		if (group->level > 0)
			note_item(descent, group->level, number, candidates, &mask, i);
		for (int word = 0; word < MASK_WORDS; word++)
			any.words[word] |= mask.words[word];
		/*
		 * Once all candidates may hold one of the items, the other items rule none out. (Above level 0 they are asked
		 * too: the level below has to know which items a range may hold.)
		 */
		if (condition->by_keys == NULL && group->level == 0 && is_covered(candidates, &any))
			break;
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

/* Does the search end here? It does if it has failed, or if there are more pages than the caller wants. */
static inline bool
is_done(const Descent *descent)
{
	return descent->failed || descent->pages > descent->most;
}

void
bf_index_add_span(BfSpans *spans, BlockNumber first, BlockNumber end)
{
	spans->pages += end - first;
	if (spans->count > 0 && spans->spans[spans->count - 1].end == first)
	{
		spans->spans[spans->count - 1].end = end;
		return;
	}
	if (spans->count == spans->room)
	{
		spans->room = Max(2 * spans->room, 16);
		if (spans->spans == NULL)
			spans->spans = palloc(spans->room * sizeof(BfSpan));
		else
			spans->spans = repalloc_huge(spans->spans, spans->room * sizeof(BfSpan));
	}
	spans->spans[spans->count++] = (BfSpan) {.first = first, .end = end};
}

/*
 * Adds the pages from `first` to `end` (exclusive), which belong to `ranges` ranges, to whatever the descent
 * collects.
 */
static void
add_pages(Descent *descent, uint64 first, uint64 end, int64 ranges, bool summarized)
{
	descent->pages += end - first;
	if (descent->spans != NULL && first < end)
	{
		bf_index_add_span(descent->spans, (BlockNumber) first, (BlockNumber) end);
		*(summarized ? &descent->spans->maybe : &descent->spans->unsummarized) += ranges;
	}
	for (uint64 block = first; descent->tbm != NULL && block < end; block++)
	{
		/* there may be many pages: all those of a table that was never summarized */
		CHECK_FOR_INTERRUPTS();
		tbm_add_page(descent->tbm, (BlockNumber) block);
	}
}

static void search_pages(Descent *descent, int level, uint64 first, uint64 end, const ItemSet *items);

void
bf_index_check_group(Descent *descent, const BfGroup *group, uint64 first, uint64 end, const ItemSet *items,
					 Mask *candidates)
{
	BfSearch   *search = descent->search;
	BlockNumber pages_per_range = descent->geometry->level[group->level].pages_per_range;
	uint32		from = first / pages_per_range - group->first_range;
	uint32		to = (end + pages_per_range - 1) / pages_per_range - group->first_range;
	const Size	of_range = (Size) search->count * search->words;

	memset(candidates, 0, sizeof *candidates);
	memset(&descent->untrusted, 0, sizeof descent->untrusted);
	for (uint32 range = from; range < to; range++)
		candidates->words[range / 64] |= UINT64_C(1) << range % 64;
	if (group->level > 0)
		memset(&search->found[group->level][from * of_range], 0, (to - from) * of_range * sizeof(ItemSet));
	for (int i = 0; i < search->count && !is_empty(candidates) && !descent->failed; i++)
	{
		int			number = search->order[i];

		if (is_asked(&search->conditions[number], group->level))
			check_condition(descent, group, number, &items[(Size) number * search->words], candidates);
	}
}

/* Searches the pages from `first` to `end` (exclusive), which are ranges of one group. */
static void
search_group(Descent *descent, const BfGroup *group, uint64 first, uint64 end, const ItemSet *items)
{
	BfSearch   *search = descent->search;
	const Size	of_range = (Size) search->count * search->words;
	BlockNumber pages_per_range = descent->geometry->level[group->level].pages_per_range;
	uint32		from = first / pages_per_range - group->first_range;
	uint32		to = (end + pages_per_range - 1) / pages_per_range - group->first_range;
	const uint64 found_before = descent->pages;
	const bool	judges = group->level == 0 && descent->patience != NULL;
	Mask		candidates;

	if (judges && bf_index_passes_over(descent->patience))
	{
		add_pages(descent, first, end, to - from, true);
		return;
	}
	bf_index_check_group(descent, group, first, end, items, &candidates);
	for (uint32 range = from; range < to && !is_done(descent); range++)
	{
		uint64		range_first = ((uint64) group->first_range + range) * pages_per_range;
		uint64		range_end = Min(range_first + pages_per_range, end);

		if (!bf_index_has_range(&candidates, range))
			continue;
		if (group->level == 0)
			add_pages(descent, range_first, range_end, 1, !bf_index_has_range(&descent->untrusted, range));
		else
			search_pages(descent, group->level - 1, range_first, range_end,
						 &search->found[group->level][range * of_range]);
	}
	if (judges)
		bf_index_note_use(descent->patience, descent->pages - found_before, end - first);
}

/*
 * Searches the pages from `first` to `end` (exclusive) on a level and on the levels below it. `first` is the first
 * page of a range; items[] has for each condition the items that may be there.
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

void
bf_index_prepare_levels(BfSearch *search, int levels)
{
	uint32		words = 1;
	Size		of_range;

	for (int i = 0; i < search->count; i++)
		if (search->conditions[i].count <= MOST_CARRIED)
			words = Max(words, (search->conditions[i].count + 63) / 64);
	if (words > search->words)
	{
		/*
		 * The room grows if it is too small. It never shrinks, so a later search with fewer items uses the same room.
		 */
		for (int level = 1; level < BF_INDEX_MAX_LEVELS; level++)
			if (search->found[level] != NULL)
			{
				pfree(search->found[level]);
				search->found[level] = NULL;
			}
		if (search->everything != NULL)
			pfree(search->everything);
		of_range = (Size) Max(search->count, 1) * words * sizeof(ItemSet);
		search->everything = MemoryContextAllocExtended(search->context, of_range, MCXT_ALLOC_HUGE);
		memset(search->everything, 0xff, of_range);
		search->words = words;
	}
	of_range = (Size) Max(search->count, 1) * search->words * sizeof(ItemSet);
	for (int level = 1; level < levels; level++)
		if (search->found[level] == NULL)
			search->found[level] = MemoryContextAllocExtended(search->context, BF_INDEX_MAX_RANGES * of_range,
															  MCXT_ALLOC_HUGE);
}

void
bf_index_find_pages(Descent *descent, BlockNumber heap_blocks)
{
	BfSearch   *search = descent->search;

	if (heap_blocks == 0 || bf_index_finds_nothing(search))
		return;
	if (!search->trusted || descent->geometry->levels == 0)
		add_pages(descent, 0, heap_blocks, bf_index_expected_ranges(descent->geometry, heap_blocks), false);
	else
	{
		bf_index_prepare_levels(search, descent->geometry->levels);
		search_pages(descent, descent->geometry->levels - 1, 0, heap_blocks, search->everything);
	}
}
