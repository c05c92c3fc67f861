/*
 * value_io.c: the functions of all types that convert values from and to text, binary and bytea, and that compare and
 * hash values byte for byte. They do not look at the content of a filter. Each type has its own check of the values
 * that come in.
 */
#include "base/value.h"

#include <ctype.h>

#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "base/expanded.h"

static Datum
checked(struct varlena *value, const char *type, ValueCheck check)
{
	sb_status	status = check(VARDATA(value), VARSIZE(value) - VARHDRSZ);

	if (status != SB_OK)
		value_refuse(type, status);
	PG_RETURN_POINTER(value);
}

/*
 * Returns false unless all characters are hexadecimal digits. This function checks them because hex_decode() skips
 * spaces, and raises an error of its own for other characters.
 */
static bool
decode_in_pieces(const char *digits, size_t length, char *to)
{
	for (size_t at = 0; at < length; at += PIECE_BYTES)
	{
		size_t		now = Min(length - at, PIECE_BYTES);

		CHECK_FOR_INTERRUPTS();
		for (size_t i = at; i < at + now; i++)
			if (!isxdigit((unsigned char) digits[i]))
				return false;
		(void) hex_decode(digits + at, now, to + at / 2);
	}
	return true;
}

Datum
value_from_text(FunctionCallInfo fcinfo, const char *type, ValueCheck check)
{
	char	   *text = PG_GETARG_CSTRING(0);
	size_t		length = strlen(text);
	struct varlena *value;
	void	   *data;

	if (length >= 2 && text[0] == '\\' && text[1] == 'x' && length % 2 == 0)
	{
		value = value_make(length / 2 - 1, &data);
		if (decode_in_pieces(text + 2, length - 2, data))
			return checked(value, type, check);
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid input syntax for type %s: \"%.*s\"", type,
					pg_mbcliplen(text, (int) length, 40), text),
			 errdetail("A value is written as \\x and an even number of hexadecimal digits."),
			 errhint("Build filters with %s_agg() or %s_empty().", type, type)));
	pg_unreachable();
}

SB_FUNCTION_IN_OWN_MEMORY(value_out)
{
	size_t		size;
	const void *data = value_open(PG_GETARG_DATUM(0), &size);
	char	   *text = MemoryContextAlloc(result_memory(), size * 2 + 3);

	text[0] = '\\';
	text[1] = 'x';
	for (size_t at = 0; at < size; at += PIECE_BYTES)
	{
		CHECK_FOR_INTERRUPTS();
		(void) hex_encode((const char *) data + at, Min(size - at, PIECE_BYTES), text + 2 + 2 * at);
	}
	text[size * 2 + 2] = '\0';
	PG_RETURN_CSTRING(text);
}

Datum
value_from_binary(FunctionCallInfo fcinfo, const char *type, ValueCheck check)
{
	StringInfo	message = (StringInfo) PG_GETARG_POINTER(0);
	int			size = message->len - message->cursor;
	void	   *data;
	struct varlena *value = value_make(size, &data);

	copy_in_pieces(data, pq_getmsgbytes(message, size), size);
	return checked(value, type, check);
}

SB_FUNCTION_IN_OWN_MEMORY(value_send)
{
	Datum		value = PG_GETARG_DATUM(0);
	ExpandedFilter *expanded = expanded_filter(value);

	PG_RETURN_POINTER(detoast_copy(expanded != NULL ? PointerGetDatum(flat_filter(expanded)) : value));
}

Datum
value_from_bytea(FunctionCallInfo fcinfo, const char *type, ValueCheck check)
{
	return checked(detoast_copy(PG_GETARG_DATUM(0)), type, check);
}

/* ------------------------------------------------------------------ comparing */

int
compared_bytes_order(const ComparedBytes *left, const ComparedBytes *right)
{
	int			order;

	Assert(left->header_size == right->header_size);
	if (left->rest_size != right->rest_size)
		return left->rest_size < right->rest_size ? -1 : 1;
	order = compare_in_pieces(left->header, right->header, left->header_size);
	if (order == 0)
		order = compare_in_pieces(left->rest, right->rest, left->rest_size);
	return order < 0 ? -1 : order > 0;
}

uint64_t
compared_bytes_hash(const ComparedBytes *bytes)
{
	uint64_t	hash = sb_hash_bytes(bytes->header, bytes->header_size);

	for (size_t at = 0; at < bytes->rest_size; at += PIECE_BYTES)
	{
		uint64_t	piece = sb_hash_bytes((const char *) bytes->rest + at, Min(bytes->rest_size - at, PIECE_BYTES));

		CHECK_FOR_INTERRUPTS();
		hash = (uint64_t) sb_hash_int64((int64_t) (hash + piece));
	}
	return hash;
}

Datum
seeded_hash(uint64_t hash, Datum seed)
{
	uint64		number = DatumGetUInt64(seed);

	return UInt64GetDatum(number == 0 ? hash : sb_hash_int64((int64_t) (hash ^ sb_hash_int64((int64_t) number))));
}

/* Returns the whole stored form. All types but tbf compare and hash these bytes. */
static ComparedBytes
all_bytes(Datum value)
{
	ComparedBytes bytes = {.header = "", .header_size = 0};

	bytes.rest = value_open(value, &bytes.rest_size);
	return bytes;
}

static int
value_order(FunctionCallInfo fcinfo)
{
	size_t		left_size = value_size(PG_GETARG_DATUM(0));
	size_t		right_size = value_size(PG_GETARG_DATUM(1));
	ComparedBytes left;
	ComparedBytes right;

	if (left_size != right_size)
		return left_size < right_size ? -1 : 1;
	left = all_bytes(PG_GETARG_DATUM(0));
	right = all_bytes(PG_GETARG_DATUM(1));
	return compared_bytes_order(&left, &right);
}

static uint64_t
value_hash_of(Datum value)
{
	ComparedBytes bytes = all_bytes(value);

	return compared_bytes_hash(&bytes);
}

SB_VALUE_COMPARISONS(value, value_order, value_hash_of)
