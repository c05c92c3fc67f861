/*
 * sb_base.h: what all parts of the core share: status, memory, stopping, instructions, hashing, kinds of items. Part of
 * streambloom.h.
 */
#ifndef STREAMBLOOM_SB_BASE_H
#define STREAMBLOOM_SB_BASE_H

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
	SB_DIFFERENT,		/* two filters cannot be combined: see sb_difference */
	SB_INTERRUPTED,		/* the caller wants the work to stop: see sb_set_stop() */
	SB_NO_MEMORY,	/* the caller's sb_memory has no more */
	SB_NEED_BYTES		/* no error: a look-up needs more bytes of the value, see sb_lookup.h */
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

/* ----------------------------------------------------------------- memory */

/*
 * Where memory comes from for sets of hashes, for builders, and for new values of tbf. Nothing else in the core allocates. The
 * functions must not throw and must not jump out of the core. The caller that hands over an sb_memory may also end it as a whole,
 * with all that was allocated in it, instead of releasing what was made with it.
 */
typedef struct sb_memory
{
	void	   *(*allocate) (void *context, size_t size);	/* aligned to 8 bytes, with any content; NULL: there is no more */
	void		(*release) (void *context, void *block);
	void	   *context;
} sb_memory;

/* --------------------------------------------------------------- stopping */

/*
 * Functions of the core whose time grows with the size of a filter ask this function again and again, at least once in
 * a few milliseconds,
 * whether to stop. If it says yes they return SB_INTERRUPTED at once; their output is then of no use. A function that
 * changes a filter in place may have changed a part of it. The function is asked no further in that call. NULL, as at
 * first: nothing
 * is asked. Call sb_set_stop() once, before other threads use the core.
 */
typedef bool (*sb_stop_function) (void);

void		sb_set_stop(sb_stop_function stop) SB_NOEXCEPT;

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

/*
 * The hash of an item is public, and that of an integer can be undone: who chooses the items chooses their hashes. Tables that are
 * searched by hashes take this secret to spread those that were chosen to crowd together: random numbers, the first of them
 * not 0. Nothing that is stored or sent depends on it. Call it once, before anything else uses the core; until then the
 * secret is a constant that everybody can read here.
 */
void		sb_set_secret(uint64_t first, uint64_t second) SB_NOEXCEPT;

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

#ifdef __cplusplus
}
#endif

#endif
