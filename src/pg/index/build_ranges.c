/*
 * build_ranges.c: level 0 of a parallel build.
 *
 * Nearly all of the time of a build goes into reading ranges of level 0: taking rows apart and hashing what they
 * have. Ranges do not depend on each other. So the leader and its workers take batches of ranges from a common
 * counter, and write the items of each batch into a file of its own. The leader makes the groups from these files in
 * the order of the ranges, as if it had read all ranges itself. So the index does not depend on which process has
 * read a range. While the file of the next batch is not complete yet, the leader reads a batch that nobody has taken.
 * The levels above come from the same files.
 *
 * A process whose files would exceed temp_file_limit writes no more batches. If it is a worker, it exits. When the
 * leader comes to a range that is in no file, it reads the range itself.
 */
#include "index/build_shared.h"

#include "commands/progress.h"
#include "miscadmin.h"
#include "utils/backend_progress.h"
#include "utils/wait_event.h"

#include "index/heap.h"
#include "index/tape.h"

/* Reads the ranges of a batch and writes their items. Returns false if temp_file_limit leaves no room for them. */
static bool
read_ranges(BfBuildReading *reading, uint32 batch)
{
	BfBuildShared *shared = reading->shared;
	const BfBuildTask *task = &shared->task;
	const uint64 first = (uint64) batch * shared->batch_size;
	const uint64 end = Min(first + shared->batch_size, task->ranges);

	bf_index_begin_batch(reading->writer, batch);
	for (uint64 range = first; range < end; range++)
	{
		BfRangeItems items;
		uint64		block = range * task->pages_per_range;
		bool		written;

		bf_index_read_range(reading->reader, (uint32) range, task->pages_per_range, task->heap_blocks, &items);
		written = bf_index_write_range(reading->writer, &items);
		bf_index_free_items(&items);
		if (!written)
			return false;
		pg_atomic_fetch_add_u64(&shared->blocks, Min(block + task->pages_per_range, task->heap_blocks) - block);
		if (reading->shows_progress)
			pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE, pg_atomic_read_u64(&shared->blocks));
	}
	bf_index_end_batch(reading->writer);
	return true;
}

/* Takes a batch and reads it. Returns false if all were taken. */
static bool
take_batch(BfBuildReading *reading)
{
	BfBuildShared *shared = reading->shared;
	const double live_rows = bf_index_reader_live_rows(reading->reader);
	const double rows = bf_index_reader_rows(reading->reader);
	uint32		batch;

	if (!bf_index_take_part(shared, &batch))
		return false;
	if (reading->writer != NULL && read_ranges(reading, batch))
		bf_index_set_part(shared, batch, BF_PART_WRITTEN);
	else
	{
		reading->writer = NULL;
		/* the leader will read the batch again, and count its rows then */
		bf_index_forget_rows(reading->reader);
		bf_index_add_rows(reading->reader, live_rows, rows);
		bf_index_set_part(shared, batch, BF_PART_LEFT);
	}
	return true;
}

/*
 * Takes this batch without reading it. The leader does this once temp_file_limit has no room for more of its files;
 * then it reads the batch's ranges one at a time, and keeps no file of them. Returns false if another process has
 * taken the batch already. REQUIRES: all batches before it are taken.
 */
static bool
leave_batch(BfBuildShared *shared, uint32 batch)
{
	if (!bf_index_take_this_part(shared, batch))
		return false;
	bf_index_set_part(shared, batch, BF_PART_LEFT);
	return true;
}

bool
bf_index_work_on_ranges(BfBuildShared *shared, Relation heap, Relation index)
{
	BfBuildReading reading = {.shared = shared};
	BfHorizons	horizons;
	double		live_rows,
				rows;

	reading.reader = bf_index_open_heap(heap, index, false);
	bf_index_share_oldest_xmin(reading.reader, shared->oldest_xmin);
	reading.writer = bf_index_begin_tape_writer(&shared->files, shared->task.columns);
	while (reading.writer != NULL && take_batch(&reading))
		CHECK_FOR_INTERRUPTS();
	live_rows = bf_index_reader_live_rows(reading.reader);
	rows = bf_index_reader_rows(reading.reader);
	horizons = bf_index_reader_horizons(reading.reader);
	bf_index_close_heap(reading.reader);
	SpinLockAcquire(&shared->mutex);
	shared->live_rows += live_rows;
	shared->rows += rows;
	shared->horizons = bf_index_greater_horizons(shared->horizons, horizons);
	SpinLockRelease(&shared->mutex);
	return reading.writer != NULL;
}

bool
bf_index_range_from_workers(BfBuildWorkers *workers, uint32 range, BfRangeItems *items)
{
	BfBuildShared *shared = workers->leader.shared;
	const uint32 batch = range / shared->batch_size;

	while (bf_index_part_state(shared, batch) == BF_PART_UNDONE)
	{
		const bool	took = workers->leader.writer != NULL ? take_batch(&workers->leader) : leave_batch(shared, batch);

		/* Waiting raises the error of a worker that has failed. */
		if (!took && bf_index_part_state(shared, batch) == BF_PART_UNDONE)
			ConditionVariableSleep(&shared->changed, WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
	if (bf_index_part_state(shared, batch) == BF_PART_LEFT)
		return false;
	bf_index_range_from_tape(workers->tape, range, items);
	return true;
}

BfTape *
bf_index_finish_ranges(BfBuildWorkers *workers)
{
	BfBuildShared *shared = workers->leader.shared;
	uint32		complete = 0;

	/*
	 * If the directory (the index's list of groups) became full, build.c has not asked for the last ranges. The levels
	 * above need them as well.
	 */
	while (workers->leader.writer != NULL && take_batch(&workers->leader))
		CHECK_FOR_INTERRUPTS();
	bf_index_end_level(shared);
	bf_index_add_rows(workers->leader.reader, shared->live_rows, shared->rows);
	bf_index_raise_horizons(workers->leader.reader, shared->horizons);
	while (complete < shared->parts && bf_index_part_state(shared, complete) == BF_PART_WRITTEN)
		complete++;
	bf_index_set_tape_length(workers->tape, (uint32) Min((uint64) complete * shared->batch_size, shared->task.ranges));
	return workers->tape;
}
