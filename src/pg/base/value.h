/*
 * value.h: what the four types have in common as PostgreSQL values: text, binary and bytea in and out, errors for
 * values and parameters that the core refuses.
 *
 * A value is a varlena whose data is the core's stored form (docs/format.md). Its text form is that in hexadecimal,
 * as of bytea: \x5342...
 */
#ifndef STREAMBLOOM_PG_VALUE_H
#define STREAMBLOOM_PG_VALUE_H

#include "base/compat.h"

#include "base/call.h"

/* A type's complete check of a stored form. */
typedef sb_status (*ValueCheck) (const void *data, size_t size);

/* A new varlena for `size` bytes of stored form, zeroed, in result_memory() or in this context; *data is where they go. */
extern struct varlena *value_make(size_t size, void **data);
extern struct varlena *value_make_in(MemoryContext context, size_t size, void **data);

/* A row to be returned, of as many columns as the SQL function declares. */
extern Datum row_result(FunctionCallInfo fcinfo, Datum *values, bool *nulls, int count);

/* A text to be returned. */
extern Datum text_result(const char *string);

/* The detoasted value's stored form, and its size. May be a copy. */
extern const void *value_open(Datum value, size_t *size);

/*
 * Raises ERRCODE_INVALID_BINARY_REPRESENTATION (class 22) for a value that cannot be read; for SB_INTERRUPTED the error of the
 * interrupt.
 */
extern SB_NORETURN void value_refuse(const char *type, sb_status status);

/* From text, binary, bytea. The check runs over everything that comes in. The way out, value_out and value_send, is one for all types. */
extern Datum value_from_text(FunctionCallInfo fcinfo, const char *type, ValueCheck check);
extern Datum value_from_binary(FunctionCallInfo fcinfo, const char *type, ValueCheck check);
extern Datum value_from_bytea(FunctionCallInfo fcinfo, const char *type, ValueCheck check);

/* Defines the SQL functions by which values of a type come in: <type>_in, _recv, _from_bytea. */
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

/* Are the stored forms the same bytes? Arguments 0 and 1 of the call. */
extern bool value_equal(FunctionCallInfo fcinfo);

/*
 * Reads size bytes from offset of a stored form, from a TOAST slice where that saves reading the rest. The result is
 * palloc'd or points into the value. The caller has checked the range.
 */
extern const void *value_slice(Datum value, size_t offset, size_t size);

/* The size of the stored form, without reading it. */
extern size_t value_size(Datum value);

/* Errors for parameters: ERRCODE_INVALID_PARAMETER_VALUE with the value, the range and a hint. */
extern void check_fpr(double fpr);	/* returns if it is in range */
extern SB_NORETURN void refuse_expected_items(int64 items);
extern SB_NORETURN void refuse_size(const char *type, int64 items, double fpr);

/* The first 64 bytes of a text, for a message that shows what a user gave; "..." stands for the rest. */
extern char *short_text(const char *text);

/* Raises the error of two filters that cannot be combined; `action` completes "cannot ... ". */
extern SB_NORETURN void refuse_difference(const char *type, const char *action, const sb_difference *difference);

/* The memory context of an aggregate's state; an error outside an aggregate. */
extern MemoryContext aggregate_context(FunctionCallInfo fcinfo);

/*
 * Is this a call of a transition function whose state, in argument 0, is the value with this stored form itself and not a copy? Then
 * the function may change it in place: nobody else can see it.
 */
extern bool is_state_of_aggregate(FunctionCallInfo fcinfo, const void *data);

/* A one-line bar chart of `count` non-negative values, scaled to the largest. UTF-8 blocks where the server has them. */
extern char *sketch_bars(const double *values, int count);

#endif
