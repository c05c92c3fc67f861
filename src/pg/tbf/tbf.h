/*
 * tbf.h: declarations that the files for tbf values share.
 *
 * A tbf counts *hits*: occurrences of items, each with a time and a weight. Counts fade in steps, the *epochs*; the
 * start of the epoch of a hit is its *moment*. Counters hold the counts as of one time, the *base*: a whole number of
 * half-lives since 2000. A filter is *exact* if it sizes itself and has few items: then it stores the hash of each item
 * with its count, and no cells. core/tbf/sb_tbf.h says more.
 */
#ifndef STREAMBLOOM_PG_TBF_H
#define STREAMBLOOM_PG_TBF_H

#include "base/compat.h"

#include "datatype/timestamp.h"

#include "base/item.h"

#define TBF_DEFAULT_ITEMS 10000
#define TBF_DEFAULT_FPR 0.01
#define TBF_DEFAULT_HALF_LIFE (7 * USECS_PER_DAY)
#define TBF_EPOCHS_PER_HALF_LIFE 96	/* if the user gives no epoch: counts lose 0.7 % in each */

/*
 * A tbf in memory: its decoded header, and its cells (or its stored items, if it is exact). The cells are inside the
 * detoasted value and must not be written.
 */
typedef struct TbfValue
{
	sb_tbf		header;
	const unsigned char *cells;
} TbfValue;

extern void tbf_open(Datum value, TbfValue *tbf);

/*
 * Makes a tbf of these parameters, all counters zero. *cells is set to its cells. Raises an error if it would be too
 * large.
 */
extern Datum tbf_make(const sb_tbf *header, unsigned char **cells);

/*
 * Shrinks the memory of a value to the size of the value, and sets the varlena's length. REQUIRES: the core has made
 * the value in PostgreSQL's memory, with VARHDRSZ bytes in front.
 */
extern Datum tbf_fit(void *value, const sb_tbf *header);

/*
 * Raises the error for a status of a core function that makes a value with this header. Does the same as
 * tbf_builder_must(), but the status may also be SB_TOO_LARGE. Returns if the status is SB_OK.
 */
extern void tbf_must(sb_status status, const sb_tbf *header);

/* Raises the error for a filter that would be too large. */
extern SB_NORETURN void tbf_refuse_size(const sb_tbf *header);

/* Reads the header of a value; the rest of a stored value is not read. */
extern void tbf_open_header(Datum value, sb_tbf *header);

/*
 * Looks an item up. Sets `header.tbf` and `units` of `lookup`, from which sb_tbf_count() computes the item's count. Of
 * a stored filter only the parts that the look-up needs are read.
 */
extern void tbf_look_up(sb_lookup *lookup, ItemHasher *hasher, Datum value, Datum item);

/* Returns whether the filter is exact: it holds its items themselves, and no cells. */
static inline bool
tbf_is_exact(const sb_tbf *header)
{
	return (header->flags & SB_TBF_EXACT) != 0;
}

/* Calls sb_tbf_measure(). Raises an error for a damaged value. */
extern void tbf_measure(const TbfValue *tbf, uint32 most_blocks, sb_tbf_stats *stats);

/*
 * Estimates the filter's current rate (the share of items that are overcounted now) from a few of its blocks. It is 0
 * for an exact filter.
 */
extern double tbf_sample_rate(const TbfValue *tbf);

/*
 * Warns if the rate of a merged filter is more than twice the rate asked for, and above `rate_before`: the highest rate
 * of the filters that were merged, or 0 if it is not known.
 */
extern void tbf_warn_of_rate(Datum merged, double rate_before);

/* Warns if a filter to which hits were added has more than twice the rate asked for. */
extern void tbf_warn_if_full(Datum filter);

/* Raises the error for a time so early that the count at this time exceeds the range of double precision. */
extern SB_NORETURN void tbf_refuse_count(TimestampTz at);

/* Plans a filter, as bf_plan() does for a bf. half_life and epoch come from tbf_half_life() and tbf_epoch(). */
extern void tbf_plan(int64 items, double fpr, int64 half_life, int64 epoch, bool self_sized, sb_tbf *out);

/*
 * Each of these functions checks an interval and converts it to microseconds. For NULL tbf_half_life() returns 0, which
 * means no decay, and tbf_epoch() returns the default epoch. If half_life is 0, tbf_epoch() returns 0 for NULL, and
 * raises an error for an interval.
 */
extern int64 tbf_half_life(const Interval *interval);
extern int64 tbf_epoch(const Interval *interval, int64 half_life);

/* Raises an error unless the time is finite and in range. */
extern void tbf_check_time(TimestampTz at);

/* Returns the time in argument `argno`. If this form of the function has no such argument, returns now(). */
extern TimestampTz tbf_time_argument(FunctionCallInfo fcinfo, int argno);

/* Returns the latest time that a hit may have if the user does not give one: a day after the transaction began. */
extern TimestampTz tbf_default_not_after(void);

/* Raises an error for a hit that is later than not_after. */
extern void tbf_check_not_after(TimestampTz at, TimestampTz not_after);

/*
 * Returns what a hit of this weight adds to a counter, as sb_tbf_hit() computes it: in 2^-12 hits, as of the start of
 * the half-life in which the moment lies. Raises an error if the weight is out of range.
 */
extern uint64_t tbf_hit(const sb_moment *moment, double weight);

/*
 * Raises the error for an argument of an aggregate that is NULL. `what` names the argument. `filter` completes the
 * hint "FILTER (WHERE ... IS NOT NULL)".
 */
extern SB_NORETURN void tbf_refuse_null(const char *what, const char *filter);

/* Raises the error for a counter that would overflow. */
extern SB_NORETURN void tbf_refuse_overflow(void);

/* Raises the error for a total of all hits that would overflow. */
extern SB_NORETURN void tbf_refuse_total(void);

/*
 * Plans the filter that results from merging a and b. Raises an error if they differ in a parameter, or cannot be
 * merged at all.
 */
extern void tbf_plan_merge(const sb_tbf *a, const sb_tbf *b, sb_tbf *out);

/* ---------------------------------- the core's builder in PostgreSQL's memory (tbf_builder.c) */

/*
 * Raises the error for a status of the core's builder. Returns if the status is SB_OK. REQUIRES: the status is not
 * SB_DIFFERENT, SB_OUT_OF_RANGE or SB_TOO_LARGE; the callers raise errors of their own for these.
 */
extern void tbf_builder_must(sb_status status);

/*
 * These functions do what the core's sb_tbf_builder_begin(), sb_tbf_builder_like() and so on do (sb_tbf_builder.h).
 * They raise errors instead of returning statuses. Builders live in `context`, stored values in result_memory().
 */
extern sb_tbf_builder *tbf_builder_begin(MemoryContext context, const sb_tbf *plan, sb_tbf_sums_of sums_of,
										 bool self_sized);
extern sb_tbf_builder *tbf_builder_like(MemoryContext context, const sb_tbf_builder *other);

/* Makes a builder for merging filters. It has the parameters of `first`, but no hits yet, not even those of `first`. */
extern sb_tbf_builder *tbf_builder_begin_merge(MemoryContext context, const TbfValue *first);
extern sb_tbf_builder *tbf_builder_of(MemoryContext context, const TbfValue *filter);
extern void tbf_builder_add_filter(sb_tbf_builder *builder, const TbfValue *filter, double weight);
extern void tbf_builder_unite(sb_tbf_builder *builder, sb_tbf_builder *other);
extern Datum tbf_builder_store(sb_tbf_builder *builder);

/*
 * Turn a builder into bytes for another process, and back. The first `in_front` bytes are left to the caller, and the
 * builder follows them. REQUIRES: `bytes` has at least in_front bytes.
 */
extern bytea *tbf_builder_serialize(sb_tbf_builder *builder, size_t in_front);
extern sb_tbf_builder *tbf_builder_deserialize(MemoryContext context, bytea *bytes, size_t in_front);

/*
 * Returns the hash of an item that is to be added. A builder without a kind gets the kind of the item. `plan` is what
 * sb_tbf_builder_parameters() returns for the builder.
 */
extern uint64_t tbf_builder_hash(sb_tbf_builder *builder, const sb_tbf *plan, ItemHasher *hasher, Datum item);

/* Adds a hit of this weight to the list of hot items only. */
extern void tbf_builder_add_hot_hit(sb_tbf_builder *builder, ItemHasher *hasher, Datum item, uint64_t hash,
									const sb_moment *moment, double weight);

/*
 * Adds a hit to the sums, and to the list of hot items if the filter has one. `hit` is what tbf_hit() returned for the
 * weight.
 */
static inline void
tbf_builder_add_hit(sb_tbf_builder *builder, const sb_tbf *plan, ItemHasher *hasher, Datum item, uint64_t hash,
					const sb_moment *moment, uint64_t hit, double weight)
{
	bool		in_order = (plan->flags & SB_TBF_OPTIONS) != 0;
	sb_status	status = (in_order ? sb_tbf_builder_add_in_order : sb_tbf_builder_add_hit) (builder, hash, moment, hit);

	if (unlikely(status != SB_OK))
		tbf_builder_must(status);
	if (unlikely(plan->top != 0))
		tbf_builder_add_hot_hit(builder, hasher, item, hash, moment, weight);
}

#endif
