/*
 * own_types.c: see own_types.h.
 */
#include "base/own_types.h"

#include "access/transam.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

static bool
has_input_function(Oid type, PGFunction wanted)
{
	Oid			input;
	Oid			parameter;
	FmgrInfo	function;

	if (type < FirstNormalObjectId)
		return false;
	getTypeInputInfo(type, &input, &parameter);
	fmgr_info(input, &function);
	return function.fn_addr == wanted;
}

/* ----------------------------------------------------- text under other names */

SB_FUNCTION(bf_untyped_item_in);
Datum
bf_untyped_item_in(PG_FUNCTION_ARGS)
{
	return textin(fcinfo);
}

bool
is_untyped_item(Oid type)
{
	return has_input_function(type, bf_untyped_item_in);
}

/*
 * The body of this function must differ from that of bf_untyped_item_in(). Compilers and linkers may merge two
 * functions with the same body, and the types are recognized by the addresses of these functions.
 */
SB_FUNCTION(bf_text_item_in);
Datum
bf_text_item_in(PG_FUNCTION_ARGS)
{
	return DirectFunctionCall1(textin, PG_GETARG_DATUM(0));
}

bool
is_text_item(Oid type)
{
	return has_input_function(type, bf_text_item_in);
}

/* -------------------------------------------------------------------- filters */

extern Datum bf_in(PG_FUNCTION_ARGS);
extern Datum sbf_in(PG_FUNCTION_ARGS);
extern Datum ibf_in(PG_FUNCTION_ARGS);
extern Datum tbf_in(PG_FUNCTION_ARGS);
extern Datum abf_in(PG_FUNCTION_ARGS);

void
refuse_filter_as_item(Oid type)
{
	static const struct
	{
		PGFunction	input;
		const char *hint;
	}			filters[] = {
		{bf_in, "Use | to unite two filters, and bf_union_agg() for those of many rows."},
		{sbf_in, "Use | to unite two filters, and sbf_union_agg() for those of many rows."},
		{ibf_in, "Use | to unite two filters, and ibf_union_agg() for those of many rows."},
		{abf_in, "Use | to unite two filters for a window of time, and abf_union_agg() for those of many rows."},
		{tbf_in, "Use + to merge two filters, and tbf_merge_agg() for those of many rows."},
	};

	for (int i = 0; i < lengthof(filters); i++)
		if (has_input_function(type, filters[i].input))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("a filter of type %s cannot be an item", format_type_be(type)),
					 errhint("%s", filters[i].hint)));
}

bool
is_tbf(Oid type)
{
	return has_input_function(type, tbf_in);
}
