/*
 * chunk_summary.c: asks a summary table which chunks cannot hold a value (see chunk_summary.h).
 */
#include "chunks/chunk_summary.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "chunks/chunk_snapshot.h"
#include "index/functions.h"

/*
 * Locks and opens the summary table. Raises an error if there is no such relation, or if it is neither a table nor a
 * view.
 */
static Relation
open_summaries(Oid relation)
{
	Relation	summaries = OidIsValid(relation) ? try_relation_open(relation, AccessShareLock) : NULL;

	if (summaries == NULL)
		bf_index_refuse_missing(relation);
	switch (summaries->rd_rel->relkind)
	{
		case RELKIND_RELATION:
		case RELKIND_PARTITIONED_TABLE:
		case RELKIND_FOREIGN_TABLE:
		case RELKIND_MATVIEW:
		case RELKIND_VIEW:
			return summaries;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("\"%s\" is not a summary table", RelationGetRelationName(summaries)),
					 errdetail_relkind_not_supported(summaries->rd_rel->relkind),
					 errhint("The fourth argument is a table or view that has a column chunk and filters of type bf.")));
	}
}

/*
 * Returns the name of the summary table's column of filters. This is the column that the user names (`wanted`). If
 * `wanted` is NULL, it is the column of type bf that has the name of the compared column, or its plural. A column is
 * not taken just because it is the only one of type bf. It could have filters of other values, and then rule out
 * chunks that have the value.
 */
static char *
find_summary_column(Relation summaries, const char *column_name, Oid bf_type, const char *wanted)
{
	TupleDesc	columns = RelationGetDescr(summaries);
	char	   *plural = psprintf("%ss", column_name);
	char	   *found = NULL;
	bool		has_chunk = false;

	for (int i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);
		char	   *name = NameStr(column->attname);

		if (column->attisdropped)
			continue;
		if (strcmp(name, "chunk") == 0 && (column->atttypid == REGCLASSOID || column->atttypid == OIDOID))
			has_chunk = true;
		if (wanted != NULL ? strcmp(name, wanted) != 0 :
			column->atttypid != bf_type || (strcmp(name, column_name) != 0 && strcmp(name, plural) != 0))
			continue;
		if (column->atttypid != bf_type)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" of \"%s\" is of type %s, not bf",
							name, RelationGetRelationName(summaries), format_type_be(column->atttypid)),
					 errhint("Name the column with the filters, which bf_agg(%s) makes.", column_name)));
		if (found != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_AMBIGUOUS_COLUMN),
					 errmsg("both \"%s\" and \"%s\" of \"%s\" could be the filters of column \"%s\"",
							found, name, RelationGetRelationName(summaries), column_name),
					 errhint("Name one of them with summary_column => '...'.")));
		found = name;
	}
	if (!has_chunk)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("\"%s\" is not a summary table: it has no column \"chunk\" of type regclass",
						RelationGetRelationName(summaries)),
				 errhint("Make it with SELECT tableoid::regclass AS chunk, bf_agg(%s) AS %s FROM ... GROUP BY 1.",
						 quote_identifier(column_name), quote_identifier(plural))));
	if (found == NULL && wanted != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						wanted, RelationGetRelationName(summaries)),
				 errhint("summary_column is the name of a column of the summary table.")));
	if (found == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("summary table \"%s\" has no column of type bf named \"%s\" or \"%s\"",
						RelationGetRelationName(summaries), column_name, plural),
				 errhint("If the filters of column \"%s\" have another name, give it with summary_column => '...'.",
						 column_name)));
	return found;
}

/*
 * Raises an error unless all tables that a plan has read, also through views, have the storage that the snapshot
 * sees. Otherwise rows could be lost in two ways. Summaries that are newer than the snapshot could rule out rows that
 * it sees; REFRESH MATERIALIZED VIEW writes such summaries, which all snapshots see. And a summary that was truncated
 * away could be the one that kept a chunk from being ruled out.
 */
static void
require_tables_of_snapshot(SPIPlanPtr plan)
{
	ListCell   *outer;
	ListCell   *inner;

	foreach(outer, SPI_plan_get_plan_sources(plan))
		foreach(inner, ((CachedPlanSource *) lfirst(outer))->relationOids)
		{
			Relation	table = try_relation_open(lfirst_oid(inner), AccessShareLock);

			if (table == NULL)
				continue;
			if (table->rd_rel->relkind == RELKIND_RELATION || table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ||
				table->rd_rel->relkind == RELKIND_MATVIEW)
				list_free(chunk_lock_tree(table, GetActiveSnapshot()));
			relation_close(table, NoLock);
		}
}

/*
 * The summary table is asked by SQL. The SQL runs as the user, so that the table's privileges and policies apply. It
 * runs with the query's snapshot, because SPI uses the active one. A chunk is ruled out if the summary table has rows
 * for it, and the filters of all these rows say no. A chunk without a row there, or with a NULL for a filter, is not
 * ruled out.
 */
void
chunk_ask_summaries(Oid relation, const char *summary_column, Oid schema, const char *column_name, const Const *item,
					bool any, Oid collation, ChunkSummaries *out)
{
	MemoryContext caller = CurrentMemoryContext;
	Oid			bf_type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("bf"),
									  ObjectIdGetDatum(schema));
	Relation	summaries;
	const char *filters;
	StringInfoData sql;
	SPIPlanPtr	plan;
	Oid			types[1];
	Datum		values[1];

	/* A filter has hashes of bytes. It does not know which other bytes are equal under a nondeterministic collation. */
	if (OidIsValid(collation) && !get_collation_isdeterministic(collation))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" has the nondeterministic collation \"%s\", for which summaries cannot answer",
						column_name, get_collation_name(collation)),
				 errhint("Leave the summary table out, and let bf indexes of the partitions answer.")));

	summaries = open_summaries(relation);
	filters = find_summary_column(summaries, column_name, bf_type, summary_column);
	initStringInfo(&sql);
	appendStringInfo(&sql,
					 "SELECT s.chunk::pg_catalog.oid, pg_catalog.bool_and(%s(s.%s, $1) IS FALSE) FROM %s s "
					 "WHERE s.chunk IS NOT NULL GROUP BY s.chunk",
					 quote_qualified_identifier(get_namespace_name(schema), any ? "bf_contains_any" : "bf_contains"),
					 quote_identifier(filters),
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(summaries)),
												RelationGetRelationName(summaries)));
	relation_close(summaries, NoLock);

	types[0] = item->consttype;
	values[0] = item->constvalue;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	plan = SPI_prepare(sql.data, 1, types);
	if (plan == NULL || SPI_execute_plan(plan, values, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not ask the summary table");
	require_tables_of_snapshot(plan);	/* the plan has locked these tables */
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		null;
		Oid			chunk = DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &null));
		bool		no = DatumGetBool(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2, &null));
		MemoryContext spi = MemoryContextSwitchTo(caller);

		out->known = lappend_oid(out->known, chunk);
		if (no)
			out->ruled_out = lappend_oid(out->ruled_out, chunk);
		MemoryContextSwitchTo(spi);
	}
	SPI_finish();
	list_sort(out->known, list_oid_cmp);
	list_sort(out->ruled_out, list_oid_cmp);
}

static int
compare_cells(const void *a, const void *b)
{
	return list_oid_cmp(a, b);
}

bool
chunk_is_among(const List *chunks, Oid chunk)
{
	const ListCell key = {.oid_value = chunk};

	return chunks != NIL && bsearch(&key, chunks->elements, list_length(chunks), sizeof key, compare_cells) != NULL;
}
