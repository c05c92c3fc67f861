/*
 * stable.h: what the files that deal with the stable filters share. sbf and ibf are one form in the core, whose header
 * says which of the two it is; so most functions are one C function for both, named stable_...
 */
#ifndef STREAMBLOOM_PG_STABLE_H
#define STREAMBLOOM_PG_STABLE_H

#include "base/compat.h"

#include <math.h>

#include "base/elements.h"
#include "base/item.h"

#define STABLE_DEFAULT_BYTES 262144
#define STABLE_DEFAULT_FPR 0.01

/* A filter at hand: its header decoded, its cells (inside the detoasted value: not to be written). */
typedef struct StableValue
{
	sb_stable	header;
	const unsigned char *cells;
} StableValue;

#define STABLE_PENDING 256

/* A filter that may be changed: by functions inside a new value, by aggregates and window functions in their memory. */
typedef struct StableState
{
	sb_stable	header;
	unsigned char *cells;

	const ItemHasher *hasher;	/* whose items are known to be of the filter's kind, all of them */

	/* steps that are still to be made, in their order: stable_step_later() */
	uint32		pending_count;
	uint8_t		values[STABLE_PENDING];
	uint64_t	hashes[STABLE_PENDING];
} StableState;

/* Parameters as a person gives them; those that are to be chosen are a number that nobody can give. */
#define STABLE_CHOOSE PG_INT64_MIN

typedef struct StableParameters
{
	int64		bytes;
	double		fpr;
	sb_scheme	scheme;
	double		low;
	double		high;
	int64		hash_count;
	int64		bits;
	int64		evictions;
	int64		seed;
} StableParameters;

#define STABLE_DEFAULTS {.bytes = STABLE_DEFAULT_BYTES, .fpr = STABLE_DEFAULT_FPR, \
	.hash_count = STABLE_CHOOSE, .bits = STABLE_CHOOSE, .evictions = STABLE_CHOOSE}
#define IBF_DEFAULTS {.bytes = STABLE_DEFAULT_BYTES, .fpr = STABLE_DEFAULT_FPR, .scheme = SB_MULTI_CLASS, .high = 1, \
	.hash_count = STABLE_CHOOSE, .bits = STABLE_CHOOSE, .evictions = STABLE_CHOOSE}

/* "sbf" or "ibf"; "two_class" and so on. */
extern const char *stable_type_name(const sb_stable *header);
extern const char *stable_scheme_name(int scheme);

/* The scheme of an ibf of this name (a text), or an error. */
extern sb_scheme ibf_scheme(Datum scheme_name);

extern void stable_open(Datum value, StableValue *stable);

/*
 * Plans a filter, or raises the error that says what is wrong with its parameters. The last plan is kept: a search for P takes
 * up to 100 microseconds, and *_empty() with a column among its arguments is called for every row.
 */
extern void stable_plan(const StableParameters *parameters, sb_stable *out);

/* The arguments of sbf_empty() and ibf_empty(), which are also the fields of the types sbf_parameters and ibf_parameters. */
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

/* Plans a filter of these; those that are null have their default. */
extern void sbf_plan(const NullableDatum *fields, sb_stable *out);
extern void ibf_plan(const NullableDatum *fields, sb_stable *out);

/* Memory for an empty filter of these parameters, or for a copy. */
extern void stable_state_init(StableState *state, MemoryContext context, const sb_stable *header);
extern void stable_state_copy(StableState *state, MemoryContext context, const StableValue *from);

/* A new value: this filter, or an empty one (cells: NULL). */
extern Datum stable_store(const sb_stable *header, const unsigned char *cells);

/*
 * A copy as a new value in this context, whose cells the state changes. stable_changed() finishes the value: it writes the header
 * that the state has then.
 */
extern struct varlena *stable_copy_to_change(StableState *state, MemoryContext context, const StableValue *from);
extern Datum stable_changed(const StableState *state, struct varlena *copy);

/* What cells can be at most. */
static inline uint8_t
stable_max(const sb_stable *header)
{
	return (uint8_t) ((1 << header->bits) - 1);
}

/* The hash of an item that is to be added: its kind must be the filter's, which has it from then on. */
extern uint64_t stable_hash_slowly(StableState *state, ItemHasher *hasher, Datum item);

static inline uint64_t
stable_hash(StableState *state, ItemHasher *hasher, Datum item)
{
	return likely(state->hasher == hasher) ? item_hash(hasher, item) : stable_hash_slowly(state, hasher, item);
}

/* One step with this item. Returns whether it is a duplicate. value: of the cells. */
extern bool stable_step(StableState *state, ItemHasher *hasher, Datum item, uint8_t value);

/*
 * The same for all elements of an array that are not null, by the batch. importances: as many, or NULL for an sbf. If flags are
 * wanted (not NULL), flags[i] says whether element i is a duplicate, and nulls[i] whether it is null.
 */
extern void stable_step_all(StableState *state, Elements *items, Elements *importances, Datum *flags, bool *nulls);

/*
 * The same for who does not ask whether it is a duplicate and has one item a call. stable_settle() makes the steps that are
 * left.
 */
extern void stable_settle(StableState *state);

static inline void
stable_step_later(StableState *state, ItemHasher *hasher, Datum item, uint8_t value)
{
	state->hashes[state->pending_count] = stable_hash(state, hasher, item);
	state->values[state->pending_count] = value;
	/* value-weighted eviction may take milliseconds a step: that has to be interruptible */
	if (++state->pending_count == STABLE_PENDING || unlikely(state->header.scheme == SB_VALUE_WEIGHTED))
		stable_settle(state);
}

/* What an item sets its cells to. Raises the errors for an importance that is null or NaN. */
extern SB_NORETURN void stable_refuse_importance(bool is_null);

static inline uint8_t
stable_importance(const sb_stable *header, bool is_null, double importance)
{
	if (unlikely(is_null || isnan(importance)))
		stable_refuse_importance(is_null);
	return sb_stable_value_of(header, importance);
}

/* The parameters of a and b united, or an error that says what differs. */
extern void stable_plan_union(const sb_stable *a, const sb_stable *b, sb_stable *out);

/* An integer parameter; STABLE_CHOOSE if it is null. */
extern int64 stable_optional(NullableDatum field);

/*
 * What *_add_all() and *_check_add() do with the elements of argument 1: the changed filter, and the record of it and an array of
 * flags, null for the items that are. importances: as in stable_step_all().
 */
extern Datum stable_add_all(FunctionCallInfo fcinfo, Elements *importances);
extern Datum stable_check_add(FunctionCallInfo fcinfo, Elements *importances);

/* What the formulas are about, with the shares of uniform importances, which are put into `shares`. */
extern sb_stable_chain stable_chain(const sb_stable *header, double shares[SB_STABLE_MAX_VALUE]);

#endif
