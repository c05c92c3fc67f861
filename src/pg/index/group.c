/*
 * group.c: writes all filter pages of a group: when the group is made or replaced, when ranges are summarized or made
 * unsummarized again, and when the standby horizon is raised. (insert.c adds the items of single rows to some of the
 * pages.) Before that, adds the items of ranges to lines in memory, and finds out which ranges are full.
 *
 * Each page has a WAL record of its own, because readers and writers go by what the page itself says. Only summarizers
 * go by the first page of the group (bf_index_write_ranges()).
 */
#include "index/group.h"

#include <math.h>

#include "access/generic_xlog.h"
#include "miscadmin.h"

#include "index/directory.h"
#include "index/geometry.h"
#include "index/heap.h"
#include "index/layout.h"
#include "index/sizes.h"
#include "index/space.h"
#include "index/wal.h"

void
bf_index_settle_by_group_before(const BfGeometry *geometry, int level, uint32 first, uint32 ranges, uint32 *lines)
{
	BfGroup		before;

	if (first == 0)
		return;
	bf_index_find_group(geometry, level, first - 1, &before);
	if (before.ranges == ranges)
		bf_index_settle_lines(lines, before.lines, geometry->columns);
}

/* ----------------------------------------------------------------- in memory */

void
bf_index_make_lines(BfGroupLines *lines, const BfGeometry *geometry, const BfGroup *group)
{
	memset(lines, 0, sizeof *lines);
	lines->group = *group;
	for (int column = 0; column < group->columns; column++)
	{
		const BfParameters *parameters = bf_index_parameters(geometry, group->level, column);

		lines->hashes[column] = parameters->hashes;
		lines->full_rate[column] = bf_index_rate_of_full(parameters->load, parameters->hashes);
	}
}

void
bf_index_select_range(BfGroupLines *lines, uint32 range)
{
	Assert(range < lines->group.ranges && !lines->ranges[range] && lines->area[0] == NULL);
	lines->ranges[range] = true;
	lines->slots[range] = lines->selected++;
}

Size
bf_index_bytes_of_range(const BfGroup *group)
{
	Size		lines = 0;

	for (int column = 0; column < group->columns; column++)
		lines += group->lines[column];
	return lines * SB_BF_LINE;
}

void
bf_index_allocate_areas(BfGroupLines *lines)
{
	for (int column = 0; column < lines->group.columns; column++)
		lines->area[column] = palloc_extended((Size) lines->group.lines[column] * lines->selected * SB_BF_LINE,
											  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

void
bf_index_free_lines(BfGroupLines *lines)
{
	for (int column = 0; column < lines->group.columns; column++)
		if (lines->area[column] != NULL)
			pfree(lines->area[column]);
}

/*
 * The lines of a range in memory. They lie one after the other, unlike on pages, so that they stay in the processor's
 * caches while items are added.
 */
unsigned char *
bf_index_lines_of_range(const BfGroupLines *lines, int column, uint32 range)
{
	return lines->area[column] + (Size) lines->slots[range] * lines->group.lines[column] * SB_BF_LINE;
}

static void
add_hashes(BfGroupLines *lines, uint32 range, int column, const uint64 *hashes, uint64 count)
{
	sb_bf		filter = {.line_count = lines->group.lines[column], .hash_count = lines->hashes[column]};

	sb_bf_add_many(&filter, bf_index_lines_of_range(lines, column, range), hashes, count);
}

void
bf_index_add_items(BfGroupLines *lines, const BfRangeItems *items)
{
	uint32		range = items->range - lines->group.first_range;

	for (int column = 0; column < lines->group.columns; column++)
		add_hashes(lines, range, column, items->hashes[column], items->counts[column]);
}

void
bf_index_add_row(const BfRowItems *items, void *argument)
{
	const BfRangeLines *to = argument;

	for (int column = 0; column < items->columns; column++)
	{
		uint32		first = bf_index_first_of(items, column);

		add_hashes(to->lines, to->range, column, items->hashes + first, items->end[column] - first);
	}
}

/* ------------------------------------------------------------------ full ranges */

/*
 * Sets rates[n] to the false-positive rate of a line in which n bits are set: the share of set bits, to the power
 * `hashes`.
 */
static void
make_rates(int hashes, double rates[SB_BF_LINE * 8 + 1])
{
	for (int set = 0; set <= SB_BF_LINE * 8; set++)
		rates[set] = pow(set / (SB_BF_LINE * 8.0), hashes);
}

static double
rate_in_memory(const BfGroupLines *lines, int column, uint32 range, const double *rates)
{
	const unsigned char *line = bf_index_lines_of_range(lines, column, range);
	const uint32 count = lines->group.lines[column];
	double		sum = 0;

	for (uint32 i = 0; i < count; i++, line += SB_BF_LINE)
		sum += rates[sb_bf_line_bits(line)];
	return sum / count;
}

/*
 * Sets lines->full[column] for the selected ranges. A range is full if the false-positive rate of its filter is at
 * least full_rate. But a group has at most bf_index_most_full() full ranges, and its other ranges that are full already
 * count among these. If this limit leaves no room for all, the selected ranges with the highest rates become full.
 * states[] are the states on the column's first page; NULL: the group is new.
 */
static void
find_full_ranges(BfGroupLines *lines, int column, const uint8 *states)
{
	double		of_bits[SB_BF_LINE * 8 + 1];
	double		rates[BF_INDEX_MAX_RANGES] = {0};
	uint32		left = bf_index_most_full(lines->group.ranges);

	memset(lines->full[column], 0, sizeof lines->full[column]);
	make_rates(lines->hashes[column], of_bits);
	for (uint32 range = 0; range < lines->group.ranges; range++)
		if (lines->ranges[range])
			rates[range] = rate_in_memory(lines, column, range, of_bits);
		else if (states != NULL && states[range] == BF_FULL && left > 0)
			left--;
	for (; left > 0; left--)
	{
		uint32		worst = 0;

		for (uint32 range = 1; range < lines->group.ranges; range++)
			if (rates[range] > rates[worst])
				worst = range;
		if (rates[worst] < lines->full_rate[column])
			break;
		lines->full[column][worst] = true;
		rates[worst] = 0;
	}
}

/* ------------------------------------------------------------------ to pages */

/* Brings the ranges of `lines` to their new state on page `page` of the column. See bf_index_write_ranges(). */
static void
change_page(BfFilterPage *content, const BfGroupLines *lines, int column, uint32 page, BfRangeState state,
			BfHorizons horizons)
{
	uint32		first = page * lines->group.positions;

	for (uint32 range = 0; range < lines->group.ranges; range++)
	{
		if (!lines->ranges[range])
			continue;
		if (state == BF_SUMMARIZED && lines->full[column][range])
		{
			content->states[range] = BF_FULL;
			continue;
		}
		content->states[range] = state;
		for (uint32 position = 0; position < lines->group.positions && state != BF_UNSUMMARIZED; position++)
		{
			unsigned char *line = bf_index_line(content, position, range);

			if (state == BF_PLACEHOLDER)
				memset(line, 0, SB_BF_LINE);
			else
			{
				const unsigned char *more =
					bf_index_lines_of_range(lines, column, range) + (Size) (first + position) * SB_BF_LINE;

				for (int i = 0; i < SB_BF_LINE; i++)
					line[i] |= more[i];
			}
		}
	}
	if (state == BF_SUMMARIZED)
	{
		content->horizon = Max(content->horizon, horizons.all);
		content->standby_horizon = Max(content->standby_horizon, horizons.standby);
	}
}

/* Writes the pages of a group from its first block on, whatever these pages had before. */
static void
write_pages(Relation index, const BfGroupLines *lines, BfRangeState state, BfHorizons horizons)
{
	BlockNumber block = lines->group.first_block;

	for (int column = 0; column < lines->group.columns; column++)
		for (uint32 page = 0; page < bf_index_column_pages(&lines->group, column); page++, block++)
		{
			Buffer		buffer;
			GenericXLogState *xlog;
			Page		image;

			CHECK_FOR_INTERRUPTS();
			buffer = bf_index_new_page(index, block);
			xlog = GenericXLogStart(index);
			image = GenericXLogRegisterBuffer(xlog, buffer, GENERIC_XLOG_FULL_IMAGE);
			bf_index_init_filter_page(image, column, &lines->group, page * lines->group.positions);
			if (state != BF_UNSUMMARIZED)
				((PageHeader) image)->pd_lower = bf_index_lower_with_lines(&lines->group);
			change_page((BfFilterPage *) PageGetContents(image), lines, column, page, state, horizons);
			GenericXLogFinish(xlog);
			UnlockReleaseBuffer(buffer);
		}
}

void
bf_index_create_group(Relation index, BfGroupLines *lines, BfRangeState state, BfHorizons horizons)
{
	lines->group.first_block = bf_index_find_space(index, bf_index_group_pages(&lines->group));
	for (int column = 0; column < lines->group.columns && state == BF_SUMMARIZED; column++)
		find_full_ranges(lines, column, NULL);
	write_pages(index, lines, state, horizons);
	bf_index_publish(index, &lines->group, 1);
}

/*
 * Makes all pages of a group as they were when it was new: all ranges are unsummarized, and the lines are not in use,
 * so this takes little WAL.
 */
static void
empty_pages(Relation index, const BfGroup *group)
{
	BlockNumber block = group->first_block;

	for (int column = 0; column < group->columns; column++)
		for (uint32 page = 0; page < bf_index_column_pages(group, column); page++, block++)
		{
			Buffer		buffer;
			GenericXLogState *xlog;
			Page		image;

			CHECK_FOR_INTERRUPTS();
			buffer = bf_index_read_page(index, block);
			LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
			(void) bf_index_filter_page(index, block, BufferGetPage(buffer), group, column, page);
			xlog = GenericXLogStart(index);
			image = GenericXLogRegisterBuffer(xlog, buffer, GENERIC_XLOG_FULL_IMAGE);
			bf_index_init_filter_page(image, column, group, page * group->positions);
			GenericXLogFinish(xlog);
			UnlockReleaseBuffer(buffer);
		}
}

void
bf_index_replace_groups(Relation index, const BfGeometry *geometry, BfGroup *groups, int count)
{
	const int	level = groups->level;
	const uint64 end = Min((uint64) groups[count - 1].first_range + groups[count - 1].ranges,
						   geometry->level[level].covered);
	BlockNumber pages = 0;
	BlockNumber block;
	BfGroup		old;

	/*
	 * Sessions with an old geometry may come to the pages of the old groups at any time. So these pages are emptied
	 * first: nobody may rely on them any more.
	 */
	for (uint64 range = groups->first_range; range < end; range = (uint64) old.first_range + old.ranges)
	{
		bf_index_find_group(geometry, level, range, &old);
		empty_pages(index, &old);
	}
	for (int i = 0; i < count; i++)
		pages += bf_index_group_pages(&groups[i]);
	block = bf_index_find_space(index, pages);
	for (int i = 0; i < count; i++)
	{
		BfGroupLines lines;

		groups[i].first_block = block;
		bf_index_make_lines(&lines, geometry, &groups[i]);
		write_pages(index, &lines, BF_UNSUMMARIZED, (BfHorizons) {0});
		block += bf_index_group_pages(&groups[i]);
	}
	bf_index_publish(index, groups, count);
}

/* Changes and logs one page. */
static void
write_ranges_on_page(Relation index, const BfGroupLines *lines, int column, uint32 page, BlockNumber block,
					 BfRangeState state, BfHorizons horizons)
{
	Buffer		buffer = bf_index_read_page(index, block);
	GenericXLogState *xlog;
	BfFilterPage *content;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	(void) bf_index_filter_page(index, block, BufferGetPage(buffer), &lines->group, column, page);
	if (state != BF_UNSUMMARIZED)
		bf_index_take_lines(index, buffer, &lines->group);
	xlog = GenericXLogStart(index);
	content = (BfFilterPage *) PageGetContents(GenericXLogRegisterBuffer(xlog, buffer, 0));
	change_page(content, lines, column, page, state, horizons);
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(buffer);
}

void
bf_index_write_ranges(Relation index, BfGroupLines *lines, BfRangeState state, BfHorizons horizons)
{
	BlockNumber block = lines->group.first_block;

	for (int column = 0; column < lines->group.columns && state == BF_SUMMARIZED; column++)
	{
		uint8		states[BF_INDEX_MAX_RANGES];

		bf_index_read_states(index, &lines->group, column, states);
		find_full_ranges(lines, column, states);
	}
	if (state != BF_SUMMARIZED)
		write_ranges_on_page(index, lines, 0, 0, block, state, horizons);
	for (int column = 0; column < lines->group.columns; column++)
		for (uint32 page = 0; page < bf_index_column_pages(&lines->group, column); page++, block++)
			if (column > 0 || page > 0)
			{
				CHECK_FOR_INTERRUPTS();
				write_ranges_on_page(index, lines, column, page, block, state, horizons);
			}
	if (state == BF_SUMMARIZED)
		write_ranges_on_page(index, lines, 0, 0, lines->group.first_block, state, horizons);
}

/* Raises the standby horizon on all pages of a group. */
static void
raise_standby_horizon_of_group(Relation index, const BfGroup *group, uint64 horizon)
{
	for (int column = 0; column < group->columns; column++)
		for (BlockNumber page = 0; page < bf_index_column_pages(group, column); page++)
		{
			BlockNumber block = bf_index_column_start(group, column) + page;
			Buffer		buffer;
			GenericXLogState *xlog;
			Page		image;
			BfFilterPage *content;

			CHECK_FOR_INTERRUPTS();
			buffer = bf_index_read_page(index, block);
			LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
			xlog = GenericXLogStart(index);
			image = GenericXLogRegisterBuffer(xlog, buffer, 0);
			content = bf_index_filter_page(index, block, image, group, column, page);
			content->standby_horizon = Max(content->standby_horizon, horizon);
			GenericXLogFinish(xlog);
			UnlockReleaseBuffer(buffer);
		}
}

void
bf_index_raise_standby_horizon(Relation index, uint64 horizon)
{
	BfGeometry *geometry = bf_index_copy_geometry(bf_index_current_geometry(index));

	for (int level = 0; level < geometry->levels; level++)
	{
		BfGroup		group;

		for (uint32 range = 0; range < geometry->level[level].covered; range = group.first_range + group.ranges)
		{
			bf_index_find_group(geometry, level, range, &group);
			raise_standby_horizon_of_group(index, &group, horizon);
		}
	}
	pfree(geometry);
}

void
bf_index_read_states(Relation index, const BfGroup *group, int column, uint8 *states)
{
	const BlockNumber block = bf_index_column_start(group, column);
	Buffer		buffer = bf_index_read_page(index, block);
	const BfFilterPage *content;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	content = bf_index_filter_page_in_use(index, buffer, group, column, 0);
	if (content != NULL)
		memcpy(states, content->states, group->ranges);
	else
		memset(states, BF_UNSUMMARIZED, group->ranges);
	UnlockReleaseBuffer(buffer);
}
