/*
 * partition_scan_statement.c: decides which tables of a statement may get the node PartitionScan, and finishes its
 * plan.
 *
 * The planner expands a partitioned table into its partitions unless `inh` is false in its range table entry, as it is
 * for ONLY. So before the planner is called, `inh` is set to false for each table that may get the node, and the entry
 * is marked. The planner then takes the table for empty, and calls the hook in which partition_scan_paths.c adds the
 * node's path. Only there is it known whether the node can and should be used. The statement is planned again from a
 * copy, without marks,
 * - if a marked table cannot or should not get the node;
 * - if the planner never asks for the paths of a marked entry, since the plan would lose all rows of this table;
 * - if a node waits for the keys of a hash join, and the finished plan has no join that gives them.
 *
 * This file also gives the planner statistics of the marked tables, and keeps for EXPLAIN why a table got no node.
 */
#include "chunks/partition_scan.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "chunks/chunk_engine.h"
#include "chunks/partitions_in_use.h"

#include <limits.h>

int			partition_scan_use = PARTITION_SCAN_OFF;
int			partition_scan_fewest = 100;

static const struct config_enum_entry uses[] = {
	{"off", PARTITION_SCAN_OFF, false},
	{"on", PARTITION_SCAN_ON, false},
	{"always", PARTITION_SCAN_ALWAYS, false},
	{"false", PARTITION_SCAN_OFF, true},
	{"no", PARTITION_SCAN_OFF, true},
	{"0", PARTITION_SCAN_OFF, true},
	{"true", PARTITION_SCAN_ON, true},
	{"yes", PARTITION_SCAN_ON, true},
	{"1", PARTITION_SCAN_ON, true},
	{NULL, 0, false}
};

static planner_hook_type previous_planner;
static get_relation_stats_hook_type previous_relation_stats;

typedef struct Refusal
{
	Oid			parent;
	const char *why;
} Refusal;

/* A statement that is being planned. It lies on the stack of plan_statement(). */
typedef struct Planning
{
	MemoryContext context;
	List	   *tables;			/* of PartitionScanTable: those that were marked */
	bool		refused;		/* one of them cannot or should not get the node */
	List	   *refusals;		/* of Refusal, for EXPLAIN */
} Planning;

/*
 * The innermost statement that is being planned. NULL if there is none, if it is not a SELECT, or if PartitionScan is
 * off.
 */
static Planning *planning = NULL;

/* ------------------------------------------------------------------------ marks */

/*
 * A mark is put into `ctename`, which PostgreSQL does not use in an entry for a table. The mark ends with the number of
 * the table in planning->tables. The planner may copy a marked entry: it puts a CTE into each place that refers to the
 * CTE. The copies have the mark, too. When the planner asks for the paths of a marked entry, partition_scan_add_path()
 * sets `inh` of this entry to true again.
 */
#define MARK "streambloom partition scan "

PartitionScanTable *
partition_scan_table_of(const RangeTblEntry *rte)
{
	if (planning == NULL || rte->rtekind != RTE_RELATION || rte->ctename == NULL ||
		strncmp(rte->ctename, MARK, strlen(MARK)) != 0)
		return NULL;
	return list_nth(planning->tables, atoi(rte->ctename + strlen(MARK)));
}

static void
note_refusal(Oid parent, const char *why)
{
	MemoryContext caller = MemoryContextSwitchTo(planning->context);
	Refusal    *refusal = palloc(sizeof(Refusal));

	refusal->parent = parent;
	refusal->why = pstrdup(why);
	ereport(DEBUG1, (errmsg_internal("no PartitionScan of \"%s\": %s", get_rel_name(parent), why)));
	planning->refusals = lappend(planning->refusals, refusal);
	MemoryContextSwitchTo(caller);
}

void
partition_scan_refuse(const PartitionScanTable *table, const char *why)
{
	planning->refused = true;
	note_refusal(table->parent, why);
}

List *
partition_scan_refusals(const PlannedStmt *statement, const Bitmapset *relids)
{
	int			relid = -1;

	while (planning != NULL && (relid = bms_next_member(relids, relid)) >= 0)
	{
		const RangeTblEntry *rte = rt_fetch(relid, statement->rtable);
		ListCell   *cell;

		foreach(cell, planning->refusals)
		{
			const Refusal *refusal = lfirst(cell);

			if (rte->rtekind == RTE_RELATION && refusal->parent == rte->relid)
				return list_make1(makeString(pstrdup(refusal->why)));
		}
	}
	return NIL;
}

/* ------------------------------------------------------------------- candidates */

/*
 * Looks in all queries of a statement for a reason why no table may get the node. If there is one, sets *why and
 * returns true.
 */
static bool
find_obstacle(Node *node, const char **why)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;
		ListCell   *cell;

		if (query->commandType != CMD_SELECT || query->utilityStmt != NULL)
			*why = "the statement changes rows";
		else if (query->rowMarks != NIL)
			*why = "the statement locks rows";
		foreach(cell, query->rtable)
		{
			const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

			if (rte->securityQuals != NIL || rte->security_barrier)
				*why = "rows may be hidden from the user";
		}
		return *why != NULL || query_tree_walker(query, find_obstacle, why, 0);
	}
	return expression_tree_walker(node, find_obstacle, why);
}

/* Is there a condition in this part of FROM and WHERE? */
static bool
has_condition(Node *node)
{
	ListCell   *cell;

	if (node == NULL)
		return false;
	if (IsA(node, JoinExpr))
		return ((JoinExpr *) node)->quals != NULL || has_condition(((JoinExpr *) node)->larg) ||
			has_condition(((JoinExpr *) node)->rarg);
	if (!IsA(node, FromExpr))
		return false;
	if (((FromExpr *) node)->quals != NULL)
		return true;
	foreach(cell, ((FromExpr *) node)->fromlist)
		if (has_condition(lfirst(cell)))
			return true;
	return false;
}

/* Returns why this table cannot get the node, or NULL. Other reasons may be found later, in partition_scan_paths.c. */
static const char *
obstacle_of_table(const RangeTblEntry *rte)
{
	Relation	parent;
	int			count;
	const char *why = NULL;

	if (rte->tablesample != NULL)
		return "TABLESAMPLE";
	parent = table_open(rte->relid, NoLock);
	count = partition_scan_use == PARTITION_SCAN_ALWAYS ? INT_MAX : partition_scan_count(parent, partition_scan_fewest);
	if (count < partition_scan_fewest)
		why = psprintf("%d partitions, fewer than streambloom.min_partition_scan_partitions", count);
	else if (!partition_scan_has_index(parent))
		why = "no bf index";
	table_close(parent, NoLock);
	return why;
}

/*
 * Adds the entries of partitioned tables that may get the node to the list `found`, and returns the list. Looks at a
 * query and at its subqueries in FROM and WITH. `has_conditions` says that an outer query has conditions, which the
 * planner may move into this query.
 *
 * Tables are left out if they are in
 * - a query that has no condition, if no outer query has one either;
 * - a member of a set operation, because the planner may turn it into a child of a relation;
 * - a recursive query in WITH;
 * - a subquery in an expression, because parallel workers could not run the subquery if it had the node.
 */
static List *
candidates(Query *query, bool has_conditions, List *found)
{
	ListCell   *cell;

	check_stack_depth();
	if (query->setOperations != NULL)
		return found;
	has_conditions |= has_condition((Node *) query->jointree) || query->havingQual != NULL;
	foreach(cell, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (rte->rtekind == RTE_SUBQUERY)
			found = candidates(rte->subquery, has_conditions, found);
		else if (rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_PARTITIONED_TABLE && rte->inh &&
				 has_conditions)
		{
			const char *why = obstacle_of_table(rte);

			if (why != NULL)
				note_refusal(rte->relid, why);
			else
				found = lappend(found, rte);
		}
	}
	foreach(cell, query->cteList)
	{
		CommonTableExpr *expression = lfirst_node(CommonTableExpr, cell);

		if (!expression->cterecursive)
			found = candidates(castNode(Query, expression->ctequery), has_conditions, found);
	}
	return found;
}

/* Marks the entries, and sees to it that the planner does not expand them. */
static void
mark(List *entries)
{
	ListCell   *cell;

	foreach(cell, entries)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);
		PartitionScanTable *table = palloc0(sizeof(PartitionScanTable));

		table->parent = rte->relid;
		planning->tables = lappend(planning->tables, table);
		rte->ctename = psprintf(MARK "%d", list_length(planning->tables) - 1);
		rte->inh = false;
	}
}

/* --------------------------------------------------------------------- finishing */

/*
 * Makes an entry of the range table for a partition. When the plan is used again, PostgreSQL locks the partition
 * because of this entry. `relkind` does not matter for this, so it says "table" for foreign tables too.
 */
static RangeTblEntry *
make_entry(Oid partition, char relkind, Alias *name)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = RTE_RELATION;
	rte->relid = partition;
	rte->relkind = relkind;
	rte->rellockmode = AccessShareLock;
	rte->eref = name;
	return rte;
}

/*
 * Puts entries for the partitions of a node into the finished statement, and notes in the node where they are.
 * PostgreSQL will lock the partitions in the order of the entries. So the partitioned tables come first, as when the
 * statement was planned.
 */
static void
add_entries(PlannedStmt *statement, const PartitionScanParts *parts)
{
	Alias	   *name = makeAlias("partition", NIL);
	int			first = list_length(statement->rtable) + 1;
	ListCell   *cell;

	if (parts->node == NULL)
		return;
	foreach(cell, parts->tables)
		statement->rtable = lappend(statement->rtable, make_entry(lfirst_oid(cell), RELKIND_PARTITIONED_TABLE, name));
	foreach(cell, parts->leaves)
		statement->rtable = lappend(statement->rtable, make_entry(lfirst_oid(cell), RELKIND_RELATION, name));
#if PG_VERSION_NUM >= 180000
	/* Entries that are not in this set may be left unlocked, because pruning at run time may rule them out. */
	statement->unprunableRelids = bms_add_range(statement->unprunableRelids, first, list_length(statement->rtable));
#endif
	statement->relationOids = list_concat(list_concat(statement->relationOids, parts->leaves), parts->tables);
	lfirst(list_nth_cell(parts->node->custom_private, PARTITION_SCAN_ENTRIES)) =
		list_make3_int(first + list_length(parts->tables), list_length(parts->leaves), list_length(parts->tables));
}

static void
finish(PlannedStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (partition_scan_table_of(rte) != NULL)
			rte->ctename = NULL;
	}
	foreach(cell, planning->tables)
	{
		ListCell   *inner;

		foreach(inner, ((PartitionScanTable *) lfirst(cell))->parts)
			add_entries(statement, lfirst(inner));
	}
}

/*
 * Did the planner ask for the paths of all marked entries? PostgreSQL checks privileges by the range table of the
 * statement. So a table of a left join that the planner has removed is there too, although its paths were never asked
 * for. Tables of a part of the query that is not planned at all are not there, and need no node. An example is a CTE
 * that no query refers to.
 */
static bool
all_were_seen(const PlannedStmt *statement)
{
	ListCell   *cell;

	foreach(cell, statement->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (partition_scan_table_of(rte) != NULL && !rte->inh)
			return false;
	}
	return true;
}

/* Is there, for each node that waits for keys, a hash join that gives them? If not, notes the reason. */
static bool
all_have_keys(void)
{
	ListCell   *cell;

	foreach(cell, planning->tables)
	{
		const PartitionScanTable *table = lfirst(cell);
		ListCell   *inner;

		foreach(inner, table->parts)
		{
			const PartitionScanParts *parts = lfirst(inner);

			if (parts->node == NULL || !partition_scan_lacks_keys(parts->node))
				continue;
			note_refusal(table->parent, "the finished plan has no join that can give it keys");
			return false;
		}
	}
	return true;
}

/* ------------------------------------------------------------------------- hooks */

static PlannedStmt *
call_planner(Query *parse, const char *query_string, int cursor_options, ParamListInfo parameters SB_EXPLAIN_PARAMETER)
{
	if (previous_planner)
		return previous_planner(parse, query_string, cursor_options, parameters SB_EXPLAIN_ARGUMENT);
	return standard_planner(parse, query_string, cursor_options, parameters SB_EXPLAIN_ARGUMENT);
}

static PlannedStmt *
plan_statement(Query *parse, const char *query_string, int cursor_options,
			   ParamListInfo parameters SB_EXPLAIN_PARAMETER)
{
	Planning   *outer = planning;
	Planning	mine = {.context = CurrentMemoryContext};
	PlannedStmt *statement = NULL;
	const char *obstacle = NULL;
	ListCell   *cell;

	/*
	 * A function that is evaluated during planning may plan another statement, and may catch an error of that
	 * planning. So `planning` gets its earlier value again in any case.
	 */
	planning = partition_scan_use != PARTITION_SCAN_OFF && parse->commandType == CMD_SELECT ? &mine : NULL;
	PG_TRY();
	{
		List	   *entries = planning != NULL ? candidates(parse, false, NIL) : NIL;

		if (entries != NIL)
		{
			/*
			 * Cursors of SQL and PL/pgSQL have this option. They do not get the node, as WHERE CURRENT OF may refer to
			 * them.
			 */
			if ((cursor_options & CURSOR_OPT_FAST_PLAN) != 0)
				obstacle = "rows of a cursor may be changed";
			else if (chunk_find_engines() != NULL)
				obstacle = "an extension may keep rows elsewhere";
			else
				(void) find_obstacle((Node *) parse, &obstacle);
			if (obstacle != NULL)
				foreach(cell, entries)
					note_refusal(lfirst_node(RangeTblEntry, cell)->relid, obstacle);
			else
			{
				Query	   *copy = copyObject(parse);

				mark(entries);
				statement = call_planner(parse, query_string, cursor_options, parameters SB_EXPLAIN_ARGUMENT);
				parse = copy;
				if (!mine.refused && all_were_seen(statement) && all_have_keys())
				{
					finish(statement);
					partition_scan_keep_query(statement, copy);
				}
				else
					statement = NULL;
				mine.tables = NIL;
			}
		}
		if (statement == NULL)
			statement = call_planner(parse, query_string, cursor_options, parameters SB_EXPLAIN_ARGUMENT);
	}
	PG_FINALLY();
	{
		planning = outer;
	}
	PG_END_TRY();
	return statement;
}

bool
partition_scan_may_read(PlannerInfo *root, RangeTblEntry *rte, AttrNumber column)
{
#if PG_VERSION_NUM >= 160000
	Oid			user = getRTEPermissionInfo(root->parse->rteperminfos, rte)->checkAsUser;
#else
	Oid			user = rte->checkAsUser;
#endif

	(void) root;
	if (!OidIsValid(user))
		user = GetUserId();
	return pg_class_aclcheck(rte->relid, user, ACL_SELECT) == ACLCHECK_OK ||
		pg_attribute_aclcheck(rte->relid, column, user, ACL_SELECT) == ACLCHECK_OK;
}

/*
 * Gives the planner the statistics of all partitions together. Otherwise, because `inh` is false, the planner would
 * look for statistics of the parent's own rows. There are none, since a partitioned table has no rows of its own.
 */
static bool
give_statistics(PlannerInfo *root, RangeTblEntry *rte, AttrNumber column, VariableStatData *variable)
{
	if (partition_scan_table_of(rte) == NULL)
		return previous_relation_stats && previous_relation_stats(root, rte, column, variable);
	variable->statsTuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(rte->relid), Int16GetDatum(column),
										   BoolGetDatum(true));
	variable->freefunc = ReleaseSysCache;
	variable->acl_ok = partition_scan_may_read(root, rte, column);
	return true;
}

void
partition_scan_init(void)
{
	DefineCustomEnumVariable("streambloom.enable_partition_scan",
							 "Lets plain queries over many partitions plan and read only those that may hold rows.",
							 "Only conditions that bf indexes answer have this effect. \"always\" is for tests: it takes effect also where "
							 "this is expected to be slower.",
							 &partition_scan_use, PARTITION_SCAN_OFF, uses, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomIntVariable("streambloom.min_partition_scan_partitions",
							"The number of partitions from which on enable_partition_scan has an effect.",
							NULL, &partition_scan_fewest, 100, 1, INT_MAX, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	RegisterCustomScanMethods(&partition_scan_methods);
	partitions_in_use_init();
	partition_scan_portal_init();
	previous_planner = planner_hook;
	planner_hook = plan_statement;
	previous_relation_stats = get_relation_stats_hook;
	get_relation_stats_hook = give_statistics;
}
