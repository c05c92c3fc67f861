/*
 * chunk_summary.h: asking a summary table which chunks cannot hold a value.
 *
 * A summary table has a column `chunk` (regclass or oid) and one of type bf for each column that is summarized. It is a
 * relation of the user's: who keeps it answers for its being right.
 */
#ifndef STREAMBLOOM_PG_CHUNK_SUMMARY_H
#define STREAMBLOOM_PG_CHUNK_SUMMARY_H

#include "base/compat.h"

#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

typedef struct ChunkSummaries
{
	List	   *known;			/* OIDs of the chunks that have a summary, sorted */
	List	   *ruled_out;		/* and of those that cannot hold the value */
} ChunkSummaries;

/* Raises an error if the summary table is not there. */
extern void chunk_require_summaries(Oid relation);

/*
 * Asks the summary table about an item (with `any`: the elements of an array) of a column, which is compared under this
 * collation. summary_column may be NULL: then the table's column is found by name. `schema` is the extension's. Errors
 * for what is no summary table.
 */
extern void chunk_ask_summaries(Oid relation, const char *summary_column, Oid schema, const char *column_name,
								const Const *item, bool any, Oid collation, ChunkSummaries *out);

extern bool chunk_has_summary(const ChunkSummaries *summaries, Oid chunk);
extern bool chunk_summary_says_no(const ChunkSummaries *summaries, Oid chunk);

#endif
