/*
 * compat.h: differences between PostgreSQL's versions that several files have to know. It also includes postgres.h, for
 * the files and headers of src/pg that include it first.
 */
#ifndef STREAMBLOOM_PG_COMPAT_H
#define STREAMBLOOM_PG_COMPAT_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "fmgr.h"

#if PG_VERSION_NUM < 150000
#error "streambloom needs PostgreSQL 15 or later"
#endif

/*
 * The library is built with hidden visibility, so the functions that SQL calls have to be marked as exported. From 16
 * on PG_FUNCTION_INFO_V1() does that.
 */
#if PG_VERSION_NUM < 160000
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))
#define SB_FUNCTION(name) PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); PG_FUNCTION_INFO_V1(name)
#else
#include "varatt.h"
#define SB_FUNCTION(name) PG_FUNCTION_INFO_V1(name)
#endif

/* PostgreSQL 18 no longer has pg_attribute_noreturn(), and 15 does not have pg_noreturn yet. */
#define SB_NORETURN __attribute__((noreturn))

/*
 * Maps the columns of two descriptors by name. The result is NULL if both have the same columns in the same places.
 * PostgreSQL 16 added an argument.
 */
#if PG_VERSION_NUM >= 160000
#define sb_build_attrmap_by_name_if_req(in, out) build_attrmap_by_name_if_req(in, out, false)
#else
#define sb_build_attrmap_by_name_if_req(in, out) build_attrmap_by_name_if_req(in, out)
#endif

/* Puts the columns of a child in place of those of its topmost parent. PostgreSQL 16 takes the relations themselves. */
#if PG_VERSION_NUM >= 160000
#define sb_adjust_to_child(root, node, child) \
	adjust_appendrel_attrs_multilevel(root, (Node *) (node), child, (child)->top_parent)
#else
#define sb_adjust_to_child(root, node, child) \
	adjust_appendrel_attrs_multilevel(root, (Node *) (node), (child)->relids, (child)->top_parent_relids)
#endif

/* May the user call this function? PostgreSQL 16 has one function for all kinds of objects. */
#if PG_VERSION_NUM >= 160000
#define sb_may_call(function) (object_aclcheck(ProcedureRelationId, function, GetUserId(), ACL_EXECUTE) == ACLCHECK_OK)
#else
#define sb_may_call(function) (pg_proc_aclcheck(function, GetUserId(), ACL_EXECUTE) == ACLCHECK_OK)
#endif

/* PostgreSQL 18 removed the last argument of ExecutorRun(). */
#if PG_VERSION_NUM >= 180000
#define sb_executor_run(query) ExecutorRun(query, ForwardScanDirection, 0)
#else
#define sb_executor_run(query) ExecutorRun(query, ForwardScanDirection, 0, true)
#endif

/* From PostgreSQL 17 on intervals can be infinite. Returns -1 or 1 for an infinite interval, and 0 for a finite one. */
static inline int
sb_interval_infinity(const Interval *interval)
{
#if PG_VERSION_NUM >= 170000
	if (INTERVAL_IS_NOEND(interval))
		return 1;
	if (INTERVAL_IS_NOBEGIN(interval))
		return -1;
#else
	(void) interval;
#endif
	return 0;
}

/*
 * In PostgreSQL 15 and 16 the setting old_snapshot_threshold may have caused rows to be pruned that a snapshot still
 * sees. Then it is an error to look at a page that was changed after the snapshot was taken. This is a macro because
 * few files include the headers for it.
 */
#if PG_VERSION_NUM < 170000
#define sb_test_for_old_snapshot(snapshot, relation, page) TestForOldSnapshot(snapshot, relation, page)
#else
#define sb_test_for_old_snapshot(snapshot, relation, page) ((void) 0)
#endif

/*
 * For code that runs with another user's rights: sets search_path to "pg_catalog, pg_temp" until the caller's GUC nest
 * level ends. PostgreSQL 17 introduced RestrictSearchPath() and calls it in its own maintenance commands; 15 and 16
 * run these commands with the caller's search_path. This is a macro because few files include the header for it
 * (utils/guc.h).
 */
#if PG_VERSION_NUM >= 170000
#define sb_restrict_search_path() RestrictSearchPath()
#else
#define sb_restrict_search_path() \
	((void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false))
#endif

/*
 * Do the table's options and (from 18 on) the settings allow VACUUM to cut off free pages at the end of this table's
 * file? That takes an AccessExclusiveLock, which cancels queries on standbys. These are macros because few files
 * include the headers for them (utils/rel.h, commands/vacuum.h).
 */
#if PG_VERSION_NUM >= 190000
#define sb_vacuum_truncates(heap) \
	((heap)->rd_options == NULL || \
	 ((StdRdOptions *) (heap)->rd_options)->vacuum_truncate == PG_TERNARY_UNSET ? vacuum_truncate : \
	 ((StdRdOptions *) (heap)->rd_options)->vacuum_truncate == PG_TERNARY_TRUE)
#elif PG_VERSION_NUM >= 180000
#define sb_vacuum_truncates(heap) \
	((heap)->rd_options == NULL || !((StdRdOptions *) (heap)->rd_options)->vacuum_truncate_set ? vacuum_truncate : \
	 ((StdRdOptions *) (heap)->rd_options)->vacuum_truncate)
#else
#define sb_vacuum_truncates(heap) \
	((heap)->rd_options == NULL || ((StdRdOptions *) (heap)->rd_options)->vacuum_truncate)
#endif

/* Looks for interrupts. In a VACUUM it sleeps as vacuum_cost_delay asks for. */
#if PG_VERSION_NUM >= 180000
#define sb_vacuum_delay_point() vacuum_delay_point(false)
#else
#define sb_vacuum_delay_point() vacuum_delay_point()
#endif

/* Is this EXPLAIN (GENERIC_PLAN), which PostgreSQL 16 introduced? Then the statement's parameters have no values. */
#if PG_VERSION_NUM >= 160000
#define sb_is_generic_explain(eflags) (((eflags) & EXEC_FLAG_EXPLAIN_GENERIC) != 0)
#else
#define sb_is_generic_explain(eflags) ((void) (eflags), false)
#endif

/* Counts a search of an index. From PostgreSQL 18 on EXPLAIN ANALYZE shows how many searches there were. */
#if PG_VERSION_NUM >= 180000
#define sb_count_index_search(scan) \
	do { if ((scan)->instrument != NULL) (scan)->instrument->nsearches++; } while (0)
#else
#define sb_count_index_search(scan) ((void) 0)
#endif

/*
 * sb_locator is the type that says where the files of a relation are; sb_locator_of() returns it for an open
 * relation. sb_same_locator() says whether two of them are the same.
 */
#if PG_VERSION_NUM >= 160000
#define sb_locator RelFileLocator
#define sb_locator_of(relation) ((relation)->rd_locator)
#define sb_same_locator(a, b) RelFileLocatorEquals(a, b)
#else
#define sb_locator RelFileNode
#define sb_locator_of(relation) ((relation)->rd_node)
#define sb_same_locator(a, b) RelFileNodeEquals(a, b)
#endif

/*
 * Pins page `block` if it is still in `buffer`, where it was last. Returns false if the buffer has another page now.
 */
#define sb_read_recent_buffer(locator, block, buffer) ReadRecentBuffer(locator, MAIN_FORKNUM, block, buffer)

/* Can snapshots become too old to be used? PostgreSQL 17 removed old_snapshot_threshold, the setting for this. */
#if PG_VERSION_NUM < 170000
#define sb_snapshots_grow_old() (old_snapshot_threshold >= 0)
#else
#define sb_snapshots_grow_old() false
#endif

/*
 * Splits a name that may have a schema into a list. PostgreSQL 16 added an argument. This is a macro because few
 * files include the header for it.
 */
#if PG_VERSION_NUM >= 160000
#define sb_qualified_name(text) stringToQualifiedNameList(text, NULL)
#else
#define sb_qualified_name(text) stringToQualifiedNameList(text)
#endif

/* Do the query's conditions name one row of a table by a unique key? PostgreSQL 19 has other arguments. */
#if PG_VERSION_NUM >= 190000
#define sb_is_by_unique_key(root, rel) relation_has_unique_index_for(root, rel, NIL, NULL)
#else
#define sb_is_by_unique_key(root, rel) relation_has_unique_index_for(root, rel, NIL, NIL, NIL)
#endif

/* The planner's estimate of the number of elements of an array expression. PostgreSQL 17 added an argument. */
#if PG_VERSION_NUM >= 170000
#define sb_estimate_array_length(root, expression) estimate_array_length(root, expression)
#else
#define sb_estimate_array_length(root, expression) estimate_array_length(expression)
#endif

/* Begins a walk through an array. From PostgreSQL 19 on the iterator itself keeps how the elements are stored. */
#if PG_VERSION_NUM >= 190000
#define sb_array_iter_setup(iterator, array, length, by_value, align) \
	array_iter_setup(iterator, array, length, by_value, align)
#define sb_array_iter_next(iterator, is_null, at, length, by_value, align) array_iter_next(iterator, is_null, at)
#else
#define sb_array_iter_setup(iterator, array, length, by_value, align) array_iter_setup(iterator, array)
#define sb_array_iter_next(iterator, is_null, at, length, by_value, align) \
	array_iter_next(iterator, is_null, at, length, by_value, align)
#endif

/* Plans a query. PostgreSQL 19 added an argument, the state of EXPLAIN. */
#if PG_VERSION_NUM >= 190000
#define sb_plan_query(query, text, options, parameters) pg_plan_query(query, text, options, parameters, NULL)
#else
#define sb_plan_query(query, text, options, parameters) pg_plan_query(query, text, options, parameters)
#endif

/* PostgreSQL 19 added a parameter to the planner hook, the state of EXPLAIN. The hook passes it on as an argument. */
#if PG_VERSION_NUM >= 190000
#define SB_EXPLAIN_PARAMETER , ExplainState *explain
#define SB_EXPLAIN_ARGUMENT , explain
#else
#define SB_EXPLAIN_PARAMETER
#define SB_EXPLAIN_ARGUMENT
#endif

/* Begins a scan of an index. PostgreSQL 18 added the counters of EXPLAIN, 19 the options of a scan. */
#if PG_VERSION_NUM >= 190000
#define sb_index_beginscan(heap, index, snapshot, keys) index_beginscan(heap, index, snapshot, NULL, keys, 0, SO_NONE)
#elif PG_VERSION_NUM >= 180000
#define sb_index_beginscan(heap, index, snapshot, keys) index_beginscan(heap, index, snapshot, NULL, keys, 0)
#else
#define sb_index_beginscan(heap, index, snapshot, keys) index_beginscan(heap, index, snapshot, keys, 0)
#endif

/*
 * The plan for run-time pruning of an Append over these paths, or NULL. PostgreSQL 18 returns its place in a list of
 * the planner, from which it is taken out here.
 */
#if PG_VERSION_NUM >= 180000
#define sb_make_partition_pruneinfo(root, rel, paths, conditions) \
	(make_partition_pruneinfo(root, rel, paths, conditions) < 0 ? NULL : (Node *) llast((root)->partPruneInfos))
#else
#define sb_make_partition_pruneinfo(root, rel, paths, conditions) \
	((Node *) make_partition_pruneinfo(root, rel, paths, conditions))
#endif

/* Opens a relation of the range table until the execution ends. PostgreSQL 18 added an argument. */
#if PG_VERSION_NUM >= 180000
#define sb_open_range_table_relation(estate, number) ExecGetRangeTableRelation(estate, number, false)
#else
#define sb_open_range_table_relation(estate, number) ExecGetRangeTableRelation(estate, number)
#endif

/* The subplans of an Append that run-time pruning leaves for a scan. PostgreSQL 18 added an argument. */
#if PG_VERSION_NUM >= 180000
#define sb_find_matching_subplans(state) ExecFindMatchingSubPlans(state, false, NULL)
#else
#define sb_find_matching_subplans(state) ExecFindMatchingSubPlans(state, false)
#endif

/* The strategy of a PathKey, as a number of a B-tree's operator. */
#if PG_VERSION_NUM >= 180000
#define sb_pathkey_strategy(key) ((key)->pk_cmptype == COMPARE_LT ? BTLessStrategyNumber : BTGreaterStrategyNumber)
#else
#define sb_pathkey_strategy(key) ((key)->pk_strategy)
#endif

/* Does the statement change rows of the relation that has the number `relid` in its range table? */
#if PG_VERSION_NUM >= 190000
#define sb_is_result_relation(statement, relid) bms_is_member(relid, (statement)->resultRelationRelids)
#else
#define sb_is_result_relation(statement, relid) list_member_int((statement)->resultRelations, relid)
#endif

/* The type of the measurements that EXPLAIN ANALYZE makes of a node. */
#if PG_VERSION_NUM >= 190000
#define sb_node_instrumentation NodeInstrumentation
#else
#define sb_node_instrumentation Instrumentation
#endif

/* Begins a scan of a range of rows. PostgreSQL 19 added an argument, the options of the scan. */
#if PG_VERSION_NUM >= 190000
#define sb_begin_scan_of_rows(relation, snapshot, from, to) \
	table_beginscan_tidrange(relation, snapshot, from, to, SO_NONE)
#else
#define sb_begin_scan_of_rows(relation, snapshot, from, to) table_beginscan_tidrange(relation, snapshot, from, to)
#endif

#include "streambloom.h"

#endif
