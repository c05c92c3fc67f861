/*
 * partition_scan_hooks.c: which partitioned tables of a statement get the node PartitionScan.
 *
 * 1. When PostgreSQL has read what it needs to know of a table, we set its number of partitions to 0. So PostgreSQL
 *    expands nothing, and takes the table for empty.
 * 2. When it makes the paths of the first relation of a query, all these tables are decided, because by then
 *    everything is known: conditions, equivalences, sizes of other tables. A table gets the node's paths, or is
 *    expanded there, late, by PostgreSQL's own functions. Its plans are then those that it would have had. So (1) may
 *    be generous.
 */
#include "chunks/partition_scan.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "partitioning/partdesc.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "chunks/chunk_engine.h"
#include "chunks/skip.h"

int			partition_scan_use = PARTITION_SCAN_ON;

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

/*
 * Where only values of other tables can be asked about, the node asks for each of their rows. Up to so many expected
 * rows that takes less time than PostgreSQL takes to plan each partition: 0.3 µs a question, and 15 to 40 µs.
 */
#define MOST_LOOKUPS 100

/* A query for so few rows gets the node, however large its partitions are. */
#define FEW_ROWS 10

/*
 * The PartitionScanChoices of the innermost statement that is being planned, on the stack of plan_statement(). NULL if
 * there is none whose tables may get the node. A statement that has loaded the library while it was planned has not
 * been seen here either, so it may be a cursor.
 */
static List **choices = NULL;

static planner_hook_type previous_planner;
static set_rel_pathlist_hook_type previous_set_rel_pathlist;

static void change_paths(PlannerInfo *root, RelOptInfo *rel, Index relid, RangeTblEntry *rte);

static PlannedStmt *
plan_statement(Query *parse, const char *query_string, int cursor_options,
			   ParamListInfo parameters SB_EXPLAIN_PARAMETER)
{
	List	  **outer = choices;
	List	   *mine = NIL;
	PlannedStmt *statement;

	/* WHERE CURRENT OF may refer to a cursor (of SQL or PL/pgSQL), and must find the scan of a partition there */
	choices = partition_scan_use != PARTITION_SCAN_OFF && (cursor_options & CURSOR_OPT_FAST_PLAN) == 0 ? &mine : NULL;
	/* a function that is evaluated while planning may plan another statement, and may catch its error */
	PG_TRY();
	{
		if (previous_planner)
			statement = previous_planner(parse, query_string, cursor_options, parameters SB_EXPLAIN_ARGUMENT);
		else
			statement = standard_planner(parse, query_string, cursor_options, parameters SB_EXPLAIN_ARGUMENT);
	}
	PG_FINALLY();
	{
		choices = outer;
	}
	PG_END_TRY();
	return statement;
}

/* ------------------------------------------------------------------- not to be expanded */

/* The columns of these indexes, as numbered by pull_varattnos(). */
static Bitmapset *
indexed_columns(const List *indexes, Index relid)
{
	Bitmapset  *columns = NULL;
	const ListCell *cell;

	foreach(cell, indexes)
	{
		const IndexOptInfo *index = lfirst(cell);

		pull_varattnos((Node *) index->indexprs, relid, &columns);
		for (int i = 0; i < index->nkeycolumns; i++)
			columns = bms_add_member(columns, index->indexkeys[i] - FirstLowInvalidHeapAttributeNumber);
	}
	return columns;
}

/* Has PostgreSQL expand no partition of this table, if the table may get the node. */
static void
look_at_table(PlannerInfo *root, Oid oid, RelOptInfo *rel)
{
	const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	Bitmapset  *columns = NULL;
	List	   *indexes;
	PartitionScanChoice *choice;

	if (choices == NULL || rel->reloptkind != RELOPT_BASEREL || rel->part_scheme == NULL || rel->nparts == 0)
		return;
	if ((root->parse->commandType != CMD_SELECT && root->parse->commandType != CMD_INSERT) ||
		rte->securityQuals != NIL || rte->tablesample != NULL || get_plan_rowmark(root->rowMarks, rel->relid) != NULL)
		return;
	/* an extension whose hook comes after ours may make paths of an empty table anew */
	if (set_rel_pathlist_hook != change_paths)
		return;
	pull_varattnos((Node *) root->parse->jointree, rel->relid, &columns);
	indexes = columns == NULL ? NIL : chunk_indexes_of(oid, rel->relid);
	if (!bms_overlap(columns, indexed_columns(indexes, rel->relid)) || chunk_engine() != NULL)
		return;
	choice = palloc0(sizeof(PartitionScanChoice));
	choice->root = root;
	choice->rel = rel;
	choice->relid = rel->relid;
	choice->nparts = rel->nparts;
	choice->indexes = indexes;
	choice->columns = columns;
	rel->nparts = 0;
	*choices = lappend(*choices, choice);
}

#if PG_VERSION_NUM >= 190000
static build_simple_rel_hook_type previous_build_simple_rel;

static void
look_at_relation(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	if (previous_build_simple_rel)
		previous_build_simple_rel(root, rel, rte);
	if (rte->rtekind == RTE_RELATION)
		look_at_table(root, rte->relid, rel);
}
#else
static get_relation_info_hook_type previous_get_relation_info;

static void
look_at_relation(PlannerInfo *root, Oid oid, bool has_children, RelOptInfo *rel)
{
	if (previous_get_relation_info)
		previous_get_relation_info(root, oid, has_children, rel);
	look_at_table(root, oid, rel);
}
#endif

/* ----------------------------------------------------------------------------- deciding */

/* Of each equivalence class the first expression of the table will do. (The type is ec_matches_callback_type.) */
static bool
any_member(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *class, EquivalenceMember *member, void *nothing)
{
	(void) root, (void) rel, (void) class, (void) member, (void) nothing;
	return true;
}

/* Returns the join conditions that a scan of this table can test on the inner side of a nested loop. */
static List *
conditions_of_joins(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *conditions = rel->has_eclass_joins ?
		generate_implied_equalities_for_column(root, rel, any_member, NULL, rel->lateral_referencers) : NIL;
	ListCell   *cell;

	foreach(cell, rel->joininfo)
		if (join_clause_is_movable_to(lfirst(cell), rel))
			conditions = lappend(conditions, lfirst(cell));
	return conditions;
}

/* Sets choice->asked and choice->outer. */
static void
find_conditions(PartitionScanChoice *choice)
{
	RelOptInfo *rel = choice->rel;
	ListCell   *cell;

	foreach(cell, rel->baserestrictinfo)
	{
		const RestrictInfo *condition = lfirst(cell);
		Node	   *part = chunk_answered_part(choice->indexes, rel->relid, (Node *) condition->clause, NULL);

		if (!condition->pseudoconstant && part != NULL)
			choice->asked = lappend(choice->asked, part);
	}
	foreach(cell, conditions_of_joins(choice->root, rel))
	{
		const RestrictInfo *condition = lfirst(cell);
		Relids		outer = bms_union(bms_difference(condition->clause_relids, rel->relids), rel->lateral_relids);

		if (!bms_is_member(rel->relid, outer) &&
			chunk_answered_part(choice->indexes, rel->relid, (Node *) condition->clause, NULL) != NULL)
			choice->outer = lappend(choice->outer, outer);
	}
}

/* Is a system column used that a row of a partition has, but not a row that is copied into the parent's layout? */
static bool
uses_system_columns(const PartitionScanChoice *choice)
{
	const RelOptInfo *rel = choice->rel;

	for (AttrNumber column = rel->min_attr; column < 0; column++)
		if (column != TableOidAttributeNumber && column != SelfItemPointerAttributeNumber &&
			(rel->attr_needed[column - rel->min_attr] != NULL ||
			 bms_is_member(column - FirstLowInvalidHeapAttributeNumber, choice->columns)))
			return true;
	return false;
}

/*
 * Is the table expected to be read faster with plans of its partitions: in parallel, by another index, or partition by
 * partition? To plan and initialize a partition takes PostgreSQL about 40 µs, so it must be worth that: 50 cost units
 * are some 20 pages in shared buffers, which take 120 µs. With 35, of 1,000 partitions, the node took half as long.
 */
static bool
is_better_expanded(const PartitionScanChoice *choice)
{
	PlannerInfo *root = choice->root;
	bool		is_ended = root->limit_tuples >= 0 && (root->query_pathkeys == NIL || choice->sort != NULL);
	ListCell   *cell;

	if (partition_scan_use == PARTITION_SCAN_ALWAYS)
		return false;
	if (choice->asked != NIL)
		return !is_ended && choice->asked_rows > FEW_ROWS &&
			partition_scan_reading_cost(choice->parts, choice->asked_rows, cpu_tuple_cost) >
			50 * list_length(choice->parts->leaves);
	/* values of other tables are asked about on the inner side of a nested loop; otherwise by JoinKeys and Skips */
	if (!enable_nestloop)
		return true;
	foreach(cell, choice->outer)
	{
		double		rows = 1;

		for (int i = -1; (i = bms_next_member(lfirst(cell), i)) >= 0;)
			if (root->simple_rel_array[i] != NULL)
				rows *= Max(root->simple_rel_array[i]->rows, 1);
		if (rows <= MOST_LOOKUPS)
			return false;
	}
	return true;
}

/* Finds the partitions and sizes of a table that may get the node. */
static void
prepare(PartitionScanChoice *choice)
{
	PlannerInfo *root = choice->root;
	RelOptInfo *rel = choice->rel;
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);

	choice->prepared = true;
	rel->nparts = choice->nparts;
	choice->is_empty = relation_excluded_by_constraints(root, rel, rte);
	if (choice->is_empty)
		return;
	find_conditions(choice);
	if ((choice->asked != NIL || choice->outer != NIL) && !uses_system_columns(choice))
		choice->parts = partition_scan_find(root, rel, rte);
	if (choice->parts != NULL && list_length(choice->parts->leaves) < 2)
		choice->parts = NULL;
	/* This is also a first estimate for other relations, if the table is expanded late. */
	if (choice->parts != NULL || bms_is_empty(rel->lateral_relids))
		partition_scan_set_size(root, rel, rte->relid, choice->parts);
	/*
	 * The relation is no longer a dummy, for estimates of other relations. But with lateral references PostgreSQL will
	 * look at the dummy once more.
	 */
	if (bms_is_empty(rel->lateral_relids))
		rel->pathlist = NIL;
}

/* Decides about a table. REQUIRES: all tables of the query were prepared. */
static void
decide(PartitionScanChoice *choice)
{
	if (choice->parts == NULL)
		return;
	/* Without statistics PostgreSQL expects a two-hundredth of all rows. We expect few. */
	choice->asked_rows = !choice->parts->is_analyzed ? 1 :
		clamp_row_est(choice->rel->tuples * clauselist_selectivity(choice->root, choice->asked, 0, JOIN_INNER, NULL));
	partition_scan_find_order(choice);
	if (is_better_expanded(choice))
		choice->parts = NULL;
}

/* Gives this relation, if it is a table that was not expanded, its paths. */
static void
finish_table(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	ListCell   *cell;
	List	   *prepared = NIL;

	if (choices == NULL)
		return;
	foreach(cell, *choices)
	{
		PartitionScanChoice *choice = lfirst(cell);

		/* the planner may have removed a table of a join that it does not need */
		if (choice->root != root || choice->prepared || root->simple_rel_array[choice->relid] != choice->rel ||
			choice->rel->reloptkind != RELOPT_BASEREL)
			continue;
		prepare(choice);
		prepared = lappend(prepared, choice);
	}
	foreach(cell, prepared)
		decide(lfirst(cell));
	/* The paths of this relation, which is the first one, were made before the sizes of these tables were known. */
	if (prepared != NIL && !rte->inh && rte->tablesample == NULL && !IS_DUMMY_REL(rel))
		create_index_paths(root, rel);
	foreach(cell, *choices)
	{
		PartitionScanChoice *choice = lfirst(cell);

		if (choice->root != root || choice->rel != rel)
			continue;
		/* late expansion comes here again, for the same relation */
		*choices = foreach_delete_current(*choices, cell);
		if (choice->is_empty)
			return;
		if (choice->parts != NULL)
			partition_scan_add_paths(choice);
		else
			partition_scan_expand(root, rel, rte);
		return;
	}
}

/* The hook for the paths of a table, of a child of a table, or of anything else in FROM. */
static void
change_paths(PlannerInfo *root, RelOptInfo *rel, Index relid, RangeTblEntry *rte)
{
	if (previous_set_rel_pathlist)
		previous_set_rel_pathlist(root, rel, relid, rte);
	finish_table(root, rel, rte);
	skip_add_paths(root, rel, rte);
}

void
partition_scan_init(void)
{
	DefineCustomEnumVariable("streambloom.enable_partition_scan",
							 "Lets queries over partitions read only those that may hold rows, without a plan for each.",
							 "Only conditions that bf indexes answer have this effect. \"always\" is for tests: it takes effect also where "
							 "this is expected to be slower.",
							 &partition_scan_use, PARTITION_SCAN_ON, uses, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	RegisterCustomScanMethods(&partition_scan_methods);
	previous_set_rel_pathlist = set_rel_pathlist_hook;
	set_rel_pathlist_hook = change_paths;
	previous_planner = planner_hook;
	planner_hook = plan_statement;
#if PG_VERSION_NUM >= 190000
	previous_build_simple_rel = build_simple_rel_hook;
	build_simple_rel_hook = look_at_relation;
#else
	previous_get_relation_info = get_relation_info_hook;
	get_relation_info_hook = look_at_relation;
#endif
}
