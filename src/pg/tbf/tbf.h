/*
 * tbf.h: what the files that deal with tbf values share.
 */
#ifndef STREAMBLOOM_PG_TBF_H
#define STREAMBLOOM_PG_TBF_H

#include "base/compat.h"

#include "datatype/timestamp.h"

#include "base/item.h"

#define TBF_DEFAULT_ITEMS 10000
#define TBF_DEFAULT_FPR 0.01
#define TBF_DEFAULT_HALF_LIFE (7 * USECS_PER_DAY)
#define TBF_EPOCHS_PER_HALF_LIFE 96	/* of the default epoch: a step of 0.7 % */

/* A tbf at hand: its decoded header, and its cells, which lie in the detoasted value and must not be written to. */
typedef struct TbfValue
{
	sb_tbf		header;
	const unsigned char *cells;
} TbfValue;

extern void tbf_open(Datum value, TbfValue *tbf);

/* Microseconds as an interval of days and a rest. */
extern Datum tbf_interval(int64 microseconds);

/* A new tbf of these parameters, all counters zero; *cells is where to set them. Errors if it would be too large. */
extern Datum tbf_make(const sb_tbf *header, unsigned char **cells);

/*
 * A value that the core has made in PostgreSQL's memory, with VARHDRSZ bytes in front: cuts the block to the size of the value
 * and sets its length.
 */
extern Datum tbf_fit(void *value, const sb_tbf *header);

/* Raises the error of a status of a function of the core that makes a value with this header. Returns if it is SB_OK. */
extern void tbf_must(sb_status status, const sb_tbf *header);

/* Raises the error of a filter that is larger than one may be. */
extern SB_NORETURN void tbf_refuse_size(const sb_tbf *header);

/* Decodes the header alone, without reading the rest of a stored value. */
extern void tbf_open_header(Datum value, sb_tbf *header);

/* Looks an item up: sets header.tbf and units of the look-up. Reads as little of a stored value as possible. */
extern void tbf_look_up(sb_lookup *lookup, ItemHasher *hasher, Datum value, Datum item);

/* How many counters are not zero. */
extern uint64_t tbf_nonzero_cells(const TbfValue *tbf);

/* Raises the error of a time so early that counts are beyond double precision. */
extern SB_NORETURN void tbf_refuse_count(TimestampTz at);

/* Unpacks a block, or raises an error. counters: room for SB_TBF_BLOCK. */
extern void tbf_unpack_block(const TbfValue *tbf, uint32_t block, uint64_t *counters);

/* Parameters, as bf_plan(). half_life and epoch come from tbf_half_life() and tbf_epoch(). */
extern void tbf_plan(int64 items, double fpr, int64 half_life, int64 epoch, bool self_sized, sb_tbf *out);

/* An interval as microseconds, checked. NULL: no half-life, the default epoch. */
extern int64 tbf_half_life(const Interval *interval);
extern int64 tbf_epoch(const Interval *interval, int64 half_life);

/* Raises an error unless the time is finite and in range. */
extern void tbf_check_time(TimestampTz at);

/* The time at argument `argno`, or now() if this form of the SQL function has no such argument. */
extern TimestampTz tbf_time_argument(FunctionCallInfo fcinfo, int argno);

/* The latest time that a hit may have: what the user gave, or a day after the transaction began. */
extern TimestampTz tbf_default_not_after(void);
extern void tbf_check_not_after(TimestampTz at, TimestampTz not_after);

/* The hit's value in 2^-12 hits, or an error for a weight that is out of range. */
extern uint64_t tbf_hit(const sb_moment *moment, double weight);

/* Raises the error of a counter that does not fit. */
extern SB_NORETURN void tbf_refuse_overflow(void);

/* The parameters of a and b merged; or an error that says what differs, or that they cannot be merged at all. */
extern void tbf_plan_merge(const sb_tbf *a, const sb_tbf *b, sb_tbf *out);

/* ---------------------------------- the core's builder in PostgreSQL's memory (tbf_builder.c) */

/* Raises the error of a status of the core's builder that is neither SB_DIFFERENT nor SB_TOO_LARGE. Returns if it is SB_OK. */
extern void tbf_builder_must(sb_status status);

/* As sb_tbf_builder_begin(), _like(), _of(), _unite() and so on, with errors instead of statuses. */
extern sb_tbf_builder *tbf_builder_begin(MemoryContext context, const sb_tbf *plan, sb_tbf_sums_of sums_of, bool self_sized);
extern sb_tbf_builder *tbf_builder_like(MemoryContext context, const sb_tbf_builder *other);
extern sb_tbf_builder *tbf_builder_of(MemoryContext context, const TbfValue *filter);
extern void tbf_builder_add_filter(sb_tbf_builder *builder, const TbfValue *filter, double weight);
extern void tbf_builder_unite(sb_tbf_builder *builder, sb_tbf_builder *other);
extern Datum tbf_builder_store(sb_tbf_builder *builder);
extern bytea *tbf_builder_serialize(sb_tbf_builder *builder);
extern sb_tbf_builder *tbf_builder_deserialize(MemoryContext context, bytea *bytes);

/* The hash of an item that is to be added; a builder of no kind becomes one of the item's. plan: that of the builder. */
extern uint64_t tbf_builder_hash(sb_tbf_builder *builder, const sb_tbf *plan, ItemHasher *hasher, Datum item);

/* Adds a hit of this weight to the list of hot items alone. REQUIRES: tbf_hit() has accepted the weight. */
extern void tbf_builder_add_hot_hit(sb_tbf_builder *builder, ItemHasher *hasher, Datum item, uint64_t hash,
									const sb_moment *moment, double weight);

/* Adds a hit of an item to the counters and to the list. `hit` is what tbf_hit() made of the weight. */
static inline void
tbf_builder_add_hit(sb_tbf_builder *builder, const sb_tbf *plan, ItemHasher *hasher, Datum item, uint64_t hash,
					const sb_moment *moment, uint64_t hit, double weight)
{
	sb_status	status = sb_tbf_builder_add_hit(builder, hash, moment, hit);

	if (unlikely(status != SB_OK))
		tbf_builder_must(status);
	if (unlikely(plan->top != 0))
		tbf_builder_add_hot_hit(builder, hasher, item, hash, moment, weight);
}

#endif
