/*
 * times.h: intervals and times as the core takes them: microseconds, and microseconds since 2000-01-01 00:00 UTC.
 */
#ifndef STREAMBLOOM_PG_TIMES_H
#define STREAMBLOOM_PG_TIMES_H

#include "base/compat.h"

#include "datatype/timestamp.h"

/*
 * The longest interval, 36,500 years; the same number of microseconds before and after 2000 are the first and the
 * last time.
 */
#define MOST_MICROSECONDS (INT64CONST(1) << 60)

/*
 * The length of an interval in microseconds, from 1 to MOST_MICROSECONDS. Raises an error if the length is out of this
 * range, with `hint`, and if the interval has months, because their length varies. The message calls the interval
 * `name`, for example "half-life".
 */
extern int64 interval_microseconds(const Interval *interval, const char *name, const char *hint);

/* An interval as the settings of the session write it. */
extern char *interval_text(const Interval *interval);

/* Microseconds as an interval. It has days, and the rest in microseconds. */
extern Datum interval_of(int64 microseconds);

/*
 * Raises an error unless the time is finite, and at most MOST_MICROSECONDS away from 2000: "times of a tbf must be
 * ...".
 */
extern void check_time(const char *filter, TimestampTz at);

#endif
