/*
 * tbf_top.c: tbf_top(), which shows the list of hot items of a tbf. sb_tbf.h says what the list guarantees.
 */
#include "tbf/tbf.h"

#include <math.h>

#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/call.h"
#include "base/expanded.h"
#include "base/item.h"
#include "base/slices.h"
#include "base/value.h"

/*
 * Returns the stored text of an item in the encoding of this database. The value may come from a database with
 * another encoding, or be forged; raises an error if the text is not valid.
 */
static Datum
text_of(const sb_kind *kind, const sb_top_item *item)
{
	char	   *copy = pnstrdup((const char *) item->bytes, item->length);
	bool		text = kind->code == SB_KIND_TEXT || kind->code == SB_KIND_CHARACTER;
	int			encoding = text &&
		PG_VALID_BE_ENCODING((int) kind->detail) ? (int) kind->detail : GetDatabaseEncoding();

	/* text must not contain zero bytes, and pnstrdup() stops at the first one */
	if (strlen(copy) != item->length)
		value_refuse("tbf", SB_BAD_LIST);
	return CStringGetTextDatum(pg_any_to_server(copy, item->length, encoding));
}

/*
 * A look-up in a tbf reads a whole block of counters. That takes as long as reading this many slices (pieces of a value
 * that is stored out of line) for a look-up in a filter of another type.
 */
#define SLICES_OF_BLOCK 8

/* tbf_top(tbf, k [, at]): item, hits_from, hits_to */
SB_FUNCTION_IN_OWN_MEMORY(tbf_top)
{
	Datum		value = PG_GETARG_DATUM(0);
	int32		wanted = PG_GETARG_INT32(1);
	TimestampTz at = tbf_time_argument(fcinfo, 2);
	ReturnSetInfo *set = (ReturnSetInfo *) fcinfo->resultinfo;
	sb_lookup	opened;
	sb_lookup	list;
	const sb_tbf *header = &opened.header.tbf;
	sb_top_item *items;

	if (expanded_filter(value) == NULL && !slices_are_cheaper(value, wanted, SLICES_OF_BLOCK))
		value = PointerGetDatum(detoast(value));
	look_up_open(&opened, SB_LOOKUP_TBF, NULL, value);
	if (header->top == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the filter keeps no list of hot items"),
				 errdetail("Only a filter that was made with top keeps a list. It loses the list when a filter without one is merged into it."),
				 errhint("Build it with tbf_agg_like(item, at, tbf_empty(top => 100)).")));
	if (wanted < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of items %d is out of range", wanted),
				 errdetail("It must not be negative."),
				 errhint("The list has at most as many items as the filter's top. To get all of them, give a large number.")));
	if (header->half_life != 0)
		tbf_check_time(at);
	items = palloc(header->top * sizeof *items);
	list = opened;
	look_up_finish(&list, NULL, value, sb_lookup_top(&list, items));

	begin_rows(fcinfo);
	for (uint32_t i = 0; i < list.listed && i < (uint32_t) wanted; i++)
	{
		sb_lookup	counters = opened;
		Datum		values[3];
		bool		nulls[3] = {false};
		double		from;
		double		to;

		look_up_finish(&counters, NULL, value, sb_lookup_item(&counters, items[i].hash));
		sb_lookup_top_hits(&list, &items[i], counters.units, at, &from, &to);
		if (isinf(to))
			tbf_refuse_count(at);
		values[0] = text_of(&header->kind, &items[i]);
		values[1] = Float8GetDatum(from);
		values[2] = Float8GetDatum(to);
		tuplestore_putvalues(set->setResult, set->setDesc, values, nulls);
	}
	return (Datum) 0;
}
