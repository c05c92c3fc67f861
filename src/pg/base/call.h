/*
 * call.h: two rules that every call of an SQL function keeps, however large its filters are; arguments; rows of
 * set-returning functions.
 *
 * - It reacts to a cancel within half a second. Loops over items call CHECK_FOR_INTERRUPTS(). Loops over bytes use the
 *   ..._in_pieces() functions. The core looks for interrupts by itself (sb_set_stop()), and the statuses that it
 *   returns go through must_finish().
 * - When it returns, the memory that it took is free again, except the result, the state of an aggregate, and what
 *   later calls of the same query use (ItemHasher in fn_extra, slices.h). A function that may need much memory beside
 *   these is defined with SB_FUNCTION_IN_OWN_MEMORY(). If its result is passed by reference, it allocates the result in
 *   result_memory().
 */
#ifndef STREAMBLOOM_PG_CALL_H
#define STREAMBLOOM_PG_CALL_H

#include "base/compat.h"

#include "miscadmin.h"
#include "utils/tuplestore.h"

/* ----------------------------------------------------------------- interrupts */

/* Makes the core look for interrupts. It is called once, when the library is loaded. */
extern void call_init(void);

/*
 * Raises an error if the core did not finish. For SB_INTERRUPTED it is the error of the interrupt that stopped the
 * core, and for SB_NO_MEMORY it is "out of memory" (53200). Returns if the status is another one.
 */
extern void raise_if_unfinished(sb_status status);

/* Raises an error unless the status is SB_OK. REQUIRES: the status is SB_OK, SB_INTERRUPTED or SB_NO_MEMORY. */
static inline void
must_finish(sb_status status)
{
	if (likely(status == SB_OK))
		return;
	raise_if_unfinished(status);
	elog(ERROR, "unexpected status of the core: %s", sb_status_text(status));
}

/* The number of items or entries between two looks for interrupts. */
#define ITEMS_BETWEEN_INTERRUPTS 256

/* The number of bytes between two looks for interrupts. Processing so many bytes takes about a millisecond at most. */
#define PIECE_BYTES ((size_t) 1 << 20)

extern void clear_in_pieces(void *to, size_t size);
extern void copy_in_pieces(void *to, const void *from, size_t size);
/* Like memcmp(): negative, 0 or positive. */
extern int	compare_in_pieces(const void *left, const void *right, size_t size);

/* --------------------------------------------------------------------- memory */

/*
 * Calls the function in a memory context of its own, which is deleted before the result is returned. That context is a
 * child of the caller's, so an error frees it as well.
 */
extern Datum call_in_own_memory(PGFunction function, FunctionCallInfo fcinfo);

/* The context for a result: inside call_in_own_memory() it is the caller's context, elsewhere the current one. */
extern MemoryContext result_memory(void);

/* Defines an SQL function that runs in a memory context of its own; its body follows. */
#define SB_FUNCTION_IN_OWN_MEMORY(name) \
	static Datum name##_inside(PG_FUNCTION_ARGS); \
	SB_FUNCTION(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		return call_in_own_memory(name##_inside, fcinfo); \
	} \
	static Datum \
	name##_inside(PG_FUNCTION_ARGS)

/*
 * Begins the rows of a set-returning function: calls InitMaterializedSRF(), which fills setResult and setDesc of the
 * ReturnSetInfo. The rows have the type that the executor expects. The type is not taken from get_call_result_type(),
 * which with each call would leave memory in the query's context until the query ends.
 */
extern void begin_rows(FunctionCallInfo fcinfo);

extern bool is_compressed_external(Datum value);

/* Can a slice be read without the rest of the value? Yes, if the value is in a TOAST table and is not compressed. */
extern bool has_cheap_slices(Datum value);

static inline bool
is_compressed(Datum value)
{
	struct varlena *pointer = (struct varlena *) DatumGetPointer(value);

	return VARATT_IS_COMPRESSED(pointer) || (VARATT_IS_EXTERNAL(pointer) && is_compressed_external(value));
}

/* -------------------------------------------------------------------- arguments */

/*
 * The detoasted value. It is a copy only if the value has to be read from a TOAST table or decompressed, or is an
 * expanded object. It may have a header of one byte.
 */
extern struct varlena *detoast(Datum value);

/* A detoasted copy in result_memory(), with a header of four bytes. */
extern struct varlena *detoast_copy(Datum value);

#endif
