/*
 * chunk_judge.c: goes through the chunks of a relation, and judges each: may it hold a row that matches? A chunk is a
 * leaf partition, an inheritance child, or the relation itself.
 *
 * A chunk is left alone if a summary table that the caller names, or one of the chunk's bf indexes, says that the chunk
 * surely has no such row; or if the value is NULL, which no row matches.
 *
 * chunk_scan() locks the relations after the snapshot was taken, so each of them is compared with what the snapshot
 * sees (chunk_snapshot.h). The indexes of a relation need not be compared. An index that was built after the snapshot
 * was taken also has the rows that the snapshot sees. There are three exceptions, and all are safe:
 *
 * - indcheckxmin is set: chunk_open_index() refuses the index for this snapshot.
 * - The build left out row versions that only older snapshots see: the horizons on the index's pages
 *   (../index/README.md) tell so, and the index says "maybe" to these snapshots.
 * - CREATE INDEX CONCURRENTLY still waits for older snapshots: the index is not valid yet, and is refused.
 */
#include "chunks/chunk_scan.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "partitioning/partdesc.h"
#include "storage/predicate.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "chunks/chunk_snapshot.h"

/* ---------------------------------------------------------------- verdicts */

/* Sets *verdict: may the chunk hold a row that matches? */
static void
judge(ChunkScan *scan, Relation chunk, ChunkVerdict *verdict)
{
	Oid			oid = RelationGetRelid(chunk);

	if (scan->clause == NULL)
		verdict->reason = CHUNK_EQUALS_NULL;
	else if (chunk_is_among(scan->summaries.ruled_out, oid))
	{
		/* take the predicate lock that a SELECT takes when it finds nothing in the chunk */
		if (!scan->explains && RELKIND_HAS_STORAGE(chunk->rd_rel->relkind))
			PredicateLockRelation(chunk, GetActiveSnapshot());
		verdict->reason = CHUNK_SUMMARY_SAYS_NO;
	}
	else
	{
		chunk_ask_clause(&scan->index_clause, scan->parent, chunk, verdict, NULL);
		if (!OidIsValid(verdict->index))
			verdict->reason = !OidIsValid(scan->summary_table) ? CHUNK_HAS_NO_INDEX :
				chunk_is_among(scan->summaries.known, oid) ? CHUNK_SUMMARY_SAYS_MAYBE : CHUNK_HAS_NO_SUMMARY;
	}
}

/* ----------------------------------------------------------------- finding chunks */

/*
 * Adds all leaf partitions of a partitioned table to the list, and returns it. The table is open and locked. The
 * partitions come from the relation cache, which keeps what it has returned as long as the table is open. Raises an
 * error if they are not those that the snapshot sees.
 */
static List *
leaf_partitions(Relation parent, List *leaves)
{
	PartitionDesc partitions = RelationGetPartitionDesc(parent, true);

	check_stack_depth();
	chunk_require_children(parent, partitions->oids, partitions->nparts, GetActiveSnapshot());
	for (int i = 0; i < partitions->nparts; i++)
		if (partitions->is_leaf[i])
			leaves = lappend_oid(leaves, partitions->oids[i]);
		else
		{
			Relation	partition = chunk_try_open(partitions->oids[i]);

			if (partition == NULL)
				chunk_report_gone(parent);
			leaves = leaf_partitions(partition, leaves);
			relation_close(partition, NoLock);
		}
	return leaves;
}

/*
 * Finds the chunks. Inheritance children are locked together and stay locked, because they can be dropped without a
 * lock on the parent. Partitions cannot be dropped while the parent is locked, and a DETACH cannot be completed. So a
 * partition is locked only when it is judged.
 */
static void
find_chunks(ChunkScan *scan)
{
	MemoryContext caller = MemoryContextSwitchTo(scan->chunk_context);
	List	   *chunks;

	scan->stay_locked = scan->parent->rd_rel->relkind != RELKIND_PARTITIONED_TABLE;
	if (scan->stay_locked)
		chunks = chunk_lock_tree(scan->parent, GetActiveSnapshot());
	else
		chunks = leaf_partitions(scan->parent, NIL);
	MemoryContextSwitchTo(caller);
	scan->chunks = list_copy(chunks);
	MemoryContextReset(scan->chunk_context);
}

/*
 * Opens a chunk, locks it if it is a partition, and raises an error if it is gone, or if its storage is not the one
 * that the snapshot sees. (The own transaction may have truncated, rewritten or dropped an inheritance child that is
 * locked.) Returns NULL for a relation that a query does not read: the temporary table of another session, or a
 * partitioned table, which has no rows of its own. If the value is NULL, no chunk is read, and no storage is compared.
 */
static Relation
open_chunk(ChunkScan *scan, Oid oid)
{
	Relation	chunk = scan->stay_locked ? try_relation_open(oid, NoLock) : chunk_try_open(oid);

	if (chunk == NULL)
		chunk_report_gone(scan->parent);
	/* what a snapshot knows that does not see the chunk is not for one that sees it, maybe with older storage */
	if (scan->clause != NULL)
		scan->index_clause.cached &= chunk_require_storage(chunk, GetActiveSnapshot());
	if (scan->stay_locked && ((RELATION_IS_OTHER_TEMP(chunk) && chunk != scan->parent) ||
							  chunk->rd_rel->relkind == RELKIND_PARTITIONED_TABLE))
	{
		relation_close(chunk, NoLock);
		return NULL;
	}
	return chunk;
}

/* ---------------------------------------------------------------- one after the other */

void
chunk_use_cache(ChunkScan *scan)
{
	ChunkCacheKey *key = &scan->index_clause.cache_key;

	/* The cache is not used with a summary table, which is asked first. */
	if (scan->clause == NULL || OidIsValid(scan->summary_table) ||
		scan->parent->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return;
	key->parent = RelationGetRelid(scan->parent);
	key->column = scan->column;
	key->any = scan->any;
	key->operator = scan->any ? ((ScalarArrayOpExpr *) scan->clause)->opno : ((OpExpr *) scan->clause)->opno;
	key->collation = exprInputCollation((Node *) scan->clause);
	scan->index_clause.cached = chunk_cache_begin(GetActiveSnapshot());
}

/* Judges chunk `number`, sets *verdict, and returns the chunk; NULL if chunk_next() passes over it (chunk_scan.h). */
static Relation
open_and_judge(ChunkScan *scan, int number, ChunkVerdict *verdict)
{
	const Oid	oid = list_nth_oid(scan->chunks, number);
	ChunkClause *clause = &scan->index_clause;
	MemoryContext caller;
	Relation	chunk = NULL;
	bool		known;

	CHECK_FOR_INTERRUPTS();
	memset(verdict, 0, sizeof *verdict);
	caller = MemoryContextSwitchTo(scan->chunk_context);
	known = chunk_ask_memory(clause, oid, verdict, NULL);
	if (!known || chunk_is_read(verdict))
		chunk = open_chunk(scan, oid);
	if (chunk != NULL)
	{
		chunk_require_readable(chunk);
		/* before the chunk was locked, another transaction may have changed it */
		if (!known || !chunk_cache_is_fresh(&clause->cache_key))
			judge(scan, chunk, verdict);
	}
	MemoryContextSwitchTo(caller);
	return chunk;
}

Relation
chunk_next(ChunkScan *scan, ChunkVerdict *verdict)
{
	if (scan->next == 0)
		find_chunks(scan);
	while (scan->next < list_length(scan->chunks))
	{
		Relation	chunk = open_and_judge(scan, scan->next++, verdict);

		if (chunk != NULL)
			return chunk;
	}
	return NULL;
}

/*
 * A partition that need not be read need not stay locked: the verdict holds for the snapshot, whatever becomes of the
 * partition. Unlocking it keeps the lock table from filling up with thousands of partitions, and lets DDL go on.
 */
void
chunk_leave(ChunkScan *scan, Relation chunk, const ChunkVerdict *verdict)
{
	const bool	unlock = !scan->stay_locked && (scan->explains || !chunk_is_read(verdict));

	relation_close(chunk, unlock ? AccessShareLock : NoLock);
	MemoryContextReset(scan->chunk_context);
}

void
chunk_scan_end(ChunkScan *scan)
{
	relation_close(scan->parent, NoLock);
	MemoryContextDelete(scan->chunk_context);
}
