/*
 * rate_warning.c: see rate_warning.h.
 */
#include "base/rate_warning.h"

#include "access/xact.h"
#include "utils/elog.h"
#include "utils/guc.h"

/*
 * The start time of the last statement that raised the warning, and of the last one that raised it so that the client
 * could see it. DT_NOBEGIN is the start of no statement.
 */
static TimestampTz raised_in = DT_NOBEGIN;
static TimestampTz shown_in = DT_NOBEGIN;

/*
 * Will the client see a warning? A function may set client_min_messages to "error" for itself. A warning that it raises
 * must not count as shown.
 */
static bool
client_sees_warnings(void)
{
	return client_min_messages <= WARNING;
}

bool
rate_warning_is_due(void)
{
	const TimestampTz last = client_sees_warnings() ? shown_in : raised_in;

	return last != GetCurrentStatementStartTimestamp() && message_level_is_interesting(WARNING);
}

/* Notes that this statement has raised its warning. */
static void
note_raised(void)
{
	raised_in = GetCurrentStatementStartTimestamp();
	if (client_sees_warnings())
		shown_in = raised_in;
}

void
warn_of_rate(const char *type, const char *action, double current, double asked, const char *hint)
{
	note_raised();
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("this %s of %s filters has a false-positive rate of %.2g, but %g was asked for", action, type, current, asked),
			 errhint("%s", hint)));
}

void
warn_of_full(const char *type, double current, double asked, const char *hint)
{
	note_raised();
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("this %s has more items than it was made for: its false-positive rate is %.2g, but %g was asked for", type, current, asked),
			 errhint("%s", hint)));
}
