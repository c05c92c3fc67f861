/*
 * stable.h: declarations that the files for stable filters share. In the core sbf and ibf share one struct, whose
 * scheme says which of the two it is. So most functions are one C function for both types, named stable_...
 *
 * A *step* is what the filter does for one item: it tests whether all cells of the item are non-zero (then the item is
 * a *duplicate*), it *evicts* (some random cells lose 1), and it raises the item's cells to a value. In an sbf this is
 * the largest value of a cell; in an ibf it follows from the item's *importance*. An ibf without a range of importances
 * *ranks* them: it compares each with a sample of the latest importances. core/stable/sb_stable.h says more.
 */
#ifndef STREAMBLOOM_PG_STABLE_H
#define STREAMBLOOM_PG_STABLE_H

#include "base/compat.h"

#include <math.h>

#include "base/elements.h"
#include "base/item.h"

#define STABLE_DEFAULT_BYTES 262144
#define STABLE_DEFAULT_FPR 0.01

/*
 * A filter in memory: its decoded header, and its cells. The cells are inside the detoasted value and must not be
 * written. A filter without items has no cells.
 */
typedef struct StableValue
{
	sb_stable	header;
	const unsigned char *cells;
} StableValue;

#define STABLE_PENDING 256

/*
 * A filter that may be changed. In a function its cells lie inside a new value; in an aggregate or a window function
 * they are a block of memory of their own. A filter without items gets cells when its first item comes.
 */
typedef struct StableState
{
	sb_stable	header;
	unsigned char *cells;		/* NULL: no item has arrived */
	MemoryContext context;		/* the memory context of the cells */
	struct varlena *value;		/* the value that contains the cells; NULL: they are a block of their own */

	const ItemHasher *hasher;	/* all items of this hasher are of the filter's kind; NULL: no such hasher is known */

	/* pending steps, in their order: see stable_step_later() */
	uint32		pending_count;
	uint8_t		values[STABLE_PENDING];
	uint64_t	hashes[STABLE_PENDING];
} StableState;

/* Parameters as a user gives them. STABLE_CHOOSE, a number that no user can give, leaves the parameter to the plan. */
#define STABLE_CHOOSE PG_INT64_MIN

typedef struct StableParameters
{
	int64		bytes;
	double		fpr;
	sb_scheme	scheme;
	/*
	 * low and high: the range of importances; in the scheme two_class both are the threshold. NaN: there is no range,
	 * and importances are ranked.
	 */
	double		low;
	double		high;
	int64		hash_count;
	int64		bits;
	int64		evictions;
	int64		seed;
} StableParameters;

#define STABLE_DEFAULTS {.bytes = STABLE_DEFAULT_BYTES, .fpr = STABLE_DEFAULT_FPR, \
	.hash_count = STABLE_CHOOSE, .bits = STABLE_CHOOSE, .evictions = STABLE_CHOOSE}
#define IBF_DEFAULTS {.bytes = STABLE_DEFAULT_BYTES, .fpr = STABLE_DEFAULT_FPR, \
	.scheme = SB_MULTI_CLASS, .low = NAN, .high = NAN, \
	.hash_count = STABLE_CHOOSE, .bits = STABLE_CHOOSE, .evictions = STABLE_CHOOSE}

/* The name of the type ("sbf" or "ibf"), and the name of the scheme ("two_class" and so on). */
extern const char *stable_type_name(const sb_stable *header);
extern const char *stable_scheme_name(int scheme);

/* Returns the scheme with this name (a text). Raises an error if there is none. */
extern sb_scheme ibf_scheme(Datum scheme_name);

extern void stable_open(Datum value, StableValue *stable);

/*
 * Plans a filter. Raises an error if a parameter is out of range. The last plan is kept for the next call: a search for
 * the number of evictions may take 100 microseconds and more, and if an argument of sbf_empty() or ibf_empty() is a
 * column, every row plans a filter.
 */
extern void stable_plan(const StableParameters *parameters, sb_stable *out);

/*
 * The arguments of sbf_empty() and ibf_empty(), which are also the fields of the types sbf_parameters and
 * ibf_parameters.
 */
enum
{
	SBF_BYTES,
	SBF_FPR,
	SBF_HASHES,
	SBF_CELL_BITS,
	SBF_EVICTIONS,
	SBF_SEED,
	SBF_FIELDS
};

enum
{
	IBF_BYTES,
	IBF_FPR,
	IBF_SCHEME,
	IBF_LOW,
	IBF_HIGH,
	IBF_THRESHOLD,
	IBF_HASHES,
	IBF_CELL_BITS,
	IBF_EVICTIONS,
	IBF_SEED,
	IBF_FIELDS
};

/* Plans a filter from these fields. A field that is null gets its default. */
extern void sbf_plan(const NullableDatum *fields, sb_stable *out);
extern void ibf_plan(const NullableDatum *fields, sb_stable *out);

/*
 * Sets the range of importances from two arguments. If only `high` is given, the range begins at 0. If both are null,
 * there is no range, and *parameters is not changed. Raises an error if only `low` is given, or if an end is infinite
 * or NaN.
 */
extern void ibf_range(NullableDatum low, NullableDatum high, StableParameters *parameters);

/*
 * Set up a state whose cells are allocated in this context: stable_state_init() for a filter without items,
 * stable_state_copy() with a copy of the filter `from`.
 */
extern void stable_state_init(StableState *state, MemoryContext context, const sb_stable *header);
extern void stable_state_copy(StableState *state, MemoryContext context, const StableValue *from);

/* Makes a value of this filter. `cells` may be NULL; then all cells are zero. */
extern Datum stable_store(const sb_stable *header, const unsigned char *cells);

/*
 * stable_copy_to_change() makes a state with a copy of a filter. The copy lies in a new value, allocated in this
 * context. After the changes stable_changed() writes the state's header into the state's value, and returns this value.
 */
extern void stable_copy_to_change(StableState *state, MemoryContext context, const StableValue *from);
extern Datum stable_changed(StableState *state);

/*
 * Returns the hash of an item that is to be added. Raises an error if the item is not of the filter's kind. If the
 * filter has no kind yet, it gets the kind of the item.
 */
extern uint64_t stable_hash_slowly(StableState *state, ItemHasher *hasher, Datum item);

static inline uint64_t
stable_hash(StableState *state, ItemHasher *hasher, Datum item)
{
	return likely(state->hasher == hasher) ? item_hash(hasher, item) : stable_hash_slowly(state, hasher, item);
}

/* Makes one step with this item, whose cells become at least `value`. Returns whether the item is a duplicate. */
extern bool stable_step(StableState *state, ItemHasher *hasher, Datum item, uint8_t value);

/*
 * Makes a step for each non-null element of an array, in batches. `importances` has an importance for each element;
 * it is NULL for an sbf. If `flags` is not NULL, flags[i] says whether element i is a duplicate, and nulls[i] whether
 * it is null.
 */
extern void stable_step_all(StableState *state, Elements *items, Elements *importances, Datum *flags, bool *nulls);

/*
 * stable_step_later() keeps a step pending, so that many are made together. It is for callers that add one item at a
 * time and do not ask whether it is a duplicate. stable_settle() makes the pending steps.
 */
extern void stable_settle(StableState *state);

static inline void
stable_step_later(StableState *state, ItemHasher *hasher, Datum item, uint8_t value)
{
	state->hashes[state->pending_count] = stable_hash(state, hasher, item);
	state->values[state->pending_count] = value;
	/* A step of value-weighted eviction may take milliseconds. stable_settle() checks for interrupts before each. */
	if (++state->pending_count == STABLE_PENDING || unlikely(state->header.scheme == SB_VALUE_WEIGHTED))
		stable_settle(state);
}

/* Raises the error for an importance that is null (if is_null is true) or NaN. */
extern SB_NORETURN void stable_refuse_importance(bool is_null);

static inline void
stable_check_importance(bool is_null, double importance)
{
	if (unlikely(is_null || isnan(importance)))
		stable_refuse_importance(is_null);
}

/*
 * stable_importance() returns the value to which an item of this importance sets its cells. Raises an error if the
 * importance is null or NaN. If the filter ranks importances, stable_ranked_importance() does this: it notes the
 * importance in the filter's sample, and then ranks it.
 */
extern uint8_t stable_ranked_importance(StableState *state, double importance);

static inline uint8_t
stable_importance(StableState *state, bool is_null, double importance)
{
	stable_check_importance(is_null, importance);
	return state->header.ranked ? stable_ranked_importance(state, importance) :
		sb_stable_value_of(&state->header, NULL, importance);
}

/* Plans the union of a and b. Raises an error if their parameters or kinds do not allow it. */
extern void stable_plan_union(const sb_stable *a, const sb_stable *b, sb_stable *out);

/* Returns an integer parameter, or STABLE_CHOOSE if it is null. */
extern int64 stable_optional(NullableDatum field);

/*
 * The functions *_add_all() and *_check_add(), which add the elements of argument 1. stable_add_all() returns the
 * changed filter. stable_check_add() returns a record of the changed filter and an array of flags: was the element a
 * duplicate? The flag of a null element is null. `importances` is as for stable_step_all().
 */
extern Datum stable_add_all(FunctionCallInfo fcinfo, Elements *importances);
extern Datum stable_check_add(FunctionCallInfo fcinfo, Elements *importances);

/*
 * Returns the parameters of the formulas for this filter; the result points to shares[]. shares[i - 1] becomes the
 * share of the items that set their cells to i, if their importances are uniform.
 */
extern sb_stable_chain stable_chain(const sb_stable *header, double shares[SB_STABLE_MAX_VALUE]);

#endif
