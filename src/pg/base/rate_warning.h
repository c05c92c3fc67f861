/*
 * rate_warning.h: the warning that a union or a merge has lifted a filter's false-positive rate to more than twice the rate
 * asked for. All types share it, so that a statement raises it once.
 */
#ifndef STREAMBLOOM_PG_RATE_WARNING_H
#define STREAMBLOOM_PG_RATE_WARNING_H

#include "base/compat.h"

/*
 * May the warning still be raised? It is shown at most once in a statement of the client, and never raised in a parallel worker:
 * the leader knows the rate of what it makes of the workers' parts. Where neither the client nor the server's log takes warnings it is
 * not due. Who has to compute rates for it asks this first.
 */
extern bool rate_warning_is_due(void);

/* A rate above this one is warned of. */
static inline double
highest_rate(double asked)
{
	return 2 * asked;
}

/* Raises the warning (SQLSTATE 01000). `action` is what was done: "union". REQUIRES: it is due. */
extern void warn_of_rate(const char *type, const char *action, double current, double asked, const char *hint);

#endif
