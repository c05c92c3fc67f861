/*
 * group.c: writes all filter pages of a group: when the group is made, when ranges are summarized, and when they are
 * made unsummarized again. insert.c adds single rows.
 *
 * Each page has a WAL record of its own, because no page depends on what another one says.
 */
#include "index/bf_index.h"

#include <math.h>

#include "access/generic_xlog.h"
#include "miscadmin.h"

/*
 * Numbers of ranges of which some positions nearly fill a page of 8 kB: with 8 and 15 ranges 94 % of it, with the
 * others at least 97 %.
 */
static const uint32 good_sizes[] = {125, 62, 41, 31, 25, 18, 15, 8};

StaticAssertDecl(BLCKSZ != 8192 || BF_INDEX_MAX_RANGES == 125, "groups are as large as a page allows");

uint32
bf_index_good_group_size(uint32 most)
{
	for (int i = 0; i < lengthof(good_sizes); i++)
		if (good_sizes[i] <= most && good_sizes[i] <= BF_INDEX_MAX_RANGES)
			return good_sizes[i];
	return Max(most, 1);
}

/* A number of lines that no range needs: a range has at most a gigabyte of the table. */
#define MOST_LINES (100 * 1000 * 1000)

BlockNumber
bf_index_pages_for(uint32 lines, uint32 ranges)
{
	uint32		positions = BF_POSITIONS(ranges);

	return (lines + positions - 1) / positions;
}

uint32
bf_index_lines_for(uint64 items, double load, uint32 ranges)
{
	double		lines = ceil(items / load);
	uint32		positions = BF_POSITIONS(ranges);

	lines = Min(Max(lines, 1), MOST_LINES);
	return bf_index_pages_for((uint32) lines, ranges) * positions;
}

/* ----------------------------------------------------------------- in memory */

void
bf_index_make_lines(BfGroupLines *lines, const BfGeometry *geometry, const BfGroup *group, const uint32 *line_counts,
					bool areas)
{
	lines->group = *group;
	lines->columns = geometry->columns;
	lines->hash_count = geometry->hash_count;
	lines->lines = line_counts;
	memset(lines->ranges, 0, sizeof lines->ranges);
	memset(lines->area, 0, sizeof lines->area);
	if (areas)
		bf_index_allocate_areas(lines);
}

void
bf_index_allocate_areas(BfGroupLines *lines)
{
	for (int column = 0; column < lines->columns; column++)
		lines->area[column] = palloc_extended((Size) lines->lines[column] * lines->group.ranges * SB_BF_LINE,
											  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

void
bf_index_free_lines(BfGroupLines *lines)
{
	for (int column = 0; column < lines->columns; column++)
		if (lines->area[column] != NULL)
			pfree(lines->area[column]);
}

void
bf_index_add_items(BfGroupLines *lines, const BfRangeItems *items)
{
	uint32		range = items->range - lines->group.first_range;

	Assert(range < lines->group.ranges);
	lines->ranges[range] = true;
	for (int column = 0; column < lines->columns; column++)
	{
		unsigned char *area = lines->area[column] + (Size) range * SB_BF_LINE;
		Size		stride = (Size) lines->group.ranges * SB_BF_LINE;

		for (uint64 i = 0; i < items->counts[column]; i++)
		{
			uint64		hash = items->hashes[column][i];

			sb_bf_line_add(area + sb_bf_line_of(lines->lines[column], hash) * stride, lines->hash_count, hash);
		}
	}
}

/* ------------------------------------------------------------------ to pages */

/* The number of lines that page `page` of a column's run has of each filter. */
static inline uint32
lines_on_page(const BfGroupLines *lines, int column, uint32 page)
{
	return Min(lines->group.positions, lines->lines[column] - page * lines->group.positions);
}

/* Brings the ranges of `lines` to their new state on this page. See bf_index_write_ranges(). */
static void
change_page(BfFilterPage *content, const BfGroupLines *lines, int column, uint32 page, BfRangeState state,
			uint64 horizon)
{
	uint32		first = page * lines->group.positions;
	uint32		count = lines_on_page(lines, column, page);

	for (uint32 range = 0; range < lines->group.ranges; range++)
	{
		if (!lines->ranges[range])
			continue;
		content->states[range] = state;
		for (uint32 position = 0; position < count && state != BF_UNSUMMARIZED; position++)
		{
			unsigned char *line = bf_index_line(content, position, range);

			if (state == BF_PLACEHOLDER)
				memset(line, 0, SB_BF_LINE);
			else
			{
				const unsigned char *more = lines->area[column] +
					((Size) (first + position) * lines->group.ranges + range) * SB_BF_LINE;

				for (int i = 0; i < SB_BF_LINE; i++)
					line[i] |= more[i];
			}
		}
	}
	if (state == BF_SUMMARIZED)
		content->horizon = Max(content->horizon, horizon);
}

void
bf_index_create_group(Relation index, BfGroupLines *lines, BfRangeState state, uint64 horizon)
{
	BlockNumber block = bf_index_first_free_block(index);

	lines->group.first_block = block;
	for (int column = 0; column < lines->columns; column++)
		for (uint32 page = 0; page < bf_index_pages_for(lines->lines[column], lines->group.ranges); page++, block++)
		{
			Buffer		buffer;
			GenericXLogState *xlog;
			Page		image;

			CHECK_FOR_INTERRUPTS();
			buffer = bf_index_new_page(index, block);
			xlog = GenericXLogStart(index);
			image = GenericXLogRegisterBuffer(xlog, buffer, GENERIC_XLOG_FULL_IMAGE);
			bf_index_init_filter_page(image, column, &lines->group, page * lines->group.positions);
			change_page((BfFilterPage *) PageGetContents(image), lines, column, page, state, horizon);
			GenericXLogFinish(xlog);
			UnlockReleaseBuffer(buffer);
		}
	bf_index_publish_group(index, &lines->group, lines->lines);
}

/* Changes and logs one page. */
static void
write_ranges_on_page(Relation index, const BfGroupLines *lines, int column, uint32 page, BlockNumber block,
					 BfRangeState state, uint64 horizon)
{
	Buffer		buffer = bf_index_read_page(index, block);
	GenericXLogState *xlog;
	Page		image;
	BfFilterPage *content;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	xlog = GenericXLogStart(index);
	image = GenericXLogRegisterBuffer(xlog, buffer, 0);
	content = bf_index_filter_page(index, block, image, &lines->group, column, page);
	change_page(content, lines, column, page, state, horizon);
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(buffer);
}

void
bf_index_write_ranges(Relation index, const BfGroupLines *lines, BfRangeState state, uint64 horizon)
{
	BlockNumber block = lines->group.first_block;

	if (state != BF_SUMMARIZED)
		write_ranges_on_page(index, lines, 0, 0, block, state, horizon);
	for (int column = 0; column < lines->columns; column++)
		for (uint32 page = 0; page < bf_index_pages_for(lines->lines[column], lines->group.ranges); page++, block++)
			if (column > 0 || page > 0)
			{
				CHECK_FOR_INTERRUPTS();
				write_ranges_on_page(index, lines, column, page, block, state, horizon);
			}
	if (state == BF_SUMMARIZED)
		write_ranges_on_page(index, lines, 0, 0, lines->group.first_block, state, horizon);
}

void
bf_index_raise_standby_horizon(Relation index, uint64 horizon)
{
	BfGeometry *geometry = bf_index_copy_geometry(bf_index_current_geometry(index));

	for (uint32 number = 0; number < geometry->groups; number++)
		for (int column = 0; column < geometry->columns; column++)
			for (BlockNumber page = 0; page < bf_index_column_pages(geometry, number, column); page++)
			{
				BlockNumber block = bf_index_column_start(geometry, number, column) + page;
				Buffer		buffer;
				GenericXLogState *xlog;
				Page		image;
				BfFilterPage *content;

				CHECK_FOR_INTERRUPTS();
				buffer = bf_index_read_page(index, block);
				LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
				xlog = GenericXLogStart(index);
				image = GenericXLogRegisterBuffer(xlog, buffer, 0);
				content = bf_index_filter_page(index, block, image, &geometry->group[number], column, page);
				content->standby_horizon = Max(content->standby_horizon, horizon);
				GenericXLogFinish(xlog);
				UnlockReleaseBuffer(buffer);
			}
	pfree(geometry);
}

void
bf_index_read_states(Relation index, const BfGroup *group, uint8 *states)
{
	Buffer		buffer = bf_index_read_page(index, group->first_block);
	const BfFilterPage *content;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	content = bf_index_filter_page(index, group->first_block, BufferGetPage(buffer), group, 0, 0);
	memcpy(states, content->states, group->ranges);
	UnlockReleaseBuffer(buffer);
}
