/*
 * walk.c: looks at some pages of an index, from which the whole is judged: what a search leaves, and how many items
 * ranges have in common.
 *
 * A search is carried out as the executor will do it: from the highest level down. But on each level only some groups
 * (of ranges, whose filters are stored together) are looked at, spread evenly over the pages that the level above has
 * left. The share that these groups leave is taken to be left everywhere.
 *
 * A condition is *long* if it has very many *alternatives*: the values of an = ANY, or the queries of a LIKE ANY
 * (sample.h).
 */
#include "index/walk.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/snapmgr.h"

#include "index/geometry.h"
#include "index/layout.h"
#include "index/sample.h"
#include "index/scan.h"
#include "index/search.h"

/* The most pages of an index that are read (walk.h has an exception), and the most groups of a level looked at. */
#define MOST_PAGES 16

/* For each so many alternatives of long conditions one page more is read, up to MOST_PAGES_FOR_LONG in all. */
#define ALTERNATIVES_FOR_A_PAGE 8
#define MOST_PAGES_FOR_LONG 128

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
	double		index_pages[BF_INDEX_MAX_LEVELS];	/* pages of each level that a search reads */
	uint32		most_pages;		/* the most pages that are read */
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
	for (int i = 0; i < MOST_PAGES && inside > 0 && descent->opened < descent->most_opened && !descent->failed; i++)
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
		walk->index_pages[level] += (descent->opened - opened) * inside / examined;
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
walk_down(Walk *walk, BlockNumber heap_blocks, const double *priors, double *share)
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

		descent->most_opened = Max(1, descent->opened + (walk->most_pages - descent->opened) / (level + 1));
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

/* What all walks for one estimate have in common. */
typedef struct Estimation
{
	Relation	index;
	const BfGeometry *geometry;
	BfSearch   *search;
	BlockNumber heap_blocks;
	const double *priors;
	uint32		most_pages;		/* for one walk */
} Estimation;

/* What a walk has found. */
typedef struct Found
{
	double		share;			/* of the heap's pages, which is left */
	double		pages[BF_INDEX_MAX_LEVELS]; /* of each level of the index, which a search reads */
} Found;

/*
 * Walks for the search as it is now. If one of its conditions is a sample, the sample stands for `more` times as many
 * alternatives. Then a smaller share than of->priors[] is expected to be left. Returns false if a page is not what it
 * should be.
 */
static bool
walk_now(const Estimation *of, double more, Found *found)
{
	Walk		walk = {.descent = {.index = of->index, .search = of->search, .geometry = of->geometry},
						.most_pages = of->most_pages};
	double		priors[BF_INDEX_MAX_LEVELS];

	walk.descent.index_blocks = RelationGetNumberOfBlocks(of->index);
	for (int level = 0; level < BF_INDEX_MAX_LEVELS; level++)
		priors[level] = more > 1 ? 1 - pow(1 - of->priors[level], 1 / more) : of->priors[level];
	if (!walk_down(&walk, of->heap_blocks, priors, &found->share))
		return false;
	memcpy(found->pages, walk.index_pages, sizeof found->pages);
	if (walk.descent.unasked)
		found->share = Min(found->share, priors[0]);
	return true;
}

/* The number of pages that a level has for a column. */
static double
pages_of_column(const BfGeometry *geometry, int level, int column)
{
	const BfLevel *of = &geometry->level[level];
	double		pages = 0;

	for (uint32 i = of->first_stretch; i < of->first_stretch + of->stretches; i++)
		pages += (double) geometry->lines[i * geometry->columns + column] / BF_POSITIONS(geometry->stretch[i].ranges) *
			geometry->stretch[i].groups;
	return pages;
}

/* What the walks have found for a long condition. */
typedef struct Beside
{
	/* of the pages left by the conditions that are not long: the share that has none of the alternatives */
	double		without;
	double		pages[BF_INDEX_MAX_LEVELS]; /* pages of the index that this condition needs in addition */
} Beside;

/*
 * Walks for a part of a long condition, which stands for `more` times as many alternatives, and adds the result to
 * *beside. `others` is what the conditions that are not long leave.
 */
static bool
walk_part(const Estimation *of, double more, const Found *others, Beside *beside)
{
	Found		both;

	if (!walk_now(of, more, &both))
		return false;
	beside->without *= pow(1 - Min(1, both.share / others->share), more);
	for (int level = 0; level < of->geometry->levels; level++)
		beside->pages[level] += Max(0, both.pages[level] - others->pages[level]) * more;
	return true;
}

/* At least this many alternatives are looked for: one alone may be unlike most of them. */
#define LEAST_ALTERNATIVES 3

/*
 * How many alternatives a sample of a long condition may have (sample.h). For each value of an = ANY, and for each key
 * of each query of a LIKE ANY, a walk reads at most one page of each group that it looks at. With too many alternatives
 * it could look at only one of several groups of the highest level, which would say nothing about the other groups. So
 * the more groups that level has, the fewer alternatives a sample may have.
 */
static uint32
most_alternatives(const Estimation *of)
{
	const int	levels = of->geometry->levels;
	const uint32 groups = of->geometry->level[levels - 1].groups;
	const uint32 most = of->most_pages / levels / groups;

	return Max(most, LEAST_ALTERNATIVES);
}

/* Takes a long condition out of the search. */
static void
leave_out(Condition *condition)
{
	condition->unknown = true;
	condition->count = 0;
}

/*
 * Estimates what a search leaves. The first walk is for all conditions that are not long. Then for each long condition
 * there is a walk for its common alternatives, if statistics know any, and one for a sample of its other alternatives;
 * each of these walks is also for the conditions that are not long. Of the pages that the first walk leaves, they tell
 * the share that has an alternative of the long condition. What the first walk leaves is multiplied by the shares of
 * all long conditions.
 */
static bool
estimate_search(Estimation *of, BfEstimate *estimate)
{
	BfSearch   *search = of->search;
	BfSample   *samples = palloc(search->count * sizeof(BfSample));
	int		   *number = palloc(search->count * sizeof(int));	/* the number of each sample's condition */
	int			count = 0;
	int			walks = 0;
	bool		any = false;	/* is there a condition that is not long? */
	uint32		alternatives = 0;
	Found		others = {.share = 1};

	for (int i = 0; i < search->count; i++)
	{
		Condition  *condition = &search->conditions[i];

		if (!bf_index_is_long(condition))
		{
			any |= !condition->unknown;
			continue;
		}
		alternatives += condition->count;
		bf_index_begin_sample(&samples[count], condition, of->index);
		walks += samples[count].common_count > 0 ? 2 : 1;
		number[count++] = i;
		leave_out(condition);
	}
	any |= count == 0;
	of->most_pages = Min(MOST_PAGES + alternatives / ALTERNATIVES_FOR_A_PAGE, MOST_PAGES_FOR_LONG);
	of->most_pages = Max(1, of->most_pages / (walks + (any ? 1 : 0)));
	if (any && !walk_now(of, 1, &others))
		return false;
	*estimate = (BfEstimate) {.share = others.share};
	for (int level = 0; level < of->geometry->levels; level++)
		estimate->index_pages += others.pages[level];
	for (int i = 0; i < count && others.share > 0; i++)
	{
		Condition  *condition = &search->conditions[number[i]];
		Beside		beside = {.without = 1};
		double		more;

		if (samples[i].common_count > 0)
		{
			bf_index_take_common(&samples[i], condition);
			if (!walk_part(of, 1, &others, &beside))
				return false;
		}
		more = bf_index_take_others(&samples[i], most_alternatives(of), condition);
		if (!walk_part(of, more, &others, &beside))
			return false;
		leave_out(condition);
		estimate->share *= 1 - beside.without;
		/* alternatives that are looked for together read a page once */
		for (int level = 0; level < of->geometry->levels; level++)
			estimate->index_pages += Min(beside.pages[level],
										 pages_of_column(of->geometry, level, condition->column));
	}
	return true;
}

bool
bf_index_walk(Relation index, BlockNumber heap_blocks, ScanKeyData *keys, int count, const double *priors,
			  BfEstimate *estimate)
{
	Estimation	of = {.index = index, .heap_blocks = heap_blocks, .priors = priors};

	of.search = bf_index_begin_search(keys, count, GetActiveSnapshot());
	bf_index_hash_search(of.search, index);
	of.geometry = bf_index_copy_geometry(bf_index_current_geometry(index));
	*estimate = (BfEstimate) {0};
	if (bf_index_finds_nothing(of.search))
		return true;
	if (!of.search->trusted || of.geometry->levels == 0 || !estimate_search(&of, estimate))
		return false;
	estimate->index_pages = Min(estimate->index_pages, RelationGetNumberOfBlocks(index));
	return true;
}

/* ------------------------------------------------------------------ items in common */

/* -log(1 - fill), which is proportional to the number of items in a line. A full line says only that there are many. */
static double
density(int bits_set)
{
	const double bits = SB_BF_LINE * 8.0;

	return -log1p(-Min(bits_set, bits - 1) / bits);
}

double
bf_index_common_items(Relation index, const BfGeometry *geometry, int column)
{
	double		both = 0,
				each = 0;
	BfGroup		group;
	BlockNumber number;
	Buffer		buffer;
	BfFilterPage *content;

	if (geometry->level[0].covered < 2)
		return -1;
	bf_index_find_group(geometry, 0, geometry->level[0].covered / 2, &group);
	number = bf_index_column_pages(&group, column) / 2;
	if (bf_index_column_start(&group, column) + number >= RelationGetNumberOfBlocks(index))
		return -1;
	buffer = bf_index_read_page(index, bf_index_column_start(&group, column) + number);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	content = (BfFilterPage *) PageGetContents(BufferGetPage(buffer));
	if (bf_index_is_filter_page(BufferGetPage(buffer), &group, column, number))
		for (uint32 a = 0, b = group.ranges / 2; b < group.ranges; a++, b++)
		{
			if (a == b || content->states[a] != BF_SUMMARIZED || content->states[b] != BF_SUMMARIZED)
				continue;
			for (uint32 position = 0; position < group.positions; position++)
			{
				uint64		line[2][SB_BF_LINE / sizeof(uint64)];
				double		alone;

				memcpy(line[0], bf_index_line(content, position, a), SB_BF_LINE);
				memcpy(line[1], bf_index_line(content, position, b), SB_BF_LINE);
				alone = density(sb_bf_line_bits(line[0])) + density(sb_bf_line_bits(line[1]));
				for (Size i = 0; i < lengthof(line[0]); i++)
					line[0][i] |= line[1][i];
				each += alone / 2;
				both += alone - density(sb_bf_line_bits(line[0]));
			}
		}
	UnlockReleaseBuffer(buffer);
	return each > 0 ? Min(1, Max(0, both / each)) : -1;
}
