/*
 * abf_ask.c: looks items up in an abf, and shows what is in it.
 */
#include "abf/abf.h"

#include "common/int.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/call.h"
#include "base/slices.h"
#include "base/times.h"
#include "base/value.h"

/* -------------------------------------------------------------------- asking */

/* abf_contains(abf, "any"), abf_contained("any", abf): asked as of the filter's newest item */
SB_CONTAINS(abf, SB_LOOKUP_ABF)

/* Makes the look-up ask which items the filter remembers at this time. */
static void
ask_as_of(sb_lookup *lookup, TimestampTz at)
{
	abf_must_be_by_time(&lookup->header.abf);
	abf_check_time(at);
	sb_lookup_abf_at(lookup, at);
}

/* abf_contains(abf, "any", at) */
SB_FUNCTION_OF_SLICES(abf_contains_at, SB_LOOKUP_ABF, 0)
{
	ItemHasher *hasher = item_hasher_for_argument(fcinfo, 1);
	Datum		value = PG_GETARG_DATUM(0);
	sb_lookup	lookup;

	look_up_open(&lookup, SB_LOOKUP_ABF, hasher, value);
	ask_as_of(&lookup, PG_GETARG_TIMESTAMPTZ(2));
	look_up_item(&lookup, hasher, value, PG_GETARG_DATUM(1));
	PG_RETURN_BOOL(lookup.found);
}

/*
 * If `answer` is true, returns whether one of the elements of argument 1 is found, else whether one of them is not
 * found. They are looked up as of the time in argument 2; if this time is NULL, as of the filter's newest item. The
 * block with an item's bits may lie in two TOAST chunks. So each look-up counts as two slices of the stored value:
 * parts as in slices.h, not the slices of abf.h.
 */
static bool
search_elements(FunctionCallInfo fcinfo, bool answer)
{
	Datum		value = PG_GETARG_DATUM(0);
	Elements	items;
	sb_lookup	lookup;
	Datum		item;

	elements_open(&items, fcinfo, 1, SB_LOOKUP_ABF);
	if (!slices_are_cheaper(value, items.count, 2))
		value = PointerGetDatum(detoast(value));
	look_up_open(&lookup, SB_LOOKUP_ABF, items.hasher, value);
	if (!PG_ARGISNULL(2))
		ask_as_of(&lookup, PG_GETARG_TIMESTAMPTZ(2));
	while (next_item(&items, &item))
	{
		look_up_item(&lookup, items.hasher, value, item);
		if (lookup.found == answer)
			return true;
	}
	return false;
}

/* abf_contains_any(abf, anyarray, at), abf_contains_all(): NULL if the filter or the array is NULL */
static Datum
contains_elements(FunctionCallInfo fcinfo, bool answer)
{
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	PG_RETURN_BOOL(search_elements(fcinfo, answer) == answer);
}

SB_FUNCTION_IN_OWN_MEMORY(abf_contains_any)
{
	return contains_elements(fcinfo, true);
}

SB_FUNCTION_IN_OWN_MEMORY(abf_contains_all)
{
	return contains_elements(fcinfo, false);
}

/* --------------------------------------------------------------- looking inside */

/* The time at which a generation begins; infinite if no timestamp is so far away. */
static Datum
begin_of(const sb_abf *header, int64 generation)
{
	TimestampTz begin;

	/* The product overflows if a slice began more than 2^63 microseconds before 2000, as with a very long window. */
	if (pg_mul_s64_overflow(generation, sb_abf_length(header), &begin) || !IS_VALID_TIMESTAMP(begin))
		begin = generation < 0 ? DT_NOBEGIN : DT_NOEND;
	return TimestampTzGetDatum(begin);
}

/* The share of set bits in the slices that get no more items, unless items come late. */
static double
fill_of(const sb_abf *header, const uint64_t *set)
{
	double		sum = 0;

	for (int age = header->hash_count; age < sb_abf_slices(header); age++)
		sum += set[age];
	return sum / ((double) sb_abf_bits(header) * header->generations);
}

SB_FUNCTION_IN_OWN_MEMORY(abf_info)
{
	AbfValue	abf;
	const sb_abf *header = &abf.header;
	uint64_t	set[SB_ABF_MAX_SLICES];
	enum
	{
		item_kind, rate, hashes, generations, window_items, within, expected_items, generation_items, generation_length,
		slice_bits, bytes, items, newest, fill, current_rate, cardinality, columns
	};
	Datum		values[columns] = {0};
	bool		nulls[columns] = {false};

	abf_open(PG_GETARG_DATUM(0), &abf);
	must_finish(sb_abf_count(header, abf.slices, set));
	values[item_kind] = CStringGetTextDatum(item_kind_text(&header->kind));
	values[rate] = Float8GetDatum(header->fpr);
	values[hashes] = Int32GetDatum(header->hash_count);
	values[generations] = Int32GetDatum(header->generations);
	nulls[window_items] = nulls[generation_items] = header->by_time;
	nulls[within] = nulls[generation_length] = !header->by_time;
	nulls[newest] = !header->by_time || header->items == 0;
	if (header->by_time)
	{
		values[within] = interval_of(header->window);
		values[generation_length] = interval_of(sb_abf_length(header));
		values[newest] = begin_of(header, header->generation);
	}
	else
	{
		values[window_items] = Int64GetDatum(header->window);
		values[generation_items] = Int64GetDatum(sb_abf_length(header));
	}
	values[expected_items] = Int64GetDatum(header->expected);
	values[slice_bits] = Int64GetDatum(sb_abf_bits(header));
	values[bytes] = Int64GetDatum(sb_abf_size(header));
	values[items] = Int64GetDatum(header->items);
	values[fill] = Float8GetDatum(fill_of(header, set));
	values[current_rate] = Float8GetDatum(abf_current_rate(header, set));
	values[cardinality] = Float8GetDatum(sb_abf_cardinality(header, set));
	return row_result(fcinfo, values, nulls, columns);
}

/* Returns a row for each slice, the newest slice first. */
SB_FUNCTION_IN_OWN_MEMORY(abf_histogram)
{
	ReturnSetInfo *set_info = (ReturnSetInfo *) fcinfo->resultinfo;
	AbfValue	abf;
	uint64_t	set[SB_ABF_MAX_SLICES];

	begin_rows(fcinfo);
	abf_open(PG_GETARG_DATUM(0), &abf);
	must_finish(sb_abf_count(&abf.header, abf.slices, set));
	for (int age = 0; age < sb_abf_slices(&abf.header); age++)
	{
		const bool	timed = abf.header.by_time && abf.header.items != 0;
		Datum		values[4] = {
			Int32GetDatum(age),
			timed ? begin_of(&abf.header, abf.header.generation - age) : (Datum) 0,
			Int64GetDatum(set[age]),
			Float8GetDatum((double) set[age] / sb_abf_bits(&abf.header)),
		};
		bool		nulls[4] = {false, !timed, false, false};

		tuplestore_putvalues(set_info->setResult, set_info->setDesc, values, nulls);
	}
	return (Datum) 0;
}

#define SKETCH_BARS 16

SB_FUNCTION_IN_OWN_MEMORY(abf_sketch)
{
	AbfValue	abf;
	const sb_abf *header = &abf.header;
	uint64_t	set[SB_ABF_MAX_SLICES];
	double		heights[SKETCH_BARS] = {0};
	const char *window;
	int			slices;
	int			bars;

	abf_open(PG_GETARG_DATUM(0), &abf);
	must_finish(sb_abf_count(header, abf.slices, set));
	slices = sb_abf_slices(header);
	bars = Min(slices, SKETCH_BARS);
	/* the oldest slice comes first, so that time runs from left to right */
	for (int age = 0; age < slices; age++)
		heights[(slices - 1 - age) * bars / slices] += set[age];
	window = header->by_time ?
		psprintf("within %s", interval_text(DatumGetIntervalP(interval_of(header->window)))) :
		psprintf("last " INT64_FORMAT, header->window);
	return text_result(psprintf("abf of %s, %s: " INT64_FORMAT " items came, about %.0f in it, fill %.1f%%, current fpr %.2g |%s|",
								item_kind_text(&header->kind), window, (int64) header->items,
								sb_abf_cardinality(header, set),
								100 * fill_of(header, set), abf_current_rate(header, set), sketch_bars(heights, bars)));
}
