/*
 * remake.c: makes groups of filters, and remakes those that do not fit what is there, for VACUUM and the SQL functions
 * that summarize all ranges.
 *
 * A group is consecutive ranges of the heap whose filters have the same size, on pages of its own. This size never
 * changes. But a column is added later, rows are deleted, the first ranges were unlike all others; then other groups
 * are made for the same ranges, with filters of the size that they need now:
 *
 * 1. On all pages of the old groups the ranges become unsummarized. Nobody relies on these pages any more.
 * 2. The pages of the new groups are written, with all ranges unsummarized, on free pages (space.c).
 * 3. The new groups are published in the place of the old ones, in one WAL record (directory.c).
 * 4. Those of their ranges that were summarized, full or placeholders before step 1 are summarized, as in any group.
 *
 * A session's geometry says where the groups lie. A reader or writer that has an older geometry comes to the old
 * groups' pages. It finds the ranges unsummarized there; or it finds that these are other pages now, and so its
 * geometry is old (bf_index_filter_page_in_use()). In both cases a reader reads the ranges, and a writer does nothing.
 * (README.md, "Why no row can be lost".) A crash between the steps leaves groups whose ranges are unsummarized, and
 * pages that are free.
 *
 * Nothing has to be remembered from one call to the next: what a remade group has is counted, and the limits by which
 * it is planned (group_sizes.c) are below those by which it would be named again.
 */
#include "index/remake.h"

#include <math.h>

#include "common/pg_prng.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "index/directory.h"
#include "index/geometry.h"
#include "index/group.h"
#include "index/measure.h"
#include "index/plan.h"
#include "index/sizes.h"
#include "index/space.h"

/* At most this many ranges of a group are counted to find out whether the others have what their bits tell. */
#define SAMPLED_RANGES 4
#define SAMPLED_ABOVE 2

/* To find out whether rows were deleted, at most this share of the heap is read. */
#define MOST_SAMPLED (1.0 / 64)

/* ---------------------------------------------------------------------- groups */

/* Sets ranges[i] to whether range i of a group is summarized, full or a placeholder. */
static void
find_marked(Relation index, const BfGroup *group, bool *ranges)
{
	uint8		states[BF_INDEX_MAX_RANGES];

	bf_index_read_states(index, group, 0, states);
	for (uint32 i = 0; i < group->ranges; i++)
		ranges[i] = states[i] != BF_UNSUMMARIZED;
}

/* Makes the planned groups. Returns false if the directory has no room for them. */
static bool
carry_out(const BfSummarizer *work, const BfGeometry *geometry, BfPlan *plan)
{
	const bool	replaces = plan->groups[0].first_range < geometry->level[plan->groups[0].level].covered;

	if (!bf_index_can_publish(work->index, plan->groups, plan->count))
		return false;
	bf_index_replace_groups(work->index, geometry, plan->groups, plan->count);
	/* Other sessions read all of these ranges, or search the level below, as long as they have the old geometry. */
	if (replaces)
		bf_index_outdate_geometries(work->index);
	return true;
}

void
bf_index_make_groups(const BfSummarizer *work, int level, uint32 ranges, BlockNumber heap_blocks, bool may_unite)
{
	bool		goes_on = true;

	while (goes_on)
	{
		BfGeometry *geometry = bf_index_copy_geometry(bf_index_current_geometry(work->index));
		BfPlan	   *plan = palloc(sizeof(BfPlan));

		goes_on = geometry->level[level].covered < ranges;
		if (goes_on)
		{
			bf_index_plan_growth(work, geometry, level, heap_blocks, may_unite, plan);
			if (!carry_out(work, geometry, plan))
			{
				/* the directory may have room for one more group, if not for one in the place of several */
				goes_on = may_unite;
				may_unite = false;
			}
		}
		pfree(plan);
		pfree(geometry);
	}
}

/* ------------------------------------------------------------------ what is off */

/* Is this number of items known? */
static bool
is_known(double items)
{
	return items >= 0 && !isinf(items);
}

/*
 * Finds the lines that a group with these items needs in each column, and returns the number of its pages. If hardly
 * any items are known, the column gets no fewer lines than it has.
 */
static uint64
lines_needed(const BfGeometry *geometry, const BfGroup *group, const BfItems *items, uint32 *lines)
{
	BfCounts	columns[INDEX_MAX_KEYS];
	uint64		pages = 0;

	bf_index_counts_of(geometry, group->level, items, 0, columns);
	for (int column = 0; column < group->columns; column++)
	{
		uint32		known = 0;

		for (uint32 i = 0; i < group->ranges; i++)
			known += is_known(items->of[column][i]);
		lines[column] = bf_index_lines_for(&columns[column], group->ranges, group->ranges);
		if (2 * known <= group->ranges && known <= SAMPLED_RANGES)
			lines[column] = Max(lines[column], group->lines[column]);
		pages += lines[column] / group->positions;
	}
	return pages;
}

/* Is the group many times too large for these items? If so, returns how many times, else 0. */
static double
times_too_large(const BfGeometry *geometry, const BfGroup *group, const BfItems *items)
{
	const uint64 pages = bf_index_group_pages(group);
	uint32		lines[INDEX_MAX_KEYS];
	uint64		needed;

	/* not if even a new group of one page for each column would save too little */
	if (!bf_index_is_worth_replacing(group->level, group->ranges, pages, group->columns))
		return 0;
	needed = lines_needed(geometry, group, items, lines);
	return bf_index_is_worth_replacing(group->level, group->ranges, pages, needed) ? (double) pages / needed : 0;
}

/*
 * Are the filters of this group, or one of them, too full? (Above level 0 one of them may be: the look-up reads one
 * more group of the level below.)
 */
static bool
is_too_full(const BfGroup *group, const BfGroupMeasure *measure)
{
	return measure->rate >= BF_TOO_FULL || (group->level == 0 && measure->saturated);
}

/* Is a range of level 0 full? Then the group is divided, or its filters become larger. */
static bool
has_full(const BfGroup *group, const BfGroupMeasure *measure)
{
	return group->level == 0 && measure->full > 0;
}

/*
 * How far is a group off what its ranges need: how many times too full or too large is it? It is remade if the result
 * is not 0.
 */
static double
how_far_off(const BfGeometry *geometry, const BfGroup *group, const BfGroupMeasure *measure)
{
	const double full = is_too_full(group, measure) || has_full(group, measure) ? Max(measure->rate, BF_TOO_FULL) : 0;

	return Max(full, times_too_large(geometry, group, &measure->items));
}

/*
 * Measures a group. If the heap lacks pages of a range, its filter has room for the items to come, so what it has now
 * is unknown.
 */
static void
measure_whole_ranges(Relation index, const BfGeometry *geometry, const BfGroup *group, BlockNumber heap_blocks,
					 BlockNumber pages, BfGroupMeasure *measure)
{
	/* unsigned: a range before the group has a large number */
	const uint32 last = heap_blocks / geometry->level[group->level].pages_per_range - group->first_range;

	bf_index_measure_group(index, geometry, group, pages, measure);
	for (int column = 0; column < group->columns; column++)
		if (last < group->ranges && is_known(measure->items.of[column][last]))
			measure->items.of[column][last] = -1;
}

double
bf_index_measure_how_far_off(Relation index, const BfGeometry *geometry, const BfGroup *group, BlockNumber heap_blocks,
							 BfGroupMeasure *measure)
{
	/* mostly the first page tells that the group fits */
	measure_whole_ranges(index, geometry, group, heap_blocks, 1, measure);
	if (measure->rate <= BF_TOO_FULL / 2 && how_far_off(geometry, group, measure) == 0)
		return 0;
	measure_whole_ranges(index, geometry, group, heap_blocks, BF_PAGES_THAT_TELL, measure);
	return how_far_off(geometry, group, measure);
}

/* A group that is to be remade; or if `off` is 0, one of which rows may have been deleted. */
typedef struct Candidate
{
	int			level;
	uint32		first_range;
	double		off;
} Candidate;

/* In descending order of `off`. */
static int
compare_candidates(const ListCell *a, const ListCell *b)
{
	double		x = ((const Candidate *) lfirst(a))->off,
				y = ((const Candidate *) lfirst(b))->off;

	return x > y ? -1 : x < y;
}

/*
 * Returns the groups (Candidates) that are to be remade by what their bits tell, and those of level 0 of which rows may
 * have been deleted: the ones that are large enough to be remade for that, and that the heap fills.
 */
static List *
measure_groups(const BfSummarizer *work, const BfGeometry *geometry, BlockNumber heap_blocks)
{
	BfGroupMeasure *measure = palloc(sizeof(BfGroupMeasure));
	List	   *list = NIL;

	for (int level = 0; level < geometry->levels; level++)
	{
		BfGroup		group;

		for (uint32 range = 0; range < geometry->level[level].covered; range = group.first_range + group.ranges)
		{
			Candidate	candidate = {.level = level, .first_range = range};

			CHECK_FOR_INTERRUPTS();
			bf_index_find_group(geometry, level, range, &group);
			candidate.off = bf_index_measure_how_far_off(work->index, geometry, &group, heap_blocks, measure);
			if (candidate.off > 0 ||
				(level == 0 &&
				 (uint64) (range + group.ranges - 1) * geometry->level[0].pages_per_range < heap_blocks &&
				 bf_index_is_worth_replacing(0, group.ranges, bf_index_group_pages(&group), group.columns)))
				list = lappend(list, memcpy(palloc(sizeof candidate), &candidate, sizeof candidate));
		}
	}
	pfree(measure);
	return list;
}

/* ------------------------------------------------------------------- sampling */

static uint32
samples_of(const BfGroup *group)
{
	return group->level == 0 ? SAMPLED_RANGES : SAMPLED_ABOVE;
}

/*
 * Counts the items of some of the ranges that are marked in ranges[], spread over them, from a random one on. Takes the
 * others of these to differ by the same factor from what their bits tell, and corrects *measure. Stops if the group is
 * not too large, where that is asked for. Returns the number of pages that were read.
 */
static double
correct_by_sample(const BfSummarizer *work, const BfGeometry *geometry, const BfGroup *group, const bool *ranges,
				  BlockNumber heap_blocks, bool while_too_large, BfGroupMeasure *measure)
{
	const BfItems by_bits = measure->items;
	const BlockNumber pages_per_range = geometry->level[group->level].pages_per_range;
	bool		counted[BF_INDEX_MAX_RANGES] = {false};
	double		there[INDEX_MAX_KEYS] = {0};
	double		told[INDEX_MAX_KEYS] = {0};
	uint32		candidates[BF_INDEX_MAX_RANGES];
	uint32		count = 0;
	uint32		samples;
	double		read = 0;

	for (uint32 i = 0; i < group->ranges; i++)
		if (ranges[i] && (uint64) (group->first_range + i) * pages_per_range < heap_blocks)
			candidates[count++] = i;
	samples = Min(count, samples_of(group));
	for (uint32 i = 0; i < samples; i++)
	{
		const uint32 from = i * count / samples;
		const uint32 last = (i + 1) * count / samples - 1;
		const uint32 range = candidates[pg_prng_uint64_range(&pg_global_prng_state, from, last)];
		double		counts[INDEX_MAX_KEYS];

		if (i > 0 && while_too_large && times_too_large(geometry, group, &measure->items) == 0)
			break;
		read += bf_index_count_range(work, geometry, group->level, group->first_range + range, heap_blocks, counts);
		counted[range] = true;
		for (int column = 0; column < group->columns; column++)
		{
			double	   *items = measure->items.of[column];

			if (is_known(by_bits.of[column][range]))
			{
				there[column] += counts[column];
				told[column] += by_bits.of[column][range];
			}
			items[range] = counts[column];
			for (uint32 j = 0; j < count; j++)
				if (!counted[candidates[j]] && is_known(by_bits.of[column][candidates[j]]) && told[column] > 0)
					items[candidates[j]] = by_bits.of[column][candidates[j]] * there[column] / told[column];
		}
	}
	return read;
}

/*
 * Samples the groups of which rows may have been deleted, and notes which are many times too large. It begins with a
 * random group and goes on from there, since one call may not get to all of them. Returns how many pages of the heap
 * were read for that.
 */
static double
sample_groups(const BfSummarizer *work, const BfGeometry *geometry, BlockNumber heap_blocks, bool deleted,
			  const List *list)
{
	BfGroupMeasure *measure = palloc(sizeof(BfGroupMeasure));
	const double most = heap_blocks * MOST_SAMPLED;
	const BlockNumber pages_per_range = geometry->level[0].pages_per_range;
	const int	count = list_length(list);
	const int	first = count == 0 ? 0 : (int) pg_prng_uint64_range(&pg_global_prng_state, 0, count - 1);
	double		read = 0;
	bool		goes_on = true;

	for (int i = 0; i < count && goes_on; i++)
	{
		Candidate  *candidate = list_nth(list, ((int64) first + i) % count);
		bool		whole[BF_INDEX_MAX_RANGES];
		BfGroup		group;

		/* if nothing was deleted, a range of a large part of the heap is not read */
		if (candidate->off > 0 || (!deleted && pages_per_range > Max(most, BF_INDEX_DEFAULT_PAGES_PER_RANGE)))
			continue;
		CHECK_FOR_INTERRUPTS();
		bf_index_find_group(geometry, candidate->level, candidate->first_range, &group);
		/* a range that the heap does not fill is counted with rows to come */
		for (uint32 j = 0; j < group.ranges; j++)
			whole[j] = group.first_range + j < heap_blocks / pages_per_range;
		bf_index_measure_group(work->index, geometry, &group, BF_PAGES_THAT_TELL, measure);
		read += correct_by_sample(work, geometry, &group, whole, heap_blocks, true, measure);
		candidate->off = times_too_large(geometry, &group, &measure->items);
		goes_on = read < most && (deleted || candidate->off > 0);
	}
	pfree(measure);
	return read;
}

/* ------------------------------------------------------------------ remaking one */

/*
 * Counts the items of all ranges of a group of level 0. Those that the heap lacks are taken to be like the last ones
 * that it has. Returns the number of pages that were read.
 */
static double
count_all(const BfSummarizer *work, const BfGeometry *geometry, const BfGroup *group, BlockNumber heap_blocks,
		  BfItems *items)
{
	const uint32 in_heap = bf_index_ranges_of(geometry, 0, heap_blocks);
	const uint32 there = in_heap > group->first_range ? Min(group->ranges, in_heap - group->first_range) : 0;
	const uint32 last = Min(there, SAMPLED_RANGES);
	double		sums[INDEX_MAX_KEYS] = {0};
	double		read = 0;

	for (uint32 i = 0; i < there; i++)
	{
		double		counts[INDEX_MAX_KEYS];

		read += bf_index_count_range(work, geometry, 0, group->first_range + i, heap_blocks, counts);
		for (int column = 0; column < group->columns; column++)
		{
			items->of[column][i] = counts[column];
			sums[column] += i + last >= there ? counts[column] : 0;
		}
	}
	for (int column = 0; column < group->columns; column++)
		for (uint32 i = there; i < group->ranges; i++)
			items->of[column][i] = last == 0 ? -1 : sums[column] / last;
	return read;
}

/* Carries a plan out in the place of a group, and summarizes the ranges that are marked. */
static bool
replace_group(const BfSummarizer *work, const BfGeometry *geometry, const BfGroup *group, BfPlan *plan,
			  const bool *marked)
{
	BfGeometry *now;

	if (!carry_out(work, geometry, plan))
		return false;
	now = bf_index_copy_geometry(bf_index_current_geometry(work->index));
	for (int i = 0; i < plan->count; i++)
	{
		BfGroup		made;

		bf_index_find_group(now, group->level, plan->groups[i].first_range, &made);
		bf_index_summarize_marked(work, now, &made, marked + (made.first_range - group->first_range));
	}
	pfree(now);
	return true;
}

/*
 * Has the directory room for so many groups in the place of this one? This is asked before the ranges are counted: what
 * cannot be published would be counted by every VACUUM.
 */
static bool
may_replace(const BfSummarizer *work, const BfGroup *group, uint32 count)
{
	BfGroup    *groups = palloc(count * sizeof(BfGroup));
	bool		result;

	for (uint32 i = 0; i < count; i++)
	{
		groups[i] = *group;
		groups[i].first_range += i;
		groups[i].ranges = i + 1 < count ? 1 : group->ranges - i;
		groups[i].first_block = 0;
	}
	result = bf_index_can_publish(work->index, groups, count);
	pfree(groups);
	return result;
}

/* Are filters with these lines as large as the group's, or smaller? */
static bool
fits(const BfGroup *group, const uint32 *lines)
{
	for (int column = 0; column < group->columns; column++)
		if (lines[column] > group->lines[column])
			return false;
	return true;
}

/*
 * Summarizes those ranges of a group anew that are too full, at most `most` of them. But if they are many, some are
 * counted first, and if they have more than the filters are made for, nothing is done. Sets *measure to what the ranges
 * have as far as is known now, and *done to whether the group may stay. Returns the number of pages that were read.
 */
static double
summarize_too_full(const BfSummarizer *work, const BfGeometry *geometry, const BfGroup *group, const bool *marked,
				   BlockNumber heap_blocks, double most, BfGroupMeasure *measure, bool *done)
{
	const BlockNumber pages_per_range = geometry->level[group->level].pages_per_range;
	bool		too_full[BF_INDEX_MAX_RANGES];
	double		read = 0;
	uint32		count = 0,
				chosen = 0;

	for (uint32 i = 0; i < group->ranges; i++)
	{
		too_full[i] = marked[i] && measure->rates[i] >= BF_TOO_FULL;
		count += too_full[i];
	}
	if (count > samples_of(group))
	{
		uint32		lines[INDEX_MAX_KEYS];

		read = correct_by_sample(work, geometry, group, too_full, heap_blocks, false, measure);
		(void) lines_needed(geometry, group, &measure->items, lines);
		*done = false;
		if (!fits(group, lines))
			return read;
	}
	for (uint32 i = 0; i < group->ranges; i++)
	{
		too_full[i] &= chosen == 0 || chosen < most;
		chosen += too_full[i];
	}
	bf_index_summarize_marked(work, geometry, group, too_full);
	bf_index_measure_group(work->index, geometry, group, BF_PAGES_THAT_TELL, measure);
	*done = !(is_too_full(group, measure) || has_full(group, measure)) || chosen < count;
	return read + (double) chosen * pages_per_range;
}

/* Sets again[] to the marked ranges of a group that are full or too full. */
static void
find_full(const BfGroup *group, const BfGroupMeasure *measure, const bool *marked, bool *again)
{
	for (uint32 i = 0; i < group->ranges; i++)
	{
		again[i] = measure->rates[i] >= BF_TOO_FULL;
		for (int column = 0; column < group->columns; column++)
			again[i] |= isinf(measure->items.of[column][i]);
		again[i] &= marked[i];
	}
}

/* Is the planned group the one that is there? */
static bool
is_as_now(const BfGroup *group, const BfPlan *plan)
{
	return plan->count == 1 && memcmp(group->lines, plan->lines[0], group->columns * sizeof(uint32)) == 0;
}

/*
 * Remakes a group: summarizes anew those of its ranges that are too full, if its filters are large enough; else makes
 * other groups in its place. `left` is how many pages may be read. Returns how many were: it counts pages of ranges
 * that are not summarized, which are not read.
 */
static double
remake_group(const BfSummarizer *work, const Candidate *candidate, BlockNumber heap_blocks, double left)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bf groups", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	const BfGeometry *geometry = bf_index_copy_geometry(bf_index_current_geometry(work->index));
	BfGroupMeasure *measure = palloc(sizeof(BfGroupMeasure));
	BfPlan	   *plan = palloc(sizeof(BfPlan));
	const BlockNumber pages_per_range = geometry->level[candidate->level].pages_per_range;
	bool		marked[BF_INDEX_MAX_RANGES];
	bool		again[BF_INDEX_MAX_RANGES];
	bool		done = false;
	bool		may_divide;
	double		read = 0;
	BfGroup		group;

	bf_index_find_group(geometry, candidate->level, candidate->first_range, &group);
	find_marked(work->index, &group, marked);
	bf_index_measure_group(work->index, geometry, &group, BF_PAGES_THAT_TELL, measure);
	if (is_too_full(&group, measure) && !has_full(&group, measure))
		read = summarize_too_full(work, geometry, &group, marked, heap_blocks, left / pages_per_range, measure, &done);
	find_full(&group, measure, marked, again);
	may_divide = !done && group.level == 0 && may_replace(work, &group, Min(group.ranges, BF_MOST_PLANNED));
	if (may_divide || (!done && may_replace(work, &group, 1)))
	{
		uint32		lines[INDEX_MAX_KEYS];

		/* bits tell nothing of full ranges, and too little of those that are too full */
		if (group.level == 0)
			read += count_all(work, geometry, &group, heap_blocks, &measure->items);
		else
			read += correct_by_sample(work, geometry, &group, again, heap_blocks, false, measure);
		(void) lines_needed(geometry, &group, &measure->items, lines);
		if (may_divide)
			bf_index_plan_division(geometry, &group, &measure->items, plan);
		else
			bf_index_plan_one(&group, lines, plan);
		/* if the filters are large enough, the items that filled them are gone */
		if (is_as_now(&group, plan))
			bf_index_summarize_marked(work, geometry, &group, again);
		else if (replace_group(work, geometry, &group, plan, marked))
			read += (double) group.ranges * pages_per_range;
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return read;
}

/* ------------------------------------------------------------------------ moving */

/*
 * Groups are moved to free pages only if at least LEAST_FREE_PAGES pages of the file are free, and at least the share
 * LEAST_FREE_SHARE of it.
 */
#define LEAST_FREE_PAGES 16
#define LEAST_FREE_SHARE 0.25

/* Of so many groups, the last ones in the file, one is looked for that fits into a gap before it. */
#define MOVES_TRIED 8

/* Finds the group with the greatest first_block below `end`. Returns false if there is none. */
static bool
find_last_group(const BfGeometry *geometry, BlockNumber end, BfGroup *last)
{
	bool		found = false;
	BfGroup		group;

	for (int level = 0; level < geometry->levels; level++)
		for (uint32 range = 0; range < geometry->level[level].covered; range = group.first_range + group.ranges)
		{
			bf_index_find_group(geometry, level, range, &group);
			if (group.first_block < end && (!found || group.first_block > last->first_block))
			{
				*last = group;
				found = true;
			}
		}
	return found;
}

/* Finds one of the last groups in the file that fits into a gap before it. */
static bool
find_group_to_move(Relation index, const BfGeometry *geometry, BfGroup *group)
{
	BlockNumber end = InvalidBlockNumber;

	for (int i = 0; i < MOVES_TRIED && find_last_group(geometry, end, group); i++)
	{
		if (bf_index_find_space(index, bf_index_group_pages(group)) < group->first_block)
			return true;
		end = group->first_block;
	}
	return false;
}

/*
 * Moves one of the last groups in the file to free pages before it, if many pages are free, and the directory has room.
 * If the last one fits nowhere, moving those before it makes room for it. Returns 0 if nothing was moved; else the
 * number of pages in the group's ranges, which is an upper bound of the pages of the heap that were read.
 */
static double
move_last_group(const BfSummarizer *work)
{
	const BlockNumber free = bf_index_free_pages(work->index);
	BfGeometry *geometry;
	BfGroup		group;
	double		read = 0;

	if (free < Max(LEAST_FREE_PAGES, LEAST_FREE_SHARE * RelationGetNumberOfBlocks(work->index)))
		return 0;
	geometry = bf_index_copy_geometry(bf_index_current_geometry(work->index));
	if (find_group_to_move(work->index, geometry, &group))
	{
		BfPlan	   *plan = palloc(sizeof(BfPlan));
		bool		marked[BF_INDEX_MAX_RANGES];

		find_marked(work->index, &group, marked);
		bf_index_plan_one(&group, group.lines, plan);
		if (replace_group(work, geometry, &group, plan, marked))
			read = (double) group.ranges * geometry->level[group.level].pages_per_range;
		pfree(plan);
	}
	pfree(geometry);
	return read;
}

/* ------------------------------------------------------------------- all of it */

void
bf_index_remake(const BfSummarizer *work, BlockNumber heap_blocks, bool deleted)
{
	BfGeometry *geometry = bf_index_copy_geometry(bf_index_current_geometry(work->index));
	List	   *list = measure_groups(work, geometry, heap_blocks);
	double		left = Max(1, heap_blocks * BF_MOST_REMADE);
	double		read;
	ListCell   *cell;

	left -= sample_groups(work, geometry, heap_blocks, deleted, list);
	list_sort(list, compare_candidates);
	foreach(cell, list)
	{
		const Candidate *candidate = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		if (candidate->off == 0 || (left <= 0 && cell != list_head(list)))
			break;
		left -= remake_group(work, candidate, heap_blocks, left);
	}
	list_free_deep(list);
	pfree(geometry);
	do
	{
		CHECK_FOR_INTERRUPTS();
		read = left > 0 ? move_last_group(work) : 0;
		left -= read;
	} while (read > 0);
}
