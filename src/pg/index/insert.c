/*
 * insert.c: adds one row to the index. On each level it sets the bits of each item on one page, unless the row's
 * range is unsummarized or full there. A column has one item, or as many as there are keys in its value. Items that
 * belong on the same page are added together, and up to four pages with one WAL record.
 *
 * The row is in the heap already. The writer looks at the range's state under the lock of the page that would take
 * the bits. If the range is unsummarized or full there, nobody relies on its bits, and every later summarizer finds
 * the row in the heap. Otherwise the bits are set now. So the state must be looked at for each row. The lines and
 * states that a statement remembers (seen_lines.h) are used only if nothing was published since they were seen; that
 * is looked at for each row, too. (To publish is to say on the meta page that a group was added or replaced, or that
 * ranges have begun. The meta page counts how often that was done.)
 *
 * A range that has not begun was never summarized, and no summarizer is at work on it (else it would be a placeholder).
 * So its page need not be looked at. This makes rows in new pages cheap. The geometry says whether a range has begun,
 * if nothing was published since the geometry was read. Whether anything was published must be looked at for each row,
 * after the row is in the heap.
 *
 * Each level is judged alone. What one level says proves nothing about another one. If an item's bits are set on
 * level 0, they may be missing on level 1. A range that is unsummarized on level 0 may lie in one that is summarized
 * on level 1.
 */
#include "base/compat.h"

#include "access/generic_xlog.h"
#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "index/directory.h"
#include "index/geometry.h"
#include "index/handler.h"
#include "index/items.h"
#include "index/kept_pin.h"
#include "index/layout.h"
#include "index/seen_lines.h"
#include "index/sizes.h"
#include "index/wal.h"

/* What a statement keeps from one row to the next. */
typedef struct Statement
{
	bool		is_second;		/* the next row is the second one */
	BfKeptPin	meta_page;		/* kept from the second row on */
	sb_locator	file;			/* the file of the page that is pinned */
	/* what it needs to add the items of rows, made for the first row that has to be added */
	MemoryContext row_context;	/* reset after each row; NULL: no row had to be added yet */
	BfItemizer	itemizer;
	BfRowItems	items;
	BfSeenLines (*seen)[BF_INDEX_MAX_LEVELS]; /* the lines seen, by column and level */
	BfSeenMemory *seen_memory;
} Statement;

/* Keeps the meta page pinned, if possible. */
static void
keep_meta_page(Relation index, Statement *statement, MemoryContext context)
{
	const Buffer buffer = bf_index_pin_meta_page(index);

	statement->file = sb_locator_of(index);
	bf_index_keep_pin(&statement->meta_page, buffer, context);
	ReleaseBuffer(buffer);
}

/*
 * Returns what this statement keeps. Many statements insert one row; for these only the struct is made here. The meta
 * page is pinned from the second row on.
 */
static Statement *
this_statement(Relation index, IndexInfo *indexInfo)
{
	Statement  *statement = indexInfo->ii_AmCache;

	if (statement == NULL)
	{
		statement = MemoryContextAllocZero(indexInfo->ii_Context, sizeof(Statement));
		statement->is_second = true;
		indexInfo->ii_AmCache = statement;
	}
	else if (statement->is_second)
	{
		statement->is_second = false;
		keep_meta_page(index, statement, indexInfo->ii_Context);
	}
	return statement;
}

/*
 * Returns the geometry, and reads it anew if anything was published since it was read. The pinned meta page tells
 * whether that is so, unless the index has got another file since the page was pinned: a trigger can do that by ALTER
 * INDEX ALL IN TABLESPACE.
 */
static const BfGeometry *
current_geometry(Relation index, const Statement *statement)
{
	if (BufferIsValid(statement->meta_page.buffer) && sb_same_locator(statement->file, sb_locator_of(index)))
		return bf_index_current_geometry_by(index, statement->meta_page.buffer);
	return bf_index_current_geometry(index);
}

/* Makes what the statement needs to add the items of rows. */
static void
prepare_to_add(Relation index, Statement *statement, MemoryContext context)
{
	bf_index_prepare_itemizer(index, &statement->itemizer, context);
	bf_index_begin_items(&statement->items, statement->itemizer.columns, context);
	statement->seen = MemoryContextAllocZero(context, statement->itemizer.columns * sizeof(*statement->seen));
	statement->seen_memory = bf_index_begin_seen(context);
	statement->row_context = AllocSetContextCreate(context, "bf index row", ALLOCSET_SMALL_SIZES);
}

/* Pages of a column that lack items of a row, in the order of their blocks. They are pinned. */
typedef struct Pages
{
	const BfGroup *group;
	int			column;
	uint32		range;			/* counted within its group */
	int			hash_count;
	BfSeenLines *seen;		/* NULL: no lines are remembered */
	int			count;
	BfPageBits	pages[MAX_GENERIC_XLOG_PAGES];
} Pages;

/* The number of a page, counted within the column's run of the group. */
static inline BlockNumber
number_of(const Pages *all, const BfPageBits *one)
{
	return one->lines[0].line / all->group->positions;
}

/* Does the line lack one of these bits? */
static inline bool
lacks(const unsigned char *line, const unsigned char *bits)
{
	unsigned char missing = 0;

	for (int i = 0; i < SB_BF_LINE; i++)
		missing |= bits[i] & ~line[i];
	return missing != 0;
}

/*
 * Do bits of `one` have to be set on a page with this content? They do if the range is summarized, or a placeholder (a
 * summarizer is at work on it), and lacks one of these bits. A range that is unsummarized or full needs no bits: nobody
 * relies on them.
 */
static bool
is_wanted(const Pages *all, BfFilterPage *content, const BfPageBits *one)
{
	const uint32 range = all->range;

	if (content->states[range] == BF_UNSUMMARIZED || content->states[range] == BF_FULL)
		return false;
	for (uint32 i = 0; i < one->count; i++)
		if (lacks(bf_index_line(content, one->lines[i].line % all->group->positions, range), one->lines[i].bits))
			return true;
	return false;
}

/*
 * Is something still to be done on the page, now that it is locked exclusively? collect_page() has found that it is
 * the group's page. If it is another page now, the group was replaced since then, and nothing is to be done. (While
 * this page is locked exclusively, the meta page may not be locked: bf_index_filter_page_in_use() cannot be called
 * here.)
 */
static bool
is_still_wanted(const Pages *all, const BfPageBits *one)
{
	Page		page = BufferGetPage(one->buffer);

	return bf_index_is_filter_page(page, all->group, all->column, number_of(all, one)) &&
		is_wanted(all, (BfFilterPage *) PageGetContents(page), one);
}

/*
 * Locks page `first` exclusively, and then the pages after it until it comes to one that another session has locked.
 * Returns the place of that page in all->pages, or all->count.
 *
 * It waits for page `first` only, while no other page is locked. The other pages may belong to the directory (the
 * index's list of groups) by now, and a session that changes the directory locks its pages in another order. If this
 * session waited for them, there could be a deadlock.
 */
static int
lock_pages(const Pages *all, int first)
{
	int			end = first + 1;

	LockBuffer(all->pages[first].buffer, BUFFER_LOCK_EXCLUSIVE);
	while (end < all->count && ConditionalLockBuffer(all->pages[end].buffer))
		end++;
	return end;
}

/* Sets the bits on the pages from `first` to `end` (exclusive), which are locked. Then unlocks and unpins them. */
static void
set_on_locked_pages(Relation index, const Pages *all, int first, int end)
{
	BfPageBits	wanted[MAX_GENERIC_XLOG_PAGES];
	int			count = 0;

	for (int i = first; i < end; i++)
		if (is_still_wanted(all, &all->pages[i]))
			wanted[count++] = all->pages[i];
	if (count > 0)
		bf_index_set_bits(index, wanted, count, all->range);
	for (int i = 0; i < count && all->seen != NULL; i++)
		bf_index_see_bits(all->seen, number_of(all, &wanted[i]),
						  (BfFilterPage *) PageGetContents(BufferGetPage(wanted[i].buffer)), all->range,
						  wanted[i].lines, wanted[i].count);
	for (int i = first; i < end; i++)
	{
		UnlockReleaseBuffer(all->pages[i].buffer);
		pfree(all->pages[i].lines);
	}
}

/* Sets the bits on the pages that have been collected, and begins to collect anew. */
static void
set_on_pages(Relation index, Pages *all)
{
	for (int first = 0, end; first < all->count; first = end)
	{
		end = lock_pages(all, first);
		set_on_locked_pages(index, all, first, end);
	}
	all->count = 0;
}

/*
 * Sets *one to the bits of these items, which all belong on one page. There may be millions of items, but their bits
 * lie in the few lines of that page. So the bits are collected before the page is locked, and little is left to do
 * under the lock. REQUIRES: the items are sorted by line.
 */
static void
find_bits(const Pages *all, const BfAddition *additions, uint32 count, BfPageBits *one)
{
	*one = (BfPageBits) {.lines = palloc(Min(count, all->group->positions) * sizeof(BfLineBits))};
	for (uint32 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i == 0 || additions[i].line != additions[i - 1].line)
			one->lines[one->count++] = (BfLineBits) {.line = additions[i].line};
		sb_bf_line_add(one->lines[one->count - 1].bits, all->hash_count, additions[i].hash);
	}
}

/* Collects the page on which these items belong, if they have to be added there. */
static void
collect_page(Relation index, Pages *all, const BfAddition *additions, uint32 count)
{
	BlockNumber page = additions[0].line / all->group->positions;
	BfPageBits *one = &all->pages[all->count];
	BfFilterPage *content;
	bool		wanted;

	if (all->seen != NULL && bf_index_was_seen(all->seen, page, all->range, additions, count, all->hash_count))
		return;
	find_bits(all, additions, count, one);
	one->buffer = bf_index_read_page(index, bf_index_column_start(all->group, all->column) + page);

	/*
	 * If the range is summarized, most items are there already. The share lock is enough to see that, and to know
	 * that the WAL record which added them is written. The group may have been replaced since the geometry was found
	 * to be current. Then nothing is to be done: the row was in the heap before that moment, so the summarizer of the
	 * new group finds it there.
	 */
	LockBuffer(one->buffer, BUFFER_LOCK_SHARE);
	content = bf_index_filter_page_in_use(index, one->buffer, all->group, all->column, page);
	wanted = content != NULL && is_wanted(all, content, one);
	if (all->seen != NULL && content != NULL)
		bf_index_see_page(all->seen, page, content);
	LockBuffer(one->buffer, BUFFER_LOCK_UNLOCK);
	if (!wanted)
	{
		ReleaseBuffer(one->buffer);
		pfree(one->lines);
	}
	else if (++all->count == MAX_GENERIC_XLOG_PAGES)
		set_on_pages(index, all);
}

static int
compare_lines(const void *a, const void *b, void *argument)
{
	uint32		x = ((const BfAddition *) a)->line,
				y = ((const BfAddition *) b)->line;

	return x < y ? -1 : x > y;
}

/* Adds the items of a column to the filter of `range` (counted within its group): page by page. */
static void
add_to_column(Relation index, const BfGeometry *geometry, const BfGroup *group, int column, uint32 range,
			  Statement *statement)
{
	Pages		pages = {.group = group, .column = column, .range = range};
	uint32		first = bf_index_first_of(&statement->items, column);
	uint32		count = statement->items.end[column] - first;
	BfAddition *additions;

	pages.hash_count = bf_index_parameters(geometry, group->level, column)->hashes;
	if (geometry->column[column].keys == BF_KEYS_INSIDE)
		pages.seen = bf_index_seen_lines(&statement->seen[column][group->level], geometry, group, column, range,
										   statement->seen_memory);
	additions = palloc_extended(Max(count, 1) * sizeof(BfAddition), MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < count; i++)
	{
		additions[i].hash = statement->items.hashes[first + i];
		additions[i].line = sb_bf_line_of(group->lines[column], additions[i].hash);
	}
	qsort_interruptible(additions, count, sizeof(BfAddition), compare_lines, NULL);
	for (uint32 i = 0, end; i < count; i = end)
	{
		for (end = i + 1;
			 end < count && additions[end].line / group->positions == additions[i].line / group->positions;)
			end++;
		CHECK_FOR_INTERRUPTS();
		collect_page(index, &pages, &additions[i], end - i);
	}
	if (pages.count > 0)
		set_on_pages(index, &pages);
	pfree(additions);
}

/* Has the range of this block begun on any level? */
static bool
has_begun(const BfGeometry *geometry, BlockNumber block)
{
	for (int level = 0; level < geometry->levels; level++)
		if (block / geometry->level[level].pages_per_range < geometry->level[level].begun)
			return true;
	return false;
}

/* Adds the items of a row to all levels on which its range has begun. */
static void
add_items(Relation index, const BfGeometry *geometry, BlockNumber block, Statement *statement)
{
	for (int level = 0; level < geometry->levels; level++)
	{
		uint32		range = block / geometry->level[level].pages_per_range;
		BfGroup		group;

		if (range >= geometry->level[level].begun)
			continue;
		bf_index_find_group(geometry, level, range, &group);
		for (int column = 0; column < geometry->columns; column++)
			add_to_column(index, geometry, &group, column, range - group.first_range, statement);
	}
}

/*
 * Does this block lie behind the ranges that have begun, and does the geometry say something other than "unknown" of
 * the pages there? Then the writer has to change that to "unknown". The geometry is right if nothing was published
 * since it was read.
 */
static bool
is_beyond(const BfGeometry *geometry, BlockNumber block)
{
	BlockNumber pages_per_range = geometry->level[0].pages_per_range;

	return geometry->beyond != BF_BEYOND_UNKNOWN &&
		(pages_per_range == 0 || block / pages_per_range >= geometry->level[0].begun);
}

bool
bf_index_insert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap, IndexUniqueCheck check,
				bool unchanged, IndexInfo *indexInfo)
{
	BlockNumber block = ItemPointerGetBlockNumber(tid);
	Statement  *statement = this_statement(index, indexInfo);
	const BfGeometry *geometry = current_geometry(index, statement);

	if (is_beyond(geometry, block))
	{
		(void) bf_index_set_beyond(index, BF_BEYOND_UNKNOWN, BF_BEYOND_UNKNOWN);
		geometry = current_geometry(index, statement);
	}
	if (has_begun(geometry, block))
	{
		MemoryContext caller;

		if (statement->row_context == NULL)
			prepare_to_add(index, statement, indexInfo->ii_Context);
		caller = MemoryContextSwitchTo(statement->row_context);
		/* Finding and hashing items may run any code, so the relation cache may free the geometry meanwhile. */
		bf_index_itemize(&statement->itemizer, values, isnull, &statement->items);
		add_items(index, current_geometry(index, statement), block, statement);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(statement->row_context);
		bf_index_give_back_room(&statement->items);
	}
	return false;
}

#if PG_VERSION_NUM >= 170000
void
bf_index_end_insert(Relation index, IndexInfo *indexInfo)
{
	Statement  *statement = indexInfo->ii_AmCache;

	(void) index;
	if (statement != NULL)
		bf_index_give_back_pin(&statement->meta_page);
}
#endif
