/*
 * sb_bf.h: the Bloom filter, the type bf of SQL. Part of streambloom.h.
 *
 * A Bloom filter (Bloom 1970) stores a set in a few bits per item. It is an array of m bits, all 0 at first. A hash of
 * an item names k of these bits. To add the item, its k bits are set. To look it up, they are read. If one of them is
 * 0, the item was certainly not added. If all are 1, it was probably added; but it may be that other items have set
 * these bits. Such a wrong yes is a *false positive*. There is no wrong no: what was added is always found.
 *
 * So a filter can spare work that would be in vain, where a wrong yes costs only time: is this value in that
 * partition, in that range of pages? It cannot list its items, remove one (its bits may be those of other items, too),
 * or say how often an item came; the type tbf counts. How many different items it has can only be estimated
 * (sb_bf_items()). And it fills up: if more items are added than it was made for, the false-positive rate rises
 * towards 1. The types sbf, ibf and abf forget instead.
 *
 * With n items the rate is (1 - e^(-kn/m))^k (Ullman's slides; Cheng et al. 2005, eq. 5). It is lowest for k = m/n *
 * ln 2: then half of the bits are set, and a rate of p needs n ln(1/p) / ln(2)^2 bits. That is 9.6 bits per item for 1
 * %, and 4.8 more for each further factor of ten. sb_bf_formula.h has these formulas.
 *
 * A bf differs from the filter of the textbook in this:
 *
 *  - Lines. Bits anywhere in the array would be k cache misses in memory, and k pages of a stored value. So the array
 *    is divided into *lines* of 512 bits, and an item has all its bits in one line (Putze, Sanders, Singler 2007). Some
 *    lines get more items than others, so the same rate needs more bits: 4 % more at 1 %, 15 % more at 0.01 %.
 *    sb_blocked_fpr() is the exact rate of such a filter, and sb_bf_plan() sizes filters by it.
 *  - The exact form. A filter for which nobody has said how many items will come *sizes itself*. Up to
 *    SB_BF_EXACT_ITEMS items it stores their hashes, in some 5 bytes each, and no lines (sb_bf_exact.h). With more
 *    items it gets lines.
 *  - Filters of two sizes can be united, if one has 2^j times as many lines as the other. The smaller one is *widened*:
 *    each of its lines stands for 2^j lines. *Folding* makes a filter smaller: 2^j neighbouring lines become one, which
 *    has the bits of all. Neither loses an item.
 *
 * The core does not see values of SQL, only 64-bit hashes (src/pg/base/item.c makes them), of which a bf uses the 48
 * highest bits. Lines are bytes that the caller owns. A stored filter is a header of SB_BF_HEADER bytes, which sb_bf
 * below has in decoded form, followed by the lines or the exact items; docs/format.md has every byte.
 *
 * Go on with bf.cpp for how a hash becomes bits, sb_bf_builder.h for building a filter from many items, and
 * lookup/sb_lookup.h for looking an item up in a stored filter without reading all of it. docs/bf.md is for users.
 */
#ifndef STREAMBLOOM_SB_BF_H
#define STREAMBLOOM_SB_BF_H

#include "base/sb_hash_set.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SB_BF_HEADER 64			/* bytes before the first line */
#define SB_BF_LINE 64			/* bytes of a line */
#define SB_BF_MAX_HASHES 16
#define SB_BF_MAX_LINES ((SB_MAX_BYTES - SB_BF_HEADER) / SB_BF_LINE)
#define SB_BF_MIN_FPR 1e-6
#define SB_BF_MAX_FPR 0.5

/* Bits of sb_bf.flags; stored. */
#define SB_BF_EXACT 1			/* the exact form: items instead of lines, see sb_bf_exact.h */

#define SB_BF_EXACT_ITEMS 65536	/* the most items of an exact filter */

/* The header of a bf, decoded. */
typedef struct sb_bf
{
	sb_kind		kind;
	uint16_t	flags;
	uint32_t	payload;		/* exact: number of bytes after the header; else 0 */
	uint32_t	item_count;		/* exact: number of stored items, 0 .. SB_BF_EXACT_ITEMS; else 0 */
	uint32_t	line_count;		/* 1 .. SB_BF_MAX_LINES; exact: 0 */
	uint8_t		hash_count;		/* the number of bits that an item sets in its line, 1 .. 16 */
	uint8_t		widened;		/* the smallest filter that was united into this one had line_count / 2^widened lines */
	uint64_t	expected_items; /* the number of items that it was planned for; 0 if it sized itself */
	double		fpr;			/* the false-positive rate that it was planned for */
} sb_bf;

/*
 * Plans a filter that keeps the false-positive rate `fpr` up to `items` distinct items. sb_blocked_fpr() is the
 * formula. If `self_sized` is false, expected_items is `items`, and line_count is rounded up to nine significant
 * binary digits, so that a large filter can be folded. If `self_sized` is true, the filter is one that sizes itself:
 * expected_items is 0, and line_count is a power of two. The kind of the items is SB_KIND_NONE in either case.
 *
 * SB_OUT_OF_RANGE: `items` is 0, or `fpr` is NaN or lies outside SB_BF_MIN_FPR .. SB_BF_MAX_FPR. SB_TOO_LARGE: the
 * filter would need more than SB_BF_MAX_LINES lines. The first plan for a rate takes about 100 microseconds. Each
 * thread remembers the last rate that it has planned for, and another plan for this rate takes almost no time.
 */
SB_NODISCARD sb_status sb_bf_plan(uint64_t items, double fpr, bool self_sized, sb_bf *out) SB_NOEXCEPT;

/*
 * Returns how many items a line may hold on average at the false-positive rate `fpr`. *hash_count becomes the number
 * of hashes with which a line may hold the most items. sb_bf_plan() sizes filters by these two numbers. The index
 * access method, which lays out lines by itself, sizes its pages by them. Returns 0 if `fpr` is out of the range that
 * sb_bf_plan() accepts. The call takes as long as sb_bf_plan().
 */
double		sb_bf_items_per_line(double fpr, uint8_t *hash_count) SB_NOEXCEPT;

/* The number of bytes of a whole value: the header and everything that follows it. */
size_t		sb_bf_size(const sb_bf *bf) SB_NOEXCEPT;

/* Writes the 64 bytes of the header. */
void		sb_bf_encode_header(const sb_bf *bf, void *out) SB_NOEXCEPT;

/*
 * Reads and checks the header of a value of `total` bytes, of which the first `have` are at `data`. Only the first
 * SB_BF_HEADER bytes are read. Trusts nothing. SB_TRUNCATED: `have` is less than SB_BF_HEADER. SB_BAD_MAGIC,
 * SB_BAD_TYPE, SB_BAD_VERSION, SB_BAD_HEADER: see sb_status. SB_BAD_LENGTH: a value with this header does not have
 * `total` bytes.
 */
SB_NODISCARD sb_status sb_bf_decode_header(const void *data, size_t have, size_t total, sb_bf *out) SB_NOEXCEPT;

/*
 * Checks the bytes that follow the header; `stored` points to them. Call it once for each value that comes from
 * outside. The other functions of the core are memory-safe without this check. SB_BAD_CELLS: bits are set although the
 * header names no kind of items, or the items of an exact filter are not encoded as bf_exact.hpp says. May return
 * SB_INTERRUPTED.
 */
SB_NODISCARD sb_status sb_bf_check(const sb_bf *bf, const void *stored) SB_NOEXCEPT;

/*
 * sb_bf_add_many() adds hashes to the lines of a filter that is not exact. sb_bf_contains_many() looks hashes up in
 * any filter: found[i] says whether hashes[i] is in it. `lines` and `stored` are the bytes that follow the header.
 * Both functions prefetch the lines of later hashes, so one call with a hundred hashes is much faster than a hundred
 * calls. (sb_lookup_item() looks up one hash in a stored value.) SB_BAD_CELLS, for an exact filter only: see
 * sb_bf_check().
 */
void		sb_bf_add_many(const sb_bf *bf, void *lines, const uint64_t *hashes, size_t count) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_bf_contains_many(const sb_bf *bf, const void *stored, const uint64_t *hashes, size_t count,
										   bool *found) SB_NOEXCEPT;

/*
 * Plans the union or the intersection of two filters. Both must have the same number of hashes, and the larger one
 * must have 2^j times as many lines as the smaller one. SB_DIFFERENT: *difference says what differs. *out has the
 * parameters of the result. The result has as many lines as the larger filter: the smaller one is *widened*, that is,
 * each of its lines stands for 2^j lines. expected_items and fpr are the larger of the two values. The kinds of items
 * (sb_kind) are not compared: the caller does that first. If one of them is none, the result has the other kind.
 *
 * If one filter is exact, the plan has as many lines as the other filter. That is right for a union; for an
 * intersection there is sb_bf_intersect_exact(). If both are exact, the plan is that of an exact filter without items,
 * because the size of the union depends on the items themselves.
 */
SB_NODISCARD sb_status sb_bf_plan_union(const sb_bf *a, const sb_bf *b, sb_bf *out,
										sb_difference *difference) SB_NOEXCEPT;

/*
 * dst |= src, or if `intersect` is true dst &= src, line by line. A smaller src is widened. In a union src may be
 * exact: then its items are added. May return SB_INTERRUPTED, SB_BAD_CELLS. REQUIRES: dst->line_count is
 * src->line_count * 2^j, as in the result of sb_bf_plan_union(); dst is not exact, nor is src in an intersection.
 */
SB_NODISCARD sb_status sb_bf_combine(const sb_bf *dst, void *dst_lines, const sb_bf *src, const void *src_lines,
									 bool intersect) SB_NOEXCEPT;

/*
 * Folds a filter: writes line_count / 2^halvings lines to `out`, each the union of 2^halvings neighbouring lines, and
 * changes *bf accordingly. The folded filter has all the items. `out` may be `lines`. SB_OUT_OF_RANGE: line_count is
 * not divisible by 2^halvings, or the filter is exact. May return SB_INTERRUPTED. REQUIRES: `out` has room for the
 * folded lines.
 */
SB_NODISCARD sb_status sb_bf_fold(sb_bf *bf, const void *lines, int halvings, void *out) SB_NOEXCEPT;

typedef struct sb_bf_stats
{
	uint64_t	bits;			/* all bits of the lines; 0 for an exact filter */
	uint64_t	bits_set;
	/* the number of distinct items; an estimate unless the filter is exact (Swamidass, Baldi 2007); may be infinite */
	double		items;
	/* the standard error of `items`, if hashes are random; infinite if `items` is infinite; 0 for an exact filter */
	double		items_error;
	/* the rate that follows from the content: the mean over lines of fill^hashes; 0 for an exact filter */
	double		current_fpr;
} sb_bf_stats;

/*
 * How many distinct items the filter has room for at the rate that it was planned for. For an exact filter this is
 * SB_BF_EXACT_ITEMS. Each call searches for the load (items per line), but with one number of hashes only, so it takes
 * less time than a first sb_bf_plan().
 */
double		sb_bf_room(const sb_bf *bf) SB_NOEXCEPT;

/* Measures a filter. May return SB_INTERRUPTED. */
SB_NODISCARD sb_status sb_bf_measure(const sb_bf *bf, const void *lines, sb_bf_stats *out) SB_NOEXCEPT;

/*
 * Estimates sb_bf_stats.current_fpr from 32 lines, or all if the filter has fewer. The result is off by some ten
 * percent of itself; for an exact filter it is 0. If you only need to know whether the rate is above a limit, pass this
 * limit as `above`, else pass 0. With a limit, the result may be 0 if the rate is clearly below the limit; such a call
 * nearly always takes less than a tenth of the time of a union.
 */
double		sb_bf_sample_fpr(const sb_bf *bf, const void *lines, double above) SB_NOEXCEPT;

/*
 * Estimates only the number of distinct items, sb_bf_stats.items. For an exact filter it is their exact number. May
 * return SB_INTERRUPTED.
 */
SB_NODISCARD sb_status sb_bf_items(const sb_bf *bf, const void *lines, double *out) SB_NOEXCEPT;

/* How many bits of one line of 64 bytes are set: 0 .. 512. */
int			sb_bf_line_bits(const void *line) SB_NOEXCEPT;

/* The number of the line that has the bits of a hash, 0 .. line_count - 1. */
uint32_t	sb_bf_line_of(uint32_t line_count, uint64_t hash) SB_NOEXCEPT;

/*
 * sb_bf_line_add() adds a hash to one line of 64 bytes; sb_bf_line_contains() says whether a hash is in the line.
 * REQUIRES: hash_count is 1 .. 16.
 */
void		sb_bf_line_add(void *line, uint8_t hash_count, uint64_t hash) SB_NOEXCEPT;
bool		sb_bf_line_contains(const void *line, uint8_t hash_count, uint64_t hash) SB_NOEXCEPT;

/*
 * For each line i of `count` consecutive lines: sets bit i % 64 of mask[i / 64] if the hash is in the line. The other
 * bits of `mask` stay as they are.
 */
void		sb_bf_lines_containing(const void *lines, size_t count, uint8_t hash_count, uint64_t hash,
								   uint64_t *mask) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
