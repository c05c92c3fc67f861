/*
 * partitions_in_use.c: refuses commands that would change partitions of a running query of the same session, although
 * the query does not have these partitions open (see partitions_in_use.h).
 *
 * PostgreSQL refuses TRUNCATE, DROP TABLE, ALTER TABLE, CLUSTER and CREATE INDEX if a query of the same session has
 * the table open (CheckTableNotInUse()). Locks cannot prevent such a command, because a session does not wait for its
 * own locks. An Append has all its partitions open. A PartitionScan has a partition open only while the node reads the
 * partition, and a ChunkSkip does not open the partitions that it leaves out. Two hooks make up for this:
 *
 * - ProcessUtility_hook opens the partitions that ALTER TABLE, CLUSTER or CREATE INDEX may reach, as long as the
 *   command runs. So PostgreSQL itself decides, and refuses what it would refuse if an Append had them open. (A table
 *   that the command reaches by a foreign key is not opened. It can only lose the constraint, but no row.)
 * - object_access_hook is called before a table is truncated or dropped, also by DROP SCHEMA, DROP OWNED or an
 *   extension's function, and after any command has rewritten a table. If the table is one of these partitions, the
 *   hook raises the error that PostgreSQL would raise.
 */
#include "chunks/partitions_in_use.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "lib/ilist.h"
#include "tcop/utility.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/resowner.h"

/* The partitions of a node that runs. Lies in the memory of its execution. */
typedef struct PartitionsInUse
{
	dlist_node	node;
	bool		listed;			/* it is in all_in_use */
	ResourceOwner owner;		/* when it is released, PostgreSQL closes the tables of the execution */
	MemoryContextCallback end;
	const Oid  *partitions;
	int			count;
} PartitionsInUse;

static dlist_head all_in_use = DLIST_STATIC_INIT(all_in_use);

static object_access_hook_type previous_object_access;
static ProcessUtility_hook_type previous_utility;

static void
remove_from_list(PartitionsInUse *in_use)
{
	if (in_use->listed)
		dlist_delete(&in_use->node);
	in_use->listed = false;
}

/* PostgreSQL calls this when the memory of the execution is freed: when the execution ends, or after an error. */
static void
end(void *in_use)
{
	remove_from_list(in_use);
}

/*
 * PostgreSQL calls this when a resource owner, CurrentResourceOwner, is released. After an error that was caught, the
 * tables of an execution are closed at that moment. The memory of the execution may be freed much later: PL/pgSQL keeps
 * that of an SQL function, called in a simple expression, until the transaction ends.
 */
static void
end_with_resources(ResourceReleasePhase phase, bool is_commit, bool is_top_level, void *nothing)
{
	dlist_mutable_iter iter;

	(void) is_commit;
	(void) is_top_level;
	(void) nothing;
	if (phase != RESOURCE_RELEASE_BEFORE_LOCKS || dlist_is_empty(&all_in_use))
		return;
	dlist_foreach_modify(iter, &all_in_use)
	{
		PartitionsInUse *in_use = dlist_container(PartitionsInUse, node, iter.cur);

		if (in_use->owner == CurrentResourceOwner)
			remove_from_list(in_use);
	}
}

void
partitions_in_use_begin(MemoryContext execution, const Oid *partitions, int count)
{
	PartitionsInUse *in_use = MemoryContextAllocZero(execution, sizeof(PartitionsInUse));

	in_use->partitions = partitions;
	in_use->count = count;
	in_use->owner = CurrentResourceOwner;
	in_use->end.func = end;
	in_use->end.arg = in_use;
	in_use->listed = true;
	dlist_push_head(&all_in_use, &in_use->node);
	MemoryContextRegisterResetCallback(execution, &in_use->end);
}

/* Is the relation in the list of a node that runs? (The list of a PartitionScan may have partitioned tables too.) */
static bool
is_in_use(Oid relation)
{
	dlist_iter	iter;

	dlist_foreach(iter, &all_in_use)
	{
		const PartitionsInUse *in_use = dlist_container(PartitionsInUse, node, iter.cur);

		for (int i = 0; i < in_use->count; i++)
			if (in_use->partitions[i] == relation)
				return true;
	}
	return false;
}

/* --------------------------------------------------------------- before and after changes */

/* Raises an error if the relation is a partition of a node that runs. */
static void
require_not_in_use(Oid relation, const char *command)
{
	if (is_in_use(relation))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot %s \"%s\" because it is being used by active queries in this session", command,
						get_rel_name(relation))));
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
	/*
	 * PostgreSQL says that the change of a table is internal if the table was rewritten. (It does not say so if ALTER
	 * TABLE has also moved the table to another tablespace. There run_command() has the command refused.)
	 */
	else if (access == OAT_POST_ALTER && ((ObjectAccessPostAlter *) argument)->is_internal)
		require_not_in_use(object, "rewrite");
}

/* ------------------------------------------------------------------------ commands */

/*
 * Returns the table that is named by ALTER TABLE, CREATE INDEX or CLUSTER (from PostgreSQL 19 on, REPACK too). Returns
 * NULL for other commands, and for a CLUSTER or REPACK of all tables. TRUNCATE and DROP are left to check_access().
 */
static const RangeVar *
table_of(const Node *command)
{
	switch (nodeTag(command))
	{
		case T_AlterTableStmt:
			return ((const AlterTableStmt *) command)->relation;
		case T_IndexStmt:
			return ((const IndexStmt *) command)->relation;
#if PG_VERSION_NUM >= 190000
		case T_RepackStmt:
			return ((const RepackStmt *) command)->relation != NULL ?
				((const RepackStmt *) command)->relation->relation : NULL;
#else
		case T_ClusterStmt:
			return ((const ClusterStmt *) command)->relation;
#endif
		default:
			return NULL;
	}
}

/* Opens the table and its partitions, as far as they are in use by nodes that run. Returns the Relations. */
static List *
open_partitions(const RangeVar *table)
{
	Oid			oid = table != NULL ? RangeVarGetRelid(table, NoLock, true) : InvalidOid;
	List	   *opened = NIL;
	ListCell   *cell;

	if (!OidIsValid(oid))
		return NIL;
	foreach(cell, find_all_inheritors(oid, NoLock, NULL))
		if (is_in_use(lfirst_oid(cell)))
			opened = lappend(opened, relation_open(lfirst_oid(cell), AccessShareLock));
	return opened;
}

static void
run_command(PlannedStmt *statement, const char *query_string, bool read_only_tree, ProcessUtilityContext context,
			ParamListInfo parameters, QueryEnvironment *environment, DestReceiver *receiver,
			QueryCompletion *completion)
{
	/* If the command raises an error, PostgreSQL closes the partitions when the transaction or subtransaction ends. */
	List	   *opened = dlist_is_empty(&all_in_use) ? NIL : open_partitions(table_of(statement->utilityStmt));
	ListCell   *cell;

	if (previous_utility)
		previous_utility(statement, query_string, read_only_tree, context, parameters, environment, receiver,
						 completion);
	else
		standard_ProcessUtility(statement, query_string, read_only_tree, context, parameters, environment, receiver,
								completion);
	foreach(cell, opened)
		relation_close(lfirst(cell), AccessShareLock);
}

void
partitions_in_use_init(void)
{
	previous_object_access = object_access_hook;
	object_access_hook = check_access;
	previous_utility = ProcessUtility_hook;
	ProcessUtility_hook = run_command;
	RegisterResourceReleaseCallback(end_with_resources, NULL);
}
