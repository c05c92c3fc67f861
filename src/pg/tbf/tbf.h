/*
 * tbf.h: what the files that deal with tbf values share.
 */
#ifndef STREAMBLOOM_PG_TBF_H
#define STREAMBLOOM_PG_TBF_H

#include "base/compat.h"

#include "datatype/timestamp.h"
#include "lib/stringinfo.h"

#include "base/item.h"

#define TBF_DEFAULT_ITEMS 10000
#define TBF_DEFAULT_FPR 0.01
#define TBF_DEFAULT_HALF_LIFE (7 * USECS_PER_DAY)
#define TBF_EPOCHS_PER_HALF_LIFE 96	/* of the default epoch: a step of 0.7 % */

/* A tbf at hand: its header decoded, its cells (inside the detoasted value: not to be written). */
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
 * The same of palloc'd memory whose cells, after VARHDRSZ + SB_TBF_HEADER bytes, are there already and may have more room
 * than they need. What follows the counters is not zeroed.
 */
extern Datum tbf_fit(char *value, const sb_tbf *header, unsigned char **cells);

/* Raises the error of a filter that is larger than one may be. */
extern SB_NORETURN void tbf_refuse_size(const sb_tbf *header);

/* The header alone, of a stored value without reading the rest. */
extern void tbf_open_header(Datum value, sb_tbf *header);

/*
 * Looks an item up: header.tbf and units of the look-up are then set. Of a stored filter no more is read than has to be.
 */
extern void tbf_look_up(sb_lookup *lookup, ItemHasher *hasher, Datum value, Datum item);

/* How many counters are not zero. */
extern uint64_t tbf_nonzero_cells(const TbfValue *tbf);

/* Raises the error of a time so early that counts are beyond double precision. */
extern SB_NORETURN void tbf_refuse_count(TimestampTz at);

/* Unpacks a block, or raises an error. counters: room for SB_TBF_BLOCK. */
extern void tbf_unpack_block(const TbfValue *tbf, uint32_t block, uint64_t *counters);

/* Parameters, as bf_plan(). half_life and epoch come from tbf_half_life() and tbf_epoch(). */
extern void tbf_plan(int64 items, double fpr, int64 half_life, int64 epoch, bool power, sb_tbf *out);

/* The same of parameters that were checked; false if there is no filter for so many items. */
extern bool tbf_try_plan(int64 items, double fpr, int64 half_life, int64 epoch, bool power, sb_tbf *out);

/* An interval as microseconds, checked. NULL: no half-life, the default epoch. */
extern int64 tbf_half_life(const Interval *interval);
extern int64 tbf_epoch(const Interval *interval, int64 half_life);

/* Raises an error unless the time is finite and in range. */
extern void tbf_check_time(TimestampTz at);

/* The time at argument `argno`; that of now() for a form of the function that has no such argument. */
extern TimestampTz tbf_time_argument(FunctionCallInfo fcinfo, int argno);

/* The latest time that a hit may have: what the user gave, or a day after the transaction began. */
extern TimestampTz tbf_default_not_after(void);
extern void tbf_check_not_after(TimestampTz at, TimestampTz not_after);

/* The hit's value in 2^-12 hits, or an error for a weight that is out of range. */
extern uint64_t tbf_hit(const sb_moment *moment, double weight);

/* Raises the error of a counter that does not fit. */
extern SB_NORETURN void tbf_refuse_overflow(void);

/* The parameters of a and b added, or an error that says what differs, or that they cannot be merged at all. */
extern void tbf_join(const sb_tbf *a, const sb_tbf *b, sb_tbf *out);

/* -------------------------------------------------------- a list of hot items (tbf_top.c) */

typedef struct TbfTop TbfTop;

extern TbfTop *tbf_top_make(MemoryContext context, int limit);
extern void tbf_top_free(TbfTop *top);

/* Lets the list have at most this many entries from now on. */
extern void tbf_top_limit(TbfTop *top, int limit);

/* The core's list inside, for example for sb_top_scale(). */
extern sb_top_list *tbf_top_list(TbfTop *top);

/* A hit that tbf_hit() takes. */
extern void tbf_top_add_hit(TbfTop *top, ItemHasher *hasher, Datum item, uint64_t hash, const sb_moment *moment, double weight);

/* All of a stored filter's list, or an error for one that cannot be read. REQUIRES: the filter has one (header.top). */
extern void tbf_top_add_filter(TbfTop *top, const TbfValue *filter);

/* The same with all that it holds times a weight that sb_tbf_weight() takes. */
extern void tbf_top_add_weighted(TbfTop *top, const TbfValue *filter, double weight);
extern void tbf_top_unite(TbfTop *top, const TbfTop *other);

/* The list of a stored filter at a later base. */
extern TbfTop *tbf_top_decayed(const TbfValue *filter, int64_t base);

/* Before tbf_make(): sets header->extra to the list's bytes. After it: writes them. */
extern void tbf_top_plan(TbfTop *top, sb_tbf *header);
extern void tbf_top_store(const TbfTop *top, const sb_tbf *header, unsigned char *cells);

/* Checks the list of a stored filter; without one (or without hits) the section is empty. */
extern sb_status tbf_top_open(const sb_tbf *header, const unsigned char *cells, sb_top_section *section);

/* any: whether there were hits. */
extern void tbf_top_serialize(TbfTop *top, StringInfo out);
extern TbfTop *tbf_top_deserialize(MemoryContext context, int limit, bool any, StringInfo in);

/* ------------------------------------------- exact sums in PostgreSQL's memory (tbf_sums.c) */

/* Hits that came one after the other at one moment, whose totals are not noted yet. */
typedef struct TbfRun
{
	sb_moment	moment;
	int64_t		plane;
	uint64_t	total;			/* 0: there are none */
	uint64_t	digits;			/* all their binary digits */
} TbfRun;

/* Sums over the items of a set of hashes; or over the cells of a filter, where those take less. */
typedef struct TbfSums
{
	sb_tbf		plan;			/* the filter that is built */
	bool		self_sized;
	bool		over_items;
	sb_hash_set set;			/* over items: the words of sums are beside the hashes */
	sb_sums		sums;

	/*
	 * A state over items that has just come from a worker and is only read, once: set.count hashes, then as many words for
	 * each plane that is there, lie where they came, not aligned. plane[i] is then such words; set.slots is NULL.
	 */
	const unsigned char *travelled;
	struct TbfMoved *moved;		/* of recurring minimum: the items counted apart; else NULL */
	TbfRun		run;
	struct TbfPendingHits *pending;	/* hits on their way into a state that is not small, see tbf_sums.c */
	TbfTop	   *top;			/* NULL, or the list of hot items: if plan.top is not 0 */
	MemoryContext context;
} TbfSums;

/* Sums over the cells of `plan`. */
extern TbfSums *tbf_sums_over_cells(MemoryContext context, const sb_tbf *plan);

/* Sums over items at first; self_sized: plan's size does not matter. */
extern TbfSums *tbf_sums_over_items(MemoryContext context, const sb_tbf *plan, bool self_sized);

/* Empty ones of the same parameters and form. */
extern TbfSums *tbf_sums_like(MemoryContext context, const TbfSums *other);

/* Sums over cells that begin with what a stored filter holds. */
extern TbfSums *tbf_sums_of(MemoryContext context, const TbfValue *filter);

/* To the counters alone: the caller adds the hit to `top` too, which wants to know the item. */
extern void tbf_sums_add_hit(TbfSums *state, uint64_t hash, const sb_moment *moment, uint64_t value);

/* Lets in what tbf_sums_add_hit() keeps waiting, with the errors that this may raise. */
extern void tbf_sums_settle(TbfSums *state);
extern void tbf_sums_add_filter(TbfSums *state, const TbfValue *filter);

/* The same with all that the filter counts times a weight, or an error for a weight that is out of range. */
extern void tbf_sums_add_weighted(TbfSums *state, const TbfValue *filter, double weight);
extern void tbf_sums_unite(TbfSums *state, TbfSums *other);

/* Rounds and stores; the state can go on. */
extern Datum tbf_sums_store(TbfSums *state);

extern bytea *tbf_sums_serialize(TbfSums *state);
extern TbfSums *tbf_sums_deserialize(MemoryContext context, bytea *bytes);

/* --------------------------------------------------- recurring minimum (tbf_recurring.c) */

typedef struct TbfMoved TbfMoved;

extern TbfMoved *tbf_moved_make(MemoryContext context);
extern bool tbf_moved_add(TbfMoved *moved, uint64_t hash, uint64_t value);	/* false: the item is not there */
extern void tbf_moved_insert(TbfMoved *moved, uint64_t hash, uint64_t hits);
extern void tbf_moved_read(TbfMoved *moved, const TbfValue *tbf);
extern uint32_t tbf_moved_size(const TbfMoved *moved);	/* bytes, stored */
extern void tbf_moved_write(const TbfMoved *moved, void *table);

#endif
