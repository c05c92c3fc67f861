/*
 * call.h: what every call of an SQL function has to keep to, however large its filters are:
 *
 * - It answers a cancel within half a second. Loops over items call CHECK_FOR_INTERRUPTS(); loops over bytes go through the
 *   ..._in_pieces() functions; the core asks by itself (sb_set_stop()), and its statuses go through must_finish().
 * - When it returns, all memory but its result is free again. A function that needs more than its result is defined with
 *   SB_FUNCTION_IN_OWN_MEMORY(); what it returns by reference is allocated in result_memory().
 */
#ifndef STREAMBLOOM_PG_CALL_H
#define STREAMBLOOM_PG_CALL_H

#include "base/compat.h"

#include "miscadmin.h"

/* ----------------------------------------------------------------- interrupts */

/* Makes the core ask for interrupts. Once, when the library is loaded. */
extern void call_init(void);

/*
 * Raises the error for a status that says nothing about a value: SB_INTERRUPTED (the error that made the core stop), SB_NO_MEMORY
 * (53200). Returns for other statuses.
 */
extern void raise_if_unfinished(sb_status status);

/* For a status that can only be SB_OK or one of those. */
static inline void
must_finish(sb_status status)
{
	if (likely(status == SB_OK))
		return;
	raise_if_unfinished(status);
	elog(ERROR, "unexpected status of the core: %s", sb_status_text(status));
}

/* So many items or entries are worked on between two looks for interrupts. */
#define ITEMS_BETWEEN_INTERRUPTS 256

/* So many bytes take about a millisecond at most. */
#define PIECE_BYTES ((size_t) 1 << 20)

extern void clear_in_pieces(void *to, size_t size);
extern void copy_in_pieces(void *to, const void *from, size_t size);
extern bool equal_in_pieces(const void *left, const void *right, size_t size);

/* --------------------------------------------------------------------- memory */

/*
 * Calls the function in a memory context of its own, which is deleted before the result is returned. That context is a child of
 * the caller's, so an error frees it as well.
 */
extern Datum call_in_own_memory(PGFunction function, FunctionCallInfo fcinfo);

/* Where a result goes: the caller's memory context inside such a call, elsewhere the current one. */
extern MemoryContext result_memory(void);

/* Defines an SQL function that is called so; its body follows. */
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

extern bool is_compressed_external(Datum value);

/* Does a slice take little reading: is the value in a TOAST table, and not compressed? */
extern bool has_cheap_slices(Datum value);

static inline bool
is_compressed(Datum value)
{
	struct varlena *pointer = (struct varlena *) DatumGetPointer(value);

	return VARATT_IS_COMPRESSED(pointer) || (VARATT_IS_EXTERNAL(pointer) && is_compressed_external(value));
}

/* -------------------------------------------------------------------- arguments */

/* The detoasted value; a copy only if it has to be. Its header may be a short one. */
extern struct varlena *detoast(Datum value);

/* A copy in result_memory(), with a header of four bytes. */
extern struct varlena *detoast_copy(Datum value);

#endif
