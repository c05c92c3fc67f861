/*
 * walk.c: asks an index with a budget of pages, from which the whole is judged.
 *
 * A search is carried out as the executor will do it: from the highest level down, and on each level only for the items
 * that the level above has left. But on each level only some groups (of ranges, whose filters are stored together) are
 * looked at, spread evenly over the pages that the level above has left. The share that these groups leave is taken to
 * be left everywhere.
 */
#include "index/walk.h"

#include "miscadmin.h"
#include "utils/snapmgr.h"

#include "index/geometry.h"
#include "index/layout.h"
#include "index/scan.h"
#include "index/search.h"

/* When so many pages were read, no other group is looked at. Also the most groups of a level that are looked at. */
#define MOST_PAGES 16

/*
 * For each so many items one page more is read, up to MOST_PAGES_FOR_ITEMS in all: a group needs up to one page for
 * each item, and a query with a thousand values takes its time in any case. A single group with more than
 * MOST_PAGES_OF_A_GROUP pages is not read to the end.
 */
#define ITEMS_FOR_A_PAGE 8
#define MOST_PAGES_FOR_ITEMS 128
#define MOST_PAGES_OF_A_GROUP 1024

/* Pages of the heap that are left after a level was looked at. */
typedef struct Part
{
	uint64		first,
				end;
	/* how many times these pages count: a part also stands for pages that were not looked at */
	double		weight;
	ItemSet    *items;
} Part;

typedef struct Walk
{
	Descent		descent;
	Size		words;			/* size of a part's item sets, for all conditions together */
	int			count;			/* number of parts */
	int			room;
	Part	   *parts;
	double		index_pages;	/* pages that a search reads */
	uint32		budget;			/* when so many pages were opened, no other group of this level is looked at */
} Walk;

static void
add_part(Walk *next, uint64 first, uint64 end, double weight, const ItemSet *items)
{
	Size		size = next->words * sizeof(ItemSet);

	if (next->count == next->room)
	{
		next->room = Max(64, 2 * next->room);
		next->parts = next->parts == NULL ? palloc(next->room * sizeof(Part)) : repalloc(next->parts,
																						 next->room * sizeof(Part));
	}
	next->parts[next->count] = (Part) {.first = first, .end = end, .weight = weight, .items = palloc(size)};
	memcpy(next->parts[next->count++].items, items, size);
}

/*
 * Goes through the pages of all parts that are below `covered`, part after part. Each page counts as much as the weight
 * of its part. Returns the part in which the sum of these weights first exceeds `place`, and sets *page to the page
 * where this happens.
 */
static const Part *
find_part(const Walk *walk, double place, uint64 covered, uint64 *page)
{
	const Part *last = NULL;

	for (int i = 0; i < walk->count; i++)
	{
		const Part *part = &walk->parts[i];
		uint64		end = Min(part->end, covered);
		double		pages;

		if (end <= part->first)
			continue;
		pages = (end - part->first) * part->weight;
		last = part;
		if (place < pages)
		{
			*page = Min(part->first + (uint64) (place / part->weight), end - 1);
			return part;
		}
		place -= pages;
	}
	if (last != NULL)
		*page = Min(last->end, covered) - 1;
	return last;
}

/*
 * Looks at groups of a level, spread evenly over the walk's parts: the pages of the heap that the levels above have
 * left. Afterwards the parts are the pages that this level has left; on level 0 they are not kept. Returns how many
 * pages of the heap are left. `prior` is the share that the level is expected to leave; it is used for what was not
 * looked at.
 */
static double
walk_level(Walk *walk, int level, double prior)
{
	Descent    *descent = &walk->descent;
	const BfLevel *of = &descent->geometry->level[level];
	const uint64 covered = (uint64) of->covered * of->pages_per_range;
	Walk		next = {.words = walk->words};
	uint64		seen[MOST_PAGES];
	int			visits = 0;
	double		inside = 0,		/* pages of the parts that are covered by groups of this level */
				outside = 0,	/* the other pages of the parts */
				examined = 0,	/* how many of the pages inside were looked at */
				left = 0;		/* how many of the examined pages are left; after the loop: of all pages inside */
	const uint32 opened = descent->opened;

	for (int i = 0; i < walk->count; i++)
	{
		const Part *part = &walk->parts[i];

		inside += (Max(Min(part->end, covered), part->first) - part->first) * part->weight;
		outside += (part->end - Max(Min(part->end, covered), part->first)) * part->weight;
	}
	/* Steps of 7 spread the first few places, too. 7 and MOST_PAGES have no common divisor: each place comes once. */
	for (int i = 0; i < MOST_PAGES && inside > 0 && (visits == 0 || descent->opened < walk->budget) && !descent->failed;
		 i++)
	{
		uint64		page = 0;
		const Part *part = find_part(walk, inside * ((i * 7) % MOST_PAGES + 0.5) / MOST_PAGES, covered, &page);
		BfGroup		group;
		uint64		first,
					end;
		Mask		candidates;
		bool		again = false;

		bf_index_find_group(descent->geometry, level, page / of->pages_per_range, &group);
		first = Max(part->first, (uint64) group.first_range * of->pages_per_range);
		end = Min(Min(part->end, covered), ((uint64) group.first_range + group.ranges) * of->pages_per_range);
		for (int k = 0; k < visits; k++)
			again |= seen[k] == first;
		if (again)
			continue;
		seen[visits++] = first;
		bf_index_check_group(descent, &group, first, end, part->items, &candidates);
		examined += (end - first) * part->weight;
		for (uint64 range = first / of->pages_per_range; range * of->pages_per_range < end && !descent->failed; range++)
		{
			uint64		range_first = Max(range * of->pages_per_range, first);
			uint64		range_end = Min((range + 1) * of->pages_per_range, end);

			if (!bf_index_has_range(&candidates, range - group.first_range))
				continue;
			left += (range_end - range_first) * part->weight;
			if (level > 0)
				add_part(&next, range_first, range_end, part->weight,
						 &descent->search->level[level].found[(range - group.first_range) * walk->words]);
		}
	}
	if (inside > 0 && examined > 0)
	{
		const double unit = examined / visits;
		const bool	all = examined >= inside * 0.999;

		for (int i = 0; i < next.count; i++)
			next.parts[i].weight *= inside / examined;
		left = all ? left : inside * (left + prior * unit) / (examined + unit);
		walk->index_pages += (descent->opened - opened) * inside / examined;
	}
	else
		left = inside * prior;
	for (int i = 0; i < walk->count && level > 0; i++)
	{
		const Part *part = &walk->parts[i];

		if (part->end > covered)
			add_part(&next, Max(part->first, covered), part->end, part->weight, part->items);
	}
	walk->parts = next.parts;
	walk->count = next.count;
	walk->room = next.room;
	return left + outside;
}

/* Estimates which share of the heap's pages the search leaves. Returns false if a page is not what it should be. */
static bool
walk_down(Walk *walk, uint32 most_pages, BlockNumber heap_blocks, const double *priors, double *share)
{
	Descent    *descent = &walk->descent;
	const BfGeometry *geometry = descent->geometry;
	const int	top = geometry->levels - 1;
	double		left = heap_blocks;

	bf_index_prepare_levels(descent->search, geometry->levels);
	walk->words = (Size) descent->search->count * descent->search->words;
	add_part(walk, 0, heap_blocks, 1, descent->search->everything);
	for (int level = top; level >= 0 && left > 0; level--)
	{
		double		before = left;
		double		expected = level == top ? priors[level] : Min(1, priors[level] / Max(priors[level + 1], 1e-9));

		walk->budget = descent->opened + (Max(most_pages, descent->opened) - descent->opened) / (level + 1);
		left = walk_level(walk, level, expected);
		if (descent->failed)
			return false;
		/*
		 * If the groups that were looked at leave no pages, although some are expected to be left elsewhere, it is not
		 * known at which pages to look on the levels below. Then priors[] says what these levels are expected to leave.
		 */
		if (walk->count == 0 && level > 0)
		{
			left = Min(left, before) * Min(1, priors[0] / Max(priors[level], 1e-9));
			break;
		}
	}
	*share = Min(1, left / heap_blocks);
	return true;
}

bool
bf_index_walk(Relation index, BlockNumber heap_blocks, const ScanKeyData *keys, int count, const double *priors,
			  BfEstimate *estimate)
{
	Walk		walk = {.descent = {.index = index, .most_opened = MOST_PAGES_OF_A_GROUP}};
	BfSearch   *search = bf_index_begin_search(keys, count, GetActiveSnapshot());
	uint32		items = 0;
	bool		any = false;	/* is there a condition that can rule ranges out? */

	walk.descent.search = search;
	bf_index_hash_search(search, index);
	*estimate = (BfEstimate) {0};
	if (bf_index_finds_nothing(search))
		return true;
	for (int i = 0; i < search->count; i++)
	{
		any |= !search->conditions[i].unknown;
		items += search->conditions[i].unknown ? 0 : search->conditions[i].count;
	}
	estimate->share = 1;
	if (!any)
		return true;
	walk.descent.geometry = bf_index_copy_geometry(bf_index_current_geometry(index));
	walk.descent.index_blocks = RelationGetNumberOfBlocks(index);
	if (!search->trusted || walk.descent.geometry->levels == 0 ||
		!walk_down(&walk, Min(MOST_PAGES + items / ITEMS_FOR_A_PAGE, MOST_PAGES_FOR_ITEMS), heap_blocks, priors,
				   &estimate->share))
		return false;
	if (walk.descent.unasked)
		estimate->share = Min(estimate->share, priors[0]);
	estimate->pages = Min(walk.index_pages, walk.descent.index_blocks);
	estimate->lookups = walk.index_pages;
	return true;
}
