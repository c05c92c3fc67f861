/*
 * sb_bf.h: the Bloom filter. Part of streambloom.h.
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

/* The header of a bf, decoded. */
typedef struct sb_bf
{
	sb_kind		kind;
	uint32_t	line_count;		/* 1 .. SB_BF_MAX_LINES */
	uint8_t		hash_count;		/* cells an item sets in its line, 1 .. 16 */
	uint8_t		widened;		/* halvings from this size to that of its smallest part (see sb_bf_plan_union) */
	uint64_t	expected_items; /* the n it was made for; 0: it sized itself */
	double		fpr;			/* the rate it was made for */
} sb_bf;

/*
 * Parameters of a filter for `items` items at rate `fpr`, by the exact formula for lines of 512 bits. The number of
 * lines is rounded up to nine significant binary digits, so that large filters can be folded.
 * SB_OUT_OF_RANGE: items = 0, or fpr outside SB_BF_MIN_FPR .. SB_BF_MAX_FPR or NaN. SB_TOO_LARGE.
 */
SB_NODISCARD sb_status sb_bf_plan(uint64_t items, double fpr, sb_bf *out) SB_NOEXCEPT;

/*
 * The two steps of a plan, for those who make many of one rate: the hashes and the load (items a line) that the rate
 * allows take some 100 microseconds to find, the rest nothing. Load 0: the rate is out of range. `self_sized` is for filters that size
 * themselves: line_count is the power of two that holds `items`, and expected_items is 0.
 */
double		sb_bf_best_load(double fpr, uint8_t *hash_count) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_bf_plan_for_load(uint64_t items, double fpr, uint8_t hash_count, double load, bool self_sized,
										   sb_bf *out) SB_NOEXCEPT;

/* The bytes of a whole value, header and lines. */
size_t		sb_bf_size(const sb_bf *bf) SB_NOEXCEPT;

/* Writes the 64 bytes of the header. */
void		sb_bf_encode_header(const sb_bf *bf, void *out) SB_NOEXCEPT;

/*
 * Reads and checks a header. `have` of the value's `total` bytes are at `data`. Only the first SB_BF_HEADER are looked
 * at (SB_TRUNCATED: there are fewer). `total` must follow from the header. Trusts nothing.
 */
SB_NODISCARD sb_status sb_bf_decode_header(const void *data, size_t have, size_t total, sb_bf *out) SB_NOEXCEPT;

/* Adds to an array of lines (no header). */
void		sb_bf_add(const sb_bf *bf, void *lines, uint64_t hash) SB_NOEXCEPT;

/*
 * Adds many at once, or asks for many (one is asked for by sb_lookup_item()). It prefetches: from a hundred hashes on, one takes
 * little more than touching its line does. found[i] is the answer for hashes[i].
 */
void		sb_bf_add_many(const sb_bf *bf, void *lines, const uint64_t *hashes, size_t count) SB_NOEXCEPT;
void		sb_bf_contains_many(const sb_bf *bf, const void *lines, const uint64_t *hashes, size_t count, bool *found) SB_NOEXCEPT;

/*
 * May a and b be combined? Then *out has the parameters of the result: the size is the larger one (the smaller
 * filter is *widened*: each of its lines stands for 2^j lines), kind, expected_items and fpr are the greater ones.
 * SB_DIFFERENT fills *difference (not for kinds: compare those first). One of the kinds may be none.
 */
SB_NODISCARD sb_status sb_bf_plan_union(const sb_bf *a, const sb_bf *b, sb_bf *out, sb_difference *difference) SB_NOEXCEPT;

/* dst |= src, dst &= src over lines. REQUIRES: dst->line_count = src->line_count * 2^j (as sb_bf_plan_union() gives). */
SB_NODISCARD sb_status sb_bf_or(const sb_bf *dst, void *dst_lines, const sb_bf *src, const void *src_lines) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_bf_and(const sb_bf *dst, void *dst_lines, const sb_bf *src, const void *src_lines) SB_NOEXCEPT;

/*
 * Folds: neighbouring lines are united, `halvings` times, into `out`, which may be `lines`; bf->line_count is changed.
 * SB_OUT_OF_RANGE if the number of lines is not divisible by 2^halvings. REQUIRES: room for bf->line_count / 2^halvings lines.
 */
SB_NODISCARD sb_status sb_bf_fold(sb_bf *bf, const void *lines, int halvings, void *out) SB_NOEXCEPT;

typedef struct sb_bf_stats
{
	uint64_t	bits;			/* in all */
	uint64_t	bits_set;
	double		items;			/* estimated number of distinct items (Swamidass and Baldi 2007, per line size) */
	double		fpr;			/* of this very filter: the mean over lines of fill^hashes */
} sb_bf_stats;

SB_NODISCARD sb_status sb_bf_measure(const sb_bf *bf, const void *lines, sb_bf_stats *out) SB_NOEXCEPT;

/* The number of items alone. */
SB_NODISCARD sb_status sb_bf_items(const sb_bf *bf, const void *lines, double *out) SB_NOEXCEPT;

/* How many bits of this line of 64 bytes are set. */
int			sb_bf_line_bits(const void *line) SB_NOEXCEPT;

/* The line of a hash in a filter of so many lines, 0 .. lines - 1. */
uint32_t	sb_bf_line_of(uint32_t lines, uint64_t hash) SB_NOEXCEPT;

/* Adds to one line of 64 bytes; is the item in this line? */
void		sb_bf_line_add(void *line, uint8_t hash_count, uint64_t hash) SB_NOEXCEPT;
bool		sb_bf_line_contains(const void *line, uint8_t hash_count, uint64_t hash) SB_NOEXCEPT;

/* Sets bit i % 64 of mask[i / 64] for each of `count` consecutive lines that contains the hash; leaves the other bits. */
void		sb_bf_lines_containing(const void *lines, size_t count, uint8_t hash_count, uint64_t hash, uint64_t *mask) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
