/*
 * sb_abf.h: the age-partitioned Bloom filter, the type abf of SQL: has this item come within the window? Part of
 * streambloom.h.
 *
 * A window is the last so many items of a stream, or the last so much time. A Bloom filter (bf/sb_bf.h) never forgets,
 * and fills up. An sbf (stable/sb_stable.h) forgets at random, and misses some items that came lately. An abf forgets
 * by age alone: what came within the window is never missed, what is older is forgotten soon after, and an item that
 * did not come is found at the rate that was asked for.
 *
 * The filter is that of Shtul, Baquero, Almeida 2020 (Age-Partitioned Bloom Filters, arXiv 2001.03147); for windows of
 * time it is that of Rodrigues, Shtul, Baquero, Almeida 2023 (Time-limited Bloom Filter, arXiv 2306.06742). The stream
 * is cut into *generations*. A filter has k + l *slices* of bits; with each generation the oldest slice is given up and
 * an empty one takes its place. An item sets one bit in each of the k newest slices. It is found if k consecutive
 * slices all have its bit. So an item is found until l generations after its own have passed; these l generations are
 * at least as long as the window.
 *
 * The clock. Each item has a position on a clock: its number in the stream, from 0 (a filter *by items*), or its own
 * time in microseconds since 2000-01-01 00:00 UTC (a filter *by time*). Its generation is floor(position / length),
 * where the length is ceil(window / l). Slices are numbered too: slice s comes with generation s. An item of
 * generation g sets its bits in the slices g - k + 1 .. g, *whatever the newest generation c is*. The slices c - k
 * - l + 1 .. c are alive; an item that comes late sets its bits in those of its slices that are still alive. In the
 * papers every item sets its bits in the k newest slices; for an item that is not late these are the same slices.
 *
 * There is no false negative inside the window. Let an item of generation g be added at position t, and let the
 * filter be asked at position u, with u - t <= window <= l * length. (If the newest item has a later position than the
 * question, u is the position of that item.) Then
 *
 *   floor(u / length) <= floor((t + l * length) / length) = g + l,
 *
 * so the slices that are alive for this question begin at or before g + l - k - l + 1 = g - k + 1. They include all k
 * slices of the item. These were alive as well when the item was added, because the newest generation only grows. And
 * no bit of a slice is taken back while the slice is alive. So the k consecutive slices g - k + 1 .. g have the
 * item's bit, and the answer is yes. This holds for late items, too, and in whatever order the other items came.
 *
 * The content of a filter by time depends only on which items came at which times. Let c be the newest generation of
 * all items. Bit b of slice s is set if and only if s is alive and an item of the generations s .. s + k - 1 has this
 * bit. The order of the items does not matter. Two filters by time count generations by the same clock, so their union,
 * slice by slice, has the same bytes as the filter of both streams. A clock that moves on without items makes old
 * slices die: a question at a later time leaves them out, and nothing has to be done to the filter. Filters by items
 * cannot be united, because the generations of two streams are not comparable. The content of such a filter depends on
 * the order of its items.
 */
#ifndef STREAMBLOOM_SB_ABF_H
#define STREAMBLOOM_SB_ABF_H

#include "base/sb_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SB_ABF_HEADER 128			/* bytes before the slices */
#define SB_ABF_MAX_HASHES 32
#define SB_ABF_MAX_GENERATIONS 96
#define SB_ABF_MAX_SLICES (SB_ABF_MAX_HASHES + SB_ABF_MAX_GENERATIONS)
#define SB_ABF_MIN_BLOCK_BITS 64
#define SB_ABF_BLOCK_BITS 512		/* if there are several blocks, each has at least this many bits of each slice */
#define SB_ABF_MAX_BLOCK_BITS 1024
#define SB_ABF_MAX_BYTES (SB_MAX_BYTES - SB_ABF_HEADER)
#define SB_ABF_MAX_TIME (INT64_C(1) << 60)	/* microseconds from 2000; also the largest window, by time or by items */
#define SB_ABF_MAX_ITEMS (UINT64_C(1) << 62)	/* a filter by items refuses more; a filter by time stops counting */
#define SB_ABF_CHOOSE (-1)			/* in place of a parameter: the plan chooses it */

/* The header of an abf, decoded. */
typedef struct sb_abf
{
	sb_kind		kind;
	bool		by_time;
	bool		filled;			/* a bit is set; otherwise the slices are not stored */
	uint8_t		hash_count;		/* k: 1 .. SB_ABF_MAX_HASHES */
	uint8_t		generations;	/* l: 1 .. SB_ABF_MAX_GENERATIONS */
	uint16_t	block_bits;		/* bits of each slice in a block: a multiple of 64 */
	uint32_t	blocks;			/* an item has all its bits in one block */
	int64_t		window;			/* items or microseconds: 1 .. SB_ABF_MAX_TIME */
	uint64_t	expected;		/* the number of items expected in a window; by items it is the window */
	double		fpr;			/* the false-positive rate that was asked for */
	uint64_t	items;			/* number of items that came; 0 if and only if there is no kind */
	int64_t		generation;		/* c, the newest generation; by items floor(items / length); without items 0 */

	/* Not stored: bit p is 0 if the slice at place p certainly has no bit set. */
	uint64_t	used[SB_ABF_MAX_SLICES / 64];
} sb_abf;

/*
 * Plans a filter that remembers the last `window` items (by items), or the items of the last `window` microseconds
 * (by time). `items` is the number of items expected in a window; a filter by items ignores it. With this many items
 * the filter has at most the false-positive rate `fpr` (SB_BF_MIN_FPR .. SB_BF_MAX_FPR). hash_count (k) and
 * generations (l) may be SB_ABF_CHOOSE. Then l grows with log2(1 / fpr), and k is the number with which the filter
 * needs the fewest bits: see sb_abf_load(). The filter then needs about 5 % more bits than with the best k and l, which
 * have many more slices. Choosing k takes some 100 microseconds.
 *
 * SB_OUT_OF_RANGE: a parameter is out of its range. SB_TOO_LARGE: the filter would be larger than SB_MAX_BYTES.
 */
SB_NODISCARD sb_status sb_abf_plan(int64_t window, bool by_time, uint64_t items, double fpr, int hash_count,
								   int generations, sb_abf *out) SB_NOEXCEPT;

static inline int
sb_abf_slices(const sb_abf *abf)
{
	return abf->hash_count + abf->generations;
}

/* The length of a generation: ceil(window / l). The filter remembers items for l to l + 1 such lengths. */
int64_t		sb_abf_length(const sb_abf *abf) SB_NOEXCEPT;

/* Returns the generation to which a position of the clock belongs. */
int64_t		sb_abf_generation(const sb_abf *abf, int64_t position) SB_NOEXCEPT;

/*
 * sb_abf_size() is the number of bytes of a whole value: the header, and the slices if a bit is set.
 * sb_abf_slice_bytes() is the number of bytes of the slices in memory.
 */
size_t		sb_abf_size(const sb_abf *abf) SB_NOEXCEPT;
size_t		sb_abf_slice_bytes(const sb_abf *abf) SB_NOEXCEPT;

/* The number of bits of a slice. */
static inline uint64_t
sb_abf_bits(const sb_abf *abf)
{
	return (uint64_t) abf->blocks * abf->block_bits;
}

/* Writes the 128 bytes of the header. */
void		sb_abf_encode_header(const sb_abf *abf, void *out) SB_NOEXCEPT;

/* Reads and checks the header of a value, as sb_bf_decode_header() does. */
SB_NODISCARD sb_status sb_abf_decode_header(const void *data, size_t have, size_t total, sb_abf *out) SB_NOEXCEPT;

/*
 * Checks the slices of a value whose header was checked: at least one bit must be set, and at most hash_count bits for
 * each item that came. If abf->filled is false, the value has no slices: they are not read, and `slices` may be any
 * pointer. This also holds for sb_abf_advance() and sb_abf_count(). May return SB_BAD_CELLS, SB_INTERRUPTED.
 */
SB_NODISCARD sb_status sb_abf_check_slices(const sb_abf *abf, const void *slices) SB_NOEXCEPT;

/*
 * Adds `count` items in their order. In a filter by time, times[i] is the time of item i; by items, `times` is NULL.
 * duplicates[i] says whether the filter had item i before this item was added; `duplicates` may be NULL. All the slices
 * must be in memory; if the filter is not filled, they must be zero. Afterwards `filled` is true if a bit is set.
 * SB_OVERFLOW: a filter by items would have more than SB_ABF_MAX_ITEMS; nothing is added. May also return
 * SB_INTERRUPTED. REQUIRES: |times[i]| <= SB_ABF_MAX_TIME.
 */
SB_NODISCARD sb_status sb_abf_add(sb_abf *abf, void *slices, const uint64_t *hashes, const int64_t *times, size_t count,
								  bool *duplicates) SB_NOEXCEPT;

/*
 * Makes `generation` the newest generation of a filter by time, if it is newer than the present one. Clears the
 * slices that are no longer alive; if no bit is left, `filled` becomes false. A filter by items, or without items,
 * stays as it is. May return SB_INTERRUPTED.
 */
SB_NODISCARD sb_status sb_abf_advance(sb_abf *abf, void *slices, int64_t generation) SB_NOEXCEPT;

/*
 * Plans the union of two filters by time. Both must have the same window, k, l and sizes. SB_DIFFERENT: *difference
 * says what differs. *out has the parameters of the result, with the newer generation (that of a filter without items
 * does not count), the sum of the items and the larger fpr and expected items. The kinds of items (sb_kind) are not
 * compared: the caller does that first. If one of them is none, the result has the other kind. SB_OUT_OF_RANGE: one of
 * the filters is by items.
 */
SB_NODISCARD sb_status sb_abf_plan_union(const sb_abf *a, const sb_abf *b, sb_abf *out,
										 sb_difference *difference) SB_NOEXCEPT;

/*
 * Adds the items of `other` to `abf`; *abf becomes the header that sb_abf_plan_union() plans, but `filled` is false if
 * no bit is left. All slices of `abf` must be in memory; if `abf` is not filled, they must be zero. REQUIRES:
 * sb_abf_plan_union() accepts the two filters. May return SB_INTERRUPTED.
 */
SB_NODISCARD sb_status sb_abf_unite(sb_abf *abf, void *slices, const sb_abf *other,
									const void *other_slices) SB_NOEXCEPT;

/*
 * set[i] becomes the number of set bits in the slice of age i, 0 <= i < k + l. This is the slice of generation c - i,
 * where c is the newest generation. May return SB_INTERRUPTED.
 */
SB_NODISCARD sb_status sb_abf_count(const sb_abf *abf, const void *slices, uint64_t set[SB_ABF_MAX_SLICES]) SB_NOEXCEPT;

/* --------------------------------------------------------------------- formulas */

/*
 * The false-positive rate: the probability that k consecutive slices all have the bit of an item that never came.
 * fills[i] is the share of bits that are set in the slice of age i, 0 <= i < k + l. The formula is the recursion of
 * Shtul, Baquero, Almeida 2020, section 4, over the number of slices in a row that have matched so far. NaN if k or l
 * is out of its range.
 */
double		sb_abf_rate(int hash_count, int generations, const double *fills) SB_NOEXCEPT;

/*
 * sb_abf_rate() at the end of a generation, when the rate is highest. The slice of age i then holds the items of
 * min(i + 1, k) generations. A slice with the items of k generations has `load` items for each bit, so its fill is
 * 1 - e^-load.
 *
 * If block_bits is not 0, the slices are cut into blocks of that many bits, and some blocks have a higher load than
 * others. The result is the mean of the rates of the blocks. The function takes the load of a block as normally
 * distributed and as the same in all slices, so the result is a little too high. NaN if k, l or the load is out of its
 * range.
 */
double		sb_abf_rate_of_load(int hash_count, int generations, double load, int block_bits) SB_NOEXCEPT;

/*
 * The largest load at which sb_abf_rate_of_load() is at most `fpr`. A filter takes k (k + l) / (l load) bits for each
 * item of its window. NaN if k or l is out of its range, or `fpr` is not between 0 and 1.
 */
double		sb_abf_load(int hash_count, int generations, double fpr, int block_bits) SB_NOEXCEPT;

/*
 * Chooses k and l as a plan for this rate does: sets *hash_count if it is SB_ABF_CHOOSE, and *generations if that is
 * SB_ABF_CHOOSE.
 */
void		sb_abf_choose(double fpr, int *hash_count, int *generations) SB_NOEXCEPT;

/*
 * Estimates the number of distinct items in the l + 1 newest generations, which cover the window. The slices of the
 * ages l, l - k, l - 2 k, ... together hold the items of each of these generations once. The function estimates the
 * number of items in each of these slices from its fill, and adds up the estimates. So an item that came in several
 * generations may count more than once. `set` is what sb_abf_count() gives.
 */
double		sb_abf_cardinality(const sb_abf *abf, const uint64_t *set) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
