/*
 * call.c: see call.h.
 */
#include "base/call.h"

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "funcapi.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"

/* ----------------------------------------------------------------- interrupts */

/*
 * The function that the core calls to learn whether to stop. The error of an interrupt must not jump over the core's
 * frames. So it is caught here, the core returns SB_INTERRUPTED, and raise_if_unfinished() raises the same error
 * again. Interrupts that raise no error are processed here, and the core goes on.
 */
static bool
interrupt_raises_error(void)
{
	bool		raised = false;

	if (likely(!INTERRUPTS_PENDING_CONDITION()))
		return false;
	PG_TRY();
	{
		CHECK_FOR_INTERRUPTS();
	}
	PG_CATCH();
	{
		raised = true;
	}
	PG_END_TRY();
	return raised;
}

void
call_init(void)
{
	sb_set_stop(interrupt_raises_error);
}

void
raise_if_unfinished(sb_status status)
{
	if (status == SB_INTERRUPTED)
		PG_RE_THROW();
	if (status == SB_NO_MEMORY)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("A function of streambloom could not get the memory that it needs.")));
}

void
clear_in_pieces(void *to, size_t size)
{
	for (size_t at = 0; at < size; at += PIECE_BYTES)
	{
		CHECK_FOR_INTERRUPTS();
		memset((char *) to + at, 0, Min(size - at, PIECE_BYTES));
	}
}

void
copy_in_pieces(void *to, const void *from, size_t size)
{
	for (size_t at = 0; at < size; at += PIECE_BYTES)
	{
		CHECK_FOR_INTERRUPTS();
		memcpy((char *) to + at, (const char *) from + at, Min(size - at, PIECE_BYTES));
	}
}

int
compare_in_pieces(const void *left, const void *right, size_t size)
{
	for (size_t at = 0; at < size; at += PIECE_BYTES)
	{
		int			order;

		CHECK_FOR_INTERRUPTS();
		order = memcmp((const char *) left + at, (const char *) right + at, Min(size - at, PIECE_BYTES));
		if (order != 0)
			return order;
	}
	return 0;
}

/* --------------------------------------------------------------------- memory */

/* The name of all contexts that call_in_own_memory() makes. result_memory() recognizes these by the name's address. */
static const char *own_name = NULL;

Datum
call_in_own_memory(PGFunction function, FunctionCallInfo fcinfo)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext own = AllocSetContextCreate(caller, "streambloom call", ALLOCSET_START_SMALL_SIZES);
	Datum		result;

	own_name = own->name;
	MemoryContextSwitchTo(own);
	result = function(fcinfo);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(own);
	return result;
}

MemoryContext
result_memory(void)
{
	return CurrentMemoryContext->name == own_name ? MemoryContextGetParent(CurrentMemoryContext) : CurrentMemoryContext;
}

void
begin_rows(FunctionCallInfo fcinfo)
{
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
}

/* -------------------------------------------------------------------- arguments */

/*
 * PostgreSQL does not look for interrupts while it reads a value from a TOAST table. So large values are read in
 * slices of this size, unless they are compressed.
 */
#define SLICE_BYTES (1000 * (int32) TOAST_MAX_CHUNK_SIZE)

bool
is_compressed_external(Datum value)
{
	struct varatt_external pointer;

	if (!VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(value)))
		return false;
	VARATT_EXTERNAL_GET_POINTER(pointer, DatumGetPointer(value));
	return VARATT_EXTERNAL_IS_COMPRESSED(pointer);
}

bool
has_cheap_slices(Datum value)
{
	return VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(value)) && !is_compressed_external(value);
}

/*
 * Reads the value, slice by slice, into memory of `context`. REQUIRES: the value is in a TOAST table and not
 * compressed.
 */
static struct varlena *
read_slices(MemoryContext context, Datum value)
{
	struct varlena *raw = (struct varlena *) DatumGetPointer(value);
	size_t		size = toast_raw_datum_size(value);
	struct varlena *whole = MemoryContextAlloc(context, size);

	SET_VARSIZE(whole, size);
	for (size_t at = 0; at < size - VARHDRSZ; at += SLICE_BYTES)
	{
		int32		length = (int32) Min(size - VARHDRSZ - at, SLICE_BYTES);
		struct varlena *slice;

		CHECK_FOR_INTERRUPTS();
		slice = detoast_attr_slice(raw, (int32) at, length);
		if (VARSIZE_ANY_EXHDR(slice) != length)
			elog(ERROR, "unexpected size of a slice of a TOAST value");
		memcpy(VARDATA(whole) + at, VARDATA_ANY(slice), length);
		pfree(slice);
	}
	return whole;
}

static bool
is_to_be_read_by_slices(Datum value)
{
	return has_cheap_slices(value) && toast_raw_datum_size(value) > SLICE_BYTES;
}

struct varlena *
detoast(Datum value)
{
	return is_to_be_read_by_slices(value) ? read_slices(CurrentMemoryContext, value) : PG_DETOAST_DATUM_PACKED(value);
}

struct varlena *
detoast_copy(Datum value)
{
	struct varlena *from;
	struct varlena *copy;

	if (is_to_be_read_by_slices(value))
		return read_slices(result_memory(), value);
	from = PG_DETOAST_DATUM_PACKED(value);
	copy = MemoryContextAlloc(result_memory(), VARHDRSZ + VARSIZE_ANY_EXHDR(from));
	SET_VARSIZE(copy, VARHDRSZ + VARSIZE_ANY_EXHDR(from));
	copy_in_pieces(VARDATA(copy), VARDATA_ANY(from), VARSIZE_ANY_EXHDR(from));
	return copy;
}
