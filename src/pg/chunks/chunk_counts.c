/*
 * chunk_counts.c: what a scan of chunks has done, for EXPLAIN ANALYZE.
 */
#include "chunks/chunk_scan.h"

#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

void
chunk_add_counts(ChunkCounts *sum, const ChunkCounts *counts)
{
	sum->asked += counts->asked;
	sum->read += counts->read;
	sum->read_in_vain += counts->read_in_vain;
	for (int i = 0; i < CHUNK_REASONS; i++)
		sum->because[i] += counts->because[i];
}

void
chunk_explain_counts(const ChunkCounts *counts, ExplainState *es)
{
	ExplainPropertyInteger("Partitions Asked", NULL, counts->asked, es);
	ExplainPropertyInteger("Partitions Skipped", NULL, counts->asked - counts->read, es);
	ExplainPropertyInteger("Partitions Read", NULL, counts->read, es);
	if (counts->read > 0)
		ExplainPropertyText("Read Because", chunk_reasons_text(counts->because), es);
	ExplainPropertyInteger("Partitions Read in Vain", NULL, counts->read_in_vain, es);
}
