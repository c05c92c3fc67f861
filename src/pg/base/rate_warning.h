/*
 * rate_warning.h: the warning that a filter's false-positive rate is more than twice the rate asked for, raised by
 * whatever writes such a filter: unions, merges, aggregates, and functions that add items. All types share it, so
 * that a statement raises it once.
 */
#ifndef STREAMBLOOM_PG_RATE_WARNING_H
#define STREAMBLOOM_PG_RATE_WARNING_H

#include "base/compat.h"

/*
 * May the warning still be raised? It is shown at most once in a statement of the client, and never raised in a
 * parallel worker: the leader knows the rate of what it makes of the workers' parts. Where neither the client nor the
 * server's log takes warnings it is not due. Who has to compute rates for it asks this first.
 */
extern bool rate_warning_is_due(void);

/* A rate above this one is warned of. */
static inline double
highest_rate(double asked)
{
	return 2 * asked;
}

/*
 * Raise the warning (SQLSTATE 01000); the hint says what to write instead. The first one is for what unites
 * filters, and `action` is what was done: "union". The second one is for what adds items. REQUIRES: it is due.
 */
extern void warn_of_rate(const char *type, const char *action, double current, double asked, const char *hint);
extern void warn_of_full(const char *type, double current, double asked, const char *hint);

#endif
