/*
 * item_kind.c: how the kinds of items are shown, and the errors for kinds that differ (item.h, item_kind.h).
 */
#include "base/item_kind.h"

#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "base/item.h"

static const char *const kind_names[] = {
	[SB_KIND_NONE] = "none",
	[SB_KIND_INTEGER] = "integer",
	[SB_KIND_FLOAT] = "float",
	[SB_KIND_TEXT] = "text",
	[SB_KIND_CHARACTER] = "character",
	[SB_KIND_BYTEA] = "bytea",
	[SB_KIND_UUID] = "uuid",
	[SB_KIND_BOOLEAN] = "boolean",
	[SB_KIND_DATE] = "date",
	[SB_KIND_TIME] = "time",
	[SB_KIND_TIMESTAMP] = "timestamp",
	[SB_KIND_TIMESTAMPTZ] = "timestamptz",
};

uint32_t
item_kind_name_hash(const char *name)
{
	return (uint32_t) sb_hash_bytes(name, strlen(name));
}

char *
item_kind_text(const sb_kind *kind)
{
	if (kind->code == SB_KIND_NAMED)
	{
		/*
		 * set_named_kind() cuts a long name between two characters. But a value that was not made in this database may
		 * have a name that ends in the middle of a character. This part of a character must not reach the client.
		 */
		int			length = pg_mbcliplen(kind->name, strlen(kind->name), SB_KIND_NAME_SIZE - 1);
		bool		whole = kind->detail == item_kind_name_hash(kind->name);

		if (!pg_verifymbstr(kind->name, length, true))
			return pstrdup("(a type whose name is not valid in this encoding)");
		return psprintf("%.*s%s", length, kind->name, whole ? "" : "...");
	}
	if (kind->code == SB_KIND_TEXT || kind->code == SB_KIND_CHARACTER)
	{
		const char *encoding = PG_VALID_BE_ENCODING(kind->detail) ? pg_encoding_to_char(kind->detail) : "unknown encoding";

		return psprintf("%s (%s)", kind_names[kind->code], encoding);
	}
	return pstrdup(kind_names[kind->code]);
}

/* ----------------------------------------------------------- kinds that differ */

void
item_kinds_must_agree(const sb_kind *left, const sb_kind *right, const char *action)
{
	if (left->code == SB_KIND_NONE || right->code == SB_KIND_NONE || sb_kind_equal(left, right))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("cannot %s filters of different item kinds", action),
			 errdetail("The left filter holds items of kind %s, the right one of kind %s.",
					   item_kind_text(left), item_kind_text(right)),
			 errhint("Build both from items of one type.")));
}

/* Does the kind stand for an array type? */
static bool
is_of_arrays(const sb_kind *kind, const char *whole_name)
{
	return kind->code == SB_KIND_NAMED && strstr(whole_name != NULL ? whole_name : kind->name, "[]") != NULL;
}

void
item_refuse_kind(const sb_kind *of_filter, const sb_kind *of_item, const char *item_name)
{
	char	   *holds = item_kind_text(of_filter);
	char	   *given = item_name != NULL ? pstrdup(item_name) : item_kind_text(of_item);
	const char *detail = NULL;
	const char *hint = "Cast the item to the type of the items that the filter was built from.";

	if (of_filter->code == of_item->code && of_filter->code != SB_KIND_NAMED)
		hint = "Items are hashed in the encoding of the database that built the filter.";
	else if (is_of_arrays(of_filter, NULL) && !is_of_arrays(of_item, item_name))
	{
		detail = "Each of its items is a whole array.";
		hint = "To look for elements, build the filter of elements: SELECT bf_agg(element) FROM a_table, unnest(a_column) element.";
	}
	else if (is_of_arrays(of_item, item_name) && !is_of_arrays(of_filter, NULL))
		hint = "To look for the elements of an array, write filter @> ANY (array). To add them, call bf_add_all(), or the like of another type.";
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("the filter holds items of kind %s, not of kind %s", holds, given),
			 detail != NULL ? errdetail("%s", detail) : 0,
			 errhint("%s", hint)));
}

void
item_hint_of_untyped(const void *of_filter)
{
	errhint("An item without a type is read as one of the filter's items, which are of kind %s.",
			item_kind_text((const sb_kind *) of_filter));
}

void
item_hint_of_untyped_array(const void *of_filter)
{
	errhint("Items without a type are read as an array such as '{a,b}' of the filter's items, which are of kind %s.",
			item_kind_text((const sb_kind *) of_filter));
}
