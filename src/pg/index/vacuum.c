/*
 * vacuum.c: what VACUUM does to an index: it summarizes ranges, remakes groups (summarize.c), and cuts free pages off
 * the end of the file (space.c). Also what is done when CREATE INDEX CONCURRENTLY begins to validate an index, since
 * PostgreSQL calls a function of VACUUM then.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/index.h"
#include "commands/vacuum.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "base/compat.h"
#include "index/group.h"
#include "index/handler.h"
#include "index/space.h"
#include "index/summarize.h"

/*
 * Nothing in the index belongs to one row alone, so there is nothing to delete. Bits stay until their range is
 * summarized anew.
 *
 * CREATE INDEX CONCURRENTLY and REINDEX CONCURRENTLY call this function when they begin to validate an index, which
 * is ready then, but not valid. They add the rows that were written during the build and that their snapshot sees.
 * Rows that were written during the build and deleted before this snapshot are not in the index. On this server the
 * commands wait for all snapshots that see such rows, but not for those of standbys. So the standby horizon is raised
 * to the next transaction id. The transactions that deleted these rows have smaller ids, so a snapshot of a standby
 * whose xmin is the horizon or greater does not see these rows.
 *
 * If such a command fails while it validates, its index stays ready and not valid. VACUUM calls this function for it
 * as for any index.
 */
IndexBulkDeleteResult *
bf_index_bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats, IndexBulkDeleteCallback callback, void *state)
{
	const bool	in_vacuum = (MyProc->statusFlags & PROC_IN_VACUUM) != 0;

	if (!in_vacuum && info->index->rd_index->indisready && !info->index->rd_index->indisvalid)
	{
		if (RelationNeedsWAL(info->index))
			bf_index_raise_standby_horizon(info->index, U64FromFullTransactionId(ReadNextFullTransactionId()));
		/*
		 * For the rows that a validation adds, PostgreSQL evaluates the index's expressions as the table's owner. But
		 * only from 17 on does it restrict search_path for that. The setting made here ends with the GUC nest level
		 * that PostgreSQL has begun for the validation.
		 */
		sb_restrict_search_path();
	}
	return stats != NULL ? stats : palloc0(sizeof(IndexBulkDeleteResult));
}

IndexBulkDeleteResult *
bf_index_vacuum_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	/* If VACUUM has found no dead rows, or only few, it has not called bf_index_bulk_delete(), and `stats` is NULL. */
	const BfTask task = {.block = InvalidBlockNumber, .deleted = stats != NULL};
	Relation	heap;
	int64		done;

	if (info->analyze_only)
		return stats;
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	heap = table_open(IndexGetRelation(RelationGetRelid(info->index), false), AccessShareLock);
	done = bf_index_summarize(info->index, heap, &task);
	if (sb_vacuum_truncates(heap))
		bf_index_cut_off(info->index);
	table_close(heap, AccessShareLock);
	ereport(info->message_level,
			(errmsg("index \"%s\": %lld ranges of the table were summarized", RelationGetRelationName(info->index), (long long) done)));
	stats->num_pages = RelationGetNumberOfBlocks(info->index);
	stats->num_index_tuples = info->num_heap_tuples;
	stats->estimated_count = info->estimated_count;
	return stats;
}
