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

/*
 * The state of a part of the work: of a batch of ranges of level 0, or of one range of a level above 0. A range above
 * level 0 stays BF_PART_UNDONE if the leader makes it, because it needs no file.
 */
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
	TransactionId oldest_xmin;	/* what bf_index_oldest_xmin() says of the leader's reader */
	uint32		batch_size;		/* how many ranges of level 0 a batch has; the last one may have fewer */
	SharedFileSet files;
	ConditionVariable changed;	/* signalled when anything changes that a process may wait for */
	pg_atomic_uint64 blocks;	/* blocks of the heap that were read, for the view of progress */

	slock_t		mutex;			/* protects what follows, up to `horizons` */
	uint32		begun;			/* how many levels the leader has begun */
	bool		is_open;		/* workers may begin to work on the level that was begun last */
	uint32		at_work;		/* how many workers work on that level now */
	bool		ended;			/* the leader will begin no further level: workers that are waiting exit */
	/* of all workers that have left level 0 */
	double		live_rows;
	double		rows;
	BfHorizons	horizons;

	/* the level that was begun last; the leader sets the first three fields when no worker is at work */
	int			level;
	uint32		parts;			/* its number of batches or, above level 0, of ranges */
	uint32		ahead;			/* above level 0, workers make ranges before `reached` + `ahead` only */
	pg_atomic_uint32 reached;	/* the leader has taken over, or made, all ranges before this one */
	pg_atomic_uint32 taken;		/* how many parts were taken, from part 0 on; may be larger than `parts` */
	pg_atomic_uint32 states[FLEXIBLE_ARRAY_MEMBER];	/* a BfPartState of each part */
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
	BfBuildReading leader;
	uint32		ranges_taken_over;	/* ranges of the current level above 0 that workers have made */
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

/* Begins a level: workers take parts of it from now on. REQUIRES: bf_index_end_level() ended the one before. */
extern void bf_index_begin_level(BfBuildShared *shared, int level, uint32 parts);

/* Lets no worker begin to work on the level any more, and waits until none is at work on it. */
extern void bf_index_end_level(BfBuildShared *shared);

/* Tells the workers that no further level will be begun. Those that are waiting exit. */
extern void bf_index_release_workers(BfBuildShared *shared);

/*
 * What a worker does for level 0, and for a level above. bf_index_work_on_ranges() returns false if temp_file_limit has
 * no room for more files of this worker. Then this worker exits.
 */
extern bool bf_index_work_on_ranges(BfBuildShared *shared, Relation heap, Relation index);
extern void bf_index_work_on_upper_level(BfBuildShared *shared, Relation index);

#endif
