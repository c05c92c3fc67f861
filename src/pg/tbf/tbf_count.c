/*
 * tbf_count.c: questions to a tbf about an item: how many hits, at what rate, is it there?
 */
#include "tbf/tbf.h"

#include <math.h>

#include "utils/timestamp.h"

#include "base/call.h"
#include "base/item.h"
#include "base/slices.h"
#include "base/value.h"

/*
 * Of a stored value the header is read together with what lies in the same TOAST chunk: mostly the whole directory of
 * blocks.
 */
#define FIRST_SLICE 1900

uint64_t
tbf_item_units(Datum value, ItemHasher *hasher, Datum item, sb_tbf *header)
{
	size_t		size = value_size(value);
	size_t		first = Min(size, FIRST_SLICE);
	const char *head = cached_slice(hasher, value, 0, first);
	sb_status	status = sb_tbf_decode_header(head, first, size, header);
	uint64_t	hash;
	uint32_t	block;
	const void *directory;
	const void *cells;
	size_t		offset;
	size_t		length;
	uint64_t	units = 0;

	if (status != SB_OK)
		value_refuse("tbf", status);
	hash = item_hash_for(hasher, item, &header->kind);
	if (header->kind.code == SB_KIND_NONE)
		return 0;
	block = sb_tbf_block(header, hash);
	sb_tbf_directory_range(header, block, &offset, &length);
	directory = offset + length <= first ? head + offset : cached_slice(hasher, value, offset, length);
	status = sb_tbf_block_range(header, block, directory, &offset, &length);
	if (status == SB_OK)
	{
		cells = offset + length <= first ? head + offset : cached_slice(hasher, value, offset, length);
		status = sb_tbf_block_min(header, cells, length, hash, &units);
	}
	if (status != SB_OK)
		value_refuse("tbf", status);

	/* an item with a zero among its counters cannot be in the table */
	if (units != 0 && sb_tbf_entries(header) != 0)
		(void) tbf_moved_find(value, header, hash, &units);
	return units;
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
count_at(Datum value, ItemHasher *hasher, Datum item, TimestampTz at, sb_tbf *header)
{
	uint64_t	units = tbf_item_units(value, hasher, item, header);
	double		count;

	if (header->half_life != 0)
		tbf_check_time(at);
	count = sb_tbf_count(header, units, at);
	if (isinf(count))
		tbf_refuse_count(at);
	return count;
}

/* tbf_count(tbf, "any" [, at]), tbf -> item */
SB_FUNCTION_OF_SLICES(tbf_count, 0)
{
	sb_tbf		header;

	PG_RETURN_FLOAT8(count_at(PG_GETARG_DATUM(0), item_hasher_for_argument(fcinfo, 1), PG_GETARG_DATUM(1),
							  tbf_time_argument(fcinfo, 2), &header));
}

/* tbf_rate(tbf, "any" [, at]): (1 - lambda) times the count, hits an epoch (Cheng et al., eq. 4) */
SB_FUNCTION_OF_SLICES(tbf_rate, 0)
{
	sb_tbf		header;
	double		count = count_at(PG_GETARG_DATUM(0), item_hasher_for_argument(fcinfo, 1), PG_GETARG_DATUM(1),
								 tbf_time_argument(fcinfo, 2), &header);

	if (header.half_life == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a tbf without a half-life has no rate"),
				 errhint("Divide tbf_count() by the time that the filter covers.")));
	PG_RETURN_FLOAT8((1 - sb_tbf_decay_factor(&header)) * count);
}

SB_FUNCTION_OF_SLICES(tbf_contains, 0)
{
	sb_tbf		header;

	PG_RETURN_BOOL(tbf_item_units(PG_GETARG_DATUM(0), item_hasher_for_argument(fcinfo, 1), PG_GETARG_DATUM(1),
							  &header) > 0);
}

/* tbf_contained("any", tbf) */
SB_FUNCTION_OF_SLICES(tbf_contained, 1)
{
	sb_tbf		header;

	PG_RETURN_BOOL(tbf_item_units(PG_GETARG_DATUM(1), item_hasher_for_argument(fcinfo, 0), PG_GETARG_DATUM(0),
							  &header) > 0);
}
