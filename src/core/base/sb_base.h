/*
 * sb_base.h: what all parts of the core share: status, memory, stopping, hashing, kinds of items. Part of
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

#ifndef __SIZEOF_INT128__
#error "streambloom needs a 64-bit system, and g++ or clang++: it uses 128-bit integers"
#endif
#define SB_NODISCARD __attribute__((warn_unused_result))

/* Aligned to 8 bytes instead of 16, because an sb_memory promises no more. */
__extension__ typedef unsigned __int128 sb_u128 __attribute__((aligned(8)));

/* ---------------------------------------------------------------- status */

typedef enum sb_status
{
	SB_OK = 0,
	SB_TRUNCATED,		/* fewer bytes than a header */
	SB_BAD_MAGIC,		/* does not begin with 'S' 'B' */
	SB_BAD_TYPE,		/* a streambloom value of another type */
	SB_BAD_VERSION,		/* a format version that this build does not know */
	SB_BAD_HEADER,		/* a header field is out of its range, or contradicts another */
	SB_BAD_LENGTH,		/* the value does not have the length that its header says */
	SB_BAD_CELLS,		/* lines, cells or items that no filter can have */
	SB_BAD_LIST,		/* a list of hot items that no filter can have */
	SB_OUT_OF_RANGE,	/* a parameter is out of its range */
	SB_TOO_LARGE,		/* the filter would be larger than SB_MAX_BYTES */
	SB_OVERFLOW,		/* a counter would overflow */
	SB_TOTAL_OVERFLOW,	/* the total of all hits would overflow */
	SB_DIFFERENT,		/* the parameters of two filters do not fit together: see sb_difference */
	SB_INTERRUPTED,		/* the caller wants the work to stop: see sb_set_stop() */
	SB_NO_MEMORY,		/* the caller's sb_memory has no more memory */
	SB_NEED_BYTES		/* not an error: a look-up needs more bytes of the value, see sb_lookup.h */
} sb_status;

/* A short English clause for a status, for an error's detail line. Never NULL. */
const char *sb_status_text(sb_status status) SB_NOEXCEPT;

/*
 * Why two filters cannot be united, intersected or merged: the first parameter whose values do not fit together, and
 * its value in each of the two filters.
 */
typedef struct sb_difference
{
	const char *parameter;		/* its name, mostly that of a column of bf_info(), tbf_info() and so on */
	double		left;
	double		right;
} sb_difference;

/*
 * The largest stored value, in bytes. Its text form has two digits per byte, and PostgreSQL limits a text to 1 GB.
 */
#define SB_MAX_BYTES 512000000u

/* ----------------------------------------------------------------- memory */

/*
 * The caller's allocator. Sets of hashes, builders and their serialized bytes, new values of tbf, intersections of
 * exact bfs, and queries of patterns take their memory from it. So do functions that need memory only until they
 * return. Nothing else in the core allocates. The two functions must not throw and must not jump out of the core
 * (longjmp). The caller may also free all the memory of an sb_memory at once, as PostgreSQL deletes a memory context,
 * instead of releasing each block.
 */
typedef struct sb_memory
{
	void	   *(*allocate) (void *context, size_t size);	/* aligned to 8 bytes, not cleared; NULL: no memory */
	void		(*release) (void *context, void *block);
	void	   *context;
} sb_memory;

/* --------------------------------------------------------------- stopping */

/*
 * A function of the core that can return SB_INTERRUPTED calls `stop` every few milliseconds. If `stop` returns true,
 * the function does not call it again and returns SB_INTERRUPTED at once. Its output is then of no use; if it changes a
 * filter in place, a part of the filter may be changed. NULL is the default: then nothing is called. Call sb_set_stop()
 * once, before other threads use the core.
 */
typedef bool (*sb_stop_function) (void);

void		sb_set_stop(sb_stop_function stop) SB_NOEXCEPT;

/* --------------------------------------------------------------- hashing */

/* A bf and a tbf use this many of the highest bits of a hash, and ignore the others. */
#define SB_KEPT_HASH_BITS 48
#define SB_KEPT_HASH_MASK (~(UINT64_C(0xffffffffffffffff) >> SB_KEPT_HASH_BITS))

/* The 64-bit XXH3 hash, with seed 0, of `size` bytes. It is the same on every architecture. */
uint64_t	sb_hash_bytes(const void *data, size_t size) SB_NOEXCEPT;

/* The XXH3 hash of the eight little-endian bytes of a 64-bit integer. */
uint64_t	sb_hash_int64(int64_t value) SB_NOEXCEPT;

/*
 * The XXH3 hash of the eight little-endian IEEE 754 bytes of a double. All NaNs have the same hash, and so have 0 and
 * -0: doubles that are equal for PostgreSQL's float8 have equal hashes.
 */
uint64_t	sb_hash_double(double value) SB_NOEXCEPT;

/*
 * Sets the secret of this process: two random numbers, of which the first is not 0. It protects sets of hashes
 * (sb_hash_set) against somebody who chooses the items so that their hashes collide. That is possible, because anybody
 * can compute the hash of an item, and the hash of an integer can be inverted. If too many hashes of a set collide, the
 * set is built again, and then the slot of each hash depends on the secret, too. (The table of a list of hot items uses
 * the secret from the beginning.) No stored value depends on the secret. In a serialized builder, at most the order of
 * the hashes does. Call this function once, before any other function of the core. Without this call the secret is a
 * constant from the sources.
 */
void		sb_set_secret(uint64_t first, uint64_t second) SB_NOEXCEPT;

/* ------------------------------------------------------------ item kinds */

/* What sort of items a filter holds. The numbers are stored, so they are never reused. */
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
	SB_KIND_NAMED = 12			/* any other type; detail: a hash of its whole name */
} sb_kind_code;

#define SB_KIND_NAME_SIZE 28	/* with the terminating zero; longer names are cut */

typedef struct sb_kind
{
	uint16_t	code;
	uint32_t	detail;
	char		name[SB_KIND_NAME_SIZE];	/* of the type, padded with zeros; all zeros unless SB_KIND_NAMED */
} sb_kind;

/* True if a and b are the same kind: code, detail and name are equal. */
bool		sb_kind_equal(const sb_kind *a, const sb_kind *b) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
