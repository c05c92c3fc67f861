/*
 * abf.h: declarations that the files for abf values share. src/core/abf/sb_abf.h says what a filter promises.
 */
#ifndef STREAMBLOOM_PG_ABF_H
#define STREAMBLOOM_PG_ABF_H

#include "base/compat.h"

#include "utils/timestamp.h"

#include "base/elements.h"
#include "base/item.h"

#define ABF_DEFAULT_ITEMS 100000
#define ABF_DEFAULT_FPR 0.01

/*
 * A filter in memory: its decoded header, and its slices. The slices are inside the detoasted value and must not be
 * written. A filter in which no bit is set has none.
 */
typedef struct AbfValue
{
	sb_abf		header;
	const unsigned char *slices;
} AbfValue;

#define ABF_PENDING 256

/*
 * A filter that may be changed. Functions have it inside a new value; aggregates and window functions have it in their
 * memory. The slices are made when the first item comes.
 */
typedef struct AbfState
{
	sb_abf		header;
	unsigned char *slices;
	MemoryContext context;		/* of the slices */
	struct varlena *value;		/* in which the slices are; NULL: they are alone */
	TimestampTz not_after;		/* the latest time that an item may have */

	const ItemHasher *hasher;	/* all items of this hasher are of the filter's kind; or NULL */

	/* items that are added together: see abf_add_later() */
	uint32		pending_count;
	uint64_t	hashes[ABF_PENDING];
	int64_t		times[ABF_PENDING];
} AbfState;

/* Parameters as a user gives them; an integer that is ABF_CHOOSE is to be chosen. */
#define ABF_CHOOSE PG_INT64_MIN

typedef struct AbfParameters
{
	int64		items;			/* the window; by time the number of items that it is expected to have */
	double		fpr;
	int64		within;			/* microseconds; 0: by items */
	int64		hash_count;
	int64		generations;
} AbfParameters;

#define ABF_DEFAULTS {.items = ABF_DEFAULT_ITEMS, .fpr = ABF_DEFAULT_FPR, \
	.hash_count = ABF_CHOOSE, .generations = ABF_CHOOSE}

/* Checks a window of time, and returns it in microseconds. */
extern int64 abf_within(const Interval *interval);

/* Plans a filter; the last plan is kept, as in stable_plan(). Raises an error if a parameter is out of range. */
extern void abf_plan(const AbfParameters *parameters, sb_abf *out);

extern void abf_open(Datum value, AbfValue *abf);

/* Reads the header of a value; the rest of a stored value is not read. */
extern void abf_open_header(Datum value, sb_abf *header);

/* Raises an error if the filter is by time and no time is given, or the other way round. */
extern void abf_must_be_by_items(const sb_abf *header);
extern void abf_must_be_by_time(const sb_abf *header);

/*
 * Raise an error unless the time is finite and in range; and if it lies after the latest time allowed. The default is
 * the window, but at least a minute and at most a day, after the transaction began.
 */
extern void abf_check_time(TimestampTz at);
extern void abf_check_not_after(TimestampTz at, TimestampTz not_after);
extern TimestampTz abf_default_not_after(const sb_abf *header);
extern SB_NORETURN void abf_refuse_null_time(void);

/* Sets up a state of a filter without items, or with a copy of a filter's slices, in this context. */
extern void abf_state_init(AbfState *state, MemoryContext context, const sb_abf *header);
extern void abf_state_copy(AbfState *state, MemoryContext context, const AbfValue *from);

/* Makes a value of this filter. `slices` may be NULL if the filter is not filled. */
extern Datum abf_store(const sb_abf *header, const unsigned char *slices);

/* Makes a state that changes a copy of a filter, which becomes a value in this context; abf_changed() completes it. */
extern void abf_copy_to_change(AbfState *state, MemoryContext context, const AbfValue *from);
extern Datum abf_changed(AbfState *state);

/* The slices of the state are in memory after this. */
extern void abf_need_slices(AbfState *state);

/* The hash of an item that is to be added. A filter without a kind gets the kind of the item. */
extern uint64_t abf_hash_slowly(AbfState *state, ItemHasher *hasher, Datum item);

static inline uint64_t
abf_hash(AbfState *state, ItemHasher *hasher, Datum item)
{
	return likely(state->hasher == hasher) ? item_hash(hasher, item) : abf_hash_slowly(state, hasher, item);
}

/*
 * Adds items. `times` is not read if the filter is by items; `duplicates` may be NULL. abf_add_later() adds an item
 * together with others, abf_settle() adds those that are pending.
 */
extern void abf_add_hashes(AbfState *state, const uint64_t *hashes, const int64_t *times, size_t count,
						   bool *duplicates);
extern void abf_settle(AbfState *state);

static inline void
abf_add_later(AbfState *state, ItemHasher *hasher, Datum item, TimestampTz at)
{
	state->hashes[state->pending_count] = abf_hash(state, hasher, item);
	state->times[state->pending_count] = at;
	if (++state->pending_count == ABF_PENDING)
		abf_settle(state);
}

/* The rate of false positives that follows from the bits of a filter. `set` is what sb_abf_count() gives. */
extern double abf_current_rate(const sb_abf *header, const uint64_t *set);

/* Warns if a filter by time has more than twice the rate asked for, because more items came than were expected. */
extern void abf_warn_if_full(const sb_abf *header, const unsigned char *slices);

/* Unites `other` into the state. Raises an error if their parameters or kinds do not allow it. */
extern void abf_unite(AbfState *state, const AbfValue *other);

#endif
