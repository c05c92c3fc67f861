/*
 * chunk_snapshot.c: checks that a relation which is locked now, and the set of its children, are still those that a
 * snapshot sees (see chunk_snapshot.h). chunk_lock_tree() also locks the children.
 *
 * What the snapshot sees is read from pg_class and pg_inherits with the snapshot itself. The row of pg_class rarely
 * has to be read, because its newest version is in the system cache. If the snapshot sees the transaction that wrote
 * the newest version, this is the version that the snapshot sees.
 */
#include "chunks/chunk_snapshot.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#define HINT "Try the query again, or the whole transaction if it is REPEATABLE READ or SERIALIZABLE."

void
chunk_report_gone(Relation parent)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not scan the chunks of \"%s\" because one of them was detached or dropped "
					"after the query's snapshot was taken",
					RelationGetRelationName(parent)),
			 errhint(HINT)));
}

/*
 * Sets *row to the newest row of pg_class. Is it surely the one that the snapshot sees? The result is also false if the
 * current transaction has written the row, before or after the snapshot was taken.
 */
static bool
sees_newest(Oid oid, Snapshot snapshot, FormData_pg_class *row)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(oid));
	TransactionId writer;

	if (!HeapTupleIsValid(tuple))
		return false;
	writer = HeapTupleHeaderGetXmin(tuple->t_data);
	memcpy(row, GETSTRUCT(tuple), CLASS_TUPLE_SIZE);
	ReleaseSysCache(tuple);
	return !TransactionIdIsCurrentTransactionId(writer) && !XidInMVCCSnapshot(writer, snapshot);
}

/* Sets *row to the row of pg_class that the snapshot sees. Returns false if it sees none. */
static bool
class_row_of_snapshot(Oid oid, Snapshot snapshot, FormData_pg_class *row)
{
	Relation	pg_class = table_open(RelationRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(oid));
	scan = systable_beginscan(pg_class, ClassOidIndexId, true, snapshot, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		memcpy(row, GETSTRUCT(tuple), CLASS_TUPLE_SIZE);
	systable_endscan(scan);
	table_close(pg_class, AccessShareLock);
	return HeapTupleIsValid(tuple);
}

bool
chunk_require_storage(Relation relation, Snapshot snapshot)
{
	const Oid	oid = RelationGetRelid(relation);
	FormData_pg_class row;
	bool		is_seen;

	if (!RELKIND_HAS_STORAGE(relation->rd_rel->relkind) || sees_newest(oid, snapshot, &row))
		return true;
	is_seen = class_row_of_snapshot(oid, snapshot, &row);
	if (is_seen ?
		row.relfilenode == relation->rd_rel->relfilenode && row.reltablespace == relation->rd_rel->reltablespace :
		relation->rd_rel->relkind != RELKIND_MATVIEW)
		return is_seen;
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not read \"%s\" because it was truncated or rewritten after the query's snapshot was taken",
					RelationGetRelationName(relation)),
			 errhint(HINT)));
}

/*
 * Returns the children or partitions that the snapshot sees, except those that it sees as being detached (DETACH
 * PARTITION CONCURRENTLY).
 */
static List *
children_of_snapshot(Oid parent, Snapshot snapshot)
{
	List	   *children = NIL;
	Relation	pg_inherits = table_open(InheritsRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_inherits_inhparent, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(parent));
	scan = systable_beginscan(pg_inherits, InheritsParentIndexId, true, snapshot, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_inherits link = (Form_pg_inherits) GETSTRUCT(tuple);

		if (!link->inhdetachpending)
			children = lappend_oid(children, link->inhrelid);
	}
	systable_endscan(scan);
	table_close(pg_inherits, AccessShareLock);
	return children;
}

/*
 * Raises an error unless the children in `now` are those that the snapshot sees (`seen`). A child that is only in
 * `now` is accepted if the snapshot does not see it at all. Sorts both lists. REQUIRES: neither list has an OID
 * twice.
 */
static void
require_same(Relation parent, List *seen, List *now, Snapshot snapshot)
{
	int			i = 0;

	list_sort(seen, list_oid_cmp);
	list_sort(now, list_oid_cmp);
	for (int j = 0; j < list_length(now); j++)
	{
		Oid			oid = list_nth_oid(now, j);
		FormData_pg_class row;

		if (i < list_length(seen) && list_nth_oid(seen, i) == oid)
			i++;
		else if (i < list_length(seen) && list_nth_oid(seen, i) < oid)
			chunk_report_gone(parent);
		else if (class_row_of_snapshot(oid, snapshot, &row))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("could not scan the chunks of \"%s\" because \"%s\" was attached to it "
							"after the query's snapshot was taken",
							RelationGetRelationName(parent), NameStr(row.relname)),
					 errhint(HINT)));
	}
	if (i < list_length(seen))
		chunk_report_gone(parent);
}

void
chunk_require_children(Relation parent, const Oid *children, int count, Snapshot snapshot)
{
	List	   *seen = children_of_snapshot(RelationGetRelid(parent), snapshot);
	List	   *now = NIL;

	for (int i = 0; i < count; i++)
		now = lappend_oid(now, children[i]);
	require_same(parent, seen, now, snapshot);
	list_free(seen);
	list_free(now);
}

/*
 * Returns what the snapshot sees: the relation itself, its children, their children, and so on. A child can have
 * several parents, but is in the result once.
 */
static List *
tree_of_snapshot(Oid root, Snapshot snapshot)
{
	List	   *tree = list_make1_oid(root);
	List	   *level = tree;

	while (level != NIL)
	{
		List	   *next = NIL;
		ListCell   *cell;

		foreach(cell, level)
		{
			FormData_pg_class row;

			/* who adds a child sets relhassubclass; a transaction later than the one that took the last clears it */
			if (!sees_newest(lfirst_oid(cell), snapshot, &row) || row.relhassubclass)
				next = list_concat(next, children_of_snapshot(lfirst_oid(cell), snapshot));
		}
		list_sort(next, list_oid_cmp);
		list_deduplicate_oid(next);
		tree = list_concat_copy(tree, next);
		level = next;
	}
	list_sort(tree, list_oid_cmp);
	list_deduplicate_oid(tree);
	return tree;
}

List *
chunk_lock_tree(Relation parent, Snapshot snapshot)
{
	List	   *relations = find_all_inheritors(RelationGetRelid(parent), AccessShareLock, NULL);
	ListCell   *cell;

	require_same(parent, tree_of_snapshot(RelationGetRelid(parent), snapshot), list_copy(relations), snapshot);
	foreach(cell, relations)
	{
		Relation	relation = relation_open(lfirst_oid(cell), NoLock);

		(void) chunk_require_storage(relation, snapshot);
		relation_close(relation, NoLock);
	}
	return relations;
}
