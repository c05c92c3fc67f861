/*
 * rate_warning.h: the warning that a filter's false-positive rate is more than twice the rate asked for. It is raised
 * for bf, tbf and abf, by unions, merges, aggregates and functions that add items. The types share it, so that the
 * client sees it once in a statement, whatever the types (rate_warning_is_due() says when it sees more).
 */
#ifndef STREAMBLOOM_PG_RATE_WARNING_H
#define STREAMBLOOM_PG_RATE_WARNING_H

#include "base/compat.h"

/*
 * May the warning still be raised? Each process shows it at most once in a statement of the client, so the client may
 * see one from the leader and one from each parallel worker. If a worker calls a function that makes a filter, or the
 * final function of an aggregate, the worker must raise the warning, because the leader never looks at that filter. (If
 * a worker computes only a part of an aggregate, it does not call the final function, and raises nothing.) The warning
 * is not raised if neither the client nor the server's log takes warnings. Call this function before you compute a rate
 * for the warning.
 */
extern bool rate_warning_is_due(void);

/* The warning is raised for rates above this one. */
static inline double
highest_rate(double asked)
{
	return 2 * asked;
}

/*
 * Raise the warning (SQLSTATE 01000); the hint says what to write instead. The first function is for filters that
 * were united or merged; `action` names what was done, for example "union". The second one is for filters to which
 * items were added. REQUIRES: rate_warning_is_due().
 */
extern void warn_of_rate(const char *type, const char *action, double current, double asked, const char *hint);
extern void warn_of_full(const char *type, double current, double asked, const char *hint);

#endif
