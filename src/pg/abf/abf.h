/*
 * abf.h: declarations that the files for abf values share. src/core/abf/sb_abf.h says what a filter promises.
 *
 * A filter *by items* remembers a number of latest items. A filter *by time* remembers the items of the latest hour, or
 * of another interval, and each of its items has a time. This number or interval is the *window*. The bits of a filter
 * are cut into *slices*, which hold the items of different parts of the window; the oldest slice is given up whenever a
 * new one begins.
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
 * written. A filter in which no bit is set has no slices.
 */
typedef struct AbfValue
{
	sb_abf		header;
	const unsigned char *slices;
} AbfValue;

#define ABF_PENDING 256

/*
 * A filter that may be changed. In a function and in abf_union_agg its slices lie inside a value; in the other
 * aggregates and the window function they are a block of memory of their own. A filter without bits gets its slices
 * when something is added to it.
 */
typedef struct AbfState
{
	sb_abf		header;
	unsigned char *slices;
	MemoryContext context;		/* the memory context of the slices */
	struct varlena *value;		/* the value that contains the slices; NULL: they are a block of their own */
	TimestampTz not_after;		/* the latest time that an item may have */

	const ItemHasher *hasher;	/* all items of this hasher are of the filter's kind; NULL: no such hasher is known */

	/* items that are added together: see abf_add_later() */
	uint32		pending_count;
	uint64_t	hashes[ABF_PENDING];
	int64_t		times[ABF_PENDING];
} AbfState;

/* Parameters as a user gives them. An integer that is ABF_CHOOSE is left to the plan. */
#define ABF_CHOOSE PG_INT64_MIN

typedef struct AbfParameters
{
	int64		items;			/* the window in items; by time: the items expected within the window */
	double		fpr;
	int64		within;			/* microseconds; 0: by items */
	int64		hash_count;
	int64		generations;
} AbfParameters;

#define ABF_DEFAULTS {.items = ABF_DEFAULT_ITEMS, .fpr = ABF_DEFAULT_FPR, \
	.hash_count = ABF_CHOOSE, .generations = ABF_CHOOSE}

/* Returns a window of time in microseconds. Raises an error if it is out of range. */
extern int64 abf_within(const Interval *interval);

/*
 * Plans a filter. Raises an error if a parameter is out of range. The last plan is kept for the next call: if an
 * argument of abf_empty() is a column, every row plans a filter.
 */
extern void abf_plan(const AbfParameters *parameters, sb_abf *out);

extern void abf_open(Datum value, AbfValue *abf);

/* Reads the header of a value. It does not read the rest of a stored value. */
extern void abf_open_header(Datum value, sb_abf *header);

/*
 * abf_must_be_by_items() is called if the user gives no time, and raises an error for a filter by time.
 * abf_must_be_by_time() is called if the user gives a time, and raises an error for a filter by items.
 */
extern void abf_must_be_by_items(const sb_abf *header);
extern void abf_must_be_by_time(const sb_abf *header);

/*
 * abf_check_time() raises an error unless the time is finite and in range. abf_check_not_after() raises an error if
 * the time lies after not_after, the latest time that an item may have. abf_default_not_after() returns the default
 * of not_after: one window after the start of the transaction, but at least a minute and at most a day after it.
 */
extern void abf_check_time(TimestampTz at);
extern void abf_check_not_after(TimestampTz at, TimestampTz not_after);
extern TimestampTz abf_default_not_after(const sb_abf *header);
extern SB_NORETURN void abf_refuse_null_time(void);

/*
 * Set up a state whose slices are allocated in this context: abf_state_init() for a filter without items,
 * abf_state_copy() with a copy of the filter `from`.
 */
extern void abf_state_init(AbfState *state, MemoryContext context, const sb_abf *header);
extern void abf_state_copy(AbfState *state, MemoryContext context, const AbfValue *from);

/* Makes a value of this filter. `slices` may be NULL if no bit is set (header->filled is false). */
extern Datum abf_store(const sb_abf *header, const unsigned char *slices);

/*
 * abf_copy_to_change() makes a state with a copy of a filter. The copy lies in a new value, allocated in this
 * context. After the changes abf_changed() writes the state's header into this value, and returns it. If no bit is
 * left, it frees the memory of the slices.
 */
extern void abf_copy_to_change(AbfState *state, MemoryContext context, const AbfValue *from);
extern Datum abf_changed(AbfState *state);

/* Makes the slices of the state if they do not exist yet. */
extern void abf_need_slices(AbfState *state);

/* Returns the hash of an item that is to be added. If the filter has no kind yet, it gets the kind of the item. */
extern uint64_t abf_hash_slowly(AbfState *state, ItemHasher *hasher, Datum item);

static inline uint64_t
abf_hash(AbfState *state, ItemHasher *hasher, Datum item)
{
	return likely(state->hasher == hasher) ? item_hash(hasher, item) : abf_hash_slowly(state, hasher, item);
}

/*
 * Add items. abf_add_hashes() adds them immediately; it does not read `times` if the filter is by items, and
 * `duplicates` may be NULL. abf_add_later() keeps an item pending, so that many are added together; abf_settle() adds
 * the pending items.
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

/* The false-positive rate that follows from the bits of a filter. `set` is the result of sb_abf_count(). */
extern double abf_current_rate(const sb_abf *header, const uint64_t *set);

/*
 * Raises the warning of rate_warning.h if a filter by time has more than twice the rate asked for, because more items
 * came than were expected.
 */
extern void abf_warn_if_full(const sb_abf *header, const unsigned char *slices);

/* Unites `other` into the state. Raises an error if their parameters or kinds do not allow it. */
extern void abf_unite(AbfState *state, const AbfValue *other);

#endif
