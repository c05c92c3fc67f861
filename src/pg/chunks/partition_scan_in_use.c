/*
 * partition_scan_in_use.c: refuses commands of the own session that would take the rows of a partition away while a
 * PartitionScan runs.
 *
 * PostgreSQL refuses TRUNCATE, DROP TABLE and commands that rewrite a table if a query of the own session has the table
 * open, since no lock keeps a session from its own tables (CheckTableNotInUse()). An Append has all its partitions
 * open. A PartitionScan opens a partition only while it reads it. So object_access_hook, which is called before a table
 * is truncated or dropped, and after it was rewritten, raises the same error for partitions of a node that runs.
 */
#include "chunks/partition_scan.h"

#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "lib/ilist.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* The partitions of a node that runs. Lies in the memory of its execution. */
typedef struct InUse
{
	dlist_node	node;
	MemoryContextCallback end;
	const Oid  *partitions;
	int			count;
} InUse;

static dlist_head all_in_use = DLIST_STATIC_INIT(all_in_use);

static object_access_hook_type previous_object_access;

/* Is called when the memory of the execution is freed: at its end, or after an error. */
static void
end(void *in_use)
{
	dlist_delete(&((InUse *) in_use)->node);
}

void
partition_scan_use_partitions(MemoryContext execution, const Oid *partitions, int count)
{
	InUse	   *in_use = MemoryContextAllocZero(execution, sizeof(InUse));

	in_use->partitions = partitions;
	in_use->count = count;
	in_use->end.func = end;
	in_use->end.arg = in_use;
	dlist_push_head(&all_in_use, &in_use->node);
	MemoryContextRegisterResetCallback(execution, &in_use->end);
}

/* Raises an error if the relation is a partition of a node that runs. */
static void
require_not_in_use(Oid relation, const char *command)
{
	dlist_iter	iter;

	dlist_foreach(iter, &all_in_use)
	{
		const InUse *in_use = dlist_container(InUse, node, iter.cur);

		for (int i = 0; i < in_use->count; i++)
			if (in_use->partitions[i] == relation)
				ereport(ERROR,
						(errcode(ERRCODE_OBJECT_IN_USE),
						 errmsg("cannot %s \"%s\" because it is being used by active queries in this session", command,
								get_rel_name(relation))));
	}
}

static void
check_access(ObjectAccessType access, Oid class, Oid object, int column, void *argument)
{
	if (previous_object_access)
		previous_object_access(access, class, object, column, argument);
	if (dlist_is_empty(&all_in_use) || class != RelationRelationId || column != 0)
		return;
	if (access == OAT_TRUNCATE)
		require_not_in_use(object, "TRUNCATE");
	else if (access == OAT_DROP)
		require_not_in_use(object, "DROP TABLE");
	/* The change of a table is `internal` if the table was rewritten. */
	else if (access == OAT_POST_ALTER && ((ObjectAccessPostAlter *) argument)->is_internal)
		require_not_in_use(object, "rewrite");
}

void
partition_scan_in_use_init(void)
{
	previous_object_access = object_access_hook;
	object_access_hook = check_access;
}
