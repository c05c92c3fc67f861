/*
 * build_upper.c: the levels above 0 of a parallel build.
 *
 * When the leader has made the groups of a level, it wakes the workers. They take ranges of the level one at a time,
 * add the items that the tape (tape.c: the items of level 0) has of a range to filter lines in their own memory, and
 * write these lines to a file. The leader goes from group to group, with as many ranges at a time as its memory has
 * room for. It makes those that nobody has taken, takes over the others from their files, and writes all of them to the
 * group's pages. So the pages do not depend on who has made the lines.
 *
 * Workers are ahead of the leader by so few ranges that their files stay below temp_file_limit.
 *
 * With two workers the leader takes 1.05 s of CPU instead of 1.4 s (12 million rows on 1.3 GB, two columns, 15.20).
 */
#include "index/build_shared.h"

#include "miscadmin.h"
#include "storage/buffile.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "index/directory.h"
#include "index/geometry.h"
#include "index/group.h"

/* The most ranges that workers may be ahead of the leader: each of these may be a file in one folder. */
#define MOST_AHEAD (2 * BF_INDEX_MAX_RANGES)

static void
name_file(char *name, uint32 range)
{
	snprintf(name, MAXPGPATH, "range %u", range);
}

/* ---------------------------------------------------------------------- a worker */

static void
write_lines(BfBuildShared *shared, const BfGroupLines *lines, uint32 range)
{
	char		name[MAXPGPATH];
	BufFile    *file;

	name_file(name, lines->group.first_range + range);
	file = BufFileCreateFileSet(&shared->files.fs, name);
	for (int column = 0; column < lines->group.columns; column++)
		BufFileWrite(file, bf_index_lines_of_range(lines, column, range),
					 (Size) lines->group.lines[column] * SB_BF_LINE);
	BufFileExportFileSet(file);
	BufFileClose(file);
}

/* Makes the lines of a range of the current level, and writes them to a file. */
static void
make_range(BfBuildShared *shared, const BfGeometry *geometry, const BfGroup *group, BfTape *tape, uint32 number)
{
	const uint32 factor = bf_index_level_factor(geometry, shared->level);
	BfGroupLines *lines = palloc(sizeof(BfGroupLines));
	BfRangeLines to = {.lines = lines, .range = number - group->first_range};

	bf_index_make_lines(lines, geometry, group);
	bf_index_select_range(lines, to.range);
	bf_index_allocate_areas(lines);
	bf_index_read_tape(tape, number * factor, (number + 1) * factor, bf_index_add_row, &to);
	write_lines(shared, lines, to.range);
}

/* Waits until this range may be made: until it is less than shared->ahead ranges ahead of the leader. */
static void
wait_for_leader(BfBuildShared *shared, uint32 range)
{
	while (range >= pg_atomic_read_u32(&shared->reached) + shared->ahead)
		ConditionVariableSleep(&shared->changed, WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	ConditionVariableCancelSleep();
}

void
bf_index_work_on_upper_level(BfBuildShared *shared, Relation index)
{
	BfGeometry *geometry = bf_index_copy_geometry(bf_index_current_geometry(index));
	BfTape	   *tape = bf_index_open_tape(&shared->files, shared->task.columns, shared->batch_size);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "bf range", ALLOCSET_DEFAULT_SIZES);
	uint32		range;

	bf_index_set_tape_length(tape, shared->parts * bf_index_level_factor(geometry, shared->level));
	while (bf_index_take_part(shared, &range))
	{
		MemoryContext caller;
		BfGroup		group;

		CHECK_FOR_INTERRUPTS();
		bf_index_find_group(geometry, shared->level, range, &group);
		wait_for_leader(shared, range);
		caller = MemoryContextSwitchTo(context);
		make_range(shared, geometry, &group, tape, range);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(context);
		bf_index_set_part(shared, range, BF_PART_WRITTEN);
	}
	bf_index_end_tape(tape);
	MemoryContextDelete(context);
	pfree(geometry);
}

/* -------------------------------------------------------------------- the leader */

/*
 * Returns how many ranges workers may be ahead of the leader on a level of which `ranges` ranges are to be made; 0 if
 * workers are of no use for it.
 */
static uint32
ranges_ahead(const BfBuildWorkers *workers, const BfGeometry *geometry, int level, uint32 ranges)
{
	Size		most = 0;
	BfGroup		group;

	/* A single range cannot be shared out. Ranges that the tape lacks are read from the heap, by the leader alone. */
	if (ranges < 2 || bf_index_tape_length(workers->tape) < (uint64) ranges * bf_index_level_factor(geometry, level))
		return 0;
	for (uint32 range = 0; range < ranges; range = group.first_range + group.ranges)
	{
		bf_index_find_group(geometry, level, range, &group);
		most = Max(most, bf_index_bytes_of_range(&group));
	}
	if (most > (Size) maintenance_work_mem * 1024 / BF_PART_FOR_WORKERS / workers->context->nworkers_launched)
		return 0;
	/* a file grows by whole blocks */
	return temp_file_limit < 0 ? MOST_AHEAD :
		Min(MOST_AHEAD, (uint64) temp_file_limit * 1024 / TYPEALIGN(BLCKSZ, most));
}

bool
bf_index_begin_upper_level(BfBuildWorkers *workers, const BfGeometry *geometry, int level, uint32 ranges)
{
	BfBuildShared *shared = workers->leader.shared;

	Assert(ranges <= shared->task.upper_ranges);
	if (shared->ended)
		return false;
	shared->ahead = ranges_ahead(workers, geometry, level, ranges);
	if (shared->ahead == 0)
	{
		/* Ranges of higher levels are larger and fewer, so workers would be of no use for these either. */
		bf_index_release_workers(shared);
		return false;
	}
	bf_index_begin_level(shared, level, ranges);
	return true;
}

void
bf_index_leader_begins(BfBuildWorkers *workers, uint32 range)
{
	BfBuildShared *shared = workers->leader.shared;

	pg_atomic_write_u32(&shared->reached, range);
	ConditionVariableBroadcast(&shared->changed);
}

bool
bf_index_leader_takes(BfBuildWorkers *workers, uint32 range)
{
	return bf_index_take_this_part(workers->leader.shared, range);
}

void
bf_index_lines_from_workers(BfBuildWorkers *workers, BfGroupLines *lines, uint32 range)
{
	BfBuildShared *shared = workers->leader.shared;
	const uint32 number = lines->group.first_range + range;
	char		name[MAXPGPATH];
	BufFile    *file;

	bf_index_leader_begins(workers, number);
	/* Waiting raises the error of a worker that has failed. */
	while (bf_index_part_state(shared, number) == BF_PART_UNDONE)
		ConditionVariableSleep(&shared->changed, WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	ConditionVariableCancelSleep();
	name_file(name, number);
	file = BufFileOpenFileSet(&shared->files.fs, name, O_RDONLY, false);
	for (int column = 0; column < lines->group.columns; column++)
	{
		const Size	size = (Size) lines->group.lines[column] * SB_BF_LINE;

		if (BufFileRead(file, bf_index_lines_of_range(lines, column, range), size) != size)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not read the filters of a range from a temporary file")));
	}
	BufFileClose(file);
	BufFileDeleteFileSet(&shared->files.fs, name, false);
	workers->ranges_taken_over++;
}

void
bf_index_end_upper_level(BfBuildWorkers *workers)
{
	BfBuildShared *shared = workers->leader.shared;

	bf_index_end_level(shared);
	ereport(DEBUG1,
			(errmsg_internal("parallel workers have made the filters of %u of %u ranges of level %d",
							 workers->ranges_taken_over, shared->parts, shared->level)));
	workers->ranges_taken_over = 0;
}
