/*
 * tbf_count.c: look-ups of an item in a tbf: its count, its rate, and whether it is there.
 */
#include "tbf/tbf.h"

#include <math.h>

#include "utils/timestamp.h"

#include "base/call.h"
#include "base/item.h"
#include "base/slices.h"

void
tbf_look_up(sb_lookup *lookup, ItemHasher *hasher, Datum value, Datum item)
{
	look_up_open(lookup, SB_LOOKUP_TBF, hasher, value);
	look_up_item(lookup, hasher, value, item);
}

void
tbf_refuse_count(TimestampTz at)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("count at \"%s\" is out of range", timestamptz_to_str(at)),
			 errdetail("The time lies more than a thousand half-lives before the filter's hits."),
			 errhint("Ask for a time at or after the hits, for example now().")));
	pg_unreachable();
}

static double
count_at(ItemHasher *hasher, Datum value, Datum item, TimestampTz at, sb_lookup *lookup)
{
	const sb_tbf *header = &lookup->header.tbf;
	double		count;

	tbf_look_up(lookup, hasher, value, item);
	if (header->half_life != 0)
		tbf_check_time(at);
	count = sb_tbf_count(header, lookup->units, at);
	if (isinf(count))
		tbf_refuse_count(at);
	return count;
}

/* tbf_count(tbf, "any" [, at]), tbf -> item */
SB_FUNCTION_OF_SLICES(tbf_count, SB_LOOKUP_TBF, 0)
{
	sb_lookup	lookup;

	PG_RETURN_FLOAT8(count_at(item_hasher_for_argument(fcinfo, 1), PG_GETARG_DATUM(0), PG_GETARG_DATUM(1),
							  tbf_time_argument(fcinfo, 2), &lookup));
}

/*
 * tbf_rate(tbf, "any" [, at]): hits per epoch. This is (1 - lambda) times the count, where lambda is the decay factor
 * of one epoch (Cheng et al., eq. 4).
 */
SB_FUNCTION_OF_SLICES(tbf_rate, SB_LOOKUP_TBF, 0)
{
	sb_lookup	lookup;
	double		count = count_at(item_hasher_for_argument(fcinfo, 1), PG_GETARG_DATUM(0), PG_GETARG_DATUM(1),
								 tbf_time_argument(fcinfo, 2), &lookup);

	if (lookup.header.tbf.half_life == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a tbf without a half-life has no rate"),
				 errhint("Divide tbf_count() by the time that the filter covers.")));
	PG_RETURN_FLOAT8((1 - sb_tbf_decay_factor(&lookup.header.tbf)) * count);
}

SB_CONTAINS(tbf, SB_LOOKUP_TBF)
