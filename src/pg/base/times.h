/*
 * times.h: converts intervals to the form that the core takes, and back, and checks intervals and times. To the core an
 * interval is a number of microseconds, a time the number of microseconds since 2000-01-01 00:00 UTC.
 */
#ifndef STREAMBLOOM_PG_TIMES_H
#define STREAMBLOOM_PG_TIMES_H

#include "base/compat.h"

#include "datatype/timestamp.h"

/* The longest interval, about 36,500 years. A time may be at most this far before or after 2000-01-01, too. */
#define MOST_MICROSECONDS (INT64CONST(1) << 60)

/*
 * Returns the length of an interval in microseconds, from 1 to MOST_MICROSECONDS. Raises an error with `hint` if the
 * length is out of this range. Also raises an error if the interval has months, because their length varies. The
 * message calls the interval `name`, for example "half-life".
 */
extern int64 interval_microseconds(const Interval *interval, const char *name, const char *hint);

/*
 * Raises a notice if an interval of so many microseconds is shorter than a minute: one that was written as '7' is 7
 * seconds, which the user hardly wanted. `name` is the word for it, as above. Each process raises one such notice in a
 * statement at most; with parallel workers, one of them may be the only process that sees the interval.
 */
extern void notice_if_short(const Interval *interval, int64 microseconds, const char *name);

/* Returns an interval as text, in the session's IntervalStyle. */
extern char *interval_text(const Interval *interval);

/* Makes an interval of so many microseconds. It consists of days and microseconds. */
extern Datum interval_of(int64 microseconds);

/*
 * Raises an error unless the time is finite and at most MOST_MICROSECONDS away from 2000. `filter` is the name of the
 * type with its article ("a tbf"), for the error's detail.
 */
extern void check_time(const char *filter, TimestampTz at);

#endif
