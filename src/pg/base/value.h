/*
 * value.h: what all types have in common as PostgreSQL values. It makes values, reads them from text, binary and bytea,
 * writes, compares and hashes them. It raises the errors for values and parameters that the core refuses. It also has
 * small helpers of SQL functions: results of rows and texts, bars of text, the state of an aggregate.
 *
 * A value is a varlena whose data is the core's stored form (docs/format.md). Its text form is the stored form in
 * hexadecimal, like the text form of bytea: \x5342...
 */
#ifndef STREAMBLOOM_PG_VALUE_H
#define STREAMBLOOM_PG_VALUE_H

#include "base/compat.h"

#include "base/call.h"

/* Checks a stored form completely. Each type has its own function. */
typedef sb_status (*ValueCheck) (const void *data, size_t size);

/*
 * Make a varlena with room for a stored form of `size` bytes, all zero. *data becomes the address of the stored form.
 * value_make() allocates the varlena in result_memory(), value_make_in() in `context`.
 */
extern struct varlena *value_make(size_t size, void **data);
extern struct varlena *value_make_in(MemoryContext context, size_t size, void **data);

/*
 * Makes the row that an SQL function returns. `count` is the number of its columns; it must be the number that the
 * SQL function declares.
 */
extern Datum row_result(FunctionCallInfo fcinfo, Datum *values, bool *nulls, int count);

/* Makes the text that an SQL function returns. */
extern Datum text_result(const char *string);

/* Returns the stored form of a value, and its size. The value is detoasted, so the result may be a copy. */
extern const void *value_open(Datum value, size_t *size);

/*
 * Raises ERRCODE_INVALID_BINARY_REPRESENTATION (class 22) for a value that cannot be read. For SB_INTERRUPTED and
 * SB_NO_MEMORY it raises the error of raise_if_unfinished() instead.
 */
extern SB_NORETURN void value_refuse(const char *type, sb_status status);

/*
 * Make a value from its text or binary form, or from bytea. `check` is run on every value that comes in. value_out()
 * and value_send() write the values of all types.
 */
extern Datum value_from_text(FunctionCallInfo fcinfo, const char *type, ValueCheck check);
extern Datum value_from_binary(FunctionCallInfo fcinfo, const char *type, ValueCheck check);
extern Datum value_from_bytea(FunctionCallInfo fcinfo, const char *type, ValueCheck check);

/* Defines the SQL functions <type>_in, <type>_recv and <type>_from_bytea. */
#define SB_VALUE_INPUTS(type, check) \
	SB_FUNCTION(type##_in); \
	Datum \
	type##_in(PG_FUNCTION_ARGS) \
	{ \
		return value_from_text(fcinfo, #type, check); \
	} \
	SB_FUNCTION(type##_recv); \
	Datum \
	type##_recv(PG_FUNCTION_ARGS) \
	{ \
		return value_from_binary(fcinfo, #type, check); \
	} \
	SB_FUNCTION_IN_OWN_MEMORY(type##_from_bytea) \
	{ \
		return value_from_bytea(fcinfo, #type, check); \
	}

/*
 * The bytes of a value on which =, the order and the hash of its type depend. For most types `rest` is the whole stored
 * form, and there is no header. A tbf leaves out its list of hot items: `header` is a copy of its header in which the
 * list has 0 bytes, and `rest` has the bytes between the header and the list. Two values are equal if header and rest
 * are equal. Values are ordered by the number of these bytes first, and then byte by byte. So if the numbers differ,
 * the bytes need not be read.
 */
typedef struct ComparedBytes
{
	const void *header;
	size_t		header_size;	/* the same for all values of a type; 0 if `rest` is the whole stored form */
	const void *rest;
	size_t		rest_size;
} ComparedBytes;

/* Compares sizes first, then bytes. Returns a negative number, 0 or a positive number. */
extern int	compared_bytes_order(const ComparedBytes *left, const ComparedBytes *right);

/* A hash that is the same for equal bytes, on every architecture. Hash indexes store it: it must never change. */
extern uint64_t compared_bytes_hash(const ComparedBytes *bytes);

/* Returns the 64-bit hash for this seed. For the seed 0 it is `hash` itself, as hash operator classes require. */
extern Datum seeded_hash(uint64_t hash, Datum seed);

/*
 * Defines the functions of the operators and operator classes of a type. order(fcinfo) compares arguments 0 and 1;
 * hash(value) returns a value's hash.
 */
#define SB_VALUE_COMPARISONS(type, order, hash) \
	SB_FUNCTION_IN_OWN_MEMORY(type##_eq) { PG_RETURN_BOOL(order(fcinfo) == 0); } \
	SB_FUNCTION_IN_OWN_MEMORY(type##_ne) { PG_RETURN_BOOL(order(fcinfo) != 0); } \
	SB_FUNCTION_IN_OWN_MEMORY(type##_lt) { PG_RETURN_BOOL(order(fcinfo) < 0); } \
	SB_FUNCTION_IN_OWN_MEMORY(type##_le) { PG_RETURN_BOOL(order(fcinfo) <= 0); } \
	SB_FUNCTION_IN_OWN_MEMORY(type##_gt) { PG_RETURN_BOOL(order(fcinfo) > 0); } \
	SB_FUNCTION_IN_OWN_MEMORY(type##_ge) { PG_RETURN_BOOL(order(fcinfo) >= 0); } \
	SB_FUNCTION_IN_OWN_MEMORY(type##_cmp) { PG_RETURN_INT32(order(fcinfo)); } \
	SB_FUNCTION_IN_OWN_MEMORY(type##_hash) { PG_RETURN_INT32((int32) (uint32) hash(PG_GETARG_DATUM(0))); } \
	SB_FUNCTION_IN_OWN_MEMORY(type##_hash_extended) \
	{ \
		return seeded_hash(hash(PG_GETARG_DATUM(0)), PG_GETARG_DATUM(1)); \
	}

/*
 * Reads `size` bytes from `offset` of a stored form. If the value is stored out of line and not compressed, only the
 * slice is read. The result is palloc'd, or points into the value. REQUIRES: the value has these bytes.
 */
extern const void *value_slice(Datum value, size_t offset, size_t size);

/* The size of the stored form, without reading it. */
extern size_t value_size(Datum value);

/*
 * Raise the errors for parameters that are out of range; check_fpr() returns if the rate is in range. The errors say
 * the value, the range and a hint. The code is ERRCODE_INVALID_PARAMETER_VALUE, and in refuse_size()
 * ERRCODE_PROGRAM_LIMIT_EXCEEDED.
 */
extern void check_fpr(double fpr);
extern SB_NORETURN void refuse_expected_items(int64 items);
extern SB_NORETURN void refuse_size(const char *type, int64 items, double fpr);

/* At most 64 bytes of a text that a user gave, for a message: whole characters, and "..." if the text is longer. */
extern char *short_text(const char *text);

/* What a filter was planned for. items: 0 if its type has no such parameter, or if the filter sized itself. */
typedef struct FilterPlan
{
	uint64		items;
	double		fpr;
} FilterPlan;

/* Raises the error for two filters that differ in a parameter; `action` completes "cannot ... ". */
extern SB_NORETURN void refuse_difference(const char *type, const char *action, const sb_difference *difference,
										  FilterPlan left, FilterPlan right);

/* The memory context of an aggregate's state. Raises an error outside an aggregate. */
extern MemoryContext aggregate_context(FunctionCallInfo fcinfo);

/*
 * Is `data` the stored form of the aggregate's state itself, not of a copy? The state is argument 0 of the transition
 * function. If the answer is yes, the function may change the state in place, because nobody else can see it.
 */
extern bool is_state_of_aggregate(FunctionCallInfo fcinfo, const void *data);

/*
 * Draws `count` non-negative values, scaled to the largest, as one line of bars. The bars are block characters if the
 * database's encoding is UTF-8, and ASCII characters otherwise.
 */
extern char *sketch_bars(const double *values, int count);

#endif
