/*
 * streambloom.h: the C face of the core, the only header that both sides of the boundary include.
 *
 * Rules of the boundary (CONTRIBUTING.md has the reasons):
 *  - The core allocates nothing and knows nothing of PostgreSQL. The caller asks for a size, allocates, and passes
 *    the buffer with its length; the core fills it.
 *  - Every function that can fail returns an sb_status that must be looked at. Nothing throws.
 *  - Buffers need no alignment unless a comment says REQUIRES. Stored bytes are little-endian on every machine.
 *
 * Words used everywhere: an *item* is hashed to 64 bits; a *line* is 512 bits of a bf; a *cell* is one counter of a
 * tbf; a *block* is the run of cells that holds all the cells of an item. Times are microseconds since
 * 2000-01-01 00:00 UTC (PostgreSQL's timestamptz).
 */
#ifndef STREAMBLOOM_H
#define STREAMBLOOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define SB_NOEXCEPT noexcept
extern "C" {
#else
#define SB_NOEXCEPT
#endif

#if defined(__GNUC__)
#define SB_NODISCARD __attribute__((warn_unused_result))
#else
#error "streambloom needs g++ or clang++: it uses 128-bit integers"
#endif

/* No stricter alignment than an allocator for eight-byte words gives. */
__extension__ typedef unsigned __int128 sb_u128 __attribute__((aligned(8)));

/* ---------------------------------------------------------------- status */

typedef enum sb_status
{
	SB_OK = 0,
	SB_TRUNCATED,		/* fewer bytes than a header */
	SB_BAD_MAGIC,		/* does not begin with 'S' 'B' */
	SB_BAD_TYPE,		/* a streambloom value of another type */
	SB_BAD_VERSION,		/* a format version this build does not know */
	SB_BAD_HEADER,		/* a header field is out of its range, or contradicts another */
	SB_BAD_LENGTH,		/* the length does not follow from the header */
	SB_BAD_CELLS,		/* a cell holds what no filter can hold */
	SB_BAD_LIST,		/* a list of hot items that no filter can have */
	SB_OUT_OF_RANGE,	/* a parameter is out of its range */
	SB_TOO_LARGE,		/* the filter would be larger than SB_MAX_BYTES */
	SB_OVERFLOW,		/* a counter, or the total of all hits, would overflow */
	SB_DIFFERENT		/* two filters cannot be combined: see sb_difference */
} sb_status;

/* A short English clause for a status, for an error's detail line. Never NULL. */
const char *sb_status_text(sb_status status) SB_NOEXCEPT;

/* Which parameter keeps two filters apart, and both values of it. */
typedef struct sb_difference
{
	const char *parameter;		/* its name as bf_info() or tbf_info() prints it */
	double		left;
	double		right;
} sb_difference;

/* No stored value is larger, so that its text form (two digits a byte) still fits PostgreSQL's 1 GB. */
#define SB_MAX_BYTES 512000000u

/* ---------------------------------------------------------- instructions */

typedef enum sb_simd
{
	SB_SIMD_PORTABLE = 1,
	SB_SIMD_AVX2 = 2
} sb_simd;

/*
 * The core chooses by itself, at the first call, what suits the processor; results are the same. This is for tests and
 * benchmarks: chooses again, AVX2 only where there is one, and says what it was.
 */
sb_simd		sb_simd_choose(sb_simd wanted) SB_NOEXCEPT;

/* --------------------------------------------------------------- hashing */

/* XXH3 with 64 bits, seed 0, over bytes. The same on every architecture. */
uint64_t	sb_hash_bytes(const void *data, size_t size) SB_NOEXCEPT;

/* XXH3 over the eight little-endian bytes of a 64-bit integer. */
uint64_t	sb_hash_int64(int64_t value) SB_NOEXCEPT;

/* XXH3 over the canonical IEEE bytes of a double: one NaN, one zero. Equal as PostgreSQL's float8 = compares. */
uint64_t	sb_hash_double(double value) SB_NOEXCEPT;

/* ------------------------------------------------------------ item kinds */

/* What sort of items a filter holds. Stored, so numbers are never reused. */
typedef enum sb_kind_code
{
	SB_KIND_NONE = 0,			/* nothing was added yet */
	SB_KIND_INTEGER = 1,
	SB_KIND_FLOAT = 2,
	SB_KIND_TEXT = 3,			/* detail: PostgreSQL's number of the encoding */
	SB_KIND_CHARACTER = 4,		/* char(n), without its padding; detail as for text */
	SB_KIND_BYTEA = 5,
	SB_KIND_UUID = 6,
	SB_KIND_BOOLEAN = 7,
	SB_KIND_DATE = 8,
	SB_KIND_TIME = 9,
	SB_KIND_TIMESTAMP = 10,
	SB_KIND_TIMESTAMPTZ = 11,
	SB_KIND_NAMED = 12			/* any other type: its name, and a hash of its whole name as detail */
} sb_kind_code;

#define SB_KIND_NAME_SIZE 28	/* with the terminating zero; longer names are cut */

typedef struct sb_kind
{
	uint16_t	code;
	uint32_t	detail;
	char		name[SB_KIND_NAME_SIZE];	/* SB_KIND_NAMED only, zero-padded; else all zero */
} sb_kind;

/* Are these the same kind? */
bool		sb_kind_equal(const sb_kind *a, const sb_kind *b) SB_NOEXCEPT;

/* -------------------------------------------------------------- formulas */

/*
 * The classic Bloom filter's false-positive rate (1 - e^(-kn/m))^k (Bloom 1970; Ullman's slides; Cheng et al., eq. 5).
 * bits > 0, hashes > 0, items >= 0, all finite; NaN for anything else.
 */
double		sb_bloom_fpr(double bits, double hashes, double items) SB_NOEXCEPT;

/* The bits that the classic filter needs at its best k: n ln(1/p) / ln(2)^2. items >= 0, 0 < fpr < 1, else NaN. */
double		sb_bloom_bits(double items, double fpr) SB_NOEXCEPT;

/* The number of hashes that is best for m bits and n items: m/n ln 2, at least 1 (not rounded). Else NaN. */
double		sb_bloom_hashes(double bits, double items) SB_NOEXCEPT;

/*
 * The exact false-positive rate of a blocked filter: items fall on blocks of `cells` cells by a Poisson law of mean
 * `load` items a block; an item sets `hashes` cells of its block, drawn independently (so two may coincide).
 * Sum over the number d of distinct cells of a query, by inclusion and exclusion (Putze, Sanders, Singler 2007
 * give the Poisson mixture; the inner probability here is exact instead of (1-e^..)^k).
 * REQUIRES: cells >= 2, 1 <= hashes <= 16, load >= 0.
 */
double		sb_blocked_fpr(double cells, int hashes, double load) SB_NOEXCEPT;

/* The largest load (items a block) at which sb_blocked_fpr() is at most fpr, cut to a multiple of 1/1024. */
double		sb_blocked_load(double cells, int hashes, double fpr) SB_NOEXCEPT;

/* ----------------------------------------------------- weights by age (decay) */

/*
 * Decay functions: the weight of a hit of this age, for merging undecayed filters by any of them. The family is that of
 * Cohen, Strauss 2003 (Maintaining Time-Decaying Stream Aggregates, PODS; Journal of Algorithms 2006), as Cheng et al.
 * list it: exponential, sliding window, polynomial, polyexponential, chordal and polygonal.
 *
 * Ages and lengths are microseconds. An age below 0 is taken as 0; SB_DECAY_FOREVER is infinite and gives the limit.
 * Every length (half-life, width, scale) is 1 .. SB_DECAY_MAX_LENGTH. Weights lie in 0 .. 1, do not rise with age but
 * by an ulp of rounding (for sb_decay_polyexponential() see there), and are at most an ulp or so below the exact ones.
 * A parameter out of its range gives NaN; nothing else does.
 */
#define SB_DECAY_MAX_LENGTH (INT64_C(1) << 60)	/* 36,500 years */
#define SB_DECAY_FOREVER INT64_MAX

/* 2^(-age / half_life), exact where that is a power of 2 */
double		sb_decay_exponential(int64_t age, int64_t half_life) SB_NOEXCEPT;

/* 1 for age < width, else 0: the age `width` itself is out, as for a bucket that ended exactly so long ago */
double		sb_decay_window(int64_t age, int64_t width) SB_NOEXCEPT;

/* (1 + age / scale)^(-exponent). exponent > 0, finite. The 1 keeps the weight of a new hit finite: it is 1. */
double		sb_decay_polynomial(int64_t age, double exponent, int64_t scale) SB_NOEXCEPT;

/*
 * x^k e^(-x) / k!, x = age / scale, k = degree >= 0, divided by its largest value k^k e^(-k) / k!. It rises until
 * x = k: so it is not a decay function in the sense of Cohen and Strauss, and of a bucket's hits the youngest need not
 * weigh most. Returned is the largest weight of any age in age .. age + bucket, 0 <= bucket <= SB_DECAY_MAX_LENGTH:
 * with 0 the function itself; with SB_DECAY_FOREVER the least function above it that does not rise: 1 until the peak.
 * Rounded up.
 */
double		sb_decay_polyexponential(int64_t age, int32_t degree, int64_t scale, int64_t bucket) SB_NOEXCEPT;

/* 1 - age / width, 0 from there on (a chord: one straight line) */
double		sb_decay_linear(int64_t age, int64_t width) SB_NOEXCEPT;

/*
 * Straight lines between the points (ages[i], weights[i]); before the first and after the last their weights. Of points
 * of the same age (a step) the last one counts. No points: NaN.
 * REQUIRES: 0 <= ages[i] <= ages[i + 1] <= SB_DECAY_MAX_LENGTH; 1 >= weights[i] >= weights[i + 1] >= 0.
 */
double		sb_decay_polygonal(int64_t age, const int64_t *ages, const double *weights, size_t points) SB_NOEXCEPT;

/* ---------------------------------------------------- a set of 64-bit hashes */

/*
 * Open addressing with linear probing over an array the caller owns. It serves as the small state of aggregates:
 * it knows the number of distinct hashes exactly. The search for a hash begins at a slot that its high bits say: slots are in the
 * order of hashes but for neighbours.
 *
 * Each hash can have `beside` words of the caller's with it, so that one line of the cache brings both: `slots` holds the hashes
 * of slots 0 .. 3, the first words of these, the second words of these and so on, then slots 4 .. 7; in the end slot `capacity`,
 * which says (0 or 1) whether the hash 0 is in the set. sb_hash_set_bytes() in all, zeroed at first; lines are met best if
 * it begins at a multiple of 64. REQUIRES: capacity is a power of two, at least 8.
 */
typedef struct sb_hash_set
{
	uint64_t   *slots;
	uint64_t	capacity;
	uint64_t	count;
	uint32_t	beside;
} sb_hash_set;

/* Where in `slots` the hash of a slot is; its words are 4, 8, ... after it. */
static inline size_t
sb_hash_set_place(uint64_t slot, uint32_t beside)
{
	return (size_t) (slot / 4 * 4 * (1 + (uint64_t) beside) + slot % 4);
}

/* The bytes of the array. */
size_t		sb_hash_set_bytes(uint64_t capacity, uint32_t beside) SB_NOEXCEPT;

/* Is there room for one more without passing a load of 5/8? */
bool		sb_hash_set_has_room(const sb_hash_set *set) SB_NOEXCEPT;

/* The smallest capacity that holds `count` hashes. */
uint64_t	sb_hash_set_capacity_for(uint64_t count) SB_NOEXCEPT;

/* Adds a hash if it is not there; returns its slot, 0 .. capacity. REQUIRES: sb_hash_set_has_room(). */
uint64_t	sb_hash_set_insert(sb_hash_set *set, uint64_t hash) SB_NOEXCEPT;

/*
 * Adds hashes in their order, until all are in or there is no room; returns how many were. Prefetches: in batches of a
 * hundred or more it costs little more in a large set than in a small one. REQUIRES: sb_hash_set_has_room().
 */
size_t		sb_hash_set_insert_many(sb_hash_set *set, const uint64_t *hashes, size_t count) SB_NOEXCEPT;

/*
 * Adds all hashes of another set. REQUIRES: there is room for all of them, and the set is at least as large as the other:
 * in slot order they would pile up in a smaller one.
 */
void		sb_hash_set_insert_set(sb_hash_set *set, const sb_hash_set *other) SB_NOEXCEPT;

/* How many of these hashes, no two of them the same, are not in the set. */
uint64_t	sb_hash_set_missing(const sb_hash_set *set, const uint64_t *hashes, size_t count) SB_NOEXCEPT;

/* All hashes of a set with their words into an empty one, which is larger or has more words beside. */
void		sb_hash_set_move(sb_hash_set *to, const sb_hash_set *from) SB_NOEXCEPT;

/* The slot of a hash, or UINT64_MAX if it is not in the set. */
uint64_t	sb_hash_set_find(const sb_hash_set *set, uint64_t hash) SB_NOEXCEPT;

/* Walks the set: the next used slot at or after `slot`, or UINT64_MAX; its hash into *hash. */
uint64_t	sb_hash_set_next(const sb_hash_set *set, uint64_t slot, uint64_t *hash) SB_NOEXCEPT;

/* Its hashes as little-endian words, in the order of slots: `count` times 8 bytes. */
void		sb_hash_set_write(const sb_hash_set *set, void *out) SB_NOEXCEPT;

/* Hashes, and what is kept beside them, to little-endian words and back; these need not be aligned. */
void		sb_hash_set_write_words(const uint64_t *words, size_t count, void *out) SB_NOEXCEPT;
void		sb_hash_set_read_words(const void *from, uint64_t *words, size_t count) SB_NOEXCEPT;

/* -------------------------------------------------------------------- bf */

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
	uint32_t	lines;			/* 1 .. SB_BF_MAX_LINES */
	uint8_t		hashes;			/* cells an item sets in its line, 1 .. 16 */
	uint8_t		widened;		/* halvings from this size to that of its smallest part (see sb_bf_join) */
	uint64_t	expected_items; /* the n it was made for; 0: it sized itself */
	double		fpr;			/* the rate it was made for */
} sb_bf;

/*
 * Parameters of a filter for `items` items at rate `fpr`, by the exact formula for lines of 512 bits. The number of
 * lines is rounded up to nine significant binary digits, so that large filters can be folded.
 * SB_OUT_OF_RANGE: items = 0, or fpr outside SB_BF_MIN_FPR .. SB_BF_MAX_FPR or NaN. SB_TOO_LARGE.
 */
SB_NODISCARD sb_status sb_bf_plan(uint64_t items, double fpr, sb_bf *out) SB_NOEXCEPT;

/* The same for filters that size themselves: lines is the power of two that holds `items`. expected_items is 0. */
SB_NODISCARD sb_status sb_bf_plan_power(uint64_t items, double fpr, sb_bf *out) SB_NOEXCEPT;

/*
 * The two steps of a plan, for those who make many of one rate: the hashes and the load (items a line) that the rate
 * allows take some 100 microseconds to find, the rest nothing. Load 0: the rate is out of range.
 */
double		sb_bf_best_load(double fpr, uint8_t *hashes) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_bf_plan_for_load(uint64_t items, double fpr, uint8_t hashes, double load, bool power,
										   sb_bf *out) SB_NOEXCEPT;

/* The bytes of a whole value, header and lines. */
size_t		sb_bf_size(const sb_bf *bf) SB_NOEXCEPT;

/* Writes the 64 bytes of the header. */
void		sb_bf_encode_header(const sb_bf *bf, void *out) SB_NOEXCEPT;

/*
 * Reads and checks a header. `have` bytes are at `data` (at least SB_BF_HEADER are looked at), `total` is the length
 * of the whole value, which must follow from the header. Trusts nothing.
 */
SB_NODISCARD sb_status sb_bf_decode_header(const void *data, size_t have, size_t total, sb_bf *out) SB_NOEXCEPT;

/* Where in the value (counted from its first header byte) the line of this hash begins. */
size_t		sb_bf_line_offset(const sb_bf *bf, uint64_t hash) SB_NOEXCEPT;

/* Is the item in this line of 64 bytes? */
bool		sb_bf_line_contains(const void *line, uint8_t hashes, uint64_t hash) SB_NOEXCEPT;

/* On an array of lines (no header): add, ask. */
void		sb_bf_add(const sb_bf *bf, void *lines, uint64_t hash) SB_NOEXCEPT;
bool		sb_bf_contains(const sb_bf *bf, const void *lines, uint64_t hash) SB_NOEXCEPT;

/*
 * The same for many at once, which prefetches: from a hundred hashes on, one takes little more than touching its line does.
 * found[i] is the answer for hashes[i].
 */
void		sb_bf_add_many(const sb_bf *bf, void *lines, const uint64_t *hashes, size_t count) SB_NOEXCEPT;
void		sb_bf_contains_many(const sb_bf *bf, const void *lines, const uint64_t *hashes, size_t count, bool *found) SB_NOEXCEPT;

/* Adds all hashes of a set. */
void		sb_bf_add_set(const sb_bf *bf, void *lines, const sb_hash_set *set) SB_NOEXCEPT;

/*
 * May a and b be combined? Then *out has the parameters of the result: the size is the larger one (the smaller
 * filter is *widened*: each of its lines stands for 2^j lines), kind, expected_items and fpr are the greater ones.
 * SB_DIFFERENT fills *difference (not for kinds: compare those first). One of the kinds may be none.
 */
SB_NODISCARD sb_status sb_bf_join(const sb_bf *a, const sb_bf *b, sb_bf *out, sb_difference *difference) SB_NOEXCEPT;

/* dst |= src, dst &= src over lines. REQUIRES: dst->lines = src->lines * 2^j (as sb_bf_join() gives). */
void		sb_bf_or(const sb_bf *dst, void *dst_lines, const sb_bf *src, const void *src_lines) SB_NOEXCEPT;
void		sb_bf_and(const sb_bf *dst, void *dst_lines, const sb_bf *src, const void *src_lines) SB_NOEXCEPT;

/*
 * Folds in place: neighbouring lines are united, `halvings` times; bf->lines is changed.
 * SB_OUT_OF_RANGE if the number of lines is not divisible by 2^halvings.
 */
SB_NODISCARD sb_status sb_bf_fold(sb_bf *bf, void *lines, int halvings) SB_NOEXCEPT;

/* The same from one array of lines into another. REQUIRES: room for bf->lines / 2^halvings lines. */
SB_NODISCARD sb_status sb_bf_fold_into(sb_bf *bf, const void *lines, int halvings, void *out) SB_NOEXCEPT;

typedef struct sb_bf_stats
{
	uint64_t	bits;			/* in all */
	uint64_t	bits_set;
	double		items;			/* estimated number of distinct items (Swamidass and Baldi 2007, per line size) */
	double		fpr;			/* of this very filter: the mean over lines of fill^hashes */
} sb_bf_stats;

void		sb_bf_measure(const sb_bf *bf, const void *lines, sb_bf_stats *out) SB_NOEXCEPT;

/* The number of items alone. */
double		sb_bf_items(const sb_bf *bf, const void *lines) SB_NOEXCEPT;

/* How many bits of this line of 64 bytes are set. */
int			sb_bf_line_bits(const void *line) SB_NOEXCEPT;

/* The line of a hash in a filter of so many lines, 0 .. lines - 1. */
uint32_t	sb_bf_line_of(uint32_t lines, uint64_t hash) SB_NOEXCEPT;

/* Adds to one line of 64 bytes. */
void		sb_bf_line_add(void *line, uint8_t hashes, uint64_t hash) SB_NOEXCEPT;

/* Sets bit i % 64 of mask[i / 64] for each of `count` consecutive lines that contains the hash; leaves the other bits. */
void		sb_bf_lines_containing(const void *lines, size_t count, uint8_t hashes, uint64_t hash, uint64_t *mask) SB_NOEXCEPT;

/* -------------------------------------------------------------- sbf, ibf */

/*
 * The stable filters: m cells of d bits, Max = 2^d - 1, K hashes, P evictions a step. A step takes one arriving item: it
 * tests it (all K cells non-zero: a duplicate), evicts (P cells lose 1), and sets the item's cells. sbf is Deng, Rafiei
 * 2006 (Approximately Detecting Duplicates for Streaming Data using Stable Bloom Filters, SIGMOD), ibf is Bhoraskar,
 * Gabale, P. Kulkarni, D. Kulkarni 2013 (Importance-aware Bloom Filter for Managing Set Membership Queries on Streaming
 * Data). Both are one struct; the scheme says which.
 */
#define SB_STABLE_HEADER 128		/* bytes before the first cell */
#define SB_STABLE_MAX_HASHES 16
#define SB_STABLE_MAX_BITS 8
#define SB_STABLE_MIN_BYTES 64		/* of cells: so there are at least 64 of them, however wide */
#define SB_STABLE_MAX_BYTES (SB_MAX_BYTES - SB_STABLE_HEADER)
#define SB_STABLE_MAX_VALUE 255		/* Max for 8 bits */
#define SB_STABLE_MAX_EVICTIONS 65535	/* so that no step is long */
#define SB_STABLE_TRIES 32			/* of value-weighted eviction: at most this many times P a step */
#define SB_STABLE_CHOOSE (-1)		/* a parameter that the plan is to choose */
#define SB_STABLE_MAX_STEPS (UINT64_C(1) << 62)	/* counts of items and steps stop here */

/* Which of them; stored. */
typedef enum sb_scheme
{
	SB_STABLE = 0,				/* sbf: sets cells to Max */
	SB_TWO_CLASS = 1,			/* IBF-2C: max(cell, Max or floor(Max/2)) */
	SB_MULTI_CLASS = 2,			/* IBF-MC: max(cell, f(importance)) */
	SB_VALUE_WEIGHTED = 3		/* IBF-H: as multi class, and evicts small values sooner */
} sb_scheme;

/* The header of an sbf or ibf, decoded. */
typedef struct sb_stable
{
	sb_kind		kind;
	uint8_t		scheme;			/* sb_scheme */
	uint8_t		bits;			/* d: 1 .. 8; of an ibf 2 .. 8 */
	uint8_t		hashes;			/* K: 1 .. 16 */
	uint32_t	cells;			/* m */
	uint32_t	evictions;		/* P: 0 (nothing is ever evicted) .. m, at most SB_STABLE_MAX_EVICTIONS */
	uint64_t	seed;			/* of the generator, as given */
	uint64_t	random;			/* its state now */
	uint64_t	items;			/* that arrived */
	uint64_t	steps;			/* arrivals, and evictions without one (sb_stable_decay()) */
	double		fpr;			/* the rate asked for */
	double		low;			/* ibf: the range of importances; two_class: low = high = the threshold; sbf: both 0 */
	double		high;
} sb_stable;

/*
 * Parameters of a filter with this many bytes of cells at a target rate. hashes, bits, evictions: SB_STABLE_CHOOSE, or
 * given. Chosen are d = 3 bits (Max 7), K = c log2(1/fpr) with c = 0.45, 0.7, 0.85 for 1, 2, 3 or more bits (where a
 * search over the recursion of false negatives finds the longest memory), and the smallest P that keeps the rate at or
 * below fpr whatever the importances (sb_stable_evictions(), or for value-weighted eviction a search). For an ibf also the
 * range: finite, low < high; for two_class low = high.
 * SB_OUT_OF_RANGE: a parameter is, or the rate needs more evictions a step than are allowed. SB_TOO_LARGE: bytes.
 */
SB_NODISCARD sb_status sb_stable_plan(uint64_t bytes, double fpr, sb_scheme scheme, double low, double high, int hashes,
									  int bits, int64_t evictions, uint64_t seed, sb_stable *out) SB_NOEXCEPT;

/* Max = 2^d - 1. */
int			sb_stable_max(const sb_stable *stable) SB_NOEXCEPT;

/* The bytes of a whole value, header and cells. */
size_t		sb_stable_size(const sb_stable *stable) SB_NOEXCEPT;

/* Writes the 128 bytes of the header. */
void		sb_stable_encode_header(const sb_stable *stable, void *out) SB_NOEXCEPT;

/*
 * Reads and checks a header, as sb_bf_decode_header() does. The first is for an sbf, the second for an ibf, the third for
 * either.
 */
SB_NODISCARD sb_status sb_sbf_decode_header(const void *data, size_t have, size_t total, sb_stable *out) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_ibf_decode_header(const void *data, size_t have, size_t total, sb_stable *out) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_stable_decode_header(const void *data, size_t have, size_t total, sb_stable *out) SB_NOEXCEPT;

/* The rest of a complete check: nothing after the last cell, no more cells set than the items can have set. */
SB_NODISCARD sb_status sb_stable_check_cells(const sb_stable *stable, const void *cells) SB_NOEXCEPT;

/* The generator of all stable filters: SplitMix64 (Steele, Lea, Flood 2014). Advances the state, returns 64 bits. */
uint64_t	sb_stable_draw(uint64_t *state) SB_NOEXCEPT;

/* The number of an item's i-th cell, 0 <= i < K: independent over the whole filter, so two may be the same. */
uint32_t	sb_stable_cell(const sb_stable *stable, uint64_t hash, int i) SB_NOEXCEPT;

/* A cell's value. */
uint8_t		sb_stable_value(const sb_stable *stable, const void *cells, uint32_t cell) SB_NOEXCEPT;

/* Where in the value (counted from its first header byte) the one or two bytes of a cell are, and its value in them. */
void		sb_stable_cell_range(const sb_stable *stable, uint32_t cell, size_t *offset, size_t *size) SB_NOEXCEPT;
uint8_t		sb_stable_value_in(const sb_stable *stable, const void *range, uint32_t cell) SB_NOEXCEPT;

/* Are all K cells of the item non-zero? */
bool		sb_stable_contains(const sb_stable *stable, const void *cells, uint64_t hash) SB_NOEXCEPT;

/*
 * What an item of this importance sets its cells to: 1 .. Max (two_class: floor(Max / 2) or, from the threshold on, Max).
 * Otherwise min(Max, 1 + floor((importance - low) / (high - low) * Max)), so that uniform importances give uniform
 * values; outside the range it is clipped. An sbf takes no notice of it. REQUIRES: not NaN.
 */
uint8_t		sb_stable_value_of(const sb_stable *stable, double importance) SB_NOEXCEPT;

/* One step: tests, evicts, sets the item's cells to max(cell, value). Returns whether it was a duplicate. */
bool		sb_stable_step(sb_stable *stable, void *cells, uint64_t hash, uint8_t value) SB_NOEXCEPT;

/* The same for many items, one after the other. duplicates: one flag for each, or NULL. */
void		sb_stable_steps(sb_stable *stable, void *cells, const uint64_t *hashes, const uint8_t *values, size_t count,
							bool *duplicates) SB_NOEXCEPT;

/*
 * Evicts without an arrival, `steps` times. The time is proportional to steps until all cells are zero, and constant
 * from then on; who must stay interruptible asks for a few thousand at a time: the result is the same. Returns whether it
 * has seen that nothing is left to evict.
 */
bool		sb_stable_decay(sb_stable *stable, void *cells, uint64_t steps) SB_NOEXCEPT;

/* The same as the paper has it, P cells drawn one by one: for tests, to compare with runs. Value-weighted: nothing. */
void		sb_stable_evict_scattered(sb_stable *stable, void *cells) SB_NOEXCEPT;

/*
 * May a and b be united? Then *out has the parameters of the result: kind, fpr, seed and the generator's state are the
 * greater ones, items and steps the sums. SB_DIFFERENT fills *difference (not for kinds and schemes: compare those first).
 */
SB_NODISCARD sb_status sb_stable_join(const sb_stable *a, const sb_stable *b, sb_stable *out,
									  sb_difference *difference) SB_NOEXCEPT;

/* dst = max(dst, src), cell by cell. REQUIRES: both were joined to `stable`. */
void		sb_stable_unite(const sb_stable *stable, void *dst, const void *src) SB_NOEXCEPT;

/* How many cells have which value: counts[0 .. Max]; those above are set to 0. */
void		sb_stable_count(const sb_stable *stable, const void *cells, uint64_t counts[SB_STABLE_MAX_VALUE + 1]) SB_NOEXCEPT;

/* ------------------------------------------------------- formulas of sbf, ibf */

/* What the formulas are about. */
typedef struct sb_stable_chain
{
	double		cells;			/* m: at least 1, finite */
	double		hashes;			/* K: 1 .. 16 */
	double		evictions;		/* P: 0 .. m */
	int			max;			/* Max: 1 .. 255 */
	bool		weighted;		/* evicts by value */
	const double *shares;		/* of the items that set value 1, 2, .. Max: not negative, sum 1. NULL: all set Max */
} sb_stable_chain;

/*
 * The fraction of zero cells that a filter tends to on a stream of distinct items: V0 = prod_{i = 1 .. Max}
 * p' / (p' + k_i), p = P/m, k = K/m, p' = p (1 - k), k_i = k * share of the items that set i or more. (Deng, Rafiei 2006,
 * theorem 2, is all k_i = k; Bhoraskar et al. 2013, theorem III.1, is two values.) With repeats there are more zeros.
 * Weighted: p' depends on i, as p' / (i s), where s is the mean of 1/value (0 for a zero cell) in the same stable
 * state, found by bisection, at least 1/SB_STABLE_TRIES. The mean field of the process, so exact for many cells only.
 * NaN for parameters out of their range.
 */
double		sb_stable_zeros(const sb_stable_chain *chain) SB_NOEXCEPT;

/* The bound of the false-positive rate, (1 - V0)^K (Bhoraskar et al. 2013, corollary III.4). */
double		sb_stable_bound(const sb_stable_chain *chain) SB_NOEXCEPT;

/*
 * Evictions a step for a rate: P = 1 / ((V0^(-1/Max) - 1) (1/K - 1/m)), V0 = 1 - fpr^(1/K) (Deng, Rafiei 2006, section
 * 4.3), not rounded. The bound holds for an ibf, too, whatever its shares. 0 < fpr < 1. NaN out of range.
 */
double		sb_stable_evictions(double fpr, double hashes, int max, double cells) SB_NOEXCEPT;

/*
 * The same by search, for shares and value-weighted eviction: the smallest whole P <= m at which sb_stable_bound() is at
 * most fpr. chain->evictions is not looked at. NaN out of range, or if there is none.
 */
double		sb_stable_fitting_evictions(const sb_stable_chain *chain, double fpr) SB_NOEXCEPT;

/*
 * The probability that a duplicate is missed though its predecessor set its cells to `value` and only `gap` items came
 * in between: 1 - (1 - Pr0)^K, Pr0 the mass of state 0 after gap steps of the chain with states 0 .. Max, among them
 * those that set the cell again (Bhoraskar et al. 2013, section III; there only in words). The stream in between is of
 * distinct items. 1 <= value <= Max; NaN out of range. REQUIRES: work holds 2 * (Max + 1)^2 doubles.
 */
double		sb_stable_false_negatives(const sb_stable_chain *chain, int value, uint64_t gap, double *work) SB_NOEXCEPT;

/* The shares of a scheme where importances are uniform over the range: shares[0 .. Max - 1]. */
void		sb_stable_uniform_shares(sb_scheme scheme, int max, double *shares) SB_NOEXCEPT;

/* ------------------------------------------------------------------- tbf */

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
	uint32_t	blocks;
	uint16_t	block_cells;	/* SB_TBF_BLOCK, or if there is one block a power of two from 64 on */
	uint8_t		hashes;
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
 * The moment of a time: E(t) = floor(t / T), x = E*T / half_life (DESIGN section 6; Cheng et al., Fig. 1 decays at
 * common epoch boundaries). Exact integer arithmetic, so the same on every machine. Without decay: 0, 2^62.
 * REQUIRES: half_life and epoch as sb_tbf_plan() accepts, |at| <= SB_TBF_MAX_TIME.
 */
void		sb_tbf_moment(int64_t half_life, int64_t epoch, int64_t at, sb_moment *out) SB_NOEXCEPT;

/* A hit of this weight in 2^-12 hits, before the shift by half-lives: ceil(w * 2^(12 + frac x)). weight >= 0. */
SB_NODISCARD sb_status sb_tbf_hit(const sb_moment *moment, double weight, uint64_t *out) SB_NOEXCEPT;

/*
 * Parameters of a filter for `items` items at a rate `fpr` of overcounts. half_life 0: no decay; else 1 .. SB_TBF_MAX_TIME, and
 * so epoch. power: size it like a filter that sizes itself (a power of two of cells).
 */
SB_NODISCARD sb_status sb_tbf_plan(uint64_t items, double fpr, int64_t half_life, int64_t epoch, bool power,
								   sb_tbf *out) SB_NOEXCEPT;

/* The two steps of a plan, as sb_bf_best_load() and sb_bf_plan_for_load(); the load is in items a block of 4,096. */
double		sb_tbf_best_load(double fpr, uint8_t *hashes) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_tbf_plan_for_load(uint64_t items, double fpr, uint8_t hashes, double load, int64_t half_life,
											int64_t epoch, bool power, sb_tbf *out) SB_NOEXCEPT;

/* The number of items up to which a filter of these parameters keeps its rate. */
double		sb_tbf_capacity(const sb_tbf *tbf) SB_NOEXCEPT;

/* The estimated number of items that `touched` non-zero cells speak of; infinity if all are. */
double		sb_tbf_estimate_items(const sb_tbf *tbf, uint64_t touched) SB_NOEXCEPT;

/* Leaves the parameters and takes out what the header says of hits: the header of the empty filter. */
void		sb_tbf_clear(sb_tbf *tbf) SB_NOEXCEPT;

uint64_t	sb_tbf_cells(const sb_tbf *tbf) SB_NOEXCEPT;
size_t		sb_tbf_size(const sb_tbf *tbf) SB_NOEXCEPT;	/* of the whole value */
size_t		sb_tbf_counters_size(const sb_tbf *tbf) SB_NOEXCEPT;	/* of the counters alone, which follow the header */
void		sb_tbf_encode_header(const sb_tbf *tbf, void *out) SB_NOEXCEPT;

/* As sb_bf_decode_header(). What follows the header is looked at by sb_tbf_check_cells(). */
SB_NODISCARD sb_status sb_tbf_decode_header(const void *data, size_t have, size_t total, sb_tbf *out) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_tbf_check_cells(const sb_tbf *tbf, const void *cells) SB_NOEXCEPT;

/* The block of an item, and the cells of the item in it (tbf->hashes numbers; two may be equal). */
uint32_t	sb_tbf_block(const sb_tbf *tbf, uint64_t hash) SB_NOEXCEPT;
void		sb_tbf_positions(const sb_tbf *tbf, uint64_t hash, uint16_t positions[SB_TBF_MAX_HASHES]) SB_NOEXCEPT;

/*
 * Where a stored block lies, counted from the first header byte; size 0 if it is empty (all its counters are zero). The
 * extensible layout has a directory for that: the first function says which of its bytes to give to the second (none, and
 * so any pointer, for the flat layout). SB_BAD_CELLS if the directory contradicts the header.
 */
void		sb_tbf_directory_range(const sb_tbf *tbf, uint32_t block, size_t *offset, size_t *size) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_tbf_block_range(const sb_tbf *tbf, uint32_t block, const void *directory, size_t *offset,
										  size_t *size) SB_NOEXCEPT;

/* The smallest of the item's counters, in units, read from its stored block without unpacking the rest. */
SB_NODISCARD sb_status sb_tbf_block_min(const sb_tbf *tbf, const void *block, size_t size, uint64_t hash,
										uint64_t *out) SB_NOEXCEPT;

/* All counters of one stored block, in units: block_cells of them. cells: all that follows the header. */
SB_NODISCARD sb_status sb_tbf_unpack_block(const sb_tbf *tbf, const void *cells, uint32_t block,
										   uint64_t *counters) SB_NOEXCEPT;

/* The same counters in another layout. Two calls, as for decay. */
SB_NODISCARD sb_status sb_tbf_layout_plan(const sb_tbf *tbf, const void *cells, uint8_t layout, sb_tbf *out) SB_NOEXCEPT;
void		sb_tbf_layout_write(const sb_tbf *tbf, const void *cells, const sb_tbf *planned, void *out) SB_NOEXCEPT;

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
void		sb_tbf_write_entry(void *table, uint64_t index, const sb_tbf_entry *entry) SB_NOEXCEPT;
void		sb_tbf_read_entry(const void *table, uint64_t index, sb_tbf_entry *out) SB_NOEXCEPT;

/* Hits of an entry in units of the filter's counters, rounded up. */
uint64_t	sb_tbf_entry_units(const sb_tbf *tbf, const sb_tbf_entry *entry) SB_NOEXCEPT;

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
 * increase, whose counters are no sums.
 */
double		sb_tbf_block_estimate(const sb_tbf *tbf, const uint64_t *counters, uint64_t hash) SB_NOEXCEPT;

/*
 * An estimate of the sum over items of the product of their counters, in units squared, from one block of two filters of
 * the same shape: (sum(a b) - A B / m) / (k (1 - k/m)), A and B the blocks' sums. May be negative.
 */
double		sb_tbf_block_product(const sb_tbf *tbf, const uint64_t *left, const uint64_t *right) SB_NOEXCEPT;

/* The weight that a hit keeps for one epoch: 2^(-epoch / half_life); 1 without decay. */
double		sb_tbf_decay_factor(const sb_tbf *tbf) SB_NOEXCEPT;

/* slack with the half unit that SB_TBF_FORGOTTEN stands for; 2^-12 hits at the base. */
uint64_t	sb_tbf_slack(const sb_tbf *tbf) SB_NOEXCEPT;

/* As sb_bf_join(): may they be added? *out is the header of an empty filter; half_life, epoch and hashes must agree, sizes up to a power of two, and neither may have recurring minimum. */
SB_NODISCARD sb_status sb_tbf_join(const sb_tbf *a, const sb_tbf *b, sb_tbf *out, sb_difference *difference) SB_NOEXCEPT;

/*
 * Decay to the half-life that `at` lies in: q <= 2^(j-1) becomes 0 and otherwise ceil(q / 2^j). In one pass: fills *out and
 * the cells, sb_tbf_counters_size(out) bytes in the end; on the way it may need all of the room. Where there is nothing to do
 * (sb_tbf_decays() is false) the result is the same filter. SB_BAD_CELLS if a stored block cannot be read, SB_TOO_LARGE as
 * sb_sums_plan().
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
void		sb_tbf_remove_write(const sb_tbf *tbf, const void *cells, uint64_t hash, const sb_moment *moment,
								uint64_t value, const sb_tbf *planned, void *out) SB_NOEXCEPT;

/* ------------------------------------------- exact sums, before they are stored */

/*
 * The in-memory state of tbf_agg and tbf_merge_agg: per cell (or per item, while few are known) exact integer sums in
 * 2^-12 hits, in planes of 16 half-lives, of which the newest four are kept. The caller owns the plane arrays: an
 * absent one is NULL and means zeros. Everything in here is a sum or a maximum of integers, so the order of rows
 * and the number of workers leave no trace. REQUIRES: zeroed at first.
 */
typedef struct sb_sums
{
	uint64_t   *plane[SB_TBF_PLANES];	/* [i] is plane number newest_plane - i */
	uint64_t	width;			/* words in each plane */
	uint32_t	beside;			/* word i lies at sb_hash_set_place(i, beside): 0 for cells, of a set's slots as many as the set says */
	sb_u128		total[SB_TBF_PLANES];
	sb_u128		slack[SB_TBF_PLANES];
	sb_u128		loss[SB_TBF_PLANES];	/* what one item loses at most if the plane falls out */
	sb_u128		dropped_total;	/* total and loss of what fell out, as if it were in the newest plane not kept */
	sb_u128		dropped_loss;
	int64_t		newest_plane;
	int64_t		newest_half_life;	/* the greatest floor(x) of anything added */
	int64_t		oldest_base;	/* of filters merged */
	int64_t		newest;			/* start of the epoch of the newest hit */
	bool		any;			/* something was added */
	bool		merged;			/* oldest_base counts */
	bool		fractions;		/* some sum is no whole number of hits */
} sb_sums;

/*
 * Makes plane floor(half_lives / 16) the newest if it is newer, dropping and clearing what falls out; returns its
 * index 0 .. 3, or -1 if it is older than all that are kept. The caller allocates
 * plane[index], zeroed, where it is NULL.
 */
int			sb_sums_turn(sb_sums *sums, int64_t half_lives) SB_NOEXCEPT;

/* Adds a value (2^-12 hits, before the shift) to one word of a plane that sb_sums_turn() gave. */
SB_NODISCARD sb_status sb_sums_add_word(sb_sums *sums, int index, uint64_t word, int64_t half_lives,
										uint64_t value) SB_NOEXCEPT;

/*
 * Hits of one half-life on items of a set, of whose slots the words are the sums: adds the items to the set and the values to
 * their words, in order, until there is no room in the set; returns how many. REQUIRES: sb_hash_set_has_room(); index >= 0; the
 * plane is one of those beside the hashes.
 */
size_t		sb_sums_add_hits(sb_sums *sums, sb_hash_set *set, int index, int64_t half_lives, const uint64_t *hashes,
							 const uint64_t *values, size_t count, sb_status *status) SB_NOEXCEPT;

/*
 * The same for all cells of an item; index -1: of no cell.
 * REQUIRES: sums->width = sb_tbf_cells(tbf).
 */
SB_NODISCARD sb_status sb_sums_add_item(sb_sums *sums, const sb_tbf *tbf, int index, uint64_t hash,
										int64_t half_lives, uint64_t value) SB_NOEXCEPT;

/*
 * Many items, in any order, whose hits are all of one half-life. The cells of those to come are asked for while others
 * are added to. SB_OVERFLOW: then some of them are in, and the sums are of no use. REQUIRES: index >= 0.
 */
SB_NODISCARD sb_status sb_sums_add_items(sb_sums *sums, const sb_tbf *tbf, int index, int64_t half_lives, const uint64_t *hashes,
										 const uint64_t *values, size_t count) SB_NOEXCEPT;

/*
 * Minimum increase (Cohen, Matias 2003): the same, but the item's smallest cell becomes so much larger and the others are
 * only raised to that where they are below it. The result depends on the order of hits. For filters with
 * SB_TBF_MINIMUM_INCREASE; REQUIRES as above.
 */
SB_NODISCARD sb_status sb_sums_raise_item(sb_sums *sums, const sb_tbf *tbf, int index, uint64_t hash,
										  int64_t half_lives, uint64_t value) SB_NOEXCEPT;

/*
 * Raises the item's cells to these words (SB_TBF_PLANES of them, one of each plane) where they are below: each cell becomes
 * the largest of what it is raised to, in whatever order. For going over from sums of items to sums of cells.
 * REQUIRES: a plane where a word is not zero, and no word larger than sums->loss of its plane.
 */
void		sb_sums_raise_item_to(sb_sums *sums, const sb_tbf *tbf, uint64_t hash, const uint64_t *words) SB_NOEXCEPT;

/*
 * Recurring minimum (Cohen, Matias 2003): do at least two different cells of the item hold its smallest value, which
 * goes to *minimum (2^-12 hits)? SB_OVERFLOW if they do not and the value is SB_TBF_MAX_CELL or more.
 * REQUIRES: no decay; something was added to the item's cells.
 */
SB_NODISCARD sb_status sb_sums_recurring_minimum(const sb_sums *sums, const sb_tbf *tbf, uint64_t hash, bool *recurs,
												 uint64_t *minimum) SB_NOEXCEPT;

/* Notes a hit in the totals (once a hit, beside the cells). */
void		sb_sums_note_hit(sb_sums *sums, int index, const sb_moment *moment, uint64_t value) SB_NOEXCEPT;

/*
 * Two steps to add a stored filter. The first is sb_sums_turn() for it; it leaves sums alone and returns -1 for a filter
 * without hits. Large counters (cells of 64 bits, as a rule) are split into 16 binary digits for the plane of the base and
 * each newer one up to that after the newest hit: `planes` of them, 1 to 4, with the indices index, index - 1, ...; those
 * that are not 0 .. 3 have fallen out. The caller then allocates the others where they are NULL.
 * The second adds cells and totals; it notes the totals even if index is -1. The filter may be smaller by a power of
 * two than `tbf`, whose cells the planes have.
 */
int			sb_sums_turn_for_filter(sb_sums *sums, const sb_tbf *filter, int *planes) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_sums_add_filter(sb_sums *sums, const sb_tbf *tbf, int index, const sb_tbf *filter,
										  const void *cells) SB_NOEXCEPT;

/* A weight by which filters are merged: factor * 2^exponent. */
typedef struct sb_weight
{
	uint64_t	factor;			/* odd and below 2^33, or 0 */
	int			exponent;
} sb_weight;

#define SB_TBF_MAX_WEIGHT 0x1p33	/* weights for merging are smaller */

/*
 * Whole weights, and others of at most 14 binary digits, are kept as they are; others are rounded up to 14 digits (by less
 * than 2^-13 of themselves). SB_OUT_OF_RANGE: NaN, below 0, or SB_TBF_MAX_WEIGHT and more.
 */
SB_NODISCARD sb_status sb_tbf_weight(double weight, sb_weight *out) SB_NOEXCEPT;

/*
 * The same two steps with each counter, the slack and the total times a weight; a filter of weight 0 leaves no trace.
 * Rounded up to 2^-44 hits at the base at the coarsest, so amounts that are far below a hit keep their proportions.
 */
int			sb_sums_turn_for_weighted(sb_sums *sums, const sb_tbf *filter, const sb_weight *weight,
									  int *planes) SB_NOEXCEPT;
SB_NODISCARD sb_status sb_sums_add_weighted(sb_sums *sums, const sb_tbf *tbf, int index, const sb_tbf *filter,
											const void *cells, const sb_weight *weight) SB_NOEXCEPT;

/*
 * Adds what is not in the planes' words (totals, slack, times) and makes other's newest plane known to sums.
 * For combining two states: call it first, then add other's words plane by plane.
 */
void		sb_sums_combine_notes(sb_sums *sums, const sb_sums *other) SB_NOEXCEPT;

/* The index in sums of other's plane i, or -1 if it has fallen out or holds nothing. After sb_sums_combine_notes(). */
int			sb_sums_matching_plane(const sb_sums *sums, const sb_sums *other, int i) SB_NOEXCEPT;

/* plane[index] += words, all `width` of them. */
SB_NODISCARD sb_status sb_sums_add_plane(sb_sums *sums, int index, const uint64_t *words) SB_NOEXCEPT;

/* Copies a plane of `from` cells into one of `to` cells, each old cell standing for 2^j new ones. */
void		sb_tbf_widen_plane(const sb_tbf *from, const uint64_t *cells, const sb_tbf *to, uint64_t *out) SB_NOEXCEPT;

/*
 * Rounds the sums once, up, to stored counters. The plan chooses base, unit and the width of a cell (out begins as a
 * copy of tbf); write fills the cells. SB_OVERFLOW if a counter or the total does not fit, SB_TOO_LARGE if the value would
 * have more than SB_MAX_BYTES (out is filled then too).
 *
 * The words are those of the cells of tbf (set is NULL), or of the slots of a set of items: those become cells here, to the
 * same bytes as if they had been added to cells. REQUIRES of a set: the planes are beside its hashes, and no filter was merged.
 */
SB_NODISCARD sb_status sb_sums_plan(const sb_sums *sums, const sb_hash_set *set, const sb_tbf *tbf, sb_tbf *out) SB_NOEXCEPT;
void		sb_sums_write(const sb_sums *sums, const sb_hash_set *set, const sb_tbf *planned, void *cells) SB_NOEXCEPT;

/*
 * Both in one, with one pass less over the sums, for who has room to spare: fills *out and the cells, to the same bytes.
 * SB_TOO_LARGE if they need more than `room` bytes, which sb_sums_plan() would tell: then what was written is of no use.
 */
SB_NODISCARD sb_status sb_sums_store(const sb_sums *sums, const sb_hash_set *set, const sb_tbf *tbf, sb_tbf *out, void *cells,
									 size_t room) SB_NOEXCEPT;

/*
 * The words of one plane, of the cells of tbf, packed as extensible counters are, to be sent: sb_tbf_unpack_block() with *out gives them
 * back. out->payload is how many bytes they take. SB_TOO_LARGE: more than `room`, or than a value may have.
 */
SB_NODISCARD sb_status sb_sums_pack_plane(const uint64_t *words, const sb_tbf *tbf, sb_tbf *out, void *cells,
										  size_t room) SB_NOEXCEPT;

/* --------------------------------------------------------- hot items of a tbf */

/*
 * A list of the heaviest items (Misra and Gries 1982), weighted and decayed: for every item e with the exact decayed sum
 * f_e, listed with a lower bound L_e or not listed (L_e = 0),
 *
 *     L_e <= f_e <= L_e + error,    error <= W / (c + 1),    W the decayed total of all hits, c the limit,
 *
 * in whatever order and however split the hits came, and after any decay. So every item whose share of W exceeds
 * 1 / (c + 1) is listed. Items wait in a table of up to 2c until a purge subtracts the (c + 1)-th largest L from all and
 * drops what is not above it (as DataSketches' frequent items does: Anderson et al. 2017): c + 1 items lose at least
 * what the error gains, so (c + 1) * error + the sum of all L <= W, always. Merging adds up both and purges (Agarwal
 * et al. 2012): the inequalities add up.
 *
 * Rounding: L always down, the error always up, in 2^-40 hits at the base, so the second inequality holds up to
 * 2^-29 W + 2^-40 hits for each hit, decay and merge whose result is not exact. Whole weights without decay are exact.
 *
 * An item is its 64-bit hash, as everywhere. REQUIRES of a list: zeroed at first, but for limit and the arrays.
 */
#define SB_TOP_MAX_ITEM 256		/* bytes of an item kept; of a longer one the caller gives the beginning */
#define SB_TOP_FRACTION_BITS 40	/* in memory L and error count in 2^-40 hits */
#define SB_TOP_SECTION 16		/* bytes of a stored list before its entries */
#define SB_TOP_ENTRY 18			/* bytes of a stored entry */

typedef struct sb_top_entry
{
	uint64_t	hash;
	sb_u128		least;			/* L; 2^-40 hits at the base; never 0 */
	uint32_t	offset;			/* of the item's bytes; in the order of the entries */
	uint32_t	length;			/* 0 .. SB_TOP_MAX_ITEM */
} sb_top_entry;

typedef struct sb_top_key
{
	sb_u128		value;
} sb_top_key;

typedef struct sb_top_list
{
	sb_top_entry *entries;		/* `room` of them, `count` used */
	sb_top_key *scratch;		/* `room` of them */
	uint32_t   *slots;			/* sb_top_slots(room) of them: an entry's index + 1 by its hash, or 0 */
	unsigned char *bytes;		/* bytes_room, bytes_used of them used: the items */
	uint32_t	limit;			/* c: 1 .. SB_TBF_MAX_TOP */
	uint32_t	room;			/* up to 2c */
	uint32_t	count;
	uint32_t	bytes_room;
	uint32_t	bytes_used;
	bool		any;			/* base means something */
	int64_t		base;			/* half-lives since 2000: the greatest that was added */
	sb_u128		error;
} sb_top_list;

/* The length of the array `slots`. */
uint32_t	sb_top_slots(uint32_t room) SB_NOEXCEPT;

/* Fills `slots` (zeroed or not) from the entries: after the caller has moved them to a larger one. */
void		sb_top_index(sb_top_list *list) SB_NOEXCEPT;

/* A hit's lower bound, before the shift by half-lives, and what it may be more: 2^-40 hits. REQUIRES: sb_tbf_hit() takes them. */
void		sb_top_hit(const sb_moment *moment, double weight, sb_u128 *least, sb_u128 *lost) SB_NOEXCEPT;

/*
 * Adds *least, and `lost` to the error, both at this half-life (the list's base follows it upwards). false: the item is
 * not listed; then sb_top_insert() it with what *least is now (2^-40 hits at the list's base, not 0).
 */
SB_NODISCARD bool sb_top_add(sb_top_list *list, uint64_t hash, int64_t half_lives, sb_u128 *least, sb_u128 lost) SB_NOEXCEPT;

/* REQUIRES: the item is not listed; count < room; bytes_room - bytes_used >= length, length <= SB_TOP_MAX_ITEM. */
void		sb_top_insert(sb_top_list *list, uint64_t hash, sb_u128 least, const void *item, uint32_t length) SB_NOEXCEPT;

/* Leaves at most `limit` entries. */
void		sb_top_purge(sb_top_list *list) SB_NOEXCEPT;

/* Brings the base to this half-life if it is newer: decay. */
void		sb_top_turn(sb_top_list *list, int64_t half_lives) SB_NOEXCEPT;

/* Adds to the error: another list's, at its base; rounded up. */
void		sb_top_add_error(sb_top_list *list, int64_t half_lives, sb_u128 error) SB_NOEXCEPT;

/*
 * All weights times mantissa * 2^exponent; L rounded down, the error up. SB_OUT_OF_RANGE for a mantissa of 2^53 or more,
 * SB_OVERFLOW if the result does not fit (the list is spoilt then).
 */
SB_NODISCARD sb_status sb_top_scale(sb_top_list *list, uint64_t mantissa, int exponent) SB_NOEXCEPT;

/* The bytes that sb_top_write() fills for a filter of this base. REQUIRES: at most `limit` entries. */
uint32_t	sb_top_size(const sb_top_list *list, int64_t base) SB_NOEXCEPT;
void		sb_top_write(const sb_top_list *list, int64_t base, void *out) SB_NOEXCEPT;

/* A stored list, checked, and a place in it. */
typedef struct sb_top_section
{
	uint32_t	count;
	uint8_t		fraction_bits;	/* L and error count in 2^-fraction_bits hits at the filter's base */
	uint64_t	error;
	const unsigned char *entry; /* of the next item */
	const unsigned char *item;
	uint32_t	left;			/* items from here on */
} sb_top_section;

/* An item of it. */
typedef struct sb_top_item
{
	uint64_t	hash;
	uint64_t	least;			/* L */
	const unsigned char *bytes;
	uint32_t	length;
} sb_top_item;

/*
 * Reads and checks a stored list of a filter with this limit and total (sb_tbf.total; UINT64_MAX: not known). Trusts nothing.
 * SB_BAD_LENGTH if its parts do not add up to `size`, SB_BAD_LIST for anything else.
 */
SB_NODISCARD sb_status sb_top_open(const void *bytes, size_t size, uint32_t limit, uint64_t total,
								   sb_top_section *out) SB_NOEXCEPT;

/* The next item; false after the last. Items come by their hashes. */
bool		sb_top_next(sb_top_section *section, sb_top_item *out) SB_NOEXCEPT;

/* A number of the section (L or error) as it is in memory, in 2^-40 hits. */
sb_u128		sb_top_amount(const sb_top_section *section, uint64_t stored) SB_NOEXCEPT;

/*
 * *from <= the item's decayed count at this time <= *to, of an item of the list of this filter: L and L + error. Infinity
 * as for sb_tbf_count(); then *from means nothing.
 */
void		sb_top_bounds(const sb_tbf *tbf, const sb_top_section *section, uint64_t least, int64_t at, double *from,
						  double *to) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif							/* STREAMBLOOM_H */
