/*
 * chunk_summary.h: asks a summary table which chunks (partitions or children of a table) cannot hold a value.
 *
 * A summary table has a column `chunk` (regclass or oid), and a column of type bf for each column that is summarized.
 * It is a table or a view of the user, who has to keep it right.
 */
#ifndef STREAMBLOOM_PG_CHUNK_SUMMARY_H
#define STREAMBLOOM_PG_CHUNK_SUMMARY_H

#include "base/compat.h"

#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

typedef struct ChunkSummaries
{
	List	   *known;			/* OIDs of the chunks that have a row in the summary table, sorted */
	List	   *ruled_out;		/* OIDs of those chunks that cannot hold the value, sorted */
} ChunkSummaries;

/*
 * Asks the summary table `relation` which chunks cannot hold an item in the column `column_name`, and sets *out.
 * `collation` is the one under which the item is compared. With `any`, the item is an array, and the table is asked
 * about its elements. `summary_column` names the column of filters. If it is NULL, the column of type bf is taken whose
 * name is `column_name`, or `column_name` with an s. `schema` is the extension's. Raises an error if `relation` is no
 * summary table with one such column, or if the collation is nondeterministic.
 */
extern void chunk_ask_summaries(Oid relation, const char *summary_column, Oid schema, const char *column_name,
								const Const *item, bool any, Oid collation, ChunkSummaries *out);

/* Is the chunk in this list of ChunkSummaries? */
extern bool chunk_is_among(const List *chunks, Oid chunk);

#endif
