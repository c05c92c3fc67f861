/*
 * item.c: turns SQL values into hashes. item.h has the rules and the functions for other files.
 *
 * A value that is added to a filter, or looked up in it, is called an *item*. A filter does not store its items, only
 * what follows from their 64-bit hashes: bits, counters, or (an exact filter) the hashes themselves. So a number and a
 * text of a megabyte take the same room in it. A filter can tell two items apart only if their hashes differ, and finds
 * an item only if this has the same hash as when it was added. Therefore equal values must have equal hashes, where
 * "equal" is the = of SQL: 1::smallint and 1::bigint, 0.0 and -0.0, 1.0 and 1.00 as numeric, 'a ' and 'a' as char(2).
 * Filters are stored, so the hash of a value must also stay the same: in later versions, after a dump and restore, on
 * another machine.
 *
 * There are two ways to hash (HashWay):
 *
 *  - Common types have bytes that are the same for two values exactly if these are equal: integers, dates and times as
 *    64-bit integers, floats as doubles with one NaN and one zero, texts as their bytes, char(n) without its padding.
 *    XXH3 over these bytes is the hash (core/base/hash.cpp). It is the same on every machine.
 *  - For all other types the extended hash function of the type's default hash operator class is called. (PostgreSQL
 *    uses it for hash partitioning.) By the contract of such classes it agrees with the type's =. Its 64 bits are
 *    hashed once more. PostgreSQL's functions give the same result on all machines of one byte order. A type without
 *    such a function is refused.
 *
 * item_type.c refuses types whose equal values could hash differently after all: those that hash object numbers
 * (enums, regclass), and texts under a nondeterministic collation.
 *
 * Hashes of different types mean nothing to each other: the integer 5 would not be found as the text '5'. So a filter
 * has a *kind* (sb_kind), which is stored in its header: integer, float, text in an encoding, or the name of another
 * type. The first item decides it. Every later item, and every item that is looked up, must be of the same kind;
 * otherwise there is an error, not a wrong "no". (An index has no kind: its columns have types.) A literal or
 * parameter without a type is read as what the kind stands for (item_hash_for()).
 *
 * What must be known about a type is found once for a call in a query, and kept in an ItemHasher, mostly in fn_extra
 * of the calling function. For each row after that, item_hash() only branches to the way to hash. docs/bf.md is for
 * users; docs/format.md has the bytes that are hashed.
 */
#include "base/item.h"

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "base/hints.h"
#include "base/item_kind.h"
#include "base/item_type.h"
#include "base/own_types.h"

/* How the items of a type are hashed. */
typedef enum HashWay
{
	HASH_INT2,
	HASH_INT4,
	HASH_INT8,
	HASH_FLOAT4,
	HASH_FLOAT8,
	HASH_BOOL,
	HASH_UUID,
	HASH_VARLENA,				/* text, varchar, bytea */
	HASH_BPCHAR,
	HASH_NAME,
	HASH_CSTRING,				/* a cstring, or an untyped literal as argument of an aggregate */
	HASH_OPCLASS				/* anything else, by its hash operator class */
} HashWay;

struct ItemHasher
{
	HashWay		way;
	sb_kind		kind;
	char	   *kind_name;		/* the kind's name if it is longer than the kind can hold, else NULL */
	Oid			type;
	Oid			collation;
	int16		length;			/* of the elements of an array */
	bool		by_value;
	char		align;
	bool		untyped;		/* items are untyped literals or parameters: see item_hash_for() */
	FmgrInfo	opclass_hash;	/* HASH_OPCLASS only */
	FmgrInfo	output;			/* set by the first call of item_text() */
	FmgrInfo	input;			/* the input function of `type`; only an ItemHasher in `readers` (below) has it */
	FmgrInfo	array_input;	/* the input function of arrays of `type`; also only in `readers` */
	Oid			input_parameter;
	struct ItemHasher *readers[SB_KIND_TIMESTAMPTZ + 1];	/* the hashers that reader_for_kind() has made */
	struct ItemHasher *read_by; /* the reader of the last item; NULL if it had a type, or was read as text or char(n) */
	Datum		read_item;		/* what `read_by` made of the last item */
	struct SliceCache *slices;

	/*
	 * The row type that items are or contain. RECORDOID: the columns depend on the value. InvalidOid: there is none.
	 */
	Oid			row_type;
	uint64		columns;		/* identifies the columns of the kind; from assign_record_type_identifier() */
};

/* ------------------------------------------------------------------- kinds */

/*
 * Sets the kind's name, cut to the size that the header has for it, and its detail, a hash of the whole name. Because
 * of this hash, two names that differ only behind the cut are different kinds.
 */
static void
set_named_kind(ItemHasher *hasher, const char *name)
{
	sb_kind    *kind = &hasher->kind;

	if (hasher->kind_name != NULL)
		pfree(hasher->kind_name);
	hasher->kind_name = strlen(name) < SB_KIND_NAME_SIZE ?
		NULL : MemoryContextStrdup(GetMemoryChunkContext(hasher), name);
	memset(kind, 0, sizeof *kind);
	kind->code = SB_KIND_NAMED;
	kind->detail = item_kind_name_hash(name);
	memcpy(kind->name, name, pg_mbcliplen(name, strlen(name), SB_KIND_NAME_SIZE - 1));
}

static void
set_kind(sb_kind *kind, sb_kind_code code)
{
	memset(kind, 0, sizeof *kind);
	kind->code = code;
	if (code == SB_KIND_TEXT || code == SB_KIND_CHARACTER)
		kind->detail = GetDatabaseEncoding();
}

/* ------------------------------------------------------------------ preparing */

/* Sets the kind to that of items of this type. Raises an error if refuse_unstable() refuses the type. */
static void
name_kind(ItemHasher *hasher, Oid type)
{
	char	   *name;

	refuse_unstable(type, type);
	name = name_of_item_type(type);
	set_named_kind(hasher, name);
	pfree(name);
}

/*
 * Sets up a hasher for a type that is hashed by its hash operator class, and names the kind of its items. Raises an
 * error if there is no such class, or if the type cannot be an item for another reason.
 */
static void
prepare_opclass(ItemHasher *hasher, Oid type, MemoryContext context)
{
	TypeCacheEntry *entry;

	hasher->way = HASH_OPCLASS;
	hasher->row_type = row_type_within(type);
	if (type == RECORDOID)
	{
		/*
		 * The type cache cannot know whether the values of records can be hashed, so it has no hash function for
		 * them. The function used here raises an error if a value cannot be hashed.
		 */
		fmgr_info_cxt(F_HASH_RECORD_EXTENDED, &hasher->opclass_hash, context);
		return;					/* The columns are found when there is a value. */
	}
	refuse_filter_as_item(type);
	entry = lookup_type_cache(type, TYPECACHE_HASH_EXTENDED_PROC_FINFO);
	if (!OidIsValid(entry->hash_extended_proc))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("items of type %s cannot be hashed", format_type_be(type)),
				 errdetail("The type has no default hash operator class with an extended hash function."),
				 errhint("Cast the item to a type that has one, for example to text.")));
	fmgr_info_copy(&hasher->opclass_hash, &entry->hash_extended_proc_finfo, context);
	if (OidIsValid(hasher->row_type))
		hasher->columns = assign_record_type_identifier(hasher->row_type, -1);
	name_kind(hasher, type);
}

/*
 * Makes a hasher for items of this type under this collation: decides how they are hashed, and of which kind they are.
 * Raises an error if they cannot be items.
 */
static ItemHasher *
make_hasher(Oid type, Oid collation, MemoryContext context)
{
	ItemHasher *hasher = MemoryContextAllocZero(context, sizeof(ItemHasher));
	Oid			base;

	hasher->untyped = is_untyped_item(type);
	if (hasher->untyped || is_text_item(type))
		type = TEXTOID;
	base = getBaseType(type);
	hasher->type = type;
	hasher->collation = collation;
	switch (base)
	{
#define FAST(oid, hash_way, kind_code) \
		case oid: \
			hasher->way = hash_way; \
			set_kind(&hasher->kind, kind_code); \
			break
			FAST(INT2OID, HASH_INT2, SB_KIND_INTEGER);
			FAST(INT4OID, HASH_INT4, SB_KIND_INTEGER);
			FAST(INT8OID, HASH_INT8, SB_KIND_INTEGER);
			FAST(FLOAT4OID, HASH_FLOAT4, SB_KIND_FLOAT);
			FAST(FLOAT8OID, HASH_FLOAT8, SB_KIND_FLOAT);
			FAST(BOOLOID, HASH_BOOL, SB_KIND_BOOLEAN);
			FAST(UUIDOID, HASH_UUID, SB_KIND_UUID);
			FAST(DATEOID, HASH_INT4, SB_KIND_DATE);
			FAST(TIMEOID, HASH_INT8, SB_KIND_TIME);
			FAST(TIMESTAMPOID, HASH_INT8, SB_KIND_TIMESTAMP);
			FAST(TIMESTAMPTZOID, HASH_INT8, SB_KIND_TIMESTAMPTZ);
			FAST(BYTEAOID, HASH_VARLENA, SB_KIND_BYTEA);
			FAST(TEXTOID, HASH_VARLENA, SB_KIND_TEXT);
			FAST(VARCHAROID, HASH_VARLENA, SB_KIND_TEXT);
			FAST(NAMEOID, HASH_NAME, SB_KIND_TEXT);
			FAST(UNKNOWNOID, HASH_CSTRING, SB_KIND_TEXT);	/* an untyped literal as argument of an aggregate */
			FAST(CSTRINGOID, HASH_CSTRING, SB_KIND_TEXT);
			FAST(BPCHAROID, HASH_BPCHAR, SB_KIND_CHARACTER);
#undef FAST
		default:
			prepare_opclass(hasher, base, context);
			break;
	}
	if (hasher->way == HASH_CSTRING)
		refuse_nondeterministic(collation, TEXTOID);	/* 'a' COLLATE "x" is an untyped literal too */
	else if (type_is_collatable(base))
	{
		if (!OidIsValid(collation))
			ereport(ERROR,
					(errcode(ERRCODE_INDETERMINATE_COLLATION),
					 errmsg("could not determine which collation to use for the item"),
					 errhint("Use the COLLATE clause to set the collation explicitly.")));
		refuse_nondeterministic(collation, type);
	}
	return hasher;
}

ItemHasher *
item_hasher_for_index(Oid type, Oid collation, MemoryContext context)
{
	refuse_rows_in_index(type);
	return make_hasher(type, collation, context);
}

/*
 * Returns the hasher for untyped literals and parameters that are given to a filter of this kind. It reads them as
 * values of the type that the kind's code stands for. SB_KIND_NONE and SB_KIND_NAMED (any other type) stand for no
 * single type. For these two and for SB_KIND_TEXT, it reads them as text.
 */
static ItemHasher *
reader_for_kind(ItemHasher *hasher, const sb_kind *kind)
{
	static const Oid types[lengthof(hasher->readers)] = {
		[SB_KIND_INTEGER] = INT8OID,
		[SB_KIND_FLOAT] = FLOAT8OID,
		[SB_KIND_CHARACTER] = BPCHAROID,
		[SB_KIND_BYTEA] = BYTEAOID,
		[SB_KIND_UUID] = UUIDOID,
		[SB_KIND_BOOLEAN] = BOOLOID,
		[SB_KIND_DATE] = DATEOID,
		[SB_KIND_TIME] = TIMEOID,
		[SB_KIND_TIMESTAMP] = TIMESTAMPOID,
		[SB_KIND_TIMESTAMPTZ] = TIMESTAMPTZOID,
	};
	bool		has_type = kind->code < lengthof(types) && OidIsValid(types[kind->code]);
	sb_kind_code code = has_type ? kind->code : SB_KIND_NONE;
	ItemHasher *reader = hasher->readers[code];

	if (reader == NULL)
	{
		Oid			type = code == SB_KIND_NONE ? TEXTOID : types[code];
		MemoryContext context = GetMemoryChunkContext(hasher);
		Oid			function;

		reader = make_hasher(type, hasher->collation, context);
		get_typlenbyvalalign(type, &reader->length, &reader->by_value, &reader->align);
		getTypeInputInfo(get_array_type(type), &function, &reader->input_parameter);
		fmgr_info_cxt(function, &reader->array_input, context);
		getTypeInputInfo(type, &function, &reader->input_parameter);
		fmgr_info_cxt(function, &reader->input, context);
		hasher->readers[code] = reader;
	}
	return reader;
}

static Oid
argument_type(FunctionCallInfo fcinfo, int argno)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, argno);

	if (!OidIsValid(type))
		ereport(ERROR,
				(errcode(ERRCODE_INDETERMINATE_DATATYPE),
				 errmsg("could not determine the type of the item")));
	return type;
}

ItemHasher *
item_hasher_for_argument(FunctionCallInfo fcinfo, int argno)
{
	FmgrInfo   *flinfo = fcinfo->flinfo;

	if (flinfo->fn_extra == NULL)
		flinfo->fn_extra = make_hasher(argument_type(fcinfo, argno), PG_GET_COLLATION(), flinfo->fn_mcxt);
	return flinfo->fn_extra;
}

ItemHasher *
item_hasher_for_elements(FunctionCallInfo fcinfo, int argno)
{
	FmgrInfo   *flinfo = fcinfo->flinfo;

	if (flinfo->fn_extra == NULL)
	{
		Oid			array_type = argument_type(fcinfo, argno);
		Oid			element = get_base_element_type(array_type);
		ItemHasher *hasher;

		if (is_untyped_item(array_type))
			return flinfo->fn_extra = make_hasher(array_type, PG_GET_COLLATION(), flinfo->fn_mcxt);
		if (!OidIsValid(element))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("items must be given as an array, not as %s", format_type_be(array_type)),
					 errhint("Write ARRAY[...], or call the function for one item.")));
		hasher = make_hasher(element, PG_GET_COLLATION(), flinfo->fn_mcxt);
		get_typlenbyvalalign(element, &hasher->length, &hasher->by_value, &hasher->align);
		flinfo->fn_extra = hasher;
	}
	return flinfo->fn_extra;
}

bool
item_is_untyped(const ItemHasher *hasher)
{
	return hasher->untyped;
}

ItemHasher *
item_read_array(ItemHasher *hasher, const sb_kind *filter_kind, Datum *array)
{
	ItemHasher *reader = reader_for_kind(hasher, filter_kind);
	ErrorHint	hint;

	hint_begin(&hint, item_hint_of_untyped_array, filter_kind);
	*array = InputFunctionCall(&reader->array_input, TextDatumGetCString(*array), reader->type, -1);
	hint_end(&hint);
	return reader;
}

void
item_element_storage(const ItemHasher *hasher, int16 *length, bool *by_value, char *align)
{
	*length = hasher->length;
	*by_value = hasher->by_value;
	*align = hasher->align;
}

struct SliceCache **
item_slices(ItemHasher *hasher)
{
	return &hasher->slices;
}

const sb_kind *
item_kind(const ItemHasher *hasher)
{
	return &hasher->kind;
}

/* -------------------------------------------------------------------- hashing */

/*
 * For a value of type record, which has columns of its own: sets hasher->columns and the kind to those of this value,
 * unless it has the same columns as the last value. Raises an error if such a row cannot be an item.
 */
static void
examine_record(ItemHasher *hasher, Datum item)
{
	HeapTupleHeader record = DatumGetHeapTupleHeader(item);
	Oid			type = HeapTupleHeaderGetTypeId(record);
	int32		typmod = HeapTupleHeaderGetTypMod(record);
	uint64		columns = assign_record_type_identifier(type, typmod);

	if (columns != hasher->columns)
	{
		TupleDesc	descriptor = lookup_rowtype_tupdesc(type, typmod);
		char	   *name;

		refuse_unstable_columns(descriptor, RECORDOID);
		refuse_untyped_fields(record, descriptor);
		name = name_of_item_columns(descriptor);
		set_named_kind(hasher, name);
		pfree(name);
		ReleaseTupleDesc(descriptor);
		hasher->columns = columns;
	}
	if ((Pointer) record != DatumGetPointer(item))
		pfree(record);
}

/*
 * Sets the kind again if the columns of the row type have changed: ALTER TYPE may have changed them since the last
 * item, and each record has columns of its own. Rows with other columns have other hashes, so they are of another
 * kind.
 */
static void
examine_rows(ItemHasher *hasher, Datum item)
{
	uint64		columns;

	if (hasher->row_type == RECORDOID)
	{
		examine_record(hasher, item);
		return;
	}
	columns = assign_record_type_identifier(hasher->row_type, -1);
	if (columns != hasher->columns)
	{
		name_kind(hasher, getBaseType(hasher->type));
		hasher->columns = columns;
	}
}

static uint64_t
hash_varlena(Datum item)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(item);
	uint64_t	hash;

	/*
	 * Most values in a table are stored in line and not compressed, with a header of one byte or four. They are hashed
	 * in place.
	 */
	if (VARATT_IS_1B(value) ? !VARATT_IS_1B_E(value) : VARATT_IS_4B_U(value))
		return sb_hash_bytes(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
	value = PG_DETOAST_DATUM_PACKED(item);
	hash = sb_hash_bytes(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));

	if ((Pointer) value != DatumGetPointer(item))
		pfree(value);
	return hash;
}

static uint64_t
hash_bpchar(Datum item)
{
	BpChar	   *value = (BpChar *) PG_DETOAST_DATUM_PACKED(item);
	uint64_t	hash = sb_hash_bytes(VARDATA_ANY(value), bpchartruelen(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)));

	if ((Pointer) value != DatumGetPointer(item))
		pfree(value);
	return hash;
}

uint64_t
item_hash(ItemHasher *hasher, Datum item)
{
	switch (hasher->way)
	{
		case HASH_INT2:
			return sb_hash_int64(DatumGetInt16(item));
		case HASH_INT4:
			return sb_hash_int64(DatumGetInt32(item));
		case HASH_INT8:
			return sb_hash_int64(DatumGetInt64(item));
		case HASH_FLOAT4:
			return sb_hash_double(DatumGetFloat4(item));
		case HASH_FLOAT8:
			return sb_hash_double(DatumGetFloat8(item));
		case HASH_BOOL:
			return sb_hash_int64(DatumGetBool(item));
		case HASH_UUID:
			return sb_hash_bytes(DatumGetUUIDP(item)->data, UUID_LEN);
		case HASH_VARLENA:
			return hash_varlena(item);
		case HASH_BPCHAR:
			return hash_bpchar(item);
		case HASH_NAME:
			return sb_hash_bytes(NameStr(*DatumGetName(item)), strlen(NameStr(*DatumGetName(item))));
		case HASH_CSTRING:
			return sb_hash_bytes(DatumGetCString(item), strlen(DatumGetCString(item)));
		case HASH_OPCLASS:
			if (OidIsValid(hasher->row_type))
				examine_rows(hasher, item);
			/* The seed is not 0, because for that seed a type may return only its 32-bit hash. */
			return sb_hash_int64(DatumGetInt64(FunctionCall2Coll(&hasher->opclass_hash, hasher->collation, item,
																 Int64GetDatum(1))));
	}
	pg_unreachable();
}

int
item_compare_hashes(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a,
				y = *(const uint64 *) b;

	return x < y ? -1 : x > y;
}

ItemInteger
item_integer(const ItemHasher *hasher)
{
	switch (hasher->way)
	{
		case HASH_INT2:
			return ITEM_INT16;
		case HASH_INT4:
			return ITEM_INT32;
		case HASH_INT8:
			return ITEM_INT64;
		default:
			return ITEM_NO_INTEGER;
	}
}

/* Is an untyped item for a filter of this kind read as a value of a type other than text and char(n)? */
static bool
is_read(const sb_kind *kind)
{
	return kind->code != SB_KIND_NONE && kind->code != SB_KIND_TEXT && kind->code != SB_KIND_CHARACTER &&
		kind->code != SB_KIND_NAMED;
}

uint64_t
item_hash_for(ItemHasher *hasher, Datum item, const sb_kind *filter_kind)
{
	uint64_t	hash;

	hasher->read_by = NULL;
	if ((hasher->untyped || hasher->way == HASH_CSTRING) && filter_kind->code == SB_KIND_CHARACTER &&
		filter_kind->detail == hasher->kind.detail)
	{
		char	   *literal;

		if (hasher->untyped)
			return hash_bpchar(item);
		literal = DatumGetCString(item);
		return sb_hash_bytes(literal, bpchartruelen(literal, strlen(literal)));
	}
	if (hasher->untyped && is_read(filter_kind))
	{
		ErrorHint	hint;

		hasher->read_by = reader_for_kind(hasher, filter_kind);
		hint_begin(&hint, item_hint_of_untyped, filter_kind);
		hasher->read_item = InputFunctionCall(&hasher->read_by->input, TextDatumGetCString(item),
											  hasher->read_by->input_parameter, -1);
		hint_end(&hint);
		return item_hash_for(hasher->read_by, hasher->read_item, filter_kind);
	}
	hash = item_hash(hasher, item);
	if (filter_kind->code != SB_KIND_NONE && !sb_kind_equal(filter_kind, &hasher->kind))
		item_refuse_kind(filter_kind, &hasher->kind, hasher->kind_name);
	return hash;
}

uint64_t
item_hash_to_add(ItemHasher *hasher, Datum item, sb_kind *filter_kind)
{
	uint64_t	hash = item_hash_for(hasher, item, filter_kind);

	if (filter_kind->code == SB_KIND_NONE)
		*filter_kind = hasher->kind;
	return hash;
}

bool
item_kind_is_settled(const ItemHasher *hasher, const sb_kind *filter_kind)
{
	return filter_kind->code != SB_KIND_NAMED && sb_kind_equal(filter_kind, &hasher->kind);
}

/* -------------------------------------------------------------------- showing */

char *
item_text(ItemHasher *hasher, Datum item)
{
	if (hasher->read_by != NULL)
		return item_text(hasher->read_by, hasher->read_item);
	if (hasher->way == HASH_CSTRING)
		return pstrdup(DatumGetCString(item));
	if (!OidIsValid(hasher->output.fn_oid))
	{
		Oid			function;
		bool		is_varlena;

		getTypeOutputInfo(hasher->type, &function, &is_varlena);
		fmgr_info_cxt(function, &hasher->output, GetMemoryChunkContext(hasher));
	}
	return OutputFunctionCall(&hasher->output, item);
}
