/*
 * walk.c: asks an index with a budget of pages, from which the whole is judged.
 *
 * A search is carried out as the executor will do it: from the highest level down, and on each level only for the items
 * that the level above has left. But of the groups (of ranges, whose filters are stored together) on a level only some
 * are looked at, spread evenly, and of the ranges that they leave some are searched on the level below. What is found
 * there is taken to be found in the others.
 */
#include "index/walk.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/snapmgr.h"

#include "index/layout.h"
#include "index/scan.h"
#include "index/search.h"

/* About so many pages are read. Also the most groups that are looked at on a level. */
#define MOST_PAGES 16

/*
 * For each so many items one page more is read, up to MOST_PAGES_FOR_ITEMS in all: a group needs up to one page for
 * each item, and a query with a thousand values takes its time in any case. After MOST_PAGES_OF_A_GROUP pages the
 * search is given up.
 */
#define ITEMS_FOR_A_PAGE 8
#define MOST_PAGES_FOR_ITEMS 128
#define MOST_PAGES_OF_A_GROUP 1024

/* Of the ranges that a group of the highest level leaves so many are searched, also if the budget is used up. */
#define LEAST_RANGES 4

typedef struct Walk
{
	Descent		descent;
	double		share;			/* of the pages that are not looked at, this share is expected to be left */
} Walk;

static BfPagesRead walk_pages(Walk *walk, int level, uint64 first, uint64 end, const ItemSet *items, double budget);

/* Adds `times` times what was read. */
static void
add_read(BfPagesRead *sum, BfPagesRead read, double times)
{
	sum->index += read.index * times;
	sum->heap += read.heap * times;
}

/* How many items there are in these sets; at least 1. */
static uint64
count_items(const BfSearch *search, const ItemSet *items)
{
	return Max(1, pg_popcount((const char *) items, search->count * search->words * sizeof(ItemSet)));
}

/*
 * Estimates what a search reads in the pages from `first` to `end` (exclusive), which are ranges of one group. `budget`
 * is for the levels below. Ranges that may have many of the items leave more than those with few. So they are searched
 * the more often, and what a range leaves is taken to be so much for each item.
 */
static BfPagesRead
walk_group(Walk *walk, const BfGroup *group, uint64 first, uint64 end, const ItemSet *items, double budget)
{
	Descent    *descent = &walk->descent;
	const BfSearch *search = descent->search;
	const Size	words = (Size) search->count * search->words;
	const ItemSet *found = search->found[group->level];
	const uint64 pages = descent->geometry->level[group->level].pages_per_range;
	const uint32 opened = descent->opened;
	BfPagesRead read = {0};
	BfPagesRead below = {0};
	Mask		candidates;
	uint32		left;
	uint32		visits;
	uint64		all = 0;		/* items of all ranges that are left */
	uint64		before = 0;		/* of those before this one */
	uint64		searched = 0;	/* of those that are searched */

	bf_index_check_group(descent, group, first, end, items, &candidates);
	read.index = descent->opened - opened;
	left = pg_popcount((const char *) &candidates, sizeof candidates);
	/* each range costs at least a page of each level below */
	visits = Max(group->level == descent->geometry->levels - 1 ? LEAST_RANGES : 1, budget / Max(group->level, 1));
	visits = Min(left, visits);
	for (uint32 range = 0; range < group->ranges && group->level > 0; range++)
		all += bf_index_has_range(&candidates, range) ? count_items(search, &found[range * words]) : 0;
	for (uint32 range = 0; range < group->ranges && !descent->failed; range++)
	{
		const uint64 range_first = Max(first, (group->first_range + (uint64) range) * pages);
		const uint64 range_end = Min(end, (group->first_range + (uint64) range + 1) * pages);
		uint64		here;

		if (!bf_index_has_range(&candidates, range))
			continue;
		if (group->level == 0)
		{
			read.heap += range_end - range_first;
			continue;
		}
		here = count_items(search, &found[range * words]);
		if (visits == left || before * visits / all != (before + here) * visits / all)
		{
			add_read(&below, walk_pages(walk, group->level - 1, range_first, range_end, &found[range * words],
										budget / visits), 1);
			searched += here;
		}
		before += here;
	}
	add_read(&read, below, searched > 0 ? (double) all / searched : 0);
	return read;
}

/*
 * Estimates what a search reads in the pages from `first` to `end` (exclusive) on a level and on the levels below it.
 * items[] has for each condition the items that may be there. Opens about `budget` pages, and looks at one group at
 * least.
 */
static BfPagesRead
walk_pages(Walk *walk, int level, uint64 first, uint64 end, const ItemSet *items, double budget)
{
	Descent    *descent = &walk->descent;
	const BfSearch *search = descent->search;
	const BfLevel *of = &descent->geometry->level[level];
	const uint64 covered = Max(first, Min((uint64) of->covered * of->pages_per_range, end));
	const uint32 opened = descent->opened;
	BfPagesRead read = {0};
	BfPagesRead sum = {0};
	double		examined = 0;	/* how many of the covered pages were looked at */
	double		times;
	uint32		asked = 0;		/* pages of a group that are read: up to one for each item */
	uint32		groups = 0;		/* up to MOST_PAGES + 1 are counted */
	uint32		visits;
	uint64		last_end = first;
	BfGroup		group;

	if (covered < end && level == 0)
		read.heap = end - covered;
	else if (covered < end)
		read = walk_pages(walk, level - 1, covered, end, items, budget / 2);
	if (first == covered)
		return read;
	budget = Max(0, budget - (descent->opened - opened));
	for (uint64 page = first; page < covered && groups <= MOST_PAGES; groups++)
	{
		bf_index_find_group(descent->geometry, level, page / of->pages_per_range, &group);
		page = ((uint64) group.first_range + group.ranges) * of->pages_per_range;
	}
	for (int i = 0; i < search->count; i++)
		asked += Min(search->conditions[i].count, bf_index_column_pages(&group, search->conditions[i].column));
	asked = Max(1, Min(asked, count_items(search, items)));
	/* two, if there are two: the last groups of a level are often unlike those before */
	visits = Min(groups, Max(2, Min(MOST_PAGES, budget / (level + 1) / asked)));
	budget = Max(0, budget / visits - asked);
	for (uint32 i = 0; i < visits && !descent->failed; i++)
	{
		const uint64 page = visits == groups ? last_end : first + (uint64) ((covered - first) * (i + 0.5) / visits);
		uint64		group_first,
					group_end;

		if (page < last_end)
			continue;			/* in the same group as the page before */
		bf_index_find_group(descent->geometry, level, page / of->pages_per_range, &group);
		group_first = Max(first, (uint64) group.first_range * of->pages_per_range);
		group_end = Min(covered, ((uint64) group.first_range + group.ranges) * of->pages_per_range);
		add_read(&sum, walk_group(walk, &group, group_first, group_end, items, budget), 1);
		examined += group_end - group_first;
		last_end = group_end;
	}
	times = (covered - first) / Max(examined, 1);
	/* what few groups leave is not quite what the others leave: one group more is as statistics say */
	if (times > 1.001)
		sum.heap = (sum.heap + walk->share * examined / visits) * visits / (visits + 1);
	add_read(&read, sum, times);
	return read;
}

void
bf_index_walk(void *argument)
{
	BfQuestion *question = argument;
	BfSearch   *search = bf_index_begin_search(question->keys, question->count, GetActiveSnapshot());
	const BfGeometry *geometry = question->geometry;
	Walk		walk = {
		.descent = {
			.index = question->index,
			.search = search,
			.geometry = geometry,
			.most_opened = MOST_PAGES_OF_A_GROUP
		},
		.share = question->estimate.share
	};
	uint32		items = 0;
	BfPagesRead read;

	bf_index_hash_search(search, question->index);
	question->estimate = (BfEstimate) {0};
	question->is_known = search->trusted && geometry->levels > 0;
	if (!question->is_known || bf_index_finds_nothing(search))
		return;
	for (int i = 0; i < search->count; i++)
		items += search->conditions[i].count;
	walk.descent.index_blocks = RelationGetNumberOfBlocks(question->index);
	bf_index_prepare_levels(search, geometry->levels);
	read = walk_pages(&walk, geometry->levels - 1, 0, question->heap_blocks, search->everything,
					  Min(MOST_PAGES + items / ITEMS_FOR_A_PAGE, MOST_PAGES_FOR_ITEMS));
	question->is_known = !walk.descent.failed;
	question->estimate.share = Min(1, read.heap / question->heap_blocks);
	question->estimate.pages = read.index;
}
