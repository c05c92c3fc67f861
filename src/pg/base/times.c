/*
 * times.c: see times.h.
 */
#include "base/times.h"

#include "access/xact.h"
#include "common/int.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

char *
interval_text(const Interval *interval)
{
	return DatumGetCString(DirectFunctionCall1(interval_out, IntervalPGetDatum(interval)));
}

int64
interval_microseconds(const Interval *interval, const char *name, const char *hint)
{
	int64		days;
	int64		sum;
	bool		infinite = sb_interval_infinity(interval) != 0;

	if (interval->month != 0 && !infinite)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s \"%s\" is given in months or years", name, interval_text(interval)),
				 errdetail("They do not always have the same length."),
				 errhint("Give it in days, hours or seconds, for example interval '30 days'.")));
	if (infinite || pg_mul_s64_overflow(interval->day, USECS_PER_DAY, &days) ||
		pg_add_s64_overflow(days, interval->time, &sum) || sum < 1 || sum > MOST_MICROSECONDS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s \"%s\" is out of range", name, interval_text(interval)),
				 errdetail("It must be at least one microsecond and at most 36,500 years."),
				 errhint("%s", hint)));
	return sum;
}

void
notice_if_short(const Interval *interval, int64 microseconds, const char *name)
{
	static TimestampTz said_in = DT_NOBEGIN;

	if (microseconds >= USECS_PER_MINUTE || said_in == GetCurrentStatementStartTimestamp())
		return;
	said_in = GetCurrentStatementStartTimestamp();
	ereport(NOTICE,
			(errmsg("the %s \"%s\" is shorter than a minute", name, interval_text(interval)),
			 errhint("A number without a unit means seconds. For another unit write it, as in '7 days'.")));
}

Datum
interval_of(int64 microseconds)
{
	Interval   *interval = palloc0(sizeof(Interval));

	interval->day = (int32) (microseconds / USECS_PER_DAY);
	interval->time = microseconds % USECS_PER_DAY;
	return IntervalPGetDatum(interval);
}

void
check_time(const char *filter, TimestampTz at)
{
	if (at < -MOST_MICROSECONDS || at > MOST_MICROSECONDS)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("time \"%s\" is out of range", timestamptz_to_str(at)),
				 errdetail("Times of %s must be finite, and within 36,500 years of 2000-01-01.", filter),
				 errhint("Leave such rows out, or give them a time with CASE or coalesce().")));
}
