/*
 * build_shared.h: what the processes of a parallel build share, for build_workers.c, build_ranges.c and build_upper.c.
 */
#ifndef STREAMBLOOM_PG_INDEX_BUILD_SHARED_H
#define STREAMBLOOM_PG_INDEX_BUILD_SHARED_H

#include "index/build_workers.h"

#include "access/parallel.h"
#include "executor/instrument.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/sharedfileset.h"
#include "storage/spin.h"

/* The state of a part of the work: of a batch of ranges of level 0, or of one range of a level above. */
typedef enum BfPartState
{
	BF_PART_UNDONE,				/* nobody has taken it, or it is being done */
	BF_PART_WRITTEN,			/* its file is there */
	BF_PART_LEFT				/* of level 0 only: there was no room for its file */
} BfPartState;

/* What all processes of a build share. */
typedef struct BfBuildShared
{
	BfBuildTask task;
	TransactionId oldest_xmin;	/* that of the leader's reader */
	uint32		batch_size;		/* how many ranges of level 0 a batch has; the last one may have fewer */
	uint32		batches;
	int			level;			/* which one the workers make now */
	uint32		parts;			/* its number of batches or, above level 0, of ranges */
	pg_atomic_uint32 taken;		/* how many parts were taken, from part 0 on; may be larger than `parts` */
	uint32		ahead;			/* above level 0, workers make ranges before `reached` + `ahead` only */
	pg_atomic_uint32 reached;	/* the leader has taken over, or made, all ranges before this one */
	pg_atomic_uint64 blocks;	/* blocks of the heap that were read, for the view of progress */
	ConditionVariable changed;	/* signalled when the state of a part or `reached` changes */
	slock_t		mutex;			/* protects live_rows, rows and horizons, which are those of all workers together */
	double		live_rows;
	double		rows;
	BfHorizons	horizons;
	SharedFileSet files;
	pg_atomic_uint32 states[FLEXIBLE_ARRAY_MEMBER];	/* a BfPartState of each part of any level */
} BfBuildShared;

/* A process that reads ranges of level 0: the leader or a worker. */
typedef struct BfBuildReading
{
	BfBuildShared *shared;
	BfHeapReader *reader;
	BfTapeWriter *writer;		/* NULL once temp_file_limit has no room for more */
	bool		shows_progress;
} BfBuildReading;

struct BfBuildWorkers
{
	ParallelContext *context;
	bool		running;		/* workers were started and not waited for yet */
	BfBuildReading leader;
	uint32		ranges_taken_over;	/* how many ranges of a level above 0 workers have made */
	WalUsage   *wal;
	BufferUsage *buffers;
	BfTape	   *tape;
};

static inline void
bf_index_set_part(BfBuildShared *shared, uint32 part, BfPartState state)
{
	/* whoever sees the new state must see the complete file */
	pg_write_barrier();
	pg_atomic_write_u32(&shared->states[part], state);
	ConditionVariableBroadcast(&shared->changed);
}

static inline BfPartState
bf_index_part_state(BfBuildShared *shared, uint32 part)
{
	BfPartState state = (BfPartState) pg_atomic_read_u32(&shared->states[part]);

	pg_read_barrier();
	return state;
}

/* Takes the next part. Returns false if all were taken. */
static inline bool
bf_index_take_part(BfBuildShared *shared, uint32 *part)
{
	if (pg_atomic_read_u32(&shared->taken) >= shared->parts)
		return false;
	*part = pg_atomic_fetch_add_u32(&shared->taken, 1);
	return *part < shared->parts;
}

/* Takes this part. Returns false if another process has it already. REQUIRES: all parts before it are taken. */
static inline bool
bf_index_take_this_part(BfBuildShared *shared, uint32 part)
{
	return pg_atomic_compare_exchange_u32(&shared->taken, &part, part + 1);
}

/* Sets up the state of the parts of a level. REQUIRES: no worker runs. */
extern void bf_index_begin_parts(BfBuildShared *shared, int level, uint32 parts);

/* Starts the workers for the parts of bf_index_begin_parts(). */
extern void bf_index_launch_workers(BfBuildWorkers *workers);

/* Waits until all workers have ended, and counts their use of buffers and WAL as this process's. */
extern void bf_index_wait_for_workers(BfBuildWorkers *workers);

/* What a worker does for level 0, and for a level above. */
extern void bf_index_work_on_ranges(BfBuildShared *shared, Relation heap, Relation index);
extern void bf_index_work_on_upper_level(BfBuildShared *shared, Relation index);

#endif
