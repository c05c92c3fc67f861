/*
 * tbf_value.c: what the functions of tbf share: opens, plans and makes values, checks times, raises errors. It also has
 * the input functions of the type, its comparisons and its hash.
 */
#include "tbf/tbf.h"

#include "access/xact.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/call.h"
#include "base/slices.h"
#include "base/times.h"
#include "base/value.h"

/* ------------------------------------------------------------ opening, making */

void
tbf_open(Datum value, TbfValue *tbf)
{
	size_t		size;
	const unsigned char *data = value_open(value, &size);
	sb_status	status = sb_tbf_decode_header(data, size, size, &tbf->header);

	if (status != SB_OK)
		value_refuse("tbf", status);
	tbf->cells = data + SB_TBF_HEADER;
}

void
tbf_open_header(Datum value, sb_tbf *header)
{
	size_t		size = value_size(value);
	size_t		have = Min(size, SB_TBF_HEADER);
	sb_status	status = sb_tbf_decode_header(value_slice(value, 0, have), have, size, header);

	if (status != SB_OK)
		value_refuse("tbf", status);
}

void
tbf_refuse_size(const sb_tbf *header)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("a tbf of " UINT64_FORMAT " counters in %zu bytes would be too large",
					sb_tbf_cells(header), sb_tbf_size(header)),
			 errdetail("A filter has at most %u bytes.", SB_MAX_BYTES),
			 errhint("Expect fewer items, allow a higher rate, or build one filter for each part of the data.")));
	pg_unreachable();
}

Datum
tbf_make(const sb_tbf *header, unsigned char **cells)
{
	void	   *data;
	struct varlena *value;

	if (sb_tbf_size(header) > SB_MAX_BYTES)
		tbf_refuse_size(header);
	value = value_make(sb_tbf_size(header), &data);
	sb_tbf_encode_header(header, data);
	*cells = (unsigned char *) data + SB_TBF_HEADER;
	return PointerGetDatum(value);
}

void
tbf_must(sb_status status, const sb_tbf *header)
{
	if (status == SB_TOO_LARGE)
		tbf_refuse_size(header);
	tbf_builder_must(status);
}

Datum
tbf_fit(void *value, const sb_tbf *header)
{
	Size		size = VARHDRSZ + sb_tbf_size(header);

	value = repalloc(value, size);
	SET_VARSIZE(value, size);
	return PointerGetDatum(value);
}

void
tbf_plan(int64 items, double fpr, int64 half_life, int64 epoch, bool self_sized, sb_tbf *out)
{
	if (items < 1 && !self_sized)
		refuse_expected_items(items);
	check_fpr(fpr);
	if (sb_tbf_plan(items, fpr, half_life, epoch, self_sized, out) != SB_OK)
		refuse_size("tbf", items, fpr);
}

#define NO_DECAY_HINT "For a filter that does not decay, give NULL as the half-life."

int64
tbf_half_life(const Interval *interval)
{
	int64		half_life;

	if (interval == NULL)
		return 0;
	half_life = interval_microseconds(interval, "half-life", NO_DECAY_HINT);
	notice_if_short(interval, half_life, "half-life");
	return half_life;
}

int64
tbf_epoch(const Interval *interval, int64 half_life)
{
	if (half_life == 0)
	{
		if (interval != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("an epoch needs a half-life"),
					 errhint("A filter without a half-life does not decay, so it has no epochs.")));
		return 0;
	}
	return interval == NULL ? Max(half_life / TBF_EPOCHS_PER_HALF_LIFE, 1) : interval_microseconds(interval, "epoch", NO_DECAY_HINT);
}

void
tbf_check_time(TimestampTz at)
{
	StaticAssertStmt(SB_TBF_MAX_TIME == MOST_MICROSECONDS, "times of the core and of the extension end together");
	check_time("a tbf", at);
}

TimestampTz
tbf_time_argument(FunctionCallInfo fcinfo, int argno)
{
	return argno < PG_NARGS() ? PG_GETARG_TIMESTAMPTZ(argno) : GetCurrentTransactionStartTimestamp();
}

TimestampTz
tbf_default_not_after(void)
{
	return GetCurrentTransactionStartTimestamp() + USECS_PER_DAY;
}

void
tbf_check_not_after(TimestampTz at, TimestampTz not_after)
{
	if (at > not_after)
	{
		char	   *limit = pstrdup(timestamptz_to_str(not_after));

		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("the hit's time \"%s\" lies after the latest time allowed, \"%s\"", timestamptz_to_str(at), limit),
				 errdetail("A hit in the far future would make all others fade."),
				 errhint("Leave such rows out, or give a later time as not_after. By default it is a day after the transaction began.")));
	}
}

uint64_t
tbf_hit(const sb_moment *moment, double weight)
{
	uint64_t	hit;

	switch (sb_tbf_hit(moment, weight, &hit))
	{
		case SB_OK:
			return hit;
		case SB_OVERFLOW:
			tbf_refuse_overflow();
		default:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("weight %g is out of range", weight),
					 errdetail("A weight must be finite, and must not be negative."),
					 errhint("To take hits away, use tbf_remove() with the weight that they were added with.")));
	}
	pg_unreachable();
}

void
tbf_refuse_overflow(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("a counter of a tbf would overflow"),
			 errdetail("A single hit must weigh less than 2^33. All hits of one item within 16 half-lives may together weigh up to 2^34, and in a filter without decay up to 2^49."),
			 errhint("Count in a larger unit, for example in megabytes instead of bytes.")));
	pg_unreachable();
}

void
tbf_refuse_total(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("the total of all hits of a tbf would reach 2^51"),
			 errdetail("All hits of a filter, decayed until its newest hit, must together weigh less than 2^51, which is 2251799813685248."),
			 errhint("Count in a larger unit, for example in megabytes instead of bytes, or keep several filters.")));
	pg_unreachable();
}

/* --------------------------------------------------------------- in and out */

static sb_status
check_tbf(const void *data, size_t size)
{
	sb_tbf		header;
	sb_status	status = sb_tbf_decode_header(data, size, size, &header);

	return status == SB_OK ? sb_tbf_check(&header, (const char *) data + SB_TBF_HEADER) : status;
}

SB_VALUE_INPUTS(tbf, check_tbf)

/*
 * Returns the number of bytes of a value that are compared (ComparedBytes in value.h): all but the list of hot items,
 * whose content depends on the order of the hits. `top`, the most items that the list may have, is in the header, so it
 * is compared.
 */
static size_t
compared_size(const sb_tbf *header)
{
	sb_tbf		without_list = *header;

	if (header->top != 0)
		without_list.extra = 0;
	return sb_tbf_size(&without_list);
}

static ComparedBytes
compared_bytes(Datum value, unsigned char header[SB_TBF_HEADER])
{
	TbfValue	tbf;
	ComparedBytes bytes = {.header = header, .header_size = SB_TBF_HEADER};

	tbf_open(value, &tbf);
	bytes.rest = tbf.cells;
	bytes.rest_size = compared_size(&tbf.header) - SB_TBF_HEADER;
	if (tbf.header.top != 0)
		tbf.header.extra = 0;
	sb_tbf_encode_header(&tbf.header, header);
	return bytes;
}

static int
tbf_order(FunctionCallInfo fcinfo)
{
	sb_tbf		left_header;
	sb_tbf		right_header;
	size_t		left_size;
	size_t		right_size;
	unsigned char left_bytes[SB_TBF_HEADER];
	unsigned char right_bytes[SB_TBF_HEADER];
	ComparedBytes left;
	ComparedBytes right;

	tbf_open_header(PG_GETARG_DATUM(0), &left_header);
	tbf_open_header(PG_GETARG_DATUM(1), &right_header);
	left_size = compared_size(&left_header);
	right_size = compared_size(&right_header);
	if (left_size != right_size)
		return left_size < right_size ? -1 : 1;
	left = compared_bytes(PG_GETARG_DATUM(0), left_bytes);
	right = compared_bytes(PG_GETARG_DATUM(1), right_bytes);
	return compared_bytes_order(&left, &right);
}

static uint64_t
tbf_hash_of(Datum value)
{
	unsigned char header[SB_TBF_HEADER];
	ComparedBytes bytes = compared_bytes(value, header);

	return compared_bytes_hash(&bytes);
}

SB_VALUE_COMPARISONS(tbf, tbf_order, tbf_hash_of)
