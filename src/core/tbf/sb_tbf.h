/*
 * sb_tbf.h: the Time-decaying Bloom filter as it is stored. Part of streambloom.h.
 */
#ifndef STREAMBLOOM_SB_TBF_H
#define STREAMBLOOM_SB_TBF_H

#include "base/sb_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SB_TBF_HEADER 128		/* bytes before the first cell */
#define SB_TBF_MAX_HASHES 16
#define SB_TBF_BLOCK 4096		/* cells of a block; a filter of one block may have fewer */
#define SB_TBF_MIN_BLOCK 64
#define SB_TBF_MAX_CELLS (UINT64_C(1) << 27)
#define SB_TBF_HIT_BITS 12		/* memory, slack and total count in 2^-12 hits */
#define SB_TBF_UNIT_BITS 4		/* stored counters of a decaying filter count in 1/16 hits */
#define SB_TBF_PLANE 16			/* half-lives of a plane */
#define SB_TBF_PLANES 4
#define SB_TBF_MAX_SPREAD 32	/* half-lives by which merging may shift up the newer filter */
#define SB_TBF_MAX_CELL (UINT64_C(1) << 62)
#define SB_TBF_MAX_TIME (INT64_C(1) << 60)	/* of times from 2000, half-lives and epochs: 36,500 years */

/* sb_tbf.layout; stored. */
#define SB_TBF_FLAT 0
#define SB_TBF_EXTENSIBLE 1

/* Bits of sb_tbf.flags; stored. */
#define SB_TBF_HAS_HITS 1		/* base and newest mean something */
#define SB_TBF_FORGOTTEN 2		/* decay has let a counter go to zero: up to half a unit is missing somewhere */
#define SB_TBF_MINIMUM_INCREASE 4	/* parameter: hits raise only the counters that have to be */
#define SB_TBF_RECURRING_MINIMUM 8	/* parameter: items whose minimum does not recur are counted in a table of their own */
#define SB_TBF_OPTIONS (SB_TBF_MINIMUM_INCREASE | SB_TBF_RECURRING_MINIMUM)

#define SB_TBF_MAX_TOP 10000	/* entries of a list of hot items */

/* The header of a tbf, decoded. */
typedef struct sb_tbf
{
	sb_kind		kind;
	uint16_t	flags;
	uint32_t	block_count;
	uint16_t	block_cells;	/* SB_TBF_BLOCK, or if there is one block a power of two from 64 on */
	uint8_t		hash_count;
	uint8_t		layout;			/* SB_TBF_FLAT or SB_TBF_EXTENSIBLE */
	uint8_t		cell_bits;		/* of a flat cell: 8, 16, 32 or 64, the narrowest that holds the largest counter */
	uint8_t		unit_bits;		/* a stored counter of 1 means 2^-unit_bits hits at the base: 0 or 4 */
	uint8_t		widened;		/* as in sb_bf */
	int64_t		half_life;		/* microseconds; 0: no decay */
	int64_t		epoch;			/* microseconds; 0 if there is no decay */
	int64_t		base;			/* the counters' scale: half-lives since 2000-01-01 UTC */
	int64_t		newest;			/* start of the epoch of the newest hit; microseconds */
	uint64_t	slack;			/* what decay has forgotten at most, of any one item: 2^-12 hits at the base */
	uint64_t	total;			/* all hits, decayed: 2^-12 hits at the base, rounded up */
	uint64_t	expected_items;
	double		fpr;
	uint32_t	payload;		/* extensible: bytes of directory and blocks, 0 if all counters are zero; flat: 0 */
	uint32_t	extra;			/* bytes after the counters: the list of hot items, or the table of recurring minimum */
	uint16_t	top;			/* parameter: entries of the list of hot items; 0: none is kept */
} sb_tbf;

/* A moment on the decaying scale: 2^half_lives * scale / 2^62 is the weight of one hit, rounded up by < 1e-9. */
typedef struct sb_moment
{
	int64_t		half_lives;		/* floor(E*T / half_life) */
	uint64_t	scale;			/* 2^62 .. 2^63 */
	uint64_t	inverse;		/* 2^62 .. 2^63: twice the reciprocal of scale, rounded up too (2^63 if scale is 1) */
	int64_t		epoch_start;	/* E*T, microseconds */
} sb_moment;

/*
 * The moment of a time: E(t) = floor(t / T), x = E*T / half_life (Cheng et al., Fig. 1, decays at
 * common epoch boundaries). Exact integer arithmetic, so the same on every machine. Without decay: 0, 2^62.
 * REQUIRES: half_life and epoch as sb_tbf_plan() accepts, |at| <= SB_TBF_MAX_TIME.
 */
void		sb_tbf_moment(int64_t half_life, int64_t epoch, int64_t at, sb_moment *out) SB_NOEXCEPT;

/* A hit of this weight in 2^-12 hits, before the shift by half-lives: ceil(w * 2^(12 + frac x)). weight >= 0. */
SB_NODISCARD sb_status sb_tbf_hit(const sb_moment *moment, double weight, uint64_t *out) SB_NOEXCEPT;

/*
 * Parameters of a filter for `items` items at a rate `fpr` of overcounts. half_life 0: no decay; else 1 .. SB_TBF_MAX_TIME, and
 * so epoch. self_sized: size it as a filter that sizes itself (a power of two of cells).
 */
SB_NODISCARD sb_status sb_tbf_plan(uint64_t items, double fpr, int64_t half_life, int64_t epoch, bool self_sized,
								   sb_tbf *out) SB_NOEXCEPT;

/* The two steps of a plan, as sb_bf_best_load() and sb_bf_plan_for_load(); the load is in items a block of 4,096. */
double		sb_tbf_best_load(double fpr, uint8_t *hash_count) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_tbf_plan_for_load(uint64_t items, double fpr, uint8_t hash_count, double load, int64_t half_life,
											int64_t epoch, bool self_sized, sb_tbf *out) SB_NOEXCEPT;

/* The estimated number of items that `touched` non-zero cells speak of; infinity if all are. */
double		sb_tbf_estimate_items(const sb_tbf *tbf, uint64_t touched) SB_NOEXCEPT;

uint64_t	sb_tbf_cells(const sb_tbf *tbf) SB_NOEXCEPT;
size_t		sb_tbf_size(const sb_tbf *tbf) SB_NOEXCEPT;	/* of the whole value */
size_t		sb_tbf_counters_size(const sb_tbf *tbf) SB_NOEXCEPT;	/* of the counters alone, which follow the header */
void		sb_tbf_encode_header(const sb_tbf *tbf, void *out) SB_NOEXCEPT;

/* As sb_bf_decode_header(). What follows the header is looked at by sb_tbf_check_cells(). */
SB_NODISCARD sb_status sb_tbf_decode_header(const void *data, size_t have, size_t total, sb_tbf *out) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_tbf_check_cells(const sb_tbf *tbf, const void *cells) SB_NOEXCEPT;

/* All counters of one stored block, in units: block_cells of them. cells: all that follows the header. */
SB_NODISCARD sb_status sb_tbf_unpack_block(const sb_tbf *tbf, const void *cells, uint32_t block,
										   uint64_t *counters) SB_NOEXCEPT;

/* The same counters in another layout. Two calls, as for decay. */
SB_NODISCARD sb_status sb_tbf_layout_plan(const sb_tbf *tbf, const void *cells, uint8_t layout, sb_tbf *out) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_tbf_layout_write(const sb_tbf *tbf, const void *cells, const sb_tbf *planned, void *out) SB_NOEXCEPT;

/*
 * The table of recurring minimum, after the counters: entries of 16 bytes, by ascending hash. An item that is in it has
 * these hits, whatever its counters say.
 */
#define SB_TBF_ENTRY 16

typedef struct sb_tbf_entry
{
	uint64_t	hash;
	uint64_t	hits;			/* 2^-12 hits: 1 .. SB_TBF_MAX_CELL - 1 */
} sb_tbf_entry;

uint64_t	sb_tbf_entries(const sb_tbf *tbf) SB_NOEXCEPT;	/* how many; 0 without SB_TBF_RECURRING_MINIMUM */
void		sb_tbf_read_entry(const void *table, uint64_t index, sb_tbf_entry *out) SB_NOEXCEPT;

/*
 * The count that a counter of `units` stands for at a time: (units + slack) * 2^(base - x(at)), rounded up.
 * Infinity if `at` lies so far before the base that no double holds it.
 */
double		sb_tbf_count(const sb_tbf *tbf, uint64_t units, int64_t at) SB_NOEXCEPT;

/* The decayed total of all hits at a time, rounded up; infinity as sb_tbf_count(). */
double		sb_tbf_total(const sb_tbf *tbf, int64_t at) SB_NOEXCEPT;

/* How many hits `units` (of any sign) at the base are at a time; rounded to nearest, without slack: for estimates. */
double		sb_tbf_hits(const sb_tbf *tbf, double units, int64_t at) SB_NOEXCEPT;

/*
 * The probability at most that an item is counted too high by more than `over` hits, of `total` hits in all (both at the
 * same time): (k W / (m t))^k, Markov's inequality for each of the k cells.
 * over > 0 and total >= 0, else NaN.
 */
double		sb_tbf_error_bound(const sb_tbf *tbf, double total, double over) SB_NOEXCEPT;

/*
 * An estimate of an item's counter, in units: the smallest of its cells less what others bring to that on average, the
 * mean of the smallest of k cells drawn from the block; in 0 .. the smallest counter. May be too small. Not for minimum
 * increase, whose counters are no sums. SB_BAD_CELLS if the block cannot be read.
 */
SB_NODISCARD sb_status sb_tbf_estimate(const sb_tbf *tbf, const void *cells, uint64_t hash, double *out) SB_NOEXCEPT;

/*
 * An estimate of the sum over items of the product of their counters, in units squared, from one block of two filters of
 * the same shape: (sum(a b) - A B / m) / (k (1 - k/m)), A and B the blocks' sums. May be negative.
 */
double		sb_tbf_block_product(const sb_tbf *tbf, const uint64_t *left, const uint64_t *right) SB_NOEXCEPT;

/* The weight that a hit keeps for one epoch: 2^(-epoch / half_life); 1 without decay. */
double		sb_tbf_decay_factor(const sb_tbf *tbf) SB_NOEXCEPT;

/* slack with the half unit that SB_TBF_FORGOTTEN stands for; 2^-12 hits at the base. */
uint64_t	sb_tbf_slack(const sb_tbf *tbf) SB_NOEXCEPT;

/*
 * As sb_bf_plan_union(): may they be added? *out is the header of an empty filter; half_life, epoch and hashes must agree, sizes up
 * to a power of two, and neither may have recurring minimum.
 */
SB_NODISCARD sb_status sb_tbf_plan_merge(const sb_tbf *a, const sb_tbf *b, sb_tbf *out, sb_difference *difference) SB_NOEXCEPT;

/*
 * Decay to the half-life that `at` lies in: q <= 2^(j-1) becomes 0 and otherwise ceil(q / 2^j). In one pass: fills *out and
 * the cells, sb_tbf_counters_size(out) bytes in the end; on the way it may need all of the room. Where there is nothing to do
 * (sb_tbf_decays() is false) the result is the same filter. SB_BAD_CELLS if a stored block cannot be read, SB_TOO_LARGE as
 * sb_tbf_builder_store().
 */
bool		sb_tbf_decays(const sb_tbf *tbf, int64_t at) SB_NOEXCEPT;
size_t		sb_tbf_decay_room(const sb_tbf *tbf) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_tbf_decay(const sb_tbf *tbf, const void *cells, int64_t at, sb_tbf *out, void *to) SB_NOEXCEPT;

/*
 * Takes a hit out again that was added at this moment with this value (as sb_tbf_hit() gives it). Two calls, as for decay.
 * SB_OUT_OF_RANGE if the item has no such hit: *most is how many hits it has at most at that moment, 0 also if the
 * moment lies after the newest hit. SB_BAD_CELLS. REQUIRES: nothing was forgotten (sb_tbf_slack() is 0), neither of
 * SB_TBF_OPTIONS, value > 0.
 */
SB_NODISCARD sb_status sb_tbf_remove_plan(const sb_tbf *tbf, const void *cells, uint64_t hash, const sb_moment *moment,
										  uint64_t value, sb_tbf *out, double *most) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_tbf_remove_write(const sb_tbf *tbf, const void *cells, uint64_t hash, const sb_moment *moment,
										   uint64_t value, const sb_tbf *planned, void *out) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
