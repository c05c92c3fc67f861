/*
 * preload.c: whether the library was loaded when the session began (see preload.h). Otherwise the planning of the first
 * statement that uses something of the extension begins without our planner_hook (chunks/README.md).
 */
#include "base/compat.h"

#include "access/xact.h"
#include "commands/dbcommands.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/preload.h"

static bool needs_notice;
static bool at_commit;

void
preload_notice(void)
{
	if (!needs_notice)
		return;
	needs_notice = false;
	ereport(NOTICE,
			(errmsg("sessions do not load streambloom when they begin"),
			 errdetail("The first statement of such a session has no PartitionScan and no keys of joins."),
			 errhint("A superuser types once: ALTER DATABASE %s SET session_preload_libraries = 'streambloom'.",
					 quote_identifier(get_database_name(MyDatabaseId)))));
}

/* While the script of CREATE EXTENSION runs, PostgreSQL shows no notices. */
static void
notice_at_commit(XactEvent event, void *unused)
{
	if (at_commit && event == XACT_EVENT_PRE_COMMIT)
		preload_notice();
	at_commit = false;
}

void
preload_init(void)
{
	needs_notice = IsTransactionState();
	at_commit = creating_extension;
	if (at_commit)
		RegisterXactCallback(notice_at_commit, NULL);
}
