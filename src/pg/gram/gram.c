/*
 * gram.c: the support functions of the operator classes gram_ops and bytea_gram_ops of bf indexes, and bf_grams(),
 * which shows the grams of a text. With these classes LIKE, ILIKE, regular expressions, ^@ and = leave pages unread.
 * The support functions have GIN's signatures (index/keys.h). The keys are n-grams, or grams for short: runs of n
 * consecutive characters of a text. With `fold`, letters that differ only in case count as the same. core/gram makes
 * the grams; it also finds out which ones a pattern requires.
 *
 * The grams depend only on the bytes of a text, the options of the operator class and the encoding of the database.
 * They depend neither on a collation nor on the rules for letters of the operating system or of ICU.
 */
#include "base/compat.h"

#include "access/gin.h"
#include "access/reloptions.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "base/call.h"
#include "base/memory.h"
#include "index/handler.h"

/* The numbers of the operators in gram_ops. bytea_gram_ops has only = and LIKE, with the same numbers. */
static const struct
{
	StrategyNumber strategy;
	sb_gram_comparison comparison;
}			comparisons[] = {
	{1, SB_GRAM_EQUAL},			/* = */
	{2, SB_GRAM_STARTS_WITH},	/* ^@ */
	{3, SB_GRAM_LIKE},			/* ~~ */
	{4, SB_GRAM_LIKE_ANY_CASE}, /* ~~* */
	{5, SB_GRAM_REGEX},			/* ~ */
	{6, SB_GRAM_REGEX_ANY_CASE} /* ~* */
};

/* ------------------------------------------------------------------------ options */

typedef struct GramOptions
{
	BfClassOptions common;
	int			n;
	bool		fold;
} GramOptions;

static void
declare_options(local_relopts *options)
{
	bf_index_declare_class_options(options, sizeof(GramOptions), BF_INDEX_GRAM_FPR);
	add_local_int_reloption(options, "n", "Number of characters of a gram", SB_GRAM_DEFAULT_LENGTH, SB_GRAM_MIN_LENGTH,
							SB_GRAM_MAX_LENGTH, offsetof(GramOptions, n));
}

SB_FUNCTION(bf_gram_class_options);
Datum
bf_gram_class_options(PG_FUNCTION_ARGS)
{
	local_relopts *options = (local_relopts *) PG_GETARG_POINTER(0);

	declare_options(options);
	add_local_bool_reloption(options, "fold", "Takes letters alike but for case for the same", true, offsetof(GramOptions, fold));
	PG_RETURN_VOID();
}

SB_FUNCTION(bf_bytea_gram_class_options);
Datum
bf_bytea_gram_class_options(PG_FUNCTION_ARGS)
{
	declare_options((local_relopts *) PG_GETARG_POINTER(0));
	PG_RETURN_VOID();
}

static sb_gram_form
form_of_database(uint32 length, bool fold)
{
	return (sb_gram_form) {
		.length = length,
		.fold = fold,
		.text = GetDatabaseEncoding() == PG_UTF8 ? SB_GRAM_UTF8 : SB_GRAM_ONE_BYTE
	};
}

/*
 * Returns how grams of texts are made: how long they are, and whether letters are folded. The options of the operator
 * class, which PostgreSQL passes with the call, say this.
 */
static sb_gram_form
form_of_texts(FunctionCallInfo fcinfo)
{
	GramOptions *options;

	if (!PG_HAS_OPCLASS_OPTIONS())
		return form_of_database(SB_GRAM_DEFAULT_LENGTH, true);
	options = (GramOptions *) PG_GET_OPCLASS_OPTIONS();
	return form_of_database(options->n, options->fold);
}

static sb_gram_form
form_of_bytea(FunctionCallInfo fcinfo)
{
	sb_gram_form form = {.length = SB_GRAM_DEFAULT_LENGTH, .text = SB_GRAM_BYTES};

	if (PG_HAS_OPCLASS_OPTIONS())
		form.length = ((GramOptions *) PG_GET_OPCLASS_OPTIONS())->n;
	return form;
}

/* -------------------------------------------------------------------------- bytes */

/* The bytes from which grams are made. */
typedef struct Bytes
{
	const char *data;
	size_t		size;
} Bytes;

static Bytes
bytes_of(struct varlena *value)
{
	return (Bytes) {.data = VARDATA_ANY(value), .size = VARSIZE_ANY_EXHDR(value)};
}

/*
 * Replaces each character beyond ASCII by one byte, 0x80, so that all of them, in upper and in lower case, become the
 * same character. This is done in encodings other than UTF-8 that have characters of several bytes.
 */
static Bytes
one_byte_a_character(Bytes text)
{
	const int	encoding = GetDatabaseEncoding();
	char	   *to = palloc_extended(Max(text.size, 1), MCXT_ALLOC_HUGE);
	size_t		count = 0;

	for (size_t at = 0; at < text.size; count++)
	{
		if (count % PIECE_BYTES == 0)
			CHECK_FOR_INTERRUPTS();
		if (!IS_HIGHBIT_SET(text.data[at]))
			to[count] = text.data[at++];
		else
		{
			to[count] = (char) 0x80;
			at += Max(pg_encoding_mblen(encoding, text.data + at), 1);
		}
	}
	return (Bytes) {.data = to, .size = count};
}

static Bytes
characters_of(struct varlena *text)
{
	Bytes		bytes = bytes_of(text);

	if (GetDatabaseEncoding() == PG_UTF8 || pg_database_encoding_max_length() == 1)
		return bytes;
	return one_byte_a_character(bytes);
}

/* --------------------------------------------------------------- support functions */

/* Returns grams as keys of type bigint. */
static Datum *
keys_of_grams(uint64 *grams, size_t count)
{
#ifdef USE_FLOAT8_BYVAL
	StaticAssertStmt(sizeof(Datum) == sizeof(uint64), "a gram fits in a Datum");
	return (Datum *) grams;
#else
	Datum	   *keys = palloc_extended(count * sizeof(Datum), MCXT_ALLOC_HUGE);

	for (size_t i = 0; i < count; i++)
		keys[i] = Int64GetDatum((int64) grams[i]);
	return keys;
#endif
}

/*
 * If a text has more grams than this, repetitions are removed. In a long text most grams are repetitions, and the
 * code that gets the grams needs several times their memory. If there are fewer grams, removing repetitions is not
 * worth the time.
 */
#define MANY_GRAMS (1024 * 1024)

/* Removes repeated grams, and may change the order of the others. Returns how many are left. */
static size_t
leave_each_once(uint64 *grams, size_t count)
{
	sb_memory	memory = memory_in(CurrentMemoryContext);
	sb_hash_set set;
	size_t		left;

	must_finish(sb_hash_set_begin(&set, &memory, 0));
	for (size_t first = 0; first < count; first += PIECE_BYTES)
		must_finish(sb_hash_set_add_many(&set, &memory, grams + first, Min(PIECE_BYTES, count - first)));
	left = set.count;
	must_finish(sb_hash_set_take(&set, grams));
	sb_hash_set_release(&set, &memory);
	return left;
}

static Datum
extract_value(sb_gram_form form, Bytes bytes, int32 *count)
{
	uint64	   *grams = palloc_extended(sb_gram_most(bytes.size) * sizeof(uint64), MCXT_ALLOC_HUGE);
	size_t		found;

	must_finish(sb_gram_extract(&form, bytes.data, bytes.size, grams, &found));
	if (found > MANY_GRAMS)
	{
		found = leave_each_once(grams, found);
		grams = repalloc_huge(grams, found * sizeof(uint64));
	}
	/* The number fits into 32 bits: a value has s < 2^30 bytes, and sb_gram_most(s) is at most 1.5 s + 2. */
	*count = (int32) found;
	return PointerGetDatum(keys_of_grams(grams, found));
}

static sb_gram_comparison
comparison_of(StrategyNumber strategy)
{
	for (size_t i = 0; i < lengthof(comparisons); i++)
		if (comparisons[i].strategy == strategy)
			return comparisons[i].comparison;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("an operator class for grams has an operator with number %d", strategy),
			 errhint("Numbers are those of the operator class gram_ops: 1 is =, 2 is ^@, 3 is ~~, 4 is ~~*, 5 is ~, 6 is ~*.")));
}

/*
 * Does what extractQuery has to do: takes a pattern apart, and returns the grams that decide whether a text can match.
 * If there are none, asks for all rows. triConsistent gets the query as the extra data of the first key.
 */
static Datum
extract_query(FunctionCallInfo fcinfo, sb_gram_form form, Bytes pattern)
{
	int32	   *count = (int32 *) PG_GETARG_POINTER(1);
	sb_gram_comparison comparison = comparison_of(PG_GETARG_UINT16(2));
	Pointer   **extra = (Pointer **) PG_GETARG_POINTER(4);
	int32	   *mode = (int32 *) PG_GETARG_POINTER(6);
	sb_memory	memory = memory_in(CurrentMemoryContext);
	sb_gram_query *query = palloc(sizeof(sb_gram_query));

	must_finish(sb_gram_take_apart(&form, comparison, pattern.data, pattern.size, &memory, query));
	*count = query->gram_count;
	if (query->gram_count == 0)
	{
		*mode = GIN_SEARCH_MODE_ALL;
		PG_RETURN_POINTER(NULL);
	}
	*extra = palloc0(query->gram_count * sizeof(Pointer));
	(*extra)[0] = (Pointer) query;
	PG_RETURN_POINTER(keys_of_grams(query->grams, query->gram_count));
}

SB_FUNCTION(bf_gram_extract_value);
Datum
bf_gram_extract_value(PG_FUNCTION_ARGS)
{
	return extract_value(form_of_texts(fcinfo), characters_of(PG_GETARG_VARLENA_PP(0)), (int32 *) PG_GETARG_POINTER(1));
}

SB_FUNCTION(bf_gram_extract_value_bytea);
Datum
bf_gram_extract_value_bytea(PG_FUNCTION_ARGS)
{
	return extract_value(form_of_bytea(fcinfo), bytes_of(PG_GETARG_VARLENA_PP(0)), (int32 *) PG_GETARG_POINTER(1));
}

SB_FUNCTION(bf_gram_extract_query);
Datum
bf_gram_extract_query(PG_FUNCTION_ARGS)
{
	return extract_query(fcinfo, form_of_texts(fcinfo), characters_of(PG_GETARG_VARLENA_PP(0)));
}

SB_FUNCTION(bf_gram_extract_query_bytea);
Datum
bf_gram_extract_query_bytea(PG_FUNCTION_ARGS)
{
	return extract_query(fcinfo, form_of_bytea(fcinfo), bytes_of(PG_GETARG_VARLENA_PP(0)));
}

/*
 * Can a row with these grams match the pattern? there[i] says whether the row may have gram i of the query. One
 * function serves patterns of text and of bytea, and all operators, because the query in the extra data says all about
 * the pattern.
 */
SB_FUNCTION(bf_gram_triconsistent);
Datum
bf_gram_triconsistent(PG_FUNCTION_ARGS)
{
	const signed char *there = (const signed char *) PG_GETARG_POINTER(0);
	const Pointer *extra = (const Pointer *) PG_GETARG_POINTER(4);

	StaticAssertStmt(sizeof(GinTernaryValue) == 1 && GIN_FALSE == 0, "what is certainly not there is 0");
	PG_RETURN_GIN_TERNARY_VALUE(sb_gram_can_match((const sb_gram_query *) extra[0], there) ? GIN_MAYBE : GIN_FALSE);
}

/* ---------------------------------------------------------------------- to look at */

/*
 * Writes a character as text; the marks of the beginning and the end of a text are written as ^ and $. If the encoding
 * is not UTF-8, a byte beyond ASCII is written as ?, because it need not be a whole character. Returns the number of
 * bytes, at most MAX_MULTIBYTE_CHAR_LEN.
 */
static int
write_character(uint32 character, unsigned char *to)
{
	if (character == SB_GRAM_BEGINNING || character == SB_GRAM_END)
		character = character == SB_GRAM_BEGINNING ? '^' : '$';
	if (GetDatabaseEncoding() != PG_UTF8)
	{
		/*
		 * With folding, no byte beyond ASCII gets here: all have become the letter i (SB_GRAM_ONE_BYTE in sb_gram.h).
		 */
		*to = character < 0x80 ? (unsigned char) character : '?';
		return 1;
	}
	unicode_to_utf8(character, to);
	return pg_utf_mblen(to);
}

SB_FUNCTION_IN_OWN_MEMORY(bf_grams)
{
	Bytes		text = characters_of(PG_GETARG_VARLENA_PP(0));
	int			n = PG_GETARG_INT32(1);
	sb_gram_form form = form_of_database(n, PG_GETARG_BOOL(2));
	uint32	   *characters;
	size_t		count;
	ArrayBuildState *grams = initArrayResult(TEXTOID, CurrentMemoryContext, false);
	unsigned char buffer[SB_GRAM_MAX_LENGTH * MAX_MULTIBYTE_CHAR_LEN];

	if (n < SB_GRAM_MIN_LENGTH || n > SB_GRAM_MAX_LENGTH)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("n is %d, but a gram has %d to %d characters", n, SB_GRAM_MIN_LENGTH, SB_GRAM_MAX_LENGTH),
				 errhint("Leave n out for grams of %d characters, as gram_ops makes them.", SB_GRAM_DEFAULT_LENGTH)));
	characters = palloc_extended(sb_gram_most(text.size) * sizeof(uint32), MCXT_ALLOC_HUGE);
	must_finish(sb_gram_characters(&form, text.data, text.size, characters, &count));
	for (size_t first = 0; first == 0 || first + n <= count; first++)
	{
		int			size = 0;

		CHECK_FOR_INTERRUPTS();
		for (size_t i = first; i < Min(first + n, count); i++)
			size += write_character(characters[i], buffer + size);
		grams = accumArrayResult(grams, PointerGetDatum(cstring_to_text_with_len((char *) buffer, size)), false,
								 TEXTOID, CurrentMemoryContext);
	}
	PG_RETURN_DATUM(makeArrayResult(grams, result_memory()));
}
