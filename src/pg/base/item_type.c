/*
 * item_type.c: see item_type.h.
 */
#include "base/item_type.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "base/own_types.h"

/* --------------------------------------------------- which types can be items */

/* Is this a type whose values are, or contain, object numbers (OIDs)? */
static bool
is_object_reference(Oid type)
{
	switch (type)
	{
		case REGPROCOID:
		case REGPROCEDUREOID:
		case REGOPEROID:
		case REGOPERATOROID:
		case REGCLASSOID:
		case REGTYPEOID:
		case REGCONFIGOID:
		case REGDICTIONARYOID:
		case REGROLEOID:
		case REGNAMESPACEOID:
		case REGCOLLATIONOID:
		case ACLITEMOID:
#ifdef REGDATABASEOID
		case REGDATABASEOID:
#endif
			return true;
		default:
			return false;
	}
}

void
refuse_nondeterministic(Oid collation, Oid type)
{
	if (!OidIsValid(collation) || get_collation_isdeterministic(collation))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("items of type %s under the nondeterministic collation \"%s\" cannot be hashed",
					format_type_be(type), get_collation_name(collation)),
			 errdetail("Strings that are equal under this collation have different bytes, so a filter could miss them."),
			 errhint("Give the item a deterministic collation, for example with COLLATE \"C\".")));
}

void
refuse_unstable_columns(TupleDesc columns, Oid within)
{
	for (int i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);

		if (column->attisdropped)
			continue;
		refuse_nondeterministic(column->attcollation, column->atttypid);
		refuse_unstable(column->atttypid, within);
	}
}

void
refuse_untyped_fields(HeapTupleHeader record, TupleDesc columns)
{
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(record), .t_data = record};

	for (int i = 0; i < columns->natts; i++)
		if (TupleDescAttr(columns, i)->atttypid == UNKNOWNOID)
		{
			bool		isnull;
			Datum		field = heap_getattr(&tuple, i + 1, columns, &isnull);

			ereport(ERROR,
					(errcode(ERRCODE_INDETERMINATE_DATATYPE),
					 errmsg("field %d of the row has no type: %s", i + 1,
							isnull ? "NULL" : quote_literal_cstr(DatumGetCString(field))),
					 errhint("Cast it, as in ROW(1, 'x'::text).")));
		}
}

void
refuse_unstable(Oid type, Oid within)
{
	Oid			base = getBaseType(type);
	char		typtype = get_typtype(base);
	Oid			element = get_element_type(base);

	check_stack_depth();
	refuse_filter_as_item(base);
	if (typtype == TYPTYPE_ENUM || is_object_reference(base))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 base == getBaseType(within) ?
				 errmsg("items of type %s cannot be hashed", format_type_be(within)) :
				 errmsg("items of type %s cannot be hashed, because they contain values of type %s",
						format_type_be(within), format_type_be(base)),
				 errdetail("Such values hash by object numbers, which change when a database is dumped and restored."),
				 errhint("Cast the item to text.")));
	if (OidIsValid(element))
		refuse_unstable(element, within);
	else if (typtype == TYPTYPE_RANGE)
	{
		refuse_nondeterministic(get_range_collation(base), base);
		refuse_unstable(get_range_subtype(base), within);
	}
	else if (typtype == TYPTYPE_MULTIRANGE)
		refuse_unstable(get_multirange_range(base), within);
	else if (typtype == TYPTYPE_COMPOSITE)
	{
		TupleDesc	columns = lookup_rowtype_tupdesc(base, -1);

		refuse_unstable_columns(columns, within);
		ReleaseTupleDesc(columns);
	}
}

Oid
row_type_within(Oid type)
{
	Oid			base = getBaseType(type);
	Oid			element = get_element_type(base);

	check_stack_depth();
	if (OidIsValid(element))
		return row_type_within(element);
	switch (get_typtype(base))
	{
		case TYPTYPE_RANGE:
			return row_type_within(get_range_subtype(base));
		case TYPTYPE_MULTIRANGE:
			return row_type_within(get_multirange_range(base));
		case TYPTYPE_COMPOSITE:
			return base;
		default:
			return base == RECORDOID ? base : InvalidOid;
	}
}

void
refuse_rows_in_index(Oid type)
{
	Oid			row = row_type_within(type);

	if (!OidIsValid(row))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 row == getBaseType(type) ?
			 errmsg("access method \"bf\" does not support the row type %s", format_type_be(type)) :
			 errmsg("access method \"bf\" does not support type %s, because it contains the row type %s",
					format_type_be(type), format_type_be(row)),
			 errdetail("ALTER TYPE and ALTER TABLE can change the columns of a row type, and thereby the hashes of its stored values, without rebuilding the index."),
			 errhint("Index expressions that return the columns that you search for.")));
}

/* ----------------------------------------------------------- naming other types */

static bool holds_text(Oid type);

static bool
columns_hold_text(TupleDesc columns)
{
	for (int i = 0; i < columns->natts; i++)
		if (!TupleDescAttr(columns, i)->attisdropped && holds_text(TupleDescAttr(columns, i)->atttypid))
			return true;
	return false;
}

/*
 * May the hash of a value of this type depend on the encoding of the database? The answer is yes for all types that
 * this function does not know.
 */
static bool
holds_text(Oid type)
{
	Oid			base = getBaseType(type);
	Oid			element = get_element_type(base);
	char		typtype = get_typtype(base);

	check_stack_depth();
	if (OidIsValid(element))
		return holds_text(element);
	if (typtype == TYPTYPE_RANGE)
		return holds_text(get_range_subtype(base));
	if (typtype == TYPTYPE_MULTIRANGE)
		return holds_text(get_multirange_range(base));
	if (typtype == TYPTYPE_COMPOSITE)
	{
		TupleDesc	columns = lookup_rowtype_tupdesc(base, -1);
		bool		result = columns_hold_text(columns);

		ReleaseTupleDesc(columns);
		return result;
	}
	switch (base)
	{
		case BOOLOID:
		case BYTEAOID:
		case CASHOID:
		case CHAROID:
		case CIDOID:
		case CIDROID:
		case DATEOID:
		case FLOAT4OID:
		case FLOAT8OID:
		case INETOID:
		case INT2OID:
		case INT2VECTOROID:
		case INT4OID:
		case INT8OID:
		case INTERVALOID:
		case MACADDROID:
		case MACADDR8OID:
		case NUMERICOID:
		case OIDOID:
		case OIDVECTOROID:
		case PG_LSNOID:
		case TIDOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case TIMETZOID:
		case UUIDOID:
		case XIDOID:
		case XID8OID:
			return false;
		default:
			return true;
	}
}

/* Appends the encoding to the name of a kind if its items hold text. */
static void
append_encoding(StringInfo name, bool text)
{
	if (text)
		appendStringInfo(name, " (%s)", GetDatabaseEncodingName());
}

static void append_type_name(StringInfo name, Oid type);

static void
append_column_names(StringInfo name, TupleDesc columns)
{
	bool		first = true;

	appendStringInfoString(name, "record(");
	for (int i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);

		if (column->attisdropped)
			continue;
		if (!first)
			appendStringInfoChar(name, ',');
		first = false;
		append_type_name(name, column->atttypid);
	}
	appendStringInfoChar(name, ')');
}

/*
 * Returns the type whose = compares values of `type`. This is `type` itself, unless it uses the hash operator class of
 * another type: cidr uses the class of inet, varchar the class of text. Then values of the two types can be equal and
 * have equal hashes, so they are items of one kind.
 */
static Oid
owner_of_equality(Oid type)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_HASH_OPFAMILY);

	return OidIsValid(entry->hash_opf) && !IsPolymorphicType(entry->hash_opintype) &&
		entry->hash_opintype != RECORDOID ?
		entry->hash_opintype : type;
}

/*
 * Appends the name that stands for a type in the kind of a filter, which says what items it holds. The name contains no
 * schema, because an extension may be moved to another schema, and no OIDs, because they differ after a dump was
 * restored. A composite type is named by the types of its columns, because = compares the columns. A range type over a
 * composite type is named by its own name and the types of the columns. ALTER TYPE changes the columns and with them
 * the hashes. Then the kind changes as well, so asking a filter that was built before is an error.
 */
static void
append_type_name(StringInfo name, Oid type)
{
	Oid			base = getBaseType(type);
	Oid			element = get_element_type(base);
	HeapTuple	tuple;

	check_stack_depth();
	/*
	 * An array is named by the type of its elements, because their hashes decide its hash. oidvector is not: it is an
	 * array, but has an operator class of its own.
	 */
	if (OidIsValid(element) && lookup_type_cache(base, TYPECACHE_HASH_OPFAMILY)->hash_opintype != ANYARRAYOID)
		element = InvalidOid;
	if (OidIsValid(element))
	{
		append_type_name(name, element);
		appendStringInfoString(name, "[]");
		return;
	}
	if (get_typtype(base) == TYPTYPE_COMPOSITE)
	{
		TupleDesc	columns = lookup_rowtype_tupdesc(base, -1);

		append_column_names(name, columns);
		ReleaseTupleDesc(columns);
		return;
	}
	base = owner_of_equality(base);
	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(base));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", base);
	appendStringInfoString(name, NameStr(((Form_pg_type) GETSTRUCT(tuple))->typname));
	ReleaseSysCache(tuple);
	if (base != RECORDOID && OidIsValid(row_type_within(base)))
	{
		Oid			range = get_typtype(base) == TYPTYPE_MULTIRANGE ? get_multirange_range(base) : base;

		appendStringInfoChar(name, '(');
		append_type_name(name, get_range_subtype(range));
		appendStringInfoChar(name, ')');
	}
}

char *
name_of_item_type(Oid type)
{
	StringInfoData name;

	initStringInfo(&name);
	append_type_name(&name, type);
	append_encoding(&name, holds_text(type));
	return name.data;
}

char *
name_of_item_columns(TupleDesc columns)
{
	StringInfoData name;

	initStringInfo(&name);
	append_column_names(&name, columns);
	append_encoding(&name, columns_hold_text(columns));
	return name.data;
}
