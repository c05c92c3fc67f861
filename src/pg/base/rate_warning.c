/*
 * rate_warning.c: see rate_warning.h.
 */
#include "base/rate_warning.h"

#include "access/parallel.h"
#include "access/xact.h"

/* When the statement began that was the last one to raise the warning. No statement begins in infinity. */
static TimestampTz warned_in = DT_NOBEGIN;

bool
rate_warning_is_due(void)
{
	return warned_in != GetCurrentStatementStartTimestamp() && !IsParallelWorker();
}

void
warn_of_rate(const char *type, const char *action, double current, double asked, const char *hint)
{
	warned_in = GetCurrentStatementStartTimestamp();
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("this %s of %s filters has a false-positive rate of %.2g, but %g was asked for", action, type, current, asked),
			 errhint("%s", hint)));
}
